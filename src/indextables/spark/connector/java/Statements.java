package indextables;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;

import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.types.DataTypeUtils$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.ArraySeq$;
import scala.collection.immutable.Seq;

/**
 * Statements of ours in a session: PURGE INDEXTABLES, MERGE SPLITS, DESCRIBE INDEXTABLES STATE and the others. Python reads and runs them.
 * Spark resolves the names in them, so the current catalog and namespace and temporary views count. A statement runs once, when the
 * session reads it, as Spark runs its own commands; its answer is rows of the plan.
 */
public class Statements {
    /** A text without any of these is no statement of ours. Most texts have none, and Python is not asked about them. */
    private static final String[] WORDS = {"index", "tantivy4spark", "splits", "history"};
    /** No statement of ours begins with these, whatever it mentions. */
    private static final String[] QUERIES = {"select", "with", "insert", "create", "explain", "values", "from", "set", "use", "show", "cache"};

    private final SparkSession session;

    Statements(SparkSession session) {
        this.session = session;
    }

    /** The rows of the answer to a statement of ours; null for a text of Spark's. */
    LogicalPlan plan(String sql) {
        if (!mayBeOurs(sql)) return null;
        Map question = Python.question();
        question.put("sql", sql);
        byte[][] read = Python.ask("read_statement", question);
        if (read.length == 0) return null;
        List tables = new ArrayList();
        for (int i = 1; i < read.length; i++) {
            Map table = table(Python.lines(read[i]), Python.yes(read[0]));
            if (table == null) return null;
            tables.add(table);
        }
        return rows(Python.ask("run_statement", running(sql, tables)));
    }

    private static boolean mayBeOurs(String sql) {
        String text = sql.toLowerCase(Locale.ROOT);
        String start = text.trim();
        for (int i = 0; i < QUERIES.length; i++) if (start.startsWith(QUERIES[i])) return false;
        for (int i = 0; i < WORDS.length; i++) if (text.indexOf(WORDS[i]) >= 0) return true;
        return false;
    }

    private Map running(String sql, List tables) {
        Map question = Python.question();
        question.put("sql", sql);
        question.put("tables", tables);
        question.put("settings", Settings.own());
        question.put("session", session.sessionUUID());
        Map properties = Python.question();
        Properties own = session.sparkContext().getLocalProperties();
        for (Object key : own.stringPropertyNames()) properties.put(key, own.getProperty((String) key));
        question.put("properties", properties);
        return question;
    }

    private static LogicalPlan rows(byte[][] answer) {
        StructType schema = (StructType) DataType.fromJson(Python.text(answer[0]));
        InternalRow[] rows = ArrowRows.read(answer[1], schema);
        Seq output = DataTypeUtils$.MODULE$.toAttributes(schema);
        return new LocalRelation(output, ArraySeq$.MODULE$.unsafeWrapArray(rows), false, Option.empty());
    }

    /**
     * The table of ours that a name stands for: its text, and the reader's options, which are not in the text of a table with a name.
     * Python refuses options that leave rows out. Of a statement that another format has too (`shared`), null for a name that is no table
     * of ours: then the text is Spark's.
     */
    private Map table(String[] parts, boolean shared) {
        StringBuilder name = new StringBuilder();
        for (int i = 0; i < parts.length; i++) {
            name.append(i == 0 ? "`" : ".`").append(parts[i].replace("`", "``")).append("`");
        }
        LogicalPlan plan;
        try {
            plan = session.table(name.toString()).queryExecution().analyzed();
        } catch (Exception e) {
            if (!(e instanceof AnalysisException)) throw (RuntimeException) e;
            if (shared) return null;
            SessionEntry.refuse("no table", name.toString());
            return null;
        }
        while (plan instanceof SubqueryAlias || plan instanceof View || isAllColumns(plan)) plan = (LogicalPlan) plan.children().apply(0);
        Object table = plan instanceof DataSourceV2Relation ? ((DataSourceV2Relation) plan).table() : null;
        if (table instanceof IndexTable) {
            Map found = Python.question();
            found.put("text", ((IndexTable) table).handle);
            found.put("options", new HashMap(((DataSourceV2Relation) plan).options().asCaseSensitiveMap()));
            return found;
        }
        if (!shared) SessionEntry.refuse("not a table", name.toString());
        return null;
    }

    /** A projection that leaves the rows as they are. A view that filters or computes is a query, not a table. */
    private static boolean isAllColumns(LogicalPlan plan) {
        if (!(plan instanceof Project)) return false;
        Iterator list = ((Project) plan).projectList().iterator();
        while (list.hasNext()) {
            Object one = list.next();
            if (!(one instanceof Attribute) && !isRenamed((NamedExpression) one) && !isPadded((Expression) one)) return false;
        }
        return true;
    }

    /** A CHAR column, which Spark pads in a projection over each table that has one. */
    private static boolean isPadded(Expression one) {
        if (one instanceof StaticInvoke && ((StaticInvoke) one).functionName().equals("readSidePadding")) return true;
        Iterator parts = one.children().iterator();
        while (parts.hasNext()) if (isPadded((Expression) parts.next())) return true;
        return false;
    }

    private static boolean isRenamed(NamedExpression one) {
        Seq children = ((Expression) one).children();
        return children.length() == 1 && children.apply(0) instanceof Attribute;
    }
}
