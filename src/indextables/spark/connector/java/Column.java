package indextables;

import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column of a batch that holds until the next batch is read, as those of Spark's readers of Parquet do: the runner fills the same
 * vectors again, and releases them when the task ends. Spark takes an ArrowColumnVector for one that nobody fills again, and keeps it
 * beside the rows that a function of Python has not answered yet. So a column is not one.
 */
public class Column extends ColumnVector {
    private final ArrowColumnVector values;

    Column(ArrowColumnVector values) {
        super(values.dataType());
        this.values = values;
    }

    public void close() {}

    public void closeIfFreeable() {}

    public boolean hasNull() {
        return values.hasNull();
    }

    public int numNulls() {
        return values.numNulls();
    }

    public boolean isNullAt(int row) {
        return values.isNullAt(row);
    }

    public boolean getBoolean(int row) {
        return values.getBoolean(row);
    }

    public byte getByte(int row) {
        return values.getByte(row);
    }

    public short getShort(int row) {
        return values.getShort(row);
    }

    public int getInt(int row) {
        return values.getInt(row);
    }

    public long getLong(int row) {
        return values.getLong(row);
    }

    public float getFloat(int row) {
        return values.getFloat(row);
    }

    public double getDouble(int row) {
        return values.getDouble(row);
    }

    public ColumnarArray getArray(int row) {
        return values.getArray(row);
    }

    public ColumnarMap getMap(int row) {
        return values.getMap(row);
    }

    public Decimal getDecimal(int row, int precision, int scale) {
        return values.getDecimal(row, precision, scale);
    }

    public UTF8String getUTF8String(int row) {
        return values.getUTF8String(row);
    }

    public byte[] getBinary(int row) {
        return values.getBinary(row);
    }

    public ColumnVector getChild(int ordinal) {
        return values.getChild(ordinal);
    }
}
