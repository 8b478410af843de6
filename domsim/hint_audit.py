"""How good an agent's hints are: positions of its own games judged by a yardstick that thinks longer.

The yardstick (the search agent, mostly) names its best play of every position. Where the agent's first play is another,
both are valued again by playouts on random words that had no part in the choice: the best of several noisy estimates is
too high on average, and a regret made of those would be too. The regret is the difference of the new values, 0 where
both agree. Positions of one deal are alike: intervals are by deal.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from domsim.agent import STAGES, Agent, load_agent
from domsim.core.driver import PYTHON
from domsim.core.rng import word
from domsim.errors import DomsimError
from domsim.games import find_game
from domsim.games.phrases import words_of
from domsim.hints import PLAYOUT, choices_of
from domsim.moves import Moves
from domsim.positions import Positions, draw_positions, select
from domsim.search import evaluate_moves
from domsim.stats import Interval, ratio

#: playouts of a play where the yardstick does not say how many ways it looks at
WAYS = 100
#: positions that are kept as records
WORST = 20
_OTHER_WORD = 77


@dataclass(frozen=True)
class Quality:
    """Agreement and regret over some positions."""

    stage: str
    positions: int
    agreement: Interval
    """Share of positions where the agent's first play is the yardstick's."""
    regret: Interval
    """Points that the agent's first play is worth less than the yardstick's, on average."""


@dataclass(frozen=True)
class HintAudit:
    """What an audit of hints found."""

    game: str
    seats: int
    agent: str
    against: str
    ways: int
    deals: int
    qualities: tuple[Quality, ...]  # of all positions, then by stage
    worst: list[dict[str, Any]]  # records, largest regret first

    def __str__(self) -> str:
        lines = [
            f"{self.game}, {self.seats} seats: hints of {self.agent} against {self.against}, "
            f"{self.qualities[0].positions} positions of {self.deals} deals",
            f"{'stage':<8}{'positions':>10}{'agreement %':>18}{'regret, points':>20}",
        ]
        for one in self.qualities:
            agreement, regret = _with_half(one.agreement, 100, 1), _with_half(one.regret, 1, 2)
            lines.append(f"{one.stage:<8}{one.positions:>10}{agreement:>18}{regret:>20}")
        lines.append(f"±: half of the 95 % interval by deal; regret from {self.ways} new playouts of each play")
        return "\n".join(lines)


def _with_half(shown: Interval, scale: float, digits: int) -> str:
    if np.isnan(shown.estimate):
        return "-"
    half = (shown.high - shown.low) / 2
    text = f"±{half * scale:.{digits}f}" if np.isfinite(half) else "±?"
    return f"{shown.estimate * scale:.{digits}f} {text}"


def audit_hints(
    game: str, agent: str, against: str = "search", positions: int = 100, *, seats: int | None = None, seed: int = 0
) -> HintAudit:
    """Compare an agent's first play with a yardstick's in positions of the agent's own games.

    Raises:
        DomsimError: something unknown or out of range, an agent that failed.
    """
    found = find_game(game)
    own, yardstick = load_agent(agent, found), load_agent(against, found)
    drawn = draw_positions(own, positions, seats=seats, suite="valid", seed=seed)
    mine, best = choices_of(own, drawn.moves), choices_of(yardstick, drawn.moves)
    regret = _regrets(drawn.moves, mine, best, yardstick)
    deals = np.unique(drawn.deal)
    chosen = np.ones(len(drawn), np.bool_)
    qualities = [_quality("all", drawn, mine == best, regret, chosen)]
    for number, stage in enumerate(STAGES):
        qualities.append(_quality(stage, drawn, mine == best, regret, drawn.moves.stage == number))
    worst = _worst(drawn, mine, best, regret, agent, against)
    return HintAudit(
        found.name, drawn.seats, agent, against, _ways(yardstick), len(deals), tuple(qualities), worst
    )  # fmt: skip


def _ways(yardstick: Agent) -> int:
    ways = getattr(yardstick.bot, "ways", WAYS)
    if not isinstance(ways, int) or ways < 1:
        raise DomsimError(f"agent {yardstick.spec}: ways is {ways!r}; expected a whole number of 1 or more")
    return ways


def _regrets(
    moves: Moves, mine: npt.NDArray[np.int64], best: npt.NDArray[np.int64], yardstick: Agent
) -> npt.NDArray[np.float64]:
    """Points between the yardstick's play and the agent's, `(D,)`, valued on random words of their own."""
    regret = np.zeros(len(moves))
    differ = np.flatnonzero(mine != best)
    two = select(
        moves.game, [(moves, int(d)) for d in differ], [[int(best[d]), int(mine[d])] for d in differ], other_word
    )
    playout = yardstick if yardstick.kind != PYTHON else _playout(yardstick)
    mean = evaluate_moves(two, playout, _ways(yardstick)).mean
    regret[differ] = (mean[0::2] - mean[1::2]) / words_of(moves.game).point
    return regret


def other_word(number: int) -> int:
    """Another random word for a decision, always the same for the same one."""
    return word(number, _OTHER_WORD) >> 32


def _playout(yardstick: Agent) -> Agent:
    return load_agent(str(getattr(yardstick.bot, "playout", PLAYOUT)), yardstick.game)


def _quality(
    stage: str,
    drawn: Positions,
    agrees: npt.NDArray[np.bool_],
    regret: npt.NDArray[np.float64],
    chosen: npt.NDArray[np.bool_],
) -> Quality:
    """Both figures over the positions chosen: ratios of sums by deal, since deals give different numbers of them."""
    deals = np.unique(drawn.deal[chosen], return_inverse=True)[1]
    count = np.bincount(deals)
    agreement = ratio(np.bincount(deals, agrees[chosen].astype(np.float64)), count)
    return Quality(stage, int(chosen.sum()), agreement, ratio(np.bincount(deals, regret[chosen]), count))


def _worst(
    drawn: Positions,
    mine: npt.NDArray[np.int64],
    best: npt.NDArray[np.int64],
    regret: npt.NDArray[np.float64],
    agent: str,
    against: str,
) -> list[dict[str, Any]]:
    order = [int(d) for d in np.argsort(-regret, kind="stable")[:WORST] if regret[d] > 0]
    records = []
    for d in order:
        first = int(drawn.moves.first[d])
        plays = {"play": drawn.moves.text(first + int(mine[d])), "better": drawn.moves.text(first + int(best[d]))}
        meta = {"agent": agent, **plays, "by": against, "regret": round(float(regret[d]), 3)}
        meta |= {"stage": STAGES[int(drawn.moves.stage[d])], "deal": int(drawn.deal[d])}
        records.append(drawn.record(d, meta=meta))
    return records
