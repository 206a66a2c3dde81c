"""The command as a process: exit codes, streams that fail, bugs, signals, colours."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bayplan import __version__
from bayplan.cli.commands import COMMANDS
from tools.effort import sample
from tools.run import EXAMPLES, PRETRAIN, ROOT, bayplan, environment, process, python

BAD = "apiVersion: bayplan.dev/v1alpha1\nkind: Workflow\nmetadata: {name: a}\nspec: {gangs: [], qeue: b}\n"


@pytest.fixture
def bad(tmp_path: Path) -> str:
    """A workflow with two errors."""
    (tmp_path / "bad.yaml").write_text(BAD, encoding="utf-8")
    return str(tmp_path / "bad.yaml")


def start(*arguments: str, **streams: object) -> subprocess.Popen[bytes]:
    """A process whose streams the test holds."""
    return subprocess.Popen([sys.executable, "-m", "bayplan", *arguments], env=environment(), **streams)  # type: ignore[call-overload,no-any-return]


ON = [f"{PRETRAIN}/workflow.yaml", "-t", f"{PRETRAIN}/topology.yaml"]
TOPOLOGY = f"{PRETRAIN}/topology.yaml"
RENDER = ["render", *ON]
SLURM = f"{EXAMPLES}/sources/slurm.conf"
CALLS: dict[str, tuple[list[str], str]] = {
    "render": (ON, ""),
    "check": (ON, ""),
    "plan": (ON, ""),
    "capacity": (ON, ""),
    "delete-plan": (ON, ""),
    "diff": ([ON[0], "-", *ON[1:]], "kind: List\nitems: []\n"),
    "lint": (["-", "-t", TOPOLOGY], "kind: PodGroup\napiVersion: scheduling.run.ai/v2alpha2\n"),
    "post-render": (["-t", TOPOLOGY], "kind: Job\n"),
    "helm last-error": ([], ""),
    "helm install-plugin": (["-o", "."], ""),
    "import": (ON[:1], ""),
    "topology check": ([TOPOLOGY], ""),
    "topology show": ([TOPOLOGY], ""),
    "topology diff": ([TOPOLOGY, f"{EXAMPLES}/infiniband/topology.yaml"], ""),
    "topology import": ([SLURM], ""),
    "topology export": ([TOPOLOGY, "--to", "slurm"], ""),
    "generate": ([f"{EXAMPLES}/project", "--check"], ""),
    "krm": ([], "kind: ResourceList\nitems: []\n"),
    "kustomize doctor": (["."], ""),
    "kustomize references": (["."], ""),
    "kustomize install-legacy": (["home"], ""),
    "schema": (["workflow"], ""),
    "explain": (["R101"], ""),
    "schedulers": ([], ""),
    "init": (["new"], ""),
    "completion": (["bash"], ""),
}
"""Each command with arguments and a standard input."""


@pytest.mark.parametrize("command", [each.name for each in COMMANDS])
def test_a_process_says_what_a_call_says(command: str, tmp_path: Path) -> None:
    """All other tests may call the command line in their own process."""
    arguments, stdin = CALLS[command]
    runs = []
    for run in (process, bayplan):
        folder = tmp_path / run.__name__
        folder.mkdir()
        done = run(*command.split(), *arguments, cwd=folder, env={"HOME": str(folder), "PATH": "/bin"}, stdin=stdin)
        made = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        texts = [text.replace(str(folder), "~") for text in (done.stdout, done.stderr)]
        runs.append((done.returncode, texts, made))
    assert runs[0][0] in (0, 1)
    assert runs[0] == runs[1]


class TestExitCodes:
    def test_version(self) -> None:
        result = bayplan("--version")
        assert (result.returncode, result.stdout, result.stderr) == (0, f"bayplan {__version__}\n", "")
        assert bayplan("--version", "--help").returncode == 0

    def test_a_render(self) -> None:
        result = bayplan(*RENDER)
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout.startswith("apiVersion: ")

    def test_errors_leave_standard_output_empty(self, bad: str) -> None:
        result = bayplan(RENDER[0], RENDER[1], bad, *RENDER[2:])
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr.endswith("2 errors\n")

    def test_check_reports_on_standard_output(self, bad: str) -> None:
        result = bayplan("check", bad)
        assert (result.returncode, result.stderr) == (1, "2 errors\n")
        assert result.stdout.count(": error[") == 2

    def test_warnings_fail_a_strict_run_only(self, tmp_path: Path) -> None:
        newer = [*RENDER, "--target", "kai=0.99", "-o", str(tmp_path / "out.yaml")]
        result = bayplan(*newer, "--strict")
        assert (result.returncode, list(tmp_path.iterdir())) == (1, [])
        assert "warning[A907]" in result.stderr
        assert bayplan(*newer).returncode == 0
        assert (tmp_path / "out.yaml").exists()

    @pytest.mark.parametrize(
        "arguments",
        [
            [],
            ["nope"],
            ["render"],
            ["render", "a", "--nope"],
            ["topology", "nope"],
            ["lint"],
            ["topology", "show"],
            ["--nope"],
        ],
    )
    def test_wrong_usage(self, arguments: list[str]) -> None:
        result = bayplan(*arguments)
        assert result.returncode == 2 or (not arguments and result.returncode == 0)
        assert "Traceback" not in result.stderr

    def test_all_forms_reach_the_right_stream(self, bad: str) -> None:
        assert json.loads(bayplan("check", bad, "--diagnostics", "json").stdout)["summary"]["errors"] == 2
        assert json.loads(bayplan("render", bad, *RENDER[2:], "--diagnostics", "sarif").stderr)["version"] == "2.1.0"
        assert bayplan("check", bad, "--diagnostics=github").stdout.startswith("::error file=")
        assert json.loads(bayplan(*RENDER, "--diagnostics", "json").stderr)["diagnostics"] == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["--help"],
        RENDER,
        ["explain", "R101"],
        ["check", "gone.yaml"],
        ["check", *ON, "-s", "all"],
        ["check", *ON, "-s", "all", "--diagnostics", "json"],
    ],
)
def test_a_full_standard_output(arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        process = start(*arguments, stdout=full, stderr=subprocess.PIPE)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 1, said
    assert b"O802" in said
    assert b"Traceback" not in said
    assert b"Exception" not in said


PARTS = """
import resource, signal, sys
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
from bayplan.__main__ import script
sys.argv = ["bayplan", *{argv!r}]
script()
"""


@pytest.mark.parametrize("command", ["--version", "--help", *sample(list(CALLS), 1)])
def test_a_disk_with_room_for_a_part(command: str, tmp_path: Path) -> None:
    """A system call then writes only the first bytes. PYTHONUNBUFFERED is usual in containers."""
    arguments, stdin = CALLS.get(command, ([], ""))
    home = {"HOME": str(tmp_path), "PATH": "/bin", "PYTHONUNBUFFERED": "1"}
    (tmp_path / "whole").mkdir()
    whole = process(*command.split(), *arguments, cwd=tmp_path / "whole", env=home, stdin=stdin).stdout.encode()
    for size in (1, len(whole) - 1) if len(whole) > 1 else ():
        code = PARTS.format(size=size, argv=[*command.split(), *arguments])
        folder, out = tmp_path / str(size), tmp_path / f"{size}.out"
        folder.mkdir()
        with out.open("wb") as stream:
            run = subprocess.Popen(
                [sys.executable, "-B", "-c", code],
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=subprocess.PIPE,
                env=environment(home),
                cwd=folder,
            )
            _, said = run.communicate(stdin.encode())
        assert whole.startswith(out.read_bytes())
        assert run.returncode == 1, said
        assert b"O802" in said


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_pipe_that_does_not_block(unbuffered: str) -> None:
    """A program on the other side, such as one in Node.js, made it so."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writer, False)
    command = [sys.executable, "-m", "bayplan", *RENDER]
    run = subprocess.Popen(command, stdout=writer, env=environment({"PYTHONUNBUFFERED": unbuffered}))
    os.close(writer)
    time.sleep(0.5)
    with open(reader, "rb") as stream:
        assert stream.read().decode() == bayplan(*RENDER).stdout
    assert run.wait(60) == 0


