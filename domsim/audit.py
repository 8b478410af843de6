"""What every agent is checked for, shipped or yours. It guards against mistakes; it is no sandbox.

| check | what |
|---|---|
| `answers` | every decision is answered, by finite scores of the right shape or by a legal action |
| `repeatable` | the same choices however many decisions come at once, in any order, and in another process |
| `hidden` | the same scores when the tiles it cannot see are others |
| `worker` | it loads and plays in a fresh process, in another folder |
| `inputs` | what it is given stays as it is |
| `speed` | decisions a second: information only |
| `time` | all that within the time limit |

The agent never runs in the calling process. Two others play the same rounds: one like yours (`home`: working directory
and search path are the same) and a fresh one (`away`).
"""

import hashlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from domsim.agent import absolute_spec
from domsim.audit_worker import LINEUPS, ROUNDS, RUNS, WORLDS, Task, place_of, warm
from domsim.errors import AgentError, DomsimError
from domsim.folders import find_file
from domsim.games import GAMES, Game, find_game
from domsim.seeds import deal_keys, find_suite
from domsim.tournament import Spec, compile_rules, make_plan
from domsim.worlds import Worlds, make_worlds

Array = npt.NDArray[Any]
#: tasks of the two processes, in order
HOME = (*RUNS, WORLDS[0])
AWAY = (next(iter(RUNS)), WORLDS[1], WORLDS[0])
_FIRST = HOME[0]
#: seconds that a process may need beyond the limit, to start and to end itself; it does so in one or two
_GRACE = 60.0
_START = "import sys; sys.path.append(sys.argv.pop()); from domsim.audit_worker import main; main()"


@dataclass(frozen=True)
class Check:
    """One check of an agent for one game."""

    game: str
    name: str
    passed: bool | None  # None: not run, because another check failed
    evidence: str


def audit_agent(spec: str, game: str | None = None, rounds: int = 200, time_limit: float = 60.0) -> list[Check]:
    """Check an agent for one game, or for all that it plays.

    Args:
        rounds: about how many rounds of every game are played, several times over.
        time_limit: seconds that the agent has for everything.

    Raises:
        DomsimError: there is no such agent or game, a value is out of range, or the agent plays none of the games.
    """
    if rounds < 1 or not time_limit > 0:
        raise DomsimError(f"rounds {rounds}, time limit {time_limit}: both must be above 0")
    games = [find_game(game)] if game is not None else list(GAMES.values())
    whole = absolute_spec(spec)
    for one in games:
        _compile(one)
    command = shlex.join(["domsim", "audit", spec, "--rounds", str(rounds), *(["--game", game] if game else [])])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task = _task(whole, games, rounds, time_limit, folder, command)
        home = _Process("home", msgspec.structs.replace(task, spec=spec, path=sys.path), HOME, Path.cwd())
        away = _Process("away", task, AWAY, folder / "away")
        try:
            worlds = {one.name: _write_worlds(one, rounds, folder, (home, away)) for one in games}
            home.end(time_limit)
            away.end(time_limit)
        finally:
            home.kill()
            away.kill()
        checks = [check for one in games for check in _Verdict(one, home, away, worlds[one.name], task).checks()]
    if not checks:
        raise AgentError(f"agent {spec}: it plays none of the games: {home.problem(games[0].name)}")
    return checks


def show_checks(spec: str, checks: Sequence[Check], as_json: bool = False) -> None:
    """Print one line a check, or a list in JSON."""
    if as_json:
        print(json.dumps([asdict(check) for check in checks], ensure_ascii=False))
        return
    marks = {True: "pass", False: "FAIL", None: "-"}
    for game in dict.fromkeys(check.game for check in checks):
        print(f"{spec} · {game}")
        for check in checks:
            if check.game == game:
                print(f"  {marks[check.passed]:<4}  {check.name:<10}  {check.evidence}")


def audit(agent: str, game: str | None = None, rounds: int = 200, seconds: float = 60.0, as_json: bool = False) -> int:
    """Check an agent and print what came out; 1 when a check failed, else 0."""
    checks = audit_agent(agent, game, rounds, seconds)
    show_checks(agent, checks, as_json)
    return int(any(check.passed is False for check in checks))


@cache
def _compile(game: Game) -> None:
    """Compile what the processes would otherwise compile twice."""
    compile_rules(make_plan(Spec(game.name, ("random", "random?stream=1"), 1, "smoke")))
    warm(game)


