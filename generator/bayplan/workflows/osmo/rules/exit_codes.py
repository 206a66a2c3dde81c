"""Exit actions (OSMO 6.4, src/utils/job/task.py and jobs.py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from bayplan.diagnostics import KEY, Diagnostic, Note, Route, error, warning
from bayplan.words import did_you_mean, shorten
from bayplan.workflows.osmo.rules.places import Workflow, tasks
from bayplan.workflows.osmo.units import exit_codes

ACTIONS = ("COMPLETE", "FAIL", "RESCHEDULE")


def check_forms(workflow: Workflow) -> Iterator[Diagnostic]:
    """W419, W420 and W422 of every task."""
    for task in tasks(workflow):
        yield from forms(task.data.get("exitActions", {}), (*task.route, "exitActions"))


def forms(actions: Mapping[str, str], route: Route) -> Iterator[Diagnostic]:
    """W419: the action is known; W420: its codes are codes; W422: no range runs backwards."""
    for action, text in actions.items():
        if action.upper() not in ACTIONS:
            hint = did_you_mean(action, ACTIONS)
            message = f'"{shorten(action)}" is no exit action; there is COMPLETE, FAIL and RESCHEDULE'
            yield error("W419", (*route, action, KEY), message, hint=hint or "use one of them")
        codes = exit_codes(text)
        if codes is None:
            hint = "write codes and ranges with commas between, without blanks: 0-10,16"
            yield error("W420", (*route, action), f'"{shorten(text)}" is no list of exit codes', hint=hint)
        elif len(codes) <= text.count(","):
            hint = "write the smaller code first"
            what = f'in "{shorten(text)}" a range runs backwards and holds no code'
            yield warning("W422", (*route, action), what, hint=hint)


def check_overlaps(workflow: Workflow) -> Iterator[Diagnostic]:
    """W421 of every task."""
    for task in tasks(workflow):
        yield from overlaps(task.data.get("exitActions", {}), (*task.route, "exitActions"))


def overlaps(actions: Mapping[str, str], route: Route) -> Iterator[Diagnostic]:
    """W421: a code with two actions. OSMO takes the first in the file."""
    for (first, these), (second, those) in combinations(actions.items(), 2):
        both = _common(these, those)
        if both and first.upper() != second.upper():
            message = f'exit code {both[0]} has the actions "{first}" and "{second}"; OSMO takes the first'
            notes = (Note("the first", (*route, first)),)
            yield warning("W421", (*route, second), message, hint="give each code one action", notes=notes)


def _common(these: str, those: str) -> list[int]:
    """The first code that is in both lists."""
    pairs = ((a, b) for a in exit_codes(these) or () for b in exit_codes(those) or ())
    return sorted(max(a[0], b[0]) for a, b in pairs if max(a[0], b[0]) <= min(a[1], b[1]))[:1]
