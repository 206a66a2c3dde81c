"""Which workloads are placed, what is asked for them, and where that was said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import ROOT, changed

from bayplan import formats as reading
from bayplan import schemas
from bayplan.core.diagnostics import Diagnostic, origin
from bayplan.model.encoding import fields
from bayplan.model.manifest import Object
from bayplan.model.policy import GangRule, GroupRule, Match, Policy, Rule
from bayplan.model.workflow import Gang, Placement
from bayplan.text.document import read as read_document
from bayplan.workflows.existing import Selected, select
from bayplan.workflows.requests import ANNOTATIONS, OWN_ANNOTATIONS
from tools.data import parse

COVERS = {"A940", "A943", "A944", "A945"}

OURS = "bayplan.dev/"
GPUS = {"resources": {"limits": {"nvidia.com/gpu": 4}}}
SPINE, RACK = Placement("spine"), Placement("rack")
ASKED = {"placement": "required=spine"}


def pod(**container: Any) -> dict[str, Any]:
    """A pod template."""
    return {"spec": {"containers": [{"name": "main", "image": "i", **container}]}}


def jobset(name: str = "w", says: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A JobSet of a leader without GPUs and 64 workers. `says`: annotations of ours; `more`: other metadata."""
    jobs = [("leader", 1, pod()), ("worker", 64, pod(**GPUS))]
    annotations = {OURS + key: value for key, value in (says or {}).items()}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, **({"annotations": annotations} if annotations else {}), **more},
        "spec": {
            "replicatedJobs": [
                {"name": job, "template": {"spec": {"parallelism": pods, "completions": pods, "template": template}}}
                for job, pods, template in jobs
            ]
        },
    }


