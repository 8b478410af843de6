"""The other end of `domsim.audit`: a process in which an agent decides, task by task, and which writes it all down.

A task is a run of rounds (`RUNS`: how many matches at once, and whether the last one first), or the decisions of a
world (`WORLDS`). `status.jsonl` in the folder has a line when a task begins and one when it ends; the log of its
actions and its scores are in a file of its own.
"""

import faulthandler
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from domsim.agent import Agent, load_agent
from domsim.batch import Batch
from domsim.core.driver import JOB, PYTHON
from domsim.errors import AgentError, AgentFailedError, OtherGameError
from domsim.folders import shipped
from domsim.games import Game, find_game
from domsim.moves import Moves
from domsim.seeds import deal_keys, find_suite

Array = npt.NDArray[Any]
#: matches at once, and whether they are played in the opposite order
RUNS = {
    "all at once": (4096, False),
    "once more": (4096, False),
    "seven at a time": (7, False),
    "one at a time": (1, False),
    "in the opposite order": (4096, True),
}
WORLDS = ("true", "other")
#: rounds of a match: in the first one all scores are 0
ROUNDS = 2
#: matches on every deal: where the agent sits; `random` has the other seats
LINEUPS = ("all seats", "even seats", "odd seats")
_WRITES = ("read-only", "does not support item assignment", "does not support item deletion")


class Task(msgspec.Struct):
    """What the process is to do."""

    spec: str
    games: list[str]
    tables: dict[str, list[int]]  # numbers of seats, by game
    deals: dict[str, int]  # by game, at every table
    suite: str  # file
    folder: str  # of this process; beside it is `worlds`
    seconds: float  # for the agent
    command: str  # that does all this again
    tasks: list[str] = []
    path: list[str] = []  # added to `sys.path`


class Watch:
    """Sees what an agent is asked and what it answers: `Batch._watch`."""

    def __init__(self, keep: bool = False) -> None:
        """Nothing seen yet; `keep` the first answer of every match in `answers`."""
        self.keep = keep
        self.decisions = 0
        self.seconds = 0.0
        self.changed = ""
        self.answers: dict[int, tuple[Array, Array]] = {}  # actions and their scores, by match
        self._inputs: dict[str, tuple[Any, bytes]] = {}
        self._since = 0.0

    def before(self, moves: Moves) -> None:
        """Take down what the agent is given."""
        self._inputs = {name: (value, _bytes(value)) for name, value in vars(moves).items()}
        self._since = time.perf_counter()

    def after(self, matches: Array, moves: Moves, scores: Array) -> None:
        """Compare it, and take down the answers."""
        self.seconds += time.perf_counter() - self._since
        self.decisions += len(moves)
        for name, (value, content) in self._inputs.items():
            now = getattr(moves, name, None)
            if (now is not value or _bytes(now) != content) and not self.changed:
                self.changed = f"moves.{name} was changed"
        for place, match in enumerate(matches.tolist() if self.keep else []):
            own = slice(moves.first[place], moves.first[place + 1])
            self.answers.setdefault(match, (moves.action[own], scores[own]))


def _bytes(value: Any) -> bytes:
    return value.tobytes() if isinstance(value, np.ndarray) else b""


