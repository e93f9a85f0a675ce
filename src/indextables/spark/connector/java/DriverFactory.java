package indextables;

import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.types.StructType;

/** Readers for tasks that run in the driver. Executors have no class of ours: see Columns. */
public class DriverFactory implements PartitionReaderFactory {
    private final byte[] function;
    private final StructType schema;

    DriverFactory(byte[] function, StructType schema) {
        this.function = function;
        this.schema = schema;
    }

    public boolean supportColumnarReads(InputPartition partition) {
        return true;
    }

    public PartitionReader createReader(InputPartition partition) {
        throw new UnsupportedOperationException("indextables: a read of columns was asked for rows");
    }

    public PartitionReader createColumnarReader(InputPartition partition) {
        return new DriverReader(function, ((PythonInputPartition) partition).pickedPartition(), schema);
    }
}
