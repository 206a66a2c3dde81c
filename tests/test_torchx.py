"""TorchX applications from end to end: upstream's own ones, what TorchX wrote read back, our examples in both forms."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan import formats as reading
from bayplan import pipeline
from bayplan.core.diagnostics import has_errors
from bayplan.model.formats import Context, Source
from bayplan.model.topology import ClusterTopology
from bayplan.text.document import Document
from bayplan.workflows import native
from judges import UPSTREAM, judge_all
from support import pods
from tools.data import parse_all
from tools.run import EXAMPLES, ROOT, bayplan

FILES = sorted(each for each in (UPSTREAM / "examples" / "torchx").glob("*") if each.suffix == ".json")
OURS = sorted(EXAMPLES.glob("torchx-*"))
TARGET = {"kubernetes": "1.34", "volcano": "1.15.1", "jobset": "0.12"}
INSTANCE = "node.kubernetes.io/instance-type"

needs_upstream = pytest.mark.skipif(not FILES, reason=f"no TorchX applications at {UPSTREAM}/examples/torchx")


def pool(name: str, kind: str, cards: int) -> dict[str, Any]:
    """40 nodes of an instance type."""
    return {
        "name": name,
        "node": {
            "accelerator": "h100",
            "count": cards,
            "cpu": "128",
            "memory": "2000Gi",
            "nodeSelector": {INSTANCE: kind},
        },
        "levels": [{"name": "rack", "label": "example.com/rack"}],
        "domains": [{"path": f"{name}-r1", "nodes": f"{name}-[01-40]"}],
    }


def rails(count: int, **rail: Any) -> list[dict[str, Any]]:
    """So many, alike but for their HCA."""
    return [{**rail, "hca": f"mlx5_{number}"} for number in range(count)]


FABRICS = {
    "hostdev": {
        "kind": "hostdevice",
        "rails": rails(8, network="ml/hostdev-net", resource="nvidia.com/hostdev"),
    },
    "shared": {
        "kind": "macvlan",
        "rails": rails(1, network="ml/rdma-net-ipam", resource="rdma/rdma_shared_device_a"),
    },
    "efa": {"kind": "efa", "rails": [{"resource": "vpc.amazonaws.com/efa"}] * 4},
}


def topology(fabrics: dict[str, Any] = FABRICS) -> dict[str, Any]:
    """A cluster with the nodes and networks that upstream's applications ask for."""
    pools = [pool("h100", "h100x8", 8), pool("p4d", "p4d.24xlarge", 8)]
    plain = {"name": "plain", "node": {"cpu": "64", "memory": "256Gi", "nodeSelector": {INSTANCE: "c"}}}
    pools.append({**pools[0], **plain, "domains": [{"path": "c-r1", "nodes": "c-[01-10]"}]})
    spec = {
        "versions": TARGET,
        "defaults": {"scheduler": "volcano", "namespace": "ml", "queue": "research", "pool": "h100"},
        "namespaces": {"ml": {"podSecurity": "privileged"}, "team-a": {}},
        "pools": pools,
        "accelerators": {"h100": {"resources": {"count": "nvidia.com/gpu"}}},
        **({"fabrics": fabrics} if fabrics else {}),
    }
    head = {"apiVersion": "bayplan.dev/v1alpha1", "kind": "ClusterTopology", "metadata": {"name": "hall"}}
    return {**head, "spec": spec}


@cache
def hall() -> ClusterTopology | None:
    """The cluster, read once."""
    return pipeline.check_topology(Document("topology.yaml", "", 0, topology()))[0].value


