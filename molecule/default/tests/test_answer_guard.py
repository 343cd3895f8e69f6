"""What HiveServer2 says to statements that stock Hive answers wrongly: the right rows, or a sentence. See docs/answers.md."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.warehouse.hiveserver2 import HiveError, HiveSession

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.group("server2")
TABLE = "(SELECT stack(3, 1, 'p', 2, 'q', 3, 'q') AS (k, a)) x"
OTHER = "(SELECT stack(2, 1, 2) AS (k)) w"


@pytest.fixture(scope="module")
def session(host: Any) -> Iterator[HiveSession]:
    address = host.run("hostname -i").stdout.split()[0]
    with_guard = HiveSession(address)
    yield with_guard
    with_guard.close()


@contextmanager
def database(session: HiveSession, name: str) -> Iterator[None]:
    """A database until the block's end."""
    session.execute(f"CREATE DATABASE IF NOT EXISTS {name}")
    try:
        yield
    finally:
        session.execute(f"DROP DATABASE {name} CASCADE")


@contextmanager
def stored(
    session: HiveSession, columns: str, values: str, form: str = "EXTERNAL", properties: str = ""
) -> Iterator[str]:
    """The name of a table of ORC with some rows. What has no file is not vectorized, and planned otherwise."""
    with database(session, "guarded"):
        session.execute(f"CREATE {form} TABLE guarded.t ({columns}) STORED AS ORC {properties}")
        session.execute(f"INSERT INTO guarded.t {values if values.startswith('SELECT') else f'VALUES {values}'}")
        yield "guarded.t"


@pytest.fixture(scope="module")
def numbers(session: HiveSession) -> Iterator[str]:
    """A table that tests only read."""
    with database(session, "guarded_numbers"):
        session.execute("CREATE EXTERNAL TABLE guarded_numbers.t (k INT, v INT, d DECIMAL(10,2)) STORED AS ORC")
        session.execute("INSERT INTO guarded_numbers.t VALUES (1, 9, 0), (2, 8, 1.5), (NULL, 7, NULL)")
        yield "guarded_numbers.t"


def ordered(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=str)


def test_subtotals_stand_beside_a_correlated_subquery(session: HiveSession) -> None:
    rows = session.execute(
        f"SELECT a, count(*) FROM {TABLE} WHERE EXISTS (SELECT 1 FROM {OTHER} WHERE w.k = x.k) GROUP BY ROLLUP (a)"
    )
    assert ordered(rows) == ordered([("p", 1), ("q", 1), (None, 2)])


def test_the_session_keeps_its_optimizer(session: HiveSession) -> None:
    test_subtotals_stand_beside_a_correlated_subquery(session)
    assert session.execute("SET hive.cbo.enable") == [("hive.cbo.enable=true",)]


def test_a_distinct_grouping_key_is_refused_with_a_sentence(session: HiveSession) -> None:
    with pytest.raises(HiveError, match="Answer guard: DISTINCT counts a grouping key"):
        session.execute(f"SELECT k, count(DISTINCT k) FROM {TABLE} GROUP BY ROLLUP (k)")


def test_the_total_has_no_constant_for_its_key(session: HiveSession) -> None:
    rows = session.execute(f"SELECT a, count(*) FROM {TABLE} WHERE a = 'q' GROUP BY a WITH ROLLUP")
    assert ordered(rows) == ordered([("q", 2), (None, 2)])


@pytest.mark.parametrize(
    ("having", "key", "count"), [("a IS NULL", None, 2), ("a IS NOT NULL", "q", 2), ("a = 'q'", "q", 2)]
)
def test_having_sees_the_keys_of_subtotals(session: HiveSession, having: str, key: str | None, count: int) -> None:
    rows = session.execute(f"SELECT a, count(*) FROM {TABLE} WHERE a = 'q' GROUP BY ROLLUP (a) HAVING {having}")
    assert rows == [(key, count)]


def test_what_cbo_cannot_plan_has_no_constant_in_its_total(session: HiveSession) -> None:
    rows = session.execute(
        f"SELECT a, count(*) FROM {TABLE} LATERAL VIEW OUTER explode(array(k)) e AS v WHERE a = 'q' GROUP BY a WITH ROLLUP"
    )
    assert ordered(rows) == ordered([("q", 2), (None, 2)])


