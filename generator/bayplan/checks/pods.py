"""Checks of a podSet's volumes, variables, probes and other containers.

The rules are those of Kubernetes 1.37 (`pkg/apis/core/validation/validation.go`), unless a docstring names another
source.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from bayplan.checks.templates import check_amount
from bayplan.core.diagnostics import KEY, Diagnostic, Note, Route, error, warning
from bayplan.core.phrases import listing, shorten, suggest
from bayplan.kube import validation
from bayplan.kube.objects import items, mapping, text
from bayplan.kube.pod import (
    BARRIER_SCRIPT,
    DATA_SCRIPT,
    DATA_STATE_FOLDER,
    MPI_KEYS,
    MPI_SCRIPT,
    PROBES,
    URLS,
    all_volumes,
    container_name,
    field_of,
    volume_names,
    written,
)
from bayplan.kube.ranks import OWN, REFERENCE
from bayplan.model.encoding import encode
from bayplan.model.plan import GANG_COUNT, GANG_INDEX
from bayplan.model.workflow import Container, EnvFrom, Place, PodSet, Variable, Volume, Workflow, pod_sets, words
from bayplan.schemas import is_dns_subdomain

SOURCES = ("claim", "ephemeral", "hostPath", "emptyDir", "configMap", "secret", "projected", "nfs", "csi")
"""Keys of a volume, of which it has exactly one."""

ONLY_OF: Mapping[str, tuple[str, ...]] = {
    "type": ("hostPath",),
    "items": ("configMap", "secret"),
    "optional": ("configMap", "secret"),
    "mode": ("configMap", "secret", "projected"),
}
"""Key of a volume -> the sources that it describes."""

FIXED = ("configMap", "secret", "projected")
"""Sources whose files no container can change (Kubernetes 1.37, pkg/volume/configmap, secret, projected)."""

LITERAL: Mapping[str, str] = {
    "MASTER_PORT": "the port of rank 0",
    "MPI_SLOTS": "the ranks of each pod",
}
"""Variables that bayplan itself reads."""


def check(workflow: Workflow) -> Iterator[Diagnostic]:
    """W313, W338, W339, W394, for podSets with these fields."""
    for place in pod_sets(workflow):
        if written(place.pods) or any(isinstance(each, Variable) for each in place.pods.env.values()):
            yield from _volumes(place)
            yield from _mounts(place)
            yield from _variables(place.pods, place.route)
            yield from _probes(place.pods, place.route)
            yield from _containers(place)
            yield from _conflicts(place)


# Volumes.


def _volumes(place: Place) -> Iterator[Diagnostic]:
    """W338 and W339."""
    pods, route, _ = place
    account = pods.service_account
    if account and not is_dns_subdomain(account):
        yield _name("ServiceAccount", account, (*route, "serviceAccount"))
    for owner, path, each in all_volumes(pods):
        at: Route = (*route, *_owner_route(pods, owner), "volumes", path)
        fields = encode(each)
        found = [key for key in SOURCES if key in fields]
        if len(found) != 1:
            what = f"has {listing(found, 'and')}" if found else "has no source"
            hint = "remove all but one of them" if found else f"add one of {listing(SOURCES)}"
            yield error("W338", at, f'the volume at "{shorten(path)}" {what}', hint=hint)
            continue
        for key, sources in ONLY_OF.items():
            if key in fields and found[0] not in sources:
                message = f"`{key}` has no meaning for `{found[0]}`"
                yield error("W338", (*at, key), message, hint=f"remove `{key}`, or use it with {listing(sources)}")
        yield from _values(each, found[0], fields, at)


def _values(each: Volume, kind: str, fields: Mapping[str, Any], at: Route) -> Iterator[Diagnostic]:
    named = {"claim": "PersistentVolumeClaim", "configMap": "ConfigMap", "secret": "Secret"}
    if kind in named and not is_dns_subdomain(str(fields[kind])):
        yield _name(named[kind], str(fields[kind]), (*at, kind))
    if each.ephemeral:
        yield from check_amount(each.ephemeral.size, (*at, kind, "size"))
        if each.ephemeral.storage_class and not is_dns_subdomain(each.ephemeral.storage_class):
            yield _name("StorageClass", each.ephemeral.storage_class, (*at, kind, "storageClass"))
    if each.empty_dir and each.empty_dir.size:
        yield from check_amount(each.empty_dir.size, (*at, kind, "size"))
    secret = str(mapping(each.csi, "nodePublishSecretRef").get("name", ""))
    if secret and not is_dns_subdomain(secret):
        yield _name("Secret", secret, (*at, kind, "nodePublishSecretRef", "name"))
    paths: list[tuple[str, Route]] = [(each.host_path, (*at, kind)), (each.sub_path, (*at, "subPath"))]
    paths += [(file, (*at, "items", key)) for key, file in each.items.items()]
    for path, where in paths:
        if ".." in path.split("/") or (where[-2:-1] == ("items",) and path.startswith("..")):
            message = f'"{shorten(path)}" has "..", which Kubernetes refuses'
            yield error("W339", where, message, hint="write the path without it")
    files: dict[str, str] = {}
    for key, file in each.items.items():
        if (other := files.setdefault(file, key)) != key:
            message = f'the keys "{other}" and "{key}" would be the same file "{shorten(file)}"'
            yield error("W339", (*at, "items", key), message, hint="give each key a file of its own")
    for number, source in enumerate(each.projected):
        yield from _projected(source, (*at, kind, number))


PROJECTED: Mapping[str, tuple[str, ...]] = {
    "secret": ("name",),
    "configMap": ("name",),
    "downwardAPI": ("items",),
    "serviceAccountToken": ("path",),
    "clusterTrustBundle": ("path",),
    "podCertificate": ("signerName", "keyType"),
}
"""Source of a projected volume -> the fields that it needs."""


def _projected(source: Mapping[str, Any], at: Route) -> Iterator[Diagnostic]:
    """W339. Fields that Kubernetes does not know are left to `faults` of kube/pod_fields.py."""
    found = [key for key in source if source[key] is not None]
    if len(found) != 1 or found[0] not in PROJECTED:
        message = f"a projected source needs exactly one of {listing(PROJECTED)}"
        yield error("W339", at, message, hint="write each source as an entry of its own")
        return
    lacking = [key for key in PROJECTED[found[0]] if not mapping(source, found[0]).get(key)]
    if lacking:
        yield error("W339", (*at, found[0]), f"`{found[0]}` has no `{lacking[0]}`", hint=f"add `{lacking[0]}`")


def _name(kind: str, name: str, at: Route) -> Diagnostic:
    message = f'"{shorten(name)}" cannot be the name of a {kind}'
    return error("W339", at, message, hint="write its name: DNS labels, joined by dots")


def _owner_route(pods: PodSet, owner: str) -> Route:
    """The place of a container in its podSet; empty for the podSet itself."""
    for key, containers in (("initContainers", pods.init_containers), ("sidecars", pods.sidecars)):
        for number, each in enumerate(containers):
            if owner and each.name == owner:
                return (key, number)
    return ()


# Mounts: which paths a container has, and which of them cannot be there together.


def _mounts(place: Place) -> Iterator[Diagnostic]:
    """W340."""
    pods, route, owner = place
    ours = dict.fromkeys(_own_paths(pods, owner.gang.barrier != "none"), "")
    ours |= {"/dev/shm": "set `shm` to the size of the shared memory"}
    paths: dict[str, Route] = {}
    for container, path, each in all_volumes(pods):
        at: Route = (*route, *_owner_route(pods, container), "volumes", path)
        if set(path.split("/")[1:]) & {"", ".", ".."}:
            message = f'"{shorten(path)}" is not the path of a folder or file'
            yield error("W340", (*at, KEY), message, hint='write it like "/data"')
        elif path in ours:
            message = f'bayplan itself mounts "{path}"'
            yield error("W340", (*at, KEY), message, hint=ours[path] or "choose another path")
        elif not container and path in pods.files:
            note = Note("the file", (*route, "files", path, KEY))
            message = f'"{path}" is both a volume and a file'
            yield error("W340", (*at, KEY), message, hint="choose another path for one of them", notes=(note,))
        elif not container:
            yield from _inside(pods, path, each, at, ours)
        paths.setdefault(path, at)
    for number, transfer in enumerate(pods.data.inputs):
        around = [path for path in pods.volumes if f"{transfer.path.rstrip('/')}/".startswith(f"{path}/")]
        if around and _fixed(pods.volumes[max(around, key=len)]):
            message = f'no container can write to "{max(around, key=len)}", where `data` fetches to'
            note = Note("the volume", (*route, "volumes", max(around, key=len), KEY))
            at = (*route, "data", "inputs", number, "path")
            yield error("W340", at, message, hint="fetch into another folder", notes=(note,))


def _inside(pods: PodSet, path: str, each: Volume, at: Route, ours: Collection[str]) -> Iterator[Diagnostic]:
    """Mounts inside a volume that is read-only: the runtime cannot make the folder or file to mount them on (runc 1.3,
    libcontainer/rootfs_linux.go)."""
    for file in pods.files:
        if path.startswith(f"{file}/"):
            message = f'"{path}" is below "{file}", which is a file'
            yield error("W340", (*at, KEY), message, hint="choose another path for one of them")
    if not (each.read_only or _fixed(each)):
        return
    below = [other for other in (*pods.volumes, *pods.files, *ours) if other.startswith(f"{path}/")]
    if below:
        message = f'"{below[0]}" is inside of "{path}", which is read-only, so the container cannot start'
        yield error("W340", (*at, KEY), message, hint="mount one of them elsewhere")


def _fixed(each: Volume) -> bool:
    return bool(each.config_map or each.secret or each.projected)


def _own_paths(pods: PodSet, waits: bool) -> Iterator[str]:
    """The paths that bayplan mounts in these pods."""
    if pods.launcher:
        yield from (MPI_KEYS, MPI_SCRIPT)
    if any(pods.data):
        yield from (DATA_STATE_FOLDER, DATA_SCRIPT)
    if waits:
        yield BARRIER_SCRIPT.rpartition("/")[0]


# Variables.


def _variables(owner: PodSet | Container, route: Route) -> Iterator[Diagnostic]:
    """W338."""
    for name, value in owner.env.items():
        if isinstance(value, Variable):
            at: Route = (*route, "env", name)
            if name in LITERAL and isinstance(owner, PodSet):
                message = f"bayplan reads {name}, {LITERAL[name]}, so its value must be in the file"
                yield error("W338", at, message, hint="write the value")
            yield from _variable(value, at)
    for number, source in enumerate(owner.env_from):
        yield from _source(source, (*route, "envFrom", number))


def _variable(value: Variable, at: Route) -> Iterator[Diagnostic]:
    fields = encode(value)
    found = [key for key in ("secret", "configMap", "field", "resource") if key in fields]
    if len(found) != 1:
        what = f"has {listing(found, 'and')}" if found else "has no source"
        hint = "remove all but one of them" if found else "add secret, configMap, field or resource"
        yield error("W338", at, f'the variable "{at[-1]}" {what}', hint=hint)
    elif found[0] in ("secret", "configMap"):
        if not is_dns_subdomain(fields[found[0]]):
            yield _name(found[0][0].upper() + found[0][1:], fields[found[0]], (*at, found[0]))
        if "key" not in fields:
            message = f'the variable "{at[-1]}" names no key of `{found[0]}`'
            yield error("W338", at, message, hint="add `key`, or use `envFrom` for all keys")
    elif lost := [key for key in ("key", "optional") if key in fields]:
        message = f"`{lost[0]}` has no meaning for `{found[0]}`"
        yield error("W338", (*at, lost[0]), message, hint=f"remove `{lost[0]}`")
    elif value.field and (wrong := validation.field(value.field)):
        yield error("W338", (*at, "field"), wrong, hint=validation.FIELD_HINT)


def _source(source: EnvFrom, at: Route) -> Iterator[Diagnostic]:
    if bool(source.secret) == bool(source.config_map):
        what = "both secret and configMap" if source.secret else "neither secret nor configMap"
        hint = "write two entries" if source.secret else "add one of them"
        yield error("W338", at, f"an entry of `envFrom` has {what}", hint=hint)
    elif not is_dns_subdomain(name := source.secret or source.config_map):
        key = "secret" if source.secret else "configMap"
        yield _name(key[0].upper() + key[1:], name, (*at, key))


# Probes.

HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")


def _probes(owner: PodSet | Container, route: Route) -> Iterator[Diagnostic]:
    """W339."""
    fields = encode(owner)
    for name in (each for each in PROBES if each in fields):
        probe, at = fields[name], (*route, name)
        found = [key for key in HANDLERS if key in probe]
        if len(found) != 1:
            what = f"has {listing(found, 'and')}" if found else "does not say what to ask"
            hint = "remove all but one of them" if found else f"add one of {listing(HANDLERS)}"
            yield error("W339", at, f"the {name} {what}", hint=hint)
        port = mapping(probe, found[0]).get("port") if found else None
        if isinstance(port, str) and port not in owner.ports:
            hint = suggest(port, owner.ports, "ports") or f"add it: `ports: {{{port}: NUMBER}}`"
            message = f'the {name} asks port "{port}", which the container does not have'
            yield error("W339", (*at, found[0], "port"), message, hint=hint)
        if name != "readinessProbe" and probe.get("successThreshold", 1) != 1:
            message = f"`successThreshold` of a {name} must be 1"
            yield error("W339", (*at, "successThreshold"), message, hint="remove it")
        if name == "readinessProbe" and "terminationGracePeriodSeconds" in probe:
            message = "a readinessProbe ends no container, so it has no `terminationGracePeriodSeconds`"
            yield error("W339", (*at, "terminationGracePeriodSeconds"), message, hint="remove it")


# Init containers and sidecars.


def _containers(place: Place) -> Iterator[Diagnostic]:
    """W339."""
    pods, route, _ = place
    others = (*pods.init_containers, *pods.sidecars)
    routes = [(*route, *_place_of(pods, number)) for number in range(len(others))]
    main = container_name(pods)
    known = {*pods.volumes, *pods.files}
    taken: dict[str, Route] = {}
    for each, at in zip(others, routes, strict=True):
        reserved = each.name.partition("-")[0] in ("fetch", "upload") and each.name.partition("-")[2] in URLS
        if each.name == main or reserved:
            what = "the main container" if each.name == main else "a container that moves data"
            yield error("W339", (*at, "name"), f'"{each.name}" is the name of {what}', hint="rename it")
        elif (first := taken.setdefault(each.name, at)) != at:
            note = Note("the other container", (*first, "name"))
            message = f'two containers have the name "{each.name}"'
            yield error("W339", (*at, "name"), message, hint="rename one of them", notes=(note,))
        if not each.image:
            yield error("W339", at, f'container "{each.name}" has no image', hint="set `image` on it, or in `defaults`")
        for number, path in enumerate(each.mounts or ()):
            if path not in known:
                hint = suggest(path, sorted(known), "paths") or "add it to `volumes`"
                message = f'the podSet has no volume and no file at "{shorten(path)}"'
                yield error("W339", (*at, "mounts", number), message, hint=hint)
        for name, amount in each.resources.items():
            yield from check_amount(amount, (*at, "resources", name), whole="/" in name)
        yield from _variables(each, at)
        yield from _probes(each, at)
        yield from _missing(each, at, place)


def _missing(each: Container, at: Route, place: Place) -> Iterator[Diagnostic]:
    """W394: a reference to a variable that only the main container has. Copies of a gang give theirs to all containers,
    and the Job controller its index.

    Kubernetes 1.37, third_party/forked/golang/expansion/expand.go: a reference to no variable stays as it is.
    """
    pods, gang = place.pods, place.owner.gang
    given = {*(gang.rows[0] if gang.rows else ()), *((GANG_INDEX, GANG_COUNT) if gang.replicas > 1 else ())}
    main = {*pods.env, *OWN} - given - each.env.keys() - {"JOB_COMPLETION_INDEX"}
    for route, word in words(each) if not each.env_from else ():
        for name in dict.fromkeys(found[1] for found in REFERENCE.finditer(word) if found[1] in main):
            message = f'nothing sets {name} in container "{each.name}", so it gets the text "$({name})"'
            hint = f"add {name} to `env` of the container" if name in pods.env else "read it in the main container"
            yield warning("W394", (*at, *route), message, hint=f"{hint}, or write $$({name}) for the text")


def _place_of(pods: PodSet, number: int) -> Route:
    first = len(pods.init_containers)
    return ("initContainers", number) if number < first else ("sidecars", number - first)


# Fields that the podSet and its template both set: the template would replace some, and mix others.

MIXED = ("workingDir", "envFrom", *PROBES)
"""Fields of the main container."""

NEVER_BOTH = ("serviceAccountName", "terminationGracePeriodSeconds")


def _conflicts(place: Place) -> Iterator[Diagnostic]:
    """W313."""
    pods, route, _ = place
    own, template = written(pods).get("spec") or {}, mapping(pods.template, "spec")
    at: Route = (*route, "template", "spec")
    for key in NEVER_BOTH:
        if key in own and key in template:
            yield _both(field_of(pods, (key,))[0], (*at, key, KEY), route)
    names = set(volume_names(pods).values())
    for number, each in enumerate(items(template, "volumes")):
        if text(each, "name") in names:
            message = f'the template has a volume "{each["name"]}", which is the name of one of `volumes`'
            yield error("W313", (*at, "volumes", number, "name"), message, hint="rename it")
    main: Mapping[str, Any] = next(iter(own.get("containers", ())), {})
    for number, each in enumerate(items(template, "containers")):
        if (text(each, "name") or container_name(pods)) != container_name(pods):
            continue
        here: Route = (*at, "containers", number)
        for key in MIXED:
            if key in main and key in each:
                yield _both(key, (*here, key, KEY), route)
        for index, mount in enumerate(items(each, "volumeMounts")):
            if text(mount, "mountPath") in pods.volumes:
                message = f'the template cannot mount "{mount["mountPath"]}": it is one of `volumes`'
                where: Route = (*here, "volumeMounts", index, "mountPath")
                yield error("W313", where, message, hint="choose another path, or remove one of the two")


def _both(key: Any, at: Route, route: Route) -> Diagnostic:
    note = Note("the podSet sets it here", (*route, key))
    message = f"both the podSet and its template set `{key}`"
    return error("W313", at, message, hint="remove it from the template", notes=(note,))
