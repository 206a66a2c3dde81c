"""Rules for Workloads, PodGroups, CompositePodGroups and the pods that name them, as others have written them.

kube-apiserver refuses some of these mistakes; most end in pods that wait for ever, because the scheduler only waits for
what is missing (KEP-4671, KEP-6012; gangscheduling.go and topology_placement.go, 1.35.0 to 1.37.0).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bayplan.backends.native import lint_groups, lint_pods, lint_templates, lint_versions
from bayplan.backends.native.scene import Scene, scene
from bayplan.core.diagnostics import Diagnostic
from bayplan.model.manifest import Object
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology

RULES: tuple[Callable[[Scene], Iterator[Diagnostic]], ...] = (
    lint_versions.rules,
    lint_templates.rules,
    lint_groups.rules,
    lint_pods.rules,
)


def lint(objects: Sequence[Object], topology: ClusterTopology, target: Target) -> Iterator[Diagnostic]:
    """Every finding in the objects that kube-scheduler reads."""
    seen = scene(objects, topology, target)
    if seen.groups or any(each.named for each in seen.pods):
        for rule in RULES:
            yield from rule(seen)
