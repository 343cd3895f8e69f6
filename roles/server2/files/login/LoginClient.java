package hopshive.login;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Redirect;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import javax.security.sasl.AuthenticationException;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Client of the login service. The client asks the replicas in turn, first the one that answered last, until one answers or the
 * time is up. The message of each exception is a sentence for the person who logs in; it contains no secret.
 */
final class LoginClient {
    /** URLs of the replicas, separated by commas. */
    static final String URLS = "hopshive.login.urls";
    /** File with the certificates, in PEM, that sign those of the replicas; the JVM's own if the property is missing. */
    static final String AUTHORITY = "hopshive.login.authority.file";
    /** Milliseconds that one replica has to answer. */
    static final String TIMEOUT = "hopshive.login.timeout.ms";
    /** Milliseconds that all replicas together have to answer. */
    static final String DEADLINE = "hopshive.login.deadline.ms";

    private static final Logger LOG = LoggerFactory.getLogger(LoginClient.class);
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int LARGEST_ANSWER_BYTES = 64 * 1024;
    private static final int BAD_REQUEST = 400;
    private static final int SERVER_ERROR = 500;
    private static final int UNAVAILABLE = 503;

    private final List<URI> urls = new ArrayList<>();
    private final long timeoutMillis;
    private final long deadlineMillis;
    private final HttpClient http;
    /** Index of the replica that answered last. */
    private volatile int first;

    /** Throws IllegalArgumentException, with the name of the property, for a configuration that cannot be used. */
    LoginClient(Configuration conf) {
        for (String url : conf.getTrimmedStrings(URLS)) {
            urls.add(URI.create(url.endsWith("/") ? url : url + "/").resolve("v1/login"));
        }
        if (urls.isEmpty()) {
            throw new IllegalArgumentException(URLS + " names no login service");
        }
        timeoutMillis = conf.getLong(TIMEOUT, 5_000);
        deadlineMillis = conf.getLong(DEADLINE, 15_000);
        HttpClient.Builder builder = HttpClient.newBuilder()
            .version(Version.HTTP_1_1)
            .followRedirects(Redirect.NEVER)
            .connectTimeout(Duration.ofMillis(timeoutMillis));
        String authority = conf.getTrimmed(AUTHORITY, "");
        if (!authority.isEmpty()) {
            builder.sslContext(trust(Path.of(authority)));
        }
        http = builder.build();
    }

    /** `user` is the project's user, or the person's own name outside projects. `token` stands for the password from now on. */
    record Login(String user, String token) {
    }

    /** The service refused the login. The message is the service's own. */
    static final class Refusal extends AuthenticationException {
        private static final long serialVersionUID = 1;

        Refusal(String sentence) {
            super(sentence);
        }
    }

    /** A replica works, but cannot check logins now, as without its platform. The message is the service's own. */
    private static final class Unavailable extends IOException {
        private static final long serialVersionUID = 1;

        Unavailable(String sentence) {
            super(sentence);
        }
    }

    /**
     * Checks a name and a password, or a token in the password's place. An empty `database` leaves the project to the name;
     * `address` is that of the person's client, empty if it is not known.
     *
     * Throws Refusal if the service refuses the login, and AuthenticationException if no replica can tell.
     */
    Login login(String name, String password, String database, String address) throws AuthenticationException {
        byte[] body = write(Map.of("name", name, "password", password, "database", database));
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(deadlineMillis);
        int start = first;
        String why = "The login service does not answer. No login is possible until it does. Try again later.";
        for (int asked = 0; asked < urls.size(); asked++) {
            long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
            if (left <= 0) {
                break;
            }
            int index = (start + asked) % urls.size();
            try {
                Login login = ask(urls.get(index), body, address, Math.min(left, timeoutMillis));
                first = index;
                return login;
            } catch (Refusal refused) {
                first = index;
                throw refused;
            } catch (IOException error) {
                why = error instanceof Unavailable ? error.getMessage() : why;
                LOG.warn("The login service at {} does not answer: {}", urls.get(index), error.getMessage());
            }
        }
        throw new AuthenticationException(why);
    }

