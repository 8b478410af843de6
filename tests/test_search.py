"""Search: hidden tiles given out as often each way as the others, playouts played as the rules say, and it pays."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from domsim import Batch, find_game, load_agent, run_tournament
from domsim.core import search as core
from domsim.core.driver import DECISION, as_arguments, work_dtype
from domsim.core.plain import Plain
from domsim.errors import AgentError, DomsimError
from domsim.moves import Moves
from domsim.round import Round, listed_actions
from domsim.search import evaluate_moves, weighted
from domsim.tiles import HIGH, LOW, tile_count

#: game, rules that make what is known of the hands matter, seats, hidden tiles in the stock (or dealt to nobody)
TABLES = {
    "cuban": ("cuban", {}, 4, 0),
    "cuban, claims": ("cuban", {"claim_doubles": 3, "set": 6}, 4, 0),
    "cuban, tiles left over": ("cuban", {"claim_doubles": 4}, 4, 2),
    "cuban, highest double": ("cuban", {"first_tile": "highest_double"}, 4, 2),
    "longana": ("longana", {"hand_size": 12}, 4, 1),
    "longana, three seats": ("longana", {}, 3, 2),
    "mexican": ("mexican", {}, 4, 2),
    "mexican, no stock": ("mexican", {}, 3, 0),
}
#: tables at which a single way is left often enough
KNOWN = {
    "cuban": ("cuban", {"set": 6}, 4, 0),
    "longana": ("longana", {}, 2, 0),
    "mexican": ("mexican", {}, 2, 0),
}
POSITIONS = 3  # of every table
MOST_HIDDEN, LEAST_WAYS, MOST_WAYS = 7, 3, 80
A_WAY = 40  # how often a way is expected
FIVE_ERRORS = 5.7e-7
AGENTS = ["search?ways=10", "random"]


# --- positions -----------------------------------------------------------------------------------


def is_double(tile: int) -> bool:
    return bool(HIGH[tile] == LOW[tile])


class Position:
    """One decision late in a round: the true state, what its mover sees, and all ways the hidden tiles may lie."""

    def __init__(self, a_round: Round, stock: int, chance: random.Random) -> None:
        """Most of the stock is taken off the table, as if it had been laid: few tiles stay hidden."""
        self.game, self.seats, self.seat = a_round.game, a_round.seats, int(a_round.to_move or 0)
        self.tiles = tile_count(a_round._top)
        self.array = a_round.state._array.copy().reshape(1)
        state = self.array[0]
        held = {tile for q in range(self.seats) for tile in self.held(q)}
        unseen = [t for t in range(self.tiles) if int(state["unseen"][HIGH[t]]) >> int(LOW[t]) & 1]
        rest = [tile for tile in unseen if tile not in held]
        chance.shuffle(rest)
        rest.sort(key=is_double, reverse=True)  # doubles that nobody holds tell the most
        self.stock = sorted(rest[:stock])
        for tile in set(rest) - set(self.stock):
            state["unseen"][HIGH[tile]] &= ~(1 << int(LOW[tile]))
            state["unseen"][LOW[tile]] &= ~(1 << int(HIGH[tile]))
        if "stock_left" in state.dtype.names:
            state["stock_left"], state["stock_next"] = len(self.stock), 0
            state["stock"][: len(self.stock)] = self.stock
        self.state = Plain(self.array)[0]
        self.view = np.zeros(1, self.game.core.VIEW)
        self.game.core.observe(self.state, Plain(self.view)[0])
        self.others = [q for q in range(self.seats) if q != self.seat]
        self.hidden = sorted([t for q in self.others for t in self.held(q)] + self.stock)
        self.truth = {t: q for q in self.others for t in self.held(q)} | dict.fromkeys(self.stock, self.seats)

        self.opened_with_highest = a_round.game.name == "cuban" and a_round.rules.first_tile == "highest_double"
        known = set(range(self.tiles)) - set(self.hidden)
        self.highest_known_double = max((int(HIGH[tile]) for tile in known if is_double(tile)), default=-1)

    def held(self, seat: int) -> list[int]:
        hand = self.array[0]["hand"][seat]
        return [t for t in range(self.tiles) if int(hand[HIGH[t]]) >> int(LOW[t]) & 1]

    def may_hold(self, seat: int, tile: int) -> bool:
        """By the numbers, and the doubles, the seat has shown not to hold."""
        a, b = int(HIGH[tile]), int(LOW[tile])
        shown = int(self.view["shown"][0][seat])
        barred = int(self.view["no_double"][0][seat]) if "no_double" in self.view.dtype.names else 0
        if a == b and self.opened_with_highest and a > self.highest_known_double:
            return False
        return not (shown >> a | shown >> b) & 1 and not (a == b and barred >> a & 1)

    def agrees(self, way: dict[int, int]) -> bool:
        """Whether a way of giving out the tiles agrees with everything public, claims not made among it."""
        if not all(seat == self.seats or self.may_hold(seat, tile) for tile, seat in way.items()):
            return False
        if "doubles_laid" not in self.view.dtype.names or not self.view["claim_doubles"][0]:
            return True
        doubles = Counter(seat for tile, seat in way.items() if is_double(tile))
        laid, limit = self.view["doubles_laid"][0], int(self.view["claim_doubles"][0])
        return all(int(laid[seat]) + doubles[seat] < limit for seat in self.others)

    def all_ways(self) -> list[tuple[int, ...]]:
        """Holders of `hidden`, all ways that agree."""
        counts = {q: len(self.held(q)) for q in self.others}
        found = []

        def give(left: list[int], seats: list[int], way: dict[int, int]) -> None:
            if not seats:
                whole = way | dict.fromkeys(left, self.seats)
                if self.agrees(whole):
                    found.append(tuple(whole[tile] for tile in self.hidden))
                return
            fitting = [tile for tile in left if self.may_hold(seats[0], tile)]
            for hand in itertools.combinations(fitting, counts[seats[0]]):
                rest = [tile for tile in left if tile not in hand]
                give(rest, seats[1:], way | dict.fromkeys(hand, seats[0]))

        give(self.hidden, self.others, {})
        return found

    @property
    def unrestricted(self) -> int:
        number = math.factorial(len(self.hidden)) // math.factorial(len(self.stock))
        return number // math.prod(math.factorial(len(self.held(q))) for q in self.others)

    def sample(self, number: int, random_word: int) -> Any:
        """Holders of `hidden` in ways the core gives, `(number, hidden)`."""
        states = np.zeros(1, self.game.core.STATE)
        for name in ("seats", *self.game.core.OPTIONS):
            states[name] = self.view[name][0]
        holders = np.full((number, 92), -1, np.int64)
        arguments = as_arguments(self.view, states, np.zeros(1, core.HIDDEN))
        assert core.sample_many(*arguments, self.tiles, random_word, *as_arguments(holders))
        assert (np.delete(holders, self.hidden, axis=1) == -1).all()
        return holders[:, self.hidden]

    def moves(self, random_word: int = 1) -> Moves:
        """The decision as an agent is given it."""
        w = Plain(np.zeros(1, work_dtype(len(self.game.features))))[0]
        actions = listed_actions(w, self.game.core.legal(self.state, w))
        features = np.zeros((len(actions), len(self.game.features)), np.int16)
        for m, action in enumerate(actions):
            self.game.core.features(self.state, action, w, -1)
            features[m] = [w.feature[f] for f in range(features.shape[1])]
        decisions = np.zeros(1, DECISION)
        decisions["word"], decisions["stage"] = random_word, self.game.core.stage(self.state)
        return Moves(self.game, decisions, self.view, np.array(actions, np.int32), features)


def positions(table: Any, seed: int, most: int = MOST_HIDDEN) -> Iterator[Position]:
    """Late decisions of rounds played at random."""
    game, rules, seats, stock = table
    chance = random.Random(f"{table} {seed}")
    for deal in itertools.count():
        a_round = Round(game, rules=rules, seats=seats, deal=deal, seed=seed)
        while not a_round.over:
            legal = a_round.legal()
            hidden = sum(len(hand) for q, hand in enumerate(a_round.hands) if q != a_round.to_move) + stock
            if len(legal) > 1 and hidden <= most:
                yield Position(a_round, stock, chance)
            a_round.play(chance.choice(legal))


def restricted(table: str, seed: int, number: int) -> list[tuple[Position, list[tuple[int, ...]]]]:
    """Positions in which what everybody has shown rules something out, one of a round at most, and all their ways."""
    found = []
    for position in positions(TABLES[table], seed):
        ways = position.all_ways()
        if LEAST_WAYS <= len(ways) <= MOST_WAYS and len(ways) < position.unrestricted:
            found.append((position, ways))
            if len(found) == number:
                break
    return found


# --- sampling ------------------------------------------------------------------------------------


def uniform(found: Counter[Any], ways: list[tuple[int, ...]]) -> bool:
    """Whether every way may be as likely as the others: chi-square, as rarely wrong as five standard errors."""
    assert set(found) <= set(ways), "a way that does not agree with what is public"
    expected = sum(found.values()) / len(ways)
    chi_square = sum((found[way] - expected) ** 2 for way in ways) / expected
    return bool(chi2.sf(chi_square, len(ways) - 1) > FIVE_ERRORS)


@pytest.mark.parametrize("table", TABLES)
def test_every_way_is_as_likely(table: str) -> None:
    """The first way of many decisions: it is as good as any, although it began from one that had to be mended."""
    for position, ways in restricted(table, 1, POSITIONS):
        assert tuple(position.truth[tile] for tile in position.hidden) in ways
        samples = [tuple(position.sample(1, number)[0].tolist()) for number in range(A_WAY * len(ways))]
        assert uniform(Counter(samples), ways)


@pytest.mark.parametrize("table", TABLES)
def test_every_way_is_as_likely_in_one_walk(table: str) -> None:
    """Later ways of one decision; neighbours are alike, so every tenth is counted."""
    for position, ways in restricted(table, 2, POSITIONS):
        samples = position.sample(10 * A_WAY * len(ways), 7)
        assert set(map(tuple, samples.tolist())) <= set(ways)
        assert uniform(Counter(map(tuple, samples[::10].tolist())), ways)


# --- playouts ------------------------------------------------------------------------------------


def best_action(position: Any, state: Any, w: Any, weights: Any) -> int | None:
    """What a weights agent does; None when two actions are alike to it, and chance would have to choose."""
    actions = listed_actions(w, position.game.core.legal(state, w))
    if len(actions) == 1:
        return actions[0]
    scores = []
    own = weights[position.game.core.stage(state)].tolist()
    for action in actions:
        position.game.core.features(state, action, w, -1)
        scores.append(sum(weight * w.feature[f] for f, weight in enumerate(own)))
    best = max(scores)
    return actions[scores.index(best)] if scores.count(best) == 1 else None


def exact_worth(position: Position, action: int, weights: Any) -> int | None:
    """The worth of an action when the tiles lie as they truly do, played out by the uncompiled rules; None: chance."""
    array = position.array.copy()
    state = Plain(array)[0]
    if position.game.name != "cuban":
        position.game.core.table.count_held(state, position.game.top(position.game.rules()))
    w = Plain(np.zeros(1, work_dtype(len(position.game.features))))[0]
    chosen: int | None = action
    while True:
        state.ply += 1
        position.game.core.apply(state, chosen)
        if state.over:
            break
        chosen = best_action(position, state, w, weights)
        if chosen is None:
            return None
    position.game.core.finish_round(state)
    return int(position.game.core.worth(state, position.seat))


@pytest.mark.parametrize("game", KNOWN)
def test_one_way_is_played_out_exactly(game: str) -> None:
    """Where everything hidden is known after all, the mean is the worth of the one round that can follow."""
    playout = load_agent("careful", find_game(game))
    compared = 0
    for position in positions(KNOWN[game], 3, 5):
        if len(position.all_ways()) != 1:
            continue
        moves = position.moves()
        found = evaluate_moves(moves, playout, 50)
        for m, action in enumerate(moves.action.tolist()):
            expected = exact_worth(position, action, playout.weights)
            if expected is not None:
                assert found.mean[m] == expected
                assert found.error[m] == 0
                compared += 1
        if compared >= 8:
            break


# --- evaluations ---------------------------------------------------------------------------------


def decisions_of(game: str, deal: int = 0) -> Moves:
    """The first decision of a round."""
    batch = Batch(game, 3, seed=deal)
    return batch.legal()


@pytest.mark.parametrize("game", ["cuban", "longana", "mexican"])
def test_same_seed_same_scores(game: str) -> None:
    playout = load_agent("careful", find_game(game))
    moves = decisions_of(game)
    first, again = evaluate_moves(moves, playout, 20), evaluate_moves(moves, playout, 20)
    assert (first.mean == again.mean).all()
    assert (first.error == again.error).all()
    assert (evaluate_moves(decisions_of(game, 1), playout, 20).mean[:3] != first.mean[:3]).any()


def test_stops_early_where_it_is_clear() -> None:
    playout = load_agent("careful", find_game("cuban"))
    moves = decisions_of("cuban")
    whole = evaluate_moves(moves, playout, 52)
    assert (whole.ways == 52).all()
    assert (evaluate_moves(moves, playout, 52, stop=1e9).ways == 52).all()
    ahead = np.zeros(len(moves.action))
    ahead[moves.first[0]] = 1e6  # of the first decision it is known beforehand what is best
    short = evaluate_moves(moves, playout, 52, stop=1e3, prior=ahead)
    assert short.ways.tolist() == [11, 52, 52]
    alone = evaluate_moves(moves, playout, 52, stop=1e9)
    rest = moves.decision > 0
    assert (short.mean[rest] == alone.mean[rest]).all()


def test_weighted_is_the_opinion_of_the_agent() -> None:
    agent = load_agent("careful", find_game("cuban"))
    moves = decisions_of("cuban")
    expected = [
        sum(agent.weights[moves.stage[d]][f] / 1024 * moves.features[m, f] for f in range(len(moves.names)))
        for m, d in enumerate(moves.decision)
    ]
    assert weighted(moves, agent) == pytest.approx(expected)


def test_refused(tmp_path: Any) -> None:
    moves = decisions_of("cuban")
    slow = tmp_path / "slow.py"
    slow.write_text("class Slow:\n    def choose(self, view):\n        return view.legal[0]\n")
    with pytest.raises(DomsimError, match="runs in Python"):
        evaluate_moves(moves, load_agent(str(slow), find_game("cuban")), 5)
    with pytest.raises(DomsimError, match="ways: 0 is not allowed"):
        evaluate_moves(moves, load_agent("careful", find_game("cuban")), 0)


@pytest.mark.parametrize(("game", "deals"), [("cuban", 20), ("longana", 10), ("mexican", 2)])
def test_search_beats_random(game: str, deals: int) -> None:
    """Few rounds of few matches, by points; in `mexican` they are penalties."""
    result = run_tournament(game, AGENTS, deals, suite="smoke", rounds=3)
    rounds = result.rounds
    points = {
        agent: sum(rounds[f"points_{q}"][rounds[f"agent_{q}"] == agent].sum() for q in range(4)) for agent in AGENTS
    }
    ranked = sorted(AGENTS, key=points.__getitem__, reverse=game != "mexican")
    assert ranked == AGENTS
    assert max(points.values()) > 1.5 * min(points.values()), points


@pytest.mark.parametrize("parameter", ["ways=0", "ways=abc", "trust=abc", "trust=-1", "stop=abc", "stop=-1"])
def test_parameters_that_make_no_sense_are_refused_when_it_is_loaded(parameter: str) -> None:
    with pytest.raises(AgentError, match=f"{parameter.split('=')[0]} .* is not allowed; allowed: "):
        load_agent(f"search?{parameter}", find_game("cuban"))
