"""Variables as JSON, as `bayplan.sandbox.plain` unpacks them. A date is told by what it can do, without a clock."""

from __future__ import annotations

from typing import Any


def pack(value: Any) -> Any:
    """The value in JSON's own types; a mapping is `{"map": [[key, value], ...]}`."""
    if isinstance(value, dict):
        return {"map": [[pack(key), pack(item)] for key, item in value.items()]}
    if isinstance(value, list):
        return [pack(item) for item in value]
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if hasattr(value, "isoformat"):
        return {type(value).__name__: value.isoformat()}
    return value
