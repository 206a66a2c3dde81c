"""mpirun lines: their nodes, ranks and slots. The options are those of Open MPI 4 and 5, Intel MPI and MPICH."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from bayplan.plugin import shorten
from bayplan.plugin import text_beside as table
from bayplan.plugins.slurm.sbatch.expansion import MARK, NODE, mark
from bayplan.plugins.slurm.sbatch.options import Findings, Position

OPTIONS: Mapping[str, str] = {
    name: row["kind"]
    for row in csv.DictReader(table("plugins", "slurm", "sbatch", "mpirun.csv").splitlines())
    for name in row["options"].split()
}
"""Option of mpirun, without dashes -> its kind. Those `elsewhere` name nodes in files, or a way to reach them."""

OWN = re.compile(
    r"(?:(?:OMPI|PRTE)_MCA_)?(?!plm_[rs]sh_(?:no_tree_spawn|num_concurrent)\Z)"
    r"(?:plm|ras|(?:orte_|prte_)?default_hostfile)(?:_\w+)?|(?:I_MPI_)?HYDRA_\w+"
)
"""Settings of how mpirun finds nodes and reaches them, which bayplan sets in pods. How many it reaches at once, and
through which of them, is up to the script."""


class Launch(NamedTuple):
    """An mpirun line without the options that name the nodes of the job: its ranks, in total and on each node."""

    words: tuple[str, ...]
    ranks: int = 0
    per_node: int = 0
    slots: int = 0


Files = Callable[[str], str | None]
"""The text of a file that the script writes."""


class _RefusedError(Exception):
    """What bayplan cannot translate, with the number of its word and what to do."""

    def __init__(self, at: int, message: str, hint: str) -> None:
        self.at, self.message, self.hint = at, message, hint


def _shown(text: str) -> str:
    """A word of the script for a message, with names in place of what only a job knows."""
    return shorten(MARK.sub(r"<\1>", text))


def launch(
    words: Sequence[tuple[str, Position]], nodes: int, files: Files, env: Mapping[str, str], found: Findings
) -> Launch | None:
    """What a line starts on `nodes` nodes. W611; W639: the options that name these nodes, which bayplan drops."""
    texts = [word for word, _ in words]
    try:
        if name := next((each for each in env if OWN.fullmatch(each)), ""):
            message = f"{name} configures how mpirun reaches nodes, and bayplan does that itself"
            raise _RefusedError(0, message, "leave it out of the script")
        starts = [0, *(number + 1 for number, word in enumerate(texts) if word == ":")]
        ends = [*(start - 1 for start in starts[1:]), len(texts)]
        dropped: set[int] = set()
        parts = [
            _part(texts, start, end, nodes, files, dropped)
            for start, end in zip([1, *starts[1:]], ends, strict=True)
        ]  # fmt: skip
    except _RefusedError as problem:
        found.error("W611", words[problem.at][1], problem.message, problem.hint)
        return None
    if dropped:
        shown = " ".join(texts[at] for at in sorted(dropped) if texts[at].startswith("-"))
        message = f"bayplan drops {shown}: every pod gets a hostfile with all pods"
        found.info("W639", words[min(dropped)][1], message, "leave it out if only pods run the script")
    kept = tuple(word for at, word in enumerate(texts) if at not in dropped)
    if len(parts) == 1:
        return parts[0]._replace(words=kept)
    ranks = sum(each.ranks for each in parts) if all(each.ranks for each in parts) else 0
    return Launch(kept, ranks, 0, max(each.slots for each in parts))


def _part(texts: Sequence[str], start: int, end: int, nodes: int, files: Files, dropped: set[int]) -> Launch:
    """One program with its options: the words from `start` on."""
    counts: dict[str, int] = {}
    slots, at = 0, start
    while at < end and texts[at].startswith("-") and texts[at] != "-":
        name, equals, value = texts[at].lstrip("-").partition("=")
        kind = OPTIONS.get(name, "")
        taken = 0 if equals or kind in ("flag", "pernode") else 2 if kind == "pair" else 1
        if not kind:
            message = f'bayplan does not know the option "{_shown(texts[at])}" of mpirun'
            raise _RefusedError(at, message, "leave it out of the script")
        if at + taken >= end:
            raise _RefusedError(at, f"{texts[at]} has no value, or no program is behind it", "complete the line")
        value = value if equals else texts[at + 1] if taken else "1"
        own = OWN.fullmatch(value.partition("=")[0]) or value == "rmaps"
        if kind == "elsewhere" or (own and (kind == "pair" or name == "x")):
            shown = " ".join(texts[at : at + taken])
            message = f"bayplan cannot translate {_shown(shown)}: mpirun reaches pods by a hostfile and ssh"
            raise _RefusedError(at, message, "leave it out of the script")
        if kind in ("hosts", "file"):
            slots = max(slots, _all_nodes(at, kind, value, nodes, files))
            dropped.update(range(at, at + taken + 1))
        elif kind in ("ranks", "per-node", "pernode"):
            if not re.fullmatch(r"[1-9][0-9]{0,6}", value):
                raise _RefusedError(at, f'"{_shown(value)}" is not a number of ranks', "write an integer")
            counts["ranks" if kind == "ranks" else "per_node"] = int(value)
        elif kind == "map" and (ppr := re.match(r"ppr:([0-9]{1,6}):node\b", value)):
            counts["per_node"] = int(ppr[1])
        at += taken + 1
    if at >= end:
        raise _RefusedError(start - 1, "mpirun starts no program", "add the program behind the options")
    return Launch((), counts.get("ranks", 0), counts.get("per_node", 0), slots)


def _all_nodes(at: int, kind: str, value: str, nodes: int, files: Files) -> int:
    """The slots that a list gives each node, 0 if it gives none. It must name all nodes, in order."""
    text = files(value) if kind == "file" else None
    if kind == "file" and text is None:
        message = f"mpirun reads its nodes from {_shown(value)}, whose lines bayplan does not know"
        raise _RefusedError(at, message, "remove the option: bayplan makes a hostfile with all pods")
    lines = text.splitlines() if text is not None else value.split(",")
    listed: dict[str, list[int]] = {}
    for entry in map(_ENTRY.fullmatch, filter(str.strip, lines)):
        listed.setdefault(entry[1] if entry else "", []).append(int(entry[2] or entry[3] or 0) if entry else 0)
    slots = {
        sum(each or 1 for each in several) if kind == "hosts" or several != [0] else 0 for several in listed.values()
    }
    if list(listed) != [mark(NODE, f"0.{number}") for number in range(nodes)] or len(slots) != 1:
        message = "the list of mpirun does not have all nodes of the job in their order, with equal slots"
        raise _RefusedError(at, message, "remove the option: bayplan makes a hostfile with all pods")
    return slots.pop()


_ENTRY = re.compile(r"\s*(\S+?)(?::([0-9]{1,6}))?(?:\s+slots=([0-9]{1,6}))?(?:\s+max[-_]slots=[0-9]+)?\s*(?:#(?s:.*))?")
"""A node of a list with its slots, in the syntax of Open MPI or of Intel MPI and MPICH."""
