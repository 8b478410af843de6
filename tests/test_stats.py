"""Intervals and tests over deals: against scipy, by hand, and by how often they cover."""

import math

import numpy as np
import pytest
import scipy.stats

from domsim.errors import DomsimError
from domsim.stats import Interval, bootstrap, bootstrap_each, holm, interval, paired, ratio, t_quantile, t_test

SEATINGS = 8
RUNS = 2000
#: three standard errors of a coverage of 95 % found from RUNS simulated experiments
SLACK = 3 * math.sqrt(0.95 * 0.05 / RUNS)


def covers(found: Interval, truth: float) -> bool:
    return found.low <= truth <= found.high


# --- Student t -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("df", [1, 2, 2.5, 3, 7, 30, 39, 40, 41, 199, 5000, 1e5, 1e6])
def test_t_quantile_is_that_of_scipy(df: float) -> None:
    # Nearer to 1/2 than 1e-4 it is scipy that loses digits; see the closed form below.
    p = [1e-12, 1e-6, 0.001, 0.025, 0.1, 0.2499, 0.25, 0.2501, 0.4, 0.4999, 0.6, 0.75, 0.9, 0.975, 0.995, 1 - 1e-6]
    np.testing.assert_allclose([t_quantile(x, df) for x in p], scipy.stats.t.ppf(p, df), rtol=5e-11)


@pytest.mark.parametrize("p", [1e-300, 1e-40, 0.3, 0.5 - 2**-40, 0.5 + 2**-30, 0.51, 0.99])
def test_t_quantile_with_one_degree_of_freedom_is_the_cauchy_one(p: float) -> None:
    exact = (
        math.tan(math.pi * (p - 0.5))
        if 0.1 < p < 0.9
        else -math.copysign(1 / math.tan(math.pi * min(p, 1 - p)), 0.5 - p)
    )
    assert t_quantile(p, 1) == pytest.approx(exact, rel=1e-12)


def test_t_quantile_at_the_ends_and_the_middle() -> None:
    assert [t_quantile(p, 5) for p in (0, 0.5, 1)] == [-math.inf, 0, math.inf]
    assert t_quantile(0.3, 9) == -t_quantile(0.7, 9)


@pytest.mark.parametrize(
    ("p", "df", "quoted"), [(1.5, 3, "1.5"), (-0.1, 3, "-0.1"), (math.nan, 3, "nan"), (0.9, 0, "0")]
)
def test_t_quantile_refuses(p: float, df: float, quoted: str) -> None:
    with pytest.raises(DomsimError, match=quoted):
        t_quantile(p, df)


@pytest.mark.parametrize(("shift", "n"), [(0.0, 2), (0.1, 5), (0.5, 30), (3.0, 40), (0.02, 3000), (0.0, 100_000)])
def test_t_test_is_that_of_scipy(shift: float, n: int) -> None:
    values = np.random.default_rng(n).normal(shift, 1, n)
    assert t_test(values) == pytest.approx(scipy.stats.ttest_1samp(values, 0).pvalue, rel=1e-9)
    assert t_test(values, 0.3) == pytest.approx(scipy.stats.ttest_1samp(values, 0.3).pvalue, rel=1e-9)


def test_t_test_without_spread() -> None:
    assert math.isnan(t_test([])) and math.isnan(t_test([1.0]))
    assert t_test([0.1] * 7, 0.1) == 1
    assert t_test([0.1] * 7) == 0
    assert t_test([-1.0, 1.0]) == 1


# --- intervals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 40, 5000])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_interval_is_that_of_scipy(n: int, level: float) -> None:
    values = np.random.default_rng(n).exponential(3, n)
    found = interval(values, level)
    expected = scipy.stats.t.interval(level, n - 1, values.mean(), scipy.stats.sem(values))
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-9)
    assert found.estimate == pytest.approx(values.mean())
    assert (found.n, found.level) == (n, level)


def test_interval_of_few_or_equal_deals() -> None:
    none = interval([])
    assert math.isnan(none.estimate) and (none.low, none.high, none.n) == (-math.inf, math.inf, 0)
    assert interval([2.5]) == Interval(2.5, -math.inf, math.inf, 1, 0.95)
    # 0.1 is not a binary fraction: the rounded mean of ten of them is not 0.1
    assert interval([0.1] * 10) == Interval(0.1, 0.1, 0.1, 10, 0.95)


def test_interval_of_two_deals_by_hand() -> None:
    # mean 1, standard error 1, and t with one degree of freedom is tan(0.45 pi)
    found = interval([0.0, 2.0])
    assert (found.low, found.high) == pytest.approx((1 - math.tan(0.475 * math.pi), 1 + math.tan(0.475 * math.pi)))


@pytest.mark.parametrize(
    ("values", "quoted"),
    [
        ([1.0, math.nan], r"values\[1\] is nan"),
        ([math.inf], r"values\[0\] is inf"),
        ([[1.0], [2.0]], r"shape \(2, 1\)"),
    ],
)
def test_interval_refuses(values: list[float], quoted: str) -> None:
    with pytest.raises(DomsimError, match=quoted):
        interval(values)


