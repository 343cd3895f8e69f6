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
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.logging.Logger;

/**
 * Connector/J for NDB Cluster, which has several SQL nodes, and whose engine has no savepoints (error 1178).
 *
 * <p>A connection is to the first SQL node of the URL that answers, and stays there. Connector/J would go on with the next one behind
 * the same connection, and what was set for its session, as Hive's pools set ANSI_QUOTES for each new one, would be gone.
 *
 * <p>Hive's metastore sets savepoints before what it reads by SQL of its own, and goes back when that failed, to read in another
 * way; and before it commits open_txns. Here a savepoint is a mark in this process. Going back to one is nothing if only queries
 * came after it. Else the whole transaction is rolled back and SQL state 40001 says that it may be tried again. So nothing is
 * ever kept that should have gone.
 *
 * <p>A data node that ends takes the transactions along that it coordinates, also of those who only read, with an error that is
 * temporary. Hive does not try all of them again: its metastore says that a database is not there if it could not read it. So a
 * query is asked again here, and that the end of a transaction failed is nothing, as long as nothing was changed or locked in it:
 * NDB shows each query what is committed by then, so a transaction that was begun anew reads nothing else. URLs begin with jdbc:mysql+ndb: instead of jdbc:mysql:; Hive tells the kind of database by the
 * word mysql in it.
 */
public final class NdbDriver implements Driver {
    private static final String OURS = "jdbc:mysql+ndb:";
    private static final String THEIRS = "jdbc:mysql:";
    /** How long an SQL node that could not be reached is asked last, in milliseconds. */
    private static final long AVOIDED = 30_000;
    /** A temporary error of NDB's (ER_GET_TEMPORARY_ERRMSG). */
    private static final int TEMPORARY = 1297;
    /** How often a query is asked again after one, and after how many milliseconds first; each time it is twice as long. */
    private static final int AGAIN = 5;
    private static final long PAUSE = 100;
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
        if (!acceptsURL(url)) {
            return null;
        }
        String rest = url.substring(OURS.length() + 2);
        int slash = rest.contains("/") ? rest.indexOf('/') : rest.length();
        SQLException unreached = null;
        for (String node : inTurn(rest.substring(0, slash))) {
            try {
                Connection connection = driver.connect(THEIRS + "//" + node + rest.substring(slash), properties);
                UNREACHED.remove(node);
                return proxy(Connection.class, new Session(connection));
            } catch (SQLException error) {
                // Another one would refuse a password as well.
                if (error.getSQLState() == null || !error.getSQLState().startsWith("08")) {
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

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(NdbDriver.class.getClassLoader(), new Class<?>[] {type}, handler));
    }

    private static Object invoke(Object target, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException error) {
            throw error.getCause();
        }
    }

    private static boolean isQuery(String sql) {
        String text = sql.stripLeading();
        return text.regionMatches(true, 0, "SELECT", 0, 6) || text.regionMatches(true, 0, "SHOW", 0, 4);
    }

    private static boolean locks(String sql) {
        String text = sql.toUpperCase(Locale.ROOT);
        return text.contains("FOR UPDATE") || text.contains("FOR SHARE") || text.contains("IN SHARE MODE");
    }

    /** A connection: counts what is not a query, so that a mark knows whether anything came after it. */
    private static final class Session implements InvocationHandler {
        private final Connection connection;
        private long changes;
        /** Whether the transaction has changed or locked anything. */
        private boolean holds;

        Session(Connection connection) {
            this.connection = connection;
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            switch (method.getName()) {
                case "setSavepoint":
                    return new Mark(arguments == null ? null : (String) arguments[0], changes);
                case "releaseSavepoint":
                    return null;
                case "rollback":
                    if (arguments != null) {
                        goBack((Mark) arguments[0]);
                        return null;
                    }
                    holds = false;
                    break;
                case "commit":
                    commit();
                    return null;
                case "setAutoCommit":
                    // What is so already ends no transaction.
                    holds &= connection.getAutoCommit() == (Boolean) arguments[0];
                    break;
                case "createStatement":
                    return proxy(Statement.class, statement(connection, method, arguments, null));
                case "prepareStatement":
                    return proxy(PreparedStatement.class, statement(connection, method, arguments, (String) arguments[0]));
                case "prepareCall":
                    // Whatever it calls may change something.
                    return proxy(CallableStatement.class, statement(connection, method, arguments, null));
                case "equals":
                    return proxy == arguments[0];
                default:
                    break;
            }
            return NdbDriver.invoke(connection, method, arguments);
        }

        private static <T> T proxy(Class<T> type, InvocationHandler handler) {
            return NdbDriver.proxy(type, handler);
        }

        private InvocationHandler statement(Connection of, Method method, Object[] arguments, String prepared)
                throws Throwable {
            Object statement = NdbDriver.invoke(of, method, arguments);
            return (proxy, called, given) -> {
                if (called.getName().equals("equals")) {
                    return proxy == given[0];
                }
                if (called.getName().startsWith("execute")) {
                    String sql = given != null && given.length > 0 && given[0] instanceof String ? (String) given[0] : prepared;
                    // A batch of a plain statement has no text here.
                    if (sql != null && isQuery(sql)) {
                        return query(statement, called, given, sql);
                    }
                    changes++;
                    holds = true;
                }
                return NdbDriver.invoke(statement, called, given);
            };
        }

        private Object query(Object statement, Method called, Object[] given, String sql) throws Throwable {
            boolean again = !holds || connection.getAutoCommit();
            holds |= locks(sql);
            for (int attempt = 0; ; attempt++) {
                try {
                    return NdbDriver.invoke(statement, called, given);
                } catch (SQLException error) {
                    if (!again || attempt == AGAIN || error.getErrorCode() != TEMPORARY || !begunAnew(error)) {
                        throw error;
                    }
                    try {
                        Thread.sleep(PAUSE << attempt);
                    } catch (InterruptedException interrupted) {
                        Thread.currentThread().interrupt();
                        throw error;
                    }
                }
            }
        }

        private void commit() throws SQLException {
            try {
                connection.commit();
            } catch (SQLException error) {
                if (holds || error.getErrorCode() != TEMPORARY || !begunAnew(error)) {
                    throw error;
                }
            }
            holds = false;
        }

        private boolean begunAnew(SQLException after) {
            try {
                if (!connection.getAutoCommit()) {
                    connection.rollback();
                }
                return true;
            } catch (SQLException error) {
                after.addSuppressed(error);
                return false;
            }
        }

        private void goBack(Mark mark) throws SQLException {
            if (mark.changes != changes) {
                connection.rollback();
                holds = false;
                throw new SQLException("NDB has no savepoints: the whole transaction was rolled back", "40001");
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

    private static final class Mark implements Savepoint {
        private final String name;
        private final long changes;

        Mark(String name, long changes) {
            this.name = name;
            this.changes = changes;
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
