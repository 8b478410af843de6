"""Plots of a run. Every function draws into the axes it is given, or into a new figure's, and returns the axes.

Nothing global is touched: no style and no pyplot, so the figure to show or save is `ax.figure` (a notebook cell's last
value, or `ax.figure.savefig("plot.png")`). Text takes the colours of the style in force, and colour is never all that
tells two things apart. Intervals are 95 %, by deal; n counts deals.
"""

import itertools
import math
import re
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from domsim import stats
from domsim.errors import DomsimError
from domsim.results import ENDINGS
from domsim.tournament import Plan

Array = npt.NDArray[Any]
#: of Okabe and Ito: told apart by the colour-blind, and one lighter than the other in grey
BLUE, ORANGE = "#0072B2", "#E69F00"
#: inches; a new figure is this wide, or wider when many agents need it
WIDTH = 5.4
_LINE = 0.17  # inches of a line of small text
_WRAP = 24  # characters of an agent's name in one line
_MOST_BINS = 70


class Cell(NamedTuple):
    """One number about an agent and a rival, with its interval and the deals behind it."""

    agent: str
    rival: str
    estimate: float
    low: float
    high: float
    deals: int


class Found(Protocol):
    """What a plot reads of a `run.Result`; anything that has these will do."""

    @property
    def plan(self) -> Plan: ...  # noqa: D102
    @property
    def sums(self) -> Any: ...  # noqa: D102
    @property
    def summary(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def matches(self) -> pd.DataFrame: ...  # noqa: D102
    @property
    def rounds(self) -> pd.DataFrame: ...  # noqa: D102


# --- the plots -------------------------------------------------------------------------------------------------------


def win_shares(result: Found, ax: Axes | None = None) -> Axes:
    """Every agent's share of the matches won, best first, with its interval and a line at the fair share."""
    summary = result.summary
    labels = [label(name) for name in summary["agent"]]
    heights = [max(1.8, 1 + text.count("\n")) * _LINE for text in labels]
    ax = ax or _new_axes(WIDTH, 1.2 + sum(heights))
    estimate, low, high = (100 * summary[f"win_share{end}"].to_numpy() for end in ("", "_low", "_high"))
    rows = np.arange(len(labels))
    ax.errorbar(estimate, rows, xerr=_arms(estimate, low, high), **_DOTS)
    fair = 100 * fair_share(result.sums)
    ax.axvline(fair, color=_ink(ax), linestyle="--", linewidth=1, zorder=1)
    for row in range(len(labels)):
        text = number(estimate[row], low[row], high[row], 1)
        ax.text(1.02, row, text, transform=ax.get_yaxis_transform(), va="center", fontsize="small")
    ax.set_yticks(rows, labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    _percent_axis(ax)
    ax.set_xlabel(f"matches won, % (dashed: fair share, {fair:.1f} %)")
    return _titled(ax, "Share of the matches won", deals_text(summary["deals"]))


def pair_matrix(result: Found, ax: Axes | None = None) -> Axes:
    """Row against column: the row's share of the matches won, or, where more than two meet, of finishing ahead."""
    duels = all(len(pairing.agents) == 2 for pairing in result.plan.pairings)
    cells = pair_shares(result) if duels else _ahead_cells(result)
    alone = result.plan.spec.lineup == "field"
    most = 200 / result.plan.seats if alone else 100  # an equal part is in the middle of the colours
    ax = _heat_map([_in_percent(cell) for cell in cells], _best_first(result), ax, 1, (0, most))
    ax.set_xlabel("against" + " (row alone among these)" * alone)
    what = "Matches won by row against column, %" if duels else "Row ahead of column at the end, %"
    return _titled(ax, what, deals_text([cell.deals for cell in cells]))


def round_length(result: Found, ax: Axes | None = None) -> Axes:
    """How many plies rounds have, by how they ended."""
    rounds = result.rounds
    ax = ax or _new_axes(WIDTH, 3.6)
    endings = _codes(rounds["ending"], ENDINGS)
    plies = rounds["plies"].to_numpy()
    _histograms(ax, [(name, plies[endings == code]) for code, name in enumerate(ENDINGS)], "rounds", "plies")
    ax.set_xlabel("plies of a round (actions, passes and forced ones included)")
    return _titled(ax, "Length of rounds by ending", f"{len(plies):,} rounds, {deals_text([_deals(rounds)])}")


def points_by_ending(result: Found, ax: Axes | None = None) -> Axes:
    """What the winner of a round scored, by ending; where points are penalties, what every seat was charged."""
    rounds, game = result.rounds, result.plan.game
    ax = ax or _new_axes(WIDTH, 3.6)
    points = _by_seat(rounds, "points", result.plan.seats)
    endings = _codes(rounds["ending"], ENDINGS)
    note = ""
    if game.low_wins:
        endings, points, things = np.repeat(endings, points.shape[1]), points.ravel(), "seats' rounds"
    else:
        won = rounds["winner"].to_numpy() >= 0
        endings, points, things = endings[won], points.max(axis=1)[won], "won rounds"
        lost = len(won) - len(points)
        note = f" (nobody won {_part(lost, len(won))} of the rounds)" if lost else ""
    _histograms(ax, [(name, points[endings == code]) for code, name in enumerate(ENDINGS)], things, "points")
    ax.set_xlabel("points charged to a seat in a round" if game.low_wins else f"points of the round's winner{note}")
    title = "Penalty points by ending" if game.low_wins else "Points of a won round by ending"
    return _titled(ax, title, f"{len(points):,} {things}, {deals_text([_deals(rounds)])}")


def seat_advantage(result: Found, ax: Axes | None = None, measure: str = "win_share") -> Axes:
    """What each seat, a place at the table, won: `win_share` of the matches, or `points_round`, mean points a round.

    Every agent sits everywhere equally often, so what differs is the seat (and the luck of its deals).

    Raises:
        DomsimError: another measure.
    """
    seats = result.plan.seats
    if measure == "win_share":
        table = result.matches
        won = _by_seat(table, "won", seats)
        values = 100 * won / np.maximum(won.sum(axis=1, keepdims=True), 1)
        unit, title = "matches won, %", "Share of the matches won by seat"
    elif measure == "points_round":
        table = result.rounds
        values = _by_seat(table, "points", seats)
        unit, title = _points_unit(result), "Points of a round by seat"
    else:
        raise DomsimError(f"measure: {measure!r} is not allowed; allowed: win_share, points_round")
    found = _mean_by_column(table, values)
    ax = _columns(ax, found, [str(seat) for seat in range(seats)], float(values.mean()), unit)
    ax.set_xlabel("seat, a place at the table")
    return _titled(ax, title, deals_text([_deals(table)]))


def opener_advantage(result: Found, ax: Axes | None = None) -> Axes:
    """Mean points of a round by place: the opener of the round, the seat that plays after it, and so on."""
    rounds, seats = result.rounds, result.plan.seats
    points = _by_seat(rounds, "points", seats)
    at = (rounds["opener"].to_numpy()[:, None] + np.arange(seats)) % seats
    values = np.take_along_axis(points, at, axis=1)
    names = ["opener", *(f"+{place}" for place in range(1, seats))]
    ax = _columns(ax, _mean_by_column(rounds, values), names, float(values.mean()), _points_unit(result))
    ax.set_xlabel("place after the opener, in playing order")
    return _titled(ax, "Points of a round by place", deals_text([_deals(rounds)]))


def who_makes_whom_pass(result: Found, ax: Axes | None = None) -> Axes:
    """Passes a round of the row's agent in the seat right after the column's agent."""
    cells = passes_after(result)
    shown = [cell.estimate for cell in cells]
    ax = _heat_map(cells, _best_first(result), ax, 2, (min(shown), max(shown)))
    ax.set_xlabel("sits just before")
    return _titled(ax, "Passes a round of row after column", deals_text([cell.deals for cell in cells]))


# --- the numbers behind them -----------------------------------------------------------------------------------------


def fair_share(sums: Array) -> float:
    """The win share all agents would have if they were alike, 0 to 1; less where matches end without a winner."""
    return float(sums["share"].sum() / sums["matches"].sum())


def pair_shares(result: Found) -> list[Cell]:
    """The win share of the first agent of every pairing of two; of the second too, unless it is first in another one.

    0 to 1. In a `field` these are the shares of the agent that sits alone.
    """
    names = list(result.plan.spec.agents)
    meetings = [(pairing.agents, number) for number, pairing in enumerate(result.plan.pairings)]
    there = {agents for agents, _ in meetings}
    rows = []
    for (first, second), pairing in meetings:
        own = result.sums[result.sums["pairing"] == pairing]
        for agent, rival in ((first, second), (second, first)):
            if agent == first or (agent, rival) not in there:
                of_agent = own[own["agent"] == agent]
                found = stats.interval(of_agent["share"] / of_agent["matches"])
                rows.append(_cell(names[agent], names[rival], found))
    return rows


def finished_ahead(result: Found) -> pd.DataFrame:
    """How often one agent had the better score at the end of a match than another in it, ties as half, 0 to 1.

    For lineups in which more than two agents meet. Columns as `summary.pair_table` has them.
    """
    names, score = list(result.plan.spec.agents), _score_by_agent(result)
    deal = _group(result.matches["deal"])
    rows = []
    for agent, rival in itertools.combinations(range(len(names)), 2):
        better = np.sign(score[:, agent] - score[:, rival])
        met = ~np.isnan(better)
        matches = np.bincount(deal[met])
        ahead = np.bincount(deal[met], better[met] / 2 + 0.5)[matches > 0] / matches[matches > 0]
        found, differing = stats.interval(ahead), int((ahead != 0.5).sum())
        bounds = found.estimate, found.low, found.high
        rows.append((names[agent], names[rival], found.n, differing, *bounds, stats.t_test(ahead, 0.5)))
    columns = ["agent", "rival", "deals", "deals_differing", "win_share", "win_share_low", "win_share_high", "p_value"]
    frame = pd.DataFrame(rows, columns=pd.Index(columns))
    return frame.assign(p_value_holm=stats.holm(frame["p_value"].to_numpy()))


def _ahead_cells(result: Found) -> list[Cell]:
    """`finished_ahead` both ways round."""
    cells = []
    for a, b, deals, _, estimate, low, high, *_ in finished_ahead(result).itertuples(index=False, name=None):
        if deals:
            cells += [Cell(a, b, estimate, low, high, deals), Cell(b, a, 1 - estimate, 1 - high, 1 - low, deals)]
    return cells


def passes_after(result: Found) -> list[Cell]:
    """Mean passes a round of an agent in the seat after the rival, whatever side that is on."""
    rounds, seats = result.rounds, result.plan.seats
    names = list(result.plan.spec.agents)
    pairs = len(names) ** 2
    deal = _group(rounds["deal"])
    size = (int(deal.max(initial=-1)) + 1) * pairs
    passes, number = np.zeros(size), np.zeros(size)
    for seat in range(seats):  # seat by seat: all at once takes several times the memory of the table
        here, before = (_agents_at(rounds, q % seats, names) for q in (seat, seat - 1))
        place = deal * pairs + here * len(names) + before
        passes += np.bincount(place, rounds[f"passes_{seat}"], size)
        number += np.bincount(place, minlength=size)
    by_deal, number_by_deal = passes.reshape(-1, pairs), number.reshape(-1, pairs)
    found = []
    for pair in np.flatnonzero(number_by_deal.any(axis=0)):
        sat = number_by_deal[:, pair] > 0
        one = stats.ratio(by_deal[sat, pair], number_by_deal[sat, pair])
        found.append(_cell(names[pair // len(names)], names[pair % len(names)], one))
    return found


def _cell(agent: str, rival: str, found: stats.Interval) -> Cell:
    return Cell(agent, rival, found.estimate, found.low, found.high, found.n)


def _in_percent(cell: Cell) -> Cell:
    return cell._replace(estimate=100 * cell.estimate, low=100 * cell.low, high=100 * cell.high)


def _score_by_agent(result: Found) -> Array:
    """Scores at the end, more is better, `(N, A)`: match, agent; nan where it did not take part."""
    matches, names = result.matches, list(result.plan.spec.agents)
    by_agent = np.full((len(matches), len(names)), np.nan)
    score = _by_seat(matches, "score", result.plan.seats) * (-1 if result.plan.game.low_wins else 1)
    np.put_along_axis(by_agent, _agents(matches, result.plan.seats, names), score.astype(np.float64), axis=1)
    return by_agent


def _mean_by_column(table: pd.DataFrame, values: Array) -> list[stats.Interval]:
    """The mean of every column with its interval by deal; `values (N, K)` has a row for every row of the table."""
    deal = _group(table["deal"])
    rows = np.bincount(deal)
    return [stats.ratio(np.bincount(deal, column), rows) for column in values.T]


def _by_seat(table: pd.DataFrame, name: str, seats: int) -> Array:
    return np.stack([table[f"{name}_{seat}"].to_numpy() for seat in range(seats)], axis=1)


def _agents(table: pd.DataFrame, seats: int, names: list[str]) -> Array:
    """Numbers in the roster by row and seat, `(N, S) int64`."""
    return np.stack([_agents_at(table, seat, names) for seat in range(seats)], axis=1)


def _agents_at(table: pd.DataFrame, seat: int, names: list[str]) -> Array:
    """Numbers in the roster of those in one seat, `(N,) int64`."""
    return _codes(table[f"agent_{seat}"], names)


def _codes(column: "pd.Series[Any]", names: list[str] | tuple[str, ...]) -> Array:
    """The numbers of a category's values among these names, whatever order the table keeps them in."""
    place = np.array([names.index(name) for name in column.cat.categories], np.int64)
    return place[column.cat.codes.to_numpy()]


def _group(deals: "pd.Series[Any]") -> Array:
    """Deals numbered from 0 as they are there, without gaps."""
    return np.unique(deals.to_numpy(), return_inverse=True)[1]


def _deals(table: pd.DataFrame) -> int:
    return int(table["deal"].nunique())


# --- text ------------------------------------------------------------------------------------------------------------


def label(name: str) -> str:
    """An agent's name in lines short enough for an axis, broken where its parts meet; `$` stays a `$`."""
    lines = [""]
    for part in re.findall(rf"[^/:?&,_-]{{1,{_WRAP - 1}}}[/:?&,_-]?|[/:?&,_-]", " ".join(name.split())):
        if len(lines[-1]) + len(part) > _WRAP:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines).replace("$", r"\$")


def number(estimate: float, low: float, high: float, digits: int) -> str:
    """`12.3 ±0.4`: the estimate and half its interval; ±∞ where the deals give none, – where there is nothing."""
    if math.isnan(estimate):
        return "–"
    half = (high - low) / 2
    return f"{estimate:.{digits}f} ±" + (f"{half:.{digits}f}" if math.isfinite(half) else "∞")


def deals_text(counts: Any) -> str:
    """`n = 2,000 deals`, or the smallest and the largest number."""
    low, high = int(min(counts, default=0)), int(max(counts, default=0))
    return f"n = {low:,} deal{'s' * (low != 1)}" if low == high else f"n = {low:,} to {high:,} deals"


def _part(part: int, whole: int) -> str:
    return f"{100 * part / max(1, whole):.1f} %"


def _points_unit(result: Found) -> str:
    return f"mean points {'charged ' if result.plan.game.low_wins else ''}a round"


# --- drawing ---------------------------------------------------------------------------------------------------------

_COLOURS = colormaps["cividis"]
_DOTS: dict[str, Any] = {
    "fmt": "o",
    "color": BLUE,
    "markersize": 6,
    "elinewidth": 1.8,
    "capsize": 4,
    "capthick": 1.8,
    "zorder": 3,
}


def _new_axes(width: float, height: float) -> Axes:
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def _ink(ax: Axes) -> Any:
    """The colour of text in the style in force."""
    return ax.xaxis.label.get_color()


def _titled(ax: Axes, title: str, number_of: str) -> Axes:
    ax.set_title(f"{title}\n{number_of}", loc="left", fontsize="medium")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _arms(estimate: Array, low: Array, high: Array) -> Array:
    """Lengths of whiskers, `(2, K)`; none where an interval has no bounds."""
    arms = np.stack([estimate - low, high - estimate])
    return np.where(np.isfinite(arms), arms, np.nan)


def _percent_axis(ax: Axes) -> None:
    """Cut the x axis where percentages end, as whiskers may reach further; show all of it when nothing is spread."""
    low, high = ax.get_xlim()
    ax.set_xlim((-2, 102) if high - low < 0.2 else (max(low, -2), min(high, 102)))


def _columns(ax: Axes | None, found: list[stats.Interval], names: list[str], fair: float, unit: str) -> Axes:
    """Dots and whiskers side by side, each with its number below, and a line at the mean of all."""
    ax = ax or _new_axes(WIDTH, 3.4)
    estimate, low, high = (np.array([getattr(one, end) for one in found]) for end in ("estimate", "low", "high"))
    places = np.arange(len(names))
    ax.errorbar(places, estimate, yerr=_arms(estimate, low, high), **_DOTS)
    ax.axhline(fair, color=_ink(ax), linestyle="--", linewidth=1, zorder=1)
    texts = [number(one.estimate, one.low, one.high, 1).replace(" ", "\n") for one in found]
    ax.set_xticks(places, [f"{name}\n{text}" for name, text in zip(names, texts, strict=True)], fontsize="small")
    ax.set_xlim(-0.5, len(names) - 0.5)
    ax.set_ylabel(f"{unit}\n(dashed: mean, {fair:.1f})")
    return ax


def _histograms(ax: Axes, groups: list[tuple[str, Array]], things: str, unit: str) -> None:
    """Two distributions of whole numbers on one scale: the first filled, the second an outline."""
    everything = np.concatenate([values for _, values in groups])
    edges = _edges(everything)
    for place, (name, values) in enumerate(groups):
        part = f"{name}: {_part(len(values), len(everything))} of {things}"
        text = f"{part}, mean {values.mean():.1f} {unit}" if len(values) else part
        shares = 100 * np.histogram(values, edges)[0] / len(everything)
        if place == 0:
            ax.stairs(shares, edges, label=text, fill=True, color=ORANGE)
        else:
            ax.stairs(shares, edges, label=text, color=BLUE, linewidth=1.8)
    beyond = int((everything >= edges[-1]).sum())
    more = f"\n({_part(beyond, len(everything))} lie beyond {edges[-1] - 0.5:.0f})" if beyond else ""
    width = edges[1] - edges[0]
    step = "" if width == 1 else f" in {width:.0f} {unit}"
    ax.set_ylabel(f"{things}, % of all{step}{more}")
    ax.set_ylim(0, 1.35 * ax.dataLim.y1)  # room for the legend
    ax.legend(loc="upper right", frameon=False, fontsize="small", borderaxespad=0.1)


def _edges(values: Array) -> Array:
    """Bins of a round width around whole numbers, up to where all but a thousandth of the values lie."""
    if not len(values):
        return np.array([-0.5, 0.5])
    low, high = int(values.min()), int(np.quantile(values, 0.999, method="higher"))
    if int(values.max()) - low < 1.5 * (high - low):
        high = int(values.max())
    width = next(w * 10**e for e in range(9) for w in (1, 2, 5) if (high - low) / (w * 10**e) < _MOST_BINS)
    first = low // width * width
    return np.arange(first, high + width + 1, width) - 0.5


def _best_first(result: Found) -> list[str]:
    return list(result.summary["agent"])


def _heat_map(cells: list[Cell], agents: list[str], ax: Axes | None, digits: int, scale: tuple[float, float]) -> Axes:
    """Agents against agents in this order, the number in each cell; a dash where two never met that way."""
    labels = [label(name) for name in agents]
    ax = ax or _square_axes(labels)
    values = np.full((len(agents), len(agents)), np.nan)
    for cell in cells:
        row, column = agents.index(cell.agent), agents.index(cell.rival)
        values[row, column] = cell.estimate
        _write_cell(ax, (column + 0.5, row + 0.5), cell, digits, scale)
    for row, column in np.argwhere(np.isnan(values)).tolist():
        ax.text(column + 0.5, row + 0.5, "–", ha="center", va="center")
    ax.pcolormesh(np.ma.masked_invalid(values), cmap=_COLOURS, vmin=scale[0], vmax=scale[1])
    middles = np.arange(len(agents)) + 0.5
    upright = ax.bbox.width / ax.figure.dpi / len(agents) < _width(labels)
    ax.set_xticks(middles, labels, rotation=90 if upright else 0, fontsize="small")
    ax.set_yticks(middles, labels, fontsize="small")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.invert_yaxis()
    return ax


def _square_axes(labels: list[str]) -> Axes:
    """Axes with room for a number in every cell, and for these labels below and at the left."""
    lines = max(1 + text.count("\n") for text in labels) * _LINE
    aside = _width(labels) + 0.5
    width = max(WIDTH, aside + len(labels) * max(0.72, lines + 0.1))
    return _new_axes(width, 0.6 + max(aside, lines) + len(labels) * max(0.5, lines + 0.1))


def _width(labels: list[str]) -> float:
    """Inches of the longest line in small letters."""
    return 0.08 * max(len(line) for text in labels for line in text.split("\n"))


def _write_cell(ax: Axes, at: tuple[float, float], cell: Cell, digits: int, scale: tuple[float, float]) -> None:
    low, high = scale
    colour = _COLOURS((cell.estimate - low) / (high - low) if high > low else 0.0)
    text = number(cell.estimate, cell.low, cell.high, digits).replace(" ", "\n")
    ax.text(*at, text, ha="center", va="center", color=_readable_on(colour), fontsize="small")


def _readable_on(colour: Any) -> str:
    """Black or white, whichever contrasts more with a colour (relative luminance as WCAG 2 has it)."""
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    luminance = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    return "#000000" if luminance > 0.179 else "#ffffff"
