"""Preferences that no placement can meet: a warning each, since the scheduler will fall back without a word."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.diagnostics import Diagnostic, Route, warning
from bayplan.model.plan import GangPlan, Plan, Unit, Units, walk
from bayplan.planning.fit import Impossible, prove


def unmet(plan: Plan) -> Iterator[Diagnostic]:
    """For a plan that fits: each preferred level of the file that would not, were it required."""
    for gang in plan.gangs:
        units = {unit.route: unit for unit in walk(gang.root) if unit.preferred} if gang.copy == 0 else {}
        for route, unit in units.items():
            if isinstance(prove(_requiring(plan, route)), Impossible):
                what = f'a "{unit.name.rpartition("-")[0]}"' if unit.name else f'gang "{gang.gang.name}"'
                message = f'{what} cannot be in one "{unit.preferred}" as preferred; its pods will spread over several'
                hint = f'`bayplan explain P516`; or prefer a coarser level than "{unit.preferred}"'
                yield warning("P516", (*route, "placement", "preferred"), message, hint=hint)


def _requiring(plan: Plan, route: Route) -> Plan:
    """The plan with that one preference as a requirement."""
    return plan._replace(gangs=tuple(_gang(gang, route) for gang in plan.gangs))


def _gang(gang: GangPlan, route: Route) -> GangPlan:
    return gang._replace(root=_unit(gang.root, route)) if route[: len(gang.route)] == gang.route else gang


def _unit(unit: Unit, route: Route) -> Unit:
    required = unit.preferred if unit.route == route else unit.required
    return unit._replace(required=required, groups=tuple(_units(units, route) for units in unit.groups))


def _units(units: Units, route: Route) -> Units:
    return units._replace(members=tuple(_unit(member, route) for member in units.members))
