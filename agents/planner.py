"""A vector agent for `mexican` that plans the chain of its own train, tile by tile, to the end.

Most of a round is decided by the chain in the own hand: a weights file knows of it what the feature `own_chain` finds
going always on to the smallest number. Here every legal action is followed by a search in the tiles that it would
leave: which chain could the own train go on with, and what is it worth?
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from domsim.moves import Moves

#: what a play is worth beside the chain it leaves, in pips; every other feature is left alone
WEIGHTS = {
    "pips": 1.0,  # a point of penalty saved
    "double": 20.0,  # a double brings another play, and it fits one number only
    "own_train": 2.0,
    "public_train": 2.5,
    "unmarks": 6.0,  # a train that is marked open is everybody's
    "own_fits": 1.5,
    "suit_new": 1.0,
    "unseen_new": -0.6,  # many unseen tiles of a number: the others go on from it
    "next_lacks_new": 3.0,
    "stop": -100.0,  # every tile laid in the first turn is one less to be left with
}
#: steps of one search; after that it goes on with the first tile it finds, whatever that leads to
STEPS = 600


class Planner:
    """Plans the best chain of its own train from its hand, and plays what leaves the most of it."""

    games = ("mexican",)
    features = tuple(WEIGHTS)

    def __init__(self, tile: float = 8.0, keep: float = 0.8) -> None:
        """Set what a chain is worth.

        Args:
            tile: what a tile of the chain is worth beside its pips.
            keep: what a tile of the chain keeps of its worth for every turn that it has to wait. In a first turn it
                is 1: there the chain is laid at once.
        """
        self._tile = tile
        self._keep = keep
        self._weights = np.array(list(WEIGHTS.values()))

    def score(self, moves: Moves) -> npt.NDArray[np.float64]:
        """The weighted features of every action, and the worth of the best chain it leaves, `(M,)`."""
        columns = np.stack([moves[name] for name in WEIGHTS], axis=1)
        scores: npt.NDArray[np.float64] = columns @ self._weights
        view = moves.view
        at_once = (view["lap_over"] == 0) & (view["first_turn"] == 0)
        ends = view["end"][np.arange(len(moves)), view["seat"]].tolist()
        hands = [tuple(rows) for rows in view["hand"].tolist()]
        keep = np.where(at_once, 1.0, self._keep).tolist()
        seats = view["seat"].tolist()
        actions = zip(moves.decision.tolist(), moves.tile.tolist(), moves.line.tolist(), moves.new.tolist(), strict=True)
        scores += [
            0.0
            if tile < 0  # a stop, or a draw
            else best_chain(without(hands[d], tile), new if line == seats[d] else ends[d], self._tile, keep[d])
            for d, tile, line, new in actions
        ]
        return scores


@lru_cache(maxsize=2**16)
def without(hand: tuple[int, ...], tile: int) -> tuple[int, ...]:
    """A hand, rows of bits, without one tile."""
    high = next(h for h in range(13) if (h + 1) * (h + 2) // 2 > tile)
    low = tile - high * (high + 1) // 2
    rows = list(hand)
    rows[high] &= ~(1 << low)
    rows[low] &= ~(1 << high)
    return tuple(rows)


@lru_cache(maxsize=2**18)
def best_chain(hand: tuple[int, ...], end: int, tile: float, keep: float) -> float:
    """The most that a chain of these tiles is worth that begins at a number: a function of its arguments alone.

    The caches, here and above, only save time: hands come back, as long as the tiles of the chain are not touched.
    """
    return _Search(hand, tile, keep).worth_from(end)


class _Search:
    """A search, depth first, over the tiles of a hand; what is left of a hand is looked at once for every end."""

    def __init__(self, hand: tuple[int, ...], tile: float, keep: float) -> None:
        self._rows = list(hand)
        self._tile = tile
        self._keep = keep
        self._steps = STEPS
        self._known: dict[tuple[int, ...], float] = {}

    def worth_from(self, end: int) -> float:
        """What the best chain is worth from here, of the tiles not yet used."""
        rows = self._rows
        row = rows[end]
        if not row:
            return 0.0
        self._steps -= 1
        if row >> end & 1:  # a double leads on to the same number: never too early
            rows[end] = row ^ 1 << end
            worth = self._tile + 2 * end + self.worth_from(end)
            rows[end] = row
            return worth
        here = (end, *rows)
        if here in self._known:
            return self._known[here]
        best = 0.0
        while row and (self._steps > 0 or best == 0.0):
            new = row.bit_length() - 1
            row ^= 1 << new
            rows[end] ^= 1 << new
            rows[new] ^= 1 << end
            best = max(best, self._tile + end + new + self._keep * self.worth_from(new))
            rows[end] ^= 1 << new
            rows[new] ^= 1 << end
        self._known[here] = best
        return best
