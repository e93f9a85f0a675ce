"""Different numbers of an array: as `np.unique` has them, without what it loads."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.core.arrow_values import distinct, distinct_codes

NUMBERS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5))


@given(NUMBERS)
def test_the_same_as_numpy(numbers: list[int]) -> None:
    array = np.array(numbers, np.int64)
    assert distinct(array).tolist() == np.unique(array).tolist()
    expected, places = np.unique(array, return_inverse=True)
    values, codes = distinct_codes(array)
    assert (values.tolist(), codes.tolist()) == (expected.tolist(), places.tolist())
    assert values.dtype == array.dtype


@pytest.mark.parametrize(
    ("code", "loads"), [("distinct(numbers); distinct_codes(numbers)", False), ("np.unique(numbers)", True)]
)
def test_masked_arrays_are_not_loaded(code: str, loads: bool) -> None:
    program = f"""
import sys
import numpy as np
from indextables.core.arrow_values import distinct, distinct_codes
numbers = np.array([3, 1, 3])
{code}
print("numpy.ma" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(loads), "numpy has changed" if loads else done.stdout
