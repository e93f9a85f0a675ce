"""Ctrl-C and its sisters: the program ends tidily, wherever it was.

An exception that a signal throws into the middle of anything cannot be made safe: it may hit the code that tidies up, a read
that another thread waits for, or native code. So no signal throws. The command runs on a thread of its own; the main thread
does nothing but take signals, and asks. Work that can end calls `check` between its steps and while it waits for a pipe, which
raises `Stopped` in its own time.

    reading commands     have a moment to end, and are left behind then: there is nothing to tidy up
    changing commands    (`patient`) are waited for. What they began to commit they finish, and nothing stays of the rest

A second signal, a while after the first, ends the program at once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final, NoReturn

from indextables.core.runtime.process_state import ProcessLocal

_WORDS: Final = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
_MOMENT: Final = 0.5
"""Seconds that a command has to end where nobody has to wait for it."""
_SAME: Final = 1.0
"""Seconds in which a second signal is the first one once more: keys bounce, and shells send to whole groups."""
_STEP: Final = 0.05
"""Seconds between two looks for a signal while the work goes on in its thread."""


class Stopped(KeyboardInterrupt):
    """Somebody asked the program to end, and this was a good place."""


class Stop:
    """Whether this process was asked to end, and by which signal."""

    def __init__(self) -> None:
        self.signal = 0
        self.patient = False
        """Whether the command is one that must tidy up."""
        self.restore: Callable[[], None] | None = None
        """What a program that ends at once does first: a prompt gives the terminal back as it was."""
        self._since = 0.0
        self._hurried = False
        self._said = ProcessLocal(threading.Lock)

    def begin(self) -> None:
        """A command line is read; what it changes is not known yet."""
        self.patient = False
        self._said.renew()

    def say(self) -> bool:
        """Whether the caller is the first who says that the program was stopped, the command or who leaves it behind."""
        return self._said.value.acquire(blocking=False)

    @property
    def word(self) -> str:
        """What happened, in a word."""
        return _WORDS[signal.Signals(self.signal or signal.SIGINT)]

    @property
    def code(self) -> int:
        """The exit code for it, as shells have it."""
        return 128 + (self.signal or signal.SIGINT)

    def check(self) -> None:
        """Raise Stopped if the program was asked to end."""
        if self.signal:
            raise Stopped(self.word)

    @property
    def overdue(self) -> bool:
        """Whether the program was asked to end, and the work is not waited for any longer."""
        moment = not self.patient and time.monotonic() - self._since > _MOMENT
        return self.signal != 0 and (moment or self._hurried)

    def listen(self) -> None:
        """From now on signals ask. Those that are ignored stay so, as nohup and shells in the background want it."""
        for number in _WORDS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self.ask)

    def done(self) -> None:
        """There is nothing left that could end. Python, which ends after its program, would not ask but die."""
        for number in _WORDS:
            signal.signal(number, signal.SIG_IGN)

    def ask(self, number: int, frame: Any = None) -> None:
        """A signal came."""
        del frame
        now = time.monotonic()
        if not self.signal:
            self.signal, self._since = number, now
        elif now - self._since > _SAME:
            self._hurried = True


STOP: Final = Stop()
"""This process's own: signals are sent to processes."""


def watched(work: Callable[[], int], last_words: Callable[[str, int], str]) -> int:
    """The exit code of `work`, which runs beside this while signals are taken, until the process ends."""
    STOP.listen()
    codes: list[int] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            codes.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again by the main thread
            failures.append(error)

    thread = threading.Thread(target=run, name="indextables-command", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_STEP)
        if STOP.overdue and thread.is_alive():
            if STOP.restore is not None:
                STOP.restore()
            _leave(last_words(STOP.word, STOP.code) if STOP.say() else "", STOP.code)
    STOP.done()
    if failures:
        raise failures[0]
    return codes[0]


def _leave(line: str, code: int) -> NoReturn:
    """At once: no thread is waited for, nothing is tidied up."""
    shown = "\x1b[?25h" if sys.stderr is not None and sys.stderr.isatty() else ""
    try:
        os.write(2, f"{shown}{line}".encode())
    finally:
        os._exit(code)
