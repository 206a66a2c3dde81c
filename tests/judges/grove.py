"""Grove's validating webhooks for PodCliqueSets and ClusterTopologyBindings, and its KAI backend's rule for queues.

Source: ai-dynamo/grove v0.1.0-alpha.12-rc1, operator/internal/webhook/admission (pcs/validation,
clustertopology/validation) and operator/internal/scheduler/kai/backend.go. Levels need the binding that a constraint
names, so `judge_all` looks at them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

GROUP = "grove.io/"
LIMIT = 45
Document = Mapping[str, Any]


def judge(document: Document) -> Iterator[str]:
    """Complaints about one object."""
    spec = document.get("spec")
    if not document["apiVersion"].startswith(GROUP) or not isinstance(spec, dict):
        return
    if document["kind"] == "ClusterTopologyBinding":
        for key in ("domain", "key"):
            values = [level.get(key) for level in spec.get("levels") or ()]
            yield from (f"two levels have the {key} {each!r}" for each in _repeated(values))
    if document["kind"] == "PodCliqueSet":
        template = spec["template"]
        yield from _members(document["metadata"].get("name", "x"), template)
        yield from _amounts(template)
        yield from _pods(template)
        yield from _queues(document, template["cliques"])


def _repeated(values: Iterable[Any]) -> list[Any]:
    listed = list(values)
    return sorted({each for each in listed if listed.count(each) > 1}, key=str)


def _members(owner: str, template: Document) -> Iterator[str]:
    cliques, groups = template["cliques"], template.get("podCliqueScalingGroups") or []
    if not cliques:
        yield "there are no cliques"
    named = [each["name"] for each in cliques]
    yield from (f"clique {each!r} is there twice" for each in _repeated(named))
    yield from (f"role {each!r} is there twice" for each in _repeated(each["spec"].get("roleName") for each in cliques))
    yield from (f"scaling group {each!r} is there twice" for each in _repeated(each["name"] for each in groups))
    scaled = [name for each in groups for name in each["cliqueNames"]]
    yield from (f"clique {each!r} is in two scaling groups" for each in _repeated(scaled))
    yield from (f"there is no clique {each!r}" for each in scaled if each not in named)
    owners = {name: each["name"] for each in groups for name in each["cliqueNames"]}
    for name in named:
        if len(owner) + len(owners.get(name, "")) + len(name) > LIMIT:
            yield f"the names of the set, the scaling group and clique {name!r} have more than {LIMIT} characters"
    for each in cliques:
        if each["name"] in owners and each["spec"].get("autoScalingConfig"):
            yield f"clique {each['name']!r} of a scaling group scales by itself"


def _amounts(template: Document) -> Iterator[str]:
    parts = [(each["name"], each["spec"]) for each in template["cliques"]]
    parts += [(each["name"], each) for each in template.get("podCliqueScalingGroups") or ()]
    for name, data in parts:
        replicas = data.get("replicas", 1)
        least = data.get("minAvailable", 1 if "cliqueNames" in data else replicas)
        if replicas < 1 or not 1 <= least <= replicas:
            yield f"{name!r} has minAvailable {least} of {replicas}"


def _pods(template: Document) -> Iterator[str]:
    specs = [each["spec"]["podSpec"] for each in template["cliques"]]
    if len({spec.get("schedulerName", "") for spec in specs}) > 1:
        yield "the pods name several schedulers"
    for spec in specs:
        yield from (f"the pods have {key}" for key in ("topologySpreadConstraints", "nodeName") if spec.get(key))
        for container in spec["containers"]:
            names = [each["name"] for each in container.get("env") or ()]
            yield from (f"the variable {each} is there twice" for each in _repeated(names))


def _queues(document: Document, cliques: Sequence[Document]) -> Iterator[str]:
    if cliques and cliques[0]["spec"]["podSpec"].get("schedulerName") != "kai-scheduler":
        return
    places = [document["metadata"], *cliques]
    metadata = [each.get(word) or {} for each in places for word in ("labels", "annotations")]
    queues = {each.get("kai.scheduler/queue") for each in metadata} - {None}
    if len(queues) != 1:
        yield f"it has {len(queues)} KAI queues"


def cross(documents: Iterable[Document]) -> Iterator[str]:
    """Complaints about levels, which the bindings among the documents have."""
    every = list(documents)
    bindings = {each["metadata"]["name"]: each for each in every if each["kind"] == "ClusterTopologyBinding"}
    for document in every:
        if document["kind"] != "PodCliqueSet" or not document["apiVersion"].startswith(GROUP):
            continue
        template = document["spec"]["template"]
        groups = template.get("podCliqueScalingGroups") or ()
        owners = {name: each for each in groups for name in each["cliqueNames"]}
        pairs = [(template, each) for each in (*template["cliques"], *groups)]
        pairs += [(owners[each["name"]], each) for each in template["cliques"] if each["name"] in owners]
        own = [each for each in (template, *template["cliques"], *groups) if each.get("topologyConstraint")]
        named = {each["topologyConstraint"].get("topologyName") for each in own} - {None}
        if own and len(named) != 1:
            yield f"{document['metadata']['name']}: its constraints name {len(named)} topologies"
        for name in named & bindings.keys():
            order = [level["domain"] for level in bindings[name]["spec"]["levels"]]
            for each in own:
                for key, level in each["topologyConstraint"].get("pack", {}).items():
                    if level not in order:
                        yield f"{document['metadata']['name']}: {name} has no {key} level {level!r}"
            for key in ("required", "preferred"):
                for outer, inner in ((_level(above, key), _level(below, key)) for above, below in pairs):
                    if outer in order and inner in order and order.index(outer) > order.index(inner):
                        yield f"{document['metadata']['name']}: {inner} is around {outer}"


def _level(part: Document, key: str) -> str:
    constraint = part.get("topologyConstraint") or {}
    return str((constraint.get("pack") or {}).get(key) or "")
