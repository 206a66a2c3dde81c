"""The lines that say what a run without errors achieved: where the pods fit, and what bayplan wrote."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from bayplan.cli.finish import Success
from bayplan.cli.options import Arguments
from bayplan.core.phrases import count
from bayplan.model.manifest import File, Item, Many
from bayplan.model.plan import Plan, all_pods
from bayplan.planning.fit import Fits, prove
from bayplan.planning.fit.certificate import least

MOST = 5
"""The most workflows that get a line each. Every workflow is proven by itself."""


def lines(args: Arguments, success: Success) -> list[str]:
    """A line for each workflow, and what was written. One line in all if there is only one workflow."""
    several = len(success.plans) > MOST
    fits = [f"{len(success.plans)} workflows fit, each by itself"] if several else [*map(_fit, success.plans)]
    result = success.result or _written(args, success.documents)
    if not result:
        return fits
    return [*fits, result] if len(fits) > 1 else ["; ".join((*fits, result))]


def _fit(plan: Plan) -> str:
    """`pretrain: 64 pods fit in north-1/spine-a`. A plan without errors fits at least with what must start together."""
    proof, whole = prove(plan), True
    if not isinstance(proof, Fits):
        proof, whole = prove(least(plan)), False
    if not isinstance(proof, Fits):
        raise AssertionError(f"{plan.workflow.name} has no proof")
    runs = [run for stage in proof.witness for run in stage.runs]
    placed = sum(len(run.nodes) * run.each for run in runs)
    all_of_them = sum(pods.total for gang in plan.gangs for pods in all_pods(gang.root))
    number = f"{count(placed, 'pod')} {'fits' if placed == 1 else 'fit'}"
    place = _place(plan, {run.pool for run in runs}, {node for run in runs for node in run.nodes})
    return f"{plan.workflow.name}: {number if whole else f'at least {placed} of {all_of_them} pods fit'} {place}"


def _place(plan: Plan, names: set[str], nodes: set[str]) -> str:
    """The smallest domain with all of these nodes, or the number of domains of the coarsest level."""
    if len(nodes) == 1:
        return f"on {next(iter(nodes))}"
    pools = [pool for pool in plan.topology.pools if pool.name in names]
    paths = {
        tuple(zip([level.label for level in pool.levels], domain.path, strict=True))
        for pool in pools
        for domain in pool.domains
        if not nodes.isdisjoint(domain.nodes)
    }
    shared = [step[0] for step in takewhile(lambda step: len({*step}) == 1, zip(*paths, strict=False))]
    coarsest = {level.name for pool in pools for level in pool.levels[:1]}
    if shared:
        return f"in {'/'.join(value for _, value in shared)}"
    if len({path[:1] and path[0][0] for path in paths}) == len(coarsest) == 1:
        return f"in {len({path[0] for path in paths})} domains of level {coarsest.pop()}"
    return f"on {count(len(nodes), 'node')}"


def _written(args: Arguments, documents: Sequence[Item]) -> str:
    """`6 objects written to manifests/`; empty without documents."""
    path = args.value("output", "-")
    if not documents:
        return ""
    if args.has("check"):
        return f"{path} is up to date"
    files = sum(isinstance(each, File) for each in documents)
    objects = sum(len([*each.rows]) if isinstance(each, Many) else 1 for each in documents) - files
    what = " and ".join(count(number, noun) for number, noun in ((objects, "object"), (files, "file")) if number)
    return f"{what} written{'' if path == '-' else f' to {path}'}"
