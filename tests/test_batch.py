"""Batch: what it lets a user do, what it refuses, and that nothing but the deals and the agents make its results."""

import random
import subprocess
import sys
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pytest

from domsim.agent import load_agent, read_weights
from domsim.batch import Batch
from domsim.core import driver
from domsim.core.game import PLAY
from domsim.errors import AgentError, DomsimError, RulesError, SpecError
from domsim.games import find_game
from domsim.moves import Moves
from domsim.rules import find_rules
from domsim.seeds import deal_keys, find_suite
from domsim.tiles import HIGH, LOW
from tests import reference

ROOT = Path(__file__).resolve().parent.parent
CUBAN = find_game("cuban")
OPTIONS = {"set": 6, "claim_doubles": 3, "first_tile": "highest_double", "target": 60}
WEIGHTS = {
    "pips": 1,
    "double": 5.25,
    "suit_new": 2.5,
    "unseen_new": -0.4,
    "next_lacks_new": 7,
    "same_ends": 1.5,
    "late": {"pips": 3, "suit_kept": -1.125, "double_late": 4, "last_must_pass": 9.75},
}
#: the same weights as a vector agent: whole multiples of 1/1024, so that float sums are exact
VECTOR = """
import numpy as np

WEIGHTS = np.array({table}, np.float64)  # stage, feature


class Weighted:
    opener = {opener!r}

    def score(self, moves):
        weights = WEIGHTS[moves.stage[moves.decision]]
        return np.einsum("mf,mf->m", moves.features.astype(np.float64), weights)
"""
PLAIN_VECTOR = """
import numpy as np

WEIGHTS = np.array({table}, np.float64)


class Weighted:
    def score(self, moves):
        return moves.features @ WEIGHTS
"""


def same_rows(a: Any, b: Any) -> bool:
    """Equal in all fields (the bytes between the fields mean nothing)."""
    return len(a) == len(b) and all((a[name] == b[name]).all() for name in a.dtype.names)


def same_results(a: Batch, b: Batch) -> bool:
    return same_rows(a.rounds, b.rounds) and same_rows(a.matches, b.matches) and same_rows(a.log, b.log)


def choose_first(moves: Moves) -> Any:
    return np.zeros(len(moves), np.int64)


def choose_by_word(moves: Moves) -> Any:
    """A choice that hangs on the decision only, not on its place in the batch."""
    return moves.random % np.diff(moves.first)


def played(batch: Batch, choose: Any = choose_by_word) -> Batch:
    while len(moves := batch.legal()):
        batch.play(choose(moves))
    return batch


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


# --- legal, play, over, points --------------------------------------------------------------------


def test_rounds_step_by_step() -> None:
    batch = Batch("cuban", 50, log=True)
    assert not batch.over.any()
    assert batch.over.shape == (50,)
    assert batch.over.dtype == np.bool_
    assert (batch.points == np.zeros((50, 4))).all()
    assert batch.points.dtype == np.int32
    assert len(batch.rounds) == 0
    assert (batch.matches["match"] == -1).all()
    steps, over_before = 0, batch.over
    while len(moves := batch.legal()):
        assert np.array_equal(np.sort(batch.match_of), np.flatnonzero(~batch.over))  # one decision a round that goes on
        assert len(batch.legal()) == len(moves)  # asking again changes nothing
        assert np.array_equal(batch.legal().action, moves.action)
        decided, plies = batch.match_of, moves.view["ply"].copy()
        batch.play(choose_by_word(moves))
        steps += 1
        assert (batch.over >= over_before).all()
        over_before = batch.over
        going_on = dict(zip(batch.match_of.tolist(), batch.legal().view["ply"].tolist(), strict=True))
        for match, ply in zip(decided.tolist(), plies.tolist(), strict=True):
            assert going_on.get(match, ply + 1) > ply
        assert_points_are_those_of_rounds(batch)
    assert 20 < steps < 80
    assert batch.over.all()
    assert len(batch.rounds) == 50
    assert np.array_equal(batch.rounds["match"], np.arange(50))
    assert len(batch.legal().action) == 0
    assert len(batch.match_of) == 0
    batch.play(np.zeros(0, np.int64))  # nothing waits, nothing happens
    assert len(batch.rounds) == 50


def assert_points_are_those_of_rounds(batch: Batch) -> None:
    """Points so far are the sums over the rounds that are over; what is over has a row of its own."""
    sums = np.zeros_like(batch.points)
    np.add.at(sums, batch.rounds["match"], batch.rounds["points"])
    assert np.array_equal(batch.points, sums)
    assert np.array_equal(batch.points[batch.over], batch.matches["score"][batch.over])
    assert np.array_equal(batch.points[:, 0], batch.points[:, 2])
    assert np.array_equal(batch.points[:, 1], batch.points[:, 3])


