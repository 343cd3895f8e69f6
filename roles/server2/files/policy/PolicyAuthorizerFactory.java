package hopshive.policy;

import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.security.HiveAuthenticationProvider;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveAuthorizer;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveAuthorizerFactory;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveAuthorizerImpl;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveAuthzPluginException;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveAuthzSessionContext;
import org.apache.hadoop.hive.ql.security.authorization.plugin.HiveMetastoreClientFactory;
import org.apache.hadoop.hive.ql.security.authorization.plugin.sqlstd.SQLStdHiveAccessControllerWrapper;

/** Hive's SQL standard authorization with the policy beside it. Property: `hive.security.authorization.manager`. */
public final class PolicyAuthorizerFactory implements HiveAuthorizerFactory {
    @Override
    public HiveAuthorizer createHiveAuthorizer(HiveMetastoreClientFactory clients, HiveConf conf,
                                               HiveAuthenticationProvider authenticator, HiveAuthzSessionContext session)
            throws HiveAuthzPluginException {
        SQLStdHiveAccessControllerWrapper controller =
            new SQLStdHiveAccessControllerWrapper(clients, conf, authenticator, session);
        return new HiveAuthorizerImpl(
            controller, new PolicyValidator(clients, conf, authenticator, controller, session));
    }
}
