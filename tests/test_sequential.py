"""Looking before the end: error rates at every look, and decisions that blocks of deals cannot change."""

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.special

from domsim.errors import DomsimError
from domsim.sequential import SequentialTest, confidence_sequence, tuned_rho
from domsim.stats import interval

RUNS = 1000


def differences(rng: np.random.Generator, deals: int, differing: float, mean: float) -> np.ndarray:
    """Paired differences of -1, 0 and 1, `(D,)`: on a share `differing` of the deals the agents differ."""
    draw = rng.random(deals)
    return (draw < (differing + mean) / 2).astype(float) - (draw > 1 - (differing - mean) / 2)


def outcome(test: SequentialTest) -> tuple[object, ...]:
    return test.decision, test.deals_used, test.deals_differing, test.log_ratio


# --- the sequential test ---------------------------------------------------------------------------------------------


def decisions(mean: float, differing: float = 0.4, runs: int = RUNS, **options: int) -> dict[str | None, int]:
    rng = np.random.default_rng([int(1000 * differing), int(1000 * (mean + 1))])
    counts: dict[str | None, int] = {"better": 0, "not better": 0, None: 0}
    for _ in range(runs):
        test = SequentialTest(0, 0.05, **options)
        while test.decision is None and test.deals_used < 40_000:
            test.update(differences(rng, 1000, differing, mean))
        counts[test.decision] += 1
    return counts


@pytest.mark.parametrize("differing", [0.06, 0.2, 0.9])
def test_error_rates_hold_from_the_first_look_on(differing: float) -> None:
    most = 0.05 + 3 * math.sqrt(0.05 * 0.95 / RUNS)
    null, gain = decisions(0.0, differing), decisions(0.05, differing)
    assert null["better"] / RUNS <= most and null[None] == 0
    assert gain["not better"] / RUNS <= most and gain[None] == 0


def test_error_rates_are_used_up_where_deals_are_many() -> None:
    # Wald's bounds are nearly exact when one deal moves the ratio little, so that a wrong bound or variance shows here.
    slack = 3 * math.sqrt(0.05 * 0.95 / RUNS)
    assert decisions(0.0, 0.9)["better"] / RUNS >= 0.05 - slack
    assert decisions(0.05, 0.9)["not better"] / RUNS >= 0.05 - slack


def test_more_than_the_hoped_for_gain_is_found_and_a_loss_is_not_called_one() -> None:
    assert decisions(0.1)["better"] >= 0.99 * RUNS
    assert decisions(-0.05)["not better"] >= 0.99 * RUNS


def test_without_a_first_look_there_is_no_power() -> None:
    # The reason for the first look: deals without a difference at the start have no spread at all.
    eager = decisions(0.05, 0.2, runs=200, first_look=1, min_differing=0)
    assert eager["better"] < 0.5 * 200


@pytest.mark.parametrize("seed", range(12))
def test_blocks_cannot_change_a_bit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Thirds and normal numbers: their sums depend on the order of summation.
    values = rng.normal(0.1, 1, 5000) if seed % 2 else differences(rng, 5000, 0.3, 0.02) / 3
    whole = SequentialTest(0, 0.02 if seed % 2 else 0.01, first_look=50)
    whole.update(values)
    for largest in (1, 2, 7, 100, 1999):
        cuts = np.cumsum(rng.integers(0, largest + 1, 6000))
        test = SequentialTest(whole.mu0, whole.mu1, first_look=50)
        for block in np.split(values, cuts[cuts < values.size]):
            test.update(block)
        assert outcome(test) == outcome(whole)


def test_the_log_ratio_is_that_of_its_formula() -> None:
    values = np.random.default_rng(1).normal(0.3, 2, 150)
    test = SequentialTest(0.1, 0.4)
    assert math.isnan(test.log_ratio)
    assert test.update(values) is None
    mean, s2 = values.mean(), values.var()
    expected = 150 / 2 * math.log((s2 + (mean - 0.1) ** 2) / (s2 + (mean - 0.4) ** 2))
    assert test.log_ratio == pytest.approx(expected, rel=1e-10)

    # and that is the likelihood ratio of two normal laws, each with the spread that fits best
    def best_fit(mu: float) -> float:
        def minus_log_likelihood(log_sd: float) -> float:
            return float(np.sum(log_sd + ((values - mu) / np.exp(log_sd)) ** 2 / 2))

        return -float(scipy.optimize.minimize_scalar(minus_log_likelihood, bounds=(-3, 3), method="bounded").fun)

    assert test.log_ratio == pytest.approx(best_fit(0.4) - best_fit(0.1), abs=1e-6)


def test_bounds_are_those_of_wald() -> None:
    test = SequentialTest(0, 1, alpha=0.01, beta=0.2)
    assert (test.upper, test.lower) == pytest.approx((math.log(80), math.log(0.2 / 0.99)))


