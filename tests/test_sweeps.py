"""Copies of a gang: what each of them gets, which objects make them, and how many may run."""

from __future__ import annotations

import csv
import io
import os
import random
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from bayplan import formats, pipeline
from bayplan.cli import files, inputs
from bayplan.manifests.order import expanded
from bayplan.model.formats import Context, Source
from bayplan.model.manifest import File
from bayplan.pipeline import Compiled, Request
from bayplan.text.document import Document
from bayplan.workflows import matrix, native
from tools import slurm_job
from tools.data import parse
from tools.effort import sample, seeds
from tools.golden import ACCEPTED
from tools.pod_runner import expand
from tools.run import EXAMPLES

TOPOLOGY = parse((EXAMPLES / "trials" / "topology.yaml").read_text())
VERSIONS = {"kubernetes": "1.37", "kai": "0.17", "kueue": "0.19", "koordinator": "1.8", "jobset": "0.12"}
SCHEDULERS = ("kai", "volcano", "kueue", "koordinator", "native", "slurm", "slurm-bridge", "sunk", "none")
TOGETHER = {"kai", "volcano", "native", "sunk", "none"}
"""Schedulers for which one Indexed Job makes all copies, with and without `atOnce`."""

CPU = {"cpu": "8", "memory": "32Gi"}


def compiled(gang: Mapping[str, Any], scheduler: str = "kai", **pods: Any) -> Compiled:
    """A workflow with one gang of one podSet, which must compile."""
    pod_set = {"name": "trial", "image": "trial:1", "accelerator": {"count": 1}, "resources": CPU, "command": ["run"]}
    queue = {"queue": "research"} if scheduler in ("kai", "volcano", "kueue", "koordinator") else {}
    spec = {**queue, "gangs": [{"name": "trial", **gang, "podSets": [{**pod_set, **pods}]}]}
    (flow,) = _documents({**_workflow([]), "spec": spec})
    (cluster,) = _documents({**TOPOLOGY, "spec": {**TOPOLOGY["spec"], "versions": VERSIONS}}, "topology")
    accept = frozenset(ACCEPTED.get(scheduler, ())[1:])
    outcome = pipeline.compile(Request(flow, cluster, scheduler=scheduler, namespace="ml", accept=accept))[0]
    assert outcome.value, [each for each in outcome.diagnostics if each.severity == "error"]
    return outcome.value


def _documents(data: Any, subject: str = "workflow") -> tuple[Document, ...]:
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
    return formats.documents(f"{subject}.yaml", text.encode(), subject, Source()).value or ()


def objects(made: Compiled) -> list[Any]:
    return [each for each in expanded(made.documents) if not isinstance(each, File)]


def only(made: Compiled, kind: str) -> Any:
    (one,) = (each for each in objects(made) if each["kind"] == kind)
    return one


# What every copy sees: a program in a pod of Kubernetes, and in a task of Slurm.

NASTY = ("'", '"', "$", "$$", "$(A)", "$(GANG_INDEX)", "`id`", "\\", "\n", " ", "é", "😀", ";", "#", "*", "!", "", "=")


class Seen(NamedTuple):
    """The words that a program gets, and those of its variables that the test sets."""

    words: list[str]
    env: dict[str, str]


class Sweep(NamedTuple):
    """A random matrix, and the words and variables of a podSet that refer to it."""

    rows: list[dict[str, str]]
    words: list[str]
    env: dict[str, str]

    def expected(self, index: int) -> Seen:
        """By Kubernetes' rules, of a pod whose variables are literals."""
        env = {**self.rows[index], "GANG_INDEX": str(index), "GANG_COUNT": str(len(self.rows))}
        for name, value in self.env.items():
            env[name] = expand(value, env)
        return Seen([expand(word, env) for word in self.words], env)


