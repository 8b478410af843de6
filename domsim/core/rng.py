"""Counter-based random words: no generator object, no state, the same everywhere.

A stream is a 64-bit key; its n-th word is splitmix64's output function at `key + n * PHI` (Steele, Lea, Flood, 2014).
Keys form a tree: suite, seed, deal, round, stream, seat. A child's key folds two words of its parent, so that the way
back up, from a word an agent sees to the deal, is not a matter of undoing a permutation.
Deals depend on no agent and no two seats share a stream; batch sizes, threads and processes cannot change a result.
"""

from typing import Any

import numpy as np

from domsim.core.compiled import Work, index, overloads, rule

_MASK = (1 << 64) - 1
_PHI = 0x9E3779B97F4A7C15
_C1 = 0xBF58476D1CE4E5B9
_C2 = 0x94D049BB133111EB

#: Streams below a round's key.
DEAL_STREAM, DECISION_STREAM, SEARCH_STREAM = 0, 1, 2


def word(key: int, counter: int) -> int:
    """The `counter`-th random word of a stream, 64 bits."""
    z = (key + counter * _PHI) & _MASK
    z = ((z ^ (z >> 30)) * _C1) & _MASK
    z = ((z ^ (z >> 27)) * _C2) & _MASK
    return z ^ (z >> 31)


def below(random_word: int, n: int) -> int:
    """A number from 0 to `n - 1` from the upper half of a random word; `0 < n < 2**31`."""
    return ((random_word >> 32) * n) >> 32


def lower_half(random_word: int) -> int:
    """The word with its lower half moved up: a second draw for `below`."""
    return (random_word << 32) & _MASK


_PHI_U, _C1_U, _C2_U = np.uint64(_PHI), np.uint64(_C1), np.uint64(_C2)
_U27, _U30, _U31, _U32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


def _compiled_word(key: int, counter: int) -> Any:
    z = np.uint64(key) + np.uint64(counter) * _PHI_U
    z = (z ^ (z >> _U30)) * _C1_U
    z = (z ^ (z >> _U27)) * _C2_U
    return z ^ (z >> _U31)


def _compiled_below(random_word: int, n: int) -> Any:
    return np.int64(((np.uint64(random_word) >> _U32) * np.uint64(n)) >> _U32)


def _compiled_lower_half(random_word: int) -> Any:
    return np.uint64(random_word) << _U32


@overloads(word)
def _word(key: Any, counter: Any) -> Any:
    return _compiled_word


@overloads(below)
def _below(random_word: Any, n: Any) -> Any:
    return _compiled_below


@overloads(lower_half)
def _lower_half(random_word: Any) -> Any:
    return _compiled_lower_half


@rule
def child(key: int, part: int) -> int:
    """Key of the `part`-th stream below a key; `part` is 0 or more."""
    return word(key, 2 * part + 1) ^ word(key, 2 * part + 2)


@rule
def shuffle(s: Work, tiles: int, needed: int, key: int) -> None:
    """Put a fresh shuffle of tiles 0 to `tiles - 1` into `s.stock`; only its first `needed` places are random.

    Fisher-Yates, two draws a word, `s.stock` at least `needed + 1` long.
    """
    for i in range(s.stock.size):
        s.stock[i] = i
    for i in range(0, min(needed, tiles - 1), 2):
        w = word(key, i)
        _swap(s, i, i + below(w, tiles - i))
        if i + 1 < tiles:
            _swap(s, i + 1, i + 1 + below(lower_half(w), tiles - i - 1))


@rule
def _swap(s: Work, i: int, j: int) -> None:
    a, b = index(i), index(j)
    tile = s.stock[b]
    s.stock[b] = s.stock[a]
    s.stock[a] = tile
