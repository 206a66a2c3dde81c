"""Run the pods of rendered manifests as processes of this machine, as the controllers, the kubelet and CoreDNS would.

`run(scene, folder)` starts each pod of JobSets, Jobs, Volcano Jobs and bare Pods. A pod has a network namespace and an
address; a bridge connects them. A container has its own mount, PID and UTS namespace. Below the files of its image are
those of the machine. It has its volumes at their paths, the kubelet's /etc/hosts and resolv.conf, and only its own
environment. A DNS server on the bridge answers for headless Services, some seconds after a pod has its address.

All pods of the manifests start at once. Requests, limits, security contexts, service accounts and clusterIPs have no
effect. It needs root, util-linux and iproute2.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

BRIDGE = "10.77.0.1"
"""The address of the DNS server, and of everything else that runs beside the pods."""
ROOM = Path("/run/pods")
"""A tmpfs of the runner: what containers write, volumes, and layers of images."""

Tree = Mapping[str, Any]


class Image(NamedTuple):
    """What an image has besides the files of the machine; `folders` is by path, and the machine's /tmp is in none."""

    env: Mapping[str, str] = {}
    folders: Mapping[str, str] = {}
    files: Mapping[str, str] = {}


class Scene(NamedTuple):
    """What runs: manifests, and the cluster around them.

    `images` is by the beginning of the image's name, and the longest one counts.
    `servers`, `before`, `after`: commands beside the pods, that end before the pods start, and after the pods.
    `pulls`: an expression that a pod's hostname contains -> the seconds that its images take.
    `dns_delay`: the seconds from a pod's address, or its readiness, to its DNS record.
    `dns_ttl`: the seconds for which DNS repeats an answer, also that a name is unknown (30 in kubeadm's Corefile).
    `seconds`: the limit for the workloads.
    """

    documents: Sequence[Tree]
    images: Mapping[str, Image]
    servers: Sequence[Sequence[str]] = ()
    before: Sequence[Sequence[str]] = ()
    after: Sequence[Sequence[str]] = ()
    pulls: Mapping[str, float] = {}
    dns_delay: float = 0
    dns_ttl: int = 30
    domain: str = "cluster.local"
    seconds: float = 300


class Report(NamedTuple):
    """What came out.

    `ends`: `KIND/NAME` of a workload -> `Complete`, `Failed: REASON`, or "" if it ran until the scene's limit.
    `codes`: `POD/CONTAINER` -> the exit code of its last run.
    `logs`: the same -> what all runs printed; each line begins with the seconds since the start.
    """

    seconds: float
    ends: Mapping[str, str]
    phases: Mapping[str, str]
    codes: Mapping[str, int]
    logs: Mapping[str, str]
    events: Sequence[str]

    def text(self) -> str:
        """All of it, for people."""
        logs = "".join(f"--- {name}\n{text}" for name, text in self.logs.items())
        return "\n".join([*self.events, f"{self.ends} {self.codes} {self.seconds:.1f} s", logs])


def lacking() -> list[str]:
    """What the runner needs and this machine does not have."""
    absent = [each for each in ("unshare", "nsenter", "ip", "mount", "chroot") if not shutil.which(each)]
    if os.geteuid() != 0:
        return [*absent, "root"]
    if not absent and subprocess.run(["unshare", "-nm", "true"], capture_output=True, check=False).returncode:
        return ["namespaces"]
    return absent


def run(scene: Scene, folder: Path) -> Report:
    """Run the scene in namespaces of its own; `folder` gets the log of each container."""
    folder.mkdir(parents=True, exist_ok=True)
    images = {name: image._asdict() for name, image in scene.images.items()}
    (folder / "scene.json").write_text(json.dumps({**scene._asdict(), "images": images}))
    inside = [sys.executable, "-m", "tools.pod_runner", str(folder)]
    alone = ["unshare", "-nmpf", "--kill-child", "--mount-proc", *inside]
    tests = str(Path(__file__).resolve().parents[1])
    path = ":".join(filter(None, (tests, os.environ.get("PYTHONPATH", ""))))
    subprocess.run(alone, check=True, timeout=scene.seconds + 120, env={**os.environ, "PYTHONPATH": path})
    logs = {each.name.removesuffix(".log").replace("=", "/"): each.read_text() for each in sorted(folder.glob("*.log"))}
    return Report(**json.loads((folder / "report.json").read_text()), logs=logs)


# --- the cluster -----------------------------------------------------------------------------------------------------


