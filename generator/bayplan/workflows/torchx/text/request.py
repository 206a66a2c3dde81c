"""The objects that TorchX writes -> the AppDef that they were made from.

TorchX 0.7 and 0.8 write a Volcano Job with a task for each replica (schedulers/kubernetes_scheduler.py), 0.7 also an
AppWrapper of MCAD with a Pod for each replica (schedulers/kubernetes_mcad_scheduler.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bayplan.diagnostics import AT, Diagnostic, Outcome, Route, error
from bayplan.text.document import Document, Path, spans_of
from bayplan.workflows.torchx.text import common, pods
from bayplan.workflows.torchx.text.placed import Made
from bayplan.workflows.torchx.text.pods import Replica
from bayplan.workflows.torchx.text.shapes import below, items, mapping, mappings, text, whole
from bayplan.workflows.torchx.words import BROKEN, LABEL

VOLCANO, MCAD = ("Job", "batch.volcano.sh/"), ("AppWrapper", "workload.codeflare.dev/")


def sniff(data: Any) -> bool:
    """Whether an object is of a kind that TorchX writes."""
    return any(_is(data, kind) for kind in (VOLCANO, MCAD))


def _is(data: Any, kind: tuple[str, str]) -> bool:
    return text(data, "kind") == kind[0] and text(data, "apiVersion").startswith(kind[1])


def asked(data: Any) -> dict[str, str]:
    """What `-cfg` said, as far as the object holds it."""
    spec = next((each.spec for each in _replicas(data)), {})
    found = {
        "queue": text(data, "spec", "queue"),
        "namespace": text(data, "metadata", "namespace"),
        "priority_class": text(data, "spec", "priorityClassName") or text(spec, "priorityClassName"),
        "service_account": text(spec, "serviceAccountName"),
        "image_secret": text(spec, "imagePullSecrets", 0, "name"),
    }
    return {key: value for key, value in found.items() if value}


def _replicas(data: Any) -> Iterator[Replica]:
    """The pods in order, each with its task where it has one."""
    if _is(data, VOLCANO):
        for number, task in enumerate(items(data, "spec", "tasks")):
            path: Path = ("spec", "tasks", number, "template")
            yield Replica(mapping(task, "template"), path, mapping(task))
        return
    for number, item in enumerate(items(data, "spec", "resources", "GenericItems")):
        if text(item, "generictemplate", "kind") == "Pod":
            yield Replica(
                mapping(item, "generictemplate"), ("spec", "resources", "GenericItems", number, "generictemplate")
            )


def application(document: Document, subject: str) -> Outcome[Made]:
    """The AppDef behind an object. R142: pods without TorchX' labels; R145: a role with unequal replicas."""
    data, roles = document.data, _roles(document.data)
    if not roles:
        message = "the object has no pods with TorchX' labels"
        hint = f"TorchX labels pods with {LABEL}role-name; other objects are for `bayplan post-render`"
        return Outcome(None, (error("R142", _at(document, (), subject), message, hint=hint),))
    made: list[pods.RoleMade] = []
    wrong: list[Diagnostic] = []
    for replicas in roles.values():
        role = pods.role(replicas, text(data, "metadata", "name"))
        odd = [*_broken(document, replicas, subject)]
        wrong += odd or _unequal(document, replicas, role.value, subject)
        made.append(_counted(role, replicas, data) if role.value is not None else role)
    if wrong:
        return Outcome(None, tuple(wrong))
    name = text(next(iter(roles.values()))[0].labels, f"{LABEL}app-name") or text(data, "metadata", "name")
    app = {"name": name, "roles": [each.value for each in made], "scheduler_args": asked(data)}
    origins: dict[Path, Path] = {("name",): ("metadata", "name"), (): ("metadata",)}
    for number, role in enumerate(made):
        origins |= {("roles", number, *own): there for own, there in role.origins.items()}
    return Outcome(Made(app, origins))


def _roles(data: Any) -> dict[str, list[Replica]]:
    """The pods of each role, in the order of replicas."""
    found: dict[str, list[Replica]] = {}
    for replica in _replicas(data):
        if name := text(replica.labels, f"{LABEL}role-name"):
            found.setdefault(text(replica.labels, f"{LABEL}role-index") or name, []).append(replica)
    return {index: sorted(each, key=lambda replica: replica.number) for index, each in found.items()}


def _counted(role: pods.RoleMade, replicas: list[Replica], data: Any) -> pods.RoleMade:
    """The role with its counts: replicas, those it cannot do without, and how often it starts again."""
    needed = [whole(each.task["minAvailable"]) for each in replicas if "minAvailable" in each.task]
    if _is(data, MCAD):
        retries = whole(below(data, "spec", "schedulingSpec", "requeuing", "maxNumRequeuings"))
        counts: dict[str, Any] = {"max_retries": retries}
    else:
        first = replicas[0].task
        policy = "APPLICATION" if mappings(first, "policies") or "maxRetry" not in first else "REPLICA"
        counts = {"max_retries": whole(first.get("maxRetry", 0)), "retry_policy": policy}
    least = {"min_replicas": sum(needed)} if needed and sum(needed) else {}
    return role._replace(value={**role.value, **counts, **least, "num_replicas": len(replicas)})


def _broken(document: Document, replicas: list[Replica], subject: str) -> Iterator[Diagnostic]:
    """W573 (rule TX01), once a role."""
    for replica in replicas:
        path = (*replica.path, "spec", "containers", 0, "command")
        for number, word in enumerate(common.words(replica.container)):
            if found := re.search(BROKEN, word):
                yield broken(found[0], _at(document, (*path, number), subject))
                return


def broken(name: str, route: Route) -> Diagnostic:
    """W573: no shell takes the name of a variable with dashes."""
    message = f'no shell takes "{name}" for the name of a variable: TorchX keeps the dashes of a role\'s name in it'
    hint = f"call the role with `_`, or import the application as JSON, where ${{rank0_env}} stands for {name}"
    return error("W573", route, message, hint=hint)


def _unequal(document: Document, replicas: list[Replica], role: Any, subject: str) -> Iterator[Diagnostic]:
    if role is None:
        name = text(replicas[0].labels, f"{LABEL}role-name")
        message = f'the replicas of role "{name}" differ in more than their number'
        hint = "import the application as JSON: the request holds each replica apart"
        yield error("R145", _at(document, replicas[0].path, subject), message, hint=hint)


def _at(document: Document, path: Path, subject: str) -> Route:
    span = spans_of(document, [path])[path][0]
    return (subject, AT, *span)