def test_matches_step_by_step() -> None:
    batch = Batch("cuban", 12, rules=OPTIONS, matches=True, agents=[None, "random", "random", None])
    seen_unequal = False
    while len(moves := batch.legal()):
        assert set(moves.view["seat"].tolist()) <= {0, 3}
        assert_points_are_those_of_rounds(batch)
        for match, score in zip(batch.match_of.tolist(), moves.view["score"].tolist(), strict=True):
            assert batch.points[match].tolist() == score
        seen_unequal = seen_unequal or (batch.over.any() and not batch.over.all() and batch.points.any())
        batch.play(choose_first(moves))
    assert seen_unequal
    assert_points_are_those_of_rounds(batch)
    assert (batch.points.max(axis=1) >= 60).all()
    assert np.array_equal(batch.matches["rounds"], np.bincount(batch.rounds["match"]))


def test_the_choice_is_what_is_played() -> None:
    """Every decision's chosen action is the one in the log, and seats with an agent are never asked about."""
    batch = Batch("cuban", 30, agents=[None, "random", None, "random"], log=True)
    chosen = {}
    while len(moves := batch.legal()):
        choices = choose_by_word(moves)
        for d, match in enumerate(batch.match_of.tolist()):
            key = match, int(moves.view["ply"][d])
            chosen[key] = int(moves.view["seat"][d]), int(moves.action[moves.first[d] + choices[d]])
        batch.play(choices)
    log = {(int(r["match"]), int(r["ply"])): (int(r["seat"]), int(r["action"])) for r in batch.log}
    assert len(log) == len(batch.log)
    assert {key: log[key] for key in chosen} == chosen
    assert {seat for seat, _ in chosen.values()} == {0, 2}


def test_deals_are_named() -> None:
    """Any deals in any order: each plays as it does alone, its row at its own place."""
    deals = [7, 3, 2_000_000, 3]
    batch = played(Batch("cuban", deals, seed=5, log=True))
    for place, deal in enumerate(deals):
        alone = played(Batch("cuban", [deal], seed=5, log=True))
        for name in ("rounds", "matches", "log"):
            rows = getattr(batch, name)
            own = rows[rows["match"] == place].copy()
            own["match"] = 0
            assert same_rows(own, getattr(alone, name))
    assert not same_rows(played(Batch("cuban", 4, seed=6)).rounds, batch.rounds)
    assert not same_rows(played(Batch("cuban", deals, seed=5, suite="train")).rounds, batch.rounds)


def test_no_deals_at_all() -> None:
    for agents in (None, ["random"] * 4):
        batch = Batch("cuban", [], agents=agents, log=True)
        assert len(batch.legal()) == len(batch.rounds) == len(batch.log) == len(batch.over) == 0
        assert batch.points.shape == (0, 4)
        assert len(batch.legal().frame()) == 0


def test_the_order_of_rows() -> None:
    """Rounds by deal and number, the log by deal, number and ply, whatever was over first."""
    batch = played(Batch("cuban", 40, rules=OPTIONS, matches=True, log=True))
    rounds, log = batch.rounds, batch.log
    assert rounds[["match", "round_number"]].tolist() == sorted(rounds[["match", "round_number"]].tolist())
    assert log[["match", "round_number", "ply"]].tolist() == sorted(log[["match", "round_number", "ply"]].tolist())
    assert len(log) == rounds["plies"].sum()


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choices", "parts"),
    [
        ([0] * 19, ("int64 (19,)", "(20,)")),
        ([0] * 21, ("int64 (21,)", "(20,)")),
        ([], ("(0,)", "(20,)")),
        (0, ("int64 ()", "(20,)")),
        ([[0] * 20], ("(1, 20)", "(20,)")),
        ([0.0] * 20, ("float64", "whole numbers")),
        ([True] * 20, ("bool", "whole numbers")),
        (["0"] * 20, ("whole numbers",)),
        ([None] * 20, ("object", "whole numbers")),
        ([0] * 19 + [-1], ("-1", "decision 19", "0 to 9")),
        ([0] * 4 + [10] + [0] * 15, ("10", "decision 4", "0 to 9")),
        ([2**40] + [0] * 19, (str(2**40), "decision 0")),
        (np.full(20, 2**64 - 1, np.uint64), (str(2**64 - 1), "decision 0")),
    ],
)
def test_wrong_choices_are_refused(choices: Any, parts: tuple[str, ...]) -> None:
    """And nothing has happened: the batch goes on as if they had not been made."""
    batch = Batch("cuban", 20, log=True)
    before = batch.legal()
    assert (np.diff(before.first) == 10).all()
    with pytest.raises(DomsimError) as caught:
        batch.play(choices)
    assert all(part in str(caught.value) for part in ("choices", *parts))
    assert np.array_equal(batch.legal().action, before.action)
    assert same_results(played(batch), played(Batch("cuban", 20, log=True)))


