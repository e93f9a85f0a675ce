"""Spark writes a table."""
