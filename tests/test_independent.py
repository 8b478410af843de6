"""Random double-six rounds against somebody else's program: `dominoes` 6.1.0 from PyPI.

Its rules: the holder of 6-6 opens with it, or seat 0 opens freely; a block (nobody can play, seen at once and not after
four passes) goes to the team with fewer pips in its two hands, equal sums to nobody; the winners score what is left in
all hands (its text speaks of the three others, and who went out holds nothing). No claims. In our words that is `set=6,
claim_doubles=0, block_winner="lowest_team", round_points="all_others"`, the first round of a match, and the two
`first_tile`. A block ends here with four passes, so that neither passes nor plies are compared.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from math import sqrt
from typing import Any

import dominoes
import numpy as np
import pytest

from domsim.batch import Batch
from domsim.round import Round

ROUNDS = 8000
REENACTED = 150
RULES = {"set": 6, "claim_doubles": 0, "block_winner": "lowest_team", "round_points": "all_others"}
OPENINGS = ("highest_double", "free")
#: what is compared: of every round one number
COMPARED = (
    "blocked",
    "starters won",
    "starters won a round that went out",
    "starters won a block",
    "drawn",
    "starter was last",
    "tiles played",
    "points",
    "points of a block",
)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """`dominoes` draws from the global `random`: seed it, and give it back as it was."""
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)


def row(blocked: bool, winner: int | None, starter: int, last: int, tiles: int, points: int) -> list[float]:
    """One round as the numbers that are compared; `winner` is a team."""
    won = winner == starter % 2
    return [
        blocked,
        won,
        won and not blocked,
        won and blocked,
        winner is None,
        last == starter,
        tiles,
        points,
        points * blocked,
    ]


def new_game(opening: str) -> Any:
    starting_domino = dominoes.Domino(6, 6) if opening == "highest_double" else None
    return dominoes.Game.new(starting_domino=starting_domino)


def their_result(game: Any) -> tuple[bool, int | None, int]:
    """Whether it was blocked, the team that won, and its points."""
    points = game.result.points  # above 0: for seats 0 and 2
    return not game.result.won, None if points == 0 else int(points < 0), abs(points)


def their_round(opening: str) -> list[float]:
    game = new_game(opening)
    last = game.starting_player
    while game.result is None:
        last = game.turn
        game.make_move(*random.choice(game.valid_moves))
    blocked, winner, points = their_result(game)
    return row(blocked, winner, game.starting_player, last, len(game.board), points)


@cache
def theirs(opening: str) -> Any:
    with seeded(20):
        return np.array([their_round(opening) for _ in range(ROUNDS)], np.float64)


@cache
def ours(opening: str) -> Any:
    rules = RULES | {"first_tile": opening}
    rounds = Batch("cuban", ROUNDS, rules=rules, agents=["random"] * 4, seed=20).run().rounds
    return np.array(
        [
            row(
                bool(r["blocked"]),
                None if r["winner"] < 0 else int(r["winner"]),
                int(r["opener"]),
                int(r["last"]),
                28 - int(r["tiles"].sum()),
                int(r["points"].max()),
            )
            for r in rounds
        ],
        np.float64,
    )


def distance(a: Any, b: Any) -> float:
    """The difference of two means in standard errors."""
    return abs(float(a.mean() - b.mean())) / sqrt(a.var() / len(a) + b.var() / len(b))


# --- random play on both sides --------------------------------------------------------------------


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("what", COMPARED)
def test_rounds_are_alike(what: str, opening: str) -> None:
    column = COMPARED.index(what)
    a, b = theirs(opening)[:, column], ours(opening)[:, column]
    assert b.std() > 0
    assert distance(a, b) < 4, f"{what}: {a.mean():.4f} there, {b.mean():.4f} here"


@pytest.mark.parametrize("opening", OPENINGS)
def test_numbers_of_tiles_played_are_alike(opening: str) -> None:
    """Not only their mean: the share of every number of tiles that is not rare."""
    column = COMPARED.index("tiles played")
    for tiles in range(29):
        there, here = (rounds[:, column] == tiles for rounds in (theirs(opening), ours(opening)))
        if there.sum() + here.sum() > 50:
            assert distance(there, here) < 4, tiles


def test_the_other_opening_is_told_apart() -> None:
    """The comparison has the strength to see that a round is opened in another way."""
    column = COMPARED.index("points")
    assert distance(theirs("highest_double")[:, column], ours("free")[:, column]) > 8


# --- their rounds, move by move -------------------------------------------------------------------


def text(tile: Any) -> str:
    return f"{max(tile.first, tile.second)}-{min(tile.first, tile.second)}"


def as_ours(a_round: Round, tile: Any, end: int) -> str:
    """A move of theirs, given the number it is laid at: their left end may be our right one."""
    left, right = a_round.state.end[0], a_round.state.end[1]
    assert end in (left, right)
    return f"{text(tile)}>{'L' if end == left else 'R'}"


def reenact(opening: str) -> bool:
    """Play one of their rounds in both programs at once; whether it was blocked."""
    game = new_game(opening)
    hands = [[text(tile) for tile in hand] for hand in game.hands]
    if opening == "highest_double":
        hands[game.starting_player].append("6-6")  # laid by the constructor
    rules = RULES | {"first_tile": opening}
    named = 0 if opening == "free" else 3  # the holder of 6-6 opens, whoever is named
    a_round = Round.of("cuban", hands, [], {"opener": named, "first": True}, rules=rules)
    assert a_round.to_move == game.starting_player
    if opening == "highest_double":
        assert a_round.legal() == ["6-6>start"]
        a_round.play("6-6>start")
    while game.result is None:
        while a_round.to_move != game.turn:  # they go on to the next seat that can play
            assert a_round.legal() == ["pass"]
            a_round.play("pass")
        tile, left = random.choice(game.valid_moves)
        if len(game.board) == 0:
            assert a_round.legal() == sorted(f"{text(t)}>start" for t, _ in game.valid_moves)
            a_round.play(f"{text(tile)}>start")
        else:
            ends = {True: game.board.left_end(), False: game.board.right_end()}
            assert a_round.legal() == sorted(as_ours(a_round, t, ends[at]) for t, at in game.valid_moves)
            a_round.play(as_ours(a_round, tile, ends[left]))
        game.make_move(tile, left)
    blocked, winner, points = their_result(game)
    for _ in range(4 * blocked):
        assert a_round.legal() == ["pass"]
        a_round.play("pass")
    scored = [0, 0]
    if winner is not None:
        scored[winner] = points
    assert a_round.result == {
        "ended": "blocked" if blocked else "out",
        "winner": winner,
        "left": [sum(tile.first + tile.second for tile in hand) for hand in game.hands],
        "points": scored,
    }
    return blocked


@pytest.mark.parametrize("opening", OPENINGS)
def test_their_rounds_are_legal_here(opening: str) -> None:
    """The same legal moves at every turn, the same end, winner and points."""
    with seeded(21):
        blocked = [reenact(opening) for _ in range(REENACTED)]
    assert 10 < sum(blocked) < REENACTED - 10
