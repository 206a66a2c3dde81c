"""Semantic fuzz: what must hold of all manifests, tried with random workflows, topologies and targets.

    PYTHONPATH=generator:tests python -m fuzz.semantic --count 500 --seed 0 --scheduler all

draws that many cases for each scheduler, prints what is wrong with their manifests, and ends with a table. Every
property is a function from a rendered case to complaints; `PROPERTIES` lists them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from random import Random
from typing import Any, NamedTuple

import support
import workflow_oracle
from bayplan import pipeline
from bayplan.backends import NAMES
from bayplan.text import document
from bayplan.text.emit import emit
from bayplan.workflows import native
from fuzz.semantic_cases import Case, Data, Rendered, accepted, diagnosed, draw, drawn, every, nodes_of, render
from judges import judge, judge_all, targets_for
from judges.syntax import is_label, walk
from oracle import ORACLES, single
from oracle.intent import GangIntent, PodsIntent, UnitIntent
from tools.golden import SCRIPTS
from tools.run import ROOT

Document = Mapping[str, Any]
Property = Callable[[Rendered], Iterator[str]]


# --- CRDs, with CEL ---------------------------------------------------------------------------------------------------


def judged(rendered: Rendered) -> Iterator[str]:
    """An API server with upstream's CRDs takes each object, and the webhooks and schedulers take all together."""
    if rendered.case.scheduler in SCRIPTS:
        return
    versions = rendered.case.versions
    if rendered.case.scheduler != "kai":
        versions.pop("kai", None)  # KAI 0.10 ships a Topology of Kueue's group, of an old version
    if versions.get("jobset") in ("0.9", "0.10"):  # their CRDs are not stored; 0.11 has their `dependsOn`
        versions["jobset"] = "0.11"
    lowest = next(targets_for(versions))
    if lossy(rendered):
        found = [complaint for each in objects(rendered) for complaint in judge(each, lowest)]
    else:
        found = judge_all(objects(rendered), lowest)
    longer = "killWait" in rendered.case.topology["spec"].get("schedulers", {}).get("sunk", {})
    yield from (each for each in found if not (longer and "KillWait" in each))  # the judge knows only the default


def lossy(rendered: Rendered) -> bool:
    """Whether the user accepted a loss. What schedulers then do with all objects together is the user's decision."""
    return rendered.result.compiled is not None and bool(rendered.result.compiled.planned.accepted)


def objects(rendered: Rendered) -> list[Data]:
    """The Kubernetes objects among the documents."""
    return [each for each in rendered.result.documents if each["kind"] != "File"]


# --- names ------------------------------------------------------------------------------------------------------------


def named(rendered: Rendered) -> Iterator[str]:
    """Names of objects, and of all that controllers make of them, are unique and short enough."""
    counts = Counter(made(objects(rendered)))
    yield from (f"{kind} {name} occurs {count} times" for (kind, name), count in counts.items() if count > 1)
    for kind, name in counts:
        if kind in LABELS and not is_label(name):
            yield f"{kind} {name} is not a DNS label of at most 63 characters"
    files = [each["metadata"]["name"] for each in rendered.result.documents if each["kind"] == "File"]
    yield from (f"the file {name} occurs twice" for name in set(files) if files.count(name) > 1)
    yield from (f"the file name {name!r} has {len(name)} bytes" for name in files if len(name.encode()) > 255)


LABELS = {"Service", "Pod", "Hostname", "Job of a JobSet", "StatefulSet"}
"""Kinds whose names are DNS labels, by Kubernetes or by the controller that makes them."""


def made(documents: Iterable[Document]) -> Iterator[tuple[str, str]]:
    """Kind and name of every object, and of what controllers make of it. All are in one namespace or in none."""
    for each in documents:
        name, spec = each["metadata"]["name"], each.get("spec") or {}
        group = each["apiVersion"].rpartition("/")[0]
        yield f"{group}/{each['kind']}", name
        if each["kind"] == "Service":
            yield "Service", name
        if each["kind"] == "JobSet":
            yield "Service", (spec.get("network") or {}).get("subdomain", name)
            for job in spec["replicatedJobs"]:
                for copy in range(job["replicas"]):
                    yield "Job of a JobSet", f"{name}-{job['name']}-{copy}"
                    yield "batch/Job", f"{name}-{job['name']}-{copy}"
        if group == "batch.volcano.sh":
            yield "Service", name
            yield "/ConfigMap", f"{name}-svc"
        if each["kind"] == "LeaderWorkerSet":
            yield "Service", name
            yield "StatefulSet", name
            copies, size = spec.get("replicas", 1), spec["leaderWorkerTemplate"].get("size", 1)
            for copy in range(copies):
                yield "Hostname", f"{name}-{copy}"
                yield "StatefulSet", f"{name}-{copy}"
                yield from (("Hostname", f"{name}-{copy}-{number}") for number in range(1, size))
        if each["kind"] == "ComputeDomain":
            yield "resource.k8s.io/ResourceClaimTemplate", spec["channel"]["resourceClaimTemplate"]["name"]
    for pod in support.pods(documents):
        yield "Hostname", pod.host.partition(".")[0] or pod.name


