"""The games above the core: the conformance cases, whole matches against the reference, damaged records, options."""

import copy
import itertools
import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from domsim.errors import RecordError, RulesError
from domsim.games import GAMES, find_game
from domsim.record import LAST_ROUND, Replayer, replay_lines, to_json
from domsim.recording import record_matches
from domsim.round import Round
from domsim.rules import find_rules
from tests import dealing, reference
from tests.changes import changed, leaves, replaced

CASES = Path(__file__).parent / "cases"
SMOKE = 1  # the suite's number
AGENTS = ("random", "careful", "heaviest", "doubles-first")
TABLES = [(game, seats) for game in GAMES for seats in GAMES[game].seats]
MATCHES = {"cuban": 60, "longana": 20, "mexican": 7}  # of every number of seats: 60 or so a game
SLOW_MATCHES = {"cuban": 500, "longana": 168, "mexican": 56}


# --- cases ---------------------------------------------------------------------------------------


@cache
def cases(game: str) -> list[tuple[str, str]]:
    """Records and what replaying them must print."""
    lines, expected = ((CASES / f"{game}{ending}.jsonl").read_text().splitlines() for ending in ("", ".expected"))
    return list(zip(lines, expected, strict=True))


def all_cases() -> list[Any]:
    return [pytest.param(game, n, id=f"{game}-{n}") for game in GAMES for n in range(1, len(cases(game)) + 1)]


def normal(answer: Any) -> str:
    """JSON that is the same for equal answers only: true is not 1 here."""
    return json.dumps(answer, sort_keys=True)


def answer_of(game: str, number: int) -> dict:
    (answer,) = replay_lines([cases(game)[number - 1][0].encode()])
    return json.loads(to_json(answer | {"line": number}))


@pytest.mark.parametrize(("game", "number"), all_cases())
def test_case(game: str, number: int) -> None:
    assert normal(answer_of(game, number)) == normal(json.loads(cases(game)[number - 1][1]))


@pytest.mark.parametrize("game", GAMES)
def test_cases_as_a_file(game: str) -> None:
    lines, expected = zip(*cases(game), strict=True)
    answers = replay_lines(line.encode() for line in lines)
    assert [normal(answer) for answer in answers] == [normal(json.loads(line)) for line in expected]


@pytest.mark.parametrize("game", GAMES)
def test_changed_expectation_is_noticed(game: str) -> None:
    """Every single value of an expected line that is short, and some of those of the others."""
    rng = random.Random(game)
    for number, (_, line) in enumerate(cases(game), 1):
        expected = json.loads(line)
        answer = normal(answer_of(game, number))
        paths = list(leaves(expected))
        for path in rng.sample(paths, min(len(paths), 100)):
            assert answer != normal(replaced(expected, path, changed)), path


@pytest.mark.parametrize("game", GAMES)
def test_changed_result_is_noticed(game: str) -> None:
    rng = random.Random(f"result {game}")
    tried = 0
    for line, expected in cases(game):
        result = json.loads(expected).get("result")
        for path in rng.sample(list(leaves(result)), 3) if result else ():
            record = json.loads(line) | {"result": replaced(result, path, changed)}
            (answer,) = replay_lines([to_json(record).encode()])
            assert not answer["ok"]
            assert answer["error"].startswith(f"result.{path[0]}: found")
            tried += 1
    assert tried > 20


# --- whole matches against the reference ---------------------------------------------------------


def drawn_options(rng: random.Random, game: str) -> dict[str, Any]:
    """Any options that the reference knows, each at its default a third of the time."""
    return {name: rng.choice(values) for name, values in reference.CHOICES[game].items() if rng.random() < 2 / 3}


