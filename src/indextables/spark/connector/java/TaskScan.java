package indextables;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.types.StructType;

/** A read by tasks, which Spark's own classes for Python sources run on executors. */
public class TaskScan implements Scan, SupportsReportStatistics, SupportsRuntimeV2Filtering {
    final IndexTable table;
    final Map asked;
    private final String key;
    private final StructType schema;
    private final String description;
    private final long rows;
    private final long bytes;
    private final boolean filterable;
    private final List runtime = new ArrayList();
    private final Set refused = Collections.synchronizedSet(new HashSet());

    TaskScan(IndexTable table, Map asked, StructType schema, String description, long rows, long bytes, boolean filterable) {
        this.table = table;
        this.asked = asked;
        this.key = key(asked);
        this.schema = schema;
        this.description = description;
        this.rows = rows;
        this.bytes = bytes;
        this.filterable = filterable;
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
        return Scan.ColumnarSupportMode.UNSUPPORTED;
    }

    public CustomMetric[] supportedCustomMetrics() {
        return Python.source().createPythonMetrics();
    }

    public Statistics estimateStatistics() {
        return new Estimate(rows, bytes);
    }

    /** Every column of the table that is read: the index answers lists of values of any column. */
    public NamedReference[] filterAttributes() {
        List out = new ArrayList();
        String[] names = schema.fieldNames();
        for (int i = 0; filterable && i < names.length; i++) {
            if (!names[i].equals("_score") && !schema.fields()[i].dataType().equals(SnippetFunction.TYPE)) out.add(Expressions.column("`" + names[i].replace("`", "``") + "`"));
        }
        return (NamedReference[]) out.toArray(new NamedReference[0]);
    }

    public void filter(Predicate[] predicates) {
        runtime.addAll(Trees.list(predicates));
    }

    /** This read with the keys of a join, a scan of its own; null where the keys are handed over already, or would not help. */
    Scan joined(String column, LocalKeys keys) {
        Map tree = keys.tree(column);
        List all = asked.containsKey("joins") ? new ArrayList((List) asked.get("joins")) : new ArrayList();
        if (!filterable || all.contains(tree) || refused.contains(tree)) return null;
        all.add(tree);
        Map question = new LinkedHashMap(asked);
        question.put("joins", all);
        byte[][] a = Python.ask("join", new LinkedHashMap(question));
        if (a.length > 0) return ReadPlanner.scan(table, question, a);
        refused.add(tree);
        return null;
    }

    public Batch toBatch() {
        Map question = new LinkedHashMap(asked);
        question.put("read_schema", schema.json());
        if (!runtime.isEmpty()) question.put("runtime", new ArrayList(runtime));
        return new TaskBatch(question, schema);
    }

    public boolean equals(Object other) {
        return other instanceof TaskScan && ((TaskScan) other).key.equals(key) && ((TaskScan) other).runtime.equals(runtime);
    }

    public int hashCode() {
        return key.hashCode();
    }

    /** How much a read gives, as far as the log and the index know. */
    public static class Estimate implements Statistics {
        private final long rows;
        private final long bytes;

        Estimate(long rows, long bytes) {
            this.rows = rows;
            this.bytes = bytes;
        }

        public OptionalLong sizeInBytes() {
            return OptionalLong.of(bytes);
        }

        public OptionalLong numRows() {
            return OptionalLong.of(rows);
        }
    }
}