# --- references -------------------------------------------------------------------------------------------------------

KINDS = {
    ("configMap", "name"): "ConfigMap",
    ("configMapKeyRef", "name"): "ConfigMap",
    ("configMapRef", "name"): "ConfigMap",
    ("secret", "secretName"): "Secret",
    ("secretKeyRef", "name"): "Secret",
    ("secretRef", "name"): "Secret",
    ("persistentVolumeClaim", "claimName"): "PersistentVolumeClaim",
    ("roleRef", "name"): "Role",
}
"""The last two keys of a path -> the kind that is named there."""

FIELDS = {
    "serviceAccountName": "ServiceAccount",
    "priorityClassName": "PriorityClass",
    "resourceClaimTemplateName": "ResourceClaimTemplate",
    "runtimeClassName": "RuntimeClass",
    "topologyName": "Topology",
    "clusterQueue": "ClusterQueue",
}
WORD = re.compile(r"[-.\w]+")
OWN = {"system-node-critical", "system-cluster-critical", "default"}


def referred(rendered: Rendered) -> Iterator[str]:
    """Every name leads to an object among the manifests, or to one that the inputs name."""
    documents = objects(rendered)
    known = {(each["kind"], each["metadata"]["name"]) for each in documents}
    known |= {(kind.rpartition("/")[2], name) for kind, name in made(documents)}
    given = set(texts(rendered.case.workflow)) | set(texts(rendered.case.topology)) | OWN
    given |= {word for each in rendered.result.diagnostics for word in WORD.findall(f"{each.message} {each.hint}")}
    optional = {
        each.get("secretName") or each.get("name")
        for document in documents
        for _, each in walk(document)
        if isinstance(each, dict) and each.get("optional") is True
    }
    given |= {str(each) for each in optional}
    for each in documents:
        for path, value in walk(each):
            kind = KINDS.get(tuple(map(str, path[-2:]))) if len(path) > 1 else None
            kind = kind or (FIELDS.get(str(path[-1])) if path else None)
            if isinstance(value, str) and value and kind and (kind, value) not in known and value not in given:
                yield f"{each['kind']} {each['metadata']['name']}: no {kind} {value!r} ({path[-1]})"
    yield from _services(documents, known)
    yield from _hosts(documents)
    yield from _levels(documents, given)


