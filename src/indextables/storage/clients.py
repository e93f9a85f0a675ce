"""obstore's clients, one for each bucket and configuration, shared by all stores of this process that need the same.

    StoreSpec (`resolve.py`) ──▶ ClientSpec ──▶ client ──▶ obstore's client ──▶ ObstoreStore (`remote.py`)

A client holds the connections, so sharing the client saves a second table of the bucket the handshakes. The environment is part
of a client's identity: obstore reads the usual variables when a client is made. Memory stores live here too, by name, as long as
the process does: that is what makes `memory://name` the same place twice.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from obstore.store import AzureStore, GCSStore, MemoryStore, S3Store

from indextables.core.runtime.process_state import Lru
from indextables.storage.error_translation import translate
from indextables.storage.location import Scheme

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_ENVIRONMENT: Final = (
    "AWS_",
    "AZURE_",
    "GOOGLE_",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
)
"""Environment variables that obstore reads begin with one of these texts."""

_MOST_CLIENTS: Final = 32
"""Clients of one process. Each holds its connections; a process seldom uses more buckets and accounts than this."""


@dataclass(frozen=True, slots=True)
class ClientSpec:
    """What a client is made of, without a path. Stores with equal values share one client. Credentials are never shown."""

    scheme: Scheme
    bucket: str
    url: str
    """The URL of the bucket, for messages."""
    config: tuple[tuple[str, str], ...] = ()
    credentials: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    allow_http: bool = False
    timeout_seconds: float = 30.0
    connect_timeout_seconds: float = 5.0


_MEMORY: Final[dict[str, MemoryStore]] = {}
"""The stores of `memory://name` by name, for as long as the process lives. `dict.setdefault` needs no lock."""
_CLIENTS: Final[Lru[tuple[ClientSpec, tuple[tuple[str, str], ...]], ObjectStore]] = Lru(_MOST_CLIENTS)
"""The clients by bucket, settings and environment."""


def client(spec: ClientSpec) -> ObjectStore:
    """The client for the bucket of `spec`. Raises StorageError, as `error_translation.py` says."""
    if spec.scheme == "memory":
        return _MEMORY.setdefault(spec.bucket, MemoryStore())
    environment = tuple(sorted(item for item in os.environ.items() if item[0].startswith(_ENVIRONMENT)))
    return _CLIENTS.get_or_load((spec, environment), lambda: _client(spec))


def _client(spec: ClientSpec) -> ObjectStore:
    try:
        return _make(spec)
    except Exception as error:
        raise translate(error, spec.url, "", "open") from error


def _make(spec: ClientSpec) -> ObjectStore:
    settings: dict[str, Any] = dict(spec.config)
    settings["retry_config"] = {"max_retries": 0}
    settings["client_options"] = {
        "allow_http": spec.allow_http,
        "timeout": timedelta(seconds=spec.timeout_seconds),
        "connect_timeout": timedelta(seconds=spec.connect_timeout_seconds),
    }
    credentials = dict(spec.credentials)
    bucket = spec.bucket
    match spec.scheme:
        case "s3":
            return S3Store(bucket, **settings, **_provider(credentials))
        case "azure":
            return AzureStore(bucket, **settings, **_provider(credentials))
        case "gs":
            return GCSStore(bucket, **(settings | credentials))
        case _:  # stores that are not obstore's
            raise AssertionError(f"{spec.scheme} has no client")


def _provider(credentials: dict[str, str]) -> dict[str, Any]:
    """Credentials in the one form that replaces those of the environment as a whole, instead of mixing with them."""
    return {"credential_provider": lambda: {**credentials, "expires_at": None}} if credentials else {}
