"""A yardstick: what a bot could do that thinks longer. Determinized Monte Carlo over the agents' own information.

Playouts are noisy, and in them every seat plays like the agent that plays out, whatever it knows. So what that agent
itself thinks of a play is added to the mean of its playouts: `trust` says what one unit of its opinion is worth.
"""

from domsim import load_agent
from domsim.search import evaluate_moves, weighted

#: worth of one unit of the opinion of `expert`: points, in `mexican` hundredths of them
TRUST = {"cuban": 0.5, "longana": 0.5, "mexican": 50.0}


class Search:
    """plays every legal action out on many ways the hidden tiles may lie, and takes the best on average"""

    def __init__(self, ways=400, playout="expert", trust=1.0, stop=0.0):
        """Set how long it thinks.

        Args:
            ways: ways of giving out the hidden tiles that every legal action is played out on.
            playout: a weights agent, who plays all seats to the end of the round, and whose opinion counts besides.
            trust: how much that opinion counts; 0: not at all, 1: what was found to be good for `expert`.
            stop: think no longer where an action is ahead by this many standard errors; 0: always try all ways.
        """
        if not isinstance(ways, int) or ways < 1:
            raise ValueError(f"ways {ways!r} is not allowed; allowed: whole numbers from 1")
        for name, value in {"trust": trust, "stop": stop}.items():
            if not isinstance(value, int | float) or not value >= 0:
                raise ValueError(f"{name} {value!r} is not allowed; allowed: numbers from 0")
        self.ways = ways
        self.playout = playout
        self.trust = trust
        self.stop = stop
        self._agent = None

    def score(self, moves):
        """The mean worth of every action, with the opinion of the agent that plays out."""
        if self._agent is None or self._agent.game is not moves.game:
            self._agent = load_agent(self.playout, moves.game)
        prior = weighted(moves, self._agent) * (TRUST.get(moves.game.name, 0.0) * self.trust)
        return evaluate_moves(moves, self._agent, self.ways, prior=prior, stop=self.stop).mean + prior
