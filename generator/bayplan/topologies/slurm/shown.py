"""What scontrol prints of nodes, as lines of a slurm.conf: `scontrol show nodes`, and the same with `--json`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from bayplan.core.diagnostics import AT, Diagnostic, Route, error
from bayplan.kube.objects import get, items, text
from bayplan.model.formats import SourceFile
from bayplan.topologies import grouping
from bayplan.topologies.slurm.text import Line

NODE_LINE = re.compile(r"^[ \t]*NodeName[ \t]*=", re.IGNORECASE | re.MULTILINE)
SHOWN = re.compile(r"\bCPUTot=[0-9]")
"""What is in every record of scontrol, and in no slurm.conf."""
WHOLE = "take all of what `scontrol show nodes` prints, with the end of its last line"
ALWAYS = frozenset(
    ("threadspercore", "tmpdisk", "weight", "owner", "mcs_label", "boottime", "slurmdstarttime", "cfgtres", "alloctres")
)
"""Words behind the state of every node of one version (Slurm 24.11 to 25.11, node_info.c)."""
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
"""Word of a slurm.conf -> that of the JSON (Slurm 23.11 to 25.11, data_parser)."""


def entries(source: SourceFile) -> Iterator[Line]:
    """The nodes of `scontrol show nodes --json`, as lines with the words of a slurm.conf."""
    data = source.documents[0].data if source.documents else None
    for number, each in enumerate(items(data, "nodes")):
        if text(each, "name") and "real_memory" in each:
            pairs = {key: _said(get(each, word)) for key, word in JSON_WORDS.items()}
            yield Line("nodename", pairs, (*source.at(), "nodes", number))


def _said(value: Any) -> str:
    """A value as a slurm.conf would say it."""
    if isinstance(value, list):
        return "+".join(each for each in value if isinstance(each, str))
    return grouping.said(value)


def records(said: str, at: Route, found: list[Diagnostic]) -> Iterator[Line]:
    """A line for each node that scontrol prints: a record starts at its `NodeName=`, and has blanks in some values."""
    starts = [match.start() for match in NODE_LINE.finditer(said)]
    number, seen = 1, 0
    for start, end in zip(starts, [*starts[1:], len(said)], strict=True):
        number, seen = number + said.count("\n", seen, start), start
        pairs = {key.lower(): value for key, value in _WORD.findall(said[start:end])}
        line = Line("nodename", pairs, (*at, AT, number, 1))
        if "state" not in pairs or "cputot" not in pairs:
            message = f'what is said of node "{pairs.get("nodename", "")[:80]}" is cut off'
            found.append(error("T477", line.route, message, hint=WHOLE))
        yield line
    found += _cut(said, at, starts)


def _cut(said: str, at: Route, starts: Sequence[int]) -> Iterator[Diagnostic]:
    """T477: the last line has no end, or the last record lacks what all others have, and the blank line behind it."""
    number = said.count("\n") + 1
    if not said.endswith("\n"):
        end = said.rpartition("\n")[2].strip()[-60:]
        yield error("T477", (*at, AT, number, 1), f'the output ends within a line: "{end}"', hint=WHOLE)
    elif len(starts) > 1 and not said.endswith("\n\n"):
        ends = pairwise(starts)
        usual = ALWAYS.intersection(*(_keys(said[start:end]) for start, end in ends))
        lacking = sorted(usual - _keys(said[starts[-1] :]))
        if lacking:
            message = f"the output ends within a record: its last node has no {lacking[0]}"
            yield error("T477", (*at, AT, number - 1, 1), message, hint=WHOLE)


def _keys(record: str) -> frozenset[str]:
    return frozenset(key.lower() for key, _ in _WORD.findall(record))
