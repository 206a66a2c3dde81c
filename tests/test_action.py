"""The GitHub Action, run by act on this machine: in a git repository with a base and a change, as its users call it.

act evaluates action.yml as GitHub's runner does. Stand-ins replace what needs GitHub: a `gh` that keeps comments in a
file, and the three actions of others, which note their inputs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tools.clients import tool
from tools.run import PRETRAIN, ROOT

sys.path.insert(0, str(ROOT / "packaging" / "action"))
import steps as action

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
USED = {re.sub("@.*", "", step["uses"]): step["uses"] for step in STEPS if "uses" in step}
CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1"

GH = """\
import json, os, sys
from pathlib import Path

kept = Path(os.environ["RECORD"], "comments.json")
comments = json.loads(kept.read_text()) if kept.exists() else {}
words = sys.argv[1:]
if os.environ.get("GH_TOKEN") != "may-write" and "-X" in words:
    sys.exit("gh: Resource not accessible by integration (HTTP 403)")
body = next((Path(word[6:]).read_text() for word in words if word.startswith("body=@")), "")
if "PATCH" in words:
    (number,) = [word.rpartition("/")[2] for word in words if "/comments/" in word]
    comments[number] = body
elif "POST" in words:
    assert "repos/ml/jobs/issues/7/comments" in words, words
    comments[str(len(comments) + 1)] = body
else:
    marker = json.loads(words[-1].partition("startswith(")[2].partition(")")[0])
    print(*(number for number, text in comments.items() if text.startswith(marker)), sep="\\n")
