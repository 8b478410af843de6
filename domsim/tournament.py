"""Tournaments: every pairing of a roster on the same deals in all seatings, in chunks of whole deals, resumable."""

import contextlib
import functools
import hashlib
import importlib.metadata
import itertools
import platform
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from domsim.agent import Agent, Source, agent_sources, load_agent
from domsim.batch import SLOTS, Batch
from domsim.core.driver import JOB, PYTHON
from domsim.errors import AgentFailedError, DomsimError, SpecError
from domsim.games import Game, find_game
from domsim.lineup import Pairing, pairings, seat_agents
from domsim.results import match_table, pass_table, round_table
from domsim.rules import Rules
from domsim.seeds import Suite, check_seed, deal_keys, find_suite
from domsim.summary import sums_by_deal
from domsim.tiles import quoted

Array = npt.NDArray[Any]
Part = tuple[int, int, "Chunk"]
#: Unless told otherwise there are so many chunks, that workers are not left idle, or more: of so many deals at most.
_CHUNKS, _LARGEST_CHUNK = 8, 500
_META = np.dtype([("deal", "i8"), ("pairing", "i2"), ("seating", "i1")])


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be played; with the agents' files and the version it fixes every number of the result."""

    game: str
    agents: tuple[str, ...]
    deals: int
    suite: str = "valid"
    seed: int = 0
    first_deal: int = 0
    seats: int | None = None
    lineup: str = "duel"
    rounds: int = 0  # of a match at most; 0: whole matches
    rules: dict[str, int | str] = {}
    passes: bool = False  # whether the `passes` table is written too

    def to_json(self) -> str:
        """The spec as one line of JSON, fields in order."""
        return msgspec.json.encode(self, order="deterministic").decode()


class Bundle(msgspec.Struct, frozen=True):
    """A spec with the files it names: all that a worker needs, wherever it is."""

    spec: Spec
    suite: Suite
    sources: dict[str, Source]  # by the agents' texts

    @classmethod
    def of(cls, spec: Spec) -> "Bundle":
        """The bundle of a spec, of the files as they are now.

        Raises:
            DomsimError: a file is not found, or cannot be read.
        """
        return cls(spec, find_suite(spec.suite), agent_sources(spec.agents))

    def to_json(self) -> str:
        """The bundle as one line of JSON."""
        return msgspec.json.encode(self, order="deterministic").decode()


@dataclass(frozen=True)
class Plan:
    """A spec that has been checked. The files it names are read when first asked for, unless they are given."""

    spec: Spec
    game: Game
    rules: Rules
    seats: int
    pairings: tuple[Pairing, ...]
    given: Bundle | None = None

    @functools.cached_property
    def bundle(self) -> Bundle:
        """The spec with the files it names."""
        return Bundle.of(self.spec) if self.given is None else self.given

    @functools.cached_property
    def agents(self) -> tuple[Agent, ...]:
        """The agents, ready to play."""
        return tuple(load_agent(name, self.game, self.bundle.sources) for name in self.spec.agents)

    @property
    def python(self) -> bool:
        """Whether an agent runs in Python: then processes share the work, not threads."""
        return any(agent.kind == PYTHON for agent in self.agents)

    @property
    def matches_a_deal(self) -> int:
        """Matches played on every deal."""
        return sum(len(pairing.seatings) for pairing in self.pairings)

    @property
    def fingerprint(self) -> str:
        """A hash of the spec, its suite, the agents' files and the version: runs are one run when it is the same."""
        hashes = [agent.file_hash for agent in self.agents]
        parts = [self.spec.to_json(), str(self.bundle.suite.key), *hashes, importlib.metadata.version("domsim")]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Chunk:
    """The result of some consecutive deals."""

    matches: Array
    rounds: Array
    sums: Array
    passes: Array


def outline(spec: Spec, given: Bundle | None = None) -> Plan:
    """The plan of a spec, checked as far as that takes no files.

    Raises:
        DomsimError: something in it is unknown or out of range.
    """
    game = find_game(spec.game)
    seats = game.check_seats(game.seats[0] if spec.seats is None else spec.seats)
    rules = game.rules.of(spec.rules)
    rules.check_seats(seats)
    check_seed(spec.seed)
    if spec.rounds < 0:
        raise SpecError(f"rounds: {spec.rounds} is not allowed; allowed: 0 (whole matches) or more")
    twice = [name for name in spec.agents if spec.agents.count(name) > 1]
    if twice:
        raise SpecError(f"agent {quoted(twice[0])} is there twice; give one of them ?stream=1")
    return Plan(spec, game, rules, seats, tuple(pairings(spec.lineup, seats, len(spec.agents))), given)


@functools.lru_cache(maxsize=8)
def _plan(bundle_json: str) -> Plan:
    bundle = msgspec.json.decode(bundle_json, type=Bundle)
    spec, suite = bundle.spec, bundle.suite
    plan = outline(spec, bundle)
    if spec.deals < 1 or spec.first_deal < 0 or spec.first_deal + spec.deals > suite.deals:
        last = spec.first_deal + spec.deals - 1
        raise SpecError(
            f"deals {spec.first_deal} to {last} are not all in suite {suite.name!r} (0 to {suite.deals - 1})"
        )
    plan.agents  # noqa: B018 - a broken agent is found here rather than in the middle of a run
    return plan