    /** Throws Refusal, or IOException if this replica cannot tell. */
    private Login ask(URI url, byte[] body, String address, long millis) throws IOException {
        HttpRequest.Builder request = HttpRequest.newBuilder(url)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json")
            .timeout(Duration.ofMillis(millis))
            .POST(BodyPublishers.ofByteArray(body));
        if (!address.isEmpty()) {
            request.header("X-Forwarded-For", address);
        }
        // HttpRequest's timeout ends with the headers. The future's timeout covers the body too.
        CompletableFuture<HttpResponse<InputStream>> response = http.sendAsync(request.build(), BodyHandlers.ofInputStream());
        CompletableFuture<Answer> answer = response.thenApplyAsync(LoginClient::read);
        try {
            return understand(answer.get(millis, TimeUnit.MILLISECONDS));
        } catch (TimeoutException error) {
            response.cancel(true);
            response.thenAccept(LoginClient::close);
            throw new IOException(late(millis));
        } catch (ExecutionException error) {
            Throwable cause = error.getCause();
            if (cause instanceof HttpTimeoutException) {
                throw new IOException(late(millis));
            }
            throw new IOException(cause.getClass().getSimpleName() + ": " + cause.getMessage());
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            response.cancel(true);
            throw new IOException("interrupted");
        }
    }

    private static String late(long millis) {
        return "no answer within " + millis + " ms";
    }

    private record Answer(int status, byte[] body) {
    }

    private static Answer read(HttpResponse<InputStream> response) {
        try (InputStream body = response.body()) {
            return new Answer(response.statusCode(), body.readNBytes(LARGEST_ANSWER_BYTES));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static void close(HttpResponse<InputStream> response) {
        try {
            response.body().close();
        } catch (IOException error) {
            LOG.debug("A late answer could not be closed", error);
        }
    }

    /** Throws Refusal for a refusal, and IOException for an answer that is neither a login nor a refusal. */
    private static Login understand(Answer answer) throws IOException {
        JsonNode fields;
        try {
            fields = JSON.readTree(answer.body);
        } catch (IOException error) {
            // Jackson's message quotes the answer.
            throw new IOException("the answer is no JSON, status " + answer.status);
        }
        if (fields == null || !fields.isObject()) {
            throw new IOException("the answer is no JSON object, status " + answer.status);
        }
        if (answer.status == 200) {
            return new Login(text(fields, "user"), text(fields, "token"));
        }
        if (answer.status >= BAD_REQUEST && answer.status < SERVER_ERROR) {
            throw new Refusal(text(fields, "message"));
        }
        if (answer.status == UNAVAILABLE) {
            throw new Unavailable(text(fields, "message"));
        }
        throw new IOException("status " + answer.status);
    }

    private static String text(JsonNode fields, String name) throws IOException {
        JsonNode value = fields.path(name);
        if (!value.isTextual() || value.asText().isEmpty()) {
            throw new IOException("the answer has no " + name);
        }
        return value.asText();
    }

    private static byte[] write(Map<String, String> fields) {
        try {
            return JSON.writeValueAsBytes(fields);
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static SSLContext trust(Path authority) {
        try (InputStream file = Files.newInputStream(authority)) {
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            int number = 0;
            for (Certificate certificate : CertificateFactory.getInstance("X.509").generateCertificates(file)) {
                store.setCertificateEntry("authority-" + number++, certificate);
            }
            if (number == 0) {
                throw new IllegalArgumentException(authority + " (" + AUTHORITY + ") has no certificate");
            }
            TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            managers.init(store);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, managers.getTrustManagers(), null);
            return context;
        } catch (IOException | GeneralSecurityException error) {
            throw new IllegalArgumentException(authority + " (" + AUTHORITY + ") cannot be read: " + error, error);
        }
    }
}
