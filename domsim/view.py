"""One decision in plain Python values: what an agent with `choose(view)` is given."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from domsim.core.rng import word
from domsim.games import Game
from domsim.games.base import tiles_of
from domsim.moves import Moves
from domsim.rules import nearest
from domsim.tiles import tile_text

# Fields of a game's `VIEW` that are no plain numbers, whatever the game.
_TILES = ("hand", "unseen")  # rows of bits
_NUMBERS = ("shown", "no_double")  # by seat, numbers as bits
_LINES = ("queue",)  # lines in order; nothing from the first -1 on


class View:
    """One decision, in plain values that cannot be changed.

    | attribute | type | what |
    |---|---|---|
    | `seat`, `seats` | int | the seat that decides, and how many there are |
    | `hand` | tuple of texts | the tiles in the hand: `("4-0", "9-4")` |
    | `legal` | tuple of texts | the legal actions, `"9-4>L"`; one of them is the answer |
    | `features` | by action, by name | `view.features["9-4>L"]["pips"]` |
    | `unseen` | tuple of texts | the tiles neither laid nor in the hand |
    | `shown` | tuple of sets, by seat | the numbers a seat has shown not to hold |
    | `lines` | tuple of texts | the lines as actions name them, in the order of `end` |
    | `stage` | int | 0 early, 1 middle, 2 late in the round |
    | `random()` | float | from 0 to 1, from a stream of this decision's own: the only source of chance to use |

    All other fields of the game's `VIEW` are attributes too: `count`, `score`, `end`, `opener` …, numbers as they are,
    arrays as tuples by seat or by line, rule options as `domsim rules GAME` lists them. `dir(view)` has their names.
    """

    __slots__ = ("_drawn", "_features", "_game", "_row", "_table", "_word", "legal", "stage")

    legal: tuple[str, ...]
    stage: int
    _game: Game
    _row: Any  # record of the game's VIEW
    _table: Any  # (legal, F) int16
    _word: int
    _drawn: int
    _features: Mapping[str, Mapping[str, int]] | None

    def __init__(self, moves: Moves, decision: int) -> None:
        """Copy one decision out of a batch of them."""
        first, end = int(moves.first[decision]), int(moves.first[decision + 1])
        put = object.__setattr__
        put(self, "legal", tuple(_text(moves.game, action) for action in moves.action[first:end].tolist()))
        put(self, "stage", int(moves.stage[decision]))
        put(self, "_game", moves.game)
        row = moves.view[decision : decision + 1].tobytes()  # ten times faster than copying field by field
        put(self, "_row", np.frombuffer(row, moves.view.dtype)[0])
        put(self, "_table", moves.features[first:end].copy())
        put(self, "_word", int(moves.random[decision]))
        put(self, "_drawn", 0)
        put(self, "_features", None)

    @property
    def features(self) -> Mapping[str, Mapping[str, int]]:
        """The features of every legal action."""
        if self._features is None:
            rows = [MappingProxyType(dict(zip(self._game.features, row, strict=True))) for row in self._table.tolist()]
            object.__setattr__(self, "_features", MappingProxyType(dict(zip(self.legal, rows, strict=True))))
        assert self._features is not None
        return self._features

    @property
    def unseen(self) -> tuple[str, ...]:
        """The tiles neither laid nor in the hand."""
        return _tiles(self._row["unseen"] & ~self._row["hand"])

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines as actions name them, in the order of `end`."""
        return tuple(self._game.line_text(line) for line in _places(self._game, int(self.seats), len(self._row["end"])))

    def random(self) -> float:
        """A number from 0 to 1 (never 1), another one at every call; the same ones for the same decision."""
        object.__setattr__(self, "_drawn", self._drawn + 1)
        if self._drawn == 1:  # what decides between equal scores of other agents
            return self._word / 2**32
        return (word(self._word, self._drawn) >> 11) / 2**53

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        names = self._row.dtype.names[:-1]  # the last one is no field but a mark of the sources
        if name not in names:
            known = dir(self)
            raise AttributeError(f"a view of {self._game.name} has no {name!r}{nearest(name, known)}")
        return self._plain(name, self._row[name])

    def _plain(self, name: str, value: Any) -> Any:
        """A field as plain values."""
        if name in _TILES:
            return _tiles(value)
        numbers = value.tolist()
        if isinstance(numbers, int):
            return _options(self._game)[name][numbers] if name in _options(self._game) else numbers
        if name in _LINES:
            there = numbers[: numbers.index(-1)] if -1 in numbers else numbers
            return tuple(self._game.line_text(line) for line in there)
        kept = [numbers[place] for place in _places(self._game, int(self._row["seats"]), len(numbers))]
        if name in _NUMBERS:
            return tuple(frozenset(pip for pip in range(16) if bits >> pip & 1) for bits in kept)
        return tuple(kept)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a view is read-only; {name!r} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a view is read-only; {name!r} cannot be deleted")

    def __dir__(self) -> list[str]:
        own = ["features", "hand", "legal", "lines", "random", "stage", "unseen"]
        return sorted({*own, *self._row.dtype.names[:-1]})

    def __repr__(self) -> str:
        return f"<{self._game.name}, seat {self.seat}: hand {' '.join(self.hand)}; legal {' '.join(self.legal)}>"


@cache
def _text(game: Game, action: int) -> str:
    return game.action_text(action)


@cache
def _options(game: Game) -> dict[str, tuple[int | str, ...]]:
    """The rule options that are words, with the words by number."""
    return {o.name: o.values for o in game.rules.options() if o.values and isinstance(o.values[0], str)}


def _tiles(rows: Any) -> tuple[str, ...]:
    return tuple(tile_text(tile) for tile in tiles_of(rows))


def _places(game: Game, seats: int, size: int) -> list[int]:
    """The places of an array by seat or by line that this number of seats uses."""
    if size < game.most_seats:
        return list(range(size))
    return [*range(seats), *range(game.most_seats, size)]
