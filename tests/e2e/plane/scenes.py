"""Scenes: what is applied, what is waited for, and what must have come of it."""

from __future__ import annotations

import copy
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bayplan.kube.kinds import GANG_LABEL, GROUP_LABEL, POD_SET_LABEL, WORKFLOW_LABEL
from bayplan.model.plan import all_pods
from e2e.apiserver.cluster import must
from e2e.cases import read_example
from e2e.compare import compare
from e2e.nodes import CHANNEL_CLASS
from e2e.plane.control import IMEX, MERGE, NAMESPACE, Object, Plane
from e2e.pods import Member, claim_templates
from e2e.releases import BY_NAME
from e2e.scene import Scene, Stage, scene
from e2e.scheduler import Case

CALM = 10
"""Seconds without another pod after which no other is expected."""

SECONDS = 240
"""How long something may take that must happen. On two free cores nothing takes more than ten."""

POD_GROUPS = "scheduling.run.ai/v2alpha2/podgroups"
WORKLOADS = "kueue.x-k8s.io/v1beta2/workloads"
CLAIMS = "resource.k8s.io/v1/resourceclaims"
ENDS = {"metadata": {"annotations": {"bench/ends": "true"}}}


class Report(NamedTuple):
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
                must(self.plane.send({**_template(name), "spec": {"spec": spec}}))
        return self.plane.apply(made.documents)

    def undo(self, made: Scene) -> list[str]:
        """Run the commands of `bayplan delete-plan`. What is left of the workflow then, and what the commands said."""
        printed = bayplan(self.plane.folder, made.case, "delete-plan", "-s", self.release.split()[0])
        done = self.plane.shell(f"set -e\n{printed}")
        faults = [done.stderr] if done.returncode else []
        for name in claim_templates(made.documents):
            self.plane.delete(_template(name))  # as the driver does when its ComputeDomain goes
        self.plane.until(lambda: not self.left(made), 60)
        return faults + self.left(made)

    def left(self, made: Scene) -> list[str]:
        """The objects of the workflow and of its pods."""
        kinds = ("pods", "services", "configmaps", "serviceaccounts", CLAIMS, self.gangs)
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

    def running(self, stage: Stage) -> int:
        """How many pods of the stage run."""
        return sum(each["status"].get("phase") == "Running" for each in self.pods(gang.name for gang in stage.gangs))

    def settle(self, stage: Stage, wanted: int) -> None:
        """Wait until as many pods of the stage run, or for long enough."""
        self.plane.until(lambda: self.running(stage) >= wanted, SECONDS)

    def calm(self, stage: Stage) -> int:
        """Wait until no more pods of the stage start, and return how many run."""
        before = -1
        while before != (now := self.running(stage)):
            before = now
            time.sleep(CALM)
        return now

    def waits(self, made: Scene) -> list[str]:
        """Wait until the scheduler has written into the PodGroup or Workload of a case that it finds no place."""

        def told() -> bool:
            groups = [each.get("status", {}) for each in self.plane.inside(self.gangs) if _of(each, made)]
            return bool(groups) and all(each.get("schedulingConditions") or _unreserved(each) for each in groups)

        return [] if self.plane.until(told, SECONDS) else ["the scheduler has not tried the gang"]

    @property
    def gangs(self) -> str:
        """The kind of object that is a gang to the scheduler."""
        return WORKLOADS if self.release.startswith("kueue") else POD_GROUPS

    def judged(self, made: Scene, stage: Stage, outcome: str = "placed") -> list[str]:
        """Compare the bound pods of a stage with the plan."""
        pods = self.pods(gang.name for gang in stage.gangs)
        bindings = {each["metadata"]["name"]: node for each in pods if (node := each["spec"].get("nodeName"))}
        found = compare(stage, made.plan, members(pods, made), bindings)
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
        if self.gangs != POD_GROUPS:
            return []
        rendered = {each["metadata"]["name"]: each["spec"] for each in made.documents if each["kind"] == "PodGroup"}
        found = {each["metadata"]["name"]: each["spec"] for each in self.plane.inside(POD_GROUPS) if _of(each, made)}
        extra = [f"PodGroup {name} was not rendered" for name in sorted(set(found) - set(rendered))]
        return extra + [
            f"PodGroup {name}: {key} is {found.get(name, {}).get(key)!r} instead of {value!r}"
            for name, spec in rendered.items()
            for key, value in spec.items()
            if not _holds(found.get(name, {}).get(key), value)
        ]


