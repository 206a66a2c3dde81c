"""What bayplan does with public kustomize overlays: `python -m tools.overlay_corpus FOLDER_OR_GIT_DIRECTORY...`.

It builds each overlay with kustomize, without bayplan and with PlaceWorkloads, and passes the plain build to
`post-render`. Then it compares them. It prints a row for each repository; `--list` prints each overlay. What is neither
placed as documented nor refused with a place is a fault.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tools import kustomize
from tools.data import parse
from tools.references import dangling, templates
from tools.run import EXAMPLES, bayplan

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
MOST_BYTES = 4_000_000
SCHEDULERS = ("kai", "kueue", "volcano")
GANGS = ("JobSet", "LeaderWorkerSet", "PyTorchJob", "MPIJob", "TrainJob", "RayCluster", "RayJob")
CARD = re.compile(
    r"nvidia\.com/(gpu|mig-.*)|amd\.com/gpu|google\.com/tpu|habana\.ai/gaudi|gpu\.intel\.com/\w+|huawei\.com/\w+"
)
VENDORS = {"nvidia.com": "nvidia", "amd.com": "amd", "huawei.com": "huawei"}
NEW = ("PodGroup", "ComputeDomain", "ResourceClaimTemplate")
"""Kinds of objects that bayplan adds."""

ADDED = re.compile(
    r"\.(schedulerName|schedulingGroup|nodeSelector|tolerations|resourceClaims|claims|minAvailable|queue"
    r"|shutdownAfterJobFinishes|labels|annotations)\b|^\.metadata\.(labels|annotations)\b"
)
"""Fields that bayplan adds to a workload."""


class Overlay(NamedTuple):
    """A kustomization, its plain build, and the workloads in it that a gang could be."""

    name: str
    folder: Path
    text: str
    workloads: tuple[Mapping[str, Any], ...]


class Result(NamedTuple):
    """What became of the workloads of an overlay under one scheduler.

    `placed`: titles; `after`: those that are placed once the user has done what the hint says; `refused`: titles with
    the messages.
    """

    overlay: Overlay
    scheduler: str
    placed: tuple[str, ...]
    after: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]
    faults: tuple[str, ...]


# Overlays of a folder or a git directory


def checkout(source: Path, folder: Path) -> Path:
    """The folder, or the files of the newest commit of a git directory, without large ones and links."""
    if not (source / "HEAD").is_file():
        return source
    git = ["git", f"--git-dir={source}"]
    listed = subprocess.run([*git, "ls-tree", "-rlz", "HEAD"], capture_output=True, check=True).stdout.decode()
    rows = [(*head.split(), path) for head, _, path in (each.partition("\t") for each in listed.split("\0") if each)]
    wanted = [(sha, path) for mode, _, sha, size, path in rows if mode != "120000" and 0 <= _number(size) < MOST_BYTES]
    names = "\n".join(sha for sha, _ in wanted).encode()
    whole = subprocess.run([*git, "cat-file", "--batch"], input=names, capture_output=True, check=True).stdout
    at = 0
    for _, path in wanted:
        head, at = whole[at : whole.index(b"\n", at)].split(), whole.index(b"\n", at) + 1
        if head[1] != b"missing":
            into = folder / path
            into.parent.mkdir(parents=True, exist_ok=True)
            into.write_bytes(whole[at : at + int(head[2])])
            at += int(head[2]) + 1
    return folder


def _number(text: str) -> int:
    return int(text) if text.isdigit() else -1


def fill(folder: Path) -> None:
    """Writes the files of variables that a repository has only as templates, with a value for each variable."""
    for template in folder.rglob("templates/*.tpl.env"):
        into = template.parent.parent / template.name.replace(".tpl.env", ".env")
        if not into.exists():
            text = template.read_text(encoding="utf-8")
            into.write_text(re.sub(r"\$\{(\w+)\}", lambda found: found[1].lower().replace("_", "-"), text))


def kustomizations(folder: Path) -> Iterator[Path]:
    """The folders of kustomizations, without Components and without those that run programs of others."""
    for path in sorted(each for name in NAMES for each in folder.rglob(name)):
        text = path.read_text(encoding="utf-8", errors="replace")
        if "kind: Component" not in text and not re.search(r"^(generators|transformers|validators):", text, re.M):
            yield path.parent


def build(programs: Path, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """`kustomize build` without a network."""
    nowhere = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "GIT_ALLOW_PROTOCOL": "none"}
    own = ("--load-restrictor", "LoadRestrictionsNone")
    return kustomize.call(programs, kustomize.tool("kustomize"), "build", *own, *flags, ".", cwd=folder, **nowhere)


def overlays(tree: Path, folders: Sequence[Path], programs: Path) -> Iterator[tuple[Path, Overlay | str]]:
    """Each kustomization that builds and has workloads for a gang; or why it does not build."""
    with ThreadPoolExecutor(2) as pool:
        built = list(pool.map(lambda each: build(programs, each), folders))
    for each, done in zip(folders, built, strict=True):
        if done.returncode:
            yield each, done.stderr.strip().splitlines()[-1][-200:]
        elif found := tuple(filter(is_gang, objects(done.stdout))):
            origin = each / "source"
            name = origin.read_text(encoding="utf-8") if origin.is_file() else str(each.relative_to(tree))
            yield each, Overlay(name, each, done.stdout, found)


def objects(text: str) -> list[dict[str, Any]]:
    """The objects of a stream."""
    return [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]


def is_gang(data: Mapping[str, Any]) -> bool:
    """Whether an object runs pods on accelerators, or is of a kind for several pods that work together."""
    if data["kind"] == "CustomResourceDefinition":
        return False
    several = data["kind"] == "Job" and (data.get("spec") or {}).get("parallelism", 1) > 1
    return data["kind"] in GANGS or several or any(cards(pod) for pod in templates(data))


def cards(pod: Mapping[str, Any]) -> dict[str, int]:
    """The accelerators that a pod requests, by resource."""
    found: Counter[str] = Counter()
    for container in pod["spec"].get("containers") or ():
        for name, amount in _resources(container).items():
            if CARD.fullmatch(name) and str(amount).isdigit():
                found[name] += int(amount)
    return dict(found)


def _resources(container: Mapping[str, Any]) -> dict[str, Any]:
    both = container.get("resources") or {}
    return {**(both.get("limits") or {}), **(both.get("requests") or {})}


# A topology that has the nodes which the workloads select, and a policy that places each of them


class Wanted(NamedTuple):
    """A pool: its labels, its accelerator and how many of them a node has, and further resources."""

    labels: dict[str, str]
    card: str
    count: int  # type: ignore[assignment]
    resources: dict[str, str]


def topology(workloads: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """256 nodes for each set of labels that the pods select, and for each accelerator."""
    pools: list[Wanted] = []
    for each in sorted(map(wanted, (pod for one in workloads for pod in templates(one))), key=_specific):
        number = next((n for n, pool in enumerate(pools) if _serves(pool, each)), len(pools))
        pool = pools[number] if number < len(pools) else each
        more = {**pool.resources, **each.resources}
        pools[number : number + 1] = [pool._replace(count=max(pool.count, each.count), resources=more)]
    kinds: dict[str, Any] = {}
    written = []
    for number, (labels, card, count, more) in enumerate(pools or [Wanted({}, "", 8, {})]):
        key = re.sub(r"[^a-z0-9]+", "-", card)
        if card:
            vendor = VENDORS.get(card.partition("/")[0])
            kinds[key] = {**({"vendor": vendor} if vendor else {}), "resources": {"count": card}}
        node = {"cpu": "512", "memory": "8Ti", "nodeSelector": labels, "resources": more}
        node |= {"accelerator": key, "count": count} if card else {}
        domains = [{"path": f"b{number}/r{number}-{r}", "nodes": f"n{number}-{r}-[01-64]"} for r in range(4)]
        levels = [{"name": "block", "label": "example.com/block"}, {"name": "rack", "label": "example.com/rack"}]
        kept = {key: value for key, value in node.items() if value}
        written.append({"name": f"pool-{number}", "node": kept, "levels": levels, "domains": domains})
    spec: dict[str, Any] = {
        "defaults": {"scheduler": "kai", "namespace": "default", "queue": "research"},
        "pools": written,
    }
    spec |= {"accelerators": kinds} if kinds else {}
    return {"apiVersion": "bayplan.dev/v1alpha1", "kind": "ClusterTopology", "metadata": {"name": "made"}, "spec": spec}


def wanted(pod: Mapping[str, Any]) -> Wanted:
    """The pool that has what a pod selects and requests."""
    found = cards(pod)
    card = next(iter(found), "")
    more: dict[str, str] = {}
    for container in pod["spec"].get("containers") or ():
        for name in _resources(container):
            if name != card and name.startswith("hugepages-"):
                more[name] = "1Ti"
            elif name != card and "/" in name:
                more[name] = "100000"
    return Wanted(selected(pod["spec"]), card, max(8, *found.values(), 0), more)


def _specific(pool: Wanted) -> tuple[bool, int]:
    return (not pool.card, -len(pool.labels))


def _serves(pool: Wanted, other: Wanted) -> bool:
    return other.card in ("", pool.card) and other.labels.items() <= pool.labels.items()


def selected(spec: Mapping[str, Any]) -> dict[str, str]:
    """Labels of the nodes that a pod selects, by its nodeSelector and the first values of its required affinity."""
    labels = dict(spec.get("nodeSelector") or {})
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    for term in (affinity.get("nodeSelectorTerms") or ())[:1]:
        for each in term.get("matchExpressions") or ():
            if each["operator"] in ("In", "Exists"):
                labels[each["key"]] = (each.get("values") or ["true"])[0]
    return labels


def policy(workloads: Iterable[Mapping[str, Any]], level: str, adopt: bool = False) -> dict[str, Any]:
    """A rule for each workload, by its kind, name and namespace."""
    rules = []
    for each in workloads:
        match = {"kind": each["kind"], "name": each["metadata"]["name"]}
        if "namespace" in each["metadata"]:
            match["namespace"] = each["metadata"]["namespace"]
        gang = {"queue": "research", "placement": {"required": level}}
        rules.append({"match": match, "gang": gang, **({"adopt": True} if adopt else {})})
    return {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Policy", "spec": {"rules": rules}}


# The comparison of a plain build with the one of bayplan


def title(data: Mapping[str, Any]) -> str:
    """The kind and the name of an object."""
    metadata = data.get("metadata") or {}
    return f"{data.get('kind')} {metadata.get('name')}"


def identity(data: Mapping[str, Any]) -> tuple[str, ...]:
    """What no two objects share."""
    metadata = data.get("metadata") or {}
    group = str(data.get("apiVersion", "")).rpartition("/")[0]
    return (group, str(data.get("kind")), str(metadata.get("namespace", "")), str(metadata.get("name")))


def documents(text: str) -> list[tuple[str, Any]]:
    """The text and the data of each document."""
    pieces = re.split(r"^---\n", text, flags=re.MULTILINE)
    read = [(each, yaml.load(each, yaml.CSafeLoader)) for each in pieces]
    return [(each, data) for each, data in read if data]


def compared(before: str, after: str, placed: Sequence[str]) -> Iterator[str]:
    """What differs between two streams and is not part of a placement."""
    old, new = documents(before), documents(after)
    known = {identity(data) for _, data in old}
    kept = [(text, data) for text, data in new if identity(data) in known]
    if [identity(data) for _, data in kept] != [identity(data) for _, data in old]:
        yield "an object is missing, or the order differs"
        return
    for (text, data), (other, changed) in zip(old, kept, strict=True):
        if title(data) in placed:
            yield from (f"{title(data)}: {each}" for each in lost(data, changed, ""))
        elif text.strip() != other.strip():
            yield f"{title(data)} is not placed, but its text differs"
    for _, data in new:
        if identity(data) not in known and data["kind"] not in NEW:
            yield f"unexpected new object {title(data)}"


def lost(before: Any, after: Any, path: str) -> Iterator[str]:
    """Fields that are gone or have another value, and added fields that no page describes."""
    if isinstance(before, dict) and isinstance(after, dict):
        if [key for key in after if key in before] != list(before):
            yield f"{path or '.'}: a field is missing, or the order differs"
        for key, value in after.items():
            if key in before:
                yield from lost(before[key], value, f"{path}.{key}")
            else:
                yield from (f"{each} is new" for each in leaves(value, f"{path}.{key}") if not ADDED.search(each))
    elif isinstance(before, list) and isinstance(after, list) and before == after[: len(before)]:
        if len(after) > len(before) and not ADDED.search(path):
            yield f"{path} has more entries"
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from lost(one, other, f"{path}.{number}")
    elif before is None and isinstance(after, dict) and ADDED.search(path):
        return
    elif before != after or type(before) is not type(after):
        yield f"{path}: {before!r} became {after!r}"


def leaves(data: Any, path: str) -> Iterator[str]:
    """The paths of all values."""
    if isinstance(data, dict) and data and not ADDED.search(path):
        for key, value in data.items():
            yield from leaves(value, f"{path}.{key}")
    else:
        yield path


# One overlay under one scheduler, through both doors


class Bench:
    """A folder with a topology, and the programs."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self.programs = folder, programs

    def write(self, name: str, data: Any) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
        return path

    def post_render(self, text: str, scheduler: str) -> subprocess.CompletedProcess[str]:
        options = ("-t", "topology.yaml", "--policy", "policy.yaml", "-s", scheduler)
        return bayplan("post-render", *options, stdin=text, cwd=self.folder)

    def built(self, resource: Path, scheduler: str, functions: int, **keys: Any) -> subprocess.CompletedProcess[str]:
        """A kustomization around another folder, with bayplan's function once or twice."""
        names = [f"place-{number}.yaml" for number in range(functions)]
        for name in names:
            config = kustomize_function(name, scheduler)
            self.write(f"outer/{name}", config)
        here = os.path.relpath(resource, self.folder / "outer")
        extra = {"transformers": names} if names else {}
        self.write("outer/kustomization.yaml", {"resources": [here], **extra, **keys})
        return build(self.programs, self.folder / "outer", *(kustomize.FLAGS if names else ()))

    def patched(self, overlay: Overlay, workloads: Sequence[Mapping[str, Any]]) -> Overlay:
        """The overlay in a kustomization that lets its Deployments stop their pods before they start new ones."""
        folder = self.folder / "patched"
        text = "- {op: add, path: /spec/strategy, value: {type: Recreate}}\n"
        names = [{"kind": each["kind"], "name": each["metadata"]["name"]} for each in workloads]
        patches = [{"target": name, "patch": text} for name in names]
        resources = [os.path.relpath(overlay.folder, folder)]
        self.write("patched/kustomization.yaml", {"resources": resources, "patches": patches})
        done = build(self.programs, folder)
        assert done.returncode == 0, done.stderr
        return Overlay(overlay.name, folder, done.stdout, tuple(filter(is_gang, objects(done.stdout))))


