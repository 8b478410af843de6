"""Rule options: what is accepted, what is refused, and what the refusal says."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from domsim.batch import Batch
from domsim.core import cuban
from domsim.errors import DomsimError, RulesError
from domsim.games import GAMES, find_game
from domsim.games.cuban import CubanRules
from domsim.round import Round
from domsim.rules import find_rules, parse_options
from tests import reference

#: all options of `cuban` and what they may be, after the rule page
CUBAN: dict[str, tuple] = {
    "set": (9, 6),
    "target": (1, 40, 100, 300, 10000),
    "lead_draw": ("teams", "individual"),
    "claim_doubles": (5, 0, 3, 4, 6, 7, 8, 9, 10),
    "first_tile": ("free", "highest_double"),
    "block_winner": ("lowest_hand", "lowest_team"),
    "round_points": ("rivals", "all_others"),
}
REFUSED: dict[str, tuple] = {
    "set": (12, 7, 0, -9, 10**30, "9", "nine"),
    "target": (0, -1, 10001, 10**30, "100", "", "many"),
    "lead_draw": ("team", "", "Teams", 0, 1),
    "claim_doubles": (1, 2, 11, -1, 55, "5", "off"),
    "first_tile": ("highest", "free ", 0, 1),
    "block_winner": ("lowest", "team", 0),
    "round_points": ("all", "rival", 0),
}
NEVER = (None, True, False, 1.0, 9.0, 100.0, float("nan"), float("inf"), [], [9], {}, {"a": 1}, b"free", object(), 5j)


def refusal(*args: Any, **options: Any) -> str:
    with pytest.raises(RulesError) as caught:
        find_rules(*args, **options)
    return str(caught.value)


# --- accepted -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("option", "value"), [(o, v) for o, values in CUBAN.items() for v in values])
def test_every_value_is_accepted(option: str, value: Any) -> None:
    rules = find_rules("cuban", **{option: value})
    assert getattr(rules, option) == value
    default = reference.DEFAULTS["cuban"][option]
    assert rules.changed() == ({} if value == default else {option: value})
    others = {name: getattr(rules, name) for name in CUBAN if name != option}
    assert others == {name: reference.DEFAULTS["cuban"][name] for name in others}


def test_every_combination_is_accepted() -> None:
    """But for the claims that a hand of seven cannot make; all are different rules."""
    seen = set()
    for values in product(*CUBAN.values()):
        options = dict(zip(CUBAN, values, strict=True))
        if options["set"] == 6 and options["claim_doubles"] > 7:
            text = refusal("cuban", **options)
            assert all(part in text for part in ("claim_doubles", str(options["claim_doubles"]), "set=6", "0, 3 to 7"))
        else:
            rules = find_rules("cuban", **options)
            assert {name: getattr(rules, name) for name in CUBAN} == options
            assert find_rules("cuban", **rules.changed()) == rules
            seen.add(rules)
    assert len(seen) == (9 + 6) * 5 * 16


@pytest.mark.parametrize("game", list(GAMES))
def test_defaults_and_choices_are_those_of_the_reference(game: str) -> None:
    rules = find_rules(game)
    assert {option.name: option.default for option in rules.options()} == reference.DEFAULTS[game]
    assert {name: getattr(rules, name) for name in reference.DEFAULTS[game]} == reference.DEFAULTS[game]
    assert rules.changed() == {}
    for name, values in reference.CHOICES[game].items():
        for value in values:
            assert getattr(find_rules(game, **{name: value}), name) == value
    assert all(option.note for option in rules.options())


def test_the_core_gets_every_option_in_its_own_numbers() -> None:
    options = {
        "set": 6,
        "target": 300,
        "lead_draw": "individual",
        "claim_doubles": 3,
        "first_tile": "highest_double",
        "block_winner": "lowest_team",
        "round_points": "all_others",
    }
    codes = find_rules("cuban", **options).codes()
    assert codes == {
        "set": 6,
        "target": 300,
        "lead_draw": cuban.LEAD_INDIVIDUAL,
        "claim_doubles": 3,
        "first_tile": cuban.HIGHEST_DOUBLE,
        "block_winner": cuban.LOWEST_TEAM,
        "round_points": cuban.ALL_OTHERS,
    }
    state = Round("cuban", rules=options).state
    assert {name: getattr(state, name) for name in codes} == codes
    words = ("lead_draw", "first_tile", "block_winner", "round_points")
    assert [find_rules("cuban").codes()[name] for name in words] == [
        cuban.LEAD_TEAMS,
        cuban.FREE,
        cuban.LOWEST_HAND,
        cuban.RIVALS,
    ]


@pytest.mark.parametrize("option", CUBAN)
def test_rules_are_frozen(option: str) -> None:
    rules = find_rules("cuban")
    with pytest.raises(AttributeError):
        setattr(rules, option, CUBAN[option][1])
    with pytest.raises(AttributeError):
        rules.more = 1  # type: ignore[attr-defined]
    assert rules == CubanRules()
    assert hash(rules) == hash(CubanRules())


# --- refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("option", "value"), [(o, v) for o, values in REFUSED.items() for v in (*values, *NEVER)])
def test_refusals_name_option_value_and_what_is_allowed(option: str, value: Any) -> None:
    text = refusal("cuban", **{option: value})
    assert option in text
    assert repr(value)[:50] in text
    expected = "1 to 10000" if option == "target" else ", ".join(map(str, CUBAN[option]))
    assert f"allowed: {expected}" in text
    with pytest.raises(RulesError):
        CubanRules(**{option: value})  # nor by the constructor
    with pytest.raises(RulesError):
        Batch("cuban", 1, rules={option: value})
    with pytest.raises(RulesError):
        Round("cuban", rules={option: value})


@pytest.mark.parametrize("name", ["targets", "SET", "", "hand_size", "double_blank", "x" * 1000, "nan", "цель"])
def test_unknown_options_are_refused(name: str) -> None:
    text = refusal("cuban", **{name: 1})
    assert "unknown rule option" in text
    assert name[:50] in text
    assert all(option in text for option in CUBAN)
    assert len(text) < 400
    with pytest.raises(RulesError, match="unknown rule option"):
        Round("cuban", rules={name: 1})


def test_names_that_are_no_text_are_refused() -> None:
    for name in (1, None, ("set",)):
        with pytest.raises(RulesError, match="unknown rule option"):
            CubanRules.of({name: 9})  # type: ignore[dict-item]


def test_close_names_are_suggested() -> None:
    assert "did you mean 'target'?" in refusal("cuban", targt=300)
    assert "did you mean 'cuban'?" in refusal("cubann")


@pytest.mark.parametrize("game", ["", "Cuban", "dominoes", "cuban ", None, 3, ["cuban"], "x" * 1000])
def test_unknown_games_are_refused(game: Any) -> None:
    text = refusal(game)
    assert "unknown game" in text
    assert "cuban" in text.replace(repr(game), "")
    assert repr(game)[:50] in text
    assert len(text) < 300


@pytest.mark.parametrize("seats", [0, 1, 2, 3, 5, -4, 10**30, 4.0, "4", None, True, [4]])
def test_seats_are_refused(seats: Any) -> None:
    with pytest.raises(RulesError, match=r"seats: cuban is not played with .*; allowed: 4") as caught:
        find_game("cuban").check_seats(seats)
    assert repr(seats) in str(caught.value)
    assert find_game("cuban").check_seats(4) == 4


def test_errors_are_value_errors() -> None:
    assert issubclass(RulesError, DomsimError)
    assert issubclass(DomsimError, ValueError)


def test_numbers_of_numpy_are_refused_with_their_type() -> None:
    """A numpy scalar would travel into records and hashes as something else than a number."""
    assert "np.int64(300)" in refusal("cuban", target=np.int64(300))


# --- from a command line --------------------------------------------------------------------------


def test_options_are_read_from_texts() -> None:
    texts = ["target=300", "set=6", "first_tile=highest_double", "claim_doubles=0"]
    values = parse_options(CubanRules, texts)
    assert values == {"target": 300, "set": 6, "first_tile": "highest_double", "claim_doubles": 0}
    assert parse_options(CubanRules, []) == {}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("target", ("'target'", "name=value")),
        ("targt=3", ("'targt'", "did you mean 'target'", "known: set, target")),
        ("target=0", ("target", "0", "1 to 10000")),
        ("target=1e3", ("target", "'1e3'", "1 to 10000")),
        ("target=", ("target", "''", "1 to 10000")),
        ("set=7", ("set", "7", "9, 6")),
        ("first_tile=6", ("first_tile", "6", "free, highest_double")),
        ("=3", ("''", "known: set")),
    ],
)
def test_bad_texts_are_refused(text: str, parts: tuple[str, ...]) -> None:
    with pytest.raises(RulesError) as caught:
        parse_options(CubanRules, [text])
    assert all(part in str(caught.value) for part in parts)
