"""Options that a table keeps, checked where they are set: a value that makes the table unusable is refused there.

Otherwise every later append or search would fail, and whoever meets that error is not the one who set the option.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa

from indextables.core import options as opt
from indextables.core.errors import OptionError
from indextables.split.index.doc_mapping import plan_mapping

_LEAST_SAFETY_HOURS: Final = 1 / 60
"""Hours. A commit is refused when its upload began more than half the safety age ago, and no write is sure to end within
half a minute. With 0 every append fails.
"""


def check_usable(schema: pa.Schema, partition_columns: Sequence[str], configuration: Mapping[str, str]) -> None:
    """Raise OptionError for table options with which rows could not be written, or could not be searched."""
    age = opt.table_value(configuration, opt.SAFETY_AGE_HOURS)
    if age < _LEAST_SAFETY_HOURS:
        raise OptionError(
            f"{opt.SAFETY_AGE_HOURS.key} is {age:g} hours, and a commit whose upload began more than half of that ago is "
            "refused, so that no append could succeed: set at least one minute (1m), and more than the longest write takes",
            key=opt.SAFETY_AGE_HOURS.key,
        )
    plan_mapping(schema, tuple(partition_columns), configuration)
