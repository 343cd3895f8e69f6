package hopshive;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import org.antlr.runtime.CommonToken;
import org.antlr.runtime.tree.Tree;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.common.metrics.common.Metrics;
import org.apache.hadoop.hive.common.metrics.common.MetricsFactory;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hadoop.hive.ql.exec.FunctionInfo;
import org.apache.hadoop.hive.ql.exec.FunctionRegistry;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.exec.Task;
import org.apache.hadoop.hive.ql.exec.Utilities;
import org.apache.hadoop.hive.ql.exec.mr.ExecDriver;
import org.apache.hadoop.hive.ql.exec.tez.TezTask;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.parse.ASTNode;
import org.apache.hadoop.hive.ql.parse.HiveParser;
import org.apache.hadoop.hive.ql.parse.HiveSemanticAnalyzerHook;
import org.apache.hadoop.hive.ql.parse.HiveSemanticAnalyzerHookContext;
import org.apache.hadoop.hive.ql.parse.ParseDriver;
import org.apache.hadoop.hive.ql.parse.ParseException;
import org.apache.hadoop.hive.ql.parse.ParseUtils;
import org.apache.hadoop.hive.ql.parse.SemanticException;
import org.apache.hadoop.hive.ql.parse.WindowingSpec.WindowType;
import org.apache.hadoop.hive.ql.plan.AggregationDesc;
import org.apache.hadoop.hive.ql.plan.BaseWork;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.plan.FilterDesc;
import org.apache.hadoop.hive.ql.plan.GroupByDesc;
import org.apache.hadoop.hive.ql.plan.MapWork;
import org.apache.hadoop.hive.ql.plan.MapredWork;
import org.apache.hadoop.hive.ql.plan.PTFDesc;
import org.apache.hadoop.hive.ql.plan.SelectDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.hive.ql.plan.ptf.BoundaryDef;
import org.apache.hadoop.hive.ql.plan.ptf.OrderDef;
import org.apache.hadoop.hive.ql.plan.ptf.OrderExpressionDef;
import org.apache.hadoop.hive.ql.plan.ptf.PTFInputDef;
import org.apache.hadoop.hive.ql.plan.ptf.WindowFrameDef;
import org.apache.hadoop.hive.ql.plan.ptf.WindowFunctionDef;
import org.apache.hadoop.hive.ql.plan.ptf.WindowTableFunctionDef;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.hadoop.hive.serde2.typeinfo.DecimalTypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hive.common.util.HiveVersionInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Statements that HiveServer2 is known to answer wrongly run without the optimizer that errs, or are refused with a sentence.
 *
 * <p>The rules look at the statement's parse tree before it is planned, and at the texts of the views that it reads. They act on
 * the releases of Hive that have the defects (RELEASES). Where a rule cannot decide whether a statement meets a defect, it acts. A
 * statement that the guard cannot read is refused.
 *
 * <p>Rule "subtotals": Calcite's decorrelation, which runs for a statement with a correlated subquery anywhere, drops the grouping
 * sets of each aggregate. Hive's planner without CBO keeps them, but knows fewer subqueries, and gets NOT IN wrong.
 *
 * <p>Rule "keys": what WHERE says of a grouping key holds for detail rows only, but CBO takes it for subtotals as well (CALCITE-6317):
 * HAVING k IS NULL finds nothing, k becomes a constant (HIVE-27076), joins lose rows. Hive's planner without CBO, which plans what
 * CBO cannot, such as LATERAL VIEW OUTER, writes constants into subtotals in a step of its own. So each statement with subtotals is
 * planned without the rules of CBO that use such knowledge, and without that step.
 *
 * <p>Rule "duplicates": CBO takes the keys of subtotals for unique (CALCITE-4239) and drops a DISTINCT, or a GROUP BY without aggregates,
 * over them: the total and the group of NULL stay two rows. Such a statement is planned without CBO. DISTINCT in the same SELECT is
 * dropped by the analyzer, in each planner.
 *
 * <p>Rule "distinct": the DISTINCT argument of an aggregate shares its column with a grouping key of the same expression. That
 * column is NULL in subtotals. No planner and no setting avoids it.
 *
 * <p>Rule "nulls": the step that propagates constants takes k IS NOT NULL for implied by a comparison of k beside it, and drops it. But
 * &lt;=&gt; is true of NULL, and SELECT k IS NOT NULL AND k = 1 is false of it, not NULL. A statement with &lt;=&gt;, or whose columns are
 * conditions that CBO writes so, is planned without that step.
 *
 * <p>Rule "correlation": CBO joins a row of the outer query to a correlated subquery by = on the outer columns, and = is never true of
 * NULL (CALCITE-6962). So an outer row with a NULL finds nothing, even where the subquery's WHERE is true of it: below OR, with
 * &lt;=&gt;, IS NULL, coalesce. Comparisons joined by AND are never true of NULL, so the plan is right for them.
 *
 * <p>Rule "lateral": CBO gives the columns of LATERAL VIEW the table of those beside it (HIVE-29084). A condition about both is taken for
 * one that was pushed down, and dropped. A statement that has one keeps its conditions where they are, whatever is pushed down.
 *
 * <p>Rule "residue": a map join of an outer join takes a row for a match that a condition on its own side excludes, if what ON says of both
 * sides besides = is true of NULLs: below OR, with IS NULL, coalesce. Such a statement has no map joins.
 *
 * <p>Rule "extremes": the metastore keeps the least and the greatest DOUBLE of a column with four digits of its fraction. A statement
 * with min or max is not answered from statistics.
 *
 * <p>Rule "rows": CBO drops a GROUP BY, or a DISTINCT, over the single row of an aggregate. If nothing reads a column of that row, the
 * aggregate goes as well when the plan is written, and each row of its table is one. It drops ROLLUP, CUBE and GROUPING SETS
 * without an aggregate where their input has unique keys, or no row. Such statements are planned without CBO.
 *
 * <p>Rule "nothing": where WHERE is never true CBO takes subtotals for empty, but the total has a row. So the rules that remove what is
 * empty are left out with those of the rule "keys". Vectorized filters take a NULL in an IN list, which is then still there,
 * for 0.
 *
 * <p>Rule "constants": a condition without a column, as in HAVING current_date &gt; '2030-01-01', is pushed below aggregates, in each
 * planner. The total has a row all the same. Such conditions stay above aggregates.
 *
 * <p>Rule "absent": a NULL is NOT IN a subquery without rows, and without CBO Hive loses that row. Hive leaves CBO out for some
 * clauses.
 *
 * <p>Rule "order": the plan of CBO is written as a statement again, whose ORDER BY has names. A name that is both an alias and
 * another grouping key stands for the key there.
 *
 * <p>Rule "positions": ORDER BY 1 is a constant where Hive leaves CBO out for some clause (HIVE-30037). It is a position where CBO is off.
 *
 * <p>Rule "decimals": a vectorized CASE or IF among decimal constants makes an operand of + - * read a column that nothing has written
 * (HIVE-28329): the result is 0. A statement that has both is not vectorized. Nor is one with IN or BETWEEN, and a cast as a DECIMAL of up to
 * 18 digits: vectorized, it may fail.
 *
 * <p>Rule "frames": RANGE with a number for a bound. Hive drops the fraction of a distance between decimals or timestamps, and ignores
 * the number for texts (HIVE-24762). It takes the session's default for the window's order of NULLs. A first row that follows, or a
 * last row that precedes, is one whose distance is greater than the number, instead of at least the number. No setting avoids
 * it. The types of keys are known once the statement is planned; the rest is in the parse tree.
 */
public final class AnswerGuard implements HiveSemanticAnalyzerHook {
    static final String SWITCH = "hopshive.answer.guard";
    private static final Set<String> RELEASES = Set.of("4.0.0", "4.0.1");
    private static final Logger LOG = LoggerFactory.getLogger(AnswerGuard.class);
    private static final Set<Integer> SETS = Set.of(
        HiveParser.TOK_ROLLUP_GROUPBY, HiveParser.TOK_CUBE_GROUPBY, HiveParser.TOK_GROUPING_SETS);

    private static final Set<Integer> INTERSECTIONS = Set.of(HiveParser.TOK_INTERSECTALL, HiveParser.TOK_INTERSECTDISTINCT,
        HiveParser.TOK_EXCEPTALL, HiveParser.TOK_EXCEPTDISTINCT);

    private static final Set<Integer> INNER =
        Set.of(HiveParser.TOK_SUBQUERY, HiveParser.TOK_CTE, HiveParser.TOK_SUBQUERY_EXPR);

    /** What Hive plans without CBO. So it plans SORT BY, if a LIMIT stands beside it. */
    private static final Set<Integer> BESIDE_CBO = Set.of(HiveParser.TOK_LATERAL_VIEW_OUTER, HiveParser.TOK_DISTRIBUTEBY,
        HiveParser.TOK_CLUSTERBY, HiveParser.TOK_TRANSFORM, HiveParser.TOK_TABLEBUCKETSAMPLE, HiveParser.TOK_TABLESPLITSAMPLE,
        HiveParser.TOK_PTBLFUNCTION);

