"""Exported agents: two scorers that know nothing of domsim come to the same scores, features and choices."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from domsim.agent import load_agent
from domsim.cli import app
from domsim.errors import AgentError, DomsimError
from domsim.export import DECISIONS, export_agent, export_dict
from domsim.games import GAMES, find_game
from domsim.hints import moves_of, round_of, scores_of
from domsim.record import parse_record, to_json

SCORERS = Path(__file__).parent / "scorers"
NODE = shutil.which("node") or ("/usr/bin/node" if Path("/usr/bin/node").exists() else None)
COMMANDS = {"python": [sys.executable, "-I", str(SCORERS / "score.py")]}
if NODE:
    COMMANDS["javascript"] = [NODE, str(SCORERS / "score.mjs")]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("export")
    for game in GAMES:
        (folder / f"{game}.json").write_text(export_agent("careful", game))
    return {game: folder / f"{game}.json" for game in GAMES}


def run(language: str, file: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMANDS[language], str(file)], capture_output=True, text=True)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("language", COMMANDS)
def test_scorers_agree(files: dict[str, Path], game: str, language: str) -> None:
    done = run(language, files[game])
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{DECISIONS} decisions of {game}, 0 differ\n"


@pytest.mark.parametrize("language", COMMANDS)
def test_scorers_see_what_is_wrong(files: dict[str, Path], tmp_path: Path, language: str) -> None:
    agent = json.loads(files["cuban"].read_text())
    first, second, third = agent["decisions"][:3]
    first["legal"][0]["score"] += 1
    second["ties"] = ["pass"]
    place = [feature["name"] for feature in agent["features"]].index("unseen_new")
    third["legal"][0]["features"][place] += 1
    (tmp_path / "wrong.json").write_text(json.dumps(agent))
    done = run(language, tmp_path / "wrong.json")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == f"{DECISIONS} decisions of cuban, 3 differ"
    assert "unseen_new of" in done.stdout


def test_scorers_do_not_know_domsim() -> None:
    for file in SCORERS.iterdir():
        assert "import domsim" not in file.read_text() and "numpy" not in file.read_text()


@pytest.mark.parametrize("game", GAMES)
def test_golden_decisions_are_the_agents(files: dict[str, Path], game: str) -> None:
    exported: dict[str, Any] = json.loads(files[game].read_text())
    agent = load_agent("careful", find_game(game))
    assert [feature["name"] for feature in exported["features"]] == list(agent.game.features)
    assert len(exported["decisions"]) == DECISIONS
    for decision in exported["decisions"][::20]:
        moves = moves_of(round_of(parse_record(to_json(decision["record"]))))
        scores = dict(zip(map(moves.text, range(len(moves.action))), scores_of(agent, moves).tolist(), strict=True))
        assert {one["action"]: one["score"] / exported["fixed_point"] for one in decision["legal"]} == scores
        best = max(scores.values())
        assert set(decision["ties"]) == {action for action, value in scores.items() if value == best}
        assert decision["choice"] == decision["ties"][0] and decision["seat"] == moves["seat"][0]


@pytest.mark.parametrize("game", GAMES)
def test_weights_are_given_twice(files: dict[str, Path], game: str) -> None:
    exported = json.loads(files[game].read_text())
    agent = load_agent("careful", find_game(game))
    for number, stage in enumerate(exported["stages"]):
        weights, fixed = exported["weights"][stage], exported["fixed"][stage]
        assert weights.keys() == fixed.keys()
        assert all(fixed[name] == weights[name] * exported["fixed_point"] for name in fixed)
        row = dict(zip(agent.game.features, agent.weights[number].tolist(), strict=True))
        assert {name: weight for name, weight in row.items() if weight} == fixed
    assert set(exported["rules"]) == {option.name for option in agent.game.rules.options()}


def test_ties_are_noted() -> None:
    decisions = export_dict("heaviest", "cuban", 60)["decisions"]
    assert any(len(decision["ties"]) > 1 for decision in decisions)


def test_refusals() -> None:
    for name in ("random", "search"):
        with pytest.raises(AgentError, match="only a weights file"):
            export_agent(name, "cuban")
    with pytest.raises(DomsimError, match="allowed: json"):
        export_agent("careful", "cuban", "xml")


def test_command(tmp_path: Path) -> None:
    out = tmp_path / "careful.json"
    arguments = ["export", "careful", "--game", "cuban", "--format", "json"]
    made = CliRunner().invoke(app, [*arguments, "--out", str(out)])
    assert made.exit_code == 0, made.output
    assert out.read_text() == export_agent("careful", "cuban") == CliRunner().invoke(app, arguments).stdout
