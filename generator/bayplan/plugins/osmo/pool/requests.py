"""The checks of a task against its platform: rights, mounts, amounts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

from bayplan.plugin import (
    OWN_FIELDS,
    REQUIRED,
    Diagnostic,
    NodeShape,
    Note,
    Route,
    error,
    info,
    items,
    listing,
    mapping,
    non_empty,
    quantity,
    warning,
)
from bayplan.plugins.osmo.pool.rendering import Job, Rendered, Value, of_node
from bayplan.plugins.osmo.pool.values import Platform, Rule, TaskRequest
from bayplan.plugins.osmo.units import UNITS, split_amount

NUMBER = re.compile(r"\d+(\.\d+)?")
WHOLE = re.compile(r"(?<=\d)\.0$")
"""The end of OSMO's numbers of CPUs."""

SHOWN = 3
"""How many tasks a message names."""


def rights(platform: Platform, ask: TaskRequest) -> Iterator[Diagnostic]:
    """W483 and W423 (src/utils/job/task.py, TaskSpec.validate_privilege_host_mount)."""
    yield from _right(platform, ask, "privileged", ask.privileged, platform.privileged_allowed, "be privileged")
    wanted = "use the node's network"
    yield from _right(platform, ask, "host_network", ask.host_network, platform.host_network_allowed, wanted)
    for mount, route in zip(ask.mounts, chain(ask.mount_places, repeat(ask.route)), strict=False):
        source = mount.partition(":")[0]
        if source in platform.default_mounts and source not in platform.allowed_mounts:
            message = f'platform "{platform.name}" already mounts "{source}"; OSMO refuses a second mount'
            yield error("W423", route, message, hint="remove the mount from the task", notes=_here(platform))
        elif source not in platform.allowed_mounts:
            message = f'platform "{platform.name}" does not let tasks mount "{source}"'
            allowed = listing(platform.allowed_mounts, "and")
            hint = "remove the mount, or let the pool's administrator add it to allowed_mounts"
            hint = f"{hint}; the platform allows {allowed}" if allowed else hint
            yield error("W483", route, message, hint=hint, notes=_here(platform))


def own_mounts(platform: Platform, ask: TaskRequest) -> tuple[str, ...]:
    """The task's mounts that the platform's template does not have already."""
    return tuple(mount for mount in ask.mounts if mount.partition(":")[0] not in platform.default_mounts)


def _right(
    platform: Platform, ask: TaskRequest, field: str, requested: bool, allowed: bool, what: str
) -> Iterator[Diagnostic]:
    if requested and not allowed:
        message = f'platform "{platform.name}" does not let tasks {what}'
        hint = f"remove it from the task, or let the pool's administrator set {field}_allowed"
        yield error("W483", ask.places.get(field, ask.route), message, hint=hint, notes=_here(platform))


def _here(platform: Platform) -> tuple[Note, ...]:
    return (Note("the platform is here", platform.route),)


class RuleCase(NamedTuple):
    """The rules of one task's platform, each with its variables.

    First the `plain` rules, which do not depend on nodes, then all rules `of_nodes` once for each kind of node.
    """

    ask: TaskRequest
    pairs: tuple[tuple[Rule, Mapping[str, Value]], ...]
    plain: int
    of_nodes: tuple[Rule, ...]
    kinds: int


def case(platform: Platform, ask: TaskRequest, tokens: Mapping[str, Value], nodes: Sequence[NodeShape]) -> RuleCase:
    """The rules on the nodes that the task may get."""
    of_nodes = tuple(rule for rule in platform.rules if "K8_" in rule.left + rule.right)
    pairs = [(rule, tokens) for rule in platform.rules if rule not in of_nodes]
    plain = len(pairs)
    for node in nodes:
        values = {**of_node(node.resources, node.accelerators), **tokens}
        pairs += [(rule, values) for rule in of_nodes]
    return RuleCase(ask, tuple(pairs), plain, of_nodes, len(nodes))


def jobs(case: RuleCase) -> list[Job]:
    """Left side, right side and message of every rule, for every kind of node that it applies to."""
    return [Job(text, values) for rule, values in case.pairs for text in (rule.left, rule.right, rule.message)]


class RuleViolation(NamedTuple):
    """A rule that a task breaks: its places in workflow and file, the comparison, and the author's message."""

    route: Route
    rule: Route
    compared: str
    author_message: str
    task: str


Finding = Diagnostic | RuleViolation


