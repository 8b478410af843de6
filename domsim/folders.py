"""Where plug-in and data files are found: as a path, then in the working directory's folder, then the shipped ones."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def shipped(folder: str) -> Path:
    """The folder that comes with domsim: a copy inside the installed package, or the checkout's own."""
    inside = _PACKAGE / "shipped" / folder
    return inside if inside.is_dir() else _PACKAGE.parent / folder


def find_file(folder: str, name: str, *endings: str) -> Path | None:
    """The file a name or a path stands for; None when there is none.

    A text with an ending or a slash is a path first. A name is looked up with each ending in turn, in the working
    directory's folder before the shipped one.
    """
    if name.endswith(endings) or "/" in name:
        path = Path(name).expanduser()
        if path.is_file():
            return path.resolve()
        name = path.name if "/" not in name else name
    for place in (Path.cwd() / folder, shipped(folder)):
        for ending in ("", *endings):
            path = place / (name + ending)
            if path.suffix in endings and path.is_file():
                return path.resolve()
    return None


def names_in(folder: str, *endings: str) -> list[str]:
    """The names that `find_file` would find, sorted."""
    names = set()
    for place in (Path.cwd() / folder, shipped(folder)):
        if place.is_dir():
            names |= {path.stem for path in place.iterdir() if path.suffix in endings and path.is_file()}
    return sorted(names)
