"""Slurm's nodes: the `NodeName=` lines of a slurm.conf, and what `scontrol show nodes` prints (Slurm 24.11 to 25.11).

A line names many nodes and what each has; `NodeName=DEFAULT` says it for the lines below (`man slurm.conf`). Nodes with
`Topology=` name their own place (25.05), for the others a topology.conf or topology.yaml does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from bayplan.diagnostics import AT, Diagnostic, Note, Outcome, Route, error, has_errors, info, warning
from bayplan.kube.safe import get, items, text
from bayplan.model.formats import Asked, Part, SourceFile
from bayplan.model.topology import HOSTNAME_LABEL, ClusterTopology, Level
from bayplan.topologies import grouping
from bayplan.topologies.grouping import Known
from bayplan.topologies.slurm_gres import cards
from bayplan.topologies.slurm_names import rules
from bayplan.topologies.slurm_text import Line, lines
from bayplan.topologies.slurm_units import MOST_NODES, names_in
from bayplan.values import NamedTuple
from bayplan.words import listing

NAME = "slurm-nodes"
STATES = ("cordoned", "notReady", "unhealthy")
"""A node that none of these is said of is well."""

_OURS = re.compile(r"^[ \t]*NodeName[ \t]*=", re.IGNORECASE | re.MULTILINE)
_OTHERS = re.compile(r"^\s*(SwitchName|BlockName|BlockSizes|AggregatedBlock|RingName)\s*=", re.IGNORECASE)
_FILE = re.compile(
    r"^[ \t]*(ClusterName|SlurmctldHost|ControlMachine|PartitionName|Include)\b", re.IGNORECASE | re.MULTILINE
)
_SHOWN = re.compile(r"\bCPUTot=[0-9]")
_WORD = re.compile(r"(?<!\S)(\w+)=(\S*)")
MIB = 2**20 * 1000
REASONS: Mapping[str, str] = {
    "FAIL": "unhealthy",
    "FAILING": "unhealthy",
    "ERROR": "unhealthy",
    "INVALID_REG": "unhealthy",
    "DOWN": "notReady",
    "NOT_RESPONDING": "notReady",
    "DRAIN": "cordoned",
    "DRAINED": "cordoned",
    "DRAINING": "cordoned",
    "MAINT": "reserved",
    "RESERVED": "reserved",
}
"""State of a node -> why it cannot be used, the gravest first. All others can be, those that are switched off too."""

ABSENT = "FUTURE"


def sniff(source: SourceFile) -> bool:
    """Whether its lines are those of a slurm.conf, or of `scontrol show nodes`."""
    if source.head.lstrip().startswith("{"):
        return '"real_memory"' in source.head and any(True for _ in _entries(source))
    said = (line for line in source.head.split("\n") if line.strip() and not line.lstrip().startswith("#"))
    first = next(said, "")
    if _OTHERS.match(first) or first.lstrip().startswith(("{", "[", "-")) or "apiVersion" in source.head:
        return False
    return bool(_OURS.search(source.head) or (_FILE.match(first) and "=" in first))


def new(source: SourceFile, asked: Asked) -> Outcome[Part]:
    """The nodes in pools: places are those of their lines, aliases their host names and addresses."""
    found: list[Diagnostic] = []
    at = source.at()
    listed = list(_listed(source, found))
    found += _judged(listed, at)
    if has_errors(found):
        return Outcome(None, tuple(found))
    aliases = dict(_aliases(listed, found))
    called = _in_kubernetes(aliases, asked.nodes)
    nodes = [_as(called, each.known) for each in listed if not each.absent]
    part = grouping.part(_cluster(source.head) or "slurm", nodes, source, asked)
    part = part._replace(topology=_with_names(part.topology, called, at, found))
    others = {alias: called.get(name, name) for alias, name in (*aliases.items(), *zip(called, called, strict=True))}
    return Outcome(part._replace(aliases=others), tuple(found))


def label_keys(source: SourceFile) -> frozenset[str]:
    """One that every node has: the names of all nodes are to be known, where another source tells them."""
    return frozenset((HOSTNAME_LABEL,))


def _in_kubernetes(aliases: Mapping[str, str], nodes: Iterable[str]) -> dict[str, str]:
    """Slurm's name -> that of Kubernetes, for nodes that Slurm knows by their hosts; domains may be left out."""
    own = set(aliases.values())
    short: dict[str, list[str]] = {}
    for node in nodes:
        short.setdefault(node.partition(".")[0], []).append(node)
    whole = {node: node for node in nodes} | {name: held[0] for name, held in short.items() if len(held) == 1}
    found = ((name, whole.get(alias) or whole.get(alias.partition(".")[0])) for alias, name in aliases.items())
    return {name: node for name, node in found if node and node != name and name not in whole and node not in own}


