"""What the guard of answers says of statements, on the parse trees of Hive's own parser: rule by rule.

molecule/default/tests/test_answer_guard.py asks a HiveServer2 the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.hive_hooks import run_probe
from tests.servers import ROOT

if TYPE_CHECKING:
    from pathlib import Path

GUARD = ROOT / "roles/server2/files/AnswerGuard.java"
# Prints a line a statement: how it is planned, or why it is refused. The last line: microseconds a statement, on average.
PROBE = """
package hopshive;

import java.nio.file.*;
import java.util.*;
import org.apache.hadoop.hive.ql.parse.*;

class Probe {
    static AnswerGuard.Source table(String name) {
        switch (name) {
            case "t": return new AnswerGuard.Source(Set.of("k", "a", "s", "v"), null, true);
            case "u": return new AnswerGuard.Source(Set.of("k", "b", "w"), null, true);
            case "totals": return new AnswerGuard.Source(Set.of("a", "c"),
                "SELECT a, count(*) c FROM t x WHERE EXISTS (SELECT 1 FROM u w WHERE w.k = x.k) GROUP BY ROLLUP (a)", false);
            case "stored": return new AnswerGuard.Source(Set.of("a", "c"),
                "SELECT a, count(*) c FROM t GROUP BY ROLLUP (a)", true);
            case "kept": return new AnswerGuard.Source(Set.of("k", "a", "s", "v"),
                "SELECT * FROM t x WHERE EXISTS (SELECT 1 FROM u w WHERE w.k = x.k)", false);
            case "nulls": return new AnswerGuard.Source(Set.of("k"), "SELECT k FROM t WHERE k <=> v AND k IS NOT NULL", false);
            default: return null;
        }
    }

    static String judge(ASTNode tree) {
        try {
            return AnswerGuard.judge(tree, Probe::table).toString();
        } catch (SemanticException refused) {
            String why = refused.getMessage();
            if (why.contains("INTERSECT")) {
                return "REFUSED intersect";
            }
            if (why.contains("SELECT DISTINCT")) {
                return "REFUSED duplicates";
            }
            return why.contains("DISTINCT") ? "REFUSED distinct" : "REFUSED subquery";
        }
    }

