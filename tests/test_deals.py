"""Deals of `cuban` against exact probabilities: 200,000 of them, claims off and on; and how hands are made of bits."""

import random
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb, prod, sqrt
from typing import Any

import numpy as np
import pytest
from numba import njit

from domsim.core import cuban, table
from domsim.core.compiled import gather
from domsim.core.plain import Plain
from domsim.games import find_game
from domsim.rules import find_rules
from domsim.seeds import deal_keys, find_suite
from tests import dealing
from tests.reference import common

DEALS = 200_000
DEALT = np.dtype(
    [
        ("hand", "i2", (4, 16)),
        ("pips", "i2", 4),
        ("doubles", "i1", 4),
        ("count", "i1", 4),
        ("redeals", "i2"),
        ("stock", "i1", 56),
    ]
)


@njit
def deal_all(states: Any, keys: Any, dealt: Any) -> None:
    s = states[0]
    for i in range(keys.size):
        s.key = keys[i]
        s.round_number = 0
        cuban.start_match(s)
        cuban.start_round(s)
        row = dealt[i]
        for q in range(4):
            row.pips[q] = s.pips[q]
            row.doubles[q] = s.doubles[q]
            row.count[q] = s.count[q]
            for v in range(16):
                row.hand[q, v] = s.hand[q, v]
        for place in range(56):
            row.stock[place] = s.stock[place]
        row.redeals = s.redeals


@cache
def deals(claim_doubles: int, top: int = 9) -> Any:
    """The first deals of the suite `smoke`, `(200000,) DEALT`."""
    dealt = np.zeros(DEALS, DEALT)
    states = find_game("cuban").new_states(1, find_rules("cuban", set=top, claim_doubles=claim_doubles), 4)
    deal_all(states, deal_keys(find_suite("smoke"), 0, range(DEALS)), dealt)
    return dealt


def holds(dealt: Any, seat: int, high: int, low: int) -> Any:
    """In which deals a seat holds a tile, `(D,) bool`."""
    return dealt["hand"][:, seat, high] >> low & 1 == 1


def check_share(happened: Any, expected: Fraction) -> None:
    """A share of the deals, within four standard errors of its exact probability."""
    error = sqrt(expected * (1 - expected) / len(happened))
    assert abs(happened.mean() - float(expected)) < 4 * error


def check_mean(values: Any, expected: Fraction, variance: Fraction) -> None:
    assert abs(values.mean() - float(expected)) < 4 * sqrt(variance / len(values))


def check_variance(values: Any, expected: Fraction) -> None:
    """The error of a variance comes from the fourth moment of the values themselves."""
    deviations = (values - values.mean()) ** 2
    assert abs(deviations.mean() - float(expected)) < 4 * deviations.std() / sqrt(len(values))


# --- exact values ---------------------------------------------------------------------------------


def p_doubles(k: int, tiles: int = 55, each: int = 10) -> Fraction:
    """That a hand holds exactly k doubles: hypergeometric."""
    doubles = 10 if tiles == 55 else 7
    return Fraction(comb(doubles, k) * comb(tiles - doubles, each - k), comb(tiles, each))


def p_nobody_claims(claim_doubles: int, tiles: int = 55, each: int = 10) -> Fraction:
    """That no hand of a deal holds that many doubles: over all ways doubles and others fall to the four hands."""
    doubles = 10 if tiles == 55 else 7
    ways = 0
    for split in product(range(claim_doubles), repeat=4):
        if sum(split) <= doubles:
            ways += ways_to_take(doubles, split) * ways_to_take(tiles - doubles, tuple(each - k for k in split))
    return Fraction(ways, ways_to_take(tiles, (each,) * 4))


def ways_to_take(tiles: int, numbers: tuple[int, ...]) -> int:
    """Ways to give away these numbers of tiles, one hand after another."""

    def factors() -> Iterator[int]:
        left = tiles
        for number in numbers:
            yield comb(left, number)
            left -= number

    return prod(factors())


def pips_of_a_hand(top: int, each: int) -> tuple[Fraction, Fraction]:
    """Mean and variance of a hand's pips: a sample without replacement from the set."""
    weights = [sum(tile) for tile in common.whole_set(top)]
    mean = Fraction(sum(weights), len(weights))
    variance = sum((weight - mean) ** 2 for weight in weights) / len(weights)
    return each * mean, each * variance * Fraction(len(weights) - each, len(weights) - 1)


def test_exact_values_are_those_of_the_books() -> None:
    assert pips_of_a_hand(9, 10) == (90, 150)
    assert sum(k * p_doubles(k) for k in range(11)) == Fraction(100, 55)
    assert round(float(sum(p_doubles(k) for k in range(5, 11))), 4) == 0.0117
    assert p_nobody_claims(11) == p_nobody_claims(8, 28, 7) == 1
    assert p_nobody_claims(1) == Fraction(comb(45, 40), comb(55, 40))  # all ten doubles among the fifteen left over


# --- deals ----------------------------------------------------------------------------------------


