package indextables;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsDeleteV2;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsPartitionManagement;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A table at one version. `handle` is Python's own text for the table's place, options, version and id. */
public class IndexTable implements Table, SupportsRead, SupportsWrite, SupportsMetadataColumns, SupportsDeleteV2,
        SupportsPartitionManagement {
    final String handle;
    final String name;
    final StructType schema;
    final String[] partitionColumns;
    private final Map properties;
    private final boolean named;

    IndexTable(String handle, String name, StructType schema, String[] partitionColumns, Map properties, boolean named) {
        this.handle = handle;
        this.name = name;
        this.schema = schema;
        this.partitionColumns = partitionColumns;
        this.properties = properties;
        this.named = named;
    }

    /** Open the table that the options name. With a schema, a table that does not exist yet may be written. */
    static IndexTable open(Map options, StructType schema) {
        Map question = Python.question();
        question.put("options", new HashMap(options));
        question.put("session", Settings.own());
        if (schema != null) question.put("schema", schema.json());
        byte[][] a = Python.ask("open", question);
        return new IndexTable(Python.text(a[0]), Python.text(a[1]), (StructType) DataType.fromJson(Python.text(a[2])), Python.lines(a[3]),
            new HashMap(), false);
    }

    public String name() {
        return name;
    }

    public StructType schema() {
        return schema;
    }

    /** The columns for DESCRIBE: CHAR(3) and VARCHAR(3) as they were created. In plans Spark makes strings of them again. */
    public Column[] columns() {
        boolean stays = SQLConf.get().preserveCharVarcharTypeInfo(); // plans would have them too
        return new Provider.SaveTarget(stays ? schema : CharVarcharUtils.getRawSchema(schema)).columns(); // made as Spark makes them
    }

    public Map properties() {
        return properties;
    }

    public Transform[] partitioning() {
        Transform[] out = new Transform[partitionColumns.length];
        for (int i = 0; i < out.length; i++) out[i] = Expressions.identity("`" + partitionColumns[i].replace("`", "``") + "`");
        return out;
    }

    public Set capabilities() {
        return EnumSet.of(TableCapability.BATCH_READ, TableCapability.BATCH_WRITE, TableCapability.TRUNCATE,
            TableCapability.OVERWRITE_BY_FILTER, TableCapability.OVERWRITE_DYNAMIC);
    }

    public MetadataColumn[] metadataColumns() {
        return new MetadataColumn[] {new ScoreColumn(), new AllColumns()};
    }

    /** A table with a name was opened without the reader's options, so the options come here. */
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        if (!named || options.isEmpty()) return planner(Following.newest(this));
        Map question = Python.question();
        question.put("table", handle);
        question.put("options", new HashMap(options.asCaseSensitiveMap()));
        String own = Python.text(Python.ask("read", question)[0]);
        return planner(Following.newest(at(own, name, partitionColumns)));
    }

    private static ScanBuilder planner(IndexTable table) {
        QueryReads.ofThisQuery().add(table.handle);
        return new ReadPlanner(table);
    }

    /** The same table with other options, or at another version. */
    IndexTable at(String handle, String name, String[] partitionColumns) {
        return new IndexTable(handle, name, schema, partitionColumns, properties, named);
    }

    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return new TableWrite(this, info, "write");
    }

    private Map filters(List trees) {
        Map question = Python.question();
        question.put("table", handle);
        question.put("filters", trees);
        return question;
    }

    /** Whole partitions go at once. For anything else Python says in one line what to do instead. */
    public boolean canDeleteWhere(Predicate[] predicates) {
        Python.ask("deletable", filters(Trees.list(predicates)));
        return true;
    }

    public void deleteWhere(Predicate[] predicates) {
        Python.ask("delete", filters(Trees.list(predicates)));
    }

    public boolean truncateTable() {
        Python.ask("delete", filters(new ArrayList()));
        return true;
    }

    public StructType partitionSchema() {
        StructType out = new StructType();
        for (int i = 0; i < partitionColumns.length; i++) out = out.add((StructField) schema.apply(partitionColumns[i]));
        return out;
    }

    public InternalRow[] listPartitionIdentifiers(String[] names, InternalRow wanted) {
        Map question = Python.question();
        question.put("table", handle);
        StructType types = partitionSchema();
        InternalRow[] all = ArrowRows.read(Python.ask("partitions", question)[0], types);
        List out = new ArrayList();
        for (int i = 0; i < all.length; i++) {
            boolean same = true;
            for (int k = 0; k < names.length; k++) {
                int at = types.fieldIndex(names[k]);
                DataType type = types.fields()[at].dataType();
                Object a = all[i].get(at, type);
                Object b = wanted.get(k, type);
                same = same && (a == null ? b == null : a.equals(b));
            }
            if (same) out.add(all[i]);
        }
        return (InternalRow[]) out.toArray(new InternalRow[0]);
    }

    public boolean dropPartition(InternalRow ident) {
        StructType types = partitionSchema();
        List trees = new ArrayList();
        for (int i = 0; i < partitionColumns.length; i++) {
            DataType type = types.fields()[i].dataType();
            Object value = ident.get(i, type);
            trees.add(Trees.equal(partitionColumns[i], type, value));
        }
        Python.ask("delete", filters(trees));
        return true;
    }

    public boolean truncatePartition(InternalRow ident) {
        return dropPartition(ident);
    }

    public void createPartition(InternalRow ident, Map properties) {
        SessionEntry.refuse("add partition", name);
    }

    public void replacePartitionMetadata(InternalRow ident, Map properties) {
        SessionEntry.refuse("add partition", name);
    }

    public Map loadPartitionMetadata(InternalRow ident) {
        return new HashMap();
    }

    public boolean equals(Object other) {
        return other instanceof IndexTable && ((IndexTable) other).handle.equals(handle);
    }

    public int hashCode() {
        return handle.hashCode();
    }

    public String toString() {
        return name;
    }
}