def imported(name: str, text: str, cluster: dict[str, Any] | None = None) -> tuple[dict[str, Any] | None, list[str]]:
    """The native document of a file's text, and the codes of what was found."""
    known = pipeline.check_topology(Document("topology.yaml", "", 0, cluster))[0].value if cluster else hall()
    read = reading.documents(name, text.encode(), "workflow", Source())
    if read.value is None:
        return None, [each.code for each in read.diagnostics]
    outcome, _ = pipeline.check_workflow(read.value[0], "", Context(known))
    found = (*read.diagnostics, *outcome.diagnostics)
    assert (outcome.value is None) == has_errors(found)
    return (native.write(outcome.value) if outcome.value else None), [each.code for each in found]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The topology in a file."""
    made: Path = tmp_path_factory.mktemp("torchx")
    (made / "topology.yaml").write_text(yaml.safe_dump(topology()), encoding="utf-8")
    return made


@needs_upstream
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_upstream_renders(file: Path, folder: Path) -> None:
    result = bayplan("render", str(file), "-t", "topology.yaml", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert judge_all(parse_all(result.stdout), TARGET) == []


@needs_upstream
def test_rank_0_is_found_under_one_name_by_all(folder: Path) -> None:
    """The macro is the first role's first pod, for pods of both roles; replicas know their number in their role."""
    file = UPSTREAM / "examples" / "torchx" / "appdef-v070-two-roles.json"
    result = bayplan("render", str(file), "-t", "topology.yaml", cwd=folder)
    everyone = list(pods(parse_all(result.stdout)))
    servers = [pod for pod in everyone if "-ps-0-" in pod.name]
    trainers = [pod for pod in everyone if "-trainer-" in pod.name]
    assert [pod.env["NODE_RANK"] for pod in servers] == ["0", "1"]
    assert [pod.env["NODE_RANK"] for pod in trainers] == ["0", "1", "2", "3"]
    assert {pod.env["TORCHX_RANK0_HOST"] for pod in trainers} == {servers[0].host}
    assert servers[1].spec["containers"][0]["args"] == ["-c", "serve --id ps --rank 1"]


