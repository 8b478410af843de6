"""Plackett-Luce strengths: known ones are found again, and a tie is the average of its orders."""

import itertools
import math

import numpy as np
import pytest
import scipy.optimize

from domsim.errors import DomsimError
from domsim.strengths import plackett_luce, plackett_luce_intervals

TRUE = np.array([0.4, 0.3, 0.2, 0.1])


def finishes(rng: np.random.Generator, count: int, strengths: np.ndarray = TRUE) -> np.ndarray:
    """Orders, first to last, `(R, A)`, drawn from the model: sorted exponential arrival times."""
    return np.argsort(rng.exponential(1 / strengths, (count, strengths.size)), axis=1)


def broken_ties(seats: list[int], places: list[int]) -> list[list[int]]:
    """All orders of one finish that break its ties, agents first to last."""
    groups = [[a for a, p in zip(seats, places, strict=True) if p == place] for place in sorted(set(places))]
    each = [list(itertools.permutations(group)) for group in groups]
    return [list(itertools.chain(*order)) for order in itertools.product(*each)]


def log_likelihood(strengths: np.ndarray, agents: list[list[int]], places: list[list[int]]) -> float:
    """The literal definition: log likelihood of each finish, averaged over the orders that break its ties."""
    total = 0.0
    for seats, ranks in zip(agents, places, strict=True):
        orders = broken_ties(seats, ranks)
        for order in orders:
            values = strengths[order]
            total += sum(math.log(values[i] / values[i:].sum()) for i in range(len(order))) / len(orders)
    return total


def test_known_strengths_are_found_again() -> None:
    found = plackett_luce(finishes(np.random.default_rng(1), 20_000))
    assert found.sum() == pytest.approx(1)
    np.testing.assert_allclose(found, TRUE, atol=0.01)


def test_known_strengths_are_found_from_lineups_of_some() -> None:
    rng = np.random.default_rng(2)
    strengths = np.array([0.3, 0.25, 0.2, 0.15, 0.07, 0.03])
    lineups = np.array([rng.choice(6, 3, replace=False) for _ in range(20_000)])
    orders = np.take_along_axis(lineups, np.argsort(rng.exponential(1 / strengths[lineups]), axis=1), axis=1)
    np.testing.assert_allclose(plackett_luce(orders), strengths, atol=0.01)


def test_two_agents_have_their_shares_of_wins() -> None:
    assert plackett_luce([[0, 1]] * 3 + [[1, 0]]) == pytest.approx([0.75, 0.25])
    # one win, one loss, two ties for the first; places by seat, with the agents changing seats
    agents, places = [[0, 1], [1, 0], [0, 1], [1, 0]], [[1, 2], [1, 2], [1, 1], [1, 1]]
    assert plackett_luce(agents, places) == pytest.approx([0.5, 0.5])
    agents, places = [[0, 1], [0, 1]], [[1, 2], [3, 3]]
    assert plackett_luce(agents, places) == pytest.approx([0.75, 0.25])


def test_strengths_maximise_the_averaged_likelihood() -> None:
    rng = np.random.default_rng(3)
    agents = [rng.permutation(4).tolist() for _ in range(30)] + [[0, 1, 1, 2], [3, 0, 0, 0], [2, 2, 1, 3]]
    places = rng.integers(1, 4, (33, 4)).tolist()

    def minus(logs: np.ndarray) -> float:
        return -log_likelihood(np.exp(np.append(logs, 0)), agents, places)

    best = scipy.optimize.minimize(minus, np.zeros(3), method="BFGS", options={"gtol": 1e-7})
    expected = np.exp(np.append(best.x, 0))
    np.testing.assert_allclose(plackett_luce(agents, places), expected / expected.sum(), rtol=1e-5)