def test_the_highest_choice_is_allowed_and_the_next_is_not() -> None:
    batch = Batch("cuban", 20)
    while len(moves := batch.legal()):
        most = np.diff(moves.first) - 1
        for d in range(len(moves)):
            wrong = most.copy()
            wrong[d] += 1
            with pytest.raises(DomsimError, match=f"for decision {d}; allowed: 0 to {most[d]}"):
                batch.play(wrong)
        batch.play(most)


@pytest.mark.parametrize(
    ("error", "arguments", "parts"),
    [
        (RulesError, {"game": "chess"}, ("unknown game 'chess'", "cuban")),
        (RulesError, {"rules": {"target": 0}}, ("target", "0", "1 to 10000")),
        (RulesError, {"seats": 3}, ("seats", "3", "4")),
        (SpecError, {"suite": "smok"}, ("unknown suite 'smok'", "did you mean 'smoke'")),
        (SpecError, {"seed": -1}, ("seed", "-1", "0 to 2147483647")),
        (SpecError, {"seed": 2**31}, ("seed", str(2**31))),
        (SpecError, {"seed": 1.0}, ("seed", "1.0")),
        (SpecError, {"deals": [3, -1]}, ("deal -1", "0 to 999999999")),
        (SpecError, {"deals": [10**9]}, ("deal 1000000000", "0 to 999999999")),
        (AgentError, {"agents": ["random"] * 3}, ("agents", "3", "4")),
        (AgentError, {"agents": ["random"] * 5}, ("agents", "5", "4")),
        (AgentError, {"agents": [None, None, None, "carful"]}, ("'carful'", "did you mean 'careful'")),
        (AgentError, {"agents": ["random?depth=2"] * 4}, ("random?depth=2", "'depth'")),
        (AgentError, {"agents": ["random?stream=x"] * 4}, ("stream", "'x'")),
        (AgentError, {"agents": ["random?stream"] * 4}, ("random?stream", "parameter=value")),
    ],
)
def test_wrong_arguments_are_refused(error: type[DomsimError], arguments: dict, parts: tuple[str, ...]) -> None:
    with pytest.raises(error) as caught:
        Batch(**({"game": "cuban", "deals": 2} | arguments))
    assert all(part in str(caught.value) for part in parts)


def test_run_wants_an_agent_on_every_seat() -> None:
    assert Batch("cuban", 5, agents=["random"] * 4).run().over.all()
    for agents in (None, [None, "random", "random", "random"]):
        with pytest.raises(DomsimError, match="no agent"):
            Batch("cuban", 5, agents=agents).run()


# --- what may be seen -----------------------------------------------------------------------------


def arrays_within(thing: Any, seen: set[int], depth: int = 0) -> list[np.ndarray]:
    """Every array that can be reached by attributes, items and methods' selves; not through modules and classes."""
    if id(thing) in seen or isinstance(thing, (str, bytes, int, float, type(None), type, ModuleType, FunctionType)):
        return []
    seen.add(id(thing))
    assert depth < 12
    if isinstance(thing, np.ndarray):
        below = [] if thing.base is None else [thing.base]
        return [thing, *(array for part in below for array in arrays_within(part, seen, depth + 1))]
    if isinstance(thing, MethodType):
        return arrays_within(thing.__self__, seen, depth + 1)
    parts: list[Any] = []
    if isinstance(thing, dict):
        parts += [*thing.keys(), *thing.values()]
    elif isinstance(thing, (list, tuple, set, frozenset)):
        parts += list(thing)
    else:
        slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
        names = {*slots, *getattr(thing, "__dict__", {}), *(n for n in dir(thing) if not n.startswith("__"))}
        parts += [getattr(thing, name) for name in names if hasattr(thing, name)]
    return [array for part in parts for array in arrays_within(part, seen, depth + 1)]


def arrays_of(batch: Batch) -> list[np.ndarray]:
    return [value for value in vars(batch).values() if isinstance(value, np.ndarray)]


def some_moves() -> list[tuple[Batch, Moves]]:
    """Moves of all waiting decisions, and of some of them only (the other seats' agents are asked first)."""
    whole = Batch("cuban", 30)
    mixed = Batch("cuban", 30, agents=[None, "random", "random", None], matches=True)
    for _ in range(12):
        whole.play(choose_by_word(whole.legal()))
        mixed.play(choose_by_word(mixed.legal()))
    return [(whole, whole.legal()), (mixed, mixed.legal())]


def test_nothing_of_a_batch_is_reached_from_moves() -> None:
    for batch, moves in some_moves():
        found = arrays_within(moves, set())
        assert len(found) >= 9
        hidden = arrays_of(batch)
        assert any(array.dtype.names and "hand" in array.dtype.names for array in hidden)
        for array in found:
            assert isinstance(array.base, (type(None), np.ndarray, bytes))
            assert not any(np.shares_memory(array, own) for own in hidden)
            names = array.dtype.names or ()
            assert not {"stock", "key", "round_key", "decision_key"} & set(names)
            assert "hand" not in names or array["hand"].shape[1:] == (16,)  # one hand, the own one


