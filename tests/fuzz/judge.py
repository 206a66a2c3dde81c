"""Runs an input, in this process or in a new one, and says what is wrong with the answer."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import yaml

from bayplan.cli import run
from fuzz.seeds import LARGEST, STDIN, Input
from tools.run import ROOT

CHANGES = {"open": 1, "os.mkdir": 1, "os.remove": 1, "os.rmdir": 1, "os.rename": 2, "os.link": 2, "os.symlink": 2}
"""Audit events of changes of files -> how many of their arguments are paths."""

SECONDS = 10.0
"""How long an input may take, as time of the processor: other work on the machine does not count."""

WAIT = 60.0
"""How long it may take with other processes and other work."""

MEMORY = 400 * 2**20
"""Bytes by which one input may raise the memory of this process."""

PROCESS_MEMORY = 3 * 2**30
"""Bytes of address space of a process."""

REPORTS = ("check", "lint", "topology check", "kustomize doctor")
"""Commands that report to standard output."""

PICTURES = {f"--format={form}" for form in ("svg", "html", "blocks")}
"""Forms of a plan that also show what does not fit."""

DIFFERENCES = ("diff", "topology diff", "generate")
"""Commands whose exit code 1 may mean a difference."""

WRITERS = ("render", "import", "topology import", "post-render", "krm")
"""Commands that write YAML."""

WHOLE_FILES = ("R101", "R103", "R160", "O")
"""How the codes of errors begin that are about a file as a whole or about the output: they may have no line."""

ABSENT = ("A901", "A920", "T516", "A990", "R158", "T461", "T530", "W641")
"""Errors about something that is in no file: no scheduler is named, an option of the command line is wrong beside other
errors, a file lacks the objects of its format, or the report leaves out errors."""


class Answer(NamedTuple):
    """What a run came to. `after`: the files that it left, without those that it did not change."""

    code: int
    out: bytes
    err: bytes
    after: Mapping[str, bytes]
    seconds: float = 0.0
    memory: int = 0


class Fault(NamedTuple):
    """What is wrong. Faults with the same `kind` and `place` have the same cause."""

    kind: str
    place: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.place}"


class HangError(BaseException):
    """The input takes too long. No handler of bayplan catches it."""


def _alarm(number: int, frame: FrameType | None) -> None:
    raise HangError


class Runner:
    """A folder in which inputs run, one after another, with an environment without the caller's home."""

    def __init__(self) -> None:
        self.folder = Path(
            tempfile.mkdtemp(prefix="bayplan-fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        )
        self.work = self.folder / "work"
        home = {name: str(self.folder / "home") for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")}
        self.environment = {**home, "PATH": os.defpath, "PYTHONIOENCODING": "utf-8", "LC_ALL": "C.UTF-8"}
        self.kept = dict(os.environ)
        os.environ.clear()
        os.environ.update({**self.environment, "BAYPLAN_DEBUG": "1"})
        self.most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.running = self.outside = False
        sys.addaudithook(self._guard)

    def _guard(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Refuses to change files outside of the folder: some arguments are paths such as `/`."""
        if event not in CHANGES or (event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            return
        paths = [os.fsdecode(each) for each in arguments[:2] if isinstance(each, str | bytes)]
        if self.running and any(
            not os.path.abspath(each).startswith(f"{self.folder}/") for each in paths[: CHANGES[event]]
        ):
            self.outside = True
            raise PermissionError(errno.EACCES, "the fuzzer allows no change here")

    def close(self) -> None:
        """Removes the folder, and brings the environment back."""
        os.chdir(ROOT)
        os.environ.clear()
        os.environ.update(self.kept)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _prepare(self, entry: Input) -> None:
        os.chdir(self.folder)
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        for name, content in entry.files.items():
            if name != STDIN:
                path = self.work / name
                if "/" in name:
                    path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        os.chdir(self.work)

    def _after(self, entry: Input) -> dict[str, bytes]:
        """The files that are new or changed, and those that are gone, as b""."""
        found = {os.path.join(root, name)[2:] for root, _, names in os.walk(".") for name in names}
        contents = {name: Path(name).read_bytes() for name in found}
        changed = {name: content for name, content in contents.items() if entry.files.get(name) != content}
        return {**changed, **{name: b"" for name in entry.files if name not in found and name != STDIN}}

    def inside(self, entry: Input) -> Answer:
        """Runs the input in this process."""
        self._prepare(entry)
        out, err = _stream(), _stream()
        signal.signal(signal.SIGALRM, _alarm)
        signal.signal(signal.SIGPROF, _alarm)
        start = time.process_time()
        with _streams(_stream(entry.files.get(STDIN, b"")), out, err):
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            signal.setitimer(signal.ITIMER_REAL, WAIT)
            self.running, self.outside = True, False
            try:
                code = run.run(entry.words)
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
                signal.setitimer(signal.ITIMER_REAL, 0)
                self.running = False
        seconds = time.process_time() - start
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        memory, self.most = (most - self.most) * 1024, most
        return Answer(code, out.buffer.getvalue(), err.buffer.getvalue(), self._after(entry), seconds, memory)

    def process(self, entry: Input) -> Answer:
        """Runs the input with the installed command, with limited memory."""
        self._prepare(entry)
        installed = Path(sys.executable).with_name("bayplan")
        program = [str(installed)] if installed.exists() else [sys.executable, "-m", "bayplan"]
        done = subprocess.run(
            [*program, *(os.fsencode(word) for word in entry.words)],
            input=entry.files.get(STDIN, b""),
            env={**self.environment, "PYTHONPATH": str(ROOT / "generator")},
            capture_output=True,
            timeout=WAIT,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (PROCESS_MEMORY, PROCESS_MEMORY)),
        )
        return Answer(done.returncode, done.stdout, done.stderr, self._after(entry))

    def faults(self, entry: Input, *, twice: bool = False, process: bool = False) -> Iterator[Fault]:
        """What is wrong with an input. `twice`: it must give the same bytes again. `process`: also in a new process."""
        try:
            answer = self.inside(entry)
        except HangError as hang:
            yield Fault("hang", _innermost(hang))
            return
        except BaseException as problem:  # run() raises nothing
            if isinstance(problem, KeyboardInterrupt):
                raise
            yield Fault("escape", f"{type(problem).__name__} {_innermost(problem)}")
            return
        yield from judged(entry, answer)
        if twice and (answer.code, answer.out) != (again := self.inside(entry))[:2]:
            yield Fault("differs", entry.door, f"{answer.out[:500]!r} {again.out[:500]!r}")
        if process and not self.outside:
            try:
                other = self.process(entry)
            except subprocess.TimeoutExpired:
                yield Fault("hang", f"process {entry.door}")
                return
            if answer[:4] != other[:4]:
                yield Fault("process", entry.door, f"{answer.code} {other.code} {other.err[-800:].decode()}")


def judged(entry: Input, answer: Answer) -> Iterator[Fault]:
    """What is wrong with an answer."""
    if answer.code not in (0, 1, 2):
        text = answer.err.decode()
        yield Fault("crash", _crash(text), text)
        return
    if answer.memory > MEMORY:
        yield Fault("memory", entry.door, f"{answer.memory / 2**20:.0f} MB")
    if any(".bayplan-staging" in name for name in answer.after):
        yield Fault("leftover", entry.door, str(list(answer.after)))
    findings = _findings(entry, answer)
    if isinstance(findings, Fault):
        yield findings
        return
    errors = [each for each in findings if each["severity"] == "error"]
    if answer.code == 0:
        yield from _accepted(entry, answer)
    elif entry.door not in DIFFERENCES and not any("--check" in word for word in entry.words):
        quiet = entry.door not in (*REPORTS, "krm") and not PICTURES & {*entry.words}
        if quiet and answer.out:
            yield Fault("output despite errors", entry.door, answer.out[:300].decode("utf-8", "replace"))
        if answer.after:
            yield Fault("files despite errors", entry.door, str(list(answer.after)))
    if answer.code == 1:
        for each in errors:
            if each["line"] is None and not _about_no_line(entry, each):
                yield Fault("no line", f"{entry.door} {each['code']}", json.dumps(each))


def _about_no_line(entry: Input, finding: Mapping[str, Any]) -> bool:
    """Whether no line is right. The error is about a whole file, the output, an empty file or something that is in no
    file, or its notes have the lines of a contradiction."""
    content = entry.files.get(STDIN if finding["file"] == "<stdin>" else finding["file"] or "", b"")
    empty = finding["file"] is not None and not content.strip()
    placed = any(note["line"] for note in finding["notes"])
    return empty or placed or finding["code"] in ABSENT or finding["code"].startswith(WHOLE_FILES)


def _findings(entry: Input, answer: Answer) -> list[dict[str, Any]] | Fault:
    """The report as JSON; no findings where it has another form."""
    if "--diagnostics=json" not in entry.words:
        return []
    raw = answer.out if entry.door in REPORTS else answer.err
    if answer.code == 2 and not raw.startswith(b"{"):
        return []  # the parser of the command line reports
    if not raw and entry.door not in REPORTS:
        return []
    try:
        found: list[dict[str, Any]] = json.loads(raw)["diagnostics"]
    except ValueError:
        return Fault("report", f"{entry.door} is no JSON", raw[:800].decode("utf-8", "replace"))
    return found


def _accepted(entry: Input, answer: Answer) -> Iterator[Fault]:
    """What is wrong with an output: it must be YAML that loads, unless bayplan only passes on what does not load."""
    scripts = any(word.endswith("=slurm") for word in entry.words) or answer.out.startswith((b"#!", b"#SBATCH"))
    if entry.door in WRITERS and not scripts and len(answer.out) < LARGEST:
        problem = _invalid(answer.out)
        if problem and not (STDIN in entry.files and _invalid(entry.files[STDIN])):
            yield Fault("output", f"{entry.door} writes no YAML", problem)


def _invalid(content: bytes) -> str:
    """Why a text is not YAML; empty if it is."""
    try:
        for _ in yaml.load_all(content, yaml.CSafeLoader):
            pass
    except (yaml.YAMLError, ValueError) as problem:
        return str(problem)
    return ""


def _crash(text: str) -> str:
    """The last frame of bayplan in a traceback, and the exception."""
    frames = re.findall(r'File "[^"]*/bayplan/([^"]*)", line (\d+)', text)
    names = re.findall(r"^([A-Za-z_.]+(?:Error|Exception|Iteration|Exit|Interrupt)\b)", text, re.MULTILINE)
    last = f"{frames[-1][0]}:{frames[-1][1]}" if frames else text[-200:]
    return f"{names[-1] if names else '?'} {last}"


def _innermost(problem: BaseException) -> str:
    """The last frame of bayplan in the traceback of an exception."""
    places = []
    trace = problem.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if "/bayplan/" in name:
            places.append(f"{name.rpartition('/bayplan/')[2]} {trace.tb_frame.f_code.co_name}")
        trace = trace.tb_next
    return places[-1] if places else "?"


def _stream(content: bytes = b"") -> Any:
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", write_through=True)


@contextmanager
def _streams(*streams: Any) -> Iterator[None]:
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = streams
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for stream in streams:
            with suppress(ValueError):
                stream.flush()
