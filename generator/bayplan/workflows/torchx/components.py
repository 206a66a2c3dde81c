"""The components that come with TorchX (0.7 and 0.8, components/dist.py and utils.py), from their arguments to AppDefs.

A component is a Python function, and bayplan runs no functions of users. Instead, users pass the AppDef that their
components return. The default image of TorchX depends on the installed version, so `image` is required here.
"""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.core.package_data import table
from bayplan.core.phrases import suggest
from bayplan.workflows.torchx.marks import EFA, INSTANCE

# Arguments of a component: by name as JSON has them, or as words of a command line.

TEXT, WHOLE, FLAG, PAIRS, LIST, REST = (
    "a string",
    "an integer",
    "true or false",
    "NAME=VALUE pairs",
    "a list",
    "a list of strings",
)
EXAMPLES: Mapping[str, str] = {
    TEXT: 'write a value such as "train.py"',
    WHOLE: "write a value such as 8",
    FLAG: "write a value such as true",
    PAIRS: 'write a value such as {"LOGLEVEL": "INFO"}, or LOGLEVEL=INFO',
    LIST: 'write a value such as ["type=volume", "src=datasets", "dst=/data"]',
    REST: 'write a value such as ["--epochs", "3"]',
}
"""Kind -> hint with an example value."""

REQUIRED = object()
"""The default of a required argument."""

Parameters = Mapping[str, tuple[str, Any]]
"""Name -> kind and default. The parameter of kind REST takes the arguments without a name."""


class InvalidArgumentError(Exception):
    """An invalid argument: its name (empty: all arguments), the reason, and a hint (empty: use another argument)."""

    def __init__(self, name: str, message: str, hint: str = "") -> None:
        self.name, self.message, self.hint = name, message, hint


def parse_arguments(words: Sequence[str], parameters: Parameters) -> tuple[dict[str, Any], list[InvalidArgumentError]]:
    """Words of a command line by name. Words after `--`, or from the first word without a name on, are the rest."""
    rest = next((name for name, (kind, _) in parameters.items() if kind == REST), "")
    values: dict[str, Any] = {}
    left = list(words)
    while left and left[0].startswith("-") and left[0] != "--":
        name, equals, value = left.pop(0).lstrip("-").partition("=")
        if not equals and not left:
            return values, [InvalidArgumentError(name, "has no value")]
        values[name] = value if equals else left.pop(0)
    if left and left[0] == "--":
        left.pop(0)
    if left and not rest:
        return values, [InvalidArgumentError("", f'takes only named arguments, but "{left[0]}" has no name')]
    return ({**values, rest: left} if left else values), []


def bind_arguments(
    values: Mapping[str, Any], parameters: Parameters
) -> tuple[dict[str, Any], list[InvalidArgumentError]]:
    """Every parameter with its value or its default, and the invalid ones."""
    wrong = [InvalidArgumentError(name, "is unknown") for name in values if name not in parameters]
    arguments: dict[str, Any] = {}
    for name, (kind, default) in parameters.items():
        if values.get(name) is None:
            arguments[name] = default
            wrong += [InvalidArgumentError(name, "is missing")] if default is REQUIRED else []
        else:
            arguments[name] = _as(kind, values[name])
            wrong += [InvalidArgumentError(name, f"must be {kind}", EXAMPLES[kind])] if arguments[name] is None else []
    return arguments, wrong


def _as(kind: str, value: Any) -> Any:
    """A value as its kind, also if it is a string. None: not of that kind."""
    if kind == TEXT:
        return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    if kind == WHOLE:
        return _whole_number(value)
    if kind == FLAG:
        return value if isinstance(value, bool) else {"true": True, "false": False}.get(str(value).lower())
    if kind == PAIRS:
        return _pairs(value)
    items = value.split(",") if isinstance(value, str) and kind == LIST else value
    return [str(each) for each in items] if isinstance(items, list) else None


