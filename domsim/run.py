"""One run: a spec played into a folder, part by part, so that nothing finished is ever lost."""

import contextlib
import io
import os
import shutil
import sys
import time
import zipfile
from collections.abc import Collection, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from domsim.errors import SpecError, Unfinished
from domsim.results import UNFINISHED, Digest, TableWriter, read_table, to_frame
from domsim.summary import SUMS_DTYPE, add_sums, blocking, pair_table, summary
from domsim.tournament import (
    Chunk,
    Part,
    Plan,
    Spec,
    WorkerLost,
    chunk_size,
    chunks_of,
    make_plan,
    outline,
    play_chunks,
    versions,
)

_PARTS = ("matches", "rounds", "sums", "passes")
MANIFEST = "manifest.json"
PARTS = "parts"
SUMS = "sums.npz"
#: what a broken file of numpy's makes `np.load` raise
_UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)
#: the tables of the digest; `passes` follows from the same actions
_TABLES = ("matches", "rounds")


@dataclass(frozen=True)
class Result:
    """What a run found: its plan, sums by deal, summary, and tables in memory or in a folder."""

    plan: Plan
    sums: Any
    digest: str
    folder: Path | None = None
    chunks: tuple[Chunk, ...] = ()

    @property
    def agents(self) -> list[str]:
        """The roster."""
        return list(self.plan.spec.agents)

    @property
    def summary(self) -> pd.DataFrame:
        """One row an agent, with 95 % intervals by deal."""
        return summary(self.plan.game, self.sums, self.agents)

    @property
    def pairs(self) -> pd.DataFrame:
        """One row a pairing of two agents."""
        return pair_table(self.plan.game, self.sums, self.agents, [p.agents for p in self.plan.pairings])

    @property
    def blocking(self) -> pd.DataFrame:
        """One row an agent: who closes blocked rounds, and who makes whom pass (with the `passes` table only)."""
        return blocking(self.plan.game, self.sums, self.agents)

    @property
    def passes(self) -> pd.DataFrame:
        """The `passes` table; empty when the spec does not ask for it."""
        return self._table("passes")

    @property
    def matches(self) -> pd.DataFrame:
        """The `matches` table."""
        return self._table("matches")

    @property
    def rounds(self) -> pd.DataFrame:
        """The `rounds` table."""
        return self._table("rounds")

    def rounds_with(self, only: Collection[str]) -> pd.DataFrame:
        """Some columns of the `rounds` table, by names of `results.COLUMNS`: a million rounds are large."""
        return self.rounds if self.folder is None else read_table(self.folder / "rounds", only)

    def _table(self, table: str) -> pd.DataFrame:
        if self.folder is not None:
            return read_table(self.folder / table)
        return to_frame(np.concatenate([getattr(chunk, table) for chunk in self.chunks]), self.agents)

    def _repr_html_(self) -> str:
        """The summary, for notebooks."""
        html: str = self.summary.to_html(index=False, float_format="{:.3f}".format)
        return html


def run_tournament(
    game: str,
    agents: list[str],
    deals: int,
    *,
    jobs: int = 1,
    out: str | Path | None = None,
    chunk: int | None = None,
    progress: bool = False,
    **spec: Any,
) -> Result:
    """Play a tournament; with `out` its tables go there, else they stay in memory.

    Args:
        chunk: deals that are handed out at once; None: an eighth of them, 500 at most.
        spec: further fields of `Spec`: suite, seed, seats, lineup, rounds, rules.

    Raises:
        DomsimError: something unknown, out of range or broken.
    """
    plan = make_plan(Spec(game, tuple(agents), deals, **spec))
    if out is not None:
        return run_in_folder(plan, Path(out), jobs=jobs, chunk=chunk, progress=progress)
    todo = chunks_of(plan.spec, chunk or chunk_size(plan.spec))
    found = {first: part for first, _, part in _with_progress(plan, todo, jobs, progress, deals)}
    parts = tuple(found[first] for first, _ in todo)
    digest = Digest(_TABLES)
    for part in parts:
        for table in _TABLES:
            digest.add(table, getattr(part, table))
    return Result(plan, add_sums([part.sums for part in parts]), digest.value(), chunks=parts)


