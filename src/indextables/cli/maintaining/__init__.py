"""Commands that do what a table needs, or end it.

maintaining_app.py  what can be typed: optimize, drop
upkeep_verbs.py     what the commands do, one function each
confirm.py          asks before something is lost
"""
