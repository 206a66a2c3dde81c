"""Several workflows on one cluster: in order, each beside the placement of those before it, or in any packing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from bayplan.core.diagnostics import Diagnostic, Note, Outcome, Route, error, has_errors, info
from bayplan.core.phrases import count, listing
from bayplan.model.plan import GangPlan, Plan, all_pods, edit_unit
from bayplan.planning.fit import Fits, Impossible, Undecided, diagnose, prove, settled, started
from bayplan.planning.fit.search import MOST, Stage, answers, lacking, moved, stages, surely_fits
from bayplan.planning.fit.staying import Taken, beside, takes
from bayplan.planning.fit.witness import Placed

if TYPE_CHECKING:
    from bayplan.planning.fit.certificate import Certificate


class Proven(NamedTuple):
    """A plan with its placement. By itself, or beside others if `plan.occupied` has what these take.

    `queued`: its scheduler enforces the numbers of the queues in the topology.
    """

    plan: Plan
    fits: Fits
    queued: bool = False


class Joint(NamedTuple):
    """The workflows that fit, by their number, the diagnostics, and the plans that do not fit beside the others.

    The subject of workflow N in routes is `subject(N)`, because all of them are a "workflow" in their own plans.
    """

    proven: Mapping[int, Proven]
    diagnostics: tuple[Diagnostic, ...] = ()
    refused: tuple[Plan, ...] = ()


def subject(number: int) -> str:
    """The subject of one of several workflows in routes."""
    return f"workflow {number}"


def in_order(alone: Sequence[Proven]) -> Joint:
    """Each workflow beside the placements of those before it. A workflow that does not fit takes nothing."""
    taken: dict[int, Taken] = {}
    proven: dict[int, Proven] = {}
    found: list[Diagnostic] = []
    fit_together = cache(lambda: surely_fits(union(alone)))
    refused: list[Plan] = []
    for number, each in enumerate(alone):
        plan = beside(each.plan, taken.values())
        fits = _placed(plan, each) if taken else each.fits
        found += _moving(plan, fits, each, number)
        if fits is None:
            outcome = diagnose(_numbered(plan, number), each.queued)
            if each.fits.complete or has_errors(outcome.diagnostics):
                found += _beside_others(outcome.diagnostics, plan, proven, fit_together)
            fits = outcome.value and _part(outcome.value, number)
        elif taken and not fits.complete:
            found += _beside_others(_fewer(plan, each.plan, number), plan, proven, fit_together)
        if fits is not None:
            proven[number] = Proven(plan, fits)
            taken[number] = takes(plan, fits.witness)
        else:
            refused.append(plan)
    diagnostics = tuple(found) if has_errors(found) else (*found, *_contention(alone))
    return Joint(proven, diagnostics, tuple(refused))


def together(alone: Sequence[Proven]) -> Joint:
    """All workflows at once: the placement in order if there is one, otherwise any packing."""
    ordered = _all_in_order(alone)
    if ordered:
        pairs = enumerate(zip(ordered, alone, strict=True))
        found = [each for n, (one, own) in pairs for each in _moving(one.plan, one.fits, own, n)]
        return Joint(dict(enumerate(ordered)), (*found, *_contention(alone)))
    whole = union(alone)
    outcome = _packed(whole)
    if outcome.value is None:
        return Joint({}, outcome.diagnostics, (whole,))
    parts = (_part(outcome.value, number) for number in range(len(alone)))
    placed = {n: Proven(one.plan, fits) for n, (one, fits) in enumerate(zip(alone, parts, strict=True))}
    shrunk = (each._replace(message=f"with all workflows at once, {each.message}") for each in outcome.diagnostics)
    return Joint(placed, (*shrunk, *_contention(alone)))


def _all_in_order(alone: Sequence[Proven]) -> list[Proven]:
    """The placements in order; empty if one of the workflows does not fit beside those before it."""
    proven: list[Proven] = []
    taken: list[Taken] = []
    for each in alone:
        fits = _placed(beside(each.plan, taken), each) if taken else each.fits
        if fits is None:
            return []
        proven.append(Proven(each.plan, fits))
        taken.append(takes(each.plan, fits.witness))
    return proven


def _packed(whole: Plan) -> Outcome[Fits]:
    """A placement of all gangs at once, or of what must start together; otherwise P557 or P566."""
    from bayplan.planning.fit import explain

    result = prove(whole)
    if isinstance(result, Fits):
        return Outcome(result, tuple(explain.moving(whole, result.witness)))
    if isinstance(result, Impossible) and not stages(whole.gangs):
        result = Undecided(f"more than {MOST} different sets of gangs may run at the same time")
    if isinstance(result, Impossible):
        return started(whole) or Outcome(None, (_refused(whole, result.certificate),))
    hint = ", or ".join(filter(None, (result.hint, NOT_TOGETHER)))
    return Outcome(None, (explain.undecided(whole, f"with all workflows at once, {result.why}", hint),))


def _placed(plan: Plan, alone: Proven) -> Fits | None:
    """A placement of as many pods as without the others."""
    witness: list[Stage] = []
    for gangs, found in answers(_wanted(alone._replace(plan=plan))):
        if not isinstance(found, Placed):
            return None
        witness.append(Stage(tuple(gang.name for gang in gangs), found.runs))
    return Fits(settled(plan, tuple(witness)), alone.fits.complete)


def _moving(plan: Plan, fits: Fits | None, alone: Proven, number: int) -> Iterator[Diagnostic]:
    """P560 for a workflow whose gangs stay on their nodes only without the others."""
    if fits and moved(fits.witness) and not moved(alone.fits.witness):
        from bayplan.planning.fit import explain

        yield from (
            each._replace(route=(subject(number), *each.route[1:])) for each in explain.moving(plan, fits.witness)
        )


def _fewer(plan: Plan, alone: Plan, number: int) -> list[Diagnostic]:
    """P556 where fewer replicas fit beside the others than without them."""
    from bayplan.planning.fit import explain
    from bayplan.planning.fit.certificate import least

    before, now = (
        list(explain.shrunk(each, least(each))) for each in (_numbered(alone, number), _numbered(plan, number))
    )
    known = {each.message for each in before}
    return [each for each in now if each.message not in known]


def _wanted(alone: Proven) -> Plan:
    """The plan, or what must start together if only that fits without the others."""
    if alone.fits.complete:
        return alone.plan
    from bayplan.planning.fit.certificate import least

    return least(alone.plan)


# All gangs of all workflows as one plan.


def union(alone: Sequence[Proven]) -> Plan:
    """One plan with the gangs of all, in which messages call a gang `WORKFLOW/GANG`."""
    plans = [_numbered(_wanted(each), number) for number, each in enumerate(alone)]
    gangs = ((gang, f"{plan.workflow.name}/{gang.gang.name}") for plan in plans for gang in plan.gangs)
    return plans[0]._replace(gangs=tuple(gang._replace(gang=gang.gang._replace(name=name)) for gang, name in gangs))


def _numbered(plan: Plan, number: int) -> Plan:
    """The plan with routes that begin with `subject(number)`, and object names such as `0/train`."""

    def route(old: Route) -> Route:
        return (subject(number), *old[1:])

    def gang(old: GangPlan) -> GangPlan:
        root = edit_unit(
            old.root,
            unit=lambda each: each._replace(route=route(each.route)),
            units=lambda each: each._replace(route=route(each.route)),
            pods=lambda each: each._replace(route=route(each.route)),
        )
        after = tuple(f"{number}/{name}" for name in old.after)
        previous = f"{number}/{old.previous}" if old.previous else ""
        return old._replace(
            name=f"{number}/{old.name}", route=route(old.route), root=root, after=after, previous=previous
        )

    return plan._replace(gangs=tuple(map(gang, plan.gangs)))


def _part(whole: Fits, number: int) -> Fits:
    """One workflow's part of a placement of all. Stage N is what runs while stage N of the others runs."""
    prefix = f"{number}/"
    own = tuple(
        Stage(
            tuple(name.removeprefix(prefix) for name in stage.gangs if name.startswith(prefix)),
            tuple(r._replace(gang=r.gang.removeprefix(prefix)) for r in stage.runs if r.gang.startswith(prefix)),
        )
        for stage in whole.witness
    )
    return Fits(own, whole.complete)