class Cluster:
    """The objects, the pods that run, and the clock."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        self.scene, self.folder = scene, folder
        self.begin = time.monotonic()
        self.pods: list[PodRun] = []
        self.services = [each for each in scene.documents if each["kind"] == "Service"]
        self.events: list[str] = []
        self.numbers = itertools.count(1)

    def now(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.begin

    def event(self, *words: object) -> None:
        """Keep a line about what happened."""
        self.events.append(" ".join(map(str, (f"{self.now():7.2f}", *words))))

    def object(self, kind: str, namespace: str, name: str) -> Tree | None:
        """The object of that name."""
        for each in self.scene.documents:
            metadata = each["metadata"]
            if (each["kind"], metadata.get("namespace", namespace), metadata["name"]) == (kind, namespace, name):
                return each
        return None

    def image(self, name: str) -> Image:
        """What the image of that name has."""
        images = self.scene.images
        return images[max((each for each in images if name.startswith(each)), key=len)]

    def of(self, service: Tree) -> Iterator[PodRun]:
        """The pods of a Service that have a DNS record now."""
        spec = service["spec"]
        for pod in self.pods:
            selected = (
                pod.namespace == service["metadata"].get("namespace") and spec["selector"].items() <= pod.labels.items()
            )
            since = pod.addressed if spec.get("publishNotReadyAddresses") else pod.ready_since
            if selected and not pod.phase and since is not None and self.now() - since >= self.scene.dns_delay:
                yield pod


def volumes_of(cluster: Cluster, pod: PodRun) -> dict[str, Path]:
    """A folder with the content of each volume of the pod."""
    made = {}
    for volume in pod.spec.get("volumes", []):
        folder = pod.room / "volumes" / volume["name"]
        folder.mkdir(parents=True)
        source = next(key for key in volume if key != "name")
        if source in ("configMap", "secret"):
            _keys(cluster, pod, source, volume[source], folder)
        elif source == "projected":
            for each in volume[source]["sources"]:
                ((kind, one),) = each.items()
                _keys(cluster, pod, kind, one, folder)
        elif source != "emptyDir":
            raise ValueError(f'volume "{volume["name"]}" of pod {pod.name} is a {source}')
        made[volume["name"]] = folder
    return made


def _keys(cluster: Cluster, pod: PodRun, source: str, spec: Tree, folder: Path) -> None:
    """Write the keys of a ConfigMap or Secret as files."""
    kind = {"configMap": "ConfigMap", "secret": "Secret"}[source]
    name = spec.get("secretName", spec.get("name"))
    found = cluster.object(kind, pod.namespace, name)
    if found is None:
        if not spec.get("optional"):
            raise ValueError(f"{kind} {name} of pod {pod.name} does not exist")
        return
    content = _content(found)
    items = spec.get("items", [{"key": key, "path": key} for key in content])
    for item in items:
        path = folder / item["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content[item["key"]])
        path.chmod(item.get("mode", spec.get("defaultMode", 0o644)))


def _content(found: Tree) -> dict[str, bytes]:
    text = {key: value.encode() for key, value in {**found.get("data", {}), **found.get("stringData", {})}.items()}
    if found["kind"] == "Secret":
        text |= {key: b64decode(value) for key, value in found.get("data", {}).items()}
    return text | {key: b64decode(value) for key, value in found.get("binaryData", {}).items()}


# --- the kubelet -----------------------------------------------------------------------------------------------------

SETUP = """
set -e
mount -t overlay overlay -o lowerdir={layer}:/,upperdir={own}/upper,workdir={own}/work {own}/root
mount -t proc proc {own}/root/proc
mount --rbind /dev {own}/root/dev
mount --rbind /sys {own}/root/sys
mount --bind {room}/shm {own}/root/dev/shm
hostname {host}
bind() {{
  if [ -d "$1" ]; then mkdir -p "{own}/root$2"; else mkdir -p "$(dirname "{own}/root$2")"; : >> "{own}/root$2"; fi
  mount --bind "$1" "{own}/root$2"
  if [ "$3" = ro ]; then mount -o remount,bind,ro "{own}/root$2"; fi
}}
part() {{
  mkdir -p "{own}/$3/upper" "{own}/$3/work" "{own}/root$2"
  mount -t overlay overlay -o "lowerdir=$1,upperdir={own}/$3/upper,workdir={own}/$3/work" "{own}/root$2"
}}
{parts}
{binds}
exec chroot {own}/root env -i --chdir={folder} {words}
"""


class Container:
    """One container: its process of now, and how the earlier ones ended."""

    def __init__(self, pod: PodRun, spec: Tree) -> None:
        self.pod, self.spec, self.name = pod, spec, spec["name"]
        self.code: int | None = None
        self.killed = False
        self.runs = 0
        self.again: float = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.restarts_always = spec.get("restartPolicy") == "Always"

    def start(self) -> None:
        """Start the process."""
        pod = self.pod
        own = pod.room / "containers" / f"{self.name}-{self.runs}"
        for each in ("upper", "work", "root"):
            (own / each).mkdir(parents=True)
        self.runs += 1
        self.code = None
        image = pod.cluster.image(self.spec["image"])
        words = [*(f"{name}={value}" for name, value in self.env(image).items()), *self.command()]
        text = SETUP.format(
            layer=_layer(image),
            own=own,
            room=pod.room,
            host=pod.host,
            parts="\n".join(
                _quote("part", source, target, str(number))
                for number, (target, source) in enumerate(image.folders.items())
            ),
            binds="\n".join(_quote("bind", *each) for each in self.binds()),
            folder=_quote(self.spec.get("workingDir", "/")),
            words=_quote(*words),
        )
        (own / "setup.sh").write_text(text)
        inside = ["unshare", "-mupf", "--kill-child", "sh", str(own / "setup.sh")]
        joined = ["nsenter", f"--net=/run/netns/{pod.netns}", *inside]
        pod.cluster.event(pod.name, self.name, "starts")
        self.process = subprocess.Popen(
            joined, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
        threading.Thread(target=self._copy, args=(self.process,), daemon=True).start()

    def _copy(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout
        with (self.pod.cluster.folder / f"{self.pod.name}={self.name}.log").open("ab") as log:
            for line in process.stdout:
                log.write(f"{self.pod.cluster.now():7.2f} ".encode() + line.rstrip(b"\n") + b"\n")
                log.flush()

    def binds(self) -> Iterator[tuple[str, str, str]]:
        """Source, target and mode of everything that is mounted."""
        for name in ("hosts", "resolv.conf", "hostname"):
            yield str(self.pod.room / "etc" / name), f"/etc/{name}", "rw"
        for mount in self.spec.get("volumeMounts", []):
            source = self.pod.volumes[mount["name"]] / mount.get("subPath", "")
            if not source.exists():
                source.mkdir(parents=True)
            # the kubelet mounts ConfigMaps and Secrets read-only
            kept = next(each for each in self.pod.spec["volumes"] if each["name"] == mount["name"])
            mode = "rw" if "emptyDir" in kept and not mount.get("readOnly") else "ro"
            yield str(source), mount["mountPath"], mode

    def env(self, image: Image) -> dict[str, str]:
        """The environment, as the container runtime has it: `$(NAME)` is a variable that is declared earlier."""
        made = {"PATH": os.environ["PATH"], "HOME": "/root", **image.env, "HOSTNAME": self.pod.host}
        declared: dict[str, str] = {}
        for source in self.spec.get("envFrom", []):
            ((kind, spec),) = ((kind, spec) for kind, spec in source.items() if kind != "prefix")
            found = self.pod.cluster.object(
                {"configMapRef": "ConfigMap"}.get(kind, "Secret"), self.pod.namespace, spec["name"]
            )
            if found:
                declared |= {source.get("prefix", "") + key: value.decode() for key, value in _content(found).items()}
        for entry in (*self.spec.get("env", []), *self.pod.given):
            value = entry["value"] if "value" in entry else self.pod.value_from(entry.get("valueFrom"), self.spec)
            if value is not None:
                declared[entry["name"]] = expand(value, declared)
        return made | declared

    def command(self) -> list[str]:
        """The command and its arguments."""
        words = [*self.spec.get("command", []), *self.spec.get("args", [])]
        declared = self.env(Image())
        return [expand(word, declared) for word in words]

    def ended(self) -> bool:
        """Whether the last process has ended; keeps its exit code."""
        if self.process and (status := self.process.poll()) is not None:
            self.process = None
            self.code = 137 if self.killed else status if status >= 0 else 128 - status
            self.pod.cluster.event(self.pod.name, self.name, "exits with", self.code)
        return self.process is None and self.code is not None

    def signal(self, number: int) -> None:
        """Send a signal to the container's first process."""
        if first := self.first():
            self.killed = number == signal.SIGKILL
            with contextlib.suppress(ProcessLookupError):
                os.kill(first, number)

    def first(self) -> int | None:
        """The number of the container's first process."""
        with contextlib.suppress(OSError):
            if self.process:
                children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
                return int(children[0]) if children else None
        return None

    def execute(self, command: Sequence[str]) -> int:
        """Run a command in the container, as probes and hooks do."""
        first = self.first()
        if not first:
            return 1
        env = [f"{name}={value}" for name, value in self.env(self.pod.cluster.image(self.spec["image"])).items()]
        words = ["nsenter", "-t", str(first), "-m", "-u", "-p", "-n", "-r", "-w", "env", "-i", *env, *command]
        return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False).returncode

    def probed(self, name: str) -> bool:
        """Whether a probe succeeds, or is absent."""
        probe = self.spec.get(name)
        return not probe or self.execute(probe["exec"]["command"]) == 0


