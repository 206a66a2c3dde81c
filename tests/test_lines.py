"""No input leads to a traceback, and every error names a line, except those in `WITHOUT_A_LINE`.

The inputs are the failing cases of `tests/cases`, as they are and with values that are removed, renamed or replaced.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import yaml

from tools import cases
from tools.effort import examples, sample
from tools.run import EXAMPLES, PRETRAIN, ROOT, bayplan, hooked

COMMAND_LINE = "the error is about the command line: exit code 2"
ARGUMENT = "the command line names a file that cannot be read"
OUTPUT = "the error is about a file that bayplan writes or has written"
FOLDER = "the error is about a folder"
WHOLE_FILE = "the error is about a whole file of what runs"
PROGRAM = "the error is about another program"
REPORT = "the error is about errors that the report leaves out"

REASONS = {
    COMMAND_LINE: "A901 A904 A904 A920 A921 A912 A920 T516 A975 A976 A976 A921 A920 A990 O808 A920 A920 W323",
    ARGUMENT: "R101 R103",
    OUTPUT: "A990 O802 O804 O805 O804",
    FOLDER: "A912 O831",
    WHOLE_FILE: "R160 R160",
    PROGRAM: "O821",
    REPORT: "R158",
}
WITHOUT_A_LINE = {code: why for why, codes in REASONS.items() for code in codes.split()}
"""Code -> why an error can be without a line."""

ERROR = re.compile(r"^(?P<file>[^|\n]*?)(?P<line>:[0-9]+:[0-9]+)?: error\[(?P<code>[A-Z][0-9]{3})\]: .*$", re.MULTILINE)


def unplaced(text: str, code: int) -> Iterator[str]:
    """The errors of a report without a line that need one."""
    for found in ERROR.finditer(text):
        why = WITHOUT_A_LINE.get(found["code"], "")
        nowhere = found["file"] == "bayplan"
        valid = {"": False, COMMAND_LINE: nowhere and code == 2, ARGUMENT: not nowhere}.get(why, True)
        if not found["line"] and not valid:
            yield found[0]


def test_errors_of_the_cases() -> None:
    """Their golden files have what they print."""
    wrong = []
    for golden in sorted((ROOT / "golden" / "diagnostics").glob("*.txt")):
        text = golden.read_text(encoding="utf-8")
        wrong += [f"{golden.stem}: {each}" for each in unplaced(text, int(text.rpartition("exit ")[2]))]
    assert wrong == []


def test_the_table_has_no_code_too_many() -> None:
    texts = [each.read_text(encoding="utf-8") for each in (ROOT / "golden" / "diagnostics").glob("*.txt")]
    bare = {found["code"] for text in texts for found in ERROR.finditer(text) if not found["line"]}
    assert WITHOUT_A_LINE.keys() - bare == set()


VALUES = (None, "x", "", [], {}, 3, True, ["x"], {"x": "y"}, -1, 1.5, [None], [[]], [{"name": "x"}], 10**30, "x\ny")
MOST = 3000
"""The most values of a document that may change. Aliases multiply them."""


def changed(text: str, random: random.Random) -> str:
    """The documents with one or two values removed, renamed or replaced; other text with one line changed."""
    try:
        documents = list(yaml.load_all(text, yaml.CSafeLoader))
    except (yaml.YAMLError, ValueError):
        documents = []
    if not any(isinstance(each, dict | list) for each in documents):
        lines = text.splitlines(keepends=True) or [""]
        number = random.randrange(len(lines))
        lines[number] = random.choice(("", lines[number] * 2, lines[number].replace("=", " ")))
        return "".join(lines)
    for _ in range(random.choice((1, 1, 2))):
        paths = [path for path in itertools.islice(_paths(documents), MOST) if path]
        if paths:
            _change(documents, random.choice(paths), random)
    return yaml.dump_all(documents, Dumper=yaml.CSafeDumper, sort_keys=False, width=10_000)


def _change(documents: Any, path: tuple[Any, ...], random: random.Random) -> None:
    holder = documents
    for key in path[:-1]:
        holder = holder[key]
    way = random.random()
    if way < 0.3:
        del holder[path[-1]]
    elif way < 0.5 and isinstance(holder, dict):
        holder[random.choice(("x", "name", "kind", "spec"))] = holder.pop(path[-1])
    else:
        holder[path[-1]] = copy.deepcopy(random.choice(VALUES))


def _paths(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        yield from _paths(value, (*path, key))


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for changed cases, from which the paths to the examples are right."""
    root = tmp_path_factory.mktemp("checkout")
    for name in ("examples", "golden"):
        (root / name).symlink_to(ROOT / name)
    folder = root / "tests" / "cases"
    folder.mkdir(parents=True)
    for each in (ROOT / "tests").iterdir():
        if each.name != "cases":
            (root / "tests" / each.name).symlink_to(each)
    return folder


