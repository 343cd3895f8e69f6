package hopshive;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.SQLIntegrityConstraintViolationException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.logging.Logger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Connector/J whose sessions refuse a value that a column cannot hold.
 *
 * <p>Connector/J makes a new session strict. Hive then sets sql_mode to ANSI_QUOTES alone, again and again in one session
 * (DatabaseProduct.getPrepareTxnStmt, DirectSqlUpdatePart). It replaces what the server, the URL or the pool has set, and the
 * server stores what does not fit as something else: it cuts a text, and letters that latin1 lacks become question marks.
 * Here STRICT_TRANS_TABLES is added to each mode that is set.
 *
 * <p>A refusal is a SQLIntegrityConstraintViolationException with a sentence. Hive tries any other error again for twenty seconds.
 * The server rolls back the refused statement alone, so a transaction that continues after it cannot be committed.
 *
 * <p>URLs begin with jdbc:mysql+strict: instead of jdbc:mysql:. Hive recognizes the kind of database by the word mysql in it.
 */
public final class StrictDriver implements Driver {
    static final String OURS = "jdbc:mysql+strict:";
    private static final String THEIRS = "jdbc:mysql:";
    private static final String REFUSED = "Refused: ";
    /** The SQL modes in what Hive sets for its sessions. */
    private static final Pattern MODE = Pattern.compile("(?i)\\b(sql_mode\\s*=\\s*)(?:'([^']+)'|(ANSI_QUOTES)\\b)");
    /** Errors about letters: a column cannot hold those of a value, or is compared with others. */
    private static final Set<Integer> LETTERS = Set.of(1267, 1270, 1271, 1366, 3854, 3988);
    private static final int TOO_LONG = 1406;
    private static final int INCORRECT = 1366;
    private static final String OTHER_TYPE = "a value is not of the type of %s of the metastore's database.";
    /** What else a session that is not strict would alter, by the server's error: what is said of the column. */
    private static final Map<Integer, String> ALTERED = Map.of(
        1264, "a value is out of the range of %s of the metastore's database.",
        1265, OTHER_TYPE,
        1292, OTHER_TYPE,
        INCORRECT, OTHER_TYPE,
        1364, "a row has no value for %s of the metastore's database, which has no default.");
    /** MariaDB names a column with its schema and table, in backticks, or alone. */
    private static final Pattern COLUMN = Pattern.compile("(?:for column|Field) (?:`[^`]*`\\.)*[`']([^`']*)[`']");
    /** An INSERT of parameters alone: its columns, its parameters. */
    private static final Pattern INSERT =
            Pattern.compile("(?is)^\\s*INSERT\\s[^(]*\\(([^)]*)\\)\\s*VALUES\\s*\\((\\s*\\?\\s*(?:,\\s*\\?\\s*)*)\\)\\s*$");
    /** Letters of a value that a sentence shows. */
    private static final int SHOWN = 40;

    static {
        try {
            DriverManager.registerDriver(new StrictDriver());
        } catch (SQLException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    private final Driver driver;

    public StrictDriver() throws SQLException {
        driver = new com.mysql.cj.jdbc.Driver();
    }

    private static String theirs(String url) {
        return THEIRS + url.substring(OURS.length());
    }

    @Override
    public boolean acceptsURL(String url) {
        return url != null && url.startsWith(OURS);
    }

    @Override
    public Connection connect(String url, Properties properties) throws SQLException {
        return acceptsURL(url) ? proxy(Connection.class, new Session(driver.connect(theirs(url), properties))) : null;
    }

    static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(StrictDriver.class.getClassLoader(), new Class<?>[] {type}, handler));
    }