    private static final Set<Integer> COMPARISONS = Set.of(HiveParser.EQUAL, HiveParser.NOTEQUAL, HiveParser.LESSTHAN, HiveParser.GREATERTHAN,
        HiveParser.LESSTHANOREQUALTO, HiveParser.GREATERTHANOREQUALTO, HiveParser.KW_LIKE, HiveParser.KW_RLIKE, HiveParser.KW_REGEXP);
    /** The clauses whose expressions are values, for which NULL and false are two. */
    private static final Set<Integer> VALUES = Set.of(HiveParser.TOK_SELECT, HiveParser.TOK_SELECTDI, HiveParser.TOK_GROUPBY,
        HiveParser.TOK_ROLLUP_GROUPBY, HiveParser.TOK_CUBE_GROUPBY, HiveParser.TOK_GROUPING_SETS, HiveParser.TOK_ORDERBY);
    private static final Set<Integer> OUTER_JOINS = Set.of(
        HiveParser.TOK_LEFTOUTERJOIN, HiveParser.TOK_RIGHTOUTERJOIN, HiveParser.TOK_FULLOUTERJOIN);
    private static final Set<Integer> CONNECTIVES = Set.of(HiveParser.KW_AND, HiveParser.KW_OR, HiveParser.KW_NOT);
    private static final Set<String> TESTS = Set.of("istrue", "isnottrue", "isfalse", "isnotfalse");
    private static final Set<String> BRANCHES = Set.of("when", "case", "if");
    /** Functions that choose among values. */
    private static final Set<String> CHOICES = Set.of("coalesce", "nvl", "if", "when", "case");
    private static final Set<Integer> ARITHMETIC =
        Set.of(HiveParser.PLUS, HiveParser.MINUS, HiveParser.STAR, HiveParser.DIVIDE, HiveParser.MOD, HiveParser.DIV);
    /** Functions that are NULL if an argument is. */
    private static final Set<String> STRICT = Set.of("abs", "add_months", "ceil", "concat", "date_add", "date_sub", "datediff", "day", "floor",
        "last_day", "length", "lower", "month", "round", "substr", "substring", "to_date", "trim", "trunc", "upper", "year");

    private static final Set<String> AGGREGATES = Set.of("count", "sum", "min", "max", "avg");
    /** The types of keys whose distance Hive compares with a number as it is. */
    private static final Set<String> DISTANCES = Set.of("tinyint", "smallint", "int", "bigint", "float", "double", "date");
    private static final String NULLS_LAST = "hive.default.nulls.last";
    private static final String EXCLUSION = "hive.cbo.rule.exclusion.regex";
    /**
     * The rules of CBO that use what is known of the rows of their input, or remove what has none. PointLookup never ends with
     * k >= k, which they take out.
     */
    private static final String INFERENCE = ".*(ReduceExpressions|PullUpConstants|PushTransitivePredicates|PointLookup|Empty).*";
    private static final String TRANSPOSITION = ".*FilterAggregateTranspose.*";

    /** The tables that a statement names. */
    interface Catalog {
        /** The table, or null if there is none. */
        Source table(String name);
    }

    /** A table's columns, and the text of a view; the rows of a materialized one are stored. */
    static final class Source {
        final Set<String> columns;
        final String text;
        final boolean stored;

        Source(Set<String> columns, String text, boolean stored) {
            this.columns = columns;
            this.text = text;
            this.stored = stored;
        }
    }

    /** How a statement is planned; one that can only be answered wrongly ends with a SemanticException instead. */
    enum Verdict { AS_IS, WITHOUT_PROPAGATION, WITHOUT_INFERENCE, WITHOUT_CBO }

    @Override
    public ASTNode preAnalyze(HiveSemanticAnalyzerHookContext context, ASTNode tree) throws SemanticException {
        Configuration conf = context.getConf();
        if (!acts(conf, HiveVersionInfo.getVersion())) {
            return tree;
        }
        try {
            CodePoints.ready();
            if (SessionState.get() != null) {
                CodePoints.permit(SessionState.getRegistryForWrite());
            }
            Strictness.ready();
            boolean nullsLast = conf.getBoolean(NULLS_LAST, true);
            Statement statement = new Statement(name -> look(context, name), nullsLast);
            statement.withoutCbo = !conf.getBoolean("hive.cbo.enable", true);
            Verdict verdict = statement.judge(tree);
            if (statement.keepsPositions()) {
                statement.namePositions();
                conf.setBoolean("hive.cbo.enable", false);
            }
            if (statement.inRows()) {
                conf.setBoolean("hive.vectorized.execution.enabled", false);
            }
            if (statement.lateral) {
                conf.setBoolean("hive.ppd.remove.duplicatefilters", false);
            }
            if (statement.residue) {
                conf.setBoolean("hive.auto.convert.join", false);
            }
            if (statement.extremes) {
                conf.setBoolean("hive.compute.query.using.stats", false);
            }
            if (statement.keepsConditions()) {
                conf.setBoolean("hive.optimize.ppd", false);
                exclude(conf, TRANSPOSITION);
            }
            if (verdict != Verdict.AS_IS) {
                conf.setBoolean("hive.optimize.constant.propagation", false);
            }
            if (verdict == Verdict.WITHOUT_INFERENCE || verdict == Verdict.WITHOUT_CBO) {
                exclude(conf, INFERENCE);
                // An empty relation stays in the plan then, and where Hive removes its scan, its tasks fail.
                conf.setBoolean("hive.optimize.null.scan", false);
                if (statement.nullInList) {
                    conf.setBoolean("hive.vectorized.execution.enabled", false);
                }
            }
            if (verdict == Verdict.WITHOUT_CBO && conf.getBoolean("hive.cbo.enable", true)) {
                conf.setBoolean("hive.cbo.enable", false);
                tell("hopshive_answer_guard_without_cbo", "Answer guard: this statement runs without CBO, which would answer it "
                    + "wrongly (docs/answers.md).");
            }
        } catch (SemanticException refusal) {
            tell("hopshive_answer_guard_refused", refusal.getMessage());
            throw refusal;
        } catch (RuntimeException | StackOverflowError | LinkageError error) {
            throw unread(error);
        }
        return tree;
    }

    @Override
    public void postAnalyze(HiveSemanticAnalyzerHookContext context, List<Task<?>> tasks) throws SemanticException {
        if (!acts(context.getConf(), HiveVersionInfo.getVersion())) {
            return;
        }
        try {
            for (BaseWork work : works(tasks)) {
                for (Operator<?> operator : work.getAllOperators()) {
                    copyLists(expressions(operator));
                    if (Zeros.correct(operator) && operator instanceof TableScanOperator && work instanceof MapWork) {
                        // -0.0 and 0.0 are in different buckets.
                        ((MapWork) work).setIncludedBuckets(null);
                    }
                    Vectors.correct(operator);
                    if (operator.getConf() instanceof PTFDesc) {
                        refuseDistances((PTFDesc) operator.getConf());
                    }
                }
            }
        } catch (SemanticException refusal) {
            tell("hopshive_answer_guard_refused", refusal.getMessage());
            throw refusal;
        } catch (HiveException | RuntimeException | StackOverflowError error) {
            throw unread(error);
        }
    }

    /** A refusal because of an error of the guard's own: whether Hive answers the statement rightly is unknown. */
    private static SemanticException unread(Throwable error) {
        LOG.error("The guard cannot read a statement.", error);
        SemanticException refusal = new SemanticException("Answer guard: this statement cannot be read (" + error
            + "), which is an error of the guard. SET " + SWITCH + "=false runs it without the guard.");
        tell("hopshive_answer_guard_refused", refusal.getMessage());
        return refusal;
    }

    private static void exclude(Configuration conf, String rules) {
        String excluded = conf.get(EXCLUSION, "");
        conf.set(EXCLUSION, excluded.isEmpty() ? rules : "(" + excluded + ")|" + rules);
    }

    static boolean acts(Configuration conf, String release) {
        return conf.getBoolean(SWITCH, true) && RELEASES.contains(release);
    }

    static List<BaseWork> works(List<Task<?>> tasks) {
        List<BaseWork> works = new ArrayList<>();
        for (TezTask task : Utilities.getTezTasks(tasks)) {
            works.addAll(task.getWork().getAllWork());
        }
        for (ExecDriver task : Utilities.getMRTasks(tasks)) {
            MapredWork work = task.getWork();
            works.add(work.getMapWork());
            if (work.getReduceWork() != null) {
                works.add(work.getReduceWork());
            }
        }
        return works;
    }

    /** What an operator filters, selects, groups or aggregates by. */
    static List<ExprNodeDesc> expressions(Operator<?> operator) {
        List<ExprNodeDesc> found = new ArrayList<>();
        if (operator.getColumnExprMap() != null) {
            found.addAll(operator.getColumnExprMap().values());
        }
        if (operator.getConf() instanceof FilterDesc) {
            found.add(((FilterDesc) operator.getConf()).getPredicate());
        } else if (operator.getConf() instanceof SelectDesc && ((SelectDesc) operator.getConf()).getColList() != null) {
            found.addAll(((SelectDesc) operator.getConf()).getColList());
        } else if (operator.getConf() instanceof GroupByDesc) {
            found.addAll(((GroupByDesc) operator.getConf()).getKeys());
            for (AggregationDesc aggregate : ((GroupByDesc) operator.getConf()).getAggregators()) {
                found.addAll(aggregate.getParameters());
            }
        } else if (operator.getConf() instanceof TableScanDesc) {
            found.add(((TableScanDesc) operator.getConf()).getFilterExpr());
        }
        found.removeIf(Objects::isNull);
        return found;
    }

