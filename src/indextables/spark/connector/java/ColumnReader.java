package indextables;

import org.apache.spark.TaskContext;
import org.apache.spark.api.python.ChainedPythonFunctions;
import org.apache.spark.api.python.PythonEvalType;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.errors.QueryExecutionErrors;
import org.apache.spark.sql.execution.datasources.v2.python.PythonCustomMetric;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.python.ArrowPythonRunner;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataType$;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.AccumulatorV2;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.Iterator$;
import scala.collection.immutable.Map;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;

/**
 * The batches of one task, as Spark's own reader of Python sources gets them from the worker, without making rows of them. A
 * batch holds until the next one is read. Spark's runner owns the memory, and releases it when the task ends.
 */
public class ColumnReader implements PartitionReader {
    private final UserDefinedPythonDataSource source;
    private final StructType schema;
    private final Map metrics;
    private final Iterator batches;
    private boolean checked = false;

    ColumnReader(UserDefinedPythonDataSource source, byte[] function, StructType schema, byte[] task) {
        this.source = source;
        this.schema = schema;
        this.metrics = metrics();
        SQLConf conf = SQLConf.get();
        TaskContext context = TaskContext.get();
        ChainedPythonFunctions chain = new ChainedPythonFunctions(one(source.createPythonFunction(function)));
        ArrowPythonRunner runner = new ArrowPythonRunner(
            one(new Tuple2(chain, Long.valueOf(NamedExpression$.MODULE$.newExprId().id()))),
            PythonEvalType.SQL_MAP_ARROW_ITER_UDF(), new int[][] {new int[] {0}},
            new StructType().add("struct", UserDefinedPythonDataSource.readInputSchema()),
            conf.sessionLocalTimeZone(), conf.arrowUseLargeVarTypes(), ArrowPythonRunner.getPythonRunnerConfMap(conf), metrics,
            Option.empty(), Option.empty());
        InternalRow partition = new GenericInternalRow(new Object[] {task});
        Iterator row = Iterator$.MODULE$.single(new GenericInternalRow(new Object[] {partition}));
        batches = runner.compute(Iterator$.MODULE$.single(row), context.partitionId(), context);
    }

    private static Seq one(Object element) {
        return (Seq) ((Seq) Nil$.MODULE$).prepended(element);
    }

    /** Numbers of this task alone: Spark's reader of rows adds up those of all tasks of a process. */
    private static Map metrics() {
        Map out = PythonCustomMetric.pythonMetrics();
        Iterator names = out.keysIterator();
        while (names.hasNext()) {
            Object name = names.next();
            out = (Map) out.updated(name, new SQLMetric(((SQLMetric) out.apply(name)).metricType(), -1L));
        }
        return out;
    }

    public boolean next() {
        return batches.hasNext();
    }

    public Object get() {
        ColumnarBatch batch = (ColumnarBatch) batches.next();
        ColumnVector all = batch.column(0);
        if (!checked) check(all.dataType());
        ColumnVector[] out = new ColumnVector[schema.length()];
        for (int i = 0; i < out.length; i++) out[i] = new Column(((ArrowColumnVector) all).getChild(i));
        return new ColumnarBatch(out, batch.numRows());
    }

    /** As Spark does it for rows. The types of a stream do not change. */
    private void check(DataType found) {
        checked = true;
        if (!SQLConf.get().pysparkArrowValidateSchema() || DataType$.MODULE$.equalsIgnoreCompatibleNullability(found, schema)) return;
        String what = PythonEvalType.toString(PythonEvalType.SQL_MAP_ARROW_ITER_UDF());
        Platform.throwException(QueryExecutionErrors.arrowDataTypeMismatchError(what, one(schema), one(found)));
    }

    public void close() {}

    public CustomTaskMetric[] currentMetricsValues() {
        Map values = metrics;
        Iterator names = metrics.keysIterator();
        while (names.hasNext()) {
            Object name = names.next();
            values = (Map) values.updated(name, ((AccumulatorV2) metrics.apply(name)).value());
        }
        return source.createPythonTaskMetrics(values);
    }
}
