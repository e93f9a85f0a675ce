"""The scheduler: one greenlet per actor, a switch before every storage call, and the seed decides who goes on.

An actor is ordinary synchronous code over the real functions. Its request stays pending while others run; when its turn
comes the request is carried out, or meets a fault, and the actor runs on to its next request. Time moves a little with every
request and now and then by minutes, hours or days. An actor may be put to sleep in the middle of an operation while the
others go on, and may die there; then a new process takes its place.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from greenlet import greenlet

from indextables.core.errors import ObjectExists, StorageError, StoreUnavailable
from sim.weather import FAULTS, Cut, Faults, Weather
from sim.world import EPOCH, HOUR, MUTATIONS, Died, Request, Violation, World, short

_NOTHING: Any = object()
_LONG_AGO = -1e18
LONG_NAP = 11 * HOUR
_RANDOM_PART = re.compile("-[0-9a-f]{32}")
"""What makes a data file's name one that nobody used before; a reader of a trace can do without."""


@dataclass(slots=True)
class Flight:
    """A request that its client has given up, and that still arrives."""

    lands_at: float
    request: Request
    who: str


class Task:
    """One actor, as the scheduler sees it."""

    def __init__(
        self, scheduler: Scheduler, name: str, life: Callable[[], None], *, cautious: bool, reborn: bool
    ) -> None:
        self._scheduler = scheduler
        self._life = life
        self.name = name
        self.cautious = cautious
        """Whether it deletes log objects, and so may not stand still for longer than the protocol allows."""
        self.reborn = reborn
        self.greenlet: greenlet | None = None
        self.request: Request | None = None
        self.answer: Any = _NOTHING
        self.until: Callable[[], bool] | None = None
        self.calls = 0
        self.since = _LONG_AGO
        self.wake_at = _LONG_AGO
        self.napping = False
        self.slept = False
        """Whether it stood still for hours in the middle of the operation it is in."""
        self.deleting = False
        self.done = False
        self.dead = False

    @property
    def busy(self) -> bool:
        """In the middle of an operation."""
        return self.request is not None

    def start(self) -> None:
        self.request, self.answer, self.until = None, _NOTHING, None
        self.deleting = self.dead = False
        self.greenlet = greenlet(self._run, self._scheduler.hub)

    def _run(self, _: Any = None) -> None:
        try:
            self._life()
        except Died:
            return

    def call(self, request: Request) -> Any:
        """Make a request: called by the actor, returns when the scheduler has carried it out."""
        if self.dead or self._scheduler.over:
            raise Died
        if request.verb == "delete" and request.touches_log:
            self.deleting = True
        return self._switch(request)

    def idle(self, until: Callable[[], bool] | None = None) -> None:
        """Between two operations: anything may happen before the next begins; nothing happens while `until` is false."""
        if self.dead or self._scheduler.over:
            raise Died
        self.deleting = False
        self.until = until
        self._switch(None)
        self.slept = False

    def _switch(self, request: Request | None) -> Any:
        self.request = request
        outcome = self._scheduler.hub.switch()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


