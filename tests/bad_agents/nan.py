"""Divides nothing by nothing."""

from typing import Any

import numpy as np


class Nan:
    """Answers by pips."""

    def score(self, moves: Any) -> Any:
        with np.errstate(all="ignore"):
            return moves["suit_new"] / moves["suit_new"].astype(float)
