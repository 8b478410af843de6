"""Intervals and tests with the deal as the unit: every input holds one value, or one row, a deal.

Several seatings of one deal are correlated, so they are reduced to one value a deal before anything here sees them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from domsim.errors import DomsimError

Floats = npt.NDArray[np.float64]

_MOST_TERMS = 100_000


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its two-sided confidence interval, in the units of the values it came from."""

    estimate: float
    """The estimate; nan when there was nothing to estimate it from."""
    low: float
    """Lower bound; -inf when the deals say nothing about it."""
    high: float
    """Upper bound; inf when the deals say nothing about it."""
    n: int
    """Deals behind it."""
    level: float
    """Nominal coverage, for example 0.95."""


@dataclass(frozen=True, slots=True)
class Paired:
    """The mean difference of two agents (or two rules) over the deals both played."""

    difference: Interval
    """Interval of the mean of first minus second."""
    differing: int
    """Deals on which the two values differ."""
    p_value: float
    """Two-sided p value of "no difference" (paired t test); nan with fewer than two deals."""

    @property
    def identical(self) -> bool:
        """Whether the two never differed: same agent twice, or no deal told them apart."""
        return self.differing == 0


def check_level(level: float) -> float:
    """The level itself, once it is known to lie strictly between 0 and 1.

    Raises:
        DomsimError: it does not.
    """
    if not 0 < level < 1:
        raise DomsimError(f"level is {level!r}; it must lie strictly between 0 and 1, for example 0.95")
    return level


def as_deals(values: npt.ArrayLike, name: str = "values") -> Floats:
    """Values as a `(D,) float64` array: deal.

    Raises:
        DomsimError: not one-dimensional, or a value that is not finite.
    """
    array = np.asarray(values, np.float64)
    if array.ndim != 1:
        raise DomsimError(f"{name} has shape {array.shape}; one value a deal is needed, shape (deals,)")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise DomsimError(f"{name}[{bad[0]}] is {array[bad[0]]}; every deal needs a finite value")
    return array


# --- Student t -------------------------------------------------------------------------------------------------------


def t_quantile(p: float, df: float) -> float:
    """Quantile of Student's t with `df` degrees of freedom; relative error below 1e-10 up to a million of them.

    Raises:
        DomsimError: p outside 0..1, or df below 1 or not finite.
    """
    if not 0 <= p <= 1:
        raise DomsimError(f"p is {p!r}; it must lie between 0 and 1")
    if not 1 <= df < math.inf:
        raise DomsimError(f"df is {df!r}; it must be finite and at least 1")
    if p in (0, 0.5, 1):
        return {0: -math.inf, 0.5: 0.0, 1: math.inf}[p]
    z = abs(NormalDist().inv_cdf(p))
    start = math.log(z + (z**3 + z) / (4 * df)) if df > 30 else 0.0  # Cornish-Fisher, where it is close
    # Whichever of the two probabilities is small is solved for, as the other one has lost its digits to 1 - small.
    if 0.25 < p < 0.75:
        size = _solve_t(abs(2 * p - 1), df, False, start)
    else:
        size = _solve_t(2 * min(p, 1 - p), df, True, start)
    return math.copysign(size, p - 0.5)


def t_test(values: npt.ArrayLike, mean: float = 0.0) -> float:
    """Two-sided p value of "the mean over deals is `mean`" (one-sample t test).

    values: `(D,) float64`: deal. Fewer than two give nan. Values that all equal `mean` give 1, another number 0.

    Raises:
        DomsimError: values not one-dimensional or not finite.
    """
    array = as_deals(values)
    if array.size < 2:
        return math.nan
    centre, error = _mean_and_error(array)
    if error == 0:
        return 1.0 if centre == mean else 0.0
    return _t_shares(abs(centre - mean) / error, array.size - 1)[1]


def _solve_t(share: float, df: float, outside: bool, start: float) -> float:
    """The t whose probability of |T| <= t, or of |T| > t, is `share`, from a first guess of ln t."""
    # On logarithms of both axes the curve is concave, so Newton's steps come from one side; halving guards the first.
    low, high, at = -745.0, 709.0, start
    for _ in range(200):
        inside, beyond, density = _t_shares(math.exp(at), df)
        found = beyond if outside else inside
        if (found < share) == outside:
            high = at
        else:
            low = at
        slope = 2 * density * (-1 if outside else 1)
        step = (math.log(share) - math.log(found)) * found / slope if found > 0 and slope else math.inf
        if abs(step) < 1e-10:  # the next one would be about its square, below the noise of the shares
            return math.exp(at + step)
        at = at + step if low < at + step < high else (low + high) / 2
    return math.exp(at)


