from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.answers.__main__ import summary
from tests.answers.compare import Row, expected
from tests.answers.outcome import KNOWN, UNREAD, Outcome, Refused, Tally, ask, ask_again, judge
from tests.answers.statements import HIVE, SPARK, Dialect

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WANTED = expected([(1,)], None, None)
LATE = Outcome(refused=Refused("HiveServer2 at h was lost: timed out", lost=True))
COMPILING = "Error while compiling statement: FAILED: SemanticException"


def refusal() -> list[Row]:
    raise Refused(f"{COMPILING}FAILED: Execution Error, return code 2 from org.apache.hadoop.hive.ql.exec.tez.TezTask")


def test_what_ran_out_of_time_is_asked_again_and_counted() -> None:
    tallies: dict[Dialect, Tally] = {HIVE: Tally(), SPARK: Tally()}
    said: list[str] = []
    asked = {HIVE: lambda: [(1,)], SPARK: refusal}
    settled = ask_again({HIVE: LATE, SPARK: Outcome([(1,)])}, asked, tallies, "query 1", said.append)
    assert [judge(tallies[engine], WANTED, outcome) for engine, outcome in settled.items()] == ["", ""]
    assert (tallies[HIVE].late, tallies[HIVE].lost, tallies[HIVE].equal) == (1, 0, 1)
    assert (tallies[SPARK].late, tallies[SPARK].equal) == (0, 1)
    assert "query 1: hive failed after 0 s" in said[0]


def test_what_fails_twice_is_refused() -> None:
    tallies: dict[Dialect, Tally] = {HIVE: Tally()}
    failed = ask(refusal)
    assert failed.failed
    settled = ask_again({HIVE: failed}, {HIVE: refusal}, tallies, "query 1", lambda _: None)
    judge(tallies[HIVE], WANTED, settled[HIVE])
    assert (tallies[HIVE].late, tallies[HIVE].refusals) == (0, 1)


def test_what_the_failure_line_says_was_planned() -> None:
    said = "Error while compiling statement: FAILED: Hive Internal Error: hopshive.Reason(EOFException: x (in Map 1; more: ..."
    assert Refused(said).failed


def test_what_is_not_planned_is_not_asked_again() -> None:
    tallies: dict[Dialect, Tally] = {HIVE: Tally()}
    outcome = Outcome(refused=Refused(f"{COMPILING} Line 1:7 Invalid column"))
    assert ask_again({HIVE: outcome}, {HIVE: lambda: [(1,)]}, tallies, "query 1", lambda _: None) == {HIVE: outcome}


def test_what_the_guard_refuses_is_counted_apart() -> None:
    tally = Tally()
    judge(tally, WANTED, Outcome(refused=Refused(f"{COMPILING} Answer guard: DISTINCT counts a grouping key")))
    judge(tally, WANTED, Outcome(refused=Refused(f"{COMPILING} Line 1:7 Invalid column")))
    assert (tally.asked, tally.guarded, tally.refusals) == (2, 1, 1)


def test_the_reason_of_a_spark_that_broke_down_is_told() -> None:
    broken = Refused(
        "An error occurred while calling o131.collectToPython.\n: org.apache.spark.SparkException: Job aborted"
    )
    assert broken.failed
    assert broken.reason == "org.apache.spark.SparkException: Job aborted"


def tally(*reasons: str, asked: int = 100) -> Tally:
    """So many statements, of which some were refused."""
    made = Tally(asked=asked)
    made.refused.update(reasons)
    return made


@pytest.mark.parametrize(
    ("made", "known", "bad"),
    [
        pytest.param(tally(), None, False, id="all answered"),
        pytest.param(tally("Answer guard: no"), None, True, id="a query of TPC-DS that the guard refuses"),
        pytest.param(tally("Too many counters"), None, True, id="a query of TPC-DS that fails"),
        pytest.param(tally("Answer guard: no", "HAVING without"), {HIVE: ["HAVING"]}, False, id="known reasons"),
        pytest.param(tally("Too many counters"), {HIVE: ["HAVING"]}, True, id="another reason"),
        pytest.param(tally(UNREAD + " (java.lang.NullPointerException"), KNOWN, True, id="an error of the guard's own"),
        pytest.param(tally(*11 * ["HAVING"]), {HIVE: ["HAVING"]}, True, id="more than a tenth"),
        pytest.param(tally("HAVING"), {SPARK: ["HAVING"]}, True, id="what another engine may refuse"),
    ],
)
def test_a_refusal_is_a_fault_unless_it_is_known(
    made: Tally, known: Mapping[Dialect, Sequence[str]] | None, bad: bool
) -> None:
    assert summary({HIVE: made}, [], known) is bad


def test_an_answer_that_differs_is_a_fault() -> None:
    assert summary({HIVE: tally()}, [7], {}) is True
