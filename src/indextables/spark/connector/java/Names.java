package indextables;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map$;

/** What both catalogs ask Python about tables with a name. */
public class Names {
    private Names() {}

    /** A question about the table at a place, with the options that its catalog keeps for it. */
    static Map question(String path, Map options) {
        Map given = new HashMap(options);
        given.put("path", path);
        Map question = Python.question();
        question.put("options", given);
        question.put("session", Settings.own());
        return question;
    }

    /** Open a table, or one of its hidden tables, at the version or the time that the question names. */
    static Table load(Identifier ident, Map question) throws NoSuchTableException {
        try {
            return load(question);
        } catch (TableMissing e) {
            throw new NoSuchTableException(ident);
        }
    }

    /** What Spark takes for a table that is not there, in words of ours. */
    static AnalysisException missing(String said) {
        return new AnalysisException("TABLE_OR_VIEW_NOT_FOUND", "42P01", said, Map$.MODULE$.empty(), Option.empty(), Option.apply(said));
    }

    /** The same, where a table that is not there is told apart by the caller. */
    static Table load(Map question) {
        byte[][] a = Python.ask("load", question);
        StructType schema = (StructType) DataType.fromJson(Python.text(a[2]));
        if (question.containsKey("hidden")) return new HiddenTable(Python.text(a[0]), Python.text(a[1]), schema, question);
        return new IndexTable(Python.text(a[0]), Python.text(a[1]), schema, Python.lines(a[3]), map(a[4]), true);
    }

    /**
     * A question about a table that a statement makes: its columns, its partitions, its properties. A CHAR or VARCHAR is a string whose
     * own type stands in the column's metadata, as Spark itself keeps it; by this Spark checks lengths when rows are written.
     */
    static Map creation(String path, Column[] columns, Transform[] partitions, Map properties, String purpose) {
        Map question = question(path, new HashMap());
        List by = new ArrayList();
        for (int i = 0; i < partitions.length; i++) {
            Map one = Python.question();
            one.put("transform", partitions[i].name());
            one.put("text", partitions[i].describe());
            if (partitions[i].references().length == 1) one.put("column", partitions[i].references()[0].fieldNames());
            by.add(one);
        }
        StructType schema = CatalogV2Util.v2ColumnsToStructType(columns);
        question.put("schema", CharVarcharUtils.replaceCharVarcharWithStringInSchema(schema).json());
        question.put("partition_by", by);
        question.put("properties", new HashMap(properties));
        question.put("purpose", purpose);
        return question;
    }

    /** A table that a statement makes when it is sure that the statement succeeds. */
    static StagedIndexTable stage(Map question, Registration registration) {
        byte[][] a = Python.ask("stage", question);
        return new StagedIndexTable(Python.text(a[0]), Python.text(a[1]), (StructType) DataType.fromJson(Python.text(a[2])),
            Python.lines(a[3]), map(a[4]), question, registration);
    }

    /** Properties that a statement sets or drops, and every other change by its name. */
    static void alter(String path, Map options, TableChange[] changes) {
        List said = new ArrayList();
        for (int i = 0; i < changes.length; i++) {
            Map one = Python.question();
            if (changes[i] instanceof TableChange.SetProperty) {
                one.put("set", ((TableChange.SetProperty) changes[i]).property());
                one.put("value", ((TableChange.SetProperty) changes[i]).value());
            } else if (changes[i] instanceof TableChange.RemoveProperty) {
                one.put("unset", ((TableChange.RemoveProperty) changes[i]).property());
            } else {
                one.put("other", changes[i].getClass().getSimpleName());
            }
            said.add(one);
        }
        Map question = question(path, options);
        question.put("changes", said);
        try {
            Python.ask("alter", question);
        } catch (IllegalArgumentException e) {
            throw new UnsupportedOperationException(e.getMessage()); // Spark makes a page of the other one
        }
    }

    static Map map(byte[] json) {
        try {
            return (Map) Python.JSON.readValue(json, Map.class);
        } catch (IOException e) {
            throw new IllegalArgumentException("indextables: an answer is no JSON: " + e.getMessage());
        }
    }
}
