package indextables;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.ValueVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedUnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.collection.immutable.ArraySeq$;

/** Rows that Python computed, out of an Arrow stream. */
public class ArrowRows {
    private ArrowRows() {}

    /** Spark's own copy of a columnar row fails for a null inside of an array or a map, so rows are written as Spark's tasks write them. */
    static InternalRow[] read(byte[] stream, StructType schema) {
        List rows = new ArrayList();
        UnsafeProjection written = projection(schema);
        RootAllocator memory = new RootAllocator(Long.MAX_VALUE);
        ArrowStreamReader reader = new ArrowStreamReader(new ByteArrayInputStream(stream), memory);
        try {
            VectorSchemaRoot root = reader.getVectorSchemaRoot();
            ColumnVector[] columns = new ColumnVector[root.getFieldVectors().size()];
            for (int i = 0; i < columns.length; i++) columns[i] = new ArrowColumnVector((ValueVector) root.getFieldVectors().get(i));
            while (reader.loadNextBatch()) {
                ColumnarBatch batch = new ColumnarBatch(columns, root.getRowCount());
                for (int i = 0; i < root.getRowCount(); i++) rows.add(written.apply(batch.getRow(i)).copy());
            }
        } catch (IOException e) {
            throw new IllegalArgumentException("indextables: the rows of an answer cannot be read: " + e.getMessage());
        } finally {
            try {
                reader.close();
            } catch (IOException e) {
                throw new IllegalArgumentException("indextables: the rows of an answer cannot be released: " + e.getMessage());
            }
            memory.close();
        }
        return (InternalRow[]) rows.toArray(new InternalRow[0]);
    }

    private static UnsafeProjection projection(StructType schema) {
        Expression[] columns = new Expression[schema.length()];
        for (int i = 0; i < columns.length; i++) columns[i] = new BoundReference(i, schema.fields()[i].dataType(), true);
        return InterpretedUnsafeProjection.createProjection(ArraySeq$.MODULE$.unsafeWrapArray(columns));
    }
}
