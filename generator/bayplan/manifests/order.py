"""Documents in the order to apply them, with their namespace; and checks of names and sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.core.diagnostics import Diagnostic, error
from bayplan.kube.pod import COMPUTE_DOMAIN_API, CONFIG_MAP_LIMIT, decoded_size
from bayplan.model.manifest import File, Item, Manifest, Many, Meta, Slot
from bayplan.model.plan import Plan
from bayplan.model.workflow import GANGS

ORDER = (
    "PriorityClass",
    "Topology",
    "ClusterNetworkTopology",
    "HyperNode",
    "ResourceFlavor",
    "ClusterQueue",
    "Queue",
    "ElasticQuota",
    "LocalQueue",
    "WorkloadPriorityClass",
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "ComputeDomain",
    "ResourceClaimTemplate",
    "ConfigMap",
    "Workload",
    "CompositePodGroup",
    "PodGroup",
    "Service",
    "JobSet",
    "MPIJob",
    "TrainingRuntime",
    "TrainJob",
    "LeaderWorkerSet",
    "Job",
    "StatefulSet",
    "Deployment",
    "Pod",
    "HorizontalPodAutoscaler",
    "File",
    "ClusterTopologyBinding",
    "PodCliqueSet",
)
"""What others refer to comes first: channel claims wait for their ComputeDomain, pods for their PodGroup."""

CLUSTER_SCOPED = (
    "PriorityClass",
    "Topology",
    "ClusterTopologyBinding",
    "ClusterNetworkTopology",
    "HyperNode",
    "ResourceFlavor",
    "ClusterQueue",
    "Queue",
    "WorkloadPriorityClass",
    "File",
)
ACCEPTED = "bayplan.dev/accepted"

NO_META = Meta()


def in_apply_order(documents: Iterable[Item], namespace: str = "", common: Meta = NO_META) -> tuple[Item, ...]:
    """Documents sorted by kind, otherwise in their order. All objects get the given labels and annotations."""
    placed = [_placed(document, namespace, common) for document in documents]
    return tuple(sorted(placed, key=lambda document: ORDER.index(head(document)["kind"])))


def workflow_meta(plan: Plan, accepted: tuple[str, ...]) -> Meta:
    """The workflow's labels and annotations, and the gaps that the user accepted."""
    noted = {ACCEPTED: ",".join(accepted)} if accepted else {}
    return Meta(plan.workflow.labels, {**plan.workflow.annotations, **noted})


def head(document: Item) -> Manifest:
    """The document itself, the skeleton of many, or a file as if it were an object."""
    if isinstance(document, File):
        return {"apiVersion": "", "kind": "File", "metadata": {"name": document.name}, "text": document.text}
    return document.skeleton if isinstance(document, Many) else document


def _placed(document: Item, namespace: str, common: Meta) -> Item:
    own = head(document)
    if own["kind"] in CLUSTER_SCOPED:
        return document
    placed_in = {"namespace": namespace} if namespace else {}
    metadata = {"name": own["metadata"]["name"], **placed_in, **own["metadata"]}
    if common.labels:
        metadata["labels"] = {**common.labels, **metadata.get("labels", {})}
    if common.annotations:
        metadata["annotations"] = {**common.annotations, **metadata.get("annotations", {})}
    placed = {**own, "metadata": metadata}
    return document._replace(skeleton=placed) if isinstance(document, Many) else placed


def collisions(documents: Iterable[Item], plan: Plan) -> Iterator[Diagnostic]:
    """W301: two objects of one kind have the same name. A ComputeDomain also counts as its channel template: the driver
    creates it, and fails if one of that name exists (DRA driver 25.3 to 0.4, `resourceclaimtemplate.go`). The Jobs and
    the Service of a JobSet count in the same way."""
    chosen = {("Service", each.gang.service.name): each.route for each in plan.gangs if each.gang.service}
    seen: set[tuple[str, str]] = set()
    for key in (key for document in documents for key in keys(document)):
        if key in seen:
            at, hint = GANGS, "rename a gang, a group or a podSet"
            if key in chosen:
                at, hint = (*chosen[key], "service", "name"), "remove `name`, or choose another one"
            yield error("W301", at, f'two objects of the kind {key[0]} would have the name "{key[1]}"', hint=hint)
        seen.add(key)


LARGE = 1536 * 1024
"""etcd's default limit of one request, in bytes (etcd 3.5, `--max-request-bytes`)."""


