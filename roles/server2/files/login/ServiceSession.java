package hopshive.login;

import java.util.List;
import java.util.Map;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hive.service.cli.HiveSQLException;
import org.apache.hive.service.cli.OperationHandle;
import org.apache.hive.service.cli.SessionHandle;
import org.apache.hive.service.cli.session.HiveSessionImpl;
import org.apache.hive.service.rpc.thrift.TProtocolVersion;

/**
 * A session of the project's user that reads and writes as HiveServer2's own user. Property: `hive.session.impl.classname`.
 *
 * Only Hive's authorization keeps projects apart then: the user of the session counts in GRANT and in policies.
 */
public final class ServiceSession extends HiveSessionImpl {
    /** The name of the person who logged in, as typed. */
    private final String person;

    public ServiceSession(SessionHandle handle, TProtocolVersion protocol, String name, String password, HiveConf conf, String address,
                          List<String> forwarded) {
        super(handle, protocol, name, password, conf, address, forwarded);
        person = name;
    }

    @Override
    public void open(Map<String, String> settings) throws HiveSQLException {
        SessionRules.requireOwnSettings(settings);
        setUserName(SessionUser.of(getUserName(), settings, getIpAddress()));
        super.open(settings);
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
}
