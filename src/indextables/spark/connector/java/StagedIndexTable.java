package indextables;

import java.util.LinkedHashMap;
import java.util.Map;

import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;

/**
 * The table of CREATE TABLE … AS SELECT and REPLACE TABLE. The commit of its rows makes the table; then the catalog keeps its name.
 * A statement that fails before leaves no table, and the old one as it was.
 */
public class StagedIndexTable extends IndexTable implements StagedTable {
    private final Map creation;
    private final Registration registration;
    private boolean written = false;
    private byte[] made;

    StagedIndexTable(String handle, String name, StructType schema, String[] partitionColumns, Map properties, Map creation,
            Registration registration) {
        super(handle, name, schema, partitionColumns, properties, true);
        this.creation = creation;
        this.registration = registration;
    }

    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return new TableWrite(this, info, (String) creation.get("purpose"));
    }

    /** Called by the write when its rows are in the table. */
    void written(byte[] answer) {
        written = true;
        made = answer;
    }

    public void commitStagedChanges() {
        if (!written) written(Python.ask("create", new LinkedHashMap(creation))[0]);
        try {
            registration.register(Names.map(Python.ask("entry", new LinkedHashMap(creation))[0]));
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalArgumentException(e.getMessage());
        }
        made = null;
    }

    public CustomTaskMetric[] reportDriverMetrics() {
        return new CustomTaskMetric[0];
    }

    /** Spark calls this after any failure. A table that this statement made, and nobody else wrote to, goes again. */
    public void abortStagedChanges() {
        if (made == null || made.length == 0) return;
        Map question = new LinkedHashMap(creation);
        question.put("made", Python.text(made));
        Python.ask("undo", question);
    }
}
