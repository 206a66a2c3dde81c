"""A control plane on loopback: Kubernetes' own controllers, JobSet's, KWOK, and KAI or Kueue."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bayplan.model.topology import ClusterTopology
from e2e.apiserver.binaries import APISERVER, BIN, ETCD, KUBERNETES
from e2e.apiserver.client import APPLY, Client, Document, Reply
from e2e.apiserver.cluster import discover, install, must, root
from e2e.apiserver.server import free_ports, listening, process, running, wait_for
from e2e.kai import PRIORITIES
from e2e.nodes import CHANNEL_CLASS, classes, nodes, slices
from e2e.scheduler import LOADER
from judges import UPSTREAM, name

Object = dict[str, Any]
MERGE = "application/merge-patch+json"
NAMESPACE = "ml"
HERE = Path(__file__).resolve().parent

MANAGER, SCHEDULER, KUBECTL = (
    BIN / f"{each}@v{KUBERNETES}" for each in ("kube-controller-manager", "kube-scheduler", "kubectl")
)
JOBSET, KWOK, KUEUE, TRAINING = (
    BIN / each for each in ("jobset@v0.12.0", "kwok@v0.7.0", "kueue@v0.19.2", "training-operator@v1.9.3")
)
KAI = {
    each: BIN / f"kai-{each}@v0.17.0"
    for each in ("scheduler", "binder", "admission", "podgrouper", "podgroupcontroller", "queuecontroller")
}
KAI_CRDS = (
    "kai.scheduler_topologies",
    *(f"scheduling.run.ai_{each}" for each in ("podgroups", "queues", "bindrequests")),
)
DOMAINS = "resource.nvidia.com_computedomains"
OTHERS = ("jobsets.jobset.x-k8s.io", "pytorchjobs.kubeflow.org")

FIXED = 9443
"""The port of the webhooks of KAI's controllers for PodGroups and Queues, which they let nobody choose."""

KUEUE_SYSTEM, KUEUE_SERVICE = "kueue-system", "kueue-webhook-service"
IMEX = "example.com/imex-channel"
"""As what Kueue counts the channels of ComputeDomains."""

METRICS = 8080
"""The port of the metrics of KAI's controller for PodGroups, which is fixed too."""


class Plane(NamedTuple):
    """A running control plane. `served`: apiVersion, kind -> how to reach objects."""

    folder: Path
    client: Client
    served: dict[tuple[str, str], tuple[str, bool]]
    made: dict[str, Object]  # name -> node

    def path(self, document: Document) -> str:
        """The path of an object."""
        return f"{self.collection(document)}/{document['metadata']['name']}"

    def collection(self, document: Document) -> str:
        """The path that objects like this one are created at."""
        version, metadata = document["apiVersion"], document["metadata"]
        if (version, document["kind"]) not in self.served:
            self.served.update(discover(self.client, version))
        plural, namespaced = self.served[version, document["kind"]]
        inner = f"/namespaces/{metadata.get('namespace', NAMESPACE)}" if namespaced else ""
        return f"{root(version)}{inner}/{plural}"

    def apply(self, documents: Iterable[Document]) -> list[str]:
        """Server-side apply in order, strictly validated. What the server or a webhook complains about."""
        found = []
        for each in documents:
            reply = self.send(each)
            found += [f"{name(each)}: {reply.status} {reply.message}"] if not reply.taken else []
            found += [f"{name(each)}: warning: {text}" for text in reply.warnings]
        return found

    def send(self, document: Document) -> Reply:
        """Server-side apply, strictly validated."""
        query = {"fieldValidation": "Strict", "fieldManager": "bayplan", "force": "true"}
        return self.client.send("PATCH", self.path(document), document, APPLY, **query)

    def create(self, document: Document) -> Object:
        """Create an object that must be taken."""
        created: Object = must(self.client.send("POST", self.collection(document), document)).body
        return created

    def delete(self, document: Document) -> Reply:
        """Delete an object, and what it owns, in the background."""
        return self.client.send("DELETE", self.path(document), {"propagationPolicy": "Background"})

    def list(self, path: str, **query: str) -> list[Object]:
        """The objects of a collection."""
        items: list[Object] = must(self.client.send("GET", path, **query)).body["items"]
        return items

    def inside(self, collection: str) -> list[Object]:
        """The objects of a kind in the namespace of the scenes: "pods", or group, version and plural."""
        before, _, plural = collection.rpartition("/")
        return self.list(f"{'/apis/' + before if before else '/api/v1'}/namespaces/{NAMESPACE}/{plural}")

    def until(self, done: Callable[[], bool], seconds: float) -> bool:
        """Wait until it is so. False if it does not become so."""
        end = time.monotonic() + seconds
        while not done():
            if time.monotonic() > end:
                return False
            time.sleep(0.5)
        return True

    def shell(self, command: str, token: str = "") -> subprocess.CompletedProcess[str]:
        """Run a shell command with kubectl in its path, as the service account with the token."""
        config = self.folder / ("account.json" if token else "kubeconfig.json")
        if token:
            _kubeconfig(config, self.client, token)
        environment = {**os.environ, "KUBECONFIG": str(config), "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        return subprocess.run(
            ["sh", "-c", command], env=environment, capture_output=True, text=True, timeout=300, check=False
        )

    def furnish(self, topology: ClusterTopology) -> None:
        """Let the cluster have the nodes, devices and device classes of a topology, and no others."""
        wanted = {each["metadata"]["name"]: _without_uid(each) for each in nodes(topology)}
        devices = {each["metadata"]["name"]: _without_uid(each) for each in slices(topology)}
        for stale in [each for each in self.made if self.made[each] not in (wanted.get(each), devices.get(each))]:
            must(self.delete(self.made.pop(stale)))
        for each in (*wanted.values(), *devices.values()):
            if each["metadata"]["name"] not in self.made:
                self.made[each["metadata"]["name"]] = each
                self.create(each)
                if each["kind"] == "Node":  # on which admission puts the taint of nodes that are not ready
                    taints = {"spec": {"taints": each["spec"]["taints"]}}
                    must(self.client.send("PATCH", self.path(each), taints, MERGE))
        for each in classes(topology):
            self.apply([_without_uid(each)])