    public static void main(String[] arguments) throws Exception {
        List<ASTNode> trees = new ArrayList<>();
        for (String statement : Files.readAllLines(Path.of(arguments[0]))) {
            trees.add(new ParseDriver().parse(statement).getTree());
            System.out.println("= " + judge(trees.get(trees.size() - 1)));
        }
        int rounds = 200;
        long began = System.nanoTime();
        for (int round = 0; round < rounds; round++) {
            trees.forEach(Probe::judge);
        }
        System.out.println("= " + (System.nanoTime() - began) / 1000 / rounds / trees.size());
    }
}
"""
EXISTS = "EXISTS (SELECT 1 FROM u w WHERE w.k = x.k)"
STATEMENTS = {
    # Rule "subtotals": correlated subqueries beside grouping sets.
    f"SELECT a, count(*) FROM t x WHERE {EXISTS} GROUP BY ROLLUP (a)": "WITHOUT_CBO",
    f"SELECT a, count(*) FROM t x WHERE {EXISTS} GROUP BY a WITH ROLLUP": "WITHOUT_CBO",
    f"SELECT a, count(*) FROM t x WHERE NOT {EXISTS} GROUP BY CUBE (a)": "WITHOUT_CBO",
    f"SELECT a, s, count(*) FROM t x WHERE s = 'x' AND {EXISTS} GROUP BY a, s GROUPING SETS ((a), ())": "WITHOUT_CBO",
    "SELECT a, count(*) FROM t x WHERE k IN (SELECT w.k FROM u w WHERE w.w = x.v) GROUP BY ROLLUP (a)": "WITHOUT_CBO",
    "SELECT a, count(*) FROM t x WHERE k IN (SELECT u.k FROM u WHERE w = v) GROUP BY ROLLUP (a)": "WITHOUT_CBO",
    f"SELECT a, count(*) FROM (SELECT * FROM t x WHERE {EXISTS}) y GROUP BY ROLLUP (a)": "WITHOUT_CBO",
    f"WITH c AS (SELECT * FROM t x WHERE {EXISTS}) SELECT a, count(*) FROM c GROUP BY ROLLUP (a)": "WITHOUT_CBO",
    f"SELECT * FROM (SELECT k, count(*) FROM t GROUP BY ROLLUP (k)) x WHERE {EXISTS}": "WITHOUT_CBO",
    f"SELECT a, 1 FROM t GROUP BY ROLLUP (a) UNION ALL SELECT a, 1 FROM t x WHERE {EXISTS}": "WITHOUT_CBO",
    f"EXPLAIN SELECT a, count(*) FROM t x WHERE {EXISTS} GROUP BY ROLLUP (a)": "WITHOUT_CBO",
    f"CREATE TABLE n AS SELECT a, count(*) FROM t x WHERE {EXISTS} GROUP BY ROLLUP (a)": "WITHOUT_CBO",
    f"INSERT INTO n SELECT a, count(*) FROM t x WHERE {EXISTS} GROUP BY ROLLUP (a)": "WITHOUT_CBO",
    "SELECT * FROM totals": "WITHOUT_CBO",
    "SELECT z.a FROM (SELECT * FROM totals) z JOIN t ON z.a = t.a": "WITHOUT_CBO",
    "SELECT a, count(*) FROM kept GROUP BY ROLLUP (a)": "WITHOUT_CBO",
    "SELECT a FROM kept": "AS_IS",
    "ALTER MATERIALIZED VIEW totals REBUILD": "WITHOUT_CBO",
    # Who reads a materialized view reads its rows, and only its making runs its text.
    "SELECT DISTINCT a FROM stored": "AS_IS",
    "ALTER MATERIALIZED VIEW stored REBUILD": "WITHOUT_INFERENCE",
    f"SELECT a, count(*) FROM t x WHERE a = 'p' OR {EXISTS} GROUP BY ROLLUP (a)": "REFUSED subquery",
    f"SELECT a, count(*) FROM t x WHERE {EXISTS} AND NOT {EXISTS} GROUP BY ROLLUP (a)": "REFUSED subquery",
    "SELECT a, 1 FROM t x WHERE k NOT IN (SELECT w.k FROM u w WHERE w.w = x.v) GROUP BY ROLLUP (a)": "REFUSED subquery",
    "SELECT a, 1 FROM t x WHERE v > (SELECT avg(w.w) FROM u w WHERE w.k = x.k) GROUP BY ROLLUP (a)": "REFUSED subquery",
    "SELECT k FROM t x WHERE EXISTS (SELECT 1 FROM u w WHERE w.k = x.k GROUP BY ROLLUP (w.k))": "REFUSED subquery",
    f"SELECT a, 1 FROM t x WHERE {EXISTS} GROUP BY ROLLUP (a) INTERSECT SELECT a, 1 FROM t": "REFUSED intersect",
    f"SELECT a, 1 FROM t x WHERE {EXISTS} GROUP BY ROLLUP (a) EXCEPT ALL SELECT a, 1 FROM t": "REFUSED intersect",
    # Right with CBO: subqueries that name nothing of the query around them.
    "SELECT a, count(*) FROM t WHERE k IN (SELECT k FROM u WHERE w > 1) GROUP BY ROLLUP (a)": "WITHOUT_INFERENCE",
    "SELECT a, count(*) FROM t WHERE v > (SELECT avg(w) FROM (SELECT w FROM u) z) GROUP BY ROLLUP (a)": "WITHOUT_INFERENCE",
    f"SELECT a, count(*) FROM t x WHERE {EXISTS} GROUP BY a": "AS_IS",
    # Rule "distinct".
    "SELECT k, count(DISTINCT k) FROM t GROUP BY ROLLUP (k)": "REFUSED distinct",
    "SELECT k, sum(DISTINCT k) FROM t GROUP BY k WITH CUBE": "REFUSED distinct",
    "SELECT k, count(DISTINCT v, t.k) FROM t GROUP BY a, k GROUPING SETS ((a, k), (a))": "REFUSED distinct",
    "SELECT k + 1, count(DISTINCT k + 1) FROM t GROUP BY ROLLUP (k + 1)": "REFUSED distinct",
    "SELECT k, count(DISTINCT j) FROM (SELECT k, k AS j FROM t) z GROUP BY ROLLUP (k)": "REFUSED distinct",
    "WITH c AS (SELECT k, k AS j FROM t) SELECT k, count(DISTINCT j) FROM c GROUP BY ROLLUP (k)": "REFUSED distinct",
    "SELECT k, 1 FROM t GROUP BY ROLLUP (k) HAVING count(DISTINCT k) > 1": "REFUSED distinct",
    "SELECT k, count(DISTINCT k + 0) FROM t GROUP BY ROLLUP (k)": "WITHOUT_INFERENCE",
    "SELECT k, count(DISTINCT v), count(k), sum(k) FROM t GROUP BY ROLLUP (k)": "WITHOUT_INFERENCE",
    "SELECT k, count(DISTINCT k) FROM t GROUP BY k": "AS_IS",
    # Rule "keys": what WHERE says of a key is not so in subtotals.
    "SELECT k, count(*) FROM t WHERE k = 1 GROUP BY ROLLUP (k) HAVING k IS NULL": "WITHOUT_INFERENCE",
    "SELECT s, count(*) FROM t LATERAL VIEW OUTER explode(array(k)) e AS j GROUP BY ROLLUP (s)": "WITHOUT_INFERENCE",
    "SELECT a, count(*) FROM t GROUP BY CUBE (a) EXCEPT SELECT a, 1 FROM t": "WITHOUT_INFERENCE",
    "SELECT s, count(*) FROM t LATERAL VIEW OUTER explode(array(k)) e AS j GROUP BY s": "AS_IS",
    # Rule "duplicates".
    "SELECT DISTINCT k FROM (SELECT k, count(*) FROM t GROUP BY ROLLUP (k)) y": "WITHOUT_CBO",
    "SELECT k FROM (SELECT k, count(*) FROM t GROUP BY ROLLUP (k)) y GROUP BY k": "WITHOUT_CBO",
    "WITH c AS (SELECT k, a FROM t GROUP BY CUBE (k, a)) SELECT DISTINCT k FROM c": "WITHOUT_CBO",
    "SELECT DISTINCT a FROM totals": "WITHOUT_CBO",
    "SELECT k, sum(c) FROM (SELECT k, count(*) c FROM t GROUP BY ROLLUP (k)) y GROUP BY k": "WITHOUT_INFERENCE",
    "SELECT a, count(*) FROM (SELECT DISTINCT a FROM t) y GROUP BY ROLLUP (a)": "WITHOUT_INFERENCE",
    "SELECT k, count(*) OVER () FROM (SELECT k FROM t GROUP BY ROLLUP (k)) y GROUP BY k": "WITHOUT_CBO",
    "SELECT k, sum(sum(c)) OVER () FROM (SELECT k, count(*) c FROM t GROUP BY ROLLUP (k)) y GROUP BY k": "WITHOUT_INFERENCE",
    "SELECT a, count(*) FROM t GROUP BY ROLLUP (a) UNION SELECT a, 0 FROM t": "WITHOUT_INFERENCE",
    "SELECT a, 1 FROM t WHERE v > (SELECT avg(w) FROM u) GROUP BY ROLLUP (a) UNION SELECT 'x', 0": "WITHOUT_INFERENCE",
    "SELECT DISTINCT k FROM (SELECT k FROM t GROUP BY ROLLUP (k) UNION SELECT k FROM u) y": "WITHOUT_CBO",
    "SELECT DISTINCT k FROM (SELECT k FROM t GROUP BY ROLLUP (k)) y WHERE k > (SELECT avg(w) FROM u)": "REFUSED subquery",
    "SELECT DISTINCT k FROM t GROUP BY ROLLUP (k)": "REFUSED duplicates",
    # Rule "nulls": IS NOT NULL beside a comparison that is true of NULLs.
    "SELECT k FROM t WHERE k <=> v AND k IS NOT NULL": "WITHOUT_PROPAGATION",
    "SELECT k FROM t WHERE k IS NOT DISTINCT FROM v AND k IS NOT NULL": "WITHOUT_PROPAGATION",
    "SELECT k FROM t WHERE NOT (k IS DISTINCT FROM v) AND k IS NOT NULL": "WITHOUT_PROPAGATION",
    "SELECT t.k FROM t JOIN u ON t.k <=> u.k WHERE t.k IS NOT NULL": "WITHOUT_PROPAGATION",
    "SELECT k, count(*) FROM t WHERE k <=> v AND k IS NOT NULL GROUP BY ROLLUP (k)": "WITHOUT_INFERENCE",
    "SELECT k FROM nulls": "WITHOUT_PROPAGATION",
    "SELECT k FROM t WHERE k = v AND k IS NOT NULL": "AS_IS",
    # Statements without any.
    "SELECT * FROM t": "AS_IS",
    "SHOW TABLES": "AS_IS",
    "CREATE TABLE n (k INT)": "AS_IS",
    # A deep tree.
    f"SELECT * FROM t WHERE {' OR '.join(f'k + {number} = v' for number in range(3000))}": "AS_IS",
}


@pytest.fixture(scope="module")
def said(hive_home: Path, hadoop_home: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the guard says of each statement, then how long it took."""
    directory = tmp_path_factory.mktemp("guard")
    statements = directory / "statements"
    statements.write_text("\n".join(STATEMENTS))
    lines = run_probe(GUARD, PROBE, directory, (hive_home, hadoop_home), [statements])
    return [line.removeprefix("= ") for line in lines if line.startswith("= ")]


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement[:120])
def test_a_statement_is_answered_rightly_or_refused(statement: str, said: list[str]) -> None:
    assert said[list(STATEMENTS).index(statement)] == STATEMENTS[statement]


def test_the_guard_takes_less_than_three_milliseconds_a_statement(said: list[str]) -> None:
    """Without the metastore's answers, which Hive asks for anyway when it plans the statement."""
    assert int(said[-1]) < 3000
