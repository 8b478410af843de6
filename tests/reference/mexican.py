"""Mexican Train in 13 rounds, after the rule page mexican.md."""

from . import common
from .common import Rules, Tile

SEATS = tuple(range(2, 11))
DEFAULTS: Rules = {
    "round_order": "descending",
    "first_turn": "chain",
    "double_order": "oldest",
    "mark_removal": "own_train",
    "double_blank": 0,
}
CHOICES: dict[str, tuple] = {
    "round_order": ("descending", "ascending"),
    "first_turn": ("chain", "single"),
    "double_order": ("oldest", "newest"),
    "mark_removal": ("own_train", "any_play"),
    "double_blank": (0, 50, 25),
}
ROUNDS = 13


class Round(common.Round):
    """One round; a train is named by its seat as text, or "public", and known by its end."""

    def _prepare(self, opening: dict) -> int:
        self.trains = [str(s) for s in range(self.seats)] + ["public"]
        self.ends: dict[str, int] = {}  # of every train, once the starting double lies
        self.marked: set[int] = set()  # the seats whose trains are marked open
        self.pending: list[str] = []  # trains that show a double of an earlier turn, oldest first
        self.first_turns: set[int] = set()  # the seats that have had their first turn
        self.chain: list[Tile] = []  # tiles laid so far in the first turn that is going on
        self.turn_doubles: list[str] = []  # trains that show a double of this (later) turn
        self.drawn = False  # whether this opportunity's draw is used up
        # The round's starting double.
        number = opening["round"]
        pip = ROUNDS - number if self.rules["round_order"] == "descending" else number - 1
        self.start = (pip, pip)
        # Rule 1: whole lots, until a hand holds it; a lot is completed unless the stock runs out.
        while not any(self.start in hand for hand in self.hands):
            if not self.stock:
                raise ValueError("no starting double in hands or stock")
            for seat in common.seats_from((number - 1) % self.seats, self.seats):
                if self.stock:
                    self.hands[seat].add(self.stock.pop(0))
        return next(s for s in range(self.seats) if self.start in self.hands[s])

    def _lap_over(self) -> bool:
        return len(self.first_turns) == self.seats

    def _binding(self) -> str:
        """The train whose pending double must be covered next (rule 7)."""
        return self.pending[0] if self.rules["double_order"] == "oldest" else self.pending[-1]

    def _usable(self, seat: int) -> list[str]:
        """The trains the seat may lay on."""
        if not self._lap_over():  # rule 3
            return [str(seat)]
        if self.pending and not self.turn_doubles:  # rule 7; extra plays are free of it (rule 9)
            return [self._binding()]
        return ["public"] + [str(s) for s in range(self.seats) if s == seat or s in self.marked]

    def _legal(self, seat: int) -> list[str]:
        if not self.table:
            return [f"{common.text(self.start)}>start"]
        plays = [
            f"{common.text(t)}>{train}"
            for t in self.hands[seat]
            for train in self._usable(seat)
            if self.ends[train] in t
        ]
        if not self._lap_over():  # rule 3
            return [*plays, "stop"] if self.chain else plays or ["pass"]
        if plays:  # rules 6 and 8; after a draw only the drawn tile can be among them
            return plays
        return ["draw"] if self.stock and not self.drawn else ["pass"]  # rule 8

    def _do(self, seat: int, action: str) -> None:
        if action == "draw":
            self.hands[seat].add(self.stock.pop(0))
            self.drawn = True
        elif action in ("pass", "stop"):
            if action == "pass":  # rules 3, 8, 9
                self.marked.add(seat)
            self._end_turn(seat)
        else:
            tile_text, train = action.split(">")
            laid = common.tile(tile_text)
            self._take(seat, laid)
            if train == "start":  # rule 2: no turn, the holder goes on
                self.ends = dict.fromkeys(self.trains, laid[0])
            else:
                self._lay(seat, laid, train)

    def _lay(self, seat: int, laid: Tile, train: str) -> None:
        self.ends[train] = common.other_half(laid, self.ends[train])
        if train == str(seat) or self.rules["mark_removal"] == "any_play":  # rule 11
            self.marked.discard(seat)
        if not self._lap_over():
            self.chain.append(laid)
            # An emptied hand cannot go on, so nothing is left to stop.
            if self.rules["first_turn"] == "single" or not self.hands[seat]:
                self._end_turn(seat)
            return
        if train in self.pending:  # a cover
            self.pending.remove(train)
        if train in self.turn_doubles:
            self.turn_doubles.remove(train)
        if not self.hands[seat]:  # rule 12, a double too
            self._end("out")
        elif common.is_double(laid):  # rule 9: an extra play and a new opportunity to draw
            self.turn_doubles.append(train)
            self.drawn = False
        else:
            self._end_turn(seat)

    def _end_turn(self, seat: int) -> None:
        if self._lap_over():
            self.pending += self.turn_doubles  # rule 10
        else:
            if self.chain and common.is_double(self.chain[-1]):  # rule 4
                self.pending.append(str(seat))
            self.first_turns.add(seat)
        self.chain = []
        self.turn_doubles = []
        self.drawn = False
        if self._lap_over() and not all(self.hands):  # rule 5, at the end of the first lap
            self._end("out")
        elif self._blocked():
            self._end("blocked")
        else:
            self.to_move = (seat + 1) % self.seats

    def _blocked(self) -> bool:
        """Rule 13."""
        if self.stock or not self._lap_over():
            return False
        trains = [self._binding()] if self.pending else self.trains
        return not any(self.ends[train] in t for train in trains for hand in self.hands for t in hand)

    def _winner(self) -> int | None:
        return None

    def _points(self) -> list[int]:
        blank = self.rules["double_blank"]  # rule 14
        return [common.pips(hand) + (blank if (0, 0) in hand else 0) for hand in self.hands]


class Match(common.Match):
    """A match of 13 rounds; the lowest total wins."""

    def __init__(self, rules: Rules, seats: int) -> None:
        super().__init__(rules, seats, sides=seats)

    def opening(self) -> dict:
        """The record's `opening` of the next round."""
        return {"round": self.round_number}

    def must_redeal(self, hands: list[list[str]], opener: int) -> tuple[int, list[str]] | None:
        """Never: a starting double that nobody holds is drawn for."""
        return None

    def _after(self, opener: int, result: dict, before: list[int]) -> None:
        if self.round_number > ROUNDS:
            self.over = True
            self.winners = [s for s in range(self.seats) if self.scores[s] == min(self.scores)]