def test_the_walk_would_find_a_state() -> None:
    """The search above sees through what a careless change might leave behind."""
    batch, moves = some_moves()[0]
    for hidden in (batch, batch._states, [{"deep": (batch._states[3:],)}, 1], batch.play, batch._states["hand"]):
        moves.game = hidden  # type: ignore[assignment]
        found = arrays_within(moves, set())
        assert any(np.shares_memory(array, batch._states) for array in found)


def test_writing_into_moves_changes_nothing() -> None:
    """It is refused; and whoever makes an array of theirs writable has written into a copy."""
    batch, written = Batch("cuban", 40, log=True), 0
    while len(moves := batch.legal()):
        choices = choose_by_word(moves)
        columns = ("view", "first", "decision", "action", "tile", "line", "new", "features", "stage", "random")
        for array in [getattr(moves, name) for name in columns]:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
            if array.base is None:
                array.setflags(write=True)
                array[...] = 77
                written += 1
        batch.play(choices)
    assert written > 100
    assert same_results(batch, played(Batch("cuban", 40, log=True)))


def test_moves_say_what_the_table_of_their_class_says() -> None:
    for batch, moves in some_moves():
        d, m = len(moves), len(moves.action)
        assert len(moves.view) == d > 5
        assert moves.first.shape == (d + 1,)
        assert (moves.first[0], moves.first[-1]) == (0, m)
        assert (np.diff(moves.first) >= 2).all()  # forced actions never are here
        assert np.array_equal(moves.decision, np.repeat(np.arange(d), np.diff(moves.first)))
        assert moves.features.shape == (m, len(CUBAN.features))
        assert [moves.stage.shape, moves.random.shape] == [(d,), (d,)]
        assert set(moves.stage.tolist()) <= {0, 1, 2}
        assert batch.match_of.shape == (d,)
        for play in range(m):
            text = moves.text(play)
            assert moves.action[play] >> 12 == PLAY  # no choice without a tile in this game
            tile, line = text.split(">")
            assert f"{HIGH[moves.tile[play]]}-{LOW[moves.tile[play]]}" == tile
            assert {0: "L", 1: "R", 15: "start"}[int(moves.line[play])] == line
            assert str(moves.new[play]) in tile.split("-")
            hand = moves.view["hand"][moves.decision[play]]
            assert hand[HIGH[moves.tile[play]]] >> LOW[moves.tile[play]] & 1


def test_columns_by_name() -> None:
    _, moves = some_moves()[0]
    for number, name in enumerate(CUBAN.features):
        assert np.array_equal(moves[name], moves.features[:, number])
    assert np.array_equal(moves["pips"], (HIGH + LOW)[moves.tile])
    for name in ("tile", "line", "new", "action", "decision", "stage", "random"):
        assert np.array_equal(moves[name], getattr(moves, name))
    for name in ("hand", "count", "score", "seat", "target"):
        assert np.array_equal(moves[name], moves.view[name])
    with pytest.raises(KeyError, match="'pip'; known: pips, double"):
        moves["pip"]


def test_frame() -> None:
    for _, moves in some_moves():
        frame = moves.frame()
        assert frame.columns.tolist() == ["decision", "seat", "action", *CUBAN.features]
        assert len(frame) == len(moves.action)
        assert frame["decision"].tolist() == moves.decision.tolist()
        assert frame["seat"].tolist() == moves.view["seat"][moves.decision].tolist()
        assert frame["action"].tolist() == [moves.text(play) for play in range(len(frame))]
        assert np.array_equal(frame[list(CUBAN.features)].to_numpy(), moves.features)
        assert (frame.groupby("decision").size() == np.diff(moves.first)).all()


# --- scores and ties ------------------------------------------------------------------------------


def test_the_best_score_is_played() -> None:
    """`play_scores` is `play` with the place of the highest score."""
    rng = np.random.default_rng(1)
    one, other = Batch("cuban", 40, log=True), Batch("cuban", 40, log=True)
    while len(moves := one.legal()):
        scores = rng.normal(size=len(moves.action))
        best = [int(scores[a:b].argmax()) for a, b in zip(moves.first, moves.first[1:], strict=False)]
        one.play_scores(scores)
        other.play(best)
    assert same_results(one, other)


