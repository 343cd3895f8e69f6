package hopshive.policy;

import hopshive.policy.Policy.Limits;
import java.util.Locale;

/** Sentences of refusals that more than one class gives. */
final class Refusal {
    private Refusal() {
    }

    /** Why a user may not read a column; null if the user may. */
    static String of(Limits limits, String table, String column) {
        String rule = limits.refused().get(column.toLowerCase(Locale.ROOT));
        return rule == null ? null
            : "You may not read the column " + column + " of " + table + ": the rule " + rule + " of the policy refuses it.";
    }
}
