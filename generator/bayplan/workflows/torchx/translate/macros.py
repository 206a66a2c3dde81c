"""TorchX' macros, put in as its Kubernetes scheduler puts them in (TorchX 0.7 and 0.8, specs/api.py `macros`).

Arguments and variables are templates of Python's `string.Template`: `$$` is a dollar sign, and names without a value
stay as they are. Every replica has one text here, so what differs between replicas becomes a reference that Kubernetes
resolves in each pod.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from bayplan.values import NamedTuple

RANK0 = "TORCHX_RANK0_HOST"
"""The variable that holds the host of replica 0 of the first role, in all pods."""

NUMBER = "NODE_RANK"
"""The variable that holds a pod's number in its role."""

MACRO = re.compile(r"\$(?:(\$)|([_a-z][_a-z0-9]*)|\{([_a-z][_a-z0-9]*)\})", re.IGNORECASE | re.ASCII)


class Role(NamedTuple):
    """A role's texts with the macros in, and which of them it uses."""

    args: list[str]
    env: dict[str, str]
    used: frozenset[str]


def applied(role: Mapping[str, Any], app: str) -> Role:
    """A role's texts; `app` is the application's id."""
    used: set[str] = set()
    put = _putter(app, used)
    args = [put(each) for each in role.get("args") or ()]
    env = {name: put(value) for name, value in (role.get("env") or {}).items()}
    return Role(args, env, frozenset(used))


def _putter(app: str, used: set[str]) -> Callable[[str], str]:
    values = {
        "img_root": "",
        "base_img_root": "",
        "app_id": app,
        "replica_id": f"$({NUMBER})",
        "rank0_env": RANK0,
    }

    def value(found: re.Match[str]) -> str:
        if found[1]:
            return "$"
        name = found[2] or found[3]
        if name not in values:
            return found[0]
        used.add(name)
        return values[name]

    return lambda text: MACRO.sub(value, text)
