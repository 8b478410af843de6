"""The tables a run writes: their columns, how they are stored, and the digest that tells whether two runs agree."""

import contextlib
import hashlib
import importlib.util
import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from domsim.errors import SpecError

Array = npt.NDArray[Any]
ENDINGS = ("out", "blocked")
#: ending of files that are being written
UNFINISHED = ".part"


@dataclass(frozen=True)
class Column:
    """One column of a table; `by_seat` columns are there once a seat, as `name_0`, `name_1` …"""

    name: str
    dtype: str
    note: str
    by_seat: bool = False


#: every column of every table; documentation and the tests read it too
COLUMNS: dict[str, tuple[Column, ...]] = {
    "matches": (
        Column("deal", "i8", "deal number in the suite; in a match it names the whole sequence of deals"),
        Column("pairing", "i2", "which agents meet; see `pairings` in manifest.json"),
        Column("seating", "i1", "which seating of the lineup"),
        Column("rounds", "i2", "rounds played"),
        Column("title", "i1", "name of the match's end, by its number; 0: none"),
        Column("agent", "i2", "agent in this seat", True),
        Column("score", "i4", "score at the end, points; partners both have their team's", True),
        Column("won", "i1", "1: this seat won the match, alone or with others", True),
    ),
    "rounds": (
        Column("deal", "i8", "deal number in the suite"),
        Column("pairing", "i2", "which agents meet"),
        Column("seating", "i1", "which seating of the lineup"),
        Column("round", "i2", "round of the match, from 1"),
        Column("lead", "i1", "seat named as opener, or where the search for one began"),
        Column("opener", "i1", "seat that opened"),
        Column("ending", "i1", "how the round ended: out or blocked"),
        Column("last", "i1", "seat that made the last play"),
        Column("winner", "i1", "seat, or team, that won the round; -1: nobody"),
        Column("redeals", "i2", "deals thrown back before this one: claims, or hands without a double"),
        Column("plies", "i2", "actions, passes and forced ones included"),
        Column("agent", "i2", "agent in this seat", True),
        Column("points", "i4", "points of the round; partners both have their team's", True),
        Column("pips", "i2", "pips left in the hand", True),
        Column("tiles", "i1", "tiles left in the hand", True),
        Column("passes", "i2", "passes", True),
        Column("draws", "i2", "tiles drawn from the stock in play", True),
        Column("decisions", "i2", "choices among two or more actions", True),
    ),
    "passes": (
        Column("deal", "i8", "deal number in the suite"),
        Column("pairing", "i2", "which agents meet"),
        Column("seating", "i1", "which seating of the lineup"),
        Column("round", "i2", "round of the match, from 1"),
        Column("ply", "i2", "place of the pass among the round's actions, from 0"),
        Column("seat", "i1", "seat that passed"),
        Column("number", "i1", "a number that was missing; a pass has a row for each"),
        Column("by", "i1", "seat whose play had put this number there last"),
        Column("distance", "i1", "from the seat that passed to `by`, in playing order: 0 itself, 1 the next seat"),
        Column("agent", "i2", "agent that passed"),
        Column("by_agent", "i2", "agent whose play it was"),
    ),
}


def table_dtype(table: str, seats: int) -> np.dtype[Any]:
    """The packed dtype of a table for a number of seats: what the digest is taken of."""
    fields = []
    for column in COLUMNS[table]:
        names = [f"{column.name}_{seat}" for seat in range(seats)] if column.by_seat else [column.name]
        fields += [(name, "<" + column.dtype) for name in names]
    return np.dtype(fields)


def describe(table: str) -> str:
    """The columns of a table as a Markdown table."""
    rows = [
        f"| `{c.name}{'_SEAT' if c.by_seat else ''}` | {np.dtype(c.dtype).name} | {c.note} |" for c in COLUMNS[table]
    ]
    return "\n".join(["| column | type | what |", "|---|---|---|", *rows])


def match_table(meta: Array, agents: Array, matches: Array, seats: int) -> Array:
    """The `matches` table. `meta (N,)` has deal, pairing and seating; `agents (N, S)`; `matches` from a batch."""
    out = np.zeros(len(matches), table_dtype("matches", seats))
    for name in ("deal", "pairing", "seating"):
        out[name] = meta[name]
    for name in ("rounds", "title"):
        out[name] = matches[name]
    _by_seat(out, "agent", agents, seats)
    for name in ("score", "won"):
        _by_seat(out, name, matches[name], seats)
    return out


def round_table(meta: Array, agents: Array, rounds: Array, seats: int) -> Array:
    """The `rounds` table; `rounds` from a batch, whose `match` counts in `meta` and `agents`."""
    out = np.zeros(len(rounds), table_dtype("rounds", seats))
    match = rounds["match"]
    for name in ("deal", "pairing", "seating"):
        out[name] = meta[name][match]
    out["round"] = rounds["round_number"]
    out["ending"] = rounds["blocked"]
    for name in ("lead", "opener", "last", "winner", "redeals", "plies"):
        out[name] = rounds[name]
    _by_seat(out, "agent", agents[match], seats)
    for name in ("points", "pips", "tiles", "passes", "draws", "decisions"):
        _by_seat(out, name, rounds[name], seats)
    return out


def pass_table(meta: Array, agents: Array, passes: Array, seats: int) -> Array:
    """The `passes` table; `passes` from a batch, whose `match` counts in `meta` and `agents`."""
    out = np.zeros(len(passes), table_dtype("passes", seats))
    match = passes["match"]
    for name in ("deal", "pairing", "seating"):
        out[name] = meta[name][match]
    out["round"] = passes["round_number"]
    for name in ("ply", "seat", "number", "by"):
        out[name] = passes[name]
    out["distance"] = (passes["by"] - passes["seat"]) % seats
    out["agent"] = agents[match, passes["seat"]]
    out["by_agent"] = agents[match, passes["by"]]
    return out


