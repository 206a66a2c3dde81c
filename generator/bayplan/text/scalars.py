"""Plain YAML scalars in Kubernetes (`sigs.k8s.io/yaml` 1.6, goyaml.v2 resolve.go), in bayplan's own formats, and in the
safe loader of PyYAML.

An `InvalidScalar` instead of a value has the reason. Patterns compile at their first use, since most files need none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from bayplan.core.phrases import shorten
from bayplan.text.source import InvalidScalar, limits

MERGE = object()
"""The value of a plain `<<` as a key."""

EXACT = 2.0**53
"""Every smaller integer has an exact float."""

_BOOLS = {**dict.fromkeys(("y", "yes", "true", "on"), True), **dict.fromkeys(("n", "no", "false", "off"), False)}
_WORDS: dict[str, Any] = {
    **{form(word): truth for word, truth in _BOOLS.items() for form in (str.lower, str.title, str.upper)},
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **{sign + form: float(sign + "inf") for sign in ("", "+", "-") for form in (".inf", ".Inf", ".INF")},
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_AGREED = {"true", "True", "TRUE", "false", "False", "FALSE"}
_NUMERIC = frozenset("+-.0123456789")

_CORE_TAG = "tag:yaml.org,2002:"
_COLLECTION_TAGS = frozenset(f"{_CORE_TAG}{name}" for name in ("map", "seq", "set", "omap", "pairs"))
_MOST_DIGITS, _MOST_BITS = 4300, 14_284
"""The largest integer that Python converts to decimal digits."""

_INT = r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))"
_FLOAT = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
_PARTED = r"\.[0-9]+(?:_[0-9]+)*(?:[eE].*)?"  # without digits before the point, _ is allowed only between digits
_HEX = r"0x[0-9a-fA-F]+"
_AMBIGUOUS = (
    r"[-+]?0[0-9_]+|[-+]?0[bB][01_]+|[-+]?0[oO][0-7_]+|[-+]?0[xX][0-9a-fA-F_]+|"  # octal or decimal; other bases
    r"[-+]?(?=[^_]*_)[0-9_.]+(?:[eE][-+]?[0-9]+)?|"  # underscores
    r"[-+]?[0-9]+[eE][-+]?[0-9]+|[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)[eE][0-9]+|"  # no point, or no sign after the e
    r"[-+]\.[0-9]+(?:[eE][-+]?[0-9]+)?|"
    r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?|"  # sixties
    r"\d{4}-\d\d-\d\d|\d{4}-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::?\d\d)?))?"
)


_MOST_KNOWN = 50_000


class Memo(dict[str, Any]):
    """Resolves every distinct scalar once, as long as there are few."""

    def __init__(self, resolve: Callable[[str], Any]) -> None:
        self._resolve = resolve

    def __missing__(self, text: str) -> Any:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        self[text] = value = self._resolve(text)
        return value


class Rules(NamedTuple):
    """How to read plain scalars, and whether the text has one of bayplan's own formats.

    `tagged` reads scalars with a tag as PyYAML does. Then a key may be any scalar, the last duplicate key wins with a
    warning of code `twice`, and the own keys of a mapping win over those of `<<`.
    """

    values: Memo
    keys: Memo
    own: bool
    tagged: Callable[[str, str], Any] | None = None
    twice: str = "R110"


def rules_for(own: bool) -> Rules:
    """The rules for bayplan's own formats, or for others."""
    if own:
        return Rules(Memo(own_value), Memo(own_key), True)
    return Rules(Memo(foreign_value), Memo(foreign_key), False)


def pyyaml_rules(twice: str) -> Rules:
    """The rules of the safe loader of PyYAML. A duplicate key is a warning with this code."""
    return Rules(Memo(pyyaml_value), Memo(pyyaml_key), False, pyyaml_tagged, twice)


def kubectl(text: str) -> Any:
    """The value of a plain scalar in kubectl."""
    if text[:1] in _NUMERIC and text not in _WORDS:
        return _number(text)
    return _WORDS.get(text, text)


def _number(text: str) -> Any:
    """An integer, a float (an integer if it is whole) or, if it is not a number, the string."""
    digits = text.replace("_", "")
    whole = re.fullmatch(_INT, digits) if len(digits) < 80 else None
    if whole:
        value = next(int(found, base) for found, base in zip(whole.groups()[1:], (16, 2, 8, 10), strict=True) if found)
        if value < (2**63 if whole[1] == "+" else 2**63 + 1 if whole[1] else 2**64):
            return -value if whole[1] == "-" else value
    if (text[0] == "." and not re.fullmatch(_PARTED, text)) or not re.fullmatch(_FLOAT, digits):
        return text
    return narrow(float(digits)) if abs(float(digits)) != float("inf") else text


