"""Checks that need the chosen workload kinds: commands to wrap, settings to share, versions, limits of the proof."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from bayplan.core.diagnostics import Diagnostic, Route, error, info, warning
from bayplan.core.phrases import count, listing, shorten
from bayplan.fabrics import fabric_of, on_host
from bayplan.kube.kinds import (
    KINDS,
    MPIJOB,
    SBATCH,
    SERVING,
    TRAINJOB,
    Barrier,
    answering,
    has_first,
    instances,
    of_first,
    start,
    workload_barriers,
)
from bayplan.kube.objects import text
from bayplan.kube.pod import STORE, cannot_wait, data_url, main_patches, may_share_address, mpi_secret_name
from bayplan.kube.ranks import arithmetic, shell_names, user_names
from bayplan.model.backend import Backend
from bayplan.model.manifest import Shape, Workload
from bayplan.model.plan import GangPlan, Occupied, Plan, Pods, Unit, all_pods, edit_plan, minimum, once, walk
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.model.workflow import (
    UNWRAPPED,
    Checkpoint,
    PodSet,
    Transfer,
    hides_failures,
    serves,
    texts,
    varies,
    words,
)
from bayplan.planning.fit import Impossible, prove
from bayplan.planning.pools import irregularly_shared

if TYPE_CHECKING:
    from bayplan.planning.node_selection import Selection

# The rendezvous options of torchrun in a command, compared with the pods of the rendezvous (PyTorch,
# torch/distributed/run.py).

NODES = r"--nnodes[=\s]+['\"]?(?:([0-9]{1,6}):)?([0-9]{1,6})(?![0-9:])"
PROCESSES = r"--nproc[-_]per[-_]node[=\s]+['\"]?([0-9]{1,6})(?![0-9])"
DYNAMIC = r"--rdzv[-_]backend[=\s]+['\"]?(c10d|etcd)"
ENDPOINT = r"--rdzv[-_]endpoint[=\s]"
STARTERS = ("torchrun", "torch.distributed.run")
MASTERS = ("MASTER_ADDR", "PET_MASTER_ADDR")
ITSELF = ("localhost", "127.0.0.1", "::1")


def torchrun(spec: PodSet) -> str:
    """The command of a podSet; empty where it does not start torchrun."""
    text = " ".join((*spec.command, *spec.args))
    return text if any(each in text for each in STARTERS) else ""


def elastic(spec: PodSet, least: int) -> bool:
    """Whether torchrun finds its peers by itself and may start with that few nodes.

    Without an endpoint each pod waits for the others at its own localhost (PyTorch 2.9, torch/distributed/run.py).
    """
    text = torchrun(spec)
    nodes, met = re.search(NODES, text), "PET_RDZV_ENDPOINT" in spec.env or re.search(ENDPOINT, text)
    return bool(nodes and nodes[1] and int(nodes[1]) <= least and met and re.search(DYNAMIC, text))


def _nodes(pods: Pods) -> Iterator[Diagnostic]:
    """W587. One node: the pods work separately. As many nodes as replicas: the podSet has a rendezvous of its own."""
    match = re.search(NODES, torchrun(pods.spec))
    total = pods.ranks.nodes if pods.ranks else 0
    if not match or int(match[2]) == 1:
        return
    least, most = int(match[1] or match[2]), int(match[2])
    if not any(least <= number <= most for number in (total, pods.replicas)):
        declared = f"{match[1]}:{match[2]}" if match[1] else match[2]
        why = "they would wait for others forever" if least > total else "the others could not join"
        message = f"torchrun expects {declared} nodes, but the rendezvous has {count(total, 'pod')}: {why}"
        yield warning("W587", _place(pods), message, hint=f"set --nnodes={total}, or change the number of replicas")


def _processes(pods: Pods, topology: ClusterTopology) -> Iterator[Diagnostic]:
    match = re.search(PROCESSES, torchrun(pods.spec))
    cards = pods.spec.accelerator.per_pod if pods.spec.accelerator else 0
    if match and cards and int(match[1]) != cards:
        message = f"torchrun starts {match[1]} processes on each node, but a pod has {count(cards, 'GPU')}"
        message += ", so some of them stay idle" if int(match[1]) < cards else ""
        pool = topology.pool(pods.pool)
        more = f", or request {match[1]} GPUs" if pool and pool.node.accelerators >= int(match[1]) else ""
        hint = f"set --nproc-per-node={cards}{more}"
        yield warning("W587", _place(pods), message, hint=hint)


def _place(pods: Pods) -> Route:
    return (*pods.route, "args" if pods.spec.args else "command")


def _masters(pods: Pods) -> Iterator[Diagnostic]:
    """W587: a master address that makes each pod its own rank 0."""
    several = pods.ranks is not None and pods.ranks.nodes > 1 and (pods.total > 1 or pods.ranks.first > 0)
    for name in MASTERS:
        if several and pods.spec.env.get(name) in ITSELF:
            message = f"{name} is {pods.spec.env[name]}, so each pod looks for rank 0 in itself"
            hint = "remove it: bayplan sets it to rank 0; or set `rendezvous: none` if each pod works separately"
            yield warning("W587", (*pods.route, "env", name), message, hint=hint)


def fitting(plan: Plan, shape: Shape, target: Target) -> Iterator[Diagnostic]:
    """Findings about a plan together with its shape."""
    for workload in shape.workloads:
        yield from _commands(workload, plan.topology)
        yield from _hidden_failures(workload, plan.topology)
        yield from _shared(workload)
        yield from _left_running(workload)
        yield from _controllers(workload)
        yield from _hosts_in_files(workload)
        yield from _clients(workload)
    yield from _small_starts(plan)
    yield from _launchers(plan, shape)
    yield from _hostfiles(shape)
    yield from _barriers(plan, shape)
    yield from _data(plan, shape)
    for pods in {pods.route: pods for gang in plan.gangs for pods in all_pods(gang.root) if pods.ranks}.values():
        yield from _nodes(pods)
        yield from _processes(pods, plan.topology)
        yield from _masters(pods)
    if not target.since("draDriver", "25.8"):
        yield from _waiting_for_all(plan)
        yield from _varying_domains(plan)
    if plan.workflow.cleanup == "adopt" and not plan.topology.images.get("kubectl"):
        message = "`cleanup: adopt` runs a Job in the cluster, but the topology has no image for it"
        hint = "set `images: {kubectl: IMAGE}` in the topology, to an image with `kubectl` and `sh`"
        yield error("W310", ("workflow", "spec", "cleanup"), message, hint=hint)


def _controllers(workload: Workload) -> Iterator[Diagnostic]:
    """W313: variables that Trainer's webhook refuses (Trainer 2.3, plugins/torch). W360: a runtime of other kinds."""
    gang = workload.gangs[0]
    if gang.gang.trainer and workload.kind != TRAINJOB:
        message = f'gang "{gang.gang.name}" has `trainer`, but is not a TrainJob'
        yield error("W360", (*gang.route, "trainer"), message, hint="use `workload: trainjob`, or remove `trainer`")
    if workload.kind == TRAINJOB:
        from bayplan.kube.kinds.trainjob import RESERVED  # few workflows need it

        for pods in once(all_pods(gang.root)):
            for name in sorted(user_names(pods.spec).intersection(RESERVED)):
                route = (*pods.route, "env", name) if name in pods.spec.env else (*pods.route, "template")
                message = f'podSet "{pods.spec.name}" sets {name}, which Trainer sets itself'
                yield error("W313", route, message, hint=f"remove `{name}`, or use `workload: jobset`")


