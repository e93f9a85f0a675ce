package indextables;

/** A query that was cancelled while Python answered it. PySpark shows one line of it. */
public class QueryCancelled extends IllegalArgumentException {
    QueryCancelled(String said) {
        super("indextables: the query was cancelled while the driver answered it: " + said);
    }
}
