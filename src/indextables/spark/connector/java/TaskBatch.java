package indextables;

import java.lang.ref.SoftReference;
import java.util.Map;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.types.StructType;

/**
 * The tasks of one read. Spark takes the reader factory from the first batch of a scan and the partitions from a second one, after
 * runtime filters. So a task's partition holds all that the task needs.
 */
public class TaskBatch implements Batch {
    /** Where the tasks begin in Python's answer. */
    private static final int TASKS = 5;
    private static final int NAME = 4;

    /** The tasks of a very large table, as Python answered last. Moving them takes longer than all else that is planned. */
    private static volatile SoftReference kept = new SoftReference(null);

    private final Map question;
    private final String key;
    private final StructType schema;
    private final StructType keys;
    private final boolean columns;
    private byte[][] planned;

    /** `keys` are the partition columns of the table, if the read is by partition. With `columns` tasks hand columns over, else rows. */
    TaskBatch(Map question, StructType schema, StructType keys, boolean columns) {
        this.question = question;
        this.key = TaskScan.key(question);
        this.schema = schema;
        this.keys = keys;
        this.columns = columns;
    }

    /**
     * The function that a worker runs; the partition values of all tasks; the places of all tasks; numbers for Spark's UI; the name by
     * which Python knows the tasks, if it has one; then a part for each task, unless they are kept here by this name.
     */
    private synchronized byte[][] planned() {
        if (planned == null) {
            question.put("processors", Integer.valueOf(Settings.processors()));
            question.put("executors", Settings.executors());
            byte[][] before = (byte[][]) kept.get();
            if (before != null) question.put("kept", Python.text(before[NAME]));
            planned = whole(Answer.ofPool("tasks", question), before);
            if (planned[NAME].length > 0) kept = new SoftReference(planned);
        }
        return planned;
    }

    /** An answer with its tasks, which are those of the answer before where Python names them and leaves them out. */
    private static byte[][] whole(byte[][] answer, byte[][] before) {
        if (answer[NAME].length == 0 || answer.length > TASKS) return answer;
        byte[][] out = (byte[][]) before.clone();
        System.arraycopy(answer, 0, out, 0, TASKS);
        return out;
    }

    public InputPartition[] planInputPartitions() {
        byte[][] parts = planned();
        InputPartition[] out = new InputPartition[parts.length - TASKS];
        InternalRow[] values = parts[1].length == 0 ? null : ArrowRows.read(parts[1], keys);
        String[] places = Python.lines(parts[2]);
        for (int i = 0; i < out.length; i++) {
            byte[] task = parts[i + TASKS];
            String place = places.length == 0 ? "" : places[i];
            if (values != null) out[i] = new TaskPart.Keyed(i, task, place, values[i]);
            else out[i] = place.isEmpty() ? new PythonInputPartition(i, task) : new TaskPart(i, task, place);
        }
        return out;
    }

    /** The numbers of the read, one after the other, as TaskScan names them. */
    long[] numbers() {
        String[] lines = Python.lines(planned()[3]);
        long[] out = new long[lines.length];
        for (int i = 0; i < out.length; i++) out[i] = Long.parseLong(lines[i]);
        return out;
    }

    public PartitionReaderFactory createReaderFactory() {
        return Columns.factory(planned()[0], schema, columns);
    }

    /** Spark compares batches to find scans that it can run once for two places of a plan. */
    public boolean equals(Object other) {
        return other instanceof TaskBatch && ((TaskBatch) other).key.equals(key);
    }

    public int hashCode() {
        return key.hashCode();
    }
}
