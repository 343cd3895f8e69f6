package hopshive.login;

import javax.security.sasl.AuthenticationException;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hive.service.auth.PasswdAuthenticationProvider;
import org.apache.hive.service.cli.session.SessionManager;

/**
 * Checks names and passwords at the login service. Property: `hive.server2.custom.authentication.class`.
 *
 * HiveServer2 makes one object for each login. The object does not see the database of the session, so it cannot name the
 * project. It leaves the token with its thread. The same thread opens the session, and {@link ProjectSession} asks for the
 * project with the token.
 */
public final class LoginAuthenticator implements PasswdAuthenticationProvider {
    private static final ThreadLocal<Proof> PROOF = new ThreadLocal<>();
    private static LoginClient client;
    private static RecentLogins recent;
    private static ServiceAccount service;

    /**
     * What the last login of a thread has proven: `name` as the person typed it, and the token that stands for its password.
     * The token of the service account is empty.
     */
    private record Proof(String name, String token) {
    }

    /** Throws IllegalArgumentException for a configuration that names no login service. */
    public LoginAuthenticator(HiveConf conf) {
        start(conf);
    }

    private static synchronized void start(HiveConf conf) {
        if (client == null) {
            service = new ServiceAccount(conf);
            recent = new RecentLogins(new LoginClient(conf), conf);
            client = recent.client();
        }
    }

    static synchronized LoginClient client() {
        return client;
    }

    /** The token of a name; null unless the last login of this thread was that name's, and was accepted. */
    static String tokenOf(String name) {
        Proof proof = PROOF.get();
        return proof != null && proof.name.equals(name) ? proof.token : null;
    }

    /** Whether the last login of this thread was that of another name. */
    static boolean isOther(String name) {
        Proof proof = PROOF.get();
        return proof != null && !proof.name.equals(name);
    }

    @Override
    public void Authenticate(String name, String password) throws AuthenticationException {
        PROOF.remove();
        PROOF.set(new Proof(name, token(name, password)));
    }

    /** A binary connection logs in once. An HTTP client sends its password with each request. */
    private static String token(String name, String password) throws AuthenticationException {
        if (service.is(name)) {
            service.check(password);
            return "";
        }
        if (PlainLogin.isChecking()) {
            return client().login(name, password, "", "").token();
        }
        return recent.token(name, password, SessionManager.getIpAddress());
    }
}