# Diagnostics.

ALONE = "pass --alone to prove each workflow by itself"
NOT_TOGETHER = "pass --alone instead of --together to prove each workflow by itself"
TOGETHER = "pass --together to try other placements of all workflows"
SHOWN = 3
"""The most gangs and domains of others in a message."""


def _beside_others(
    diagnostics: Iterable[Diagnostic], plan: Plan, others: Mapping[int, Proven], fit_together: Callable[[], bool]
) -> Iterator[Diagnostic]:
    """P566: the diagnostics of a workflow that does not fit beside others, with what these take and other ways."""
    pools = {pods.pool for gang in plan.gangs for pods in all_pods(gang.root)}
    taken = {number: gangs for number, each in others.items() if (gangs := list(_gang_notes(each, number, pools)))}
    names = listing((others[number].plan.workflow.name for number in taken), "and", SHOWN)
    whose = f"workflow{'s' if len(taken) > 1 else ''} {names}"
    notes = [note for gangs in taken.values() for note in gangs]
    notes[SHOWN:] = [Note(count(len(notes) - SHOWN, "more gang"))] if len(notes) > SHOWN else []
    ways = [TOGETHER] if fit_together() else []
    for each in diagnostics:
        place = f"beside the placement that bayplan chose for {whose}"
        hint = ", or ".join(filter(None, (each.hint, *ways, ALONE)))
        more = (*notes, *each.notes)
        if each.severity == "error" and each.code != "P557":
            message = f"no room {place}: {each.message}"
            yield error("P566", each.route, message, hint=hint, notes=more)
        else:
            yield each._replace(message=f"{place}, {each.message}", hint=hint, notes=more)


