"""Exit actions (OSMO 6.4, src/utils/job/task.py and jobs.py)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from bayplan.diagnostics import KEY, Diagnostic, Note, Route, error, warning
from bayplan.words import did_you_mean
from bayplan.workflows.osmo.rules.places import Workflow, shown, tasks
from bayplan.workflows.osmo.units import exit_codes

ACTIONS = ("COMPLETE", "FAIL", "RESCHEDULE")


def check_forms(workflow: Workflow) -> Iterator[Diagnostic]:
    """W419: the action is known; W420: its codes are codes; W422: no range runs backwards."""
    for action, text, route in _actions(workflow):
        if action.upper() not in ACTIONS:
            hint = did_you_mean(action, ACTIONS)
            message = f'"{shown(action)}" is no exit action; there is COMPLETE, FAIL and RESCHEDULE'
            yield error("W419", (*route, KEY), message, hint=hint or "use one of them")
        codes = exit_codes(text)
        if codes is None:
            hint = "write codes and ranges with commas between, without blanks: 0-10,16"
            yield error("W420", route, f'"{shown(text)}" is no list of exit codes', hint=hint)
        elif len(codes) <= text.count(","):
            hint = "write the smaller code first"
            yield warning("W422", route, f'in "{shown(text)}" a range runs backwards and holds no code', hint=hint)


def _actions(workflow: Workflow) -> Iterator[tuple[str, str, Route]]:
    for task in tasks(workflow):
        for action, text in task.data.get("exitActions", {}).items():
            yield action, text, (*task.route, "exitActions", action)


def check_overlaps(workflow: Workflow) -> Iterator[Diagnostic]:
    """W421: a code with two actions. OSMO takes the first in the file."""
    for task in tasks(workflow):
        for (first, these), (second, those) in combinations(task.data.get("exitActions", {}).items(), 2):
            both = _common(these, those)
            if both and first.upper() != second.upper():
                message = f'exit code {both[0]} has the actions "{first}" and "{second}"; OSMO takes the first'
                there: Route = (*task.route, "exitActions")
                notes = (Note("the first", (*there, first)),)
                hint = "give each code one action"
                yield warning("W421", (*there, second), message, hint=hint, notes=notes)


def _common(these: str, those: str) -> list[int]:
    """The first code that is in both lists."""
    pairs = ((a, b) for a in exit_codes(these) or () for b in exit_codes(those) or ())
    return sorted(max(a[0], b[0]) for a, b in pairs if max(a[0], b[0]) <= min(a[1], b[1]))[:1]