def of_pods(name: str = "p", **metadata: Any) -> dict[str, Any]:
    """A Pod."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, **pod()}


def run(
    objects: Sequence[Any], *rules: Rule, hooks: bool = False, namespace: str = ""
) -> tuple[tuple[Selected, ...], tuple[Diagnostic, ...]]:
    """What is selected, and what is said."""
    given = [Object((f"manifest:{n}",), each) for n, each in enumerate(objects)]
    value, diagnostics = select(given, Policy(rules) if rules else None, hooks, namespace)
    assert (value is None) == any(each.severity == "error" for each in diagnostics)
    return value or (), diagnostics


def gang(objects: Sequence[Any], *rules: Rule) -> Gang:
    """The gang of the only workload that is selected, with nothing to say."""
    (found,), said = run(objects, *rules)
    assert said == ()
    return found.workflow.gangs[0]


def codes(objects: Sequence[Any], *rules: Rule, **more: Any) -> list[str]:
    """The codes that were said."""
    return [each.code for each in run(objects, *rules, **more)[1]]


def groups(given: Gang) -> list[tuple[Any, ...]]:
    """Name, size, placement and podSets of each group."""
    return [(g.name, g.size, g.placement, [each.name for each in g.pod_sets]) for g in given.groups]


def test_what_nobody_asks_for_is_left_alone() -> None:
    own = of_pods(annotations={f"{OURS}accepted": "F604", 1: "x"})
    assert run([jobset(), own, {"kind": "ConfigMap"}, {}]) == ((), ())


def test_annotations_say_everything() -> None:
    said = {
        "placement": " required=spine , preferred=rack ",
        "group-size": "16",
        "group-placement": "preferred=rack",
        "compute-domain": "never",
        "pool": "gb200",
        "fabric": "east-west",
        "scheduler": "kai",
        "queue": "team.a",
    }
    (found,), diagnostics = run([jobset(says=said, namespace="ml")])
    assert diagnostics == ()
    assert (found.workflow.scheduler, found.workflow.queue, found.adopt) == ("kai", "team.a", False)
    workflow = found.workflow
    assert (workflow.name, workflow.namespace, workflow.scheduler, workflow.queue) == ("w", "ml", "kai", "team.a")
    one = workflow.gangs[0]
    assert (one.name, one.workload, one.rendezvous, one.pool) == ("w", "jobset", "none", "gb200")
    assert one.placement == Placement("spine", "rack")
    leader, worker = groups(one)
    assert (leader, worker) == (
        ("leader", None, Placement(), ["leader"]),
        ("worker", 16, Placement("", "rack"), ["worker"]),
    )
    assert {group.compute_domain for group in one.groups} == {"never"}
    assert {each.fabric.name for group in one.groups for each in group.pod_sets if each.fabric} == {"east-west"}


def test_a_placement_alone_makes_no_groups() -> None:
    found = gang([jobset(says={**ASKED, "compute-domain": "gang"})])
    assert (found.placement, found.compute_domain, found.groups) == (SPINE, "gang", ())
    assert [(each.name, each.replicas) for each in found.pod_sets] == [("leader", 1), ("worker", 64)]
    assert found.pod_sets[1].template == pod(**GPUS)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        pytest.param(
            (GroupRule("segment", 16, RACK),),
            [("segment-leader", 16, RACK, ["leader"]), ("segment-worker", 16, RACK, ["worker"])],
            id="each-is-cut",
        ),
        pytest.param((GroupRule("all", placement=RACK),), [("all", None, RACK, ["leader", "worker"])], id="together"),
        pytest.param(
            (GroupRule("segment", 16, RACK, pod_sets=("w*",)),),
            [("leader", None, Placement(), ["leader"]), ("segment", 16, RACK, ["worker"])],
            id="one-of-two",
        ),
        pytest.param(
            (GroupRule("first", pod_sets=("l?ader",)), GroupRule("rest", 32)),
            [("first", None, Placement(), ["leader"]), ("rest", 32, Placement(), ["worker"])],
            id="the-first-takes-it",
        ),
    ],
)
def test_groups_of_a_rule(rules: tuple[GroupRule, ...], expected: list[Any]) -> None:
    assert groups(gang([jobset()], Rule(groups=rules))) == expected


def test_annotations_win_key_by_key() -> None:
    rule = Rule(
        gang=GangRule(queue="a", pool="b", placement=SPINE), groups=(GroupRule("part", 8, RACK, pod_sets=("w*",)),)
    )
    (found,), said = run([jobset(says={"queue": "c", "group-size": "16", "compute-domain": "group"})], rule)
    assert said == ()
    one = found.workflow.gangs[0]
    assert (found.workflow.queue, one.pool, one.placement) == ("c", "b", SPINE)
    assert groups(one)[1] == ("part", 16, RACK, ["worker"])
    assert one.groups[1].compute_domain == "group"


def at(found: Selected, *path: str | int) -> tuple[str | int, ...]:
    """Where a route of the workflow leads."""
    led = origin(("workflow", *path), found.origins)
    assert led is not None
    return (*led[0], *led[1])


GANG = ("spec", "gangs", 0)


def test_routes_lead_to_where_it_was_said() -> None:
    rule = Rule(gang=GangRule(queue="a"), groups=(GroupRule("part", 8, RACK, pod_sets=("w*",)),))
    (found,), _ = run([of_pods(), jobset(says=ASKED)], Rule(Match("Pod", "x")), Rule(Match("JobSet"), *rule[1:]))
    told = ("manifest:1", "metadata", "annotations", f"{OURS}placement")
    assert at(found, *GANG, "placement", "required") == told
    assert at(found, *GANG, "placement") == told
    assert at(found, "spec", "queue") == ("policy", "spec", "rules", 1, "gang", "queue")
    group = ("policy", "spec", "rules", 1, "groups", 0)
    assert at(found, *GANG, "groups", 1) == group
    assert at(found, *GANG, "groups", 1, "placement", "required") == (*group, "placement", "required")
    assert at(found, *GANG, "groups", 1, "size") == (*group, "size")
    template = ("manifest:1", "spec", "replicatedJobs", 1, "template", "spec", "template")
    assert at(found, *GANG, "groups", 1, "podSets", 0) == template
    assert at(found, *GANG, "groups", 1, "podSets", 0, "template", "spec", "containers", 0) == (
        *template,
        *("spec", "containers", 0),
    )
    assert at(found, *GANG) == ("manifest:1", "metadata", "name")
    assert at(found, "metadata", "name") == ("manifest:1", "metadata", "name")


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("placement", "spine", "required=spine,preferred=rack"),
        ("placement", "requird=spine", 'did you mean "required"?'),
        ("placement", "required=spine,required=rack", "keep one"),
        ("placement", "required=", "lowercase"),
        ("placement", "", "write required=spine"),
        ("placement", "required=Spine", "lowercase"),
        ("group-size", "0", "an integer"),
        ("group-size", "sixteen", "an integer"),
        ("group-size", "-16", "an integer"),
        ("group-size", "1" * 5000, "an integer"),
        ("group-size", "\u0661\u0666", "an integer"),
        ("group-size", 16, "quotes"),
        ("placement", None, "quotes"),
        ("compute-domain", "yes", '"auto"'),
        ("queue", "a b", "lowercase"),
        ("pool", "", "lowercase"),
    ],
)
def test_values_that_say_nothing(key: str, value: Any, hint: str) -> None:
    _, (found,) = run([jobset(says={key: value})])
    assert (found.code, found.route) == ("A940", ("manifest:0", "metadata", "annotations", OURS + key))
    assert hint in found.hint


def test_an_unknown_annotation_is_not_lost() -> None:
    _, (found,) = run([jobset(says={"placment": "required=spine"})])
    assert (found.code, found.hint) == ("A940", 'did you mean "bayplan.dev/placement"?')
    assert codes([jobset(says={"": "required=spine"})]) == ["A940"]


@pytest.mark.parametrize(
    ("says", "rules"),
    [
        ({"group-placement": "required=rack"}, ()),
        ({"group-size": "16"}, (Rule(groups=(GroupRule("a", pod_sets=("leader",)), GroupRule("b"))),)),
    ],
)
def test_groups_that_nobody_can_tell_apart(says: dict[str, str], rules: tuple[Rule, ...]) -> None:
    assert codes([jobset(says=says)], *rules) == ["A940"]


def test_a_group_size_cuts_the_pods_that_have_gpus() -> None:
    both = changed(
        jobset(says={"group-size": "16"}),
        ("spec", "replicatedJobs", 0, "template"),
        {"spec": {"template": pod(**GPUS)}},
    )
    _, (found,) = run([both])
    assert (found.code, '"leader" and "worker"' in found.message) == ("A940", True)
    claims = {"spec": {**pod()["spec"], "resourceClaims": [{"name": "gpus"}]}}
    of_claims = changed(both, ("spec", "replicatedJobs", 0, "template"), {"spec": {"template": claims}})
    assert codes([of_claims]) == ["A940"]


def test_a_fabric_stands_where_it_was_asked_for() -> None:
    (found,), _ = run([jobset(says={"fabric": "east-west"})])
    asked = ("manifest:0", "metadata", "annotations", f"{OURS}fabric")
    assert found.origins[("workflow", "spec", "gangs", 0, "podSets", 1, "fabric")] == asked


def test_rules_that_match_nothing_and_rules_that_come_later() -> None:
    rules = (Rule(Match("JobSet", "w*"), GangRule(queue="a")), Rule(Match("JobSet")), Rule(Match("Pod")))
    found, said = run([jobset("w1"), jobset("w2"), jobset("x")], *rules)
    assert [(each.code, each.severity, each.route[3]) for each in said] == [("A943", "info", 2), ("A944", "info", 1)]
    assert 'JobSet "w1" and 1 other, because' in said[1].message
    assert [each.workflow.queue for each in found] == ["a", "a", ""]
    _, said = run([jobset("x")], *rules[::2])
    assert [(each.code, each.severity, each.route) for each in said] == [("A943", "error", ("policy", "spec", "rules"))]
    same = Rule(Match(name="w1"), GangRule(queue="a"))
    assert codes([jobset("w1")], same, same._replace(match=Match())) == []


@pytest.mark.parametrize(
    ("match", "found"),
    [
        (Match(), True),
        (Match("Job*"), True),
        (Match("Job"), False),
        (Match(name="llama-[34]"), True),
        (Match(name="Llama*"), False),
        (Match(namespace="ml"), True),
        (Match(namespace="other"), False),
        (Match(labels={"team": "vision"}), True),
        (Match(labels={"team": "v*"}), False),
    ],
)
def test_matches(match: Match, found: bool) -> None:
    one = jobset("llama-3", labels={"team": "vision"})
    assert bool(run([one], Rule(match), namespace="ml")[0]) == found


def test_kinds_without_gangs_are_matched_by_name_alone() -> None:
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    assert codes([deployment, jobset()], Rule(Match(name="*"))) == []
    assert codes([deployment, jobset()], Rule(Match("Deployment"))) == ["W641"]
    asked = changed(deployment, ("metadata", "annotations"), {f"{OURS}queue": "a"})
    assert codes([asked]) == ["W641"]
    assert codes([{**asked, "kind": "Service", "apiVersion": "v1"}]) == ["W500"]


def test_hooks_are_left_alone_unless_they_are_meant() -> None:
    hook = of_pods(annotations={"helm.sh/hook": "test"})
    assert codes([hook]) == []
    assert codes([hook], Rule(Match("Pod"))) == ["A945"]
    assert codes([hook], Rule(Match("Pod")), hooks=True) == []
    asked = changed(hook, ("metadata", "annotations", f"{OURS}queue"), "a")
    _, (found,) = run([asked])
    assert (found.code, found.route[-1]) == ("A945", f"{OURS}queue")


def test_a_group_of_no_pod_set_and_two_of_one_name() -> None:
    assert codes([jobset()], Rule(groups=(GroupRule("a", pod_sets=("launcher",)),))) == ["A940"]
    assert codes([jobset()], Rule(groups=(GroupRule("all"), GroupRule("more")))) == ["A940"]
    assert codes([jobset()], Rule(groups=(GroupRule("leader", pod_sets=("worker",)),))) == ["A940"]
    alike = (GroupRule("a", pod_sets=("worker",)), GroupRule("a", pod_sets=("leader",)))
    assert codes([jobset()], Rule(groups=alike)) == ["A940"]


TEMPLATE = ("spec", "replicatedJobs", 1, "template", "spec", "template", "metadata")


@pytest.mark.parametrize("where", [(*TEMPLATE, "annotations"), (*TEMPLATE, "labels"), ("metadata", "labels")])
def test_words_where_nobody_looks(where: tuple[str | int, ...]) -> None:
    given = jobset()
    holder: Any = given
    for key in where:
        holder = holder[key] if isinstance(holder, list) else holder.setdefault(key, {})
    holder[f"{OURS}queue"] = "a"
    _, (found,) = run([given])
    assert (found.code, found.route[1:-1]) == ("A940", (*where, f"{OURS}queue"))
    holder.clear()
    holder[f"{OURS}gang"] = "w"
    assert codes([given]) == []


def test_nothing_is_placed_where_one_is_wrong() -> None:
    assert codes([jobset("a", ASKED), jobset("b", {"group-size": "x"})]) == ["A940"]
    empty = changed(jobset("c", ASKED), ("spec", "replicatedJobs", 0, "replicas"), 0)
    found, said = run([jobset("a", ASKED), changed(empty, ("spec", "replicatedJobs", 1, "replicas"), 0)])
    assert ([each.workflow.name for each in found], [each.code for each in said]) == (["a"], ["W506"])


def test_names_of_others_do_not_break_lines() -> None:
    _, said = run([of_pods("a\nb", annotations={f"{OURS}queue": "a"}), of_pods("x" * 9000, labels={f"{OURS}queue": 1})])
    assert all("\n" not in each.message and len(each.message) < 1000 for each in said)


def test_the_priority_that_all_pods_have() -> None:
    one = changed(of_pods(annotations={f"{OURS}queue": "a"}), ("spec", "priorityClassName"), "train")
    (found,), _ = run([one])
    assert found.workflow.priority_class == "train"


ANY = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(
            st.one_of(st.sampled_from([f"{OURS}placement", "helm.sh/hook"]), st.integers()), inner, max_size=2
        ),
    ),
    max_leaves=4,
)
KEYS = ("apiVersion", "kind", "metadata", "spec")


@settings(max_examples=300)
@given(st.sampled_from([*((key,) for key in KEYS), ("metadata", "annotations"), ("metadata", "labels")]), ANY)
def test_nothing_that_stands_anywhere_is_a_crash(path: tuple[str, ...], value: Any) -> None:
    given = [jobset("a", {"group-size": "16"}), changed(jobset("b", ASKED), path, value)]
    run(given, Rule(Match(labels={"a": "b"})), Rule(groups=(GroupRule("g", 4, RACK),)))


POLICY = """
apiVersion: bayplan.dev/v1alpha1
kind: Policy
metadata: {name: ml}
spec:
  rules:
  - match: {kind: JobSet, name: "llama*", namespace: "*", labels: {team: vision}}
    gang:
      {scheduler: kai, queue: research, pool: gb200, fabric: ib, placement: {required: spine}, computeDomain: gang}
    groups:
    - {name: segment, size: 16, placement: {required: rack}, podSets: ["w*"],
       pool: gb200, computeDomain: group, separate: rack}
    adopt: true
  - match: {kind: Pod}