def _clients(workload: Workload) -> Iterator[Diagnostic]:
    """W371: requests that reach ranks other than 0."""
    kind = KINDS[workload.kind]
    for gang in workload.gangs:
        if gang.gang.service and gang.copy == 0 and workload.kind != SBATCH and of_first(kind, gang) is None:
            pods = answering(gang)[0]
            named = f'podSet "{pods.spec.name}"'
            message = f'the Service of gang "{gang.gang.name}" sends requests to each ready pod of {named}'
            own = "name its podSet"
            if has_first(pods):
                message += f": no label of a {kind.TITLE} tells rank 0 of each group from its other ranks"
                own = "make it a podSet of its own"
            hint = f"if only rank 0 answers, {own}; if each answers, set `rendezvous: none`"
            yield info("W371", (*gang.route, "service"), message, hint=hint)


def _varying_domains(plan: Plan) -> Iterator[Diagnostic]:
    """P517: one ComputeDomain for a number of copies that varies (NVIDIA DRA driver 25.3, `numNodes`)."""
    for gang in plan.gangs:
        if gang.copy == 0 and gang.compute_domains and serves(gang.gang) and varies(gang.gang):
            key = "autoscale" if gang.gang.autoscale else "rollout"
            message = (
                f'the DRA driver below 25.8 holds the pods of gang "{gang.gang.name}" back until its ComputeDomain has'
                " a fixed number of nodes, but its number of copies varies"
            )
            hint = f"remove `{key}`, so that each copy has a ComputeDomain of its own, or target draDriver 25.8"
            yield error("P517", (*gang.route, key), message, hint=hint)


