package indextables;

import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What Spark finds for format("indextables") and USING indextables.
 *
 * Spark lets V2 sources of paths append and overwrite only, and passes no partition columns. So `df.write.save()` goes the older way,
 * `createRelation`, which knows all four modes and the partition columns. There Python says what the mode means, and the same rows
 * are written once more with SAVE among the options, now the V2 way. Spark makes a provider for each save and each load. A load asks
 * for the partitioning before it asks for the table, a save does not.
 */
public class Provider implements TableProvider, DataSourceRegister, CreatableRelationProvider {
    /** The option that says what a save means. Only `createRelation` sets it. */
    static final String SAVE = "indextables.save";
    private boolean loads = false;

    public Provider() {}

    public String shortName() {
        return SessionEntry.FORMAT;
    }

    /** Spark's own catalog, or that of another format, makes or opens an entry: it does so without the table. */
    private static void refuseEntries(Map properties) {
        if (properties.containsKey(TableCatalog.PROP_PROVIDER)) SessionEntry.refuse("entry", SessionEntry.FORMAT);
    }

    public StructType inferSchema(CaseInsensitiveStringMap options) {
        loads = true;
        refuseEntries(options);
        return IndexTable.open(options.asCaseSensitiveMap(), null).schema();
    }

    public Transform[] inferPartitioning(CaseInsensitiveStringMap options) {
        loads = true;
        refuseEntries(options);
        return IndexTable.open(options.asCaseSensitiveMap(), null).partitioning();
    }

    public Table getTable(StructType schema, Transform[] partitioning, Map properties) {
        refuseEntries(properties);
        if (!loads && !properties.containsKey(SAVE)) return new SaveTarget(schema);
        return IndexTable.open(properties, schema);
    }

    /** True, because CREATE TABLE with columns and .schema(…) are refused without it. Python checks the schema. */
    public boolean supportsExternalMetadata() {
        return true;
    }

    public BaseRelation createRelation(SQLContext context, SaveMode mode, scala.collection.immutable.Map parameters, Dataset data) {
        Map question = Python.question();
        question.put("options", new HashMap(CollectionConverters.asJava(parameters)));
        question.put("session", Settings.own());
        question.put("mode", mode.name());
        byte[][] a = Python.ask("save", question);
        if (Python.yes(a[0])) {
            data.write().format(SessionEntry.FORMAT).options(Names.map(a[1])).mode(Python.text(a[2])).save();
        }
        return new Saved(context, data.schema());
    }

    /** Python checks the types. */
    public boolean supportsDataType(DataType type) {
        return true;
    }

    /** The place of a save, of which Spark wants to know only that it is written the older way. */
    public static class SaveTarget implements Table {
        private final StructType schema;

        SaveTarget(StructType schema) {
            this.schema = schema;
        }

        public String name() {
            return SessionEntry.FORMAT;
        }

        public StructType schema() {
            return schema;
        }

        public Set capabilities() {
            return EnumSet.of(TableCapability.V1_BATCH_WRITE);
        }
    }

    /** What a save returns to Spark, which uses the schema alone. */
    public static class Saved extends BaseRelation {
        private final SQLContext context;
        private final StructType schema;

        Saved(SQLContext context, StructType schema) {
            this.context = context;
            this.schema = schema;
        }

        public SQLContext sqlContext() {
            return context;
        }

        public StructType schema() {
            return schema;
        }
    }
}
