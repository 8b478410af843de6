"""Matches in flight: one loop, written once, that plays any game.

`advance` runs every match until a Python agent must choose or the matches run out. Compiled agents decide inside,
forced actions are taken unseen, a finished match is replaced at once by the next job. With compiled agents only it
returns when all is played.
"""

from functools import cache
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from domsim.core import table
from domsim.core.compiled import State, Work, index, kernel, lowest, popcount, rule, seldom, select
from domsim.core.game import (
    FEW,
    MAX_ACTIONS,
    MAX_ROWS,
    MAX_SEATS,
    PASS,
    apply,
    features,
    finish_round,
    kind_of,
    legal,
    observe,
    stage,
    start_match,
    start_round,
)
from domsim.core.plain import Plain
from domsim.core.rng import below, lower_half, word

# What `CONTROL.logging` asks for.
LOG_ACTIONS, LOG_PASSES = 1, 2
# Kinds of agents.
RANDOM, WEIGHTS, PYTHON = 0, 1, 2
# What a slot (a state in flight) is doing.
IDLE, PLAYING, WAITING = 0, 1, 2
# What `play_on` stopped for.
ACTED, ASK = 0, 1

#: One match to be played: who sits where, and on which deal.
JOB = np.dtype(
    [
        ("key", "u8"),  # of the deal
        ("rounds", "i4"),  # at most; 0: to the end of the match
        ("agent", "i2", MAX_SEATS),
        ("naming", "i1", MAX_SEATS),
        ("stream", "i8", MAX_SEATS),
    ],
    align=True,
)
#: What a call of `advance` leaves behind: numbers of rows written, and what it was asked for.
CONTROL = np.dtype(
    [
        ("next_job", "i8"),
        ("rounds", "i8"),  # rows in the buffer of rounds
        ("actions", "i8"),  # rows in the log of actions
        ("decisions", "i8"),  # waiting for a Python agent
        ("moves", "i8"),  # legal actions of these
        ("live", "i8"),  # slots whose match is not over
        ("need", "i8"),  # features wanted for Python agents, as bits
        ("logging", "i8"),  # bits: LOG_ACTIONS, LOG_PASSES
        ("passes", "i8"),  # rows in the buffer of passes
    ],
    align=True,
)
#: One action of the log.
LOG = np.dtype(
    [("match", "i8"), ("round_number", "i2"), ("ply", "i2"), ("action", "i4"), ("seat", "i1")],
    align=True,
)
#: One number that was missing in a pass, and whose play had put it there.
PASS_ROW = np.dtype(
    [("match", "i8"), ("round_number", "i2"), ("ply", "i2"), ("seat", "i1"), ("number", "i1"), ("by", "i1")],
    align=True,
)
#: One decision waiting for a Python agent.
DECISION = np.dtype(
    [("slot", "i8"), ("first", "i8"), ("agent", "i2"), ("stage", "i1"), ("word", "u4")],
    align=True,
)


@cache
def work_dtype(features: int) -> Any:
    """Scratch of a kernel for a game with this many features."""
    fields = [("code", "i8", MAX_ROWS), ("bits", "i8", MAX_ROWS), ("move", "i8", MAX_ACTIONS)]
    return np.dtype(
        [*fields, ("feature", "i8", features), ("rows", "i8"), ("action", "i8"), ("seat", "i8")], align=True
    )


@cache
def agent_dtype(features: int) -> Any:
    """An agent as the kernels know it, for a game with this many features; weights by stage of the round."""
    return np.dtype(
        [
            ("kind", "i8"),
            ("need", "i8", 3),  # features with a weight, as bits
            ("weight", "i8", (3, features)),
        ],
        align=True,
    )


@cache
def round_dtype(seats: int) -> Any:
    """A round that is over, for a game with at most this many seats; the columns are described in `results`."""
    return np.dtype(
        [
            ("match", "i8"),
            ("round_number", "i2"),
            ("redeals", "i2"),
            ("plies", "i2"),
            ("lead", "i1"),
            ("opener", "i1"),
            ("last", "i1"),
            ("blocked", "i1"),
            ("winner", "i1"),
            ("points", "i4", seats),
            ("pips", "i2", seats),
            ("passes", "i2", seats),
            ("draws", "i2", seats),
            ("decisions", "i2", seats),
            ("tiles", "i1", seats),
        ],
        align=True,
    )


