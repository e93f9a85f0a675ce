package indextables;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import scala.Option;
import scala.runtime.AbstractFunction1;

/**
 * Tells a write which tables of ours its query reads, also through cached rows. A table that is overwritten with what was computed from it
 * must not lose the rows that somebody else added in between.
 */
public class WriteReads extends Rule {
    public WriteReads() {}

    public TreeNode apply(TreeNode node) {
        Option write = Option.empty();
        if (node instanceof AppendData) write = ((AppendData) node).write(); // so REPLACE TABLE … AS SELECT writes its rows
        if (node instanceof OverwriteByExpression) write = ((OverwriteByExpression) node).write();
        if (node instanceof OverwritePartitionsDynamic) write = ((OverwritePartitionsDynamic) node).write();
        if (write.isDefined() && write.get() instanceof TableWrite) {
            Find find = new Find();
            ((V2WriteCommand) node).query().foreachWithSubqueries(find);
            ((TableWrite) write.get()).reads(find.handles);
        }
        return node;
    }

    /** The handles of all tables of ours that a plan reads, also through cached rows. */
    public static class Find extends AbstractFunction1 {
        final List handles = new ArrayList();

        public Object apply(Object node) {
            Object table = null;
            if (node instanceof DataSourceV2Relation) table = ((DataSourceV2Relation) node).table();
            if (node instanceof DataSourceV2ScanRelation) {
                table = ReadPlanner.table(((DataSourceV2ScanRelation) node).scan());
                if (table == null) table = ((DataSourceV2ScanRelation) node).relation().table();
            }
            if (table instanceof IndexTable) handles.add(((IndexTable) table).handle);
            if (node instanceof InMemoryRelation) {
                ((LogicalPlan) ((InMemoryRelation) node).cacheBuilder().logicalPlan()).foreachWithSubqueries(this);
            }
            return null;
        }
    }
}
