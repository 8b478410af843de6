"""The same rules uncompiled: a batch without numba, and `Round`, to the same bits as the compiled core.

Run as a module (`python -m tests.test_plain FOLDER`) this prints what `test_without_numba` compares.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from domsim.batch import Batch
from domsim.core import driver
from domsim.games import find_game
from domsim.record import match_end
from domsim.round import Round

ROOT = Path(__file__).resolve().parent.parent
VECTOR = """
class Bot:
    opener = "alternate"

    def score(self, moves):
        heavy = moves["pips"] + 3 * moves["double"] - 2 * moves["unseen_new"]
        return heavy * (1 + moves.stage[moves.decision]) + moves.view["laid"][moves.decision] % 3
"""
OPTIONS = {
    "set": 6,
    "target": 40,
    "lead_draw": "individual",
    "claim_doubles": 3,
    "first_tile": "highest_double",
    "block_winner": "lowest_team",
    "round_points": "all_others",
}


def digest(*arrays: Any) -> str:
    """A hash of all values, field by field (the bytes between the fields mean nothing)."""
    found = hashlib.sha256()
    for array in arrays:
        for name in array.dtype.names:
            found.update(f"{name} {array[name].shape}".encode())
            found.update(np.ascontiguousarray(array[name]).tobytes())
    return found.hexdigest()


def played(batch: Batch) -> str:
    batch.run()
    assert batch.over.all()
    assert len(batch.log) > 100
    return digest(batch.rounds, batch.matches, batch.log)


def chosen_outside() -> str:
    """Play all seats from outside, by the random words of the decisions; views, features and all."""
    batch = Batch("cuban", 12, rules=OPTIONS, seed=4, log=True)
    digests = []
    while len(moves := batch.legal()):
        digests.append(digest(moves.view))
        digests.append(hashlib.sha256(moves.features.tobytes() + moves.action.tobytes()).hexdigest())
        batch.play(moves.random % np.diff(moves.first))
    return hashlib.sha256("".join(digests).encode()).hexdigest() + played(batch)


def digests(folder: Path) -> dict[str, str]:
    """One hash for every kind of agent, of rounds and of matches."""
    bot = folder / "bot.py"
    bot.write_text(VECTOR)
    random, weights, vector = "random", "careful?stream=3", str(bot)
    return {
        "random": played(Batch("cuban", 25, agents=[random] * 4, log=True)),
        "weights": played(Batch("cuban", 20, seed=1, agents=[weights] * 4, log=True)),
        "vector": played(Batch("cuban", 20, seed=2, agents=[vector, random, weights, vector], log=True)),
        "options": played(Batch("cuban", 25, rules=OPTIONS, seed=3, agents=[weights, random] * 2, log=True)),
        "matches": played(Batch("cuban", 3, seed=5, agents=[vector, weights, random, random], matches=True, log=True)),
        "match options": played(Batch("cuban", 8, rules=OPTIONS, agents=[random] * 4, matches=True, log=True)),
        "outside": chosen_outside(),
    }


def test_without_numba(tmp_path: Path) -> None:
    """NUMBA_DISABLE_JIT=1 plays the same to the bit."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.test_plain", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    plain = json.loads(done.stdout)
    assert plain.pop("compiled") is False
    assert not numba.config.DISABLE_JIT
    assert hasattr(driver.advance, "signatures")
    assert plain == digests(tmp_path)


@pytest.mark.parametrize("rules", [{}, OPTIONS, {"claim_doubles": 4, "lead_draw": "individual"}])
def test_rounds_equal_the_batch(rules: dict[str, Any]) -> None:
    """`Round` deals what the compiled core deals and plays its log to the same row, round after round."""
    game = find_game("cuban")
    batch = Batch("cuban", 12, rules=rules, seed=6, agents=["random"] * 4, matches=True, log=True).run()
    rounds, log = batch.rounds, batch.log
    for deal in range(12):
        a_round = Round("cuban", rules=rules, seed=6, deal=deal)
        own = rounds[rounds["match"] == deal]
        for row in own:
            if row["round_number"] > 1:
                a_round.next_round()
            state = a_round.state
            assert [state.lead, state.opener, state.redeals] == [row[name] for name in ("lead", "opener", "redeals")]
            for ply in log[(log["match"] == deal) & (log["round_number"] == row["round_number"])]:
                assert a_round.to_move == ply["seat"]
                a_round.play(game.action_text(int(ply["action"])))
            check_row(a_round, row)
        assert a_round.match_over
        end, match = match_end(a_round), batch.matches[deal]
        assert end["winners"] == np.flatnonzero(match["won"][:2]).tolist()
        assert end["name"] == (game.titles[match["title"]] or None)
        assert a_round.scores == match["score"][:2].tolist()
        assert len(own) == match["rounds"]


def check_row(a_round: Round, row: Any) -> None:
    assert a_round.over
    assert a_round.result == {
        "ended": "blocked" if row["blocked"] else "out",
        "winner": None if row["winner"] < 0 else row["winner"],
        "left": row["pips"].tolist(),
        "points": row["points"][:2].tolist(),
    }
    state = a_round.state
    for name in ("passes", "count", "last", "ply", "round_number"):
        found = getattr(state, name)
        expected = row[{"count": "tiles", "ply": "plies"}.get(name, name)]
        assert ([found[q] for q in range(4)] if expected.shape else found) == expected.tolist(), name


def test_pips_beyond_a_byte() -> None:
    """numpy's narrow types must not leak into the uncompiled rules: a hand may weigh 128 pips and more."""
    heavy = ["9-9", "9-8", "8-8", "9-7", "8-7", "7-7", "9-6", "9-5", "9-4", "8-6"]
    a_round = Round.of("cuban", [heavy, ["1-0"], ["2-0"], ["3-0"]], opening={"opener": 1})
    assert a_round.state.pips[0] == 152
    a_round.play("1-0>start")
    assert a_round.result == {"ended": "out", "winner": 1, "left": [152, 0, 2, 3], "points": [0, 154]}
    dealt = [Round("cuban", deal=deal, rules={"claim_doubles": 0}) for deal in (181, 714)]
    assert [a_round.state.pips[q] for a_round, q in zip(dealt, (1, 0), strict=True)] == [136, 128]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(digests(Path(sys.argv[1])) | {"compiled": hasattr(driver.advance, "signatures")}))