def kustomize_function(name: str, scheduler: str) -> dict[str, Any]:
    """The configuration of PlaceWorkloads. The overlay is in another folder."""
    exec_ = {"config.kubernetes.io/function": "exec: {path: bayplan-krm, args: [--no-sandbox]}\n"}
    spec = {"topology": "../topology.yaml", "policy": "../policy.yaml", "scheduler": scheduler}
    metadata = {"name": name.removesuffix(".yaml"), "annotations": exec_}
    return {"apiVersion": "bayplan.dev/v1alpha1", "kind": "PlaceWorkloads", "metadata": metadata, "spec": spec}


ERROR = re.compile(r"^(.*?:\d+:\d+): error\[(\w+)\]: (.*)$", re.MULTILINE)
CODE = re.compile(r"\b[A-Z]\d{3}\b")


def judge(overlay: Overlay, scheduler: str, level: str, bench: Bench) -> Result:
    """Place each workload by itself, then all that can be placed, through both doors.

    bayplan adopts those that belong to another scheduler (A950), and a patch sets `strategy: {type: Recreate}` in the
    Deployments that need it (W512), as the hints say.
    """
    placed, refused, faults = _one_by_one(overlay, overlay.workloads, scheduler, level, bench)
    refused |= _alike(overlay, placed, scheduler, level, bench)
    placed = [each for each in placed if title(each) not in refused]
    if placed:
        faults += _doors(overlay, scheduler, [title(each) for each in placed], policy(placed, level), bench)
    if refused:
        bench.write("policy.yaml", policy(overlay.workloads, level))
        done = bench.built(overlay.folder, scheduler, 1)
        codes = {code for _, text in refused.values() for code in CODE.findall(text)} - {"W506"}
        said = {code for _, code, _ in ERROR.findall(done.stderr)}
        if codes and (done.returncode != 1 or done.stdout or not said & codes):
            faults.append(f"the function exits with {done.returncode} and says {sorted(said)}: {done.stderr[:300]}")
    foreign = [each for each, text in refused.values() if "A950" in text]
    if foreign:
        adopted, _, more = _one_by_one(overlay, foreign, scheduler, level, bench, adopt=True)
        faults += more
        faults += _adopted(overlay, scheduler, adopted, level, bench) if adopted else []
        for each in adopted:
            del refused[title(each)]
        placed_after = [title(each) for each in adopted]
    else:
        placed_after = []
    if rolling := [each for each, text in refused.values() if "W512" in text and each["kind"] == "Deployment"]:
        patched = bench.patched(overlay, rolling)
        again = [each for each in patched.workloads if title(each) in map(title, rolling)]
        able, others, more = _one_by_one(patched, again, scheduler, level, bench)
        faults += more
        if able:
            faults += _doors(patched, scheduler, [title(each) for each in able], policy(able, level), bench)
        refused = {name: each for name, each in refused.items() if name not in map(title, able)} | others
        placed_after += map(title, able)
    reasons = tuple((name, text) for name, (_, text) in refused.items())
    return Result(overlay, scheduler, tuple(map(title, placed)), tuple(placed_after), reasons, tuple(faults))