    /** Where the propagation of constants is left out, IN has a list of Guava's, which a task cannot read from the plan. */
    private static void copyLists(List<ExprNodeDesc> expressions) {
        Deque<ExprNodeDesc> open = new ArrayDeque<>(expressions);
        while (!open.isEmpty()) {
            ExprNodeDesc expression = open.pop();
            if (expression instanceof ExprNodeGenericFuncDesc && expression.getChildren() != null) {
                ((ExprNodeGenericFuncDesc) expression).setChildren(new ArrayList<>(expression.getChildren()));
                open.addAll(expression.getChildren());
            }
        }
    }

    /** Refuses a number for a bound of RANGE if Hive does not compare the key's distances with it. */
    static void refuseDistances(PTFDesc windows) throws HiveException {
        for (PTFInputDef input = windows.getFuncDef(); input != null; input = input.getInput()) {
            if (input instanceof WindowTableFunctionDef) {
                for (WindowFunctionDef function : ((WindowTableFunctionDef) input).getWindowFunctions()) {
                    WindowFrameDef frame = function.getWindowFrame();
                    if (frame != null && frame.getWindowType() == WindowType.RANGE
                        && (numbered(frame.getStart()) || numbered(frame.getEnd()))) {
                        OrderDef order = ((WindowTableFunctionDef) input).getOrder();
                        for (OrderExpressionDef key : order.getExpressions()) {
                            refuseDistance(key.getExprNode().getTypeInfo());
                        }
                    }
                }
            }
        }
    }

    private static boolean numbered(BoundaryDef bound) {
        return !bound.isCurrentRow() && !bound.isUnbounded();
    }

    private static void refuseDistance(TypeInfo type) throws SemanticException {
        if (DISTANCES.contains(type.getTypeName())) {
            return;
        }
        if (type instanceof DecimalTypeInfo) {
            DecimalTypeInfo decimal = (DecimalTypeInfo) type;
            // Without a fraction, and two of them are no further apart than an int counts.
            if (decimal.scale() == 0 && decimal.precision() <= 9) {
                return;
            }
            throw refusal("RANGE has a number for a bound and a DECIMAL key, and the fraction of a distance is dropped. Order by whole "
                + "numbers and multiply the bounds: OVER (ORDER BY round(CAST(d AS DOUBLE) * 100) RANGE BETWEEN 100 PRECEDING AND CURRENT ROW).");
        }
        if (type.getTypeName().startsWith("timestamp")) {
            throw refusal("RANGE has a number for a bound and a TIMESTAMP key, and the fraction of a second is dropped. Order by seconds: "
                + "OVER (ORDER BY unix_timestamp(t) RANGE BETWEEN 60 PRECEDING AND CURRENT ROW).");
        }
        throw refusal("RANGE has a number for a bound and a key of the type " + type.getTypeName() + ", which has no distances. Order by "
            + "a number or a date.");
    }

    private static void tell(String counter, String line) {
        LOG.warn(line);
        Metrics metrics = MetricsFactory.getInstance();
        if (metrics != null) {
            metrics.incrementCounter(counter);
        }
        if (SessionState.get() != null) {
            SessionState.getConsole().printInfo(line);
        }
    }

    private static Source look(HiveSemanticAnalyzerHookContext context, String name) {
        try {
            String full = name.contains(".") ? name : SessionState.get().getCurrentDatabase() + "." + name;
            Table table = context.getHive().getTable(full, false);
            if (table == null) {
                return null;
            }
            Set<String> columns = new HashSet<>();
            for (FieldSchema column : table.getAllCols()) {
                columns.add(column.getName().toLowerCase(Locale.ROOT));
            }
            boolean view = table.isView() || table.isMaterializedView();
            return new Source(columns, view ? table.getViewExpandedText() : null, !table.isView());
        } catch (HiveException error) {
            // Hive meets the same error when it plans the statement.
            return null;
        }
    }

    /** What the rules say of a statement, as text; @throws SemanticException if it can only be answered wrongly. */
    static String judge(ASTNode tree, Catalog catalog, boolean nullsLast) throws SemanticException {
        Statement statement = new Statement(catalog, nullsLast);
        Verdict verdict = statement.judge(tree);
        return verdict + (statement.keepsConditions() ? " KEEPING_CONDITIONS" : "") + (statement.inRows() ? " IN_ROWS" : "")
            + (statement.keepsPositions() ? " KEEPING_POSITIONS" : "") + (statement.residue ? " WITHOUT_MAP_JOINS" : "");
    }

    private static SemanticException refusal(String what) {
        return new SemanticException("Answer guard: " + what + " Hive " + HiveVersionInfo.getVersion()
            + " would answer wrongly (docs/answers.md; SET " + SWITCH + "=false runs it all the same).");
    }

    /** The names that a query block sees. */
    private static final class Scope {
        final Scope parent;
        final Set<String> aliases = new HashSet<>();
        /** What a name stands for: an expression of a derived table, as text, or the column itself. */
        final Map<String, String> columns = new HashMap<>();
        boolean unknown;

        Scope(Scope parent) {
            this.parent = parent;
        }
    }

    private static final class Statement {
        private final Catalog catalog;
        private final Map<String, Source> tables = new HashMap<>();
        private final Map<String, ASTNode> common = new HashMap<>();
        private final Map<String, ASTNode> views = new HashMap<>();
        private final List<ASTNode> subqueries = new ArrayList<>();
        private final List<ASTNode> blocks = new ArrayList<>();
        private final List<ASTNode> windows = new ArrayList<>();
        /** The names that stand for several common table expressions. */
        private final Set<String> ambiguous = new HashSet<>();
        /** Where ORDER BY places NULLs by default. */
        private final boolean nullsLast;
        private boolean subtotals;
        private boolean constants;
        private boolean nullInList;
        private boolean nullSafe;
        private boolean distinct;
        private boolean intersection;
        private boolean extremes;
        private boolean lateral;
        private boolean residue;
        private boolean sorted;
        private boolean limited;
        private boolean positions;
        private boolean arithmetic;
        private boolean decimalChoice;
        private boolean range;
        private boolean decimalCast;
        private boolean withoutCbo;
        /** The view whose rows the statement makes, or null. */
        private ASTNode rebuilt;
        private int depth;

        Statement(Catalog catalog, boolean nullsLast) {
            this.catalog = catalog;
            this.nullsLast = nullsLast;
        }

        Verdict judge(ASTNode tree) throws SemanticException {
            collect(tree);
            withoutCbo |= sorted && limited;
            for (ASTNode window : windows) {
                refuseFrame(window);
            }
            for (ASTNode subquery : subqueries) {
                refuseCorrelation(subquery);
                refuseAbsence(subquery);
            }
            boolean row = false;
            boolean sets = false;
            boolean duplicates = false;
            for (ASTNode block : blocks) {
                refuseOrder(block);
                nullSafe |= children(block).stream().anyMatch(
                    clause -> VALUES.contains(clause.getType()) && children(clause).stream().anyMatch(item -> tells(item, true)));
                row |= dropsRow(block);
                sets |= dropsSets(block, tree);
                duplicates |= subtotals && dropsDistinct(block);
            }
            if (!subtotals && !row) {
                return nullSafe ? Verdict.WITHOUT_PROPAGATION : Verdict.AS_IS;
            }
            if (distinct) {
                refuseKeys(tree);
                for (ASTNode view : views.values()) {
                    refuseKeys(view);
                }
            }
            boolean correlated = false;
            for (ASTNode subquery : subqueries) {
                correlated |= correlated((ASTNode) subquery.getChild(1), null);
            }
            if (!row && !sets && !duplicates && !(subtotals && correlated)) {
                return Verdict.WITHOUT_INFERENCE;
            }
            boolean planned = subqueries.stream().allMatch(Statement::plain);
            if (intersection || !planned) {
                String obstacle = planned ? "INTERSECT or EXCEPT" : "the subquery of this statement";
                if (subtotals && correlated || duplicates) {
                    throw refusal("subtotals (ROLLUP, CUBE, GROUPING SETS) stand in one statement with a correlated subquery, or below DISTINCT. CBO is "
                        + "wrong for them, and Hive cannot plan " + obstacle + " without CBO. Write the subquery as a JOIN or LEFT JOIN, or "
                        + "store the subtotals in a table first.");
                }
                throw refusal(sets
                    ? "ROLLUP, CUBE or GROUPING SETS stand in a query without an aggregate. CBO is wrong for it, and Hive cannot plan "
                    + obstacle + " without CBO. Select an aggregate as well, such as count(*)."
                    : "GROUP BY or DISTINCT reads the single row of an aggregate. CBO is wrong for it, and Hive cannot plan " + obstacle
                    + " without CBO. Leave that GROUP BY or DISTINCT out.");
            }
            return Verdict.WITHOUT_CBO;
        }

        /** Whether Hive would take ORDER BY 1 for a constant: it begins with CBO, and then plans without. */
        boolean keepsPositions() {
            return withoutCbo && positions;
        }

