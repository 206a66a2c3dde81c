"""The other names of Slurm's nodes: their hosts and addresses, and what Kubernetes calls them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bayplan.diagnostics import AT, Diagnostic, Route, error, warning
from bayplan.model.topology import ClusterTopology
from bayplan.topologies.grouping import Known
from bayplan.topologies.slurm_names import rules
from bayplan.topologies.slurm_text import Line
from bayplan.topologies.slurm_units import names_in
from bayplan.values import NamedTuple


class Listed(NamedTuple):
    """A node, and what else it is called."""

    known: Known
    aliases: tuple[str, ...] = ()
    absent: bool = False  # Slurm is told of it, and it does not exist yet
    features: str = ""


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


def with_names(
    topology: ClusterTopology, called: Mapping[str, str], at: Route, found: list[Diagnostic]
) -> ClusterTopology:
    """The topology with rules for the names that Slurm has for its nodes."""
    back = {node: name for name, node in called.items()}
    held = [node for pool in topology.pools for domain in pool.domains for node in domain.nodes]
    made = rules({node: back.get(node, node) for node in held}) if called else []
    if made is None:
        message = f"the names of {len(called)} nodes in Slurm follow no rule from those in Kubernetes"
        hint = "write `schedulers.slurm.names` by hand before anything is written for Slurm"
        found.append(warning("T554", (*at, AT, 1, 1), message, hint=hint))
    return topology._replace(schedulers={"slurm": {"names": made}}) if made else topology
