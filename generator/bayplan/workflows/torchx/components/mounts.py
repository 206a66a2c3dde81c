"""The mounts of a component, as words (TorchX 0.7, specs/builders.py `parse_mounts`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

WORDS = {
    "type": "type",
    "destination": "dst",
    "dst": "dst",
    "target": "dst",
    "read_only": "readonly",
    "readonly": "readonly",
    "source": "src",
    "src": "src",
    "perm": "perm",
}


def parsed(words: Sequence[str]) -> list[dict[str, Any]] | str:
    """The mounts as a role holds them, or what is wrong with them."""
    found: list[dict[str, str]] = []
    for word in words:
        key, _, value = word.partition("=")
        if key not in WORDS:
            return f'has "{key}", which is no word of a mount'
        if WORDS[key] == "type":
            found.append({})
        elif not found:
            return "must start with type=bind, type=volume or type=device"
        found[-1][WORDS[key]] = value
    made = [_mount(each) for each in found]
    return next((each for each in made if isinstance(each, str)), None) or [
        each for each in made if not isinstance(each, str)
    ]


def _mount(given: dict[str, str]) -> dict[str, Any] | str:
    kind, source, to = given["type"], given.get("src"), given.get("dst")
    if kind not in ("bind", "volume", "device"):
        return f'has a mount of type "{kind}"; there is bind, volume and device'
    if not source or not (to or kind == "device"):
        return f"has a {kind} mount without {'dst' if source else 'src'}"
    if kind == "device":
        return {"src_path": source, "dst_path": to or source, "permissions": given.get("perm", "rwm")}
    what = "src" if kind == "volume" else "src_path"
    return {what: source, "dst_path": to, "read_only": "readonly" in given}
