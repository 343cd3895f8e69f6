package hopshive;

import java.lang.reflect.Field;
import java.util.List;
import java.util.Map;
import org.apache.calcite.plan.Strong;
import org.apache.calcite.plan.Strong.Policy;
import org.apache.calcite.sql.SqlKind;

/**
 * What CBO takes for NULL only where an operand is. Hive's division by zero is NULL, an overflow of decimals, and the year of a text that
 * is no date: x IS NULL, COALESCE (x, ..) and CASE WHEN x IS NULL are decided by x itself.
 */
final class Strictness {
    private static final List<SqlKind> NULL_BY_THEMSELVES =
        List.of(SqlKind.DIVIDE, SqlKind.TIMES, SqlKind.PLUS, SqlKind.MINUS, SqlKind.EXTRACT);

    private Strictness() {
    }

    static {
        correct();
    }

    /** Corrects CBO's table of operators, when it is first called. Throws an Error where the table is another. */
    static void ready() {
        // The initializer above does it, once.
    }

    @SuppressWarnings("unchecked")
    private static void correct() {
        try {
            Field field = Strong.class.getDeclaredField("MAP");
            field.setAccessible(true);
            Map<SqlKind, Policy> policies = (Map<SqlKind, Policy>) field.get(null);
            for (SqlKind kind : NULL_BY_THEMSELVES) {
                policies.put(kind, Policy.AS_IS);
            }
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("CBO's table of operators is another", error);
        }
        for (SqlKind kind : NULL_BY_THEMSELVES) {
            if (Strong.policy(kind) != Policy.AS_IS) {
                throw new IllegalStateException("CBO's table of operators is another: it has " + Strong.policy(kind) + " for " + kind);
            }
        }
    }
}
