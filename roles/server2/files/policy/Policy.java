package hopshive.policy;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * What a policy says: rules, in the order of the file.
 *
 * src/hopshive/tenancy/policy.py writes the JSON and checks what people wrote. This class checks that the JSON has the shape, and
 * refuses unknown fields: a rule that is only half understood would let people see what they must not.
 */
record Policy(List<Rule> rules) {
    private static final ObjectMapper JSON = new ObjectMapper()
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
        .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
        .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION);
    private static final int VERSION = 1;
    /** Between the project and the account in the name of a project's user. */
    private static final String JOINT = "__";

    /** People by the user of their session, or by the project that the session is in. */
    record People(boolean everyone, Set<String> users, Set<String> projects) {
        boolean has(String user) {
            int joint = user.indexOf(JOINT);
            return everyone || users.contains(user) || joint > 0 && projects.contains(user.substring(0, joint));
        }
    }

    /** `tables` matches `database.table`. `filter` is null without one. Names of columns are in lower case. */
    record Rule(String name, Pattern tables, People to, People except, String filter, Map<String, String> masks,
                Set<String> refused) {
    }

    /** What concerns one user and one table: conditions that a row meets, SQL in place of columns, and refused columns. */
    record Limits(List<String> filters, Map<String, String> masks, Map<String, String> refused, String rule) {
        boolean isEmpty() {
            return filters.isEmpty() && masks.isEmpty() && refused.isEmpty();
        }
    }

    /** Of two masks of a column, the first in the file counts. */
    Limits limits(String user, String database, String table) {
        List<String> filters = new ArrayList<>();
        Map<String, String> masks = new HashMap<>();
        Map<String, String> refused = new HashMap<>();
        String first = "";
        String name = (database + "." + table).toLowerCase(Locale.ROOT);
        for (Rule rule : rules) {
            if (!rule.tables.matcher(name).matches() || !rule.to.has(user) || rule.except.has(user)) {
                continue;
            }
            first = first.isEmpty() ? rule.name : first;
            if (rule.filter != null) {
                filters.add(rule.filter);
            }
            rule.masks.forEach(masks::putIfAbsent);
            rule.refused.forEach(column -> refused.putIfAbsent(column, rule.name));
        }
        return new Limits(filters, masks, refused, first);
    }

    /** Throws IOException, with a sentence, for what is no policy. */
    static Policy parse(byte[] content) throws IOException {
        JsonNode root = JSON.readTree(content);
        if (root == null || !root.isObject()) {
            throw new IOException("the file is empty or no JSON object");
        }
        only(root, "the policy", Set.of("version", "rules"));
        if (root.path("version").asInt() != VERSION) {
            throw new IOException("the version is " + root.path("version") + ", and this HiveServer2 reads version " + VERSION);
        }
        if (!root.path("rules").isArray()) {
            throw new IOException("the policy has no list of rules");
        }
        List<Rule> rules = new ArrayList<>();
        for (JsonNode rule : root.path("rules")) {
            rules.add(rule(rule));
        }
        return new Policy(List.copyOf(rules));
    }

    private static Rule rule(JsonNode node) throws IOException {
        String name = text(node.path("name"), "a rule without a name");
        only(node, name, Set.of("name", "tables", "to", "except", "filter", "masks", "refused"));
        Map<String, String> masks = new HashMap<>();
        for (Iterator<Map.Entry<String, JsonNode>> fields = node.path("masks").fields(); fields.hasNext();) {
            Map.Entry<String, JsonNode> mask = fields.next();
            masks.put(mask.getKey().toLowerCase(Locale.ROOT), text(mask.getValue(), name + ": a mask without SQL"));
        }
        Set<String> refused = new HashSet<>();
        for (String column : texts(node.path("refused"), name + ": refused")) {
            refused.add(column.toLowerCase(Locale.ROOT));
        }
        String filter = node.has("filter") ? text(node.path("filter"), name + ": a filter without SQL") : null;
        if (filter == null && masks.isEmpty() && refused.isEmpty()) {
            throw new IOException(name + ": the rule has no filter, no mask and no refused column");
        }
        try {
            Pattern tables = Pattern.compile(text(node.path("tables"), name + ": tables is missing"), Pattern.DOTALL);
            return new Rule(name, tables, people(node.path("to"), name), people(node.path("except"), name), filter,
                            Map.copyOf(masks), Set.copyOf(refused));
        } catch (PatternSyntaxException error) {
            throw new IOException(name + ": tables is no regular expression");
        }
    }

    private static People people(JsonNode node, String name) throws IOException {
        if (!node.isObject() || !node.path("everyone").isBoolean()) {
            throw new IOException(name + ": to and except must name people");
        }
        only(node, name, Set.of("everyone", "users", "projects"));
        return new People(node.path("everyone").asBoolean(), Set.copyOf(texts(node.path("users"), name + ": users")),
                          Set.copyOf(texts(node.path("projects"), name + ": projects")));
    }

    private static void only(JsonNode node, String place, Set<String> known) throws IOException {
        for (Iterator<String> names = node.fieldNames(); names.hasNext();) {
            String field = names.next();
            if (!known.contains(field)) {
                throw new IOException(place + ": " + field + " is unknown");
            }
        }
    }

    private static Set<String> texts(JsonNode node, String place) throws IOException {
        Set<String> found = new HashSet<>();
        if (!node.isArray()) {
            throw new IOException(place + " is no list");
        }
        for (JsonNode one : node) {
            found.add(text(one, place + " has a value that is no text"));
        }
        return found;
    }

    private static String text(JsonNode node, String otherwise) throws IOException {
        if (!node.isTextual() || node.asText().isBlank()) {
            throw new IOException(otherwise);
        }
        return node.asText();
    }
}