def run_in_folder(
    plan: Plan,
    folder: Path,
    *,
    jobs: int = 1,
    chunk: int | None = None,
    progress: bool = False,
    resume: bool = False,
    command: str = "",
    seconds: float | None = None,
    cluster: str | None = None,
) -> Result:
    """Play a plan into a folder: finished chunks are kept as files until the tables are written from them.

    Args:
        resume: go on with what the folder holds of the same run.
        seconds: stop, unfinished but resumable, after about this long.
        cluster: a dask cluster to play on, `tcp://HOST:PORT` or `local:WORKERS`.

    Raises:
        SpecError: the folder holds another run, or cannot be written.
        WorkerLost: a worker was killed; the chunks played so far are kept.
        Unfinished: time is up; the chunks played so far are kept.
    """
    store = Store.open(folder, plan, chunk or chunk_size(plan.spec), command, resume)
    if store.manifest["status"] == "finished":
        return load_result(folder)
    end = None if seconds is None else time.monotonic() + seconds
    parts = _with_progress(plan, store.missing(), jobs, progress, plan.spec.deals, cluster)
    try:
        with contextlib.closing(parts):
            for first, _, part in parts:
                store.save(first, part)
                if end is not None and time.monotonic() > end and store.missing():
                    raise Unfinished(f"time is up with {store.how_to_go_on()}")
    except WorkerLost as error:
        raise WorkerLost(f"{error}; {store.how_to_go_on()}") from None
    return store.finish()


