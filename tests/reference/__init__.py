"""Slow, literal reference of the three games, written from the rule pages; for comparison only."""

from . import common, cuban, longana, mexican
from .common import Match, Round, Rules

_MODULES = {"cuban": cuban, "longana": longana, "mexican": mexican}

GAMES = ("cuban", "longana", "mexican")
SEATS: dict[str, tuple[int, ...]] = {game: _MODULES[game].SEATS for game in GAMES}
DEFAULTS: dict[str, Rules] = {game: _MODULES[game].DEFAULTS for game in GAMES}
CHOICES: dict[str, dict[str, tuple]] = {game: _MODULES[game].CHOICES for game in GAMES}

__all__ = [
    "CHOICES",
    "DEFAULTS",
    "GAMES",
    "SEATS",
    "Match",
    "Round",
    "new_match",
    "new_round",
    "replay",
]


def _checked(game: str, rules: Rules, seats: int) -> Rules:
    if seats not in SEATS[game]:
        raise ValueError(f"{game} has {SEATS[game]} seats, not {seats}")
    return common.options(DEFAULTS[game], CHOICES[game], rules)


def new_round(game: str, rules: Rules, seats: int, hands: list[list[str]], stock: list[str], opening: dict) -> Round:
    """A round before its first action; `rules` holds the options that differ from the defaults."""
    return _MODULES[game].Round(_checked(game, rules, seats), seats, hands, stock, opening)


def new_match(game: str, rules: Rules, seats: int) -> Match:
    """A match before its first round."""
    return _MODULES[game].Match(_checked(game, rules, seats), seats)


def replay(record: dict) -> dict:
    """What replaying a valid record prints, without `line` and `ok`."""
    keys = ("game", "rules", "seats", "hands", "stock", "opening")
    a_round = new_round(*(record[key] for key in keys))
    plies = []
    for written in record["actions"]:
        action = common.action_text(written)
        plies.append({"seat": a_round.to_move, "legal": a_round.legal(), "action": action})
        a_round.play(action)
    out: dict = {
        "over": a_round.over,
        "to_move": a_round.to_move,
        "plies": plies,
        "legal": a_round.legal(),
    }
    if a_round.over:
        out["result"] = a_round.result()
    return out
