package indextables;

import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import scala.collection.Iterator;
import scala.collection.immutable.ArraySeq$;
import scala.collection.immutable.Seq;

/**
 * The way of a column from the scan that reads it up through a plan. Only such nodes are passed as give the same rows whether rows
 * with other values of the column are left out before them or after them.
 *
 * A plan is never changed in place: a scan may be in two places of it.
 */
public class Lineage {
    private Lineage() {}

    /** What is done with the scan at the end of the way. */
    abstract static class Change {
        /** The other scan; null to leave the scan as it is. */
        abstract Scan scan(TaskScan scan, String column);

        /** What is left of the condition of a filter on the way, null for nothing. */
        Expression condition(Expression condition, Attribute column) {
            return condition;
        }

        LogicalPlan filter(Filter filter, Attribute column) {
            Expression left = condition(filter.condition(), column);
            if (left == null) return filter.child();
            return left == filter.condition() ? filter : new Filter(left, filter.child());
        }
    }

    static Seq seq(LogicalPlan[] plans) {
        return ArraySeq$.MODULE$.unsafeWrapArray(plans);
    }

    /** True if each row of a side stays one row of the join, or some, or none, whatever the other rows of the side are. */
    static boolean passes(JoinType type, boolean left) {
        String name = type.toString();
        if (name.equals("Inner") || name.equals("Cross")) return true;
        return left ? name.equals("LeftOuter") || name.equals("LeftSemi") || name.equals("LeftAnti") : name.equals("RightOuter");
    }

    /** Whether a plan reads a table of ours by tasks; asked first, because it is asked quickly. */
    static boolean reads(LogicalPlan plan) {
        if (plan instanceof DataSourceV2ScanRelation) return ((DataSourceV2ScanRelation) plan).scan() instanceof TaskScan;
        Iterator children = plan.children().iterator();
        while (children.hasNext()) {
            if (reads((LogicalPlan) children.next())) return true;
        }
        return false;
    }

    /** A plan with another scan for the one that a column comes from; the plan itself where something is in the way. */
    static LogicalPlan changed(LogicalPlan plan, Attribute column, Change change) {
        if (plan instanceof DataSourceV2ScanRelation) return scanned((DataSourceV2ScanRelation) plan, column, change);
        if (!plan.deterministic()) return plan;
        if (plan instanceof Sort) return child(plan, column, change);
        if (plan instanceof Filter) {
            LogicalPlan other = child(plan, column, change);
            return other == plan ? plan : change.filter((Filter) other, column);
        }
        if (plan instanceof Project) return child(plan, source(((Project) plan).projectList(), column), change);
        if (plan instanceof Aggregate) {
            Attribute key = source(((Aggregate) plan).aggregateExpressions(), column);
            Iterator groups = ((Aggregate) plan).groupingExpressions().iterator();
            while (key != null && groups.hasNext()) {
                if (key.semanticEquals((Expression) groups.next())) return child(plan, key, change);
            }
            return plan;
        }
        if (plan instanceof Join) {
            Join join = (Join) plan;
            LogicalPlan left = join.left();
            LogicalPlan right = join.right();
            if (left.outputSet().contains(column)) {
                if (passes(join.joinType(), true)) left = changed(left, column, change);
            } else if (right.outputSet().contains(column)) {
                if (passes(join.joinType(), false)) right = changed(right, column, change);
            }
            return left == join.left() && right == join.right() ? plan : (LogicalPlan) plan.withNewChildren(seq(new LogicalPlan[] {left, right}));
        }
        return plan instanceof Union ? parts((Union) plan, column, change) : plan;
    }

    private static LogicalPlan child(LogicalPlan plan, Attribute column, Change change) {
        if (column == null) return plan;
        LogicalPlan before = (LogicalPlan) plan.children().head();
        LogicalPlan after = changed(before, column, change);
        return before == after ? plan : (LogicalPlan) plan.withNewChildren(seq(new LogicalPlan[] {after}));
    }

    /** The column of the child that a column of a projection is, under this name or another one; null for an expression. */
    private static Attribute source(Seq expressions, Attribute column) {
        Iterator all = expressions.iterator();
        while (all.hasNext()) {
            NamedExpression named = (NamedExpression) all.next();
            if (!named.exprId().equals(column.exprId())) continue;
            if (named instanceof Attribute) return (Attribute) named;
            if (named instanceof Alias && ((Alias) named).child() instanceof Attribute) return (Attribute) ((Alias) named).child();
        }
        return null;
    }

    /** The parts of a union have the column at the same position. */
    private static LogicalPlan parts(Union union, Attribute column, Change change) {
        int at = 0;
        while (!((Attribute) union.output().apply(at)).exprId().equals(column.exprId())) at++;
        LogicalPlan[] parts = new LogicalPlan[union.children().length()];
        boolean same = true;
        for (int i = 0; i < parts.length; i++) {
            LogicalPlan part = (LogicalPlan) union.children().apply(i);
            Attribute own = (Attribute) part.output().apply(at);
            parts[i] = own.dataType().equals(column.dataType()) ? changed(part, own, change) : part;
            same = same && parts[i] == part;
        }
        return same ? union : (LogicalPlan) union.withNewChildren(seq(parts));
    }

    /** A relation with a scan of its own. The relation's other fields are taken as they are: each version of Spark has others. */
    private static LogicalPlan scanned(DataSourceV2ScanRelation relation, Attribute column, Change change) {
        if (!(relation.scan() instanceof TaskScan)) return relation;
        Object scan = change.scan((TaskScan) relation.scan(), column.name());
        if (scan == null) return relation;
        Object[] fields = new Object[relation.productArity()];
        for (int i = 0; i < fields.length; i++) {
            Object field = relation.productElement(i);
            fields[i] = field == relation.scan() ? scan : field;
        }
        return (LogicalPlan) relation.makeCopy(fields);
    }
}
