"""The compiled core of `cuban` against the literal reference: every action list, every result, every match.

Deals come from `tests/dealing.py`, rules from `tests/reference`; the core only says what it did. It is asked in both
ways: what it lists when somebody outside chooses, and what its own random agent does (which leaves a log).
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from domsim.agent import load_agent
from domsim.batch import Batch
from domsim.core import cuban, driver
from domsim.games import find_game
from domsim.rules import find_rules
from tests import dealing, reference
from tests.reference import common

ROUNDS = 84  # of every combination of options that matters in one round: 20,160
MATCHES = 20  # of every combination drawn
COMBINATIONS = 100  # of options and agents, for matches
SMOKE = 1  # the suite's number
TITLES = (None, "pollona", "tripollua")
KINDS = {0: "pass", 1: "play", 2: "draw", 3: "stop"}
CLAIMS = {9: (0, 3, 4, 5, 6, 7, 8, 9, 10), 6: (0, 3, 4, 5, 6, 7)}


def all_options() -> list[dict]:
    """Every combination of options that makes a difference to a single round."""
    return [
        {
            "set": top,
            "claim_doubles": claims,
            "first_tile": first_tile,
            "block_winner": block_winner,
            "round_points": round_points,
            "lead_draw": lead_draw,
        }
        for top in (9, 6)
        for claims in CLAIMS[top]
        for first_tile, block_winner, round_points, lead_draw in product(
            ("free", "highest_double"),
            ("lowest_hand", "lowest_team"),
            ("rivals", "all_others"),
            ("teams", "individual"),
        )
    ]


def random_options(rng: random.Random) -> dict:
    options = rng.choice(all_options())
    return options | {"target": rng.choice((1, 40, 99, 100, 100, 101, 300, 1000))}


# --- what the core did ---------------------------------------------------------------------------


@cache
def text_of(action: int) -> str:
    """An action's number as text, after the description in `core/game.py`."""
    if KINDS[action >> 12] != "play":
        return KINDS[action >> 12]
    a, b = action >> 4 & 15, action & 15
    line = {0: "L", 1: "R", 15: "start"}[action >> 8 & 15]
    return f"{max(a, b)}-{min(a, b)}>{line}"


@dataclass
class Ply:
    """One action of the core, and what it had listed when it asked somebody outside."""

    seat: int
    action: int
    listed: list[int] | None = None


@dataclass
class Asked:
    """Everything that was asked of the chooser outside, `listed[match, round_number, ply] = seat, actions`."""

    listed: dict[tuple[int, int, int], tuple[int, list[int]]] = field(default_factory=dict)

    def add(self, batch: Batch, moves: Any) -> None:
        view = moves.view
        columns = (batch.match_of, view["round_number"], view["ply"], view["seat"], moves.first, moves.first[1:])
        actions = moves.action.tolist()
        for match, number, ply, seat, first, end in zip(*(column.tolist() for column in columns), strict=False):
            key = match, number, ply
            assert key not in self.listed
            self.listed[key] = seat, actions[first:end]


def choose_at_random(batch: Batch, seed: int) -> Asked:
    """Play the seats without an agent at random; what was asked."""
    rng = np.random.default_rng(seed)
    asked = Asked()
    while len(moves := batch.legal()):
        asked.add(batch, moves)
        batch.play((rng.random(len(moves)) * np.diff(moves.first)).astype(np.int64))
    return asked


def plies_of(batch: Batch, asked: Asked | None = None) -> dict[tuple[int, int], list[Ply]]:
    """The log by match and round; no decision that was asked for is missing from it."""
    rounds: dict[tuple[int, int], list[Ply]] = defaultdict(list)
    log = batch.log
    for match, number, ply, action, seat in zip(*(log[name].tolist() for name in log.dtype.names), strict=True):
        plies = rounds[match, number]
        assert ply == len(plies)
        plies.append(Ply(seat, action))
        if asked is not None and (match, number, ply) in asked.listed:
            asked_seat, plies[-1].listed = asked.listed.pop((match, number, ply))
            assert asked_seat == seat
    assert asked is None or not asked.listed
    return rounds


# --- the same, by the reference ------------------------------------------------------------------


