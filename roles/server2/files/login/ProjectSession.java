package hopshive.login;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.lang.reflect.UndeclaredThrowableException;
import java.security.PrivilegedExceptionAction;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hive.service.cli.HiveSQLException;
import org.apache.hive.service.cli.OperationHandle;
import org.apache.hive.service.cli.SessionHandle;
import org.apache.hive.service.cli.session.HiveSessionImplwithUGI;
import org.apache.hive.service.rpc.thrift.TProtocolVersion;

/**
 * A session that reads and writes as the project's user. Property: `hive.session.impl.withugi.classname`.
 *
 * Hive makes the session, and a proxy for it, with the UGI of the name that the person typed. No statement runs with that UGI:
 * {@link #open} is the first call, it learns the database, and it replaces the UGI of the session and of the proxy.
 */
public final class ProjectSession extends HiveSessionImplwithUGI {
    private static final String UNKNOWN_HIVE =
        "This version of HiveServer2 opens sessions in another way than hopshive expects. It can open no session as a project's user.";
    private static final Field UGI_OF_PROXY = ugiOfProxy();

    /** The name of the person who logged in, as typed. */
    private final String person;

    public ProjectSession(SessionHandle handle, TProtocolVersion protocol, String name, String password, HiveConf conf, String address,
                          String delegationToken, List<String> forwarded) throws HiveSQLException {
        super(handle, protocol, name, password, conf, address, delegationToken, forwarded);
        person = name;
    }

    @Override
    public void open(Map<String, String> settings) throws HiveSQLException {
        SessionRules.requireOwnSettings(settings);
        String user = SessionUser.of(getUserName(), settings, getIpAddress());
        setUserName(user);
        setSessionUGI(user);
        try {
            UGI_OF_PROXY.set(Proxy.getInvocationHandler(getSession()), getSessionUgi());
        } catch (IllegalAccessException | IllegalArgumentException error) {
            throw new HiveSQLException(UNKNOWN_HIVE, error);
        }
        openAs(getSessionUgi(), settings);
    }

    /** The caller is still in a doAs of the name that the person typed: its client of the metastore would say that name. */
    private void openAs(UserGroupInformation user, Map<String, String> settings) throws HiveSQLException {
        try {
            user.doAs((PrivilegedExceptionAction<Void>) () -> {
                super.open(settings);
                return null;
            });
        } catch (UndeclaredThrowableException thrown) {
            if (thrown.getCause() instanceof HiveSQLException refused) {
                throw refused;
            }
            throw thrown;
        } catch (IOException error) {
            throw new HiveSQLException(error);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new HiveSQLException(interrupted);
        }
    }

    @Override
    public OperationHandle executeStatement(String statement, Map<String, String> settings) throws HiveSQLException {
        SessionRules.requireOwnSetting(statement);
        return super.executeStatement(statement, settings);
    }

    @Override
    public OperationHandle executeStatement(String statement, Map<String, String> settings, long timeout) throws HiveSQLException {
        SessionRules.requireOwnSetting(statement);
        return super.executeStatement(statement, settings, timeout);
    }

    @Override
    public OperationHandle executeStatementAsync(String statement, Map<String, String> settings) throws HiveSQLException {
        SessionRules.requireOwnSetting(statement);
        return super.executeStatementAsync(statement, settings);
    }

    @Override
    public OperationHandle executeStatementAsync(String statement, Map<String, String> settings, long timeout) throws HiveSQLException {
        SessionRules.requireOwnSetting(statement);
        return super.executeStatementAsync(statement, settings, timeout);
    }

    /** Each call of a client begins so. */
    @Override
    protected void acquire(boolean isAccess, boolean isOperation) {
        SessionRules.requirePerson(person);
        super.acquire(isAccess, isOperation);
    }

    @Override
    public void close() throws HiveSQLException {
        // Hive would release in `close` what was not acquired.
        SessionRules.requirePerson(person);
        super.close();
    }

    private static Field ugiOfProxy() {
        try {
            Field found = Class.forName("org.apache.hive.service.cli.session.HiveSessionProxy").getDeclaredField("ugi");
            if (found.getType() != UserGroupInformation.class) {
                throw new IllegalStateException(UNKNOWN_HIVE);
            }
            found.setAccessible(true);
            return found;
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(UNKNOWN_HIVE, error);
        }
    }
}
