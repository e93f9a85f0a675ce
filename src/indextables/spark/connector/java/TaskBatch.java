package indextables;

import java.util.Map;

import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.execution.datasources.v2.python.PythonPartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * The tasks of one read. Spark takes the reader factory from the first batch of a scan and the partitions from a second one, after
 * runtime filters. So a task's partition holds all that the task needs.
 */
public class TaskBatch implements Batch {
    private final Map question;
    private final String key;
    private final StructType schema;
    private byte[][] planned;

    TaskBatch(Map question, StructType schema) {
        this.question = question;
        this.key = TaskScan.key(question);
        this.schema = schema;
    }

    /** The first part is the function that a worker runs, the others are the partitions. */
    private synchronized byte[][] planned() {
        if (planned == null) {
            question.put("processors", Integer.valueOf(Settings.processors()));
            planned = Python.ask("tasks", question);
        }
        return planned;
    }

    public InputPartition[] planInputPartitions() {
        byte[][] parts = planned();
        InputPartition[] out = new InputPartition[parts.length - 1];
        for (int i = 0; i < out.length; i++) out[i] = new PythonInputPartition(i, parts[i + 1]);
        return out;
    }

    public PartitionReaderFactory createReaderFactory() {
        return new PythonPartitionReaderFactory(Python.source(), planned()[0], schema, Option.empty(), Option.empty());
    }

    /** Spark compares batches to find scans that it can run once for two places of a plan. */
    public boolean equals(Object other) {
        return other instanceof TaskBatch && ((TaskBatch) other).key.equals(key);
    }

    public int hashCode() {
        return key.hashCode();
    }
}
