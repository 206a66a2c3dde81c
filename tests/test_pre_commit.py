"""The hooks, run by pre-commit itself in git repositories of their own: what is committed is what bayplan makes.

Most tests take the hooks of .pre-commit-hooks.yaml with this interpreter for their language, so that nothing is
installed. One lets pre-commit clone the repository, build it and install it, as it does for its users; only what
bayplan depends on is borrowed, so that this needs no network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan.cli import output_tree as tree
from tools.clients import tool
from tools.effort import thorough
from tools.run import EXAMPLES, PRETRAIN, RENDER_64, ROOT, bayplan

MANIFEST = ROOT / ".pre-commit-hooks.yaml"
HOOKS = {each["id"]: each for each in yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))}
OWN = ("bayplan-generate", "bayplan-check")
"""The hooks for workflows. The third is for manifests of others."""

LEFT_OUT = shutil.ignore_patterns(
    ".git", ".ci", ".venv", ".*_cache", ".hypothesis", "__pycache__", "build", "dist", "golden", "tests"
)
JOB = (PRETRAIN / "workflow.yaml").read_text(encoding="utf-8")
PROJECT = {
    "apiVersion": "bayplan.dev/v1alpha1",
    "kind": "Project",
    "spec": {
        "topology": "hall.yaml",
        "outputs": [
            {"workflows": ["jobs/*.workflow.yaml"], "to": "manifests/{workflow}/"},
            {"workflows": ["jobs/*.workflow.yaml"], "to": "volcano.yaml", "scheduler": "volcano", "accept": ["F605"]},
        ],
    },
}


def job(name: str) -> str:
    """A workflow of that name."""
    return JOB.replace("name: pretrain,", f"name: {name},")


def here(hook: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """The hook as one that runs this checkout."""
    program, *arguments = hook["entry"].split()
    assert program == "bayplan"
    entry = " ".join([sys.executable, "-m", "bayplan", *arguments])
    return {**hook, "language": "system", "entry": entry, **changes}


def environment(home: Path) -> dict[str, str]:
    """Git and pre-commit with nothing of the machine's own settings."""
    dropped = ("GIT_", "PRE_COMMIT", "PYTHON", "PIP_", "VIRTUAL_ENV", "SKIP", "NO_COLOR", "FORCE_COLOR")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    person = {
        f"GIT_{role}_{key}": value
        for role in ("AUTHOR", "COMMITTER")
        for key, value in (("NAME", "a"), ("EMAIL", "a@b"))
    }
    own = {"HOME": str(home), "PRE_COMMIT_HOME": str(home / "pre-commit"), "GIT_CONFIG_NOSYSTEM": "1"}
    return {**kept, **person, **own, "PYTHONPATH": str(ROOT / "generator")}


class Repository:
    """A git repository whose commits go through pre-commit."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self.folder, self.env = folder, env

    def start(self, config: Mapping[str, Any]) -> None:
        """A project without workflows, and the hooks installed."""
        self.folder.mkdir()
        self.git("init", "-q", "-b", "main")
        shutil.copy(PRETRAIN / "topology.yaml", self.folder / "hall.yaml")
        self.write("bayplan.yaml", yaml.safe_dump(PROJECT))
        self.configure(config)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "start")
        done = self.pre_commit("install")
        assert done.returncode == 0, done.stdout

    def configure(self, config: Mapping[str, Any]) -> None:
        """.pre-commit-config.yaml."""
        self.write(".pre-commit-config.yaml", yaml.safe_dump(config))

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Both streams of a command, in order, as `stdout`."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=300,
            check=False,
        )

    def git(self, *arguments: str) -> str:
        """The output of git."""
        done = self.run(tool("git"), *arguments)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def pre_commit(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """pre-commit, as a command."""
        return self.run(sys.executable, "-m", "pre_commit", *arguments)

    def write(self, path: str, text: str) -> None:
        """A file and its folders."""
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, encoding="utf-8")

    def commit(self) -> str:
        """A commit that the hooks let pass; what they say."""
        done = self.run(tool("git"), "commit", "-m", "change")
        assert done.returncode == 0, done.stdout
        assert "Failed" not in done.stdout
        return done.stdout

    def refused(self) -> str:
        """What the hooks say of a commit that they stop."""
        head = self.git("rev-parse", "HEAD")
        done = self.run(tool("git"), "commit", "-m", "change")
        assert done.returncode == 1, done.stdout
        assert "Failed" in done.stdout
        assert self.git("rev-parse", "HEAD") == head
        return done.stdout

    def committed(self) -> set[str]:
        """The files of the last commit."""
        return set(self.git("ls-tree", "-r", "--name-only", "HEAD").split())

    def settle(self) -> None:
        """Stages and commits all that the hooks make."""
        self.git("add", "-A")
        self.refused()
        self.git("add", "-A")
        self.commit()
        assert self.git("status", "--porcelain") == ""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with both hooks, one committed workflow and what is made of it."""
    home = tmp_path_factory.mktemp("home")
    made = Repository(home / "repository", environment(home))
    made.start({"repos": [{"repo": "local", "hooks": [here(HOOKS[each]) for each in OWN]}]})
    made.write("jobs/one.workflow.yaml", job("one"))
    made.settle()
    return made


