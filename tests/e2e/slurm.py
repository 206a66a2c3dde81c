"""A case as slurmctld sees it, and which nodes its own code gives to the tasks of the batch scripts.

slurmctld runs for each stage, without slurmd: jobs get their nodes, which then never power up. A document is a script's
`#SBATCH` options by section, with the podSet instance of each task, or the topology.yaml.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from bayplan.model.topology import HOSTNAME_LABEL, ClusterTopology, Pool
from bayplan.pipeline import Compiled
from bayplan.plugins.slurm.backend.jobs import jobs
from bayplan.plugins.slurm.backend.needs import prove
from bayplan.text import File
from bayplan.topologies import hostlist
from e2e.mutations import count, more
from e2e.pods import Folded, Member
from e2e.scheduler import (
    BrokenError,
    Case,
    Documents,
    Mutation,
    Object,
    Release,
    Scheduler,
    World,
    counted,
    edited,
    removed,
)
from oracle.slurm import scripts_in
from tools.data import parse
from tools.slurm_job import sections

JOB, TOPOLOGY = "sbatch", "topology.yaml"

CONFIGURATION = """
ClusterName=replay
SlurmctldHost=localhost(127.0.0.1)
CommunicationParameters=NoCtldInAddrAny
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/pgid
MpiDefault=none
PriorityType=priority/basic
SwitchType=switch/nvidia_imex
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=1
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1,bf_hetjob_immediate
TopologyParam=BlockAsNodeRank
GresTypes=gpu
ResumeProgram=/bin/true
SuspendProgram=/bin/true
SuspendTime=INFINITE
ResumeTimeout=36000
SlurmctldDebug=info
DebugFlags=Backfill
"""

PLENTY = {"cpu": 10_000, "memory": 2**29, "ephemeral-storage": 2**29}
"""CPUs and MiB, for what the topology does not state and which then does not limit."""

QUIET = 4.0
"""Seconds after the last job that got nodes; then the others count as not started. Slurm tries again each second."""


def read(compiled: Compiled) -> Documents:
    """The scripts and the topology.yaml."""
    made = {job.gang.name: job for job in jobs(compiled.planned.plan, compiled.planned.target)}
    files = [each for each in compiled.documents if isinstance(each, File)]
    return [each for file in files for each in (_topology(file) if file.name == TOPOLOGY else _scripts(file, made))]


def _topology(file: File) -> Iterator[Object]:
    yield {"kind": TOPOLOGY, "topologies": parse(file.text)}


def _scripts(file: File, made: Mapping[str, Any]) -> Iterator[Object]:
    for text in scripts_in(file.text):
        options = sections(text)
        job = made[options[0]["job-name"]]
        parts = [
            {
                "options": dict(own),
                "pool": section.first.pool,
                "tasks": [leaf.pods.name for leaf in section.leaves for _ in range(leaf.pods.replicas)],
            }
            for own, section in zip(options, job.sections, strict=True)
        ]
        body = [line for line in text.splitlines() if not line.startswith("#SBATCH")]
        yield {"kind": JOB, "gang": job.gang.name, "sections": parts, "body": body}


def members(documents: Documents, _folded: Folded | None = None) -> list[Member]:
    """A pod for each task."""
    found = []
    for document in documents:
        seen: dict[str, int] = {}
        for pods in chain.from_iterable(each["tasks"] for each in document.get("sections", ())):
            seen[pods] = number = seen.get(pods, -1) + 1
            body = {"metadata": {"name": f"{document['gang']}-{pods}-{number}"}, "spec": {}}
            found.append(Member(document["gang"], pods, body, pods))
    return found


def bind(world: World, release: Release) -> Mapping[str, str]:
    """Task -> node."""
    names: dict[str, dict[str, list[Member]]] = {}
    for member in world.members:
        names.setdefault(member.gang, {}).setdefault(member.pods, []).append(member)
    scripts = [each for each in world.documents if each["kind"] == JOB and each["gang"] in names]
    submitted = [part for each in scripts for part in _submitted(each, names[each["gang"]])]
    with slurmctld(world, release) as command:
        refused = {number for number, (text, _) in enumerate(submitted) if not _submit(text, number, command)}
        nodes = _nodes(len(submitted) - len(refused), command)
    found: dict[str, str] = {}
    for number, (_, parts) in enumerate(submitted):
        for offset, (each, tasks) in enumerate(parts):
            hosts = nodes.get((number, offset), ())
            found.update((task, hosts[place // each]) for place, task in enumerate(tasks) if place // each < len(hosts))
    return found


Parts = Sequence[tuple[int, Sequence[str]]]
"""For each section, how many tasks a node has, and the names of the tasks."""


def _submitted(script: Mapping[str, Any], names: Mapping[str, Sequence[Member]]) -> Iterator[tuple[str, Parts]]:
    """The script, or one with a single task for each pod that is pinned to a node."""
    left = {pods: iter(each) for pods, each in names.items()}
    parts = [(section, [next(left[pods]) for pods in section["tasks"]]) for section in script["sections"]]
    if not any(task.body["spec"] for _, tasks in parts for task in tasks):
        placed = [(int(section["options"]["ntasks-per-node"]), [one.name for one in tasks]) for section, tasks in parts]
        yield _text([section["options"] for section, _ in parts], script["body"]), placed
        return
    for section, tasks in parts:
        for task in tasks:
            options = _single(section["options"], task.body["spec"]["nodeSelector"][HOSTNAME_LABEL])
            yield _text([options], script["body"]), [(1, [task.name])]


def _single(options: Mapping[str, str], node: str) -> dict[str, str]:
    """The options of one task of a section, on that node. `--exclusive` is left out: the proof does not require it."""
    each = int(options["ntasks-per-node"])
    kept = {key: options[key] for key in ("partition", "cpus-per-task") if key in options}
    shares = {key: _share(options[key], each) for key in ("gpus-per-node", "mem", "tmp") if key in options}
    return {**kept, **shares, "nodes": "1", "ntasks-per-node": "1", "nodelist": node}


def _share(amount: str, tasks: int) -> str:
    """A task's part of what a section requests on each node."""
    number, unit = re.fullmatch(r"(\d+)([MG]?)", amount).groups()  # type: ignore[union-attr]
    return f"{int(number) * 1024 // tasks}M" if unit == "G" else f"{int(number) // tasks}{unit}"


