"""The audit passes what is shipped and finds what is wrong with every bad agent, by the right check."""

import json
import pickle
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from domsim import audit_worker
from domsim.agent import agent_names, load_agent
from domsim.audit import Check, audit, audit_agent
from domsim.batch import Batch
from domsim.core.driver import PYTHON
from domsim.core.plain import Plain
from domsim.errors import AgentError, AgentFailedError, DomsimError
from domsim.games import GAMES
from domsim.seeds import deal_keys, find_suite
from domsim.tournament import Spec, make_plan, play_chunk, play_chunks
from domsim.worlds import make_worlds

TESTS = Path(__file__).parent
BAD = TESTS / "bad_agents"
NAMES = ["answers", "repeatable", "hidden", "worker", "inputs", "speed", "time"]


class Inline:
    """Stands in for `Popen`: the process of an audit played here, when it is waited for; six times faster."""

    def __init__(self, command: list[str], cwd: Path, **_: Any) -> None:
        self.task = command[-2]

    def wait(self, timeout: float | None = None) -> int:
        if timeout is not None:
            argv, sys.argv = sys.argv, ["", self.task]
            audit_worker.main()
            sys.argv = argv
        return 0

    def poll(self) -> None:
        """Not ended yet."""

    def kill(self) -> None:
        """Nothing to end."""


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", Inline)
    monkeypatch.setattr(audit_worker.Worker, "start_clock", lambda _: None)  # it would end this process


def audited(spec: str, rounds: int = 24, time_limit: float = 60, game: str = "cuban") -> dict[str, Check]:
    return {check.name: check for check in audit_agent(spec, game, rounds, time_limit)}


def failed(checks: dict[str, Check]) -> list[str]:
    return [name for name, check in checks.items() if check.passed is False]


def played_by(name: str) -> list[str]:
    games = []
    for game in GAMES.values():
        try:
            load_agent(name, game)
        except AgentError:
            continue
        games.append(game.name)
    return games


@pytest.mark.parametrize("agent", [*agent_names(), "example_bot.py"])
def test_good_agents_pass(agent: str, inline: None) -> None:
    spec = {"example_bot.py": str(TESTS / agent), "search": "search?ways=2"}.get(agent, agent)
    compiled = load_agent(spec, GAMES[played_by(spec)[0]]).kind != PYTHON
    checks = audit_agent(spec, rounds=24 if compiled else 6)
    assert [check for check in checks if check.passed is not True] == []
    assert [(check.game, check.name) for check in checks] == [
        (game, name) for game in played_by(spec) for name in NAMES
    ]


@pytest.mark.parametrize("agent", ["careful", "example_bot.py"])
def test_a_good_agent_passes_in_processes_of_its_own(agent: str) -> None:
    spec = str(TESTS / agent) if agent.endswith(".py") else agent
    assert failed(audited(spec, game="longana")) == []


def check_failure(agent: str, check: str, text: str) -> str:
    checks = audited(str(BAD / agent))
    evidence = checks[check].evidence
    assert failed(checks) == [check]
    assert text in evidence
    assert "\n" not in evidence
    return evidence


@pytest.mark.parametrize(
    ("agent", "text"),
    [
        ("illegal.py", "illegal.py, line 9: choose(view) returned '9-9>L'; legal: "),
        ("index.py", "index.py, line 9: choose(view) returned 0; legal: "),
        ("nan.py", "nan.py, line 11: score(moves) returned nan for "),
        ("shape.py", "shape.py, line 11: score(moves) returned float64 (12,), expected numbers (96,)"),
        ("rare.py?one_in=50", "rare.py, line 14: ZeroDivisionError: this hand was not thought of; at game cuban, "),
        ("rare_scalar.py?one_in=50", "rare_scalar.py, line 15: KeyError: 'this hand was not thought of'; at game"),
        ("exits.py", "exits.py, line 17: SystemExit: enough"),
    ],
)
def test_bad_answers(agent: str, text: str, inline: None) -> None:
    evidence = check_failure(agent, "answers", text)
    for fact in (
        " suite smoke, seed 0, deal ",
        ", round ",
        ", ply ",
        ", seat ",
        f"again: domsim audit {shlex.quote(str(BAD / agent))} ",
    ):
        assert fact in evidence


