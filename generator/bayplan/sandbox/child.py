"""The child's side: requests from standard input, a reply to each of them to standard output.

It can render a template, and say which lines of it wrote what.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime
from types import TracebackType
from typing import Any, NamedTuple

from jinja2 import StrictUndefined, TemplateSyntaxError, UndefinedError, nodes
from jinja2.exceptions import SecurityError
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import SandboxedEnvironment

from bayplan.sandbox import undefined

# What a child may take, counted from when it is ready: processor time, memory, and no core file.

SECONDS = 0.5
"""Processor time of one request."""

MEMORY = 100 * 2**20
"""Bytes above what the child has when it is ready (Linux only: elsewhere nothing limits address space)."""

_STATM = "/proc/self/statm"

UNKNOWN = 256 * 2**20
"""Bytes that Python with Jinja surely has room in, where nobody can tell what they take."""

LARGEST = 16 * 2**20
"""Characters that a template may write."""


def set_limits() -> None:
    """Sets all limits. The kernel ends the process that overruns its time, whatever it is doing."""
    try:
        import resource
    except ImportError:  # Windows: the parent's clock is all there is
        return
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform.startswith("linux"):  # it counts address space; macOS accepts such a limit and ignores it
        with suppress(OSError, ValueError):
            most = _used_memory() + MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _used_memory() -> int:
    """Bytes of address space that the process has. Where /proc is missing nothing says so: the largest memory that
    `getrusage` knows of may be that of the caller, which a child inherits."""
    import resource

    try:
        with open(_STATM, "rb") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return UNKNOWN


def start_clock() -> None:
    """(Again) as much time as a request has. A caller that blocks the signal hands that down to its children."""
    import signal

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGPROF,))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)


# JSON -> values of YAML: keys that are no texts, dates and bytes included.
#
# A mapping is `{"map": [[key, value], ...]}`, a date `{"date": "2024-01-31"}`, bytes are hexadecimal. Whoever asks
# packs them so (`bayplan.workflows.osmo.template_origins.pack`).


def unpack(packed: Any) -> Any:
    """The value that was packed."""
    if isinstance(packed, list):
        return [unpack(item) for item in packed]
    if not isinstance(packed, dict):
        return packed
    ((kind, inner),) = packed.items()
    if kind == "map":
        return {unpack(key): unpack(item) for key, item in inner}
    makers: dict[str, Any] = {"datetime": datetime.fromisoformat, "date": date.fromisoformat, "bytes": bytes.fromhex}
    return makers[kind](inner)


# Marks in a template that come out in what it writes, and tell where each piece of that comes from.
#
# A mark is a number between two characters that the text itself does not hold. One stands before every piece of plain
# text, after each line feed in it, and before every expression.

_PRIVATE = (*range(0xE000, 0xE100), *range(0xF0000, 0xF0100))
"""Characters that mean nothing to anybody (Unicode: private use)."""


class Table(NamedTuple):
    """What the numbers mean. `lines`: number -> [line of the template, what it stands in, -1 for nothing, is it plain].

    `constructs`: [kind, line, name, what it stands in]; kinds are "loop" and "macro".
    """

    lines: list[list[int]]
    constructs: list[list[Any]]
    left: str
    right: str


def mark(
    tree: nodes.Template, env: SandboxedEnvironment, clean: str, *, captured: bool
) -> tuple[nodes.Template, Table]:
    """The template with its marks. `captured`: also where what is written goes into a variable or a filter."""
    left, right = [chr(code) for code in _PRIVATE if chr(code) not in clean][:2]
    table = Table([], [], left, right)
    _Marker(env, table, captured).visit(tree, -1)
    return tree, table


def marked_pieces(marked: str, clean: str, table: Table) -> list[list[int]] | None:
    """[offset in the clean text, number of the mark] in order; None unless the marks are all that was added."""
    parts = re.split(f"{table.left}([0-9]+){table.right}", marked)
    if "".join(parts[::2]) != clean:
        return None
    pieces: list[list[int]] = []
    offset = len(parts[0])
    for number, text in zip(parts[1::2], parts[2::2], strict=True):
        pieces.append([offset, int(number)])
        offset += len(text)
    return pieces


class _Marker:
    """Walks a template and changes what it writes."""

    def __init__(self, env: SandboxedEnvironment, table: Table, captured: bool) -> None:
        self.env, self.table, self.captured = env, table, captured

    def visit(self, node: nodes.Node, within: int) -> None:
        """Marks all that is written below a node that stands in the construct of that number."""
        if isinstance(node, nodes.Output):
            node.nodes = [each for old in node.nodes for each in self.output(old, within)]
            return
        if not self.captured and isinstance(
            node, nodes.AssignBlock | nodes.FilterBlock | nodes.CallBlock | nodes.Macro
        ):
            return
        if isinstance(node, nodes.For):
            within = self.construct("loop", node.lineno, "", within)
        elif isinstance(node, nodes.Macro):
            within = self.construct("macro", node.lineno, node.name, within)
        for child in node.iter_child_nodes():
            self.visit(child, within)

    def construct(self, kind: str, line: int, name: str, within: int) -> int:
        self.table.constructs.append([kind, line, name, within])
        return len(self.table.constructs) - 1

    def output(self, node: nodes.Expr, within: int) -> list[nodes.Expr]:
        """A piece of what is written with its marks."""
        if not isinstance(node, nodes.TemplateData):
            return [self.data(self.number(node.lineno, within, plain=False), node), node]
        lines = node.data.split("\n")
        marked = [self.number(node.lineno + n, within, plain=True) + line for n, line in enumerate(lines)]
        return [self.data("\n".join(marked), node)]

    def number(self, line: int, within: int, *, plain: bool) -> str:
        self.table.lines.append([line, within, int(plain)])
        return f"{self.table.left}{len(self.table.lines) - 1}{self.table.right}"

    def data(self, text: str, at: nodes.Node) -> nodes.TemplateData:
        return nodes.TemplateData(text, lineno=at.lineno, environment=self.env)


Task = Callable[[Mapping[str, Any]], dict[str, Any]]


class ClockError(SecurityError):
    """A template asks what time it is."""


class Environment(SandboxedEnvironment):
    """Jinja's sandbox, without a clock (a date that YAML read has methods that ask for it) and without addresses."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.globals = {name: undefined.wrapped(value) for name, value in self.globals.items()}
        self.filters = undefined.wrapping(self.filters)

    def is_safe_callable(self, obj: Any) -> bool:
        """Whether a template may call it. ClockError where the answer would be another in every run."""
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        if isinstance(owner, type) and issubclass(owner, date) and name in _CLOCK:
            raise ClockError(f"{owner.__name__}.{name}()")
        return super().is_safe_callable(obj)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """A part of a value."""
        return undefined.wrapped(super().getattr(undefined.unwrapped(obj), attribute))

    def getitem(self, obj: Any, argument: Any) -> Any:
        """An entry of a value."""
        return undefined.wrapped(super().getitem(undefined.unwrapped(obj), argument))

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805  # as Jinja's
        """What a call answers."""
        return undefined.wrapped(super().call(__context, undefined.unwrapped(__obj), *args, **kwargs))


