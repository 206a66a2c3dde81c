"""Writes `kustomize-plugin/references/names.yaml`: which fields hold the name of another object.

kustomize's own tables know no claims, no scheduler and no workload beyond Kubernetes' own (api/internal/konfig/
builtinpluginconsts/namereference.go at 5.8.1). Run it after a change: `python tests/tools/name_references.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).resolve().parents[2] / "kustomize-plugin" / "references" / "names.yaml"


class Owner(NamedTuple):
    """A kind that makes pods, and the ways to its pod templates. `known`: kustomize knows its volumes and the like."""

    group: str
    kind: str
    templates: tuple[str, ...]
    known: bool = False


RAY = ("headGroupSpec/template", "workerGroupSpecs/template")
OWNERS = (
    Owner("", "Pod", ("",), known=True),
    Owner("batch", "Job", ("spec/template",), known=True),
    Owner("batch", "CronJob", ("spec/jobTemplate/spec/template",), known=True),
    Owner("apps", "Deployment", ("spec/template",), known=True),
    Owner("apps", "StatefulSet", ("spec/template",), known=True),
    Owner("jobset.x-k8s.io", "JobSet", ("spec/replicatedJobs/template/spec/template",)),
    Owner(
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        ("spec/leaderWorkerTemplate/leaderTemplate", "spec/leaderWorkerTemplate/workerTemplate"),
    ),
    Owner(
        "kubeflow.org",
        "PyTorchJob",
        ("spec/pytorchReplicaSpecs/Master/template", "spec/pytorchReplicaSpecs/Worker/template"),
    ),
    Owner("kubeflow.org", "MPIJob", ("spec/mpiReplicaSpecs/Launcher/template", "spec/mpiReplicaSpecs/Worker/template")),
    Owner("ray.io", "RayCluster", tuple(f"spec/{path}" for path in RAY)),
    Owner("ray.io", "RayJob", (*(f"spec/rayClusterSpec/{path}" for path in RAY), "spec/submitterPodTemplate")),
    Owner("ray.io", "RayService", tuple(f"spec/rayClusterConfig/{path}" for path in RAY)),
    Owner("batch.volcano.sh", "Job", ("spec/tasks/template",)),
)

CONTAINERS = ("containers", "initContainers")
CLAIM = "spec/resourceClaims/resourceClaimTemplateName"


def annotation(key: str) -> str:
    """The path of an annotation, in whose key a slash has to be escaped."""
    return "metadata/annotations/" + key.replace("/", "\\/")


def label(key: str) -> str:
    """The path of a label."""
    return "metadata/labels/" + key.replace("/", "\\/")


def of_containers(*paths: str) -> tuple[str, ...]:
    """Paths below containers of both kinds."""
    return tuple(f"spec/{each}/{path}" for each in CONTAINERS for path in paths)


class Target(NamedTuple):
    """A kind that is referred to: from pods and their templates, from their workloads, and from other kinds."""

    group: str
    kind: str
    pods: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    others: tuple[tuple[str, str, str], ...] = ()  # group, kind, path
    foreign_only: bool = False  # kustomize has these rows for Kubernetes' own kinds


RUN_AI, KUEUE, VOLCANO, NATIVE = "scheduling.run.ai", "kueue.x-k8s.io", "scheduling.volcano.sh", "scheduling.k8s.io"
KAI_TOPOLOGY, KAI_QUEUE = annotation("kai.scheduler/topology"), label("kai.scheduler/queue")
KUEUE_QUEUE, KUEUE_PRIORITY = label("kueue.x-k8s.io/queue-name"), label("kueue.x-k8s.io/priority-class")
VOLCANO_QUEUE = annotation("scheduling.volcano.sh/queue-name")
QUOTA, GANG = label("quota.scheduling.koordinator.sh/name"), label("pod-group.scheduling.sigs.k8s.io")

TARGETS = (
    Target(
        "resource.nvidia.com",
        "ComputeDomain",
        (CLAIM,),
        others=(("resource.nvidia.com", "ComputeDomain", "spec/channel/resourceClaimTemplate/name"),),
    ),
    Target("resource.k8s.io", "ResourceClaimTemplate", (CLAIM,)),
    Target("resource.k8s.io", "ResourceClaim", ("spec/resourceClaims/resourceClaimName",)),
    Target("", "Service", ("spec/subdomain",)),
    # KAI
    Target(
        "kai.scheduler",
        "Topology",
        (KAI_TOPOLOGY,),
        (KAI_TOPOLOGY,),
        (
            (RUN_AI, "PodGroup", "spec/topologyConstraint/topology"),
            (RUN_AI, "PodGroup", "spec/subGroups/topologyConstraint/topology"),
        ),
    ),
    Target(RUN_AI, "PodGroup", (annotation("pod-group-name"),)),
    Target(RUN_AI, "Queue", (KAI_QUEUE,), (KAI_QUEUE,), ((RUN_AI, "PodGroup", "spec/queue"),)),
    # Kueue
    Target(KUEUE, "LocalQueue", (KUEUE_QUEUE,), (KUEUE_QUEUE,)),
    Target(KUEUE, "WorkloadPriorityClass", (KUEUE_PRIORITY,), (KUEUE_PRIORITY,)),
    Target(KUEUE, "ClusterQueue", others=((KUEUE, "LocalQueue", "spec/clusterQueue"),)),
    Target(KUEUE, "ResourceFlavor", others=((KUEUE, "ClusterQueue", "spec/resourceGroups/flavors/name"),)),
    Target(KUEUE, "Topology", others=((KUEUE, "ResourceFlavor", "spec/topologyName"),)),
    # Volcano
    Target(
        VOLCANO,
        "PodGroup",
        (annotation("scheduling.k8s.io/group-name"), annotation("scheduling.volcano.sh/group-name")),
    ),
    Target(
        VOLCANO,
        "Queue",
        (VOLCANO_QUEUE,),
        (VOLCANO_QUEUE,),
        ((VOLCANO, "PodGroup", "spec/queue"), ("batch.volcano.sh", "Job", "spec/queue")),
    ),
    # Koordinator, and what Slurm-bridge reads
    Target("scheduling.sigs.k8s.io", "PodGroup", (GANG,)),
    Target("scheduling.sigs.k8s.io", "ElasticQuota", (QUOTA,)),
    Target("scheduling.x-k8s.io", "PodGroup", (label("scheduling.x-k8s.io/pod-group"),)),
    # Kubernetes' own gangs
    Target(NATIVE, "PodGroup", ("spec/schedulingGroup/podGroupName",)),
    Target(
        NATIVE,
        "Workload",
        ("spec/workloadRef/name",),
        others=(
            (NATIVE, "PodGroup", "spec/workloadRef/workloadName"),
            (NATIVE, "PodGroup", "spec/podGroupTemplateRef/workloadName"),
            (NATIVE, "CompositePodGroup", "spec/workloadRef/workloadName"),
        ),
    ),
    Target(
        NATIVE,
        "CompositePodGroup",
        others=(
            (NATIVE, "PodGroup", "spec/parentCompositePodGroupName"),
            (NATIVE, "CompositePodGroup", "spec/parentCompositePodGroupName"),
        ),
    ),
    # The objects whose copies an autoscaler counts; kustomize knows those of apps
    Target(
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        others=(("autoscaling", "HorizontalPodAutoscaler", "spec/scaleTargetRef/name"),),
    ),
    # What kustomize repairs in Kubernetes' own kinds only
    Target(
        "",
        "ConfigMap",
        (
            "spec/volumes/configMap/name",
            "spec/volumes/projected/sources/configMap/name",
            *of_containers("env/valueFrom/configMapKeyRef/name", "envFrom/configMapRef/name"),
        ),
        foreign_only=True,
    ),
    Target(
        "",
        "Secret",
        (
            "spec/volumes/secret/secretName",
            "spec/volumes/projected/sources/secret/name",
            "spec/imagePullSecrets/name",
            *of_containers("env/valueFrom/secretKeyRef/name", "envFrom/secretRef/name"),
        ),
        foreign_only=True,
    ),
    Target("", "PersistentVolumeClaim", ("spec/volumes/persistentVolumeClaim/claimName",), foreign_only=True),
    Target("", "ServiceAccount", ("spec/serviceAccountName",), foreign_only=True),
    Target("scheduling.k8s.io", "PriorityClass", ("spec/priorityClassName",), foreign_only=True),
)


def fields(target: Target) -> Iterator[tuple[str, str, str]]:
    """Group, kind and path of every field that may hold the target's name."""
    yield from target.others
    for owner in OWNERS:
        if target.foreign_only and owner.known:
            continue
        yield from ((owner.group, owner.kind, path) for path in target.workloads if owner.kind != "Pod")
        for template in owner.templates:
            yield from ((owner.group, owner.kind, f"{template}/{path}".lstrip("/")) for path in target.pods)


def _selector(**words: str) -> str:
    return ", ".join(f"{key}: {word}" for key, word in words.items() if word)


def lines() -> Iterator[str]:
    """The file."""
    yield "# The fields with names of other objects, in which kustomize must change prefixes, suffixes and hashes."
    yield "# Written by `bayplan kustomize references`. Do not edit."
    yield "nameReference:"
    for target in TARGETS:
        yield from (f"- kind: {target.kind}", *([f"  group: {target.group}"] if target.group else []), "  fieldSpecs:")
        for group, kind, path in fields(target):
            yield f"  - {{{_selector(kind=kind, group=group, path=path)}}}"


def text() -> str:
    """The file as one text."""
    return "".join(f"{line}\n" for line in lines())


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
