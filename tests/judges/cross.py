"""Rules between objects that no API server checks and that leave pods pending for ever.

Sources: dra-driver-nvidia-gpu cmd/compute-domain-controller and cmd/compute-domain-kubelet-plugin (v25.3 to v0.4),
kai-scheduler pkg/scheduler/api (v0.10 to v0.17).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from judges import volcano
from judges.syntax import walk
from judges.versions import NEWEST, at_least
from judges.workloads import templates

Document = Mapping[str, Any]
Key = tuple[str, str]  # namespace, name


def judge(documents: list[Document], target: Mapping[str, str]) -> list[str]:
    """Complaints about a set of objects as a whole."""
    return [
        *identities(documents),
        *compute_domains(documents, target),
        *claims(documents),
        *channels(documents),
        *gangs(documents, target),
        *volcano.tree(documents),
        *volcano.gangs(documents, [(*found, multiplicity(found[0], found[2])) for found in pod_specs(documents)]),
    ]


def of_kind(documents: list[Document], group: str, kind: str) -> dict[Key, Document]:
    """The objects of a kind by namespace and name."""
    return {key(d): d for d in documents if d["apiVersion"].rpartition("/")[0] == group and d["kind"] == kind}


def key(document: Document) -> Key:
    """(namespace, name)."""
    return document["metadata"].get("namespace", ""), document["metadata"].get("name", "")


def identities(documents: list[Document]) -> Iterator[str]:
    """No object is emitted twice."""
    counts = Counter((d["apiVersion"].rpartition("/")[0], d["kind"], *key(d)) for d in documents)
    yield from (f"{identity} is emitted {count} times" for identity, count in counts.items() if count > 1)


def channel(domain: Document) -> str:
    """The name of the claim template that the driver makes for a ComputeDomain."""
    return str(domain["spec"]["channel"]["resourceClaimTemplate"]["name"])


def compute_domains(documents: list[Document], target: Mapping[str, str]) -> Iterator[str]:
    """Channel templates belong to the driver and to one ComputeDomain; numNodes is explicit."""
    domains = of_kind(documents, "resource.nvidia.com", "ComputeDomain")
    templates = of_kind(documents, "resource.k8s.io", "ResourceClaimTemplate")
    names = Counter((namespace, channel(domain)) for (namespace, _), domain in domains.items())
    yield from (f"channel template {name} serves {count} ComputeDomains" for name, count in names.items() if count > 1)
    yield from (f"claim template {name} is the driver's to make" for name in names if name in templates)
    for name, domain in domains.items():
        nodes = domain["spec"].get("numNodes")
        elastic = at_least("draDriver", target.get("draDriver", NEWEST["draDriver"]), "25.8")
        if nodes is None or (nodes < 1 and not elastic):
            yield f"ComputeDomain {name}: numNodes {nodes} before 25.8" if nodes == 0 else f"{name}: no numNodes"


def pod_specs(documents: list[Document]) -> Iterator[tuple[Document, Mapping[str, Any], Mapping[str, Any]]]:
    """(object, the metadata of the pods, the pod spec) of every pod, pod template or clique of Grove."""
    for document in documents:
        for path, value in walk(document):
            spec = value.get("spec") if isinstance(value, dict) else None
            if isinstance(spec, dict) and "containers" in spec:
                yield document, value.get("metadata") or {} if path else document["metadata"], spec
            elif isinstance(spec, dict) and "podSpec" in spec:
                yield document, {key: value.get(key) or {} for key in ("labels", "annotations")}, spec["podSpec"]


def claims(documents: list[Document]) -> Iterator[str]:
    """Every claim template a pod names exists in its namespace; every channel claim reaches a container."""
    domains = of_kind(documents, "resource.nvidia.com", "ComputeDomain")
    known = set(of_kind(documents, "resource.k8s.io", "ResourceClaimTemplate"))
    known |= {(namespace, channel(domain)) for (namespace, _), domain in domains.items()}
    for document, _, spec in pod_specs(documents):
        namespace = document["metadata"].get("namespace", "")
        used = {c["name"] for x in spec["containers"] for c in (x.get("resources") or {}).get("claims") or ()}
        for claim in spec.get("resourceClaims") or ():
            template = claim.get("resourceClaimTemplateName")
            if template and (namespace, template) not in known:
                yield f"{key(document)}: the claim template {template!r} does not exist in its namespace"
            if claim["name"] not in used:
                yield f"{key(document)}: no container uses the claim {claim['name']!r}"


def channels(documents: list[Document]) -> Iterator[str]:
    """A node has one channel: a pod claims from one ComputeDomain at most, and each domain is claimed from."""
    domains = of_kind(documents, "resource.nvidia.com", "ComputeDomain")
    names = {(namespace, channel(domain)) for (namespace, _), domain in domains.items()}
    claimed: set[Key] = set()
    for document, _, spec in pod_specs(documents):
        namespace = document["metadata"].get("namespace", "")
        wanted = {(namespace, claim.get("resourceClaimTemplateName")) for claim in spec.get("resourceClaims") or ()}
        claimed |= wanted & names
        if len(wanted & names) > 1:
            yield f"{key(document)}: a pod claims from {len(wanted & names)} ComputeDomains"
    yield from (f"nobody claims from the ComputeDomain {name}" for name in sorted(names - claimed))


def gangs(documents: list[Document], target: Mapping[str, str]) -> Iterator[str]:
    """KAI: every pod that names a PodGroup finds it in its namespace and lands in a leaf of it, in full number."""
    groups = of_kind(documents, "scheduling.run.ai", "PodGroup")
    members: Counter[tuple[Key, str]] = Counter()
    for document, metadata, spec in pod_specs(documents):
        group = (metadata.get("annotations") or {}).get("pod-group-name")
        if group is None:
            continue
        namespace = document["metadata"].get("namespace", "")
        leaf = (metadata.get("labels") or {}).get("kai.scheduler/subgroup-name", "")
        members[(namespace, group), leaf] += multiplicity(document, spec)
        yield from (f"{key(document)}: {text}" for text in markers(document, metadata, spec, target))
        if (namespace, group) not in groups:
            yield f"{key(document)}: the PodGroup {group!r} does not exist in its namespace"
    for name, group in groups.items():
        yield from (f"PodGroup {name}: {text}" for text in filled(name, group["spec"], members))
    yield from unique_names(groups)


def markers(document: Document, metadata: Document, spec: Document, target: Mapping[str, str]) -> Iterator[str]:
    """What a pod of a hand-made PodGroup must carry besides its name."""
    if not spec.get("schedulerName"):
        yield "no schedulerName"
    if document["kind"] == "Pod":
        return
    if not at_least("kai", target.get("kai", NEWEST["kai"]), "0.15"):
        yield "before KAI 0.15 a hand-made PodGroup holds bare pods only"
    places = (metadata, document["metadata"])
    if not any((m.get("annotations") or {}).get("kai.scheduler/skip-podgrouper") == "true" for m in places):
        yield "neither the pods nor their owner carry skip-podgrouper"


def multiplicity(document: Document, spec: Document) -> int:
    """How many pods a template stands for."""
    return next((int(number) for template, number in templates(document) if template.get("spec") is spec), 1)


def filled(name: Key, spec: Document, members: Counter[tuple[Key, str]]) -> Iterator[str]:
    """Every leaf has at least its minimum of pods, and no pod names a subgroup that is no leaf."""
    groups = {group["name"]: group for group in spec.get("subGroups") or ()}
    parents = {group.get("parent") for group in groups.values()}
    leaves = {leaf: group.get("minMember", 0) for leaf, group in groups.items() if leaf not in parents}
    leaves = leaves or {"": spec.get("minMember", 1)}
    for (owner, leaf), count in members.items():
        if owner == name and leaf not in leaves:
            yield f"{count} pods name {leaf!r}, which is no leaf subgroup"
    for leaf, minimum in leaves.items():
        if members[name, leaf] < minimum:
            yield f"leaf {leaf!r} needs {minimum} pods and gets {members[name, leaf]}"


def unique_names(groups: Mapping[Key, Document]) -> Iterator[str]:
    """The scheduler's snapshot finds PodGroups by name alone (KAI#2095): names are unique over namespaces."""
    counts = Counter(name for _, name in groups)
    yield from (f"{count} PodGroups are named {name!r}" for name, count in counts.items() if count > 1)