def test_order_of_finishes_seats_and_the_scale_of_places_do_not_matter() -> None:
    rng = np.random.default_rng(4)
    agents, places = finishes(rng, 200), rng.integers(1, 5, (200, 4))
    expected = plackett_luce(agents, places)
    rows, seats = rng.permutation(200), rng.permutation(4)
    np.testing.assert_allclose(plackett_luce(agents[rows][:, seats], places[rows][:, seats]), expected, rtol=1e-9)
    np.testing.assert_allclose(plackett_luce(agents, places * 2.5 - 100), expected, rtol=1e-9)


def test_empty_seats_are_left_out() -> None:
    orders = finishes(np.random.default_rng(5), 100)
    padded = np.concatenate([np.full((100, 1), -1), orders], axis=1)
    np.testing.assert_allclose(plackett_luce(padded), plackett_luce(orders), rtol=1e-9)


def test_agents_below_all_others_have_strength_0() -> None:
    # 0 and 1 beat each other, and 2 never comes before either
    assert plackett_luce([[0, 1, 2], [0, 1, 2], [1, 0, 2]]) == pytest.approx([2 / 3, 1 / 3, 0])
    # below them, 2 and 3 beat each other, which says nothing about the top
    assert plackett_luce([[0, 1, 2, 3], [1, 0, 2, 3], [1, 0, 3, 2]]) == pytest.approx([1 / 3, 2 / 3, 0, 0])
    assert plackett_luce([[1, 0], [1, 0]]).tolist() == [0, 1]
    assert plackett_luce([[0, 0]]).tolist() == [1]


def test_agents_that_nothing_compares_are_refused() -> None:
    with pytest.raises(DomsimError, match="common scale"):
        plackett_luce([[0, 1], [1, 0], [2, 3], [3, 2]])
    with pytest.raises(DomsimError, match="common scale"):
        plackett_luce([[0, 2], [1, 2]])


@pytest.mark.parametrize(
    ("agents", "places", "quoted"),
    [
        ([0, 1], None, r"\(2,\)"),
        ([[0.0, 1.0]], None, "float64"),
        ([[0, -2]], None, "agent numbers from 0"),
        ([[0, 1]], [[1, 2, 3]], r"\(1, 3\)"),
        ([[0, 1]], [[1, math.nan]], "nan"),
    ],
)
def test_plackett_luce_refuses(agents: list[object], places: list[object] | None, quoted: str) -> None:
    with pytest.raises(DomsimError, match=quoted):
        plackett_luce(agents, places)  # type: ignore[arg-type]


def test_intervals_are_as_wide_as_strengths_spread() -> None:
    rng = np.random.default_rng(6)
    spread = np.std([plackett_luce(finishes(rng, 300)) for _ in range(200)], axis=0)
    found = plackett_luce_intervals(finishes(rng, 300), None, np.arange(300))
    widths = [one.high - one.low for one in found]
    np.testing.assert_allclose(widths, 2 * 1.96 * spread, rtol=0.25)


def test_intervals_take_the_deal_as_the_unit() -> None:
    orders = finishes(np.random.default_rng(7), 200)
    once = plackett_luce_intervals(orders, None, np.arange(200))
    # every deal played four times with the same finish says no more than once
    repeated = plackett_luce_intervals(np.repeat(orders, 4, axis=0), None, np.repeat(np.arange(200), 4))
    for one, four in zip(once, repeated, strict=True):
        assert four.n == 200
        assert (four.estimate, four.low, four.high) == pytest.approx((one.estimate, one.low, one.high), rel=1e-6)
    as_if_more = plackett_luce_intervals(np.repeat(orders, 4, axis=0), None, np.arange(800))
    assert as_if_more[0].high - as_if_more[0].low == pytest.approx((once[0].high - once[0].low) / 2, rel=0.2)


def test_intervals_need_a_deal_for_every_finish() -> None:
    with pytest.raises(DomsimError, match=r"shape \(1,\)"):
        plackett_luce_intervals([[0, 1], [1, 0]], None, [0])
