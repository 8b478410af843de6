"""Hints: the legal plays of one decision ranked by an agent, and in plain words what makes the difference."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from domsim.agent import FIXED_POINT, Agent, load_agent
from domsim.core.driver import DECISION, PYTHON, RANDOM, WEIGHTS, as_arguments, pick, work_dtype
from domsim.core.game import PLAY, kind_of
from domsim.core.plain import Plain
from domsim.errors import AgentError, DomsimError, OtherGameError, RecordError
from domsim.games.base import whole_number
from domsim.games.phrases import phrase, words_of
from domsim.moves import Moves
from domsim.record import Record, check_result, open_round, parse_record, play_actions, to_json
from domsim.round import Round, listed_actions
from domsim.search import evaluate_moves
from domsim.stats import Interval, t_quantile
from domsim.tiles import quoted

#: who plays out the rounds when the agent itself runs in Python
PLAYOUT = "expert"
_LEVEL = 0.95


@dataclass(frozen=True)
class Share:
    """What one feature adds to the difference between a play and the next one."""

    feature: str
    share: float
    """Weight times difference; all shares of a play add up to the difference of the scores."""
    text: str


@dataclass(frozen=True)
class Suggestion:
    """One legal play."""

    action: str
    score: float | None
    """The agent's; None where it only chooses."""
    shares: tuple[Share, ...]
    """Against the next play of the ranking, largest first; empty for the last one, and without weights."""
    expected: Interval | None
    """What the round is worth to the seat, in points, as playouts find it; None where none were asked for."""


@dataclass(frozen=True)
class Hint:
    """The legal plays of one decision, best first."""

    game: str
    seat: int
    agent: str
    forced: bool
    """Whether there is nothing to decide."""
    plays: tuple[Suggestion, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "game": self.game,
            "seat": self.seat,
            "agent": self.agent,
            "forced": self.forced,
            "plays": [_play_dict(place, play) for place, play in enumerate(self.plays, 1)],
        }

    def __str__(self) -> str:
        forced = ", forced" if self.forced else ""
        lines = [f"{self.game}, seat {self.seat}, hints of {self.agent}{forced}"]
        for place, play in enumerate(self.plays, 1):
            lines += _play_lines(place, play)
        return "\n".join(lines)


def hint(a_round: Round, agent: str | Agent = "expert", top: int | None = None, playouts: int = 0) -> Hint:
    """The legal plays of the seat to move, ranked by an agent, with what makes the difference.

    Args:
        agent: the text that names it, or one that is loaded.
        top: how many plays to keep; None keeps all.
        playouts: ways of giving out the hidden tiles on which every play is played to the end of the round; 0: none.

    Raises:
        RecordError: the round is over.
        AgentError: there is no such agent, it failed, or it plays at random.
        DomsimError: `top` or `playouts` out of range, or the hidden tiles cannot be given out.
    """
    _check(top, playouts)
    loaded = _adviser(load_agent(agent, a_round.game) if isinstance(agent, str) else agent)
    moves = moves_of(a_round)
    scores = scores_of(loaded, moves)
    order = np.argsort(-scores, kind="stable")
    intervals = _expected(moves, loaded, playouts) if playouts else None
    plays = tuple(
        Suggestion(
            moves.text(play),
            None if loaded.kind_name == "scalar" else float(scores[play]),
            shares_between(loaded, moves, int(play), int(order[place + 1])) if place + 1 < len(order) else (),
            intervals[play] if intervals else None,
        )
        for place, play in enumerate(order[:top])
    )
    return Hint(a_round.game.name, int(moves["seat"][0]), loaded.spec, len(order) == 1, plays)


def _check(top: int | None, playouts: int) -> None:
    if top is not None and top < 1:
        raise DomsimError(f"top: {top} is not allowed; allowed: 1 and more")
    if playouts < 0 or playouts == 1:
        raise DomsimError(f"playouts: {playouts} is not allowed; allowed: 0, and 2 and more (one has no interval)")


def _adviser(agent: Agent) -> Agent:
    if agent.kind == RANDOM:
        raise AgentError(f"agent {agent.spec} plays at random: it has no reasons, so it gives no hints")
    return agent


def moves_of(a_round: Round, random: int = 0) -> Moves:
    """The decision a round stands before, as an agent is shown it: nothing in it is hidden from the seat to move.

    Args:
        random: the decision's random word.

    Raises:
        RecordError: the round is over.
    """
    if a_round.over:
        raise RecordError("the round is over: there is nothing to decide")
    game, core = a_round.game, a_round.game.core
    work: Any = Plain(np.zeros(1, work_dtype(len(game.features))))[0]
    actions = listed_actions(work, core.legal(a_round.state, work))
    view = np.zeros(1, core.VIEW)
    core.observe(a_round.state, Plain(view)[0])
    decisions = np.zeros(1, DECISION)
    decisions["stage"], decisions["word"] = core.stage(a_round.state), random
    table = np.zeros((len(actions), len(game.features)), np.int16)
    for place, action in enumerate(actions):
        if len(actions) > 1 or kind_of(action) == PLAY:
            core.features(a_round.state, action, work, (1 << len(game.features)) - 1)
            table[place] = [work.feature[f] for f in range(len(game.features))]
    return Moves(game, decisions, view, np.array(actions, np.int32), table)


def scores_of(agent: Agent, moves: Moves) -> npt.NDArray[np.float64]:
    """What an agent of any kind thinks of every legal action, `(M,) float64`: the highest is chosen.

    Raises:
        AgentFailedError: a Python agent failed.
    """
    if agent.kind == PYTHON:
        return agent.scores(moves)
    return fixed_scores(agent, moves) / FIXED_POINT


