"""Rows on their way into a table: checked, gathered, built into splits and uploaded."""
