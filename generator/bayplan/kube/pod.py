"""Pod templates: generated from a podSet, then merged with the parts of accelerators, fabrics and backends."""

from __future__ import annotations

from binascii import crc32
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import Route
from bayplan.kube import quantity
from bayplan.kube.objects import get, items, mapping, non_empty, text
from bayplan.model.manifest import Manifest, PodParts
from bayplan.model.plan import GangPlan, Plan, Pods
from bayplan.model.target import Target
from bayplan.model.topology import Pool
from bayplan.model.workflow import AUTO_SHM, Binary, Container, EnvFrom, PodSet, Variable, Volume, texts

# Merge one pod template into another, as Kubernetes' strategic merge patch does.

MERGE_KEYS: Mapping[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "env": ("name",),
    "ports": ("containerPort",),
    "resourceClaims": ("name",),
    "claims": ("name",),
    "imagePullSecrets": ("name",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "schedulingGates": ("name",),
}
"""List field -> the keys by which its entries merge (`patchMergeKey` in kubernetes/api core/v1, 1.37; of
topologySpreadConstraints the `listMapKey`s, because two with different whenUnsatisfiable are two)."""

REPLACED = ("volumes", "resourceClaims")
"""Lists whose entries a patch replaces as a whole (`patchStrategy: retainKeys`): a volume has one source, not two."""


def overlay(base: Any, patch: Any, field: str = "") -> Any:
    """`patch` over `base`, as Kubernetes' strategic merge patch does it. It replaces lists without MERGE_KEYS."""
    if isinstance(base, Mapping) and isinstance(patch, Mapping):
        merged = {key: overlay(base.get(key), value, key) for key, value in patch.items() if value is not None}
        return {
            key: merged.pop(key, value) for key, value in base.items() if patch.get(key, value) is not None
        } | merged
    if isinstance(patch, Mapping):
        return {key: overlay(None, value, key) for key, value in patch.items() if value is not None}
    if isinstance(patch, (list, tuple)):
        return _overlay_list(base or (), patch, field) if field in MERGE_KEYS else list(patch)
    return patch


def identity(field: str, entry: Any) -> tuple[str, ...]:
    """The identity of an entry in a list that merges. An entry that is not a mapping is its own identity."""
    if not isinstance(entry, Mapping):
        return ("", repr(entry))
    return tuple(str(entry.get(key)) for key in MERGE_KEYS[field])


def _overlay_list(base: Sequence[Any], patch: Sequence[Any], field: str) -> list[Any]:
    """Entries of the same identity merge in place or replace each other; new ones follow."""
    merged: list[Any] = list(base)
    places: dict[tuple[str, ...], int] = {}
    for place, entry in enumerate(base):
        places.setdefault(identity(field, entry), place)
    for entry in patch:
        place = places.setdefault(identity(field, entry), len(merged))
        below = merged[place] if place < len(merged) and field not in REPLACED else None
        merged[place : place + 1] = [overlay(below, entry)]
    return merged


SHM = "shm"
SHARED_MEMORY = "/dev/shm"
"""Where NCCL and PyTorch's data loaders exchange data on a node. By default a container has 64 MiB of it."""

FILES = "files"
WHOLE_NODE = "bayplan.dev/whole-node"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
APART: Mapping[str, Any] = {
    "labelSelector": {"matchLabels": {WHOLE_NODE: "true"}},
    "topologyKey": "kubernetes.io/hostname",
}
"""No second pod that requests a whole node, even if requests would leave room for one."""

NETWORKS = "k8s.v1.cni.cncf.io/networks"
"""The annotation by which pods request networks of Multus."""

HOST_DNS = "ClusterFirstWithHostNet"
"""Without it, a pod in its node's network asks the node's DNS servers, which know no pods (Kubernetes, "DNS for
Services and Pods")."""


def combine(*parts: PodParts) -> PodParts:
    """All parts as one: later maps take precedence, lists are joined."""
    return PodParts(
        labels=_joined(part.labels for part in parts),
        annotations=_joined(part.annotations for part in parts),
        node_selector=_joined(part.node_selector for part in parts),
        tolerations=tuple(t for part in parts for t in part.tolerations),
        env=tuple(e for part in parts for e in part.env),
        resources=_joined(part.resources for part in parts),
        claims=tuple(c for part in parts for c in part.claims),
        volumes=tuple(v for part in parts for v in part.volumes),
        mounts=tuple(m for part in parts for m in part.mounts),
        capabilities=tuple(c for part in parts for c in part.capabilities),
        privileged=any(part.privileged for part in parts),
        unlimited=frozenset().union(*(part.unlimited for part in parts)),
        spec=_joined_specs(part.spec for part in parts),
    )


def _joined(maps: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {key: value for each in maps for key, value in each.items()}


def _joined_specs(specs: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Fields of a later part take precedence, but its affinity adds to that of earlier parts."""
    joined: dict[str, Any] = {}
    for spec in specs:
        both = "affinity" in joined and "affinity" in spec
        joined |= {**spec, "affinity": joined_affinity(joined["affinity"], spec["affinity"])} if both else spec
    return joined


def joined_affinity(own: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """The terms of both, each once. A template's list of terms does not merge: it replaces bayplan's."""
    joined = {kind: dict(rules or {}) for kind, rules in own.items()}
    for kind, rules in added.items():
        lists = joined.setdefault(kind, {})
        for when, terms in rules.items():
            present = lists.get(when) or []
            lists[when] = [*present, *(term for term in terms if term not in present)]
    return joined


def template(spec: PodSet, pool: Pool, parts: PodParts, command: tuple[Any, ...]) -> dict[str, Any]:
    """The PodTemplateSpec of a podSet: generated, then merged with `templates`."""
    merged: dict[str, Any] = {
        "metadata": non_empty(labels=dict(parts.labels), annotations=dict(parts.annotations)),
        "spec": {
            **parts.spec,
            **non_empty(nodeSelector=dict(parts.node_selector), resourceClaims=list(parts.claims)),
            "restartPolicy": spec.restart_policy,
            "containers": [_container(spec, parts, command)],
            **non_empty(volumes=list(parts.volumes)),
        },
    }
    for patch in _patches(spec, pool):
        merged = overlay(merged, patch)
    own = merged["spec"].pop("tolerations", [])
    added = [dict(t) for t in (*pool.node.tolerations, *parts.tolerations) if t not in own]
    completed = {**merged["spec"], **non_empty(tolerations=[*own, *added])}
    if "affinity" in parts.spec:
        completed["affinity"] = joined_affinity(completed.get("affinity") or {}, parts.spec["affinity"])
    if completed.get("hostNetwork"):
        completed.setdefault("dnsPolicy", HOST_DNS)
    return {**merged, "spec": completed}


def container_name(spec: PodSet) -> str:
    """The main container's name: that of the template's only container, otherwise that of the podSet."""
    named = containers(spec.template)
    return str(named[0].get("name", spec.name)) if len(named) == 1 else spec.name


def main_patches(spec: PodSet, pool: Pool | None) -> Iterator[Mapping[str, Any]]:
    """The patches for the generated container: of the podSet's fields, and of the pool's and its own `template`."""
    name = container_name(spec)
    return (each for patch in _patches(spec, pool) for each in containers(patch) if each["name"] == name)


def templates(spec: PodSet, pool: Pool | None) -> tuple[Mapping[str, Any], ...]:
    """What is merged into a podSet's generated pod: its own fields, its pool's template, its own template."""
    return written(spec), pool.template if pool else {}, spec.template


def _patches(spec: PodSet, pool: Pool | None) -> Iterator[Mapping[str, Any]]:
    """The templates with every container named.

    A container without a name is the generated one. A pool knows no podSet's name, so its others are sidecars.
    """
    name = container_name(spec)
    yield from (named_containers(patch, name) for patch in templates(spec, pool) if patch)


def named_containers(patch: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The template with this name for every container that has none."""
    written = containers(patch)
    named = [{**each, "name": each.get("name", name)} for each in written]
    return {**patch, "spec": {**patch["spec"], "containers": named}} if written else patch


def has_probe(spec: PodSet, key: str) -> bool:
    """Whether the podSet or its template has the probe `key`, such as readinessProbe."""
    own = dict(zip(PROBES, (spec.startup_probe, spec.readiness_probe, spec.liveness_probe), strict=True))
    return bool(own[key]) or any(each.get(key) for each in containers(spec.template))


def containers(patch: Mapping[str, Any]) -> list[Any]:
    """The containers of a template, which may be absent or null at every step."""
    return (patch.get("spec") or {}).get("containers") or []


def _container(spec: PodSet, parts: PodParts, command: tuple[Any, ...]) -> dict[str, Any]:
    ports = [{"name": name, "containerPort": port} for name, port in spec.ports.items()]
    claims = [{"name": claim["name"]} for claim in parts.claims]
    amounts = dict(parts.resources)
    limits = {name: amount for name, amount in amounts.items() if name not in parts.unlimited}
    security: dict[str, Any] = {"capabilities": {"add": list(parts.capabilities)}} if parts.capabilities else {}
    security |= {"privileged": True} if parts.privileged else {}
    return {
        "name": container_name(spec),
        **non_empty(image=spec.image, command=list(command), args=list(spec.args), ports=ports, env=list(parts.env)),
        **non_empty(resources=non_empty(requests=amounts, limits=limits, claims=claims)),
        **non_empty(volumeMounts=list(parts.mounts), securityContext=security),
    }


def own_parts(spec: PodSet, pool: Pool, config_map: str) -> PodParts:
    """What the podSet itself requests: resources, shared memory, files."""
    shm = [shm_volume("" if spec.shm == AUTO_SHM else spec.shm)] if spec.has_shm else []
    return PodParts(
        node_selector=pool.node.node_selector,
        resources=spec.resources,
        spec={"affinity": {"podAntiAffinity": {REQUIRED: [dict(APART)]}}} if spec.whole_node else {},
        labels={WHOLE_NODE: "true"} if spec.whole_node else {},
        volumes=(*shm, *([_files(spec, config_map)] if spec.files else [])),
        mounts=(*(shm_mount() for _ in shm), *map(file_mount, spec.files)),
    )


def shm_volume(size: str) -> Manifest:
    """The volume of a podSet's shared memory. Without a size it can use the pod's memory, and counts against it."""
    return {"name": SHM, "emptyDir": {"medium": "Memory", **({"sizeLimit": size} if size else {})}}


def shm_mount() -> Manifest:
    """The mount of a podSet's shared memory."""
    return {"name": SHM, "mountPath": SHARED_MEMORY}


def has_shared_memory(spec: PodSet, pool: Pool | None) -> bool:
    """Whether a template has its own volume for /dev/shm, or the name of bayplan's, or the memory of its node."""
    specs = [mapping(patch, "spec") for patch in templates(spec, pool)]
    paths = (get(mount, "mountPath") for each in main_patches(spec, pool) for mount in items(each, "volumeMounts"))
    named = (get(volume, "name") for each in specs for volume in items(each, "volumes"))
    return SHARED_MEMORY in paths or SHM in named or any(get(each, "hostIPC") for each in specs)


def file_mount(path: str) -> Manifest:
    """The mount of a podSet's file."""
    return {"name": FILES, "mountPath": path, "subPath": file_key(path)}


def _files(spec: PodSet, config_map: str) -> Manifest:
    names = [name for name, _ in config_map_parts(spec, config_map)]
    if len(names) == 1:
        return {"name": FILES, "configMap": {"name": config_map, "defaultMode": 0o555}}
    return {"name": FILES, "projected": {"sources": [{"configMap": {"name": n}} for n in names], "defaultMode": 0o555}}


CONFIG_MAP_LIMIT = 2**20
"""Bytes of all values together, with `binaryData` decoded (Kubernetes pkg/apis/core/validation: MaxSecretSize also
applies to ConfigMaps)."""


def config_map_parts(spec: PodSet, config_map: str) -> list[tuple[str, list[str]]]:
    """The ConfigMaps of a podSet's files, with the paths in each: as few as hold them in their order."""
    parts: list[list[str]] = [[]]
    room = CONFIG_MAP_LIMIT
    for path, held in spec.files.items():
        size = content_size(held)
        if size > room and parts[-1]:
            parts.append([])
            room = CONFIG_MAP_LIMIT
        parts[-1].append(path)
        room -= size
    # no other object has a name with a dot: those of gangs and podSets are labels
    return [(f"{config_map}.{number}" if number > 1 else config_map, paths) for number, paths in enumerate(parts, 1)]


def content_size(held: str | Binary) -> int:
    """Bytes of a file in a ConfigMap: a binary file counts as decoded."""
    return len(held.encode("utf-8", "surrogatepass")) if isinstance(held, str) else decoded_size(held.base64)


def decoded_size(base64: str) -> int:
    """How many bytes the decoded base64 has."""
    return len(base64.rstrip("=")) * 3 // 4


def file_key(path: str) -> str:
    """The ConfigMap key of a file: its path with dots or dashes for slashes and other characters."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in path.strip("/").replace("/", "."))


# Fields that bayplan writes into pods and templates cannot set.

OWN_FIELDS: Mapping[str, str] = {
    "schedulerName": "use `spec.scheduler`",
    "priorityClassName": "use `spec.priorityClassName`",
    "priority": "use `spec.priorityClassName`",
    "restartPolicy": "use the podSet's `restartPolicy`",
    "nodeName": "use `pool` or `placement`: no scheduler would see the pod",
    "hostname": "remove it: pods find each other by the hostnames that bayplan sets",
    "subdomain": "remove it: pods find each other by the hostnames that bayplan sets",
    "schedulingGates": "remove them: a pod with gates keeps its whole gang waiting",
    "schedulingGroup": "remove it: bayplan sets the scheduler's fields",
}
"""PodSpec field -> the hint."""

OWN_NAMES: Mapping[str, tuple[str, ...]] = {
    "resourceClaims": ("gpu", "nic", "compute-domain"),
    "volumes": ("shm", "files", "data-folders", "data-state"),
}
"""PodSpec list -> entries that bayplan creates itself."""

EXCLUSIVE = (
    "alpha.jobset.sigs.k8s.io/exclusive-topology",
    "leaderworkerset.sigs.k8s.io/exclusive-topology",
    "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology",
)
"""Annotations by which JobSet and LeaderWorkerSet place groups themselves. Later pods wait for the node of the first,
and a gang waits for all of them (JobSet 0.12, pod_mutating_webhook.go; LeaderWorkerSet 0.10, pod_controller)."""

# Names of the objects of a podSet, which all its instances in one gang share.

COMPUTE_DOMAIN_API = "resource.nvidia.com/v1beta1"


def claim_template_name(gang: GangPlan, pods: Pods) -> str:
    """The GPU claim template of a podSet."""
    return f"{gang.name}-{pods.template}-gpu"


def network_claim_name(gang: GangPlan, pods: Pods) -> str:
    """The claim template of a podSet's network cards."""
    return f"{gang.name}-{pods.template}-nic"


BARRIER_SCRIPT = "/etc/barrier/wait"
"""Where pods that wait for each other have the script `barrier.sh`."""

PROBES = ("startupProbe", "readinessProbe", "livenessProbe")


def cannot_wait(spec: PodSet, pool: Pool | None) -> tuple[str, str]:
    """Why pods cannot wait for others before their command, and what to change; empty strings if they can."""
    mains = list(main_patches(spec, pool))
    patches = (spec.template, pool.template if pool else {})
    policy = next((found for each in patches if (found := get(each, "spec", "dnsPolicy"))), "")
    gates = any(get(each, "spec", "readinessGates") for each in patches)
    folder = BARRIER_SCRIPT.rpartition("/")[0]
    inside = next((path for path in spec.files if f"{path}/".startswith(f"{folder}/")), "")
    if any(each.get("command") for each in mains):
        return "its command is in `template`", "set `command` on the podSet itself"
    if not spec.command:
        return "it has no `command`", "set `command`"
    for probe in PROBES:
        if [each[probe] for each in mains if probe in each][-1:] not in ([], [None]):
            return f"its {probe} fails until the command runs", f"remove the {probe}"
    if beside := next((each.name for each in spec.sidecars if each.readiness_probe), ""):
        why = f'the readinessProbe of its sidecar "{beside}" may wait for the command'
        return why, "make it a startupProbe, which only the sidecar needs"
    searches = any(get(each, "spec", "dnsConfig", "searches") for each in patches)
    elsewhere = {"Default": True, "None": not searches, "ClusterFirst": host_network(spec, pool)}
    if elsewhere.get(policy):
        return f"its `dnsPolicy: {policy}` asks servers that know no Services", "remove `dnsPolicy`"
    if gates:
        return "its `readinessGates` may wait for the command", "remove `readinessGates`"
    return (f'its file "{inside}" is where bayplan mounts a script', "rename the file") if inside else ("", "")


def host_network(spec: PodSet, pool: Pool | None) -> bool | None:
    """Whether the pod's template, or its pool's, requests the node's network. None if they do not say so."""
    values = (get(each, "spec", "hostNetwork") for each in (spec.template, pool.template if pool else {}))
    return next((bool(value) for value in values if value is not None), None)


def host_ports(spec: Mapping[str, Any], on_host: bool = False) -> Iterator[int]:
    """The TCP ports of the node that the containers and sidecars of a pod name.

    `on_host`: the pod is in the node's network, where the API server sets `hostPort` of every port.
    """
    before = (each for each in items(spec, "initContainers") if get(each, "restartPolicy") == "Always")
    for container in (*items(spec, "containers"), *before):
        for port in items(container, "ports"):
            number = get(port, "hostPort") or (on_host and get(port, "containerPort"))
            if isinstance(number, int) and number and text(port, "protocol") in ("", "TCP"):
                yield number


def may_share_address(everyone: Sequence[tuple[PodSet, Pool | None]], total: int) -> bool:
    """Whether two of these pods in their nodes' network may be on one node. `total`: how many pods they are."""
    ports = [set(spec.ports.values()) for spec, _ in everyone]
    return total > 1 and not all(fills_node(*each) for each in everyone) and not set.intersection(*ports)


def fills_node(spec: PodSet, pool: Pool | None) -> bool:
    """Whether a node has no room for a second such pod."""
    cards = spec.accelerator.per_pod if spec.accelerator and spec.accelerator.whole else 0
    return spec.whole_node or (pool is not None and 2 * cards > pool.node.accelerators)


MPI_SCRIPT = "/etc/mpi-launcher/launch"
"""Where pods with `launcher: mpi` have the script `mpi.sh`."""

MPI_KEYS = "/etc/mpi-launcher/ssh"
"""Where they have the Secret with their ssh key."""


def mpi_slots(spec: PodSet) -> int:
    """The ranks that mpirun may start in each pod: MPI_SLOTS of the user, or its number of GPUs, or one."""
    slots = quantity.whole(texts(spec.env).get("MPI_SLOTS", ""), 9)
    return slots or (spec.accelerator.per_pod if spec.accelerator else 0) or 1


def mpi_secret_name(plan: Plan) -> str:
    """The Secret with the ssh key of a workflow's MPI jobs. Its keys are those of mpi-operator's Secrets."""
    return f"{plan.workflow.name}-mpi"


DATA_SCRIPT = "/etc/data/move"
"""Where pods with `data` have the script `data.sh`."""

DATA_FOLDERS = "data-folders"
"""The volume of the folders that no other volume holds."""

DATA_STATE, DATA_STATE_FOLDER = "data-state", "/run/data"
"""The volume by which the command and its uploads wait for each other, and its folder."""

URLS: Mapping[str, tuple[str, int]] = {
    "s3": ("s3://BUCKET/FOLDER", 1),
    "gs": ("gs://BUCKET/FOLDER", 1),
    "azure": ("azure://ACCOUNT/CONTAINER/FOLDER", 2),
    "swift": ("swift://HOST/ACCOUNT/CONTAINER/FOLDER", 3),
    "tos": ("tos://HOST/BUCKET/FOLDER", 2),
}
"""Scheme of a URL of `data` -> its form, and how many parts name the bucket (OSMO 6.4, src/lib/api/storage.py)."""


def mover_kind(container: Mapping[str, Any]) -> str:
    """`fetch` or `upload` for settings of a data mover in a template, which have no image; empty for others."""
    kind, _, scheme = str(container.get("name", "")).partition("-")
    return kind if scheme in URLS and kind in ("fetch", "upload") and "image" not in container else ""


def without_idle_movers(template: Manifest) -> dict[str, Any]:
    """The template without settings of data movers that its pods do not have."""
    spec = template["spec"]
    if "initContainers" not in spec:
        return dict(template)
    kept = [each for each in spec["initContainers"] if not mover_kind(each)]
    others = {key: value for key, value in spec.items() if key != "initContainers"}
    return {**template, "spec": {**others, **non_empty(initContainers=kept)}}


STORE = "store"
"""The scheme of URLs in the topology's `dataStore`."""


def data_url(plan: Plan, url: str, pool: str) -> str:
    """The URL, with a folder of the pool's store for `store:FOLDER` (of this workflow) and `store:/WORKFLOW/FOLDER`."""
    scheme, _, folder = url.partition(":")
    if scheme != STORE:
        return url
    inside = folder.lstrip("/") if folder.startswith("/") else f"{plan.workflow.name}/{folder}"
    return f"{plan.topology.store(pool).rstrip('/')}/{plan.namespace}/{inside}"


def config_map_name(gang: GangPlan, pods: Pods) -> str:
    """The first ConfigMap of a podSet's files."""
    return f"{gang.name}-{pods.template}-files"


# The order of environment variables: Kubernetes expands `$(NAME)` only if NAME is earlier in the list.


def entries(env: Mapping[str, str | Variable]) -> tuple[Mapping[str, Any], ...]:
    """The variables by name, each after those that its value refers to.

    No order expands all of a circle: the reference that leads back to where the walk entered it stays as it is, and
    the walk enters by the first name.
    """
    return tuple(_entry(name, env[name]) for name in _walk(env))


def _entry(name: str, value: str | Variable) -> Mapping[str, Any]:
    """An entry of a container's `env`."""
    if isinstance(value, str):
        return {"name": name, "value": value}
    if value.field:
        return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": value.field}}}
    if value.resource:
        return {"name": name, "valueFrom": {"resourceFieldRef": {"resource": value.resource}}}
    kind = "secretKeyRef" if value.secret else "configMapKeyRef"
    optional = non_empty(optional=value.optional)
    return {"name": name, "valueFrom": {kind: {"name": value.secret or value.config_map, "key": value.key, **optional}}}


def _walk(env: Mapping[str, str | Variable]) -> Iterator[str]:
    """Every variable once, depth first, with its own stack: chains may be longer than Python's stack."""
    seen: set[str] = set()
    stack = [(name, False) for name in sorted(env, reverse=True)]
    while stack:
        name, done = stack.pop()
        if done:
            yield name
        elif name not in seen:
            seen.add(name)
            stack.append((name, True))
            stack += [(other, False) for other in sorted(_references(env[name]), reverse=True) if other in env]


def _references(value: str | Variable) -> set[str]:
    """The names in `$(NAME)`. An escaped `$$(NAME)` counts too: it only makes the order stricter."""
    parts = value.split("$(")[1:] if isinstance(value, str) else ()
    return {part.partition(")")[0] for part in parts if ")" in part}


# The fields of a podSet that a PodTemplateSpec also has: volumes, probes, other containers.

SCRIPTS = (MPI_SCRIPT, DATA_SCRIPT)
"""Files that bayplan adds, which other containers do not need."""


def written(spec: PodSet) -> Mapping[str, Any]:
    """These fields of a podSet, as a template that bayplan merges into the generated pod before all others."""
    named = volume_names(spec)
    main = {
        **non_empty(workingDir=spec.working_dir, envFrom=_env_from(spec.env_from)),
        **_probes(spec),
        **non_empty(volumeMounts=_mounts(spec.volumes, "", named)),
    }
    grace = spec.termination_grace_period_seconds
    fields = {
        **non_empty(
            serviceAccountName=spec.service_account,
            containers=[{"name": container_name(spec), **main}] if main else [],
            initContainers=before_main(spec),
            volumes=volumes(spec),
        ),
        **({} if grace is None else {"terminationGracePeriodSeconds": grace}),
    }
    return {"spec": fields} if fields else {}


def before_main(spec: PodSet) -> list[Manifest]:
    """The init containers, then the sidecars. The kubelet starts the next one when an init container has ended, or when
    a sidecar has started (`restartPolicy: Always`, since Kubernetes 1.29)."""
    named = volume_names(spec)
    return [
        *(_beside(spec, each, named) for each in spec.init_containers),
        *({**_beside(spec, each, named), "restartPolicy": "Always"} for each in spec.sidecars),
    ]


def _beside(spec: PodSet, each: Container, named: Mapping[tuple[str, str], str]) -> Manifest:
    wanted = each.mounts
    shared = {path: volume for path, volume in spec.volumes.items() if wanted is None or path in wanted}
    files = [path for path in spec.files if path not in SCRIPTS and (wanted is None or path in wanted)]
    mounts = [
        *_mounts({path: volume for path, volume in shared.items() if path not in each.volumes}, "", named),
        *(file_mount(path) for path in files if path not in each.volumes),
        *_mounts(each.volumes, each.name, named),
    ]
    amounts = dict(each.resources)
    return {
        "name": each.name,
        **non_empty(image=each.image, command=list(each.command), args=list(each.args), workingDir=each.working_dir),
        **non_empty(ports=[{"name": name, "containerPort": port} for name, port in each.ports.items()]),
        **non_empty(env=list(entries(each.env)), envFrom=_env_from(each.env_from)),
        **_probes(each),
        **non_empty(resources=non_empty(requests=amounts, limits=amounts), volumeMounts=mounts),
    }


def _probes(each: PodSet | Container) -> dict[str, Any]:
    return non_empty(
        startupProbe=each.startup_probe, readinessProbe=each.readiness_probe, livenessProbe=each.liveness_probe
    )


def _env_from(sources: Sequence[EnvFrom]) -> list[Manifest]:
    return [
        {
            **non_empty(prefix=each.prefix),
            "secretRef" if each.secret else "configMapRef": {
                "name": each.secret or each.config_map,
                **non_empty(optional=each.optional),
            },
        }
        for each in sources
    ]


def _mounts(mounted: Mapping[str, Volume], owner: str, named: Mapping[tuple[str, str], str]) -> list[Manifest]:
    return [
        {
            "name": named[owner, path],
            "mountPath": path,
            **non_empty(subPath=each.sub_path, readOnly=each.read_only),
        }
        for path, each in mounted.items()
    ]


def all_volumes(spec: PodSet) -> Iterator[tuple[str, str, Volume]]:
    """The only container that has it (empty: all have it), the path and the volume, in the order of the names."""
    yield from (("", path, each) for path, each in spec.volumes.items())
    for container in (*spec.init_containers, *spec.sidecars):
        yield from ((container.name, path, each) for path, each in container.volumes.items())


def volumes(spec: PodSet) -> list[Manifest]:
    """The volumes of the pod, each once."""
    named = volume_names(spec)
    sources = {named[owner, path]: _source(each) for owner, path, each in all_volumes(spec)}
    return [{"name": name, **source} for name, source in sources.items()]


def volume_names(spec: PodSet) -> Mapping[tuple[str, str], str]:
    """(Container, path) -> the name of its volume: the kind and the name or path of its source.

    Equal sources are one volume. An empty folder or an ephemeral volume has no name, so each path has its own.
    """
    names: dict[tuple[str, str], str] = {}
    sources: dict[str, str] = {}
    for owner, path, each in all_volumes(spec):
        source = repr((_source(each), *((owner, path) if each.empty_dir or each.ephemeral else ())))
        if source not in sources:
            name = _slug(*_called(each, owner, path))
            taken = name in sources.values()
            sources[source] = f"{name[:54].rstrip('-')}-{crc32(source.encode()):08x}" if taken else name
        names[owner, path] = sources[source]
    return names


def _called(each: Volume, owner: str, path: str) -> tuple[str, ...]:
    """The words of a volume's name."""
    if each.nfs:
        return "nfs", each.nfs.server, each.nfs.path
    named = {
        "claim": each.claim,
        "host": each.host_path,
        "config": each.config_map,
        "secret": each.secret,
        "csi": str(each.csi.get("driver", "")),
    }
    found = next(((kind, name) for kind, name in named.items() if name), None)
    return found or ("ephemeral" if each.ephemeral else "projected" if each.projected else "empty", owner, path)


def _slug(*words: str) -> str:
    """A DNS label of the words. Names that were equal before get a checksum where the volumes are named."""
    text = "-".join(words).lower()
    label = "".join(c if c.isascii() and c.isalnum() else "-" for c in text)
    return "-".join(filter(None, label.split("-")))[:63].rstrip("-")


def _source(each: Volume) -> Manifest:
    """The source of a volume, without its name."""
    mode = {"defaultMode": int(each.mode, 8)} if each.mode else {}
    listed = non_empty(items=[{"key": key, "path": path} for key, path in each.items.items()])
    shared = {**listed, **mode, **non_empty(optional=each.optional)}
    if each.claim:
        return {"persistentVolumeClaim": {"claimName": each.claim}}
    if each.ephemeral:
        claim = {
            "accessModes": [each.ephemeral.access_mode],
            **non_empty(storageClassName=each.ephemeral.storage_class),
            "resources": {"requests": {"storage": each.ephemeral.size}},
        }
        return {"ephemeral": {"volumeClaimTemplate": {"spec": claim}}}
    if each.host_path:
        return {"hostPath": {"path": each.host_path, **non_empty(type=each.type)}}
    if each.config_map:
        return {"configMap": {"name": each.config_map, **shared}}
    if each.secret:
        return {"secret": {"secretName": each.secret, **shared}}
    if each.projected:
        return {"projected": {"sources": list(each.projected), **mode}}
    if each.nfs:
        return {"nfs": {"server": each.nfs.server, "path": each.nfs.path}}
    if each.csi:  # drivers such as secrets-store refuse a volume that is not read-only itself
        return {"csi": {**each.csi, **non_empty(readOnly=each.read_only)}}
    empty = each.empty_dir
    return {"emptyDir": non_empty(medium=empty.medium, sizeLimit=empty.size) if empty else {}}


def field_of(spec: PodSet, path: Sequence[str | int]) -> Route:
    """The podSet's field from which a path in the spec of `written` comes."""
    kind, number = path[0], int(path[1]) if len(path) > 1 else 0
    if kind == "volumes":
        name = volumes(spec)[number]["name"]
        owner, at = next(place for place, each in volume_names(spec).items() if each == name)
        owners = [each["name"] for each in before_main(spec)]
        return (*(_beside_route(spec, owners.index(owner)) if owner else ()), kind, at)
    if kind == "initContainers":
        return _beside_route(spec, number)
    if kind == "containers":
        return tuple(path[2:3])
    return ("serviceAccount",) if kind == "serviceAccountName" else (kind,)


def _beside_route(spec: PodSet, number: int) -> Route:
    first = len(spec.init_containers)
    return ("initContainers", number) if number < first else ("sidecars", number - first)


def device_request(name: str, request: Mapping[str, Any], target: Target) -> dict[str, Any]:
    """One request of a claim. Its fields are beside the name in v1beta1, and under `exactly` in later versions."""
    flat = resource_api(target) == "resource.k8s.io/v1beta1"
    return {"name": name, **request} if flat else {"name": name, "exactly": request}


def resource_api(target: Target) -> str:
    """`resource.k8s.io` is v1beta1 in 1.32, v1beta2 in 1.33, v1 since 1.34."""
    if target.since("kubernetes", "1.34"):
        return "resource.k8s.io/v1"
    return "resource.k8s.io/v1beta2" if target.since("kubernetes", "1.33") else "resource.k8s.io/v1beta1"
