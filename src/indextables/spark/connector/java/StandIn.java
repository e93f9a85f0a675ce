package indextables;

import java.util.Properties;
import java.util.concurrent.BlockingQueue;

import org.apache.spark.SparkContext;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.classic.SparkSession;

/**
 * A job that stands for an answer of the driver, so that the query can be cancelled as any other: by job group, by tag, by session, in the
 * UI. Spark cancels jobs, and while the driver answers there is none. The job has the group and the tags of the query, and one task that
 * sleeps, by a function that all executors have. It ends with the answer.
 */
public class StandIn implements Runnable {
    private static final String SLEEP = "SELECT java_method('java.lang.Thread', 'sleep', 60000L)";
    private static final String CANCELLED = "SPARK_JOB_CANCELLED";

    private final SparkSession session;
    private final Properties properties;
    private final String tag;
    private final BlockingQueue first;
    private volatile boolean ended = false;

    private StandIn(SparkSession session, Properties properties, String tag, BlockingQueue first) {
        this.session = session;
        this.properties = properties;
        this.tag = tag;
        this.first = first;
    }

    /** Begin a job for the query of this thread. `first` gets a QueryCancelled if somebody cancels the job. */
    static StandIn begin(long number, BlockingQueue first) {
        SparkSession session = SparkSession.active();
        Properties own = session.sparkContext().getLocalProperties();
        Properties properties = new Properties();
        for (Object key : own.stringPropertyNames()) properties.setProperty((String) key, own.getProperty((String) key));
        StandIn job = new StandIn(session, properties, "indextables-answer-" + number, first);
        Answer.THREADS.execute(job);
        return job;
    }

    /** Called by a thread of its own. */
    public void run() {
        SparkContext context = session.sparkContext();
        Properties before = context.getLocalProperties();
        context.setLocalProperties(properties);
        try {
            context.setLocalProperty("spark.job.interruptOnCancel", "true"); // the task does nothing but sleep
            context.setLocalProperty("spark.job.description", "indextables: the driver answers, and this job lets the query be cancelled");
            context.addJobTag(tag);
            while (!ended) session.sql(SLEEP).queryExecution().toRdd().count();
        } catch (Exception e) {
            String condition = e instanceof SparkThrowable ? ((SparkThrowable) e).getCondition() : null;
            // any other failure, such as of a cluster without executors, leaves the answer to be waited for
            if (!ended && CANCELLED.equals(condition)) first.add(new QueryCancelled(e.getMessage()));
        } finally {
            context.setLocalProperties(before);
        }
    }

    /** The answer is there, or nobody wants it any more. */
    void end() {
        ended = true;
        session.sparkContext().cancelJobsWithTag(tag);
    }
}
