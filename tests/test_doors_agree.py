"""One answer for a workload at every door: `lint`, `check`, `plan`, `post-render` and the function."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from support import TOPOLOGY, WORKER, workflow
from tools.run import bayplan

COVERS = {"W500", "A950", "W512", "W642"}
READING = ("lint", "check", "plan")
CODE = re.compile(r"\b(error|warning)\[([A-Z]\d+)\]")


@pytest.fixture
def hall(tmp_path: Path) -> Path:
    """A folder with a topology whose queues have no numbers."""
    spec = {**TOPOLOGY["spec"], "queues": ["research", "lq", "default", "team-a", "dept"]}
    versions = {**spec["versions"], "kubernetes": "1.37"}
    text = yaml.safe_dump({**TOPOLOGY, "spec": {**spec, "versions": versions}})
    (tmp_path / "topology.yaml").write_text(text, "utf-8")
    return tmp_path


def said(folder: Path, manifests: str | list[Any], *, doors: tuple[str, ...] = READING) -> dict[str, list[str]]:
    """Door -> the errors and warnings about manifests, as `error W512`."""
    text = manifests if isinstance(manifests, str) else yaml.safe_dump_all(manifests)
    (folder / "in.yaml").write_text(text, "utf-8")
    found = {}
    for door in doors:
        answer = bayplan(door, "in.yaml", "-t", "topology.yaml", cwd=folder, merged=True)
        found[door] = sorted({" ".join(each) for each in CODE.findall(answer.stdout)})
    return found


def agreed(folder: Path, manifests: str | list[Any]) -> list[str]:
    """What all doors say."""
    found = said(folder, manifests)
    assert len({tuple(each) for each in found.values()}) == 1, found
    return found["check"]


# Gangs that wait for pods that nobody creates before some of them run.


def pod(scheduler: str = "", gpus: int = 0, **metadata: Any) -> dict[str, Any]:
    """A pod template."""
    limits = {"resources": {"limits": {"nvidia.com/gpu": gpus}}} if gpus else {"resources": {"requests": {"cpu": 1}}}
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "containers": [{"name": "w", "image": "x.example.com/w:1", **limits}],
    }
    return {"metadata": metadata, "spec": {**spec, **({"schedulerName": scheduler} if scheduler else {})}}


def of(api: str, kind: str, spec: Any, name: str = "w", **metadata: Any) -> dict[str, Any]:
    """An object in the namespace `ml`."""
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "ml", **metadata}, "spec": spec}


KAI = {"labels": {"kai.scheduler/queue": "research"}}


def job(template: Any, completions: int = 4, parallelism: int = 4, **metadata: Any) -> dict[str, Any]:
    """A Job."""
    return of("batch/v1", "Job", job_spec(template, completions, parallelism), **metadata)


def job_spec(template: Any, completions: int = 4, parallelism: int = 4) -> dict[str, Any]:
    """Its spec."""
    return {"completions": completions, "parallelism": parallelism, "template": template}


def jobset(template: Any, *, after: bool = True, order: str = "", **metadata: Any) -> dict[str, Any]:
    """A JobSet of a replicatedJob of one pod, and one of four."""
    jobs: list[dict[str, Any]] = [
        {"name": "prep", "template": {"spec": job_spec(template, 1, 1)}},
        {"name": "train", "template": {"spec": job_spec(template)}},
    ]
    if after:
        jobs[1]["dependsOn"] = [{"name": "prep", "status": "Complete"}]
    policy = {"startupPolicy": {"startupPolicyOrder": order}} if order else {}
    return of("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs, **policy}, **metadata)


def stateful_set(template: Any, **spec: Any) -> dict[str, Any]:
    """A StatefulSet of four pods."""
    labels = {**template["metadata"].get("labels", {}), "app": "w"}
    template = {**template, "metadata": {**template["metadata"], "labels": labels}}
    kept = {key: each for key, each in template["spec"].items() if key != "restartPolicy"}
    whole = {"replicas": 4, "serviceName": "w", "selector": {"matchLabels": {"app": "w"}}, **spec}
    return of("apps/v1", "StatefulSet", {**whole, "template": {**template, "spec": kept}})


def grouped(scheduler: str, least: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A PodGroup, and a pod template in it."""
    if scheduler == "native":
        group = of("scheduling.k8s.io/v1beta1", "PodGroup", {"schedulingPolicy": {"gang": {"minCount": least}}})
        plain = pod()
        return group, {**plain, "spec": {**plain["spec"], "schedulingGroup": {"podGroupName": "w"}}}
    if scheduler == "kai":
        skip = {"pod-group-name": "w", "kai.scheduler/skip-podgrouper": "true"}
        template = pod("kai-scheduler", annotations=skip, **KAI)
        return of("scheduling.run.ai/v2alpha2", "PodGroup", {"minMember": least, "queue": "research"}), template
    if scheduler == "volcano":
        group = of("scheduling.volcano.sh/v1beta1", "PodGroup", {"minMember": least, "queue": "default"})
        return group, pod("volcano", annotations={"scheduling.k8s.io/group-name": "w"})
    group = of("scheduling.sigs.k8s.io/v1alpha1", "PodGroup", {"minMember": least})
    return group, pod("koord-scheduler", labels={"pod-group.scheduling.sigs.k8s.io": "w"})


