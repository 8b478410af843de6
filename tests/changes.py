"""Trees of JSON with one value changed: what a comparison has to notice."""

import copy
from collections.abc import Callable, Iterator
from typing import Any


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in a tree of JSON that holds no others."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    inside = [path_below for key, below in items for path_below in leaves(below, (*path, key))]
    yield from inside or [path]


def changed(value: Any) -> Any:
    """Another value, and as near as can be."""
    if isinstance(value, bool) or value is None:
        return int(value or 0)
    if isinstance(value, (int, float)):
        return value + 1
    return [*value, "x"] if isinstance(value, list) else f"{value}x"


def replaced(tree: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    """A copy with one value changed."""
    if not path:
        return change(tree)
    made = copy.copy(tree)
    made[path[0]] = replaced(tree[path[0]], path[1:], change)
    return made
