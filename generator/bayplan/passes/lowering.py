"""The last stage: a proven plan -> manifests in the order to apply them."""

from collections.abc import Iterator
from typing import NamedTuple

from bayplan import backends
from bayplan.core.diagnostics import Outcome, has_errors
from bayplan.kube.kinds import CONTROLLED, SBATCH, TRAINJOB, WORKFLOW_LABEL
from bayplan.manifests.assemble import assemble, auxiliary_objects, priority_classes
from bayplan.manifests.order import collisions, in_apply_order, oversized, workflow_meta
from bayplan.model.backend import Backend
from bayplan.model.manifest import File, Item, Lowered, Manifest, Shape
from bayplan.model.plan import Plan, plan_queues
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, named_queues
from bayplan.model.workflow import pod_sets
from bayplan.passes import Compiled, Documents, Found, Planned, Request
from bayplan.planning.shape import with_shared_objects


class Job(NamedTuple):
    """A plan on its way to manifests. `controlled`: the marks of workloads whose controllers make the pods."""

    request: Request
    planned: Planned
    plan: Plan
    shape: Shape
    controlled: tuple[Lowered, ...] = ()
    items: tuple[Item, ...] = ()
    findings: Found = ()


def begin(request: Request, planned: Planned) -> Job:
    """The job of a proven plan."""
    return Job(request, planned, planned.plan, planned.shape)


def share_objects(job: Job) -> Job:
    """Several workloads use the same objects."""
    return job._replace(plan=with_shared_objects(job.plan, job.shape))


def place_controlled(job: Job) -> Job:
    """The backend marks workloads whose controllers make the pods as it marks existing ones."""
    if not any(workload.kind in CONTROLLED for workload in job.shape.workloads):
        return job
    from bayplan.planning.existing import one_of_each, with_parts

    plan = with_parts(job.plan, job.shape)
    controlled = tuple(_placed(plan, job.shape, job.planned.backend, job.planned.target))
    plan, shape = one_of_each(plan, job.shape)
    return job._replace(plan=plan, shape=shape, controlled=controlled)


def resolve_hosts(job: Job) -> Job:
    """Texts that name the hosts of a gang: applies where a gang has some."""
    if not any(gang.gang.hosts for gang in job.plan.gangs):
        return job
    from bayplan.manifests import pod_dns

    plan, shape = pod_dns.resolve(job.plan, job.shape)
    return job._replace(plan=plan, shape=shape)


def wrap_commands(job: Job) -> Job:
    """Programs around the user's command: for barriers, launchers, and data that a pod moves."""
    wrapped = any(gang.gang.barrier != "none" or gang.gang.ignore_nonlead_failures for gang in job.plan.gangs)
    launched = (place.pods.launcher or any(place.pods.data) for place in pod_sets(job.plan.workflow))
    if not wrapped and not any(launched):
        return job
    from bayplan.manifests import launchers

    plan, shape = launchers.expand(job.plan, job.shape)
    return job._replace(plan=plan, shape=shape)


def write_objects(job: Job) -> Job:
    """The objects of the backend, the workloads with its marks, and what they use."""
    target = job.planned.target
    lowered = _lowered(job.plan, job.shape, job.planned.backend, target, job.controlled)
    workloads = assemble(job.plan, job.shape, lowered)
    return job._replace(items=(*auxiliary_objects(job.plan, job.shape, target), *lowered.documents, *workloads))


def adopt(job: Job) -> Job:
    """An object that owns the others: applies with `cleanup: adopt`."""
    if job.plan.workflow.cleanup != "adopt":
        return job
    from bayplan.manifests.lifecycle import adopters

    return job._replace(items=(*job.items, *adopters(job.plan, job.shape, list(job.items))))


