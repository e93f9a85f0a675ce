"""Stores for tests. Nothing in the package imports them; mypy checks them against `Store` here.

counting.py   counts requests, so that a test can hold a verb to its budget
faulty.py     fails at a chosen call, before or after the request was done
"""