@cache
def match_dtype(seats: int) -> Any:
    """A match that is over, for a game with at most this many seats."""
    return np.dtype(
        [("match", "i8"), ("score", "i4", seats), ("rounds", "i2"), ("title", "i1"), ("won", "i1", seats)],
        align=True,
    )


@rule
def begin(s: State, jobs: Any, c: Any) -> bool:
    """Start the next job in this slot; False when there is none."""
    if c.next_job == jobs.size:
        return False
    job = jobs[c.next_job]
    s.match = c.next_job
    c.next_job += 1
    s.key = job.key
    s.rounds = job.rounds
    for q in range(s.agent.size):
        s.agent[q] = job.agent[q]
        s.naming[q] = job.naming[q]
        s.stream[q] = job.stream[q]
        s.score[q] = 0
        s.won[q] = 0
    s.title = 0
    s.round_number = 0
    s.status = PLAYING
    start_match(s)
    return True


@rule
def close_round(s: State, row: Any) -> bool:
    """Score the round that is over and write its row; whether the match is over too."""
    over = finish_round(s) or s.round_number == s.rounds
    row.match = s.match
    row.round_number = s.round_number
    row.redeals = s.redeals
    row.plies = s.ply
    row.lead = s.lead
    row.opener = s.opener
    row.last = s.last
    row.blocked = s.blocked
    row.winner = s.winner
    for q in range(s.score.size):
        row.points[q] = s.points[q]
        row.pips[q] = s.pips[q]
        row.passes[q] = s.passes[q]
        row.draws[q] = s.draws[q]
        row.decisions[q] = s.decisions[q]
        row.tiles[q] = s.count[q]
    return over


@rule
def close_match(s: State, row: Any) -> None:
    """Write the row of a match that is over."""
    row.match = s.match
    row.rounds = s.round_number
    row.title = s.title
    for q in range(s.score.size):
        row.score[q] = s.score[q]
        row.won[q] = s.won[q]
    s.status = IDLE


@seldom
def turn_over(s: State, jobs: Any, rounds: Any, matches: Any, c: Any) -> bool:
    """Close the round that is over in this slot and start the next one; False when there is none, or no room."""
    if s.status != IDLE:
        if c.rounds == rounds.size:
            return False
        c.rounds += 1
        if close_round(s, rounds[c.rounds - 1]):
            close_match(s, matches[s.match])
    if s.status == IDLE and not begin(s, jobs, c):
        return False
    start_round(s)
    s.status = PLAYING
    return True


@rule
def four_rows(w: Work, first: int) -> int:
    """The bits of four rows of a legal list in one number, 16 bits a row."""
    return int(w.bits[first] | w.bits[first + 1] << 16 | w.bits[first + 2] << 32 | w.bits[first + 3] << 48)


@rule
def four_codes(w: Work, first: int) -> int:
    """Likewise the actions of four rows, with `new` 0."""
    return int(w.code[first] | w.code[first + 1] << 16 | w.code[first + 2] << 32 | w.code[first + 3] << 48)


@rule
def count_actions(w: Work, rows: int, bits: int) -> int:
    """How many actions a legal list holds; `bits` are its first four rows."""
    n = popcount(bits)
    for first in range(4, rows, 4):
        n += popcount(four_rows(w, first))
    return n


@rule
def action_at(w: Work, k: int, bits: int) -> int:
    """The k-th action of a legal list, from 0; `bits` are its first four rows."""
    first = 0
    while k >= popcount(bits):
        k -= popcount(bits)
        first += 4
        bits = four_rows(w, first)
    codes = four_codes(w, first)  # all four: they are read while the place is still being found
    place = select(bits, k)
    return int(codes >> (place & 48) & 0xFFFF | place & 15)