@pytest.mark.parametrize("seed", range(examples(8, 64)))
def test_errors_of_changed_cases(seed: int, copies: Path) -> None:
    """In each, one file is changed."""
    draw = random.Random(seed)
    with mock.patch.object(cases, "CASES", copies):
        for name in draw.sample(cases.NAMES, 25):
            folder = copies / name
            shutil.copytree(ROOT / "tests" / "cases" / name, folder, symlinks=True)
            found = (each for each in sorted(folder.rglob("*")) if each.is_file() and not each.is_symlink())
            path = draw.choice([each for each in found if each.name != "command" and "bin" not in each.parts] or [None])
            with contextlib.suppress(ValueError, RecursionError):
                if path and path.stat().st_size < 100_000:
                    path.write_text(changed(path.read_text(encoding="utf-8"), draw), encoding="utf-8")
            answer = cases.run(name)
            inputs = f"{name}, seed {seed}: {path and path.read_bytes()!r}"
            assert answer.code in {0, 1, 2}, f"{answer.err}\n{inputs}"
            assert [*unplaced(answer.out + answer.err, answer.code)] == [], inputs
            shutil.rmtree(folder)


SHAPES = ("x", "[]", "null", "3", "{}", "{versions: x}", "{versions: [a]}", "{versions: {kai: [1]}}", "{pools: [x]}")
DOORS = (
    f"check {PRETRAIN}/workflow.yaml -s all -t FILE",
    f"plan {PRETRAIN}/workflow.yaml -t FILE",
    f"render {PRETRAIN}/workflow.yaml -t FILE",
    "topology show FILE",
    "topology export FILE --to kai",
    f"topology diff {PRETRAIN}/topology.yaml FILE",
    f"topology check FILE --live {EXAMPLES}/sources/slurm.conf",
    f"topology import {EXAMPLES}/sources/slurm.conf --update FILE",
)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: " ".join(word for word in door.split() if word.isalpha()))
@pytest.mark.parametrize("spec", SHAPES)
def test_a_topology_of_another_shape(door: str, spec: str, tmp_path: Path) -> None:
    head = "apiVersion: bayplan.dev/v1alpha1\nkind: ClusterTopology\nmetadata: {name: hall}\n"
    (tmp_path / "topology.yaml").write_text(f"{head}spec: {spec}\n", encoding="utf-8")
    done = bayplan(*door.replace("FILE", "topology.yaml").split(), cwd=tmp_path)
    assert done.returncode == 1
    assert "error[S2" in done.stdout + done.stderr
    assert [*unplaced(done.stdout + done.stderr, done.returncode)] == []


@pytest.mark.parametrize(
    "text", ["", "x", "- a", "42", "null", "# nothing", "a b\n c", "x\n---\ny", "[1]: 2", "{", "\0"]
)
@pytest.mark.parametrize("word", ["osmo", "native", "torchx", "sbatch"])
def test_a_workflow_without_keys(text: str, word: str, tmp_path: Path) -> None:
    (tmp_path / "workflow").write_text(text, encoding="utf-8")
    for command in ("import", "check"):
        done = bayplan(command, "workflow", "--from", word, cwd=tmp_path)
        assert done.returncode in ({0, 1} if word == "sbatch" else {1}), done.stderr
        assert [*unplaced(done.stdout + done.stderr, done.returncode)] == []


