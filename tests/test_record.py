"""Round records: the conformance cases, damage of every kind, and whole matches."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domsim.record import Replayer, match_end, replay_lines, to_json
from domsim.round import Round
from tests import dealing, reference
from tests.changes import changed, leaves, replaced
from tests.reference import common

pytestmark = pytest.mark.filterwarnings("error")  # numpy warns of an overflow, and goes on

CASES = Path(__file__).parent / "cases"
MATCHES = 40
MEGABYTE = 10**6


def lines_of(name: str) -> list[bytes]:
    return (CASES / name).read_bytes().splitlines()


def as_text(value: Any) -> str:
    """JSON that tells 1, 1.0 and true apart, whatever the order of keys."""
    return json.dumps(value, sort_keys=True)


def as_line(record: Any) -> bytes:
    return json.dumps(record).encode()


def replayed(lines: list[bytes], matches: bool = False) -> list[dict[str, Any]]:
    """Answers as they come out of the command: through JSON, one line each."""
    answers = []
    for answer in replay_lines(lines, matches):
        text = to_json(answer)
        assert "\n" not in text
        answers.append(json.loads(text))
    return answers


def check_refusal(answer: dict[str, Any], *parts: str) -> None:
    """A bad record costs one short line that names what is wrong."""
    assert set(answer) - {"line"} == {"ok", "error"}
    assert answer["ok"] is False
    assert 5 < len(answer["error"]) < 700
    assert answer["error"].isprintable()
    for part in parts:
        assert part in answer["error"]


# --- results ------------------------------------------------------------------------------------


def test_a_changed_result_of_a_record_is_noticed() -> None:
    """Each single value of a record's result, changed, makes `ok` false and is named."""
    for record in full_records():
        for path in leaves(record["result"]):
            bad = replaced(record, ("result", *path), changed)
            check_refusal(replayed([as_line(bad)])[0], f"result.{path[0]}")


# --- damage ---------------------------------------------------------------------------------------


@cache
def full_records() -> list[dict[str, Any]]:
    records = [json.loads(line) for line in lines_of("cuban.jsonl")]
    return [record for record in records if "result" in record]


def good() -> dict[str, Any]:
    return copy.deepcopy(full_records()[0])


def with_(**fields: Any) -> bytes:
    return as_line(good() | fields)


def without(field: str) -> bytes:
    record = good()
    del record[field]
    return as_line(record)


def with_text(old: str, new: str) -> bytes:
    text = json.dumps(good())
    assert text.count(old) == 1
    return text.replace(old, new).encode()


def with_result(**fields: Any) -> bytes:
    return with_(result=good()["result"] | fields)


def with_hand(*tiles: Any) -> bytes:
    hands = good()["hands"]
    hands[0][: len(tiles)] = tiles
    return with_(hands=hands)


def with_action(number: int, action: Any) -> bytes:
    actions = good()["actions"]
    actions[number - 1] = action
    return with_(actions=actions)


