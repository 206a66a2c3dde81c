"""Checks of pod templates, quantities and files: reserved fields, templates that do not merge, wrong values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bayplan.core.diagnostics import KEY, Diagnostic, Note, Route, error, warning
from bayplan.core.phrases import count, shorten
from bayplan.kube import quantity
from bayplan.kube.objects import get, items, mapping
from bayplan.kube.pod import (
    CONFIG_MAP_LIMIT,
    DATA_SCRIPT,
    DATA_STATE_FOLDER,
    EXCLUSIVE,
    MERGE_KEYS,
    MPI_KEYS,
    MPI_SCRIPT,
    OWN_FIELDS,
    OWN_NAMES,
    SHARED_MEMORY,
    container_name,
    containers,
    content_size,
    file_key,
    identity,
)
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import AUTO_SHM, Binary, PodSet, Workflow, pod_sets

if TYPE_CHECKING:
    from bayplan.model.augment import WorkloadTemplates


# Wrong values in a template: quantities, accelerators that count twice, nulls that delete bayplan's fields.

SPEC = ("containers", "resourceClaims", "volumes", "nodeSelector", "affinity")
MAIN = ("name", "env", "resources", "volumeMounts")
RESOURCES = ("requests", "limits", "claims")
"""Fields that bayplan writes: of a PodSpec, of its main container, of that container's resources."""

COUNT = "nvidia.com/gpu"
"""The resource of a device plugin if the topology does not name one."""

AMOUNT, COUNTED = 'write it like "4", "500m" or "64Gi"', 'write it like "1"'
"""Hints for a resource of Kubernetes, and for an extended resource."""

Amount = tuple[str, Any, Route]


