"""Experiment files: `experiments/NAME.toml`, one or more tournaments under a name."""

import tomllib

import msgspec

from domsim.errors import SpecError
from domsim.folders import find_file, names_in
from domsim.rules import nearest
from domsim.tiles import quoted
from domsim.tournament import Spec


class Experiment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file: what it is about, and its tournaments."""

    about: str
    tournament: list[Spec]


def read_experiment(name: str) -> tuple[str, list[Spec]]:
    """The name and the tournaments of an experiment, by name or path.

    Raises:
        SpecError: there is none, or its file is broken.
    """
    path = find_file("experiments", name, ".toml")
    if path is None:
        known = names_in("experiments", ".toml")
        raise SpecError(f"unknown experiment {quoted(name)}{nearest(name, known)}; known: {', '.join(known)}")
    try:
        experiment = msgspec.convert(tomllib.loads(path.read_text("utf-8")), Experiment)
    except (OSError, ValueError) as error:
        raise SpecError(f"{path}: no experiment: {error}") from None
    return path.stem, experiment.tournament
