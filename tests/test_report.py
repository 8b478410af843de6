"""Plots and reports: that they show the numbers of the run, need nothing from outside, and leave nothing behind."""

import html.parser
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from domsim import findings, plots, report
from domsim.errors import DomsimError, SpecError
from domsim.games import GAMES
from domsim.run import Result, load_result, read_manifest, run_in_folder, run_tournament
from domsim.tournament import Spec, make_plan

COMMAND = "domsim tournament cuban --agents 'careful,random' --out '<here> & there'"
DRAWN = {plot.name: plot.draw for plot in findings.PLOTS}
TAKES_AXES = (
    plots.win_shares,
    plots.pair_matrix,
    plots.round_length,
    plots.points_by_ending,
    plots.seat_advantage,
    plots.opener_advantage,
    plots.who_makes_whom_pass,
)


@pytest.fixture(scope="module")
def result() -> Result:
    return run_tournament("cuban", ["random", "careful", "heaviest"], 40, suite="smoke")


@pytest.fixture(scope="module")
def mixed() -> Result:
    """More agents than seats, three of which look alike."""
    agents = [f"random?stream={number}" for number in range(4)] + ["heaviest"]
    return run_tournament("longana", agents, 30, suite="smoke", seats=3, lineup="mix")


@pytest.fixture(scope="module")
def in_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a manifest, a file of an agent that means harm, and its report."""
    folder = tmp_path_factory.mktemp("run")
    agent = folder / "<b onclick=x>&`$y$|*z*'.toml"
    agent.write_text('kind = "random"\nabout = "<i>any</i> | `play` [of](all)"\n')
    plan = make_plan(Spec("cuban", ("careful", str(agent)), 20, "smoke", rules={"target": 50}))
    report.write_report(run_in_folder(plan, folder / "out", command=COMMAND), folder / "out")
    return folder / "out"


def new_axes() -> Axes:
    return Figure(figsize=(6, 4)).add_subplot()


def stairs(ax: Axes) -> list[Any]:
    patches: list[Any] = list(ax.patches)
    return [patch.get_data() for patch in patches]


def cells(ax: Axes, names: list[str]) -> dict[tuple[str, str], float]:
    """What a heat map shows, by row and column."""
    values = np.ma.filled(ax.collections[0].get_array(), np.nan)  # type: ignore[arg-type]
    return {(a, b): values[i, j] for i, a in enumerate(names) for j, b in enumerate(names) if values[i, j] >= 0}


def dots(ax: Axes) -> tuple[Any, Any]:
    """The data of the dots of an error bar plot, and of its whiskers, `(K, 2, 2)`: whisker, end, x and y."""
    container: Any = ax.containers[0]
    points, _, (bars,) = container
    return points.get_xydata(), np.array(bars.get_segments())


# --- plots -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plot", TAKES_AXES)
def test_a_plot_draws_into_the_axes_given_and_touches_no_style(plot: Callable[..., Axes], result: Result) -> None:
    before, ax = dict(matplotlib.rcParams), new_axes()
    assert plot(result, ax) is ax
    assert plot(result) is not ax
    assert dict(matplotlib.rcParams) == before
    assert "n = 40 deals" in ax.get_title(loc="left")


def test_win_shares_are_those_of_the_summary(result: Result) -> None:
    ax = plots.win_shares(result)
    points, whiskers = dots(ax)
    np.testing.assert_allclose(points[:, 0], 100 * result.summary["win_share"])
    bounds = 100 * result.summary[["win_share_low", "win_share_high"]].to_numpy()
    np.testing.assert_allclose(whiskers[:, :, 0], bounds)
    assert [text.get_text() for text in ax.get_yticklabels()] == list(result.summary["agent"])
    assert "50.0 %" in ax.get_xlabel()


def test_the_pair_matrix_is_the_pair_table(result: Result) -> None:
    shown = cells(plots.pair_matrix(result), list(result.summary["agent"]))
    assert len(shown) == 6
    for row in result.pairs.to_dict("records"):
        assert shown[row["agent"], row["rival"]] == pytest.approx(100 * row["win_share"])
        assert shown[row["rival"], row["agent"]] == pytest.approx(100 - 100 * row["win_share"])


def test_in_a_field_the_pair_matrix_shows_the_agent_that_sits_alone() -> None:
    found = run_tournament("longana", ["random", "heaviest"], 20, suite="smoke", seats=4, lineup="field")
    shown = cells(plots.pair_matrix(found), list(found.summary["agent"]))
    assert shown == {(r["agent"], r["rival"]): 100 * r["win_share"] for r in found.pairs.to_dict("records")}
    assert findings.pair_note(findings.load(found)).count("25.0 %") == 1


def test_finished_ahead_counts_who_had_the_better_score(mixed: Result) -> None:
    matches = mixed.matches
    rows = []
    for match in matches.to_dict("records"):
        score = {match[f"agent_{seat}"]: match[f"score_{seat}"] for seat in range(3)}
        if {"heaviest", "random?stream=2"} <= score.keys():
            difference = score["random?stream=2"] - score["heaviest"]
            rows.append((match["deal"], (difference > 0) + (difference == 0) / 2))
    by_deal = pd.DataFrame(rows, columns=pd.Index(["deal", "ahead"])).groupby("deal")["ahead"].mean()
    table = plots.finished_ahead(mixed)
    found = table[(table["agent"] == "random?stream=2") & (table["rival"] == "heaviest")].iloc[0]
    assert found["win_share"] == pytest.approx(by_deal.mean())
    assert found["deals"] == len(by_deal)
    shown = cells(plots.pair_matrix(mixed), list(mixed.summary["agent"]))
    assert shown["heaviest", "random?stream=2"] == pytest.approx(100 - 100 * by_deal.mean())
    assert len(shown) == 5 * 4


def test_round_length_counts_every_round(result: Result) -> None:
    out, blocked = stairs(plots.round_length(result))
    rounds = result.rounds
    share = 100 * (rounds["ending"] == "blocked").mean()
    assert blocked.values.sum() == pytest.approx(share)
    assert out.values.sum() == pytest.approx(100 - share)
    plies = rounds["plies"][rounds["ending"] == "out"]
    expected = 100 * np.histogram(plies, out.edges)[0] / len(rounds)
    np.testing.assert_allclose(out.values, expected)


def test_points_by_ending_are_those_of_winners_or_charges(result: Result) -> None:
    rounds = result.rounds
    won = rounds[rounds["winner"] >= 0]
    legend = plots.points_by_ending(result).get_legend_handles_labels()[1]
    for text, ending in zip(legend, ("out", "blocked"), strict=True):
        of_ending = won[won["ending"] == ending]
        mean = of_ending[[f"points_{seat}" for seat in range(4)]].max(axis=1).mean()
        assert text == f"{ending}: {100 * len(of_ending) / len(won):.1f} % of won rounds, mean {mean:.1f} points"
    penalties = run_tournament("mexican", ["random", "heaviest"], 2, suite="smoke", seats=8, rounds=2)
    charges = penalties.rounds[[f"points_{seat}" for seat in range(8)]].to_numpy()
    ax = plots.points_by_ending(penalties)
    assert f"{charges.size} seats' rounds" in ax.get_title(loc="left")
    assert sum(one.values.sum() for one in stairs(ax)) == pytest.approx(100)


def test_a_far_tail_is_left_out_aloud() -> None:
    values = np.array([0, 1, 2, 3] * 1000 + [5000])
    edges = plots._edges(values)
    assert edges[-1] == 3.5
    ax = new_axes()
    plots._histograms(ax, [("out", values), ("blocked", values[:0])], "rounds", "points")
    assert "lie beyond 3" in ax.get_ylabel()
    assert [len(plots._edges(np.array(one))) for one in ([7], [], [0, 1000])] == [2, 2, 52]


def test_seats_and_places_after_the_opener(result: Result) -> None:
    rounds, matches = result.rounds, result.matches
    points, whiskers = dots(plots.seat_advantage(result))
    shares = [100 * (matches[f"won_{seat}"] / 2).mean() for seat in range(4)]
    np.testing.assert_allclose(points[:, 1], shares)
    assert (whiskers[:, 0, 1] < points[:, 1]).all()
    points = dots(plots.seat_advantage(result, measure="points_round"))[0]
    np.testing.assert_allclose(points[:, 1], rounds[[f"points_{seat}" for seat in range(4)]].mean())
    next_seat = [row[f"points_{(row['opener'] + 1) % 4}"] for row in rounds.to_dict("records")]
    assert dots(plots.opener_advantage(result))[0][1, 1] == pytest.approx(np.mean(next_seat))
    with pytest.raises(DomsimError, match="'rank' is not allowed"):
        plots.seat_advantage(result, measure="rank")


def test_passes_after_another_agent(mixed: Result) -> None:
    passes: dict[tuple[str, str], list[int]] = {}
    for row in mixed.rounds.to_dict("records"):
        for seat in range(3):
            pair = row[f"agent_{seat}"], row[f"agent_{(seat - 1) % 3}"]
            passes.setdefault(pair, []).append(row[f"passes_{seat}"])
    found = {(cell.agent, cell.rival): cell.estimate for cell in plots.passes_after(mixed)}
    assert found == pytest.approx({pair: np.mean(values) for pair, values in passes.items()})
    shown = cells(plots.who_makes_whom_pass(mixed), list(mixed.summary["agent"]))
    assert shown == pytest.approx(found)


def test_labels_keep_every_character() -> None:
    name = "bots/mine.py:Cautious?depth=2&stream=1"
    assert plots.label(name) == "bots/mine.py:Cautious?\ndepth=2&stream=1"
    for text in (name, "a" * 100, "/?&", "x", "/home/somebody/a-long_path/" * 4):
        assert plots.label(text).replace("\n", "") == text
        assert max(map(len, plots.label(text).split("\n"))) <= 24
    assert plots.label("$a$") == r"\$a\$"


@pytest.mark.parametrize(
    ("values", "text"),
    [((1.25, 1.0, 1.5), "1.2 ±0.2"), ((3.0, -np.inf, np.inf), "3.0 ±∞"), ((np.nan, -np.inf, np.inf), "–")],
)
def test_numbers(values: tuple[float, float, float], text: str) -> None:
    assert plots.number(*values, 1) == text


def test_text_in_a_cell_can_be_read() -> None:
    assert [plots._readable_on(c) for c in ((0, 0, 0, 1), (1, 1, 1, 1), (0, 0.13, 0.3, 1))] == [
        "#ffffff",
        "#000000",
        "#ffffff",
    ]


# --- reports ---------------------------------------------------------------------------------------------------------


class Tags(html.parser.HTMLParser):
    """The tags of a page, its attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.ids: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_needs_nothing_else(in_folder: Path) -> None:
    page = (in_folder / "report.html").read_text()
    assert not re.search(r"https?:|\bsrc=|@import|<script|<link|<img|<!DOCTYPE svg|xmlns", page)
    assert all(link.startswith("#") for link in re.findall(r"url\(([^)]*)\)", page))
    tags = Tags(page)
    assert all((value or "").startswith("#") for name, value in tags.attributes if name.endswith("href"))
    assert len(set(tags.ids)) == len(tags.ids)
    used = set(re.findall(r'(?:href="|url\()#([^")]*)', page))
    assert used <= set(tags.ids)
    assert page.count("<svg ") == len(findings.PLOTS)


