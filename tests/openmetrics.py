"""The rules of OpenMetrics that our text has to keep, as a small parser: a text that breaks one is a ValueError.

Families are described before their samples, once, and are not mixed. A name means one family or one sample. A counter's sample
ends with `_total` and is no less than 0; a summary has `_count`, a whole number, and `_sum`; a gauge's sample has the name of its
family. The text ends with `# EOF` and a line feed, and no line is empty. Labels, units and exemplars are not used, and so are
refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]Inf|NaN")
ENDINGS = {"counter": ("_total", "_created"), "summary": ("_count", "_sum", "_created"), "gauge": ("",)}
RESERVED = {"counter": ("", "_total", "_created"), "summary": ("", "_count", "_sum", "_created"), "gauge": ("",)}


@dataclass
class Family:
    """A family of samples, by the endings of their names."""

    kind: str
    samples: dict[str, float] = field(default_factory=dict)


def families(text: str) -> dict[str, Family]:
    """Every family of a text, by its name. Raises ValueError."""
    if not text.endswith("# EOF\n") or text.count("# EOF") != 1:
        raise ValueError("the text does not end with its only # EOF and a line feed")
    found: dict[str, Family] = {}
    reserved: set[str] = set()
    current = ""
    for line in text.split("\n")[:-2]:
        if line.startswith("# TYPE "):
            current, kind = _described(line)
            names = {current + ending for ending in RESERVED[kind]}
            if names & reserved:
                raise ValueError(f"{line!r} uses a name again: {names & reserved}")
            reserved |= names
            found[current] = Family(kind)
        elif line.startswith("# HELP "):
            if line.split(" ")[2] != current:
                raise ValueError(f"{line!r} is not about the family before it")
        else:
            _take(line, current, found)
    return found


def _described(line: str) -> tuple[str, str]:
    words = line.split(" ")
    if len(words) != 4 or not NAME.fullmatch(words[2]) or words[3] not in ENDINGS:
        raise ValueError(f"{line!r} describes no family")
    return words[2], words[3]


def _take(line: str, current: str, found: dict[str, Family]) -> None:
    words = line.split(" ")
    if len(words) != 2 or not NAME.fullmatch(words[0]) or not NUMBER.fullmatch(words[1]):
        raise ValueError(f"{line!r} is no sample")
    family = found.get(current)
    if family is None or not words[0].startswith(current) or words[0][len(current) :] not in ENDINGS[family.kind]:
        raise ValueError(f"{line!r} does not belong to the family {current!r}")
    ending, value = words[0][len(current) :], float(words[1])
    if ending in family.samples:
        raise ValueError(f"{line!r} is there twice")
    if ending in ("_total", "_count") and value < 0:
        raise ValueError(f"{line!r} is less than 0")
    if ending == "_count" and not words[1].isdigit():
        raise ValueError(f"{line!r} is no whole number")
    family.samples[ending] = value