APIS = (
    "jobset.x-k8s.io/v1alpha2 JobSet",
    "kubeflow.org/v1 PyTorchJob",
    "kubeflow.org/v1 MPIJob",
    "kubeflow.org/v2beta1 MPIJob",
    "trainer.kubeflow.org/v1alpha1 TrainJob",
    "trainer.kubeflow.org/v1alpha1 TrainingRuntime",
    "ray.io/v1 RayJob",
    "ray.io/v1 RayCluster",
    "leaderworkerset.x-k8s.io/v1 LeaderWorkerSet",
    "batch/v1 Job",
    "apps/v1 StatefulSet",
    "batch.volcano.sh/v1alpha1 Job",
    "scheduling.volcano.sh/v1beta1 PodGroup",
    "scheduling.run.ai/v2alpha2 PodGroup",
    "scheduling.x-k8s.io/v1alpha1 PodGroup",
    "kueue.x-k8s.io/v1beta1 Workload",
    "topology.volcano.sh/v1alpha1 HyperNode",
    "resource.nvidia.com/v1beta1 ComputeDomain",
    "v1 Pod",
    "v1 List",
)


KEYS = ("apiVersion", "kind", "metadata", "spec")


@pytest.mark.parametrize(("api", "key"), sample([(api, key) for key in KEYS for api in APIS], 3))
def test_an_object_without_a_key(api: str, key: str) -> None:
    """Or with a value of another type in it. `lint`, `post-render` and a validator read it."""
    version, kind = api.split()
    pods = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "i"}]}}
    replicas = {name: {"replicas": 2, "template": pods} for name in ("Master", "Launcher", "Worker")}
    spec = {"template": pods, "pytorchReplicaSpecs": replicas, "mpiReplicaSpecs": replicas, "tasks": [pods]}
    marked = {"name": "a", "annotations": {"bayplan.dev/place": "true"}}
    whole = {"apiVersion": version, "kind": kind, "metadata": marked, "spec": spec, "items": [{"kind": kind}]}
    rest = {name: value for name, value in whole.items() if name != key}
    others = ({**rest, key: value} for value in (None, 3, "x", [], {}, [{}]))
    texts = [yaml.safe_dump(each) for each in (rest, *others)]
    topology = ("-t", f"{PRETRAIN}/topology.yaml")
    for words in (("lint", "-"), ("lint", "-", *topology), ("post-render", *topology)):
        done = [bayplan(*words, stdin=text) for text in (*texts, "---\n".join(texts))]
        assert {each.returncode for each in done} <= {0, 1}, [each.stderr for each in done]
        assert [found for each in done for found in unplaced(each.stdout + each.stderr, each.returncode)] == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("render", f"{PRETRAIN}/workflow.yaml"), 2),
        (("render", f"{PRETRAIN}/workflow.yaml", "-t", f"{PRETRAIN}/topology.yaml", "-o", "out/"), 1),
        (("check", f"{PRETRAIN}/workflow.yaml"), 0),
        (("check", "workflow.yaml", "--diagnostics", "sarif"), 1),
        (("lint", "-"), 0),
        (("generate",), 2),
        (("generate", "."), 1),
        (("krm",), 2),
        (("post-render",), 2),
        (("init",), 1),
        (("topology", "import", f"{EXAMPLES}/sources/slurm.conf", "-o", "topology.yaml"), 1),
        (("topology", "show"), 2),
        (("diff", f"{PRETRAIN}/workflow.yaml", "."), 2),
    ],
    ids=lambda value: "-".join(word for word in value if word.isalpha()) if isinstance(value, tuple) else "",
)
def test_a_deleted_folder(words: tuple[str, ...], code: int) -> None:
    """The current folder is gone when bayplan starts."""
    leave = "import os, tempfile; folder = tempfile.mkdtemp(); os.chdir(folder); os.rmdir(folder)"
    done = hooked(leave, words, stdin="a: b\n")
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
