"""Scenes: what is applied, what is waited for, and what must have come of it."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bayplan.kube.kinds import GANG_LABEL, GROUP_LABEL, POD_SET_LABEL, WORKFLOW_LABEL
from bayplan.model.plan import all_pods
from e2e.cases import read_example
from e2e.compare import compare
from e2e.plane.control import NAMESPACE, Object, Plane
from e2e.pods import Member, claim_templates
from e2e.releases import BY_NAME
from e2e.scene import Scene, Stage, scene
from e2e.scheduler import Case

SECONDS = 240
"""How long something may take that must happen. On two free cores nothing takes more than ten."""

POD_GROUPS = "scheduling.run.ai/v2alpha2/podgroups"
CLAIMS = "resource.k8s.io/v1/resourceclaims"
ENDS = {"metadata": {"annotations": {"bench/ends": "true"}}}
MERGE = "application/merge-patch+json"


class Told(NamedTuple):
    """How a scene came out: what happened, and what should not have."""

    text: str
    faults: list[str]


class Bench(NamedTuple):
    """A plane, and the folder for the files that bayplan's command line reads."""

    plane: Plane
    release: str  # of the scheduler

    def made(self, case: Case) -> Scene:
        """Render a case, and give its cluster to the plane."""
        made = scene(case, BY_NAME[self.release])
        self.plane.furnish(made.plan.topology)
        return made

    def apply(self, made: Scene) -> list[str]:
        """Apply what was rendered, and the claim templates that the driver would make for ComputeDomains."""
        rendered = {each["metadata"]["name"] for each in made.documents if each["kind"] == "ResourceClaimTemplate"}
        for name, spec in claim_templates(made.documents).items():
            if name not in rendered:
                self.plane.create({**_template(name), "spec": {"spec": spec}})
        return self.plane.apply(made.documents)

    def undo(self, made: Scene) -> list[str]:
        """Run the commands of `bayplan delete-plan`. What is left of the workflow then, and what the commands said."""
        printed = bayplan(self.plane.folder, made.case, "delete-plan")
        done = self.plane.shell(f"set -e\n{printed}")
        faults = [done.stderr] if done.returncode else []
        for name in claim_templates(made.documents):
            self.plane.delete(_template(name))  # as the driver does when its ComputeDomain goes
        self.plane.until(lambda: not self.left(made), 60)
        return faults + self.left(made)

    def left(self, made: Scene) -> list[str]:
        """The objects of the workflow and of its pods."""
        kinds = ("pods", "services", "configmaps", "serviceaccounts", CLAIMS, POD_GROUPS)
        owned = ("batch/v1/jobs", "jobset.x-k8s.io/v1alpha2/jobsets", "resource.nvidia.com/v1beta1/computedomains")
        roles = ("rbac.authorization.k8s.io/v1/roles", "rbac.authorization.k8s.io/v1/rolebindings")
        kept = ("default", "kube-root-ca.crt")
        return [
            f"{kind.rpartition('/')[2]} {each['metadata']['name']} is left"
            for kind in (*kinds, *owned, *roles)
            for each in self.plane.inside(kind)
            if each["metadata"]["name"] not in kept and _of(each, made)
        ]

    def pods(self, gangs: Iterable[str]) -> list[Object]:
        """The pods of gangs, in the order of their ranks."""
        wanted = set(gangs)
        found = [each for each in self.plane.inside("pods") if _labels(each).get(GANG_LABEL) in wanted]
        return sorted(found, key=_rank)

    def bound(self, gangs: Iterable[str]) -> dict[str, str]:
        """Pod -> node."""
        return {each["metadata"]["name"]: node for each in self.pods(gangs) if (node := each["spec"].get("nodeName"))}

    def settle(self, stage: Stage, wanted: Callable[[int], bool]) -> None:
        """Wait until as many pods of the stage run as wanted, or for long enough."""
        gangs = [gang.name for gang in stage.gangs]
        self.plane.until(
            lambda: wanted(sum(each["status"].get("phase") == "Running" for each in self.pods(gangs))), SECONDS
        )

    def judged(self, made: Scene, stage: Stage, outcome: str = "placed") -> list[str]:
        """Compare the bound pods of a stage with the plan."""
        pods = self.pods(gang.name for gang in stage.gangs)
        bindings = {each["metadata"]["name"]: node for each in pods if (node := each["spec"].get("nodeName"))}
        found = compare(stage, made.plan.topology, members(pods, made), bindings)
        faults = [] if found.outcome == outcome else [f"{found.outcome} instead of {outcome}: {'; '.join(found.why)}"]
        return faults + self.unclaimed(pods) + self.groups(made)

    def unclaimed(self, pods: Iterable[Object]) -> list[str]:
        """Pods that run without the devices that they claim."""
        claims = {each["metadata"]["name"]: each for each in self.plane.inside(CLAIMS)}
        running = [each for each in pods if each["status"].get("phase") == "Running"]
        names = [
            (pod, status["resourceClaimName"])
            for pod in running
            for status in pod["status"].get("resourceClaimStatuses") or ()
        ]
        short = [
            f"{pod['metadata']['name']} runs, and {pod['spec'].get('resourceClaims') and 'a claim has no status'}"
            for pod in running
            if len(pod["spec"].get("resourceClaims") or ()) != len(pod["status"].get("resourceClaimStatuses") or ())
        ]
        return short + [f"{name} is not allocated" for pod, name in names if not _on_node(claims.get(name), pod)]

    def groups(self, made: Scene) -> list[str]:
        """PodGroups that nobody rendered, and rendered ones that controllers or webhooks changed."""
        rendered = {each["metadata"]["name"]: each["spec"] for each in made.documents if each["kind"] == "PodGroup"}
        found = {each["metadata"]["name"]: each["spec"] for each in self.plane.inside(POD_GROUPS) if _of(each, made)}
        extra = [f"PodGroup {name} was not rendered" for name in sorted(set(found) - set(rendered))]
        return extra + [
            f"PodGroup {name}: {key} is {found.get(name, {}).get(key)!r} instead of {value!r}"
            for name, spec in rendered.items()
            for key, value in spec.items()
            if not _holds(found.get(name, {}).get(key), value)
        ]


