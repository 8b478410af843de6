"""Looking before the end: a sequential test for developers, and intervals that stay valid at every look.

As everywhere, one value a deal, in deal order.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from domsim.errors import DomsimError
from domsim.stats import Floats, Interval, as_deals, check_level

Decision = Literal["better", "not better"]

#: How near its bound a log ratio from numpy's logarithm is computed again with the C library's, in nats.
_NEAR = 1e-6


class SequentialTest:
    """Is the mean over deals `mu1` rather than `mu0`? The generalised sequential probability ratio test.

    After n deals the log likelihood ratio is n/2 ln((s2 + (mean - mu0)^2) / (s2 + (mean - mu1)^2)), where s2 is the
    variance with divisor n: each hypothesis takes the variance that suits it best (Li, Liu and Ying, Sequential
    Analysis, 2014). It is compared with Wald's bounds ln(beta / (1 - alpha)) and ln((1 - beta) / alpha) after every
    deal, from the first look on: before that s2 is too rough, above all where the two agents seldom differ.

    Deals are consumed one by one in the order given: how they are cut into blocks cannot change a bit of the outcome.
    Two agents that never differ are never decided upon; the caller says how many deals are enough.
    """

    def __init__(
        self,
        mu0: float,
        mu1: float,
        alpha: float = 0.05,
        beta: float = 0.05,
        first_look: int = 200,
        min_differing: int = 50,
    ) -> None:
        """A test that has seen no deal.

        mu0, mu1: the mean under "not better" and under "better", in the units of the values; usually 0 and the smallest
        gain worth having. alpha, beta: chance of "better" under mu0, of "not better" under mu1. first_look,
        min_differing: deals, and deals on which the agents differ, without which nothing is decided.

        Raises:
            DomsimError: mu1 not above mu0, error rates outside 0..1 or adding up to 1, a negative count.
        """
        if not (math.isfinite(mu0) and math.isfinite(mu1) and mu0 < mu1):
            raise DomsimError(f"mu0 is {mu0!r} and mu1 {mu1!r}; both must be finite and mu0 below mu1")
        if not (alpha > 0 and beta > 0 and alpha + beta < 1):
            raise DomsimError(f"alpha is {alpha!r} and beta {beta!r}; both must be above 0 and their sum below 1")
        if first_look < 1 or min_differing < 0:
            raise DomsimError(
                f"first_look is {first_look!r}, min_differing {min_differing!r}; at least 1 and 0 are needed"
            )
        self.mu0, self.mu1 = float(mu0), float(mu1)
        self.first_look, self.min_differing = first_look, min_differing
        self.lower, self.upper = math.log(beta / (1 - alpha)), math.log((1 - beta) / alpha)
        self.decision: Decision | None = None
        """What was found, None as long as nothing was."""
        self.deals_used = 0
        """Deals consumed; none after the decision."""
        self.deals_differing = 0
        """Those of them on which the agents differ."""
        # Sums of (value - mu)^2 are n times s2 + (mean - mu)^2: the ratio needs no more, and nothing cancels.
        self._squares0 = self._squares1 = 0.0

    @property
    def log_ratio(self) -> float:
        """Log likelihood ratio of mu1 over mu0 after the deals used, in nats; nan before the first."""
        if self.deals_used == 0:
            return math.nan
        return _log_ratio(self.deals_used, self._squares0, self._squares1)

    def update(self, values: npt.ArrayLike, differing: npt.ArrayLike | None = None) -> Decision | None:
        """Consume the next deals, up to the one that decides, and return the decision so far.

        values: `(D,) float64`: deal, in deal order. differing: `(D,) bool`: whether the agents differed on it; values
        other than 0 without it. Once decided, further deals are left aside.

        Raises:
            DomsimError: values not one-dimensional or not finite, differing of another shape; nothing is then consumed.
        """
        array = as_deals(values)
        differs = array != 0 if differing is None else np.asarray(differing)
        if differs.shape != array.shape or differs.dtype != np.bool_:
            raise DomsimError(f"differing is {differs.dtype} {differs.shape}; it must be bool, of shape {array.shape}")
        if self.decision is None and array.size:
            self._consume(array, differs)
        return self.decision

    def _consume(self, array: Floats, differs: npt.NDArray[np.bool_]) -> None:
        used = self.deals_used + np.arange(1, array.size + 1)
        differing = self.deals_differing + np.cumsum(differs)
        squares0 = _carry_on(self._squares0, (array - self.mu0) ** 2)
        squares1 = _carry_on(self._squares1, (array - self.mu1) ** 2)
        looks = (used >= self.first_look) & (differing >= self.min_differing)
        with np.errstate(divide="ignore"):
            ratios = used / 2 * np.log(squares0 / squares1)
        # numpy's logarithm may round differently from place to place in an array, so it only points out candidates.
        last = array.size - 1
        for at in np.flatnonzero(looks & ((ratios >= self.upper - _NEAR) | (ratios <= self.lower + _NEAR))):
            ratio = _log_ratio(int(used[at]), float(squares0[at]), float(squares1[at]))
            if ratio >= self.upper or ratio <= self.lower:
                self.decision = "better" if ratio >= self.upper else "not better"
                last = int(at)
                break
        self.deals_used, self.deals_differing = int(used[last]), int(differing[last])
        self._squares0, self._squares1 = float(squares0[last]), float(squares1[last])


def _log_ratio(deals: int, squares0: float, squares1: float) -> float:
    if squares0 == 0 or squares1 == 0:  # every deal exactly mu0, or exactly mu1
        return -math.inf if squares0 == 0 else math.inf
    return deals / 2 * math.log(squares0 / squares1)


def _carry_on(carried: float, terms: Floats) -> Floats:
    """Running sums `(D,)` that continue `carried`: added one by one, so that blocks cannot change a bit."""
    return np.cumsum(np.concatenate(([carried], terms)))[1:]


@dataclass(frozen=True, slots=True)
class ConfidenceSequence:
    """One interval after every deal; with the nominal chance all of them cover the mean at once."""

    estimate: Floats
    """`(D,)`: running mean after that many deals."""
    low: Floats
    """`(D,)`: lower bounds, -inf before the start."""
    high: Floats
    """`(D,)`: upper bounds, inf before the start."""
    level: float
    """Nominal coverage at all deals together."""

    def at(self, deals: int) -> Interval:
        """The interval after so many deals.

        Raises:
            DomsimError: fewer than one deal or more than there are.
        """
        if not 1 <= deals <= self.estimate.size:
            raise DomsimError(f"deals is {deals!r}; this sequence has 1 to {self.estimate.size}")
        row = deals - 1
        return Interval(float(self.estimate[row]), float(self.low[row]), float(self.high[row]), deals, self.level)


def confidence_sequence(
    values: npt.ArrayLike, level: float = 0.95, tuned_at: int = 1000, start: int = 100
) -> ConfidenceSequence:
    """Asymptotic confidence sequence of the mean: look after any deal and stop when you like, it stays valid.

    Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (Annals of Statistics, 2024), Gaussian mixture: on either side of
    the running mean of n deals, sd * sqrt(2 (n rho^2 + 1) / (n^2 rho^2) * ln(sqrt(n rho^2 + 1) / alpha)).
    Here rho is a pure number: the paper's rho in the units of the values, times sd.

    values: `(D,) float64`: deal, in deal order. tuned_at: the number of deals at which the interval is to be narrowest.
    start: bounds are infinite before that many deals, and while all values are equal: the theorem is asymptotic, and
    the standard deviation of a few deals says little.

    Raises:
        DomsimError: values not one-dimensional or not finite, a level outside 0..1, tuned_at or start below 1.
    """
    array = as_deals(values)
    rho2 = tuned_rho(level, tuned_at) ** 2
    if start < 1:
        raise DomsimError(f"start is {start!r}; at least 1 is needed")
    n = np.arange(1.0, array.size + 1)
    # Measured from the first value, sums of equal values are exactly 0 and far-off means cost no digits.
    origin = array[:1].sum()
    sums, squares = np.cumsum(array - origin), np.cumsum((array - origin) ** 2)
    variance = np.maximum(squares - sums * sums / n, 0) / np.maximum(n - 1, 1)
    unit = np.sqrt(2 * (n * rho2 + 1) / (n * n * rho2) * np.log(np.sqrt(n * rho2 + 1) / (1 - level)))
    margin = np.where((n >= start) & (variance > 0), np.sqrt(variance) * unit, np.inf)
    mean = origin + sums / n
    return ConfidenceSequence(mean, mean - margin, mean + margin, level)


def tuned_rho(level: float, deals: int) -> float:
    """The rho of `confidence_sequence`, a pure number, that makes it narrowest after so many deals.

    With v = n rho^2 the squared width is (v + 1) / v * ln((v + 1) / alpha^2) / n. It is least where
    v + 1 - ln(v + 1) = 1 - ln(alpha^2), solved here by Newton's method; that is v = -W(-alpha^2 / e) - 1, lower branch.

    Raises:
        DomsimError: a level outside 0..1, or deals below 1.
    """
    check_level(level)
    if deals < 1:
        raise DomsimError(f"tuned_at is {deals!r}; at least 1 deal is needed")
    goal = 1 - 2 * math.log1p(-level)
    root = 2 * goal
    for _ in range(100):
        root -= (root - math.log(root) - goal) / (1 - 1 / root)
    return math.sqrt((root - 1) / deals)