def merge_violations(findings: Sequence[Finding]) -> Iterator[Diagnostic]:
    """The findings, with one W483 for all tasks that break a rule in one place."""
    tasks: dict[RuleViolation, list[str]] = {}
    for each in findings:
        if isinstance(each, RuleViolation):
            tasks.setdefault(each._replace(task=""), []).append(each.task)
    for each in dict.fromkeys(each._replace(task="") if isinstance(each, RuleViolation) else each for each in findings):
        yield _violation(each, tasks[each]) if isinstance(each, RuleViolation) else each


def _violation(violation: RuleViolation, tasks: Sequence[str]) -> Diagnostic:
    several = len(set(tasks)) > 1
    names = listing(dict.fromkeys(tasks), "and", SHOWN)
    who = f"tasks {names} break a rule of their platform" if several else f"task {names} breaks a rule of its platform"
    notes = (Note(f"{violation.compared} must hold", violation.rule),)
    hint = "change the requests in the resource of the task"
    return error("W483", violation.route, f"{who}: {violation.author_message}", hint=hint, notes=notes)


def judge(case: RuleCase, rendered: Sequence[Rendered]) -> Iterator[Finding]:
    """W481, W481, W483 and R127. Rules about nodes hold if all of them hold for one kind of node."""
    rules = enumerate(rule for rule, _ in case.pairs)
    by_rule = [list(_verdict(case.ask, rule, *rendered[3 * n : 3 * n + 3])) for n, rule in rules]
    yield from (each for verdict in by_rule[: case.plain] for each in verdict)
    if not case.kinds:
        for rule in case.of_nodes:
            message = f'bayplan cannot check the rule "{rule.message}" without a topology, which describes the nodes'
            yield info("W481", rule.route, message, hint="pass the cluster's topology with -t")
    elif case.of_nodes:
        size = len(case.of_nodes)
        kinds = [by_rule[n : n + size] for n in range(case.plain, len(by_rule), size)]
        by_kind = [[each for verdict in kind for each in verdict] for kind in kinds]
        yield from min(by_kind, key=lambda verdicts: sum(isinstance(each, RuleViolation) for each in verdicts))


NODE_FIELDS = {
    "K8_CPU": "`cpu`",
    "K8_MEMORY": "`memory`",
    "K8_STORAGE": "`resources: {ephemeral-storage: AMOUNT}`",
}
"""Variables of OSMO's rules -> what the topology says about a node. Only K8_GPU always has a value."""


def _verdict(ask: TaskRequest, rule: Rule, left: Rendered, right: Rendered, message: Rendered) -> Iterator[Finding]:
    broken = next((each for each in (left, right) if each.fault), None)
    empty = (*left.empty, *right.empty)
    if broken:
        yield error("R127", rule.route, f"bayplan cannot evaluate the rule: {broken.fault}", hint=broken.hint)
    elif empty:
        hint = f"set a default for {empty[0]} in common_default_variables, or request it in the workflow"
        if empty[0].startswith("K8_"):
            hint = f"add {NODE_FIELDS[empty[0]]} to the `node` of the pool in the topology"
        what = f'bayplan cannot check the rule "{rule.message}": "{empty[0]}" has no value'
        yield info("W481", rule.route, what, hint=hint)
    else:
        yield from _compared(ask, rule, left.text, right.text, rule.message if message.fault else message.text)


def _compared(ask: TaskRequest, rule: Rule, left: str, right: str, rule_message: str) -> Iterator[Finding]:
    holds = compare(rule.operator, operand(left), operand(right))
    one, other = WHOLE.sub("", left), WHOLE.sub("", right)
    if holds is None:
        what = f'OSMO cannot compare "{one}" with "{other}"; bayplan skips the rule'
        yield warning("W481", rule.route, what, hint="write numbers on both sides, or amounts with a unit")
    elif not holds:
        field = next((field for name, field in FIELDS.items() if name in rule.left + rule.right), "")
        route = ask.places.get(field, ask.route)
        yield RuleViolation(route, rule.route, f'"{one}" {WORDS[rule.operator]} "{other}"', rule_message, ask.task)


FIELDS = {"USER_CPU": "cpu", "USER_GPU": "gpu", "USER_MEMORY": "memory", "USER_STORAGE": "storage"}
"""Variable of a rule -> its field of a resource."""

WORDS = {"GT": ">", "GE": ">=", "LT": "<", "LE": "<=", "EQ": "="}