def _gang_notes(proven: Proven, number: int, pools: set[str]) -> Iterator[Note]:
    """What each gang of a workflow takes of some pools, at the gang."""
    plan = proven.plan
    routes: dict[Route, list[str]] = {}
    for gang in plan.gangs:
        routes.setdefault(gang.route, []).append(gang.name)
    for route, names in routes.items():
        runs = {run for stage in proven.fits.witness for run in stage.runs if run.gang in names and run.pool in pools}
        nodes = {node for run in runs for node in run.nodes}
        title = next(each.gang.name for each in plan.gangs if each.route == route)
        if nodes:
            what = f'gang "{title}" of workflow "{plan.workflow.name}" takes {count(len(nodes), "node")}'
            yield Note(f"{what}: {_domains(plan, nodes)}", (subject(number), *route[1:]))


def _domains(plan: Plan, nodes: set[str]) -> str:
    """`16 in rack "r1", 14 in rack "r2", 3 in 2 other domains`."""
    found: dict[str, int] = {}
    for pool in plan.topology.pools:
        for domain in pool.domains:
            name = f'{pool.levels[-1].name} "{domain.path[-1]}"' if pool.levels else f'pool "{pool.name}"'
            found[name] = found.get(name, 0) + sum(node in nodes for node in domain.nodes)
    parts = [(name, number) for name, number in found.items() if number]
    rest = sum(number for _, number in parts[SHOWN:])
    shown = [f"{number} in {name}" for name, number in parts[:SHOWN]]
    return ", ".join([*shown, *([f"{rest} in {count(len(parts) - SHOWN, 'other domain')}"] if rest else [])])


def _refused(whole: Plan, why: Certificate) -> Diagnostic:
    """P566: the workflows do not fit together in any packing."""
    from bayplan.planning.fit import certificate, explain

    own = why._replace(unit=why.gang.root, route=why.gang.route, beside=())
    changes = (*(each for each in why.changes if each.what != "order"), *certificate.fewer(own, whole))
    found = explain.refused(whole, why._replace(changes=changes))
    notes = tuple(Note(f'gang "{gang.gang.name}"', gang.route) for gang in why.beside[:SHOWN])
    hint = ", or ".join(filter(None, (found.hint, NOT_TOGETHER)))
    message = f"the workflows do not fit together: {found.message}"
    return error("P566", found.route, message, hint=hint, notes=(*notes, *found.notes))


def _contention(alone: Sequence[Proven]) -> tuple[Diagnostic, ...]:
    """P568: one of the workflows may find no room, because schedulers choose the order and the nodes."""
    whole = union(alone)
    firsts = tuple(gang for gang in whole.gangs if gang.copy == 0)
    for pool in whole.topology.pools:
        users = {gang.route[0] for gang in firsts if any(pods.pool == pool.name for pods in all_pods(gang.root))}
        for gangs in (stages(firsts) or (firsts,)) if len(users) > 1 else ():
            for gang in lacking(gangs, pool, whole)[-1:]:
                message = (
                    f'gang "{gang.gang.name}" may have to wait for other workflows in pool "{pool.name}", because the '
                    f"scheduler chooses the order and the nodes"
                )
                hint = "no action needed if it may wait; otherwise, start it before the others"
                return (info("P568", gang.route, message, hint=hint),)
    return ()
