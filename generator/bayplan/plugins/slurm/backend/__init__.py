"""Slurm 24.11 to 25.11: one sbatch script for a gang, one submit script for several.

The rows declare what Slurm supports, by feature, amount and version. Messages and docs/schedulers.md print the reasons.
"""

from __future__ import annotations

from bayplan.plugin import Backend, Cluster, ClusterTopology, Declaration, File, Target
from bayplan.plugin import support_table as table
from bayplan.plugins.slurm.backend.needs import cluster_needs, kind_needs, needs, notices, prove
from bayplan.plugins.slurm.backend.script import lower
from bayplan.plugins.slurm.topology import topology_conf, topology_yaml

TABLE = table("plugins", "slurm", "backend")


def cluster_objects(topology: ClusterTopology, target: Target) -> tuple[File, ...]:
    """The file that Slurm reads: topology.yaml since 25.05, topology.conf before."""
    write = topology_yaml.write if target.since("slurm", "25.05") else topology_conf.write
    return write(topology, target)


BACKEND = Backend(
    Declaration(
        "slurm",
        component="slurm",
        support=TABLE.support,
        features=TABLE.features,
        kinds=("sbatch",),
        kind_needs=kind_needs,
    ),
    lower,
    needs=needs,
    prove=prove,
    notices=notices,
    cluster=Cluster(cluster_objects, cluster_needs),
)