SCHEDULERS = ("kai", "volcano", "koordinator", "native")


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_pod_group_that_counts_jobs_which_wait_never_starts(scheduler: str, hall: Path) -> None:
    group, template = grouped(scheduler, 5)
    assert agreed(hall, [group, jobset(template)]) == ["error W512"]
    assert agreed(hall, [group, jobset(template, after=False, order="InOrder")]) == ["error W512"]
    assert agreed(hall, [group, jobset(template, after=False)]) == []
    group, template = grouped(scheduler, 1)
    assert "error W512" not in agreed(hall, [group, jobset(template)])


@pytest.mark.parametrize("scheduler", [each for each in SCHEDULERS if each != "kai"])
def test_a_pod_group_of_pods_that_start_one_by_one_never_starts(scheduler: str, hall: Path) -> None:
    group, template = grouped(scheduler, 4)
    found = said(hall, [group, stateful_set(template)])
    assert all("error W512" in each for each in found.values()), found
    parallel = said(hall, [group, stateful_set(template, podManagementPolicy="Parallel")])
    assert not any("error W512" in each for each in parallel.values())


def lws(template: Any, **spec: Any) -> dict[str, Any]:
    """A LeaderWorkerSet of groups of four."""
    kept = {key: each for key, each in template["spec"].items() if key != "restartPolicy"}
    workers = {"size": 4, "workerTemplate": {**template, "spec": kept}}
    return of(
        "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {"replicas": 2, "leaderWorkerTemplate": workers, **spec}
    )


def tasks(**spec: Any) -> dict[str, Any]:
    """A Volcano Job whose master waits for its ten workers."""
    plain = pod()
    listed = [
        {"name": "master", "replicas": 1, "dependsOn": {"name": ["worker"]}, "template": plain},
        {"name": "worker", "replicas": 10, "template": plain},
    ]
    return of(
        "batch.volcano.sh/v1alpha1", "Job", {"schedulerName": "volcano", "queue": "default", "tasks": listed, **spec}
    )


def koordinator(least: int) -> dict[str, Any]:
    """A Job of four pods that Koordinator groups by annotations."""
    key = "gang.scheduling.koordinator.sh"
    return job(pod("koord-scheduler", annotations={f"{key}/name": "w", f"{key}/min-available": str(least)}))


ONE_KAI_JOB = {"annotations": {"kai.scheduler/batch-min-member": "4"}, **KAI}


def kai_jobset(completions: int, parallelism: int) -> dict[str, Any]:
    """A JobSet of one Job, for KAI's podgrouper."""
    spec = job_spec(pod("kai-scheduler", **KAI), completions, parallelism)
    return of(
        "jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": [{"name": "w", "template": {"spec": spec}}]}, **KAI
    )


