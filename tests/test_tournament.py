"""Tournaments: the same numbers however they are played, honest tables, runs that can be resumed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from domsim import load_result, read_table, run_tournament
from domsim.errors import DomsimError, SpecError
from domsim.lineup import pairings
from domsim.results import COLUMNS, Digest, TableWriter, table_dtype
from domsim.run import Store, run_in_folder
from domsim.tournament import Spec, chunk_size, chunks_of, make_plan, play_chunk, play_chunks

AGENTS = ["careful", "heaviest", "random"]
VECTOR = """
import numpy as np
from domsim import find_game, load_agent

class Same:
    "The weights of `careful`, applied with numpy."

    def __init__(self):
        self.weights = load_agent("careful", find_game("GAME")).weights.astype(float)

    def score(self, moves):
        own = self.weights[moves.stage[moves.decision]]
        return (moves.features * own).sum(axis=1)
"""


TABLES = [("cuban", 4), ("longana", 2), ("longana", 3), ("longana", 4), ("mexican", 2), ("mexican", 4), ("mexican", 10)]


def digest(game: str, seats: int, agents: list[str] = AGENTS, deals: int = 12, **options: object) -> str:
    return run_tournament(game, agents, deals, seats=seats, suite="smoke", **options).digest  # type: ignore[arg-type]


def digest_with_slots(spec: Spec, slots: int) -> str:
    found = Digest(("matches", "rounds"))
    for _, _, chunk in play_chunks(make_plan(spec), chunks_of(spec, 10), slots=slots):
        found.add("matches", chunk.matches)
        found.add("rounds", chunk.rounds)
    return found.value()


@pytest.mark.parametrize(("game", "seats"), TABLES)
def test_same_numbers_however_played(game: str, seats: int, tmp_path: Path) -> None:
    vector = tmp_path / "same.py"
    vector.write_text(VECTOR.replace("GAME", game))
    expected = digest(game, seats)
    assert digest(game, seats) == expected
    assert digest(game, seats, chunk=7, passes=True) == expected
    assert digest(game, seats, jobs=2, chunk=5) == expected
    python = [str(vector), *AGENTS[1:]]
    assert digest(game, seats, python, chunk=9, jobs=2) == expected
    for slots in (3, 500):
        assert digest_with_slots(Spec(game, tuple(python), 12, "smoke", seats=seats), slots) == expected
    assert digest(game, seats, seed=1) != expected


def test_same_numbers_whatever_the_hash_seed() -> None:
    code = "from domsim import run_tournament; print(run_tournament('cuban', ['careful', 'random'], 9).digest)"
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
    assert len(found.pop()) > 30


def test_identical_agents_with_the_same_stream_draw() -> None:
    result = run_tournament("cuban", ["careful", "careful?stream=0"], 20, suite="smoke")
    assert (result.pairs["win_share"] == 0.5).all()
    assert (result.pairs["deals_differing"] == 0).all()
    other = run_tournament("cuban", ["random", "random?stream=1"], 20, suite="smoke")
    assert (other.pairs["deals_differing"] > 0).all()


def test_teams_are_swapped_on_every_deal() -> None:
    result = run_tournament("cuban", ["heaviest", "random"], 5, suite="smoke")
    seats = result.matches.groupby("deal")["agent_0"].agg(set)
    assert (seats == {"heaviest", "random"}).all()
    assert (result.matches["agent_0"] == result.matches["agent_2"]).all()
    # nobody looks at an agent before the first deal: the lead is the deal's
    lead = result.rounds.query("round == 1").groupby("deal")["lead"].nunique()
    assert (lead == 1).all()


def test_tables_hold_what_columns_say_and_read_back_the_same(tmp_path: Path) -> None:
    result = run_tournament("cuban", AGENTS, 30, suite="smoke", out=tmp_path / "run", chunk=7)
    for table in ("matches", "rounds"):
        names = list(table_dtype(table, 4).names or ())
        frame = read_table(tmp_path / "run" / table)
        assert list(frame) == names
        stems = {name.rsplit("_", 1)[0] if name[-1].isdigit() else name for name in names}
        assert stems == {column.name for column in COLUMNS[table]}
    memory = run_tournament("cuban", AGENTS, 30, suite="smoke")
    assert memory.digest == result.digest
    pd.testing.assert_frame_equal(memory.rounds, result.rounds)
    pd.testing.assert_frame_equal(memory.summary, load_result(tmp_path / "run").summary)
    rounds = result.rounds
    assert (rounds["ending"].eq("blocked") == (rounds[[f"tiles_{q}" for q in range(4)]] > 0).all(axis=1)).all()
    scores = rounds.groupby(["deal", "pairing", "seating"])["points_1"].sum()
    assert (scores.to_numpy() == result.matches["score_1"].to_numpy()).all()


def test_csv_and_parquet_read_back_the_same(tmp_path: Path) -> None:
    chunk = play_chunk(Spec("cuban", tuple(AGENTS), 6, "smoke").to_json(), 0, 6)
    frames = []
    for parquet in (True, False):
        folder = tmp_path / str(parquet)
        folder.mkdir()
        writer = TableWriter(folder, "rounds", AGENTS, 4, parquet)
        for part in np.array_split(chunk.rounds, 3):
            writer.add(part)
        frames.append(read_table(writer.close()))
    pd.testing.assert_frame_equal(*frames)


def test_an_interrupted_run_is_resumed_to_the_same_tables(tmp_path: Path) -> None:
    plan = make_plan(Spec("cuban", tuple(AGENTS), 40, "smoke"))
    whole = run_in_folder(plan, tmp_path / "whole", chunk=8)
    store = Store.open(tmp_path / "part", plan, 8, "domsim …", resume=False)
    for first, deals in store.missing()[1:4]:
        store.save(first, play_chunk(plan.spec.to_json(), first, deals))
    with pytest.raises(SpecError, match="--resume"):
        run_in_folder(plan, tmp_path / "part", chunk=8)
    with pytest.raises(SpecError, match="another run"):
        run_in_folder(make_plan(Spec("cuban", tuple(AGENTS), 41, "smoke")), tmp_path / "part", resume=True)
    resumed = run_in_folder(plan, tmp_path / "part", chunk=3, resume=True)
    assert resumed.digest == whole.digest
    assert json.loads((tmp_path / "part" / "manifest.json").read_text())["digest"] == whole.digest
    assert not (tmp_path / "part" / "parts").exists()
    for table in ("matches", "rounds"):
        pd.testing.assert_frame_equal(read_table(tmp_path / "part" / table), read_table(tmp_path / "whole" / table))


def test_summary_by_hand() -> None:
    result = run_tournament("cuban", ["careful", "random"], 50, suite="smoke")
    matches, rounds = result.matches, result.rounds
    mine = matches["agent_0"].eq("careful")
    won = np.where(mine, matches["won_0"], matches["won_1"])
    row = result.summary.set_index("agent").loc["careful"]
    assert row["win_share"] == pytest.approx(won.mean())
    assert row["block_rate"] == pytest.approx(rounds["ending"].eq("blocked").mean())
    seats = np.where(
        rounds["agent_0"].eq("careful"),
        rounds["passes_0"] + rounds["passes_2"],
        rounds["passes_1"] + rounds["passes_3"],
    )
    assert row["passes_round"] == pytest.approx(seats.mean() / 2)
    lost = np.where(mine, matches["score_1"], matches["score_0"])
    shut_out = (won == 1) & (lost == 0)
    assert row["pollona"] + row["tripollua"] == pytest.approx(shut_out.mean())


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"game": "cubn"}, "did you mean 'cuban'"),
        ({"agents": ("careful", "heviest")}, "did you mean 'heaviest'"),
        ({"agents": ("careful",)}, "2 agents"),
        ({"agents": ("careful", "careful")}, "stream=1"),
        ({"suite": "valdi"}, "did you mean 'valid'"),
        ({"seats": 3}, "allowed: 4"),
        ({"lineup": "dual"}, "duel, field, mix"),
        ({"seed": -1}, "allowed: 0 to"),
        ({"deals": 0}, "deals"),
        ({"rules": {"target": 0}}, "1 to 10000"),
    ],
)
def test_a_bad_spec_is_refused(fields: dict[str, object], text: str) -> None:
    good = {"game": "cuban", "agents": ("careful", "random"), "deals": 3}
    with pytest.raises(DomsimError, match=text):
        make_plan(Spec(**{**good, **fields}))  # type: ignore[arg-type]


def test_lineups_seat_everybody_everywhere() -> None:
    assert pairings("duel", 4, 2)[0].seatings.tolist() == [[0, 1, 0, 1], [1, 0, 1, 0]]
    odd = pairings("duel", 3, 2)[0].seatings
    assert len(odd) == 6
    assert (odd == 0).sum() == (odd == 1).sum() == 9
    field = pairings("field", 4, 3)
    assert len(field) == 6
    assert (field[0].seatings == 0).sum(axis=0).tolist() == [1, 1, 1, 1]
    assert len(pairings("mix", 4, 6)[0].seatings) == 4


def test_blocking_by_hand() -> None:
    """Who closed blocked rounds and who made whom pass, counted again from the tables."""
    result = run_tournament("cuban", ["careful", "random"], 40, suite="smoke", passes=True)
    rounds, passes = result.rounds, result.passes
    row = result.blocking.set_index("agent").loc["careful"]
    blocked = rounds[rounds["ending"] == "blocked"]
    closer = np.where(blocked["last"] % 2 == 0, blocked["agent_0"], blocked["agent_1"])
    mine = blocked[closer == "careful"]
    assert row["closed_share"] == pytest.approx(len(mine) / len(blocked))
    assert row["closed_won_share"] == pytest.approx((mine["last"] % 2 == mine["winner"]).mean())
    place = ["deal", "pairing", "seating", "round", "ply"]
    part = 1 / passes.groupby(place)["number"].transform("count")
    own = passes["by_agent"].eq("careful")
    for measure, which in (
        ("itself_passes", passes["distance"] == 0),
        ("partner_passes", passes["distance"] == 2),
        ("rivals_pass", passes["distance"] % 2 == 1),
    ):
        assert row[measure] == pytest.approx(part[own & which].sum() / len(rounds))
    total = rounds[[f"passes_{seat}" for seat in range(4)]].to_numpy().sum()
    assert part.sum() == pytest.approx(total)


def test_short_runs_have_chunks_for_several_workers_too() -> None:
    sizes = [chunk_size(Spec("cuban", ("random", "careful"), deals)) for deals in (1, 9, 400, 10**6)]
    assert sizes == [1, 2, 50, 500]
    assert len(run_tournament("cuban", ["random", "careful"], 40, suite="smoke").chunks) == 8


def test_a_table_that_cannot_be_finished_leaves_no_file_and_hides_no_error(tmp_path: Path) -> None:
    """As on a full disk: the error is the one that stopped the work, not that of clearing up after it."""
    with pytest.raises(KeyError, match="the work"):
        stop_in_the_middle(TableWriter(tmp_path, "rounds", ["a"], 4))
    assert list(tmp_path.iterdir()) == []


def stop_in_the_middle(table: TableWriter) -> None:
    with table as writer:
        writer._writer.close()
        writer._writer = Unclosable()
        raise KeyError("the work")


class Unclosable:
    def close(self) -> None:
        raise OSError("no space left on device")
