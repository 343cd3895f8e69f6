package hopshive.policy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The policy's file. Each statement reads the file, so that a change counts from the next statement on. Only new bytes are parsed.
 */
final class PolicyFile {
    /** Path of the file on HiveServer2's host. */
    static final String FILE = "hopshive.policy.file";
    /** Hive's list of administrators, whom the policy does not concern. */
    private static final String ADMINISTRATORS = "hive.users.in.admin.role";

    private static final Logger LOG = LoggerFactory.getLogger(PolicyFile.class);
    private static byte[] bytes;
    private static Path origin;
    private static Policy policy;

    private PolicyFile() {
    }

    /** The policy cannot be used. The message is a sentence for the person whose statement is refused. */
    static final class Broken extends Exception {
        private static final long serialVersionUID = 1;

        Broken(String why) {
            super("The policy of this warehouse cannot be used, so only administrators can run statements: " + why);
        }
    }

    /** Throws Broken for a file that is missing, unreadable or no policy. */
    static synchronized Policy read(Configuration conf) throws Broken {
        String name = conf.getTrimmed(FILE, "");
        if (name.isEmpty()) {
            throw new Broken(FILE + " names no file.");
        }
        Path path = Path.of(name);
        try {
            byte[] now = Files.readAllBytes(path);
            if (policy == null || !path.equals(origin) || !Arrays.equals(now, bytes)) {
                policy = null;
                policy = Policy.parse(now);
                bytes = now;
                origin = path;
                LOG.info("{} has {} rules", path, policy.rules().size());
            }
            return policy;
        } catch (IOException error) {
            LOG.error("{} cannot be used", path, error);
            throw new Broken(path + ": " + firstLine(error) + ".");
        }
    }

    /** Whether the policy does not concern a user: an administrator, or the account that runs HiveServer2 and its compactions. */
    static boolean isAdministrator(Configuration conf, String user) {
        return isService(user) || Arrays.asList(conf.getTrimmedStrings(ADMINISTRATORS)).contains(user);
    }

    /** Whether a user is the account that runs HiveServer2. It owns all files, and the login service lets no person be it. */
    static boolean isService(String user) {
        try {
            return UserGroupInformation.getLoginUser().getShortUserName().equals(user);
        } catch (IOException error) {
            return false;
        }
    }

    /** Jackson's messages have a second line that quotes the file. */
    private static String firstLine(IOException error) {
        String text = error.getMessage() == null ? "" : error.getMessage().lines().findFirst().orElse("");
        return error instanceof java.nio.file.NoSuchFileException ? "the file is missing"
            : error instanceof java.nio.file.AccessDeniedException ? "HiveServer2 may not read the file" : text;
    }
}
