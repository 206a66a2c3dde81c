"""Whole scripts: bash and the pods of their manifests start the same, or bayplan names what differs or refuses them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bayplan import formats
from bayplan.core.diagnostics import AT, Diagnostic, has_errors
from bayplan.model.formats import Context, Source
from bayplan.plugins.slurm.sbatch import steps
from bayplan.plugins.slurm.sbatch.body import BodyResult
from bayplan.plugins.slurm.sbatch.control import EFFECT, OMITTED, REFUSED, STEP, Control
from bayplan.plugins.slurm.sbatch.shell import statements
from tools import script_judge
from tools.effort import sample

SCRIPTS = sorted((Path(__file__).parent / "sbatch_scripts").glob("*.sbatch"))
HEAD = "#!/bin/bash\n#SBATCH --job-name=train\n#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8\n"
RUN = "srun torchrun train.py\n"
FATES = {STEP, EFFECT, OMITTED, REFUSED}

needs_sandbox = pytest.mark.skipif(not script_judge.available(), reason="bubblewrap (`apt install bubblewrap`)")


def told(text: str, **values: str) -> list[Diagnostic]:
    """The findings on a script that has an image."""
    source = Source("sbatch", {"image": "registry.example.com/train:1", **values})
    found = formats.documents("train.sbatch", text.encode(), "workflow", source)
    if found.value is None:
        return list(found.diagnostics)
    return [*found.diagnostics, *formats.workflow(found.value[0], "sbatch", Context(None)).diagnostics]


def errors(text: str, **values: str) -> list[tuple[str, int, str, str]]:
    """Code, line, message and hint of each error."""
    return [
        (each.code, each.route[each.route.index(AT) + 1], each.message, each.hint or "")
        for each in told(text, **values)
        if has_errors((each,))
    ]


@needs_sandbox
def test_bash_and_the_pods_of_a_script_start_the_same() -> None:
    verdicts = {path.name: script_judge.judge(path.name, path.read_text()) for path in sample(SCRIPTS, 7)}
    assert {name: verdict.differs for name, verdict in verdicts.items() if verdict.result != "same"} == {}
    assert all(verdict.bash for verdict in verdicts.values())


@needs_sandbox
@pytest.mark.parametrize(
    ("body", "differs"),
    [
        ("srun train --a\n", "words"),
        ("export A=2\nsrun train\n", "env"),
        ("cd /fsx\nsrun train\n", "folder"),
        ("srun train\nsrun train\n", "program train"),
        ("srun -N 1 -n 1 train\n", "program train"),
    ],
)
def test_the_judge_sees_what_differs(monkeypatch: pytest.MonkeyPatch, body: str, differs: str) -> None:
    read = script_judge.imported

    def other(path: str, text: str, values: dict[str, str]) -> Any:
        return read(path, f"{HEAD}export A=1\nsrun train\n", values)

    monkeypatch.setattr(script_judge, "imported", other)
    assert script_judge.judge("train.sbatch", f"{HEAD}export A=1\n{body}").differs == differs


@needs_sandbox
def test_every_statement_that_bash_runs_has_a_fate(monkeypatch: pytest.MonkeyPatch) -> None:
    results: list[BodyResult | None] = []
    run = steps.run_body

    def kept(*given: Any) -> BodyResult | None:
        results.append(run(*given))
        return results[-1]

    monkeypatch.setattr(steps, "run_body", kept)
    for path in sample(SCRIPTS, 6):
        text = path.read_text()
        told(text)
        result = results[-1]
        assert result is not None
        assert set(result.fates.values()) <= FATES
        fates = {spot.line for spot in result.fates}
        lines = script_judge.lines_run(text)
        assert lines
        for line in lines:
            assert max(start for start in starts(text) if start <= line) in fates, f"{path.name}:{line}"


def starts(text: str) -> set[int]:
    """The lines in which statements begin, also those in blocks and functions."""
    found, waiting = set(), [*statements(text)]
    while waiting:
        statement = waiting.pop()
        found.add(text.count("\n", 0, statement.start) + 1)
        waiting += statement.inner
    return found


def test_a_statement_without_a_fate_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Control, "becomes", lambda self, items, fate: fate)
    ((code, line, message, _),) = errors(f"{HEAD}ls | cat\n{RUN}")[:1]
    assert (code, line, message) == ("W611", 4, "bayplan does not know what `ls ` does")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('if [ -z "$DATA" ]; then\n  echo "set DATA"\n  exit 1\nfi\n', ("W609", 4, "use --set DATA=VALUE")),
        ('[ -z "$DATA" ] && exit 1\n', ("W609", 4, "use --set DATA=VALUE")),
        ("if [ $# -lt 1 ]; then exit 1; fi\n", ("W609", 4, "use --set 1=VALUE")),
        ('case "${MODE:-}" in\n  a) N=1 ;;\n  *) exit 2 ;;\nesac\n', ("W609", 4, "use --set MODE=VALUE")),
        ("A=\nif [ -z $A ]; then exit 3; fi\n", ("W614", 5, "correct the condition")),
    ],
)
def test_a_guard_names_what_it_wants(body: str, expected: tuple[str, int, str]) -> None:
    ((code, line, _, hint),) = errors(f"{HEAD}{body}{RUN}")
    assert (code, line, hint) == expected


@pytest.mark.parametrize(
    ("body", "code", "word"),
    [
        ("sbcast -f a /tmp/a\n" + RUN, "W611", "mount the file"),
        (RUN + "sbatch next.sbatch\n", "W611", "bayplan import next.sbatch"),
        (RUN + "if [ $? == 9 ]; then scontrol requeue $SLURM_JOB_ID; fi\n", "W609", "maxRestarts"),
        (RUN + "rc=$?\nif (( rc )); then srun again; fi\n", "W609", "second step"),
        ("trap 'scontrol requeue $SLURM_JOB_ID' USR1\n" + RUN, "W611", "write out"),
        ("srun bash -c 'scontrol show hostnames; python a'\n", "W611", "batch script"),
        ("X=$(srun python ask.py)\n" + RUN, "W609", "--set X=VALUE"),
        ('export MASTER_ADDR=$(hostname)\nsrun train "${MASTER_ADDR}i"\n', "W609", "fabric"),
        ("export A=$(hostname)-ib0\n" + RUN, "W609", "fabric"),
        ("export LIST=$SLURM_JOB_NODELIST\n" + RUN, "W609", "single nodes"),
        ("shopt -s nocasematch\n" + RUN, "W611", "write out"),
    ],
)
def test_what_pods_cannot_do_is_refused(body: str, code: str, word: str) -> None:
    found = errors(HEAD + body)
    assert [each[0] for each in found] == [code], found
    assert word in found[0][3]


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("srun mkdir -p /scratch/$(hostname)\n" + RUN, {"W616"}),
        ("srun numactl --membind=0 python train.py\n", set()),
        ("srun env A=1 python train.py\n", set()),
        (RUN + "if [ $? -ne 0 ]; then touch failed; fi\n", {"W613"}),
        ("sed -i s/a/b/ /fsx/conf\n" + RUN, {"W611", "W628"}),
    ],
)
def test_what_runs_otherwise_is_told(body: str, codes: set[str]) -> None:
    found = told(HEAD + body)
    assert not has_errors(found)
    assert codes <= {each.code for each in found}


def test_a_relative_folder_needs_the_one_that_it_begins_in() -> None:
    text = f"{HEAD}#SBATCH -D runs/1\n{RUN}"
    assert [(code, hint.partition(";")[0]) for code, _, _, hint in errors(text)] == [
        ("W609", "set a directory of the nodes with --set PWD=/DIR")
    ]
    assert errors(text, PWD="/fsx") == []


def test_the_pod_that_runs_the_script_needs_its_software() -> None:
    text = "#!/bin/bash\n#SBATCH -n 1\nmodule load cuda\npython a.py\npython b.py\n"
    (message,) = (each.message for each in told(text) if each.code == "W612")
    assert "the pod runs the whole script, so its image must have `module load cuda`" in message
    assert "leaves out" not in message


def test_the_pod_that_runs_the_script_has_no_programs_of_slurm() -> None:
    text = "#!/bin/bash\n#SBATCH -n 1\npython a.py $(squeue --me)\npython b.py\n"
    ((code, line, message, _),) = errors(text)
    assert (code, line) == ("W611", 3)
    assert message == "the pod runs the whole script, and squeue needs Slurm, which no pod has"


def test_tasks_of_one_node_meet_at_the_first_pod() -> None:
    text = "#!/bin/bash\n#SBATCH --nodes=1 --ntasks-per-node=8 --gpus-per-node=8\n"
    for address in ("localhost", "$SLURM_JOB_NODELIST"):
        source = Source("sbatch", {"image": "a:1"})
        script = f"{text}export MASTER_ADDR={address} MASTER_PORT=29500\nsrun python train.py\n"
        (document,) = formats.documents("a.sbatch", script.encode(), "workflow", source).value or ()
        flow = formats.workflow(document, "sbatch", Context(None)).value
        assert flow is not None
        assert flow.gangs[0].pod_sets[0].env == {}
