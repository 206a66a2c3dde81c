"""One task -> one podSet of the native format, as data, with the origins of its fields."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from bayplan.plugin import STORE, Route, lifted, non_empty, with_origins
from bayplan.plugins.osmo import tokens
from bayplan.plugins.osmo.source import AMOUNTS, Allocation, Task, label, retried, with_exit_codes
from bayplan.plugins.osmo.task_rules import DATA
from bayplan.plugins.osmo.tokens import Token
from bayplan.plugins.osmo.units import k8s_name, seconds

# Credentials of a task -> references to Secrets of the same names.


def variables(task: Task) -> dict[str, dict[str, Any]]:
    """Environment variable -> its reference. If two credentials set a variable, the later one counts. It
    also replaces a plain value (OSMO 6.4 appends them in this order, and Kubernetes uses the last)."""
    return {
        variable: {"secretKeyRef": {"name": k8s_name(name), "key": key}}
        for name, keys in task.data.get("credentials", {}).items()
        if isinstance(keys, Mapping)
        for variable, key in keys.items()
    }


def _folders(task: Task) -> dict[str, list[str]]:
    """Folder -> the Secrets to mount there."""
    folders: dict[str, list[str]] = {}
    for name, target in task.data.get("credentials", {}).items():
        if isinstance(target, str):
            folders.setdefault(target.rstrip("/"), []).append(k8s_name(name))
    return folders


# Fields of a task's pod that the native format has only in `template`, a partial PodTemplateSpec.
#
# The generated container has no name there.

DATA_VOLUME = "osmo-data"


def template(task: Task, allocation: Allocation, deadline: int | None, moved: Collection[str] = ()) -> dict[str, Any]:
    """The platform's template with the fields of the task. `deadline`: seconds that the pod may run. `moved`: folders
    of data movers, which have volumes of their own."""
    folders = [path for path in _data_paths(task) if f"{DATA}/{path}" not in moved]
    env = [{"name": name, "valueFrom": source} for name, source in sorted(variables(task).items())]
    context = {"privileged": True} if task.data.get("privileged") else {}
    container = non_empty(securityContext=context, env=env, volumeMounts=[*_mounts(task, allocation, folders)])
    spec = {
        **({"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"} if task.data.get("hostNetwork") else {}),
        **({} if deadline is None else {"activeDeadlineSeconds": deadline}),
        **non_empty(volumes=[*_volumes(task, allocation, folders)], containers=[container] if container else []),
    }
    return laid_over(allocation.template, non_empty(spec=spec))


def laid_over(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Own fields on a platform's fields. Mappings merge, lists are joined, containers without a name are the same."""
    merged = dict(base)
    for key, value in own.items():
        if key == "containers" and key in base:
            rest = [each for each in base[key] if "name" in each]
            main: Mapping[str, Any] = next((each for each in base[key] if "name" not in each), {})
            merged[key] = [laid_over(main, value[0]), *rest]
        elif isinstance(value, Mapping) and isinstance(base.get(key), Mapping):
            merged[key] = laid_over(base[key], value)
        elif isinstance(value, list) and isinstance(base.get(key), list):
            merged[key] = [*base[key], *value]
        else:
            merged[key] = value
    return merged


