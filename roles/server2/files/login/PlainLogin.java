package hopshive.login;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.Provider;
import java.security.Security;
import java.util.Map;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.CallbackHandler;
import javax.security.auth.callback.NameCallback;
import javax.security.auth.callback.PasswordCallback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.sasl.AuthorizeCallback;
import javax.security.sasl.SaslException;
import javax.security.sasl.SaslServer;
import javax.security.sasl.SaslServerFactory;

/**
 * SASL's mechanism PLAIN (RFC 4616), in place of Hive's own. Hive's mechanism answers each refusal with "Error validating the
 * login", and reads each byte as a letter, so that it refuses passwords with letters beyond ASCII.
 */
public final class PlainLogin implements SaslServer {
    private static final String MECHANISM = "PLAIN";

    private static final ThreadLocal<Boolean> CHECKING = ThreadLocal.withInitial(() -> false);

    private final CallbackHandler handler;
    private String user;

    private PlainLogin(CallbackHandler handler) {
        this.handler = handler;
    }

    /** Puts this mechanism before Hive's, for the whole JVM. A second call does nothing. */
    static void register() {
        Security.insertProviderAt(new Plain(), 1);
    }

    /** Whether this thread checks the login of a binary connection now. */
    static boolean isChecking() {
        return CHECKING.get();
    }

    /** Tells Java's SASL about the mechanism. */
    public static final class Plain extends Provider {
        private static final long serialVersionUID = 1;

        public Plain() {
            super("HopshivePlain", "1", "SASL PLAIN with the sentences of the login service");
            put("SaslServerFactory." + MECHANISM, Factory.class.getName());
        }
    }

    /** Makes a mechanism for each connection. */
    public static final class Factory implements SaslServerFactory {
        @Override
        public SaslServer createSaslServer(String mechanism, String protocol, String server, Map<String, ?> properties,
                                           CallbackHandler handler) {
            return MECHANISM.equals(mechanism) ? new PlainLogin(handler) : null;
        }

        @Override
        public String[] getMechanismNames(Map<String, ?> properties) {
            return new String[] {MECHANISM};
        }
    }

    @Override
    public byte[] evaluateResponse(byte[] response) throws SaslException {
        String[] parts = decode(response).split("\0", -1);
        if (parts.length != 3) {
            throw new SaslException("The login is malformed: a name and a password cannot contain NUL.");
        }
        String name = parts[1];
        String password = parts[2];
        if (name.isEmpty() || password.isEmpty()) {
            throw new SaslException("A login needs a name and a password.");
        }
        if (!parts[0].isEmpty() && !parts[0].equals(name)) {
            throw new SaslException("A session acts as the person who logs in, not as another one.");
        }
        NameCallback named = new NameCallback("User");
        named.setName(name);
        PasswordCallback proof = new PasswordCallback("Password", false);
        proof.setPassword(password.toCharArray());
        AuthorizeCallback authorize = new AuthorizeCallback(name, name);
        CHECKING.set(true);
        try {
            handler.handle(new Callback[] {named, proof, authorize});
        } catch (SaslException refused) {
            throw refused;
        } catch (java.io.IOException | UnsupportedCallbackException error) {
            throw new SaslException("HiveServer2 could not check the login. Its log says why.", error);
        } finally {
            CHECKING.remove();
        }
        if (!authorize.isAuthorized()) {
            throw new SaslException("The login was refused.");
        }
        user = authorize.getAuthorizedID();
        return null;
    }

    private static String decode(byte[] response) throws SaslException {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(response)).toString();
        } catch (CharacterCodingException error) {
            throw new SaslException("The login is malformed: it is not UTF-8.");
        }
    }

    @Override
    public String getMechanismName() {
        return MECHANISM;
    }

    @Override
    public boolean isComplete() {
        return user != null;
    }

    @Override
    public String getAuthorizationID() {
        return user;
    }

    @Override
    public byte[] unwrap(byte[] incoming, int offset, int length) {
        throw new UnsupportedOperationException();
    }

    @Override
    public byte[] wrap(byte[] outgoing, int offset, int length) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Object getNegotiatedProperty(String name) {
        return null;
    }

    @Override
    public void dispose() {
        user = null;
    }
}
