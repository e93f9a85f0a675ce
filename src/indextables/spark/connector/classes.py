"""The connector's Java: sources of this package → class files → the driver's class loader.

    java/*.java ──▶ Janino, the compiler that Spark brings along ──▶ a jar in a private directory ──▶ the loader of the driver

A jar is named after a hash of the sources and Spark's version, so a jar of other sources, or for another Spark, is never taken.
Where classes of a jar do not fit all the same, as with two builds of one version of Spark, the sources are compiled once more.
The directory belongs to the user alone (mode 0700); where it does not, the jar goes to a new temporary directory. Executors get
nothing.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import shutil
import tempfile
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from indextables.core.errors import IndexTablesError

_log: Final = logging.getLogger(__name__)
_SERVICE: Final = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"
_BYTECODE: Final = 8
"""The Java version of the class files: with an older one Janino refuses static methods of interfaces."""
_LOSSES: Final = {
    ("AnswerScan.java",): "explain() shows the driver's answers in the optimized plan alone",
}
"""Sources that use more of Spark's inner classes than the others, and what is lost where they do not compile."""
OPTIONAL: Final = tuple(name for names in _LOSSES for name in names)
"""All of these sources. The connector does without them."""
_DOOR: Final = "indextables.Python"
"""The class by which is seen whether the loader has the connector."""


def sources() -> dict[str, str]:
    """The connector's Java sources, by file name."""
    return {
        path.name: path.read_text(encoding="utf-8")
        for path in sorted(files("indextables.spark.connector").joinpath("java").iterdir(), key=lambda path: path.name)
        if path.name.endswith(".java")
    }


def load(jvm: Any, gateway: Any, version: str) -> Any:
    """The class loader of the driver, with the connector's classes. Raises IndexTablesError where they cannot be loaded."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if has_class(loader, _DOOR):
        return loader
    if not _takes_classes(jvm, gateway, loader):
        raise IndexTablesError(f"the driver's class loader {loader.getClass().getName()} takes no classes at run time")
    text = sources()
    jar = jar_path(text, version)
    if not _whole(jar) or not _links(jvm, gateway, loader, jar):
        _write_jar(jar, compiled_for(jvm, gateway, loader, text))
    loader.addURL(_url(jvm, jar))
    return loader


def _url(jvm: Any, jar: Path) -> Any:
    return jvm.java.io.File(str(jar)).toURI().toURL()


def _links(jvm: Any, gateway: Any, loader: Any, jar: Path) -> bool:
    """True if all classes of a jar fit the driver's Spark. A loader of their own tries: the driver's never gives a class back."""
    from py4j.protocol import Py4JJavaError

    urls = gateway.new_array(jvm.java.net.URL, 1)
    urls[0] = _url(jvm, jar)
    trial = jvm.java.net.URLClassLoader(urls, loader)
    try:
        for name in _class_names(jar):
            jvm.java.lang.Class.forName(name, True, trial)
    except Py4JJavaError as error:
        if not jvm.java.lang.Class.forName("java.lang.LinkageError").isInstance(error.java_exception):
            raise
        _log.info("the connector is compiled again, as %s does not fit this Spark: %s", jar, error.java_exception)
        return False
    finally:
        trial.close()
    return True


def _class_names(jar: Path) -> list[str]:
    with zipfile.ZipFile(jar) as archive:
        paths = archive.namelist()
    return [path.removesuffix(".class").replace("/", ".") for path in paths if path.endswith(".class")]


def _takes_classes(jvm: Any, gateway: Any, loader: Any) -> bool:
    """True if a class loader has the method `addURL`. Asked for by name: a list of all methods takes 200 calls of Java."""
    from py4j.protocol import Py4JJavaError

    parameters = gateway.new_array(jvm.java.lang.Class, 1)
    parameters[0] = jvm.java.lang.Class.forName("java.net.URL")
    try:
        loader.getClass().getMethod("addURL", parameters)
    except Py4JJavaError as error:
        if "NoSuchMethodException" in str(error.java_exception.getClass().getName()):
            return False
        raise
    return True


def new(jvm: Any, gateway: Any, loader: Any, name: str) -> Any:
    """A new object of one of the connector's classes."""
    nothing = gateway.new_array(jvm.java.lang.Class, 0), gateway.new_array(jvm.java.lang.Object, 0)
    return loader.loadClass(name).getDeclaredConstructor(nothing[0]).newInstance(nothing[1])


