"""Takes an object from the notebook or script that was started."""

from typing import Any

from __main__ import WEIGHT_OF_THE_SCRIPT  # type: ignore[attr-defined]


class Needs:
    """Heavy tiles."""

    def score(self, moves: Any) -> Any:
        return moves["pips"] * WEIGHT_OF_THE_SCRIPT
