"""The output of `ibnetdiscover` for an InfiniBand fabric (rdma-core 50 to 60, infiniband-diags/ibnetdiscover.c).

It has a block for each switch and each channel adapter, with a line for each port that has a link. Adapters describe
themselves as `host device`, and Topograph reads this too (Topograph 1.0, pkg/ib/ib.go).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from bayplan.plugin import AT, Diagnostic, Outcome, Part, ReadOptions, Route, SourceFile, error, has_errors
from bayplan.plugins.sources.fabric_managers import hosts as fabric_hosts
from bayplan.plugins.sources.fabric_managers import some
from bayplan.plugins.sources.fabric_managers.graph import Fabric
from bayplan.plugins.sources.fabric_managers.hosts import Adapter

LONGEST = 2000
"""Characters of a line."""

_BLOCK = re.compile(r'(Switch|Ca|Rt)\s+\d+\s+"([SHR]-[0-9A-Za-z]+)"\s*(?:#\s*"([^"]*)")?')
_PORT = re.compile(
    r'\[\d+\](?:\[ext \d+\])?(?:\([0-9a-fA-F]+\))?\s+"([SHR]-[0-9A-Za-z]+)"\[\d+\](?:\[ext \d+\])?'
    r'(?:\([0-9a-fA-F]+\))?\s*#[^"]*"([^"]*)"'
)
_QUIET = re.compile(r"#|\s*$|\w+=\S|Chassis |Non-Chassis ")
_SNIFF = re.compile(r'^(?:Switch|Ca|Rt)\s+\d+\s+"[SHR]-[0-9a-fA-F]+"', re.MULTILINE)
_SWITCH_NAME = re.compile(r"[^;:]+;([^;:]+):[^;:/]*(.*)")
AGGREGATION = "Mellanox Technologies Aggregation Node"
"""SHARP's part of a switch, which is an adapter outside of hosts."""


class Read(NamedTuple):
    """Switches and adapters by their identifiers.

    `names`: their own names. `ports`: for each port of a switch, the other end and the line. `ends`: for each other end
    of a port, its first name there and the line.
    """

    names: dict[str, str]
    ports: dict[str, list[tuple[str, int]]]
    ends: dict[str, tuple[str, int]]


def sniff(source: SourceFile) -> bool:
    """Whether the head of the file has the start of a block."""
    return bool(_SNIFF.search(source.head))


def new(source: SourceFile, options: ReadOptions) -> Outcome[Part]:
    """The hosts below merged leaf switches."""
    issues: list[Diagnostic] = []
    at = source.at()
    read = _read(source, issues)
    issues += () if issues else _missing(read, at)
    if has_errors(issues):
        return Outcome(None, tuple(issues))
    start = (*at, AT, 1, 1)
    hosts = fabric_hosts.sort(_adapters(read, at), options, start, issues)
    links = {name: [end for end, _ in ports if end in read.ports] for name, ports in read.ports.items()}
    names = {name: switch_name(read.names[name]) for name in read.ports}
    return fabric_hosts.part(source, options, hosts, Fabric(hosts.hosts, links, names, hosts.places), start, issues)


def switch_name(text: str) -> str:
    """`MF0;sw1:MQM9700/U1` -> `sw1`. Keeps the part of a modular switch: `MF0;sw1:CS8500/L2/U1` -> `sw1-L2-U1`."""
    match = _SWITCH_NAME.fullmatch(text)
    if not match:
        return text
    name, part = match.groups()
    return name if part in ("", "/U1") else name + part.replace("/", "-")


def lines(source: SourceFile) -> Iterator[str]:
    """The lines of a file that is never completely in memory. Truncates very long lines."""
    rest = ""
    for chunk in chain(source.chunks(), ("\n",)):
        if "\n" not in chunk:
            rest = (rest + chunk)[: LONGEST + 1]
            continue
        first, *more = chunk.split("\n")
        yield (rest + first)[: LONGEST + 1]
        rest = more.pop()[: LONGEST + 1]
        yield from more


def _read(source: SourceFile, issues: list[Diagnostic]) -> Read:
    read = Read({}, {}, {})
    ports: list[tuple[str, int]] | None = None
    wrong: tuple[int, str] = (0, "")
    number = 0
    for number, line in enumerate(lines(source), 1):
        if match := _PORT.match(line):
            end = match[1]
            if end not in read.ends:
                read.ends[end] = (match[2], number)
            if ports is not None:
                ports.append((end, number))
        elif match := _BLOCK.match(line):
            read.names.setdefault(match[2], match[3] or "")
            ports = read.ports.setdefault(match[2], []) if match[1] == "Switch" else None
        elif not _QUIET.match(line):
            wrong = wrong if wrong[0] else (number, line)
    if wrong[0]:
        issues.append(_unread(wrong[0], wrong[1], wrong[0] == number, source.at()))
    return read


def _unread(number: int, line: str, last: bool, at: Route) -> Diagnostic:
    shown = line if len(line) < 60 else f"{line[:57]}..."
    if last:
        return error("T529", (*at, AT, number, 1), f'the output ends within a line: "{shown}"', hint=WHOLE)
    message = f'ibnetdiscover does not print such a line: "{shown}"'
    return error("T530", (*at, AT, number, 1), message, hint="use its unchanged output in English")


WHOLE = "run `ibnetdiscover` again, and keep its complete output"


def _missing(read: Read, at: Route) -> Iterator[Diagnostic]:
    """T529: the other end of a link has no block."""
    missing = [seen for end, seen in read.ends.items() if end not in read.names]
    if missing:
        names = some([f'"{name}"' for name, _ in missing])
        message = (
            f"the output is truncated: {len(missing)} switches or adapters at the end of links have no block: {names}"
        )
        yield error("T529", (*at, AT, missing[0][1], 1), message, hint=WHOLE)


def _adapters(read: Read, at: Route) -> Iterator[Adapter]:
    """The ports of switches with an adapter at the other end."""
    for switch, ports in read.ports.items():
        for end, number in ports:
            own = "" if end in read.ports else read.names[end] or read.ends[end][0]
            if end.startswith("H") and own != AGGREGATION:
                words = own.split()
                host, device = words if len(words) == 2 else ("", "")
                yield Adapter(host, device, end, switch, (*at, AT, number, 1), own)