def test_both_reports_say_what_was_run(in_folder: Path) -> None:
    manifest = read_manifest(in_folder)
    page, text = Tags((in_folder / "report.html").read_text()).text, (in_folder / "report.md").read_text()
    for found in (page, text):
        assert manifest["digest"] in found
        assert COMMAND in found
        assert manifest["agents"][0]["hash"] in found
        assert manifest["agents"][1]["hash"] in found
        assert "careful" in found
        assert re.search("careful (clearly )?better, p", found)
        assert "first_tile" in found  # an option left at its default
        assert f"numba {manifest['versions']['numba']}" in found
    assert manifest["agents"][1]["agent"] in page  # unescaped by the parser: all of it, as it is
    changed = re.findall(r'<tr class="changed"><td>(\w+)', (in_folder / "report.html").read_text())
    assert changed == ["target"]


def test_what_comes_from_files_is_escaped(in_folder: Path) -> None:
    page, text = (in_folder / "report.html").read_text(), (in_folder / "report.md").read_text()
    own = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "ul", "li", "div", "pre", "wbr"}
    own |= {"table", "thead", "tbody", "tr", "th", "td", "figure", "figcaption"}
    assert Tags(page).tags <= own | {"svg", "g", "defs", "path", "use", "clippath", "rect"}
    assert "onclick" not in dict(Tags(page).attributes)
    assert "&lt;i&gt;any&lt;/<wbr>i&gt;" in page
    assert "<b" not in text.replace(COMMAND, "")
    assert r"&lt;i&gt;any&lt;/i&gt; \| \`play\` \[of\](all)" in text
    assert r"&lt;b onclick=x&gt;&amp;\`\$y\$\|\*z\*'.toml" in text


