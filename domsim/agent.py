"""Agents: what decides. Three kinds, one loader.

| kind | file | runs |
|---|---|---|
| weights | `NAME.toml`: weights over named features, by game | inside the kernels |
| vector | `NAME.py`: a class with `score(moves) -> (M,) numbers` | one numpy call for many decisions |
| scalar | `NAME.py`: a class with `choose(view) -> action` | one call a decision |

A text names an agent: `careful`, `mine.toml`, `bots/mine.py:Cautious?depth=2&stream=1`. Every agent knows `stream`:
with another number it draws other random words (two alike would otherwise play identical games).
Loading a Python agent runs its code: load only files you trust.
"""

import atexit
import functools
import hashlib
import importlib.util
import shutil
import sys
import tempfile
import tomllib
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from domsim.core.driver import PYTHON, RANDOM, WEIGHTS, agent_dtype
from domsim.core.game import ALTERNATE, PARTNER, SELF
from domsim.errors import AgentError, AgentFailedError, OtherGameError
from domsim.folders import find_file, names_in
from domsim.games import Game
from domsim.moves import Moves
from domsim.rules import nearest
from domsim.tiles import quoted
from domsim.view import View

STAGES = ("early", "middle", "late")
OPENERS = {"self": SELF, "partner": PARTNER, "alternate": ALTERNATE}
#: weights are whole multiples of 1/1024, and sums of whole numbers: the same in any order, on any machine
FIXED_POINT = 1024
_LARGEST_WEIGHT = 2**20
_TOML_FIELDS = ("about", "kind", "opener", "weights")


class Source(msgspec.Struct, frozen=True):
    """An agent's file as it travels to workers, which may be on a machine that does not have it."""

    path: str
    content: bytes


@dataclass(frozen=True)
class Agent:
    """An agent ready to play one game."""

    spec: str
    game: Game
    kind: int
    weights: Any  # (3, F) int64: stage, feature, in 1/1024; zeros unless kind is WEIGHTS
    opener: int
    stream: int
    about: str
    path: str
    file_hash: str
    parameters: dict[str, Any] = field(default_factory=dict)
    bot: Any = None  # the Python object, when kind is PYTHON

    @property
    def kind_name(self) -> str:
        """`random`, `weights`, `vector` or `scalar`."""
        if self.kind == PYTHON:
            return "vector" if hasattr(self.bot, "score") else "scalar"
        return "random" if self.kind == RANDOM else "weights"

    @property
    def row(self) -> Any:
        """The agent as the kernels know it, `agent_dtype`."""
        row = np.zeros((), agent_dtype(len(self.game.features)))
        row["kind"] = self.kind
        row["weight"] = self.weights
        bits = (self.weights != 0) @ (1 << np.arange(len(self.game.features), dtype=np.int64))
        row["need"] = bits
        return row

    @property
    def need(self) -> int:
        """The features a Python agent wants, as bits: those its `features` names, or all."""
        wanted = getattr(self.bot, "features", None)
        names = self.game.features
        if wanted is None:
            return (1 << len(names)) - 1
        unknown = [name for name in wanted if name not in names]
        if unknown:
            raise AgentError(
                f"agent {self.spec}: unknown feature {quoted(unknown[0])}{nearest(unknown[0], list(names))}"
            )
        return sum(1 << names.index(name) for name in wanted)

    def scores(self, moves: Moves) -> npt.NDArray[np.float64]:
        """What a Python agent thinks of every legal action, `(M,) float64`; the highest is chosen.

        Raises:
            AgentFailedError: the agent raised, its answer has another shape, holds no finite numbers, or is not legal.
        """
        if not hasattr(self.bot, "score"):
            return self._choices(moves)
        try:
            scores = np.asarray(self.bot.score(moves))
        except (Exception, SystemExit) as error:
            raise self._failed(_problem(error), error) from error
        if scores.shape != moves.action.shape or scores.dtype.kind not in "biuf":
            raise self._failed(
                f"score(moves) returned {scores.dtype} {scores.shape}, expected numbers {moves.action.shape}"
            )
        if not np.isfinite(scores).all():
            play = int(np.isfinite(scores).argmin())
            problem = f"score(moves) returned {scores[play]} for {moves.text(play)}; every score must be finite"
            raise self._failed(problem, decision=int(moves.decision[play]))
        return scores.astype(np.float64)

    def _choices(self, moves: Moves) -> npt.NDArray[np.float64]:
        """The choices of a scalar agent as scores, 1 for the action chosen and 0 for the others, `(M,) float64`."""
        scores = np.zeros(len(moves.action))
        for decision in range(len(moves)):
            view = View(moves, decision)
            try:
                answer = self.bot.choose(view)
            except (Exception, SystemExit) as error:
                raise self._failed(_problem(error), error, decision) from error
            if not isinstance(answer, str) or answer not in view.legal:
                problem = f"choose(view) returned {quoted(answer)}; legal: {', '.join(view.legal)}"
                raise self._failed(problem, decision=decision)
            scores[moves.first[decision] + view.legal.index(answer)] = 1
        return scores

    def _failed(
        self, problem: str, error: BaseException | None = None, decision: int | None = None
    ) -> AgentFailedError:
        """The failure with the line that raised it, or the one where the method begins that gave a bad answer."""
        if error is None:
            method = getattr(self.bot, "score", None) or self.bot.choose
            line = getattr(getattr(method, "__code__", None), "co_firstlineno", None)
        else:
            line = _line(error, Path(self.path))
        return AgentFailedError(self.spec, self.path, line, problem, decision)


