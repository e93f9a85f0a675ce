package indextables;

import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** `_indexall`: stands for all columns of a table in a search. Never read. */
public class AllColumns implements MetadataColumn {
    public AllColumns() {}

    public String name() {
        return "_indexall";
    }

    public DataType dataType() {
        return DataTypes.StringType;
    }

    public String comment() {
        return "all columns that can be searched: WHERE _indexall INDEXQUERY 'text'";
    }
}
