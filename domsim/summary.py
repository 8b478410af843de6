"""What a run says about its agents: sums by deal, and estimates with intervals that have the deal as their unit."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from domsim import stats
from domsim.games import Game

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Measure:
    """One number about an agent: a sum over a deal's matches, over another such sum."""

    name: str
    title: str
    note: str
    over: str  # column of `DEAL_SUMS` that it is divided by
    scale: int = 1  # shown times this: 100 for percent
    digits: int = 2  # shown behind the point


#: what is summed for every deal, pairing and agent
DEAL_SUMS = (
    "matches",  # matches of the deal the agent took part in
    "seats",  # its seats in them
    "rounds",  # rounds of these matches
    "seat_rounds",  # its seats, once a round
    "share",  # of the matches won: won seats over all winners' seats
    "score",  # at the end, summed over its seats
    "points",  # of rounds, summed over its seats
    "blocked",  # rounds blocked
    "out",  # rounds in which one of its seats (or its side) went out
    "passes",
    "draws",
    "decisions",
    "rank",  # at the end, from 1, ties share the mean, summed over its seats
    "title_1",  # matches won with the game's first name for an end
    "title_2",
    "closed",  # blocked rounds whose last play was the agent's
    "closed_won",  # of these, those its side won
    "closed_points",  # and the points it won or lost in them
    "made_rivals_pass",  # passes of rivals on numbers it put there last; shared when there were several
    "made_partner_pass",
    "made_itself_pass",
)

MEASURES = {
    m.name: m
    for m in (
        Measure("win_share", "win %", "matches won, a shared win as its part", "matches", 100, 1),
        Measure("points_match", "points/match", "score at the end of a match, a seat", "seats", 1, 1),
        Measure("points_round", "points/round", "points of a round, a seat", "seat_rounds", 1, 1),
        Measure("block_rate", "blocked %", "rounds that ended blocked", "rounds", 100, 1),
        Measure("out_rate", "out %", "rounds in which the agent emptied its hand, a seat", "seat_rounds", 100, 1),
        Measure("passes_round", "passes/round", "passes of a round, a seat", "seat_rounds"),
        Measure("draws_round", "draws/round", "tiles drawn in a round, a seat", "seat_rounds"),
        Measure("decisions_round", "decisions/round", "choices among two or more, of a round, a seat", "seat_rounds"),
        Measure("mean_rank", "rank", "place at the end of a match, ties share the mean", "seats"),
        Measure("closed_share", "closed %", "blocked rounds whose last play it made", "blocked", 100, 1),
        Measure("closed_won_share", "closer won %", "blocked rounds it closed that its side won", "closed", 100, 1),
        Measure("closed_points", "closer points", "points of a round it closed: won, less those lost", "closed", 1, 1),
        Measure("rivals_pass", "rivals pass", "passes of rivals in a round on numbers it put there", "rounds"),
        Measure("partner_passes", "partner passes", "passes of its partner on numbers it put there", "rounds"),
        Measure("itself_passes", "itself passes", "its own passes on numbers it put there itself", "rounds"),
        Measure("title_1", "", "matches won with this name", "matches", 100, 1),
        Measure("title_2", "", "matches won with this name", "matches", 100, 1),
    )
}
_NUMERATORS = {
    "win_share": "share",
    "points_match": "score",
    "points_round": "points",
    "block_rate": "blocked",
    "out_rate": "out",
    "passes_round": "passes",
    "draws_round": "draws",
    "decisions_round": "decisions",
    "mean_rank": "rank",
    "closed_share": "closed",
    "closed_won_share": "closed_won",
    "closed_points": "closed_points",
    "rivals_pass": "made_rivals_pass",
    "partner_passes": "made_partner_pass",
    "itself_passes": "made_itself_pass",
    "title_1": "title_1",
    "title_2": "title_2",
}
#: what `blocking` shows
BLOCKING = ("closed_share", "closed_won_share", "closed_points", "rivals_pass", "partner_passes", "itself_passes")
#: and their columns, which are called like them
BLOCKING_COLUMNS = {measure: measure for measure in BLOCKING}
SUMS_DTYPE = np.dtype([("deal", "<i8"), ("pairing", "<i2"), ("agent", "<i2"), *((name, "<f8") for name in DEAL_SUMS)])


