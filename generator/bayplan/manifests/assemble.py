"""Put marks on the workloads that bayplan builds: a pod template for each podSet instance, then the documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bayplan import fabrics
from bayplan.accelerators import DRA, PARTS, claim_template
from bayplan.core.diagnostics import Route
from bayplan.fabrics.cards import lock
from bayplan.kube.kinds import (
    GANG_LABEL,
    GROUP_LABEL,
    INDEX_FIELD,
    KINDS,
    MPIJOB,
    POD_SET_LABEL,
    RANK_COLUMN,
    SBATCH,
    SERVICE_LABEL,
    WORKFLOW_LABEL,
    Barrier,
    Kind,
    Piece,
    answering,
    barrier_objects,
    barrier_script_name,
    gang_labels,
    instances,
    of_first,
    service_name,
    start,
    workload_barriers,
)
from bayplan.kube.objects import non_empty
from bayplan.kube.pod import (
    BARRIER_SCRIPT,
    COMPUTE_DOMAIN_API,
    MPI_KEYS,
    claim_template_name,
    combine,
    config_map_name,
    config_map_parts,
    entries,
    file_key,
    mpi_secret_name,
    network_claim_name,
    own_parts,
    template,
    without_idle_movers,
)
from bayplan.kube.ranks import (
    RankEnv,
    arithmetic,
    exports,
    field,
    full_name,
    literal_value,
    local_address,
    own_fields,
    rank_env,
    user_names,
    wrapped,
)
from bayplan.kube.shell import Started, refer, started
from bayplan.model.manifest import Lowered, Manifest, Many, Marks, PodParts, Shape, Slot, Workload
from bayplan.model.plan import GANG_COUNT, GANG_INDEX, ComputeDomain, GangPlan, Plan, Pods, all_pods, allocator
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Binary, Container, PodSet, Service, Variable, base_name

BARRIER_VOLUME = "bayplan-barrier"

COPY = "BARRIER_GROUP"
"""The variable with the number of a pod's folded group instance."""

LOCALHOST = "localhost"

CHANNEL = "compute-domain"
"""The name of a pod's claim on its ComputeDomain channel."""


def assemble(plan: Plan, shape: Shape, lowered: Lowered) -> Iterator[Manifest | Many]:
    """The workload documents of a plan."""
    for workload in shape.workloads:
        context = context_of(plan, workload)
        pieces = {
            (gang.name, pods.name): _piece(context, gang, pods, lowered.marks[gang.name, pods.name])
            for gang, pods in instances(workload)
        }
        yield from context.kind.write(workload, pieces)


class WorkloadContext(NamedTuple):
    """Values that all podSet instances of one workload share."""

    plan: Plan
    workload: Workload
    kind: Kind
    gangs: Mapping[str, GangPlan]
    pods: Mapping[tuple[str, str], Pods]
    shelled: frozenset[Route]  # podSets whose ranks a shell must add up
    waiting: Mapping[tuple[str, str], Barrier]


def context_of(plan: Plan, workload: Workload) -> WorkloadContext:
    """What the podSet instances of a workload share."""
    kind = KINDS[workload.kind]
    everyone = {(gang.name, pods.name): pods for gang, pods in instances(workload)}
    numbered = ((pods, start(kind, gang, pods)) for gang, pods in instances(workload))
    shelled = arithmetic(numbered) if kind.INDEX else frozenset()
    barriers = workload_barriers(plan, workload)
    waiting = {(gang.name, name): each for gang, found in barriers for name, each in found.items()}
    gangs = {gang.name: gang for gang in workload.gangs}
    return WorkloadContext(plan, workload, kind, gangs, everyone, shelled, waiting)


