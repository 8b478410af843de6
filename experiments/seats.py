"""Is any seat better than another? The same agent in every seat, each copy with a random stream of its own.

`domsim run seats` plays whole matches of identical agents and measures the share of matches won by seat, with 95 %
intervals by deal: the value of a deal is a seat's mean over all rotations of the copies, a shared win as its part.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from rich.console import Console
from rich.table import Table

from domsim import Result, run_tournament, stats

SUITE, SEED = "valid", 0
AGENTS = ("random", "careful")
#: game, seats, deals; a deal is played once for every seat
TABLES = (
    ("longana", 2, 20_000),
    ("longana", 3, 20_000),
    ("longana", 4, 20_000),
    ("mexican", 2, 10_000),
    ("mexican", 4, 5_000),
    ("mexican", 8, 2_500),
)
#: a quick look plays this part of the deals
QUICK_PART = 100


def run(out: Path, jobs: int, quick: bool) -> None:
    """Play, write `seats.csv` into the folder `out`, and print a table."""
    rows: list[dict[str, Any]] = []
    for agent in AGENTS:
        for game, seats, deals in TABLES:
            rows += seat_rows(game, seats, agent, deals // QUICK_PART if quick else deals, jobs)
    frame = pd.DataFrame(rows)
    frame["p_value_holm"] = stats.holm(frame["p_value"].to_numpy())
    out.mkdir(parents=True, exist_ok=True)
    frame.to_csv(out / "seats.csv", index=False)
    Console(width=170, highlight=False).print(as_table(frame))
    print(how_to_read(frame))
    print(f"files: {out}/seats.csv")


def seat_rows(game: str, seats: int, agent: str, deals: int, jobs: int) -> list[dict[str, Any]]:
    """One row a seat: its share of the matches won, among copies of one agent."""
    copies = [f"{agent}?stream={number}" for number in range(seats)]
    result = run_tournament(
        game, copies, deals, jobs=jobs, chunk=max(1, deals // 8), seats=seats, lineup="mix", suite=SUITE, seed=SEED
    )
    shares = shares_by_deal(result)
    rows = []
    for seat in range(seats):
        found = stats.interval(shares[:, seat])
        rows.append(
            {
                "game": game,
                "seats": seats,
                "agent": agent,
                "seat": seat,
                "deals": found.n,
                "fair_share": 1 / seats,
                "win_share": found.estimate,
                "win_share_low": found.low,
                "win_share_high": found.high,
                "p_value": stats.t_test(shares[:, seat], 1 / seats),
                "digest": result.digest,
            }
        )
    return rows


def shares_by_deal(result: Result) -> npt.NDArray[np.float64]:
    """The share of its matches that a seat won, a shared win as its part, `(D, S)`: deal, seat."""
    seats = result.plan.seats
    matches = result.matches
    won = matches[[f"won_{seat}" for seat in range(seats)]].to_numpy(np.float64)
    shares = pd.DataFrame(won / won.sum(axis=1, keepdims=True))
    return shares.groupby(matches["deal"]).mean().to_numpy()


def as_table(frame: pd.DataFrame) -> Table:
    """The rows for the terminal: one line a table of seats, a column a seat."""
    most = int(frame["seats"].max())
    table = Table(box=None, pad_edge=False)
    for name in ("game", "agent"):
        table.add_column(name, no_wrap=True)
    for name in ("seats", "deals", "fair %", *(f"seat {seat} %" for seat in range(most))):
        table.add_column(name, justify="right", no_wrap=True)
    for _, rows in frame.groupby(["agent", "game", "seats"], sort=False):
        first = rows.iloc[0]
        named = [str(first[name]) for name in ("game", "agent", "seats", "deals")]
        table.add_row(*named, f"{100 * first['fair_share']:.1f}", *(_cell(row) for _, row in rows.iterrows()))
    return table


def _cell(row: Any) -> str:
    half = (row["win_share_high"] - row["win_share_low"]) / 2
    return f"{100 * row['win_share']:.1f} ±{100 * half:.1f}"


def how_to_read(frame: pd.DataFrame) -> str:
    """What the table says, in one line."""
    missed = (frame["fair_share"] < frame["win_share_low"]) | (frame["fair_share"] > frame["win_share_high"])
    return (
        f"±: half of the 95 % interval by deal · {missed.sum()} of {len(frame)} intervals miss the fair share, about "
        f"{0.05 * len(frame):.0f} would by chance · a seat differs only where p stays small over all of them (Holm): "
        f"least {frame['p_value_holm'].min():.2g}"
    )
