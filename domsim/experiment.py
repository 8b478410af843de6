"""Experiments: `experiments/NAME.toml`, one or more tournaments under a name, or `NAME.py`, a script with `run`."""

import importlib.util
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from domsim.errors import SpecError
from domsim.folders import find_file, names_in
from domsim.rules import nearest
from domsim.tiles import quoted
from domsim.tournament import Spec

_ENDINGS = (".toml", ".py")


class Experiment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The TOML file: what it is about, and its tournaments."""

    about: str
    tournament: list[Spec]


def find_experiment(name: str) -> Path:
    """The file of an experiment, given its name or path.

    Raises:
        SpecError: there is none.
    """
    path = find_file("experiments", name, *_ENDINGS)
    if path is None:
        known = names_in("experiments", *_ENDINGS)
        raise SpecError(f"unknown experiment {quoted(name)}{nearest(name, known)}; known: {', '.join(known)}")
    return path


def read_experiment(path: Path) -> list[Spec]:
    """The tournaments of a TOML experiment.

    Raises:
        SpecError: its file is broken.
    """
    try:
        experiment = msgspec.convert(tomllib.loads(path.read_text("utf-8")), Experiment)
    except (OSError, ValueError) as error:
        raise SpecError(f"{path}: no experiment: {error}") from None
    return experiment.tournament


def load_script(path: Path) -> Callable[[Path, int, bool], None]:
    """The `run(out, jobs, quick)` of a Python experiment; loading it runs the file's code.

    Raises:
        SpecError: the file cannot be loaded, or has no such function.
    """
    found = importlib.util.spec_from_file_location(f"domsim_experiment_{path.stem}", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    try:
        found.loader.exec_module(module)
    except Exception as error:
        raise SpecError(f"{path}: no experiment: {type(error).__name__}: {error}") from None
    run: Any = getattr(module, "run", None)
    if not callable(run):
        raise SpecError(f"{path}: no experiment: it has no function run(out, jobs, quick)")
    made: Callable[[Path, int, bool], None] = run
    return made