def _as(called: Mapping[str, str], known: Known) -> Known:
    return known._replace(name=called[known.name]) if known.name in called else known


def _with_names(
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


def _listed(source: SourceFile, found: list[Diagnostic]) -> Iterator[Listed]:
    """The nodes, in whichever way they are told."""
    if any(True for _ in _entries(source)):
        return (each for line in _entries(source) for each in _of_line(line, found))
    make = _shown if _SHOWN.search(source.head) else _configured
    return make(source.text, source.at(), found)


def _entries(source: SourceFile) -> Iterator[Line]:
    """The nodes of `scontrol show nodes --json`, as lines with the words of a slurm.conf."""
    data = source.documents[0].data if source.documents else None
    for number, each in enumerate(items(data, "nodes")):
        if text(each, "name") and "real_memory" in each:
            pairs = {key: _said(get(each, word)) for key, word in JSON_WORDS.items()}
            yield Line("nodename", pairs, (*source.at(), "nodes", number))


JSON_WORDS: Mapping[str, str] = {
    "nodename": "name",
    "nodehostname": "hostname",
    "nodeaddr": "address",
    "cpuefctv": "effective_cpus",
    "cpus": "cpus",
    "realmemory": "real_memory",
    "memspeclimit": "specialized_memory",
    "gres": "gres",
    "state": "state",
    "features": "features",
}
"""Word of a slurm.conf -> that of the JSON (Slurm 23.11 to 25.11, data_parser)."""


def _said(value: Any) -> str:
    """A value as a slurm.conf would say it."""
    if isinstance(value, list):
        return "+".join(each for each in value if isinstance(each, str))
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


class Listed(NamedTuple):
    """A node, and what else it is called."""

    known: Known
    aliases: tuple[str, ...] = ()
    absent: bool = False  # Slurm is told of it, and it does not exist yet
    features: str = ""


def _cluster(said: str) -> str:
    found = re.search(r"^[ \t]*ClusterName[ \t]*=[ \t]*(\S+)", said, re.IGNORECASE | re.MULTILINE)
    return found[1] if found else ""


def _configured(said: str, at: Route, found: list[Diagnostic]) -> Iterator[Listed]:
    """The nodes of a slurm.conf. `DownNodes=` lines may stand before or after them."""
    defaults: dict[str, str] = {}
    made: list[Listed] = []
    down: dict[str, str] = {}
    for line in lines(said, at):
        if line.rest[:8].lower().startswith("include ") and not line.kind:
            found.append(_included(line))
        elif line.kind == "downnodes":
            state = line.pairs.get("state", "DOWN")
            down.update(dict.fromkeys(names_in(line.pairs["downnodes"], line.route, found), _reason(state)))
        elif line.kind == "nodename" and line.pairs["nodename"].upper() == "DEFAULT":
            defaults |= line.pairs
        elif line.kind == "nodename":
            made += _of_line(line._replace(pairs={**defaults, **line.pairs}), found)
    for each in made:
        reason = each.known.reason or down.get(each.known.name, "")
        yield each._replace(known=each.known._replace(reason=reason)) if reason else each


def _included(line: Line) -> Diagnostic:
    message = f'nodes may stand in the included file "{line.rest[8:].strip()[:80]}", which is not read'
    return error("T550", line.route, message, hint="put its lines in the place of this one")


def _shown(said: str, at: Route, found: list[Diagnostic]) -> Iterator[Listed]:
    """The nodes that scontrol prints: a record starts at its `NodeName=`, and has blanks in some values."""
    starts = [match.start() for match in _OURS.finditer(said)]
    number, seen = 1, 0
    for start, end in zip(starts, [*starts[1:], len(said)], strict=True):
        number, seen = number + said.count("\n", seen, start), start
        pairs = {key.lower(): value for key, value in _WORD.findall(said[start:end])}
        line = Line("nodename", pairs, (*at, AT, number, 1))
        if "state" not in pairs or "cputot" not in pairs:
            message = f'what is said of node "{pairs.get("nodename", "")[:80]}" is cut off'
            found.append(error("T477", line.route, message, hint="take all of what `scontrol show nodes` prints"))
        yield from _of_line(line, found)


def _of_line(line: Line, found: list[Diagnostic]) -> Iterator[Listed]:
    """One for each node that a line names."""
    pairs = line.pairs
    names = names_in(pairs["nodename"], line.route, found)
    others = [_paired(key, names, line, found) for key in ("nodehostname", "nodeaddr") if pairs.get(key)]
    product, count = cards(pairs.get("gres", ""), line.route, found)
    levels, path = _place(pairs.get("topology", ""))
    state = pairs.get("state", "").upper()
    shape = Known("", line.route, product, count, _amounts(pairs), levels, path, _reason(state))
    features = pairs.get("availablefeatures", pairs.get("features", pairs.get("feature", "")))
    for number, name in enumerate(names):
        called = tuple(each[number] for each in others if each and each[number] != name)
        yield Listed(shape._replace(name=name), called, ABSENT in _states(state), features)


def _paired(key: str, names: Sequence[str], line: Line, found: list[Diagnostic]) -> tuple[str, ...]:
    """The other names of the nodes of a line, one for each; none where all have the same."""
    others = names_in(line.pairs[key], line.route, found)
    if len(others) not in (1, len(names)) and names and others:
        message = (
            f"the line names {len(names)} nodes, and {len(others)} by {'NodeHostname' if 'host' in key else 'NodeAddr'}"
        )
        found.append(error("T554", line.route, message, hint="list one for each node, in the same order"))
    return others if len(others) == len(names) else ()


def _amounts(pairs: Mapping[str, str]) -> dict[str, int]:
    """CPUs and memory that jobs can have."""
    cpus = _number(pairs, "cpuefctv") or _number(pairs, "cpus") or _number(pairs, "cputot") or _cores(pairs)
    memory = _number(pairs, "realmemory") - _number(pairs, "memspeclimit")
    return {**({"cpu": cpus * 1000} if cpus else {}), **({"memory": memory * MIB} if memory > 0 else {})}


def _cores(pairs: Mapping[str, str]) -> int:
    sockets = _number(pairs, "sockets") or _number(pairs, "socketsperboard") * (_number(pairs, "boards") or 1)
    return sockets * (_number(pairs, "corespersocket") or 1) * (_number(pairs, "threadspercore") or 1)


def _number(pairs: Mapping[str, str], key: str) -> int:
    said = pairs.get(key, "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 13 else 0


def _states(state: str) -> list[str]:
    return [each.rstrip("*~#!%$@^-") for each in state.split("+")]


@cache
def _reason(state: str) -> str:
    """`IDLE+DRAIN` -> cordoned; a star says that the node does not answer."""
    states = {*_states(state.upper()), *(("NOT_RESPONDING",) if "*" in state else ())}
    return next((reason for word, reason in REASONS.items() if word in states), "")


@cache
def _place(said: str) -> tuple[tuple[Level, ...], tuple[str, ...]]:
    """`default:core:leaf1` of `Topology=`: the units above a node, coarse to fine. Of several topologies the first."""
    path = tuple(grouping.value(each) or "none" for each in said.split(",")[0].split(":")[1:])
    names = ["block"] if len(path) == 1 else [f"switch-{height}" for height in range(len(path) - 1, -1, -1)]
    return tuple(Level(name, f"{grouping.UNKNOWN}/{name}", apply=True) for name in names if path), path


def _judged(listed: Sequence[Listed], at: Route) -> Iterator[Diagnostic]:
    """What Slurm would refuse of all nodes together, and what is left out."""
    start: Route = (*at, AT, 1, 1)
    if not listed:
        message = "there is no NodeName in it"
        yield error("T560", start, message, hint="give the file with the nodes, or what `scontrol show nodes` prints")
    if len(listed) > MOST_NODES:
        message = f"it names {len(listed)} nodes; a Slurm cluster has at most {MOST_NODES}"
        yield error("T481", start, message, hint="split the cluster")
    yield from _twice(listed)
    absent = [each.known.name for each in listed if each.absent]
    if absent:
        message = f"{len(absent)} nodes do not exist yet (State=FUTURE) and are left out, such as {absent[0]}"
        yield info("T556", start, message, hint="import again when they do")
    features = dict.fromkeys(word for each in {one.features for one in listed} for word in re.split("[,+]", each))
    words = sorted(word for word in features if word and word != "(null)")
    if words:
        message = f"features of nodes are left out: {listing(words, 'and', 8)}"
        yield info("T555", start, message, hint="give pools that differ in them names and node selectors of their own")


def _twice(listed: Sequence[Listed]) -> Iterator[Diagnostic]:
    """A node on two lines, and names that only upper and lower case tell apart."""
    first: dict[str, Known] = {}
    for each in listed:
        known = first.setdefault(each.known.name.lower(), each.known)
        if known is each.known:
            continue
        notes = (Note("it is here too", known.route),)
        if known.name == each.known.name:
            message = f'node "{known.name}" is listed twice; slurmctld stops at that'
            yield error("T551", each.known.route, message, notes=notes, hint="leave one of the two out")
        else:
            message = f'"{known.name}" and "{each.known.name}" differ by upper and lower case only'
            yield warning("T552", each.known.route, message, notes=notes, hint="names in Kubernetes are lower-case")


def _aliases(listed: Sequence[Listed], found: list[Diagnostic]) -> Iterator[tuple[str, str]]:
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
