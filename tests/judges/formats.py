"""The formats that Kubernetes' schemas use, and how a schema error reads."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from jsonschema import FormatChecker
from jsonschema.exceptions import ValidationError, best_match

CHECKER = FormatChecker(formats=())
TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)\Z")
DURATION = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))*\Z|0\Z")


def is_int(value: Any, bits: int) -> bool:
    """Whether an integer fits in so many bits; other types are none of a format's business."""
    if isinstance(value, bool) or not isinstance(value, int):
        return not isinstance(value, float)
    return -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)


@CHECKER.checks("int32")
def int32(value: Any) -> bool:
    """A signed integer of 32 bits."""
    return is_int(value, 32)


@CHECKER.checks("int64")
def int64(value: Any) -> bool:
    """A signed integer of 64 bits."""
    return is_int(value, 64)


@CHECKER.checks("date-time")
def date_time(value: Any) -> bool:
    """RFC 3339, as Go's time.RFC3339."""
    return not isinstance(value, str) or TIME.match(value) is not None


@CHECKER.checks("duration")
def duration(value: Any) -> bool:
    """Go's time.ParseDuration."""
    return not isinstance(value, str) or DURATION.match(value) is not None


@CHECKER.checks("byte", raises=binascii.Error)
def byte(value: Any) -> bool:
    """Base 64."""
    return not isinstance(value, str) or base64.b64decode(value, validate=True) is not None


def path_of(parts: Any) -> str:
    """`spec.levels[0].nodeLabel`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).lstrip(".") or "(root)"


def describe(error: ValidationError) -> str:
    """`path: message` of the deepest cause."""
    cause = best_match([error]) or error
    message = cause.message if len(cause.message) < 300 else f"{cause.message[:140]} ... {cause.message[-140:]}"
    return f"{path_of(cause.absolute_path)}: {message}"
