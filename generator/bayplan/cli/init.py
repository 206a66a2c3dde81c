"""`bayplan init`: a workflow and a topology with comments, to start from. They render without changes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from textwrap import indent, wrap
from typing import NamedTuple

from bayplan import pipeline, schemas
from bayplan.backends import BACKENDS
from bayplan.cli import destination, output, output_folder, topology_import, topology_merging, topology_sources
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import Diagnostic, error, has_errors
from bayplan.core.package_data import data_text
from bayplan.core.phrases import count
from bayplan.kube.shell import operand
from bayplan.kube.vendors import GIB
from bayplan.model.target import KNOWN
from bayplan.model.topology import ClusterTopology, Pool
from bayplan.pipeline import Request
from bayplan.planning.selection import select_backend
from bayplan.report import Batch
from bayplan.report.findings import escape
from bayplan.text.document import read
from bayplan.topologies import native


class Machine(NamedTuple):
    """Nodes with one kind of accelerator. `rails`: network cards for RDMA. `nvlink`: the nodes of one NVLink domain."""

    vendor: str
    resource: str
    cards: int = 8
    cpu: str = "180"
    memory: str = "1800Gi"
    rails: int = 8
    nvlink: int = 0


MACHINES: Mapping[str, Machine] = {
    "a100": Machine("nvidia", "nvidia.com/gpu", cpu="120", memory="900Gi"),
    "l40s": Machine("nvidia", "nvidia.com/gpu", cpu="120", memory="900Gi", rails=2),
    "h100": Machine("nvidia", "nvidia.com/gpu"),
    "h200": Machine("nvidia", "nvidia.com/gpu"),
    "b200": Machine("nvidia", "nvidia.com/gpu", cpu="220", memory="3600Gi"),
    "b300": Machine("nvidia", "nvidia.com/gpu", cpu="220", memory="3600Gi"),
    "gb200": Machine("nvidia", "nvidia.com/gpu", 4, "140", "900Gi", rails=4, nvlink=18),
    "gb300": Machine("nvidia", "nvidia.com/gpu", 4, "140", "900Gi", rails=4, nvlink=18),
    "mi300x": Machine("amd", "amd.com/gpu"),
    "mi325x": Machine("amd", "amd.com/gpu"),
    "mi355x": Machine("amd", "amd.com/gpu", cpu="240", memory="2800Gi"),
    "ascend910": Machine("ascend", "huawei.com/Ascend910", memory="1400Gi", rails=0),
    "c500": Machine("metax", "metax-tech.com/gpu", cpu="120", memory="960Gi", rails=2),
    "mlu590": Machine("cambricon", "cambricon.com/mlu", memory="960Gi", rails=2),
    "k100": Machine("hygon", "hygon.com/dcunum", cpu="120", memory="960Gi", rails=2),
    "bi-v150": Machine("iluvatar", "iluvatar.ai/gpu", cpu="120", memory="960Gi", rails=2),
    "p800": Machine("kunlunxin", "kunlunxin.com/xpu", memory="960Gi", rails=8),
    "s60": Machine("enflame", "enflame.com/gcu", cpu="120", memory="960Gi", rails=2),
    "s5000": Machine("mthreads", "mthreads.com/gpu", memory="960Gi", rails=8),
}
"""Accelerator -> its usual nodes. Resources: the vendors' device plugins. CPU and memory leave room for DaemonSets."""

FILES, SCHEMAS = ("topology.yaml", "workflow.yaml"), ("cluster-topology", "workflow")
ACCELERATOR, SCHEDULER, QUEUE = "gb200", "kai", "research"


def run(args: Arguments) -> int:
    """Writes both files into the folder, or neither."""
    folder = args.words[0] if args.words else ""
    paths = [os.path.join(folder, name) for name in FILES]
    output_folder.remove_leftovers(folder)
    batches = [Batch(tuple(_wrong(args)))]
    if batches[0].diagnostics:
        return finish(args, batches)
    scheduler = args.value("scheduler", SCHEDULER)
    if args.has("from"):
        topology = _imported(args, scheduler, batches)
    else:
        topology = example(args.value("accelerator", ACCELERATOR), scheduler)
    if topology is None:
        return finish(args, batches)
    lines, schemas = _for_editors(paths)
    shown = (topology, fitting(topology, scheduler, batches))
    texts = {name: line + text for name, line, text in zip(FILES, lines, shown, strict=True)}
    batches.append(Batch(tuple(_existing(paths, tuple(texts.values())))))
    texts = {**schemas, **texts}  # a killed run leaves no file without its schema
    command = escape(f"bayplan render {operand(paths[1])} -t {operand(paths[0])} --cluster-objects")
    return finish(args, batches, lambda: output_folder.write_new(folder, texts) or output.write([f"{command}\n"]))


