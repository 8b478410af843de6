"""Answers with the place of the action and not with the action."""

from typing import Any


class Index:
    """The first action."""

    def choose(self, view: Any) -> Any:
        return 0
