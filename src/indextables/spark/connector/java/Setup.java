package indextables;

import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.classic.SparkSession;
import scala.collection.immutable.Seq;

/** What install(spark) adds to one session. Twice is once. */
public class Setup {
    public Setup() {}

    public void session(SparkSession spark) throws Exception {
        addRowChanges(spark);
        addLastRule(spark);
        SearchFunctions.register(FunctionRegistry$.MODULE$.builtin());
        SearchFunctions.register(spark.sessionState().functionRegistry());
        SearchParser.install(spark);
    }

    /** Before the last rule, which replaces tables by their rows. */
    private static void addRowChanges(SparkSession spark) {
        Seq rules = spark.experimental().extraOptimizations();
        for (int i = 0; i < rules.length(); i++) {
            if (rules.apply(i) instanceof RowChanges) return;
        }
        spark.experimental().extraOptimizations_$eq((Seq) rules.prepended(new RowChanges()));
    }

    private static void addLastRule(SparkSession spark) {
        Seq rules = spark.experimental().extraOptimizations();
        for (int i = 0; i < rules.length(); i++) {
            if (rules.apply(i) instanceof LastRule) return;
        }
        spark.experimental().extraOptimizations_$eq((Seq) rules.appended(new LastRule()));
    }
}
