package hopshive.policy;

import hopshive.policy.Policy.Limits;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.parse.SemanticException;
import org.apache.hadoop.hive.ql.security.HiveAuthenticationProvider;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveAccessControlException;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveAuthzContext;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveAuthzPluginException;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveAuthzSessionContext;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveMetastoreClientFactory;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveOperationType;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HivePrivilegeObject;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HivePrivilegeObject.HivePrivilegeObjectType;
import org.apache.hadoop.hive.ql.security.authorization.plugin.sqlstd.SQLStdHiveAccessControllerWrapper;
import org.apache.hadoop.hive.ql.security.authorization.plugin.sqlstd.SQLStdHiveAuthorizationValidator;

/**
 * Checks statements by Hive's privileges, and by the policy.
 *
 * Hive puts `(SELECT columns FROM table WHERE filter)` in the place of each table that a statement or a view of it reads. A
 * refused column is NULL there, whatever reads it; {@link PolicyHook} and this class refuse the statements that name it.
 */
final class PolicyValidator extends SQLStdHiveAuthorizationValidator {
    private static final Set<HivePrivilegeObjectType> WITH_ROWS =
        EnumSet.of(HivePrivilegeObjectType.TABLE_OR_VIEW, HivePrivilegeObjectType.PARTITION);

    private final HiveConf conf;
    private final HiveAuthenticationProvider authenticator;

    PolicyValidator(HiveMetastoreClientFactory clients, HiveConf conf, HiveAuthenticationProvider authenticator,
                    SQLStdHiveAccessControllerWrapper controller, HiveAuthzSessionContext session)
            throws HiveAuthzPluginException {
        super(clients, conf, authenticator, controller, session);
        this.conf = conf;
        this.authenticator = authenticator;
    }

    @Override
    public void checkPrivileges(HiveOperationType operation, List<HivePrivilegeObject> inputs, List<HivePrivilegeObject> outputs,
                                HiveAuthzContext context) throws HiveAuthzPluginException, HiveAccessControlException {
        // A compaction of HiveServer2 reads and writes tables of all owners.
        if (PolicyFile.isService(authenticator.getUserName())) {
            return;
        }
        super.checkPrivileges(operation, inputs, outputs, context);
        if (!PolicyFile.isAdministrator(conf, authenticator.getUserName())) {
            try {
                check(operation, inputs, true);
                check(operation, outputs, false);
            } catch (PolicyFile.Broken broken) {
                throw new HiveAccessControlException(broken.getMessage());
            }
        }
    }

    private void check(HiveOperationType operation, List<HivePrivilegeObject> objects, boolean read)
            throws PolicyFile.Broken, HiveAccessControlException {
        for (HivePrivilegeObject object : objects) {
            if (!WITH_ROWS.contains(object.getType())) {
                continue;
            }
            Limits limits = limits(object);
            if (limits.isEmpty()) {
                continue;
            }
            if (!Operations.ALLOWED.contains(operation)) {
                throw new HiveAccessControlException(
                    operation + " is refused on " + name(object) + ": the rule " + limits.rule()
                        + " of the policy hides a part of it from you.");
            }
            if (read && object.getColumns() != null) {
                for (String column : object.getColumns()) {
                    String refused = Refusal.of(limits, name(object), column);
                    if (refused != null) {
                        throw new HiveAccessControlException(refused);
                    }
                }
            }
        }
    }

    @Override
    public boolean needTransform() {
        return !PolicyFile.isAdministrator(conf, authenticator.getUserName());
    }

    @Override
    public List<HivePrivilegeObject> applyRowFilterAndColumnMasking(HiveAuthzContext context, List<HivePrivilegeObject> objects)
            throws SemanticException {
        List<HivePrivilegeObject> changed = new ArrayList<>();
        for (HivePrivilegeObject object : objects) {
            try {
                Limits limits = limits(object);
                if (!limits.isEmpty()) {
                    transform(object, limits);
                    changed.add(object);
                }
            } catch (PolicyFile.Broken broken) {
                throw new SemanticException(broken.getMessage());
            }
        }
        return changed;
    }

    private void transform(HivePrivilegeObject object, Limits limits) {
        if (!limits.filters().isEmpty()) {
            object.setRowFilterExpression("(" + String.join(") AND (", limits.filters()) + ")");
        }
        List<String> expressions = new ArrayList<>();
        for (String column : object.getColumns()) {
            String key = column.toLowerCase(Locale.ROOT);
            expressions.add(limits.refused().containsKey(key) ? nothing(column) : limits.masks().getOrDefault(key, column));
        }
        object.setCellValueTransformers(expressions);
    }

    /** Always NULL. No optimizer knows that, so the plan still names the column, and {@link PolicyHook} finds it. */
    private static String nothing(String column) {
        return "CASE WHEN length(CAST(`" + column.replace("`", "``") + "` AS STRING)) < 0 THEN '' END";
    }

    private Limits limits(HivePrivilegeObject object) throws PolicyFile.Broken {
        return PolicyFile.read(conf).limits(authenticator.getUserName(), object.getDbname(), object.getObjectName());
    }

    private static String name(HivePrivilegeObject object) {
        return object.getDbname() + "." + object.getObjectName();
    }
}
