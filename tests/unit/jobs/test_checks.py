"""When figures agree, and how the job's result is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobs.flights.checks import (
    Check,
    Figure,
    Stage,
    agree,
    differing_keys,
    explain,
    first_difference,
    render,
    show,
    write_json,
)


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        (336776, 336776, True),
        (336776, 336775, False),
        (1, 1.0, False),
        (None, None, True),
        (None, 0, False),
        (6.89537675731489, 6.895376757314891, True),
        (6.8953767573, 6.8953768, False),
        ("2013-01-01 10:00:00", "2013-01-01 10:00:00", True),
        ({"1": (27004, 1.5)}, {"1": (27004, 1.5 + 1e-12)}, True),
        ({"1": (27004,)}, {"1": (27004,), "2": (24951,)}, False),
        ({"1": (27004,)}, {"1": (27004, 1)}, False),
        ({"1": (27004,)}, 27004, False),
    ],
)
def test_figures_agree(expected: Figure, actual: Figure, same: bool) -> None:
    assert agree(expected, actual) is same


def test_keys_of_either_side_differ() -> None:
    assert differing_keys({"a": (1,), "b": (2,), "c": (3,)}, {"b": (2,), "c": (4,), "d": (5,)}) == ["a", "c", "d"]


def test_a_table_is_explained_by_its_first_differing_keys() -> None:
    check = Check("hive read: by month", {str(m): (m,) for m in range(1, 6)}, {"1": (1,)})
    assert explain(check) == (
        "hive read: by month: 2 expected (2), actual nothing; 3 expected (3), actual nothing; "
        "4 expected (4), actual nothing; and 1 more"
    )


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (336776, "336,776"),
        (None, "null"),
        (-2.0, "-2.000000"),
        ("succeeded", "succeeded"),
        ({"1": (27004, 5), "2": (24951, 7)}, "2 groups, 51,955 in all"),
        ({"1": ("OO", 107.0)}, "1 groups"),
    ],
)
def test_a_figure_is_short(figure: Figure, text: str) -> None:
    assert show(figure) == text


@pytest.fixture
def stages() -> list[Stage]:
    return [
        Stage("spark read", rows=336776, seconds=12.34, checks=[Check("spark read: flights", 336776, 336776)]),
        Stage("hive read", rows=10, seconds=1.0, checks=[Check("hive read: flights", 336776, 0)]),
        Stage("compaction", checks=[Check("compaction: state", "succeeded", "failed\nfor a reason " + "x" * 90)]),
    ]


def test_the_first_difference_is_in_the_order_of_the_run(stages: list[Stage]) -> None:
    failed = first_difference(stages)
    assert failed is not None
    assert explain(failed) == "hive read: flights: expected 336,776, actual 0"
    assert first_difference(stages[:1]) is None


def test_the_table_shows_checks_and_stages(stages: list[Stage]) -> None:
    lines = render(stages).splitlines()
    assert lines[0].split() == ["check", "expected", "actual"]
    assert lines[2].split() == ["spark", "read:", "flights", "336,776", "336,776", "ok"]
    assert lines[3].split()[-1] == "DIFFERS"
    assert lines[4].split() == ["compaction:", "state", "succeeded", "failed", "DIFFERS"]
    assert "spark read  336,776       1     12.3" in lines
    assert lines[-1] == "1 checks ok, 2 differ"


def test_the_json_has_what_programs_read(stages: list[Stage], tmp_path: Path) -> None:
    write_json(tmp_path / "build" / "smoke.json", stages)
    document = json.loads((tmp_path / "build" / "smoke.json").read_text())
    assert document["checks"][1] == {"name": "hive read: flights", "expected": 336776, "actual": 0, "ok": False}
    assert document["seconds"] == 13.3
    assert document["stages"][0] == {"name": "spark read", "rows": 336776, "checks": 1, "seconds": 12.3}