def narrow(value: float) -> int | float:
    """The integer of a whole float, if floats of its size are exact, because JSON has only one type of number."""
    return int(value) if value.is_integer() and abs(value) < EXACT else value


def is_ambiguous(text: str) -> bool:
    """Whether YAML 1.1, YAML 1.2 and kubectl disagree on a plain scalar."""
    if text[:1] in _NUMERIC:
        parted = "_" in text and not isinstance(kubectl(text), str)
        return parted or (bool(re.fullmatch(_AMBIGUOUS, text)) and not re.fullmatch(_HEX, text))
    return text in ("=", "<<") or (text not in _AGREED and isinstance(_WORDS.get(text), bool))


def foreign_value(text: str) -> Any:
    """A value in a file of another tool: what kubectl reads, or an InvalidScalar."""
    value = kubectl(text)
    if isinstance(value, float) and value - value != 0:
        return InvalidScalar(
            "R111", f"JSON cannot represent the number {text}", f'write "{text}" in quotes if it is a string'
        )
    return value


def own_value(text: str) -> Any:
    """A value in bayplan's own formats: what every reader reads, or an InvalidScalar."""
    if text.isdigit() and text.isascii() and len(text) < 19 and (text[0] != "0" or text == "0"):
        return int(text)
    if text[-1:].isalpha() and text.isalnum() and text[1:2] not in ("x", "X") and text[:1] in _NUMERIC:
        return text  # 64Gi: in YAML, only hexadecimal numbers end in a letter
    if is_ambiguous(text):
        return _ambiguous_scalar(text)
    value = foreign_value(text)
    lost = value is text and text[:1] in _NUMERIC and re.fullmatch(f"{_HEX}|{_FLOAT}", text)
    if lost or (isinstance(value, float) and abs(value) >= EXACT):
        return _too_large(text)
    return value


def foreign_key(text: str) -> Any:
    """A key in a file of another tool. kubectl converts integers and booleans to strings."""
    if text == "<<":
        return MERGE
    value = foreign_value(text)
    if isinstance(value, str | InvalidScalar):
        return value
    return _wrong_key(text, value) if value is None or isinstance(value, float) else _as_json(value)


def key_name(text: str) -> Any:
    """A plain key of such a file in the data. An invalid key keeps its text."""
    key = foreign_key(text)
    return text if isinstance(key, InvalidScalar) else key


def own_key(text: str) -> Any:
    """A key in bayplan's own formats."""
    if text == "<<":
        return MERGE
    value = own_value(text)
    return value if isinstance(value, str | InvalidScalar) else _wrong_key(text, value)


def _wrong_key(text: str, value: Any) -> InvalidScalar:
    """R112: a key that is not a string."""
    kind = "null" if value is None else f"a {_kind(value)}"
    return InvalidScalar("R112", f'the unquoted key "{shorten(text)}" is {kind}, not a string', "put it in quotes")


def _ambiguous_scalar(text: str) -> InvalidScalar:
    """R111: a plain scalar that readers disagree on."""
    value = kubectl(text)
    small = isinstance(value, float) and 1e-16 < abs(value) < 1e16
    form = without_exponent(value) if small else "" if isinstance(value, str | float) else _as_json(value)
    meant = f", or {form} for the {_kind(value)}" if form else ""
    message = f'YAML 1.1, YAML 1.2 and kubectl disagree on the unquoted "{shorten(text)}"'
    return InvalidScalar("R111", message, f'write "{shorten(text)}" in quotes for the string{meant}')


def without_exponent(value: float) -> str:
    """A number as all readers of YAML read it: `0.00001` instead of `1e-05`."""
    shown = repr(value)
    if "e" not in shown:
        return shown.removesuffix(".0")
    from decimal import Decimal  # few numbers have an exponent

    return f"{Decimal(shown):f}"


def _kind(value: Any) -> str:
    """The word for its type."""
    return "boolean" if isinstance(value, bool) else "number"


def _as_json(value: Any) -> str:
    """The value in JSON. It imports `json` here, because YAML seldom needs it."""
    import json

    return json.dumps(value)


# The safe loader of PyYAML (YAML 1.1), with its patterns and constructors: `12:30` is 750, `on` is true, `0o17` is a
# string, `2024-01-01` is a date, and a key may be any scalar.


def pyyaml_value(text: str) -> Any:
    """The value of a plain scalar in PyYAML, or an InvalidScalar."""
    tag = _pyyaml_tag(text)
    return text if tag == f"{_CORE_TAG}str" else pyyaml_tagged(tag, text)


def pyyaml_key(text: str) -> Any:
    """A plain scalar as a key. `<<` and `=` have another meaning there."""
    tag = _pyyaml_tag(text)
    if tag == f"{_CORE_TAG}merge":
        return MERGE
    return text if tag in (f"{_CORE_TAG}str", f"{_CORE_TAG}value") else pyyaml_tagged(tag, text)


