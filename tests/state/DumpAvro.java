// Prints every record of Avro files as one line of JSON, read by Java's own Avro: a reader that shares nothing with ours.
//
//     java -cp <jars of avro, jackson, zstd-jni, snappy-java, …> DumpAvro.java file…

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
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
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String name : names) {
            GenericDatumReader<Object> records = new GenericDatumReader<>();
            try (DataFileReader<Object> reader = new DataFileReader<>(new File(name), records)) {
                Map<String, Object> header = new LinkedHashMap<>();
                header.put("file", name);
                header.put("codec", reader.getMetaString("avro.codec"));
                header.put("schema", json.readTree(reader.getMetaString("avro.schema")));
                header.put("name", reader.getSchema().getFullName());
                out.println(json.writeValueAsString(header));
                while (reader.hasNext()) {
                    out.println(json.writeValueAsString(plain(reader.next())));
                }
            }
        }
        out.flush();
    }

    private static Object plain(Object value) {
        if (value instanceof IndexedRecord record) {
            Map<String, Object> fields = new LinkedHashMap<>();
            for (Schema.Field field : record.getSchema().getFields()) {
                fields.put(field.name(), plain(record.get(field.pos())));
            }
            return fields;
        }
        if (value instanceof Map<?, ?> map) {
            Map<String, Object> items = new LinkedHashMap<>();
            map.forEach((key, item) -> items.put(key.toString(), plain(item)));
            return items;
        }
        if (value instanceof List<?> list) {
            List<Object> items = new ArrayList<>();
            list.forEach(item -> items.add(plain(item)));
            return items;
        }
        return value instanceof CharSequence ? value.toString() : value;
    }
}
