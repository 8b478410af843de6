"""Reports: what was run and what came out, as one HTML file that needs nothing else, and as Markdown beside its plots.

The same run gives the same bytes. Whatever comes from a spec or a file is escaped.
"""

import html
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from domsim.errors import SpecError
from domsim.findings import (
    Drawn,
    Loaded,
    Rows,
    agent_rows,
    blocking_notes,
    blocking_rows,
    draw_all,
    headline,
    load,
    measure_notes,
    pair_note,
    pair_rows,
    rerun,
    rule_rows,
    run_rows,
    summary_rows,
)
from domsim.run import Result, write_whole

_NOTE = (
    "± is half of the 95 % interval, which has the deal as its unit; ±∞: too few deals for one. "
    "Rounds are those an agent took part in."
)
_RERUN_NOTE = "The same versions and agent files give the same digest."
#: columns that hold text: "a" where it may be a long name; the others hold numbers
_KINDS = dict.fromkeys(("agent", "agent (alone)", "rival", "verdict", "file"), "a")
_KINDS |= dict.fromkeys(("kind", "what", "hash", "option", "value", "default"), "")


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
    if blocking := blocking_rows(loaded):
        yield f"<h2>Blocking</h2>\n{_table(blocking)}"
        yield _list(blocking_notes())
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
    if blocking := blocking_rows(loaded):
        yield "## Blocking"
        yield _grid(blocking)
        yield "\n".join(f"- {_plain(note)}" for note in blocking_notes())
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
