"""Arguments of a component: by name as JSON has them, or as words of a command line."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.values import NamedTuple

TEXT, WHOLE, FLAG, PAIRS, LIST, REST = (
    "a text",
    "a whole number",
    "true or false",
    "NAME=VALUE pairs",
    "a list",
    "a list of words",
)
EXAMPLES: Mapping[str, str] = {
    TEXT: 'such as "train.py"',
    WHOLE: "such as 8",
    FLAG: "such as true",
    PAIRS: 'such as {"LOGLEVEL": "INFO"}, or LOGLEVEL=INFO',
    LIST: 'such as ["type=volume", "src=datasets", "dst=/data"]',
    REST: 'such as ["--epochs", "3"]',
}
"""How a value of a kind looks."""

REQUIRED = object()
"""The default of an argument that has none."""

Parameters = Mapping[str, tuple[str, Any]]
"""Name -> kind and default. The one of kind REST takes what has no name."""


class Wrong(NamedTuple):
    """What is wrong with an argument: its name (empty: with all of them), why, and what to do (empty: choose another
    argument)."""

    name: str
    message: str
    hint: str = ""


def given(words: Sequence[str], parameters: Parameters) -> tuple[dict[str, Any], list[Wrong]]:
    """Words of a command line by name; what follows `--` or the first word without a name is the rest."""
    rest = next((name for name, (kind, _) in parameters.items() if kind == REST), "")
    found: dict[str, Any] = {}
    left = list(words)
    while left and left[0].startswith("-") and left[0] != "--":
        name, equals, value = left.pop(0).lstrip("-").partition("=")
        if not equals and not left:
            return found, [Wrong(name, "has no value")]
        found[name] = value if equals else left.pop(0)
    if left and left[0] == "--":
        left.pop(0)
    if left and not rest:
        return found, [Wrong("", f'takes no argument without a name, and "{left[0]}" is one')]
    return ({**found, rest: left} if left else found), []


def bound(values: Mapping[str, Any], parameters: Parameters) -> tuple[dict[str, Any], list[Wrong]]:
    """Every parameter with its value or its default, and what is wrong with them."""
    wrong = [Wrong(name, "is no argument of the component") for name in values if name not in parameters]
    made: dict[str, Any] = {}
    for name, (kind, default) in parameters.items():
        if values.get(name) is None:
            made[name] = default
            wrong += [Wrong(name, "is missing")] if default is REQUIRED else []
        else:
            made[name] = _as(kind, values[name])
            wrong += [Wrong(name, f"must be {kind}", EXAMPLES[kind])] if made[name] is None else []
    return made, wrong


def _as(kind: str, value: Any) -> Any:
    """A value as its kind, also where it is written as a text; None where it is none."""
    if kind == TEXT:
        return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    if kind == WHOLE:
        return _whole(value)
    if kind == FLAG:
        return value if isinstance(value, bool) else {"true": True, "false": False}.get(str(value).lower())
    if kind == PAIRS:
        return _pairs(value)
    items = value.split(",") if isinstance(value, str) and kind == LIST else value
    return [str(each) for each in items] if isinstance(items, list) else None


def _whole(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    plain = value.removeprefix("-") if isinstance(value, str) else ""
    return int(value) if plain.isdecimal() and plain.isascii() and len(plain) < 10 else None


def _pairs(value: Any) -> dict[str, str] | None:
    """Pairs; a comma in a value belongs to it where no name follows."""
    if isinstance(value, Mapping):
        plain = all(isinstance(each, str | int | float) for each in value.values())
        return {str(name): str(each) for name, each in value.items()} if plain else None
    return dict(_split(value)) if isinstance(value, str) and "=" in value.split(",")[0] else None


def _split(text: str) -> Iterator[tuple[str, str]]:
    pieces: list[str] = []
    for piece in text.split(","):
        if "=" in piece or not pieces:
            pieces.append(piece)
        else:
            pieces[-1] += f",{piece}"
    for piece in pieces:
        name, _, value = piece.partition("=")
        yield name, value


# The mounts of a component, as words (TorchX 0.7, specs/builders.py `parse_mounts`).

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


def parse_mounts(words: Sequence[str]) -> list[dict[str, Any]] | str:
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


INSTANCE = "node.kubernetes.io/instance-type"
EFA = "vpc.amazonaws.com/efa"
NEURON = "aws.amazon.com/neurondevice"


def _named_resources() -> dict[str, dict[str, Any]]:
    """TorchX' named resources by name (0.7, specs/named_resources_aws.py and named_resources_generic.py).

    They stand in `resources.csv` beside this file. Memory of AWS' is 96 % of the machine's, as TorchX counts it.
    """
    named: dict[str, dict[str, Any]] = {}
    with open(os.path.join(os.path.dirname(__file__), "resources.csv"), encoding="utf-8", newline="") as file:
        for name, instance_type, *amounts in list(csv.reader(file))[1:]:
            cpu, gpu, memory, efa, neuron = map(int, amounts)
            devices = {device: count for device, count in ((EFA, efa), (NEURON, neuron)) if count}
            capabilities = {INSTANCE: instance_type} if instance_type else {}
            named[name] = {**made_resource(cpu, gpu, memory), "capabilities": capabilities, "devices": devices}
    return named


def made_resource(cpu: int | float, gpu: int, memory: int) -> dict[str, Any]:
    """A resource that was asked for in numbers."""
    return {"cpu": cpu, "gpu": gpu, "memMB": memory, "capabilities": {}, "devices": {}}


NAMED_RESOURCES = _named_resources()
