package hopshive.login;

import java.util.List;
import java.util.Map;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hive.service.cli.HiveSQLException;
import org.apache.hive.service.cli.SessionHandle;
import org.apache.hive.service.cli.session.HiveSessionImpl;
import org.apache.hive.service.rpc.thrift.TProtocolVersion;

/**
 * A session of the project's user that reads and writes as HiveServer2's own user. Property: `hive.session.impl.classname`.
 *
 * Only Hive's authorization keeps projects apart then: the user of the session counts in GRANT and in policies.
 */
public final class ServiceSession extends HiveSessionImpl {
    public ServiceSession(SessionHandle handle, TProtocolVersion protocol, String name, String password, HiveConf conf, String address,
                          List<String> forwarded) {
        super(handle, protocol, name, password, conf, address, forwarded);
    }

    @Override
    public void open(Map<String, String> settings) throws HiveSQLException {
        setUserName(SessionUser.of(getUserName(), settings, getIpAddress()));
        super.open(settings);
    }
}
