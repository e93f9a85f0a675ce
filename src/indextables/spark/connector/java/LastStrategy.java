package indextables;

import java.util.Map;
import java.util.WeakHashMap;

import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/**
 * The last rule for sessions that begin after install(spark) and call no install of their own, such as those of newSession(): they have
 * the functions of SQL, because functions are built in, and not the rules of another session.
 */
public class LastStrategy extends SparkStrategy {
    private static final Map KNOWN = new WeakHashMap();

    public LastStrategy() {}

    /** Sessions of one application share their extensions. Twice is once. */
    static synchronized void addTo(SparkSession spark) {
        SparkSessionExtensions extensions = spark.extensions();
        if (KNOWN.put(extensions, Boolean.TRUE) == null) extensions.injectPlannerStrategy(new Make());
    }

    /** A plan with functions of ours is planned once more, without them. */
    public Seq apply(LogicalPlan plan) {
        LastRule.Look look = new LastRule.Look();
        plan.foreach(look);
        if (!look.buckets && !look.snippets) return (Seq) Nil$.MODULE$;
        return (Seq) ((Seq) Nil$.MODULE$).prepended(planLater((LogicalPlan) new LastRule().apply(plan)));
    }

    /** A strategy for a new session. */
    public static class Make extends AbstractFunction1 {
        public Object apply(Object session) {
            return new LastStrategy();
        }
    }
}
