"""Where the connector's class files come from: compiled, kept for this user alone, and compiled again where they do not fit."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from indextables.core.errors import IndexTablesError
from indextables.spark import install, status
from indextables.spark.connector import classes
from spark.support import java

SOURCES = {"Python.java": "package indextables;"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for all that is kept between processes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "indextables" / "connector"


def test_the_directory_is_for_its_user_alone(home: Path) -> None:
    before = os.umask(0)
    try:
        assert classes.jar_path(SOURCES, "4.3.0").parent == home
    finally:
        os.umask(before)
    assert home.stat().st_mode & 0o777 == 0o700
    assert classes.jar_path(SOURCES, "4.3.0") == classes.jar_path(SOURCES, "4.3.0"), "the same one the next time"


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o702])
def test_a_directory_that_others_can_use_is_not_used(home: Path, mode: int) -> None:
    home.mkdir(parents=True)
    home.chmod(mode)
    elsewhere = classes.jar_path(SOURCES, "4.3.0").parent
    assert elsewhere != home
    assert elsewhere.stat().st_mode & 0o777 == 0o700
    assert home.stat().st_mode & 0o777 == mode


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives directories away")
def test_a_directory_of_somebody_else_is_not_used(home: Path) -> None:
    home.mkdir(mode=0o700, parents=True)
    os.chown(home, os.getuid() + 1, -1)
    assert classes.jar_path(SOURCES, "4.3.0").parent != home


def test_other_sources_and_another_spark_have_another_jar(home: Path) -> None:
    asked = [(SOURCES, "4.3.0"), (SOURCES, "4.3.1"), ({"Python.java": "package other;"}, "4.3.0")]
    assert len({classes.jar_path(text, version) for text, version in asked}) == 3


@pytest.fixture
def driver(spark: SparkSession) -> Iterator[Callable[[], Any]]:
    """`driver()` gives this thread of the driver a class loader as Spark has it, without the connector."""
    jvm, gateway = java(spark)
    thread = jvm.java.lang.Thread.currentThread()
    own = thread.getContextClassLoader()

    def fresh() -> Any:
        loader = jvm.org.apache.spark.util.MutableURLClassLoader(
            gateway.new_array(jvm.java.net.URL, 0), own.getParent()
        )
        thread.setContextClassLoader(loader)
        return loader

    yield fresh
    thread.setContextClassLoader(own)


def with_another(jar: Path, path: str, code: bytes) -> None:
    """Replace one class file of a jar."""
    with zipfile.ZipFile(jar) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    assert path in held
    with zipfile.ZipFile(jar, "w") as archive:
        for name, data in held.items():
            archive.writestr(name, code if name == path else data)


@pytest.mark.spark
def test_class_files_that_do_not_fit_are_compiled_again(
    spark: SparkSession, home: Path, driver: Callable[[], Any]
) -> None:
    jvm, gateway = java(spark)

    def loaded() -> int:
        """The file from which the driver has taken the connector: one that was compiled again is another."""
        loader = driver()
        assert not classes.has_class(loader, "indextables.Python")
        assert classes.load(jvm, gateway, spark.version).equals(loader)
        classes.new(jvm, gateway, loader, "indextables.Setup")
        [jar] = home.iterdir()
        return jar.stat().st_ino

    first = loaded()
    assert loaded() == first, "the jar is there, and it fits"
    [jar] = home.iterdir()
    with zipfile.ZipFile(jar) as archive:
        code = archive.read("indextables/AllColumns.class")
    parent = b"org/apache/spark/sql/connector"
    assert parent in code
    with_another(jar, "indextables/AllColumns.class", code.replace(parent, parent[:-1] + b"x"))  # NoClassDefFoundError
    assert jar.stat().st_ino == first
    second = loaded()
    assert second != first
    with_another(jar, "indextables/Snippets.class", b"no class")  # ClassFormatError
    third = loaded()
    assert third != second
    assert loaded() == third


@pytest.mark.spark
def test_a_class_loader_that_takes_no_classes(spark: SparkSession, driver: Callable[[], Any]) -> None:
    jvm, gateway = java(spark)
    driver()
    thread = jvm.java.lang.Thread.currentThread()
    thread.setContextClassLoader(thread.getContextClassLoader().getParent())
    other = spark.newSession()
    with pytest.raises(IndexTablesError, match=r"class loader \S+AppClassLoader takes no classes at run time$"):
        classes.load(jvm, gateway, spark.version)
    install(other)
    assert "AppClassLoader takes no classes at run time" in str(status(other))
