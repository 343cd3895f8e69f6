package hopshive;

import java.io.InputStream;
import java.io.Reader;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.SQLIntegrityConstraintViolationException;
import java.sql.SQLTransactionRollbackException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.logging.Logger;

/**
 * Connector/J for NDB Cluster, which has several SQL nodes, and whose engine has no savepoints (error 1178).
 *
 * <p>A connection is to the first SQL node of the URL that answers. Connector/J would continue with the next one behind
 * the same connection, and lose the session's settings, such as ANSI_QUOTES, which Hive's pools set for each new connection.
 *
 * <p>Hive's metastore sets savepoints before what it reads by SQL of its own, and goes back when that failed, to read in another
 * way; and before it commits open_txns. Here a savepoint is a mark in this process. Going back to one is nothing if only queries
 * came after it, and a rollback if only queries came before it. Else the whole transaction is rolled back and SQL state 40001 says
 * that it may be tried again. So no change is ever kept that should be rolled back. Nor is a change lost that should stay: a statement that fails in NDB ends
 * the whole transaction, and a client that continues gets no error (ER_WARN_ENGINE_TRANSACTION_ROLLBACK is a warning). Here each further statement of
 * one that has changed or locked something ends with 40001 until it is rolled back, as with PostgreSQL, which Hive knows.
 *
 * <p>Hive's metastore says that a database is not there if it could not read it, and Spark acts on that. So what only reads does not
 * notice the end of a node, as long as nothing was changed or locked in its transaction: NDB shows each query what is committed
 * by then, so a transaction that starts over reads nothing else. A data node that ends takes the transactions along that it
 * coordinates, with an error that is temporary: a query is asked again, and that the end of a transaction failed is nothing. With
 * an SQL node its connections end: another connection is opened, and gets the same settings and statements.
 *
 * <p>Its connections are those of StrictDriver, which refuse what a column cannot hold.
 *
 * <p>URLs begin with jdbc:mysql+ndb: instead of jdbc:mysql:; Hive recognizes the kind of database by the word mysql in it.
 */
public final class NdbDriver implements Driver {
    private static final String OURS = "jdbc:mysql+ndb:";
    private static final String THEIRS = StrictDriver.OURS;
    /** How long an SQL node that could not be reached is asked last, in milliseconds. */
    private static final long AVOIDED = 30_000;
    /** A temporary error of NDB's (ER_GET_TEMPORARY_ERRMSG). */
    private static final int TEMPORARY = 1297;
    /** How often a query is asked again after one, and after how many milliseconds first; each time it is twice as long. */
    private static final int AGAIN = 5;
    private static final long PAUSE = 100;
    private static final String BROKEN = "a statement of this transaction failed, and NDB rolled all of it back";
    /** When the SQL nodes that could not be reached were asked, by host:port, in milliseconds. */
    private static final Map<String, Long> UNREACHED = new ConcurrentHashMap<>();

