"""A script as a whole: its sections, the variables that its body starts with, and what holds for all of the job."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from bayplan.core.phrases import shorten
from bayplan.core.values import NamedTuple
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.workflows.sbatch import pods
from bayplan.workflows.sbatch.body import check_options
from bayplan.workflows.sbatch.expansion import JOB, NODE, NODES, RANK, Value, mark
from bayplan.workflows.sbatch.options import DIRECTIVES, Findings, Position
from bayplan.workflows.sbatch.pods import label
from bayplan.workflows.sbatch.shape import Given, Shape, parse, report_options, shape

# Segments and switches of Slurm -> levels of the topology.
#
# A segment of at most one base block stays in one block (Slurm 25.11, `eval_nodes_block.c`), and blocks are the finest
# domains; a longer one stays in the smallest level that holds it. --consolidate-segments keeps all of them in the next
# level that holds the job. Without a topology the levels have the names that bayplan's reading of Slurm files gives.

BLOCK, TOGETHER = "block", "aggregated-block"


class Levels(NamedTuple):
    """The names of levels for a segment, for all of a job, and for a leaf switch. `assumed`: no topology said them."""

    segment: str = BLOCK
    job: str = TOGETHER
    leaf: str = BLOCK
    assumed: bool = True


def pool_of(topology: ClusterTopology | None, name: str, kind: str, gpus: int) -> Pool | None:
    """The pool that a section is likely to run in: the named one, else the only one that could hold it."""
    if topology is None:
        return None
    if name:
        return topology.pool(name)
    pools = [pool for pool in topology.pools if bool(pool.node.accelerators) == bool(gpus)] or list(topology.pools)
    named = [pool for pool in pools if kind and pool.node.accelerator == kind]
    found = named or pools
    return found[0] if len(found) == 1 else None


def partition_pool(topology: ClusterTopology | None, partition: str) -> str:
    """The pool that a partition of Slurm stands for, where the topology says so."""
    own = topology.schedulers.get("slurm", {}).get("pools", {}) if topology else {}
    found = [name for name, settings in own.items() if settings.get("partition") == partition]
    if not found and topology and topology.pool(partition) and partition not in (topology.queues or ()):
        found = [partition]
    return found[0] if len(found) == 1 else ""


def levels(pool: Pool | None, segment: int, nodes: int) -> Levels:
    """The levels for segments of so many nodes in a job of so many."""
    if pool is None or not pool.levels:
        return Levels()
    sizes = _sizes(pool)
    names = [level.name for level in pool.levels]
    own = next((n for n in reversed(range(len(names))) if sizes[n] >= segment), 0)
    whole = next((n for n in reversed(range(own)) if sizes[n] >= nodes), max(0, own - 1))
    return Levels(names[own], names[whole], names[-1], False)


def _sizes(pool: Pool) -> list[int]:
    """For each level, coarse to fine: the nodes that its largest domain may give."""
    plan = pool.levels[-1].plan
    found = []
    for depth in range(len(pool.levels)):
        held: dict[tuple[str, ...], int] = {}
        for row in pool.domains:
            key = row.path[: depth + 1]
            held[key] = held.get(key, 0) + (min(plan, len(row.nodes)) if plan else len(row.nodes))
        found.append(max(held.values(), default=0))
    return found


def largest_block(pools: Iterable[Pool]) -> int:
    """The nodes of the largest finest domain."""
    return max((_sizes(pool)[-1] for pool in pools if pool.levels), default=0)


SEPARATORS = ("hetjob", "packjob")
IMAGE = "image"
"""The variable of --set that is no variable of the script."""


class Section(NamedTuple):
    """Directives between two `#SBATCH hetjob` lines, and what they ask for."""

    options: Mapping[str, Given]
    shape: Shape
    spot: Position
    pool: str = ""


class Script(NamedTuple):
    """What is known of a script before its body is gone through."""

    name: str
    sections: tuple[Section, ...]
    body: str
    line: int
    interpreter: str
    image: str
    queue: str
    exported: Mapping[str, str]
    remarks: pods.ScriptComments | None  # bayplan wrote it
    topology: ClusterTopology | None

    @property
    def first(self) -> Section:
        """What holds for the whole job stands here."""
        return self.sections[0]


def script(data: Mapping[str, Any], topology: ClusterTopology | None, findings: Findings) -> Script | None:
    """The script, its directives judged."""
    given = _sections(data["directives"], findings)
    report_options(given, findings)
    check_options(given, findings)
    starts = _starts(data["directives"])
    options = given[0]
    sections = []
    for each, spot in zip(given, starts, strict=True):
        partition = each["partition"].value if "partition" in each else ""
        made = shape(each, spot, findings)
        sections.append(Section(each, made, spot, partition_pool(topology, partition)))
    named = options["job-name"].value if "job-name" in options else data["name"]
    labels = pods.LABELS.fullmatch(options["comment"].value) if "comment" in options else None
    name = label(named, "job")
    if "job-name" in options and name != named:
        message = f'the job "{shorten(named)}" is called "{name}" here'
        findings.info(
            "W627", options["job-name"].spot, message, "names of objects are lower case letters, digits, dashes"
        )
    body = data["body"]
    return Script(
        labels[1] if labels and labels[1] == labels[2] else name,
        tuple(sections),
        body["text"],
        body["line"],
        data["interpreter"],
        data["variables"].get(IMAGE, ""),
        _queue(tuple(sections), findings),
        _exported(options, data["variables"], findings),
        pods.remarks(data["comments"], body["text"]) if labels else None,
        topology,
    )


def _sections(directives: list[Any], findings: Findings) -> list[dict[str, Given]]:
    found: list[dict[str, Given]] = [{}]
    for each in directives:
        words = [(word["text"], Position(each["line"], word["column"])) for word in each["words"]]
        if words[0][0] in SEPARATORS:
            found.append({})
            continue
        options, at = parse(words, DIRECTIVES, findings)
        if at < len(words):
            word, spot = words[at]
            hint = "options begin with a dash; a value with blanks needs quotes"
            findings.error("W600", spot, f'"{shorten(word)}" is no option', hint)
        found[-1].update(options)
    return found


def _starts(directives: list[Any]) -> list[Position]:
    """Where each section begins."""
    lines = [each["line"] for each in directives if each["words"][0]["text"] in SEPARATORS]
    return [Position(directives[0]["line"] if directives else 1), *map(Position, lines)]


def _queue(sections: tuple[Section, ...], findings: Findings) -> str:
    """The queue that a partition is; none where it stands for a pool. W604: one of several partitions."""
    given = sections[0].options.get("partition")
    if given is None or sections[0].pool:
        return ""
    first, comma, _ = given.value.partition(",")
    if comma:
        message = f'--partition: Slurm takes whichever of {given.value} is free first; here it is "{first}"'
        findings.warning("W604", given.spot, message, "name one")
    return first


def _exported(options: Mapping[str, Given], variables: Mapping[str, str], findings: Findings) -> dict[str, str]:
    """What the environment gives the body: --export, and --set on the command line."""
    found: dict[str, str] = {}
    if given := options.get("export"):
        for part in re.findall(r"((?:[^,\"']|\"[^\"]*\"|'[^']*')+)", given.value):
            name, equals, value = part.strip().partition("=")
            if equals:
                found[name] = value.strip("\"'")
            elif name not in ("ALL", "NONE", "NIL") and name not in variables:
                hint = f"give it a value: --set {name}=VALUE"
                findings.error("W609", given.spot, f"--export takes ${name} from the login node", hint)
    return {**found, **{name: value for name, value in variables.items() if name != IMAGE}}


def slurm_variables(script_: Script) -> dict[str, Value]:
    """Slurm's own variables in the batch shell (`man sbatch`, output environment variables)."""
    first, options = script_.first.shape, script_.first.options
    node = mark(NODE, "0.0")
    found: dict[str, Value] = {
        **dict.fromkeys(("SLURM_JOB_ID", "SLURM_JOBID", "SLURM_ARRAY_JOB_ID"), mark(JOB)),
        **dict.fromkeys(("SLURM_JOB_NODELIST", "SLURM_NODELIST"), mark(NODES, "0")),
        **dict.fromkeys(("SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID"), mark(RANK)),
        **dict.fromkeys(("SLURMD_NODENAME", "HOSTNAME"), node),
        **dict.fromkeys(("SLURM_NNODES", "SLURM_JOB_NUM_NODES"), str(first.nodes)),
        **dict.fromkeys(("SLURM_NTASKS", "SLURM_NPROCS"), str(first.tasks)),
        "SLURM_JOB_NAME": script_.name,
        "SLURM_RESTART_COUNT": "0",
    }
    per_node = first.per_node
    given: dict[str, Value] = {
        "ntasks-per-node": str(per_node),
        "cpus-per-task": str(first.cpus),
        "gpus-per-node": str(first.gpus * per_node),
        "partition": options["partition"].value if "partition" in options else "",
        "account": options["account"].value if "account" in options else "",
    }
    names = {"partition": "SLURM_JOB_PARTITION", "account": "SLURM_JOB_ACCOUNT"}
    for name, value in given.items():
        if name in options:
            found[names.get(name, "SLURM_" + name.upper().replace("-", "_"))] = value
    if first.gpus:
        found["SLURM_GPUS_ON_NODE"] = str(first.gpus * per_node)
        found["SLURM_GPUS"] = str(first.gpus * first.tasks)
    if first.cpus:
        found["SLURM_CPUS_ON_NODE"] = str(first.cpus * per_node)
    if "chdir" in options:
        found["SLURM_SUBMIT_DIR"] = found["PWD"] = options["chdir"].value
    for number, section in enumerate(script_.sections):
        found[f"\0nodes{number}"] = str(section.shape.nodes)
        found[f"SLURM_JOB_NODELIST_HET_GROUP_{number}"] = mark(NODES, str(number))
    return found
