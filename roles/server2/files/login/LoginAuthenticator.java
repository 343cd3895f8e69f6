package hopshive.login;

import javax.security.sasl.AuthenticationException;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hive.service.auth.PasswdAuthenticationProvider;
import org.apache.hive.service.cli.session.SessionManager;

/**
 * Checks names and passwords at the login service. Property: `hive.server2.custom.authentication.class`.
 *
 * HiveServer2 makes one object for each login. The object does not see the database of the session, so it cannot name the
 * project. It leaves what was typed, or a token, with its thread. The same thread opens the session, and {@link SessionUser} asks
 * for the user of the project with that.
 *
 * So a login over the binary port is checked once, when its session is opened: only then the address of the client is known, which
 * wrong passwords are counted for. A connection whose login was not checked can open sessions and nothing else.
 */
public final class LoginAuthenticator implements PasswdAuthenticationProvider {
    private static final ThreadLocal<Proof> PROOF = new ThreadLocal<>();
    private static LoginClient client;
    private static RecentLogins recent;
    private static ServiceAccount service;

    private static final Proof NONE = new Proof("", "", false);

    /**
     * The last login of a thread: `name` as the person typed it. `secret` is the token that stands for the password once the login
     * was checked, and the password before; that of the service account is empty.
     */
    record Proof(String name, String secret, boolean isChecked) {
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

    /** The last login of this thread; null unless it was that name's. It may not have been checked yet. */
    static Proof of(String name) {
        Proof proof = PROOF.get();
        return proof != null && proof.name.equals(name) ? proof : null;
    }

    /** The login of this thread was accepted: the token stands for its password from now on. */
    static void accept(String name, String token) {
        PROOF.set(new Proof(name, token, true));
    }

    /** The login of this thread was refused. */
    static void refuse() {
        PROOF.set(NONE);
    }

    /** Whether this thread has a login, and not one of that name which was accepted. */
    static boolean isOther(String name) {
        Proof proof = PROOF.get();
        return proof != null && !(proof.isChecked && proof.name.equals(name));
    }

    @Override
    public void Authenticate(String name, String password) throws AuthenticationException {
        PROOF.set(NONE);
        PROOF.set(proof(name, password));
    }

    /** A binary connection logs in once. An HTTP client sends its password with each request. */
    private static Proof proof(String name, String password) throws AuthenticationException {
        if (service.is(name)) {
            service.check(password);
            return new Proof(name, "", true);
        }
        if (PlainLogin.isChecking()) {
            return new Proof(name, password, false);
        }
        return new Proof(name, recent.token(name, password, SessionManager.getIpAddress()), true);
    }
}
