"""The one place where errors of the layers below become ours.

obstore reports most failures as `GenericError`, whose text alone tells a time-out from a refused signature. Where there was
an answer, its status and the service's name for the error decide; where there was none, the words of the HTTP client do.
Addresses are removed first (a key may be called "timeout").
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
from indextables.storage.object_keys import joined

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
    obstore_errors.InvalidPathError: InvalidKey,
    obstore_errors.JoinError: StoreUnavailable,
    obstore_errors.NotSupportedError: StoreMisconfigured,
    obstore_errors.PermissionDeniedError: AccessDenied,
    obstore_errors.UnauthenticatedError: AccessDenied,
    obstore_errors.UnknownConfigurationKeyError: StoreMisconfigured,
}

_STATUS = re.compile(r"status(?: code)?:? (\d{3})\b")

_CODE = re.compile(r"<Code>(\w+)</Code>|\(code: (\w+)\)")

_CODES: dict[str, type[StorageError]] = {
    **dict.fromkeys(
        (
            "AuthorizationHeaderMalformed",
            "ContainerNotFound",
            "IllegalLocationConstraintException",
            "InvalidBucketName",
            "NoSuchBucket",
            "NotImplemented",
            "PermanentRedirect",
        ),
        StoreMisconfigured,
    ),
    **dict.fromkeys(
        (
            "AccessDenied",
            "AuthenticationFailed",
            "AuthorizationFailure",
            "AuthorizationPermissionMismatch",
            "ExpiredToken",
            "InvalidAccessKeyId",
            "InvalidToken",
            "RequestTimeTooSkewed",
            "SignatureDoesNotMatch",
            "XAdminUserNotFound",
        ),
        AccessDenied,
    ),
    **dict.fromkeys(
        ("InternalError", "OperationTimedOut", "RequestTimeout", "ServerBusy", "ServiceUnavailable", "SlowDown"),
        StoreUnavailable,
    ),
}
"""The services' own names of errors, which tell more than the status that comes with them."""

_WORDS: tuple[tuple[type[StorageError], re.Pattern[str]], ...] = (
    (StoreMisconfigured, re.compile("builder error|must be specified|redirect without location", re.IGNORECASE)),
    (AccessDenied, re.compile("credential|invalid_grant|unauthorized", re.IGNORECASE)),
    (
        StoreUnavailable,
        re.compile(
            r"timed? ?out|timeout|connection (?:reset|refused|closed|aborted|error)|\(connect\)|\(sendrequest\)"
            r"|tcp connect|error trying to connect|broken pipe|dns error|failed to lookup|incomplete ?message"
            r"|unexpected eof|unexpected end of file|unreachable|error sending request|error decoding response body"
            r"|error reading a body|request or response body error|channel closed",
            re.IGNORECASE,
        ),
    ),
)
"""What clients say when there was no answer, and so no status."""

_NO_CREDENTIALS = re.compile(r"http://(?:169\.254\.|metadata\.google\.internal)")
"""Where clients look for credentials last of all. On a machine outside the cloud nobody answers there."""

_NO_KEY = re.compile(r"\binvalid path: .*?\bPath \"(.*)\"(?: contained|:)", re.DOTALL)
"""How obstore names an object in a listing whose name it cannot hold: an empty, `.` or `..` component, or a line break."""

_ADDRESS = re.compile(r"https?://\S+")
_DEBUG = "\n\nDebug source"
"""What obstore puts between its message and a dump of Rust structures, which repeats the message and the address."""

_MISCONFIGURED_STATUS = frozenset({301, 302, 307, 308, 404, 405, 501})
_UNAVAILABLE_STATUS = frozenset({408, 409, 423, 425, 429})


def translate(error: Exception, root: str, key: str, verb: Verb) -> StorageError:
    """Our error for one of obstore's, the operating system's or Python's, met by `verb` on `key` under `root`.

    The result chains to `error` where it is raised `from` it; a StorageError is returned as it is.
    """
    if isinstance(error, StorageError):
        return error
    kind = _kind(error, verb)
    where = joined(root, key)
    found = _NO_KEY.search(str(error).partition(_DEBUG)[0]) if kind is InvalidKey and verb == "list" else None
    if found is not None:
        told = f"{found[1]!r}, whose name no table can hold: delete or rename it with the tools of the store"
        return InvalidKey(f"{verb} of {where} found the object {told}", key=found[1], root=root, verb=verb)
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
    return _from_text(str(error))


def _from_errno(code: int, verb: Verb) -> type[StorageError]:
    if code in (errno.ENOTDIR, errno.EISDIR):
        return InvalidKey if verb in _WRITES else ObjectNotFound
    return _ERRNO.get(code, StorageError)


def _absent(text: str, verb: Verb, local: bool) -> type[StorageError]:
    """A read that finds nothing is ObjectNotFound; a write that does has no bucket, or lost its directory meanwhile."""
    if local:
        return StoreUnavailable if verb in _WRITES else ObjectNotFound
    named = _named(text)
    if named is not None:
        return named
    return ObjectNotFound if verb in ("get", "head", "delete") else StoreMisconfigured


def _from_obstore(error: obstore_errors.BaseError, verb: Verb) -> type[StorageError]:
    if isinstance(error, obstore_errors.NotFoundError):
        return _absent(str(error), verb, local=False)
    if isinstance(error, obstore_errors.PreconditionError | obstore_errors.NotModifiedError):
        return ObjectExists if verb == "create" else StorageError
    if isinstance(error, obstore_errors.AlreadyExistsError):
        return ObjectExists if verb == "create" else StoreUnavailable
    for kind, ours in _OBSTORE.items():
        if isinstance(error, kind):
            return ours
    return _from_text(str(error))


def _from_text(text: str) -> type[StorageError]:
    """What a GenericError's text tells."""
    told = _ADDRESS.sub("", text.partition(_DEBUG)[0])
    named = _named(told)
    if named is not None:
        return named
    match = _STATUS.search(told)
    if match is None:
        if _NO_CREDENTIALS.search(text):
            return AccessDenied
        return next((kind for kind, words in _WORDS if words.search(told)), StorageError)
    status = int(match.group(1))
    if status in (401, 403):
        return AccessDenied
    if status in _MISCONFIGURED_STATUS:
        return StoreMisconfigured
    return StoreUnavailable if status >= 500 or status in _UNAVAILABLE_STATUS else StorageError


def _named(text: str) -> type[StorageError] | None:
    match = _CODE.search(text)
    return None if match is None else _CODES.get(match.group(1) or match.group(2))


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
    """What the error says, without what we say ourselves: the address, and obstore's dump of Rust structures."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).partition(_DEBUG)[0].split()) or type(error).__name__
