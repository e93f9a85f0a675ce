package indextables;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.status.api.v1.ExecutorSummary;
import scala.Tuple2;
import scala.collection.Iterator;

/** What the session and its cluster say of a query. */
public class Settings {
    private static final String PREFIX = "spark.indextables.";

    private Settings() {}

    /** The session's settings of ours. */
    static Map own() {
        Map out = Python.question();
        Iterator all = SQLConf.get().getAllConfs().iterator();
        while (all.hasNext()) {
            Tuple2 pair = (Tuple2) all.next();
            if (((String) pair._1()).startsWith(PREFIX)) out.put(pair._1(), pair._2());
        }
        return out;
    }

    /** The executors by name, as tasks prefer them, in an order that stays; none where there is no choice. */
    static List executors() {
        List out = new ArrayList();
        SparkContext context = SparkSession.active().sparkContext();
        if (context.isLocal()) return out;
        Iterator all = context.statusStore().executorList(true).iterator();
        while (all.hasNext()) {
            ExecutorSummary one = (ExecutorSummary) all.next();
            String host = one.hostPort().replaceFirst(":[0-9]+$", "");
            if (!one.id().equals("driver")) out.add("executor_" + host + "_" + one.id());
        }
        if (out.size() < 2) out.clear();
        Collections.sort(out);
        return out;
    }

    /** How many tasks the cluster runs side by side, as far as the session knows. */
    static int processors() {
        return SparkSession.active().sparkContext().defaultParallelism();
    }
}
