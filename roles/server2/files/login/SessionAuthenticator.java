package hopshive.login;

import org.apache.hadoop.hive.ql.security.SessionStateUserAuthenticator;

/**
 * The authenticator of sessions; it names the session's user, as Hive's own does. Property: `hive.security.authenticator.manager`.
 *
 * HiveServer2 loads this class when it starts, before it accepts connections. So {@link PlainLogin} serves the first login too.
 */
public final class SessionAuthenticator extends SessionStateUserAuthenticator {
    static {
        PlainLogin.register();
    }
}