def _unreserved(status: Mapping[str, Any]) -> bool:
    conditions = status.get("conditions", ())
    return any(each["type"] == "QuotaReserved" and each["status"] == "False" for each in conditions)


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
    """Whether an object is of this case's workflow: by its label, or by its owner or name if controllers made it."""
    workflow, metadata = made.case.workflow["metadata"]["name"], document["metadata"]
    if WORKFLOW_LABEL in _labels(document):
        return bool(_labels(document)[WORKFLOW_LABEL] == workflow)
    names = [metadata["name"], *(owner["name"] for owner in metadata.get("ownerReferences", ()))]
    return any(each.split("-")[0] == workflow for each in names)


def _rank(pod: Object) -> tuple[str, str, int, int]:
    labels = _labels(pod)
    jobs, index = (
        labels.get("jobset.sigs.k8s.io/job-index", "0"),
        labels.get("batch.kubernetes.io/job-completion-index"),
    )
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
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def example(name: str) -> Case:
    """An example of the repository."""
    return read_example(name)


def edited(case: Case, change: Callable[[Object, Object], None], name: str = "") -> Case:
    """The case with its workflow and topology changed."""
    workflow, topology = copy.deepcopy(dict(case.workflow)), copy.deepcopy(dict(case.topology))
    change(workflow, topology)
    return Case(name or case.name, workflow, topology)


# --- the scenes -------------------------------------------------------------------------------------------------------


def pretrain(bench: Bench) -> Report:
    """README's example: four groups, each in one rack, with a ComputeDomain each or one for all."""
    return _placed(bench, mapped(example("pretrain")))


def nested(bench: Bench) -> Report:
    """Groups in groups."""
    return _placed(bench, mapped(example("nested-groups")))


def mapped(case: Case) -> Case:
    """The case with the mapping of channels that Kueue's configuration must have."""

    def stated(_: Object, topology: Object) -> None:
        topology["spec"]["schedulers"] = {"kueue": {"deviceClassMappings": {CHANNEL_CLASS: IMEX}}}

    return edited(case, stated)


def claimed(bench: Bench) -> Report:
    """GPUs and channels that are claimed."""
    return _placed(bench, example("dra-gpus"))


def _placed(bench: Bench, case: Case) -> Report:
    made = bench.made(case)
    faults = bench.apply(made)
    stage = made.stages[0]
    bench.settle(stage, _asked(stage))
    faults += bench.judged(made, stage)
    bound = bench.bound(gang.name for gang in stage.gangs)
    return Report(f"{len(bound)} pods run", faults + bench.undo(made))


def _asked(stage: Stage) -> int:
    return sum(pods.total for gang in stage.gangs for pods in all_pods(gang.root))


def depends(bench: Bench) -> Report:
    """Three gangs, each of which starts when the one before it has ended."""
    made = bench.made(example("pipeline"))
    faults = bench.apply(made)
    counts = []
    for index, stage in enumerate(made.stages):
        bench.settle(stage, _asked(stage))
        faults += bench.judged(made, stage)
        later = bench.pods(gang.name for each in made.stages[index + 1 :] for gang in each.gangs)
        faults += [f"{each['metadata']['name']} is there before its turn" for each in later]
        ending = bench.pods(gang.name for gang in stage.gangs)
        counts.append(str(len(ending)))
        for each in ending:
            must(bench.plane.client.send("PATCH", bench.plane.path(_typed("v1", "Pod", each)), ENDS, MERGE))
    faults += [] if bench.plane.until(lambda: _completed(bench), SECONDS) else ["the JobSet does not complete"]
    return Report(f"{', then '.join(counts)} pods run", faults + bench.undo(made))


