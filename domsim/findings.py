"""What a report says: the plots of a run, and its tables as rows of text, the head first."""

import html
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib
import matplotlib.style
import msgspec
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from domsim import plots
from domsim.run import MANIFEST, Result, agent_facts, read_manifest
from domsim.summary import BLOCKING_COLUMNS, MEASURES, measure_title, summary_columns
from domsim.tournament import Plan, Spec, versions

Rows = list[list[str]]
_INK = "#202124"  # of text and lines of plots; in the HTML file they take the page's colour instead


#: the columns of `rounds` that plots look at
_READ = ("deal", "ending", "plies", "winner", "opener", "agent", "points", "passes")


@dataclass(frozen=True)
class Loaded:
    """A result with everything computed and read once, and its manifest."""

    plan: Plan
    sums: Any
    summary: pd.DataFrame
    pairs: pd.DataFrame
    blocking: pd.DataFrame  # empty without the passes table
    matches: pd.DataFrame
    rounds: pd.DataFrame
    digest: str
    manifest: dict[str, Any]


@dataclass(frozen=True)
class Plot:
    """One plot of a report."""

    name: str
    draw: Callable[[plots.Found], Axes]
    help: str


@dataclass(frozen=True)
class Drawn:
    """A plot as the report holds it."""

    name: str
    title: str
    help: str
    svg: str
    png: bytes
    wide: bool


PLOTS = (
    Plot(
        "win_shares",
        plots.win_shares,
        "A dot is an agent's share of all its matches, the whisker its interval; "
        "right of the dashed line it won more than an equal part.",
    ),
    Plot(
        "pair_matrix",
        plots.pair_matrix,
        "Read along a row: how the agent did against each rival, with half the interval below; bright cells are good.",
    ),
    Plot(
        "round_length",
        plots.round_length,
        "Filled: rounds in which a hand was emptied; outlined: blocked ones, on the same scale.",
    ),
    Plot(
        "points_by_ending",
        plots.points_by_ending,
        "How much a round was worth by the way it ended; the means stand in the legend.",
    ),
    Plot(
        "seat_win_share",
        plots.seat_advantage,
        "Every agent played in every seat, so whiskers that miss the dashed line tell of the seats and their deals, "
        "not of agents.",
    ),
    Plot(
        "seat_points",
        lambda result: plots.seat_advantage(result, measure="points_round"),
        "The same in points of a round.",
    ),
    Plot(
        "opener_advantage",
        plots.opener_advantage,
        "What it is worth to open a round, or to sit some places after the opener.",
    ),
    Plot(
        "who_makes_whom_pass",
        plots.who_makes_whom_pass,
        "Read down a column: how often others pass when this agent plays just before them; "
        "bright cells are many passes.",
    ),
)


def load(result: Result) -> Loaded:
    """The result with its tables in memory."""
    has_manifest = result.folder is not None and (result.folder / MANIFEST).exists()
    manifest = read_manifest(result.folder) if result.folder is not None and has_manifest else {}
    blocking = result.blocking if result.plan.spec.passes else pd.DataFrame()
    tables = result.summary, result.pairs, blocking, result.matches, result.rounds_with(_READ)
    return Loaded(result.plan, result.sums, *tables, result.digest, manifest)


# --- plots -----------------------------------------------------------------------------------------------------------


def draw_all(loaded: Loaded) -> list[Drawn]:
    """All plots of a run."""
    drawn = []
    for plot in PLOTS:
        with _style(plot.name):
            drawn.append(_drawn(plot, plot.draw(loaded)))
    return drawn


@contextmanager
def _style(name: str) -> Iterator[None]:
    """The style of a report's plots, whatever the user's is, only inside."""
    own: Any = {"svg.hashsalt": name, "svg.fonttype": "path"}
    own |= dict.fromkeys(("text.color", "xtick.color", "ytick.color", "axes.labelcolor", "axes.edgecolor"), _INK)
    with matplotlib.style.context("default"), matplotlib.rc_context(own):
        yield


