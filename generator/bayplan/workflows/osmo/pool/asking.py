"""What a platform refuses a task: rights, mounts, amounts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from bayplan.diagnostics import Diagnostic, Note, Route, error, info, warning
from bayplan.model.topology import NodeShape
from bayplan.values import NamedTuple
from bayplan.words import listing
from bayplan.workflows.osmo.pool.rendering import Job, Rendered
from bayplan.workflows.osmo.pool.values import Ask, Platform, Rule
from bayplan.workflows.osmo.pool.variables import Value, of_node
from bayplan.workflows.osmo.units import UNITS, split_amount

NUMBER = re.compile(r"\d+(\.\d+)?")
WHOLE = re.compile(r"(?<=\d)\.0$")
"""What OSMO's numbers of CPUs end in."""

SHOWN = 3
"""So many tasks are named."""


def rights(platform: Platform, ask: Ask) -> Iterator[Diagnostic]:
    """W484 and W485 (src/utils/job/task.py, TaskSpec.validate_privilege_host_mount)."""
    yield from _right(platform, ask, "privileged", ask.privileged, platform.privileged_allowed, "be privileged")
    wanted = "use the node's network"
    yield from _right(platform, ask, "host_network", ask.host_network, platform.host_network_allowed, wanted)
    for mount, route in zip(ask.mounts, _mount_routes(ask), strict=True):
        source = mount.partition(":")[0]
        if source in platform.default_mounts and source not in platform.allowed_mounts:
            message = f'platform "{platform.name}" mounts "{source}" by itself, and OSMO refuses it a second time'
            yield error("W485", route, message, hint="remove it from the task", notes=_here(platform))
        elif source not in platform.allowed_mounts:
            message = f'platform "{platform.name}" does not let tasks mount "{source}"'
            allowed = listing(platform.allowed_mounts, "and")
            hint = f"it allows {allowed}" if allowed else "it allows no mounts; its administrator can: allowed_mounts"
            yield error("W484", route, message, hint=hint, notes=_here(platform))


def own_mounts(platform: Platform, ask: Ask) -> tuple[str, ...]:
    """The task's mounts that the platform's template does not make already."""
    return tuple(mount for mount in ask.mounts if mount.partition(":")[0] not in platform.default_mounts)


def _right(platform: Platform, ask: Ask, field: str, asked: bool, given: bool, what: str) -> Iterator[Diagnostic]:
    if asked and not given:
        message = f'platform "{platform.name}" does not let tasks {what}'
        hint = f"remove it from the task, or have the pool's administrator set {field}_allowed"
        yield error("W484", ask.places.get(field, ask.route), message, hint=hint, notes=_here(platform))


def _mount_routes(ask: Ask) -> tuple[Route, ...]:
    return (*ask.mount_places, *[ask.route] * (len(ask.mounts) - len(ask.mount_places)))


def _here(platform: Platform) -> tuple[Note, ...]:
    return (Note("the platform is here", platform.route),)


class Case(NamedTuple):
    """The rules of one task's platform, each with the variables it sees.

    First the `plain` ones that no node matters to, then those `of_nodes` over and over: once for each kind of node.
    """

    ask: Ask
    pairs: tuple[tuple[Rule, Mapping[str, Value]], ...]
    plain: int
    of_nodes: tuple[Rule, ...]
    kinds: int


def case(platform: Platform, ask: Ask, tokens: Mapping[str, Value], nodes: Sequence[NodeShape]) -> Case:
    """The rules on the nodes that the task may get."""
    of_nodes = tuple(rule for rule in platform.rules if "K8_" in rule.left + rule.right)
    pairs = [(rule, tokens) for rule in platform.rules if rule not in of_nodes]
    plain = len(pairs)
    for node in nodes:
        values = {**of_node(node.resources, node.accelerators), **tokens}
        pairs += [(rule, values) for rule in of_nodes]
    return Case(ask, tuple(pairs), plain, of_nodes, len(nodes))


def jobs(case: Case) -> list[Job]:
    """Left, right and message of every rule, on every kind of node that it is about."""
    return [Job(text, values) for rule, values in case.pairs for text in (rule.left, rule.right, rule.message)]


class Breach(NamedTuple):
    """A rule that a task breaks: where the workflow says what breaks it, what was compared, what its author says."""

    route: Route
    rule: Route
    compared: str
    said: str
    task: str


Found = Diagnostic | Breach


def told(found: Sequence[Found]) -> Iterator[Diagnostic]:
    """The findings; W483 once for all tasks that break a rule in one place."""
    tasks: dict[Breach, list[str]] = {}
    for each in found:
        if isinstance(each, Breach):
            tasks.setdefault(each._replace(task=""), []).append(each.task)
    for each in dict.fromkeys(each._replace(task="") if isinstance(each, Breach) else each for each in found):
        yield _broken(each, tasks[each]) if isinstance(each, Breach) else each