def recorded(game: str, seats: int, rules: dict[str, Any], matches: int, seed: int) -> list[dict]:
    """Records of matches between agents of all kinds, as a file holds them."""
    agents = [AGENTS[(seed + seat) % len(AGENTS)] for seat in range(min(seats, len(AGENTS)))]
    records = record_matches(
        find_game(game), find_rules(game, **rules), seats, agents, suite="smoke", seed=seed, matches=matches
    )
    return [json.loads(to_json(record)) for record in records]


def lines_of(records: list[dict]) -> list[bytes]:
    return [to_json(record).encode() for record in records]


def shuffle_of(game: str, key: int, number: int, redeals: int, rules: dict[str, Any], seats: int) -> list[list[str]]:
    """The hands of a deal, by seat, and then what is left, from nothing but the deal's key."""
    top = {"cuban": rules.get("set", 9), "longana": 9, "mexican": 12}[game]
    tiles = dealing.tile_texts(top)
    by_seats = {2: 15, 3: 15, 4: 15, 5: 12, 6: 12, 7: 10, 8: 10, 9: 8, 10: 8}
    each = {"cuban": 10 if top == 9 else 7, "longana": rules.get("hand_size", 8), "mexican": by_seats[seats]}[game]
    below = dealing.below_key(key, dealing.ROUNDS, number, dealing.DEALS, redeals)
    order = [tiles[tile] for tile in dealing.shuffled(len(tiles), len(tiles), below)]
    return [order[each * seat : each * (seat + 1)] for seat in range(seats)] + [order[each * seats :]]


def check_deal(record: dict, key: int, match: Any) -> None:
    """Hands, stock and claims are those of the deal's key, thrown back as often as the rules say."""
    claims = []
    named = record["opening"].get("opener", -1)
    for redeals in itertools.count():
        *hands, left = shuffle_of(record["game"], key, match.round_number, redeals, record["rules"], record["seats"])
        claim = match.must_redeal(hands, named)
        if claim is None:
            break
        claims.append({"seat": claim[0], "doubles": claim[1]})
    assert [set(hand) for hand in record["hands"]] == [set(hand) for hand in hands]
    if record["game"] == "mexican":
        assert record["stock"] == left
    else:
        assert sorted(record["stock"]) == sorted(left)
    if record["game"] == "cuban":
        assert record["match"].get("claims", []) == claims


def check_start(record: dict, match: Any, key: int) -> None:
    """Round, scores and opening follow from the rounds before."""
    told = record["match"]
    assert (told["round"], told["scores"]) == (match.round_number, match.scores)
    if record["game"] == "cuban":
        if told["round"] == 1:
            assert told["lead_draw"] == dealing.lead_draws(key, record["rules"])
            match.lead(told["lead_draw"])
        assert record["opening"]["opener"] in match.may_open()
        assert record["opening"].get("first", False) == (told["round"] == 1)
    else:
        assert record["opening"] == match.opening()


def check_round(record: dict) -> tuple[int, dict]:
    """Play a record in the reference; the seat that opened, and the result."""
    keys = ("game", "rules", "seats", "hands", "stock", "opening")
    a_round = reference.new_round(*(record[key] for key in keys))
    opener = a_round.to_move
    assert opener is not None
    for action in record["actions"]:
        a_round.play(action)
    assert a_round.over
    assert record["result"] == a_round.result()
    return opener, a_round.result()


def check_match(records: list[dict], key: int) -> None:
    """A match by the reference, round by round."""
    first = records[0]
    match: Any = reference.new_match(first["game"], first["rules"], first["seats"])
    for record in records:
        assert not match.over
        check_start(record, match, key)
        check_deal(record, key, match)
        match.finish(*check_round(record))
        told = record["match"]
        assert ("winners" in told) == match.over
        assert ("name" in told) == (match.over and record["game"] == "cuban")
    assert match.over
    assert told["winners"] == match.winners
    assert told.get("name") == match.name