def _text(parts: Iterable[Mapping[str, str]], body: Sequence[str]) -> str:
    lines = []
    for number, options in enumerate(parts):
        lines += ["#SBATCH hetjob"] if number else []
        lines += (f"#SBATCH --{key}={value}" if value else f"#SBATCH --{key}" for key, value in options.items())
    return "\n".join([body[0], *lines, *body[1:], ""])


# slurmctld

Command = Callable[..., subprocess.CompletedProcess[str]]


@contextmanager
def slurmctld(world: World, release: Release) -> Iterator[Command]:
    """slurmctld on a free port, with a folder of its own; and how to run its commands."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        home = Path(folder)
        free.bind(("127.0.0.1", 0))
        (home / "slurm.conf").write_text("\n".join(_configuration(world, release, home, free.getsockname()[1])))
        (document,) = (each for each in world.documents if each["kind"] == TOPOLOGY)
        (home / TOPOLOGY).write_text(json.dumps(document["topologies"]))
        free.close()
        env = {"PATH": os.environ["PATH"], "SLURM_CONF": str(home / "slurm.conf")}
        log = home / "log"

        def command(*words: str, text: str = "") -> subprocess.CompletedProcess[str]:
            program, *rest = words
            return subprocess.run(
                [release.program / program, *rest], input=text, env=env, text=True, capture_output=True, check=False
            )

        with log.open("wb") as out:
            running = subprocess.Popen(
                [release.program / "slurmctld", "-D", "-c"], env=env, stdout=out, stderr=out, start_new_session=True
            )
        try:
            _await(lambda: "Running as primary controller" in log.read_text(), running, log)
            yield command
        finally:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()


def _await(done: Callable[[], bool], running: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while not done():
        if running.poll() is not None or time.monotonic() > end:
            raise BrokenError(f"slurmctld does not start:\n{log.read_text(errors='replace')[-4000:]}")
        time.sleep(0.02)


def _configuration(world: World, release: Release, home: Path, port: int) -> Iterator[str]:
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    yield CONFIGURATION
    yield f"SlurmUser={user}\nSlurmdUser={user}\nSlurmctldPort={port}\nPluginDir={release.program / 'plugins'}"
    yield f"StateSaveLocation={home}\nSlurmctldPidFile={home / 'pid'}"
    (document,) = (each for each in world.documents if each["kind"] == TOPOLOGY)
    partitions = {
        section["pool"]: section["options"]["partition"]
        for each in world.documents
        for section in each.get("sections", ())
    }
    for pool, topology in zip(world.topology.pools, document["topologies"], strict=True):
        yield from _lines(world.topology, pool)
        nodes = hostlist.compress(pool.nodes())
        name = partitions.get(pool.name, f"unused-{pool.name}")
        yield f"PartitionName={name} Nodes={nodes} Topology={topology['topology']}"


def _lines(topology: ClusterTopology, pool: Pool) -> Iterator[str]:
    """The pool's nodes; the drained ones apart."""
    stated = {"cpu": 1000, "memory": 1000 * 2**20, "ephemeral-storage": 1000 * 2**20}
    amounts = {
        name: pool.node.resources[name] // unit if name in pool.node.resources else PLENTY[name]
        for name, unit in stated.items()
    }
    cards = f" Gres=gpu:{pool.node.accelerators}" if pool.node.accelerators else ""
    size = f"CPUs={amounts['cpu']} RealMemory={amounts['memory']} TmpDisk={amounts['ephemeral-storage']}{cards}"
    out = {name for names in pool.unusable.values() for name in names}
    for state, names in (
        ("CLOUD", [each for each in pool.nodes() if each not in out]),
        ("DRAIN", [each for each in pool.nodes() if each in out]),
    ):
        if names:
            yield f"NodeName={hostlist.compress(names)} {size} State={state}"


