package indextables;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonPartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * Who reads the tasks of a read. Tasks that run in the driver are read by the driver's Python, which hands columns over: Spark's generated
 * code reads these as those of Parquet files. Other tasks are read by Spark's own classes for Python sources, which hand rows over:
 * executors have no class of ours.
 */
public class Columns {
    private Columns() {}

    /** True if the tasks of this session run in the driver. */
    static boolean possible() {
        return SparkSession.active().sparkContext().isLocal();
    }

    /** What makes the readers of tasks. */
    static PartitionReaderFactory factory(byte[] function, StructType schema, boolean columns) {
        if (columns) return new DriverFactory(function, schema);
        return new PythonPartitionReaderFactory(Python.source(), function, schema, Option.empty(), Option.empty());
    }
}
