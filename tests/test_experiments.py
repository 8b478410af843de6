"""Experiments: TOML files and Python files are found alike, and what the shipped Python ones write is sound."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from domsim.cli import app
from domsim.errors import DomsimError, SpecError
from domsim.experiment import find_experiment, load_script, read_experiment
from domsim.folders import shipped
from domsim.tournament import make_plan

SHIPPED = Path(__file__).parent.parent / "experiments"


def domsim(*words: str) -> str:
    done = CliRunner().invoke(app, words)
    if done.exception is not None:
        raise done.exception
    return done.stdout


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.toml")), ids=lambda path: path.name)
def test_shipped_tournaments_can_be_read(path: Path) -> None:
    assert read_experiment(find_experiment(path.stem))


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.py")), ids=lambda path: path.name)
def test_shipped_scripts_say_what_they_do(path: Path) -> None:
    run = load_script(find_experiment(path.stem))
    assert run.__code__.co_varnames[:3] == ("out", "jobs", "quick")
    assert path.read_text().startswith('"""')


def test_an_unknown_name_lists_both_kinds() -> None:
    with pytest.raises(SpecError, match=r"did you mean 'seats'\?; known: .*quickstart.*seats"):
        find_experiment("seatz")


def test_a_script_is_given_what_the_command_line_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text('"""Mine."""\n\ndef run(out, jobs, quick):\n    print(f"{out} {jobs} {quick}")\n')
    assert domsim("run", "mine.py", "--jobs", "3", "--quick") == "results/mine True\n".replace(" ", " 3 ", 1)
    assert domsim("run", "mine.py", "--out", "there") == "there 2 False\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = 1", "no function run"),
        ("run = 3", "no function run"),
        ("1 / 0", "ZeroDivisionError"),
        ("(", "SyntaxError"),
    ],
)
def test_a_broken_script_is_an_error_of_one_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "broken.py"
    path.write_text(text)
    with pytest.raises(SpecError, match=problem) as found:
        load_script(path)
    assert str(path) in str(found.value)


def test_a_list_of_tournaments_has_no_quick_form() -> None:
    with pytest.raises(DomsimError, match=r"--quick: quickstart\.toml"):
        domsim("run", "quickstart", "--quick")


def test_seats(tmp_path: Path) -> None:
    printed = domsim("run", "seats", "--quick", "--jobs", "1", "--out", str(tmp_path / "a"))
    frame = pd.read_csv(tmp_path / "a" / "seats.csv")
    tables = frame.groupby(["game", "seats", "agent"])
    assert {key[:2] for key in tables.groups} == {
        ("longana", 2), ("longana", 3), ("longana", 4), ("mexican", 2), ("mexican", 4), ("mexican", 8),
    }  # fmt: skip
    assert set(frame["agent"]) == {"random", "careful"}
    for (_, seats, _), rows in tables:
        assert rows["seat"].tolist() == list(range(seats))
        assert rows["win_share"].sum() == pytest.approx(1)
    assert ((frame["win_share_low"] <= frame["win_share"]) & (frame["win_share"] <= frame["win_share_high"])).all()
    inside = (frame["win_share_low"] <= frame["fair_share"]) & (frame["fair_share"] <= frame["win_share_high"])
    assert inside.mean() > 0.85
    assert "fair %" in printed
    assert f"{100 * frame['win_share'][0]:.1f} ±" in printed
    assert "…" not in printed
    domsim("run", "seats", "--quick", "--jobs", "2", "--out", str(tmp_path / "b"))
    assert (tmp_path / "b" / "seats.csv").read_bytes() == (tmp_path / "a" / "seats.csv").read_bytes()


def test_shares_by_deal() -> None:
    """Of the deal's matches, a shared win as its part; counted once more by hand."""
    script = load_script(SHIPPED / "seats.py").__globals__
    copies = ["random?stream=0", "random?stream=1"]
    result = script["run_tournament"]("mexican", copies, 30, seats=2, lineup="mix", suite="smoke")
    shares = script["shares_by_deal"](result)
    expected = np.zeros((30, 2))
    for row in result.matches.itertuples():
        won = [row.won_0, row.won_1]
        for seat in range(2):
            expected[row.deal, seat] += won[seat] / sum(won) / 2
    assert shares == pytest.approx(expected)


@pytest.mark.parametrize("path", sorted(shipped("experiments").glob("*.toml")), ids=lambda path: path.stem)
def test_every_shipped_experiment_can_be_played(path: Path) -> None:
    specs = read_experiment(path)
    assert specs
    for spec in specs:
        plan = make_plan(spec)
        assert plan.agents
        assert plan.matches_a_deal > 0