def texts(value: Any) -> Iterator[str]:
    """Every string of a document, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield str(key)
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)


def _services(documents: list[Data], known: set[tuple[str, str]]) -> Iterator[str]:
    """The subdomain of a pod is a Service, which selects pods."""
    pods = list(support.pods(documents))
    for pod in pods:
        subdomain = pod.host.split(".")[1] if "." in pod.host else ""
        if subdomain and ("Service", subdomain) not in known:
            yield f"pod {pod.name}: no Service {subdomain!r}"
    labels = [pod.labels for pod in pods] + [labels for each in documents for labels in _labels(each)]
    for each in documents:
        wanted = (each.get("spec") or {}).get("selector") if each["kind"] == "Service" else None
        if wanted and not any(wanted.items() <= own.items() for own in labels):
            yield f"Service {each['metadata']['name']} selects no pod by {wanted}"


def _labels(each: Data) -> Iterator[Mapping[str, str]]:
    """The labels of pod templates, with those that a controller adds."""
    own = {
        "jobset.sigs.k8s.io/jobset-name": each["metadata"]["name"],
        "job-name": each["metadata"]["name"],
        "batch.kubernetes.io/job-name": each["metadata"]["name"],
        "leaderworkerset.sigs.k8s.io/name": each["metadata"]["name"],
        "volcano.sh/job-name": each["metadata"]["name"],
    }
    for path, value in walk(each):
        if isinstance(value, dict) and "containers" in (value.get("spec") or ()) and path:
            yield {**own, **((value.get("metadata") or {}).get("labels") or {})}


def _hosts(documents: list[Data]) -> Iterator[str]:
    """The master of each pod is a pod."""
    pods = list(support.pods(documents))
    hosts = {pod.host for pod in pods}
    for pod in pods:
        master = pod.env.get("MASTER_ADDR", "")
        if master.endswith(".cluster.local") and pod.host and master not in hosts:
            yield f"pod {pod.name}: MASTER_ADDR {master} is not a pod"


def _levels(documents: list[Data], given: set[str]) -> Iterator[str]:
    """Queues and Topologies of KAI's PodGroups, and the levels that these have."""
    ladders = {
        each["metadata"]["name"]: [level["nodeLabel"] for level in each["spec"]["levels"]]
        for each in documents
        if each["kind"] == "Topology"
    }
    queues = {each["metadata"]["name"] for each in documents if "Queue" in each["kind"]}
    for each in documents:
        if each["kind"] != "PodGroup":
            continue
        name, spec = each["metadata"]["name"], each["spec"]
        if spec.get("queue") and spec["queue"] not in queues | given:
            yield f"PodGroup {name}: no Queue {spec['queue']!r}"
        for part in (spec, *(spec.get("subGroups") or ())):
            asked = part.get("topologyConstraint") or {}
            ladder = ladders.get(asked.get("topology", ""))
            for key in ("requiredTopologyLevel", "preferredTopologyLevel"):
                if ladder is not None and key in asked and asked[key] not in ladder:
                    yield f"PodGroup {name}: {key} {asked[key]!r} is not a level of its Topology"
            if asked.get("topology", "") not in {"", *ladders, *given}:
                yield f"PodGroup {name}: no Topology {asked['topology']!r}"


# --- every pod in one subgroup ----------------------------------------------------------------------------------------


def counted(rendered: Rendered) -> Iterator[str]:
    """The manifests come down to the pods that the workflow document requests, and each is in one gang and subgroup."""
    if rendered.case.scheduler in SCRIPTS:
        return
    documents = objects(rendered)
    found: Counter[tuple[str, str]] = Counter()
    for labels, count in _pods(documents):
        found[labels.get("bayplan.dev/gang", ""), labels.get("bayplan.dev/pod-set", "")] += count
    wanted = Counter(_wanted(rendered.case.workflow))
    for gang, pods in [*wanted]:  # copies of one template have no number
        shared = gang.rpartition("-")[0], pods
        if (gang, pods) not in found and shared in found:
            wanted[shared] += wanted.pop((gang, pods))
    if found != wanted:
        yield f"pods {dict(found - wanted)} too many, {dict(wanted - found)} too few"
    if not lossy(rendered):
        yield from SUBGROUPS.get(rendered.case.scheduler, _alone)(documents)


def _pods(documents: list[Data]) -> Iterator[tuple[Mapping[str, str], int]]:
    """Labels of the pods of the workflow's gangs, and how many have them."""
    for pod in support.pods(documents):
        yield pod.labels, 1
    for each in documents:
        if each["kind"] == "Deployment":
            yield each["spec"]["template"]["metadata"]["labels"], _copies(each, documents)
        if each["kind"] == "LeaderWorkerSet":
            inner, copies = each["spec"]["leaderWorkerTemplate"], _copies(each, documents)
            leader = inner.get("leaderTemplate", inner["workerTemplate"])
            yield leader["metadata"]["labels"], copies
            yield inner["workerTemplate"]["metadata"]["labels"], copies * (inner.get("size", 1) - 1)


def _copies(one: Data, documents: list[Data]) -> int:
    """The copies of an object, or the fewest that its autoscaler keeps."""
    scales = (each["spec"] for each in documents if each["kind"] == "HorizontalPodAutoscaler")
    least = (each["minReplicas"] for each in scales if each["scaleTargetRef"]["name"] == one["metadata"]["name"])
    return int(one["spec"].get("replicas") or next(least, 1))


def _wanted(flow: Data) -> Iterator[tuple[str, str]]:
    """Gang and podSet of each pod, only from the document."""
    flow = deepcopy(flow)
    _inherit(flow["spec"]["gangs"], flow["spec"].get("defaults", {}))
    for gang, unit in workflow_oracle.gangs(flow).items():
        for name, replicas in _inside(unit):
            for _ in range(replicas):
                yield gang, name


