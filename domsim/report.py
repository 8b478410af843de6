"""Reports: what was run and what came out, as one HTML file that needs nothing else, and as Markdown beside its plots.

The same run gives the same bytes. Whatever comes from a spec or a file is escaped.
"""

import html
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.style
import msgspec
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from domsim import plots
from domsim.errors import SpecError
from domsim.run import MANIFEST, Result, agent_facts, read_manifest, write_whole
from domsim.summary import MEASURES, measure_name
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


def write_report(result: Result, folder: str | Path) -> Path:
    """Write `report.html`, `report.md` and `plots/*.png`; the HTML file's path.

    Raises:
        SpecError: the folder cannot be written.
    """
    place = Path(folder)
    try:
        (place / "plots").mkdir(parents=True, exist_ok=True)  # before the work, which takes a while
        for name, data in _files(load(result)).items():
            write_whole(place / name, data)
    except OSError as error:
        raise SpecError(f"{place}: the report cannot be written: {error.strerror}") from None
    return place / "report.html"


def _files(loaded: Loaded) -> dict[str, bytes]:
    drawn = draw_all(loaded)
    texts = {"report.md": "\n\n".join(_chapters(loaded, drawn)) + "\n", "report.html": _page(loaded, drawn)}
    written = {name: text.encode("utf-8", "replace") for name, text in texts.items()}
    return {f"plots/{plot.name}.png": plot.png for plot in drawn} | written


def load(result: Result) -> Loaded:
    """The result with its tables in memory."""
    has_manifest = result.folder is not None and (result.folder / MANIFEST).exists()
    manifest = read_manifest(result.folder) if result.folder is not None and has_manifest else {}
    tables = result.summary, result.pairs, result.matches, result.rounds_with(_READ)
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
    game = loaded.plan.game
    head = [MEASURES[name].title or f"{measure_name(game, name)} %" for name in game.measures]
    rows = [["agent", "deals", *head]]
    for _, row in loaded.summary.iterrows():
        cells = [_shown(row, measure_name(game, name), name) for name in game.measures]
        rows.append([str(row["agent"]), f"{row['deals']:,}", *cells])
    return rows


def measure_notes(loaded: Loaded) -> list[str]:
    """What the columns of the summary mean."""
    game = loaded.plan.game
    shown = [(MEASURES[name].title or f"{measure_name(game, name)} %", MEASURES[name].note) for name in game.measures]
    return [f"{title}: {note}" for title, note in shown]


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


_NOTE = (
    "± is half of the 95 % interval, which has the deal as its unit; ±∞: too few deals for one. "
    "Rounds are those an agent took part in."
)
_RERUN_NOTE = "The same versions and agent files give the same digest."
#: columns that hold text: "a" where it may be a long name; the others hold numbers
_KINDS = dict.fromkeys(("agent", "agent (alone)", "rival", "verdict", "file"), "a")
_KINDS |= dict.fromkeys(("kind", "what", "hash", "option", "value", "default"), "")


# --- HTML ------------------------------------------------------------------------------------------------------------

_CSS = """
:root { color-scheme: light dark; --ink: #202124; --paper: #ffffff; --soft: #5f6368; --line: #d0d3d8; --tint: #f3f4f6;
  --mark: #0072b2; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e6e7ea; --paper: #17181b; --soft: #a9adb5; --line: #44474e; --tint: #222429; --mark: #56b4e9; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem; max-width: 1000px; background: var(--paper); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif;
  overflow-wrap: break-word; }
h1 { font-size: 1.5rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .6rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
p { margin: .5rem 0; } .lead { font-size: 1.1rem; } .note { color: var(--soft); font-size: .87rem; }
ul.note { padding-left: 1.2rem; margin: .3rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; max-width: 100%; }
th, td { padding: .28rem .55rem; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--line); }
th { font-weight: 600; background: var(--tint); vertical-align: bottom; }
td.n, th.n { text-align: right; } td.n { white-space: nowrap; }
td.a { overflow-wrap: anywhere; min-width: 6.5rem; }
.changed td { font-weight: 700; }
pre { background: var(--tint); border: 1px solid var(--line); border-radius: 4px; padding: .6rem .8rem;
  font-size: .85rem; white-space: pre-wrap; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 430px), 1fr)); gap: 1.2rem;
  grid-auto-flow: dense; }
figure { margin: 0; min-width: 0; break-inside: avoid; } figure.wide { grid-column: 1 / -1; }
figure svg { display: block; max-width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: .87rem; margin-top: .3rem; }
@media (max-width: 560px) {
  body { padding: .8rem; } th, td { padding: .25rem; } table { font-size: .8rem; } td.a { min-width: 4.3rem; }
  td.n { white-space: normal; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; } tr, pre { break-inside: avoid; } h2 { break-after: avoid; }
  .plots { grid-template-columns: 1fr 1fr; }
}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def _page(loaded: Loaded, drawn: list[Drawn]) -> str:
    title = html.escape(_title(loaded))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{_CSS}</style>
</head>
<body>
<h1>{title}</h1>
<p class="lead">{html.escape(headline(loaded))}</p>
{"".join(f"{part}{chr(10)}" for part in _sections(loaded, drawn))}</body>
</html>
"""


