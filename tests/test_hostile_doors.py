"""Hostile strings in every string of every input, on every command line, and what people, shells and readers get.

A string is refused, or it stays data: every YAML reader finds it unchanged in manifests, scripts do not run it, in
pictures it is no markup, and reports have no control characters. A command in a hint runs nothing else if somebody
pastes it into a shell.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from bayplan.topologies import WRITTEN
from test_hostile_text import JOB, TOPOLOGY, WORKFLOW
from test_hostile_topologies import TEXTS
from tools.data import parse
from tools.effort import sample
from tools.hostile import ACCEPTED, EVERY, LINE, changed, judged, pasted, places, ran, readable, same_for_all
from tools.run import EXAMPLES, PRETRAIN, ROOT, bayplan, environment

RUNS = 40
"""About so many runs of each test by default."""

NAMES = [each for each in EVERY if "\0" not in each and len(each) < 200]
"""Strings that a command line and a file system can have."""


def cases(data: Any, seed: int, values: Sequence[str] = EVERY, most: int = RUNS) -> Iterator[tuple[Any, str]]:
    """Copies of a document, each with a hostile string in one of its places, and the string."""
    all_cases = [(path, value) for path in places(data) for value in values]
    for path, value in sample(all_cases, max(1, len(all_cases) // most) | 1, seed):
        yield changed(data, path, value), value


def spans(text: str, seed: int, most: int = RUNS) -> Iterator[tuple[str, str]]:
    """Copies of a text, each with a hostile string in the place of one of its words, and the string."""
    words = [each.span() for each in re.finditer(r"[A-Za-z0-9][-A-Za-z0-9_./:]*", text)]
    all_cases = [(span, value) for span in words for value in EVERY]
    for (start, end), value in sample(all_cases, max(1, len(all_cases) // most) | 1, seed):
        yield text[:start] + value + text[end:], value


def dumped(data: Any) -> str:
    """A document as YAML that any reader reads."""
    return yaml.dump(data, Dumper=yaml.CSafeDumper, allow_unicode=False)


def test_the_judge_of_commands(tmp_path: Path) -> None:
    hint = "  hint: run `bayplan lint {}`, or `kubectl kustomize . | bayplan lint -`\n"
    safe = subprocess.CompletedProcess((), 1, "", hint.format(shlex.quote(LINE)))
    assert not judged(safe, tmp_path)
    for text in (LINE, "a;>PWNED", ">PWNED", "$(>PWNED)"):
        with pytest.raises(AssertionError):
            judged(subprocess.CompletedProcess((), 1, "", hint.format(text)), tmp_path)
        (tmp_path / "pasted" / "PWNED").unlink()


# Workflows of other formats.

OSMO = """\
workflow:
  name: train
  labels: {team: a}
  timeout: {exec_timeout: 1d}
  resources: {default: {gpu: 4, cpu: 16, memory: 128Gi, platform: gb200}}
  groups:
  - name: first
    tasks:
    - name: lead
      lead: true
      image: registry.example.com/train:1
      command: [work, '{{host:other}}']
      args: [one, '{{output}}']
      environment: {A: b}
      files: [{path: /etc/a.conf, contents: "text\\n"}, {path: /etc/b.conf, contents: no end}]
      credentials: {s3-key: /secrets/a, login: {USER: user, PASSWORD: word}}
      outputs: [{url: 's3://models/final', regex: '.*'}]
      checkpoint: [{path: /checkpoints/a, url: 's3://models/checkpoints', frequency: 10m}]
    - {name: other, image: i, command: [work], inputs: [{url: 's3://datasets/raw', regex: '.*'}]}
