"""Domino sets, tile numbers, pips and text.

A tile has a number that does not depend on the set: with halves `high >= low` it is `high * (high + 1) / 2 + low`,
so that the double-six set is tiles 0 to 27, the double-nine set 0 to 54 and the double-twelve set 0 to 90.
"""

import numpy as np
import numpy.typing as npt

from domsim.errors import RecordError

MAX_PIP = 12


def tile_count(top: int) -> int:
    """Tiles of the double-`top` set."""
    return (top + 1) * (top + 2) // 2


_HALVES = [(high, low) for high in range(MAX_PIP + 1) for low in range(high + 1)]
#: larger and smaller half of every tile, `(91,) int8`: tile
HIGH: npt.NDArray[np.int8] = np.array([high for high, _ in _HALVES], np.int8)
LOW: npt.NDArray[np.int8] = np.array([low for _, low in _HALVES], np.int8)


def tile_number(high: int, low: int) -> int:
    """Number of the tile with these halves, in either order."""
    high, low = max(high, low), min(high, low)
    return high * (high + 1) // 2 + low


def tile_text(tile: int) -> str:
    """`"9-4"` for the tile's number, larger half first."""
    return f"{HIGH[tile]}-{LOW[tile]}"


def parse_tile(text: object, top: int = MAX_PIP, where: str = "") -> int:
    """Number of a tile written `9-4` or `4-9`.

    Args:
        where: the field it stands in, for the error.

    Raises:
        RecordError: the text is no tile of the double-`top` set.
    """
    if isinstance(text, str):
        halves = text.split("-")
        if len(halves) == 2 and all(_is_pip(half) for half in halves):
            a, b = int(halves[0]), int(halves[1])
            if max(a, b) <= top:
                return tile_number(a, b)
    field = f"{where}: " if where else ""
    raise RecordError(f"{field}{quoted(text)} is no tile of the double-{top} set (write 0-0 to {top}-{top})")


def _is_pip(half: str) -> bool:
    return half.isascii() and half.isdigit() and len(half) <= 2 and str(int(half)) == half


def quoted(value: object, limit: int = 60) -> str:
    """The value as text for an error message, cut to `limit` characters."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