def _alike(
    overlay: Overlay, placed: Sequence[Mapping[str, Any]], scheduler: str, level: str, bench: Bench
) -> dict[str, tuple[Mapping[str, Any], str]]:
    """Workloads of one name and different kinds, of which bayplan places only one (A950)."""
    names = Counter(each["metadata"]["name"] for each in placed)
    alike = [each for each in placed if names[each["metadata"]["name"]] > 1]
    if not alike:
        return {}
    bench.write("policy.yaml", policy(alike, level))
    errors = ERROR.findall(bench.post_render(overlay.text, scheduler).stderr)
    return {title(each): (each, "A950 another workload has its name") for each in alike[1:] if "A950" in str(errors)}


def _one_by_one(
    overlay: Overlay,
    workloads: Iterable[Mapping[str, Any]],
    scheduler: str,
    level: str,
    bench: Bench,
    adopt: bool = False,
) -> tuple[list[Mapping[str, Any]], dict[str, tuple[Mapping[str, Any], str]], list[str]]:
    """The workloads that can be placed; those that are refused, with their messages; and faults."""
    placed: list[Mapping[str, Any]] = []
    refused: dict[str, tuple[Mapping[str, Any], str]] = {}
    faults: list[str] = []
    for each in workloads:
        bench.write("policy.yaml", policy([each], level, adopt))
        done = bench.post_render(overlay.text, scheduler)
        errors = ERROR.findall(done.stderr)
        if done.returncode == 0 and done.stdout != overlay.text:
            placed.append(each)
        elif done.returncode == 0 and "warning[W506]" in done.stderr:
            refused[title(each)] = (each, "W506 it has no pods")
        elif done.returncode == 1 and errors:
            refused[title(each)] = (each, "; ".join(f"{code} {at} {message}" for at, code, message in errors))
            faults += [f"refusal without a hint: {title(each)}"] if "  hint: " not in done.stderr else []
            faults += [f"{title(each)}: output beside an error"] if done.stdout else []
        else:
            faults.append(f"{title(each)}: exit {done.returncode}: {done.stderr[-500:]}")
    return placed, refused, faults


