"""The core's structure: one driver plays any game, its kernels are kept on disk, and no edit meets an old kernel.

Two games of a few lines are written into a folder beside a copy of `domsim` (so that the core may be edited too) and
played by `driver.advance` in processes of their own, with random, weighted and outside choices.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import domsim
from tests import dealing

#: Seats in turn add 1 to 3; whoever reaches the goal wins a point; three points win the match.
UPTO = """
from domsim.core import table
from domsim.core.compiled import index, rule
from domsim.core.game import PLAY, action_code, end_rows, new_of, record_dtype, set_row, state_dtype

SEATS = 2
FEATURES = ("step",)
STATE = state_dtype("upto", __file__, SEATS, 1, 1, [("total", "i4")], ("goal",))
VIEW = record_dtype("upto_view", [("total", "i4")], __file__)

@rule
def start_match(s):
    s.lead = 1

@rule
def start_round(s):
    table.begin_round(s, 1)
    open_round(s)

@rule
def open_round(s):
    s.total = 0
    s.opener = s.lead
    s.seat = s.lead

@rule
def legal(s, w):
    set_row(w, 0, action_code(PLAY, 0, 0, 0), 0b1110)
    return end_rows(w, 1)

@rule
def apply(s, action):
    s.total += new_of(action)
    s.last = s.seat
    s.over = s.total >= s.goal
    s.seat = table.next_seat(s, s.seat)

@rule
def finish_round(s):
    s.winner = s.last
    s.points[index(s.winner)] = 1
    s.score[index(s.winner)] += 1
    s.lead = s.winner
    s.won[index(s.winner)] = s.score[index(s.winner)] == 3
    return s.score[index(s.winner)] == 3

@rule
def features(s, action, w, need):
    w.feature[0] = new_of(action)

@rule
def stage(s):
    return 0

@rule
def observe(s, o):
    o.total = s.total
"""
#: Three seats take 1 or 2 from a heap; whoever takes the last one pays as many points to the seat after it as it took
#: in the round; four rounds are a match.
HEAP = """
from domsim.core import table
from domsim.core.compiled import index, rule
from domsim.core.game import DRAW, PLAY, action_code, end_rows, kind_of, new_of, record_dtype, set_row, state_dtype

SEATS = 3
FEATURES = ("left", "two")
STATE = state_dtype("heap", __file__, SEATS, 1, 1, [("left", "i1"), ("taken", "i1", 3)], ("stones", "rounds_a_match"))
VIEW = record_dtype("heap_view", [("left", "i1"), ("seat", "i1")], __file__)

@rule
def start_match(s):
    pass

@rule
def start_round(s):
    table.begin_round(s, 1)
    open_round(s)

@rule
def open_round(s):
    s.left = s.stones
    s.seat = 0
    for q in range(3):
        s.taken[q] = 0

@rule
def legal(s, w):
    set_row(w, 0, action_code(DRAW, 0, 0, 0), 1)
    set_row(w, 1, action_code(PLAY, 2, 0, 0), (s.left > 1) << 2)
    return end_rows(w, 2)

@rule
def apply(s, action):
    took = 1 if kind_of(action) == DRAW else 2
    s.left -= took
    s.taken[index(s.seat)] += took
    s.last = s.seat
    s.over = s.left == 0
    s.seat = table.next_seat(s, s.seat)

@rule
def finish_round(s):
    s.winner = table.next_seat(s, s.last)
    s.points[index(s.winner)] = s.taken[index(s.last)]
    s.points[index(s.last)] = -s.taken[index(s.last)]
    for q in range(3):
        s.score[q] += s.points[q]
    return s.round_number == s.rounds_a_match

@rule
def features(s, action, w, need):
    w.feature[0] = s.left
    w.feature[1] = new_of(action) == 2

@rule
def stage(s):
    return 0 if s.left > 5 else 2

@rule
def observe(s, o):
    o.left = s.left
    o.seat = s.seat