TWO_EACH = [["9-9", "1-0"], ["3-2", "2-0"], ["8-8", "1-1"], ["3-1", "2-1"]]
DIGITS = "9" * 4000
BAD_LINES: dict[str, tuple[bytes, tuple[str, ...]]] = {
    # not JSON, or not an object
    "no JSON": (b"{", ("no record",)),
    "half a line": (as_line(full_records()[0])[:300], ("no record",)),
    "two records": (as_line(full_records()[0]) * 2, ("no record", "trailing")),
    "single quotes": (b"{'format': 'domino-round/1'}", ("no record",)),
    "a list": (b"[]", ("no record", "array")),
    "a number": (b"3", ("no record",)),
    "null": (b"null", ("no record",)),
    "an empty object": (b"{}", ("format",)),
    "binary noise": (random.Random(1).randbytes(5000).replace(b"\n", b""), ("no record",)),
    "every byte": (bytes(set(range(256)) - {10, 13}), ("no record",)),
    "null bytes": (b"\0" * 1000, ("no record",)),
    "null bytes inside": (with_text('"opener"', '"ope\0ner"'), ("no record",)),
    "bad UTF-8": (with_(meta="x").replace(b'"x"', b'"\xff\xfe"'), ("no record",)),
    "half a surrogate": (with_text('"game": "cuban"', '"game": "\\ud800"'), ("no record",)),
    "byte order mark": (b"\xef\xbb\xbf" + as_line(full_records()[0]), ("no record",)),
    "NaN": (with_text('"opener": 2', '"opener": NaN'), ("no record",)),
    "Infinity": (with_text('"opener": 2', '"opener": Infinity'), ("no record",)),
    "a number beyond floats": (with_text('"opener": 2', '"opener": 1e999'), ("no record",)),
    # too much of something
    "10 MB of brackets": (b"[" * 10 * MEGABYTE, ("nested",)),
    "10 MB of closed brackets": (b"[" * 5 * MEGABYTE + b"]" * 5 * MEGABYTE, ("nested",)),
    "10 MB of objects": (b'{"a":' * 2 * MEGABYTE, ("nested",)),
    "nesting in meta": (with_(meta=0).replace(b'"meta": 0', b'"meta": ' + b"[" * 5000 + b"]" * 5000), ("nested",)),
    "nesting in an opening": (
        with_text('"opener": 2', '"opener": ' + '{"a": ' * 200 + "1" + "}" * 200),
        ("nested",),
    ),
    "10 MB of spaces and nothing": (b"x" + b" " * 10 * MEGABYTE, ("no record",)),
    "10 MB of text as a game": (with_(game="x" * 10 * MEGABYTE), ("unknown game",)),
    "10 MB of text as an action": (with_action(1, "x" * 10 * MEGABYTE), ("action 1", "not legal")),
    "10 MB of text as a line": (with_action(1, "8-1>" + "x" * 10 * MEGABYTE), ("action 1", "not legal")),
    "10 MB of digits": (with_text('"opener": 2', '"opener": ' + "9" * 10 * MEGABYTE), ("no record",)),
    "10 MB of tiles": (with_(stock=["9-9"] * MEGABYTE), ("there twice",)),
    "10 MB of passes": (with_(actions=["pass"] * MEGABYTE), ("action 1", "not legal")),
    "an unknown key of 1 MB": (with_(**{"x" * MEGABYTE: 1}), ("unknown field",)),
    # keys
    **{f"without {field}": (without(field), (field,)) for field in ("format", "game", "rules", "seats")},
    **{f"without {field}": (without(field), (field,)) for field in ("hands", "stock", "opening", "actions")},
    "unknown key": (with_(note="x"), ("unknown field", "note")),
    "unknown key with a line break": (with_(**{"a\nb\x1b[2J": 1}), ("unknown field",)),
    "other format": (with_(format="domino-round/2"), ("format", "'domino-round/2'", "'domino-round/1'")),
    "other game": (with_(game="dominoes"), ("unknown game 'dominoes'", "cuban")),
    # rules
    "unknown option": (with_(rules={"double_blank": 50}), ("unknown rule option 'double_blank'", "target")),
    "bad value": (with_(rules={"target": 0}), ("target", "0", "1 to 10000")),
    "value of another type": (with_(rules={"target": "100"}), ("target", "'100'", "1 to 10000")),
    "float value": (with_(rules={"target": 100.0}), ("target", "100.0", "1 to 10000")),
    "boolean value": (with_(rules={"claim_doubles": False}), ("claim_doubles", "False")),
    "bad combination": (with_(rules={"set": 6, "claim_doubles": 8}), ("claim_doubles", "8", "set=6")),
    "huge value": (with_text('"rules": {}', f'"rules": {{"target": {DIGITS}}}'), ("target", "999", "1 to 10000")),
    "an option with a line break": (with_(rules={"a\nb": 1}), ("unknown rule option",)),
    # seats and hands
    "five seats": (with_(seats=5), ("seats", "5", "4")),
    "no seats": (with_(seats=0), ("seats", "0", "4")),
    "seats as float": (with_(seats=4.0), ("seats", "float")),
    "seats as boolean": (with_(seats=True), ("seats", "bool")),
    "huge seats": (with_text('"seats": 4', f'"seats": {DIGITS}'), ("seats", "999", "4")),
    "three hands": (with_(hands=TWO_EACH[:3], actions=[], result=None), ("hands", "3", "4")),
    "five hands": (with_(hands=[*TWO_EACH, ["7-7"]], actions=[], result=None), ("hands", "5", "4")),
    "an empty hand": (with_(hands=[*TWO_EACH[:3], []], actions=[], result=None), ("hands", "seat 3")),
    "unknown tile": (with_hand("9-10"), ("'9-10'", "no tile")),
    "a tile of another set": (with_(rules={"set": 6}, hands=TWO_EACH), ("'9-9'", "double-6")),
    "a tile with signs": (with_hand("+9-4"), ("no tile",)),
    "a tile with spaces": (with_hand(" 9-4"), ("no tile",)),
    "a tile with zeros": (with_hand("09-4"), ("no tile",)),
    "a tile in other digits": (with_hand("٣-١"), ("no tile",)),
    "a tile with an exponent": (with_hand("²-1"), ("no tile",)),
    "an empty tile": (with_hand(""), ("no tile",)),
    "a tile with a line break": (with_hand("9\n-4"), ("no tile",)),
    "a tile of three": (with_hand("1-2-3"), ("no tile",)),
    "a tile as a list": (with_hand([9, 4]), ("hands",)),
    "a tile as a number": (with_hand(94), ("hands",)),
    "a tile twice in a hand": (with_(hands=[["9-9", "9-9"], *TWO_EACH[1:]]), ("9-9", "twice")),
    "a tile in two hands": (with_(hands=[*TWO_EACH[:3], ["0-1"]]), ("1-0", "twice")),
    "a tile in hand and stock": (with_(hands=TWO_EACH, stock=["0-1"]), ("1-0", "twice")),
    "a tile twice in the stock": (with_(hands=TWO_EACH, stock=["5-4", "4-5"]), ("5-4", "twice")),
    # opening
    "no opener": (with_(opening={}), ("opening", "opener")),
    "opener out of range": (with_(opening={"opener": 4}), ("opening.opener", "4", "0 to 3")),
    "opener below 0": (with_(opening={"opener": -1}), ("opening.opener", "-1")),
    "opener as float": (with_(opening={"opener": 2.0}), ("opening.opener", "2.0")),
    "opener as boolean": (with_(opening={"opener": True}), ("opening.opener", "True")),
    "huge opener": (with_text('"opener": 2', f'"opener": {DIGITS}'), ("opening.opener", "999")),
    "first as a number": (with_(opening={"opener": 2, "first": 1}), ("opening.first", "1")),
    "first as null": (with_(opening={"opener": 2, "first": None}), ("opening.first", "None")),
    "another game's opening": (with_(opening={"search_from": 0}), ("opening", "opener")),
    "unknown field of the opening": (with_(opening={"opener": 2, "round": 1}), ("opening", "'round'")),
    # actions
    "an illegal tile": (with_action(1, "6-6>start"), ("action 1", "'6-6>start'", "legal for seat 2", "8-1>start")),
    "an illegal line": (with_action(2, "6-1>L"), ("action 2", "'6-1>L'", "6-1>R")),
    "a pass that is not allowed": (with_action(2, "pass"), ("action 2", "'pass'", "6-1>R")),
    "a draw": (with_action(3, "draw"), ("action 3", "'draw'")),
    "no pass where nothing fits": (with_action(37, "7-6>L"), ("action 37", "pass")),
    "an action of no tile": (with_action(1, "10-10>start"), ("action 1", "'10-10>start'")),
    "an action without a line": (with_action(1, "8-1"), ("action 1", "'8-1'")),
    "an action with two lines": (with_action(1, "8-1>start>L"), ("action 1",)),
    "an action as a number": (with_action(1, 81), ("action 1", "81", "no action")),
    "an action as null": (with_action(1, None), ("action 1", "None")),
    "an action as a list": (with_action(1, ["8-1", "start"]), ("action 1",)),
    "a huge action": (with_text('"8-1>start"', DIGITS), ("action 1", "999")),
    "an action after the end": (with_(actions=[*full_records()[0]["actions"], "pass"]), ("action 41", "over")),
    # result
    "a result too early": (with_(actions=[]), ("result", "not over")),
    "another end": (with_result(ended="out"), ("result.ended", "'out'", "'blocked'")),
    "another winner": (with_result(winner=1), ("result.winner", "1", "0")),
    "no winner": (with_result(winner=None), ("result.winner", "None", "0")),
    "winner as boolean": (with_result(winner=False), ("result.winner", "False", "0")),
    "winner as float": (with_result(winner=0.0), ("result.winner", "0.0")),
    "points as floats": (with_result(points=[20.0, 0.0]), ("result.points",)),
    "points with a boolean": (with_result(points=[20, False]), ("result.points", "False")),
    "too few points": (with_result(points=[20]), ("result.points",)),
    "points as text": (with_result(points="20"), ("result.points",)),
    "pips left of a seat less": (with_result(left=[3, 10, 18]), ("result.left",)),
    "a result without a field": (with_(result={"ended": "blocked"}), ("result", "missing")),
    "a result with another field": (with_result(more=1), ("result", "unknown field 'more'")),
    "a huge winner": (with_text('"winner": 0', f'"winner": {DIGITS}'), ("result.winner", "999")),
}
#: wrong types for every field; `result`, `match` and `meta` may be null
WRONG = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    "",
    "x",
    [],
    [1],
    {},
    {"x": 1},
    [[]],
    [None] * 4,
    [[]] * 4,
    [{}] * 4,
    [["x"]] * 4,
)
ALLOWED = {
    "rules": ({},),
    "stock": ([],),
    "result": (None,),
    "match": (None,),
    "meta": WRONG,
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_damage(name: str) -> None:
    line, parts = BAD_LINES[name]
    assert b"\n" not in line
    check_refusal(replayed([line])[0], *parts)


@pytest.mark.parametrize(
    "field", ["format", "game", "rules", "seats", "hands", "stock", "opening", "actions", "result"]
)
def test_wrong_types(field: str) -> None:
    for value in WRONG:
        answer = replayed([with_(**{field: value})])[0]
        if any(as_text(value) == as_text(allowed) for allowed in ALLOWED.get(field, ())):
            assert answer["ok"] is True, value
        else:
            check_refusal(answer)


def test_a_file_with_damage_everywhere() -> None:
    """Every bad line costs one answer; the good ones in between replay as they do alone; lines keep their numbers."""
    good_line = as_line(full_records()[0])
    alone = replayed([good_line])[0]
    lines: list[bytes] = []
    for line, _ in BAD_LINES.values():
        lines += [line, b"", good_line, b"  \t\r\n"]
    answers = replayed(lines)
    assert [answer["line"] for answer in answers] == [n for n in range(1, len(lines) + 1) if n % 2]
    for answer in answers[::2]:
        check_refusal(answer)
    for answer in answers[1::2]:
        assert answer | {"line": 1} == alone
        assert answer["ok"] is True


def test_what_is_free_stays_free() -> None:
    """Anything may stand in `meta`, tiles may be written either way round, an early end is a partial record."""
    alone = replayed([as_line(good())])[0]
    metas = (*WRONG, "[" * 50, "x" * 10 * MEGABYTE, [[[]]] * 1000, {"hands": [["9-9"] * 20], "seed": 2**80})
    for meta in metas:
        assert replayed([with_(meta=meta)])[0] == alone
    turned = good()
    turned["hands"] = [["-".join(reversed(tile.split("-"))) for tile in hand] for hand in turned["hands"]]
    turned["actions"] = ["-".join(reversed(a.split(">")[0].split("-"))) + a[3:] for a in turned["actions"][:36]]
    turned["actions"] += ["pass"] * 4
    assert replayed([as_line(turned)])[0] == alone
    for number in range(41):
        partial = good()
        partial["actions"] = partial["actions"][:number]
        full_length = number == 40
        if not full_length:
            del partial["result"]
        answer = replayed([as_line(partial)])[0]
        assert (answer["ok"], answer["over"], len(answer["plies"])) == (True, full_length, number)
        assert answer["plies"] == alone["plies"][:number]
        assert bool(answer["legal"]) is not full_length
        if not full_length:
            assert "result" not in answer
            assert alone["plies"][number]["legal"] == answer["legal"]
            assert alone["plies"][number]["seat"] == answer["to_move"]


def test_text_lines_are_read_as_bytes_are() -> None:
    text = as_line(good()).decode()
    assert Replayer().replay(text) == Replayer().replay(text.encode())
    check_refusal(Replayer().replay(text.replace("random play", "\ud800")))
    check_refusal(Replayer().replay(""))


# --- random damage --------------------------------------------------------------------------------

ATOMS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 60),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["9-9", "4-9", "1-0>start", "9-4>L", "pass", "draw", "highest_double", "lowest_team", "cuban"]),
    st.text(max_size=8),
)
KEYS = st.sampled_from(["opener", "first", "set", "target", "claim_doubles", "id", "round", "scores", "ended"])
TREES = st.recursive(
    ATOMS,
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(KEYS | st.text(max_size=4), inside, max_size=3),
    max_leaves=6,
)