kept.write_text(json.dumps(comments))
"""

SCRIPT = "from bayplan.__main__ import script\nscript()\n"

NOTING = """\
name: stand-in
description: notes its inputs
inputs: {{sarif_file: {{default: ""}}, path: {{default: ""}}, archive: {{default: ""}}, overwrite: {{default: ""}}}}
outputs:
  python-path: {{value: {python}}}
  artifact-url: {{value: https://github.com/ml/jobs/actions/runs/1/artifacts/2}}
runs:
  using: composite
  steps:
  - shell: bash
    env: {{SARIF: "${{{{ inputs.sarif_file }}}}", FILE: "${{{{ inputs.path }}}}"}}
    run: 'for each in "$SARIF" "$FILE"; do [ -z "$each" ] || cp -r "$each" "$RECORD/"; done'
"""


class Run(NamedTuple):
    """What a run of the action left: its exit code and log, the job summary, the comments, and uploaded files."""

    code: int
    log: str
    summary: str
    comments: Mapping[str, str]
    uploaded: Path


class Hub:
    """A git repository whose working tree is a pull request, and what act needs to run the action there."""

    def __init__(self, folder: Path) -> None:
        self.act = tool("act")
        self.folder, self.record, self.bin = folder / "jobs", folder / "record", folder / "bin"
        self.actions = folder / "actions"
        for made in (self.folder, self.record, self.bin, folder / "home"):
            made.mkdir(parents=True)
        person = {f"GIT_{who}_{key}": "a@b" for who in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
        kept = {key: each for key, each in os.environ.items() if not key.startswith(("GIT", "PYTHON", "PIP_", "ACT"))}
        home = {"HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "home" / ".cache")}
        self.env = {**kept, **person, **home, "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}"}
        for name, code in {
            "gh": GH,
            "bayplan": f"import sys; sys.path.insert(0, {str(ROOT / 'generator')!r})\n{SCRIPT}",
        }.items():
            (self.bin / name).write_text(f"#!{sys.executable}\n{code}", encoding="utf-8")
            (self.bin / name).chmod(0o755)
        for name in USED:
            (self.actions / name).mkdir(parents=True)
            (self.actions / name / "action.yml").write_text(NOTING.format(python=sys.executable), encoding="utf-8")
        ours = self.actions / "ours"
        (ours / "packaging").mkdir(parents=True)
        shutil.copy(ROOT / "action.yml", ours)
        shutil.copytree(ROOT / "packaging" / "action", ours / "packaging" / "action")
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        """The output of git."""
        done = subprocess.run(
            [tool("git"), *words], cwd=self.folder, env=self.env, capture_output=True, encoding="utf-8", check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def write(self, name: str, text: str) -> None:
        """A file."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")

    def generate(self) -> None:
        """The files of bayplan.yaml."""
        subprocess.run([str(self.bin / "bayplan"), "generate"], cwd=self.folder, env=self.env, check=False)

    def commit(self) -> str:
        """Commits everything. Returns the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")
        return self.git("rev-parse", "HEAD")

    def run(self, base: str = "", token: str = "may-write", **inputs: str) -> Run:
        """Runs the action on what is committed: as a pull request with this base, or as a push."""
        given = {"command": str(self.bin / "bayplan"), "token": "${{ secrets.WRITER }}", **inputs}
        given = {name: each for name, each in given.items() if each}
        steps = [
            {"uses": CHECKOUT},
            {"uses": "tools/bayplan@v1", "with": given, "id": "ours"},
            {"run": "echo changed=${{ steps.ours.outputs.changed }}"},
        ]
        job = {"runs-on": "ubuntu-latest", "steps": steps}
        self.write(".github/workflows/jobs.yml", yaml.safe_dump({"on": ["push", "pull_request"], "jobs": {"a": job}}))
        event = self.record / "event.json"
        about = {"number": 7, "base": {"sha": base}, "head": {"repo": {"fork": token != "may-write"}}}
        repository = {"repository": {"full_name": "ml/jobs", "name": "jobs", "owner": {"login": "ml"}}}
        event.write_text(json.dumps({**repository, **({"pull_request": about} if base else {})}), encoding="utf-8")
        # act takes a repository by its owner and name, and looks for the action of a subfolder inside of it
        local = {"tools/bayplan@v1": self.actions / "ours"}
        for uses in USED.values():
            owner, name, *_ = re.split("[/@]", uses)
            local[f"{owner}/{name}@{uses.partition('@')[2]}"] = self.actions / owner / name
        done = subprocess.run(
            [
                self.act,
                "pull_request" if base else "push",
                *("-P", "ubuntu-latest=-self-hosted", "--pull=false", "-e", str(event)),
                *("-s", f"WRITER={token}", "--env", f"RECORD={self.record}", "--env", "GITHUB_REPOSITORY=ml/jobs"),
                *(word for ref, folder in local.items() for word in ("--local-repository", f"{ref}={folder}")),
            ],
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        comments = self.record / "comments.json"
        unmarked = [line for line in done.stdout.splitlines() if not line.startswith(("[jobs", "time=", "Error: "))]
        return Run(
            done.returncode,
            done.stdout,
            "".join(f"{line}\n" for line in unmarked),  # act prints a summary without the name of the job
            json.loads(comments.read_text(encoding="utf-8")) if comments.exists() else {},
            self.record,
        )


PROJECT = """\
apiVersion: bayplan.dev/v1alpha1
kind: Project
spec:
  topology: hall.yaml
  outputs:
  - {workflows: ["jobs/*.workflow.yaml"], to: "manifests/{workflow}/"}
"""
JOB = (PRETRAIN / "workflow.yaml").read_text(encoding="utf-8")


def job(name: str) -> str:
    """A workflow of that name, which fits."""
    return JOB.replace("name: pretrain,", f"name: {name},")


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    """A repository with a project and one job."""
    made = Hub(tmp_path)
    made.write("bayplan.yaml", PROJECT)
    made.write("hall.yaml", (PRETRAIN / "topology.yaml").read_text(encoding="utf-8"))
    made.write("jobs/llama.workflow.yaml", job("llama"))
    made.generate()
    made.commit()
    return made


def test_a_pull_request_that_changes_a_plan(hub: Hub) -> None:
    base = hub.git("rev-parse", "HEAD")
    hub.write("jobs/llama.workflow.yaml", job("llama").replace("replicas: 4", "replicas: 2"))
    hub.write("jobs/probe.workflow.yaml", job("probe"))
    hub.generate()
    hub.commit()
    done = hub.run(base)
    assert done.code == 0, done.log
    (body,) = done.comments.values()
    assert body.startswith("<!-- bayplan bayplan -->\n### bayplan\n")
    assert "| `bayplan generate --check` | passed |" in body
    assert "-└─ gang llama: 64 pods, required spine, in north-1/spine-a\n+└─ gang llama: 32 pods" in body
    assert "+probe on hall-1, namespace ml, for kai: jobset probe" in body
    before, after = (re.search(rf"^{word}:\n\n```\n(.*?)```", body, re.M | re.S) for word in ("before", "after"))
    assert before
    assert "    8c1f-a3.1  CCC/CCCCCC/CCCCCCC\n" in before[1]
    assert after
    assert "    8c1f-a3.1  ···/······/·······\n" in after[1]
    assert "(https://github.com/ml/jobs/actions/runs/1/artifacts/2)" in body
    assert " ".join(body.split()[6:]) in " ".join(done.summary.split())
    assert "| changed=2" in done.log
    page = (done.uploaded / "bayplan.html").read_text(encoding="utf-8")
    assert [each for each in ("llama", "probe") if f"{each} on hall-1" not in page] == []
    assert hub.git("worktree", "list").count("\n") == 0

    hub.write("jobs/llama.workflow.yaml", job("llama"))
    hub.git("rm", "-q", "-f", "jobs/probe.workflow.yaml")
    hub.generate()
    hub.commit()
    again = hub.run(base)
    assert list(again.comments) == list(done.comments), "one comment, which is replaced"
    assert "No plan changes." in again.comments["1"]


def test_findings_fail_the_run_and_are_annotations(hub: Hub) -> None:
    base = hub.git("rev-parse", "HEAD")
    hub.write("jobs/llama.workflow.yaml", job("llama").replace("replicas: 16", "replicas: 20"))
    hub.commit()
    done = hub.run(base, sarif="true")
    assert done.code == 1
    assert "::error file=jobs/llama.workflow.yaml,line=13" in done.log
    (body,) = done.comments.values()
    assert "| `bayplan generate --check` | **failed** |" in body
    assert "bayplan cannot plan this change:" in body
    assert "jobs/llama.workflow.yaml:13:29: error[P551]: group " in body
    assert "does not fit: " in body
    log = json.loads((done.uploaded / "sarif" / "generate.sarif").read_text(encoding="utf-8"))
    assert log["runs"][0]["automationDetails"]["id"] == "bayplan/generate/"
    assert [each["ruleId"] for each in log["runs"][0]["results"] if each["level"] == "error"] == ["P551"]


def test_a_pull_request_that_changes_no_plan_gets_no_comment(hub: Hub) -> None:
    base = hub.git("rev-parse", "HEAD")
    hub.write("notes.md", "notes\n")
    hub.commit()
    done = hub.run(base)
    assert (done.code, done.comments) == (0, {})
    assert "No plan changes." in done.summary


def test_the_token_of_a_fork(hub: Hub) -> None:
    base = hub.git("rev-parse", "HEAD")
    hub.write("jobs/probe.workflow.yaml", job("probe"))
    hub.generate()
    hub.commit()
    done = hub.run(base, token="read-only")
    assert (done.code, done.comments) == (0, {}), done.log
    assert "+probe on hall-1" in done.summary
    assert "only the job summary has the plans: gh: Resource not accessible by integration (HTTP 403)" in done.log


def test_workflows_and_manifests_without_a_project(hub: Hub) -> None:
    hub.git("rm", "-q", "bayplan.yaml")
    base = hub.commit()
    hub.write("jobs/deep/probe.workflow.yaml", job("probe"))
    hub.commit()
    inputs = {"topology": "hall.yaml", "scheduler": "kai", "arguments": "--target 'kai=0.17'", "name": "Team a"}
    done = hub.run(base, workflows="jobs/*.workflow.yaml\njobs/deep/**", manifests="manifests", sarif="true", **inputs)
    assert done.code == 0, done.log
    (body,) = done.comments.values()
    assert body.startswith("<!-- bayplan Team-a -->\n### Team a\n")
    assert "| `bayplan check` | passed |\n| `bayplan lint` | passed |" in body
    assert "+probe on hall-1" in body
    assert "llama" not in body
    ids = {
        file.stem: json.loads(file.read_text(encoding="utf-8"))["runs"][0]["automationDetails"]["id"]
        for file in (done.uploaded / "sarif").iterdir()
    }
    assert ids == {"check": "Team a/check/", "lint": "Team a/lint/"}


def test_a_push_has_only_findings(hub: Hub) -> None:
    done = hub.run()
    assert (done.code, done.comments) == (0, {})
    assert "plan" not in done.summary.replace("bayplan", "")
    assert "| `bayplan generate --check` | passed |" in done.summary


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "there is no bayplan.yaml, and no `workflows` or `manifests`: name one of them"),
        ({"workflows": "*.flow"}, "git tracks no file that `workflows` matches"),
        ({"project": "other/bayplan.yaml"}, "there is no such `project`"),
    ],
)
def test_nothing_to_run(hub: Hub, inputs: Mapping[str, str], message: str) -> None:
    hub.git("rm", "-q", "bayplan.yaml")
    hub.commit()
    done = hub.run(**inputs)
    assert done.code == 1
    assert message in done.log


def test_a_base_that_the_clone_does_not_have(hub: Hub, tmp_path: Path) -> None:
    """As with `fetch-depth: 1`: git fetches the base, and without it compares nothing."""
    hub.write("jobs/probe.workflow.yaml", job("probe"))
    hub.generate()
    base, _ = hub.git("rev-parse", "HEAD"), hub.commit()
    whole = hub.folder.rename(tmp_path / "origin")
    hub.folder.mkdir()
    hub.git("clone", "-q", "--depth=1", whole.as_uri(), ".")
    hub.git("config", "--file", str(whole / ".git" / "config"), "uploadpack.allowReachableSHA1InWant", "true")
    assert "+probe on hall-1" in hub.run(base).summary
    shutil.rmtree(hub.folder)
    hub.folder.mkdir()
    hub.git("clone", "-q", "--depth=1", whole.as_uri(), ".")
    hub.git("remote", "remove", "origin")
    done = hub.run(base)
    assert done.code == 0
    assert "git cannot read the base of the pull request" in done.log


def test_a_hostile_pull_request(hub: Hub) -> None:
    """Names of files are no code, and files of the repository are no modules of the action."""
    base = hub.git("rev-parse", "HEAD")
    for name in ("json", "venv", "base64", "pip", "sitecustomize"):
        hub.write(f"{name}.py", "from pathlib import Path\nPath('pwned').touch()\n")
    hub.write('jobs/$(touch pwned)`touch pwned`";touch pwned;"-x.workflow.yaml', job("odd"))
    hub.write("-t.workflow.yaml", job("dash"))
    (hub.folder / "jobs" / "link.workflow.yaml").symlink_to("/etc/hostname")
    hub.commit()
    inputs = {"workflows": "jobs/*.workflow.yaml\n*.workflow.yaml", "project": " ", "topology": "hall.yaml"}
    done = hub.run(base, **inputs)
    assert done.code == 1
    assert "jobs/link.workflow.yaml" in done.log
    (hub.folder / "jobs" / "link.workflow.yaml").unlink()
    hub.commit()
    done = hub.run(base, **inputs)
    assert done.code == 0, done.log
    assert {"odd", "dash"} <= set(re.findall(r"^\+(\w+) on hall-1", done.summary, re.MULTILINE))
    assert not list(hub.folder.parent.rglob("pwned"))


def test_the_action_installs_its_own_checkout(hub: Hub) -> None:
    if not list(Path(os.environ.get("PIP_FIND_LINKS", "none")).glob("hatchling-*")):
        pytest.skip("PIP_FIND_LINKS names no folder with the packages of requirements/test.txt")
    left_out = shutil.ignore_patterns(".git", ".ci", ".venv", ".*_cache", "__pycache__", "build", "golden", "tests")
    shutil.copytree(ROOT, hub.actions / "ours", ignore=left_out, dirs_exist_ok=True)
    hub.env |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": os.environ["PIP_FIND_LINKS"]}
    done = hub.run(command="")
    assert done.code == 0, done.log
    assert re.search(r"\| bayplan \d+\.\d+\.\d+", done.log)


def test_the_action_installs_packages_by_their_hashes() -> None:
    (script,) = [step["run"] for step in STEPS if step.get("id") == "install"]
    commands = [line.strip() for line in script.splitlines() if line.strip().startswith("pip install")]
    assert all("--require-hashes" in each or "--no-deps --no-build-isolation" in each for each in commands)
    named = re.findall(r'-r "\$locks/([a-z]+\.txt)"', script)
    assert named == ["image.txt", "build.txt"]
    assert all((ROOT / "requirements" / each).exists() for each in named)


def test_the_merge_commit_is_compared_with_its_first_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GitHub merges a pull request with its base, which may be newer than the event says."""

    def git(*words: str) -> str:
        command = [tool("git"), "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=True).stdout.strip()

    git("init", "-q", "-b", "main")
    commits = [git("commit", "-q", "--allow-empty", "-m", each) or git("rev-parse", "HEAD") for each in ("old", "base")]
    git("checkout", "-q", "-b", "change", commits[0])
    git("commit", "-q", "--allow-empty", "-m", "change")
    git("checkout", "-q", "main")
    git("merge", "-q", "--no-ff", "-m", "merge", "change")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BASE", commits[0])
    for sha, compared in ((git("rev-parse", "HEAD"), commits[1]), ("other", commits[0])):
        monkeypatch.setenv("GITHUB_SHA", sha)
        assert action.check_out(tmp_path / sha)
        assert git("-C", str(tmp_path / sha), "rev-parse", "HEAD") == compared


def test_no_expression_is_part_of_a_script() -> None:
    assert [step["run"] for step in STEPS if "${{" in step.get("run", "")] == []
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.(\w+)", text)) == set(ACTION["inputs"])


@pytest.mark.parametrize("most", range(40, 400, 7))
def test_a_long_report_stays_markdown(most: int) -> None:
    part = "````diff\n+a ``` b\n\n-c\n````\n\n<details><summary>x</summary>\n\n```\npicture\n```\n\n</details>\n\n"
    text = action.shortened(part * 5, 200 + most, "end\n")
    fences = [len(each) for each in re.findall(r"^(`{3,})\w*$", text, re.MULTILINE)]
    assert fences[::2] == fences[1::2]
    assert text.count("<details>") == text.count("</details>")
    assert text.endswith("end\n")
    assert len(text) <= 200 + most
