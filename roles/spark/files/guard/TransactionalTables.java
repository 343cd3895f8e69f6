package hopshive.spark;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.SparkSessionExtensionsProvider;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.command.LoadDataCommand;
import org.apache.spark.sql.execution.command.TruncateTableCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.hive.execution.InsertIntoHiveTable;
import scala.Function1;
import scala.Option;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Refuses statements of Spark about Hive's transactional tables, which Spark takes for plain ones: it reads no rows of them, writes
 * files that Hive cannot read, and INSERT OVERWRITE and TRUNCATE delete the rows.
 *
 * <p>Each session of Spark has it from the service file beside it (SparkSessionExtensionsProvider): a session that sets
 * {@code spark.sql.extensions} keeps it. The rule looks at what the analyzer has made of a statement, also of the DataFrame's.
 */
public final class TransactionalTables extends AbstractFunction1<SparkSessionExtensions, BoxedUnit>
    implements SparkSessionExtensionsProvider {
    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        extensions.injectCheckRule(new AbstractFunction1<SparkSession, Function1<LogicalPlan, BoxedUnit>>() {
            @Override
            public Function1<LogicalPlan, BoxedUnit> apply(SparkSession session) {
                return new Rule(session);
            }
        });
        return BoxedUnit.UNIT;
    }

    private static final class Rule extends AbstractFunction1<LogicalPlan, BoxedUnit> {
        private final SparkSession session;

        Rule(SparkSession session) {
            this.session = session;
        }

        @Override
        public BoxedUnit apply(LogicalPlan plan) {
            plan.foreachWithSubqueries(new AbstractFunction1<LogicalPlan, BoxedUnit>() {
                @Override
                public BoxedUnit apply(LogicalPlan node) {
                    check(node);
                    return BoxedUnit.UNIT;
                }
            });
            return BoxedUnit.UNIT;
        }

        private void check(LogicalPlan node) {
            if (node instanceof HiveTableRelation relation) {
                refuse(relation.tableMeta(), "reads no rows of it");
            } else if (node instanceof LogicalRelation relation) {
                refuse(relation.catalogTable(), "reads no rows of it");
            } else if (node instanceof InsertIntoHiveTable insert) {
                refuse(insert.table(), "writes files that Hive cannot read");
            } else if (node instanceof InsertIntoHadoopFsRelationCommand insert) {
                refuse(insert.catalogTable(), "writes files that Hive cannot read");
            } else if (node instanceof LoadDataCommand load) {
                refuse(tableOf(load.table()), "writes files that Hive cannot read");
            } else if (node instanceof TruncateTableCommand truncate) {
                refuse(tableOf(truncate.tableName()), "deletes its rows without a transaction");
            }
        }

        /** None if there is no such table: Spark says so itself. */
        private Option<CatalogTable> tableOf(TableIdentifier name) {
            try {
                SessionCatalog catalog = ((org.apache.spark.sql.classic.SparkSession) session).sessionState().catalog();
                return Option.apply(catalog.getTableMetadata(name));
            } catch (NoSuchNamespaceException | NoSuchTableException absent) {
                return Option.empty();
            }
        }

        private static void refuse(Option<CatalogTable> table, String why) {
            if (table.isDefined()) {
                refuse(table.get(), why);
            }
        }

        private static void refuse(CatalogTable table, String why) {
            if ("true".equalsIgnoreCase(property(table, "transactional"))) {
                boolean isInsertOnly = "insert_only".equalsIgnoreCase(property(table, "transactional_properties"));
                throw new UnsupportedOperationException(table.qualifiedName() + " is " + (isInsertOnly ? "an insert-only" : "a full ACID")
                    + " table of Hive. Spark does not know such tables: it " + why + ". Ask HiveServer2.");
            }
        }

        private static String property(CatalogTable table, String name) {
            Option<String> found = table.properties().get(name);
            return found.isDefined() ? found.get() : "";
        }
    }
}
