package indextables;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.ArraySeq$;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/** The functions of SQL that put values into buckets, as the keys of an aggregate do. */
public class BucketFunctions {
    static final String[] NAMES = {"histogram", "date_histogram", "range"};

    private BucketFunctions() {}

    static void register(FunctionRegistry registry) {
        for (int i = 0; i < NAMES.length; i++) SearchFunctions.once(registry, "indextables_" + NAMES[i], new OfColumn(NAMES[i]));
    }

    /** indextables_histogram(column, width) and its like. Python says whether the arguments make buckets, and which. */
    public static class OfColumn extends AbstractFunction1 {
        private final String name;

        OfColumn(String name) {
            this.name = name;
        }

        public Object apply(Object given) {
            Seq children = (Seq) given;
            if (children.isEmpty()) throw wrong("takes a column first");
            Expression column = (Expression) children.apply(0);
            if (!column.deterministic()) {
                throw wrong("takes a value that stays the same: give a random value a name in a subquery, and use the name here");
            }
            DataType[] types = new DataType[children.length()];
            Expression[] arguments = new Expression[children.length()];
            types[0] = column.dataType();
            arguments[0] = column;
            List literals = new ArrayList();
            for (int i = 1; i < arguments.length; i++) {
                Literal literal = literal((Expression) children.apply(i));
                arguments[i] = literal;
                types[i] = literal.dataType();
                literals.add(Trees.literal(literal.dataType(), literal.value()));
            }
            Map question = Python.question();
            question.put("function", name);
            question.put("name", column instanceof NamedExpression ? ((NamedExpression) column).name() : column.sql());
            question.put("type", types[0].json());
            question.put("arguments", literals);
            byte[][] a = Python.ask("bucket", question);
            DataType result = DataType.fromJson(Python.text(a[0]));
            BucketFunction function = new BucketFunction("indextables_" + name, types, result, Names.map(a[1]));
            Expression call = new ApplyFunctionExpression(function, ArraySeq$.MODULE$.unsafeWrapArray(arguments));
            call.setTagValue(FunctionRegistry$.MODULE$.FUNC_ALIAS(), "indextables_" + name); // the name of a column without one
            return call;
        }

        private Literal literal(Expression argument) {
            if (argument instanceof Literal) return (Literal) argument;
            if (!argument.foldable()) throw wrong("takes a column, and after it values that are written in the query, not " + argument.sql());
            return new Literal(argument.eval(null), argument.dataType());
        }

        private IllegalArgumentException wrong(String why) {
            return new IllegalArgumentException("indextables: indextables_" + name + " " + why);
        }
    }
}
