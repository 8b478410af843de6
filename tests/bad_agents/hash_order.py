"""Depends on the order of a set of texts, which is another one in another process."""

from typing import Any


class Hashes:
    """The first legal action of a set."""

    def choose(self, view: Any) -> Any:
        return next(iter(set(view.legal)))