def pyyaml_key_name(text: str) -> Any:
    """The key as a string of Python: `on` is `True`."""
    key = pyyaml_key(text)
    return text if isinstance(key, InvalidScalar) else key if key is MERGE else str(key)


def pyyaml_tagged(tag: str, text: str) -> Any:
    """A scalar with this tag, or an InvalidScalar."""
    from yaml import YAMLError
    from yaml.constructor import SafeConstructor
    from yaml.nodes import ScalarNode

    name = tag.removeprefix(_CORE_TAG)
    construct = None if tag in _COLLECTION_TAGS else SafeConstructor.yaml_constructors.get(tag)
    if construct is None:
        shown = tag.replace(_CORE_TAG, "!!")
        return InvalidScalar("R111", f'bayplan does not support the tag "{shorten(shown)}"', "remove the tag")
    if name == "int" and len(text) > _MOST_DIGITS and ":" in text:  # sixties of that length take minutes
        return _too_large(text)
    try:
        value = construct(SafeConstructor(), ScalarNode(tag, text))
        return _too_large(text) if type(value) is int and value.bit_length() > _MOST_BITS else value
    except (ValueError, KeyError, AttributeError, OverflowError, YAMLError):
        what = {"timestamp": "a date", "int": "a number", "float": "a number"}.get(name, f"of type {name}")
        hint = "put it in quotes if it is a string"
        return InvalidScalar("R111", f'PyYAML reads "{shorten(text)}" as {what}, but it is invalid', hint)


def _too_large(text: str) -> InvalidScalar:
    return InvalidScalar("R111", f"the number {shorten(text)} is too large", "put it in quotes if it is a string")


def _pyyaml_tag(text: str) -> str:
    """The tag of a plain scalar, by the patterns of PyYAML."""
    from yaml import SafeLoader

    resolvers: Any = SafeLoader.yaml_implicit_resolvers
    for tag, pattern in (*resolvers.get(text[:1], ()), *resolvers.get(None, ())):
        if pattern.match(text):
            found: str = tag
            return found
    return f"{_CORE_TAG}str"


# JSON text, read by the standard library. `yaml.json_events` finds errors and places.
#
# Functions import `json` themselves: most files are YAML, and an import at the top would slow every start.

_ESCAPED_SURROGATE = r"\\u[dD][89a-fA-F]"


class InvalidDataError(Exception):
    """Well-formed JSON with an error to report."""


def looks_like_json(text: str) -> bool:
    """Whether the text looks like JSON. YAML in flow style does too."""
    return text[:4096].lstrip()[:1] in ("{", "[")


def load_json(text: str) -> Any:
    """The data. InvalidDataError: see `yaml.json_events`. json.JSONDecodeError: it is not JSON."""
    import json

    try:
        data = json.loads(
            text, object_pairs_hook=_unique_mapping, parse_constant=_refuse, parse_float=_decimal, parse_int=_integer
        )
    except json.JSONDecodeError:
        raise
    except (InvalidDataError, ValueError, RecursionError) as problem:
        check_form(text)
        raise InvalidDataError from problem
    if nests_deeper(data, limits().depth) or ("\\u" in text and re.search(_ESCAPED_SURROGATE, text)):
        raise InvalidDataError
    return data


_TOKEN = r'[ \t\r\n,:\]}]*([\[{]|"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*|true|false|null|NaN|-?Infinity)'


def json_value(text: str, number: int) -> int:
    """The place of a key or value of JSON by its number. -1: there are fewer, or something else is before it."""
    found = iter(re.compile(_TOKEN, re.DOTALL).scanner(text).match, None)  # type: ignore[attr-defined]
    match = next(islice(found, number - 1, None), None)
    return match.start(1) if match else -1


def check_form(text: str) -> None:
    """json.JSONDecodeError if the text is not well-formed JSON, so that it has no useful events. It keeps no data."""
    import json

    with suppress(RecursionError):
        json.loads(text, object_pairs_hook=len, parse_constant=str, parse_float=str, parse_int=str)


def _unique_mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise InvalidDataError
    return mapping


def _refuse(text: str) -> Any:
    raise InvalidDataError(text)


def _integer(text: str) -> int:
    return int(text) if len(text) < 19 else _refuse(text)


def _decimal(text: str) -> int | float:
    value = float(text)
    return narrow(value) if value - value == 0 else _refuse(text)


def nests_deeper(data: Any, most: int) -> bool:
    """Whether there are more nested collections than `most`. It does not use recursion."""
    level = [data] if isinstance(data, dict | list) else []
    for _ in range(most):
        inner = (item.values() if type(item) is dict else item for item in level)
        level = [each for items in inner for each in items if type(each) is dict or type(each) is list]
        if not level:
            return False
    return bool(level)