class PodRun(threading.Thread):
    """One pod, from its address to its end."""

    def __init__(
        self, cluster: Cluster, template: Tree, name: str, namespace: str, labels: Tree, annotations: Tree
    ) -> None:
        super().__init__(daemon=True, name=name)
        metadata = template.get("metadata", {})
        self.cluster, self.namespace = cluster, namespace
        self.spec = template["spec"]
        self.labels: dict[str, str] = {**metadata.get("labels", {}), **labels}
        self.annotations: dict[str, str] = {**metadata.get("annotations", {}), **annotations}
        self.host = self.spec.get("hostname", name)[:63]
        self.number = next(cluster.numbers)
        self.netns, self.address = f"pod{self.number}", f"10.77.1.{self.number}"
        self.room = ROOM / f"{self.number}"
        self.given: list[Tree] = []
        self.volumes: dict[str, Path] = {}
        self.containers: list[Container] = []
        self.addressed: float | None = None
        self.ready_since: float | None = None
        self.phase = self.reason = ""
        self.stopping = threading.Event()

    @property
    def full_name(self) -> str:
        """The pod's name in DNS, if it has one."""
        subdomain = self.spec.get("subdomain")
        return f"{self.host}.{subdomain}.{self.namespace}.svc.{self.cluster.scene.domain}" if subdomain else ""

    def delete(self) -> None:
        """Ask the containers to end."""
        self.stopping.set()

    def value_from(self, source: Tree | None, container: Tree) -> str | None:
        """The value of an environment variable that has a source."""
        if not source:
            return ""
        ((kind, spec),) = source.items()
        if kind == "fieldRef":
            path = spec["fieldPath"]
            if key := re.fullmatch(r"metadata\.(labels|annotations)\['(.*)'\]", path):
                return str({"labels": self.labels, "annotations": self.annotations}[key[1]].get(key[2], ""))
            known = {"metadata.name": self.name, "metadata.namespace": self.namespace, "status.podIP": self.address}
            known |= {
                "metadata.uid": f"uid-{self.number}",
                "spec.nodeName": f"node-{self.number}",
                "status.hostIP": BRIDGE,
            }
            return known[path]
        if kind == "resourceFieldRef":
            where, _, name = spec["resource"].partition(".")
            return str(container["resources"][where][name])
        kept = {"secretKeyRef": "Secret", "configMapKeyRef": "ConfigMap"}[kind]
        found = self.cluster.object(kept, self.namespace, spec["name"])
        content = _content(found) if found else {}
        if spec["key"] not in content:
            if spec.get("optional"):
                return None
            raise ValueError(f"{kept} {spec['name']} of pod {self.name} has no {spec['key']}")
        return content[spec["key"]].decode()

    def run(self) -> None:
        """From the sandbox to the last container's end."""
        try:
            self._prepare()
            failed = self._live()
        except Exception as error:
            failed = True
            self.cluster.event(self.name, "cannot run:", repr(error))
        subprocess.run(["ip", "netns", "del", self.netns], check=False, capture_output=True)
        self.phase = "Failed" if failed else "Succeeded"
        self.cluster.event(self.name, self.phase, self.reason)

    def _prepare(self) -> None:
        for each in ("etc", "shm", "containers"):
            (self.room / each).mkdir(parents=True)
        names = f"{self.full_name}\t{self.host}" if self.full_name else self.host
        (self.room / "etc" / "hosts").write_text(HOSTS + f"{self.address}\t{names}\n")
        domain = self.cluster.scene.domain
        search = f"search {self.namespace}.svc.{domain} svc.{domain} {domain}"
        (self.room / "etc" / "resolv.conf").write_text(f"{search}\nnameserver {BRIDGE}\noptions ndots:5\n")
        (self.room / "etc" / "hostname").write_text(f"{self.host}\n")
        self.volumes = volumes_of(self.cluster, self)
        for words in (
            f"netns add {self.netns}",
            f"link add veth{self.number} type veth peer name eth0 netns {self.netns}",
            f"link set veth{self.number} master br0 up",
            f"-n {self.netns} addr add {self.address}/16 dev eth0",
            f"-n {self.netns} link set eth0 up",
            f"-n {self.netns} link set lo up",
            f"-n {self.netns} route add default via {BRIDGE}",
        ):
            subprocess.run(["ip", *words.split()], check=True)
        self.addressed = self.cluster.now()
        self.cluster.event(self.name, "has", self.address)

    def _live(self) -> bool:
        """Whether the pod failed."""
        pulls = self.cluster.scene.pulls
        self._sleep(max((seconds for each, seconds in pulls.items() if re.search(each, self.host)), default=0))
        sidecars: list[Container] = []
        mains: list[Container] = []
        failed = not all(self._init(Container(self, spec), sidecars) for spec in self.spec.get("initContainers", []))
        if not failed and not self._over():
            mains = [Container(self, spec) for spec in self.spec["containers"]]
            self.containers += mains
            for container in mains:
                container.start()
            self._wait(lambda: all(map(self._finished, mains)), sidecars, mains)
        late = bool(self.reason)
        self._end([each for each in self.containers if each not in sidecars], sidecars)
        return failed or late or not mains or any(each.code != 0 for each in mains)

    def _init(self, container: Container, sidecars: list[Container]) -> bool:
        """Run an init container, or start a sidecar; whether the next one may start."""
        self.containers.append(container)
        container.start()
        if container.restarts_always:
            sidecars.append(container)
            self._wait(lambda: container.probed("startupProbe"), sidecars)
            return not self._over()
        self._wait(lambda: self._finished(container), sidecars)
        return container.ended() and container.code == 0

    def _finished(self, container: Container) -> bool:
        """Whether the container has ended for good; starts it again if the restart policy says so."""
        if not container.ended():
            return False
        policy = self.spec.get("restartPolicy", "Always")
        if policy == "Never" or (policy == "OnFailure" and container.code == 0):
            return True
        self._restart(container)
        return False

    def _restart(self, container: Container) -> None:
        """Start again: at once, then after 10, 20, 40 ... seconds."""
        if not container.again:
            container.again = self.cluster.now() + (0 if container.runs == 1 else 5 * 2 ** (container.runs - 1))
        elif self.cluster.now() >= container.again:
            container.again = 0
            container.start()

    def _wait(self, until: Callable[[], bool], sidecars: list[Container], mains: Sequence[Container] = ()) -> None:
        """Watch the containers until something holds, or the pod must end."""
        while not self._over() and not until():
            for each in sidecars:
                if each.ended():
                    self._restart(each)
            ready = bool(mains) and all(each.process and each.probed("readinessProbe") for each in (*mains, *sidecars))
            if ready != (self.ready_since is not None):
                self.ready_since = self.cluster.now() if ready else None
            time.sleep(0.05)

    def _sleep(self, seconds: float) -> None:
        end = self.cluster.now() + seconds
        while self.cluster.now() < end and not self._over():
            time.sleep(0.05)

    def _over(self) -> bool:
        limit = self.spec.get("activeDeadlineSeconds")
        if limit and self.addressed is not None and self.cluster.now() - self.addressed > limit:
            self.reason = "DeadlineExceeded"
        return bool(self.reason) or self.stopping.is_set()

    def _end(self, mains: Sequence[Container], sidecars: Sequence[Container]) -> None:
        """End the main containers, then the sidecars, last one first, within one grace period."""
        self.ready_since = None
        limit = self.cluster.now() + self.spec.get("terminationGracePeriodSeconds", 30)
        for together in (mains, *([each] for each in reversed(sidecars))):
            left = [each for each in together if each.process and not each.ended()]
            for each in left:
                hook = each.spec.get("lifecycle", {}).get("preStop")
                if hook and "exec" in hook:
                    each.execute(hook["exec"]["command"])
                each.signal(signal.SIGTERM)
            while not all(each.ended() for each in left):
                if self.cluster.now() > limit:
                    for each in left:
                        each.signal(signal.SIGKILL)
                time.sleep(0.05)


