"""Draws from the generator that everybody shares."""

import random
from typing import Any


class Draws:
    """Any action."""

    def choose(self, view: Any) -> Any:
        return random.choice(view.legal)
