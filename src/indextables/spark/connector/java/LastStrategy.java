package indextables;

import java.lang.reflect.Constructor;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/**
 * The last rule for plans that no optimizer of ours saw: Spark plans the filters that joins make of their small side without the optimizer.
 * Answers of the driver are planned so that `explain` names them.
 */
public class LastStrategy extends SparkStrategy {
    private static final Constructor SCAN = constructor();

    public LastStrategy() {}

    /** For one session. `Setup` brings the strategy to the others of the application. Twice is once. */
    static synchronized void addTo(SparkSession spark) {
        Seq own = spark.experimental().extraStrategies();
        boolean there = false;
        for (int i = 0; i < own.length(); i++) there |= own.apply(i) instanceof LastStrategy;
        if (!there) spark.experimental().extraStrategies_$eq((Seq) own.appended(new LastStrategy()));
    }

    /** A plan with functions of ours is planned once more, without them. */
    public Seq apply(LogicalPlan plan) {
        if (plan instanceof AnswerRows && explains()) return (Seq) ((Seq) Nil$.MODULE$).prepended(scan((AnswerRows) plan));
        LastRule.Look look = new LastRule.Look();
        plan.foreach(look);
        if (!look.buckets && !look.snippets) return (Seq) Nil$.MODULE$;
        return (Seq) ((Seq) Nil$.MODULE$).prepended(planLater((LogicalPlan) new LastRule().apply(plan)));
    }

    /** Operators take the plan below them along to their tasks, and executors have no class of ours: only tasks in the driver do. */
    private static boolean explains() {
        return SCAN != null && org.apache.spark.sql.SparkSession.active().sparkContext().isLocal();
    }

    /** The class is missing where it does not compile: Spark's own strategy then plans the rows. */
    private static Constructor constructor() {
        try {
            return Class.forName("indextables.AnswerScan").getConstructor(new Class[] {AnswerRows.class});
        } catch (ClassNotFoundException e) {
            return null;
        } catch (NoSuchMethodException e) {
            return null;
        }
    }

    private static Object scan(AnswerRows rows) {
        try {
            return SCAN.newInstance(new Object[] {rows});
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException("indextables: no scan of an answer: " + e);
        }
    }

    /** A strategy for a new session. */
    public static class Make extends AbstractFunction1 {
        public Object apply(Object session) {
            return new LastStrategy();
        }
    }
}
