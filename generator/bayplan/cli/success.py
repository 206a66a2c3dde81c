"""The lines that say what a run without errors achieved: where the pods fit, and what bayplan wrote."""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.cli.options import Arguments
from bayplan.core.phrases import count
from bayplan.core.values import common
from bayplan.model.manifest import File, Item, Many
from bayplan.model.plan import Plan, all_pods
from bayplan.model.topology import HOST
from bayplan.planning.fit import Fits, Impossible, Undecided, prove

MOST = 5
"""The most workflows that get a line each. Every workflow is proven by itself."""


def lines(
    args: Arguments, plans: Sequence[Plan], documents: Sequence[Item], result: str, proofs: Sequence[Fits | None] = ()
) -> list[str]:
    """A line for each workflow, and what was written. One line in all if there is only one workflow."""
    fits = (
        [f"{len(plans)} workflows fit, each by itself"]
        if len(plans) > MOST
        else [*map(_fit, plans, proofs or map(prove, plans))]
    )
    result = result or _written(args, documents)
    if not result:
        return fits
    return [*fits, result] if len(fits) > 1 else ["; ".join((*fits, result))]


def _fit(plan: Plan, proof: Fits | Impossible | Undecided | None) -> str:
    """`pretrain: 64 pods fit in north-1/spine-a`. A plan without errors fits at least with what must start together."""
    stages = proof.witness if isinstance(proof, Fits) else ()
    runs = [run for stage in stages for run in stage.runs]
    pods = sum(len(run.nodes) * run.each for run in runs)
    names = {name for stage in stages for name in stage.gangs}
    every = [each for gang in plan.gangs if gang.name in names for each in all_pods(gang.root)]
    if not stages or pods < sum(each.replicas * each.copies for each in every):
        return f"{plan.workflow.name}: the pods that must start together fit"
    place = _place(plan, {run.pool for run in runs}, {node for run in runs for node in run.nodes})
    return f"{plan.workflow.name}: {count(pods, 'pod')} {'fits' if pods == 1 else 'fit'} {place}"


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
    shared = common(paths)
    if shared:
        return f"in {'/'.join(value for _, value in shared)}"
    coarsest = {(*pool.levels, HOST)[0] for pool in pools}
    if len(coarsest) == 1 and HOST not in coarsest:
        return f"in {len({path[0] for path in paths})} domains of level {coarsest.pop().name}"
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