def _tables(game: Game) -> list[int]:
    """The numbers of seats that are tried: the fewest, the usual one, the most."""
    return sorted({min(game.seats), game.seats[0], max(game.seats)})


def _task(spec: str, games: list[Game], rounds: int, time_limit: float, folder: Path, command: str) -> Task:
    suite = find_file("seeds", "smoke", ".toml")
    assert suite is not None
    tables = {game.name: _tables(game) for game in games}
    deals = {game: -(-rounds // (len(LINEUPS) * ROUNDS * len(seats))) for game, seats in tables.items()}
    (folder / "worlds").mkdir()
    return Task(
        spec=spec, games=list(tables), tables=tables, deals=deals, suite=str(suite), folder=str(folder),
        seconds=time_limit, command=command,
    )  # fmt: skip


@cache
def _worlds_of(game: Game, seats: int, number: int, suite: str) -> Worlds:
    return make_worlds(game, seats, number, deal_keys(find_suite(suite), 0, range(number)))


def _write_worlds(game: Game, rounds: int, folder: Path, readers: Sequence["_Process"]) -> dict[int, Worlds]:
    """The worlds of every table, for the processes that wait for them, as long as one does."""
    tables = _tables(game)
    number = max(4, rounds // (2 * len(tables)))
    made: dict[int, Worlds] = {}
    for seats in tables:
        if all(reader.ended for reader in readers):
            break
        made[seats] = _worlds_of(game, seats, number, "smoke")
        for name, states in zip(WORLDS, (made[seats].true, made[seats].other), strict=True):
            path = folder / "worlds" / f"{game.name} {seats} {name}"
            path.with_suffix(".part").write_bytes(states.tobytes())
            path.with_suffix(".part").rename(path)
    return made


class _Process:
    """One of the two processes, and what it has written."""

    def __init__(self, name: str, task: Task, tasks: Sequence[str], cwd: Path) -> None:
        self.folder = Path(task.folder) / name
        self.folder.mkdir()
        own = msgspec.structs.replace(task, tasks=list(tasks), folder=str(self.folder))
        (self.folder / "task.json").write_bytes(msgspec.json.encode(own))
        (self.folder / "status.jsonl").touch()
        command = [sys.executable, "-P", "-c", _START, str(self.folder / "task.json"), str(Path(__file__).parents[1])]
        seed = {"home": "1", "away": "2"}[name]
        with open(self.folder / "output.txt", "wb") as output:
            self._process = subprocess.Popen(
                command, cwd=cwd, env={**os.environ, "PYTHONHASHSEED": seed}, stdout=output, stderr=output
            )
        self.stopped = False
        self._states: dict[tuple[str, str], dict[str, Any]] = {}

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """End it, if it has not ended."""
        self._process.kill()
        self._process.wait()

    def end(self, time_limit: float) -> None:
        """Wait for its end, or end it, and read what it has written."""
        try:
            code = self._process.wait(time_limit + _GRACE)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self._process.returncode
            self.stopped = True
        self.stopped = self.stopped or bool(self._dump())
        for line in (self.folder / "status.jsonl").read_text("utf-8").splitlines(keepends=True):
            if not line.endswith("\n"):  # it was stopped while it wrote
                continue
            state = json.loads(line)
            if state["state"] == "begun" and not self.stopped:
                state |= {"state": "failed", "problem": f"the process ended, exit code {code}: {self._last_output()}"}
            self._states[state["game"], state["task"]] = state
        if not self._states and not self.stopped:
            raise AgentError(f"the process of the audit did not start, exit code {code}: {self._last_output()}")

    def _dump(self) -> list[str]:
        path = self.folder / "stopped.txt"
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def _last_output(self) -> str:
        lines = (self.folder / "output.txt").read_text("utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else "no output"

    def state(self, game: str, task: str) -> str:
        """`done`, `failed`, `begun` (it was stopped there), `other game`, or `not run`."""
        found: str = self._states.get((game, task), {"state": "not run"})["state"]
        return found

    def get(self, game: str, task: str, what: str) -> Any:
        """What the process says of a task."""
        return self._states.get((game, task), {}).get(what)

    def failed(self, game: str) -> str | None:
        """The task in which the agent failed."""
        tasks = [task for (played, task), state in self._states.items() if played == game]
        return next((task for task in tasks if self.state(game, task) == "failed"), None)

    def problem(self, game: str) -> str:
        """What went wrong in it."""
        return str(self.get(game, self.failed(game) or "load", "problem"))

    def stopped_in(self, game: str) -> str | None:
        """The task in which the process was stopped, when it was."""
        begun = [task for (played, task), state in self._states.items() if played == game and state["state"] == "begun"]
        return begun[0] if begun and self.stopped else None

    def stopped_at(self, file: str) -> str:
        """The line of the agent's file where it was, or else the line where it was."""
        frames = [line.strip() for line in self._dump() if line.strip().startswith("File ")]
        own = [frame for frame in frames if frame.startswith(f'File "{file}"')]
        found = (own or frames or ["File unknown"])[0]
        return found.removeprefix("File ").replace('"', "")

    def arrays(self, game: str, task: str) -> dict[str, Array] | None:
        """The arrays of a task that is done."""
        if self.state(game, task) != "done":
            return None
        try:
            with np.load(self.folder / f"{game} {task}.npz") as file:
                return dict(file)
        except (OSError, zipfile.BadZipFile):  # stopped between the two
            return None


class _Verdict:
    """The checks of one game, from what the two processes have written."""

    def __init__(self, game: Game, home: _Process, away: _Process, worlds: dict[int, Worlds], task: Task) -> None:
        self.game, self.home, self.away, self.worlds, self.task = game, home, away, worlds, task
        self.name = game.name

    def checks(self) -> list[Check]:
        """All checks; none when the agent does not play the game."""
        if self.home.state(self.name, "load") == "other game":
            return []
        found = {
            "answers": self.answers(),
            "repeatable": self.repeatable(),
            "hidden": self.hidden(),
            "worker": self.worker(),
            "inputs": self.inputs(),
            "speed": self.speed(),
            "time": self.time(),
        }
        return [Check(self.name, name, passed, evidence) for name, (passed, evidence) in found.items()]

    def _writes(self, process: _Process) -> bool:
        """Whether the agent failed because it would not leave what it was given alone."""
        return bool(process.get(self.name, process.failed(self.name) or "", "writes"))

    def answers(self) -> tuple[bool | None, str]:
        """Whether every decision was answered."""
        home, failed = self.home, self.home.failed(self.name)
        if failed == "load" and self.away.failed(self.name) == "load":
            return None, "not run: it cannot be loaded"
        if failed is not None and not self._writes(home):
            return False, home.problem(self.name)
        if home.state(self.name, HOME[-1]) != "done":
            return None, "not run to the end"
        seats = " and ".join(map(str, self.task.tables[self.name]))
        decisions = sum(home.get(self.name, task, "decisions") for task in HOME)
        return True, f"{decisions:,} decisions at tables of {seats}, all answered with legal actions"

    def repeatable(self) -> tuple[bool | None, str]:
        """Whether all runs have the same log."""
        runs = {task: self.home.arrays(self.name, task) for task in RUNS}
        runs["in another process"] = self.away.arrays(self.name, _FIRST)
        first, *others = runs.items()
        for how, logs in others:
            if first[1] is not None and logs is not None:
                found = self._difference(first[1], logs)
                if found:
                    return False, f"{first[0]} and {how}: {found}{self._drawn()}"
        if any(logs is None for logs in runs.values()):
            return None, "not run to the end"
        assert first[1] is not None
        digest = hashlib.sha256(b"".join(log.tobytes() for log in first[1].values())).hexdigest()[:12]
        actions = sum(map(len, first[1].values()))
        return True, f"digest {digest} of {actions:,} actions in all runs: {', '.join(runs)}"

    def _difference(self, one: dict[str, Array], two: dict[str, Array]) -> str:
        """Where two runs part first; nothing when they do not."""
        for seats in self.task.tables[self.name]:
            a, b = one[f"log {seats}"], two[f"log {seats}"]
            shorter = min(len(a), len(b))
            different = np.flatnonzero(a[:shorter] != b[:shorter])
            if different.size or len(a) != len(b):
                place = int(different[0]) if different.size else shorter - 1
                match, ply = int(a["match"][place]), int(a["ply"][place])
                texts = [self.game.action_text(int(log["action"][place])) for log in (a, b)]
                deal, seating = place_of(match, seats)
                return (
                    f"deal {deal}, seating {seating}, round {a['round_number'][place]}, ply {ply}, "
                    f"seat {a['seat'][place]}: {texts[0]} against {texts[1]}"
                )
        return ""

    def _drawn(self) -> str:
        drawn = self.home.get(self.name, _FIRST, "drawn") or []
        return f"; it draws from the global {' and '.join(drawn)}; use `random` of what it is given" if drawn else ""

    def hidden(self) -> tuple[bool | None, str]:
        """Whether the decisions of both worlds are the same."""
        here, there = self.home.arrays(self.name, WORLDS[0]), self.away.arrays(self.name, WORLDS[1])
        again = self.away.arrays(self.name, WORLDS[0])
        if here is None or there is None or again is None:
            return None, "not run to the end"
        number = sum(len(worlds.places) for worlds in self.worlds.values())
        differing = self._differing(here, there)
        if not differing:
            return True, f"{number} decisions with the hidden tiles reshuffled, the same scores and choices"
        if self._differing(here, again):
            return None, "not run: it does not decide alike twice"
        return False, f"{len(differing)} of {number} decisions change with the hidden tiles: {differing[0]}"

    def _differing(self, one: dict[str, Array], two: dict[str, Array]) -> list[str]:
        """The decisions of two worlds that differ, as text."""
        found = []
        for seats, worlds in self.worlds.items():
            for number, place in enumerate(worlds.places):
                a, b = (self._answer(arrays, seats, number) for arrays in (one, two))
                if a != b:
                    where = ", ".join(f"{name} {value}" for name, value in place.items())
                    found.append(f"with {seats} seats, {where}: {_shortened(a, b)}")
        return found

    def _answer(self, arrays: dict[str, Array], seats: int, number: int) -> tuple[str, dict[str, float]]:
        """The action chosen, and the score of every legal one (of a compiled agent none)."""
        own = slice(*arrays[f"first {seats}"][number : number + 2])
        texts = [self.game.action_text(action) for action in arrays[f"actions {seats}"][own].tolist()]
        chosen = self.game.action_text(int(arrays[f"log {seats}"]["action"][number]))
        return chosen, dict(zip(texts, arrays[f"scores {seats}"][own].tolist(), strict=True))

    def worker(self) -> tuple[bool | None, str]:
        """Whether the fresh process could play."""
        home, away = self.home.failed(self.name), self.away.failed(self.name)
        if away is not None and (away == "load" or home is None):
            return False, f"in a fresh process, in another folder: {self.away.problem(self.name)}"
        if self.away.state(self.name, _FIRST) != "done":
            return None, "not run to the end"
        return True, "loaded by path in a fresh process, in another folder, and played the same rounds"

    def inputs(self) -> tuple[bool | None, str]:
        """Whether the agent left what it was given alone."""
        for process in (self.home, self.away):
            if self._writes(process):
                return False, process.problem(self.name)
            changed = [process.get(self.name, task, "changed") for task in HOME]
            if any(changed):
                return False, next(text for text in changed if text)
        if self.home.state(self.name, HOME[-1]) != "done":
            return None, "not run to the end"
        if self.home.get(self.name, "load", "kind") in ("weights", "random"):
            return True, "it runs inside the kernels and is given nothing it could change"
        return True, "compared before and after every call"

    def speed(self) -> tuple[bool | None, str]:
        """Decisions a second; never a failure."""
        warm = HOME[1]
        if self.home.state(self.name, warm) != "done":
            return None, "not run to the end"
        decisions, seconds = (self.home.get(self.name, warm, what) for what in ("decisions", "seconds"))
        kind = self.home.get(self.name, "load", "kind")
        return True, f"{decisions / max(seconds, 1e-9):,.0f} decisions a second ({kind}, {_FIRST})"

    def time(self) -> tuple[bool | None, str]:
        """Whether it ended in time."""
        limit = f"{self.task.seconds:g} s"
        file = self.task.spec.partition("?")[0]
        file = file.rpartition(":")[0] if ".py:" in file else file
        for process, where in ((self.home, ""), (self.away, " in a fresh process")):
            task = process.stopped_in(self.name)
            if task is not None:
                hint = "if it is only slow, allow more seconds or fewer rounds"
                return False, f"stopped after {limit}{where} in {task!r}, at {process.stopped_at(file)}; {hint}"
        if self.home.stopped or self.away.stopped:
            done = self.home.state(self.name, HOME[-1]) == "done" and self.away.state(self.name, AWAY[-1]) == "done"
            return (True, f"within {limit}") if done else (None, "not run: stopped before")
        return True, f"within {limit}"


def _shortened(a: tuple[str, dict[str, float]], b: tuple[str, dict[str, float]]) -> str:
    """What differs of two answers to one question."""
    if a[0] != b[0]:
        return f"{a[0]} with the true tiles, {b[0]} with others"
    action = next(action for action, score in a[1].items() if score != b[1].get(action))
    return f"{action} scores {a[1][action]:g} with the true tiles, {b[1][action]:g} with others"
