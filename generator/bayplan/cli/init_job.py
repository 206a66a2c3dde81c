"""The workflow of `bayplan init`: what its options request, or the richest one that the cluster and scheduler allow."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from textwrap import indent, wrap
from typing import NamedTuple

from bayplan import pipeline
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import Diagnostic, error, has_errors
from bayplan.core.phrases import count, suggest
from bayplan.kube import quantity
from bayplan.kube.vendors import GIB
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.pipeline import Request
from bayplan.report import Batch
from bayplan.report.findings import escape
from bayplan.text.document import read
from bayplan.text.emit import quoted, scalar

WORKFLOW, QUEUE, IMAGE = "workflow.yaml", "research", "nvcr.io/nvidia/pytorch:25.08-py3"
PROCESSES = re.compile(r"--nproc[-_]per[-_]node[= ](\d{1,4})(?!\d)")
MOST = 1_000_000


class Job(NamedTuple):
    """What the options request. 0 and "" are not set."""

    command: tuple[str, ...] = ()
    image: str = ""
    nodes: int = 0
    groups: tuple[int, int] = (0, 0)  # how many, and the pods of each
    level: str = ""  # of a domain for each group
    port: int = 0
    trials: int = 0
    queue: str = ""
    pool: str = ""

    @property
    def name(self) -> str:
        """Of the workflow."""
        return "serve" if self.port else "sweep" if self.trials else "train" if self.command else "pretrain"


def job_of(args: Arguments) -> tuple[Job, list[Diagnostic]]:
    """The job of a command line, and A920 for what is wrong with it. On a terminal, the user can type the image."""
    wrong: list[Diagnostic] = []

    def number(key: str) -> int:
        found = quantity.whole(args.value(key), 7)
        if args.has(key) and not 0 < found <= (65535 if key == "serve" else MOST):
            wrong.append(_refused(key, f'--{key} takes a positive number, not "{args.value(key)}"', f"write --{key} 2"))
        return found

    command, nodes, port, trials = args.values("--"), number("nodes"), number("serve"), number("trials")
    sizes = re.fullmatch(r"(\d{1,6})x(\d{1,6})", args.value("groups"))
    groups = (int(sizes[1]), int(sizes[2])) if sizes else (0, 0)
    if args.has("groups") and 0 in groups:
        message = f'--groups takes GROUPSxPODS, not "{args.value("groups")}"'
        wrong.append(_refused("groups", message, "write --groups 4x16 for 4 groups of 16 pods"))
    if args.has("in") and not args.has("groups"):
        wrong.append(_refused("in", "--in is the level of the groups of --groups", "add --groups, or remove --in"))
    several = [key for key in ("nodes", "groups", "trials") if args.has(key)]
    several = ["serve", "trials"] if port and trials else several
    if len(several) > 1:
        message = f"--{several[0]} and --{several[1]} contradict each other"
        wrong.append(_refused(several[1], message, "remove one of the two"))
    asked = next((key for key in ("image", "nodes", "serve", "trials", "groups") if args.has(key)), "")
    if asked and not command:
        message = f"--{asked} describes a job, and the command line has no command for it"
        wrong.append(_refused(asked, message, "add it after --, such as: -- torchrun train.py"))
    image = args.value("image") or (_answer("Image of the containers: ") if command and not wrong else "")
    if command and not image and not wrong:
        wrong.append(_refused("image", "the command has no image", "add --image IMAGE"))
    level, queue, pool = (args.value(key) for key in ("in", "queue", "pool"))
    return Job(command, image, nodes, groups, level, port, trials, queue, pool), wrong


def _refused(key: str, message: str, hint: str) -> Diagnostic:
    return error("A920", ("argument", f"--{key}"), message, hint=hint)


def _answer(question: str) -> str:
    """What the user types on a terminal; empty elsewhere."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty()):
        return ""
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip()


class Layout(NamedTuple):
    """The groups of a job in a pool: `groups` of `pods`, one a node. An empty level: none."""

    outer: str = ""
    inner: str = ""
    groups: int = 1
    pods: int = 1


GROUPS = 4
"""The most groups of the workflow."""


def misplaced(job: Job, cluster: ClusterTopology) -> Iterator[Diagnostic]:
    """A920: a pool or a level that the cluster does not have."""
    if job.pool and not cluster.pool(job.pool):
        hint = suggest(job.pool, [pool.name for pool in cluster.pools], "pools")
        yield _refused("pool", f'the cluster has no pool "{job.pool}"', hint)
    levels = [level.name for pool in cluster.pools for level in pool.levels]
    if job.level and job.level not in levels:
        yield _refused("in", f'the cluster has no level "{job.level}"', suggest(job.level, levels, "levels"))