def _inherit(owners: list[Data], above: Data) -> None:
    """Give podSets the numbers of the nearest defaults."""
    for owner in owners:
        inherited = {**above, **owner.get("defaults", {})}
        _inherit(owner.get("groups", []), inherited)
        for spec in owner.get("podSets", ()):
            spec.update({key: inherited[key] for key in ("replicas", "minReplicas") if key in {*inherited} - {*spec}})


def _inside(unit: workflow_oracle.Unit) -> Iterator[tuple[str, int]]:
    for pods in unit.pods:
        yield pods.name.removeprefix(f"{unit.name}-") if unit.name else pods.name, pods.replicas
    for group in unit.groups:
        for member in group.members:
            yield from _inside(member)


def pod_sets(nodes: list[Data]) -> Iterator[Data]:
    """All podSets inside gangs or groups."""
    for node in nodes:
        yield from node.get("podSets", ())
        yield from pod_sets(node.get("groups", []))


def _alone(documents: list[Data]) -> Iterator[str]:
    return iter(())


def _kai(documents: list[Data]) -> Iterator[str]:
    """Every pod names one PodGroup and one leaf of it, and all leaves wait for no more than they get."""
    leaves = {}
    for each in documents:
        if each["kind"] == "PodGroup":
            groups = each["spec"].get("subGroups") or ()
            parents = {group.get("parent") for group in groups}
            leaves[each["metadata"]["name"]] = {g["name"] for g in groups if g["name"] not in parents} or {""}
    for pod in support.pods(documents):
        group = pod.annotations.get("pod-group-name", "")
        leaf = pod.labels.get("kai.scheduler/subgroup-name", "")
        if leaf not in leaves.get(group, ()):
            yield f"pod {pod.name} is in no leaf of a PodGroup: {group!r} {leaf!r}"


def _volcano(documents: list[Data]) -> Iterator[str]:
    """Every pod belongs to one PodGroup, and at most one of its policies takes it."""
    groups = {each["metadata"]["name"]: each["spec"] for each in documents if each["kind"] == "PodGroup"}
    jobs = {each["metadata"]["name"] for each in documents if each["apiVersion"].startswith("batch.volcano.sh/")}
    for pod in support.pods(documents):
        name = pod.annotations.get("scheduling.k8s.io/group-name", "")
        if name not in groups:
            if not any(pod.name.startswith(f"{job}-") for job in jobs):
                yield f"pod {pod.name} is in no PodGroup: {name!r}"
            continue
        policies = groups[name].get("subGroupPolicy") or ()
        taking = [each["name"] for each in policies if _selects(each, pod.labels)]
        if len(taking) > 1 or (policies and all(each.get("labelSelector") is None for each in policies) and not taking):
            yield f"pod {pod.name} is in the subgroups {taking}"


def _selects(policy: Document, labels: Mapping[str, str]) -> bool:
    wanted = (policy.get("labelSelector") or {}).get("matchLabels") or {}
    return wanted.items() <= labels.items() and all(key in labels for key in policy.get("matchLabelKeys") or ())


def _koordinator(documents: list[Data]) -> Iterator[str]:
    """Every pod names one PodGroup that is there."""
    groups = {each["metadata"]["name"] for each in documents if each["kind"] == "PodGroup"}
    for pod in support.pods(documents):
        name = pod.labels.get("pod-group.scheduling.sigs.k8s.io", "")
        if groups and name not in groups:
            yield f"pod {pod.name} is in no PodGroup: {name!r}"


def _kueue(documents: list[Data]) -> Iterator[str]:
    """Every pod comes from one workload with a queue, or is in a pod group."""
    for each in documents:
        work = each["kind"] in ("Pod", "Job", "JobSet") and not each["metadata"]["name"].endswith("-adopt")
        labels = each["metadata"].get("labels") or {}
        if work and "bayplan.dev/gang" in labels and "kueue.x-k8s.io/queue-name" not in labels:
            yield f"{each['kind']} {each['metadata']['name']} has no queue"


SUBGROUPS: Mapping[str, Callable[[list[Data]], Iterator[str]]] = {
    "kai": _kai,
    "volcano": _volcano,
    "koordinator": _koordinator,
    "kueue": _kueue,
}
"""Scheduler -> what is wrong with the subgroups of its pods. `judged` counts the members of the others' groups."""


# --- lint -------------------------------------------------------------------------------------------------------------

