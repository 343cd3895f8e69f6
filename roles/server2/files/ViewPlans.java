package hopshive;

import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.calcite.plan.RelOptMaterialization;
import org.apache.hadoop.hive.metastore.Warehouse;
import org.apache.hadoop.hive.ql.metadata.Hive;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.metadata.HiveMaterializedViewsRegistry;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.optimizer.calcite.rules.views.HiveMaterializedViewUtils;
import org.apache.hadoop.hive.ql.parse.ASTNode;
import org.apache.hadoop.hive.ql.parse.AbstractSemanticAnalyzerHook;
import org.apache.hadoop.hive.ql.parse.HiveSemanticAnalyzerHookContext;
import org.apache.hadoop.hive.ql.parse.SemanticException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * HiveServer2 forgets the plan of a materialized view that is no longer the view of that name.
 *
 * <p>HiveServer2 keeps the plans and texts of materialized views by their names, until it drops a view itself. Before a plan is used,
 * HiveServer2 only asks whether a view of that name is up to date. So a view that another HiveServer2 dropped, or that went with its
 * directory, and that was made again with another query, answers queries of the first one with rows of the second one. This hook asks the
 * metastore before each statement, where this HiveServer2 keeps any plan.
 */
public final class ViewPlans extends AbstractSemanticAnalyzerHook {
    private static final Logger LOG = LoggerFactory.getLogger(ViewPlans.class);
    /** All that are kept. Hive has it for its own package alone. */
    private static final Method KEPT = kept();

    private static Method kept() {
        try {
            Method found = HiveMaterializedViewsRegistry.class.getDeclaredMethod("getRewritingMaterializedViews");
            found.setAccessible(true);
            return found;
        } catch (NoSuchMethodException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    @Override
    public ASTNode preAnalyze(HiveSemanticAnalyzerHookContext context, ASTNode statement) throws SemanticException {
        HiveMaterializedViewsRegistry registry = HiveMaterializedViewsRegistry.get();
        if (registry.isEmpty()) {
            return statement;
        }
        try {
            Map<String, Table> views = new HashMap<>();
            for (Table view : viewsOf(context.getHive())) {
                views.put(view.getFullyQualifiedName(), view);
            }
            for (Object plan : (List<?>) KEPT.invoke(registry)) {
                Table view = HiveMaterializedViewUtils.extractTable((RelOptMaterialization) plan);
                if (!isSame(view, views.get(view.getFullyQualifiedName()))) {
                    LOG.info("The materialized view {} was dropped elsewhere: its plan is forgotten.", view.getFullyQualifiedName());
                    registry.dropMaterializedView(view);
                }
            }
        } catch (HiveException error) {
            throw new SemanticException(error);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
        return statement;
    }

    /**
     * All views. After a lost connection, Hive's client connects again and repeats a call, but not this one: it hides the lost connection
     * in a MetaException. Then a call that the client repeats goes first.
     */
    private static List<Table> viewsOf(Hive hive) throws HiveException {
        try {
            return hive.getAllMaterializedViewObjectsForRewriting();
        } catch (HiveException lost) {
            hive.getDatabase(Warehouse.DEFAULT_DATABASE_NAME);
            return hive.getAllMaterializedViewObjectsForRewriting();
        }
    }

    private static boolean isSame(Table kept, Table now) {
        return now != null && kept.getTTable().getId() == now.getTTable().getId()
            && Objects.equals(kept.getViewExpandedText(), now.getViewExpandedText());
    }
}
