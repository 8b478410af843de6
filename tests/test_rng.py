"""Random words, streams and shuffles: pinned values, compiled against plain, and how evenly they fall."""

from itertools import islice, product
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy.stats import chi2

from domsim.core import rng
from domsim.core.plain import Plain
from domsim.seeds import Suite, deal_keys, find_suite
from tests import dealing

STOCK = np.dtype([("stock", "i1", 92)])
SUITES = ("holdout", "smoke", "train", "valid")
PUBLISHED = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC, 0x1B39896A51A8749B]
SHUFFLE_OF_55 = [
    0, 1, 24, 35, 53, 27, 22, 28, 44, 45, 52, 20, 8, 13, 36, 38, 14, 39, 46, 25,
    49, 32, 43, 26, 34, 17, 42, 50, 2, 41, 4, 21, 16, 47, 7, 31, 6, 33, 23, 5,
]  # fmt: skip
SHUFFLE_OF_28 = [19, 26, 25, 24, 14, 23, 3, 20, 13, 21, 10, 0, 6, 2, 1, 7, 12, 5, 11, 16, 17, 9, 4, 22, 18, 27, 8, 15]
UNLIKELY = 1e-4  # of a p value: the seeds are fixed, a good generator passes once and for ever


def plain_shuffle(tiles: int, needed: int, key: int) -> list[int]:
    record: Any = Plain(np.zeros(1, STOCK))[0]
    rng.shuffle(record, tiles, needed, key)
    return [record.stock[i] for i in range(92)]


@njit
def compiled_words(keys: Any, counters: Any, words: Any, children: Any) -> None:
    for i in range(keys.size):
        words[i] = rng.word(keys[i], counters[i])
        children[i] = rng.child(keys[i], counters[i])


@njit
def compiled_below(words: Any, n: int, upper: Any, lower: Any) -> None:
    for i in range(words.size):
        upper[i] = rng.below(words[i], n)
        lower[i] = rng.below(rng.lower_half(words[i]), n)


@njit
def compiled_shuffles(records: Any, tiles: int, needed: int, keys: Any) -> None:
    for i in range(keys.size):
        rng.shuffle(records[i], tiles, needed, keys[i])


def shuffles(tiles: int, needed: int, keys: Any) -> Any:
    """Shuffles by the compiled core, `(K, 92) int8`: key, place."""
    records = np.zeros(len(keys), STOCK)
    compiled_shuffles(records, tiles, needed, keys)
    return records["stock"]


def random_keys(number: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 2**64, number, np.uint64, endpoint=False)


def check_even(counts: Any, freedom: int, scale: float = 1.0, among: int = 1) -> None:
    """Pearson's chi-square of counts that are expected to be equal, one test among so many."""
    mean = counts.mean()
    statistic = scale * ((counts - mean) ** 2 / mean).sum()
    assert UNLIKELY / among < chi2.sf(statistic, freedom) < 1 - UNLIKELY / among


# --- pinned values -------------------------------------------------------------------------------


def test_words_are_the_published_generator() -> None:
    assert [rng.word(0, i) for i in range(1, 6)] == PUBLISHED
    assert list(islice(dealing.splitmix64(0), 5)) == PUBLISHED
    assert rng.word(1234567, 1) == 6457827717110365317  # of the published test vectors for seed 1234567
    assert rng.word(1234567, 2) == 3203168211198807973
    assert rng.word(0, 0) == 0
    assert rng.word(1, 0) == 0x5692161D100B05E5
    assert rng.word(2**64 - 1, 2**40) == dealing.word_of(2**64 - 1, 2**40)


def test_children_are_pinned() -> None:
    assert rng.child(0, 0) == PUBLISHED[0] ^ PUBLISHED[1] == 0x8C583653DAA4A85B
    assert rng.child(0, 1) == PUBLISHED[2] ^ PUBLISHED[3]
    assert rng.child(rng.child(rng.child(0, 1), 0), 7) == dealing.deal_key(1, 0, 7) == 0xD6A8176B9129EBFE
    assert int(deal_keys(find_suite("smoke"), 0, [7])[0]) == dealing.deal_key(1, 0, 7)
    assert int(deal_keys(find_suite("holdout"), 5, [3, 9])[1]) == dealing.deal_key(4, 5, 9)


def test_shuffles_are_pinned() -> None:
    assert plain_shuffle(55, 40, 0)[:40] == SHUFFLE_OF_55
    assert plain_shuffle(28, 28, 2**64 - 1)[:28] == SHUFFLE_OF_28
    assert plain_shuffle(55, 7, 0)[:7] == SHUFFLE_OF_55[:7]


@pytest.mark.parametrize(("tiles", "needed"), [(1, 1), (2, 2), (28, 4), (28, 27), (28, 28), (55, 40), (91, 91)])
def test_shuffles_follow_their_description(tiles: int, needed: int) -> None:
    for key in [0, *map(int, random_keys(50, 1))]:
        order = plain_shuffle(tiles, needed, key)
        assert sorted(order[:tiles]) == list(range(tiles))
        assert order[:needed] == dealing.shuffled(tiles, needed, key)


# --- compiled against plain ----------------------------------------------------------------------