"""
TORCHX = json.dumps(
    {
        "name": "finetune",
        "metadata": {"a": "b"},
        "roles": [
            {
                "name": "trainer",
                "image": "registry.example.com/asr:1",
                "entrypoint": "work",
                "args": ["one", "${img_root}/a", "${app_id}"],
                "env": {"A": "b"},
                "num_replicas": 2,
                "max_retries": 1,
                "port_map": {"c10d": 29500},
                "resource": {"cpu": 8, "memMB": 1024, "gpu": 4, "devices": {}, "capabilities": {"c": "d"}},
                "mounts": [{"src": "claim", "dst_path": "/data"}, {"src_path": "/a", "dst_path": "/b"}],
                "metadata": {"e": {"f": "g"}},
            }
        ],
    }
)
SBATCH = """\
#!/bin/bash
# A comment, and another
#SBATCH --job-name=train --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --comment="words of a comment"
#SBATCH --output=logs/%j.out
#SBATCH --container-image=registry.example.com/train:1
export DATA=/data/one
export MASTER_PORT=29500
srun --export=ALL,WORD=two work three "four $DATA" --five='six'
"""


FORMATS = {"osmo": ("osmo.yaml", OSMO), "torchx": ("app.json", TORCHX), "sbatch": ("train.sbatch", SBATCH)}


@pytest.mark.parametrize("scheduler", ["kai", "slurm"])
@pytest.mark.parametrize("form", FORMATS)
def test_a_workflow_of_another_format(form: str, scheduler: str, tmp_path: Path) -> None:
    name, text = FORMATS[form]
    (tmp_path / "topology.yaml").write_text(TOPOLOGY)
    (tmp_path / name).write_text(text)
    argv = ["render", name, "-t", "topology.yaml", "-s", scheduler, *ACCEPTED]
    whole = bayplan(*argv, cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    seed = len(name + scheduler)
    if name == "train.sbatch":  # its command is a script, so that words of it are commands
        texts = [(each, "") for each, _ in spans(text.partition("export")[0], seed)]
        texts = [(each + text[text.index("export") :], value) for each, value in texts]
    else:
        texts = [(dumped(each), value) for each, value in cases(parse(text), seed)]
    accepted = 0
    for number, (each, value) in enumerate(texts):
        (tmp_path / name).write_text(each, encoding="utf-8")
        for command in (argv, ["import", name]):
            done = bayplan(*command, cwd=tmp_path)
            if judged(done, tmp_path):
                accepted += 1
                if command is argv and scheduler == "slurm":
                    ran(done.stdout, tmp_path / str(number))
                else:
                    same_for_all(done.stdout, value if name == "app.json" and "$" not in value else "")
    assert accepted > 1


# What the other doors read.

CONFIGURATION = """\
apiVersion: bayplan.dev/v1alpha1
kind: {kind}
metadata: {{name: a, namespace: b, annotations: {{config.kubernetes.io/function: "exec: {{path: bayplan-krm}}"}}}}
spec: {{topology: {topology}, scheduler: kai}}
"""
TRACES = {"internal.config.kubernetes.io/path": "a.yaml", "config.kubernetes.io/path": "a.yaml"}


@pytest.mark.parametrize("kind", ["ExpandWorkflows", "PlaceWorkloads", "ValidateWorkloads"])
def test_a_resource_list(kind: str, tmp_path: Path) -> None:
    item = parse(JOB)
    item["metadata"]["annotations"] |= {"bayplan.dev/placement": "required=rack", "bayplan.dev/queue": "a"}
    if kind == "ExpandWorkflows":
        item = parse((PRETRAIN / "workflow.yaml").read_text("utf-8"))
    item["metadata"].setdefault("annotations", {}).update(TRACES)
    given = {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "items": [item],
        "functionConfig": parse(CONFIGURATION.format(kind=kind, topology=f"{PRETRAIN}/topology.yaml")),
    }
    for data, _ in cases(given, len(kind), [each for each in EVERY if len(each) < 1000]):
        done = bayplan("krm", stdin=dumped(data), cwd=tmp_path)
        judged(done, tmp_path)
        same_for_all(done.stdout)


def test_a_resource_list_without_a_function(tmp_path: Path) -> None:
    """Its items say that the caller reads the results."""
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "annotations": TRACES}}
    given = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [item]}
    done = bayplan("krm", stdin=dumped(given))
    assert done.returncode == 1
    assert [each["severity"] for each in parse(done.stdout)["results"]] == ["error"]


PROJECT = """\
apiVersion: bayplan.dev/v1alpha1
kind: Project
spec:
  topology: topology.yaml
  outputs:
  - workflows: [workflow.yaml]
    to: 'out/{workflow}/'
    scheduler: kai
    namespace: ml
    queue: research
    priority: high
    workload: jobset
    target: {kai: '0.17'}
    accept: [F626]
  - {export: kai, to: out/kai.yaml}
