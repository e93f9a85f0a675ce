package indextables;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonPartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * How the rows of a task reach Spark: as columns, which Spark's generated code reads as those of Parquet files, or one by one.
 *
 * Columns need a class of ours where tasks run. Executors have none, so columns are for tasks that run in the driver. The class uses
 * more of Spark's inner classes than the rest of the connector: it is missing where it does not compile.
 */
public class Columns {
    private static final String FACTORY = "indextables.ColumnFactory";
    private static final Constructor MAKE = constructor();

    private Columns() {}

    private static Constructor constructor() {
        try {
            return Class.forName(FACTORY).getConstructor(new Class[] {UserDefinedPythonDataSource.class, byte[].class, StructType.class});
        } catch (ClassNotFoundException e) {
            return null;
        } catch (NoSuchMethodException e) {
            return null;
        }
    }

    /** True if tasks of this session can hand columns over. */
    static boolean possible() {
        return MAKE != null && SparkSession.active().sparkContext().isLocal();
    }

    /** What makes the readers of tasks. */
    static PartitionReaderFactory factory(byte[] function, StructType schema, boolean columns) {
        UserDefinedPythonDataSource source = Python.source();
        if (!columns) return new PythonPartitionReaderFactory(source, function, schema, Option.empty(), Option.empty());
        try {
            return (PartitionReaderFactory) MAKE.newInstance(new Object[] {source, function, schema});
        } catch (InstantiationException e) {
            throw new IllegalArgumentException("indextables: no reader of columns: " + e.getMessage());
        } catch (IllegalAccessException e) {
            throw new IllegalArgumentException("indextables: no reader of columns: " + e.getMessage());
        } catch (InvocationTargetException e) {
            throw new IllegalArgumentException("indextables: no reader of columns: " + e.getCause());
        }
    }
}
