"""Is a candidate better than what it is to replace? One sequential test, which stops as soon as the deals say so."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from domsim.recording import record_deals
from domsim.sequential import SequentialTest, confidence_sequence
from domsim.stats import Interval
from domsim.tournament import Plan, Spec, chunks_of, make_plan, play_chunks

#: deals handed to a worker at once; the outcome does not depend on it
_CHUNK = 50


@dataclass(frozen=True)
class Comparison:
    """What came of it. The gain is the candidate's win share less the one it would have if both were alike."""

    plan: Plan
    delta: float
    decision: str  # "better", "not better", "no difference" or "undecided"
    gain: Interval  # always-valid: it may be looked at after any deal
    deals: int
    differing: int
    telling: tuple[int, ...]  # deals with the largest differences, for and against

    @property
    def text(self) -> str:
        """The outcome in a few lines."""
        candidate, other = self.plan.spec.agents
        head = f"{candidate} against {other}: {self.decision}"
        if self.decision == "no difference":
            return f"{head} on {self.deals} deals: every one was played alike"
        low, high = self.gain.low * 100, self.gain.high * 100
        return (
            f"{head} (test of +{self.delta * 100:g} points of win share against 0, errors 5 %)\n"
            f"gain in win share {self.gain.estimate * 100:+.2f} points, always-valid 95 % interval "
            f"{low:+.2f} to {high:+.2f}\n"
            f"deals used {self.deals}, different on {self.differing}"
        )

    def records(self) -> Iterator[dict[str, Any]]:
        """Records of all matches on the most telling deals."""
        return record_deals(self.plan, self.telling)


def compare(
    candidate: str, other: str, game: str, *, delta: float = 0.01, max_deals: int = 20_000, jobs: int = 1, **spec: Any
) -> Comparison:
    """Play deals in order until the candidate is found better by `delta`, or not, or `max_deals` are used.

    Args:
        delta: the gain in win share that would be worth having, above 0.
        spec: further fields of `Spec`: suite, seed, seats, lineup (`duel` or `field`), rules.

    Raises:
        DomsimError: something unknown or out of range.
    """
    test = SequentialTest(0.0, delta)
    plan = make_plan(Spec(game, (candidate, other), max_deals, **spec))
    values = [np.zeros(0)]
    chunks = play_chunks(plan, chunks_of(plan.spec, _CHUNK), jobs, in_order=True)
    for _, _, chunk in chunks:
        values.append(gains(plan, chunk.sums))
        if test.update(values[-1]) is not None:
            break
    chunks.close()
    used = np.concatenate(values)[: test.deals_used]
    decision = test.decision or ("undecided" if test.deals_differing else "no difference")
    sequence = confidence_sequence(used)
    return Comparison(
        plan, delta, decision, sequence.at(len(used)), len(used), test.deals_differing, _telling(plan, used)
    )


def gains(plan: Plan, sums: Any) -> npt.NDArray[np.float64]:
    """The candidate's win share less its fair part, one value a deal, `(D,)`; half of it over all seats when alike."""
    own = sums[(sums["agent"] == 0) & (sums["pairing"] == 0)]
    values: npt.NDArray[np.float64] = (own["share"] - own["seats"] / plan.seats) / own["matches"]
    return values


def _telling(plan: Plan, values: npt.NDArray[np.float64], most: int = 10) -> tuple[int, ...]:
    order = np.argsort(-np.abs(values), kind="stable")[:most]
    return tuple(int(plan.spec.first_deal + place) for place in order if values[place] != 0)
