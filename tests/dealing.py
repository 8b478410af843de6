"""The tree of random streams and the deals of `cuban` in plain Python, written beside the core and not from it.

splitmix64 after its authors' C code (Steele, Lea, Flood, 2014); the tree as `domsim/core/rng.py` describes it: suite,
seed, deal, then below a deal 0 the draws for the lead and 1 the rounds, below a round 0 its deals and 1 its decisions.
"""

from collections.abc import Iterator
from functools import cache

from tests.reference import common

MASK = 2**64 - 1
PHI = 0x9E3779B97F4A7C15
LEAD, ROUNDS = 0, 1
DEALS, DECISIONS = 0, 1
#: seats a stream number is multiplied by: no game has more
MOST_SEATS = 10


def mixed(z: int) -> int:
    """splitmix64's output function."""
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def splitmix64(seed: int) -> Iterator[int]:
    """The generator as published: its first output is a stream's word 1."""
    state = seed
    while True:
        state = (state + PHI) & MASK
        yield mixed(state)


def word_of(key: int, counter: int) -> int:
    """A stream's word: word 0 is the output function at the key itself."""
    return mixed((key + counter * PHI) & MASK)


@cache
def below_key(key: int, *parts: int) -> int:
    """The key that lies below a key, down these parts."""
    for part in parts:
        key = word_of(key, 2 * part + 1) ^ word_of(key, 2 * part + 2)
    return key


def deal_key(suite: int, seed: int, deal: int) -> int:
    """The key of a deal; a suite is its number."""
    return below_key(0, suite, seed, deal)


def draw(word: int, half: int, n: int) -> int:
    """A number below `n` from the upper (0) or lower (1) half of a word."""
    bits = word >> 32 if half == 0 else word & (2**32 - 1)
    return bits * n >> 32


def shuffled(tiles: int, places: int, key: int) -> list[int]:
    """The first places of a shuffle of tiles 0 to `tiles - 1`: Fisher-Yates from the front, two draws a word."""
    order = list(range(tiles))
    for i in range(min(places, tiles)):
        j = i + draw(word_of(key, i - i % 2), i % 2, tiles - i)
        order[i], order[j] = order[j], order[i]
    return order[:places]


@cache
def tile_texts(top: int) -> list[str]:
    """Tiles by number: 0-0, 1-0, 1-1, 2-0 …"""
    return [common.text(tile) for tile in common.whole_set(top)]


def lead_draws(key: int, rules: dict) -> list[list[str]]:
    """The draws for the lead of a match (rule 1): all but the last tie for the largest."""
    texts = tile_texts(rules.get("set", 9))
    seats = 4 if rules.get("lead_draw") == "individual" else 2
    draws: list[list[str]] = []
    while True:
        drawn = shuffled(len(texts), 4, below_key(key, LEAD, len(draws)))[:seats]
        draws.append([texts[tile] for tile in drawn])
        sums = sorted(sum(common.tile(texts[tile])) for tile in drawn)
        if sums[-1] > sums[-2]:
            return draws


def hands_of(key: int, round_number: int, redeals: int, rules: dict) -> list[list[str]]:
    """The hands of one deal of a round; `redeals` counts the deals before it that did not stand."""
    texts = tile_texts(rules.get("set", 9))
    each = 10 if len(texts) == 55 else 7
    order = shuffled(len(texts), 4 * each, below_key(key, ROUNDS, round_number, DEALS, redeals))
    return [[texts[tile] for tile in order[each * seat : each * (seat + 1)]] for seat in range(4)]


def decision_word(key: int, round_number: int, seat: int, ply: int, stream: int = 0) -> int:
    """The random word of one decision."""
    decisions = below_key(key, ROUNDS, round_number, DECISIONS)
    return word_of(word_of(decisions, stream * MOST_SEATS + seat), ply)