def load_agent(spec: str, game: Game, sources: Mapping[str, Source] | None = None) -> Agent:
    """The agent a text names, for a game.

    Args:
        sources: agents' files by the texts that name the agents, from `agent_sources`; else they are looked up.

    Raises:
        AgentError: it is not found, its file is broken, or it does not play this game; the text says where.
    """
    name, parameters = _split(spec)
    stream = _stream(spec, parameters.pop("stream", "0"))
    source = agent_sources([spec])[spec] if sources is None else sources[spec]
    path = Path(source.path)
    common = {"spec": spec, "game": game, "stream": stream, "file_hash": _hash(source.content)}
    if path.suffix == ".toml":
        if parameters:
            raise AgentError(f"agent {spec}: a weights file has no parameter {quoted(next(iter(parameters)))}")
        return _from_toml(path, source.content, game, common | {"path": str(path)})
    path = _on_disk(source)
    return _from_python(path, _file_and_class(name)[1], parameters, game, common | {"path": str(path)})


def agent_sources(specs: Iterable[str]) -> dict[str, Source]:
    """The files of agents as they are now, by the texts that name the agents.

    Raises:
        AgentError: one is not found, or cannot be read.
    """
    return {spec: _read(find_agent(_file_and_class(_split(spec)[0])[0])) for spec in specs}


def _read(path: Path) -> Source:
    try:
        return Source(str(path), path.read_bytes())
    except OSError as error:
        raise AgentError(f"{path}: cannot be read: {error.strerror}") from None


def _on_disk(source: Source) -> Path:
    """The file itself while it is as it was, so that it finds what lies beside it; else a copy."""
    path = Path(source.path)
    try:
        if path.read_bytes() == source.content:
            return path
    except OSError:
        pass
    copy = _copies() / _hash(source.content) / path.name
    copy.parent.mkdir(exist_ok=True)
    copy.write_bytes(source.content)
    return copy


