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
TILE_TEXT = [tile_text(t) for t in range(mexican.TILES)]
ALL_TILES = set(TILE_TEXT)
#: places of the bits set in a number
ONES = [[place for place in range(13) if bits >> place & 1] for bits in range(1 << 13)]
WORDS = {game.PASS: "pass", game.DRAW: "draw", game.STOP: "stop"}


# What both comparisons use.


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
        assert action == kind << 12
        return WORDS[kind]
    tile = tile_number(game.matched_of(action), game.new_of(action))
    return f"{TILE_TEXT[tile]}>{line_text(game.line_of(action))}"


def tiles_of(rows: Any) -> set[str]:
    """The tiles in rows of bits, `(16,)`."""
    bits = rows._array.tolist()[: mexican.TOP + 1]
    assert all(bits[b] >> a & 1 for a, row in enumerate(bits) for b in ONES[row])
    return {TILE_TEXT[a * (a + 1) // 2 + b] for a, row in enumerate(bits) for b in ONES[row & (2 << a) - 1]}


def stock_of(s: Any) -> list[str]:
    return [TILE_TEXT[t] for t in s.stock._array[s.stock_next :][: s.stock_left].tolist()]


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
    return [w.code[row] | new for row in range(rows) for new in ONES[w.bits[row]]]


def compare_position(s: Any, hands: list[set[str]], other: Any) -> None:
    """The state's own fields against the reference's."""
    seats = s.seats
    assert s.seat == other.to_move
    assert hands == [set(map(common.text, hand)) for hand in other.hands]
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
        assert s.waiting in (0, s.showing)
    else:
        assert queue[: s.waiting] == other.pending
    assert {q for q in range(seats) if s.marked >> q & 1} == other.marked
    assert s.drawn == other.drawn
    assert s.lap_left == seats - len(other.first_turns)


def check_counts(s: Any, hands: list[set[str]], laid: list[str], tiles: list[str]) -> None:
    """Every tile is in one place, and what is counted beside the tiles is right."""
    seats = range(s.seats)
    held = [tile for hand in hands for tile in hand]
    assert sorted(held + laid + stock_of(s)) == tiles
    assert s.laid == len(laid)
    assert tiles_of(s.unseen) == ALL_TILES - set(laid)
    assert sum(s.length[line] for line in range(mexican.LINES)) == max(0, len(laid) - 1)
    rows = s.hand._array.tolist()
    assert s.held._array.tolist() == [sum(hand[v].bit_count() for hand in rows[: s.seats]) for v in range(16)]
    shown = s.shown._array.tolist()
    for q in seats:
        if not (q == s.seat and s.drawn):
            assert not any(row and shown[q] >> v & 1 for v, row in enumerate(rows[q]))


class Seen:
    """What everybody has seen: who laid the tile at every end, and which numbers the seats have shown to lack."""

    def __init__(self, seats: int) -> None:
        self.lines = [*range(seats), mexican.PUBLIC]
        self.layer = dict.fromkeys(self.lines, (-1, 0))
        self.shown = [0] * seats
        self.lacked = 0

    def take(self, s: Any, other: reference.Round, action: int) -> None:
        """See an action before it is carried out."""
        kind, seat = game.kind_of(action), other.to_move
        if kind == game.PLAY:
            line = game.line_of(action)
            self.layer |= dict.fromkeys(self.lines if line == game.START else [line], (seat, s.ply))
        elif kind != game.STOP:
            lacked = sum(1 << end for end in {other.ends[train] for train in other._usable(seat)})
            before = 0 if kind == game.PASS and other.drawn else self.shown[seat]
            self.shown[seat] = before | lacked
            self.lacked = lacked if kind == game.PASS else self.lacked

    def compare(self, s: Any) -> None:
        assert {line: (s.layer[line], s.layer_ply[line]) for line in self.lines} == self.layer
        assert [s.shown[q] for q in range(s.seats)] == self.shown
        assert s.lacked == self.lacked or self.lacked == 0


def play_round(s: Any, rules: dict[str, Any], rng: random.Random, visit: Any = None) -> None:
    """Play a round dealt but not opened at random, beside the reference."""
    w = new_work()
    other = reference_of(s, rules)
    seen = Seen(s.seats)
    tiles = sorted(common.text(t) for t in set.union(*other.hands, other.stock))
    laid: list[str] = []
    mexican.open_round(s)
    while True:
        hands = [tiles_of(s.hand[q]) for q in range(s.seats)]
        check_counts(s, hands, laid, tiles)
        seen.compare(s)
        if s.over:
            break
        compare_position(s, hands, other)
        actions = legal_actions(s, w)
        assert sorted(map(action_text, actions)) == other.legal()
        if visit is not None:
            visit(s, w, actions)
        action = rng.choice(actions)
        if game.kind_of(action) == game.PLAY:
            laid.append(action_text(action).split(">")[0])
        s.ply += 1
        seen.take(s, other, action)
        mexican.apply(s, action)
        other.play(action_text(action))
    assert other.over
    before = [s.score[q] for q in range(s.seats)]
    assert mexican.finish_round(s) == (s.round_number == mexican.ROUNDS)
    assert result_of(s, s.seats) == other.result()
    assert [s.score[q] - before[q] for q in range(s.seats)] == other.result()["points"]


def set_position(s: Any, number: int, hands: list[list[int]], stock: list[int]) -> None:
    table.clear_round(s, mexican.TOP)
    table.clear_hands(s)
    s.round_number = number
    for seat, hand in enumerate(hands):
        for t in hand:
            table.hold(s, seat, t)
    for i, t in enumerate(stock):
        s.stock[i] = t
    s.stock_next = 0
    s.stock_left = len(stock)


def construct(s: Any, number: int, rng: random.Random) -> None:
    """A small position: unequal hands, a short stock or none, the starting double in one of them."""
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
    rng.shuffle(stock)
    set_position(s, number, hands, stock)


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
    for i in range(13 * SCALE):
        rules = random_rules(rng)
        s = new_state(seats, rules)
        construct(s, i % 13 + 1, rng)
        play_round(s, rules, rng)


def test_all_out_in_the_first_lap_is_no_block() -> None:
    s = new_state(2, {})
    set_position(s, 1, [[parse_tile("12-12"), parse_tile("12-5")], [parse_tile("12-3")]], [])
    play_round(s, {}, random.Random(0))
    assert (s.over, s.blocked) == (1, 0)


def test_the_binding_double_blocks() -> None:
    """Doubles of two numbers wait after the first lap: of the older no tile is left, of the newer there is one."""
    hands = [["12-12", "12-5", "5-5", "3-1"], ["12-3", "3-3", "9-8"]]
    blocked = set()
    for order in CHOICES["double_order"]:
        for seed in range(20):
            rules = {"double_order": order}
            s = new_state(2, rules)
            set_position(s, 1, [list(map(parse_tile, hand)) for hand in hands], [])
            play_round(s, rules, random.Random(seed))
            if s.laid == 5:
                blocked.add(order)
    assert blocked == {"oldest"}


def cases() -> list[Any]:
    records = (CASES / "mexican.jsonl").read_text().splitlines()
    expected = (CASES / "mexican.expected.jsonl").read_text().splitlines()
    pairs = enumerate(zip(records, expected, strict=True), 1)
    return [pytest.param(json.loads(record), json.loads(answer), id=str(number)) for number, (record, answer) in pairs]


@pytest.mark.parametrize(("record", "expected"), cases())
def test_case(record: dict[str, Any], expected: dict[str, Any]) -> None:
    s = new_state(record["seats"], reference.DEFAULTS["mexican"] | record["rules"])
    w = new_work()
    hands = [list(map(parse_tile, hand)) for hand in record["hands"]]
    set_position(s, record["opening"]["round"], hands, list(map(parse_tile, record["stock"])))
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


# Uncompiled: what agents get.


def expected_features(s: Any, hand: set[common.Tile], action: int) -> dict[str, int]:
    """The features as `FEATURE_NOTES` tells them, from sets of tiles."""
    if game.kind_of(action) != game.PLAY:
        return dict.fromkeys(mexican.FEATURES, 0) | {"stop": int(game.kind_of(action) == game.STOP)}
    a, x, line, seat = game.matched_of(action), game.new_of(action), game.line_of(action), s.seat
    kept = hand - {(max(a, x), min(a, x))}
    unseen = set(map(common.tile, tiles_of(s.unseen))) - hand
    ends = {i: s.end[i] for i in range(mexican.LINES)} | {line: x}
    owner = line if line < s.seats and line != seat else None
    pips = s.double_blank if a == x == 0 else a + x
    return {
        "pips": pips,
        "double": int(a == x),
        "double_uncovered": int(a == x and not any(x in t for t in kept)),
        "covers": int(line in [s.queue[i] for i in range(s.showing)]),
        "own_train": int(line == seat),
        "public_train": int(line == mexican.PUBLIC),
        "unmarks": int(s.marked >> seat & 1 and (line == seat or s.mark_removal == mexican.ANY_PLAY)),
        "owner_count": 0 if owner is None else s.count[owner],
        "owner_lacks_new": 0 if owner is None else s.shown[owner] >> x & 1,
        "suit_new": sum(x in t for t in kept),
        "suit_matched": sum(a in t for t in kept),
        "unseen_new": sum(x in t for t in unseen),
        "next_lacks_new": s.shown[(seat + 1) % s.seats] >> x & 1,
        "own_fits": sum(ends[seat] in t for t in kept),
        "own_chain": chain_length(kept, ends[seat]),
        "answers_left": sum(ends[seat] in t or ends[mexican.PUBLIC] in t for t in kept),
        "stop": 0,
        "pips_in_a_rush": pips if min(s.count[q] for q in range(s.seats) if q != seat) <= 2 else 0,
    }


def chain_length(tiles: set[common.Tile], number: int) -> int:
    met = [number]
    while ahead := {common.other_half(t, number) for t in tiles if number in t} - set(met):
        number = min(ahead)
        met.append(number)
    return len(met) - 1 + sum((v, v) in tiles for v in met)


def check_features(s: Any, w: Any, actions: list[int]) -> None:
    hand = set(map(common.tile, tiles_of(s.hand[s.seat])))
    for action in actions:
        mexican.features(s, action, w, -1)
        found = dict(zip(mexican.FEATURES, w.feature._array.tolist(), strict=True))
        assert found == expected_features(s, hand, action)
        mexican.features(s, action, w, ~(1 << mexican.FEATURES.index("own_chain")))
        assert w.feature._array.tolist() == list((found | {"own_chain": 0}).values())
    assert mexican.stage(s) == (0 if s.lap_left else 1 + (3 * mexican.smallest_hand(s) <= mexican.hand_size_of(s)))


def view_of(s: Any) -> Any:
    array = np.zeros(1, mexican.VIEW)
    mexican.observe(s, Plain(array)[0])
    return array[0]


def check_view(s: Any, w: Any, actions: list[int]) -> None:
    """The view tells what is public, and does not change when hidden tiles change places."""
    view = view_of(s)
    state = s._array
    for name in ("seat", "seats", "ply", "round_number", "opener", "laid", "waiting", "showing", "turn_tiles", "drawn"):
        assert view[name] == state[name]
    for name in ("end", "layer", "length", "unseen", "count", "shown", "score", "stock_left", *mexican.OPTIONS):
        assert (view[name] == state[name]).all()
    assert (view["hand"] == state["hand"][s.seat]).all()
    assert view["queue"].tolist() == [*state["queue"][: s.showing], *[-1] * (mexican.LINES - s.showing)]
    assert view["marked"].tolist() == [s.marked >> q & 1 for q in range(10)]
    assert view["lap_over"] == (s.lap_left == 0)
    hidden = np.zeros(1, mexican.STATE)
    hidden[0] = state
    copy = Plain(hidden)[0]
    rng = random.Random(s.ply)
    others = [q for q in range(s.seats) if q != s.seat]
    tiles = [parse_tile(text) for q in others for text in sorted(tiles_of(s.hand[q]))]
    tiles += [s.stock[i] for i in range(s.stock_next, s.stock_next + s.stock_left)]
    rng.shuffle(tiles)
    for q in others:
        number = s.count[q]
        hidden["hand"][0, q] = 0
        copy.count[q] = copy.pips[q] = copy.doubles[q] = 0
        for _ in range(number):
            table.hold(copy, q, tiles.pop())
    for i in range(s.stock_next, s.stock_next + s.stock_left):
        copy.stock[i] = tiles.pop()
    table.count_held(copy, mexican.TOP)
    assert view_of(copy) == view
    other_work = new_work()
    for action in actions:
        mexican.features(s, action, w, -1)
        mexican.features(copy, action, other_work, -1)
        assert w.feature._array.tolist() == other_work.feature._array.tolist()


@pytest.mark.parametrize("check", [check_features, check_view])
@pytest.mark.parametrize("seats", [2, 4, 9])
def test_what_agents_get(seats: int, check: Any) -> None:
    rng = random.Random(200 + seats)
    for i in range(7 * SCALE):
        rules = random_rules(rng)
        s = new_state(seats, rules)
        construct(s, i % 13 + 1, rng)
        play_round(s, rules, rng, check)


def test_feature_notes() -> None:
    assert tuple(mexican.FEATURE_NOTES) == mexican.FEATURES


# Compiled: whole matches through the driver, a Python agent in every seat.


def play_matches(seats: int, rules: dict[str, Any], matches: int, seed: int) -> dict[str, Any]:
    """Play matches at random; the arrays of the driver, and all legal lists that were asked about."""
    slots = min(matches, 64)
    jobs = np.zeros(matches, driver.JOB)
    jobs["key"] = np.random.default_rng(seed).integers(0, 2**63, matches)
    states = np.zeros(slots, mexican.STATE)
    states["seats"] = seats
    set_rules(states, rules)
    agents = np.zeros(1, driver.agent_dtype(F))
    agents["kind"] = driver.PYTHON
    rounds = np.zeros(matches * 13, driver.round_dtype(10))
    results = np.zeros(matches, driver.match_dtype(10))
    log = np.zeros(matches * 13 * 600, driver.LOG)
    control = np.zeros(1, driver.CONTROL)
    control["logging"] = driver.LOG_ACTIONS
    control["need"] = -1
    decision = np.zeros(slots, driver.DECISION)
    view = np.zeros(slots, mexican.VIEW)
    move = np.zeros(slots * game.MAX_ACTIONS + game.MAX_ACTIONS, np.int32)
    feature = np.zeros((move.size, F), np.int16)
    chosen = np.zeros(slots, np.int64)
    arrays = driver.as_arguments(
        states, np.zeros(1, driver.work_dtype(F)), jobs, rounds, results, log, np.zeros(1, driver.PASS_ROW), control,
        agents, decision, view, move, feature, chosen,
    )  # fmt: skip
    rng = random.Random(seed)
    asked: dict[tuple[int, int, int], list[int]] = {}
    while True:
        driver.advance(*arrays)
        waiting = int(control["decisions"][0])
        if waiting == 0:
            break
        ends = [*decision["first"][1:waiting].tolist(), int(control["moves"][0])]
        for d, end in enumerate(ends):
            s = states[decision["slot"][d]]
            moves = move[decision["first"][d] : end].tolist()
            asked[int(s["match"]), int(s["round_number"]), int(s["ply"])] = moves
            chosen[d] = rng.randrange(len(moves))
    assert control["live"][0] == 0
    assert control["rounds"][0] == rounds.size
    assert control["actions"][0] < log.size
    return {"jobs": jobs, "rounds": rounds, "results": results, "log": log[: control["actions"][0]], "asked": asked}


def dealt(key: int, number: int, seats: int, rules: dict[str, Any]) -> Any:
    s = new_state(seats, rules)
    s.key = key
    s.round_number = number - 1
    table.begin_round(s, mexican.TOP)
    mexican.deal(s)
    return s


def compare_round(played: dict[str, Any], row: Any, log: list[Any], other: Any) -> None:
    """Every action of a round was one of the reference's, every legal list was the reference's."""
    draws, passes, decisions = [0] * other.seats, [0] * other.seats, [0] * other.seats
    for ply, (_, _, logged_ply, action, seat) in enumerate(log):
        assert (ply, other.to_move) == (logged_ply, seat)
        legal = played["asked"].get((int(row["match"]), int(row["round_number"]), ply), [action])
        assert sorted(map(action_text, legal)) == other.legal()
        other.play(action_text(action))
        draws[seat] += action_text(action) == "draw"
        passes[seat] += action_text(action) == "pass"
        decisions[seat] += len(legal) > 1
    assert other.over
    assert row["plies"] == len(log)
    assert result_of(Plain(row), other.seats) == other.result()
    for name, counted in (("draws", draws), ("passes", passes), ("decisions", decisions)):
        assert row[name][: other.seats].tolist() == counted
    assert row["tiles"][: other.seats].tolist() == list(map(len, other.hands))


def compare_matches(seats: int, rules: dict[str, Any], matches: int, seed: int) -> int:
    """Play matches and hold them against the reference; the number of rounds."""
    played = play_matches(seats, rules, matches, seed)
    rounds = np.sort(played["rounds"], order=["match", "round_number"])
    log = np.sort(played["log"], order=["match", "round_number", "ply"])
    ends = np.cumsum(rounds["plies"]).tolist()
    flow = [reference.new_match("mexican", rules, seats) for _ in range(matches)]
    for row, end in zip(rounds, ends, strict=True):
        match = flow[row["match"]]
        assert row["round_number"] == match.round_number
        s = dealt(int(played["jobs"]["key"][row["match"]]), match.round_number, seats, rules)
        other = reference_of(s, rules)
        assert row["opener"] == other.to_move
        assert row["lead"] == (match.round_number - 1) % seats
        compare_round(played, row, log[end - row["plies"] : end].tolist(), other)
        match.finish(int(row["opener"]), other.result())
    for match, result in zip(flow, played["results"], strict=True):
        assert match.over
        assert result["rounds"] == 13
        assert result["score"][:seats].tolist() == match.scores
        assert np.flatnonzero(result["won"]).tolist() == match.winners
    return len(rounds)


@pytest.mark.parametrize("seats", SEATS)
def test_compiled_matches(seats: int) -> None:
    rng = random.Random(300 + seats)
    compare_matches(seats, {}, 3 * SCALE, seats)
    for i in range(3 * SCALE):
        compare_matches(seats, random_rules(rng), 2, 1000 * seats + i)