SAID: Mapping[str, tuple[str, ...]] = {
    "M715": (),  # a `stalenessGracePeriod` of the workflow, for a gang with optional groups
    "M717": (),  # a Topology of another name (backends.kai.topology), or pods above `minReplicas`
    "M844": (),  # only some podSets with a fabric, and `rendezvous: none`; or only some `rails` of the fabric
    "M847": (),  # a template that runs as another user, and a fabric
    "M808": ("P507",),
    "M870": ("T433",),  # pods may run on nodes of another pool, which has HAMi
    "M873": (),  # the podSet may request a device plugin that counts the same resource as HAMi
}
"""Code of lint -> the codes with which `render` has said the same; none for what the workflow itself requests."""


def linted(rendered: Rendered) -> Iterator[str]:
    """bayplan finds no mistake in its own manifests."""
    if rendered.case.scheduler in SCRIPTS or lossy(rendered):
        return
    documents = tuple(document.Document("m.yaml", "", 0, each) for each in objects(rendered))
    topology = document.Document("topology.yaml", "", 0, rendered.case.topology)
    outcome, _ = pipeline.lint(pipeline.LintRequest(documents, topology, target=rendered.case.target))
    said = set(rendered.result.codes)
    for each in outcome.diagnostics:
        known = each.code in SAID and (not SAID[each.code] or said & set(SAID[each.code]))
        known = known and (each.code != "M715" or "as stale" in each.message)
        if each.code.startswith("M") and each.severity != "info" and not known:
            yield f"{each.severity}[{each.code}] {each.message}"


# --- read back --------------------------------------------------------------------------------------------------------


def read_back(rendered: Rendered) -> Iterator[str]:
    """An oracle reads from the manifests, in any order, what the plan means."""
    compiled = rendered.result.compiled
    if compiled is None or (lossy(rendered) and rendered.case.scheduler != "sunk"):
        return
    oracle, planned, scheduler = ORACLES[rendered.case.scheduler], compiled.planned, rendered.case.scheduler
    plans = single.grouped(support.of_objects(planned), planned.shape)
    wanted = sorted((gang for plan in plans for gang in oracle.intent(plan, planned.target)), key=_order)
    documents = list(rendered.result.documents)
    if scheduler not in SCRIPTS:
        alone = single.intent(planned.plan, planned.shape, scheduler, planned.target)
        if single.read(documents, scheduler) != alone:
            yield f"read {single.read(documents, scheduler)}, planned {alone}"
    for _ in range(2):
        read = oracle.read(single.others(documents))
        if read.diagnostics:
            yield f"{read.diagnostics[0].message}"
        found = sorted(read.value or (), key=_order)
        if found != wanted and list(map(_folded, found)) != list(map(_folded, wanted)):
            different = next((pair for pair in zip(found, wanted, strict=False) if pair[0] != pair[1]), (found, wanted))
            yield f"read {different[0]}, planned {different[1]}"
            return
        Random(rendered.case.seed).shuffle(documents)


def _folded(gang: GangIntent) -> GangIntent:
    """The gang without the numbers of group instances, which a Volcano Job does not know: it has one task for podSets
    that differ only by these, and counts its partitions."""
    return gang._replace(root=_plain(gang.root))


def _plain(unit: UnitIntent) -> UnitIntent:
    sums: dict[tuple[str, str], list[int]] = {}
    for each in unit.pods:
        own = sums.setdefault((INSTANCE.sub("", each.name), each.compute_domain), [0, 0])
        own[0] += each.replicas
        own[1] += each.minimum
    pods = tuple(sorted(PodsIntent(name, *own, domain) for (name, domain), own in sums.items()))
    return unit._replace(name=INSTANCE.sub("", unit.name), units=tuple(sorted(map(_plain, unit.units))), pods=pods)


INSTANCE = re.compile(r"-[0-9]+(?=-|$)")
"""The number of a group's instance in the name of a unit or a podSet instance."""


def _order(gang: GangIntent) -> tuple[str, str]:
    return gang.namespace, gang.name


# --- import -----------------------------------------------------------------------------------------------------------


def imported(rendered: Rendered) -> Iterator[str]:
    """What `bayplan import` prints of the workflow renders to the same bytes, and imports as itself."""
    printed = _printed(rendered.case, rendered.case.workflow)
    outcome = document.read("workflow.yaml", printed.encode("utf-8"), "workflow")
    if not outcome.value:
        yield f"import prints what bayplan does not read: {outcome.diagnostics}"
        return
    (found,) = outcome.value
    if _printed(rendered.case, found.data) != printed:
        yield "import prints another text of what it has printed"
    again = render(rendered.case._replace(workflow=found.data))
    if again.text != rendered.text:
        yield f"the imported workflow renders to other bytes: {again.result.codes}"
    if sorted(again.result.codes) != sorted(rendered.result.codes):
        yield f"the imported workflow has the diagnostics {again.result.codes}, not {rendered.result.codes}"


