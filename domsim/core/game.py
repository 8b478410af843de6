"""What every game's core module has: common fields, actions as numbers, and stubs chosen by the state's type.

A game's module (`core/cuban.py` is one) holds:

| name | what |
|---|---|
| `STATE` | dtype of one match in progress, made by `state_dtype` |
| `FEATURES` | names of the features of a legal play, in the order `features` writes them |
| `VIEW` | dtype of what a seat may see, written by `observe` |
| `start_match(s)` | everything before the first deal; the key, the seats and the rule options are set |
| `start_round(s)` | the next deal: who leads, the tiles, deals thrown back, then `open_round` |
| `open_round(s)` | make a round of the hands and the stock in the state (a deal's or a record's) |
| `legal(s, w)` | write the legal actions as rows; their number |
| `apply(s, action)` | carry out one action |
| `finish_round(s)` | score a round that is over; whether the match is over |
| `features(s, action, w, need)` | the features of one legal play |
| `stage(s)` | 0 early, 1 middle, 2 late in the round |
| `observe(s, o)` | what the seat to move may see |
| `restore(s, o)` | a position made of that: the mover's hand and the public facts, other hands empty |
| `know(s, h)` | what every seat is known to lack, for giving out the hidden tiles |
| `worth(s, seat)` | what a round that is over is worth to a seat, for choosing by playouts |

An action is a number of 16 bits, `kind << 12 | line << 8 | matched << 4 | new`: a play lays the tile `matched-new` on a
line whose end shows `matched` and then shows `new`. A legal list is a few rows, each an action with `new` 0 and a set
of bits: one legal action for every bit, with its place as `new`. Rows may be empty, the list is not; their number is a
multiple of four.
"""

import hashlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numba import from_dtype

from domsim.core.compiled import State, Work, index, overloads, rule

PASS, PLAY, DRAW, STOP = 0, 1, 2, 3
#: The line of an opening play.
START = 15
#: Rows a legal list can have.
MAX_ROWS = 16
#: Actions a legal list can have (91 tiles on 12 lines are never all legal; `Work.move` holds this many).
MAX_ACTIONS = 512
#: Features that are always computed; those behind them only when one of them has a weight.
FEW = 12
#: Seats of the largest game.
MAX_SEATS = 10
#: How the entitled seat names an opener: itself, its partner, or in turn (`cuban` rule 2).
SELF, PARTNER, ALTERNATE = 0, 1, 2

_SOURCES = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))

Field = tuple[str, str] | tuple[str, str, int | tuple[int, ...]]


def record_dtype(name: str, fields: list[Field], source: str) -> np.dtype[Any]:
    """A record dtype that no other game and no other version of the sources shares.

    A field's name holds a hash of the core's sources and of the game's file: it is part of the type, the type is part
    of what a compiled kernel is stored under, so that an edit never meets the kernel of the sources before it.
    """
    digest = hashlib.sha256(_SOURCES + Path(source).read_bytes()).hexdigest()[:12]
    taken = [field[0] for field in fields if hasattr(np.recarray, field[0])]
    assert not taken, f"fields named like methods of an array: {taken}"
    return np.dtype([*fields, (f"{name}_{digest}", "i1")], align=True)


def state_dtype(
    name: str, source: str, seats: int, tiles: int, lines: int, own: list[Field], options: tuple[str, ...]
) -> Any:
    """A game's `STATE`: the fields all games share, its own, and one `int32` for every rule option."""
    shared: list[Field] = [
        ("key", "u8"),  # of the deal
        ("round_key", "u8"),
        ("decision_key", "u8", seats),
        ("stream", "i8", seats),  # the agents' own random streams
        ("match", "i8"),  # which job
        ("rounds", "i4"),  # rounds to play at most; 0: to the end of the match
        ("hand", "i2", (seats, 16)),  # bit w of row v: tile v-w is held
        ("unseen", "i2", 16),  # tiles not yet laid, in the same form
        ("held", "i1", 16),  # tiles in any hand that show a number
        ("shown", "i2", seats),  # numbers a seat has shown not to hold, as bits
        ("stock", "i1", tiles + 1),  # the deal's shuffle
        ("end", "i1", lines),  # the number at the end of a line
        ("layer", "i1", lines),  # seat that laid the tile there
        ("layer_ply", "i2", lines),  # and when
        ("lacked", "i2"),  # numbers the last pass showed to be missing, as bits
        ("score", "i4", seats),
        ("points", "i4", seats),  # of this round
        ("pips", "i2", seats),  # in the hands
        ("passes", "i2", seats),
        ("draws", "i2", seats),
        ("decisions", "i2", seats),
        ("count", "i1", seats),  # tiles in the hands
        ("doubles", "i1", seats),  # doubles dealt
        ("agent", "i2", seats),
        ("naming", "i1", seats),  # SELF, PARTNER or ALTERNATE
        ("won", "i1", seats),  # 1 for the winners of the match
        ("chosen", "i4"),  # action a Python agent has chosen; -1: none
        ("ply", "i2"),
        ("round_number", "i2"),  # from 1
        ("redeals", "i2"),  # deals of this round that did not stand
        ("seats", "i1"),
        ("seat", "i1"),  # to move
        ("lead", "i1"),  # seat named as opener, or where the search for one begins
        ("opener", "i1"),  # seat that opens
        ("last", "i1"),  # seat that made the last play; -1: none
        ("laid", "i1"),  # tiles laid
        ("over", "i1"),
        ("blocked", "i1"),
        ("winner", "i1"),  # seat or team that won the round; -1: none
        ("title", "i1"),  # of the match's end; 0: none
        ("status", "i1"),  # of the driver
    ]
    return record_dtype(name, shared + own + [(option, "i4") for option in options], source)


