"""What an option is: a key, a kind of value, a default, and the sentence that the reference page says about it.

`Section` is how `keys.py` declares them, so that a declaration reads like a line of the reference page and no key can be
declared twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from indextables.core.errors import OptionError
from indextables.core.options import kinds
from indextables.core.options.kinds import Kind

T = TypeVar("T")

PREFIX = "spark.indextables."

Scope = Literal["session", "table"]


@dataclass(frozen=True)
class Option(Generic[T]):
    """An option. `default` is the value where the key is not set; a default of None means that there is no value then.

    A "session" option belongs to whoever opens the table. A "table" option is stored with the table when it is created and
    is the same for everyone.
    """

    key: str
    kind: Kind[Any]
    default: T
    doc: str
    unit: str = ""
    scope: Scope = "session"
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    secret: bool = False
    since: str = "0.1.0"

    @property
    def short(self) -> str:
        """The key without the prefix that all of them share."""
        return self.key.removeprefix(PREFIX)

    @property
    def expected(self) -> str:
        """The form of its values, to complete "expected …"."""
        return self.kind.form + (f", {self.limits}" if self.limits else "")

    @property
    def limits(self) -> str:
        """The smallest and the largest value, in words; "" where there are none."""
        if self.minimum is None:
            return ""
        return f"at least {self.minimum:,}" if self.maximum is None else f"from {self.minimum:,} to {self.maximum:,}"

    def parse(self, value: Any) -> T:
        """The value that a text (or a native value) stands for. Raises OptionError."""
        try:
            parsed = self.kind.parse(kinds.to_text(value))
        except ValueError:
            raise self._refusal(value) from None
        if self.minimum is not None and parsed < self.minimum:
            raise self._refusal(value)
        if self.maximum is not None and parsed > self.maximum:
            raise self._refusal(value)
        return parsed  # type: ignore[no-any-return]

    def show(self, value: T) -> str:
        """The canonical text of a value; "" where there is none."""
        return "" if value is None else self.kind.show(value)

    def _refusal(self, value: Any) -> OptionError:
        shown = "has a value" if self.secret else f"is {value!r}"
        return OptionError(f"{self.key} {shown}, expected {self.expected}", key=self.key)


@dataclass(frozen=True)
class Family:
    """Keys that share all but their last part, which the user chooses: a column, a type, the name of a tokenizer.

    `check` returns what is wrong with a member and its value, or None.
    """

    key: str
    member: str
    check: Callable[[str, str], str | None]
    form: str
    doc: str
    scope: Scope = "table"
    since: str = "0.1.0"

    @property
    def short(self) -> str:
        """The key without the prefix that all of them share."""
        return self.key.removeprefix(PREFIX)


@dataclass
class Section:
    """A heading of the reference page, and the factory of the options below it."""

    title: str
    about: str
    entries: list[Option[Any] | Family] = field(default_factory=list)

    def flag(self, key: str, default: bool, doc: str, *, scope: Scope = "session") -> Option[bool]:
        """An option that is true or false."""
        return self._add(Option(PREFIX + key, kinds.BOOLEAN, default, doc, scope=scope))

    def whole(
        self,
        key: str,
        default: int,
        doc: str,
        *,
        unit: str = "",
        minimum: int | None = 0,
        maximum: int | None = None,
        scope: Scope = "session",
    ) -> Option[int]:
        """An option that is a whole number."""
        return self._add(
            Option(PREFIX + key, kinds.WHOLE, default, doc, unit=unit, minimum=minimum, maximum=maximum, scope=scope)
        )

    def whole_or_auto(self, key: str, doc: str, *, unit: str = "") -> Option[int]:
        """An option that is a whole number, or `auto`, which is the default and reads as 0."""
        return self._add(Option(PREFIX + key, kinds.WHOLE_OR_AUTO, 0, doc, unit=unit, minimum=0))

    def ratio(self, key: str, default: float, doc: str) -> Option[float]:
        """An option between 0 and 1."""
        return self._add(Option(PREFIX + key, kinds.NUMBER, default, doc, unit="ratio", minimum=0, maximum=1))

    def size(self, key: str, default: int, doc: str, *, minimum: int = 1, maximum: int | None = None) -> Option[int]:
        """An option in bytes."""
        return self._add(
            Option(PREFIX + key, kinds.BYTES, default, doc, unit="bytes", minimum=minimum, maximum=maximum)
        )

    def milliseconds(self, key: str, default: int, doc: str) -> Option[int]:
        """A duration whose bare numbers are milliseconds."""
        return self._add(Option(PREFIX + key, kinds.MILLISECONDS, default, doc, unit="milliseconds", minimum=0))

    def seconds(self, key: str, default: float, doc: str) -> Option[float]:
        """A duration whose bare numbers are seconds."""
        return self._add(Option(PREFIX + key, kinds.SECONDS, default, doc, unit="seconds", minimum=0))

    def hours(self, key: str, default: float, doc: str, *, scope: Scope = "session") -> Option[float]:
        """A duration whose bare numbers are hours."""
        return self._add(Option(PREFIX + key, kinds.HOURS, default, doc, unit="hours", minimum=0, scope=scope))

    def choice(self, key: str, default: str, doc: str, choices: tuple[str, ...]) -> Option[str]:
        """Declare an option whose value is one of the words `choices`, as the default is."""
        return self._add(Option(PREFIX + key, kinds.choice(*choices), default, doc, choices=choices))

    def text(self, key: str, doc: str, *, secret: bool = False) -> Option[str | None]:
        """Free text without a default."""
        return self._add(Option(PREFIX + key, kinds.TEXT, None, doc, secret=secret))

    def columns(self, key: str, doc: str, *, scope: Scope = "session") -> Option[tuple[str, ...] | None]:
        """A list of columns without a default."""
        return self._add(Option(PREFIX + key, kinds.LIST, None, doc, scope=scope))

    def family(self, key: str, member: str, form: str, doc: str, *, check: Callable[[str, str], str | None]) -> Family:
        """Keys whose last part the user chooses."""
        entry = Family(PREFIX + key, member, check, form, doc)
        self.entries.append(entry)
        return entry

    def _add(self, option: Option[T]) -> Option[T]:
        self.entries.append(option)
        return option
