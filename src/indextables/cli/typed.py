"""What a command line says before anybody has read it: for errors that come too early, or too late."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence


def typed(arguments: Sequence[str] | None) -> list[str]:
    """The words of the command line."""
    return list(sys.argv[1:] if arguments is None else arguments)


def asks_for_json(words: Sequence[str]) -> bool:
    """Whether answers and errors are to be JSON."""
    if {"--json", "--output=json", "-o=json", "-ojson"} & set(words):
        return True
    return bool(set(itertools.pairwise(words)) & {("-o", "json"), ("--output", "json")})


def last_words(word: str, code: int) -> str:
    """The line of a program that ends at once."""
    if not asks_for_json(typed(None)):
        return f"error: {word}\n"
    import json

    error = {"type": "Stopped", "message": word, "exitCode": code}
    return json.dumps({"error": error}, separators=(",", ":")) + "\n"