@pytest.fixture
def repository(template: Repository, tmp_path: Path) -> Repository:
    """A copy of it."""
    return Repository(Path(shutil.copytree(template.folder, tmp_path / "repository")), template.env)


def listed(output: str, word: str) -> list[str]:
    """The paths behind a word."""
    return re.findall(rf"^{word} (.*)$", output, re.MULTILINE)


def test_pre_commit_accepts_the_hooks() -> None:
    done = subprocess.run([sys.executable, "-m", "pre_commit", "validate-manifest", str(MANIFEST)], check=False)
    assert done.returncode == 0
    assert list(HOOKS) == ["bayplan-generate", "bayplan-check", "bayplan-lint"]


def test_a_new_workflow(repository: Repository) -> None:
    assert {"manifests/one/20-jobset-one.yaml", "volcano.yaml", tree.INDEX} <= repository.committed()
    repository.write("jobs/two.workflow.yaml", job("two"))
    repository.git("add", "jobs")
    said = repository.refused()
    assert "manifests/two/20-jobset-two.yaml" in listed(said, "created")
    assert set(listed(said, "updated")) == {"volcano.yaml", tree.INDEX}
    repository.refused()  # what was created is not staged yet, and the index still lacks it
    repository.git("add", "-u")
    said = repository.refused()
    assert "manifests/two/20-jobset-two.yaml: error[O805]: git does not track this file" in said
    repository.git("add", "-A")
    repository.commit()
    assert "manifests/two/20-jobset-two.yaml" in repository.committed()


@thorough
def test_a_changed_workflow(repository: Repository) -> None:
    repository.write("jobs/one.workflow.yaml", job("one").replace("train.py", "other.py"))
    repository.git("add", "jobs")
    said = repository.refused()
    assert listed(said, "updated") == ["manifests/one/20-jobset-one.yaml", "volcano.yaml"]
    assert "files were modified by this hook" in said
    repository.git("add", "-u")
    repository.commit()
    assert "other.py" in repository.git("show", "HEAD:volcano.yaml")


def test_a_deleted_workflow(repository: Repository) -> None:
    repository.write("jobs/two.workflow.yaml", job("two"))
    repository.settle()
    repository.git("rm", "-q", "jobs/one.workflow.yaml")
    said = repository.refused()
    assert "manifests/one/20-jobset-one.yaml" in listed(said, "removed")
    repository.git("add", "-A")
    repository.commit()
    assert not [path for path in repository.committed() if "one" in path]


@thorough
def test_the_last_workflow_deleted(repository: Repository) -> None:
    repository.git("rm", "-q", "jobs/one.workflow.yaml")
    repository.refused()
    repository.git("add", "-A")
    repository.commit()
    assert repository.committed() == {".pre-commit-config.yaml", "bayplan.yaml", "hall.yaml"}


@thorough
def test_a_renamed_workflow(repository: Repository) -> None:
    repository.git("mv", "jobs/one.workflow.yaml", "jobs/uno.workflow.yaml")
    repository.commit()  # the file's name is in none of the manifests
    repository.write("jobs/uno.workflow.yaml", job("uno"))
    repository.git("add", "-A")
    said = repository.refused()
    assert "manifests/uno/20-jobset-uno.yaml" in listed(said, "created")
    assert "manifests/one/20-jobset-one.yaml" in listed(said, "removed")
    repository.git("add", "-A")
    repository.commit()
    assert not (repository.folder / "manifests/one").exists()