def reenact(a_round: Any, plies: list[Ply], outside: set[int], choices: Counter | None) -> dict:
    """Play a round's log in the reference and check every ply; what the row of the round must say of it.

    `outside` are the seats that somebody outside plays: they are asked always when two or more actions are legal.
    `choices` counts which one was taken, by number of legal actions, for seats with an agent.
    """
    counts: dict[str, list[int]] = {name: [0] * 4 for name in ("passes", "decisions")}
    last = -1
    for ply in plies:
        legal, text, seat = a_round.legal(), text_of(ply.action), ply.seat
        assert a_round.to_move == seat
        if ply.listed is not None:
            assert sorted(map(text_of, ply.listed)) == legal
            assert ply.action in ply.listed
        assert (ply.listed is not None) == (len(legal) > 1 and seat in outside)
        assert text in legal
        counts["passes"][seat] += text == "pass"
        counts["decisions"][seat] += len(legal) > 1
        if choices is not None and seat not in outside and len(legal) > 1:
            choices[len(legal), legal.index(text)] += 1
        ends = [getattr(a_round, "left_end", None), getattr(a_round, "right_end", None)]
        a_round._do(seat, text)  # `play` without its test that the action is legal, which was made above
        if text != "pass":
            last = seat
            check_halves(ply.action, ends, a_round)
    assert a_round.over
    return counts | {"last": last}


def check_halves(action: int, ends: list[int | None], a_round: Any) -> None:
    """An action's number says which end a tile matched and which number shows afterwards."""
    matched, new, line = action >> 4 & 15, action & 15, action >> 8 & 15
    if line == 15:
        assert (matched, new) == (a_round.left_end, a_round.right_end)
    else:
        assert matched == ends[line]
        assert new == (a_round.left_end, a_round.right_end)[line]


@dataclass
class Table:
    """Who plays: for every seat how its agent names an opener, and which seats are played from outside."""

    openers: tuple[str, str, str, str] = ("self", "self", "self", "self")
    outside: frozenset[int] = frozenset(range(4))


def named(match: Any, table: Table) -> int:
    """The seat that opens, by what the entitled team's lower seat says (rule 2)."""
    allowed = match.may_open()
    if len(allowed) == 1:
        return int(allowed[0])
    says = table.openers[allowed[0]]
    if says == "alternate":
        says = "self" if match.round_number % 2 == 1 else "partner"
    return int(allowed[says == "partner"])


def standing_deal(key: int, rules: dict, match: Any, opener: int) -> tuple[list[list[str]], int]:
    """The hands that nobody claims a new deal on, and how many were thrown back before."""
    redeals = 0
    while match.must_redeal(hands := dealing.hands_of(key, match.round_number, redeals, rules), opener):
        redeals += 1
    return hands, redeals


def replay_match(
    key: int, rules: dict, table: Table, rounds: list[list[Ply]], choices: Counter | None = None, most: int = 0
) -> tuple[list[dict], dict]:
    """A match by the reference, from its key and its log: the rows expected of its rounds, and of the match."""
    match: Any = reference.new_match("cuban", rules, 4)
    match.lead(dealing.lead_draws(key, rules))
    rows = []
    for plies in rounds:
        number, lead = match.round_number, named(match, table)
        hands, redeals = standing_deal(key, rules, match, lead)
        a_round = reference.new_round("cuban", rules, 4, hands, [], {"opener": lead, "first": number == 1})
        opener = a_round.to_move
        row = reenact(a_round, plies, set(table.outside), choices)
        result = a_round.result()
        match.finish(opener, result)
        rows.append(
            row
            | {"round_number": number, "redeals": redeals, "plies": len(plies), "lead": lead, "opener": opener}
            | {"blocked": result["ended"] == "blocked", "winner": -1 if result["winner"] is None else result["winner"]}
            | {"points": result["points"] * 2, "pips": result["left"], "tiles": list(map(len, a_round.hands))}
            | {"draws": [0] * 4}
        )
    assert match.over or len(rounds) == most
    winners = [int(team in match.winners) for team in range(2)]
    title = TITLES.index(match.name)
    return rows, {"score": match.scores * 2, "rounds": len(rows), "title": title, "won": winners * 2}


def check_batch(
    batch: Batch, keys: list[int], rules: dict, table: Table, asked: Asked | None, *, most: int = 0, **more: Any
) -> Counter:
    """A batch that is over against the reference, match by match; how its rounds ended."""
    assert batch.over.all()
    logged = plies_of(batch, asked)
    by_match: dict[int, list[list[Ply]]] = defaultdict(list)
    for (match, number), plies in sorted(logged.items()):
        by_match[match].append(plies)
        assert number == len(by_match[match])
    assert list(by_match) == list(range(len(keys)))
    rounds, matches = [], []
    for number, key in enumerate(keys):
        rows, match = replay_match(key, rules, table, by_match[number], most=most, **more)
        rounds += [row | {"match": number} for row in rows]
        matches.append(match | {"match": number})
    check_rows(batch.rounds, rounds)
    check_rows(batch.matches, matches)
    assert (batch.points == batch.matches["score"]).all()
    return Counter((row["blocked"], row["winner"]) for row in rounds)


