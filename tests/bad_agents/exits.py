"""Ends the process, or tries to."""

import os
import sys
from typing import Any


class Exits:
    """Leaves politely, or at once."""

    def __init__(self, at_once: int = 0) -> None:
        self.at_once = at_once

    def score(self, moves: Any) -> Any:
        if self.at_once:
            os._exit(7)
        sys.exit("enough")
