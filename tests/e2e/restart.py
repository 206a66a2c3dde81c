"""A part of a running gang starts again: its pods are pending, and all others run where the plan has them.

The part is a group instance or a podSet inside a required level. Its nodes are free, so the scheduler must place it,
and in the domain of the pods that run. Kueue admits a gang once, and hands out its nodes by the ranks of the pods, and
Slurm starts whole jobs again, so they have no part in this.
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.model.plan import Unit, all_pods
from e2e.compare import WAITING, Verdict, compare
from e2e.pods import Member
from e2e.random_cases import seeds
from e2e.run import at_witness, world
from e2e.scene import Scene, Stage, scene
from e2e.scheduler import Case, Release

SEEDS = seeds(0, 80)
"""The random cases of a campaign."""

Part = frozenset[str]
"""The names of podSet instances."""

MOST = 3
"""So many parts of a gang start again, one after the other."""


def judge(case: Case, release: Release) -> list[Verdict]:
    """The verdict of each part of each gang that starts again, of gangs that fit and that the scheduler finds."""
    if release.scheduler.name in ("kueue", "slurm"):
        return []
    made = scene(case, release)
    fitting = [stage for stage in made.stages if stage.verdict == "fits" and not stage.blind]
    return [
        _restarted(made, stage, release, gang.name, part)
        for stage in fitting
        for gang in stage.gangs
        for part in list(parts(gang.root))[:MOST]
    ]


def described(verdict: Verdict, release: Release) -> str:
    """The outcome; "as described" for what the scheduler's page says.

    Since 0.15 parts may leave the required domain in KAI. Koordinator keeps a new pod of a gang waiting until it can
    plan the whole gang again (match policy only-waiting: gang.go isGangValidForPermit).
    """
    kai = "F604" in release.scheduler.firm(release)
    koordinator = release.scheduler.name == "koordinator" and all(WAITING in each for each in verdict.why)
    return "as described" if verdict.outcome == "broken" and (kai or koordinator) else verdict.outcome


def parts(root: Unit, required: bool = False) -> Iterator[Part]:
    """The parts of units with a required level, or of units inside them, if other pods stay there; largest first."""
    required = required or bool(root.required)
    members = [member for units in root.groups for member in units.members]
    own = [frozenset({pods.name}) for pods in root.pods]
    if required and len(members) + len(own) > 1:
        yield from (*(frozenset(pods.name for pods in all_pods(each)) for each in members), *own)
    for each in members:
        yield from parts(each, required)


def _restarted(made: Scene, stage: Stage, release: Release, gang: str, part: Part) -> Verdict:
    before = world(made, stage, made.documents, release)
    placed = at_witness(stage, before.members)
    chosen = [
        each if each.gang == gang and each.pods in part else _running(each, node)
        for each, node in zip(before.members, placed, strict=True)
    ]
    for _ in range(release.scheduler.runs):
        bindings = release.scheduler.bind(before._replace(members=chosen), release)
        verdict = compare(stage, made.plan, chosen, bindings)
        if not verdict.agrees:
            break
    return verdict


def _running(member: Member, node: str) -> Member:
    body = member.body
    spec = {**body["spec"], "nodeName": node}
    return member._replace(body={**body, "spec": spec, "status": {**body["status"], "phase": "Running"}})