def check_rows(found: Any, expected: list[dict]) -> None:
    """All fields of all rows."""
    assert len(found) == len(expected)
    assert set(found.dtype.names) == set(expected[0])
    for name in found.dtype.names:
        values = np.array([row[name] for row in expected])
        bad = np.flatnonzero((found[name] != values).reshape(len(expected), -1).any(axis=1))
        assert not bad.size, f"{name} of row {bad[0]}: found {found[name][bad[0]]}, expected {values[bad[0]]}"


def keys_of(seed: int, deals: int) -> list[int]:
    return [dealing.deal_key(SMOKE, seed, deal) for deal in range(deals)]


# --- single rounds -------------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(4))
def test_rounds_of_all_options(part: int) -> None:
    """20,160 first rounds, every list of every decision; each combination of options on deals of its own."""
    ends: Counter = Counter()
    for number, rules in list(enumerate(all_options()))[part::4]:
        batch = Batch("cuban", ROUNDS, rules=rules, seed=number, log=True)
        asked = choose_at_random(batch, number)
        ends += check_batch(batch, keys_of(number, ROUNDS), rules, Table(), asked, most=1)
    assert all(ends[blocked, winner] for blocked, winner in ((0, 0), (0, 1), (1, -1), (1, 0), (1, 1)))


def test_rounds_of_the_random_agent() -> None:
    """Its actions are legal, forced ones are no decisions, and of k legal actions each is as likely as the others."""
    choices: Counter = Counter()
    table = Table(outside=frozenset())
    for number, rules in enumerate(({}, {"set": 6, "first_tile": "highest_double"})):
        batch = Batch("cuban", 1500, rules=rules, seed=700 + number, agents=["random"] * 4, log=True)
        check_batch(batch, keys_of(700 + number, 1500), rules, table, None, most=1, choices=choices)
    for n in (2, 3, 4, 5, 6, 10):
        taken = np.array([choices[n, place] for place in range(n)])
        assert taken.sum() > 200
        assert chi2.sf(((taken - taken.mean()) ** 2 / taken.mean()).sum(), n - 1) > 1e-4


# --- whole matches -------------------------------------------------------------------------------


def agent_files(folder: Path) -> dict[str, str]:
    """Agents by how they name an opener."""
    files = {}
    for opener in ("self", "partner", "alternate"):
        path = folder / f"{opener}.toml"
        path.write_text(f'about = "names openers"\nkind = "random"\nopener = "{opener}"\n')
        files[opener] = str(path)
    return files


def random_table(rng: random.Random) -> Table:
    """Agents at some seats, nobody at the others; who plays from outside names itself."""
    outside = frozenset(seat for seat in range(4) if rng.random() < 0.4)
    openers = ["self" if seat in outside else rng.choice(("self", "partner", "alternate")) for seat in range(4)]
    return Table(tuple(openers), outside)  # type: ignore[arg-type]


@pytest.mark.parametrize("part", range(4))
def test_matches(part: int, tmp_path: Path) -> None:
    """2,000 matches: draws for the lead, openers named, claims, scores, ends, winners, names."""
    rng = random.Random(f"matches {part}")
    files = agent_files(tmp_path)
    titles: Counter = Counter()
    for number in range(part, COMBINATIONS, 4):
        rules, table = random_options(rng), random_table(rng)
        agents = [None if seat in table.outside else files[table.openers[seat]] for seat in range(4)]
        batch = Batch("cuban", MATCHES, rules=rules, seed=number, agents=agents, matches=True, log=True)
        asked = choose_at_random(batch, number)
        check_batch(batch, keys_of(number, MATCHES), rules, table, asked)
        titles.update(batch.matches["title"].tolist())
    assert all(titles[title] for title in range(3))


def test_matches_of_the_default_rules(tmp_path: Path) -> None:
    table = Table(("partner", "alternate", "self", "self"), frozenset())
    agents = [agent_files(tmp_path)[opener] for opener in table.openers]
    batch = Batch("cuban", 200, seed=900, agents=agents, matches=True, log=True)
    check_batch(batch, keys_of(900, 200), {}, table, None)
    seats = [np.bincount(batch.rounds["lead"][batch.rounds["lead"] % 2 == team], minlength=4) for team in range(2)]
    assert seats[0][0] == 0  # team 0's speaker always names its partner
    assert seats[1][1] > 100
    assert seats[1][3] > 100


