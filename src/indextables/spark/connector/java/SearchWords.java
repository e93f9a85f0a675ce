package indextables;

import java.util.ArrayList;
import java.util.List;

/**
 * `message INDEXQUERY 'text'` as `indexquery(message, 'text')`, token by token: words inside strings, comments and quoted names stay as
 * they are.
 */
public class SearchWords {
    private static final int SPACE = 0;
    private static final int NAME = 1;
    private static final int TEXT = 2;
    private static final int MARK = 3;

    /** Words that begin a condition. A search that has no column stands behind one of them, and Spark's own error is clearest there. */
    private static final String[] BEFORE_CONDITIONS = {"where", "on", "and", "or", "when", "having", "select", "by"};

    private final String sql;
    private final List kinds = new ArrayList();
    private final List starts = new ArrayList();
    private final List ends = new ArrayList();

    private SearchWords(String sql) {
        this.sql = sql;
        int at = 0;
        while (at < sql.length()) at = token(at);
    }

    /** Whether a text has one of the words anywhere. Most texts have none, and are not looked at again. */
    static boolean mentioned(String sql) {
        for (int i = 0; i < SearchFunctions.OF_A_COLUMN.length; i++) {
            String word = SearchFunctions.OF_A_COLUMN[i];
            for (int at = 0; at + word.length() <= sql.length(); at++) {
                if (sql.regionMatches(true, at, word, 0, word.length())) return true;
            }
        }
        return false;
    }

    /** The text with every infix search as a call. The same text where there is none. */
    static String asCalls(String sql) {
        return new SearchWords(sql).rewritten();
    }

    private String rewritten() {
        StringBuilder out = new StringBuilder();
        int copied = 0;
        for (int i = 0; i < kinds.size(); i++) {
            if (operator(i) == null) continue;
            int last = before(i);
            boolean not = last >= 0 && isWord(last, "not");
            if (not) last = before(last);
            int first = columnFrom(last);
            int right = after(i);
            if (first < 0 || right < 0 || !isValue(right) || start(first) < copied) continue;
            out.append(sql, copied, start(first));
            String column = sql.substring(start(first), end(last));
            String value = sql.substring(start(right), end(right));
            String call = column.equalsIgnoreCase("_indexall") && operator(i).equals("indexquery")
                ? "indexqueryall(" + value + ")"
                : operator(i) + "(" + column + ", " + value + ")";
            out.append(not ? "(NOT " + call + ")" : call);
            copied = end(right);
        }
        return copied == 0 ? sql : out.append(sql, copied, sql.length()).toString();
    }

    private String operator(int i) {
        for (int k = 0; k < SearchFunctions.OF_A_COLUMN.length; k++) {
            if (isWord(i, SearchFunctions.OF_A_COLUMN[k])) return SearchFunctions.OF_A_COLUMN[k];
        }
        return null;
    }

    /** The first token of the column that ends with a token: name, or name.name; -1 where no column ends there. */
    private int columnFrom(int last) {
        if (last < 0 || kind(last) != NAME) return -1;
        for (int i = 0; i < BEFORE_CONDITIONS.length; i++) {
            if (isWord(last, BEFORE_CONDITIONS[i])) return -1;
        }
        int first = last;
        while (first >= 2 && kind(first - 1) == MARK && sql.charAt(start(first - 1)) == '.' && kind(first - 2) == NAME) first -= 2;
        return first;
    }

    /** A string, or a marker of a parameter: ? and :name. */
    private boolean isValue(int i) {
        if (kind(i) == TEXT) return true;
        return kind(i) == MARK && (sql.charAt(start(i)) == '?' || sql.charAt(start(i)) == ':');
    }

    private boolean isWord(int i, String word) {
        return kind(i) == NAME && end(i) - start(i) == word.length() && sql.regionMatches(true, start(i), word, 0, word.length());
    }

    private int before(int i) {
        int at = i - 1;
        while (at >= 0 && kind(at) == SPACE) at--;
        return at;
    }

    private int after(int i) {
        int at = i + 1;
        while (at < kinds.size() && kind(at) == SPACE) at++;
        return at < kinds.size() ? at : -1;
    }

    private int kind(int i) {
        return ((Integer) kinds.get(i)).intValue();
    }

    private int start(int i) {
        return ((Integer) starts.get(i)).intValue();
    }

    private int end(int i) {
        return ((Integer) ends.get(i)).intValue();
    }

    private int token(int at) {
        char c = sql.charAt(at);
        if (Character.isWhitespace(c)) return add(SPACE, at, spaceEnd(at));
        if (sql.startsWith("--", at)) return add(SPACE, at, lineEnd(at));
        if (sql.startsWith("/*", at)) return add(SPACE, at, commentEnd(at));
        if (c == '`') return add(NAME, at, quoteEnd(at, '`', false));
        if ((c == 'r' || c == 'R') && at + 1 < sql.length() && (sql.charAt(at + 1) == '\'' || sql.charAt(at + 1) == '"')) {
            return add(TEXT, at, quoteEnd(at + 1, sql.charAt(at + 1), false));
        }
        if (c == '\'' || c == '"') return add(TEXT, at, quoteEnd(at, c, true));
        if (c == ':' && at + 1 < sql.length() && Character.isJavaIdentifierStart(sql.charAt(at + 1))) return add(MARK, at, nameEnd(at + 1));
        if (Character.isJavaIdentifierPart(c)) return add(NAME, at, nameEnd(at));
        return add(MARK, at, at + 1);
    }

    private int add(int kind, int start, int end) {
        kinds.add(Integer.valueOf(kind));
        starts.add(Integer.valueOf(start));
        ends.add(Integer.valueOf(end));
        return end;
    }

    private int spaceEnd(int at) {
        int end = at;
        while (end < sql.length() && Character.isWhitespace(sql.charAt(end))) end++;
        return end;
    }

    private int lineEnd(int at) {
        int end = at;
        while (end < sql.length() && sql.charAt(end) != '\n') end++;
        return end;
    }

    /** Comments in brackets may hold others. */
    private int commentEnd(int at) {
        int depth = 0;
        int end = at;
        while (end < sql.length()) {
            if (sql.startsWith("/*", end)) {
                depth++;
                end += 2;
            } else if (sql.startsWith("*/", end)) {
                depth--;
                end += 2;
                if (depth == 0) return end;
            } else {
                end++;
            }
        }
        return end;
    }

    /** A doubled quote stays inside; with `escapes`, so does a quote after a backslash. */
    private int quoteEnd(int at, char quote, boolean escapes) {
        int end = at + 1;
        while (end < sql.length()) {
            char c = sql.charAt(end);
            if (escapes && c == '\\') {
                end += 2;
            } else if (c == quote) {
                if (end + 1 < sql.length() && sql.charAt(end + 1) == quote) {
                    end += 2;
                } else {
                    return end + 1;
                }
            } else {
                end++;
            }
        }
        return sql.length();
    }

    private int nameEnd(int at) {
        int end = at;
        while (end < sql.length() && Character.isJavaIdentifierPart(sql.charAt(end))) end++;
        return end;
    }
}
