"""Suites of deals: named, with keys of their own, so that what a bot was tuned on is never what it is judged on."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from domsim.core.rng import child
from domsim.errors import SpecError
from domsim.folders import find_file, names_in
from domsim.rules import nearest
from domsim.tiles import quoted

MAX_SEED = 2**31 - 1


class Suite(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A named set of deals, from `seeds/NAME.toml`."""

    name: str
    key: int  # no two suites share it
    deals: int  # deal numbers 0 to deals - 1
    purpose: str


def find_suite(name: str) -> Suite:
    """The suite of this name (or path).

    Raises:
        SpecError: there is none, or its file is no suite.
    """
    path = find_file("seeds", name, ".toml")
    if path is None:
        known = names_in("seeds", ".toml")
        raise SpecError(f"unknown suite {quoted(name)}{nearest(name, known)}; known: {', '.join(known)}")
    return _read(path)


def _read(path: Path) -> Suite:
    try:
        suite = msgspec.convert(tomllib.loads(path.read_text("utf-8")), Suite)
    except (OSError, ValueError) as error:
        raise SpecError(f"{path}: no suite of deals: {error}") from None
    if suite.key < 0 or suite.deals < 1:
        raise SpecError(f"{path}: key must be 0 or more and deals 1 or more")
    return suite


def deal_keys(suite: Suite, seed: int, deals: Iterable[int]) -> npt.NDArray[np.uint64]:
    """The keys of deals, `(D,) uint64`: deal. The stream tree is suite, seed, deal, then what the core adds.

    Raises:
        SpecError: a seed out of range, or a deal that is not in the suite.
    """
    check_seed(seed)
    base = child(child(0, suite.key), seed)
    numbers = list(deals)
    for deal in numbers:
        if not 0 <= deal < suite.deals:
            raise SpecError(f"deal {deal} is not in suite {suite.name!r}, which has deals 0 to {suite.deals - 1}")
    return np.array([child(base, deal) for deal in numbers], np.uint64)


def check_seed(seed: Any) -> int:
    """The seed, when it is one.

    Raises:
        SpecError: it is no whole number from 0 to 2**31 - 1.
    """
    if isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed <= MAX_SEED:
        return seed
    raise SpecError(f"seed: {quoted(seed)} is not allowed; allowed: 0 to {MAX_SEED}")
