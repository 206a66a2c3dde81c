"""The child process: it reads requests from standard input, and writes a reply to each to standard output.

It renders a template, and can report which of its lines wrote which output.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime
from time import process_time
from types import TracebackType
from typing import Any, NamedTuple

from jinja2 import StrictUndefined, TemplateSyntaxError, UndefinedError, nodes
from jinja2.exceptions import SecurityError
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import SandboxedEnvironment

from bayplan.plugins.osmo.sandbox import SECONDS, undefined

# The limits of a child after its start: processor time, memory, and no core file.

MEMORY = 100 * 2**20
"""Additional bytes after the start of the child (only on Linux, because other systems do not limit address space)."""

_STATM = "/proc/self/statm"

UNKNOWN = 256 * 2**20
"""Enough bytes for Python with Jinja, if their actual size is unknown."""

LARGEST = 16 * 2**20
"""The most characters that a template may write."""


def set_limits() -> None:
    """Sets all limits. The kernel ends a process that exceeds its time."""
    import resource

    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform.startswith("linux"):  # Linux counts address space; macOS accepts this limit and ignores it
        with suppress(OSError, ValueError):
            most = _used_memory() + MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _used_memory() -> int:
    """The address space of the process in bytes. Without /proc it is unknown: the largest memory of `getrusage` may be
    that of the caller, which a child inherits."""
    import resource

    try:
        with open(_STATM, "rb") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return UNKNOWN


def start_clock() -> None:
    """Gives the next request its full time. It unblocks the signal, because a child inherits blocked signals."""
    import signal

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGPROF,))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)


# JSON -> values of YAML, with keys that are not strings, with dates and with bytes.
#
# A mapping is `{"map": [[key, value], ...]}`, a date `{"date": "2024-01-31"}`, bytes are hexadecimal.
# `bayplan.plugins.osmo.template_origins.pack` packs them.


def unpack(packed: Any) -> Any:
    """The packed value."""
    if isinstance(packed, list):
        return [unpack(item) for item in packed]
    if not isinstance(packed, dict):
        return packed
    ((kind, inner),) = packed.items()
    if kind == "map":
        return {unpack(key): unpack(item) for key, item in inner}
    makers: dict[str, Any] = {"datetime": datetime.fromisoformat, "date": date.fromisoformat, "bytes": bytes.fromhex}
    return makers[kind](inner)


# Marks in a template. They appear in its output, and show from where each piece of the output comes.
#
# A mark is a number between two characters that the template does not contain. There is a mark before every piece of
# plain text, after each line feed in it, and before every expression.

_PRIVATE = (*range(0xE000, 0xE100), *range(0xF0000, 0xF0100))
"""Characters without a meaning (Unicode: private use)."""


class Table(NamedTuple):
    """The table of marks. `lines`: number -> [line of the template, its construct or -1, whether it is plain text].

    `constructs`: [kind, line, name, enclosing construct]; kinds are "loop" and "macro".
    """

    lines: list[list[int]]
    constructs: list[list[Any]]
    left: str
    right: str


def mark(
    tree: nodes.Template, env: SandboxedEnvironment, clean: str, *, captured: bool
) -> tuple[nodes.Template, Table]:
    """The template with its marks. `captured`: also in output that goes into a variable or a filter."""
    left, right = [chr(code) for code in _PRIVATE if chr(code) not in clean][:2]
    table = Table([], [], left, right)
    _Marker(env, table, captured).visit(tree, -1)
    return tree, table


def marked_pieces(marked: str, clean: str, table: Table) -> list[list[int]] | None:
    """[offset in the clean text, number of the mark] in order. None if there are other differences than the marks."""
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
    """Visits a template, and adds marks to its output."""

    def __init__(self, env: SandboxedEnvironment, table: Table, captured: bool) -> None:
        self.env, self.table, self.captured = env, table, captured

    def visit(self, node: nodes.Node, within: int) -> None:
        """Adds marks to all output below a node in the construct of this number."""
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
        """A piece of output with its marks."""
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
    """A template uses the current time."""


class Environment(SandboxedEnvironment):
    """The sandbox of Jinja, without the clock (which methods of dates use) and without addresses."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.globals = {name: undefined.wrapped(value) for name, value in self.globals.items()}
        self.filters = undefined.wrapping(self.filters)

    def is_safe_callable(self, obj: Any) -> bool:
        """Whether a template may call it. ClockError: the result would differ between runs."""
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        if isinstance(owner, type) and issubclass(owner, date) and name in _CLOCK:
            raise ClockError(f"{owner.__name__}.{name}()")
        return super().is_safe_callable(obj)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """An attribute of a value."""
        return undefined.wrapped(super().getattr(undefined.unwrapped(obj), attribute))

    def getitem(self, obj: Any, argument: Any) -> Any:
        """An entry of a value."""
        return undefined.wrapped(super().getitem(undefined.unwrapped(obj), argument))

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805  # as Jinja's
        """The result of a call."""
        return undefined.wrapped(super().call(__context, undefined.unwrapped(__obj), *args, **kwargs))


_CLOCK = ("today", "now", "utcnow", "fromtimestamp")
"""Methods of dates that depend on the clock or the time zone of the machine."""


def environment(kind: type[StrictUndefined] = StrictUndefined) -> SandboxedEnvironment:
    """Jinja with the settings of OSMO (OSMO 6.4, src/lib/utils/jinja_sandbox.py)."""
    return Environment(undefined=kind)


def render(request: Mapping[str, Any]) -> dict[str, Any]:
    """The output of the template, or its failure."""
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
    """The output. Random filters give the same result in every run."""
    random.seed(0)
    return env.from_string(template).render(variables)


def trace(request: Mapping[str, Any]) -> dict[str, Any]:
    """The place in the template of each piece of `clean`, its output. `pieces`: None if the places are unknown."""
    template, variables, clean = request["template"], unpack(request["variables"]), request["clean"]
    for captured in (True, False):
        try:
            env = environment()
            marked, table = mark(env.parse(template), env, clean, captured=captured)
            pieces = marked_pieces(written(env, marked, variables), clean, table)
        except MemoryError:
            raise
        except Exception:  # the marks break the template: fewer marks may work
            continue
        if pieces is not None:
            return {"pieces": pieces, "lines": table.lines, "constructs": table.constructs}
        start_clock()
    return {"pieces": None}


TASKS: Mapping[str, Task] = {"render": render, "trace": trace}


def _failure(problem: Exception, template: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """The failure for an exception of a template."""
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
    """A syntax error. Jinja reports the place of an unexpected character as an offset in the message."""
    match = re.fullmatch(r"(unexpected char .*) at ([0-9]+)", message, re.DOTALL)
    place = {"offset": int(match[2])} if match else {}
    return {"failure": "syntax", "message": match[1] if match else message, "line": line, **place}


def _line(trace: TracebackType | None) -> int:
    """The innermost line of the template in the traceback, or 0."""
    line = 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


_NO_MEMORY = b'{"failure": "memory"}'


def main() -> None:
    """Reads the requests, prepares, reports that it is ready, and replies. The parent sees if it ends early."""
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
    """The reply to a request, in JSON. One of the failures is a lack of memory."""
    reserve, before = bytearray(2**20), process_time()
    try:
        answer = TASKS[request["task"]](request)
        return json.dumps({**answer, "seconds": process_time() - before}).encode()
    except MemoryError:
        del reserve
        return _NO_MEMORY
