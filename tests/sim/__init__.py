"""A deterministic simulation of many processes on one table: see `scheduler.py` for how, `oracle.py` for what is checked."""