"""
PLAY = '''
"""Plays a game by name through the driver; what it found of its kernel on disk."""

import json
import sys
from importlib import import_module

import numpy as np

from domsim.core import driver
from domsim.core.driver import CONTROL, DECISION, JOB, LOG
from domsim.core.game import MAX_ACTIONS, register_core

#: options; and by seat the agent: 0 random, 1 weights, 2 chosen from outside
GAMES = {
    "upto": ({"goal": 10}, (0, 2)),
    "heap": ({"stones": 12, "rounds_a_match": 4}, (1, 0, 2)),
}
KEYS = [0, 1, 2**64 - 1, 12345678901234567890]


def play(name):
    core = import_module(name)
    register_core(core)
    options, kinds = GAMES[name]
    features, slots = len(core.FEATURES), 3
    states = np.zeros(slots, core.STATE)
    states["seats"] = core.SEATS
    for option, value in options.items():
        states[option] = value
    jobs = np.zeros(len(KEYS), JOB)
    jobs["key"] = np.array(KEYS, np.uint64)
    jobs["agent"][:, : core.SEATS] = kinds
    agents = np.zeros(3, driver.agent_dtype(features))
    agents["kind"] = driver.RANDOM, driver.WEIGHTS, driver.PYTHON
    agents["weight"][1, 0, -1], agents["weight"][1, 2, -1] = 5, -5  # late in the round the other way
    control = np.zeros(1, CONTROL)
    control["logging"], control["need"] = 1, (1 << features) - 1
    rounds, matches = np.zeros(500, driver.round_dtype(core.SEATS)), np.zeros(len(KEYS), driver.match_dtype(core.SEATS))
    log, decision, view = np.zeros(5000, LOG), np.zeros(slots, DECISION), np.zeros(slots, core.VIEW)
    move, feature = np.zeros(2 * MAX_ACTIONS, np.int32), np.zeros((2 * MAX_ACTIONS, features), np.int16)
    chosen, work = np.zeros(slots, np.int64), np.zeros(1, driver.work_dtype(features))
    passes = np.zeros(1, driver.PASS_ROW)
    before = kernels()
    seen = []
    while True:
        driver.advance(
            states, work, jobs, rounds, matches, log, passes, control, agents, decision, view, move, feature, chosen
        )
        c = control[0]
        if not c["decisions"]:
            break
        ends = np.append(decision["first"][: c["decisions"]], c["moves"])
        for d in range(c["decisions"]):
            own = slice(ends[d], ends[d + 1])
            seen.append([int(view[view.dtype.names[0]][d]), feature[own].tolist()])
            chosen[d] = len(move[own]) - 1 if len(seen) % 2 else 0
    hits, misses = (now - then for now, then in zip(kernels(), before))
    done, actions = rounds[: c["rounds"]], log[: c["actions"]]
    done = done[np.lexsort((done["round_number"], done["match"]))]
    actions = actions[np.lexsort((actions["ply"], actions["round_number"], actions["match"]))]
    return {
        "hits": hits,
        "misses": misses,
        "seen": seen,
        "rounds": [[int(row[f]) for f in ("match", "round_number", "plies", "last", "winner")] for row in done],
        "points": done["points"].tolist(),
        "score": matches["score"].tolist(),
        "won": matches["won"].tolist(),
        "actions": [[int(row[f]) for f in ("match", "round_number", "ply", "seat", "action")] for row in actions],
    }


def kernels():
    stats = driver.advance.stats
    return [sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]


if __name__ == "__main__":
    import domsim

    names = sys.argv[2:]
    if sys.argv[1] == "worker":
        from joblib import Parallel, delayed
        import toy_play

        found = Parallel(n_jobs=2, backend="loky")(delayed(toy_play.play)(name) for name in names)
    else:
        found = [play(name) for name in names]
    print(json.dumps({"domsim": domsim.__file__, **dict(zip(names, found))}))
'''
KEYS = [0, 1, 2**64 - 1, 12345678901234567890]


@dataclass
class Folder:
    """A folder with a copy of domsim, the two games and a cache of kernels."""

    path: Path
    first: dict[str, Any]  # what the process that compiled them played

    def run(self, how: str, *names: str) -> dict[str, Any]:
        return run(self.path, how, *names)

    @contextmanager
    def edited(self, file: str, old: str, new: str) -> Iterator[None]:
        path = self.path / file
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))
        yield
        path.write_text(text)


def run(path: Path, how: str, *names: str) -> dict[str, Any]:
    environment = os.environ | {"PYTHONPATH": str(path), "NUMBA_CACHE_DIR": str(path / "kernels")}
    environment.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run(
        [sys.executable, "toy_play.py", how, *names],
        capture_output=True,
        text=True,
        cwd=path,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found.pop("domsim").startswith(str(path))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    path = tmp_path_factory.mktemp("structure")
    source = Path(domsim.__file__).parent
    shutil.copytree(source, path / "domsim", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in (("upto", UPTO), ("heap", HEAP), ("toy_play", PLAY)):
        (path / f"{name}.py").write_text(text)
    return Folder(path, run(path, "here", "upto", "heap"))


# --- the two games once more, in plain Python -----------------------------------------------------


def play_upto(key: int, point: int = 1) -> Iterator[Any]:
    """Rounds of `upto`: seat 0 at random, seat 1 from outside; yields `(plies, last, points)`, plies with choices."""
    score, lead, number = [0, 0], 1, 0
    while max(score) < 3:
        number += 1
        total, seat, plies = 0, lead, []
        while total < 10:
            word = dealing.decision_word(key, number, seat, len(plies))
            step = 1 + dealing.draw(word, 0, 3) if seat == 0 else (yield total)
            plies.append((seat, 1 << 12 | step))
            total, last, seat = total + step, seat, 1 - seat
        points = [0, 0]
        points[last] = point
        score = [s + p for s, p in zip(score, points, strict=True)]
        lead = last
        yield number, plies, last, last, points


def play_heap(key: int, after: Callable[[int], int] = lambda seat: (seat + 1) % 3) -> Iterator[Any]:
    """Rounds of `heap`: seat 0 by weights, seat 1 at random, seat 2 from outside; as `play_upto`."""
    for number in range(1, 5):
        left, seat, plies, taken = 12, 0, [], [0, 0, 0]
        while left:
            legal = [1, 2] if left > 1 else [1]
            word = dealing.decision_word(key, number, seat, len(plies))
            if len(legal) == 1:
                step = 1
            elif seat == 0:
                step = 2 if left > 5 else 1
            elif seat == 1:
                step = legal[dealing.draw(word, 0, len(legal))]
            else:
                step = yield left
            plies.append((seat, 2 << 12 if step == 1 else 1 << 12 | 2 << 8 | 2))
            taken[seat] += step
            left, last, seat = left - step, seat, after(seat)
        points = [0, 0, 0]
        points[after(last)] += taken[last]
        points[last] -= taken[last]
        yield number, plies, last, after(last), points


def expected(game: Callable[[int], Iterator[Any]], seats: int, found: dict[str, Any]) -> dict[str, Any]:
    """What the driver should have played, given the choices made from outside (they are taken from its log)."""
    out: dict[str, list[Any]] = {"rounds": [], "points": [], "score": [], "won": [], "actions": []}
    outside = seats - 1
    for match, key in enumerate(KEYS):
        log = [row for row in found["actions"] if row[0] == match]
        rounds = game(key)
        score, answer = [0] * seats, None
        position = 0
        while True:
            try:
                event = rounds.send(answer)
            except StopIteration:
                break
            answer = None
            if isinstance(event, int):  # somebody outside is asked: the next entry of its log that is not forced
                while log[position][3] != outside:
                    position += 1
                action = log[position][4]
                answer = action & 15 if action >> 12 == 1 else 1
                position += 1
                continue
            number, plies, last, winner, points = event
            out["rounds"].append([match, number, len(plies), last, winner])
            out["points"].append(points)
            out["actions"] += [[match, number, ply, seat, action] for ply, (seat, action) in enumerate(plies)]
            score = [s + p for s, p in zip(score, points, strict=True)]
            position = len([row for row in log if row[1] <= number])
        out["score"].append(score)
        out["won"].append([int(s >= 3) for s in score] if seats == 2 else [0] * seats)
    return out


def played(found: dict[str, Any]) -> dict[str, Any]:
    return {name: found[name] for name in ("rounds", "points", "score", "won", "actions")}


# --- tests ----------------------------------------------------------------------------------------


def test_one_driver_plays_both_games(folder: Folder) -> None:
    upto, heap = folder.first["upto"], folder.first["heap"]
    assert (upto["hits"], upto["misses"]) == (heap["hits"], heap["misses"]) == (0, 1)
    assert played(upto) == expected(play_upto, 2, upto)
    assert played(heap) == expected(play_heap, 3, heap)
    assert len(upto["rounds"]) >= 3 * len(KEYS)
    assert len(heap["rounds"]) == 4 * len(KEYS)
    assert len(upto["seen"]) > 10
    assert len(heap["seen"]) > 10
    assert all(listed == [[1], [2], [3]] for _, listed in upto["seen"])
    assert all(listed == [[left, 0], [left, 1]] for left, listed in heap["seen"])


def test_kernels_are_found_on_disk(folder: Folder) -> None:
    """By a second process and by the workers of a pool: the games have one kernel each, and the order is no matter."""
    for how in ("here", "worker"):
        found = folder.run(how, "heap", "upto")
        for name in ("upto", "heap"):
            assert (found[name]["hits"], found[name]["misses"]) == (1, 0), (how, name)
            assert played(found[name]) == played(folder.first[name])


def test_an_edit_of_a_game_makes_a_new_kernel(folder: Folder) -> None:
    with folder.edited("upto.py", "s.points[index(s.winner)] = 1", "s.points[index(s.winner)] = 7"):
        found = folder.run("here", "upto", "heap")
    assert (found["upto"]["hits"], found["upto"]["misses"]) == (0, 1)
    assert found["upto"]["rounds"] == folder.first["upto"]["rounds"]
    assert found["upto"]["points"] == [[7 * p for p in points] for points in folder.first["upto"]["points"]]
    assert (found["heap"]["hits"], found["heap"]["misses"]) == (1, 0)  # the other game keeps its own
    assert played(found["heap"]) == played(folder.first["heap"])


def test_an_edit_of_the_core_makes_a_new_kernel(folder: Folder) -> None:
    old = "return 0 if following == s.seats else following"
    with folder.edited("domsim/core/table.py", old, "return s.seats - 1 if seat == 0 else seat - 1"):
        heap = folder.run("here", "heap")["heap"]
    assert (heap["hits"], heap["misses"]) == (0, 1)
    backwards = expected(lambda key: play_heap(key, lambda seat: (seat - 1) % 3), 3, heap)
    assert played(heap) == backwards
    assert heap["rounds"] != folder.first["heap"]["rounds"]
    again = folder.run("here", "heap")["heap"]  # and back: the first kernel is still there
    assert (again["hits"], again["misses"]) == (1, 0)
    assert played(again) == played(folder.first["heap"])
