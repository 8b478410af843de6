"""Hints: the ranking is the agent's own, the shares add up, the words fit, and nothing hidden is used."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import domsim
from domsim.agent import FIXED_POINT, load_agent
from domsim.batch import Batch
from domsim.cli import app
from domsim.core.driver import WEIGHTS
from domsim.errors import AgentError, DomsimError, RecordError
from domsim.games import GAMES, find_game
from domsim.games.phrases import WORDS, phrase
from domsim.hints import hint, hint_lines, moves_of, round_of, scores_of, shares_between
from domsim.record import parse_record, to_json
from domsim.round import Round

RUNNER = CliRunner()
SCALAR = """
class First:
    def choose(self, view):
        return sorted(view.legal)[0]
"""


def positions(game: str, number: int, seats: int | None = None) -> list[Round]:
    """Rounds played at random, stopped at a decision."""
    chance, found = random.Random(number), []
    for deal in range(number):
        a_round = Round(game, seats=seats, deal=deal)
        for _ in range(chance.randrange(5, 30)):
            if not a_round.over:
                a_round.play(chance.choice(a_round.legal()))
        while not a_round.over and len(a_round.legal()) < 2:
            a_round.play(a_round.legal()[0])
        if not a_round.over:
            found.append(a_round)
    return found


@pytest.mark.parametrize("game", GAMES)
def test_moves_of_a_round_are_those_that_agents_are_given(game: str) -> None:
    batch = Batch(game, 20)
    for _ in range(6):
        moves = batch.legal()
        own = moves_of(_round_at(batch, 7), int(moves.random[7]))
        here = slice(moves.first[7], moves.first[8])
        assert own.action.tolist() == moves.action[here].tolist()
        assert own.features.tolist() == moves.features[here].tolist()
        assert own.view[0].tobytes() == moves.view[7].tobytes()
        assert (own.stage[0], own.random[0]) == (moves.stage[7], moves.random[7])
        batch.play(np.zeros(len(moves), np.int64))


def _round_at(batch: Batch, place: int) -> Round:
    made = Round.empty(batch.game, batch.rules, batch.seats)
    slot = batch._decisions["slot"][batch._pending()[place]]
    record = made.state._array
    for name in record.dtype.names:
        record[name] = batch._states[slot][name]
    return made


@pytest.mark.parametrize("game", GAMES)
def test_ranking_and_shares_of_weights(game: str) -> None:
    agent = load_agent("careful", find_game(game))
    for a_round in positions(game, 12):
        found = hint(a_round, agent)
        scores = [play.score for play in found.plays]
        assert scores == sorted(scores, reverse=True)
        assert {play.action for play in found.plays} == set(a_round.legal())
        assert found.seat == a_round.to_move and not found.forced
        for play, following in zip(found.plays, found.plays[1:], strict=False):
            assert sum(share.share for share in play.shares) == play.score - following.score
            sizes = [abs(share.share) for share in play.shares]
            assert sizes == sorted(sizes, reverse=True) and 0 not in sizes
        assert found.plays[-1].shares == ()
        assert hint(a_round, agent, top=1).plays == found.plays[:1]


def test_the_first_play_is_what_the_agent_plays() -> None:
    agent = load_agent("careful", find_game("cuban"))
    for a_round in positions("cuban", 12):
        moves = moves_of(a_round)
        scores = scores_of(agent, moves)
        best = {moves.text(play) for play in np.flatnonzero(scores == scores.max())}
        assert hint(a_round, agent).plays[0].action in best


def test_weights_of_the_stage() -> None:
    late = [one for one in positions("mexican", 40, 2) if moves_of(one).stage[0] == 2]
    agent = load_agent("careful", find_game("mexican"))
    weights = dict(zip(agent.game.features, agent.weights[2].tolist(), strict=True))
    assert late and weights["pips"] != agent.weights[1, 0]
    for a_round in late:
        moves = moves_of(a_round)
        for share in shares_between(agent, moves, 0, 1):
            difference = int(moves[share.feature][0]) - int(moves[share.feature][1])
            assert share.share == weights[share.feature] * difference / FIXED_POINT


@pytest.mark.parametrize("game", GAMES)
def test_every_feature_has_a_phrase(game: str) -> None:
    assert set(WORDS[game].phrases) == set(find_game(game).features)
    for a_round in positions(game, 4):
        moves = moves_of(a_round)
        for feature in moves.names:
            for play in range(len(moves.action)):
                text = phrase(moves, play, feature)
                assert text and not set("{}") & set(text)


def test_phrases_say_what_is_there() -> None:
    record = {
        "format": "domino-round/1", "game": "cuban", "rules": {}, "seats": 4,
        "hands": [["6-4", "6-3", "6-2", "6-6", "3-2"], ["9-0", "8-0"], ["6-5", "9-5"], ["5-3", "8-7"]], "stock": [],
        "opening": {"opener": 0}, "actions": ["6-4>start", "pass", "6-5>L", "5-3>L"],
    }  # fmt: skip
    moves = moves_of(round_of(parse_record(to_json(record))))
    told = {moves.text(play): play for play in range(len(moves.action))}
    assert phrase(moves, told["6-3>L"], "suit_new") == "keeps two 6s for its end"
    assert phrase(moves, told["3-2>L"], "suit_new") == "keeps one 2 for its end"
    assert phrase(moves, told["6-3>L"], "next_lacks_new") == "the next rival has shown no 6"
    assert phrase(moves, told["3-2>L"], "next_lacks_kept") == "at the other end the next rival has shown no 4"
    text = str(hint(round_of(parse_record(to_json(record))), "careful"))
    assert "the next rival has shown no 6" in text.splitlines()[2] + text.splitlines()[3]


@pytest.mark.parametrize("game", GAMES)
def test_the_owner_and_the_own_end_are_named(game: str) -> None:
    for a_round in positions(game, 6):
        moves = moves_of(a_round)
        for play in np.flatnonzero(moves.line >= 0):
            for name, number in WORDS[game].numbers.items():
                assert 0 <= number(moves, int(play)) <= 12, name


def test_hidden_tiles_change_nothing() -> None:
    hands = [["6-4", "6-3", "3-2"], ["9-0", "8-0"], ["6-5", "9-5"], ["5-3", "8-7"]]
    other = [hands[0], ["9-9", "7-0"], ["6-5", "8-0"], ["5-3", "9-0"]]
    found = []
    for deal in (hands, other):
        a_round = Round.of("cuban", deal, opening={"opener": 0})
        for action in ("6-4>start", "pass", "6-5>L", "5-3>L"):
            a_round.play(action)
        found.append(hint(a_round, playouts=20))
    assert found[0] == found[1]


def test_playouts_give_an_interval() -> None:
    a_round = positions("mexican", 1)[0]
    few, many = hint(a_round, playouts=20), hint(a_round, playouts=400)
    for one, more in zip(few.plays, many.plays, strict=True):
        assert one.expected is not None and more.expected is not None
        assert one.expected.low < one.expected.estimate < one.expected.high
        assert more.expected.high - more.expected.low < one.expected.high - one.expected.low
        assert abs(more.expected.estimate) < 500  # points, not hundredths
    assert hint(a_round).plays[0].expected is None


def test_vector_and_scalar_agents(tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text(SCALAR)
    a_round = positions("cuban", 2)[0]
    scalar = hint(a_round, str(tmp_path / "first.py"), playouts=10)
    assert scalar.plays[0].action == a_round.legal()[0]
    assert {play.score for play in scalar.plays} == {None}
    vector = hint(a_round, "search?ways=20")
    scores = [play.score for play in vector.plays]
    assert scores == sorted(scores, reverse=True)
    for found in (scalar, vector):
        assert all(play.shares == () for play in found.plays)


def test_refusals() -> None:
    a_round = positions("cuban", 1)[0]
    with pytest.raises(AgentError, match="random plays at random"):
        hint(a_round, "random")
    for wrong in ({"top": 0}, {"playouts": -1}, {"playouts": 1}):
        with pytest.raises(DomsimError, match="is not allowed; allowed"):
            hint(a_round, **wrong)
        with pytest.raises(DomsimError, match="is not allowed; allowed"):  # once, not for every record
            next(hint_lines([b"{}"], **wrong))
    while not a_round.over:
        a_round.play(a_round.legal()[0])
    with pytest.raises(RecordError, match="the round is over"):
        domsim.hint(a_round)


def test_a_forced_action_is_named_as_such() -> None:
    a_round = Round.of("cuban", [["6-4", "1-1"], ["9-0", "8-0"], ["6-5"], ["5-3"]], opening={"opener": 0})
    a_round.play("6-4>start")
    found = hint(a_round)
    assert found.forced and [play.action for play in found.plays] == ["pass"]
    assert "forced" in str(found)


def test_the_score_of_the_match_is_seen() -> None:
    record = positions("cuban", 1)[0].record()
    seen = moves_of(round_of(parse_record(to_json(record | {"match": {"scores": [35, 80]}}))))
    assert seen["score"][0].tolist() == [35, 80, 35, 80]
    for wrong in ([1], [1, -1], "12", 3):
        with pytest.raises(RecordError, match=r"match\.scores"):
            round_of(parse_record(to_json(record | {"match": {"scores": wrong}})))


@pytest.fixture(scope="module")
def lines() -> list[str]:
    good = positions("cuban", 1)[0]
    over = positions("longana", 1)[0]
    while not over.over:
        over.play(over.legal()[0])
    made = [to_json(good.record()), "{", to_json(over.record()), "", to_json(positions("mexican", 1)[0].record())]
    return [line + "\n" for line in made]


def test_one_bad_record_does_not_stop_the_others(lines: list[str]) -> None:
    found = list(hint_lines(line.encode() for line in lines))
    assert [number for number, _ in found] == [1, 2, 3, 5]
    assert [isinstance(one, DomsimError) for _, one in found] == [False, True, True, False]


def test_another_game_is_an_error_of_its_line_only(lines: list[str]) -> None:
    found = list(hint_lines((line.encode() for line in lines), "planner"))
    assert "does not play cuban" in str(found[0][1]) and not isinstance(found[3][1], DomsimError)
    with pytest.raises(AgentError, match="unknown agent"):
        list(hint_lines([lines[0].encode()], "nobody"))


def run(arguments: list[str], text: str | None = None) -> Any:
    return RUNNER.invoke(app, arguments, input=text)


def test_command(lines: list[str], tmp_path: Path) -> None:
    (tmp_path / "positions.jsonl").write_text("".join(lines))
    shown = run(["hint", str(tmp_path / "positions.jsonl"), "--top", "2"])
    assert shown.exit_code == 1
    heads = [line for line in shown.stdout.splitlines() if line.startswith("line")]
    assert [head.split(":")[0] for head in heads] == ["line 1", "line 2", "line 3", "line 5"]
    assert ["error" in head for head in heads] == [False, True, True, False]
    made = run(["hint", "-", "--json", "--playouts", "10"], "".join(lines))
    answers = [json.loads(line) for line in made.stdout.splitlines()]
    assert made.exit_code == 1
    assert [(one["line"], one["ok"]) for one in answers] == [(1, True), (2, False), (3, False), (5, True)]
    first = answers[0]["plays"][0]
    assert first.keys() == {"rank", "action", "score", "shares", "expected"}
    assert first["expected"]["low"] <= first["expected"]["points"] <= first["expected"]["high"]
    assert run(["hint", "-"], lines[0]).exit_code == 0


@pytest.mark.parametrize("game", GAMES)
def test_every_shipped_weights_file_gives_hints(game: str) -> None:
    a_round = positions(game, 1)[0]
    for name in ("careful", "heaviest", "doubles-first"):
        agent = load_agent(name, find_game(game))
        assert agent.kind == WEIGHTS
        assert "line" not in str(hint(a_round, agent).plays[0].action)
