"""What only shows once the workload kinds are chosen: commands to wrap, settings to share, versions that matter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from bayplan.core.diagnostics import Diagnostic, Route, error, warning
from bayplan.core.phrases import count
from bayplan.kube.kinds import KINDS, SBATCH, instances
from bayplan.kube.objects import text
from bayplan.kube.pod import main_patches
from bayplan.kube.ranks import arithmetic, shell_names
from bayplan.model.backend import Backend
from bayplan.model.manifest import Shape, Workload
from bayplan.model.plan import Plan, Pods, Unit, all_pods, edit_plan, minimum, once, walk
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import PodSet
from bayplan.planning.fit import Impossible, prove
from bayplan.planning.pools import irregularly_shared

# The rendezvous options of torchrun in a command, compared with the pods of the rendezvous (PyTorch,
# torch/distributed/run.py).

NODES = r"--nnodes[=\s]+['\"]?(?:([0-9]{1,6}):)?([0-9]{1,6})(?![0-9:])"
PROCESSES = r"--nproc[-_]per[-_]node[=\s]+['\"]?([0-9]{1,6})(?![0-9])"
DYNAMIC = r"--rdzv[-_]backend[=\s]+['\"]?(c10d|etcd)"
STARTERS = ("torchrun", "torch.distributed.run")
MASTERS = ("MASTER_ADDR", "PET_MASTER_ADDR")
ITSELF = ("localhost", "127.0.0.1", "::1")


def words(spec: PodSet) -> str:
    """The command of a podSet; empty where it does not start torchrun."""
    text = " ".join((*spec.command, *spec.args))
    return text if any(each in text for each in STARTERS) else ""


def elastic(spec: PodSet, least: int) -> bool:
    """Whether torchrun finds its peers by itself, and may start with as few nodes."""
    text = words(spec)
    nodes = re.search(NODES, text)
    return bool(nodes and nodes[1] and int(nodes[1]) <= least and re.search(DYNAMIC, text))


def _nodes(pods: Pods) -> Iterator[Diagnostic]:
    """A single node is a podSet whose pods work alone; as many as there are replicas, one that meets by itself."""
    match = re.search(NODES, words(pods.spec))
    total = pods.ranks.nodes if pods.ranks else 0
    if not match or int(match[2]) == 1:
        return
    least, most = int(match[1] or match[2]), int(match[2])
    if not any(least <= number <= most for number in (total, pods.replicas)):
        declared = f"{match[1]}:{match[2]}" if match[1] else match[2]
        why = "they wait for others forever" if least > total else "the others find no place"
        message = f"torchrun is to meet on {declared} nodes, and {count(total, 'pod')} of the workflow meet: {why}"
        yield warning("W587", _place(pods), message, hint=f"write --nnodes={total}, or change the number of replicas")


def _processes(pods: Pods) -> Iterator[Diagnostic]:
    match = re.search(PROCESSES, words(pods.spec))
    cards = pods.spec.accelerator.per_pod if pods.spec.accelerator else 0
    if match and cards and int(match[1]) > cards:
        message = f"torchrun is to start {match[1]} processes on each node, and a pod has {count(cards, 'GPU')}"
        yield warning("W587", _place(pods), message, hint=f"write --nproc-per-node={cards}, or ask for {match[1]} GPUs")


def _place(pods: Pods) -> Route:
    return (*pods.route, "args" if pods.spec.args else "command")


def _masters(pods: Pods) -> Iterator[Diagnostic]:
    """Only rank 0 may take itself for rank 0."""
    several = pods.ranks is not None and pods.ranks.nodes > 1 and (pods.total > 1 or pods.ranks.first > 0)
    for name in MASTERS:
        if several and pods.spec.env.get(name) in ITSELF:
            message = (
                f"{name} is {pods.spec.env[name]}, which is another pod in each of them, so that nobody meets rank 0"
            )
            hint = "leave it out: it becomes the name of rank 0; or say `rendezvous: none` if each pod works alone"
            yield warning("W590", (*pods.route, "env", name), message, hint=hint)


def fitting(plan: Plan, shape: Shape, target: Target) -> Iterator[Diagnostic]:
    """Where a plan and the shape it takes do not go together."""
    for workload in shape.workloads:
        yield from _commands(workload, plan.topology)
        yield from _shared(workload)
        yield from _left_running(workload)
    yield from _small_starts(plan)
    for pods in {pods.route: pods for gang in plan.gangs for pods in all_pods(gang.root) if pods.ranks}.values():
        yield from _nodes(pods)
        yield from _processes(pods)
        yield from _masters(pods)
    if not target.since("draDriver", "25.8"):
        yield from _waiting_for_all(plan)
    if plan.workflow.cleanup == "adopt" and not plan.topology.images.get("kubectl"):
        message = "`cleanup: adopt` runs a Job in the cluster, and the topology names no image for it"
        hint = "set `images: {kubectl: IMAGE}` in the topology: an image with `kubectl` and `sh`"
        yield error("P512", ("workflow", "spec", "cleanup"), message, hint=hint)


def _waiting_for_all(plan: Plan) -> Iterator[Diagnostic]:
    """Up to driver 25.3 the pods of a ComputeDomain are held back until numNodes of them have come (DRA driver)."""
    for gang in (each for each in plan.gangs if each.copy == 0):
        units = {unit.name: unit for unit in walk(gang.root)}
        for domain in once(reversed(gang.compute_domains)):
            least = minimum(units[domain.unit], partial(_claims, domain.name))
            if least < domain.nodes:
                message = (
                    f"its ComputeDomain has {domain.nodes} pods, and {least} of them may start alone, but DRA driver"
                )
                message += " versions below 25.8 hold the pods of a ComputeDomain back until all of them have come"
                hint = "target driver 25.8 or later, leave `minReplicas` out, or set `computeDomain: never`"
                yield error("P517", (*domain.route, "name"), message, hint=hint)


def _claims(domain: str, pods: Pods) -> bool:
    return pods.compute_domain == domain


def _small_starts(plan: Plan) -> Iterator[Diagnostic]:
    """P522: the scheduler may start a part of a rendezvous, of which its program knows nothing."""
    for gang in (each for each in plan.gangs if each.copy == 0):
        meeting = [pods for pods in all_pods(gang.root) if pods.ranks]
        ranked = sum(pods.replicas for pods in meeting)
        least = minimum(gang.root, lambda pods: pods.ranks is not None)
        if least < ranked and not all(elastic(pods.spec, least) for pods in meeting):
            message = (
                f'gang "{gang.gang.name}" may start with {least} of {ranked} pods, but NNODES says {ranked}, rank 0'
            )
            message += " may be among those that wait, and the work is done only when all of them have ended well"
            command = f"torchrun --nnodes={least}:{ranked} --rdzv-backend=c10d"
            hint = f"let the program find its peers by itself ({command}), or leave `minReplicas` out"
            yield warning("P522", (*gang.route, "name"), message, hint=hint)


def _commands(workload: Workload, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """A rank that takes arithmetic takes a command to wrap."""
    everyone = {pods.route: pods for _, pods in reversed(list(instances(workload)))}
    shelled = arithmetic(pods for _, pods in instances(workload)) if KINDS[workload.kind].INDEX else frozenset()
    for route in sorted(shelled, key=str):
        pods = everyone[route]
        names = shell_names(pods)
        if not names:
            continue
        texts = (*pods.spec.command, *pods.spec.args, *pods.spec.env.values())
        if name := next((name for name in names if any(f"$({name})" in text for text in texts)), ""):
            why = f"Kubernetes cannot expand $({name}), which is set only then"
            yield _error(pods, why, f"let a shell expand it: `sh -c` with ${name}")
        pool = topology.pool(pods.pool)
        if pool and any("command" in patch for patch in main_patches(pods.spec, pool)):
            yield _error(pods, "its command stands in `template`", "put the command on the podSet itself")
        elif not pods.spec.command:
            hint = "give it a `command`, or `rendezvous: none` and let torchrun find its peers by c10d"
            yield _error(pods, "it has no command of its own", hint)


def _error(pods: Pods, why: str, hint: str) -> Diagnostic:
    message = (
        f'podSet "{pods.spec.name}": a pod\'s NODE_RANK is its number plus the pods of the groups before it, which a'
        f" line of shell before its command adds up; {why}"
    )
    return error("P511", pods.route, message, hint=hint)


def _left_running(workload: Workload) -> Iterator[Diagnostic]:
    """A lead ends its gang, but in a shared JobSet nothing stops the gang's other pods: their nodes stay taken."""
    waited_for = {name for gang in workload.gangs for name in gang.after}
    for gang in workload.gangs:
        others = [pods for pods in all_pods(gang.root) if pods.spec.name != gang.gang.lead]
        if gang.gang.lead and others and gang.name in waited_for and gang.copy == 0:
            message = f'gang "{gang.gang.name}" ends with its lead, and others wait for it, but nothing in their common'
            message += f' {KINDS[workload.kind].TITLE} stops podSet "{others[0].spec.name}"'
            hint = "let every podSet of the gang end, or render the gangs apart with `--gang`"
            yield error("P519", (*gang.route, "lead"), message, hint=hint)


