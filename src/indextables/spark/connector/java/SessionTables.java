package indextables;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogUtils;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.DelegatingCatalogExtension;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.V1Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Utils$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction0;

/**
 * spark_catalog, with tables USING indextables as tables of ours. The catalog keeps a table's name, its place and the options to
 * reach it. Everything else is in the table's log. Tables of other formats are the built-in catalog's own.
 */
public class SessionTables extends DelegatingCatalogExtension implements StagingTableCatalog {
    public SessionTables() {}

    /** The catalog's entry for a table of ours; null for any other table. */
    private static CatalogTable ours(Table table) {
        if (!(table instanceof V1Table)) return null;
        CatalogTable entry = ((V1Table) table).catalogTable();
        boolean is = entry.provider().isDefined() && SessionEntry.FORMAT.equalsIgnoreCase((String) entry.provider().get());
        return is ? entry : null;
    }

    private static boolean ours(Map properties) {
        return SessionEntry.FORMAT.equalsIgnoreCase((String) properties.get(TableCatalog.PROP_PROVIDER));
    }

    private static Map question(CatalogTable entry) {
        Map options = new HashMap(CollectionConverters.asJava(entry.storage().properties()));
        Map question = Names.question(CatalogUtils.URIToString(entry.location()), options);
        question.put("entry", SessionEntry.facts(entry));
        return question;
    }

    public Table loadTable(Identifier ident) throws NoSuchTableException {
        Table found;
        try {
            found = ident.namespace().length == 2 && HiddenTable.names(ident.name()) ? null : super.loadTable(ident);
        } catch (NoSuchTableException e) {
            if (!HiddenTable.names(ident.name())) throw e;
            found = null;
        }
        if (found == null) return hidden(ident, Python.question());
        CatalogTable entry = ours(found);
        return entry == null ? builtIn(ident, found) : Names.load(ident, question(entry));
    }

    public Table loadTable(Identifier ident, String version) throws NoSuchTableException {
        Map when = Python.question();
        when.put("version", version);
        Table found = travelled(ident, when);
        return found == null ? super.loadTable(ident, version) : found;
    }

    public Table loadTable(Identifier ident, long micros) throws NoSuchTableException {
        Map when = Python.question();
        when.put("micros", Long.valueOf(micros));
        Table found = travelled(ident, when);
        return found == null ? super.loadTable(ident, micros) : found;
    }

    private Table travelled(Identifier ident, Map when) throws NoSuchTableException {
        if (ident.namespace().length == 2 && HiddenTable.names(ident.name())) return hidden(ident, when);
        CatalogTable entry;
        try {
            entry = ours(super.loadTable(ident));
        } catch (NoSuchTableException e) {
            if (!HiddenTable.names(ident.name())) throw e;
            return hidden(ident, when);
        }
        if (entry == null) return null;
        Map question = question(entry);
        question.putAll(when);
        return Names.load(ident, question);
    }

    /** n.files and db.n.files: what the table n says of itself. */
    private Table hidden(Identifier ident, Map when) throws NoSuchTableException {
        String[] parts = ident.namespace();
        if (parts.length == 0) throw new NoSuchTableException(ident);
        String[] database = parts.length == 2 ? new String[] {parts[0]} : SessionEntry.currentNamespace();
        CatalogTable entry = ours(super.loadTable(Identifier.of(database, parts[parts.length - 1])));
        if (entry == null) throw new NoSuchTableException(ident);
        Map question = question(entry);
        question.putAll(when);
        question.put("hidden", ident.name());
        return Names.load(ident, question);
    }

    /** A table of another format. Where another catalog than Spark's own is set, Spark's own opens no table of V2 sources by itself. */
    private Table builtIn(Identifier ident, Table found) {
        if (!(found instanceof V1Table)) return found;
        CatalogTable entry = ((V1Table) found).catalogTable();
        if (!entry.provider().isDefined()) return found;
        if (DataSourceV2Utils$.MODULE$.getTableProvider((String) entry.provider().get(), SQLConf.get()).isEmpty()) return found;
        SQLConf plain = SQLConf.get().clone();
        plain.setConfString("spark.sql.catalog.spark_catalog", "builtin");
        return (Table) SQLConf$.MODULE$.withExistingConf(plain, new Load((TableCatalog) delegate, ident));
    }

