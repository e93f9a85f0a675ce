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
 * The last rule for plans that no optimizer of ours saw. Sessions that begin after install(spark) and call no install of their own, such as
 * those of newSession(), have the functions of SQL, because functions are built in, and not the rules of another session. And Spark plans
 * the filters that joins make of their small side without the optimizer.
 */
public class LastStrategy extends SparkStrategy {
    private static final Map KNOWN = new WeakHashMap();

    public LastStrategy() {}

    /** For the session, and for sessions that begin later: those of one application share their extensions. Twice is once. */
    static synchronized void addTo(SparkSession spark) {
        Seq own = spark.experimental().extraStrategies();
        boolean there = false;
        for (int i = 0; i < own.length(); i++) there |= own.apply(i) instanceof LastStrategy;
        if (!there) spark.experimental().extraStrategies_$eq((Seq) own.appended(new LastStrategy()));
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