SHARED = (("max_restarts", "maxRestarts"), ("ttl_seconds_after_finished", "ttlSecondsAfterFinished"))


def _shared(workload: Workload) -> Iterator[Diagnostic]:
    """Gangs in one JobSet restart and go together."""
    first = workload.gangs[0]
    for field, key in SHARED:
        odd = next((g for g in workload.gangs if getattr(g.gang, field) != getattr(first.gang, field)), None)
        if odd:
            message = (
                f'gangs "{first.gang.name}" and "{odd.gang.name}" share a {KINDS[workload.kind].TITLE}, because one'
                f" waits for the other, but differ in {key}"
            )
            yield error("P514", (*odd.route, key), message, hint=f"give both the same {key}")


def components(plan: Plan, shape: Shape, backend: Backend) -> list[str]:
    """The components whose versions decided something in the plan."""
    if all(workload.kind == SBATCH for workload in shape.workloads):
        return [backend.declared.component]  # nothing of Kubernetes comes of it
    names = ["kubernetes", backend.declared.component]
    if any(pods.compute_domain for gang in plan.gangs for pods in all_pods(gang.root)):
        names.append("draDriver")
    if any(workload.kind == "jobset" for workload in shape.workloads):
        names.append("jobset")
    return names


# Constraints on nodes that the proof does not model: a warning each, because the fit is then only likely.