def _printed(case: Case, flow: Data) -> str:
    outcome, _ = pipeline.check_workflow(document.Document("workflow.yaml", "", 0, flow))
    assert outcome.value is not None, outcome.diagnostics
    return "".join(emit([native.write(outcome.value)]))


# --- more room never makes a fit unfit --------------------------------------------------------------------------------

FIT = {"P551", "P552", "P554", "P555", "P557"}
"""Codes of plans that do not fit."""

FOUND = {"F636", "F659", "F690", "F641", "F631", "F729"}
"""Codes of plans that fit, but whose placement the scheduler does not find."""


FINER = "a `separate` level is finer than its group's required level"
"""The one case that bayplan may leave undecided (docs/explanation/fit.md)."""


class Step(NamedTuple):
    """A change that leaves a workflow at least as easy to place."""

    name: str
    workflow: Data
    topology: Data


def monotone(rendered: Rendered) -> Iterator[str]:
    """No step that adds room or drops a constraint makes a fit unfit."""
    case = rendered.case
    codes = FIT if lossy(rendered) else FIT | FOUND
    steps = [each for each in relaxed(case) if not each.name.startswith(BY_NATURE.get(case.scheduler, ("-",)))]
    for step in Random(case.seed).sample(steps, min(len(steps), 6)):
        for each in diagnosed(case._replace(workflow=step.workflow, topology=step.topology)):
            if each.severity == "error" and each.code in codes and FINER not in each.message:
                yield f"{step.name}: error[{each.code}] {each.message}"


BY_NATURE: Mapping[str, tuple[str, ...]] = {
    "kai": ("no gang",),
    "slurm": ("no plan",),
    "slurm-bridge": ("no plan",),
}
"""Scheduler -> steps that may make a fit unfit for it.

KAI never moves a group, so a gang may start only because another one has filled the domains that it would choose first.
bayplan follows the search only for a gang by itself. For Slurm, `plan` is also the size of a base block. Without it, a
base block has the size of the smallest domain.
"""


def relaxed(case: Case) -> Iterator[Step]:
    """All steps from a case."""
    flow, topology = case.workflow, case.topology
    for number, pool in enumerate(topology["spec"]["pools"]):
        for place, domain in enumerate(pool["domains"]):
            made_ = deepcopy(topology)
            made_["spec"]["pools"][number]["domains"][place]["nodes"] += f",extra-{number}-{place}"
            yield Step(f"a node in domain {domain.get('path', place)}", flow, made_)
        if pool.get("levels") and nodes_of(pool["domains"][0]):
            made_ = deepcopy(topology)
            like = pool["domains"][0]
            path = "/".join([*like["path"].split("/")[:-1], "more"])
            count = len(nodes_of(like))
            made_["spec"]["pools"][number]["domains"].append({"path": path, "nodes": f"more-{number}-[1-{count}]"})
            yield Step("a domain", flow, made_)
        for reason in pool.get("unusable", {}):
            made_ = deepcopy(topology)
            del made_["spec"]["pools"][number]["unusable"][reason]
            yield Step(f"nodes that were {reason}", flow, made_)
        for level, own in enumerate(pool.get("levels", ())):
            if "plan" in own:
                made_ = deepcopy(topology)
                del made_["spec"]["pools"][number]["levels"][level]["plan"]
                yield Step("no plan", flow, made_)
        for key, more in (("cpu", "1000"), ("memory", "99Ti"), ("pods", 5000)):
            if key in pool["node"]:
                made_ = deepcopy(topology)
                made_["spec"]["pools"][number]["node"][key] = more
                yield Step(f"more {key} on each node", flow, made_)
    levels = [each["name"] for each in topology["spec"]["pools"][0].get("levels", ())]
    for path, node in _nodes(flow):
        for what, changed in _eased(node, path, levels):
            yield Step(f"{what} at {'.'.join(map(str, path))}", _with(flow, path, changed), topology)
    names = [each["name"] for each in flow["spec"]["gangs"]]
    needed = {name for each in flow["spec"]["gangs"] for name in each.get("dependsOn", ())}
    for number, name in enumerate(names):
        if len(names) > 1 and name not in needed:
            made_ = deepcopy(flow)
            del made_["spec"]["gangs"][number]
            yield Step(f"no gang {name}", made_, topology)


