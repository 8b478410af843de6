"""Seeded matches of domino games between pluggable agents, with honest statistics.

What is listed in `__all__` is what domsim offers; everything else may change. Names are loaded when they are first
used, so that the import costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from domsim.agent import Agent, load_agent
    from domsim.batch import Batch
    from domsim.errors import DomsimError
    from domsim.games import find_game
    from domsim.hints import hint
    from domsim.moves import Moves
    from domsim.results import read_table
    from domsim.round import Round
    from domsim.rules import find_rules
    from domsim.run import Result, load_result, run_tournament
    from domsim.tournament import Spec

_HOME = {
    "Agent": "agent",
    "Batch": "batch",
    "DomsimError": "errors",
    "Moves": "moves",
    "Result": "run",
    "Round": "round",
    "Spec": "tournament",
    "find_game": "games",
    "find_rules": "rules",
    "hint": "hints",
    "load_agent": "agent",
    "load_result": "run",
    "read_table": "results",
    "run_tournament": "run",
}

__all__ = [
    "Agent",
    "Batch",
    "DomsimError",
    "Moves",
    "Result",
    "Round",
    "Spec",
    "find_game",
    "find_rules",
    "hint",
    "load_agent",
    "load_result",
    "read_table",
    "run_tournament",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'domsim' has no attribute {name!r}")
    return getattr(import_module(f"domsim.{_HOME[name]}"), name)
