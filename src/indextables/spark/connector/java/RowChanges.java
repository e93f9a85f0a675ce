package indextables;

import java.util.Map;

import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import scala.runtime.AbstractFunction1;

/**
 * UPDATE and MERGE INTO of a table of ours are refused in one line, which says what to do instead. So is DELETE where the rows of the
 * table are cached: Spark puts the cached rows in the place of the table, and then does not know what to delete from.
 */
public class RowChanges extends Rule {
    public RowChanges() {}

    public TreeNode apply(TreeNode node) {
        if (node instanceof UpdateTable) refuse("update", ((UpdateTable) node).table());
        if (node instanceof MergeIntoTable) refuse("merge", ((MergeIntoTable) node).targetTable());
        if (node instanceof DeleteFromTable && ((DeleteFromTable) node).table() instanceof InMemoryRelation) {
            refuse("delete cached", ((DeleteFromTable) node).table());
        }
        return node;
    }

    private static void refuse(String what, LogicalPlan target) {
        Find find = new Find();
        target.foreach(find);
        if (find.table == null) return;
        SessionEntry.refuse(what, find.table.name());
    }

    /** The table of ours that a plan reads, or whose cached rows it reads. */
    public static class Find extends AbstractFunction1 {
        Table table;

        public Object apply(Object node) {
            Table found = null;
            if (node instanceof DataSourceV2Relation) found = ((DataSourceV2Relation) node).table();
            if (node instanceof DataSourceV2ScanRelation) found = ((DataSourceV2ScanRelation) node).relation().table();
            if (found instanceof IndexTable) table = found;
            if (node instanceof InMemoryRelation) ((InMemoryRelation) node).cacheBuilder().logicalPlan().foreach(this);
            return null;
        }
    }
}