@pytest.mark.parametrize(("mean", "decision", "beyond"), [(1.0, "better", 1), (-1.0, "not better", -1)])
def test_it_stops_on_the_first_deal_beyond_a_bound(mean: float, decision: str, beyond: int) -> None:
    values = np.random.default_rng(2).normal(mean, 12, 20_000)
    test = SequentialTest(-0.5, 0.5)
    assert test.update(values) == decision
    assert 200 < test.deals_used < 20_000
    assert beyond * test.log_ratio >= test.upper
    shorter = SequentialTest(-0.5, 0.5)
    assert shorter.update(values[: test.deals_used - 1]) is None
    assert abs(shorter.log_ratio) < test.upper
    before = outcome(test)
    assert test.update(-100 * values) == decision and outcome(test) == before  # nothing is consumed any more


def test_the_first_look_waits_for_both_counts() -> None:
    test = SequentialTest(-0.5, 0.5)
    test.update(np.tile([0.0, 2.0, 2.0, 2.0], 49))
    assert (test.deals_used, test.deals_differing, test.decision) == (196, 147, None)
    test.update(np.full(10, 2.0))
    assert (test.deals_used, test.decision) == (200, "better")
    seldom = SequentialTest(0, 0.05)
    seldom.update(np.tile([0.0] * 19 + [1.0], 49))
    assert (seldom.deals_used, seldom.deals_differing, seldom.decision) == (980, 49, None)
    seldom.update(np.tile([0.0] * 19 + [1.0], 9))
    assert (seldom.deals_used, seldom.deals_differing, seldom.decision) == (1000, 50, "better")


def test_agents_that_never_differ_are_never_decided_upon() -> None:
    test = SequentialTest(0, 0.1)
    assert test.update(np.zeros(10_000)) is None
    assert (test.deals_used, test.deals_differing, test.log_ratio) == (10_000, 0, -math.inf)


def test_losses_differ_as_gains_do() -> None:
    test = SequentialTest(0, 0.5)
    test.update(np.tile([-1.0, 0.0, 1.0], 20))
    assert (test.deals_used, test.deals_differing) == (60, 40)


def test_what_differs_may_be_said_by_the_caller() -> None:
    shares = np.full(300, 0.5)  # win shares of one agent: 1/2 is neutral here, and no value is 0
    silent, told = SequentialTest(0.5, 0.6), SequentialTest(0.5, 0.6)
    assert silent.update(shares) == "not better"
    assert told.update(shares, shares != 0.5) is None


def test_values_that_all_equal_one_hypothesis_decide_for_it() -> None:
    assert SequentialTest(0.5, 1).update(np.ones(300)) == "better"
    assert SequentialTest(1, 2).update(np.ones(300)) == "not better"


def test_a_refused_block_leaves_the_test_as_it_was() -> None:
    test = SequentialTest(0, 1)
    test.update([0.0, 1.0])
    before = outcome(test)
    for values, differing, quoted in (
        ([1.0, math.nan], None, r"values\[1\] is nan"),
        ([1.0, 2.0], [True], r"shape \(2,\)"),
        ([1.0, 2.0], [1, 0], "bool"),
    ):
        with pytest.raises(DomsimError, match=quoted):
            test.update(values, differing)
    assert outcome(test) == before
    assert test.update([]) is None and outcome(test) == before


@pytest.mark.parametrize(
    ("options", "quoted"),
    [
        ({"mu0": 0.2, "mu1": 0.2}, "0.2"),
        ({"mu0": 0.0, "mu1": math.inf}, "inf"),
        ({"mu0": 0, "mu1": 1, "alpha": 0.0}, "alpha is 0.0"),
        ({"mu0": 0, "mu1": 1, "alpha": 0.5, "beta": 0.5}, "beta 0.5"),
        ({"mu0": 0, "mu1": 1, "first_look": 0}, "first_look is 0"),
    ],
)
def test_sequential_test_refuses(options: dict[str, float], quoted: str) -> None:
    with pytest.raises(DomsimError, match=quoted):
        SequentialTest(**options)  # type: ignore[arg-type]


# --- the confidence sequence -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("differing", [0.05, 0.5])
def test_the_sequence_covers_at_all_times_and_a_plain_interval_does_not(differing: float) -> None:
    rng = np.random.default_rng(int(100 * differing))
    deals, looks = 10_000, range(500, 10_001, 500)
    covered = plain_covered = 0
    for run in range(RUNS):
        values = differences(rng, deals, differing, 0.0)
        found = confidence_sequence(values)
        covered += bool(((found.low <= 0) & (found.high >= 0)).all())
        if run < 200:
            plain_covered += all(found.low <= 0 <= found.high for found in (interval(values[:n]) for n in looks))
    assert covered >= 0.95 * RUNS
    assert plain_covered <= 0.85 * 200  # three standard errors of 200 runs are 5 %