def load_result(folder: str | Path) -> Result:
    """The result of a finished run; it does not take the agents' files.

    Raises:
        SpecError: there is no finished run in the folder, or another version wrote it.
    """
    place = Path(folder)
    manifest = read_manifest(place)
    if manifest["status"] != "finished":
        raise SpecError(f"{place}: the run is not finished; go on with --resume")
    try:
        plan = outline(msgspec.convert(manifest["spec"], Spec))
        with np.load(place / SUMS) as saved:
            sums = saved["sums"]
    except msgspec.ValidationError as error:
        raise SpecError(f"{place / MANIFEST}: {error}; written by another version of domsim?") from None
    except _UNREADABLE as error:
        raise SpecError(f"{place / SUMS}: cannot be read: {error}") from None
    if sums.dtype != SUMS_DTYPE:
        raise SpecError(f"{place / SUMS}: written by another version of domsim, other columns; play the run again")
    return Result(plan, sums, manifest["digest"], place)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a run.

    Raises:
        SpecError: there is none.
    """
    try:
        manifest: dict[str, Any] = msgspec.json.decode((folder / MANIFEST).read_bytes())
    except FileNotFoundError:
        raise SpecError(f"{folder}: no run here ({MANIFEST} is missing)") from None
    except (OSError, msgspec.DecodeError) as error:
        raise SpecError(f"{folder / MANIFEST}: cannot be read: {error}") from None
    return manifest


class Store:
    """The folder of a run: `manifest.json`, finished chunks under `parts`, in the end the tables."""

    def __init__(self, folder: Path, plan: Plan, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.plan = plan
        self.manifest = manifest
        self.chunks = chunks_of(plan.spec, manifest["chunk"])

    @classmethod
    def open(cls, folder: Path, plan: Plan, chunk: int, command: str, resume: bool) -> "Store":
        """Begin a run, or go on with one.

        Raises:
            SpecError: the folder holds another run, or a run and `resume` is not asked for, or cannot be written.
        """
        if (folder / MANIFEST).exists():
            manifest = read_manifest(folder)
            if manifest["fingerprint"] != plan.fingerprint:
                raise SpecError(
                    f"{folder}: holds another run (spec, agent files or version differ); choose another --out"
                )
            if not resume and manifest["status"] != "finished":
                raise SpecError(
                    f"{folder}: holds an unfinished run of this; go on with --resume, or choose another --out"
                )
            made = cls(folder, plan, manifest)
            made.clean()
            return made
        made = cls(folder, plan, _new_manifest(plan, chunk, command))
        try:
            (folder / PARTS).mkdir(parents=True, exist_ok=True)
            made.clean()
            made.write_manifest()
        except OSError as error:
            raise SpecError(f"{folder}: cannot be written: {error.strerror}") from None
        return made

    def clean(self) -> None:
        """Take away what a run that was killed has left half written, or no longer needs."""
        if self.manifest["status"] == "finished":
            shutil.rmtree(self.folder / PARTS, ignore_errors=True)
        for place in (self.folder, self.folder / PARTS, self.folder / "plots"):
            for file in place.glob("*" + UNFINISHED):
                file.unlink(missing_ok=True)

    def how_to_go_on(self) -> str:
        """What is left to be played, and how."""
        return f"{len(self.missing())} of {len(self.chunks)} chunks to play; go on with --resume --out {self.folder}"

    def write_manifest(self) -> None:
        """Write the manifest as it is now."""
        data = msgspec.json.format(msgspec.json.encode(self.manifest), indent=2)
        write_whole(self.folder / MANIFEST, data)

    def _part(self, first: int) -> Path:
        return self.folder / PARTS / f"{first:012d}.npz"

    def missing(self) -> list[tuple[int, int]]:
        """The chunks that are still to be played."""
        return [(first, deals) for first, deals in self.chunks if not self._part(first).exists()]

    def save(self, first: int, part: Chunk) -> None:
        """Keep a finished chunk.

        Raises:
            SpecError: it cannot be written; the chunks before it are kept.
        """
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **{name: getattr(part, name) for name in _PARTS})
        try:
            write_whole(self._part(first), buffer.getvalue())
        except OSError as error:
            raise SpecError(
                f"{self._part(first)}: cannot be written: {error.strerror}; finished chunks are kept"
            ) from None

    def load(self, first: int) -> Chunk:
        """A finished chunk.

        Raises:
            SpecError: its file is broken.
        """
        path = self._part(first)
        try:
            with np.load(path) as saved:
                return Chunk(**{name: saved[name] for name in _PARTS})
        except _UNREADABLE as error:
            raise SpecError(f"{path}: cannot be read: {error}; delete it, and go on with --resume") from None

    def finish(self) -> Result:
        """Write the tables from the chunks, one after the other, then drop the chunks.

        Raises:
            SpecError: they cannot be written; the chunks are kept.
        """
        try:
            result = self._write_tables()
            buffer = io.BytesIO()
            np.savez_compressed(buffer, sums=result.sums)
            write_whole(self.folder / SUMS, buffer.getvalue())
            write_whole(self.folder / "summary.csv", result.summary.to_csv(index=False).encode())
            self.manifest |= {"status": "finished", "digest": result.digest}
            self.write_manifest()
        except OSError as error:
            raise SpecError(
                f"{self.folder}: the tables cannot be written: {error.strerror or error}; "
                "all chunks are kept, go on with --resume"
            ) from None
        self.clean()
        return result

    def _write_tables(self) -> Result:
        tables = (*_TABLES, "passes") if self.plan.spec.passes else _TABLES
        digest = Digest(_TABLES)
        sums = []
        with contextlib.ExitStack() as stack:
            agents, seats = list(self.plan.spec.agents), self.plan.seats
            writers = {table: stack.enter_context(TableWriter(self.folder, table, agents, seats)) for table in tables}
            for first, _ in self.chunks:
                part = self.load(first)
                sums.append(part.sums)
                for table, writer in writers.items():
                    writer.add(getattr(part, table))
                    if table in _TABLES:
                        digest.add(table, getattr(part, table))
            for writer in writers.values():
                writer.close()
        return Result(self.plan, add_sums(sums), digest.value(), self.folder)


def _new_manifest(plan: Plan, chunk: int, command: str) -> dict[str, Any]:
    names = plan.spec.agents
    return {
        "status": "playing",
        "digest": None,
        "command": command,
        "spec": msgspec.to_builtins(plan.spec),
        "fingerprint": plan.fingerprint,
        "chunk": chunk,
        "seats": plan.seats,
        "rules": msgspec.to_builtins(plan.rules),
        "agents": agent_facts(plan),
        "pairings": [[names[number] for number in pairing.agents] for pairing in plan.pairings],
        "versions": versions(),
    }


def agent_facts(plan: Plan) -> list[dict[str, Any]]:
    """What a manifest says of the agents."""
    return [
        {
            "agent": agent.spec,
            "kind": agent.kind_name,
            "about": agent.about,
            "file": Path(agent.path).name,
            "hash": agent.file_hash,
            "parameters": agent.parameters,
        }
        for agent in plan.agents
    ]


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}{UNFINISHED}")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _with_progress(
    plan: Plan, todo: list[tuple[int, int]], jobs: int, progress: bool, total: int, cluster: str | None = None
) -> Generator[Part, None, None]:
    """Play chunks behind a progress bar; deals played in an earlier run count as done."""
    done = total - sum(deals for _, deals in todo)
    parts = play_chunks(plan, todo, jobs, cluster=cluster)
    bar = tqdm(total=total, initial=done, unit="deal", disable=not progress, file=sys.stderr)
    with bar, contextlib.closing(parts):
        for first, deals, part in parts:
            bar.update(deals)
            yield first, deals, part