HOSTS = """# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
"""
"""What the kubelet writes before the pod's own line (kubernetes pkg/kubelet/kubelet_pods.go)."""


def expand(text: str, env: Mapping[str, str]) -> str:
    """Kubernetes' expansion: `$(NAME)` of a known name, `$$` for `$`."""

    def one(match: re.Match[str]) -> str:
        return "$" if match[0] == "$$" else env.get(match[1], match[0])

    return re.sub(r"\$\$|\$\(([^)]*)\)", one, text)


def _quote(*words: str) -> str:
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def _layer(image: Image) -> Path:
    """A folder with the image's own files; nothing of the machine's /tmp is in images."""
    folder = ROOM / f"image-{abs(hash(json.dumps(image)))}"
    with _LAYERS:
        if not folder.exists():
            (folder / "tmp").mkdir(parents=True)
            (folder / "tmp").chmod(0o1777)
            os.setxattr(folder / "tmp", "trusted.overlay.opaque", b"y")
            for name, text in image.files.items():
                path = folder / name.lstrip("/")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
                path.chmod(0o755)
    return folder


_LAYERS = threading.Lock()  # pods start in threads of their own


# --- the controllers -------------------------------------------------------------------------------------------------


class Controller(threading.Thread):
    """A workload: `end` is "Complete" or "Failed: REASON" when it is over."""

    def __init__(self, cluster: Cluster, document: Tree) -> None:
        super().__init__(daemon=True)
        self.cluster, self.document, self.spec = cluster, document, document["spec"]
        self.title, self.namespace = document["metadata"]["name"], document["metadata"].get("namespace", "default")
        self.pods: list[PodRun] = []
        self.end = ""
        self.stopping = threading.Event()
        self.begin = cluster.now()

    def finish(self, end: str) -> None:
        """Delete the pods that run, and wait for them."""
        self.cluster.event(self.document["kind"], self.title, "is", end)
        for pod in self.pods:
            pod.delete()
        for pod in self.pods:
            pod.join()
        self.end = end


