"""The value of `--schema`: columns and their types, Spark's JSON, or `@` and the name of a file that holds one of them."""

from __future__ import annotations

from pathlib import Path

from indextables.cli.errors import UsageError


def schema_argument(given: str) -> str:
    """The text of a schema, read from a file where the argument names one. Raises UsageError."""
    text = given.strip()
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).expanduser().read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the schema file {text[1:]} cannot be read ({_why(error)})") from error


def _why(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