"""


def test_a_project(tmp_path: Path) -> None:
    for name in ("workflow.yaml", "topology.yaml"):
        shutil.copy(PRETRAIN / name, tmp_path)
    (tmp_path / "bayplan.yaml").write_text(PROJECT)
    assert "warning[O805]" in bayplan("generate", cwd=tmp_path).stderr
    for data, _ in cases(parse(PROJECT), 0):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        (tmp_path / "bayplan.yaml").write_text(dumped(data))
        for options in ((), ("--check",)):
            done = bayplan("generate", *options, cwd=tmp_path)
            judged(done, tmp_path)
            assert readable(done.stdout)
        for path in (tmp_path / "out").rglob("*.yaml"):
            same_for_all(path.read_text("utf-8"))


RENDER = ("render", f"{PRETRAIN}/workflow.yaml", "-t", f"{PRETRAIN}/topology.yaml")
IMPORT = ("topology", "import", f"{EXAMPLES}/sources/nodes.json")
OPTIONS = {
    RENDER: "--queue -n --priority --workload --gang -s --set --set-string --target --accept --fail-on --from -o",
    IMPORT: "--from --update --preset --level --plan --headroom --name --read-on -o",
    ("init", "made"): "--accelerator -s --from",
    ("plan", f"{PRETRAIN}/workflow.yaml"): "-t",
    ("capacity", "-t", f"{PRETRAIN}/topology.yaml"): "--level --without --with --occupied",
}
WORDS = (
    "render,check,plan,capacity,lint,diff,import,delete-plan,generate,explain,schema,completion,last-error,nothing,init,"
    "topology check,topology show,topology export,topology diff,kustomize doctor,kustomize references,"
    "kustomize install-legacy,helm last-error,helm install-plugin -o,init --from,check -s"
)


def test_a_command_line(tmp_path: Path) -> None:
    commands = [(*command, *words.split(" ")) for command, options in OPTIONS.items() for words in options.split(" ")]
    commands += [tuple(words.split(" ")) for words in WORDS.split(",")]
    lines = [(*command, value) for value in NAMES for command in commands]
    for number, argv in enumerate(sample(lines, 7, 3)):
        folder = tmp_path / str(number)
        folder.mkdir()
        home = {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
        done = bayplan(*argv, cwd=folder, env=home)
        if judged(done, folder) and argv[0] == "render":
            same_for_all(done.stdout)
        else:
            assert readable(done.stdout), argv


CONTENTS = {
    "a Kubernetes object": JOB,
    "an OSMO workflow": OSMO,
    "an sbatch script": SBATCH,
    "a Workflow": WORKFLOW,
    "a topology": TOPOLOGY,
    "a kustomization": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
    "nodes": (EXAMPLES / "sources" / "nodes.json").read_text("utf-8"),
}
READERS = "render,check,plan,lint,topology check,topology import,topology show,init new --from"


@pytest.mark.parametrize("what", CONTENTS)
def test_the_name_of_a_file(what: str, tmp_path: Path) -> None:
    """Hints name files in commands; init does so in a comment and in what it prints."""
    hints = 0
    for number, (name, words) in enumerate(sample([(n, w) for n in NAMES for w in READERS.split(",")], 5, len(what))):
        folder = tmp_path / str(number)
        (folder / name.lstrip("/")).parent.mkdir(parents=True)
        (folder / name.lstrip("/")).write_text(CONTENTS[what])
        path = f"./{name.lstrip('/')}" if name.startswith("-") else name.lstrip("/")
        done = bayplan(*words.split(" "), path, cwd=folder)
        if judged(done, folder) and words.startswith("init"):
            assert "PWNED" in same_comments(folder / "new" / "topology.yaml")
        hints += "  hint: " in done.stderr
    assert hints or what in ("a Workflow", "nodes", "a topology")


@pytest.mark.parametrize("words", ["render workflow.yaml -t", "check"])
def test_the_name_of_a_file_outside(words: str, tmp_path: Path) -> None:
    """The hint of the sandbox names it in an option."""
    shutil.copy(PRETRAIN / "workflow.yaml", tmp_path)
    for name in sample([each for each in NAMES if "/" not in each], 2, 1):
        done = bayplan(*words.split(" "), f"../{name}", "--sandbox-root", ".", cwd=tmp_path)
        assert not judged(done, tmp_path)
        (option,) = re.findall("^  hint: .* pass (--trust .*)", done.stdout + done.stderr, re.MULTILINE)
        pasted(f"bayplan check {option}", tmp_path)
        assert len(shlex.split(option)) == 2


def same_comments(path: Path) -> str:
    """The second line of a file that readers read alike. The first is for editors."""
    same_for_all(path.read_text("utf-8"))
    return path.read_text("utf-8").splitlines()[1]


@pytest.mark.parametrize("name", [each for each in NAMES if "/" not in each and each.isprintable()])
def test_what_init_prints_is_a_command(name: str, tmp_path: Path) -> None:
    done = bayplan("init", f"./{name}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    pasted(done.stdout, tmp_path)
    assert shlex.split(done.stdout)[2] == f"./{name}/workflow.yaml"


def test_the_last_report_has_one_line_for_the_command(tmp_path: Path) -> None:
    for number, name in enumerate(NAMES):
        env = {"XDG_STATE_HOME": str(tmp_path / str(number))}
        assert bayplan("post-render", "-t", f"./{name}", stdin="kind: Job\n", env=env).returncode == 1
        kept = bayplan("helm", "last-error", env=env).stdout
        assert readable(kept)
        assert "ended with exit code 1 at" in kept.partition("\n")[0]


# Topologies: their sources, and what is made of them.


@pytest.mark.parametrize("source", sorted(TEXTS))
def test_a_source_of_topologies(source: str, tmp_path: Path) -> None:
    text = TEXTS[source]
    if text.lstrip()[:1] in "[{" or "apiVersion: " in text:
        documents = [*yaml.load_all(text, yaml.CSafeLoader)]
        write = json.dumps if text.lstrip()[:1] in "[{" else dumped
        texts = [
            (write(each[0]) if len(each) == 1 else "---\n".join(map(dumped, each)))
            for each, _ in cases(documents, len(text), most=12)
        ]
    else:
        texts = [each for each, _ in spans(text, len(text), 12)]
    for number, each in enumerate(texts):
        (tmp_path / "source").write_text(each, encoding="utf-8")
        done = bayplan("topology", "import", "source", cwd=tmp_path)
        if not judged(done, tmp_path):
            continue
        same_for_all(done.stdout)
        (tmp_path / "topology.yaml").write_text(done.stdout, encoding="utf-8")
        pictured(tmp_path / "topology.yaml")
        done = bayplan("init", f"new{number}", "--from", "source", cwd=tmp_path)
        if judged(done, tmp_path):
            for path in (tmp_path / f"new{number}").glob("*.yaml"):
                same_for_all(path.read_text("utf-8"))


def pictured(path: Path) -> None:
    """Shows a topology as a tree and as a picture."""
    tree, picture = (bayplan("topology", "show", str(path), "--format", form) for form in ("tree", "svg"))
    assert readable(tree.stdout), tree.stdout
    if picture.returncode == 0:
        drawn(picture.stdout)


ELEMENTS = {"svg", "title", "style", "defs", "pattern", "path", "g", "rect", "text"}
ATTRIBUTES = {"class", "d", "font-family", "font-size", "height", "id", "patternUnits", "role", "rx", "transform"}
ATTRIBUTES |= {"aria-labelledby", "viewBox", "width", "x", "y"}
"""All that a picture consists of: no scripts, links, events, images or HTML."""


def drawn(picture: str) -> None:
    """A picture has only elements and attributes that draw, and its style loads nothing."""
    for each in ElementTree.fromstring(picture).iter():
        assert each.tag.removeprefix("{http://www.w3.org/2000/svg}") in ELEMENTS
        assert set(each.attrib) <= ATTRIBUTES
        assert not any("url(" in value for value in each.attrib.values())
    (style,) = re.findall("<style>(.*?)</style>", picture, re.DOTALL)
    assert style.lstrip("\n") == (ROOT / "generator/bayplan/plugins/pictures/svg.css").read_text("utf-8")


def paged(page: str) -> None:
    """A page of a plan has only its own script and style, which its policy names by their hashes, and data."""
    parts = re.findall("<(script|style)([^>]*)>(.*?)</\\1>", page, re.DOTALL)
    own = [(ROOT / "generator/bayplan/plugins/pictures" / name).read_text("utf-8") for name in ("page.css", "page.js")]
    assert [text for _, attributes, text in parts if not attributes] == own
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in own]
    policy = f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'"
    assert re.findall('http-equiv="Content-Security-Policy" content="(.*?)"', page) == [policy]
    (data,) = (text for _, attributes, text in parts if attributes)
    assert not set("<>&") & set(data)
    assert json.loads(data)["scenes"]
    rest = re.sub("<(script|style)([^>]*)>(.*?)</\\1>", "", page, flags=re.DOTALL)
    assert set(re.findall("<(/?[a-zA-Z!][^ >]*)", rest)) == BARE


BARE = set(
    re.findall("<(/?[a-zA-Z!][^ >]*)", (ROOT / "generator/bayplan/plugins/pictures/page.html").read_text("utf-8"))
)
BARE -= {"script", "/script", "style", "/style"}
"""The elements of a page without data."""

OTHERS = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "namespace": "team-b",
        "name": "train-7",
        "labels": {"jobset.sigs.k8s.io/jobset-name": "train"},
        "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "train-0", "controller": True}],
    },
    "spec": {"nodeName": "n03", "containers": [{"name": "c", "resources": {"requests": {"nvidia.com/gpu": "2"}}}]},
    "status": {"phase": "Running"},
}
"""A pod of another tenant."""


SMALL = """\
apiVersion: bayplan.dev/v1alpha1
kind: Workflow
metadata: {name: job}
spec:
  gangs:
  - name: train
    placement: {required: spine}
    podSets: [{name: worker, replicas: REPLICAS, accelerator: {name: gb200, count: 4}, image: i, command: [work]}]
