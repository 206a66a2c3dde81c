"""Pod templates: made from a podSet, then merged with what accelerators, fabrics and backends contribute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan.kube.fields import given
from bayplan.kube.merge import overlay
from bayplan.model.manifest import PodParts
from bayplan.model.topology import Pool
from bayplan.model.workflow import PodSet

SHM = "shm"
FILES = "files"
WHOLE_NODE = "bayplan.dev/whole-node"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
APART: Mapping[str, Any] = {
    "labelSelector": {"matchLabels": {WHOLE_NODE: "true"}},
    "topologyKey": "kubernetes.io/hostname",
}
"""No second pod that wants a whole node, even where requests would leave room for one."""

HOST_DNS = "ClusterFirstWithHostNet"
"""Without it a pod in its node's network asks the node's DNS servers, which know no pod (Kubernetes, "DNS for Services
and Pods")."""


def combine(*parts: PodParts) -> PodParts:
    """All parts as one; later maps win, lists follow each other."""
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
    """Fields of a later part win, but its affinity is added to that of the parts before."""
    made: dict[str, Any] = {}
    for spec in specs:
        both = "affinity" in made and "affinity" in spec
        made |= {**spec, "affinity": joined_affinity(made["affinity"], spec["affinity"])} if both else spec
    return made


def joined_affinity(own: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """The terms of both, each once. In a template they do not merge: a list of terms there takes the place of ours."""
    made = {kind: dict(rules or {}) for kind, rules in own.items()}
    for kind, rules in added.items():
        lists = made.setdefault(kind, {})
        for when, terms in rules.items():
            given = lists.get(when) or []
            lists[when] = [*given, *(term for term in terms if term not in given)]
    return made


def template(spec: PodSet, pool: Pool, parts: PodParts, command: tuple[Any, ...]) -> dict[str, Any]:
    """The PodTemplateSpec of a podSet: generated, then the pool's and the podSet's own `template` laid over it."""
    made = _generated(spec, parts, command)
    for patch in _patches(spec, pool):
        made = overlay(made, patch)
    given = made["spec"].pop("tolerations", [])
    added = [dict(t) for t in (*pool.node.tolerations, *parts.tolerations) if t not in given]
    completed = {**made["spec"], **({"tolerations": [*given, *added]} if given or added else {})}
    if "affinity" in parts.spec:
        completed["affinity"] = joined_affinity(completed.get("affinity") or {}, parts.spec["affinity"])
    if completed.get("hostNetwork"):
        completed.setdefault("dnsPolicy", HOST_DNS)
    return {**made, "spec": completed}


def container_name(spec: PodSet) -> str:
    """A `template` with exactly one container names the generated one; else the podSet does."""
    named = containers(spec.template)
    return str(named[0].get("name", spec.name)) if len(named) == 1 else spec.name


def main_patches(spec: PodSet, pool: Pool) -> Iterator[Mapping[str, Any]]:
    """What the pool's and the podSet's `template` lay over the generated container."""
    name = container_name(spec)
    return (each for patch in _patches(spec, pool) for each in containers(patch) if each["name"] == name)


def _patches(spec: PodSet, pool: Pool) -> Iterator[Mapping[str, Any]]:
    """The templates with every container named.

    A container without a name is the generated one. A pool knows no podSet's name, so its others are sidecars.
    """
    name = container_name(spec)
    for patch in (pool.template, spec.template):
        if written := containers(patch):
            named = [{**each, "name": each.get("name", name)} for each in written]
            yield {**patch, "spec": {**patch["spec"], "containers": named}}
        elif patch:
            yield patch


def containers(patch: Mapping[str, Any]) -> list[Any]:
    """The containers of a template, which may be absent or null at every step."""
    return (patch.get("spec") or {}).get("containers") or []


def _generated(spec: PodSet, parts: PodParts, command: tuple[Any, ...]) -> dict[str, Any]:
    return {
        "metadata": given(labels=dict(parts.labels), annotations=dict(parts.annotations)),
        "spec": {
            **parts.spec,
            **given(nodeSelector=dict(parts.node_selector), resourceClaims=list(parts.claims)),
            "restartPolicy": spec.restart_policy,
            "containers": [_container(spec, parts, command)],
            **given(volumes=list(parts.volumes)),
        },
    }


def _container(spec: PodSet, parts: PodParts, command: tuple[Any, ...]) -> dict[str, Any]:
    ports = [{"name": name, "containerPort": port} for name, port in spec.ports.items()]
    claims = [{"name": claim["name"]} for claim in parts.claims]
    amounts = dict(parts.resources)
    limits = {name: amount for name, amount in amounts.items() if name not in parts.unlimited}
    security: dict[str, Any] = {"capabilities": {"add": list(parts.capabilities)}} if parts.capabilities else {}
    security |= {"privileged": True} if parts.privileged else {}
    return {
        "name": container_name(spec),
        **given(image=spec.image, command=list(command), args=list(spec.args), ports=ports, env=list(parts.env)),
        **given(resources=given(requests=amounts, limits=limits, claims=claims)),
        **given(volumeMounts=list(parts.mounts), securityContext=security),
    }


def own_parts(spec: PodSet, pool: Pool, config_map: str) -> PodParts:
    """What the podSet itself asks for: resources, shared memory, files."""
    shm = {"name": SHM, "emptyDir": {"medium": "Memory", "sizeLimit": spec.shm}}
    files = {"name": FILES, "configMap": {"name": config_map, "defaultMode": 0o555}}
    return PodParts(
        node_selector=pool.node.node_selector,
        resources=spec.resources,
        spec={"affinity": {"podAntiAffinity": {REQUIRED: [dict(APART)]}}} if spec.whole_node else {},
        labels={WHOLE_NODE: "true"} if spec.whole_node else {},
        volumes=(*([shm] if spec.shm else []), *([files] if spec.files else [])),
        mounts=(
            *([{"name": SHM, "mountPath": "/dev/shm"}] if spec.shm else []),
            *({"name": FILES, "mountPath": path, "subPath": file_key(path)} for path in spec.files),
        ),
    )


def file_key(path: str) -> str:
    """The ConfigMap key of a file: its path with every slash and odd character as a dot or dash."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in path.strip("/").replace("/", "."))
