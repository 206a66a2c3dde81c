"""The other names of Slurm's nodes: their hosts and addresses, and what Kubernetes calls them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bayplan.core.diagnostics import AT, Diagnostic, Route, error, warning
from bayplan.core.values import NamedTuple
from bayplan.model.formats import Part
from bayplan.model.topology import HOSTNAME_LABEL
from bayplan.topologies.grouping import Known
from bayplan.topologies.slurm.names import rules
from bayplan.topologies.slurm.text import Line
from bayplan.topologies.slurm.units import names_in

SLURM_NAME = "slinky.slurm.net/slurm-nodename"
"""The label by which Slinky says what Slurm calls a node (slurm-bridge 1.3)."""

LABELS = frozenset((HOSTNAME_LABEL, SLURM_NAME))
"""What Slurm's formats ask of nodes; every node has the first, so that all are told."""


class Listed(NamedTuple):
    """A node, and what else it is called."""

    known: Known
    aliases: tuple[str, ...] = ()
    absent: bool = False  # Slurm is told of it, and it does not exist yet
    features: str = ""
    unknown: tuple[str, ...] = ()  # words of its state


def paired(key: str, names: Sequence[str], line: Line, found: list[Diagnostic]) -> tuple[str, ...]:
    """The other names of the nodes of a line, one for each; none where all have the same."""
    others = names_in(line.pairs[key], line.route, found)
    if len(others) not in (1, len(names)) and names and others:
        message = (
            f"the line names {len(names)} nodes, and {len(others)} by {'NodeHostname' if 'host' in key else 'NodeAddr'}"
        )
        found.append(error("T554", line.route, message, hint="list one for each node, in the same order"))
    return others if len(others) == len(names) else ()


def aliases(listed: Sequence[Listed], found: list[Diagnostic]) -> Iterator[tuple[str, str]]:
    """Other name -> node, of those that mean one node."""
    names = {each.known.name for each in listed}
    owner: dict[str, str] = {}
    shared: dict[str, Known] = {}
    for each in listed:
        for alias in each.aliases:
            if owner.setdefault(alias, each.known.name) != each.known.name or alias in names:
                shared[alias] = each.known
    for alias, known in list(shared.items())[:1]:
        message = f'{len(shared)} host names mean several nodes and join no other source, such as "{alias}"'
        found.append(warning("T554", known.route, message, hint="give each node a NodeHostname of its own"))
    yield from ((alias, name) for alias, name in owner.items() if alias not in shared)


def in_kubernetes(aliases: Mapping[str, str], nodes: Iterable[str]) -> dict[str, str]:
    """Slurm's name -> that of Kubernetes, for nodes that Slurm knows by their hosts; domains may be left out."""
    own = set(aliases.values())
    short: dict[str, list[str]] = {}
    for node in nodes:
        short.setdefault(node.partition(".")[0], []).append(node)
    whole = {node: node for node in nodes} | {name: held[0] for name, held in short.items() if len(held) == 1}
    found = ((name, whole.get(alias) or whole.get(alias.partition(".")[0])) for alias, name in aliases.items())
    return {name: node for name, node in found if node and node != name and name not in whole and node not in own}


def renamed(
    part: Part, nodes: Mapping[str, Mapping[str, str]], own: Mapping[str, str], at: Route, found: list[Diagnostic]
) -> Part:
    """The part with the names of Kubernetes, and rules for those of Slurm. `own`: what the source says of them."""
    held = [node for pool in part.topology.pools for node in pool.nodes()]
    pairs = _in_slurm(held, nodes) or {node: name for name, node in own.items()}
    called = {name: node for node, name in pairs.items()}
    if all(called.get(node, node) == node for node in held):
        return part
    places = {called.get(node, node): place for node, place in part.places.items()}
    others = {alias: called.get(name, name) for alias, name in (*part.aliases.items(), *((n, n) for n in called))}
    pools = tuple(pool.renamed(called) for pool in part.topology.pools)
    made = rules({**{node: node for node in (*nodes, *held) if node not in called}, **pairs})
    if made is None:
        message = f"the names of {len(pairs)} nodes in Slurm follow no rule from those in Kubernetes"
        hint = "write `schedulers.slurm.names` by hand before anything is written for Slurm"
        found.append(warning("T554", (*at, AT, 1, 1), message, hint=hint))
    slurm = {**part.topology.schedulers.get("slurm", {}), **({"names": made} if made else {})}
    schedulers = {**part.topology.schedulers, **({"slurm": slurm} if slurm else {})}
    topology = part.topology._replace(pools=pools, schedulers=schedulers)
    return part._replace(topology=topology, places=places, aliases=others)


def _in_slurm(names: Iterable[str], nodes: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Kubernetes' name -> Slurm's, of all nodes alike whatever the source: by Slinky's label, or without domains."""
    labelled = {node: own[SLURM_NAME] for node, own in nodes.items() if own.get(SLURM_NAME)}
    times = Counter(node.partition(".")[0] for node in nodes)
    short = {node: name for node in nodes if times[name := node.partition(".")[0]] == 1 and name != node}
    made = labelled or short
    return made if not {*made.values()}.isdisjoint(names) else {}