@needs_upstream
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_is_cut_off_is_refused_or_read(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    for end in range(0, len(text), max(1, len(text) // 30)):
        imported(file.name, text[:end])


@pytest.mark.parametrize("example", OURS, ids=lambda each: each.name)
def test_the_native_form_of_an_example_is_what_import_prints(example: Path) -> None:
    made = bayplan("import", "app.json", "-t", "topology.yaml", cwd=example)
    assert made.returncode == 0, made.stderr
    assert (example / "workflow.yaml").read_text(encoding="utf-8").partition("\n")[2] == made.stdout
    app, workflow = (
        bayplan("render", name, "-t", "topology.yaml", cwd=example) for name in ("app.json", "workflow.yaml")
    )
    assert app.stdout == workflow.stdout != ""


@pytest.mark.parametrize("example", OURS, ids=lambda each: each.name)
def test_every_replica_of_a_role_is_attached_alike(example: Path) -> None:
    """Annotation, cards with request = limit, IPC_LOCK and the local address on all pods that ask for cards."""
    result = bayplan("render", "app.json", "-t", "topology.yaml", cwd=example)
    templates = [each for document in parse_all(result.stdout) for each in _templates(document)]
    attached = 0
    for template in templates:
        container = template["spec"]["containers"][0]
        cards = {key for key in container["resources"]["limits"] if key.startswith(("nvidia.com/ew", "rdma/"))}
        networks = template["metadata"].get("annotations", {}).get("k8s.v1.cni.cncf.io/networks", "")
        assert container["resources"]["limits"] == container["resources"]["requests"]
        assert bool(cards) == bool(networks) == ("securityContext" in container)
        if cards:
            attached += 1
            assert container["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
            assert {"name": "PET_LOCAL_ADDR", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}} in container[
                "env"
            ]
    assert attached == 1


def _templates(document: dict[str, Any]) -> list[Any]:
    spec = document["spec"]
    if document["kind"] == "JobSet":
        return [each["template"]["spec"]["template"] for each in spec["replicatedJobs"]]
    return [each["template"] for each in spec.get("tasks", ())] if document["kind"] == "Job" else []


def app(**role: Any) -> str:
    """An application of one role."""
    plain = {
        "name": "trainer",
        "image": "example.com/train:1",
        "entrypoint": "train",
        "resource": {"cpu": 1, "memMB": 1},
    }
    return json.dumps({"name": "train", "roles": [{**plain, **role}]})


def pod_set(text: str, cluster: dict[str, Any] | None = None) -> dict[str, Any]:
    """The only podSet of an application."""
    made, found = imported("app.json", text, cluster)
    assert made, found
    found_sets: list[dict[str, Any]] = made["spec"]["gangs"][0]["podSets"]
    assert len(found_sets) == 1
    return found_sets[0]


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("${app_id}/${replica_id}", "train/$(NODE_RANK)"),
        ("$app_id $${HOME} $$$$", "train ${HOME} $$"),
        ("$${${rank0_env}:=localhost}", "${TORCHX_RANK0_HOST:=localhost}"),
        ("${img_root}/bin $(date) ${OTHER} $1 %s", "/bin $(date) ${OTHER} $1 %s"),
        ("cost: 5$", "cost: 5$"),
    ],
)
def test_macros(given: str, made: str) -> None:
    """As `string.Template.safe_substitute` does it, which TorchX uses."""
    assert pod_set(app(args=[given]))["args"] == [made]


def test_templates_of_python_agree() -> None:
    from string import Template

    values = {"app_id": "train", "img_root": "", "rank0_env": "TORCHX_RANK0_HOST", "replica_id": "$(NODE_RANK)"}
    for text in (
        "$",
        "$$app_id",
        "${app_id",
        "$app_idx",
        "${app-id}",
        "$$$app_id",
        "${ app_id}",
        "$APP_ID",
        "é$app_id",
    ):
        assert pod_set(app(args=[text]))["args"] == [Template(text).safe_substitute(values)]


@pytest.mark.parametrize(
    ("devices", "networks", "attachment", "rest"),
    [
        ({"nvidia.com/hostdev": 8}, "", "hostdev", {}),
        ({"nvidia.com/hostdev": 2}, "", {"name": "hostdev", "rails": [0, 1]}, {}),
        ({"nvidia.com/hostdev": 2}, "hostdev-net,ml/hostdev-net", {"name": "hostdev", "rails": [0, 1]}, {}),
        ({}, '[{"name": "rdma-net-ipam", "namespace": "ml"}]', "shared", {}),
        ({"rdma/rdma_shared_device_a": 1, "example.com/fpga": 2}, "", "shared", {"example.com/fpga": "2"}),
        ({"vpc.amazonaws.com/efa": 4}, "", "efa", {}),
        ({"vpc.amazonaws.com/efa": 0}, "", None, {}),
    ],
)
def test_devices_and_networks_are_a_fabric(devices: Any, networks: str, attachment: Any, rest: Any) -> None:
    overlay = {"kubernetes": {"V1Pod": {"metadata": {"annotations": {"k8s.v1.cni.cncf.io/networks": networks}}}}}
    resource = {"cpu": 1, "memMB": 1, "gpu": 8, "devices": devices}
    made = pod_set(app(resource=resource, metadata=overlay if networks else {}))
    assert made.get("fabric") == attachment
    assert {key: value for key, value in made["resources"].items() if key not in ("cpu", "memory")} == rest
    assert "annotations" not in made.get("template", {}).get("metadata", {})


def test_without_a_topology_devices_and_networks_stay_as_they_are() -> None:
    overlay = {"kubernetes": {"V1Pod": {"metadata": {"annotations": {"k8s.v1.cni.cncf.io/networks": "a,b"}}}}}
    text = app(resource={"cpu": 0.5, "memMB": 512, "devices": {"rdma/x": 1}}, metadata=overlay)
    document = (reading.documents("app.json", text.encode(), "workflow", Source()).value or ())[0]
    made = pipeline.check_workflow(document)[0].value
    assert made
    spec = made.gangs[0].pod_sets[0]
    assert dict(spec.resources) == {"cpu": "500m", "memory": "512M", "rdma/x": "1"}
    assert spec.template["metadata"] == {"annotations": {"k8s.v1.cni.cncf.io/networks": "a,b"}}
    assert spec.fabric is None


def test_mounts_by_their_keys() -> None:
    mounts = [
        {"src_path": "/scratch", "dst_path": "/s", "read_only": True},
        {"src": "data", "dst_path": "/d", "read_only": False},
    ]
    made = pod_set(app(mounts=mounts))
    assert made["volumes"] == {"/s": {"hostPath": "/scratch", "readOnly": True}, "/d": {"claim": "data"}}
    assert "template" not in made


def test_overlays_add_to_pods() -> None:
    """Sidecars stay beside, the replica's own container is the main one, PUT and DEL say what plain keys say."""
    spec = {
        "__put__:tolerations": [{"operator": "Exists"}],
        "__del__:hostNetwork": None,
        "containers": [{"name": "logs", "image": "example.com/logs:1"}, {"name": "trainer", "tty": True}],
    }
    made = pod_set(app(metadata={"kubernetes": {"V1Pod": {"spec": spec}}}))["template"]
    assert made["spec"] == {
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "trainer", "tty": True}, {"name": "logs", "image": "example.com/logs:1"}],
    }