def failing(bench: Bench) -> Report:
    """A pod ends with a code of `retryOnExitCodes`, and one with a code of `restartGangOnExitCodes`; then a gang with
    `maxRestarts: 0` ends with a failure."""
    made = bench.made(example("server-and-clients"))
    faults = bench.apply(made)
    (stage,) = made.stages
    bench.settle(stage, _asked(stage))
    first = _uids(bench, stage)
    _fail(bench, next(each for each in bench.pods(_names(stage)) if _instance(_labels(each)) == "client"), 75)
    bench.plane.until(lambda: bench.running(stage) == _asked(stage) and _uids(bench, stage) != first, SECONDS)
    second = _uids(bench, stage)
    kept = len(first & second)
    faults += [] if kept == _asked(stage) - 1 else [f"{kept} of {_asked(stage)} pods go on beside a retry"]
    _fail(bench, next(each for each in bench.pods(_names(stage)) if _instance(_labels(each)) == "server"), 3)
    bench.plane.until(lambda: bench.running(stage) == _asked(stage) and not _uids(bench, stage) & second, SECONDS)
    faults += [] if not _uids(bench, stage) & second else ["the gang does not restart"]
    faults += bench.judged(made, stage)
    _fail(bench, bench.pods(_names(stage))[0], 1)
    ended = bench.plane.until(lambda: _states(bench) == {"Failed"}, SECONDS)
    faults += [] if ended else ["the JobSet does not fail"]
    return Report("a pod, then the gang starts again; then it fails", faults + bench.undo(made))


def _names(stage: Stage) -> list[str]:
    """The gangs of a stage."""
    return [gang.name for gang in stage.gangs]


def _fail(bench: Bench, pod: Object, code: int) -> None:
    """End a pod with an exit code."""
    ends = {"metadata": {"annotations": {"bench/fails": str(code)}}}
    must(bench.plane.client.send("PATCH", bench.plane.path(_typed("v1", "Pod", pod)), ends, MERGE))


def _uids(bench: Bench, stage: Stage) -> set[str]:
    """The running pods."""
    pods = bench.pods(_names(stage))
    return {each["metadata"]["uid"] for each in pods if each["status"].get("phase") == "Running"}


def _states(bench: Bench) -> set[str]:
    """How the JobSets ended."""
    found = bench.plane.inside("jobset.x-k8s.io/v1alpha2/jobsets")
    return {each.get("status", {}).get("terminalState", "") for each in found}


def _typed(version: str, kind: str, document: Object) -> Object:
    return {"apiVersion": version, "kind": kind, **document}


def _completed(bench: Bench) -> bool:
    return _states(bench) == {"Completed"}


def elastic(bench: Bench) -> Report:
    """Four groups of 16 pods, of which 3 with 12 pods each may start, and 3 racks with 14 nodes each."""

    def three_racks(_: Object, topology: Object) -> None:
        (pool,) = topology["spec"]["pools"]
        del pool["unusable"]
        pool["domains"] = [{**each, "nodes": each["nodes"].replace("01-18", "01-14")} for each in pool["domains"][:3]]

    made = bench.made(edited(example("elastic"), three_racks))
    faults = bench.apply(made)
    (stage,) = made.stages
    least = sum(
        pods.minimum
        for units in stage.gangs[0].root.groups
        for unit in units.members[: units.minimum]
        for pods in unit.pods
    )
    bench.settle(stage, least)
    count = bench.calm(stage)
    may = stage._replace(verdict="fits")  # with the pods that must start, as P556 says
    faults += bench.judged(made, may)
    # KAI starts no other pod until the waiting group has room (allocation_info.go, "elastic phase").
    faults += [] if count == least else [f"{count} pods run instead of {least}"]
    return Report(f"{count} of {_asked(stage)} pods run, {least} must", faults + bench.undo(made))


