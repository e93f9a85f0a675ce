package indextables;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.ArraySeq$;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * Rows of the plan that the driver answered with, and the line that says what the table was asked: version, files, bytes, filters. To
 * Spark it is a local relation as any other; `explain` shows the line.
 */
public class AnswerRows extends LocalRelation {
    private final String description;

    /** Spark copies a node by the constructor that takes the fields of the node and then `otherCopyArgs`. */
    public AnswerRows(Seq output, Seq data, boolean isStreaming, Option stream, String description) {
        super(output, data, isStreaming, stream);
        this.description = description;
    }

    static AnswerRows of(Seq output, LocalAnswer answer) {
        InternalRow[] rows = answer.rows();
        return new AnswerRows(output, ArraySeq$.MODULE$.unsafeWrapArray(rows), false, Option.empty(), answer.description());
    }

    public String nodeName() {
        return "LocalRelation";
    }

    String description() {
        return description;
    }

    public Seq otherCopyArgs() {
        return (Seq) ((Seq) Nil$.MODULE$).prepended(description);
    }

    public String simpleString(int maxFields) {
        return super.simpleString(maxFields) + " indextables " + description;
    }

    /** What Spark computes of an answer alone (a projection, a filter, a limit) is computed at once, and stays an answer. */
    static LogicalPlan folded(LogicalPlan plan) {
        return (LogicalPlan) plan.transformUp(new Fold());
    }

    /** The answer that a node stands upon alone; null where there is none. The two nodes of a limit go together or stay together. */
    private static AnswerRows below(LogicalPlan node) {
        if (node instanceof LocalLimit || node.children().length() != 1) return null;
        Object child = node.children().apply(0);
        if (node instanceof GlobalLimit && child instanceof LocalLimit) child = ((LocalLimit) child).child();
        return child instanceof AnswerRows ? (AnswerRows) child : null;
    }

    /** One step: a node over an answer becomes rows, if Spark can compute it without a job. */
    public static class Fold extends AbstractPartialFunction {
        public boolean isDefinedAt(Object node) {
            return below((LogicalPlan) node) != null;
        }

        public Object applyOrElse(Object node, Function1 otherwise) {
            if (!isDefinedAt(node)) return otherwise.apply(node);
            LogicalPlan made = ConvertToLocalRelation$.MODULE$.apply((LogicalPlan) node);
            if (!(made instanceof LocalRelation)) return made;
            LocalRelation rows = (LocalRelation) made;
            return new AnswerRows(rows.output(), rows.data(), rows.isStreaming(), rows.stream(), below((LogicalPlan) node).description());
        }
    }
}
