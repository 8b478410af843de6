"""What the three games share: tiles, rule options, and the two interfaces Round and Match."""

from typing import Any

Tile = tuple[int, int]  # (high, low); 9-4 is (9, 4)
Rules = dict[str, Any]  # option: value


def tile(text: str) -> Tile:
    """Read "9-4" or "4-9"."""
    a, b = text.split("-")
    return max(int(a), int(b)), min(int(a), int(b))


def text(a_tile: Tile) -> str:
    """Write a tile, larger pip first."""
    return f"{a_tile[0]}-{a_tile[1]}"


def action_text(action: str) -> str:
    """Write the tile of an action larger pip first; pass, draw and stop stay as they are."""
    if ">" not in action:
        return action
    laid, place = action.split(">")
    return f"{text(tile(laid))}>{place}"


def whole_set(highest: int) -> list[Tile]:
    """All tiles of the double-`highest` set."""
    return [(high, low) for high in range(highest + 1) for low in range(high + 1)]


def is_double(a_tile: Tile) -> bool:
    """Whether both halves are equal."""
    return a_tile[0] == a_tile[1]


def pips(hand: set[Tile]) -> int:
    """The pips of all tiles of a hand."""
    return sum(high + low for high, low in hand)


def other_half(a_tile: Tile, end: int) -> int:
    """The pip that shows after the tile was laid with its other half on `end`."""
    return a_tile[1] if a_tile[0] == end else a_tile[0]


def doubles(hand: set[Tile]) -> list[Tile]:
    """The doubles of a hand, largest first."""
    return sorted((t for t in hand if is_double(t)), reverse=True)


def seats_from(start: int, seats: int) -> list[int]:
    """All seats once, in playing order from `start`."""
    return [(start + i) % seats for i in range(seats)]


def options(defaults: Rules, choices: dict[str, tuple], rules: Rules) -> Rules:
    """The defaults with `rules` put over them."""
    for name, value in rules.items():
        if name not in defaults:
            raise ValueError(f"unknown rule option {name}")
        enumerated = name == "set" or isinstance(defaults[name], str)
        if enumerated and value not in choices[name]:
            raise ValueError(f"rule option {name}: {value!r} is none of {choices[name]}")
    return {**defaults, **rules}


class Round:
    """One round, from a deal to its result. The games fill in _legal, _do, _winner and _points."""

    def __init__(self, rules: Rules, seats: int, hands: list[list[str]], stock: list[str], opening: dict) -> None:
        if len(hands) != seats or not all(hands):
            raise ValueError("hands: one hand with at least one tile for every seat")
        self.rules = rules
        self.seats = seats
        self.hands: list[set[Tile]] = [{tile(t) for t in hand} for hand in hands]
        self.stock: list[Tile] = [tile(t) for t in stock]
        self.table: list[Tile] = []
        self.ended: str | None = None  # "out" or "blocked"
        self.to_move: int | None = self._prepare(opening)

    @property
    def over(self) -> bool:
        """Whether the round has ended."""
        return self.ended is not None

    def legal(self) -> list[str]:
        """The texts of all legal actions, sorted; none when the round is over."""
        return [] if self.to_move is None else sorted(self._legal(self.to_move))

    def play(self, action: str) -> None:
        """Take one legal action for the seat to move."""
        if self.to_move is None or action not in self.legal():
            raise ValueError(f"{action} is not legal, but {self.legal()}")
        self._do(self.to_move, action)

    def result(self) -> dict:
        """The `result` object of a round record."""
        if not self.over:
            raise ValueError("the round is not over")
        return {
            "ended": self.ended,
            "winner": self._winner(),
            "left": self.left(),
            "points": self._points(),
        }

    def left(self) -> list[int]:
        """The pips left in every hand."""
        return [pips(hand) for hand in self.hands]

    def _take(self, seat: int, laid: Tile) -> None:
        """Move a tile from a hand to the table."""
        self.hands[seat].remove(laid)
        self.table.append(laid)

    def _end(self, ended: str) -> None:
        self.ended = ended
        self.to_move = None

    def _prepare(self, opening: dict) -> int:
        """Set the table up; the seat to move first."""
        raise NotImplementedError

    def _legal(self, seat: int) -> list[str]:
        raise NotImplementedError

    def _do(self, seat: int, action: str) -> None:
        raise NotImplementedError

    def _winner(self) -> int | None:
        raise NotImplementedError

    def _points(self) -> list[int]:
        raise NotImplementedError


class Match:
    """The flow of a match, round by round; dealing and playing are left to the caller."""

    def __init__(self, rules: Rules, seats: int, sides: int) -> None:
        self.rules = rules
        self.seats = seats
        self.scores = [0] * sides  # per seat, in cuban per team
        self.round_number = 1
        self.over = False
        self.winners: list[int] = []
        self.name: str | None = None

    def finish(self, opener: int, result: dict) -> None:
        """Take over the result of the round that `opener` (the seat that really opened) opened."""
        if self.over:
            raise ValueError("the match is over")
        before = list(self.scores)
        self.scores = [s + p for s, p in zip(self.scores, result["points"], strict=True)]
        self.round_number += 1
        self._after(opener, result, before)

    def _after(self, opener: int, result: dict, before: list[int]) -> None:
        """What follows from the result: who is next, and whether the match is over."""
        raise NotImplementedError
