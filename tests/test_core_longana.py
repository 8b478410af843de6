"""The core's `longana` against the literal reference: as plain Python, and compiled through the driver."""

import random
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from domsim.core import driver, game, longana, table
from domsim.core.plain import Plain
from domsim.tiles import parse_tile, tile_text
from tests import reference
from tests.reference import common

game.register_core(longana)

CHOICES, DEFAULTS = reference.CHOICES["longana"], reference.DEFAULTS["longana"]
SEATS = reference.SEATS["longana"]
PLAIN_ROUNDS = 100  # of every number of seats
COMPILED_ROUNDS = 800  # of every number of seats
MATCHES = 100


# --- plain values --------------------------------------------------------------------------------


def code_of(option: str, value: Any) -> int:
    return value if isinstance(value, int) else CHOICES[option].index(value)


def set_options(record: Any, rules: dict) -> None:
    for option in longana.OPTIONS:
        setattr(record, option, code_of(option, {**DEFAULTS, **rules}[option]))


def random_rules(rng: random.Random) -> dict:
    """Any options, each at its default a third of the time."""
    return {name: rng.choice(values) for name, values in CHOICES.items() if rng.random() < 2 / 3}


def new_state(seats: int, rules: dict, key: int = 0) -> Any:
    state = Plain(np.zeros(1, longana.STATE))[0]
    state.seats = seats
    state.key = key
    set_options(state, rules)
    return state


def new_work() -> Any:
    return Plain(np.zeros(1, driver.work_dtype(len(longana.FEATURES))))[0]


def text_of(action: int) -> str:
    if game.kind_of(action) == game.PASS:
        return "pass"
    line = game.line_of(action)
    a, b = game.matched_of(action), game.new_of(action)
    return f"{max(a, b)}-{min(a, b)}>{'start' if line == game.START else line}"


def legal_actions(s: Any, w: Any) -> list[int]:
    rows = longana.legal(s, w)
    assert rows % 4 == 0
    assert rows <= game.MAX_ROWS
    return [w.code[r] | bit for r in range(rows) for bit in range(16) if w.bits[r] >> bit & 1]


def texts_of(actions: list[int]) -> list[str]:
    return sorted(map(text_of, actions))


def hands_of(s: Any) -> list[list[str]]:
    """The hands just dealt."""
    each = s.hand_size
    return [[tile_text(s.stock[q * each + i]) for i in range(each)] for q in range(s.seats)]


def bits_of(bits: int) -> set[int]:
    return {v for v in range(16) if bits >> v & 1}


def result_of(s: Any) -> dict:
    longana.finish_round(s)
    seats = range(s.seats)
    return {
        "ended": "blocked" if s.blocked else "out",
        "winner": None if s.winner < 0 else s.winner,
        "left": [s.pips[q] for q in seats],
        "points": [s.points[q] for q in seats],
    }


# --- what the state and the features should hold -------------------------------------------------


class Watcher:
    """Keeps beside a reference round what everybody has shown, by asking the reference what would be legal."""

    def __init__(self, a_round: Any, opening: dict) -> None:
        self.round = a_round
        self.shown: list[set[int]] = [set() for _ in range(a_round.seats)]
        self.no_double: list[set[int]] = [set() for _ in range(a_round.seats)]
        self.started = [0] * a_round.seats
        if opening.get("first"):
            above = set(range(a_round.openers[0][0] + 1, 10))
            self.no_double = [set(above) for _ in range(a_round.seats)]
        else:
            for q in common.seats_from(opening["search_from"], a_round.seats):
                if q == a_round.to_move:
                    break
                self.no_double[q] = set(range(10))

    def would_fit(self, seat: int, tile: tuple[int, int]) -> bool:
        """Whether the seat could lay this tile, if it held it."""
        return any(self.round.ends[b] in tile and self.round._may_use(seat, b, tile) for b in range(self.round.seats))

    def play(self, action: str) -> None:
        q = self.round.to_move
        if action == "pass":
            ends = set(self.round.ends)  # no tile without one of these fits anywhere
            self.no_double[q] |= {v for v in ends if self.would_fit(q, (v, v))}
            self.shown[q] |= {
                v for v in ends if all(self.would_fit(q, (max(v, w), min(v, w))) for w in range(10) if w != v)
            }
        elif not action.endswith(">start"):
            self.started[int(action.split(">")[1])] += 1
        self.round.play(action)


