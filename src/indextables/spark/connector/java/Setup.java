package indextables;

import java.util.Map;
import java.util.WeakHashMap;

import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/**
 * What install(spark) adds to one session, and what it adds to every other session of the application, such as those of newSession() and of
 * Connect clients: these share the application's extensions. Twice is once.
 */
public class Setup {
    private static final Map KNOWN = new WeakHashMap();

    public Setup() {}

    /** `statements` is false where the client of a session takes our statements: a Connect server may parse a text several times. */
    public void session(SparkSession spark, boolean statements) throws Exception {
        rules(spark);
        LastStrategy.addTo(spark);
        others(spark.extensions());
        SearchFunctions.register(FunctionRegistry$.MODULE$.builtin());
        SearchFunctions.register(spark.sessionState().functionRegistry());
        BucketFunctions.register(FunctionRegistry$.MODULE$.builtin());
        BucketFunctions.register(spark.sessionState().functionRegistry());
        SearchParser.install(spark, statements);
    }

    /** The rules that the optimizer applies last. */
    private static synchronized void rules(SparkSession spark) {
        add(spark, new RowChanges());
        add(spark, new Refusals());
        add(spark, new WriteReads());
        add(spark, new LastRule()); // answers become rows, so what looks at tables comes before
        add(spark, new JoinKeys()); // joins hand the keys of rows over, and all of it again until nothing changes any more
        add(spark, new Clustering()); // scans are read by partition
    }

    /** Add a rule to those that the optimizer applies last, unless the session has it. */
    private static void add(SparkSession spark, Rule rule) {
        Seq rules = spark.experimental().extraOptimizations();
        for (int i = 0; i < rules.length(); i++) {
            if (rules.apply(i).getClass() == rule.getClass()) return;
        }
        spark.experimental().extraOptimizations_$eq((Seq) rules.appended(rule));
    }

    /** Spark asks the extensions for every query, so a session that began before gets the rules too. */
    private static synchronized void others(SparkSessionExtensions extensions) {
        if (KNOWN.put(extensions, Boolean.TRUE) != null) return;
        extensions.injectPlannerStrategy(new LastStrategy.Make());
        extensions.injectPreCBORule(new OfOthers());
    }

    /**
     * The rules for a session that called no install. Spark calls this for every query, while it lists the rules of the query. The rule that
     * it gets is one that no write may go without; the others come into the session before the optimizer applies its last rules.
     */
    public static class OfOthers extends AbstractFunction1 {
        public Object apply(Object session) {
            rules((SparkSession) session);
            return new WriteReads();
        }
    }
}