class JobRun(Controller):
    """A batch/v1 Job; `labels` are those of the JobSet, which are annotations too."""

    def __init__(self, cluster: Cluster, document: Tree, labels: Mapping[str, str] = {}) -> None:
        super().__init__(cluster, document)
        self.given = labels
        self.done: set[int] = set()

    def ready(self) -> bool:
        """Whether all pods are ready, or have succeeded."""
        ready = [pod for pod in self.pods if pod.ready_since is not None or pod.phase == "Succeeded"]
        return len(ready) >= self.spec.get("parallelism", 1)

    def run(self) -> None:
        """Pods of each index until all succeeded, or too many failed."""
        count = self.spec.get("completions", self.spec.get("parallelism", 1))
        pods = {index: self._pod(index) for index in range(count)}
        failures, later = 0, dict[int, float]()
        while not (end := self._over(count)):
            for index, pod in list(pods.items()):
                if index in later:
                    if self.cluster.now() >= later[index]:
                        del later[index]
                        pods[index] = self._pod(index)
                elif pod.phase == "Succeeded":
                    self.done.add(index)
                    del pods[index]
                elif pod.phase == "Failed":
                    action = self._action(pod)
                    failures += action == "Count"
                    if action == "FailJob" or failures > self.spec.get("backoffLimit", 6):
                        self.finish(
                            "Failed: " + ("PodFailurePolicy" if action == "FailJob" else "BackoffLimitExceeded")
                        )
                        return
                    later[index] = self.cluster.now() + min(10 * 2 ** max(failures - 1, 0), 600)
            time.sleep(0.05)
        self.finish(end)

    def _over(self, count: int) -> str:
        limit = self.spec.get("activeDeadlineSeconds")
        if self.stopping.is_set():
            return "Failed: deleted"
        if limit and self.cluster.now() - self.begin > limit:
            return "Failed: DeadlineExceeded"
        for rule in self.spec.get("successPolicy", {}).get("rules", []):
            wanted = _indexes(rule["succeededIndexes"]) if "succeededIndexes" in rule else set(range(count))
            if len(wanted & self.done) >= rule.get("succeededCount", len(wanted)):
                return "Complete"
        return "Complete" if len(self.done) == count else ""

    def _action(self, pod: PodRun) -> str:
        """What the podFailurePolicy does about a failed pod; only exit codes are compared."""
        for rule in self.spec.get("podFailurePolicy", {}).get("rules", []):
            if "onExitCodes" in rule:
                codes = rule["onExitCodes"]
                for each in pod.containers:
                    named = codes.get("containerName", each.name) == each.name
                    if named and each.code and (each.code in codes["values"]) == (codes["operator"] == "In"):
                        return str(rule["action"])
        return "Count"

    def _pod(self, index: int) -> PodRun:
        template = self.spec["template"]
        labels = {**self.given, "batch.kubernetes.io/job-name": self.title, "job-name": self.title}
        annotations: dict[str, str] = dict(self.given)
        host = f"{self.title}-{index}"
        number = {"batch.kubernetes.io/job-completion-index": str(index)}
        if indexed := self.spec.get("completionMode") == "Indexed":
            labels |= number
            annotations |= number
            template = {**template, "spec": {"hostname": host, **template["spec"]}}
        name = f"{host}-{next(self.cluster.numbers):05x}"
        pod = PodRun(self.cluster, template, name, self.namespace, labels, annotations)
        if indexed:
            pod.given = [{"name": "JOB_COMPLETION_INDEX", "value": str(index)}]
        self.cluster.pods.append(pod)
        self.pods.append(pod)
        pod.start()
        return pod


def _indexes(text: str) -> set[int]:
    pairs = [each.partition("-") for each in str(text).split(",")]
    return {index for low, _, high in pairs for index in range(int(low), int(high or low) + 1)}