def make_plan(spec: Spec) -> Plan:
    """Check a spec and load what it names.

    Raises:
        DomsimError: something in it is unknown, out of range or broken.
    """
    return _plan(outline(spec).bundle.to_json())


def chunk_size(spec: Spec) -> int:
    """Deals of a chunk, unless told otherwise; it does not depend on the workers, so that any may go on with a run."""
    return min(_LARGEST_CHUNK, -(-spec.deals // _CHUNKS))


def chunks_of(spec: Spec, size: int) -> list[tuple[int, int]]:
    """The deals of a spec in chunks: first deal and number of deals."""
    end = spec.first_deal + spec.deals
    return [(first, min(size, end - first)) for first in range(spec.first_deal, end, size)]


def make_jobs(plan: Plan, first: int, deals: int) -> tuple[Array, Array, Array]:
    """The matches on some deals, in order of deal, pairing and seating.

    Returns:
        jobs `(N,) JOB`, their deal, pairing and seating `(N,)`, and the agents in the seats `(N, S) int16`.
    """
    numbers = np.arange(first, first + deals)
    keys = deal_keys(plan.bundle.suite, plan.spec.seed, numbers.tolist())
    a_deal = plan.matches_a_deal
    meta = np.zeros(deals * a_deal, _META)
    meta["deal"] = np.repeat(numbers, a_deal)
    meta["pairing"] = np.tile(np.repeat(np.arange(len(plan.pairings)), [len(p.seatings) for p in plan.pairings]), deals)
    meta["seating"] = np.tile(np.concatenate([np.arange(len(p.seatings)) for p in plan.pairings]), deals)
    agents = _seated(plan, keys)
    jobs = np.zeros(len(meta), JOB)
    jobs["key"] = np.repeat(keys, a_deal)
    jobs["rounds"] = plan.spec.rounds
    jobs["agent"][:, : plan.seats] = agents
    jobs["naming"][:, : plan.seats] = np.array([agent.opener for agent in plan.agents])[agents]
    jobs["stream"][:, : plan.seats] = np.array([agent.stream for agent in plan.agents])[agents]
    return jobs, meta, agents


def _seated(plan: Plan, keys: Array) -> Array:
    if plan.spec.lineup != "mix":
        return np.tile(np.concatenate([pairing.seatings for pairing in plan.pairings]), (len(keys), 1))
    seated = [seat_agents(plan.spec.lineup, pairing, int(key)) for key in keys for pairing in plan.pairings]
    return np.concatenate(seated)


def play_chunk(spec_json: str, first: int, deals: int, slots: int = SLOTS) -> Chunk:
    """Play some deals of a spec; the same whoever plays them, and with whatever other deals."""
    return play_deals(make_plan(msgspec.json.decode(spec_json, type=Spec)), first, deals, slots)


def play_deals(plan: Plan, first: int, deals: int, slots: int = SLOTS) -> Chunk:
    """Play some deals of a plan."""
    jobs, meta, agents = make_jobs(plan, first, deals)
    try:
        batch = Batch.of_jobs(
            plan.game, plan.rules, plan.seats, jobs, plan.agents, slots, passes=plan.spec.passes
        ).run()
    except AgentFailedError as error:
        raise _failed_in(plan.spec, error, meta, agents) from error.__cause__
    rounds, passes = batch.rounds, batch.passes
    return Chunk(
        match_table(meta, agents, batch.matches, plan.seats),
        round_table(meta, agents, rounds, plan.seats),
        sums_by_deal(plan.game, meta, agents, batch.matches, rounds, passes, len(plan.agents)),
        pass_table(meta, agents, passes, plan.seats),
    )


def _failed_in(spec: Spec, error: AgentFailedError, meta: Array, agents: Array) -> AgentFailedError:
    """The error of an agent with the deal, who sat where, and the command that plays the deal again."""
    known = error.at(suite=spec.suite, seed=spec.seed)
    match = error.facts.get("match")
    if match is None:
        return known
    deal = int(meta["deal"][match])
    seating = " ".join(spec.agents[number] for number in agents[match])
    return known.at(match=None, deal=deal, seating=seating, command=command_of(spec, deal))


def command_of(spec: Spec, deal: int) -> str:
    """The command that plays one deal of a spec again."""
    words: list[object] = ["domsim", "tournament", spec.game, "--agents", ",".join(spec.agents), "--suite", spec.suite]
    words += ["--seed", spec.seed, "--first-deal", deal, "--deals", 1, "--lineup", spec.lineup, "--jobs", 1]
    words += ["--seats", spec.seats] if spec.seats is not None else []
    words += ["--rounds", spec.rounds] if spec.rounds else []
    for name, value in spec.rules.items():
        words += ["-o", f"{name}={value}"]
    return shlex.join(map(str, words))


class WorkerLost(DomsimError):  # noqa: N818 - it says what happened
    """A worker process has ended before its work."""


def play_chunks(
    plan: Plan,
    todo: list[tuple[int, int]],
    jobs: int = 1,
    slots: int = SLOTS,
    in_order: bool = False,
    cluster: str | None = None,
) -> Generator[Part, None, None]:
    """Play chunks with `jobs` workers and give them as they finish, each with its first deal and number of deals.

    With `in_order` they come in the order of `todo`, whoever finished first. Threads share compiled agents' work,
    processes that of Python agents; a dask cluster takes either.

    Raises:
        WorkerLost: a worker was killed.
    """
    compile_rules(plan)
    if jobs == 1 and cluster is None:
        for first, deals in todo:
            yield first, deals, play_deals(plan, first, deals, slots)
        return
    bundle = plan.bundle.to_json()
    with workers(plan, jobs, cluster) as (pool, number):
        yield from _hand_out(pool, 2 * number, ((bundle, first, deals, slots) for first, deals in todo), in_order)


def _hand_out(
    pool: Executor, most: int, tasks: Iterator[tuple[str, int, int, int]], in_order: bool
) -> Generator[Part, None, None]:
    """Keep a pool busy with at most so many tasks handed out, so that results do not pile up."""
    waiting: list[Future[Part]] = []
    while True:
        waiting += [pool.submit(_play_bundled, *task) for task in itertools.islice(tasks, most - len(waiting))]
        if not waiting:
            return
        wait(waiting[:1] if in_order else waiting, return_when=FIRST_COMPLETED)
        ready = next(future for future in waiting if future.done())
        waiting.remove(ready)
        yield ready.result()


def _play_bundled(bundle_json: str, first: int, deals: int, slots: int) -> Part:
    return first, deals, play_deals(_plan(bundle_json), first, deals, slots)


@contextlib.contextmanager
def workers(plan: Plan, jobs: int, cluster: str | None) -> Iterator[tuple[Executor, int]]:
    """The workers of a run and how many they are; what they have not begun when it ends is dropped.

    Raises:
        SpecError: no cluster can be reached, or dask is not installed.
        WorkerLost: a worker was killed.
    """
    if cluster is not None:
        kind = _dask_workers(cluster)
    elif plan.python:
        kind = _processes(jobs)
    else:
        kind = _threads(jobs)
    with kind as found:
        yield found


@contextlib.contextmanager
def _threads(jobs: int) -> Iterator[tuple[Executor, int]]:
    pool = ThreadPoolExecutor(jobs)
    try:
        yield pool, jobs
    finally:
        pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _processes(jobs: int) -> Iterator[tuple[Executor, int]]:
    from joblib.externals import loky

    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with _interrupts_held():
        pool = loky.get_reusable_executor(jobs, env=one_thread)
        pool.submit(int)  # the first task starts the processes
    try:
        yield pool, jobs
    except BrokenExecutor:
        raise WorkerLost("a worker process ended: killed, out of memory, or crashed by an agent") from None
    except BaseException:
        pool.shutdown(kill_workers=True)
        raise


@contextlib.contextmanager
def _dask_workers(cluster: str) -> Iterator[tuple[Executor, int]]:
    with _interrupts_held():
        client = dask_client(cluster)
    from distributed.scheduler import KilledWorker

    with client:
        pool = client.get_executor(pure=False)
        try:
            yield pool, max(1, sum(client.ncores().values()))
        except KilledWorker:
            raise WorkerLost("a worker of the cluster ended, and others with the same chunk") from None


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let threads and processes that are started here never see Ctrl-C; the main process does, a moment later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def dask_client(cluster: str) -> Any:
    """A client of a dask cluster: `tcp://HOST:PORT`, or `local:WORKERS` for one of its own.

    Raises:
        SpecError: it cannot be reached, or dask is not installed.
    """
    try:
        import distributed
    except ImportError:
        raise SpecError('--cluster needs dask: pip install "domsim[cluster]"') from None
    client: Any = distributed.Client
    kind, _, number = cluster.partition(":")
    if kind == "local" and number.isdigit() and int(number) > 0:
        return client(n_workers=int(number), threads_per_worker=1, dashboard_address=None, silence_logs=50)
    if kind not in ("tcp", "tls"):
        raise SpecError(f"--cluster: {cluster!r} is not allowed; allowed: tcp://HOST:PORT, local:WORKERS")
    try:
        return client(cluster, timeout=20)
    except (OSError, ValueError) as error:
        raise SpecError(f"--cluster: {cluster} cannot be reached: {error}") from None


def compile_rules(plan: Plan, say: Callable[[str], None] | None = None) -> None:
    """Compile the game's rules, or find them on disk, before workers start; says so when it takes a while."""
    message = f"compiling the rules of {plan.game.name}, once …"
    timer = threading.Timer(1.0, say or _say, [message])
    timer.start()
    try:
        Batch.of_jobs(plan.game, plan.rules, plan.seats, np.zeros(0, JOB), [])
    finally:
        timer.cancel()


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def versions() -> dict[str, str]:
    """Versions of what the numbers could depend on."""
    names = ("domsim", "numpy", "numba", "pandas")
    found = {name: importlib.metadata.version(name) for name in names}
    return found | {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
