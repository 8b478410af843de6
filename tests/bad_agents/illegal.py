"""Lays a tile it has not got."""

from typing import Any


class Illegal:
    """The double nine, always."""

    def choose(self, view: Any) -> Any:
        return "9-9>L"
