package hopshive;

import java.net.URI;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.antlr.runtime.CommonToken;
import org.antlr.runtime.tree.Tree;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.api.StorageDescriptor;
import org.apache.hadoop.hive.ql.ErrorMsg;
import org.apache.hadoop.hive.ql.exec.Task;
import org.apache.hadoop.hive.ql.hooks.Entity;
import org.apache.hadoop.hive.ql.hooks.WriteEntity;
import org.apache.hadoop.hive.ql.metadata.HiveException;
import org.apache.hadoop.hive.ql.metadata.Table;
import org.apache.hadoop.hive.ql.parse.ASTNode;
import org.apache.hadoop.hive.ql.parse.AbstractSemanticAnalyzerHook;
import org.apache.hadoop.hive.ql.parse.BaseSemanticAnalyzer;
import org.apache.hadoop.hive.ql.parse.HiveParser;
import org.apache.hadoop.hive.ql.parse.HiveSemanticAnalyzerHookContext;
import org.apache.hadoop.hive.ql.parse.SemanticAnalyzer;
import org.apache.hadoop.hive.ql.parse.SemanticException;
import org.apache.hadoop.hive.ql.plan.HiveOperation;
import org.apache.hadoop.hive.ql.session.SessionState;

/**
 * Where people log in, statements stay in the file systems of the warehouse, and leave databases and transactions of others alone.
 *
 * <p>Hive reads and writes what is not HDFS, such as {@code file:/etc}, as its own user, or as YARN's. Hive's authorizers look at
 * LOCAL alone. A table of SymlinkTextInputFormat reads the paths that its files name, which no authorizer sees. A database's owner
 * and places are not checked by storage based authorization: a member could lead all writes of a project elsewhere. Nor are
 * transactions and compactions: a member could abort those of all projects, and read the names of their tables.
 *
 * <p>Property: {@code hive.semantic.analyzer.hook}. Administrators ({@code hive.users.in.admin.role}) and compactions are free.
 */
public final class Confinement extends AbstractSemanticAnalyzerHook {
    /** Schemes of file systems besides HDFS that statements may name, such as s3a, separated by commas. */
    static final String SCHEMES = "hopshive.confinement.schemes";

    private static final Set<Integer> ENDS = Set.of(HiveParser.TOK_ABORT_TRANSACTIONS, HiveParser.TOK_ABORT_COMPACTIONS,
        HiveParser.TOK_KILL_QUERY);
    private static final Set<Integer> OF_THE_OPERATOR = Set.of(HiveParser.TOK_CREATEDATABASE, HiveParser.TOK_DROPDATABASE,
        HiveParser.TOK_ALTERDATABASE_LOCATION, HiveParser.TOK_ALTERDATABASE_MANAGEDLOCATION, HiveParser.TOK_ALTERDATABASE_OWNER,
        HiveParser.TOK_CREATEDATACONNECTOR, HiveParser.TOK_DROPDATACONNECTOR, HiveParser.TOK_ALTERDATACONNECTOR_URL,
        HiveParser.TOK_ALTERDATACONNECTOR_OWNER, HiveParser.TOK_ALTERDATACONNECTOR_PROPERTIES);
    /** Nodes below which a text is a place. */
    private static final Set<Integer> PLACES = Set.of(HiveParser.TOK_DIR, HiveParser.TOK_LOAD, HiveParser.TOK_EXPORT,
        HiveParser.TOK_IMPORT, HiveParser.TOK_TABLELOCATION, HiveParser.TOK_ALTERTABLE_LOCATION, HiveParser.TOK_LIKEFILE);
    /** Properties of a table that are places. */
    private static final Pattern PLACE_PROPERTY = Pattern.compile("(?i)(?:.*[._])?(?:url|uri|location|path)");
    private static final Pattern SCHEME = Pattern.compile("([A-Za-z][A-Za-z0-9+.-]*):.*", Pattern.DOTALL);
    private static final String SYMLINKS = "SymlinkTextInputFormat";

    @Override
    public ASTNode preAnalyze(HiveSemanticAnalyzerHookContext context, ASTNode tree) throws SemanticException {
        if (isFree(context.getConf())) {
            return tree;
        }
        walk(context.getConf(), tree, false);
        ASTNode narrowed = narrowed(tree);
        String database = listed(narrowed);
        if (database != null) {
            requireVisible(context, database);
        }
        return narrowed;
    }

    @Override
    public void postAnalyze(HiveSemanticAnalyzerHookContext context, List<Task<?>> tasks) throws SemanticException {
        if (isFree(context.getConf())) {
            return;
        }
        for (Entity one : context.getInputs()) {
            check(context, one);
        }
        for (Entity one : context.getOutputs()) {
            check(context, one);
        }
    }

    private static boolean isFree(Configuration conf) {
        SessionState session = SessionState.get();
        if (session == null || session.isCompaction()) {
            return true;
        }
        String[] administrators = conf.getTrimmedStrings(HiveConf.ConfVars.USERS_IN_ADMIN_ROLE.varname);
        return Arrays.asList(administrators).contains(SessionState.getUserFromAuthenticator());
    }

    private static void walk(Configuration conf, Tree node, boolean isPlace) throws SemanticException {
        if (OF_THE_OPERATOR.contains(node.getType())) {
            throw new SemanticException("The operator makes and removes databases and connectors, and keeps their owners and places.");
        }
        if (ENDS.contains(node.getType())) {
            throw new SemanticException("The operator ends transactions, compactions and queries by their number.");
        }
        if (node.getType() == HiveParser.TOK_TABLEPROPERTY && node.getChildCount() == 2) {
            walk(conf, node.getChild(1), PLACE_PROPERTY.matcher(text(node.getChild(0))).matches());
            return;
        }
        if (isPlace && node.getType() == HiveParser.StringLiteral) {
            checkPlace(conf, text(node));
        }
        // Values of partitions are no places.
        boolean below = (isPlace || PLACES.contains(node.getType())) && node.getType() != HiveParser.TOK_PARTSPEC;
        for (int index = 0; index < node.getChildCount(); index++) {
            walk(conf, node.getChild(index), below);
        }
    }