def test_an_agent_that_ends_its_process() -> None:
    check_failure("exits.py?at_once=1", "answers", "the process ended, exit code 7")


@pytest.mark.parametrize(
    ("agent", "text"),
    [
        ("writes.py", "writes.py, line 11: ValueError: output array is read-only"),
        ("writes_anyway.py", "moves.features was changed"),
        ("writes_view.py", "writes_view.py, line 10: AttributeError: a view is read-only; 'seat' cannot be set"),
    ],
)
def test_inputs_written_to(agent: str, text: str, inline: None) -> None:
    check_failure(agent, "inputs", text)


@pytest.mark.parametrize(
    ("agent", "text"),
    [
        ("python_random.py", "; it draws from the global random; use `random` of what it is given"),
        ("numpy_random.py", "; it draws from the global numpy.random; use"),
        ("crowd.py", "all at once and seven at a time: deal "),
    ],
)
def test_choices_that_are_not_repeatable(agent: str, text: str, inline: None) -> None:
    assert " against " in check_failure(agent, "repeatable", text)


def test_choices_that_are_others_in_another_process() -> None:
    check_failure("hash_order.py", "repeatable", "all at once and in another process: deal ")


def check_peeking(agent: str) -> None:
    evidence = check_failure(agent, "hidden", "of 12 decisions change with the hidden tiles: with 4 seats, deal ")
    assert " with the true tiles, " in evidence


@pytest.mark.parametrize("agent", ["peeks_objects.py", "peeks_global.py"])
def test_peeking_in_the_whole_process(agent: str) -> None:
    check_peeking(agent)


@pytest.mark.parametrize("agent", ["peeks_frames.py", "peeks_key.py"])
def test_peeking_in_the_callers(agent: str, inline: None) -> None:
    check_peeking(agent)


def test_agents_that_need_more_than_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "helper_of_a_notebook.py").write_text("WEIGHT = 1")
    (tmp_path / "weight.txt").write_text("1")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    check_failure(
        "needs_helper.py", "worker", "needs_helper.py: line 5: ModuleNotFoundError: No module named 'helper_of"
    )
    check_failure("needs_folder.py", "worker", "needs_folder.py: line 11: FileNotFoundError")  # fmt: skip


def test_an_agent_that_needs_the_script_that_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "WEIGHT_OF_THE_SCRIPT", 1, raising=False)
    load_agent(str(BAD / "needs_main.py"), GAMES["cuban"])
    check_failure("needs_main.py", "worker", "needs_main.py: line 5: ImportError: cannot import name 'WEIGHT_OF_THE_")


def test_an_endless_loop_is_stopped() -> None:
    checks = audited(str(BAD / "loops.py"), time_limit=4.5)
    assert failed(checks) == ["time"]
    assert f"stopped after 4.5 s in 'all at once', at {BAD / 'loops.py'}, line 1" in checks["time"].evidence
    assert {checks[name].passed for name in NAMES if name != "time"} == {None}


def test_the_audit_prints_and_says_whether_all_passed(capsys: pytest.CaptureFixture[str], inline: None) -> None:
    assert audit("careful", "cuban", rounds=6) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "careful · cuban"
    assert [line.split()[:2] for line in lines[1:]] == [["pass", name] for name in NAMES]
    assert audit(str(BAD / "nan.py"), "cuban", rounds=6, as_json=True) == 1
    found = json.loads(capsys.readouterr().out)
    assert [check["name"] for check in found if check["passed"] is False] == ["answers"]


def test_an_agent_that_plays_another_game(tmp_path: Path, inline: None) -> None:
    (tmp_path / "chess.py").write_text("class Chess:\n    games = ('chess',)\n    def choose(self, view): ...\n")
    with pytest.raises(AgentError, match=r"plays none of the games: .*Chess does not play cuban; it plays chess"):
        audit_agent(str(tmp_path / "chess.py"), rounds=6)


def test_what_cannot_be_audited_is_an_error() -> None:
    with pytest.raises(AgentError, match="did you mean 'careful'"):
        audit_agent("carefull", "cuban")
    with pytest.raises(DomsimError, match="did you mean 'cuban'"):
        audit_agent("careful", "cubam")
    with pytest.raises(DomsimError, match="above 0"):
        audit_agent("careful", "cuban", rounds=0)


