package hopshive.policy;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveOperationType;

/** What a user may do to a table of which the policy hides a part. */
final class Operations {
    /**
     * Operations whose rows pass the policy, or that show no rows. All others are refused: EXPORT copies files, ANALYZE and materialized
     * views store what one user sees for all, a new name of a table or column leaves its rule, PREPARE keeps a plan.
     */
    static final Set<HiveOperationType> ALLOWED = Collections.unmodifiableSet(EnumSet.of(
        HiveOperationType.QUERY,
        HiveOperationType.EXPLAIN,
        HiveOperationType.CREATETABLE_AS_SELECT,
        HiveOperationType.CREATETABLE,
        HiveOperationType.CREATEVIEW,
        HiveOperationType.ALTERVIEW_AS,
        HiveOperationType.DROPVIEW,
        HiveOperationType.DROPTABLE,
        HiveOperationType.LOAD,
        HiveOperationType.DESCTABLE,
        HiveOperationType.SHOWCOLUMNS,
        HiveOperationType.SHOWTABLES,
        HiveOperationType.SHOWVIEWS,
        HiveOperationType.SHOW_CREATETABLE,
        HiveOperationType.SHOW_TBLPROPERTIES,
        HiveOperationType.SHOW_TABLESTATUS,
        HiveOperationType.SHOWLOCKS,
        HiveOperationType.GET_COLUMNS,
        HiveOperationType.GET_TABLES));

    private Operations() {
    }
}
