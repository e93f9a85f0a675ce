"""Verbs that change a table."""