def check_state(s: Any, watcher: Watcher) -> None:
    a_round = watcher.round
    seats = range(a_round.seats)
    for q in seats:
        hand = a_round.hands[q]
        assert bits_of(s.shown[q]) == watcher.shown[q]
        assert bits_of(s.no_double[q]) == watcher.no_double[q]
        assert not any(v in t for t in hand for v in watcher.shown[q])
        assert not any((v, v) in hand for v in watcher.no_double[q])
        assert s.started[q] == watcher.started[q]
        assert s.count[q] == len(hand)
        if a_round.table:
            assert s.end[q] == a_round.ends[q]
    for v in range(10):
        assert s.held[v] == sum(v in t for hand in a_round.hands for t in hand)
    assert bits_of(s.open) == set(a_round.open)


def check_view(s: Any, watcher: Watcher) -> None:
    a_round, q = watcher.round, watcher.round.to_move
    o = Plain(np.zeros(1, longana.VIEW))[0]
    longana.observe(s, o)
    hand = {(max(v, w), w if w < v else v) for v in range(10) for w in bits_of(o.hand[v])}
    unseen = {(max(v, w), w if w < v else v) for v in range(10) for w in bits_of(o.unseen[v])}
    assert o.seat == q
    assert hand == a_round.hands[q]
    assert unseen == set(common.whole_set(9)) - set(a_round.table)
    assert [o.open[r] for r in range(a_round.seats)] == [r in a_round.open for r in range(a_round.seats)]
    if a_round.rules["open_order"] != "none":
        order = a_round.open if a_round.rules["open_order"] == "current" else a_round.ever_open
        assert {o.place[r]: r for r in range(longana.SEATS) if o.place[r] > 0} == dict(enumerate(order, 1))


def expected_features(watcher: Watcher, action: str) -> dict[str, int]:
    """From the notes, by sets of tiles."""
    a_round, q = watcher.round, watcher.round.to_move
    text, place = action.split(">")
    tile = common.tile(text)
    kept = a_round.hands[q] - {tile}
    unseen = set(common.whole_set(9)) - set(a_round.table) - a_round.hands[q]
    opening = place == "start"
    owner = q if opening else int(place)
    own = owner == q
    matched = tile[0] if opening else a_round.ends[owner]
    new = common.other_half(tile, matched)
    before = [matched] * a_round.seats if opening else a_round.ends
    after = [new if opening or b == owner else before[b] for b in range(a_round.seats)]
    answers = {
        t
        for t in kept
        for b in range(a_round.seats)
        if after[b] in t and (b == q or b in a_round.open or common.is_double(t))
    }
    lacks = [new in shown for shown in watcher.shown]
    is_open = owner in a_round.open
    owner_lacked = matched in watcher.shown[owner]
    fewest = min(len(a_round.hands[r]) for r in range(a_round.seats) if r != q)
    return {
        "pips": sum(tile),
        "double": common.is_double(tile),
        "suit_new": sum(new in t for t in kept),
        "answers_left": len(answers),
        "no_answer": not answers,
        "unseen_new": sum(new in t for t in unseen),
        "next_lacks_new": lacks[(q + 1) % a_round.seats],
        "others_lack_new": sum(lacks[r] for r in range(a_round.seats) if r != q),
        "own_branch": own and not opening,
        "other_open": not own and is_open,
        "closed_double": not own and not is_open,
        "keeps_own_end": sum(after[q] in t for t in kept),
        "own_end_alive": sum(after[q] in t for t in unseen),
        "spends_own": not own and before[q] in tile,
        "owner_lacks_new": not own and lacks[owner],
        "frees_owner": not own and owner_lacked and not lacks[owner],
        "owner_tiles": 0 if own else len(a_round.hands[owner]),
        "same_ends": 0 if opening else sum(after[b] == new for b in range(a_round.seats) if b != owner),
        "pips_in_a_rush": sum(tile) * (fewest <= 2),
        "double_late": common.is_double(tile) and fewest <= 3,
    }


def check_features(s: Any, w: Any, actions: list[int], watcher: Watcher) -> None:
    for action in actions:
        if game.kind_of(action) == game.PLAY:
            longana.features(s, action, w, -1)
            got = {name: w.feature[i] for i, name in enumerate(longana.FEATURES)}
            assert got == expected_features(watcher, text_of(action)), text_of(action)


