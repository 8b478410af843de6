"""Plackett-Luce strengths of agents from the order in which they finish."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from domsim.errors import DomsimError
from domsim.stats import Floats, Interval, bootstrap_each

Integers = npt.NDArray[np.int64]

_MOST_STEPS = 100_000
_TOLERANCE = 1e-11


@dataclass(frozen=True, slots=True)
class _Choices:
    """Finishes read as choices: who came next out of those still to come. Equal finishes are read once."""

    kind: Integers
    """`(R,)`: number of the distinct finish behind each given one."""
    remaining: Floats
    """`(T, A)`: how many seats of each agent were still to come, for each distinct situation."""
    finish: Integers
    """`(E,)`: the distinct finish that an entry belongs to."""
    situation: Integers
    """`(E,)`: its row of `remaining`."""
    chosen: Integers
    """`(E,)`: the agent that came next."""
    share: Floats
    """`(E,)`: in which share of the orders that break the ties of that finish."""


def plackett_luce(agents: npt.ArrayLike, places: npt.ArrayLike | None = None) -> Floats:
    """Plackett-Luce strengths that sum to 1, by the MM algorithm of Hunter (Annals of Statistics, 2004).

    agents: `(R, S) int64`: finish, seat: number of the agent there, -1 for none. An agent may hold several seats.
    places: `(R, S)`: the seat's place, smaller is better; without it a row of `agents` is an order, first to last.
    A tie counts as the average of all orders that break it. Returns `(A,) float64`: agent.
    Agents that never came before any of those at the top have strength 0, the limit of the likelihood.

    Raises:
        DomsimError: wrong shapes or numbers, or agents that no chain of finishes compares, such as one never seated.
    """
    choices = _read_choices(agents, places)
    return _fit(choices, np.bincount(choices.kind).astype(np.float64))


def plackett_luce_intervals(
    agents: npt.ArrayLike,
    places: npt.ArrayLike | None,
    deals: npt.ArrayLike,
    repetitions: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> list[Interval]:
    """`plackett_luce` with bootstrap intervals by deal, one for each agent.

    agents, places: as in `plackett_luce`. deals: `(R,) int64`: the deal each finish was played on.

    Raises:
        DomsimError: as `plackett_luce`, for the finishes given or for those of a draw; as `bootstrap_each`.
    """
    choices = _read_choices(agents, places)
    found, deal = np.unique(np.asarray(deals), return_inverse=True)
    if deal.shape != choices.kind.shape:
        raise DomsimError(
            f"deals has shape {deal.shape}; one deal for each finish is needed, shape {choices.kind.shape}"
        )
    # A deal is reduced to how often each distinct finish occurred on it: drawing deals is then adding up rows.
    counts = np.zeros((found.size, int(choices.kind.max()) + 1))
    np.add.at(counts, (deal, choices.kind), 1)
    return bootstrap_each(counts, lambda rows: _fit(choices, rows.sum(axis=0)), repetitions, seed, level)


def _read_choices(agents: npt.ArrayLike, places: npt.ArrayLike | None) -> _Choices:
    seats, ranks = _check_finishes(agents, places)
    finishes, kind = np.unique(np.stack([seats, ranks], axis=1), axis=0, return_inverse=True)
    situations: dict[tuple[int, ...], int] = {}
    entries = [
        (finish, situations.setdefault(remaining, len(situations)), chosen, share)
        for finish, (row, order) in enumerate(finishes)
        for remaining, chosen, share in _choices_of(row.tolist(), order.tolist())
    ]
    remaining = np.zeros((len(situations), int(seats.max()) + 1))
    for number, held in enumerate(situations):
        np.add.at(remaining[number], list(held), 1)
    columns = list(zip(*entries, strict=True)) or [()] * 4
    finish, situation, chosen = (np.array(column, np.int64) for column in columns[:3])
    return _Choices(kind.reshape(-1), remaining, finish, situation, chosen, np.array(columns[3], np.float64))


def _check_finishes(agents: npt.ArrayLike, places: npt.ArrayLike | None) -> tuple[Integers, Integers]:
    """Agents by rank, and their ranks (how many came before), both `(R, S)`: equal finishes become equal rows."""
    seats = np.asarray(agents)
    if seats.ndim != 2 or not np.issubdtype(seats.dtype, np.integer) or seats.size == 0 or seats.min() < -1:
        raise DomsimError(
            f"agents is {seats.dtype} {seats.shape}; agent numbers from 0, or -1, of shape (finishes, seats)"
        )
    order = np.broadcast_to(np.arange(seats.shape[1]), seats.shape) if places is None else np.asarray(places)
    if order.shape != seats.shape:
        raise DomsimError(f"places has shape {order.shape}; it must have that of agents, {seats.shape}")
    if np.isnan(order[seats >= 0]).any():
        raise DomsimError("places holds nan; every seat with an agent needs a place")
    order = np.where(seats >= 0, order, np.inf)
    ranks = (order[:, None, :] < order[:, :, None]).sum(axis=2)
    # Seats play no part in a finish: sorted, the same result from two seatings is one and the same row.
    by_rank = np.lexsort((seats, ranks), axis=1)
    return np.take_along_axis(seats.astype(np.int64), by_rank, 1), np.take_along_axis(ranks, by_rank, 1)


def _choices_of(seats: list[int], ranks: list[int]) -> list[tuple[tuple[int, ...], int, float]]:
    """The choices of one finish: agents still to come (sorted), the one that came next, in which share of orders."""
    found = []
    seated = [(rank, agent) for rank, agent in zip(ranks, seats, strict=True) if agent >= 0]
    for rank in sorted({rank for rank, _ in seated}):
        tied = [agent for other, agent in seated if other == rank]
        later = [agent for other, agent in seated if other > rank]
        # Breaking a tie at random passes through each subset of one size equally often, then picks any of its members.
        for size in range(len(tied), 0, -1):
            for subset in itertools.combinations(tied, size):
                remaining = tuple(sorted([*subset, *later]))
                share = 1 / (math.comb(len(tied), size) * size)
                # Where one agent holds every seat still to come there is no choice.
                if remaining[0] != remaining[-1]:
                    found += [(remaining, agent, share) for agent in subset]
    return found


def _fit(choices: _Choices, counts: Floats) -> Floats:
    """Strengths `(A,)` when each distinct finish occurred `counts` `(K,)` times."""
    share = choices.share * counts[choices.finish]
    top = _top_agents(choices, share > 0)
    # The top's lead over agents that never came before it grows without bound: choices between its own remain.
    remaining = choices.remaining[:, top]
    kept = (np.count_nonzero(remaining, axis=1) > 1)[choices.situation]
    weights = _sums(choices.situation[kept], share[kept], len(remaining))
    wins = _sums(choices.chosen[kept], share[kept], top.size)
    strengths = np.zeros(top.size)
    strengths[top] = _maximise(remaining[weights > 0], weights[weights > 0], wins[top])
    return strengths


def _sums(groups: Integers, values: Floats, count: int) -> Floats:
    """Sum of the values of each group, `(count,)`."""
    return np.bincount(groups, values, count).astype(np.float64, copy=False)


def _maximise(remaining: Floats, weights: Floats, wins: Floats) -> Floats:
    """Hunter's MM step (section 5), repeated: `remaining` `(T, A)`, `weights` `(T,)`, `wins` and result `(A,)`."""
    strengths: Floats = np.full(wins.size, 1 / wins.size)
    if wins.size == 1:
        return strengths
    for _ in range(_MOST_STEPS):
        before = strengths
        strengths = wins / ((weights / (remaining @ strengths)) @ remaining)
        strengths /= strengths.sum()
        if np.abs(strengths - before).max() < _TOLERANCE:
            return strengths
    raise DomsimError(f"strengths did not settle in {_MOST_STEPS} steps; some agent is almost never beaten")


def _top_agents(choices: _Choices, used: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The agents `(A,)` that came before every other one, directly or through a chain of others.

    Raises:
        DomsimError: there are none, so that some two agents have no common scale.
    """
    agents = choices.remaining.shape[1]
    before = np.eye(agents)
    np.maximum.at(before, choices.chosen[used], choices.remaining[choices.situation[used]])
    for _ in range(agents.bit_length()):
        before = np.minimum(before @ before, 1)
    top: npt.NDArray[np.bool_] = np.all(before > 0, axis=1)
    if not top.any():
        raise DomsimError(f"no agent of {agents} is linked to all others by finishes; strengths need a common scale")
    return top
