"""What the command line prints: tables a person reads, made with rich."""

from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

from domsim.agent import agent_names, load_agent
from domsim.errors import AgentError
from domsim.games import GAMES, Game, find_game
from domsim.run import Result
from domsim.summary import BLOCKING_COLUMNS, MEASURES, measure_title, summary_columns

#: wide enough for every table here: a line that a narrow terminal wraps beats a number cut short
_console = Console(width=max(120, Console().width), highlight=False)


def result(found: Result) -> None:
    """The summary of a run, and where its files are."""
    plan = found.plan
    spec = plan.spec
    rules = " ".join(f"{name}={value}" for name, value in plan.rules.changed().items()) or "default rules"
    played = spec.deals * plan.matches_a_deal
    what = "matches" if not spec.rounds else f"matches of {spec.rounds} round(s)"
    print(f"\n{plan.game.name} · {plan.seats} seats · {spec.lineup} · {rules}")
    print(f"{spec.deals} deals of suite {spec.suite}, seed {spec.seed} · {played} {what}")
    _console.print(summary_table(plan.game, found.summary))
    print("±: half of the 95 % interval by deal · blocked: of the rounds the agent took part in · passes: a seat")
    if spec.passes:
        _console.print(_measures_table(found.blocking, BLOCKING_COLUMNS))
        print("closed: of the blocked rounds · passes: a round, by whose play put the missing number there last")
    if found.folder is not None:
        print(f"files: {found.folder}/   digest {found.digest}")


def summary_table(game: Game, summary: pd.DataFrame) -> Table:
    """A summary as a table for the terminal."""
    return _measures_table(summary, summary_columns(game))


def _measures_table(frame: pd.DataFrame, measures: dict[str, str]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("agent", no_wrap=True)
    for measure, label in measures.items():
        table.add_column(measure_title(measure, label), justify="right", no_wrap=True)
    for _, row in frame.iterrows():
        table.add_row(str(row["agent"]), *(_cell(row, label, measure) for measure, label in measures.items()))
    return table


def _cell(row: Any, label: str, measure: str) -> str:
    shown = MEASURES[measure]
    half = (row[f"{label}_high"] - row[f"{label}_low"]) / 2
    return f"{row[label] * shown.scale:.{shown.digits}f} ±{half * shown.scale:.{shown.digits}f}"


def games() -> None:
    """The games."""
    table = Table("game", "seats", "what", box=None, pad_edge=False)
    for game in GAMES.values():
        seats = f"{min(game.seats)}–{max(game.seats)}" if len(game.seats) > 1 else str(game.seats[0])
        table.add_row(game.name, seats, game.title)
    _console.print(table)


def rules(game: Game) -> None:
    """The options of a game."""
    table = Table("option", "default", "allowed", "what", box=None, pad_edge=False)
    for option in game.rules.options():
        table.add_row(option.name, str(option.default), option.allowed, option.note)
    _console.print(table)


def agents(game: str | None) -> None:
    """The agents found by name, and the games each plays."""
    wanted = [find_game(game)] if game else list(GAMES.values())
    table = Table("agent", "kind", "plays", "what", box=None, pad_edge=False)
    for name in agent_names():
        loaded = {}
        for one in wanted:
            try:
                loaded[one.name] = load_agent(name, one)
            except AgentError:
                continue
        if loaded:
            first = next(iter(loaded.values()))
            table.add_row(name, first.kind_name, ", ".join(loaded), first.about)
    _console.print(table)


def bench(rows: list[dict[str, Any]]) -> None:
    """Speeds."""
    table = Table(box=None, pad_edge=False)
    for name in rows[0]:
        table.add_column(name, justify="left" if name == "name" else "right")
    for row in rows:
        table.add_row(*(f"{value:,.0f}" if isinstance(value, float) else str(value) for value in row.values()))
    _console.print(table)
