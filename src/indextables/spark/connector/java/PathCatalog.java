package indextables;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** indextables.`/path/of/a/table`: the name of a table is its place. Nothing is kept anywhere but in the table. */
public class PathCatalog implements StagingTableCatalog {
    private String name;

    public PathCatalog() {}

    public void initialize(String name, CaseInsensitiveStringMap options) {
        this.name = name;
    }

    public String name() {
        return name;
    }

    /** A name of one part that has a slash is a place. Any other name is no table of this catalog. */
    private static String place(Identifier ident) throws NoSuchTableException {
        if (ident.namespace().length > 0 || ident.name().indexOf('/') < 0) throw new NoSuchTableException(ident);
        return ident.name();
    }

    private static Map question(Identifier ident) throws NoSuchTableException {
        if (ident.namespace().length == 1 && HiddenTable.names(ident.name())) {
            Map question = Names.question(place(Identifier.of(new String[0], ident.namespace()[0])), new HashMap());
            question.put("hidden", ident.name());
            return question;
        }
        return Names.question(place(ident), new HashMap());
    }

    /** A place without a table is an error of its own: Spark would say that it reads no files of this format. */
    public Table loadTable(Identifier ident) throws AnalysisException {
        try {
            return Names.load(question(ident));
        } catch (TableMissing e) {
            throw Names.missing(e.getMessage());
        } catch (NoSuchTableException e) {
            throw Names.missing(noPlace(ident));
        }
    }

    private static String noPlace(Identifier ident) {
        try {
            refuse("name", ident.toString());
        } catch (IllegalArgumentException e) {
            return e.getMessage();
        }
        return null;
    }

    /** A statement that writes finds out here whether there is a table. */
    public Table loadTable(Identifier ident, Set privileges) throws NoSuchTableException {
        return Names.load(ident, question(ident));
    }

    public boolean tableExists(Identifier ident) {
        try {
            return Names.load(ident, question(ident)) != null;
        } catch (NoSuchTableException e) {
            return false;
        }
    }

    public Table loadTable(Identifier ident, String version) throws NoSuchTableException {
        Map question = question(ident);
        question.put("version", version);
        return Names.load(ident, question);
    }

    public Table loadTable(Identifier ident, long micros) throws NoSuchTableException {
        Map question = question(ident);
        question.put("micros", Long.valueOf(micros));
        return Names.load(ident, question);
    }

    private static Map creation(Identifier ident, Column[] columns, Transform[] partitions, Map properties, String purpose) {
        try {
            return Names.creation(place(ident), columns, partitions, properties, purpose);
        } catch (NoSuchTableException e) {
            refuse("name", ident.toString());
            return null;
        }
    }

    public Table createTable(Identifier ident, Column[] columns, Transform[] partitions, Map properties) throws TableAlreadyExistsException {
        Map question = creation(ident, columns, partitions, properties, "create");
        if (tableExists(ident)) throw new TableAlreadyExistsException(ident);
        Python.ask("create", question);
        try {
            return Names.load(ident, question(ident));
        } catch (NoSuchTableException e) {
            throw new IllegalArgumentException(e.getMessage());
        }
    }

    public StagedTable stageCreate(Identifier ident, Column[] columns, Transform[] partitions, Map properties) {
        return Names.stage(creation(ident, columns, partitions, properties, "create"), new Nameless());
    }

    public StagedTable stageReplace(Identifier ident, Column[] columns, Transform[] partitions, Map properties) {
        return Names.stage(creation(ident, columns, partitions, properties, "replace"), new Nameless());
    }

    public StagedTable stageCreateOrReplace(Identifier ident, Column[] columns, Transform[] partitions, Map properties) {
        return Names.stage(creation(ident, columns, partitions, properties, "create_or_replace"), new Nameless());
    }

    public Table alterTable(Identifier ident, TableChange[] changes) throws NoSuchTableException {
        Names.alter(place(ident), new HashMap(), changes);
        return Names.load(ident, question(ident));
    }

    public boolean dropTable(Identifier ident) {
        refuse("drop", ident.name());
        return false;
    }

    public boolean purgeTable(Identifier ident) {
        try {
            Python.ask("drop", new LinkedHashMap(question(ident)));
        } catch (NoSuchTableException e) {
            return false;
        } catch (TableMissing e) {
            return false;
        }
        return true;
    }

    public void renameTable(Identifier from, Identifier to) {
        refuse("rename", from.name());
    }

    public Identifier[] listTables(String[] namespace) {
        refuse("list", name);
        return null;
    }

    private static void refuse(String what, String name) {
        Map question = Python.question();
        question.put("what", what);
        question.put("name", name);
        Python.ask("refuse", question);
    }

    /** A path is its own name. */
    public static class Nameless implements Registration {
        public void register(Map answer) {}
    }
}
