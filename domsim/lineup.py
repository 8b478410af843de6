"""Lineups: which agent sits where. Every deal is played in all seatings, so that no agent has the better seats.

| lineup | seats | seatings of a deal |
|---|---|---|
| `duel` | two agents alternate round the table | both rotations; odd tables: A B A and B A B, all rotations |
| `field` | one seat of A among seats of B | A in every seat |
| `mix` | as many agents as seats | a random cyclic order, new for each deal, in all rotations |

In a partnership game a duel is two of the one against two of the other, the teams swapped.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from domsim.core.rng import below, child, word
from domsim.errors import SpecError

LINEUPS = ("duel", "field", "mix")
#: child of a deal's key from which `mix` draws the order; the core uses 0 and 1
_MIX_STREAM = 2


@dataclass(frozen=True)
class Pairing:
    """Agents that meet on the same deals, by their numbers in the roster, and how they sit."""

    agents: tuple[int, ...]
    seatings: npt.NDArray[np.int16]  # (K, S): seating, seat; numbers of the roster


def pairings(lineup: str, seats: int, agents: int) -> list[Pairing]:
    """All pairings of a roster of this size; the seatings of `mix` are places in the order of a deal.

    Raises:
        SpecError: an unknown lineup, or a roster too small for it.
    """
    if lineup not in LINEUPS:
        raise SpecError(f"lineup: {lineup!r} is not allowed; allowed: {', '.join(LINEUPS)}")
    least = seats if lineup == "mix" else 2
    if agents < least:
        raise SpecError(f"lineup {lineup} with {seats} seats needs {least} agents or more; found {agents}")
    if lineup == "mix":
        return [Pairing(tuple(range(agents)), _rotations(tuple(range(seats))))]
    if lineup == "field":
        return [Pairing((a, b), _field(a, b, seats)) for a, b in itertools.permutations(range(agents), 2)]
    return [Pairing((a, b), _duel(a, b, seats)) for a, b in itertools.combinations(range(agents), 2)]


def _rotations(seating: tuple[int, ...]) -> npt.NDArray[np.int16]:
    return np.array([np.roll(seating, turn) for turn in range(len(seating))], np.int16)


def _duel(a: int, b: int, seats: int) -> npt.NDArray[np.int16]:
    first = tuple(a if seat % 2 == 0 else b for seat in range(seats))
    if seats % 2 == 0:
        return _rotations(first)[:2]
    second = tuple(b if seat % 2 == 0 else a for seat in range(seats))
    return np.concatenate([_rotations(first), _rotations(second)])


def _field(a: int, b: int, seats: int) -> npt.NDArray[np.int16]:
    return _rotations((a, *[b] * (seats - 1)))


def seat_agents(lineup: str, pairing: Pairing, key: int) -> Any:
    """The roster's numbers by seating and seat on one deal, `(K, S) int16`."""
    if lineup != "mix":
        return pairing.seatings
    return np.array(_drawn_order(pairing.agents, child(key, _MIX_STREAM)), np.int16)[pairing.seatings]


def _drawn_order(agents: tuple[int, ...], key: int) -> list[int]:
    order = list(agents)
    for i in range(len(order) - 1):
        j = i + below(word(key, i), len(order) - i)
        order[i], order[j] = order[j], order[i]
    return order