def _piece(context: WorkloadContext, gang: GangPlan, pods: Pods, marks: Marks) -> Piece:
    plan = context.plan
    pool = plan.topology.pool(pods.pool)
    if pool is None:
        raise AssertionError(f"unbound pool {pods.pool!r}")
    ranked, values = _ranks(context, gang, pods)
    command = wrapped(pods.spec.command, values)
    parts = combine(
        PodParts(labels=_labels(plan, gang, pods), spec=_spec(context, gang, pods)),
        own_parts(pods.spec, pool, config_map_name(gang, pods)),
        _accelerator(plan, gang, pods),
        _fabric(plan, gang, pods),
        _channel(pods),
        _launcher(context, pods),
        _barrier(context.waiting.get((gang.name, pods.name)), gang, pods),
        _uploads(pods),
        PodParts(env=ranked),
        _variables(gang, pods),
        PodParts(env=entries(pods.spec.env)),
        marks.pod,
    )
    parts = parts._replace(env=(*own_fields(pods.spec, command, parts.env, context.kind.FIELDS), *parts.env))
    owner = marks.owner._replace(labels={**gang_labels(plan, gang), **marks.owner.labels})
    spec = _with_variables(gang, pods.spec)
    if gang.copies > 1 and gang.gang.rows:
        from bayplan.manifests import matrix

        number = len(matrix.tables(gang))
        parts = combine(parts, matrix.mounted(gang, number))
        setting = matrix.shell(number)
        behind = started((*command, *spec.args), parts.env, setting, gang.columns, (GANG_INDEX, GANG_COUNT))
    elif refer((*spec.command, *spec.args, *(each.get("value") for each in parts.env)), values):
        behind = started((*spec.command, *spec.args), parts.env, exports(values), values)
    else:
        behind = Started(command, parts.env, spec.args)
    parts, spec, command = parts._replace(env=behind.env), spec._replace(args=behind.args), behind.command
    return Piece(without_idle_movers(template(spec, pool, parts, command)), owner, marks.job)


def _variables(gang: GangPlan, pods: Pods) -> PodParts:
    """The variables of a copy, without those that the user sets."""
    taken = user_names(pods.spec)
    index = [{"name": GANG_INDEX, **field(INDEX_FIELD)}] if gang.copies > 1 else []
    literal = [{"name": name, "value": literal_value(value)} for name, value in gang.variables.items()]
    return PodParts(env=tuple(each for each in (*index, *literal) if each["name"] not in taken))


def _with_variables(gang: GangPlan, spec: PodSet) -> PodSet:
    """The podSet whose other containers have the variables of a copy too."""
    if not (gang.variables and (spec.init_containers or spec.sidecars)):
        return spec
    own: dict[str, str | Variable] = {name: literal_value(value) for name, value in gang.variables.items()}
    if gang.copies > 1:
        own[GANG_INDEX] = Variable(field=INDEX_FIELD)

    def filled(each: Container) -> Container:
        return each._replace(env={**own, **each.env})

    return spec._replace(
        init_containers=tuple(map(filled, spec.init_containers)), sidecars=tuple(map(filled, spec.sidecars))
    )


def _labels(plan: Plan, gang: GangPlan, pods: Pods) -> dict[str, str]:
    """Those of the workflow, and the names of gang, group and podSet. The parts of an MPIJob have their own names."""
    unit = pods.name.removesuffix(f"-{pods.spec.name}")
    inside = unit != pods.name
    group = {GROUP_LABEL: unit} if inside else {}
    called = pods.spec.name if inside else pods.name
    name = client_service_name(plan, gang)
    client = {SERVICE_LABEL: name} if pods in answering(gang) else {}
    return {**plan.workflow.labels, **gang_labels(plan, gang), **group, POD_SET_LABEL: called, **client}


def _spec(context: WorkloadContext, gang: GangPlan, pods: Pods) -> dict[str, Any]:
    plan = context.plan
    priority, service = plan.workflow.priority_class, service_name(gang) if context.kind.SERVICE else ""
    namespace = plan.topology.namespaces.get(plan.namespace)
    account, secrets = (namespace.service_account, namespace.image_pull_secrets) if namespace else ("", ())
    secrets = (*secrets, *plan.workflow.image_pull_secrets, *pods.spec.image_pull_secrets)
    return {
        **non_empty(subdomain=service, priorityClassName=priority, serviceAccountName=account),
        **non_empty(imagePullSecrets=[{"name": name} for name in dict.fromkeys(secrets)]),
    }


def _accelerator(plan: Plan, gang: GangPlan, pods: Pods) -> PodParts:
    accelerator = pods.spec.accelerator
    if accelerator is None:
        return PodParts()
    kind = plan.topology.accelerators[accelerator.name]
    return PARTS[allocator(accelerator, kind)](accelerator, kind, claim_template_name(gang, pods))


def _fabric_request(plan: Plan, gang: GangPlan, pods: Pods) -> fabrics.FabricRequest | None:
    return fabrics.fabric_request(pods.spec, plan.topology, plan.namespace, pods.pool, network_claim_name(gang, pods))


def _fabric(plan: Plan, gang: GangPlan, pods: Pods) -> PodParts:
    """The parts of the podSet's secondary network, without variables that the user sets."""
    request = _fabric_request(plan, gang, pods)
    if request is None:
        return lock(pods.spec, plan.topology)
    from bayplan.fabrics import kinds

    pod_parts, taken = kinds.parts(request), user_names(pods.spec)
    local = local_address(request.attachment.address)
    return pod_parts._replace(env=tuple(each for each in (local, *pod_parts.env) if each["name"] not in taken))


