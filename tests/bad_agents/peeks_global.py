"""Has the batch kept in a global when it makes the moves."""

from typing import Any

from domsim import Batch

KEPT: list[Any] = []
make = Batch._moves


def make_and_keep(batch: Any, which: Any) -> Any:
    KEPT[:] = [batch, list(which)]
    return make(batch, which)


Batch._moves = make_and_keep  # type: ignore[method-assign]


class Peeks:
    """Leaves the next seat what it has not got."""

    def choose(self, view: Any) -> Any:
        batch, waiting = KEPT
        hand = batch._states[batch._decisions["slot"][waiting.pop(0)]]["hand"][(view.seat + 1) % view.seats]
        return min(view.legal, key=lambda action: int(hand[int(action.split("-")[0])]))
