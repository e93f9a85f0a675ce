"""Rows become splits, and splits become one split."""