def test_distinct_over_subtotals_has_each_row_once(session: HiveSession) -> None:
    keys = "(SELECT stack(3, 'p', 'q', NULL) AS (a)) x"
    rows = session.execute(f"SELECT DISTINCT a FROM (SELECT a, count(*) AS c FROM {keys} GROUP BY ROLLUP (a)) y")
    assert ordered(rows) == [("p",), ("q",), (None,)]
    with pytest.raises(HiveError, match="Answer guard: SELECT DISTINCT stands beside ROLLUP"):
        session.execute(f"SELECT DISTINCT a FROM {keys} GROUP BY ROLLUP (a)")


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
def test_rows_that_tie_share_a_frame(session: HiveSession, kind: str) -> None:
    with stored(session, "f DOUBLE", "(0.5), (0.5), (1.5), (1.5)") as table:
        rows = session.execute(f"SELECT f, count(*) OVER (ORDER BY CAST(f AS {kind})) FROM {table}")
    assert ordered(rows) == [(0.5, 2), (0.5, 2), (1.5, 4), (1.5, 4)]


def test_a_left_join_keeps_rows_whose_match_has_a_null(session: HiveSession) -> None:
    other = "(SELECT k, IF(k = 1, NULL, 'b') AS b FROM (SELECT stack(2, 1, 2) AS (k)) z) w"
    rows = session.execute(f"SELECT x.k FROM {TABLE} LEFT JOIN {other} ON x.k = w.k WHERE w.b IS NULL")
    assert ordered(rows) == [(1,), (3,)]


def test_a_null_is_not_let_pass_beside_a_comparison_that_is_true_of_it(session: HiveSession, numbers: str) -> None:
    rows = session.execute(f"SELECT k FROM {numbers} WHERE k <=> k + 0 AND k IS NOT NULL")
    selected = session.execute(f"SELECT k IS NOT NULL AND k = 1 FROM {numbers}")
    assert ordered(rows) == [(1,), (2,)]
    assert ordered(selected) == [(False,), (False,), (True,)]


@pytest.mark.parametrize("properties", ["", "TBLPROPERTIES ('transactional'='true')"], ids=["orc", "acid"])
def test_the_greatest_double_has_all_its_digits(session: HiveSession, properties: str) -> None:
    """The stock schema keeps four digits of its fraction."""
    with stored(session, "f DOUBLE", "(19.99999), (0.00004)", "", properties) as table:
        session.execute(f"CREATE VIEW guarded.v AS SELECT max(f) AS most, min(f) AS least FROM {table}")
        assert session.execute(f"SELECT max(f), min(f) FROM {table}") == [(19.99999, 0.00004)]
        assert session.execute("SELECT most, least FROM guarded.v") == [(19.99999, 0.00004)]


def test_a_condition_about_a_lateral_view_and_its_table_holds(session: HiveSession) -> None:
    rows = "SELECT 1, array(1, 2) UNION ALL SELECT 2, array(1, 2, 3)"
    with stored(session, "k INT, a ARRAY<INT>", rows) as table:
        exploded = f"{table} LATERAL VIEW posexplode(a) e AS p, v"
        session.execute(f"CREATE VIEW guarded.v AS SELECT k, v FROM {exploded} WHERE v > k")
        assert session.execute(f"SELECT count(*) FROM {exploded} WHERE v >= k") == [(4,)]
        assert session.execute(f"SELECT k, v FROM {exploded} WHERE p = k AND v > 1 ORDER BY k") == [(1, 2), (2, 3)]
        equal = f"SELECT k FROM (SELECT k, v FROM {exploded}) z WHERE z.v = z.k ORDER BY k"
        assert session.execute(equal) == [(1,), (2,)]
        assert session.execute("SELECT * FROM guarded.v ORDER BY k") == [(1, 2), (2, 3)]


