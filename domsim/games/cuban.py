"""Cuban partnership dominoes: options, texts, records and the flow of a match as records tell it."""

from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from msgspec import Meta

from domsim.core import cuban as core
from domsim.core.compiled import State
from domsim.core.plain import Plain
from domsim.errors import RecordError, RulesError
from domsim.games.base import Game, only_fields, tiles_of, whole_number
from domsim.rules import Rules
from domsim.tiles import HIGH, LOW, parse_tile, quoted, tile_text


class CubanRules(Rules, frozen=True):
    """The rule options of `cuban`."""

    set: Annotated[Literal[9, 6], Meta(description="highest number of the set: double-nine or double-six")] = 9
    target: Annotated[int, Meta(ge=1, le=10000, description="score that wins the match")] = 100
    lead_draw: Annotated[
        Literal["teams", "individual"],
        Meta(description="one tile a team for the choice of the opener, or all four seats draw and the largest opens"),
    ] = "teams"
    claim_doubles: Annotated[
        Literal[5, 0, 3, 4, 6, 7, 8, 9, 10],
        Meta(description="doubles in a hand that allow to claim a new deal; 0: no claims"),
    ] = 5
    first_tile: Annotated[
        Literal["free", "highest_double"],
        Meta(description="the opener lays any tile, or the highest double opens the first round of a match"),
    ] = "free"
    block_winner: Annotated[
        Literal["lowest_hand", "lowest_team"],
        Meta(description="a block is won by the lowest single hand, or by the lower sum of a team"),
    ] = "lowest_hand"
    round_points: Annotated[
        Literal["rivals", "all_others"],
        Meta(description="a round scores the rivals' pips, or everything left in the four hands"),
    ] = "rivals"

    def check_together(self) -> None:
        """A double-six hand has seven tiles."""
        if self.set == 6 and self.claim_doubles > 7:
            raise RulesError(
                f"rule option claim_doubles: {self.claim_doubles} is not allowed with set=6; allowed: 0, 3 to 7"
            )


class Cuban(Game):
    """Partnership to 100, two against two."""

    name: ClassVar[str] = "cuban"
    title: ClassVar[str] = "Cuban partnership dominoes to 100"
    core: ClassVar[ModuleType] = core
    rules: ClassVar[type[Rules]] = CubanRules
    seats: ClassVar[tuple[int, ...]] = (4,)
    partners: ClassVar[bool] = True
    measures: ClassVar[tuple[str, ...]] = (
        "win_share",
        "points_match",
        "block_rate",
        "passes_round",
        "title_1",
        "title_2",
    )
    titles: ClassVar[tuple[str, ...]] = ("", "pollona", "tripollua")
    match_fields: ClassVar[tuple[str, ...]] = ("lead_draw", "claims", "name")

    def top(self, rules: Rules) -> int:
        """9 or 6."""
        assert isinstance(rules, CubanRules)
        return rules.set

    def line_text(self, line: int) -> str:
        """Left or right end."""
        return "LR"[line]

    def set_opening(self, s: State, opening: dict[str, Any]) -> None:
        """`{"opener": seat}`, with `"first": true` in a match's first round."""
        only_fields(opening, "opening", ("opener",), ("first",))
        s.lead = whole_number(opening["opener"], "opening.opener", 0, 3)
        first = opening.get("first", False)
        if not isinstance(first, bool):
            raise RecordError(f"opening.first: found {quoted(first)}, expected true or false")
        s.round_number = 1 if first else max(s.round_number, 2)
        core.open_round(s)

    def opening(self, s: State) -> dict[str, Any]:
        """The seat named, and whether this is the first round."""
        return {"opener": s.lead, "first": True} if s.round_number == 1 else {"opener": s.lead}

    def match_notes(self, s: State) -> dict[str, Any]:
        """The draw for the lead in round 1, and the claims before this deal."""
        notes: dict[str, Any] = {"lead_draw": _lead_draws(s)} if s.round_number == 1 else {}
        claims = _claims(s)
        if claims:
            notes["claims"] = claims
        return notes

    def check_match(self, s: State, match: dict[str, Any], opening: dict[str, Any]) -> None:
        """The draw decides who names the opener, the named seat belongs to the entitled team, claims are real."""
        if s.round_number == 1:
            _check_lead_draw(s, match)
        elif "lead_draw" in match:
            raise RecordError("match.lead_draw: found in a later round, expected in round 1 only")
        _check_claims(s, match.get("claims", []))
        allowed = [s.opener_by_draw] if s.entitled < 0 else [s.entitled, s.entitled + 2]
        if opening.get("opener") not in allowed:
            expected = " or ".join(map(str, allowed))
            raise RecordError(f"opening.opener: found {quoted(opening.get('opener'))}, expected {expected}")
        if opening.get("first", False) is not (s.round_number == 1):
            found, expected_first = quoted(opening.get("first", False)), s.round_number == 1
            raise RecordError(f"opening.first: found {found}, expected {expected_first}")

    def board(self, s: State) -> list[str]:
        """The two ends and who laid the tile there."""
        if not s.laid:
            return ["nothing laid yet"]
        left, right = (f"{s.end[line]} (seat {s.layer[line]})" for line in (core.LEFT, core.RIGHT))
        return [f"left end {left}   right end {right}   tiles laid {s.laid}"]


