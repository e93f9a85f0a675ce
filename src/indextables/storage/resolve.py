"""From a URL and options to a store, by way of a recipe that can be sent to another process.

`resolve` reads the URL and the options and contacts nobody. The `StoreSpec` it returns is a plain value: it pickles,
compares and hides secrets when shown. `StoreSpec.open` makes the store, in whichever process needs it.

Credentials that are set as options replace those of the environment as a whole. Mixing the two could send the key of one
account with the session token of another.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import assert_never

from indextables.core.clock import SYSTEM_CLOCK, Clock
from indextables.core.errors import StoreMisconfigured
from indextables.core.options import (
    AWS_ACCESS_KEY,
    AWS_ALLOW_HTTP,
    AWS_ENDPOINT,
    AWS_PATH_STYLE_ACCESS,
    AWS_REGION,
    AWS_SECRET_KEY,
    AWS_SESSION_TOKEN,
    AZURE_ACCOUNT_KEY,
    AZURE_ACCOUNT_NAME,
    AZURE_ALLOW_HTTP,
    AZURE_ENDPOINT,
    AZURE_SAS_TOKEN,
    GCP_ENDPOINT,
    GCP_SERVICE_ACCOUNT_KEY,
    STORAGE_CONNECT_TIMEOUT_SECONDS,
    STORAGE_RETRY_BASE_DELAY_MS,
    STORAGE_RETRY_MAX_ATTEMPTS,
    STORAGE_RETRY_MAX_DELAY_MS,
    STORAGE_TIMEOUT_SECONDS,
    Options,
)
from indextables.storage.clients import ClientSpec, client
from indextables.storage.local import LocalStore
from indextables.storage.location import Location, Scheme, parse_url
from indextables.storage.remote import ObstoreStore
from indextables.storage.retrying import Retrying
from indextables.storage.store import Store

_NO_LIMIT_SECONDS = 24 * 3600.0
"""Seconds that stand for no limit (option 0): obstore wants a number, and no request takes a day."""


@dataclass(frozen=True, slots=True)
class StoreSpec:
    """The recipe for a store. `config` and `credentials` are obstore's names and values, the latter never shown."""

    location: Location
    config: tuple[tuple[str, str], ...] = ()
    credentials: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    allow_http: bool = False
    timeout_seconds: float = 30.0
    connect_timeout_seconds: float = 5.0
    retry_max_attempts: int = 8
    retry_base_delay_ms: int = 50
    retry_max_delay_ms: int = 5_000

    @property
    def scheme(self) -> Scheme:
        """The kind of store."""
        return self.location.scheme

    @property
    def url(self) -> str:
        """The canonical URL of the root, without a slash at the end. Equal for two spellings of one place."""
        return self.location.url

    @property
    def client(self) -> ClientSpec:
        """What the stores of one bucket that can share connections have in common: all but the path and the retries."""
        bucket = replace(self.location, path="")
        return ClientSpec(
            bucket.scheme,
            bucket.bucket,
            bucket.url,
            self.config,
            self.credentials,
            self.allow_http,
            self.timeout_seconds,
            self.connect_timeout_seconds,
        )

    def open(self, clock: Clock = SYSTEM_CLOCK, *, retrying: bool = True) -> Store:
        """The store, which repeats requests that may be repeated unless `retrying` is false. Contacts nobody yet."""
        store = self._open()
        if not retrying:
            return store
        return Retrying(store, clock, self.retry_max_attempts, self.retry_base_delay_ms, self.retry_max_delay_ms)

    def _open(self) -> Store:
        if self.location.scheme == "file":
            return LocalStore(self.location.path)
        return ObstoreStore(client(self.client), self.url, self.location.path, azure=self.location.scheme == "azure")


def resolve(url: str | os.PathLike[str], options: Options) -> StoreSpec:
    """The recipe for the store at `url`. Raises StoreMisconfigured; nobody is contacted."""
    location = parse_url(url)
    spec = StoreSpec(
        location,
        timeout_seconds=options[STORAGE_TIMEOUT_SECONDS] or _NO_LIMIT_SECONDS,
        connect_timeout_seconds=options[STORAGE_CONNECT_TIMEOUT_SECONDS] or _NO_LIMIT_SECONDS,
        retry_max_attempts=options[STORAGE_RETRY_MAX_ATTEMPTS],
        retry_base_delay_ms=options[STORAGE_RETRY_BASE_DELAY_MS],
        retry_max_delay_ms=options[STORAGE_RETRY_MAX_DELAY_MS],
    )
    match location.scheme:
        case "file" | "memory":
            return spec
        case "s3":
            return _s3(spec, options)
        case "azure":
            return _azure(spec, options)
        case "gs":
            return _gcs(spec, options)
        case _:
            assert_never(location.scheme)


