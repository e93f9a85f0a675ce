"""Typed values as text: how the log writes partition values, minima and maxima, and how it reads everybody's.

Writing is strict, one form per type:

    integers        decimal                         -7
    float, double   shortest text that round-trips  0.1   1e+16   -Infinity   (NaN has none: it is left out of bounds)
    boolean         true, false
    date            YYYY-MM-DD                      2024-01-31
    timestamp       ISO-8601, UTC, microseconds     2024-01-31T12:00:00.000000Z
    timestamp_ntz   the same without the Z          2024-01-31T12:00:00.000000
    decimal         plain notation                  1.50
    string          as it is

Reading is liberal: Java's doubles (`1.0E10`, `Infinity`), seconds since 1970 for a timestamp, any fraction, offsets, a
blank in place of the T, dates with a time after them. What cannot be read is *unknown* (None, or null in an array),
never an error: a bound that nobody understands must keep its file, not break the query.

Years outside 1..9999 exist in Arrow and in Spark, but not in Python: they have no text, and a bound that needs one is
left out.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indextables.core.arrow_values import ZERO_SCALAR, array_of, array_of_numbers, numpy_of, scalar_of
from indextables.core.errors import SchemaError

EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - arithmetic on UTC without the cost of time zones
EXACT: Final = decimal.Context(prec=1000, traps=[])
LONGEST_NUMBER: Final = 400
"""Digits, and powers of ten, of a number that is read as one: a double ends at 308."""
_SECOND: Final = 1_000_000
"""Microseconds of a second."""
_DAY: Final = 86_400_000_000
"""Microseconds of a day."""
_MICROSECOND: Final = dt.timedelta(microseconds=1)

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")
_NOT_FINITE = re.compile(r"[+-]?(?:inf|infinity|nan)", re.IGNORECASE)
Bound: TypeAlias = Literal["lower", "upper"]
_FIELDS = ("year", "month", "day", "hour", "minute", "second")
_MOMENT = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})"
    r"(?:[T ](?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2})(?::(?P<second>[0-9]{1,2})(?:\.(?P<fraction>[0-9]+))?)?"
    r" ?(?P<zone>Z|[+-][0-9]{1,2}(?::?[0-9]{2})?)?)?"
)


def is_text(arrow_type: pa.DataType) -> bool:
    """Whether the type is one of Arrow's string types."""
    return bool(
        pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type) or pa.types.is_string_view(arrow_type)
    )


def has_text_form(arrow_type: pa.DataType) -> bool:
    """Whether values of this type can be partition values and bounds: they have an order and a text."""
    kinds = pa.types
    return bool(
        is_text(arrow_type)
        or kinds.is_integer(arrow_type)
        or kinds.is_boolean(arrow_type)
        or kinds.is_float32(arrow_type)
        or kinds.is_float64(arrow_type)
        or kinds.is_decimal(arrow_type)
        or kinds.is_date32(arrow_type)
        or (kinds.is_timestamp(arrow_type) and arrow_type.unit == "us")
    )


def to_text(value: Any, arrow_type: pa.DataType, *, keep_nan: bool = False) -> str | None:
    """The one text of a value. None for null, and for NaN unless `keep_nan` (partition values keep it, bounds do not)."""
    if value is None:
        return None
    kinds = pa.types
    try:
        if is_text(arrow_type):
            return str(_checked(value, str))
        if kinds.is_boolean(arrow_type):
            return "true" if _checked(value, bool) else "false"
        if kinds.is_integer(arrow_type):
            return str(int(_checked(value, int)))
        if kinds.is_floating(arrow_type):
            return _float_text(float(value), arrow_type, keep_nan=keep_nan)
        if kinds.is_decimal(arrow_type):
            return _decimal_text(Decimal(value), arrow_type)
        if kinds.is_date32(arrow_type):
            return str(_checked(value, dt.date).isoformat())[:10]
        if kinds.is_timestamp(arrow_type):
            return timestamp_text(micros(_checked(value, dt.datetime)), arrow_type)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise SchemaError(f"the value {value!r} does not fit the type {arrow_type}", value=repr(value)) from error
    raise SchemaError(f"values of type {arrow_type} have no text form", type=str(arrow_type))