def _t_shares(t: float, df: float) -> tuple[float, float, float]:
    """P(|T| <= t), P(|T| > t) and t times the density at t, for t >= 0; each share keeps its digits when small."""
    if t == 0:
        return 0.0, 1.0, 0.0
    a, w = df / 2, t / math.sqrt(df)
    log_x = -math.log1p(w * w) if w < 1e100 else -2 * math.log(w)
    density = math.exp(_log_inverse_beta_half(a) + a * log_x + math.log(w) + log_x / 2)
    x = 1 / (1 + w * w)
    # DLMF 8.17.22 converges fast on this side of the mean of the beta distribution; beyond it, on the mirror image.
    if x < (a + 1) / (a + 2.5):
        beyond = density * _beta_fraction(a, 0.5, x) / a
        return 1 - beyond, beyond, density
    inside = density * _beta_fraction(0.5, a, w * w / (1 + w * w)) / 0.5
    return inside, 1 - inside, density


def _log_inverse_beta_half(a: float) -> float:
    """-ln B(a, 1/2)."""
    if a < 20:
        return math.lgamma(a + 0.5) - math.lgamma(a) - math.lgamma(0.5)
    # The difference of two large logarithms would lose up to six digits; its expansion (DLMF 5.11.8) loses none.
    b = 1 / (a * a)
    return 0.5 * math.log(a / math.pi) - (1 / 8 - b * (1 / 192 - b * (1 / 640 - b * 17 / 14336))) / a


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, DLMF 8.17.22, by Lentz's method."""
    c = 1.0
    d = value = 1 / (1 - (a + b) * x / (a + 1))
    for m in range(1, _MOST_TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + term * d)
            c = 1 + term / c
            value *= c * d
        if abs(c * d - 1) < 4e-16:
            return value
    raise AssertionError(f"continued fraction of I_{x}({a}, {b}) did not converge")


# --- intervals over deals --------------------------------------------------------------------------------------------


def interval(values: npt.ArrayLike, level: float = 0.95) -> Interval:
    """Student t interval of the mean over deals.

    values: `(D,) float64`: deal. Without deals the estimate is nan. With fewer than two the bounds are infinite.
    Values that are all equal give an interval of no width.

    Raises:
        DomsimError: values not one-dimensional or not finite, or a level outside 0..1.
    """
    array = as_deals(values)
    centre, error = _mean_and_error(array)
    return _t_interval(centre, error, array.size, level)


def paired(a: npt.ArrayLike, b: npt.ArrayLike, level: float = 0.95) -> Paired:
    """Student t interval of the mean of a - b over common deals, with the number of deals that differ.

    a, b: `(D,) float64`: deal, in the same order of deals.

    Raises:
        DomsimError: shapes that differ, values not finite, or a level outside 0..1.
    """
    first, second = _two_as_deals(a, b, "a", "b")
    difference = first - second
    return Paired(interval(difference, level), int(np.count_nonzero(first != second)), t_test(difference))


def ratio(numerators: npt.ArrayLike, denominators: npt.ArrayLike, level: float = 0.95) -> Interval:
    """Interval of a ratio of sums over deals, such as blocked rounds over rounds.

    The delta method: the ratio's error is that of the mean of `numerator - ratio * denominator` by deal, over the mean
    denominator (Cochran, Sampling Techniques, 1977, chapter 6), with Student's t on D - 1.

    numerators, denominators: `(D,) float64`: deal. With denominators that are all 0 the ratio is nan and its
    bounds infinite.

    Raises:
        DomsimError: shapes that differ, values not finite, a negative denominator, or a level outside 0..1.
    """
    top, bottom = _two_as_deals(numerators, denominators, "numerators", "denominators")
    if bottom.size and bottom.min() < 0:
        where = int(bottom.argmin())
        raise DomsimError(f"denominators[{where}] is {bottom[where]}; a denominator is 0 or more")
    total = float(bottom.sum())
    if total == 0:
        return Interval(math.nan, -math.inf, math.inf, bottom.size, check_level(level))
    rate = float(top.sum()) / total
    residual_error = _mean_and_error(top - rate * bottom)[1]
    return _t_interval(rate, residual_error * bottom.size / total, bottom.size, level)


