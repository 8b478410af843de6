"""Determinized playouts: hidden tiles dealt at random among those that agree with everything public, then played out.

A position is a state made of a view: the mover's hand and the public facts, other hands empty (`restore`). The hidden
tiles are then given out, uniformly over all ways that agree with the hands' sizes and with what every seat has shown
(`sample`), and each legal action is played to the end of the round by a compiled agent. All actions of a decision are
tried on the same hands with the same random words.
"""

from typing import Any

import numpy as np

from domsim.core import table
from domsim.core.compiled import State, index, kernel, rule
from domsim.core.driver import play_on
from domsim.core.game import MAX_SEATS, finish_round, know, restore, worth
from domsim.core.rng import below, child, lower_half, word
from domsim.tiles import HIGH, LOW

#: Tiles of the largest set; the place after the last seat means the stock.
_MOST = 92
#: What is hidden from the mover, and who may hold it.
HIDDEN = np.dtype(
    [
        ("tile", "i2", _MOST),
        ("holder", "i2", _MOST),  # a seat, or `seats` for the stock
        ("number", "i8"),  # of hidden tiles
        ("lacks", "i8", MAX_SEATS + 1),  # numbers a seat is known to lack, as bits
        ("lacks_double", "i8", MAX_SEATS + 1),  # doubles likewise
        ("double_room", "i8", MAX_SEATS + 1),  # doubles a hand can hold at most
        ("doubles", "i8", MAX_SEATS + 1),  # doubles it holds in this way of giving out the tiles
    ],
    align=True,
)
#: Swaps tried for every hidden tile: before the first way is taken, and between one and the next.
_FIRST_SWAPS, _SWAPS = 8, 2
_TRIES = 2000


@rule
def may_hold(h: Any, seat: int, tile: int) -> bool:
    """Whether what a seat has shown leaves room for a tile in its hand."""
    a, b = index(HIGH[index(tile)]), index(LOW[index(tile)])
    if (h.lacks[seat] >> a | h.lacks[seat] >> b) & 1 != 0:
        return False
    return not (a == b and h.lacks_double[seat] >> a & 1 != 0)


@rule
def begin_sample(s: State, h: Any, tiles: int, key: int) -> None:
    """List the hidden tiles, in random order, and give them out by the hands' sizes alone."""
    q = index(s.seat)
    n = 0
    for tile in range(tiles):
        a, b = index(HIGH[index(tile)]), index(LOW[index(tile)])
        if s.unseen[a] >> b & 1 != 0 and s.hand[q, a] >> b & 1 == 0:
            h.tile[n] = tile
            n += 1
    h.number = n
    for i in range(n - 1):
        j = i + below(word(key, i), n - i)
        tile = h.tile[j]
        h.tile[j] = h.tile[i]
        h.tile[i] = tile
    i = 0
    for seat in range(s.seats):
        h.doubles[seat] = 0
        if seat != s.seat:
            for _ in range(s.count[index(seat)]):
                h.holder[i] = seat
                i += 1
    h.doubles[s.seats] = 0
    while i < n:
        h.holder[i] = s.seats
        i += 1
    for i in range(n):
        h.doubles[h.holder[i]] += is_double(h.tile[i])


@rule
def is_double(tile: int) -> int:
    """1 for a double."""
    return int(HIGH[index(tile)] == LOW[index(tile)])


@rule
def faults(h: Any, i: int) -> int:
    """What is wrong with who holds the i-th hidden tile: 0 nothing."""
    seat, tile = h.holder[i], h.tile[i]
    crowded = is_double(tile) != 0 and h.doubles[seat] > h.double_room[seat]
    return int(crowded or not may_hold(h, seat, tile))


@rule
def swap(h: Any, i: int, j: int) -> None:
    """Let two hidden tiles change places."""
    change = is_double(h.tile[j]) - is_double(h.tile[i])
    h.doubles[h.holder[i]] += change
    h.doubles[h.holder[j]] -= change
    holder = h.holder[i]
    h.holder[i] = h.holder[j]
    h.holder[j] = holder


@rule
def mend(h: Any, key: int) -> bool:
    """Swap tiles that may not be where they are, until all agree with what was shown; False when that fails."""
    n = h.number
    for attempt in range(_TRIES):
        bad = -1
        start = below(word(key, 2 * attempt), n) if n > 0 else 0
        for k in range(n):
            i = start + k
            if i >= n:
                i -= n
            if faults(h, i) != 0:
                bad = i
                break
        if bad < 0:
            return True
        first = below(word(key, 2 * attempt + 1), n)
        chosen = first
        for k in range(n):
            j = first + k
            if j >= n:
                j -= n
            if h.holder[j] != h.holder[bad] and may_hold(h, h.holder[j], h.tile[bad]):
                chosen = j
                if may_hold(h, h.holder[bad], h.tile[j]):
                    break
        swap(h, bad, chosen)
    return False