def _for_editors(paths: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The first line of each file, and the schemas that the project does not have yet, by their paths in the folder."""
    found = [destination.modeline(name, path) for name, path in zip(SCHEMAS, paths, strict=True)]
    own = [f"{destination.SCHEMAS}/{name}.json" for name in SCHEMAS]
    lines = [line or destination.modeline_of(path) for line, path in zip(found, own, strict=True)]
    added = zip(SCHEMAS, found, own, strict=True)
    return lines, {path: data_text("schemas", f"{name}.json") for name, line, path in added if not line}


def _wrong(args: Arguments) -> Iterator[Diagnostic]:
    """A903, A920: an unknown scheduler or accelerator, or contradicting options."""
    yield from select_backend(args.value("scheduler", SCHEDULER), None, ClusterTopology("", ()), BACKENDS).diagnostics
    accelerator, route = args.value("accelerator", ACCELERATOR), ("argument", "--accelerator")
    if accelerator not in MACHINES:
        hint = f"describe the nodes with --from, or use one of: {', '.join(MACHINES)}"
        yield error("A920", route, f'init does not know the accelerator "{accelerator}"', hint=hint)
    elif args.has("accelerator") and args.has("from"):
        contradiction = "--from and --accelerator contradict each other, because both describe the nodes"
        yield error("A920", route, contradiction, hint="remove one of the two")


def _existing(paths: Sequence[str], texts: Sequence[str]) -> Iterator[Diagnostic]:
    """O804: one of the files exists. If a killed run left only one of them, there is no error: init writes both."""
    existing = [pair for pair in zip(paths, texts, strict=True) if os.path.lexists(pair[0])]
    if len(existing) == 1 and output_folder.has_text(*existing[0]):
        return
    hint = "choose another folder: `bayplan init DIR`"
    for path, _ in existing:
        yield error("O804", (), f'"{path}" exists, and init does not overwrite files', hint=hint)


# The topology: usual nodes of an accelerator, or the nodes of a cluster.

SPINES, DOMAINS, NODES = 2, 4, 8
"""Of an example: spine switches, leaf switches or racks below each, and nodes below each leaf switch."""


def example(accelerator: str, scheduler: str) -> str:
    """The text of a topology with the usual nodes of an accelerator."""
    machine = MACHINES[accelerator]
    nodes, driver = machine.nvlink or NODES, ("draDriver",) if machine.nvlink else ()
    components = ("kubernetes", BACKENDS[scheduler].declared.component, "jobset", *driver)
    versions = ", ".join(f'{each}: "{KNOWN[each][-1]}"' for each in dict.fromkeys(components))
    if machine.nvlink:
        about, level = "NVLink racks", f"{{name: rack, label: nvidia.com/gpu.clique, nvlink: true, plan: {nodes - 2}}}"
        level += "  # plan: two spare nodes"
    else:
        about, level = "leaf switches", "{name: leaf, label: network.topology.nvidia.com/leaf}"
    paths = [f"s{spine}/s{spine}-{level[7]}{n}" for spine in range(1, SPINES + 1) for n in range(1, DOMAINS + 1)]
    domains = "".join(f'    - {{path: {path}, nodes: "{path[3:]}-n[01-{nodes:02}]"}}\n' for path in paths)
    return f"""\
# {len(paths)} {about} with {nodes} nodes each, below {SPINES} spine switches. Change it to match your cluster, or
# let `bayplan init --from nodes.json` write it from the output of `kubectl get nodes -o json`.
apiVersion: bayplan.dev/v1alpha1
kind: ClusterTopology
metadata: {{name: cluster}}
spec:
  versions: {{{versions}}}  # what your cluster runs
  defaults: {{scheduler: {scheduler}, namespace: default}}
  pools:
  - name: {accelerator}
    # What pods can use on a node: leave out what DaemonSets use.
    node: {{accelerator: {accelerator}, count: {machine.cards}, cpu: "{machine.cpu}", memory: {machine.memory}}}
    levels:  # labels of the nodes, coarse to fine
    - {{name: spine, label: network.topology.nvidia.com/spine}}
    - {level}
    domains:  # the values of these labels, and the nodes that have them
{domains}  accelerators:
    {accelerator}: {{vendor: {machine.vendor}, resources: {{count: {machine.resource}}}}}
{_fabric(machine.rails)}"""


def _fabric(rails: int) -> str:
    """The RDMA network cards of a node, as a comment: their networks and resources have other names in each cluster."""
    if not rails:
        return ""
    cards = "".join(
        f"    - {{network: default/rail-{n}, resource: nvidia.com/rail_{n}, hca: mlx5_{n}}}\n" for n in range(rails)
    )
    fabric = f"fabrics:\n  rdma:\n    kind: hostdevice\n    linkType: infiniband\n    rails:\n{cards}"
    return f"  # RDMA network cards, to which jobs of several nodes attach:\n{indent(fabric, '  # ')}"


def _imported(args: Arguments, scheduler: str, batches: list[Batch]) -> str | None:
    """The text of a topology that bayplan reads as `topology import` does. None: it has errors."""
    sources = args._replace(words=args.values("from"), options={})
    (picked, read_batches), options = topology_sources.pick(sources), topology_sources.read_options(sources)
    batches += read_batches
    ready = options.value if len(picked) == len(sources.words) else None
    merged = topology_merging.together(picked, ready, batches) if ready else None
    if merged is None:
        return None
    defaults = {"scheduler": scheduler, "namespace": "default", **merged.topology.defaults}
    topology = merged.topology._replace(defaults=defaults)
    data = native.write(topology)
    found = pipeline.topology_findings(merged.topology)
    if not any(pool.domains for pool in merged.topology.pools):
        hint = "save the nodes: `kubectl get nodes -o json > nodes.json`"
        found = (error("A934", ("topology",), f"{' and '.join(sources.words)} names no nodes", hint=hint),)
    found += () if has_errors(found) else schemas.validate(native.SCHEMA, data, "topology")
    batches.append(topology_merging.at_sources(found, merged, picked))
    named = escape(", ".join(sources.words))
    head = f"# From {named}. `bayplan topology import` has options for levels and spare nodes.\n"
    return None if has_errors(found) else head + topology_import.commented(topology, data)


# The workflow.


class Layout(NamedTuple):
    """The groups of a job in a pool: `groups` of `pods`, one a node. An empty level: none."""

    outer: str = ""
    inner: str = ""
    groups: int = 1
    pods: int = 1


GROUPS = 4
"""The most groups of the workflow."""


def layout(pool: Pool) -> Layout:
    """Groups of a whole finest domain, such as a rack, in one domain of the level above with room for two of them."""
    unusable = {node for nodes in pool.unusable.values() for node in nodes}
    for depth in range(len(pool.levels), 0, -1):
        inner, rooms = pool.levels[depth - 1], dict[tuple[str, ...], int]()
        for domain in pool.domains:
            usable = rooms.get(domain.path[:depth], 0) + len(set(domain.nodes) - unusable)
            rooms[domain.path[:depth]] = usable
        rooms = {path: min(room, inner.plan or room) for path, room in rooms.items()}
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


def fitting(topology: str, scheduler: str, batches: list[Batch]) -> str:
    """The text of the richest workflow that the scheduler supports: the first without errors and warnings.

    If there is none, the one with the fewest, and they are reported.
    """
    (document,) = read(FILES[0], topology.encode(), "topology").value or ()
    judged = pipeline.check_topology(document)
    cluster = judged[0].value
    if cluster is None:
        raise AssertionError(judged[0].diagnostics)
    pool = max(cluster.pools, key=lambda each: (each.node.accelerators > 0, len(list(each.nodes()))))
    queue = next(iter(cluster.queue_names or ()), "") or cluster.defaults.get("queue", QUEUE)
    whole = layout(pool)
    placed = (whole, whole._replace(outer=""), whole._replace(outer="", groups=1))
    smaller = ((Layout(pods=whole.pods), ""), (Layout(), ""))
    jobs = dict.fromkeys((*((job, domain) for domain in ("", "never") for job in placed), *smaller))
    tried: list[tuple[str, Batch]] = []
    for (job, domain), named in product(jobs, (queue, "")):
        reasons = tried[0][1].diagnostics if tried else ()
        text = _comment(job, reasons) + workflow(job, _pods(cluster, pool, job), domain, named)
        (one,) = read(FILES[1], text.encode(), "workflow").value or ()
        outcome, origins = pipeline.compile(Request(one, document, scheduler, cluster_objects=True, judged=judged))
        lost = tuple(d for d in outcome.diagnostics if d.severity != "info" and d not in judged[0].diagnostics)
        if not lost:
            return text
        tried.append((text, Batch(lost, {"workflow": one, "topology": document}, origins)))
    text, batch = min(tried, key=lambda each: (has_errors(each[1].diagnostics), len(each[1].diagnostics)))
    batches.append(batch)
    return text


def _comment(job: Layout, reasons: Sequence[Diagnostic]) -> str:
    """What the workflow requests, and why it does not request more."""
    about = count(job.pods, "pod")
    if job.groups > 1:
        about = f"{count(job.groups, 'group')} of {about}, each group in one {job.inner}"
        about += f" and all in one {job.outer}" if job.outer else ""
    elif job.inner:
        about += f" in one {job.inner}"
    lines = [f"{about}. Pods use whole nodes."]
    if reasons:
        lines.append("It requests no more, because:")
    for reason in dict.fromkeys(each.message for each in reasons):
        lines += wrap(f"- {reason}", 110, subsequent_indent="  ", break_on_hyphens=False)
    return "".join(f"# {escape(line)}\n" for line in lines)


def workflow(job: Layout, pods: str, domain: str, queue: str) -> str:
    """The text of a workflow. `domain`: its computeDomain, unless empty."""
    share = f"computeDomain: {domain}\n" if domain else ""
    gang = share + pods
    if job.groups > 1:
        gang = f"groups:\n- name: replica\n  replicas: {job.groups}\n{_required(job.inner, '  ')}{indent(gang, '  ')}"
    first = f"  queue: {queue}  # a queue of your cluster\n" if queue else ""
    return f"""\
apiVersion: bayplan.dev/v1alpha1
kind: Workflow
metadata: {{name: pretrain}}
spec:
{first}\
  gangs:
  - name: train  # its pods start together or not at all
{_required(job.outer if job.groups > 1 else job.inner, "    ")}{indent(gang, "    ")}"""


def _required(level: str, margin: str) -> str:
    return f"{margin}placement: {{required: {level}}}\n" if level else ""


def _pods(cluster: ClusterTopology, pool: Pool, job: Layout) -> str:
    """The podSet. Each pod takes all accelerators of its node, and 3/4 of CPU and memory."""
    node = pool.node
    cpu, memory = (node.resources.get(name, 0) * 3 // 4000 for name in ("cpu", "memory"))
    amounts = [f'cpu: "{cpu}"'] * (cpu > 0) + [f"memory: {memory // GIB}Gi"] * (memory >= GIB)
    lines = ["podSets:", "- name: worker", f"  replicas: {job.pods}{'  # pods of each group' * (job.groups > 1)}"]
    lines += [f"  pool: {pool.name}"] * (len(cluster.pools) > 1)
    if node.accelerators:
        lines.append(f"  accelerator: {{name: {node.accelerator}, count: {node.accelerators}}}")
    lines += [f"  resources: {{{', '.join(amounts)}}}"] * bool(amounts)
    lines.append("  # Your image and command. bayplan sets MASTER_ADDR and the ranks for torchrun.")
    if node.accelerators:
        lines.append("  image: nvcr.io/nvidia/pytorch:25.08-py3")
        lines.append(f"  command: [torchrun, --nproc-per-node={node.accelerators}, train.py]")
    else:
        lines += ["  image: python:3.13", "  command: [python, train.py]"]
    lines.append("  shm: 64Gi  # the size of /dev/shm")
    return "".join(f"{line}\n" for line in lines)
