"""Every error of the layers below has its place in our tree."""

from __future__ import annotations

import errno
import inspect

import obstore.exceptions
import pytest

from indextables.core.errors import (
    AccessDenied,
    InvalidKey,
    ObjectExists,
    ObjectNotFound,
    StorageError,
    StoreMisconfigured,
    StoreUnavailable,
)
from indextables.storage.error_translation import Verb, translate

VERBS: list[Verb] = ["get", "head", "create", "put", "list", "delete", "open"]

OBSTORE = {
    "AlreadyExistsError": (StoreUnavailable, ObjectExists),
    "BaseError": (StorageError, StorageError),
    "GenericError": (StorageError, StorageError),
    "InvalidPathError": (InvalidKey, InvalidKey),
    "JoinError": (StoreUnavailable, StoreUnavailable),
    "NotFoundError": (ObjectNotFound, StoreMisconfigured),
    "NotModifiedError": (StorageError, ObjectExists),
    "NotSupportedError": (StoreMisconfigured, StoreMisconfigured),
    "PermissionDeniedError": (AccessDenied, AccessDenied),
    "PreconditionError": (StorageError, ObjectExists),
    "UnauthenticatedError": (AccessDenied, AccessDenied),
    "UnknownConfigurationKeyError": (StoreMisconfigured, StoreMisconfigured),
}
"""What each of obstore's exceptions becomes when met by a get and by a create."""


def kind(error: Exception, verb: Verb = "get") -> type[StorageError]:
    return type(translate(error, "s3://b/t", "k", verb))


def test_every_exception_of_obstore_is_mapped() -> None:
    found = {
        name: member
        for name, member in inspect.getmembers(obstore.exceptions, inspect.isclass)
        if issubclass(member, Exception)
    }
    assert found.keys() == OBSTORE.keys()
    for name, (read, create) in OBSTORE.items():
        assert kind(found[name]("what happened"), "get") is read, name
        assert kind(found[name]("what happened"), "create") is create, name


def test_every_error_number_is_mapped() -> None:
    for code in errno.errorcode:
        for verb in VERBS:
            assert issubclass(kind(OSError(code, "x"), verb), StorageError)
    unavailable = {code for code in errno.errorcode if kind(OSError(code, "x")) is StoreUnavailable}
    assert {errno.EAGAIN, errno.ESTALE, errno.ETIMEDOUT, errno.ECONNRESET, errno.EMFILE} <= unavailable
    assert not {errno.ENOSPC, errno.EIO, errno.EACCES, errno.ENOENT, errno.EDQUOT} & unavailable


@pytest.mark.parametrize(
    ("error", "verb", "expected"),
    [
        (FileNotFoundError(errno.ENOENT, "x"), "get", ObjectNotFound),
        (FileNotFoundError(errno.ENOENT, "x"), "create", StoreUnavailable),
        (NotADirectoryError(errno.ENOTDIR, "x"), "head", ObjectNotFound),
        (NotADirectoryError(errno.ENOTDIR, "x"), "create", InvalidKey),
        (IsADirectoryError(errno.EISDIR, "x"), "get", ObjectNotFound),
        (IsADirectoryError(errno.EISDIR, "x"), "put", InvalidKey),
        (FileNotFoundError("Object at location k not found"), "get", ObjectNotFound),
        (FileNotFoundError("Object at location NoSuchBucket not found"), "get", ObjectNotFound),
        (FileNotFoundError("404 Not Found: <Error><Code>NoSuchBucket</Code></Error>"), "get", StoreMisconfigured),
        (FileNotFoundError("404 Not Found: <Code>XAdminUserNotFound</Code>"), "get", AccessDenied),
        (FileNotFoundError("Object at location k not found"), "create", StoreMisconfigured),
        (FileExistsError("x"), "create", ObjectExists),
        (PermissionError("x"), "get", AccessDenied),
        (TimeoutError("x"), "get", StoreUnavailable),
        (ConnectionResetError("x"), "put", StoreUnavailable),
        (ValueError("Could not parse path"), "get", InvalidKey),
        (ValueError("bad option"), "open", StoreMisconfigured),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "x"), "get", InvalidKey),
        (NotImplementedError("x"), "get", StorageError),
        (RuntimeError("x"), "list", StorageError),
    ],
)
def test_errors_of_python(error: Exception, verb: Verb, expected: type[StorageError]) -> None:
    assert kind(error, verb) is expected


