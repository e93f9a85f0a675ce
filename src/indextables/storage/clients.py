"""obstore's clients, one per bucket and configuration, shared by all stores of this process that need the same.

A client holds the connections, so sharing it saves a second table of a bucket the handshakes. Its environment is part of
what identifies it: obstore reads the usual variables when a client is made. Memory stores live here too, by name, as long
as the process does: that is what makes `memory://name` the same place twice.
"""

from __future__ import annotations

import functools
import os
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any, assert_never

from obstore.store import AzureStore, GCSStore, MemoryStore, S3Store

from indextables.storage.error_translation import translate

if TYPE_CHECKING:
    from obstore.store import ObjectStore

    from indextables.storage.resolve import StoreSpec

_ENVIRONMENT = ("AWS_", "AZURE_", "GOOGLE_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy")

_memory: dict[str, MemoryStore] = {}
_lock = threading.Lock()


def client(spec: StoreSpec) -> ObjectStore:
    """The client for the bucket of `spec`, whatever its path. Raises StorageError, as `mapping.py` says."""
    if spec.scheme == "memory":
        with _lock:
            return _memory.setdefault(spec.location.bucket, MemoryStore())
    environment = tuple(sorted(item for item in os.environ.items() if item[0].startswith(_ENVIRONMENT)))
    with _lock:
        return _client(spec.without_path(), environment)


@functools.lru_cache(maxsize=32)
def _client(spec: StoreSpec, environment: tuple[tuple[str, str], ...]) -> ObjectStore:
    del environment
    try:
        return _make(spec)
    except Exception as error:
        raise translate(error, spec.url, "", "open") from error


def _make(spec: StoreSpec) -> ObjectStore:
    settings: dict[str, Any] = dict(spec.config)
    settings["retry_config"] = {"max_retries": 0}
    settings["client_options"] = {
        "allow_http": spec.allow_http,
        "timeout": timedelta(seconds=spec.timeout_seconds),
        "connect_timeout": timedelta(seconds=spec.connect_timeout_seconds),
    }
    credentials = dict(spec.credentials)
    bucket = spec.location.bucket
    match spec.scheme:
        case "s3":
            return S3Store(bucket, **settings, **_provider(credentials))
        case "azure":
            return AzureStore(bucket, **settings, **_provider(credentials))
        case "gs":
            return GCSStore(bucket, **(settings | credentials))
        case "file" | "memory":
            raise AssertionError(f"{spec.scheme} has no client")
        case _:
            assert_never(spec.scheme)


def _provider(credentials: dict[str, str]) -> dict[str, Any]:
    """Credentials in the one form that replaces those of the environment as a whole, instead of mixing with them."""
    return {"credential_provider": lambda: {**credentials, "expires_at": None}} if credentials else {}
