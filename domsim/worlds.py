"""Other worlds: decisions in which the tiles hidden from the mover are reshuffled, consistently with all it sees.

A round is played at random, and played again from a deal in which the tiles that are hidden at one of its decisions
have changed places. The other world counts when every action was legal again, every pass and draw forced again, and
the mover sees the same to the last bit. Whoever decides otherwise in it has seen what is hidden.
"""

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from domsim.core.driver import work_dtype
from domsim.core.plain import Plain
from domsim.core.rng import word
from domsim.errors import RecordError
from domsim.games import Game
from domsim.round import Round, listed_actions
from domsim.tiles import HIGH, LOW, tile_count, tile_text

Array = npt.NDArray[Any]
#: rounds of a match that are played: in the first one all scores are 0
_ROUNDS = 2
#: decisions taken of a round
_PICKED = 3
#: swaps in one try after another, for every hidden tile; then a single swap, several times
_SWAPS = (4.0, 4.0, 2.0, 1.0, 0.5, 0.25)
_SINGLE_TRIES = 6


@dataclass(frozen=True)
class Worlds:
    """Decisions in the true world and in another one that the mover cannot tell from it."""

    true: Array  # (N,) STATE, the seat to move before its decision
    other: Array  # (N,) STATE
    places: list[dict[str, int]]  # (N,) deal (place of its key), round, ply and seat
    tried: int  # decisions for which another world was looked for


@dataclass(frozen=True)
class _Played:
    """A round that was played: everything that makes it again, and its decisions."""

    start: Any  # STATE before the first action
    hands: list[list[str]]
    stock: list[str]
    opening: dict[str, Any]
    actions: list[str]
    decisions: list[tuple[int, Any]]  # ply and STATE, where there was a choice


def make_worlds(game: Game, seats: int, number: int, keys: Array) -> Worlds:
    """At most `number` decisions at a table of this size, of rounds on the deals with these keys."""
    chance = random.Random(1)
    true: list[Any] = []
    other: list[Any] = []
    places: list[dict[str, int]] = []
    tried = 0
    for deal, key in enumerate(keys.tolist()):
        for played in _play(game, seats, key, chance) if tried < number else []:
            picked = chance.sample(played.decisions, min(_PICKED, len(played.decisions), number - tried))
            tried += len(picked)
            for ply, here in sorted(picked, key=lambda decision: decision[0]):
                there = _other_world(game, seats, played, ply, here, chance)
                if there is not None:
                    true.append(here)
                    other.append(_with_other_keys(there))
                    where = {"round": int(here["round_number"]), "ply": ply, "seat": int(here["seat"])}
                    places.append({"deal": deal, **where})
    return Worlds(np.array(true, game.core.STATE), np.array(other, game.core.STATE), places, tried)


def _play(game: Game, seats: int, key: int, chance: random.Random) -> list[_Played]:
    """The first rounds of a match, played at random."""
    rounds: list[_Played] = []
    a_round = Round.empty(game, game.rules.of({}), seats)
    a_round.state.key = key
    game.core.start_match(a_round.state)
    while len(rounds) < _ROUNDS and (not rounds or not a_round.match_over):
        a_round.next_round()
        start, hands, stock = _record(a_round).copy(), a_round.dealt_hands, a_round.dealt_stock
        _set_up(a_round, start, hands, stock, a_round.opening)  # as the other worlds are: the same tile at every place
        decisions = []
        while not a_round.over:
            legal = a_round.legal()
            if len(legal) > 1:
                decisions.append((len(a_round.actions), _record(a_round).copy()))
            a_round.play(chance.choice(legal))
        assert a_round.result is not None
        rounds.append(_Played(start, hands, stock, a_round.opening, list(a_round.actions), decisions))
    return rounds


def _record(a_round: Round) -> Any:
    return a_round.state._array


def _set_up(a_round: Round, start: Any, hands: list[list[str]], stock: list[str], opening: dict[str, Any]) -> None:
    a_round.set_up(hands, stock, opening)
    a_round.state.redeals = int(start["redeals"])