def test_equal_scores_fall_to_the_decisions_own_word() -> None:
    one, other = Batch("cuban", 200, log=True), Batch("cuban", 200, log=True)
    places = np.zeros((11, 11), np.int64)
    while len(moves := one.legal()):
        n = np.diff(moves.first)
        choices = (moves.random.astype(np.uint64) * n.astype(np.uint64) >> np.uint64(32)).astype(np.int64)
        np.add.at(places, (n, choices), 1)
        one.play_scores(np.zeros(len(moves.action)))
        other.play(choices)
    assert same_results(one, other)
    for n in range(2, 5):
        mean = places[n].sum() / n
        assert (np.abs(places[n, :n] - mean) < 5 * np.sqrt(mean)).all()


def test_equal_scores_among_others() -> None:
    """Only the best are drawn from, wherever they stand."""
    batch = Batch("cuban", 300, agents=[None] * 4)
    while len(moves := batch.legal()):
        scores = moves.features[:, 1].astype(np.float64)  # doubles first, often two or more of them
        before = {match: moves.first[d : d + 2] for d, match in enumerate(batch.match_of.tolist())}
        log_before = len(batch._log)
        batch.play_scores(scores)
        assert len(batch._log) == log_before
        chosen = batch._chosen[: len(moves)]
        for d, (a, b) in enumerate(before.values()):
            assert scores[a + chosen[d]] == scores[a:b].max()


@pytest.mark.parametrize("scores", ["np.full(n, np.nan)", "np.zeros(n - 1)", "np.zeros(n + 1)", "np.zeros((n, 2))"])
def test_wrong_scores_are_refused(scores: str) -> None:
    """In a process of its own: the kernel may read on beyond the array."""
    lines = (
        "import numpy as np",
        "from domsim.batch import Batch",
        "from domsim.errors import DomsimError",
        "batch = Batch('cuban', 3)",
        "n = len(batch.legal().action)",
        "try:",
        f"    batch.play_scores({scores})",
        "except DomsimError:",
        "    print('refused')",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, cwd=ROOT, timeout=120, check=False
    )
    assert done.stdout.strip() == "refused"


# --- one agent, two kinds -------------------------------------------------------------------------


def toml_of(weights: dict[str, Any], opener: str = "self") -> str:
    plain = {name: value for name, value in weights.items() if not isinstance(value, dict)}
    lines = [f'about = "a test"\nopener = "{opener}"', "[weights.cuban]", *(f"{k} = {v}" for k, v in plain.items())]
    for stage, own in weights.items():
        if isinstance(own, dict):
            lines += [f"[weights.cuban.{stage}]", *(f"{name} = {value}" for name, value in own.items())]
    return "\n".join(lines) + "\n"


def table_of(weights: dict[str, float]) -> list[float]:
    """Weights in the order of the features."""
    return [weights.get(name, 0) for name in CUBAN.features]


def pair(folder: Path, weights: dict[str, Any], opener: str = "self") -> tuple[str, str]:
    """The same agent as weights for the kernel and as a Python file."""
    table = (read_weights(weights, CUBAN, "") / 1024).tolist()
    return (
        write(folder / "kernel.toml", toml_of(weights, opener)),
        write(folder / "vector.py", VECTOR.format(table=table, opener=opener)),
    )


@pytest.mark.parametrize(
    ("rules", "matches", "opener"), [({}, False, "self"), (OPTIONS, False, "self"), ({}, True, "alternate")]
)
def test_weights_and_vector_agents_are_one(tmp_path: Path, rules: dict, matches: bool, opener: str) -> None:
    """The kernel's whole numbers and numpy's floats choose the same action, ties included: to the bit."""
    kernel, vector = pair(tmp_path, WEIGHTS, opener)
    deals = 100 if matches else 1500
    seatings = [(kernel,) * 4, (vector,) * 4, (kernel, vector) * 2, (vector, vector, kernel, kernel)]
    batches = [
        Batch("cuban", deals, rules=rules, agents=agents, matches=matches, log=True).run() for agents in seatings
    ]
    for other in batches[1:]:
        assert same_results(batches[0], other)
    heaviest = Batch("cuban", deals, rules=rules, agents=["heaviest"] * 4, matches=matches, log=True).run()
    assert not same_results(batches[0], heaviest)


def test_weights_are_whole_multiples() -> None:
    """Of 1/1024, rounded; what a stage says itself goes before what is said for all."""
    early, middle, late = read_weights(WEIGHTS, CUBAN, "").tolist()
    whole = {
        "pips": 1024,
        "double": 5376,
        "suit_new": 2560,
        "unseen_new": -410,
        "next_lacks_new": 7168,
        "same_ends": 1536,
    }
    assert early == middle == table_of(whole)
    own = {"pips": 3072, "suit_kept": -1152, "double_late": 4096, "last_must_pass": 9984}
    assert late == table_of(whole | own)


