package hopshive;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.hooks.ExecuteWithHookContext;
import org.apache.hadoop.hive.ql.hooks.HookContext;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A statement that fails in Tez says why in one line, instead of the diagnostics of each attempt of each task.
 *
 * <p>A failure hook. Hive has composed its message before it asks the hooks, and takes the message of a HiveException that a hook
 * throws instead (Executor.handleException). The whole of Hive's message goes to HiveServer2's system log.
 */
public final class FailureLine implements ExecuteWithHookContext {
    static final String SWITCH = "hopshive.failure.line";
    private static final Logger LOG = LoggerFactory.getLogger(FailureLine.class);
    private static final int LONGEST = 1000;
    private static final Pattern VERTEX = Pattern.compile("Vertex failed, vertexName=(.+?), vertexId=vertex_(\\d+_\\d+)_");
    private static final Pattern ATTEMPT = Pattern.compile("TaskAttempt \\d+ (?:failed|killed), info=\\[");
    /** What Tez writes before the first exception of an attempt or an input. */
    private static final Pattern HEAD = Pattern.compile(
        "^(?:Error: )?(?:Node: \\S+ : )?(?:Error while running task \\( failure \\) : )?(?:attempt_\\w+:)?");
    private static final Pattern INPUT = Pattern.compile("Vertex Input: \\S+ initializer failed, vertex=\\S+ \\[[^\\]]*\\], ");
    /** By its last word: a message may be the dotted name of a class or a host. */
    private static final Pattern EXCEPTION = Pattern.compile(
        "^((?:\\w+\\.)+)((?:\\w+\\$)*\\w*(?:Exception|Error|Throwable))(?:\\(([\\w.$]+)\\))?(?:: |$)");
    /** Words of Hive, ORC and Parquet. */
    private static final Pattern DONE = Pattern.compile("Error evaluating |Error reading file: |Can not read value .* in file ");

    /** Of an application master that is gone (ReExecuteLostAMQueryPlugin), and of other errors after which Hive may run a statement again. */
    private static final Pattern AGAIN = Pattern.compile("(?s)AM Container for .* exited .* exitCode: -100|AM record not found"
        + "|No running DAG at present|Dag submit failed|OutOfMemoryError|MapJoinMemoryExhaustionError");

    @Override
    public void run(HookContext context) throws HiveException {
        String message = context.getErrorMessage();
        Throwable error = context.getException();
        HiveConf conf = context.getConf();
        if (message == null || error instanceof Reason || !conf.getBoolean(SWITCH, true)) {
            return;
        }
        String line = line(message);
        if (line == null) {
            return;
        }
        line += ", or journalctl -u hive-server2 at " + context.getQueryPlan().getQueryId() + ")";
        LOG.error("{}\n{}", line, message);
        if (mayRunAgain(conf, message) || conf.getBoolVar(HiveConf.ConfVars.EXEC_PARALLEL)) {
            // Hive's own hooks, which are asked after this one, decide by the message, and Hive has tasks to end.
            SessionState.getConsole().printError("FAILED: " + line);
            return;
        }
        throw new Reason(line);
    }

    /** Whether Hive may plan or run the statement again, which it decides by the error's message (ql/reexec). */
    static boolean mayRunAgain(HiveConf conf, String message) {
        // For a session with a queue of its own Hive makes an overlay of that queue, with which a second run is as the first.
        boolean overlaid = conf.getPropsWithPrefix("reexec.overlay.").keySet().stream().anyMatch(name -> !name.equals("tez.queue.name"));
        return conf.getBoolVar(HiveConf.ConfVars.HIVE_QUERY_REEXECUTION_ENABLED) && (AGAIN.matcher(message).find() || overlaid);
    }

    /** Why the statement failed and where, as the beginning of a sentence; null for a message that is not of a failed vertex. */
    static String line(String message) {
        Matcher vertex = VERTEX.matcher(message);
        if (!vertex.find()) {
            return null;
        }
        String reason = reason(message.substring(vertex.start()));
        if (reason.length() > LONGEST) {
            reason = reason.substring(0, LONGEST) + " ...";
        }
        return reason + " (in " + vertex.group(1) + "; more: yarn logs -applicationId application_" + vertex.group(2);
    }

    private static String reason(String diagnostics) {
        String part = diagnostics;
        Matcher attempt = ATTEMPT.matcher(diagnostics);
        while (attempt.find()) {
            // The last one: the first may have been lost with its host.
            part = diagnostics.substring(attempt.end());
        }
        if (part == diagnostics) {
            Matcher input = INPUT.matcher(diagnostics);
            part = input.find() ? diagnostics.substring(input.end()) : diagnostics.substring(diagnostics.indexOf("diagnostics=[") + 13);
        }
        List<String> causes = causes(HEAD.matcher(part).replaceFirst(""));
        String last = causes.get(causes.size() - 1);
        for (String cause : causes) {
            // What was done to which expression or file; the reason itself is the last cause, which may name neither.
            Matcher done = DONE.matcher(cause);
            if (cause != last && done.find()) {
                return cause.substring(done.start()) + ": " + last;
            }
        }
        return last;
    }

    /** The messages of an exception and its causes, each in one line, without packages and frames. */
    private static List<String> causes(String text) {
        List<String> causes = new ArrayList<>();
        StringBuilder cause = new StringBuilder();
        boolean frames = false;
        for (String line : text.split("\n")) {
            if (line.startsWith("Caused by: ")) {
                causes.add(shortened(cause.toString()));
                cause.setLength(0);
                cause.append(line.substring(11));
                frames = false;
            } else if (line.startsWith("]")) {
                break;
            } else if (line.startsWith("\t")) {
                // What comes after frames is what another server sent along.
                frames = true;
            } else if (!frames && !line.isBlank()) {
                cause.append(cause.length() == 0 ? "" : " ").append(line.strip());
            }
        }
        causes.add(shortened(cause.toString()));
        return causes;
    }

    /** Without what wraps it: of a.b.C: d.e.F: text it is F: text. */
    private static String shortened(String cause) {
        String rest = cause;
        String name = "";
        for (Matcher found = EXCEPTION.matcher(rest); found.find(); found = EXCEPTION.matcher(rest)) {
            String inner = found.group(3);
            name = inner == null ? found.group(2) : inner.substring(inner.lastIndexOf('.') + 1);
            rest = rest.substring(found.end());
        }
        // Where a text without frames ends and Tez's own text continues.
        int end = rest.indexOf("]], Vertex did not succeed");
        rest = end < 0 ? rest : rest.substring(0, end);
        return name.isEmpty() ? rest : rest.isEmpty() ? name : name + ": " + rest;
    }
}

/** Its name is part of what Hive shows: "FAILED: Hive Internal Error: hopshive.Reason(...)". */
final class Reason extends HiveException {
    private static final long serialVersionUID = 1L;

    Reason(String line) {
        super(line);
    }

    @Override
    public synchronized Throwable fillInStackTrace() {
        return this;
    }
}
