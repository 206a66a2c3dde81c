"""Runtime tokens in the texts of tasks (OSMO 6.4, src/utils/job/task.py)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Route, info, warning
from bayplan.words import did_you_mean, shorten, suggest
from bayplan.workflows.osmo.rules.places import Task, Workflow, gathered, tasks
from bayplan.workflows.osmo.tokens import HOST, INPUT, UUID, WORKFLOW_ID, Token, almost, find, texts


def check_names(workflow: Workflow) -> Iterator[Diagnostic]:
    """W429: a host token names a task of the same group, an input token an input of its task; each is told once."""
    everybody = tasks(workflow)
    for task in everybody:
        told: set[tuple[str, str]] = set()
        known = {HOST: _mates(task, everybody), INPUT: _inputs(task)}
        for token, route in _tokens(task):
            if token.kind in known and token.name not in known[token.kind] and (token.kind, token.name) not in told:
                told.add((token.kind, token.name))
                yield _unknown(token, route, known[token.kind], everybody)


def _tokens(task: Task) -> Iterator[tuple[Token, Route]]:
    for text, route in texts(task.data, task.route):
        yield from ((token, route) for token in find(text))


def _mates(task: Task, everybody: tuple[Task, ...]) -> list[str]:
    return [each.name for each in everybody if each.group == task.group]


def _inputs(task: Task) -> list[str]:
    """The names by which a task may call its inputs: their numbers, and the tasks they come from."""
    given = task.data.get("inputs", ())
    return [*map(str, range(len(given))), *(each["task"].rpartition(":")[2] for each in given if "task" in each)]


def _unknown(token: Token, route: Route, known: list[str], everybody: tuple[Task, ...]) -> Diagnostic:
    if token.kind == INPUT:
        message = f"{token.text} names no input of this task, so it stays as it is"
        return warning("W429", route, message, hint=suggest(token.name, known, "inputs") or "the task has no inputs")
    message = f"{token.text} names no task of this group, so it stays as it is"
    elsewhere = "a task has an address for the tasks of its own group only; put them into one group"
    known_elsewhere = token.name in {each.name for each in everybody}
    return warning("W429", route, message, hint=elsewhere if known_elsewhere else suggest(token.name, known, "tasks"))


def check_spelling(workflow: Workflow) -> Iterator[Diagnostic]:
    """W430: what looks like a token and is none."""
    for task in tasks(workflow):
        for text, route in texts(task.data, task.route):
            for each in sorted(set(almost(text))):
                message = f"{shorten(each)} looks like a token of OSMO and is none, so it stays as it is"
                tokens = ("{{workflow_id}}", "{{output}}", "{{input:0}}", "{{host:task}}")
                yield warning("W430", route, message, hint=did_you_mean(each, tokens) or f"tokens: {', '.join(tokens)}")


def check_run(workflow: Workflow) -> Iterator[Diagnostic]:
    """W431: nothing replaces the token uuid; W432: the workflow's id is its name."""
    found = [(token.kind, route) for task in tasks(workflow) for token, route in _tokens(task)]
    message = "nothing replaces {{uuid}}: OSMO 6.4 passes it on as it is, and so does bayplan"
    hint = "make a random word in the command, or use {{workflow_id}}"
    yield from gathered(warning, "W431", [route for kind, route in found if kind == UUID], message, hint)
    message = "{{workflow_id}} becomes the name of the workflow in the manifests; OSMO numbers every run"
    hint = "runs of the same manifests share it; let the command add the time where each needs a word of its own"
    yield from gathered(info, "W432", [route for kind, route in found if kind == WORKFLOW_ID], message, hint)
