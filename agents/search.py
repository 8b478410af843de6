"""A yardstick: what a bot could do that thinks longer. Determinized Monte Carlo over the agents' own information."""

from domsim import load_agent
from domsim.search import evaluate_moves, weighted

#: worth of one pip of the playing agent's own opinion, by game: for good, and what is added for few ways, over `ways`
TRUST = {"cuban": (0.5, 0.0), "longana": (0.5, 0.0), "mexican": (50.0, 0.0)}


class Search:
    """plays every legal action out on many ways the hidden tiles may lie, and takes the best on average"""

    def __init__(self, ways=100, playout="expert", trust=1.0, few=1.0, stop=0.0):
        self.ways = ways
        self.playout = playout
        self.trust = trust
        self.few = few
        self.stop = stop
        self._agent = None

    def score(self, moves):
        if self._agent is None or self._agent.game is not moves.game:
            self._agent = load_agent(self.playout, moves.game)
        u = 100 if moves.game.name == "mexican" else 1
        prior = weighted(moves, self._agent) * u * (self.trust + self.few / self.ways)
        return evaluate_moves(moves, self._agent, self.ways, prior=prior, stop=self.stop).mean + prior