KEYS = ("nodeSelector", "affinity", "topologySpreadConstraints")
"""Fields of a pod's spec by which Kubernetes leaves out nodes (Kubernetes, "Assigning Pods to Nodes")."""

POOL = "make the nodes that it selects a pool of the topology, and name that with `pool`"
SPREAD = "pods that are to share a domain cannot be spread over several: remove it, or use `ScheduleAnyway`"

SHARES = "ask for shares of one size, each pod of one card; give the memory of a card in the topology"


def unmodelled_constraints(plan: Plan) -> Iterator[Diagnostic]:
    """For each podSet the fields of its template that leave out nodes which the proof counts; cards that are cut."""
    irregular = irregularly_shared(plan.workflow, plan.topology)
    for pods in once(pods for gang in plan.gangs for pods in all_pods(gang.root)):
        accelerator = pods.spec.accelerator
        if accelerator and accelerator.name in irregular and not accelerator.whole:
            message = (
                f'the proof adds up the parts of cards that podSet "{pods.spec.name}" takes; it does not cut cards'
            )
            yield warning("W564", (*pods.route, "accelerator"), message, hint=SHARES)
        for key in _narrowing(pods, plan.topology):
            what = f'the proof does not see the {key} in the template of podSet "{pods.spec.name}"'
            message = f'{what}; it counts every usable node of pool "{pods.pool}"'
            hint = SPREAD if key == "topologySpreadConstraints" else POOL
            yield warning("P518", (*pods.route, "template", "spec", key), message, hint=hint)


def _narrowing(pods: Pods, topology: ClusterTopology) -> Iterator[str]:
    """The keys by which the template selects fewer nodes than the pool does: every node has the pool's labels."""
    pool = topology.pool(pods.pool)
    pool_labels = pool.node.node_selector if pool else {}
    for key in KEYS:
        value = (pods.spec.template.get("spec") or {}).get(key)
        if key == "topologySpreadConstraints":  # one that may be ignored leaves out no nodes
            narrows = any(text(each, "whenUnsatisfiable") != "ScheduleAnyway" for each in value or ())
        else:
            narrows = bool(value and not (key == "nodeSelector" and value.items() <= pool_labels.items()))
        if narrows:
            yield key


# Preferences that no placement can meet: a warning each, because the scheduler falls back silently.


def unmet_preferences(plan: Plan) -> Iterator[Diagnostic]:
    """For a plan that fits: each preferred level of the file that would not, were it required."""
    for gang in plan.gangs:
        units = {unit.route: unit for unit in walk(gang.root) if unit.preferred} if gang.copy == 0 else {}
        for route, unit in units.items():
            if isinstance(prove(edit_plan(plan, unit=partial(_preferred_required, route))), Impossible):
                what = f'a "{unit.name.rpartition("-")[0]}"' if unit.name else f'gang "{gang.gang.name}"'
                message = f'{what} cannot be in one "{unit.preferred}" as preferred; its pods will spread over several'
                hint = f'`bayplan explain P516`; or prefer a coarser level than "{unit.preferred}"'
                yield warning("P516", (*route, "placement", "preferred"), message, hint=hint)


def _preferred_required(route: Route, unit: Unit) -> Unit:
    """That one preference as a requirement."""
    return unit._replace(required=unit.preferred) if unit.route == route else unit
