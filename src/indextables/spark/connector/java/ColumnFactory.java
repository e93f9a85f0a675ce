package indextables;

import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.types.StructType;

/**
 * Readers of columns. This class, ColumnReader and Column are the only ones of ours that a task needs. So a read has them where tasks
 * run in the driver, and Spark's own factory of rows anywhere else: see Columns.
 */
public class ColumnFactory implements PartitionReaderFactory {
    private final UserDefinedPythonDataSource source;
    private final byte[] function;
    private final StructType schema;

    public ColumnFactory(UserDefinedPythonDataSource source, byte[] function, StructType schema) {
        this.source = source;
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
        return new ColumnReader(source, function, schema, ((PythonInputPartition) partition).pickedPartition());
    }
}
