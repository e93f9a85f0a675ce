"""The one place where errors of the layers below become ours.

obstore reports most failures as `GenericError`, whose text alone tells a time-out from a refused signature; it carries no
HTTP status, so the status is read from the text too, after removing the addresses in it (a key may be called "timeout").
What cannot be recognised is a plain `StorageError`, never `StoreUnavailable`: repeating what is not understood hides it.

None of these types says whether a write happened. The commit path reads back after every failed create, whatever the type.
"""

from __future__ import annotations

import errno
import re
from typing import Literal

from obstore import exceptions as obstore_errors

from indextables.core.errors import (
    AccessDenied,
    InvalidKey,
    ObjectExists,
    ObjectNotFound,
    StorageError,
    StoreMisconfigured,
    StoreUnavailable,
)
from indextables.storage.keys import joined

Verb = Literal["get", "head", "create", "put", "list", "delete", "open"]

_WRITES = frozenset({"create", "put"})

_ERRNO: dict[int, type[StorageError]] = {
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), AccessDenied),
    **dict.fromkeys((errno.ENAMETOOLONG, errno.ELOOP, errno.EILSEQ, errno.EINVAL), InvalidKey),
    **dict.fromkeys((errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV, errno.ENODEV), StoreMisconfigured),
    **dict.fromkeys(
        (
            errno.EAGAIN,
            errno.EBUSY,
            errno.ECONNABORTED,
            errno.ECONNREFUSED,
            errno.ECONNRESET,
            errno.EHOSTUNREACH,
            errno.EINTR,
            errno.EMFILE,
            errno.ENETDOWN,
            errno.ENETUNREACH,
            errno.ENFILE,
            errno.ENOMEM,
            errno.EPIPE,
            errno.ESTALE,
            errno.ETIMEDOUT,
        ),
        StoreUnavailable,
    ),
    errno.EEXIST: ObjectExists,
}

_OBSTORE: dict[type[BaseException], type[StorageError]] = {
    obstore_errors.AlreadyExistsError: ObjectExists,
    obstore_errors.InvalidPathError: InvalidKey,
    obstore_errors.JoinError: StoreUnavailable,
    obstore_errors.NotFoundError: ObjectNotFound,
    obstore_errors.NotSupportedError: StoreMisconfigured,
    obstore_errors.PermissionDeniedError: AccessDenied,
    obstore_errors.UnauthenticatedError: AccessDenied,
    obstore_errors.UnknownConfigurationKeyError: StoreMisconfigured,
}

_STATUS = re.compile(
    r"(?:non-2xx|non-200|error|status|client error|server error)[^\n]{0,40}?\b([345]\d\d)\b", re.IGNORECASE
)

_TEXTS: tuple[tuple[type[StorageError], re.Pattern[str]], ...] = (
    (
        StoreMisconfigured,
        re.compile(r"NoSuchBucket|ContainerNotFound|bucket does not exist|InvalidBucketName", re.IGNORECASE),
    ),
    (
        AccessDenied,
        re.compile(
            r"AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|AuthenticationFailed|AuthorizationFailure"
            r"|ExpiredToken|InvalidToken|XAdminUserNotFound|UserNotFound|invalid_grant|missing credential"
            r"|no credential|instance metadata|credential provider",
            re.IGNORECASE,
        ),
    ),
    (
        StoreUnavailable,
        re.compile(
            r"SlowDown|ServiceUnavailable|RequestTimeout|ServerBusy|OperationTimedOut|InternalError|TooManyRequests"
            r"|timed? ?out|timeout|connection (?:reset|refused|closed|aborted)|connect error|error trying to connect"
            r"|client error \(Connect\)|client error \(SendRequest\)|broken pipe|dns error|failed to lookup"
            r"|incomplete ?message|unexpected e(?:nd of f|o)|tcp connect|network unreachable|host unreachable"
            r"|error sending request|error decoding response body|error reading a body|body write aborted|channel closed",
            re.IGNORECASE,
        ),
    ),
)

_ADDRESS = re.compile(r"https?://\S+")
_DEBUG = "\n\nDebug source"
"""What obstore puts between its message and a dump of Rust structures, which repeats the message and the address."""

