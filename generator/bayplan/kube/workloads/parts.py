"""Code that the readers of workloads share: template slots, and findings about them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error, has_errors, warning
from bayplan.core.phrases import shorten
from bayplan.kube.objects import get, items, kind, name, named, namespace, number_in, text, title
from bayplan.kube.templates import Amount, amount
from bayplan.model.augment import Late, Path, TemplateSlot, WorkloadTemplates
from bayplan.model.manifest import Object
from bayplan.model.plan import MOST_GANGS, MOST_PODS

Objects = Sequence[Object]
Reader = Callable[[Object, Objects], Outcome[WorkloadTemplates]]
"""Reads a workload, together with all objects that bayplan read."""

NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
DOTTED = re.compile(r"[a-z0-9]([-.a-z0-9]{0,61}[a-z0-9])?")
GROWS = "remove it, or expect the scheduler to place later pods without the gang"
COUNTED = ("replicas", "size", "parallelism", "completions", "numOfHosts", "minReplicas", "maxReplicas")


def slot(
    one: Object, called: str, path: Path, copy_label: str = "", job: Path | None = None, pods: Amount | None = None
) -> TemplateSlot | Diagnostic:
    """The podSet of a pod template. `pods`: their number, if the object by itself does not state it.

    W641: the number of pods or the template is missing or wrong; W339: the name is not valid.
    """
    containers = items(one.data, *path, "spec", "containers")
    if not containers or not all(isinstance(each, Mapping) for each in containers):
        return _missing(one, _deepest(one, (*path, "spec", "containers")))
    if not NAME.fullmatch(called):
        what = f'has the name "{shorten(called)}", which is not valid for a group' if called else "has no name"
        hint = "use at most 63 lower-case letters, digits and dashes"
        return error("W339", _deepest(one, path), f"a part of {title(one)} {what}", hint=hint)
    amounts = pods or amount(one.data, path)
    if amounts.total is None or amounts.replicas is None or amounts.copies is None:
        return unknown(one, _bad_count(one, path))
    return TemplateSlot(called, path, amounts.replicas, amounts.copies, copy_label, job)


def late(template_slot: TemplateSlot | Diagnostic, wait: Late | None) -> TemplateSlot | Diagnostic:
    """The slot with why its pods do not all start together."""
    return template_slot._replace(late=wait) if isinstance(template_slot, TemplateSlot) else template_slot


def numbered(template_slot: TemplateSlot | Diagnostic, indexed: bool) -> TemplateSlot | Diagnostic:
    """The slot, with whether its pods have numbers."""
    return template_slot._replace(numbered=indexed) if isinstance(template_slot, TemplateSlot) else template_slot


def _missing(one: Object, route: Route) -> Diagnostic:
    hint = "add a pod template, whose `spec` has a list of `containers`"
    return error("W641", route, f"{title(one)} has no pod template with containers here", hint=hint)


def unknown(one: Object, route: Route) -> Diagnostic:
    """W641: the value at the route is not a number of pods."""
    message = f"the number of pods of {title(one)} is not valid"
    return error("W641", route, message, hint="write an integer of at least 0")


def _deepest(one: Object, path: Path) -> Route:
    """The place of the longest part of the path that exists."""
    length = next(n for n in range(len(path), -1, -1) if n == 0 or get(one.data, *path[:n]) is not None)
    return (*one.route, *path[:length])


def _bad_count(one: Object, path: Path) -> Route:
    """The value above a template that is not a valid number."""
    places = ((*path[:n], key) for n in range(len(path), 0, -1) for key in COUNTED)
    return (*one.route, *next((each for each in places if _wrong(one, each)), path))


def _wrong(one: Object, path: Path) -> bool:
    number = number_in(one.data, *path)
    return get(one.data, *path) is not None and (number is None or number < 0)


RELATED = ("HorizontalPodAutoscaler", "TrainingRuntime", "ClusterTrainingRuntime", "TrainJob")


def related(objects: Objects) -> Objects:
    """The objects that readers of other objects look at."""
    return tuple(each for each in objects if kind(each) in RELATED)


def autoscalers(one: Object, beside: Objects) -> Iterator[Object]:
    """The HorizontalPodAutoscalers of a workload."""
    for each in beside:
        if kind(each) == "HorizontalPodAutoscaler" and namespace(each) == namespace(one):
            target = get(each.data, "spec", "scaleTargetRef")
            if (text(target, "kind"), text(target, "name")) == (kind(one), name(one)):
                yield each


def templates(
    kind: str,
    one: Object,
    readings: Iterable[TemplateSlot | Diagnostic],
    findings: Iterable[Diagnostic] = (),
    **more: object,
) -> Outcome[WorkloadTemplates]:
    """The workload's pods, if nothing is wrong. `findings`: further diagnostics; `more`: `gangs` and
    `gang_label`."""
    every = tuple(readings)
    wrong = [each for each in every if isinstance(each, Diagnostic)]
    if not every:
        wrong.append(_missing(one, (*one.route, "spec")))
    slots = tuple(each for each in every if isinstance(each, TemplateSlot) and each.total)
    workload = WorkloadTemplates(kind, one, slots, **more)  # type: ignore[arg-type]
    wrong += [*findings, *_named(one, workload), *_many(workload), *([] if wrong else _empty(workload))]
    return Outcome(None if has_errors(wrong) else workload, tuple(dict.fromkeys(wrong)))


def _named(one: Object, workload: WorkloadTemplates) -> Iterator[Diagnostic]:
    """W339."""
    seen: set[str] = set()
    for each in workload.slots:
        if each.name in seen:
            message = f'two parts of {title(one)} have the name "{each.name}"'
            yield error("W339", (*one.route, *each.path), message, hint="rename one of them")
        seen.add(each.name)
    yield from _nameless(workload.placed)


def _nameless(one: Object) -> Iterator[Diagnostic]:
    """W339. The name also becomes a label of the pods."""
    if DOTTED.fullmatch(name(one)):
        return
    hint = "use at most 63 lower-case letters, digits, dashes and dots"
    if not name(one):
        message = f"this {text(one.data, 'kind')} has no name, which its gang needs"
        hint = "set `metadata.name`; `generateName` is not enough"
        yield error("W339", (*one.route, "metadata"), message, hint=hint)
    else:
        message = f'"{shorten(name(one))}" is not valid as the name of a gang, which is named after this workload'
        yield error("W339", named(one), message, hint=hint)


def _many(workload: WorkloadTemplates) -> Iterator[Diagnostic]:
    """W309."""
    pods = workload.gangs * sum(each.total for each in workload.slots)
    if workload.gangs > MOST_GANGS or pods > MOST_PODS:
        gangs = workload.gangs > MOST_GANGS
        what, most = (f"{workload.gangs} gangs", MOST_GANGS) if gangs else (f"{pods} pods", MOST_PODS)
        message = f"{title(workload.placed)} has {what}; bayplan plans at most {most}"
        hint = "check its `replicas`" if gangs else "check all `replicas`: they multiply"
        yield error("W309", workload.placed.route, message, hint=hint)


def _empty(workload: WorkloadTemplates) -> Iterator[Diagnostic]:
    """W506."""
    if workload.idle:
        message = f"{title(workload.object)} has no pods, so bayplan leaves it as it is"
        hint = "run bayplan again after you set its number of pods"
        yield warning("W506", workload.object.route, message, hint=hint)


Slots = Sequence[TemplateSlot | Diagnostic]


def fewer(one: Object, path: Path, slots: Slots) -> Iterator[Diagnostic]:
    """W506: the number at the path allows the workload to start with fewer pods."""
    least, every = number_in(one.data, *path), sum(each.total for each in slots if isinstance(each, TemplateSlot))
    if least is not None and 0 < least < every:
        message = f"{title(one)} may start with {least} of {every} pods, but bayplan plans all of them as one gang"
        yield warning("W506", (*one.route, *path), message, hint="lower `replicas` if fewer pods are enough")
