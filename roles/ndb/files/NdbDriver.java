package hopshive;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.Savepoint;
import java.util.Properties;
import java.util.logging.Logger;

/**
 * Connector/J for NDB Cluster, whose engine has no savepoints (error 1178).
 *
 * <p>Hive's metastore sets one before each commit of open_txns, and goes back to it only if that took too long. Here a savepoint
 * is a mark in this process; going back to one rolls back the whole transaction and fails with SQL state 40001, the state of
 * what may be tried again. So nothing is ever kept that should have gone. URLs begin with jdbc:mysql+ndb: instead
 * of jdbc:mysql:; Hive tells the kind of database by the word mysql in it.
 */
public final class NdbDriver implements Driver {
    private static final String OURS = "jdbc:mysql+ndb:";
    private static final String THEIRS = "jdbc:mysql:";

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
        Connection connection = driver.connect(theirs(url), properties);
        return (Connection)
                Proxy.newProxyInstance(
                        NdbDriver.class.getClassLoader(),
                        new Class<?>[] {Connection.class},
                        (proxy, method, arguments) -> {
                            switch (method.getName()) {
                                case "setSavepoint":
                                    return new Mark(arguments == null ? null : (String) arguments[0]);
                                case "releaseSavepoint":
                                    return null;
                                case "rollback":
                                    if (arguments != null) {
                                        connection.rollback();
                                        throw new SQLException(
                                                "NDB has no savepoints: the whole transaction was rolled back", "40001");
                                    }
                                    break;
                                case "equals":
                                    return proxy == arguments[0];
                                default:
                                    break;
                            }
                            try {
                                return method.invoke(connection, arguments);
                            } catch (InvocationTargetException error) {
                                throw error.getCause();
                            }
                        });
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

        Mark(String name) {
            this.name = name;
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
