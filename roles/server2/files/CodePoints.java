package hopshive;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.Lock;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.apache.hadoop.hive.ql.exec.Description;
import org.apache.hadoop.hive.ql.exec.FunctionInfo;
import org.apache.hadoop.hive.ql.exec.FunctionInfo.FunctionType;
import org.apache.hadoop.hive.ql.exec.FunctionRegistry;
import org.apache.hadoop.hive.ql.exec.Registry;
import org.apache.hadoop.hive.ql.exec.UDF;
import org.apache.hadoop.hive.ql.exec.UDFArgumentException;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedExpressions;
import org.apache.hadoop.hive.ql.exec.vector.expressions.StringLTrimCol;
import org.apache.hadoop.hive.ql.exec.vector.expressions.StringRTrimCol;
import org.apache.hadoop.hive.ql.exec.vector.expressions.StringSubstrColStart;
import org.apache.hadoop.hive.ql.exec.vector.expressions.StringSubstrColStartLen;
import org.apache.hadoop.hive.ql.exec.vector.expressions.StringTrimCol;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.udf.UDFLike;
import org.apache.hadoop.hive.ql.udf.UDFRegExpReplace;
import org.apache.hadoop.hive.ql.udf.UDFSubstr;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDF;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFBridge;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFInstr;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFLTrim;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFLevenshtein;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFLikeAll;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFLikeAny;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFLocate;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFLpad;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFRTrim;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFRpad;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFSplit;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFSubstringIndex;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDFTrim;
import org.apache.hadoop.hive.serde2.objectinspector.ConstantObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.PrimitiveObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.primitive.PrimitiveObjectInspectorUtils;
import org.apache.hadoop.io.BooleanWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;

/**
 * Hive's functions of texts, counting code points. Hive counts a letter beyond U+FFFF, such as an emoji, as two.
 *
 * <p>Each function asks Hive's own, unless such a letter is there. The vectorized expressions of Hive's own, which do count code points,
 * are kept. A task needs these classes: hive.aux.jars.path has them.
 */
public final class CodePoints {
    private static final Map<String, Class<?>> FUNCTIONS = Map.ofEntries(
        Map.entry("substr", Substr.class), Map.entry("substring", Substr.class), Map.entry("mid", Substr.class),
        Map.entry("like", Like.class), Map.entry("likeany", LikeAny.class), Map.entry("likeall", LikeAll.class),
        Map.entry("instr", Instr.class), Map.entry("locate", Locate.class), Map.entry("position", Locate.class),
        Map.entry("lpad", Lpad.class), Map.entry("rpad", Rpad.class), Map.entry("levenshtein", Levenshtein.class),
        Map.entry("trim", Trim.class), Map.entry("ltrim", LTrim.class), Map.entry("rtrim", RTrim.class),
        Map.entry("split", Split.class), Map.entry("regexp_replace", RegexpReplace.class),
        Map.entry("substring_index", SubstringIndex.class));

    private static final Field PERMANENT = field(Registry.class, "persistent");

    private CodePoints() {
    }

    private static final class Installed {
        static {
            install();
        }

        private Installed() {
        }

        static void here() {
            // The initializer above does it, once.
        }
    }

    /** Puts the functions into Hive's registry in place of its own. Throws an Error where Hive's registry is another. */
    static void ready() {
        Installed.here();
    }

    /** Makes the functions permanent ones of a session: CHECK constraints name no others, but for built-in ones. */
    @SuppressWarnings("unchecked")
    static void permit(Registry session) {
        try {
            Map<Class<?>, Integer> permanent = (Map<Class<?>, Integer>) PERMANENT.get(session);
            FUNCTIONS.values().forEach(function -> permanent.putIfAbsent(function, 1));
        } catch (IllegalAccessException error) {
            throw new IllegalStateException("Hive's registry of functions is another", error);
        }
    }

