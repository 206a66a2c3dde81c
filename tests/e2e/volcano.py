"""A case as Volcano's scheduler sees it, and where its own code binds the pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from e2e.nodes import classes, nodes, slices
from e2e.pods import Member, claim_templates, with_claims
from e2e.releases import Release
from e2e.replay_program import ask
from e2e.scene import Scene

Object = dict[str, Any]
SESSIONS = 20
"""Volcano opens a session every second; a gang that needs more than this many is not started."""

WITH_CLAIMS = 300
"""Of pods with claims, which Volcano starts only after many sessions, if several domains have room (F645)."""

CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
  - name: network-topology-aware
"""
"""The default of Volcano's Helm chart, with the plugin for which bayplan asks (F689)."""


def bind(
    made: Scene, chosen: Iterable[Member], documents: Sequence[Mapping[str, Any]], release: Release
) -> dict[str, str]:
    """Pod -> node."""
    members = list(chosen)
    names = {(each.body["metadata"].get("annotations") or {}).get("scheduling.k8s.io/group-name") for each in members}
    templates = claim_templates(documents)
    pairs = [with_claims(each.body, templates) for each in members]
    topology = made.plan.topology
    objects = [
        *nodes(topology),
        *classes(topology),
        *slices(topology),
        *(_stored(each, {"state": "Open"}) for each in documents if each["kind"] == "Queue"),
        *(_stored(each) for each in documents if each["kind"] in ("HyperNode", "PriorityClass")),
        *(
            _stored(each, {"phase": "Pending"})
            for each in documents
            if each["kind"] == "PodGroup" and each["metadata"]["name"] in names
        ),
        *(claim for _, claims in pairs for claim in claims),
        *(pod for pod, _ in pairs),
    ]
    claiming = any(claims for _, claims in pairs)
    case = {"configuration": CONFIGURATION, "sessions": WITH_CLAIMS if claiming else SESSIONS, "objects": objects}
    found: dict[str, str] = ask(release.tool, case)["bindings"]
    return found


def _stored(document: Mapping[str, Any], status: Object | None = None) -> Object:
    """The object as an API server stores it."""
    own = {"uid": document["metadata"]["name"], "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {**document, "metadata": {**own, **document["metadata"]}, **({"status": status} if status else {})}