@rule
def mix(h: Any, swaps: int, key: int) -> None:
    """Random swaps that keep agreeing: a walk whose every way of giving out the tiles is equally likely in the end."""
    n = h.number
    for k in range(swaps):
        w = word(key, k)
        i, j = below(w, n), below(lower_half(w), n)
        p, q = h.holder[i], h.holder[j]
        if p != q and may_hold(h, p, h.tile[j]) and may_hold(h, q, h.tile[i]):
            swap(h, i, j)
            if h.doubles[p] > h.double_room[p] or h.doubles[q] > h.double_room[q]:
                swap(h, i, j)


@rule
def give_out(s: State, h: Any) -> None:
    """Put the hidden tiles into the hands, the others into the stock, in the order they are listed."""
    left = 0
    for seat in range(s.seats):
        if seat != s.seat:
            s.count[index(seat)] = 0
            s.pips[index(seat)] = 0
            for v in range(s.unseen.size):
                s.hand[index(seat), v] = 0
    for i in range(h.number):
        if h.holder[i] < s.seats:
            table.hold(s, h.holder[i], h.tile[i])
        else:
            s.stock[left] = h.tile[i]
            left += 1
    table.count_held(s, 12)


@rule
def shuffle_stock(h: Any, seats: int, key: int) -> None:
    """The tiles of the stock in a new order (its places are those of the list)."""
    n = h.number
    for i in range(n):
        if h.holder[i] == seats:
            j = below(word(key, i), n)
            if h.holder[j] == seats:
                tile = h.tile[j]
                h.tile[j] = h.tile[i]
                h.tile[i] = tile


@rule
def play_out(s: State, w: Any, agents: Any, c: Any) -> None:
    """Play the round to its end."""
    while s.over == 0:
        play_on(s, w, agents, c)
    finish_round(s)


@kernel
def evaluate(
    views: Any, first: Any, action: Any, random: Any, states: Any, hidden: Any, work: Any, control: Any,
    agents: Any, tiles: Any, ways: Any, total: Any, squares: Any,
) -> Any:  # fmt: skip
    """Mean worth of every legal action over `ways` random ways of giving out the hidden tiles.

    Args:
        views: `(D,)` the game's `VIEW`. first: `(D + 1,) int64`. action: `(M,) int32`. random: `(D,) uint32`.
        states: `(3,) STATE`, with rules and seats set. hidden: `(1,) HIDDEN`. work, control: as in `advance`.
        agents: `(1,) agent_dtype`, who plays out. tiles: of the set. ways: `(D,) int64`, how many; written: how many
            were played. total, squares: `(M,) float64`, sums of the worth and of its square, written.

    Returns:
        the first decision whose hidden tiles could not be given out; -1: none.
    """
    w, c, h = work[0], control[0], hidden[0]
    position, filled, scratch = states[0], states[1], states[2]
    for d in range(views.size):
        restore(position, views[d])
        know(position, h)
        h.double_room[position.seats] = _MOST
        h.lacks[position.seats] = 0
        h.lacks_double[position.seats] = 0
        key = child(word(0, 1), random[d])
        begin_sample(position, h, tiles, child(key, 0))
        if not mend(h, child(key, 1)):
            return d
        mix(h, _FIRST_SWAPS * h.number, child(key, 2))
        for q in range(position.seats):
            position.agent[q] = 0
        for way in range(ways[d]):
            round_key = child(key, 3 + way)
            mix(h, _SWAPS * h.number, child(round_key, 0))
            shuffle_stock(h, position.seats, child(round_key, 1))
            states[1] = states[0]
            give_out(filled, h)
            for q in range(filled.seats):
                filled.decision_key[q] = word(round_key, q)
            for m in range(first[d], first[d + 1]):
                states[2] = states[1]
                scratch.chosen = action[m]
                play_out(scratch, w, agents, c)
                value = np.float64(worth(scratch, position.seat))
                total[m] += value
                squares[m] += value * value
    return -1


@kernel
def sample_many(views: Any, states: Any, hidden: Any, tiles: Any, random: Any, holders: Any) -> Any:
    """Ways of giving out the hidden tiles of one decision, for tests: `holders (N, 92) int64`, way and tile number.

    Returns:
        whether there is a way.
    """
    h = hidden[0]
    s = states[0]
    restore(s, views[0])
    know(s, h)
    h.double_room[s.seats] = _MOST
    h.lacks[s.seats] = 0
    h.lacks_double[s.seats] = 0
    key = child(word(0, 1), random)
    begin_sample(s, h, tiles, child(key, 0))
    if not mend(h, child(key, 1)):
        return False
    mix(h, _FIRST_SWAPS * h.number, child(key, 2))
    for way in range(holders.shape[0]):
        mix(h, _SWAPS * h.number, child(child(key, 3 + way), 0))
        for i in range(h.number):
            holders[way, h.tile[i]] = h.holder[i]
    return True