def operand(text: str) -> int | float | str:
    """A side of a rule: an amount in KiB, a number, or a string (postgres.py, ResourceAssertion.evaluate)."""
    parts = split_amount(text)
    if parts is not None and parts[1]:
        number, unit = parts
        power = UNITS[unit] - 10
        return int(number * 2**power if power >= 0 else number / 2**-power)
    return float(text) if NUMBER.fullmatch(text) else text


def compare(operator: str, left: int | float | str, right: int | float | str) -> bool | None:
    """Whether `left operator right` holds; None for a string and a number."""
    if operator == "EQ":
        return left == right
    if isinstance(left, str) != isinstance(right, str):
        return None
    sign = (left > right) - (left < right)  # type: ignore[operator]  # both are strings, or both numbers
    return {"GT": sign > 0, "GE": sign >= 0, "LT": sign < 0, "LE": sign <= 0}[operator]


# A rendered pod template, split into the fields of the native format and the rest, which goes into `template`.

GPU = "nvidia.com/gpu"

CONTROL = "osmo-ctrl"
OSMO_CONTAINERS = (CONTROL, "osmo-init")
"""Containers that OSMO adds to every pod, and bayplan does not."""

OSMO_VOLUMES = ("osmo", "osmo-data", "osmo-login", "osmo-usr-bin", "osmo-run")
"""Volumes that OSMO adds to every pod (src/utils/job/task.py)."""

MANAGED = ("image", "command", "args")
"""Fields of the user's container that the task sets (OSMO's documentation forbids them in templates)."""

Path = tuple[str, ...]


class TemplateParts(NamedTuple):
    """The parts of a pod template. The fields from `left_out` on are for findings."""

    resources: Mapping[str, str] = {}
    accelerators: int | None = None
    template: Mapping[str, Any] = {}
    left_out: tuple[Path, ...] = ()  # fields that bayplan sets
    imageless: tuple[str, ...] = ()  # other containers than the user's, which have no image
    control: tuple[Path, ...] = ()  # parts for OSMO's containers
    claims: tuple[str, ...] = ()  # claims on a ComputeDomain channel
    unequal: tuple[str, ...] = ()  # resources whose limit is not their request
    faults: tuple[tuple[str, str], ...] = ()  # resource and the reason why its value is not an amount


def cut(template: Mapping[str, Any], container: str, channels: Collection[str]) -> TemplateParts:
    """The template without parts of OSMO and fields of bayplan; `channels`: claim templates of ComputeDomains."""
    spec = dict(template.get("spec") or {})
    left = [("spec", name) for name in OWN_FIELDS if spec.pop(name, None) is not None]
    left += [("metadata", name) for name in template.get("metadata") or {} if name not in ("labels", "annotations")]
    control = tuple(_take_control(spec))
    claims = tuple(_take_claims(spec, channels))
    containers = [_unclaimed(each, claims) for each in spec.pop("containers", None) or ()]
    own: dict[str, Any] = next((each for each in containers if each.get("name") == container), {})
    beside = [each for each in containers if each is not own]
    imageless = tuple(str(each.get("name", "")) for each in beside if not each.get("image"))
    managed = [("spec", "containers", container, name) for name in MANAGED if name in own]
    amounts = _amounts(own.get("resources") or {})
    kept = [*_main(own, amounts), *(each for each in beside if each.get("image"))]
    metadata = template.get("metadata") or {}
    metadata = {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}
    spec = without_vacuous_affinity({**spec, **({"containers": kept} if kept else {})})
    whole = {"metadata": metadata, "spec": spec}
    return TemplateParts(
        resources=amounts.equal,
        accelerators=amounts.cards,
        template={key: value for key, value in whole.items() if value},
        left_out=(*left, *managed),
        imageless=imageless,
        control=control,
        claims=claims,
        unequal=amounts.unequal,
        faults=amounts.faults,
    )


def _main(own: Mapping[str, Any], amounts: Amounts) -> list[dict[str, Any]]:
    """The user's container without the fields of the podSet. Empty if only its name is left."""
    resources = {**amounts.differing, **non_empty(claims=(own.get("resources") or {}).get("claims"))}
    main = {**_without(own, *MANAGED, "resources"), **non_empty(resources=resources)}
    return [main] if main.keys() - {"name"} else []