def paths_of(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in a tree, itself included."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, below in items:
        yield from paths_of(below, (*path, key))


def damaged(data: st.DataObject, record: Any) -> Any:
    """One value put in place of another, taken out, moved, doubled, or given a neighbour."""
    path = data.draw(st.sampled_from(list(paths_of(record))))
    how = data.draw(st.sampled_from(["replace", "copy", "remove", "double", "add"]))
    if how == "replace" or not path:
        return replaced(record, path, lambda _: data.draw(TREES))
    if how == "copy":
        other = data.draw(st.sampled_from(list(paths_of(record))))
        value = record
        for key in other:
            value = value[key]
        return replaced(record, path, lambda _: value)

    def change(parent: Any) -> Any:
        made, key = copy.copy(parent), path[-1]
        if how == "remove":
            del made[key]
        elif isinstance(made, list):
            made.insert(key, parent[key] if how == "double" else data.draw(TREES))
        else:
            made[data.draw(KEYS)] = parent[key] if how == "double" else data.draw(TREES)
        return made

    return replaced(record, path[:-1], change)


def check_answer(answer: Any) -> None:
    assert isinstance(answer, dict)
    json.loads(to_json(answer))
    if answer["ok"] is not True:
        check_refusal(answer)


def short_records() -> list[dict[str, Any]]:
    records = [json.loads(line) for line in lines_of("cuban.jsonl")]
    return [record for record in records if len(record["hands"][0]) < 5] + records[8:10]


@settings(max_examples=600, deadline=None)
@given(data=st.data())
def test_random_damage_to_a_record(data: st.DataObject) -> None:
    """Never an exception; and what is accepted replays as the reference replays it."""
    record = data.draw(st.sampled_from(short_records()))
    for _ in range(data.draw(st.integers(1, 3))):
        record = damaged(data, record)
    line = json.dumps(record).encode("utf-8", "replace")
    answer = Replayer().replay(line)
    check_answer(answer)
    if answer["ok"]:
        sound = json.loads(line)
        expected = reference.replay(sound)
        assert answer == {"ok": True, **expected}
        if sound.get("result") is not None:
            assert as_text(sound["result"]) == as_text(expected["result"])


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_random_damage_to_bytes(data: st.DataObject) -> None:
    line = bytearray(as_line(data.draw(st.sampled_from(short_records()))))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(line)))
        taken = data.draw(st.integers(0, 3))
        line[place : place + taken] = data.draw(st.binary(max_size=3) | st.sampled_from([b"{", b"]", b'"', b",", b"9"]))
    check_answer(Replayer().replay(bytes(line)))
    check_answer(Replayer(matches=True).replay(bytes(line)))


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_random_damage_to_a_match(data: st.DataObject) -> None:
    records = list(data.draw(st.sampled_from(short_matches())))
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.integers(0, len(records) - 1))
        part = data.draw(st.sampled_from(["match", "opening"]))
        if isinstance(records[number], dict) and isinstance(records[number].get(part), dict):
            records[number] = records[number] | {part: damaged(data, records[number][part])}
    replayer = Replayer(matches=True)
    for record in records:
        check_answer(replayer.replay(json.dumps(record).encode("utf-8", "replace")))