def fixed_scores(agent: Agent, moves: Moves) -> npt.NDArray[np.int64]:
    """The scores of a weights file in whole 1/1024, `(M,) int64`; zeros for `random`."""
    weights = agent.weights[moves.stage[moves.decision]]
    scores: npt.NDArray[np.int64] = (weights * moves.features).sum(axis=1)
    return scores


def choices_of(agent: Agent, moves: Moves) -> npt.NDArray[np.int64]:
    """The place of the action an agent chooses among those of each decision, `(D,)`; ties fall to the random word."""
    chosen = np.zeros(len(moves), np.int64)
    pick(*as_arguments(moves.first, scores_of(agent, moves), moves.random, chosen))
    return chosen


def shares_between(agent: Agent, moves: Moves, play: int, other: int) -> tuple[Share, ...]:
    """What every feature adds to the difference of two plays of a decision, largest first; none without weights."""
    if agent.kind != WEIGHTS:
        return ()
    weights = agent.weights[moves.stage[moves.decision[play]]]
    difference = moves.features[play].astype(np.int64) - moves.features[other]
    shares = weights * difference
    order = [int(f) for f in np.argsort(-np.abs(shares), kind="stable") if shares[f]]
    return tuple(
        Share(moves.names[f], float(shares[f]) / FIXED_POINT, _comparison(moves, moves.names[f], play, other))
        for f in order
    )


def _comparison(moves: Moves, feature: str, play: int, other: int) -> str:
    """A feature of a play in words, set against the same of another play."""
    own, next_one = int(moves[feature][play]), int(moves[feature][other])
    if own == 0:
        return f"unlike {moves.text(other)}: {phrase(moves, other, feature, next_one)}"
    text = phrase(moves, play, feature, own - next_one)
    return f"{text} ({moves.text(other)}: {next_one})" if next_one else text


def _expected(moves: Moves, agent: Agent, ways: int) -> list[Interval]:
    """What playouts find of every action, in points. All are played on the same hands: differences are surer."""
    playout = load_agent(PLAYOUT, moves.game) if agent.kind == PYTHON else agent
    found, point = evaluate_moves(moves, playout, ways), words_of(moves.game).point
    t = t_quantile((1 + _LEVEL) / 2, ways - 1)
    return [
        Interval(mean / point, (mean - t * error) / point, (mean + t * error) / point, ways, _LEVEL)
        for mean, error in zip(found.mean.tolist(), found.error.tolist(), strict=True)
    ]


def _play_dict(place: int, play: Suggestion) -> dict[str, Any]:
    made: dict[str, Any] = {"rank": place, "action": play.action, "score": play.score}
    made["shares"] = [{"feature": one.feature, "share": one.share, "text": one.text} for one in play.shares]
    if play.expected is not None:
        made["expected"] = {"points": play.expected.estimate, "low": play.expected.low, "high": play.expected.high}
    return made


def _play_lines(place: int, play: Suggestion) -> list[str]:
    first = f"{place:>3}. {play.action}"
    if play.score is not None:
        first = f"{first:<18} {play.score:8.1f}"
    if play.expected is not None:
        half = (play.expected.high - play.expected.low) / 2
        first += f"   {play.expected.estimate:+.1f} ±{half:.1f} points"
    return [first, *(f"     {one.share:+8.1f}  {one.text}" for one in play.shares)]


# --- records ---------------------------------------------------------------------------------------------------------


def hint_lines(
    lines: Iterable[bytes], agent: str = "expert", top: int | None = None, playouts: int = 0
) -> Iterator[tuple[int, Hint | DomsimError]]:
    """For every line of a file of records that is not blank: its number, and a hint or what is wrong with it.

    Raises:
        AgentError: there is no such agent, or it plays at random.
        DomsimError: `top` or `playouts` out of range.
    """
    _check(top, playouts)
    agents: dict[str, Agent] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            a_round = round_of(parse_record(line))
        except DomsimError as error:
            yield number, error
            continue
        yield number, _hint_or_error(a_round, agent, agents, top, playouts)


def _hint_or_error(
    a_round: Round, agent: str, agents: dict[str, Agent], top: int | None, playouts: int
) -> Hint | DomsimError:
    name = a_round.game.name
    try:
        if name not in agents:
            agents[name] = _adviser(load_agent(agent, a_round.game))
    except OtherGameError as error:
        return error
    try:
        return hint(a_round, agents[name], top, playouts)
    except DomsimError as error:
        return error


def round_of(record: Record) -> Round:
    """The round of a record after its last action, with the scores that its `match` tells.

    Raises:
        DomsimError: the record breaks the rules.
    """
    a_round = open_round(record)
    if record.match is not None and "scores" in record.match:
        _take_scores(a_round, record.match["scores"])
    play_actions(a_round, record.actions)
    if record.result is not None:
        check_result(a_round, record.result)
    return a_round


def _take_scores(a_round: Round, scores: object) -> None:
    expected = len(a_round.scores)
    if not isinstance(scores, Sequence) or isinstance(scores, str) or len(scores) != expected:
        raise RecordError(f"match.scores: found {quoted(scores)}, expected {expected} whole numbers")
    checked = [whole_number(score, "match.scores", 0, 10**6) for score in scores]
    for seat in range(a_round.seats):
        a_round.state.score[seat] = checked[seat % expected]


def hint_text(number: int, found: Hint | DomsimError, as_json: bool = False) -> str:
    """What `domsim hint` prints for a line of a file: a block of text, or one line of JSON."""
    if isinstance(found, Hint):
        return to_json({"line": number, "ok": True, **found.to_dict()}) if as_json else f"line {number}: {found}"
    if as_json:
        return to_json({"line": number, "ok": False, "error": str(found)})
    return f"line {number}: error: {' '.join(str(found).split())}"
