package indextables;

import java.util.Map;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
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

    /** How many tasks the cluster runs side by side, as far as the session knows. */
    static int processors() {
        return SparkSession.active().sparkContext().defaultParallelism();
    }
}