def test_hands_are_those_of_the_documented_streams() -> None:
    for claims, top in ((0, 9), (5, 9), (3, 6)):
        rules = {"set": top, "claim_doubles": claims}
        for deal, row in enumerate(deals(claims, top)[:200]):
            hands = dealing.hands_of(dealing.deal_key(1, 0, deal), 1, int(row["redeals"]), rules)
            for seat, hand in enumerate(hands):
                tiles = {common.tile(text) for text in hand}
                held = {tile for tile in common.whole_set(top) if row["hand"][seat, tile[0]] >> tile[1] & 1}
                assert held == tiles
                assert [int(row[name][seat]) for name in ("pips", "doubles", "count")] == [
                    common.pips(tiles),
                    len(common.doubles(tiles)),
                    len(tiles),
                ]


def test_doubles_and_pips_of_a_hand() -> None:
    dealt = deals(0)
    check_share(holds(dealt, 0, 9, 9), Fraction(10, 55))
    doubles = dealt["doubles"][:, 0].astype(np.float64)
    mean = Fraction(100, 55)
    check_mean(doubles, mean, sum(p_doubles(k) * (k - mean) ** 2 for k in range(11)))
    check_share(doubles >= 5, sum(p_doubles(k) for k in range(5, 11)))
    for k in range(6):
        check_share(doubles == k, p_doubles(k))
    pips = dealt["pips"][:, 0].astype(np.float64)
    check_mean(pips, *pips_of_a_hand(9, 10))
    check_variance(pips, Fraction(150))
    assert not dealt["redeals"].any()


@pytest.mark.parametrize(("top", "each"), [(9, 10), (6, 7)])
def test_every_tile_falls_to_every_seat_alike(top: int, each: int) -> None:
    """As a whole, over all tiles and seats: each share's distance from its probability, in standard errors."""
    dealt, tiles = deals(0, top), common.whole_set(top)
    p = each / len(tiles)
    error = sqrt(p * (1 - p) / DEALS)
    z = np.array([[(holds(dealt, seat, *tile).mean() - p) / error for tile in tiles] for seat in range(4)])
    assert np.abs(z).max() < 4.8  # of 220 shares; one in a million each
    assert 0.8 < (z**2).mean() < 1.2


def test_no_tile_is_dealt_twice() -> None:
    """The hands and what is left over are the whole set, and hands of one deal hang together as they must."""
    dealt = deals(0)
    everything = np.bitwise_or.reduce(dealt["hand"], axis=1)
    assert (np.bitwise_count(everything.astype(np.uint16)).sum(axis=1) == 2 * 40 - dealt["doubles"].sum(axis=1)).all()
    assert (np.sort(dealt["stock"][:, :55], axis=1) == np.arange(55)).all()
    together = holds(dealt, 0, 9, 9) & holds(dealt, 2, 8, 8)
    check_share(together, Fraction(10, 55) * Fraction(10, 54))


def test_claims_are_dealt_again() -> None:
    for claims, top, tiles, each in ((5, 9, 55, 10), (3, 6, 28, 7)):
        dealt = deals(claims, top)
        assert (dealt["doubles"] < claims).all()
        assert (dealt["doubles"] == claims - 1).any()
        p = p_nobody_claims(claims, tiles, each)
        check_share(dealt["redeals"] == 0, p)
        check_mean(dealt["redeals"].astype(np.float64), (1 - p) / p, (1 - p) / p**2)  # geometric


def test_deals_that_stand_are_even_among_those_that_may() -> None:
    """Dealing again until nobody claims is choosing among the deals without a claim: doubles of one hand."""
    doubles = deals(5)["doubles"][:, 0]
    stands = p_nobody_claims(5)
    for k in range(5):
        others = sum(
            ways_to_take(10, (k, *split)) * ways_to_take(45, tuple(10 - n for n in (k, *split)))
            for split in product(range(5), repeat=3)
            if k + sum(split) <= 10
        )
        check_share(doubles == k, Fraction(others, ways_to_take(55, (10,) * 4)) / stands)


def test_bits_are_gathered_alike_with_and_without_the_instruction() -> None:
    """And as the digits of a binary number, chosen and joined."""
    by_instruction, by_loop = njit(lambda x, places: gather(x, places)), njit(gather)
    for word, places in np.random.default_rng(1).integers(0, 2**63, (1000, 2)).tolist():
        digits = [w for w, m in zip(f"{word:064b}", f"{places:064b}", strict=True) if m == "1"]
        expected = int("".join(digits), 2)
        assert by_instruction(word, places) == by_loop(word, places) == gather(word, places) == expected


@pytest.mark.parametrize("name", ["cuban", "longana", "mexican"])
def test_hands_dealt_are_hands_held_tile_by_tile(name: str) -> None:
    game = find_game(name)
    for seats in game.seats:
        state = Plain(game.new_states(1, game.rules.of({}), seats))[0]
        number = len(state.stock) - 1
        dealt = min(10, number // seats)
        for key in range(30):
            order = list(range(number))
            random.Random(key).shuffle(order)
            for place, tile in enumerate(order):
                state.stock[place] = tile
            table.deal_hands(state, dealt)
            hands = [[[int(row) for row in state.hand[q]], state.pips[q], state.doubles[q]] for q in range(seats)]
            table.clear_hands(state)
            for place in range(seats * dealt):
                table.hold(state, place // dealt, order[place])
            held = [[[int(row) for row in state.hand[q]], state.pips[q], state.doubles[q]] for q in range(seats)]
            assert hands == held and {int(state.count[q]) for q in range(seats)} == {dealt}