        /** Puts the alias of a column for its position: Hive would put the expression, which ORDER BY does not see below an alias. */
        void namePositions() {
            for (ASTNode block : blocks) {
                List<ASTNode> items = selected(block);
                for (ASTNode clause : children(block)) {
                    for (ASTNode key : clause.getType() == HiveParser.TOK_ORDERBY ? children(clause) : List.<ASTNode>of()) {
                        Tree order = key.getChild(0);
                        int position = order.getChild(0).getType() == HiveParser.Number && order.getChild(0).getText().matches("\\d{1,4}")
                            ? Integer.parseInt(order.getChild(0).getText()) : 0;
                        if (position > 0 && position <= items.size() && items.get(position - 1).getChildCount() == 2) {
                            ASTNode column = new ASTNode(new CommonToken(HiveParser.TOK_TABLE_OR_COL, "TOK_TABLE_OR_COL"));
                            column.addChild(new ASTNode(new CommonToken(HiveParser.Identifier, items.get(position - 1).getChild(1).getText())));
                            order.setChild(0, column);
                        }
                    }
                }
            }
        }

        /** Whether rows are not to be vectorized. */
        boolean inRows() {
            return arithmetic && decimalChoice || range && decimalCast;
        }

        /** Whether conditions are to stay above aggregates. */
        boolean keepsConditions() {
            return constants && blocks.stream().anyMatch(Statement::total);
        }

        /** What stands in the statement and in the views that it reads. */
        private void collect(ASTNode tree) {
            for (ASTNode node : all(tree)) {
                visit(node);
            }
        }

        private void visit(ASTNode node) {
            int type = node.getType();
            subtotals |= SETS.contains(type);
            distinct |= type == HiveParser.TOK_FUNCTIONDI;
            intersection |= INTERSECTIONS.contains(type);
            lateral |= type == HiveParser.TOK_LATERAL_VIEW || type == HiveParser.TOK_LATERAL_VIEW_OUTER;
            withoutCbo |= type == HiveParser.TOK_QUERY && children(node).stream().filter(part -> part.getType() == HiveParser.TOK_INSERT).count() > 1
                || BESIDE_CBO.contains(type) && node.getParent().getType() != HiveParser.TOK_PARTITIONINGSPEC;
            extremes |= named(node, "min") || named(node, "max");
            nullSafe |= type == HiveParser.EQUAL_NS;
            sorted |= type == HiveParser.TOK_SORTBY;
            limited |= type == HiveParser.TOK_LIMIT;
            positions |= type == HiveParser.TOK_ORDERBY && node.getParent().getType() == HiveParser.TOK_INSERT
                && children(node).stream().anyMatch(key -> key.getChild(0).getChild(0).getType() == HiveParser.Number);
            arithmetic |= ARITHMETIC.contains(type) && node.getChildCount() == 2;
            decimalChoice |= choosesDecimal(node);
            range |= numbers(node);
            decimalCast |= type == HiveParser.TOK_DECIMAL && precision(node) <= 18;
            nullInList |= named(node, "in") && children(node).stream().skip(2).anyMatch(Statement::isNull);
            if (type == HiveParser.TOK_WHERE || type == HiveParser.TOK_HAVING) {
                constants |= constant((ASTNode) node.getChild(0));
            } else if (type == HiveParser.TOK_JOIN && node.getChildCount() > 2) {
                constants |= constant((ASTNode) node.getChild(2));
            } else if (OUTER_JOINS.contains(type) && node.getChildCount() > 2) {
                residue |= residue((ASTNode) node.getChild(2));
            }
            if (type == HiveParser.TOK_SUBQUERY_EXPR && node.getChildCount() > 1) {
                subqueries.add(node);
            }
            if (type == HiveParser.TOK_INSERT) {
                blocks.add(node);
            }
            if (type == HiveParser.TOK_WINDOWSPEC) {
                windows.add(node);
            }
            if (type == HiveParser.TOK_CTE) {
                for (ASTNode part : children(node)) {
                    String name = text(part.getChild(part.getChildCount() - 1));
                    if (common.put(name, (ASTNode) part.getChild(0)) != null) {
                        ambiguous.add(name);
                    }
                }
            }
            boolean rebuild = type == HiveParser.TOK_ALTER_MATERIALIZED_VIEW_REBUILD;
            if (type == HiveParser.TOK_TABREF || rebuild) {
                String name = name((ASTNode) node.getChild(0));
                // A stored result is a table like others; only its making runs its text.
                if (!common.containsKey(name) && !tables.containsKey(name)) {
                    Source source = catalog.table(name);
                    tables.put(name, source);
                    if (source != null && source.text != null && (rebuild || !source.stored)) {
                        expand(name, source.text);
                        rebuilt = rebuild ? views.get(name) : rebuilt;
                    }
                }
            }
        }

        private void expand(String name, String text) {
            if (depth > 50) {
                return;
            }
            depth++;
            try {
                // Hive's parser writes the default order of NULLs into the tree.
                Configuration defaults = new Configuration(false);
                defaults.setBoolean(NULLS_LAST, nullsLast);
                ASTNode view = new ParseDriver().parse(text, defaults).getTree();
                views.put(name, view);
                collect(view);
            } catch (ParseException error) {
                LOG.debug("The text of {} cannot be read; Hive meets the same error.", name, error);
            } finally {
                depth--;
            }
        }

        /** Whether one of the terms that AND joins names no column, and is not as plain as 1 = 1. */
        private static boolean constant(ASTNode condition) {
            return terms(condition).stream().anyMatch(term -> {
                boolean same = term.getType() == HiveParser.EQUAL && term.getChild(0).getChildCount() == 0
                    && term.getChild(0).toStringTree().equals(term.getChild(1).toStringTree());
                return term.getType() != HiveParser.KW_TRUE && !same && !reads(term);
            });
        }

        /** What AND joins in a condition: one term, the condition itself, if there is no AND. */
        private static List<ASTNode> terms(ASTNode condition) {
            List<ASTNode> terms = new ArrayList<>();
            Deque<ASTNode> open = new ArrayDeque<>(List.of(condition));
            while (!open.isEmpty()) {
                ASTNode term = open.pop();
                if (term.getType() == HiveParser.KW_AND) {
                    children(term).forEach(open::push);
                } else {
                    terms.add(term);
                }
            }
            return terms;
        }

        /** Whether an expression depends on rows. */
        private static boolean reads(ASTNode node) {
            return all(node).stream().anyMatch(part -> part.getType() == HiveParser.TOK_TABLE_OR_COL
                || part.getType() == HiveParser.TOK_TABCOLNAME || part.getType() == HiveParser.TOK_SUBQUERY_EXPR || part.getType() == HiveParser.TOK_FUNCTIONSTAR);
        }

        /** Whether an expression tells a condition that is false from one that is NULL; `value`: whether anything asks for that. */
        private static boolean tells(ASTNode node, boolean value) {
            int type = node.getType();
            String function = type == HiveParser.TOK_FUNCTION ? text(node.getChild(0)) : "";
            if (type == HiveParser.TOK_SUBQUERY_EXPR) {
                return false;
            }
            if (value && (CONNECTIVES.contains(type) || TESTS.contains(function))) {
                return all(node).stream().anyMatch(part -> condition(part) && !CONNECTIVES.contains(part.getType()));
            }
            List<ASTNode> parts = children(node);
            for (int at = 0; at < parts.size(); at++) {
                boolean asked = function.equals("when") && at % 2 == 1 && at + 1 < parts.size() || function.equals("if") && at == 1;
                if (CHOICES.contains(function) && at > 0 && !asked && value && condition(parts.get(at))
                    || tells(parts.get(at), !asked && (value || !CONNECTIVES.contains(type)))) {
                    return true;
                }
            }
            return false;
        }

        private static boolean condition(ASTNode node) {
            int type = node.getType();
            return COMPARISONS.contains(type) || CONNECTIVES.contains(type) || named(node, "in") || named(node, "between");
        }

        /** Whether CASE or IF chooses among constants, decimals with them, and is more than the argument of an aggregate. */
        private static boolean choosesDecimal(ASTNode node) {
            String function = node.getType() == HiveParser.TOK_FUNCTION ? text(node.getChild(0)) : "";
            if (!BRANCHES.contains(function) || AGGREGATES.contains(text(node.getParent().getChild(0)))) {
                return false;
            }
            List<ASTNode> parts = children(node);
            // WHEN a THEN x [ELSE y]; CASE v WHEN a THEN x [ELSE y]; IF (a, x, y).
            int first = function.equals("case") ? 3 : 2;
            boolean decimal = false;
            for (int at = first; at < parts.size(); at++) {
                boolean chosen = function.equals("if") || (at - first) % 2 == 0 || at == parts.size() - 1;
                if (chosen && reads(parts.get(at))) {
                    return false;
                }
                decimal |= chosen && all(parts.get(at)).stream().anyMatch(Statement::decimal);
            }
            return decimal;
        }

        /** Whether IN or BETWEEN asks for something else than texts and dates. */
        private static boolean numbers(ASTNode node) {
            int first = named(node, "between") ? 3 : named(node, "in") ? 2 : Integer.MAX_VALUE;
            return children(node).stream().skip(first).anyMatch(bound -> bound.getType() != HiveParser.StringLiteral
                && bound.getType() != HiveParser.TOK_DATELITERAL && bound.getType() != HiveParser.TOK_NULL);
        }

        /** Of a DECIMAL; 10 if it names none. */
        private static int precision(ASTNode decimal) {
            return decimal.getChildCount() == 0 ? 10 : Integer.parseInt(text(decimal.getChild(0)));
        }

