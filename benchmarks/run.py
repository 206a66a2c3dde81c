"""How much bayplan costs: `python benchmarks/run.py [--rounds N] [--only ROW] [--write]`.

Absolute times are a machine's own; a ratio to `python -c pass`, measured in the same rounds, travels. bayplan is built
as a wheel and installed, byte-compiled, into an environment of its own. Times are user + system of the child (wait4).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import kubernetes_validate
from clusters import extract, full, running

from workloads import JOBSET, chart, hall, kustomization, many_rules, objects, project, write

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "pretrain"


class Row(NamedTuple):
    """One measured command: its CPU time as a ratio to a bare interpreter or to another command, or its peak memory."""

    name: str
    arguments: list[str]
    unit: str  # "x", "MB", "s" (elapsed), or what it is a ratio to
    target: float
    rounds: int  # at most
    stdin: str = os.devnull
    other: tuple[str, ...] = ()  # the command it is a ratio to
    program: str = ""  # bayplan, unless it is another
    less: tuple[str, ...] = ()  # arguments of a run whose time is taken off
    peer: tuple[str, ...] = ()  # the command of another tool that comes nearest to this one


class Result(NamedTuple):
    """What a row came to. None: one of its commands failed. `own` and `peer`: CPU seconds and elapsed seconds."""

    row: Row
    value: float | None
    own: tuple[float, float] | None = None
    peer: tuple[float, float] | None = None


def rows(folder: Path, large: bool = False) -> list[Row]:
    """What is promised. `large`: also what needs gigabytes of disk."""
    example = ["render", f"{EXAMPLE}/workflow.yaml", "-t", f"{EXAMPLE}/topology.yaml"]
    check = ["check", f"{EXAMPLE}/workflow.yaml", "-t", hall(folder, 100_000)]
    capacity = ["capacity", "-t", hall(folder, 100_000)]
    lint = ["lint", "--limit", "values=2000000", objects(folder, 100_000)]
    return [
        Row("--version", ["--version"], "x", 3, 99),
        Row("--help", ["--help"], "x", 3, 99),
        Row("render 64 pods, proven", example, "x", 6, 99, peer=torchx()),
        Row("render 10,000 bare pods, proven", write(folder, 10_000), "x", 45, 7),
        Row("render 100,000 bare pods, memory", write(folder, 100_000), "MB", 128, 1),
        Row("check 64 pods on 100,000 nodes", check, "x", 40, 7),
        Row("check 64 pods on 100,000 nodes, memory", check, "MB", 200, 1),
        Row("capacity of 100,000 nodes", capacity, "x", 60, 7),
        Row("capacity of 100,000 nodes for 64 pods", [*capacity, f"{EXAMPLE}/workflow.yaml"], "x", 250, 3),
        Row("plan 64 pods on 100,000 nodes, slack", ["plan", *check[1:], "--slack"], "x", 150, 3),
        Row("lint 100,000 objects", lint, "s", 11, 2, peer=kubeconform(folder, lint[-1])),
        *node_rows(folder, large),
        *pod_rows(folder, check, large),
        *helm_rows(folder),
        *functions(folder),
        *generated(folder),
        *page_rows(folder),
    ]


def torchx() -> tuple[str, ...]:
    """The dry run of 64 pods in TorchX, which `tests/torchx/prepare` installs without a client of Kubernetes."""
    program = ROOT / ".ci" / "torchx" / "bin" / "torchx"
    job = ("-s", "slurm", "dist.ddp", "-j", "64x4", "--script", "train.py")
    return (str(program), "run", "--dryrun", *job) if program.exists() else ()


def kubeconform(folder: Path, manifests: str) -> tuple[str, ...]:
    """kubeconform with the schemas of kubernetes-validate, built through the Go module proxy."""
    go = shutil.which("go")
    environment = {**os.environ, "GOBIN": str(folder), "CGO_ENABLED": "0"}
    if not go or subprocess.run([go, "install", KUBECONFORM], env=environment, check=False).returncode:
        print(f"no Go, or no module {KUBECONFORM}: lint has no peer", file=sys.stderr)
        return ()
    schemas = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema" / "v1.34.0-local"
    definitions = json.loads((schemas / "_definitions.json").read_text(encoding="utf-8"))["$defs"]
    for kind in ("Pod", "ConfigMap"):
        standalone = {"$ref": f"#/$defs/io.k8s.api.core.v1.{kind}", "$defs": definitions}
        (folder / f"{kind.lower()}-v1.json").write_text(json.dumps(standalone), encoding="utf-8")
    location = f"{folder}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    return (f"{folder}/kubeconform", "-schema-location", location, manifests)


KUBECONFORM = "github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0"

PARSE = "import json, sys; json.loads(open(sys.argv[1], encoding='utf-8').read())"


def node_rows(folder: Path, large: bool) -> Iterator[Row]:
    """A list of nodes made a topology, checked and written, behind the standard library's reading of the same JSON."""
    python = f"{folder}/venv/bin/python"
    for nodes, target in ((1_000, 5), (10_000, 4), (100_000, 3)):
        lines, values = map(str, extract(folder, nodes))
        row = Row(f"topology import, {nodes:,} nodes", ["topology", "import", lines], "json.loads", target, 7)
        yield row._replace(other=(python, "-c", PARSE, values))
    yield Row("topology import, 100,000 nodes, memory", ["topology", "import", lines], "MB", 400, 1)
    if large:
        path = str(full(folder, 100_000))
        yield Row("topology import, 1 GB of JSON, memory", ["topology", "import", path], "MB", 600, 1)