def _holds(stored: Any, sent: Any) -> bool:
    if isinstance(sent, Mapping) and isinstance(stored, Mapping):
        return all(_holds(stored.get(key), value) for key, value in sent.items())
    if isinstance(sent, list) and isinstance(stored, list):
        return len(sent) == len(stored) and all(map(_holds, stored, sent))
    return bool(stored == sent)


def _on_node(claim: Object | None, pod: Object) -> bool:
    allocation = (claim or {}).get("status", {}).get("allocation") or {}
    results = allocation.get("devices", {}).get("results") or ()
    node = pod["spec"]["nodeName"]
    return bool(results) and all(each["pool"] == node for each in results)


def _template(name: str) -> Object:
    place = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": place}


def _labels(document: Mapping[str, Any]) -> Mapping[str, str]:
    labels: Mapping[str, str] = document["metadata"].get("labels") or {}
    return labels


def _of(document: Mapping[str, Any], made: Scene) -> bool:
    """Whether an object is of this case's workflow; what carries no label of a workflow is of the one that runs."""
    return _labels(document).get(WORKFLOW_LABEL, made.case.name) == made.case.workflow["metadata"]["name"]


def _rank(pod: Object) -> tuple[str, str, int, int]:
    labels = _labels(pod)
    jobs, index = labels.get("jobset.sigs.k8s.io/job-index", "0"), labels.get("batch.kubernetes.io/job-completion-index")
    return labels.get(GANG_LABEL, ""), _instance(labels), int(jobs), int(index or "0")


def _instance(labels: Mapping[str, str]) -> str:
    return "-".join(part for part in (labels.get(GROUP_LABEL, ""), labels.get(POD_SET_LABEL, "")) if part)


def members(pods: Iterable[Object], made: Scene) -> Iterator[Member]:
    """The pods that controllers made, in the order of their ranks, with their podSet instances of the plan."""
    seen: dict[tuple[str, str], int] = {}
    for pod in pods:
        labels = _labels(pod)
        key = labels[GANG_LABEL], _instance(labels)
        number = seen.setdefault(key, 0)
        seen[key] += 1
        yield Member(key[0], made.folded.get(key, {}).get(number, key[1]), pod, key[1])


def bayplan(folder: Path, case: Case, *arguments: str) -> str:
    """What bayplan's command line prints for a case."""
    names = []
    for word in ("workflow", "topology"):
        path = folder / f"{word}.yaml"
        path.write_text(yaml.safe_dump(getattr(case, word)), encoding="utf-8")
        names.append(str(path))
    command = [sys.executable, "-m", "bayplan", *arguments, names[0], "-t", names[1], "-q"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def example(name: str) -> Case:
    """An example of the repository."""
    return read_example(name)


def edited(case: Case, change: Callable[[Object, Object], None], name: str = "") -> Case:
    """The case with its workflow and topology changed."""
    workflow, topology = copy.deepcopy(dict(case.workflow)), copy.deepcopy(dict(case.topology))
    change(workflow, topology)
    return Case(name or case.name, workflow, topology)


# --- the scenes -------------------------------------------------------------------------------------------------------


def pretrain(bench: Bench) -> Told:
    """README's example: four groups, each in one rack, with a ComputeDomain each."""
    return _placed(bench, example("pretrain"))


def nested(bench: Bench) -> Told:
    """Groups in groups."""
    return _placed(bench, example("nested-groups"))


def _placed(bench: Bench, case: Case) -> Told:
    made = bench.made(case)
    faults = bench.apply(made)
    stage = made.stages[0]
    asked = sum(pods.total for gang in stage.gangs for pods in all_pods(gang.root))
    bench.settle(stage, lambda count: count == asked)
    faults += bench.judged(made, stage)
    bound = bench.bound(gang.name for gang in stage.gangs)
    return Told(f"{len(bound)} pods run", faults + bench.undo(made))


KAI_SCENES: dict[str, Callable[[Bench], Told]] = {"pretrain": pretrain, "nested groups": nested}