        private static boolean decimal(ASTNode node) {
            return node.getType() == HiveParser.TOK_DECIMAL
                || node.getType() == HiveParser.Number && (node.getText().contains(".") || node.getText().endsWith("BD"))
                || node.getType() == HiveParser.NumberLiteral && node.getText().endsWith("BD");
        }

        private static boolean isNull(ASTNode node) {
            return node.getType() == HiveParser.TOK_NULL
                || node.getType() == HiveParser.TOK_FUNCTION && children(node).stream().anyMatch(Statement::isNull);
        }

        /** Whether a block has a row where its input has none. */
        private static boolean total(ASTNode block) {
            boolean aggregates = false;
            for (ASTNode clause : children(block)) {
                if (SETS.contains(clause.getType())) {
                    return true;
                }
                if (clause.getType() == HiveParser.TOK_GROUPBY) {
                    return false;
                }
                aggregates |= (clause.getType() == HiveParser.TOK_SELECT || clause.getType() == HiveParser.TOK_HAVING)
                    && aggregate(clause, Statement::isAggregate);
            }
            return aggregates;
        }

        private static boolean isAggregate(String function) {
            try {
                FunctionInfo info = FunctionRegistry.getFunctionInfo(function);
                return info != null && info.isGenericUDAF();
            } catch (SemanticException error) {
                // Hive meets the same error.
                return false;
            }
        }

        /** Whether a GROUP BY without subtotals, or a DISTINCT, reads the single row of an aggregate. */
        private boolean dropsRow(ASTNode block) {
            boolean grouped = false;
            for (ASTNode clause : children(block)) {
                grouped |= clause.getType() == HiveParser.TOK_GROUPBY || clause.getType() == HiveParser.TOK_SELECTDI && !unites(clause);
            }
            return grouped && single(derived((ASTNode) block.getParent()), 0);
        }

        /** Whether a query is an aggregate without GROUP BY, or reads nothing but one. */
        private boolean single(ASTNode query, int level) {
            ASTNode block = only(query);
            if (block == null || level > 50) {
                return false;
            }
            boolean grouped = children(block).stream().anyMatch(
                clause -> clause.getType() == HiveParser.TOK_GROUPBY || SETS.contains(clause.getType()));
            return !grouped && (total(block) || single(derived(query), level + 1));
        }

        /** The block of a query that has one, or null. */
        private static ASTNode only(ASTNode query) {
            ASTNode only = null;
            for (ASTNode block : query != null && query.getType() == HiveParser.TOK_QUERY ? children(query) : List.<ASTNode>of()) {
                if (block.getType() == HiveParser.TOK_INSERT) {
                    if (only != null) {
                        return null;
                    }
                    only = block;
                }
            }
            return only;
        }

        /** Whether a block has subtotals and no aggregate, or none that the statement reads. */
        private boolean dropsSets(ASTNode block, ASTNode tree) {
            boolean sets = false;
            for (ASTNode clause : children(block)) {
                sets |= SETS.contains(clause.getType());
                if (clause.getType() == HiveParser.TOK_HAVING && aggregate(clause)) {
                    return false;
                }
            }
            if (!sets) {
                return false;
            }
            boolean outermost = outermost(block);
            return selected(block).stream().noneMatch(
                item -> aggregate(item) && (outermost || item.getChildCount() < 2 || read(text(item.getChild(1)), block, tree)));
        }

        /** Whether a block makes rows of the statement's result, or of the view that is rebuilt. */
        private boolean outermost(ASTNode block) {
            for (Tree node = block; node != null; node = node.getParent()) {
                if (INNER.contains(node.getType()) || views.containsValue(node) && node != rebuilt) {
                    return false;
                }
            }
            return true;
        }

        /** Whether a column of a block is named outside of it, or everything is selected there. */
        private boolean read(String column, ASTNode block, ASTNode tree) {
            int whole = mentions(column, tree);
            for (ASTNode view : views.values()) {
                whole += mentions(column, view);
            }
            return whole > mentions(column, block);
        }

        private static int mentions(String column, ASTNode node) {
            return (int) all(node).stream().filter(part -> part.getType() == HiveParser.TOK_ALLCOLREF || column.equals(column(part))).count();
        }

        /** Refuses ORDER BY an alias that is the name of another grouping key, in the terms of the tables. */
        private void refuseOrder(ASTNode block) throws SemanticException {
            for (ASTNode clause : children(block)) {
                for (ASTNode key : clause.getType() == HiveParser.TOK_ORDERBY ? children(clause) : List.<ASTNode>of()) {
                    ASTNode expression = (ASTNode) key.getChild(0).getChild(0);
                    List<String> names = new ArrayList<>();
                    if (expression.getType() == HiveParser.Number) {
                        names.add(alias(block, text(expression)));
                    } else {
                        unqualified(expression, names);
                    }
                    for (String name : names) {
                        ASTNode item = name == null ? null : item(block, name);
                        if (item != null && clashes(name, item, block, 0)) {
                            throw refusal("ORDER BY sorts by " + name + ", which is the alias of one grouping or DISTINCT column and the name of "
                                + "another, and the other one would be taken. Give the alias a name that no column of the tables has.");
                        }
                    }
                }
            }
        }

        private static void unqualified(ASTNode node, List<String> names) {
            if (node.getType() == HiveParser.TOK_TABLE_OR_COL) {
                names.add(text(node.getChild(0)));
            } else if (node.getType() != HiveParser.DOT && node.getType() != HiveParser.TOK_QUERY) {
                children(node).forEach(child -> unqualified(child, names));
            }
        }

        /** The alias of the column that a position stands for, or null. */
        private static String alias(ASTNode block, String position) {
            List<ASTNode> items = selected(block);
            for (int at = 0; at < items.size(); at++) {
                if (position.equals(String.valueOf(at + 1)) && items.get(at).getChildCount() == 2) {
                    return text(items.get(at).getChild(1));
                }
            }
            return null;
        }

        private boolean clashes(String name, ASTNode expression, ASTNode block, int level) {
            ASTNode query = (ASTNode) block.getParent();
            Scope scope = scope(query, null);
            Set<String> keys = new HashSet<>();
            for (ASTNode clause : children(block)) {
                boolean grouping = clause.getType() == HiveParser.TOK_GROUPBY || SETS.contains(clause.getType());
                for (ASTNode key : grouping || clause.getType() == HiveParser.TOK_SELECTDI ? children(clause) : List.<ASTNode>of()) {
                    if (key.getType() != HiveParser.TOK_GROUPING_SETS_EXPRESSION && key.getChildCount() > 0) {
                        keys.add(origin(grouping ? key : (ASTNode) key.getChild(0), scope));
                    }
                }
            }
            if (!keys.isEmpty()) {
                String own = origin(expression, scope);
                return !own.equals(name) && keys.contains(own) && keys.contains(name);
            }
            String column = column(expression);
            ASTNode inner = column == null || level > 50 ? null : derived(query);
            ASTNode source = only(inner);
            ASTNode item = source == null ? null : item(source, column);
            return item != null && clashes(name, item, source, level + 1);
        }

        /** Refuses a window with RANGE and a number for a bound where Hive takes other rows. */
        private void refuseFrame(ASTNode window) throws SemanticException {
            ASTNode block = block(window);
            ASTNode frame = part(window, block, Set.of(HiveParser.TOK_WINDOWVALUES, HiveParser.TOK_WINDOWRANGE), 0);
            if (frame == null || frame.getType() != HiveParser.TOK_WINDOWVALUES) {
                return;
            }
            Tree start = frame.getChild(0);
            Tree end = frame.getChild(1);
            if (numbered(start, HiveParser.KW_FOLLOWING) || numbered(end, HiveParser.KW_PRECEDING)) {
                throw refusal("RANGE begins with a number FOLLOWING, or ends with a number PRECEDING, and rows at just that distance fall on the "
                    + "wrong side. Join the rows instead: FROM t LEFT JOIN t u ON u.k BETWEEN t.k + 1 AND t.k + 2, with aggregates over u.");
            }
            // No order in the window: Hive refuses the statement, or the whole partition has one key (CLUSTER BY).
            ASTNode sorting = part(window, block, Set.of(HiveParser.TOK_ORDERBY, HiveParser.TOK_SORTBY), 0);
            if (sorting == null) {
                return;
            }
            ASTNode key = (ASTNode) sorting.getChild(0);
            boolean last = key.getChild(0).getType() == HiveParser.TOK_NULLS_LAST;
            boolean descending = key.getType() == HiveParser.TOK_TABSORTCOLNAMEDESC;
            boolean all = numbered(end, HiveParser.KW_FOLLOWING) && !last && (nullsLast || descending);
            boolean before = numbered(start, HiveParser.KW_PRECEDING) && last && !nullsLast && !descending;
            if ((all || before) && !neverNull((ASTNode) key.getChild(0).getChild(0), block, 0)) {
                throw refusal(all
                    ? "RANGE ends with a number FOLLOWING and NULLs come first, as with DESC by default, and the frame of a NULL key has all rows "
                    + "after it. Write NULLS LAST, or WHERE k IS NOT NULL for the key k."
                    : "RANGE begins with a number PRECEDING, NULLs come last and hive.default.nulls.last is false, and the frame of a NULL key "
                    + "has all rows before it. Write NULLS FIRST, or WHERE k IS NOT NULL for the key k.");
            }
        }