def _adopted(
    overlay: Overlay, scheduler: str, adopted: Sequence[Mapping[str, Any]], level: str, bench: Bench
) -> Iterator[str]:
    """What is wrong with workloads that bayplan migrates: all others stay, and a second run changes nothing."""
    bench.write("policy.yaml", policy(adopted, level, adopt=True))
    first = bench.post_render(overlay.text, scheduler)
    if first.returncode:
        yield f"post-render refuses together what it adopts one by one: {first.stderr[:500]}"
        return
    if bench.post_render(first.stdout, scheduler).stdout != first.stdout:
        yield "post-render changes what it adopted"
    own = {identity(each) for each in adopted}
    kept = [text.strip() for text, data in documents(first.stdout)]
    for text, data in documents(overlay.text):
        if identity(data) not in own and data["kind"] not in (*NEW, "Workload") and text.strip() not in kept:
            yield f"{title(data)} is not placed, but its text differs"
    once = bench.built(overlay.folder, scheduler, 1)
    yield from _doors_differ(first.stdout, once.stdout)


def _doors(
    overlay: Overlay, scheduler: str, placed: Sequence[str], rules: Mapping[str, Any], bench: Bench
) -> Iterator[str]:
    """What is wrong with the post-renderer, with the function, and with what is around it."""
    bench.write("policy.yaml", rules)
    first = bench.post_render(overlay.text, scheduler)
    if first.returncode:
        yield f"post-render refuses together what it places one by one: {first.stderr[:500]}"
        return
    yield from (f"post-render: {each}" for each in compared(overlay.text, first.stdout, placed))
    if bench.post_render(first.stdout, scheduler).stdout != first.stdout:
        yield "post-render changes its own output"
    once, twice = (bench.built(overlay.folder, scheduler, number) for number in (1, 2))
    if once.returncode or twice.returncode:
        yield f"PlaceWorkloads refuses what post-render places: {(once.stderr or twice.stderr)[:500]}"
        return
    yield from (f"PlaceWorkloads: {each}" for each in compared(overlay.text, once.stdout, placed))
    if once.stdout != twice.stdout:
        yield "a second PlaceWorkloads changes the output of the first"
    yield from _doors_differ(first.stdout, once.stdout)
    yield from _prefixed(overlay, scheduler, bench)
    lint = bayplan("lint", "-t", "topology.yaml", "-s", scheduler, "-", stdin=first.stdout, cwd=bench.folder)
    before = bayplan("lint", "-t", "topology.yaml", "-s", scheduler, "-", stdin=overlay.text, cwd=bench.folder)
    fresh = Counter(code for _, code, _ in ERROR.findall(lint.stdout + lint.stderr))
    fresh -= Counter(code for _, code, _ in ERROR.findall(before.stdout + before.stderr))
    if fresh:
        yield f"lint refuses the output: {dict(fresh)}"


