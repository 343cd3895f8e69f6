from tests.answers.generate import FEATURES, statement
from tests.answers.reduce import candidates, reduced, size
from tests.answers.statements import DUCKDB, HIVE, SPARK, Expr, Query, Select, SetOperation, Table, text
from tests.answers.tables import TABLES, digest, rows


def test_the_same_seed_gives_the_same_statements() -> None:
    assert [statement(7, number) for number in range(50)] == [statement(7, number) for number in range(50)]


def test_another_seed_gives_other_statements() -> None:
    assert statement(7, 1) != statement(8, 1)


def test_a_statement_does_not_depend_on_those_before_it() -> None:
    many = [statement(7, number).query for number in range(20)]
    assert statement(7, 19).query == many[19]


def test_spark_is_asked_nothing_about_tables_of_full_acid() -> None:
    acid = [table.name for table in TABLES if table.acid]
    asked = [statement(7, number) for number in range(300)]
    assert any(any(name in text(one.query, HIVE) for name in acid) for one in asked if not one.spark)
    assert not any(any(name in text(one.query, SPARK) for name in acid) for one in asked if one.spark)


def test_features_that_are_left_out_do_not_occur() -> None:
    everything = " ".join(text(statement(7, number, FEATURES).query, HIVE) for number in range(200))
    for word in ("ROLLUP", "CUBE", "GROUPING", " OVER ", "EXISTS", "UNION", "EXCEPT", "explode", "LIMIT", "DISTINCT c"):
        assert word not in everything


def test_a_limit_has_an_order() -> None:
    assert all(one.query.order or one.query.limit is None for one in (statement(7, number) for number in range(300)))


def test_statements_hold_all_kinds_of_clauses() -> None:
    everything = " ".join(text(statement(7, number).query, HIVE) for number in range(400))
    for word in (
        *("INNER JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "NOT EXISTS", "NOT IN (SELECT", "HAVING"),
        *("ROLLUP", "CUBE", "GROUPING SETS", " OVER ", "UNION ALL", "INTERSECT", "EXCEPT", "NULLS FIRST", "LIMIT"),
        *("LATERAL VIEW", "SELECT DISTINCT", "CASE", "IS NOT TRUE", "array_contains", "datediff", "(SELECT MAX"),
    ):
        assert word in everything, word


def test_dialects_differ_where_engines_do() -> None:
    array = Expr("array", "column", text="x.a")
    first = Expr("int", "element", (array, Expr("int", "literal", text="0")))
    query = Select((), Table("orc_hive", "x"), first)
    assert [text(query, dialect).partition("WHERE ")[2] for dialect in (DUCKDB, HIVE, SPARK)] == [
        "x.a[1 + 0]",
        "x.a[0]",
        "get(x.a, 0)",
    ]


def test_rows_of_the_tables_are_always_the_same() -> None:
    assert [rows(table) for table in TABLES] == [rows(table) for table in TABLES]
    assert digest() == digest()


def test_a_statement_is_reduced_to_the_part_that_is_wrong() -> None:
    found = next(
        one.query
        for one in (statement(7, number) for number in range(500))
        if "ROLLUP" in text(one.query, HIVE) and " JOIN " in text(one.query, HIVE)
    )
    smaller = reduced(found, lambda query: "ROLLUP" in text(query, HIVE))
    assert "ROLLUP" in text(smaller, HIVE)
    assert " JOIN " not in text(smaller, HIVE)
    assert size(smaller) < size(found)


def test_a_statement_that_nothing_can_be_left_out_of_stays() -> None:
    found = statement(7, 3).query
    assert reduced(found, lambda query: query == found) == found


def test_reduction_asks_no_more_often_than_it_may() -> None:
    asked: list[Query] = []

    def is_wrong(query: Query) -> bool:
        asked.append(query)
        return False

    found = max((statement(7, number).query for number in range(50)), key=size)
    reduced(found, is_wrong, tries=10)
    assert len(asked) == 10


def test_no_smaller_statement_has_a_limit_without_an_order() -> None:
    for number in range(60):
        for one in candidates(statement(7, number).query):
            assert not isinstance(one, Select | SetOperation) or one.limit is None or one.order


def test_hive_is_asked_nothing_that_it_never_plans() -> None:
    asked = [statement(7, number) for number in range(1500)]
    texts = [text(one.query, HIVE) for one in asked]
    assert any("VIEW OUTER" in each for each in texts)
    assert not any("VIEW OUTER" in each and ("INTERSECT" in each or "EXCEPT" in each) for each in texts)
    subtotals = [
        one for one, each in zip(asked, texts, strict=True) if "ROLLUP" in each or "CUBE" in each or "SETS" in each
    ]
    assert subtotals
    assert not any("hive.map.aggr" in one.settings for one in subtotals)