def _title(loaded: Loaded) -> str:
    spec = loaded.plan.spec
    return f"{loaded.plan.game.title}: {len(spec.agents)} agents on {spec.deals:,} deal{'s' * (spec.deals != 1)}"


def _sections(loaded: Loaded, drawn: list[Drawn]) -> Iterator[str]:
    yield "<h2>Agents</h2>"
    yield _table(summary_rows(loaded))
    yield f'<p class="note">{html.escape(_NOTE)}</p>'
    yield _list(measure_notes(loaded))
    yield f"<h2>Pairs</h2>\n{_table(pair_rows(loaded))}"
    yield f'<p class="note">{html.escape(pair_note(loaded))}</p>'
    yield '<h2>Plots</h2>\n<div class="plots">'
    yield from map(_figure, drawn)
    yield "</div>\n<h2>What was run</h2>"
    yield _table(run_rows(loaded), head=False)
    yield f"<p>To run it again:</p>\n<pre>{html.escape(rerun(loaded))}</pre>"
    yield f'<p class="note">{html.escape(_RERUN_NOTE)}</p>'
    yield _table(agent_rows(loaded))
    yield f"<h2>Rules</h2>\n{_table(rule_rows(loaded), marked=_is_changed)}"


def _is_changed(row: list[str]) -> bool:
    """Whether a row of the rules differs from the default."""
    return row[1] != row[2]


def _table(rows: Rows, head: bool = True, marked: Callable[[list[str]], bool] | None = None) -> str:
    kinds = [_KINDS.get(name, "n") if head else "" for name in rows[0]]
    lines = ['<div class="scroll"><table>']
    if head:
        lines.append(f"<thead>{_row(rows[0], kinds, 'th')}</thead>")
    lines.append("<tbody>")
    lines += [_row(row, kinds, "td", marked is not None and marked(row)) for row in rows[1 if head else 0 :]]
    return "\n".join([*lines, "</tbody></table></div>"])


def _row(cells: list[str], kinds: list[str], tag: str, marked: bool = False) -> str:
    shown = []
    for cell, kind in zip(cells, kinds, strict=True):
        start = f'<{tag} class="{kind}">' if kind else f"<{tag}>"
        text = "<wbr>".join(map(html.escape, re.split(r"(?<=[/:?&])(?=\S)", cell)))  # where a line may break
        shown.append(f"{start}{text}</{tag}>")
    return ('<tr class="changed">' if marked else "<tr>") + "".join(shown) + "</tr>"


def _list(items: list[str]) -> str:
    return '<ul class="note">' + "".join(f"<li>{html.escape(item)}</li>" for item in items) + "</ul>"


def _figure(plot: Drawn) -> str:
    wide = ' class="wide"' if plot.wide else ""
    return f"<figure{wide}>{plot.svg}\n<figcaption>{html.escape(plot.help)}</figcaption></figure>"


# --- Markdown --------------------------------------------------------------------------------------------------------


def _chapters(loaded: Loaded, drawn: list[Drawn]) -> Iterator[str]:
    yield f"# {_plain(_title(loaded))}"
    yield _plain(headline(loaded))
    yield "## Agents"
    yield _grid(summary_rows(loaded))
    yield _NOTE
    yield "\n".join(f"- {_plain(note)}" for note in measure_notes(loaded))
    yield "## Pairs"
    yield _grid(pair_rows(loaded))
    yield pair_note(loaded)
    yield "## Plots"
    for plot in drawn:
        yield f"![{_plain(plot.title)}](plots/{plot.name}.png)"
        yield plot.help
    yield "## What was run"
    yield _grid([["what", "value"], *run_rows(loaded)])
    yield f"To run it again:\n\n{_fenced(rerun(loaded))}"
    yield _RERUN_NOTE
    yield _grid(agent_rows(loaded))
    yield "## Rules"
    yield _grid(rule_rows(loaded))


def _grid(rows: Rows) -> str:
    rule = [":--" if name in _KINDS else "--:" for name in rows[0]]
    lines = [[_plain(cell) for cell in rows[0]], rule, *([_plain(cell) for cell in row] for row in rows[1:])]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(text: str) -> str:
    """A text as Markdown that shows it as it is."""
    one_line = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"[\\`*\[\]|~$]|(?<!\w)_|_(?!\w)", r"\\\g<0>", one_line)


def _fenced(text: str) -> str:
    """A text as a block of code, whatever it holds."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
