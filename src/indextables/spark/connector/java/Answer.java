package indextables;

import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A question whose answer Python computes for longer than a moment. The thread that plans the query waits here, and gives up when it is
 * interrupted, or when the query is cancelled (see `StandIn`). Python is told, and ends its work.
 */
public class Answer implements Runnable {
    /** Milliseconds after which a stand-in is begun: most answers are there sooner, and a stand-in is a job of Spark's. */
    private static final long PATIENCE = 500;
    private static final AtomicLong NUMBERS = new AtomicLong();

    /** Threads stay, because py4j keeps a connection to Python for each. There are as many as queries that were answered side by side. */
    static final ThreadPoolExecutor THREADS =
        new ThreadPoolExecutor(0, Integer.MAX_VALUE, Long.MAX_VALUE, TimeUnit.NANOSECONDS, new SynchronousQueue(), new Daemons());

    private final String verb;
    private final Map question;
    private final BlockingQueue first = new LinkedBlockingQueue();

    private Answer(String verb, Map question) {
        this.verb = verb;
        this.question = question;
    }

    /** A number for a question that may be cancelled. */
    static long next() {
        return NUMBERS.incrementAndGet();
    }

    /** The answer of Python, or the end of the query. */
    static byte[][] await(String verb, Map question) {
        Long number = Long.valueOf(next());
        question.put("number", number);
        Answer answer = new Answer(verb, question);
        THREADS.execute(answer);
        StandIn job = null;
        try {
            Object found = answer.first.poll(PATIENCE, TimeUnit.MILLISECONDS);
            if (found == null) {
                job = StandIn.begin(number.longValue(), answer.first);
                found = answer.first.take();
            }
            if (found instanceof byte[][]) return (byte[][]) found;
            if (found instanceof QueryCancelled) stop(number);
            throw (RuntimeException) found;
        } catch (InterruptedException e) {
            stop(number);
            Thread.currentThread().interrupt();
            throw new QueryCancelled("its thread was interrupted");
        } finally {
            if (job != null) job.end();
        }
    }

    /**
     * A question that threads of Spark's ask, which come and go. py4j keeps a connection, and Python a thread, for each thread of Java that ever
     * asked, so one of `THREADS` asks.
     */
    static byte[][] ofPool(String verb, Map question) {
        Answer answer = new Answer(verb, question);
        THREADS.execute(answer);
        try {
            Object found = answer.first.take();
            if (found instanceof byte[][]) return (byte[][]) found;
            throw (RuntimeException) found;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new QueryCancelled("its thread was interrupted");
        }
    }

    /** Called by a thread of `THREADS`. */
    public void run() {
        try {
            first.add(Python.ask(verb, question));
        } catch (RuntimeException e) {
            first.add(e);
        } catch (Error e) {
            first.add(new IllegalArgumentException("indextables: the question " + verb + " failed: " + e));
        }
    }

    /** Tell Python that nobody waits for the answer to a question any more. */
    static void stop(Long number) {
        Map question = Python.question();
        question.put("number", number);
        THREADS.execute(new Answer("cancel", question));
    }

    /** Threads that do not keep the driver alive. */
    public static class Daemons implements ThreadFactory {
        public Thread newThread(Runnable work) {
            Thread thread = new Thread(work, "indextables-answer");
            thread.setDaemon(true);
            return thread;
        }
    }
}
