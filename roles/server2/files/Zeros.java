package hopshive;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.hive.ql.exec.FetchTask;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.TableScanOperator;
import org.apache.hadoop.hive.ql.exec.vector.DoubleColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.VectorAggregationDesc;
import org.apache.hadoop.hive.ql.exec.vector.VectorExpressionDescriptor;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.hadoop.hive.ql.exec.vector.expressions.DoubleColumnInList;
import org.apache.hadoop.hive.ql.exec.vector.expressions.FilterDoubleColumnInList;
import org.apache.hadoop.hive.ql.exec.vector.expressions.VectorExpression;
import org.apache.hadoop.hive.ql.exec.vector.expressions.VectorInBloomFilterColDynamicValue;
import org.apache.hadoop.hive.ql.exec.vector.expressions.aggregates.VectorUDAFBloomFilter;
import org.apache.hadoop.hive.ql.hooks.ExecuteWithHookContext;
import org.apache.hadoop.hive.ql.hooks.HookContext;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.parse.SemanticException;
import org.apache.hadoop.hive.ql.plan.AggregationDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeConstantDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDynamicValueDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.plan.GroupByDesc;
import org.apache.hadoop.hive.ql.plan.MapJoinDesc;
import org.apache.hadoop.hive.ql.plan.OperatorDesc;
import org.apache.hadoop.hive.ql.plan.ReduceSinkDesc;
import org.apache.hadoop.hive.ql.plan.TableScanDesc;
import org.apache.hadoop.hive.ql.plan.TopNKeyDesc;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDF;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFIn;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFInBloomFilter;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPAnd;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPPlus;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoFactory;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hive.common.util.HiveVersionInfo;

/**
 * -0.0 equals 0.0, but Hive compares the bytes of keys and the minima and maxima of files, where the two differ. In a plan, each
 * key of the type DOUBLE or FLOAT gets 0.0 added, which makes 0.0 of -0.0 and leaves all else as it is.
 */
public final class Zeros implements ExecuteWithHookContext {
    /** Arrays of operators that decide by keys: one expression a key. */
    private static final Set<String> KEYS = Set.of("keyExpressions", "partitionKeyColumns");
    /** Arrays of operators that evaluate, in order, all that is not a plain column; the columns of the keys are in another array. */
    private static final List<String> SLIM = List.of("reduceSinkKey", "reduceSinkPartition", "reduceSinkBucket", "bigTableKey");

    static boolean inexact(TypeInfo type) {
        return TypeInfoFactory.doubleTypeInfo.equals(type) || TypeInfoFactory.floatTypeInfo.equals(type);
    }

    // --- statements that HiveServer2 answers itself ---------------------------------------------------------------------

    /** Hive shows such a plan only after it began to read: the reading begins again if the plan was wrong. */
    @Override
    public void run(HookContext context) throws HiveException {
        FetchTask fetch = context.getQueryPlan() == null ? null : context.getQueryPlan().getFetchTask();
        boolean reads = fetch != null && fetch.getWork().getSource() instanceof TableScanOperator;
        if (!reads || !AnswerGuard.acts(context.getConf(), HiveVersionInfo.getVersion())) {
            return;
        }
        List<Operator<?>> operators = new ArrayList<>(List.of(fetch.getWork().getSource()));
        boolean corrected = false;
        for (int at = 0; at < operators.size(); at++) {
            corrected |= correct(operators.get(at));
            operators.addAll(operators.get(at).getChildOperators() == null ? List.of() : operators.get(at).getChildOperators());
        }
        if (!corrected) {
            return;
        }
        try {
            Field state = field(Operator.class, "state");
            for (Operator<?> operator : operators) {
                state.set(operator, Operator.State.UNINIT);
            }
            field(FetchTask.class, "job").set(fetch, new JobConf(context.getConf()));
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("the plan of " + fetch + " cannot be written", error);
        }
        boolean keepsRows = fetch.isCachingEnabled();
        // Otherwise only the rows that are kept are read again: there are none yet.
        fetch.setCachingEnabled(false);
        fetch.resetFetch();
        fetch.setCachingEnabled(keepsRows);
    }