def _without_uid(document: Document) -> Object:
    metadata = {key: value for key, value in document["metadata"].items() if key != "uid"}
    return {**document, "metadata": metadata}


def missing(scheduler: str) -> str:
    """The programs that are not built; empty if all are."""
    own = [KUEUE, SCHEDULER, KUEUE.with_name(f"{KUEUE.name}.yaml")] if scheduler == "kueue" else [*KAI.values()]
    common = [
        ETCD,
        APISERVER,
        MANAGER,
        KUBECTL,
        JOBSET,
        KWOK,
        *(each.with_name(f"{each.name}.yaml") for each in (JOBSET, TRAINING)),
    ]
    return ", ".join(each.name for each in (*common, *own) if not each.exists())


@contextmanager
def started(folder: Path, scheduler: str, queues: Iterable[Document]) -> Iterator[Plane]:
    """A control plane whose files lie in an empty folder, with an empty cluster that has KAI's queues."""
    with ExitStack() as stack:
        client = stack.enter_context(running(folder, "RBAC"))
        plane = Plane(folder, client, {}, {})
        _prepare(plane)
        if scheduler == "kai":
            busy = [port for port in (FIXED, METRICS) if listening(port)]
            assert not busy, f"KAI's controllers need the ports {busy}, which other programs have"
            _apply_queues(plane, queues)
        own = _kai if scheduler == "kai" else _kueue
        jobset, fixed = free_ports(2)
        commands = [*_common(folder, jobset), *own(plane, fixed)]
        processes = [stack.enter_context(_process(plane, each)) for each in commands]
        ports = [jobset, fixed, *([FIXED] if scheduler == "kai" else [])]
        if scheduler == "kueue":
            wait_for(lambda: _mount(plane), processes, folder)
        wait_for(lambda: all(map(listening, ports)), processes, folder)
        _webhooks(plane, _read(JOBSET), jobset)
        if scheduler == "kai":
            _register(plane, KAI_WEBHOOKS, {"admission": fixed, "podgroupcontroller": FIXED})
        plane.until(lambda: bool(plane.inside("serviceaccounts")), 60)
        yield plane


def _prepare(plane: Plane) -> None:
    """What a cluster has before its controllers start: CRDs, namespaces, and certificates for webhooks."""
    folder = plane.folder
    for path in (*KAI_CRDS, DOMAINS):
        install(plane.client, _read(next((UPSTREAM / "crds").glob(f"*/{path}.yaml")))[0])
    for each in (*_read(JOBSET), *_read(TRAINING)):
        if each["metadata"]["name"] in OTHERS:
            install(plane.client, each)
    for each in (NAMESPACE, "kai-resource-reservation", "kai-scale-adjust", KUEUE_SYSTEM):
        plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}})
    for title, value in PRIORITIES.items():
        place = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": title}}
        plane.create({**place, "value": value})
    served = folder / "tmp" / "k8s-webhook-server" / "serving-certs"  # where controller-runtime looks
    served.mkdir(parents=True)
    for ending in ("crt", "key"):  # the API server's own, which is for loopback and holds its authority
        shutil.copy(folder / "certificates" / f"apiserver.{ending}", served / f"tls.{ending}")
    (folder / "bin").mkdir()
    (folder / "bin" / "kubectl").symlink_to(KUBECTL)
    _kubeconfig(folder / "kubeconfig.json", plane.client, plane.client.token)


