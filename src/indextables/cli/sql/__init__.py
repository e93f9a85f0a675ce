"""The command `sql`, and commands that are statements under shorter names.

sql_command.py         what can be typed after `indextables sql`
sql_text.py            the statements of a text, each with an answer of its own
sql_prompt.py          a prompt for statements, with history and completion
statement_commands.py  commands that are one statement each: `state`, `log`, `components`, `set`, `unset`, `cache`, `environment`
"""
