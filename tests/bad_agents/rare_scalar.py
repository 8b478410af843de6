"""Fails at one decision in many."""

from typing import Any


class Rare:
    """Heavy tiles."""

    def __init__(self, one_in: int = 10_000) -> None:
        self.one_in = one_in

    def choose(self, view: Any) -> Any:
        number = int(view.random() * 2**32)
        if number % self.one_in == 0:
            raise KeyError("this hand was not thought of")
        return max(view.legal, key=lambda action: view.features[action]["pips"])