def _read(path: Path) -> list[Object]:
    """The objects of a file, or those that stand beside a program."""
    if path.parent == BIN:
        path = path.with_name(f"{path.name}.yaml")
    return [each for each in yaml.load_all(path.read_text(encoding="utf-8"), LOADER) if each]


def _kubeconfig(path: Path, client: Client, token: str) -> None:
    server = f"https://127.0.0.1:{client.connection.port}"
    whole = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "plane", "cluster": {"server": server, "certificate-authority": str(client.certificate)}}
        ],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "plane", "context": {"cluster": "plane", "user": "user", "namespace": NAMESPACE}}],
        "current-context": "plane",
    }
    path.write_text(json.dumps(whole), encoding="utf-8")


def _process(plane: Plane, command: Sequence[str | Path]) -> AbstractContextManager[subprocess.Popen[bytes]]:
    folder = plane.folder
    environment = {"KUBECONFIG": str(folder / "kubeconfig.json"), "TMPDIR": str(folder / "tmp")}
    return process([str(each) for each in command], folder, **environment)


def _common(folder: Path, port: int) -> list[list[str | Path]]:
    """Kubernetes' controllers, KWOK and JobSet's.

    The controller of node lifecycles stays off, because nobody writes leases for the nodes.
    """
    config = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {"port": port},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "0"},
    }
    (folder / "jobset.json").write_text(json.dumps(config), encoding="utf-8")
    manager: list[str | Path] = [
        MANAGER,
        "--kubeconfig=kubeconfig.json",
        "--secure-port=0",
        "--leader-elect=false",
        "--controllers=*,-node-lifecycle-controller",
        "--service-account-private-key-file=accounts.key",
        "--root-ca-file=certificates/apiserver.crt",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
    ]
    kwok = [
        KWOK,
        "--kubeconfig=kubeconfig.json",
        "--manage-all-nodes",
        "--node-lease-duration-seconds=0",
        f"--config={HERE / 'stages.yaml'}",
        "--cidr=10.1.0.0/16",
        "--node-ip=192.0.2.2",
    ]
    return [manager, kwok, [JOBSET, "--config=jobset.json"]]


def _kai(plane: Plane, port: int) -> list[list[str | Path]]:
    """KAI's programs with the configuration that they have by default.

    Two controllers have webhooks on one fixed port. Queues therefore come first, judged by the webhook of their
    controller, which then starts again without.
    """
    quiet = ["--metrics-bind-address=0", "--health-probe-bind-address=0"]
    metrics, plugins = free_ports(2)
    return [
        [KAI["scheduler"], f"--listen-address=127.0.0.1:{metrics}", f"--plugin-server-port={plugins}"],
        [KAI["binder"], *quiet],
        [KAI["admission"], *quiet, f"--webhook-addr={port}"],
        [KAI["podgrouper"], *quiet, "--generic-karta-fallback=false"],
        [KAI["podgroupcontroller"], "--health-probe-bind-address=0"],
        [KAI["queuecontroller"], "--metrics-listen-address=0", "--enable-webhook=false"],
    ]


class Hook(NamedTuple):
    """A webhook: who serves it, at which path, and what it judges."""

    program: str
    path: str
    kind: str  # Mutating or Validating
    group: str
    version: str
    plural: str
    verbs: tuple[str, ...] = ("CREATE", "UPDATE")


KAI_WEBHOOKS = (
    Hook("admission", "mutate--v1-pod", "Mutating", "", "v1", "pods", ("CREATE",)),
    Hook("admission", "validate--v1-pod", "Validating", "", "v1", "pods"),
    Hook(
        "admission", "validate-kai-scheduler-v1alpha1-topology", "Validating", "kai.scheduler", "v1alpha1", "topologies"
    ),
    Hook(
        "podgroupcontroller",
        "validate-scheduling-run-ai-v2alpha2-podgroup",
        "Validating",
        "scheduling.run.ai",
        "v2alpha2",
        "podgroups",
    ),
)
QUEUE_WEBHOOK = Hook(
    "queuecontroller", "validate-scheduling-run-ai-v2-queue", "Validating", "scheduling.run.ai", "v2", "queues"
)


