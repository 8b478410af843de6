"""Batch: thousands of rounds or matches stepped together, the one door between the compiled core and Python agents."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from domsim.agent import Agent, load_agent
from domsim.core import driver
from domsim.core.driver import CONTROL, DECISION, JOB, LOG, LOG_ACTIONS, LOG_PASSES, PASS_ROW, PYTHON
from domsim.core.game import MAX_ACTIONS
from domsim.errors import AgentError, AgentFailedError, DomsimError
from domsim.games import Game, find_game
from domsim.moves import Moves
from domsim.rules import Rules
from domsim.seeds import deal_keys, find_suite
from domsim.tiles import quoted

Array = npt.NDArray[Any]
#: matches in flight when a Python agent plays: enough decisions at once for numpy, few enough for the cache
SLOTS = 2048
_ROWS = 1024
#: bytes that processors fetch together
_LINE = 128


class Batch:
    """Rounds or matches on named deals, stepped together.

    `legal()` gives the decisions that wait for you (`Moves`), `play(choices)` carries out one for each; the seats of
    `agents` that are given play by themselves. B deals make B rounds or matches.
    """

    #: told of every question to a Python agent, `before(moves)`, and of its answer, `after(matches, moves, scores)`
    _watch: Any = None

    def __init__(
        self,
        game: str = "cuban",
        deals: int | Iterable[int] = 1000,
        *,
        rules: Rules | Mapping[str, Any] | None = None,
        seats: int | None = None,
        agents: Sequence[str | None] | None = None,
        matches: bool = False,
        suite: str = "smoke",
        seed: int = 0,
        log: bool = False,
        passes: bool = False,
    ) -> None:
        """Prepare the first round of every deal (or the whole match, with `matches`).

        Args:
            deals: how many, or which deal numbers of the suite.
            agents: for every seat the text that names an agent, or None for a seat that you play.

        Raises:
            DomsimError: something unknown or out of range.
        """
        found = find_game(game)
        own_rules = rules if isinstance(rules, Rules) else found.rules.of(rules or {})
        at_table = found.check_seats(found.seats[0] if seats is None else seats)
        own_rules.check_seats(at_table)
        names = [None] * at_table if agents is None else list(agents)
        if len(names) != at_table:
            raise AgentError(f"agents: found {len(names)}, expected {at_table}, one a seat (None: you)")
        numbers = list(range(deals)) if isinstance(deals, int) else list(deals)
        jobs = np.zeros(len(numbers), JOB)
        jobs["key"] = deal_keys(find_suite(suite), seed, numbers)
        jobs["rounds"] = 0 if matches else 1
        loaded = {name: load_agent(name, found) for name in names if name is not None}
        roster = list(loaded)
        for seat, name in enumerate(names):
            jobs["agent"][:, seat] = len(roster) if name is None else roster.index(name)
            if name is not None:
                jobs["naming"][:, seat] = loaded[name].opener
                jobs["stream"][:, seat] = loaded[name].stream
        self._prepare(found, own_rules, at_table, jobs, list(loaded.values()), SLOTS, logging_of(log, passes))

    @classmethod
    def of_jobs(
        cls,
        game: Game,
        rules: Rules,
        seats: int,
        jobs: Array,
        agents: Sequence[Agent],
        slots: int = SLOTS,
        log: bool = False,
        passes: bool = False,
    ) -> "Batch":
        """A batch of these jobs, `(B,) JOB`; their `agent` counts in `agents`. At most `slots` are in flight."""
        made = cls.__new__(cls)
        made._prepare(game, rules, seats, jobs, agents, slots, logging_of(log, passes))
        return made

    @classmethod
    def of_states(
        cls, game: Game, rules: Rules, seats: int, states: Array, agents: Sequence[Agent], log: bool = False
    ) -> "Batch":
        """A batch of matches in progress, `(B,) STATE` with a seat to move; their `agent` counts in `agents`."""
        made = cls.__new__(cls)
        jobs = np.zeros(len(states), JOB)
        jobs["agent"][:, :seats] = states["agent"][:, :seats]
        made._prepare(game, rules, seats, jobs, agents, len(states), logging_of(log), states)
        return made

    def _prepare(
        self,
        game: Game,
        rules: Rules,
        seats: int,
        jobs: Array,
        agents: Sequence[Agent],
        slots: int,
        logging: int,
        states: Array | None = None,
    ) -> None:
        self.game, self.rules, self.seats = game, rules, seats
        self._agents = list(agents)
        self._jobs = jobs
        yours = jobs["agent"][:, :seats].max(initial=0) >= len(agents)
        python = yours or any(agent.kind == PYTHON for agent in agents)
        together = python or logging & LOG_ACTIONS or states is not None
        self._states = _apart(game.new_states(max(1, min(slots, len(jobs))) if together else 1, rules, seats))
        self._make_buffers(len(jobs), len(game.features), logging)
        self._table = _agent_table(agents, game)
        self._control["need"] = _needs(agents, game, bool(yours))
        self._rounds: list[Array] = []
        self._log: list[Array] = []
        self._passes: list[Array] = []
        self._chosen_by_agents = np.zeros(0, np.bool_)
        if states is not None:
            self._take_over(states)
        self._advance()

    def _make_buffers(self, jobs: int, features: int, logging: int) -> None:
        slots = len(self._states)
        room = 16 * slots + MAX_ACTIONS
        self._work = _apart(np.zeros(1, driver.work_dtype(features)))
        self._round_rows = np.zeros(max(_ROWS, 4 * slots), driver.round_dtype(self.game.most_seats))
        self._match_rows = np.zeros(jobs, driver.match_dtype(self.game.most_seats))
        self._match_rows["match"] = -1
        self._log_rows = np.zeros(2**16 if logging & LOG_ACTIONS else 1, LOG)
        self._pass_rows = np.zeros(2**16 if logging & LOG_PASSES else 1, PASS_ROW)
        self._control = _apart(np.zeros(1, CONTROL))
        self._control["logging"] = logging
        self._decisions = np.zeros(slots, DECISION)
        self._views = np.zeros(slots, self.game.core.VIEW)
        self._actions = np.zeros(room, np.int32)
        self._features = np.zeros((room, features), np.int16)
        self._chosen = np.zeros(slots, np.int64)

    def _take_over(self, states: Array) -> None:
        self._states[: len(states)] = states
        self._states["match"] = np.arange(len(self._states))
        self._states["status"] = driver.PLAYING if len(states) else driver.IDLE
        self._states["chosen"] = -1
        self._control["next_job"] = len(states)

    def _advance(self) -> None:
        """Run the core until somebody outside must choose, or all is over."""
        arguments = driver.as_arguments(
            self._states, self._work, self._jobs, self._round_rows, self._match_rows, self._log_rows, self._pass_rows,
            self._control, self._table, self._decisions, self._views, self._actions, self._features, self._chosen,
        )  # fmt: skip
        while True:
            driver.advance(*arguments)
            c = self._control[0]
            if c["rounds"]:
                self._rounds.append(_copy(self._round_rows[: c["rounds"]]))
                c["rounds"] = 0
            if c["actions"]:
                self._log.append(_copy(self._log_rows[: c["actions"]]))
                c["actions"] = 0
            if c["passes"]:
                self._passes.append(_copy(self._pass_rows[: c["passes"]]))
                c["passes"] = 0
            if c["decisions"] or not c["live"]:
                break
        self._waiting = None if c["decisions"] else np.zeros(0, np.int64)

    def _pending(self) -> npt.NDArray[np.int64]:
        """The waiting decisions that are yours, `(D,)`; those of Python agents have been answered."""
        while self._waiting is None:
            d = int(self._control[0]["decisions"])
            decisions = self._decisions[:d]
            for number, agent in enumerate(self._agents):
                if agent.kind == PYTHON:
                    self._answer(agent, np.flatnonzero(decisions["agent"] == number))
            yours = np.flatnonzero(decisions["agent"] >= len(self._agents))
            if yours.size:
                self._waiting = yours
            else:
                self._advance()
        return self._waiting

    def _moves(self, which: npt.NDArray[np.int64]) -> Moves:
        d, m = int(self._control[0]["decisions"]), int(self._control[0]["moves"])
        decisions = self._decisions[:d]
        if len(which) == d:
            return Moves(self.game, decisions, self._views[:d], self._actions[:m], self._features[:m])
        ends = np.append(decisions["first"], m)
        counts = ends[which + 1] - ends[which]
        part = decisions[which].copy()
        part["first"] = np.cumsum(counts) - counts
        plays = np.repeat(ends[which] - part["first"], counts) + np.arange(counts.sum())
        return Moves(self.game, part, self._views[which], self._actions[plays], self._features[plays])

    def _answer(self, agent: Agent, which: npt.NDArray[np.int64]) -> None:
        if not which.size:
            return
        moves = self._moves(which)
        if self._watch is not None:
            self._watch.before(moves)
        try:
            scores = agent.scores(moves)
        except AgentFailedError as error:
            raise self._failure(error, agent, which) from error.__cause__
        if self._watch is not None:
            self._watch.after(self._states["match"][self._decisions["slot"][which]], moves, scores)
        chosen = np.zeros(len(which), np.int64)
        driver.pick(*driver.as_arguments(moves.first, scores, moves.random, chosen))
        self._chosen[which] = chosen

    def _failure(self, error: AgentFailedError, agent: Agent, which: npt.NDArray[np.int64]) -> AgentFailedError:
        """The error with the decision it belongs to; a vector agent is asked again, one decision at a time."""
        failing = range(len(which)) if error.decision is None else [error.decision]
        for place in failing:
            if error.decision is None:
                try:
                    agent.scores(self._moves(which[place : place + 1]))
                    continue
                except AgentFailedError:
                    pass
            s = self._states[self._decisions["slot"][which[place]]]
            facts = {"round": s["round_number"], "ply": s["ply"], "seat": s["seat"], "match": s["match"]}
            return error.at(game=self.game.name, **{name: int(value) for name, value in facts.items()})
        return error.at(game=self.game.name, note=f"{len(which)} decisions asked at once; alone, each is answered")

    def legal(self) -> Moves:
        """The decisions that wait for you; none when all is over."""
        return self._moves(self._pending())

    @property
    def match_of(self) -> npt.NDArray[np.int64]:
        """Which round or match (place among the deals) each of these decisions belongs to, `(D,)`."""
        slots = self._decisions["slot"][self._pending()]
        numbers: npt.NDArray[np.int64] = self._states["match"][slots]
        return numbers

    def play(self, choices: npt.ArrayLike) -> None:
        """Carry out a choice for every waiting decision, `(D,)` whole numbers: its place among the legal actions.

        Raises:
            DomsimError: the wrong number of choices, or one that is out of range.
        """
        yours = self._pending()
        chosen = np.asarray(choices)
        if chosen.shape != yours.shape or not np.issubdtype(chosen.dtype, np.integer):
            raise DomsimError(f"choices: found {chosen.dtype} {chosen.shape}, expected whole numbers ({len(yours)},)")
        moves = self.legal()
        bad = np.flatnonzero((chosen < 0) | (chosen >= np.diff(moves.first)))
        if bad.size:
            most = int(np.diff(moves.first)[bad[0]]) - 1
            raise DomsimError(f"choices: {quoted(int(chosen[bad[0]]))} for decision {bad[0]}; allowed: 0 to {most}")
        self._chosen[yours] = chosen
        if yours.size:
            self._advance()

    def play_scores(self, scores: npt.ArrayLike) -> None:
        """Carry out the best-scored action of every waiting decision, `scores (M,)`; ties fall to the seat's stream.

        Raises:
            DomsimError: the wrong number of scores, or one that is not finite.
        """
        moves = self.legal()
        chosen = np.zeros(len(moves), np.int64)
        values = np.asarray(scores, np.float64)
        if values.shape != moves.action.shape or not np.isfinite(values).all():
            found = f"{values.shape}" if values.shape != moves.action.shape else "a value that is not finite"
            raise DomsimError(f"scores: found {found}, expected finite numbers {moves.action.shape}")
        driver.pick(*driver.as_arguments(moves.first, values, moves.random, chosen))
        self.play(chosen)

    def run(self) -> "Batch":
        """Let the agents play everything to the end.

        Raises:
            DomsimError: there is a seat that no agent plays.
        """
        if self._pending().size:
            raise DomsimError("run: a seat has no agent; give one for every seat, or use legal() and play()")
        return self

    @property
    def over(self) -> npt.NDArray[np.bool_]:
        """Which are over, `(B,) bool`."""
        self._pending()
        done: npt.NDArray[np.bool_] = self._match_rows["match"] >= 0
        return done

    @property
    def points(self) -> npt.NDArray[np.int32]:
        """Points so far, `(B, S) int32`: deal, seat; partners both have their team's."""
        self._pending()
        points: npt.NDArray[np.int32] = self._match_rows["score"][:, : self.seats].copy()
        live = self._states[self._states["status"] != driver.IDLE]
        points[live["match"]] = live["score"][:, : self.seats]
        return points

    @property
    def rounds(self) -> Array:
        """The rounds that are over, `round_dtype`, in order of deal and round."""
        rows = np.concatenate([np.zeros(0, self._round_rows.dtype), *self._rounds])
        if (np.diff(rows["match"]) >= 0).all():  # one slot, played in order
            return rows
        return rows[np.lexsort((rows["round_number"], rows["match"]))]

    @property
    def matches(self) -> Array:
        """The matches, `(B,)` of `match_dtype`; `match` is -1 where one is not over."""
        return self._match_rows

    @property
    def passes(self) -> Array:
        """Every number missing in a pass, `PASS_ROW`, in order of match, round and ply; kept with `passes=True`."""
        rows = np.concatenate([np.zeros(0, PASS_ROW), *self._passes])
        if len(self._states) == 1:  # played in order
            return rows
        return rows[np.lexsort((rows["number"], rows["ply"], rows["round_number"], rows["match"]))]

    @property
    def log(self) -> Array:
        """Every action so far, `LOG`, in order of match, round and ply; kept with `log=True`."""
        rows = np.concatenate([np.zeros(0, LOG), *self._log])
        return rows[np.lexsort((rows["ply"], rows["round_number"], rows["match"]))]


def _apart(rows: Array) -> Array:
    """A copy on cache lines of its own: threads that write to one line wait for each other at every round."""
    memory = np.zeros(rows.nbytes + 2 * _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    made: Array = memory[start : start + rows.nbytes].view(rows.dtype)
    made[:] = rows
    return made


def _copy(rows: Array) -> Array:
    """A copy of structured rows; numpy's own goes field by field."""
    return rows.view(np.uint8).copy().view(rows.dtype)


def logging_of(log: bool, passes: bool = False) -> int:
    """What the driver is to write, as it wants it."""
    return LOG_ACTIONS * log + LOG_PASSES * passes


def _agent_table(agents: Sequence[Agent], game: Game) -> Array:
    """All agents as the kernels know them; the last row is you."""
    features = len(game.features)
    rows = np.zeros(len(agents) + 1, driver.agent_dtype(features))
    for number, agent in enumerate(agents):
        rows[number] = agent.row
    rows[-1]["kind"] = PYTHON
    return rows


def _needs(agents: Sequence[Agent], game: Game, yours: bool) -> int:
    need = (1 << len(game.features)) - 1 if yours else 0
    for agent in agents:
        if agent.kind == PYTHON:
            need |= agent.need
    return need
