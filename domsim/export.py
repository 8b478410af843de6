"""Agents for other programs: weights, what the features mean, and golden decisions to check a port with, as JSON.

| field | what |
|---|---|
| `format` | `"domino-agent/1"` |
| `agent`, `about`, `file_hash`, `game`, `seats` | what was exported; the golden decisions are of a table of this size |
| `rules` | rule options by name: `default`, `allowed`, `note` |
| `features` | in the order of all lists below: `name`, `note` |
| `stages` | in the order of the tables of weights: names |
| `fixed_point` | what a whole weight is divided by: 1024 |
| `weights`, `fixed` | by stage, by feature: as decimal numbers, and as whole ones in 1 / `fixed_point` |
| `decisions` | golden ones: `record`, a partial record that stops there, `seat`, `stage`, and the rest |
| `legal` of a decision | all actions: `action`, `features` (whole, in order), `score` (sum of `fixed` times those) |
| `ties`, `choice` | all actions with the highest score, and the first of them; an agent may choose any of `ties` |
"""

from typing import Any

from domsim.agent import FIXED_POINT, STAGES, Agent, load_agent
from domsim.core.driver import WEIGHTS
from domsim.errors import AgentError, DomsimError
from domsim.games import find_game
from domsim.hints import fixed_scores
from domsim.positions import Positions, draw_positions
from domsim.record import to_json
from domsim.tiles import quoted

FORMAT = "domino-agent/1"
#: golden decisions
DECISIONS = 200


def export_agent(agent: str, game: str, format: str = "json", decisions: int = DECISIONS) -> str:
    """A weights agent as text for other programs.

    Raises:
        DomsimError: another format than `json`, an unknown game or agent, one without weights.
    """
    if format != "json":
        raise DomsimError(f"format: {quoted(format)} is not allowed; allowed: json")
    return to_json(export_dict(agent, game, decisions)) + "\n"


def export_dict(agent: str, game: str, decisions: int = DECISIONS) -> dict[str, Any]:
    """The same as plain values; the table above has the fields.

    Raises:
        DomsimError: as `export_agent`.
    """
    found = find_game(game)
    loaded = load_agent(agent, found)
    if loaded.kind != WEIGHTS:
        raise AgentError(f"agent {agent} has no weights ({loaded.kind_name}): only a weights file can be exported")
    drawn = draw_positions(loaded, decisions, suite="smoke", seed=0)
    notes = found.core.FEATURE_NOTES
    return {
        "format": FORMAT,
        "agent": loaded.spec,
        "about": loaded.about,
        "file_hash": loaded.file_hash,
        "game": found.name,
        "seats": drawn.seats,
        "rules": {o.name: {"default": o.default, "allowed": o.allowed, "note": o.note} for o in found.rules.options()},
        "features": [{"name": name, "note": notes[name]} for name in found.features],
        "stages": list(STAGES),
        "fixed_point": FIXED_POINT,
        "weights": _weights(loaded, FIXED_POINT),
        "fixed": _weights(loaded),
        "decisions": [_golden(loaded, drawn, place) for place in range(len(drawn))],
    }


def _weights(agent: Agent, divisor: int = 0) -> dict[str, dict[str, float]]:
    """Weights by stage and feature, zeros left out; whole numbers without a divisor."""
    return {
        stage: {
            name: int(weight) / divisor if divisor else int(weight)
            for name, weight in zip(agent.game.features, row, strict=True)
            if weight
        }
        for stage, row in zip(STAGES, agent.weights, strict=True)
    }


def _golden(agent: Agent, drawn: Positions, place: int) -> dict[str, Any]:
    moves = drawn.moves
    scores = fixed_scores(agent, moves)
    plays = range(int(moves.first[place]), int(moves.first[place + 1]))
    best = max(int(scores[play]) for play in plays)
    ties = [moves.text(play) for play in plays if scores[play] == best]
    legal = [
        {"action": moves.text(play), "features": moves.features[play].tolist(), "score": int(scores[play])}
        for play in plays
    ]
    return {
        "record": drawn.record(place),
        "seat": int(moves["seat"][place]),
        "stage": STAGES[int(moves.stage[place])],
        "legal": legal,
        "ties": ties,
        "choice": ties[0],
    }