        private static boolean numbered(Tree bound, int direction) {
            return bound != null && bound.getType() == direction && bound.getChild(0).getType() != HiveParser.KW_UNBOUNDED;
        }

        /** A window's frame or order: its own, or that of the window whose name it has. */
        private static ASTNode part(ASTNode window, ASTNode block, Set<Integer> types, int level) {
            String base = null;
            for (ASTNode child : children(window)) {
                if (types.contains(child.getType())) {
                    return child;
                }
                if (child.getType() == HiveParser.TOK_PARTITIONINGSPEC) {
                    for (ASTNode part : children(child)) {
                        if (types.contains(part.getType())) {
                            return part;
                        }
                    }
                } else if (child.getChildCount() == 0) {
                    base = text(child);
                }
            }
            if (base == null || level > 50) {
                return null;
            }
            for (ASTNode clause : children(block)) {
                for (ASTNode definition : children(clause)) {
                    if (definition.getType() == HiveParser.TOK_WINDOWDEF && text(definition.getChild(0)).equals(base)) {
                        return part((ASTNode) definition.getChild(1), block, types, level + 1);
                    }
                }
            }
            return null;
        }

        private static ASTNode block(ASTNode node) {
            Tree block = node;
            while (block != null && block.getType() != HiveParser.TOK_INSERT) {
                block = block.getParent();
            }
            return (ASTNode) block;
        }

        /** Whether WHERE, here or in the derived table, CTE or view that a column comes from, says that an expression is not NULL. */
        private boolean neverNull(ASTNode expression, ASTNode block, int level) {
            if (block == null || level > 50 || !plainKey(expression)) {
                return false;
            }
            ASTNode query = (ASTNode) block.getParent();
            Scope scope = scope(query, null);
            for (ASTNode clause : children(block)) {
                if (SETS.contains(clause.getType())) {
                    return false;
                }
            }
            for (ASTNode clause : children(block)) {
                if (clause.getType() == HiveParser.TOK_WHERE && saysNotNull((ASTNode) clause.getChild(0), expression, scope)) {
                    return true;
                }
            }
            String column = column(expression);
            ASTNode inner = column == null ? null : derived(query);
            if (inner == null || inner.getType() != HiveParser.TOK_QUERY) {
                return false;
            }
            ASTNode source = null;
            for (ASTNode insert : children(inner)) {
                if (insert.getType() == HiveParser.TOK_INSERT) {
                    if (source != null) {
                        return false;
                    }
                    source = insert;
                }
            }
            ASTNode item = source == null ? null : item(source, column);
            return item != null && neverNull(item, source, level + 1);
        }

        /** The query of the only derived table, common table expression or view that a query reads, or null. */
        private ASTNode derived(ASTNode query) {
            for (ASTNode child : children(query)) {
                if (child.getType() == HiveParser.TOK_FROM) {
                    ASTNode source = (ASTNode) child.getChild(0);
                    if (source.getType() == HiveParser.TOK_SUBQUERY) {
                        return (ASTNode) source.getChild(0);
                    }
                    String name = source.getType() == HiveParser.TOK_TABREF ? name((ASTNode) source.getChild(0)) : "";
                    if (common.containsKey(name)) {
                        return ambiguous.contains(name) ? null : common.get(name);
                    }
                    // Its tree begins with a node that has the query and the end of the text.
                    return views.containsKey(name) ? (ASTNode) views.get(name).getChild(0) : null;
                }
            }
            return null;
        }

        /** The items of a block's SELECT. */
        private static List<ASTNode> selected(ASTNode block) {
            for (ASTNode clause : children(block)) {
                if (clause.getType() == HiveParser.TOK_SELECT || clause.getType() == HiveParser.TOK_SELECTDI) {
                    return children(clause);
                }
            }
            return Collections.emptyList();
        }

        /** What a block selects as a column; null if that is not plain. */
        private static ASTNode item(ASTNode block, String column) {
            ASTNode found = null;
            boolean star = false;
            for (ASTNode each : selected(block)) {
                ASTNode expression = each.getChildCount() > 0 ? (ASTNode) each.getChild(0) : each;
                String name = each.getChildCount() > 1 ? text(each.getChild(1)) : column(expression);
                if (each.getChildCount() > 2) {
                    return null;
                }
                if (expression.getType() == HiveParser.TOK_ALLCOLREF) {
                    if (star || found != null || expression.getChildCount() > 0) {
                        return null;
                    }
                    star = true;
                } else if (column.equals(name)) {
                    if (star || found != null) {
                        return null;
                    }
                    found = expression;
                }
            }
            if (!star) {
                return found;
            }
            ASTNode own = new ASTNode(new CommonToken(HiveParser.TOK_TABLE_OR_COL, "TOK_TABLE_OR_COL"));
            own.addChild(new ASTNode(new CommonToken(HiveParser.Identifier, column)));
            return own;
        }

        private static boolean saysNotNull(ASTNode where, ASTNode expression, Scope scope) {
            return terms(where).stream().anyMatch(term -> named(term, "isnotnull") && term.getChildCount() == 2
                && same((ASTNode) term.getChild(1), expression, scope));
        }

        /** Whether an expression has columns, casts, numbers and arithmetic only: the same text is the same value then. */
        private static boolean plainKey(ASTNode node) {
            if (column(node) != null) {
                return true;
            }
            if (node.getType() == HiveParser.TOK_FUNCTION && node.getChild(0).getType() == HiveParser.Identifier
                || node.getType() == HiveParser.TOK_SUBQUERY_EXPR) {
                return false;
            }
            return children(node).stream().allMatch(Statement::plainKey);
        }

        private static boolean same(ASTNode one, ASTNode other, Scope scope) {
            String column = column(one);
            if (column != null) {
                if (!column.equals(column(other))) {
                    return false;
                }
                String table = table(one);
                String otherTable = table(other);
                return table.equals(otherTable) || table.isEmpty() && scope.aliases.contains(otherTable)
                    || otherTable.isEmpty() && scope.aliases.contains(table);
            }
            if (one.getType() != other.getType() || one.getChildCount() != other.getChildCount() || !text(one).equals(text(other))) {
                return false;
            }
            for (int at = 0; at < one.getChildCount(); at++) {
                if (!same((ASTNode) one.getChild(at), (ASTNode) other.getChild(at), scope)) {
                    return false;
                }
            }
            return true;
        }

        /** The table's name that stands before a column's, or nothing. */
        private static String table(ASTNode column) {
            return column.getType() == HiveParser.DOT ? text(column.getChild(0).getChild(0)) : "";
        }

        /** Whether a SELECT over subtotals is a DISTINCT, written as such or as a GROUP BY without aggregates. */
        private boolean dropsDistinct(ASTNode block) throws SemanticException {
            boolean unique = false;
            boolean grouped = false;
            boolean aggregates = false;
            for (ASTNode child : children(block)) {
                int type = child.getType();
                if (type == HiveParser.TOK_SELECTDI && children(block).stream().anyMatch(other -> SETS.contains(other.getType()))) {
                    throw refusal("SELECT DISTINCT stands beside ROLLUP, CUBE or GROUPING SETS, and its rows repeat. Write the subtotals as a "
                        + "derived table and SELECT DISTINCT from it.");
                }
                unique |= type == HiveParser.TOK_SELECTDI && !unites(child);
                grouped |= type == HiveParser.TOK_GROUPBY;
                aggregates |= type != HiveParser.TOK_GROUPBY && type != HiveParser.TOK_WHERE && aggregate(child);
            }
            if (!unique && (!grouped || aggregates)) {
                return false;
            }
            for (ASTNode part : children(block.getParent())) {
                if (part.getType() == HiveParser.TOK_FROM && overSubtotals(part, 0)) {
                    return true;
                }
            }
            return false;
        }

        /** Whether it is the DISTINCT that Hive's parser writes for UNION, whose branches together have no key. */
        private static boolean unites(ASTNode select) {
            return children(select).stream().anyMatch(
                item -> item.getChildCount() > 0 && item.getChild(0).getType() == HiveParser.TOK_SETCOLREF);
        }

        /** Whether an expression has one of the aggregates that are known to keep its GROUP BY. */
        private static boolean aggregate(ASTNode node) {
            return aggregate(node, AGGREGATES::contains);
        }

        private static boolean aggregate(ASTNode node, Predicate<String> counts) {
            int type = node.getType();
            // A window has the rows of the groups, and may have an aggregate for its argument.
            boolean window = children(node).stream().anyMatch(part -> part.getType() == HiveParser.TOK_WINDOWSPEC);
            if (!window && (type == HiveParser.TOK_FUNCTIONSTAR || type == HiveParser.TOK_FUNCTIONDI
                || type == HiveParser.TOK_FUNCTION && counts.test(text(node.getChild(0))))) {
                return true;
            }
            return type != HiveParser.TOK_QUERY && children(node).stream().anyMatch(part -> aggregate(part, counts));
        }

        private boolean overSubtotals(ASTNode node, int level) {
            if (SETS.contains(node.getType())) {
                return true;
            }
            if (node.getType() == HiveParser.TOK_TABREF && level < 50) {
                String name = name((ASTNode) node.getChild(0));
                ASTNode query = common.containsKey(name) ? common.get(name) : views.get(name);
                return query != null && overSubtotals(query, level + 1);
            }
            return children(node).stream().anyMatch(child -> overSubtotals(child, level));
        }

