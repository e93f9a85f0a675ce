"""The native library of Vortex is loaded without the package around it, and the package stays whole for everybody else."""

from __future__ import annotations

import subprocess
import sys

import pytest

_READ = """
import sys, threading
import pyarrow as pa

def read():
    from indextables.split.rows import vortex_library as vx
    assert vx.DType.from_arrow(pa.schema([("a", pa.int64())]), non_nullable=True) is not None
    assert vx.Array.from_arrow(pa.array([1, 2])) is not None
    return vx.SegmentCache(1 << 20)

def use_package():
    import vortex
    from vortex import expr
    assert vortex._lib is sys.modules["vortex._lib"]
    assert vortex.array([1, 2]).to_arrow_array().to_pylist() == [1, 2]
    assert vortex.array([{"a": 1}]).to_arrow_table().num_rows == 1
    assert isinstance(read(), vortex.SegmentCache)
    assert vortex.expr is expr
"""


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _READ + code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_reading_loads_the_library_alone() -> None:
    code = "read()\nprint(sorted({'vortex', 'vortex._lib', 'pyarrow.dataset', 'google.protobuf'} & sys.modules.keys()))"
    assert run(code) == "['vortex._lib']"


def test_the_package_can_be_imported_afterwards() -> None:
    run("read()\nuse_package()")


def test_the_package_can_be_imported_before() -> None:
    run("use_package()\nread()")


@pytest.mark.parametrize("seed", range(3))
def test_the_package_can_be_imported_meanwhile(seed: int) -> None:
    """The native library is loaded once, by one of two threads, and both can use it."""
    run(f"""
import time
failed = []
def checked(job, wait):
    try:
        time.sleep(wait)
        job()
    except BaseException as error:
        failed.append(error)
import indextables.split.rows.row_reader
threads = [threading.Thread(target=checked, args=pair) for pair in ((read, {seed} * 0.002), (use_package, 0), (read, 0))]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not failed, failed
""")


def test_other_names_are_not_there() -> None:
    from indextables.split.rows import vortex_library

    with pytest.raises(AttributeError, match="no attribute 'io'"):
        _ = vortex_library.io