def _drawn(plot: Plot, ax: Axes) -> Drawn:
    figure = ax.figure
    assert isinstance(figure, Figure)
    svg, png = io.StringIO(), io.BytesIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(svg, format="svg", transparent=True, metadata=nothing)
    figure.savefig(png, format="png", dpi=144, metadata={"Software": None})
    title = ax.get_title(loc="left").replace("\n", ", ")
    wide = figure.get_figwidth() > plots.WIDTH + 0.01
    return Drawn(plot.name, title, plot.help, _inline(svg.getvalue(), plot.name, title), png.getvalue(), wide)


def _inline(svg: str, name: str, title: str) -> str:
    """An SVG file as a part of a page: names of its own, nothing but the picture, text in the page's colour."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r' xmlns(:xlink)?="[^"]*"', "", body)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r'xlink:href="#', f'href="#{name}-', body)
    body = body.replace("url(#", f"url(#{name}-")
    body = body.replace(_INK, "currentColor").replace(plots.BLUE.lower(), "var(--mark)")
    return body.replace("<svg ", f'<svg role="img" aria-label="{html.escape(title)}" ', 1).strip()


# --- the parts of both reports ---------------------------------------------------------------------------------------


def headline(loaded: Loaded) -> str:
    """The result in a sentence."""
    best = loaded.summary.iloc[0]
    ties = loaded.summary[np.isclose(loaded.summary["win_share"], best["win_share"])]
    share = _shown(best, "win_share", "win_share")
    fair = 100 * plots.fair_share(loaded.sums)
    if fair == 0:
        return "No match ended with a winner."
    if len(ties) > 1:
        return f"{', '.join(ties['agent'])}: equally many matches won, {share} %; an equal part is {fair:.1f} %."
    return f"{best['agent']} won most: {share} % of its matches; an equal part is {fair:.1f} %."


def summary_rows(loaded: Loaded) -> Rows:
    """The summary, its head first."""
    return _measure_rows(loaded.summary, summary_columns(loaded.plan.game))


def measure_notes(loaded: Loaded) -> list[str]:
    """What the columns of the summary mean."""
    return _notes(summary_columns(loaded.plan.game))


def blocking_rows(loaded: Loaded) -> Rows:
    """Who closes blocked rounds and who makes whom pass; no rows without the passes table."""
    return _measure_rows(loaded.blocking, BLOCKING_COLUMNS) if len(loaded.blocking) else []


def blocking_notes() -> list[str]:
    """What the columns of `blocking_rows` mean."""
    return _notes(BLOCKING_COLUMNS)


def _measure_rows(table: pd.DataFrame, names: dict[str, str]) -> Rows:
    rows = [["agent", "deals", *map(measure_title, names, names.values())]]
    for _, row in table.iterrows():
        cells = [_shown(row, name, measure) for measure, name in names.items()]
        rows.append([str(row["agent"]), f"{row['deals']:,}", *cells])
    return rows


def _notes(names: dict[str, str]) -> list[str]:
    return [f"{measure_title(measure, name)}: {MEASURES[measure].note}" for measure, name in names.items()]


def _shown(row: Any, name: str, measure: str) -> str:
    scale = MEASURES[measure].scale
    estimate, low, high = (scale * float(row[name + end]) for end in ("", "_low", "_high"))
    return plots.number(estimate, low, high, MEASURES[measure].digits)


def pair_rows(loaded: Loaded) -> Rows:
    """Every two agents that met, with a verdict in words, the head first."""
    duels, alone = len(loaded.pairs) > 0, loaded.plan.spec.lineup == "field"
    table = loaded.pairs if duels else plots.finished_ahead(loaded)
    shares = _fair_shares(loaded) if duels else [0.5] * len(table)
    rows = [["agent (alone)" if alone else "agent", "rival", "deals", "decided by", "win %" if duels else "ahead %"]]
    rows[0].append("verdict")
    for (_, row), fair in zip(table.iterrows(), shares, strict=True):
        agent, rival = str(row["agent"]), str(row["rival"])
        deals = [f"{row['deals']:,}", f"{row['deals_differing']:,}"]
        words = verdict(agent, rival, float(row["win_share"]) - fair, float(row["p_value_holm"]))
        rows.append([agent, rival, *deals, _shown(row, "win_share", "win_share"), words])
    return rows


def pair_note(loaded: Loaded) -> str:
    """What the columns of `pair_rows` mean."""
    note = (
        "Decided by: deals on which the two did not do equally well. p values: paired by deal, adjusted for the number "
        "of comparisons (Holm); a difference is claimed where p is below 0.05."
    )
    if not len(loaded.pairs):
        return f"Ahead: of the matches in which both sat, those with the better score at the end, ties as half. {note}"
    if loaded.plan.spec.lineup == "field":
        return f"One agent alone among rivals; its equal part is {100 * _fair_shares(loaded)[0]:.1f} %. {note}"
    return note


def _fair_shares(loaded: Loaded) -> list[float]:
    """For every pairing of two, the share its first agent would have if the two were alike."""
    shares = []
    for number, pairing in enumerate(loaded.plan.pairings):
        own = loaded.sums[loaded.sums["pairing"] == number]
        first = own[own["agent"] == pairing.agents[0]]
        seats = first["seats"].sum() / own["seats"].sum()
        shares.append(float(own["share"].sum() * seats / first["matches"].sum()))
    return shares


def verdict(agent: str, rival: str, better: float, p_value: float) -> str:
    """A comparison in words: which is better, if any, and the p value, adjusted for the number of comparisons."""
    if np.isnan(p_value):
        return "not tested: too few deals"
    shown = ("p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}").replace(" ", "\N{NO-BREAK SPACE}")
    if p_value >= 0.05:
        return f"no difference shown, {shown}"
    strength = "clearly better" if p_value < 0.001 else "better"
    return f"{agent if better > 0 else rival} {strength}, {shown}"


def run_rows(loaded: Loaded) -> Rows:
    """What was run, in pairs of a name and a value."""
    plan, spec = loaded.plan, loaded.plan.spec
    last = spec.first_deal + spec.deals - 1
    length = f"{spec.rounds} round(s) at most" if spec.rounds else "whole matches"
    played = f"{len(loaded.matches):,} ({length}), {len(loaded.rounds):,} rounds"
    made = loaded.manifest.get("versions") or versions()
    return [
        ["game", f"{plan.game.name}: {plan.game.title}"],
        ["seats", str(plan.seats)],
        ["lineup", spec.lineup],
        ["deals", f"{spec.deals:,} (numbers {spec.first_deal} to {last}) of suite {spec.suite}, seed {spec.seed}"],
        ["matches", played],
        ["versions", ", ".join(f"{name} {version}" for name, version in made.items())],
        ["digest", loaded.digest],
    ]


def agent_rows(loaded: Loaded) -> Rows:
    """The agents, their files as they were when the run was made, and the hashes of these."""
    known = loaded.manifest.get("agents") or agent_facts(loaded.plan)
    rows = [[str(one.get(name, "")) for name in ("agent", "kind", "about", "file", "hash")] for one in known]
    return [["agent", "kind", "what", "file", "hash"], *rows]


def rule_rows(loaded: Loaded) -> Rows:
    """Every rule option with its value and default."""
    rules = loaded.plan.rules
    rows = [[o.name, str(getattr(rules, o.name)), str(o.default), o.note] for o in rules.options()]
    return [["option", "value", "default", "what"], *rows]


def rerun(loaded: Loaded) -> str:
    """The command that made the run, or for a run made in Python the call."""
    command = loaded.manifest.get("command")
    return str(command) if command else _call(loaded.plan.spec)


def _call(spec: Spec) -> str:
    defaults = msgspec.structs.asdict(Spec(spec.game, spec.agents, spec.deals))
    given = msgspec.structs.asdict(spec).items()
    first = [repr(spec.game), repr(list(spec.agents)), str(spec.deals)]
    more = [f"{name}={value!r}" for name, value in given if value != defaults[name]]
    return f"from domsim.run import run_tournament\n\nrun_tournament({', '.join(first + more)})"
