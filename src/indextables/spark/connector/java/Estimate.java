package indextables;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.colstats.ColumnStatistics;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** How much a read gives, as far as the log and the index know. */
public class Estimate implements Statistics {
    private final Map asked;
    private final long rows;
    private final long bytes;
    private Map columns;

    Estimate(Map asked, long rows, long bytes) {
        this.asked = asked;
        this.rows = rows;
        this.bytes = bytes;
    }

    public OptionalLong sizeInBytes() {
        return OptionalLong.of(bytes);
    }

    public OptionalLong numRows() {
        return OptionalLong.of(rows);
    }

    /** Python is asked where Spark's optimizer looks at columns, and only then. */
    public synchronized Map columnStats() {
        if (columns == null) columns = SQLConf.get().cboEnabled() ? known() : new HashMap();
        return columns;
    }

    private Map known() {
        byte[][] a = Answer.ofPool("statistics", new LinkedHashMap(asked));
        StructType schema = (StructType) DataType.fromJson(Python.text(a[0]));
        InternalRow[] bounds = ArrowRows.read(a[1], schema);
        String[] nulls = Python.lines(a[2]);
        String[] different = Python.lines(a[3]);
        Map out = new HashMap();
        for (int i = 0; i < schema.length(); i++) {
            DataType type = schema.fields()[i].dataType();
            Object least = bounds[0].get(i, type);
            Object greatest = bounds[1].get(i, type);
            String name = "`" + schema.fieldNames()[i].replace("`", "``") + "`";
            out.put(Expressions.column(name), new OfColumn(least, greatest, Long.parseLong(nulls[i]), Long.parseLong(different[i])));
        }
        return out;
    }

    /** What is known of one column; a number below 0 is not known. */
    public static class OfColumn implements ColumnStatistics {
        private final Object least;
        private final Object greatest;
        private final long nulls;
        private final long different;

        OfColumn(Object least, Object greatest, long nulls, long different) {
            this.least = least;
            this.greatest = greatest;
            this.nulls = nulls;
            this.different = different;
        }

        public Optional min() {
            return Optional.ofNullable(least);
        }

        public Optional max() {
            return Optional.ofNullable(greatest);
        }

        public OptionalLong nullCount() {
            return nulls < 0 ? OptionalLong.empty() : OptionalLong.of(nulls);
        }

        public OptionalLong distinctCount() {
            return different < 0 ? OptionalLong.empty() : OptionalLong.of(different);
        }
    }
}
