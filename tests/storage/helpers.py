"""What the tests of stores share."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable

from indextables.core.options import Options
from indextables.storage.resolve import StoreSpec

MakeSpec = Callable[[str], StoreSpec]

BUCKET = "bucket"


class FakeClock:
    """Sleeps are written down; chance is a given number."""

    def __init__(self, jitter: float = 1.0) -> None:
        self.slept: list[float] = []
        self._jitter = jitter
        self._ids = itertools.count(1)

    def wall_ms(self) -> int:
        return 1_700_000_000_000

    def boot(self) -> float:
        return sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def jitter(self) -> float:
        return self._jitter

    def uuid(self) -> str:
        return str(uuid.UUID(int=next(self._ids)))


def s3_options(host: str, port: int) -> Options:
    return Options(
        {
            "aws.endpoint": f"http://{host}:{port}",
            "aws.allowHttp": True,
            "aws.accessKey": "key",
            "aws.secretKey": "secret",
        }
    )
