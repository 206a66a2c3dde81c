"""Interpret the statements of a script's body as the batch shell does: set variables and collect steps.

The batch shell runs only on the first node, so a command that is not a step concerns that node. bayplan leaves it out
if it only prints or inspects (W613) or sets up the node's software (W612). It repeats commands such as `mkdir` in every
pod. Any other command is work for a single node, which only a job of one node can have (W611).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import dropwhile, pairwise

from bayplan.core.phrases import shorten
from bayplan.core.values import NamedTuple
from bayplan.kube.shell import quote
from bayplan.workflows.sbatch import variables
from bayplan.workflows.sbatch.expansion import MARK, NODES, RANK, Scope, Unknown, Value, text
from bayplan.workflows.sbatch.options import STEPS, Findings, Position
from bayplan.workflows.sbatch.shape import Options, UsedOption, parse, report_options
from bayplan.workflows.sbatch.shell import ASSIGNMENT, Statement, UnreadableError, Word, statements
from bayplan.workflows.sbatch.variables import LAUNCHERS, NO_EFFECT, PER_POD, QUIET, SETUP, Body, Variables, after, base

# Options of which bayplan translates only some values.

CHANNEL = "unique-channel-per-segment"
"""switch/nvidia_imex: an IMEX channel for each segment (Slurm 25.11), as ComputeDomains of groups are."""


def check_options(sections: Iterable[Options], findings: Findings) -> None:
    """W603 and W604 for options of directives and steps of which bayplan translates only some values."""
    for option in (options[name] for options in sections for name in CHECKED_OPTIONS if name in options):
        value = shorten(option.value)
        match option.option.name:
            case "dependency" if option.value == "singleton":
                message = "bayplan drops --dependency=singleton: jobs with the same name may run at the same time"
                findings.warning("W604", option.spot, message, "create the objects after the other jobs end")
            case "dependency":
                message = f"bayplan cannot translate --dependency={value}: job numbers do not lead to scripts"
                hint = "put both jobs into one workflow as gangs, and connect them with `dependsOn`"
                findings.error("W603", option.spot, message, hint)
            case "distribution":
                first = option.value.partition(":")[0].partition(",")[0]
                if first == "arbitrary":
                    message = "bayplan cannot translate --distribution=arbitrary: it lists nodes"
                    findings.error("W603", option.spot, message, "use block")
                elif first not in ("block", "*", ""):
                    message = (
                        f"bayplan drops --distribution={first}: ranks follow the order of the nodes, as with block"
                    )
                    hint = "use one task for each node: the order then does not matter"
                    findings.warning("W604", option.spot, message, hint)
            case "network":
                for part in option.value.split(","):
                    if part != CHANNEL:
                        message = f'bayplan drops "{shorten(part)}" of --network: it configures Slurm\'s own switches'
                        findings.warning("W604", option.spot, message, "attach networks of the cluster with `fabric`")
            case "nodelist" if not MARK.search(option.value):
                message = "bayplan cannot translate --nodelist: only Slurm knows its node names"
                findings.error("W603", option.spot, message, "remove it, and choose nodes by `pool` and `placement`")
            case "mpi" if option.value != "none":
                message = f"bayplan cannot translate --mpi={value}: pods cannot reach Slurm's {value} server"
                findings.error("W603", option.spot, message, "let torchrun start the ranks, or write an MPIJob")
            case "chdir":
                message = "bayplan drops --chdir: pods start in the working directory of their image"
                findings.warning("W604", option.spot, message, "add --container-workdir to the srun line")


CHECKED_OPTIONS = ("dependency", "distribution", "network", "nodelist", "mpi", "chdir")


SRUN = re.compile(r"\bsrun\b")
CALLS = 1000


class Step(NamedTuple):
    """One program of an srun line: its options, its command and its environment."""

    options: Mapping[str, UsedOption]
    command: tuple[str, ...]
    env: Mapping[str, str]
    before: tuple[str, ...]  # shell lines that every pod runs first
    folder: str
    spot: Position
    batch: int  # steps of one batch run at the same time


class BodyResult(NamedTuple):
    """What a body does."""

    steps: tuple[Step, ...] = ()
    work: tuple[Statement, ...] = ()  # commands of the first node
    words: tuple[str, ...] = ()  # words of the only command, if bayplan could evaluate them
    env: Mapping[str, str] = {}
    before: tuple[str, ...] = ()
    folder: str = ""
    stops: bool = False  # set -e


def run_body(body: Body, scope: Scope, exported: Mapping[str, str], findings: Findings) -> BodyResult | None:
    """What the body does. R150: a shell refuses it; W609 to W613, W616, W621: what bayplan cannot translate."""
    try:
        parsed = statements(body.text)
    except UnreadableError as problem:
        hint = "run `bash -n` on the script for details"
        findings.error("R150", body.spot(min(problem.start, len(body.text))), problem.message, hint)
        return None
    interpreter = _Interpreter(body, scope, exported, findings)
    interpreter.run(parsed)
    return interpreter.result()


class _Interpreter(Variables):
    """The state of a batch shell."""

    def __init__(self, body: Body, scope: Scope, exported: Mapping[str, str], findings: Findings) -> None:
        super().__init__(body, scope, exported, findings)
        self.steps: list[Step] = []
        self.work: list[Statement] = []
        self.words: tuple[str, ...] = ()
        self.functions: dict[str, Statement] = {}
        self.inside: tuple[str, ...] = ()
        self.calls = 0
        self.folder, self.batch, self.stops = "", 0, False
        self.open = self.in_background = False  # steps are running in the background; the current statement does
        self.quiet: dict[str, Position] = {}
        self.looks: dict[str, Position] = {}
        self.outputs: list[Position] = []
        self.setup: dict[str, Position] = {}

    def result(self) -> BodyResult:
        """The result, after all statements."""
        for spot in list(self.setup.values())[:1]:
            shown = ", ".join(f"`{each}`" for each in self.setup)
            message = f"pods have the software of their image, not of Slurm's nodes: bayplan leaves out {shown}"
            self.findings.warning(
                "W612", spot, message, "put the software into the image, or set its variables with `export`"
            )
        for spot in list(self.quiet.values())[:1]:
            shown = ", ".join(self.quiet)
            message = f"bayplan leaves out commands that concern only Slurm's first node: {shown}"
            self.findings.info("W613", spot, message, "check that no task needs them")
        for spot in list(self.looks.values())[:1]:
            message = f"bayplan leaves out steps that only inspect their nodes: {', '.join(self.looks)}"
            self.findings.info("W613", spot, message, "inspect a running pod with `kubectl exec`")
        for spot in self.outputs[:1]:
            message = "bayplan leaves out output files: pods print to their log"
            self.findings.info("W613", spot, message, "read the log with `kubectl logs`")
        return BodyResult(
            tuple(self.steps), tuple(self.work), self.words, self.env(), tuple(self.before), self.folder, self.stops
        )

    # -- statements

    def run(self, statements: Sequence[Statement]) -> None:
        """Run statements in order."""
        piped = step = False
        for number, each in enumerate(statements):
            follows = statements[number + 1] if number + 1 < len(statements) else None
            if piped and step:
                self._filter(each)
            elif piped and base(each.name) == "srun":
                self._reads_input(self.spot(each))
            elif each.opened:
                self._block(each)
            else:
                self._simple(each, follows)
            step = step if piped else self._has_step(each)
            piped = each.end in ("|", "|&")

    def _has_step(self, each: Statement) -> bool:
        """Whether the statement is a step, or a block with one."""
        if each.opened:
            return bool(SRUN.search(self.body.text[each.start : each.stop]))
        return any(base(word.raw) == "srun" for word in each.words)

    def _filter(self, each: Statement) -> None:
        """A command that reads the output of a step."""
        if each.opened or base(each.name) not in QUIET:
            hint = "move the pipe into the command: `bash -c 'program | filter'`"
            message = f'a step pipes its output into "{each.name}", which is not a simple filter'
            self.findings.error("W610", self.spot(each), message, hint)
        elif variables.file_of(each):
            self.outputs.append(self.spot(each))
        else:
            self.quiet.setdefault(each.name, self.spot(each))

    def _reads_input(self, spot: Position) -> None:
        message = "a step reads its input from the batch script, which does not run in pods"
        self.findings.error("W610", spot, message, "let the command of the task read it")

    def _block(self, each: Statement) -> None:
        raw = self.body.text[each.start : each.stop]
        if each.opened == "function":
            steps = SRUN.search(raw)
            self.functions[each.words[0].raw if each.words else ""] = each._replace(inner=() if steps else each.inner)
            if steps:
                self._inside_block(each, "a function")
        elif each.opened in ("{", "(") and (SRUN.search(raw) or not variables.file_of(each)):
            in_background = self.in_background
            self.in_background = in_background or each.end == "&"
            self.run(each.inner)
            self.in_background = in_background
        elif SRUN.search(raw):
            self._inside_block(each, {"if": "a branch", "case": "a branch"}.get(each.opened, "a loop"))
        elif variables.harmless(each, self.functions):
            for name in variables.assigned(each.inner):
                self.assign(
                    name,
                    Unknown(f"cannot evaluate ${name}: it is set inside `{each.opened}`", f"use --set {name}=VALUE"),
                )
        else:
            self.work.append(each)

    def _inside_block(self, each: Statement, what: str) -> None:
        hint = "write out each step, or move the logic into the command: `srun bash -c '...'`"
        message = f"a step is inside {what}, but bayplan must know all steps before the job starts"
        self.findings.error("W610", self.spot(each), message, hint)

    def _simple(self, each: Statement, follows: Statement | None) -> None:
        words = list(dropwhile(lambda word: ASSIGNMENT.match(word.raw), each.words))
        own: dict[str, Value] = {}
        for word in each.words[: len(each.words) - len(words)]:
            if (assignment := ASSIGNMENT.match(word.raw)) and words:
                own[assignment[1]] = self._text(after(word, len(assignment[0])), word.start)
            elif assignment:
                self._assign(word, assignment)
        if words:
            self._command(each, words, own, follows)

    def _command(self, each: Statement, words: list[Word], own: dict[str, Value], follows: Statement | None) -> None:
        while len(words) > 1 and words[0].raw in ("exec", "time", "nohup", "command", "builtin", "stdbuf"):
            words.pop(0)
        name = base(words[0].raw)
        if name == "srun":
            self._srun(each, words[1:], own, follows)
        elif name in ("export", "declare", "typeset", "readonly", "local"):
            self._export(each, words)
        elif name in ("mapfile", "readarray", "read"):
            self._read(each, words)
        elif name == "unset":
            for word in words[1:]:
                for table in (self.texts, self.lists, self.exports):
                    table.pop(word.raw, None)
        elif name == "set":
            self.stops |= any(re.fullmatch(r"-[a-z]*e[a-z]*", word.raw) for word in words[1:])
        elif name == "wait":
            self.batch += self.open
            self.open = False
        elif name == "cd":
            value = text(words[1], self.scope) if len(words) > 1 else ""
            if isinstance(value, str) and value.startswith("/") and "\0" not in value:
                self.folder = self.texts["PWD"] = value
        elif name in self.functions:
            self._call(name)
        elif name == ":":
            self._defaults(words)
        elif name == "exec" and each.redirects:
            self.outputs.append(self.spot(each))
        elif variables.file_of(each) and name in QUIET:
            self._work(each, words)
        elif name in NO_EFFECT:
            pass
        elif name in QUIET:
            self.quiet.setdefault(name, self.spot(each))
        elif name in PER_POD:
            self._per_pod(words)
        elif name in SETUP:
            self.setup.setdefault(" ".join(word.raw for word in words)[:60], self.spot(each))
        elif name in LAUNCHERS:
            hint = "start the program with srun, or use an MPIJob on Kubernetes"
            self.findings.error(
                "W611", self.spot(each), f'"{name}" starts programs on other nodes, which pods cannot do', hint
            )
        else:
            self._work(each, words)

    def _call(self, name: str) -> None:
        """A call runs the body of the function. A function that calls itself runs once."""
        self.calls += 1
        if name not in self.inside and self.calls <= CALLS:
            self.inside = (*self.inside, name)
            self.run(self.functions[name].inner)
            self.inside = self.inside[:-1]
        elif self.calls == CALLS + 1:
            spot = self.spot(self.functions[name])
            message = f"the script calls functions more than {CALLS} times"
            self.findings.error("W610", spot, message, "write out the commands of the functions")

    def _work(self, each: Statement, words: list[Word]) -> None:
        readable = all(redirect.operator in _LOGS for redirect in each.redirects)
        texts = self._split_all(words) if readable else []
        alone = not self.work and each.end in ("\n", ";") and base(words[0].raw) not in QUIET
        self.words = tuple(texts) if alone and not isinstance(texts, Unknown) else ()
        if self.words and each.redirects:
            self.outputs.append(self.spot(each))
        self.work.append(each)

    def _per_pod(self, words: list[Word]) -> None:
        texts: list[str] = []
        for word in words:
            parts = self._split(word)
            if isinstance(parts, Unknown):
                self.unknown(parts, self.spot(word))
                return
            texts += parts
        if texts[0] == "mkdir" and "-p" not in texts:
            texts.insert(1, "-p")  # every pod creates the directory, so it may exist
        self.before.append(" ".join(map(quote, texts)))

    # -- steps

    def _srun(self, each: Statement, words: list[Word], own: dict[str, Value], follows: Statement | None) -> None:
        """A step, or several that start together with colons between them."""
        spot = self.spot(each)
        if each.end == "||" and follows and base(follows.name) == "srun":
            hint = "remove the second step: a failed step ends the job"
            self.findings.error("W610", spot, "a step runs only if another one fails", hint)
        for redirect in each.redirects:
            if redirect.operator in ("<", "<<", "<<<"):
                self._reads_input(spot)
            elif variables.file_of(each):
                self.outputs.append(spot)
        env = {**self.env(), **{name: value for name, value in own.items() if isinstance(value, str)}}
        for value in own.values():
            if isinstance(value, Unknown):
                self.unknown(value, spot)
        arguments: list[tuple[str, Position]] = []
        readable = True
        for word in words:
            parts = self._split(word)
            if isinstance(parts, Unknown):
                self.unknown(parts, self.spot(word))
                parts, readable = [], False
            arguments += [(part, self.spot(word)) for part in parts]
        if not readable:
            return
        for number, component in enumerate(_components(arguments)):
            self._step(component, env, each, number)
        if each.end == "&" or self.in_background:
            self.open = True
        elif not self.open:
            self.batch += 1

    def _step(self, words: list[tuple[str, Position]], env: dict[str, str], each: Statement, number: int) -> None:
        spot = self.spot(each)
        options, at = parse(words, STEPS, self.findings)
        report_options((options,), self.findings, step=True)
        check_options((options,), self.findings)
        command = tuple(word for word, _ in words[at:])
        if not command:
            self.findings.error("W600", spot, "srun has no command", "add the program after the options")
            return
        if base(command[0]) in QUIET and not {"bash", "sh"} & {base(command[0])}:
            if variables.file_of(each):
                self.work.append(each)
            else:
                self.looks.setdefault(f"`srun {base(command[0])}`", spot)
            return
        for word, place in words[at:]:
            if MARK.search(word) and f"\0{RANK}:" in word:
                message = "the batch shell expands this variable to 0, so every task gets 0"
                hint = "let the task expand it: srun bash -c '... $SLURM_PROCID'"
                self.findings.warning("W616", place, message, hint)
            if f"\0{NODES}:" in word:
                hint = "use single nodes, as in $(scontrol show hostnames | head -n 1)"
                self.findings.error("W609", place, "the names of all nodes are unknown before the job starts", hint)
        if "het-group" not in options and number:
            options = {**options, "het-group": UsedOption(STEPS["het-group"], str(number), spot)}
        self.steps.append(Step(options, command, env, tuple(self.before), self.folder, spot, self.batch))


_LOGS = (">", ">>", "2>", "2>>", "&>", "&>>", "2>&", ">&")


def _components(words: list[tuple[str, Position]]) -> list[list[tuple[str, Position]]]:
    """The parts between colons."""
    colons = [number for number, (word, _) in enumerate(words) if word == ":"]
    return [words[start + 1 : end] for start, end in pairwise((-1, *colons, len(words)))]