def seen(s: Any, w: Any, actions: list[int]) -> list:
    """All that an agent could see of a decision."""
    record = np.zeros(1, longana.VIEW)
    longana.observe(s, Plain(record)[0])
    rows = []
    for action in actions:
        longana.features(s, action, w, -1)
        rows.append([w.feature[i] for i in range(len(longana.FEATURES))])
    return [record.tobytes(), rows]


def check_nothing_hidden(s: Any, w: Any, actions: list[int]) -> None:
    """Without the other hands and the stock, everything to be seen is the same."""
    blind = Plain(s._array.copy())
    for q in range(longana.SEATS):
        if q != s.seat:
            blind.pips[q] = 0
            blind.doubles[q] = 0
            for v in range(16):
                blind.hand[q, v] = 0
    for v in range(16):
        blind.held[v] = 0
    for i in range(blind.stock.size):
        blind.stock[i] = 0
    assert seen(blind, w, actions) == seen(s, w, actions)


# --- plain Python --------------------------------------------------------------------------------


def dealt_round(rng: random.Random, seats: int, rules: dict) -> tuple[Any, Any, dict]:
    """A round dealt by the core."""
    s = new_state(seats, rules, rng.getrandbits(64))
    s.round_number = rng.randrange(3)
    s.next_lead = rng.randrange(seats)
    longana.start_round(s)
    opening = {"first": True} if s.round_number == 1 else {"search_from": s.next_lead}
    return s, reference.new_round("longana", rules, seats, hands_of(s), [], opening), opening


def constructed_round(rng: random.Random, seats: int, rules: dict) -> tuple[Any, Any, dict]:
    """A round of unequal hands, as a record may have them."""
    while True:
        tiles = [common.text(t) for t in rng.sample(common.whole_set(9), 55)]
        hands = [[tiles.pop() for _ in range(rng.randint(1, 9))] for _ in range(seats)]
        if any(common.is_double(common.tile(t)) for hand in hands for t in hand):
            break
    opening = rng.choice([{"first": True}, {"search_from": rng.randrange(seats)}])
    s = new_state(seats, rules)
    table.clear_round(s, longana.TOP)
    table.clear_hands(s)
    s.round_number = 1 if "first" in opening else 2
    s.lead = opening.get("search_from", 0)
    for q, hand in enumerate(hands):
        for text in hand:
            table.hold(s, q, parse_tile(text))
    longana.open_round(s)
    return s, reference.new_round("longana", rules, seats, hands, [], opening), opening


def play_plain(rng: random.Random, s: Any, a_round: Any, opening: dict) -> None:
    w = new_work()
    watcher = Watcher(a_round, opening)
    assert s.opener == a_round.to_move
    while True:
        check_state(s, watcher)
        assert s.over == a_round.over
        if a_round.over:
            break
        actions = legal_actions(s, w)
        assert s.seat == a_round.to_move
        assert texts_of(actions) == a_round.legal()
        if s.ply % 3 == 0:
            check_view(s, watcher)
            check_features(s, w, actions, watcher)
        if s.ply % 8 == 0:
            check_nothing_hidden(s, w, [a for a in actions if game.kind_of(a) == game.PLAY])
        action = rng.choice(actions)
        s.ply += 1
        longana.apply(s, action)
        watcher.play(text_of(action))
    result = result_of(s)
    assert result == a_round.result()
    winner = result["winner"]
    assert s.next_lead == ((s.opener + 1) % s.seats if winner is None else winner)
    if winner is not None:
        check_target(s, winner)


def check_target(s: Any, winner: int) -> None:
    """The target is reached by equalling it (rule 13); `s` is scored again."""
    s.target = s.score[winner] + s.points[winner]
    assert longana.finish_round(s)
    assert [q for q in range(longana.SEATS) if s.won[q]] == [winner]
    s.won[winner] = 0
    s.target = s.score[winner] + s.points[winner] + 1
    assert not longana.finish_round(s)
    assert not s.won[winner]


@pytest.mark.parametrize("seats", SEATS)
def test_plain_rounds(seats: int) -> None:
    check_plain(f"plain {seats}", seats, PLAIN_ROUNDS)


