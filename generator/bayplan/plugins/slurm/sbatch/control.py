"""Control flow of a batch shell: lists, pipelines, blocks, functions and command substitutions.

bayplan follows conditions with known values. A branch with an unknown condition may not start steps (W609), and bayplan
forgets what it sets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from bayplan.plugin import shorten
from bayplan.plugins.slurm.sbatch import programs, shell
from bayplan.plugins.slurm.sbatch.builtins import Body, Builtins
from bayplan.plugins.slurm.sbatch.conditions import Test
from bayplan.plugins.slurm.sbatch.expansion import (
    STATUS,
    Unknown,
    UnknownError,
    Value,
    mark,
    regular,
    unknown,
)
from bayplan.plugins.slurm.sbatch.options import Findings, Position
from bayplan.plugins.slurm.sbatch.programs import MPI, NO_EFFECT, QUIET, SETUP, base, file_of
from bayplan.plugins.slurm.sbatch.shell import ASSIGNMENT, Statement, UnreadableError, Word, statements

STARTS = re.compile(r"\b(?:srun|mpirun|mpiexec(?:\.hydra)?|orterun)\b")
WORDS = re.compile(r"[^\s;&|<>()`'\"${}]+")
MOST_CALLS = 1000
MOST_STATEMENTS = 20_000


STEP, EFFECT, OMITTED, REFUSED = "step", "effect", "omitted", "refused"
"""What a statement becomes: a step or a gang beside the steps; a change of the shell, or what every pod does too; a
named omission; an error."""


class Stop(Exception):  # noqa: N818
    """`break`, `continue`, `return` or `exit`, with its number."""

    def __init__(self, what: str, number: int) -> None:
        self.what, self.number = what, number


class Guard(NamedTuple):
    """A condition that holds because variables have no value: its place, and their names."""

    spot: Position
    names: tuple[str, ...] = ()


class Control(Builtins):
    """A shell whose simple commands a subclass interprets."""

    def __init__(self, body: Body, values: Mapping[str, str], given: Mapping[str, str], findings: Findings) -> None:
        super().__init__(body, values, given, findings)
        self.steps: list[Any] = []
        self.work: list[Any] = []
        self.functions: dict[str, tuple[str, Statement]] = {}  # with the text that it is from
        self.calls = self.count = self.loops = 0
        self.stops = False  # set -e
        self.in_background = False  # the current statement
        self.status: int | None = 0  # of the last command; None: unknown
        self.last: int | None = 0  # the status of the command before it, $?
        self.last_supposed = False  # that command was a step
        self.guard = Guard(Position())  # of the branch that runs
        self.fates: dict[Position, str] = {}  # of the statements that have run
        self.substituted: int | None = 0  # the status of the last command substitution
        self.why: Unknown | None = None  # why the last condition is unknown
        self.maybe = 0  # blocks around the current statement whose condition is unknown
        self.testing = 0  # conditions around it
        self.ends: Position | None = None  # where the script may have ended
        self.out: list[str] | None = None  # what a command substitution has printed
        self.quiet: dict[str, Position] = {}
        self.outputs: list[Position] = []

    def simple(self, each: Statement) -> str:
        """Interpret a simple command. What it becomes."""
        raise NotImplementedError

    def writes(self, items: Sequence[Statement]) -> str:
        """Commands that write a file."""
        raise NotImplementedError

    def first_node(self, items: Sequence[Statement], words: Sequence[Word], own: Mapping[str, Value] = {}) -> str:
        """Work that only the first node does."""
        raise NotImplementedError

    def value(self, name: str) -> Value:
        """The value of a variable, of `$?` and of PIPESTATUS."""
        if self.last_supposed and name in ("?", "PIPESTATUS"):
            return mark(STATUS) if name == "?" else dict.fromkeys(range(10), mark(STATUS))
        return str(self.last) if name == "?" and self.last is not None else super().value(name)

    def becomes(self, items: Sequence[Statement], fate: str) -> str:
        """Record what statements become, with those inside of them."""
        for each in items:
            self.fates[self.spot(each)] = fate
            self.becomes(each.inner, fate)
        return fate

    def too_deep(self, spot: Position) -> None:
        """W609."""
        message = f"the script calls functions more than {MOST_CALLS} times, or more than 30 inside each other"
        self.findings.error("W609", spot, message, "write out the commands of the functions")

    # -- lists and pipelines

    def run(self, parsed: Sequence[Statement]) -> None:
        """Run statements in order."""
        start, guard = 0, self.guard
        for number, each in enumerate(parsed):
            self.guard = guard
            if each.end in (";", "&", "\n") or number == len(parsed) - 1:
                self._and_or(parsed[start : number + 1])
                start = number + 1

    def _and_or(self, items: Sequence[Statement]) -> None:
        """Pipelines between `&&` and `||`."""
        background, before = items[-1].end == "&", self.in_background
        self.in_background = before or background
        folder, values = self.folder, dict(self.values) if background else {}
        start, operator = 0, ""
        self.missing.clear()
        for number, each in enumerate(items):
            if each.end in ("|", "|&") and number < len(items) - 1:
                continue
            pipeline = items[start : number + 1]
            if not operator or (self.status is not None and (self.status == 0) == (operator == "&&")):
                if operator:
                    self.guard = Guard(self.spot(items[0]), tuple(self.missing))
                self._pipeline(pipeline, checked=number < len(items) - 1)
            elif self.status is None:
                self.perhaps(partial(self._pipeline, pipeline, True), self.spot(pipeline[0]))
            elif self.supposed:
                self.only_fails(pipeline)
            start, operator = number + 1, each.end
        if background:
            self.folder, self.values, self.status = folder, values, 0
        self.in_background = before

    def _pipeline(self, items: Sequence[Statement], checked: bool = False) -> None:
        self.place = self.spot(items[0])
        self.last, self.last_supposed = self.status, self.supposed
        if len(items) > 1 or items[0].opened in ("", "[[", "((", "function"):  # in a block, $? is that before the block
            self.status, self.supposed = 0, False
        if len(items) == 1:
            self.statement(items[0])
        elif self.out is not None:
            self.out.append(self.through(items))
        elif any(self._is_step(each) for each in items):
            self._piped_step(items)
        else:
            self._piped(items)
        for each in items:
            if not self.frozen and self.out is None and self.spot(each) not in self.fates:
                message = f"bayplan does not know what `{shorten(self.raw(each))}` does"
                self.findings.error("W611", self.spot(each), message, "remove it, or move it into the task's command")
        if items[0].negated and self.status is not None:
            self.status = int(self.status == 0)
        elif self.status and self.stops and not checked and not self.testing:
            raise Stop("exit", self.status)

    def only_fails(self, items: Sequence[Statement]) -> None:
        """Statements that run only if a step fails, which ends the gang. W609: they start a step again."""
        self.becomes(items, OMITTED)
        spot = self.spot(items[0])
        names = programs.commands(items) | set().union(
            *(programs.commands((self.functions[name][1],)) for name in programs.commands(items) & {*self.functions})
        )
        again = names & (MPI | programs.CLIENTS - QUIET)
        if "requeue" in " ".join(map(self.raw, items)):
            hint = "remove it, import the script, and set `maxRestarts`, or `restartGangOnExitCodes` of the podSet"
            self.findings.error("W609", spot, "the script restarts the job if a step fails", hint)
        elif again:
            message, hint = f"{sorted(again)[0]} runs only if a step fails", "remove it: a failed step ends the job"
            if again & {*MPI, "srun"}:
                message, hint = "a step runs only if another one fails", hint.replace("it", "the second step", 1)
            self.findings.error("W609", spot, message, hint)
        for name in sorted(names - QUIET - again - {"exit", "return", "break", "continue"} - {*self.functions}):
            self.quiet.setdefault(name, spot)

    def _is_step(self, each: Statement) -> bool:
        if each.opened:
            return self.starts_step((each,))
        return any(base(word.raw) in MPI | {"srun"} for word in each.words)

    def starts_step(self, items: Sequence[Statement]) -> bool:
        raw = " ".join(self.raw(each) for each in items)
        names = self.functions.keys() & {*re.findall(r"[\w-]+", raw), *WORDS.findall(raw)}
        called = (self.functions[name] for name in names)
        return bool(STARTS.search(raw)) or any(
            STARTS.search((text or self.body.text)[each.start : each.stop]) for text, each in called
        )

    def raw(self, each: Statement) -> str:
        return self.source[each.start : each.stop]

    @property
    def source(self) -> str:
        """The text that the statements are from."""
        return self.frozen or self.body.text

    def _piped_step(self, items: Sequence[Statement]) -> None:
        """A step that prints into filters."""
        for number, each in enumerate(items):
            if not number:
                if self._is_step(each):
                    self.statement(each)
                    continue
                self.reads_input(self.spot(next(other for other in items if self._is_step(other))))
                self.becomes(items, REFUSED)
                return
            if self._is_step(each):
                self.reads_input(self.spot(each))
            elif each.opened or base(each.name) not in QUIET:
                hint = "move the pipe into the command: `bash -c 'program | filter'`"
                message = f'a step pipes its output into "{each.name or each.opened}", which is not a simple filter'
                self.findings.error("W609", self.spot(each), message, hint)
            elif file_of(each):
                self.outputs.append(self.spot(each))
            else:
                self.quiet.setdefault(each.name, self.spot(each))
            self.becomes((each,), OMITTED)
        self.status, self.supposed = 0, True

    def reached(self) -> None:
        """W609: the script may have ended before the current step or command."""
        if self.ends:
            message = "bayplan cannot know whether the script ends here, before its next step"
            self.findings.error("W609", self.ends, message, "write the value that decides it, or remove the `exit`")
            self.ends = None

    def reads_input(self, spot: Position) -> None:
        message = "a step reads its input from the batch script, which does not run in pods"
        self.findings.error("W609", spot, message, "let the command of the task read it")

    def _piped(self, items: Sequence[Statement]) -> None:
        """Commands of the first node that pass on what they print."""
        last = items[-1]
        if file_of(last) and not any(self._is_work(each._replace(redirects=())) for each in items):
            self.becomes(items, self.writes(items))
            self.status = None
            return
        self.becomes(items, OMITTED)
        if all(not each.opened and self.quietly(each) for each in items):
            for each in items:
                if file_of(each):
                    self.writes((each,))
                elif base(each.name) not in NO_EFFECT:
                    self.quiet.setdefault(base(each.name), self.spot(each))
            self.status = None
            return
        reader = base(last.name) in ("read", "mapfile", "readarray") or last.opened in ("while", "{", "(")
        if reader and not any(self._is_work(each) for each in items):
            self.perhaps(lambda: self.statement(last), self.spot(last))  # a subshell: what it sets is lost
            self.status = None
            return
        self.becomes(items, self.first_node(items, ()))

    def quietly(self, each: Statement) -> bool:
        """Whether a simple command only prints."""
        return programs.only_prints(base(each.name), " ".join(word.raw for word in each.words[1:]))

    def _is_work(self, each: Statement) -> bool:
        if each.opened:
            return any(self._is_work(inner) for inner in each.inner) or bool(file_of(each))
        name = base(next((word.raw for word in each.words if not ASSIGNMENT.match(word.raw)), ":"))
        known = QUIET | SETUP | {"read", "mapfile", "readarray", "export", "declare", "break", "continue", "exit", "cd"}
        return bool(file_of(each)) or name not in known | self.functions.keys()

    def through(self, items: Sequence[Statement]) -> str:
        """What a pipeline of a command substitution prints."""
        text: str | None = None
        for each in items:
            given, self.input = self.input, text
            try:
                text = self.output_of((each,))
            finally:
                self.input = given
        return text or ""

    # -- command substitutions

    def capture(self, text: str) -> str:
        """What a command substitution prints."""
        command = " ".join(text.split())
        command = re.sub(r"[\"']", "", command) if command.startswith("date") else command
        name = programs.COMMANDS_AS_VARIABLES.get(command) or ("RANDOM" if programs.NUMBER.fullmatch(command) else "")
        if name:
            return self.known(self.entry(name))
        hint = "write its output into the script"
        try:
            parsed = statements(text)
        except UnreadableError:
            raise unknown(f"$({command})", hint) from None
        frozen, self.frozen = self.frozen, text
        place = self.place
        try:
            return self.output_of(parsed)
        except UnknownError as problem:
            why = problem.value
            if STARTS.search(text):
                why = Unknown(f"the script reads what the step in $({shorten(command)}) prints", hint, refused=True)
            elif not why.unset and "--set" not in why.hint:
                why = Unknown(f"cannot evaluate $({shorten(command)}) without running the script", hint)
            raise UnknownError(why) from None
        finally:
            self.frozen, self.place = frozen, place

    def output_of(self, parsed: Sequence[Statement]) -> str:
        """What statements print in a subshell."""
        out, self.out = self.out, []
        steps, work, status = len(self.steps), len(self.work), self.status
        try:
            self._subshell(parsed)
            if len(self.steps) > steps or len(self.work) > work:
                raise unknown("a command")
            return "".join(self.out)
        finally:
            self.out, self.status, self.substituted = out, status, self.status
            del self.steps[steps:], self.work[work:]

    def _subshell(self, parsed: Sequence[Statement]) -> None:
        kept = dict(self.values), dict(self.exports), self.folder, self.given_arguments, self.stops
        try:
            self.run(parsed)
        except Stop as stop:
            if stop.what != "exit":
                raise
            self.status = stop.number
        finally:
            self.values, self.exports, self.folder, self.given_arguments, self.stops = kept

    # -- blocks

    def statement(self, each: Statement) -> None:
        self.count += 1
        if self.count == MOST_STATEMENTS:
            message = f"the script runs more than {MOST_STATEMENTS:,} commands before its steps"
            self.findings.error("W609", self.spot(each), message, "shorten its loops")
        if self.count >= MOST_STATEMENTS:
            raise Stop("exit", 1)
        fate = EFFECT
        try:
            if each.opened:
                self._block(each)
            else:
                fate = self.simple(each)
        except UnknownError as problem:
            if self.out is not None:
                raise
            if not self.testing:
                self.unknown(problem.value, self.spot(each))
                fate = REFUSED
            self.status, self.why = None, problem.value
        finally:
            if not self.frozen:
                self.fates[self.spot(each)] = fate

    def _block(self, each: Statement) -> None:
        if each.opened not in ("function", "[[", "((") and file_of(each) and self.out is None:
            if self.starts_step((each,)):
                self.outputs.append(self.spot(each))
            else:
                self.becomes(each.inner, self.writes((each,)))
                return
        given, self.input = self.input, self.given_to(each)
        try:
            self._opened(each)
        finally:
            self.input = given

    def given_to(self, each: Statement) -> str | None:
        """The input of a command: of its first redirection, or of the block around it. None: unknown."""
        read = next((redirect for redirect in each.redirects if redirect.operator in ("<", "<<", "<<<")), None)
        try:
            match read:
                case None:
                    return self.input
                case ("<<", _, here, is_plain):
                    return here if is_plain else self.text(shell.inside(here))
                case ("<<<", Word() as word, _, _):
                    return self.text(word) + "\n"
                case ("<", Word() as word, _, _) if word.pieces[0].kind == shell.PROCESS:
                    return self.capture(word.pieces[0].text)
        except UnknownError:
            pass
        return None

    def _opened(self, each: Statement) -> None:
        match each.opened:
            case "function":
                self.functions[each.words[0].raw] = (self.frozen, each.clauses[0].body[0])
            case "{":
                self.run(each.inner)
            case "(":
                self._subshell(each.inner)
            case "[[":
                self.decide(lambda: Test(each.words, self).value())
            case "((":
                self.calculate(each.words[0].pieces[0].text)
            case "if":
                self._if(each)
            case "case":
                self._case(each)
            case "while" | "until":
                self._while(each)
            case "for" if each.words[0].raw.startswith("(("):
                self._count(each)
            case "for":
                self._for(each)
            case _:
                self._unclear(each, each.clauses[0].body)

    def decide(self, condition: Callable[[], bool | None]) -> None:
        try:
            result, self.why = condition(), None
        except UnknownError as problem:
            result, self.why = None, problem.value
        self.status = None if result is None else int(not result)

    def calculate(self, text: str) -> None:
        self.decide(lambda: self.number(text) != 0)
        if self.why:
            for name in set(re.findall(r"[A-Za-z_]\w*", text)):
                self.forget(name, self.why, self.place)

    def _test(self, test: Sequence[Statement]) -> bool | None:
        self.testing += 1
        self.why = None
        try:
            self.run(test)
        finally:
            self.testing -= 1
        return None if self.status is None else self.status == 0

    def _if(self, each: Statement) -> None:
        for number, clause in enumerate(each.clauses):
            result = self._test(clause.test) if clause.test else True
            self.guard = Guard(self.spot(each), tuple(self.missing))
            if self.supposed and result is not None:
                for other in each.clauses[number + 1 :] if result else (clause,):
                    self.only_fails((*other.test, *other.body))
            if result:
                self.run(clause.body)
                return
            if result is None:
                rest = each.clauses[number:]
                why = self.why
                for other in rest:
                    self._unclear(each, other.body, why)
                return
        self.status = 0

    def _case(self, each: Statement) -> None:
        try:
            self.missing.clear()
            subject = self.settled(self.text(each.words[0]))
            self.guard = Guard(self.spot(each), tuple(self.missing))
            if "\0" in subject:
                raise unknown(each.words[0].raw)
            patterns = [[regular(self.pattern(word.pieces)) for word in clause.patterns] for clause in each.clauses]
        except UnknownError as problem:
            for clause in each.clauses:
                self._unclear(each, clause.body, problem.value)
            return
        falls = matched = False
        for clause, expressions in zip(each.clauses, patterns, strict=True):
            if not falls and not any(re.fullmatch(expression, subject, re.DOTALL) for expression in expressions):
                continue
            matched = True
            self.run(clause.body)
            falls = clause.end == ";&"
            if clause.end == ";;":
                return
        self.status = self.status if matched else 0

    def _unclear(self, each: Statement, body: Sequence[Statement], why: Unknown | None = None) -> None:
        """A branch or loop that only the running script enters or leaves."""
        if self.starts_step(body):
            if why and "--set" in why.hint:
                self.unknown(why, self.spot(each))
            else:
                where = {"if": "a branch", "case": "a branch"}.get(each.opened, "a loop")
                self._inside_block(self.spot(each), where)
            self.becomes(body, REFUSED)
            return
        self.perhaps(lambda: self.run(body), self.spot(each), why)
        self.status = None

    def _inside_block(self, spot: Position, what: str) -> None:
        hint = "write out each step, or move the logic into the command: `srun bash -c '...'`"
        message = f"a step is inside {what}, but bayplan must know all steps before the job starts"
        self.findings.error("W609", spot, message, hint)

    def perhaps(self, action: Callable[[], None], spot: Position, why: Unknown | None = None) -> None:
        """Run what the script may run or not. What it changes is unknown afterwards."""
        if self.out is not None:
            raise UnknownError(why or Unknown("cannot evaluate a condition without running the script"))
        values, folder, before = dict(self.values), self.folder, len(self.before)
        arguments, functions = self.given_arguments, dict(self.functions)
        steps, exports = len(self.steps), dict(self.exports)
        self.maybe += 1
        try:
            action()
        except Stop as stop:
            if stop.what in ("exit", "return") and stop.number:  # a check that fails; the job is over
                self.values, self.folder, self.exports, self.status = values, folder, exports, None
                return
            if stop.what in ("exit", "return"):
                self.ends = self.place
        finally:
            self.maybe -= 1
        if len(self.steps) > steps:
            self._inside_block(spot, "a branch")
        for name in {**values, **self.values}:
            if self.values.get(name) != values.get(name):
                hint = why.hint if why and "--set" in why.hint else f"use --set {name}=VALUE"
                self.forget(name, Unknown(f"cannot evaluate ${name}: a command that may not run sets it", hint), spot)
        for name in self.exports.keys() ^ exports.keys():
            if name not in self.given:
                reason = f"cannot evaluate the environment: a command that may not run exports {name}"
                self.doubtful[name] = Unknown(reason, f"use --set {name}=VALUE")
        if self.folder != folder:
            self.enter(
                Unknown("cannot evaluate the working directory: a `cd` that may not run sets it", "write `cd DIR`")
            )
        if self.given_arguments != arguments:
            self.given_arguments = Unknown(
                "cannot evaluate the arguments: a `set` or `shift` that may not run sets them"
            )
        for name, function in functions.items():
            if self.functions[name] != function:
                message = f"bayplan cannot know which function {name} the script calls"
                self.findings.error("W609", spot, message, "give the functions different names")
        for line in self.before[before:]:
            if not line.startswith("mkdir"):
                message = f"bayplan cannot know whether the script runs `{shorten(line)}`"
                self.findings.error("W609", spot, message, "run it always, or never")
        self.status = None

    def _for(self, each: Statement) -> None:
        try:
            items = self.without_files(each.words[1:])
        except UnknownError as problem:
            self.values[each.words[0].raw] = problem.value
            self._unclear(each, each.clauses[0].body, problem.value)
            return
        self.status = self.status if items else 0
        for item in items:
            self.values[each.words[0].raw] = item
            if not self._again(each.clauses[0].body):
                return

    def _again(self, body: Sequence[Statement]) -> bool:
        """Run the body of a loop. Whether the loop goes on."""
        self.loops += 1
        steps = len(self.steps)
        try:
            self.run(body)
        except Stop as stop:
            if stop.what not in ("break", "continue"):
                raise
            if len(self.steps) > steps and stop.what == "break":
                message = "a loop repeats a step until it succeeds, but a failed step ends the gang"
                hint = "remove the loop, import the script, and set `maxRestarts` of the gang"
                self.findings.error("W609", self.place, message, hint)
            if stop.number > 1:
                raise Stop(stop.what, stop.number - 1) from None
            return stop.what == "continue"
        finally:
            self.loops -= 1
        return True

    def _count(self, each: Statement) -> None:
        """`for ((i = 0; i < 4; i++))`."""
        start, condition, change = [*each.words[0].pieces[0].text.split(";"), "", ""][:3]
        self.number(start)
        while not condition.strip() or self.number(condition):
            if not self._again(each.clauses[0].body):
                break
            self.number(change)
        self.status = 0

    def _while(self, each: Statement) -> None:
        (clause,) = each.clauses
        if self.input is not None or "read" in [statement.name for statement in clause.test]:
            self._lines(each)
            return
        times = 0
        if self.starts_step(clause.test):
            self._inside_block(self.spot(each), "a condition")
        while (result := self._test(clause.test)) is not None and result == (each.opened == "while"):
            times += 1
            if times > MOST_CALLS:
                result = None
                break
            if not self._again(clause.body):
                break
        if result is None:
            self._unclear(each, clause.body, self.why)
        self.status = 0

    def _lines(self, each: Statement) -> None:
        """`while read -r line; do ... done <<< "$list"`."""
        (clause,) = each.clauses
        simple = len(clause.test) == 1 and not clause.test[0].opened and clause.test[0].words
        if (
            self.input is None
            or not simple
            or each.opened != "while"
            or not re.search(r"(?<![-\w])read\b", self.raw(clause.test[0]))
        ):
            for statement in clause.test:
                self.statement(statement)
            self._unclear(each, clause.body)
            return
        for line in self.input.removesuffix("\n").split("\n") if self.input else []:
            whole, self.input = self.input, f"{line}\n"
            try:
                self.statement(clause.test[0])
                self.input = None
                if not self._again(clause.body):
                    break
            finally:
                self.input = whole
        self.status = 0