def _hosts_in_files(workload: Workload) -> Iterator[Diagnostic]:
    """W394: a file is the same for all copies, and only variables have the number of the copy."""
    gang = workload.gangs[0]
    if workload.kind not in SERVING or not (len(workload.gangs) > 1 or varies(gang.gang)):
        return
    for pods in once(all_pods(gang.root)):
        for path, held in pods.spec.files.items():
            text = next((each for each in gang.gang.hosts if isinstance(held, str) and each in held), "")
            if text:
                message = f'file "{path}" has "{text}", which is another pod in each copy of gang "{gang.gang.name}"'
                hint = "write it into `env` or `command`, which each copy reads by itself"
                yield error("W394", (*pods.route, "files", path), message, hint=hint)


def _launchers(plan: Plan, shape: Shape) -> Iterator[Diagnostic]:
    """W384: a launcher without a command, a number of slots, or all pods and ranks of its podSet. F689: its needs."""
    outside = {gang.name for each in shape.workloads if each.kind == SBATCH for gang in each.gangs}
    operated = {gang.name for each in shape.workloads if each.kind == MPIJOB for gang in each.gangs}
    for gang in (each for each in plan.gangs if each.copy == 0):
        everyone = once(all_pods(gang.root))
        for pods in (each for each in everyone if each.spec.launcher):
            route = (*pods.route, "launcher")
            named = f'podSet "{pods.spec.name}"'
            master = pods.ranks and pods.ranks.master
            beside = [
                each for each in everyone if each.ranks and each.ranks.master == master and each.route != pods.route
            ]
            if not pods.spec.command:
                yield error("W384", route, f"{named} has a launcher but no `command`", hint="set `command`")
            elif pods.ranks is None:
                message = f"{named} has a launcher, but its pods have no ranks"
                hint = "remove `rendezvous: none`, and give GPUs to all pods that the launcher uses"
                yield error("W384", route, message, hint=hint)
            elif beside:
                message = f'{named} has a launcher, but shares its ranks with podSet "{beside[0].spec.name}"'
                yield error("W384", route, message, hint="give each of them a group, and set `rendezvous: group`")
            elif pods.elastic or minimum(gang.root, partial(_same, pods)) < pods.ranks.nodes:
                message = f"{named} has a launcher, but may start without some of its pods"
                hint = "remove `minReplicas`: the launcher waits for all pods"
                yield error("W384", (*pods.route, "minReplicas") if pods.elastic else route, message, hint=hint)
            elif not re.fullmatch("[1-9][0-9]{0,8}", slots := texts(pods.spec.env).get("MPI_SLOTS", "1")):
                message = f'MPI_SLOTS is "{shorten(slots)}", which is not a number of ranks'
                yield error("W384", (*pods.route, "env", "MPI_SLOTS"), message, hint="write a positive integer")
            elif pods.ranks.nodes > 1 and gang.name in operated:
                message = f"{named} needs an image with MPI, sshd, ssh and ssh-keygen; mpi-operator makes the key"
                yield info("F689", route, message)
            elif pods.ranks.nodes > 1 and gang.name not in outside:
                secret = mpi_secret_name(plan)
                message = f'{named} needs an image with MPI, sshd and ssh, and the Secret "{secret}" with an ssh key'
                hint = f"create it: ssh-keygen -q -t ed25519 -N '' -f mpi-key && kubectl create secret generic {secret}"
                hint += f" -n {plan.namespace} --from-file=ssh-privatekey=mpi-key --from-file=ssh-publickey=mpi-key.pub"
                hint += " && rm mpi-key mpi-key.pub"
                yield info("F689", route, message, hint=hint)


