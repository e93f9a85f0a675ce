"""Secrets are hidden by the names of settings and inside of values, however they are spelt; what is no secret is shown."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from indextables.core.options import OPTIONS
from indextables.core.redaction import REDACTED, is_secret_name, redacted, without_secrets

SECRET_NAMES = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SESSION_TOKEN",
    "aws_secret_access_key",
    "AwsSecretAccessKey",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AZURE_STORAGE_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_SAS",
    "azure.sas",
    "AZURE_STORAGE_CONNECTION_STRING",
    "AZURE_CLIENT_SECRET",
    "AZURE_CLIENT_CERTIFICATE_PATH",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_API_KEY",
    "SPARK_AUTH_SECRET",
    "SPARK_PASSWORD",
    "INDEXTABLES_PASSWD",
    "INDEXTABLES_DB_PWD",
    "spark.indextables.aws.secretKey",
    "spark.indextables.aws.sessionToken",
    "spark.indextables.azure.accountKey",
    "spark.hadoop.fs.azure.account.key.account.dfs.core.windows.net",
    "spark.hadoop.fs.s3a.secret.key",
    "X-Amz-Signature",
    "SIG",
    "HTTP_AUTHORIZATION",
    "SSL_PRIVATE_PEM",
    "SSL_KEYSTORE_PASSPHRASE",
    "JAVA_SASL_JAAS_CONFIG",
]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)
    assert redacted(name, "hunter2") == REDACTED
    assert redacted(name, "") == "", "nothing is set, and that may be seen"


@pytest.mark.parametrize(
    "name",
    [
        "AWS_REGION",
        "AWS_ENDPOINT_URL",
        "AZURE_STORAGE_ACCOUNT_NAME",
        "GOOGLE_CLOUD_PROJECT",
        "SPARK_HOME",
        "PATH",
        "LANG",
        "INDEXTABLES_DISASTER_RECOVERY",
        "INDEXTABLES_SIGNAL",
        "indexing.lookupfields",
        "indexing.text.maxTokenLength",
        "cache.disk.maxBytes",
    ],
)
def test_names_of_other_things(name: str) -> None:
    assert not is_secret_name(name)
    assert redacted(name, "eu-central-1") == "eu-central-1"


def test_every_secret_option_has_the_name_of_one_and_no_other_is_hidden() -> None:
    hidden = {option.key for option in OPTIONS.values() if is_secret_name(option.short)}
    assert hidden >= {option.key for option in OPTIONS.values() if option.secret}
    assert {option.key for option in OPTIONS.values() if not option.secret} & hidden == set()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("http://user:hunter2@proxy:3128/", f"http://{REDACTED}@proxy:3128/"),
        ("http://hunter2@proxy", f"http://{REDACTED}@proxy"),
        ("https://u:p@hunter2@proxy/path", f"https://{REDACTED}@proxy/path"),
        ("a http://u:hunter2@x b ftp://v:hunter2@y", f"a http://{REDACTED}@x b ftp://{REDACTED}@y"),
        ("https://a.blob/c?sv=1&sig=hunter2&se=2", f"https://a.blob/c?sv=1&sig={REDACTED}&se=2"),
        ("https://a.blob/c?sig=hunter2", f"https://a.blob/c?sig={REDACTED}"),
        ("https://b/k?X-Amz-Signature=hunter2&x=1", f"https://b/k?X-Amz-Signature={REDACTED}&x=1"),
        ("https://b/k?X-Amz-Credential=hunter2", f"https://b/k?X-Amz-Credential={REDACTED}"),
        ("-Xmx1g -Djavax.net.ssl.keyStorePassword=hunter2", f"-Xmx1g -Djavax.net.ssl.keyStorePassword={REDACTED}"),
        ("--conf spark.x.secret.key=hunter2 --name a", f"--conf spark.x.secret.key={REDACTED} --name a"),
        ("AccountName=a;AccountKey=hunter2;Suffix=b", f"AccountName=a;AccountKey={REDACTED};Suffix=b"),
        ('{"token": "hunter2", "name": "a"}', f'{{"token": {REDACTED}, "name": "a"}}'),
        ("Authorization: Bearer hunter2hunter2", None),
        ("x AKIAABCDEFGHIJKLMNOP y", f"x {REDACTED} y"),
        ("-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----", REDACTED),
        ("-----BEGIN PRIVATE KEY-----\nhunter2", REDACTED),
        ("https://host/path?version=1#part", "https://host/path?version=1#part"),
        ("me@example.org", "me@example.org"),
        ("http://user:hun/hunter2@proxy/", f"http://{REDACTED}@proxy/"),
        ("http://host:8080/path@1", "http://host:8080/path@1"),
        ("/usr/bin:/bin", "/usr/bin:/bin"),
    ],
)
def test_secrets_inside_of_values(value: str, shown: str | None) -> None:
    found = without_secrets(value)
    assert "hunter2" not in found
    if shown is not None:
        assert found == shown
    assert without_secrets(found) == found, "a text that was redacted once stays as it is"


@given(
    user=st.text("abcXYZ019._~-", max_size=8),
    password=st.text("abcXYZ019._~-:@!$*+=%/?#", min_size=6, max_size=20).filter(lambda text: text.strip("=:@")),
    before=st.sampled_from(["", "proxy ", "a=", '"', "(", "\n"]),
    after=st.sampled_from(["", "/path", ":8080/", " tail", "/x?y=1"]),
)
@settings(max_examples=examples(300), deadline=None)
def test_no_password_of_a_url_is_shown(user: str, password: str, before: str, after: str) -> None:
    secret = f"s3cr{password}t"
    assert secret not in without_secrets(f"{before}https://{user}:{secret}@host{after}")


@given(st.text(max_size=200))
@settings(max_examples=examples(300), deadline=None)
def test_any_text_is_redacted_without_an_error(text: str) -> None:
    assert isinstance(without_secrets(text), str)
    assert isinstance(is_secret_name(text), bool)
