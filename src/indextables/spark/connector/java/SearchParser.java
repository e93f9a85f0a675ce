package indextables;

import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SessionState;

/**
 * Infix searches and statements of ours for a session's parser. A text that begins with the words of one of our statements is run. For any
 * other, Spark's own parser is asked first: a text that Spark understands means what it means to Spark.
 * A proxy, because the interface has other methods in each version of Spark.
 */
public class SearchParser implements InvocationHandler {
    private final ParserInterface own;
    private final WeakReference session;
    private final boolean statements;

    private SearchParser(ParserInterface own, SparkSession session, boolean statements) {
        this.own = own;
        this.session = new WeakReference(session);
        this.statements = statements;
    }

    /** Put in front of a session's parser, with our statements or with searches alone. Twice is once. */
    static void install(SparkSession spark, boolean statements) throws Exception {
        SessionState state = spark.sessionState();
        Field field = SessionState.class.getDeclaredField("sqlParser");
        field.setAccessible(true);
        Object parser = field.get(state);
        if (Proxy.isProxyClass(parser.getClass()) && Proxy.getInvocationHandler(parser) instanceof SearchParser) return;
        Class[] kinds = {ParserInterface.class};
        SearchParser ours = new SearchParser((ParserInterface) parser, spark, statements);
        field.set(state, Proxy.newProxyInstance(SearchParser.class.getClassLoader(), kinds, ours));
    }

    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        LogicalPlan answer = statement(method, arguments);
        if (answer != null) return answer;
        try {
            return method.invoke(own, arguments);
        } catch (InvocationTargetException e) {
            String calls = asCalls(arguments);
            if (calls == null) throw e.getCause();
            Object[] again = (Object[]) arguments.clone();
            again[0] = calls;
            try {
                return method.invoke(own, again);
            } catch (InvocationTargetException second) {
                throw second.getCause();
            }
        }
    }

    /** The rows of the answer to a statement of ours; null for any other text. */
    private LogicalPlan statement(Method method, Object[] arguments) {
        if (!statements || !method.getName().startsWith("parsePlan") || arguments == null || !(arguments[0] instanceof String)) return null;
        SparkSession spark = (SparkSession) session.get();
        return spark == null ? null : new Statements(spark).plan((String) arguments[0]);
    }

    /** The text with infix searches as calls; null where there are none. */
    private static String asCalls(Object[] arguments) {
        if (arguments == null || arguments.length == 0 || !(arguments[0] instanceof String)) return null;
        String sql = (String) arguments[0];
        if (!SearchWords.mentioned(sql)) return null;
        String calls = SearchWords.asCalls(sql);
        return calls.equals(sql) ? null : calls;
    }
}
