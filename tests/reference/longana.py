"""Personal branches around an opening double, after the rule page longana.md."""

from . import common
from .common import Rules, Tile

SEATS = (2, 3, 4)
DEFAULTS: Rules = {
    "hand_size": 8,
    "target": 100,
    "open_order": "current",
    "block_scoring": "all",
}
CHOICES: dict[str, tuple] = {
    "hand_size": (8, 2, 5, 13),
    "target": (100, 30, 250),
    "open_order": ("current", "first", "none"),
    "block_scoring": ("all", "rivals", "difference", "none"),
}


class Round(common.Round):
    """One round; every seat has one branch, known by its end."""

    def _prepare(self, opening: dict) -> int:
        self.ends: list[int] = []  # of every seat's branch, once the opening double lies
        self.open: list[int] = []  # the open branches, by the pass that opened them this time
        self.ever_open: list[int] = []  # all branches opened in this round, by their first opening
        # Rules 1 and 2: who opens, and with which doubles.
        if opening.get("first", False):
            found = [(t, s) for s in range(self.seats) for t in common.doubles(self.hands[s])]
            if found:
                highest, seat = max(found)
                self.openers: list[Tile] = [highest]
                return seat
        else:
            for seat in common.seats_from(opening["search_from"], self.seats):
                self.openers = common.doubles(self.hands[seat])
                if self.openers:
                    return seat
        raise ValueError("nobody holds a double")  # rule 4: another deal is needed

    def _legal(self, seat: int) -> list[str]:
        if not self.table:
            return [f"{common.text(t)}>start" for t in self.openers]
        plays = [
            f"{common.text(t)}>{branch}"
            for t in self.hands[seat]
            for branch in range(self.seats)
            if self.ends[branch] in t and self._may_use(seat, branch, t)
        ]
        return plays or ["pass"]  # rule 7

    def _may_use(self, seat: int, branch: int, a_tile: Tile) -> bool:
        """Rule 6, for a tile that shows the end of the branch."""
        if branch == seat:
            return True
        if branch not in self.open:
            return common.is_double(a_tile)
        # Rule 8: the open branches of other seats that show the same end, first opened first.
        if self.rules["open_order"] == "none":
            return True
        order = self.open if self.rules["open_order"] == "current" else self.ever_open
        same = [b for b in order if b in self.open and b != seat and self.ends[b] == self.ends[branch]]
        return branch == same[0]

    def _do(self, seat: int, action: str) -> None:
        if action == "pass":  # rule 7: opens; a further pass keeps the place (rule 8)
            if seat not in self.open:
                self.open.append(seat)
            if seat not in self.ever_open:
                self.ever_open.append(seat)
        else:
            tile_text, place = action.split(">")
            laid = common.tile(tile_text)
            self._take(seat, laid)
            if place == "start":  # rule 5
                self.ends = [laid[0]] * self.seats
            else:
                branch = int(place)
                self.ends[branch] = common.other_half(laid, self.ends[branch])
                if seat in self.open:  # rule 7: any play of its own closes
                    self.open.remove(seat)
        if not self.hands[seat]:  # rule 10
            self._end("out")
        elif not any(end in t for hand in self.hands for t in hand for end in self.ends):
            self._end("blocked")  # rule 11
        else:
            self.to_move = (seat + 1) % self.seats

    def _winner(self) -> int | None:
        if self.ended == "out":  # rule 10
            return self.hands.index(set())
        left = self.left()
        if self.rules["block_scoring"] == "none" or left.count(min(left)) > 1:  # rule 12
            return None
        return left.index(min(left))

    def _points(self) -> list[int]:
        winner, left, points = self._winner(), self.left(), [0] * self.seats
        if winner is None:
            return points
        scoring = self.rules["block_scoring"] if self.ended == "blocked" else "rivals"
        if scoring == "all":
            points[winner] = sum(left)
        elif scoring == "rivals":
            points[winner] = sum(left) - left[winner]
        else:
            points[winner] = sum(p - left[winner] for p in left)
        return points


class Match(common.Match):
    """A match of single seats, to the target."""

    def __init__(self, rules: Rules, seats: int) -> None:
        super().__init__(rules, seats, sides=seats)
        self._search_from = 0

    def opening(self) -> dict:
        """The record's `opening` of the next round."""
        return {"first": True} if self.round_number == 1 else {"search_from": self._search_from}

    def must_redeal(self, hands: list[list[str]], opener: int) -> tuple[int, list[str]] | None:
        """Rule 4: (-1, []) when nobody holds a double; the search start stays as it was."""
        return None if any(common.is_double(common.tile(t)) for h in hands for t in h) else (-1, [])

    def _after(self, opener: int, result: dict, before: list[int]) -> None:
        winner = result["winner"]
        self._search_from = (opener + 1) % self.seats if winner is None else winner  # rules 2, 3
        # Rule 13. Only the winner of a round scores.
        if winner is not None and self.scores[winner] >= self.rules["target"]:
            self.over = True
            self.winners = [winner]
