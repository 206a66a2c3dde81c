"""Scripts for Slurm as workflows: what comes back of bayplan's own, every option, and texts that nobody would write."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

import support
from bayplan import formats as reading
from bayplan import pipeline
from bayplan.core.diagnostics import AT, has_errors
from bayplan.model.formats import Context, Source
from bayplan.model.workflow import Gang, Volume
from bayplan.plugins.slurm.sbatch import options
from bayplan.plugins.slurm.sbatch import pods as images
from bayplan.plugins.slurm.sbatch import shape as amounts
from bayplan.plugins.slurm.sbatch.arithmetic import CalculationError, Calculator
from bayplan.plugins.slurm.sbatch.shell import UnreadableError, statements
from bayplan.text.document import Document
from bayplan.workflows import native
from tools.effort import seeds
from tools.golden import Case
from tools.run import EXAMPLES, ROOT

HEAD = "#!/bin/bash\n#SBATCH --job-name=train\n#SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=4\n"
IMAGE = "--container-image=registry.example.com/train:1"
RUN = f"srun {IMAGE} torchrun train.py\n"


def read(text: str, topology: Any = None, **variables: str) -> reading.Read[Any]:
    """The workflow of a script, and what is said about it."""
    source = Source("sbatch", variables)
    found = reading.documents("train.sbatch", text.encode(), "workflow", source)
    if found.value is None:
        return reading.Read(None, found.diagnostics)
    made = reading.workflow(found.value[0], "sbatch", Context(topology))
    return made._replace(diagnostics=(*found.diagnostics, *made.diagnostics))


def sound(text: str, topology: Any = None, **variables: str) -> Any:
    """The workflow of a script without errors."""
    made = read(text, topology, **variables)
    assert made.value is not None, made.diagnostics
    return made.value


def pods(text: str, **variables: str) -> Any:
    """The only podSet of the only gang."""
    (gang,) = sound(text, **variables).gangs
    (found,) = gang.pod_sets
    return found


@pytest.mark.parametrize("example", ["sbatch-torchrun", "sbatch-server"])
def test_an_example_is_what_import_prints(example: str) -> None:
    folder = EXAMPLES / example
    (script,) = folder.glob("*.sbatch")
    known = reading.topology(_document(folder / "topology.yaml")).value
    mine = sound(script.read_text(encoding="utf-8"), known)
    assert mine == reading.workflow(_document(folder / "workflow.yaml")).value


def _document(path: Path) -> Document:
    found = reading.documents(path.name, path.read_bytes(), "workflow", Source()).value
    assert found
    return found[0]


OWN = ("amd", "pretrain", "osmo-one-rack", "sbatch-torchrun")
"""Examples of one job whose script says all that there is to say."""


@pytest.mark.parametrize("example", OWN)
def test_a_script_of_ours_is_rendered_again_as_it_was(example: str) -> None:
    golden = Case("slurm", "25.11", example).path.read_text(encoding="utf-8")
    found = re.search(r"^#!/bin/bash\n(?:(?!# topology\.yaml:).*\n)*?(?=\n# topology\.yaml:)", golden, re.M)
    assert found
    known = _document(EXAMPLES / example / "topology.yaml")
    text = found[0]
    document = Document("again", text, 0, native.write(sound(text, reading.topology(known).value)))
    request = pipeline.Request(document, known, "slurm", target={"slurm": "25.11"})
    outcome, _ = pipeline.compile(request)
    assert outcome.value is not None, outcome.diagnostics
    (file,) = outcome.value.documents
    assert getattr(file, "text") == text  # noqa: B009


@pytest.mark.parametrize("name", sorted(options.ALIASES))
def test_an_alias_is_the_option_that_slurm_reads_it_as(name: str) -> None:
    known = options.STEPS[options.ALIASES[name]]
    assert name not in options.STEPS
    assert known.name == options.ALIASES[name]


def test_options_of_slurm_26_05() -> None:
    """Read in its slurm_opt.c, not replayed."""
    head = HEAD + "#SBATCH --mem-update=8G --container-type=crun --tasks-per-node=1\n"
    assert [each.code for each in read(head + RUN).diagnostics if "--mem-update" in each.message] == ["W604"]
    assert any("--async" in each.message for each in read(HEAD + "srun --async train\n").diagnostics)


def test_every_option_has_its_place_on_the_page() -> None:
    page = (ROOT / "docs" / "reference" / "sbatch.md").read_text(encoding="utf-8")
    assert [name for name in {**options.DIRECTIVES, **options.STEPS} if f"`--{name}`" not in page] == []


@pytest.mark.parametrize("name", sorted(options.DIRECTIVES))
def test_no_directive_is_dropped_in_silence(name: str) -> None:
    option = options.DIRECTIVES[name]
    line = f"#SBATCH --{name}{'=7' if option.takes == 'value' else ''}\n"
    made = read(HEAD + line + RUN)
    plain = read(HEAD + RUN)
    if option.does != options.READ:
        assert any(f"--{name}" in each.message for each in made.diagnostics)
    elif made.value == plain.value and name not in SILENT:
        assert made.diagnostics != plain.diagnostics, name


SILENT = {
    "array",
    "no-requeue",
    "consolidate-segments",
    "spread-segments",
    "container-image",
    "export",
    "gpus-per-task",
}
"""They say what holds anyway, or are about something else that is not there."""


@pytest.mark.parametrize("name", sorted(options.STEPS))
def test_no_option_of_a_step_is_dropped_in_silence(name: str) -> None:
    option = options.STEPS[name]
    made = read(HEAD + RUN.replace("srun", f"srun --{name}{'=7' if option.takes == 'value' else ''}"))
    plain = read(HEAD + RUN)
    if option.does != options.READ:
        assert any(f"--{name}" in each.message for each in made.diagnostics)
    elif made.value == plain.value and name not in SILENT | OF_THE_JOB:
        assert made.diagnostics != plain.diagnostics, name


OF_THE_JOB = {"partition", "tmp", "exclusive", "job-name", "overlap"}
"""srun ignores the first two inside of a job. The others are about several steps."""


@pytest.mark.parametrize(
    ("body", "argument"),
    [
        ("A=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)\n", "$(MASTER_ADDR)"),
        ("A=$(scontrol show hostname $SLURM_NODELIST | head -1)\n", "$(MASTER_ADDR)"),
        ("A=`scontrol show hostnames | sed -n 1p`\n", "$(MASTER_ADDR)"),
        ("A=$(hostname -i)\n", "$(MASTER_ADDR)"),
        ("A=$(hostname -I | awk '{print $1}')\n", "$(MASTER_ADDR)"),
        ("n=($(scontrol show hostnames))\nA=${n[0]}\n", "$(MASTER_ADDR)"),
        (
            "n=$(scontrol show hostnames)\na=($n)\nA=$(srun -N1 -n1 -w ${a[0]} hostname --ip-address)\n",
            "$(MASTER_ADDR)",
        ),
        ("mapfile -t n < <(scontrol show hostnames)\nA=${#n[@]}\n", "4"),
        ("read -r -a n <<< 'x y'\nA=${n[1]}\n", "y"),
        ("B=x\nC=(${B[@]})\nA=${C[0]}\n", "x"),
        ("A=$((SLURM_NNODES * 4 - 1))\n", "15"),
        ("B=1\nA=${B:-2}${C:-3}\n", "13"),
        ("A=$(echo hi)\n", "hi"),
        ("read -r -d '' A <<'END' || true\na b\nEND\n", "a b"),
        ("A=$SLURM_JOB_NAME-$SLURM_GPUS_ON_NODE\n", "train-4"),
        ('A=x.y.z\nA="${A%.*}"\n', "x.y"),
        ("A='$(date) $$'\n", "$$(date) $$$$"),
    ],
)
def test_values_are_followed(body: str, argument: str) -> None:
    assert pods(HEAD + body + RUN.replace("train.py", 'train.py "$A"')).command[2:] == (argument,)


def test_a_task_finds_its_rank() -> None:
    found = pods(HEAD + f"srun {IMAGE} bash -c 'run --rank=$SLURM_PROCID'\n")
    assert found.command[2].splitlines() == ["export SLURM_PROCID=$NODE_RANK", "run --rank=$SLURM_PROCID"]


def test_each_variable_of_slurm_has_its_value_in_a_pod() -> None:
    values = {
        **dict.fromkeys(("SLURM_PROCID", "SLURM_NODEID"), "$NODE_RANK"),
        **dict.fromkeys(("SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"), "$NNODES"),
        **dict.fromkeys(("SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_NODES"), "$NNODES"),
        "SLURM_LOCALID": "0",
        "SLURM_NTASKS_PER_NODE": "1",
        "SLURM_TASKS_PER_NODE": "1",
    }
    for name, value in values.items():
        found = pods(f"{HEAD}srun {IMAGE} bash -c 'run ${name}'\n")
        assert found.command[2].splitlines() == [f"export {name}={value}", f"run ${name}"]


@pytest.mark.parametrize(
    ("commands", "codes"),
    [
        ("true false : wait set test [", []),
        (
            "echo printf date shopt pwd printenv whoami id uname uptime lscpu free df du ls cat nvidia-smi",
            ["W613"],
        ),
        ("nvcc which type sleep squeue sinfo sacct sstat sattach scancel trap clear nproc ibstat", ["W613"]),
        ("ibv_devinfo lsof ps top grep rocm-smi ulimit stat wc tail head sort times logger unalias", ["W613"]),
        ("hash alias kill jobs disown", ["W613"]),
        ("module ml source . conda mamba micromamba spack lmod activate enroot", ["W612"]),
        ("prun horovodrun pdsh clush ssh parallel", ["W611"]),
        ("scontrol sbatch sbcast salloc hostname", ["W611"]),
        ("mpirun mpiexec mpiexec.hydra orterun", ["W310", "W628"]),
    ],
)
def test_commands_beside_steps(commands: str, codes: list[str]) -> None:
    assert {name: told(f"{HEAD}{name} a\n{RUN}") for name in commands.split()} == dict.fromkeys(commands.split(), codes)


MPI = "#!/bin/bash\n#SBATCH --nodes=2 "


@pytest.mark.parametrize(
    ("text", "replicas", "gpus", "resources", "slots"),
    [
        ("--ntasks-per-node=8 --gpus-per-node=8\nmpirun train", 2, 8, {}, None),
        ("--ntasks-per-node=2 --gpus-per-node=4\nmpirun -np 3 train", 2, 4, {}, "2"),
        ("--gpus-per-node=8\nmpirun -N 4 train", 2, 8, {}, "4"),
        ("--gpus-per-node=8\nmpirun -np 15 train", 2, 8, {}, None),
        ("--gpus-per-node=8\nmpirun -np 4 train : -np 8 serve", 2, 8, {}, "6"),
        ("--ntasks=8 -c 4 --mem-per-cpu=1G --tmp=8G\nmpirun train", 2, 0, {"cpu": "16", "memory": "16Gi"}, "4"),
        ("--ntasks-per-node=2 --gpus-per-task=4\nsrun --mpi=pmix train", 2, 8, {}, "2"),
        ("--ntasks-per-node=1\nscontrol show hostnames|sed s/$/:3/>f\nmpirun -f f train", 2, 0, {}, "3"),
    ],
)
def test_pods_of_mpirun_are_nodes(text: str, replicas: int, gpus: int, resources: Any, slots: str | None) -> None:
    found = pods(f"{MPI}{text}\n", image="mpi:1")
    kept = {name: amount for name, amount in found.resources.items() if name != "ephemeral-storage"}
    count = found.accelerator.per_pod if found.accelerator else 0
    assert (found.launcher, found.replicas, count, kept) == ("mpi", replicas, gpus, resources)
    assert found.env.get("MPI_SLOTS") == slots


def test_mpirun_starts_the_ranks_of_a_step_with_mpi() -> None:
    found = pods(
        f"{MPI}--ntasks-per-node=4\nmkdir -p /out\nsrun --mpi=pmix bash -c 'train $SLURM_NTASKS'\n", image="mpi:1"
    )
    script = "export SLURM_NTASKS=$OMPI_COMM_WORLD_SIZE\ntrain $SLURM_NTASKS"
    assert found.command == ("mpirun", "-np", "8", "--map-by", "ppr:4:node", "--bind-to", "none", "bash", "-c", script)
    assert found.env == {"MPI_SLOTS": "4", "MPI_BEFORE": "mkdir -p /out"}


def test_a_script_of_ours_with_mpirun_is_rendered_again_as_it_was() -> None:
    worker = {
        **support.WORKER,
        "launcher": "mpi",
        "command": ["mpirun", "train"],
        "env": {"MPI_BEFORE": "mkdir -p /out"},
    }
    worker |= {"replicas": 2, "resources": {"cpu": 8}}
    gang = {"name": "train", "podSets": [worker], "backends": {"slurm": {"container": "none"}}}
    known = Document("topology.yaml", "", 0, support.TOPOLOGY)

    def rendered(flow: Any) -> str:
        request = pipeline.Request(Document("flow", "", 0, flow), known, "slurm", accept=frozenset({"F715"}))
        outcome, _ = pipeline.compile(request)
        assert outcome.value is not None, outcome.diagnostics
        return str(getattr(next(iter(outcome.value.documents)), "text"))  # noqa: B009

    text = rendered(support.workflow(gang, queue="research"))
    assert "--ntasks-per-node=4\n" in text
    assert text.endswith('eval "$MPI_BEFORE"\nexec mpirun train\nTASK\nsh -c "$task_0"\n')
    read_again = sound(text, reading.topology(known).value, image=support.WORKER["image"])
    assert rendered(native.write(read_again)) == text


def test_what_is_exported_is_there() -> None:
    found = pods(HEAD + "export A=1 B='x y'\nC=3\nD=4 " + RUN)
    assert found.env == {"A": "1", "B": "x y", "D": "4"}


def test_set_gives_values_and_an_image() -> None:
    found = pods(HEAD + "srun torchrun $MORE\n", MORE="a b", image="example.com/a:1")
    assert (found.image, found.command) == ("example.com/a:1", ("torchrun", "a", "b"))


def test_amounts_are_dealt_to_tasks() -> None:
    head = "#!/bin/bash\n#SBATCH -N2 --ntasks-per-node=2 --gres=gpu:h100:4 -c 8 --mem=64G --tmp=10G -t 1-2:30\n"
    found = pods(head + RUN)
    assert (found.replicas, found.accelerator.per_pod) == (4, 2)
    assert found.resources == {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "5Gi"}
    assert sound(head + RUN).gangs[0].active_deadline_seconds == 95_400


def test_a_range_of_nodes_is_elastic() -> None:
    found = pods(HEAD.replace("--nodes=4", "--nodes=2-4") + RUN)
    assert (found.replicas, found.min_replicas) == (4, 2)


def array(lines: str, numbers: str = "0-3%2") -> Gang:
    """The one gang of an array."""
    (gang,) = sound(f"#!/bin/bash\n#SBATCH --array={numbers}\n{lines}\n").gangs
    return gang


def test_an_array_that_does_not_ask_for_its_number_is_copies() -> None:
    assert (array(RUN, "1,3-5:2").replicas, array(RUN, "1,3-5:2").at_once) == (3, None)
    assert (array(RUN).replicas, array(RUN).at_once, array(RUN).matrix) == (4, 2, {})


def test_programs_of_an_array_find_their_number_in_the_environment() -> None:
    """Slurm sets it in every task (`man sbatch`), and a program in Python reads it there."""
    program = "#!/usr/bin/env python3\n#SBATCH --array=0-3\nimport os\nprint(os.environ['SLURM_ARRAY_TASK_ID'])\n"
    for gang in (array(RUN), sound(program, image="a:1").gangs[0]):
        assert (gang.replicas, gang.pod_sets[0].env["SLURM_ARRAY_TASK_ID"]) == (4, "$(GANG_INDEX)")
    listed = array(RUN, "1,3-5:2")
    assert listed.matrix == {"TASK_ID": ["1", "3", "5"]}
    assert listed.pod_sets[0].env["SLURM_ARRAY_TASK_ID"] == "$(TASK_ID)"
    assert array(RUN, "7").pod_sets[0].env["SLURM_ARRAY_TASK_ID"] == "7"


def test_an_array_from_0_refers_to_the_number_of_the_copy() -> None:
    gang = array(f"srun {IMAGE} fold --n=$SLURM_ARRAY_TASK_ID-$SLURM_ARRAY_TASK_COUNT $SLURM_ARRAY_TASK_MAX")
    assert (gang.replicas, gang.at_once, gang.matrix) == (4, 2, {})
    assert gang.pod_sets[0].command == ("fold", "--n=$(GANG_INDEX)-4", "3")


def test_other_arrays_and_what_bash_makes_of_the_number_are_a_matrix() -> None:
    gang = array(f"srun {IMAGE} fold $SLURM_ARRAY_TASK_ID", "1,3-5:2")
    assert gang.matrix == {"TASK_ID": ["1", "3", "5"]}
    assert (gang.replicas, gang.pod_sets[0].command) == (3, ("fold", "$(TASK_ID)"))
    made = array(
        f"L=(a 'b c' d e)\nsrun {IMAGE} fold --seed $((SLURM_ARRAY_TASK_ID * 7)) \"${{L[SLURM_ARRAY_TASK_ID]}}\""
    )
    assert made.pod_sets[0].command == ("fold", "--seed", "$(SEED)", "$(VALUE)")
    values = ["a", "b c", "d", "e"]
    assert made.matrix == {"rows": [{"SEED": str(7 * n), "VALUE": each} for n, each in enumerate(values)]}


def test_a_column_has_no_name_of_the_shell_or_of_the_script() -> None:
    gang = array(f"export LR=5\nL=(a b c d)\nsrun {IMAGE} fold --lr ${{L[SLURM_ARRAY_TASK_ID]}}", "0-1")
    assert (gang.matrix, gang.pod_sets[0].env) == ({"TASK_LR": ["a", "b"]}, {"LR": "5"})
    gang = array(f"L=(a b c d)\nsrun {IMAGE} fold --path ${{L[SLURM_ARRAY_TASK_ID]}}", "0-1")
    assert gang.matrix == {"TASK_PATH": ["a", "b"]}


def test_a_task_that_reads_its_number_itself_gets_it() -> None:
    gang = array(f"srun {IMAGE} bash -c 'fold ${{SLURM_ARRAY_TASK_ID}} $SLURM_ARRAY_TASK_COUNT'")
    assert gang.pod_sets[0].env == {"SLURM_ARRAY_TASK_ID": "$(GANG_INDEX)", "SLURM_ARRAY_TASK_COUNT": "4"}


def test_tasks_that_do_different_things_are_gangs() -> None:
    text = "#!/bin/bash\n#SBATCH --array=0-1\n"
    steps = f"if [ $SLURM_ARRAY_TASK_ID = 0 ]; then srun {IMAGE} a; else srun {IMAGE} b c; fi\n"
    assert [gang.pod_sets[0].command for gang in sound(text + steps).gangs] == [("a",), ("b", "c")]


def test_one_task_without_srun_is_the_body() -> None:
    assert pods("#!/bin/bash\n#SBATCH -G 1\npython a.py --x 1\n", image="a:1").command == ("python", "a.py", "--x", "1")
    body = "for i in 1 2; do\n  python a.py $i\ndone\n"
    assert pods("#!/bin/bash\n#SBATCH -G 1\n" + body, image="a:1").command == ("bash", "-c", body)


def test_places_are_those_of_the_script() -> None:
    made = read(HEAD + "#SBATCH --time=never\n" + RUN)
    assert [each.route for each in made.diagnostics] == [("workflow", AT, 4, 9)]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 1800), ("1:30", 90), ("1:30:00", 5400), ("2-12", 216_000), ("1-0:30", 88_200), ("0", 0), ("UNLIMITED", 0)],
)
def test_times(text: str, seconds: int) -> None:
    assert amounts.seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "x", "1:2:3:4", "-5", "1-", "1.5", "9" * 30])
def test_no_times(text: str) -> None:
    assert amounts.seconds(text) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("nvcr.io#nvidia/pytorch:25.08-py3", "nvcr.io/nvidia/pytorch:25.08-py3"),
        ("docker://ghcr.io/a/b:1", "ghcr.io/a/b:1"),
        ("ubuntu", "ubuntu"),
        ("me@registry.example.com#a/b", "registry.example.com/a/b"),
        ("dockerd://a", ""),
        ("/x/a.sqsh", ""),
        ("a b", ""),
    ],
)
def test_images(text: str, name: str) -> None:
    assert images.image(text).name == name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1+2*3", 7),
        ("(1+2)*3", 9),
        ("7/2", 3),
        ("-7/2", -3),
        ("-7%3", -1),
        ("1/0", None),
        ("2**3**2", 512),
        ("1 ? 2 : 3", 2),
        ("x", None),
        ("9" * 30, None),
        ("1 2", None),
    ],
)
def test_sums(text: str, expected: int | None) -> None:
    calculator = Calculator(lambda name: name, lambda name, value: None)
    if expected is None:
        with pytest.raises(CalculationError):
            calculator.value(text)
    else:
        assert calculator.value(text) == expected


PIECES = (
    *("srun ", "$(", ")", "${", "}", "$((", "))", "'", '"', "`", "\\", "\n", ";", "&", "|", "<<E\n", "E\n", "<(", "{ "),
    *("(", "if ", "then ", "fi\n", "for i in ", "do ", "done\n", "case x in ", "esac\n", "A=", "A=(", "export ", "$A"),
    *(
        "nodes[0]",
        "#SBATCH --nodes=",
        "#SBATCH -",
        "hetjob\n",
        "4",
        "-w ",
        ":",
        "=",
        "#",
        "scontrol show hostnames ",
        "x",
    ),
    *("| head -n 1", "bash -c ", "--het-group=", "--segment=", "--array=", "0-", "%", "f() ", "[[ ", "]]", "\x00", "é"),
    "mapfile -t n < ",
)


@pytest.mark.parametrize("seed", seeds(400))
def test_texts_that_nobody_would_write(seed: int) -> None:
    """Each is read or refused with places inside the text; none is too much."""
    chance = random.Random(seed)
    text = HEAD if seed % 3 else "#!/bin/bash\n"
    text += "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 60)))
    text += RUN if seed % 2 else ""
    made = read(text)
    assert (made.value is None) == has_errors(made.diagnostics)
    lines = text.count("\n") + 1
    places = [each.route[2] for each in made.diagnostics if AT in each.route]
    assert all(isinstance(line, int) and 1 <= line <= lines for line in places)


@pytest.mark.parametrize("text", ["$(" * 500, "{ " * 500, '"$(' * 400, "${a:-" * 400, "(" * 2000, "if " * 2000])
def test_depth_is_bounded(text: str) -> None:
    with pytest.raises(UnreadableError):
        statements(text)


def test_a_long_script_is_read_at_once() -> None:
    many = "".join(f"export V{n}=$((V{n - 1} + {n}))\n" if n else "export V0=0\n" for n in range(5000))
    assert pods(HEAD + many + RUN).env["V4999"] == str(sum(range(5000)))


def told(text: str, **variables: str) -> list[str]:
    """The codes of what is said about a script."""
    return [each.code for each in read(text, **variables).diagnostics]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("cat > conf.yaml <<EOF\na: 1\nEOF", "W613"),
        ("echo a >> conf.yaml", "W611"),
        ("echo a | tee -a conf.yaml", "W611"),
        ("echo a | sed s/a/b/ > conf.yaml", "W613"),
        ("{ echo a; echo b; } > conf.yaml", "W613"),
        ("for i in 1 2; do echo $i >> conf.yaml; done", "W611"),
        ("scontrol show hostnames | while read h; do echo $h; done > hosts", "W613"),
        ("note() { echo a > conf.yaml; }\nnote", "W613"),
        ("prepare() { [ -f x ] || python prepare.py; }\nprepare", "W611"),
        (f"srun {IMAGE} hostname > hosts", "W611"),
        ("echo a >&2", "W613"),
        ("if true; then IFS=, read -ra LIST <<< a,b; echo $LIST; fi", ""),
        ("scontrol show job 2> /dev/null >/dev/null", "W613"),
        ("exec > log.txt 2>&1", "W613"),
        ('say() { echo "[$(date)] $1"; }\nsay a', "W613"),
        (f"srun --overlap {IMAGE} nvidia-smi dmon &", "W613"),
        ("setup() { module load cuda; }\nsetup", "W612"),
        ("again() { again; }\nagain", "W609"),
    ],
)
def test_what_tasks_may_read_is_not_left_out(line: str, code: str) -> None:
    found = told(f"{HEAD}{line}\n{RUN}")
    assert code in found or not code
    assert set(found) <= {code, "W613"}


def test_functions_that_call_each_other_end() -> None:
    chain = "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; }}\n" for n in range(40))
    assert told(f"{HEAD}{chain}f0\nif true; then f0; fi\n{RUN}").count("W609") == 1


def test_numbers_by_chance_are_fixed() -> None:
    body = f"srun {IMAGE} torchrun --rdzv_id $RANDOM --nnodes 4 train.py run-$((RANDOM % 7)) $(uuidgen) $(date +%s)\n"
    assert pods(HEAD + body).command[2:] == ("10000", "--nnodes", "4", "train.py", "run-4", "10000", "10000")
    assert set(told(HEAD + body)) == {"W616"}
    assert told(f"{HEAD}export MASTER_PORT=$((20000 + RANDOM % 9))\n{RUN}") == ["W616"]


def test_the_time_of_the_start_is_the_workflow() -> None:
    body = f'NOW=$(date +%F-%T)\nsrun --output=$NOW.log {IMAGE} train --save "/out/$NOW"\n'
    assert pods(HEAD + body).command[-1] == "/out/train"
    assert told(HEAD + body) == ["W613", "W616"]


@pytest.mark.parametrize(("name", "hint"), [("PWD", "volume"), ("HOME", "volume"), ("USER", "--set USER=VALUE")])
def test_what_the_login_node_knows_has_a_hint(name: str, hint: str) -> None:
    body = f"{HEAD}srun {IMAGE} --container-mounts=/data/${name}:/data train\n"
    (found,) = read(body).diagnostics
    assert found.code == "W609"
    assert hint in found.hint
    assert "W609" not in told(body, **{name: "/x"})
    assert "W609" not in told(body.replace("srun", "cd /x\nsrun")) or name != "PWD"


TWO = "#!/bin/bash\n#SBATCH -J pair -N 1 --gpus-per-node=8\n#SBATCH hetjob\n#SBATCH -N 2 --gpus-per-node=8\n"


def test_the_parts_of_one_step_share_their_ranks() -> None:
    both = f"srun {IMAGE} serve : {IMAGE} bash -c 'ask $SLURM_PROCID $SLURM_NTASKS'\n"
    (gang,) = sound(TWO + both).gangs
    assert gang.rendezvous == "gang"
    assert all("SLURM_NTASKS=$NNODES" in " ".join(each.command) for each in gang.pod_sets)
    (apart,) = sound(TWO + f"srun --het-group=0 {IMAGE} serve &\nsrun --het-group=1 {IMAGE} ask &\nwait\n").gangs
    assert apart.rendezvous == "group"
    assert told((TWO + both).replace("-N 1 --gpus-per-node=8", "-N 1"))[0] == "W623"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (f'srun {IMAGE} train "a \\\n b"\n', ("a  b",)),
        (f'A="--a 1 \\\n --b \\"2\\""\nsrun {IMAGE} train $A\n', ("--a", "1", "--b", '"2"')),
        (
            f'read -r -d "" A <<EOF\nb \\\n"c" \\"d\\" $(echo "e")\nEOF\nsrun {IMAGE} train "$A"\n',
            ('b "c" \\"d\\" e',),
        ),
        (f'read -r -d "" A << "END OF"\n$B\nEND OF\nsrun {IMAGE} train "$A"\n', ("$B",)),
        (f'read -r -d "" A <<- E\n\tb\n\tE\nsrun {IMAGE} train "$A"\n', ("b",)),
        (f': "${{A:=3}}" ${{B=4}}\nsrun {IMAGE} train $A $B\n', ("3", "4")),
        (f"A=1\n: ${{A:=3}}\nsrun {IMAGE} train $A\n", ("1",)),
    ],
)
def test_words_are_those_of_a_shell(body: str, words: tuple[str, ...]) -> None:
    assert pods(HEAD + body).command[-len(words) :] == words


def test_a_name_begins_with_a_letter() -> None:
    assert sound(HEAD.replace("=train", "=7b_run") + RUN).name == "job-7b-run"


SITE = {
    "queues": {"gpu_p5": "research"},
    "image": "example.com/base:1",
    "images": {"/fsx/nemo.sqsh": "example.com/nemo:2"},
    "variables": {"HOME": "/fsx/ada"},
    "modules": ["cuda/12.4"],
    "mounts": {"/fsx": {"persistentVolumeClaim": {"claimName": "fsx"}}},
}


def test_what_the_topology_says_of_the_site_replaces_flags() -> None:
    spec = {**support.TOPOLOGY["spec"], "schedulers": {"slurm": {"sbatch": SITE}}}
    known = reading.topology(Document("topology.yaml", "", 0, {**support.TOPOLOGY, "spec": spec})).value
    body = (
        "#SBATCH -p gpu_p5\nmodule load cuda/12.4\ncd $HOME/run\nsrun torchrun a.py\n"
        "srun --container-image=/fsx/nemo.sqsh --container-mounts=/fsx/data/c4:/data:ro,/scratch torchrun b.py\n"
    )
    made = read(HEAD + body, known)
    assert [each.code for each in made.diagnostics if each.code != "W619"] == ["W612", "W628"]
    flow = made.value
    first, second = (gang.pod_sets[0] for gang in flow.gangs)
    assert (flow.queue, first.image, second.image) == ("research", "example.com/base:1", "example.com/nemo:2")
    assert (first.working_dir, first.volumes, first.template) == ("/fsx/ada/run", {"/fsx": Volume(claim="fsx")}, {})
    assert second.volumes == {
        "/data": Volume(claim="fsx", sub_path="data/c4", read_only=True),
        "/fsx": Volume(claim="fsx"),
        "/scratch": Volume(host_path="/scratch"),
    }


def test_arguments_of_a_script_come_from_set() -> None:
    assert pods(HEAD + RUN.replace("train.py", 'train.py "$1" $# "${2:-b}"'), **{"1": "a"}).command[2:] == (
        "a",
        "1",
        "b",
    )
