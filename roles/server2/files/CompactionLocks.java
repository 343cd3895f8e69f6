package hopshive;

import java.util.List;
import java.util.Set;
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
 * locks, a statement waits behind a DROP of the table or its database, and the DROP waits for the compaction. Hive does not notice such a
 * deadlock: both wait until their attempts are used up (hive.lock.numretries, 100 of up to a minute), and meanwhile this worker compacts
 * nothing else.
 */
public final class CompactionLocks extends AbstractSemanticAnalyzerHook {
    @Override
    public void postAnalyze(HiveSemanticAnalyzerHookContext context, List<Task<?>> tasks) {
        SessionState session = SessionState.get();
        if (session == null || !session.isCompaction()) {
            return;
        }
        context.getInputs().forEach(ReadEntity::noLockNeeded);
        // Only the database: a table keeps its kind of writing, by which Hive gives write ids. The table that is written is a temporary one,
        // which Hive does not lock.
        Set<WriteEntity> outputs = context.getOutputs();
        List<WriteEntity> databases = outputs.stream().filter(output -> output.getType() == Entity.Type.DATABASE).toList();
        databases.forEach(outputs::remove);
        databases.forEach(output -> outputs.add(new WriteEntity(output.getDatabase(), WriteEntity.WriteType.DDL_NO_LOCK)));
    }
}