def _whole_number(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    plain = value.removeprefix("-") if isinstance(value, str) else ""
    return int(value) if plain.isdecimal() and plain.isascii() and len(plain) < 10 else None


def _pairs(value: Any) -> dict[str, str] | None:
    """Pairs. A comma without a name behind it belongs to the value."""
    if isinstance(value, Mapping):
        plain = all(isinstance(each, str | int | float) for each in value.values())
        return {str(name): str(each) for name, each in value.items()} if plain else None
    return dict(_split_pairs(value)) if isinstance(value, str) and "=" in value.split(",")[0] else None


def _split_pairs(text: str) -> Iterator[tuple[str, str]]:
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


def parse_mounts(words: Sequence[str]) -> list[dict[str, Any]]:
    """The mounts in the form of a role."""
    mounts: list[dict[str, str]] = []
    for word in words:
        key, _, value = word.partition("=")
        if key not in WORDS:
            raise InvalidArgumentError("mounts", f'has the unknown key "{key}"')
        if WORDS[key] == "type":
            mounts.append({})
        elif not mounts:
            raise InvalidArgumentError("mounts", "must start with type=bind, type=volume or type=device")
        mounts[-1][WORDS[key]] = value
    return [_mount(each) for each in mounts]


def _mount(words: dict[str, str]) -> dict[str, Any]:
    kind, source, target = words["type"], words.get("src"), words.get("dst")
    if kind not in ("bind", "volume", "device"):
        raise InvalidArgumentError("mounts", f'has a mount of type "{kind}", not bind, volume or device')
    if not source or not (target or kind == "device"):
        raise InvalidArgumentError("mounts", f"has a {kind} mount without {'dst' if source else 'src'}")
    if kind == "device":
        return {"src_path": source, "dst_path": target or source, "permissions": words.get("perm", "rwm")}
    what = "src" if kind == "volume" else "src_path"
    return {what: source, "dst_path": target, "read_only": "readonly" in words}


NEURON = "aws.amazon.com/neurondevice"


def _named_resources() -> dict[str, dict[str, Any]]:
    """TorchX' named resources by name (0.7, specs/named_resources_aws.py and named_resources_generic.py).

    They are in `resources.csv`. The memory of AWS instances is 96 % of the machine's, as TorchX counts it.
    """
    named: dict[str, dict[str, Any]] = {}
    _head, *rows = csv.reader(table("workflows", "torchx", "resources.csv").splitlines())
    for name, instance_type, *amounts in rows:
        cpu, gpu, memory, efa, neuron = map(int, amounts)
        devices = {device: count for device, count in ((EFA, efa), (NEURON, neuron)) if count}
        capabilities = {INSTANCE: instance_type} if instance_type else {}
        named[name] = {**made_resource(cpu, gpu, memory), "capabilities": capabilities, "devices": devices}
    return named


def made_resource(cpu: int | float, gpu: int, memory: int) -> dict[str, Any]:
    """A resource with these amounts."""
    return {"cpu": cpu, "gpu": gpu, "memMB": memory, "capabilities": {}, "devices": {}}


NAMED_RESOURCES = _named_resources()


# `dist.ddp` and `dist.spmd`: torchrun on every replica (TorchX 0.7 and 0.8, components/dist.py).

NODES = re.compile(r"(?:(?:([0-9]{1,6}):)?([0-9]{1,6})x)?([0-9]{1,6})", re.ASCII)
RANK0 = "$${${rank0_env}:=localhost}"
"""The form of an AppDef: the shell gets a variable with a default."""

DEBUG: Mapping[str, str] = {
    "CUDA_LAUNCH_BLOCKING": "1",
    "NCCL_DESYNC_DEBUG": "1",
    "TORCH_DISTRIBUTED_DEBUG": "DETAIL",
    "TORCH_SHOW_CPP_STACKTRACES": "1",
}


def ddp(values: Mapping[str, Any]) -> dict[str, Any]:
    """The AppDef of `dist.ddp`."""
    if (values["script"] is None) == (values["m"] is None):
        raise InvalidArgumentError("script", "or `m` must be set, but not both")
    nodes = NODES.fullmatch(values["j"])
    if not nodes or (nodes[2] and not int(nodes[2])):
        hint = "write a value such as 2x8, for 2 replicas with 8 processes each"
        raise InvalidArgumentError("j", f'must be [MIN:]NODESxPROCESSES, not "{values["j"]}"', hint)
    experiment, name = _names(values)
    env = {**values["env"], "TORCHX_TRACKING_EXPERIMENT_NAME": experiment, "TORCHX_TRACKING_RUN_NAME": name}
    env = {"LOGLEVEL": "WARNING", **env, **(DEBUG if values["debug"] else {})}
    most = int(nodes[2] or 1)
    role = {
        "name": _stem(values),
        "image": values["image"],
        "min_replicas": int(nodes[1] or most) or None,
        "num_replicas": most,
        "entrypoint": "bash",
        "args": ["-c", _command(values, nodes, most)],
        "env": env,
        "port_map": {"c10d": values["rdzv_port"]},
        "max_retries": values["max_retries"],
        "resource": resource(values),
        "mounts": parse_mounts(values["mounts"]),
    }
    return {"name": name, "roles": [role], "metadata": values["metadata"]}


def spmd(values: Mapping[str, Any]) -> dict[str, Any]:
    """The AppDef of `dist.spmd`: the number of processes defaults to the number of the host's GPUs."""
    host = _named_resource(values["h"])
    if "x" not in values["j"] and not host["gpu"]:
        message = f'must be NODESxPROCESSES, because "{values["h"]}" has no GPUs'
        raise InvalidArgumentError("j", message, "write a value such as 2x8")
    nodes = values["j"] if "x" in values["j"] else f"{values['j']}x{host['gpu']}"
    rest = {"rdzv_port": 29500, "rdzv_backend": "c10d", "rdzv_conf": None, "tee": 3, "cpu": 2, "gpu": 0, "memMB": 1024}
    return ddp({**rest, **values, "j": nodes, "script_args": values["args"]})


def resource(values: Mapping[str, Any]) -> dict[str, Any]:
    """The request of each replica: the named resource, or the amounts."""
    size = (values["cpu"], values["gpu"], values["memMB"])
    return _named_resource(values["h"]) if values["h"] else made_resource(*size)


def _named_resource(name: str) -> dict[str, Any]:
    if name in NAMED_RESOURCES:
        return NAMED_RESOURCES[name]
    like = [each for each in NAMED_RESOURCES if each.startswith(name[:5])]  # `aws_` and the family
    hint = suggest(name, like or NAMED_RESOURCES, "TorchX has")
    raise InvalidArgumentError("h", f'is "{name}", which is not a named resource of TorchX', hint)


def _names(values: Mapping[str, Any]) -> tuple[str, str]:
    """Experiment and run, from `EXPERIMENT/RUN`, both optional."""
    experiment, slash, run = values["name"].partition("/")
    if not slash:
        experiment, run = "", experiment
    return experiment or "default-experiment", run or _stem(values)


def _stem(values: Mapping[str, Any]) -> str:
    """The name of the script or the module."""
    if values["m"] is not None:
        return str(values["m"]).rpartition(".")[2]
    name = str(values["script"]).rstrip("/").rpartition("/")[2]
    return name.rpartition(".")[0] or name


def _command(values: Mapping[str, Any], nodes: re.Match[str], most: int) -> str:
    conf = ["--rdzv_conf", values["rdzv_conf"]] if values["rdzv_conf"] is not None else []
    several = f"{RANK0}:{values['rdzv_port']}"
    start = ["torchrun", "--rdzv_backend", values["rdzv_backend"], *conf, "--rdzv_endpoint"]
    spread = f"{nodes[1]}:{nodes[2]}" if nodes[1] else nodes[2] or "1"
    then = ["--rdzv_id", "${app_id}", "--nnodes", spread, "--nproc_per_node", nodes[3], "--tee", str(values["tee"])]
    static = ["--node_rank", "${replica_id}"] if values["rdzv_backend"] == "static" else []
    main = [values["script"]] if values["script"] is not None else ["-m", values["m"]]
    end = [*then, "--role", "", *static, *main, *values["script_args"]]
    endpoint = "localhost:0" if most == 1 else several
    return " ".join([shlex.join(start), endpoint, shlex.join(end)])


# The small components (TorchX 0.7 and 0.8, components/utils.py).

SMALL = made_resource(1, 0, 1024)


def echo(values: Mapping[str, Any]) -> dict[str, Any]:
    """One role that prints a message."""
    return _app("echo", values, SMALL, entrypoint="echo", args=[values["msg"]], num_replicas=values["num_replicas"])


def touch(values: Mapping[str, Any]) -> dict[str, Any]:
    """One role that creates a file."""
    return _app("touch", values, SMALL, entrypoint="touch", args=[values["file"]])


def sh(values: Mapping[str, Any]) -> dict[str, Any]:
    """One role that passes its arguments to a shell."""
    quoted = [shlex.quote(word) for word in values["args"]]
    plain = values["entrypoint"] is not None
    return _app(
        "sh",
        values,
        resource(values),
        entrypoint=values["entrypoint"] if plain else "sh",
        args=quoted if plain else ["-c", " ".join(quoted)],
        num_replicas=values["num_replicas"],
        env={"LOGLEVEL": "WARNING", **values["env"]},
        max_retries=values["max_retries"],
    )


def python(values: Mapping[str, Any]) -> dict[str, Any]:
    """One role that runs a module, a command or a script."""
    kinds = {"script": [], "m": ["-m"], "c": ["-c"]}
    chosen = [kind for kind in kinds if values[kind] is not None]
    if len(chosen) != 1:
        raise InvalidArgumentError("m", "or `c` or `script` must be set, but only one of them")
    args = [*kinds[chosen[0]], values[chosen[0]], *values["args"]]
    env = {"HYDRA_MAIN_MODULE": values["m"]} if values["m"] else {}
    count = values["num_replicas"]
    app = _app("python", values, resource(values), entrypoint="python", args=args, num_replicas=count, env=env)
    return {**app, "name": values["name"]}


def _app(name: str, values: Mapping[str, Any], size: dict[str, Any], **role: Any) -> dict[str, Any]:
    """An application with one role, both with that name."""
    mounts = parse_mounts(values.get("mounts") or [])
    whole = {"name": name, "image": values["image"], **role, "resource": size, "mounts": mounts}
    return {"name": name, "roles": [whole], "metadata": {}}


class Component(NamedTuple):
    """The parameters of a component, and the function that builds its AppDef."""

    parameters: Parameters
    build: Callable[[Mapping[str, Any]], dict[str, Any]]


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
        ddp,
    ),
    "dist.spmd": Component(
        {**ARGS, **MAIN, **IMAGE, "name": (TEXT, "/"), "h": (TEXT, "gpu.small"), "j": (TEXT, "1x1"), **RUN, **MOUNTS},
        spmd,
    ),
    "utils.echo": Component({"msg": (TEXT, "hello world"), **IMAGE, **REPLICAS}, echo),
    "utils.touch": Component({"file": (TEXT, REQUIRED), **IMAGE}, touch),
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
        sh,
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
        python,
    ),
}
"""Name -> component."""

OTHERS = ("utils.binary", "utils.booth", "utils.copy", "metrics.tensorboard", "serve.torchserve")
"""Components of TorchX that bayplan does not support."""