@pytest.mark.parametrize("game", GAMES.values(), ids=list(GAMES))
def test_other_worlds(game: Any) -> None:
    """The mover sees the same and what others hold is different; the kernels tell it the same, features and all."""
    seats = game.seats[0]
    worlds = make_worlds(game, seats, 12, deal_keys(find_suite("smoke"), 0, range(12)))
    assert len(worlds.places) >= 10
    seen = []
    for states in (worlds.true, worlds.other):
        batch = Batch.of_states(game, game.rules.of({}), seats, states, [])
        moves = batch.legal()
        assert len(moves) == len(states)
        seen.append([moves.view.tobytes(), moves.action.tobytes(), moves.features.tobytes(), moves.random.tobytes()])
    assert seen[0] == seen[1]
    for true, other in zip(worlds.true, worlds.other, strict=True):
        hands = [[game.hand(Plain(state), seat) for seat in range(seats)] for state in (true, other)]
        assert hands[0] != hands[1]
        assert list(map(len, hands[0])) == list(map(len, hands[1]))
        assert hands[0][true["seat"]] == hands[1][true["seat"]]
        assert true["key"] != other["key"]
        assert (true["stock"] != other["stock"]).any()


def test_a_failure_names_the_decision_and_how_to_see_it_again() -> None:
    spec = Spec("cuban", (str(BAD / "rare.py"), "random"), 60, "smoke", seed=2)
    with pytest.raises(AgentFailedError, match=r"rare.py, line 14: ZeroDivisionError") as found:
        play_chunk(spec.to_json(), 0, 60)
    error = found.value
    facts = error.facts
    assert list(facts) == ["game", "round", "ply", "seat", "suite", "seed", "deal", "seating", "command"]
    assert str(error).count("\n") == 2
    assert facts["command"].startswith(
        f"domsim tournament cuban --agents {BAD / 'rare.py'},random --suite smoke --seed 2"
    )
    again = Spec("cuban", spec.agents, 1, "smoke", seed=2, first_deal=facts["deal"])
    with pytest.raises(AgentFailedError) as same:
        play_chunk(again.to_json(), facts["deal"], 1)
    assert same.value.facts | {"command": ""} == facts | {"command": ""}


def test_a_failure_comes_whole_out_of_a_worker() -> None:
    spec = Spec("cuban", (str(BAD / "rare_scalar.py?one_in=100"), "random"), 4, "smoke")
    with pytest.raises(AgentFailedError) as here:
        play_chunk(spec.to_json(), 0, 2)
    with pytest.raises(AgentFailedError) as there:
        list(play_chunks(make_plan(spec), [(0, 2), (2, 2)], jobs=2))
    assert (str(there.value) == str(here.value)) or there.value.facts["deal"] >= 2
    copy = pickle.loads(pickle.dumps(here.value))
    assert (str(copy), copy.facts, copy.line) == (str(here.value), here.value.facts, here.value.line)


def test_a_failure_that_is_of_no_single_decision(tmp_path: Path) -> None:
    (tmp_path / "many.py").write_text(
        "class Many:\n    def score(self, moves):\n        assert len(moves) == 1\n        return moves['pips']\n"
    )
    with pytest.raises(AgentFailedError, match="20 decisions asked at once; alone, each is answered"):
        Batch("cuban", 20, agents=[str(tmp_path / "many.py")] * 4).run()


def test_matches_in_progress_go_on() -> None:
    """A batch of states plays them to their end as the batch they came from does."""
    whole = Batch("cuban", 5, agents=["careful", None, "careful", None], matches=True)
    for _ in range(7):
        whole.play(np.zeros(len(whole.legal()), np.int64))
    part = Batch.of_states(whole.game, whole.rules, 4, whole._states.copy(), whole._agents)
    while not whole.over.all():
        assert (part.legal().view == whole.legal().view).all()
        for batch in (whole, part):
            batch.play(np.zeros(len(batch.legal()), np.int64))
    assert (part.matches == whole.matches).all()