class JobSetRun(Controller):
    """A JobSet of jobset.x-k8s.io/v1alpha2, with its success and failure policy, restarts and `dependsOn`."""

    def __init__(self, cluster: Cluster, document: Tree) -> None:
        super().__init__(cluster, document)
        self.network = self.spec.get("network", {})
        self.subdomain = self.network.get("subdomain", self.title)
        self.restarts = 0
        if self.network.get("enableDNSHostnames", True):
            spec = {"clusterIP": "None", "selector": {"jobset.sigs.k8s.io/jobset-name": self.title}}
            spec["publishNotReadyAddresses"] = self.network.get("publishNotReadyAddresses", True)
            metadata = {"name": self.subdomain, "namespace": self.namespace}
            cluster.services.append({"kind": "Service", "metadata": metadata, "spec": spec})

    def run(self) -> None:
        """Restart all Jobs while one fails and restarts are left."""
        while True:
            jobs: dict[str, list[JobRun]] = {}
            while not (end := self._over(jobs)):
                self._start(jobs)
                time.sleep(0.05)
            if end != "restart":
                self.cluster.event("JobSet", self.title, "is", end)
            for job in itertools.chain(*jobs.values()):
                job.stopping.set()
            for job in itertools.chain(*jobs.values()):
                job.join()
            if end != "restart":
                self.end = end
                return
            self.cluster.event("JobSet", self.title, "restarts")

    def _start(self, jobs: dict[str, list[JobRun]]) -> None:
        """Start the Jobs whose dependencies are met."""
        total = 0
        for each in self.spec["replicatedJobs"]:
            first, total = total, total + each.get("replicas", 1)
            if each["name"] not in jobs and all(_met(one, jobs) for one in each.get("dependsOn", [])):
                jobs[each["name"]] = [self._job(each, copy, first) for copy in range(each.get("replicas", 1))]

    def _job(self, replicated: Tree, copy: int, first: int) -> JobRun:
        spec = replicated["template"]["spec"]
        template = spec["template"]
        named = {"subdomain": self.subdomain} if self.network.get("enableDNSHostnames", True) else {}
        pod = {**named, **template["spec"]}
        name = f"{self.title}-{replicated['name']}-{copy}"
        metadata = {"name": name, "namespace": self.namespace}
        labels = {
            "jobset-name": self.title,
            "replicatedjob-name": replicated["name"],
            "replicatedjob-replicas": str(replicated.get("replicas", 1)),
            "job-index": str(copy),
            "job-global-index": str(first + copy),
            "restart-attempt": str(self.restarts),
        }
        document = {"kind": "Job", "metadata": metadata, "spec": {**spec, "template": {**template, "spec": pod}}}
        job = JobRun(self.cluster, document, {f"jobset.sigs.k8s.io/{key}": value for key, value in labels.items()})
        self.pods.extend(job.pods)
        job.start()
        return job

    def _over(self, jobs: Mapping[str, Sequence[JobRun]]) -> str:
        """The end, "restart", or nothing yet; a failed Job counts before the success policy."""
        if self.stopping.is_set():
            return "Failed: deleted"
        for name, each in jobs.items():
            for job in each:
                if job.end.startswith("Failed"):
                    return self._failed(name, job)
        policy = self.spec.get("successPolicy", {"operator": "All"})
        targets = policy.get("targetReplicatedJobs") or [each["name"] for each in self.spec["replicatedJobs"]]
        ends = [job.end == "Complete" for target in targets for job in jobs.get(target, [])]
        known = all(target in jobs for target in targets)
        return "Complete" if (known and all(ends) if policy["operator"] == "All" else any(ends)) else ""

    def _failed(self, name: str, job: JobRun) -> str:
        policy = self.spec.get("failurePolicy", {})
        action = "RestartJobSet"
        for rule in policy.get("rules", []):
            reasons, targets = rule.get("onJobFailureReasons"), rule.get("targetReplicatedJobs")
            if (not reasons or job.end.removeprefix("Failed: ") in reasons) and (not targets or name in targets):
                action = rule["action"]
                break
        if action == "RestartJobSetAndIgnoreMaxRestarts":
            return "restart"
        if action != "RestartJobSet" and action != "FailJobSet":
            raise ValueError(f"failurePolicy has the action {action}")
        if action == "RestartJobSet" and self.restarts < policy.get("maxRestarts", 0):
            self.restarts += 1
            return "restart"
        return "Failed: FailedJobs"


def _met(dependency: Tree, jobs: Mapping[str, Sequence[JobRun]]) -> bool:
    """Whether the Jobs of an earlier replicatedJob are ready, or complete."""
    earlier = jobs.get(dependency["name"], ())
    complete = dependency["status"] == "Complete"
    return bool(earlier) and all(job.end == "Complete" if complete else job.ready() for job in earlier)