    /**
     * The registry takes no other class for a function of its own, so its map is written. The classes are not among its built-in ones: so
     * HiveServer2 itself evaluates them for partitions, instead of the metastore, which does not have them.
     */
    @SuppressWarnings("unchecked")
    private static void install() {
        try {
            Registry registry = (Registry) field(FunctionRegistry.class, "system").get(null);
            Map<String, FunctionInfo> functions = (Map<String, FunctionInfo>) field(Registry.class, "mFunctions").get(registry);
            Lock lock = (Lock) field(Registry.class, "lock").get(registry);
            lock.lock();
            try {
                for (Map.Entry<String, Class<?>> function : FUNCTIONS.entrySet()) {
                    FunctionInfo own = functions.get(function.getKey());
                    if (own == null) {
                        throw new IllegalStateException("Hive has no function " + function.getKey());
                    }
                    functions.put(function.getKey(), info(function.getKey(), own.getGenericUDF(), function.getValue()));
                }
            } finally {
                lock.unlock();
            }
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("Hive's registry of functions is another", error);
        }
    }

    private static FunctionInfo info(String name, GenericUDF own, Class<?> function) throws ReflectiveOperationException {
        GenericUDF udf = UDF.class.isAssignableFrom(function)
            ? new GenericUDFBridge(name, ((GenericUDFBridge) own).isOperator(), function.getName())
            : (GenericUDF) function.getConstructor().newInstance();
        return new FunctionInfo(FunctionType.BUILTIN, name, udf);
    }

    private static Field field(Class<?> owner, String name) {
        try {
            Field field = owner.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException error) {
            throw new IllegalStateException("Hive's registry of functions is another", error);
        }
    }

    /** Whether a text has a letter beyond U+FFFF: four bytes of UTF-8. */
    static boolean wide(Text text) {
        if (text == null) {
            return false;
        }
        byte[] bytes = text.getBytes();
        for (int at = 0; at < text.getLength(); at++) {
            if ((bytes[at] & 0xF8) == 0xF0) {
                return true;
            }
        }
        return false;
    }

    static boolean wide(String text) {
        return text != null && text.chars().anyMatch(unit -> Character.isSurrogate((char) unit));
    }

    private static int count(String text) {
        return text.codePointCount(0, text.length());
    }

    /** The code points of a text from one of them to before another. */
    private static String part(String text, int from, int to) {
        int start = text.offsetByCodePoints(0, from);
        return text.substring(start, text.offsetByCodePoints(start, to - from));
    }

    private static boolean at(int[] text, int[] part, int from) {
        for (int each = 0; each < part.length; each++) {
            if (text[from + each] != part[each]) {
                return false;
            }
        }
        return true;
    }

    private static int find(int[] text, int[] part, int from) {
        return IntStream.rangeClosed(from, text.length - part.length).filter(at -> at(text, part, at)).findFirst().orElse(-1);
    }

    private static int findLast(int[] text, int[] part, int from) {
        for (int at = Math.min(from, text.length - part.length); at >= 0; at--) {
            if (at(text, part, at)) {
                return at;
            }
        }
        return -1;
    }

    /** The arguments of a function: as texts and numbers, whatever their types. */
    private static final class Arguments {
        private final ObjectInspector[] inspectors;

        Arguments(ObjectInspector[] inspectors) {
            this.inspectors = inspectors.clone();
        }

        int count() {
            return inspectors.length;
        }

        boolean constant(int at) {
            return inspectors[at] instanceof ConstantObjectInspector;
        }

        String text(GenericUDF.DeferredObject[] values, int at) throws HiveException {
            return PrimitiveObjectInspectorUtils.getString(values[at].get(), (PrimitiveObjectInspector) inspectors[at]);
        }

        /** Null if it is NULL or no number. */
        Integer number(GenericUDF.DeferredObject[] values, int at) throws HiveException {
            Object value = values[at].get();
            try {
                return value == null ? null : PrimitiveObjectInspectorUtils.getInt(value, (PrimitiveObjectInspector) inspectors[at]);
            } catch (NumberFormatException none) {
                return null;
            }
        }
    }

    /** substr(text, from [, length]). Hive's own is right where rows are vectorized (HIVE-27370). */
    @Description(name = "substr,substring,mid", value = "_FUNC_(str, pos[, len]) - returns the substring of str, or of bytes, that starts "
        + "at pos and has the length len", extended = "pos counts from 1. If pos < 0, it counts from the end of str.")
    @VectorizedExpressions({StringSubstrColStart.class, StringSubstrColStartLen.class})
    public static final class Substr extends UDFSubstr {
        private final Text result = new Text();

