"""Slurm's nodes: the `NodeName=` lines of a slurm.conf, and what `scontrol show nodes` prints (Slurm 24.11 to 25.11).

A line names many nodes and what each has; `NodeName=DEFAULT` says it for the lines below (`man slurm.conf`). Nodes with
`Topology=` name their own place (25.05), for the others a topology.conf or topology.yaml does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from bayplan.core.diagnostics import AT, Diagnostic, Note, Outcome, Route, error, has_errors, info, warning
from bayplan.core.phrases import count, listing
from bayplan.model.formats import Asked, Part, SourceFile
from bayplan.topologies import grouping
from bayplan.topologies.grouping import Known
from bayplan.topologies.slurm.gres import cards
from bayplan.topologies.slurm.hosts import LABELS, Listed, aliases, in_kubernetes, paired, renamed
from bayplan.topologies.slurm.shown import NODE_LINE, SHOWN, entries, records
from bayplan.topologies.slurm.states import amounts, place, reason, states, unknown
from bayplan.topologies.slurm.text import Line, lines
from bayplan.topologies.slurm.units import MOST_NODES, names_in

NAME = "slurm-nodes"
STATES = ("cordoned", "notReady", "unhealthy")
"""A node that none of these is said of is well."""

_OTHERS = re.compile(r"^\s*(SwitchName|BlockName|BlockSizes|AggregatedBlock|RingName)\s*=", re.IGNORECASE)
_FILE = re.compile(
    r"^[ \t]*(ClusterName|SlurmctldHost|ControlMachine|PartitionName|Include)\b", re.IGNORECASE | re.MULTILINE
)

ABSENT = "FUTURE"
TOLD = 20
"""Nodes that are told of one by one."""


def sniff(source: SourceFile) -> bool:
    """Whether its lines are those of a slurm.conf, or of `scontrol show nodes`."""
    if source.head.lstrip().startswith("{"):
        return '"real_memory"' in source.head and any(True for _ in entries(source))
    said = (line for line in source.head.split("\n") if line.strip() and not line.lstrip().startswith("#"))
    first = next(said, "")
    if _OTHERS.match(first) or first.lstrip().startswith(("{", "[", "-")) or "apiVersion" in source.head:
        return False
    return bool(NODE_LINE.search(source.head) or (_FILE.match(first) and "=" in first))


def new(source: SourceFile, asked: Asked) -> Outcome[Part]:
    """The nodes in pools: places are those of their lines, aliases their host names and addresses."""
    found: list[Diagnostic] = []
    at = source.at()
    listed = list(_listed(source, found))
    found += _judged(listed, at)
    if has_errors(found):
        return Outcome(None, tuple(found))
    named = dict(aliases(listed, found))
    nodes = [each.known for each in listed if not each.absent]
    part = grouping.part(_cluster(source.head) or "slurm", nodes, source, asked)._replace(aliases=named)
    made = renamed(part, asked.nodes, in_kubernetes(named, asked.nodes), at, found)
    return Outcome(made, tuple(found))


def label_keys(source: SourceFile) -> frozenset[str]:
    """Those that say what nodes are called."""
    return LABELS


def _listed(source: SourceFile, found: list[Diagnostic]) -> Iterator[Listed]:
    """The nodes, in whichever way they are told."""
    shown: Iterable[Line] = entries(source)
    if SHOWN.search(source.head):
        shown = records(source.text, source.at(), found)
    elif not source.head.lstrip().startswith("{"):
        return _configured(source.text, source.at(), found)
    return (each for line in shown for each in _of_line(line, found))


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
            down.update(dict.fromkeys(names_in(line.pairs["downnodes"], line.route, found), reason(state)))
        elif line.kind == "nodename" and line.pairs["nodename"].upper() == "DEFAULT":
            defaults |= line.pairs
        elif line.kind == "nodename":
            made += _of_line(line._replace(pairs={**defaults, **line.pairs}), found)
    for each in made:
        why = each.known.reason or down.get(each.known.name, "")
        yield each._replace(known=each.known._replace(reason=why)) if why else each


def _included(line: Line) -> Diagnostic:
    message = f'nodes may stand in the included file "{line.rest[8:].strip()[:80]}", which is not read'
    return error("T550", line.route, message, hint="put its lines in the place of this one")


def _of_line(line: Line, found: list[Diagnostic]) -> Iterator[Listed]:
    """One for each node that a line names."""
    pairs = line.pairs
    names = names_in(pairs["nodename"], line.route, found)
    others = [paired(key, names, line, found) for key in ("nodehostname", "nodeaddr") if pairs.get(key)]
    product, count = cards(pairs.get("gres", ""), line.route, found)
    levels, path = place(pairs.get("topology", ""))
    state = pairs.get("state", "").upper()
    shape = Known("", line.route, product, count, amounts(pairs), levels, path, reason(state))
    features = pairs.get("availablefeatures", pairs.get("features", pairs.get("feature", "")))
    for number, name in enumerate(names):
        called = tuple(each[number] for each in others if each and each[number] != name)
        yield Listed(shape._replace(name=name), called, ABSENT in states(state), features, unknown(state))


def _judged(listed: Sequence[Listed], at: Route) -> Iterator[Diagnostic]:
    """What Slurm would refuse of all nodes together, and what is left out."""
    start: Route = (*at, AT, 1, 1)
    if not listed:
        message = "there is no NodeName in it"
        yield error("T560", start, message, hint="give the file with the nodes, or what `scontrol show nodes` prints")
    if len(listed) > MOST_NODES:
        message = f"it names {len(listed)} nodes; a Slurm cluster has at most {MOST_NODES}"
        yield error("T481", start, message, hint="split the cluster")
    twice = list(_twice(listed))
    yield from twice[:TOLD]
    if len(twice) > TOLD:
        yield twice[TOLD]._replace(message=f"{len(twice) - TOLD} more nodes are listed twice, or differ by case only")
    absent = [each.known.name for each in listed if each.absent]
    if absent:
        message = f"{len(absent)} nodes do not exist yet (State=FUTURE) and are left out, such as {absent[0]}"
        yield info("T556", start, message, hint="import again when they do")
    yield from _unknown(listed, start)
    features = dict.fromkeys(word for each in {one.features for one in listed} for word in re.split("[,+]", each))
    words = sorted(word for word in features if word and word != "(null)")
    if words:
        message = f"features of nodes are left out: {listing(words, 'and', 8)}"
        yield info("T555", start, message, hint="give pools that differ in them names and node selectors of their own")


def _unknown(listed: Sequence[Listed], start: Route) -> Iterator[Diagnostic]:
    """T555: states that say neither that a node can be used nor that it cannot."""
    words: dict[str, list[Listed]] = {}
    for each in listed:
        for word in each.unknown:
            words.setdefault(word, []).append(each)
    for word, nodes in list(words.items())[:TOLD]:
        message = f'the state "{word[:40]}" of {count(len(nodes), "node")} is not known, such as {nodes[0].known.name}'
        hint = "they are taken for usable; list under `unusable` those that are not"
        yield warning("T555", nodes[0].known.route or start, message, hint=hint)


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
