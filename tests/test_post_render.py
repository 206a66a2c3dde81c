"""Helm's streams go through `bayplan post-render`: what is asked for is placed, and all else keeps its bytes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

import judges
from bayplan.clients import helm
from bayplan.clients import helm as stream
from bayplan.model.augment import Added, Augmented, Change
from bayplan.text.emit import emit
from judges.versions import UPSTREAM
from support import TOPOLOGY
from tools.run import bayplan, environment

COVERS = {"A920", "R103", "A967", "A973", "A912", "O820"}

PLACED = {"bayplan.dev/placement": "required=rack"}

JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "annotations": PLACED},
    "spec": {
        "completions": 4,
        "parallelism": 4,
        "completionMode": "Indexed",
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 4}}}],
            }
        },
    },
}
"""A rack's worth of nothing much."""

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}   # kept\ndata: {a: yes}\n"


def text(*documents: dict[str, Any] | str) -> str:
    """A stream as Helm 3 has it."""
    parts = (each if isinstance(each, str) else "".join(emit([each])) for each in documents)
    return "".join(f"---\n# Source: chart/templates/{number}.yaml\n{part}" for number, part in enumerate(parts))


class Place:
    """A folder with a topology and what a run may write to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "topology.yaml").write_text("".join(emit([TOPOLOGY])), encoding="utf-8")

    def run(self, stdin: str, *arguments: str, name: str = "post-render") -> subprocess.CompletedProcess[str]:
        env = {"XDG_STATE_HOME": str(self.folder / "state")}
        given = ["-t", "topology.yaml", *arguments] if name == "post-render" else arguments
        return bayplan(*name.split(), *given, cwd=self.folder, env=env, stdin=stdin)

    def passed(self, stdin: str, *arguments: str) -> str:
        done = self.run(stdin, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refused(self, stdin: str, *arguments: str, code: int = 1) -> str:
        done = self.run(stdin, *arguments)
        assert (done.returncode, done.stdout) == (code, ""), done.stderr
        return done.stderr

    def policy(self, *rules: dict[str, Any]) -> Sequence[str]:
        document = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Policy", "spec": {"rules": list(rules)}}
        (self.folder / "policy.yaml").write_text("".join(emit([document])), encoding="utf-8")
        return ("--policy", "policy.yaml")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def kinds(output: str) -> list[str]:
    return [each["kind"] for each in yaml.load_all(output, yaml.CSafeLoader) if each]


def common(before: str, after: str) -> bool:
    """Whether all lines of the one stand in the other in their order."""
    lines: Iterator[str] = iter(after.splitlines())
    return all(line in lines for line in before.splitlines())


# What passes


@pytest.mark.parametrize(
    "stdin",
    [
        pytest.param(text(MAP, MAP), id="foreign"),
        pytest.param("---\n# nothing\n---\n\n---\n...\n", id="without documents"),
        pytest.param("a: 1\na: 2\n---\n- x\n---\ntext\n", id="duplicates and others"),
        pytest.param("a: [\n", id="broken"),
        pytest.param("\ufeff" + MAP, id="with a mark"),
        pytest.param(json.dumps(TOPOLOGY["spec"]), id="json"),
    ],
)
def test_what_nobody_asks_for_passes_as_it_is(place: Place, stdin: str) -> None:
    assert place.passed(stdin) == stdin


def test_windows_lines_stay() -> None:
    raw = text(MAP, JOB).replace("\n", "\r\n").encode()
    read, _ = stream.parse("-", raw, frozenset().__contains__)
    (one,) = stream.objects(read)
    made = Augmented((Change(one.route, {**one.data, "spec": {**one.data["spec"], "suspend": True}}),), ())
    after = b"".join(stream.written(read, made))
    assert after.splitlines() == [*raw.splitlines(), b"  suspend: true"]
    assert after.count(b"\n") == after.count(b"\r\n")


def test_bytes_that_are_no_text_pass_too() -> None:
    raw = b"a: \xff\n---\nkind: ConfigMap\n---\nkind: Job\nmetadata: {name: x}\n"
    read, found = stream.parse("-", raw, frozenset({"Job"}).__contains__)
    assert (found, list(read.documents)) == ((), [2])
    assert b"".join(stream.written(read, Augmented())) == raw


# What is placed


def test_an_annotated_workload_is_placed_and_the_rest_is_kept(place: Place) -> None:
    before = text(MAP, JOB, MAP)
    after = place.passed(before)
    assert kinds(after) == ["ConfigMap", "ComputeDomain", "PodGroup", "Job", "ConfigMap"]
    assert common(before, after)
    assert after.count("# Source: chart/templates/1.yaml\n") == 3
    assert place.passed(after) == after


def test_a_policy_places_what_says_nothing(place: Place) -> None:
    bare = {**JOB, "metadata": {"name": "train"}}
    rules = place.policy({"match": {"kind": "Job"}, "gang": {"placement": {"required": "rack"}}})
    after = place.passed(text(MAP, bare), *rules)
    assert kinds(after) == ["ConfigMap", "ComputeDomain", "PodGroup", "Job"]
    assert place.passed(after, *rules) == after


def test_a_policy_that_selects_nothing_is_not_the_one(place: Place) -> None:
    arguments = place.policy({"match": {"kind": "JobSet"}, "gang": {"placement": {"required": "rack"}}})
    assert "policy.yaml:" in (said := place.refused(text(MAP, JOB), *arguments))
    assert "error[A943]" in said
    assert place.passed(text(MAP, JOB), *arguments, "--accept", "A943").count("kind: PodGroup") == 1
    project = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Project"}
    spec = {"topology": "topology.yaml", "policy": "policy.yaml"}
    (place.folder / "bayplan.yaml").write_text("".join(emit([{**project, "spec": spec}])), encoding="utf-8")
    env = {"XDG_STATE_HOME": str(place.folder)}
    done = bayplan("post-render", "--strict", "-v", cwd=place.folder, env=env, stdin=text(MAP))
    assert (done.returncode, done.stdout) == (0, text(MAP))
    assert "info[A943]" in done.stderr
    done = bayplan("post-render", "--fail-on", "A950,A943", "-q", cwd=place.folder, env=env, stdin=text(MAP))
    assert (done.returncode, done.stdout) == (1, "")
    assert "info[A943]" in done.stderr


def test_helm_4_finds_the_template_of_what_is_new(place: Place) -> None:
    metadata = {**JOB["metadata"], "annotations": {**PLACED, helm.FILE: "chart/templates/job.yaml"}}
    before = "".join(emit([{**JOB, "metadata": metadata}]))
    after = place.passed(before)
    found = list(yaml.load_all(after, yaml.CSafeLoader))
    assert {each["metadata"]["annotations"][helm.FILE] for each in found} == {"chart/templates/job.yaml"}
    assert common(before, after)
    assert place.passed(after) == after


def test_items_of_a_list_are_placed_where_they_are(place: Place) -> None:
    other = {**JOB, "metadata": {"name": "other"}}
    before = "".join(emit([{"apiVersion": "v1", "kind": "List", "items": [other, JOB]}]))
    after = place.passed(before)
    assert kinds(after) == ["ComputeDomain", "PodGroup", "List"]
    *_, whole = yaml.load_all(after, yaml.CSafeLoader)
    assert whole["items"][0] == other
    assert "schedulerName" in whole["items"][1]["spec"]["template"]["spec"]
    assert place.passed(after) == after


LIVES = [
    ({"argocd.argoproj.io/sync-wave": "-1"}, {"argocd.argoproj.io/sync-wave": "-1"}),
    (
        {"argocd.argoproj.io/hook": "PreSync", "argocd.argoproj.io/hook-delete-policy": "HookSucceeded"},
        {"argocd.argoproj.io/hook": "PreSync", "argocd.argoproj.io/hook-delete-policy": "HookSucceeded"},
    ),
    (
        {"argocd.argoproj.io/sync-options": "Prune=false, Replace=true,Delete=confirm"},
        {"argocd.argoproj.io/sync-options": "Prune=false,Delete=confirm"},
    ),
    ({"argocd.argoproj.io/sync-options": "Replace=true"}, {}),
    ({"helm.sh/hook": "test"}, {"helm.sh/hook": "test", "helm.sh/hook-weight": "-1"}),
    (
        {"helm.sh/hook": "pre-install", "helm.sh/hook-weight": "5", "helm.sh/hook-delete-policy": "hook-succeeded"},
        {"helm.sh/hook": "pre-install", "helm.sh/hook-weight": "4", "helm.sh/hook-delete-policy": "hook-succeeded"},
    ),
    ({"helm.sh/resource-policy": "keep"}, {"helm.sh/resource-policy": "keep"}),
    ({"kustomize.toolkit.fluxcd.io/prune": "disabled"}, {"kustomize.toolkit.fluxcd.io/prune": "disabled"}),
    ({"example.com/other": "x"}, {}),
]


def lived(annotations: dict[str, str]) -> dict[str, Any]:
    return {**JOB, "metadata": {"name": "train", "annotations": {**PLACED, **annotations}}}


def annotations_of(objects: Iterable[Any]) -> dict[str, dict[str, str]]:
    return {each["kind"]: each["metadata"].get("annotations", {}) for each in objects if each["kind"] != "Job"}


@pytest.mark.parametrize(("annotations", "taken"), LIVES, ids=lambda each: ",".join(each) or "none")
def test_new_objects_live_as_long_as_their_workload(
    place: Place, annotations: dict[str, str], taken: dict[str, str]
) -> None:
    after = place.passed(text(lived(annotations)), "--include-hooks")
    assert annotations_of(yaml.load_all(after, yaml.CSafeLoader)) == {"ComputeDomain": taken, "PodGroup": taken}
    assert place.passed(after, "--include-hooks") == after
    config = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "PlaceWorkloads", "metadata": {"name": "run"}}
    function = {**config, "spec": {"topology": "topology.yaml", "includeHooks": True}}
    listed = {"kind": "ResourceList", "items": [lived(annotations)], "functionConfig": function}
    done = place.run(json.dumps({"apiVersion": "config.kubernetes.io/v1", **listed}), name="krm")
    items = yaml.load(done.stdout, yaml.CSafeLoader)["items"]
    assert annotations_of(items) == {"ComputeDomain": taken, "PodGroup": taken}


def test_an_annotation_that_the_workload_loses_goes_from_its_objects_too(place: Place) -> None:
    before = place.passed(text(lived({"argocd.argoproj.io/sync-wave": "3"})))
    after = place.passed(before.replace('    argocd.argoproj.io/sync-wave: "3"\n', "    example.com/mine: kept\n"))
    found = annotations_of(yaml.load_all(after, yaml.CSafeLoader))
    assert found == {kind: {"example.com/mine": "kept"} for kind in found}


def test_hooks_are_left_alone_until_asked_for(place: Place) -> None:
    own = {**JOB["metadata"]["annotations"], "helm.sh/hook": "pre-install", "helm.sh/hook-weight": "3"}
    hook = text({**JOB, "metadata": {"name": "train", "annotations": own}})
    assert "--include-hooks" in place.refused(hook)
    after = place.passed(hook, "--include-hooks")
    found = {each["kind"]: each["metadata"]["annotations"] for each in yaml.load_all(after, yaml.CSafeLoader)}
    assert {kind: each["helm.sh/hook"] for kind, each in found.items()} == dict.fromkeys(found, "pre-install")
    weights = {kind: each["helm.sh/hook-weight"] for kind, each in found.items()}
    assert weights == {"ComputeDomain": "2", "PodGroup": "2", "Job": "3"}
    assert place.passed(after, "--include-hooks") == after


def test_json_on_one_line_takes_no_longer(place: Place) -> None:
    jobs = [{**JOB, "metadata": {**JOB["metadata"], "name": f"train-{number}"}} for number in range(100)]
    filler = [{"kind": "ConfigMap", "data": {"x": "y" * 10_000}} for _ in range(100)]
    before = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*filler, *jobs]})
    read, _ = stream.parse("-", before.encode(), frozenset({"Job"}).__contains__)
    changes = [Change(one.route, {**one.data, "more": {"a": [1]}}) for one in stream.objects(read)]
    (after,) = stream.written(read, Augmented(tuple(changes)))
    assert [each.get("more") for each in json.loads(after)["items"]] == [{"a": [1]}] * 200


def test_json_is_placed_as_json(place: Place) -> None:
    before = json.dumps(JOB, indent=2)
    after = place.passed(before)
    *_, last = after.split("---\n")
    assert json.loads(last)["spec"]["template"]["spec"]["schedulerName"] == "kai-scheduler"


def test_new_documents_are_those_of_the_engine_before_their_workload() -> None:
    raw = b"%YAML 1.1\n---\nkind: Job\nname: a\n---\nkind: Job\nname: b\n"
    read, _ = stream.parse("-", raw, frozenset({"Job"}).__contains__)
    new = Added({"kind": "New"}, ("manifest:1",))
    change = Change(("manifest:0",), {"kind": "Job", "name": "c"})
    assert b"".join(stream.written(read, Augmented((change,), (new,)))) == (
        b"%YAML 1.1\n---\nkind: Job\nname: c\n---\nkind: New\n---\nkind: Job\nname: b\n"
    )


# What is cut and looked at


def test_pieces_are_the_stream() -> None:
    for raw in (b"", b"---\n", b"a\n---\nb", b"---\n---\n", b"--- # x\n---x\n--- {}\n", b"a: |\n  ---\n---\r\nb\r\n"):
        assert b"".join(stream.split(raw)) == raw
    assert len([*stream.split(b"a: |\n  ---\n---\nb\n---c\n")]) == 2
    assert len([*stream.split(b"%a\n---\n" * 100_000)]) == 1  # in no time


@pytest.mark.parametrize("end", ["...\n%YAML 1.1\n---\n", "... # that\n# c\n%TAG ! tag:x,2000:\n# d\n--- # x\n"])
def test_a_directive_parts_documents_too(place: Place, end: str) -> None:
    one, other = ("".join(emit([{**JOB, "metadata": {**JOB["metadata"], "name": name}}])) for name in ("one", "other"))
    after = place.passed(f"{one}{end}{other}")
    assert kinds(after) == 2 * ["ComputeDomain", "PodGroup", "Job"]
    assert common(f"{one}{end}{other}", after)
    assert place.passed(after) == after


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        ("kind: Job\nspec: {kind: Pod}\n", {"Job"}),
        ('"kind": Job\n', {"Job"}),
        ('{"a": 1, "kind": "Job"}', {"Job"}),
        ("kind: PodList\nitems:\n- kind: Pod\n", {"PodList", "Pod"}),
        ("kind: CustomResourceDefinition\nspec:\n  names:\n    kind: JobSet\n", {"CustomResourceDefinition"}),
        ("  kind: Job\n", {"Job"}),
        ("a: 1\n", set()),
    ],
)
def test_a_glance_tells_the_kinds(piece: str, expected: set[str]) -> None:
    assert stream.kinds(piece.encode()) == expected


# What is refused


def test_the_place_of_an_error_is_that_of_the_stream(place: Place) -> None:
    wrong = {**JOB, "metadata": {"name": "train", "annotations": {"bayplan.dev/placement": "required=rock"}}}
    before = text(MAP, wrong)
    said = place.refused(before)
    line = before.splitlines().index("    bayplan.dev/placement: required=rock") + 1
    assert said.startswith(f"<stdin>:{line}:28: error[")
    assert "rendered from chart/templates/1.yaml" in said


@pytest.mark.parametrize(
    ("stdin", "code", "line"),
    [
        pytest.param(text(MAP, f"# bayplan.dev\n{MAP}data: 1\n"), "R110", 14, id="duplicate keys"),
        pytest.param(text(MAP, "# bayplan.dev\na: [\n"), "R107", 11, id="broken"),
        pytest.param(text(JOB, MAP).replace("\n", "\r"), "R107", 1, id="carriage returns alone"),
        pytest.param(text(MAP, JOB) + "\u2028---\u2028kind: Job\n", "R107", 7, id="other line breaks"),
        pytest.param(text(MAP, MAP, "# bayplan.dev\n" + "- - - a\n" * 200_000), "R157", 166682, id="values"),
    ],
)
def test_a_marked_document_must_be_readable(place: Place, stdin: str, code: str, line: int) -> None:
    said = place.refused(stdin)
    assert re.match(rf"<stdin>:{line}:\d+: error\[{code}\]", said), said


def test_a_file_of_ours_in_a_chart_is_worth_a_word(place: Place) -> None:
    stdin = text(TOPOLOGY)
    done = place.run(stdin)
    assert (done.returncode, done.stdout) == (0, stdin)
    assert "<stdin>:4:7: warning[A967]: this ClusterTopology" in done.stderr
    assert "A967" in place.refused(stdin, "--strict")


def test_wrong_arguments(place: Place) -> None:
    assert "A920" in place.refused("", "manifests.yaml", code=2)
    assert "A920" in place.refused("", "--policy", "-", code=2)
    assert "R101" in place.refused(text(MAP), "-t", "none.yaml")
    assert "R101" in place.refused(text(JOB), "-t", "none.yaml")
    assert "R101" in place.refused(text(MAP), "--policy", "none.yaml")
    assert "A920" in place.refused(text(JOB), "--target", "x", code=2)
    rules = place.policy({"match": {"kind": "Job"}})
    assert "A912" in place.refused(text(MAP), *rules, *rules, code=2)
    policy = place.folder / "policy.yaml"
    policy.write_text(f"{policy.read_text()}---\n{policy.read_text()}", encoding="utf-8")
    assert "A912" in place.refused(text(MAP), *rules)


def test_closed_streams(place: Place) -> None:
    (place.folder / "in.yaml").write_text("# bayplan.dev\na: [\n", encoding="utf-8")
    for closed in ("2>&-", ">&-", "<&-"):
        program = f'"{sys.executable}" -m bayplan post-render -t topology.yaml < in.yaml {closed}'
        env = environment({"XDG_STATE_HOME": str(place.folder / "state")})
        done = subprocess.run(["sh", "-c", program], cwd=place.folder, env=env, capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (1, b"")


def test_another_encoding_of_the_whole_is_said(place: Place) -> None:
    program = [sys.executable, "-m", "bayplan", "post-render", "-t", "topology.yaml"]
    env = environment({"XDG_STATE_HOME": str(place.folder / "state")})
    raw = text(MAP).encode("utf-16")
    done = subprocess.run(program, cwd=place.folder, env=env, input=raw, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"error[R104]" in done.stderr


def test_nothing_in_is_nothing_out(place: Place) -> None:
    done = place.run("", "-")
    assert (done.returncode, done.stdout) == (0, "")
    assert "warning[A973]" in done.stderr


def test_fifty_megabytes_pass_or_are_refused_soon(place: Place) -> None:
    filler = f"kind: ConfigMap\ndata:\n  x: {'x' * 25_000_000}\n"
    assert place.passed(text(filler, filler)) == text(filler, filler)
    assert "R103" in place.refused(text(filler, JOB), "--limit", "bytes=25M")
    assert kinds(place.passed(text(JOB, filler)))[:3] == ["ComputeDomain", "PodGroup", "Job"]


# What is kept


def test_the_last_message_is_kept(place: Place) -> None:
    assert "warning[O820]" in place.run("", name="helm last-error").stderr
    said = place.refused("---\n# bayplan.dev\na: [\n")
    kept = place.run("", name="helm last-error").stdout
    head, _, rest = kept.partition("\n")
    assert timeless(head) == f"`bayplan post-render -t topology.yaml` in {place.folder} ended with exit code 1 at T:"
    assert rest == said
    place.passed(text(MAP))
    assert place.run("", name="helm last-error").stdout == kept, 'the release is "chart"'
    place.passed(MAP)
    silent = place.run("", name="helm last-error").stdout
    assert timeless(silent) == f"{timeless(head).replace('code 1', 'code 0')}\nno findings\n"
    place.run("", "--nonsense")
    assert "No such option" in place.run("", name="helm last-error").stdout


def timeless(report: str) -> str:
    return re.sub(r"at [\d-]{10} [\d:]{8}:", "at T:", report, count=1)


def test_a_silent_run_replaces_the_last_message_of_its_release(place: Place) -> None:
    def last(*release: str) -> str:
        return place.run("", *release, name="helm last-error").stdout

    wrong = "---\n# bayplan.dev\na: [\n"
    for release in ("one", "two"):
        place.refused(wrong, "--release", release)
    place.passed(text(MAP), "--release", "one", "--strict")
    assert 'release "one", ended with exit code 0 at ' in last("one")
    assert last("one").endswith(":\nno findings\n")
    assert "error[R107]" in last("two")
    assert last() == last("two"), "the last of all is that of another release"
    place.passed(text(MAP), "--release", "two")
    assert last() == last("two")
    assert last("two").endswith(":\nno findings\n")
    place.passed(text(MAP), "--release", "three")
    assert not (place.folder / "state" / "bayplan" / "last-error" / "three.txt").exists()


def test_a_message_that_cannot_be_kept_is_no_error(place: Place) -> None:
    (place.folder / "state").write_text("a file", encoding="utf-8")
    assert "R107" in place.refused("---\n# bayplan.dev\na: [\n")


# Real charts

CAPTURES = sorted((UPSTREAM / "examples" / "helm").glob("*/stdin.*.yaml"))
WORKLOADS = {"gb200": "JobSet", "b200": "JobSet", "h200": "JobSet", "kuberay": "RayCluster"}
PLACEABLE = [path for path in CAPTURES if path.parent.name.split("-")[0] in WORKLOADS]


def name(path: Path) -> str:
    return f"{path.parent.name}-{path.name.split('.')[1]}"


def eights(topology: dict[str, Any]) -> dict[str, Any]:
    """The same cluster with eight GPUs a node."""
    (pool,) = topology["spec"]["pools"]
    return {**topology, "spec": {**topology["spec"], "pools": [{**pool, "node": {**pool["node"], "count": 8}}]}}


@pytest.mark.skipif(not CAPTURES, reason="no captures upstream")
@pytest.mark.parametrize("asked", ["policy", "annotation"])
@pytest.mark.parametrize("path", PLACEABLE, ids=name)
def test_a_captured_stream_is_placed(path: Path, asked: str, place: Place) -> None:
    if not path.parent.name.startswith("gb200"):
        (place.folder / "topology.yaml").write_text("".join(emit([eights(TOPOLOGY)])), encoding="utf-8")
    before, arguments = path.read_bytes().decode(), ["-n", "ml"]
    kind = WORKLOADS[path.parent.name.split("-")[0]]
    if asked == "policy":
        arguments += place.policy({"match": {"kind": kind}, "gang": {"placement": {"required": "spine"}}})
    else:
        before = annotated(before, kind)
    after = place.passed(before, *arguments)
    assert common(before, after)
    assert others(before, kind) == [each for each in others(after, kind) if "kind: PodGroup" not in each]
    assert "kai-scheduler" in after
    assert place.passed(after, *arguments) == after
    if path.name == "stdin.helm4.yaml":
        assert all(helm.template_of(each) for each in yaml.load_all(after, yaml.CSafeLoader))
    assert complaints(after) <= complaints(before)


def complaints(output: str) -> set[str]:
    """What upstream's schemas and rules say against the objects of a stream."""
    versions = {**TOPOLOGY["spec"]["versions"], "kuberay": "1.5"}
    return set(judges.judge_all([each for each in yaml.load_all(output, yaml.CSafeLoader) if each], versions))