        @Override
        public Text evaluate(Text text, IntWritable from, IntWritable length) {
            boolean own = wide(text) && from != null && length != null;
            return own ? substr(text.toString(), from.get(), length.get()) : super.evaluate(text, from, length);
        }

        @Override
        public Text evaluate(Text text, LongWritable from, LongWritable length) {
            boolean own = wide(text) && isInt(from) && isInt(length);
            return own ? substr(text.toString(), (int) from.get(), (int) length.get()) : super.evaluate(text, from, length);
        }

        @Override
        public Text evaluate(Text text, IntWritable from) {
            return wide(text) && from != null ? substr(text.toString(), from.get(), Integer.MAX_VALUE) : super.evaluate(text, from);
        }

        @Override
        public Text evaluate(Text text, LongWritable from) {
            return wide(text) && isInt(from) ? substr(text.toString(), (int) from.get(), Integer.MAX_VALUE) : super.evaluate(text, from);
        }

        private static boolean isInt(LongWritable number) {
            return number != null && number.get() == (int) number.get();
        }

        private Text substr(String text, int from, int length) {
            result.clear();
            int count = count(text);
            if (length > 0 && Math.abs((long) from) <= count) {
                int start = from > 0 ? from - 1 : from < 0 ? count + from : 0;
                result.set(part(text, start, start + Math.min(length, count - start)));
            }
            return result;
        }
    }

    /** text LIKE pattern. A vectorized one is as Hive's own: the rule "letters" of AnswerGuard. */
    @Description(name = "like", value = "_FUNC_(str, pattern) - checks if str matches pattern")
    public static final class Like extends UDFLike {
        private final BooleanWritable result = new BooleanWritable();
        private String last;
        private Pattern compiled;

        @Override
        public BooleanWritable evaluate(Text text, Text pattern) {
            if (text == null || !wide(pattern)) {
                return super.evaluate(text, pattern);
            }
            String wanted = pattern.toString();
            if (!wanted.equals(last)) {
                compiled = compile(wanted);
                last = wanted;
            }
            result.set(compiled.matcher(text.toString()).matches());
            return result;
        }

        private static Pattern compile(String pattern) {
            StringBuilder expression = new StringBuilder();
            int[] letters = pattern.codePoints().toArray();
            for (int at = 0; at < letters.length; at++) {
                boolean escaped = letters[at] == '\\' && at + 1 < letters.length && (letters[at + 1] == '_' || letters[at + 1] == '%');
                if (escaped) {
                    at++;
                }
                if (!escaped && letters[at] == '_') {
                    expression.append('.');
                } else if (!escaped && letters[at] == '%') {
                    expression.append(".*?");
                } else {
                    expression.append(Pattern.quote(Character.toString(letters[at])));
                }
            }
            return Pattern.compile(expression.toString(), Pattern.DOTALL);
        }
    }

    /** text LIKE ANY (pattern, ..): NULL if one is NULL, as Hive's own. */
    @Description(name = "like any", value = "test _FUNC_(pattern1, pattern2...) - checks if test matches one of the patterns")
    public static final class LikeAny extends GenericUDFLikeAny {
        private transient Arguments arguments;

        @Override
        public ObjectInspector initialize(ObjectInspector[] inspectors) throws UDFArgumentException {
            arguments = new Arguments(inspectors);
            return super.initialize(inspectors);
        }

        @Override
        public Object evaluate(DeferredObject[] values) throws HiveException {
            return patterns(arguments, values) ? matches(arguments, values, true) : super.evaluate(values);
        }
    }

    /** text LIKE ALL (pattern, ..): NULL if one is NULL, as Hive's own. */
    @Description(name = "like all", value = "test _FUNC_(pattern1, pattern2...) - checks if test matches all the patterns")
    public static final class LikeAll extends GenericUDFLikeAll {
        private transient Arguments arguments;

        @Override
        public ObjectInspector initialize(ObjectInspector[] inspectors) throws UDFArgumentException {
            arguments = new Arguments(inspectors);
            return super.initialize(inspectors);
        }

