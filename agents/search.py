"""A yardstick: what a bot could do that thinks longer. Determinized Monte Carlo over the agents' own information."""

from domsim import load_agent
from domsim.search import evaluate_moves


class Search:
    """plays every legal action out on many ways the hidden tiles may lie, and takes the best on average"""

    features = ()

    def __init__(self, ways=100, playout="careful"):
        self.ways = ways
        self.playout = playout
        self._agent = None

    def score(self, moves):
        if self._agent is None or self._agent.game is not moves.game:
            self._agent = load_agent(self.playout, moves.game)
        return evaluate_moves(moves, self._agent, self.ways).mean