    static Object invoke(Object target, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException error) {
            throw error.getCause();
        }
    }

    static boolean begins(String sql, String... words) {
        String text = sql.stripLeading();
        return Arrays.stream(words).anyMatch(word -> text.regionMatches(true, 0, word, 0, word.length()));
    }

    /** Whether it is the sentence about a refused value. */
    static boolean isRefusal(SQLException error) {
        return error instanceof SQLIntegrityConstraintViolationException && String.valueOf(error.getMessage()).startsWith(REFUSED);
    }

    /** The same statement, with a strict mode if it sets a mode. */
    private static String strict(String sql) {
        if (!begins(sql, "SET ")) {
            return sql;
        }
        Matcher found = MODE.matcher(sql);
        StringBuilder told = new StringBuilder();
        while (found.find()) {
            String modes = found.group(2) == null ? found.group(3) : found.group(2);
            found.appendReplacement(told, Matcher.quoteReplacement(found.group(1) + "'" + modes + ",STRICT_TRANS_TABLES'"));
        }
        return found.appendTail(told).toString();
    }

    /** Whether it is about the letters of a text that a column in latin1 was to hold, or was compared with. */
    private static boolean isAboutLetters(int code, String said) {
        return code == INCORRECT ? said.contains("Incorrect string value") : said.contains("latin1");
    }

    /** The sentence for a value that the server refused; null for an error about something else. */
    private static String sentence(int code, String said, String sql, Map<Integer, String> texts) {
        if (LETTERS.contains(code) && isAboutLetters(code, said)) {
            return "a text has letters that latin1 lacks, and the metastore's database keeps it in latin1."
                    + " Nothing was stored (docs/consistency.md#text).";
        }
        if (code == TOO_LONG) {
            return tooLong(said, sql, texts) + " Nothing was stored (docs/limits.md).";
        }
        String about = ALTERED.get(code);
        return about == null ? null : about.formatted(column(said)) + " Nothing was stored (docs/limits.md).";
    }

    /** What Hive gets for an error: a sentence for a refused value, the error itself otherwise. */
    private static SQLException told(SQLException error, String sql, Map<Integer, String> texts) {
        int code = error.getErrorCode();
        String said = String.valueOf(error.getMessage());
        String sentence = sentence(code, said, sql, texts);
        if (sentence == null) {
            return error;
        }
        SQLException told = new SQLIntegrityConstraintViolationException(
            REFUSED + sentence + " The server said: " + said, error.getSQLState(), code);
        // Not as its cause: Hive shows the innermost one.
        told.addSuppressed(error);
        return told;
    }

    private static String column(String said) {
        Matcher found = COLUMN.matcher(said);
        return found.find() ? found.group(1) : "a column";
    }

    private static String tooLong(String said, String sql, Map<Integer, String> texts) {
        String column = column(said);
        String text = texts.get(parameter(sql, column));
        String value = "a value";
        if (text != null) {
            String start = text.substring(0, Math.min(SHOWN, text.length())).replaceAll("[\\p{Cntrl}\\s]+", " ");
            String rest = text.length() > SHOWN ? "..." : "";
            value = String.format(Locale.ROOT, "'%s%s' (%,d letters)", start, rest, text.codePointCount(0, text.length()));
        }
        return value + " is longer than " + column + " of the metastore's database can hold.";
    }

    /** The number of the parameter that a statement writes into a column; 0 if that is unknown. */
    private static int parameter(String sql, String column) {
        if (sql == null || sql.contains("'")) {
            return 0;
        }
        Matcher insert = INSERT.matcher(sql);
        if (insert.find()) {
            List<String> columns = Arrays.stream(insert.group(1).split(",")).map(name -> name.replaceAll("[\\s`\"]", "")).toList();
            return columns.size() == insert.group(2).split(",").length ? columns.indexOf(column) + 1 : 0;
        }
        Matcher update = Pattern.compile("\\b" + Pattern.quote(column) + "[`\"]?\\s*=\\s*\\?").matcher(sql);
        return update.find() ? (int) sql.substring(0, update.end()).chars().filter(letter -> letter == '?').count() : 0;
    }

    /** A connection. */
    private static final class Session implements InvocationHandler {
        private final Connection connection;
        /** The sentence about what this transaction was refused. */
        private String refusal;

        Session(Connection connection) {
            this.connection = connection;
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            switch (method.getName()) {
                case "createStatement":
                    return proxy(Statement.class, new Asked(made(method, arguments), null));
                case "prepareStatement":
                    arguments[0] = strict((String) arguments[0]);
                    return proxy(PreparedStatement.class, new Asked(made(method, arguments), (String) arguments[0]));
                case "prepareCall":
                    return proxy(CallableStatement.class, new Asked(made(method, arguments), null));
                case "commit":
                case "setSavepoint":
                    require();
                    break;
                case "setAutoCommit":
                    // To switch it on is to commit.
                    if ((Boolean) arguments[0]) {
                        require();
                    }
                    break;
                case "rollback":
                    // Savepoints are from before the refusal.
                    StrictDriver.invoke(connection, method, arguments);
                    refusal = null;
                    return null;
                case "equals":
                    return proxy == arguments[0];
                case "hashCode":
                    return System.identityHashCode(proxy);
                default:
                    break;
            }
            return StrictDriver.invoke(connection, method, arguments);
        }

        private Statement made(Method method, Object[] arguments) throws Throwable {
            return (Statement) StrictDriver.invoke(connection, method, arguments);
        }

        /** Nothing was refused. A pool closes the connection of a commit that fails with this state, and so rolls back. */
        private void require() throws SQLException {
            if (refusal != null) {
                throw new SQLIntegrityConstraintViolationException(refusal, "08007");
            }
        }

        /** A statement. `sql` is null if it is given when it is executed. */
        private final class Asked implements InvocationHandler {
            private final Statement statement;
            private final String sql;
            /** The longest text that each parameter was set to: of a batch, the one that does not fit. */
            private final Map<Integer, String> texts = new HashMap<>();

            Asked(Statement statement, String sql) {
                this.statement = statement;
                this.sql = sql;
            }

            @Override
            public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
                String name = method.getName();
                if (name.equals("equals")) {
                    return proxy == arguments[0];
                }
                if (name.equals("hashCode")) {
                    return System.identityHashCode(proxy);
                }
                if (name.startsWith("execute")) {
                    return execute(method, arguments);
                }
                if (name.startsWith("set") && arguments.length > 1
                        && arguments[0] instanceof Integer number && arguments[1] instanceof String text) {
                    texts.merge(number, text, (one, other) -> other.length() > one.length() ? other : one);
                }
                return StrictDriver.invoke(statement, method, arguments);
            }

            private Object execute(Method method, Object[] arguments) throws Throwable {
                String text = sql;
                if (arguments != null && arguments.length > 0 && arguments[0] instanceof String given) {
                    text = strict(given);
                    arguments[0] = text;
                }
                try {
                    return StrictDriver.invoke(statement, method, arguments);
                } catch (SQLException error) {
                    SQLException told = told(error, text, texts);
                    boolean reads = text != null && begins(text, "SELECT", "SHOW");
                    if (told != error && !reads && !connection.getAutoCommit()) {
                        refusal = told.getMessage();
                    }
                    throw told;
                }
            }
        }
    }

    @Override
    public DriverPropertyInfo[] getPropertyInfo(String url, Properties properties) throws SQLException {
        return driver.getPropertyInfo(theirs(url), properties);
    }

    @Override
    public int getMajorVersion() {
        return driver.getMajorVersion();
    }

    @Override
    public int getMinorVersion() {
        return driver.getMinorVersion();
    }

    @Override
    public boolean jdbcCompliant() {
        return driver.jdbcCompliant();
    }

    @Override
    public Logger getParentLogger() throws SQLFeatureNotSupportedException {
        return driver.getParentLogger();
    }
}
