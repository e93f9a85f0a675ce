package indextables;

import org.apache.spark.sql.execution.LocalTableScanExec;
import scala.Option;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;

/**
 * Rows that the driver answered with, in the plan that Spark carries out. `explain` and the SQL page of Spark's UI show the line that
 * says what the table was asked. Spark's class has other fields in other versions: where this one does not compile, Spark's own is taken.
 * So it is where executors are other processes, because Spark's operators take the plan below them along to their tasks.
 */
public class AnswerScan extends LocalTableScanExec {
    private final String description;

    /** Spark copies a node by the constructor that takes the fields of the node and then `otherCopyArgs`. */
    public AnswerScan(Seq output, Seq rows, Option stream, boolean useSingleTask, String description) {
        super(output, rows, stream, useSingleTask);
        this.description = description;
    }

    /** The same for rows of a plan that is not carried out yet. */
    public AnswerScan(AnswerRows rows) {
        this(rows.output(), rows.data(), rows.stream(), false, rows.description());
    }

    public String nodeName() {
        return "LocalTableScan";
    }

    public Seq otherCopyArgs() {
        return (Seq) ((Seq) Nil$.MODULE$).prepended(description);
    }

    public String simpleString(int maxFields) {
        return super.simpleString(maxFields) + " indextables " + description;
    }

    public String verboseStringWithOperatorId() {
        return super.verboseStringWithOperatorId() + "Answer: indextables " + description + "\n";
    }
}
