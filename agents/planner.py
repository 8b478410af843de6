"""A vector agent for `mexican` that plans the chain of its own train, tile by tile.

Much of a round is decided by the chain in the own hand. A weights file knows of it what the feature `own_chain` finds,
going always on to the smallest number; here every legal action is followed by a search in the tiles that it leaves:
which chain could the own train go on with, and what is it worth?

A table of its own kind with 4 seats (150 matches of suite `train`): its first turns lay 10.5 tiles, those of `careful`
9.7, of `heaviest` 5.7. It is an example of a vector agent in plain Python, some hundred times slower than weights.
"""

import numpy as np
import numpy.typing as npt

from domsim.moves import Moves
from domsim.tiles import HIGH, LOW, tile_number

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
#: steps of the search that follows one action; after that it goes on with the first tile it finds, wherever that leads
STEPS = 100
#: numbers of the tiles: `TILES[a][b]` has the halves `a` and `b`
TILES = [[tile_number(a, b) for b in range(13)] for a in range(13)]


class Planner:
    """Plans the best chain of its own train from its hand, and plays what leaves the most of it."""

    games = ("mexican",)
    features = tuple(WEIGHTS)

    def __init__(self, tile: float = 8.0, keep: float = 0.6, far: int = 3, steps: int = STEPS) -> None:
        """Set what a chain is worth.

        Args:
            tile: what a tile of the chain is worth beside its pips.
            keep: what is left of the worth of a tile for every turn that it has to wait.
            far: how many turns ahead the chain is looked at. A first turn, where the chain is laid at once, is
                looked through to the end, and no tile of it has to wait.
        """
        self._tile = tile
        self._keep = keep
        self._far = far
        self._steps = steps

    def score(self, moves: Moves) -> npt.NDArray[np.float64]:
        """The weighted features of every action, and the worth of the best chain it leaves, `(M,)`."""
        view = moves.view
        scores = np.zeros(len(moves.action))
        for name, weight in WEIGHTS.items():  # one after another: a matrix product may round otherwise in other batches
            scores += weight * moves[name]
        at_once = (view["lap_over"] == 0) & (view["first_turn"] == 0)
        seats = view["seat"].tolist()
        ends = view["end"][np.arange(len(moves)), view["seat"]].tolist()
        tiles, lines, news = moves.tile.tolist(), moves.line.tolist(), moves.new.tolist()
        firsts = moves.first.tolist()
        for d, hand in enumerate(view["hand"].tolist()):
            keep, far = (1.0, len(HIGH)) if at_once[d] else (self._keep, self._far)
            search = _Search(hand, self._tile, keep, self._steps)
            for play in range(firsts[d], firsts[d + 1]):
                if tiles[play] >= 0:  # no stop
                    end = news[play] if lines[play] == seats[d] else ends[d]
                    scores[play] += search.after(tiles[play], end, far)
        return scores


class _Search:
    """A search for chains in the tiles of one hand, depth first; what is left of the hand is looked at once an end."""

    def __init__(self, hand: list[int], tile: float, keep: float, steps: int) -> None:
        self._rows = hand  # bit b of row a: tile a-b is there and not used
        self._tile = tile
        self._keep = keep
        self._most = steps
        self._steps = 0
        self._used = 0  # tiles used, as bits
        self._known: dict[tuple[int, int, int], float] = {}

    def _turn(self, a: int, b: int) -> None:
        """Use a tile, or put it back."""
        self._rows[a] ^= 1 << b
        if a != b:
            self._rows[b] ^= 1 << a
        self._used ^= 1 << TILES[a][b]

    def after(self, tile: int, end: int, far: int) -> float:
        """What the best chain of `far` turns is worth that begins at a number once a tile is laid."""
        a, b = int(HIGH[tile]), int(LOW[tile])
        self._steps = self._most
        self._turn(a, b)
        worth = self._from(end, far)
        self._turn(a, b)
        return worth

    def _from(self, end: int, far: int) -> float:
        row = self._rows[end]
        if not row or not far:
            return 0.0
        here = self._used, end, far
        if here in self._known:
            return self._known[here]
        self._steps -= 1
        best = 0.0
        if row >> end & 1:  # a double leads on to the same number, and brings another play: never too early
            row = 1 << end
        while row and (self._steps > 0 or best == 0.0):
            new = row.bit_length() - 1
            row ^= 1 << new
            self._turn(end, new)
            rest = self._from(new, far) if new == end else self._keep * self._from(new, far - 1)
            self._turn(end, new)
            best = max(best, self._tile + end + new + rest)
        if self._steps > 0:
            self._known[here] = best
        return best
