"""Which rule of a policy holds for which workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from bayplan.diagnostics import Diagnostic, Note, error, info, warning
from bayplan.kube.objects import group, kind, name, namespace, title
from bayplan.kube.safe import mapping
from bayplan.kube.workloads import WORKLOADS
from bayplan.model.manifest import Object
from bayplan.model.policy import RULES, Policy, Rule
from bayplan.words import count


def matching(one: Object, policy: Policy, where: str) -> tuple[int, ...]:
    """The numbers of the rules that match. `where`: the namespace of objects that name none."""
    return tuple(index for index, rule in enumerate(policy.rules) if matches(rule, one, where))


def matches(rule: Rule, one: Object, where: str) -> bool:
    """Kinds whose pods nobody can count are matched by their very name alone, as if by an annotation."""
    match = rule.match
    if match.kind != kind(one) and ((group(one), kind(one)) not in WORKLOADS or not _fits(kind(one), match.kind)):
        return False
    if not (_fits(name(one), match.name) and _fits(namespace(one) or where, match.namespace)):
        return False
    labels = mapping(one.data, "metadata", "labels") if match.labels else {}
    return all(labels.get(key) == value for key, value in match.labels.items())


def _fits(text: str, pattern: str) -> bool:
    """Most patterns are plain, or fit everything."""
    return pattern == "*" or text == pattern or fnmatchcase(text, pattern)


def findings(
    policy: Policy, matched: Sequence[tuple[Object, tuple[int, ...]]], shared: bool = False
) -> Iterator[Diagnostic]:
    """A943: a rule that matches nothing, or no rule that matches; A944: one that asks for more, but comes later."""
    used = {index for _, found in matched for index in found}
    if policy.rules and not used and not shared:
        message = "the policy selects nothing: no workload among the manifests is what one of its rules describes"
        yield error("A943", RULES, message, hint="see `match`; where there is nothing to place, leave the policy away")
        return
    for index in range(len(policy.rules)):
        if index not in used:
            message = f"rule {index + 1} of the policy matches none of the workloads"
            yield warning("A943", (*RULES, index), message, hint="see `match`, or remove the rule")
    shadowed: dict[tuple[int, int], list[Object]] = {}
    for one, found in matched:
        for later in found[1:]:
            if policy.rules[found[0]]._replace(match=policy.rules[later].match) != policy.rules[later]:
                shadowed.setdefault((found[0], later), []).append(one)
    for (first, later), objects in shadowed.items():
        yield _shadowed(first, later, objects)


def _shadowed(first: int, later: int, objects: Sequence[Object]) -> Diagnostic:
    more = f" and {count(len(objects) - 1, 'other')}" if objects[1:] else ""
    message = f"rule {later + 1} matches {title(objects[0])}{more} too, but rule {first + 1} comes first"
    return info("A944", (*RULES, later), message, notes=(Note("the first rule that matches holds", (*RULES, first)),))


def hook(one: Object) -> bool:
    """Whether Helm runs the object as a hook."""
    return "helm.sh/hook" in mapping(one.data, "metadata", "annotations")
