"""One score a decision, not one an action."""

from typing import Any

import numpy as np


class Shape:
    """Answers by decision."""

    def score(self, moves: Any) -> Any:
        return np.zeros(len(moves))
