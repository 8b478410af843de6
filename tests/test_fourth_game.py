"""A fourth game, written here and nowhere else: everything in domsim plays, records, replays and counts it.

Double-six, two seats, five tiles each; the rest is unused. One line with one end: lay a tile that shows it, or pass.
The round ends when a hand is empty, or is blocked after two passes in a row. The hand that is empty, else the single
lowest one, scores the pips of the other; 50 points win. The winner opens the next round, after a tie the seat after the
opener, and the first round seat 0.
"""

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, ClassVar

import numpy as np
import pytest
from msgspec import Meta
from typer.testing import CliRunner

import domsim
from domsim import Batch, Round, find_rules, load_agent, run_tournament, tournament
from domsim.cli import app
from domsim.core import game as core_game
from domsim.errors import DomsimError, RecordError
from domsim.games import GAMES, find_game, register
from domsim.games.base import Game, only_fields, whole_number
from domsim.record import Replayer, replay_lines, to_json
from domsim.recording import record_matches
from domsim.rules import Rules

CORE = '''
"""One line, one end: the rules of the fourth game."""

from domsim.core import table
from domsim.core.compiled import index, popcount, rule, same
from domsim.core.game import (
    PASS, PLAY, START, action_code, end_rows, kind_of, line_of, matched_of, new_of, record_dtype, set_row, state_dtype,
)
from domsim.core.rng import DEAL_STREAM, child, shuffle

SEATS, TOP, TILES = 2, 6, 28
OPTIONS = ("hand_size", "target")
FEATURES = ("pips", "double", "suit_new")
STATE = state_dtype(
    "oneline", __file__, SEATS, TILES, 1, [("passed", "i1"), ("next_lead", "i1")], OPTIONS
)
VIEW = record_dtype(
    "oneline_view",
    [
        ("seat", "i1"), ("seats", "i1"), ("hand", "i2", 16), ("unseen", "i2", 16), ("end", "i1", 1),
        ("count", "i1", SEATS), ("shown", "i2", SEATS), ("score", "i4", SEATS),
    ],
    __file__,
)


@rule
def start_match(s):
    s.next_lead = 0


@rule
def start_round(s):
    table.begin_round(s, TOP)
    s.lead = s.next_lead
    shuffle(s, TILES, s.seats * s.hand_size, child(child(s.round_key, DEAL_STREAM), 0))
    table.deal_hands(s, s.hand_size)
    open_round(s)


@rule
def open_round(s):
    s.opener = s.lead
    s.seat = s.lead
    s.passed = 0
    s.end[0] = 15
    s.layer[0] = -1


@rule
def legal(s, w):
    q = index(s.seat)
    if s.laid == 0:
        for a in range(TOP + 1):
            set_row(w, a, action_code(PLAY, START, a, 0), s.hand[q, a] & (2 << a) - 1)
        return end_rows(w, TOP + 1)
    bits = s.hand[q, index(s.end[0])]
    if bits == 0:
        set_row(w, 0, action_code(PASS, 0, 0, 0), 1)
    else:
        set_row(w, 0, action_code(PLAY, 0, index(s.end[0]), 0), bits)
    return end_rows(w, 1)


@rule
def apply(s, action):
    q = index(s.seat)
    if kind_of(action) == PLAY:
        s.end[0] = new_of(action)
        s.layer[0] = s.seat
        s.layer_ply[0] = s.ply
        s.passed = 0
        table.lay(s, matched_of(action), new_of(action))
        s.over = s.count[q] == 0
    else:
        s.lacked = 1 << s.end[0]
        s.shown[q] |= s.lacked
        s.passes[q] += 1
        s.passed += 1
        s.blocked = s.passed == s.seats
        s.over = s.blocked
    s.seat = table.next_seat(s, s.seat)


@rule
def finish_round(s):
    s.winner = table.lowest_hand(s) if s.blocked != 0 else s.last
    if s.winner < 0:
        s.next_lead = table.next_seat(s, s.opener)
        return False
    q = index(s.winner)
    s.next_lead = s.winner
    s.points[q] = s.pips[index(table.next_seat(s, s.winner))]
    s.score[q] += s.points[q]
    s.won[q] = s.score[q] >= s.target
    return s.won[q] != 0


@rule
def features(s, action, w, need):
    a, x = matched_of(action), new_of(action)
    w.feature[0] = a + x
    w.feature[1] = same(a, x)
    w.feature[2] = popcount(s.hand[index(s.seat), x]) - 1


@rule
def stage(s):
    return min(2, s.laid // 3)


@rule
def observe(s, o):
    q = index(s.seat)
    o.seat = s.seat
    o.seats = s.seats
    o.end[0] = s.end[0]
    for v in range(TOP + 1):
        o.hand[v] = s.hand[q, v]
        o.unseen[v] = s.unseen[v]
    for r in range(SEATS):
        o.count[r] = s.count[r]
        o.shown[r] = s.shown[r]
        o.score[r] = s.score[r]
'''
HEAVY = """
about = "the heaviest tile; late in the round doubles before all"

[weights.oneline]
pips = 1

[weights.oneline.late]
double = 20
"""
LIGHT = """
about = "the lightest tile"
[weights.oneline]
pips = -1
"""
SCALAR = """
class Long:
    \"\"\"The number it is long in.\"\"\"

    def choose(self, view):
        assert view.seats == 2 and len(view.end) == len(view.lines) == 1
        return max(view.legal, key=lambda action: (view.features[action]["suit_new"], action))
"""