    /** A list of the locks or compactions of all databases becomes that of the session's database. */
    private static ASTNode narrowed(ASTNode tree) {
        boolean isLocks = tree.getType() == HiveParser.TOK_SHOWLOCKS;
        if (!isLocks && tree.getType() != HiveParser.TOK_SHOW_COMPACTIONS || listed(tree) != null) {
            return tree;
        }
        CommonToken kind = new CommonToken(isLocks ? HiveParser.TOK_SHOWDBLOCKS : HiveParser.TOK_SHOW_COMPACTIONS, tree.getText());
        ASTNode found = new ASTNode(kind);
        found.addChild(new ASTNode(new CommonToken(HiveParser.Identifier, SessionState.get().getCurrentDatabase())));
        for (int index = 0; index < tree.getChildCount(); index++) {
            found.addChild(tree.getChild(index));
        }
        return found;
    }

    /** The database whose tables a statement lists; null for other statements, and for one about all databases. */
    private static String listed(Tree tree) {
        switch (tree.getType()) {
            case HiveParser.TOK_SHOW_TABLESTATUS -> {
                Tree second = tree.getChild(1);
                return second != null && second.getType() == HiveParser.Identifier ? name(second) : SessionState.get().getCurrentDatabase();
            }
            case HiveParser.TOK_SHOWDBLOCKS -> {
                return name(tree.getChild(0));
            }
            case HiveParser.TOK_SHOWLOCKS, HiveParser.TOK_SHOW_COMPACTIONS -> {
                for (int index = 0; index < tree.getChildCount(); index++) {
                    Tree child = tree.getChild(index);
                    if (child.getType() == HiveParser.Identifier) {
                        return name(child);
                    }
                    if (child.getType() == HiveParser.TOK_TABTYPE) {
                        Tree table = child.getChild(0);
                        return table.getChildCount() > 0 ? name(table.getChild(0)) : SessionState.get().getCurrentDatabase();
                    }
                }
                return null;
            }
            default -> {
                return null;
            }
        }
    }

    private static String name(Tree identifier) {
        return BaseSemanticAnalyzer.unescapeIdentifier(identifier.getText());
    }

    /** The metastore shows a database to users who may read its directory. */
    private static void requireVisible(HiveSemanticAnalyzerHookContext context, String database) throws SemanticException {
        try {
            if (context.getHive().getDatabase(database) != null) {
                return;
            }
        } catch (HiveException error) {
            throw new SemanticException(error);
        }
        throw new SemanticException(ErrorMsg.DATABASE_NOT_EXISTS.getMsg(database));
    }

    private static String text(Tree literal) {
        return BaseSemanticAnalyzer.unescapeSQLString(literal.getText());
    }

    private static void check(HiveSemanticAnalyzerHookContext context, Entity entity) throws SemanticException {
        // What Hive makes for itself: the table of a SELECT without one, and directories of results.
        if (entity.isDummy() || entity instanceof WriteEntity written && written.isTempURI()) {
            return;
        }
        switch (entity.getType()) {
            case DFS_DIR, LOCAL_DIR -> checkPlace(context.getConf(), entity.getD().toString());
            case TABLE -> check(context, entity.getTable());
            case PARTITION, DUMMYPARTITION -> {
                check(context, entity.getTable());
                if (entity.getPartition() != null && entity.getPartition().getTPartition() != null) {
                    check(context, entity.getTable(), entity.getPartition().getTPartition().getSd());
                }
            }
            default -> { }
        }
    }

    private static void check(HiveSemanticAnalyzerHookContext context, Table table) throws SemanticException {
        if (table != null && !table.isView() && !SemanticAnalyzer.DUMMY_DATABASE.equals(table.getDbName())) {
            check(context, table, table.getSd());
            for (Map.Entry<String, String> one : table.getParameters().entrySet()) {
                if (one.getValue() != null && PLACE_PROPERTY.matcher(one.getKey()).matches()) {
                    checkPlace(context.getConf(), one.getValue());
                }
            }
        }
    }

    private static void check(HiveSemanticAnalyzerHookContext context, Table table, StorageDescriptor storage) throws SemanticException {
        if (storage == null) {
            return;
        }
        if (storage.getInputFormat() != null && storage.getInputFormat().endsWith(SYMLINKS)
            && context.getHiveOperation() != HiveOperation.DROPTABLE) {
            throw new SemanticException(table.getFullyQualifiedName() + " is a table of " + SYMLINKS
                + ", which reads files of others. Such tables are refused.");
        }
        if (storage.getLocation() != null) {
            checkPlace(context.getConf(), storage.getLocation());
        }
    }

    /** A place without a scheme is in the warehouse's own file system. */
    private static void checkPlace(Configuration conf, String place) throws SemanticException {
        Matcher found = SCHEME.matcher(place.trim());
        if (!found.matches()) {
            return;
        }
        String scheme = found.group(1).toLowerCase(Locale.ROOT);
        URI own = FileSystem.getDefaultUri(conf);
        if (!scheme.equals("hdfs") && !scheme.equals(own.getScheme()) && !conf.getTrimmedStringCollection(SCHEMES).contains(scheme)) {
            throw new SemanticException("Statements name places in the file system of the warehouse, such as hdfs: and not " + scheme
                + ":. An operator may allow others (" + SCHEMES + ").");
        }
    }
}
