"""`bayplan init`: a workflow and a topology with comments, to start from. They render without changes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from textwrap import indent
from typing import NamedTuple

from bayplan import pipeline, schemas
from bayplan.backends import BACKENDS
from bayplan.cli import (
    destination,
    init_job,
    output,
    output_folder,
    topology_import,
    topology_merging,
    topology_sources,
)
from bayplan.cli.finish import finish
from bayplan.cli.options import Arguments
from bayplan.core.diagnostics import Diagnostic, error, has_errors
from bayplan.core.package_data import data_text
from bayplan.kube.shell import operand
from bayplan.model.backend import Cluster
from bayplan.model.target import KNOWN
from bayplan.model.topology import ClusterTopology
from bayplan.planning.selection import select_backend
from bayplan.report import Batch
from bayplan.report.findings import escape
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

FILES, SCHEMAS = ("topology.yaml", "workflow.yaml", "bayplan.yaml"), ("cluster-topology", "workflow", "project")
ACCELERATOR, SCHEDULER = "gb200", "kai"


def run(args: Arguments) -> int:
    """Writes all files into the folder, or none."""
    folder = args.words[0] if args.words else ""
    paths = [os.path.join(folder, name) for name in FILES]
    output_folder.remove_leftovers(folder)
    wrong = list(_wrong(args))
    job, misused = init_job.job_of(args)
    batches = [Batch((*wrong, *misused))]
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
    text = init_job.fitting(topology, scheduler, job, batches)
    if not text:
        return finish(args, batches)
    shown = (topology, text, project(scheduler))
    texts = {name: line + text for name, line, text in zip(FILES, lines, shown, strict=True)}
    batches.append(Batch(tuple(_existing(paths, tuple(texts.values())))))
    texts = {**schemas, **texts}  # a killed run leaves no file without its schema
    beside = f" -t {operand(paths[0])}" if folder else ""
    command = escape(f"bayplan render {operand(paths[1])}{beside} --cluster-objects")
    return finish(args, batches, lambda: output_folder.write_new(folder, texts) or output.write([f"{command}\n"]))


def _for_editors(paths: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The first line of each file, and the schemas that the project does not have yet, by their paths in the folder."""
    found = [destination.modeline(name, path) for name, path in zip(SCHEMAS, paths, strict=True)]
    own = [f"{destination.SCHEMAS}/{name}.json" for name in SCHEMAS]
    lines = [line or destination.modeline_of(path) for line, path in zip(found, own, strict=True)]
    added = zip(SCHEMAS, found, own, strict=True)
    return lines, {path: data_text("schemas", f"{name}.json") for name, line, path in added if not line}


def _wrong(args: Arguments) -> Iterator[Diagnostic]:
    """A901, A920: an unknown scheduler or accelerator, or contradicting options."""
    yield from select_backend(args.value("scheduler", SCHEDULER), None, ClusterTopology("", ()), BACKENDS).diagnostics
    accelerator, route = args.value("accelerator", ACCELERATOR), ("argument", "--accelerator")
    if accelerator not in MACHINES:
        hint = f"describe the nodes with --from, or use one of: {', '.join(MACHINES)}"
        yield error("A920", route, f'init does not know the accelerator "{accelerator}"', hint=hint)
    elif args.has("accelerator") and args.has("from"):
        contradiction = "--from and --accelerator contradict each other, because both describe the nodes"
        yield error("A920", route, contradiction, hint="remove one of the two")


def _existing(paths: Sequence[str], texts: Sequence[str]) -> Iterator[Diagnostic]:
    """O804: one of the files exists. If a killed run left only some of them, there is no error: init writes all."""
    existing = [pair for pair in zip(paths, texts, strict=True) if os.path.lexists(pair[0])]
    if len(existing) < len(paths) and all(output_folder.has_text(*pair) for pair in existing):
        return
    hint = "choose another folder: `bayplan init DIR`"
    for path, _ in existing:
        yield error("O804", (), f'"{path}" exists, and init does not overwrite files', hint=hint)


def project(scheduler: str) -> str:
    """The text of the project file: what `bayplan generate` writes."""
    export = f"  - {{export: {scheduler}, to: cluster/}}\n" if BACKENDS[scheduler].cluster != Cluster() else ""
    return f"""\
# The cluster of this folder, and the files that `bayplan generate` writes.
apiVersion: bayplan.dev/v1alpha1
kind: Project
spec:
  topology: topology.yaml
  outputs:
  - {{workflows: [workflow.yaml], to: manifests/}}
{export}"""


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
        found = (error("T516", ("topology",), f"{' and '.join(sources.words)} names no nodes", hint=hint),)
    found += () if has_errors(found) else schemas.validate(native.SCHEMA, data, "topology")
    batches.append(topology_merging.at_sources(found, merged, picked))
    named = escape(", ".join(sources.words))
    head = f"# From {named}. `bayplan topology import` has options for levels and spare nodes.\n"
    return None if has_errors(found) else head + topology_import.commented(topology, data)
