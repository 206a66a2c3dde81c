"""What bayplan does with public Helm charts: `python -m tools.chart_corpus FOLDER_OR_GIT_DIRECTORY...`.

Each chart that renders with its own values goes through Helm 3 and Helm 4 with bayplan as the post-renderer. The first
policy selects nothing, the second places the workloads. Then the chart gets a queue of Kueue, without and with `adopt`.
It prints a row for each repository and Helm, and the faults. Charts may contain the time or random names, so what the
post-renderer writes is compared with what it reads.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tools.clients import tool
from tools.overlay_corpus import ERROR, checkout, compared, identity, is_gang, named, objects, policy, title, topology
from tools.run import environment

HELMS = ("helm3", "helm4")
COLUMNS = (
    *("repository", "commit", "Helm", "charts", "unselected: identical", "workloads", "charts placed", "refused"),
    *("with a queue", "refused by A950", "adopted", "faults"),
)
PROJECT = {
    "apiVersion": "bayplan.dev/v1alpha1",
    "kind": "Project",
    "spec": {"topology": "topology.yaml", "policy": "policy.yaml"},
}
FILE = "postrenderer.helm.sh/"
NOTHING = [{"apiVersion": "v1", "kind": "Job", "metadata": {"name": "no-such-job"}}]


SCRIPT = """\
#!/bin/sh
[ "$1" != helm ] || exec "{python}" -m bayplan "$@"
tee "$XDG_STATE_HOME/in" | "{python}" -m bayplan "$@" > "$XDG_STATE_HOME/out"
code=$?
[ $code != 0 ] || cat "$XDG_STATE_HOME/out"
exit $code
"""
"""A post-renderer that keeps what it reads and writes."""


class Run(NamedTuple):
    """A run of Helm: what the post-renderer read and wrote, what Helm wrote, and the report."""

    code: int
    read: str
    wrote: str
    helm: str
    report: str


class Helm:
    """One Helm with bayplan as its post-renderer."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.program, self.folder = name, tool(name), folder
        (folder / "bin").mkdir(parents=True)
        script = folder / "bin" / "bayplan"
        script.write_text(SCRIPT.format(python=sys.executable), encoding="utf-8")
        script.chmod(0o755)
        if name == "helm4":
            done = self.call(str(script), "helm", "install-plugin", "--helm", self.program)
            assert done.returncode == 0, done.stderr

    def call(self, *command: str, state: str = "state", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        kept = {key: value for key, value in environment().items() if not key.startswith(("HELM_", "XDG_"))}
        path = f"{self.folder / 'bin'}{os.pathsep}{kept['PATH']}"
        (self.folder / state).mkdir(exist_ok=True)
        env = {**kept, "HOME": str(self.folder), "PATH": path, "XDG_STATE_HOME": str(self.folder / state)}
        return subprocess.run(
            command, cwd=cwd, env=env, capture_output=True, encoding="utf-8", timeout=300, check=False
        )

    def plain(self, chart: Path, *sets: str) -> subprocess.CompletedProcess[str]:
        return self.call(self.program, "template", "r", str(chart), *sets)

    def placed(self, chart: Path, number: int, rules: Mapping[str, Any], hall: Any, *sets: str) -> Run:
        """`helm template` with the post-renderer, and a project file that names the policy.

        Helm 4 hides the report, which bayplan keeps in a file.
        """
        state = self.folder / f"state-{number}"
        shutil.rmtree(state, ignore_errors=True)
        state.mkdir()
        for name, data in {"policy": rules, "topology": hall, "bayplan": PROJECT}.items():
            (state / f"{name}.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
        own = [*([] if self.name == "helm4" else ["post-render"]), "-s", "kai"]
        passed = [word for each in own for word in ("--post-renderer-args", each)]
        command = (self.program, "template", "r", str(chart), "--post-renderer", "bayplan", *passed, *sets)
        done = self.call(*command, state=state.name, cwd=state)
        kept = [state / "in", state / "out", state / "bayplan" / "last-error.txt"]
        texts = [each.read_bytes().decode() if each.is_file() else "" for each in kept]
        return Run(done.returncode, *texts[:2], done.stdout, texts[2] or done.stderr)


def judge(helm: Helm, chart: Path, number: int) -> tuple[Counter[str], list[str]]:
    """The counts of one chart, and its faults."""
    plain = helm.plain(chart)
    if plain.returncode:
        return Counter(), []
    counts: Counter[str] = Counter(charts=1)
    faults: list[str] = []
    workloads = list(filter(is_gang, objects(plain.stdout)))
    hall = topology(workloads)
    untouched = helm.placed(chart, number, policy(NOTHING, "block"), hall)
    counts["identical"] += untouched.code == 0 and untouched.read == untouched.wrote != ""
    counts["workloads"] += len(workloads)
    if workloads:
        done = helm.placed(chart, number, policy(workloads, "block"), hall)
        counts["placed"] += done.code == 0
        counts.update(f"code {code}" for code in {code for _, code, _ in ERROR.findall(done.report)})
        faults += _faults(done, [title(each) for each in workloads])
    queued = helm.plain(chart, "--set", "queue=lq")
    labelled = [each for each in objects(queued.stdout) if "kueue.x-k8s.io/queue-name" in str(each)]
    if owned := [each for each in labelled if is_gang(each)]:
        counts["queued"] += 1
        done = helm.placed(chart, number, policy(owned, "block"), hall, "--set", "queue=lq")
        counts["owned"] += done.code == 1 and "A950" in done.report and not done.helm
        done = helm.placed(chart, number, policy(owned, "block", adopt=True), hall, "--set", "queue=lq")
        counts["adopted"] += done.code == 0 and "kueue.x-k8s.io" not in done.helm
        faults += [f"not adopted: {done.report[-400:]}"] if done.code else []
    return counts, faults


def _faults(done: Run, placed: Sequence[str]) -> Iterator[str]:
    if done.code:
        if not ERROR.search(done.report) or "  hint: " not in done.report or done.helm:
            yield f"exit {done.code}: {done.report[-400:]}"
        return
    yield from compared(done.read, done.wrote, placed)
    written, printed = ({identity(each): unmarked(each) for each in objects(text)} for text in (done.wrote, done.helm))
    if written != printed:
        yield "Helm prints other objects than the post-renderer"


def unmarked(data: dict[str, Any]) -> dict[str, Any]:
    """An object without the annotation by which Helm 4 knows its file, and removes it."""
    metadata = data.get("metadata") or {}
    kept = {key: value for key, value in (metadata.get("annotations") or {}).items() if FILE not in key}
    others = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**data, "metadata": {**others, **({"annotations": kept} if kept else {})}}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", type=Path)
    given = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for source in given.sources:
        with tempfile.TemporaryDirectory() as home:
            folder = Path(home).resolve()
            tree = checkout(source, folder / "tree")
            charts = sorted(path.parent for path in tree.rglob("Chart.yaml"))
            for name in HELMS:
                _row(source, tree, charts, Helm(name, folder / name))


def _row(source: Path, tree: Path, charts: Sequence[Path], helm: Helm) -> None:
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda each: judge(helm, each[1], each[0]), enumerate(charts)))
    total = sum((counts for counts, _ in results), Counter[str]())
    codes = ", ".join(f"{key[5:]} {value}" for key, value in total.most_common() if re.match("code ", key))
    numbers = (
        *(total[key] for key in ("charts", "identical", "workloads", "placed")),
        codes,
        *(total[key] for key in ("queued", "owned", "adopted")),
        sum(len(faults) for _, faults in results),
    )
    print(f"| {' | '.join(map(str, (*named(source), helm.name[4:], *numbers)))} |", flush=True)
    for chart, (_, faults) in zip(charts, results, strict=True):
        for fault in faults:
            print("FAULT", chart.relative_to(tree), fault)


if __name__ == "__main__":
    main()