@pytest.mark.parametrize("level", [0, 1, 95, -0.5, math.nan])
def test_levels_lie_between_0_and_1(level: float) -> None:
    for call in (interval, lambda v, level: ratio(v, v, level), lambda v, level: bootstrap(v, np.mean, level=level)):
        with pytest.raises(DomsimError, match=str(level)):
            call([1.0, 2.0], level=level)


def test_paired_is_the_paired_t_test_of_scipy() -> None:
    rng = np.random.default_rng(3)
    deal = rng.normal(0, 5, 300)
    a, b = deal + rng.normal(0.2, 1, 300), deal + rng.normal(0, 1, 300)
    a[:100] = b[:100]
    found, expected = paired(a, b, 0.9), scipy.stats.ttest_rel(a, b)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    bounds = expected.confidence_interval(0.9)
    assert (found.difference.low, found.difference.high) == pytest.approx((bounds.low, bounds.high), rel=1e-9)
    assert found.differing == 200 and not found.identical


def test_paired_values_that_are_equal() -> None:
    values = np.random.default_rng(4).random(50)
    found = paired(values, values.copy())
    assert found.identical and found.differing == 0
    assert found.difference == Interval(0.0, 0.0, 0.0, 50, 0.95)
    assert found.p_value == 1
    with pytest.raises(DomsimError, match="a has 50 deals and b 49"):
        paired(values, values[1:])


def test_ratio_by_hand() -> None:
    # 6 of 8; residuals -1/2, 1/2, 0 have standard deviation 1/2; the mean denominator is 8/3
    found = ratio([1, 2, 3], [2, 2, 4])
    margin = 0.5 / math.sqrt(3) / (8 / 3) * scipy.stats.t.ppf(0.975, 2)
    assert (found.estimate, found.low, found.high) == pytest.approx((0.75, 0.75 - margin, 0.75 + margin))
    assert found.n == 3


def test_ratio_over_equal_denominators_is_the_interval_of_the_mean() -> None:
    values = np.random.default_rng(5).random(60)
    plain, over = interval(values), ratio(values * 4, np.full(60, 4.0))
    assert (over.estimate, over.low, over.high) == pytest.approx((plain.estimate, plain.low, plain.high))


def test_ratio_of_nothing() -> None:
    for found, n in ((ratio([], []), 0), (ratio([0, 0], [0, 0]), 2)):
        assert math.isnan(found.estimate) and (found.low, found.high, found.n) == (-math.inf, math.inf, n)
    assert ratio([1], [4]) == Interval(0.25, -math.inf, math.inf, 1, 0.95)
    assert ratio([0, 0, 0], [3, 5, 2]) == Interval(0.0, 0.0, 0.0, 3, 0.95)
    with pytest.raises(DomsimError, match=r"denominators\[1\] is -2.0"):
        ratio([1, 1], [3, -2])


# --- how often they cover --------------------------------------------------------------------------------------------


def simulated_win_shares(rng: np.random.Generator, deals: int) -> np.ndarray:
    """Win share with ties split, `(D, 8)`: deal, seating; some deals favour the agent in every seating. Mean 0.3."""
    chance = 0.05 + 0.4 * rng.random((deals, 1))
    draw = rng.random((deals, SEATINGS))
    return (draw < chance) + 0.5 * ((draw >= chance) & (draw < chance + 0.1))


def simulated_blocks(rng: np.random.Generator, deals: int) -> tuple[np.ndarray, np.ndarray]:
    """Blocked rounds and rounds, `(D, 8)`: deal, seating. Deals that block more take more rounds: 1.1 of 4 blocked."""
    tightness = rng.random((deals, 1))
    rounds = 2 + rng.poisson(4 * tightness, (deals, SEATINGS))
    return rng.binomial(rounds, 0.1 + 0.3 * tightness), rounds


def test_intervals_of_a_mean_cover_when_the_deal_is_the_unit_and_not_when_the_seating_is() -> None:
    rng = np.random.default_rng(6)
    by_deal = by_seating = 0
    for _ in range(RUNS):
        shares = simulated_win_shares(rng, 200)
        by_deal += covers(interval(shares.mean(axis=1)), 0.3)
        by_seating += covers(interval(shares.ravel()), 0.3)
    assert abs(by_deal / RUNS - 0.95) < SLACK
    assert by_seating / RUNS < 0.95 - 2 * SLACK


def test_intervals_of_a_ratio_cover_when_the_deal_is_the_unit_and_not_when_the_seating_is() -> None:
    rng = np.random.default_rng(7)
    by_deal = by_seating = 0
    for _ in range(RUNS):
        blocked, rounds = simulated_blocks(rng, 200)
        by_deal += covers(ratio(blocked.sum(axis=1), rounds.sum(axis=1)), 1.1 / 4)
        by_seating += covers(ratio(blocked.ravel(), rounds.ravel()), 1.1 / 4)
    assert abs(by_deal / RUNS - 0.95) < SLACK
    assert by_seating / RUNS < 0.95 - 2 * SLACK


