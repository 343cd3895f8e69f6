package hopshive.login;

import java.util.Map;
import java.util.regex.Pattern;
import org.apache.hive.common.util.HiveStringUtils;
import org.apache.hive.service.cli.HiveSQLException;

/** What sessions refuse beside Hive's authorizer, which sees neither calls nor the command SET. */
final class SessionRules {
    /** SQLSTATE: insufficient privilege. */
    private static final String REFUSED = "42501";
    private static final Pattern SYSTEM_PROPERTY = Pattern.compile("\\s*set\\s+system:[^=]*=.*", Pattern.CASE_INSENSITIVE | Pattern.DOTALL);
    private static final String SYSTEM_SETTING = "set:system:";

    private SessionRules() {
    }

    /** A handle of a session is for the person who opened it. Threads without a login are HiveServer2's own. */
    static void requirePerson(String person) {
        if (LoginAuthenticator.isOther(person)) {
            throw new IllegalStateException("The session is another person's. Open one of your own.");
        }
    }

    /** Properties of the JVM are those of all sessions. Throws HiveSQLException for a statement that sets one. */
    static void requireOwnSetting(String statement) throws HiveSQLException {
        if (statement != null && SYSTEM_PROPERTY.matcher(HiveStringUtils.removeComments(statement)).matches()) {
            throw refusal();
        }
    }

    /** The same for the settings of a session that is opened; null if the client sent none. */
    static void requireOwnSettings(Map<String, String> settings) throws HiveSQLException {
        if (settings != null && settings.keySet().stream().anyMatch(name -> name.startsWith(SYSTEM_SETTING))) {
            throw refusal();
        }
    }

    private static HiveSQLException refusal() {
        return new HiveSQLException("A session sets no system properties: they are those of all sessions.", REFUSED);
    }
}