def _doors_differ(first: str, once: str) -> Iterator[str]:
    """What post-render and the function write differently."""
    theirs = {identity(each): each for each in objects(first)}
    ours = {identity(each): each for each in objects(once)}
    for key in sorted({*ours, *theirs}):
        if ours.get(key) != theirs.get(key):
            yield f"PlaceWorkloads and post-render differ in {' '.join(key)}"


def _prefixed(overlay: Overlay, scheduler: str, bench: Bench) -> Iterator[str]:
    """A kustomization around the placed overlay gives all names a prefix; references must follow."""
    around = bench.folder / "around"
    here = os.path.relpath(bench.folder / "outer", around)
    references = os.path.relpath(kustomize.PLUGIN / "references", around)
    bench.built(overlay.folder, scheduler, 1)
    bench.write("around/kustomization.yaml", {"resources": [here], "namePrefix": "our-", "components": [references]})
    done = build(bench.programs, around, *kustomize.FLAGS)
    bench.write("plain/kustomization.yaml", {"resources": [os.path.relpath(overlay.folder, bench.folder / "plain")]})
    bench.write("around/kustomization.yaml", {"resources": ["../plain"], "namePrefix": "our-"})
    plain = build(bench.programs, around)
    if done.returncode or plain.returncode:
        yield f"a prefix around it fails: {(done.stderr or plain.stderr)[:300]}"
        return
    before = set(dangling(filter(is_whole, objects(plain.stdout))))
    more = set(dangling(filter(is_whole, objects(done.stdout)), [("Topology", "made")])) - before
    yield from (
        f"a reference leads nowhere behind a prefix: {each}" for each in sorted(more) if "Topology/" not in each
    )


