package indextables;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.HasPartitionKey;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;

/**
 * The partition of a task, as the driver sees it: where the task should run. Executors have no class of ours, so what travels is
 * Spark's own partition for Python sources.
 */
public class TaskPart extends PythonInputPartition {
    private final String place;

    /** `place` is one of Settings.executors(), or empty for any. */
    TaskPart(int index, byte[] task, String place) {
        super(index, task);
        this.place = place;
    }

    public String[] preferredLocations() {
        return place.isEmpty() ? new String[0] : new String[] {place};
    }

    protected Object writeReplace() {
        return new PythonInputPartition(index(), pickedPartition());
    }

    /** A task that reads one partition of the table: all rows have the same values of the partition columns. */
    public static class Keyed extends TaskPart implements HasPartitionKey {
        private final InternalRow key;

        Keyed(int index, byte[] task, String place, InternalRow key) {
            super(index, task, place);
            this.key = key;
        }

        public InternalRow partitionKey() {
            return key;
        }
    }
}