def has_class(loader: Any, name: str) -> bool:
    """True if a class loader knows a class."""
    from py4j.protocol import Py4JJavaError

    try:
        loader.loadClass(name)
    except Py4JJavaError as error:
        if "ClassNotFoundException" in str(error.java_exception.getClass().getName()):
            return False
        raise
    return True


def compiled_for(jvm: Any, gateway: Any, loader: Any, text: dict[str, str]) -> dict[str, bytes]:
    """The class files for this Spark, without those of `OPTIONAL` where these do not compile. Raises IndexTablesError."""
    try:
        return compile_sources(jvm, gateway, loader, text)
    except IndexTablesError:
        made = compile_sources(jvm, gateway, loader, {name: text[name] for name in text if name not in OPTIONAL})
    chosen = {name: text[name] for name in text if name not in OPTIONAL}
    for names, lost in _LOSSES.items():
        more = chosen | {name: text[name] for name in names if name in text}
        try:
            made, chosen = compile_sources(jvm, gateway, loader, more), more
        except IndexTablesError as error:
            _log.warning("%s: %s", lost, error)
    return made


def compile_sources(jvm: Any, gateway: Any, loader: Any, text: dict[str, str]) -> dict[str, bytes]:
    """The class files of sources, by their path in a jar. Raises IndexTablesError.

    They come by way of a directory: to move 90 class files through py4j takes as long as half of the compilation.
    """
    from py4j.protocol import Py4JJavaError

    resource = jvm.org.codehaus.commons.compiler.util.resource
    units = gateway.new_array(resource.Resource, len(text))
    for number, (name, source) in enumerate(text.items()):
        units[number] = resource.StringResource(name, source)
    compiler = jvm.org.codehaus.janino.Compiler()
    compiler.setIClassLoader(jvm.org.codehaus.janino.ClassLoaderIClassLoader(loader))
    compiler.setTargetVersion(_BYTECODE)
    with tempfile.TemporaryDirectory(prefix="indextables-classes-") as place:
        compiler.setClassFileCreator(resource.DirectoryResourceCreator(jvm.java.io.File(place)))
        try:
            compiler.compile(units)
        except Py4JJavaError as error:
            raise IndexTablesError(
                f"the connector does not compile for this Spark: {error.java_exception.getMessage()}"
            ) from error
        return {
            path.relative_to(place).as_posix(): path.read_bytes() for path in Path(place).rglob("*") if path.is_file()
        }


def _whole(jar: Path) -> bool:
    """True if a jar is there and every byte of it is as it was written: a full disk or a lost machine may leave a part of one."""
    try:
        with zipfile.ZipFile(jar) as archive:
            return archive.testzip() is None
    except (OSError, zipfile.BadZipFile):
        return False


def _write_jar(jar: Path, classes: dict[str, bytes]) -> None:
    """Write a jar whole or not at all: another process may be writing the same one."""
    handle, name = tempfile.mkstemp(dir=jar.parent, suffix=".jar.new")
    with os.fdopen(handle, "wb") as sink, zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, code in sorted(classes.items()):
            archive.writestr(path, code)
        archive.writestr(_SERVICE, "indextables.Provider\n")
    Path(name).replace(jar)


def jar_path(text: dict[str, str], version: str) -> Path:
    """Where the class files of sources are kept for a version of Spark."""
    said = hashlib.sha256(version.encode())
    for name, source in text.items():
        said.update(f"\n{name}\n{source}".encode())
    return _directory() / f"connector-{version}-{said.hexdigest()[:32]}.jar"


def _directory() -> Path:
    """A directory that only this user can write to."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    path = home / "indextables" / "connector"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.stat()
    except OSError:
        return _own_directory()
    return path if found.st_uid == os.getuid() and found.st_mode & 0o777 == 0o700 else _own_directory()


def _own_directory() -> Path:
    """A new directory that goes when the process ends, and the driver with it."""
    path = Path(tempfile.mkdtemp(prefix="indextables-connector-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path
