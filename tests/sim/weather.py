"""What goes wrong, how often, and which of it a shrunk run leaves out.

Whether request number k of an actor meets a fault depends on nothing but the seed, the actor's name and k, so leaving one
fault out does not reshuffle the others. Each has a name, `A#17/late`, by which `Cut` leaves it out.
"""

from __future__ import annotations

from dataclasses import dataclass

from sim.world import DAY, HOUR, MINUTE, MUTATIONS, Request, chance, short

SAFETY_HOURS = 24
"""The safety age of the simulated tables."""

_CREATE = ("lost", "dropped", "late", "twice", "again", "conflict", "own")
_ZERO = ("lost", "dropped", "conflict", "own")
_PUT = ("lost", "dropped", "late", "twice", "again")
_DELETE = ("lost", "dropped", "late", "again", "partly")

FAULTS = {
    "lost": "carried out, the answer is lost",
    "dropped": "never arrives",
    "late": "stuck in the network, the client gives up",
    "twice": "carried out, the answer is lost, and a copy is still on its way",
    "again": "carried out and answered, and a copy is still on its way",
    "conflict": "refused with a 409 though nothing is there",
    "own": "carried out, and answered as if it had met another's object",
    "partly": "some keys of the delete fail",
    "unavailable": "the store does not answer",
}


@dataclass(frozen=True)
class Weather:
    """Rates are per request. Times are in seconds."""

    mutations: float = 0.07
    deletes: float = 0.2
    reads: float = 0.008
    deaths: float = 0.003
    freezes: float = 0.004
    late_answers: float = 0.1
    jumps_rate: float = 0.012
    jumps: tuple[float, ...] = (
        MINUTE,
        9 * MINUTE,
        12 * MINUTE,
        31 * MINUTE,
        61 * MINUTE,
        130 * MINUTE,
        13 * HOUR,
        25 * HOUR,
    )
    naps: tuple[float, ...] = (2 * MINUTE, 11 * MINUTE, 3 * HOUR, 13 * HOUR, 25 * HOUR, 4 * DAY)
    patience: float = 5 * MINUTE
    """How long an actor that is not asleep may wait for its turn inside an operation."""
    network: float = 11 * HOUR
    """A request arrives at most this much later than its client gave up: less than half the safety age."""
    cautious: float = 2.5 * HOUR
    """The same for deletes of log objects, and the longest nap of who makes them: several stay below half the safety age."""
    sleeper: tuple[str, int, float] | None = None
    """Somebody who stands still before a certain request, and for how long."""


CALM = Weather(mutations=0, deletes=0, reads=0, deaths=0, freezes=0, jumps_rate=0, late_answers=0)


@dataclass(frozen=True)
class Cut:
    """What a shrunk run leaves out."""

    actors: frozenset[str] = frozenset()
    faults: frozenset[str] = frozenset()
    operations: int | None = None
    """At most so many operations per actor."""
    jumps: bool = True
    salt: int = 0
    """Another order of the same actors and faults."""

    @property
    def is_whole(self) -> bool:
        return self == Cut()


class Faults:
    """The faults of one run. `urgency` raises the rates where a schedule has had too few of them."""

    def __init__(self, seed: int, weather: Weather, cut: Cut) -> None:
        self._seed = seed
        self._weather = weather
        self._cut = cut
        self.fired: list[str] = []
        self.fault_urgency = 1.0
        self.death_urgency = 1.0

    def of_request(self, who: str, number: int, request: Request) -> str | None:
        """The fault that this request meets."""
        weather = self._weather
        if request.verb == "sleep":
            return None
        rate = weather.reads
        if request.verb in MUTATIONS:
            rate = weather.deletes if request.verb == "delete" else weather.mutations
            rate *= self.fault_urgency
        if not rate or chance(self._seed, "fault", who, number) >= rate:
            return None
        kinds = self._kinds(request)
        kind = kinds[int(chance(self._seed, "kind", who, number) * len(kinds))]
        return kind if self._allowed(who, number, kind) else None

    def _kinds(self, request: Request) -> tuple[str, ...]:
        if request.verb == "create":
            return _ZERO if short(request.key) == "version 0" else _CREATE
        return {"put": _PUT, "delete": _DELETE}.get(request.verb, ("unavailable",))

    def delay(self, who: str, number: int, request: Request) -> float:
        """How long a request that is stuck stays stuck: seconds, minutes or hours."""
        longest = self._weather.cautious if request.verb == "delete" and request.touches_log else self._weather.network
        size = chance(self._seed, "scale", who, number)
        scale = 20.0 if size < 0.5 else min(30 * MINUTE, longest) if size < 0.75 else longest
        return scale * chance(self._seed, "delay", who, number)

    def nap(self, who: str, number: int, *, cautious: bool) -> float:
        """How long the actor stands still before this request; 0 for not at all."""
        if self._weather.sleeper is not None and self._weather.sleeper[:2] == (who, number):
            return self._weather.sleeper[2] if self._allowed(who, number, "nap") else 0.0
        if chance(self._seed, "freeze", who, number) >= self._weather.freezes or not self._weather.naps:
            return 0.0
        naps = self._weather.naps
        seconds = naps[int(chance(self._seed, "nap", who, number) * len(naps))]
        if cautious:
            seconds = min(seconds, self._weather.cautious)
        return seconds if self._allowed(who, number, "nap") else 0.0

    def death(self, who: str, number: int) -> str | None:
        """Whether the actor dies at this request: "before" it is carried out, or "after"."""
        rate = self._weather.deaths * self.death_urgency
        if not rate or chance(self._seed, "death", who, number) >= rate:
            return None
        if not self._allowed(who, number, "death"):
            return None
        return "before" if chance(self._seed, "when", who, number) < 0.5 else "after"

    def answer_is_slow(self, who: str, number: int) -> bool:
        """Whether others get their turn between the request and its answer."""
        return chance(self._seed, "answer", who, number) < self._weather.late_answers

    def which_keys(self, who: str, number: int, keys: tuple[str, ...]) -> tuple[str, ...]:
        """The keys of a delete that fail."""
        failed = tuple(key for i, key in enumerate(keys) if chance(self._seed, "key", who, number, i) < 0.4)
        return failed or keys[:1]

    def _allowed(self, who: str, number: int, kind: str) -> bool:
        name = f"{who}#{number}/{kind}"
        if name in self._cut.faults:
            return False
        self.fired.append(name)
        return True
