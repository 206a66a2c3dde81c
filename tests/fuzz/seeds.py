"""The inputs to start from: the cases, examples and golden files of the repository, and the inputs that once failed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from random import Random
from typing import NamedTuple

import yaml

from bayplan.backends import BACKENDS
from bayplan.cli.commands import COMMANDS
from bayplan.cli.options import Arguments, Command
from bayplan.cli.run import find, parse
from bayplan.model.target import KNOWN
from bayplan.report import FORMATS
from bayplan.topologies import FROM, WRITTEN
from bayplan.workflows import FORMATS as WORKFLOW_FORMATS
from tools.run import EXAMPLES, ROOT

CORPUS = Path(__file__).parent / "corpus"
CASES = ROOT / "tests" / "cases"
LARGEST = 20_000
"""Bytes of the largest file that is a seed: larger files are slow, and have little that smaller ones lack."""

STDIN = "-"
BY_NAME: Mapping[str, Command] = {command.name: command for command in COMMANDS}
WORKFLOW_DOORS = ("render", "check", "plan", "capacity", "delete-plan", "import", "diff")
TOPOLOGY_DOORS = ("topology check", "topology show", "topology export", "topology diff", "topology import")
MANIFEST_DOORS = ("lint", "post-render", "topology import", "diff")
DOORS = (
    *WORKFLOW_DOORS,
    *TOPOLOGY_DOORS,
    "lint",
    "post-render",
    "krm",
    "generate",
    "kustomize doctor",
    "init",
    "explain",
    "schema",
    "schedulers",
    "completion",
)
SOUND = 0.6
"""The share of inputs that start from a seed without faults: the others start from one with a fault of its own."""

WEIGHTS = {"explain": 0.2, "schema": 0.05, "schedulers": 0.05, "completion": 0.02, "init": 0.1, "kustomize doctor": 0.2}
"""Door -> its share of the inputs; others have 1. These have no file, or start other programs."""

FUNCTIONS = ("ExpandWorkflows", "PlaceWorkloads", "ValidateWorkloads")
SUFFIXES = (".yaml", ".yml", ".json", ".sbatch", ".conf", ".txt", ".tsv", ".out", ".sh", ".csv", "")


class Input(NamedTuple):
    """A command line, and its files by their names in the current folder; `-` is standard input."""

    words: tuple[str, ...]
    files: Mapping[str, bytes]

    @property
    def door(self) -> str:
        """The command."""
        found = find(self.words, COMMANDS)
        return found[0].name if found else ""


def read(folder: Path) -> Input:
    """A case: its command, its standard input and its files. Files of other folders get names in this one."""
    words = shlex.split((folder / "command").read_text("utf-8"))
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("command", "stdin") and "__pycache__" not in path.parts
    }
    if (folder / "stdin").exists():
        files[STDIN] = (folder / "stdin").read_bytes()
    for number, word in enumerate(words):
        path = (folder / word).resolve()
        if word.startswith("../") and path.is_file() and path.is_relative_to(ROOT):
            words[number] = f"other-{number}-{path.name}"
            files[words[number]] = path.read_bytes()
    return Input(tuple(words), files)


def write(folder: Path, entry: Input) -> None:
    """Writes an input in the form of a case."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in entry.files.items():
        path = folder / ("stdin" if name == STDIN else name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (folder / "command").write_text(shlex.join(entry.words) + "\n", "utf-8", "surrogateescape")


def _small(path: Path) -> bool:
    return path.is_file() and path.suffix in SUFFIXES and 0 < path.stat().st_size <= LARGEST


def _of_cases() -> Iterator[Input]:
    for root in (CASES, CORPUS):
        for command in sorted(root.glob("*/command")):
            entry = read(command.parent)
            if all(len(content) <= LARGEST for content in entry.files.values()):
                yield entry


def _of_examples() -> Iterator[Input]:
    for folder in sorted(EXAMPLES.iterdir()):
        files = {path.name: path.read_bytes() for path in sorted(folder.glob("*")) if _small(path)}
        files.pop("README.md", None)
        if "topology.yaml" in files:
            pool = ("--osmo-pool", "pool.yaml") if "pool.yaml" in files else ()
            yield Input(("topology", "check", "topology.yaml"), files)
            for name in files:
                if name not in ("topology.yaml", "pool.yaml"):
                    own = pool if name == "osmo.yaml" else ()
                    yield Input(("check", name, "-t", "topology.yaml", *own), files)
        elif folder.name == "sources":
            yield from (Input(("topology", "import", name), {name: text}) for name, text in files.items())


def _of_project() -> Iterator[Input]:
    folder = EXAMPLES / "project"
    files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if _small(path)}
    topology = (EXAMPLES / "pretrain" / "topology.yaml").read_bytes()
    project = files["bayplan.yaml"].replace(b"../pretrain/", b"")
    files = {**files, "bayplan.yaml": project, "topology.yaml": topology}
    yield from (Input(words, files) for words in (("generate",), ("generate", "--check"), ("generate", "--tracked")))