def is_whole(data: Mapping[str, Any]) -> bool:
    """Whether the search for references can read an object."""
    return bool((data.get("metadata") or {}).get("name")) and data["kind"] != "CustomResourceDefinition"


def lint(overlay: Overlay, bench: Bench) -> Counter[str]:
    """What lint reports of the plain build."""
    done = bayplan("lint", "-t", "topology.yaml", "-", stdin=overlay.text, cwd=bench.folder)
    if done.returncode not in (0, 1):
        return Counter({f"exit {done.returncode}": 1})
    return Counter(re.findall(r"^\S+: ((?:error|warning)\[\w+\])", done.stdout + done.stderr, re.MULTILINE))


# Manifests without a kustomization: bayplan's user makes an overlay of them


def wrapped(folder: Path) -> Iterator[Path]:
    """A kustomization around each file with workloads for a gang that is not part of a chart or a kustomization."""
    for number, path in enumerate(sorted([*folder.rglob("*.yaml"), *folder.rglob("*.yml")])):
        text = path.read_bytes().decode(errors="replace")
        if not re.search(rf"^kind: [\"']?({'|'.join(GANGS)}|Job|Deployment|StatefulSet|Pod)\b", text, re.MULTILINE):
            continue
        if "{{" in text or any((path.parent / name).exists() for name in NAMES):
            continue
        try:
            found = objects(text)
        except yaml.YAMLError:
            continue
        if not any(isinstance(each, dict) and "kind" in each and is_gang(each) for each in found):
            continue
        around = folder / ".wrapped" / str(number)
        around.mkdir(parents=True)
        keys = {
            "resources": [os.path.relpath(path, around)],
            "namePrefix": "our-",
            "labels": [{"pairs": {"team": "vision"}, "includeTemplates": True}],
            "configMapGenerator": [{"name": "settings", "literals": ["a=b"]}],
        }
        (around / "kustomization.yaml").write_text(yaml.safe_dump(keys), encoding="utf-8")
        (around / "source").write_text(str(path.relative_to(folder)), encoding="utf-8")
        yield around