def pod_rows(folder: Path, check: Sequence[str], large: bool) -> Iterator[Row]:
    """A check of a cluster in which 100,000 pods run, and how much longer it takes than that of an empty cluster."""
    if large:
        whole, lines = running(folder, 100_000)
        for name, path, target in (("JSON", whole, 20), ("extract", lines, 10)):
            name = f"check with 100,000 running pods, {path.stat().st_size / 1e9:.2f} GB of {name}"
            busy = [*check, "--occupied", str(path)]
            yield Row(name, busy, "s", target, 3, less=tuple(check))
            yield Row(f"{name}, memory", busy, "MB", 300, 1)


def helm_rows(folder: Path) -> Iterator[Row]:
    """Documents of a chart behind the `helm template` that makes them; none where there is no Helm."""
    helm = shutil.which("helm3") or shutil.which("helm")
    if helm is None:
        print("no Helm on the PATH: post-render is not measured", file=sys.stderr)
        return
    made = chart(folder, 5_000)
    template = (helm, "template", "large", made["chart"])
    manifests = folder / "manifests.yaml"
    manifests.write_bytes(subprocess.run(template, check=True, capture_output=True).stdout)
    post = ["post-render", "-t", made["topology"]]
    rest = (7, str(manifests), template)
    yield Row("post-render, 5,000 documents, nothing to do", post, "helm template", 0.1, *rest)
    yield Row("post-render, 5,000 pods placed", [*post, "--policy", made["policy"]], "helm template", 4, *rest)
    rules = [*post, "--policy", many_rules(folder, 1_000)]
    yield Row("post-render, 5,000 pods placed, 1,000 rules", rules, "helm template", 5, *rest)
    if real := kueue_chart():
        template = (helm, "template", "kueue", real)
        manifests = folder / "kueue.yaml"
        made_by_helm = subprocess.run(template, check=True, capture_output=True).stdout
        manifests.write_bytes(made_by_helm + JOBSET.encode())
        yield Row(
            "post-render, Kueue's chart, a JobSet placed", post, "helm template", 0.5, 15, str(manifests), template
        )


def kueue_chart() -> str:
    """The folder of Kueue's chart, from the Go module. Empty without Go or the module."""
    go = shutil.which("go")
    done = go and subprocess.run([go, "mod", "download", "-json", KUEUE], capture_output=True, text=True, check=False)
    if not done or done.returncode:
        print(f"no Go, or no module {KUEUE}: post-render of Kueue's chart is not measured", file=sys.stderr)
        return ""
    return f"{json.loads(done.stdout)['Dir']}/charts/kueue"


KUEUE = "sigs.k8s.io/kueue@v0.19.2"


def page_rows(folder: Path) -> Iterator[Row]:
    """Pages of `plan --format html`: how much longer Chromium takes to draw one than an empty page."""
    program = shutil.which("chromium")
    if program is None:
        print("chromium is not in PATH: pages are not measured", file=sys.stderr)
        return
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", "--dump-dom"]
    for nodes in (216, 3_456, 100_000):
        plan = ["plan", f"{EXAMPLE}/workflow.yaml", "-t", hall(folder, nodes), "--format", "html"]
        page = folder / f"page-{nodes}.html"
        subprocess.run([f"{folder}/venv/bin/bayplan", *plan, "-o", str(page)], check=True)
        print(f"the page of {nodes:,} nodes has {page.stat().st_size:,} bytes", file=sys.stderr)
        row = Row(f"page of {nodes:,} nodes, opened in Chromium", [*options, page.as_uri()], "s", 2, 5)
        yield row._replace(program=program, less=(*options, "about:blank"))
    yield Row("plan --format html, 100,000 nodes", plan, "x", 80, 5)


