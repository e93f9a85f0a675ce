package indextables;

/** There is no table at a place. PySpark prints an IllegalArgumentException as one line. */
public class TableMissing extends IllegalArgumentException {
    public TableMissing(String said) {
        super(said);
    }
}
