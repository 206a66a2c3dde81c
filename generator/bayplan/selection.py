"""What the command line and the files leave open: which scheduler, which versions, which gangs, which namespace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bayplan.diagnostics import Diagnostic, Outcome, Route, error, info, warning
from bayplan.model.backend import Backend
from bayplan.model.plan import Plan
from bayplan.model.target import KNOWN, Target, order
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import Workflow
from bayplan.words import did_you_mean

LATER = ("volcano", "kueue", "koordinator", "native", "slurm", "none")
"""Schedulers that are planned: asking for one is answered "not yet", not "unknown"."""


def select_backend(
    asked: str, workflow: Workflow | None, topology: ClusterTopology, table: Mapping[str, Backend]
) -> Outcome[Backend]:
    """Command line, then workflow, then topology file."""
    named: list[tuple[str, Route]] = [
        (asked, ("argument", "--scheduler")),
        (workflow.scheduler if workflow else "", ("workflow", "spec", "scheduler")),
        (topology.defaults.get("scheduler", ""), ("topology", "spec", "defaults", "scheduler")),
    ]
    name, route = next(((n, r) for n, r in named if n), ("", ()))
    if name in table:
        return Outcome(table[name])
    names = ", ".join(table)
    if not name:
        message = "no scheduler is named"
        hint = f"pass --scheduler, or set `spec.scheduler` or the topology's `defaults.scheduler` to one of: {names}"
        return Outcome(None, (error("A901", ("workflow", "spec"), message, hint=hint),))
    if name in LATER:
        return Outcome(None, (error("A902", route, f'scheduler "{name}" is not supported yet; there is {names}'),))
    guess = did_you_mean(name, list(table))
    return Outcome(None, (error("A903", route, f'there is no scheduler "{name}"; there is {names}', hint=guess),))


def select_target(asked: Mapping[str, str], topology: ClusterTopology) -> Outcome[Target]:
    """The topology's versions, which are checked already, with the command line's over them.

    A version newer than known is the newest known.
    """
    versions = {**topology.versions, **asked}
    found = tuple(d for name, version in asked.items() for d in _version(name, version))
    known = {name: version for name, version in versions.items() if name in KNOWN and _numeric(version)}
    capped = {
        name: min(version, KNOWN[name][-1], key=lambda v: order(n, v)) if _beyond(n := name, version) else version
        for name, version in known.items()
    }
    bad = any(each.severity == "error" for each in found)
    return Outcome(None if bad else Target(capped), found)


def _numeric(version: str) -> bool:
    return all(part.isascii() and part.isdigit() for part in version.split("."))


def _beyond(component: str, version: str) -> bool:
    """Whether its minor version is newer than the newest known."""
    return order(component, version)[:-1] > order(component, KNOWN[component][-1])[:-1]


def _version(component: str, version: str) -> tuple[Diagnostic, ...]:
    route: Route = ("argument", "--target")
    if component not in KNOWN:
        names = ", ".join(KNOWN)
        hint = did_you_mean(component, list(KNOWN))
        return (error("A904", route, f'there is no component "{component}"; there are {names}', hint=hint),)
    known = KNOWN[component]
    if not _numeric(version):
        return (error("A905", route, f'"{version}" is no version of {component}', hint=f"write it as {known[-1]}"),)
    if order(component, version) < order(component, known[0]):
        return (error("A906", route, f"{component} {version} is older than {known[0]}, the oldest that bayplan knows"),)
    if _beyond(component, version):
        message = f"{component} {version} is newer than {known[-1]}, the newest that bayplan knows, and is taken for it"
        return (warning("A907", route, message),)
    return ()


def assumed(target: Target, components: Iterable[str]) -> tuple[Diagnostic, ...]:
    """Components whose version decides something and was not given."""
    return tuple(
        info(
            "A913",
            ("topology", "spec", "versions"),
            f"the version of {name} is not given and taken to be {target.version(name)}",
            hint=f'state it: `versions: {{{name}: "{target.version(name)}"}}`',
        )
        for name in components
        if not target.versions.get(name)
    )


def select_gangs(plan: Plan, names: tuple[str, ...]) -> Outcome[Plan]:
    """Only the gangs named; what waits for a gang that is left out starts at once."""
    if not names:
        return Outcome(plan)
    there = {gang.gang.name for gang in plan.gangs}
    unknown = [name for name in names if name not in there]
    if unknown:
        hint = did_you_mean(unknown[0], sorted(there))
        message = f'the workflow has no gang "{unknown[0]}"; it has {", ".join(sorted(there))}'
        return Outcome(None, (error("A908", ("argument", "--gang"), message, hint=hint),))
    kept = [gang for gang in plan.gangs if gang.gang.name in names]
    left = {gang.name for gang in kept}
    cut = tuple(gang._replace(after=tuple(name for name in gang.after if name in left)) for gang in kept)
    loosened = tuple(
        info("A909", (*gang.route, "dependsOn"), f'gang "{gang.gang.name}" is rendered without its predecessors')
        for gang, new in zip(kept, cut, strict=True)
        if gang.after != new.after and gang.copy == 0
    )
    return Outcome(plan._replace(gangs=cut), loosened)


def select_namespace(asked: str, workflow: Workflow, topology: ClusterTopology) -> str:
    """Command line, then workflow, then topology file, then Kubernetes' own default."""
    return asked or workflow.namespace or topology.defaults.get("namespace", "") or "default"
