"""Features in plain words, a phrase for each of every game: what hints say of a play.

A phrase is a format string about a play whose feature is not 0. It may name

| field | what |
|---|---|
| `value`, `difference` | the feature of the play, and by how much it is larger than that of the next one |
| `word`, `tiles` | the value in words: `three`, `three tiles` |
| `new`, `matched` | the number the play leaves, the number it covers |
| `new_tiles`, `matched_tiles` | so many tiles of it, the value in words: `three 6s` |
| `owner` | the line the tile is laid on, as actions name it |
| `kept`, `kept_tiles` | `cuban`: the number at the other end |
| `own_end`, `own_end_tiles` | `longana`, `mexican`: the end of the own branch or train after the play |
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from domsim.core.game import START
from domsim.games.base import Game
from domsim.moves import Moves

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@dataclass(frozen=True)
class Words:
    """What hints need to know of a game beside its core."""

    phrases: Mapping[str, str]
    #: a number on the table after a play that phrases name, by field, given the moves and the place of the play
    numbers: Mapping[str, Callable[[Moves, int], int]]
    #: the core's `worth` of one point
    point: int = 1


def _other_end(moves: Moves, play: int) -> int:
    """The number at the end that is not laid on; of an opening the half that counts as matched."""
    line = int(moves.line[play])
    return matched(moves, play) if line == START else int(moves["end"][moves.decision[play], 1 - line])


def _own_end(moves: Moves, play: int) -> int:
    """The end of the own line after a play."""
    decision = moves.decision[play]
    seat, line = int(moves["seat"][decision]), int(moves.line[play])
    return int(moves.new[play] if line in (seat, START) else moves["end"][decision, seat])


def _new(moves: Moves, play: int) -> int:
    """The number that a play leaves."""
    return int(moves.new[play])


def matched(moves: Moves, play: int) -> int:
    """The number that a play covers."""
    return int(moves.action[play]) >> 4 & 15


CUBAN = {
    "pips": "lays {value} pips",
    "double": "gets rid of a double",
    "suit_new": "keeps {new_tiles} for its end",
    "suit_kept": "keeps {kept_tiles} for the other end",
    "answers_left": "keeps {tiles} for the two ends",
    "unseen_new": "{new_tiles} still unseen",
    "unseen_kept": "at the other end {kept_tiles} still unseen",
    "next_lacks_new": "the next rival has shown no {new}",
    "next_lacks_kept": "at the other end the next rival has shown no {kept}",
    "partner_lacks_new": "the partner has shown no {new}",
    "same_ends": "both ends show {new}",
    "covers_own_side": "covers a tile of the own side",
    "partner_lacks_kept": "at the other end the partner has shown no {kept}",
    "last_lacks_new": "the other rival has shown no {new}",
    "last_lacks_kept": "at the other end the other rival has shown no {kept}",
    "next_must_pass": "the next rival has to pass",
    "partner_must_pass": "the partner has nothing for either end",
    "last_must_pass": "the other rival has nothing for either end",
    "covers_partner": "covers the partner's tile",
    "new_is_dead": "nobody else can hold a {new}",
    "all_dead": "blocks the round",
    "pips_in_a_rush": "lays {value} pips while a rival is nearly out",
    "pips_in_danger": "lays {value} pips while the rivals are close to the target",
    "double_late": "gets rid of a double late in the round",
}

LONGANA = {
    "pips": "lays {value} pips",
    "double": "gets rid of a double",
    "suit_new": "keeps {new_tiles}",
    "answers_left": "keeps {tiles} that can be laid next",
    "no_answer": "leaves nothing to lay next: a pass would open the own branch",
    "unseen_new": "{new_tiles} still unseen",
    "next_lacks_new": "the next seat has shown no {new}",
    "others_lack_new": "other seats that have shown no {new}: {word}",
    "own_branch": "goes on with the own branch",
    "other_open": "uses the open branch of seat {owner}",
    "closed_double": "lays a double on the closed branch of seat {owner}",
    "keeps_own_end": "keeps {own_end_tiles} for the own branch",
    "own_end_alive": "{own_end_tiles} still unseen for the own branch",
    "spends_own": "spends a tile that fits the own branch",
    "owner_lacks_new": "seat {owner} has shown no {new} for its own branch",
    "frees_owner": "frees seat {owner}, which has shown no {matched}",
    "owner_tiles": "the branch is that of a seat with {tiles}",
    "same_ends": "other branches that show {new} too: {word}",
    "pips_in_a_rush": "lays {value} pips while another seat is nearly out",
    "double_late": "gets rid of a double while another seat is nearly out",
}

MEXICAN = {
    "pips": "saves {value} points of penalty",
    "double": "lays a double, which brings another play",
    "double_uncovered": "no {new} is kept to cover the double",
    "covers": "covers a double",
    "own_train": "goes on with the own train",
    "public_train": "uses the public train",
    "unmarks": "takes the mark off the own train",
    "owner_count": "the train is that of a seat with {tiles}",
    "owner_lacks_new": "seat {owner} has shown no {new} for its own train",
    "suit_new": "keeps {new_tiles}",
    "suit_matched": "keeps {matched_tiles}, the number it covers",
    "unseen_new": "{new_tiles} still unseen",
    "next_lacks_new": "the next seat has shown no {new}",
    "own_fits": "keeps {own_end_tiles} for the own train",
    "own_chain": "keeps a chain of {tiles} for the own train",
    "answers_left": "keeps {tiles} for the own or the public train",
    "stop": "ends the turn, though a tile could be laid",
    "pips_in_a_rush": "saves {value} points of penalty while another seat is nearly out",
}

WORDS: dict[str, Words] = {
    "cuban": Words(CUBAN, {"kept": _other_end}),
    "longana": Words(LONGANA, {"own_end": _own_end}),
    "mexican": Words(MEXICAN, {"own_end": _own_end}, point=100),
}


def words_of(game: Game) -> Words:
    """A game's words; of a game that has none, no phrases: its features are told by their names."""
    return WORDS.get(game.name, Words({}, {}))


def in_words(number: int) -> str:
    """A small number in words."""
    return _WORDS[number] if 0 <= number < len(_WORDS) else str(number)


def phrase(moves: Moves, play: int, feature: str, difference: int = 0) -> str:
    """A feature of a play in words; the play lays a tile, or has nothing but a 1 here (a stop)."""
    words = words_of(moves.game)
    value = int(moves[feature][play])
    text = words.phrases.get(feature, feature + " {value}")
    fields: dict[str, int | str] = {"value": value, "difference": difference, "word": in_words(value)}
    fields["tiles"] = f"{in_words(value)} tile{'' if value == 1 else 's'}"
    fields["owner"] = moves.game.line_text(int(moves.line[play])) if 0 <= moves.line[play] < START else "-"
    for name, number in {"new": _new, "matched": matched, **words.numbers}.items():
        pip = number(moves, play) if moves.line[play] >= 0 else None  # a stop leaves no number
        fields[name] = "-" if pip is None else pip
        fields[f"{name}_tiles"] = f"{in_words(value)} {fields[name]}{'' if value == 1 else 's'}"
    return text.format(**fields)