def sweep(seed: int) -> Sweep:
    """A string refers to columns, to variables that refer to columns, and to names that nobody sets."""
    pick = random.Random(seed)

    def text(names: Sequence[str]) -> str:
        parts = [*NASTY, "a", "1.5", "--x=", *(f"$({name})" for name in (*names, *names))]
        return "".join(pick.choices(parts, k=pick.randrange(5)))

    columns = ["A", "LR", "_n"][: 1 + seed % 3]
    rows = [{name: text(()) for name in columns} for _ in range(1 + pick.randrange(4))]
    rows = rows if len(rows) > 1 else rows * 2
    names = [*columns, "GANG_INDEX", "GANG_COUNT", "NOBODY"]
    env = {"P": text(names), "Q": text(["P", *names]), "R": text(())}
    return Sweep(rows, [text(["P", "Q", *names]) for _ in range(4)], env)


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_pod_sees_its_row(seed: int, shell: str, tmp_path: Path) -> None:
    wanted = sweep(seed)
    gang = {"matrix": {"rows": wanted.rows}}
    for workload in ("job", "jobset"):
        made = compiled({**gang, "workload": workload}, args=wanted.words, env=wanted.env)
        for index in range(len(wanted.rows)):
            assert _in_pod(made, index, shell, tmp_path, wanted) == wanted.expected(index), (workload, index)


def _in_pod(made: Compiled, index: int, shell: str, folder: Path, wanted: Sweep) -> Seen:
    """What a container's process sees, with the kubelet's expansion and a real shell."""
    jobs = [each for each in objects(made) if each["kind"] in ("Job", "JobSet")]
    job = jobs[0] if len(jobs) == 1 else jobs[index]
    inner = job["spec"]["replicatedJobs"][0]["template"] if job["kind"] == "JobSet" else job
    assert job["kind"] == "JobSet" or job["spec"]["completions"] == len(wanted.rows)
    (container,) = inner["spec"]["template"]["spec"]["containers"]
    env = {"JOB_COMPLETION_INDEX": str(index)}
    for entry in container["env"]:
        env[entry["name"]] = str(index) if "valueFrom" in entry else expand(entry["value"], env)
    words = [expand(word, env) for word in (*container["command"], *container.get("args", ()))]
    volumes = inner["spec"]["template"]["spec"].get("volumes", ())
    tables = (each for each in volumes if "emptyDir" not in each)
    for source in (one for each in tables for one in each.get("projected", {"sources": [each]})["sources"]):
        table = next(each for each in objects(made) if each["metadata"]["name"] == source["configMap"]["name"])
        for name, text in table["data"].items():
            (folder / name).write_text(text, encoding="utf-8")
        words = [word.replace("/etc/matrix", str(folder)) for word in words]
    return _started(
        [shell if word == "sh" and not place else word for place, word in enumerate(words)], env, folder, wanted
    )


def _started(words: Sequence[str], env: Mapping[str, str], folder: Path, wanted: Sweep) -> Seen:
    (folder / "run").write_text(slurm_job.COMMAND)
    (folder / "run").chmod(0o755)
    for old in folder.glob("task.*"):
        old.unlink()
    path = f"{folder}:{os.environ['PATH']}"
    subprocess.run(list(words), env={**env, "PATH": path, "STUB": str(folder)}, check=True)
    (seen,) = folder.glob("task.*")
    return _seen(slurm_job._task(seen.read_text(encoding="utf-8")), wanted)


def _seen(task: slurm_job.Task, wanted: Sweep) -> Seen:
    names = {*wanted.rows[0], *wanted.env, "GANG_INDEX", "GANG_COUNT"}
    return Seen(task.words, {name: value for name, value in task.env.items() if name in names})


