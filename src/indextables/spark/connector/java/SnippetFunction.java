package indextables;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The part of a text that shows best why a search found its row. The scan that reads the text makes it: see Snippets. */
public class SnippetFunction implements ScalarFunction {
    static final String NAME = "indextables_snippet";
    static final StructType TYPE = new StructType().add("text", DataTypes.StringType).add("highlights",
        new ArrayType(new StructType().add("start", DataTypes.IntegerType).add("end", DataTypes.IntegerType), true));
    static final String MISPLACED = "indextables: indextables_snippet(…) shows a text column beside the search that found the row; here the "
        + "column does not come from an indextables table, or comes through a group, a union or a cache: use it where the table is read, in a "
        + "subquery if need be";

    private final DataType type;

    SnippetFunction(DataType type) {
        this.type = type;
    }

    public DataType[] inputTypes() {
        return new DataType[] {type};
    }

    public DataType resultType() {
        return TYPE;
    }

    public String name() {
        return NAME;
    }

    public String canonicalName() {
        return "indextables." + NAME;
    }

    public boolean isResultNullable() {
        return true;
    }

    public boolean isDeterministic() {
        return true;
    }

    /** Spark asks what the function is for nulls, to simplify outer joins. */
    public Object produceResult(InternalRow row) {
        if (row.isNullAt(0)) return null;
        throw new IllegalArgumentException(MISPLACED);
    }

    public boolean equals(Object other) {
        return other instanceof SnippetFunction;
    }

    public int hashCode() {
        return NAME.hashCode();
    }
}
