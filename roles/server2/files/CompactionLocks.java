package hopshive;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.hive.metastore.api.Database;
import org.apache.hadoop.hive.ql.exec.Task;
import org.apache.hadoop.hive.ql.hooks.Entity;
import org.apache.hadoop.hive.ql.hooks.ReadEntity;
import org.apache.hadoop.hive.ql.hooks.WriteEntity;
import org.apache.hadoop.hive.ql.parse.AbstractSemanticAnalyzerHook;
import org.apache.hadoop.hive.ql.parse.HiveSemanticAnalyzerHookContext;
import org.apache.hadoop.hive.ql.session.SessionState;

/**
 * The statements of a compaction take no locks: the compaction itself has locked its table for as long as it runs.
 *
 * <p>A compaction's transaction holds a shared lock of the table (Worker). Its statements (QueryCompactor) have transactions of their own. With
 * locks, a statement waits behind a DROP of the table or its database, and the DROP waits for the compaction: Hive finds no such deadlock, and
 * this HiveServer2 compacts nothing more for an hour and a half.
 */
public final class CompactionLocks extends AbstractSemanticAnalyzerHook {
    @Override
    public void postAnalyze(HiveSemanticAnalyzerHookContext context, List<Task<?>> tasks) {
        SessionState session = SessionState.get();
        if (session != null && session.isCompaction()) {
            unlock(context.getInputs(), context.getOutputs());
        }
    }

    /** No entity of a plan asks for a lock; a table that is written keeps its kind of writing, by which Hive gives write ids. */
    static void unlock(Set<ReadEntity> inputs, Set<WriteEntity> outputs) {
        inputs.forEach(ReadEntity::noLockNeeded);
        Set<WriteEntity> databases = new HashSet<>(outputs);
        databases.removeIf(output -> output.getType() != Entity.Type.DATABASE);
        outputs.removeAll(databases);
        for (WriteEntity output : databases) {
            Database database = output.getDatabase();
            outputs.add(new WriteEntity(database, WriteEntity.WriteType.DDL_NO_LOCK));
        }
    }
}
