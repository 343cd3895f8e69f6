"""What the guard of answers says of statements, on the parse trees of Hive's own parser: rule by rule.

molecule/default/tests/test_answer_guard.py asks a HiveServer2 the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.hive_hooks import run_probe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

# Prints a line a statement: how it is planned, or why it is refused. Statements that begin with a minus are asked where
# hive.default.nulls.last is false. The last line: microseconds a statement, on average.
PROBE = """
package hopshive;

import java.nio.file.*;
import java.util.*;
import org.apache.hadoop.conf.Configuration;
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
            case "near": return new AnswerGuard.Source(Set.of("s"),
                "SELECT sum(v) OVER (ORDER BY k DESC RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM t", false);
            case "rates": return new AnswerGuard.Source(
                Set.of("k", "c"), "SELECT k, CASE WHEN v = 1 THEN 1.5 ELSE 0.5 END AS c FROM t", false);
            case "filled": return new AnswerGuard.Source(Set.of("k", "v"), "SELECT k, v FROM t WHERE k IS NOT NULL", false);
            case "nulls": return new AnswerGuard.Source(Set.of("k"), "SELECT k FROM t WHERE k <=> v AND k IS NOT NULL", false);
            default: return null;
        }
    }

    static String judge(ASTNode tree, boolean nullsLast) {
        try {
            return AnswerGuard.judge(tree, Probe::table, nullsLast);
        } catch (SemanticException refused) {
            String why = refused.getMessage();
            if (why.contains("RANGE")) {
                String which = why.contains("Write NULLS LAST") ? "last" : why.contains("Write NULLS FIRST") ? "first" : "bound";
                return "REFUSED " + which;
            }
            if (why.contains("a row around it")) {
                return "REFUSED correlation";
            }
            if (why.contains("NOT IN (SELECT ..)")) {
                return "REFUSED absent";
            }
            if (why.contains("ORDER BY sorts")) {
                return "REFUSED order";
            }
            if (why.contains("without CBO")) {
                return "REFUSED " + (why.contains("INTERSECT") ? "intersect" : "subquery")
                    + (why.contains("such as count(*)") ? " sets" : why.contains("single row") ? " row" : "");
            }
            return "REFUSED " + (why.contains("SELECT DISTINCT") ? "duplicates" : "distinct");
        }
    }

    public static void main(String[] arguments) throws Exception {
        List<ASTNode> trees = new ArrayList<>();
        Configuration first = new Configuration(false);
        first.setBoolean("hive.default.nulls.last", false);
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            boolean last = !line.startsWith("-");
            String statement = last ? line : line.substring(1);
            trees.add(new ParseDriver().parse(statement, last ? null : first).getTree());
            System.out.println("= " + judge(trees.get(trees.size() - 1), last));
        }
        int rounds = 200;
        long began = System.nanoTime();
        for (int round = 0; round < rounds; round++) {
            trees.forEach(tree -> judge(tree, true));
        }
        System.out.println("= " + (System.nanoTime() - began) / 1000 / rounds / trees.size());
    }
}
"""
# Prints a line a type of the key: what the guard says of a plan whose window has RANGE and a number for a bound, then of others.
PLAN_PROBE = """
package hopshive;

import java.nio.file.*;
import java.util.*;
import org.apache.hadoop.hive.ql.parse.*;
import org.apache.hadoop.hive.ql.parse.WindowingSpec.*;
import org.apache.hadoop.hive.ql.plan.*;
import org.apache.hadoop.hive.ql.plan.ptf.*;
import org.apache.hadoop.hive.serde2.typeinfo.*;

