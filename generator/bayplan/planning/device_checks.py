"""Checks of a plan's cards for its scheduler (`accelerators/matrix.py`), and of a plan's fabrics."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.core.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.fabrics import fabric_of, on_host
from bayplan.kube.ranks import master_port
from bayplan.model.plan import GangPlan, Plan, Pods, all_pods, allocator, once
from bayplan.model.target import Target
from bayplan.model.topology import AcceleratorKind
from bayplan.model.workflow import Accelerator
from bayplan.planning.declared import declared_values


def gaps(plan: Plan, scheduler: str, title: str, target: Target) -> Iterator[Diagnostic]:
    """F760, once for each podSet. Every scheduler places whole cards of a device plugin."""
    reported: set[tuple[str, str]] = set()
    for pods in once(pods for gang in plan.gangs for pods in all_pods(gang.root)):
        accelerator = pods.spec.accelerator
        kind = plan.topology.accelerators.get(accelerator.name) if accelerator else None
        special = accelerator and (not accelerator.whole or accelerator.selectors)
        if accelerator and kind and (special or allocator(accelerator, kind) == "hami"):
            lost = tuple(_gap(pods, accelerator, kind, scheduler, title))
            yield from lost
            yield from _gates(pods, accelerator, kind, target)
            switch = SWITCHES.get((scheduler, kind.vendor))
            refused = any(each.severity == "error" for each in lost)
            if switch and allocator(accelerator, kind) == "hami" and switch not in reported and not refused:
                reported.add(switch)
                name, why = switch
                message = f"Volcano needs a setting for this: {why}"
                hint = f"set the argument `{name}: true` of the plugin in volcano-scheduler.conf"
                yield info("F689", (*pods.route, "accelerator"), message, hint=hint)


def parts(accelerator: Accelerator, kind: AcceleratorKind) -> frozenset[str]:
    """What a request has besides whole cards, in the words of the table."""
    from bayplan.accelerators.hami import node
    from bayplan.kube.vendors import VOLCANO, names

    own = names(kind).cards.startswith(VOLCANO)
    share = bool(accelerator.memory or accelerator.cores)
    traits = {
        "share": share,
        "split": names(kind).shared and not share and kind.max_pods != 1,
        "node": bool(node(accelerator, kind)),
        "profile": bool(accelerator.profile),
        "selectors": bool(accelerator.selectors),
        "policy": accelerator.has_policy,
        "names": own,
        "foreign": not own,
    }
    return frozenset(word for word, present in traits.items() if present)


def _gap(
    pods: Pods, accelerator: Accelerator, kind: AcceleratorKind, scheduler: str, title: str
) -> Iterator[Diagnostic]:
    from bayplan.accelerators import matrix

    way = allocator(accelerator, kind)
    about = parts(accelerator, kind)
    row = matrix.verdict(scheduler, kind.vendor, way, about)
    at: Route = (*pods.route, "accelerator") if pods.spec.accelerator else (*pods.route, "wholeNode")
    what = f'podSet "{pods.spec.name}" requests devices of {kind.vendor} from {way}'
    if row.verdict == "no":
        message = f"{what}, which {title} does not support: {row.reason}"
        yield error("F760", at, message, hint=row.hint)
    elif row.verdict == "partly":
        for each in matrix.catches(scheduler, kind.vendor, way, about):
            message = f"{what}, which {title} supports only in part: {each.reason}"
            yield warning("F762", at, message, hint=each.hint)


def _gates(pods: Pods, accelerator: Accelerator, kind: AcceleratorKind, target: Target) -> Iterator[Diagnostic]:
    """F760, F762, F760: features that came with a later release than the target's."""
    # the name of a resource cannot have a plus (`k8s-device-plugin` 0.13, internal/rm)
    newer_profile = "+" in accelerator.profile and not target.since("nvidiaDevicePlugin", "0.13")
    if newer_profile and allocator(accelerator, kind) == "device-plugin":
        have, hint = target.version("nvidiaDevicePlugin"), "upgrade it, or use another profile"
        message = f"{accelerator.profile} needs NVIDIA's device plugin 0.13 or later, and the cluster has {have}"
        yield error("F760", (*pods.route, "accelerator", "profile"), message, hint=hint)
    if allocator(accelerator, kind) != "hami":
        return
    from bayplan.accelerators.hami import ANNOTATED, linked_by_node
    from bayplan.kube.vendors import names

    at: Route = (*pods.route, "accelerator")
    own, ascend = names(kind), kind.vendor == "ascend"
    newer: tuple[tuple[bool, Route, str, str], ...] = (
        (bool(accelerator.memory or accelerator.cores), at, f"a share of {own.cards}", own.since),
        (accelerator.cards in ("mutex", "numa"), (*at, "cards"), f"`cards: {accelerator.cards}`", "2.10"),
        (ascend and own.cards.endswith("910C"), at, "Ascend 910C", "2.9"),
        (ascend and bool(accelerator.cores), (*at, "cores"), "`cores` of Ascend", "2.10"),
    )
    for needed, route, what, since in newer:
        if needed and since and not target.since("hami", since):
            message = f"{what} needs HAMi {since} or later, and the cluster has {target.version('hami')}"
            hint = f'upgrade HAMi, or correct its version in the topology: `versions: {{hami: "{since}"}}`'
            yield error("F760", route, message, hint=hint)
    if linked_by_node(kind) and not target.since("metax", ANNOTATED):
        have = target.version("metax")
        message = (
            f"HAMi reads the links of MetaX GPUs from MetaX's extensions {ANNOTATED} or later, and the cluster has"
        )
        message = f"{message} {have}"
        hint = "upgrade them, or remove `node` and `links`: HAMi then chooses nodes by their usage"
        if accelerator.node or accelerator.links:
            yield error("F762", at, message, hint=hint)
        else:
            yield warning("F762", at, f"{message}, so pods may get GPUs with slow links", hint="upgrade them")


