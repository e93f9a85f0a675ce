package indextables;

import java.util.Map;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;

/**
 * The bucket of a value: indextables_histogram and its like. A table computes it as a key of groups. Wherever else it stands, the last
 * step of the optimizer puts Spark's own expressions in its place, because executors do not have this class.
 */
public class BucketFunction implements ScalarFunction {
    private final String name;
    private final DataType[] types;
    private final DataType result;
    private final Map tree;
    private Expression own;

    BucketFunction(String name, DataType[] types, DataType result, Map tree) {
        this.name = name;
        this.types = types;
        this.result = result;
        this.tree = tree;
    }

    public DataType[] inputTypes() {
        return types;
    }

    public DataType resultType() {
        return result;
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

    public boolean isDeterministic() {
        return true;
    }

    /** The same as an expression of Spark's own, over the value of the first argument. */
    Expression over(Expression value) {
        return SparkTree.expression(tree, value);
    }

    /** Spark computes constants, and rows that are part of a plan, in the driver. */
    public synchronized Object produceResult(InternalRow row) {
        if (own == null) own = over(new BoundReference(0, types[0], true));
        return own.eval(row);
    }

    public boolean equals(Object other) {
        if (!(other instanceof BucketFunction)) return false;
        BucketFunction function = (BucketFunction) other;
        return function.name.equals(name) && function.result.equals(result) && function.tree.equals(tree);
    }

    public int hashCode() {
        return tree.hashCode();
    }
}