def adopted(bench: Bench) -> Report:
    """`cleanup: adopt`: the script of the short Job runs as its ServiceAccount; then only the JobSet is deleted."""
    made = bench.made(example("files-and-adoption"))
    faults = bench.apply(made)
    (stage,) = made.stages
    bench.settle(stage, _asked(stage))
    faults += bench.judged(made, stage)
    (job,) = (each for each in made.documents if each["kind"] == "Job")
    pod = job["spec"]["template"]["spec"]
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": pod["serviceAccountName"]}}
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = must(bench.plane.client.send("POST", f"{bench.plane.path(account)}/token", request)).body["status"]["token"]
    done = bench.plane.shell(pod["containers"][0]["command"][-1], token)
    faults += [done.stderr] if done.returncode else []
    count = len(bench.left(made))
    (jobset,) = (each for each in made.documents if each["kind"] == "JobSet")
    must(bench.plane.delete(jobset))
    for name in claim_templates(made.documents):
        bench.plane.delete(_template(name))
    bench.plane.until(lambda: not bench.left(made), SECONDS)
    return Report(f"{count} objects go with the JobSet", faults + bench.left(made))


def refused(bench: Bench) -> Report:
    """README's example with one pod more in each group than a rack has nodes."""

    def larger(workflow: Object, _: Object) -> None:
        (pods,) = workflow["spec"]["gangs"][0]["groups"][0]["podSets"]
        pods["replicas"] = 19

    made = bench.made(edited(mapped(example("pretrain")), larger))
    faults = bench.apply(made)
    (stage,) = made.stages
    faults += bench.waits(made)
    faults += bench.judged(made, stage, "refused")
    return Report(f"{_asked(stage)} pods wait", faults + bench.undo(made))


def deleted(bench: Bench) -> Report:
    """The commands that `delete-plan` prints, while all pods run."""
    made = bench.made(example("leader-and-workers"))
    faults = bench.apply(made)
    (stage,) = made.stages
    bench.settle(stage, _asked(stage))
    faults += bench.judged(made, stage)
    before = len(bench.left(made))
    return Report(f"{before} objects, none after the commands", faults + bench.undo(made))


def waiting(bench: Bench) -> Report:
    """Two jobs, and room for one of them."""

    def four_racks(_: Object, topology: Object) -> None:
        (pool,) = topology["spec"]["pools"]
        pool["domains"] = pool["domains"][:4]
        pool["unusable"] = {"cordoned": pool["unusable"]["cordoned"]}

    def second(workflow: Object, _: Object) -> None:
        workflow["metadata"]["name"] = "second"

    case = edited(mapped(example("pretrain")), four_racks)
    made = bench.made(case)
    faults = bench.apply(made)
    (stage,) = made.stages
    bench.settle(stage, _asked(stage))
    faults += bench.judged(made, stage)
    after = bench.made(edited(case, second))
    faults += bench.apply(after)
    (late,) = after.stages
    faults += bench.waits(after)
    early = len(bench.bound(gang.name for gang in late.gangs))
    faults += [f"{early} pods of the second job start beside the first"] if early else []
    faults += bench.undo(made)
    bench.settle(late, _asked(late))
    faults += bench.judged(after, late)
    return Report(f"{_asked(late)} pods run after {_asked(stage)} others", faults + bench.undo(after))


JOB = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: segments
  namespace: ml
  annotations:
    bayplan.dev/placement: required=spine
    bayplan.dev/group-size: "16"
    bayplan.dev/group-placement: required=rack
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 32
      restartPolicy: OnFailure
      template:
        spec:
          containers:
          - name: pytorch
            image: nvcr.io/nvidia/pytorch:25.08-py3
            command: [torchrun, train.py]
            resources: {limits: {nvidia.com/gpu: 4}}
"""
"""A PyTorchJob as a chart may have it."""

SAME = """
gangs:
- name: segments
  placement: {required: spine}
  groups:
  - name: segment
    replicas: 2
    placement: {required: rack}
    podSets: [{name: worker, replicas: 16, accelerator: {name: gb200, count: 4}, image: x, command: [x]}]
