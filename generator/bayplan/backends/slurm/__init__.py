"""Slurm 24.11 to 25.11: one sbatch script for a gang, one submit script for several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from bayplan.backends.slurm.confines import prove
from bayplan.backends.slurm.needs import cluster_needs as topology_needs
from bayplan.backends.slurm.needs import needs
from bayplan.backends.slurm.notices import notices
from bayplan.backends.slurm.submit import lower
from bayplan.backends.slurm.support import FEATURES, SUPPORT
from bayplan.core.diagnostics import Diagnostic, Outcome
from bayplan.model.backend import Folding
from bayplan.model.features import Need, Support
from bayplan.model.manifest import File, Lowered, Manifest, Object, Shape
from bayplan.model.plan import Plan
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.topologies.slurm import topology_conf as slurm_conf
from bayplan.topologies.slurm import topology_yaml as slurm_yaml

if TYPE_CHECKING:
    from bayplan.model.intent import GangIntent


NAME = "slurm"
COMPONENT = "slurm"
KINDS = ("sbatch",)
FOLDS: Mapping[str, Folding] = {}

QUEUE_LABEL = ""
__all__ = [
    "COMPONENT",
    "FEATURES",
    "FOLDS",
    "KINDS",
    "NAME",
    "QUEUE_LABEL",
    "SUPPORT",
    "cluster_needs",
    "cluster_objects",
    "intent",
    "lint",
    "lower",
    "needs",
    "notices",
    "place",
    "placing",
    "prove",
    "read",
]


def cluster_needs(topology: ClusterTopology) -> tuple[Need, ...]:
    """What its files cannot hold."""
    return tuple(topology_needs(topology))


def cluster_objects(topology: ClusterTopology, target: Target) -> tuple[File, ...]:
    """The file that Slurm reads: topology.yaml since 25.05, before it topology.conf."""
    write = slurm_yaml.write if target.since("slurm", "25.05") else slurm_conf.write
    return write(topology, target)


def placing() -> tuple[Support, ...]:
    """What it carries of workloads that are there. Loaded when asked for: rendering makes its own."""
    from bayplan.backends.slurm.given import GIVEN

    return GIVEN


def place(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """Marks and objects for a workload that is there."""
    from bayplan.backends.slurm import given as way

    return way.place(plan, shape, target)


def intent(plan: Plan, target: Target) -> tuple[GangIntent, ...]:
    """What scripts of the plan must say. Loaded when asked for: rendering never reads back."""
    from bayplan.backends.slurm import read_back

    return read_back.intent(plan, target)


def read(documents: Sequence[Manifest]) -> Outcome[tuple[GangIntent, ...]]:
    """The intent that scripts carry, each a mapping with its `text`."""
    from bayplan.backends.slurm import read_back

    return read_back.read(documents)


def lint(objects: Sequence[Object], topology: ClusterTopology, target: Target) -> Iterable[Diagnostic]:
    """Scripts are no Kubernetes objects, so none of these is Slurm's."""
    return ()
