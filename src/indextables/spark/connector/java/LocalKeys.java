package indextables;

import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BindReferences$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.package$;
import org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.types.DataType;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.ArraySeq$;
import scala.math.BigInt;
import scala.runtime.AbstractPartialFunction;

/** The different values of an expression over rows that a plan has already, without nulls, which fit nothing. */
public class LocalKeys {
    /** At most so many different keys are handed over: a list of more takes longer to travel and to look up than it spares. */
    static final int MOST_KEYS = 10000;
    /** At most so many rows are looked at for their keys, because the driver does it while Spark plans. */
    static final int MOST_ROWS = 100000;

    private final DataType type;
    private final List texts;

    private LocalKeys(DataType type, List texts) {
        this.type = type;
        this.texts = texts;
    }

    /** The keys; null where the rows of the plan are not here, or too many. */
    static LocalKeys of(LogicalPlan plan, Expression key) {
        LocalRelation relation = rows(plan);
        if (relation == null || relation.data().length() > MOST_ROWS || !key.deterministic()) return null;
        Set texts = new LinkedHashSet();
        try {
            Expression bound = BindReferences$.MODULE$.bindReference(key, package$.MODULE$.AttributeSeq(relation.output()), false);
            scala.collection.Iterator rows = relation.data().iterator();
            while (rows.hasNext()) {
                Object value = bound.eval((InternalRow) rows.next());
                if (value != null) texts.add(text(value));
                if (texts.size() > MOST_KEYS) return null;
            }
        } catch (RuntimeException e) {
            return null; // Spark computes the keys again for the join, and says what is wrong with one
        }
        return new LocalKeys(key.dataType(), new ArrayList(texts));
    }

    int size() {
        return texts.size();
    }

    /** A column's comparison with the keys: a tree as Trees writes it, but with one type for all values, because there are many. */
    Map tree(String column) {
        Map tree = Python.question();
        tree.put("operator", texts.isEmpty() ? "ALWAYS_FALSE" : "IN");
        Map name = Python.question();
        name.put("column", Collections.singletonList(column));
        tree.put("arguments", Collections.singletonList(name));
        tree.put("type", type.json());
        tree.put("values", texts);
        return tree;
    }

    private static String text(Object value) {
        return value instanceof byte[] ? Base64.getEncoder().encodeToString((byte[]) value) : value.toString();
    }

    /** The rows of a plan that has them already, or can count them up, as Spark's own rule computes them. */
    private static LocalRelation rows(LogicalPlan plan) {
        if (plan instanceof LocalRelation) return (LocalRelation) plan;
        LogicalPlan bottom = plan;
        while (bottom instanceof Project || bottom instanceof Filter) bottom = (LogicalPlan) bottom.children().head();
        if (!(bottom instanceof Range) || !plan.deterministic()) return null;
        BigInt many = ((Range) bottom).numElements();
        if (!many.isValidInt() || many.intValue() > MOST_ROWS) return null;
        LogicalPlan made = ConvertToLocalRelation$.MODULE$.apply((LogicalPlan) plan.transformDown(new Counted()));
        return made instanceof LocalRelation ? (LocalRelation) made : null;
    }

    /** A range of numbers as rows. */
    public static class Counted extends AbstractPartialFunction {
        public boolean isDefinedAt(Object node) {
            return node instanceof Range;
        }

        public Object applyOrElse(Object node, Function1 otherwise) {
            if (!isDefinedAt(node)) return otherwise.apply(node);
            Range range = (Range) node;
            InternalRow[] rows = new InternalRow[range.numElements().intValue()];
            for (int i = 0; i < rows.length; i++) {
                rows[i] = new GenericInternalRow(new Object[] {Long.valueOf(range.start() + i * range.step())});
            }
            return new LocalRelation(range.output(), ArraySeq$.MODULE$.unsafeWrapArray(rows), false, Option.empty());
        }
    }
}
