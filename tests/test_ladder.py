"""The ladder of levels: each plays all games, and is clearly better than the one below it."""

from itertools import pairwise

import pytest

from domsim import load_agent, run_tournament
from domsim.compare import gains
from domsim.games import GAMES
from domsim.stats import interval

LEVELS = ("random", "beginner", "casual", "careful", "expert")
#: deals it takes to tell neighbours apart
DEALS = {"cuban": 600, "longana": 600, "mexican": 200}


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("level", [*LEVELS, "expert-blind"])
def test_every_level_plays_every_game(level: str, game: str) -> None:
    agent = load_agent(level, GAMES[game])
    assert agent.about
    assert agent.kind_name == ("random" if level == "random" else "weights")


@pytest.mark.parametrize("game", GAMES)
def test_experts_use_what_passes_tell(game: str) -> None:
    """`expert-blind` is `expert` without the weights of what others have shown not to hold, all else alike."""
    found = GAMES[game]
    expert, blind = load_agent("expert", found).weights, load_agent("expert-blind", found).weights
    words = ("lack", "must_pass", "frees_owner")
    told = [f for f, name in enumerate(found.features) if any(word in name for word in words)]
    rest = [f for f in range(len(found.features)) if f not in told]
    assert (blind[:, told] == 0).all()
    assert (expert[:, told] != 0).any()
    assert (blind[:, rest] == expert[:, rest]).all()


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(("lower", "higher"), list(pairwise(LEVELS)))
def test_each_level_beats_the_one_below(lower: str, higher: str, game: str) -> None:
    result = run_tournament(game, [higher, lower], DEALS[game], suite="smoke")
    assert interval(gains(result.plan, result.sums)).low > 0