def test_every_row_of_a_markdown_table_has_as_many_cells_as_its_head(in_folder: Path) -> None:
    text = (in_folder / "report.md").read_text()
    tables = re.findall(r"(?:^\|.*\|\n?)+", text, flags=re.MULTILINE)
    assert len(tables) == 5
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.strip().split("\n")}) == 1
    for picture in re.findall(r"\]\((plots/\w+\.png)\)", text):
        assert (in_folder / picture).read_bytes().startswith(b"\x89PNG")
    assert text.count("](plots/") == len(findings.PLOTS)


def test_the_same_run_gives_the_same_bytes_whatever_the_users_style(in_folder: Path, tmp_path: Path) -> None:
    again = load_result(in_folder)
    with matplotlib.rc_context({"text.color": "red", "font.size": 20, "svg.fonttype": "none", "savefig.dpi": 50}):
        before = dict(matplotlib.rcParams)
        assert report.write_report(again, tmp_path) == tmp_path / "report.html"
        assert dict(matplotlib.rcParams) == before
    names = ["report.html", "report.md", *(f"plots/{plot.name}.png" for plot in findings.PLOTS)]
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")) == sorted(names)
    for name in names:
        assert (tmp_path / name).read_bytes() == (in_folder / name).read_bytes(), name


def test_one_deal_and_one_pairing(tmp_path: Path) -> None:
    found = run_tournament("cuban", ["careful", "random"], 1, suite="smoke")
    report.write_report(found, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "not tested: too few deals" in text
    assert "±∞" in text
    assert "run_tournament('cuban', ['careful', 'random'], 1, suite='smoke')" in text
    assert found.digest in text


def test_a_call_that_reruns_a_run_made_in_python(mixed: Result) -> None:
    call = findings.rerun(findings.load(mixed))
    names: dict[str, Any] = {}
    exec(call.replace("\nrun_tournament", "\nagain = run_tournament"), names)
    assert names["again"].digest == mixed.digest


@pytest.mark.parametrize(("lineup", "agents"), [("duel", 3), ("field", 2), ("mix", 10)])
@pytest.mark.parametrize("game", sorted(GAMES))
def test_every_game_at_its_largest_table(game: str, lineup: str, agents: int) -> None:
    names = [f"random?stream={number}" for number in range(agents)]
    found = run_tournament(game, names, 2, suite="smoke", seats=max(GAMES[game].seats), lineup=lineup, rounds=2)
    loaded = findings.load(found)
    for draw in DRAWN.values():
        assert draw(loaded).get_title(loc="left")
    assert len(findings.pair_rows(loaded)) == 1 + {"duel": 3, "field": 2, "mix": 45}[lineup]
    assert len(findings.summary_rows(loaded)) == 1 + agents
    assert findings.headline(loaded)


@pytest.mark.parametrize(
    ("better", "p_value", "words"),
    [
        (0.1, 0.0001, "a clearly better, p < 0.001"),
        (-0.1, 0.012, "b better, p = 0.012"),
        (0.1, 0.3, "no difference shown, p = 0.300"),
        (0.1, np.nan, "not tested: too few deals"),
    ],
)
def test_verdicts(better: float, p_value: float, words: str) -> None:
    assert findings.verdict("a", "b", better, p_value).replace("\N{NO-BREAK SPACE}", " ") == words


def test_a_folder_that_cannot_be_written(result: Result, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SpecError, match="cannot be written"):
        report.write_report(result, tmp_path / "file")


def test_no_pyplot() -> None:
    code = "import sys, domsim.report; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_blocking_is_told_where_passes_were_kept(tmp_path: Path) -> None:
    """Both reports show the numbers of the blocking table, and none of it without the passes table."""
    plan = make_plan(Spec("cuban", ("careful", "heaviest"), 20, "smoke", passes=True))
    kept = run_in_folder(plan, tmp_path / "kept")
    report.write_report(kept, tmp_path / "kept")
    shown = f"{100 * kept.blocking['closed_share'][0]:.1f}"
    for name in ("report.html", "report.md"):
        text = (tmp_path / "kept" / name).read_text()
        part = text[text.index("Blocking") : text.index("Plots")]
        assert shown in part and "closed" in part
    bare = make_plan(Spec("cuban", ("careful", "heaviest"), 4, "smoke"))
    report.write_report(run_in_folder(bare, tmp_path / "bare"), tmp_path / "bare")
    assert "Blocking" not in (tmp_path / "bare" / "report.md").read_text()