@thorough
def test_a_stale_output(repository: Repository) -> None:
    path = repository.folder / "manifests/one/20-jobset-one.yaml"
    right = path.read_text(encoding="utf-8")
    repository.write("manifests/one/20-jobset-one.yaml", right.replace("train.py", "by-hand.py"))
    repository.git("add", "-A")
    assert listed(repository.refused(), "updated") == ["manifests/one/20-jobset-one.yaml"]
    assert path.read_text(encoding="utf-8") == right
    repository.git("add", "-A")
    assert repository.git("status", "--porcelain") == ""


@thorough
def test_an_output_that_is_taken_out(repository: Repository) -> None:
    repository.write("bayplan.yaml", yaml.safe_dump({**PROJECT, "spec": {"topology": "hall.yaml", "outputs": []}}))
    repository.git("add", "-A")
    assert "volcano.yaml" in listed(repository.refused(), "removed")
    repository.git("add", "-A")
    repository.commit()


@thorough
def test_a_changed_cluster(repository: Repository) -> None:
    hall = repository.folder / "hall.yaml"
    hall.write_text(hall.read_text(encoding="utf-8").replace("nvidia.com/gpu.clique", "example.com/rack"))
    repository.git("add", "-A")
    assert [Path(path).name[:12] for path in listed(repository.refused(), "updated")] == ["18-podgroup-"]


@thorough
def test_the_check_hook_sees_a_changed_cluster(repository: Repository) -> None:
    """By the names of its project and topology, and in a run without the other hook."""
    (repository.folder / "hall.yaml").rename(repository.folder / "hall-topology.yaml")
    repository.write("bayplan.yaml", yaml.safe_dump(PROJECT).replace("hall.yaml", "hall-topology.yaml"))
    repository.git("add", "-A")
    done = repository.pre_commit("run", "bayplan-check")
    assert (done.returncode, "Skipped" in done.stdout) == (0, False), done.stdout
    repository.git("commit", "-q", "--no-verify", "-m", "a")
    smaller = (repository.folder / "hall-topology.yaml").read_text(encoding="utf-8").replace("plan: 16", "plan: 8")
    repository.write("hall-topology.yaml", smaller)
    repository.git("add", "-A")
    done = repository.pre_commit("run", "bayplan-check")
    assert done.returncode == 1
    assert "jobs/one.workflow.yaml:13:29: error[P5" in done.stdout


@thorough
def test_the_check_hook_without_a_project(repository: Repository) -> None:
    """A changed topology is checked with the workflows beside it."""
    for name in ("bayplan.yaml", "volcano.yaml", tree.INDEX, "manifests"):
        repository.git("rm", "-q", "-r", name)
    repository.git("mv", "hall.yaml", "hall-topology.yaml")
    hook = here(HOOKS["bayplan-check"], args=["-t", "hall-topology.yaml"])
    repository.configure({"repos": [{"repo": "local", "hooks": [hook]}]})
    repository.git("add", "-A")
    repository.commit()
    right = (repository.folder / "hall-topology.yaml").read_text(encoding="utf-8")
    repository.write("hall-topology.yaml", right.replace("plan: 16", "plan: 8"))
    repository.git("add", "-A")
    assert "jobs/one.workflow.yaml:13:29: error[P5" in repository.refused()
    repository.git("rm", "-q", "jobs/one.workflow.yaml")
    done = repository.pre_commit("run", "-v")
    assert done.returncode == 0
    assert "hall-topology.yaml: warning[A983]: only the topology is checked" in done.stdout


SWEEP = """\
apiVersion: bayplan.dev/v1alpha1
kind: Workflow
metadata: {name: sweep, namespace: ml}
spec:
  gangs:
  - name: trial
    matrix: {file: trials.csv}
    podSets: [{name: worker, replicas: 1, accelerator: {name: gb200, count: 1}, image: a, command: [b]}]
"""


