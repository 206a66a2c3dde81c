"""The small components (TorchX 0.7 and 0.8, components/utils.py)."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from bayplan.workflows.torchx.components import named
from bayplan.workflows.torchx.components.arguments import Wrong
from bayplan.workflows.torchx.components.dist import resource
from bayplan.workflows.torchx.components.mounts import parsed

SMALL = named.made(1, 0, 1024)


def echo(given: Mapping[str, Any]) -> dict[str, Any] | Wrong:
    """One role that prints a message."""
    return _app("echo", given, SMALL, entrypoint="echo", args=[given["msg"]], num_replicas=given["num_replicas"])


def touch(given: Mapping[str, Any]) -> dict[str, Any] | Wrong:
    """One role that makes a file."""
    return _app("touch", given, SMALL, entrypoint="touch", args=[given["file"]])


def sh(given: Mapping[str, Any]) -> dict[str, Any] | Wrong:
    """One role that gives its arguments to a shell."""
    quoted = [shlex.quote(word) for word in given["args"]]
    plain = given["entrypoint"] is not None
    return _app(
        "sh",
        given,
        resource(given),
        entrypoint=given["entrypoint"] if plain else "sh",
        args=quoted if plain else ["-c", " ".join(quoted)],
        num_replicas=given["num_replicas"],
        env={"LOGLEVEL": "WARNING", **given["env"]},
        max_retries=given["max_retries"],
    )


def python(given: Mapping[str, Any]) -> dict[str, Any] | Wrong:
    """One role that runs a module, a command or a script."""
    kinds = {"script": [], "m": ["-m"], "c": ["-c"]}
    asked = [kind for kind in kinds if given[kind] is not None]
    if len(asked) != 1:
        return Wrong("m", "or `c` or `script` must be given, one of the three")
    args = [*kinds[asked[0]], given[asked[0]], *given["args"]]
    env = {"HYDRA_MAIN_MODULE": given["m"]} if given["m"] else {}
    count = given["num_replicas"]
    made = _app("python", given, resource(given), entrypoint="python", args=args, num_replicas=count, env=env)
    return made if isinstance(made, Wrong) else {**made, "name": given["name"]}


def _app(name: str, given: Mapping[str, Any], size: dict[str, Any] | Wrong, **role: Any) -> dict[str, Any] | Wrong:
    """An application of one role, both of that name."""
    mounts = parsed(given.get("mounts") or [])
    if isinstance(size, Wrong) or isinstance(mounts, str):
        return size if isinstance(size, Wrong) else Wrong("mounts", str(mounts))
    whole = {"name": name, "image": given["image"], **role, "resource": size, "mounts": mounts}
    return {"name": name, "roles": [whole], "metadata": {}}