_UNAVAILABLE_STATUS = frozenset({408, 409, 423, 425, 429})


def translate(error: Exception, root: str, key: str, verb: Verb) -> StorageError:
    """Our error for one of obstore's, the operating system's or Python's, met by `verb` on `key` under `root`.

    The result chains to `error` where it is raised `from` it; a StorageError is returned as it is.
    """
    if isinstance(error, StorageError):
        return error
    kind = _kind(error, verb)
    where = joined(root, key)
    return kind(f"{_sentence(kind, verb, where)}: {_first_line(error)}", key=key, root=root, verb=verb)


def _kind(error: Exception, verb: Verb) -> type[StorageError]:
    if isinstance(error, FileNotFoundError):
        return _absent(str(error), verb, error.errno is not None)
    if isinstance(error, OSError) and error.errno is not None:
        return _from_errno(error.errno, verb)
    if isinstance(error, obstore_errors.BaseError):
        return _from_obstore(error, verb)
    if isinstance(error, TimeoutError | ConnectionError):
        return StoreUnavailable
    if isinstance(error, PermissionError):
        return AccessDenied
    if isinstance(error, FileExistsError):
        return ObjectExists
    if isinstance(error, ValueError):
        return InvalidKey if verb != "open" else StoreMisconfigured
    return _from_text(str(error)) or StorageError


def _from_errno(code: int, verb: Verb) -> type[StorageError]:
    if code in (errno.ENOTDIR, errno.EISDIR):
        return InvalidKey if verb in _WRITES else ObjectNotFound
    return _ERRNO.get(code, StorageError)


def _absent(text: str, verb: Verb, local: bool) -> type[StorageError]:
    """A read that finds nothing is ObjectNotFound; a write that does has no bucket, or lost its directory meanwhile."""
    if local:
        return StoreUnavailable if verb in _WRITES else ObjectNotFound
    recognised = _from_text(text)
    if recognised in (StoreMisconfigured, AccessDenied):
        return recognised
    return ObjectNotFound if verb in ("get", "head", "delete") else StoreMisconfigured


def _from_obstore(error: obstore_errors.BaseError, verb: Verb) -> type[StorageError]:
    text = str(error)
    if isinstance(error, obstore_errors.PreconditionError | obstore_errors.NotModifiedError):
        return ObjectExists if verb == "create" else StorageError
    if isinstance(error, obstore_errors.NotFoundError):
        return _absent(text, verb, local=False)
    for kind, ours in _OBSTORE.items():
        if isinstance(error, kind):
            return ours
    return _from_text(text) or StorageError


def _from_text(text: str) -> type[StorageError] | None:
    """What a GenericError's text tells. Names of errors come before statuses, which several errors share."""
    text = _ADDRESS.sub("", text.partition(_DEBUG)[0])
    for kind, pattern in _TEXTS:
        if pattern.search(text):
            return kind
    match = _STATUS.search(text)
    if match is None:
        return None
    status = int(match.group(1))
    if status in (401, 403):
        return AccessDenied
    if status >= 500 or status in _UNAVAILABLE_STATUS:
        return StoreUnavailable
    return StoreMisconfigured if status in (301, 302, 307, 404) else None


def _sentence(kind: type[StorageError], verb: Verb, where: str) -> str:
    if kind is ObjectNotFound:
        return f"there is no object {where}"
    if kind is ObjectExists:
        return f"object {where} exists already"
    if kind is AccessDenied:
        return f"{verb} of {where} was refused (check credentials and permissions)"
    if kind is StoreUnavailable:
        return f"{verb} of {where} got no answer that can be relied on"
    if kind is InvalidKey:
        return f"{where} is not a key that the store can hold"
    if kind is StoreMisconfigured:
        return f"{verb} of {where} found no usable store (check the URL and the options)"
    return f"{verb} of {where} failed"


def _first_line(error: Exception) -> str:
    """The first line, without the dump of Rust structures that obstore appends."""
    text = str(error).partition(_DEBUG)[0]
    return " ".join(text.split()) or type(error).__name__
