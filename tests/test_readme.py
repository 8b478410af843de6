"""Every command and every piece of Python in the README runs, and its table is what the quickstart prints."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
COMMANDS = [
    line.split("#")[0].strip()
    for language, text in BLOCKS
    if language == "sh"
    for line in text.splitlines()
    if line.startswith("domsim")
]
PYTHON = [text for language, text in BLOCKS if language == "python"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("readme")
    for language, text in BLOCKS:
        if language == "toml" and "[weights" in text:
            (made / "mine.toml").write_text(text)
        if language == "python" and text.startswith("class "):
            (made / f"{text.split()[1].strip(':').lower()}.py").write_text(text)
    return made


def shell(command: str, folder: Path) -> str:
    scripts = Path(sys.executable).parent
    done = subprocess.run(
        ["bash", "-c", f'set -eo pipefail; PATH="{scripts}:$PATH"; {command}'],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 8
    assert len(PYTHON) >= 3


def test_commands_in_order(folder: Path) -> None:
    """One after the other, as a reader would: some use the files of those before."""
    for command in COMMANDS:
        shell(command, folder)


@pytest.mark.parametrize("code", PYTHON)
def test_python(code: str, folder: Path) -> None:
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
def test_javascript(folder: Path) -> None:
    command = next(command for command in COMMANDS if command.startswith("domsim export"))
    shell(command, folder)
    (folder / "score.mjs").write_text(next(text for language, text in BLOCKS if language == "js"))
    printed = shell("node score.mjs", folder).splitlines()
    scores = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in printed[:-1]}
    assert printed[-1].removeprefix("choice: ") in [play for play in scores if scores[play] == max(scores.values())]


def test_hint_prints_what_the_readme_shows(folder: Path) -> None:
    code = next(text for text in PYTHON if "domsim.hint" in text)
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True, text=True)
    shown = re.search(r"^```\n(cuban, seat 0, hints.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert done.stdout.strip() == shown[1].strip()


def test_compare_prints_what_the_readme_shows(folder: Path) -> None:
    command = next(command for command in COMMANDS if command.startswith("domsim compare"))
    printed = shell(command, folder)
    shown = next(text for text in re.findall(r"^```\n(careful against.*?)^```", README, re.MULTILINE | re.DOTALL))
    assert printed.startswith(shown)


@pytest.mark.parametrize("agent", ["mine.toml", "mine.py", "miser.py"])
def test_bots_of_the_readme(agent: str, folder: Path) -> None:
    assert agent in shell(f"domsim tournament cuban --agents {agent},careful --deals 20 --out {agent}-run", folder)


def test_quickstart_prints_the_table(folder: Path) -> None:
    table = re.search(r"<!-- quickstart -->\n```\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert table is not None
    printed = shell("domsim run quickstart", folder)
    for line in filter(None, table[1].splitlines()):
        assert line.rstrip() in [found.rstrip() for found in printed.splitlines()]
