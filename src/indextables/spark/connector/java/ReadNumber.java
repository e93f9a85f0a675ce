package indextables;

import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** A number of a read: one that the driver knows before tasks run, or the sum of what its tasks count. Spark shows it in the SQL page of its UI, and makes one by class name. */
public class ReadNumber extends CustomSumMetric {
    private final String name;
    private final String description;

    public ReadNumber() {
        this("", "");
    }

    ReadNumber(String name, String description) {
        this.name = name;
        this.description = description;
    }

    public String name() {
        return name;
    }

    public String description() {
        return description;
    }

    /** The value of one of the numbers. */
    public static class Value implements CustomTaskMetric {
        private final String name;
        private final long value;

        Value(String name, long value) {
            this.name = name;
            this.value = value;
        }

        public String name() {
            return name;
        }

        public long value() {
            return value;
        }
    }
}
