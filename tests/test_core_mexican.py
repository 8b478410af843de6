"""The core of `mexican` against the literal reference: uncompiled ply by ply, and compiled through the driver.

`TEST_SCALE=10` in the environment plays ten times as many rounds.
"""

import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from domsim.core import driver, game, mexican, table
from domsim.core.plain import Plain
from domsim.tiles import HIGH, LOW, parse_tile, tile_number, tile_text
from tests import reference
from tests.reference import common

game.register_core(mexican)

SCALE = int(os.environ.get("TEST_SCALE", "1"))
SEATS = reference.SEATS["mexican"]
CHOICES = reference.CHOICES["mexican"]
CASES = Path(__file__).parent / "cases"
F = len(mexican.FEATURES)
WORDS = {game.PASS: "pass", game.DRAW: "draw", game.STOP: "stop"}


# What both comparisons use.


@pytest.fixture(autouse=True)
def _whole_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uncompiled, `table` adds up `int8` pips, which overflow above 127; to be removed once it does not."""
    monkeypatch.setattr(table, "HIGH", HIGH.tolist())
    monkeypatch.setattr(table, "LOW", LOW.tolist())


def random_rules(rng: random.Random) -> dict[str, Any]:
    """Options, each with even odds its default."""
    return {option: rng.choice(values if rng.random() < 0.5 else values[:1]) for option, values in CHOICES.items()}


def set_rules(s: Any, rules: dict[str, Any]) -> None:
    for option, value in rules.items():
        s[option] = value if option == "double_blank" else CHOICES[option].index(value)


def new_state(seats: int, rules: dict[str, Any]) -> Any:
    array = np.zeros(1, mexican.STATE)
    array["seats"] = seats
    set_rules(array, rules)
    return Plain(array)[0]


def new_work() -> Any:
    return Plain(np.zeros(1, driver.work_dtype(F)))[0]


def line_text(line: int) -> str:
    return {game.START: "start", mexican.PUBLIC: "public"}.get(line, str(line))


def action_text(action: int) -> str:
    kind = game.kind_of(action)
    if kind != game.PLAY:
        assert action == kind << 16
        return WORDS[kind]
    tile = tile_number(game.matched_of(action), game.new_of(action))
    return f"{tile_text(tile)}>{line_text(game.line_of(action))}"


def tiles_of(rows: Any) -> set[str]:
    return {
        tile_text(tile_number(a, b))
        for a in range(mexican.TOP + 1)
        for b in range(mexican.TOP + 1)
        if rows[a] >> b & 1 and rows[b] >> a & 1
    }


def stock_of(s: Any) -> list[str]:
    return [tile_text(s.stock[i]) for i in range(s.stock_next, s.stock_next + s.stock_left)]


def reference_of(s: Any, rules: dict[str, Any]) -> reference.Round:
    """The reference's round of the hands and the stock in a state whose search has not begun."""
    hands = [sorted(tiles_of(s.hand[q])) for q in range(s.seats)]
    return reference.new_round("mexican", rules, s.seats, hands, stock_of(s), {"round": s.round_number})


def result_of(row: Any, seats: int) -> dict[str, Any]:
    return {
        "ended": "blocked" if row.blocked else "out",
        "winner": None if row.winner < 0 else int(row.winner),
        "left": [int(row.pips[q]) for q in range(seats)],
        "points": [int(row.points[q]) for q in range(seats)],
    }


# Uncompiled: everything at every ply.


def legal_actions(s: Any, w: Any) -> list[int]:
    rows = mexican.legal(s, w)
    assert rows % 4 == 0
    assert 0 < rows <= game.MAX_ROWS
    return [w.code[row] | new for row in range(rows) for new in range(16) if w.bits[row] >> new & 1]


def compare_position(s: Any, other: Any) -> None:
    """The state's own fields against the reference's."""
    seats = s.seats
    assert s.seat == other.to_move
    assert [tiles_of(s.hand[q]) for q in range(seats)] == [set(map(common.text, hand)) for hand in other.hands]
    assert [s.count[q] for q in range(seats)] == [len(hand) for hand in other.hands]
    assert [s.pips[q] for q in range(seats)] == other.left()
    assert stock_of(s) == list(map(common.text, other.stock))
    if other.table:
        for line in [*range(seats), mexican.PUBLIC]:
            assert s.end[line] == other.ends[line_text(line)]
    queue = [line_text(s.queue[i]) for i in range(s.showing)]
    if other._lap_over():
        assert queue == other.pending + other.turn_doubles
        assert s.waiting == len(other.pending)
    else:
        assert queue[: s.waiting] == other.pending
    assert {q for q in range(seats) if s.marked >> q & 1} == other.marked
    assert s.drawn == other.drawn
    assert s.lap_left == seats - len(other.first_turns)


def check_counts(s: Any, laid: list[str], tiles: set[str]) -> None:
    """Every tile is in one place, and what is counted beside the tiles is right."""
    seats = range(s.seats)
    held = [tile for q in seats for tile in tiles_of(s.hand[q])]
    assert sorted(held + laid + stock_of(s)) == sorted(tiles)
    assert s.laid == len(laid)
    assert tiles_of(s.unseen) == {tile_text(t) for t in range(mexican.TILES)} - set(laid)
    assert sum(s.length[line] for line in range(mexican.LINES)) == max(0, len(laid) - 1)
    for v in range(mexican.TOP + 1):
        assert s.held[v] == sum(str(v) in tile.split("-") for tile in held)
    for q in seats:
        if not (q == s.seat and s.drawn):
            numbers = {int(half) for tile in tiles_of(s.hand[q]) for half in tile.split("-")}
            assert not any(s.shown[q] >> v & 1 for v in numbers)


