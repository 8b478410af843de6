"""How fast a game is played here. Figures are for ratios within one run, never for comparing machines."""

import dataclasses
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from domsim.agent import Agent, load_agent
from domsim.batch import SLOTS, Batch
from domsim.core.driver import JOB, PYTHON
from domsim.games import Game, find_game
from domsim.rules import Rules
from domsim.seeds import deal_keys, find_suite

_ROUNDS = 60_000
_REPETITIONS = 7
#: parts that threads take as they are free, as in a tournament: one is often slower than the other
_CHUNKS = 8


class WeightsAsVector:
    """The weights of an agent, applied with numpy: what a vector agent of the same strength costs."""

    def __init__(self, agent: Agent) -> None:
        used = int(np.flatnonzero(agent.weights[0]).max(initial=0)) + 1
        self._weights = agent.weights[0, :used].astype(np.float64)
        self.features = agent.game.features[:used]

    def score(self, moves: Any) -> npt.NDArray[np.float64]:
        """Sums of weighted features, `(M,)`."""
        return moves.features[:, : len(self._weights)].astype(np.float64) @ self._weights  # type: ignore[no-any-return]


def bench_game(name: str, seats: int | None = None) -> list[dict[str, Any]]:
    """Single rounds a second by kind of agent, and on two threads.

    Raises:
        RulesError: an unknown game, or seats it is not played with.
    """
    game = find_game(name)
    at_table = game.check_seats(game.seats[0] if seats is None else seats)
    rules = game.rules.of({})
    weights = load_agent("careful", game)
    vector = dataclasses.replace(weights, kind=PYTHON, bot=WeightsAsVector(weights))
    random = load_agent("random", game)
    single = _jobs(game, at_table, _ROUNDS, 1)
    whole = _jobs(game, at_table, _ROUNDS // 13, 0)
    return [
        _row("random", game, rules, at_table, random, single, 1),
        _row("weights", game, rules, at_table, weights, single, 1),
        _row("vector", game, rules, at_table, vector, single, 1),
        _row("random", game, rules, at_table, random, single, 2),
        _row("weights", game, rules, at_table, weights, single, 2),
        _row("weights, whole matches", game, rules, at_table, weights, whole, 1),
    ]


def _jobs(game: Game, seats: int, number: int, rounds: int) -> Any:
    jobs = np.zeros(number, JOB)
    jobs["key"] = deal_keys(find_suite("smoke"), 0, range(number))
    jobs["rounds"] = rounds
    return jobs


def _row(name: str, game: Game, rules: Rules, seats: int, agent: Agent, jobs: Any, threads: int) -> dict[str, Any]:
    """One line of the table: the best CPU time of several runs on one thread, the median wall time on more."""

    def play(part: Any) -> Any:
        return Batch.of_jobs(game, rules, seats, part, [agent], SLOTS).run()

    rounds = play(jobs).rounds  # the first run compiles, and counts
    parts = np.array_split(jobs, _CHUNKS)
    if threads == 1:
        seconds = min(_seconds(lambda: play(jobs), time.process_time) for _ in range(_REPETITIONS))
    else:
        with ThreadPoolExecutor(threads) as pool:
            times = [_seconds(lambda: list(pool.map(play, parts)), time.perf_counter) for _ in range(5)]
        seconds = statistics.median(times)
    return {
        "name": name,
        "threads": threads,
        "matches_per_s": len(jobs) / seconds,
        "rounds_per_s": len(rounds) / seconds,
        "plies_per_s": float(rounds["plies"].sum()) / seconds,
        "decisions_per_s": float(rounds["decisions"].sum()) / seconds,
    }


def _seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    work()
    return clock() - start
