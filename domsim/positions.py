"""Positions: decisions drawn evenly from rounds that an agent plays on random deals, with their records."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from domsim.agent import Agent
from domsim.batch import Batch
from domsim.core.driver import DECISION, JOB
from domsim.errors import DomsimError
from domsim.games import Game
from domsim.hints import scores_of
from domsim.moves import Moves
from domsim.round import Round
from domsim.rules import Rules
from domsim.seeds import deal_keys, find_suite

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Positions:
    """Decisions in order of deal and ply."""

    game: Game
    rules: Rules
    seats: int
    moves: Moves
    deal: npt.NDArray[np.int64]  # (D,) deal number of the suite
    jobs: Array  # JOB by deal number
    log: Array  # all actions of all deals

    def __len__(self) -> int:
        """Number of decisions."""
        return len(self.moves)

    def record(self, place: int, **extra: Any) -> dict[str, Any]:
        """The partial record that stops where a decision is due; `extra` are further fields."""
        job = self.jobs[self.deal[place]]
        a_round = Round.empty(self.game, self.rules, self.seats)
        a_round.state.key = int(job["key"])
        for seat in range(self.seats):
            a_round.state.naming[seat] = int(job["naming"][seat])
        self.game.core.start_match(a_round.state)
        a_round.next_round()
        own = (self.log["match"] == self.deal[place]) & (self.log["ply"] < self.moves["ply"][place])
        actions = [self.game.action_text(int(action)) for action in self.log["action"][own]]
        return a_round.record() | {"actions": actions} | extra


def draw_positions(agent: Agent, number: int, *, seats: int | None = None, suite: str, seed: int) -> Positions:
    """Decisions of first rounds that an agent plays in all seats, every decision as likely as any other.

    They come from half as many deals as there are decisions, at least 10: about two of each.

    Raises:
        DomsimError: a number below 1, seats the game is not played with, a suite with too few deals.
    """
    if number < 1:
        raise DomsimError(f"positions: {number} is not allowed; allowed: 1 or more")
    game = agent.game
    at_table, rules = game.check_seats(game.seats[0] if seats is None else seats), game.rules.of({})
    deals = max(10, number // 2)
    jobs = np.zeros(deals, JOB)
    jobs["key"] = deal_keys(find_suite(suite), seed, range(deals))
    jobs["rounds"], jobs["naming"], jobs["stream"] = 1, agent.opener, agent.stream
    batch = Batch.of_jobs(game, rules, at_table, jobs, [], slots=deals, log=True)
    parts: list[Moves] = []
    matches: list[Array] = []
    while len(moves := batch.legal()):
        parts.append(moves)
        matches.append(batch.match_of)
        batch.play_scores(scores_of(agent, moves))
    places = [(int(deal), part, d) for part, row in enumerate(matches) for d, deal in enumerate(row)]
    drawn = sorted(random.Random(seed).sample(places, min(number, len(places))))
    picked = select(game, [(parts[part], d) for _, part, d in drawn])
    return Positions(game, rules, at_table, picked, np.array([deal for deal, _, _ in drawn]), jobs, batch.log)


def select(
    game: Game,
    wanted: Sequence[tuple[Moves, int]],
    plays: Sequence[Sequence[int]] | None = None,
    random_word: Callable[[int], int] = int,
) -> Moves:
    """Some decisions of several moves in one.

    Args:
        wanted: moves and the place of a decision in them.
        plays: leaves of each decision's actions those of these places only.
        random_word: what becomes of a decision's random word.
    """
    decisions = np.zeros(len(wanted), DECISION)
    views = np.zeros(len(wanted), game.core.VIEW)
    rows: list[tuple[Moves, Array]] = []
    begin = 0
    for place, (moves, d) in enumerate(wanted):
        kept = np.arange(moves.first[d], moves.first[d + 1])
        kept = kept if plays is None else kept[list(plays[place])]
        decisions["first"][place], decisions["stage"][place] = begin, moves.stage[d]
        decisions["word"][place] = random_word(int(moves.random[d]))
        views[place] = moves.view[d]
        rows.append((moves, kept))
        begin += len(kept)
    action = np.concatenate([np.zeros(0, np.int32), *(moves.action[kept] for moves, kept in rows)])
    empty = np.zeros((0, len(game.features)), np.int16)
    features = np.concatenate([empty, *(moves.features[kept] for moves, kept in rows)])
    return Moves(game, decisions, views, action, features)