    // --- row by row --------------------------------------------------------------------------------------------------

    /** Corrects what an operator does row by row, and what it asks of files; whether anything was wrong with it. */
    static boolean correct(Operator<?> operator) throws SemanticException {
        boolean corrected = false;
        OperatorDesc described = operator.getConf();
        if (described instanceof ReduceSinkDesc) {
            ReduceSinkDesc sink = (ReduceSinkDesc) described;
            sink.setKeyCols(plusZero(sink.getKeyCols()));
            sink.setPartitionCols(plusZero(sink.getPartitionCols()));
            sink.setBucketCols(plusZero(sink.getBucketCols()));
        } else if (described instanceof MapJoinDesc && ((MapJoinDesc) described).getKeys() != null) {
            for (Map.Entry<Byte, List<ExprNodeDesc>> side : ((MapJoinDesc) described).getKeys().entrySet()) {
                side.setValue(plusZero(side.getValue()));
            }
        } else if (described instanceof TopNKeyDesc) {
            TopNKeyDesc first = (TopNKeyDesc) described;
            first.setKeyColumns(plusZero(first.getKeyColumns()));
            first.setPartitionKeyColumns(plusZero(first.getPartitionKeyColumns()));
        } else if (described instanceof GroupByDesc) {
            GroupByDesc groups = (GroupByDesc) described;
            groups.setKeys(plusZero(groups.getKeys()));
            for (AggregationDesc aggregate : groups.getAggregators()) {
                if (aggregate.getGenericUDAFName().equals("bloom_filter")) {
                    aggregate.setParameters(new ArrayList<>(plusZero(aggregate.getParameters())));
                }
            }
        } else if (described instanceof TableScanDesc) {
            corrected = askLess((TableScanDesc) described);
        }
        Set<ExprNodeDesc> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        for (ExprNodeDesc expression : AnswerGuard.expressions(operator)) {
            corrected |= correct(expression, seen);
        }
        return corrected;
    }

    private static List<ExprNodeDesc> plusZero(List<ExprNodeDesc> keys) throws SemanticException {
        if (keys == null || keys.stream().noneMatch(key -> key != null && inexact(key.getTypeInfo()))) {
            return keys;
        }
        List<ExprNodeDesc> others = new ArrayList<>();
        for (ExprNodeDesc key : keys) {
            others.add(key != null && inexact(key.getTypeInfo()) ? plusZero(key) : key);
        }
        return others;
    }

    private static ExprNodeDesc plusZero(ExprNodeDesc key) throws SemanticException {
        if (key instanceof ExprNodeConstantDesc) {
            Object value = ((ExprNodeConstantDesc) key).getValue();
            if (value instanceof Double) {
                return new ExprNodeConstantDesc(key.getTypeInfo(), (Double) value + 0.0);
            }
            return value instanceof Float ? new ExprNodeConstantDesc(key.getTypeInfo(), (Float) value + 0.0f) : key;
        }
        Object zero = key.getTypeInfo().equals(TypeInfoFactory.floatTypeInfo) ? (Object) 0.0f : (Object) 0.0;
        return ExprNodeGenericFuncDesc.newInstance(
            new GenericUDFOPPlus(), new ArrayList<>(List.of(key, new ExprNodeConstantDesc(key.getTypeInfo(), zero))));
    }

    /** IN looks for keys in a set. */
    private static boolean correct(ExprNodeDesc expression, Set<ExprNodeDesc> seen) throws SemanticException {
        boolean corrected = false;
        if (!seen.add(expression) || expression.getChildren() == null) {
            return false;
        }
        for (ExprNodeDesc child : expression.getChildren()) {
            corrected |= correct(child, seen);
        }
        GenericUDF function = expression instanceof ExprNodeGenericFuncDesc ? ((ExprNodeGenericFuncDesc) expression).getGenericUDF() : null;
        if (function instanceof GenericUDFInBloomFilter || function instanceof GenericUDFIn && mayBeZero(expression.getChildren())) {
            List<ExprNodeDesc> others = plusZero(expression.getChildren());
            corrected |= others != expression.getChildren();
            ((ExprNodeGenericFuncDesc) expression).setChildren(new ArrayList<>(others));
        }
        return corrected;
    }

