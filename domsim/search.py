"""Search: legal actions judged by playing them out on many ways of giving out the hidden tiles."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from domsim.agent import Agent
from domsim.core import driver
from domsim.core.driver import CONTROL, agent_dtype, as_arguments, work_dtype
from domsim.core.search import HIDDEN, evaluate
from domsim.errors import DomsimError
from domsim.moves import Moves
from domsim.tiles import tile_count


@dataclass(frozen=True)
class Evaluation:
    """What playouts say of the legal actions of some decisions, in the game's worth (points, mostly)."""

    mean: npt.NDArray[np.float64]  # (M,)
    error: npt.NDArray[np.float64]  # (M,) standard error of the mean
    ways: int


def evaluate_moves(moves: Moves, playout: Agent, ways: int) -> Evaluation:
    """Play out every legal action on `ways` ways of giving out the hidden tiles; the same for the same decision.

    Args:
        playout: a compiled agent, who plays all seats to the end of the round.

    Raises:
        DomsimError: `playout` runs in Python, or the tiles cannot be given out as everybody has shown.
    """
    if playout.kind == driver.PYTHON:
        raise DomsimError(f"agent {playout.spec} runs in Python; playouts want a weights file or random")
    game = moves.game
    total, squares = np.zeros(len(moves.action)), np.zeros(len(moves.action))
    if not len(moves):
        return Evaluation(total, squares, ways)
    states = np.zeros(3, game.core.STATE)
    _copy_options(states, moves)
    agents = np.zeros(1, agent_dtype(len(game.features)))
    agents[0] = playout.row
    top = int(np.flatnonzero((moves.view["unseen"] | moves.view["hand"]).any(axis=0)).max())
    buffers = as_arguments(
        moves.view, moves.first, moves.action, moves.random, states, np.zeros(1, HIDDEN),
        np.zeros(1, work_dtype(len(game.features))), np.zeros(1, CONTROL), agents,
    )  # fmt: skip
    given: Any = (*buffers, tile_count(top), np.full(len(moves), ways), total, squares)
    failed = evaluate(*given)
    if failed >= 0:
        raise DomsimError(f"decision {failed}: no way to give out the hidden tiles agrees with what everybody showed")
    mean = total / ways
    spread = np.maximum(squares / ways - mean**2, 0) / max(ways - 1, 1)
    return Evaluation(mean, np.sqrt(spread), ways)


def _copy_options(states: npt.NDArray[np.void], moves: Moves) -> None:
    """Rules and seats are the same in all decisions of a batch."""
    for name in ("seats", *moves.game.core.OPTIONS):
        states[name] = moves.view[name][0]
