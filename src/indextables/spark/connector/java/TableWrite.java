package indextables;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsDynamicOverwrite;
import org.apache.spark.sql.connector.write.SupportsOverwriteV2;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.datasources.v2.python.PythonBatchWriterFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonWriterCommitMessage;
import scala.Option;

/** A write: Python plans it in the driver, Spark's own classes for Python sources build splits on executors, Python commits here. */
public class TableWrite implements WriteBuilder, SupportsOverwriteV2, SupportsDynamicOverwrite, Write, BatchWrite {
    private final IndexTable table;
    private final LogicalWriteInfo info;
    private final String purpose;
    private String replaces = "nothing";
    private List filters = new ArrayList();
    private final List found = new ArrayList();
    private final QueryReads scanned = QueryReads.ofThisQuery();
    private boolean looked = QueryReads.nothingIsCached();
    private byte[] writer;

    TableWrite(IndexTable table, LogicalWriteInfo info, String purpose) {
        this.table = table;
        this.info = info;
        this.purpose = purpose;
    }

    /**
     * The tables of ours that a rule found in the query of this write. Rules are applied until nothing changes, and the last one puts rows
     * into the place of small tables: so the tables of all calls count.
     */
    void reads(List handles) {
        looked = true;
        found.addAll(handles);
    }

    public WriteBuilder truncate() {
        replaces = "everything";
        return this;
    }

    public boolean canOverwrite(Predicate[] predicates) {
        return true;
    }

    public WriteBuilder overwrite(Predicate[] predicates) {
        replaces = "some";
        filters = Trees.list(predicates);
        return this;
    }

    public WriteBuilder overwriteDynamicPartitions() {
        replaces = "its partitions";
        return this;
    }

    public Write build() {
        return this;
    }

    public String description() {
        return table.name;
    }

    public BatchWrite toBatch() {
        return this;
    }

    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo physical) {
        Map question = Python.question();
        question.put("table", table.handle);
        question.put("schema", info.schema().json());
        question.put("options", new HashMap(info.options().asCaseSensitiveMap()));
        question.put("session", Settings.own());
        question.put("replaces", replaces);
        question.put("filters", filters);
        question.put("purpose", purpose);
        question.put("reads", scanned.and(found));
        question.put("reads_known", Boolean.valueOf(looked && scanned.known()));
        byte[][] a = Python.ask("write", question);
        writer = a[1];
        return new PythonBatchWriterFactory(Python.source(), a[0], info.schema(), Option.empty(), Option.empty());
    }

    public void commit(WriterCommitMessage[] messages) {
        byte[] made = finish("commit", messages)[0];
        if (table instanceof StagedIndexTable) ((StagedIndexTable) table).written(made);
    }

    public void abort(WriterCommitMessage[] messages) {
        if (writer != null) finish("abort", messages);
    }

    private byte[][] finish(String verb, WriterCommitMessage[] messages) {
        List said = new ArrayList();
        for (int i = 0; i < messages.length; i++) {
            said.add(messages[i] == null ? null : ((PythonWriterCommitMessage) messages[i]).pickledMessage());
        }
        Map question = Python.question();
        question.put("writer", writer);
        question.put("messages", said);
        return Python.ask(verb, question);
    }
}
