package indextables;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.ValueVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.spark.QueryContext;
import org.apache.spark.TaskContext;
import org.apache.spark.api.python.PythonException;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataType$;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;

/**
 * The batches of one task that runs in the driver. The driver's own Python process reads the task, and a worker of Python is neither
 * started nor asked:
 *
 *     Java: listens on 127.0.0.1, asks "rows" ─────▶ Python: connects, says the secret
 *           sends the function and the task ───────▶         reads the splits
 *           columns for Spark ◀─────────────────── Arrow ─── as a stream
 *           the end, or the error ◀──────────────── the answer to "rows"
 *
 * A batch holds until the next one is read.
 */
public class DriverReader implements PartitionReader, Runnable {
    /** The name of a number for Spark's UI: bytes of rows that Python sent. */
    static final String BYTES = "rowBytes";
    /** Milliseconds after which a thread that waits for Python looks whether its task is still wanted. */
    private static final int GLANCE = 100;
    /** Milliseconds in which who connects has to say the secret, as for Spark's own workers. */
    private static final int SPEAKS = 10000;
    /** Connections that may wait until it is their turn to say the secret. */
    private static final int WAITING = 16;
    private static final int SECRET = 32;
    private static final SecureRandom RANDOM = new SecureRandom();

    private final byte[] function;
    private final byte[] task;
    private final StructType schema;
    private final TaskContext context = TaskContext.get();
    private final byte[] secret = new byte[SECRET];
    private final Long number = Long.valueOf(Answer.next());

    private ServerSocket door;
    private Socket line;
    private BufferAllocator memory;
    private ArrowStreamReader stream;
    private ColumnarBatch batch;
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile RuntimeException failure;
    /** The rows that Python sent, once it has answered. */
    private volatile long sent = -1;
    private long rows = 0;
    private long bytes = 0;

    DriverReader(byte[] function, byte[] task, StructType schema) {
        this.function = function;
        this.task = task;
        this.schema = schema;
    }

    public boolean next() throws IOException {
        try {
            if (stream == null) open();
            if (stream.loadNextBatch()) {
                batch.setNumRows(stream.getVectorSchemaRoot().getRowCount());
                rows += batch.numRows();
                bytes = stream.bytesRead();
                return true;
            }
        } catch (IOException e) {
            await();
            if (failure == null) throw e;
        }
        await();
        if (failure != null) throw said(failure);
        if (sent != rows) throw new IOException("indextables: a task ended after " + rows + " rows, before Python had sent all");
        return false;
    }

    /** The error as Spark throws those of workers of Python: PySpark shows it without a page of Java. */
    private static PythonException said(RuntimeException failure) {
        Map parameters = (Map) Map$.MODULE$.empty();
        parameters = (Map) parameters.updated("msg", "An exception was thrown while the driver read a task");
        parameters = (Map) parameters.updated("traceback", failure.getMessage());
        QueryContext[] none = PythonException.$lessinit$greater$default$4();
        return new PythonException("PYTHON_EXCEPTION", parameters, failure, none, PythonException.$lessinit$greater$default$5());
    }

    public Object get() {
        return batch;
    }

    public CustomTaskMetric[] currentMetricsValues() {
        return new CustomTaskMetric[] {new ReadNumber.Value(BYTES, bytes)};
    }

    /** Called by Spark when the task ends, however it ends. Python notices it at its next batch or its next split. */
    public void close() throws IOException {
        if (door == null) return;
        if (ended.getCount() > 0) Answer.stop(number);
        if (stream != null) stream.close();
        if (memory != null) memory.close();
        if (line != null) line.close();
        door.close();
    }

    /** Called by a thread of Answer's: Python answers when the task is read, or when it failed. */
    public void run() {
        java.util.Map question = Python.question();
        question.put("number", number);
        question.put("port", Integer.valueOf(door.getLocalPort()));
        question.put("secret", Base64.getEncoder().encodeToString(secret));
        try {
            sent = Python.number(Python.ask("rows", question)[0]);
        } catch (RuntimeException e) {
            failure = e;
        } catch (Error e) {
            failure = new IllegalArgumentException("indextables: reading a task failed: " + e);
        } finally {
            ended.countDown();
        }
    }

    private void open() throws IOException {
        RANDOM.nextBytes(secret);
        door = new ServerSocket(0, WAITING, InetAddress.getLoopbackAddress());
        door.setSoTimeout(GLANCE);
        Answer.THREADS.execute(this);
        line = accepted();
        line.setTcpNoDelay(true);
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(line.getOutputStream(), function.length + task.length + 8));
        out.writeInt(function.length);
        out.write(function);
        out.writeInt(task.length);
        out.write(task);
        out.flush();
        memory = ArrowUtils.rootAllocator().newChildAllocator("indextables", 0, Long.MAX_VALUE);
        stream = new ArrowStreamReader(new Patient(line.getInputStream(), this), memory);
        VectorSchemaRoot root = stream.getVectorSchemaRoot();
        check(root);
        List vectors = root.getFieldVectors();
        ColumnVector[] columns = new ColumnVector[vectors.size()];
        for (int i = 0; i < columns.length; i++) columns[i] = new Column(new ArrowColumnVector((ValueVector) vectors.get(i)));
        batch = new ColumnarBatch(columns);
    }

    /** The connection of our Python, known by the secret. */
    private Socket accepted() throws IOException {
        while (true) {
            Socket found;
            try {
                found = door.accept();
            } catch (SocketTimeoutException e) {
                context.killTaskIfInterrupted();
                if (ended.getCount() == 0) throw new IOException("indextables: Python never began to read a task");
                continue;
            }
            if (isOurs(found)) {
                found.setSoTimeout(GLANCE);
                return found;
            }
            found.close();
        }
    }

    private boolean isOurs(Socket found) {
        byte[] said = new byte[SECRET];
        try {
            found.setSoTimeout(SPEAKS);
            return found.getInputStream().readNBytes(said, 0, SECRET) == SECRET && MessageDigest.isEqual(said, secret);
        } catch (IOException e) {
            return false; // somebody else, who went away or said nothing
        }
    }

    /** Arrow's texts have no collation. */
    private void check(VectorSchemaRoot root) {
        StructType found = ArrowUtils.fromArrowSchema(root.getSchema());
        boolean fits = found.length() == schema.length();
        for (int i = 0; fits && i < found.length(); i++) {
            DataType one = found.fields()[i].dataType();
            DataType other = schema.fields()[i].dataType();
            fits = DataType$.MODULE$.equalsIgnoreCompatibleNullability(one, other) || (one instanceof StringType && other instanceof StringType);
        }
        if (fits) return;
        throw new IllegalArgumentException("indextables: a task read " + found.simpleString() + " instead of " + schema.simpleString());
    }

    /** Wait until Python has answered. */
    private void await() throws IOException {
        try {
            while (!ended.await(GLANCE, TimeUnit.MILLISECONDS)) context.killTaskIfInterrupted();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            context.killTaskIfInterrupted();
            throw new InterruptedIOException("indextables: a task was interrupted");
        }
    }

    /** A stream whose reader waits for as long as the task is wanted. */
    public static class Patient extends FilterInputStream {
        private final DriverReader reader;

        Patient(InputStream from, DriverReader reader) {
            super(from);
            this.reader = reader;
        }

        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        public int read(byte[] into, int from, int most) throws IOException {
            while (true) {
                try {
                    return in.read(into, from, most);
                } catch (SocketTimeoutException e) {
                    reader.context.killTaskIfInterrupted();
                }
            }
        }
    }
}
