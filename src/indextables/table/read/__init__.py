"""Verbs that ask a table something."""