# Jobs


def _submit(text: str, number: int, command: Command) -> bool:
    """Whether Slurm accepts the job."""
    return command("sbatch", f"--job-name={number}", "--output=/dev/null", text=text).returncode == 0


def _nodes(wanted: int, command: Command) -> dict[tuple[int, int], tuple[str, ...]]:
    """Number of the job and of its section -> nodes, when all jobs have theirs or Slurm gives no more."""
    found: dict[tuple[int, int], tuple[str, ...]] = {}
    end = time.monotonic() + QUIET
    while True:
        now, waiting = _shown(command("scontrol", "-o", "show", "job").stdout)
        if now != found:
            found, end = now, time.monotonic() + QUIET
        if not waiting or time.monotonic() > end:
            return found
        time.sleep(0.1)


def _shown(text: str) -> tuple[dict[tuple[int, int], tuple[str, ...]], int]:
    """The nodes of each section that has some, and how many have none."""
    found, waiting = {}, 0
    for line in text.splitlines():
        fields = dict(each.partition("=")[::2] for each in line.split())
        if "JobName" not in fields:
            continue
        nodes = hostlist.expand(fields["NodeList"]) if fields.get("NodeList", "(null)") != "(null)" else ()
        if nodes:
            found[int(fields["JobName"]), int(fields.get("HetJobOffset", "0"))] = tuple(nodes)
        else:
            waiting += 1
    return found, waiting


def _fitted(case: Case, _release: Release) -> Case:
    """Without what Slurm lacks: kinds of workloads, limits of pods on a node, pools in one partition, and tasks without
    a CPU. Nodes with pods of others are drained.
    """
    plain = counted(case)._replace(others=())
    spec = dict(plain.topology["spec"])
    busy = {each.node for each in case.others}
    spec["pools"] = [
        {**_drained(each, busy), "node": {key: value for key, value in each["node"].items() if key != "pods"}}
        for each in spec["pools"]
    ]
    schedulers = dict(spec.get("schedulers", {}))
    own = dict(schedulers.get("slurm", {}))
    pools = own.get("pools", {})
    own["pools"] = {each["name"]: {"partition": each["name"], **pools.get(each["name"], {})} for each in spec["pools"]}
    spec["schedulers"] = {**schedulers, "slurm": own}
    (flow,) = edited([plain.workflow], "Workflow spec gangs * workload", removed)
    (flow,) = edited([flow], "Workflow spec gangs ** podSets *", _with_cpu)
    return plain._replace(workflow=flow, topology={**plain.topology, "spec": spec})


def _drained(pool: Object, busy: Set[str]) -> Object:
    unusable = pool.get("unusable", {})
    out = {name for names in unusable.values() for name in names.split(",")}
    names = [name for row in pool["domains"] for name in row["nodes"].split(",") if name in busy - out]
    return {**pool, "unusable": {**unusable, "reserved": ",".join(names)}} if names else pool


def _with_cpu(pods: Object) -> Object:
    """A task has at least one CPU."""
    return {**pods, "resources": {"cpu": "1", **pods.get("resources", {})}}


OPTIONS = f"{JOB} sections * options"
SIZES = f"{TOPOLOGY} topologies * block block_sizes"

SLURM = Scheduler(
    "slurm",
    bind,
    constraints=(),
    mutations=(
        Mutation("no segments", f"{OPTIONS} segment", removed),
        Mutation("segments of one node", f"{OPTIONS} segment", lambda _: "1"),
        Mutation("no consolidation", f"{OPTIONS} consolidate-segments", removed),
        *count("nodes", f"{OPTIONS} nodes"),
        Mutation("one GPU more", f"{OPTIONS} gpus-per-node", more),
        Mutation("one CPU more", f"{OPTIONS} cpus-per-task", more),
        Mutation("larger blocks", SIZES, lambda sizes: [2 * each for each in sizes]),
    ),
    seeds=(0, 1, 11, 22, 148, 482, 547, 100_471),
    source="BAYPLAN_SLURM",
    fitted=_fitted,
    read=read,
    members=members,
    known=prove,
)
