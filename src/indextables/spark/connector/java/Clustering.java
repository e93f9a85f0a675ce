package indextables;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.internal.SQLConf;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * Joins, groups and windows by all partition columns of a table: the table's tasks read one partition each, so that Spark exchanges
 * no rows between tasks. A read that does not need it keeps its few tasks.
 */
public class Clustering extends Rule {
    /** Where this is true, as by default, Spark exchanges the rows of a join that has keys beside the partition columns. */
    private static final String ALL_KEYS = "spark.sql.requireAllClusterKeysForCoPartition";

    public Clustering() {}

    public TreeNode apply(TreeNode node) {
        LogicalPlan plan = (LogicalPlan) node;
        if (!SQLConf.get().v2BucketingEnabled() || !Lineage.reads(plan)) return plan;
        return plan.transformUp(new Cluster());
    }

    /** Nodes that exchange rows by keys, over scans that are read by the same keys. */
    public static class Cluster extends AbstractPartialFunction {
        public boolean isDefinedAt(Object node) {
            return node instanceof Join || node instanceof Aggregate || node instanceof Window;
        }

        public Object applyOrElse(Object node, Function1 otherwise) {
            if (node instanceof Join) return joined((Join) node);
            if (node instanceof Aggregate) return grouped((LogicalPlan) node, attributes(((Aggregate) node).groupingExpressions()));
            if (node instanceof Window) return grouped((LogicalPlan) node, attributes(((Window) node).partitionSpec()));
            return otherwise.apply(node);
        }
    }

    private static List attributes(Seq expressions) {
        List out = new ArrayList();
        Iterator all = expressions.iterator();
        while (all.hasNext()) {
            Object expression = all.next();
            if (expression instanceof Attribute) out.add(expression);
        }
        return out;
    }

    private static LogicalPlan grouped(LogicalPlan plan, List keys) {
        LogicalPlan child = (LogicalPlan) plan.children().head();
        Origin origin = Origin.of(child, keys);
        if (origin == null || !origin.scan.clusters()) return plan;
        LogicalPlan changed = Lineage.changed(child, origin.first, new Mark(origin.scan));
        return changed == child ? plan : (LogicalPlan) plan.withNewChildren(Lineage.seq(new LogicalPlan[] {changed}));
    }

    /** Both sides have the same keys in the same order, or Spark exchanges the rows of both. A small side is sent to all tasks instead. */
    private static LogicalPlan joined(Join join) {
        if (join.condition().isEmpty() || small(join.left()) || small(join.right())) return join;
        List ones = new ArrayList();
        List twos = new ArrayList();
        pairs((Expression) join.condition().get(), join, ones, twos);
        Origin left = Origin.of(join.left(), ones);
        Origin right = left == null ? null : Origin.of(join.right(), twos);
        if (right == null || !Arrays.equals(left.places, right.places)) return join;
        boolean exactly = Boolean.parseBoolean(SQLConf.get().getConfString(ALL_KEYS, "true"));
        if (exactly && equalities((Expression) join.condition().get()) > left.places.length) return join;
        if (!left.scan.clusters() || !right.scan.clusters()) return join;
        LogicalPlan one = Lineage.changed(join.left(), left.first, new Mark(left.scan));
        LogicalPlan two = Lineage.changed(join.right(), right.first, new Mark(right.scan));
        if (one == join.left() && two == join.right()) return join;
        return (LogicalPlan) join.withNewChildren(Lineage.seq(new LogicalPlan[] {one, two}));
    }

    private static boolean small(LogicalPlan plan) {
        return plan.stats().sizeInBytes().$less$eq(scala.math.BigInt.apply(SQLConf.get().autoBroadcastJoinThreshold()));
    }

    private static int equalities(Expression condition) {
        if (condition instanceof And) return equalities(((And) condition).left()) + equalities(((And) condition).right());
        return condition instanceof EqualTo || condition instanceof EqualNullSafe ? 1 : 0;
    }

    /** The columns that a condition says are equal, those of the left side and those of the right side. */
    private static void pairs(Expression condition, Join join, List ones, List twos) {
        if (condition instanceof And) {
            pairs(((And) condition).left(), join, ones, twos);
            pairs(((And) condition).right(), join, ones, twos);
        } else if (condition instanceof EqualTo) {
            Expression one = ((EqualTo) condition).left();
            Expression two = ((EqualTo) condition).right();
            if (!(one instanceof Attribute) || !(two instanceof Attribute)) return;
            boolean turned = join.right().outputSet().contains((NamedExpression) one);
            ones.add(turned ? two : one);
            twos.add(turned ? one : two);
        }
    }

    /** The scan that keys come from, if they are all partition columns of its table. */
    static class Origin {
        TaskScan scan;
        Attribute first;
        int[] places;

        static Origin of(LogicalPlan plan, List keys) {
            Origin out = new Origin();
            List names = new ArrayList();
            for (int i = 0; i < keys.size(); i++) {
                Find find = new Find();
                Lineage.changed(plan, (Attribute) keys.get(i), find);
                boolean same = find.scans.size() == 1 && (out.scan == null || find.scans.contains(out.scan));
                names.add(same ? find.column : null);
                if (same && out.scan == null) {
                    out.scan = (TaskScan) find.scans.iterator().next();
                    out.first = (Attribute) keys.get(i);
                }
            }
            if (out.scan == null) return null;
            String[] columns = out.scan.partitionColumns();
            out.places = new int[columns.length];
            for (int i = 0; i < columns.length; i++) {
                out.places[i] = names.indexOf(columns[i]);
                if (out.places[i] < 0) return null;
            }
            return columns.length == 0 ? null : out;
        }
    }

    /** Looks, and changes nothing. */
    static class Find extends Lineage.Change {
        final Set scans = new HashSet();
        String column;

        Scan scan(TaskScan scan, String name) {
            scans.add(scan);
            column = name;
            return null;
        }
    }

    /** The scan that was found is read by partition. */
    static class Mark extends Lineage.Change {
        private final TaskScan found;

        Mark(TaskScan found) {
            this.found = found;
        }

        Scan scan(TaskScan scan, String column) {
            return scan.equals(found) ? scan.clustered() : null;
        }
    }
}
