"""The annotation by which pods ask Multus for networks, read as Multus 4.3 reads it (pkg/k8sclient/k8sclient.go).

A text with a bracket, a brace or a quote in it is a JSON list; any other is a list of `[NAMESPACE/]NAME[@INTERFACE]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.kube.safe import text as text_of
from bayplan.values import NamedTuple

NETWORKS = "k8s.v1.cni.cncf.io/networks"
RESOURCE = "k8s.v1.cni.cncf.io/resourceName"
"""On a NetworkAttachmentDefinition: the extended resource whose device the network moves into the pod."""

KEYS = (
    *("name", "namespace", "ips", "mac", "infiniband-guid", "interface", "portMappings", "bandwidth", "cni-args"),
    *("default-route", "ipam-claim-reference"),
)
"""Keys of a JSON entry; others are ignored without a word."""

NAMED = ("name", "namespace", "interface")
"""Those that the short form has, too."""

LONGEST = 15
"""Characters of an interface's name (Linux, IFNAMSIZ less the end)."""

LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
NAME = r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?"


class Selection(NamedTuple):
    """One network that a pod asks for."""

    name: str
    namespace: str = ""  # empty: the pod's
    interface: str = ""
    data: Mapping[str, Any] = {}  # the entry, where it is JSON

    @property
    def title(self) -> str:
        """`fabric/rail-0`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Annotation(NamedTuple):
    """The networks, and why Multus refuses them: then no pod with it starts."""

    selections: tuple[Selection, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def fault(self) -> str:
        """The first fault, which is what Multus tells."""
        return self.faults[0] if self.faults else ""

    def interfaces(self) -> tuple[str, ...]:
        """How each is called in the pod: `net1`, `net2`, ... by place, where the entry says nothing."""
        return tuple(each.interface or f"net{place}" for place, each in enumerate(self.selections, 1))


def read(text: str) -> Annotation:
    """The annotation's text."""
    if any(mark in text for mark in '[{"'):
        return _json(text)
    found = [_short(each.strip()) for each in text.split(",")] if text.strip() else []
    return _annotation(found)


def _annotation(found: Sequence[Selection | str]) -> Annotation:
    sound = tuple(each for each in found if not isinstance(each, str))
    return Annotation(sound, tuple(dict.fromkeys(each for each in found if isinstance(each, str))))


def _short(text: str) -> Selection | str:
    """`fabric/rail-0@net1`."""
    front, at, interface = text.partition("@")
    parts = front.split("/")
    if len(parts) > 2 or "@" in interface or (at and not interface):
        return f'"{text}" is no [NAMESPACE/]NAME[@INTERFACE]'
    name, space = parts[-1], parts[0] if len(parts) == 2 else ""
    return _sound(Selection(name, space, interface), len(parts) == 2)


def _sound(one: Selection, placed: bool) -> Selection | str:
    if not re.fullmatch(NAME, one.name):
        return f'"{one.name}" is no name of a network: lower-case letters, digits and dashes'
    if placed and not re.fullmatch(LABEL, one.namespace):
        return f'"{one.namespace}" is no namespace'
    return one


def _json(text: str) -> Annotation:
    import json

    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as reason:
        return Annotation(faults=(f"it looks like JSON and is none: {reason}",))
    if not isinstance(data, list):
        return Annotation(faults=("JSON must be a list here, of one mapping for each network",))
    found = [_entry(each) for each in data]
    return _annotation(found)


def _entry(data: Any) -> Selection | str:
    if not isinstance(data, dict):
        return "an entry of the list is no mapping"
    wrong = [key for key in ("name", "namespace", "interface") if not isinstance(data.get(key, ""), str)]
    if wrong or not data.get("name"):
        return f"`{wrong[0] if wrong else 'name'}` of an entry must be a text"
    space = text_of(data, "namespace")
    return _sound(Selection(data["name"], space, text_of(data, "interface"), data), bool(space))


def same(one: Any, other: Any) -> bool:
    """Whether two texts attach the same networks under the same names, in whatever form."""
    if not isinstance(one, str) or not isinstance(other, str) or one == other:
        return bool(one == other)
    left, right = read(one), read(other)
    return not (left.fault or right.fault) and _plain(left) == _plain(right)


def _plain(read: Annotation) -> list[Any]:
    """Each network with its interface and what else its entry says."""
    said = ({key: value for key, value in each.data.items() if key not in NAMED} for each in read.selections)
    titles = (each.title for each in read.selections)
    return list(zip(titles, read.interfaces(), said, strict=True))


def unknown_keys(selections: Sequence[Selection]) -> Iterator[str]:
    """Keys that Multus does not know."""
    yield from dict.fromkeys(key for each in selections for key in each.data if key not in KEYS)


def bad_interface(name: str) -> str:
    """Why no interface can be called so beside the pod's own; empty where it can."""
    if len(name) > LONGEST:
        return f"has {len(name)} characters, and Linux takes {LONGEST}"
    if "/" in name or any(each.isspace() for each in name) or not name.isprintable() or name in (".", ".."):
        return "has a slash or a blank, or is no name"
    return "is that of the pod's own interface" if name in ("eth0", "lo") else ""