HOSTILE = (
    "=== APPLICATION ===\n\x00",
    '{"component_name": 3}',
    '{"name": "a", "roles": [1]}',
    '{"name": "a", "roles": []}',
    app(num_replicas=0, env={"A": 1}, args=[1], metadata=[]),
    app(metadata={"kubernetes": {"V1Pod": {"metadata": 1, "spec": {"containers": {"a": 1}, "volumes": 3}}}}),
    app(metadata={"kubernetes": {"V1Pod": {"spec": {"containers": [1], "__join__:": [], "__put__:": 1}}}}),
    app(resource={"capabilities": {INSTANCE: 3}, "devices": {"": 1, "a b": 2}}),
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_files_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "app.json").write_text(text, encoding="utf-8")
    (tmp_path / "topology.yaml").write_text(yaml.safe_dump(topology({})), encoding="utf-8")
    result = bayplan("render", "app.json", "-t", "topology.yaml", cwd=tmp_path)
    assert result.returncode == 1, (result.stdout, result.stderr)
    assert result.stdout == ""
    assert re.search(r"^app\.json:[0-9]+:[0-9]+: error", result.stderr, re.MULTILINE), result.stderr


POLICY = """
apiVersion: bayplan.dev/v1alpha1
kind: Policy
metadata: {name: fabrics}
spec: {rules: [{match: {kind: Job}, gang: {fabric: hostdev}}]}
"""