def named(template: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The template. If it has sidecars, the generated container gets a name too."""
    containers = template.get("spec", {}).get("containers", [])
    if len(containers) < 2:
        return template
    renamed = [{"name": name, **each} for each in containers]  # only one has no name of its own
    return {**template, "spec": {**template["spec"], "containers": renamed}}


def _volumes(task: Task, allocation: Allocation, folders: list[str]) -> Iterator[dict[str, Any]]:
    """The data volume, one for each folder of credentials (a projected one for several Secrets), and the node's."""
    if folders:
        yield {"name": DATA_VOLUME, "emptyDir": {}}
    for number, secrets in enumerate(_folders(task).values()):
        sources = [{"secret": {"name": each}} for each in secrets]
        source = {"projected": {"sources": sources}} if secrets[1:] else {"secret": {"secretName": secrets[0]}}
        yield {"name": f"osmo-credentials-{number}", **source}
    for number, mount in enumerate(allocation.mounts):
        yield {"name": f"osmo-host-{number}", "hostPath": {"path": mount.partition(":")[0]}}


def _mounts(task: Task, allocation: Allocation, folders: list[str]) -> Iterator[dict[str, Any]]:
    """In the order of their volumes."""
    for path in folders:
        yield {"name": DATA_VOLUME, "mountPath": f"{DATA}/{path}", "subPath": path}
    for number, path in enumerate(_folders(task)):
        yield {"name": f"osmo-credentials-{number}", "mountPath": path, "readOnly": True}
    for number, mount in enumerate(allocation.mounts):
        source, _, target = mount.partition(":")
        yield {"name": f"osmo-host-{number}", "mountPath": target or source}


def _data_paths(task: Task) -> list[str]:
    """The folders below DATA that the task may expect: one for each input, and the output's if the task mentions it."""
    inputs = [f"input/{number}" for number in range(len(task.data.get("inputs", ())))]
    named = any(f"{DATA}/output" in text for text, _ in tokens.texts(dict(task.data), ()))
    return [*inputs, *(["output"] if task.data.get("outputs") or named else [])]


# The origins of a podSet's parts: the task, its resource, or its platform's pod template.


def origins(task: Task, allocation: Allocation, template: Any) -> dict[Route, Route]:
    """Routes in the podSet -> routes in the sources; `template` is the podSet's."""
    files: dict[Route, Route] = {
        ("files", file["path"]): (*task.route, "files", i) for i, file in enumerate(task.data.get("files", ()))
    }
    word = next((each for each in task.data.get("exitActions", {}) if each.upper() == "RESCHEDULE"), "")
    reschedule: Route = (*task.route, "exitActions", word) if word else task.route  # without it, it is the pool's
    return {
        (): task.route,
        ("pool",): allocation.origins.get(("pool",), (*task.resource_route, "platform")),
        **dict(_amount_origins(task, allocation)),
        ("env",): (*task.route, "environment"),
        ("retryOnExitCodes",): reschedule,
        ("restartGangOnExitCodes",): reschedule,
        **files,
        **dict(_template(template, ("template",), ("template",), task.route, allocation.origins)),
    }


def _amount_origins(task: Task, allocation: Allocation) -> Iterator[tuple[Route, Route]]:
    """The amounts: from the resource if it sets them, or from the platform."""
    fields: dict[Route, str] = {("accelerator",): "gpu", **{("resources", kube): own for kube, own in AMOUNTS}}
    yield from ((route, place) for route, place in allocation.origins.items() if route[0] == "resources")
    for route, own in fields.items():
        stated: Route = (*task.resource_route, own)
        place = stated if own in task.resource else allocation.origins.get(route, stated)
        yield route, place
        if route == ("accelerator",):
            yield (*route, "count"), place


def _template(
    value: Any, route: Route, platform_route: Route, own: Route, platform_origins: Mapping[Route, Route]
) -> Iterator[tuple[Route, Route]]:
    """`platform_route`: the value's route in the platform's origins. All other values are the task's."""
    if platform_route not in platform_origins:
        yield route, own
        return
    yield route, platform_origins[platform_route]
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _template(each, (*route, key), (*platform_route, key), own, platform_origins)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            name = each.get("name", "") if isinstance(each, Mapping) else number
            step = name if (*platform_route, name) in platform_origins else number
            yield from _template(each, (*route, number), (*platform_route, step), own, platform_origins)


NO_GPUS = ("NVIDIA_VISIBLE_DEVICES", "")
"""OSMO sets this for tasks without GPUs, so that images that expose all GPUs expose none."""


# Inputs, outputs and checkpoints -> `data` of the podSet, if the topology has data movers for them.


class Movers(NamedTuple):
    """The schemes of URLs that data movers of a pool serve, with `store` if they serve its store.

    `sources`: the tasks whose output other tasks have as input. `leads`: those whose end is the end of their group.
    """

    schemes: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()
    leads: frozenset[str] = frozenset()


Moved = tuple[str, dict[str, Any], Route]
"""A list of `data`, an entry of it, and the place that it comes from."""


def _moved(task: Task, spec: Mapping[str, Any], workflow: str, movers: Movers) -> Iterator[Moved]:
    """The entries for the movers. `spec`: the task with its tokens replaced."""
    inputs, outputs = _inputs(task, spec, workflow), _outputs(task, spec, workflow, movers)
    for key, entry, route in (*inputs, *outputs, *_checkpoints(task, spec)):
        if entry["url"].partition(":")[0] in movers.schemes:
            yield key, non_empty(**entry), route


def _stored(workflow: str, task: str) -> str:
    """Where a task leaves its output: below the name in its file, which other files know, and not a shortened one."""
    return f"{STORE}:/{label(workflow)}/{task}"


def _inputs(task: Task, spec: Mapping[str, Any], workflow: str) -> Iterator[Moved]:
    """An input from a task is what that task left in the store."""
    for number, each in enumerate(spec.get("inputs", ())):
        other, _, name = each.get("task", "").rpartition(":")
        url = each.get("url") or _stored(other or workflow, name)
        entry = {"url": url, "path": f"{DATA}/input/{number}", "regex": each.get("regex", "")}
        yield "inputs", entry, (*task.route, "inputs", number)


def _outputs(task: Task, spec: Mapping[str, Any], workflow: str, movers: Movers) -> Iterator[Moved]:
    """The output folder. It goes to the store if another task reads it, or if it is a lead's and has no other place.

    OSMO uploads that of every task. Then equal workers would be different, because each has a folder of its own.
    """
    outputs, path = spec.get("outputs", ()), f"{DATA}/output"
    alone = not outputs and task.name in movers.leads and "output" in _data_paths(task._replace(data=spec))
    if task.name in movers.sources or alone:
        yield "outputs", {"url": _stored(workflow, task.name), "path": path}, (*task.route, "name")
    for number, each in enumerate(outputs):
        entry = {"url": each["url"], "path": path, "regex": each.get("regex", "")}
        yield "outputs", entry, (*task.route, "outputs", number)


def _checkpoints(task: Task, spec: Mapping[str, Any]) -> Iterator[Moved]:
    """OSMO uploads `/state/*` as what is in the folder, and `/state` as a folder of that name."""
    for number, each in enumerate(spec.get("checkpoint", ())):
        path = f"/{each['path'].lstrip('/')}"
        folder = (path.removesuffix("*") if path.endswith("/*") else path).rstrip("/")
        if not folder or ".." in folder.split("/") or any(c in folder or c in each["url"] for c in "*,;"):
            continue  # W441
        url = each["url"] if path.endswith("/*") else f"{each['url'].rstrip('/')}/{folder.rpartition('/')[2]}"
        frequency = {"everySeconds": max(seconds(each["frequency"]) or 1, 1), "regex": each.get("regex", "")}
        yield "checkpoints", {"url": url, "path": folder, **frequency}, (*task.route, "checkpoint", number)


class NativeData(NamedTuple):
    """Native data, and routes in it -> routes in the source. `moved`: as of `source.Workflow`."""

    data: Mapping[str, Any]
    origins: Mapping[Route, Route]
    moved: frozenset[Route] = frozenset()


def pod_set(
    task: Task,
    allocation: Allocation,
    workflow: str,
    deadline: int | None,
    movers: Movers = Movers(),  # noqa: B008
    *,
    alone: bool,
) -> NativeData:
    """The podSet without its name. `workflow` is the value of `{{workflow_id}}`.

    `alone`: if OSMO starts the task again, the other tasks of its group go on.
    """
    spec = _resolved(task, workflow)
    moved, places, folders = dict[str, list[Any]](), dict[Route, Route](), set[str]()
    for key, entry, route in _moved(task, spec, workflow, movers):
        places[("data", key, len(moved.setdefault(key, [])))] = route
        moved[key].append(entry)
        folders.add(entry["path"])
    gpus = allocation.accelerators
    data = {
        "pool": allocation.pool,
        "accelerator": {"count": gpus} if gpus else None,
        "resources": dict(allocation.resources),
        "image": spec["image"],
        "command": with_exit_codes(spec["command"], allocation.exit_actions),
        "args": spec.get("args"),
        "env": _environment(task._replace(data=spec), gpus),
        "files": {file["path"]: _contents(file) for file in spec.get("files", ())},
        "retryOnExitCodes" if alone else "restartGangOnExitCodes": list(retried(allocation.exit_actions)),
        "data": moved,
        "template": template(task._replace(data=spec), allocation, deadline, folders),
    }
    found = {**origins(task, allocation, data["template"]), **places}
    short, from_template = lifted({key: value for key, value in data.items() if value})
    return NativeData(short, with_origins(found, from_template), frozenset(places.values()))


def _environment(task: Task, gpus: int) -> dict[str, str]:
    """The plain variables, except those that a Secret replaces."""
    plain = {**task.data.get("environment", {}), **({} if gpus else dict([NO_GPUS]))}
    secret = variables(task)
    return {name: value for name, value in plain.items() if name not in secret}


def _resolved(task: Task, workflow: str) -> Mapping[str, Any]:
    """The task with its tokens replaced, except hosts: their names depend on the pods."""
    sources = [each.get("task", "").rpartition(":")[2] for each in task.data.get("inputs", ())]

    def value(token: Token) -> str | None:
        if token.kind == tokens.INPUT:
            return _input(token.name, sources)
        return {tokens.WORKFLOW_ID: workflow, tokens.OUTPUT: f"{DATA}/output"}.get(token.kind)

    resolved: Mapping[str, Any] = _replaced(task.data, value)
    return resolved


def _input(name: str, sources: list[str]) -> str | None:
    """The folder of an input, by its number or by the task that it comes from (as in OSMO, the last match counts)."""
    numbers = [number for number, source in enumerate(sources) if name in (source, str(number))]
    return f"{DATA}/input/{numbers[-1]}" if numbers else None


def _replaced(value: Any, make: Callable[[Token], str | None]) -> Any:
    if isinstance(value, str):
        return tokens.replace(value, make)
    if isinstance(value, Mapping):
        return {key: _replaced(each, make) for key, each in value.items()}
    return [_replaced(each, make) for each in value] if isinstance(value, list) else value


def _contents(file: Mapping[str, Any]) -> Any:
    """The contents as text, decoded if they are base64 of UTF-8. Other bytes stay encoded."""
    contents: str = file["contents"]
    if not file.get("base64"):
        return contents
    from base64 import b64decode

    try:
        return b64decode(contents).decode("utf-8")
    except ValueError:
        return {"base64": "".join(contents.split())}