@rule
def best_by_few(s: State, w: Work, rows: int, bits: int, agent: Any, part: int) -> int:
    """Put the legal actions with the highest sum of weighted features into `w.move`; how many there are.

    For agents with weights on the first few features only: nothing in the loop asks what is needed.
    """
    best = np.int64(-1) << 62
    ties = 0
    first = 0
    while True:
        while bits != 0:
            place = lowest(bits)
            bits &= bits - 1
            action = w.code[index(first + (place >> 4))] | place & 15
            features(s, action, w, 0)
            value = np.int64(0)
            for f in range(min(FEW, w.feature.size)):
                value += agent.weight[part, f] * w.feature[f]
            if value > best:
                ties = 0
            best = max(best, value)
            w.move[np.uint16(ties)] = action  # unsigned: no test for a negative index
            ties += value == best
        first += 4
        if first >= rows:
            return ties
        bits = four_rows(w, first)


@seldom
def best_by_all(s: State, w: Work, rows: int, agent: Any, part: int) -> int:
    """The same for agents with weights on any feature."""
    best = np.int64(-1) << 62
    ties = 0
    need = agent.need[part]
    for row in range(rows):
        bits = w.bits[row]
        while bits != 0:
            action = w.code[row] | lowest(bits)
            bits &= bits - 1
            features(s, action, w, need)
            value = np.int64(0)
            for f in range(w.feature.size):
                value += agent.weight[part, f] * w.feature[f]
            if value > best:
                ties = 0
            best = max(best, value)
            w.move[np.uint16(ties)] = action
            ties += value == best
    return ties


@rule
def weighted_action(s: State, w: Work, rows: int, bits: int, q: int, agent: Any) -> int:
    """The legal action with the highest sum of weighted features; equal ones are drawn from."""
    part = stage(s)
    if agent.need[part] >> FEW == 0:
        ties = best_by_few(s, w, rows, bits, agent, part)
    else:
        ties = best_by_all(s, w, rows, agent, part)
    if ties == 1:
        return int(w.move[0])
    return int(w.move[below(word(s.decision_key[q], s.ply), ties)])


@rule
def play_on(s: State, w: Work, agents: Any, c: Any) -> int:
    """Take actions until the round is over or a Python agent must choose; where a log is kept, only one.

    Begins with the action a Python agent has chosen (`s.chosen`), if there is one.
    """
    action = s.chosen
    s.chosen = -1
    logging = c.logging
    while True:
        if action < 0:
            rows = legal(s, w)
            q = index(s.seat)
            agent = agents[index(s.agent[q])]
            bits = four_rows(w, 0)  # read once: a store in between would have it read again
            n = count_actions(w, rows, bits)
            s.decisions[q] += n > 1
            if agent.kind == RANDOM:  # also where only one is legal: that is hard to predict
                action = action_at(w, below(word(s.decision_key[q], s.ply), n), bits)
            elif n == 1:
                action = action_at(w, 0, bits)
            elif agent.kind == WEIGHTS:
                action = weighted_action(s, w, rows, bits, q, agent)
            else:
                w.rows = rows
                return ASK
        if logging != 0:
            w.action = action
            w.seat = s.seat
        s.ply += 1
        apply(s, action)
        action = -1
        if s.over != 0 or logging != 0:
            return ACTED


@rule
def write_log(s: State, w: Work, row: Any) -> None:
    """Write the action just taken."""
    row.match = s.match
    row.round_number = s.round_number
    row.ply = s.ply - 1
    row.seat = w.seat
    row.action = w.action


@seldom
def write_pass(s: State, w: Work, passes: Any, c: Any) -> None:
    """Write the numbers that the pass just taken showed to be missing."""
    numbers = s.lacked
    while numbers != 0:
        number = lowest(numbers)
        numbers &= numbers - 1
        row = passes[c.passes]
        c.passes += 1
        row.match = s.match
        row.round_number = s.round_number
        row.ply = s.ply - 1
        row.seat = w.seat
        row.number = number
        row.by = table.layer_of(s, number)


@rule
def has_room(move: Any, log: Any, passes: Any, c: Any) -> bool:
    """Whether the buffers hold what one more step can write."""
    if c.moves + MAX_ACTIONS > move.size:
        return False
    if c.logging & LOG_ACTIONS != 0 and c.actions == log.size:
        return False
    return bool(c.logging & LOG_PASSES == 0 or c.passes + MAX_ROWS <= passes.size)