    /** Whether one of the values that IN looks for may be a zero. */
    private static boolean mayBeZero(List<ExprNodeDesc> looked) {
        return looked.stream().skip(1).anyMatch(
            value -> !(value instanceof ExprNodeConstantDesc) || zero(((ExprNodeConstantDesc) value).getValue()));
    }

    // --- files -------------------------------------------------------------------------------------------------------

    /** Asks files for all rows where a minimum, a maximum or a bucket of the one zero would hide the other. The filter behind the scan stays. */
    private static boolean askLess(TableScanDesc scan) throws SemanticException {
        ExprNodeGenericFuncDesc filter = scan.getFilterExpr();
        if (filter == null || scan.getTableMetadata() == null || scan.getTableMetadata().isNonNative()) {
            return false;
        }
        ExprNodeDesc kept = withoutZeros(filter);
        if (kept == filter) {
            return false;
        }
        scan.setFilterExpr(kept instanceof ExprNodeGenericFuncDesc ? (ExprNodeGenericFuncDesc) kept : null);
        scan.setSerializedFilterExpr(null);
        return true;
    }

    private static ExprNodeDesc withoutZeros(ExprNodeDesc condition) throws SemanticException {
        boolean all = condition instanceof ExprNodeGenericFuncDesc
            && ((ExprNodeGenericFuncDesc) condition).getGenericUDF() instanceof GenericUDFOPAnd;
        if (!all) {
            return meetsZero(condition) ? null : condition;
        }
        List<ExprNodeDesc> kept = new ArrayList<>();
        boolean same = true;
        for (ExprNodeDesc term : condition.getChildren()) {
            ExprNodeDesc other = withoutZeros(term);
            same &= other == term;
            if (other != null) {
                kept.add(other);
            }
        }
        if (same) {
            return condition;
        }
        return kept.size() < 2 ? (kept.isEmpty() ? null : kept.get(0)) : ExprNodeGenericFuncDesc.newInstance(new GenericUDFOPAnd(), kept);
    }

    /** Whether a condition compares a DOUBLE or FLOAT with a zero, or with a value that is known later. */
    private static boolean meetsZero(ExprNodeDesc condition) {
        if (condition.getChildren() == null) {
            return false;
        }
        boolean column = false;
        boolean zero = false;
        for (ExprNodeDesc child : condition.getChildren()) {
            column |= !(child instanceof ExprNodeConstantDesc) && inexact(child.getTypeInfo());
            zero |= child instanceof ExprNodeDynamicValueDesc || child instanceof ExprNodeConstantDesc && zero(((ExprNodeConstantDesc) child).getValue());
            if (meetsZero(child)) {
                return true;
            }
        }
        return column && zero;
    }

    private static boolean zero(Object value) {
        try {
            return value != null && Double.parseDouble(value.toString()) == 0;
        } catch (NumberFormatException error) {
            return false;
        }
    }

    // --- vectorized --------------------------------------------------------------------------------------------------