REPORTED = [*RENDER, "--target", "kai=0.99"]
"""A run with a warning."""


@pytest.mark.parametrize("form", ["text", "json", "github", "sarif", "gitlab"])
@pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&-", "2> >(exit)"], ids=["full", "closed", "no reader"])
def test_a_report_that_cannot_be_written(stderr: str, form: str) -> None:
    line = f"sleep 0.3; exec {sys.executable} -m bayplan {' '.join(REPORTED)} --diagnostics {form}"
    command = ["bash", "-c", f"({line}) {stderr}"]
    result = subprocess.run(command, env=environment(), capture_output=True, check=False)
    assert result.returncode == 1
    assert b"Traceback" not in result.stderr
    assert result.stdout.decode() == bayplan(*RENDER, "--target", "kai=0.18").stdout


def test_a_report_to_a_pipe_that_does_not_block(tmp_path: Path) -> None:
    """Standard error may be such a pipe too: the whole report arrives."""
    (tmp_path / "many.yaml").write_text(BAD.replace("qeue: b", ", ".join(f"key{n}: b" for n in range(200))))
    argv = ["render", str(tmp_path / "many.yaml"), *RENDER[2:], "--diagnostics", "json"]
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writer, False)
    run = start(*argv, stdout=subprocess.DEVNULL, stderr=writer)
    os.close(writer)
    time.sleep(0.5)
    with open(reader, "rb") as stream:
        said = stream.read().decode()
    assert run.wait(60) == 1
    assert len(said) > 8192
    assert said == bayplan(*argv).stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_while_it_waits(number: signal.Signals) -> None:
    run = start(*RENDER[:1], "-", *RENDER[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.stdin is not None
    run.stdin.write(b"a:")
    run.stdin.flush()
    time.sleep(1)
    run.send_signal(number)
    assert run.communicate(timeout=60) == (b"", b"")
    assert run.returncode == 128 + number


INTERRUPTED = """
import os, signal, sys
def kill(): os.kill(os.getpid(), signal.SIGINT)
class Finder:
    def find_spec(self, name, path, target=None):
        if name == {at!r}: kill()
class Output:
    def __getattr__(self, name): return getattr(sys.__stdout__, name)
    def flush(self): kill()
sys.meta_path.insert(0, Finder())
if {at!r} == "end": sys.stdout = Output()
sys.argv = ["bayplan", "schema", "workflow"]
from bayplan.__main__ import script
script()
"""


@pytest.mark.parametrize("at", ["bayplan.cli.run", "bayplan.cli.commands", "bayplan.cli.explain", "end"])
def test_an_interrupt_at_any_moment_is_silent(at: str) -> None:
    result = python("-c", INTERRUPTED.format(at=at))
    assert (result.returncode, result.stderr) == (130, "")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_caller_that_ignores_a_signal_keeps_ignoring_it(name: str) -> None:
    """As `nohup` ignores SIGHUP."""
    code = f"import signal; from bayplan.cli import run; signal.signal(signal.{name}, signal.SIG_IGN);"
    code += f"run._dispatch = lambda argv: print(signal.getsignal(signal.{name}).name) or 0; run.run([]);"
    code += f"print(signal.getsignal(signal.{name}).name)"
    assert python("-c", code).stdout == "SIG_IGN\nSIG_IGN\n"


def test_a_reader_that_goes_away() -> None:
    process = start(*RENDER, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 141
    process.stderr.close()


@pytest.mark.parametrize("command", ["topology import", "topology check", "init made --from"])
def test_a_pool_of_a_file_that_is_gone(command: str, tmp_path: Path) -> None:
    result = bayplan(*command.split(), "gone.yaml#hall", cwd=tmp_path)
    assert result.returncode == 1
    assert "error[R101]: cannot read the file" in result.stdout + result.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(closed: str) -> None:
    line = f"{sys.executable} -m bayplan check gone.yaml {closed}"
    result = subprocess.run(["sh", "-c", line], env=environment(), cwd=ROOT, capture_output=True, check=False)
    assert result.returncode == 1
    assert b"Traceback" not in result.stderr


def test_a_disk_that_fills(tmp_path: Path) -> None:
    (tmp_path / "out.yaml").write_text("old\n")

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    for output in ("out.yaml", "out/"):
        process = start(*RENDER, "-o", str(tmp_path) + "/" + output, stderr=subprocess.PIPE, preexec_fn=limit)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 1
        assert b"error[O802]" in said
    assert (tmp_path / "out.yaml").read_text() == "old\n"
    assert [path.name for path in tmp_path.rglob("*")] in (["out.yaml", "out"], ["out", "out.yaml"])


BUG = """
import sys
import bayplan.cli.explain
def schema(given): raise {raised}
bayplan.cli.explain.schema = schema
from bayplan.cli.run import run
sys.exit(run(["schema", "workflow"]))
"""


def test_a_bug_is_called_one() -> None:
    result = python("-c", BUG.format(raised="KeyError('x')"))
    assert result.returncode == 3
    assert "a bug in bayplan" in result.stderr
    assert "KeyError: 'x' at <string>:4" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_bug_shows_its_traceback_on_demand() -> None:
    result = python("-c", BUG.format(raised="KeyError('x')"), env={"BAYPLAN_DEBUG": "1"})
    assert result.returncode == 3
    assert "Traceback" in result.stderr


@pytest.mark.parametrize(("raised", "code"), [("KeyboardInterrupt", 130), ("RecursionError", 3), ("MemoryError", 3)])
def test_other_ends(raised: str, code: int) -> None:
    result = python("-c", BUG.format(raised=raised))
    assert result.returncode == code
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colours_are_for_terminals(env: dict[str, str], coloured: bool, bad: str) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "bayplan", "check", bad]
    subprocess.run(
        command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment({"TERM": "xterm", **env}), check=False
    )
    os.close(theirs)
    said = os.read(ours, 10_000)
    os.close(ours)
    assert (b"\x1b[1;31merror[" in said) is coloured
    assert b"error[S201]:" in said


def test_any_locale_writes_utf_8(tmp_path: Path) -> None:
    text = (PRETRAIN / "workflow.yaml").read_text(encoding="utf-8").replace("NCCL_DEBUG: WARN", "NOTE: grüße")
    (tmp_path / "workflow.yaml").write_text(text, encoding="utf-8")
    result = process(
        "render", str(tmp_path / "workflow.yaml"), *RENDER[2:], env={"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    )
    assert result.returncode == 0, result.stderr
    assert "grüße" in result.stdout


def test_standard_input() -> None:
    text = (PRETRAIN / "workflow.yaml").read_text(encoding="utf-8")
    result = bayplan("render", "-", *RENDER[2:], stdin=text)
    assert (result.returncode, result.stdout) == (0, bayplan(*RENDER).stdout)
    result = bayplan("check", "-", stdin=BAD)
    assert result.stdout.startswith("<stdin>:4:")


SCRIPT = "import sys; from bayplan.__main__ import script; sys.argv = ['bayplan', *{argv!r}]; script()"


@pytest.mark.parametrize(
    "argv", [["--version"], ["--help"], RENDER, ["check", "gone.yaml"], ["nope"]], ids=lambda a: a[0]
)
def test_the_installed_command_says_the_same(argv: list[str]) -> None:
    quick, tidy = python("-c", SCRIPT.format(argv=argv)), process(*argv)
    assert (quick.returncode, quick.stdout, quick.stderr) == (tidy.returncode, tidy.stdout, tidy.stderr)


def test_the_installed_command_on_a_full_disk() -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-c", SCRIPT.format(argv=RENDER)]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment(), check=False)
    assert result.returncode == 1
    assert result.stderr.count(b"\n") == 3
