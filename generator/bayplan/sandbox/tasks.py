"""What a child can do: render a template, and say which lines of it wrote what."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from datetime import date
from types import TracebackType
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, UndefinedError
from jinja2.exceptions import SecurityError
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import SandboxedEnvironment

from bayplan.sandbox import handles, limits, marks, missing, plain

Task = Callable[[Mapping[str, Any]], dict[str, Any]]


class ClockError(SecurityError):
    """A template asks what time it is."""


class Environment(SandboxedEnvironment):
    """Jinja's sandbox, without a clock (a date that YAML read has methods that ask for it) and without addresses."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.globals = {name: handles.held(value) for name, value in self.globals.items()}
        self.filters = handles.holding(self.filters)

    def is_safe_callable(self, obj: Any) -> bool:
        """Whether a template may call it. ClockError where the answer would be another in every run."""
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        if isinstance(owner, type) and issubclass(owner, date) and name in _CLOCK:
            raise ClockError(f"{owner.__name__}.{name}()")
        return super().is_safe_callable(obj)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """A part of a value."""
        return handles.held(super().getattr(handles.bare(obj), attribute))

    def getitem(self, obj: Any, argument: Any) -> Any:
        """An entry of a value."""
        return handles.held(super().getitem(handles.bare(obj), argument))

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805  # as Jinja's
        """What a call answers."""
        return handles.held(super().call(__context, handles.bare(__obj), *args, **kwargs))


_CLOCK = ("today", "now", "utcnow", "fromtimestamp")
"""Methods of dates that answer by the machine's clock or by its time zone."""


def environment(undefined: type[StrictUndefined] = StrictUndefined) -> SandboxedEnvironment:
    """Jinja as OSMO sets it up (OSMO 6.4, src/lib/utils/jinja_sandbox.py)."""
    return Environment(undefined=undefined)


def render(request: Mapping[str, Any]) -> dict[str, Any]:
    """What the template writes, or what is wrong with it."""
    template, variables = request["template"], plain.unpack(request["variables"])
    try:
        text = written(environment(), template, variables)
    except MemoryError:
        raise
    except Exception as problem:
        return _failure(problem, template, variables)
    if len(text) > limits.LARGEST:
        return {"failure": "size"}
    return {"text": text, "names": sorted(looked_up(template))}


def written(env: SandboxedEnvironment, template: Any, variables: Mapping[str, Any]) -> str:
    """The text. Chance, which a few filters use, falls the same way in every run."""
    random.seed(0)
    return env.from_string(template).render(variables)


def looked_up(template: str) -> set[str]:
    """The names that the template takes from outside."""
    env = environment()
    return find_undeclared_variables(env.parse(template)) - set(env.globals)


def trace(request: Mapping[str, Any]) -> dict[str, Any]:
    """Where in the template each piece of `clean`, which it wrote, comes from; `pieces` is None if that is unclear."""
    template, variables, clean = request["template"], plain.unpack(request["variables"]), request["clean"]
    for captured in (True, False):
        try:
            env = environment()
            marked, table = marks.mark(env.parse(template), env, clean, captured=captured)
            pieces = marks.pieces(written(env, marked, variables), clean, table)
        except MemoryError:
            raise
        except Exception:  # the marks are in the way of something: fewer of them may not be
            continue
        if pieces is not None:
            return {"pieces": pieces, "lines": table.lines, "constructs": table.constructs}
        limits.start_clock()
    return {"pieces": None}


TASKS: Mapping[str, Task] = {"render": render, "trace": trace}


def _failure(problem: Exception, template: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """What an exception of a template means."""
    message, line = str(problem), _line(problem.__traceback__)
    if isinstance(problem, TemplateSyntaxError):
        return _syntax(problem.message or "", problem.lineno)
    if isinstance(problem, ClockError):
        return {"failure": "clock", "message": message, "line": line}
    if isinstance(problem, handles.AddressError):
        return {"failure": "object", "message": message, "line": line}
    if isinstance(problem, SecurityError):
        return {"failure": "security", "message": message, "line": line}
    if isinstance(problem, UndefinedError | TypeError):
        limits.start_clock()
        found = missing.survey(environment, template, variables)
        if found["found"]:
            return {"failure": "undefined", **found}
    if isinstance(problem, RecursionError | SyntaxError):
        message = "it calls itself without end, or is nested too deeply"
    return {"failure": "other", "message": message or type(problem).__name__, "line": line}


def _syntax(message: str, line: int) -> dict[str, Any]:
    """Jinja tells the place of a character that it does not know as an offset, in words."""
    found = re.fullmatch(r"(unexpected char .*) at ([0-9]+)", message, re.DOTALL)
    place = {"offset": int(found[2])} if found else {}
    return {"failure": "syntax", "message": found[1] if found else message, "line": line, **place}


def _line(trace: TracebackType | None) -> int:
    """The innermost line of the template that an exception came through; 0 if none."""
    line = 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
