import pytest

pytest.importorskip("duckdb", reason="requirements/answers.txt is not installed: make answers installs it")

from tests.answers import engines, tpcds

JOINED = "SELECT x.k, y.k, count(*) FROM (VALUES (1), (2)) x (k) JOIN (VALUES (1)) y (k) ON x.k = y.k GROUP BY ROLLUP (x.k, y.k)"


@pytest.mark.parametrize("reference", [engines.Reference, tpcds.Reference])
def test_the_reference_keeps_equal_keys_of_subtotals_apart(reference: type[engines.Reference]) -> None:
    """As DuckDB 1.1.3 comes, it answers (1, 1) in place of (1, NULL)."""
    rows = reference().connection.execute(JOINED).fetchall()
    assert sorted(rows, key=str) == [(1, 1, 1), (1, None, 1), (None, None, 1)]