def _channel(pods: Pods) -> PodParts:
    """The claim on the ComputeDomain's one channel per node; the driver creates the template of that name."""
    if not pods.compute_domain:
        return PodParts()
    return PodParts(claims=({"name": CHANNEL, "resourceClaimTemplateName": pods.compute_domain},))


def _launcher(context: WorkloadContext, pods: Pods) -> PodParts:
    """The key and the address by which the pods of an MPI job meet (`kube/mpi.sh`). mpi-operator adds the key itself.

    A pod without the Secret starts, and its log says what is missing. One that waited for it would hold its node.
    """
    if not pods.spec.launcher:
        return PodParts()
    address = {"name": "MPI_ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    if context.workload.kind == MPIJOB:
        return PodParts(env=(address,))
    secret = {"secretName": mpi_secret_name(context.plan), "optional": True}
    return PodParts(
        env=(address,),
        volumes=({"name": "mpi-ssh", "secret": secret},),
        mounts=({"name": "mpi-ssh", "mountPath": MPI_KEYS, "readOnly": True},),
    )


def _barrier(waiting: Barrier | None, gang: GangPlan, pods: Pods) -> PodParts:
    """`kube/barrier.sh`, and what it reads: the Service, the number of pods, and the pod's address."""
    if waiting is None:
        return PodParts()
    fields = {"BARRIER_ADDRESS": "status.podIP"}
    if waiting.copies > 1:
        fields[COPY] = f"metadata.labels['{waiting.label}']"
    values = {"BARRIER_SERVICE": waiting.service(f"$({COPY})"), "BARRIER_PODS": str(waiting.least)}
    env: list[dict[str, Any]] = [
        *({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()),
        *({"name": name, "value": value} for name, value in values.items()),
    ]
    taken = user_names(pods.spec)
    script = {"name": barrier_script_name(gang), "defaultMode": 0o555}
    return PodParts(
        env=tuple(each for each in env if each["name"] not in taken),
        volumes=({"name": BARRIER_VOLUME, "configMap": script},),
        mounts=({"name": BARRIER_VOLUME, "mountPath": BARRIER_SCRIPT.rpartition("/")[0]},),
    )


UPLOAD_SECONDS = 1800
"""How long a deleted pod may take to end its command and to upload its data."""


def _uploads(pods: Pods) -> PodParts:
    return PodParts(spec={"terminationGracePeriodSeconds": UPLOAD_SECONDS} if pods.spec.data.uploads else {})


def _ranks(context: WorkloadContext, own: GangPlan, pods: Pods) -> RankEnv:
    """The variables of the rendezvous."""
    ranks = pods.ranks
    if ranks is None:
        return RankEnv(())
    if own.copies > 1:  # each pod is the only one of its rendezvous
        return rank_env(pods, ranks, LOCALHOST, 0, None)
    master = ranks.master
    leader = context.pods[master.gang, master.pods]
    numbers = context.kind.numbers(own, pods) if pods.route in context.shelled and pods.total > 1 else None
    copy: int | str = numbers.copy if ranks.each and numbers else master.number // leader.replicas
    gang, number = context.gangs[master.gang], master.number % leader.replicas
    host = _address(leader) or full_name(
        context.kind.host(context.workload, gang, leader, copy, number), pods.spec, context.plan
    )
    return rank_env(pods, ranks, host, _own_number(context.kind, pods), numbers)


def _address(leader: Pods) -> str:
    """The fixed address of rank 0 on its fabric; empty if it has none."""
    return leader.spec.fabric.address.partition("/")[0] if leader.spec.fabric else ""


def _own_number(kind: Kind, pods: Pods) -> Slot | int | str:
    if not kind.INDEX:
        return Slot(RANK_COLUMN, "text")
    return (pods.ranks.first if pods.ranks else 0) if pods.total == 1 else kind.INDEX


# The objects that a gang needs under every scheduler: ComputeDomains, claim templates and ConfigMaps.


def compute_domain(domain: ComputeDomain, target: Target) -> Manifest:
    """The driver creates the channel template of the same name itself, with the ComputeDomain's UID.

    Up to driver 25.3 numNodes is the exact count, and pods wait until that many nodes have joined. From 25.8 on it is
    0, and each pod waits only for its own node. allocationMode came with 25.8.
    """
    exact = not target.since("draDriver", "25.8")
    mode = {} if exact else {"allocationMode": "Single"}
    return {
        "apiVersion": COMPUTE_DOMAIN_API,
        "kind": "ComputeDomain",
        "metadata": {"name": domain.name},
        "spec": {
            "numNodes": domain.nodes if exact else 0,
            "channel": {"resourceClaimTemplate": {"name": domain.name}, **mode},
        },
    }


def claim_templates(plan: Plan, gang: GangPlan, target: Target) -> Iterator[Manifest]:
    """One claim template for each podSet that claims GPUs or network cards; one for both, if it claims both."""
    for pods in _each_template(gang):
        gpus = _gpu_claim(plan, gang, pods, target)
        request = _fabric_request(plan, gang, pods)
        if request is None:
            yield from filter(None, (gpus,))
            continue
        from bayplan.fabrics import kinds

        cards = kinds.claim_template(request, gpus if request.together else None, target)
        yield from filter(None, (cards,) if request.together else (gpus, cards))


def _gpu_claim(plan: Plan, gang: GangPlan, pods: Pods, target: Target) -> Manifest | None:
    accelerator = pods.spec.accelerator
    if accelerator is None or allocator(accelerator, kind := plan.topology.accelerators[accelerator.name]) != DRA:
        return None
    return claim_template(accelerator, kind, claim_template_name(gang, pods), target)


def config_maps(gang: GangPlan) -> Iterator[Manifest]:
    """One for each podSet with files, or several if the files are too large for one."""
    for pods in _each_template(gang):
        for name, paths in config_map_parts(pods.spec, config_map_name(gang, pods)) if pods.spec.files else ():
            contents = {file_key(path): pods.spec.files[path] for path in paths}
            yield {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": name},
                **non_empty(
                    data={key: content for key, content in contents.items() if isinstance(content, str)},
                    binaryData={key: each.base64 for key, each in contents.items() if isinstance(each, Binary)},
                ),
            }


def priority_classes(topology: ClusterTopology) -> Iterator[Manifest]:
    """The PriorityClasses of the cluster."""
    for name, value in topology.priority_classes.items():
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }


def _each_template(gang: GangPlan) -> list[Pods]:
    """One podSet instance for each podSet of the file."""
    return list({pods.template: pods for pods in all_pods(gang.root)}.values())


def client_service_name(plan: Plan, gang: GangPlan) -> str:
    """The Service for clients of a gang; empty if it has none. The gang's own name is that of its headless Service."""
    service = gang.gang.service
    return "" if service is None else service.name or f"{base_name(plan.workflow, gang.gang)}-service"


def client_service(plan: Plan, gang: GangPlan, kind: Kind, service: Service) -> Manifest:
    """The Service for clients, which all copies of the gang answer: their pods have a label of its own."""
    name = client_service_name(plan, gang)
    ports = answering(gang)[0].spec.ports
    names = {number: port for port, number in ports.items()}
    served = dict.fromkeys(names.get(port, port) if isinstance(port, int) else port for port in service.ports or ports)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": name,
            "labels": {**gang_labels(plan, gang), GANG_LABEL: base_name(plan.workflow, gang.gang)},
        },
        "spec": {
            **({} if service.type == "ClusterIP" else {"type": service.type}),
            "selector": {WORKFLOW_LABEL: plan.workflow.name, SERVICE_LABEL: name, **(of_first(kind, gang) or {})},
            "ports": [
                {"name": f"port-{port}", "port": port, "targetPort": port}
                if isinstance(port, int)
                else {"name": port, "port": ports[port], "targetPort": port}
                for port in served
            ],
        },
    }


