"""Long runs: killed, interrupted, out of time, out of disk, on any workers, and a million rounds long."""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import pty
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from domsim import cli, load_result, read_table, run_tournament
from domsim import run as run_module
from domsim.agent import agent_sources, load_agent
from domsim.errors import AgentError, DomsimError, SpecError, Unfinished
from domsim.games import GAMES
from domsim.report import write_report
from domsim.results import TableWriter
from domsim.run import Result, Store, read_manifest, run_in_folder
from domsim.tournament import Plan, Spec, make_plan, play_deals

DOMSIM = Path(sys.executable).with_name("domsim")
TABLES = ("matches", "rounds", "passes")
SPEC = Spec("cuban", ("careful", "random"), 60, "smoke", passes=True)
CHUNK = 4
#: what a run leaves: nothing else is in its folder in the end
FILES = {"manifest.json", "sums.npz", "summary.csv", *(f"{table}.parquet" for table in TABLES)}
#: an agent that ends its worker once, when two chunks are finished
ONCE = """
import os
from pathlib import Path

class Once:
    "heavy tiles, and one sudden death"

    def score(self, moves):
        marker = Path(MARKER)
        if not marker.exists() and len(list(Path(PARTS).glob("*.npz"))) >= 2:
            marker.touch()
            os.kill(os.getpid(), 9)
        return moves["pips"]
"""
MINE = """
class Mine:
    "heavy tiles, times something"

    def __init__(self, times=1):
        self.times = times

    def score(self, moves):
        return moves["pips"] * self.times + moves["double"]
"""
CLUSTER = Spec("cuban", ("mine.py?times=2", "careful"), 24, "smoke")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(SPEC)