def _s3(spec: StoreSpec, options: Options) -> StoreSpec:
    config = _texts({"region": options[AWS_REGION]})
    endpoint = options[AWS_ENDPOINT]
    if options.is_set(AWS_PATH_STYLE_ACCESS) and not options[AWS_PATH_STYLE_ACCESS]:
        config["virtual_hosted_style_request"] = "true"
        if endpoint:
            protocol, _, host = endpoint.rpartition("://")
            endpoint = f"{protocol or 'https'}://{spec.location.bucket}.{host}"
    credentials = _texts(
        {
            "access_key_id": options[AWS_ACCESS_KEY],
            "secret_access_key": options[AWS_SECRET_KEY],
            "token": options[AWS_SESSION_TOKEN],
        }
    )
    if credentials and not {"access_key_id", "secret_access_key"} <= credentials.keys():
        raise StoreMisconfigured(
            f"the credentials for {spec.url} are incomplete: set both {AWS_ACCESS_KEY.key} and {AWS_SECRET_KEY.key}",
            url=spec.url,
        )
    allow_http = options[AWS_ALLOW_HTTP]
    if not options.is_set(AWS_ALLOW_HTTP):
        allow_http = os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("true", "1")
    return _remote(spec, config, credentials, endpoint, allow_http, AWS_ALLOW_HTTP.key)


def _azure(spec: StoreSpec, options: Options) -> StoreSpec:
    named = options[AZURE_ACCOUNT_NAME] or ""
    account = spec.location.account or named or os.environ.get("AZURE_STORAGE_ACCOUNT_NAME", "")
    if not account:
        raise StoreMisconfigured(
            f"{spec.url} names no storage account: set {AZURE_ACCOUNT_NAME.key}, "
            "or write abfss://container@account.dfs.core.windows.net/path",
            url=spec.url,
        )
    if named and named != account:
        raise StoreMisconfigured(
            f"{spec.url} is in account {account}, but {AZURE_ACCOUNT_NAME.key} is {named}", url=spec.url
        )
    credentials = _texts({"access_key": options[AZURE_ACCOUNT_KEY], "sas_token": options[AZURE_SAS_TOKEN]})
    if len(credentials) > 1:
        raise StoreMisconfigured(
            f"set either {AZURE_ACCOUNT_KEY.key} or {AZURE_SAS_TOKEN.key} for {spec.url}, not both", url=spec.url
        )
    endpoint = options[AZURE_ENDPOINT]
    suffix = spec.location.suffix
    if not endpoint and suffix:
        endpoint = f"https://{account}.blob.{suffix}"
    spec = replace(spec, location=replace(spec.location, account=account))
    allow_http = options[AZURE_ALLOW_HTTP]
    return _remote(spec, {"account_name": account}, credentials, endpoint, allow_http, AZURE_ALLOW_HTTP.key)


def _gcs(spec: StoreSpec, options: Options) -> StoreSpec:
    config = {}
    endpoint = options[GCP_ENDPOINT]
    credentials = _texts({"service_account_key": options[GCP_SERVICE_ACCOUNT_KEY]})
    if endpoint and not credentials and not any(name.startswith("GOOGLE_") for name in os.environ):
        config["skip_signature"] = "true"
    return _remote(spec, config, credentials, endpoint, (endpoint or "").startswith("http://"), "")


def _remote(
    spec: StoreSpec,
    config: dict[str, str],
    credentials: dict[str, str],
    endpoint: str | None,
    allow_http: bool,
    allow_http_key: str,
) -> StoreSpec:
    if endpoint and not endpoint.startswith(("http://", "https://")):
        endpoint = f"https://{endpoint}"
    if endpoint and endpoint.startswith("http://") and not allow_http:
        raise StoreMisconfigured(
            f"the endpoint {endpoint} of {spec.url} has no TLS: set {allow_http_key}=true to allow that",
            url=spec.url,
            endpoint=endpoint,
        )
    if endpoint:
        config["base_url" if spec.scheme == "gs" else "endpoint"] = endpoint.rstrip("/")
    return replace(
        spec,
        config=tuple(sorted(config.items())),
        credentials=tuple(sorted(credentials.items())),
        allow_http=allow_http,
    )


def _texts(values: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}