def _of_golden() -> Iterator[Input]:
    """Manifests: to lint, to compare, to place, and as the items of a ResourceList."""
    for backend in BACKENDS:
        for path in sorted((ROOT / "golden" / backend).glob("*.yaml"))[::7]:
            folder = EXAMPLES / path.name.rpartition("@")[0]
            text = path.read_bytes()
            if len(text) > LARGEST or not folder.is_dir():
                continue
            beside = {name: (folder / name).read_bytes() for name in ("workflow.yaml", "topology.yaml")}
            both = {"manifests.yaml": text, **beside}
            yield Input(("lint", "manifests.yaml", "-t", "topology.yaml"), both)
            yield Input(("diff", "workflow.yaml", "manifests.yaml", "-t", "topology.yaml", "-s", backend), both)
            yield Input(("post-render", "-t", "topology.yaml"), {STDIN: text, "topology.yaml": beside["topology.yaml"]})
            yield from _resource_lists(text, beside)


def _resource_lists(manifests: bytes, beside: Mapping[str, bytes]) -> Iterator[Input]:
    try:
        items = [each for each in yaml.load_all(manifests, yaml.CSafeLoader) if each]
    except yaml.YAMLError:
        return  # a script
    workflow = yaml.load(beside["workflow.yaml"], yaml.CSafeLoader)
    local = {"metadata": {**workflow["metadata"], "annotations": {"config.kubernetes.io/local-config": "true"}}}
    for kind in (*FUNCTIONS, "Workflow"):
        head = {"apiVersion": "bayplan.dev/v1alpha1", "kind": kind, "metadata": {"name": "run"}}
        config = workflow if kind == "Workflow" else {**head, "spec": {"topology": "topology.yaml"}}
        listed = [{**workflow, **local}] if kind == "ExpandWorkflows" else items
        whole = {
            "apiVersion": "config.kubernetes.io/v1",
            "kind": "ResourceList",
            "items": listed,
            "functionConfig": config,
        }
        words = ("krm", "-t", "topology.yaml") if kind == "Workflow" else ("krm",)
        text = yaml.dump(whole, Dumper=yaml.CSafeDumper, sort_keys=False).encode()
        if len(text) <= LARGEST:
            yield Input(words, {STDIN: text, "topology.yaml": beside["topology.yaml"]})


def _of_words() -> Iterator[Input]:
    from bayplan.cli.commands import SCHEMAS, SHELLS
    from bayplan.report.codes import sections

    yield from (Input(("explain", code), {}) for code in sorted(sections())[::20])
    yield from (Input(("explain", f"{name}.metadata.name"), {}) for name in SCHEMAS)
    yield from (Input(("explain", path), {}) for path in ("workflow.gangs.placement", "topology.pools.levels"))
    yield from (Input(("schema", name), {}) for name in SCHEMAS)
    yield from (Input(("completion", shell), {}) for shell in SHELLS)
    yield from (Input(("schedulers", name), {}) for name in BACKENDS)
    yield Input(("init", "new", "--accelerator", "h100", "-s", "volcano"), {})
    yield Input(("init", "new", "--from", "nodes.json"), {"nodes.json": b'{"kind": "List", "items": []}'})


def _of_upstream(folder: str) -> Iterator[Input]:
    """Files of the schedulers' own repositories, where a checkout of them is at hand."""
    for path in sorted(Path(folder).rglob("*")) if folder else ():
        if _small(path):
            for words in (("lint",), ("check",), ("import",), ("topology", "import")):
                yield Input((*words, path.name), {path.name: path.read_bytes()})


class Seeds(NamedTuple):
    """The seeds by their doors, those of them that are without faults, and the contents of all their files."""

    by_door: Mapping[str, Sequence[Input]]
    sound: Mapping[str, Sequence[Input]]
    contents: Sequence[bytes]
    topologies: Sequence[bytes]
    policies: Sequence[bytes]


@cache
def collect(upstream: str = "") -> Seeds:
    """All seeds, always in the same order."""
    sound = _grouped(chain(_of_examples(), _of_project(), _of_golden(), _of_words()))
    other = _grouped(chain(_of_cases(), _of_upstream(upstream)))
    by_door = {door: [*sound[door], *other[door]] for door in DOORS}
    every = (content for seeds in by_door.values() for each in seeds for content in each.files.values())
    contents = list(dict.fromkeys(each for each in every if each))
    topologies = [each for each in contents if b"kind: ClusterTopology" in each]
    return Seeds(by_door, sound, contents, topologies, [each for each in contents if b"kind: Policy" in each])


