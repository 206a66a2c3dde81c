"""Runs whole sbatch scripts in bash, and the pods of their manifests, and compares what both start.

    BAYPLAN_SCRIPTS=FOLDER_OR_GIT_DIRECTORY:... python -m tools.script_judge [--list]

It prints a row for each repository: the scripts that bayplan accepts and that start the same programs, those that it
accepts with a finding for what differs, those that it refuses with a way out, and those that it refuses. `different`
counts what differs without a finding, and must be 0. It fetches nothing. bash runs the script as the batch host, with
stubs for Slurm's programs and for everything else that the script starts. `srun` runs its program as the first two
tasks and the last one. Pods run as a kubelet runs them. Both are in a sandbox of bubblewrap, without a network.

It compares the words, the exported variables, the folder, the files that a program gets by name, the number of tasks,
the order, and whether steps start behind a step that fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bayplan import formats, pipeline
from bayplan.core.diagnostics import AT, Diagnostic, has_errors
from bayplan.manifests.order import head
from bayplan.model.formats import Context, Source
from bayplan.plugins.slurm.sbatch.options import STEPS, VALUE
from bayplan.text.document import Document
from tools import sbatch_corpus
from tools.pod_runner import expand

SANDBOX = Path(__file__).with_name("script_sandbox.py")
IMAGE = sbatch_corpus.IMAGE
HERE = "/job"
"""Where bash starts the script, and where containers start."""

RESULTS = ("same", "finding", "different", "way out", "refused", "unfit")
TOLD = {
    "words": {"W616", "W638", "W639"},
    "env": {"W616", "W617"},
    "folder": {"W604"},
    "files": {"W613", "W611"},
    "tasks": {"W617", "W639"},
    "after a failure": {"W628", "W611"},
}
"""What differs -> the findings that say so."""


class Start(NamedTuple):
    """A program that something started: its words, folder, variables, and the files among its words."""

    words: tuple[str, ...]
    folder: str
    env: Mapping[str, str]
    files: Mapping[str, str]


class Verdict(NamedTuple):
    """The result for a script, what differs, and what both sides started."""

    result: str
    differs: str = ""
    bash: tuple[Start, ...] = ()
    pods: tuple[Start, ...] = ()
    findings: tuple[Diagnostic, ...] = ()


class Job(NamedTuple):
    """A process of the sandbox."""

    argv: Sequence[str]
    env: Mapping[str, str]
    folder: str = HERE


@cache
def available() -> bool:
    """Whether the sandbox works here."""
    if not shutil.which("bwrap"):
        return False
    command = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def imported(path: str, text: str, values: dict[str, str]) -> tuple[Document | None, Any, tuple[Diagnostic, ...]]:
    """The document and the workflow of a script, and its findings."""
    found = formats.documents(path, text.encode(), "workflow", Source("sbatch", values))
    if found.value is None:
        return None, None, found.diagnostics
    made = formats.workflow(found.value[0], "sbatch", Context(None))
    return found.value[0], made.value, (*found.diagnostics, *made.diagnostics)


def judge(path: str, text: str) -> Verdict:
    """The verdict on a script: bayplan gets the values that its hints name."""
    text = re.sub(r"(^#SBATCH.*?(?:--array|-a)[= ]?)([0-9]+)[-,:%0-9]*", r"\1\2", text, flags=re.MULTILINE)
    values = {"image": IMAGE}
    document, flow, findings = imported(path, text, values)
    while flow is None:
        hints = " ".join(each.hint or "" for each in findings if has_errors((each,)))
        asked = {*sbatch_corpus.NEEDED.findall(hints)} - values.keys()
        if not asked:
            bad = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=False).returncode
            errors = [each for each in findings if has_errors((each,))]
            placed = all(AT in each.route and each.hint for each in errors)
            return Verdict("unfit" if bad else "way out" if placed else "refused", findings=findings)
        values |= {name: sbatch_corpus.value_of(name, text) for name in asked}
        document, flow, findings = imported(path, text, values)
    assert document is not None
    names = {*re.findall(r"\b([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=", text)} - {
        "SLURM_JOB_ID",
        "HOSTNAME",
        "PS1",
        "PATH",
        "IFS",
    }
    names -= {name for name in names if f"{name}=" not in text or name.startswith("BASH_")}
    job = _job(text, flow.name)
    script = _script(text, values, job)
    programs: set[str] = set()
    for _ in range(5):  # each run may end at the first file that is not there
        trace: list[str] = []
        traced = script._replace(argv=[script.argv[0], "-x", *script.argv[1:]])
        (first,) = _run([traced], job, sorted(programs), trace)
        found = _expected("\n".join(trace), script.folder)
        if not found - {*job["files"]} and not {start.words[0] for start in first} - programs:
            break
        job["files"] += sorted(found - {*job["files"]})
        programs |= {start.words[0] for start in first}
    (left,) = _run([script], job, sorted(programs))
    empty = {
        value: start.env[name]
        for start in left
        for name, value in values.items()
        if len(start.env.get(name, value)) < 4 < len(value)
    }
    left = [_given(start, values) for start in left]
    gangs = list(_pods(document, flow, findings, job))
    pods = [
        pod
        if pod.argv[-1].partition("\n")[2] not in text or len(pod.argv) != 3
        else pod._replace(env={**pod.env, "JUDGE_STEP": "0"})
        for gang in gangs
        for pod in gang
    ]
    ran = [[_emptied(start, empty) for start in starts] for starts in _run(pods, job, sorted(programs))]
    codes = {each.code for each in findings}
    right, at = [], 0
    for gang in gangs:
        right.append([start for starts in ran[at : at + len(gang)] for start in starts])
        at += len(gang)
    differs = _difference(left, right, names, codes)
    if not differs and len(right) > 1 and not codes & TOLD["after a failure"]:
        (failed,) = _run([script._replace(env={**script.env, "JUDGE_FAIL": "1"})], job, sorted(programs))
        differs = "after a failure" if len(failed) == len(left) else ""
    told = all(_told(kind, findings) for kind in filter(None, differs.split(", ")))
    result = "same" if not differs else "finding" if told else "different"
    return Verdict(result, differs, tuple(left), tuple(start for gang in right for start in gang), findings)


def _given(start: Start, values: Mapping[str, str]) -> Start:
    """A start with the values of --set in place of what the script sets while it runs."""
    for name, value in values.items():
        old = start.env.get(name, "")
        if name != "PWD" and len(old) > 3 and value not in old:
            words = tuple(word.replace(old, value) for word in start.words)
            env = {key: text.replace(old, value) for key, text in start.env.items()}
            start = start._replace(words=words, env=env, folder=start.folder.replace(old, value))
    return start


def _expected(trace: str, folder: str) -> set[tuple[bool, str]]:
    """Whether it is a folder, and the path, of each file that a trace of bash misses."""
    return {
        (kind == "d" or asked == "d", path or printed or wanted or os.path.join(folder, written))
        for kind, path, printed, asked, wanted, written in EXPECTED.findall(trace)
    }


def _emptied(start: Start, empty: Mapping[str, str]) -> Start:
    """A start without the values of --set that the script replaces by nothing, because its programs are stubs."""
    for value, old in empty.items():
        words = tuple(word.replace(value, old) for word in start.words)
        env = {key: text.replace(value, old) for key, text in start.env.items()}
        start = start._replace(words=words, env=env, folder=start.folder.replace(value, old))
    return start


EXPECTED = re.compile(
    r"^\++ '?\[\[?'? '?!'? -([defrsx]) (/\S+) '?\]|^\++ cat (/\S+)$"
    r"|^\++ '?\[\[?'? -([dfs]) (/\S+) '?\]\]?\n(?:\++ .*\n|[^+].*\n){0,3}\++ exit"
    r"|^\S+: (?:line \d+: )?(\S+): No such file",
    re.MULTILINE,
)
"""Files without which a script ends, and files that it prints, in a trace of bash: bayplan supposes that they exist."""


def _told(kind: str, findings: Sequence[Diagnostic]) -> bool:
    """Whether a finding says what differs; for a program, by its name."""
    if kind.startswith("program "):
        return any(re.search(rf"(?<![\w-]){re.escape(kind[8:])}(?![\w-])", each.message) for each in findings)
    return bool({each.code for each in findings} & TOLD[kind])


def lines_run(text: str) -> set[int]:
    """The lines of the commands that the batch shell runs."""
    job, trace = _job(text, "train"), list[str]()
    script = _script(text, {}, job)
    env = {**script.env, "JUDGE_PS4": "+@${FUNCNAME[0]-}:$LINENO@ "}
    _run([script._replace(argv=[script.argv[0], "-x", *script.argv[1:]], env=env)], job, (), trace)
    found = re.findall(r"^\+@([^:]*):(\d+)@", "\n".join(trace), re.MULTILINE)
    return {int(line) for name, line in found if name not in ("cd", "pushd", "source", ".", "module")}


# -- what Slurm gives the batch host


def _job(text: str, name: str) -> dict[str, Any]:
    """Nodes, tasks on each and GPUs of the job, by a reader of its own."""
    lines = "\n".join(line[7:] for line in text.splitlines() if line.startswith("#SBATCH"))

    def number(*options: str) -> int:
        values = [int(value) for each in options for value in re.findall(rf"(?:^|\s){each}[= ]*([0-9]+)", lines)]
        return values[-1] if values else 0

    each = number("--ntasks-per-node", "--tasks-per-node")
    tasks = number("--ntasks", "-n")
    nodes = number("--nodes", "-N") or (-(-tasks // each) if tasks and each else 1)
    gpus = re.findall(r"(?:--gres=gpu(?::[a-zA-Z]\w*)?:|--gpus-per-node[= ](?:\w+:)?)([0-9]+)", lines)
    total = re.findall(r"(?:^|\s)(?:--gpus|-G)[= ]?(?:\w+:)?([0-9]+)", lines)
    shown = [int(value) for value in gpus] or [-(-int(value) // nodes) for value in total]
    per_node = each or max(1, -(-tasks // nodes))
    return {
        "name": name,
        "nodes": nodes,
        "per_node": per_node,
        "tasks": tasks or nodes * per_node,
        "gpus": shown[-1] if shown else 0,
        "cpus": number("--cpus-per-task", "-c"),
        "options": {each.name: each.takes == VALUE for each in STEPS.values()},
        "letters": {each.short: each.takes == VALUE for each in STEPS.values() if each.short},
        "het": len(re.findall(r"^#SBATCH (?:het|pack)job", text, re.MULTILINE)),
        "container": "--container-image" in lines,
        "files": [],
    }


def _script(text: str, values: Mapping[str, str], job: Mapping[str, Any]) -> Job:
    nodes = "node0" if job["nodes"] == 1 else f"node[0-{job['nodes'] - 1}]"
    env = {
        **dict.fromkeys(("SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NAME", "SLURM_ARRAY_JOB_ID"), job["name"]),
        **dict.fromkeys(("SLURM_JOB_NODELIST", "SLURM_NODELIST"), nodes),
        **dict.fromkeys(("SLURM_NNODES", "SLURM_JOB_NUM_NODES"), str(job["nodes"])),
        **dict.fromkeys(("SLURM_NTASKS", "SLURM_NPROCS"), str(job["tasks"])),
        **dict.fromkeys(("SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID", "SLURM_RESTART_COUNT"), "0"),
        **dict.fromkeys(("SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"), str(job["gpus"] or "")),
        "SLURM_GPUS": str(job["gpus"] * job["nodes"] or ""),
        "SLURM_NTASKS_PER_NODE": str(job["per_node"]) if "ntasks-per-node" in text else "",
        "SLURM_CPUS_PER_TASK": str(job["cpus"] or ""),
        "SLURMD_NODENAME": "node0",
        "HOSTNAME": "node0",
    }
    options = {"partition": "PARTITION", "account": "ACCOUNT"}
    for option, name in options.items():
        if found := re.findall(
            rf"^#SBATCH.*?(?:--{option}[= ]|-{option[0]} ?|-{option[0].upper()} ?)([\w.-]+)", text, re.M
        ):
            env[f"SLURM_JOB_{name}"] = found[-1]
    if array := re.search(r"^#SBATCH.*?(?:--array|-a)[= ]?([0-9]+)", text, re.MULTILINE):
        env |= dict.fromkeys((f"SLURM_ARRAY_TASK_{each}" for each in ("ID", "MIN", "MAX")), array[1])
        env |= {"SLURM_ARRAY_TASK_COUNT": "1", "SLURM_ARRAY_TASK_STEP": "1"}
    env = {name: value for name, value in env.items() if value}
    if export := re.search(r"^#SBATCH.*?--export[= ](\S+)", text, re.MULTILINE):
        env |= dict(part.split("=", 1) for part in export[1].strip("\"'").split(",") if "=" in part)
    own = {"image"} - {*re.findall(r"\$\{?(image)\b", text)}
    env |= {name: value for name, value in values.items() if not name.isdigit() and name not in own}
    folder = re.search(r"^#SBATCH.*?(?:--chdir|--workdir|-D)[= ]?(\S+)", text, re.MULTILINE)
    start = values.get("PWD", HERE)
    arguments = [
        values.get(str(number), "") for number in range(1, 1 + max([int(n) for n in values if n.isdigit()], default=0))
    ]
    return Job(
        ["/bin/bash", f"{HERE}.sh", *arguments],
        {**env, "TEXT": text},
        os.path.normpath(os.path.join(start, folder[1] if folder else "")),
    )


# -- what a cluster runs


def _pods(document: Document, flow: Any, findings: Any, job: Mapping[str, Any]) -> Iterator[list[Job]]:
    """The first two pods and the last one of each podSet, in the order of the gangs."""
    cards = max([*(pods.accelerator.per_pod if pods.accelerator else 0 for pods in _pod_sets(flow))], default=0) or 8
    nodes = 2 * max(1, sum(pods.replicas for pods in _pod_sets(flow)))
    compiled, _timings = pipeline.compile(
        pipeline.Request(document, _topology(cards, min(nodes, 40_000)), workflow_format="sbatch", prove=False)
    )
    launched = any(pods.launcher for pods in _pod_sets(flow))
    UNRENDERED.update({each.code for each in compiled.diagnostics if compiled.value is None and has_errors((each,))})
    documents = [] if compiled.value is None else [head(each) for each in compiled.value.documents]
    for gang in flow.gangs:
        templates = [] if launched else list(_templates(documents, {gang.name, f"{flow.name}-{gang.name}"}))
        if templates:
            yield [pod for template in templates for pod in _of(template, job)]
        else:
            yield [pod for pods in _pod_sets_of(gang) for pod in _of_model(pods, job)]


UNRENDERED: Counter[str] = Counter()
"""Why workflows have no manifests on the judge's cluster: then their podSets run as they are."""


