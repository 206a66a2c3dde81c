"""Workloads that others wrote, as Workflows: those that annotations or a policy ask to be placed, and no others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bayplan.diagnostics import Diagnostic, Outcome, Route, error, has_errors
from bayplan.kube import workloads
from bayplan.kube.objects import group, kind, title
from bayplan.model.augment import Roster
from bayplan.model.manifest import Object
from bayplan.model.policy import RULES, Policy
from bayplan.model.workflow import Workflow
from bayplan.values import NamedTuple
from bayplan.words import lined
from bayplan.workflows.manifests import annotated, rules
from bayplan.workflows.manifests.building import build
from bayplan.workflows.manifests.wishes import wish


class Selected(NamedTuple):
    """A workload that is to be placed.

    `origins`: route of the workflow -> the annotation, the rule, or the part of the workload that it comes from.
    `adopt`: what the workload says already may be replaced.
    """

    roster: Roster
    workflow: Workflow
    origins: Mapping[Route, Route]
    scheduler: str = ""
    queue: str = ""
    adopt: bool = False


def select(
    objects: Sequence[Object],
    policy: Policy | None = None,
    hooks: bool = False,
    namespace: str = "",
    shared: bool = False,
) -> Outcome[tuple[Selected, ...]]:
    """The workloads to place, in the order of the objects. None of them where anything is wrong with one.

    `hooks`: whether those that Helm runs as hooks may be placed; `namespace`: that of objects that name none;
    `shared`: whether the policy is for other manifests too, and may select nothing here.
    """
    found: list[Selected] = []
    said: list[Diagnostic] = []
    matched: list[tuple[Object, tuple[int, ...]]] = []
    for one in objects:
        numbers = rules.matching(one, policy, namespace) if policy else ()
        matched.append((one, numbers))
        if numbers or annotated.first(one):
            made = _selected(one, objects, policy, numbers[0] if numbers else None, hooks)
            said += made.diagnostics
            found += [made.value] if made.value else []
        elif (group(one), kind(one)) in workloads.WORKLOADS:
            said += annotated.misplaced(one)
    said += rules.findings(policy, matched, shared) if policy else ()
    return Outcome(None if has_errors(said) else tuple(found), tuple(map(lined, said)))


def _selected(
    one: Object, objects: Sequence[Object], policy: Policy | None, rule: int | None, hooks: bool
) -> Outcome[Selected]:
    asked, early = annotated.read(one), (*annotated.misplaced(one), *_hook(one, rule, hooks))
    roster = workloads.read(one, objects)
    said = (*asked.diagnostics, *early, *roster.diagnostics)
    if has_errors(said) or asked.value is None or roster.value is None or roster.value.idle:
        return Outcome(None, said)
    wanted = wish(roster.value, policy, rule, asked.value)
    built = build(roster.value, wanted.value) if wanted.value else None
    said = (*said, *wanted.diagnostics, *(built.diagnostics if built else ()))
    if wanted.value is None or built is None or built.value is None:
        return Outcome(None, said)
    workflow, origins = built.value
    adopt = wanted.value.adopt
    return Outcome(Selected(roster.value, workflow, origins, workflow.scheduler, workflow.queue, adopt), said)


def _hook(one: Object, rule: int | None, hooks: bool) -> Iterator[Diagnostic]:
    """A945."""
    if rules.hook(one) and not hooks:
        asked = annotated.first(one) or (*RULES, rule or 0)
        message = f"{title(one)} is a hook of Helm, which runs it alone and waits for it"
        yield error("A945", asked, message, hint="leave it out, or place hooks too with `--include-hooks`")


__all__ = ["Selected", "select"]