def sums_by_deal(
    game: Game, meta: Array, agents: Array, matches: Array, rounds: Array, passes: Array, roster: int
) -> Array:
    """Sums for every deal, pairing and agent, `(G,) SUMS_DTYPE`, in ascending order of the three.

    Args:
        meta: `(N,)` deal, pairing, seating of every match. agents: `(N, S)`: match, seat; numbers of the roster.
        matches, rounds, passes: from a batch, in order of match. roster: how many agents there are.
    """
    seats = agents.shape[1]
    by_match = _sums_by_match(game, matches, rounds, seats) | _blocking_by_match(game, rounds, passes, agents.shape)
    key = (meta["deal"][:, None] * 2**15 + meta["pairing"][:, None]) * roster + agents  # (N, S)
    keys, group = np.unique(key, return_inverse=True)
    group = group.reshape(key.shape)
    out = np.zeros(len(keys), SUMS_DTYPE)
    out["agent"] = keys % roster
    out["pairing"] = keys // roster % 2**15
    out["deal"] = keys // roster // 2**15
    first_seat = _first_of_agent(agents)
    for name in DEAL_SUMS:
        values = np.broadcast_to(by_match[name], key.shape)
        if name in ("matches", "rounds", "blocked", "title_1", "title_2"):  # once a match, not once a seat
            values = values * first_seat
        out[name] = np.bincount(group.ravel(), values.ravel(), len(keys))
    return out


def _first_of_agent(agents: Array) -> Array:
    """1 at the first seat of every agent of a match, else 0, `(N, S)`."""
    first = np.ones(agents.shape, np.float64)
    for seat in range(1, agents.shape[1]):
        first[:, seat] = ~(agents[:, :seat] == agents[:, seat : seat + 1]).any(axis=1)
    return first


def _sums_by_match(game: Game, matches: Array, rounds: Array, seats: int) -> dict[str, Array]:
    """What `DEAL_SUMS` names, for every match and seat, `(N, S)` or `(N, 1)`."""
    starts = np.flatnonzero(np.diff(rounds["match"], prepend=-1))

    def total(values: Array) -> Array:
        summed: Array = np.add.reduceat(values, starts, axis=0, dtype=np.float64)
        return summed if summed.ndim == 2 else summed[:, None]

    won = matches["won"][:, :seats].astype(np.float64)
    number = matches["rounds"].astype(np.float64)[:, None]
    went_out = (rounds["tiles"][:, :seats] == 0) & (rounds["blocked"] == 0)[:, None]
    winners = won.sum(axis=1, keepdims=True)
    ended = winners[:, 0] > 0
    score = matches["score"][:, :seats].astype(np.float64)
    return {
        "matches": np.ones_like(number),
        "seats": np.ones_like(won),
        "rounds": number,
        "seat_rounds": np.broadcast_to(number, won.shape),
        "share": np.divide(won, winners, out=np.zeros_like(won), where=winners > 0),
        "score": score,
        "points": total(rounds["points"][:, :seats]),
        "blocked": total(rounds["blocked"]),
        "out": total(went_out),
        "passes": total(rounds["passes"][:, :seats]),
        "draws": total(rounds["draws"][:, :seats]),
        "decisions": total(rounds["decisions"][:, :seats]),
        "rank": _ranks(score if game.low_wins else -score),
        "title_1": ((matches["title"] == 1) & ended)[:, None] * won,
        "title_2": ((matches["title"] == 2) & ended)[:, None] * won,
    }


def _blocking_by_match(game: Game, rounds: Array, passes: Array, shape: tuple[int, ...]) -> dict[str, Array]:
    """Who closed blocked rounds and who made whom pass, for every match and seat, `(N, S)`."""
    blocked = rounds[rounds["blocked"] == 1]
    last = blocked["last"].astype(np.int64)
    place = (blocked["match"], last)
    side = last % 2 if game.partners else last
    own = blocked["points"][np.arange(len(blocked)), last]
    others = blocked["points"][np.arange(len(blocked)), (last + 1) % shape[1]] if game.partners else 0
    return {
        "closed": _count(place, np.ones(len(blocked)), shape),
        "closed_won": _count(place, blocked["winner"] == side, shape),
        "closed_points": _count(place, own - others, shape),
        **_passes_by_match(game, passes, shape),
    }