def check_plain(seed: str, seats: int, rounds: int) -> None:
    rng = random.Random(seed)
    for number in range(rounds):
        rules = {} if number % 4 == 0 else random_rules(rng)
        make = dealt_round if number % 2 == 0 else constructed_round
        play_plain(rng, *make(rng, seats, rules))


def test_notes_and_order() -> None:
    assert tuple(longana.FEATURE_NOTES) == longana.FEATURES
    assert tuple(DEFAULTS) == longana.OPTIONS
    for option, default in DEFAULTS.items():
        assert code_of(option, default) == (default if isinstance(default, int) else 0)


@pytest.mark.parametrize("round_number", [1, 2])
def test_nobody_can_open(round_number: int) -> None:
    """Such a position is for the caller to refuse; it must not hang."""
    s = new_state(3, {})
    table.clear_round(s, longana.TOP)
    table.clear_hands(s)
    s.round_number = round_number
    for q, text in enumerate(["1-0", "2-0", "9-8"]):
        table.hold(s, q, parse_tile(text))
    longana.open_round(s)
    assert s.opener == -1


@pytest.mark.parametrize(("seats", "hand_size"), [(4, 13), (3, 18), (2, 27), (2, 1)])
def test_bounds_of_hand_size(seats: int, hand_size: int) -> None:
    rng = random.Random(hand_size)
    for _ in range(3):
        play_plain(rng, *dealt_round(rng, seats, {"hand_size": hand_size}))


# --- compiled ------------------------------------------------------------------------------------


class Played:
    """What the driver played: rows of rounds and matches, actions and decisions by match and round."""

    def __init__(self) -> None:
        self.rounds: dict[tuple[int, int], Any] = {}
        self.actions: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        self.decisions: dict[tuple[int, int, int], tuple[list[str], Any, Any]] = {}
        self.matches: Any = None
        self.keys: Any = None


def play_compiled(seed: int, seats: int, rules: dict, jobs: int, rounds: int, slots: int = 32) -> Played:
    """Play with the driver, every decision drawn from here: `rounds` of every job, 0: to the end of the match."""
    features = len(longana.FEATURES)
    rng = np.random.default_rng(seed)
    states = np.zeros(slots, longana.STATE)
    states["seats"] = seats
    for option, value in {**DEFAULTS, **rules}.items():
        states[option] = code_of(option, value)
    orders = np.zeros(jobs, driver.JOB)
    orders["key"] = rng.integers(0, 2**63, jobs)
    orders["rounds"] = rounds
    agents = np.zeros(1, driver.agent_dtype(features))
    agents["kind"] = driver.PYTHON
    ended = np.zeros(100, driver.round_dtype(longana.SEATS))
    matches = np.zeros(jobs, driver.match_dtype(longana.SEATS))
    log = np.zeros(1000, driver.LOG)
    control = np.zeros(1, driver.CONTROL)
    control["need"] = -1
    control["logging"] = 1
    decision = np.zeros(slots, driver.DECISION)
    view = np.zeros(slots, longana.VIEW)
    move = np.zeros(slots * 64 + game.MAX_ACTIONS, np.int32)
    feature = np.zeros((move.size, features), np.int16)
    chosen = np.zeros(slots, np.int64)
    arrays = driver.as_arguments(
        states, np.zeros(1, driver.work_dtype(features)), orders, ended, matches, log,
        np.zeros(1, driver.PASS_ROW), control,
        agents, decision, view, move, feature, chosen,
    )  # fmt: skip
    played = Played()
    played.matches, played.keys = matches, orders["key"]
    while True:
        driver.advance(*arrays)
        c = control[0]
        for row in ended[: c["rounds"]].copy():
            played.rounds[int(row["match"]), int(row["round_number"])] = row
        for row in log[: c["actions"]].tolist():
            match, number, ply, action, seat = row
            actions = played.actions[match, number]
            assert ply == len(actions)
            actions.append((seat, action))
        c["rounds"] = 0
        c["actions"] = 0
        if c["live"] == 0:
            return played
        first = [*decision["first"][: c["decisions"]].tolist(), int(c["moves"])]
        for d in range(c["decisions"]):
            s = states[decision[d]["slot"]]
            rows = slice(first[d], first[d + 1])
            actions = move[rows].tolist()
            at = int(s["match"]), int(s["round_number"]), int(s["ply"])
            played.decisions[at] = texts_of(actions), actions, feature[rows].copy()
            chosen[d] = rng.integers(0, len(actions))


