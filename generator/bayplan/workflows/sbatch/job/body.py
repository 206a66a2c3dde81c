"""The statements of a script's body, gone through as the batch shell would: variables are set, steps are found.

The batch shell runs on the first node alone, so a command that is no step is about that node: it is left out where it
only prints or looks (W613), or sets up the node's software (W612); it is repeated in every pod where that is the same
(`mkdir`); anything else is work for a single node, which only a job of one node can hold.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import dropwhile

from bayplan.values import NamedTuple
from bayplan.workflows.sbatch.findings import Findings, Spot
from bayplan.workflows.sbatch.job import effects, special
from bayplan.workflows.sbatch.job.given import Given, parse, sort
from bayplan.workflows.sbatch.job.known import EACH, LAUNCHERS, QUIET, SETUP, SILENT, base
from bayplan.workflows.sbatch.options import STEPS
from bayplan.workflows.sbatch.shell.idioms import output
from bayplan.workflows.sbatch.shell.statements import ASSIGNMENT, Redirect, Statement, statements
from bayplan.workflows.sbatch.shell.values import BY_CHANCE, MARK, NODES, RANK, Scope, Unknown, Value, split, text
from bayplan.workflows.sbatch.shell.words import ARRAY, BRACE, PROCESS, TEXT, Piece, UnreadableError, Word
from bayplan.workflows.sbatch.shell.words import inside as pieces_of

SRUN = re.compile(r"\bsrun\b")
CALLS = 1000
DRAWN = "10000"
"""What stands for a number that bash draws."""

PORT = "29500"
"""The port that bayplan gives every gang (`kube/ranks.py`); a pod's ports are its own."""


class Step(NamedTuple):
    """One program of an srun line: its options, its command, and the variables that it finds."""

    options: Mapping[str, Given]
    command: tuple[str, ...]
    env: Mapping[str, str]
    before: tuple[str, ...]  # lines of shell that every pod runs first
    folder: str
    spot: Spot
    batch: int  # steps of one batch run at the same time


class Walked(NamedTuple):
    """What a body does."""

    steps: tuple[Step, ...] = ()
    work: tuple[Statement, ...] = ()  # commands of the first node
    words: tuple[str, ...] = ()  # those of the only one, where it could be read
    env: Mapping[str, str] = {}
    before: tuple[str, ...] = ()
    folder: str = ""
    stops: bool = False  # set -e


class Body:
    """The text of a body, and the line of the script in which it starts."""

    def __init__(self, text: str, line: int) -> None:
        self.text, self.line = text, line
        self.starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def spot(self, offset: int) -> Spot:
        """The place of an offset."""
        row = bisect_right(self.starts, offset) - 1
        return Spot(self.line + row, offset - self.starts[row] + 1)


def walk(body: Body, scope: Scope, exported: Mapping[str, str], findings: Findings) -> Walked | None:
    """What the body does. R151: no shell would read it; W609 to W613, W618, W621: what cannot be carried."""
    try:
        found = statements(body.text)
    except UnreadableError as problem:
        hint = "`bash -n` says more"
        findings.error("R151", body.spot(min(problem.start, len(body.text))), problem.message, hint)
        return None
    walker = _Walker(body, scope, exported, findings)
    walker.run(found)
    return walker.result()


