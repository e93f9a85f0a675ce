package indextables;

import org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import scala.Function1;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * The last step of the optimizer: answers that are here already become rows of the plan, and what Spark computes of them (a projection,
 * a filter, a limit) is computed at once. Without it Spark starts a job for a projection of ten rows. Functions of ours that no table
 * took over become expressions of Spark's own.
 */
public class LastRule extends Rule {
    public LastRule() {}

    public TreeNode apply(TreeNode node) {
        LogicalPlan plan = (LogicalPlan) node;
        if (plan instanceof DeleteFromTable) return plan; // the table says itself which conditions it takes
        Look look = new Look();
        plan.foreach(look);
        if (look.snippets) plan = Snippets.resolve(plan);
        if (look.buckets) plan = (LogicalPlan) plan.transformDown(new Replace());
        if (!look.found) return plan;
        return ConvertToLocalRelation$.MODULE$.apply(AnswerRows.folded((LogicalPlan) plan.transformDown(new Fold())));
    }

    static boolean isAnswer(Object node) {
        return node instanceof DataSourceV2ScanRelation && ((DataSourceV2ScanRelation) node).scan() instanceof LocalAnswer;
    }

    /** Whether a plan has an answer that is here already. A search that no table took over is an error. */
    public static class Look extends AbstractFunction1 {
        boolean found = false;
        boolean buckets = false;
        boolean snippets = false;

        public Object apply(Object node) {
            if (node instanceof DataSourceV2ScanRelation) {
                // its expressions are what the table took over already
                found |= isAnswer(node);
            } else if (node instanceof LogicalPlan && !(node instanceof DeleteFromTable)) { // tables say which conditions they delete by
                Iterator expressions = ((LogicalPlan) node).expressions().iterator();
                while (expressions.hasNext()) ((TreeNode) expressions.next()).foreach(this);
            } else if (node instanceof ApplyFunctionExpression) {
                Object function = ((ApplyFunctionExpression) node).function();
                if (function instanceof SearchFunction) throw new IllegalArgumentException(((SearchFunction) function).misplaced());
                buckets |= function instanceof BucketFunction;
                snippets |= function instanceof SnippetFunction;
            }
            return null;
        }
    }

    /** A node of the plan with Spark's own expressions in the place of functions that executors do not have. */
    public static class Replace extends AbstractPartialFunction {
        public boolean isDefinedAt(Object node) {
            return !(node instanceof DataSourceV2ScanRelation);
        }

        public Object applyOrElse(Object node, Function1 otherwise) {
            return isDefinedAt(node) ? ((LogicalPlan) node).transformExpressionsUp(new ReplaceCall()) : otherwise.apply(node);
        }
    }

    /** A bucket as an expression of Spark's own. */
    public static class ReplaceCall extends AbstractPartialFunction {
        public boolean isDefinedAt(Object node) {
            return node instanceof ApplyFunctionExpression && ((ApplyFunctionExpression) node).function() instanceof BucketFunction;
        }

        public Object applyOrElse(Object node, Function1 otherwise) {
            if (!isDefinedAt(node)) return otherwise.apply(node);
            ApplyFunctionExpression call = (ApplyFunctionExpression) node;
            return ((BucketFunction) call.function()).over((Expression) call.children().apply(0));
        }
    }

    /** An answer as rows of the plan. */
    public static class Fold extends AbstractPartialFunction {
        public boolean isDefinedAt(Object node) {
            return isAnswer(node);
        }

        public Object applyOrElse(Object node, Function1 otherwise) {
            if (!isAnswer(node)) return otherwise.apply(node);
            DataSourceV2ScanRelation relation = (DataSourceV2ScanRelation) node;
            return AnswerRows.of(relation.output(), (LocalAnswer) relation.scan());
        }
    }
}