@pytest.fixture(scope="module")
def whole(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The run that nothing disturbed."""
    return run_in_folder(plan, tmp_path_factory.mktemp("whole") / "run", chunk=CHUNK)


def same(folder: Path, whole: Result, files: set[str] = FILES) -> bool:
    """Whether a finished run has the tables of another, and nothing is left over."""
    assert whole.folder is not None
    assert {path.name for path in folder.iterdir()} == files
    for table in TABLES if whole.plan.spec.passes else TABLES[:2]:
        pd.testing.assert_frame_equal(read_table(folder / table), read_table(whole.folder / table))
    assert (folder / "summary.csv").read_bytes() == (whole.folder / "summary.csv").read_bytes()
    return bool(read_manifest(folder)["digest"] == whole.digest)


def forked(work: Callable[[], object]) -> int:
    """Start work in a process of its own, which has everything loaded that this one has; its id."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    finally:
        os._exit(0)


def start(*arguments: object, cwd: Path, **how: Any) -> "subprocess.Popen[str]":
    words = [str(DOMSIM), *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
    return subprocess.Popen(words, cwd=cwd, text=True, start_new_session=True, **pipes)


def ended(process: "subprocess.Popen[str]") -> tuple[int, list[str], str]:
    """How a command ended: exit code, lines of standard error, standard output."""
    out, error = process.communicate(timeout=100)
    lines = [line for line in error.splitlines() if line and not line.startswith("compiling the rules")]
    return process.returncode, lines, out


def tournament(plan: Plan, out: Path, *more: object, chunk: int = CHUNK) -> list[object]:
    spec = plan.spec
    words: list[object] = ["tournament", spec.game, "--agents", ",".join(spec.agents), "--deals", spec.deals]
    words += ["--suite", spec.suite, "--chunk", chunk, "--out", out, *more]
    return [*words, "--passes"] if spec.passes else words


def parts(folder: Path) -> list[Path]:
    return sorted((folder / "parts").glob("*.npz"))


def wait_for_parts(folder: Path, process: "subprocess.Popen[str]", number: int = 2) -> None:
    end = time.monotonic() + 60
    while len(parts(folder)) < number:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.002)


# --- killed ----------------------------------------------------------------------------------------------------------


def test_killed_at_ten_moments(plan: Plan, whole: Result, tmp_path: Path) -> None:
    began = time.monotonic()
    run_in_folder(plan, tmp_path / "timed", chunk=CHUNK)
    lasts = time.monotonic() - began
    chance = random.Random(1)
    kills = 0
    folder = tmp_path / "killed"
    for _ in range(10):
        child = forked(lambda: run_in_folder(plan, tmp_path / "killed", chunk=CHUNK, resume=True))
        time.sleep(chance.uniform(0.02, 0.4) * lasts)
        os.kill(child, signal.SIGKILL)
        kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        if (folder / "manifest.json").exists() and read_manifest(folder)["status"] == "finished":
            run_in_folder(plan, folder, resume=True)
            assert same(folder, whole)
            shutil.rmtree(folder)
    run_in_folder(plan, folder, chunk=CHUNK, resume=True)
    assert kills >= 5
    assert same(folder, whole)


def kill_at(monkeypatch: pytest.MonkeyPatch, moment: int) -> Callable[[], int]:
    """Kill this process before the so manieth write, rename or removal; what is returned tells how many there were."""
    done = 0

    def counted(old: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal done
            if done == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            done += 1
            return old(*arguments, **named)

        return call

    monkeypatch.setattr(TableWriter, "add", counted(TableWriter.add))
    monkeypatch.setattr(Path, "replace", counted(Path.replace))
    monkeypatch.setattr(shutil, "rmtree", counted(shutil.rmtree))
    return lambda: done


@pytest.mark.parametrize("parquet", [True, False])
def test_killed_at_steps_of_the_end(
    parquet: bool, plan: Plan, whole: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_at_steps(parquet, plan, whole, tmp_path, monkeypatch, 5)


@pytest.mark.slow
@pytest.mark.parametrize("parquet", [True, False])
def test_killed_at_every_step_of_the_end(
    parquet: bool, plan: Plan, whole: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_at_steps(parquet, plan, whole, tmp_path, monkeypatch, 1)


def kill_at_steps(
    parquet: bool, plan: Plan, whole: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    monkeypatch.setattr("domsim.results.has_parquet", lambda: parquet)
    files = FILES if parquet else {f.replace("parquet", "csv") for f in FILES} | {f"{t}.schema.json" for t in TABLES}
    played = tmp_path / "played"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "finish", lambda _: None)
        run_in_folder(plan, played, chunk=20)
    with pytest.MonkeyPatch.context() as patch:
        moments = kill_at(patch, -1)
        run_in_folder(plan, shutil.copytree(played, tmp_path / "counted"), resume=True)
    assert moments() > 15
    for moment in [*range(0, moments() - 1, every), moments() - 1]:
        folder = shutil.copytree(played, tmp_path / f"{moment}")

        def work(folder: Path = folder, moment: int = moment) -> None:
            kill_at(monkeypatch, moment)
            run_in_folder(plan, folder, resume=True)

        child = forked(work)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
        run_in_folder(plan, folder, resume=True)
        assert same(folder, whole, files)


def kill_command(plan: Plan, whole: Result, folder: Path, moments: list[float]) -> None:
    for moment in moments:
        process = start(*tournament(plan, folder, "--resume"), cwd=folder.parent)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(moment)
        process.kill()
        process.communicate()
    assert ended(start(*tournament(plan, folder, "--resume"), cwd=folder.parent))[:2] == (0, [])
    assert same(folder, whole, FILES | {"report.html", "report.md", "plots"})
    assert all(path.suffix == ".png" for path in (folder / "plots").iterdir())


def test_the_command_killed(plan: Plan, whole: Result, tmp_path: Path) -> None:
    kill_command(plan, whole, tmp_path / "run", [2.5])


@pytest.mark.slow
def test_the_command_killed_at_ten_moments(plan: Plan, whole: Result, tmp_path: Path) -> None:
    chance = random.Random(2)
    kill_command(plan, whole, tmp_path / "run", [chance.uniform(0.5, 6) for _ in range(10)])


def once(tmp_path: Path) -> tuple[Plan, Path, Result]:
    """A plan with an agent that kills its worker once, the folder in which it does, and the run without that."""
    marker, folder = tmp_path / "marker", tmp_path / "run"
    file = tmp_path / "once.py"
    file.write_text(ONCE.replace("MARKER", repr(str(marker))).replace("PARTS", repr(str(folder / "parts"))))
    marker.touch()
    plan = make_plan(Spec("cuban", (str(file), "random"), 30, "smoke"))
    whole = run_in_folder(plan, tmp_path / "whole")
    marker.unlink()
    return plan, folder, whole


def test_a_killed_worker_process(tmp_path: Path) -> None:
    plan, folder, whole = once(tmp_path)
    code, lines, _ = ended(start(*tournament(plan, folder, "--jobs", 2, chunk=2), cwd=tmp_path))
    assert (tmp_path / "marker").exists()
    assert code == 1
    assert len(lines) == 1
    assert re.fullmatch(rf"domsim: a worker process ended.*\d+ of 15 chunks.*--resume --out {folder}", *lines)
    kept = {path: path.read_bytes() for path in parts(folder)}
    assert len(kept) >= 2
    assert run_in_folder(plan, folder, jobs=2, resume=True).digest == whole.digest
    assert same(folder, whole, {"manifest.json", "sums.npz", "summary.csv", "matches.parquet", "rounds.parquet"})


def test_a_killed_worker_of_a_cluster(tmp_path: Path) -> None:
    plan, folder, whole = once(tmp_path)
    code, lines, _ = ended(start(*tournament(plan, folder, "--cluster", "local:2", chunk=2), cwd=tmp_path))
    assert (tmp_path / "marker").exists()
    assert (code, lines) == (0, [])
    assert read_manifest(folder)["digest"] == whole.digest


@pytest.mark.slow
def test_a_cluster_whose_workers_are_killed_again_and_again(tmp_path: Path) -> None:
    plan, folder, _ = once(tmp_path)
    file = tmp_path / "once.py"
    file.write_text(file.read_text().replace("marker.touch()", "pass"))
    code, lines, _ = ended(start(*tournament(plan, folder, "--cluster", "local:2", chunk=2), cwd=tmp_path))
    assert code == 1
    assert len(lines) == 1
    assert "--resume" in lines[0]
    assert len(parts(folder)) >= 2


# --- disks -----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True)
    if made.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk(plan: Plan, whole: Result, tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "size=160k") as disk:
        with pytest.raises(SpecError, match="No space left") as error:
            run_in_folder(plan, disk / "run", chunk=CHUNK)
        assert "\n" not in str(error.value)
        store = Store.open(disk / "run", plan, CHUNK, "", resume=True)
        kept = [chunk for chunk in store.chunks if chunk not in store.missing()]
        assert len(kept) >= 2
        for first, deals in kept:
            assert store.load(first).rounds.tobytes() == play_deals(plan, first, deals).rounds.tobytes()
        subprocess.run(["mount", "-o", "remount,size=50m", disk], check=True)
        run_in_folder(plan, disk / "run", resume=True)
        assert same(disk / "run", whole)


@pytest.mark.parametrize("where", ["add", "close", "part", "manifest"])
def test_a_disk_full_at_any_write(
    where: str, plan: Plan, whole: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = 5
    old = {"add": TableWriter.add, "close": TableWriter.close, "write": run_module.write_whole}

    def full(*arguments: Any) -> Any:
        nonlocal room
        wanted = where in ("add", "close") or (".npz" if where == "part" else "manifest") in arguments[0].name
        room -= wanted
        if room < {"add": 0, "part": 0, "close": 3, "manifest": 4}[where] and wanted:
            raise OSError(errno.ENOSPC, "No space left on device")
        return old[where if where in old else "write"](*arguments)

    with monkeypatch.context() as patch:
        if where in old:
            patch.setattr(TableWriter, where, full)
        else:
            patch.setattr(run_module, "write_whole", full)
        with pytest.raises(SpecError, match=r"No space left.*kept"):
            run_in_folder(plan, tmp_path / "run", chunk=CHUNK)
    assert len(parts(tmp_path / "run")) == (5 if where == "part" else 15)
    assert not list((tmp_path / "run").rglob("*.part"))
    run_in_folder(plan, tmp_path / "run", resume=True)
    assert same(tmp_path / "run", whole)


def test_an_unwritable_folder(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file" / "run", Path("/proc/domsim/run")):
        with pytest.raises(SpecError, match=f"{folder}: cannot be written") as error:
            run_in_folder(plan, folder)
        assert "\n" not in str(error.value)
    code, lines, _ = ended(start(*tournament(plan, tmp_path / "file" / "run"), cwd=tmp_path))
    assert code == 1
    assert len(lines) == 1


def test_a_folder_that_can_only_be_read(plan: Plan, whole: Result, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=50m") as disk:
        store = Store.open(disk / "run", plan, CHUNK, "", resume=False)
        store.save(0, play_deals(plan, 0, CHUNK))
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        for folder in (disk / "run", disk / "other"):
            with pytest.raises(SpecError, match="cannot be written: Read-only"):
                run_in_folder(plan, folder, resume=True)
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        assert run_in_folder(plan, disk / "run", resume=True).digest == whole.digest


def test_a_broken_part_is_named(plan: Plan, tmp_path: Path) -> None:
    store = Store.open(tmp_path, plan, 30, "", resume=False)
    (tmp_path / "parts" / f"{0:012d}.npz").write_bytes(b"PK\x03\x04 half")
    with pytest.raises(SpecError, match=r"0\.npz: cannot be read.*delete it"):
        run_in_folder(plan, tmp_path, resume=True)
    assert store.missing() == []


# --- interrupted, out of time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("agent", "jobs"), [("careful", 1), ("careful", 2), ("mine.py", 2)])
def test_interrupted(agent: str, jobs: int, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    name = agent if agent == "careful" else str(tmp_path / agent)
    plan = make_plan(Spec("cuban", (name, "random"), 2000 if agent == "careful" else 800, "smoke"))
    process = start(*tournament(plan, tmp_path / "run", "--jobs", jobs, chunk=20), cwd=tmp_path)
    wait_for_parts(tmp_path / "run", process)
    os.killpg(process.pid, signal.SIGINT)
    code, lines, _ = ended(process)
    assert code == 130
    assert lines == [f"domsim: interrupted; finished chunks are kept, go on with --resume --out {tmp_path / 'run'}"]
    assert 2 <= len(parts(tmp_path / "run")) < plan.spec.deals // 20
    resumed = run_in_folder(plan, tmp_path / "run", resume=True)
    assert resumed.digest == run_in_folder(plan, tmp_path / "whole").digest


def test_interrupted_while_the_tables_are_written(
    plan: Plan, whole: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TableWriter, "close", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run_in_folder(plan, tmp_path / "run", chunk=CHUNK)
    assert not list(tmp_path.rglob("*.part"))
    run_in_folder(plan, tmp_path / "run", resume=True)
    assert same(tmp_path / "run", whole)


def test_out_of_time(plan: Plan, whole: Result, tmp_path: Path) -> None:
    for left in range(14, 0, -1):
        with pytest.raises(Unfinished, match=f"time is up with {left} of 15 chunks to play; go on with --resume"):
            run_in_folder(plan, tmp_path / "run", chunk=CHUNK, jobs=1 + left % 2, seconds=0, resume=True)
    run_in_folder(plan, tmp_path / "run", seconds=0, resume=True)
    assert same(tmp_path / "run", whole)


def test_the_command_out_of_time(tmp_path: Path) -> None:
    plan = make_plan(Spec("cuban", ("careful", "random"), 100_000, "smoke"))
    left = []
    for more in ([], ["--resume"]):
        code, lines, out = ended(start(*tournament(plan, tmp_path / "run", "--time", "1s", *more), cwd=tmp_path))
        assert (code, out) == (0, "")
        assert len(lines) == 1
        found = re.fullmatch(r"domsim: time is up with (\d+) of 25000 chunks to play; go on with --resume.*", lines[0])
        assert found is not None
        left.append(int(found[1]))
    assert 25_000 > left[0] > left[1] > 0
    with pytest.raises(DomsimError, match="--out"):
        cli.tournament("cuban", "careful,random", resume=True)


# --- workers anywhere ------------------------------------------------------------------------------------------------


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder outside the package, the working directory, with an agent and a suite of its own."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "mine.py").write_text(MINE)
    (home / "own.toml").write_text('name = "own"\nkey = 77\ndeals = 1000\npurpose = "none"\n')
    (home / "light.toml").write_text("[weights.cuban]\npips = -1\n")
    monkeypatch.chdir(home)
    return home


def test_equal_digests_on_any_workers(elsewhere: Path) -> None:
    how: dict[str, Any] = {"suite": "./own.toml", "chunk": 5}
    compiled = run_tournament("cuban", ["light.toml", "careful"], 24, **how).digest
    assert run_tournament("cuban", ["light.toml", "careful"], 24, jobs=3, **how).digest == compiled
    agents = ["mine.py?times=2", "light.toml"]
    assert run_tournament("cuban", ["mine.py", "light.toml"], 24, jobs=2, **how)  # the processes are here now
    (elsewhere / "below").mkdir()
    for file in elsewhere.glob("*.*"):
        shutil.move(file, elsewhere / "below" / file.name)
    os.chdir(elsewhere / "below")
    alone = run_tournament("cuban", agents, 24, **how).digest
    assert run_tournament("cuban", agents, 24, jobs=2, **how).digest == alone


def test_equal_digests_on_a_cluster(elsewhere: Path) -> None:
    plan = make_plan(CLUSTER)
    more = ["--cluster", "local:2"]
    assert ended(start(*tournament(plan, Path("run"), *more), cwd=elsewhere))[:2] == (0, [])
    expected = run_tournament("cuban", list(CLUSTER.agents), CLUSTER.deals, suite="smoke").digest
    assert read_manifest(elsewhere / "run")["digest"] == expected


def test_agents_and_suite_travel(elsewhere: Path, tmp_path: Path) -> None:
    spec = Spec("cuban", ("mine.py:Mine?times=2", "light.toml"), 12, "own.toml")
    plan = make_plan(spec)
    expected = play_deals(plan, 0, 12)
    bundle = plan.bundle.to_json()
    shutil.rmtree(elsewhere)
    away = tmp_path / "away"
    away.mkdir()
    code = (
        "import sys, hashlib; from domsim.tournament import _play_bundled;"
        "first, deals, chunk = _play_bundled(sys.stdin.read(), 0, 12, 100);"
        "print(hashlib.sha256(chunk.matches.tobytes() + chunk.rounds.tobytes()).hexdigest())"
    )
    environment = {**os.environ, "TMPDIR": str(away)}
    words = [sys.executable, "-c", code]
    found = subprocess.run(words, input=bundle, cwd=away, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == hashlib.sha256(expected.matches.tobytes() + expected.rounds.tobytes()).hexdigest()
    assert list(away.iterdir()) == []


def test_an_agent_that_has_travelled_says_where_it_fails(elsewhere: Path) -> None:
    source = agent_sources(["mine.py"])
    (elsewhere / "mine.py").write_text("something else")
    assert load_agent("mine.py", GAMES["cuban"], source).bot.times == 1
    (elsewhere / "bad.py").write_text("class A:\n    def score(self, moves): ...\n\n1 / 0\n")
    source = agent_sources(["bad.py"])
    (elsewhere / "bad.py").unlink()
    with pytest.raises(AgentError, match=r"bad\.py: line 4: ZeroDivisionError"):
        load_agent("bad.py", GAMES["cuban"], source)


def test_an_agent_finds_what_lies_beside_it(elsewhere: Path) -> None:
    beside = "from pathlib import Path\nBESIDE = int(Path(__file__).with_name('times.txt').read_text())\n"
    (elsewhere / "mine.py").write_text(beside + MINE.replace("times=1", "times=BESIDE"))
    (elsewhere / "times.txt").write_text("3")
    agents = ["mine.py", "random"]
    alone = run_tournament("cuban", agents, 8, suite="smoke").digest
    assert run_tournament("cuban", agents, 8, suite="smoke", jobs=2, chunk=4).digest == alone


def test_a_changed_agent_or_suite_is_another_run(elsewhere: Path) -> None:
    spec = Spec("cuban", ("mine.py", "random"), 8, "own.toml")
    prints = {make_plan(spec).fingerprint}
    (elsewhere / "own.toml").write_text((elsewhere / "own.toml").read_text().replace("77", "78"))
    prints.add(make_plan(spec).fingerprint)
    (elsewhere / "mine.py").write_text(MINE + "\n")
    prints.add(make_plan(spec).fingerprint)
    assert len(prints) == 3


def test_a_finished_run_does_not_take_the_agents(elsewhere: Path, tmp_path: Path) -> None:
    spec = Spec("cuban", ("mine.py", "light.toml"), 20, "own.toml")
    result = run_in_folder(make_plan(spec), tmp_path / "run")
    write_report(result, tmp_path / "run")
    report = (tmp_path / "run" / "report.html").read_bytes()
    assert b"heavy tiles, times something" in report
    os.chdir(tmp_path)
    shutil.rmtree(elsewhere)
    loaded = load_result("run")
    pd.testing.assert_frame_equal(loaded.summary, result.summary)
    pd.testing.assert_frame_equal(loaded.pairs, result.pairs)
    write_report(loaded, tmp_path / "run")
    assert (tmp_path / "run" / "report.html").read_bytes() == report
    with pytest.raises(SpecError, match="unknown suite"):
        _ = loaded.plan.agents


def test_a_run_of_another_version_is_refused(whole: Result, tmp_path: Path) -> None:
    assert whole.folder is not None
    folder = shutil.copytree(whole.folder, tmp_path / "run")
    with np.load(folder / "sums.npz") as saved:
        sums = saved["sums"]
    np.savez(folder / "sums.npz", sums=sums[[name for name in sums.dtype.names if name != "closed"]])
    with pytest.raises(SpecError, match="another version"):
        load_result(folder)
    np.savez(folder / "sums.npz", other=sums)
    with pytest.raises(SpecError, match="cannot be read"):
        load_result(folder)
    (folder / "sums.npz").unlink()
    with pytest.raises(SpecError, match="cannot be read"):
        load_result(folder)
    manifest = read_manifest(folder)
    manifest["spec"]["flavour"] = "new"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(SpecError, match=r"flavour.*another version"):
        load_result(folder)


# --- large, and seen from a terminal ---------------------------------------------------------------------------------


def peak(deals: int, folder: Path, *more: object) -> float:
    """The most memory, in MB, that the command takes with all tables and its report.

    Asked of the process itself: what `wait4` says counts this process too, from before the command replaced its copy.
    """
    plan = make_plan(Spec("cuban", ("careful", "random"), deals, "smoke", passes=True))
    process = start(*tournament(plan, folder, *more, chunk=500), cwd=folder.parent, stdout=None, stderr=None)
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():
        pytest.skip("the memory of another process is read from /proc")
    most = 0
    while process.poll() is None:
        with contextlib.suppress(OSError):
            found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
            most = max(most, int(found[1])) if found else most
        time.sleep(0.02)
    assert process.returncode == 0
    assert most > 0
    return most / 1000


def test_memory_does_not_grow_with_the_run(tmp_path: Path) -> None:
    small, large = peak(500, tmp_path / "small"), peak(8000, tmp_path / "large")
    assert len(read_table(tmp_path / "large" / "rounds")) > 60_000
    assert large < small + 60  # of these the report's tables and the sums by deal


@pytest.mark.slow
def test_a_million_rounds(tmp_path: Path) -> None:
    assert peak(132_000, tmp_path / "run") < 600
    assert len(read_table(tmp_path / "run" / "rounds")) > 1_000_000


def test_progress_is_shown_on_a_terminal(plan: Plan, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    process = start(*tournament(plan, tmp_path / "run"), cwd=tmp_path, stderr=theirs)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal's other end is gone
        while piece := os.read(ours, 10_000):
            shown += piece
    os.close(ours)
    process.communicate()
    assert process.returncode == 0
    # that it is shown on a terminal only, the empty `lines` of other tests say
    assert re.search(rb"60/60 \[\d\d:\d\d<\d\d:\d\d, +[\d.]+deal/s\]", shown)