def _by_seat(out: Array, name: str, values: Array, seats: int) -> None:
    for seat in range(seats):
        out[f"{name}_{seat}"] = values[:, seat]


class Digest:
    """A hash of tables that grows part by part and does not depend on where the parts were cut."""

    def __init__(self, tables: tuple[str, ...]) -> None:
        self._hashes = {table: hashlib.sha256() for table in tables}

    def add(self, table: str, rows: Array) -> None:
        """The next rows of a table."""
        self._hashes[table].update(rows.tobytes())

    def value(self) -> str:
        """The digest of everything so far."""
        joined = hashlib.sha256("".join(self._hashes[table].hexdigest() for table in sorted(self._hashes)).encode())
        return joined.hexdigest()[:32]


def to_frame(rows: Array, agents: list[str]) -> pd.DataFrame:
    """A table as a DataFrame; agents and endings as categories."""
    columns: dict[str, Any] = {}
    for name in rows.dtype.names or ():
        if name in ("agent", "by_agent") or name.startswith("agent_"):
            columns[name] = pd.Categorical.from_codes(rows[name], categories=pd.Index(agents))
        elif name == "ending":
            columns[name] = pd.Categorical.from_codes(rows[name], categories=pd.Index(ENDINGS))
        else:
            columns[name] = np.ascontiguousarray(rows[name])
    return pd.DataFrame(columns)


def has_parquet() -> bool:
    """Whether tables are written as parquet (pyarrow is installed) or as CSV."""
    return importlib.util.find_spec("pyarrow") is not None


class TableWriter:
    """Writes one table part by part: parquet when pyarrow is there, else CSV beside a JSON file of types."""

    def __init__(self, folder: Path, table: str, agents: list[str], seats: int, parquet: bool | None = None) -> None:
        self._parquet = has_parquet() if parquet is None else parquet
        self._agents = agents
        self.path = folder / f"{table}.{'parquet' if self._parquet else 'csv'}"
        self._writer: Any = None
        self._temporary = self.path.with_name(self.path.name + UNFINISHED)
        self.add(np.zeros(0, table_dtype(table, seats)))

    def __enter__(self) -> "TableWriter":
        return self

    def __exit__(self, *_: object) -> None:
        """Take the file away unless it was finished."""
        with contextlib.suppress(OSError):  # a full disk: what it held is not wanted
            self._end()
        self._temporary.unlink(missing_ok=True)

    def add(self, rows: Array) -> None:
        """The next rows."""
        frame = to_frame(rows, self._agents)
        if self._parquet:
            self._add_parquet(frame)
        else:
            first = self._writer is None
            frame.to_csv(self._temporary, mode="w" if first else "a", header=first, index=False)
            if first:
                self._write_schema(frame)
                self._writer = True

    def _add_parquet(self, frame: pd.DataFrame) -> None:
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        if self._writer is None:
            self._writer = pyarrow.parquet.ParquetWriter(self._temporary, table.schema, compression="zstd")
        else:
            self._writer.write_table(table)

    def _write_schema(self, frame: pd.DataFrame) -> None:
        types = {
            name: list(frame[name].cat.categories) if frame[name].dtype == "category" else str(frame[name].dtype)
            for name in frame
        }
        self.path.with_suffix(".schema.json").write_text(json.dumps(types, indent=1))

    def close(self) -> Path:
        """Finish the file; only now does it have its name."""
        self._end()
        self._temporary.replace(self.path)
        return self.path

    def _end(self) -> None:
        if self._parquet:
            import pyarrow

            self._writer.close()
            pyarrow.default_memory_pool().release_unused()


def read_table(path: str | Path, only: Collection[str] | None = None) -> pd.DataFrame:
    """A table written by a run: `read_table("results/rounds")`, with or without the ending.

    Args:
        only: names of `COLUMNS` (without a seat's number) to read; all of them unless given.

    Raises:
        SpecError: there is no such table.
    """
    given = Path(path)
    for candidate in (given, given.with_name(given.name + ".parquet"), given.with_name(given.name + ".csv")):
        if candidate.is_file() and candidate.suffix == ".parquet":
            return _read_parquet(candidate, only)
        if candidate.is_file() and candidate.suffix == ".csv":
            return _read_csv(candidate, only)
    raise SpecError(f"{given}: no such table; expected {given.name}.parquet or {given.name}.csv")


def _wanted(name: str, only: Collection[str] | None) -> bool:
    stem, _, seat = name.rpartition("_")
    return only is None or (stem if seat.isdigit() else name) in only


def _read_parquet(path: Path, only: Collection[str] | None) -> pd.DataFrame:
    """Column by column: never more than one is in memory twice."""
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        names = [name for name in file.schema_arrow.names if _wanted(name, only)]
        columns = {name: file.read([name]).to_pandas()[name] for name in names}
    return pd.DataFrame(columns, copy=False)


def _read_csv(path: Path, only: Collection[str] | None) -> pd.DataFrame:
    types: dict[str, Any] = json.loads(path.with_suffix(".schema.json").read_text())
    dtypes = {n: pd.CategoricalDtype(t) if isinstance(t, list) else t for n, t in types.items()}
    return pd.read_csv(path, dtype=dtypes, usecols=[name for name in dtypes if _wanted(name, only)])