    public Table createTable(Identifier ident, Column[] columns, Transform[] partitions, Map properties)
            throws TableAlreadyExistsException, NoSuchNamespaceException {
        if (!ours(properties)) return super.createTable(ident, columns, partitions, properties);
        if (tableExists(ident)) throw new TableAlreadyExistsException(ident);
        SessionEntry entry = new SessionEntry(ident, properties);
        StagedIndexTable staged = Names.stage(entry.creation(columns, partitions, columns.length == 0 ? "adopt" : "create_or_adopt"), entry);
        try {
            staged.commitStagedChanges();
        } catch (RuntimeException e) {
            staged.abortStagedChanges();
            throw e;
        }
        return null;
    }

    public StagedTable stageCreate(Identifier ident, Column[] columns, Transform[] partitions, Map properties)
            throws TableAlreadyExistsException, NoSuchNamespaceException {
        if (ours(properties)) return stage(ident, columns, partitions, properties, "create");
        super.createTable(ident, columns, partitions, properties);
        return null;
    }

    public StagedTable stageReplace(Identifier ident, Column[] columns, Transform[] partitions, Map properties)
            throws NoSuchNamespaceException, NoSuchTableException {
        return replaced(ident, columns, partitions, properties);
    }

    public StagedTable stageCreateOrReplace(Identifier ident, Column[] columns, Transform[] partitions, Map properties)
            throws NoSuchNamespaceException {
        return replaced(ident, columns, partitions, properties);
    }

    private StagedTable replaced(Identifier ident, Column[] columns, Transform[] partitions, Map properties) throws NoSuchNamespaceException {
        CatalogTable before = null;
        try {
            Table found = super.loadTable(ident);
            before = ours(found);
            if (before == null && ours(properties)) SessionEntry.refuse("other format", ident.toString());
        } catch (NoSuchTableException e) {
            before = null;
        }
        if (ours(properties)) {
            if (before == null) return stage(ident, columns, partitions, properties, "create_or_replace");
            Map question = new SessionEntry(ident, properties, before).creation(columns, partitions, "replace");
            return Names.stage(question, new Kept());
        }
        if (before != null) SessionEntry.refuse("another format", ident.toString());
        super.dropTable(ident);
        try {
            super.createTable(ident, columns, partitions, properties);
        } catch (TableAlreadyExistsException e) {
            throw new IllegalArgumentException(e.getMessage());
        }
        return null;
    }

    private static StagedTable stage(Identifier ident, Column[] columns, Transform[] partitions, Map properties, String purpose) {
        SessionEntry entry = new SessionEntry(ident, properties);
        return Names.stage(entry.creation(columns, partitions, purpose), entry);
    }

    public Table alterTable(Identifier ident, TableChange[] changes) throws NoSuchTableException {
        CatalogTable entry = ours(super.loadTable(ident));
        if (entry == null) return super.alterTable(ident, changes);
        Map question = question(entry);
        Names.alter(CatalogUtils.URIToString(entry.location()), (Map) question.get("options"), changes);
        return loadTable(ident);
    }

    /** A load by the built-in catalog. */
    public static class Load extends AbstractFunction0 {
        private final TableCatalog catalog;
        private final Identifier ident;

        Load(TableCatalog catalog, Identifier ident) {
            this.catalog = catalog;
            this.ident = ident;
        }

        public Object apply() {
            try {
                return catalog.loadTable(ident);
            } catch (NoSuchTableException e) {
                throw new IllegalArgumentException(e.getMessage());
            }
        }
    }

    /** The name of a table that is replaced stays as it is. */
    public static class Kept implements Registration {
        public void register(Map answer) {}
    }
}
