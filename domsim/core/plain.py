"""States as plain Python sees them: every number an int, every store checked for its range.

numpy keeps narrow types (`int8(9) << 9` is 0), so the uncompiled rules run on this wrapper and not on bare records.
"""

from typing import Any

import numpy as np


class Plain:
    """A structured record, an array of records, or an array of whole numbers."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        object.__setattr__(self, "_array", array)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype below."""
        dtype: np.dtype[Any] = self._array.dtype
        return dtype

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(self._array.size)

    def __len__(self) -> int:
        return len(self._array)

    def __getattr__(self, name: str) -> Any:
        array = object.__getattribute__(self, "_array")
        try:
            return _read(array[name])
        except (ValueError, IndexError, KeyError):
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: int) -> None:
        self._array[name] = _checked(self._array.dtype[name], value)

    def __getitem__(self, i: int) -> Any:
        return _read(self._array[i])

    def __setitem__(self, i: int, value: int) -> None:
        self._array[i] = _checked(self._array.dtype, value)


def _read(value: Any) -> Any:
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating):
        return float(value)
    return Plain(value)


def _checked(dtype: np.dtype[Any], value: int) -> int:
    number = int(value)
    limits = np.iinfo(dtype)
    if not limits.min <= number <= limits.max:
        raise OverflowError(f"{number} does not fit {dtype}")
    return number
