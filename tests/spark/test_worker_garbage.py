"""What a worker has loaded is not looked through after every task."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import gc
from indextables.core.runtime.memory import Machine, cache_bytes
from indextables.spark.worker_garbage import light_collections

def frozen_after(task):
    with light_collections():
        task()
    return gc.get_freeze_count()

class Ring:
    def __init__(self):
        self.own = self

first = frozen_after(Ring)
print(first > 1_000, frozen_after(Ring) == first, gc.collect() == 1)
print("small" if cache_bytes() == 1 << 28 else "large", Machine.here().memory_bytes > 4 << 30)
"""


@pytest.mark.parametrize("worker", [True, False])
def test_the_first_task_of_a_worker_freezes_what_is_loaded(worker: bool) -> None:
    """Once, and without the garbage that the task left. Outside of a worker nothing is frozen."""
    environment = os.environ | ({"PYTHON_WORKER_FACTORY_SECRET": "x"} if worker else {})
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    garbage, caches = (line.split() for line in done.stdout.splitlines())
    if worker:
        assert garbage == ["True", "True", "True"]
    else:
        assert garbage == ["False", "True", "False"]
    large_machine = caches[1] == "True"
    assert caches[0] == ("large" if large_machine and not worker else "small")
