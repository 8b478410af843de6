"""The sequential comparison: one answer however the deals are played, and the right one."""

from pathlib import Path

import numpy as np
import pytest

from domsim import compare as module
from domsim.compare import compare, gains
from domsim.errors import DomsimError
from domsim.record import Replayer, to_json
from domsim.stats import t_test
from domsim.tournament import Spec, make_plan, play_chunk


def test_same_answer_with_more_workers_and_other_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    one = compare("careful", "heaviest", "cuban", suite="smoke")
    assert one.decision == "better"
    assert 200 <= one.deals < 2000
    assert compare("careful", "heaviest", "cuban", suite="smoke", jobs=2) == one
    monkeypatch.setattr(module, "_CHUNK", 33)
    assert compare("careful", "heaviest", "cuban", suite="smoke", jobs=2) == one


def test_worse_is_not_better() -> None:
    assert compare("random", "careful", "cuban", suite="smoke").decision == "not better"


def test_identical_agents_are_reported_as_such() -> None:
    found = compare("careful", "careful?stream=0", "cuban", suite="smoke", max_deals=300)
    assert found.decision == "no difference"
    assert "no difference on 300 deals" in found.text
    assert found.telling == ()


def test_gain_is_zero_between_equals_and_counts_from_the_fair_share() -> None:
    plan = make_plan(Spec("cuban", ("careful", "careful?stream=0"), 40, "smoke"))
    assert (gains(plan, play_chunk(plan.spec.to_json(), 0, 40).sums) == 0).all()
    uneven = make_plan(Spec("cuban", ("careful", "random"), 40, "smoke"))
    found = gains(uneven, play_chunk(uneven.spec.to_json(), 0, 40).sums)
    assert set(np.unique(found)) <= {-0.5, 0.0, 0.5}
    assert found.mean() > 0.1


def test_the_most_telling_deals_are_written_as_records() -> None:
    found = compare("careful", "random", "cuban", suite="smoke")
    assert len(found.telling) == 10
    replayer = Replayer(matches=True)
    records = list(found.records())
    assert all(replayer.replay(to_json(record))["ok"] for record in records)
    assert {record["meta"]["deal"] for record in records} == set(found.telling)


def test_a_copy_with_its_own_stream_is_seldom_called_different() -> None:
    """At 5 % at most 19 of 200 runs may be: the 99.9 % point of the binomial, here on 100 deals each."""
    plan = make_plan(Spec("cuban", ("random", "random?stream=1"), 20_000, "smoke"))
    values = gains(plan, play_chunk(plan.spec.to_json(), 0, 20_000).sums).reshape(200, 100)
    different = sum(t_test(run) < 0.05 for run in values)
    assert different <= 19


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(DomsimError, match="mu1"):
        compare("careful", "random", "cuban", delta=-0.1)
    with pytest.raises(DomsimError, match="did you mean"):
        compare("carefull", "random", "cuban")
