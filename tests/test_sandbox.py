"""The sandbox: in a repository that somebody else wrote, bayplan reads and writes no file outside of it.

The attacks come from the files of the repository and from what an Argo CD application sets. Each is made by every way
to a file that bayplan has.
"""

from __future__ import annotations

import ast
import copy
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from bayplan.cli import files, inputs
from test_gitops import CHARTS, CONFIG, JOB, launch
from test_kustomize import function, kustomization
from tools.clients import tool
from tools.data import parse
from tools.docs import prepare
from tools.effort import sample
from tools.imports import tree as syntax_tree
from tools.kustomize import build, call, install
from tools.run import EXAMPLES, PRETRAIN, ROOT, bayplan

COVERS = {"A990"}

SECRET = "hunter2"
NAME = "private-name"
"""The content and the name of a file outside. Neither may appear in a report."""

OPENED: list[str] = []
"""The files and folders that the process opened or listed."""


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str | bytes):
        OPENED.append(os.fsdecode(arguments[0]))


sys.addaudithook(_note)


class Place(NamedTuple):
    """The repository, the folder in it where bayplan runs, and a folder outside."""

    repository: Path
    jobs: Path
    outside: Path

    def run(self, *words: str, stdin: str = "") -> str:
        """The output and the report of a run that fails, and that opens nothing outside."""
        OPENED.clear()
        done = bayplan(*words, cwd=self.jobs, stdin=stdin, env={"XDG_STATE_HOME": str(self.repository / "state")})
        opened = [os.path.realpath(os.path.join(self.jobs, each)) for each in OPENED]
        git = (str(self.repository / ".git"), str(self.repository / ".GIT"), str(self.outside))
        assert [each for each in opened if each.startswith(git)] == []
        assert done.returncode in (1, 2), done.stdout + done.stderr
        assert SECRET not in done.stdout + done.stderr
        assert NAME not in done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A repository with links and files of git, and a folder outside with files that bayplan could read."""
    place = Place(tmp_path / "repository", tmp_path / "repository" / "jobs", tmp_path / "outside")
    place.jobs.mkdir(parents=True)
    place.outside.mkdir()
    for folder in (place.repository / ".git", place.repository / ".GIT", place.outside):
        folder.mkdir(exist_ok=True)
        (folder / "secret.yaml").write_text(f"{SECRET}: {SECRET}\n")
    (place.outside / f"{NAME}.yaml").write_text(f"{SECRET}: {SECRET}\n")
    shutil.copy(PRETRAIN / "topology.yaml", place.outside)
    shutil.copy(PRETRAIN / "topology.yaml", place.repository)
    shutil.copy(PRETRAIN / "workflow.yaml", place.jobs)
    shutil.copy(EXAMPLES / "sources" / "nodes.json", place.jobs)
    (place.jobs / "map.yaml").write_text("# bayplan.dev/\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    (place.jobs / "link.yaml").symlink_to(place.outside / "secret.yaml")
    (place.jobs / "chain.yaml").symlink_to("link.yaml")
    (place.jobs / "dangling.yaml").symlink_to(place.outside / "none.yaml")
    (place.jobs / "folder").symlink_to("../../outside")
    return place


PATHS = {
    "above": "../../outside/secret.yaml",
    "missing": "../../outside/none.yaml",
    "round": "../../outside/../outside/secret.yaml",
    "absolute": "{outside}/secret.yaml",
    "link": "link.yaml",
    "links": "chain.yaml",
    "dangling": "dangling.yaml",
    "folder": "folder/secret.yaml",
    "git": "../.git/secret.yaml",
    "upper-case-git": "../.GIT/secret.yaml",
    "device": "/dev/zero",
}

DOORS = {
    "render": "render {}",
    "render -t": "render workflow.yaml -t {}",
    "render --osmo-pool": "render workflow.yaml --osmo-pool {} -t ../topology.yaml",
    "check": "check {}",
    "check -t": "check workflow.yaml -t {}",
    "check -s all": "check workflow.yaml -s all -t {}",
    "check --occupied": "check workflow.yaml -t ../topology.yaml --occupied {}",
    "plan --occupied": "plan workflow.yaml -t ../topology.yaml --occupied {}",
    "capacity --occupied": "capacity -t ../topology.yaml --occupied {}",
    "render --occupied": "render workflow.yaml -t ../topology.yaml --occupied {}",
    "plan": "plan {} -t ../topology.yaml",
    "capacity": "capacity {} -t ../topology.yaml",
    "capacity -t": "capacity -t {}",
    "delete-plan": "delete-plan workflow.yaml -t {}",
    "diff": "diff workflow.yaml {} -t ../topology.yaml",
    "diff -t": "diff workflow.yaml map.yaml -t {}",
    "plan --from manifests": "plan {} --from manifests -t ../topology.yaml",
    "explain --why": "explain --why {} --workflow workflow.yaml -t ../topology.yaml",
    "explain --workflow": "explain --why map.yaml --workflow {} -t ../topology.yaml",
    "lint": "lint {}",
    "lint -t": "lint map.yaml -t {}",
    "import": "import {}",
    "import -t": "import workflow.yaml -t {}",
    "post-render -t": "post-render -t {}",
    "post-render --policy": "post-render -t ../topology.yaml --policy {}",
    "post-render --occupied": "post-render -t ../topology.yaml --occupied {}",
    "topology show --occupied": "topology show ../topology.yaml --occupied {}",
    "topology check": "topology check {}",
    "topology check --live": "topology check ../topology.yaml --live {}",
    "topology show": "topology show {}",
    "topology diff": "topology diff ../topology.yaml {}",
    "topology import": "topology import {}",
    "topology import --update": "topology import nodes.json --update {}",
    "topology export": "topology export {} --to kai",
    "krm -t": "krm -t {}",
}
FUNCTION = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "ExpandWorkflows", "metadata": {"name": "it"}, "spec": {}}


def resource_list(config: dict[str, Any] = FUNCTION, **annotations: str) -> str:
    """The input of a function, with a Workflow."""
    workflow = parse((PRETRAIN / "workflow.yaml").read_text())
    workflow["metadata"]["annotations"] = annotations
    kind = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList"}
    return yaml.safe_dump({**kind, "items": [workflow], "functionConfig": config})


@pytest.mark.parametrize(("door", "path"), sample(list(product(DOORS, PATHS)), 1))
def test_a_file_outside_is_not_read(door: str, path: str, place: Place) -> None:
    name = PATHS[path].format(outside=place.outside)
    words = DOORS[door].format(name).split()
    if words[0] != "krm":
        words.append("--sandbox")
    report = place.run(*words, stdin=resource_list() if words[0] == "krm" else (place.jobs / "map.yaml").read_text())
    assert "error[A990]: bayplan does not read this file: it is " in report
    assert "\n   " not in report, "there is no excerpt"


@pytest.mark.parametrize("door", DOORS)
def test_a_report_does_not_show_whether_a_file_exists(door: str, place: Place) -> None:
    for form in ("text", "sarif"):
        reports = []
        for path in ("../../outside/secret.yaml", "../../outside/absent.yaml"):
            words = [*DOORS[door].format(path).split(), "--diagnostics", form]
            sandbox = [] if words[0] == "krm" else ["--sandbox"]
            report = place.run(*words, *sandbox, stdin=resource_list()).replace(Path(path).stem, "FILE")
            reports.append(re.sub(r'"[0-9a-f]{16}:1"', "HASH", report))
        assert reports[0] == reports[1]


@pytest.mark.parametrize("key", ["topology", "policy"])
@pytest.mark.parametrize("path", PATHS)
def test_a_function_of_kustomize_reads_no_file_outside(key: str, path: str, place: Place) -> None:
    name = PATHS[path].format(outside=place.outside)
    spec = {"topology": "../topology.yaml", key: name}
    config = {**FUNCTION, "kind": "PlaceWorkloads" if key == "policy" else "ExpandWorkflows", "spec": spec}
    assert "error[A990]" in place.run("krm", stdin=resource_list(config))


@pytest.mark.parametrize("path", PATHS)
def test_an_annotation_or_a_kustomization_names_a_file_outside(path: str, place: Place) -> None:
    """bayplan looks for the place of an error in these files."""
    name = PATHS[path].format(outside=place.outside)
    keys = {"resources": [name], "transformers": [name], "components": [os.path.dirname(name) or "folder"]}
    kustomization(place.jobs, **keys, patches=[{"path": name}])
    annotations = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path")
    config = {**FUNCTION, "spec": {"topology": "absent.yaml"}}
    report = place.run("krm", stdin=resource_list(config, **dict.fromkeys(annotations, name)))
    assert "error[R101]" in report
    place.run("kustomize", "doctor", ".", "--sandbox", "--strict")


def test_the_manifests_of_a_chart_open_no_file(place: Place) -> None:
    """Their comments and annotations name their file in the chart."""
    name = f"{place.outside}/secret.yaml"
    annotations = {"postrenderer.helm.sh/postrender-filename": name, "bayplan.dev/placement": "required=nothing"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "annotations": annotations}}
    stream = f"# Source: {name}\n{yaml.safe_dump(job)}"
    assert "error[" in place.run("post-render", "-t", "../topology.yaml", stdin=stream)


def test_doctor_runs_no_program_of_the_repository(place: Place) -> None:
    kustomization(place.jobs, resources=["workflow.yaml"], transformers=["function.yaml"])
    program = place.jobs / "program"
    program.write_text("#!/bin/sh\ntouch ran\ncat\n")
    program.chmod(0o755)
    annotations = {"config.kubernetes.io/function": "exec: {path: ./program}\n"}
    config = {**FUNCTION, "metadata": {"name": "it", "annotations": annotations}}
    (place.jobs / "function.yaml").write_text(yaml.safe_dump(config))
    path = {"PATH": os.pathsep.join((os.path.dirname(tool("kustomize")), os.defpath))}
    for words in (("--sandbox",), ()):
        done = bayplan("kustomize", "doctor", ".", *words, cwd=place.jobs, env=path)
        assert (place.jobs / "ran").exists() is not bool(words), done.stdout
        assert ("O831" in done.stdout) is bool(words)


def test_doctor_ends_where_a_kustomization_lists_itself(place: Place) -> None:
    (place.jobs / "here").symlink_to(".")
    kustomization(place.jobs, resources=[*["."] * 1000, "../jobs", "here", "here/here", "workflow.yaml"])
    place.run("kustomize", "doctor", ".", "--sandbox", "--strict")
    assert len([each for each in OPENED if each.endswith("kustomization.yaml")]) < 10
    assert len([each for each in OPENED if each.endswith("workflow.yaml")]) < 10


def test_doctor_names_what_it_does_not_check(place: Place) -> None:
    kustomization(place.jobs, resources=["../../outside", "workflow.yaml"])
    report = place.run("kustomize", "doctor", ".", "--sandbox", "--strict")
    assert "this is outside of the sandbox" in report


@pytest.mark.parametrize("words", [("krm",), ("kustomize", "doctor", ".", "--sandbox")])
def test_a_kustomization_that_is_a_link_out_does_not_exist(words: tuple[str, ...], place: Place) -> None:
    kustomization(place.jobs, resources=["absent.yaml"], generators=["function.yaml"])
    (place.jobs / "function.yaml").write_text(yaml.safe_dump(FUNCTION))
    (place.jobs / "kustomization.yaml").rename(place.jobs / "kustomization.yml")
    (place.jobs / "kustomization.yaml").symlink_to("../../outside/kustomization.yaml")
    stdin = resource_list({**FUNCTION, "spec": {"topology": "absent.yaml"}})
    report = place.run(*words, stdin=stdin)
    kustomization(place.outside, generators=["function.yaml"])
    assert place.run(*words, stdin=stdin) == report


# bayplan.yaml


def project(place: Place, output: dict[str, Any] | None = None, **spec: Any) -> None:
    """Writes a project file next to the jobs."""
    whole = {"topology": "topology.yaml", **spec}
    outputs = [{"workflows": ["jobs/workflow.yaml"], "to": "manifests/", **(output or {})}]
    data = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Project", "spec": {**whole, "outputs": outputs}}
    (place.repository / "bayplan.yaml").write_text(yaml.safe_dump(data))


@pytest.mark.parametrize("key", ["topology", "osmoPool", "workflows"])
@pytest.mark.parametrize("path", PATHS)
def test_a_project_names_a_file_outside(key: str, path: str, place: Place) -> None:
    name = PATHS[path].format(outside=place.outside)
    name = name if os.path.isabs(name) else os.path.normpath(os.path.join("jobs", name))
    project(place, {key: [name] if key == "workflows" else name})
    assert "error[A990]" in place.run("generate", "--sandbox")
    assert "error[A990]" in place.run("check", "../bayplan.yaml", "--sandbox")


@pytest.mark.parametrize("key", ["topology", "policy"])
@pytest.mark.parametrize("path", PATHS)
def test_a_project_of_charts_names_a_file_outside(key: str, path: str, place: Place) -> None:
    name = PATHS[path].format(outside=place.outside)
    project(place, **{key: name if os.path.isabs(name) else os.path.normpath(os.path.join("jobs", name))})
    stream = (place.jobs / "map.yaml").read_text()
    assert "error[A990]" in place.run(
        "post-render", "--sandbox", stdin=f"{stream}  annotations: {{bayplan.dev/pool: a}}\n"
    )


@pytest.mark.parametrize(
    "pattern",
    [
        "../outside/*.yaml",
        "../outside/*/*.yaml",
        "/*.yaml",
        "{outside}/*",
        "jobs/folder/*",
        "jobs/*/../../../outside/*",
        "**/*.yaml",
        "jobs/*/privat*",
        ".git/*",
        "jobs/../*.git/*",
        ".gi[t]/*",
    ],
)
def test_a_pattern_shows_no_names_outside(pattern: str, place: Place) -> None:
    project(place, {"workflows": [pattern.format(outside=place.outside)]})
    report = place.run("generate", "--sandbox")
    assert "error[A990]" in report
    shutil.rmtree(place.outside)
    place.outside.mkdir()
    assert place.run("generate", "--sandbox") == report, "and not whether there are any"


@pytest.mark.parametrize(
    ("pattern", "before", "after"),
    [
        ("lab/*.yaml", False, False),
        ("lab/**/*.yaml", False, True),
        ("*.yaml", False, False),
        ("*/*.yaml", False, True),
        ("tools/*/*", False, False),
        ("tools/*/*/*", True, True),
        ("[m-z]*/**", True, True),
        (".v*/**", True, True),
    ],
)
def test_a_link_matters_only_if_a_pattern_can_reach_it(pattern: str, before: bool, after: bool, place: Place) -> None:
    """A virtual environment has links to programs. Links that stay in the repository are followed."""
    shutil.rmtree(place.jobs)
    for folder in ("jobs", "lab", "shared", ".venv/bin", "tools/venv/bin"):
        (place.repository / folder).mkdir(parents=True)
    for folder in (".venv", "tools/venv"):
        (place.repository / folder / "bin" / "python").symlink_to(sys.executable)
    (place.repository / "lab" / "alias").symlink_to("../shared")
    (place.repository / "shared" / "circle").symlink_to("../lab")
    project(place, {"workflows": [pattern]})
    assert ("error[A990]" in place.run("generate", "--sandbox", "--strict")) is before
    (place.repository / "shared" / "link").symlink_to(place.outside)
    assert ("error[A990]" in place.run("generate", "--sandbox", "--strict")) is after, "a link behind a link"


@pytest.mark.parametrize("key", ["workflows", "topology", "osmoPool"])
@pytest.mark.parametrize("name", ["jobs/workflow.yaml", "jobs/work*.yaml"])
def test_a_path_through_a_folder_outside_does_not_show_it(name: str, key: str, place: Place) -> None:
    shutil.rmtree(place.repository / ".GIT")
    for link in ("link.yaml", "chain.yaml", "dangling.yaml", "folder"):
        (place.jobs / link).unlink()
    path = f"../outside/maybe/../../repository/{name}"
    project(place, {key: [path] if key == "workflows" else path})
    before = place.run("generate", "--sandbox", "--check")
    (place.outside / "maybe").mkdir()
    assert place.run("generate", "--sandbox", "--check") == before


def test_a_pattern_does_not_match_files_of_git(place: Place) -> None:
    for link in ("link.yaml", "chain.yaml", "dangling.yaml", "folder"):
        (place.jobs / link).unlink()
    for pattern in (".g*/*", ".*/*", ".[Gg]*/secret.yaml"):
        project(place, {"workflows": [pattern]})
        done = bayplan("generate", "--sandbox", cwd=place.jobs)
        assert "matches no file" in done.stderr
        assert "secret" not in done.stderr.replace(pattern, "")


def test_a_missing_file_beside_a_workflow_shows_no_names_outside(place: Place) -> None:
    (place.outside / "back").symlink_to(place.jobs / "none")
    (place.outside / "backs").touch()
    read = inputs.read_beside(str(place.jobs), "folder/back")
    assert "backs" not in str(read.diagnostics)
    (place.jobs / "inner").mkdir()
    (place.jobs / "inner" / "backs").touch()
    assert "backs" in str(inputs.read_beside(str(place.jobs), "inner/back").diagnostics)


def test_a_project_above_the_root_is_not_found(place: Place) -> None:
    project(place)
    (place.repository / "bayplan.yaml").rename(place.repository.parent / "bayplan.yaml")
    assert "error[A921]" in place.run("render", "workflow.yaml", "--sandbox")
    (place.repository / "bayplan.yaml").symlink_to("../outside/secret.yaml")
    assert "error[A990]" in place.run("render", "workflow.yaml", "--sandbox")


# What bayplan writes


@pytest.mark.parametrize(
    "path", ["../../outside/new.yaml", "dangling.yaml", "folder/", "../.git/hooks/", "../.git/config"]
)
def test_nothing_outside_is_written(path: str, place: Place) -> None:
    before = tree(place.outside), tree(place.repository / ".git")
    for words in ("render workflow.yaml -t ../topology.yaml", "topology export ../topology.yaml --to kai"):
        for check in ((), ("--check",)):
            report = place.run(*words.split(), "-o", path, "--sandbox", *check)
            assert "error[A990]: bayplan does not" in report
    assert (tree(place.outside), tree(place.repository / ".git")) == before


def tree(folder: Path) -> dict[str, bytes]:
    """The files below a folder, with their contents."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("linked", ["manifests", "manifests/", ".bayplan-generated", "adopted", ".git"])