class VolcanoRun(Controller):
    """A Volcano Job: the plugins `svc` and `env`, and the policies for TaskCompleted, PodFailed and PodEvicted."""

    def __init__(self, cluster: Cluster, document: Tree) -> None:
        super().__init__(cluster, document)
        self.plugins = self.spec.get("plugins", {})
        if "svc" in self.plugins:
            publish = any("publish-not-ready-addresses=true" in each for each in self.plugins["svc"] or ())
            selector = {"volcano.sh/job-name": self.title}
            spec = {"clusterIP": "None", "selector": selector, "publishNotReadyAddresses": publish}
            metadata = {"name": self.title, "namespace": self.namespace}
            cluster.services.append({"kind": "Service", "metadata": metadata, "spec": spec})

    def run(self) -> None:
        """All tasks, restarted or ended as the policies say."""
        retries = 0
        while True:
            tasks = {
                task["name"]: [self._pod(task, index) for index in range(task["replicas"])]
                for task in self.spec["tasks"]
            }
            while not (action := self._action(tasks)):
                time.sleep(0.05)
            if action != "RestartJob" or retries >= self.spec.get("maxRetry", 3):
                self.finish("Complete" if action == "CompleteJob" else f"Failed: {action}")
                return
            retries += 1
            for pod in self.pods:
                pod.delete()
            for pod in self.pods:
                pod.join()

    def _action(self, tasks: Mapping[str, Sequence[PodRun]]) -> str:
        if self.stopping.is_set():
            return "deleted"
        for task in self.spec["tasks"]:
            pods = tasks[task["name"]]
            seen = {"PodFailed"} if any(pod.phase == "Failed" for pod in pods) else set()
            seen |= {"TaskCompleted"} if all(pod.phase == "Succeeded" for pod in pods) else set()
            for policy in (*task.get("policies", []), *self.spec.get("policies", [])):
                events = {*policy.get("events", []), policy.get("event")}
                if seen & events or (seen & {"PodFailed"} and "*" in events):
                    return str(policy["action"])
        everyone = [pod for pods in tasks.values() for pod in pods]
        if all(pod.phase for pod in everyone):
            return "CompleteJob" if all(pod.phase == "Succeeded" for pod in everyone) else "PodFailed"
        return ""

    def _pod(self, task: Tree, index: int) -> PodRun:
        name = f"{self.title}-{task['name']}-{index}"
        spec: dict[str, Any] = dict(task["template"]["spec"])
        if "svc" in self.plugins:
            spec = {"hostname": name, "subdomain": self.title, **spec}
        number = {
            "volcano.sh/task-index": str(index),
            "volcano.sh/task-spec": task["name"],
            "volcano.sh/job-name": self.title,
        }
        template = {**task["template"], "spec": spec}
        pod = PodRun(self.cluster, template, name, self.namespace, number, number)
        if "env" in self.plugins:
            pod.given = [{"name": each, "value": str(index)} for each in ("VC_TASK_INDEX", "VK_TASK_INDEX")]
        self.cluster.pods.append(pod)
        self.pods.append(pod)
        pod.start()
        return pod


class MPIJobRun(Controller):
    """An MPIJob of kubeflow.org/v2beta1 (mpi-operator v0.6.0, pkg/controller/mpi_job_controller.go)."""

    def __init__(self, cluster: Cluster, document: Tree) -> None:
        super().__init__(cluster, document)
        self.labels = {
            "training.kubeflow.org/operator-name": "mpi-operator",
            "training.kubeflow.org/job-name": self.title,
        }
        spec = {"clusterIP": "None", "selector": self.labels}
        cluster.services.append(self._made("Service", "", spec=spec))
        replicas = self.spec["mpiReplicaSpecs"]
        names = [f"{self.title}-worker-{number}" for number in range(replicas.get("Worker", {}).get("replicas", 0))]
        self.workers = names
        hosts = [f"{self.title}-launcher", *names] if self.spec.get("runLauncherAsWorker") else names
        slots = self.spec.get("slotsPerWorker", 1)
        text = "".join(f"{each}.{self.title}.{self.namespace}.svc slots={slots}\n" for each in hosts)
        with tempfile.TemporaryDirectory() as folder:
            key = Path(folder) / "key"
            words = ["ssh-keygen", "-q", "-t", "ecdsa", "-b", "521", "-m", "PEM", "-N", "", "-f", key]
            subprocess.run(words, check=True)
            keys = {"ssh-privatekey": key.read_text(), "ssh-publickey": key.with_suffix(".pub").read_text()}
        made = (
            self._made("ConfigMap", "-config", data={"hostfile": text}),
            self._made("Secret", "-ssh", stringData=keys),
        )
        cluster.scene = cluster.scene._replace(documents=(*cluster.scene.documents, *made))

    def _made(self, kind: str, suffix: str, **content: object) -> Tree:
        return {"kind": kind, "metadata": {"name": self.title + suffix, "namespace": self.namespace}, **content}

    def run(self) -> None:
        """The workers, beside the Job of the launcher until it ends."""
        policy = self.spec.get("runPolicy", {})
        for number, name in enumerate(self.workers):
            labels = {**self._role("worker"), "training.kubeflow.org/replica-index": str(number)}
            pod = PodRun(self.cluster, self._template("Worker", name), name, self.namespace, labels, {})
            self.cluster.pods.append(pod)
            self.pods.append(pod)
            pod.start()
        template = self._template("Launcher", f"{self.title}-launcher")
        limits = {key: policy[key] for key in ("backoffLimit", "activeDeadlineSeconds") if key in policy}
        job = JobRun(self.cluster, self._made("Job", "-launcher", spec={"template": template, **limits}))
        job.start()
        while job.is_alive():
            if self.stopping.is_set():
                job.stopping.set()
            time.sleep(0.05)
        if policy.get("cleanPodPolicy", "None") != "None":
            for pod in self.pods:
                pod.delete()
            for pod in self.pods:
                pod.join()
        self.end = job.end

    def _role(self, role: str) -> dict[str, str]:
        return {**self.labels, "training.kubeflow.org/job-role": role}

    def _template(self, kind: str, host: str) -> Tree:
        replicas = self.spec["mpiReplicaSpecs"][kind]
        spec, metadata = replicas["template"]["spec"], replicas["template"].get("metadata", {})
        first, *others = spec["containers"]
        keys = [("ssh-privatekey", "id_rsa"), ("ssh-publickey", "id_rsa.pub"), ("ssh-publickey", "authorized_keys")]
        secret = {"secretName": f"{self.title}-ssh", "items": [{"key": key, "path": path} for key, path in keys]}
        volumes = [*spec.get("volumes", []), {"name": "ssh-auth", "secret": secret}]
        mounts = [{"name": "ssh-auth", "mountPath": self.spec.get("sshAuthMountPath", "/root/.ssh")}]
        if kind == "Launcher":
            volumes.append({"name": "mpi-job-config", "configMap": {"name": f"{self.title}-config"}})
            mounts.append({"name": "mpi-job-config", "mountPath": "/etc/mpi"})
        if not first.get("command") and not first.get("args"):
            first = {**first, "command": ["/usr/sbin/sshd", "-De"]}
        role = {"name": "K_MPI_JOB_ROLE", "value": kind.lower()}
        env, own = [*first.get("env", []), role], [*first.get("volumeMounts", []), *mounts]
        own_spec = {
            "hostname": host,
            "subdomain": self.title,
            "restartPolicy": replicas.get("restartPolicy", "Never"),
            "volumes": volumes,
            "containers": [{**first, "env": env, "volumeMounts": own}, *others],
        }
        labels = {**metadata.get("labels", {}), **self._role(kind.lower())}
        return {"metadata": {**metadata, "labels": labels}, "spec": {**spec, **own_spec}}


