package indextables;

import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute$;
import org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;

/** The search functions of SQL: indexquery, textsearch and fieldmatch of a column, indexqueryall of all columns, and snippets. */
public class SearchFunctions {
    static final String[] OF_A_COLUMN = {"indexquery", "textsearch", "fieldmatch"};
    static final String OF_ALL = "indexqueryall";

    private SearchFunctions() {}

    /** As built-in functions: persistent views may use them, and sessions that begin later have them. */
    static void register(FunctionRegistry registry) {
        for (int i = 0; i < OF_A_COLUMN.length; i++) once(registry, OF_A_COLUMN[i], new OfColumn(OF_A_COLUMN[i]));
        once(registry, OF_ALL, new OfAll());
        once(registry, SnippetFunction.NAME, new OfSnippet());
    }

    /** Spark prints a warning for a function that takes the place of another one. */
    static void once(FunctionRegistry registry, String name, AbstractFunction1 made) {
        if (!registry.functionExists(named(name))) registry.registerFunction(named(name), made, "built-in");
    }

    /** Named as this version of Spark names its own functions: with system.builtin or without. */
    static FunctionIdentifier named(String name) {
        FunctionIdentifier one = (FunctionIdentifier) FunctionRegistry$.MODULE$.builtin().listFunction().head();
        return new FunctionIdentifier(name, one.database(), one.catalog());
    }

    /** indexquery(column, 'text') and its like. */
    public static class OfColumn extends AbstractFunction1 {
        private final String name;

        OfColumn(String name) {
            this.name = name;
        }

        public Object apply(Object given) {
            Seq children = (Seq) given;
            if (children.length() != 2) {
                throw new IllegalArgumentException("indextables: " + name + " takes a column and a text: " + name + "(message, 'error AND timeout')");
            }
            DataType[] types = {((Expression) children.apply(0)).dataType(), DataTypes.StringType};
            return new SearchCall(new SearchFunction(name, types), children);
        }
    }

    /** indexqueryall('text'): a search of the column `_indexall`, which stands for all columns of the one table that has it. */
    public static class OfAll extends AbstractFunction1 {
        public Object apply(Object given) {
            Seq children = (Seq) given;
            if (children.length() != 1) {
                throw new IllegalArgumentException("indextables: indexqueryall takes a text: indexqueryall('error AND timeout')");
            }
            DataType[] types = {DataTypes.StringType, DataTypes.StringType};
            Seq both = (Seq) children.prepended(UnresolvedAttribute$.MODULE$.quoted("_indexall"));
            return new SearchCall(new SearchFunction(OF_ALL, types), both);
        }
    }

    /** indextables_snippet(column): what a search found in the column. */
    public static class OfSnippet extends AbstractFunction1 {
        public Object apply(Object given) {
            Seq children = (Seq) given;
            Object column = children.length() == 1 ? children.apply(0) : null;
            if (!(column instanceof Attribute) || !(((Attribute) column).dataType() instanceof StringType)) {
                throw new IllegalArgumentException("indextables: " + SnippetFunction.NAME + " takes a column of texts: "
                    + SnippetFunction.NAME + "(message)");
            }
            Expression call = new ApplyFunctionExpression(new SnippetFunction(((Attribute) column).dataType()), children);
            call.setTagValue(FunctionRegistry$.MODULE$.FUNC_ALIAS(), SnippetFunction.NAME); // the name of a column without one
            return call;
        }
    }
}