def play_round(s: Any, rules: dict[str, Any], rng: random.Random, visit: Any = None) -> None:
    """Play a round dealt but not opened at random, beside the reference."""
    w = new_work()
    other = reference_of(s, rules)
    tiles = {common.text(t) for t in set.union(*other.hands, other.stock)}
    laid: list[str] = []
    mexican.open_round(s)
    while True:
        check_counts(s, laid, tiles)
        if s.over:
            break
        compare_position(s, other)
        actions = legal_actions(s, w)
        assert sorted(map(action_text, actions)) == other.legal()
        if visit is not None:
            visit(s, w, actions)
        action = rng.choice(actions)
        if game.kind_of(action) == game.PLAY:
            laid.append(action_text(action).split(">")[0])
        s.ply += 1
        mexican.apply(s, action)
        other.play(action_text(action))
    assert other.over
    before = [s.score[q] for q in range(s.seats)]
    assert mexican.finish_round(s) == (s.round_number == mexican.ROUNDS)
    assert result_of(s, s.seats) == other.result()
    assert [s.score[q] - before[q] for q in range(s.seats)] == other.result()["points"]


def construct(s: Any, number: int, rng: random.Random) -> None:
    """A small position: unequal hands, a short stock or none, the starting double in one of them."""
    table.clear_round(s, mexican.TOP)
    table.clear_hands(s)
    s.round_number = number
    pip = mexican.start_pip(s)
    # Few numbers, so that much fits and doubles are common; or all of them.
    numbers = set(rng.sample(range(13), rng.randint(3, 13))) | {pip}
    tiles = [t for t in range(mexican.TILES) if {int(HIGH[t]), int(LOW[t])} <= numbers]
    rng.shuffle(tiles)
    start = tile_number(pip, pip)
    tiles.remove(start)
    sizes = [rng.randint(1, 7) for _ in range(s.seats)]
    while sum(sizes) > len(tiles):
        sizes = [max(1, size - 1) for size in sizes]
        if max(sizes) == 1 and sum(sizes) > len(tiles):
            tiles += [t for t in range(mexican.TILES) if t not in tiles and t != start]
    stock = tiles[sum(sizes) :][: rng.choice([0, 0, 1, 3, 10])]
    hands = [[tiles.pop(0) for _ in range(size)] for size in sizes]
    (rng.choice([*hands, stock])).insert(0, start)
    for seat, hand in enumerate(hands):
        for t in hand:
            table.hold(s, seat, t)
    rng.shuffle(stock)
    for i, t in enumerate(stock):
        s.stock[i] = t
    s.stock_next = 0
    s.stock_left = len(stock)


@pytest.mark.parametrize("seats", SEATS)
def test_plain_rounds(seats: int) -> None:
    rng = random.Random(seats)
    for number in range(1, 14):
        for _ in range(SCALE):
            rules = random_rules(rng)
            s = new_state(seats, rules)
            s.key = rng.getrandbits(64)
            s.round_number = number - 1
            table.begin_round(s, mexican.TOP)
            mexican.deal(s)
            assert sorted(s.stock[i] for i in range(mexican.TILES)) == list(range(mexican.TILES))
            play_round(s, rules, rng)


@pytest.mark.parametrize("seats", SEATS)
def test_plain_positions(seats: int) -> None:
    rng = random.Random(100 + seats)
    for i in range(26 * SCALE):
        rules = random_rules(rng)
        s = new_state(seats, rules)
        construct(s, i % 13 + 1, rng)
        play_round(s, rules, rng)


def cases() -> list[Any]:
    records = (CASES / "mexican.jsonl").read_text().splitlines()
    expected = (CASES / "mexican.expected.jsonl").read_text().splitlines()
    pairs = enumerate(zip(records, expected, strict=True), 1)
    return [pytest.param(json.loads(record), json.loads(answer), id=str(number)) for number, (record, answer) in pairs]


@pytest.mark.parametrize(("record", "expected"), cases())
def test_case(record: dict[str, Any], expected: dict[str, Any]) -> None:
    s = new_state(record["seats"], reference.DEFAULTS["mexican"] | record["rules"])
    w = new_work()
    table.clear_round(s, mexican.TOP)
    for seat, hand in enumerate(record["hands"]):
        for text in hand:
            table.hold(s, seat, parse_tile(text))
    for i, text in enumerate(record["stock"]):
        s.stock[i] = parse_tile(text)
    s.stock_left = len(record["stock"])
    s.round_number = record["opening"]["round"]
    mexican.open_round(s)
    for ply in expected["plies"]:
        actions = legal_actions(s, w)
        assert s.seat == ply["seat"]
        assert sorted(map(action_text, actions)) == ply["legal"]
        mexican.apply(s, next(action for action in actions if action_text(action) == ply["action"]))
    assert bool(s.over) == expected["over"]
    if s.over:
        mexican.finish_round(s)
        assert result_of(s, s.seats) == expected["result"]
    else:
        assert s.seat == expected["to_move"]
        assert sorted(map(action_text, legal_actions(s, w))) == expected["legal"]