HOSTFILE = "/etc/mpi/hostfile"
"""Where mpi-operator and Trainer's MPI runtimes have the hostfile (MPI Operator 0.8, pkg/controller/
mpi_job_controller.go; Trainer 2.3, pkg/constants)."""


def _hostfiles(shape: Shape) -> Iterator[Diagnostic]:
    """W379: a hostfile that is in no pod."""
    gangs = (gang for each in shape.workloads if each.kind != MPIJOB for gang in each.gangs)
    for pods in once(each for gang in gangs for each in all_pods(gang.root)):
        spec = pods.spec
        at = next((route for route, word in words(spec) if HOSTFILE in word), None)
        own = any(f"{HOSTFILE}/".startswith(f"{path}/") for path in (*spec.files, *spec.volumes))
        if at and not own and "/etc/mpi" not in repr(spec.template):
            message = f'podSet "{spec.name}" reads {HOSTFILE}, which is only in the pods of an MPIJob'
            finds = "leave the option out: mpirun finds the hostfile of all pods by itself"
            hint = finds if spec.launcher else f"set `launcher: mpi`, and {finds}"
            yield warning("W379", (*pods.route, *at), message, hint=hint)


def _barriers(plan: Plan, shape: Shape) -> Iterator[Diagnostic]:
    """W385: pods that would wait forever, only for themselves, or by a Service whose name is too long."""
    for workload in shape.workloads if any(gang.gang.barrier != "none" for gang in plan.gangs) else ():
        for gang, found in workload_barriers(plan, workload):
            if gang.gang.barrier == "none" or gang.copy or workload.kind == SBATCH:
                continue
            route = (*gang.route, "barrier")
            if not found:
                what = "each group" if gang.gang.barrier == "group" else f'gang "{gang.gang.name}"'
                message = f"`barrier: {gang.gang.barrier}` has no effect: {what} may start with one pod"
                yield warning("W385", route, message, hint="remove `barrier`")
            service = max((each.service(each.copies - 1) for each in found.values()), key=len, default="")
            if len(service) > 63:
                what = f'the barrier needs a Service "{service}"'
                message = f"{what}; a name has at most 63 characters, not {len(service)}"
                yield error("W385", route, message, hint="shorten the names of workflow, gang or group")
            for pods in once(each for each in all_pods(gang.root) if each.name in found):
                why, change = cannot_wait(pods.spec, plan.topology.pool(pods.pool))
                if why:
                    message = f'podSet "{pods.spec.name}" cannot wait for other pods: {why}'
                    yield error("W385", route, message, hint=f"{change}, or set `barrier: none`")
            if name := _with_one_address(plan, gang, found):
                message = (
                    f'two pods of podSet "{name}" may have the address of one node, and the barrier counts addresses'
                )
                hint = "set `wholeNode: true`, remove `hostNetwork`, or set `barrier: none`"
                yield error("W385", route, message, hint=hint)