def annotated(before: str, kind: str) -> str:
    """The stream with an annotation on its workload."""
    ours = "\n    bayplan.dev/placement: required=spine"
    head, border, rest = before.partition(f"kind: {kind}\n")
    top, spec, rest = rest.partition("\nspec:")
    more = "\n  annotations:"
    top = top.replace(more, more + ours) if more in top else top.replace("\n  labels:", f"{more}{ours}\n  labels:")
    assert ours in top
    return head + border + top + spec + rest


def others(output: str, kind: str) -> list[str]:
    """The documents that are not of that kind, as text."""
    return [each for each in re.split(r"(?:\A|\n)---\n", output) if f"kind: {kind}\n" not in each and each]


@pytest.mark.skipif(not CAPTURES, reason="no captures upstream")
@pytest.mark.parametrize("path", CAPTURES, ids=name)
def test_a_captured_stream_without_a_word_of_ours_passes(path: Path, place: Place) -> None:
    raw = path.read_bytes().decode()
    assert place.passed(raw) == raw
    assert "A943" in place.refused(raw, *place.policy({"match": {"kind": "*", "name": "nobody"}}))


@pytest.mark.skipif(not CAPTURES, reason="no captures upstream")
@pytest.mark.parametrize("path", [each for each in CAPTURES if "llm-d" in each.parent.name], ids=name)
def test_deployments_are_gangs_only_if_rollouts_stop_their_pods_first(path: Path, place: Place) -> None:
    rules, raw = place.policy({"match": {"kind": "Deployment"}}), path.read_bytes().decode()
    assert place.passed(raw, *rules).count("kind: PodGroup\n") == 2  # of one pod each
    more = raw.replace("  replicas: 1\n", "  replicas: 2\n")
    assert place.refused(more, *rules).count("error[W512]") == 2