# The table

COLUMNS = ("repository", "commit", "overlays", "workloads", "placed", "after the hint", "refused", "lint", "faults")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", type=Path)
    parser.add_argument("--list", action="store_true", help="print each overlay with its results")
    parser.add_argument("--only", default="", help="only overlays whose path contains this text")
    parser.add_argument("--manifests", action="store_true", help="make an overlay of each manifest without one")
    parser.add_argument(
        "--hall", action="store_true", help="use the example with 64 nodes instead of a fitting topology"
    )
    parser.add_argument("-s", "--scheduler", action="append", choices=SCHEDULERS, help="by default all of them")
    given = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for source in given.sources:
        with tempfile.TemporaryDirectory() as folder:
            _row(source, Path(folder).resolve(), given)


HALL = EXAMPLES / "rdma-hostdevice" / "topology.yaml"


def _row(source: Path, folder: Path, given: argparse.Namespace) -> None:
    programs = folder / "bin"
    programs.mkdir()
    kustomize.install(programs)
    tree = checkout(source, folder / "tree")
    fill(tree)
    folders = list(wrapped(tree) if given.manifests else kustomizations(tree))
    found = [(path, each) for path, each in overlays(tree, folders, programs) if given.only in str(path)]
    wanted = [each for _, each in found if isinstance(each, Overlay)]
    results: list[Result] = []
    findings: Counter[str] = Counter()
    for overlay in wanted:
        bench = Bench(folder / "bench", programs)
        made = parse(HALL.read_text(encoding="utf-8")) if given.hall else topology(overlay.workloads)
        bench.write("topology.yaml", made)
        linted = lint(overlay, bench)
        findings += linted
        for scheduler in given.scheduler or SCHEDULERS:
            result = judge(overlay, scheduler, "pod" if given.hall else "block", bench)
            results.append(result)
            if given.list:
                print(overlay.name, scheduler, "placed:", *result.placed, "after:", *result.after, dict(linted))
                for who, why in result.refused:
                    print("    refused", who, why.replace(str(folder), ""))
                for fault in result.faults:
                    print("    FAULT", fault)
                sys.stdout.flush()
    codes = Counter(code for each in results for _, why in each.refused for code in set(CODE.findall(why)))
    cells = (
        *named(source),
        len(wanted),
        sum(len(each.workloads) for each in wanted),
        sum(len(each.placed) for each in results),
        sum(len(each.after) for each in results),
        ", ".join(f"{code} {number}" for code, number in codes.most_common()),
        ", ".join(f"{code} {number}" for code, number in findings.most_common()),
        sum(len(each.faults) for each in results),
    )
    print(f"| {' | '.join(map(str, cells))} |", flush=True)
    for path, why in found if given.list else ():
        if isinstance(why, str):
            print("not built:", path.relative_to(tree), why)


def named(source: Path) -> tuple[str, str]:
    """The repository, and the commit and its date."""
    whole = source.resolve()
    if not (whole / "HEAD").is_file():
        return whole.name, ""
    command = ["git", f"--git-dir={whole}", "log", "-1", "--format=%h (%cs)"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    return whole.parent.name.replace("+", "/"), done.stdout.strip()


if __name__ == "__main__":
    main()
