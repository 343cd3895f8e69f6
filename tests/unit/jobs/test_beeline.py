"""What the job makes of beeline's output. The logs are those of beeline 3.1.3 on HiveServer2 4.0.1."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.flights import acid
from jobs.flights.beeline import Beeline, StatementFailedError, answers, failure, labelled, parse
from jobs.flights.checks import Value
from jobs.flights.figures import Query

BY_MONTH = Query(groups="by month", sql="SELECT month, count(*)\n  FROM t GROUP BY month")
TOTALS = Query(columns=("flights", "mean"), sql="SELECT count(*), avg(delay) FROM t")

LOG = """\
Connecting to jdbc:hive2://localhost:10000/
Connected to: Apache Hive (version 4.0.1)
0: jdbc:hive2://localhost:10000/> SELECT 'b', 2;
INFO  : Compiling command(queryId=hive_1): SELECT 'b', 2
1 row selected (0.2 seconds)
0: jdbc:hive2://localhost:10000/> SELECT 'c' FROM nowhere.nothing;
Error: Error while compiling statement: FAILED: SemanticException [Error 10001]: Line 1:16 Table not found 'nothing'
Closing: 0: jdbc:hive2://localhost:10000/
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("336776", 336776),
        ("-2.0", -2.0),
        ("1.0E10", 1e10),
        ("NULL", None),
        ("9E", "9E"),
        ("N14228", "N14228"),
        ("2013-01-01 10:00:00", "2013-01-01 10:00:00"),
        ("", ""),
    ],
)
def test_a_cell_is_the_value_it_means(text: str, value: Value) -> None:
    assert parse(text) == value
    assert type(parse(text)) is type(value)


def test_a_query_is_labelled_on_one_line() -> None:
    assert labelled(BY_MONTH) == (
        "SELECT 'row of: by month', answer.* FROM (SELECT month, count(*) FROM t GROUP BY month) answer"
    )


def test_rows_go_to_their_query_and_others_are_passed_over() -> None:
    rows = [["month=1"], ["row of: by month", "1", "27004"], ["row of: flights", "336776", "6.9"], [""]]
    rows.append(["row of: by month", "2", "24951"])
    assert answers([TOTALS, BY_MONTH], rows) == {
        "flights": 336776,
        "mean": 6.9,
        "by month": {"1": (27004,), "2": (24951,)},
    }


def test_a_query_of_one_row_that_got_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected one row of 2 columns"):
        answers([TOTALS], [["row of: by month", "1", "27004"]])


def test_a_failure_names_the_statement_and_what_hive_said() -> None:
    assert failure(["SELECT 'b', 2", "SELECT 'c' FROM nowhere.nothing", "SELECT 'd'"], LOG) == (
        "statement 2 of 3: SELECT 'c' FROM nowhere.nothing\n"
        "Error: Error while compiling statement: FAILED: SemanticException [Error 10001]: Line 1:16 "
        "Table not found 'nothing'"
    )


def test_a_failure_to_connect_is_told_as_such() -> None:
    log = "Connecting to jdbc:hive2://nohost/\nError: Could not open client transport (state=08S01,code=0)\n"
    assert failure(["SELECT 1"], log) == (
        "before the first statement: Error: Could not open client transport (state=08S01,code=0)"
    )


def launcher(directory: Path, script: str) -> str:
    path = directory / "beeline"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_a_run_hands_beeline_the_script_and_returns_its_rows(tmp_path: Path) -> None:
    command = launcher(tmp_path, f"""cp "$6" {tmp_path}/seen; printf 'a\\t1\\nend of the script\\n'""")
    rows = Beeline("jdbc:hive2://x/", "spark", command).run(["SELECT 'a',\n 1;"])
    assert rows[0] == ["a", "1"]
    assert (tmp_path / "seen").read_text() == "SELECT 'a', 1;\nSELECT 'end of the script';\n"


@pytest.mark.parametrize("script", ["exit 2", "echo 'a\t1'; exit 0", "sleep 9"])
def test_a_run_that_did_not_reach_its_end_fails(tmp_path: Path, script: str) -> None:
    with pytest.raises(StatementFailedError):
        Beeline("jdbc:hive2://x/", "spark", launcher(tmp_path, script), timeout=1).run(["SELECT 1"])


def compaction_row(number: int, kind: str, state: str, table: str = "flights", error: str = " --- ") -> list[str]:
    return [str(number), "nycflights_acid", table, " --- ", kind, state, *[" --- "] * 6, error, *[" --- "] * 4]


def test_the_state_is_that_of_the_newest_major_compaction_of_the_table() -> None:
    rows = [
        ["CompactionId"],
        compaction_row(3, "MAJOR", "succeeded"),
        compaction_row(11, "MAJOR", "working"),
        compaction_row(12, "MINOR", "succeeded"),
        compaction_row(13, "MAJOR", "succeeded", table="other"),
        ["row of: x", "1"],
    ]
    assert acid.compaction(rows)[0] == "working"
    assert acid.compaction([compaction_row(4, "MAJOR", "failed", error="no worker")]) == ("failed", "no worker")
    assert acid.compaction([]) == ("unknown", "")
