"""`cleanup: adopt`: a short Job makes the workload the owner of its other objects, so that they end together.

An owner reference needs the owner's UID, which exists only in the cluster; that is why it takes a Job.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.kube.kinds import GANG_LABEL
from bayplan.manifests.order import CLUSTER_SCOPED, ORDER, head
from bayplan.model.manifest import File, Item, Manifest, Many, Shape
from bayplan.model.plan import Plan

OURS = "bayplan.dev/"

WAIT = 300
"""Seconds after which Kubernetes deletes the adopting Job."""

OWNERS = ("JobSet",)
"""Kinds that contain a whole gang and can own its objects."""

PLURALS = {
    "ComputeDomain": "computedomains",
    "CompositePodGroup": "compositepodgroups",
    "ConfigMap": "configmaps",
    "Deployment": "deployments",
    "ElasticQuota": "elasticquotas",
    "HorizontalPodAutoscaler": "horizontalpodautoscalers",
    "Job": "jobs",
    "JobSet": "jobsets",
    "LeaderWorkerSet": "leaderworkersets",
    "LocalQueue": "localqueues",
    "MPIJob": "mpijobs",
    "PodCliqueSet": "podcliquesets",
    "Pod": "pods",
    "PodGroup": "podgroups",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "Role": "roles",
    "Service": "services",
    "RoleBinding": "rolebindings",
    "ServiceAccount": "serviceaccounts",
    "StatefulSet": "statefulsets",
    "TrainJob": "trainjobs",
    "TrainingRuntime": "trainingruntimes",
    "Workload": "workloads",
}


def adopters(plan: Plan, shape: Shape, documents: Sequence[Item]) -> list[Manifest]:
    """What `cleanup: adopt` adds to the documents of a plan: an adopter for each workload."""
    objects: list[Manifest] = []
    plain: list[Manifest] = [document for document in documents if isinstance(document, dict)]
    for workload in shape.workloads:
        gangs = {gang.name for gang in workload.gangs}
        own = [each for each in plain if each["metadata"].get("labels", {}).get(GANG_LABEL) in gangs]
        owner = next((each for each in own if each["kind"] in OWNERS), None)
        if owner is None:  # the user accepted that nothing owns the objects of this workload
            continue
        owned = [each for each in own if each is not owner]
        objects += adopter(owner, owned, plan.topology.images["kubectl"], plan.workflow.labels)
    return objects


def adopter(
    owner: Manifest, owned: Sequence[Manifest], image: str, pod_labels: Mapping[str, str] = {}
) -> tuple[Manifest, ...]:
    """ServiceAccount, Role, RoleBinding and Job that make `owner` own `owned` and themselves."""
    name = f"{owner['metadata']['name']}-adopt"
    labels = {key: text for key, text in owner["metadata"]["labels"].items() if key.startswith(OURS)}
    kinds = ("v1", "ServiceAccount"), (RBAC, "Role"), (RBAC, "RoleBinding"), ("batch/v1", "Job")
    account, role, binding, job = (
        {"apiVersion": api, "kind": kind, "metadata": {"name": name, "labels": dict(labels)}} for api, kind in kinds
    )
    everything = [*owned, account, role, binding, job]
    return (
        account,
        {**role, "rules": list(_rules(owner, everything))},
        {
            **binding,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name}],
        },
        {**job, "spec": _job_spec(name, image, script(owner, everything), pod_labels)},
    )


RBAC = "rbac.authorization.k8s.io/v1"


def _rules(owner: Manifest, owned: Iterable[Manifest]) -> Iterable[dict[str, Any]]:
    """Rules to read the owner, and to patch only the objects that it adopts, by name."""
    yield _rule(owner, [owner["metadata"]["name"]], ["get"])
    kinds: dict[tuple[str, str], list[Manifest]] = {}
    for each in owned:
        kinds.setdefault((each["apiVersion"], each["kind"]), []).append(each)
    for group in kinds.values():
        yield _rule(group[0], [each["metadata"]["name"] for each in group], ["get", "patch"])


def _rule(example: Manifest, names: list[str], verbs: list[str]) -> dict[str, Any]:
    group = example["apiVersion"].rpartition("/")[0]
    return {"apiGroups": [group], "resources": [PLURALS[example["kind"]]], "resourceNames": names, "verbs": verbs}


def script(owner: Manifest, owned: Iterable[Manifest]) -> str:
    """The script. It fails until the owner exists, and the Job tries again."""
    kind, name = owner["kind"], owner["metadata"]["name"]
    reference = f'{{"apiVersion":"{owner["apiVersion"]}","kind":"{kind}","name":"{name}","uid":"\'"$uid"\'"}}'
    patches = (
        f"kubectl patch {resource(each)} {each['metadata']['name']} --type merge -p "
        f'\'{{"metadata":{{"ownerReferences":[{reference}]}}}}\''
        for each in owned
    )
    find = f"uid=$(kubectl get {resource(owner)} {name} -o 'jsonpath={{.metadata.uid}}')"
    return "\n".join(["set -eu", find, *patches]) + "\n"


def resource(example: Manifest) -> str:
    """The unambiguous resource name of the kind for kubectl."""
    group, _, version = example["apiVersion"].rpartition("/")
    plural = PLURALS[example["kind"]]
    return f"{plural}.{version}.{group}" if group else plural


def _job_spec(name: str, image: str, text: str, labels: Mapping[str, str]) -> dict[str, Any]:
    container = {
        "name": "adopt",
        "image": image,
        "command": ["sh", "-c", text],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"cpu": "500m", "memory": "256Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    pod = {
        "serviceAccountName": name,
        "restartPolicy": "Never",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
    }
    metadata = {"metadata": {"labels": dict(labels)}} if labels else {}
    return {"backoffLimit": 20, "ttlSecondsAfterFinished": WAIT, "template": {**metadata, "spec": pod}}


# The order in which the objects of a workflow are deleted: workloads first, then the objects that they refer to.


def delete_plan(documents: Iterable[Item]) -> tuple[str, ...]:
    """One kubectl line for each object, in reverse order of creation, and lines that undo the scripts.

    A ComputeDomain's finalizer waits for the last pod that claims from it (NVIDIA DRA driver), so each line waits for
    the objects before it to be gone. Cluster-scoped objects stay: other workflows refer to them.
    """
    everything = list(documents)
    own = [document for document in everything if head(document)["kind"] not in CLUSTER_SCOPED]
    later = sorted(own, key=lambda document: -ORDER.index(head(document)["kind"]))
    undone = (line for each in everything if isinstance(each, File) for line in each.undo)
    return tuple(dict.fromkeys((*undone, *(line for document in later for line in _lines(document)))))


def _lines(document: Item) -> Iterator[str]:
    own = head(document)
    metadata = own["metadata"]
    what = f"-l {GANG_LABEL}={metadata['labels'][GANG_LABEL]}" if isinstance(document, Many) else metadata["name"]
    yield f"kubectl delete -n {metadata['namespace']} {resource(own)} {what} --ignore-not-found --wait"
