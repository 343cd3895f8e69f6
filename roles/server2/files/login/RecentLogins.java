package hopshive.login;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.security.sasl.AuthenticationException;
import org.apache.hadoop.conf.Configuration;

/**
 * Logins over HTTP that were accepted. An HTTP client sends its password with each request; asking the login service each time
 * would take a password check for each page of a result, and a one-time code would be refused from the second request on.
 *
 * A login is known by name, password and client address. Its token is checked again once {@link #RECHECK} has passed, so a
 * revocation counts from then on. A token that the service refuses has its password checked again.
 */
final class RecentLogins {
    /** How long an accepted login needs no check, in milliseconds; with 0 each request is checked. */
    static final String RECHECK = "hopshive.login.recheck.ms";

    private static final int MOST = 10_000;

    private final LoginClient client;
    private final long recheckNanos;
    private final SecretKeySpec secret;
    private final Map<String, Entry> entries = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Entry> eldest) {
            return size() > MOST;
        }
    };

    /** A token and when the service accepted it last (System.nanoTime). */
    private record Entry(String token, long checked) {
    }

    RecentLogins(LoginClient client, Configuration conf) {
        this.client = client;
        recheckNanos = TimeUnit.MILLISECONDS.toNanos(conf.getLong(RECHECK, 30_000));
        byte[] bytes = new byte[32];
        new SecureRandom().nextBytes(bytes);
        secret = new SecretKeySpec(bytes, "HmacSHA256");
    }

    LoginClient client() {
        return client;
    }

    /** The token of a login. Throws AuthenticationException if the service refuses the login or does not answer. */
    String token(String name, String password, String address) throws AuthenticationException {
        String from = address == null ? "" : address;
        String key = key(name, password, from);
        Entry entry = get(key);
        if (entry != null && System.nanoTime() - entry.checked < recheckNanos) {
            return entry.token;
        }
        if (entry != null) {
            try {
                return remember(key, client.login(name, entry.token, "", from).token());
            } catch (LoginClient.Refusal refused) {
                forget(key);
            }
        }
        return remember(key, client.login(name, password, "", from).token());
    }

    private synchronized Entry get(String key) {
        return entries.get(key);
    }

    private synchronized String remember(String key, String token) {
        entries.put(key, new Entry(token, System.nanoTime()));
        return token;
    }

    private synchronized void forget(String key) {
        entries.remove(key);
    }

    /** Passwords are kept as keyed hashes only. The key lives as long as the process. */
    private String key(String... parts) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(secret);
            for (String part : parts) {
                byte[] bytes = part.getBytes(StandardCharsets.UTF_8);
                mac.update((bytes.length + ":").getBytes(StandardCharsets.UTF_8));
                mac.update(bytes);
            }
            return new String(mac.doFinal(), StandardCharsets.ISO_8859_1);
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException("This JVM has no HmacSHA256.", error);
        }
    }
}