@pytest.mark.parametrize("most", [90, 120, 1000])
def test_a_large_matrix_is_in_several_config_maps(most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One Job still makes all copies: 10,000 rows of 400 bytes do not make 20,000 objects."""
    monkeypatch.setattr("bayplan.manifests.matrix.CONFIG_MAP_LIMIT", most)
    wanted = Sweep([{"A": f"é{number}" * 3, "LR": str(number)} for number in range(12)], ["$(A)", "$(LR)"], {})
    made = compiled({"matrix": {"rows": wanted.rows}}, args=wanted.words)
    tables = [each for each in objects(made) if each["kind"] == "ConfigMap"]
    assert all(len(text.encode()) <= most for each in tables for text in each["data"].values())
    assert len({name for each in tables for name in each["data"]}) == len(tables)
    assert (len(tables) > 1) == (most < 1000)
    for index in range(12):
        assert _in_pod(made, index, "sh", tmp_path, wanted) == wanted.expected(index)


def test_the_longest_value_is_the_one_with_which_linux_starts_a_program() -> None:
    def starts(length: int) -> bool:
        try:
            return subprocess.run(["true"], env={"LR": "x" * length}, check=False).returncode == 0
        except OSError:
            return False

    def codes(length: int) -> list[str]:
        gang = {"name": "t", "matrix": {"LR": ["x" * length, "1"]}, "podSets": [_pods("run")]}
        return [each.code for each in native.read(_workflow([gang])).diagnostics]

    longest = matrix.LONGEST - len("LR=") - 1
    assert (starts(longest), codes(longest)) == (True, [])
    assert (starts(longest + 1), codes(longest + 1)) == (False, ["W359"])


@pytest.mark.parametrize("seed", range(12))
def test_a_task_of_slurm_sees_its_row(seed: int) -> None:
    wanted = sweep(seed)
    (file,) = compiled({"matrix": {"rows": wanted.rows}}, "slurm", args=wanted.words, env=wanted.env).documents
    assert isinstance(file, File)
    slurm_job.check(file.text)
    assert f"#SBATCH --array=0-{len(wanted.rows) - 1}\n" in file.text
    for index in range(len(wanted.rows)):
        ran = slurm_job.run(file.text, {"run"}, SLURM_ARRAY_TASK_ID=str(index))
        assert (ran.status, [_seen(each, wanted) for each in ran.tasks]) == (0, [wanted.expected(index)]), ran.stderr


def test_the_variables_of_users_win() -> None:
    made = compiled({"replicas": 2}, env={"GANG_INDEX": "9"})
    (container,) = only(made, "Job")["spec"]["template"]["spec"]["containers"]
    assert [each for each in container["env"] if each["name"] == "GANG_INDEX"] == [{"name": "GANG_INDEX", "value": "9"}]


@pytest.mark.parametrize("gang", [{"replicas": 2}, {"matrix": {"LR": ["$(A)", "2"]}}], ids=["index", "matrix"])
def test_other_containers_have_the_variables_too(gang: dict[str, Any]) -> None:
    made = compiled(gang, initContainers=[{"name": "first", "image": "a:1", "command": ["sh", "-c", "fetch $(LR)"]}])
    job = next(each for each in objects(made) if each["kind"] in ("Job", "JobSet"))
    inner = job["spec"]["replicatedJobs"][0]["template"] if job["kind"] == "JobSet" else job
    (first,) = inner["spec"]["template"]["spec"]["initContainers"]
    entries = {each["name"]: each.get("value", "a field") for each in first["env"]}
    table = {"GANG_INDEX": "0", "LR": "$$(A)"} if "matrix" in gang else {"GANG_INDEX": "a field"}
    assert entries == {"GANG_COUNT": "2", **table}


# Which objects make the copies.


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("limit", [{}, {"atOnce": 8}])
def test_one_object_makes_all_copies_where_the_scheduler_allows_it(scheduler: str, limit: dict[str, int]) -> None:
    made = compiled({"replicas": 16, **limit}, scheduler)
    jobs = [each for each in objects(made) if each["kind"] in ("Job", "JobSet")]
    if scheduler in TOGETHER or (scheduler == "kueue" and limit):
        (job,) = jobs
        spec = job["spec"]
        assert (spec["completions"], spec["parallelism"]) == (16, limit.get("atOnce", 16))
        assert (spec["completionMode"], spec["backoffLimitPerIndex"]) == ("Indexed", 0)
        assert not {"backoffLimit", "maxFailedIndexes", "activeDeadlineSeconds"} & set(spec)
    elif scheduler != "slurm":
        assert len(jobs) == (8 if limit else 16)


def test_sixteen_trials_take_less_than_a_hundred_lines() -> None:
    from bayplan.text.emit import emit

    for scheduler in TOGETHER:
        text = "".join(emit(compiled({"replicas": 16}, scheduler).documents))
        assert text.count("\n") < 110, scheduler


APART: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "two pods": ({}, {"replicas": 2}),
    "a kind of their own": ({"workload": "jobset"}, {}),
    "restarts of containers": ({}, {"restartPolicy": "OnFailure"}),
    "a code that restarts the gang": ({}, {"restartGangOnExitCodes": [3]}),
    "names of pods": ({"hosts": {"@me@": "trial"}}, {}),
}


@pytest.mark.parametrize("why", APART)
def test_each_copy_has_its_own_objects_with(why: str) -> None:
    gang, pods = APART[why]
    made = compiled({"replicas": 3, **gang}, **pods)
    assert len([each for each in objects(made) if each["kind"] == "JobSet"]) == 3


@pytest.mark.parametrize(
    "pods",
    [{"command": []}, {"template": {"spec": {"containers": [{"command": ["x"]}]}}}],
    ids=["no command", "a template"],
)
def test_a_matrix_without_a_command_to_start_is_literals(pods: dict[str, Any]) -> None:
    made = compiled({"matrix": {"LR": ["1", "2"]}}, **pods)
    assert len([each for each in objects(made) if each["kind"] == "JobSet"]) == 2


def test_a_failed_trial_restarts_by_itself() -> None:
    made = compiled({"replicas": 3, "maxRestarts": 2, "activeDeadlineSeconds": 60}, retryOnExitCodes=[7])
    spec = only(made, "Job")["spec"]
    assert spec["backoffLimitPerIndex"] == 2
    assert spec["template"]["spec"]["activeDeadlineSeconds"] == 60
    assert [rule["action"] for rule in spec["podFailurePolicy"]["rules"]] == ["Ignore"]


def test_levels_of_a_copy_do_not_bind_others() -> None:
    made = compiled({"replicas": 3, "placement": {"required": "leaf"}})
    assert "topologyConstraint" not in only(made, "PodGroup")["spec"]


@pytest.mark.parametrize("scheduler", sample(SCHEDULERS, 1))
@pytest.mark.parametrize("limit", [{}, {"atOnce": 64}])
def test_600_trials_on_64_gpus_are_no_error(scheduler: str, limit: dict[str, int]) -> None:
    compiled({"replicas": 600, **limit}, scheduler)


# Gangs that wait for a sweep, and sweeps that wait for a gang.


def line(gang: Mapping[str, Any], scheduler: str = "kai", **pods: Any) -> Compiled:
    """Prepare, then a sweep, then choose: three gangs, which must compile."""
    ends = {"image": "a:1", "command": ["run"], "resources": CPU}
    trial = {"name": "trial", "image": "a:1", "accelerator": {"count": 1}, "resources": CPU, "command": ["run"], **pods}
    gangs = [
        {"name": "first", "podSets": [{"name": "all", **ends}]},
        {"name": "trial", "dependsOn": ["first"], **gang, "podSets": [trial]},
        {"name": "last", "dependsOn": ["first", "trial"], "podSets": [{"name": "all", **ends}]},
    ]
    queue = {"queue": "research"} if scheduler in ("kai", "volcano", "kueue") else {}
    (flow,) = _documents({**_workflow([]), "spec": {**queue, "gangs": gangs}})
    (cluster,) = _documents({**TOPOLOGY, "spec": {**TOPOLOGY["spec"], "versions": VERSIONS}}, "topology")
    accept = frozenset(("F615", *ACCEPTED.get(scheduler, ())[1:]))
    outcome = pipeline.compile(Request(flow, cluster, scheduler=scheduler, namespace="ml", accept=accept))[0]
    assert outcome.value, [each for each in outcome.diagnostics if each.severity == "error"]
    return outcome.value


def waits(made: Compiled) -> dict[str, list[str]]:
    """What each replicatedJob of the one JobSet waits for."""
    jobs = only(made, "JobSet")["spec"]["replicatedJobs"]
    assert all(one["status"] == "Complete" for each in jobs for one in each.get("dependsOn", ()))
    return {each["name"]: [one["name"] for one in each.get("dependsOn", ())] for each in jobs}


@pytest.mark.parametrize("scheduler", sorted(TOGETHER | {"kueue"}))
@pytest.mark.parametrize("matrix", [False, True])
def test_one_job_of_a_jobset_is_the_sweep_between_two_gangs(scheduler: str, matrix: bool) -> None:
    """JobSet 0.12 starts its Jobs in this order (`depends_on.go`), each when that before is complete."""
    copies = {"matrix": {"LR": [*range(30)], "SEED": [*range(20)]}} if matrix else {"replicas": 600}
    made = line({**copies, "atOnce": 8, "maxRestarts": 2}, scheduler)
    assert waits(made) == {"first-all": [], "trial-trial": ["first-all"], "last-all": ["trial-trial"]}
    job = only(made, "JobSet")["spec"]["replicatedJobs"][1]["template"]["spec"]
    assert (job["completions"], job["parallelism"], job["backoffLimitPerIndex"]) == (600, 8, 2)
    assert "failurePolicy" not in only(made, "JobSet")["spec"]
    if matrix:
        assert only(made, "ConfigMap")["metadata"]["name"] == "s-trial.matrix"


def test_a_sweep_that_fails_does_not_run_again_with_its_jobset() -> None:
    gangs = [
        {"name": "trial", "replicas": 9, "podSets": [_pods("run")]},
        {"name": "a", "dependsOn": ["trial"], "maxRestarts": 3, "podSets": [_pods("run")]},
        {"name": "b", "dependsOn": ["a"], "maxRestarts": 3, "podSets": [_pods("run")]},
    ]
    data = _workflow(gangs)
    (document,) = _documents({**data, "spec": {**data["spec"], "queue": "research"}})
    (cluster,) = _documents(TOPOLOGY, "topology")
    made = pipeline.compile(Request(document, cluster, scheduler="kai", namespace="ml"))[0].value
    assert made
    policy = only(made, "JobSet")["spec"]["failurePolicy"]
    rule = {"name": "copies", "action": "FailJobSet", "targetReplicatedJobs": ["trial-trial"]}
    assert policy == {"maxRestarts": 3, "rules": [rule]}


def test_the_last_copies_stand_for_all_of_them() -> None:
    """A gang waits for those that no other copy waits for: these start after all others are complete."""
    before = waits(line({"replicas": 7, "atOnce": 3}, replicas=2))
    assert before["last-all"] == ["trial-4-trial", "trial-5-trial", "trial-6-trial"]
    assert [before[f"trial-{n}-trial"] for n in (0, 2, 3)] == [["first-all"], ["first-all"], ["trial-0-trial"]]

    def ended(name: str) -> set[str]:
        return {name}.union(*map(ended, before[name]))

    assert ended("last-all") == {*before}


# Slurm


def test_gangs_of_several_pods_are_an_array_and_others_wait_for_it() -> None:
    trial = {"name": "trial", "replicas": 3, "atOnce": 2, "podSets": [_pods("run", replicas=2)]}
    last = {"name": "last", "dependsOn": ["trial"], "podSets": [_pods("sum")]}
    (flow,) = _documents(_workflow([trial, last]))
    (cluster,) = _documents(TOPOLOGY, "topology")
    made = pipeline.compile(Request(flow, cluster, scheduler="slurm"))[0].value
    assert made
    (file,) = made.documents
    assert isinstance(file, File)
    ran = slurm_job.run(file.text, set())
    assert [words for words, _ in ran.jobs] == [
        "--parsable",
        "--parsable --dependency=afterok:1 --kill-on-invalid-dep=yes",
    ]
    first, second = (slurm_job.sections(text)[0] for _, text in ran.jobs)
    assert (first["array"], first["job-name"], second.get("array")) == ("0-2%2", "s-trial", None)


def _pods(command: str, **more: Any) -> dict[str, Any]:
    return {"name": "trial", "image": "trial:1", "accelerator": {"count": 8}, "command": [command], **more}


def _workflow(gangs: list[Any]) -> dict[str, Any]:
    return {
        "apiVersion": native.API_VERSION,
        "kind": "Workflow",
        "metadata": {"name": "s", "namespace": "ml"},
        "spec": {"gangs": gangs},
    }


def test_an_imported_array_makes_the_words_of_its_script() -> None:
    """bash is the judge: the script with each index, and the gang that bayplan made of it."""
    body = (
        "#!/bin/bash\n#SBATCH --array=2,4-5\n#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=1\nL=(z y 'x x' w 'v$v' u)\n"
        'srun --container-image=a#b:1 sh -c \'run "$0" "$1"\' '
        '"${L[SLURM_ARRAY_TASK_ID]}" $((SLURM_ARRAY_TASK_ID * 2))-$SLURM_ARRAY_TASK_ID\n'
    )
    read = formats.documents("a.sbatch", body.encode(), "workflow", Source()).value or ()
    made = formats.workflow(read[0], "", Context()).value
    assert made
    (gang,) = made.gangs
    (pods,) = gang.pod_sets
    for row, index in zip(gang.rows, (2, 4, 5), strict=True):
        (task,) = slurm_job.run(body, {"run"}, SLURM_ARRAY_TASK_ID=str(index)).tasks
        assert [expand(word, row) for word in pods.command[3:]] == task.words


# CSV files


@pytest.mark.parametrize("seed", seeds(200))
def test_csv_is_read_as_pythons_reader_does(seed: int) -> None:
    pick = random.Random(seed)
    rows = [["".join(pick.choices('ab,"\n é', k=pick.randrange(4))) for _ in range(2)] for _ in range(3)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL if seed % 2 else csv.QUOTE_MINIMAL).writerows(rows)
    found = [[cell.text for cell in row] for row in matrix.cells(text.getvalue())]
    assert found == [*csv.reader(io.StringIO(text.getvalue(), newline=""), strict=True)] == rows
    lines = text.getvalue().split("\n")
    for row in matrix.cells(text.getvalue()):
        for cell in row:
            assert not cell.text or lines[cell.line - 1][cell.column - 1] in {cell.text[0], '"'}


def test_a_table_is_beside_its_workflow_and_in_the_sandbox(tmp_path: Path) -> None:
    for folder in ("in", "out"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "trials.csv").write_text("LR\n1\n2\n")
    (tmp_path / "in" / "link.csv").symlink_to(tmp_path / "out" / "trials.csv")
    codes = {}
    for name in ("trials.csv", "../out/trials.csv", "link.csv", "none.csv"):
        path = tmp_path / "in" / "workflow.yaml"
        path.write_text(yaml.safe_dump(_workflow([{"name": "t", "matrix": {"file": name}, "podSets": [_pods("run")]}])))
        with files.confined(files.Sandbox(str(tmp_path / "in"))):
            read, batch = inputs.workflow(str(path), Source())
        codes[name] = [each.code for each in batch.diagnostics]
        assert bool(read) == (not codes[name])
    assert codes == {"trials.csv": [], "../out/trials.csv": ["R134"], "link.csv": ["R134"], "none.csv": ["R134"]}


def test_a_written_workflow_reads_as_the_same() -> None:
    gang = {"name": "t", "matrix": {"LR": ["1", "2"], "A": ["x"]}, "atOnce": 1, "podSets": [_pods("run")]}
    one = native.read(_workflow([gang])).value
    assert one
    assert one.value.gangs[0].rows == ({"LR": "1", "A": "x"}, {"LR": "2", "A": "x"})
    again = native.read(native.write(one.value)).value
    assert again
    assert again.value == one.value


def lists() -> Iterator[tuple[dict[str, Any], list[dict[str, str]]]]:
    """Lists and their product: the last variable changes fastest, in the order of the file."""
    yield {"B": [1, 2], "A": ["x", True]}, [{"B": b, "A": a} for b in "12" for a in ("x", "true")]
    yield {"LR": [0.1, 1e-05, 10]}, [{"LR": "0.1"}, {"LR": "0.00001"}, {"LR": "10"}]


@pytest.mark.parametrize(("written", "rows"), [*lists()])
def test_lists_make_their_product(written: dict[str, Any], rows: list[dict[str, str]]) -> None:
    made = native.read(_workflow([{"name": "t", "matrix": written, "podSets": [_pods("run")]}])).value
    assert made
    assert [*map(list, made.value.gangs[0].rows)] == [[*row] for row in rows]
    assert list(made.value.gangs[0].rows) == rows


def test_a_file_of_rows_needs_a_caller_that_reads_it() -> None:
    """The command line reads the file; who calls the library gives its text."""
    gang = {"name": "t", "matrix": {"file": "trials.csv"}, "podSets": [_pods("run")]}
    (found,) = native.read(_workflow([gang])).diagnostics
    assert (found.code, found.route[-1], found.hint) == ("R134", "file", "write the values as `rows`")
