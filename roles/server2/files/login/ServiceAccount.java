package hopshive.login;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import javax.security.sasl.AuthenticationException;
import org.apache.hadoop.conf.Configuration;

/**
 * The account of the warehouse's own health checks. HiveServer2 checks its password without the login service, so a check tells
 * whether HiveServer2 works when the login service does not.
 */
final class ServiceAccount {
    /** Name of the account; without it there is none. */
    static final String USER = "hopshive.login.service.user";
    /** Password of the account, in the credential store of the configuration. */
    static final String PASSWORD = "hopshive.login.service.password";

    private static final int SHORTEST_PASSWORD = 32;

    private final String user;
    private final byte[] password;

    /** Throws IllegalArgumentException for an account without a password, or with a short one. */
    ServiceAccount(Configuration conf) {
        user = conf.getTrimmed(USER, "");
        password = user.isEmpty() ? new byte[0] : read(conf);
    }

    boolean is(String name) {
        return !user.isEmpty() && user.equals(name);
    }

    /** Throws AuthenticationException unless the password is right. */
    void check(String typed) throws AuthenticationException {
        // isEqual takes the same time wherever the two differ.
        if (!MessageDigest.isEqual(password, typed.getBytes(StandardCharsets.UTF_8))) {
            throw new AuthenticationException("The name, the password or the one-time code is wrong.");
        }
    }

    private static byte[] read(Configuration conf) {
        char[] found;
        try {
            found = conf.getPassword(PASSWORD);
        } catch (IOException error) {
            throw new IllegalArgumentException(PASSWORD + " cannot be read from the credential store: " + error.getMessage(), error);
        }
        if (found == null || found.length < SHORTEST_PASSWORD) {
            throw new IllegalArgumentException(PASSWORD + " must have " + SHORTEST_PASSWORD + " characters or more, as " + USER
                + " is set");
        }
        return new String(found).getBytes(StandardCharsets.UTF_8);
    }
}
