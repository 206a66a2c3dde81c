"""`bayplan generate` in a repository that people and programs change in any order (a state machine of Hypothesis).

A run with errors changes nothing. Other runs write the files that a run in a new folder writes. They change only files
of bayplan, and do not write equal files again.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bayplan.cli.output_folder import INDEX as RENDER_INDEX
from bayplan.cli.output_folder import MARK
from bayplan.cli.output_tree import HEADER, INDEX
from tools.effort import examples
from tools.run import bayplan

HEAD = {"apiVersion": "bayplan.dev/v1alpha1"}
HALL: dict[str, Any] = {
    **HEAD,
    "kind": "ClusterTopology",
    "metadata": {"name": "hall"},
    "spec": {
        "defaults": {"scheduler": "kai", "queue": "research"},
        "accelerators": {"h100": {"resources": {"count": "nvidia.com/gpu"}}},
        "pools": [
            {
                "name": "h100",
                "node": {"accelerator": "h100", "count": 8},
                "levels": [{"name": "rack", "label": "example.com/rack"}],
                "domains": [{"path": "r1", "nodes": "n[1-2]"}, {"path": "r2", "nodes": "n[3-4]"}],
            }
        ],
    },
}
BROKEN = ("", "x", "a: [", "apiVersion: bayplan.dev/v1alpha1\nkind: Workflow\nspec: x\n")
PLACES = (
    "out/",
    "out/{workflow}/",
    "{namespace}/{workflow}.yaml",
    "all.yaml",
    "out/deep/",
    "./",
    "jobs/made/",
    "jobs/{workflow}.yaml",
    "linked/",
)
NAMES = ("one", "two", "three")
JOBS = tuple(f"jobs/{each}.yaml" for each in "abc")
FOREIGN = (
    "out/notes.md",
    "out/20-jobset-one.yaml",
    "all.yaml",
    "ml/two.yaml",
    "mine/20-jobset-one.yaml",
    "out/deep",
    "jobs/one.yaml",
)


class Entry(NamedTuple):
    """A file or a link, and whether somebody has written it again."""

    text: bytes
    inode: int
    written: int


def job(name: str, namespace: str, replicas: int) -> str:
    """A workflow with pods of a rack. More than two do not fit."""
    pods = {"name": "worker", "replicas": replicas, "accelerator": {"name": "h100", "count": 8}, "image": "train:1"}
    gang = {"name": "main", "placement": {"required": "rack"}, "podSets": [pods]}
    metadata = {"name": name, "namespace": namespace}
    return yaml.safe_dump({**HEAD, "kind": "Workflow", "metadata": metadata, "spec": {"gangs": [gang]}})


class Generate(RuleBasedStateMachine):
    """A folder with a project, a topology, workflows, generated files, files of others and links."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.folder = self.root / "project"
        self.outside = self.root / "outside"
        self.outside.mkdir()
        self.steps = 0
        (self.outside / "kept.yaml").write_text(f"{MARK} elsewhere\n", encoding="utf-8")

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    def write(self, path: str, text: str) -> None:
        """A file and its folders, if no file is where a folder must be."""
        whole = self.folder / path
        try:
            whole.parent.mkdir(parents=True, exist_ok=True)
            whole.write_text(text, encoding="utf-8")
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            pass

    def state(self, folder: Path | None = None) -> dict[str, Entry]:
        """All files and links below."""
        found = {}
        for place, folders, names in os.walk(folder or self.root):
            for name in (*names, *(each for each in folders if os.path.islink(os.path.join(place, each)))):
                path = os.path.join(place, name)
                status = os.lstat(path)
                text = os.readlink(path).encode() if os.path.islink(path) else Path(path).read_bytes()
                found[os.path.relpath(path, folder or self.root)] = Entry(text, status.st_ino, status.st_mtime_ns)
        return found

    def listed(self, folder: Path) -> dict[str, str]:
        """The files that the index lists, with what is in them."""
        index = folder / INDEX
        names = index.read_text(encoding="utf-8").splitlines() if index.exists() else []
        return {name: (folder / name).read_text(encoding="utf-8") for name in names if not name.startswith("#")}

    def generated(self) -> list[str]:
        """The regular files with the mark of bayplan."""
        marked = (path for path, each in self.state(self.folder).items() if each.text.startswith(MARK.encode()))
        return sorted(path for path in marked if not (self.folder / path).is_symlink())

    @initialize()
    def begin(self) -> None:
        self.write("hall.yaml", yaml.safe_dump(HALL))
        self.write("jobs/a.yaml", job("one", "ml", 2))
        self.project([PLACES[0]], "")

    # What people do.

    @rule(path=st.sampled_from(JOBS), name=st.sampled_from(NAMES), where=st.sampled_from(("ml", "lab")))
    def write_workflow(self, path: str, name: str, where: str) -> None:
        self.write(path, job(name, where, 2))

    @rule(
        path=st.sampled_from((*JOBS, "bayplan.yaml", "hall.yaml", INDEX)),
        text=st.sampled_from((*BROKEN, job("one", "ml", 3))),
    )
    def break_a_file(self, path: str, text: str) -> None:
        """Until the next run, which it makes fail."""
        old = (self.folder / path).read_text(encoding="utf-8") if (self.folder / path).is_file() else None
        self.write(path, text)
        self.generate()
        if old is not None:
            self.write(path, old)
        elif (self.folder / path).is_file():
            (self.folder / path).unlink()

    @rule(path=st.sampled_from(JOBS), to=st.sampled_from(("", *JOBS)))
    def move_or_remove_workflow(self, path: str, to: str) -> None:
        whole = self.folder / path
        if whole.is_file() and not (self.folder / to).is_dir() and to:
            whole.replace(self.folder / to)
        elif not to:
            whole.unlink(missing_ok=True)

    @rule(
        places=st.lists(st.sampled_from(PLACES), max_size=2, unique=True),
        exports=st.sampled_from(("", "cluster/", "out/")),
    )
    def project(self, places: list[str], exports: str) -> None:
        outputs: list[dict[str, Any]] = [{"workflows": ["jobs/*.yaml"], "to": to} for to in places]
        outputs += [{"export": "kai", "to": exports}] if exports else []
        spec = {"topology": "hall.yaml", "outputs": outputs}
        self.write("bayplan.yaml", json.dumps({**HEAD, "kind": "Project", "spec": spec}))

    @rule(rack=st.sampled_from(("r1", "r9")))
    def topology(self, rack: str) -> None:
        self.write("hall.yaml", yaml.safe_dump(HALL).replace("r1", rack))

    @rule(path=st.sampled_from(FOREIGN), text=st.sampled_from(("mine\n", job("one", "ml", 2))))
    def foreign(self, path: str, text: str) -> None:
        self.write(path, text)

    @rule()
    def remove_foreign(self) -> None:
        for path in (self.folder / each for each in FOREIGN):
            if path.is_file() and not path.read_text(encoding="utf-8").startswith(MARK):
                path.unlink()

    @precondition(lambda self: self.generated())
    @rule(data=st.data(), way=st.sampled_from(("edit", "unmark", "remove", "copy", "link", "touch")))
    def change_generated(self, data: st.DataObject, way: str) -> None:
        path = self.folder / data.draw(st.sampled_from(self.generated()))
        text = path.read_text(encoding="utf-8")
        if way == "edit":
            path.write_text(f"{text}# mine\n", encoding="utf-8")
        elif way == "unmark":
            path.write_text(text.partition("\n")[2], encoding="utf-8")
        elif way == "remove":
            path.unlink()
        elif way == "copy":
            path.with_name("copy.yaml").write_text(text, encoding="utf-8")
        elif way == "link":
            (self.folder / "real.yaml").write_text(text, encoding="utf-8")
            path.unlink()
            path.symlink_to(self.folder / "real.yaml")
        else:
            os.utime(path, ns=(0, 0))

    @rule(text=st.sampled_from(("", HEADER, "<<<<<<< a\n=======\nout/gone.yaml\n>>>>>>> b\n", "jobs/a.yaml\n")))
    def index(self, text: str) -> None:
        if not text:
            (self.folder / INDEX).unlink(missing_ok=True)
            return
        old = (self.folder / INDEX).read_text(encoding="utf-8") if (self.folder / INDEX).exists() else ""
        self.write(INDEX, old + text)

    @rule(inside=st.booleans())
    def link_folder(self, inside: bool) -> None:
        link = self.folder / "linked"
        if link.is_symlink():
            link.unlink()
        if not link.exists():
            (self.folder / "real").mkdir(exist_ok=True)
            link.symlink_to(self.folder / "real" if inside else self.outside)
        self.project([PLACES[0], "linked/"], "")

    @rule(path=st.sampled_from(JOBS))
    def render_into_the_folder(self, path: str) -> None:
        done = bayplan("render", path, "-t", "hall.yaml", "-o", "out/", cwd=self.folder)
        assert done.returncode in (0, 1), done.stderr

    # What bayplan does.

    @invariant()
    def generate_after_some_steps(self) -> None:
        self.steps += 1
        if self.steps % 3 == 0:
            self.generate()

    @rule()
    def generate(self) -> None:
        before = self.state()
        ours = self.generated_before(before)
        check = bayplan("generate", "--check", cwd=self.folder)
        assert self.state() == before, "--check changes nothing"
        done = bayplan("generate", cwd=self.folder)
        after = self.state()
        assert {check.returncode, done.returncode} <= {0, 1}, check.stderr + done.stderr
        if "error[" in done.stderr:
            assert (done.returncode, check.returncode, done.stdout) == (1, 1, "")
            assert after == before
            return
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        texts = {
            path for path in before.keys() | after.keys() if before.get(path, _NONE).text != after.get(path, _NONE).text
        }
        assert changed == texts, "equal files are not written again"
        words = dict(line.split(" ", 1)[::-1] for line in done.stdout.splitlines())
        named = {os.path.relpath((self.folder / path).resolve(), self.root.resolve()) for path in words}
        real = {os.path.relpath((self.root / path).resolve(), self.root.resolve()) for path in changed}
        assert named == real
        assert done.returncode == bool(changed)
        assert {path for path in changed if path in before} <= ours, "files of others"
        assert {path for path in words if f"{path}: error[O805]" in check.stderr} == words.keys()
        unlisted = check.stderr.count("bayplan.yaml has no output for it")
        copies = [path for path in self.generated() if path.startswith("out/") and path.endswith("/copy.yaml")]
        if any(path.startswith("out/") and "/" not in path.removeprefix("out/") for path in self.listed(self.folder)):
            assert [path for path in copies if f"{path}: error[O805]" not in check.stderr] == []
        assert check.returncode == bool(changed or unlisted)
        again = bayplan("generate", cwd=self.folder)
        assert (again.returncode, again.stdout) == (0, "")
        assert self.state() == after
        assert self.listed(self.folder) == self.fresh()

    def generated_before(self, before: dict[str, Entry]) -> set[str]:
        """The files that bayplan may change: with its mark, of `render -o DIR/`, its index, and what its links name."""
        marked = {path for path, each in before.items() if each.text.startswith(MARK.encode())}
        rendered = set()
        for path, each in before.items():
            if os.path.basename(path) == RENDER_INDEX:
                names = (line for line in each.text.decode().splitlines() if not line.startswith("#"))
                rendered |= {path, *(os.path.join(os.path.dirname(path), name) for name in names)}
        links = {path for path in before if (self.root / path).is_symlink()}
        return {*marked, *rendered, *links, f"project/{INDEX}"}

    def fresh(self) -> dict[str, str]:
        """What a run in a new folder with the same inputs writes."""
        new = self.root / "fresh"
        (new / "jobs").mkdir(parents=True)
        for path in (self.folder / "jobs").glob("*.yaml"):
            if path.is_file() and not path.read_text(encoding="utf-8").startswith(MARK):
                shutil.copy(path, new / "jobs" / path.name)
        for name in ("bayplan.yaml", "hall.yaml"):
            shutil.copy(self.folder / name, new / name)
        try:
            done = bayplan("generate", cwd=new)
            assert "error[" not in done.stderr
            return self.listed(new)
        finally:
            shutil.rmtree(new)


_NONE = Entry(b"\0", 0, 0)

TestGenerate = Generate.TestCase
TestGenerate.settings = settings(max_examples=examples(30, 400), stateful_step_count=examples(15, 30))
