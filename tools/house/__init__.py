"""How easily a stranger finds a way through the code, in numbers: `make house`, or `python -m tools.house`.

source.py ──▶ graph.py, classes.py, state.py, words.py, tests_count.py, matches.py ──┐
              walks.py ◀─ traced.py, locks.py ◀─ held_locks.py (other processes)   ──┴─▶ measures.py ──▶ report.py

source.py        the modules of a tree, parsed
graph.py         imports between modules: cycles, flat packages, what one room takes from another
classes.py       methods of classes, and functions that take a log and a snapshot apart
state.py         fork hooks, and functions that open a table's log
words.py         docstrings, sentences at numbers, and package docstrings that list modules
tests_count.py   private attributes and `monkeypatch.setattr` in tests
matches.py       `match` statements that mypy calls not exhaustive
walks.py         runs traced.py in another process, with the tree to measure on its path
traced.py        counts the modules that append, search and a read task of Spark pass through
locks.py         runs held_locks.py in another process, with the tree to measure on its path
held_locks.py    holds each lock of the package, forks, and asks for the lock in the child
measures.py      all measures with their figures before and their goals
report.py        the table that is printed
"""