def test_ties_are_drawn_alike(tmp_path: Path) -> None:
    """Weights that tie all the time, and only one feature: `features @ weights` as it stands in the documentation."""
    weights = {"double": 1}
    kernel = write(tmp_path / "doubles.toml", toml_of(weights))
    vector = write(tmp_path / "doubles.py", PLAIN_VECTOR.format(table=table_of(weights)))
    one, other = (Batch("cuban", 1000, agents=[agent] * 4, log=True).run() for agent in (kernel, vector))
    assert same_results(one, other)
    streams = Batch("cuban", 1000, agents=[f"{kernel}?stream=1"] * 4, log=True).run()
    assert not same_results(one, streams)  # ties are broken by the stream
    assert same_results(streams, Batch("cuban", 1000, agents=[f"{vector}?stream=1"] * 4, log=True).run())


# --- what results must not depend on --------------------------------------------------------------


def jobs_for(numbers: list[int], agents: int, matches: bool = False) -> Any:
    """Jobs on deals of the suite `smoke`; who sits where changes from deal to deal."""
    jobs = np.zeros(len(numbers), driver.JOB)
    jobs["key"] = deal_keys(find_suite("smoke"), 3, numbers)
    jobs["rounds"] = 0 if matches else 1
    for seat in range(4):
        jobs["agent"][:, seat] = (np.array(numbers) + seat) % agents
        jobs["stream"][:, seat] = np.array(numbers) % 3
        jobs["naming"][:, seat] = (np.array(numbers) + seat) % 3
    return jobs


def agents_of(folder: Path) -> list[Any]:
    _, vector = pair(folder, WEIGHTS)
    return [load_agent(spec, CUBAN) for spec in (vector, "random", "careful")]


@pytest.mark.parametrize("matches", [False, True])
def test_results_do_not_depend_on_slots(tmp_path: Path, matches: bool) -> None:
    agents, rules = agents_of(tmp_path), find_rules("cuban", **OPTIONS)
    jobs = jobs_for(list(range(60)), 3, matches)
    batches = [
        Batch.of_jobs(CUBAN, rules, 4, jobs.copy(), agents, slots=slots, log=True).run() for slots in (1, 7, 60, 4096)
    ]
    for other in batches[1:]:
        assert same_results(batches[0], other)
    unlogged = Batch.of_jobs(CUBAN, rules, 4, jobs.copy(), agents, slots=7).run()
    assert same_rows(unlogged.rounds, batches[0].rounds)
    assert same_rows(unlogged.matches, batches[0].matches)
    assert len(unlogged.log) == 0


def test_compiled_results_do_not_depend_on_slots() -> None:
    rules, agents = find_rules("cuban"), [load_agent(spec, CUBAN) for spec in ("random", "careful", "heaviest")]
    jobs = jobs_for(list(range(300)), 3)
    logged = Batch.of_jobs(CUBAN, rules, 4, jobs, agents, slots=4096, log=True).run()
    plain = Batch.of_jobs(CUBAN, rules, 4, jobs, agents).run()  # one slot, whole rounds in the kernel
    seven = Batch.of_jobs(CUBAN, rules, 4, jobs, agents, slots=7, log=True).run()
    assert same_rows(plain.rounds, logged.rounds)
    assert same_rows(plain.matches, logged.matches)
    assert same_results(seven, logged)


@pytest.mark.parametrize("matches", [False, True])
def test_results_do_not_depend_on_the_order_or_number_of_jobs(tmp_path: Path, matches: bool) -> None:
    agents, rules = agents_of(tmp_path), find_rules("cuban", **OPTIONS)

    def play(numbers: list[int]) -> dict[int, list[Any]]:
        """By deal: its rounds, its match and its log, without the place it has in the batch."""
        batch = Batch.of_jobs(CUBAN, rules, 4, jobs_for(numbers, 3, matches), agents, slots=9, log=True).run()
        found: dict[int, list[Any]] = {}
        for place, number in enumerate(numbers):
            found[number] = []
            for rows in (batch.rounds, batch.matches, batch.log):
                own = rows[rows["match"] == place]
                assert len(own)
                found[number] += [own[name].tolist() for name in rows.dtype.names if name != "match"]
        return found

    numbers = list(range(60))
    whole = play(numbers)
    shuffled = random.Random(4).sample(numbers, 60)
    assert play(shuffled) == whole
    parts = [play(numbers[:1]), play(numbers[1:20]), play(numbers[20:][::-1])]
    assert {number: result for part in parts for number, result in part.items()} == whole


def test_results_do_not_depend_on_room_in_the_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """More rounds than the buffer of rounds holds, more actions than that of the log: nothing is lost or twice."""
    rules, agents = find_rules("cuban"), [load_agent("random", CUBAN)]
    jobs = jobs_for(list(range(4000)), 1)
    whole = Batch.of_jobs(CUBAN, rules, 4, jobs, agents, log=True).run()
    assert len(whole.log) > 2 * len(whole._log_rows)
    monkeypatch.setattr("domsim.batch._ROWS", 10)
    small = Batch.of_jobs(CUBAN, rules, 4, jobs, agents).run()
    assert len(small._round_rows) < 20
    assert same_rows(small.rounds, whole.rounds)
    assert same_rows(small.matches, whole.matches)
    few = Batch.of_jobs(CUBAN, rules, 4, jobs, agents, slots=2, log=True).run()
    assert same_results(few, whole)