@pytest.mark.parametrize(
    ("one", "found"),
    [
        pytest.param(jobset(pod("kai-scheduler", **KAI), **KAI), ["error W512"], id="kai-counts-all-replicated-jobs"),
        pytest.param(jobset(pod("kai-scheduler", **KAI), after=False, order="InOrder", **KAI), [], id="kai-in-order"),
        pytest.param(kai_jobset(2, 4), ["error W512"], id="kai-counts-parallelism"),
        pytest.param(kai_jobset(5, 4), ["error W512"], id="kai-leaves-the-last-pod"),
        pytest.param(kai_jobset(8, 4), [], id="kai-whole-waves"),
        pytest.param(job(pod("kai-scheduler", **KAI), 5, 4, **ONE_KAI_JOB), ["warning W512"], id="kai-stated-minimum"),
        pytest.param(job(pod("kai-scheduler", **KAI), 5, 4, **KAI), [], id="kai-plain-job"),
        pytest.param(lws(pod("kai-scheduler", **KAI), startupPolicy="LeaderReady"), [], id="kai-leader-ready"),
        pytest.param(lws(pod("volcano"), startupPolicy="LeaderReady"), [], id="volcano-leader-ready"),
        pytest.param(lws(pod("volcano")), [], id="volcano-lws"),
        pytest.param(lws(pod(gpus=4), startupPolicy="LeaderReady"), [], id="no-gang-scheduler"),
        pytest.param(job(pod(gpus=4), 5, 4), [], id="no-gang-in-waves"),
        pytest.param(jobset(pod()), [], id="no-gang-dependent"),
        pytest.param(tasks(minAvailable=3), [], id="volcano-enough-workers"),
        pytest.param(tasks(), ["error W512"], id="volcano-all-tasks"),
        pytest.param(koordinator(4), [], id="koordinator-annotations"),
        pytest.param(koordinator(5), ["error W512"], id="koordinator-more-than-exist"),
    ],
)
def test_what_a_controller_asks_for(one: dict[str, Any], found: list[str], hall: Path) -> None:
    assert agreed(hall, [one]) == found


STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def trainer(policy: Any) -> list[dict[str, Any]]:
    """A TrainJob whose nodes wait for an initializer, with its runtime."""

    def part(name: str, step: str) -> dict[str, Any]:
        template = pod("volcano" if policy else "")
        template["spec"]["containers"][0]["name"] = name
        return {"name": name, "template": {"metadata": {"labels": {STEP: step}}, "spec": {"template": template}}}

    jobs = [part("dataset-initializer", "dataset-initializer"), part("node", "trainer")]
    jobs[1]["dependsOn"] = [{"name": "dataset-initializer", "status": "Complete"}]
    more = {"podGroupPolicy": policy} if policy else {}
    spec = {"mlPolicy": {"numNodes": 2, "torch": {}}, **more, "template": {"spec": {"replicatedJobs": jobs}}}
    api = "trainer.kubeflow.org/v1alpha1"
    return [
        of(api, "TrainingRuntime", spec, "r"),
        of(api, "TrainJob", {"runtimeRef": {"kind": "TrainingRuntime", "name": "r"}}),
    ]


def test_trainer_counts_the_initializer_in_its_pod_group(hall: Path) -> None:
    assert agreed(hall, trainer({"volcano": {}})) == ["error W512"]
    assert agreed(hall, trainer(None)) == []


def test_a_task_of_a_pod_group_that_no_pod_belongs_to(hall: Path) -> None:
    group, template = grouped("volcano", 4)
    group["spec"]["minTaskMember"] = {"prefill": 4}
    assert agreed(hall, [group, job(template)]) == ["error W642"]
    template["metadata"]["annotations"]["volcano.sh/task-spec"] = "prefill"
    assert agreed(hall, [group, job(template)]) == []


# The same rule for the placements that bayplan writes.


def placed(folder: Path, one: Any, *options: str) -> tuple[list[str], str]:
    """What post-render says, and its output."""
    text = one if isinstance(one, str) else yaml.safe_dump_all(one if isinstance(one, list) else [one])
    answer = bayplan("post-render", "-t", "topology.yaml", *options, cwd=folder, stdin=text)
    return sorted({" ".join(each) for each in CODE.findall(answer.stderr)}), answer.stdout


ASKED = {"annotations": {"bayplan.dev/placement": "required=rack"}}


@pytest.mark.parametrize(
    ("scheduler", "one", "found"),
    [
        ("kai", jobset(pod(), **ASKED), ["error W512"]),
        ("volcano", jobset(pod(), **ASKED), ["error W512"]),
        ("kueue", jobset(pod(), **ASKED), []),
        ("none", jobset(pod(), **ASKED), []),
        ("kai", job(pod(gpus=4), 8, 4, **ASKED), []),
        ("kai", job(pod(gpus=4), 9, 4, **ASKED), ["error W512"]),
        ("kueue", job(pod(gpus=4), 9, 4, **ASKED), []),
    ],
)
def test_a_placement_that_would_never_start(scheduler: str, one: Any, found: list[str], hall: Path) -> None:
    reported, output = placed(hall, one, "-s", scheduler)
    assert [each for each in reported if each.startswith("error")] == found
    assert found or "required" in output or scheduler == "none" or "PodGroup" in output