@thorough
@pytest.mark.parametrize("project", [True, False], ids=["project", "no project"])
def test_the_check_hook_sees_a_changed_table(repository: Repository, project: bool) -> None:
    """A commit of only the file that a matrix reads."""
    repository.write("jobs/sweep.workflow.yaml", SWEEP)
    repository.write("jobs/trials.csv", "rate\n1\n2\n")
    repository.write("notes/other.csv", "a,a\n")
    if not project:
        for name in ("bayplan.yaml", "volcano.yaml", tree.INDEX, "manifests"):
            repository.git("rm", "-q", "-r", name)
    hook = here(HOOKS["bayplan-check"], args=["-t", "hall.yaml"])
    repository.configure({"repos": [{"repo": "local", "hooks": [hook]}]})
    repository.git("add", "-A")
    assert re.search(r"bayplan check\.+Passed", repository.commit())
    repository.write("jobs/trials.csv", "rate,rate\n1,2\n")
    repository.git("add", "-A")
    assert "jobs/trials.csv:1" in repository.refused()
    repository.git("restore", "--staged", "--worktree", ".")
    repository.write("notes/other.csv", "b,b\n")
    repository.git("add", "-A")
    assert re.search(r"bayplan check\.+Passed", repository.commit()), "a table of something else"


def test_the_lint_hook(repository: Repository) -> None:
    hook = here(HOOKS["bayplan-lint"], args=["apps"])
    repository.configure({"repos": [{"repo": "local", "hooks": [hook]}]})
    manifests = bayplan(*RENDER_64).stdout
    repository.write("apps/a.yaml", re.sub("requiredTopologyLevel: .*", "requiredTopologyLevel: rak", manifests))
    repository.git("add", "-A")
    assert "error[M717]" in repository.refused()
    repository.write("apps/a.yaml", manifests)
    repository.git("add", "-A")
    assert re.search(r"bayplan lint\.+Passed", repository.commit())


@thorough
def test_what_has_nothing_to_do_with_it_passes(repository: Repository) -> None:
    repository.write("notes.md", "notes\n")
    repository.git("add", "-A")
    said = repository.commit()
    assert "bayplan generate" in said
    assert re.search(r"bayplan check\.+.*Skipped", said)


@thorough
def test_what_is_not_staged_is_not_looked_at(repository: Repository) -> None:
    edited = job("one").replace("train.py", "later.py")
    repository.write("jobs/one.workflow.yaml", edited)
    repository.write("notes.md", "notes\n")
    repository.git("add", "notes.md")
    repository.commit()
    assert (repository.folder / "jobs/one.workflow.yaml").read_text(encoding="utf-8") == edited
    assert "later.py" not in repository.git("show", "HEAD:volcano.yaml")


@thorough
def test_a_broken_workflow_is_told_at_its_place(repository: Repository) -> None:
    repository.write("jobs/one.workflow.yaml", job("one").replace("replicas: 16", "replicas: 60"))
    repository.git("add", "-A")
    said = repository.refused()
    assert said.count("jobs/one.workflow.yaml:13:29: error[P5") == 2, "each hook says so"
    assert listed(said, "updated") == []


@thorough
def test_the_check_hook_sees_all_workflows_in_one_run(repository: Repository) -> None:
    repository.write("jobs/again.workflow.yaml", job("one"))
    repository.git("add", "-A")
    done = repository.pre_commit("run", "--all-files")
    assert "error[W301]" in done.stdout.partition("bayplan check")[2]


def test_a_ci_run_shows_the_difference_and_writes_nothing(repository: Repository) -> None:
    hook = here(HOOKS["bayplan-generate"], args=["--check", "--diagnostics", "github"])
    repository.configure({"repos": [{"repo": "local", "hooks": [hook]}]})
    assert repository.pre_commit("run", "--all-files").returncode == 0
    repository.write("jobs/one.workflow.yaml", job("one").replace("train.py", "other.py"))
    repository.git("add", "-A")
    done = repository.pre_commit("run", "--all-files")
    assert done.returncode == 1
    assert "+++ volcano.yaml" in done.stdout
    assert "::error file=volcano.yaml,title=O805 " in done.stdout
    assert "files were modified" not in done.stdout
    assert repository.git("diff", "--name-only") == ""


