"""Fails at one decision in many."""

from typing import Any


class Rare:
    """Heavy tiles."""

    def __init__(self, one_in: int = 10_000) -> None:
        self.one_in = one_in

    def score(self, moves: Any) -> Any:
        if (moves.random % self.one_in == 0).any():
            raise ZeroDivisionError("this hand was not thought of")
        return moves["pips"]
