package indextables;

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
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.runtime.AbstractFunction1;

/**
 * UPDATE and MERGE INTO of a table of ours are refused in one line, which says what to do instead. So is DELETE where the rows of the
 * table are cached: Spark puts the cached rows in the place of the table, and then does not know what to delete from. And so is DELETE from
 * a view of a part of a table, which would delete the other rows, too.
 */
public class RowChanges extends Rule {
    private static final String[] PART_OPTIONS = {"versionAsOf", "timestampAsOf", "query", "where", "limit"};

    public RowChanges() {}

    public TreeNode apply(TreeNode node) {
        if (node instanceof UpdateTable) refuse("update", ((UpdateTable) node).table());
        if (node instanceof MergeIntoTable) refuse("merge", ((MergeIntoTable) node).targetTable());
        if (node instanceof DeleteFromTable) {
            LogicalPlan target = ((DeleteFromTable) node).table();
            if (target instanceof InMemoryRelation) refuse("delete cached", target);
            if (isPart(target)) refuse("delete part", target);
        }
        return node;
    }

    /** Whether a table with a name is read with a reader's option that leaves rows out. These options are not in the table's own text. */
    private static boolean isPart(LogicalPlan target) {
        if (target instanceof DataSourceV2ScanRelation) target = ((DataSourceV2ScanRelation) target).relation();
        if (!(target instanceof DataSourceV2Relation)) return false;
        CaseInsensitiveStringMap options = ((DataSourceV2Relation) target).options();
        for (int i = 0; i < PART_OPTIONS.length; i++) if (options.containsKey(PART_OPTIONS[i])) return true;
        return false;
    }

    /** An error, if a plan reads a table of ours. */
    static void refuse(String what, LogicalPlan target) {
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
