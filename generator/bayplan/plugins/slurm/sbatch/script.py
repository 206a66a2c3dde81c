"""A script as a whole: its sections, the initial variables of its body, and the properties of the whole job."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from bayplan.plugin import ClusterTopology, Pool, shorten
from bayplan.plugins.slurm.sbatch import pods
from bayplan.plugins.slurm.sbatch.body import check_options
from bayplan.plugins.slurm.sbatch.expansion import JOB, NODE, NODES, RANK, mark
from bayplan.plugins.slurm.sbatch.options import DIRECTIVES, Findings, Position
from bayplan.plugins.slurm.sbatch.pods import label
from bayplan.plugins.slurm.sbatch.shape import Shape, UsedOption, parse, report_options, shape

# Segments and switches of Slurm -> levels of the topology.
#
# A segment of at most one base block stays in one block (Slurm 25.11, `eval_nodes_block.c`). Blocks are the smallest
# domains. A larger segment stays in the smallest level that can hold it. --consolidate-segments keeps all segments in
# the next level that can hold the job. Without a topology the levels have the names that `bayplan topology` uses for
# Slurm files.

BLOCK, TOGETHER = "block", "aggregated-block"


class Levels(NamedTuple):
    """The names of levels for a segment, for a whole job, and for a leaf switch. `assumed`: not from a topology."""

    segment: str = BLOCK
    job: str = TOGETHER
    leaf: str = BLOCK
    assumed: bool = True


def pool_of(topology: ClusterTopology | None, name: str, kind: str, gpus: int) -> Pool | None:
    """The pool that a section runs in: the named one, or the only one that can hold it."""
    if topology is None:
        return None
    if name:
        return topology.pool(name)
    pools = [pool for pool in topology.pools if bool(pool.node.accelerators) == bool(gpus)] or list(topology.pools)
    named = [pool for pool in pools if kind and pool.node.accelerator == kind]
    candidates = named or pools
    return candidates[0] if len(candidates) == 1 else None


def partition_pool(topology: ClusterTopology | None, partition: str) -> str:
    """The pool of a Slurm partition, if the topology has one."""
    own = topology.schedulers.get("slurm", {}).get("pools", {}) if topology else {}
    pools = [name for name, settings in own.items() if settings.get("partition") == partition]
    if not pools and topology and topology.pool(partition) and partition not in (topology.queue_names or ()):
        pools = [partition]
    return pools[0] if len(pools) == 1 else ""


def levels(pool: Pool | None, segment: int, nodes: int) -> Levels:
    """The levels for segments of `segment` nodes in a job of `nodes` nodes."""
    if pool is None or not pool.levels:
        return Levels()
    largest = sizes(pool)
    names = [level.name for level in pool.levels]
    own = next((n for n in reversed(range(len(names))) if largest[n] >= segment), 0)
    whole = next((n for n in reversed(range(own)) if largest[n] >= nodes), max(0, own - 1))
    return Levels(names[own], names[whole], names[-1], False)


def sizes(pool: Pool) -> list[int]:
    """For each level, coarse to fine: the nodes that its largest domain can provide."""
    plan = pool.levels[-1].plan
    largest = []
    for depth in range(len(pool.levels)):
        nodes: Counter[tuple[str, ...]] = Counter()
        for row in pool.domains:
            nodes[row.path[: depth + 1]] += min(plan, len(row.nodes)) if plan else len(row.nodes)
        largest.append(max(nodes.values(), default=0))
    return largest


SEPARATORS = ("hetjob", "packjob")
IMAGE = "image"
"""The name in --set that is not a variable of the script."""


class Section(NamedTuple):
    """Directives between two `#SBATCH hetjob` lines, and the tasks that they request."""

    options: Mapping[str, UsedOption]
    shape: Shape
    spot: Position
    pool: str = ""


class Script(NamedTuple):
    """A script without the translation of its body."""

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
    site: Mapping[str, Any] = {}  # `schedulers.slurm.sbatch` of the topology

    @property
    def first(self) -> Section:
        """The first section, which has the options of the whole job."""
        return self.sections[0]


def script(data: Mapping[str, Any], topology: ClusterTopology | None, findings: Findings) -> Script | None:
    """The script, with its directives checked."""
    lines = _sections(data["directives"], findings)
    site = topology.schedulers.get("slurm", {}).get("sbatch", {}) if topology else {}
    variables = {**site.get("variables", {}), **data["variables"]}
    report_options([options for options, _ in lines], findings)
    check_options([options for options, _ in lines], findings)
    sections = []
    for options, spot in lines:
        partition = options["partition"].value if "partition" in options else ""
        sections.append(Section(options, shape(options, spot, findings), spot, partition_pool(topology, partition)))
    options = lines[0][0]
    job_name = options["job-name"].value if "job-name" in options else data["name"]
    labels = pods.LABELS.fullmatch(options["comment"].value) if "comment" in options else None
    name = label(job_name, "job")
    if "job-name" in options and name != job_name:
        message = f'the job "{shorten(job_name)}" gets the name "{name}"'
        hint = "use at most 40 lowercase letters, digits and hyphens"
        findings.info("W461", options["job-name"].spot, message, hint)
    body = data["body"]
    return Script(
        labels[1] if labels and labels[1] == labels[2] else name,
        tuple(sections),
        body["text"],
        body["line"],
        data["interpreter"],
        data["variables"].get(IMAGE, ""),
        _queue(tuple(sections), site.get("queues", {}), findings),
        _exported(options, variables, bool(re.search(r"\$\{?image\b", body["text"])), findings),
        pods.remarks(data["comments"], body["text"]) if labels else None,
        topology,
        site,
    )


def _sections(directives: list[Any], findings: Findings) -> list[tuple[dict[str, UsedOption], Position]]:
    """The options of each section, and where it begins."""
    start = Position(directives[0]["line"] if directives else 1)
    sections: list[tuple[dict[str, UsedOption], Position]] = [({}, start)]
    for each in directives:
        words = [(word["text"], Position(each["line"], word["column"])) for word in each["words"]]
        if words[0][0] in SEPARATORS:
            sections.append(({}, Position(each["line"])))
            continue
        options, at = parse(words, DIRECTIVES, findings)
        if at < len(words):
            word, spot = words[at]
            hint = "begin options with a dash, and put values with spaces in quotes"
            findings.error("W600", spot, f'"{shorten(word)}" is not an option', hint)
        sections[-1][0].update(options)
    return sections


def _queue(sections: tuple[Section, ...], queues: Mapping[str, str], findings: Findings) -> str:
    """The queue of a partition; none if the partition is a pool. W604: several partitions."""
    option = sections[0].options.get("partition")
    if option is None or sections[0].pool:
        return ""
    first, comma, _ = option.value.partition(",")
    if comma:
        message = f'bayplan uses only the partition "{first}" of {option.value}; Slurm uses the first free one'
        findings.warning("W604", option.spot, message, "name one partition")
    if first in queues:
        return queues[first]
    name = re.sub(r"[^a-z0-9.-]+", "-", first.lower()).strip("-.")[:63].strip("-.")
    if name != first:
        other = f"schedulers: {{slurm: {{sbatch: {{queues: {{{shorten(first)}: NAME}}}}}}}}"
        hint = f"create the queue under this name, or name another one in the topology: `{other}`"
        findings.info("W461", option.spot, f'the partition "{shorten(first)}" becomes the queue "{name}"', hint)
    return name


EXPORTED = re.compile(r"((?:[^,\"']|\"[^\"]*\"|'[^']*')+)")
"""The parts of --export, with quotes around commas."""


def _exported(
    options: Mapping[str, UsedOption], variables: Mapping[str, str], own_image: bool, findings: Findings
) -> dict[str, str]:
    """The environment of the body: --export, and --set on the command line. `own_image`: the body reads $image."""
    result: dict[str, str] = {}
    if option := options.get("export"):
        for part in EXPORTED.findall(option.value):
            name, equals, value = part.strip().partition("=")
            if equals:
                result[name] = value.strip("\"'")
            elif name not in ("ALL", "NONE", "NIL") and name not in variables:
                message = f"cannot evaluate ${name}: --export takes it from the login node"
                findings.error("W609", option.spot, message, f"use --set {name}=VALUE")
    return {**result, **{name: value for name, value in variables.items() if name != IMAGE or own_image}}


def slurm_variables(script: Script, section: int = 0) -> dict[str, str]:
    """Slurm's own variables in the batch shell (`man sbatch`, output environment variables), or of a section."""
    first, options = script.sections[section].shape, script.sections[section].options
    counts = [each.shape.nodes for each in script.sections]
    lists = [mark(NODES, str(n)) if nodes > 1 else mark(NODE, f"{n}.0") for n, nodes in enumerate(counts)]
    variables: dict[str, str] = {
        **dict.fromkeys(("SLURM_JOB_ID", "SLURM_JOBID", "SLURM_ARRAY_JOB_ID"), mark(JOB)),
        **dict.fromkeys(("SLURM_JOB_NODELIST", "SLURM_NODELIST"), lists[0]),
        **dict.fromkeys(("SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID"), mark(RANK)),
        **dict.fromkeys(("SLURMD_NODENAME", "HOSTNAME"), mark(NODE, "0.0")),
        **dict.fromkeys(("SLURM_NNODES", "SLURM_JOB_NUM_NODES"), str(first.nodes)),
        **dict.fromkeys(("SLURM_NTASKS", "SLURM_NPROCS"), str(first.tasks)),
        "SLURM_JOB_NAME": script.name,
        "SLURM_RESTART_COUNT": "0",
    }
    by_option = {
        "ntasks-per-node": ("SLURM_NTASKS_PER_NODE", str(first.per_node)),
        "cpus-per-task": ("SLURM_CPUS_PER_TASK", str(first.cpus)),
        "gpus-per-node": ("SLURM_GPUS_PER_NODE", str(first.gpus * first.per_node)),
        "partition": ("SLURM_JOB_PARTITION", options["partition"].value if "partition" in options else ""),
        "account": ("SLURM_JOB_ACCOUNT", options["account"].value if "account" in options else ""),
    }
    variables |= {variable: value for name, (variable, value) in by_option.items() if name in options}
    if first.gpus:
        variables["SLURM_GPUS_ON_NODE"] = str(first.gpus * first.per_node)
        variables["SLURM_GPUS"] = str(first.gpus * first.tasks)
    if first.cpus:
        variables["SLURM_CPUS_ON_NODE"] = str(first.cpus * first.per_node)
    if "chdir" in options and options["chdir"].value.startswith("/"):
        variables["SLURM_SUBMIT_DIR"] = variables["PWD"] = options["chdir"].value
    return variables | {f"SLURM_JOB_NODELIST_HET_GROUP_{n}": listed for n, listed in enumerate(lists)}