@pytest.mark.parametrize("scheduler", ["kai", "kueue"])
def test_workers_that_start_after_their_leader_are_placed(scheduler: str, hall: Path) -> None:
    """With a PodGroup of all pods, KAI would wait for workers that only a running leader has."""
    one = lws(pod(gpus=4), replicas=1, startupPolicy="LeaderReady")
    one["metadata"] |= ASKED
    reported, output = placed(hall, one, "-s", scheduler)
    assert reported == []
    assert "kind: PodGroup" not in output


def test_trainer_makes_a_pod_group_of_its_own(hall: Path) -> None:
    runtime, train = trainer({"coscheduling": {}})
    assert placed(hall, [runtime, {**train, "metadata": {**train["metadata"], **ASKED}}])[0] == ["error A950"]


def deployment(replicas: int, **spec: Any) -> dict[str, Any]:
    """A Deployment of pods with GPUs."""
    template = stateful_set(pod(gpus=4))["spec"]["template"]
    whole = {"replicas": replicas, "selector": {"matchLabels": {"app": "w"}}, "template": template, **spec}
    return of("apps/v1", "Deployment", whole)


def policy(folder: Path, *rules: Any) -> tuple[str, ...]:
    """The option for a policy."""
    head = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "Policy"}
    (folder / "policy.yaml").write_text(yaml.safe_dump({**head, "spec": {"rules": list(rules)}}), "utf-8")
    return ("--policy", "policy.yaml")


@pytest.mark.parametrize("scheduler", ["kai", "volcano", "koordinator", "kueue", "none"])
def test_replicas_of_a_deployment_that_need_no_others(scheduler: str, hall: Path) -> None:
    options = policy(hall, {"match": {"kind": "Deployment"}, "gang": {"replicas": "apart", "queue": "research"}})
    reported, output = placed(hall, deployment(4), "-s", scheduler, *options)
    assert [each for each in reported if each.startswith("error")] == []
    assert "kind: PodGroup" not in output
    assert "bayplan.dev/gang: w" in output
    asked = job(pod(gpus=4), annotations={"bayplan.dev/replicas": "apart"})
    assert placed(hall, asked, "-s", scheduler)[0] == ["error A940"]


def test_the_api_version_of_a_rule(hall: Path) -> None:
    """`kind: Job` alone is also the kind of Volcano."""
    gang = {"queue": "default", "placement": {"required": "rack"}}
    options = policy(hall, {"match": {"apiVersion": "batch/v1", "kind": "Job"}, "gang": gang})
    both = [job(pod(gpus=4)), tasks(minAvailable=3)]
    reported, output = placed(hall, both, "-s", "volcano", *options)
    assert [each for each in reported if each.startswith("error")] == []
    first, second = (each for each in yaml.safe_load_all(output) if each["kind"] == "Job")
    assert "scheduling.k8s.io/group-name" in first["spec"]["template"]["metadata"]["annotations"]
    assert second == both[1]


def test_a_rule_says_what_it_leaves_as_it_is(hall: Path) -> None:
    service = {"predictor": {"model": {"resources": {"limits": {"nvidia.com/gpu": 1}}}}}
    cron = {"schedule": "@daily", "jobTemplate": {"spec": {"template": pod(gpus=1)}}}
    others = [
        of("serving.kserve.io/v1beta1", "InferenceService", service, "served"),
        of("batch/v1", "CronJob", cron, "daily"),
        deployment(2),
        of("apps/v1", "Deployment", {"template": pod()}, "web"),
    ]
    gang = {"queue": "research", "placement": {"required": "rack"}}
    options = policy(hall, {"match": {"namespace": "ml"}, "gang": gang})
    text = yaml.safe_dump_all([job(pod(gpus=4)), *others])
    answer = bayplan("post-render", "-v", "-t", "topology.yaml", *options, cwd=hall, stdin=text)
    assert answer.returncode == 0
    assert (
        'info[W500]: rule 1 covers 3 objects with devices that bayplan leaves as they are: InferenceService "served"'
        in answer.stderr
    )
    assert "web" not in answer.stderr


