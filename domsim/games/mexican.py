"""Mexican Train in 13 rounds: options, texts, records and the flow of a match as records tell it."""

from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from domsim.core import mexican as core
from domsim.core.compiled import State
from domsim.errors import RecordError
from domsim.games.base import Game, only_fields, whole_number
from domsim.rules import Rules


class MexicanRules(Rules, frozen=True):
    """The rule options of `mexican`."""

    round_order: Annotated[
        Literal["descending", "ascending"],
        Meta(description="starting doubles of the 13 rounds: 12-12 down to 0-0, or 0-0 up to 12-12"),
    ] = "descending"
    first_turn: Annotated[
        Literal["chain", "single"],
        Meta(description="a seat's first turn lays as many tiles as wanted on its own train, or one"),
    ] = "chain"
    double_order: Annotated[
        Literal["oldest", "newest"],
        Meta(description="of the doubles left uncovered the oldest, or the one laid last, has to be covered"),
    ] = "oldest"
    mark_removal: Annotated[
        Literal["own_train", "any_play"],
        Meta(description="the mark comes off when its owner lays a tile on the own train, or on any"),
    ] = "own_train"
    double_blank: Annotated[int, Meta(ge=0, le=1000, description="points that 0-0 left in a hand costs")] = 0


class Mexican(Game):
    """A train for every seat and a public one, 13 rounds, the fewest points win."""

    name: ClassVar[str] = "mexican"
    title: ClassVar[str] = "Mexican Train, 13 rounds"
    core: ClassVar[ModuleType] = core
    rules: ClassVar[type[Rules]] = MexicanRules
    seats: ClassVar[tuple[int, ...]] = (4, 2, 3, 5, 6, 7, 8, 9, 10)
    low_wins: ClassVar[bool] = True
    measures: ClassVar[tuple[str, ...]] = (
        "win_share",
        "mean_rank",
        "points_match",
        "points_round",
        "out_rate",
        "draws_round",
    )

    def top(self, rules: Rules) -> int:
        """12."""
        return core.TOP

    def line_text(self, line: int) -> str:
        """The seat whose train it is, or the public one."""
        return "public" if line == core.PUBLIC else str(line)

    def dealt_hand(self, s: State, seat: int) -> list[int]:
        """The tiles dealt, without those of the search for the starting double."""
        size = core.hand_size_of(s)
        return sorted(s.stock[place] for place in range(size * seat, size * (seat + 1)))

    def stock(self, s: State, tiles: list[int]) -> list[int]:
        """The stock before the search for the starting double, next tile to be drawn first."""
        return [s.stock[place] for place in range(s.seats * core.hand_size_of(s), core.TILES)]

    def set_stock(self, s: State, tiles: list[int]) -> None:
        """The stock, next tile to be drawn first."""
        for place, tile in enumerate(tiles):
            s.stock[place] = tile
        s.stock_next = 0
        s.stock_left = len(tiles)

    def set_opening(self, s: State, opening: dict[str, Any]) -> None:
        """`{"round": number}`; the search for the starting double is done here."""
        only_fields(opening, "opening", ("round",))
        s.round_number = whole_number(opening["round"], "opening.round", 1, core.ROUNDS)
        core.open_round(s)
        if s.opener < 0:
            pip = core.start_pip(s)
            raise RecordError(f"hands and stock: {pip}-{pip} starts the round and is not there, so nobody can open")

    def opening(self, s: State) -> dict[str, Any]:
        """The number of the round."""
        return {"round": s.round_number}

    def next_opening(self, s: State) -> dict[str, Any]:
        """The number of the round."""
        return {"round": s.round_number}

    def winner(self, s: State) -> int | None:
        """A round has no winner."""
        return None

    def board(self, s: State) -> list[str]:
        """Every train: its end, its tiles, its mark; then the doubles that wait for a cover, and the stock."""
        if not s.laid:
            return [f"nothing laid yet   stock {s.stock_left}"]
        lines = []
        for line in (*range(s.seats), core.PUBLIC):
            name = "public train" if line == core.PUBLIC else f"train {line}"
            mark = "   open" if line == core.PUBLIC or s.marked >> line & 1 else ""
            lines.append(f"{name}: end {s.end[line]}   tiles {s.length[line]}{mark}")
        waiting = [self.line_text(s.queue[place]) for place in range(s.showing)]
        return [*lines, f"doubles to cover: {', '.join(waiting) or 'none'}   stock {s.stock_left}"]
