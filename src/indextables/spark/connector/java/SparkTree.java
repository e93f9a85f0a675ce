package indextables;

import java.math.BigDecimal;
import java.util.Base64;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.immutable.ArraySeq$;
import scala.collection.immutable.Seq;

/** A tree of Python's as an expression of Spark's own functions. The tree names every type, so nothing is left to an analyzer. */
public class SparkTree {
    private SparkTree() {}

    static Expression expression(Map tree, Expression column) {
        if (tree.containsKey("column")) return column;
        DataType type = tree.containsKey("type") ? DataType.fromJson((String) tree.get("type")) : column.dataType();
        if (tree.containsKey("value")) return new Literal(value((String) tree.get("value"), type), type);
        if (tree.containsKey("cast")) return cast(expression((Map) tree.get("cast"), column), type);
        List given = (List) tree.get("arguments");
        Expression[] arguments = new Expression[given.size()];
        for (int i = 0; i < arguments.length; i++) arguments[i] = expression((Map) given.get(i), column);
        Seq children = ArraySeq$.MODULE$.unsafeWrapArray(arguments);
        return (Expression) FunctionRegistry$.MODULE$.builtin().lookupFunction(SearchFunctions.named((String) tree.get("function")), children);
    }

    /** In UTC, whatever the session's zone is. */
    private static Expression cast(Expression child, DataType type) {
        if (child.dataType().equals(type)) return child;
        return Cast$.MODULE$.apply(child, type, Option.apply("UTC"), false);
    }

    private static Object value(String text, DataType type) {
        if (text == null) return null;
        if (type instanceof StringType) return UTF8String.fromString(text);
        if (type instanceof BinaryType) return Base64.getDecoder().decode(text);
        if (type instanceof DoubleType) return Double.valueOf(text);
        if (type instanceof IntegerType || type instanceof DateType) return Integer.valueOf(text);
        if (type instanceof DecimalType) {
            DecimalType decimal = (DecimalType) type;
            return Decimal.apply(new BigDecimal(text), decimal.precision(), decimal.scale());
        }
        return Long.valueOf(text);
    }
}
