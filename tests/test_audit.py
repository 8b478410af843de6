"""The audit passes what is shipped and finds what is wrong with every bad agent, by the right check."""

import json
import sys
from pathlib import Path

import pytest

from domsim.agent import agent_names
from domsim.audit import Check, audit, audit_agent
from domsim.errors import AgentError, AgentFailedError, DomsimError
from domsim.games import GAMES, find_game
from domsim.seeds import deal_keys, find_suite
from domsim.tournament import Spec, make_plan, play_chunk, play_chunks
from domsim.worlds import make_worlds

BAD = Path(__file__).parent / "bad_agents"
NAMES = ["answers", "repeatable", "hidden", "worker", "inputs", "speed", "time"]


def audited(spec: str, rounds: int = 24, time_limit: float = 60) -> dict[str, Check]:
    return {check.name: check for check in audit_agent(spec, "cuban", rounds, time_limit)}


def failed(checks: dict[str, Check]) -> list[str]:
    return [name for name, check in checks.items() if check.passed is False]


@pytest.mark.parametrize("agent", [*agent_names(), "example_bot.py"])
def test_good_agents_pass(agent: str) -> None:
    spec = agent if agent in agent_names() else str(Path(__file__).parent / agent)
    checks = audit_agent(spec, rounds=24)
    assert [check for check in checks if check.passed is not True] == []
    games = list(dict.fromkeys(check.game for check in checks))
    assert [(check.game, check.name) for check in checks] == [(game, name) for game in games for name in NAMES]
    if agent == "example_bot.py":
        assert games == list(GAMES)


@pytest.mark.parametrize(
    ("agent", "check", "text"),
    [
        ("peeks_frames.py", "hidden", "decisions change with the hidden tiles: with 4 seats, deal "),
        ("peeks_objects.py", "hidden", "decisions change with the hidden tiles"),
        ("peeks_global.py", "hidden", "with the true tiles, "),
        ("peeks_key.py", "hidden", "with the true tiles, "),
        ("python_random.py", "repeatable", "all at once and once more, with 4 seats, deal 0, round 1, ply"),
        ("python_random.py", "repeatable", "it draws from the global random; use"),
        ("numpy_random.py", "repeatable", "it draws from the global numpy.random; use"),
        ("crowd.py", "repeatable", "all at once and seven at a time, with 4 seats"),
        ("hash_order.py", "repeatable", "all at once and in another process, with 4 seats"),
        ("writes.py", "inputs", "writes.py, line 11: ValueError: output array is read-only"),
        ("writes_anyway.py", "inputs", "moves.features was changed"),
        ("writes_view.py", "inputs", "writes_view.py, line 10: AttributeError: a view is read-only; 'seat'"),
        ("illegal.py", "answers", "illegal.py, line 9: choose(view) returned '9-9>L'; legal: "),
        ("index.py", "answers", "index.py, line 9: choose(view) returned 0; legal: "),
        ("nan.py", "answers", "nan.py, line 11: score(moves) returned nan for "),
        ("shape.py", "answers", "shape.py, line 11: score(moves) returned float64 (72,), expected numbers ("),
        ("rare.py?one_in=400", "answers", "rare.py, line 14: ZeroDivisionError: this hand was not thought of; at game cuban"),
        ("rare_scalar.py?one_in=400", "answers", "rare_scalar.py, line 15: KeyError: 'this hand was not thought of'"),
        ("exits.py", "answers", "exits.py, line 17: SystemExit: enough"),
        ("exits.py?at_once=1", "answers", "the process ended, exit code 7"),
        ("needs_main.py", "worker", "needs_main.py: line 5: ImportError: cannot import name 'WEIGHT_OF_THE_SCRIPT'"),
    ],
)  # fmt: skip
def test_bad_agents_fail_the_right_check(agent: str, check: str, text: str) -> None:
    checks = audited(str(BAD / agent))
    assert failed(checks) == [check]
    assert text in checks[check].evidence
    assert "\n" not in checks[check].evidence
    if check == "answers" and "process ended" not in text:
        assert "deal" in checks[check].evidence
        assert "ply" in checks[check].evidence
        assert "again: domsim audit" in checks[check].evidence