def test_the_same_batch_twice(tmp_path: Path) -> None:
    _, vector = pair(tmp_path, WEIGHTS)
    agents = [vector, "random", "careful", "random?stream=2"]
    one, other = (Batch("cuban", 200, agents=agents, matches=True, log=True).run() for _ in range(2))
    assert same_results(one, other)


def test_who_sits_elsewhere_changes_no_deal() -> None:
    """Another agent at seat 3: the same hands, the same opener, and the same play until seat 3 does otherwise."""
    one = Batch("cuban", 300, agents=["random"] * 4, log=True).run()
    other = Batch("cuban", 300, agents=["random"] * 3 + ["careful"], log=True).run()
    for name in ("lead", "opener", "redeals"):
        assert np.array_equal(one.rounds[name], other.rounds[name])
    differing = 0
    for deal in range(300):
        a, b = (batch.log[batch.log["match"] == deal] for batch in (one, other))
        n = min(len(a), len(b))
        different = np.flatnonzero(a["action"][:n] != b["action"][:n])
        if different.size:
            differing += 1
            assert a["seat"][different[0]] == 3
    assert differing > 250


def test_streams_of_two_seats_have_nothing_in_common() -> None:
    """Random agents with other stream numbers play other games on the same deals."""
    one, other = (Batch("cuban", 300, agents=[f"random?stream={stream}"] * 4, log=True).run() for stream in (0, 1))
    assert np.array_equal(one.rounds["opener"], other.rounds["opener"])
    same = sum(
        np.array_equal(
            one.log["action"][one.log["match"] == deal],
            other.log["action"][other.log["match"] == deal],
        )
        for deal in range(300)
    )
    assert same == 0


# --- a few rounds once more by the reference ------------------------------------------------------


def test_what_is_shown_of_a_hand_is_the_hand() -> None:
    """The opener's view at the first decision: its ten tiles as dealt, all others unseen."""
    batch = Batch("cuban", 25, rules={"claim_doubles": 0})
    moves = batch.legal()
    frame = moves.frame()
    for d in range(len(moves)):
        texts = [text.removesuffix(">start") for text in frame["action"][frame["decision"] == d]]
        hand = moves.view["hand"][d]
        held = [f"{v}-{w}" for v in range(10) for w in range(v + 1) if hand[v] >> w & 1]
        assert sorted(texts) == sorted(held)
        a_round = reference.new_round("cuban", {}, 4, [held] + [[t] for t in ("9-9", "8-8", "7-7")], [], {"opener": 0})
        assert a_round.legal() == sorted(frame["action"][frame["decision"] == d])
    assert (moves.view["unseen"][:, :10] == 2**10 - 1).all()


# --- agents that fail -----------------------------------------------------------------------------

FAILING = """
import numpy as np


class Bot:
    def score(self, moves):
        if (moves.view["laid"] < {laid}).all():
            return moves["pips"]
        {line}
"""
FAILURES = {
    "raises": ("raise RuntimeError('out of ideas')", ("RuntimeError", "out of ideas")),
    "divides by zero": ("return moves['pips'] * (1 // 0)", ("ZeroDivisionError",)),
    "misses a column": ("return moves['pipes']", ("KeyError", "pipes", "known: pips")),
    "nan": ("return np.where(moves['double'], np.nan, 1.0)", ("nan", ">")),
    "all nan": ("return np.full(len(moves.action), np.nan)", ("nan",)),
    "infinity": ("return np.full(len(moves.action), np.inf)", ("inf",)),
    "one a decision": ("return np.zeros(len(moves))", ("float64 (", "expected numbers (")),
    "one too few": ("return np.zeros(len(moves.action) - 1)", ("float64 (", "expected numbers (")),
    "all features": ("return moves.features", (f", {len(CUBAN.features)})", "expected numbers (")),
    "a number": ("return 0", ("int64 ()", "expected numbers (")),
    "nothing": ("return None", ("object ()", "expected numbers (")),
    "texts": ("return [moves.text(play) for play in range(len(moves.action))]", ("<U", "expected numbers (")),
    "complex numbers": ("return moves['pips'] * 1j", ("complex128", "expected numbers (")),
    "lists of lists": ("return [[1], [1, 2]]", ("agent",)),
    "exits": ("raise SystemExit(3)", ("SystemExit",)),
}