class OneLineRules(Rules, frozen=True):
    hand_size: Annotated[int, Meta(ge=1, le=14, description="tiles dealt to a seat")] = 5
    target: Annotated[int, Meta(ge=1, le=1000, description="score that wins the match")] = 50


class OneLine(Game):
    name: ClassVar[str] = "oneline"
    title: ClassVar[str] = "one line, one end"
    rules: ClassVar[type[Rules]] = OneLineRules
    seats: ClassVar[tuple[int, ...]] = (2,)

    def top(self, rules: Rules) -> int:
        return 6

    def line_text(self, line: int) -> str:
        return "end"

    def set_opening(self, s: Any, opening: dict[str, Any]) -> None:
        only_fields(opening, "opening", ("opener",))
        s.lead = whole_number(opening["opener"], "opening.opener", 0, 1)
        self.core.open_round(s)

    def opening(self, s: Any) -> dict[str, Any]:
        return {"opener": s.lead}

    def next_opening(self, s: Any) -> dict[str, Any]:
        return {"opener": s.next_lead}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The game is known as long as these tests run, and forgotten afterwards; its agents lie in the folder."""
    path = tmp_path_factory.mktemp("fourth")
    before = _known()
    (path / "oneline_core.py").write_text(CORE)
    for name, text in (("heavy.toml", HEAVY), ("light.toml", LIGHT), ("long.py", SCALAR)):
        (path / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(path)
        patch.chdir(path)
        game = _registered(importlib.import_module("oneline_core"))
        yield path
        _forget(game)
    assert _known() == before


def _known() -> list[Any]:
    return [list(known) for known in (GAMES, core_game._BY_DTYPE, core_game._BY_TYPE)]


def _registered(core: ModuleType) -> Game:
    game: Game = type("OneLine", (OneLine,), {"core": core})()
    register(game)
    return game


def _forget(game: Game) -> None:
    del GAMES[game.name], sys.modules[game.core.__name__]
    for known in (core_game._BY_DTYPE, core_game._BY_TYPE):
        for key in [key for key, module in known.items() if module is game.core]:
            del known[key]
    tournament._plan.cache_clear()


AGENTS = ["heavy.toml", "light.toml"]


# --- the rules once more, on the texts of a record ----------------------------------------------------------------


def replayed(record: dict[str, Any]) -> dict[str, Any]:
    """The result of a record, from its hands and actions alone."""
    hands = [set(hand) for hand in record["hands"]]
    seat, end, passed = record["opening"]["opener"], "", 0
    for action in record["actions"]:
        fits = {tile for tile in hands[seat] if not end or end in tile.split("-")}
        if action == "pass":
            assert not fits
            passed += 1
        else:
            tile, line = action.split(">")
            assert tile in fits
            assert line == ("end" if end else "start")
            hands[seat].remove(tile)
            a, b = tile.split("-")
            end, passed = (b if not end or a == end else a), 0
        seat = 1 - seat
    left = [sum(int(pip) for tile in hand for pip in tile.split("-")) for hand in hands]
    out = [q for q in range(2) if not hands[q]]
    assert out or passed == 2
    winner = out[0] if out else None if left[0] == left[1] else int(left[1] < left[0])
    points = [left[1 - q] if q == winner else 0 for q in range(2)]
    return {"ended": "out" if out else "blocked", "winner": winner, "left": left, "points": points}


# --- tests --------------------------------------------------------------------------------------------------------


def test_a_tournament_with_statistics(folder: Path) -> None:
    agents = [*AGENTS, "random", "long.py"]
    result = run_tournament("oneline", agents, 300, jobs=1, chunk=100, passes=True)
    assert len(result.matches) == 300 * 6 * 2
    summary = result.summary.set_index("agent")
    assert set(summary.index) == set(agents)
    assert summary["win_share"].mean() == pytest.approx(0.5)
    assert summary["win_share_low"]["heavy.toml"] > summary["win_share_high"]["light.toml"]
    assert len(result.pairs) == 6
    matches, rounds = result.matches, result.rounds
    assert ((matches[["score_0", "score_1"]] >= 50).sum(axis=1) == 1).all()
    assert matches["rounds"].sum() == len(rounds)
    assert set(rounds["ending"]) == {"out", "blocked"}
    assert (rounds["points_0"] * rounds["points_1"] == 0).all()
    assert len(result.passes) == rounds["passes_0"].sum() + rounds["passes_1"].sum()  # one end, one number a pass
    one, two = (run_tournament("oneline", AGENTS, 300, jobs=jobs, chunk=300 // jobs - 9) for jobs in (1, 2))
    assert one.digest == two.digest


def test_rules_and_agents_are_those_of_the_game(folder: Path) -> None:
    assert find_rules("oneline", target=70).changed() == {"target": 70}
    short = run_tournament("oneline", AGENTS, 100, rules={"target": 1})
    assert short.matches["rounds"].mean() < 1.5
    assert load_agent("heavy.toml", find_game("oneline")).weights[:, 1].tolist() == [0, 0, 20 * 1024]
    with pytest.raises(DomsimError, match="does not play oneline"):
        run_tournament("oneline", ["careful", "heavy.toml"], 1)
    with pytest.raises(DomsimError, match="oneline is not played with 3; allowed: 2"):
        run_tournament("oneline", AGENTS, 1, seats=3)


def test_records_of_matches_and_their_replay(folder: Path) -> None:
    game = find_game("oneline")
    records = list(record_matches(game, game.rules(), None, AGENTS, suite="smoke", seed=0, matches=30))
    assert {record["match"]["id"] for record in records} == set(range(30))
    assert sum("winners" in record["match"] for record in records) == 30
    replayer = Replayer(matches=True)
    for record in records:
        answer = replayer.replay(to_json(record))
        assert answer["ok"], answer
        assert answer["result"] == record["result"] == replayed(record)
    assert {record["result"]["ended"] for record in records} == {"out", "blocked"}
    wrong = next(record for record in records if record["match"]["round"] == 2)
    wrong["opening"]["opener"] = 1 - wrong["opening"]["opener"]
    answers = list(replay_lines([to_json(record).encode() for record in records], matches=True))
    bad = next(answer for answer in answers if not answer["ok"])
    assert bad["line"] == 2
    assert bad["error"].startswith("opening: found")


def test_a_round_step_by_step(folder: Path) -> None:
    a_round = Round.of("oneline", [["6-6", "6-1"], ["3-0", "1-0"]], opening={"opener": 0})
    assert a_round.legal() == ["6-1>start", "6-6>start"]
    a_round.play("6-6>start")
    assert a_round.legal() == ["pass"]
    with pytest.raises(RecordError, match="legal for seat 1: pass"):
        a_round.play("1-0>end")
    a_round.play("pass")
    a_round.play("6-1>end")
    assert a_round.result == {"ended": "out", "winner": 0, "left": [0, 4], "points": [4, 0]}
    assert "seat 1: 1-0 3-0" in str(a_round)
    blocked = Round.of("oneline", [["6-6", "5-4"], ["3-0", "1-0"]], opening={"opener": 0})
    for action in ("6-6>start", "pass", "pass"):
        blocked.play(action)
    assert blocked.result == {"ended": "blocked", "winner": 1, "left": [9, 4], "points": [0, 9]}
    dealt = Round("oneline", seed=1, deal=5)
    while not dealt.over:
        dealt.play(dealt.legal()[0])
    assert dealt.result == replayed(dealt.record())


def test_a_batch_of_rounds(folder: Path) -> None:
    batch = Batch("oneline", deals=200, agents=[None, "heavy.toml"])
    while not batch.over.all():
        moves = batch.legal()
        assert (np.diff(moves.first) >= 2).all()
        assert set(moves.frame()) >= {"pips", "double", "suit_new"}
        batch.play_scores(moves["pips"])  # the other one's choice, but for doubles late
    rounds = batch.rounds
    assert (batch.points == rounds["points"]).all()
    assert len(rounds) == 200
    played = Batch("oneline", deals=200, agents=["heavy.toml", "heavy.toml"]).run()
    assert (played.rounds["opener"] == 0).all()


def test_the_command_line(folder: Path) -> None:
    def run(*words: str, given: bytes | None = None) -> str:
        done = CliRunner().invoke(app, words, given)
        assert done.exception is None, (done.output, done.exception)
        return done.stdout

    assert "one line, one end" in run("games")
    assert "hand_size" in run("rules", "oneline")
    assert "random" in run("agents", "oneline")
    shown = run("tournament", "oneline", "--agents", ",".join(AGENTS), "--deals", "40", "-o", "target=30", "--out", "o")
    assert "oneline · 2 seats · duel · target=30" in shown
    assert "heavy.toml" in (folder / "o" / "summary.csv").read_text()
    lines = run("record", "oneline", "--matches", "3", "--agents", ",".join(AGENTS))
    answers = run("replay", "--matches", "-", given=lines.encode())
    assert answers.count('"ok":true') == lines.count("\n")


# --- no game's name outside its own modules -----------------------------------------------------------------------

NAMES = ("cuban", "longana", "mexican")
SOURCE = Path(domsim.__file__).parent
#: where a game's name may stand in code: the defaults of a notebook's first steps
ALLOWED = {
    ("batch.py", "Batch.__init__", "cuban"),
    ("round.py", "Round.__init__", "cuban"),
}


def _is_own(path: Path) -> bool:
    return path.parent.name == "games" or (path.parent.name == "core" and path.stem in NAMES)


def _texts(node: ast.AST) -> list[str]:
    """What a node of code says by itself: a constant's text, a name, an attribute, what is imported."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    found = [getattr(node, field, None) for field in ("id", "attr", "arg", "name", "asname", "module")]
    return [text for text in found if isinstance(text, str)]


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def names_in_code(tree: ast.AST, where: str = "") -> Iterator[tuple[str, str]]:
    """The games' names in a module's code, without docstrings and comments, each with the function it stands in."""
    for node in ast.iter_child_nodes(tree):
        if _is_docstring(node):
            continue
        inside = where
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            inside = f"{where}.{node.name}".lstrip(".")
        for text in _texts(node):
            yield from ((inside, name) for name in NAMES if name in text.lower())
        yield from names_in_code(node, inside)


def test_no_module_knows_a_game_by_name() -> None:
    paths = [path for path in sorted(SOURCE.rglob("*.py")) if not _is_own(path) and "shipped" not in path.parts]
    assert {"driver.py", "tournament.py", "record.py", "summary.py", "stats.py", "cli.py"} <= {p.name for p in paths}
    found = {
        (path.relative_to(SOURCE).as_posix(), where, name)
        for path in paths
        for where, name in names_in_code(ast.parse(path.read_text()))
    }
    assert found == ALLOWED


def test_names_in_code_are_found() -> None:
    """The search above, on what it must find and on what it must not."""
    code = '''
"""About cuban."""
import domsim.core.longana
from domsim.games.mexican import Mexican
def f(game="cuban"):
    """cuban"""
    if game == "mexican": return f"{game} longana"  # cuban
'''
    found = list(names_in_code(ast.parse(code)))
    assert found.count(("", "longana")) == 1
    assert found.count(("", "mexican")) == 2
    assert sorted(set(found) - {("", "longana"), ("", "mexican")}) == [
        ("f", "cuban"),
        ("f", "longana"),
        ("f", "mexican"),
    ]
