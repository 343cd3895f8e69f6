from decimal import Decimal
from typing import Any

import pytest

from tests.answers.compare import difference, expected, row, same


def test_rows_without_an_order_are_the_same_in_any_order() -> None:
    wanted = expected([(1, "a"), (2, None), (2, None)], None, None)
    assert difference(wanted, [(2, None), (1, "a"), (2, None)]) == ""


def test_a_row_too_often_is_a_difference() -> None:
    wanted = expected([(1,), (1,), (2,)], None, None)
    assert "wrong rows" in difference(wanted, [(1,), (2,), (2,)])


def test_a_missing_row_is_told() -> None:
    assert "missing: (2,)" in difference(expected([(1,), (2,)], None, None), [(1,)])


def test_rows_in_another_order_are_a_difference_where_there_is_one() -> None:
    rows = [(1,), (2,)]
    assert difference(expected(rows, rows, None), [(2,), (1,)])


def test_any_of_the_rows_that_tie_may_fill_a_limit() -> None:
    rows = [(1, "a"), (2, "b"), (2, "c")]
    wanted = expected(rows, [(1,), (2,), (2,)], 2)
    assert difference(wanted, [(1, "a"), (2, "c")]) == ""
    assert difference(wanted, [(1, "a"), (2, "b")]) == ""


def test_a_row_that_is_none_of_those_that_tie_is_a_difference() -> None:
    wanted = expected([(1, "a"), (2, "b"), (2, "c")], [(1,), (2,), (2,)], 2)
    assert difference(wanted, [(1, "a"), (2, "d")])
    assert difference(wanted, [(2, "b"), (2, "c")])


def test_a_row_of_a_tie_counts_once() -> None:
    wanted = expected([(2, "b"), (2, "c"), (2, "d")], [(2,), (2,), (2,)], 2)
    assert difference(wanted, [(2, "b"), (2, "b")])


def test_too_few_rows_for_a_limit_are_a_difference() -> None:
    wanted = expected([(1,), (2,), (3,)], [(1,), (2,), (3,)], 2)
    assert difference(wanted, [(1,)]) == "1 rows instead of 2"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.1 + 0.2, 0.3),
        (Decimal("1.50"), Decimal("1.5")),
        (Decimal("0.333333"), 1 / 3),
        (2, 2.0),
        (-0.0, 0.0),
        (float("nan"), float("nan")),
        ((1, None), (1, None)),
    ],
)
def test_values_that_are_the_same(one: Any, other: Any) -> None:
    assert same(one, other)
    assert same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1.0, 1.0 + 1e-8),
        (Decimal("1.50"), Decimal("1.51")),
        (Decimal("0.33"), 0.35),
        (None, 0),
        (True, 1),
        ("1", 1),
        ((), (None,)),
        ((), None),
    ],
)
def test_values_that_differ(one: Any, other: Any) -> None:
    assert not same(one, other)
    assert not same(other, one)


def test_values_of_the_engines_clients_become_alike() -> None:
    hive = row(["1.50", "2020-02-29", "[1,null]", '{"b":1,"a":null}', '{"x":1,"y":"q"}', 3], KINDS)
    spark = row(["1.50", "2020-02-29", [1, None], {"a": None, "b": 1}, [1, "q"], 3], KINDS)
    duckdb = row([Decimal("1.50"), "2020-02-29", [1, None], {"b": 1, "a": None}, {"x": 1, "y": "q"}, 3], KINDS)
    assert hive == spark == duckdb


KINDS: Any = ("decimal", "date", "array", "map", "struct", "int")