@rule
def action_code(kind: int, line: int, matched: int, new: int) -> int:
    """The number of an action."""
    return kind << 12 | line << 8 | matched << 4 | new


@rule
def kind_of(action: int) -> int:
    """PASS, PLAY, DRAW or STOP."""
    return action >> 12


@rule
def line_of(action: int) -> int:
    """The line a tile is laid on, fit for an index."""
    return index((action >> 8) & 15)


@rule
def matched_of(action: int) -> int:
    """The half that matches (an opening play: the larger one)."""
    return index((action >> 4) & 15)


@rule
def new_of(action: int) -> int:
    """The half that shows afterwards."""
    return index(action & 15)


@rule
def set_row(w: Work, row: int, code: int, bits: int) -> None:
    """Write one row of a legal list; a row may be empty, and where a rule says so it is: no branch then."""
    w.code[row] = code
    w.bits[row] = bits


@rule
def end_rows(w: Work, rows: int) -> int:
    """Fill a legal list up with empty rows to a multiple of four, which is read at once; the number of rows."""
    end = rows + 3 & ~3
    for row in range(rows, end):
        w.bits[row] = 0
    return end


@rule
def only(w: Work, kind: int) -> int:
    """A legal list of one action that lays no tile; the number of rows."""
    set_row(w, 0, action_code(kind, 0, 0, 0), 1)
    return end_rows(w, 1)


_BY_DTYPE: dict[Any, ModuleType] = {}
_BY_TYPE: dict[Any, ModuleType] = {}


def register_core(module: ModuleType) -> None:
    """Let the driver play a game, given its core module."""
    _BY_DTYPE[module.STATE] = module
    _BY_TYPE[from_dtype(module.STATE)] = module


def core_of(dtype: Any) -> ModuleType:
    """The core module whose `STATE` this is."""
    return _BY_DTYPE[dtype]


# What follows are the stubs: one line for the game's own function, described in the table above.


def start_match(s: State) -> None:
    """Begin a match."""
    core_of(s.dtype).start_match(s)


def start_round(s: State) -> None:
    """Begin the next round of a match."""
    core_of(s.dtype).start_round(s)


def open_round(s: State) -> None:
    """Make a round of the tiles in the state."""
    core_of(s.dtype).open_round(s)


def legal(s: State, w: Work) -> int:
    """Write the legal actions; the number of rows."""
    rows: int = core_of(s.dtype).legal(s, w)
    return rows


def apply(s: State, action: int) -> None:
    """Carry out an action."""
    core_of(s.dtype).apply(s, action)


def finish_round(s: State) -> bool:
    """Score the round; whether the match is over."""
    over: bool = core_of(s.dtype).finish_round(s)
    return over


def features(s: State, action: int, w: Work, need: int) -> None:
    """Write the features of a play."""
    core_of(s.dtype).features(s, action, w, need)


def stage(s: State) -> int:
    """Stage of the round, 0 to 2."""
    number: int = core_of(s.dtype).stage(s)
    return number


def observe(s: State, o: Any) -> None:
    """Write what the seat to move may see."""
    core_of(s.dtype).observe(s, o)


def restore(s: State, o: Any) -> None:
    """Make a position of a view."""
    core_of(s.dtype).restore(s, o)


def know(s: State, h: Any) -> None:
    """Write what every seat is known to lack."""
    core_of(s.dtype).know(s, h)


def worth(s: State, seat: int) -> int:
    """What a round that is over is worth to a seat."""
    value: int = core_of(s.dtype).worth(s, seat)
    return value


def _choose_by_type(stub: Any) -> None:
    @overloads(stub)
    def choose(s: Any, *rest: Any) -> Any:
        function = getattr(_BY_TYPE.get(s), stub.__name__, None)
        return getattr(function, "py_func", function)


for _stub in (
    start_match,
    start_round,
    open_round,
    legal,
    apply,
    finish_round,
    features,
    stage,
    observe,
    restore,
    know,
    worth,
):
    _choose_by_type(_stub)
