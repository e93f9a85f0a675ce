package indextables;

import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import scala.collection.immutable.Seq;

/** What install(spark) adds to one session. Twice is once. */
public class Setup {
    public Setup() {}

    public void session(SparkSession spark) throws Exception {
        add(spark, new RowChanges());
        add(spark, new WriteReads());
        add(spark, new LastRule()); // answers become rows, so what looks at tables comes before
        add(spark, new JoinKeys()); // joins hand the keys of rows over, and all of it again until nothing changes any more
        add(spark, new Clustering()); // scans are read by partition
        LastStrategy.addTo(spark);
        SearchFunctions.register(FunctionRegistry$.MODULE$.builtin());
        SearchFunctions.register(spark.sessionState().functionRegistry());
        BucketFunctions.register(FunctionRegistry$.MODULE$.builtin());
        BucketFunctions.register(spark.sessionState().functionRegistry());
        SearchParser.install(spark);
    }

    /** Add a rule to those that the optimizer applies last, unless the session has it. */
    private static void add(SparkSession spark, Rule rule) {
        Seq rules = spark.experimental().extraOptimizations();
        for (int i = 0; i < rules.length(); i++) {
            if (rules.apply(i).getClass() == rule.getClass()) return;
        }
        spark.experimental().extraOptimizations_$eq((Seq) rules.appended(rule));
    }
}