        @Override
        public Object evaluate(DeferredObject[] values) throws HiveException {
            return patterns(arguments, values) ? matches(arguments, values, false) : super.evaluate(values);
        }
    }

    private static boolean patterns(Arguments arguments, GenericUDF.DeferredObject[] values) throws HiveException {
        for (int at = 1; at < arguments.count(); at++) {
            if (wide(arguments.text(values, at))) {
                return true;
            }
        }
        return false;
    }

    private static BooleanWritable matches(Arguments arguments, GenericUDF.DeferredObject[] values, boolean any) throws HiveException {
        String text = arguments.text(values, 0);
        boolean found = !any;
        for (int at = 1; at < arguments.count(); at++) {
            String pattern = arguments.text(values, at);
            if (text == null || pattern == null) {
                return null;
            }
            boolean matched = new Like().evaluate(new Text(text), new Text(pattern)).get();
            found = any ? found || matched : found && matched;
        }
        return new BooleanWritable(found);
    }

    /** instr(text, part [, from [, occurrence]]). */
    @Description(name = "instr", value = "_FUNC_(str, substr[, pos[, occurrence]]) - returns the position of the given occurrence of substr "
        + "in str, from pos on", extended = "pos and occurrence count from 1. If pos < 0, it counts from the end of str, and the search "
        + "goes backward.")
    public static final class Instr extends GenericUDFInstr {
        private final transient IntWritable result = new IntWritable();
        private transient Arguments arguments;

        @Override
        public ObjectInspector initialize(ObjectInspector[] inspectors) throws UDFArgumentException {
            arguments = new Arguments(inspectors);
            return super.initialize(inspectors);
        }

        @Override
        public Object evaluate(DeferredObject[] values) throws HiveException {
            String text = arguments.text(values, 0);
            String part = arguments.text(values, 1);
            Integer from = arguments.count() > 2 ? arguments.number(values, 2) : Integer.valueOf(1);
            Integer occurrence = arguments.count() > 3 ? arguments.number(values, 3) : Integer.valueOf(1);
            boolean none = part == null || from == null || occurrence == null || occurrence <= 0;
            if (!wide(text) || none || from == 0 && !arguments.constant(2)) {
                return super.evaluate(values);
            }
            result.set(position(text.codePoints().toArray(), part.codePoints().toArray(), from, occurrence));
            return result;
        }

        private static int position(int[] text, int[] part, int from, int occurrence) {
            int found = -1;
            int next = from > 0 ? from - 1 : text.length + from;
            for (int each = 0; each < occurrence; each++) {
                if (next < 0 || from > 0 && next >= text.length) {
                    return 0;
                }
                found = from > 0 ? find(text, part, next) : findLast(text, part, next);
                if (found < 0) {
                    return 0;
                }
                next = from > 0 ? found + 1 : found - 1;
            }
            return found + 1;
        }
    }

    /** locate(part, text [, from]). */
    @Description(name = "locate,position", value = "_FUNC_(substr, str[, pos]) - returns the position of the first occurrence of substr in "
        + "str, from pos on")
    public static final class Locate extends GenericUDFLocate {
        private final transient IntWritable result = new IntWritable();
        private transient Arguments arguments;

        @Override
        public ObjectInspector initialize(ObjectInspector[] inspectors) throws UDFArgumentException {
            arguments = new Arguments(inspectors);
            return super.initialize(inspectors);
        }

        @Override
        public Object evaluate(DeferredObject[] values) throws HiveException {
            String part = arguments.text(values, 0);
            String text = arguments.text(values, 1);
            Integer from = arguments.count() > 2 ? arguments.number(values, 2) : Integer.valueOf(1);
            if (!wide(text) || part == null || part.isEmpty() || from == null) {
                return super.evaluate(values);
            }
            result.set(from < 1 ? 0 : find(text.codePoints().toArray(), part.codePoints().toArray(), from - 1) + 1);
            return result;
        }
    }

    private static String padding(int missing, String pad) {
        int[] letters = pad.codePoints().toArray();
        StringBuilder padding = new StringBuilder();
        for (int each = 0; each < missing; each++) {
            padding.appendCodePoint(letters[each % letters.length]);
        }
        return padding.toString();
    }

