"""Values of YAML -> JSON and back: keys that are no texts, dates and bytes included."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any


def pack(value: Any) -> Any:
    """The value in JSON's own types; a mapping is `{"map": [[key, value], ...]}`."""
    if isinstance(value, dict):
        return {"map": [[pack(key), pack(item)] for key, item in value.items()]}
    if isinstance(value, list):
        return [pack(item) for item in value]
    if isinstance(value, datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    return {"bytes": value.hex()} if isinstance(value, bytes) else value


def unpack(packed: Any) -> Any:
    """The value again."""
    if isinstance(packed, list):
        return [unpack(item) for item in packed]
    if not isinstance(packed, dict):
        return packed
    ((kind, inner),) = packed.items()
    if kind == "map":
        return {unpack(key): unpack(item) for key, item in inner}
    makers: dict[str, Any] = {"datetime": datetime.fromisoformat, "date": date.fromisoformat, "bytes": bytes.fromhex}
    return makers[kind](inner)
