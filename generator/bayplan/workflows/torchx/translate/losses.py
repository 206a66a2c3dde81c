"""What of a role no manifest can hold, said by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.diagnostics import KEY, Diagnostic, Route, error, info, warning
from bayplan.words import listing
from bayplan.workflows.torchx.translate.finding import ROLES, ROOT
from bayplan.workflows.torchx.translate.pools import INSTANCE
from bayplan.workflows.torchx.translate.wishes import PREFIX
from bayplan.workflows.torchx.words import BROKEN

VOLCANO = re.compile(r"\b(?:VC|TORCHX_MCAD)_[A-Z0-9_]+_HOSTS\b")
"""Variables that only Volcano or MCAD set."""

KNOWN_ARGS = ("queue", "namespace", "service_account", "priority_class", "image_secret", "network", "efa_device_count")
RESERVES = ("reserved_millicpu", "reserved_memmb")
ABOUT_RUNS = ("validate_spec", "image_repo", "quiet")
"""What -cfg can say: carried, used in amounts, and of no meaning for pods."""


def application(app: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """W588 of the application's metadata, W591 of what -cfg says, W572 of retries."""
    for key in (each for each in app.get("metadata") or {} if not each.startswith(PREFIX)):
        message = f'the application\'s metadata "{key}" reaches no pod, neither here nor with TorchX'
        hint = "set it on the roles: role.metadata"
        yield warning("W588", (*ROOT, "metadata", key, KEY), message, hint=hint)
    for key, value in (app.get("scheduler_args") or {}).items():
        if key not in (*KNOWN_ARGS, *RESERVES, *ABOUT_RUNS) and value not in (None, "", False):
            message = f'"{key}" of the scheduler\'s arguments is left out'
            hint = f"of these arguments bayplan takes {listing([*KNOWN_ARGS, *RESERVES], 'and')}"
            yield warning("W591", (*ROOT, "scheduler_args", key, KEY), message, hint=hint)
    yield from _retries(app["roles"])


def _retries(roles: list[Mapping[str, Any]]) -> Iterator[Diagnostic]:
    """W572: a gang starts again as a whole, as often as all roles take it (TorchX does so with APPLICATION)."""
    least = min(role.get("max_retries") or 0 for role in roles)
    for number, role in enumerate(roles):
        policy, retries = role.get("retry_policy") or "APPLICATION", role.get("max_retries") or 0
        if retries and (policy != "APPLICATION" or retries > least):
            what = f"by {policy.lower()}, " if policy != "APPLICATION" else ""
            message = f'role "{role["name"]}" starts again {what}up to {retries} times; here all do, {least} times'
            hint = "give all roles the same max_retries and the policy APPLICATION"
            yield warning("W572", (*ROLES, number, "max_retries"), message, hint=hint)


def role(given: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """W570, W573, W575, W579, W593 of one role."""
    for key, what in (("base_image", "a base image"), ("workspace", "a workspace"), ("overrides", "overrides")):
        if given.get(key):
            message = f'role "{given["name"]}" has {what}, which only TorchX itself can put into the image'
            yield warning("W570", (*route, key), message, hint="build the image first, and name it in `image`")
    yield from _variables(given, route)
    yield from _fewest(given, route)
    yield from _unset(given, route)
    resource = given.get("resource") or {}
    for name in resource.get("capabilities") or {}:
        if name != INSTANCE:
            message = f'capability "{name}" chooses no nodes, neither here nor with TorchX'
            hint = "put a nodeSelector into the overlay kubernetes.V1Pod"
            yield warning("W579", (*route, "resource", "capabilities", name, KEY), message, hint=hint)
    for name in resource.get("tags") or {}:
        message = f'tag "{name}" of the resource is left out'
        yield info("W579", (*route, "resource", "tags", name, KEY), message)


def _variables(given: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """W573 (rule TX01): variables of Volcano's, written out."""
    texts = [((*route, "args", n), text) for n, text in enumerate(given.get("args") or ())]
    texts += [((*route, "env", name), text) for name, text in (given.get("env") or {}).items()]
    for at, text in texts:
        if found := re.search(BROKEN, text):
            message = f'no shell takes "{found[0]}" for the name of a variable: it has a dash'
            hint = "call the role with `_` in place of `-`, and write ${rank0_env} for the variable"
            yield error("W573", at, message, hint=hint)
        elif found := VOLCANO.search(text):
            message = f'"{found[0]}" is set by one scheduler of TorchX\' alone, and not here'
            yield error("W573", at, message, hint="write ${rank0_env}, which is the variable with rank 0's host")


def _fewest(given: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """W593: more replicas than there are cannot be waited for."""
    least, most = given.get("min_replicas") or 1, given.get("num_replicas", 1)
    if least > most:
        message = f'role "{given["name"]}" may start with {least} replicas and has {most}: all are waited for'
        yield warning("W593", (*route, "min_replicas"), message, hint="set num_replicas, or a smaller min_replicas")


def _unset(given: Mapping[str, Any], route: Route) -> Iterator[Diagnostic]:
    """W575 (rule TX02): what nobody asks for is not the pods' own."""
    resource = given.get("resource") or {}
    missing = [name for name in ("cpu", "memMB") if (resource.get(name) or -1) <= 0]
    if missing:
        what = listing(missing, "and")
        message = f'role "{given["name"]}" says no {what}: its pods ask for none, and may be put on a full node'
        yield info("W575", (*route, "resource"), message, hint=f"set {what} of the resource")
