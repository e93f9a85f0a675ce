package indextables;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.types.Metadata;
import scala.Function1;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.ArraySeq$;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * Snippets of a plan. For each call, the scan that reads the column gets one more column, the projections between pass it on, and the
 * call becomes this column. Spark hands no projection over, so this is done when the scans are there.
 */
public class Snippets extends AbstractPartialFunction {
    /** The column of snippets of each text column, by the id of the text column. */
    private final Map made = new LinkedHashMap();

    private Snippets() {}

    static LogicalPlan resolve(LogicalPlan plan) {
        return new Snippets().rewrite(plan, new LinkedHashSet());
    }

    static boolean isCall(Object node) {
        return node instanceof ApplyFunctionExpression && ((ApplyFunctionExpression) node).function() instanceof SnippetFunction;
    }

    private static IllegalArgumentException misplaced() {
        return new IllegalArgumentException(SnippetFunction.MISPLACED);
    }

    private LogicalPlan rewrite(LogicalPlan node, Set above) {
        if (node instanceof DataSourceV2ScanRelation) return read((DataSourceV2ScanRelation) node, above);
        Calls calls = new Calls();
        Iterator expressions = node.expressions().iterator();
        while (expressions.hasNext()) ((TreeNode) expressions.next()).foreach(calls);
        Set below = node instanceof Union ? new LinkedHashSet() : new LinkedHashSet(above); // branches of a union have equal columns
        below.addAll(calls.found);
        List passed = node instanceof Project ? passed((Project) node, above, below) : new ArrayList();
        LogicalPlan[] children = new LogicalPlan[node.children().length()];
        for (int i = 0; i < children.length; i++) children[i] = rewrite((LogicalPlan) node.children().apply(i), below);
        for (java.util.Iterator all = calls.found.iterator(); all.hasNext();) check((Attribute) made.get(all.next()), children);
        LogicalPlan out = (LogicalPlan) node.withNewChildren(ArraySeq$.MODULE$.unsafeWrapArray(children));
        if (!calls.found.isEmpty()) out = (LogicalPlan) out.transformExpressionsUp(this);
        if (!(node instanceof Project)) return narrowed(node, out, above);
        return passed.isEmpty() ? out : with((Project) out, passed);
    }

    /** A node gives the columns that it gave before, and the columns of snippets that somebody above wants: no others. */
    private LogicalPlan narrowed(LogicalPlan node, LogicalPlan out, Set above) {
        List columns = new ArrayList();
        Iterator output = node.output().iterator();
        while (output.hasNext()) columns.add(output.next());
        for (java.util.Iterator all = above.iterator(); all.hasNext();) {
            Attribute wanted = (Attribute) made.get(all.next());
            if (has(out, wanted)) columns.add(wanted);
        }
        if (columns.size() == out.output().length()) return out;
        return new Project((Seq) ArraySeq$.MODULE$.unsafeWrapArray(columns.toArray()), out);
    }

    /** What a projection passes on: a column of snippets, under a new id where the projection renames the text. */
    private List passed(Project node, Set above, Set below) {
        List out = new ArrayList();
        for (java.util.Iterator all = above.iterator(); all.hasNext();) {
            Object id = all.next();
            for (int i = 0; i < node.projectList().length(); i++) {
                Object part = node.projectList().apply(i);
                if (part instanceof AttributeReference && ((AttributeReference) part).exprId().equals(id)) {
                    out.add(made.get(id));
                } else if (part instanceof Alias && ((Alias) part).exprId().equals(id) && ((Alias) part).child() instanceof AttributeReference) {
                    AttributeReference text = (AttributeReference) ((Alias) part).child();
                    below.remove(id);
                    below.add(text.exprId());
                    Attribute own = (Attribute) made.get(id);
                    out.add(new Alias(snippet(text), own.name(), own.exprId(), (Seq) Nil$.MODULE$, Option.empty(), (Seq) Nil$.MODULE$));
                }
            }
        }
        return out;
    }

    private static Project with(Project node, List more) {
        List found = new ArrayList();
        for (int i = 0; i < more.size(); i++) {
            Expression one = (Expression) more.get(i);
            Attribute wanted = (Attribute) (one instanceof Alias ? ((Alias) one).child() : one);
            if (has(node.child(), wanted)) found.add(one);
        }
        Seq all = (Seq) node.projectList().appendedAll(ArraySeq$.MODULE$.unsafeWrapArray(found.toArray()));
        return new Project(all, node.child());
    }

    private static boolean has(LogicalPlan plan, Attribute wanted) {
        Iterator output = plan.output().iterator();
        while (output.hasNext()) {
            if (((Attribute) output.next()).exprId().equals(wanted.exprId())) return true;
        }
        return false;
    }

    private static void check(Attribute wanted, LogicalPlan[] children) {
        for (int i = 0; i < children.length; i++) {
            if (has(children[i], wanted)) return;
        }
        throw misplaced();
    }

    private Attribute snippet(AttributeReference text) {
        Attribute known = (Attribute) made.get(text.exprId());
        if (known != null) return known;
        Attribute one = new AttributeReference("_snippet_" + text.name(), SnippetFunction.TYPE, true, Metadata.empty(),
            NamedExpression$.MODULE$.newExprId(), (Seq) Nil$.MODULE$);
        made.put(text.exprId(), one);
        return one;
    }

    /** A scan with the columns of snippets that are wanted of it. */
    private LogicalPlan read(DataSourceV2ScanRelation relation, Set above) {
        List texts = new ArrayList();
        List columns = new ArrayList();
        Iterator output = relation.output().iterator();
        while (output.hasNext()) {
            Attribute column = (Attribute) output.next();
            if (!above.contains(column.exprId())) continue;
            texts.add(column.name());
            columns.add(made.get(column.exprId()));
        }
        if (texts.isEmpty()) return relation;
        Scan scan = ReadPlanner.withSnippets(relation.scan(), texts);
        if (scan == null) throw misplaced();
        Object[] parts = new Object[relation.productArity()];
        for (int i = 0; i < parts.length; i++) {
            parts[i] = relation.productElement(i);
            if (parts[i] == relation.scan()) parts[i] = scan;
            else if (parts[i] == relation.output()) parts[i] = relation.output().appendedAll(ArraySeq$.MODULE$.unsafeWrapArray(columns.toArray()));
        }
        return (LogicalPlan) relation.makeCopy(parts);
    }

    public boolean isDefinedAt(Object node) {
        return isCall(node);
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
        if (!isCall(node)) return otherwise.apply(node);
        return snippet((AttributeReference) ((ApplyFunctionExpression) node).children().apply(0));
    }

    /** The ids of the columns that the expressions of one node show snippets of. */
    private class Calls extends AbstractFunction1 {
        final Set found = new LinkedHashSet();

        public Object apply(Object node) {
            if (!isCall(node)) return null;
            Object text = ((ApplyFunctionExpression) node).children().apply(0);
            if (!(text instanceof AttributeReference)) throw misplaced();
            snippet((AttributeReference) text);
            found.add(((AttributeReference) text).exprId());
            return null;
        }
    }
}
