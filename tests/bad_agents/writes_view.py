"""Sets an attribute of its view."""

from typing import Any


class Writes:
    """Any action, from another seat."""

    def choose(self, view: Any) -> Any:
        view.seat = 0
        return view.legal[0]