def functions(folder: Path) -> Iterator[Row]:
    """What `kustomize build` takes longer with bayplan as its function than with `cat` of the same answer."""
    program = shutil.which("kustomize")
    if program is None:
        print("kustomize is not in PATH: what a function adds to it is not measured", file=sys.stderr)
        return
    function, answer = f"{folder}/venv/bin/bayplan-krm", f"{folder}/answer.yaml"
    record = kustomization(folder / "record", EXAMPLE, "/bin/sh", "-c", f"{function} | tee {answer}")
    subprocess.run([program, *record], check=True, stdout=subprocess.DEVNULL)
    less = kustomization(folder / "cat", EXAMPLE, "/bin/cat", answer)
    expand = kustomization(folder / "expand", EXAMPLE, function)
    plain = kustomization(folder / "plain", EXAMPLE, "/bin/cat", answer)[-1]
    kubectl = shutil.which("kubectl")
    (Path(plain) / "kustomization.yaml").write_text("namePrefix: dev-\nresources: [workflow.yaml]\n", encoding="utf-8")
    name = "kustomize build, what 64 pods expanded add to it"
    row = Row(name, expand, "x", 4.5, 99, program=program, less=tuple(less))
    yield row._replace(peer=(program, "build", plain))
    yield row._replace(name=f"{name}, beside kubectl kustomize", peer=(kubectl, "kustomize", plain) if kubectl else ())
    krm = folder / "krm.yaml"
    record = kustomization(folder / "list", EXAMPLE, "/bin/sh", "-c", f"tee {krm} | cat")
    subprocess.run([program, *record], check=True, stdout=subprocess.DEVNULL)
    topology = EXAMPLE / "topology.yaml"
    krm.write_text(krm.read_text(encoding="utf-8").replace("topology.yaml", str(topology)), encoding="utf-8")
    yield Row("krm, 64 pods expanded", [], "x", 4, 99, str(krm), program=function, peer=(program, "build", plain))


def generated(folder: Path) -> Iterator[Row]:
    """`generate` of files that are up to date, which the run before it has found."""
    path = project(folder / "project", EXAMPLE, 200)
    subprocess.run([f"{folder}/venv/bin/bayplan", "generate", path], check=False)
    for name, options in (("", []), (" --check", ["--check"])):
        subprocess.run([f"{folder}/venv/bin/bayplan", "generate", *options, path], check=True)
        yield Row(f"generate{name}, 200 workflows, nothing changed", ["generate", *options, path], "s", 1, 15)


def install(folder: Path) -> tuple[str, str]:
    """Build a wheel of the checkout and install it into a new environment; its bayplan and its Python."""
    python = str(folder / "venv" / "bin" / "python")
    commands = [
        [sys.executable, "-m", "venv", str(folder / "venv")],
        [python, "-m", "pip", "install", "-q", "--upgrade", "pip"],  # older pip writes scripts that import `re`
        [python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)],
    ]
    for command in commands:
        subprocess.run(command, check=True)
    (wheel,) = folder.glob("bayplan-*.whl")
    subprocess.run([python, "-m", "pip", "install", "-q", "--compile", str(wheel)], check=True)
    return str(folder / "venv" / "bin" / "bayplan"), python


class CommandError(Exception):
    """A command of a row does not succeed."""


