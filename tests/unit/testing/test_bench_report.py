import json
from collections import Counter
from pathlib import Path

import pytest

from tests.bench.figures import percentile
from tests.bench.measurement import Measurement
from tests.bench.report import add, shown, table, with_section
from tests.bench.restoring import difference


@pytest.mark.parametrize(("percent", "expected"), [(50, 50), (99, 99), (99.5, 100), (100, 100), (0, 1)])
def test_percentile_is_the_nearest_rank(percent: float, expected: int) -> None:
    assert percentile(list(range(100, 0, -1)), percent) == expected


def test_percentile_of_one_value_is_that_value() -> None:
    assert percentile([7], 99) == 7


def test_a_row_that_is_measured_again_replaces_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.json"
    add(path, "a", [Measurement("first", 1, "s", 2)])
    add(path, "b", [Measurement("other", 12345, "1/s", 20000, at_least=True), Measurement("- detail", 1, "s")])
    add(path, "a", [Measurement("second", 1.2345, "s", 2)])
    assert table(json.loads(path.read_text())) == (
        "| what | measured | must reach |\n|---|---:|---:|\n| second | 1.23 s | <= 2 |\n"
        "| other | 12,345 1/s | >= 20000 **missed** |\n"
    )


def test_large_numbers_are_shown_whole_and_small_ones_with_three_digits() -> None:
    assert [shown(value) for value in (123456.7, 100, 99.99, 0.012345, 0)] == ["123,457", "100", "100", "0.0123", "0"]


def test_a_section_is_replaced_up_to_the_next_one() -> None:
    page = "# A\n\n## Figures\nold\n\n### old too\n\n## Next\nstays\n"
    assert with_section(page, "## Figures", "new\n\n") == "# A\n\n## Figures\nnew\n\n## Next\nstays\n"


def test_a_section_that_is_not_there_is_added_at_the_end() -> None:
    assert with_section("# A\n\n\n", "## Figures", "new\n") == "# A\n\n## Figures\nnew\n"


def test_difference_counts_rows_that_are_on_one_side_only() -> None:
    before = {"T": Counter({("a",): 2, ("b",): 1}), "U": Counter({("c",): 1})}
    after = {"T": Counter({("a",): 1, ("d",): 1}), "U": Counter({("c",): 1})}
    assert difference(before, after) == 3
    assert difference(before, before) == 0
