"""Adds up what each workload takes of each node of a topology."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from bayplan import accelerators
from bayplan.core.diagnostics import Route
from bayplan.kube import quantity
from bayplan.kube.vendors import names as share_names
from bayplan.model.plan import ONE, OPEN, Occupant, accelerator
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.model.workflow import Accelerator
from bayplan.topologies.occupancy import devices
from bayplan.topologies.occupancy.devices import Claimed
from bayplan.topologies.unit_names import slurm_names

HINT = "pass the unchanged output of `kubectl get pods -A -o json`, `squeue --json` or `scontrol -d show node`"


class Held(NamedTuple):
    """What a workload takes of a node, while bayplan adds it up. `pods` has one number."""

    pods: list[int]
    amounts: dict[str, int]


class Ledger:
    """Adds up what workloads take of the nodes of a topology."""

    def __init__(self, topology: ClusterTopology) -> None:
        self.topology = topology
        self.pools = {node: pool for pool in topology.pools for node in pool.nodes()}
        self.slurm_names = slurm_names(topology)
        self.held: dict[str, dict[str, Held]] = {}  # node -> workload
        self.daemons: dict[str, dict[str, dict[str, int]]] = {}  # node -> workload -> CPU and memory
        self.allocatable: dict[str, Mapping[str, int]] = {}  # node -> CPU and memory, if a file has the node
        self.seen: set[str] = set()  # pods and claims, so that none counts twice
        self.claiming: dict[str, tuple[str, str]] = {}  # namespace/pod with claims -> node, workload
        self.claims: list[Claimed] = []
        self.unplaced: list[Claimed] = []  # claims whose node no file has
        self.totals: dict[str, Mapping[str, int]] = {}  # node -> what all jobs take of it, as scontrol counts
        self.out: dict[str, Route] = {}  # usable nodes of the topology that are drained, down, cordoned or not ready
        self.strangers: dict[str, Route] = {}  # node that the topology lacks -> first place
        self.uncounted: dict[str, int] = {}  # pod, claim or job -> how many are on such nodes
        self.unusable = {node for pool in topology.pools for node in pool.unusable_nodes()}

    def first(self, what: str) -> bool:
        """Whether bayplan reads this pod, claim or job for the first time."""
        if what in self.seen:
            return False
        self.seen.add(what)
        return True

    def pool(self, node: str, place: Route, what: str) -> Pool | None:
        """The pool of a node. None, and one more that does not count, if the topology does not have it."""
        pool = self.pools.get(node)
        if pool is None:
            self.strangers.setdefault(node, place)
            self.uncounted[what] = self.uncounted.get(what, 0) + 1
        return pool

    def take(self, node: str, workload: str, pods: int, amounts: Mapping[str, int]) -> None:
        """Adds what pods of a workload take of a node."""
        of_node = self.held.setdefault(node, {})
        held = of_node.get(workload)
        if held is None:
            held = of_node[workload] = Held([0], {})
        held.pods[0] += pods
        total = held.amounts
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount

    def take_daemon(self, node: str, workload: str, amounts: Mapping[str, int]) -> None:
        """Adds CPU and memory of a pod that runs on every node, which the topology may have subtracted."""
        of_node = self.daemons.setdefault(node, {})
        of_node[workload] = quantity.added((of_node.get(workload, {}), amounts))

    def occupied(self) -> dict[str, tuple[Occupant, ...]]:
        """Node -> what runs there, by name."""
        self._settle_claims()
        self._settle_daemons()
        self._settle_totals()
        return {
            node: tuple(Occupant(name, each.pods[0], _positive(each.amounts)) for name, each in sorted(held.items()))
            for node, held in sorted(self.held.items())
        }

    def _settle_claims(self) -> None:
        """Devices belong to the workloads of the pods that claimed them."""
        for each in self.claims:
            node, workload = next((self.claiming[pod] for pod in each.pods if pod in self.claiming), ("", ""))
            node = each.node or node
            self.unplaced += [] if node else [each]
            pool = self.pool(node, each.place, "claim") if node else None
            if pool:
                known = workload or each.pods[0] if each.pods else each.name
                self.take(
                    node, known, 0 if workload else len(each.pods), devices.amounts(self.topology, pool, each.devices)
                )
        self.claims.clear()

    def _settle_daemons(self) -> None:
        """Of the CPU and memory of daemons, only what exceeds the part of the node that the topology leaves out counts.

        Without the node, nobody knows how large that part is, and bayplan counts none of it.
        """
        for node, workloads in self.daemons.items():
            allocatable, stated = self.allocatable.get(node), self.pools[node].node.resources
            if allocatable is None:
                continue
            kept = {name: max(0, amount - stated.get(name, amount)) for name, amount in allocatable.items()}
            for workload, amounts in sorted(workloads.items()):
                covered = {name: min(amount, kept.get(name, 0)) for name, amount in amounts.items()}
                kept = {name: amount - covered.get(name, 0) for name, amount in kept.items()}
                self.take(node, workload, 0, {name: amount - covered[name] for name, amount in amounts.items()})
        self.daemons.clear()

    def _settle_totals(self) -> None:
        """What jobs that squeue did not list take of a node."""
        for node, total in self.totals.items():
            listed = quantity.added(each.amounts for each in self.held.get(node, {}).values())
            rest = {name: amount - listed.get(name, 0) for name, amount in total.items()}
            if any(amount > 0 for amount in rest.values()):
                self.take(node, "other jobs" if listed else "jobs", 0, _positive(rest))
        self.totals.clear()

    def amounts(self, pool: Pool, requests: Mapping[str, int]) -> dict[str, int]:
        """Requests of a pod -> amounts of a node: cards and shares of cards count as the pool's accelerator."""
        kind = self.topology.accelerators.get(pool.node.accelerator)
        if kind is None:
            return dict(requests)
        cards = kind.count_resource
        parts = accelerators.part_names(kind)
        found = {name: amount for name, amount in requests.items() if name != cards and name not in parts}
        number = requests.get(cards, 0)
        if number and any(name in requests for name in parts):
            number = number * self._share(pool, requests) // ONE
        return {**found, accelerator(kind.name): number} if number else found

    def _share(self, pool: Pool, requests: Mapping[str, int]) -> int:
        """How much of each of its cards a pod takes, in thousandths, by its memory and its cores."""
        from bayplan.accelerators import hami

        kind = self.topology.accelerators[pool.node.accelerator]
        own = share_names(kind)
        memory, percent, cores = (requests.get(name, 0) // ONE for name in (own.memory, own.percentage, own.cores))
        size = f"{percent}%" if percent else str(memory * own.unit) if memory else ""
        return hami.fraction(Accelerator(kind.name, 1, memory=size, cores=str(cores * 100 // own.parts or "")), kind)


def _positive(amounts: Mapping[str, int]) -> dict[str, int]:
    return {name: amount for name, amount in sorted(amounts.items()) if amount > 0}


def open_amounts(requests: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """CPU, memory and ephemeral storage, and the rest."""
    own = {name: amount for name, amount in requests.items() if name in OPEN}
    return own, {name: amount for name, amount in requests.items() if name not in OPEN}
