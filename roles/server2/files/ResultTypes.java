package hopshive;

import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.CompilationOpContext;
import org.apache.hadoop.hive.ql.exec.FetchTask;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.Task;
import org.apache.hadoop.hive.ql.hooks.ExecuteWithHookContext;
import org.apache.hadoop.hive.ql.hooks.HookContext;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.plan.BaseWork;
import org.apache.hadoop.hive.ql.plan.FetchWork;
import org.apache.hadoop.hive.ql.plan.FileSinkDesc;
import org.apache.hadoop.hive.ql.plan.TableDesc;
import org.apache.hadoop.hive.serde.serdeConstants;
import org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe;
import org.apache.hadoop.hive.serde2.lazybinary.LazyBinarySerDe;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector.Category;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoUtils;
import org.apache.hive.common.util.HiveVersionInfo;

/**
 * A result with an array, map or struct is written by tasks in Hive's binary form, from which HiveServer2 reads what was written.
 *
 * <p>Hive writes text, where an array with one NULL is as NULL, and an array with one empty text as an empty array. A hook before
 * execution (hive.exec.pre.hooks): the statement is planned, and no task runs yet.
 */
public final class ResultTypes implements ExecuteWithHookContext {
    @Override
    public void run(HookContext context) throws HiveException {
        FetchTask fetch = context.getQueryPlan() == null ? null : context.getQueryPlan().getFetchTask();
        if (fetch == null || !AnswerGuard.acts(context.getConf(), HiveVersionInfo.getVersion())) {
            return;
        }
        FetchWork work = fetch.getWork();
        if (work.getTblDir() == null || !isText(work.getTblDesc()) || !nested(work.getTblDesc())) {
            return;
        }
        List<FileSinkDesc> sinks = sinks(context.getQueryPlan().getRootTasks(), work.getTblDir());
        if (sinks.isEmpty() || !sinks.stream().allMatch(sink -> isText(sink.getTableInfo()))) {
            return;
        }
        for (FileSinkDesc sink : sinks) {
            sink.setTableInfo(binary(sink.getTableInfo()));
        }
        work.setTblDesc(binary(work.getTblDesc()));
        // What reads the result was made for text when the statement was planned.
        work.setSource(null);
        work.setSink(null);
        work.initializeForFetch(new CompilationOpContext());
        fetch.resetFetch();
    }

    private static boolean isText(TableDesc table) {
        return table != null && LazySimpleSerDe.class.getName().equals(table.getSerdeClassName());
    }

    private static boolean nested(TableDesc table) {
        String types = table.getProperties().getProperty(serdeConstants.LIST_COLUMN_TYPES, "");
        return TypeInfoUtils.getTypeInfosFromTypeString(types).stream().anyMatch(type -> type.getCategory() != Category.PRIMITIVE);
    }

    /** What tasks write into the directory of the result, or below it. */
    private static List<FileSinkDesc> sinks(List<Task<?>> tasks, Path result) {
        List<FileSinkDesc> found = new ArrayList<>();
        for (BaseWork work : AnswerGuard.works(tasks)) {
            for (Operator<?> operator : work.getAllOperators()) {
                if (operator.getConf() instanceof FileSinkDesc) {
                    FileSinkDesc sink = (FileSinkDesc) operator.getConf();
                    for (Path path = sink.getFinalDirName(); path != null; path = path.getParent()) {
                        if (path.equals(result)) {
                            found.add(sink);
                            break;
                        }
                    }
                }
            }
        }
        return found;
    }

    private static TableDesc binary(TableDesc text) {
        TableDesc binary = (TableDesc) text.clone();
        Properties properties = new Properties();
        properties.putAll(text.getProperties());
        properties.setProperty(serdeConstants.SERIALIZATION_LIB, LazyBinarySerDe.class.getName());
        binary.setProperties(properties);
        return binary;
    }
}
