"""Records of matches that agents play: the kernels play, the plain rules replay, and both must agree."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from domsim.agent import Agent, load_agent
from domsim.batch import Batch
from domsim.core.driver import JOB
from domsim.errors import AgentError
from domsim.games import Game
from domsim.record import match_end
from domsim.round import Round
from domsim.rules import Rules
from domsim.seeds import deal_keys, find_suite
from domsim.tournament import Plan, make_jobs

#: matches played at once
_BLOCK = 100


def record_matches(
    game: Game,
    rules: Rules,
    seats: int | None,
    agents: Sequence[str],
    *,
    suite: str,
    seed: int,
    rounds: int | None = None,
    matches: int | None = None,
) -> Iterator[dict[str, Any]]:
    """Records of consecutive matches, `match` included, until so many rounds or matches.

    Args:
        agents: by seat; a shorter list goes round the table.

    Raises:
        DomsimError: something unknown or out of range.
    """
    at_table = game.check_seats(game.seats[0] if seats is None else seats)
    rules.check_seats(at_table)
    if not 1 <= len(agents) <= at_table:
        raise AgentError(f"agents: found {len(agents)}, expected 1 to {at_table}")
    roster = [load_agent(name, game) for name in agents]
    seated = [seat % len(roster) for seat in range(at_table)]
    number = 0
    written = 0
    while (matches is None or number < matches) and (rounds is None or written < rounds):
        block = _BLOCK if matches is None else min(_BLOCK, matches - number)
        deals = list(range(number, number + block))
        jobs = np.zeros(block, JOB)
        jobs["key"] = deal_keys(find_suite(suite), seed, deals)
        for seat, place in enumerate(seated):
            jobs["agent"][:, seat] = place
            jobs["naming"][:, seat] = roster[place].opener
            jobs["stream"][:, seat] = roster[place].stream
        meta = {"agents": [agents[place] for place in seated], "suite": suite, "seed": seed}
        metas = [meta | {"deal": deal} for deal in deals]
        for record in records_of_jobs(game, rules, at_table, jobs, roster, list(deals), metas):
            if rounds is not None and written == rounds:
                return
            written += 1
            yield record
        number += block


def record_deals(plan: Plan, deals: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Records of all that a plan plays on these deals."""
    names = plan.spec.agents
    for deal in deals:
        jobs, meta, seated = make_jobs(plan, deal, 1)
        idents = [f"{deal}-{one['pairing']}-{one['seating']}" for one in meta]
        metas = [
            {"agents": [names[a] for a in row], "suite": plan.spec.suite, "seed": plan.spec.seed, "deal": deal}
            for row in seated
        ]
        yield from records_of_jobs(plan.game, plan.rules, plan.seats, jobs, plan.agents, idents, metas)


def records_of_jobs(
    game: Game,
    rules: Rules,
    seats: int,
    jobs: Any,
    agents: Sequence[Agent],
    idents: Sequence[int | str],
    metas: Sequence[dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Play jobs, `(N,) JOB`, and give the records of their matches, each with its `id` and `meta`."""
    batch = Batch.of_jobs(game, rules, seats, jobs, agents, log=True).run()
    log, rows = batch.log, batch.rounds
    starts = np.searchsorted(log["match"], np.arange(len(jobs) + 1))
    for place, (ident, meta) in enumerate(zip(idents, metas, strict=True)):
        actions = log[starts[place] : starts[place + 1]]
        for number, record in enumerate(replay_log(game, rules, seats, jobs[place], actions), 1):
            _check(record, rows[(rows["match"] == place) & (rows["round_number"] == number)][0], seats)
            record["match"] = {"id": ident, **record["match"]}
            yield record | {"meta": meta}


def replay_log(game: Game, rules: Rules, seats: int, job: Any, log: Any) -> Iterator[dict[str, Any]]:
    """The records of one match: its deals made again from the job, its actions taken from the log."""
    a_round = Round.empty(game, rules, seats)
    a_round.state.key = int(job["key"])
    for seat in range(seats):
        a_round.state.naming[seat] = int(job["naming"][seat])
    game.core.start_match(a_round.state)
    for number in np.unique(log["round_number"]):
        a_round.next_round()
        match = {"round": int(number), "scores": a_round.scores, **game.match_notes(a_round.state)}
        for action in log["action"][log["round_number"] == number]:
            a_round.play(game.action_text(int(action)))
        if a_round.match_over:
            match |= match_end(a_round)
        yield a_round.record(match=match)


def _check(record: dict[str, Any], row: Any, seats: int) -> None:
    """The kernels and the plain rules are one: a difference is a fault of ours, never of the caller."""
    left = [int(pips) for pips in row["pips"][:seats]]
    assert record["result"]["left"] == left, (record, row)
    assert len(record["actions"]) == row["plies"], (record, row)
