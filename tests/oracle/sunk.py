"""The way back from annotated pods to intent: each podSet instance is pods that start one by one."""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.core.diagnostics import Outcome
from bayplan.kube.kinds import GANG_LABEL
from bayplan.model.manifest import Manifest
from bayplan.model.plan import Plan, all_pods
from bayplan.model.target import Target
from bayplan.plugins.slurm.sunk import LOCK_TAINT, PREFIX, partition
from oracle.intent import GangIntent, UnitIntent, pods_intent
from oracle.manifests import PodsRead, annotation_of, channels, found_pods, label_of, merged, pods_read, priority_class

ALONE = 1


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """The declared gaps: gangs, levels and preemptibility. Pods of one gang are told apart by podSet instance."""
    return tuple(
        GangIntent(
            name=f"{gang.name}-{pods.name}",
            namespace=plan.namespace,
            queue=partition(plan, gang, "sunk"),
            priority_class=plan.workflow.priority_class,
            preemptible=None,
            topology="",
            root=UnitIntent("", pods=(pods_intent(pods)._replace(minimum=ALONE),)),
            compute_domains=(pods.compute_domain,) if pods.compute_domain else (),
        )
        for gang in plan.gangs
        for pods in all_pods(gang.root)
    )


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """Pods that tolerate SUNK's lock, by gang and podSet instance, in the order of these names."""
    domains = channels(documents)
    found: dict[tuple[str, str], list[PodsRead]] = {}
    for pods in found_pods(documents):
        if LOCK_TAINT in (pods.template["spec"].get("tolerations") or ()):
            name = "-".join(filter(None, (label_of(pods, GANG_LABEL), pods.name)))
            found.setdefault((name, pods.owner.get("namespace", "")), []).append(pods)
    gangs = []
    for (name, namespace), parts in sorted(found.items()):
        (whole,) = merged(parts)
        read = pods_read(whole, ALONE, domains)
        gangs.append(
            GangIntent(
                name=name,
                namespace=namespace,
                queue=annotation_of(whole, f"{PREFIX}partition"),
                priority_class=priority_class(parts),
                preemptible=None,
                topology="",
                root=UnitIntent("", pods=(read,)),
                compute_domains=(read.compute_domain,) if read.compute_domain else (),
            )
        )
    return Outcome(tuple(gangs))