def test_the_sequence_is_that_of_its_formula() -> None:
    values = np.random.default_rng(3).gamma(2, 3, 700)
    found = confidence_sequence(values, 0.9, tuned_at=400)
    rho = tuned_rho(0.9, 400)
    for n in (100, 400, 700):
        sd = values[:n].std(ddof=1)
        # as the paper writes it, with a rho in the units of the values: rho / sd
        v = n * sd**2 * (rho / sd) ** 2
        margin = math.sqrt(2 * (v + 1) / (n**2 * (rho / sd) ** 2) * math.log(math.sqrt(v + 1) / 0.1))
        at = found.at(n)
        assert (at.estimate, at.low, at.high) == pytest.approx(
            (values[:n].mean(), values[:n].mean() - margin, values[:n].mean() + margin), rel=1e-10
        )
        assert (at.n, at.level) == (n, 0.9)


def test_the_sequence_is_where_the_mixed_likelihood_ratio_reaches_1_over_alpha() -> None:
    # Robbins' mixture, integrated: means mu ~ N(0, rho^2) against 0, from 900 deals of mean m and standard deviation 1.
    values = np.random.default_rng(4).normal(0, 1, 900)
    values = (values - values.mean()) / values.std(ddof=1)
    rho = tuned_rho(0.95, 1000)
    mean = confidence_sequence(values).at(900).high  # shifted by the margin, 0 is just on the bound
    mu = np.linspace(-1.5, 1.5, 2_000_001)
    density = np.exp(900 * (mu * mean - mu**2 / 2) - (mu / rho) ** 2 / 2) / (rho * math.sqrt(2 * math.pi))
    assert np.trapezoid(density, mu) == pytest.approx(1 / 0.05, rel=1e-6)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.999])
@pytest.mark.parametrize("deals", [10, 1000, 50_000])
def test_the_tuned_rho_is_the_best_for_that_many_deals(level: float, deals: int) -> None:
    def width(rho: float) -> float:
        v = deals * rho * rho
        return math.sqrt(2 * (v + 1) / (deals * v) * math.log(math.sqrt(v + 1) / (1 - level)))

    rho = tuned_rho(level, deals)
    assert width(rho) < min(width(rho * 0.97), width(rho * 1.03))
    v = -scipy.special.lambertw(-((1 - level) ** 2) / math.e, -1).real - 1
    assert rho == pytest.approx(math.sqrt(v / deals), rel=1e-9)


def test_the_sequence_is_narrowest_where_it_was_tuned_and_costs_little_there() -> None:
    values = np.random.default_rng(5).normal(0, 1, 20_000)
    widths = {tuned: confidence_sequence(values, tuned_at=tuned) for tuned in (200, 2000, 20_000)}
    for deals in widths:
        size = {tuned: found.at(deals).high - found.at(deals).low for tuned, found in widths.items()}
        assert min(size, key=size.__getitem__) == deals
        plain = interval(values[:deals])
        assert 1 < size[deals] / (plain.high - plain.low) < 1.6


def test_the_sequence_needs_no_future_and_no_units() -> None:
    values = np.random.default_rng(6).exponential(1, 1000)
    found = confidence_sequence(values)
    start = confidence_sequence(values[:300])
    np.testing.assert_array_equal(found.high[:300], start.high)
    far = confidence_sequence(1e6 + 8 * values)
    np.testing.assert_allclose(far.high - far.estimate, 8 * (found.high - found.estimate), rtol=1e-6)


def test_the_sequence_says_nothing_before_its_start_or_without_spread() -> None:
    values = np.concatenate([np.full(300, 0.1), np.arange(50.0)])
    found = confidence_sequence(values, start=20)
    assert np.isinf(found.high[:300]).all() and np.isinf(found.low[:300]).all()
    assert np.isfinite(found.high[300:]).all()
    ordinary = confidence_sequence(np.arange(50.0), start=20)
    assert np.isinf(ordinary.high[:19]).all() and np.isfinite(ordinary.high[19:]).all()
    assert confidence_sequence([]).estimate.shape == (0,)


def test_the_sequence_refuses() -> None:
    for options, quoted in (({"level": 1.0}, "1.0"), ({"tuned_at": 0}, "tuned_at is 0"), ({"start": 0}, "start is 0")):
        with pytest.raises(DomsimError, match=quoted):
            confidence_sequence([1.0, 2.0], **options)
    for deals in (0, 3):
        with pytest.raises(DomsimError, match=f"deals is {deals}"):
            confidence_sequence([1.0, 2.0]).at(deals)