        /** Refuses DISTINCT over what is a grouping key as well, by its name or by that of a derived table. */
        private void refuseKeys(ASTNode node) throws SemanticException {
            if (node.getType() == HiveParser.TOK_INSERT) {
                ASTNode grouping = null;
                for (ASTNode child : children(node)) {
                    grouping = SETS.contains(child.getType()) ? child : grouping;
                }
                if (grouping != null) {
                    Scope scope = scope((ASTNode) node.getParent(), null);
                    Set<String> keys = new HashSet<>();
                    for (ASTNode key : children(grouping)) {
                        if (key.getType() != HiveParser.TOK_GROUPING_SETS_EXPRESSION) {
                            keys.add(origin(key, scope));
                        }
                    }
                    refuseKeys(node, keys, scope);
                }
            }
            for (ASTNode child : children(node)) {
                refuseKeys(child);
            }
        }

        private void refuseKeys(ASTNode node, Set<String> keys, Scope scope) throws SemanticException {
            if (node.getType() == HiveParser.TOK_FUNCTIONDI) {
                for (ASTNode argument : children(node).subList(1, node.getChildCount())) {
                    if (keys.contains(origin(argument, scope))) {
                        throw refusal("DISTINCT counts a grouping key of ROLLUP, CUBE or GROUPING SETS. Group by the key in a subquery of its own, "
                            + "or add an expression that changes nothing, such as count(DISTINCT k + 0) or count(DISTINCT concat(k, '')).");
                    }
                }
            }
            for (ASTNode child : children(node)) {
                if (child.getType() != HiveParser.TOK_QUERY) {
                    refuseKeys(child, keys, scope);
                }
            }
        }

        /** An expression in the terms of the tables, as text. */
        private String origin(ASTNode node, Scope scope) {
            String column = column(node);
            if (column != null) {
                return scope.columns.getOrDefault(column, column);
            }
            if (node.getChildCount() == 0) {
                return text(node);
            }
            StringBuilder whole = new StringBuilder("(" + text(node));
            for (ASTNode child : children(node)) {
                whole.append(' ').append(origin(child, scope));
            }
            return whole.append(')').toString();
        }

        /** A column's name without its table, or null for another expression. */
        private static String column(ASTNode node) {
            if (node.getType() == HiveParser.TOK_TABLE_OR_COL) {
                return text(node.getChild(0));
            }
            return node.getType() == HiveParser.DOT && node.getChild(0).getType() == HiveParser.TOK_TABLE_OR_COL
                ? text(node.getChild(1)) : null;
        }

        /** Whether a query names something of a query around it, or may do so. */
        private boolean correlated(ASTNode node, Scope scope) {
            int type = node.getType();
            if (type == HiveParser.TOK_QUERY) {
                Scope own = scope(node, scope);
                for (ASTNode child : children(node)) {
                    if (correlated(child, own)) {
                        return true;
                    }
                }
                return false;
            }
            if (type == HiveParser.TOK_SUBQUERY) {
                // A derived table does not see its siblings.
                Scope outside = scope == null ? null : scope.parent;
                return correlated((ASTNode) node.getChild(0), outside);
            }
            if (type == HiveParser.DOT && node.getChild(0).getType() == HiveParser.TOK_TABLE_OR_COL) {
                return !seen(text(node.getChild(0).getChild(0)), scope);
            }
            if (type == HiveParser.TOK_TABLE_OR_COL) {
                return !seen(text(node.getChild(0)), scope);
            }
            if (type == HiveParser.TOK_TABREF || type == HiveParser.TOK_CTE) {
                return false;
            }
            for (ASTNode child : children(node)) {
                if (correlated(child, scope)) {
                    return true;
                }
            }
            return false;
        }

        private static boolean seen(String name, Scope scope) {
            for (Scope each = scope; each != null; each = each.parent) {
                if (each.aliases.contains(name) || each.columns.containsKey(name)) {
                    return true;
                }
            }
            return false;
        }

        private Scope scope(ASTNode query, Scope parent) {
            Scope scope = new Scope(parent);
            for (ASTNode child : children(query)) {
                if (child.getType() == HiveParser.TOK_FROM) {
                    sources(child, scope);
                }
            }
            return scope;
        }

        private void sources(ASTNode node, Scope scope) {
            String alias = text(node.getChild(node.getChildCount() - 1));
            if (node.getType() == HiveParser.TOK_TABREF) {
                String name = name((ASTNode) node.getChild(0));
                scope.aliases.add(node.getChildCount() > 1 ? alias : name.substring(name.indexOf('.') + 1));
                ASTNode query = common.containsKey(name) ? common.get(name) : views.get(name);
                if (query != null) {
                    derive(query, scope);
                } else if (tables.get(name) != null) {
                    for (String column : tables.get(name).columns) {
                        scope.columns.putIfAbsent(column, column);
                    }
                }
            } else if (node.getType() == HiveParser.TOK_SUBQUERY) {
                scope.aliases.add(alias);
                derive((ASTNode) node.getChild(0), scope);
            } else {
                for (ASTNode child : children(node)) {
                    if (child.getType() != HiveParser.TOK_SUBQUERY_EXPR) {
                        sources(child, scope);
                    }
                }
            }
        }

        /** Adds the columns of a derived table. */
        private void derive(ASTNode query, Scope scope) {
            if (query.getType() != HiveParser.TOK_QUERY) {
                for (ASTNode child : children(query)) {
                    derive(child, scope);
                }
                return;
            }
            if (++depth > 50) {
                depth--;
                return;
            }
            Scope inner = scope(query, null);
            depth--;
            for (ASTNode insert : children(query)) {
                for (ASTNode item : selected(insert)) {
                    ASTNode expression = item.getChildCount() > 0 ? (ASTNode) item.getChild(0) : item;
                    if (expression.getType() == HiveParser.TOK_ALLCOLREF) {
                        inner.columns.forEach(scope.columns::putIfAbsent);
                    } else {
                        String name = item.getChildCount() > 1 ? text(item.getChild(1)) : column(expression);
                        if (name != null) {
                            scope.columns.putIfAbsent(name, origin(expression, inner));
                        }
                    }
                }
            }
        }

        /** Refuses a correlated subquery whose WHERE may be true of an outer row although the outer column that it needs is NULL. */
        private void refuseCorrelation(ASTNode subquery) throws SemanticException {
            ASTNode query = (ASTNode) subquery.getChild(1);
            ASTNode block = block(subquery);
            if (block == null) {
                return;
            }
            Scope own = scope(query, null);
            Scope around = scope((ASTNode) block.getParent(), null);
            for (ASTNode insert : children(query)) {
                for (ASTNode clause : children(insert)) {
                    if (clause.getType() == HiveParser.TOK_WHERE) {
                        boolean nullSafe = existential(subquery) && readsOneTable(query);
                        refuseCorrelation((ASTNode) clause.getChild(0), own, around, block, nullSafe);
                    }
                }
            }
        }

        /** Refuses NOT IN of a subquery where Hive plans without CBO, and the left side may be NULL. */
        private void refuseAbsence(ASTNode subquery) throws SemanticException {
            if (!withoutCbo || subquery.getParent().getType() != HiveParser.KW_NOT || subquery.getChildCount() < 3) {
                return;
            }
            ASTNode asked = (ASTNode) subquery.getChild(2);
            boolean literal = !reads(asked) && !isNull(asked);
            if (!literal && !neverNull(asked, block(subquery), 0)) {
                throw refusal("NOT IN (SELECT ..) stands in a statement that Hive plans without CBO: one with DISTRIBUTE BY, CLUSTER BY, TRANSFORM, "
                    + "TABLESAMPLE, LATERAL VIEW OUTER, SORT BY beside LIMIT or several INSERTs, or with hive.cbo.enable=false. A NULL is lost there if the "
                    + "subquery has no row. Say k IS NOT NULL in the same WHERE for the k that is NOT IN, or store the rows in a table first.");
            }
        }

        /** Whether a query reads rows of a table as they are: no view, derived table, join or groups. */
        private boolean readsOneTable(ASTNode query) {
            ASTNode from = (ASTNode) query.getChild(0);
            ASTNode source = from.getType() == HiveParser.TOK_FROM ? (ASTNode) from.getChild(0) : null;
            if (source == null || source.getType() != HiveParser.TOK_TABREF || grouped(query)) {
                return false;
            }
            String name = name((ASTNode) source.getChild(0));
            return !common.containsKey(name) && !views.containsKey(name);
        }

        private static boolean grouped(ASTNode query) {
            return children(query).stream().flatMap(insert -> children(insert).stream())
                .anyMatch(clause -> clause.getType() == HiveParser.TOK_GROUPBY || SETS.contains(clause.getType()));
        }

        private void refuseCorrelation(ASTNode where, Scope own, Scope around, ASTNode block, boolean nullSafe)
                throws SemanticException {
            Map<String, ASTNode> needed = new HashMap<>();
            for (ASTNode term : terms(where)) {
                if (!joins(term, own, around, nullSafe)) {
                    columns(term, own, around, needed, null);
                }
            }
            if (needed.isEmpty()) {
                return;
            }
            needed.keySet().removeAll(rejected(where, own, around));
            for (Map.Entry<String, ASTNode> column : needed.entrySet()) {
                if (!neverNull(column.getValue(), block, 0)) {
                    throw refusal("a subquery may be true of a row around it whose " + column.getKey() + " is NULL (OR, IS NULL, <=>, coalesce), and "
                        + "CBO loses that row. Write one subquery for each side of OR, or a JOIN, or say " + column.getKey()
                        + " IS NOT NULL in the WHERE around the subquery.");
                }
            }
        }

