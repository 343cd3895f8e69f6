package hopshive.login;

import javax.security.sasl.AuthenticationException;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hive.service.auth.PasswdAuthenticationProvider;

/**
 * Lets HiveServer2 ask the login service: `hive.server2.custom.authentication.class`. HiveServer2 makes one for each login.
 *
 * The database is not known here. So the token is kept with the thread, which opens the session too: {@link ProjectSession}
 * asks for the project with it.
 */
public final class LoginAuthenticator implements PasswdAuthenticationProvider {
    private static volatile LoginClient client;
    private static final ThreadLocal<Known> CURRENT = new ThreadLocal<>();

    /** What a thread has proven last: `name` as it was typed. */
    record Known(String name, String token) {
    }

    public LoginAuthenticator(HiveConf conf) {
        if (client == null) {
            synchronized (LoginAuthenticator.class) {
                if (client == null) {
                    client = new LoginClient(conf);
                }
            }
        }
    }

    static LoginClient client() {
        return client;
    }

    /** The token of a name that has logged in on this thread; null if the thread's last login was another's, or refused. */
    static String tokenOf(String name) {
        Known known = CURRENT.get();
        return known != null && known.name.equals(name) ? known.token : null;
    }

    @Override
    public void Authenticate(String name, String password) throws AuthenticationException {
        CURRENT.remove();
        LoginClient.Login login = client.login(name, password, "");
        CURRENT.set(new Known(name, login.token()));
    }
}
