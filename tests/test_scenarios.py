"""Situations whose right play is plain to everybody at the table: the strongest weights file has to see them too.

`scenarios/GAME.jsonl` has one a line: `record`, a partial record; `first`, plays of which one has to be ranked first,
or `not_first`, plays of which none may be; `why`. Most were drawn from rounds of `careful` on random deals, by what a
play does (a feature) and by playouts: it is better by five standard errors or more whether `careful`, `heaviest`,
`doubles-first` or `expert` plays on, by 8 points or more where `careful` does. The others were set up by hand. No agent
was asked for its play.
`known_failure` marks those that the agent does get wrong.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from domsim.agent import Agent, agent_names, load_agent
from domsim.games import GAMES, find_game
from domsim.hints import hint, round_of
from domsim.record import parse_record

FOLDER = Path(__file__).parent / "scenarios"
#: of a game: scenarios that have to hold, and that may be known not to
LEAST, MOST_KNOWN = 15, 2


def scenarios(game: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{game}.jsonl").read_text().splitlines()]


def strongest(game: str) -> Agent:
    return load_agent("expert" if "expert" in agent_names() else "careful", find_game(game))


CASES = [
    pytest.param(scenario, id=f"{game}-{number}")
    for game in GAMES
    for number, scenario in enumerate(scenarios(game), 1)
    if not scenario.get("known_failure")
]


@pytest.mark.parametrize("scenario", CASES)
def test_scenario(scenario: dict[str, Any]) -> None:
    a_round = round_of(parse_record(json.dumps(scenario["record"])))
    found = hint(a_round, strongest(a_round.game.name))
    top = found.plays[0].action
    if "first" in scenario:
        assert top in scenario["first"], f"{scenario['why']}\n{a_round}\n{found}"
    else:
        assert top not in scenario["not_first"], f"{scenario['why']}\n{a_round}\n{found}"


@pytest.mark.parametrize("game", GAMES)
def test_files(game: str) -> None:
    rows = scenarios(game)
    known = [row for row in rows if row.get("known_failure")]
    assert len(known) <= MOST_KNOWN
    assert len(rows) - len(known) >= LEAST
    for row in rows:
        assert row.keys() - {"known_failure"} in ({"record", "first", "why"}, {"record", "not_first", "why"})
        a_round = round_of(parse_record(json.dumps(row["record"])))
        named = set(row.get("first", row.get("not_first")))
        assert row["record"]["game"] == game
        assert row["why"] and named
        assert named < set(a_round.legal())