def test_generate_follows_no_link_out_of_the_project(linked: str, place: Place) -> None:
    """With and without a sandbox. The index of `render -o DIR/` could claim a linked file."""
    (place.repository / ".git" / "hooks").mkdir()
    (place.outside / "victim").write_text(f"{SECRET}\n")
    manifests = place.repository / "manifests"
    project(place, {"to": "manifests/all.yaml" if linked != "manifests/" else "manifests/"})
    if linked in ("manifests", "manifests/"):
        manifests.symlink_to("../outside")
    elif linked == ".git":
        manifests.symlink_to(".git/hooks")
    elif linked == "adopted":
        manifests.mkdir()
        (manifests / ".bayplan-index").write_text("01-all.yaml\n")
        (manifests / "01-all.yaml").symlink_to("../../outside/victim")
        project(place, {"to": "manifests/01-all.yaml"})
    else:
        (place.repository / linked).symlink_to("../outside/victim")
    before = tree(place.outside), tree(place.repository / ".git")
    for sandbox in ((), ("--sandbox",)):
        for check in ((), ("--check",)):
            assert "error[A929]" in place.run("generate", *sandbox, *check)
    assert (tree(place.outside), tree(place.repository / ".git")) == before


@pytest.mark.parametrize("nested", [False, True])
def test_a_folder_that_looks_like_a_repository_runs_nothing(nested: bool, place: Place) -> None:
    """git runs what `core.fsmonitor` names, and takes any folder with these files for a repository."""
    folder = place.jobs / "bare"
    git = folder / ".git" if nested else folder
    for name in ("objects", "refs"):
        (git / name).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    ran = place.outside / "ran"
    tree = "" if nested else "worktree = .\n"
    core = f'[core]\nrepositoryformatversion = 0\nbare = false\n{tree}fsmonitor = "touch {ran};false"\n'
    (git / "config").write_text(core)
    shutil.copy(PRETRAIN / "topology.yaml", folder)
    shutil.copy(PRETRAIN / "workflow.yaml", folder)
    (folder / "bayplan.yaml").write_text(
        "apiVersion: bayplan.dev/v1alpha1\nkind: Project\n"
        "spec: {topology: topology.yaml, outputs: [{workflows: [workflow.yaml], to: out/}]}\n"
    )
    subprocess.run([tool("git"), "ls-files", "--others"], cwd=folder, capture_output=True, check=False)
    assert ran.exists(), "git itself runs it"
    ran.unlink()
    for words in (("generate",), ("generate", "--tracked"), ("check", "topology.yaml", "-t", "topology.yaml")):
        bayplan(*words, cwd=folder)
        assert not ran.exists(), words


