package indextables;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.GeneralScalarExpression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.NullOrdering;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.expressions.UserDefinedScalarFunc;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Avg;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.Sum;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.DataType;

/** Spark's expressions as maps and lists that JSON can write. Values are Spark's internal ones, as text. Always true is a predicate. */
public class Trees {
    private Trees() {}

    static List list(Expression[] expressions) {
        List out = new ArrayList();
        for (int i = 0; i < expressions.length; i++) out.add(tree(expressions[i]));
        return out;
    }

    static Map tree(Expression e) {
        Map m = Python.question();
        if (e instanceof NamedReference) {
            m.put("column", ((NamedReference) e).fieldNames());
        } else if (e instanceof Literal && !(e instanceof Predicate)) {
            return literal(((Literal) e).dataType(), ((Literal) e).value());
        } else if (e instanceof SortOrder) {
            SortOrder order = (SortOrder) e;
            m.put("key", tree(order.expression()));
            m.put("descending", Boolean.valueOf(order.direction() == SortDirection.DESCENDING));
            m.put("nulls_first", Boolean.valueOf(order.nullOrdering() == NullOrdering.NULLS_FIRST));
        } else {
            m.put("operator", operator(e));
            m.put("arguments", list(e.children()));
            if (distinct(e)) m.put("distinct", Boolean.TRUE);
        }
        return m;
    }

    /** One of Spark's internal values. */
    static Map literal(DataType type, Object value) {
        Map m = Python.question();
        m.put("type", type.json());
        m.put("value", value == null || value instanceof byte[] ? value : value.toString());
        return m;
    }

    /** The comparison of a column with one of Spark's internal values; null is equal to null. */
    static Map equal(String column, DataType type, Object value) {
        Map name = Python.question();
        name.put("column", new String[] {column});
        List arguments = new ArrayList();
        arguments.add(name);
        arguments.add(literal(type, value));
        Map m = Python.question();
        m.put("operator", "<=>");
        m.put("arguments", arguments);
        return m;
    }

    /** The keys and the functions of an aggregate, and whether the table computes the whole of it. */
    static Map aggregation(Aggregation a, boolean complete) {
        Map m = Python.question();
        m.put("keys", list(a.groupByExpressions()));
        m.put("functions", list(a.aggregateExpressions()));
        m.put("complete", Boolean.valueOf(complete));
        return m;
    }

    private static String operator(Expression e) {
        if (e instanceof UserDefinedScalarFunc) return "function:" + ((UserDefinedScalarFunc) e).canonicalName();
        if (e instanceof GeneralScalarExpression) return ((GeneralScalarExpression) e).name();
        if (e instanceof AggregateFunc) return "aggregate:" + e.getClass().getSimpleName();
        return "class:" + e.getClass().getName();
    }

    private static boolean distinct(Expression e) {
        if (e instanceof Count) return ((Count) e).isDistinct();
        if (e instanceof Sum) return ((Sum) e).isDistinct();
        return e instanceof Avg && ((Avg) e).isDistinct();
    }
}