def check_matches(game: str, seats: int, matches: int, seed: int) -> None:
    """Half of the matches by the default rules, the others by any; records, reference and replay agree."""
    rng = random.Random(f"{game} {seats} {seed}")
    rules = [{}] * ((matches + 1) // 2) + [drawn_options(rng, game) for _ in range(matches // 2)]
    for number, (options, group) in enumerate(itertools.groupby(rules)):
        records = recorded(game, seats, options, len(list(group)), 1000 * seed + number)
        for ident, rounds in itertools.groupby(records, lambda record: record["match"]["id"]):
            check_match(list(rounds), dealing.deal_key(SMOKE, 1000 * seed + number, ident))
        for answer, record in zip(replay_lines(lines_of(records), matches=True), records, strict=True):
            assert answer["ok"], answer
            assert answer["result"] == record["result"]


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_matches(game: str, seats: int) -> None:
    check_matches(game, seats, MATCHES[game], 1)


@pytest.mark.slow
@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_more_matches(game: str, seats: int) -> None:
    check_matches(game, seats, SLOW_MATCHES[game], 2)


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_mix_of_matches_and_single_rounds(game: str, seats: int) -> None:
    """Lines without `match`, or of another game, may stand between matches."""
    records = recorded(game, seats, {}, 2, 3)
    single = {name: value for name, value in records[0].items() if name != "match"}
    last = max(n for n, record in enumerate(records) if record["match"]["id"] == 0)
    mixed = [single, *records[: last + 1], single, json.loads(cases("longana")[0][0]), *records[last + 1 :]]
    assert all(answer["ok"] for answer in replay_lines(lines_of(mixed), matches=True))


# --- damaged records -----------------------------------------------------------------------------

Damage = Callable[[dict], Any]


def with_hands(make: Callable[[list[list[str]]], Any]) -> Damage:
    return lambda record: record | {"hands": make(record["hands"])}


def in_match(**fields: Any) -> Damage:
    return lambda record: record | {"match": record["match"] | fields}


def in_result(**fields: Any) -> Damage:
    return lambda record: record | {"result": record["result"] | fields}


def without_field(name: str) -> Damage:
    return lambda record: {key: value for key, value in record.items() if key != name}


def cut_off(record: dict) -> bytes:
    return to_json(record).encode()[:-20]


def illegal(record: dict) -> dict:
    """The first tile laid is laid a second time."""
    laid = next(action for action in record["actions"] if ">" in action)
    return record | {"actions": [record["actions"][0], laid, *record["actions"][1:]]}


def unfinished(record: dict) -> dict:
    return record | {"actions": record["actions"][:-1]}


DAMAGES: dict[str, tuple[Damage, str]] = {
    "no JSON": (cut_off, "no record: "),
    "no object": (lambda record: b"[1, 2]", "no record: "),
    "not UTF-8": (lambda record: b'{"format": "\xff\xfe"}', "no record: "),
    "a field too many": (lambda record: record | {"player": 1}, "no record: "),
    "no hands": (without_field("hands"), "no record: "),
    "format": (lambda record: record | {"format": "domino-round/9"}, "format: found 'domino-round/9'"),
    "game": (lambda record: record | {"game": "chess"}, "unknown game 'chess'"),
    "seats": (lambda record: record | {"seats": 12}, "seats: "),
    "hand missing": (with_hands(lambda hands: hands[:-1]), "hands: found "),
    "empty hand": (with_hands(lambda hands: [[], *hands[1:]]), "hands: seat 0 has no tile"),
    "unknown tile": (with_hands(lambda hands: [["13-1", *hands[0][1:]], *hands[1:]]), "'13-1' is no tile"),
    "nonsense tile": (with_hands(lambda hands: [["9_4", *hands[0][1:]], *hands[1:]]), "'9_4' is no tile"),
    "tile twice": (with_hands(lambda hands: [[hands[1][0], *hands[0]], *hands[1:]]), "is there twice"),
    "illegal action": (illegal, "action 2: "),
    "no action": (lambda record: record | {"actions": ["9-4", *record["actions"]]}, "action 1: "),
    "a number": (lambda record: record | {"actions": [7, *record["actions"]]}, "action 1: 7 is no action"),
    "one action more": (lambda record: record | {"actions": [*record["actions"], "pass"]}, "the round is over"),
    "unknown option": (lambda record: record | {"rules": {"handsize": 3}}, "unknown rule option 'handsize'"),
    "opening": (lambda record: record | {"opening": {"who": 1}}, "opening"),
    "no opening": (lambda record: record | {"opening": {}}, "opening"),
    "points": (lambda record: replaced(record, ("result", "points", 0), changed), "result.points: found "),
    "left": (lambda record: replaced(record, ("result", "left", 1), changed), "result.left: found "),
    "ended": (in_result(ended="over"), "result.ended: found 'over'"),
    "result too early": (unfinished, "result: found on a round that is not over"),
    "scores": (lambda record: replaced(record, ("match", "scores", 1), changed), "match.scores: found "),
    "round": (in_match(round=7), "match.round: found 7, expected "),
    "round of another type": (in_match(round=True), "match.round: found True"),
    "winners too early": (in_match(winners=[0]), "match.winners: found [0], expected nothing before the end"),
    "a field of the match": (in_match(agents=[]), "match: unknown field 'agents'"),
    "no id": (in_match(id=None), "match.id: found None"),
}


@cache
def two_matches(game: str, seats: int) -> list[dict]:
    """Two matches of two rounds or more."""
    for seed in itertools.count(20):
        records = recorded(game, seats, {}, 2, seed)
        if all(sum(record["match"]["id"] == ident for record in records) > 2 for ident in (0, 1)):
            return records
    raise AssertionError


def check_damage(records: list[dict], place: int, line: bytes, error: str) -> None:
    """One error where a line is damaged, and for those of its match that can no longer follow."""
    lines = lines_of(records)
    lines[place] = line
    answers = list(replay_lines(lines, matches=True))
    assert len(answers) == len(lines)
    assert answers[place].keys() == {"line", "ok", "error"}
    assert error in answers[place]["error"], answers[place]["error"]
    assert len(answers[place]["error"]) < 2000
    ident = records[place]["match"]["id"]
    for number, (record, answer) in enumerate(zip(records, answers, strict=True)):
        assert answer["line"] == number + 1
        if number < place or record["match"]["id"] != ident:
            assert answer["ok"]
        else:
            assert not answer["ok"]
            assert answer.keys() == {"line", "ok", "error"}


#: what is said of these when the match has begun
LATER = dict.fromkeys(("game", "seats"), "match: found another game, rules or seats than in the round before")


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("game", GAMES)
def test_damaged_record(game: str, damage: str) -> None:
    records = two_matches(game, GAMES[game].seats[0])
    change, error = DAMAGES[damage]
    for place, expected in ((0, error), (1, LATER.get(damage, error))):
        made = change(records[place])
        check_damage(records, place, made if isinstance(made, bytes) else to_json(made).encode(), expected)


WRONG_OPENINGS = {
    "cuban": [({"opener": 4}, "opening.opener: found 4"), ({"opener": 0, "first": 1}, "opening.")],
    "longana": [
        ({"first": True}, "opening: found {'first': True}, expected {'search_from': "),
        ({"first": False}, "opening: found {'first': False}, expected {'search_from': "),
        ({"search_from": 4}, "opening: found {'search_from': 4}, expected {'search_from': "),
    ],
    "mexican": [({"round": 1}, "opening: found {'round': 1}, expected {'round': 2}"), ({"round": "2"}, "opening: ")],
}


@pytest.mark.parametrize("game", GAMES)
def test_opening_that_does_not_follow(game: str) -> None:
    records = two_matches(game, GAMES[game].seats[0])
    for opening, error in WRONG_OPENINGS[game]:
        check_damage(records, 1, to_json(records[1] | {"opening": opening}).encode(), error)


SINGLE_OPENINGS = {
    "longana": [
        ({}, "opening: 'search_from' is missing"),
        ({"first": False}, "opening.first: found False, expected true"),
        ({"first": 1}, "opening.first: found 1, expected true"),
        ({"first": True, "search_from": 0}, "opening: unknown field 'search_from'"),
        ({"search_from": 4}, "opening.search_from: found 4, expected a whole number from 0 to 3"),
        ({"search_from": True}, "opening.search_from: found True"),
    ],
    "mexican": [
        ({}, "opening: 'round' is missing"),
        ({"round": 0}, "opening.round: found 0, expected a whole number from 1 to 13"),
        ({"round": 14}, "opening.round: found 14"),
        ({"round": 10**30}, "opening.round: found 1000000"),
        ({"round": 1.0}, "opening.round: found 1.0"),
        ({"round": 1, "first": True}, "opening: unknown field 'first'"),
    ],
}


@pytest.mark.parametrize("game", SINGLE_OPENINGS)
def test_wrong_opening(game: str) -> None:
    record = without_field("match")(two_matches(game, 4)[0])
    for opening, error in SINGLE_OPENINGS[game]:
        (answer,) = replay_lines([to_json(record | {"opening": opening}).encode()])
        assert not answer["ok"]
        assert error in answer["error"]


def test_nobody_can_open() -> None:
    hands = [["9-4"], ["8-3", "7-0"]]
    for opening in ({"first": True}, {"search_from": 1}):
        with pytest.raises(RecordError, match="no seat holds a double, so nobody can open"):
            Round.of("longana", hands, ["3-3"], opening)
    with pytest.raises(RecordError, match="10-10 starts the round and is not there, so nobody can open"):
        Round.of("mexican", hands, ["11-11", "12-10"], {"round": 3})
    with pytest.raises(RecordError, match="2-2 starts the round and is not there, so nobody can open"):
        Round.of("mexican", hands, [], {"round": 3}, rules={"round_order": "ascending"})


@pytest.mark.parametrize("game", GAMES)
def test_wrong_end_of_a_match(game: str) -> None:
    records = two_matches(game, GAMES[game].seats[0])
    last = max(n for n, record in enumerate(records) if record["match"]["id"] == 0)
    right = records[last]["match"]["winners"]
    for winners in ([], [1 - right[0]], [0, 1], "all", None):
        line = to_json(in_match(winners=winners)(records[last])).encode()
        check_damage(records, last, line, f"match.winners: found {winners!r}, expected {right}")
    nothing = {key: value for key, value in records[last]["match"].items() if key != "winners"}
    line = to_json(records[last] | {"match": nothing}).encode()
    check_damage(records, last, line, "match.winners: found nothing")
    again = replaced(records[last], ("match", "round"), changed)
    answers = list(replay_lines(lines_of([*records[: last + 1], again, *records[last + 1 :]]), matches=True))
    assert [answer["line"] for answer in answers if not answer["ok"]] == [last + 2]
    assert "expected no round after the end of the match" in answers[last + 1]["error"]


@pytest.mark.parametrize("game", GAMES)
def test_half_finished(game: str) -> None:
    """A partial record is right, as the last of its match; what comes after it does not follow."""
    records = two_matches(game, GAMES[game].seats[0])
    partial = without_field("result")(unfinished(records[1]))
    answers = list(replay_lines(lines_of([records[0], partial]), matches=True))
    assert [(answer["ok"], answer["over"]) for answer in answers] == [(True, True), (True, False)]
    assert records[1]["actions"][-1] in answers[1]["legal"]
    assert "result" not in answers[1]
    answers = list(replay_lines(lines_of([records[0], partial, *records[2:]]), matches=True))
    for record, answer in zip(records[2:], answers[2:], strict=True):
        assert answer["ok"] == (record["match"]["id"] != 0)
    assert answers[2]["error"] == "match.round: found 3, but the round before was bad or not over"


def test_more_rounds_than_the_core_can_count() -> None:
    """A round nobody wins can be repeated for ever in a file."""
    record = {"format": "domino-round/1", "game": "longana", "rules": {"block_scoring": "none"}, "seats": 2}
    record |= {"hands": [["9-9", "1-0"], ["3-2"]], "stock": [], "actions": ["9-9>start"]}
    replayer = Replayer(matches=True)
    answers = []
    for number, opening in ((1, {"first": True}), (2, {"search_from": 1}), (LAST_ROUND, {"search_from": 1})):
        if replayer._open is not None:
            replayer._open._rounds = number - 1
        match = {"id": 0, "round": number, "scores": [0, 0]}
        answers.append(replayer.replay(to_json(record | {"opening": opening, "match": match})))
    assert all(answer["ok"] for answer in answers)
    match = {"id": 0, "round": LAST_ROUND + 1, "scores": [0, 0]}
    answer = replayer.replay(to_json(record | {"opening": {"search_from": 1}, "match": match}))
    assert answer["error"] == "match.round: found 32768, expected a whole number from 1 to 32767"


def nonsense(rng: random.Random) -> Any:
    numbers = (-1, 0, 1, 2, 13, 99, 10**6, 2**31, 2**63, 10**40, 0.5, -0.0, 1e300)
    texts = ("", "pass", "draw", "stop", "0-0", "12-12", "9-9>start", "9-9>public", "9-9>10", "9-9>L", ">", "\x00", "é")
    return rng.choice([*numbers, *texts, None, True, False, [], {}, [[]], {"": 0}, ["0-0"], "9" * 10000])


def mangled(rng: random.Random, record: dict) -> bytes:
    """A record with one to three values replaced, removed or doubled, or a byte changed."""
    for _ in range(rng.randint(1, 3)):
        path = rng.choice(list(leaves(record)))
        path = path[: rng.randint(1, len(path))]
        place = record
        for key in path[:-1]:
            place = place[key]
        way = rng.randrange(3)
        if way == 0:
            record = replaced(record, path, lambda _: nonsense(rng))
        elif way == 1:
            record = copy.deepcopy(record)
            inside = record
            for key in path[:-1]:
                inside = inside[key]
            del inside[path[-1]]
        elif isinstance(place, list):
            record = replaced(record, path[:-1], lambda items: [*items, *items[: rng.randint(1, 3)]])
        if not list(leaves(record)):
            break
    line = to_json(record).encode()
    if rng.random() < 0.2:
        at = rng.randrange(len(line))
        line = line[:at] + bytes([rng.randrange(256)]) + line[at + rng.randrange(2) :]
    return line.replace(b"\n", b" ")


@pytest.mark.parametrize("game", GAMES)
def test_nonsense_costs_an_error_and_no_crash(game: str) -> None:
    rng = random.Random(f"mangled {game}")
    records = [json.loads(line) for line, _ in cases(game)] + two_matches(game, GAMES[game].seats[0])[:6]
    for _ in range(400):
        line = mangled(rng, rng.choice(records))
        for matches in (False, True):
            (answer,) = replay_lines([line], matches)
            assert answer["ok"] or answer.keys() == {"line", "ok", "error"}


# --- options, seats, texts -----------------------------------------------------------------------

BOUNDS = {
    ("cuban", "target"): (1, 10000),
    ("longana", "hand_size"): (1, 27),
    ("longana", "target"): (1, 10000),
    ("mexican", "double_blank"): (0, 1000),
}


def test_games_and_seats() -> None:
    assert tuple(GAMES) == reference.GAMES
    for name, game in GAMES.items():
        assert tuple(sorted(game.seats)) == reference.SEATS[name]
        assert game.seats[0] == 4
        for seats in (0, 1, 11, True, "4", 4.0, None):
            with pytest.raises(RulesError, match=f"seats: {name} is not played with"):
                game.check_seats(seats)


@pytest.mark.parametrize("game", GAMES)
def test_options_are_those_of_the_rule_page(game: str) -> None:
    options = find_game(game).rules.options()
    assert {option.name: option.default for option in options} == reference.DEFAULTS[game]
    assert tuple(option.name for option in options) == find_game(game).core.OPTIONS
    for option in options:
        assert option.note
        if option.values:
            assert option.values[0] == option.default
            assert set(reference.CHOICES[game][option.name]) <= set(option.values)
        else:
            low, high = BOUNDS[game, option.name]
            assert (option.lowest, option.highest) == (low, high)
            for wrong in (low - 1, high + 1, str(low), float(low), True, None):
                with pytest.raises(RulesError, match=f"{option.name}: .* is not allowed; allowed: {low} to {high}"):
                    find_rules(game, **{option.name: wrong})


def test_words_of_options() -> None:
    words = {(game, o.name): o.values for game in GAMES for o in GAMES[game].rules.options() if o.values}
    assert words["longana", "open_order"] == ("current", "first", "none")
    assert words["longana", "block_scoring"] == ("all", "rivals", "difference", "none")
    assert words["mexican", "round_order"] == ("descending", "ascending")
    assert words["mexican", "first_turn"] == ("chain", "single")
    assert words["mexican", "double_order"] == ("oldest", "newest")
    assert words["mexican", "mark_removal"] == ("own_train", "any_play")


@pytest.mark.parametrize(("seats", "most"), [(2, 27), (3, 18), (4, 13)])
def test_hand_size_and_seats(seats: int, most: int) -> None:
    assert Round("longana", seats=seats, rules={"hand_size": most}).hands[0]
    for hand_size in range(most + 1, 28):
        message = f"rule option hand_size: {hand_size} is not allowed with {seats} seats; allowed: 1 to {most}"
        with pytest.raises(RulesError, match=message):
            Round("longana", seats=seats, rules={"hand_size": hand_size})


def test_tiles_drawn_for_the_start_are_not_dealt() -> None:
    """The record has the deal; the lots drawn for the starting double follow from it."""
    found = 0
    for deal in range(30):
        a_round = Round("mexican", seats=3, deal=deal)
        assert [len(hand) for hand in a_round.dealt_hands] == [15] * 3
        assert len(a_round.dealt_stock) == 46
        again = Round.of("mexican", a_round.dealt_hands, a_round.dealt_stock, a_round.opening)
        assert again.hands == a_round.hands
        assert again.to_move == a_round.to_move
        assert again.legal() == a_round.legal() == ["12-12>start"]
        assert again.record() == a_round.record()
        found += sum(map(len, a_round.hands)) > 45
    assert 5 < found < 30


def test_boards() -> None:
    longana = Round.of("longana", [["9-9", "8-8"], ["7-0"], ["9-4", "7-2"]], [], {"first": True})
    assert longana.game.board(longana.state) == ["nothing laid yet"]
    for action in ("9-9>start", "pass", "9-4>2"):
        longana.play(action)
    assert longana.game.board(longana.state) == [
        "branch 0: end 9   tiles 0   closed",
        "branch 1: end 9   tiles 0   open (1)",
        "branch 2: end 4   tiles 1   closed",
    ]
    mexican = Round.of("mexican", [["12-12", "12-5", "5-5", "9-8"], ["7-1", "3-2"]], ["6-0"], {"round": 1})
    assert mexican.game.board(mexican.state) == ["nothing laid yet   stock 1"]
    for action in ("12-12>start", "12-5>0", "5-5>0", "stop", "pass"):
        mexican.play(action)
    assert mexican.game.board(mexican.state) == [
        "train 0: end 5   tiles 2",
        "train 1: end 12   tiles 0   open",
        "public train: end 12   tiles 0   open",
        "doubles to cover: 0   stock 1",
    ]
    assert "> seat 0: 9-8" in str(mexican)
