"""The games domsim knows. This is the one place that lists them."""

from domsim.core.game import register_core
from domsim.errors import RulesError
from domsim.games.base import Game
from domsim.games.cuban import Cuban
from domsim.games.longana import Longana
from domsim.games.mexican import Mexican
from domsim.rules import nearest
from domsim.tiles import quoted

__all__ = ["GAMES", "Game", "find_game", "register"]

#: every game by its name
GAMES: dict[str, Game] = {}


def register(game: Game) -> None:
    """Make a game known to everything in domsim."""
    register_core(game.core)
    GAMES[game.name] = game


def find_game(name: object) -> Game:
    """The game of this name.

    Raises:
        RulesError: there is none.
    """
    if isinstance(name, str) and name in GAMES:
        return GAMES[name]
    known = ", ".join(GAMES)
    raise RulesError(f"unknown game {quoted(name)}{nearest(name, list(GAMES))}; known: {known}")


for _game in (Cuban(), Longana(), Mexican()):
    register(_game)
