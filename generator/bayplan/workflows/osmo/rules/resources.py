"""Resources and the tasks that name them (OSMO 6.4, src/utils/job/task.py)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, error, info
from bayplan.words import listing, shorten, suggest
from bayplan.workflows.osmo.rules.places import Workflow, gathered, resources, tasks

DEFAULT = "default"


def check_references(workflow: Workflow) -> Iterator[Diagnostic]:
    """W411: what a task names is there. Without any `resources` there is an empty default."""
    known = workflow.get("resources", {DEFAULT: {}})
    for task in tasks(workflow):
        name = task.data.get("resource", DEFAULT)
        if name in known:
            continue
        if "resource" in task.data:
            written = map(shorten, workflow.get("resources", ()))
            hint = suggest(name, written, "resources") or "add it to `resources` of the workflow"
            yield error("W411", (*task.route, "resource"), f'there is no resource "{shorten(name)}"', hint=hint)
        else:
            message = f'task "{task.name}" names no resource, and there is none called "{DEFAULT}"'
            known_ones = f" (there is {listing(map(shorten, known), 'and')})" if known else ""
            hint = f"add `resource:` to the task{known_ones}, or a resource `{DEFAULT}`"
            yield error("W411", (*task.route, "name"), message, hint=hint)


def check_unused(workflow: Workflow) -> Iterator[Diagnostic]:
    """W412: a resource that no task names."""
    used = {task.data.get("resource", DEFAULT) for task in tasks(workflow)}
    places = [route for name, _, route in resources(workflow) if name not in used]
    hint = "remove it, or name it in `resource` of the tasks that need it"
    yield from gathered(info, "W412", places, "no task has this resource", hint)