# --- whole matches --------------------------------------------------------------------------------

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"lead_draw": "individual"},
    {"claim_doubles": 4},
    {"set": 6, "claim_doubles": 3, "target": 60},
    {"first_tile": "highest_double", "lead_draw": "individual", "claim_doubles": 3},
    {"block_winner": "lowest_team", "round_points": "all_others", "claim_doubles": 0},
    {"target": 1},
    {"target": 300, "set": 6},
)


def play_match(deal: int, rules: dict[str, Any], ident: Any, partial: bool = False) -> list[dict[str, Any]]:
    """Records of a match, played at random, openers named by both partners."""
    rng = random.Random(f"{deal} {rules}")
    a_round = Round("cuban", rules=rules, deal=deal)
    for team in range(2):
        a_round.state.naming[team] = rng.randrange(3)
    records: list[dict[str, Any]] = []
    while not records or not a_round.match_over:
        if records:
            a_round.next_round()
        match = {"id": ident, "round": len(records) + 1, "scores": a_round.scores}
        match |= a_round.game.match_notes(a_round.state)
        while not a_round.over:
            a_round.play(rng.choice(a_round.legal()))
        if a_round.match_over:
            match |= match_end(a_round)
        records.append(a_round.record(match=match, meta={"deal": deal}))
    return json.loads(json.dumps(records))


