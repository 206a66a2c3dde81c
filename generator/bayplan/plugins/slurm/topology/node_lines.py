"""Slurm's nodes: the `NodeName=` lines of a slurm.conf, and the output of `scontrol show nodes` (Slurm 24.11 to 25.11).

A line describes many equal nodes; `NodeName=DEFAULT` gives values for the lines below (`man slurm.conf`). Nodes with
`Topology=` name their own place (25.05); for others, a topology.conf or topology.yaml does. GPUs are in
`Gres=gpu:gb200:4(S:0-1),nic:2` (Slurm 25.11, `src/interfaces/gres.c`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from bayplan.plugin import (
    AT,
    Diagnostic,
    Level,
    Note,
    Outcome,
    Part,
    ReadOptions,
    Route,
    SourceFile,
    SourceNode,
    count,
    error,
    get,
    grouped,
    grouping,
    has_errors,
    hostlist,
    info,
    items,
    listing,
    quantity,
    text,
    warning,
)
from bayplan.plugins.slurm.topology import MOST_NODES, Line, lines, names_in
from bayplan.plugins.slurm.topology.node_names import Listed, aliases, in_kubernetes, paired, renamed

_COUNT = re.compile(r"([0-9]{1,9})([KkMmGgTtPp]?)")
MOST = 1024


def cards(text: str, route: Route, issues: list[Diagnostic]) -> tuple[str, int]:
    """Type and number of the GPUs in a list of generic resources. The type can be missing."""
    result, faults = _cards(text)
    issues += (error("T530", route, message, hint="write it like gpu:gb200:4") for message in faults)
    if len(result) > 1:
        content = " and ".join(f"{count} {kind or 'others'}" for kind, count in result)
        message = f"the nodes have {content} GPUs; bayplan counts them together, because a pool has one kind"
        issues.append(warning("T555", route, message, hint="describe such nodes by hand"))
    return result[0][0] if len(result) == 1 else "gpu" if result else "", sum(count for _, count in result)


@cache
def _cards(text: str) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...]]:
    """Number of GPUs by type, and the faults."""
    kinds: dict[str, int] = {}
    faults: list[str] = []
    for each in re.sub(r"\([^()]*\)", "", text).split(","):
        name, *parts = each.strip().split(":")
        if name.lower() == "gpu":
            kind, count = _read([part for part in parts if part.lower() != "no_consume"])
            if count is None or count > MOST:
                faults.append(f'"{each.strip()[:60]}" does not give a number of GPUs from 0 to {MOST}')
            kinds[kind] = kinds.get(kind, 0) + (count or 0)
    return tuple((kind, count) for kind, count in kinds.items() if count), tuple(faults)


def _read(parts: list[str]) -> tuple[str, int | None]:
    """Type and number in `gb200:4`, `4`, `gb200` or nothing. Without a number it is 1; None if it is not valid."""
    last = _COUNT.fullmatch(parts[-1]) if parts else None
    if not last:
        return (parts[0] if parts else ""), (1 if len(parts) < 2 else None)
    count = int(last[1]) * 1024 ** " kmgtp".find(last[2].lower() or " ")
    return (parts[0] if len(parts) > 1 else ""), count if len(parts) < 3 else None


# The output of `scontrol show nodes`, with or without `--json`, as lines of a slurm.conf.

NODE_LINE = re.compile(r"^[ \t]*NodeName[ \t]*=", re.IGNORECASE | re.MULTILINE)
SHOWN = re.compile(r"\bCPUTot=[0-9]")
"""Every record of scontrol has it, and no slurm.conf."""
WHOLE = "use the complete output of `scontrol show nodes`, with the end of its last line"
ALWAYS = frozenset(
    ("threadspercore", "tmpdisk", "weight", "owner", "mcs_label", "boottime", "slurmdstarttime", "cfgtres", "alloctres")
)
"""Keys that follow the state in the record of every node (Slurm 24.11 to 25.11, node_info.c)."""
_WORD = re.compile(r"(?<!\S)(\w+)=(\S*)")
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
"""Key in a slurm.conf -> key in the JSON (Slurm 23.11 to 25.11, data_parser)."""


def entries(source: SourceFile) -> Iterator[Line]:
    """The nodes of `scontrol show nodes --json`, as lines with the keys of a slurm.conf."""
    data = source.documents[0].data if source.documents else None
    for number, each in enumerate(items(data, "nodes")):
        if text(each, "name") and "real_memory" in each:
            pairs = {key: _text_of(get(each, word)) for key, word in JSON_WORDS.items()}
            yield Line("nodename", pairs, (*source.at(), "nodes", number))


def _text_of(value: Any) -> str:
    """A value as a slurm.conf has it."""
    if isinstance(value, list):
        return "+".join(each for each in value if isinstance(each, str))
    return grouping.text_of(value)


def records(content: str, at: Route, issues: list[Diagnostic]) -> Iterator[Line]:
    """A line for each node that scontrol prints. A record starts at its `NodeName=`; some values contain blanks."""
    starts = [match.start() for match in NODE_LINE.finditer(content)]
    number, seen = 1, 0
    for start, end in zip(starts, [*starts[1:], len(content)], strict=True):
        number, seen = number + content.count("\n", seen, start), start
        pairs = {key.lower(): value for key, value in _WORD.findall(content[start:end])}
        line = Line("nodename", pairs, (*at, AT, number, 1))
        if "state" not in pairs or "cputot" not in pairs:
            message = f'the record of node "{pairs.get("nodename", "")[:80]}" is truncated'
            issues.append(error("T529", line.route, message, hint=WHOLE))
        yield line
    issues += _cut(content, at, starts)


def _cut(content: str, at: Route, starts: Sequence[int]) -> Iterator[Diagnostic]:
    """T529: the last line has no end, or the last record lacks a key of all others and the blank line after it."""
    number = content.count("\n") + 1
    if not content.endswith("\n"):
        end = content.rpartition("\n")[2].strip()[-60:]
        yield error("T529", (*at, AT, number, 1), f'the output ends within a line: "{end}"', hint=WHOLE)
    elif len(starts) > 1 and not content.endswith("\n\n"):
        ends = pairwise(starts)
        usual = ALWAYS.intersection(*(_keys(content[start:end]) for start, end in ends))
        lacking = sorted(usual - _keys(content[starts[-1] :]))
        if lacking:
            message = f"the output ends within a record: the last node lacks {lacking[0]}"
            yield error("T529", (*at, AT, number - 1, 1), message, hint=WHOLE)


def _keys(record: str) -> frozenset[str]:
    return frozenset(key.lower() for key, _ in _WORD.findall(record))


# The fields of a line: CPUs and memory for jobs, state, place.

MIB = 2**20 * 1000
REASONS: Mapping[str, str] = {
    "FAIL": "unhealthy",
    "FAILING": "unhealthy",
    "ERROR": "unhealthy",
    "INVALID_REG": "unhealthy",
    "INVALID": "unhealthy",
    "INVAL": "unhealthy",
    "DOWN": "notReady",
    "NOT_RESPONDING": "notReady",
    "DRAIN": "cordoned",
    "DRAINED": "cordoned",
    "DRAINING": "cordoned",
    "MAINT": "reserved",
    "MAINTENANCE": "reserved",
    "RESERVED": "reserved",
}
"""State of a node -> why it is unusable, the most serious first (Slurm 24.11 to 25.11, slurm_protocol_defs.c)."""
WELL = frozenset(
    (
        *("IDLE", "ALLOCATED", "ALLOC", "MIXED", "MIX", "COMPLETING", "COMP"),
        *("PLANNED", "PERFCTRS", "RESUME", "UNDRAIN"),
        *("UNKNOWN", "CLOUD", "EXTERNAL", "FUTURE", "DYNAMIC_NORM", "DYNAMIC_FUTURE"),
        *("POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "POWER_DOWN", "POWER_UP", "POWER_DRAIN"),
        *("REBOOT_REQUESTED", "REBOOT_ISSUED", "REBOOT_CANCEL", "REBOOT_CANCELED", "CANCEL_REBOOT"),
    )
)
"""States of usable nodes. Nodes that are powered down or reboot come back by themselves."""


def amounts(pairs: Mapping[str, str]) -> dict[str, int]:
    """CPUs and memory for jobs, in thousandths of a core and of a byte."""
    cpus = _number(pairs, "cpuefctv") or _number(pairs, "cpus") or _number(pairs, "cputot") or _cores(pairs)
    memory = _number(pairs, "realmemory") - _number(pairs, "memspeclimit")
    return {**({"cpu": cpus * 1000} if cpus else {}), **({"memory": memory * MIB} if memory > 0 else {})}


def _cores(pairs: Mapping[str, str]) -> int:
    sockets = _number(pairs, "sockets") or _number(pairs, "socketsperboard") * (_number(pairs, "boards") or 1)
    return sockets * (_number(pairs, "corespersocket") or 1) * (_number(pairs, "threadspercore") or 1)


def _number(pairs: Mapping[str, str], key: str) -> int:
    return quantity.whole(pairs.get(key, ""), 12)


def states(state: str) -> list[str]:
    """`MIXED+CLOUD*` -> MIXED, CLOUD."""
    return [each.rstrip("*~#!%$@^-") for each in state.split("+")]


@cache
def reason(state: str) -> str:
    """`IDLE+DRAIN` -> cordoned. A star means that the node does not respond."""
    words = {*states(state.upper()), *(("NOT_RESPONDING",) if "*" in state else ())}
    return next((why for word, why in REASONS.items() if word in words), "")


@cache
def unknown(state: str) -> tuple[str, ...]:
    """The words of a state that bayplan does not know, such as `BLOCKED` by a job with an exclusive switch."""
    return tuple(each for each in states(state.upper()) if each and each not in WELL and each not in REASONS)


@cache
def place(content: str) -> tuple[tuple[Level, ...], tuple[str, ...]]:
    """`default:core:leaf1` of `Topology=`: the units above a node, coarse to fine, in the first topology."""
    path = tuple(grouping.value(each) or "none" for each in content.split(",")[0].split(":")[1:])
    names = ["block"] if len(path) == 1 else [f"switch-{height}" for height in range(len(path) - 1, -1, -1)]
    return tuple(grouping.placeholder(name) for name in names if path), path


_OTHERS = re.compile(r"^\s*(SwitchName|BlockName|BlockSizes|AggregatedBlock|RingName)\s*=", re.IGNORECASE)
_FILE = re.compile(
    r"^[ \t]*(ClusterName|SlurmctldHost|ControlMachine|PartitionName|Include)\b", re.IGNORECASE | re.MULTILINE
)

_CLUSTER = re.compile(r"^[ \t]*ClusterName[ \t]*=[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)
ABSENT = "FUTURE"
MOST_REPORTED = 20
"""Nodes that bayplan reports one by one."""


def sniff(source: SourceFile) -> bool:
    """Whether the file is a slurm.conf, or output of `scontrol show nodes`."""
    if source.head.lstrip().startswith("{"):
        return '"real_memory"' in source.head and any(True for _ in entries(source))
    content = (line for line in source.head.split("\n") if line.strip() and not line.lstrip().startswith("#"))
    first = next(content, "")
    if _OTHERS.match(first) or first.lstrip().startswith(("{", "[", "-")) or "apiVersion" in source.head:
        return False
    return bool(NODE_LINE.search(source.head) or (_FILE.match(first) and "=" in first))


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """The nodes in pools. Their places come from their lines; host names and addresses are aliases."""
    issues: list[Diagnostic] = hostlist.Issues()
    at = source.at()
    listed = list(_listed(source, issues))
    issues += _judged(listed, at)
    if has_errors(issues):
        return Outcome(None, tuple(issues))
    named = dict(aliases(listed, issues))
    nodes = [each.node for each in listed if not each.absent]
    cluster = _CLUSTER.search(source.head)
    part = grouping.part(cluster[1] if cluster else "slurm", nodes, source, options)._replace(aliases=named)
    result = renamed(part, options.nodes, in_kubernetes(named, options.nodes), at, issues)
    return Outcome(result, tuple(issues))


def _listed(source: SourceFile, issues: list[Diagnostic]) -> Iterator[Listed]:
    """The nodes, in any of the three formats."""
    shown: Iterable[Line] = entries(source)
    if SHOWN.search(source.head):
        shown = records(source.text, source.at(), issues)
    elif not source.head.lstrip().startswith("{"):
        return _configured(source.text, source.at(), issues)
    return (each for line in shown for each in _of_line(line, issues))


def _configured(content: str, at: Route, issues: list[Diagnostic]) -> Iterator[Listed]:
    """The nodes of a slurm.conf. `DownNodes=` lines can be before or after them."""
    defaults: dict[str, str] = {}
    result: list[Listed] = []
    down: dict[str, str] = {}
    for line in lines(content, at):
        if line.rest[:8].lower().startswith("include ") and not line.kind:
            message = f'bayplan does not read the included file "{line.rest[8:].strip()[:80]}", which may define nodes'
            issues.append(error("T530", line.route, message, hint="replace this line by the lines of that file"))
        elif line.kind == "downnodes":
            state = line.pairs.get("state", "DOWN")
            down.update(dict.fromkeys(names_in(line.pairs["downnodes"], line.route, issues), reason(state)))
        elif line.kind == "nodename" and line.pairs["nodename"].upper() == "DEFAULT":
            defaults |= line.pairs
        elif line.kind == "nodename":
            result += _of_line(line._replace(pairs={**defaults, **line.pairs}), issues)
    for each in result:
        why = each.node.reason or down.get(each.node.name, "")
        yield each._replace(node=each.node._replace(reason=why)) if why else each


def _of_line(line: Line, issues: list[Diagnostic]) -> Iterator[Listed]:
    """One for each node that a line names."""
    pairs = line.pairs
    names = names_in(pairs["nodename"], line.route, issues)
    others = [paired(key, names, line, issues) for key in ("nodehostname", "nodeaddr") if pairs.get(key)]
    product, count = cards(pairs.get("gres", ""), line.route, issues)
    levels, path = place(pairs.get("topology", ""))
    state = pairs.get("state", "").upper()
    shape = SourceNode("", line.route, product, count, amounts(pairs), levels, path, reason(state))
    features = pairs.get("availablefeatures", pairs.get("features", pairs.get("feature", "")))
    for number, name in enumerate(names):
        called = tuple(each[number] for each in others if each and each[number] != name)
        yield Listed(shape._replace(name=name), called, ABSENT in states(state), features, unknown(state))


def _judged(listed: Sequence[Listed], at: Route) -> Iterator[Diagnostic]:
    """What Slurm would refuse about all nodes together, and what bayplan leaves out."""
    start: Route = (*at, AT, 1, 1)
    if not listed:
        message = "the file has no NodeName"
        yield error("T530", start, message, hint="use the file with the nodes, or the output of `scontrol show nodes`")
    if len(listed) > MOST_NODES:
        message = f"the file names {len(listed)} nodes; a Slurm cluster has at most {MOST_NODES}"
        yield error("T480", start, message, hint="split the cluster")
    twice = list(_twice(listed))
    yield from twice[:MOST_REPORTED]
    if len(twice) > MOST_REPORTED:
        yield twice[MOST_REPORTED]._replace(
            message=f"{len(twice) - MOST_REPORTED} more nodes are listed twice, or differ only in case"
        )
    absent = [each.node.name for each in listed if each.absent]
    if absent:
        message = f"left out {count(len(absent), 'node')} with State=FUTURE, such as {absent[0]}"
        yield info("T515", start, message, hint="import again when these nodes exist")
    yield from _unknown(listed, start)
    features = dict.fromkeys(word for each in {one.features for one in listed} for word in re.split("[,+]", each))
    words = sorted(word for word in features if word and word != "(null)")
    if words:
        message = f"left out the features of nodes: {listing(words, 'and', 8)}"
        yield info("T555", start, message, hint="if a feature separates pools, give each pool its own node selector")


def _unknown(listed: Sequence[Listed], start: Route) -> Iterator[Diagnostic]:
    """T555: states that do not tell whether a node is usable."""
    words = grouped((word, each) for each in listed for word in each.unknown)
    for word, nodes in list(words.items())[:MOST_REPORTED]:
        some = f"{count(len(nodes), 'node')}, such as {nodes[0].node.name}"
        message = f'bayplan does not know the state "{word[:40]}" of {some}'
        hint = "if pods cannot run there, list the nodes under `unusable`: bayplan treats them as usable"
        yield warning("T555", nodes[0].node.route or start, message, hint=hint)


def _twice(listed: Sequence[Listed]) -> Iterator[Diagnostic]:
    """A node on two lines, and names that differ only in upper and lower case."""
    first: dict[str, SourceNode] = {}
    for each in listed:
        earlier = first.setdefault(each.node.name.lower(), each.node)
        if earlier is each.node:
            continue
        notes = (Note("the first one is here", earlier.route),)
        if earlier.name == each.node.name:
            message = f'node "{earlier.name}" is listed twice; slurmctld does not start'
            yield error("T401", each.node.route, message, notes=notes, hint="remove one of the two")
        else:
            message = f'"{earlier.name}" and "{each.node.name}" differ only in upper and lower case'
            yield warning(
                "T536",
                each.node.route,
                message,
                notes=notes,
                hint="correct one of them: names in Kubernetes are lower-case",
            )