"""


def policy(text: str) -> reading.Read[Policy]:
    """What is read of a file."""
    (document,) = read_document("policy.yaml", text.encode(), "policy").value or ()
    return reading.policy(document)


def test_a_policy_file() -> None:
    first = Rule(
        Match("JobSet", "llama*", "*", {"team": "vision"}),
        GangRule("kai", "research", "gb200", "ib", SPINE, "gang"),
        (GroupRule("segment", 16, RACK, "group", "rack", "gb200", ("w*",)),),
        adopt=True,
    )
    assert policy(POLICY) == (Policy((first, Rule(Match("Pod")))), (), {})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kind: Policy", "kind: Workflow", "A912"),
        ("kind: Policy", "kind: Polici", "A912"),
        ("queue: research", "queu: research", "S201"),
        ("size: 16", "size: 0", "S206"),
        ("name: segment, ", "", "S204"),
        ("{kind: Pod}", "{}", "S210"),
        ("{required: spine}", "{}", "S210"),
        ("adopt: true", 'adopt: "true"', "S202"),
        ("scheduler: kai", "scheduler: kia", "S206"),
    ],
)
def test_policies_that_cannot_be_understood(old: str, new: str, said: str) -> None:
    assert old in POLICY
    found = policy(POLICY.replace(old, new))
    assert (found.value, [each.code for each in found.diagnostics]) == (None, [said])


def test_the_examples_of_the_page() -> None:
    page = (ROOT / "docs" / "reference" / "policy.md").read_text(encoding="utf-8")
    own, rules = re.findall(r"```yaml\n(.*?)```", page, re.S)
    metadata = parse(own)["metadata"]
    assert groups(gang([{**jobset(), "metadata": metadata}]))[1] == ("worker", 16, RACK, ["worker"])
    read = policy(rules)
    assert read.value is not None
    assert len(read.value.rules) == 2
    assert re.findall(r"^\| `bayplan.dev/([a-z-]+)`", page, re.M) == list(ANNOTATIONS)


def test_the_schema_and_the_values_have_the_same_keys() -> None:
    definitions = schemas.load("Policy")["definitions"]
    for name, kind in (("match", Match), ("gang", GangRule), ("group", GroupRule), ("rule", Rule)):
        assert set(definitions[name]["properties"]) == {each.key for each in fields(kind)}


def test_every_key_of_ours_is_known() -> None:
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "generator").rglob("*.py"))
    written = {key for text in texts for key in re.findall(r"\"bayplan\.dev/([a-z][a-z-]*)\"", text)}
    assert written - set(ANNOTATIONS) <= OWN_ANNOTATIONS
