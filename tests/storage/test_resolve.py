"""URLs, options and recipes; and which data paths lie inside a table."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.core.errors import StoreMisconfigured
from indextables.core.options import Options
from indextables.storage.clients import client
from indextables.storage.local import LocalStore
from indextables.storage.object_keys import inside_root
from indextables.storage.resolve import resolve
from indextables.storage.retrying import Retrying

NONE = Options()
AZURE = Options({"azure.accountName": "acct"})


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("/data/t", "/data/t"),
        ("/data/t/", "/data/t"),
        ("/data/a%20b?c#d", "/data/a%20b?c#d"),
        ("/data/x/../t", "/data/t"),
        (Path("/data/t"), "/data/t"),
        (Path("/data/s3:/b"), "/data/s3:/b"),
        ("file:///data/t", "/data/t"),
        ("file:///data/a%20b%25", "/data/a b%"),
        ("file:/data/t/", "/data/t"),
        ("FILE://localhost/data/t", "/data/t"),
        ("memory://name/a/b/", "memory://name/a/b"),
        ("memory://name", "memory://name"),
        ("s3://bucket/a/t", "s3://bucket/a/t"),
        ("s3a://bucket/a/t/", "s3://bucket/a/t"),
        ("S3N://bucket", "s3://bucket"),
        ("s3://bucket/a%20b+ü", "s3://bucket/a%20b+ü"),
        ("gs://bucket/t", "gs://bucket/t"),
        ("abfss://c@acct.dfs.core.windows.net/t", "abfss://c@acct.dfs.core.windows.net/t"),
        ("abfs://c@ACCT.dfs.core.windows.net/t", "abfss://c@acct.dfs.core.windows.net/t"),
        ("wasbs://c@acct.blob.core.windows.net/t", "abfss://c@acct.dfs.core.windows.net/t"),
        ("az://c/t", "abfss://c@acct.dfs.core.windows.net/t"),
        ("abfss://c@acct.dfs.core.chinacloudapi.cn/t", "abfss://c@acct.dfs.core.chinacloudapi.cn/t"),
    ],
)
def test_spellings(url: str | Path, canonical: str) -> None:
    spec = resolve(url, AZURE)
    assert spec.url == canonical
    assert resolve(spec.url, AZURE).url == canonical


def test_relative_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve("a/b", NONE).url == str(tmp_path / "a/b")
    assert resolve("a:b", NONE).url == str(tmp_path / "a:b")
    assert resolve(".", NONE).url == str(tmp_path)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "no path"),
        ("a\0b", "no path"),
        ("hdfs://name/t", "known: file, memory, s3"),
        ("http://host/t", "not a scheme"),
        ("s3:///t", "names no bucket"),
        ("memory://", "names no bucket"),
        ("s3://b/t?versionId=1", "query string"),
        ("gs://b/t#x", "fragment"),
        ("file:///a?b", "query string"),
        ("file://host/a", "another host"),
        ("file:///a%00b", "NUL"),
        ("s3://b/a//b", "empty"),
        ("s3://b/../c", "'..'"),
        ("gs://b/./c", "'.'"),
        ("s3://key:secret@b/t", "credentials do not belong"),
        ("s3://b--usw2-az1--x-s3/t", "directory bucket"),
        ("abfss://@acct.dfs.core.windows.net/t", "container and an account"),
        ("abfss://c@/t", "container and an account"),
        ("abfss://c:secret@acct.dfs.core.windows.net/t", "container and an account"),
        ("az:///t", "container and an account"),
        ("az://c/t", "no storage account"),
    ],
)
def test_urls_that_are_refused(url: str, message: str) -> None:
    with pytest.raises(StoreMisconfigured, match=message) as caught:
        resolve(url, NONE)
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(caught.value.details)


@pytest.mark.parametrize(
    ("url", "options", "message"),
    [
        ("s3://b/t", {"aws.accessKey": "hidden"}, "incomplete"),
        ("s3://b/t", {"aws.sessionToken": "hidden"}, "incomplete"),
        ("s3://b/t", {"aws.endpoint": "http://h:9000"}, "aws.allowHttp=true"),
        ("abfss://c@one.dfs.core.windows.net/t", {"azure.accountName": "two"}, "in account one"),
        (
            "abfss://c@one.dfs.core.windows.net/t",
            {"azure.accountKey": "hidden", "azure.sasToken": "hidden"},
            "not both",
        ),
        ("abfss://c@one.dfs.core.windows.net/t", {"azure.endpoint": "http://h:1"}, "azure.allowHttp=true"),
    ],
)
def test_options_that_are_refused(url: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(StoreMisconfigured, match=message) as caught:
        resolve(url, Options(options))
    assert "hidden" not in str(caught.value)


def test_secrets_are_not_shown_and_recipes_pickle() -> None:
    options = Options(
        {"aws.accessKey": "AKIA", "aws.secretKey": "hidden", "aws.sessionToken": "hidden", "aws.region": "r"}
    )
    spec = resolve("s3://b/t", options)
    assert "hidden" not in repr(spec)
    assert "AKIA" not in repr(spec)
    assert "'region', 'r'" in repr(spec)
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert spec != resolve("s3://b/t", NONE)
    google = resolve("gs://b/t", Options({"gcp.serviceAccountKey": "{hidden}"}))
    assert "hidden" not in repr(google)


def test_settings_of_s3() -> None:
    def config(options: dict[str, object]) -> dict[str, str]:
        return dict(resolve("s3://b/t", Options(options)).config)

    assert config({}) == {}
    assert config({"aws.region": "eu-central-1"}) == {"region": "eu-central-1"}
    assert config({"aws.endpoint": "https://h/"}) == {"endpoint": "https://h"}
    assert config({"aws.endpoint": "h:9000"}) == {"endpoint": "https://h:9000"}
    assert config({"aws.endpoint": "https://h", "aws.pathStyleAccess": True}) == {"endpoint": "https://h"}
    assert config({"aws.endpoint": "https://h", "aws.pathStyleAccess": False}) == {
        "endpoint": "https://b.h",
        "virtual_hosted_style_request": "true",
    }
    assert config({"aws.pathStyleAccess": False}) == {"virtual_hosted_style_request": "true"}


def test_http_may_be_allowed_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    assert resolve("s3://b/t", Options({"aws.endpoint": "http://h"})).allow_http
    with pytest.raises(StoreMisconfigured):
        resolve("s3://b/t", Options({"aws.endpoint": "http://h", "aws.allowHttp": False}))


def test_settings_of_azure_and_google(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = resolve("abfss://c@acct.dfs.core.chinacloudapi.cn/t", NONE)
    assert dict(spec.config) == {"account_name": "acct", "endpoint": "https://acct.blob.core.chinacloudapi.cn"}
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "fromenv")
    assert resolve("az://c/t", NONE).url == "abfss://c@fromenv.dfs.core.windows.net/t"
    for name in [name for name in os.environ if name.startswith("GOOGLE_")]:
        monkeypatch.delenv(name)
    emulator = resolve("gs://b/t", Options({"gcp.endpoint": "http://h:1"}))
    assert dict(emulator.config) == {"base_url": "http://h:1", "skip_signature": "true"}
    assert emulator.allow_http


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("s3://b/t", {"aws.accessKey": "k", "aws.secretKey": "s", "aws.region": "r"}),
        ("s3://b/t", {"aws.endpoint": "http://h:1", "aws.allowHttp": True, "aws.pathStyleAccess": False}),
        ("abfss://c@acct.dfs.core.windows.net/t", {"azure.accountKey": "c2VjcmV0"}),
        ("az://c/t", {"azure.accountName": "acct", "azure.sasToken": "sv=1&sig=x"}),
        ("gs://b/t", {"gcp.endpoint": "http://h:1"}),
        ("s3://b/t", {"storage.timeoutSeconds": 0, "storage.connectTimeoutSeconds": 0}),
    ],
)
def test_remote_stores_open_without_contacting_anybody(url: str, options: dict[str, object]) -> None:
    spec = resolve(url, Options(options))
    assert spec.open().root == spec.url


def test_credentials_that_cannot_be_read() -> None:
    from indextables.core.errors import AccessDenied

    with pytest.raises(AccessDenied, match="service account"):
        resolve("gs://b/t", Options({"gcp.serviceAccountKey": "{"})).open()


def test_tables_of_one_bucket_share_a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    options = Options({"aws.accessKey": "k", "aws.secretKey": "s"})
    one, two = resolve("s3://b/one", options), resolve("s3a://b/two", options)
    assert client(one.client) is client(two.client)
    assert client(one.client) is not client(resolve("s3://c/one", options).client)
    assert client(one.client) is not client(resolve("s3://b/one", NONE).client)
    before = client(one.client)
    monkeypatch.setenv("AWS_REGION", "elsewhere")
    assert client(one.client) is not before


def test_open_wraps_in_retrying(tmp_path: Path) -> None:
    spec = resolve(tmp_path, Options({"storage.retry.maxAttempts": 3}))
    assert isinstance(spec.open(), Retrying)
    assert isinstance(spec.open(retrying=False), LocalStore)
    assert spec.retry_max_attempts == 3


@pytest.mark.parametrize(
    ("root", "path", "key"),
    [
        ("/data/t", "splits/a.split", "splits/a.split"),
        ("/data/t", "p=a%2Fb/x", "p=a%2Fb/x"),
        ("/data/t", "p=10:30/x", "p=10:30/x"),
        ("/data/t", "/data/t/splits/a", "splits/a"),
        ("/data/t", "file:/data/t/a", "a"),
        ("/data/t", "file:///data/t/a%20b", "a%20b"),
        ("/data/t", "file://localhost/data/t/a", "a"),
        ("/", "/a", "a"),
        ("s3://b/t", "s3a://b/t/a", "a"),
        ("s3://b/t", "s3n://b/t/a/b", "a/b"),
        ("s3://b", "S3://b/a", "a"),
        ("memory://m/t", "memory://m/t/a", "a"),
        ("abfss://c@acct.dfs.core.windows.net/t", "wasbs://c@acct.blob.core.windows.net/t/a", "a"),
        ("abfss://c@acct.dfs.core.windows.net/t", "az://c/t/a", "a"),
        ("/data/t", "", None),
        ("/data/t", "/data/t", None),
        ("/data/t", "/data/t/", None),
        ("/data/t", "/data/t2/a", None),
        ("/data/t", "/data/a", None),
        ("/data/t", "../t2/a", None),
        ("/data/t", "a/../../b", None),
        ("/data/t", "/data/t/../t/a", None),
        ("/data/t", "/data/x/../t/a", None),
        ("/data/t", "./a", None),
        ("/data/t", "a//b", None),
        ("/data/t", "a/", None),
        ("/data/t", "a\0", None),
        ("/data/t", "a\ud800", None),
        ("/data/t", "_transaction_log/0.json", None),
        ("/data/t", "_transaction_log", None),
        ("/data/t", "_Transaction_Log/0.json", None),
        ("/data/t", "/data/t/_transaction_log/0.json", None),
        ("/data/t", "file://other/data/t/a", None),
        ("/data/t", "s3://b/data/t/a", None),
        ("s3://b/t", "/t/a", None),
        ("s3://b/t", "s3://b2/t/a", None),
        ("s3://b/t", "gs://b/t/a", None),
        ("s3://b/t", "hdfs://b/t/a", None),
        ("s3://b/t", "s3://b/t//a", None),
        ("s3://b/t", "s3://b/t/..", None),
        ("abfss://c@acct.dfs.core.windows.net/t", "abfss://c@other.dfs.core.windows.net/t/a", None),
        ("abfss://c@acct.dfs.core.windows.net/t", "abfss://d@acct.dfs.core.windows.net/t/a", None),
        ("abfss://c@acct.dfs.core.windows.net/t", "az://d/t/a", None),
    ],
)
def test_inside_root(root: str, path: str, key: str | None) -> None:
    assert inside_root(root, path) == key


components = st.text(alphabet="ab._-%:?#@é =", min_size=1, max_size=6).filter(lambda name: name not in (".", ".."))
keys = st.lists(components, min_size=1, max_size=4).map("/".join)
roots = st.one_of(
    st.lists(st.text("ab.-", min_size=1, max_size=4), max_size=3).map(
        lambda parts: os.path.normpath("/" + "/".join(parts))
    ),
    st.sampled_from(["s3://b/t", "s3://b", "gs://b/t/u", "memory://m/t", "abfss://c@acct.dfs.core.windows.net/t"]),
)


@given(root=roots, key=keys)
def test_what_is_inside_is_found_under_both_names(root: str, key: str) -> None:
    absolute = f"{root.rstrip('/')}/{key}"
    if not key.lower().startswith("_transaction_log"):
        assert inside_root(root, absolute) == key
        if "://" not in key and not key.startswith("file:/"):
            assert inside_root(root, key) == key


@given(
    root=roots,
    path=st.one_of(
        st.text(max_size=20),
        st.lists(st.sampled_from(["..", ".", "", "a", "t", "_transaction_log", "b"]), max_size=7).map("/".join),
    ),
    scheme=st.sampled_from(["", "/", "file:", "file://", "s3://", "s3a://b/", "s3://b/t/", "gs://b/", "x://"]),
)
def test_what_has_a_key_stays_inside(root: str, path: str, scheme: str) -> None:
    key = inside_root(root, scheme + path)
    if key is None:
        return
    assert ".." not in key.split("/")
    assert not key.startswith("/")
    assert key.split("/")[0] != "_transaction_log"
    assert os.path.normpath(f"/root/{key}") == f"/root/{key}"
    assert (scheme + path).endswith(key)


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=20))
def test_file_urls_are_decoded_and_paths_are_not(name: str) -> None:
    path = os.path.normpath(f"/data/{name}")
    assert resolve("file://" + quote(path), NONE).url == path
    assert resolve(path, NONE).url == path