@needs_upstream
@pytest.mark.parametrize("name", ["v070-ddp-2x8.txt", "v070-ddp-1x8.txt"])
def test_what_torchx_wrote_is_attached_where_it_stands(name: str, folder: Path) -> None:
    """Every replica's task gets networks, cards with request = limit and IPC_LOCK; twice is once."""
    request = (UPSTREAM / "examples" / "torchx" / name).read_text(encoding="utf-8").partition("REQUEST ===\n")[2]
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    options = ("post-render", "-t", "topology.yaml", "--policy", "policy.yaml", "-v")
    result = bayplan(*options, cwd=folder, stdin=request)
    assert result.returncode == 0, result.stderr
    (job,) = (each for each in parse_all(result.stdout) if each["kind"] == "Job")
    for task in job["spec"]["tasks"]:
        container = task["template"]["spec"]["containers"][0]
        networks = task["template"]["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"]
        assert networks.split(",") == ["ml/hostdev-net"] * 8
        assert container["resources"]["limits"]["nvidia.com/hostdev"] == "8"
        assert container["resources"]["requests"]["nvidia.com/hostdev"] == "8"
        assert container["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]
    assert "W544" in result.stderr
    assert bayplan(*options, cwd=folder, stdin=result.stdout).stdout == result.stdout


@pytest.mark.parametrize(
    ("example", "old", "new", "code"),
    [
        ("hostdevice", "podSecurity: privileged", "podSecurity: baseline", "W630"),
        ("hostdevice", "spec:\n", "spec:\n  platform: openshift\n", "W632"),
        ("macvlan", "gateway: 10.60.0.1", "gateway: 10.61.0.1", "T605"),
    ],
)
def test_clusters_that_refuse_the_pods(example: str, old: str, new: str, code: str, tmp_path: Path) -> None:
    folder = EXAMPLES / f"torchx-{example}"
    text = (folder / "topology.yaml").read_text(encoding="utf-8")
    (tmp_path / "topology.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    found = bayplan("check", str(folder / "app.json"), "-t", str(tmp_path / "topology.yaml")).stdout
    assert f"[{code}]" in found


@pytest.mark.parametrize("groups", [False, True])
def test_torchrun_says_its_address_on_a_fabric_and_beside_it(groups: bool, folder: Path) -> None:
    """Also where bayplan gives no ranks, and torchrun finds its peers by itself."""
    start = "torchrun --rdzv_backend c10d --rdzv_endpoint $${${rank0_env}:=localhost}:29500 --nnodes 2 train.py"
    role = {"image": "example.com/x:1", "entrypoint": "bash", "args": ["-c", start], "num_replicas": 2}
    role |= {"env": {"NUMBER": "${replica_id}"}} if groups else {}
    size = {"cpu": 1, "memMB": 1000}
    attached = {**role, "name": "trainer", "resource": {**size, "gpu": 8, "devices": {"nvidia.com/hostdev": 8}}}
    text = json.dumps({"name": "x", "roles": [attached, {**role, "name": "reader", "resource": size}]})
    result = bayplan("render", "-", "--from", "torchx", "-t", "topology.yaml", cwd=folder, stdin=text)
    everyone = list(pods(parse_all(result.stdout)))
    assert len(everyone) == 4, result.stderr
    for pod in everyone:
        names = [each["name"] for each in pod.spec["containers"][0]["env"]]
        assert names.count("PET_LOCAL_ADDR") == 1


@pytest.mark.parametrize(
    ("nodes", "options", "found"),
    [
        ("1:4", "--rdzv_backend c10d --rdzv_endpoint $${${rank0_env}:=localhost}:29500 --nproc_per_node 8", set()),
        ("1:4", "--rdzv_backend static --rdzv_endpoint $${${rank0_env}:=localhost}:29500 --nproc_per_node 8", {"P522"}),
        ("2", "--rdzv_backend c10d --rdzv_endpoint $${${rank0_env}:=localhost}:29500 --nproc_per_node 8", set()),
        ("2", "--rdzv_backend c10d --rdzv_endpoint $${${rank0_env}:=localhost}:29500 --nproc_per_node 9", {"W587"}),
    ],
)
def test_what_a_rendezvous_of_torchrun_does_with_its_pods(
    nodes: str, options: str, found: set[str], folder: Path
) -> None:
    least, _, most = nodes.rpartition(":")
    command = f"torchrun --nnodes {nodes} {options} train.py"
    replicas = {"num_replicas": int(most), "min_replicas": int(least) if least else None}
    resource = {"cpu": 1, "memMB": 1, "gpu": 8}
    text = app(entrypoint="bash", args=["-c", command], resource=resource, **replicas)
    (folder / "app.json").write_text(text, encoding="utf-8")
    result = bayplan("check", "app.json", "-t", "topology.yaml", cwd=folder)
    assert set(re.findall(r"\[(P522|W587)\]", result.stdout)) == found, result.stdout


@pytest.mark.parametrize("roles", ["null", "{}"])
def test_an_application_without_roles_is_known_as_one(roles: str, folder: Path) -> None:
    result = bayplan("check", "-", "-t", "topology.yaml", cwd=folder, stdin=f'{{"name": "x", "roles": {roles}}}')
    assert "expected a list" in result.stdout
    assert "A912" not in result.stdout


def test_what_no_shell_understands_stays_nowhere_unsaid(folder: Path) -> None:
    """A dash in the name of a role, where what TorchX wrote is placed as it stands."""
    job = (ROOT / "tests" / "cases" / "W573-linted" / "job.yaml").read_text(encoding="utf-8")
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    options = ("post-render", "-t", "topology.yaml", "--policy", "policy.yaml")
    result = bayplan(*options, cwd=folder, stdin=job)
    assert result.returncode == 1
    assert result.stderr.count("error[W573]") == 1
    assert result.stdout == ""
