"""Choices of the command line and the files: the scheduler, the versions, the gangs and the namespace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from bayplan import plugins
from bayplan.core.diagnostics import Diagnostic, Outcome, Route, error, info, warning
from bayplan.core.phrases import did_you_mean
from bayplan.kube.kinds import CONTROLLED
from bayplan.model.backend import Backend
from bayplan.model.plan import Plan
from bayplan.model.target import KNOWN, Target, minor, order
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Workflow


def select_backend(
    requested: str, workflow: Workflow | None, topology: ClusterTopology, table: Mapping[str, Backend]
) -> Outcome[Backend]:
    """Command line, then workflow, then topology file."""
    named: list[tuple[str, Route]] = [
        (requested, ("argument", "--scheduler")),
        (workflow.scheduler if workflow else "", ("workflow", "spec", "scheduler")),
        (topology.defaults.get("scheduler", ""), ("topology", "spec", "defaults", "scheduler")),
    ]
    name, route = next(((n, r) for n, r in named if n), ("", ()))
    if name in table:
        return Outcome(table[name])
    names = ", ".join(table)
    if not name:
        hint = f"pass --scheduler, or set `spec.scheduler` or the topology's `defaults.scheduler` to one of: {names}"
        return Outcome(None, (error("A901", ("workflow", "spec"), "no scheduler is set", hint=hint),))
    if message := plugins.without(name):
        return Outcome(None, (error("A901", route, message, hint=plugins.WAY),))
    hint = did_you_mean(name, list(table)) or f"schedulers: {names}"
    return Outcome(None, (error("A901", route, f'bayplan does not know the scheduler "{name}"', hint=hint),))


def select_target(requested: Mapping[str, str], topology: ClusterTopology) -> Outcome[Target]:
    """The topology's versions, which were checked before, overridden by those of the command line.

    A version that is newer than the newest known counts as that one. A version between two known ones behaves like the
    earlier one.
    """
    diagnostics = tuple(d for name, version in requested.items() for d in _version(name, version))
    capped = {
        name: KNOWN[name][-1] if _beyond(name, version) else version
        for name, version in {**topology.versions, **requested}.items()
        if name in KNOWN and _numeric(version)
    }
    return Outcome(None if any(each.severity == "error" for each in diagnostics) else Target(capped), diagnostics)


LONGEST_VERSION = 32
"""The most characters of a version. Python converts at most 4,300 digits to a number."""


def _numeric(version: str) -> bool:
    return len(version) <= LONGEST_VERSION and all(part.isascii() and part.isdigit() for part in version.split("."))


def _beyond(component: str, version: str) -> bool:
    """Whether its minor version is newer than the newest known."""
    return order(component, version)[:-1] > order(component, KNOWN[component][-1])[:-1]


def _version(component: str, version: str) -> Iterator[Diagnostic]:
    route: Route = ("argument", "--target")
    if component not in KNOWN:
        message = f'bayplan does not know the component "{component}"'
        hint = did_you_mean(component, list(KNOWN)) or f"components: {', '.join(KNOWN)}"
        yield error("A904", route, message, hint=hint)
        return
    versions, what = KNOWN[component], f"{component} {version}"
    if not _numeric(version):
        shown = version if len(version) <= LONGEST_VERSION else f"{version[:LONGEST_VERSION]}..."
        yield error("A904", route, f'"{shown}" is not a version of {component}', hint=f"write it like {versions[-1]}")
    elif order(component, version) < order(component, versions[0]):
        message = f"{what} is older than {versions[0]}, the oldest that bayplan knows"
        yield error("A904", route, message, hint=f"upgrade to {versions[0]} or later")
    elif _beyond(component, version):
        newest = versions[-1]
        message = f"{what} is newer than {newest}, the newest that bayplan knows; bayplan uses the rules of {newest}"
        yield warning("A907", route, message, hint=f"read what changed since {newest}, or upgrade bayplan")
    elif order(component, minor(version)) not in [order(component, each) for each in versions]:
        message = f"bayplan does not know {what} and uses the rules of the release before it"
        yield warning("A907", route, message, hint=f"known releases: {', '.join(versions)}")


def assumed_versions(target: Target, components: Iterable[str]) -> tuple[Diagnostic, ...]:
    """A913: components whose version affects the output and was not given."""
    missing = {name: target.version(name) for name in components if not target.versions.get(name)}
    if not missing:
        return ()
    versions = ", ".join(f"{name} {version}" for name, version in missing.items())
    message = f"the topology states no version of some components; bayplan assumes {versions}"
    added = ", ".join(f'{name}: "{version}"' for name, version in missing.items())
    return (info("A913", ("topology", "spec", "versions"), message, hint=f"add `versions: {{{added}}}`"),)


def select_gangs(plan: Plan, names: tuple[str, ...]) -> Outcome[Plan]:
    """Only the named gangs. A gang that waits for an omitted gang starts at once."""
    if not names:
        return Outcome(plan)
    existing = {gang.gang.name for gang in plan.gangs}
    unknown = [name for name in names if name not in existing]
    if unknown:
        hint = did_you_mean(unknown[0], sorted(existing)) or f"gangs: {', '.join(sorted(existing))}"
        message = f'the workflow has no gang "{unknown[0]}"'
        return Outcome(None, (error("A920", ("argument", "--gang"), message, hint=hint),))
    kept = [gang for gang in plan.gangs if gang.gang.name in names]
    left = {gang.name for gang in kept}
    cut = tuple(gang._replace(after=tuple(name for name in gang.after if name in left)) for gang in kept)
    loosened = tuple(
        info(
            "A909", (*gang.route, "dependsOn"), f'gang "{gang.gang.name}" does not wait: --gang omits its predecessors'
        )
        for gang, new in zip(kept, cut, strict=True)
        if gang.after != new.after and gang.copy == 0
    )
    return Outcome(plan._replace(gangs=cut), loosened)


def select_namespace(requested: str, workflow: Workflow) -> Outcome[Workflow]:
    """The workflow in the namespace that the command line names, if it names one."""
    if not requested:
        return Outcome(workflow)
    if is_label(requested):
        return Outcome(workflow._replace(namespace=requested))
    hint = "use at most 63 lower-case letters, digits and hyphens, and no hyphen at either end"
    return Outcome(None, (error("A920", NAMESPACE, f'"{requested}" cannot be the name of a namespace', hint=hint),))


NAMESPACE: Route = ("argument", "--namespace")


class Given(NamedTuple):
    """What the command line gives to workflows that set none: a queue, a PriorityClass, and a kind for their gangs."""

    queue: str = ""
    priority: str = ""
    workload: str = ""


QUEUE: Route = ("argument", "--queue")
PRIORITY: Route = ("argument", "--priority")
WORKLOAD: Route = ("argument", "--workload")

WORKLOADS = ("jobset", "job", "pods", "volcano-job", *CONTROLLED)
"""The kinds that bayplan writes."""


def complete(given: Given, workflow: Workflow) -> Outcome[Workflow]:
    """The workflow with what the command line gives and the workflow does not set."""
    wrong = tuple(_invalid(given))
    if wrong:
        return Outcome(None, wrong)
    gangs = workflow.gangs
    if given.workload:
        gangs = tuple(g._replace(workload=given.workload) if g.workload == "auto" else g for g in gangs)
    own = workflow._replace(queue=workflow.queue or given.queue, gangs=gangs)
    return Outcome(own._replace(priority_class=own.priority_class or given.priority))


def _invalid(given: Given) -> Iterator[Diagnostic]:
    hint = "use at most 63 lower-case letters, digits, hyphens and dots, with a letter or digit at both ends"
    if given.queue and not is_label(given.queue.replace(".", "-")):
        yield error("A920", QUEUE, f'"{given.queue}" cannot be the name of a queue', hint=hint)
    if given.priority and not all(map(is_label, given.priority.split("."))):
        if given.priority in ("HIGH", "NORMAL", "LOW"):
            hint = f"use --priority osmo-{given.priority.lower()}, the PriorityClass of OSMO's chart"
        yield error("A920", PRIORITY, f'"{given.priority}" cannot be the name of a PriorityClass', hint=hint)
    if given.workload and given.workload not in WORKLOADS:
        hint = did_you_mean(given.workload, WORKLOADS) or f"use one of: {', '.join(WORKLOADS)}"
        yield error("A920", WORKLOAD, f'--workload cannot be "{given.workload}"', hint=hint)


def unused(given: Given, workflows: Iterable[Workflow], noun: str = "workflow") -> Iterator[Diagnostic]:
    """A931: the command line gives what every workflow sets itself."""
    flows = list(workflows)
    kinds = {gang.workload for each in flows for gang in each.gangs}
    rows = (
        (
            QUEUE,
            given.queue,
            {each.queue for each in flows if not all(gang.queue for gang in each.gangs)},
            f"every {noun} names a queue of its own",
            f"queue of a {noun}",
        ),
        (
            PRIORITY,
            given.priority,
            {each.priority_class for each in flows},
            f"every {noun} has a priority class of its own",
            f"priority class of a {noun}",
        ),
        (WORKLOAD, given.workload, kinds, "every gang sets its `workload`", "`workload` of a gang"),
    )
    for route, value, used, why, what in rows:
        if value and used and value not in used:
            message = f'{why}, so {route[1]} "{value}" has no effect'
            yield warning("A931", route, message, hint=f"leave out {route[1]}, or remove the {what}")


def is_label(name: str) -> bool:
    """Whether the name is a DNS label, as Kubernetes requires for namespaces (Kubernetes 1.34, RFC 1123)."""
    plain = name.replace("-", "0")
    ends = name[:1] + name[-1:]
    return len(name) <= 63 and plain.isascii() and plain.isalnum() and plain == plain.lower() and "-" not in ends


def reattribute(
    namespace: str, given: Given, workflow: Workflow, diagnostics: Iterable[Diagnostic]
) -> tuple[Diagnostic, ...]:
    """Findings about the namespace, the queue and the priority, with the command line as their place if it set them."""
    options: dict[Route, Route] = {}
    if namespace:
        options["workflow", "metadata", "namespace"] = NAMESPACE
    if given.queue and given.queue == workflow.queue:
        options["workflow", "spec", "queue"] = QUEUE
    if given.priority and given.priority == workflow.priority_class:
        options["workflow", "spec", "priorityClassName"] = PRIORITY
    return tuple(each._replace(route=options.get(each.route, each.route)) for each in diagnostics)


def with_default_priority(workflow: Workflow, topology: ClusterTopology) -> Workflow:
    """The workflow with the topology's PriorityClass, if it names none."""
    default = topology.defaults.get("priorityClassName", "")
    return workflow if workflow.priority_class or not default else workflow._replace(priority_class=default)


def default_namespace(workflow: Workflow, topology: ClusterTopology) -> str:
    """The workflow's, then the topology file's, then Kubernetes' own default."""
    return workflow.namespace or topology.defaults.get("namespace", "") or "default"


def nothing_to_export(scheduler: str) -> Diagnostic:
    """T581: why an export writes nothing."""
    message = f"{scheduler} needs no cluster-scoped objects, so there is nothing to write"
    hint = "check that the nodes have the labels of the levels; docs/reference/schedulers lists its other needs"
    return warning("T581", ("argument", "--to"), message, hint=hint)