@pytest.fixture(scope="module")
def letters(session: HiveSession) -> Iterator[str]:
    """A table of texts and lists, partitioned, that tests only read."""
    with database(session, "guarded_letters"):
        session.execute(
            "CREATE TABLE guarded_letters.t (k INT, s STRING, a ARRAY<INT>, b ARRAY<STRING>)"
            " PARTITIONED BY (p STRING) STORED AS ORC"
        )
        session.execute(
            "INSERT INTO guarded_letters.t PARTITION (p) SELECT 1, 'a😀b', array(CAST(NULL AS INT)), array(''), '😀a'"
            " UNION ALL SELECT 2, '😀😁', array(1, NULL), array('x', NULL), 'b'"
        )
        yield "guarded_letters.t"


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_a_letter_beyond_the_basic_plane_counts_as_one(session: HiveSession, letters: str, vectorized: str) -> None:
    """Tasks on YARN evaluate the functions, HiveServer2 those of constants and partitions."""
    session.execute(f"SET hive.vectorized.execution.enabled={vectorized}")
    try:
        rows = session.execute(
            f"SELECT substr(s, 2, 1), instr(s, 'b'), lpad(s, 4, 'x'), s LIKE '😀_', split(s, '') FROM {letters} ORDER BY k"
        )
        found = session.execute(f"SELECT k FROM {letters} WHERE s LIKE '😀_' AND substr(s, -1, 1) = substr('😀😁', 2)")
        pruned = session.execute(f"SELECT k FROM {letters} WHERE substr(p, 2, 1) = 'a' AND p LIKE '😀_'")
    finally:
        session.execute("SET hive.vectorized.execution.enabled=true")
    assert rows == [
        ("😀", 3, "xa😀b", False, '["a","😀","b",""]'),
        ("😁", 0, "xx😀😁", True, '["😀","😁",""]'),
    ]
    assert (found, pruned) == ([(2,)], [(1,)])


