"""The objects that go with a gang whatever schedules it: ComputeDomains, GPU claim templates, ConfigMaps, clean-up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bayplan import fabrics
from bayplan.accelerators import CLAIMS, allocator
from bayplan.kube.fields import given
from bayplan.kube.kinds.parts import gang_labels
from bayplan.kube.names import COMPUTE_DOMAIN_API, claim_template_name, config_map_name, network_claim_name
from bayplan.kube.pod import file_key
from bayplan.model.manifest import Manifest, Shape
from bayplan.model.plan import ComputeDomain, GangPlan, Plan, Pods, all_pods
from bayplan.model.target import Target
from bayplan.model.workflow import Binary

OUTSIDE = ("sbatch",)
"""Workload kinds that run outside Kubernetes."""


def compute_domain(domain: ComputeDomain, target: Target) -> Manifest:
    """The driver makes the channel template of the same name itself: it holds the ComputeDomain's UID.

    Up to driver 25.3 numNodes is the exact count, and pods wait until so many nodes have joined; from 25.8 on it is 0,
    and each pod waits for its own node alone. allocationMode came with 25.8.
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
    """One for each podSet whose GPUs or network cards are claimed rather than counted; one for both, where both are."""
    for pods in _each_template(gang):
        gpus = _gpu_claim(plan, gang, pods, target)
        asked = fabrics.wanted(pods.spec, plan.topology, plan.namespace, pods.pool, network_claim_name(gang, pods))
        together = asked is not None and asked.together
        cards = fabrics.claim_template(asked, gpus if together else None, target) if asked else None
        yield from filter(None, (cards,) if together else (gpus, cards))


def _gpu_claim(plan: Plan, gang: GangPlan, pods: Pods, target: Target) -> Manifest | None:
    asked = pods.spec.accelerator
    kind = plan.topology.accelerators[asked.name] if asked else None
    make = CLAIMS.get(allocator(asked, kind)) if asked and kind else None
    return make(asked, kind, claim_template_name(gang, pods), target) if asked and kind and make else None


def config_maps(gang: GangPlan) -> Iterator[Manifest]:
    """One for each podSet with files."""
    for pods in _each_template(gang):
        if pods.spec.files:
            held = {file_key(path): content for path, content in pods.spec.files.items()}
            yield {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": config_map_name(gang, pods)},
                **given(
                    data={key: content for key, content in held.items() if isinstance(content, str)},
                    binaryData={key: each.base64 for key, each in held.items() if isinstance(each, Binary)},
                ),
            }


def _each_template(gang: GangPlan) -> list[Pods]:
    """One podSet instance for each podSet of the file."""
    return list({pods.template: pods for pods in all_pods(gang.root)}.values())


def companions(plan: Plan, shape: Shape, target: Target) -> Iterator[Manifest]:
    """All of them, with the labels of their gang. Gangs whose workload is no Kubernetes object have none."""
    outside = {gang.name for each in shape.workloads if each.kind in OUTSIDE for gang in each.gangs}
    for gang in (each for each in plan.gangs if each.name not in outside):
        for domain in gang.compute_domains:
            yield labelled(compute_domain(domain, target), gang_labels(plan, gang))
        for document in (*claim_templates(plan, gang, target), *config_maps(gang)):
            yield labelled(document, gang_labels(plan, gang))


def labelled(document: Manifest, labels: Mapping[str, str]) -> Manifest:
    """The object with labels besides its own."""
    metadata = document["metadata"]
    return {**document, "metadata": {**metadata, "labels": {**labels, **metadata.get("labels", {})}}}
