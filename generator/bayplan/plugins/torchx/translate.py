"""AppDef -> native data -> Workflow. `bayplan import` prints the native data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.plugin import GANGS, Context, Diagnostic, Note, Outcome, Read, Route, Workflow, info
from bayplan.plugin import native_workflow as native
from bayplan.plugins.torchx import losses
from bayplan.plugins.torchx.devices import ROLES, ROOT, label, labels, without_empty
from bayplan.plugins.torchx.losses import MetadataRequests, application_requests
from bayplan.plugins.torchx.roles import HOST, Site, TranslatedRole, pod_set

GANG: Route = (*GANGS, 0)
REPLICA = "replica"
"""The name of the only podSet in a role's group."""


def read(data: Mapping[str, Any], context: Context) -> Outcome[Read[Workflow]]:
    """The workflow in data that the schema accepted."""
    name, names = label(data["name"]), labels([role["name"] for role in data["roles"]])
    requests = application_requests(data)
    args = data.get("scheduler_args") or {}
    sites = [Site(context.topology, args, name, own, len(names) == 1, requests) for own in names]
    numbered = enumerate(zip(data["roles"], sites, strict=True))
    roles = tuple(pod_set(role, (*ROLES, number), site) for number, (role, site) in numbered)
    document, origins = _document(data, name, names, roles, requests), _origins(roles, requests)
    findings = (
        *requests.findings,
        *_renamed(data, name, names),
        *losses.application(data),
        *(d for role in roles for d in role.part.findings),
    )
    return native.finish(document, origins, findings, ROOT, parallel=True)


def _numbered(roles: tuple[TranslatedRole, ...]) -> bool:
    """Whether pods need their number in their role. Each role is then a group with its own ranks."""
    return len(roles) > 1 and any("replica_id" in role.used for role in roles)


def _document(
    data: Mapping[str, Any],
    name: str,
    names: tuple[str, ...],
    roles: tuple[TranslatedRole, ...],
    requests: MetadataRequests,
) -> dict[str, Any]:
    scheduler_args = data.get("scheduler_args") or {}
    retries = min(role.get("max_retries") or 0 for role in data["roles"])
    grouped, first = _numbered(roles), names[0]
    sets = [dict(role.part.data) for role in roles]
    hosts = (
        {HOST: f"{first}-0-{REPLICA}" if grouped else first} if any("rank0_env" in r.used for r in roles[1:]) else {}
    )
    groups = [{"name": own, "podSets": [_replica(each)]} for own, each in zip(names, sets, strict=True)]
    gang = {
        "name": name,
        **requests.gang,
        **({} if len(roles) == 1 else {"rendezvous": "group" if grouped else "none"}),
        **without_empty(hosts=hosts, maxRestarts=retries or None),
        **({"groups": groups} if grouped else {"podSets": sets}),
    }
    metadata = {"name": name, **without_empty(namespace=scheduler_args.get("namespace"))}
    spec = without_empty(
        **requests.spec,
        queue=scheduler_args.get("queue"),
        priorityClassName=scheduler_args.get("priority_class"),
        gangs=[gang],
    )
    return native.document(metadata, spec)


def _replica(data: Mapping[str, Any]) -> dict[str, Any]:
    """The podSet inside a group with its role's name."""
    template = data.get("template") or {}
    spec = template.get("spec") or {}
    inner = [
        {**each, "name": REPLICA} if each.get("name") == data["name"] else each for each in spec.get("containers") or ()
    ]
    changed = {**template, "spec": {**spec, "containers": inner}} if inner else template
    return {**data, "name": REPLICA, **({"template": changed} if changed else {})}


def _origins(roles: tuple[TranslatedRole, ...], requests: MetadataRequests) -> dict[Route, Route]:
    grouped = _numbered(roles)
    args: Route = (*ROOT, "scheduler_args")
    origins: dict[Route, Route] = {
        ("workflow",): ROOT,
        ("workflow", "metadata", "name"): (*ROOT, "name"),
        ("workflow", "metadata", "namespace"): (*args, "namespace"),
        ("workflow", "spec", "queue"): (*args, "queue"),
        ("workflow", "spec", "priorityClassName"): (*args, "priority_class"),
        GANGS: ROLES,
        GANG: ROLES,
        (*GANG, "name"): (*ROOT, "name"),
        (*GANG, "maxRestarts"): (*ROLES, 0, "max_retries"),
    }
    origins |= {(*GANG, key): requests.places[key] for key in requests.gang}
    origins |= {("workflow", "spec", key): requests.places[key] for key in requests.spec}
    for number, role in enumerate(roles):
        group: Route = (*GANG, "groups", number)
        at: Route = (*group, "podSets", 0) if grouped else (*GANG, "podSets", number)
        origins[group] = (*ROLES, number)
        origins |= {(*at, *own): there for own, there in role.part.origins.items()}
    return origins


def _renamed(data: Mapping[str, Any], name: str, names: tuple[str, ...]) -> Iterator[Diagnostic]:
    """W461: a name that changes by more than case, dots and underscores, or that two roles share."""
    pairs: list[tuple[str, str, Route]] = [(data["name"], name, (*ROOT, "name"))]
    pairs += [
        (role["name"], own, (*ROLES, number, "name"))
        for number, (role, own) in enumerate(zip(data["roles"], names, strict=True))
    ]
    twice = [number for number, own in enumerate(names) if label(data["roles"][number]["name"]) != own]
    for number in twice:
        old, new, at = pairs[number + 1]
        message = f'another role already has the name "{label(old)}", so bayplan renames "{old}" to "{new}"'
        yield info("W461", at, message, hint="give each role a unique name")
    others = [each for number, each in enumerate(pairs, -1) if number not in twice]
    changed = [(old, new, at) for old, new, at in others if re.sub("[_.]", "-", old.lower()) != new]
    if changed:
        (old, new, at), *rest = changed
        notes = tuple(Note(f'"{other}" becomes "{short}"', route) for other, short, route in rest)
        message = f'bayplan renames "{old}" to "{new}", which is valid in Kubernetes'
        yield info("W461", at, message, notes=notes, hint="use short names of lowercase letters, digits and hyphens")
