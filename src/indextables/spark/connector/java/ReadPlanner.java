package indextables;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownOffset;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownTopN;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * What Spark's planner wants of one read, gathered step by step. Spark makes a new planner for every query, so nothing of one query
 * reaches another. Each step asks Python whether the table can do it.
 */
public class ReadPlanner implements ScanBuilder, SupportsPushDownV2Filters, SupportsPushDownRequiredColumns, SupportsPushDownLimit,
        SupportsPushDownOffset, SupportsPushDownTopN, SupportsPushDownAggregates {
    /** How a filter is answered: the table does not look at it, applies it roughly, or applies it exactly. */
    private static final int UNSUPPORTED = 0;
    private static final int EXACT = 2;

    private final IndexTable table;
    private final Map asked = new LinkedHashMap();
    private Predicate[] pushed = new Predicate[0];
    private boolean partial = false;
    private String lastKey;
    private boolean lastComplete = false;

    ReadPlanner(IndexTable table) {
        this.table = table;
        asked.put("table", table.handle);
    }

    public Predicate[] pushPredicates(Predicate[] predicates) {
        List trees = Trees.list(predicates);
        byte[] answers = Python.ask("filters", with("filters", trees))[0];
        List applied = new ArrayList();
        List taken = new ArrayList();
        List left = new ArrayList();
        for (int i = 0; i < predicates.length; i++) {
            int answered = answers[i];
            if (answered != UNSUPPORTED && !prints(predicates[i])) answered = UNSUPPORTED;
            if (answered != UNSUPPORTED) {
                applied.add(trees.get(i));
                taken.add(predicates[i]);
            }
            if (answered != EXACT) left.add(predicates[i]);
        }
        asked.put("filters", applied);
        asked.put("filtered_again", Boolean.valueOf(!left.isEmpty()));
        pushed = (Predicate[]) taken.toArray(new Predicate[0]);
        return (Predicate[]) left.toArray(new Predicate[0]);
    }

    /** Spark prints what a table took, and 4.2 fails to print some filters, such as those with a null of type binary. These are Spark's. */
    private static boolean prints(Predicate predicate) {
        try {
            predicate.toString();
            return true;
        } catch (AssertionError e) {
            return false;
        } catch (RuntimeException e) {
            return false;
        }
    }

    public Predicate[] pushedPredicates() {
        return pushed;
    }

    public void pruneColumns(StructType required) {
        asked.put("columns", required.json());
    }

    /** Spark asks this more than once for one aggregate, and then pushes it: Python is asked once. */
    public boolean supportCompletePushDown(Aggregation aggregation) {
        Map whole = Trees.aggregation(aggregation, true);
        String key = TaskScan.key(whole);
        if (!key.equals(lastKey)) {
            lastKey = key;
            lastComplete = Python.yes(Python.ask("aggregate", with("aggregate", whole))[0]);
        }
        return lastComplete;
    }

    public boolean pushAggregation(Aggregation aggregation) {
        Map taken = Trees.aggregation(aggregation, true);
        if (!supportCompletePushDown(aggregation)) {
            taken = Trees.aggregation(aggregation, false);
            if (!Python.yes(Python.ask("aggregate", with("aggregate", taken))[0])) return false;
        }
        asked.put("aggregate", taken);
        return true;
    }

    public boolean pushLimit(int limit) {
        return push("limit", Integer.valueOf(limit));
    }

    public boolean pushTopN(SortOrder[] orders, int limit) {
        Map m = Python.question();
        m.put("orders", Trees.list(orders));
        m.put("rows", Integer.valueOf(limit));
        return push("top", m);
    }

    public boolean pushOffset(int offset) {
        if (!Python.yes(Python.ask("offset", with("offset", Integer.valueOf(offset)))[0])) return false;
        asked.put("offset", Integer.valueOf(offset));
        return true;
    }

    /** Two interfaces have a default for this method, so this class must say which one counts. */
    public boolean isPartiallyPushed() {
        return partial;
    }

    private boolean push(String what, Object value) {
        byte[][] a = Python.ask(what, with(what, value));
        if (!Python.yes(a[0])) return false;
        asked.put(what, value);
        partial = Python.yes(a[1]);
        if (partial) asked.put("cut_again", Boolean.TRUE);
        return true;
    }

    private Map with(String key, Object value) {
        Map question = new LinkedHashMap(asked);
        question.put(key, value);
        return question;
    }

    public Scan build() {
        return scan(table, asked, Answer.await("plan", new LinkedHashMap(asked)));
    }

    /** The scan that Python's answer to a question describes. */
    static Scan scan(IndexTable table, Map asked, byte[][] a) {
        StructType schema = (StructType) DataType.fromJson(Python.text(a[1]));
        String description = Python.text(a[2]);
        if (Python.yes(a[0])) return new LocalAnswer(table, asked, schema, description, a[3]);
        return new TaskScan(table, asked, schema, description, Python.number(a[3]), Python.number(a[4]), Python.yes(a[5]),
            Python.yes(a[6]));
    }

    /** The table that a scan reads, at the version that it reads; null for a scan of anything but a table of ours. */
    static IndexTable table(Scan scan) {
        if (scan instanceof LocalAnswer) return ((LocalAnswer) scan).table;
        return scan instanceof TaskScan ? ((TaskScan) scan).table : null;
    }

    /** The same read with columns of snippets after the others; null for a scan of anything but a table of ours. */
    static Scan withSnippets(Scan scan, List columns) {
        IndexTable table = table(scan);
        if (table == null) return null;
        Map asked = new LinkedHashMap(scan instanceof LocalAnswer ? ((LocalAnswer) scan).asked : ((TaskScan) scan).asked);
        asked.put("snippets", columns);
        return scan(table, asked, Answer.await("plan", new LinkedHashMap(asked)));
    }
}
