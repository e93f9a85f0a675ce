package indextables;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;

/**
 * The door to the driver's Python process, which makes every decision. A question is a JSON text, an answer is a list of byte arrays.
 *
 * An answer begins with the number of its parts. A negative number says that Python raised an error; the error's text follows.
 */
public class Python {
    static final int ERROR = -1;
    static final int NOT_FOUND = -2;
    static final ObjectMapper JSON = new ObjectMapper();

    /**
     * Characters of a question that are sent at once. py4j writes 8,192 bytes at a time, and TCP holds the second part of a longer text
     * back until the first one is acknowledged, which takes a reader that waits for the rest 40 ms.
     */
    private static final int PIECE = 6000;
    private static final AtomicLong LONG_QUESTIONS = new AtomicLong();

    private static volatile Function planner;
    private static volatile UserDefinedPythonDataSource source;

    public Python() {}

    /** Called by install(spark): who answers, and how Spark's workers start a Python. */
    public void connect(Object answering, Object pythonSource) {
        planner = (Function) answering;
        source = (UserDefinedPythonDataSource) pythonSource;
    }

    static UserDefinedPythonDataSource source() {
        return source;
    }

    static Map question() {
        return new LinkedHashMap();
    }

    /** Ask one question. Throws TableMissing where there is no table, IllegalArgumentException for every other error of Python. */
    static byte[][] ask(String verb, Map question) {
        Function answering = planner;
        if (answering == null) {
            throw new IllegalArgumentException("indextables is not installed in this session: call indextables.spark.install(spark)");
        }
        question.put("verb", verb);
        byte[] answer;
        try {
            answer = (byte[]) answered(answering, JSON.writeValueAsString(question));
        } catch (IOException e) {
            throw new IllegalArgumentException("indextables: the question " + verb + " cannot be written: " + e.getMessage());
        } catch (RuntimeException e) {
            if (!e.getClass().getName().startsWith("py4j.")) throw e;
            throw new IllegalArgumentException("indextables: the Python process that planned this query does not answer: " + e.getMessage());
        }
        return parts(answer);
    }

    /** A long question goes in pieces: "+number:piece" for each but the last, then "=number:piece". */
    private static Object answered(Function answering, String text) {
        if (text.length() <= PIECE) return answering.apply(text);
        String number = LONG_QUESTIONS.incrementAndGet() + ":";
        int from = 0;
        while (text.length() - from > PIECE) {
            int to = Character.isHighSurrogate(text.charAt(from + PIECE - 1)) ? from + PIECE - 1 : from + PIECE;
            answering.apply("+" + number + text.substring(from, to));
            from = to;
        }
        return answering.apply("=" + number + text.substring(from));
    }

    private static byte[][] parts(byte[] answer) {
        try {
            DataInputStream in = new DataInputStream(new ByteArrayInputStream(answer));
            int many = in.readInt();
            if (many < 0) {
                String said = new String(answer, 4, answer.length - 4, StandardCharsets.UTF_8);
                if (many == NOT_FOUND) throw new TableMissing(said);
                throw new IllegalArgumentException(said);
            }
            byte[][] parts = new byte[many][];
            for (int i = 0; i < many; i++) {
                parts[i] = new byte[in.readInt()];
                in.readFully(parts[i]);
            }
            return parts;
        } catch (IOException e) {
            throw new IllegalArgumentException("indextables: an answer is cut off: " + e.getMessage());
        }
    }

    static String text(byte[] part) {
        return new String(part, StandardCharsets.UTF_8);
    }

    /** The lines of a text, none for an empty one. */
    static String[] lines(byte[] part) {
        return part.length == 0 ? new String[0] : text(part).split("\n");
    }

    static boolean yes(byte[] part) {
        return part.length == 1 && part[0] == 1;
    }

    static long number(byte[] part) {
        return Long.parseLong(text(part));
    }
}
