package indextables;

import java.util.Map;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.StructType;

/** An answer that Python computed while Spark planned. No job runs. Of a hidden table, `table` is null. */
public class LocalAnswer implements LocalScan {
    final IndexTable table;
    final Map asked;
    private final String key;
    private final StructType schema;
    private final String description;
    private final byte[] stream;
    private InternalRow[] rows;

    LocalAnswer(IndexTable table, Map asked, StructType schema, String description, byte[] stream) {
        this.table = table;
        this.asked = asked;
        this.key = TaskScan.key(asked);
        this.schema = schema;
        this.description = description;
        this.stream = stream;
    }

    public StructType readSchema() {
        return schema;
    }

    public String description() {
        return description;
    }

    /** Spark asks for the rows whenever it plans again, so the rows are kept. */
    public synchronized InternalRow[] rows() {
        if (rows == null) rows = ArrowRows.read(stream, schema);
        return rows;
    }

    public boolean equals(Object other) {
        return other instanceof LocalAnswer && ((LocalAnswer) other).key.equals(key);
    }

    public int hashCode() {
        return key.hashCode();
    }
}