    /** lpad(text, length, pad). */
    @Description(name = "lpad", value = "_FUNC_(str, len, pad) - returns str, left-padded with pad to a length of len")
    public static final class Lpad extends GenericUDFLpad {
        @Override
        protected void performOp(StringBuilder padded, int length, String text, String pad) {
            if (!wide(text) && !wide(pad)) {
                super.performOp(padded, length, text, pad);
                return;
            }
            int missing = Math.max(0, length) - count(text);
            padded.append(missing < 0 ? part(text, 0, Math.max(0, length)) : padding(missing, pad) + text);
        }
    }

    /** rpad(text, length, pad). */
    @Description(name = "rpad", value = "_FUNC_(str, len, pad) - returns str, right-padded with pad to a length of len")
    public static final class Rpad extends GenericUDFRpad {
        @Override
        protected void performOp(StringBuilder padded, int length, String text, String pad) {
            if (!wide(text) && !wide(pad)) {
                super.performOp(padded, length, text, pad);
                return;
            }
            int missing = Math.max(0, length) - count(text);
            padded.append(missing < 0 ? part(text, 0, Math.max(0, length)) : text + padding(missing, pad));
        }
    }

    /** levenshtein(one, other). */
    @Description(name = "levenshtein", value = "_FUNC_(str1, str2) - returns the Levenshtein distance between two strings")
    public static final class Levenshtein extends GenericUDFLevenshtein {
        private final transient IntWritable result = new IntWritable();
        private transient Arguments arguments;

        @Override
        public ObjectInspector initialize(ObjectInspector[] inspectors) throws UDFArgumentException {
            arguments = new Arguments(inspectors);
            return super.initialize(inspectors);
        }

        @Override
        public Object evaluate(DeferredObject[] values) throws HiveException {
            String one = arguments.text(values, 0);
            String other = arguments.text(values, 1);
            if (one == null || other == null || !wide(one) && !wide(other)) {
                return super.evaluate(values);
            }
            result.set(distance(one.codePoints().toArray(), other.codePoints().toArray()));
            return result;
        }

        private static int distance(int[] one, int[] other) {
            int[] row = IntStream.rangeClosed(0, other.length).toArray();
            for (int i = 1; i <= one.length; i++) {
                int diagonal = row[0];
                row[0] = i;
                for (int j = 1; j <= other.length; j++) {
                    int substituted = diagonal + (one[i - 1] == other[j - 1] ? 0 : 1);
                    diagonal = row[j];
                    row[j] = Math.min(substituted, Math.min(row[j], row[j - 1]) + 1);
                }
            }
            return row[other.length];
        }
    }

    private static String strip(String text, String letters, boolean left, boolean right) {
        int[] all = text.codePoints().toArray();
        int from = 0;
        int to = all.length;
        while (left && from < to && letters.indexOf(all[from]) >= 0) {
            from++;
        }
        while (right && to > from && letters.indexOf(all[to - 1]) >= 0) {
            to--;
        }
        return new String(all, from, to - from);
    }

    /** trim(text [, letters]). */
    @Description(name = "trim", value = "_FUNC_(str[, chars]) - removes spaces, or the letters of chars, from both ends of str")
    @VectorizedExpressions({StringTrimCol.class})
    public static final class Trim extends GenericUDFTrim {
        @Override
        protected String performOp(String text, String letters) {
            return wide(letters) ? strip(text, letters, true, true) : super.performOp(text, letters);
        }
    }

    /** ltrim(text [, letters]). */
    @Description(name = "ltrim", value = "_FUNC_(str[, chars]) - removes spaces, or the letters of chars, from the left end of str")
    @VectorizedExpressions({StringLTrimCol.class})
    public static final class LTrim extends GenericUDFLTrim {
        @Override
        protected String performOp(String text, String letters) {
            return wide(letters) ? strip(text, letters, true, false) : super.performOp(text, letters);
        }
    }