def _broken(breach: Breach, tasks: Sequence[str]) -> Diagnostic:
    several = len(set(tasks)) > 1
    names = listing(dict.fromkeys(tasks), "and", SHOWN)
    who = f"tasks {names} break a rule of their platform" if several else f"task {names} breaks a rule of its platform"
    notes = (Note(f"{breach.compared} must hold", breach.rule),)
    hint = "change what the task's resource asks for"
    return error("W483", breach.route, f"{who}: {breach.said}", hint=hint, notes=notes)


def judge(case: Case, made: Sequence[Rendered]) -> Iterator[Found]:
    """W481, W482, W483 and W488. Rules about nodes hold if all of them hold on one kind of node."""
    rules = enumerate(rule for rule, _ in case.pairs)
    found = [list(_verdict(case.ask, rule, *made[3 * n : 3 * n + 3])) for n, rule in rules]
    yield from (each for verdict in found[: case.plain] for each in verdict)
    if not case.kinds:
        yield from map(_unknown_nodes, case.of_nodes)
    elif case.of_nodes:
        size = len(case.of_nodes)
        kinds = [found[n : n + size] for n in range(case.plain, len(found), size)]
        by_kind = [[each for verdict in kind for each in verdict] for kind in kinds]
        yield from min(by_kind, key=lambda verdicts: sum(isinstance(each, Breach) for each in verdicts))


def _verdict(ask: Ask, rule: Rule, left: Rendered, right: Rendered, message: Rendered) -> Iterator[Found]:
    broken = next((each for each in (left, right) if each.fault), None)
    empty = (*left.empty, *right.empty)
    if broken:
        yield error("W488", rule.route, f"the rule cannot be evaluated: {broken.fault}", hint=broken.hint)
    elif empty:
        what = f'"{empty[0]}" has no value, so the rule "{rule.message}" is not looked at'
        yield info("W482", rule.route, what, hint=_why(empty[0]))
    else:
        yield from _compared(ask, rule, left.text, right.text, rule.message if message.fault else message.text)


def _compared(ask: Ask, rule: Rule, left: str, right: str, said: str) -> Iterator[Found]:
    holds = compare(rule.operator, operand(left), operand(right))
    one, other = WHOLE.sub("", left), WHOLE.sub("", right)
    if holds is None:
        what = f'OSMO cannot compare "{one}" with "{other}"; the rule is left out'
        yield warning("W481", rule.route, what, hint="both sides must be numbers, or amounts with a unit")
    elif not holds:
        route = ask.places.get(_field(rule), ask.route)
        yield Breach(route, rule.route, f'"{one}" {WORDS[rule.operator]} "{other}"', said, ask.task)


WORDS = {"GT": ">", "GE": ">=", "LT": "<", "LE": "<=", "EQ": "="}


def operand(text: str) -> int | float | str:
    """A side of a rule: an amount with a unit in KiB, a number, or text (postgres.py, ResourceAssertion.evaluate)."""
    parts = split_amount(text)
    if parts is not None and parts[1]:
        number, unit = parts
        power = UNITS[unit] - 10
        return int(number * 2**power if power >= 0 else number / 2**-power)
    return float(text) if NUMBER.fullmatch(text) else text


def compare(operator: str, left: int | float | str, right: int | float | str) -> bool | None:
    """Whether `left operator right` holds; None where text would be compared with a number."""
    if operator == "EQ":
        return left == right
    if isinstance(left, str) and isinstance(right, str):
        return _ordered(operator, (left > right) - (left < right))
    if isinstance(left, str) or isinstance(right, str):
        return None
    return _ordered(operator, (left > right) - (left < right))


def _ordered(operator: str, sign: int) -> bool:
    return {"GT": sign > 0, "GE": sign >= 0, "LT": sign < 0, "LE": sign <= 0}[operator]


def _field(rule: Rule) -> str:
    """The field of a resource that a rule is about."""
    names = {"USER_CPU": "cpu", "USER_GPU": "gpu", "USER_MEMORY": "memory", "USER_STORAGE": "storage"}
    return next((field for name, field in names.items() if name in rule.left + rule.right), "")


def _unknown_nodes(rule: Rule) -> Diagnostic:
    message = f'without a topology nothing is known of nodes, so the rule "{rule.message}" is not looked at'
    return info("W482", rule.route, message, hint="pass the cluster's topology with -t")


def _why(name: str) -> str:
    if name.startswith("K8_"):
        return "state in the topology what the pool's nodes have"
    return f"give {name} a default in common_default_variables, or ask for it in the workflow"
