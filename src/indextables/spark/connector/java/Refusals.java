package indextables;

import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.command.CreateTableLikeCommand;
import org.apache.spark.sql.execution.command.InsertIntoDataSourceDirCommand;
import scala.Option;

/**
 * Statements that Spark carries out without asking a table of ours, or plans in a way that no table of ours takes. They are refused in one
 * line, which says what to do instead. Where versions of Spark have other classes for a statement, its class is known by its name.
 */
public class Refusals extends Rule {
    public Refusals() {}

    public TreeNode apply(TreeNode node) {
        String what = node.getClass().getSimpleName();
        if (what.equals("AddCheckConstraint")) RowChanges.refuse("constraint", (LogicalPlan) node.children().apply(0));
        if (what.equals("CreateTableLike")) likeTable(node);
        if (node instanceof CreateTableLikeCommand) likeEntry((CreateTableLikeCommand) node);
        if (node instanceof InsertIntoDataSourceDirCommand) directory((InsertIntoDataSourceDirCommand) node);
        return node;
    }

    /** Newer versions of Spark ask the catalogs, where the table or what it should be like is in a catalog of ours. */
    private static void likeTable(TreeNode node) {
        Object name = node.children().apply(0);
        Object source = node.children().apply(1);
        Table table = source instanceof ResolvedTable ? ((ResolvedTable) source).table() : null;
        boolean place = name instanceof ResolvedIdentifier && ((ResolvedIdentifier) name).catalog() instanceof PathCatalog;
        if (!place && !(table instanceof IndexTable)) return;
        SessionEntry.refuse("like", name instanceof ResolvedIdentifier ? ((ResolvedIdentifier) name).identifier().name() : "n");
    }

    /** Spark's own catalog gets an entry, without a table. */
    private static void likeEntry(CreateTableLikeCommand like) {
        Option provider = like.provider();
        if (!provider.isDefined() && !like.fileFormat().inputFormat().isDefined()) {
            CatalogTable source = ((SparkSession) SparkSession.active()).sessionState().catalog()
                .getTempViewOrPermanentTableMetadata(like.sourceTable());
            provider = source.provider();
        }
        if (ours(provider)) SessionEntry.refuse("like", like.targetTable().table());
    }

    private static void directory(InsertIntoDataSourceDirCommand insert) {
        Option place = insert.storage().locationUri();
        if (ours(Option.apply(insert.provider()))) SessionEntry.refuse("directory", place.isDefined() ? place.get().toString() : "url");
    }

    private static boolean ours(Option provider) {
        return provider.isDefined() && SessionEntry.FORMAT.equalsIgnoreCase((String) provider.get());
    }
}
