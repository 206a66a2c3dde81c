"""Gangs that are hard to pack: many unequal groups on many racks, filled up to the last node.

`python benchmarks/packing.py [--seeds N] [--only WORD]` checks that the bayplan of this interpreter decides them, and
prints the CPU seconds.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

NODES = 16
"""Nodes of a rack."""


class Case(NamedTuple):
    """A family of instances: what it is called, how full the cluster is, and the text of one instance for a seed."""

    name: str
    fill: int  # percent

    def write(self, seed: int, folder: Path) -> list[str]:
        """The arguments of bayplan that check an instance."""
        dice = random.Random(f"{self.name} {self.fill} {seed}")
        workflow, topology = FAMILIES[self.name](dice, self.fill)
        (folder / "workflow.yaml").write_text(workflow, encoding="utf-8")
        (folder / "topology.yaml").write_text(topology, encoding="utf-8")
        return [f"{folder}/workflow.yaml", "-t", f"{folder}/topology.yaml"]


def cases() -> list[Case]:
    """Every family at every fill."""
    return [Case(name, fill) for name in FAMILIES for fill in (10, 50, 90, 99, 100)]


WORKFLOW = """\
apiVersion: bayplan.dev/v1alpha1
kind: Workflow
metadata: {name: packed, namespace: ml}
spec:
  gangs:
"""
GANG = "  - {{name: {}, workload: pods, rendezvous: none, computeDomain: never, groups: [\n{}]}}\n"
PODS = "{{name: {}, replicas: {}, accelerator: {{count: {}}}, resources: {{cpu: {}}}, image: x/y:1, command: [run]}}"
TOPOLOGY = """\
apiVersion: bayplan.dev/v1alpha1
kind: ClusterTopology
metadata: {name: hall}
spec:
  versions: {kubernetes: "1.35", kai: "0.17", jobset: "0.12"}
  defaults: {scheduler: kai, queue: research, namespace: ml}
  pools:
"""
POOL = """\
  - name: {}
    node: {{accelerator: gb200, count: 4, cpu: 128}}
    levels: [{{name: spine, label: example.com/spine}}, {{name: rack, label: example.com/rack}}]
    domains:
{}{}"""
KINDS = "  accelerators: {gb200: {vendor: nvidia, allocator: device-plugin, resources: {count: nvidia.com/gpu}}}\n"


def group(name: str, replicas: int, pods: str, level: str = "rack", pool: str = "") -> str:
    """One group with its podSets."""
    where = f"pool: {pool}, " if pool else ""
    return f"    {{name: {name}, replicas: {replicas}, {where}placement: {{required: {level}}}, podSets: [{pods}]}},\n"


def workers(count: int, gpus: int = 4, cpu: int = 96, name: str = "w") -> str:
    """One podSet."""
    return PODS.format(name, count, gpus, cpu)


def racks(count: int, name: str = "gpu", spine: int = 16, out: str = "") -> str:
    """A pool of racks."""
    rows = (f'    - {{path: {name}s{r // spine}/{name}r{r}, nodes: "{name}{r}-[01-{NODES}]"}}\n' for r in range(count))
    return POOL.format(name, "".join(rows), out)


def sizes(dice: random.Random, total: int, groups: int) -> list[tuple[int, int]]:
    """(size, replicas) of so many groups of 2 to 8 pods, that many pods in total (or up to one less)."""
    drawn = [dice.randint(2, 8) for _ in range(groups)]
    if sum(drawn) > total:
        while sum(drawn) > total:
            drawn.pop()
    counts, left = [1] * len(drawn), total - sum(drawn)
    while left >= min(drawn):
        chosen = dice.randrange(len(drawn))
        if drawn[chosen] <= left:
            counts[chosen] += 1
            left -= drawn[chosen]
    return [*zip(drawn, counts, strict=True)] + ([(left, 1)] if left else [])


def equal(dice: random.Random, fill: int) -> tuple[str, str]:
    """A thousand groups on 2,000 racks; their replicas fill the cluster."""
    asked = sizes(dice, 2000 * NODES * fill // 100, 999)
    groups = "".join(group(f"a{i}", n, workers(size)) for i, (size, n) in enumerate(asked))
    return WORKFLOW + GANG.format("g", groups), TOPOLOGY + racks(2000) + KINDS


def single(dice: random.Random, fill: int) -> tuple[str, str]:
    """A thousand groups without replicas on as many racks as they fill."""
    asked = [dice.randint(2, 8) for _ in range(990)]
    count = -(-sum(asked) * 100 // (NODES * fill))
    if fill == 100 and (rest := count * NODES - sum(asked)) > 1:
        asked += [min(rest, 8), *([rest - 8] if rest > 8 else [])]
    groups = "".join(group(f"a{i}", 1, workers(size)) for i, size in enumerate(asked))
    return WORKFLOW + GANG.format("g", groups), TOPOLOGY + racks(count) + KINDS


def busy(dice: random.Random, fill: int) -> tuple[str, str]:
    """A thousand groups on 2,000 racks, of which half the nodes are cordoned at random."""
    free = {r: [n for n in range(1, NODES + 1) if dice.random() < 0.5] for r in range(2000)}
    out = ", ".join(f"gpu{r}-{n:02}" for r, left in free.items() for n in range(1, NODES + 1) if n not in left)
    asked = sizes(dice, sum(map(len, free.values())) * fill // 100, 999)
    groups = "".join(group(f"a{i}", n, workers(size)) for i, (size, n) in enumerate(asked))
    cordoned = f'    unusable: {{cordoned: "{out}"}}\n'
    return WORKFLOW + GANG.format("g", groups), TOPOLOGY + racks(2000, out=cordoned) + KINDS


SHAPES = ((4, 96), (2, 88), (2, 40), (1, 56), (1, 16))
"""Accelerators and CPUs of unlike pods; a node has 4 and 128."""


def unlike(dice: random.Random, fill: int) -> tuple[str, str]:
    """A thousand groups of unlike pods, cut out of full racks, and as many empty racks as the fill says."""
    groups, count = list[str](), 0
    while len(groups) < 990:
        pods: list[int] = []
        for _ in range(NODES):
            pods += dice.choice(((0,), (1, 2), (2, 2), (1, 4, 4), (2, 3, 4), (3, 3, 4), (4, 4, 4, 4)))
        dice.shuffle(pods)
        while pods:
            size = dice.randint(2, 8)
            taken, pods = sorted(pods[:size]), pods[size:]
            sets = [workers(taken.count(i), *SHAPES[i], name=f"w{i}") for i in sorted({*taken})]
            groups.append(group(f"a{len(groups)}", 1, ", ".join(sets)))
        count += 1
    dice.shuffle(groups)
    return WORKFLOW + GANG.format("g", "".join(groups)), TOPOLOGY + racks(count * 100 // fill) + KINDS


def nested(dice: random.Random, fill: int) -> tuple[str, str]:
    """A hundred groups of 4 to 12 smaller ones: the large ones in one spine each, the small ones in one rack each."""
    larges, used = list[str](), 0
    for number in range(125):
        parts = [dice.randint(2, 8) for _ in range(dice.randint(4, 12))]
        used += sum(parts)
        small = "".join("  " + group(f"b{number}-{i}", 1, workers(size)) for i, size in enumerate(parts))
        larges.append(f"    {{name: a{number}, placement: {{required: spine}}, groups: [\n{small}    ]}},\n")
    count = -(-used * 100 // (NODES * fill))
    return WORKFLOW + GANG.format("g", "".join(larges)), TOPOLOGY + racks(count) + KINDS


def pools(dice: random.Random, fill: int) -> tuple[str, str]:
    """A thousand groups in ten pools of 200 racks."""
    groups, halls = list[str](), list[str]()
    for p in range(10):
        asked = sizes(dice, 200 * NODES * fill // 100, 99)
        groups += [group(f"a{p}-{i}", n, workers(size), pool=f"p{p}") for i, (size, n) in enumerate(asked)]
        halls.append(racks(200, f"p{p}"))
    return WORKFLOW + GANG.format("g", "".join(groups)), TOPOLOGY + "".join(halls) + KINDS


FAMILIES = {"equal": equal, "single": single, "busy": busy, "unlike": unlike, "nested": nested, "pools": pools}


class Result(NamedTuple):
    """What bayplan decided of the instances of a case, and the CPU seconds of the commands."""

    case: Case
    told: Counter[str]
    seconds: tuple[float, ...]
    undecided: tuple[int, ...]  # seeds


def measured(case: Case, seeds: range) -> Result:
    """Check the instances of these seeds."""
    told, seconds, undecided = Counter[str](), list[float](), list[int]()
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "bayplan", "check", *case.write(seed, Path(folder))]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(command, capture_output=True, text=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        codes = [code for code in VERDICTS if f"error[{code}]" in done.stderr + done.stdout]
        if done.returncode and not codes:
            raise SystemExit(f"{case} {seed}: {done.stdout}{done.stderr}")
        verdict = VERDICTS[codes[0]] if codes else "fits"
        told[verdict] += 1
        undecided += [seed] if verdict == "undecided" else []
    return Result(case, told, tuple(seconds), tuple(undecided))


VERDICTS = {"P557": "undecided", "P551": "does not fit"}


def table(found: Sequence[Result]) -> str:
    """The results as a Markdown table."""
    heads = ("case", "full", "fits", "does not fit", "undecided", "CPU median", "CPU most")
    lines = [f"| {' | '.join(heads)} |", "|---|" + "---:|" * (len(heads) - 1)]
    for case, told, seconds, undecided in found:
        verdicts = (*(str(told[each]) for each in heads[2:4]), ", ".join(map(str, undecided)) or "0")
        times = (f"{statistics.median(seconds):.2f} s", f"{max(seconds):.2f} s")
        lines.append(f"| {' | '.join((case.name, f'{case.fill} %', *verdicts, *times))} |")
    return "\n".join(lines)


def main() -> int:
    """Check every case; 1 if bayplan did not decide one."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3, help="instances of each case")
    parser.add_argument("--only", default="", help="cases whose name and fill contain this")
    parser.add_argument("--write", action="store_true", help="keep the table in benchmarks/packing.md")
    options = parser.parse_args()
    selected = [case for case in cases() if options.only in f"{case.name} {case.fill}"]
    found = [measured(case, range(options.seeds)) for case in selected]
    print(table(found))
    if options.write:
        rows = "".join(f"- {name}: {' '.join((family.__doc__ or '').split())}\n" for name, family in FAMILIES.items())
        intro = f"# Gangs that are hard to pack\n\nCPU seconds of `bayplan check`, {options.seeds} instances a row.\n"
        again = f"`python benchmarks/packing.py --seeds {options.seeds} --write` renews them.\n"
        text = f"{intro}{again}\n{rows}\n{table(found)}\n"
        (Path(__file__).parent / "packing.md").write_text(text, encoding="utf-8")
    return int(any(result.undecided for result in found))


if __name__ == "__main__":
    sys.exit(main())
