package hopshive.policy;

import hopshive.policy.Policy.Limits;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.antlr.runtime.tree.Tree;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.ql.hooks.ExecuteWithHookContext;
import org.apache.hadoop.hive.ql.hooks.HookContext;
import org.apache.hadoop.hive.ql.parse.ASTNode;
import org.apache.hadoop.hive.ql.parse.AbstractSemanticAnalyzerHook;
import org.apache.hadoop.hive.ql.parse.BaseSemanticAnalyzer;
import org.apache.hadoop.hive.ql.parse.ColumnAccessInfo;
import org.apache.hadoop.hive.ql.parse.HiveParser;
import org.apache.hadoop.hive.ql.parse.HiveSemanticAnalyzerHookContext;
import org.apache.hadoop.hive.ql.parse.SemanticException;
import org.apache.hadoop.hive.ql.session.SessionState;

/**
 * Refuses statements in which Hive does not find all tables that have a policy, or shows statistics of their columns.
 *
 * Properties: `hive.semantic.analyzer.hook` and `hive.exec.pre.hooks`.
 */
public final class PolicyHook extends AbstractSemanticAnalyzerHook implements ExecuteWithHookContext {
    @Override
    public ASTNode preAnalyze(HiveSemanticAnalyzerHookContext context, ASTNode tree) throws SemanticException {
        Configuration conf = SessionState.getSessionConf();
        Set<String> names = new HashSet<>();
        collect(tree, names);
        String user = SessionState.getUserFromAuthenticator();
        if (!PolicyFile.isAdministrator(conf, user)) {
            for (String name : names) {
                refuseShadow(conf, user, name);
            }
            refuseStatistics(conf, user, tree);
        }
        return tree;
    }

    /** Collects the names that WITH gives. */
    private static void collect(Tree node, Set<String> names) throws SemanticException {
        if (node.getType() == HiveParser.TOK_CTE) {
            for (int index = 0; index < node.getChildCount(); index++) {
                // The children are the query, its name, and names of its columns, if there are any.
                String name = BaseSemanticAnalyzer.unescapeIdentifier(node.getChild(index).getChild(1).getText())
                    .toLowerCase(Locale.ROOT);
                // For Hive, `a.b` in quotes is the table b of the database a then, and has no policy.
                if (name.indexOf('.') >= 0) {
                    throw new SemanticException("A name of WITH has no dot: " + name + ". Choose another name.");
                }
                names.add(name);
            }
        }
        for (int index = 0; index < node.getChildCount(); index++) {
            collect(node.getChild(index), names);
        }
    }

    /** Where WITH gives the name of a table, Hive takes that name in the whole statement for no table. */
    private static void refuseShadow(Configuration conf, String user, String name) throws SemanticException {
        String database = SessionState.get().getCurrentDatabase();
        if (!limits(conf, user, database, name).isEmpty()) {
            throw new SemanticException("A part of " + database + "." + name
                + " is hidden from you by the policy, so WITH cannot give its name. Choose another name.");
        }
    }

    /** Statistics of a column are its least and greatest value, of all rows. */
    private static void refuseStatistics(Configuration conf, String user, ASTNode tree) throws SemanticException {
        if (tree.getType() != HiveParser.TOK_DESCTABLE || tree.getChildCount() == 0 || tree.getChild(0).getChildCount() < 2) {
            return;
        }
        Tree named = tree.getChild(0).getChild(0);
        boolean qualified = named.getChildCount() > 1;
        String table = BaseSemanticAnalyzer.unescapeIdentifier(named.getChild(qualified ? 1 : 0).getText());
        String database = qualified ? BaseSemanticAnalyzer.unescapeIdentifier(named.getChild(0).getText())
            : SessionState.get().getCurrentDatabase();
        if (!limits(conf, user, database, table).isEmpty()) {
            throw new SemanticException("A part of " + database + "." + table
                + " is hidden from you by the policy, so statistics of its columns are refused. DESCRIBE the table alone.");
        }
    }

    /** Refuses columns that are read through views too, for which Hive checks no privileges. */
    @Override
    public void run(HookContext hook) throws Exception {
        Configuration conf = hook.getConf();
        String user = SessionState.getUserFromAuthenticator();
        ColumnAccessInfo read = hook.getQueryPlan().getColumnAccessInfo();
        if (read == null || PolicyFile.isAdministrator(conf, user)) {
            return;
        }
        for (Map.Entry<String, List<String>> table : read.getTableToColumnAllAccessMap().entrySet()) {
            String[] parts = table.getKey().split("@", 2);
            Limits limits = limits(conf, user, parts[0], parts[1]);
            for (String column : table.getValue()) {
                String refused = Refusal.of(limits, parts[0] + "." + parts[1], column);
                if (refused != null) {
                    throw new SemanticException(refused);
                }
            }
        }
    }

    private static Limits limits(Configuration conf, String user, String database, String table) throws SemanticException {
        try {
            return PolicyFile.read(conf).limits(user, database, table);
        } catch (PolicyFile.Broken broken) {
            throw new SemanticException(broken.getMessage());
        }
    }
}
