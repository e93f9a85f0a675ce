"""Leaves of a query, checked against a table: each kind of leaf in a module of its own. `bind.py`, one package up, calls them.

field_names.py      names in a query → columns, fields of structs, paths into JSON
bind_words.py       leaves that ask for words, phrases, patterns and similar words
bind_addresses.py   leaves that ask for IP addresses
bind_json.py        leaves that ask for a path into JSON, a map or an array of structs
refusals.py         errors with a position, for what a table cannot answer
"""
