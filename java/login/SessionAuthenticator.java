package hopshive.login;

import org.apache.hadoop.hive.ql.security.SessionStateUserAuthenticator;

/**
 * Hive's authenticator of sessions: `hive.security.authenticator.manager`. HiveServer2 loads it when it starts, before it takes
 * connections, so that the first login already has {@link PlainLogin}.
 */
public final class SessionAuthenticator extends SessionStateUserAuthenticator {
    static {
        PlainLogin.register();
    }
}
