package indextables;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
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
 *     Java: a socket in a private directory, asks "rows" ──▶ Python: connects
 *           sends the function and the task ───────────────▶         reads the splits
 *           columns for Spark ◀─────────────────────────── Arrow ─── as a stream
 *           the end, or the error ◀──────────────────────── the answer to "rows"
 *
 * A batch holds until the next one is read.
 */
public class DriverReader implements PartitionReader, Runnable {
    /** The name of a number for Spark's UI: bytes of rows that Python sent. */
    static final String BYTES = "rowBytes";
    /** Milliseconds after which a thread that waits for Python looks whether its task is still wanted. */
    private static final int GLANCE = 100;
    /** Characters that the path of a socket's directory may have: the system takes 107 for the whole path. */
    private static final int LONGEST = 70;
    /** Where the sockets are: a directory that only this user can look into. */
    private static Path directory;

    private final byte[] function;
    private final byte[] task;
    private final StructType schema;
    private final TaskContext context = TaskContext.get();
    private final Long number = Long.valueOf(Answer.next());
    private final Path place;

    private Selector selector;
    private SocketChannel line;
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
        this.place = directory().resolve(number + ".socket");
    }

    /** Java makes it with mode 0700. It is made again where somebody tidied it away. */
    private static synchronized Path directory() {
        if (directory != null && Files.isDirectory(directory)) return directory;
        String usual = System.getProperty("java.io.tmpdir");
        try {
            directory = Files.createTempDirectory(Path.of(usual.length() > LONGEST ? "/tmp" : usual), "indextables-");
        } catch (IOException e) {
            throw new IllegalArgumentException("indextables: no directory for the sockets of tasks can be made: " + e);
        }
        directory.toFile().deleteOnExit();
        return directory;
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
        if (selector == null) return;
        try {
            if (ended.getCount() > 0) Answer.stop(number);
        } finally {
            try {
                if (line != null) line.close();
                selector.close();
            } finally {
                Files.deleteIfExists(place);
                if (stream != null) stream.close();
                if (memory != null) memory.close();
            }
        }
    }

    /** Called by a thread of Answer's: Python answers when the task is read, or when it failed. */
    public void run() {
        java.util.Map question = Python.question();
        question.put("number", number);
        question.put("place", place.toString());
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
        selector = Selector.open();
        line = accepted();
        line.configureBlocking(true);
        send(function);
        send(task);
        line.configureBlocking(false);
        line.register(selector, SelectionKey.OP_READ);
        memory = ArrowUtils.rootAllocator().newChildAllocator("indextables", 0, Long.MAX_VALUE);
        stream = new ArrowStreamReader(new FromPython(this), memory);
        VectorSchemaRoot root = stream.getVectorSchemaRoot();
        check(root);
        List vectors = root.getFieldVectors();
        ColumnVector[] columns = new ColumnVector[vectors.size()];
        for (int i = 0; i < columns.length; i++) columns[i] = new Column(new ArrowColumnVector((ValueVector) vectors.get(i)));
        batch = new ColumnarBatch(columns);
    }

    /** Its length and the bytes themselves. */
    private void send(byte[] block) throws IOException {
        ByteBuffer length = ByteBuffer.allocate(4);
        length.putInt(block.length).flip();
        while (length.hasRemaining()) line.write(length);
        ByteBuffer all = ByteBuffer.wrap(block);
        while (all.hasRemaining()) line.write(all);
    }

    /** Ask Python, and take its connection. Nobody else can reach the socket. */
    private SocketChannel accepted() throws IOException {
        ServerSocketChannel door = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        try {
            door.bind(UnixDomainSocketAddress.of(place));
            watch(door, SelectionKey.OP_ACCEPT);
            Answer.THREADS.execute(this);
            while (true) {
                SocketChannel found = door.accept();
                if (found != null) return found;
                glance();
            }
        } finally {
            door.close();
            selector.selectNow(); // lets go of the door
        }
    }

    private void watch(SelectableChannel channel, int what) throws IOException {
        channel.configureBlocking(false);
        channel.register(selector, what);
    }

    /** Wait until something happens on the channel, for a moment only. Throws where nobody wants the task, or Python failed. */
    private void glance() throws IOException {
        if (selector.select(GLANCE) > 0) {
            selector.selectedKeys().clear();
            return;
        }
        context.killTaskIfInterrupted();
        if (Thread.currentThread().isInterrupted()) throw new InterruptedIOException("indextables: a task was interrupted");
        // a child that the Python process forked may hold the line open after its end
        if (ended.getCount() == 0 && failure != null) throw new EOFException("indextables: Python ended a task");
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

    /** What Python sends, for as long as the task is wanted. */
    public static class FromPython extends InputStream {
        private final DriverReader reader;

        FromPython(DriverReader reader) {
            this.reader = reader;
        }

        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        public int read(byte[] into, int from, int most) throws IOException {
            if (most == 0) return 0;
            ByteBuffer space = ByteBuffer.wrap(into, from, most);
            while (true) {
                int found = reader.line.read(space);
                if (found != 0) return found;
                reader.glance();
            }
        }
    }
}
