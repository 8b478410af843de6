"""What the rest of domsim asks of a game, beside its compiled rules: texts, records, matches, summaries."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from domsim.core import game as core_game
from domsim.core import table
from domsim.core.compiled import State
from domsim.core.game import DRAW, PASS, START, STOP
from domsim.errors import RecordError, RulesError
from domsim.rules import Rules
from domsim.tiles import parse_tile, quoted, tile_number, tile_text

_WORDS = {PASS: "pass", DRAW: "draw", STOP: "stop"}


class Game(ABC):
    """One game: its core module and everything about it that is text."""

    name: ClassVar[str]
    title: ClassVar[str]
    core: ClassVar[ModuleType]
    rules: ClassVar[type[Rules]]
    #: the numbers of seats the game can be played with; the first one is the default
    seats: ClassVar[tuple[int, ...]]
    #: seats a side has when every seat plays for itself 1, in partnership 2
    partners: ClassVar[bool] = False
    #: True when few points are good (penalties)
    low_wins: ClassVar[bool] = False
    #: what a summary shows, names of `summary.MEASURES`
    measures: ClassVar[tuple[str, ...]] = ("win_share", "points_match", "points_round", "block_rate", "passes_round")
    #: names of a match's end, by the core's number; the first means none
    titles: ClassVar[tuple[str, ...]] = ("",)

    @abstractmethod
    def top(self, rules: Rules) -> int:
        """The highest number of the set played with."""

    @abstractmethod
    def line_text(self, line: int) -> str:
        """How an action's text names a line."""

    @abstractmethod
    def set_opening(self, s: State, opening: dict[str, Any]) -> None:
        """Take over the `opening` of a record; the hands are in the state.

        Raises:
            RecordError: an unknown or missing field, a value out of range, nobody who can open.
        """

    @abstractmethod
    def opening(self, s: State) -> dict[str, Any]:
        """The `opening` of the record of the round that has just been dealt."""

    def winner(self, s: State) -> int | None:
        """The `winner` of a record's result."""
        return None if s.winner < 0 else int(s.winner)

    def sides(self, values: Sequence[int]) -> list[int]:
        """Values by seat as a record has them: by seat, or by team."""
        return list(values[:2] if self.partners else values)

    def set_stock(self, s: State, tiles: list[int]) -> None:  # noqa: B027
        """Take over the `stock` of a record; most games never draw from it."""

    def dealt_hand(self, s: State, seat: int) -> list[int]:
        """The tiles dealt to a seat in this round, ascending; a game may draw more before the first action."""
        return self.hand(s, seat)

    def stock(self, s: State, tiles: list[int]) -> list[int]:
        """The stock of the round just dealt, given the tiles dealt to nobody in ascending order."""
        return tiles

    def match_notes(self, s: State) -> dict[str, Any]:
        """What a record's `match` says of the deal just made, beside round and scores."""
        return {}

    def check_match(self, s: State, match: dict[str, Any], opening: dict[str, Any]) -> None:
        """Check a round's `match` and `opening` against the match so far, and take over what they add.

        Raises:
            RecordError: they do not follow; the text has the field, the value found and the value expected.
        """
        expected = self.next_opening(s)
        if opening != expected:
            raise RecordError(f"opening: found {quoted(opening)}, expected {expected}")

    def next_opening(self, s: State) -> dict[str, Any]:
        """The only `opening` a record can have here."""
        raise NotImplementedError

    #: fields of a record's `match` that only this game has
    match_fields: ClassVar[tuple[str, ...]] = ()

    def board(self, s: State) -> list[str]:
        """The table as lines of text: what lies where, and whatever else everybody sees."""
        return []

    # What follows is the same in all games.

    def check_seats(self, seats: object) -> int:
        """The number of seats, when the game can be played with it.

        Raises:
            RulesError: it cannot.
        """
        if isinstance(seats, int) and not isinstance(seats, bool) and seats in self.seats:
            return seats
        allowed = ", ".join(map(str, sorted(self.seats)))
        raise RulesError(f"seats: {self.name} is not played with {quoted(seats)}; allowed: {allowed}")

    def new_states(self, number: int, rules: Rules, seats: int) -> Any:
        """States with rules and seats set, `(number,) STATE`."""
        states = np.zeros(number, self.core.STATE)
        states["seats"] = seats
        for option, code in rules.codes().items():
            states[option] = code
        return states

    @property
    def most_seats(self) -> int:
        """The width of the core's arrays by seat."""
        return int(self.core.SEATS)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features of a legal play."""
        names: tuple[str, ...] = self.core.FEATURES
        return names

    def hand(self, s: State, seat: int) -> list[int]:
        """The tiles a seat holds, ascending."""
        return sorted(tiles_of(s.hand[seat]))

    def result(self, s: State) -> dict[str, Any]:
        """The `result` of a record, of a round that is over and scored."""
        return {
            "ended": "blocked" if s.blocked else "out",
            "winner": self.winner(s),
            "left": [s.pips[q] for q in range(s.seats)],
            "points": self.sides([s.points[q] for q in range(s.seats)]),
        }

    def action_text(self, action: int) -> str:
        """An action as records write it."""
        kind = core_game.kind_of(action)
        if kind in _WORDS:
            return _WORDS[kind]
        line = core_game.line_of(action)
        tile = tile_number(core_game.matched_of(action), core_game.new_of(action))
        return f"{tile_text(tile)}>{'start' if line == START else self.line_text(line)}"

    def normal_action(self, text: object) -> str:
        """An action's text with the tile written larger half first.

        Raises:
            RecordError: it is no text, or names no tile.
        """
        if not isinstance(text, str):
            raise RecordError(f"{quoted(text)} is no action")
        tile, arrow, line = text.partition(">")
        if not arrow:
            return text
        return f"{tile_text(parse_tile(tile))}>{line}"

    def set_hands(self, s: State, hands: list[list[int]], top: int) -> None:
        """Clear the table and give every seat its tiles."""
        table.clear_round(s, top)
        table.clear_hands(s)
        for seat, tiles in enumerate(hands):
            for tile in tiles:
                table.hold(s, seat, tile)


def tiles_of(rows: Any) -> list[int]:
    """Tile numbers of a hand given as rows of bits, `(16,)`."""
    found = []
    for high in range(13):
        row = int(rows[high])
        found += [tile_number(high, low) for low in range(high + 1) if row >> low & 1]
    return found


def only_fields(values: dict[str, Any], where: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
    """Check that an object of a record has these fields and no others.

    Raises:
        RecordError: one is missing or unknown.
    """
    for name in required:
        if name not in values:
            raise RecordError(f"{where}: {name!r} is missing")
    for name in values:
        if name not in required + optional:
            raise RecordError(f"{where}: unknown field {quoted(name)}; known: {', '.join(required + optional)}")


def whole_number(value: object, where: str, lowest: int, highest: int) -> int:
    """The value, when it is a whole number in a range.

    Raises:
        RecordError: it is not.
    """
    if isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= highest:
        return value
    raise RecordError(f"{where}: found {quoted(value)}, expected a whole number from {lowest} to {highest}")