def oversized(documents: Iterable[Item]) -> Iterator[Diagnostic]:
    """P515: objects that the API server cannot store."""
    for document in documents:
        own = head(document)
        if own["kind"] == "ConfigMap" and (size := _held(own)) > CONFIG_MAP_LIMIT:
            message = (
                f'ConfigMap "{own["metadata"]["name"]}" would have {size:,} bytes with the DNS names of pods in it'
            )
            hint = "put large files into the image or a volume"
            yield error("P515", GANGS, f"{message}; it can have at most {CONFIG_MAP_LIMIT:,}", hint=hint)
        spec = own.get("spec", {})
        parts = spec.get("replicatedJobs") or spec.get("subGroups") or spec.get("tasks") or ()
        if parts and len(parts) * len(str(parts[0])) > LARGE // 2 and (size := _size(own)) > LARGE:
            what = f'{own["kind"]} "{own["metadata"]["name"]}" with its {len(parts)} parts'
            hint = "use `workload: job` or `workload: pods`, fewer and larger groups, or several gangs"
            yield error("P515", GANGS, f"{what} would have {size:,} bytes; etcd stores at most {LARGE:,}", hint=hint)


def _held(config_map: Manifest) -> int:
    """Bytes of all its values, after `hosts` put longer names into them. An earlier P515 checks them before."""
    texts = sum(len(text.encode("utf-8", "surrogatepass")) for text in config_map.get("data", {}).values())
    return texts + sum(decoded_size(base64) for base64 in config_map.get("binaryData", {}).values())


def _size(document: Manifest) -> int:
    """Bytes as JSON. The caller skips most objects, whose parts show that they are small."""
    import json

    return len(json.dumps(document, separators=(",", ":")))


def keys(document: Item) -> Iterator[tuple[str, str]]:
    """Kind and name of the object, or of each of many, and of objects that a driver or a controller creates from it."""
    own = head(document)
    for row in document.rows if isinstance(document, Many) else ((),):
        yield own["kind"], str(_expanded(own["metadata"]["name"], row))
    if own["apiVersion"] == COMPUTE_DOMAIN_API:
        yield "ResourceClaimTemplate", own["spec"]["channel"]["resourceClaimTemplate"]["name"]
    if "svc" in own.get("spec", {}).get("plugins", ()):  # Volcano 1.15, job/plugins/svc/svc.go
        yield "Service", own["metadata"]["name"]
        yield "ConfigMap", f"{own['metadata']['name']}-svc"
    if own["kind"] == "LeaderWorkerSet":  # LWS 0.9, pkg/controllers/leaderworkerset_controller.go
        yield from (("Service", own["metadata"]["name"]), ("StatefulSet", own["metadata"]["name"]))
        copies = own["spec"].get("replicas", 1) if own["spec"]["leaderWorkerTemplate"]["size"] > 1 else 0
        yield from (("StatefulSet", f"{own['metadata']['name']}-{n}") for n in range(copies))
    if own["kind"] == "PodCliqueSet":  # Grove v0.1.0-alpha.12, operator/api/common/namegen.go
        copies = (f"{own['metadata']['name']}-{n}" for n in range(own["spec"]["replicas"]))
        yield from ((made, name) for name in copies for made in ("Service", "PodGroup"))
    if own["kind"] == "JobSet":
        yield "Service", own["metadata"]["name"]
        for each in own["spec"]["replicatedJobs"]:  # <jobset>-<replicatedJob>-<index> (JobSet 0.12, GenJobName)
            yield from (("Job", f"{own['metadata']['name']}-{each['name']}-{n}") for n in range(each["replicas"]))


def expanded(documents: Iterable[Item]) -> Iterator[Manifest]:
    """Every Kubernetes object of the documents."""
    for each in documents:
        if isinstance(each, Many):
            yield from (_expanded(each.skeleton, row) for row in each.rows)
        elif not isinstance(each, File):
            yield _expanded(each, ())


def _expanded(value: Any, row: Sequence[str | int]) -> Any:
    """A skeleton with the values of a row, as lists and mappings."""
    if isinstance(value, Slot):
        return row[value.column] if value.form == "number" else str(row[value.column])
    if isinstance(value, Mapping):
        return {_expanded(key, row): _expanded(each, row) for key, each in value.items()}
    if isinstance(value, tuple) and any(isinstance(part, Slot) for part in value):
        return "".join(str(_expanded(part, row)) for part in value)
    return [_expanded(each, row) for each in value] if isinstance(value, list | tuple) else value
