"""A case as koord-scheduler sees it, and where its own code binds the pods."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from e2e.mutations import count, requests
from e2e.nodes import classes, slices
from e2e.pods import claim_templates, with_claims
from e2e.scheduler import Mutation, Object, Release, Scheduler, World, ask, removed, stored

ARGUMENTS = "kubescheduler.config.k8s.io/v1"
CONFIGURATION = f"""
apiVersion: {ARGUMENTS}
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: koord-scheduler
  pluginConfig:
  - name: Coscheduling
    args: {{apiVersion: {ARGUMENTS}, kind: CoschedulingArgs, awareNetworkTopology: true}}
  plugins:
    preEnqueue: {{enabled: [{{name: Coscheduling}}]}}
    preFilter: {{enabled: [{{name: Coscheduling}}]}}
    postFilter: {{disabled: [{{name: "*"}}], enabled: [{{name: Coscheduling}}, {{name: DefaultPreemption}}]}}
    preScore: {{enabled: [{{name: Coscheduling}}]}}
    score: {{enabled: [{{name: Coscheduling, weight: 1}}]}}
    reserve: {{enabled: [{{name: Coscheduling}}]}}
    permit: {{enabled: [{{name: Coscheduling}}]}}
    preBind: {{enabled: [{{name: Coscheduling}}, {{name: DefaultPreBind}}]}}
    postBind: {{enabled: [{{name: Coscheduling}}]}}
"""
"""Koordinator's own, with the setting for which bayplan asks (F689), and without the plugins that need other objects."""

GROUPS = frozenset({"PodGroup", "ClusterNetworkTopology"})


def bind(world: World, release: Release) -> Mapping[str, str]:
    """Pod -> node."""
    case = {"configuration": CONFIGURATION, "manager": True, "objects": list(_objects(world))}
    found: dict[str, str] = ask(release.program, case)["bindings"]
    return found


def _objects(world: World) -> Iterator[Object]:
    yield from (*world.nodes, *classes(world.topology), *slices(world.topology))
    yield from (stored(each) for each in world.documents if each["kind"] in GROUPS)
    templates = claim_templates(world.documents)
    for member in world.members:
        pod, claims = with_claims(member.body, templates)
        yield from (*claims, pod)


SPEC = "gang.scheduling.koordinator.sh/network-topology-spec"
RULES = f"PodGroup metadata annotations {SPEC}"


def _rules(change: Any) -> Any:
    """The annotation with every rule changed."""

    def changed(text: str) -> str:
        return json.dumps({"gatherStrategy": [change(dict(rule)) for rule in json.loads(text)["gatherStrategy"]]})

    return changed


KOORDINATOR = Scheduler(
    "koordinator",
    bind,
    constraints=(RULES,),
    mutations=(
        Mutation("no network-topology-spec", RULES, removed),
        Mutation("PreferGather for MustGather", RULES, _rules(lambda rule: {**rule, "strategy": "PreferGather"})),
        Mutation(
            "no podCountMultiple",
            RULES,
            _rules(lambda rule: {key: value for key, value in rule.items() if key != "podCountMultiple"}),
        ),
        *count("minMember", "PodGroup spec minMember"),
        *requests(),
    ),
    seeds=(1, 2, 3, 4, 5, 6),
)