@pytest.mark.parametrize("laid", [0, 5])
@pytest.mark.parametrize("name", FAILURES)
def test_failing_agents_are_named(tmp_path: Path, name: str, laid: int) -> None:
    """With what they did and the line; at once, and in the middle of a round."""
    line, parts = FAILURES[name]
    path = tmp_path / "failing.py"
    path.write_text(FAILING.format(line=line, laid=laid))
    with pytest.raises(AgentError) as caught:
        Batch("cuban", 50, agents=["random", str(path), "random", "random"]).run()
    text = str(caught.value)
    assert all(part in text for part in (f"agent {path}", *parts))
    lines = path.read_text().splitlines()
    at = next(number for number, code in enumerate(lines, 1) if line in code)
    raised = name in ("raises", "divides by zero", "misses a column", "exits", "lists of lists")
    begins = next(number for number, code in enumerate(lines, 1) if "def score" in code)
    assert f"line {at if raised else begins}" in text or name == "lists of lists"


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ("class Bot\n    pass\n", ("line 1",)),
        ("import nothing_of_this_name\n", ("line 1", "ModuleNotFoundError")),
        ("x = 1\ny = x / 0\n", ("line 2", "ZeroDivisionError")),
        ("x = 1\n", ("no class",)),
        ("class A:\n    def score(self, m): ...\nclass B:\n    def score(self, m): ...\n", ("bot.py:A or B",)),
        ("class Bot:\n    def __init__(self, depth):\n        pass\n    def score(self, m): ...\n", ("depth",)),
        (
            "class Bot:\n    def __init__(self):\n        raise ValueError('no')\n    def score(self, m): ...\n",
            ("line 3",),
        ),
        (
            "class Bot:\n    opener = 'me'\n    def score(self, m): ...\n",
            ("opener", "'me'", "self, partner, alternate"),
        ),
        ("class Bot:\n    features = ['pip']\n    def score(self, m): ...\n", ("'pip'", "did you mean 'pips'")),
        ("class Bot:\n    games = ['mexican']\n    def score(self, m): ...\n", ("does not play cuban", "mexican")),
    ],
)
def test_broken_agent_files_are_named(tmp_path: Path, code: str, parts: tuple[str, ...]) -> None:
    path = write(tmp_path / "bot.py", code)
    with pytest.raises(AgentError) as caught:
        Batch("cuban", 2, agents=[path] * 4)
    assert all(part in str(caught.value) for part in (path, *parts))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[weights.cuban\n", ("broken TOML", "line 1")),
        ("[weights.cuban]\npip = 1\n", ("'pip'", "did you mean 'pips'")),
        ("[weights.cuban]\npips = 'much'\n", ("pips", "'much'")),
        ("[weights.cuban]\npips = true\n", ("pips", "True")),
        ("[weights.cuban]\npips = nan\n", ("pips", "nan")),
        ("[weights.cuban]\npips = inf\n", ("pips", "inf")),
        ("[weights.cuban]\npips = 1e9\n", ("pips", "1000000000")),
        ("[weights.cuban.middle]\npip = 1\n", ("'pip'",)),
        ("[weights.chess]\npips = 1\n", ("does not play cuban",)),
        ("weight = 1\n", ("'weight'", "did you mean 'weights'")),
        ("kind = 'clever'\n", ("kind", "'clever'", "weights, random")),
        ("kind = 'random'\nopener = 2\n", ("opener", "2", "self, partner, alternate")),
    ],
)
def test_broken_weights_files_are_named(tmp_path: Path, text: str, parts: tuple[str, ...]) -> None:
    path = write(tmp_path / "bot.toml", text)
    with pytest.raises(AgentError) as caught:
        Batch("cuban", 2, agents=[path] * 4)
    assert all(part in str(caught.value) for part in (path, *parts))


def test_an_agent_may_ask_for_some_features_only(tmp_path: Path) -> None:
    """Its scores are the same; what it does not ask for need not be computed."""
    every = write(tmp_path / "every.py", PLAIN_VECTOR.format(table=table_of({"pips": 1, "double": 5})))
    wanted = "class Bot:\n    features = ['pips', 'double']\n    def score(self, m):\n"
    some = write(tmp_path / "some.py", f"{wanted}        return m['pips'] + 5 * m['double']\n")
    one, other = (Batch("cuban", 300, agents=[agent] * 4, log=True).run() for agent in (every, some))
    assert same_results(one, other)
    assert load_agent(some, CUBAN).need == 0b11
    assert load_agent(every, CUBAN).need == 2 ** len(CUBAN.features) - 1


def test_what_a_kernel_writes_all_the_time_shares_no_cache_line() -> None:
    """Two threads would slow each other down to half the speed, without a wrong result."""
    batches = [Batch("cuban", 2) for _ in range(20)]
    lines: list[int] = []
    for batch in batches:
        for array in (batch._states, batch._work, batch._control):
            first, last = array.ctypes.data // 128, (array.ctypes.data + array.nbytes - 1) // 128
            lines += range(first, last + 1)
    assert len(lines) == len(set(lines))