        /**
         * Whether a term is a condition of the join itself: about the row around it alone, or = of an expression of each side. A <=> of two
         * columns is one where the subquery reads a single table.
         */
        private boolean joins(ASTNode term, Scope own, Scope around, boolean nullSafe) {
            if (side(term, own, around) == 2) {
                return true;
            }
            if (term.getType() != HiveParser.EQUAL && term.getType() != HiveParser.EQUAL_NS) {
                return false;
            }
            ASTNode left = (ASTNode) term.getChild(0);
            ASTNode right = (ASTNode) term.getChild(1);
            boolean allowed = term.getType() == HiveParser.EQUAL || nullSafe && column(left) != null && column(right) != null;
            return allowed && side(left, own, around) != 3 && side(right, own, around) != 3;
        }

        /** The queries whose columns an expression names: 0 none, 1 the subquery, 2 the outer query, 3 both. */
        private int side(ASTNode node, Scope own, Scope around) {
            Map<String, ASTNode> outer = new HashMap<>();
            Map<String, ASTNode> inner = new HashMap<>();
            columns(node, own, around, outer, inner);
            return (inner.isEmpty() ? 0 : 1) + (outer.isEmpty() ? 0 : 2);
        }

        /** Adds the outer columns that an expression names to `outer`, and the others to `inner`. */
        private void columns(ASTNode node, Scope own, Scope around, Map<String, ASTNode> outer, Map<String, ASTNode> inner) {
            if (column(node) != null) {
                if (outside(node, own, around)) {
                    outer.put(label(node), node);
                } else if (inner != null) {
                    inner.put(label(node), node);
                }
            } else if (node.getType() != HiveParser.TOK_SUBQUERY_EXPR) {
                for (ASTNode child : children(node)) {
                    columns(child, own, around, outer, inner);
                }
            }
        }

        private static boolean outside(ASTNode column, Scope own, Scope around) {
            String name = table(column).isEmpty() ? column(column) : table(column);
            return !seen(name, own) && seen(name, around);
        }

        private static String label(ASTNode column) {
            return table(column).isEmpty() ? column(column) : table(column) + "." + column(column);
        }

        /** The outer columns whose NULL makes a condition never true. */
        private Set<String> rejected(ASTNode condition, Scope own, Scope around) {
            int type = condition.getType();
            if (type == HiveParser.KW_AND || COMPARISONS.contains(type)) {
                Set<String> all = new HashSet<>();
                for (ASTNode child : children(condition)) {
                    all.addAll(type == HiveParser.KW_AND ? rejected(child, own, around) : strict(child, own, around));
                }
                return all;
            }
            if (type == HiveParser.KW_OR) {
                Set<String> both = rejected((ASTNode) condition.getChild(0), own, around);
                both.retainAll(rejected((ASTNode) condition.getChild(1), own, around));
                return both;
            }
            if (type == HiveParser.KW_NOT) {
                ASTNode term = (ASTNode) condition.getChild(0);
                return COMPARISONS.contains(term.getType()) || named(term, "in") ? strict(term, own, around) : new HashSet<>();
            }
            if (named(condition, "in") || named(condition, "isnotnull")) {
                return strict((ASTNode) condition.getChild(1), own, around);
            }
            if (named(condition, "between")) {
                Set<String> all = strict((ASTNode) condition.getChild(2), own, around);
                if (condition.getChild(1).getType() == HiveParser.KW_FALSE) {
                    all.addAll(strict((ASTNode) condition.getChild(3), own, around));
                    all.addAll(strict((ASTNode) condition.getChild(4), own, around));
                }
                return all;
            }
            return strict(condition, own, around);
        }

        /** The outer columns whose NULL makes an expression NULL. */
        private Set<String> strict(ASTNode node, Scope own, Scope around) {
            Set<String> all = new HashSet<>();
            if (column(node) != null) {
                if (outside(node, own, around)) {
                    all.add(label(node));
                }
            } else if (handsNullOn(node) || named(node, "in")) {
                for (ASTNode child : children(node)) {
                    all.addAll(strict(child, own, around));
                }
            }
            return all;
        }

        /** Whether ON joins terms by AND, and one of them names both sides and may be true of a NULL. */
        private static boolean residue(ASTNode on) {
            // Also an AND below OR: CBO takes what is common to all sides out.
            boolean joined = all(on).stream().anyMatch(node -> node.getType() == HiveParser.KW_AND);
            return joined && terms(on).stream().anyMatch(term -> !strict(term) && !oneSided(term));
        }

        /** Whether all columns of a term are named as those of one table. */
        private static boolean oneSided(ASTNode term) {
            Set<String> names = new HashSet<>();
            collectTables(term, names);
            return names.size() < 2 && !names.contains("");
        }

        private static void collectTables(ASTNode node, Set<String> names) {
            if (column(node) != null) {
                names.add(table(node));
            } else {
                children(node).forEach(child -> collectTables(child, names));
            }
        }

        /** Whether an expression is NULL where any of its columns is. */
        private static boolean strict(ASTNode node) {
            boolean operation = handsNullOn(node) || named(node, "between") || node.getType() == HiveParser.KW_NOT;
            return column(node) != null || node.getChildCount() == 0
                || operation && children(node).stream().allMatch(Statement::strict);
        }

        /** Whether an operation is NULL where one of its operands is. */
        private static boolean handsNullOn(ASTNode node) {
            int type = node.getType();
            boolean function = type == HiveParser.TOK_FUNCTION;
            boolean cast = function && node.getChildCount() == 2 && node.getChild(0).getType() != HiveParser.Identifier;
            return ARITHMETIC.contains(type) || COMPARISONS.contains(type) || cast
                || function && STRICT.contains(text(node.getChild(0)));
        }

        private static boolean named(ASTNode node, String name) {
            return node.getType() == HiveParser.TOK_FUNCTION && text(node.getChild(0)).equals(name);
        }

        /** Whether a subquery is EXISTS, NOT EXISTS or IN: it adds nothing to the rows around it. */
        private static boolean existential(ASTNode subquery) {
            String kind = kind(subquery);
            return kind.equals("exists") || (kind.equals("in") || kind.equals("kw_in")) && subquery.getParent().getType() != HiveParser.KW_NOT;
        }

        private static String kind(ASTNode subquery) {
            ASTNode operator = (ASTNode) subquery.getChild(0);
            return operator.getChildCount() == 0 ? "" : text(operator.getChild(0));
        }

        /** Whether Hive answers a subquery rightly without CBO: IN or EXISTS, alone among the terms that WHERE joins by AND. */
        private static boolean plain(ASTNode subquery) {
            String kind = kind(subquery);
            if (!(kind.equals("in") || kind.equals("kw_in") || kind.equals("exists")) || holds((ASTNode) subquery.getChild(1))) {
                return false;
            }
            Tree node = subquery.getParent();
            if (node.getType() == HiveParser.KW_NOT) {
                if (!kind.equals("exists")) {
                    return false;
                }
                node = node.getParent();
            }
            while (node.getType() == HiveParser.KW_AND) {
                node = node.getParent();
            }
            return node.getType() == HiveParser.TOK_WHERE && count((ASTNode) node) == 1;
        }

        /** Whether a subquery has subtotals, another subquery expression, or a comparison that is true of NULLs. */
        private static boolean holds(ASTNode node) {
            // Without CBO NULL <=> NULL is not true of a row around it.
            if (SETS.contains(node.getType()) || node.getType() == HiveParser.TOK_SUBQUERY_EXPR || node.getType() == HiveParser.EQUAL_NS) {
                return true;
            }
            return children(node).stream().anyMatch(Statement::holds);
        }

        private static int count(ASTNode node) {
            int own = node.getType() == HiveParser.TOK_SUBQUERY_EXPR ? 1 : 0;
            return own + children(node).stream().mapToInt(Statement::count).sum();
        }

        private static String name(ASTNode table) {
            List<String> parts = new ArrayList<>();
            for (ASTNode part : children(table)) {
                parts.add(text(part));
            }
            return String.join(".", parts);
        }

        private static String text(Tree node) {
            return node == null || node.getText() == null ? "" : ParseUtils.stripIdentifierQuotes(node.getText()).toLowerCase(Locale.ROOT);
        }

        /** A tree's nodes, a parent before its children. */
        private static List<ASTNode> all(ASTNode tree) {
            List<ASTNode> all = new ArrayList<>();
            // Ten thousand terms joined by OR are a tree as deep: no recursion.
            Deque<ASTNode> open = new ArrayDeque<>(List.of(tree));
            while (!open.isEmpty()) {
                ASTNode node = open.pop();
                all.add(node);
                for (int at = node.getChildCount() - 1; at >= 0; at--) {
                    open.push((ASTNode) node.getChild(at));
                }
            }
            return all;
        }

        private static List<ASTNode> children(Tree node) {
            if (node == null || node.getChildCount() == 0) {
                return Collections.emptyList();
            }
            List<ASTNode> children = new ArrayList<>(node.getChildCount());
            for (int at = 0; at < node.getChildCount(); at++) {
                children.add((ASTNode) node.getChild(at));
            }
            return children;
        }
    }
}
