package hopshive;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.hadoop.hive.ql.exec.Operator;
import org.apache.hadoop.hive.ql.exec.vector.BytesColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.LongColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.expressions.CastStringToLong;
import org.apache.hadoop.hive.ql.exec.vector.expressions.VectorExpression;
import org.apache.hadoop.hive.ql.plan.AbstractOperatorDesc;
import org.apache.hadoop.hive.ql.plan.VectorDesc;

/** Vectorized expressions that take the place of Hive's own in a plan, where those answer otherwise than row by row. */
public final class Vectors {
    private static final Map<Class<?>, Supplier<VectorExpression>> OTHERS = Map.of(CastStringToLong.class, TextToNumber::new);

    /** Of a class and those that it extends: what may hold an expression. */
    private static final ClassValue<List<Field>> FIELDS = new ClassValue<>() {
        @Override
        protected List<Field> computeValue(Class<?> owner) {
            List<Field> found = new ArrayList<>();
            for (Class<?> type = owner; type != null && type != Object.class; type = type.getSuperclass()) {
                for (Field field : type.getDeclaredFields()) {
                    Class<?> held = field.getType();
                    while (held.isArray()) {
                        held = held.getComponentType();
                    }
                    boolean described = held.getName().startsWith("org.apache.hadoop.hive.ql.") && held.getSimpleName().startsWith("Vector");
                    if (!Modifier.isStatic(field.getModifiers()) && described) {
                        field.setAccessible(true);
                        found.add(field);
                    }
                }
            }
            return found;
        }
    };

    private Vectors() {
    }

    /** Replaces what an operator evaluates. Operators and their descriptions share arrays of expressions, but not single ones. */
    static void correct(Operator<?> operator) {
        try {
            correct(operator, Collections.newSetFromMap(new IdentityHashMap<>()));
            Zeros.correctVectors(operator);
            if (operator.getConf() instanceof AbstractOperatorDesc) {
                VectorDesc described = ((AbstractOperatorDesc) operator.getConf()).getVectorDesc();
                if (described != null) {
                    correct(described, Collections.newSetFromMap(new IdentityHashMap<>()));
                    Zeros.correctVectors(described);
                }
            }
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("the expressions of " + operator + " cannot be read", error);
        }
    }

    private static void correct(Object owner, Set<Object> seen) throws ReflectiveOperationException {
        if (!seen.add(owner)) {
            return;
        }
        if (owner.getClass().isArray()) {
            for (int at = 0; at < Array.getLength(owner); at++) {
                Object part = Array.get(owner, at);
                Object other = other(part);
                if (other != part) {
                    Array.set(owner, at, other);
                }
                descend(other, seen);
            }
            return;
        }
        Zeros.correctPart(owner);
        for (Field field : FIELDS.get(owner.getClass())) {
            Object part = field.get(owner);
            Object other = other(part);
            if (other != part) {
                field.set(owner, other);
            }
            descend(other, seen);
        }
    }

    private static void descend(Object part, Set<Object> seen) throws ReflectiveOperationException {
        if (part == null) {
            return;
        }
        Class<?> type = part.getClass();
        while (type.isArray()) {
            type = type.getComponentType();
        }
        boolean described = type.getName().startsWith("org.apache.hadoop.hive.ql.plan.Vector")
            || type.getName().startsWith("org.apache.hadoop.hive.ql.exec.vector.VectorAggregationDesc");
        if (described || VectorExpression.class.isAssignableFrom(type)) {
            correct(part, seen);
        }
    }

    private static Object other(Object part) throws ReflectiveOperationException {
        Supplier<VectorExpression> maker = part == null ? null : OTHERS.get(part.getClass());
        if (maker == null) {
            return part;
        }
        VectorExpression other = maker.get();
        for (Class<?> type = part.getClass(); type != Object.class; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && !Modifier.isTransient(field.getModifiers())) {
                    field.setAccessible(true);
                    field.set(other, field.get(part));
                }
            }
        }
        return other;
    }

    /** CAST of a text as a whole number: blanks around the digits do not count. Hive's own makes NULL of them. */
    public static final class TextToNumber extends CastStringToLong {
        private static final long serialVersionUID = 1L;

        @Override
        protected void func(LongColumnVector numbers, BytesColumnVector texts, int at) {
            byte[] text = texts.vector[at];
            int start = texts.start[at];
            int length = texts.length[at];
            while (texts.length[at] > 0 && blank(text[texts.start[at]])) {
                texts.start[at]++;
                texts.length[at]--;
            }
            while (texts.length[at] > 0 && blank(text[texts.start[at] + texts.length[at] - 1])) {
                texts.length[at]--;
            }
            super.func(numbers, texts, at);
            texts.start[at] = start;
            texts.length[at] = length;
        }

        private static boolean blank(byte letter) {
            return letter >= 0 && Character.isWhitespace(letter);
        }
    }
}
