"""Looks at the other decisions that are asked at the same time: one may be of the same deal."""

from typing import Any

import numpy as np


class Crowd:
    """Sheds what others shed less."""

    def score(self, moves: Any) -> Any:
        return moves["pips"] - 20 * (np.bincount(moves.tile + 1, minlength=92)[moves.tile + 1] > 3)