    static {
        try {
            DriverManager.registerDriver(new NdbDriver());
        } catch (SQLException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    private final Driver driver;

    public NdbDriver() throws SQLException {
        driver = new StrictDriver();
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
        if (!acceptsURL(url)) {
            return null;
        }
        return StrictDriver.proxy(Connection.class, new Session(() -> open(url, properties)));
    }

    /** A connection of Connector/J to the first SQL node that answers. */
    private Connection open(String url, Properties properties) throws SQLException {
        String rest = url.substring(OURS.length() + 2);
        int slash = rest.contains("/") ? rest.indexOf('/') : rest.length();
        SQLException unreached = null;
        for (String node : inTurn(rest.substring(0, slash))) {
            try {
                Connection connection = driver.connect(THEIRS + "//" + node + rest.substring(slash), properties);
                UNREACHED.remove(node);
                return connection;
            } catch (SQLException error) {
                // Another one would refuse a password as well.
                if (!isLost(error)) {
                    throw error;
                }
                UNREACHED.put(node, System.currentTimeMillis());
                if (unreached != null) {
                    error.addSuppressed(unreached);
                }
                unreached = error;
            }
        }
        throw unreached;
    }

    /** The SQL nodes in the order of the URL, those behind that could not be reached just now. */
    private static List<String> inTurn(String nodes) {
        long now = System.currentTimeMillis();
        List<String> first = new ArrayList<>();
        List<String> last = new ArrayList<>();
        for (String node : nodes.split(",")) {
            (now - UNREACHED.getOrDefault(node, 0L) < AVOIDED ? last : first).add(node);
        }
        first.addAll(last);
        return first;
    }

    /** Whether the connection is gone, or could not be had. */
    private static boolean isLost(SQLException error) {
        return error.getSQLState() != null && error.getSQLState().startsWith("08");
    }

    private static boolean locks(String sql) {
        String text = sql.toUpperCase(Locale.ROOT);
        return text.contains("FOR UPDATE") || text.contains("FOR SHARE") || text.contains("IN SHARE MODE");
    }

    private interface Source {
        Connection open() throws SQLException;
    }

    private record Call(Method method, Object[] arguments) {
        void on(Object target) throws SQLException {
            try {
                StrictDriver.invoke(target, method, arguments);
            } catch (SQLException | RuntimeException | Error error) {
                throw error;
            } catch (Throwable error) {
                throw new SQLException(error);
            }
        }
    }

    /** A connection: counts what is not a query, so that a mark knows whether anything came after it. */
    private static final class Session implements InvocationHandler {
        private final Source source;
        private volatile Connection connection;
        private volatile boolean closed;
        private boolean autocommit;
        private long changes;
        /** Which transaction it is. */
        private long number;
        /** Whether the transaction has changed anything; whether it has changed or locked anything. */
        private boolean changed;
        private boolean holds;
        /** Whether it did and is gone; if a refused value is why, its sentence. */
        private boolean broken;
        private String refusal;
        /** The settings to repeat on the next connection: the last call of each method that sets something, and the SET statements. */
        private final Map<String, Call> settings = new LinkedHashMap<>();
        private final Set<String> said = new LinkedHashSet<>();

        Session(Source source) throws SQLException {
            this.source = source;
            connection = source.open();
            autocommit = connection.getAutoCommit();
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            switch (method.getName()) {
                case "setSavepoint":
                    return new Mark(arguments == null ? null : (String) arguments[0], changes, holds, number);
                case "releaseSavepoint":
                    return null;
                case "rollback":
                    if (arguments != null) {
                        goBack((Mark) arguments[0]);
                    } else {
                        rollback();
                    }
                    return null;
                case "commit":
                    commit();
                    return null;
                case "createStatement":
                    return StrictDriver.proxy(Statement.class, new Made(new Call(method, arguments), null));
                case "prepareStatement":
                    return StrictDriver.proxy(PreparedStatement.class, new Made(new Call(method, arguments), (String) arguments[0]));
                case "prepareCall":
                    // Whatever it calls may change something.
                    return StrictDriver.proxy(CallableStatement.class, new Made(new Call(method, arguments), null));
                case "close":
                case "abort":
                    closed = true;
                    break;
                case "equals":
                    return proxy == arguments[0];
                case "hashCode":
                    return System.identityHashCode(proxy);
                default:
                    if (method.getName().startsWith("set")) {
                        return set(method, arguments);
                    }
                    break;
            }
            return StrictDriver.invoke(connection, method, arguments);
        }

        private Object set(Method method, Object[] arguments) throws Throwable {
            String name = method.getName();
            boolean ends = name.equals("setAutoCommit") && autocommit != (Boolean) arguments[0];
            if (ends) {
                // To switch it on is to commit.
                refuseIfBroken();
            }
            // A pool sets a time-out before it closes what is gone: that is no reason to open another one.
            Object done = name.equals("setNetworkTimeout")
                    ? StrictDriver.invoke(connection, method, arguments)
                    : patiently(() -> StrictDriver.invoke(connection, method, arguments));
            settings.put(arguments.length > 1 && arguments[0] instanceof String ? name + arguments[0] : name, new Call(method, arguments));
            if (ends) {
                autocommit = (Boolean) arguments[0];
                ended();
            }
            return done;
        }

        /** Do it, and again after what ended the transaction or the connection if nothing is lost by that. */
        private Object patiently(Callable work) throws Throwable {
            boolean again = !holds;
            boolean lost = false;
            for (int attempt = 0; ; attempt++) {
                try {
                    return work.call();
                } catch (SQLException error) {
                    // What ends the second connection as well may be the query's doing.
                    if (!again || attempt == AGAIN || lost && isLost(error) || !begunAnew(error)) {
                        throw error;
                    }
                    lost |= isLost(error);
                    try {
                        Thread.sleep(PAUSE << attempt);
                    } catch (InterruptedException interrupted) {
                        Thread.currentThread().interrupt();
                        throw error;
                    }
                }
            }
        }

        private void refuseIfBroken() throws SQLException {
            if (broken && refusal != null) {
                throw new SQLIntegrityConstraintViolationException(refusal, "40001");
            }
            if (broken) {
                throw new SQLTransactionRollbackException(BROKEN, "40001");
            }
        }

        private void ended() {
            number++;
            changed = false;
            holds = false;
            broken = false;
            refusal = null;
        }

        private void commit() throws SQLException {
            if (broken) {
                // A pool gives up the connection of a commit that failed so; DataNucleus never gives back one that failed otherwise.
                if (refusal != null) {
                    throw new SQLIntegrityConstraintViolationException(refusal, "08007");
                }
                throw new SQLException("Nothing was committed: " + BROKEN, "08007");
            }
            try {
                connection.commit();
            } catch (SQLException error) {
                if (holds || !begunAnew(error)) {
                    throw error;
                }
            }
            ended();
        }

        /** What is gone already is rolled back. */
        private void rollback() throws SQLException {
            try {
                connection.rollback();
            } catch (SQLException error) {
                if (closed || !isLost(error) && error.getErrorCode() != TEMPORARY) {
                    throw error;
                }
            }
            ended();
        }

        private void goBack(Mark mark) throws SQLException {
            if (mark.changes == changes && !broken) {
                return;
            }
            rollback();
            if (mark.holds || mark.number != number - 1) {
                holds = true;
                broken = true;
                throw new SQLTransactionRollbackException("NDB has no savepoints: the whole transaction was rolled back", "40001");
            }
            // The transaction continues from there, with the marks that were set before.
            number--;
        }

        /** Whether there is a transaction again, on a connection, after an error that ended it. */
        private boolean begunAnew(SQLException after) {
            try {
                if (isLost(after)) {
                    return !closed && reconnect();
                }
                if (after.getErrorCode() != TEMPORARY) {
                    return false;
                }
                if (!autocommit) {
                    connection.rollback();
                }
                return true;
            } catch (SQLException error) {
                after.addSuppressed(error);
                return false;
            }
        }

        /** Whether it was not closed meanwhile, as another thread may do. */
        private boolean reconnect() throws SQLException {
            Connection next = source.open();
            try (Statement statement = next.createStatement()) {
                for (String text : said) {
                    statement.execute(text);
                }
                for (Call call : settings.values()) {
                    call.on(next);
                }
            } catch (SQLException | RuntimeException error) {
                next.close();
                throw error;
            }
            Connection last = connection;
            connection = next;
            try {
                last.close();
            } catch (SQLException error) {
                // It is gone.
            }
            if (closed) {
                next.close();
            }
            return !closed;
        }

        /** A statement, which is made again on the next connection. `sql` is null if the caller gives it with the execution. */
        private final class Made implements InvocationHandler {
            private final Call making;
            private final String sql;
            private Connection on;
            private Statement statement;
            private boolean ended;
            /** Whether it has input that cannot be repeated: a batch, of which nothing may be left out, or a stream. */
            private boolean unique;
            /** The last call of each method that sets something, and for each parameter. */
            private final Map<Object, Call> settings = new LinkedHashMap<>();

            Made(Call making, String sql) throws Throwable {
                this.making = making;
                this.sql = sql;
                patiently(this::make);
            }

            private Object make() throws Throwable {
                Statement made = (Statement) StrictDriver.invoke(connection, making.method(), making.arguments());
                for (Call call : settings.values()) {
                    call.on(made);
                }
                on = connection;
                statement = made;
                return made;
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
                boolean sets = name.startsWith("set");
                if (sets || name.equals("addBatch")) {
                    renew();
                    unique |= !sets || Arrays.stream(arguments).anyMatch(one -> one instanceof InputStream || one instanceof Reader);
                }
                Object done = StrictDriver.invoke(statement, method, arguments);
                if (sets) {
                    boolean parameter = arguments.length > 1 && arguments[0] instanceof Integer;
                    settings.put(parameter ? arguments[0] : name, new Call(method, arguments));
                } else if (name.equals("clearParameters")) {
                    settings.keySet().removeIf(Integer.class::isInstance);
                } else if (name.equals("close")) {
                    ended = true;
                }
                return done;
            }

            /** Make it again if the connection is another one. */
            private void renew() throws Throwable {
                if (on == connection || ended) {
                    return;
                }
                if (unique) {
                    throw new SQLException("What this statement was told is gone with its connection", "40001");
                }
                make();
            }

            private Object execute(Method method, Object[] arguments) throws Throwable {
                boolean told = arguments != null && arguments.length > 0 && arguments[0] instanceof String;
                // A batch of a plain statement has no text here.
                String text = told ? (String) arguments[0] : sql == null ? "" : sql;
                Callable work = () -> {
                    renew();
                    return StrictDriver.invoke(statement, method, arguments);
                };
                refuseIfBroken();
                // Of a batch some may have been done.
                boolean held = holds || !autocommit && method.getName().endsWith("Batch");
                boolean lost = changed || held && !holds;
                try {
                    if (told && StrictDriver.begins(text, "SET ")) {
                        Object done = patiently(work);
                        said.remove(text);
                        said.add(text);
                        return done;
                    }
                    if (StrictDriver.begins(text, "SELECT", "SHOW")) {
                        Object found = unique ? work.call() : patiently(work);
                        holds |= !autocommit && locks(text);
                        return found;
                    }
                    changes++;
                    holds |= !autocommit;
                    Object done = work.call();
                    changed |= !autocommit;
                    return done;
                } catch (SQLException error) {
                    // A name that is not there, or a wrong word: NDB was not asked. Where only locks are lost, Hive's mutex continues with
                    // its next SELECT ... FOR UPDATE, and never rolls back.
                    boolean ended = error.getErrorCode() == TEMPORARY ? lost : held;
                    broken |= ended && (error.getSQLState() == null || !error.getSQLState().startsWith("42"));
                    refusal = broken && StrictDriver.isRefusal(error) ? error.getMessage() : refusal;
                    throw error;
                }
            }
        }
    }

    private interface Callable {
        Object call() throws Throwable;
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

    private static final class Mark implements Savepoint {
        private final String name;
        private final long changes;
        private final boolean holds;
        private final long number;

        Mark(String name, long changes, boolean holds, long number) {
            this.name = name;
            this.changes = changes;
            this.holds = holds;
            this.number = number;
        }

        @Override
        public int getSavepointId() throws SQLException {
            if (name != null) {
                throw new SQLException("The savepoint has a name: " + name);
            }
            return System.identityHashCode(this);
        }

        @Override
        public String getSavepointName() throws SQLException {
            if (name == null) {
                throw new SQLException("The savepoint has no name");
            }
            return name;
        }
    }
}
