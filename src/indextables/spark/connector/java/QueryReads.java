package indextables;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;

import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;

/**
 * The tables of ours that a query scans, in whatever session and also in subqueries. Spark plans a query in one thread, under a tracker of
 * its own, so the tracker says which query a scan belongs to. Tables behind cached rows are not scanned: `WriteReads` finds them.
 */
public class QueryReads {
    private static final Map QUERIES = new WeakHashMap();

    private final Set handles = new LinkedHashSet();
    private final boolean known;

    private QueryReads(boolean known) {
        this.known = known;
    }

    /** The reads of the query that this thread plans. They grow while Spark plans it. */
    static QueryReads ofThisQuery() {
        Option tracker = QueryPlanningTracker.get();
        if (!tracker.isDefined()) return new QueryReads(false);
        synchronized (QUERIES) {
            QueryReads reads = (QueryReads) QUERIES.get(tracker.get());
            if (reads == null) {
                reads = new QueryReads(true);
                QUERIES.put(tracker.get(), reads);
            }
            return reads;
        }
    }

    /** True if no query of this application can read cached rows. */
    static boolean nothingIsCached() {
        return ((SparkSession) SparkSession.active()).sharedState().cacheManager().isEmpty();
    }

    /** False where nobody can say which query a scan belongs to. */
    boolean known() {
        return known;
    }

    synchronized void add(String handle) {
        handles.add(handle);
    }

    /** The handles of all tables that were scanned, and of these. */
    synchronized List and(List others) {
        Set all = new LinkedHashSet(handles);
        all.addAll(others);
        return new ArrayList(all);
    }
}