class Probe {
    static String judge(String type, WindowType kind, int amount) throws Exception {
        PTFExpressionDef key = new PTFExpressionDef();
        key.setExprNode(new ExprNodeColumnDesc(TypeInfoUtils.getTypeInfoFromTypeString(type), "k", "t", false));
        OrderDef order = new OrderDef();
        order.addExpression(new OrderExpressionDef(key));
        WindowFunctionDef function = new WindowFunctionDef();
        function.setWindowFrame(new WindowFrameDef(
            kind, new BoundaryDef(Direction.PRECEDING, amount), new BoundaryDef(Direction.CURRENT, 0)));
        WindowTableFunctionDef windows = new WindowTableFunctionDef();
        windows.setOrder(order);
        windows.setWindowFunctions(List.of(new WindowFunctionDef(), function));
        PTFDesc plan = new PTFDesc();
        plan.setFuncDef(windows);
        try {
            AnswerGuard.refuseDistances(plan);
            return "RUNS";
        } catch (SemanticException refused) {
            return refused.getMessage();
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (String type : Files.readAllLines(Path.of(arguments[0]))) {
            System.out.println("= " + judge(type, WindowType.RANGE, 1));
        }
        System.out.println("= " + judge("decimal(7,2)", WindowType.ROWS, 1));
        System.out.println("= " + judge("decimal(7,2)", WindowType.RANGE, BoundarySpec.UNBOUNDED_AMOUNT));
    }
}
"""
# Prints on which releases the guard acts, and what it says of a statement whose table it cannot look up, with it and without.
SWITCH_PROBE = """
package hopshive;

import java.nio.file.*;
import java.util.*;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.parse.*;

class Probe {
    public static void main(String[] arguments) throws Exception {
        for (String release : Files.readAllLines(Path.of(arguments[0]))) {
            HiveConf conf = new HiveConf();
            boolean acts = AnswerGuard.acts(conf, release);
            conf.set("hopshive.answer.guard", "false");
            System.out.println("= " + acts + " " + AnswerGuard.acts(conf, release));
        }
        for (boolean guarded : List.of(true, false)) {
            HiveSemanticAnalyzerHookContextImpl context = new HiveSemanticAnalyzerHookContextImpl();
            HiveConf conf = new HiveConf();
            conf.setBoolean("hopshive.answer.guard", guarded);
            context.setConf(conf);
            // Without a session there is no current database.
            ASTNode tree = new ParseDriver().parse("SELECT k FROM t WHERE k IN (SELECT k FROM u)", null).getTree();
            try {
                System.out.println("= " + (new AnswerGuard().preAnalyze(context, tree) == tree));
            } catch (SemanticException refused) {
                System.out.println("= " + refused.getMessage());
            }
        }
    }
}
"""
# What the guard says of RANGE with a number for a bound, by the type of the key.
TYPES = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "float", "double", "date"), "RUNS"),
    "decimal(9,0)": "RUNS",
    "decimal(10,0)": "a DECIMAL key",
    "decimal(7,2)": "a DECIMAL key",
    "decimal(38,18)": "a DECIMAL key",
    "timestamp": "a TIMESTAMP key",
    "timestamp with local time zone": "a TIMESTAMP key",
    "string": "a key of the type string",
    "varchar(5)": "a key of the type varchar(5)",
}
EXISTS = "EXISTS (SELECT 1 FROM u w WHERE w.k = x.k)"
NEAR = "ORDER BY k DESC RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING"
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
    # A reader of a materialized view reads its rows, and only its making runs its text.
    "SELECT DISTINCT a FROM stored": "AS_IS",
    "ALTER MATERIALIZED VIEW stored REBUILD": "WITHOUT_INFERENCE",
    f"SELECT a, count(*) FROM t x WHERE a = 'p' OR {EXISTS} GROUP BY ROLLUP (a)": "REFUSED subquery",
    f"SELECT a, count(*) FROM t x WHERE {EXISTS} AND NOT {EXISTS} GROUP BY ROLLUP (a)": "REFUSED subquery",
    "SELECT a, 1 FROM t x WHERE k NOT IN (SELECT w.k FROM u w WHERE w.w = x.v) GROUP BY ROLLUP (a)": "REFUSED subquery",
    "SELECT a, 1 FROM t x WHERE v > (SELECT avg(w.w) FROM u w WHERE w.k = x.k) GROUP BY ROLLUP (a)": "REFUSED subquery",
    "SELECT k FROM t x WHERE EXISTS (SELECT 1 FROM u w WHERE w.k = x.k GROUP BY ROLLUP (w.k))": "REFUSED subquery",
    f"SELECT a, 1 FROM t x WHERE {EXISTS} GROUP BY ROLLUP (a) INTERSECT SELECT a, 1 FROM t": "REFUSED intersect",
    f"SELECT a, 1 FROM t x WHERE {EXISTS} GROUP BY ROLLUP (a) EXCEPT ALL SELECT a, 1 FROM t": "REFUSED intersect",
    "SELECT a, 1 FROM t x WHERE NOT EXISTS (SELECT 1 FROM u w WHERE w.k <=> x.k) GROUP BY CUBE (a)": "REFUSED subquery",
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
    "SELECT a, count(*) FROM t WHERE v > (SELECT avg(w) FROM u) GROUP BY ROLLUP (a) UNION SELECT 'x', 0": "WITHOUT_INFERENCE",
    "SELECT DISTINCT k FROM (SELECT k FROM t GROUP BY ROLLUP (k) UNION SELECT k FROM u) y": "WITHOUT_CBO",
    "SELECT DISTINCT k FROM (SELECT k FROM t GROUP BY ROLLUP (k)) y WHERE k > (SELECT avg(w) FROM u)": "REFUSED subquery",
    "SELECT DISTINCT k FROM t GROUP BY ROLLUP (k)": "REFUSED duplicates",
    # Rule "rows": what CBO takes for unique or empty.
    **dict.fromkeys(
        (
            "SELECT 'x' FROM (SELECT min(s) AS c FROM t) y GROUP BY length(c)",
            "SELECT 'x' FROM (SELECT DISTINCT c FROM (SELECT collect_set(s) AS c FROM t) y) z",
            "SELECT c FROM (SELECT c FROM (SELECT count(*) AS c FROM t) y WHERE c > 1) z GROUP BY c",
            "WITH y AS (SELECT min(s) AS c FROM t HAVING min(s) > 'a') SELECT 'x' FROM y GROUP BY c",
            "SELECT a FROM t GROUP BY ROLLUP (a)",
            "SELECT a, grouping(a) FROM t GROUP BY CUBE (a) ORDER BY a",
            "SELECT a, 1 FROM t GROUP BY ROLLUP (a) UNION ALL SELECT a, 1 FROM t",
            "SELECT a FROM (SELECT a, count(*) AS c FROM t GROUP BY ROLLUP (a)) y",
            "SELECT max(a) FROM (SELECT a, count(*) AS c FROM t GROUP BY ROLLUP (a)) y",
        ),
        "WITHOUT_CBO",
    ),
    **dict.fromkeys(
        (
            "SELECT a, count(*) FROM t GROUP BY ROLLUP (a)",
            "SELECT a FROM t GROUP BY ROLLUP (a) HAVING count(*) > 1",
            "SELECT * FROM (SELECT a, count(*) AS c FROM t GROUP BY ROLLUP (a)) y",
            "SELECT a FROM (SELECT a, count(*) AS c FROM t GROUP BY ROLLUP (a)) y WHERE c > 1",
            "SELECT a, count(*) FROM t GROUP BY ROLLUP (a) UNION ALL SELECT a, 1 FROM t",
        ),
        "WITHOUT_INFERENCE",
    ),
    **dict.fromkeys(
        (
            "SELECT a FROM (SELECT a, min(s) AS c FROM t GROUP BY a) y GROUP BY a",
            "SELECT 'x' FROM (SELECT min(s) OVER () AS c FROM t) y GROUP BY c",
            "SELECT 'x' FROM (SELECT min(s) AS c FROM t UNION ALL SELECT s FROM t) y GROUP BY c",
            "SELECT 'x' FROM (SELECT min(s) AS c FROM t) y UNION SELECT 'w'",
            "SELECT 'x' FROM (SELECT min(s) AS c FROM t) y",
        ),
        "AS_IS",
    ),
    "SELECT a FROM t GROUP BY ROLLUP (a) EXCEPT SELECT a FROM t": "REFUSED intersect sets",
    "SELECT a FROM t WHERE v > (SELECT avg(w) FROM u) GROUP BY ROLLUP (a)": "REFUSED subquery sets",
    "SELECT DISTINCT c FROM (SELECT count(*) AS c FROM t) y WHERE c > (SELECT avg(w) FROM u)": "REFUSED subquery row",
    # Rule "constants": a condition without a column above a total.
    **dict.fromkeys(
        (
            "SELECT count(*) FROM t HAVING 1 = 2",
            "SELECT max(s) FROM t HAVING count(*) > 1 AND current_date > DATE'2030-01-01'",
            "SELECT * FROM (SELECT count(*) AS c FROM t) y WHERE c > 1 AND NULL",
            "SELECT * FROM (SELECT collect_set(s) FROM t) y JOIN u ON rand() > 2",
        ),
        "AS_IS KEEPING_CONDITIONS",
    ),
    "SELECT k, count(*) FROM t GROUP BY ROLLUP (k) HAVING CAST(NULL AS BOOLEAN)": "WITHOUT_INFERENCE KEEPING_CONDITIONS",
    **dict.fromkeys(
        (
            "SELECT k, count(*) FROM t WHERE 1 = 2 GROUP BY k HAVING 1 = 2",
            "SELECT count(*) FROM t WHERE 1 = 1 AND TRUE AND k > 1 HAVING 1 = 1",
            "SELECT count(*) FROM t JOIN u USING (k)",
            "SELECT count(*) FROM t, u WHERE t.k = u.k",
            "SELECT k, min(v) OVER () FROM t WHERE 1 = 2",
            "SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM u)",
        ),
        "AS_IS",
    ),
    # Rule "positions": ORDER BY 1 where Hive leaves CBO out.
    **dict.fromkeys(
        (
            "SELECT k FROM t TABLESAMPLE (5 ROWS) x ORDER BY 1 DESC",
            "SELECT k FROM (SELECT k FROM t SORT BY k LIMIT 10) x ORDER BY 1",
            "SELECT k, j FROM t LATERAL VIEW OUTER explode(array(v)) e AS j ORDER BY j, 1 NULLS FIRST",
        ),
        "AS_IS KEEPING_POSITIONS",
    ),
    **dict.fromkeys(
        (
            "SELECT k FROM t ORDER BY 1",
            "SELECT k FROM (SELECT k FROM t SORT BY k) x ORDER BY 1",
            "SELECT k FROM (SELECT k FROM t DISTRIBUTE BY k) x ORDER BY k",
            "SELECT sum(v) OVER (ORDER BY 1) FROM (SELECT k, v FROM t DISTRIBUTE BY k) x",
        ),
        "AS_IS",
    ),
    "SELECT k FROM (SELECT k FROM t SORT BY k LIMIT 9) y WHERE k NOT IN (SELECT b FROM u)": "REFUSED absent",
    # Rule "decimals": CASE or IF among decimal constants, and arithmetic.
    **dict.fromkeys(
        (
            "SELECT k * CASE WHEN v = 1 THEN 1.5 ELSE 0.5 END FROM t",
            "SELECT k + IF(v = 1, 1.5, 0.5) FROM t",
            "SELECT CASE v WHEN 1 THEN 1 WHEN 2 THEN 0.5BD END * k FROM t",
            "SELECT k * CASE WHEN v = 1 THEN CAST(1 AS DECIMAL(3,1)) ELSE 2 END FROM t",
            "SELECT k * c FROM (SELECT k, CASE WHEN v = 1 THEN 1.5 END AS c FROM t) y",
            "SELECT sum(k * CASE WHEN v = 1 THEN 1.5 ELSE 0.5 END) FROM t",
            "SELECT k + c FROM rates",
            # And a cast as a short DECIMAL, beside IN or BETWEEN.
            "SELECT k FROM (SELECT CAST(v AS DECIMAL(18,4)) AS k FROM t) y WHERE k BETWEEN 1 AND 2",
            "SELECT sum(CAST(v AS DECIMAL)) FROM t WHERE k IN (1, 2)",
        ),
        "AS_IS IN_ROWS",
    ),
    **dict.fromkeys(
        (
            "SELECT k, CASE WHEN v = 1 THEN 1.5 ELSE 0.5 END FROM t",
            "SELECT sum(CASE WHEN v = 1 THEN 1.5 ELSE 0.5 END) / count(*) FROM t",
            "SELECT k * CASE WHEN v = 1 THEN 2 ELSE 1 END FROM t",
            "SELECT k * CASE WHEN v = 1 THEN 1.5 ELSE k END FROM t",
            "SELECT k * CASE WHEN v = 1.5 THEN 2 ELSE 1 END FROM t",
            "SELECT CAST(v AS DECIMAL(18,4)) FROM t WHERE a IN ('p', 'q') AND s BETWEEN DATE'2024-01-01' AND '2024-01-02'",
            "SELECT CAST(v AS DECIMAL(19,4)) FROM t WHERE k BETWEEN 1 AND 2",
            "CREATE TABLE n (k DECIMAL(7,2))",
        ),
        "AS_IS",
    ),
    # Rule "absent": NOT IN where Hive plans without CBO.
    **dict.fromkeys(
        (
            "SELECT k FROM (SELECT k FROM t DISTRIBUTE BY k) y WHERE k NOT IN (SELECT k FROM u)",
            "SELECT k FROM t LATERAL VIEW OUTER explode(array(v)) e AS j WHERE NOT k IN (SELECT b FROM u)",
            "SELECT k FROM (SELECT TRANSFORM (k) USING 'cat' AS (k INT) FROM t) y WHERE k NOT IN (SELECT k FROM u)",
            "FROM t INSERT INTO n SELECT k WHERE k NOT IN (SELECT b FROM u) INSERT INTO m SELECT a",
        ),
        "REFUSED absent",
    ),
    **dict.fromkeys(
        (
            "SELECT k FROM t WHERE k NOT IN (SELECT b FROM u)",
            "SELECT k, count(*) OVER (PARTITION BY k) FROM t WHERE k NOT IN (SELECT b FROM u)",
            "SELECT k FROM (SELECT k FROM t DISTRIBUTE BY k) y WHERE k IN (SELECT b FROM u)",
            "SELECT k FROM (SELECT k FROM t DISTRIBUTE BY k) y WHERE k IS NOT NULL AND k NOT IN (SELECT b FROM u)",
            "SELECT k FROM (SELECT k FROM t DISTRIBUTE BY k) y WHERE 5 NOT IN (SELECT b FROM u)",
        ),
        "AS_IS",
    ),
    # Rule "order": an alias that is the name of another grouping key.
    **dict.fromkeys(
        (
            "SELECT DISTINCT v AS k, k AS c FROM t ORDER BY k DESC",
            "SELECT DISTINCT v AS k, k AS c FROM t ORDER BY 1 DESC",
            "SELECT DISTINCT v AS k, k AS c FROM t ORDER BY c, k + 1",
            "SELECT v AS k, k AS c FROM t GROUP BY v, k ORDER BY k",
            "SELECT DISTINCT x AS k, z AS c FROM (SELECT v AS x, k AS z FROM t) y ORDER BY k",
            "SELECT x AS k, c FROM (SELECT DISTINCT v AS x, k AS c FROM t) y ORDER BY k",
            "SELECT 1 FROM t WHERE v IN (SELECT k FROM (SELECT DISTINCT v AS k, k AS c FROM t ORDER BY k LIMIT 1) y)",
        ),
        "REFUSED order",
    ),
    **dict.fromkeys(
        (
            "SELECT v AS k, k AS c FROM t ORDER BY k",
            "SELECT DISTINCT v AS k, k AS c FROM t ORDER BY t.v",
            "SELECT DISTINCT v AS k, a AS c FROM t ORDER BY k",
            "SELECT DISTINCT k, v AS c FROM t ORDER BY k, 2",
            "SELECT upper(s) AS s, count(*) FROM t GROUP BY upper(s) ORDER BY s",
            "SELECT upper(s) AS s, count(*) FROM t GROUP BY s ORDER BY s",
            "SELECT k AS c, sum(k) AS k FROM t GROUP BY k ORDER BY k",
            "SELECT * FROM (SELECT DISTINCT v AS k, k AS c FROM t) y",
        ),
        "AS_IS",
    ),
    # Rule "nulls": IS NOT NULL beside a comparison that is true of NULLs.
    "SELECT k FROM t WHERE k <=> v AND k IS NOT NULL": "WITHOUT_PROPAGATION",
    "SELECT k FROM t WHERE k IS NOT DISTINCT FROM v AND k IS NOT NULL": "WITHOUT_PROPAGATION",
    "SELECT k FROM t WHERE NOT (k IS DISTINCT FROM v) AND k IS NOT NULL": "WITHOUT_PROPAGATION",
    "SELECT t.k FROM t JOIN u ON t.k <=> u.k WHERE t.k IS NOT NULL": "WITHOUT_PROPAGATION",
    "SELECT k, count(*) FROM t WHERE k <=> v AND k IS NOT NULL GROUP BY ROLLUP (k)": "WITHOUT_INFERENCE",
    "SELECT k FROM nulls": "WITHOUT_PROPAGATION",
    "SELECT k FROM t WHERE k = v AND k IS NOT NULL": "AS_IS",
    **dict.fromkeys(
        (
            "SELECT k IS NOT NULL AND k = 1 FROM t",
            "SELECT NOT (k IS NULL OR k = 1) FROM t",
            "SELECT coalesce(k = v, a = 'x') FROM t",
            "SELECT (k = v) IS TRUE FROM t",
            "SELECT CASE WHEN a = 'x' THEN k = v ELSE k > 1 END FROM t",
            "SELECT a FROM (SELECT concat(a, CAST(k > 0 AND v > 0 AS STRING)) AS a FROM t) y",
            "SELECT count(*) FROM t GROUP BY k IS NOT NULL AND k = 1",
        ),
        "WITHOUT_PROPAGATION",
    ),
    **dict.fromkeys(
        (
            "SELECT k = 1, k IN (1, 2), k IS NOT NULL FROM t WHERE k IS NOT NULL AND k = 1",
            "SELECT CASE WHEN k > 1 AND v IN (1.5, 2.5) THEN k END FROM t",
            "SELECT sum(IF(k = 1 OR v = 1, v, 0)), coalesce(max(k), 0) FROM t",
            "SELECT CASE k WHEN 1 THEN 'p' ELSE 'q' END FROM t",
            "SELECT count(CASE WHEN k = 1 THEN CASE WHEN v = 1 AND a = 'x' THEN 1 END END) FROM t",
        ),
        "AS_IS",
    ),
    # Rule "correlation": what may be true of a NULL around the subquery.
    **{
        f"SELECT a FROM t x WHERE {form.format(condition)}": "REFUSED correlation"
        for form in (
            "EXISTS (SELECT 1 FROM u y WHERE {})",
            "NOT EXISTS (SELECT 1 FROM u y WHERE {})",
            "v > (SELECT max(w) FROM u y WHERE {})",
        )
        for condition in (
            "y.k = x.k OR y.b = x.v",
            "y.k = x.k OR x.k IS NULL",
            "y.k IN (x.k, x.v)",
            "y.k = x.k AND (y.b = x.v OR x.v IS NULL)",
            "y.k < coalesce(x.k, 5)",
            "NOT (y.k < x.k AND y.b < x.v)",
            "y.k NOT BETWEEN x.k AND 7",
        )
    },
    **{
        f"SELECT a FROM t x WHERE EXISTS (SELECT 1 FROM u y WHERE {condition})": "AS_IS"
        for condition in (
            "y.k = x.k AND y.b <> x.v",
            "y.k = coalesce(x.k, 1)",
            "y.k = x.k AND x.v IS NULL",
            "y.k + 1 > CAST(x.k AS BIGINT) * 2 AND NOT (y.b = upper(x.a))",
            "y.k BETWEEN x.k AND x.v",
            "(y.k = x.k AND y.b = 1) OR (y.k = x.k AND y.w = 2)",
            "y.k = x.k AND (y.b = 1 OR x.k > y.w)",
            "y.k = 1 OR y.b = 2",
            "x.k NOT IN (y.k, 1)",
        )
    },
    # Rule "residue": what ON says of both sides besides =.
    **{
        f"SELECT x.k FROM t x {join} JOIN u y ON {on}": "AS_IS WITHOUT_MAP_JOINS"
        for join in ("LEFT", "RIGHT", "FULL")
        for on in (
            "x.b AND (x.k IS NULL OR x.k < y.k)",
            "x.k = y.k AND x.v > 5 AND coalesce(x.v, 1) <= coalesce(y.w, 1)",
            "x.k = y.k AND nvl(v, w) > 1",
            "x.b AND CASE WHEN x.k = 1 THEN TRUE ELSE y.w = 2 END",
        )
    },
    **{
        f"SELECT x.k FROM t x {join} JOIN u y ON {on}": "AS_IS"
        for join, on in (
            ("LEFT", "x.k = y.k AND x.v > 5"),
            ("LEFT", "x.b AND x.k < y.k AND upper(x.a) = upper(y.b)"),
            ("LEFT", "x.k = y.k AND coalesce(y.w, 0) = 0 AND x.a IS NULL"),
            ("LEFT", "x.k = y.k OR x.v < y.w"),
            ("LEFT", "x.k = y.k AND NOT x.v BETWEEN y.w AND 7"),
            ("", "x.b AND (x.k IS NULL OR x.k < y.k)"),
        )
    },
    "SELECT a FROM t x WHERE EXISTS (SELECT 1 FROM u y WHERE y.k <=> x.k)": "WITHOUT_PROPAGATION",
    "SELECT a FROM t x WHERE v IN (SELECT w FROM u y WHERE y.k <=> x.k)": "WITHOUT_PROPAGATION",
    **{
        f"SELECT a FROM t x WHERE NOT EXISTS (SELECT 1 FROM {rows})": "REFUSED correlation"
        for rows in (
            "u y JOIN t z ON y.w = z.v WHERE y.k <=> x.k",
            "(SELECT k AS c, count(*) AS n FROM u GROUP BY k) y WHERE y.c <=> x.k",
            "(SELECT y.k AS c FROM u y JOIN t z ON y.w = z.v) y WHERE y.c <=> x.k",
            "u y WHERE y.k + 1 <=> x.k + 1",
            "u y WHERE y.k <=> x.k GROUP BY y.w",
        )
    },
    "SELECT a FROM t x WHERE v NOT IN (SELECT w FROM u y WHERE y.k <=> x.k)": "REFUSED correlation",
    "SELECT a, (SELECT max(w) FROM u y WHERE y.k IS NOT DISTINCT FROM x.k) FROM t x": "REFUSED correlation",
    "SELECT a FROM t x WHERE v IS NOT NULL AND EXISTS (SELECT 1 FROM u y WHERE y.k = v OR y.b > 1)": "AS_IS",
    "SELECT a FROM t x WHERE s = 'p' AND EXISTS (SELECT 1 FROM u y WHERE y.k = v OR y.b > 1)": "REFUSED correlation",
    "SELECT a FROM t x WHERE EXISTS (SELECT 1 FROM u y WHERE y.k = x.k) OR EXISTS (SELECT 1 FROM u y WHERE y.b = x.v)": "AS_IS",
    # Rule "frames": RANGE with a number for a bound.
    **{
        f"SELECT sum(v) OVER (ORDER BY k RANGE BETWEEN {bounds}) FROM t WHERE k IS NOT NULL": "REFUSED bound"
        for bounds in (
            "1 FOLLOWING AND 2 FOLLOWING",
            "0 FOLLOWING AND 2 FOLLOWING",
            "1 FOLLOWING AND UNBOUNDED FOLLOWING",
            "2 PRECEDING AND 1 PRECEDING",
            "UNBOUNDED PRECEDING AND 1 PRECEDING",
        )
    },
    "SELECT sum(v) OVER w FROM t WINDOW w AS (ORDER BY k RANGE BETWEEN 1 FOLLOWING AND 2 FOLLOWING)": "REFUSED bound",
    **{
        f"SELECT sum(v) OVER (PARTITION BY s ORDER BY k {order} RANGE BETWEEN {bounds}) FROM t": said
        for order, bounds, said in (
            ("", "1 PRECEDING AND 2 FOLLOWING", "AS_IS"),
            ("DESC NULLS LAST", "1 PRECEDING AND 2 FOLLOWING", "AS_IS"),
            ("DESC NULLS LAST", "CURRENT ROW AND 2 FOLLOWING", "AS_IS"),
            ("DESC", "1 PRECEDING AND 2 FOLLOWING", "REFUSED last"),
            ("DESC", "CURRENT ROW AND 2 FOLLOWING", "REFUSED last"),
            ("DESC", "UNBOUNDED PRECEDING AND 2 FOLLOWING", "REFUSED last"),
            ("NULLS FIRST", "CURRENT ROW AND 2 FOLLOWING", "REFUSED last"),
            ("NULLS FIRST", "3 PRECEDING AND CURRENT ROW", "AS_IS"),
            ("DESC", "3 PRECEDING AND CURRENT ROW", "AS_IS"),
            ("DESC", "3 PRECEDING AND UNBOUNDED FOLLOWING", "AS_IS"),
            ("DESC", "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", "AS_IS"),
            ("DESC", "UNBOUNDED PRECEDING AND CURRENT ROW", "AS_IS"),
        )
    },
    "SELECT sum(v) OVER (ORDER BY k DESC RANGE 3 PRECEDING) FROM t": "AS_IS",
    "SELECT sum(v) OVER (ORDER BY k DESC ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) FROM t": "AS_IS",
    "SELECT sum(v) OVER (DISTRIBUTE BY s SORT BY k DESC RANGE BETWEEN CURRENT ROW AND 2 FOLLOWING) FROM t": "REFUSED last",
    "SELECT sum(v) OVER (CLUSTER BY k RANGE BETWEEN CURRENT ROW AND 2 FOLLOWING) FROM t": "AS_IS",
    f"INSERT INTO n SELECT a, sum(v) OVER ({NEAR}) FROM t": "REFUSED last",
    f"CREATE TABLE n AS SELECT a, sum(v) OVER ({NEAR}) FROM t": "REFUSED last",
    f"CREATE VIEW n AS SELECT a, sum(v) OVER ({NEAR}) FROM t": "REFUSED last",
    f"SELECT a FROM t WHERE v IN (SELECT sum(w) OVER ({NEAR}) FROM u)": "REFUSED last",
    f"SELECT max(s) FROM (SELECT sum(v) OVER ({NEAR}) AS s FROM t) x": "REFUSED last",
    f"WITH c AS (SELECT sum(v) OVER ({NEAR}) AS s FROM t) SELECT max(s) FROM c": "REFUSED last",
    "SELECT max(s) FROM near": "REFUSED last",
    # Windows that have names: the order of one, the frame of another.
    f"SELECT sum(v) OVER w FROM t WINDOW w AS ({NEAR})": "REFUSED last",
    "SELECT sum(v) OVER (w RANGE BETWEEN CURRENT ROW AND 2 FOLLOWING) FROM t WINDOW w AS (ORDER BY k DESC)": "REFUSED last",
    "SELECT sum(v) OVER (w RANGE BETWEEN CURRENT ROW AND 2 FOLLOWING) FROM t WINDOW w AS (ORDER BY k)": "AS_IS",
    "SELECT sum(v) OVER (w RANGE 2 PRECEDING) FROM t WINDOW w AS (ORDER BY k DESC)": "AS_IS",
    "SELECT sum(v) OVER (w ORDER BY k DESC) FROM t WINDOW w AS (PARTITION BY s RANGE BETWEEN CURRENT ROW AND 2 FOLLOWING)": (
        "REFUSED last"
    ),
    f"SELECT sum(v) OVER x FROM t WINDOW w AS ({NEAR}), x AS (w ORDER BY k NULLS LAST)": "REFUSED last",
    # A key that is never NULL.
    f"SELECT sum(v) OVER ({NEAR}) FROM t WHERE v > 1 AND (a = 'p' AND k IS NOT NULL)": "AS_IS",
    f"SELECT sum(v) OVER ({NEAR}) FROM t WHERE t.k IS NOT NULL": "AS_IS",
    f"SELECT sum(v) OVER ({NEAR}) FROM t WHERE v IS NOT NULL": "REFUSED last",
    f"SELECT sum(v) OVER ({NEAR}) FROM t WHERE k IS NOT NULL OR v > 1": "REFUSED last",
    f"SELECT sum(v) OVER ({NEAR}) FROM t WHERE NOT k IS NOT NULL": "REFUSED last",
    f"SELECT sum(v) OVER ({NEAR}) FROM t WHERE v IN (SELECT w FROM u WHERE k IS NOT NULL)": "REFUSED last",
    f"SELECT sum(v) OVER ({NEAR.replace('k', 'y.k')}) FROM t x LEFT JOIN t y ON x.k = y.v WHERE x.k IS NOT NULL": "REFUSED last",
    f"SELECT sum(y.v) OVER ({NEAR.replace('k', 'y.k')}) FROM t x LEFT JOIN t y ON x.k = y.v WHERE y.k IS NOT NULL": "AS_IS",
    f"SELECT sum(y.v) OVER ({NEAR.replace('k', 'y.k')}) FROM t LEFT JOIN (SELECT * FROM t WHERE k IS NOT NULL) y ON t.k = y.v": (
        "REFUSED last"
    ),
    f"SELECT k, sum(sum(v)) OVER ({NEAR}) FROM t WHERE k IS NOT NULL GROUP BY k": "AS_IS",
    f"SELECT k, sum(sum(v)) OVER ({NEAR}) FROM t WHERE k IS NOT NULL GROUP BY ROLLUP (k)": "REFUSED last",
    f"SELECT sum(v) OVER ({NEAR.replace('k', 'CAST(k AS DOUBLE)')}) FROM t WHERE CAST(k AS DOUBLE) IS NOT NULL": "AS_IS",
    f"SELECT sum(v) OVER ({NEAR.replace('k', 'CAST(k AS DOUBLE)')}) FROM t WHERE k IS NOT NULL": "REFUSED last",
    f"SELECT sum(v) OVER ({NEAR.replace('k', 'f(k)')}) FROM t WHERE f(k) IS NOT NULL": "REFUSED last",
    f"SELECT sum(v) OVER ({NEAR}) FROM (SELECT * FROM t WHERE k IS NOT NULL) x": "AS_IS",
    f"SELECT sum(v) OVER ({NEAR}) FROM (SELECT v, a AS k FROM t WHERE a IS NOT NULL) x": "AS_IS",
    f"SELECT sum(v) OVER ({NEAR}) FROM (SELECT v, a AS k FROM t WHERE k IS NOT NULL) x": "REFUSED last",
    f"SELECT sum(v) OVER ({NEAR}) FROM (SELECT *, a AS k FROM u WHERE k IS NOT NULL) x": "REFUSED last",
    f"SELECT sum(v) OVER ({NEAR}) FROM (SELECT * FROM t WHERE k IS NOT NULL UNION ALL SELECT * FROM t) x": "REFUSED last",
    f"WITH c AS (SELECT * FROM t WHERE k IS NOT NULL) SELECT sum(v) OVER ({NEAR}) FROM c": "AS_IS",
    f"SELECT sum(v) OVER ({NEAR}) FROM filled": "AS_IS",
    # hive.default.nulls.last=false.
    "-SELECT sum(v) OVER (ORDER BY k RANGE BETWEEN 1 PRECEDING AND 2 FOLLOWING) FROM t": "AS_IS",
    "-SELECT sum(v) OVER (ORDER BY k NULLS LAST RANGE 1 PRECEDING) FROM t": "REFUSED first",
    "-SELECT sum(v) OVER (ORDER BY k NULLS LAST RANGE 1 PRECEDING) FROM t WHERE k IS NOT NULL": "AS_IS",
    "-SELECT sum(v) OVER (ORDER BY k DESC NULLS LAST RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM t": "AS_IS",
    "-SELECT sum(v) OVER (ORDER BY k DESC NULLS FIRST RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM t": "REFUSED last",
    # Statements without any.
    "SELECT * FROM t": "AS_IS",
    "SHOW TABLES": "AS_IS",
    "CREATE TABLE n (k INT)": "AS_IS",
    # A deep tree.
    f"SELECT * FROM t WHERE {' OR '.join(f'k + {number} = v' for number in range(3000))}": "AS_IS",
}


@pytest.fixture(scope="module")
def ask(
    hive_home: Path, hadoop_home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, Iterable[str]], list[str]]:
    """Compiles a probe beside the guard and runs it on some lines; what it answers."""

    def run(probe: str, asked: Iterable[str]) -> list[str]:
        directory = tmp_path_factory.mktemp("guard")
        path = directory / "asked"
        path.write_text("\n".join(asked))
        lines = run_probe(probe, directory, (hive_home, hadoop_home), [path])
        return [line.removeprefix("= ") for line in lines if line.startswith("= ")]

    return run


@pytest.fixture(scope="module")
def said(ask: Callable[[str, Iterable[str]], list[str]]) -> list[str]:
    """What the guard says of each statement, then how long it took."""
    return ask(PROBE, STATEMENTS)


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement[:120])
def test_a_statement_is_answered_rightly_or_refused(statement: str, said: list[str]) -> None:
    assert said[list(STATEMENTS).index(statement)] == STATEMENTS[statement]


@pytest.fixture(scope="module")
def switched(ask: Callable[[str, Iterable[str]], list[str]]) -> list[str]:
    """What the switch does, with three releases."""
    return ask(SWITCH_PROBE, ["4.0.0", "4.0.1", "4.1.0"])


@pytest.fixture(scope="module")
def said_of_plans(ask: Callable[[str, Iterable[str]], list[str]]) -> list[str]:
    """What the guard says of each type, then of ROWS, then of a bound without a number."""
    return ask(PLAN_PROBE, TYPES)


@pytest.mark.parametrize("kind", TYPES)
def test_a_distance_that_hive_does_not_compare_is_refused(kind: str, said_of_plans: list[str]) -> None:
    assert TYPES[kind] in said_of_plans[list(TYPES).index(kind)]


def test_a_decimal_key_is_right_without_a_distance(said_of_plans: list[str]) -> None:
    assert said_of_plans[-2:] == ["RUNS", "RUNS"]


def test_the_guard_acts_on_releases_that_err_unless_it_is_switched_off(switched: list[str]) -> None:
    assert switched[:3] == ["true false", "true false", "false false"]


def test_a_statement_that_the_guard_cannot_read_is_refused(switched: list[str]) -> None:
    assert switched[3].startswith("Answer guard: this statement cannot be read (java.lang.NullPointerException")
    assert "SET hopshive.answer.guard=false" in switched[3]
    assert switched[4] == "true"


def test_the_guard_takes_less_than_three_milliseconds_a_statement(said: list[str]) -> None:
    """Without the metastore's answers, which Hive asks for anyway when it plans the statement."""
    assert int(said[-1]) < 3000
