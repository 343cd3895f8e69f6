import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;

/**
 * Hive's JDBC driver in one JVM, which a benchmark leads: each line of the input is a command, fields are separated by tabs.
 *
 * `way NAME URL USER PASSWORD` names a way in, `session NAME` opens a session, asks one row and closes it, `run NAME SQL` runs a
 * statement, `read NAME SQL` reads all of its rows. Answers begin with `> `: `ok` and nanoseconds, for `read` the characters too.
 */
public final class SessionClient {
    private static final Map<String, String[]> WAYS = new HashMap<>();

    private SessionClient() {
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] fields = line.split("\t", -1);
            try {
                answers.println("> ok " + obey(fields));
            } catch (Exception error) {
                // The driver's message has the URL, with passwords of stores: the last cause has none.
                Throwable cause = error;
                while (cause.getCause() != null) {
                    cause = cause.getCause();
                }
                String said = String.valueOf(cause.getMessage()).replaceAll("jdbc:hive2:\\S*", "(URL)");
                answers.println("> error " + fields[0] + " " + fields[1] + ": " + said.replaceAll("\\s+", " "));
            }
        }
    }

    private static String obey(String[] fields) throws Exception {
        switch (fields[0]) {
            case "way":
                WAYS.put(fields[1], fields);
                return "";
            case "session":
                return session(fields[1]);
            case "run":
                return run(fields[1], fields[2]);
            case "read":
                return read(fields[1], fields[2]);
            default:
                throw new IllegalArgumentException("unknown command");
        }
    }

    private static Connection open(String name) throws Exception {
        String[] way = WAYS.get(name);
        Properties properties = new Properties();
        properties.setProperty("user", way[3]);
        properties.setProperty("password", way[4]);
        return DriverManager.getConnection(way[2], properties);
    }

    private static String session(String name) throws Exception {
        long began = System.nanoTime();
        Connection connection = open(name);
        long opened = System.nanoTime();
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT 1")) {
            rows.next();
        }
        long asked = System.nanoTime();
        connection.close();
        long closed = System.nanoTime();
        return (opened - began) + " " + (asked - opened) + " " + (closed - asked);
    }

    private static String run(String name, String sql) throws Exception {
        long began = System.nanoTime();
        try (Connection connection = open(name); Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
        return String.valueOf(System.nanoTime() - began);
    }

    private static String read(String name, String sql) throws Exception {
        try (Connection connection = open(name); Statement statement = connection.createStatement()) {
            long began = System.nanoTime();
            long characters = 0;
            try (ResultSet rows = statement.executeQuery(sql)) {
                int columns = rows.getMetaData().getColumnCount();
                while (rows.next()) {
                    for (int column = 1; column <= columns; column++) {
                        characters += rows.getString(column).length();
                    }
                }
            }
            return (System.nanoTime() - began) + " " + characters;
        }
    }
}