def _passes_by_match(game: Game, passes: Array, shape: tuple[int, ...]) -> dict[str, Array]:
    """Passes that a seat's plays made others do; one on several numbers is shared between who put them there."""
    starts = np.flatnonzero(np.diff(passes["ply"], prepend=-1) | np.diff(passes["match"], prepend=-1))
    numbers = np.diff(starts, append=len(passes))
    part = np.repeat(1 / numbers, numbers)
    distance = (passes["by"] - passes["seat"].astype(np.int64)) % shape[1]
    partner = (distance == shape[1] // 2) & game.partners
    found = {}
    for name, which in (
        ("made_itself_pass", distance == 0),
        ("made_partner_pass", partner),
        ("made_rivals_pass", (distance != 0) & ~partner),
    ):
        found[name] = _count((passes["match"][which], passes["by"][which].astype(np.int64)), part[which], shape)
    return found


def _count(place: tuple[Array, Array], values: Array, shape: tuple[int, ...]) -> Array:
    """Sums of values by match and seat."""
    flat = np.bincount(place[0] * shape[1] + place[1], values, shape[0] * shape[1])
    counted: Array = flat.reshape(shape)
    return counted


def blocking(game: Game, sums: Array, agents: list[str]) -> pd.DataFrame:
    """One row an agent: the measures of `BLOCKING` with the bounds of their 95 % intervals by deal."""
    return _table(sums, agents, BLOCKING_COLUMNS)


def _ranks(values: Array) -> Array:
    """Places from 1, the smallest value first, ties share the mean, `(N, S)`."""
    below = (values[:, :, None] > values[:, None, :]).sum(axis=2)
    equal = (values[:, :, None] == values[:, None, :]).sum(axis=2)
    ranks: Array = below + (equal + 1) / 2
    return ranks


def add_sums(parts: list[Array]) -> Array:
    """Sums of several chunks, one after another."""
    return np.concatenate([np.zeros(0, SUMS_DTYPE), *parts])


def of_agent(sums: Array, number: int) -> Array:
    """An agent's sums, one row a deal over all its pairings, in order of deal."""
    rows: Array = sums[sums["agent"] == number]
    starts = np.flatnonzero(np.diff(rows["deal"], prepend=-1))
    if len(starts) == len(rows):
        return rows
    out: Array = rows[starts]
    for name in DEAL_SUMS:
        out[name] = np.add.reduceat(rows[name], starts)
    out["pairing"] = -1
    return out


def estimate(sums: Array, measure: str, level: float = 0.95) -> stats.Interval:
    """A measure of one agent from its rows, one a deal, with its interval by deal."""
    return stats.ratio(sums[_NUMERATORS[measure]], sums[MEASURES[measure].over], level)


def summary(game: Game, sums: Array, agents: list[str]) -> pd.DataFrame:
    """One row an agent: every measure of the game with the bounds of its 95 % interval by deal, best agent first."""
    frame = _table(sums, agents, summary_columns(game))
    return frame.sort_values("win_share", ascending=False, kind="stable").reset_index(drop=True)


def _table(sums: Array, agents: list[str], measures: dict[str, str]) -> pd.DataFrame:
    """One row an agent; `measures` and the columns they have there."""
    rows = []
    for number, name in enumerate(agents):
        own = of_agent(sums, number)
        row: dict[str, Any] = {"agent": name, "deals": len(own), "matches": int(own["matches"].sum())}
        for measure, label in measures.items():
            found = estimate(own, measure)
            row |= {label: found.estimate, f"{label}_low": found.low, f"{label}_high": found.high}
        rows.append(row)
    return pd.DataFrame(rows)


def pair_table(game: Game, sums: Array, agents: list[str], pairs: list[tuple[int, ...]]) -> pd.DataFrame:
    """One row a pairing of two: the first one's win share, its interval, the paired difference's p value with Holm."""
    rows = []
    for pairing, pair in enumerate(pairs):
        if len(pair) != 2:
            continue
        own = sums[sums["pairing"] == pairing]
        a, b = (own[own["agent"] == number] for number in pair)
        compared = stats.paired(a["share"] / a["seats"], b["share"] / b["seats"])
        share_a = a["share"] / a["matches"]
        found = stats.interval(share_a)
        rows.append(
            {
                "agent": agents[pair[0]],
                "rival": agents[pair[1]],
                "deals": found.n,
                "deals_differing": compared.differing,
                "win_share": found.estimate,
                "win_share_low": found.low,
                "win_share_high": found.high,
                "p_value": compared.p_value,
            }
        )
    frame = pd.DataFrame(rows)
    if len(frame):
        frame["p_value_holm"] = stats.holm(frame["p_value"].to_numpy())
    return frame


def summary_columns(game: Game) -> dict[str, str]:
    """The measures of a game's summary, and their columns there."""
    return {measure: measure_name(game, measure) for measure in game.measures}


def measure_title(measure: str, column: str) -> str:
    """The head of a measure's column where a person reads it."""
    return MEASURES[measure].title or f"{column} %"


def measure_name(game: Game, measure: str) -> str:
    """The column of a measure: a title's measure has the title's name."""
    return game.titles[int(measure[-1])] if measure.startswith("title_") else measure