@functools.cache
def _copies() -> Path:
    """A folder for agents' files that are not on this machine; it goes when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="domsim-agents-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def find_agent(name: str) -> Path:
    """The file of an agent, given its name or path.

    Raises:
        AgentError: there is none.
    """
    path = find_file("agents", name, ".toml", ".py")
    if path is None:
        known = agent_names()
        raise AgentError(f"unknown agent {quoted(name)}{nearest(name, known)}; known: {', '.join(known)}")
    return path


def absolute_spec(spec: str) -> str:
    """The text of an agent with the whole path of its file: it names the same one in any folder.

    Raises:
        AgentError: there is no such file.
    """
    name, question, query = spec.partition("?")
    file, class_name = _file_and_class(name)
    return f"{find_agent(file)}{':' if class_name else ''}{class_name}{question}{query}"


def agent_names() -> list[str]:
    """The names `load_agent` finds without a path."""
    return names_in("agents", ".toml", ".py")


def _hash(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()[:16]


def _split(spec: str) -> tuple[str, dict[str, str]]:
    name, question, query = spec.partition("?")
    parameters: dict[str, str] = {}
    for part in query.split("&") if question else []:
        key, equals, value = part.partition("=")
        if not equals or not key.isidentifier():
            raise AgentError(f"agent {quoted(spec)}: write NAME?parameter=value&parameter=value")
        parameters[key] = value
    return name, parameters


def _file_and_class(name: str) -> tuple[str, str]:
    file, _, class_name = name.partition(":") if ".py:" in name else (name, "", "")
    return file, class_name


def _stream(spec: str, text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) < 2**31:
        return int(text)
    raise AgentError(f"agent {spec}: stream must be a whole number from 0 to {2**31 - 1}, not {text!r}")


def _from_toml(path: Path, source: bytes, game: Game, common: dict[str, Any]) -> Agent:
    try:
        table = tomllib.loads(source.decode())
    except ValueError as error:
        raise AgentError(f"{path}: broken TOML: {error}") from None
    for key in table:
        if key not in _TOML_FIELDS:
            raise AgentError(f"{path}: unknown field {key!r}{nearest(key, list(_TOML_FIELDS))}")
    kind = table.get("kind", "weights")
    if kind not in ("weights", "random"):
        raise AgentError(f"{path}: kind: {quoted(kind)} is not allowed; allowed: weights, random")
    opener = _opener(str(path), table.get("opener", "self"))
    common["about"] = str(table.get("about", ""))
    shape = (len(STAGES), len(game.features))
    if kind == "random":
        return Agent(kind=RANDOM, weights=np.zeros(shape, np.int64), opener=opener, **common)
    by_game = table.get("weights", {})
    if not isinstance(by_game, dict) or game.name not in by_game:
        raise OtherGameError(f"{path}: has no [weights.{game.name}]: it does not play {game.name}")
    return Agent(kind=WEIGHTS, weights=read_weights(by_game[game.name], game, str(path)), opener=opener, **common)


def read_weights(table: Any, game: Game, where: str) -> Any:
    """Weights by stage and feature, `(3, F) int64` in 1/1024, from a table `feature = weight`.

    Tables `early`, `middle` and `late` in it hold what differs in that stage of the round.

    Raises:
        AgentError: an unknown feature, or a weight that is no number or too large.
    """
    weights = np.zeros((len(STAGES), len(game.features)), np.int64)
    if not isinstance(table, dict):
        raise AgentError(f"{where}: weights: found {quoted(table)}, expected a table")
    everywhere = {name: value for name, value in table.items() if name not in STAGES}
    for stage, stage_name in enumerate(STAGES):
        own = table.get(stage_name, {})
        if not isinstance(own, dict):
            raise AgentError(f"{where}: {stage_name}: found {quoted(own)}, expected a table")
        for name, value in (everywhere | own).items():
            if name not in game.features:
                close = nearest(name, list(game.features))
                raise AgentError(f"{where}: unknown feature {quoted(name)} of {game.name}{close}")
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= _LARGEST_WEIGHT:
                raise AgentError(
                    f"{where}: {name}: {quoted(value)} is no weight from -{_LARGEST_WEIGHT} to {_LARGEST_WEIGHT}"
                )
            weights[stage, game.features.index(name)] = round(value * FIXED_POINT)
    return weights


def _opener(where: str, value: object) -> int:
    if isinstance(value, str) and value in OPENERS:
        return OPENERS[value]
    raise AgentError(f"{where}: opener: {quoted(value)} is not allowed; allowed: {', '.join(OPENERS)}")


def _from_python(path: Path, class_name: str, parameters: dict[str, str], game: Game, common: dict[str, Any]) -> Agent:
    module = _import(path)
    found = _find_class(path, module, class_name)
    games = getattr(found, "games", None)
    if games is not None and game.name not in games:
        raise OtherGameError(f"{path}: {found.__name__} does not play {game.name}; it plays {', '.join(games)}")
    values = {key: _plain(value) for key, value in parameters.items()}
    try:
        bot = found(**values)
    except Exception as error:
        raise AgentError(f"agent {common['spec']}: {_where(error, path)}") from None
    opener = _opener(str(path), getattr(bot, "opener", "self"))
    empty = np.zeros((len(STAGES), len(game.features)), np.int64)
    common["about"] = (found.__doc__ or "").strip().split("\n")[0]
    agent = Agent(kind=PYTHON, weights=empty, opener=opener, parameters=values, bot=bot, **common)
    agent.need  # noqa: B018 - raises here rather than in the middle of a run
    return agent


def _import(path: Path) -> Any:
    name = f"domsim_agent_{_hash(str(path).encode())}"
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    try:
        found.loader.exec_module(module)
    except Exception as error:
        raise AgentError(f"{path}: {_where(error, path)}") from None
    return module


def _find_class(path: Path, module: Any, class_name: str) -> Any:
    own = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and (hasattr(value, "score") or hasattr(value, "choose"))
    }
    if class_name:
        if class_name in own:
            return own[class_name]
        raise AgentError(f"{path}: no agent class {class_name!r}{nearest(class_name, list(own))}")
    if len(own) == 1:
        return next(iter(own.values()))
    if not own:
        raise AgentError(f"{path}: no class with a method score(moves) or choose(view)")
    raise AgentError(f"{path}: more than one agent class; write {path.name}:{' or '.join(own)}")


def _plain(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _where(error: BaseException, path: Path) -> str:
    """The error and the last line of the agent's file that it went through."""
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}"
    line = _line(error, path)
    return _problem(error) if line is None else f"line {line}: {_problem(error)}"


def _line(error: BaseException, path: Path) -> int | None:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return lines[-1] if lines else None


def _problem(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
