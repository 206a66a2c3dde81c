"""Names of fabric managers and of Topograph as Kubernetes takes them: node names, label values, names of files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bayplan.core.diagnostics import Diagnostic, Route, info
from bayplan.core.values import NamedTuple

LONGEST_VALUE = 63
LONGEST_NAME = 253
_NODE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_BASIS, _PRIME = 0xCBF29CE484222325, 0x100000001B3


def node_name(text: str) -> str:
    """The Kubernetes node of a host: its name in lower case. Empty where that is no node's name."""
    lower = text.lower()
    return lower if len(lower) <= LONGEST_NAME and _NODE.fullmatch(lower) else ""


def value(text: str) -> str:
    """A text as label value. What is too long gets the hash that Topograph writes in its place."""
    if len(text) > LONGEST_VALUE:
        return f"x{fnv64a(text):x}"
    if _VALUE.fullmatch(text):
        return text
    return re.sub(r"[^A-Za-z0-9_.-]", "-", text).strip("-_.") or f"x{fnv64a(text):x}"


def fnv64a(text: str) -> int:
    """The hash of Topograph's long label values (Topograph 1.0, pkg/engines/k8s/labeler.go)."""
    found = _BASIS
    for byte in text.encode("utf-8", "surrogatepass"):
        found = (found ^ byte) * _PRIME & 0xFFFFFFFFFFFFFFFF
    return found


def word(text: str) -> str:
    """A text as DNS label; empty where nothing is left of it."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:63].strip("-")


def stem(path: str) -> str:
    """A file's name without folder and ending, as the name of a topology."""
    return word(re.sub(r"\.[A-Za-z]+$", "", path.replace("\\", "/").rpartition("/")[2])) or "fabric"


class Renamed(NamedTuple):
    """Names that could not be kept: (as it stands in the source, as it is written)."""

    what: str
    pairs: list[tuple[str, str]]

    def note(self, old: str, new: str) -> str:
        """The new name, noted where it is another one."""
        if old != new:
            self.pairs.append((old, new))
        return new

    def told(self, route: Route) -> Iterator[Diagnostic]:
        """T536, once for all of them."""
        pairs = list(dict.fromkeys(self.pairs))
        if pairs:
            message = f"{count(len(pairs), self.what)} changed to what Kubernetes takes: "
            shown = some([f"{old} is {new}" for old, new in pairs])
            hint = "other sources may go on calling them as this one does" if self.what == "node name" else ""
            yield info("T536", route, message + shown, hint=hint)


def count(number: int, what: str) -> str:
    """`1 node name is`, `2 node names are`."""
    if number == 1:
        return f"1 {what} is"
    plural = f"{what}es" if what.endswith(("ch", "sh", "s")) else f"{what}s"
    return f"{number} {plural} are"


def some(names: Sequence[str], most: int = 4) -> str:
    """The first few of many names."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