"""
"""What the annotations of JOB ask for, as a workflow: its plan is what is compared."""


def post_rendered(bench: Bench) -> Report:
    """A PyTorchJob that `post-render` changed, and the pods that the training operator would make of it."""

    def asked(workflow: Object, _: Object) -> None:
        workflow["metadata"]["name"] = "segments"
        workflow["spec"] = {"queue": "research", **yaml.safe_load(SAME)}

    made = bench.made(edited(example("pretrain"), asked))
    topology = bench.plane.folder / "topology.yaml"
    topology.write_text(yaml.safe_dump(dict(made.case.topology)), encoding="utf-8")
    command = [sys.executable, "-m", "bayplan", "post-render", "-t", str(topology), "-q"]
    printed = subprocess.run(command, input=JOB, capture_output=True, text=True, check=True).stdout
    documents = [each for each in yaml.safe_load_all(printed) if each]
    faults = bench.apply(made._replace(documents=documents))
    (job,) = (each for each in documents if each["kind"] == "PyTorchJob")
    owner = {**must(bench.plane.client.get(bench.plane.path(job))).body["metadata"], **job["metadata"]}
    for index in range(job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"]):
        bench.plane.create(_worker(job, owner["uid"], index))
    (stage,) = made.stages
    bench.settle(stage, _asked(stage))
    pods = sorted(bench.pods(["segments"]), key=_index)
    chosen = [Member("segments", f"segment-{index // 16}-worker", pod, "") for index, pod in enumerate(pods)]
    found = compare(stage, made.plan, chosen, bench.bound(["segments"]))
    faults += [] if found.outcome == "placed" else [f"{found.outcome}: {'; '.join(found.why)}"]
    faults += bench.unclaimed(pods)
    count = bench.running(stage)
    for each in (*documents, *claim_templates_of(documents)):
        bench.plane.delete(each)
    bench.plane.until(lambda: not bench.left(made), SECONDS)
    return Report(f"{count} pods run", faults + bench.left(made))


def claim_templates_of(documents: Iterable[Object]) -> list[Object]:
    """The claim templates that stand in for the driver's."""
    return [_template(name) for name in claim_templates(list(documents))]


def _index(pod: Object) -> int:
    return int(_labels(pod)["training.kubeflow.org/replica-index"])


def _worker(job: Object, uid: str, index: int) -> Object:
    """A pod as the training operator 1.9.3 makes it (pkg/controller.v1/common/pod.go)."""
    name, template = job["metadata"]["name"], job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    labels = {
        "training.kubeflow.org/job-name": name,
        "training.kubeflow.org/operator-name": "pytorchjob-controller",
        "training.kubeflow.org/replica-type": "worker",
        "training.kubeflow.org/replica-index": str(index),
    }
    metadata = template.get("metadata", {})
    owner = {key: job[key] for key in ("apiVersion", "kind")}
    place = {
        "name": f"{name}-worker-{index}",
        "namespace": NAMESPACE,
        "labels": {**metadata.get("labels", {}), **labels},
        "annotations": metadata.get("annotations", {}),
        "ownerReferences": [{**owner, "name": name, "uid": uid, "controller": True, "blockOwnerDeletion": True}],
    }
    return _typed("v1", "Pod", {"metadata": place, "spec": {**template["spec"], "restartPolicy": "OnFailure"}})


KAI_SCENES: dict[str, Callable[[Bench], Report]] = {
    "pretrain": pretrain,
    "nested groups": nested,
    "dependsOn": depends,
    "exit codes": failing,
    "elastic": elastic,
    "cleanup": adopted,
    "claims": claimed,
    "post-rendered PyTorchJob": post_rendered,
    "refused": refused,
    "delete-plan": deleted,
    "second job": waiting,
}

KUEUE_SCENES: dict[str, Callable[[Bench], Report]] = {
    "pretrain": pretrain,
    "nested groups": nested,
    "refused": refused,
    "second job": waiting,
}
