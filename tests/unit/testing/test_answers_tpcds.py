import pytest

pytest.importorskip("sqlglot", reason="requirements/answers.txt is not installed: make answers installs it")

from tests.answers.statements import HIVE, SPARK
from tests.answers.tpcds import translated


def test_hive_orders_by_the_name_of_a_grouping() -> None:
    order = "CASE WHEN GROUPING(a) + GROUPING(b) = 0 THEN a END"
    sql = f"SELECT a, GROUPING(a) + GROUPING(b) AS l FROM t GROUP BY ROLLUP (a, b) ORDER BY {order}"
    assert translated(sql, HIVE).partition("ORDER BY ")[2] == "CASE WHEN l = 0 THEN a END"
    assert "GROUPING" in translated(sql, SPARK).partition("ORDER BY ")[2]


def test_hive_names_one_key_in_a_grouping() -> None:
    assert "(GROUPING(a) * 2 + GROUPING(b))" in translated("SELECT GROUPING(a, b) FROM t GROUP BY CUBE (a, b)", HIVE)


@pytest.mark.parametrize(
    ("order", "hive"),
    [
        ("a", "a"),
        ("a NULLS FIRST", "a NULLS FIRST"),
        ("a DESC", "a DESC NULLS LAST"),
        ("a DESC NULLS FIRST", "a DESC"),
    ],
)
def test_nulls_stand_where_duckdb_has_them(order: str, hive: str) -> None:
    assert translated(f"SELECT a FROM t ORDER BY {order}", HIVE).partition("ORDER BY ")[2] == hive
