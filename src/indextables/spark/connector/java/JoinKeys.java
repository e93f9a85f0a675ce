package indextables;

import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.connector.read.Scan;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/**
 * A join of a table of ours with rows that the plan has already: the table gets the keys of these rows, and reads nothing else. Spark
 * makes such filters only where the other side has a filter left, and while the query runs.
 *
 * The join stays as it is, so the table may give more rows than fit. A plan is never changed in place: a scan may be in two places of it.
 */
public class JoinKeys extends Rule {
    public JoinKeys() {}

    public TreeNode apply(TreeNode node) {
        LogicalPlan plan = (LogicalPlan) node;
        return plan.containsPattern(TreePattern.JOIN()) ? plan.transformUp(new Hand()) : plan;
    }

    /** True if the rows of a side that fit no row of the other side are dropped by a join. */
    static boolean drops(JoinType type, boolean left) {
        String name = type.toString();
        if (name.equals("Inner") || name.equals("Cross") || name.equals("LeftSemi")) return true;
        return left ? name.equals("RightOuter") : name.equals("LeftOuter") || name.equals("LeftAnti");
    }

    /** Joins, from the leaves up, with sides that read less. */
    public static class Hand extends AbstractPartialFunction {
        public boolean isDefinedAt(Object node) {
            return node instanceof Join && ((Join) node).condition().isDefined();
        }

        public Object applyOrElse(Object node, Function1 otherwise) {
            if (!isDefinedAt(node)) return otherwise.apply(node);
            Join join = (Join) node;
            LogicalPlan left = join.left();
            LogicalPlan right = join.right();
            if (drops(join.joinType(), true)) left = narrowed(left, right, (Expression) join.condition().get());
            if (drops(join.joinType(), false)) right = narrowed(right, left, (Expression) join.condition().get());
            if (left == join.left() && right == join.right()) return join;
            return join.withNewChildren(Lineage.seq(new LogicalPlan[] {left, right}));
        }
    }

    /** A side of a join, with a filter for each part of the condition that compares a column of the side with keys of the other. */
    private static LogicalPlan narrowed(LogicalPlan side, LogicalPlan other, Expression condition) {
        if (condition instanceof And) {
            return narrowed(narrowed(side, other, ((And) condition).left()), other, ((And) condition).right());
        }
        if (!(condition instanceof EqualTo)) return side;
        Expression one = ((EqualTo) condition).left();
        Expression two = ((EqualTo) condition).right();
        if (two instanceof Attribute && side.outputSet().contains((NamedExpression) two)) {
            Expression turned = one;
            one = two;
            two = turned;
        }
        if (!(one instanceof Attribute) || !side.outputSet().contains((NamedExpression) one)) return side;
        if (!Lineage.reads(side) || !two.references().subsetOf(other.outputSet())) return side;
        LocalKeys keys = LocalKeys.of(other, two);
        return keys == null ? side : Lineage.changed(side, (Attribute) one, new Narrow(keys));
    }

    /** A scan gets the keys of a join. What Spark would find out of the same keys while the query runs is not needed any more. */
    static class Narrow extends Lineage.Change {
        private final LocalKeys keys;

        Narrow(LocalKeys keys) {
            this.keys = keys;
        }

        Scan scan(TaskScan scan, String column) {
            return scan.joined(column, keys);
        }

        Expression condition(Expression condition, Attribute column) {
            if (condition instanceof And) {
                Expression one = condition(((And) condition).left(), column);
                Expression two = condition(((And) condition).right(), column);
                if (one == null || two == null) return one == null ? two : one;
                return one == ((And) condition).left() && two == ((And) condition).right() ? condition : new And(one, two);
            }
            boolean same = condition instanceof DynamicPruningSubquery && ((DynamicPruningSubquery) condition).pruningKey().semanticEquals(column);
            return same ? null : condition;
        }
    }
}
