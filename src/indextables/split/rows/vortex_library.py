"""Vortex, loaded when the first row is read: a count that an index answers does not wait for it.

The names of this module are those of `vortex` that the package reads rows with.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    import vortex

    return getattr(vortex, name)
