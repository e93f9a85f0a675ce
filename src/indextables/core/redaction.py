"""Texts that may be shown: secrets are left out, by the name of a setting and by what its value looks like.

    name, value ──▶ is the name one of a secret? ──▶ ***REDACTED***
                └─▶ a URL with user:password@, a signature or a key inside? ──▶ only that part is replaced

What is doubtful is hidden: `AWS_ACCESS_KEY_ID` alone opens nothing, and is hidden all the same.
"""

from __future__ import annotations

import re
from typing import Final

REDACTED: Final = "***REDACTED***"
"""What is shown in place of a secret."""

_SECRET_NAME: Final = re.compile(
    r"key|secret|token|passw|passphrase|pwd|credential|sas(?![a-z])|signature|(?<![a-z])sig(?![a-z])|auth|private|bearer|cookie"
    r"|connection_?string|conn_?str|session_?id|account_?id_?sec|webhook|license|salt|certificate|(?<![a-z])pem(?![a-z])|jaas",
    re.IGNORECASE,
)
"""Parts of names that mean a secret. Words that are parts of other words (`sas` in `disaster`) must end there."""
_NO_SECRETS: Final = re.compile(
    r"lookup_?fields|key_?value_?separator|max_?token_?length|(?:^|[._])(?:token|key)(?:s)?_?(?:count|length|size|limit)$",
    re.IGNORECASE,
)
"""Names that have such a part and are no secrets all the same: sizes and lists of columns."""

_USER_INFO: Final = re.compile(r"(?<=://)(?:[^/?#\s:@]*:(?!\d+/)\S*|[^/?#\s]*)@")
"""What stands before the host of a URL: a user, or a user and a password, which may hold signs that belong into no URL."""
_SECRET_ARGUMENT: Final = re.compile(
    r"(?i)((?:^|[?&;,\s\"'{])[\"']?[a-z0-9_.\-%]*(?:key|secret|token|passw|pwd|credential|signature|(?<![a-z0-9])sig|(?<![a-z0-9])sas|auth)"
    r"[a-z0-9_.\-%]*[\"']?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^&;,\s\"'}]+)"
)
"""`name=value` or `name: value` inside of a text, where the name means a secret: a query of a URL, options of Java, JSON."""
_BEARER: Final = re.compile(r"(?i)\b(bearer|basic)\s+[a-z0-9+/=._~-]{8,}")
"""Headers of HTTP with a token."""
_AWS_KEY: Final = re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")
"""Access keys of AWS, wherever they stand."""
_PEM: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
"""Private keys as text."""


def is_secret_name(name: str) -> bool:
    """Whether a setting of this name holds a secret, as far as a name can say."""
    return _SECRET_NAME.search(name) is not None and _NO_SECRETS.search(name) is None


def redacted(name: str, value: str) -> str:
    """The value of a setting as it may be shown. An empty value stays empty: it says that nothing is set."""
    if not value:
        return value
    return REDACTED if is_secret_name(name) else without_secrets(value)


def without_secrets(text: str) -> str:
    """A text with `***REDACTED***` in place of passwords in URLs, signatures, tokens and private keys."""
    text = _PEM.sub(REDACTED, text)
    text = _USER_INFO.sub(f"{REDACTED}@", text)
    text = _BEARER.sub(rf"\g<1> {REDACTED}", text)
    text = _SECRET_ARGUMENT.sub(rf"\g<1>{REDACTED}", text)
    return _AWS_KEY.sub(REDACTED, text)


__all__ = ["REDACTED", "is_secret_name", "redacted", "without_secrets"]