def check_match(played: Played, match: int, seats: int, rules: dict, rounds: int) -> None:
    """One job of the driver against the reference's match: deals, openers, every legal list, results, scores."""
    s = new_state(seats, rules, int(played.keys[match]))
    flow = reference.new_match("longana", rules, seats)
    number = 0
    while not flow.over and (rounds == 0 or number < rounds):
        number += 1
        row = played.rounds[match, number]
        opening = flow.opening()
        table.begin_round(s, longana.TOP)
        for redeals in range(row["redeals"] + 1):
            s.redeals = redeals
            longana.deal(s)
            assert (flow.must_redeal(hands_of(s), -1) is None) == (redeals == row["redeals"])
        a_round = reference.new_round("longana", rules, seats, hands_of(s), [], opening)
        opener = a_round.to_move
        assert row["opener"] == opener
        assert row["lead"] == opening.get("search_from", opener)
        check_actions(played, (match, number), Watcher(a_round, opening))
        check_row(row, a_round)
        assert row["plies"] == len(played.actions[match, number])
        flow.finish(opener, a_round.result())
    end = played.matches[match]
    assert end["score"].tolist() == flow.scores + [0] * (longana.SEATS - seats)
    assert end["won"].nonzero()[0].tolist() == flow.winners
    assert end["rounds"] == number
    assert end["title"] == 0


def check_actions(played: Played, at: tuple[int, int], watcher: Watcher) -> None:
    a_round = watcher.round
    decisions = [0] * longana.SEATS
    for ply, (seat, action) in enumerate(played.actions[at]):
        legal = a_round.legal()
        assert seat == a_round.to_move
        asked = played.decisions.get((*at, ply))
        assert (asked is not None) == (len(legal) > 1)
        if asked:
            texts, actions, features = asked
            decisions[seat] += 1
            assert texts == legal
            if ply % 7 == 0:  # the compiled features too
                for a, values in zip(actions, features.tolist(), strict=True):
                    assert dict(zip(longana.FEATURES, values, strict=True)) == expected_features(watcher, text_of(a))
        watcher.play(text_of(action))
    assert played.rounds[at]["decisions"].tolist() == decisions


def check_row(row: Any, a_round: Any) -> None:
    result = a_round.result()
    assert row["blocked"] == (result["ended"] == "blocked")
    assert row["winner"] == (-1 if result["winner"] is None else result["winner"])
    assert row["pips"][: a_round.seats].tolist() == result["left"]
    assert row["points"][: a_round.seats].tolist() == result["points"]
    assert row["tiles"][: a_round.seats].tolist() == [len(hand) for hand in a_round.hands]


def check_compiled(seed: str, seats: int, rounds: int, per_job: int) -> int:
    """Jobs of `per_job` rounds under a few sets of rules; how many rounds were compared."""
    rng = random.Random(seed)
    compared = 0
    while compared < rounds:
        rules = random_rules(rng) if compared else {}
        jobs = 40
        played = play_compiled(rng.getrandbits(32), seats, rules, jobs, per_job)
        assert set(played.actions) == set(played.rounds)
        for match in range(jobs):
            check_match(played, match, seats, rules, per_job)
        compared += len(played.rounds)
    return compared


@pytest.mark.parametrize("seats", SEATS)
def test_compiled_rounds(seats: int) -> None:
    check_compiled(f"compiled {seats}", seats, COMPILED_ROUNDS, 3)


def test_matches() -> None:
    assert check_matches("matches", MATCHES) > 0, "no deal was thrown back"


def check_matches(seed: str, matches: int) -> int:
    """Whole matches of any seats and options; how many deals were thrown back."""
    rng = random.Random(seed)
    redeals = 0
    for _ in range(0, matches, 10):
        seats, rules = rng.choice(SEATS), random_rules(rng)
        played = play_compiled(rng.getrandbits(32), seats, rules, 10, 0, slots=3)
        for match in range(10):
            check_match(played, match, seats, rules, 0)
        redeals += sum(int(row["redeals"]) for row in played.rounds.values())
    return redeals