    /** Corrects the arrays of an operator, or of its description. An array can belong to both. */
    static void correctVectors(Object owner) throws ReflectiveOperationException {
        for (Class<?> type = owner.getClass(); type != Object.class; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (KEYS.contains(field.getName()) && field.getType() == VectorExpression[].class) {
                    field.setAccessible(true);
                    VectorExpression[] keys = (VectorExpression[]) field.get(owner);
                    for (int at = 0; keys != null && at < keys.length; at++) {
                        keys[at] = plusZero(keys[at]);
                    }
                }
            }
            for (String name : SLIM) {
                addZeros(owner, type, name);
            }
        }
    }

    private static void addZeros(Object owner, Class<?> type, String name) throws ReflectiveOperationException {
        Field evaluated = field(type, name + "Expressions");
        Field numbers = field(type, name + "ColumnMap");
        Field types = field(type, name + "TypeInfos");
        if (evaluated == null || numbers == null || types == null || numbers.get(owner) == null || types.get(owner) == null) {
            return;
        }
        VectorExpression[] before = (VectorExpression[]) evaluated.get(owner);
        List<VectorExpression> all = new ArrayList<>(before == null ? List.of() : Arrays.asList(before));
        if (!all.isEmpty() && all.get(all.size() - 1) instanceof PlusZero) {
            return;
        }
        int[] columns = (int[]) numbers.get(owner);
        TypeInfo[] keys = (TypeInfo[]) types.get(owner);
        for (int at = 0; at < columns.length; at++) {
            if (inexact(keys[at])) {
                all.add(new PlusZero(columns[at], keys[at]));
            }
        }
        if (all.size() > (before == null ? 0 : before.length)) {
            evaluated.set(owner, all.toArray(new VectorExpression[0]));
        }
    }

    private static Field field(Class<?> type, String name) {
        try {
            Field found = type.getDeclaredField(name);
            found.setAccessible(true);
            return found;
        } catch (NoSuchFieldException error) {
            return null;
        }
    }

    private static VectorExpression plusZero(VectorExpression key) {
        if (key == null || key instanceof PlusZero || !inexact(key.getOutputTypeInfo())) {
            return key;
        }
        PlusZero other = new PlusZero(key.getOutputColumnNum(), key.getOutputTypeInfo());
        other.setChildExpressions(new VectorExpression[] {key});
        return other;
    }

    /** Corrects a part of a vectorized operator that looks for keys: in a list or a Bloom filter. */
    static void correctPart(Object part) throws ReflectiveOperationException {
        if (part instanceof FilterDoubleColumnInList || part instanceof DoubleColumnInList) {
            Field list = field(part.getClass(), "inListValues");
            double[] values = (double[]) list.get(part);
            if (Arrays.stream(values).anyMatch(value -> value == 0)) {
                double[] both = Arrays.copyOf(values, values.length + 2);
                both[values.length] = 0.0;
                both[values.length + 1] = -0.0;
                list.set(part, Arrays.stream(both).distinct().toArray());
            }
        } else if (part instanceof VectorInBloomFilterColDynamicValue) {
            VectorExpression probe = (VectorExpression) part;
            VectorExpression[] children = probe.getChildExpressions() == null ? new VectorExpression[0] : probe.getChildExpressions();
            boolean done = children.length > 0 && children[children.length - 1] instanceof PlusZero;
            if (!done && inexact(probe.getInputTypeInfos()[0])) {
                VectorExpression[] others = Arrays.copyOf(children, children.length + 1);
                others[children.length] = new PlusZero(probe.inputColumnNum[0], probe.getInputTypeInfos()[0]);
                probe.setChildExpressions(others);
            }
        } else if (part instanceof VectorAggregationDesc && ((VectorAggregationDesc) part).getVecAggrClass() == VectorUDAFBloomFilter.class) {
            Field input = field(VectorAggregationDesc.class, "inputExpression");
            input.set(part, plusZero((VectorExpression) input.get(part)));
        }
    }

    /** Adds 0.0 to a column, after what fills the column was evaluated. */
    public static final class PlusZero extends VectorExpression {
        private static final long serialVersionUID = 1L;

        /** For the reader of a plan. */
        public PlusZero() {
        }

        PlusZero(int column, TypeInfo type) {
            super(column, column);
            setInputTypeInfos(type);
            setOutputTypeInfo(type);
        }

        @Override
        public void evaluate(VectorizedRowBatch batch) throws HiveException {
            evaluateChildren(batch);
            DoubleColumnVector numbers = (DoubleColumnVector) batch.cols[outputColumnNum];
            double[] values = numbers.vector;
            if (numbers.isRepeating) {
                values[0] += 0.0;
            } else if (batch.selectedInUse) {
                for (int at = 0; at < batch.size; at++) {
                    values[batch.selected[at]] += 0.0;
                }
            } else {
                for (int at = 0; at < batch.size; at++) {
                    values[at] += 0.0;
                }
            }
        }

        @Override
        public String vectorExpressionParameters() {
            return "col " + outputColumnNum;
        }

        @Override
        public VectorExpressionDescriptor.Descriptor getDescriptor() {
            return new VectorExpressionDescriptor.Builder().build();
        }
    }
}
