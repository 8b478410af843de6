"""Search: legal actions judged by playing them out on many ways of giving out the hidden tiles."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from domsim.agent import FIXED_POINT, Agent
from domsim.core import driver
from domsim.core.driver import CONTROL, agent_dtype, as_arguments, work_dtype
from domsim.core.search import HIDDEN, evaluate
from domsim.errors import DomsimError
from domsim.moves import Moves
from domsim.tiles import tile_count

Floats = npt.NDArray[np.float64]
#: parts the playouts are made in when they may stop early
PARTS = 5
#: an odd number near 2³²/φ: it spreads the random words of one decision's parts
_STRIDE = 0x9E3779B1


@dataclass(frozen=True)
class Evaluation:
    """What playouts say of the legal actions of some decisions, in the game's worth (points, mostly)."""

    mean: Floats  # (M,)
    error: Floats  # (M,) standard error of the mean
    ways: npt.NDArray[np.int64]  # (D,) how many ways each decision was played out on


def evaluate_moves(
    moves: Moves, playout: Agent, ways: int, *, prior: Floats | None = None, stop: float = 0.0
) -> Evaluation:
    """Play out every legal action on `ways` ways of giving out the hidden tiles; the same for the same decision.

    Args:
        playout: a compiled agent, who plays all seats to the end of the round.
        prior: `(M,)`, what is added to the means when it is asked which action is ahead, in the game's worth.
        stop: a decision is played out no further, after a fifth of the ways or more, once its best action is ahead of
            every other by this many standard errors of the difference; 0: never.

    Raises:
        DomsimError: `playout` runs in Python, `ways` is no positive number, or the tiles cannot be given out as
            everybody has shown.
    """
    if playout.kind == driver.PYTHON:
        raise DomsimError(f"agent {playout.spec} runs in Python; playouts want a weights file or random")
    if not isinstance(ways, int) or ways < 1:
        raise DomsimError(f"ways: {ways!r} is not allowed; allowed: whole numbers from 1")
    decision = moves.decision
    total, squares = np.zeros(len(moves.action)), np.zeros(len(moves.action))
    played = np.zeros(len(moves), np.int64)
    going = np.ones(len(moves), bool)
    known = np.zeros(len(moves.action)) if prior is None else prior
    parts = min(PARTS, ways) if stop > 0 else 1
    for part in range(parts):
        if not going.any():
            break
        number = ways // parts + (part < ways % parts)
        chosen = going[decision]
        total[chosen], squares[chosen] = np.stack([total, squares])[:, chosen] + _play_out(
            moves, going, playout, number, part
        )
        played[going] += number
        if part < parts - 1:
            mean, error = _mean_and_error(total, squares, played[decision])
            going &= ~_clear(mean + known, error, moves.first, stop)
    return Evaluation(*_mean_and_error(total, squares, played[decision]), played)


def weighted(moves: Moves, agent: Agent) -> Floats:
    """What a weights agent thinks of every legal action, `(M,)`: its weights times the features; random thinks 0."""
    weights = agent.weights[moves.stage[moves.decision]]
    found: Floats = (moves.features * weights).sum(axis=1) / FIXED_POINT
    return found


def _play_out(moves: Moves, going: npt.NDArray[np.bool_], playout: Agent, ways: int, part: int) -> Floats:
    """Sums of the worth and of its square, `(2, m)`, for the actions of the decisions that go on."""
    game = moves.game
    action = moves.action[going[moves.decision]]
    first = np.append(0, np.cumsum(np.diff(moves.first)[going]))
    random = moves.random[going] + np.uint32(part * _STRIDE & 0xFFFFFFFF)
    states = np.zeros(3, game.core.STATE)
    _copy_options(states, moves)
    agents = np.zeros(1, agent_dtype(len(game.features)))
    agents[0] = playout.row
    top = int(np.flatnonzero((moves.view["unseen"] | moves.view["hand"]).any(axis=0)).max())
    buffers = as_arguments(
        moves.view[going], first, action, random, states, np.zeros(1, HIDDEN),
        np.zeros(1, work_dtype(len(game.features))), np.zeros(1, CONTROL), agents,
    )  # fmt: skip
    sums = np.zeros((2, len(action)))
    given: Any = (*buffers, tile_count(top), np.full(len(first) - 1, ways), sums[0], sums[1])
    failed = evaluate(*given)
    if failed >= 0:
        place = int(np.flatnonzero(going)[failed])
        raise DomsimError(f"decision {place}: no way to give out the hidden tiles agrees with what everybody showed")
    return sums


def _mean_and_error(total: Floats, squares: Floats, ways: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
    mean = total / ways
    return mean, np.sqrt(np.maximum(squares / ways - mean**2, 0) / np.maximum(ways - 1, 1))


def _clear(score: Floats, error: Floats, first: npt.NDArray[np.int64], stop: float) -> npt.NDArray[np.bool_]:
    """Whether a decision's best action is ahead of all others by `stop` standard errors, as if they were independent.

    They are tried on the same hands, which makes their differences more certain than that: it errs on the safe side.
    """
    clear = np.zeros(len(first) - 1, bool)
    for d, (begin, end) in enumerate(itertools.pairwise(first.tolist())):
        own, errors = score[begin:end], error[begin:end]
        best = int(own.argmax())
        lead = own[best] - own - stop * np.hypot(errors[best], errors)
        lead[best] = 0.0
        clear[d] = bool((lead >= 0).all())
    return clear


def _copy_options(states: npt.NDArray[np.void], moves: Moves) -> None:
    """Rules and seats are the same in all decisions of a batch."""
    for name in ("seats", *moves.game.core.OPTIONS):
        states[name] = moves.view[name][0]