def _with_one_address(plan: Plan, gang: GangPlan, found: Mapping[str, Barrier]) -> str:
    """The first podSet in its nodes' network of which two pods that wait for each other may be on one node."""
    together: dict[str, list[tuple[Pods, Pool | None]]] = {}
    for pods in (each for each in all_pods(gang.root) if each.name in found):
        pool = plan.topology.pool(pods.pool)
        if on_host(pods.spec, fabric_of(pods.spec, plan.topology), pool):
            together.setdefault(found[pods.name].name, []).append((pods, pool))
    for everyone in together.values():
        total = sum(pods.total // found[pods.name].copies for pods, _ in everyone)
        if may_share_address([(pods.spec, pool) for pods, pool in everyone], total):
            return everyone[0][0].spec.name
    return ""


def _other_stores(plan: Plan) -> Iterator[Diagnostic]:
    """P525: an input that another podSet leaves in the store of another pool."""
    everyone = [pods for gang in plan.gangs for pods in once(all_pods(gang.root))]
    written: dict[str, set[str]] = {}
    for pods in everyone:
        uploads: list[Transfer | Checkpoint] = [*pods.spec.data.outputs, *pods.spec.data.checkpoints]
        for each in uploads:
            if each.url.startswith(f"{STORE}:"):
                written.setdefault(each.url, set()).add(data_url(plan, each.url, pods.pool))
    for pods in everyone:
        for number, fetched in enumerate(pods.spec.data.inputs):
            url = data_url(plan, fetched.url, pods.pool)
            if url not in written.get(fetched.url, {url}):
                other = min(written[fetched.url])
                message = f'podSet "{pods.spec.name}" would read {shorten(url)}, but the output is in {shorten(other)}'
                hint = f"give both pools the same `dataStore`, or write {other}"
                yield error("P525", (*pods.route, "data", "inputs", number, "url"), message, hint=hint)


def _data(plan: Plan, shape: Shape) -> Iterator[Diagnostic]:
    """P525: data without a mover or a store. P525: the Secrets of the movers."""
    outside = {gang.name for each in shape.workloads if each.kind == SBATCH for gang in each.gangs}
    secrets: dict[str, Route] = {}
    for gang in (each for each in plan.gangs if each.copy == 0 and each.name not in outside):
        for pods in once(all_pods(gang.root)):
            movers, store = plan.topology.movers(pods.pool), plan.topology.store(pods.pool)
            for each, own in pods.spec.data.transfers():
                route = (*pods.route, "data", *own, "url")
                scheme = (store if each.url.startswith(f"{STORE}:") else each.url).partition(":")[0]
                if not scheme:
                    message = f'"{shorten(each.url)}" is in the store of the topology, which has none'
                    hint = "set `dataStore: s3://BUCKET/FOLDER` in the topology"
                    yield error("P525", route, message, hint=hint)
                elif scheme not in movers:
                    message = (
                        f'podSet "{pods.spec.name}" has data in {scheme}, but the topology has no data mover for it'
                    )
                    hint = f"set `dataMovers: {{{scheme}: {{image: IMAGE}}}}` in the topology, to an image with rclone"
                    yield error("P525", route, message, hint=hint)
                elif secret := movers[scheme].secret:
                    secrets.setdefault(secret, route)
    yield from _other_stores(plan)
    for secret, route in secrets.items():
        message = f'data movers get their settings from the Secret "{secret}" in namespace "{plan.namespace}"'
        hint = f"create it: kubectl create secret generic {secret} -n {plan.namespace} --from-env-file=FILE"
        yield info("P525", route, message, hint=hint)


def _waiting_for_all(plan: Plan) -> Iterator[Diagnostic]:
    """P517. Up to version 25.3, the DRA driver holds the pods of a ComputeDomain back until numNodes of them exist."""
    for gang in (each for each in plan.gangs if each.copy == 0 and not (serves(each.gang) and varies(each.gang))):
        units = {unit.name: unit for unit in walk(gang.root)}
        for domain in once(reversed(gang.compute_domains)):
            least = minimum(units[domain.unit], partial(_claims, domain.name))
            if least < domain.nodes:
                message = (
                    f"{least} of the {domain.nodes} pods of a ComputeDomain may start without the others, but the DRA"
                )
                message += " driver below 25.8 holds them back until all of them exist"
                hint = "target driver 25.8 or later, remove `minReplicas`, or set `computeDomain: never`"
                yield error("P517", (*domain.route, "name"), message, hint=hint)


def _claims(domain: str, pods: Pods) -> bool:
    return pods.compute_domain == domain


def _small_starts(plan: Plan) -> Iterator[Diagnostic]:
    """P522: the scheduler may start a part of a rendezvous, and the program does not know."""
    for gang in (each for each in plan.gangs if each.copy == 0):
        meeting = [pods for pods in all_pods(gang.root) if _may_meet(pods)]
        if gang.gang.rendezvous == "group" and not any(pods.elastic for pods in meeting):
            continue  # a group that does not start has a rendezvous of its own
        ranked = sum(pods.replicas for pods in meeting)
        least = minimum(gang.root, _may_meet)
        if least < ranked and not all(elastic(pods.spec, least) for pods in meeting):
            message = f'gang "{gang.gang.name}" may start with {least} of {ranked} pods, but its program expects all:'
            message += f" NNODES is {ranked}, rank 0 may be a pod that waits, and success needs all pods"
            command = f"torchrun --nnodes={least}:{ranked} --rdzv-backend=c10d --rdzv-endpoint=$(MASTER_ADDR):29400"
            hint = f"let the program find its peers by itself ({command}), or remove `minReplicas`"
            yield warning("P522", (*gang.route, "name"), message, hint=hint)


def _same(pods: Pods, each: Pods) -> bool:
    return each.route == pods.route


def _may_meet(pods: Pods) -> bool:
    return pods.ranks is not None and not pods.spec.launcher  # a launcher needs all pods (W384)


def _hidden_failures(workload: Workload, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """P511: a failure that the gang ignores needs a command to wrap."""
    wrapped = workload.gangs if workload.kind not in UNWRAPPED else ()
    for gang in wrapped:
        for pods in once(all_pods(gang.root)):
            if hides_failures(gang.gang, pods.spec) and (why := _no_command(pods, topology)):
                message = f'podSet "{pods.spec.name}" needs a shell around its command to hide its failure, but {why}'
                hint = "set `command` on the podSet, or remove `ignoreNonleadFailures`"
                yield error("P511", pods.route, message, hint=hint)


def _no_command(pods: Pods, topology: ClusterTopology) -> str:
    """Why no shell can run the command of these pods; empty if one can."""
    pool = topology.pool(pods.pool)
    if pool and any("command" in patch for patch in main_patches(pods.spec, pool)):
        return "its command is in `template`"
    return "" if pods.spec.command else "it has no `command`"


def _commands(workload: Workload, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """P511: a rank that needs arithmetic needs a command to wrap."""
    everyone = {pods.route: pods for _, pods in reversed(list(instances(workload)))}
    kind = KINDS[workload.kind]
    numbered = ((pods, start(kind, gang, pods)) for gang, pods in instances(workload))
    shelled = arithmetic(numbered) if kind.INDEX else frozenset()
    for route in sorted(shelled, key=str):
        pods = everyone[route]
        if shell_names(pods) and (why := _no_command(pods, topology)):
            message = (
                f'podSet "{pods.spec.name}" needs a line of shell before its command to compute NODE_RANK, but {why}'
            )
            hint = "set `command` on the podSet itself"
            if "template" not in why:
                hint = "set `command`, or set `rendezvous: none` and let torchrun find its peers with c10d"
            yield error("P511", pods.route, message, hint=hint)


def _left_running(workload: Workload) -> Iterator[Diagnostic]:
    """P519: a lead ends its gang, but a shared JobSet does not stop the gang's other pods, which keep their nodes."""
    waited_for = {name for gang in workload.gangs for name in (*gang.after, gang.previous)}
    for gang in workload.gangs:
        others = [pods for pods in all_pods(gang.root) if pods.spec.name != gang.gang.lead]
        if gang.gang.lead and others and gang.name in waited_for and gang.copy == 0:
            message = f'gang "{gang.gang.name}" ends with its lead and other gangs wait for it, but their common'
            message += f' {KINDS[workload.kind].TITLE} does not stop podSet "{others[0].spec.name}"'
            hint = "let every podSet of the gang end by itself, or render the gangs separately with `--gang`"
            yield error("P519", (*gang.route, "lead"), message, hint=hint)


SHARED = (("max_restarts", "maxRestarts"), ("ttl_seconds_after_finished", "ttlSecondsAfterFinished"))


def _shared(workload: Workload) -> Iterator[Diagnostic]:
    """P513: gangs in one JobSet have common restarts and a common time to live."""
    for field, key in SHARED:
        gangs = [gang for gang in workload.gangs if key != "maxRestarts" or gang.copies == 1]
        first = gangs[0] if gangs else workload.gangs[0]
        odd = next((gang for gang in gangs if getattr(gang.gang, field) != getattr(first.gang, field)), None)
        if odd:
            message = (
                f'gangs "{first.gang.name}" and "{odd.gang.name}" share a {KINDS[workload.kind].TITLE}, because one'
                f" waits for the other, but they set different `{key}`"
            )
            yield error("P513", (*odd.route, key), message, hint=f"set the same `{key}` on both")


MAKERS: Mapping[str, tuple[str, ...]] = {
    "jobset": ("jobset",),
    "lws": ("lws",),
    MPIJOB: ("mpiOperator",),
    TRAINJOB: ("jobset", "trainer"),
}
"""Kind -> the components with versions that make its pods."""


def components(plan: Plan, shape: Shape, backend: Backend) -> list[str]:
    """The components whose versions affect the plan."""
    if all(workload.kind == SBATCH for workload in shape.workloads):
        return [backend.declared.component]  # the output has no objects of Kubernetes
    names = ["kubernetes", backend.declared.component]
    if any(pods.compute_domain for gang in plan.gangs for pods in all_pods(gang.root)):
        names.append("draDriver")
    made = (component for each in shape.workloads for component in MAKERS.get(each.kind, ()))
    return [*names, *dict.fromkeys(made)]


# Constraints on nodes in templates, which the proof does not model (Kubernetes, "Assigning Pods to Nodes").

KEYS = ("nodeSelector", "affinity", "topologySpreadConstraints")
"""Fields of a pod's spec by which Kubernetes excludes nodes."""

POOL = "make the nodes that it selects a pool of the topology, and set `pool` to it"
APART = "remove it, or make sure that it leaves enough nodes"
SPREAD = "remove it, or set `ScheduleAnyway`: it spreads pods that must share a domain"
LEAVE_OUT = "or leave the pods out of the gang with `leaveOut`"

SHARES = "request shares of one size, one device per pod, and set the `memory` of a device in the topology"


def elsewhere(plan: Plan, existing: bool = False) -> Iterator[Diagnostic]:
    """P502, for each podSet whose template selects no node of its pool.

    Pods with devices may select them by a label that the topology lacks. Pods without devices do not belong among the
    accelerators if they select nodes by such a label. `existing`: whether others wrote the workload.
    """
    for pods in once(pods for gang in plan.gangs for pods in all_pods(gang.root)):
        chosen, pool = _selection(pods, plan.topology), plan.topology.pool(pods.pool)
        if chosen is None or pool is None or chosen.by is None:
            continue
        devices = pods.spec.accelerator or pods.spec.whole_node
        unknown = not chosen.selected and pool.node.accelerator and not devices and chosen.by.particular
        if not (chosen.none or unknown):
            continue
        what = f'the template of podSet "{pods.spec.name}" selects nodes with {chosen.by}'
        if chosen.none:
            message = f'{what}, but its pool "{pool.name}" has none of them'
        else:
            message = f'{what}, which no pool describes, but bayplan counts its pods in pool "{pool.name}"'
        fitting = [each.name for each in plan.topology.pools if _all_selected(pods, each)]
        hint = f"set its `pool` to {listing(fitting)}" if fitting else POOL
        hint += f" in a policy, {LEAVE_OUT}" if existing else ", or remove the selection"
        yield error("P502", (*pods.route, "template", "spec", *chosen.by.field), message, hint=hint)


def _selection(pods: Pods, topology: ClusterTopology) -> Selection | None:
    """The nodes of the pool that the template selects; None if it selects none in particular."""
    spec, pool = pods.spec.template.get("spec") or {}, topology.pool(pods.pool)
    if pool is None or not (spec.get("nodeSelector") or spec.get("affinity")):
        return None
    from bayplan.planning.node_selection import selection  # few templates select nodes

    return selection(spec, pool)


def _all_selected(pods: Pods, pool: Pool) -> bool:
    from bayplan.planning.node_selection import selection

    chosen = selection(pods.spec.template.get("spec") or {}, pool)
    return bool(chosen.selected) and not (chosen.excluded or chosen.undecided)


def unmodelled_constraints(plan: Plan) -> Iterator[Diagnostic]:
    """P518, for each podSet: fields of its template that exclude nodes which the proof counts, and divided cards."""
    irregular = irregularly_shared(plan.workflow, plan.topology)
    for pods in once(pods for gang in plan.gangs for pods in all_pods(gang.root)):
        accelerator = pods.spec.accelerator
        if accelerator and accelerator.name in irregular and not accelerator.whole:
            message = f'the proof only adds up the shares of podSet "{pods.spec.name}"; it does not divide devices'
            yield warning("P518", (*pods.route, "accelerator"), message, hint=SHARES)
        yield from _narrowing(pods, plan.topology)


def _narrowing(pods: Pods, topology: ClusterTopology) -> Iterator[Diagnostic]:
    """P518 for each field by which the template selects fewer nodes than the pool, or may do so."""
    spec, chosen, of_pool = pods.spec.template.get("spec") or {}, _selection(pods, topology), f'of pool "{pods.pool}"'
    if chosen and chosen.by and not chosen.none and (chosen.excluded or chosen.undecided):
        what = f'podSet "{pods.spec.name}" selects nodes with {chosen.by}'
        if chosen.undecided:
            message = (
                f"{what}, but the topology does not have this label, so the proof counts every usable node {of_pool}"
            )
            hint = f"if all its nodes have it, add it to `node.nodeSelector` of the pool; otherwise {POOL}"
        else:
            counted = chosen.selected + chosen.excluded
            message, hint = f"{what}, but the proof counts all {counted} nodes {of_pool}, not {chosen.selected}", POOL
        yield _ignored(pods, str(chosen.by.field[0]), message, hint)
    ignored = f'in the template of podSet "{pods.spec.name}" and counts every usable node {of_pool}'
    if spec.get("affinity"):
        from bayplan.planning.node_selection import affine

        if affine(spec):
            yield _ignored(pods, "affinity", f"the proof ignores affinity to pods {ignored}", APART)
    # the scheduler may ignore ScheduleAnyway
    if any(text(each, "whenUnsatisfiable") != "ScheduleAnyway" for each in spec.get("topologySpreadConstraints") or ()):
        key = "topologySpreadConstraints"
        yield _ignored(pods, key, f"the proof ignores `{key}` {ignored}", SPREAD)


def _ignored(pods: Pods, key: str, message: str, hint: str) -> Diagnostic:
    return warning("P518", (*pods.route, "template", "spec", key), message, hint=hint)


# What runs in the cluster, and has the name of the workflow.


def running(plan: Plan, occupied: Occupied, refused: bool) -> Iterator[Diagnostic]:
    """P569: gangs that already run count as others. A warning if the workflow does not fit beside them."""
    names = {f"{plan.namespace}/{gang.name}" for gang in plan.gangs}
    found = Counter(each.name for there in occupied.values() for each in there if each.name in names)
    for name, nodes in sorted(found.items()):
        message = f"{name} already runs on {count(nodes, 'node')}, and bayplan counts it like the workloads of others"
        hint = "if the workflow replaces it, leave its pods out of the file of --occupied"
        report = warning if refused else info
        yield report("P569", ("workflow", "metadata", "name"), message, hint=hint)


# Preferences that no placement can meet: an info each, because the workflow still runs.


def unmet_preferences(plan: Plan) -> Iterator[Diagnostic]:
    """P516, for a plan that fits: each preferred level of the file with which it would not fit if it were required."""
    for gang in plan.gangs:
        units = {unit.route: unit for unit in walk(gang.root) if unit.preferred} if gang.copy == 0 else {}
        for route, unit in units.items():
            if isinstance(prove(edit_plan(plan, unit=partial(_preferred_required, route))), Impossible):
                what = f'group "{unit.name.rpartition("-")[0]}"' if unit.name else f'gang "{gang.gang.name}"'
                message = f'{what} prefers one "{unit.preferred}" but does not fit into one; its pods use several'
                hint = f'if the preference matters, prefer a level that is coarser than "{unit.preferred}"'
                yield info("P516", (*route, "placement", "preferred"), message, hint=hint)


def _preferred_required(route: Route, unit: Unit) -> Unit:
    """That one preference as a requirement."""
    return unit._replace(required=unit.preferred) if unit.route == route else unit
