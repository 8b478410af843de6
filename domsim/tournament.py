"""Tournaments: every pairing of a roster on the same deals in all seatings, in chunks of whole deals, resumable."""

import contextlib
import functools
import hashlib
import importlib.metadata
import platform
import shlex
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

import joblib
import msgspec
import numpy as np
import numpy.typing as npt

from domsim.agent import Agent, load_agent
from domsim.batch import SLOTS, Batch
from domsim.core.driver import JOB, PYTHON
from domsim.errors import AgentFailedError, SpecError
from domsim.games import Game, find_game
from domsim.lineup import Pairing, pairings, seat_agents
from domsim.results import match_table, pass_table, round_table
from domsim.rules import Rules
from domsim.seeds import check_seed, deal_keys, find_suite
from domsim.summary import sums_by_deal
from domsim.tiles import quoted

Array = npt.NDArray[Any]
#: deals of a chunk, unless told otherwise: a second or so of work
CHUNK = 500
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


@dataclass(frozen=True)
class Plan:
    """A spec that has been checked, with all it names loaded."""

    spec: Spec
    game: Game
    rules: Rules
    seats: int
    agents: tuple[Agent, ...]
    pairings: tuple[Pairing, ...]

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
        """A hash of the spec, the agents' files and the version: runs are one run when it is the same."""
        parts = [self.spec.to_json(), *(agent.file_hash for agent in self.agents), importlib.metadata.version("domsim")]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Chunk:
    """The result of some consecutive deals."""

    matches: Array
    rounds: Array
    sums: Array
    passes: Array


@functools.lru_cache(maxsize=8)
def _plan(spec_json: str) -> Plan:
    spec = msgspec.json.decode(spec_json, type=Spec)
    game = find_game(spec.game)
    seats = game.check_seats(game.seats[0] if spec.seats is None else spec.seats)
    rules = game.rules.of(spec.rules)
    rules.check_seats(seats)
    check_seed(spec.seed)
    suite = find_suite(spec.suite)
    if spec.deals < 1 or spec.first_deal < 0 or spec.first_deal + spec.deals > suite.deals:
        last = spec.first_deal + spec.deals - 1
        raise SpecError(
            f"deals {spec.first_deal} to {last} are not all in suite {suite.name!r} (0 to {suite.deals - 1})"
        )
    if spec.rounds < 0:
        raise SpecError(f"rounds: {spec.rounds} is not allowed; allowed: 0 (whole matches) or more")
    twice = [name for name in spec.agents if spec.agents.count(name) > 1]
    if twice:
        raise SpecError(f"agent {quoted(twice[0])} is there twice; give one of them ?stream=1")
    agents = tuple(load_agent(name, game) for name in spec.agents)
    return Plan(spec, game, rules, seats, agents, tuple(pairings(spec.lineup, seats, len(agents))))


def make_plan(spec: Spec) -> Plan:
    """Check a spec and load what it names.

    Raises:
        DomsimError: something in it is unknown, out of range or broken.
    """
    return _plan(spec.to_json())


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
    keys = deal_keys(find_suite(plan.spec.suite), plan.spec.seed, numbers.tolist())
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
    plan = _plan(spec_json)
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


def play_chunks(
    plan: Plan,
    todo: list[tuple[int, int]],
    jobs: int = 1,
    slots: int = SLOTS,
    in_order: bool = False,
    cluster: str | None = None,
) -> Generator[tuple[int, int, Chunk], None, None]:
    """Play chunks with `jobs` workers and give them as they finish, each with its first deal and number of deals.

    With `in_order` they come in the order of `todo`, whoever finished first. Threads share compiled agents' work,
    processes that of Python agents; a dask cluster takes either.
    """
    compile_rules(plan)
    text = plan.spec.to_json()
    if jobs == 1 and cluster is None:
        for first, deals in todo:
            yield first, deals, play_chunk(text, first, deals, slots)
        return
    order = "generator" if in_order else "generator_unordered"
    with workers(plan, jobs, cluster):
        parallel = joblib.Parallel(return_as=order, pre_dispatch="2*n_jobs", batch_size=1)
        yield from parallel(joblib.delayed(_play_numbered)(text, first, deals, slots) for first, deals in todo)


@contextlib.contextmanager
def workers(plan: Plan, jobs: int, cluster: str | None) -> Iterator[None]:
    """The workers that joblib is to use.

    Raises:
        SpecError: no cluster can be reached, or dask is not installed.
    """
    if cluster is None:
        with joblib.parallel_config("loky" if plan.python else "threading", n_jobs=jobs):
            yield
        return
    with dask_client(cluster) as client, joblib.parallel_config("dask", client=client, n_jobs=-1):
        yield


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


def _play_numbered(spec_json: str, first: int, deals: int, slots: int) -> tuple[int, int, Chunk]:
    return first, deals, play_chunk(spec_json, first, deals, slots)


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
