"""Interpret the statements of a script's body as the batch shell does: set variables and collect steps.

The batch shell runs only on the first node, so a command that is not a step concerns that node. bayplan leaves it out
if it only prints or inspects (W613) or sets up the node's software (W612). It repeats commands such as `mkdir` in every
pod, and writes files whose text it knows there. Any other command becomes a gang of one pod, beside no step (W630).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from bayplan.plugin import has_errors, quote, shorten
from bayplan.plugins.slurm.sbatch import expansion, programs, shell
from bayplan.plugins.slurm.sbatch.builtins import Body, after, literal
from bayplan.plugins.slurm.sbatch.conditions import single
from bayplan.plugins.slurm.sbatch.control import (
    EFFECT,
    MOST_CALLS,
    OMITTED,
    REFUSED,
    STARTS,
    STEP,
    Control,
    Stop,
)
from bayplan.plugins.slurm.sbatch.expansion import Unknown, UnknownError, Value, unknown
from bayplan.plugins.slurm.sbatch.mpi import Launch, launch
from bayplan.plugins.slurm.sbatch.options import STEPS, Findings, Position
from bayplan.plugins.slurm.sbatch.programs import base, commands_in, file_of, only_prints, printed, script
from bayplan.plugins.slurm.sbatch.shape import Options, UsedOption, parse, report_options
from bayplan.plugins.slurm.sbatch.shell import ASSIGNMENT, Statement, UnreadableError, Word, statements

# Options of which bayplan translates only some values.

CHANNEL = "unique-channel-per-segment"
"""switch/nvidia_imex: an IMEX channel for each segment (Slurm 25.11), as ComputeDomains of groups are."""

NETWORK_HINT = "remove it, import the script, and set `fabric` on the podSet"

SPREAD = ("cyclic", "plane")
"""Orders of tasks that are those of block with one task on each node."""


def _one_task(options: Options) -> bool:
    """Whether these options place one task on each node."""
    return "ntasks-per-node" in options and options["ntasks-per-node"].value == "1"


def check_options(sections: Iterable[Options], findings: Findings, command: Sequence[str] = ()) -> None:
    """W603 and W604 for options of directives and steps of which bayplan translates only some values."""
    checked = ((options, name) for options in sections for name in CHECKED_OPTIONS if name in options)
    for options, name in checked:
        option = options[name]
        value = shorten(option.value)
        match option.option.name:
            case "dependency" if option.value == "singleton":
                message = "bayplan drops --dependency=singleton: jobs with the same name may run at the same time"
                findings.warning(
                    "W604", option.spot, message, "remove it, and create the objects after the other jobs end"
                )
            case "dependency":
                message = f"bayplan cannot translate --dependency={value}: job numbers do not lead to scripts"
                hint = "put both jobs into one workflow as gangs, and connect them with `dependsOn`"
                findings.error("W603", option.spot, message, hint)
            case "distribution":
                first = re.split("[:,=]", option.value)[0]
                if first == "arbitrary":
                    message = "bayplan cannot translate --distribution=arbitrary: it lists nodes"
                    findings.error("W603", option.spot, message, "use block")
                elif first not in ("block", "*", "") and not (first in SPREAD and _one_task(options)):
                    message = (
                        f"bayplan drops --distribution={first}: ranks follow the order of the nodes, as with block"
                    )
                    hint = "write --ntasks-per-node=1, with which the order does not matter, or use block"
                    findings.warning("W604", option.spot, message, hint)
            case "network":
                for part in option.value.split(","):
                    if part != CHANNEL:
                        message = f'bayplan drops "{shorten(part)}" of --network: it configures Slurm\'s own switches'
                        findings.warning("W604", option.spot, message, NETWORK_HINT)
            case "nodelist" if not expansion.MARK.search(option.value):
                message = "bayplan cannot translate --nodelist: only Slurm knows its node names"
                findings.error("W603", option.spot, message, "remove it, and choose nodes by `pool` and `placement`")
            case "mpi" if command and option.value != "none" and _RANKED.search(" ".join(command)):
                message = f"bayplan drops --mpi={value}: the program gets its rank without MPI"
                findings.warning("W604", option.spot, message, "remove it")
            case "mpi" if command and option.value != "none":
                message = f"--mpi={value}: mpirun starts the ranks of the step, through ssh between its pods"
                findings.warning("W639", option.spot, message, "use an image with Open MPI, sshd and ssh")


CHECKED_OPTIONS = ("dependency", "distribution", "network", "nodelist", "mpi")


_RANKED = re.compile(r"\b(torchrun|accelerate|deepspeed|torch\.distributed|SLURM_(PROCID|NODEID|LOCALID)|torch)\b")
"""A command with one of these words starts its processes itself, or reads its rank from a variable."""


class Step(NamedTuple):
    """One program of an srun line: its options, its command and its environment."""

    options: Mapping[str, UsedOption]
    command: tuple[str, ...]
    env: Mapping[str, str]
    before: tuple[str, ...]  # shell lines that every pod runs first
    folder: str
    spot: Position
    batch: int  # steps of one batch run at the same time
    launch: Launch | None = None  # the ranks of mpirun; of a step with --mpi, without words


class Work(NamedTuple):
    """A command of the first node: the step that does the same, if bayplan can write one."""

    shown: str
    spot: Position
    file: str = ""
    step: Step | None = None
    alone: bool = False  # the only command, whose words are known


class BodyResult(NamedTuple):
    """What a body does."""

    steps: tuple[Step, ...] = ()
    work: tuple[Work, ...] = ()
    fates: Mapping[Position, str] = {}  # where each statement that ran begins -> what it became


def run_body(
    body: Body,
    values: Mapping[str, str],
    nodes: Mapping[int, int],
    given: Mapping[str, str],
    section: Options,
    modules: Sequence[str],
    findings: Findings,
    ours: bool = False,
) -> BodyResult | None:
    """What the body does. R150: a shell refuses it; W609 to W613, W616, W630: what bayplan cannot translate."""
    try:
        parsed = statements(body.text)
    except UnreadableError as problem:
        hint = "run `bash -n` on the script for details"
        findings.error("R150", body.spot(min(problem.start, len(body.text))), problem.message, hint)
        return None
    interpreter = _Interpreter(body, values, given, findings)
    interpreter.nodes, interpreter.in_container, interpreter.ours = nodes, "container-image" in section, ours
    interpreter.chdir, interpreter.modules = (
        section.get("chdir"),
        frozenset((*modules, "load", "purge", "add") if modules else ()),
    )
    if interpreter.chdir and not interpreter.chdir.value.startswith("/"):
        interpreter.starts_in(interpreter.chdir.value)
    try:
        interpreter.run(parsed)
    except Stop as stop:
        interpreter.ended(stop)
    except RecursionError:
        interpreter.too_deep(interpreter.place)
    return interpreter.result()


class _Interpreter(Control):
    """The commands of a batch shell."""

    def __init__(self, body: Body, values: Mapping[str, str], given: Mapping[str, str], findings: Findings) -> None:
        super().__init__(body, values, given, findings)
        self.nodes: Mapping[int, int] = {}
        self.in_container = False
        self.ours = False  # bayplan wrote the script: its first node runs mpirun in `sh -c`
        self.chdir: UsedOption | None = None
        self.modules: frozenset[str] = frozenset()  # whose software the images have
        self.batch = 0
        self.open = False  # steps are running in the background
        self.written: dict[str, str] = {}  # file -> its text, which every pod writes
        self.setup: dict[str, Position] = {}
        self.looks: dict[str, Position] = {}
        self.containers: dict[str, UsedOption] = {}  # name of a container -> its image

    def starts_in(self, folder: str) -> None:
        """`#SBATCH --chdir=runs`, from the directory that the user submits the script from."""
        known = isinstance(self.folder, str)
        why = f"cannot evaluate --chdir={folder}: it begins in the directory that the script is submitted from"
        whole = posixpath.normpath(posixpath.join(str(self.folder), folder))
        self.enter(whole if known else Unknown(why, expansion.FOLDER_HINT.format("PWD")))

    def ended(self, stop: Stop) -> None:
        """W609, W614: the script ends before it starts anything, or with an error."""
        if has_errors(self.findings.all()):
            return
        for name in self.guard.names:
            if stop.number or not (self.steps or self.work):
                message = f"the script ends here, because ${name} has no value"
                self.findings.error("W609", self.guard.spot, message, f"use --set {name}=VALUE")
        if stop.number and not (self.steps or self.guard.names):
            message = f"the script ends here with exit code {stop.number}, before its first step"
            reads = not self.given_arguments and re.search(r"\$\{?[1@*#]", self.body.text)
            hint = "pass its arguments with --set 1=VALUE, --set 2=VALUE" if reads else "correct the condition"
            self.findings.error("W614", self.guard.spot if self.guard.spot.line > 1 else self.place, message, hint)

    def result(self) -> BodyResult:
        """The result, after all statements."""
        software, quiet = ", ".join(f"`{each}`" for each in self.setup), ", ".join(self.quiet)
        message = f"pods have the software of their image, not of Slurm's nodes: bayplan leaves out {software}"
        for spot in list(self.setup.values())[:1]:
            hint = "put the software into the image, or set its variables with `export`"
            self.findings.warning("W612", spot, message, hint)
        looks = "no action needed: inspect a running pod with `kubectl exec`"
        logs = "no action needed: read the log with `kubectl logs`"
        for spots, what, hint in (
            (
                [*self.quiet.values()],
                f"commands that concern only Slurm's first node: {quiet}",
                "check that no task needs them",
            ),
            ([*self.looks.values()], f"steps that only inspect their nodes: {', '.join(self.looks)}", looks),
            (self.outputs, "output files: pods print to their log", logs),
        ):
            for spot in spots[:1]:
                self.findings.info("W613", spot, f"bayplan leaves out {what}", hint)
        return BodyResult(tuple(self.steps), tuple(self.work), self.fates)

    # -- simple commands

    def simple(self, each: Statement) -> str:
        number = 0
        while number < len(each.words) and ASSIGNMENT.match(each.words[number].raw):
            number += 1
        words = list(each.words[number:])
        own: dict[str, Value] = {}
        for word in each.words[:number]:
            assignment = ASSIGNMENT.match(word.raw)
            assert assignment
            name, kept = assignment[1], self.values.get(assignment[1])
            self.substituted = 0
            if (
                not words
                and name in self.exports
                and name not in self.values
                and f"${name}" in word.raw.replace("{", "")
            ):
                self.prepend(name, word, after(word, len(assignment[0])))
                continue
            self.assign(word, assignment)
            self.status = self.substituted
            if isinstance(self.values.get(name), Unknown) and not words:
                self.status = None
            if words:
                own[name] = self.values[name]
                self.values.pop(name)
                if kept is not None:
                    self.values[name] = kept
        if words:
            return self._command(each, words, own)
        return self.writes((each,)) if not number and file_of(each) else EFFECT

    def _command(self, each: Statement, words: list[Word], own: dict[str, Value]) -> str:
        executed = False
        prefixes = ("exec", "nohup", "command", "builtin", "stdbuf", "env", "eval", "/usr/bin/time")
        while len(words) > 1 and words[0].raw in prefixes:
            prefix = words[0].raw
            if prefix == "/usr/bin/time" and words[1].raw in ("-p", "-v"):
                words.pop(1)
            if prefix == "command" and words[1].raw in ("-v", "-V"):
                self.status = None
                return EFFECT
            if prefix == "eval":
                return self._eval(each, words)
            executed |= prefix == "exec"
            words.pop(0)
            while (
                prefix in ("env", "stdbuf")
                and len(words) > 1
                and (words[0].raw.startswith("-") or ASSIGNMENT.match(words[0].raw))
            ):
                word = words.pop(0)
                if assignment := ASSIGNMENT.match(word.raw):
                    own[assignment[1]] = self.text(after(word, len(assignment[0])))
                elif prefix == "env":
                    raise unknown(f"env {word.raw}")
        if any(piece.kind != shell.TEXT for piece in words[0].pieces):
            texts = self.fields((words[0],))
            words[:1] = [literal(text, words[0].start) for text in texts]
            if not words:
                return EFFECT
        fate = self._dispatch(each, words, own)
        if executed:
            self.becomes((each,), fate)
            raise Stop("exit", 0)
        return fate

    def _dispatch(self, each: Statement, words: list[Word], own: dict[str, Value]) -> str:
        """Interpret a command. Each way through gives its fate."""
        name = base("".join(piece.text for piece in words[0].pieces))
        if self.out is None and name in (*programs.MPI, "srun"):
            return self._mpirun(each, words, own) if name in programs.MPI else self._srun(each, words[1:], own)
        if name in self.functions:
            self._call(name, words, own)
        elif name in ("export", "declare", "typeset", "readonly", "local"):
            self.declare(words)
            self._export_functions(words)
        elif name in ("mapfile", "readarray", "read"):
            self.status = self.read(words, self.given_to(each), own)
        elif name in ("cd", "pushd", "popd"):
            self._move(name, words)
        elif name in ("exit", "return", "break", "continue"):
            self.becomes((each,), EFFECT)
            self._leave(name, words)
        elif name in ("[", "test"):
            self.decide(lambda: single(words[1:-1] if name == "[" else words[1:], self))
        elif self._sets(name, words):
            pass
        elif self.out is not None:
            self._print(each, words)
        elif name in programs.PER_POD:
            self._per_pod(words)
        elif name in ("module", "ml") and {word.raw for word in words[1:]} <= self.modules:
            pass
        else:
            return self._beside(name, each, words, own)
        return EFFECT

    def _beside(self, name: str, each: Statement, words: Sequence[Word], own: Mapping[str, Value]) -> str:
        """A program of the first node."""
        if name == "exec" and each.redirects:
            self.outputs.append(self.spot(each))
        elif only_prints(name, " ".join(word.raw for word in words[1:])):
            return self._look(each, name)
        elif name in programs.SETUP:
            self.setup.setdefault(" ".join(word.raw for word in words)[:60], self.spot(each))
        elif name in programs.CLIENTS | programs.LAUNCHERS | SHELL_ONLY:
            return self._refused(name, each, words)
        else:
            return self.first_node((each,), words, own)
        return OMITTED

    def _refused(self, name: str, each: Statement, words: Sequence[Word]) -> str:
        """W611: a program of Slurm, which no pod has, and what no pod can do for others."""
        inner = next((word.raw for word in reversed(words[1:]) if not word.raw.startswith("-")), "SCRIPT")
        message, hint = f"{name} needs Slurm, which no pod has", programs.HINTS.get(name, "write out what it does")
        if name in programs.LAUNCHERS:
            message = f'"{name}" starts programs on other nodes, but pods have no login on each other'
        elif name in SHELL_ONLY:
            message = f"bayplan cannot translate `{shorten(self.raw(each))}`"
        self.findings.error("W611", self.spot(each), message, hint.replace("SCRIPT", shorten(inner)))
        return REFUSED

    def _sets(self, name: str, words: Sequence[Word]) -> bool:
        """Commands that change only the shell."""
        match name:
            case "unset":
                self.unset(words)
            case "set":
                self._set(words)
            case "shift":
                count = self.number(words[1].raw) if len(words) > 1 else 1
                self.status = int(count > len(self.arguments))
                self.given_arguments = self.arguments if self.status else self.arguments[count:]
            case "wait":
                self.batch += self.open
                self.supposed, self.open = self.open, False
            case ":":
                self.defaults(words)
            case "false":
                self.status = 1
            case "true":
                self.status = 0
            case "let":
                self.calculate(",".join(self.fields(words[1:])))
            case "printf" if len(words) > 3 and words[1].raw == "-v":
                self.print_to(words)
            case "getopts" if not self.arguments:
                self.status = 1
            case _:
                return False
        return True

    def _set(self, words: Sequence[Word]) -> None:
        """`set -euo pipefail`, where `o` takes the next word, or `set -- ARGUMENTS`."""
        texts = self.fields(words[1:])
        while texts:
            text = texts.pop(0)
            if text == "--" or not re.match(r"[-+].", text):
                self.given_arguments = texts if text == "--" else [text, *texts]
                return
            name = texts.pop(0) if "o" in text[1:] and texts else ""
            self.stops = text[0] == "-" if "e" in text[1:] or name == "errexit" else self.stops
            self.exporting = text[0] == "-" if "a" in text[1:] or name == "allexport" else self.exporting

    def _export_functions(self, words: Sequence[Word]) -> None:
        """`export -f NAME`: every pod defines the function."""
        options = "".join(word.raw for word in words if word.raw.startswith("-"))
        for name in (word.raw for word in words if "f" in options and (words[0].raw == "export" or "x" in options)):
            if name in self.functions:
                text, body = self.functions[name]
                self.before.append(f"{name}() {(text or self.body.text)[body.start : body.stop]}\n{EXPORTS} {name}")

    def _leave(self, name: str, words: Sequence[Word]) -> None:
        """`exit`, `return`, `break` or `continue`. bash ignores those outside of a function or loop."""
        number = 1 if name in ("break", "continue") else self.last or 0
        if len(words) > 1:
            try:
                number = self.number(self.text(words[1]))
            except UnknownError:
                number = 0
        if name == "return" and not self.frames:
            self.status = 1
        elif name in ("exit", "return") or self.loops:
            raise Stop(name, number)

    def _move(self, name: str, words: Sequence[Word]) -> None:
        if name == "popd":
            self.enter(self.stack.pop() if self.stack else Unknown("cannot evaluate popd", "use `cd DIR`"))
            return
        if name == "pushd":
            self.stack.append(self.folder)
        self.move(words)

    def _eval(self, each: Statement, words: Sequence[Word]) -> str:
        try:
            text = " ".join(self.fields(words[1:]))
            parsed = statements(text)
        except (UnknownError, UnreadableError):
            self.setup.setdefault(" ".join(word.raw for word in words)[:60], self.spot(each))
            return OMITTED
        frozen, self.frozen = self.frozen, text
        try:
            self.run(parsed)
        finally:
            self.frozen = frozen
        return EFFECT

    def _print(self, each: Statement, words: Sequence[Word]) -> None:
        """A command inside a command substitution."""
        assert self.out is not None
        given = self.given_to(each)
        if file_of(each):
            raise unknown(each.name)
        texts = self.fields(words)
        if texts == ["cat"] and given is not None:
            self.out.append(given)
            return
        text = printed(texts, given, self.nodes)
        if text is None:
            raise unknown(" ".join(texts))
        if not any(
            redirect.operator == ">&" and redirect.word and redirect.word.raw == "2" for redirect in each.redirects
        ):
            self.out.append(text)

    def _look(self, each: Statement, name: str) -> str:
        """A command that only prints or inspects."""
        fate = self.writes((each,)) if file_of(each) else OMITTED
        if not file_of(each) and name not in programs.NO_EFFECT:
            self.quiet.setdefault(name, self.spot(each))
        if name not in programs.TEXTS | {"sleep", "trap", "ulimit", "date", "pwd", "hostname"}:
            self.status, self.why = None, None
        return fate

    def _call(self, name: str, words: Sequence[Word], own: Mapping[str, Value]) -> None:
        """A call runs the body of the function with its arguments."""
        self.calls += 1
        if self.calls > MOST_CALLS or len(self.frames) > 30:
            if self.calls <= MOST_CALLS + 1:
                spot = self.place
                self.too_deep(spot)
                self.calls = MOST_CALLS + 1
            raise Stop("exit", 1)
        arguments = self.fields(words[1:])
        kept, self.given_arguments = (self.given_arguments, self.frozen), arguments
        self.frozen, function = self.functions[name]
        loops, self.loops = self.loops, 0
        self.frames.append({each: (self.values.get(each), each in self.exports) for each in own})
        self.values.update(own)
        try:
            self.statement(function)
        except Stop as stop:
            if stop.what != "return":
                raise
            self.status = stop.number
        finally:
            (self.given_arguments, self.frozen), self.loops = kept, loops
            for each, (value, exported) in self.frames.pop().items():
                self.values.pop(each, None)
                if not exported:
                    self.exports.pop(each, None)
                if value is not None:
                    self.values[each] = value

    # -- work of the first node

    def writes(self, items: Sequence[Statement]) -> str:
        """Commands that write a file. If its text is known, every pod writes it."""
        last = items[-1]
        name, file = base(last.name), file_of(last)
        log = name in programs.QUIET - programs.TEXTS - _FILTERS
        spot = self.spot(items[0])
        if self.in_background and log:
            self.outputs.append(spot)
            return OMITTED
        redirect = next(
            (each for each in last.redirects if ">" in each.operator and each.word and each.word.raw == file), None
        )
        try:
            if redirect is None or redirect.operator not in (">", ">>", ">|") or self.maybe or redirect.word is None:
                raise unknown(file)
            (path,) = self.fields((redirect.word,))
            kept = tuple(each for each in last.redirects if each is not redirect)
            plain = (*items[:-1], last._replace(redirects=kept))
            text = self.through(plain) if len(plain) > 1 else self.output_of(plain) if last.words or last.opened else ""
            self._write(path, text, redirect.operator == ">>")
            return EFFECT
        except (UnknownError, ValueError) as problem:
            if log and not last.opened:
                self.outputs.append(spot)
                return OMITTED
            hint = problem.value if isinstance(problem, UnknownError) and "--set" in problem.value.hint else None
            if hint and not self.maybe:
                self.unknown(hint, spot)
            self.work.append(Work(name or f"`{last.opened} ...`", spot, file))
            return STEP

    def _write(self, path: str, text: str, adds: bool) -> None:
        if adds and path not in self.written:
            raise unknown(path)
        path = self.path(path)
        old = self.written.get(path)
        if old is not None and (line := _writing(path, old)) in self.before:
            self.before.remove(line)
        self.written[path] = (old or "") + text if adds else text
        self.before.append(_writing(path, self.written[path]))
        if not path.startswith("/"):
            self.loose.add(self.before[-1])
        self.findings.info(
            "W613", self.place, f"every pod writes {path} before its command", "check that tasks read it"
        )

    def first_node(self, items: Sequence[Statement], words: Sequence[Word], own: Mapping[str, Value] = {}) -> str:
        """Work that only the first node does: a step of its own, if bayplan can write it."""
        self.reached()
        each, spot = items[0], self.spot(items[0])
        shown = base(words[0].raw) if words else base(each.name)
        step, alone = None, False
        logs = all(redirect.operator in _LOGS for part in items for redirect in part.redirects)
        try:
            if not self.maybe and not self.in_background and not self.open and logs and len(items) == 1 and words:
                texts = self.without_files(words)
                self.report_random(spot)
                env = {
                    **self.env(),
                    **{name: self.known(value) for name, value in own.items() if not isinstance(value, dict)},
                }
                folder = self.folder if isinstance(self.folder, str) else ""
                if isinstance(self.folder, Unknown):
                    raise UnknownError(self.folder)
                if folder:
                    self._starts_elsewhere(spot)
                self.batch += 1
                step = Step(_ONE, tuple(texts), env, tuple(self.before), folder, spot, self.batch)
                self.batch += 1
                alone = not self.work
                if each.redirects:
                    self.outputs.append(spot)
                if STARTS.search(" ".join(texts)) and not self.ours:
                    step = None
        except UnknownError as problem:
            if "--set" in problem.value.hint and self.out is None:
                self.unknown(problem.value, spot)
        self.work.append(Work(shown, spot, next((file for part in items if (file := file_of(part))), ""), step, alone))
        self.status = 0 if step else None
        return STEP

    def _per_pod(self, words: list[Word]) -> None:
        texts = self.fields(words)
        if texts[0] == "mkdir":
            options = [text for text in texts[1:] if text.startswith("-") and text != "-p"]
            if any(re.match(r"-\w*[mZ]\Z|--", text) for text in options):
                raise unknown(" ".join(texts), "write `mkdir -p` without other options")
            paths = [self.path(text) for text in texts[1:] if not text.startswith("-")]
            texts = ["mkdir", "-p", *options, *paths]  # every pod creates the directory, so it may exist
        line = " ".join(map(quote, texts))
        if texts[0] == "mkdir" and not all(path.startswith("/") for path in paths):
            self.loose.add(line)
        self.before.append(line)

    # -- steps

    def _srun(self, each: Statement, words: list[Word], own: dict[str, Value]) -> str:
        """A step, or several that start together with colons between them."""
        started, steps = self._arguments(each, words, own), len(self.steps)
        for number, component in enumerate(_components(started[1]) if started else ()):
            self._step(component, started[0] if started else {}, each, number)
        self._started(each)
        return STEP if len(self.steps) > steps else OMITTED if started else REFUSED

    def _mpirun(self, each: Statement, words: list[Word], own: dict[str, Value]) -> str:
        """A program that mpirun starts on the nodes of the job."""
        started = self._arguments(each, words, own)
        if started is None:
            return REFUSED
        env, arguments = started
        if made := launch(arguments, self.nodes[0], lambda name: self.written.get(self.path(name)), env, self.findings):
            spot = self.spot(each)
            self._check_words([(word, spot) for word in made.words])
            folder = self._started_in(None if self.in_container else self.folder, spot)
            self.steps.append(Step({}, made.words, env, tuple(self.before), folder, spot, self.batch, made))
        self._started(each)
        return STEP if made else REFUSED

    def _arguments(
        self, each: Statement, words: list[Word], own: dict[str, Value]
    ) -> tuple[dict[str, str], list[tuple[str, Position]]] | None:
        """The environment and the words of a step. None: bayplan cannot evaluate a word."""
        self.reached()
        spot = self.spot(each)
        for redirect in each.redirects:
            if redirect.operator in ("<", "<<", "<<<"):
                self.reads_input(spot)
        if file_of(each):
            self.outputs.append(spot)
        for value in own.values():
            if isinstance(value, Unknown):
                self.unknown(value, spot)
        env = {**self.env(), **{name: value for name, value in own.items() if isinstance(value, str)}}
        arguments: list[tuple[str, Position]] = []
        readable = True
        for word in words:
            self.files.clear()
            try:
                arguments += [(text, self.spot(word)) for text in self.fields((word,))]
            except UnknownError as problem:
                self.unknown(problem.value, self.spot(word))
                readable = False
            self.report_random(self.spot(word))
            for pattern in self.files:
                message = (
                    f"the shell replaces {shorten(pattern)} by the names of matching files; bayplan keeps it as it is"
                )
                self.findings.warning("W638", self.spot(word), message, "put it in quotes, or write out the names")
        return (env, arguments) if readable else None

    def _started(self, each: Statement) -> None:
        if each.end == "&" or self.in_background:
            self.open = True
        elif not self.open:
            self.batch += 1
        self.status, self.supposed = 0, True

    def _step(self, words: list[tuple[str, Position]], env: dict[str, str], each: Statement, number: int) -> None:
        spot = self.spot(each)
        options, at = parse(words, STEPS, self.findings)
        report_options((options,), self.findings, step=True)
        command = tuple(word for word, _ in words[at:])
        check_options((options,), self.findings, command)
        if not command:
            self.findings.error("W600", spot, "srun has no command", "add the program after the options")
            return
        if only_prints(base(command[0]), " ".join(command[1:])):
            if file_of(each):
                self.work.append(Work("srun", spot, file_of(each)))
            else:
                self.looks.setdefault(f"`srun {base(command[0])}`", spot)
            return
        self._check_words(words[at:])
        if (text := script(command)) is not None:
            for name in sorted(commands_in(command[text]) & programs.CLIENTS):
                hint = "run it in the batch script, and export what it prints to the step"
                self.findings.error("W611", spot, f"the task runs {name}, which needs Slurm: no pod has it", hint)
        if container := options.get("container-name"):
            label = container.value.partition(":")[0]
            if "container-image" in options:
                self.containers[label] = options["container-image"]
            elif label in self.containers:
                options = {**options, "container-image": self.containers[label]}
        folder, chdir = self.folder, options.get("chdir")
        if "container-image" in options or self.in_container:  # pyxis starts in the working directory of the image
            folder = None
            if (chdir := chdir or self.chdir) and "container-workdir" not in options:
                message = "bayplan drops --chdir: pyxis starts in the working directory of the image"
                self.findings.warning("W604", chdir.spot, message, "add --container-workdir to the srun line")
        elif chdir:
            folder = posixpath.join(folder, chdir.value) if isinstance(folder, str) else chdir.value
            if not folder.startswith("/"):
                folder = Unknown(f"cannot evaluate --chdir={chdir.value}", expansion.FOLDER_HINT.format("PWD"))
        if (mounts := options.get("container-mounts")) and re.search(r"(\A|,)\.", mounts.value):
            options = {**options, "container-mounts": self._absolute(mounts)}
        if export := options.get("export"):
            parts = [part.strip() for part in export.value.split(",") if part.strip()]
            named = dict(part.partition("=")[::2] for part in parts if "=" in part)
            everything = not parts or "ALL" in parts
            env = {**{name: value for name, value in env.items() if everything or name in parts}, **named}
        if "het-group" not in options and number:
            options = {**options, "het-group": UsedOption(STEPS["het-group"], str(number), spot)}
        started = self._started_in(folder, spot)
        mpi = options.get("mpi")
        launched = mpi and mpi.value != "none" and not _RANKED.search(" ".join(command))
        made = Launch(()) if launched else None
        self.steps.append(Step(options, command, env, tuple(self.before), started, spot, self.batch, made))

    def _check_words(self, words: Sequence[tuple[str, Position]]) -> None:
        """W609, W616: words of a program that are different in each task, or that have the names of all nodes."""
        for word, place in words:
            if expansion.MARK.search(word) and f"\0{expansion.RANK}:" in word:
                message = "the batch shell expands this variable to 0, so every task gets 0"
                hint = "let the task expand it: srun bash -c '... $SLURM_PROCID'"
                self.findings.warning("W616", place, message, hint)
        report_node_names(words, self.findings)

    def _started_in(self, folder: str | Unknown | None, spot: Position) -> str:
        """The directory of a step; empty: where the image or the script starts. W609."""
        if isinstance(folder, Unknown):
            self.unknown(folder, spot)
        if not isinstance(folder, str) or not folder:
            return ""
        self._starts_elsewhere(spot)
        return folder

    def _starts_elsewhere(self, spot: Position) -> None:
        """W609: what the script writes where it starts would be elsewhere for a pod with another directory."""
        if loose := next((line for line in self.before if line in self.loose), ""):
            why = f"`{shorten(loose)}` runs where the script starts, which is unknown; this command runs elsewhere"
            self.unknown(Unknown(why, expansion.FOLDER_HINT.format("PWD")), spot)

    def _absolute(self, mounts: UsedOption) -> UsedOption:
        """`--container-mounts=.:/work` from the working directory."""
        if not isinstance(self.folder, str):
            why = Unknown(
                f"cannot evaluate {mounts.value}: it begins in the directory that the script is submitted from"
            )
            self.unknown(why._replace(hint=expansion.FOLDER_HINT.format("PWD")), mounts.spot)
            return mounts._replace(value="")
        parts = [
            posixpath.normpath(posixpath.join(self.folder, part.partition(":")[0])) + ":" + part.partition(":")[2]
            if part.startswith(".")
            else part
            for part in mounts.value.split(",")
        ]
        return mounts._replace(value=",".join(parts))


SHELL_ONLY = frozenset(("trap", "getopts", "date", "hostname", "shopt"))
"""Commands that change the first node or its shell, which no pod can do."""

EXPORTS = "export -f"
"""Only bash can do it."""

_FILTERS = frozenset(("cat", "scontrol", "tee", "head", "tail", "sed", "awk", "grep", "sort", "tr", "cut"))
_LOGS = (">", ">>", "2>", "2>>", "&>", "&>>", "2>&", ">&")
_ONE = {name: UsedOption(STEPS[name], "1", Position()) for name in ("nodes", "ntasks")}


def report_node_names(texts: Iterable[tuple[str, Position]], findings: Findings) -> None:
    """W609, W616: the names of nodes in words and variables of a task, where the address of a pod is something else."""
    for text, place in texts:
        if f"\0{expansion.NODES}:" in text:
            hint = "use single nodes, as in $(scontrol show hostnames | head -n 1)"
            findings.error("W609", place, "the names of all nodes are unknown before the job starts", hint)
        for word in (each for each in _BETWEEN_WORDS.split(text) if f"\0{expansion.NODE}:" in each):
            if _FILE.search(word) or ("/" in word and "://" not in word):
                message = "the script names a file by its node; in pods the name is the address of the pod"
                findings.warning("W616", place, message, "use a name that does not depend on the node")
            elif _AROUND.search(word):
                message = "the script adds letters to the name of a node, but the address of a pod takes none"
                hint = "use only the name, and set `fabric` on the podSet for another network"
                findings.error("W609", place, message, hint)


_BETWEEN_WORDS = re.compile(r"[\s'\"=,;|&()<>]")
_FILE = re.compile(r"_\0node|\0(?:_|\.(?:log|txt|out|err|json|ya?ml|csv|pt)\b)")
_AROUND = re.compile(r"[\w.-]\0node:[0-9.]*\0|\0node:[0-9.]*\0(?:[\w-]|\.\w)")


def _writing(path: str, text: str) -> str:
    return f"printf %s {quote(text)} >{quote(path)}"


def _components(words: list[tuple[str, Position]]) -> list[list[tuple[str, Position]]]:
    """The parts between colons."""
    colons = [number for number, (word, _) in enumerate(words) if word == ":"]
    return [words[start + 1 : end] for start, end in pairwise((-1, *colons, len(words)))]
