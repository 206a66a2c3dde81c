"""Domains by the names of Slurm's blocks and switches: those are what its controller saves (Slurm 25.05 to 25.11)."""

from __future__ import annotations

from bayplan.model.topology import ClusterTopology, Domain, Pool
from bayplan.topologies.slurm.layout import known_units


def known(topology: ClusterTopology) -> bool:
    """Whether it says how Slurm sees the cluster: then its domains are Slurm's units."""
    return "slurm" in topology.schedulers


def named(topology: ClusterTopology) -> ClusterTopology:
    """With the names of units in the place of other values."""
    return topology._replace(pools=tuple(_named(topology, pool) for pool in topology.pools))


def _named(topology: ClusterTopology, pool: Pool) -> Pool:
    units = known_units(topology, pool)

    def unit(domain: Domain) -> Domain:
        paths = ("/".join(domain.path[: depth + 1]) for depth in range(len(domain.path)))
        return domain._replace(
            path=tuple(units.get(path, value) for path, value in zip(paths, domain.path, strict=True))
        )

    return pool._replace(domains=tuple(map(unit, pool.domains))) if units else pool
