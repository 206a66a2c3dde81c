"""The annotation by which Multus attaches networks to a pod (multus-cni 4.3, pkg/k8sclient): a comma-separated list, or
JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bayplan.values import NamedTuple


class Network(NamedTuple):
    """One attachment: namespace (empty: the pod's), name, and what else is said of it."""

    namespace: str
    name: str
    interface: str = ""  # how the pod is to call it; empty: by its place
    more: tuple[str, ...] = ()

    def means(self, reference: str, namespace: str) -> bool:
        """Whether a rail's network is this one; pods are in that namespace."""
        of, _, name = reference.rpartition("/")
        return name == self.name and (of or namespace) == (self.namespace or namespace or of)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def parse(text: Any) -> tuple[Network, ...] | None:
    """The attachments in order; None where the text is nothing that Multus reads."""
    if not isinstance(text, str):
        return None
    if not any(sign in text for sign in '[{"'):
        return tuple(_short(each.strip()) for each in text.split(",") if each.strip())
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    entries = data if isinstance(data, list) else [data]
    if not all(isinstance(each, Mapping) and isinstance(each.get("name"), str) for each in entries):
        return None
    return tuple(
        Network(
            str(each.get("namespace") or ""),
            each["name"],
            str(each.get("interface") or ""),
            tuple(key for key in each if key not in ("name", "namespace", "interface")),
        )
        for each in entries
    )


def _short(text: str) -> Network:
    """`[namespace/]name[@interface]`"""
    name, _, interface = text.partition("@")
    namespace, _, own = name.rpartition("/")
    return Network(namespace, own, interface)
