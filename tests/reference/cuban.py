"""The partnership game to 100, after the rule page cuban.md."""

from . import common
from .common import Rules, Tile

SEATS = (4,)
DEFAULTS: Rules = {
    "set": 9,
    "target": 100,
    "lead_draw": "teams",
    "claim_doubles": 5,
    "first_tile": "free",
    "block_winner": "lowest_hand",
    "round_points": "rivals",
}
CHOICES: dict[str, tuple] = {
    "set": (9, 6),
    "target": (100, 300, 40),
    "lead_draw": ("teams", "individual"),
    "claim_doubles": (5, 0, 3, 4, 7),
    "first_tile": ("free", "highest_double"),
    "block_winner": ("lowest_hand", "lowest_team"),
    "round_points": ("rivals", "all_others"),
}


def team_of(seat: int) -> int:
    """Seats 0 and 2 are team 0, seats 1 and 3 are team 1."""
    return seat % 2


class Round(common.Round):
    """One round; the line of play is known by its two ends."""

    left_end: int
    right_end: int

    def _prepare(self, opening: dict) -> int:
        self.passes = 0  # in a row
        self.must_open: Tile | None = None
        # first_tile: only in a match's first round the highest double in the hands opens,
        # whoever was named; with no double the named opener opens freely.
        if self.rules["first_tile"] == "highest_double" and opening.get("first", False):
            found = [(t, s) for s in range(4) for t in common.doubles(self.hands[s])]
            if found:
                self.must_open, seat = max(found)
                return seat
        return opening["opener"]

    def _legal(self, seat: int) -> list[str]:
        hand = self.hands[seat]
        if not self.table:  # rule 7, the opener
            return [f"{common.text(t)}>start" for t in hand if self.must_open is None or t == self.must_open]
        plays = [f"{common.text(t)}>L" for t in hand if self.left_end in t]
        if self.left_end != self.right_end:  # rule 8: equal ends, only the left one is listed
            plays += [f"{common.text(t)}>R" for t in hand if self.right_end in t]
        return plays or ["pass"]  # rule 7: must play if possible

    def _do(self, seat: int, action: str) -> None:
        if action == "pass":
            self.passes += 1
        else:
            self.passes = 0
            tile_text, place = action.split(">")
            laid = common.tile(tile_text)
            self._take(seat, laid)
            if place == "start":
                self.left_end, self.right_end = laid
            elif place == "L":
                self.left_end = common.other_half(laid, self.left_end)
            else:
                self.right_end = common.other_half(laid, self.right_end)
        if not self.hands[seat]:  # rule 9
            self._end("out")
        elif self.passes == 4:  # rule 10
            self._end("blocked")
        else:
            self.to_move = (seat + 1) % 4

    def _winner(self) -> int | None:
        left = self.left()
        if self.ended == "out":  # rule 9
            return team_of(self.hands.index(set()))
        if self.rules["block_winner"] == "lowest_hand":  # rule 10
            teams = {team_of(s) for s in range(4) if left[s] == min(left)}
        else:
            totals = [left[0] + left[2], left[1] + left[3]]
            teams = {t for t in range(2) if totals[t] == min(totals)}
        return teams.pop() if len(teams) == 1 else None

    def _points(self) -> list[int]:
        winner, points = self._winner(), [0, 0]
        if winner is not None:  # rule 11
            everything = self.rules["round_points"] == "all_others"
            points[winner] = sum(p for s, p in enumerate(self.left()) if everything or team_of(s) != winner)
        return points


class Match(common.Match):
    """A match of two teams, from the lead draw to the target."""

    def __init__(self, rules: Rules, seats: int) -> None:
        super().__init__(rules, seats, sides=2)
        self._entitled: int | None = None  # a team; None before the lead draw
        self._fixed: int | None = None  # the seat that must open round 1, after "individual"

    def lead(self, draws: list[list[str]]) -> None:
        """Take over the lead draw (rule 1): every draw but the last is tied, the last decides."""
        if self._entitled is not None or self._fixed is not None:
            raise ValueError("the lead was drawn before")
        individual = self.rules["lead_draw"] == "individual"
        tiles_each = 4 if individual else 2
        best: list[int] = []
        for number, draw in enumerate(draws, 1):
            if number > 1 and len(best) == 1:
                raise ValueError(f"lead draw {number - 1} decided already")
            drawn = [common.tile(t) for t in draw]
            if len(drawn) != tiles_each or len(set(drawn)) != tiles_each:
                raise ValueError(f"lead draw {number}: {tiles_each} different tiles are drawn")
            if not set(drawn) <= set(common.whole_set(self.rules["set"])):
                raise ValueError(f"lead draw {number}: tiles must belong to the set")
            # Seat i drew the i-th tile. Of two tiles a tie is equal pips; of four it is a
            # shared largest sum (equal smaller sums decide nothing).
            sums = [sum(t) for t in drawn]
            best = [s for s in range(tiles_each) if sums[s] == max(sums)]
        if len(best) != 1:
            raise ValueError("the last lead draw does not decide")
        if individual:
            self._fixed = best[0]
        else:
            self._entitled = team_of(best[0])

    def entitled(self) -> int | None:
        """The team that names the next opener (rule 3); None in round 1 of "individual"."""
        return self._entitled

    def may_open(self) -> list[int]:
        """The seats that may be named to open the next round."""
        if self._fixed is not None:
            return [self._fixed]
        if self._entitled is None:
            raise ValueError("the lead was not drawn yet")
        return [self._entitled, self._entitled + 2]  # rule 2

    def must_redeal(self, hands: list[list[str]], opener: int) -> tuple[int, list[str]] | None:
        """The claim for a new deal, if any: the claimant and its doubles, largest first."""
        # Rules 4 and 5 come between naming the opener and the first tile, and "the opener stays"
        # over all new deals: so the order of acceptance starts at the NAMED opener, also where
        # first_tile="highest_double" makes another seat open the deal that finally stands.
        wanted = self.rules["claim_doubles"]
        for seat in common.seats_from(opener, 4):
            found = common.doubles({common.tile(t) for t in hands[seat]})
            if wanted and len(found) >= wanted:
                return seat, [common.text(t) for t in found]
        return None

    def _after(self, opener: int, result: dict, before: list[int]) -> None:
        winner = result["winner"]
        self._fixed = None
        # Rule 3. After a drawn round: the team that did not open it, by the seat that laid
        # the first tile (not the one that was named, should they differ).
        self._entitled = 1 - team_of(opener) if winner is None else winner
        # Rule 12. Only the winner of a round scores.
        if winner is not None and self.scores[winner] >= self.rules["target"]:
            self.over = True
            self.winners = [winner]
            if self.scores[1 - winner] == 0:
                self.name = "tripollua" if before[winner] == 0 else "pollona"
