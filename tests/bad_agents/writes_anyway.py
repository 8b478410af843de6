"""Writes into what it is given, and takes off the lock first."""

from typing import Any


class Writes:
    """Doubles count twice."""

    def score(self, moves: Any) -> Any:
        moves.features.setflags(write=True)
        moves.features[:, 0] += moves.features[:, 1]
        return moves["pips"]
