package hopshive.login;

import java.util.Map;
import javax.security.sasl.AuthenticationException;
import org.apache.hive.service.cli.HiveSQLException;

/** Asks the login service which user a session acts as. */
final class SessionUser {
    private static final String DATABASE = "use:database";
    private static final String PROXY_USER = "hive.server2.proxy.user";
    /** SQLSTATE: invalid authorization specification. */
    private static final String REFUSED = "28000";

    private SessionUser() {
    }

    /**
     * The user of a session that the thread's person opens: the project's user if the database or the name has a project. The
     * service account stays itself.
     * `settings` are those of the client, null if it sent none.
     *
     * Throws HiveSQLException, with SQLSTATE 28000, if the person has not logged in, or may not act in the project.
     */
    static String of(String name, Map<String, String> settings, String address) throws HiveSQLException {
        LoginAuthenticator.Proof proof = LoginAuthenticator.of(name);
        if (proof == null) {
            throw refusal("This connection has no login of " + name + ". Connect again with name and password.");
        }
        Map<String, String> known = settings == null ? Map.of() : settings;
        if (known.containsKey(PROXY_USER)) {
            throw refusal(PROXY_USER + " is not allowed. A session acts as the person who logged in.");
        }
        if (proof.secret().isEmpty()) {
            return name;
        }
        try {
            String from = address == null ? "" : address;
            LoginClient.Login login = LoginAuthenticator.client().login(name, proof.secret(), known.getOrDefault(DATABASE, ""), from);
            LoginAuthenticator.accept(name, login.token());
            return login.user();
        } catch (AuthenticationException refused) {
            // Sessions that the connection has stay its own.
            if (!proof.isChecked()) {
                LoginAuthenticator.refuse();
            }
            throw refusal(refused.getMessage());
        }
    }

    private static HiveSQLException refusal(String sentence) {
        return new HiveSQLException(sentence, REFUSED);
    }
}
