"""Merges, and what a table says of itself."""