@pytest.mark.parametrize("scheduler", ["kai", "volcano", "native"])
def test_the_scheduler_that_the_api_server_would_write_is_no_other_one(scheduler: str, hall: Path) -> None:
    one = job(pod("default-scheduler", gpus=4), **ASKED)
    reported, output = placed(hall, one, "-s", scheduler)
    assert [each for each in reported if each.startswith("error")] == []
    assert output.count("schedulerName") == 1


def test_a_key_twice_stops_only_what_bayplan_places(hall: Path) -> None:
    twice = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\n  labels: {model: x, model: x}\nspec: {}\n"
    asked = yaml.safe_dump(job(pod(gpus=4), **ASKED))

    def run(text: str) -> tuple[int, str]:
        answer = bayplan("post-render", "-t", "topology.yaml", cwd=hall, stdin=text)
        return answer.returncode, answer.stdout + answer.stderr

    code, output = run(f"{twice}---\n{asked}")
    assert code == 0
    assert twice in output
    options = policy(hall, {"match": {"kind": "Job"}, "gang": {"placement": {"required": "rack"}}})
    plain = yaml.safe_dump(job(pod(gpus=4))).replace("  namespace: ml", "  namespace: ml\n  namespace: ml")
    assert placed(hall, plain, *options)[0] == ["error R110"]


# Queues in the same input.

GPU = "nvidia.com/gpu"


def kueue_queue(amount: int, namespace: str = "ml", **spec: Any) -> list[dict[str, Any]]:
    """A LocalQueue, and its ClusterQueue with a quota of GPUs."""
    flavors = [{"name": "gpu", "resources": [{"name": GPU, "nominalQuota": amount}]}]
    groups = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": [GPU], "flavors": flavors}]}
    local = of("kueue.x-k8s.io/v1beta2", "LocalQueue", {"clusterQueue": "cq"}, "lq")
    local["metadata"]["namespace"] = namespace
    return [
        {**of("kueue.x-k8s.io/v1beta2", "ClusterQueue", {**groups, **spec}), "metadata": {"name": "cq"}},
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "gpu"}},
        local,
    ]


def limited(scheduler: str, amount: int) -> list[dict[str, Any]]:
    """A queue that holds so many GPUs, and a gang of 4 pods with 4 GPUs each that names it."""
    if scheduler == "kueue":
        return [*kueue_queue(amount), job(pod(gpus=4), labels={"kueue.x-k8s.io/queue-name": "lq"})]
    if scheduler == "kai":
        numbers = {"quota": 0, "overQuotaWeight": 1}
        resources = {"gpu": {**numbers, "limit": amount}, "cpu": {"limit": -1}, "memory": {"limit": -1}}
        dept = of("scheduling.run.ai/v2", "Queue", {"resources": resources}, "dept")
        free = {each: {**numbers, "limit": -1} for each in resources}
        own = of("scheduling.run.ai/v2", "Queue", {"parentQueue": "dept", "resources": free}, "research")
        group, template = grouped("kai", 4)
        template["spec"]["containers"][0]["resources"] = {"limits": {GPU: 4}}
        return [dept, own, group, job(template, annotations={"kai.scheduler/skip-podgrouper": "true"})]
    if scheduler == "volcano":
        queue = of("scheduling.volcano.sh/v1beta1", "Queue", {"capability": {GPU: amount}}, "team-b")
        task = {"name": "w", "replicas": 4, "template": pod(gpus=4)}
        spec = {"schedulerName": "volcano", "queue": "team-b", "minAvailable": 4, "tasks": [task]}
        return [queue, of("batch.volcano.sh/v1alpha1", "Job", spec)]
    quota = of("scheduling.sigs.k8s.io/v1alpha1", "ElasticQuota", {"max": {GPU: amount}, "min": {GPU: 0}}, "team-a")
    group, template = grouped("koordinator", 4)
    template["metadata"]["labels"]["quota.scheduling.koordinator.sh/name"] = "team-a"
    template["spec"]["containers"][0]["resources"] = {"limits": {GPU: 4}}
    return [quota, group, job(template)]


@pytest.mark.parametrize("scheduler", ["kai", "volcano", "kueue", "koordinator"])
def test_a_queue_beside_the_gang_that_is_too_small(scheduler: str, hall: Path) -> None:
    few = said(hall, limited(scheduler, 15))
    assert all("error P563" in each for each in few.values()), few
    enough = said(hall, limited(scheduler, 16))
    assert not any("error P563" in each or "error M719" in each for each in enough.values()), enough