def amounts(code: str, spec: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """Requests and limits of containers and of the pod, and its overhead, must be quantities of at least zero."""
    owners = [(spec, route), *_containers(spec, route, "containers"), *_containers(spec, route, "initContainers")]
    listed = [each for owner, at in owners for each in _amounts(owner, at)]
    for name, value, at in (*listed, *_list_entries(spec.get("overhead"), (*route, "overhead"))):
        reason = _fault(str(value), whole="/" in name)
        if reason:
            yield error(code, at, reason, hint=COUNTED if "/" in name else AMOUNT)


def _fault(text: str, *, whole: bool) -> str:
    try:
        amount = quantity.parse(text)
    except ValueError as reason:
        return str(reason)
    if amount < 0:
        return f'"{text}" is negative'
    return f'"{text}" is not an integer, which extended resources need' if whole and amount % 1000 else ""


def cards(code: str, spec: Mapping[str, Any], route: Route, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """Containers that run at the same time cannot request cards: `accelerator` requests them once."""
    kinds = topology.accelerators.values()
    counted = {name: kind.name for kind in kinds for name in {"count": COUNT, **kind.resources}.values()}
    beside = [
        (each, at)
        for each, at in _containers(spec, route, "initContainers")
        if each.get("restartPolicy") == "Always"  # others end before the containers start
    ]
    for owner, place in ((spec, route), *_containers(spec, route, "containers"), *beside):
        for name, _, at in _amounts(owner, place):
            if name in counted:
                message = (
                    f'only `accelerator` can request "{name}", which is a resource of the accelerator "{counted[name]}"'
                )
                hint = f"set `accelerator: {{name: {counted[name]}, count: ...}}` on the podSet instead"
                yield error(code, at, message, hint=hint)


def nulls(code: str, spec: Mapping[str, Any], route: Route, main: Collection[str | None]) -> Iterator[Diagnostic]:
    """Nulls delete, so they are errors in fields of bayplan. `main`: names of the main container; empty: any name."""
    yield from _nulls(code, spec, SPEC, route)
    selector = spec.get("nodeSelector") or {}
    yield from _nulls(code, selector, selector, (*route, "nodeSelector"))
    for container, at in _containers(spec, route, "containers"):
        if not main or container.get("name") in main:
            yield from _nulls(code, container, MAIN, at)
            yield from _nulls(code, container.get("resources") or {}, RESOURCES, (*at, "resources"))


def _nulls(code: str, owner: Mapping[str, Any], keys: Collection[str], route: Route) -> Iterator[Diagnostic]:
    for key in keys:
        if owner.get(key, key) is None:
            message = f'null would delete the value that bayplan writes to "{key}"'
            yield error(code, (*route, key), message, hint="remove it, or write the value to add")


def _containers(spec: Mapping[str, Any], route: Route, key: str) -> list[tuple[Mapping[str, Any], Route]]:
    return [(each, (*route, key, index)) for index, each in enumerate(spec.get(key) or ())]


def _amounts(owner: Mapping[str, Any], route: Route) -> Iterator[Amount]:
    for key in ("requests", "limits"):
        yield from _list_entries((owner.get("resources") or {}).get(key), (*route, "resources", key))


def _list_entries(amounts: Any, route: Route) -> Iterator[Amount]:
    """The entries of a map that are not null."""
    for name, value in amounts.items() if isinstance(amounts, Mapping) else ():
        if value is not None:
            yield name, value, (*route, name)


OWN_ENV: Mapping[str, str] = {
    "JOB_COMPLETION_INDEX": "the Job controller of Kubernetes",
    "JOBSET_JOB_INDEX": "bayplan",  # if groups share a replicatedJob
    "VC_TASK_INDEX": "Volcano",
    "LWS_LEADER_ADDRESS": "LeaderWorkerSet",
    "LWS_GROUP_SIZE": "LeaderWorkerSet",
    "LWS_WORKER_INDEX": "LeaderWorkerSet",
}
"""Variable -> who sets it. Ranks are computed from them."""

OWN_PREFIXES = (
    "bayplan.dev/",
    "kai.scheduler/",
    "scheduling.run.ai/",
    "scheduling.volcano.sh/",
    "volcano.sh/",
    "kueue.x-k8s.io/",
    "gang.scheduling.koordinator.sh/",
    "quota.scheduling.koordinator.sh/",
    "scheduling.x-k8s.io/",
    "jobset.sigs.k8s.io/",
    "leaderworkerset.sigs.k8s.io/",
    "batch.kubernetes.io/",
    "slurmjob.slinky.slurm.net/",
    "scheduler.slinky.slurm.net/",
    "slinky.slurm.net/",
    "sunk.coreweave.com/",
)
OWN_KEYS = ("pod-group-name", "pod-group.scheduling.sigs.k8s.io", "runai/queue", "priorityClassName")
"""Labels and annotations by which schedulers and controllers identify a gang and its pods."""

ENTRIES = tuple(name for names in OWN_NAMES.values() for name in names)

MAPS = ("nodeSelector", "affinity", "securityContext", "resources", "requests", "limits")

Codes = tuple[str, str, str, str, str]
"""The codes for a field or key, a list, a quantity, a label's value and a reference that are wrong."""

POD_SET: Codes = ("W313", "W315", "W319", "W598", "W598")
POOL: Codes = ("W313",) * 5


def check_template(workflow: Workflow) -> Iterator[Diagnostic]:
    """W313 to W340, W319 and W598 in templates."""
    yield from _marks("W313", workflow.labels, ("workflow", "metadata", "labels"))
    yield from _marks("W313", workflow.annotations, ("workflow", "metadata", "annotations"))
    for place in pod_sets(workflow):
        for name in place.pods.env:
            if name in OWN_ENV:
                message = f'`env` cannot set "{name}": {OWN_ENV[name]} sets it, and ranks depend on it'
                yield error("W313", (*place.route, "env", name, KEY), message, hint="choose another name")
        if place.pods.template:
            yield from _template(place.pods, (*place.route, "template"))


def check_pools(topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W313: the same findings for the templates of pools."""
    for index, pool in enumerate(topology.pools):
        if pool.template:
            route: Route = ("topology", "spec", "pools", index, "template")
            wrong = tuple(_sound(pool.template, route, POOL, ()))
            yield from wrong
            if not wrong:
                spec, at = pool.template.get("spec") or {}, (*route, "spec")
                yield from _entries(POOL, spec, at, dict.fromkeys(ENTRIES, True))
                yield from cards(POOL[2], spec, at, topology)


def check_cards(workflow: Workflow, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """W331 in templates."""
    for place in pod_sets(workflow):
        spec, at = place.pods.template.get("spec") or {}, (*place.route, "template", "spec")
        if not any(_lists(POD_SET[1], spec, at)):
            yield from cards("W331", spec, at, topology)
        for number, each in enumerate(place.pods.sidecars):
            own = {"containers": [{"resources": {"limits": each.resources}}]}
            for found in cards("W331", own, (), topology):
                yield found._replace(route=(*place.route, "sidecars", number, "resources", found.route[-1]))


def _marks(code: str, marks: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    for key in marks:
        if key in EXCLUSIVE:
            message = f'"{key}" places pods without the scheduler and without bayplan\'s proof'
            hint = "remove it, and set `placement: {required: LEVEL}` and `separate: LEVEL` on the group"
            yield error(code, (*route, key, KEY), message, hint=hint)
        elif key in OWN_KEYS or key.startswith(OWN_PREFIXES):
            message = f'"{key}" is reserved: bayplan, the scheduler or a controller sets it'
            yield error(code, (*route, key, KEY), message, hint="remove it")


def _template(pods: PodSet, route: Route) -> Iterator[Diagnostic]:
    wrong = tuple(_sound(pods.template, route, POD_SET, _main_names(pods)))
    yield from wrong
    if not any(each.code == POD_SET[1] for each in wrong):
        spec = pods.template.get("spec") or {}
        generated = {"shm": _own_shm(pods), "files": bool(pods.files), "gpu": True, "compute-domain": True}
        generated |= {"nic": pods.fabric is not None, "data-folders": any(pods.data), "data-state": any(pods.data)}
        yield from _entries(POD_SET, spec, (*route, "spec"), generated)
        yield from _main(pods, spec.get("containers") or [], (*route, "spec", "containers"))
        # Mounts merge by their path, so a template's mount at a path of bayplan's would replace the volume there
        mounted = {*pods.files, *([SHARED_MEMORY] if pods.has_shm else [])}
        for index, container in enumerate(spec.get("containers") or []):
            main = container.get("name", container_name(pods)) == container_name(pods)
            for number, mount in enumerate((container.get("volumeMounts") or []) if main else ()):
                if isinstance(path := mount["mountPath"], str) and path in mounted:
                    message = f'the template cannot mount "{path}": bayplan mounts it for '
                    message += "`files`" if path in pods.files else "`shm`"
                    at = (*route, "spec", "containers", index, "volumeMounts", number, "mountPath")
                    yield error("W340", at, message, hint="choose another path, or remove one of the two")


def _own_shm(pods: PodSet) -> bool:
    """Whether bayplan mounts /dev/shm: a fabric adds it if the template does not."""
    name = container_name(pods)
    main = (each for each in containers(pods.template) if each.get("name", name) == name)
    mounts = (mount for each in main for mount in each.get("volumeMounts") or ())
    return pods.has_shm or (pods.fabric is not None and all(each["mountPath"] != SHARED_MEMORY for each in mounts))


def _main_names(pods: PodSet) -> tuple[str | None, ...]:
    containers = (pods.template.get("spec") or {}).get("containers")
    sound = isinstance(containers, list) and all(isinstance(each, Mapping) for each in containers)
    return (None, container_name(pods)) if sound else (None,)


def _sound(
    template: Mapping[str, Any], route: Route, codes: Codes, main: tuple[str | None, ...]
) -> Iterator[Diagnostic]:
    if not template:
        return
    from bayplan.kube import validation

    field, merge, amount, label, reference = codes
    metadata = template.get("metadata") or {}
    for kind in ("labels", "annotations"):
        yield from _marks(field, metadata.get(kind) or {}, (*route, "metadata", kind))
    for each in validation.labels(metadata.get("labels") or {}):
        yield error(label, (*route, "metadata", "labels", *each.path), each.message, hint=each.hint)
    spec = template.get("spec") or {}
    for each in validation.references(spec):
        yield error(reference, (*route, "spec", *each.path), each.message, hint=each.hint)
    wrong = tuple(_lists(merge, spec, (*route, "spec")))
    yield from wrong
    if not wrong:
        yield from amounts(amount, spec, (*route, "spec"))
        yield from nulls(field, spec, (*route, "spec"), main)
    for key, instead in OWN_FIELDS.items():
        if key in spec:
            yield error(field, (*route, "spec", key, KEY), f'a template cannot set "{key}"', hint=instead)


def _lists(code: str, value: Any, route: Route) -> Iterator[Diagnostic]:
    """Lists that merge by a key must be lists of mappings that have the key, with unique values."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            here: Route = (*route, key)
            if key in MAPS and not isinstance(below, Mapping | None):
                yield error(code, here, f'"{key}" must be a mapping', hint="see PodTemplateSpec in the Kubernetes API")
            elif (key in MERGE_KEYS or key == "tolerations") and below is not None:
                yield from _list(code, key, below, here)
            else:
                yield from _lists(code, below, here)
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _lists(code, below, (*route, index))


def _list(code: str, key: str, value: Any, route: Route) -> Iterator[Diagnostic]:
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        yield error(
            code, route, f'"{key}" must be a list of mappings', hint="see PodTemplateSpec in the Kubernetes API"
        )
        return
    keys, seen = MERGE_KEYS.get(key, ()), set()
    nameless = key == "containers" and (len(value) == 1 or code == POOL[1])  # means the main container
    for index, each in enumerate(value):
        missing = [] if nameless else [name for name in keys if each.get(name) is None]
        own = identity(key, each) if keys else ()
        if missing:
            yield error(code, (*route, index), f'an entry of "{key}" has no "{missing[0]}"', hint=f"add `{missing[0]}`")
        elif own and own in seen:
            which = ", ".join(str(each.get(name, f"no {name}")) for name in keys)
            yield error(code, (*route, index), f'"{key}" has two entries "{which}"', hint="remove one of them")
        seen.add(own)
        yield from _lists(code, each, (*route, index))


def _entries(
    codes: Codes, spec: Mapping[str, Any], route: Route, generated: Mapping[str, bool]
) -> Iterator[Diagnostic]:
    for key, names in OWN_NAMES.items():
        for index, each in enumerate(spec.get(key) or []):
            if each["name"] in names and generated[each["name"]]:
                message = f'the name "{each["name"]}" in "{key}" is reserved: bayplan adds an entry with this name'
                yield error(codes[0], (*route, key, index, "name"), message, hint="choose another name")


def _main(pods: PodSet, containers: list[Any], route: Route) -> Iterator[Diagnostic]:
    """W315. A template's only container is the main container; if there are several, the one with the podSet's name."""
    names = [each.get("name", pods.name) for each in containers]
    if len(names) == 1 and names[0] != pods.name and pods.image and containers[0].get("image"):
        message = f'the template\'s only container "{names[0]}" replaces the image of the main container'
        hint = f'if it is a sidecar, add the entry "- name: {pods.name}" beside it; otherwise remove one of the images'
        yield warning("W315", (*route, 0), message, hint=hint)
    if len(names) > 1 and pods.name not in names and not pods.image:
        message = f'no main container: none of the template\'s {len(names)} containers has the name "{pods.name}"'
        yield error("W315", route, message, hint=f'rename the main container to "{pods.name}"')


# Users' `template`s, compared with the fields of the target's Kubernetes version.


def check_pod_templates(workflow: Workflow, topology: ClusterTopology, target: Target) -> Iterator[Diagnostic]:
    """W381, once for each template of the file."""
    written = [(place.pods.template, (*place.route, "template")) for place in pod_sets(workflow)]
    written += [(pool.template, ("topology", "spec", "pools", i, "template")) for i, pool in enumerate(topology.pools)]
    written = [(template, route) for template, route in written if template]
    if written:
        from bayplan.kube.pod_fields import faults, load

        fields = load(target)
        for template, route in written:
            yield from faults(fields, template, route)


# Pod templates of existing workloads, which no schema has validated. The proof adds up their amounts, and a scheduler
# must be free to place their pods.


def check_existing(templates: WorkloadTemplates) -> Iterator[Diagnostic]:
    """W319 for quantities that the API server would refuse, W515 for pods that no scheduler places, and W516."""
    for slot in templates.slots:
        spec = mapping(templates.object.data, *slot.path, "spec")
        route = (*templates.object.route, *slot.path, "spec")
        yield from _existing_amounts(spec, "overhead", route)
        yield from _requested(spec, route)
        for key in ("containers", "initContainers"):
            for number, each in enumerate(items(spec, key)):
                yield from _requested(each, (*route, key, number))
        if spec.get("nodeName"):
            message = "no scheduler places pods with a `nodeName`, so their gang would wait for them forever"
            yield error("W515", (*route, "nodeName"), message, hint="remove `nodeName`, or remove the placement")
        if spec.get("schedulingGates"):
            message = "`schedulingGates` keep the whole gang waiting until somebody removes the gates of all its pods"
            hint = "remove them, unless a controller removes them"
            yield warning("W515", (*route, "schedulingGates"), message, hint=hint)
    yield from _priorities(templates)


def _priorities(templates: WorkloadTemplates) -> Iterator[Diagnostic]:
    """W516. A PodGroup has one priority for all of its pods."""
    data = templates.object.data
    classes = {get(data, *slot.path, "spec", "priorityClassName"): slot for slot in templates.slots}
    if len(classes) > 1:
        names = ", ".join(f'"{shorten(str(name))}"' if name else "none" for name in classes)
        at = next(slot.path for name, slot in classes.items() if name)
        route = (*templates.object.route, *at, "spec", "priorityClassName")
        message = f"the pods of one gang have different priority classes ({names}), so bayplan gives the gang none"
        yield warning("W516", route, message, hint="set the same `priorityClassName` in all its pod templates")


def _requested(owner: Any, route: Route) -> Iterator[Diagnostic]:
    resources = get(owner, "resources")
    if resources is not None and not isinstance(resources, dict):
        yield _wrong("resources", resources, (*route, "resources"), "write a mapping with `limits` and `requests`")
        return
    for key in ("requests", "limits"):
        yield from _existing_amounts(resources, key, (*route, "resources"))


def _existing_amounts(owner: Any, key: str, route: Route) -> Iterator[Diagnostic]:
    amounts = get(owner, key)
    if amounts is not None and not isinstance(amounts, dict):
        yield _wrong(key, amounts, (*route, key), "write a mapping of resources and quantities")
        return
    for name, amount in (amounts or {}).items():
        scalar = isinstance(amount, str | int | float) and not isinstance(amount, bool)
        if not scalar or _fault(str(amount), whole=False):
            yield _wrong(str(name), amount, (*route, key, name), AMOUNT)


def _wrong(name: str, value: Any, route: Route, hint: str) -> Diagnostic:
    message = f'"{shorten(name)}" is {shorten(repr(value))}, which is not a quantity'
    return error("W319", route, message, hint=hint)


# Quantities, and files that are mounted from a ConfigMap.

KEY_LIMIT = 253
"""Characters of a ConfigMap key (DNS-1123 subdomain length)."""


def check_amounts(workflow: Workflow) -> Iterator[Diagnostic]:
    """W340, W319, W320, W345, P515."""
    for place in pod_sets(workflow):
        pods, route, _ = place
        for name, value in pods.resources.items():
            yield from check_amount(value, (*route, "resources", name), whole="/" in name)
        if pods.has_shm and pods.shm != AUTO_SHM:
            yield from check_amount(pods.shm, (*route, "shm"))
        if pods.accelerator:
            for key in ("memory", "cores"):
                yield from _share(getattr(pods.accelerator, key), (*route, "accelerator", key))
        if pods.files:
            yield from _files(pods, (*route, "files"))
        yield from _nul_characters(pods, route)


def check_amount(text: str, route: Route, *, whole: bool = False) -> Iterator[Diagnostic]:
    """W319 and W320: a quantity that Kubernetes refuses, or zero."""
    if reason := _fault(text, whole=whole):
        yield error("W319", route, reason, hint=COUNTED if whole else AMOUNT)
    elif not quantity.parse(text):
        yield warning("W320", route, "the request is zero", hint="remove it, or write how much the pods need")


def _share(text: str, route: Route) -> Iterator[Diagnostic]:
    percent = text.removesuffix("%")
    if text != percent:
        if not (percent.isdecimal() and 0 < int(percent) <= 100):
            yield error("W319", route, f'"{text}" is not a percentage', hint='write it like "50%"')
    elif text:
        yield from check_amount(text, route)


def _files(pods: PodSet, route: Route) -> Iterator[Diagnostic]:
    usable = dict.fromkeys(pods.files)
    for path in pods.files:
        wrong = _wrong_path(path, pods)
        if wrong:
            del usable[path]
            yield error("W340", (*route, path, KEY), f'"{path[:200]}" {wrong}', hint='write it like "/opt/job/run.sh"')
    yield from _clashes(usable, route)
    for path, held in pods.files.items():
        if isinstance(held, Binary) and (wrong := _not_base64(held.base64)):
            message = f'the content of "{path[:200]}" is not base64: {wrong}'
            yield error("W345", (*route, path, "base64"), message, hint="write what `base64 FILE` prints")
    for path, held in pods.files.items():
        if (size := content_size(held)) > CONFIG_MAP_LIMIT:
            message = f'"{path[:200]}" has {size:,} bytes; a ConfigMap has at most {CONFIG_MAP_LIMIT:,}'
            yield error("P515", (*route, path), message, hint="put large files into the image or a volume")


def _nul_characters(pods: PodSet, route: Route) -> Iterator[Diagnostic]:
    """W345: bash leaves NUL characters out of a script, so that a line of the text may end a here document."""
    texts: dict[tuple[str | int, ...], Any] = {("env", name): value for name, value in pods.env.items()}
    texts |= {("files", path): content for path, content in pods.files.items()}
    texts |= {(key, n): word for key in ("command", "args") for n, word in enumerate(getattr(pods, key))}
    for place, text in texts.items():
        if isinstance(text, str) and "\0" in text:
            hint = "write the file as base64" if place[0] == "files" else "remove the character"
            yield error("W345", (*route, *place), "the string has a NUL character", hint=hint)


def _not_base64(text: str) -> str:
    """The reason why a string is not base64; empty if it is (RFC 4648, section 4)."""
    strange = re.search(r"[^A-Za-z0-9+/]", text.removesuffix("=").removesuffix("="))
    if strange:
        return f"it contains {strange[0]!a}"
    return f"it has {count(len(text), 'character')}, which is not a multiple of 4" if len(text) % 4 else ""


def _wrong_path(path: str, pods: PodSet) -> str:
    parts = path.split("/")
    if not path.startswith("/"):
        return "is not an absolute path"
    if not re.fullmatch(r"[-._/A-Za-z0-9]+", path):
        return "has characters other than letters, digits, dashes, dots, underscores and slashes"
    if any(part in ("", ".", "..") for part in parts[1:]):
        return "does not name a file"
    if len(file_key(path)) > KEY_LIMIT:
        return f"is longer than {KEY_LIMIT} characters"
    if pods.has_shm and f"{path}/".startswith(f"{SHARED_MEMORY}/"):
        return "is in the shared memory"
    if pods.launcher and (path == MPI_KEYS or path.startswith(f"{MPI_KEYS}/")):
        return "is in the folder of the launcher's ssh key"
    if any(pods.data) and (file_key(path) == file_key(DATA_SCRIPT) or f"{path}/".startswith(f"{DATA_STATE_FOLDER}/")):
        return f'would replace "{DATA_SCRIPT}" or "{DATA_STATE_FOLDER}", which `data` needs'
    if pods.launcher and file_key(path) == file_key(MPI_SCRIPT):
        return f'would replace the launcher\'s script "{MPI_SCRIPT}"'
    return ""


def _clashes(files: Mapping[str, None], route: Route) -> Iterator[Diagnostic]:
    first: dict[str, str] = {}
    for path in files:
        other = first.setdefault(file_key(path), path)
        if other != path:
            message = f'"{path}" and "{other}" would have the same key "{file_key(path)}" in the ConfigMap'
            note = Note("the other file", (*route, other, KEY))
            yield error("W340", (*route, path, KEY), message, hint="rename one of them", notes=(note,))
        parents = [path[:cut] for cut in range(1, len(path)) if path[cut] == "/"]
        for parent in (each for each in parents if each in files):
            note = Note("the file", (*route, parent, KEY))
            message = f'"{path}" is below "{parent}", which is a file'
            yield error("W340", (*route, path, KEY), message, hint="rename one of them", notes=(note,))