SWITCHES = {
    ("volcano", "nvidia"): ("deviceshare.VGPUEnable", "its plugin deviceshare allocates shares of GPUs"),
    ("volcano", "ascend"): ("deviceshare.AscendHAMiVNPUEnable", "its plugin deviceshare allocates NPUs"),
}
"""(Scheduler, vendor) -> the argument that volcano-scheduler.conf must set, and why (Volcano 1.14)."""


# PodSets on fabrics, after ranks and ComputeDomains are known: attachments, rank 0, ports and NVLink variables.

MNNVL = "NCCL_MNNVL_ENABLE"


def check(plan: Plan) -> Iterator[Diagnostic]:
    """W521, W533, W532, W542, W548."""
    firsts = [gang for gang in plan.gangs if gang.copy == 0]
    for gang in firsts:
        everyone = list(all_pods(gang.root))
        if any(pods.spec.fabric for pods in everyone):
            yield from _members(everyone)
            yield from _first(plan, gang, everyone)
    yield from _ports(plan)
    for pods in once(pods for gang in firsts for pods in all_pods(gang.root)):
        # NCCL fails where this variable is 1 and the pod has no ComputeDomain (NCCL 2.30, `env.rst`; 2 is the default)
        declared = declared_values(pods.spec, pods.route, plan.topology, pods.pool).get(MNNVL)
        if declared and declared.value == "1" and not pods.compute_domain:
            message = f'{MNNVL}=1 makes NCCL fail without a ComputeDomain, and podSet "{pods.spec.name}" has none'
            hint = "remove it: NCCL uses NVLink between nodes where it exists; or give the pods a ComputeDomain"
            yield warning("W532", declared.route, message, hint=hint)
        yield from _all_rails(plan, pods)