def test_compiled_words_equal_plain_ones() -> None:
    keys = np.append(random_keys(3000), np.array([0, 1, 2**63, 2**64 - 1], np.uint64))
    counters = np.random.default_rng(3).integers(0, 2**40, len(keys))
    counters[:1000] = np.arange(1000)
    words, children = np.zeros((2, len(keys)), np.uint64)
    compiled_words(keys, counters, words, children)
    for key, counter, word, child in zip(*map(np.ndarray.tolist, (keys, counters, words, children)), strict=True):
        assert rng.word(key, counter) == word == dealing.word_of(key, counter)
        assert rng.child(key, counter) == child == dealing.below_key(key, counter)


@pytest.mark.parametrize("n", [1, 2, 3, 55, 91, 2**31 - 1])
def test_compiled_draws_equal_plain_ones(n: int) -> None:
    words = np.append(random_keys(3000, n), np.array([0, 2**32 - 1, 2**32, 2**63, 2**64 - 1], np.uint64))
    upper, lower = np.zeros((2, len(words)), np.int64)
    compiled_below(words, n, upper, lower)
    for word, high, low in zip(*map(np.ndarray.tolist, (words, upper, lower)), strict=True):
        assert rng.below(word, n) == high == dealing.draw(word, 0, n)
        assert rng.below(rng.lower_half(word), n) == low == dealing.draw(word, 1, n)
        assert 0 <= high < n
        assert 0 <= low < n


@pytest.mark.parametrize(("tiles", "needed"), [(28, 4), (28, 28), (55, 4), (55, 40), (91, 91)])
def test_compiled_shuffles_equal_plain_ones(tiles: int, needed: int) -> None:
    keys = random_keys(200, tiles)
    for key, order in zip(keys.tolist(), shuffles(tiles, needed, keys).tolist(), strict=True):
        assert plain_shuffle(tiles, needed, key) == order


# --- evenness ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 7, 55, 91])
def test_draws_are_even(n: int) -> None:
    draws = 200_000
    keys = np.full(draws, 11, np.uint64)  # one stream, word after word
    words, children = np.zeros((2, draws), np.uint64)
    compiled_words(keys, np.arange(draws), words, children)
    upper, lower = np.zeros((2, draws), np.int64)
    compiled_below(words, n, upper, lower)
    for drawn in (upper, lower):
        assert drawn.min() == 0
        assert drawn.max() == n - 1
        check_even(np.bincount(drawn, minlength=n), n - 1)
    check_even(np.bincount(upper * n + lower, minlength=n * n), n * n - 1)  # both halves of a word together


@pytest.mark.parametrize(("tiles", "needed"), [(28, 28), (55, 55)])
def test_shuffles_are_even(tiles: int, needed: int) -> None:
    number = 200_000
    base = dealing.below_key(0, 1, 0)
    keys, words = np.zeros((2, number), np.uint64)
    compiled_words(np.full(number, base, np.uint64), np.arange(number), words, keys)  # keys of deals, side by side
    orders = shuffles(tiles, needed, keys)[:, :tiles].astype(np.int64)
    assert (np.sort(orders, axis=1) == np.arange(tiles)).all()
    by_place = np.array([np.bincount(orders[:, place], minlength=tiles) for place in range(tiles)])
    # Rows and columns both sum up to the number of shuffles: hence the scale.
    check_even(by_place, (tiles - 1) ** 2, (tiles - 1) / tiles)
    for place in range(tiles):
        check_even(by_place[place], tiles - 1, among=tiles)
    for i, j in ((0, 1), (1, 2), (0, tiles - 1)):  # places of one word, of two, and the ends
        pairs = np.bincount(orders[:, i] * tiles + orders[:, j], minlength=tiles * tiles).reshape(tiles, tiles)
        assert (np.diagonal(pairs) == 0).all()
        check_even(pairs[~np.eye(tiles, dtype=bool)], tiles * (tiles - 1) - 1)


# --- the tree of keys ----------------------------------------------------------------------------


def test_keys_of_deals_all_differ() -> None:
    seeds = (0, 1, 2, 3, 1000, 2**31 - 1)
    keys = [deal_keys(find_suite(suite), seed, range(1000)) for suite, seed in product(SUITES, seeds)]
    assert len(np.unique(np.concatenate(keys))) == len(SUITES) * len(seeds) * 1000


def test_streams_below_a_deal_all_differ() -> None:
    """Draws for the lead, deals, and decisions of all seats and streams share no word."""
    words = []
    for deal in range(20):
        key = dealing.deal_key(1, 0, deal)
        words += [dealing.word_of(dealing.below_key(key, 0, n), i) for n in range(3) for i in range(4)]
        for number in range(1, 4):
            words += [dealing.word_of(dealing.below_key(key, 1, number, 0, n), i) for n in range(3) for i in range(40)]
            words += [
                dealing.decision_word(key, number, seat, ply, stream)
                for seat, ply, stream in product(range(4), range(40), range(2))
            ]
    assert len(set(words)) == len(words)


def test_a_suite_is_known_by_its_key_only() -> None:
    renamed = Suite("other", find_suite("smoke").key, 10, "")
    assert (deal_keys(renamed, 3, range(10)) == deal_keys(find_suite("smoke"), 3, range(10))).all()