Path = tuple[str | int, ...]


def _nodes(flow: Data) -> Iterator[tuple[Path, Data]]:
    """Every gang, group and podSet with its path."""

    def inside(path: Path, node: Data) -> Iterator[tuple[Path, Data]]:
        yield path, node
        for key in ("groups", "podSets"):
            for number, each in enumerate(node.get(key, ())):
                yield from inside((*path, key, number), each)

    for number, gang in enumerate(flow["spec"]["gangs"]):
        yield from inside(("spec", "gangs", number), gang)


def _with(flow: Data, path: Path, node: Data) -> Data:
    made_: Any = deepcopy(flow)
    owner = made_
    for key in path[:-1]:
        owner = owner[key]
    owner[path[-1]] = node
    return made_


def _eased(node: Data, path: Path, levels: list[str]) -> Iterator[tuple[str, Data]]:
    """A gang, group or podSet with one constraint less."""
    placement = node.get("placement", {})
    required = placement.get("required")
    rest = {key: value for key, value in placement.items() if key != "required"}
    if required and not node.get("separate"):  # without a level, an instance is in one domain of `separate`
        yield f"no required {required}", {**node, "placement": rest}
        yield f"{required} only preferred", {**node, "placement": {"preferred": required, **rest}}
        if required in levels and levels.index(required) and path[-2] == "gangs":
            coarser = levels[levels.index(required) - 1]
            yield f"{coarser} instead of {required}", {**node, "placement": {**placement, "required": coarser}}
    if "preferred" in placement:
        yield "no preference", {**node, "placement": {key: placement[key] for key in placement if key != "preferred"}}
    for key in ("separate", "wholeNode", "numa"):
        if node.get(key):
            yield f"no {key}", {name: value for name, value in node.items() if name != key}
    fewer = node.get("replicas", 1) - 1
    if fewer >= 1 and fewer >= node.get("minReplicas", 1):
        yield "one replica less", {**node, "replicas": fewer}
    if node.get("minReplicas", 1) > 1:
        yield "one less at the least", {**node, "minReplicas": node["minReplicas"] - 1}
    for key in ("groups", "podSets"):
        if len(node.get(key, ())) > 1:
            yield f"without the last of its {key}", {**node, key: node[key][:-1]}


PROPERTIES: Mapping[str, Property] = {
    "judges": judged,
    "names": named,
    "references": referred,
    "subgroups": counted,
    "lint": linted,
    "read back": read_back,
    "import": imported,
    "monotone": monotone,
}


# --- the same bytes in every process ----------------------------------------------------------------------------------

PLACES = (
    {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    {"LC_ALL": "C", "PYTHONUTF8": "0"},
    {"TZ": "Pacific/Kiritimati", "SOURCE_DATE_EPOCH": "0"},
    {"TZ": "America/St_Johns", "COLUMNS": "20"},
    {"USER": "someone", "HOME": "/nowhere"},
)
"""Locales, time zones and users; the seeds of hashes take turns."""


def digests(cases: Iterable[Case]) -> list[str]:
    """What each case renders to: the hash of its bytes and of its diagnostics."""
    found = []
    for case in cases:
        rendered = render(case)
        whole = [rendered.text, *map(repr, rendered.result.diagnostics)]
        found.append(hashlib.sha256("\0".join(whole).encode("utf-8", "surrogatepass")).hexdigest())
    return found


def everywhere(cases: list[Case], seeds: Iterable[int]) -> list[str]:
    """The cases that render to other bytes under some seed of Python's hashes, locale, time zone or folder."""
    text = json.dumps(
        [
            [each.seed, each.scheduler, each.workflow, each.topology, dict(each.target), sorted(each.accept)]
            for each in cases
        ]
    )
    path = os.pathsep.join([str(ROOT / "generator"), str(ROOT / "tests")])
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "LC_", "LANG", "TZ"))}
    wanted: list[str] = []
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate(seeds):
            env = {**kept, **PLACES[number % len(PLACES)], "PYTHONPATH": path, "PYTHONHASHSEED": str(seed)}
            command = [sys.executable, "-m", "fuzz.semantic", "--digests"]
            where = folder if number % 2 else str(ROOT)
            done = subprocess.run(command, cwd=where, env=env, input=text, capture_output=True, text=True, check=True)
            lines = done.stdout.split()
            wanted = wanted or lines
            for case, one, other in zip(cases, wanted, lines, strict=True):
                if one != other:
                    found.append(f"{case.scheduler} {case.seed} under PYTHONHASHSEED={seed} {env}")
    return found