# The root, and what is trusted


def test_a_trusted_file_and_a_trusted_folder(place: Place) -> None:
    outside = str(place.outside / "topology.yaml")
    for trusted in (outside, str(place.outside), "../../outside"):
        done = bayplan("check", "workflow.yaml", "-t", outside, "--trust", trusted, cwd=place.jobs)
        assert done.returncode == 0, done.stderr
    other = str(place.outside / "secret.yaml")
    assert "error[A990]" in place.run("check", "workflow.yaml", "-t", outside, "--trust", other)
    words = ("render", "workflow.yaml", "-t", "../topology.yaml", "--trust", str(place.outside))
    assert "error[A990]: bayplan does not write" in place.run(*words, "-o", str(place.outside / "new.yaml"))


def test_a_path_of_the_repository_cannot_be_trusted(place: Place) -> None:
    """The repository could replace it with a link to any file."""
    here = place.repository.parent / "here"  # another path to the repository
    here.symlink_to(place.repository)
    for path in ("link.yaml", "folder", "folder/secret.yaml", "../topology.yaml", f"{here}/jobs/folder/secret.yaml"):
        report = place.run("check", "workflow.yaml", "-t", path, "--trust", path)
        assert f'error[A990]: "{path}" is in the repository' in report


@pytest.mark.parametrize("root", ["/", "", "absent", "workflow.yaml"])
def test_a_root_that_is_no_folder(root: str, place: Place) -> None:
    assert "error[A990]" in place.run("check", "workflow.yaml", "--sandbox-root", root)


