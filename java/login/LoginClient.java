package hopshive.login;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Redirect;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
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
 * Asks the login service. Several replicas are asked in turn, beginning with the one that answered last, until one answers or
 * the time is up. Every exception has a sentence for the person who logs in, and no secret.
 */
final class LoginClient {
    /** URLs of the replicas, separated by commas. */
    static final String URLS = "hopshive.login.urls";
    /** File of the certificates, PEM, that replicas are verified against; those of the JVM without it. */
    static final String AUTHORITY = "hopshive.login.authority.file";
    /** Time for one replica, and for all of them together. */
    static final String TIMEOUT = "hopshive.login.timeout.ms";
    static final String DEADLINE = "hopshive.login.deadline.ms";

    private static final Logger LOG = LoggerFactory.getLogger(LoginClient.class);
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int LARGEST_ANSWER = 64 * 1024;

    private final List<URI> urls = new ArrayList<>();
    private final long timeout;
    private final long deadline;
    private final HttpClient http;
    /** Index of the replica that answered last. */
    private volatile int first;

    LoginClient(Configuration conf) {
        for (String url : conf.getTrimmedStrings(URLS)) {
            urls.add(URI.create(url.endsWith("/") ? url : url + "/").resolve("v1/login"));
        }
        if (urls.isEmpty()) {
            throw new IllegalArgumentException(URLS + " names no login service");
        }
        timeout = conf.getLong(TIMEOUT, 5_000);
        deadline = conf.getLong(DEADLINE, 15_000);
        HttpClient.Builder builder = HttpClient.newBuilder()
            .version(Version.HTTP_1_1)
            .followRedirects(Redirect.NEVER)
            .connectTimeout(Duration.ofMillis(timeout));
        String authority = conf.getTrimmed(AUTHORITY, "");
        if (!authority.isEmpty()) {
            builder.sslContext(trust(Path.of(authority)));
        }
        http = builder.build();
    }

    /** Who a person is: `user` is the project user in a project, else the account; `token` stands for the password. */
    record Login(String user, String token) {
    }

    /**
     * Checks a password, or a token in its place. `database` may be empty: then the project is that of the name, if there is one.
     * Throws AuthenticationException, if the service refuses, or no replica answers.
     */
    Login login(String name, String password, String database) throws AuthenticationException {
        byte[] body = write(Map.of("name", name, "password", password, "database", database));
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(deadline);
        int start = first;
        for (int at = 0; at < urls.size(); at++) {
            long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
            if (left <= 0) {
                break;
            }
            int index = (start + at) % urls.size();
            URI url = urls.get(index);
            try {
                Login login = ask(url, body, Math.min(left, timeout));
                first = index;
                return login;
            } catch (IOException error) {
                if (error instanceof AuthenticationException refused) {
                    first = index;
                    throw refused;
                }
                LOG.warn("The login service at {} does not answer: {}", url, error.getMessage());
            }
        }
        throw new AuthenticationException("The login service does not answer: nobody can log in now. Try again later.");
    }

    private Login ask(URI url, byte[] body, long millis) throws IOException {
        HttpRequest request = HttpRequest.newBuilder(url)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json")
            .timeout(Duration.ofMillis(millis))
            .POST(BodyPublishers.ofByteArray(body))
            .build();
        // The timeout of a request ends with the headers. This one is of the whole answer.
        CompletableFuture<HttpResponse<InputStream>> sent = http.sendAsync(request, BodyHandlers.ofInputStream());
        CompletableFuture<Answer> whole = sent.thenApplyAsync(LoginClient::read);
        try {
            return understand(whole.get(millis, TimeUnit.MILLISECONDS));
        } catch (TimeoutException error) {
            sent.cancel(true);
            sent.thenAccept(LoginClient::close);
            throw new IOException("no answer within " + millis + " ms");
        } catch (ExecutionException error) {
            Throwable cause = error.getCause();
            throw new IOException(cause.getClass().getSimpleName() + ": " + cause.getMessage());
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            sent.cancel(true);
            throw new IOException("interrupted");
        }
    }

    private record Answer(int status, byte[] body) {
    }

    private static Answer read(HttpResponse<InputStream> response) {
        try (InputStream body = response.body()) {
            return new Answer(response.statusCode(), body.readNBytes(LARGEST_ANSWER));
        } catch (IOException error) {
            throw new java.io.UncheckedIOException(error);
        }
    }

    private static void close(HttpResponse<InputStream> response) {
        try {
            response.body().close();
        } catch (IOException error) {
            LOG.debug("An answer that came too late could not be closed", error);
        }
    }

    /** Throws AuthenticationException for an answer that refuses, and IOException for one that says nothing. */
    private static Login understand(Answer answer) throws IOException {
        JsonNode fields = JSON.readTree(answer.body);
        if (fields == null || !fields.isObject()) {
            throw new IOException("the answer is no JSON object, status " + answer.status);
        }
        if (answer.status == 200) {
            return new Login(text(fields, "user"), text(fields, "token"));
        }
        if (answer.status >= 400 && answer.status < 500) {
            throw new AuthenticationException(text(fields, "message"));
        }
        throw new IOException("status " + answer.status + ": " + fields.path("message").asText());
    }

    private static String text(JsonNode fields, String name) throws IOException {
        String found = fields.path(name).asText("");
        if (found.isEmpty()) {
            throw new IOException("the answer has no " + name);
        }
        return found;
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
            for (Certificate one : CertificateFactory.getInstance("X.509").generateCertificates(file)) {
                store.setCertificateEntry("authority-" + number++, one);
            }
            TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            managers.init(store);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, managers.getTrustManagers(), null);
            return context;
        } catch (IOException | GeneralSecurityException error) {
            throw new IllegalArgumentException(authority + " (" + AUTHORITY + ") cannot be used: " + error, error);
        }
    }
}