class _Walker:
    """The state of a batch shell."""

    def __init__(self, body: Body, scope: Scope, exported: Mapping[str, str], findings: Findings) -> None:
        self.body, self.findings = body, findings
        self.given = dict(exported)
        self.texts: dict[str, Value] = {**scope.texts, **exported}
        self.lists: dict[str, tuple[str, ...]] = dict(scope.lists)
        self.sections = scope.sections
        self.exports: dict[str, None] = dict.fromkeys(exported)
        self.before: list[str] = []
        self.steps: list[Step] = []
        self.work: list[Statement] = []
        self.words: tuple[str, ...] = ()
        self.functions: dict[str, Statement] = {}
        self.inside: tuple[str, ...] = ()
        self.calls = 0
        self.folder, self.batch, self.stops = "", 0, False
        self.open = self.apart = False  # steps run in the background; what stands here does
        self.quiet: dict[str, Spot] = {}
        self.looks: dict[str, Spot] = {}
        self.outputs: list[Spot] = []
        self.setup: dict[str, Spot] = {}

    def result(self) -> Walked:
        """What was found, once all statements are through."""
        for spot in list(self.setup.values())[:1]:
            shown = ", ".join(f"`{each}`" for each in self.setup)
            message = f"{shown}: this sets up the software of Slurm's nodes, and a pod has that of its image"
            self.findings.warning("W612", spot, message, "put it into the image, or set the variables with `export`")
        for spot in list(self.quiet.values())[:1]:
            shown = ", ".join(self.quiet)
            message = f"left out, since it is about Slurm's first node alone: {shown}"
            self.findings.info("W613", spot, message, "no task can miss it")
        for spot in list(self.looks.values())[:1]:
            message = f"steps that only look at their nodes are left out: {', '.join(self.looks)}"
            self.findings.info("W613", spot, message, "`kubectl exec` looks into a pod while it runs")
        for spot in self.outputs[:1]:
            message = "the files that output goes to are left out: what a pod prints is its log"
            self.findings.info("W613", spot, message, "`kubectl logs` shows it")
        return Walked(
            tuple(self.steps), tuple(self.work), self.words, self.env(), tuple(self.before), self.folder, self.stops
        )

    @property
    def scope(self) -> Scope:
        """The variables as they are now."""
        return Scope(self.texts, self.lists, self.sections, output)

    def env(self) -> dict[str, str]:
        """What tasks find in their environment."""
        held = {name: self.texts.get(name) for name in self.exports}
        return {name: value for name, value in held.items() if isinstance(value, str)}

    def spot(self, statement: Statement | Word) -> Spot:
        """Where it stands."""
        return self.body.spot(statement.start)

    def _text(self, word: Word | Sequence[Piece], at: int) -> Value:
        """The text of a word."""
        found = text(word, self.scope)
        return text(word, self._drawn(at)) if isinstance(found, Unknown) and found.drawn else found

    def _split(self, word: Word) -> list[str] | Unknown:
        """The words that a word becomes."""
        found = split(word, self.scope)
        return split(word, self._drawn(word.start)) if isinstance(found, Unknown) and found.drawn else found

    def _drawn(self, at: int) -> Scope:
        """The variables, and a number in place of what bash draws."""
        message = f"the script draws a number; here it is {DRAWN}, for all tasks and in every run"
        self.findings.info("W621", self.body.spot(at), message, "tasks that share a number meet as before")
        return self.scope._replace(texts={**self.texts, **dict.fromkeys(BY_CHANCE, DRAWN)})

    def unknown(self, value: Unknown, spot: Spot) -> None:
        """W609."""
        self.findings.error("W609", spot, value.why, value.hint or "write what it gives into the script")

    # -- statements

    def run(self, found: Sequence[Statement]) -> None:
        """One after the other."""
        piped = step = False
        for number, each in enumerate(found):
            follows = found[number + 1] if number + 1 < len(found) else None
            if piped and step:
                self._filter(each)
            elif piped and base(each.name) == "srun":
                self._fed(self.spot(each))
            elif each.opened:
                self._block(each)
            else:
                self._simple(each, follows)
            step = step if piped else self._steps(each)
            piped = each.end in ("|", "|&")

    def _steps(self, each: Statement) -> bool:
        """Whether it is a step, or a block with one."""
        if each.opened:
            return bool(SRUN.search(self.body.text[each.start : each.stop]))
        return any(base(word.raw) == "srun" for word in each.words)

    def _filter(self, each: Statement) -> None:
        """What a step's output goes through."""
        if each.opened or base(each.name) not in QUIET:
            hint = "let the command do it: `bash -c 'program | filter'`"
            self.findings.error("W610", self.spot(each), f'the output of a step goes into "{each.name}"', hint)
        elif effects.file_of(each):
            self.outputs.append(self.spot(each))
        else:
            self.quiet.setdefault(each.name, self.spot(each))

    def _fed(self, spot: Spot) -> None:
        message = "the step reads from the batch script, which is not there"
        self.findings.error("W610", spot, message, "let the command read it")

    def _block(self, each: Statement) -> None:
        raw = self.body.text[each.start : each.stop]
        if each.opened == "function":
            steps = SRUN.search(raw)
            self.functions[each.words[0].raw if each.words else ""] = each._replace(inner=() if steps else each.inner)
            if steps:
                self._around(each, "a function")
        elif each.opened in ("{", "(") and (SRUN.search(raw) or not effects.file_of(each)):
            apart = self.apart
            self.apart = apart or each.end == "&"
            self.run(each.inner)
            self.apart = apart
        elif SRUN.search(raw):
            self._around(each, {"if": "a branch", "case": "a branch"}.get(each.opened, "a loop"))
        elif effects.harmless(each, self.functions):
            for name in effects.assigned(each.inner):
                self.assign(
                    name, Unknown(f"${name} is set inside of `{each.opened}`", f"give it with --set {name}=VALUE")
                )
        else:
            self.work.append(each)

    def _around(self, each: Statement, what: str) -> None:
        hint = "write a step for each case, or put the decision into the command: `srun bash -c '...'`"
        message = f"a step stands inside {what}, and which steps there are must be known before the job starts"
        self.findings.error("W610", self.spot(each), message, hint)

    def _simple(self, each: Statement, follows: Statement | None) -> None:
        words = list(dropwhile(lambda word: ASSIGNMENT.match(word.raw), each.words))
        own: dict[str, Value] = {}
        for word in each.words[: len(each.words) - len(words)]:
            if (found := ASSIGNMENT.match(word.raw)) and words:
                own[found[1]] = self._text(_after(word, len(found[0])), word.start)
            elif found:
                self._assign(word, found)
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
                self.texts.pop(word.raw, None)
                self.lists.pop(word.raw, None)
                self.exports.pop(word.raw, None)
        elif name == "set":
            self.stops |= any(re.fullmatch(r"-[a-z]*e[a-z]*", word.raw) for word in words[1:])
        elif name == "wait":
            self._waited()
        elif name == "cd":
            self._folder(words)
        elif name in self.functions:
            self._call(name)
        elif name == ":":
            self._defaults(words)
        elif name == "exec" and each.redirects:
            self.outputs.append(self.spot(each))
        elif effects.file_of(each) and name in QUIET:
            self._work(each, words)
        elif name in SILENT:
            pass
        elif name in QUIET:
            self.quiet.setdefault(name, self.spot(each))
        elif name in EACH:
            self._each(words)
        elif name in SETUP:
            self.setup.setdefault(" ".join(word.raw for word in words)[:60], self.spot(each))
        elif name in LAUNCHERS:
            hint = "start the program with srun, or on Kubernetes with an MPIJob"
            self.findings.error("W611", self.spot(each), f'"{name}" starts programs on other nodes by itself', hint)
        else:
            self._work(each, words)

    def _call(self, name: str) -> None:
        """A function is what stands in it; where it calls itself, once."""
        self.calls += 1
        if name not in self.inside and self.calls <= CALLS:
            self.inside = (*self.inside, name)
            self.run(self.functions[name].inner)
            self.inside = self.inside[:-1]
        elif self.calls == CALLS + 1:
            spot = self.spot(self.functions[name])
            self.findings.error("W610", spot, f"functions are called more than {CALLS} times", "write out what they do")

    def _work(self, each: Statement, words: list[Word]) -> None:
        found: list[str] = []
        for word in words:
            parts = self._split(word)
            if isinstance(parts, Unknown) or any(redirect.operator not in _LOGS for redirect in each.redirects):
                found = []
                break
            found += parts
        alone = not self.work and each.end in ("\n", ";") and base(words[0].raw) not in QUIET
        self.words = tuple(found) if alone else ()
        if self.words and each.redirects:
            self.outputs.append(self.spot(each))
        self.work.append(each)

    # -- variables

    def _assign(self, word: Word, found: re.Match[str]) -> None:
        name, adds = found[1], bool(found[2])
        pieces = _after(word, len(found[0]))
        if len(pieces) == 1 and pieces[0].kind == ARRAY:
            self._list(name, pieces[0].text, adds)
            return
        value = text(pieces, self.scope) if _port(name) else self._text(pieces, word.start)
        if adds and isinstance(value, str) and isinstance(self.texts.get(name, ""), str):
            value = f"{self.texts.get(name, '')}{value}"
        self.assign(name, value, word.start)

    def assign(self, name: str, value: Value, at: int = 0) -> None:
        """A variable gets a value. What --set gives stands in for what is not known."""
        if isinstance(value, Unknown) and name in self.given:
            value = self.given[name]
        if isinstance(value, Unknown) and _port(name):
            value = PORT
            message = f"the script looks for a free port for {name}; here it is {PORT}"
            self.findings.info("W621", self.body.spot(at), message, "each pod has ports of its own")
        self.lists.pop(name, None)
        self.texts[name] = value

    def _defaults(self, words: list[Word]) -> None:
        """`: ${NAME:=default}` gives a variable a value that has none."""
        for word in words:
            for piece in word.pieces:
                found = re.match(r"([A-Za-z_]\w*):?=", piece.text) if piece.kind == BRACE else None
                if found:
                    self.assign(found[1], text([piece], self.scope), word.start)

    def _list(self, name: str, inside: str, adds: bool) -> None:
        held: list[str] = list(self.lists.get(name, ())) if adds else []
        try:
            found = statements(inside.replace("\n", " "))
        except UnreadableError:
            found = ()
        for word in found[0].words if len(found) == 1 else ():
            parts = self._split(word)
            if isinstance(parts, Unknown):
                self.assign(name, parts)
                return
            held += parts
        if len(found) > 1:
            self.assign(name, Unknown(f"the list {name} takes running the script"))
            return
        self.texts.pop(name, None)
        self.lists[name] = tuple(held)

    def _export(self, each: Statement, words: list[Word]) -> None:
        exports = words[0].raw == "export" or any(re.fullmatch(r"-[a-z]*x[a-z]*", word.raw) for word in words)
        for word in words[1:]:
            if word.raw.startswith("-"):
                continue
            found = ASSIGNMENT.match(word.raw)
            name = found[1] if found else word.raw
            if found:
                self._assign(word, found)
            if not exports or not re.fullmatch(r"[A-Za-z_]\w*", name):
                continue
            value = self.scope.text(name)
            if isinstance(value, str):
                self.exports[name] = None
            elif found and _grows(name, _after(word, len(found[0]))):
                self._grow(name, word, found)
            elif found:
                self.unknown(value, self.spot(word))

    def _grow(self, name: str, word: Word, found: re.Match[str]) -> None:
        """`export PATH=/opt/bin:$PATH`: every pod adds to what its image has."""
        scope = Scope({**self.texts, name: f"\0rank:9{len(name)}\0"}, self.lists, self.sections, output)
        value = text(_after(word, len(found[0])), scope)
        if isinstance(value, Unknown) or RANK in value.replace(f"\0rank:9{len(name)}\0", ""):
            self.unknown(value if isinstance(value, Unknown) else Unknown(f"${name} is not known"), self.spot(word))
            return
        parts = [quoted(part) if part else "" for part in value.split(f"\0rank:9{len(name)}\0")]
        variable = f'"${{{name}-}}"'
        self.before.append(f"export {name}={variable.join(parts)}")
        self.texts.pop(name, None)

    def _read(self, each: Statement, words: list[Word]) -> None:
        """`mapfile -t nodes < <(...)`, `read -r -d '' text <<'END'`, `read -a nodes <<< "$list"`."""
        names = [word.raw for word in words[1:] if re.fullmatch(r"[A-Za-z_]\w*", word.raw)]
        name, source = (names[-1] if names else "REPLY"), next(iter(each.redirects), None)
        value = self._input(source)
        if isinstance(value, Unknown):
            self.assign(name, value)
        elif words[0].raw in ("mapfile", "readarray"):
            self.texts.pop(name, None)
            self.lists[name] = tuple(value.splitlines())
        elif any(re.fullmatch(r"-[a-z]*a", word.raw) for word in words):
            self.texts.pop(name, None)
            self.lists[name] = tuple(value.split())
        else:
            whole = any(word.raw == "-d" or word.raw.startswith("-d") for word in words)
            self.assign(name, value if whole else value.partition("\n")[0])

    def _input(self, source: Redirect | None) -> Value:
        if source is None:
            return Unknown("what is read comes from nowhere")
        if source.operator == "<<":
            return source.here if source.plain else text(pieces_of(source.here), self.scope)
        if source.operator == "<<<" and source.word:
            return text(source.word, self.scope)
        if source.operator == "<" and source.word and [p.kind for p in source.word.pieces] == [PROCESS]:
            return output(source.word.pieces[0].text, self.scope)
        return Unknown("what a file holds is not known")

    def _folder(self, words: list[Word]) -> None:
        value = text(words[1], self.scope) if len(words) > 1 else ""
        if isinstance(value, str) and value.startswith("/") and "\0" not in value:
            self.folder = self.texts["PWD"] = value

    def _each(self, words: list[Word]) -> None:
        found: list[str] = []
        for word in words:
            parts = self._split(word)
            if isinstance(parts, Unknown):
                self.unknown(parts, self.spot(word))
                return
            found += parts
        if found[0] == "mkdir" and "-p" not in found:
            found.insert(1, "-p")  # the folder may be there: every pod makes it
        self.before.append(" ".join(map(quoted, found)))

    # -- steps

    def _waited(self) -> None:
        if self.open:
            self.batch += 1
        self.open = False

    def _srun(self, each: Statement, words: list[Word], own: dict[str, Value], follows: Statement | None) -> None:
        """A step; with colons between, several that start together."""
        spot = self.spot(each)
        if each.end == "||" and follows and base(follows.name) == "srun":
            hint = "a step that fails ends the job; leave the second one out"
            self.findings.error("W610", spot, "a step stands in for one that failed", hint)
        for redirect in each.redirects:
            if redirect.operator in ("<", "<<", "<<<"):
                self._fed(spot)
            elif effects.file_of(each):
                self.outputs.append(spot)
        env = {**self.env(), **{name: value for name, value in own.items() if isinstance(value, str)}}
        for value in own.values():
            if isinstance(value, Unknown):
                self.unknown(value, spot)
        found: list[tuple[str, Spot]] = []
        known = True
        for word in words:
            parts = self._split(word)
            if isinstance(parts, Unknown):
                self.unknown(parts, self.spot(word))
                parts, known = [], False
            found += [(part, self.spot(word)) for part in parts]
        if not known:
            return
        for number, component in enumerate(_components(found)):
            self._step(component, env, each, number)
        if each.end == "&" or self.apart:
            self.open = True
        elif not self.open:
            self.batch += 1

    def _step(self, words: list[tuple[str, Spot]], env: dict[str, str], each: Statement, number: int) -> None:
        spot = self.spot(each)
        options, at = parse(words, STEPS, self.findings)
        sort((options,), self.findings, step=True)
        special.judge((options,), self.findings)
        command = tuple(word for word, _ in words[at:])
        if not command:
            self.findings.error("W601", spot, "srun has no command", "write the program after its options")
            return
        if base(command[0]) in QUIET and not {"bash", "sh"} & {base(command[0])}:
            if effects.file_of(each):
                self.work.append(each)
            else:
                self.looks.setdefault(f"`srun {base(command[0])}`", spot)
            return
        for word, place in words[at:]:
            if MARK.search(word) and f"\0{RANK}:" in word:
                self.rank(place)
            if f"\0{NODES}:" in word:
                hint = "name single nodes, as in $(scontrol show hostnames | head -n 1)"
                self.findings.error("W609", place, "the names of all nodes are not known before the job starts", hint)
        if "het-group" not in options and number:
            options = {**options, "het-group": Given(STEPS["het-group"], str(number), spot)}
        self.steps.append(Step(options, command, env, tuple(self.before), self.folder, spot, self.batch))

    def rank(self, spot: Spot) -> None:
        """W618."""
        message = "the batch shell replaces this variable, which is 0 in it, so every task gets a 0"
        hint = "let the task replace it: srun bash -c '... $SLURM_PROCID'"
        self.findings.warning("W618", spot, message, hint)