def _members(everyone: list[Pods]) -> Iterator[Diagnostic]:
    """W521: all podSets of a rendezvous are on a fabric, or none is."""
    ranked = [pods for pods in everyone if pods.ranks]
    for master in dict.fromkeys(pods.ranks and pods.ranks.master for pods in ranked):
        members = once(pods for pods in ranked if pods.ranks and pods.ranks.master == master)
        attached = [(pods, pods.spec.fabric.name) for pods in members if pods.spec.fabric]
        for pods in (each for each in members if attached and not each.spec.fabric):
            other, name = attached[0]
            message = f'podSet "{pods.spec.name}" has no fabric, but others of its rendezvous are on "{name}"'
            notes = (Note(f'podSet "{other.spec.name}" is attached here', (*other.route, "fabric")),)
            hint = f"set `fabric: {name}`, or set `rendezvous: none` on the gang if its pods do not meet"
            yield error("W521", pods.route, message, hint=hint, notes=notes)


def _first(plan: Plan, gang: GangPlan, everyone: list[Pods]) -> Iterator[Diagnostic]:
    """W533: only rank 0 can have the fixed address, and its pod template must be its own."""
    for pods in once(everyone):
        if not pods.spec.fabric or not pods.spec.fabric.address:
            continue
        master = pods.ranks.master if pods.ranks else None
        same_pod_set = [each for each in everyone if each.route == pods.route]
        copies = sum(each.gang.name == gang.gang.name for each in plan.gangs)
        why = ""
        if master is None or master.pods not in {each.name for each in same_pod_set}:
            why = f'rank 0 is not in podSet "{pods.spec.name}"'
        elif len(same_pod_set) > 1 or copies > 1 or pods.replicas > 1:
            why = f'podSet "{pods.spec.name}" has several pods, and only one pod can have the address'
        if why:
            hint = "give rank 0 a podSet of its own, the first of its gang, with `replicas: 1`"
            message = f"the rendezvous cannot use the fabric: {why}"
            yield error("W533", (*pods.route, "fabric", "address"), message, hint=hint)


def _ports(plan: Plan) -> Iterator[Diagnostic]:
    """W548: rank 0 of each rendezvous listens on one port. In the node's network this is a port of the node. A
    scheduler separates pods by the ports that containers name."""
    masters = [pods for gang in plan.gangs for pods in all_pods(gang.root) if _master(pods) and _beside(plan, pods)]
    for pods in once(masters):
        same_pod_set = sum(each.route == pods.route for each in masters)
        port = master_port(pods)
        if same_pod_set > 1 and port not in pods.spec.ports.values():
            message = f'{same_pod_set} pods of podSet "{pods.spec.name}" listen on port {port} of their node'
            message += ", and a node has room for two of them"
            hint = f"set `ports: {{master: {port}}}`, so that the scheduler puts them on different nodes"
            yield warning("W548", pods.route, message, hint=hint)


def _master(pods: Pods) -> bool:
    """Whether rank 0 is among them."""
    return pods.ranks is not None and pods.ranks.master.pods == pods.name


def _beside(plan: Plan, pods: Pods) -> bool:
    """Whether the pods are in their node's network, and a node has room for two of them."""
    pool, accelerator = plan.topology.pool(pods.pool), pods.spec.accelerator
    if pool is None or pods.spec.whole_node or not on_host(pods.spec, fabric_of(pods.spec, plan.topology), pool):
        return False
    return not accelerator or not pool.node.accelerators or 2 * accelerator.per_pod <= pool.node.accelerators


def _all_rails(plan: Plan, pods: Pods) -> Iterator[Diagnostic]:
    """W542: all GPUs of a node, but not all of its network cards."""
    attachment, pool, fabric = pods.spec.fabric, plan.topology.pool(pods.pool), fabric_of(pods.spec, plan.topology)
    if not attachment or not fabric or not pool or not attachment.rails or not pods.spec.accelerator:
        return
    cards = pool.node.accelerators
    left = len(fabric.rails) - len(attachment.rails)
    if left > 0 and cards > 1 and pods.spec.accelerator.per_pod >= cards:
        message = (
            f'podSet "{pods.spec.name}" takes all {cards} GPUs of its nodes, but {left} of their rails are not used'
        )
        hint = "remove `rails`: no other pod can use them"
        yield warning("W542", (*pods.route, "fabric", "rails"), message, hint=hint)