def _take_control(spec: dict[str, Any]) -> Iterator[Path]:
    """Removes OSMO's containers and volumes, and the mounts of those volumes in other containers."""
    for key in ("containers", "initContainers"):
        kept = []
        for each in spec.get(key) or ():
            name = str(each.get("name", ""))
            if name in OSMO_CONTAINERS:
                yield from [("spec", key, name)] if len(each) > 1 else []
                continue
            mounts = each.get("volumeMounts") or ()
            own = [mount for mount in mounts if mount.get("name") not in OSMO_VOLUMES]
            yield from [("spec", key, name, "volumeMounts")] if len(own) < len(mounts) else []
            kept.append(_with(each, "volumeMounts", own))
        _put(spec, key, kept)
    volumes = spec.get("volumes") or ()
    yield from (("spec", "volumes", each["name"]) for each in volumes if each.get("name") in OSMO_VOLUMES)
    _put(spec, "volumes", [each for each in volumes if each.get("name") not in OSMO_VOLUMES])


def _put(spec: dict[str, Any], key: str, value: list[Any]) -> None:
    if value:
        spec[key] = value
    else:
        spec.pop(key, None)


def _with(owner: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    """The mapping with a field, or without it if the value is empty."""
    return {**owner, key: value} if value else _without(owner, key)


def _without(owner: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in owner.items() if key not in keys}


def _take_claims(spec: dict[str, Any], channels: Collection[str]) -> Iterator[str]:
    """Removes the pod's claims on channels, and yields their names."""
    claims = spec.get("resourceClaims") or ()
    taken = [each for each in claims if str(each.get("resourceClaimTemplateName", "")) in channels]
    yield from (str(each.get("name", "")) for each in taken)
    _put(spec, "resourceClaims", [each for each in claims if each not in taken])


def _unclaimed(container: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The container without these claims."""
    resources = container.get("resources") or {}
    if not names or not resources.get("claims"):
        return dict(container)
    kept = [each for each in resources["claims"] if each.get("name") not in names]
    return _with(container, "resources", _with(resources, "claims", kept))


class Amounts(NamedTuple):
    """Requests and limits of the user's container, split into equal and differing ones."""

    equal: Mapping[str, str]
    differing: Mapping[str, Mapping[str, str]]
    cards: int | None
    unequal: tuple[str, ...]
    faults: tuple[tuple[str, str], ...]


def _amounts(resources: Mapping[str, Any]) -> Amounts:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    read = {name: (_amount(requests.get(name)), _amount(limits.get(name))) for name in {**limits, **requests}}
    faults = [(name, each) for name, pair in read.items() for each in pair if isinstance(each, str)]
    sound = {name: pair for name, pair in read.items() if name not in dict(faults)}
    request, limit = sound.pop(GPU, (None, None))
    cards = limit if limit is not None else request
    equal: dict[str, str] = {}
    apart: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for name, (least, most) in sorted(sound.items()):
        if most is not None and least in (None, most):  # Kubernetes uses the limit as a missing request
            equal.update({name: quantity.show(int(most))} if most else {})
            continue
        for key, amount in (("requests", least), ("limits", most)):
            apart[key] |= {} if amount is None else {name: quantity.show(int(amount))}
    unequal = tuple(sorted({*apart["requests"], *apart["limits"]}))
    differing = {key: amounts for key, amounts in apart.items() if amounts}
    count = None if cards is None else int(cards) // 1000
    return Amounts(equal, differing, count, unequal, tuple(faults))


def _amount(value: Any) -> int | str | None:
    """The amount in thousandths, or the reason why it is not an amount, or None without a value."""
    if value is None:
        return None
    try:
        amount = quantity.parse(str(value))
    except ValueError as reason:
        return str(reason)
    return amount if amount >= 0 else f'"{value}" is negative'


def without_vacuous_affinity(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec without node affinity that excludes nothing: `NotIn` without values, as for no excluded nodes."""
    affinity, nodes = mapping(spec, "affinity"), mapping(spec, "affinity", "nodeAffinity")
    required = mapping(nodes, REQUIRED)
    terms = [_term(each) for each in items(required, "nodeSelectorTerms") if isinstance(each, Mapping)]
    if not terms:
        return spec
    kept = _without(nodes, REQUIRED)
    if all(any(term.values()) for term in terms):  # every node would match a term without expressions
        kept[REQUIRED] = {**required, "nodeSelectorTerms": terms}
    return _with(spec, "affinity", _with(affinity, "nodeAffinity", kept))


def _term(term: Mapping[str, Any]) -> dict[str, Any]:
    return _with(term, "matchExpressions", [each for each in items(term, "matchExpressions") if not _is_vacuous(each)])


def _is_vacuous(expression: Any) -> bool:
    named = isinstance(expression, Mapping) and expression.get("operator") == "NotIn"
    return named and isinstance(expression.get("values"), list) and not any(expression["values"])
