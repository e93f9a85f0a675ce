package indextables;

/** What a catalog does when a staged table exists: it keeps the table's name. */
public interface Registration {
    /** Keep the name. `answer` is what Python says of the entry. */
    void register(java.util.Map answer) throws Exception;
}
