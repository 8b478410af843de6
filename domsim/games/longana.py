"""Longana, Cuban personal branches: options, texts, records and the flow of a match as records tell it."""

from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from domsim.core import longana as core
from domsim.core.compiled import State
from domsim.errors import RecordError, RulesError
from domsim.games.base import Game, only_fields, whole_number
from domsim.rules import Rules
from domsim.tiles import quoted


class LonganaRules(Rules, frozen=True):
    """The rule options of `longana`."""

    hand_size: Annotated[int, Meta(ge=1, le=core.TILES // 2, description="tiles dealt to a seat")] = 8
    target: Annotated[int, Meta(ge=1, le=10000, description="score that wins the match")] = 100
    open_order: Annotated[
        Literal["current", "first", "none"],
        Meta(
            description="of other seats' open branches with equal ends only the one opened first may be used: "
            "by the pass that opened it this time, by its first opening in the round, or all of them may"
        ),
    ] = "current"
    block_scoring: Annotated[
        Literal["all", "rivals", "difference", "none"],
        Meta(
            description="the lowest hand of a block scores all hands, the other hands, "
            "the other hands each less its own, or nothing"
        ),
    ] = "all"

    def check_seats(self, seats: int) -> None:
        """The set has to be enough for all hands."""
        most = core.TILES // seats
        if self.hand_size > most:
            raise RulesError(
                f"rule option hand_size: {self.hand_size} is not allowed with {seats} seats; allowed: 1 to {most}"
            )


class Longana(Game):
    """Every seat has a branch of its own, closed to the others until it has to pass."""

    name: ClassVar[str] = "longana"
    title: ClassVar[str] = "Longana, Cuban personal branches, to 100"
    core: ClassVar[ModuleType] = core
    rules: ClassVar[type[Rules]] = LonganaRules
    seats: ClassVar[tuple[int, ...]] = (4, 2, 3)
    measures: ClassVar[tuple[str, ...]] = ("win_share", "points_round", "block_rate", "passes_round")

    def top(self, rules: Rules) -> int:
        """9."""
        return core.TOP

    def line_text(self, line: int) -> str:
        """The seat whose branch it is."""
        return str(line)

    def set_opening(self, s: State, opening: dict[str, Any]) -> None:
        """`{"first": true}` in a match's first round, `{"search_from": seat}` in later ones."""
        if "first" in opening:
            only_fields(opening, "opening", ("first",))
            if opening["first"] is not True:
                raise RecordError(f"opening.first: found {quoted(opening['first'])}, expected true")
            s.round_number = 1
        else:
            only_fields(opening, "opening", ("search_from",), ("first",))
            s.lead = whole_number(opening["search_from"], "opening.search_from", 0, s.seats - 1)
            s.round_number = max(s.round_number, 2)
        if core.first_with_double(s, 0) < 0:
            raise RecordError("hands: no seat holds a double, so nobody can open")
        core.open_round(s)

    def opening(self, s: State) -> dict[str, Any]:
        """Whether this is the first round, or where the search for the opener began."""
        return {"first": True} if s.round_number == 1 else {"search_from": s.lead}

    def next_opening(self, s: State) -> dict[str, Any]:
        """The search begins at the last winner, or after the opener of a round that nobody won."""
        return {"first": True} if s.round_number == 1 else {"search_from": s.next_lead}

    def board(self, s: State) -> list[str]:
        """Every branch: its end, its tiles, and its place in the order of opening where it is open."""
        if not s.laid:
            return ["nothing laid yet"]
        order = sorted(((s.before[q] & s.placed).bit_count(), q) for q in range(s.seats) if s.open >> q & 1)
        opened = {q: place for place, (_, q) in enumerate(order, 1)}
        return [
            f"branch {q}: end {s.end[q]}   tiles {s.started[q]}   {f'open ({opened[q]})' if q in opened else 'closed'}"
            for q in range(s.seats)
        ]
