"""What an agent sees: a batch of decisions, every legal action of each, and nothing hidden."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from domsim.core.game import PLAY
from domsim.games import Game
from domsim.tiles import HIGH, LOW, tile_text

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[Any]
_COLUMNS = ("action", "decision", "first", "line", "new", "random", "stage", "tile")


def _frozen(values: Array) -> Array:
    """A copy that cannot be written to."""
    copy = values.copy()
    copy.setflags(write=False)
    return copy


class Moves:
    """Decisions of any number of rounds, in flat columns.

    | attribute | shape | what |
    |---|---|---|
    | `view` | `(D,)` | what the seat may see, the game's `VIEW`: own hand, table, counts, what others showed |
    | `first` | `(D + 1,) int64` | where the actions of a decision begin |
    | `decision` | `(M,) int64` | which decision an action belongs to |
    | `action` | `(M,) int32` | the core's number of the action |
    | `tile`, `line`, `new` | `(M,)` | tile number, line, the number that shows afterwards; -1 where no tile is laid |
    | `features` | `(M, F) int16` | every named feature, in the order of `names` |
    | `stage` | `(D,) int8` | 0 early, 1 middle, 2 late in the round |
    | `random` | `(D,) uint32` | a random word of the seat's own for this decision: the only source of chance to use |

    `moves["pips"]` is a column by name: a feature or a column of actions `(M,)`, or a field of `view` `(D, ...)`.
    A view's `unseen` are the tiles not laid yet, the own hand among them; features called `unseen_…` leave it out.
    Everything is a copy and cannot be written to; forced actions are never here.
    """

    def __init__(self, game: Game, decisions: Array, view: Array, action: Array, features: Array) -> None:
        """Copy a part of the driver's buffers: `decisions (D,) DECISION`, and the rest as the attributes say."""
        self.game = game
        self.names = game.features
        self.view = np.frombuffer(view.tobytes(), view.dtype)  # five times faster than copying field by field
        self.action = _frozen(action)
        self.features = _frozen(features)
        self.first = _frozen(np.append(decisions["first"], len(action)))
        self.stage = _frozen(decisions["stage"])
        self.random = _frozen(decisions["word"])

    @cached_property
    def decision(self) -> Array:
        """Which decision an action belongs to."""
        return _frozen(np.repeat(np.arange(len(self)), np.diff(self.first)))

    @cached_property
    def tile(self) -> Array:
        """The tile laid."""
        a, b = self.action >> 4 & 15, self.action & 15
        high, low = np.maximum(a, b), np.minimum(a, b)
        return _frozen(np.where(self._lays, high * (high + 1) // 2 + low, -1).astype(np.int8))

    @cached_property
    def line(self) -> Array:
        """The line it is laid on."""
        return _frozen(np.where(self._lays, self.action >> 8 & 15, -1).astype(np.int8))

    @cached_property
    def new(self) -> Array:
        """The number that shows afterwards."""
        return _frozen(np.where(self._lays, self.action & 15, -1).astype(np.int8))

    @property
    def _lays(self) -> Array:
        lays: Array = self.action >> 12 == PLAY
        return lays

    def __len__(self) -> int:
        """Number of decisions."""
        return len(self.view)

    def __getitem__(self, name: str) -> Array:
        """A column by its name; see the class.

        Raises:
            KeyError: no column has this name.
        """
        if name in self.names:
            return self.features[:, self.names.index(name)]
        if name in _COLUMNS:
            column: Array = getattr(self, name)
            return column
        if name in (self.view.dtype.names or ()):
            return self.view[name]
        raise KeyError(f"{name!r}; known: {', '.join([*self.names, *(self.view.dtype.names or ())])}")

    def text(self, play: int) -> str:
        """An action as records write it."""
        return self.game.action_text(int(self.action[play]))

    def frame(self) -> "pd.DataFrame":
        """One row a legal action: its decision, seat, text and all features."""
        import pandas as pd  # here: workers that never ask for a frame start half a second sooner

        columns: dict[str, Any] = {
            "decision": self.decision,
            "seat": self.view["seat"][self.decision],
            "action": [self.text(play) for play in range(len(self.action))],
        }
        columns |= {name: self.features[:, f] for f, name in enumerate(self.names)}
        return pd.DataFrame(columns)


def hand_text(rows: Array) -> list[str]:
    """The tiles of a hand, `(16,)` rows of bits, as text."""
    tiles = range(len(HIGH))
    return [tile_text(tile) for tile in tiles if int(rows[HIGH[tile]]) >> int(LOW[tile]) & 1]