def _other_world(game: Game, seats: int, played: _Played, ply: int, here: Any, chance: random.Random) -> Any:
    """The STATE of another world for one decision; None when none was found."""
    hidden = _hidden(game, seats, here)
    shown = [int(here["shown"][seat]) for seat in range(seats)] + [0]  # the last one: what no seat holds
    seen = _seen(game, here)
    for times in [max(1, round(share * len(hidden))) for share in _SWAPS] + [1] * _SINGLE_TRIES:
        swapped = _swap(hidden, shown, times, chance)
        there = _again(game, seats, played, ply, swapped) if swapped else None
        if there is not None and _seen(game, there) == seen:
            return there
    return None


def _again(game: Game, seats: int, played: _Played, ply: int, swapped: dict[int, int]) -> Any:
    """The STATE at a ply when the round is played again with swapped tiles; None when its actions are not legal."""
    made = Round.empty(game, game.rules.of({}), seats)
    record = _record(made)
    for name in record.dtype.names:
        record[name] = played.start[name]
    for place, tile in enumerate(record["stock"].tolist()):
        record["stock"][place] = swapped.get(tile, tile)
    texts = {tile_text(tile): tile_text(now) for tile, now in swapped.items()}
    hands = [[texts.get(tile, tile) for tile in hand] for hand in played.hands]
    try:
        _set_up(made, played.start, hands, [texts.get(tile, tile) for tile in played.stock], played.opening)
        for action in played.actions[:ply]:
            made.play(action)
    except RecordError:
        return None
    return None if made.over else record


def _hidden(game: Game, seats: int, here: Any) -> list[tuple[int, int]]:
    """The tiles hidden from the mover, each with the seat that holds it, -1 for none."""
    held = {tile: seat for seat in range(seats) for tile in game.hand(Plain(here), seat)}
    tiles = [tile for tile in range(tile_count(12)) if int(here["unseen"][HIGH[tile]]) >> int(LOW[tile]) & 1]
    return [(tile, held.get(tile, -1)) for tile in tiles if held.get(tile, -1) != here["seat"]]


def _swap(hidden: list[tuple[int, int]], shown: list[int], times: int, chance: random.Random) -> dict[int, int]:
    """Tiles and those that take their places, after some swaps between seats that what they have shown allows."""
    tiles = [tile for tile, _ in hidden]
    seats = [seat for _, seat in hidden]
    elsewhere = {seat: [place for place, other in enumerate(seats) if other != seat] for seat in set(seats)}
    bits = {tile: 1 << int(HIGH[tile]) | 1 << int(LOW[tile]) for tile in tiles}
    for _ in range(times if len(elsewhere) > 1 else 0):
        i = chance.randrange(len(tiles))
        j = chance.choice(elsewhere[seats[i]])
        if not bits[tiles[i]] & shown[seats[j]] and not bits[tiles[j]] & shown[seats[i]]:
            tiles[i], tiles[j] = tiles[j], tiles[i]
    return {tile: now for (tile, _), now in zip(hidden, tiles, strict=True) if tile != now}


def _seen(game: Game, here: Any) -> tuple[bytes, list[int]]:
    """What the mover sees, and what it may do."""
    state, view = Plain(here), np.zeros(1, game.core.VIEW)
    work: Any = Plain(np.zeros(1, work_dtype(len(game.features))))[0]
    game.core.observe(state, Plain(view)[0])
    return view.tobytes(), listed_actions(work, game.core.legal(state, work))


def _with_other_keys(there: Any) -> Any:
    """The state with other keys: from the deal's own the true tiles could be dealt again."""
    other = there.copy()
    for name in ("key", "round_key"):
        other[name] = word(int(other[name]), 99)
    for seat in range(len(other["decision_key"])):
        if seat != other["seat"]:
            other["decision_key"][seat] = word(int(other["decision_key"][seat]), 99)
    return other
