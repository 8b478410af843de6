"""Never comes back once ten tiles are laid."""

from typing import Any


class Loops:
    """Heavy tiles."""

    def choose(self, view: Any) -> Any:
        while view.laid > 10:
            pass
        return view.legal[0]