@pytest.mark.parametrize("most", [2, 3])
def test_matches_cut_after_some_rounds(most: int) -> None:
    """A job may play a number of rounds at most; the match then has no winner unless it came to its end before."""
    game, rules = find_game("cuban"), {"target": 60}
    keys = keys_of(950, 100)
    jobs = np.zeros(100, driver.JOB)
    jobs["key"], jobs["rounds"] = keys, most
    batch = Batch.of_jobs(game, find_rules("cuban", **rules), 4, jobs, [load_agent("random", game)], log=True).run()
    check_batch(batch, keys, rules, Table(outside=frozenset()), None, most=most)
    assert set(batch.matches["rounds"].tolist()) == set(range(1, most + 1))
    assert (batch.matches["won"].sum(axis=1) == 0).any()


# --- what a seat may see, and the features of a play ---------------------------------------------


@dataclass
class Public:
    """What everybody at the table knows of a round, kept beside the reference."""

    shown: list[set[int]] = field(default_factory=lambda: [set(), set(), set(), set()])
    layer: list[int] = field(default_factory=lambda: [-1, -1])  # who laid the tile at the left and the right end
    doubles: list[int] = field(default_factory=lambda: [0, 0, 0, 0])  # laid, by seat
    running: int = 0

    def saw(self, seat: int, text: str, ends: list[int]) -> None:
        if text == "pass":
            self.shown[seat] |= set(ends)
            self.running += 1
            return
        self.running = 0
        self.doubles[seat] += common.is_double(common.tile(text.split(">")[0]))
        for side, letter in enumerate("LR"):
            if text.endswith((f">{letter}", ">start")):
                self.layer[side] = seat


def ends_of(a_round: Any) -> list[int]:
    return [a_round.left_end, a_round.right_end] if a_round.table else []


def rows_of(tiles: set[common.Tile]) -> list[int]:
    """Tiles as the rows of bits a view has them in."""
    return [sum(1 << w for w in range(16) if (max(v, w), min(v, w)) in tiles) for v in range(16)]


def bits(numbers: set[int]) -> int:
    return sum(1 << number for number in numbers)


def expected_view(a_round: Any, public: Public, match: Any) -> dict[str, Any]:
    seat = a_round.to_move
    unseen = set(common.whole_set(match.rules["set"])) - set(a_round.table)
    return {
        "seat": seat,
        "seats": 4,
        "round_number": match.round_number,
        "hand": rows_of(a_round.hands[seat]),
        "count": list(map(len, a_round.hands)),
        "laid": len(a_round.table),
        "passes_running": public.running,
        "shown": [bits(numbers) for numbers in public.shown],
        "doubles_laid": public.doubles,
        "unseen": rows_of(unseen),
        "end": ends_of(a_round) or [-1, -1],
        "layer": public.layer,
        "score": match.scores * 2,
    }


def expected_features(a_round: Any, public: Public, match: Any, text: str) -> dict[str, int]:
    """The features of a play by their meaning, `core.cuban.FEATURE_NOTES` has it; no bits, no shortcuts."""
    seat, ends = a_round.to_move, ends_of(a_round)
    tile_text, place = text.split(">")
    laid = common.tile(tile_text)
    if place == "start":
        kept, new = laid
        covered = None  # who laid the tile that is covered
    else:
        side = "LR".index(place)
        kept, new = ends[1 - side], common.other_half(laid, ends[side])
        covered = public.layer[side]
    hand = a_round.hands[seat] - {laid}
    elsewhere = set(common.whole_set(match.rules["set"])) - set(a_round.table) - {laid} - hand
    following, partner, last = (public.shown[(seat + i) % 4] for i in (1, 2, 3))
    counts = [len(tiles) for tiles in a_round.hands]
    dead = {number: not any(number in tile for tile in hand | elsewhere) for number in (new, kept)}
    rivals = [counts[(seat + 1) % 4], counts[(seat + 3) % 4]]
    needed = match.rules["target"] - match.scores[(seat + 1) % 2]
    features = {
        "pips": sum(laid),
        "double": common.is_double(laid),
        "suit_new": sum(new in tile for tile in hand),
        "suit_kept": sum(kept in tile for tile in hand),
        "answers_left": sum(new in tile or kept in tile for tile in hand),
        "unseen_new": sum(new in tile for tile in elsewhere),
        "unseen_kept": sum(kept in tile for tile in elsewhere),
        "next_lacks_new": new in following,
        "next_lacks_kept": kept in following,
        "partner_lacks_new": new in partner,
        "same_ends": new == kept,
        "covers_own_side": covered is not None and covered % 2 == seat % 2,
        "partner_lacks_kept": kept in partner,
        "last_lacks_new": new in last,
        "last_lacks_kept": kept in last,
        "next_must_pass": {new, kept} <= following,
        "partner_must_pass": {new, kept} <= partner,
        "last_must_pass": {new, kept} <= last,
        "covers_partner": covered == (seat + 2) % 4,
        "new_is_dead": dead[new],
        "all_dead": dead[new] and dead[kept],
        "pips_in_a_rush": sum(laid) * (min(rivals) <= 2),
        "pips_in_danger": sum(laid) * (needed <= 40),
        "double_late": common.is_double(laid) and min(counts) <= 4,
    }
    return {name: int(value) for name, value in features.items()}