def _scratch(s: State) -> Any:
    """A state of the same match to deal in again."""
    array = np.zeros(1, core.STATE)
    copy = Plain(array)[0]
    for field in ("key", "round_key", "lead", "seats", *core.OPTIONS):
        setattr(copy, field, getattr(s, field))
    return copy


def _lead_draws(s: State) -> list[list[str]]:
    scratch = _scratch(s)
    seats = 2 if s.lead_draw == core.LEAD_TEAMS else 4
    draws: list[list[str]] = []
    while True:
        core.draw_for_lead(scratch, len(draws))
        draws.append([tile_text(scratch.stock[q]) for q in range(seats)])
        if core.lead_winner(scratch) >= 0:
            return draws


def _claims(s: State) -> list[dict[str, Any]]:
    scratch = _scratch(s)
    claims = []
    for scratch.redeals in range(s.redeals):
        core.deal(scratch)
        seat = core.claimant(scratch)
        doubles = [tile_text(tile) for tile in tiles_of(scratch.hand[seat]) if HIGH[tile] == LOW[tile]]
        claims.append({"seat": seat, "doubles": doubles[::-1]})
    return claims


def _check_lead_draw(s: State, match: dict[str, Any]) -> None:
    draws = match.get("lead_draw")
    if not isinstance(draws, list) or not draws:
        raise RecordError(f"match.lead_draw: found {quoted(draws)}, expected a list of draws in round 1")
    seats = 2 if s.lead_draw == core.LEAD_TEAMS else 4
    for number, draw in enumerate(draws, 1):
        where = f"match.lead_draw, draw {number}"
        if not isinstance(draw, list) or len(draw) != seats:
            raise RecordError(f"{where}: found {quoted(draw)}, expected {seats} tiles")
        tiles = [parse_tile(tile, s.set, where) for tile in draw]
        if len(set(tiles)) < seats:
            raise RecordError(f"{where}: found {quoted(draw)}, expected {seats} different tiles")
        for q, tile in enumerate(tiles):
            s.stock[q] = tile
        decided, last = core.lead_winner(s) >= 0, number == len(draws)
        if decided is not last:
            expected = "one largest tile in the last draw" if last else "a tie in every draw but the last"
            raise RecordError(f"{where}: found {quoted(draw)}, expected {expected}")
    s.opener_by_draw = core.lead_winner(s)
    s.entitled = -1 if s.lead_draw == core.LEAD_INDIVIDUAL else s.opener_by_draw


def _check_claims(s: State, claims: object) -> None:
    if not isinstance(claims, list):
        raise RecordError(f"match.claims: found {quoted(claims)}, expected a list")
    if claims and s.claim_doubles == 0:
        raise RecordError(f"match.claims: found {quoted(claims)}, expected none with claim_doubles=0")
    for number, claim in enumerate(claims, 1):
        where = f"match.claims, claim {number}"
        if not isinstance(claim, dict):
            raise RecordError(f"{where}: found {quoted(claim)}, expected an object")
        only_fields(claim, where, ("seat", "doubles"))
        whole_number(claim["seat"], f"{where}, seat", 0, 3)
        doubles = claim["doubles"]
        tiles = {parse_tile(tile, s.set, where) for tile in doubles} if isinstance(doubles, list) else set()
        if not all(HIGH[tile] == LOW[tile] for tile in tiles) or not s.claim_doubles <= len(tiles) == len(doubles):
            raise RecordError(f"{where}: found {quoted(doubles)}, expected {s.claim_doubles} or more different doubles")