class BarePod(Controller):
    """A Pod without a controller."""

    def run(self) -> None:
        """The pod until it ends."""
        pod = PodRun(self.cluster, self.document, self.title, self.namespace, {}, {})
        self.cluster.pods.append(pod)
        self.pods.append(pod)
        pod.start()
        while pod.is_alive():
            if self.stopping.is_set():
                pod.delete()
            time.sleep(0.05)
        self.end = "Complete" if pod.phase == "Succeeded" else f"Failed: {pod.reason or 'PodFailed'}"


def _controller(cluster: Cluster, document: Tree) -> Controller | None:
    kind, group = document["kind"], document.get("apiVersion", "").partition("/")[0]
    if kind == "Job":
        return (VolcanoRun if group == "batch.volcano.sh" else JobRun)(cluster, document)
    kinds: Mapping[str, type[Controller]] = {"JobSet": JobSetRun, "Pod": BarePod, "MPIJob": MPIJobRun}
    return kinds[kind](cluster, document) if kind in kinds else None


# --- DNS -------------------------------------------------------------------------------------------------------------


class Names(threading.Thread):
    """A DNS server as CoreDNS with its plugins `kubernetes` and `cache`: headless Services and their pods."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(daemon=True)
        self.cluster = cluster
        self.kept: dict[str, tuple[float, list[str]]] = {}
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((BRIDGE, 53))

    def addresses(self, name: str) -> list[str]:
        """The addresses of a name now, or as long as they are kept."""
        until, found = self.kept.get(name, (0.0, list[str]()))
        if self.cluster.now() >= until:
            found = self._found(name)
            if name.endswith(self.cluster.scene.domain) and (name not in self.kept or self.kept[name][1] != found):
                self.cluster.event("DNS:", name, "is", " ".join(found) or "unknown")
            self.kept[name] = (self.cluster.now() + self.cluster.scene.dns_ttl, found)
        return found

    def _found(self, name: str) -> list[str]:
        for service in list(self.cluster.services):
            metadata = service["metadata"]
            full = f"{metadata['name']}.{metadata.get('namespace')}.svc.{self.cluster.scene.domain}"
            if service["spec"].get("clusterIP") == "None" and (name == full or name.endswith(f".{full}")):
                pods = list(self.cluster.of(service))
                return [pod.address for pod in pods if name == full or (name == pod.full_name.lower())]
        return []

    def run(self) -> None:
        """Answer questions of one name."""
        while True:
            with contextlib.suppress(OSError, IndexError, struct.error):
                question, sender = self.socket.recvfrom(4096)
                self.socket.sendto(self._answer(question), sender)

    def _answer(self, question: bytes) -> bytes:
        labels, at = [], 12
        while length := question[at]:
            labels.append(question[at + 1 : at + 1 + length].decode().lower())
            at += 1 + length
        asked = question[12 : at + 5]
        (kind,) = struct.unpack("!H", question[at + 1 : at + 3])
        found = self.addresses(".".join(labels))
        records = [
            b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, self.cluster.scene.dns_ttl, 4) + socket.inet_aton(each)
            for each in (found if kind == 1 else [])
        ]
        code = 0 if found else 3
        head = question[:2] + struct.pack("!HHHHH", 0x8580 | code, 1, len(records), 0, 0)
        return head + asked + b"".join(records)


# --- the machine -----------------------------------------------------------------------------------------------------


def _main(folder: Path) -> None:
    text = json.loads((folder / "scene.json").read_text())
    scene = Scene(**{**text, "images": {name: Image(**each) for name, each in text["images"].items()}})
    for words in (
        *("mount -t tmpfs tmpfs /run", f"mkdir -p {ROOM}", "ip link set lo up"),
        *("ip link add br0 type bridge", f"ip addr add {BRIDGE}/16 dev br0", "ip link set br0 up"),
    ):
        subprocess.run(words.split(), check=True)
    servers = [_beside(words, folder / f"server-{number}.log") for number, words in enumerate(scene.servers)]
    for words in scene.before:
        subprocess.run(words, check=True)
    cluster = Cluster(scene, folder)
    Names(cluster).start()
    controllers = [each for each in (_controller(cluster, document) for document in scene.documents) if each]
    for each in controllers:
        each.start()
    while any(each.is_alive() for each in controllers) and cluster.now() < scene.seconds:
        time.sleep(0.05)
    ends = {f"{each.document['kind']}/{each.title}": each.end for each in controllers}
    seconds = cluster.now()
    for each in controllers:
        each.stopping.set()
    for each in controllers:
        each.join()
    for words in scene.after:
        subprocess.run(words, check=True)
    for server in servers:
        server.kill()
    phases = {pod.name: pod.phase for pod in cluster.pods}
    codes = {f"{pod.name}/{each.name}": each.code for pod in cluster.pods for each in pod.containers}
    report = {"seconds": seconds, "ends": ends, "phases": phases, "codes": codes, "events": cluster.events}
    (folder / "report.json").write_text(json.dumps(report, indent=1))


def _beside(words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as out:
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
