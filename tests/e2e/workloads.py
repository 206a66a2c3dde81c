"""The pods that controllers make of manifests: LeaderWorkerSets, JobSets, MPIJobs, TrainJobs and Kubernetes' own kinds.

The controllers' own code runs over a store in memory (go/workloads): webhooks first, then reconcilers until nothing
changes. KAI's podgrouper then makes PodGroups of the pods and of what owns them (go/kai).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from e2e.kai import PRIORITIES
from e2e.pods import Member
from e2e.releases import ALL
from e2e.scheduler import ROOT, Documents, Object, ask
from judges import builtin, crd
from oracle.manifests import read_name

BUILT_IN = frozenset({"Deployment", "Job", "Node", "Pod", "StatefulSet"})
OPERATED = BUILT_IN | {"ClusterTrainingRuntime", "JobSet", "LeaderWorkerSet", "MPIJob", "TrainJob", "TrainingRuntime"}

LWS = "leaderworkerset.sigs.k8s.io/"


class Controllers(NamedTuple):
    """One program of go/workloads, and the releases of the controllers in it, all others' CRDs being the newest.

    `kinds`: what it knows of. Other objects are no matter to the controllers.
    """

    name: str
    versions: Mapping[str, str]
    kinds: frozenset[str] = OPERATED

    @property
    def program(self) -> Path:
        """Where `prepare` puts it."""
        return ROOT / ".ci" / "bin" / f"replay-workloads@{self.name}"


NEWEST = Controllers("newest", {"lws": "0.9", "mpiOperator": "0.8", "trainer": "2.3"})
OLDER = Controllers("older", {"lws": "0.8", "trainer": "2.1"})
OLDEST = Controllers("oldest", {"lws": "0.7"})
GROVE = Controllers("grove", {"grove": "0.1"}, BUILT_IN | {"ClusterTopologyBinding", "PodCliqueSet"})
"""Grove v0.1.0-alpha.12-rc1."""

OPTIONAL = frozenset({OLDER.program, OLDEST.program, GROVE.program})
"""`.ci/run` does not build them."""
PODGROUPER = ROOT / ".ci" / "bin" / "replay-podgrouper@0.17.0"


class Made(NamedTuple):
    """What controllers make. `refused`: what their webhooks say of manifests that they do not take."""

    pods: list[Object]
    objects: list[Object]
    refused: list[str]

    def named(self, kind: str) -> dict[str, Object]:
        """The objects of a kind by their names."""
        return {each["metadata"]["name"]: each for each in (*self.pods, *self.objects) if each["kind"] == kind}


class Grouped(NamedTuple):
    """What KAI's podgrouper makes of pods: their marks and PodGroups. `errors`: pod -> why it is not grouped."""

    pods: list[Object]
    groups: list[Object]
    errors: Mapping[str, str]


def require(*programs: Path) -> None:
    """Skip the test if a program is missing, or fail it where the program must be there."""
    for program in programs:
        if os.access(program, os.X_OK):
            continue
        release = program.name.removeprefix("replay-")
        missing = f"no {program.name}: run `bash tests/e2e/prepare {release}`, which takes Go"
        needed = os.environ.get("CI") == "true" and shutil.which("go") and program not in OPTIONAL
        source = not program.with_name(f".no-source-{release}").exists()
        if ALL or (needed and source):
            pytest.fail(missing)
        pytest.skip(missing)


def made(documents: Documents, controllers: Controllers = NEWEST, gang: str = "") -> Made:
    """All objects, once the controllers are done. `gang`: for which scheduler LWS and mpi-operator make PodGroups."""
    require(controllers.program)
    known = (each for each in documents if each["kind"] in controllers.kinds and not _volcano(each))
    return resumed([stored(each, controllers.versions) for each in known], controllers, gang)


def resumed(objects: Documents, controllers: Controllers, gang: str = "") -> Made:
    """The same from objects as they are in the API server, with their status."""
    answer = ask(controllers.program, {"objects": objects, "gang": gang})
    refused = [f"{each['kind']} {each['name']}: {each['message']}" for each in answer["refused"]]
    pods = [_as_stored(each) for each in answer["objects"] if each["kind"] == "Pod"]
    return Made(pods, [each for each in answer["objects"] if each["kind"] != "Pod"], refused)


def _as_stored(pod: Object) -> Object:
    """With the API server's defaults: pending, and a limit without a request is the request (SetDefaults_Pod)."""
    spec = dict(pod["spec"])
    for key in set(spec) & {"containers", "initContainers"}:
        spec[key] = [{**each, "resources": _amounts(each.get("resources") or {})} for each in spec[key]]
    return {**pod, "spec": spec, "status": {"phase": "Pending", **pod["status"]}}


def _amounts(resources: Object) -> Object:
    limits = resources.get("limits") or {}
    return {**resources, "requests": {**limits, **(resources.get("requests") or {})}} if limits else resources


def _volcano(document: Mapping[str, Any]) -> bool:
    return str(document["apiVersion"]).startswith("batch.volcano.sh/")


def stored(document: Mapping[str, Any], versions: Mapping[str, str]) -> Object:
    """The object as an API server hands it to webhooks: in a namespace, with the defaults of its CRD."""
    placed = {**document, "metadata": {"namespace": "default", **document["metadata"]}}
    if builtin.knows(document):
        return dict(document) if document["kind"] == "Node" else placed
    group, version, kind = builtin.split(document)
    path = crd.find(group, kind, tuple(sorted(versions.items())))
    schema = crd.served(path, version) if path else None
    if path is None or schema is None:
        pytest.skip(f"no CRD for {kind} in {document['apiVersion']}: run `bash tests/judges/prepare`")
    whole: Object = crd.defaulted(schema, placed if crd.read(path)["spec"]["scope"] == "Namespaced" else document)
    return whole


def grouped(found: Made) -> Grouped:
    """The pods with KAI's marks, and their PodGroups, as KAI 0.17 makes them."""
    require(PODGROUPER)
    classes = [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **_called(name)} for name in PRIORITIES]
    answer = ask(PODGROUPER, {"objects": [*found.objects, *classes, *found.pods]})
    pods = [each for each in answer["objects"] if each["kind"] == "Pod"]
    return Grouped(pods, [each for each in answer["objects"] if each["kind"] == "PodGroup"], answer["errors"])


def _called(name: str) -> Object:
    return {"metadata": {"name": name}, "value": PRIORITIES[name]}


def members(pods: Iterable[Object]) -> list[Member]:
    """The pods as members. A group of a LeaderWorkerSet is a gang; so is all that has one top owner otherwise."""
    return [_member(each) for each in pods]


def _member(pod: Object) -> Member:
    labels = pod["metadata"].get("labels") or {}
    owner = next((each["name"] for each in pod["metadata"].get("ownerReferences") or ()), pod["metadata"]["name"])
    gang, role = owner, owner
    if f"{LWS}name" in labels:
        gang = f"{labels[f'{LWS}name']}-{labels[f'{LWS}group-index']}"
        role = "worker" if f"{LWS}leader-name" in (pod["metadata"].get("annotations") or {}) else "leader"
    elif "training.kubeflow.org/job-name" in labels:
        gang, role = labels["training.kubeflow.org/job-name"], labels["training.kubeflow.org/job-role"]
    name = read_name(pod, role)
    return Member(gang, name, pod, name)
