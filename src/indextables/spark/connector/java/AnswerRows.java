package indextables;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation$;
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

    /** One step: a node over an answer becomes rows, if Spark can compute it without a job. */
    public static class Fold extends AbstractPartialFunction {
        public boolean isDefinedAt(Object node) {
            Seq children = ((LogicalPlan) node).children();
            return children.length() == 1 && children.apply(0) instanceof AnswerRows;
        }

        public Object applyOrElse(Object node, Function1 otherwise) {
            if (!isDefinedAt(node)) return otherwise.apply(node);
            LogicalPlan made = ConvertToLocalRelation$.MODULE$.apply((LogicalPlan) node);
            if (!(made instanceof LocalRelation)) return made;
            LocalRelation rows = (LocalRelation) made;
            String description = ((AnswerRows) ((LogicalPlan) node).children().apply(0)).description;
            return new AnswerRows(rows.output(), rows.data(), rows.isStreaming(), rows.stream(), description);
        }
    }
}
