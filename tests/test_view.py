"""Agents with `choose(view)`: plain values, the same matches as an equal agent of another kind, the README's bot."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from domsim import Batch, run_tournament
from domsim.errors import AgentFailedError
from domsim.games import GAMES, Game
from domsim.moves import Moves
from domsim.tiles import HIGH, LOW, tile_text
from domsim.tournament import Spec, play_chunk
from domsim.view import View

EXAMPLE = str(Path(__file__).parent / "example_bot.py")
#: `heaviest`, written for one decision; equal plays are drawn from as the kernels do
HEAVIEST = """
class Heaviest:
    def choose(self, view):
        worth = {action: own["pips"] - own.get("stop", 0) for action, own in view.features.items()}
        best = [action for action in view.legal if worth[action] == max(worth.values())]
        return best[int(view.random() * len(best))]
"""
TABLES = [(game, seats) for game in GAMES.values() for seats in sorted({min(game.seats), max(game.seats)})]
each_table = pytest.mark.parametrize(("game", "seats"), TABLES, ids=[f"{game.name}-{seats}" for game, seats in TABLES])


@each_table
def test_a_scalar_agent_plays_the_same_matches_as_an_equal_one(game: Game, seats: int, tmp_path: Path) -> None:
    (tmp_path / "heaviest.py").write_text(HEAVIEST)
    chunks = [
        play_chunk(Spec(game.name, (agent, "random"), 4, "smoke", seats=seats, rounds=3).to_json(), 0, 4, slots)
        for agent, slots in (("heaviest", 1), (str(tmp_path / "heaviest.py"), 5))
    ]
    assert (chunks[0].matches == chunks[1].matches).all()
    assert (chunks[0].rounds == chunks[1].rounds).all()


@pytest.mark.parametrize("game", GAMES)
def test_the_bot_of_the_readme_beats_random(game: str) -> None:
    result = run_tournament(game, [EXAMPLE, "random"], deals=40, suite="smoke")
    assert result.summary.set_index("agent").loc[EXAMPLE, "win_share_low"] > 0.5


def decisions(game: Game, seats: int) -> list[tuple[Moves, View]]:
    """Decisions from all over some rounds."""
    batch = Batch(game.name, 12, seats=seats)
    chance = np.random.default_rng(1)
    found = []
    while not batch.over.all():
        moves = batch.legal()
        found.append((moves, View(moves, len(moves) // 2)))
        batch.play(chance.integers(0, np.diff(moves.first)))
    return found


@each_table
def test_a_view_holds_what_moves_do(game: Game, seats: int) -> None:
    for moves, view in decisions(game, seats):
        number = len(moves) // 2
        row, own = moves.view[number], range(moves.first[number], moves.first[number + 1])
        assert view.legal == tuple(moves.text(play) for play in own)
        assert [list(view.features[action].values()) for action in view.legal] == moves.features[own].tolist()
        assert list(view.features[view.legal[0]]) == list(game.features)
        assert (view.seat, view.seats, view.stage) == (row["seat"], seats, moves.stage[number])
        held = [tile for tile in range(91) if row["hand"][HIGH[tile]] >> LOW[tile] & 1]
        assert view.hand == tuple(map(tile_text, held))
        assert len(view.hand) == view.count[view.seat]
        assert not set(view.hand) & set(view.unseen)
        assert view.count == tuple(row["count"][:seats].tolist())
        assert view.score == tuple(row["score"][:seats].tolist())
        shown = [{pip for pip in range(13) if bits >> pip & 1} for bits in row["shown"][:seats].tolist()]
        assert view.shown == tuple(shown)
        assert len(view.end) == len(view.lines)
        ends = dict(zip(view.lines, view.end, strict=True))
        for tile, _, line in (action.partition(">") for action in view.legal if ">" in action):
            assert line == "start" or str(ends[line]) in tile.split("-")


@each_table
def test_a_view_is_made_of_plain_values(game: Game, seats: int) -> None:
    options = {option.name: option.default for option in game.rules.options()}
    for _, view in decisions(game, seats):
        for name in set(dir(view)) - {"random", "features"}:
            assert is_plain(getattr(view, name)), name
        assert {name: getattr(view, name) for name in options} == options
        assert f"{game.name}, seat {view.seat}" in repr(view)
        assert not [name for name in dir(view) if name.startswith(f"{game.name}_")]


def is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, frozenset)):
        return all(map(is_plain, value))
    return type(value) in (int, str)


def test_random_numbers_are_those_of_the_decision() -> None:
    moves, view = decisions(GAMES["cuban"], 4)[3]
    drawn = [view.random() for _ in range(1000)]
    again = View(moves, len(moves) // 2)
    assert [again.random() for _ in range(1000)] == drawn
    assert drawn[0] == moves.random[len(moves) // 2] / 2**32
    assert len(set(drawn)) == 1000
    assert 0 <= min(drawn) < 0.02
    assert 0.98 < max(drawn) < 1
    assert abs(np.mean(drawn) - 0.5) < 0.04


def test_a_view_cannot_be_changed() -> None:
    _, view = decisions(GAMES["cuban"], 4)[3]
    with pytest.raises(AttributeError, match="read-only; 'seat'"):
        view.seat = 3
    with pytest.raises(AttributeError, match="read-only; 'legal'"):
        del view.legal
    with pytest.raises(TypeError, match="item assignment"):
        view.features[view.legal[0]]["pips"] = 0  # type: ignore[index]
    with pytest.raises(AttributeError, match="no 'scores'; did you mean 'score'"):
        view.scores  # noqa: B018


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("'0-9>L'", r"choose\(view\) returned '0-9>L'; legal: "),
        ("view.legal", r"choose\(view\) returned \('"),
        ("None", r"choose\(view\) returned None; legal: "),
        ("view.features['9-9>start']", "KeyError: '9-9>start'"),
    ],
)
def test_an_answer_must_be_legal(answer: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(f"class Bad:\n    def choose(self, view):\n        return {answer}\n")
    with pytest.raises(AgentFailedError, match=text) as found:
        Batch("cuban", 9, agents=[str(tmp_path / "bad.py"), None, None, None]).legal()
    assert found.value.facts["seat"] == 0
    assert found.value.line in (2, 3)