@thorough
def test_a_project_in_a_folder_of_the_repository(repository: Repository) -> None:
    repository.git("rm", "-q", "-r", "manifests", "volcano.yaml", tree.INDEX, "jobs/one.workflow.yaml")
    for name in ("bayplan.yaml", "hall.yaml"):
        repository.write(f"training/{name}", (repository.folder / name).read_text(encoding="utf-8"))
        repository.git("rm", "-q", name)
    repository.write("training/jobs/one.workflow.yaml", job("one"))
    hook = here(HOOKS["bayplan-generate"], args=["training"])
    repository.configure({"repos": [{"repo": "local", "hooks": [hook]}]})
    repository.settle()
    assert "training/manifests/one/20-jobset-one.yaml" in repository.committed()


@thorough
def test_a_merge_that_conflicts_in_generated_files(repository: Repository) -> None:
    for branch, name in (("left", "two"), ("right", "three")):
        repository.git("checkout", "-q", "-b", branch, "main")
        repository.write(f"jobs/{name}.workflow.yaml", job(name))
        repository.settle()
    merge = repository.run(tool("git"), "merge", "left")
    assert merge.returncode == 1
    assert "CONFLICT" in merge.stdout
    done = repository.run(sys.executable, "-m", "bayplan", "generate")
    assert set(listed(done.stdout, "updated")) == {"volcano.yaml", tree.INDEX}
    repository.git("add", "-A")
    repository.commit()
    assert {f"manifests/{name}/20-jobset-{name}.yaml" for name in ("one", "two", "three")} <= repository.committed()
    assert "<<<<" not in repository.git("show", "HEAD:volcano.yaml")


@pytest.mark.parametrize("hook", [each for each in HOOKS.values() if "files" in each], ids=lambda hook: hook["id"])
def test_a_hook_selects_workflows_and_topologies(hook: Mapping[str, Any]) -> None:
    files = [path.relative_to(ROOT).as_posix() for path in sorted(EXAMPLES.glob("*/*.yaml"))]
    selected = [path for path in files if re.search(hook["files"], path)]
    assert {path.rpartition("/")[2] for path in selected} == {"workflow.yaml", "topology.yaml", "bayplan.yaml"}
    assert re.search(hook["files"], "jobs/llama.workflow.yaml")
    assert not re.search(hook["files"], "manifests/my-workflow/20-jobset-my-workflow.yaml")
    assert not re.search(hook["files"], "ml/.bayplan/schemas/workflow.json")
    assert re.search(hook["files"], "bayplan.yaml")
    assert re.search(hook["files"], "jobs/sweep.csv")


def borrowed(folder: Path) -> dict[str, str]:
    """Variables that let pip install from nothing but this environment's packages, which come last on every path."""
    folder.mkdir()
    libraries = sysconfig.get_path("purelib")
    (folder / "sitecustomize.py").write_text(f"import sys\nsys.path.append({libraries!r})\n", encoding="utf-8")
    pip = {
        "NO_INDEX": "1",
        "NO_DEPS": "1",
        "NO_BUILD_ISOLATION": "0",
        "NO_COMPILE": "0",
        "DISABLE_PIP_VERSION_CHECK": "1",
    }
    return {"PYTHONPATH": str(folder), **{f"PIP_{key}": value for key, value in pip.items()}}


def hook_repository(folder: Path, env: Mapping[str, str]) -> dict[str, Any]:
    """The entry of a configuration for this checkout as a git repository of its own."""
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
    git: Sequence[str] = (tool("git"), "-C", str(folder))
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "release"], ["tag", "v0"]):
        subprocess.run([*git, *arguments], env=env, check=True)
    return {"repo": str(folder), "rev": "v0", "hooks": [{"id": each} for each in OWN]}


@thorough
def test_pre_commit_installs_the_repository_and_runs_it(tmp_path: Path) -> None:
    env = {**environment(tmp_path), **borrowed(tmp_path / "borrowed")}
    repository = Repository(tmp_path / "repository", env)
    repository.start({"repos": [hook_repository(tmp_path / "bayplan", env)]})
    done = repository.pre_commit("install-hooks")
    assert done.returncode == 0, done.stdout
    (program,) = (tmp_path / "pre-commit").glob("repo*/py_env-*/bin/bayplan")
    assert repository.run(str(program), "--version").stdout.startswith("bayplan ")
    repository.write("jobs/one.workflow.yaml", job("one"))
    repository.settle()
    assert "manifests/one/20-jobset-one.yaml" in repository.committed()
    assert "project.spec.outputs" in repository.run(str(program), "explain", "project.spec.outputs").stdout