    /** rtrim(text [, letters]). */
    @Description(name = "rtrim", value = "_FUNC_(str[, chars]) - removes spaces, or the letters of chars, from the right end of str")
    @VectorizedExpressions({StringRTrimCol.class})
    public static final class RTrim extends GenericUDFRTrim {
        @Override
        protected String performOp(String text, String letters) {
            return wide(letters) ? strip(text, letters, false, true) : super.performOp(text, letters);
        }
    }

    /** Whether an expression that may match nothing, as '' does, did so inside of a letter. */
    private static boolean inside(Matcher matcher, String text) {
        int at = matcher.start();
        return at == matcher.end() && at > 0 && at < text.length() && Character.isSurrogatePair(text.charAt(at - 1), text.charAt(at));
    }

    /** split(text, expression). */
    @Description(name = "split", value = "_FUNC_(str, regex) - splits str around occurrences that match regex")
    public static final class Split extends GenericUDFSplit {
        private transient Arguments arguments;
        private transient String last;
        private transient Pattern compiled;

        @Override
        public ObjectInspector initialize(ObjectInspector[] inspectors) throws UDFArgumentException {
            arguments = new Arguments(inspectors);
            return super.initialize(inspectors);
        }

        @Override
        public Object evaluate(DeferredObject[] values) throws HiveException {
            String text = arguments.text(values, 0);
            String expression = arguments.text(values, 1);
            if (!wide(text) || expression == null) {
                return super.evaluate(values);
            }
            if (!expression.equals(last)) {
                compiled = Pattern.compile(expression);
                last = expression;
            }
            List<Text> parts = new ArrayList<>();
            Matcher matcher = compiled.matcher(text);
            int from = 0;
            while (matcher.find()) {
                boolean begins = matcher.end() == 0;
                if (!begins && !inside(matcher, text)) {
                    parts.add(new Text(text.substring(from, matcher.start())));
                    from = matcher.end();
                }
            }
            parts.add(new Text(text.substring(from)));
            return parts;
        }
    }

    /** regexp_replace(text, expression, replacement). */
    @Description(name = "regexp_replace", value = "_FUNC_(str, regexp, rep) - replaces all substrings of str that match regexp with rep")
    public static final class RegexpReplace extends UDFRegExpReplace {
        private final Text result = new Text();
        private String last;
        private Pattern compiled;

        @Override
        public Text evaluate(Text text, Text expression, Text replacement) {
            if (!wide(text) || expression == null || replacement == null) {
                return super.evaluate(text, expression, replacement);
            }
            if (!expression.toString().equals(last)) {
                compiled = Pattern.compile(expression.toString());
                last = expression.toString();
            }
            Matcher matcher = compiled.matcher(text.toString());
            StringBuilder replaced = new StringBuilder();
            while (matcher.find()) {
                if (!inside(matcher, text.toString())) {
                    matcher.appendReplacement(replaced, replacement.toString());
                }
            }
            matcher.appendTail(replaced);
            result.set(replaced.toString());
            return result;
        }
    }

    /** substring_index(text, delimiter, count). Hive's own leaves all but the first unit of a longer delimiter in the text after it. */
    @Description(name = "substring_index", value = "_FUNC_(str, delim, count) - returns what is left of the count-th delim; if count < 0, what "
        + "is right of it, counted from the right")
    public static final class SubstringIndex extends GenericUDFSubstringIndex {
        private final transient Text result = new Text();
        private transient Arguments arguments;

        @Override
        public ObjectInspector initialize(ObjectInspector[] inspectors) throws UDFArgumentException {
            arguments = new Arguments(inspectors);
            return super.initialize(inspectors);
        }

        @Override
        public Object evaluate(DeferredObject[] values) throws HiveException {
            String text = arguments.text(values, 0);
            String delimiter = arguments.text(values, 1);
            Integer count = arguments.number(values, 2);
            if (text == null || delimiter == null || delimiter.length() < 2 || count == null || count >= 0) {
                return super.evaluate(values);
            }
            int at = text.length();
            for (int each = 0; each > count && at >= 0; each--) {
                at = at == 0 ? -1 : text.lastIndexOf(delimiter, at - 1);
            }
            result.set(at < 0 ? text : text.substring(at + delimiter.length()));
            return result;
        }
    }
}
