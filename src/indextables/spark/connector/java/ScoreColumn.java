package indextables;

import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** `_score`: how well a row fits the searches of a query. */
public class ScoreColumn implements MetadataColumn {
    public ScoreColumn() {}

    public String name() {
        return "_score";
    }

    public DataType dataType() {
        return DataTypes.DoubleType;
    }

    public boolean isNullable() {
        return false;
    }

    public String comment() {
        return "how well the row fits the search, BM25 within its split";
    }
}