class Scheduler:
    """Runs the tasks to their end."""

    def __init__(self, world: World, seed: int, weather: Weather, cut: Cut, max_steps: int = 20_000) -> None:
        self.world = world
        self.weather = weather
        self.faults = Faults(seed, weather, cut)
        self.hub: greenlet = greenlet.getcurrent()  # type: ignore[attr-defined]
        self.tasks: list[Task] = []
        self.flights: list[Flight] = []
        self.trace: list[tuple[Any, ...]] = []
        self.counts: Counter[str] = Counter()
        self.over = False
        self.sender: Task | None = None
        """Whose request is being carried out; None for what arrives late."""
        self.before_step: Callable[[], None] = lambda: None
        self._jumps = cut.jumps
        self._rng = random.Random(f"schedule/{seed}/{cut.salt}")
        self._stick = self._rng.choice((0.5, 0.8, 0.95, 0.99))
        self._current: Task | None = None
        self._pending_jump = 0.0
        self._max_steps = max_steps

    def add(self, name: str, life: Callable[[], None], *, cautious: bool = False, reborn: bool = True) -> Task:
        task = Task(self, name, life, cautious=cautious, reborn=reborn)
        self.tasks.append(task)
        return task

    def note(self, text: str, who: str = "") -> None:
        self.trace.append((self.world.now, who, text))

    def run(self) -> None:
        """Until every task has ended and every late request has arrived."""
        for task in self.tasks:
            task.start()
        try:
            self._loop()
        finally:
            self.over = True
            for task in self.tasks:
                if task.greenlet:  # started, and not at its end
                    task.greenlet.throw(Died)

    def log_deletes_under_way(self) -> bool:
        """Whether somebody is between looking at version 0 and the end of its deletes, or such a delete is still to land."""
        return any(task.deleting for task in self.tasks) or any(
            flight.request.verb == "delete" and flight.request.touches_log for flight in self.flights
        )

    def _loop(self) -> None:
        steps = 0
        while True:
            steps += 1
            if steps > self._max_steps:
                waiting = ", ".join(f"{t.name} ({t.request or 'idle'})" for t in self.tasks if not t.done)
                raise Violation("stuck", f"not at an end after {steps} steps: {waiting}")
            self.before_step()
            self._land_due()
            if not self._step():
                return

    def _step(self) -> bool:
        now = self.world.now
        alive = [task for task in self.tasks if not task.done]
        if not alive:
            return self._advance()
        awake = [task for task in alive if task.wake_at <= now and (task.until is None or task.until())]
        if self._weather_changes(alive, awake):
            return True
        if self._pending_jump:
            awake = [task for task in awake if task.busy]
        if not awake:
            return self._advance() or self._stuck(alive)
        current = self._current
        if current not in awake or not current.busy or self._rng.random() >= self._stick:
            current = self._current = self._rng.choice(awake)
        self._turn(current)
        return True

    def _stuck(self, alive: list[Task]) -> bool:
        if self._pending_jump:
            self._jump(self._pending_jump)
            return True
        waiting = ", ".join(task.name for task in alive)
        raise Violation("stuck", f"nobody can go on: {waiting}")

    def _weather_changes(self, alive: list[Task], awake: list[Task]) -> bool:
        """Let time jump, at once or as soon as everybody has finished what they are doing."""
        if not self._pending_jump:
            if not self._jumps or not self.weather.jumps_rate or self._rng.random() >= self.weather.jumps_rate:
                return False
            self._pending_jump = self._rng.choice(self.weather.jumps)
        jump, now = self._pending_jump, self.world.now
        waiting = [task for task in alive if task.busy and not (task.napping and not task.cautious)]
        if all(now + jump - task.since <= self.weather.patience for task in waiting):
            self._jump(jump)
            return True
        return False

    def _jump(self, seconds: float) -> None:
        self._pending_jump = 0.0
        self.counts["jumps"] += 1
        target = self.world.now + seconds
        self._land_until(target)
        self.world.now = target
        self.note(f"... {span(seconds)} pass")

    def _advance(self) -> bool:
        """Nobody can move: go to the next moment at which something happens. False when nothing is left."""
        moments = [task.wake_at for task in self.tasks if not task.done and task.wake_at > self.world.now]
        if self._pending_jump:
            moments = [t.wake_at for t in self.tasks if not t.done and t.busy and t.wake_at > self.world.now]
            if not moments:
                return False
        else:
            moments += [flight.lands_at for flight in self.flights]
        if not moments:
            return False
        self.world.now = max(self.world.now, min(moments))
        return True

    def _turn(self, task: Task) -> None:
        request = task.request
        if task.napping and self.world.now - task.since > LONG_NAP:
            task.slept = True  # time jumped while the task slept: a short nap became a long one
        task.napping = False
        if request is None:
            task.until = None
            self._resume(task, None)
        elif task.answer is not _NOTHING:
            answer, task.answer = task.answer, _NOTHING
            self._resume(task, answer)
        else:
            self._serve(task, request)

    def _serve(self, task: Task, request: Request) -> None:
        self.world.now += 0.02 + 0.3 * self._rng.random()
        death = self.faults.death(task.name, task.calls)
        if death == "before":
            self._die(task, f"dies before {request}")
            return
        answer, note = self._outcome(task, request)
        self.trace.append((self.world.now, task.name, request, answer, note))
        if death == "after":
            self._die(task, "dies before the answer")
        elif self.faults.answer_is_slow(task.name, task.calls):
            task.answer = answer
            task.since = self.world.now
        else:
            self._resume(task, answer)

    def _outcome(self, task: Task, request: Request) -> tuple[Any, str]:
        """Carry a request out, or not: the answer that its client gets (an error to raise, or a value), and a note."""
        self.counts["requests"] += 1
        if request.verb == "sleep":
            return None, ""
        fault = self.faults.of_request(task.name, task.calls, request)
        self.sender = task
        if fault is None:
            return self._try(request), ""
        self.counts["faults"] += 1
        self.counts[f"fault {fault}"] += 1
        failure = StoreUnavailable(f"simulated: {request} was not answered", key=request.key)
        if fault in ("late", "twice", "again"):
            delay = self.faults.delay(task.name, task.calls, request)
            self.flights.append(Flight(self.world.now + delay, request, task.name))
        answer: Any = failure
        if fault == "partly":
            failed = self.faults.which_keys(task.name, task.calls, request.keys)
            self._try(Request("delete", keys=tuple(key for key in request.keys if key not in failed)))
            return dict.fromkeys(failed, failure), f"  !! {fault}: {', '.join(map(short, failed))}"
        if fault in ("lost", "twice", "again", "own"):
            answer = self._try(request)
        if fault in ("conflict", "own"):
            answer = ObjectExists(f"simulated: {request} met a conflict", key=request.key)
        elif fault != "again":
            answer = failure
            if request.verb == "delete":
                answer = dict.fromkeys(request.keys, failure)
        return answer, f"  !! {fault}: {FAULTS[fault]}"

    def _try(self, request: Request) -> Any:
        try:
            return self.world.carry_out(request)
        except StorageError as error:
            return error

    def _resume(self, task: Task, answer: Any) -> None:
        assert task.greenlet is not None
        task.request = None
        task.greenlet.switch(answer)
        self._after(task)

    def _after(self, task: Task) -> None:
        """The task has made its next request, or has come to its end."""
        if task.greenlet is None or task.greenlet.dead:
            task.request = None
            task.deleting = False
            if task.dead and task.reborn:
                task.start()
            else:
                task.done = True
            return
        task.since = self.world.now
        if task.request is None:
            return
        task.calls += 1
        if task.request.verb == "sleep":
            task.wake_at = self.world.now + task.request.seconds
            return
        nap = self.faults.nap(task.name, task.calls, cautious=task.cautious)
        if nap:
            self.counts["naps"] += 1
            task.wake_at = self.world.now + nap
            task.napping = True
            task.slept = task.slept or nap > LONG_NAP
            self.note(f"sleeps for {span(nap)} before {task.request}", task.name)

    def _die(self, task: Task, how: str) -> None:
        assert task.greenlet is not None
        self.counts["deaths"] += 1
        self.note(how.upper(), task.name)
        task.dead = True
        task.greenlet.throw(Died)
        task.answer = _NOTHING
        self._after(task)

    def _land_due(self) -> None:
        if self.flights:
            self._land_until(self.world.now)

    def _land_until(self, moment: float) -> None:
        while True:
            due = [flight for flight in self.flights if flight.lands_at <= moment]
            if not due:
                return
            flight = min(due, key=lambda each: each.lands_at)
            self.flights.remove(flight)
            self.world.now = max(self.world.now, flight.lands_at)
            self.counts["late arrivals"] += 1
            self.sender = None
            answer = self._try(flight.request)
            self.trace.append((self.world.now, "network", flight.request, answer, f"  (late, of {flight.who})"))


def span(seconds: float) -> str:
    for size, unit in ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")):
        if seconds >= size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} seconds"


def show(entry: tuple[Any, ...]) -> str:
    """A line of the trace."""
    minutes = (entry[0] - EPOCH) / 60
    head = f"{minutes:10.2f}m  {entry[1] + ':' if entry[1] else '':9s}"
    if len(entry) == 3:
        return _RANDOM_PART.sub("", f"{head} {entry[2]}")
    _, _, request, answer, note = entry
    return _RANDOM_PART.sub("", f"{head} {request}{_brief(request)} -> {_answer(request, answer)}{note}")


def _answer(request: Request, answer: Any) -> str:
    if isinstance(answer, StorageError):
        return type(answer).__name__
    if request.verb == "list":
        return ", ".join(short(meta.key) for meta in answer) or "nothing"
    if request.verb == "get":
        return "there"
    if request.verb == "head":
        return f"there, {answer.etag}"
    if request.verb == "delete" and answer:
        return f"{len(answer)} failed"
    return "ok"


def _brief(request: Request) -> str:
    if request.verb not in MUTATIONS or not request.key.endswith(".json") or not request.data.startswith(b"{"):
        return ""
    from sim.oracle import describe

    return f" [{describe(request.key, request.data)}]"