@seldom
def ask(s: State, slot: int, w: Work, d: Any, view: Any, move: Any, feature: Any, c: Any) -> None:
    """Write a decision for a Python agent: what it may see and every legal action with its features."""
    q = index(s.seat)
    d.slot = slot
    d.first = c.moves
    d.agent = s.agent[q]
    d.stage = stage(s)
    d.word = word(s.decision_key[q], s.ply) >> 32
    observe(s, view)
    n = c.moves
    for first in range(0, w.rows, 4):
        bits = four_rows(w, first)
        while bits != 0:
            place = lowest(bits)
            bits &= bits - 1
            action = w.code[index(first + (place >> 4))] | place & 15
            move[n] = action
            if c.need != 0:
                features(s, action, w, c.need)
                for f in range(min(FEW, w.feature.size)):
                    feature[n, f] = w.feature[f]
                if c.need >> FEW != 0:
                    for f in range(FEW, w.feature.size):
                        feature[n, f] = w.feature[f]
            n += 1
    c.moves = n
    c.decisions += 1
    s.status = WAITING


@rule
def run(
    s: State, slot: int, w: Work, jobs: Any, rounds: Any, matches: Any, log: Any, passes: Any, c: Any,
    agents: Any, decision: Any, view: Any, move: Any, feature: Any,
) -> None:  # fmt: skip
    """Play in one slot until it waits for a Python agent, for room in a buffer, or for nothing any more."""
    while True:
        if (s.over != 0 or s.status == IDLE) and not turn_over(s, jobs, rounds, matches, c):
            return
        if not has_room(move, log, passes, c):
            return
        if play_on(s, w, agents, c) == ASK:
            ask(s, slot, w, decision[c.decisions], view[c.decisions], move, feature, c)
            return
        if c.logging & LOG_ACTIONS != 0:
            write_log(s, w, log[c.actions])
            c.actions += 1
        if c.logging & LOG_PASSES != 0 and kind_of(w.action) == PASS:
            write_pass(s, w, passes, c)


@kernel
def advance(
    states: Any, work: Any, jobs: Any, rounds: Any, matches: Any, log: Any, passes: Any, control: Any,
    agents: Any, decision: Any, view: Any, move: Any, feature: Any, chosen: Any,
) -> None:  # fmt: skip
    """Take the choices made for the waiting decisions, then run every slot.

    Args:
        states: `(B,)` the game's `STATE`: slot. work: `(1,) work_dtype`. jobs: `(J,) JOB`. rounds: a buffer of
            `round_dtype`. matches: `(J,) match_dtype`. log, passes: buffers of `LOG` and `PASS_ROW`.
            control: `(1,) CONTROL`.
        agents: `(A,) agent_dtype`.
        decision: `(B,) DECISION`, written, as are view `(B,) VIEW`, move `(M,) int32` and feature `(M, F) int16`.
        chosen: `(B,) int64`, for every waiting decision the place of the action chosen.
    """
    w = work[0]
    c = control[0]
    for d in range(c.decisions):
        s = states[decision[d].slot]
        s.chosen = move[decision[d].first + chosen[d]]
        s.status = PLAYING
    c.decisions = 0
    c.moves = 0
    c.live = 0
    for slot in range(states.size):
        s = states[slot]
        run(s, slot, w, jobs, rounds, matches, log, passes, c, agents, decision, view, move, feature)
        c.live += s.status != IDLE


@kernel
def pick(first: Any, score: Any, random: Any, chosen: Any) -> None:
    """Choose the highest score of every decision; equal ones are drawn from with the decision's random word.

    Args:
        first: `(D + 1,) int64`: where a decision's scores begin. score: `(M,) float64`. random: `(D,) uint32`.
        chosen: `(D,) int64`, written.
    """
    for d in range(chosen.size):
        best = score[first[d]]
        ties = 0
        for i in range(first[d], first[d + 1]):
            if score[i] > best:
                best = score[i]
                ties = 0
            if score[i] == best:
                ties += 1
        k = below(lower_half(random[d]), ties)
        i = first[d]
        while score[i] != best or k > 0:
            if score[i] == best:
                k -= 1
            i += 1
        chosen[d] = i - first[d]


def as_arguments(*arrays: npt.NDArray[Any]) -> tuple[Any, ...]:
    """Arrays as `advance` wants them: as they are, or for the uncompiled rules in a wrapper that reads ints."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return tuple(Plain(array) for array in arrays)
    return arrays
