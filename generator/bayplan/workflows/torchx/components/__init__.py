"""The components that come with TorchX (0.7 and 0.8, components/dist.py and utils.py), from their arguments to AppDefs.

A component is a Python function, and bayplan runs none: those of users are unknown here, and are imported as the AppDef
that they return. TorchX' default image is that of the TorchX which runs, so here an image has to be given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bayplan.values import NamedTuple
from bayplan.workflows.torchx.components import dist, utils
from bayplan.workflows.torchx.components.arguments import (
    FLAG,
    LIST,
    PAIRS,
    REQUIRED,
    REST,
    TEXT,
    WHOLE,
    Parameters,
    Wrong,
)

Build = Callable[[Mapping[str, Any]], "dict[str, Any] | Wrong"]


class Component(NamedTuple):
    """What a component takes, and how it makes an AppDef of that."""

    parameters: Parameters
    build: Build


SIZE: Parameters = {"cpu": (WHOLE, 1), "gpu": (WHOLE, 0), "memMB": (WHOLE, 1024), "h": (TEXT, None)}
IMAGE: Parameters = {"image": (TEXT, REQUIRED)}
MAIN: Parameters = {"script": (TEXT, None), "m": (TEXT, None)}
MOUNTS: Parameters = {"mounts": (LIST, [])}
RUN: Parameters = {"env": (PAIRS, {}), "metadata": (PAIRS, {}), "max_retries": (WHOLE, 0), "debug": (FLAG, False)}
REPLICAS: Parameters = {"num_replicas": (WHOLE, 1)}
ARGS: Parameters = {"args": (REST, [])}
RENDEZVOUS: Parameters = {
    "rdzv_port": (WHOLE, 29500),
    "rdzv_backend": (TEXT, "c10d"),
    "rdzv_conf": (TEXT, None),
    "tee": (WHOLE, 3),
}

COMPONENTS: Mapping[str, Component] = {
    "dist.ddp": Component(
        {
            "script_args": (REST, []),
            **MAIN,
            **IMAGE,
            "name": (TEXT, "/"),
            **SIZE,
            "cpu": (WHOLE, 2),
            "j": (TEXT, "1x2"),
            **RUN,
            **RENDEZVOUS,
            **MOUNTS,
        },
        dist.ddp,
    ),
    "dist.spmd": Component(
        {**ARGS, **MAIN, **IMAGE, "name": (TEXT, "/"), "h": (TEXT, "gpu.small"), "j": (TEXT, "1x1"), **RUN, **MOUNTS},
        dist.spmd,
    ),
    "utils.echo": Component({"msg": (TEXT, "hello world"), **IMAGE, **REPLICAS}, utils.echo),
    "utils.touch": Component({"file": (TEXT, REQUIRED), **IMAGE}, utils.touch),
    "utils.sh": Component(
        {
            **ARGS,
            **IMAGE,
            **REPLICAS,
            **SIZE,
            "env": (PAIRS, {}),
            "max_retries": (WHOLE, 0),
            **MOUNTS,
            "entrypoint": (TEXT, None),
        },
        utils.sh,
    ),
    "utils.python": Component(
        {
            **ARGS,
            **MAIN,
            "c": (TEXT, None),
            **IMAGE,
            "name": (TEXT, "torchx_utils_python"),
            **SIZE,
            **REPLICAS,
            **MOUNTS,
        },
        utils.python,
    ),
}
"""Component -> how it is read here."""

OTHERS = ("utils.binary", "utils.booth", "utils.copy", "metrics.tensorboard", "serve.torchserve")
"""Components of TorchX' that are not read here."""