def test_the_root(place: Place) -> None:
    """It is the folder of .git, which may be a file, that of bayplan.yaml, or the current folder."""
    words = ("check", "workflow.yaml", "-t", "../topology.yaml", "--sandbox")
    assert bayplan(*words, cwd=place.jobs).returncode == 0
    for name in (".git", ".GIT"):
        shutil.rmtree(place.repository / name)
    assert 'it is outside of ".", the root' in place.run(*words)
    (place.repository / ".git").write_text("gitdir: elsewhere\n")
    assert bayplan(*words, cwd=place.jobs).returncode == 0
    (place.repository / ".git").unlink()
    project(place)
    assert bayplan(*words, cwd=place.jobs).returncode == 0
    assert bayplan(*words, "--sandbox-root", "..", cwd=place.jobs).returncode == 0
    assert "error[A990]" in place.run(*words, "--sandbox-root", ".")


def test_a_root_that_nothing_chose(place: Place) -> None:
    """The hint says so, and how to choose one."""
    for name in (".git", ".GIT"):
        shutil.rmtree(place.repository / name)
    ways = {"check": "--sandbox-root DIR", "krm": "`args: [--sandbox-root, DIR]`", "plugin": "add a bayplan.yaml"}
    (place.jobs / "plugin.yaml").write_text(yaml.safe_dump(FUNCTION))
    for caller, way in ways.items():
        words = {"check": "check workflow.yaml --sandbox", "krm": "krm", "plugin": "krm plugin.yaml"}[caller]
        stdin = (place.jobs / "workflow.yaml").read_text() if caller == "plugin" else resource_list()
        report = place.run(*words.split(), "-t", "../topology.yaml", stdin=stdin)
        assert "hint: no folder above has .git or bayplan.yaml: " in report
        assert way in report
        assert "--trust" not in report
    (place.repository / ".git").mkdir()
    report = place.run("krm", "plugin.yaml", "-t", "../../outside/topology.yaml", stdin=stdin)
    assert "hint: copy it to another place in the repository\n" in report, "it takes no --trust"


