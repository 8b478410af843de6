"""Hands and tiles on the table: what the games' rules do with them alike."""

import numpy as np
import numpy.typing as npt

from domsim.core.compiled import State, gather, index, popcount, rule, same
from domsim.core.game import MAX_SEATS
from domsim.core.rng import DECISION_STREAM, child, word
from domsim.tiles import HIGH, LOW, tile_count

#: tiles that have their bits in one word: those of the double-nine set
FIRST_TILES = tile_count(9)


def _tiles_with(first: int, last: int) -> npt.NDArray[np.int64]:
    """Tiles `first` to `last - 1` that show a number, a bit each, `(16,)`: number."""
    tiles = range(first, last)
    return np.array([sum(1 << t - first for t in tiles if v in (HIGH[t], LOW[t])) for v in range(16)], np.int64)


#: Tiles that show a number among the first ones and among the others, and how many there are among the first.
_FIRST_WITH, _OTHERS_WITH = _tiles_with(0, FIRST_TILES), _tiles_with(FIRST_TILES, len(HIGH))
_FIRST_COUNT = np.bitwise_count(_FIRST_WITH).astype(np.int64)


@rule
def begin_round(s: State, top: int) -> None:
    """Clear what belongs to one round and set its random streams; no tiles yet."""
    s.round_number += 1
    s.round_key = child(child(s.key, 1), s.round_number)
    decisions = child(s.round_key, DECISION_STREAM)
    for i in range(s.seats):
        q = index(i)
        s.decision_key[q] = word(decisions, s.stream[q] * MAX_SEATS + i)
    clear_round(s, top)


@rule
def clear_round(s: State, top: int) -> None:
    """Empty hands and table. (Loops of fixed length, here and below: the compiler makes a few wide stores of them.)"""
    s.ply = 0
    s.chosen = -1
    s.redeals = 0
    s.last = -1
    s.laid = 0
    s.over = 0
    s.blocked = 0
    s.winner = -1
    for v in range(s.unseen.size):
        s.unseen[v] = (1 << (top + 1)) - 1 if v <= top else 0
    for q in range(s.points.size):
        s.points[q] = 0
        s.passes[q] = 0
        s.draws[q] = 0
        s.decisions[q] = 0
        s.shown[q] = 0


@rule
def clear_hands(s: State) -> None:
    """Take all tiles out of all hands."""
    for q in range(s.count.size):
        s.count[q] = 0
        s.pips[q] = 0
        s.doubles[q] = 0
        for v in range(s.unseen.size):
            s.hand[q, v] = 0


@rule
def hold(s: State, seat: int, tile: int) -> None:
    """Put a tile into a hand."""
    q, t = index(seat), index(tile)
    a, b = index(HIGH[t]), index(LOW[t])
    s.hand[q, a] |= 1 << b
    s.hand[q, b] |= 1 << a
    s.pips[q] += int(HIGH[t] + LOW[t])  # int: uncompiled, numpy would stay with int8
    s.doubles[q] += a == b
    s.count[q] += 1


@rule
def deal_hands(s: State, hand_size: int) -> None:
    """Give every seat its tiles from the top of the shuffle: seat 0 the first `hand_size`, and so on.

    As `hold` would for every tile; but a hand is first one bit a tile, from which the rows are then cut out: that is
    faster. What a game with few tiles does not need is known when it is compiled.
    """
    small = s.stock.size <= FIRST_TILES + 1
    for seat in range(s.seats):
        q = index(seat)
        first = np.int64(0)
        others = np.int64(0)
        for i in range(hand_size * seat, hand_size * (seat + 1)):
            t = index(s.stock[index(i)])
            if small or t < FIRST_TILES:
                first |= np.int64(1) << t
            else:
                others |= np.int64(1) << t - FIRST_TILES
        pips = 0
        doubles = 0
        for v in range(s.unseen.size):
            row = gather(int(first), _FIRST_WITH[v])
            if not small:
                row |= gather(int(others), _OTHERS_WITH[v]) << _FIRST_COUNT[v]
            s.hand[q, v] = row
            pips += pips_of_row(row, v)
            doubles += row >> v & 1
        s.pips[q] = pips
        s.doubles[q] = doubles
        s.count[q] = hand_size


@rule
def lay(s: State, a: int, b: int) -> None:
    """Move a tile from the hand of the seat to move to the table."""
    q = index(s.seat)
    s.hand[q, a] &= ~(1 << b)
    s.hand[q, b] &= ~(1 << a)
    s.unseen[a] &= ~(1 << b)
    s.unseen[b] &= ~(1 << a)
    s.pips[q] -= a + b
    s.count[q] -= 1
    s.laid += 1
    s.last = s.seat


@rule
def pips_of_row(row: int, number: int) -> int:
    """The part of a row of a hand in its pips: added over all rows it gives the pips of the hand."""
    return int(popcount(row) * number + (row >> number & 1) * number)


@rule
def count_held(s: State, top: int) -> None:
    """Count the tiles of every number in all hands (`s.held`), for games that test for a block."""
    for v in range(top + 1):
        s.held[v] = 0
        for q in range(s.seats):
            s.held[v] += popcount(s.hand[index(q), index(v)])


@rule
def doubles_held(s: State, seat: int) -> int:
    """How many doubles a hand holds."""
    n = 0
    for v in range(s.unseen.size):
        n += s.hand[index(seat), v] >> v & 1
    return int(n)


@rule
def holder_of_highest_double(s: State, top: int) -> int:
    """The seat with the highest double in the hands; -1 when no hand has one."""
    for v in range(top, -1, -1):
        for q in range(s.seats):
            if (s.hand[q, index(v)] >> v) & 1 != 0:
                return q
    return -1


@rule
def layer_of(s: State, number: int) -> int:
    """The seat whose play put a number last at an end that still shows it; -1: no end does."""
    seat = -1
    latest = -1
    for line in range(s.end.size):
        if s.end[line] == number and s.layer_ply[line] > latest:
            latest = s.layer_ply[line]
            seat = s.layer[line]
    return seat


@rule
def next_seat(s: State, seat: int) -> int:
    """The seat that plays after this one."""
    following = seat + 1
    return 0 if following == s.seats else following


@rule
def lowest_hand(s: State) -> int:
    """The seat with the fewest pips; -1 when two or more tie."""
    best = 0
    tied = False
    for q in range(1, s.seats):
        if s.pips[q] < s.pips[best]:
            best = q
            tied = False
        elif s.pips[q] == s.pips[best]:
            tied = True
    return -1 if tied else best


@rule
def kept_of(s: State, seat: int, number: int, a: int, b: int) -> int:
    """Tiles of a number left in the hand once tile `a-b` is laid, as bits."""
    return int(s.hand[index(seat), number] & ~(same(a, number) << b | same(b, number) << a))


@rule
def unseen_of(s: State, seat: int, number: int) -> int:
    """How many tiles of a number are neither laid nor in this seat's hand."""
    return popcount(s.unseen[number] & ~s.hand[index(seat), number])
