package hopshive.login;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import javax.security.sasl.AuthenticationException;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hive.service.cli.HiveSQLException;
import org.apache.hive.service.cli.SessionHandle;
import org.apache.hive.service.cli.session.HiveSession;
import org.apache.hive.service.cli.session.HiveSessionImplwithUGI;
import org.apache.hive.service.rpc.thrift.TProtocolVersion;

/**
 * A session that acts as the project's user: `hive.session.impl.withugi.classname`.
 *
 * Hive makes the session before it knows the database, with a proxy that has the UGI of the name that was typed. Nothing runs
 * as that one: {@link #open} is the first call, and changes the UGI of both.
 */
public final class ProjectSession extends HiveSessionImplwithUGI {
    private static final String DATABASE = "use:database";
    private static final String PROXY_USER = "hive.server2.proxy.user";
    private static final Field UGI_OF_PROXY = field();

    public ProjectSession(SessionHandle handle, TProtocolVersion protocol, String name, String password, HiveConf conf, String address,
                          String delegationToken, List<String> forwarded) throws HiveSQLException {
        super(handle, protocol, name, password, conf, address, delegationToken, forwarded);
    }

    @Override
    public void open(Map<String, String> settings) throws HiveSQLException {
        String name = getUserName();
        String token = LoginAuthenticator.tokenOf(name);
        if (token == null) {
            throw refusal("This connection has no login of its own: connect again with name and password.");
        }
        if (settings != null && settings.containsKey(PROXY_USER)) {
            throw refusal(PROXY_USER + " is not allowed: a session acts as the person who logged in.");
        }
        String database = settings == null ? "" : settings.getOrDefault(DATABASE, "");
        LoginClient.Login login;
        try {
            login = LoginAuthenticator.client().login(name, token, database);
        } catch (AuthenticationException refused) {
            throw refusal(refused.getMessage());
        }
        setUserName(login.user());
        setSessionUGI(login.user());
        replaceUgiOfProxy(getSessionUgi());
        super.open(settings);
    }

    /** SQLSTATE 28000: invalid authorization specification. */
    private static HiveSQLException refusal(String sentence) {
        return new HiveSQLException(sentence, "28000");
    }

    private void replaceUgiOfProxy(UserGroupInformation ugi) throws HiveSQLException {
        HiveSession proxy = getSession();
        try {
            InvocationHandler handler = Proxy.getInvocationHandler(proxy);
            UGI_OF_PROXY.set(handler, ugi);
        } catch (IllegalAccessException | IllegalArgumentException error) {
            throw new HiveSQLException("This HiveServer2 makes sessions in a way that hopshive does not know: no session is opened.", error);
        }
    }

    private static Field field() {
        try {
            Field found = Class.forName("org.apache.hive.service.cli.session.HiveSessionProxy").getDeclaredField("ugi");
            found.setAccessible(true);
            return found;
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("This HiveServer2 makes sessions in a way that hopshive does not know.", error);
        }
    }
}
