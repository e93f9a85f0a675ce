"""Doubles and strings as the Java side of this format prints them, byte for byte.

Strings: Jackson writes everything raw but quotes, backslashes and control characters, and those with upper-case digits. A Java
string is made of UTF-16 units, so that two escapes of half a character each are one character.

Doubles: Python prints the shortest text that reads back as the same number. So does Java from release 19 on; before that it
often printed a digit or two more (`2e23` is `1.9999999999999998E23` there). The logs whose schema hashes must be reproduced
were written by Spark 3.5, which runs on Java 8 to 17, so the older method is followed, with its three widths of arithmetic
and their overflows.
"""

from __future__ import annotations

import math
import re
import struct


def java_quote(string: str) -> str:
    """A JSON string as Jackson writes it."""
    return '"' + _ESCAPED.sub(_escape, string) + '"'


def _escape(match: re.Match[str]) -> str:
    return _SHORT_ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04X}"


def join_surrogates(string: str) -> str:
    """The string with each pair of surrogates as the one character that it means. Lone ones stay."""
    if _SURROGATE.search(string) is None:
        return string
    return string.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")


def java_double(value: float) -> str:
    """The text that Java gives a double: `1.0`, `1.0E10`, `1.0E-5`, `Infinity`."""
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if math.isinf(value):
        return sign + "Infinity"
    if value == 0:
        return sign + "0.0"
    digits, point = _digits(abs(value))
    if 0 < point < 8:
        return f"{sign}{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"
    if -3 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{point - 1}"


def _digits(value: float) -> tuple[str, int]:
    """The decimal digits, without zeros at the end, and where the point stands among them."""
    bits = struct.unpack(">q", struct.pack(">d", value))[0]
    exponent, fraction = bits >> _FRACTION_BITS, bits & _FRACTION_MASK
    if exponent:
        fraction |= 1 << _FRACTION_BITS
        significant = _FRACTION_BITS + 1
    else:
        significant = fraction.bit_length()
        shift = _FRACTION_BITS + 1 - significant
        fraction <<= shift
        exponent = 1 - shift
    exponent -= 1023
    zeros = (fraction & -fraction).bit_length() - 1
    if 0 <= exponent <= 62 and _FRACTION_BITS - zeros <= exponent:
        return _whole_digits(int(value), exponent - significant - 1)
    return _fraction_digits(fraction, exponent, significant, zeros)


def _whole_digits(whole: int, surplus_bits: int) -> tuple[str, int]:
    """Integers below 2**63: exact, except for the digits that lie wholly in the bits a double does not hold."""
    dropped = int(surplus_bits * math.log10(2)) if surplus_bits > 1 else 0
    whole, rest = divmod(whole, 10**dropped)
    if dropped and rest >= 10**dropped // 2:
        whole += 1
    text = str(whole)
    return text.rstrip("0"), len(text) + dropped


def _fraction_digits(fraction: int, exponent: int, significant: int, zeros: int) -> tuple[str, int]:
    """All other numbers: value = b / s, digits are produced until the rest is within half a unit m of the last bit."""
    odd_bits = _FRACTION_BITS + 1 - zeros
    tiny_bits = max(0, odd_bits - exponent - 1)
    power = _estimate(fraction, exponent)
    b5, s5 = max(0, -power), max(0, power)
    b2, s2 = b5 + tiny_bits + exponent, s5 + tiny_bits
    m2 = b2 - significant
    b2 -= odd_bits - 1
    common = min(b2, s2)
    b2, s2, m2 = b2 - common, s2 - common, m2 - common
    if odd_bits == 1:
        m2 -= 1
    if m2 < 0:
        b2, s2, m2 = b2 - m2, s2 - m2, 0
    width = _width(odd_bits + b2 + _bits_of_5(b5), s2 + 1 + _bits_of_5(s5 + 1))
    b = (fraction >> zeros) * 5**b5 << b2
    return _develop(b, 5**s5 << s2, 5**b5 << m2, power, width)


def _develop(b: int, s: int, m: int, power: int, width: int) -> tuple[str, int]:
    tens = 10 * s
    digit, b, m, low, high = _next_digit(b, s, m, tens, width)
    digits = []
    if digit or high:
        digits.append(digit)
    else:
        power -= 1
    if not -3 <= power < 8:
        low = high = False
    while not (low or high):
        digit, b, m, low, high = _next_digit(b, s, m, tens, width)
        if m <= 0:
            low = high = True
        digits.append(digit)
    if high and (not low or _round_up(_wrap(2 * b - tens, width), digits[-1])):
        text = str(int("".join(map(str, digits))) + 1)
        return text[: len(digits)], power + 1 + len(text) - len(digits)
    return "".join(map(str, digits)), power + 1


def _next_digit(b: int, s: int, m: int, tens: int, width: int) -> tuple[int, int, int, bool, bool]:
    digit, b = divmod(b, s)
    b *= 10
    m = _wrap(10 * m, width)
    reach = _wrap(b + m, width)
    return digit, b, m, b < m, reach > tens or (reach == tens and not width)


def _round_up(difference: int, last_digit: int) -> bool:
    return difference > 0 or (difference == 0 and last_digit % 2 == 1)


def _wrap(number: int, width: int) -> int:
    """What is left of a number in a Java int or long; width 0 is a BigInteger."""
    if not width:
        return number
    half = 1 << (width - 1)
    return (number + half) % (2 * half) - half


def _width(b_bits: int, tens_bits: int) -> int:
    widest = max(b_bits, tens_bits)
    return 32 if widest < 32 else 64 if widest < 64 else 0


def _bits_of_5(power: int) -> int:
    """The bits of 5**power where Java has a table for it, its estimate elsewhere."""
    return (5**power).bit_length() if 0 < power < 27 else 3 * power


def _estimate(fraction: int, exponent: int) -> int:
    """The decimal exponent, at most one too high."""
    mantissa = fraction / (1 << _FRACTION_BITS)
    return math.floor((mantissa - 1.5) * 0.289529654 + 0.176091259 + exponent * 0.301029995663981)


_FRACTION_BITS = 52
"""Bits of the fraction of a double, as IEEE 754 has it."""
_FRACTION_MASK = (1 << _FRACTION_BITS) - 1
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_SURROGATE = re.compile("[\ud800-\udfff]")
