"""What several tests need: documents from text, plans, and the pods that manifests come down to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import yaml

from bayplan import pipeline
from bayplan.core.diagnostics import Diagnostic, Outcome, has_errors
from bayplan.manifests.order import head
from bayplan.model.formats import ReadOptions, SourceFile
from bayplan.model.manifest import File, Item
from bayplan.model.plan import GangPlan, Plan, edit_unit
from bayplan.pipeline import Planned
from bayplan.planning.existing import with_parts
from bayplan.planning.shape import with_shared_objects
from bayplan.text import document
from bayplan.text.emit import emit
from bayplan.topologies import native as native_topology
from tools import pod_runner

TOPOLOGY: dict[str, Any] = {
    "apiVersion": "bayplan.dev/v1alpha1",
    "kind": "ClusterTopology",
    "metadata": {"name": "hall"},
    "spec": {
        "versions": {"kubernetes": "1.34", "kai": "0.17", "draDriver": "25.12", "jobset": "0.12"},
        "defaults": {"scheduler": "kai", "namespace": "ml", "queue": "research"},
        "pools": [
            {
                "name": "gb200",
                "node": {"accelerator": "gb200", "count": 4, "cpu": "140", "memory": "900Gi"},
                "levels": [
                    {"name": "spine", "label": "example.com/spine"},
                    {"name": "rack", "label": "nvidia.com/gpu.clique", "nvlink": True},
                ],
                "domains": [
                    {"path": f"s{spine}/r{spine}{rack}", "nodes": f"n{spine}{rack}-[01-18]"}
                    for spine in range(2)
                    for rack in range(4)
                ],
            }
        ],
        "accelerators": {"gb200": {"vendor": "nvidia", "allocator": "device-plugin"}},
    },
}
"""Two spines of four racks of 18 GB200 nodes."""

WORKER = {
    "name": "worker",
    "replicas": 16,
    "accelerator": {"name": "gb200", "count": 4},
    "image": "registry.example.com/train:1",
    "command": ["torchrun"],
}


def workflow(*gangs: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    """A Workflow document around some gangs."""
    head = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Workflow", "metadata": {"name": "train", "namespace": "ml"}}
    return {**head, "spec": {**spec, "gangs": list(gangs)}}


def pretrain(**changes: Any) -> dict[str, Any]:
    """4 groups of 16 pods, each in one rack, all under one spine; `changes` go into the podSet."""
    replica = {"name": "replica", "replicas": 4, "placement": {"required": "rack"}, "podSets": [{**WORKER, **changes}]}
    return {"name": "train", "placement": {"required": "spine"}, "groups": [replica]}


class Result(NamedTuple):
    """What one run gave."""

    compiled: pipeline.Compiled | None
    diagnostics: tuple[Diagnostic, ...]
    documents: list[dict[str, Any]]

    @property
    def codes(self) -> list[str]:
        return [each.code for each in self.diagnostics]

    def kinds(self, kind: str) -> list[dict[str, Any]]:
        return [each for each in self.documents if each["kind"] == kind]


def run(flow: Mapping[str, Any], topology: Mapping[str, Any] = TOPOLOGY, **request: Any) -> Result:
    """Compile two documents, and read the emitted text back."""
    one = document.Document("workflow.yaml", "", 0, flow)
    other = document.Document("topology.yaml", "", 0, topology)
    outcome, _ = pipeline.compile(pipeline.Request(one, other, **request))
    assert (outcome.value is None) == has_errors(outcome.diagnostics)
    return Result(outcome.value, outcome.diagnostics, _read(outcome.value.documents) if outcome.value else [])


def _read(items: Iterable[Item]) -> list[Any]:
    """The objects as a YAML reader finds them in what is written; files as `arrange` sees them."""
    kept = list(items)
    text = "".join(emit(each for each in kept if not isinstance(each, File)))
    objects = [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]
    return [*objects, *(head(each) for each in kept if isinstance(each, File))]


class Pod(NamedTuple):
    """One pod as a cluster would make it from the manifests."""

    name: str
    host: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    env: Mapping[str, str]
    spec: Mapping[str, Any]


def pods(documents: Iterable[Mapping[str, Any]]) -> Iterator[Pod]:
    """Every pod that JobSets, Jobs and Pods come down to, with its environment evaluated."""
    for each in documents:
        name, given = each["metadata"]["name"], {"namespace": each["metadata"].get("namespace", "")}
        if each["kind"] == "JobSet":
            for job in each["spec"]["replicatedJobs"]:
                for copy in range(job["replicas"]):
                    stem = f"{name}-{job['name']}-{copy}"
                    for pod in _job_pods(stem, name, job["template"]["spec"], {**given, "copy": str(copy)}):
                        yield pod._replace(labels={**pod.labels, "jobset.sigs.k8s.io/job-index": str(copy)})
        elif each["kind"] == "Job" and "completionMode" in each["spec"]:
            yield from _job_pods(name, each["spec"]["template"]["spec"].get("subdomain", ""), each["spec"], given)
        elif each["kind"] == "Job" and "tasks" in each["spec"]:
            yield from _task_pods(each, given)
        elif each["kind"] == "LeaderWorkerSet":
            yield from _led_pods(each, given)
        elif each["kind"] == "MPIJob":
            yield from _mpi_pods(each, given)
        elif each["kind"] == "StatefulSet":
            for number in range(each["spec"]["replicas"]):
                given |= {"pod": f"{name}-{number}", "ordinal": str(number)}
                host = f"{given['pod']}.{each['spec']['serviceName']}"
                pod = _pod(given["pod"], host, each["spec"]["template"], given)
                yield pod._replace(labels={**pod.labels, "apps.kubernetes.io/pod-index": str(number)})
        elif each["kind"] == "Pod":
            spec = each["spec"]
            host = f"{spec['hostname']}.{spec['subdomain']}" if "subdomain" in spec else ""
            yield _pod(name, host, each, given)


def _mpi_pods(job: Mapping[str, Any], given: Mapping[str, str]) -> Iterator[Pod]:
    """The launcher and the workers of an MPIJob, as mpi-operator makes them."""
    owner = job["metadata"]["name"]
    for kind, replicas in job["spec"]["mpiReplicaSpecs"].items():
        stem = f"{owner}-{kind.lower()}"
        for name in [stem] if kind == "Launcher" else [f"{stem}-{number}" for number in range(replicas["replicas"])]:
            yield _pod(name, f"{name}.{owner}", replicas["template"], {**given, "pod": name})


def _job_pods(stem: str, service: str, spec: Mapping[str, Any], given: Mapping[str, str]) -> Iterator[Pod]:
    assert spec["parallelism"] == spec["completions"]
    for number in range(spec["completions"]):
        index = {**given, "JOB_COMPLETION_INDEX": str(number)}
        pod = _pod(f"{stem}-{number}", service and f"{stem}-{number}.{service}", spec["template"], index)
        yield pod._replace(labels={**pod.labels, "batch.kubernetes.io/job-completion-index": str(number)})


def _task_pods(job: Mapping[str, Any], given: Mapping[str, str]) -> Iterator[Pod]:
    """The pods of a Volcano Job, as its controller and its plugins `svc` and `env` make them."""
    owner = job["metadata"]["name"]
    for task in job["spec"]["tasks"]:
        for number in range(task["replicas"]):
            name = f"{owner}-{task['name']}-{number}"
            host = f"{name}.{owner}" if "svc" in job["spec"]["plugins"] else ""
            pod = _pod(name, host, task["template"], {**given, "VC_TASK_INDEX": str(number)})
            partition = task.get("partitionPolicy", {}).get("partitionSize")
            labels = {"volcano.sh/partition-id": str(number // partition)} if partition else {}
            yield pod._replace(labels={**pod.labels, **labels, "volcano.sh/task-index": str(number)})


def _led_pods(one: Mapping[str, Any], given: Mapping[str, str]) -> Iterator[Pod]:
    """The pods of a LeaderWorkerSet (LWS 0.7 to 0.9, pkg/controllers and pkg/utils/pod)."""
    name, inside = one["metadata"]["name"], one["spec"]["leaderWorkerTemplate"]
    for group in range(one["spec"].get("replicas", 1)):
        leader = f"{name}-{group}"
        for index in range(inside["size"]):
            called = f"{leader}-{index}" if index else leader
            own = {
                "LWS_LEADER_ADDRESS": f"{leader}.{name}.{given['namespace']}",
                "LWS_GROUP_SIZE": str(inside["size"]),
                "LWS_WORKER_INDEX": str(index),
            }
            template = inside["workerTemplate"] if index else inside.get("leaderTemplate", inside["workerTemplate"])
            pod = _pod(called, f"{called}.{name}", template, {**given, **own, "group": str(group)})
            yield pod._replace(labels={**pod.labels, "leaderworkerset.sigs.k8s.io/worker-index": str(index)})


def _pod(name: str, host: str, template: Mapping[str, Any], given: Mapping[str, str]) -> Pod:
    container = template["spec"]["containers"][0]
    env = dict(given)
    for entry in container.get("env", []):
        env[entry["name"]] = expanded(entry["value"], env) if "value" in entry else _field(entry, given)
    words = {key: [expanded(word, env) for word in container[key]] for key in ("command", "args") if key in container}
    command = words.get("command", [])
    if command[:2] == ["sh", "-c"]:
        env |= exported(command[2], env)
    metadata = template["metadata"]
    spec = {**template["spec"], "containers": [{**container, **words}, *template["spec"]["containers"][1:]]}
    host = f"{host}.{given['namespace']}.svc.cluster.local" if host else ""
    return Pod(name, host, metadata.get("labels", {}), metadata.get("annotations", {}), env, spec)


def expanded(text: str, env: Mapping[str, str]) -> str:
    """`$(NAME)` as the kubelet expands it: a variable that is not set yet stays as it is."""
    return pod_runner.expand(text, env)


def _field(entry: Mapping[str, Any], given: Mapping[str, str]) -> str:
    ((kind, source),) = entry["valueFrom"].items()
    if kind != "fieldRef":
        return f"<{source.get('name', '')}/{source.get('key') or source.get('resource')}>"
    path = source["fieldPath"]
    return given.get(FIELDS.get(path, ""), f"<{path}>")


FIELDS = {
    "metadata.name": "pod",
    "metadata.namespace": "namespace",
    "metadata.annotations['batch.kubernetes.io/job-completion-index']": "JOB_COMPLETION_INDEX",
    "metadata.annotations['jobset.sigs.k8s.io/job-index']": "copy",
    "metadata.labels['jobset.sigs.k8s.io/job-index']": "copy",
    "metadata.annotations['volcano.sh/task-index']": "VC_TASK_INDEX",
    "metadata.labels['leaderworkerset.sigs.k8s.io/worker-index']": "LWS_WORKER_INDEX",
    "metadata.labels['leaderworkerset.sigs.k8s.io/group-index']": "group",
    "metadata.labels['apps.kubernetes.io/pod-index']": "ordinal",
}
"""Fields of pods -> what `given` calls their value."""


def exported(script: str, env: Mapping[str, str]) -> dict[str, str]:
    """What `export A=text B=$((sum)); exec ...` exports, also with a line break instead of the semicolon."""
    words = re.split("[;\n]", script)[0].removeprefix("export ").split(" ")
    return {
        name: re.sub(r"\$\(\(([^)]*)\)\)", lambda sum_: _sum(sum_[1], env), text) for name, text in map(_pair, words)
    }


def _pair(word: str) -> tuple[str, str]:
    name, _, text = word.partition("=")
    return name, text


def _sum(expression: str, env: Mapping[str, str]) -> str:
    """Shell arithmetic: `/` is a division without remainder, and `${NAME##*-}` ends behind the last dash."""
    expression = re.sub(r"\$\{([A-Z_]+)##\*-\}", lambda name: env[name[1]].rpartition("-")[2], expression)
    filled = re.sub(r"[A-Z_]+", lambda name: env[name[0]], expression).replace("/", "//")
    assert re.fullmatch(r"[0-9+*%/-]+", filled), expression
    return str(eval(filled))  # digits and operators only


def brought(format_: Any, source: SourceFile) -> Outcome[dict[str, Any]]:
    """What a format of other systems makes of a file, as a native document."""
    made = format_.new(source, ReadOptions())
    return Outcome(made.value and native_topology.write(made.value.topology), made.diagnostics)


def of_objects(planned: Planned) -> Plan:
    """The plan in the words of its objects: with the parts of MPIJobs and, for gangs whose copies are pods of one Job,
    with as many pods as run at once. Kueue admits all of these together."""
    backend = planned.backend.declared.name

    def gang(own: GangPlan) -> GangPlan:
        if own.copies == 1 or backend == "slurm":
            return own
        at_once = own.gang.at_once or own.copies
        least = at_once if backend == "kueue" else 1
        root = edit_unit(own.root, pods=lambda pods: pods._replace(replicas=at_once, minimum=least))
        return own._replace(root=root)

    plan = with_shared_objects(with_parts(planned.plan, planned.shape), planned.shape)
    return plan._replace(gangs=tuple(map(gang, plan.gangs)))
