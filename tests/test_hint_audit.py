"""The audit of hints: drawn evenly, repeatable, no regret against itself, and what it writes can be replayed."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from domsim.agent import load_agent
from domsim.batch import Batch
from domsim.cli import app
from domsim.errors import DomsimError
from domsim.games import GAMES, find_game
from domsim.hint_audit import audit_hints, other_word
from domsim.hints import choices_of, moves_of, round_of, scores_of
from domsim.positions import draw_positions, select
from domsim.record import parse_record, to_json


@pytest.mark.parametrize("game", GAMES)
def test_positions_are_decisions_of_the_agents_own_rounds(game: str) -> None:
    agent = load_agent("careful", find_game(game))
    drawn = draw_positions(agent, 30, suite="smoke", seed=3)
    again = draw_positions(agent, 30, suite="smoke", seed=3)
    assert len(drawn) == 30 and drawn.moves.action.tolist() == again.moves.action.tolist()
    assert (np.diff(drawn.deal) >= 0).all()
    for place in range(0, 30, 5):
        a_round = round_of(parse_record(to_json(drawn.record(place))))
        own = moves_of(a_round)
        here = slice(drawn.moves.first[place], drawn.moves.first[place + 1])
        assert own.action.tolist() == drawn.moves.action[here].tolist()
        assert own.features.tolist() == drawn.moves.features[here].tolist()


def test_every_decision_is_as_likely() -> None:
    agent = load_agent("careful", find_game("cuban"))
    batch, counts = Batch("cuban", 300, suite="smoke", seed=2), np.zeros(3)
    while len(moves := batch.legal()):
        counts += np.bincount(moves.stage, minlength=3)
        batch.play_scores(scores_of(agent, moves))
    drawn = np.bincount(draw_positions(agent, 900, suite="smoke", seed=1).moves.stage, minlength=3)
    assert np.abs(drawn / drawn.sum() - counts / counts.sum()).max() < 0.05


def test_some_plays_of_some_decisions() -> None:
    agent = load_agent("careful", find_game("cuban"))
    moves = draw_positions(agent, 10, suite="smoke", seed=3).moves
    two = select(moves.game, [(moves, 4), (moves, 2)], [[1, 0], [0, 1]], other_word)
    assert len(two) == 2 and two.first.tolist() == [0, 2, 4]
    at = moves.first
    assert two.action.tolist() == moves.action[[at[4] + 1, at[4], at[2], at[2] + 1]].tolist()
    assert two.random[0] == other_word(int(moves.random[4])) != moves.random[4]
    assert two.view[1].tobytes() == moves.view[2].tobytes()


def test_no_regret_against_itself() -> None:
    found = audit_hints("cuban", "careful", "careful", 40)
    for quality in found.qualities:
        assert quality.agreement.estimate == 1 or not quality.positions
        assert quality.regret.estimate == 0 or not quality.positions
    assert found.worst == []


@pytest.mark.parametrize("game", GAMES)
def test_a_poor_agent_regrets_more(game: str) -> None:
    careful = audit_hints(game, "careful", "search?ways=50", 60, seed=1)
    poor = audit_hints(game, "random", "search?ways=50", 60, seed=1)
    assert poor.qualities[0].agreement.estimate < careful.qualities[0].agreement.estimate
    assert poor.qualities[0].regret.low > 0
    assert [quality.stage for quality in poor.qualities] == ["all", "early", "middle", "late"]
    assert sum(quality.positions for quality in poor.qualities[1:]) == poor.qualities[0].positions == 60
    assert audit_hints(game, "random", "search?ways=50", 60, seed=1) == poor


def test_worst_positions_are_records() -> None:
    found = audit_hints("longana", "heaviest", "search?ways=50", 60, seats=3)
    regrets = [record["meta"]["regret"] for record in found.worst]
    assert found.seats == 3 and regrets == sorted(regrets, reverse=True) and regrets[-1] > 0
    for record in found.worst:
        a_round = round_of(parse_record(to_json(record)))
        assert {record["meta"]["play"], record["meta"]["better"]} <= set(a_round.legal())


def test_the_yardstick_is_not_judged_by_its_own_luck() -> None:
    """Two searches of few ways are equally good, so on new random words neither is better on average."""
    found = audit_hints("cuban", "search?ways=10&stream=5", "search?ways=10", 300)
    regret = found.qualities[0].regret
    assert regret.low < 1.0
    agent = load_agent("search?ways=10", find_game("cuban"))
    moves = draw_positions(agent, 50, suite="valid", seed=0).moves
    other = select(moves.game, [(moves, d) for d in range(50)], None, other_word)
    assert (choices_of(agent, moves) != choices_of(agent, other)).any()


def test_refusals() -> None:
    with pytest.raises(DomsimError, match="positions: 0"):
        audit_hints("cuban", "careful", "careful", 0)
    with pytest.raises(DomsimError, match="unknown agent"):
        audit_hints("cuban", "careful", "nobody")


def test_command(tmp_path: Path) -> None:
    out = tmp_path / "worst.jsonl"
    judged = ["audit-hints", "cuban", "--agent", "heaviest", "--against", "search?ways=20"]
    made = CliRunner().invoke(app, [*judged, "--positions", "30", "--out", str(out)])
    assert made.exit_code == 0, made.output
    assert "agreement" in made.stdout and "regret" in made.stdout
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert records and all(record["meta"]["agent"] == "heaviest" for record in records)


@pytest.mark.parametrize("place", ["missing/worst.jsonl", "."])
def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["audit-hints", "cuban", "--positions", "2", "--out", place])
    assert isinstance(done.exception, DomsimError) and "folder" in str(done.exception)
    assert done.output == ""