class Worker:
    """Does the tasks of one process."""

    def __init__(self, task: Task) -> None:
        """Begin the list of what was done."""
        self.task = task
        self.folder = Path(task.folder)
        self._status = open(self.folder / "status.jsonl", "a", encoding="utf-8")  # noqa: SIM115 - until the end
        self._dump = open(self.folder / "stopped.txt", "w", encoding="utf-8")  # noqa: SIM115
        self._left = task.seconds
        self._parent = os.getppid()
        self._since = time.monotonic()
        self.other = str(shipped("agents") / "random.toml")

    def say(self, game: str, task: str, state: str, **more: Any) -> None:
        """Write one line of the status."""
        self._status.write(json.dumps({"game": game, "task": task, "state": state, **more}) + "\n")
        self._status.flush()

    def start_clock(self) -> None:
        """From now on the agent's time counts; when it is up, the process writes where it is and ends."""
        self._since = time.monotonic()
        faulthandler.dump_traceback_later(max(self._left, 0.01), file=self._dump, exit=True)

    def stop_clock(self) -> None:
        """What follows is not the agent's time."""
        faulthandler.cancel_dump_traceback_later()
        self._left -= time.monotonic() - self._since

    def audit(self, name: str) -> None:
        """All tasks of one game, until the agent fails."""
        game = find_game(name)
        self.say(name, "load", "begun")
        try:
            agent = load_agent(self.task.spec, game)
            other = load_agent(self.other, game)
        except OtherGameError as error:
            self.say(name, "load", "other game", problem=str(error))
            return
        except AgentError as error:
            self.say(name, "load", "failed", problem=_one_line(error))
            return
        self.say(name, "load", "done", kind=agent.kind_name)
        for task in self.task.tasks:
            self.say(name, task, "begun")
            watch = Watch()
            before = _global_random()
            try:
                arrays = self._run(agent, other, task, watch) if task in RUNS else self._ask(agent, other, task, watch)
            except AgentFailedError as error:
                writes = any(text in error.problem for text in _WRITES)
                problem = _one_line(error).removeprefix(f"agent {error.agent}: ")
                self.say(name, task, "failed", problem=problem, writes=writes)
                return
            drawn = [library for library, state in _global_random().items() if state != before[library]]
            seconds, decisions = float(arrays.pop("seconds")), int(arrays.pop("decisions"))
            if agent.kind == PYTHON:
                seconds, decisions = watch.seconds, watch.decisions
            np.savez(self.folder / f"{name} {task}.npz", allow_pickle=False, **arrays)
            self.say(name, task, "done", seconds=seconds, decisions=decisions, changed=watch.changed, drawn=drawn)

    def _run(self, agent: Agent, other: Agent, task: str, watch: Watch) -> dict[str, Array]:
        """Rounds at all tables; the log of each, in order of match, round and ply."""
        slots, backwards = RUNS[task]
        game, found = agent.game, {"seconds": np.array(0.0), "decisions": np.array(0)}
        for seats in self.task.tables[game.name]:
            jobs = make_jobs(agent, other, seats, self._keys(game))
            if backwards:
                jobs = jobs[::-1].copy()
            since = time.perf_counter()
            batch = Batch.of_jobs(game, game.rules.of({}), seats, jobs, [agent, other], slots, log=True)
            batch._watch = watch
            try:
                batch.run()
            except AgentFailedError as error:
                raise self._placed(error, seats, len(jobs), backwards) from error.__cause__
            found["seconds"] += time.perf_counter() - since
            found["decisions"] += batch.rounds["decisions"].sum()
            log = batch.log
            if backwards:
                log["match"] = len(jobs) - 1 - log["match"]
                log = log[np.argsort(log["match"], kind="stable")]
            found[f"log {seats}"] = log
        return found

    def _placed(self, error: AgentFailedError, seats: int, jobs: int, backwards: bool) -> AgentFailedError:
        match = error.facts.get("match")
        if match is not None:
            match = jobs - 1 - match if backwards else match
            deal, seating = place_of(match, seats)
            error = error.at(match=None, deal=deal, seating=seating)
        return error.at(suite="smoke", seed=0, command=self.task.command)

    def _keys(self, game: Game) -> Array:
        return deal_keys(find_suite(self.task.suite), 0, range(self.task.deals[game.name]))

    def _ask(self, agent: Agent, other: Agent, task: str, watch: Watch) -> dict[str, Array]:
        """The decisions of a world, then the rounds to their end; the first action of each, and its scores."""
        game, found = agent.game, {"seconds": np.array(0.0), "decisions": np.array(0)}
        for seats in self.task.tables[game.name]:
            states = self._states(game, seats, task)
            own = Watch(keep=True)
            batch = Batch.of_states(game, game.rules.of({}), seats, states, [agent, other], log=True)
            batch._watch = own
            try:
                batch.run()
            except AgentFailedError as error:
                raise error.at(match=None, command=self.task.command) from error.__cause__
            log = batch.log
            _, first = np.unique(log["match"], return_index=True)
            found[f"log {seats}"] = log[first]
            none = np.zeros(0, np.int32), np.zeros(0)
            answers = [own.answers.get(match, none) for match in range(len(states))]
            found[f"actions {seats}"] = np.concatenate([none[0], *(actions for actions, _ in answers)])
            found[f"scores {seats}"] = np.concatenate([none[1], *(scores for _, scores in answers)])
            found[f"first {seats}"] = np.cumsum([0, *(len(scores) for _, scores in answers)])
            watch.decisions += own.decisions
            watch.changed = watch.changed or own.changed
        return found

    def _states(self, game: Game, seats: int, world: str) -> Array:
        """The states of a world, once they are there: the agent in the seat to move."""
        path = self.folder.parent / "worlds" / f"{game.name} {seats} {world}"
        self.stop_clock()
        while not path.exists():
            if os.getppid() != self._parent:
                sys.exit("the audit is gone")
            time.sleep(0.01)
        self.start_clock()
        states = np.frombuffer(path.read_bytes(), game.core.STATE).copy()
        states["agent"] = 1
        states["agent"][np.arange(len(states)), states["seat"]] = 0
        states["rounds"] = states["round_number"]
        return states


def make_jobs(agent: Agent, other: Agent, seats: int, keys: Array) -> Array:
    """The matches of a run, `(N,) JOB`: every deal in all lineups, so that its matches are in flight together."""
    number = np.arange(len(keys) * len(LINEUPS))[:, None]
    lineup, seat = number % len(LINEUPS), np.arange(seats)
    jobs = np.zeros(len(number), JOB)
    jobs["key"] = np.repeat(keys, len(LINEUPS))
    jobs["rounds"] = ROUNDS
    sits = np.where((lineup == 0) | (seat % 2 == lineup - 1), 0, 1)
    jobs["agent"][:, :seats] = sits
    jobs["naming"][:, :seats] = np.array([agent.opener, other.opener])[sits]
    jobs["stream"][:, :seats] = np.array([agent.stream, other.stream])[sits]
    return jobs


def place_of(match: int, seats: int) -> tuple[int, str]:
    """The deal of a match of a run, and where the agent sits."""
    return match // len(LINEUPS), f"{LINEUPS[match % len(LINEUPS)]} of {seats}"


def warm(game: Game) -> None:
    """Load the kernels of a game, or compile them."""
    batch = Batch(game.name, 1)
    batch.play_scores(np.zeros(len(batch.legal().action)))


def _global_random() -> dict[str, Any]:
    """The state of the generators that everybody shares, by name."""
    numpy_state: Any = np.random.get_state(legacy=False)
    return {"random": random.getstate(), "numpy.random": str(numpy_state["state"]["pos"])}


def _one_line(error: Exception) -> str:
    return "; ".join(line.strip() for line in str(error).splitlines())


def main() -> None:
    """Do the task in the file that the command line names."""
    task = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Task)
    sys.path.extend(path for path in task.path if path not in sys.path)
    worker = Worker(task)
    for game in task.games:
        warm(find_game(game))
    worker.start_clock()
    for game in task.games:
        worker.audit(game)
    worker.stop_clock()