def test_features_have_notes() -> None:
    assert tuple(cuban.FEATURE_NOTES) == cuban.FEATURES
    assert all(cuban.FEATURE_NOTES.values())


@pytest.mark.parametrize(
    "rules",
    [{}, {"set": 6, "first_tile": "highest_double", "claim_doubles": 3, "target": 60, "round_points": "all_others"}],
)
def test_views_and_features(rules: dict) -> None:
    """Every view and every feature of every legal play of 30 matches."""
    matches, names = 30, cuban.FEATURES
    batch = Batch("cuban", matches, rules=rules, seed=800, matches=True, log=True)
    rng = np.random.default_rng(0)
    seen: dict[tuple[int, int, int], tuple[Any, dict[str, dict[str, int]], int]] = {}
    while len(moves := batch.legal()):
        for d, number in enumerate(batch.match_of.tolist()):
            plays = range(moves.first[d], moves.first[d + 1])
            values = {moves.text(play): dict(zip(names, moves.features[play].tolist(), strict=True)) for play in plays}
            view = moves.view[d]
            seen[number, int(view["round_number"]), int(view["ply"])] = view.copy(), values, int(moves.stage[d])
        batch.play((rng.random(len(moves)) * np.diff(moves.first)).astype(np.int64))
    rounds, keys = plies_of(batch), keys_of(800, matches)
    told: Counter = Counter()
    for number, key in enumerate(keys):
        match: Any = reference.new_match("cuban", rules, 4)
        match.lead(dealing.lead_draws(key, rules))
        while not match.over:
            lead, round_number = named(match, Table()), match.round_number
            hands, redeals = standing_deal(key, rules, match, lead)
            a_round: Any = reference.new_round(
                "cuban", rules, 4, hands, [], {"opener": lead, "first": round_number == 1}
            )
            public, opener = Public(), a_round.to_move
            for ply, action in enumerate(rounds[number, round_number]):
                if (number, round_number, ply) in seen:
                    view, values, stage = seen.pop((number, round_number, ply))
                    expected = expected_view(a_round, public, match) | {"opener": opener, "redeals": redeals}
                    for name, value in expected.items():
                        assert view[name].tolist() == value, (number, round_number, ply, name)
                    for text, features in values.items():
                        assert features == expected_features(a_round, public, match, text)
                        told.update(name for name, value in features.items() if value)
                    dealt = sum(map(len, hands))
                    assert stage == (3 * len(a_round.table) >= dealt) + (3 * len(a_round.table) >= 2 * dealt)
                public.saw(action.seat, text_of(action.action), ends_of(a_round))
                a_round.play(text_of(action.action))
            match.finish(opener, a_round.result())
    assert not seen
    rare = {"all_dead"} if match.rules["set"] == 9 else set()  # with fifteen tiles that nobody sees
    assert set(names) - set(told) <= rare  # no other is always 0


def test_views_hold_the_scores_and_the_rules_of_a_match() -> None:
    rules = {"target": 120, "block_winner": "lowest_team", "lead_draw": "individual", "claim_doubles": 4}
    batch = Batch("cuban", 20, rules=rules, seed=801, agents=[None, "random", "random", "random"], matches=True)
    seen: dict[tuple[int, int], list[int]] = {}
    while len(moves := batch.legal()):
        for match, view in zip(batch.match_of.tolist(), moves.view, strict=True):
            seen[match, int(view["round_number"])] = view["score"].tolist()
            codes = [int(view[name]) for name in ("set", "target", "block_winner", "lead_draw", "claim_doubles")]
            assert codes == [9, 120, 1, 1, 4]
        batch.play(np.zeros(len(moves), np.int64))
    for match, number, score in scores_before(batch.rounds):
        if (match, number) in seen:
            assert seen.pop((match, number)) == score
    assert not seen


def scores_before(rounds: Any) -> Iterator[tuple[int, int, list[int]]]:
    score = np.zeros(4, np.int64)
    for row in rounds:
        if row["round_number"] == 1:
            score[:] = 0
        yield int(row["match"]), int(row["round_number"]), score.tolist()
        score += row["points"]