@cache
def match_of(deal: int, options: int, ident: Any = 7) -> tuple[dict[str, Any], ...]:
    return tuple(play_match(deal, OPTIONS[options], ident))


@cache
def short_matches() -> list[tuple[dict[str, Any], ...]]:
    """Matches of two or three rounds, claims and draws for the lead among them."""
    found = [match_of(deal, options) for options in range(6) for deal in range(8)]
    return [match for match in found if 2 <= len(match) <= 3]


def replayed_match(records: Any) -> list[dict[str, Any]]:
    return replayed([as_line(record) for record in records], matches=True)


@pytest.mark.parametrize("options", range(len(OPTIONS)))
def test_matches_replay(options: int) -> None:
    """Whole matches, one after another in one file, are sound, and the reference says the same of each."""
    ids: list[Any] = [f"match {number}" for number in range(MATCHES // 8)]
    ids[0], ids[1] = 0, "0"  # a number and a text are different names
    matches = [play_match(deal, OPTIONS[options], ident) for deal, ident in enumerate(ids, 100)]
    answers = replayed_match([record for match in matches for record in match])
    assert all(answer["ok"] for answer in answers)
    assert replayed([as_line(record) for match in matches for record in match]) == answers
    position = 0
    for match in matches:
        check_by_reference(match, answers[position : position + len(match)])
        position += len(match)


def check_by_reference(records: list[dict[str, Any]], answers: list[dict[str, Any]]) -> None:
    match: Any = reference.new_match("cuban", records[0]["rules"], 4)
    key = dealing.deal_key(1, 0, records[0]["meta"]["deal"])
    assert records[0]["match"]["lead_draw"] == dealing.lead_draws(key, match.rules)
    match.lead(records[0]["match"]["lead_draw"])
    for number, (record, answer) in enumerate(zip(records, answers, strict=True), 1):
        found = record["match"]
        assert (found["round"], found["scores"]) == (number, match.scores)
        assert ("lead_draw" in found) == (number == 1) == ("first" in record["opening"])
        opener = record["opening"]["opener"]
        assert opener in match.may_open()
        claims = found.get("claims", [])
        for redeals, claim in enumerate(claims):
            hands = dealing.hands_of(key, number, redeals, match.rules)
            assert match.must_redeal(hands, opener) == (claim["seat"], claim["doubles"])
        hands = dealing.hands_of(key, number, len(claims), match.rules)
        assert match.must_redeal(hands, opener) is None
        assert list(map(sorted, record["hands"])) == list(map(sorted, hands))
        replay = reference.replay(record)
        assert answer["result"] == replay["result"] == record["result"]
        match.finish(replay["plies"][0]["seat"], replay["result"])
        assert match.over == (number == len(records))
        assert ("winners" in found) == ("name" in found) == match.over
    assert records[-1]["match"]["winners"] == match.winners
    assert records[-1]["match"]["name"] == match.name


def test_a_match_may_stop_early() -> None:
    """Some of its rounds, and a last one that is not over, are no fault."""
    match = long_match()
    for rounds in range(1, len(match) + 1):
        assert all(answer["ok"] for answer in replayed_match(match[:rounds]))
    partial = copy.deepcopy(match[:2])
    del partial[1]["result"]
    partial[1]["actions"] = partial[1]["actions"][:5]
    answers = replayed_match(partial)
    assert [(answer["ok"], answer["over"]) for answer in answers] == [(True, True), (True, False)]


def test_matches_are_looked_at_only_when_asked() -> None:
    wrong = copy.deepcopy(long_match())
    for record in wrong:
        record["match"] = {"anything": 1}
    assert all(answer["ok"] for answer in replayed([as_line(record) for record in wrong]))
    for answer in replayed_match(wrong):
        check_refusal(answer, "match.id")


def long_match(options: int = 2) -> list[dict[str, Any]]:
    """A match of four rounds or more: claims in a later round, the losers above 0 and so without a name."""
    for deal in range(200):
        match = match_of(deal, options)
        claimed = any("claims" in record["match"] for record in match[1:3])
        if len(match) >= 4 and claimed and match[-1]["match"]["name"] is None:
            return copy.deepcopy(list(match))
    raise AssertionError("no such match among the first deals")


def claimed_round(match: list[dict[str, Any]]) -> int:
    return next(n for n, record in enumerate(match) if n in (1, 2) and "claims" in record["match"])


def other_team(match: list[dict[str, Any]], number: int) -> int:
    return int((match[number]["opening"]["opener"] + 1) % 4)


def put(number: int, field: str, value: Any) -> Callable[[list[dict[str, Any]]], int]:
    """Damage to a field of `match`; a function gets the value and gives another. Says which line is at fault."""

    def damage(match: list[dict[str, Any]]) -> int:
        fields = match[number]["match"]
        fields[field] = value(fields[field]) if callable(value) else value
        return number % len(match)

    return damage


def drop(number: int, field: str, part: str = "match") -> Callable[[list[dict[str, Any]]], int]:
    def damage(match: list[dict[str, Any]]) -> int:
        del match[number][part][field]
        return number % len(match)

    return damage


def put_claims(change: Callable[[list[dict[str, Any]]], Any]) -> Callable[[list[dict[str, Any]]], int]:
    def damage(match: list[dict[str, Any]]) -> int:
        number = claimed_round(match)
        match[number]["match"]["claims"] = change(match[number]["match"]["claims"])
        return number

    return damage


def put_claim(**fields: Any) -> Callable[[list[dict[str, Any]]], int]:
    return put_claims(lambda claims: [claims[0] | fields])


def put_opener(number: int) -> Callable[[list[dict[str, Any]]], int]:
    def damage(match: list[dict[str, Any]]) -> int:
        match[number]["opening"]["opener"] = other_team(match, number)
        return number % len(match)

    return damage


def put_opening(number: int, **fields: Any) -> Callable[[list[dict[str, Any]]], int]:
    def damage(match: list[dict[str, Any]]) -> int:
        match[number]["opening"] |= fields
        return number % len(match)

    return damage


def put_record(number: int, **fields: Any) -> Callable[[list[dict[str, Any]]], int]:
    def damage(match: list[dict[str, Any]]) -> int:
        match[number] |= fields
        return number % len(match)

    return damage


def swapped(scores: list[int]) -> list[int]:
    return scores[::-1]


FOUR = ["9-9", "8-8", "7-7", "6-6"]
MATCH_DAMAGE: dict[str, tuple[Callable[[list[dict[str, Any]]], int], tuple[str, ...]]] = {
    "score of the first round": (put(0, "scores", [0, 1]), ("match.scores", "[0, 1]", "[0, 0]")),
    "score a point too high": (put(1, "scores", lambda scores: [scores[0] + 1, scores[1]]), ("match.scores",)),
    "scores the other way round": (put(1, "scores", swapped), ("match.scores",)),
    "score of a seat": (put(1, "scores", lambda scores: scores * 2), ("match.scores",)),
    "scores as floats": (put(1, "scores", lambda scores: [float(s) for s in scores]), ("match.scores",)),
    "scores as booleans": (put(0, "scores", [False, False]), ("match.scores", "False")),
    "scores as text": (put(1, "scores", "0"), ("match.scores",)),
    "no scores": (drop(1, "scores"), ("match", "scores", "missing")),
    "huge scores": (put(1, "scores", [10**3000, 0]), ("match.scores",)),
    "round 0": (put(0, "round", 0), ("match.round", "0")),
    "a round skipped": (put(1, "round", 3), ("match.round", "3", "2")),
    "a round again": (put(2, "round", 2), ("match.round", "2", "3")),
    "round as float": (put(1, "round", 2.0), ("match.round", "2.0")),
    "round as boolean": (put(0, "round", True), ("match.round", "True")),
    "no round": (drop(1, "round"), ("match", "round", "missing")),
    "no id": (drop(1, "id"), ("match.id",)),
    "id as null": (put(1, "id", None), ("match.id", "None")),
    "id as float": (put(1, "id", 1.5), ("match.id", "1.5")),
    "id as boolean": (put(1, "id", True), ("match.id", "True")),
    "id as a list": (put(1, "id", [7]), ("match.id", "[7]")),
    "unknown field": (put(1, "note", "x"), ("match", "'note'")),
    "opener of the other team, round 1": (put_opener(0), ("opening.opener",)),
    "opener of the other team, round 2": (put_opener(1), ("opening.opener",)),
    "opener of the other team, last round": (put_opener(-1), ("opening.opener",)),
    "not first in round 1": (drop(0, "first", "opening"), ("opening.first", "False", "True")),
    "false in round 1": (put_opening(0, first=False), ("opening.first", "False", "True")),
    "first in round 2": (put_opening(1, first=True), ("opening.first", "True", "False")),
    "no draw for the lead": (drop(0, "lead_draw"), ("match.lead_draw",)),
    "a draw for the lead in round 2": (put(1, "lead_draw", [["9-9", "0-0"]]), ("match.lead_draw", "round 1 only")),
    "an empty draw": (put(0, "lead_draw", []), ("match.lead_draw",)),
    "a draw as null": (put(0, "lead_draw", None), ("match.lead_draw",)),
    "a draw of one list": (put(0, "lead_draw", ["9-9", "0-0"]), ("match.lead_draw, draw 1",)),
    "a draw of three": (put(0, "lead_draw", [["9-9", "0-0", "1-0"]]), ("match.lead_draw, draw 1", "2 tiles")),
    "a draw of one tile twice": (put(0, "lead_draw", [["9-9", "9-9"]]), ("match.lead_draw, draw 1", "different")),
    "a draw of no tile": (put(0, "lead_draw", [["9-9", "x"]]), ("'x'", "no tile")),
    "a draw that decides nothing": (put(0, "lead_draw", [["9-1", "8-2"]]), ("match.lead_draw, draw 1", "last draw")),
    "a draw after one that decided": (
        put(0, "lead_draw", lambda draws: [*draws, *draws]),
        ("match.lead_draw, draw", "tie"),
    ),
    "a draw that the others won": (
        put(0, "lead_draw", lambda draws: [*draws[:-1], draws[-1][::-1]]),
        ("opening.opener",),
    ),
    "claims with too few doubles": (put_claim(doubles=FOUR[:3]), ("match.claims, claim 1", "4 or more")),
    "claims with a double twice": (put_claim(doubles=["9-9", "9-9", "8-8", "7-7"]), ("match.claims, claim 1",)),
    "claims with a double once too often": (
        put_claim(doubles=[*FOUR, "9-9"]),
        ("match.claims, claim 1", "different doubles"),
    ),
    "claims with a tile that is no double": (
        put_claim(doubles=[*FOUR, "9-8"]),
        ("match.claims, claim 1", "different doubles"),
    ),
    "claims with no tile": (put_claim(doubles=[*FOUR, "x"]), ("'x'", "no tile")),
    "doubles as text": (put_claim(doubles="9-9"), ("match.claims, claim 1",)),
    "doubles as null": (put_claim(doubles=None), ("match.claims, claim 1",)),
    "a claim by no seat": (put_claim(seat=4), ("match.claims, claim 1, seat", "4")),
    "a claim with another field": (put_claim(team=1), ("match.claims, claim 1", "'team'")),
    "a claim without doubles": (put_claims(lambda claims: [{"seat": 1}]), ("match.claims, claim 1", "missing")),
    "a bad second claim": (put_claims(lambda claims: [claims[0], 3]), ("match.claims, claim 2", "3")),
    "claims as null": (put_claims(lambda claims: None), ("match.claims",)),
    "claims as an object": (put_claims(lambda claims: claims[0]), ("match.claims",)),
    "another name": (put(-1, "name", "pollona"), ("match.name", "'pollona'", "None")),
    "a name before the end": (put(1, "name", None), ("match.name", "before the end")),
    "no name": (drop(-1, "name"), ("match.name", "nothing")),
    "other winners": (put(-1, "winners", lambda winners: [1 - winners[0]]), ("match.winners",)),
    "winners as seats": (put(-1, "winners", lambda winners: [winners[0], winners[0] + 2]), ("match.winners",)),
    "a winner as boolean": (put(-1, "winners", lambda winners: [bool(winners[0])]), ("match.winners",)),
    "winners as a number": (put(-1, "winners", lambda winners: winners[0]), ("match.winners",)),
    "no winners": (drop(-1, "winners"), ("match.winners", "nothing")),
    "winners before the end": (put(1, "winners", [0]), ("match.winners", "before the end")),
    "other rules": (put_record(1, rules={}), ("match", "another game, rules or seats")),
    "a bad option": (put_record(1, rules={"target": 0}), ("target", "1 to 10000")),
    "another game": (put_record(1, game="chess"), ("match", "another game")),
    "a bad result": (put_record(1, result={"ended": "out"}), ("result",)),
    "an illegal action": (put_record(1, actions=["x"]), ("action 1",)),
}


@pytest.mark.parametrize("name", MATCH_DAMAGE)
def test_damage_to_a_match(name: str) -> None:
    """It is found where it stands; the rounds before are sound, those after it are refused."""
    match = long_match()
    damage, parts = MATCH_DAMAGE[name]
    at = damage(match)
    answers = replayed_match(match)
    for answer in answers[:at]:
        assert answer["ok"] is True
    check_refusal(answers[at], *parts)
    for answer in answers[at + 1 :]:
        check_refusal(answer, "match.")


def test_the_names_of_an_end_are_checked() -> None:
    """A match that ends with a name refuses the other one, and none."""
    matches = [match_of(deal, options) for options in (2, 6) for deal in range(25)]
    named = {match[-1]["match"]["name"]: match for match in matches}
    assert set(named) == {None, "pollona", "tripollua"}
    for name, match in named.items():
        for other in (None, "pollona", "tripollua", "", 0):
            changed_match = copy.deepcopy(list(match))
            changed_match[-1]["match"]["name"] = other
            answer = replayed_match(changed_match)[-1]
            if other == name:
                assert answer["ok"] is True
            else:
                check_refusal(answer, "match.name", repr(other), repr(name))


def test_a_draw_by_all_four_seats_is_checked() -> None:
    match = copy.deepcopy(list(match_of(3, 1)))
    opener = match[0]["opening"]["opener"]
    assert match[0]["match"]["lead_draw"][-1][opener] == max(
        match[0]["match"]["lead_draw"][-1], key=lambda tile: sum(common.tile(tile))
    )
    for bad, parts in (
        ([["9-9", "0-0"]], ("match.lead_draw, draw 1", "4 tiles")),
        ([["9-1", "8-2", "1-0", "2-0"]], ("match.lead_draw, draw 1", "last draw")),
    ):
        changed_match = copy.deepcopy(match)
        changed_match[0]["match"]["lead_draw"] = bad
        check_refusal(replayed_match(changed_match)[0], *parts)
    for seat in {0, 1, 2, 3} - {opener}:  # not even the partner of who drew the largest
        changed_match = copy.deepcopy(match)
        changed_match[0]["opening"]["opener"] = seat
        check_refusal(replayed_match(changed_match)[0], "opening.opener", str(seat), str(opener))
    tied = copy.deepcopy(match)  # equal smaller sums decide nothing
    draw = ["1-0", "0-1", "2-0", "1-1"]
    draw[opener] = "9-9"
    draw[opener - 1], draw[opener - 2], draw[opener - 3] = "1-0", "2-0", "1-1"
    tied[0]["match"]["lead_draw"] = [draw]
    assert all(answer["ok"] for answer in replayed_match(tied))


def test_claims_are_refused_where_there_are_none() -> None:
    match = copy.deepcopy(list(match_of(0, 5)))
    match[0]["match"]["claims"] = [{"seat": 0, "doubles": ["9-9", "8-8", "7-7", "6-6", "5-5"]}]
    check_refusal(replayed_match(match)[0], "match.claims", "claim_doubles=0")
    match[0]["match"]["claims"] = []
    assert replayed_match(match)[0]["ok"] is True


def test_rounds_after_the_end() -> None:
    match = long_match()
    again = copy.deepcopy(match[-1])
    again["match"] |= {"round": len(match) + 1}
    answers = replayed_match([*match, again, *match])
    assert all(answer["ok"] for answer in answers[: len(match)])
    for answer in answers[len(match) :]:
        check_refusal(answer, "match.id", "7", "after the end")


@pytest.mark.parametrize("between", ["a round of no match", "another match"])
def test_lines_of_a_match_that_do_not_stand_together(between: str) -> None:
    match, other = long_match(), list(match_of(0, 0, ident="other"))
    inserted = [good()] if between == "a round of no match" else other
    answers = replayed_match([*match[:2], *inserted, *match[2:]])
    assert all(answer["ok"] for answer in answers[: 2 + len(inserted)])
    for answer in answers[2 + len(inserted) :]:
        check_refusal(answer, "match.id", "7", "stand together")


def test_rounds_in_another_order() -> None:
    match = long_match()
    answers = replayed_match([match[1], match[0], *match[2:]])
    check_refusal(answers[0], "match.round", "2", "1")
    for answer in answers[1:]:
        check_refusal(answer, "match.")


def test_a_round_that_is_not_over_ends_its_match() -> None:
    match = long_match()
    del match[1]["result"]
    match[1]["actions"].pop()
    answers = replayed_match(match)
    assert [answer["ok"] for answer in answers] == [True, True] + [False] * (len(match) - 2)
    for answer in answers[2:]:
        check_refusal(answer, "match.round", "not over")


def test_long_names_of_matches_are_told_apart() -> None:
    first, second = "x" * 80 + "1", "x" * 80 + "2"
    answers = replayed_match([*match_of(0, 0, ident=first), *match_of(1, 0, ident=second)])
    assert all(answer["ok"] for answer in answers)