def test_intervals_of_a_paired_difference_cover_and_use_the_common_deals() -> None:
    rng = np.random.default_rng(8)
    covered, narrower = 0, 0
    for _ in range(RUNS):
        deal = rng.normal(0, 4, 100)
        a, b = deal + rng.exponential(1, 100), deal + rng.exponential(0.5, 100)
        found = paired(a, b).difference
        covered += covers(found, 0.5)
        narrower += found.high - found.low < (interval(a).high - interval(a).low) / 2
    assert abs(covered / RUNS - 0.95) < SLACK
    assert narrower == RUNS


def test_bootstrap_by_deal_covers_a_ratio() -> None:
    rng = np.random.default_rng(9)
    runs, covered = 400, 0
    for run in range(runs):
        blocked, rounds = simulated_blocks(rng, 100)
        table = np.stack([blocked.sum(axis=1), rounds.sum(axis=1)], axis=1)
        covered += covers(bootstrap(table, blocked_rate, repetitions=300, seed=run), 1.1 / 4)
    assert abs(covered / runs - 0.95) < 3 * math.sqrt(0.95 * 0.05 / runs)


# --- bootstrap -------------------------------------------------------------------------------------------------------


def blocked_rate(rows: np.ndarray) -> float:
    return float(rows[:, 0].sum() / rows[:, 1].sum())


def test_bootstrap_agrees_with_the_formulas() -> None:
    values = np.random.default_rng(10).normal(2, 1, 500)
    plain, found = interval(values), bootstrap(values, lambda v: float(v.mean()), repetitions=4000)
    assert found.estimate == values.mean() and found.n == 500
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=0.006)
    found = bootstrap(values, lambda v: float(v.mean()), repetitions=4000, level=0.5)
    assert found.high - found.low == pytest.approx(2 * 0.6745 * values.std() / math.sqrt(500), rel=0.05)


def test_bootstrap_is_decided_by_its_seed_alone() -> None:
    values = np.random.default_rng(11).random(30)
    one, again, other = (bootstrap(values, lambda v: float(np.median(v)), 200, seed) for seed in (1, 1, 2))
    assert one == again != other


def test_bootstrap_draws_whole_deals() -> None:
    rows = np.arange(24.0).reshape(8, 3)

    def kept_together(drawn: np.ndarray) -> float:
        assert drawn.shape == (8, 3)
        assert (drawn[:, 1:] - drawn[:, :1] == [1, 2]).all()
        return float(len(np.unique(drawn[:, 0])))

    found = bootstrap(rows, kept_together, 200)
    assert found.estimate == 8 and found.high < 8  # with replacement: all eight at once hardly ever


def test_bootstrap_of_several_statistics_uses_the_same_draws() -> None:
    values = np.random.default_rng(12).random(40)
    mean, double = bootstrap_each(values, lambda v: np.array([v.mean(), 2 * v.mean()]), 100)
    assert (double.low, double.high) == pytest.approx((2 * mean.low, 2 * mean.high))


def test_bootstrap_at_the_edges() -> None:
    assert bootstrap([3.0], lambda v: float(v.mean())) == Interval(3.0, -math.inf, math.inf, 1, 0.95)
    assert bootstrap([3.0] * 9, lambda v: float(v.mean())) == Interval(3.0, 3.0, 3.0, 9, 0.95)
    with pytest.raises(DomsimError, match=r"shape \(0,\)"):
        bootstrap([], lambda v: float(v.mean()))
    with pytest.raises(DomsimError, match="repetitions is 0"):
        bootstrap([1.0, 2.0], lambda v: float(v.mean()), repetitions=0)
    with pytest.raises(DomsimError, match="nan"):
        bootstrap([1.0, math.nan], lambda v: float(v.mean()))


# --- Holm ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "adjusted"),
    [
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.01, 0.02, 0.03], [0.03, 0.04, 0.04]),
        ([0.5, 0.9], [1, 1]),
        ([0.02], [0.02]),
        ([0.01, math.nan, 0.04], [0.02, math.nan, 0.04]),
        ([math.nan], [math.nan]),
        ([0.02, 0.02], [0.04, 0.04]),
        ([], []),
    ],
)
def test_holm_by_hand(p: list[float], adjusted: list[float]) -> None:
    np.testing.assert_allclose(holm(p), adjusted, rtol=1e-12)


def test_holm_keeps_the_chance_of_any_false_rejection() -> None:
    rng, runs, wrong = np.random.default_rng(13), 4000, 0
    for _ in range(runs):
        wrong += bool((holm(rng.random(10)) <= 0.05).any())
    assert abs(wrong / runs - (1 - 0.995**10)) < 3 * math.sqrt(0.05 * 0.95 / runs)


@pytest.mark.parametrize(("p", "quoted"), [([0.5, 1.5], "1.5"), ([-0.1], "-0.1"), ([[0.5]], r"\(1, 1\)")])
def test_holm_refuses(p: list[float], quoted: str) -> None:
    with pytest.raises(DomsimError, match=quoted):
        holm(p)