def _topology(cards: int, nodes: int) -> Document:
    pool = {
        "name": "pool",
        "node": {
            "accelerator": "h100",
            "count": cards,
            "cpu": "1000",
            "memory": "9000Gi",
        },
        "levels": [
            {"name": "aggregated-block", "label": "example.com/blocks"},
            {"name": "block", "label": "example.com/block"},
        ],
        "domains": [{"path": "a/b", "nodes": f"n[00000-{nodes:05d}]"}],
    }
    spec = {
        "versions": {"kubernetes": "1.34", "kai": "0.17", "jobset": "0.12"},
        "defaults": {"scheduler": "kai", "namespace": "ml", "queue": "research"},
        "pools": [pool],
        "accelerators": {"h100": {"vendor": "nvidia", "resources": {"count": "nvidia.com/gpu"}}},
        "namespaces": {"ml": {"podSecurity": "privileged"}},
    }
    data = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "ClusterTopology", "metadata": {"name": "lab"}, "spec": spec}
    return Document("topology.yaml", "", 0, data)


def _templates(documents: Sequence[Any], gangs: set[str]) -> Iterator[list[tuple[dict[str, Any], int, int]]]:
    """The pods of each podSet of a gang: their template, how many pods its Job has, and their number in the Jobs."""
    found: dict[str, list[tuple[dict[str, Any], int, int]]] = {}
    for each in documents:
        jobs = [(each, 1)] if each["kind"] == "Job" else []
        if each["kind"] == "JobSet":
            jobs = [(job["template"], job["replicas"]) for job in each["spec"]["replicatedJobs"]]
        for job, copies in jobs:
            template, size = job["spec"]["template"], job["spec"]["completions"]
            labels = template["metadata"].get("labels", {})
            if labels.get("bayplan.dev/gang") in gangs:
                pods = found.setdefault(labels["bayplan.dev/pod-set"], [])
                pods += [(template, size, number) for number in range(size * copies)]
    yield from found.values()


