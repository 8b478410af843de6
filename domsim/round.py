"""One round, step by step, in plain values: for notebooks, replays, hints and tests. The same rules as the kernels."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from domsim.core.compiled import lowest
from domsim.core.driver import work_dtype
from domsim.core.plain import Plain
from domsim.errors import RecordError
from domsim.games import Game, find_game
from domsim.rules import Rules
from domsim.seeds import deal_keys, find_suite
from domsim.tiles import parse_tile, quoted, tile_count, tile_text


class Round:
    """One round: `legal()`, `play("9-4>L")`, `to_move`, `over`, `result`; `print(round)` shows the table.

    `Round("cuban", seed=3, deal=7)` deals the first round of a match as every tournament with that suite and seed does;
    `Round.of(...)` sets up a position. A round is the full truth: `state` is the core's record, hidden tiles included.
    """

    def __init__(
        self,
        game: str = "cuban",
        *,
        rules: Rules | Mapping[str, Any] | None = None,
        seats: int | None = None,
        suite: str = "smoke",
        seed: int = 0,
        deal: int = 0,
    ) -> None:
        """Deal the first round of a match.

        Raises:
            RulesError: an unknown game or option, a number of seats it is not played with.
            SpecError: an unknown suite, a deal outside it.
        """
        self._begin(find_game(game), rules, seats)
        self.state.key = int(deal_keys(find_suite(suite), seed, [deal])[0])
        self.game.core.start_match(self.state)
        self.next_round()

    @classmethod
    def of(
        cls,
        game: str,
        hands: Sequence[Sequence[str]],
        stock: Sequence[str] = (),
        opening: Mapping[str, Any] | None = None,
        *,
        rules: Rules | Mapping[str, Any] | None = None,
    ) -> "Round":
        """A position: hands by seat, the stock, and the `opening` of the record format.

        Raises:
            RecordError: a tile that is not of the set, or there twice, an empty hand, nobody who can open.
        """
        made = cls.empty(find_game(game), rules, len(hands))
        made.set_up(hands, stock, opening or {})
        return made

    @classmethod
    def empty(cls, game: Game, rules: Rules | Mapping[str, Any] | None, seats: int | None) -> "Round":
        """A table without tiles, for `set_up` or a match to be dealt."""
        made = cls.__new__(cls)
        made._begin(game, rules, seats)
        return made

    def _begin(self, game: Game, rules: Rules | Mapping[str, Any] | None, seats: int | None) -> None:
        self.game = game
        self.rules = rules if isinstance(rules, Rules) else game.rules.of(rules or {})
        self.seats = game.check_seats(game.seats[0] if seats is None else seats)
        self.rules.check_seats(self.seats)
        self._top = game.top(self.rules)
        self.state: Any = Plain(game.new_states(1, self.rules, self.seats))[0]
        self._w: Any = Plain(np.zeros(1, work_dtype(len(game.features))))[0]

    def next_round(self) -> None:
        """Deal the next round of the match; its key is the deal's."""
        self.game.core.start_round(self.state)
        hands = [self.game.dealt_hand(self.state, q) for q in range(self.seats)]
        dealt = {tile for hand in hands for tile in hand}
        left = [tile for tile in range(tile_count(self._top)) if tile not in dealt]
        self._remember(hands, self.game.stock(self.state, left))

    def set_up(self, hands: Sequence[Sequence[str]], stock: Sequence[str], opening: Mapping[str, Any]) -> None:
        """Put a position on the table; scores and the flow of the match stay.

        Raises:
            RecordError: as `of`.
        """
        dealt = [
            [parse_tile(tile, self._top, f"hands, seat {seat}") for tile in hand] for seat, hand in enumerate(hands)
        ]
        left = [parse_tile(tile, self._top, "stock") for tile in stock]
        if len(dealt) != self.seats:
            raise RecordError(f"hands: found {len(dealt)}, expected {self.seats}")
        for seat, hand in enumerate(dealt):
            if not hand:
                raise RecordError(f"hands: seat {seat} has no tile")
        tiles = [tile for hand in dealt for tile in hand] + left
        for tile in tiles:
            if tiles.count(tile) > 1:
                raise RecordError(f"hands and stock: {tile_text(tile)} is there twice")
        self.game.set_hands(self.state, dealt, self._top)
        self.game.set_stock(self.state, left)
        self.game.set_opening(self.state, dict(opening))
        self._remember([sorted(hand) for hand in dealt], left)

    def _remember(self, hands: list[list[int]], stock: list[int]) -> None:
        self.dealt_hands = [[tile_text(tile) for tile in hand] for hand in hands]
        self.dealt_stock = [tile_text(tile) for tile in stock]
        self.opening = self.game.opening(self.state)
        self.actions: list[str] = []
        self._result: dict[str, Any] | None = None
        self._match_over = False
        self._list()

    def _list(self) -> None:
        self._legal: dict[str, int] = {}
        if not self.state.over:
            for action in listed_actions(self._w, self.game.core.legal(self.state, self._w)):
                self._legal[self.game.action_text(action)] = action

    @property
    def over(self) -> bool:
        """Whether the round has ended."""
        return bool(self.state.over)

    @property
    def to_move(self) -> int | None:
        """The seat to move; None when the round is over."""
        return None if self.over else int(self.state.seat)

    @property
    def match_over(self) -> bool:
        """Whether the round, now over, has ended its match too."""
        return self.result is not None and self._match_over

    @property
    def hands(self) -> list[list[str]]:
        """The tiles in the hands, by seat: the full truth, not what a seat may see."""
        return [[tile_text(tile) for tile in self.game.hand(self.state, q)] for q in range(self.seats)]

    @property
    def scores(self) -> list[int]:
        """The match's scores, by seat or by team; those before this round until its `result` is asked for."""
        return self.game.sides([self.state.score[q] for q in range(self.seats)])

    @property
    def result(self) -> dict[str, Any] | None:
        """The round's result as records have it; None while it goes on."""
        if self.over and self._result is None:
            self._match_over = self.game.core.finish_round(self.state)
            self._result = self.game.result(self.state)
        return self._result

    def legal(self) -> list[str]:
        """The legal actions, sorted as text; none when the round is over."""
        return sorted(self._legal)

    def play(self, action: str) -> None:
        """Carry out an action.

        Raises:
            RecordError: it is not legal here; the text says what is.
        """
        text = self.game.normal_action(action)
        if text not in self._legal:
            where = "the round is over" if self.over else f"legal for seat {self.to_move}: {', '.join(self.legal())}"
            raise RecordError(f"{quoted(action)} is not legal here; {where}")
        self.state.ply += 1
        self.game.core.apply(self.state, self._legal[text])
        self.actions.append(text)
        self._list()

    def record(self, **extra: Any) -> dict[str, Any]:
        """The round as a record (`domino-round/1`); `extra` are further fields, `match` and `meta`."""
        made = {
            "format": "domino-round/1",
            "game": self.game.name,
            "rules": self.rules.changed(),
            "seats": self.seats,
            "hands": self.dealt_hands,
            "stock": self.dealt_stock,
            "opening": self.opening,
            "actions": list(self.actions),
        }
        if self.over:
            made["result"] = self.result
        return made | extra

    def __str__(self) -> str:
        """The board: the table, then a line for every hand, an arrow before the seat to move."""
        lines = [f"{self.game.name}, {self.seats} seats, ply {len(self.actions)}", *self.game.board(self.state)]
        for seat, hand in enumerate(self.hands):
            mark = ">" if seat == self.to_move else " "
            lines.append(f"{mark} seat {seat}: {' '.join(hand) or '(no tile)'}")
        if self.result is not None:
            lines.append(f"over: {self.result}")
        return "\n".join(lines)


def listed_actions(w: Any, rows: int) -> list[int]:
    """The actions of a legal list, in the core's order."""
    actions = []
    for row in range(rows):
        bits = w.bits[row]
        while bits:
            actions.append(w.code[row] | lowest(bits))
            bits &= bits - 1
    return actions
