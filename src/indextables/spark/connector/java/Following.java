package indextables;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.WeakHashMap;

import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import scala.Option;

/**
 * Tables that a DataFrame follows: each query reads the newest version. Spark plans a query in one thread, under a tracker of its own,
 * so the tracker says which query it is. All references of a query to a table read one version, however the table moves on meanwhile.
 */
public class Following {
    /** The option, as it stands in the text of a table. Python says whether it is true. */
    private static final String OPTION = "read.following.enabled";
    private static final Map QUERIES = new WeakHashMap();

    private Following() {}

    /** The table at the version that the query reads: the newest one, or for a table that nobody follows its own. */
    static IndexTable newest(IndexTable table) {
        if (table.handle.toLowerCase(Locale.ROOT).indexOf(OPTION) < 0) return table;
        Map versions = versions();
        Map question = Python.question();
        question.put("table", table.handle);
        question.put("schema", table.schema.json());
        synchronized (versions) {
            question.put("versions", versions);
            byte[][] a = Answer.ofPool("newest", question);
            if (a.length == 0) return table;
            versions.put(Python.text(a[2]), Long.valueOf(Python.number(a[3])));
            return table.at(Python.text(a[0]), Python.text(a[1]), Python.lines(a[4]));
        }
    }

    /** The versions that the query in this thread has chosen, by the ids of their tables. */
    private static Map versions() {
        Option tracker = QueryPlanningTracker.get();
        if (!tracker.isDefined()) return new HashMap();
        synchronized (QUERIES) {
            Map versions = (Map) QUERIES.get(tracker.get());
            if (versions == null) {
                versions = new HashMap();
                QUERIES.put(tracker.get(), versions);
            }
            return versions;
        }
    }
}