def timestamp_text(since_epoch: int, arrow_type: pa.DataType) -> str | None:
    """The text of a timestamp given in microseconds since 1970. None outside the years 1..9999."""
    try:
        moment = EPOCH + dt.timedelta(microseconds=since_epoch)
    except OverflowError:
        return None
    return moment.isoformat(timespec="microseconds") + ("Z" if arrow_type.tz is not None else "")


def micros(moment: dt.datetime) -> int:
    """Microseconds since 1970. A datetime without a zone counts as UTC."""
    if moment.tzinfo is not None:
        moment = moment.replace(tzinfo=None) - (moment.utcoffset() or dt.timedelta())
    return (moment - EPOCH) // _MICROSECOND


def from_text(text: str | None, arrow_type: pa.DataType) -> Any:
    """The value that a text of the log stands for. None when there is none or it cannot be read."""
    if text is None or is_text(arrow_type):
        return text
    kinds = pa.types
    if kinds.is_integer(arrow_type):
        return _parse_whole(text, arrow_type)
    if kinds.is_boolean(arrow_type):
        return {"true": True, "false": False, "1": True, "0": False}.get(text.lower())
    if kinds.is_floating(arrow_type):
        return _parse_float(text, arrow_type)
    if kinds.is_decimal(arrow_type):
        number = parse_number(text)
        return None if number is None else fit_decimal(number, arrow_type)
    if kinds.is_date32(arrow_type):
        parsed = parse_moment(text, read_offset=False)
        return None if parsed is None else (EPOCH + dt.timedelta(days=parsed[0] // _DAY)).date()
    if kinds.is_timestamp(arrow_type):
        parsed = _parse_timestamp(text, arrow_type)
        if parsed is None:
            return None
        moment = EPOCH + dt.timedelta(microseconds=parsed[0])
        return moment.replace(tzinfo=dt.UTC) if arrow_type.tz is not None else moment
    return None


def column_from_text(texts: Any, arrow_type: pa.DataType, *, bound: Bound | None = None) -> pa.Array:
    """`from_text` for a column of texts: an array of the type, null where a text is absent or cannot be read.

    The texts of a `bound` are minima or maxima, and timestamps among them count by the whole second: a minimum from its
    beginning, a maximum to its end (or to the end of the last digit that was written, if that is coarser). Others write
    variable fractions and order them as text, where `…00.500Z` is below `…00Z`, or cut fractions off.
    """
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if is_text(arrow_type):
        return texts.cast(arrow_type)
    if not has_text_form(arrow_type):
        return pa.nulls(len(texts), arrow_type)
    widened = bound is not None and pa.types.is_timestamp(arrow_type)
    if not widened or _has_seconds(texts, arrow_type):
        try:
            values = texts.cast(arrow_type)
            return _whole_seconds(values, bound) if widened else values
        except pa.ArrowInvalid:
            pass  # one text is in a foreign form, or in none: each is read on its own below
    encoded = texts.dictionary_encode()
    values = [_scalar(text, arrow_type, bound) for text in encoded.dictionary.to_pylist()]
    return _column_of(values, arrow_type).take(encoded.indices)


def parse_number(text: str) -> Decimal | None:
    """A decimal number exactly as written, None if the text is not one. What is beyond all types counts as none."""
    if len(text) > LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    return number if abs(number.adjusted()) <= LONGEST_NUMBER else None


def fit_decimal(number: Decimal, arrow_type: pa.DataType) -> Decimal | None:
    """The number in the scale of a decimal type, None where digits would be lost."""
    scaled = EXACT.quantize(number, Decimal(1).scaleb(-arrow_type.scale)) if number.is_finite() else Decimal("NaN")
    if scaled != number or len(scaled.as_tuple().digits) > max(arrow_type.precision, 1):
        return None
    return scaled


def whole_range(arrow_type: pa.DataType) -> tuple[int, int]:
    """The smallest and the largest value of an integer type."""
    bits = arrow_type.bit_width
    if pa.types.is_signed_integer(arrow_type):
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return 0, (1 << bits) - 1


def parse_moment(text: str, *, read_offset: bool = True) -> tuple[int, int] | None:
    """A date, or a date and a time: microseconds since 1970 and how many of them the last written digit is worth.

    Without an offset the time is UTC. With `read_offset=False` an offset is skipped and the local fields count.
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    part = match.groupdict()
    fraction = part["fraction"] or ""
    year, month, day, hour, minute, second = (int(part[name] or 0) for name in _FIELDS)
    try:
        moment = dt.datetime(year, month, day, hour, minute, second, int(fraction[:6].ljust(6, "0")))  # noqa: DTZ001
        if read_offset:
            moment -= _offset(part["zone"])
    except (ValueError, OverflowError):
        return None
    if part["hour"] is None:
        unit = _DAY
    elif part["second"] is None:
        unit = 60_000_000
    else:
        unit = 10 ** max(6 - len(fraction), 0)
    return micros(moment), unit


def _checked(value: Any, kind: type) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(type(value).__name__)
    return value


def _float_text(value: float, arrow_type: pa.DataType, *, keep_nan: bool) -> str | None:
    if math.isnan(value):
        return "NaN" if keep_nan else None
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(np.float32(value)) if pa.types.is_float32(arrow_type) else repr(value)


def _decimal_text(value: Decimal, arrow_type: pa.DataType) -> str:
    scaled = fit_decimal(value, arrow_type)
    if scaled is None:
        raise ValueError(value)
    return format(scaled, "f")


def _parse_whole(text: str, arrow_type: pa.DataType) -> int | None:
    number = parse_number(text)
    if number is None or number != number.to_integral_value(context=EXACT):
        return None
    value = int(number)
    low, high = whole_range(arrow_type)
    return value if low <= value <= high else None


def _parse_float(text: str, arrow_type: pa.DataType) -> float | None:
    if not _NUMBER.fullmatch(text) and not _NOT_FINITE.fullmatch(text):
        return None
    if pa.types.is_float32(arrow_type) and not _NOT_FINITE.fullmatch(text):
        # Through a double the text would be rounded twice.
        return float(scalar_of(text.removeprefix("+"), pa.string()).cast(pa.float32()).as_py())
    return float(text)


def _parse_timestamp(text: str, arrow_type: pa.DataType) -> tuple[int, int] | None:
    number = parse_number(text)
    if number is None:
        match = _MOMENT.fullmatch(text)
        if match is not None and arrow_type.tz is None and match["zone"] not in {None, "Z"}:
            return None
        return parse_moment(text)
    since_epoch = math.floor(EXACT.multiply(number, Decimal(1_000_000)))
    if timestamp_text(since_epoch, arrow_type) is None:
        return None
    exponent = number.as_tuple().exponent
    return since_epoch, 10 ** min(max(6 + int(exponent), 0), 6)


def _offset(zone: str | None) -> dt.timedelta:
    if zone is None or zone == "Z":
        return dt.timedelta()
    sign, digits = (-1 if zone[0] == "-" else 1), zone[1:].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "0")
    if int(hours) > 18 or int(minutes) > 59:
        raise ValueError(zone)
    return sign * dt.timedelta(hours=int(hours), minutes=int(minutes))


def _has_seconds(texts: pa.Array, arrow_type: pa.DataType) -> bool:
    """True if every text surely has seconds. False does not mean that a text lacks them."""
    length = scalar_of(len("2024-01-31T12:00:00"), pa.int32())
    if arrow_type.tz is None:
        enough = pc.greater_equal(pc.binary_length(texts), length)  # and without an offset, or Arrow refuses it
    else:
        enough = pc.and_(pc.greater(pc.binary_length(texts), length), pc.ends_with(texts, "Z"))
    return bool(pc.all(enough, skip_nulls=True, min_count=0).as_py())


def _whole_seconds(values: pa.Array, bound: Bound | None) -> pa.Array:
    since_epoch = numpy_of(pc.fill_null(values.cast(pa.int64()), ZERO_SCALAR))
    widened = since_epoch - since_epoch % _SECOND + (0 if bound == "lower" else _SECOND - 1)
    return array_of_numbers(widened, numpy_of(values.is_null())).cast(values.type)


def _scalar(text: str | None, arrow_type: pa.DataType, bound: Bound | None) -> Any:
    if text is None or not pa.types.is_timestamp(arrow_type):
        return from_text(text, arrow_type)
    parsed = _parse_timestamp(text, arrow_type)
    if parsed is None or bound is None:
        return None if parsed is None else parsed[0]
    begin = parsed[0] - parsed[0] % _SECOND
    return begin if bound == "lower" else begin + max(parsed[1], _SECOND) - 1


def _column_of(values: list[Any], arrow_type: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(arrow_type):
        return array_of(values, pa.int64()).cast(arrow_type)
    return array_of(values, arrow_type)