def test_a_link_inside_of_the_repository_is_followed(place: Place) -> None:
    (place.jobs / "hall.yaml").symlink_to("../topology.yaml")
    assert bayplan("check", "workflow.yaml", "-t", "hall.yaml", "--sandbox", cwd=place.jobs).returncode == 0


def test_the_next_command_of_the_process_is_free(place: Place) -> None:
    outside = str(place.outside / "topology.yaml")
    assert "error[A990]" in place.run("check", "workflow.yaml", "-t", outside, "--sandbox")
    assert bayplan("check", "workflow.yaml", "-t", outside, cwd=place.jobs).returncode == 0


def test_a_file_that_becomes_a_link_while_it_is_opened(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the check and the opening, a process replaces the file, or its folder."""
    monkeypatch.chdir(place.jobs)
    real = os.open

    for folder in (False, True):
        (place.jobs / "deep").mkdir(exist_ok=True)
        path = place.jobs / "deep" / "secret.yaml"
        path.write_text("harmless: 1\n")

        def swapped(name: str, flags: int, path: Path = path, folder: bool = folder) -> int:
            if folder:
                shutil.rmtree(path.parent)
                path.parent.symlink_to(place.outside)
            else:
                path.unlink()
                path.symlink_to(place.outside / "secret.yaml")
            return real(name, flags)

        monkeypatch.setattr(files, "_sandbox", files.Sandbox(str(place.repository)))
        monkeypatch.setattr(os, "open", swapped)
        with pytest.raises(OSError):
            files.opened(str(path))
        monkeypatch.setattr(os, "open", real)


# Every way to a file in the source

DOORS_OF_THE_SOURCE = {
    "__main__.py:argocd": "it lists the working folder, and `render --sandbox` checks each file",
    "cli/files.py:opened": "the door",
    "cli/files.py:_open_no_link": "the door",
    "cli/files.py:link_out": "it begins at the root, and does not follow links",
    "cli/inputs.py:_unreadable": "it compares the folder with that of the workflow",
    "cli/generate.py:_patterns_files": "_refused has checked the pattern",
    "cli/lint.py:_below": "load_manifests has checked the folder, and it does not follow links",
    "cli/output_tree.py:unlisted": "it asks `allows`, and does not follow links",
    "cli/output_folder.py:write_single": "the path is from `inside`",
    "cli/output_folder.py:staging": "a new file in a folder of its own",
    "cli/output_folder.py:write": "a part of `staging`",
    "cli/output_folder.py:_staging_folder": "a new file in a folder of its own",
    "cli/output_folder.py:remove_leftovers": "it opens only locks of bayplan, and does not follow links",
    "cli/output_folder.py:_remove_staging": "a folder of bayplan",
    "cli/output_folder.py:same_bytes": "the path is from `inside`",
    "cli/post_render.py:_keep": "the terminal",
    "cli/post_render.py:_replace": "the state of bayplan, whose path is from the user's environment",
    "cli/post_render.py:last_error": "the state of bayplan, whose path is from the user's environment",
    "cli/helm_plugin.py:_foreign": "the command installs a plugin, and reads no repository",
    "cli/kustomize.py:_in_the_way": "the command installs a plugin, and reads no repository",
    "cli/failures.py:discard_stdout": "the null device",
    "core/package_data.py:_content": "a file of bayplan",
    "core/package_data.py:data_names": "a file of bayplan",
    "core/package_data.py:names_beside": "a folder of bayplan",
    "plugins/__init__.py:_announced": "the description of an installed plug-in",
    "plugins/__init__.py:_has_group": "the installed packages",
    "plugins/__init__.py:_text": "the entry points of an installed package",
    "plugins/osmo/sandbox/child.py:_used_memory": "the kernel's report about the process",
}
"""Module and function -> why it may open or list files."""

OPENS = re.compile(r"open\(|listdir|scandir|walk\(|glob\(|read_(?:text|bytes)")
OPENING = {"open", "listdir", "scandir", "walk", "fwalk", "glob", "iglob", "fdopen", "read_text", "read_bytes"}


def openings() -> Iterator[str]:
    """Each function of the product that opens or lists files."""
    root = ROOT / "generator" / "bayplan"
    for path in sorted(root.rglob("*.py")):
        for outer in ast.walk(syntax_tree(path)) if OPENS.search(path.read_text(encoding="utf-8")) else ():
            if not isinstance(outer, ast.FunctionDef) or not any(_opens(node) for node in ast.walk(outer)):
                continue
            yield f"{path.relative_to(root).as_posix()}:{outer.name}"


def _opens(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    callee = node.func
    if isinstance(callee, ast.Name):
        return callee.id in ("open", "glob", "iglob")
    modules = ("os", "io", "glob", "codecs", "tokenize", "linecache")
    module = isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Name) and callee.value.id in modules
    return module and callee.attr in OPENING  # type: ignore[union-attr]


def test_every_way_to_a_file_goes_through_the_door() -> None:
    assert sorted(set(openings())) == sorted(DOORS_OF_THE_SOURCE)


def test_no_other_module_that_opens_files_is_used() -> None:
    banned = {"pathlib", "linecache", "fileinput", "mmap", "zipfile", "tarfile", "urllib"}
    root = ROOT / "generator" / "bayplan"
    found = {
        (path.relative_to(root).as_posix(), name.split(".")[0])
        for path in root.rglob("*.py")
        for node in ast.walk(syntax_tree(path))
        for name in (
            [each.name for each in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
        if name.split(".")[0] in banned
    }
    assert found == set()


# The real programs


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with bayplan-krm in it."""
    return install(tmp_path_factory.mktemp("bin"))


def test_kustomize_runs_the_function_in_the_sandbox(programs: Path, place: Place) -> None:
    def built(**spec: Any) -> subprocess.CompletedProcess[str]:
        (place.jobs / "function.yaml").write_text(yaml.safe_dump(function("ExpandWorkflows", **spec)))
        return build(programs, place.jobs)

    kustomization(place.jobs, resources=["workflow.yaml"], transformers=["function.yaml"])
    assert built(topology="../topology.yaml").returncode == 0
    for path in ("../../outside/secret.yaml", "link.yaml", "folder/secret.yaml", "../.git/secret.yaml"):
        done = built(topology=path)
        assert (done.returncode, done.stdout) == (1, "")
        assert "function.yaml:" in done.stderr
        assert "error[A990]" in done.stderr
        assert SECRET not in done.stderr


def test_the_arguments_of_a_legacy_plugin_do_not_open_the_sandbox(programs: Path, place: Place) -> None:
    """kustomize passes `argsOneLiner` of a configuration to the plugin. The configuration itself is a file in /tmp."""
    home = place.repository.parent / "plugins"
    bayplan("kustomize", "install-legacy", str(home))
    script = home / "bayplan.dev" / "v1alpha1" / "workflow" / "Workflow"
    script.write_text(f'#!/bin/sh\nexec {programs}/bayplan-krm "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    workflow = parse((EXAMPLES / "bare-pods" / "workflow.yaml").read_text())
    shutil.copy(EXAMPLES / "bare-pods" / "topology.yaml", place.repository)
    kustomization(place.jobs, generators=["generator.yaml"])

    def built(arguments: str) -> subprocess.CompletedProcess[str]:
        (place.jobs / "generator.yaml").write_text(yaml.safe_dump({**workflow, "argsOneLiner": arguments}))
        command = (tool("kustomize"), "build", "--enable-alpha-plugins", ".")
        return call(programs, *command, cwd=place.jobs, KUSTOMIZE_PLUGIN_HOME=str(home))

    assert built("-t ../topology.yaml").returncode == 0, built("-t ../topology.yaml").stderr
    outside = f"{place.outside}/secret.yaml"
    for arguments, code in {
        f"-t {outside}": "A990",
        f"-t {outside} --no-sandbox": "A990",
        f"-t {outside} --sandbox-root {place.outside}": "A990",
        f"-t {outside} --trust {outside}": "A990",
        "-t ../topology.yaml --limit bytes=900000000": "A990",
    }.items():
        done = built(arguments)
        assert done.returncode == 1
        assert f"error[{code}]" in done.stderr
        assert SECRET not in done.stderr


class TestArgoCd:
    """The shell commands of the plugins, with what the author of an application controls."""

    @pytest.fixture
    def application(self, tmp_path: Path) -> Path:
        """The folder of an application, as in the copy of a repository that the sidecar gets."""
        prepare(tmp_path)
        folder = tmp_path / "work" / "team" / "jobs"
        folder.mkdir(parents=True)
        for git in (".git", "part/.git", "part/.GIT"):
            (tmp_path / "work" / git).mkdir(parents=True, exist_ok=True)
            (tmp_path / "work" / git / "config").write_text(f"name: {SECRET}\n")
        (tmp_path / "secret.yaml").write_text(f"name: {SECRET}\n")
        shutil.copy(PRETRAIN / "topology.yaml", tmp_path / "work")
        shutil.copy(PRETRAIN / "topology.yaml", tmp_path / "hall.yaml")
        shutil.copy(PRETRAIN / "workflow.yaml", folder / "pretrain.workflow.yaml")
        return folder

    @pytest.mark.parametrize("topology", ["../../../secret.yaml", "{}/secret.yaml", "../../.git/config", "link"])
    def test_a_topology_outside(self, topology: str, application: Path) -> None:
        (application / "link").symlink_to("../../../secret.yaml")
        assert launch(CONFIG, application, TOPOLOGY="../../topology.yaml").returncode == 0
        done = launch(CONFIG, application, TOPOLOGY=topology.format(application.parents[2]))
        assert (done.returncode, done.stdout) == (1, "")
        assert "error[A990]" in done.stderr
        assert SECRET not in done.stderr

    def test_a_workflow_that_is_a_link(self, application: Path) -> None:
        (application / "other.workflow.yaml").symlink_to("../../../secret.yaml")
        done = launch(CONFIG, application, TOPOLOGY="../../topology.yaml")
        assert (done.returncode, done.stdout) == (1, "")
        assert "./other.workflow.yaml: error[A990]" in done.stderr

    @pytest.mark.parametrize("key", ["TOPOLOGY", "SCHEDULER", "NAMESPACE"])
    @pytest.mark.parametrize("value", ["--output=stolen", "--trust=/", "--sandbox-root=/", "-ostolen", "--help"])
    def test_a_variable_is_a_value_and_not_an_option(self, key: str, value: str, application: Path) -> None:
        before = sorted(each.name for each in application.iterdir())
        done = launch(CONFIG, application, **{"TOPOLOGY": "../../topology.yaml", key: value})
        assert done.returncode in (1, 2)
        assert done.stdout == ""
        assert "error[" in done.stderr
        assert sorted(each.name for each in application.iterdir()) == before

    def test_a_topology_of_the_image(self, application: Path) -> None:
        """The operator adds --trust to the arguments."""
        image = str(application.parents[2] / "hall.yaml")
        config = copy.deepcopy(CONFIG)
        config["spec"]["generate"]["args"] = ["--trust", image]
        assert launch(config, application, TOPOLOGY=image).returncode == 0
        assert launch(CONFIG, application, TOPOLOGY=image).returncode == 1

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            *(
                ("VALUES", each)
                for each in ("../../../secret.yaml", "{}/secret.yaml", "link", "link\n", "link\nmine.yaml")
            ),
            *(("VALUES", each) for each in ("mine.yaml,{}/secret.yaml", '"{}/secret.yaml"', "mine.yaml,mine.yaml")),
            *(("VALUES", each) for each in ("../../.git/config", "../../part/.git/config", "../../part/.GIT/config")),
            *(("VALUES", each) for each in ("file://{}/secret.yaml", "http://127.0.0.1:9/secret.yaml")),
            *((key, each) for key in ("TOPOLOGY", "POLICY") for each in ("../../../secret.yaml", "link")),
        ],
    )
    def test_the_plugin_for_charts(self, key: str, value: str, application: Path) -> None:
        (application.parents[2] / "bin" / "helm").symlink_to(tool("helm4"))
        (application / "link").symlink_to("../../../secret.yaml")
        (application / "Chart.yaml").write_text("apiVersion: v2\nname: chart\nversion: 0.1.0\n")
        (application / "mine.yaml").write_text("name: mine\n")
        (application / "templates").mkdir()
        (application / "templates" / "job.yaml").write_text(JOB)
        sound = {"TOPOLOGY": "../../topology.yaml", "VALUES": "mine.yaml"}
        assert "name: mine" in launch(CHARTS, application, **sound).stdout
        done = launch(CHARTS, application, **{**sound, key: value.format(application.parents[2])})
        assert done.returncode != 0
        assert SECRET not in done.stdout + done.stderr
        assert re.search(
            "VALUES (is not a file of the|takes one file, and no)" if key == "VALUES" else "A990", done.stderr
        )

    def test_the_root_of_the_values(self, application: Path) -> None:
        """It is that of the sandbox: the folder of .git, that of bayplan.yaml, or the application."""
        (application.parents[2] / "bin" / "helm").symlink_to(tool("helm4"))
        work, team = application.parents[1], application.parent
        (application / "Chart.yaml").write_text("apiVersion: v2\nname: chart\nversion: 0.1.0\n")
        shutil.copy(PRETRAIN / "topology.yaml", application)
        for folder in (work, team, application):
            (folder / "values.yaml").write_text("name: mine\n")

        def reaches() -> list[bool]:
            """Whether values may be in the folder of the repository, the team and the application."""
            words = ({"VALUES": f"{above}values.yaml", "TOPOLOGY": "topology.yaml"} for above in ("../../", "../", ""))
            return [launch(CHARTS, application, **each).returncode == 0 for each in words]

        assert reaches() == [True, True, True]
        shutil.rmtree(work / ".git")
        assert reaches() == [False, False, True]
        (team / "bayplan.yaml").write_text("apiVersion: bayplan.dev/v1alpha1\nkind: Project\nspec: {}\n")
        assert reaches() == [False, True, True]
        (work / ".git").write_text("gitdir: elsewhere\n")
        assert reaches() == [True, True, True]