def patch_runtimes(job: Job) -> Job:
    """TrainJobs refer to a runtime instead of pod templates: applies with `trainer`, and before Trainer 2.2."""
    target = job.planned.target
    old = not target.since("trainer", "2.2") and any(each.kind == TRAINJOB for each in job.shape.workloads)
    if not old and not any(gang.gang.trainer for gang in job.plan.gangs):
        return job
    from bayplan.manifests import runtime_patches

    items, lost = runtime_patches.refer(job.plan, list(job.items), target)
    return job._replace(items=tuple(items), findings=(*job.findings, *lost))


def add_cluster_objects(job: Job) -> Job:
    """The cluster-scoped objects: applies with --cluster-objects."""
    if not job.request.cluster_objects:
        return job
    documents = cluster_documents(job.planned.backend, with_queue(job.plan), job.planned.target)
    return job._replace(items=(*documents, *job.items))


def order(job: Job) -> Job:
    """The order to apply them. Names must differ, and objects must not be too large."""
    meta = workflow_meta(job.plan, job.planned.accepted)
    items = tuple(in_apply_order(list(job.items), job.plan.namespace, meta))
    return job._replace(items=items, findings=(*job.findings, *collisions(items, job.plan), *oversized(items)))


def finish(job: Job) -> Outcome[Compiled]:
    """The manifests, unless something is wrong with them."""
    return Outcome(None if has_errors(job.findings) else Compiled(job.planned, job.items), job.findings)


def _placed(plan: Plan, shape: Shape, backend: Backend, target: Target) -> Iterator[Lowered]:
    """The documents and marks of workloads whose controllers make the pods, as for those that exist already."""
    from bayplan.planning.existing import own_marks, own_plan

    place = backends.existing(backend.declared.name).place
    for workload in (each for each in shape.workloads if each.kind in CONTROLLED):
        own = own_plan(plan, workload.gangs, workload.name)
        lowered = place(own, Shape((workload,), existing=True), target)
        documents = (_of_workflow(each, plan) for each in lowered.documents)
        yield Lowered(tuple(documents), own_marks(own, workload, lowered))


def _of_workflow(document: Manifest | File, plan: Plan) -> Manifest | File:
    """The document with the name of the whole workflow in its label."""
    labels = {} if isinstance(document, File) else document["metadata"].get("labels", {})
    if isinstance(document, File) or WORKFLOW_LABEL not in labels:
        return document
    return {**document, "metadata": {**document["metadata"], "labels": {**labels, WORKFLOW_LABEL: plan.workflow.name}}}


def _lowered(plan: Plan, shape: Shape, backend: Backend, target: Target, controlled: tuple[Lowered, ...]) -> Lowered:
    """The backend's documents and marks. `controlled`: those of workloads whose controllers make the pods."""
    if not controlled:
        return backend.lower(plan, shape, target)
    plain = tuple(each for each in shape.workloads if each.kind not in CONTROLLED)
    names = {gang.name for each in plain for gang in each.gangs}
    rest = plan._replace(gangs=tuple(gang for gang in plan.gangs if gang.name in names))
    parts = (*((backend.lower(rest, shape._replace(workloads=plain), target),) if plain else ()), *controlled)
    documents = tuple(document for each in parts for document in each.documents)
    return Lowered(documents, {key: marks for each in parts for key, marks in each.marks.items()})


def with_queue(plan: Plan) -> ClusterTopology:
    """The topology with the plan's queues, unless it lists all queues of the cluster."""
    topology = plan.topology
    named = dict.fromkeys(filter(None, (topology.defaults.get("queue", ""), plan.queue, *plan_queues(plan))))
    return topology if topology.queues is not None or not named else topology._replace(queues=named_queues(*named))


def cluster_documents(backend: Backend, topology: ClusterTopology, target: Target) -> Documents:
    """The cluster-scoped objects that workflows refer to. Slurm has no PriorityClasses."""
    own = backend.cluster.objects(topology, target)
    return own if SBATCH in backend.declared.kinds else (*priority_classes(topology), *own)