_CLOCK = ("today", "now", "utcnow", "fromtimestamp")
"""Methods of dates that answer by the machine's clock or by its time zone."""


def environment(kind: type[StrictUndefined] = StrictUndefined) -> SandboxedEnvironment:
    """Jinja as OSMO sets it up (OSMO 6.4, src/lib/utils/jinja_sandbox.py)."""
    return Environment(undefined=kind)


def render(request: Mapping[str, Any]) -> dict[str, Any]:
    """What the template writes, or what is wrong with it."""
    template, variables = request["template"], unpack(request["variables"])
    try:
        text = written(environment(), template, variables)
    except MemoryError:
        raise
    except Exception as problem:
        return _failure(problem, template, variables)
    if len(text) > LARGEST:
        return {"failure": "size"}
    env = environment()
    return {"text": text, "names": sorted(find_undeclared_variables(env.parse(template)) - set(env.globals))}


def written(env: SandboxedEnvironment, template: Any, variables: Mapping[str, Any]) -> str:
    """The text. Chance, which a few filters use, falls the same way in every run."""
    random.seed(0)
    return env.from_string(template).render(variables)


def trace(request: Mapping[str, Any]) -> dict[str, Any]:
    """Where in the template each piece of `clean`, which it wrote, comes from; `pieces` is None if that is unclear."""
    template, variables, clean = request["template"], unpack(request["variables"]), request["clean"]
    for captured in (True, False):
        try:
            env = environment()
            marked, table = mark(env.parse(template), env, clean, captured=captured)
            pieces = marked_pieces(written(env, marked, variables), clean, table)
        except MemoryError:
            raise
        except Exception:  # the marks are in the way of something: fewer of them may not be
            continue
        if pieces is not None:
            return {"pieces": pieces, "lines": table.lines, "constructs": table.constructs}
        start_clock()
    return {"pieces": None}


TASKS: Mapping[str, Task] = {"render": render, "trace": trace}


def _failure(problem: Exception, template: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """What an exception of a template means."""
    message, line = str(problem), _line(problem.__traceback__)
    if isinstance(problem, TemplateSyntaxError):
        return _syntax(problem.message or "", problem.lineno)
    kinds = ((ClockError, "clock"), (undefined.AddressError, "object"), (SecurityError, "security"))
    failure = next((failure for kind, failure in kinds if isinstance(problem, kind)), "other")
    if isinstance(problem, UndefinedError | TypeError):
        start_clock()
        missing = undefined.survey(environment, template, variables)
        if missing["found"]:
            return {"failure": "undefined", **missing}
    if isinstance(problem, RecursionError | SyntaxError):
        message = "it recurses too deeply"
    return {"failure": failure, "message": message or type(problem).__name__, "line": line}


def _syntax(message: str, line: int) -> dict[str, Any]:
    """Jinja tells the place of a character that it does not know as an offset, in words."""
    match = re.fullmatch(r"(unexpected char .*) at ([0-9]+)", message, re.DOTALL)
    place = {"offset": int(match[2])} if match else {}
    return {"failure": "syntax", "message": match[1] if match else message, "line": line, **place}


def _line(trace: TracebackType | None) -> int:
    """The innermost line of the template that an exception came through; 0 if none."""
    line = 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


_NO_MEMORY = b'{"failure": "memory"}'


def main() -> None:
    """Reads, gets ready, says so, and replies. Whatever ends it before that, the parent sees."""
    requests = json.loads(sys.stdin.buffer.read())
    out = sys.stdout.buffer
    out.write(b"\n")
    out.flush()
    set_limits()
    for request in requests:
        start_clock()
        answer = reply(request)
        out.write(answer + b"\n")
        out.flush()
        if answer == _NO_MEMORY:
            return


def reply(request: dict[str, Any]) -> bytes:
    """The reply to a request, in JSON; one of the failures is that the memory does not suffice."""
    reserve = bytearray(2**20)
    try:
        return json.dumps(TASKS[request["task"]](request)).encode()
    except MemoryError:
        del reserve
        return _NO_MEMORY