def measure(command: Sequence[str], stdin: str = os.devnull) -> tuple[float, float, float]:
    """CPU seconds, peak memory in MB, and seconds of one run that must succeed."""
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    ]
    begun = time.monotonic()
    child = os.posix_spawn(command[0], command, os.environ, file_actions=streams)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise CommandError(f"{command} failed: {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, time.monotonic() - begun


def results(selected: list[Row], bayplan: str, python: str, rounds: int) -> Iterator[Result]:
    """Every row, measured in rounds that interleave with the bare interpreter."""
    bare: list[float] = []
    failed: set[str] = set()
    peers: dict[str, list[tuple[float, float, float]]] = {row.name: [] for row in selected}
    others: dict[str, list[float]] = {row.name: [] for row in selected}
    measured: dict[str, list[tuple[float, float, float]]] = {row.name: [] for row in selected}
    taken_off: dict[str, list[float]] = {row.name: [] for row in selected}
    for number in range(rounds):
        bare += [measure([python, "-c", "pass"])[0] for _ in range(3)]
        for row in selected:
            if number < row.rounds and row.name not in failed:
                which = 2 if row.unit == "s" else 0
                try:
                    measured[row.name].append(measure([row.program or bayplan, *row.arguments], row.stdin))
                    others[row.name] += [measure(row.other)[0]] if row.other else []
                    taken_off[row.name] += [measure([row.program or bayplan, *row.less])[which]] if row.less else []
                except CommandError as problem:
                    print(f"{row.name}: {problem}", file=sys.stderr)
                    failed.add(row.name)
        for row in (each for each in selected if each.peer and number < min(each.rounds, 5)):
            try:
                peers[row.name].append(measure(row.peer))
            except CommandError as problem:
                print(f"{row.name}: {problem}", file=sys.stderr)
    for row in selected:
        if row.name in failed:
            yield Result(row, None)
            continue
        times, memory, elapsed = zip(*measured[row.name], strict=True)
        base = statistics.median(others[row.name] or bare)
        seconds = elapsed if row.unit == "s" else times
        took = statistics.median(seconds) - (statistics.median(taken_off[row.name]) if row.less else 0)
        absolute = {"MB": max(memory), "s": took}
        value = absolute.get(row.unit, took / base)
        beside = peers[row.name] and _costs(*zip(*peers[row.name], strict=True))
        yield Result(row, value, _costs(times, memory, elapsed), beside or None)


def _costs(times: Sequence[float], _: Sequence[float], elapsed: Sequence[float]) -> tuple[float, float]:
    return statistics.median(times), statistics.median(elapsed)


def table(found: Iterable[Result]) -> str:
    """The results as a Markdown table."""
    lines = ["| command | measured | target | | CPU, elapsed | peer: CPU, elapsed |", "|---|---:|---:|---|---:|---|"]
    for row, value, own, peer in found:
        verdict = "ok" if value is not None and value <= row.target else "**missed**"
        unit = f"x {row.unit}" if row.other else row.unit
        shown = "failed" if value is None else f"{value:.2f} {unit}"
        name = " ".join(word for word in map(os.path.basename, row.peer[:3]) if not word.startswith("-"))
        costs = f"`{name}`: {_shown(peer)}" if peer else ""
        lines.append(f"| {row.name} | {shown} | {row.target:g} {unit} | {verdict} | {_shown(own)} | {costs} |")
    return "\n".join(lines)


WHY = {
    "render 10,000 bare pods, proven": "Profile: planning and proof 26 %, the manifests of 625 podSets 41 %, "
    "writing 17.6 MB of YAML 24 %. No function takes more than 5 % in itself.",
    "render 100,000 bare pods, memory": "Trace: 20 MiB are the names and numbers of the pods, 8 MiB the names "
    "of the nodes, 7 MiB the variables of the ranks.",
    "lint 100,000 objects": "Profile: reading YAML 26 %, the rules about all objects 39 %, the rules of the "
    "schedulers 22 %. kubeconform only compares the objects with two schemas.",
    "kustomize build, what 64 pods expanded add to it": "The function takes what the row `krm` says. "
    "kustomize needs the rest to start it and to read its answer.",
}
"""Row -> where its time or memory goes, for a target that is missed."""


def reasons(found: Iterable[Result]) -> str:
    """Why targets are missed, as a Markdown list."""
    missed = [row.name for row, value, *_ in found if value is None or value > row.target]
    return "".join(f"- {name}: {WHY.get(name, 'not profiled.')}\n" for name in missed)


def _shown(costs: tuple[float, float] | None) -> str:
    return "" if costs is None else f"{costs[0]:.3f} s, {costs[1]:.3f} s"


def main() -> int:
    """Measure, print, and with --write keep; 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--large", action="store_true", help="measure also what needs gigabytes of disk")
    parser.add_argument("--write", action="store_true", help="keep the table in benchmarks/results.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        installed = install(folder)
        selected = [row for row in rows(folder, options.large) if options.only in row.name]
        found = list(results(selected, *installed, options.rounds))
    print(table(found))
    if options.write:
        where = f"CPython {platform.python_version()} on {platform.system()} {platform.machine()}"
        intro = f"# Results\n\nRatios (x) are to a bare interpreter of the same run: {where}.\n"
        text = f"{intro}`python benchmarks/run.py --write` renews them.\n\n{table(found)}\n"
        if missed := reasons(found):
            text += f"\nMissed targets:\n\n{missed}"
        (ROOT / "benchmarks" / "results.md").write_text(text, encoding="utf-8")
    return int(any(result.value is None or result.value > result.row.target for result in found))


if __name__ == "__main__":
    sys.exit(main())