def auxiliary_objects(plan: Plan, shape: Shape, target: Target) -> Iterator[Manifest]:
    """All of them, with the labels of their gang. Gangs whose workload is not a Kubernetes object have none."""
    outside = {gang.name for each in shape.workloads if each.kind == SBATCH for gang in each.gangs}
    for gang in (each for each in plan.gangs if each.name not in outside):
        for domain in gang.compute_domains:
            yield labelled(compute_domain(domain, target), gang_labels(plan, gang))
        if gang.copies > 1 and gang.gang.rows:
            from bayplan.manifests import matrix

            yield from matrix.config_maps(plan, gang)
        for document in (*claim_templates(plan, gang, target), *config_maps(gang)):
            yield labelled(document, gang_labels(plan, gang))
    for workload in shape.workloads:
        kind = KINDS[workload.kind]
        for gang in workload.gangs if workload.kind != SBATCH else ():
            if gang.gang.service and gang.copy == 0:
                yield client_service(plan, gang, kind, gang.gang.service)
        yield from barrier_objects(plan, workload)


def labelled(document: Manifest, labels: Mapping[str, str]) -> Manifest:
    """The object with additional labels."""
    metadata = document["metadata"]
    return {**document, "metadata": {**metadata, "labels": {**labels, **metadata.get("labels", {})}}}
