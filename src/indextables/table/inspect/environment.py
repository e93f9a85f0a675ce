"""Python, packages, machine, options and environment variables of this process, without secrets.

Names decide what is a secret (`core/redaction.py`), and passwords, signatures and tokens inside of other values are left out,
too. Environment variables are shown only where they change what this package or the libraries beneath do.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from typing import Any, Final

import pyarrow as pa

from indextables._version import __version__
from indextables.core.options import OPTIONS, Options
from indextables.core.redaction import REDACTED, redacted
from indextables.core.runtime.memory import Machine, cache_bytes
from indextables.table.inspect.this_process import DRIVER, answer, host

ENVIRONMENT: Final = pa.schema(
    [
        ("host", pa.string()),
        ("role", pa.string()),
        ("property_type", pa.string()),
        ("property_name", pa.string()),
        ("property_value", pa.string()),
    ]
)
"""Columns of `describe_environment`."""
_PACKAGES: Final = (
    "datafusion",
    "fastavro",
    "msgspec",
    "numpy",
    "obstore",
    "pyarrow",
    "pyspark",
    "rich",
    "tantivy",
    "typer",
    "vortex-data",
    "xxhash",
)
"""Packages that this one uses, or is used with."""
_VARIABLES: Final = re.compile(
    r"(?:AWS|AZURE|GOOGLE|GCP|GCS|GCLOUD|CLOUDSDK|SPARK|PYSPARK|INDEXTABLES|HADOOP|JAVA|HTTPS?|ALL|NO|XDG|SSL|OMP|ARROW|VORTEX"
    r"|TOKIO|RAYON|RUST|PYTHON|MALLOC|ARGCOMPLETE|S3|OBJECT_STORE)_.*"
    r"|HOME|LANG|LC_ALL|PATH|TMPDIR|TZ|USER|VIRTUAL_ENV",
    re.IGNORECASE,
)
"""Environment variables that matter: of stores, of Spark, of proxies, of native libraries, and the user's places."""


def describe_environment(
    options: Mapping[str, Any] | Options | None = None, role: str = DRIVER, environ: Mapping[str, str] | None = None
) -> pa.Table:
    """What this process runs on and with: a row for each property, secrets as `***REDACTED***`.

    `options` are those in force, as `Table.open` takes them; every other option is shown with its default. `environ` stands in
    for the environment variables of the process.
    """
    chosen = options if isinstance(options, Options) else Options(options)
    machine = host()
    properties = [
        *(("python", *pair) for pair in _python()),
        *(("package", *pair) for pair in _packages()),
        *(("machine", *pair) for pair in _machine()),
        *(("option", *pair) for pair in _options(chosen)),
        *(("environment", *pair) for pair in _variables(os.environ if environ is None else environ)),
    ]
    return answer(ENVIRONMENT, [(machine, role, *found) for found in properties])


def _python() -> Iterator[tuple[str, str]]:
    yield "version", platform.python_version()
    yield "implementation", platform.python_implementation()
    yield "executable", sys.executable or ""
    yield "process", str(os.getpid())


def _packages() -> Iterator[tuple[str, str]]:
    yield "indextables", __version__
    for name in _PACKAGES:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # an optional package that is not installed has no version


def _machine() -> Iterator[tuple[str, str]]:
    machine = Machine.here()
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield "platform", platform.platform()
    yield "architecture", platform.machine()
    yield "processors", str(os.cpu_count() or 1)
    yield "usableProcessors", str(usable)
    yield "memoryBytes", str(machine.physical_bytes)
    yield "usableMemoryBytes", str(machine.memory_bytes)
    yield "cacheBytes", str(cache_bytes(machine))
    if machine.threads is not None:
        yield "mostThreads", str(machine.threads)


def _options(options: Options) -> Iterator[tuple[str, str]]:
    """Every option with its value in force; an option without a value is left out."""
    explicit = options.explicit()
    for option in sorted(OPTIONS.values(), key=lambda each: each.key):
        value = explicit.pop(option.key, None)
        text = option.show(option.default) if value is None else value
        if text:
            yield option.key, REDACTED if option.secret else redacted(option.short, text)
    for key, text in explicit.items():
        yield key, redacted(key, text)


def _variables(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name in sorted(environ):
        if _VARIABLES.fullmatch(name):
            yield _text(name), redacted(name, _text(environ[name]))


def _text(text: str) -> str:
    """A text that Arrow can hold: bytes that are no UTF-8 are question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


__all__ = ["describe_environment"]
