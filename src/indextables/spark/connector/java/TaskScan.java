package indextables;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportPartitioning;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.connector.read.partitioning.KeyGroupedPartitioning;
import org.apache.spark.sql.connector.read.partitioning.Partitioning;
import org.apache.spark.sql.connector.read.partitioning.UnknownPartitioning;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VariantType;

/** A read by tasks, which Spark's own classes for Python sources run on executors. */
public class TaskScan implements Scan, SupportsReportStatistics, SupportsRuntimeV2Filtering, SupportsReportPartitioning {
    private static final String[][] NUMBERS = new String[][] {
        {"filesRead", "files read"}, {"filesLeftOut", "files left out"}, {"tableVersion", "version of the table"},
        {"fileBytes", "bytes of the files read"}
    };

    /** So many keys of a join are handed over however small the read is. */
    private static final int FEW_KEYS = 100;
    /** Rows that a key has to spare: handing a key over takes as long as reading some hundred rows. */
    private static final long ROWS_OF_A_KEY = 500;

    final IndexTable table;
    final Map asked;
    private final String key;
    private final StructType schema;
    private final String description;
    private final long rows;
    private final long bytes;
    private final boolean filterable;
    private final boolean columns;
    private final List runtime = new ArrayList();
    private final Set refused = Collections.synchronizedSet(new HashSet());
    private volatile TaskBatch last;
    private Boolean clusters;

    /** With `columns` tasks hand columns over, if they can. */
    TaskScan(IndexTable table, Map asked, StructType schema, String description, long rows, long bytes, boolean filterable,
            boolean columns) {
        this.table = table;
        this.asked = asked;
        this.key = key(asked);
        this.schema = schema;
        this.description = description;
        this.rows = rows;
        this.bytes = bytes;
        this.filterable = filterable;
        this.columns = columns && Columns.possible();
    }

    /** Equal questions are equal scans: Spark reads them once. */
    static String key(Map asked) {
        try {
            return Python.JSON.writeValueAsString(asked);
        } catch (IOException e) {
            throw new IllegalArgumentException("indextables: a question cannot be written: " + e.getMessage());
        }
    }

    public StructType readSchema() {
        return schema;
    }

    public String description() {
        return description;
    }

    public Scan.ColumnarSupportMode columnarSupportMode() {
        return columns ? Scan.ColumnarSupportMode.SUPPORTED : Scan.ColumnarSupportMode.UNSUPPORTED;
    }

    /** Ours, and where workers of Python read, those that Spark has for Python sources. */
    public CustomMetric[] supportedCustomMetrics() {
        List out = new ArrayList();
        if (columns) out.add(new ReadNumber(DriverReader.BYTES, "bytes of rows from the driver's Python"));
        else out.addAll(Arrays.asList(Python.source().createPythonMetrics()));
        for (int i = 0; i < NUMBERS.length; i++) out.add(new ReadNumber(NUMBERS[i][0], NUMBERS[i][1]));
        return (CustomMetric[]) out.toArray(new CustomMetric[0]);
    }

    /** Spark asks after the tasks were planned for the last time. */
    public CustomTaskMetric[] reportDriverMetrics() {
        if (last == null) return new CustomTaskMetric[0];
        long[] values = last.numbers();
        CustomTaskMetric[] out = new CustomTaskMetric[values.length];
        for (int i = 0; i < out.length; i++) out[i] = new ReadNumber.Value(NUMBERS[i][0], values[i]);
        return out;
    }

    /** What the rows of a task have in common if Clustering asks for it. Without it tasks have no key, and Spark sees that. */
    public Partitioning outputPartitioning() {
        if (!filterable || table.partitionColumns.length == 0) return new UnknownPartitioning(0);
        return new KeyGroupedPartitioning(table.partitioning(), 0);
    }

    /** The partition columns of the table; none where the tasks' rows are not rows of the table. */
    String[] partitionColumns() {
        return filterable ? table.partitionColumns : new String[0];
    }

    /** Whether a read by partition is possible, and worth it. */
    synchronized boolean clusters() {
        if (clusters == null) {
            Map question = new LinkedHashMap(asked);
            question.put("processors", Integer.valueOf(Settings.processors()));
            question.put("exchanged", Integer.valueOf(SQLConf.get().numShufflePartitions()));
            clusters = Boolean.valueOf(asked.containsKey("clustered") || Python.yes(Answer.ofPool("cluster", question)[0]));
        }
        return clusters.booleanValue();
    }

    /** This read by partition, a scan of its own; null where it is one already. */
    Scan clustered() {
        if (asked.containsKey("clustered")) return null;
        Map question = new LinkedHashMap(asked);
        question.put("clustered", Boolean.TRUE);
        return new TaskScan(table, question, schema, description + "; by partition", rows, bytes, filterable, columns);
    }

    public Statistics estimateStatistics() {
        return new Estimate(asked, rows, bytes);
    }

    /** Every column that is read, but nested ones: the index answers lists of values of any column. */
    public NamedReference[] filterAttributes() {
        List out = new ArrayList();
        String[] names = schema.fieldNames();
        for (int i = 0; filterable && i < names.length; i++) {
            if (names[i].equals("_score") || isNested(schema.fields()[i].dataType())) continue;
            out.add(Expressions.column("`" + names[i].replace("`", "``") + "`"));
        }
        return (NamedReference[]) out.toArray(new NamedReference[0]);
    }

    /** Types whose values are not compared by the table. Spark makes plans of their keys that it refuses itself. */
    private static boolean isNested(DataType type) {
        return type instanceof ArrayType || type instanceof MapType || type instanceof StructType || type instanceof VariantType;
    }

    /** A join applies such a filter again, so a filter of very many keys, which takes longer than the rows that it spares, is left out. */
    public void filter(Predicate[] predicates) {
        List few = new ArrayList();
        for (int i = 0; i < predicates.length; i++) {
            if (predicates[i].children().length <= LocalKeys.MOST_KEYS) few.add(predicates[i]);
        }
        runtime.addAll(Trees.list((Predicate[]) few.toArray(new Predicate[0])));
    }

    /** This read with the keys of a join, a scan of its own; null where the keys are handed over already, or would not help. */
    Scan joined(String column, LocalKeys keys) {
        if (keys.size() > FEW_KEYS && keys.size() * ROWS_OF_A_KEY > rows) return null;
        Map tree = keys.tree(column);
        List all = asked.containsKey("joins") ? new ArrayList((List) asked.get("joins")) : new ArrayList();
        if (!filterable || all.contains(tree) || refused.contains(tree)) return null;
        all.add(tree);
        Map question = new LinkedHashMap(asked);
        question.put("joins", all);
        byte[][] a = Answer.await("join", new LinkedHashMap(question));
        if (a.length > 0) return ReadPlanner.scan(table, question, a);
        refused.add(tree);
        return null;
    }

    /** The same batch as before, unless a filter of a join came in between: Spark asks for one with every copy of a node of its plan. */
    public synchronized Batch toBatch() {
        Map question = new LinkedHashMap(asked);
        question.put("read_schema", schema.json());
        if (!runtime.isEmpty()) question.put("runtime", new ArrayList(runtime));
        TaskBatch next = new TaskBatch(question, schema, table.partitionSchema(), columns);
        if (!next.equals(last)) last = next;
        return last;
    }

    public boolean equals(Object other) {
        return other instanceof TaskScan && ((TaskScan) other).key.equals(key) && ((TaskScan) other).runtime.equals(runtime);
    }

    public int hashCode() {
        return key.hashCode();
    }
}
