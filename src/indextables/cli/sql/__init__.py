"""The command `sql`, and commands that are statements under shorter names.

sql_command.py         what can be typed after `indextables sql`
sql_text.py            the statements of a text, each with an answer of its own
sql_prompt.py          a prompt for statements, with history and completion
run_command.py         one statement as a command: run, and shown as rows or as a sentence
about_table.py         from a call of a command about one table to its statement
sentences.py           answers of statements in a sentence each
statement_commands.py  commands that tell about a table, and change properties: `state`, `log`, `components`, `set`, `unset` …
table_commands.py      commands that change a table or keep it fast: `merge`, `purge`, `checkpoint`, `prewarm`, `restore` …
process_commands.py    commands about one process: `cache`, `stats`, `profiler`, `jobs`, `environment`
"""