def _chosen(count: int) -> list[int]:
    return sorted({0, min(1, count - 1), count - 1})


def _of(pods: Sequence[tuple[dict[str, Any], int, int]], job: Mapping[str, Any]) -> Iterator[Job]:
    """The processes of some pods of a podSet."""
    for rank in _chosen(len(pods)):
        pod, size, number = pods[rank]
        container = pod["spec"]["containers"][0]
        fields = {"completion-index": number % size, "pod-index": number % size, "job-index": number // size}
        env = {"JOB_COMPLETION_INDEX": str(number % size)}
        for entry in container.get("env", []):
            field = entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", "")
            given = next(
                (str(value) for name, value in fields.items() if name in field), "ml" if "namespace" in field else field
            )
            env[entry["name"]] = expand(entry["value"], env) if "value" in entry else given
        words = [expand(word, env) for key in ("command", "args") for word in container.get(key, [])]
        own = {"JUDGE_COUNT": str(len(pods)), "JUDGE_SIZE": str(size), **_place(rank, job)}
        yield Job(words, {**env, **own}, container.get("workingDir", HERE))


def _of_model(pods: Any, job: Mapping[str, Any]) -> Iterator[Job]:
    """The same from the workflow: of the first pod alone, if mpirun starts the others."""
    for number in [0] if pods.launcher else _chosen(pods.replicas):
        ranks = {"MASTER_ADDR": "node0", "MASTER_PORT": "29500", "NODE_RANK": str(number), "NNODES": str(pods.replicas)}
        env = {**ranks, **{name: expand(str(value), ranks) for name, value in (pods.env or {}).items()}}
        words = [expand(word, env) for word in (*pods.command, *pods.args)]
        if pods.launcher:
            words = ["sh", "-c", 'eval "${MPI_BEFORE:-}"; exec "$@"', "sh", *words]
        count = {"JUDGE_COUNT": "1" if pods.launcher else str(pods.replicas)}
        yield Job(words, {**env, **count, **_place(number, job)}, pods.working_dir or HERE)


def _place(number: int, job: Mapping[str, Any]) -> dict[str, str]:
    per_node = job["per_node"]
    node = f"node{number // per_node}"
    return {"JUDGE_TASK_NODE": node, "JUDGE_TASK": str(number), "JUDGE_PER_NODE": str(per_node)}


def _pod_sets(flow: Any) -> Iterator[Any]:
    for gang in flow.gangs:
        yield from _pod_sets_of(gang)


def _pod_sets_of(group: Any) -> Iterator[Any]:
    yield from getattr(group, "pod_sets", ())
    for each in getattr(group, "groups", ()):
        yield from _pod_sets_of(each)


# -- the sandbox


def _run(
    jobs: Sequence[Job], job: Mapping[str, Any], programs: Sequence[str], trace: list[str] | None = None
) -> list[list[Start]]:
    """What processes start, one after the other. `trace` gets what they print as errors."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        task = {"jobs": [each._asdict() for each in jobs], "job": job, "programs": programs, "here": HERE}
        (home / "task.json").write_text(json.dumps(task))
        (home / "log").mkdir()
        system = [name for name in ("/usr", "/bin", "/lib", "/lib64", "/sbin", "/etc") if Path(name).exists()]
        binds = [word for name in system for word in ("--ro-bind", name, name)]
        command = ["bwrap", "--unshare-all", "--die-with-parent", *binds, "--dev", "/dev", "--proc", "/proc"]
        command += ["--tmpfs", "/tmp", "--bind", folder, "/stub", "--ro-bind", str(SANDBOX), "/sandbox.py"]
        with subprocess.Popen(
            [*command, sys.base_prefix + "/bin/python3" if sys.base_prefix == "/usr" else "python3", "/sandbox.py"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={"PATH": "/usr/bin:/bin"},
        ) as process:  # fmt: skip
            errors = process.communicate(timeout=120)[1]
        if process.returncode:
            raise RuntimeError(f"{process.returncode} {errors.decode()[-2000:]}")
        if trace is not None:
            trace += [(home / f"errors.{number}").read_text(errors="replace") for number in range(len(jobs))]
        return [_starts(home / "log" / str(number)) for number in range(len(jobs))]


def _starts(path: Path) -> list[Start]:
    text = path.read_text(errors="surrogateescape") if path.exists() else ""
    return [_start(part) for part in text.split("\1")[:-1]]


def _start(text: str) -> Start:
    fields = [field for field in text.split("\0") if field]
    by_kind = [(field[0], field[1:]) for field in fields]
    env = dict(value.partition("=")[::2] for kind, value in by_kind if kind == "E")
    files = dict(value.partition("=")[::2] for kind, value in by_kind if kind == "F")
    words = tuple(value for kind, value in by_kind if kind in "PW")
    return Start(words, next((value for kind, value in by_kind if kind == "D"), ""), env, files)


# -- the comparison

HOST = re.compile(r"[a-z0-9-]+?-(?:(\d+)-)?(\d+)\.[a-z0-9-]+\.(?:ml|\$\(POD_NAMESPACE\))\.svc\.cluster\.local")


def _plain(text: str, env: Mapping[str, str]) -> str:
    """Text with node names in place of the addresses of pods."""
    size, per_node = int(env.get("JUDGE_SIZE", "1")), int(env.get("JUDGE_PER_NODE", "1"))
    text = re.sub(r"@node-\d+-(\d+)@", r"node\1", text)
    return HOST.sub(lambda match: f"node{(int(match[1] or 0) * size + int(match[2])) // per_node}", text)


def _normal(start: Start, names: set[str], codes: set[str]) -> tuple[Any, ...]:
    env = {name: _plain(value, start.env) for name, value in start.env.items() if name in names}
    if "W616" in codes:
        env = {name: value for name, value in env.items() if "PORT" not in name}
    words = tuple(_plain(word, start.env) for word in start.words)
    files = {_plain(name, start.env): _plain(text, start.env) for name, text in start.files.items()}
    tasks = (start.env.get("JUDGE_TASK", "0"), start.env.get("JUDGE_COUNT", "1"))
    return words, tuple(sorted(env.items())), start.folder, tuple(sorted(files.items())), tasks


OWN = ("MASTER_ADDR", "MASTER_PORT", "NODE_RANK", "NNODES", "GROUP_INDEX", "GROUP_COUNT", "GROUP_SIZE")
"""What pods have for programs that read it."""

PARTS = ("words", "env", "folder", "files", "tasks")


def _difference(left: list[Start], gangs: list[list[Start]], names: set[str], codes: set[str]) -> str:
    """The parts that differ; empty if both start the same in the same order."""
    one = [_normal(start, names, codes) for start in left]
    has: dict[tuple[str, ...], set[str]] = {}
    for start, plain in zip(left, one, strict=True):
        has.setdefault(plain[0], set()).update(start.env)
    other = []
    for gang in gangs:
        plain_words = [_normal(start, set(), codes)[0] for start in gang]
        hidden = [{*OWN} - has.get(words, set()) for words in plain_words]
        other.append([_normal(start, names - own, codes) for start, own in zip(gang, hidden, strict=True)])
    flat = [start for gang in other for start in gang]
    if sorted(each[0] for each in one) != sorted(each[0] for each in flat):
        if Counter(each[0][0] for each in one) == Counter(each[0][0] for each in flat):
            return "words"
        ran, runs = (Counter(each[0][0].rpartition("/")[2] for each in side) for side in (one, flat))
        return ", ".join(f"program {name}" for name in {*(ran - runs), *(runs - ran)})
    found = {
        part: None
        for part, at in zip(PARTS, range(5), strict=True)
        if sorted(str(each[at]) + str(each[0]) for each in one) != sorted(str(each[at]) + str(each[0]) for each in flat)
    }
    if not found and sorted(map(str, one)) == sorted(map(str, flat)):
        at = 0
        for gang in other:
            if sorted(map(str, one[at : at + len(gang)])) != sorted(map(str, gang)):
                return "order"
            at += len(gang)
        return ""
    return ", ".join(found) or "env"


TOLD["order"] = {"W611"}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the result of each script, and what differs")
    parser.add_argument("--only", default="", help="an expression that the path of a script contains")
    given = parser.parse_args()
    sources = [Path(each) for each in os.environ.get("BAYPLAN_SCRIPTS", "").split(":") if each]
    print(f"| repository | scripts | {' | '.join(RESULTS)} |\n|---|{'---|' * (len(RESULTS) + 1)}")
    every: Counter[str] = Counter()
    for source in sources:
        whole = source.resolve()
        name = (whole.parent if (whole / "HEAD").is_file() else whole).name.replace("+", "/")
        counted: Counter[str] = Counter()
        for path, text in sbatch_corpus.texts(source):
            shell = re.match(r"#!.*sh\b", text)
            if shell and sbatch_corpus.launches(text) and re.search(given.only, path):
                verdict = judge(path, text)
                counted[verdict.result] += 1
                if given.list:
                    _show(path, verdict)
        every += counted
        print(
            f"| {name} | {sum(counted.values())} | {' | '.join(str(counted[each]) for each in RESULTS)} |", flush=True
        )
    print("not rendered:", dict(UNRENDERED))
    print(f"| all | {sum(every.values())} | {' | '.join(str(every[each]) for each in RESULTS)} |")


def _show(path: str, verdict: Verdict) -> None:
    print(verdict.result, path, verdict.differs, *sorted({each.code for each in verdict.findings}))
    for each in verdict.findings if verdict.result in ("way out", "refused") else ():
        if has_errors((each,)):
            places = ":".join(map(str, each.route[each.route.index(AT) + 1 :])) if AT in each.route else ""
            print("   ", each.code, places, each.message)
    if verdict.result in ("different", "finding"):
        one, other = ([_flat(start) for start in starts] for starts in (verdict.bash, verdict.pods))
        for mark, lines in (("-", Counter(one) - Counter(other)), ("+", Counter(other) - Counter(one))):
            for line in list(lines)[:6]:
                print("   ", mark, line[:1500])


def _flat(start: Start) -> str:
    words, env, folder, files, tasks = _normal(
        start, {name for name in start.env if not name.startswith(HIDDEN)}, set()
    )
    shown = " ".join(f"{name}={value}" for name, value in env)
    return repr((" ".join(words), folder, tasks, shown, files))


HIDDEN = (
    "SLURM",
    "PWD",
    "OLDPWD",
    "PATH",
    "PET_",
    "GROUP_",
    "JOB_COMP",
    "JUDGE_PER_NODE",
    "JUDGE_TASK_NODE",
    "LC_",
    "BASH",
    "HOSTNAME",
    "_",
    "SHLVL",
    "NODE_RANK",
    "NNODES",
    "JUDGE_",
    "POD_NAME",
)


if __name__ == "__main__":
    main()