"""


@pytest.mark.parametrize("place", ["topology.yaml", "pods.json"])
def test_a_picture_of_a_plan(place: str, tmp_path: Path) -> None:
    """The names of a cluster, and those of other tenants."""
    plain = {"topology.yaml": parse(TOPOLOGY), "pods.json": OTHERS}
    (tmp_path / "small.yaml").write_text(SMALL.replace("REPLICAS", "3"))
    (tmp_path / "large.yaml").write_text(SMALL.replace("REPLICAS", "99"))
    for name, data in plain.items():
        (tmp_path / name).write_text(json.dumps(data))
    known = ("-t", "topology.yaml", "-s", "kai")
    assert bayplan("render", "small.yaml", *known, "-o", "manifests/", cwd=tmp_path).returncode == 0
    pictures = [
        ("plan", "small.yaml", *known, "--occupied", "pods.json", "--format", "svg"),
        ("plan", "large.yaml", *known, "--occupied", "pods.json", "--format", "html"),
        ("diff", "small.yaml", "manifests/", *known, "--format", "svg"),
    ]
    reports = [
        ("plan", "small.yaml", *known, "--occupied", "pods.json", "--format", form) for form in ("tree", "blocks")
    ]
    seen = 0
    for data, _ in cases(plain[place], 3, most=60):
        (tmp_path / place).write_text(json.dumps(data))
        for words in pictures:
            done = bayplan(*words, cwd=tmp_path)
            judged(done, tmp_path)
            if done.stdout:
                (paged if "html" in words else drawn)(done.stdout)
                seen += 1
        for words in reports:
            done = bayplan(*words, cwd=tmp_path)
            judged(done, tmp_path)
            assert readable(done.stdout)
    assert seen > 1


def test_a_topology(tmp_path: Path) -> None:
    path = tmp_path / "topology.yaml"
    for data, value in cases(parse(TOPOLOGY), 1, most=60):
        path.write_text(dumped(data))
        judged(bayplan("topology", "check", str(path)), tmp_path)
        pictured(path)
        for to in ("kai", "volcano", "kueue", "koordinator", *WRITTEN):
            done = bayplan("topology", "export", str(path), "--to", to)
            if judged(done, tmp_path) and to not in ("slurm", "slurm-conf", "ibnetdiscover"):
                same_for_all(done.stdout)
            assert not re.search("^>PWNED", done.stdout, re.MULTILINE), (to, value)


# Reports and completions.


@pytest.mark.parametrize("form", ["json", "github", "sarif", "gitlab"])
def test_a_report_for_programs(form: str, tmp_path: Path) -> None:
    for data, _ in cases(parse(WORKFLOW), len(form)):
        (tmp_path / "workflow.yaml").write_text(dumped(data))
        argv = ["check", "workflow.yaml", "-t", f"{PRETRAIN}/topology.yaml", "--diagnostics"]
        done = bayplan(*argv, form, cwd=tmp_path)
        assert done.returncode in (0, 1)
        assert readable(done.stdout)
        found = json.loads(bayplan(*argv, "json", cwd=tmp_path).stdout)["diagnostics"]
        if form == "github":
            lines = done.stdout.splitlines()
            assert len(lines) == len(found)
            assert all(re.match("::(error|warning|notice) ", line) for line in lines)
        elif form == "sarif":
            assert len(json.loads(done.stdout)["runs"][0]["results"]) == len(found)
        elif form == "gitlab":
            assert len(json.loads(done.stdout)) == len(found)


def test_a_completion_is_one_word(tmp_path: Path) -> None:
    """bash puts it on the command line as it is, where the user presses Enter."""
    gangs = [{"name": value} for value in ("plain", *NAMES)]
    (tmp_path / "w.yaml").write_text(dumped({"spec": {"gangs": gangs}}))
    program = tmp_path / "bayplan"
    program.write_text(f"#!{sys.executable}\nfrom bayplan.__main__ import script\nscript()\n")
    program.chmod(0o755)
    words = "COMP_WORDS=(bayplan render w.yaml --gang ''); COMPREPLY=() COMP_CWORD=4; _bayplan_completion bayplan"
    script = bayplan("completion", "bash").stdout + words + '\nprintf "%s\\n" "${COMPREPLY[@]}"'
    env = environment({"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"})
    shell = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert shell.stdout == "plain\n"
