"""How answers look: tables on a terminal, tab-separated lines in a pipe, JSON for programs.

answer ──renderer──▶ grid (a terminal) or plain (a pipe, --json) ──screen──▶ standard output

renderer.py   the one place that prints answers and errors
screen.py     where answers go: a terminal with so many columns, or a pipe
grid.py       rows for people: an aligned table, or one record after the other
bars.py       numbers as bars of text
plain.py      rows for programs: JSON lines, tab-separated lines
values.py     Arrow values as JSON has them
progress.py   how far a command has come
"""
