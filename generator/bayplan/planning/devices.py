"""What a scheduler makes of the cards that a plan asks for: `accelerators/matrix.py`, and gates of versions."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.accelerators import allocator
from bayplan.diagnostics import Diagnostic, Route, error, info, warning
from bayplan.model.plan import Plan, Pods, all_pods, once
from bayplan.model.target import Target
from bayplan.model.topology import AcceleratorKind
from bayplan.model.workflow import Accelerator


def gaps(plan: Plan, scheduler: str, title: str, target: Target) -> Iterator[Diagnostic]:
    """F760 to F766, for each podSet once. Whole cards of a device plugin are anybody's."""
    told: set[tuple[str, str]] = set()
    for pods in once(pods for gang in plan.gangs for pods in all_pods(gang.root)):
        asked = pods.spec.accelerator
        kind = plan.topology.accelerators.get(asked.name) if asked else None
        if asked and kind and (allocator(asked, kind) == "hami" or not asked.whole):
            lost = tuple(_gap(pods, asked, kind, scheduler, title))
            yield from lost
            yield from _gates(pods, asked, kind, target)
            switch = SWITCHES.get((scheduler, kind.vendor))
            refused = any(each.severity == "error" for each in lost)
            if switch and allocator(asked, kind) == "hami" and switch not in told and not refused:
                told.add(switch)
                yield _notice(switch, (*pods.route, "accelerator"))


def parts(asked: Accelerator, kind: AcceleratorKind) -> frozenset[str]:
    """What there is about an ask besides whole cards, in the words of the table."""
    from bayplan.accelerators.policies import node
    from bayplan.kube.vendors import VOLCANO, names

    own = names(kind).cards.startswith(VOLCANO)
    share = bool(asked.memory or asked.cores)
    found = {
        "share": share,
        "split": names(kind).shared and not share and kind.max_pods != 1,
        "node": bool(node(asked, kind)),
        "profile": bool(asked.profile),
        "policy": bool(asked.node or asked.cards or asked.links or asked.app_class or asked.qos),
        "names": own,
        "foreign": not own,
    }
    return frozenset(word for word, there in found.items() if there)


def _gap(pods: Pods, asked: Accelerator, kind: AcceleratorKind, scheduler: str, title: str) -> Iterator[Diagnostic]:
    from bayplan.accelerators import matrix

    way = allocator(asked, kind)
    about = parts(asked, kind)
    row = matrix.verdict(scheduler, kind.vendor, way, about)
    at: Route = (*pods.route, "accelerator") if pods.spec.accelerator else (*pods.route, "wholeNode")
    what = f'podSet "{pods.spec.name}": cards of {kind.vendor} through {way}'
    if row is None:
        message = f"{what}: bayplan does not know whether {title} can hand them out"
        yield error("F760", at, message, hint="use `allocator: device-plugin`")
    elif row.verdict == "no":
        yield error("F761" if row.part else "F760", at, f"{what}: not by {title}: {row.reason}", hint=row.hint)
    elif row.verdict == "partly":
        for each in matrix.catches(scheduler, kind.vendor, way, about):
            yield warning("F762", at, f"{what}: by {title} only in part: {each.reason}", hint=each.hint)


ANNOTATED = "0.8"
"""MetaX's extensions write the annotations that HAMi chooses nodes by (HAMi 2.10, docs of examples/metax)."""


def _gates(pods: Pods, asked: Accelerator, kind: AcceleratorKind, target: Target) -> Iterator[Diagnostic]:
    """What a release of HAMi, of MetaX's extensions or of NVIDIA's device plugin does not know yet."""
    if "+" in asked.profile and allocator(asked, kind) == "device-plugin":
        yield from _attributes(pods, asked, target)
    if allocator(asked, kind) != "hami":
        return
    from bayplan.accelerators.policies import by_node
    from bayplan.kube.vendors import names

    at, own = (*pods.route, "accelerator"), names(kind)
    if (asked.memory or asked.cores) and own.since and not target.since("hami", own.since):
        yield _older(at, f"parts of cards counted as {own.cards}", "hami", own.since, target)
    if asked.cards in ("mutex", "numa") and not target.since("hami", "2.10"):
        yield _older((*at, "cards"), f"the policy {asked.cards}", "hami", "2.10", target)
    if kind.vendor == "ascend" and own.cards.endswith("910C") and not target.since("hami", "2.9"):
        yield _older(at, "Ascend 910C", "hami", "2.9", target)
    if kind.vendor == "ascend" and asked.cores and not target.since("hami", "2.10"):
        yield _older((*at, "cores"), "cores of Ascend", "hami", "2.10", target)
    if by_node(kind) and not target.since("metax", ANNOTATED):
        have = target.version("metax")
        message = f"MetaX's extensions tell how cards hang together since {ANNOTATED}, and the cluster has {have}"
        hint = "upgrade them, or leave `node` and `links` out: nodes are then chosen by what is used of them"
        if asked.node or asked.links:
            yield error("F764", at, message, hint=hint)
        else:
            yield warning("F764", at, message, hint="upgrade them: pods may get cards with slow links between them")


def _attributes(pods: Pods, asked: Accelerator, target: Target) -> Iterator[Diagnostic]:
    """A plus cannot stand in the name of a resource (k8s-device-plugin 0.13, internal/rm)."""
    if not target.since("nvidiaDevicePlugin", "0.13"):
        have = target.version("nvidiaDevicePlugin")
        message = f"NVIDIA's device plugin offers {asked.profile} since 0.13, and the cluster has {have}"
        yield error(
            "F766", (*pods.route, "accelerator", "profile"), message, hint="upgrade it, or take another profile"
        )


def _older(at: Route, what: str, component: str, since: str, target: Target) -> Diagnostic:
    message = f"HAMi knows {what} since {since}, and the cluster has {target.version(component)}"
    return error(
        "F763", at, message, hint=f'upgrade HAMi, or state its version in the topology: `versions: {{hami: "{since}"}}`'
    )


SWITCHES = {
    ("volcano", "nvidia"): ("deviceshare.VGPUEnable", "shares of GPUs are handed out by its plugin deviceshare"),
    ("volcano", "ascend"): ("deviceshare.AscendHAMiVNPUEnable", "NPUs are handed out by its plugin deviceshare"),
}
"""What volcano-scheduler.conf must say (Volcano 1.14)."""


def _notice(switch: tuple[str, str], at: Route) -> Diagnostic:
    name, why = switch
    hint = f"give the plugin the argument `{name}: true` in volcano-scheduler.conf"
    return info("F765", at, f"Volcano does it only where its configuration says so: {why}", hint=hint)