def generic(tail: str) -> Exception:
    address = "http://127.0.0.1:9000/b/timeout-503/connection reset"
    return obstore.exceptions.GenericError(
        f"Generic S3 error: Error performing PUT {address.replace(' ', '%20')} in 503.4ms - {tail}"
        '\n\nDebug source:\nGeneric { "status code: 500 timed out <Code>AccessDenied</Code>" }'
    )


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        ("HTTP error: error sending request", StoreUnavailable),
        ("HTTP error: operation timed out", StoreUnavailable),
        ("HTTP error: request or response body error: operation timed out", StoreUnavailable),
        ("connection reset by peer (os error 104)", StoreUnavailable),
        ("client error (Connect): tcp connect error: Connection refused (os error 111)", StoreUnavailable),
        ("client error (Connect): dns error: failed to lookup address information", StoreUnavailable),
        ("client error (SendRequest): connection closed before message completed", StoreUnavailable),
        ("HTTP error: error decoding response body", StoreUnavailable),
        ("Server returned non-2xx status code: 500 Internal Server Error: ", StoreUnavailable),
        ("Server returned non-2xx status code: 502 Bad Gateway: ", StoreUnavailable),
        ("Server returned non-2xx status code: 503 X: <Error><Code>SlowDown</Code></Error>", StoreUnavailable),
        ("Server returned non-2xx status code: 429 Too Many Requests: ", StoreUnavailable),
        ("Server returned non-2xx status code: 408 Request Timeout: ", StoreUnavailable),
        ("Server returned non-2xx status code: 400 X: <Error><Code>RequestTimeout</Code></Error>", StoreUnavailable),
        ("Server returned non-2xx status code: 403 Forbidden: ", AccessDenied),
        ("Server returned non-2xx status code: 401 Unauthorized: ", AccessDenied),
        ("Server returned non-2xx status code: 400 X: <Error><Code>ExpiredToken</Code></Error>", AccessDenied),
        ("DeleteObjects request failed for key t/b: no (code: AccessDenied)", AccessDenied),
        ("Server returned non-2xx status code: 404 X: <Error><Code>NoSuchBucket</Code></Error>", StoreMisconfigured),
        ("Server returned non-2xx status code: 501 Not Implemented: ", StoreMisconfigured),
        (
            "Received redirect without LOCATION, this normally indicates an incorrectly configured region",
            StoreMisconfigured,
        ),
        ("HTTP error: builder error", StoreMisconfigured),
        ("Server returned non-2xx status code: 400 Bad Request: <Message>timed out</Message>", StorageError),
        ("Server returned non-2xx status code: 416 Range Not Satisfiable: ", StorageError),
        ("something that nobody has seen before", StorageError),
    ],
)
def test_what_generic_errors_tell(tail: str, expected: type[StorageError]) -> None:
    assert kind(generic(tail), "list") is expected


def test_no_answer_from_where_credentials_come_from() -> None:
    text = "Generic S3 error: Error performing PUT http://169.254.169.254/latest/api/token in 1s - HTTP error: {}"
    assert kind(obstore.exceptions.GenericError(text.format("error sending request"))) is AccessDenied
    busy = obstore.exceptions.GenericError(text.format("Server returned non-2xx status code: 503 Busy"))
    assert kind(busy) is StoreUnavailable


def test_our_own_errors_pass_through() -> None:
    error = ObjectExists("x", key="k")
    assert translate(error, "r", "k", "get") is error


def test_messages_name_the_object_and_have_no_debug_dump() -> None:
    error = translate(generic("HTTP error: error sending request"), "s3://b/t", "log/1", "get")
    assert str(error).startswith("get of s3://b/t/log/1 got no answer")
    assert "Debug" not in str(error)
    assert "\n" not in str(error)
    assert error.details == {"key": "log/1", "root": "s3://b/t", "verb": "get"}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('Encountered object with invalid path: Path "t/splits//x" contained empty path segment', "t/splits//x"),
        ('Encountered object with invalid path: Error parsing Path "t/./x": Encountered illegal character', "t/./x"),
        ('Encountered object with invalid path: Path "t/a"b//" contained empty path segment', 't/a"b//'),
    ],
)
def test_a_listing_names_the_object_that_ends_it(text: str, key: str) -> None:
    met = obstore.exceptions.InvalidPathError(f"{text}\n\nDebug source:\nInvalidPath {{}}")
    error = translate(met, "s3://b/t", "", "list")
    assert type(error) is InvalidKey
    assert f"found the object {key!r}, whose name no table can hold: delete or rename it" in error.message
    assert error.details["key"] == key
    assert "is not a key that the store can hold" in translate(met, "s3://b/t", "k", "get").message
