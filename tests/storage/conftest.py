"""The stores that the contract is tested on."""

from __future__ import annotations

import logging
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from indextables.core.options import Options
from indextables.storage.resolve import StoreSpec, resolve
from indextables.storage.store import Store
from storage.helpers import BUCKET, FakeClock, MakeSpec, s3_options


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials and proxies of whoever runs the tests must not change what they show."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ENDPOINT", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture(scope="session")
def s3_server() -> Iterator[tuple[str, int]]:
    """moto in this process: one bucket, host and port."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    opener.open(urllib.request.Request(f"http://{host}:{port}/{BUCKET}", method="PUT"), timeout=10).close()
    yield host, port
    server.stop()


@pytest.fixture(params=["local", "memory", "s3"])
def make_spec(request: pytest.FixtureRequest, tmp_path: Path) -> MakeSpec:
    """Recipes for stores of one kind, by the name of their root."""
    if request.param == "local":
        return lambda name: resolve(tmp_path / name, Options())
    place = uuid.uuid4().hex
    if request.param == "memory":
        return lambda name: resolve(f"memory://{place}/{name}", Options())
    host, port = request.getfixturevalue("s3_server")
    return lambda name: resolve(f"s3a://{BUCKET}/{place}/{name}", s3_options(host, port))


@pytest.fixture
def spec(make_spec: MakeSpec) -> StoreSpec:
    return make_spec("table")


@pytest.fixture
def store(spec: StoreSpec) -> Store:
    """A store of each kind, bare."""
    return spec.open(retrying=False)
