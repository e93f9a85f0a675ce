package indextables;

import org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * A search of a column in a plan. It stays with its column: another column with equal values may be cut into words otherwise, or be no column
 * of ours. From `a.message = b.message` Spark infers the conditions of the one column for the other, by copies, as far as these are
 * deterministic. So a copy that is made there is not, and Spark leaves it out. All other copies (behind an alias, in a view) are searches.
 */
public class SearchCall extends ApplyFunctionExpression {
    /** The method of Spark that infers conditions. */
    private static final String INFERENCE = "inferAdditionalConstraints";
    /** How many callers of a copy are looked at: the inference is some twenty calls away. */
    private static final int CALLERS = 60;

    private final SearchFunction search;

    SearchCall(SearchFunction search, Seq children) {
        super(search, children);
        this.search = search;
    }

    public Expression withNewChildrenInternal(IndexedSeq children) {
        return new SearchCall(isInferred() ? search.inferred() : search, children);
    }

    private static boolean isInferred() {
        StackTraceElement[] callers = new Throwable().getStackTrace();
        for (int i = 0; i < callers.length && i < CALLERS; i++) {
            if (callers[i].getMethodName().equals(INFERENCE)) return true;
        }
        return false;
    }
}