def _given(text: str) -> list[Case]:
    return [Case(*each[:5], frozenset(each[5])) for each in json.loads(text)]


# --- the campaign -----------------------------------------------------------------------------------------------------


VARYING = re.compile(r"""["'][^"']*["']|[a-z0-9-]*[0-9][a-z0-9-]*""")
"""What differs between complaints of one kind."""


class Score:
    """What a campaign has tried and found."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.refusals: Counter[str] = Counter()
        self.faults: list[tuple[Case, str, str]] = []
        self.fields: dict[str, set[str]] = {"workflow": set(), "cluster-topology": set()}
        self.rendered: list[Case] = []

    def add(self, case: Case, properties: Mapping[str, Property] = PROPERTIES) -> None:
        """Judge a case."""
        rendered = accepted(case)
        scheduler = case.scheduler
        self.counts[scheduler, "drawn"] += 1
        if rendered.result.compiled is None:
            self.refusals.update({each.code for each in rendered.result.diagnostics if each.severity == "error"})
            return
        self.counts[scheduler, "accepted"] += 1
        self.counts[scheduler, "as drawn"] += not rendered.case.repairs
        self.fields["workflow"] |= drawn("workflow", rendered.case.workflow)
        self.fields["cluster-topology"] |= drawn("cluster-topology", rendered.case.topology)
        self.rendered.append(rendered.case)
        for name, check in properties.items():
            try:
                complaints = list(check(rendered))
            except Exception as fault:
                complaints = [f"{type(fault).__name__}: {fault}"]
            self.counts[scheduler, name] += bool(complaints)
            self.faults += [(rendered.case, name, each) for each in complaints]

    def missing(self, name: str) -> list[str]:
        """Fields and words of a schema that no rendered case had."""
        return sorted(every(name) - self.fields[name])

    def table(self) -> Iterator[str]:
        """Cases and faults by scheduler."""
        columns = ("drawn", "as drawn", "accepted", *PROPERTIES)
        yield f"{'':14}" + "".join(f"{each:>12}" for each in columns)
        for scheduler in dict.fromkeys(scheduler for scheduler, _ in self.counts):
            yield f"{scheduler:14}" + "".join(f"{self.counts[scheduler, each]:>12}" for each in columns)


def main(arguments: list[str]) -> int:
    """The campaign from the command line."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.semantic", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=100, help="cases of each scheduler")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--scheduler", default="all", help="a scheduler, or all")
    parser.add_argument("--property", action="append", choices=PROPERTIES, help="judge only this; may be repeated")
    parser.add_argument("--hash-seeds", type=int, default=10, help="processes with another PYTHONHASHSEED; 0: none")
    parser.add_argument("--show", action="store_true", help="print the documents of each fault")
    parser.add_argument("--fields", action="store_true", help="list fields of the schemas that no case had")
    parser.add_argument("--digests", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.digests:
        print("\n".join(digests(_given(sys.stdin.read()))))
        return 0
    score = Score()
    kinds: Counter[tuple[str, str, str]] = Counter()
    chosen = {name: PROPERTIES[name] for name in options.property or PROPERTIES}
    for scheduler in NAMES if options.scheduler == "all" else (options.scheduler,):
        for seed in range(options.seed, options.seed + options.count):
            before = len(score.faults)
            score.add(draw(seed, scheduler), chosen)
            for case, name, complaint in score.faults[before:]:
                kind = (scheduler, name, VARYING.sub("_", complaint)[:70])
                kinds[kind] += 1
                if kinds[kind] <= 3:
                    print(f"{scheduler} {case.seed}: {name}: {complaint[:400]}", flush=True)
            if options.show and len(score.faults) > before:
                print(score.faults[-1][0].text())
    print("\n".join(score.table()))
    if options.fields:
        for name in score.fields:
            print(f"\n{name}: {len(score.fields[name])} of {len(every(name))} fields and words; missing:")
            print("\n".join(score.missing(name)))
    unequal = everywhere(score.rendered, range(options.hash_seeds))
    print(f"{len(unequal)} of {len(score.rendered)} differ between {options.hash_seeds} processes", *unequal, sep="\n")
    print("refused:", ", ".join(f"{code} {count}" for code, count in score.refusals.most_common(20)))
    return 1 if score.faults or unequal else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