@pytest.mark.parametrize("check", ["s LIKE 'a%'", "substr(s, 1, 1) = 'a'"])
def test_a_constraint_names_functions_of_texts(session: HiveSession, check: str) -> None:
    with database(session, "guarded_checks"):
        session.execute(
            f"CREATE TABLE guarded_checks.t (s STRING CHECK ({check}) ENABLE NOVALIDATE)"
            " STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        )
        session.execute("INSERT INTO guarded_checks.t VALUES ('ab')")
        with pytest.raises(HiveError, match="Either CHECK or NOT NULL constraint violated"):
            session.execute("INSERT INTO guarded_checks.t VALUES ('b')")
        assert session.execute("SELECT s FROM guarded_checks.t") == [("ab",)]


def test_functions_of_texts_stay_vectorized(session: HiveSession, letters: str) -> None:
    plan = session.execute(f"EXPLAIN VECTORIZATION EXPRESSION SELECT max(substr(s, 2)), max(trim(s)) FROM {letters}")
    text = "\n".join(str(line) for (line,) in plan)
    assert all(name in text for name in ("StringSubstrColStart(", "StringTrimCol("))


def test_a_result_has_the_lists_that_were_selected(session: HiveSession, letters: str) -> None:
    rows = session.execute(f"SELECT a, b, map('k', a), k FROM {letters} ORDER BY k")
    assert rows == [("[null]", '[""]', '{"k":[null]}', 1), ("[1,null]", '["x",null]', '{"k":[1,null]}', 2)]
    both = session.execute(f"SELECT a FROM {letters} WHERE k = 1 UNION ALL SELECT a FROM {letters} WHERE k = 2")
    assert ordered(both) == [("[1,null]",), ("[null]",)]


@pytest.fixture(scope="module")
def measures(session: HiveSession) -> Iterator[str]:
    """A table that tests only read: whole numbers, a long and a short decimal, and texts with blanks and signs of LIKE."""
    with database(session, "guarded_measures"):
        session.execute(
            "CREATE TABLE guarded_measures.t (k INT, b INT, d DECIMAL(26,6), e DECIMAL(7,2), s STRING) STORED AS ORC"
        )
        session.execute(
            "INSERT INTO guarded_measures.t VALUES (10, 2, 3, 2.5, ' 12 '), (10, 0, 1, NULL, '100%'), (NULL, 1, 2, 1, 'a_b')"
        )
        yield "guarded_measures.t"


def test_a_division_by_zero_is_null(session: HiveSession, measures: str) -> None:
    chosen = (
        "coalesce(k / b, -1), nvl(k / b, -1), IF(k / b IS NULL, -1, 1), k * 1.0 / b IS NULL, (k / b) + 1 IS NOT NULL"
    )
    assert session.execute(f"SELECT {chosen} FROM {measures} ORDER BY d DESC") == [
        (5.0, 5.0, 1, False, True),
        (-1.0, -1.0, -1, True, False),
        (-1.0, -1.0, -1, True, False),
    ]
    rows = session.execute(f"SELECT b FROM {measures} WHERE coalesce(k / b, -1) = -1 AND k / b IS NULL ORDER BY b")
    assert rows == [(0,), (1,)]


def test_decimals_of_both_lengths_keep_their_values(session: HiveSession, measures: str) -> None:
    products = "d * (e + 1.1), d * nvl(e, 0), CASE WHEN k = 10 THEN e ELSE 0 END * d, d * CASE WHEN k = 10 THEN 1.5 ELSE 0.5 END"
    rows = session.execute(f"SELECT {products} FROM {measures} ORDER BY d DESC")
    found = [tuple(None if one is None else float(one) for one in row) for row in rows]
    assert found == [(10.8, 7.5, 7.5, 4.5), (4.2, 2.0, 0.0, 1.0), (None, 0.0, None, 1.5)]


def test_a_partition_by_decimals_keeps_their_fractions(session: HiveSession) -> None:
    with database(session, "guarded_parts"):
        session.execute("CREATE TABLE guarded_parts.t (k INT) PARTITIONED BY (p DECIMAL(10,2)) STORED AS ORC")
        session.execute("INSERT INTO guarded_parts.t PARTITION (p) VALUES (1, 24518.01), (2, 24518.02)")
        rows = session.execute("SELECT p, count(*) FROM guarded_parts.t GROUP BY p ORDER BY p")
    assert rows == [("24518.01", 1), ("24518.02", 1)]


def test_like_knows_its_escapes(session: HiveSession, measures: str) -> None:
    rows = session.execute(
        rf"SELECT s LIKE '100\%', s LIKE '%\_%', s LIKE '1__%', s LIKE '%\%' FROM {measures} ORDER BY d"
    )
    assert rows == [(True, False, True, True), (False, True, False, False), (False, False, False, False)]


@pytest.mark.parametrize(
    "source",
    [
        "(SELECT b FROM {0} SORT BY b LIMIT 9) x",
        "{0} TABLESAMPLE (9 ROWS) x",
        "{0} x LATERAL VIEW OUTER explode(array(1)) e AS v",
    ],
    ids=["sorted", "sampled", "exploded"],
)
def test_a_position_in_order_by_is_a_position(session: HiveSession, measures: str, source: str) -> None:
    """Hive plans these without CBO."""
    for column in ("b", "b AS k"):
        assert session.execute(f"SELECT {column} FROM {source.format(measures)} ORDER BY 1 DESC LIMIT 2") == [
            (2,),
            (1,),
        ]


def test_blanks_around_digits_do_not_count(session: HiveSession, measures: str) -> None:
    assert session.execute(f"SELECT CAST(s AS INT), CAST(s AS BIGINT) FROM {measures} ORDER BY d DESC LIMIT 1") == [
        (12, 12)
    ]
    assert session.execute(f"SELECT b FROM {measures} WHERE CAST(s AS INT) = 12") == [(2,)]


def test_a_row_with_a_null_finds_what_a_subquery_has_for_it(session: HiveSession) -> None:
    rows = "(SELECT stack(3, 1, 1, 2, CAST(NULL AS INT), CAST(NULL AS INT), 2) AS (k, j)) x"
    with pytest.raises(
        HiveError, match=r"Answer guard: a subquery may be true of a row around it whose x\.[jk] is NULL"
    ):
        session.execute(f"SELECT k FROM {rows} WHERE EXISTS (SELECT 1 FROM {OTHER} WHERE w.k = x.k OR w.k = x.j)")
    each = "EXISTS (SELECT 1 FROM {} WHERE w.k = x.{})"
    found = session.execute(f"SELECT k, j FROM {rows} WHERE {each.format(OTHER, 'k')} OR {each.format(OTHER, 'j')}")
    assert ordered(found) == ordered([(1, 1), (2, None), (None, 2)])


NEAR = "RANGE BETWEEN {} PRECEDING AND {} FOLLOWING"


def test_a_distance_between_decimals_is_refused_and_right_as_the_sentence_says(session: HiveSession) -> None:
    keys = "(SELECT stack(4, 1.2BD, 2.2BD, 3.9BD, CAST(NULL AS DECIMAL(2,1))) AS (k)) x"
    with pytest.raises(HiveError, match="Answer guard: RANGE has a number for a bound and a DECIMAL key"):
        session.execute(f"SELECT k, count(*) OVER (ORDER BY k {NEAR.format(1, 1)}) FROM {keys}")
    rows = session.execute(
        f"SELECT round(k * 10), count(*) OVER (ORDER BY round(CAST(k AS DOUBLE) * 10) {NEAR.format(10, 10)}) FROM {keys}"
    )
    assert sorted(count for _, count in rows) == [1, 1, 2, 2]


def test_nulls_that_come_first_are_refused_before_a_frame_that_looks_ahead(session: HiveSession) -> None:
    keys = "(SELECT stack(5, 1, 2, 4, CAST(NULL AS INT), CAST(NULL AS INT)) AS (k)) x"
    with pytest.raises(HiveError, match="Answer guard: RANGE ends with a number FOLLOWING and NULLs come first"):
        session.execute(f"SELECT k, count(*) OVER (ORDER BY k DESC {NEAR.format(1, 1)}) FROM {keys}")
    rows = session.execute(f"SELECT k, count(*) OVER (ORDER BY k DESC NULLS LAST {NEAR.format(1, 1)}) FROM {keys}")
    assert ordered(rows) == ordered([(1, 2), (2, 2), (4, 1), (None, 2), (None, 2)])


def test_a_column_compared_with_itself_is_planned(session: HiveSession) -> None:
    with stored(session, "k INT", "(1), (-1), (NULL)") as table:
        rows = session.execute(f"SELECT CASE WHEN k >= k AND k > 0 THEN 'p' ELSE 'q' END FROM {table}")
        totals = session.execute(f"SELECT k, count(*) FROM {table} WHERE k >= k AND k > 0 GROUP BY ROLLUP (k)")
    assert ordered(rows) == [("p",), ("q",), ("q",)]
    assert ordered(totals) == ordered([(1, 1), (None, 1)])


def test_branches_of_a_union_keep_their_constants(session: HiveSession, numbers: str) -> None:
    """Without the rules that fold constants in SELECT, CBO takes the first branch's for that of all."""
    both = f"(SELECT 1 AS x, k FROM {numbers} UNION ALL SELECT 2 AS x, CAST(NULL AS INT) AS k FROM {numbers}) u"
    rows = session.execute(f"SELECT x, count(*) FROM {both} GROUP BY x")
    totals = session.execute(f"SELECT x, count(*) FROM {both} GROUP BY ROLLUP (x)")
    left = session.execute(f"SELECT k FROM {numbers} EXCEPT ALL SELECT CAST(NULL AS INT) FROM {numbers}")
    assert ordered(rows) == [(1, 3), (2, 3)]
    assert ordered(totals) == [(1, 3), (2, 3), (None, 6)]
    assert ordered(left) == [(1,), (2,)]


def test_a_group_of_a_single_row_is_one(session: HiveSession, numbers: str) -> None:
    least = f"(SELECT min(k) AS c FROM {numbers}) y"
    assert session.execute(f"SELECT 'x' FROM {least} GROUP BY c") == [("x",)]
    assert session.execute(f"SELECT 'x' FROM (SELECT DISTINCT c FROM {least}) z") == [("x",)]
    assert ordered(session.execute(f"SELECT c FROM {least} GROUP BY ROLLUP (c)")) == [(1,), (None,)]
    keys = f"(SELECT k FROM {numbers} WHERE k > 1 GROUP BY k) y"
    assert ordered(session.execute(f"SELECT k FROM {keys} GROUP BY ROLLUP (k)")) == [(2,), (None,)]


def test_a_total_of_no_rows_is_there(session: HiveSession, numbers: str) -> None:
    for never in ("1 = 2", "k = 1 AND k = 2", "CAST(NULL AS BOOLEAN)", "d IN (CAST(NULL AS DECIMAL(10,2)))"):
        totals = f"FROM {numbers} WHERE {never} GROUP BY ROLLUP (k)"
        assert session.execute(f"SELECT k, count(*) {totals}") == [(None, 0)], never
        assert session.execute(f"SELECT k {totals}") == [(None,)], never
    # Vectorized, and not known to be empty before it runs.
    semi = (
        f"{numbers} x WHERE d IN (CAST(NULL AS DECIMAL(10,2))) AND EXISTS (SELECT 1 FROM {numbers} y WHERE y.d = x.d)"
    )
    rows = session.execute(f"SELECT 'a', 1 FROM {semi} UNION ALL SELECT 'b', count(*) FROM {numbers} GROUP BY CUBE (k)")
    assert ordered(rows) == [("b", 1), ("b", 1), ("b", 1), ("b", 3)]


def test_a_condition_without_a_column_holds_for_totals(session: HiveSession, numbers: str) -> None:
    totals = f"SELECT k, count(*) AS c FROM {numbers} GROUP BY ROLLUP (k)"
    for never in ("1 = 2", "CAST(NULL AS BOOLEAN)", "current_date < DATE'2000-01-01'"):
        assert session.execute(f"SELECT count(*) FROM {numbers} HAVING {never}") == [], never
        assert session.execute(f"{totals} HAVING {never}") == [], never
        assert session.execute(f"SELECT * FROM ({totals}) y WHERE {never}") == [], never
        assert session.execute(f"SELECT * FROM (SELECT count(*) AS c FROM {numbers}) y WHERE {never}") == [], never
    always = "current_date > DATE'2000-01-01'"
    assert session.execute(f"SELECT count(*) FROM {numbers} HAVING 1 = 1 AND {always}") == [(3,)]


def test_a_null_that_is_not_in_an_empty_subquery_is_kept(session: HiveSession, numbers: str) -> None:
    missing = f"NOT IN (SELECT k FROM {numbers} WHERE k > 100)"
    assert session.execute(f"SELECT count(*) FROM {numbers} WHERE k {missing}") == [(3,)]
    spread = f"SELECT count(*) FROM (SELECT k FROM {numbers} DISTRIBUTE BY k) y WHERE y.k"
    with pytest.raises(HiveError, match=r"Answer guard: NOT IN \(SELECT \.\.\)"):
        session.execute(f"{spread} {missing}")
    assert session.execute(f"{spread} IS NOT NULL AND y.k {missing}") == [(2,)]


def test_an_alias_that_is_another_key_too_is_refused(session: HiveSession, numbers: str) -> None:
    for refused in (
        f"SELECT DISTINCT v AS k, k AS c FROM {numbers} ORDER BY k",
        f"SELECT x AS k, c FROM (SELECT DISTINCT v AS x, k AS c FROM {numbers}) y ORDER BY 1",
    ):
        with pytest.raises(HiveError, match="Answer guard: ORDER BY sorts by k"):
            session.execute(refused)
    rows = [(7, None), (8, 2), (9, 1)]
    assert session.execute(f"SELECT DISTINCT v AS w, k AS c FROM {numbers} ORDER BY w") == rows
    assert session.execute(f"SELECT v AS k, k AS c FROM {numbers} ORDER BY k") == rows


def test_a_row_that_its_own_side_excludes_has_no_match(session: HiveSession, numbers: str) -> None:
    """A map join takes it for a match where the rest of ON is true of NULLs."""
    rows = session.execute(
        f"SELECT x.k, y.k FROM {numbers} x LEFT JOIN {numbers} y ON x.v > 7 AND (x.k IS NULL OR x.k < y.k)"
    )
    assert ordered(rows) == ordered([(1, 2), (2, None), (None, None)])
    rows = session.execute(
        f"SELECT x.v, y.v FROM {numbers} x LEFT JOIN {numbers} y ON x.v > 7 AND coalesce(y.k, 2) >= x.k AND x.v >= y.v"
    )
    assert ordered(rows) == ordered([(9, 7), (9, 8), (9, 9), (8, 7), (8, 8), (7, None)])


def test_subtotals_are_joined_to_what_has_no_rows(session: HiveSession) -> None:
    """Hive removes the scan of the empty side, and then gives its tasks no file to read."""
    with stored(session, "id INT, k INT, s STRING", "(1, 2, 'x'), (3, 4, 'y')") as table:
        view = f"{table} LATERAL VIEW explode(array(1)) e AS x"
        subtotals = f"SELECT CAST(NULL AS INT) AS k FROM {view} GROUP BY CUBE (id) HAVING count(*) > 0"
        rows = session.execute(
            f"SELECT t.s FROM ({subtotals}) y LEFT JOIN {table} t ON y.k = t.k AND CAST(NULL AS BOOLEAN)"
        )
    assert rows == [(None,)] * 3


def test_a_list_of_decimals_is_planned_without_the_propagation_of_constants(session: HiveSession, numbers: str) -> None:
    """Hive writes such a list into the plan as one that tasks cannot read."""
    near = "CASE WHEN d IN (1.50, 2.25) THEN 1 ELSE 0 END"
    rows = session.execute(f"SELECT {near}, sum({near}) FROM {numbers} GROUP BY ROLLUP ({near})")
    found = session.execute(f"SELECT d FROM {numbers} WHERE d <=> d AND (d IN (1.50, 2.25) OR d = 7) ORDER BY d")
    assert ordered(rows) == ordered([(1, 1), (0, 0), (None, 1)])
    assert [str(value) for (value,) in found] == ["1.50"]


@pytest.fixture(scope="module")
def zeros(session: HiveSession) -> Iterator[str]:
    """A table that tests only read, and b, which is in buckets: -0.0 is alone in its file, as DOUBLE f and FLOAT g."""
    with database(session, "guarded_zeros"):
        session.execute("SET hopshive.answer.guard=false")
        for name, buckets in (("t", ""), ("b", "CLUSTERED BY (f) INTO 2 BUCKETS")):
            table = f"guarded_zeros.{name}"
            session.execute(f"CREATE EXTERNAL TABLE {table} (i INT, f DOUBLE, g FLOAT) {buckets} STORED AS ORC")
            source = "(SELECT stack(2, 1, 0.0D, 2, 0.0D) AS (i, z)) x"
            session.execute(f"INSERT INTO {table} SELECT i, z / -7, CAST(z / -7 AS FLOAT) FROM {source}")
            session.execute(f"INSERT INTO {table} VALUES (3, 0, 0), (4, 1.5, 1.5), (5, NULL, NULL)")
        session.execute("SET hopshive.answer.guard=true")
        yield "guarded_zeros.t"


OF_ZEROS = {
    "SELECT DISTINCT f, g FROM {0}": [(0.0, 0.0), (1.5, 1.5), (None, None)],
    "SELECT -f, count(*) FROM {0} GROUP BY -f WITH ROLLUP": [(0.0, 3), (-1.5, 1), (None, 1), (None, 5)],
    "SELECT count(DISTINCT f), count(DISTINCT g) FROM {0}": [(2, 2)],
    "SELECT f FROM {0} INTERSECT SELECT -g FROM {0}": [(0.0,), (None,)],
    "SELECT a.i, b.i FROM {0} a JOIN {0} b ON a.f = b.f WHERE b.i = 3": [(1, 3), (2, 3), (3, 3)],
    "SELECT a.i, b.i FROM {0} a JOIN {0} b ON a.f = b.g AND a.i = b.i + 2": [(3, 1)],
    "SELECT a.i, b.i FROM {0} a LEFT JOIN {0} b ON a.f <=> b.f AND b.i > 2": [(1, 3), (2, 3), (3, 3), (4, 4), (5, 5)],
    "SELECT a.i FROM {0} a LEFT JOIN {0} b ON a.g = b.g AND b.i = 3 AND a.i < b.f + 9 WHERE b.i IS NULL": [(4,), (5,)],
    "SELECT a.i FROM {0} a FULL JOIN (SELECT * FROM {0} WHERE i = 3) b ON a.f = b.f WHERE b.i > 0": [(1,), (2,), (3,)],
    "SELECT i FROM {0} x WHERE NOT EXISTS (SELECT 1 FROM {0} y WHERE y.f = x.f AND y.i = 3)": [(4,), (5,)],
    "SELECT i, rank() OVER (ORDER BY f), count(*) OVER (PARTITION BY g) FROM {0} WHERE i < 5": [
        (1, 1, 3),
        (2, 1, 3),
        (3, 1, 3),
        (4, 4, 1),
    ],
    "SELECT i FROM (SELECT i FROM {0} ORDER BY f, i DESC LIMIT 1) x": [(3,)],
    # HiveServer2 answers these itself.
    "SELECT i FROM {0} WHERE f = 0": [(1,), (2,), (3,)],
    "SELECT i FROM {0} WHERE g >= 0.0 AND i < 4": [(1,), (2,), (3,)],
    "SELECT i FROM {0} WHERE f NOT BETWEEN 0 AND 1": [(4,)],
    "SELECT i FROM {0} WHERE f IN (0.0, 7.5)": [(1,), (2,), (3,)],
    "SELECT i, f IN (0.0, 7.5) FROM {0} WHERE f NOT IN (1.5, 2)": [(1, True), (2, True), (3, True)],
    # Tasks.
    "SELECT sum(i) FROM {0} WHERE f = 0": [(6,)],
    "SELECT sum(i) FROM {0} WHERE f >= 0 AND g IN (0, 8)": [(6,)],
    "SELECT sum(i), sum(IF(g IN (0, 8), 1, 0)) FROM {0} WHERE f <= -0.0D": [(6, 3)],
}


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_the_negative_zero_is_zero(session: HiveSession, zeros: str, vectorized: str) -> None:
    """Wherever values are keys, and wherever files are asked for one."""
    session.execute(f"SET hive.vectorized.execution.enabled={vectorized}")
    try:
        found = {statement: ordered(session.execute(statement.format(zeros))) for statement in OF_ZEROS}
    finally:
        session.execute("SET hive.vectorized.execution.enabled=true")
    assert found == {statement: ordered(rows) for statement, rows in OF_ZEROS.items()}


def test_the_negative_zero_is_looked_for_in_the_buckets_of_both(session: HiveSession, zeros: str) -> None:
    assert session.execute(f"SELECT sum(i) FROM {zeros[:-1]}b WHERE f = 0") == [(6,)]


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_a_join_lets_the_negative_zero_pass_before_it(host: Any, zeros: str, vectorized: str) -> None:
    """A Bloom filter, a minimum and a maximum of the one side's keys leave out rows of the other."""
    settings = {
        "hive.vectorized.execution.enabled": vectorized,
        "hive.auto.convert.join": "false",
        "hive.tez.dynamic.semijoin.reduction": "true",
        "hive.tez.bigtable.minsize.semijoin.reduction": "1",
        "hive.tez.min.bloom.filter.entries": "1",
        "hive.tez.dynamic.semijoin.reduction.threshold": "-999999999999",
        "hive.disable.unsafe.external.table.operations": "false",
    }
    statement = f"SELECT a.i FROM {zeros} a JOIN {zeros} b ON a.f = b.f WHERE b.i = 3"
    own = HiveSession(host.run("hostname -i").stdout.split()[0])
    try:
        for name, value in settings.items():
            own.execute(f"SET {name}={value}")
        plan = "".join(str(line) for (line,) in own.execute(f"EXPLAIN {statement}"))
        rows = own.execute(statement)
    finally:
        own.close()
    assert "bloom_filter" in plan
    assert ordered(rows) == [(1,), (2,), (3,)]


def test_a_limit_does_not_make_a_total_smaller(session: HiveSession) -> None:
    with stored(session, "a STRING", "('p'), ('p'), ('q'), ('q'), ('r'), (NULL), ('q')") as table:
        rows = session.execute(f"SELECT a, count(*) FROM {table} GROUP BY a WITH ROLLUP ORDER BY a DESC LIMIT 2")
    assert ordered(rows) == [(None, 1), (None, 7)]


def test_what_the_guard_does_is_counted_and_stands_in_the_journal(host: Any, session: HiveSession) -> None:
    test_a_distinct_grouping_key_is_refused_with_a_sentence(session)
    test_subtotals_stand_beside_a_correlated_subquery(session)
    for counter in ("refused", "without_cbo"):
        asked = host.check_output(
            "/opt/hopshive/python/current/bin/python -c 'import urllib.request as u; print(u.urlopen("
            f'"http://localhost:10002/jmx?qry=metrics:name=hopshive_answer_guard_{counter}").read().decode())\''
        )
        assert json.loads(asked)["beans"][0]["Count"] >= 1
    logged = host.check_output("journalctl --no-pager --unit=hive-server2 --since=-300s")
    assert "Answer guard: DISTINCT counts a grouping key" in logged
    assert "Answer guard: this statement runs without CBO" in logged


def test_a_session_may_switch_the_guard_off(session: HiveSession) -> None:
    session.execute("SET hopshive.answer.guard=false")
    try:
        rows = session.execute(f"SELECT k, count(DISTINCT k) FROM {TABLE} GROUP BY ROLLUP (k)")
    finally:
        session.execute("SET hopshive.answer.guard=true")
    # What stock Hive answers; the total is 3.
    assert [count for key, count in rows if key is None] == [0]