def test_a_queue_of_another_namespace_or_that_takes_nothing_of_it(hall: Path) -> None:
    mine = job(pod(gpus=4), labels={"kueue.x-k8s.io/queue-name": "lq"})
    assert "error M719" in said(hall, [*kueue_queue(16, "other"), mine])["check"]
    chosen = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}}
    assert all("error M719" in each for each in said(hall, [*kueue_queue(16, **chosen), mine]).values())
    two = job({**pod(gpus=4), "spec": {"containers": [{"name": "w", "resources": {"limits": {GPU: 4, "cpu": 1}}}]}})
    two["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "lq"}
    assert all("error P563" in each for each in said(hall, [*kueue_queue(16), two]).values())


def test_a_queue_beside_a_workload_that_bayplan_places(hall: Path) -> None:
    one = job(pod(gpus=4), annotations={**ASKED["annotations"], "bayplan.dev/queue": "lq"})
    assert placed(hall, [*kueue_queue(15), one], "-s", "kueue")[0] == ["error P563"]
    assert placed(hall, [*kueue_queue(16), one], "-s", "kueue")[0] == []


# Nodes that do not take the pods.


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({}, "error P502"),
        ({"tolerations": [{"key": "team", "operator": "Exists"}]}, ""),
        ({"tolerations": [{"operator": "Exists"}], "nodeSelector": {"example.com/class": "a100"}}, "error P502"),
        ({"tolerations": [{"operator": "Exists"}], "nodeSelector": {"example.com/class": "h100"}}, ""),
    ],
)
def test_nodes_that_the_pods_do_not_select_or_tolerate(spec: Any, found: str, hall: Path) -> None:
    path = hall / "topology.yaml"
    topology = yaml.safe_load(path.read_text("utf-8"))
    taints = [{"key": "team", "operator": "Equal", "value": "infra", "effect": "NoSchedule"}]
    taints.append({"key": GPU, "operator": "Exists", "effect": "NoSchedule"})
    topology["spec"]["pools"][0]["node"] |= {"nodeSelector": {"example.com/class": "h100"}, "tolerations": taints}
    path.write_text(yaml.safe_dump(topology), "utf-8")
    template = pod(gpus=4)
    template["spec"] |= spec
    assert agreed(hall, [job(template)]) == ([found] if found else [])
    assert agreed(hall, [job({**pod(), "spec": {**pod()["spec"], **spec}})]) == []


def test_kueue_loses_a_node_that_is_called_like_its_domain(hall: Path) -> None:
    (hall / "workflow.yaml").write_text(
        yaml.safe_dump(
            workflow({"name": "t", "placement": {"required": "rack"}, "podSets": [{**WORKER, "replicas": 2}]})
        ),
        "utf-8",
    )
    spec = {**TOPOLOGY["spec"], "versions": {"kueue": "0.19", "kubernetes": "1.37"}}
    for rack, found in (("r1", "error[F659]"), ("rack-1", "")):
        pool = {**spec["pools"][0], "levels": [{"name": "rack", "label": "example.com/rack"}]}
        pool["domains"] = [{"path": rack, "nodes": "r1,b"}]
        whole = {**TOPOLOGY, "spec": {**spec, "pools": [pool]}}
        (hall / "topology.yaml").write_text(yaml.safe_dump(whole), "utf-8")
        answer = bayplan("check", "workflow.yaml", "-t", "topology.yaml", "-s", "kueue", cwd=hall, merged=True)
        assert answer.returncode == (1 if found else 0), answer.stdout
        assert found in answer.stdout


def test_a_generated_name_is_a_name(hall: Path) -> None:
    one = job(pod(gpus=4), labels={"kueue.x-k8s.io/queue-name": "lq"})
    del one["metadata"]["name"]
    one["metadata"]["generateName"] = "sample-"
    assert agreed(hall, [one]) == []


def test_no_cards_are_a_valid_number_without_hami(hall: Path) -> None:
    one = job(pod())
    one["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {GPU: 0}}
    assert agreed(hall, [one]) == []


def test_devices_and_shares_of_devices(hall: Path) -> None:
    def of_device(name: str) -> list[str]:
        one = job(pod())
        one["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {name: 8}}
        return said(hall, [one], doors=("lint",))["lint"]

    assert of_device("rdma/ib") == ["warning M847"]
    assert of_device("rdma/rdma_shared_device_a") == ["warning M844", "warning M847"]
