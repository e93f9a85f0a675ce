package indextables;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** What a table says of itself, as rows: its files, its history, its partitions, its changes. */
public class HiddenTable implements Table, SupportsRead {
    static final List NAMES = Arrays.asList(new String[] {"files", "history", "partitions", "changes"});

    private final String handle;
    private final String name;
    private final StructType schema;
    private final Map question;

    HiddenTable(String handle, String name, StructType schema, Map question) {
        this.handle = handle;
        this.name = name;
        this.schema = schema;
        this.question = question;
    }

    static boolean names(String last) {
        return NAMES.contains(last.toLowerCase(java.util.Locale.ROOT));
    }

    public String name() {
        return name;
    }

    public StructType schema() {
        return schema;
    }

    public Set capabilities() {
        return EnumSet.of(TableCapability.BATCH_READ);
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return new Rows(this);
    }

    public boolean equals(Object other) {
        return other instanceof HiddenTable && ((HiddenTable) other).handle.equals(handle) && ((HiddenTable) other).name.equals(name);
    }

    public int hashCode() {
        return name.hashCode();
    }

    /** The rows, computed while Spark plans: there are as many as the log has lines. */
    public static class Rows implements ScanBuilder {
        private final HiddenTable table;

        Rows(HiddenTable table) {
            this.table = table;
        }

        public Scan build() {
            Map asked = new LinkedHashMap(table.question);
            asked.put("table", table.handle);
            return new LocalAnswer(null, asked, table.schema, table.name, Python.ask("hidden", new LinkedHashMap(asked))[0]);
        }
    }
}
