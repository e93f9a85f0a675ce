"""Commands that keep a table fast and small, or end it.

maintaining_app.py  what can be typed: prewarm, purge, optimize, drop
upkeep_verbs.py     what the commands do, one function each
confirm.py          asks before something is lost
"""
