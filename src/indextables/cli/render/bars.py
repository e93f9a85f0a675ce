"""Bars of text: a number beside the largest one."""

from __future__ import annotations

from typing import Any

from rich.text import Text


def bar(value: Any, largest: float, width: int, *, blocks: bool) -> Text:
    """To an eighth of a character; nothing for what is not a positive number."""
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0 or largest <= 0:
        return Text()
    share = min(value / largest, 1.0)
    if not blocks:
        return Text("#" * max(round(share * width), 1))
    full, eighths = divmod(max(round(share * width * 8), 1), 8)
    return Text("\u2588" * full + (chr(0x2590 - eighths) if eighths else ""), "green")
