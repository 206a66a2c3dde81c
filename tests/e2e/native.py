"""A case as kube-scheduler sees it, and where its own code binds the pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from e2e.nodes import classes, nodes, slices
from e2e.pods import Member, claim_templates, with_claims
from e2e.releases import Release
from e2e.replay_program import ask
from e2e.scene import Scene

GROUPS = frozenset({"Workload", "PodGroup", "CompositePodGroup"})


def bind(made: Scene, chosen: Iterable[Member], documents: Sequence[Mapping[str, Any]], release: Release) -> dict[str, str]:
    """Pod -> node."""
    templates = claim_templates(documents)
    pairs = [with_claims(each.body, templates) for each in chosen]
    topology = made.plan.topology
    objects = [
        *nodes(topology),
        *classes(topology),
        *slices(topology),
        *(_stored(each) for each in documents if each["kind"] in GROUPS),
        *(claim for _, claims in pairs for claim in claims),
        *(_defaulted(pod) for pod, _ in pairs),
    ]
    found: dict[str, str] = ask(release.tool, {"objects": objects})["bindings"]
    return found


def _stored(document: Mapping[str, Any]) -> dict[str, Any]:
    own = {"uid": document["metadata"]["name"], "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {**document, "metadata": {**own, **document["metadata"]}}


def _defaulted(pod: Mapping[str, Any]) -> dict[str, Any]:
    """The pod with the scheduler's name, which the API server adds."""
    return {**pod, "spec": {"schedulerName": "default-scheduler", **pod["spec"]}}
