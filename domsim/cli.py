"""The command line: `domsim`. Every command is a few lines over a function that notebooks can call too."""

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from domsim.errors import DomsimError, Unfinished

app = typer.Typer(
    help="Seeded matches of domino games between bots, with honest statistics.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Agents = Annotated[str, typer.Option(help="Agents, separated by commas.")]
Options = Annotated[list[str], typer.Option("-o", "--option", metavar="NAME=VALUE", help="A rule option.")]
Seed = Annotated[int, typer.Option(help="Seed of the deals.")]
Suite = Annotated[str, typer.Option(help="Suite of deals.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the unfinished run in --out.")]
Jobs = Annotated[int, typer.Option("-j", "--jobs", min=1, help="Workers.")]


@app.command()
def tournament(
    game: Annotated[str, typer.Argument(help="Game to play.")],
    agents: Agents,
    deals: Annotated[int, typer.Option(min=1, help="Deals; each is played by every pairing in all seatings.")] = 1000,
    suite: Suite = "valid",
    seed: Seed = 0,
    first_deal: Annotated[int, typer.Option(min=0, help="First deal of the suite.")] = 0,
    seats: Annotated[int | None, typer.Option(help="Seats at the table.")] = None,
    lineup: Annotated[str, typer.Option(help="duel, field or mix.")] = "duel",
    rounds: Annotated[int, typer.Option(min=0, help="Rounds of a match at most; 0: whole matches.")] = 0,
    passes: Annotated[bool, typer.Option("--passes", help="Write the passes table: who made whom pass.")] = False,
    records: Annotated[bool, typer.Option("--records", help="Write records of all rounds too.")] = False,
    jobs: Jobs = 1,
    cluster: Annotated[str | None, typer.Option(help="A dask cluster: tcp://HOST:PORT, or local:WORKERS.")] = None,
    time: Annotated[
        str | None, typer.Option(help="Stop after about so long, exit 0, to go on with --resume: 90s, 10m, 2h.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the tables.")] = None,
    chunk: Annotated[
        int | None, typer.Option(min=1, help="Deals that are handed out, and kept, at once; an eighth, or 500.")
    ] = None,
    resume: Resume = False,
    option: Options = [],  # noqa: B006
) -> None:
    """Let agents play each other and say which is better."""
    from domsim.games import find_game
    from domsim.rules import parse_options
    from domsim.tournament import Spec

    found = find_game(game)
    rules = found.rules.of(parse_options(found.rules, option)).changed()
    names = tuple(name.strip() for name in agents.split(","))
    spec = Spec(game, names, deals, suite, seed, first_deal, seats, lineup, rounds, rules, passes)
    folder = _folder(game, out, resume)
    play_spec(spec, folder, jobs, chunk=chunk, resume=resume, cluster=cluster, seconds=_seconds(time), records=records)


def play_spec(spec: Any, out: Path, jobs: int, *, records: bool = False, **how: Any) -> None:
    """Play one tournament into a folder, write its report, and print what came out."""
    from domsim import show
    from domsim.record import to_json
    from domsim.recording import record_deals
    from domsim.report import write_report
    from domsim.run import run_in_folder
    from domsim.tournament import make_plan

    plan = make_plan(spec)
    try:
        result = run_in_folder(plan, out, jobs=jobs, progress=sys.stderr.isatty(), command=_command(), **how)
        if records:
            deals = range(spec.first_deal, spec.first_deal + spec.deals)
            _write_lines(out / "records.jsonl", (to_json(one) + "\n" for one in record_deals(plan, deals)))
        write_report(result, out)
    except KeyboardInterrupt:
        print(f"\ndomsim: interrupted; finished chunks are kept, go on with --resume --out {out}", file=sys.stderr)
        raise typer.Exit(130) from None
    show.result(result)


@app.command()
def compare(
    candidate: Annotated[str, typer.Argument(help="Agent that may be better.")],
    other: Annotated[str, typer.Argument(help="Agent it is compared with.")],
    game: Annotated[str, typer.Option(help="Game to play.")],
    delta: Annotated[float, typer.Option(min=0.0001, max=0.5, help="Gain in win share worth having.")] = 0.01,
    max_deals: Annotated[int, typer.Option(min=1, help="Deals at most.")] = 20_000,
    suite: Suite = "valid",
    seed: Seed = 0,
    seats: Annotated[int | None, typer.Option(help="Seats at the table.")] = None,
    lineup: Annotated[str, typer.Option(help="duel or field.")] = "duel",
    jobs: Jobs = 1,
    records: Annotated[Path | None, typer.Option(help="File for records of the most telling deals.")] = None,
    option: Options = [],  # noqa: B006
) -> None:
    """Say whether an agent is better than another, playing no more deals than it takes."""
    from domsim.compare import compare as run_compare
    from domsim.games import find_game
    from domsim.record import to_json
    from domsim.rules import parse_options

    rules = parse_options(find_game(game).rules, option)
    found = run_compare(
        candidate, other, game, delta=delta, max_deals=max_deals, jobs=jobs,
        suite=suite, seed=seed, seats=seats, lineup=lineup, rules=rules,
    )  # fmt: skip
    print(found.text)
    if records is not None and found.telling:
        _write_lines(records, (to_json(one) + "\n" for one in found.records()))
        print(f"records of deals {', '.join(map(str, found.telling))}: {records}")


@app.command()
def run(
    experiment: Annotated[str, typer.Argument(help="Name or path of an experiment file.")],
    jobs: Jobs = 2,
    out: Annotated[Path | None, typer.Option(help="Folder for the tables.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few deals, for a first look (Python experiments).")] = False,
    resume: Resume = False,
) -> None:
    """Run an experiment file, such as `quickstart` or `seats`; a Python experiment runs its own code."""
    from domsim.experiment import find_experiment, load_script, read_experiment

    path = find_experiment(experiment)
    folder = _folder(path.stem, out, resume)
    if path.suffix == ".py":
        load_script(path)(folder, jobs, quick)
        return
    if quick:
        raise DomsimError(f"--quick: {path.name} lists its deals itself; only Python experiments have a quick form")
    specs = read_experiment(path)
    for number, spec in enumerate(specs, 1):
        place = folder if len(specs) == 1 else folder / f"{number}-{spec.game}"
        play_spec(spec, place, jobs, resume=resume)


@app.command()
def replay(
    file: Annotated[str, typer.Argument(help="File of round records, or - for standard input.")],
    matches: Annotated[bool, typer.Option("--matches", help="Check that the rounds of a match follow.")] = False,
) -> None:
    """Replay round records: one JSON line for each, exit 1 when one is bad."""
    from domsim.record import replay_lines, to_json

    bad = False
    with _open_input(file) as lines:
        for answer in replay_lines(lines, matches):
            bad = bad or not answer["ok"]
            sys.stdout.write(to_json(answer) + "\n")
    if bad:
        raise typer.Exit(1)


@app.command()
def record(
    game: Annotated[str, typer.Argument(help="Game to play.")],
    rounds: Annotated[int | None, typer.Option(min=1, help="Rounds to record, of consecutive matches.")] = None,
    matches: Annotated[int | None, typer.Option(min=1, help="Whole matches to record.")] = None,
    seed: Seed = 0,
    suite: Suite = "smoke",
    agents: Agents = "random",
    seats: Annotated[int | None, typer.Option(help="Seats at the table.")] = None,
    out: Annotated[str, typer.Option(help="File to write, or - for standard output.")] = "-",
    option: Options = [],  # noqa: B006
) -> None:
    """Write round records of matches between agents (seat by seat, the list repeated round the table)."""
    from domsim.games import find_game
    from domsim.record import to_json
    from domsim.recording import record_matches
    from domsim.rules import parse_options

    if (rounds is None) == (matches is None):
        raise DomsimError("give either --rounds or --matches")
    found = find_game(game)
    rules = found.rules.of(parse_options(found.rules, option))
    names = [name.strip() for name in agents.split(",")]
    records = record_matches(found, rules, seats, names, suite=suite, seed=seed, rounds=rounds, matches=matches)
    text = (to_json(one) + "\n" for one in records)
    if out == "-":
        sys.stdout.writelines(text)
    else:
        _write_lines(Path(out), text)


@app.command()
def audit(
    agent: Annotated[str, typer.Argument(help="Agent to check.")],
    game: Annotated[str | None, typer.Option(help="Game; all that it plays, unless given.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds to check it on.")] = 200,
    limit: Annotated[float, typer.Option(min=1, help="Seconds of the agent's own time, for the whole audit.")] = 60.0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check an agent: legal, repeatable, blind to hidden tiles, fit for workers; exit 1 when it fails."""
    from domsim import audit as module

    status = module.audit(agent, game, rounds, limit, json)
    if status:
        raise typer.Exit(status)


@app.command()
def games() -> None:
    """List the games."""
    from domsim import show

    show.games()


@app.command()
def rules(game: Annotated[str, typer.Argument(help="Game.")]) -> None:
    """List a game's rule options: values, default, meaning."""
    from domsim import show
    from domsim.games import find_game

    show.rules(find_game(game))


@app.command("agents")
def list_agents(game: Annotated[str | None, typer.Argument(help="Only those that play this game.")] = None) -> None:
    """List the agents that are found by name."""
    from domsim import show

    show.agents(game)


@app.command()
def bench(
    game: Annotated[str, typer.Argument(help="Game to play.")],
    seats: Annotated[int | None, typer.Option(help="Seats at the table.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure the speed of a game on this machine."""
    from domsim import show
    from domsim.bench import bench_game
    from domsim.record import to_json

    rows = bench_game(game, seats)
    if json:
        print(to_json(rows))
    else:
        show.bench(rows)


@app.command()
def hint(
    file: Annotated[str, typer.Argument(help="File of records that stop at a decision, or - for standard input.")],
    agent: Annotated[str, typer.Option(help="Agent that gives the hints.")] = "expert",
    top: Annotated[int | None, typer.Option(min=1, help="Plays to show; all, unless given.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON line for each record.")] = False,
    playouts: Annotated[int, typer.Option(min=0, help="Playouts of every play, for its expected points.")] = 0,
) -> None:
    """Rank the legal plays and say what makes the difference; exit 1 when a record is bad or over."""
    from domsim.hints import hint_lines, hint_text

    bad = False
    with _open_input(file) as lines:
        for number, found in hint_lines(lines, agent, top, playouts):
            bad = bad or isinstance(found, DomsimError)
            sys.stdout.write(hint_text(number, found, json) + "\n")
    if bad:
        raise typer.Exit(1)


@app.command("audit-hints")
def audit_hints(
    game: Annotated[str, typer.Argument(help="Game to play.")],
    agent: Annotated[str, typer.Option(help="Agent whose hints are judged.")] = "expert",
    against: Annotated[str, typer.Option(help="Agent that judges them.")] = "search",
    positions: Annotated[int, typer.Option(min=1, help="Positions, of rounds that the agent plays.")] = 100,
    seats: Annotated[int | None, typer.Option(help="Seats at the table.")] = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="File for records of the worst positions.")] = None,
) -> None:
    """Say how often, and for how many points, an agent's first play is not that of a stronger one."""
    from domsim.hint_audit import audit_hints as run_audit
    from domsim.record import to_json

    if out is not None:
        _check_place(out)
    found = run_audit(game, agent, against, positions, seats=seats, seed=seed)
    print(found)
    if out is not None:
        _write_lines(out, (to_json(one) + "\n" for one in found.worst))
        print(f"records of the {len(found.worst)} worst positions: {out}")


@app.command()
def export(
    agent: Annotated[str, typer.Argument(help="Agent to export; it has a weights file.")],
    game: Annotated[str, typer.Option(help="Game it is to play.")],
    format: Annotated[str, typer.Option(help="Only json.")] = "json",
    out: Annotated[str, typer.Option(help="File to write, or - for standard output.")] = "-",
) -> None:
    """Write an agent for another program: weights, what the features mean, and decisions to check it with."""
    from domsim.export import export_agent

    text = export_agent(agent, game, format)
    if out == "-":
        sys.stdout.write(text)
    else:
        _write_lines(Path(out), [text])


def _open_input(file: str) -> Any:
    if file == "-":
        return sys.stdin.buffer
    try:
        return open(file, "rb")
    except OSError as error:
        raise DomsimError(f"{file}: {error.strerror}") from None


def _check_place(path: Path) -> None:
    """Whether a file could be written there, before the work that fills it."""
    if path.is_dir():
        raise DomsimError(f"{path}: is a folder")
    if not path.parent.is_dir():
        raise DomsimError(f"{path}: there is no folder {path.parent}")


def _write_lines(path: Path, lines: Any) -> None:
    try:
        with path.open("w", encoding="utf-8") as out:
            out.writelines(lines)
    except OSError as error:
        raise DomsimError(f"{path}: {error.strerror}") from None


def _seconds(text: str | None) -> float | None:
    """A time such as `90s`, `10m` or `2h` in seconds."""
    if text is None:
        return None
    number, unit = text[:-1], text[-1:]
    if number.isdigit() and unit in "smh":
        return int(number) * {"s": 1.0, "m": 60.0, "h": 3600.0}[unit]
    raise DomsimError(f"--time: {text!r} is no time; write 90s, 10m or 2h")


def _folder(name: str, out: Path | None, resume: bool) -> Path:
    if resume and out is None:
        raise DomsimError("--resume goes on with the run in a folder: give it with --out")
    return out or _new_folder(name)


def _new_folder(name: str) -> Path:
    """The first of `results/NAME`, `results/NAME-2` … that is not there yet."""
    number = 1
    while True:
        folder = Path("results") / (name if number == 1 else f"{name}-{number}")
        if not folder.exists():
            return folder
        number += 1


def _command() -> str:
    return shlex.join(["domsim", *sys.argv[1:]])


def main() -> None:
    """Run the command line; an error is one line, an interruption says how to go on."""
    try:
        app(standalone_mode=True)
    except Unfinished as stop:
        print(f"domsim: {stop}", file=sys.stderr)
    except DomsimError as error:
        print(f"domsim: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("\ndomsim: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
