"""The golden files: which there must be, what each holds, and how syrupy finds them.

`golden/<backend>/<example>@<version>.yaml` holds the diagnostics of a render as comments and then what it prints;
where the render is refused, only the diagnostics. Versions with the same text share the file of the first of them, and
`golden/versions.tsv` lists them. The folder holds generated files only: `python tests/tools/refresh_golden.py` writes
them.
"""

from __future__ import annotations

import csv
import pickle
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation

from bayplan.backends import BACKENDS
from bayplan.model.target import KNOWN
from tools.run import EXAMPLES, ROOT, bayplan

GOLDEN = ROOT / "golden"
INSTEAD: Mapping[str, Mapping[str, str]] = {
    "native": {"1.32": "1.34", "1.33": "1.34"},
    "none": {"1.33": "1.32", "1.35": "1.34", "1.36": "1.34"},
    "volcano": {"1.14": "1.14.3", "1.15": "1.15.1"},
}
"""Backend -> a release that every example is not rendered for -> the one that speaks for it: the backend's own objects
are the same, or it is the first patch that has any."""


def _versions(backend: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(INSTEAD.get(backend, {}).get(v, v) for v in KNOWN[BACKENDS[backend].declared.component]))


VERSIONS = {backend: _versions(backend) for backend in BACKENDS}
"""Backend -> the versions that every example is rendered for: all that bayplan knows, but for `INSTEAD`."""
ACCEPTED: Mapping[str, tuple[str, ...]] = {"volcano": ("--accept", "F605")}
"""Backend -> options that keep examples rendered which its scheduler does not start reliably."""
SCRIPTS = ("slurm",)
"""Backends whose documents are no YAML."""


class Case(NamedTuple):
    """One golden file."""

    backend: str
    version: str
    example: str

    @property
    def path(self) -> Path:
        """Its file. A case that is in no row of the table has a file of its own."""
        return GOLDEN / self.backend / f"{self.example}@{shared().get(self, self.version)}.yaml"

    @property
    def component(self) -> str:
        """Whose version it is."""
        return BACKENDS[self.backend].declared.component

    @property
    def target(self) -> dict[str, str]:
        """The versions it is rendered for."""
        return {**versions(self.example), self.component: self.version}

    def __str__(self) -> str:
        return f"{self.backend}@{self.version}-{self.example}"


TABLE = GOLDEN / "versions.tsv"
"""Backend, example, and the versions that share a file, the first of them in its name."""


@cache
def shared() -> Mapping[Case, str]:
    """Case -> the version in the name of its file."""
    rows = (line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines())
    return {Case(backend, each, example): all_.split()[0] for backend, example, all_ in rows for each in all_.split()}


@cache
def examples() -> tuple[str, ...]:
    """Every folder of examples/ with a workflow and a topology."""
    folders = (path.parent for path in sorted(EXAMPLES.glob("*/workflow.yaml")))
    return tuple(folder.name for folder in folders if (folder / "topology.yaml").exists())


@cache
def cases() -> tuple[Case, ...]:
    """Every backend, version and example."""
    return tuple(
        Case(backend, version, example)
        for backend, known in VERSIONS.items()
        for version in known
        for example in examples()
    )


@cache
def distinct(backend: str) -> tuple[Case, ...]:
    """The cases of a backend that hold documents; of versions for which an example is the same, the newest."""
    of_backend = (case for case in cases() if case.backend == backend)
    found = {(case.example, text): case for case in of_backend if _carried(text := case.path.read_text("utf-8"))}
    return tuple(found.values())


def _carried(text: str) -> bool:
    """Whether a golden file holds more than diagnostics."""
    return any(line and not line.startswith("#") for line in text.splitlines())


@cache
def versions(example: str) -> Mapping[str, str]:
    """The versions that an example's topology file states."""
    _, topology = sources(example)
    return dict(topology["spec"].get("versions", {}))


def render(case: Case) -> str:
    """What the golden file of a case must hold. Comments that name the version have `VERSION` in its place."""
    options = ["-t", "topology.yaml", "-s", case.backend, "--target", f"{case.component}={case.version}"]
    whole = () if case.backend in SCRIPTS else ("--cluster-objects",)
    accepted = ACCEPTED.get(case.backend, ())
    return _printed(case, "render", "workflow.yaml", *options, *whole, *accepted) + _exported(case)


def _exported(case: Case) -> str:
    """The configuration that goes with scripts: two files that no single text can hold."""
    if case.backend not in SCRIPTS:
        return ""
    options = ["--to", case.backend, "--target", f"{case.component}={case.version}"]
    return "\n" + _printed(case, "topology", "export", "topology.yaml", *options)


def _printed(case: Case, *arguments: str) -> str:
    result = bayplan(*arguments, "-v", cwd=EXAMPLES / case.example)
    assert result.returncode in {0, 1}, result.stderr
    assert bool(result.stdout) == (result.returncode == 0)
    return comments(case, result.stderr) + result.stdout


def comments(case: Case, report: str) -> str:
    """The comments with a report. They have `VERSION` in place of the version."""
    said = re.sub(rf"(?<=[A-Za-z] ){re.escape(case.version)}(?![.\d])", "VERSION", report)
    return "".join(f"# {line}".rstrip() + "\n" for line in said.splitlines())


def documents(case: Case) -> list[dict[str, Any]]:
    """The objects in a golden file; none where the render was refused."""
    if case.backend in SCRIPTS:
        return []
    return [document for text in texts(case) if (document := read(text)) is not None]


def sources(example: str) -> tuple[Any, Any]:
    """Copies of an example's workflow and topology. A matrix has the rows of its CSV file."""
    workflow, topology = (read((EXAMPLES / example / name).read_text("utf-8")) for name in NAMES)
    return with_rows(workflow, EXAMPLES / example), topology


def with_rows(data: Any, folder: Path) -> Any:
    """The document, in which a matrix has the rows of its CSV file in a folder."""
    for gang in data["spec"]["gangs"] if data.get("kind") == "Workflow" else ():
        if name := gang.get("matrix", {}).get("file"):
            with (folder / name).open(encoding="utf-8", newline="") as table:
                gang["matrix"] = {"rows": list(csv.DictReader(table))}
    return data


NAMES = ("workflow.yaml", "topology.yaml")


def texts(case: Case) -> list[str]:
    """The texts of the documents in a golden file. Many are the same at several versions."""
    return re.split(r"(?<=\n)---\n", case.path.read_text(encoding="utf-8"))


def read(text: str) -> Any:
    """A copy of the document that a text holds. Each distinct text is parsed once."""
    return pickle.loads(_parsed(text))


@cache
def _parsed(text: str) -> bytes:
    return pickle.dumps(yaml.load(text, yaml.CSafeLoader))


class GoldenExtension(SingleFileSnapshotExtension):
    """Golden files by the name of a snapshot, in the folder of the test's backend."""

    _write_mode = WriteMode.TEXT
    file_extension = "yaml"

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """The backend's folder. Asked of every test, so also of those without a backend."""
        callspec = getattr(test_location.item, "callspec", None)
        backend = callspec.params.get("backend") if callspec else None
        return str(GOLDEN / backend) if backend in BACKENDS else super().dirname(test_location=test_location)

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: int | str = 0) -> str:
        """The name that the test gives."""
        if isinstance(index, str):
            return index
        return super().get_snapshot_name(test_location=test_location, index=index)