def _grouped(seeds: Iterable[Input]) -> dict[str, list[Input]]:
    grouped: dict[str, list[Input]] = {door: [] for door in DOORS}
    for each in seeds:
        grouped.get(each.door, []).append(each)
    return grouped


@cache
def _sources(command: str) -> tuple[str, ...]:
    """The commands whose seeds suit a command."""
    families = (WORKFLOW_DOORS, TOPOLOGY_DOORS, MANIFEST_DOORS)
    return tuple(dict.fromkeys((command, *(each for family in families if command in family for each in family))))


def choose(seeds: Seeds, door: str, random: Random) -> Input:
    """A seed for the door: one of its own, or one of a related door with the command line changed."""
    groups = seeds.sound if random.random() < SOUND else seeds.by_door
    families = DOORS if random.random() < 0.02 else _sources(door)  # files that the command is not for
    homes = [home for home in families if groups[home]]
    home = random.choices(homes, [len(groups[home]) for home in homes])[0] if homes else "check"
    entry = random.choice(groups[home])
    found = find(entry.words, COMMANDS)
    parsed = parse(*found) if found else None
    if parsed is None:
        return entry
    if home != door:
        return _moved(parsed, entry.files, BY_NAME[door], seeds, random)
    return Input(_words(parsed.command, parsed.words, _varied(parsed.command, parsed.options, random)), entry.files)


def _moved(parsed: Arguments, files: Mapping[str, bytes], command: Command, seeds: Seeds, random: Random) -> Input:
    """The same files for another command, with the options that both have."""
    files = dict(files)
    known = {option.key for option in command.options}
    options = {key: values for key, values in parsed.options.items() if key in known}
    names = list(dict.fromkeys((*parsed.words, *parsed.options.get("topology", ()), *files)))
    topologies = [name for name in names if b"kind: ClusterTopology" in files.get(name, b"")]
    others = [name for name in names if name in files and name not in topologies] or names or [STDIN]
    if "topology" in known and "topology" not in options and random.random() < 0.9:
        if not topologies:
            files["topology.yaml"] = random.choice(seeds.topologies)
        options["topology"] = ((topologies or ["topology.yaml"])[0],)
    words: tuple[str, ...] = (others[0],)
    if command.name in TOPOLOGY_DOORS[:3]:
        words = ((topologies or others)[0],)
    elif command.name == "topology diff":
        files["new.yaml"] = random.choice(seeds.topologies)
        words = ((topologies or others)[0], "new.yaml")
    elif command.name == "diff":
        words = (next((name for name in others if b"kind: Workflow" in files.get(name, b"")), others[0]), others[-1])
    elif command.name in ("post-render", "krm", "generate", "kustomize doctor", "init"):
        words = ()
        files.setdefault(STDIN, files.get(others[0], b""))
        if command.name == "post-render" and "policy" not in options and random.random() < 0.5:
            files["policy.yaml"] = random.choice(seeds.policies)
            options["policy"] = ("policy.yaml",)
    elif not any(each.file for each in command.arguments):
        words = ("x",)
    return Input(_words(command, words, _varied(command, options, random)), files)


def _varied(command: Command, options: Mapping[str, Sequence[str]], random: Random) -> dict[str, Sequence[str]]:
    """The options, some of them changed or added."""
    varied = dict(options)
    known = {option.key for option in command.options}
    if "scheduler" in known and random.random() < 0.6:
        varied["scheduler"] = (random.choice([*BACKENDS, "all"] if command.name == "check" else list(BACKENDS)),)
    if "target" in known and random.random() < 0.3:
        component = random.choice(list(KNOWN))
        varied["target"] = (f"{component}={random.choice(KNOWN[component])}",)
    if "to" in known:
        varied["to"] = (random.choice((*BACKENDS, *WRITTEN)),)
    if "format" in known:
        choices = next(option.choices for option in command.options if option.key == "format")
        varied["format"] = (random.choice(choices),)
    if "from" in known and random.random() < 0.15 and command.name != "init":
        formats = tuple(FROM) if command.name == "topology import" else tuple(WORKFLOW_FORMATS)
        varied["from"] = (random.choice(formats),)
    for key in ("cluster-objects", "all", "accelerated-only", "exclude-incomplete", "include-hooks", "strict"):
        if key in known and random.random() < 0.1:
            varied[key] = ("",)
    varied["diagnostics"] = ("json" if random.random() < 0.9 else random.choice(FORMATS),)
    return {key: values for key, values in varied.items() if key in known}


def _words(command: Command, words: Sequence[str], options: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The command line."""
    names = {option.key: option for option in command.options}
    spelled = [
        f"--{key}={value}" if names[key].metavar else f"--{key}" for key, values in options.items() for value in values
    ]
    return (*command.name.split(" "), *words, *spelled)


def upstream() -> str:
    """The folder with the schedulers' own repositories; empty without one."""
    return os.environ.get("BAYPLAN_UPSTREAM", "")