def requested(job: Job, pool: Pool) -> Layout:
    """The layout of a job: in the finest domain with room for it, or groups of the requested level."""
    groups, pods = job.groups if job.groups[0] else (1, job.nodes or 1)
    names = [level.name for level in pool.levels]
    if job.groups[0]:
        depth = names.index(job.level) + 1 if job.level in names else len(names)
        rooms = _rooms(pool, depth)
        for above in range(depth - 1, 0, -1):
            parents = [path[:above] for path, room in rooms.items() for _ in range(room // pods)]
            if any(parents.count(parent) >= groups for parent in set(parents)):
                return Layout(names[above - 1], "".join(names[depth - 1 : depth]), groups, pods)
        return Layout("", "".join(names[depth - 1 : depth]), groups, pods)
    depths = range(len(names), 0, -1) if pods > 1 else ()
    fitting = (names[depth - 1] for depth in depths if max(_rooms(pool, depth).values(), default=0) >= pods)
    return Layout("", next(fitting, ""), 1, pods)


def _rooms(pool: Pool, depth: int) -> dict[tuple[str, ...], int]:
    """Each domain of a level, by its path -> the nodes that plans may use."""
    unusable = pool.unusable_nodes()
    rooms: dict[tuple[str, ...], int] = {}
    for domain in pool.domains:
        path = domain.path[:depth]
        rooms[path] = rooms.get(path, 0) + len(set(domain.nodes) - unusable)
    planned = pool.levels[depth - 1].plan
    return {path: min(room, planned or room) for path, room in rooms.items()}


def layout(pool: Pool) -> Layout:
    """Groups of a whole finest domain, such as a rack, in one domain of the level above with room for two of them."""
    unusable = pool.unusable_nodes()
    for depth in range(len(pool.levels), 0, -1):
        inner, rooms = pool.levels[depth - 1], _rooms(pool, depth)
        if max(rooms.values(), default=0) < 2:
            continue
        for above in range(depth - 1, -1, -1):
            outer = pool.levels[above - 1].name if above else ""
            _, groups, pods = max(_fill(rooms, above))
            if groups > 1:
                return Layout(outer, inner.name, groups, pods)
        return Layout("", inner.name, 1, max(rooms.values()))
    return Layout("", "", 1, max(1, len(set(pool.nodes()) - unusable)))


def _fill(rooms: Mapping[tuple[str, ...], int], above: int) -> Iterator[tuple[int, int, int]]:
    """(pods of all groups, groups, pods of each group) in every domain of the level above."""
    for parent in {path[:above] for path in rooms}:
        sizes = sorted((room for path, room in rooms.items() if path[:above] == parent), reverse=True)
        yield from ((groups * pods, groups, pods) for groups, pods in enumerate(sizes[:GROUPS], 1) if pods > 1)


def fitting(topology: str, scheduler: str, job: Job, batches: list[Batch]) -> str:
    """The text of the job's workflow. Without a job, the richest one that the scheduler supports.

    It is the first without errors and warnings; otherwise the one with the fewest, and they are reported.
    """
    (document,) = read("topology.yaml", topology.encode(), "topology").value or ()
    judged = pipeline.check_topology(document)
    cluster = judged[0].value
    if cluster is None:
        raise AssertionError(judged[0].diagnostics)
    if wrong := tuple(misplaced(job, cluster)):
        batches.append(Batch(wrong))
        return ""
    biggest = max(cluster.pools, key=lambda each: (each.node.accelerators > 0, len(list(each.nodes()))))
    pool = cluster.pool(job.pool) or biggest
    queue = job.queue or next(iter(cluster.queue_names or ()), "") or cluster.defaults.get("queue", QUEUE)
    tried: list[tuple[str, Batch]] = []
    for (layout, domain), named in product(_choices(job, pool), (queue, "")):
        reasons = tried[0][1].diagnostics if tried else ()
        text = _comment(job, layout, reasons) + workflow(job, layout, _pods(cluster, pool, job, layout), domain, named)
        (one,) = read(WORKFLOW, text.encode(), "workflow").value or ()
        outcome, origins = pipeline.compile(Request(one, document, scheduler, cluster_objects=True, judged=judged))
        lost = tuple(d for d in outcome.diagnostics if d.severity != "info" and d not in judged[0].diagnostics)
        if not lost:
            return text
        tried.append((text, Batch(lost, {"workflow": one, "topology": document}, origins)))
    text, batch = min(tried, key=lambda each: (has_errors(each[1].diagnostics), len(each[1].diagnostics)))
    batches.append(batch)
    return text


def _choices(job: Job, pool: Pool) -> list[tuple[Layout, str]]:
    """Layouts with a `computeDomain`, the best first."""
    if job.command:
        wanted = requested(job, pool)
        anywhere = [] if wanted.groups > 1 else [wanted._replace(inner="")]
        return [(wanted, ""), (wanted, "never"), *((each, "") for each in anywhere)]
    whole = layout(pool)
    placed = (whole, whole._replace(outer=""), whole._replace(outer="", groups=1))
    smaller = ((Layout(pods=whole.pods), ""), (Layout(), ""))
    return [*dict.fromkeys((*((each, domain) for domain in ("", "never") for each in placed), *smaller))]


def _comment(job: Job, layout: Layout, reasons: Sequence[Diagnostic]) -> str:
    """What the workflow requests, and why it does not request more."""
    about = count(layout.pods, "pod")
    if layout.groups > 1:
        about = f"{count(layout.groups, 'group')} of {about}, each group in one {layout.inner}"
        about += f" and all in one {layout.outer}" if layout.outer else ""
    elif layout.inner:
        about += f" in one {layout.inner}"
    about = f"{count(job.trials, 'trial')}, each of one pod" if job.trials else f"{about}. Pods use whole nodes"
    lines = [f"{about}."]
    if reasons:
        lines.append("It requests no more, because:")
        for reason in dict.fromkeys(each.message for each in reasons):
            lines += wrap(f"- {reason}", 110, subsequent_indent="  ", break_on_hyphens=False)
    return "".join(f"# {escape(line)}\n" for line in lines)


def workflow(job: Job, layout: Layout, pods: str, domain: str, queue: str) -> str:
    """The text of a workflow. `domain`: its computeDomain, unless empty."""
    gang = (f"computeDomain: {domain}\n" if domain else "") + pods
    if layout.groups > 1:
        groups = f"groups:\n- name: replica\n  replicas: {layout.groups}\n"
        gang = f"{groups}{_required(layout.inner, '  ')}{indent(gang, '  ')}"
    first = f"  queue: {queue}  # a queue of your cluster\n" if queue else ""
    kind = f"    replicas: {job.trials}\n" if job.trials else ""
    kind = "    lifecycle: service\n    service: {}\n" if job.port else kind
    name, why = (job.name, "") if job.port or job.trials else ("train", "  # its pods start together or not at all")
    return f"""\
apiVersion: bayplan.dev/v1alpha1
kind: Workflow
metadata: {{name: {job.name}}}
spec:
{first}\
  gangs:
  - name: {name}{why}
{kind}{_required(layout.outer if layout.groups > 1 else layout.inner, "    ")}{indent(gang, "    ")}"""


def _required(level: str, margin: str) -> str:
    return f"{margin}placement: {{required: {level}}}\n" if level else ""


def _pods(cluster: ClusterTopology, pool: Pool, job: Job, layout: Layout) -> str:
    """The podSet. Each pod takes all accelerators of its node, or one for each process, and 3/4 of its share of CPU and
    memory."""
    whole = pool.node.accelerators
    processes = PROCESSES.search(" ".join(job.command))
    cards = min(int(processes[1]) if processes else 1 if job.trials else whole, whole)
    share = cards / whole if whole else 1
    cpu, memory = (int(pool.node.resources.get(name, 0) * share * 3) // 4000 for name in ("cpu", "memory"))
    amounts = [f'cpu: "{cpu}"'] * (cpu > 0) + [f"memory: {memory // GIB}Gi"] * (memory >= GIB)
    lines = ["podSets:", "- name: worker", f"  replicas: {layout.pods}{'  # pods of each group' * (layout.groups > 1)}"]
    lines += [f"  pool: {pool.name}"] * (len(cluster.pools) > 1)
    lines += [f"  accelerator: {{name: {pool.node.accelerator}, count: {cards}}}"] * (cards > 0)
    lines += [f"  resources: {{{', '.join(amounts)}}}"] * bool(amounts)
    if job.command:
        lines += [f"  image: {_word(job.image)}", f"  command: [{', '.join(map(_word, job.command))}]"]
    else:
        started = f"torchrun, --nproc-per-node={whole}, train.py" if whole else "python, train.py"
        lines.append("  # Your image and command. bayplan sets MASTER_ADDR and the ranks for torchrun.")
        lines += [f"  image: {IMAGE if whole else 'python:3.13'}", f"  command: [{started}]"]
    if job.port:
        lines += [f"  ports: {{http: {job.port}}}", "  readinessProbe: {tcpSocket: {port: http}}"]
    return "".join(f"{line}\n" for line in lines)


def _word(text: str) -> str:
    """The string in a list in one line."""
    return scalar(text) if re.fullmatch(r"[-\w./=:+@%]+", text) else quoted(text)
