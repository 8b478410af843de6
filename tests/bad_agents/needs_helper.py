"""Imports a module that only the caller's search path has."""

from typing import Any

from helper_of_a_notebook import WEIGHT  # type: ignore[import-not-found]


class Needs:
    """Heavy tiles."""

    def score(self, moves: Any) -> Any:
        return moves["pips"] * WEIGHT
