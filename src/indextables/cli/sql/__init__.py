"""The command `sql`: statements of a text, a file or a prompt.

sql_command.py  what can be typed after `indextables sql`
sql_text.py     the statements of a text, each with an answer of its own
sql_prompt.py   a prompt for statements, with history and completion
"""
