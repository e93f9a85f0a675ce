package indextables;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** A search of one column, as a condition. Only an index can answer it: Spark hands it over, or the query is refused. */
public class SearchFunction implements ScalarFunction {
    private final String name;
    private final DataType[] types;
    private final boolean own;

    SearchFunction(String name, DataType[] types) {
        this(name, types, true);
    }

    private SearchFunction(String name, DataType[] types, boolean own) {
        this.name = name;
        this.types = types;
        this.own = own;
    }

    /** The search as Spark infers it for another column, where it has no meaning. */
    SearchFunction inferred() {
        return new SearchFunction(name, types, false);
    }

    public DataType[] inputTypes() {
        return types;
    }

    public DataType resultType() {
        return DataTypes.BooleanType;
    }

    public String name() {
        return name;
    }

    public String canonicalName() {
        return "indextables." + name;
    }

    public boolean isResultNullable() {
        return true;
    }

    /** Spark keeps inferred conditions only if they are deterministic. */
    public boolean isDeterministic() {
        return own;
    }

    /** Spark asks what the condition is for nulls, to simplify outer joins. Nothing is known of any other value here. */
    public Object produceResult(InternalRow row) {
        if (row.isNullAt(0)) return null;
        throw new IllegalArgumentException(misplaced());
    }

    /** What to say where a search stands at a place that no index can answer. */
    String misplaced() {
        return "indextables: " + name + "(…) can only be a condition on a column of an indextables table, in WHERE, in ON or in a DataFrame's "
            + "where; here Spark would have to compute it for rows that come from elsewhere, or beside a condition that only Spark computes: "
            + "search the table in a subquery, (SELECT … FROM t WHERE t.column INDEXQUERY '…'), or write both conditions as searches or plain comparisons";
    }

    public boolean equals(Object other) {
        return other instanceof SearchFunction && ((SearchFunction) other).name.equals(name) && ((SearchFunction) other).own == own;
    }

    public int hashCode() {
        return name.hashCode();
    }
}
