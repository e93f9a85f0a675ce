package indextables;

import java.lang.reflect.Constructor;
import java.net.URI;
import java.util.HashMap;
import java.util.Map;

import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable$;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType$;
import org.apache.spark.sql.catalyst.catalog.CatalogUtils;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/** The entry of spark_catalog for one table of ours: its name, its place, the options to reach it. */
public class SessionEntry implements Registration {
    static final String FORMAT = "indextables";

    private final Identifier ident;
    private final Map properties;
    private final String location;
    private final boolean managed;

    /** A new table: its place is the one that the statement names, or the catalog's own for the name. */
    SessionEntry(Identifier ident, Map properties) {
        this.ident = ident;
        this.properties = properties;
        String said = (String) properties.get(TableCatalog.PROP_LOCATION);
        this.managed = said == null;
        this.location = managed ? CatalogUtils.URIToString(catalog().defaultTablePath(table(ident))) : said;
    }

    /** A table that is replaced where it is. */
    SessionEntry(Identifier ident, Map properties, CatalogTable before) {
        this.ident = ident;
        this.properties = new HashMap(properties);
        this.location = CatalogUtils.URIToString(before.location());
        this.managed = CatalogTableType$.MODULE$.MANAGED().equals(before.tableType());
        this.properties.put("before", location);
    }

    private static SessionCatalog catalog() {
        return ((SparkSession) SparkSession.active()).sessionState().catalog();
    }

    private static TableIdentifier table(Identifier ident) {
        String[] namespace = ident.namespace();
        if (namespace.length > 1) refuse("namespace", ident.toString());
        return namespace.length == 0 ? new TableIdentifier(ident.name()) : new TableIdentifier(ident.name(), Option.apply(namespace[0]));
    }

    static String[] currentNamespace() {
        return new String[] {catalog().getCurrentDatabase()};
    }

    static void refuse(String what, String name) {
        Map question = Python.question();
        question.put("what", what);
        question.put("name", name);
        Python.ask("refuse", question);
    }

    /** What an entry says of a table, for DESCRIBE and SHOW CREATE TABLE. */
    static Map facts(CatalogTable entry) {
        Map facts = Python.question();
        facts.put("owner", entry.owner());
        facts.put("managed", Boolean.valueOf(CatalogTableType$.MODULE$.MANAGED().equals(entry.tableType())));
        return facts;
    }

    Map creation(Column[] columns, Transform[] partitions, String purpose) {
        Map question = Names.creation(location, columns, partitions, properties, purpose);
        question.put("managed", Boolean.valueOf(managed));
        return question;
    }

    /** Keep the name. The place of a managed table has files by now, so the catalog does not look whether it is empty. */
    public void register(Map answer) throws Exception {
        StructType schema = (StructType) DataType.fromJson((String) answer.get("schema"));
        Map kept = (Map) answer.get("options");
        CatalogStorageFormat storage = new CatalogStorageFormat(Option.apply(CatalogUtils.stringToURI(location)), Option.empty(),
            Option.empty(), Option.empty(), false, scala(kept), Option.empty());
        CatalogTableType type = managed ? CatalogTableType$.MODULE$.MANAGED() : CatalogTableType$.MODULE$.EXTERNAL();
        Map named = new HashMap();
        named.put("provider", Option.apply(FORMAT));
        named.put("partitionColumnNames", CollectionConverters.asScala((java.util.List) answer.get("partition_by")).toSeq());
        catalog().createTable(entry(table(ident), type, storage, schema, named), false, false);
    }

    private static scala.collection.immutable.Map scala(Map map) {
        return Map$.MODULE$.from(CollectionConverters.asScala(map));
    }

    /** Spark's class has other fields in each version, so all but the first four are taken by their names or their defaults. */
    private static CatalogTable entry(TableIdentifier ident, CatalogTableType type, CatalogStorageFormat storage, StructType schema,
            Map named) throws Exception {
        Constructor constructor = CatalogTable.class.getConstructors()[0];
        Object[] values = new Object[constructor.getParameterTypes().length];
        values[0] = ident;
        values[1] = type;
        values[2] = storage;
        values[3] = schema;
        for (int i = 4; i < values.length; i++) {
            values[i] = CatalogTable$.class.getMethod("apply$default$" + (i + 1), new Class[0]).invoke(CatalogTable$.MODULE$, new Object[0]);
        }
        Iterator names = ((CatalogTable) constructor.newInstance(values)).productElementNames();
        for (int i = 0; names.hasNext(); i++) {
            Object name = names.next();
            if (named.containsKey(name)) values[i] = named.get(name);
        }
        return (CatalogTable) constructor.newInstance(values);
    }
}