def bootstrap(
    values: npt.ArrayLike,
    statistic: Callable[[Floats], float],
    repetitions: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """Percentile bootstrap of any statistic of the deals: whole deals are drawn with replacement (Efron, 1979).

    values: `(D, ...) float64`: deal, then whatever the statistic takes. The same seed gives the same interval.

    Raises:
        DomsimError: no repetitions, a value not finite, or a level outside 0..1.
    """
    return bootstrap_each(values, lambda rows: np.array([statistic(rows)]), repetitions, seed, level)[0]


def bootstrap_each(
    values: npt.ArrayLike,
    statistic: Callable[[Floats], Floats],
    repetitions: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> list[Interval]:
    """`bootstrap` of a statistic with several components, one interval each, from the same draws.

    values: `(D, ...) float64`: deal, then whatever the statistic takes; the statistic returns `(m,) float64`.
    One deal leaves nothing to draw from: its bounds are infinite. A statistic that is nan on some draw has nan bounds.

    Raises:
        DomsimError: no deals, no repetitions, a value not finite, or a level outside 0..1.
    """
    rows = np.asarray(values, np.float64)
    check_level(level)
    if rows.ndim == 0 or rows.shape[0] == 0:
        raise DomsimError(f"values has shape {rows.shape}; the bootstrap needs at least one deal on its first axis")
    if not np.isfinite(rows).all():
        raise DomsimError("values holds nan or infinity; every deal needs finite values")
    if repetitions < 1:
        raise DomsimError(f"repetitions is {repetitions!r}; at least 1 is needed")
    estimate, deals = statistic(rows), rows.shape[0]
    if deals == 1:
        return [Interval(float(e), -math.inf, math.inf, 1, level) for e in estimate]
    generator = np.random.Generator(np.random.PCG64(seed))
    draws = np.array([statistic(rows[generator.integers(0, deals, deals)]) for _ in range(repetitions)])
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return [Interval(float(e), float(a), float(b), deals, level) for e, a, b in zip(estimate, low, high, strict=True)]


def holm(p_values: npt.ArrayLike) -> Floats:
    """Adjusted p values of Holm (1979): reject those at most alpha, and alpha bounds the chance of any false rejection.

    p_values: `(m,) float64`; nan (no test made) stays nan and is not counted. The order is kept.

    Raises:
        DomsimError: not one-dimensional, or a p value outside 0..1.
    """
    p = np.asarray(p_values, np.float64)
    if p.ndim != 1:
        raise DomsimError(f"p_values has shape {p.shape}; one dimension is needed, shape (tests,)")
    if ((p < 0) | (p > 1)).any():
        raise DomsimError(f"p_values holds {p[(p < 0) | (p > 1)][0]}; a p value lies between 0 and 1")
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]
    adjusted = np.full(p.shape, np.nan)
    factors = np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1)
    return adjusted


def _two_as_deals(a: npt.ArrayLike, b: npt.ArrayLike, a_name: str, b_name: str) -> tuple[Floats, Floats]:
    first, second = as_deals(a, a_name), as_deals(b, b_name)
    if first.shape != second.shape:
        raise DomsimError(f"{a_name} has {first.size} deals and {b_name} {second.size}; they must be the same deals")
    return first, second


def _mean_and_error(array: Floats) -> tuple[float, float]:
    """Mean over deals and its standard error: nan without deals, and an error of 0 from a single one."""
    if array.size == 0:
        return math.nan, 0.0
    # The rounded mean of n equal numbers need not be that number; equal deals must give it, and no width, exactly.
    if array.min() == array.max():
        return float(array[0]), 0.0
    return float(array.mean()), float(array.std(ddof=1)) / math.sqrt(array.size)


def _t_interval(centre: float, error: float, n: int, level: float) -> Interval:
    """Interval from an estimate and its standard error; unbounded with fewer than two deals."""
    check_level(level)
    if n < 2:
        return Interval(centre, -math.inf, math.inf, n, level)
    margin = error * t_quantile((1 + level) / 2, n - 1)
    return Interval(centre, centre - margin, centre + margin, n, level)
