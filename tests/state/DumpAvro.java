// Prints every record of Avro files as one line of JSON, read by Java's own Avro: a reader that shares nothing with ours.
//
//     java -cp <jars of janino, avro, jackson, zstd-jni, snappy-java, …> org.codehaus.janino.SimpleCompiler DumpAvro.java DumpAvro file…
//
// Janino, the compiler in Spark's jars, compiles it, because a Java that only runs programs has no compiler. Janino knows neither
// lambdas nor the types of generic arguments: hence the casts.

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.file.DataFileReader;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.IndexedRecord;

public class DumpAvro {
    public static void main(String[] names) throws Exception {
        ObjectMapper json = new ObjectMapper();
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        for (String name : names) {
            DataFileReader reader = new DataFileReader(new File(name), new GenericDatumReader());
            try {
                Map header = new LinkedHashMap();
                header.put("file", name);
                header.put("codec", reader.getMetaString("avro.codec"));
                header.put("schema", json.readTree(reader.getMetaString("avro.schema")));
                header.put("name", reader.getSchema().getFullName());
                out.println(json.writeValueAsString(header));
                while (reader.hasNext()) {
                    out.println(json.writeValueAsString(plain(reader.next())));
                }
            } finally {
                reader.close();
            }
        }
        out.flush();
    }

    private static Object plain(Object value) {
        if (value instanceof IndexedRecord) {
            IndexedRecord record = (IndexedRecord) value;
            Map fields = new LinkedHashMap();
            for (Object each : record.getSchema().getFields()) {
                Schema.Field field = (Schema.Field) each;
                fields.put(field.name(), plain(record.get(field.pos())));
            }
            return fields;
        }
        if (value instanceof Map) {
            Map items = new LinkedHashMap();
            for (Object each : ((Map) value).entrySet()) {
                Map.Entry entry = (Map.Entry) each;
                items.put(entry.getKey().toString(), plain(entry.getValue()));
            }
            return items;
        }
        if (value instanceof List) {
            List items = new ArrayList();
            for (Object item : (List) value) {
                items.add(plain(item));
            }
            return items;
        }
        return value instanceof CharSequence ? value.toString() : value;
    }
}