_LOGS = (">", ">>", "2>", "2>>", "&>", "&>>", "2>&", ">&")


def _components(words: list[tuple[str, Spot]]) -> list[list[tuple[str, Spot]]]:
    """The parts between colons."""
    found: list[list[tuple[str, Spot]]] = [[]]
    for word in words:
        if word[0] == ":":
            found.append([])
        else:
            found[-1].append(word)
    return found


def _after(word: Word, length: int) -> tuple[Piece, ...]:
    """The pieces of a word behind its first characters, which are literal."""
    pieces = list(word.pieces)
    while pieces and length:
        piece = pieces.pop(0)
        rest = piece.text[length:] if piece.kind == TEXT else ""
        length -= min(length, len(piece.text)) if piece.kind == TEXT else length
        if rest:
            pieces.insert(0, piece._replace(text=rest))
    return tuple(pieces)


def _port(name: str) -> bool:
    return "PORT" in name.upper()


def _grows(name: str, pieces: Sequence[Piece]) -> bool:
    """Whether a value is made of the variable itself."""
    return any(piece.kind != TEXT and re.match(rf"{name}\b", piece.text) for piece in pieces)


def quoted(word: str) -> str:
    """A word for a shell."""
    plain = re.fullmatch(r"[A-Za-z0-9_@%+=:,./-]+", word)
    return word if plain else "'" + word.replace("'", "'\\''") + "'"
