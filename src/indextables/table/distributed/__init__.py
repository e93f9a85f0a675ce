"""Reads, writes and maintenance divided into tasks that other processes run."""
