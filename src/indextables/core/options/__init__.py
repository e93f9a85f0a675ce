"""Every `spark.indextables.*` option: declared once, checked once, documented from the declaration.

    kinds.py           how texts become values
    option.py          what an option is
    keys.py            the options themselves, one constant each
    bag.py             `Options`: what a caller set
    rules.py           which of two keys holds, and what a table stores
    page.py            the reference page
    write_settings.py  the options that every write asks for, read once

`options[CHECKPOINT_INTERVAL]` is typed: an `Option[int]` gives an int. `python -m indextables.core.options --write FILE`
generates the reference page, `--check FILE` fails when it is not up to date.
"""

from __future__ import annotations

from indextables.core.options.bag import Options as Options
from indextables.core.options.keys import *  # noqa: F403 - every constant of keys.py is public here
from indextables.core.options.kinds import join_list as join_list
from indextables.core.options.kinds import split_list as split_list
from indextables.core.options.option import PREFIX as PREFIX
from indextables.core.options.option import Family as Family
from indextables.core.options.option import Option as Option
from indextables.core.options.rules import log_retention_ms as log_retention_ms
from indextables.core.options.rules import parse_typemap as parse_typemap
from indextables.core.options.rules import read_parallelism as read_parallelism
from indextables.core.options.rules import state_retention_ms as state_retention_ms
from indextables.core.options.rules import table_family as table_family
from indextables.core.options.rules import table_options as table_options
from indextables.core.options.rules import table_value as table_value
from indextables.core.options.write_settings import WriteSettings as WriteSettings
from indextables.core.options.write_settings import write_settings as write_settings