def _apply_queues(plane: Plane, queues: Iterable[Document]) -> None:
    command = [KAI["queuecontroller"], "--metrics-listen-address=0"]
    with _process(plane, command) as running_process:
        wait_for(lambda: listening(FIXED), [running_process], plane.folder)
        _register(plane, [QUEUE_WEBHOOK], {"queuecontroller": FIXED})
        complaints = plane.apply(queues)
        assert not complaints, complaints
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        for each in plane.list(path):
            must(plane.client.send("DELETE", f"{path}/{each['metadata']['name']}"))


def _register(plane: Plane, hooks: Iterable[Hook], ports: Mapping[str, int]) -> None:
    """Webhooks of the marks in KAI's sources (+kubebuilder:webhook), which its operator registers."""
    for each in hooks:
        rule = {
            "apiGroups": [each.group],
            "apiVersions": [each.version],
            "operations": list(each.verbs),
            "resources": [each.plural],
        }
        title = f"{each.plural}.{each.kind.lower()}.{each.program}.kai"
        hook = {"name": title, "rules": [rule], "sideEffects": "None", "admissionReviewVersions": ["v1"]}
        found = {"kind": f"{each.kind}WebhookConfiguration", "metadata": {"name": title}, "webhooks": [hook]}
        hook["clientConfig"] = {"service": {"path": each.path}}
        _webhooks(plane, [{"apiVersion": "admissionregistration.k8s.io/v1", **found}], ports[each.program])


def _webhooks(plane: Plane, documents: Iterable[Object], port: int) -> None:
    """Register the webhooks of a program that listens on a port of loopback."""
    bundle = _encoded(plane.client.certificate)
    for each in documents:
        if each["kind"].endswith("WebhookConfiguration"):
            for hook in each["webhooks"]:
                path = hook["clientConfig"]["service"]["path"].lstrip("/")
                hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}/{path}", "caBundle": bundle}
            metadata = {"name": f"{port}-{each['metadata']['name']}"}
            plane.create({**each, "metadata": metadata})


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _kueue(plane: Plane, port: int) -> list[list[str | Path]]:
    """Kueue's manager with the certificates that it makes itself, and kube-scheduler, which binds what it admits.

    Its Service has the name of the real one and leads to loopback. Its APIServices stay away: the manager serves them
    only inside a cluster.
    """
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": KUEUE_SERVICE, "namespace": KUEUE_SYSTEM}}
    plane.create({**service, "spec": {"type": "ExternalName", "externalName": "localhost"}})
    for each in _read(KUEUE):
        if each["kind"] in ("CustomResourceDefinition", "Secret") or each["kind"].endswith("WebhookConfiguration"):
            for hook in [*each.get("webhooks", ()), each.get("spec", {}).get("conversion", {}).get("webhook")]:
                if hook:
                    hook["clientConfig"]["service"]["port"] = port
            if each["kind"] == "CustomResourceDefinition":
                install(plane.client, each)
            else:
                plane.create(each)
    config = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": KUEUE_SYSTEM,
        "leaderElection": {"leaderElect": False},
        "health": {"healthProbeBindAddress": "0"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"port": port, "certDir": str(plane.folder / "kueue")},
        "featureGates": {"VisibilityOnDemand": False},
        "integrations": {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset", "pod"]},
        "resources": {"deviceClassMappings": [{"name": IMEX, "deviceClassNames": [CHANNEL_CLASS]}]},
    }
    (plane.folder / "kueue.json").write_text(json.dumps(config), encoding="utf-8")
    scheduler: list[str | Path] = [
        SCHEDULER,
        "--kubeconfig=kubeconfig.json",
        "--secure-port=0",
        "--leader-elect=false",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
    ]
    return [[KUEUE, "--config=kueue.json"], scheduler]


def _mount(plane: Plane) -> bool:
    """Write Kueue's Secret into the folder where its Deployment mounts it. Whether there was something to write."""
    folder = plane.folder / "kueue"
    folder.mkdir(exist_ok=True)
    path = f"/api/v1/namespaces/{KUEUE_SYSTEM}/secrets/kueue-webhook-server-cert"
    data = must(plane.client.get(path)).body.get("data") or {}
    for title, text in data.items():
        (folder / title).write_bytes(base64.b64decode(text))
    return bool(data)
