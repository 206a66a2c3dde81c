"""Run the training jobs of OSMO's cookbook as processes: its own files, rendered by bayplan, and real launchers.

python -m tools.cookbook [JOB...] [--kai 0.14] [--dns-delay 10] [--pull master=20]

It needs root and a checkout of OSMO in BAYPLAN_OSMO. BAYPLAN_LAUNCHERS is a virtual environment with torch, deepspeed,
torchvision, ray, moto and rclone. CONTRIBUTING.md says what is not the cookbook's own: NCCL, the GPU, the data,
pip, and what Ray's head does.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tools.data import parse_all
from tools.pod_runner import BRIDGE, Image, Report, Scene, lacking, run
from tools.run import bayplan

OSMO = Path(os.environ.get("BAYPLAN_OSMO", "/nowhere"))
LAUNCHERS = Path(os.environ.get("BAYPLAN_LAUNCHERS", "/nowhere"))
COMMANDS = ("torchrun", "deepspeed", "ray", "moto_server", "rclone")

TOPOLOGY = """
apiVersion: bayplan.dev/v1alpha1
kind: ClusterTopology
metadata: {{name: hall}}
spec:
  versions: {{kubernetes: "1.34", kai: "{kai}", jobset: "0.12"}}
  defaults: {{scheduler: kai, namespace: ml, queue: research}}
  dataMovers:
    s3: {{image: "rclone/rclone:1.71", command: [rclone, --s3-provider=Minio], secret: s3-keys}}
  pools:
  - name: h100
    node: {{accelerator: h100, count: 8, cpu: "100", memory: 900Gi}}
    levels:
    - {{name: rack, label: example.com/rack}}
    domains:
    - {{path: r1, nodes: "n[01-08]"}}
  accelerators:
    h100: {{vendor: nvidia, allocator: device-plugin, resources: {{count: nvidia.com/gpu}}}}
"""

CPU = {
    'backend="nccl"': 'backend="gloo"',
    "torch.cuda.set_device(local_rank)": "pass",
    ".to(self.local_rank)": "",
    "device_ids=[self.local_rank]": "",
    'f"cuda:{self.local_rank}"': '"cpu"',
    ".to(model_engine.local_rank)": "",
}
"""What the training programs say -> what they say without a GPU."""

RAY = """
import socket, sys, time
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

ray.init(address="auto")
for second in range(60):
    nodes = [each["NodeID"] for each in ray.nodes() if each["Alive"]]
    if len(nodes) >= int(sys.argv[1]):
        break
    time.sleep(1)

@ray.remote(num_cpus=1)
def host():
    return socket.gethostname()

hosts = sorted(ray.get([host.options(scheduling_strategy=On(node, soft=False)).remote() for node in nodes]))
print("tasks ran on", *hosts, flush=True)
if len(hosts) < int(sys.argv[1]):
    sys.exit("the cluster is too small")
with open(f"{sys.argv[2]}/hosts.txt", "w") as file:
    print(*hosts, sep="\\n", file=file)
"""

HEAD = """          python3 /tmp/job.py {{num_nodes}} {{output}}
      - path: /tmp/job.py
        localpath: job.py
      outputs:
      - url: {{storage_url}}/{{workflow_id}}/
      {% else %}"""


class Job(NamedTuple):
    """A file of the cookbook, and the template variables and texts that change."""

    file: str
    variables: Mapping[str, str]
    changes: Mapping[str, str] = {}
    files: Mapping[str, str] = {}


PORT = 5000
STORE = "s3://models/osmo"
KEYS = {
    "RCLONE_S3_ENDPOINT": f"http://{BRIDGE}:{PORT}",
    "RCLONE_S3_ACCESS_KEY_ID": "key",
    "RCLONE_S3_SECRET_ACCESS_KEY": "secret",
}
SECRET = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s3-keys"}, "stringData": KEYS}
JOBS = {
    "torchrun-template": Job(
        "dnn_training/torchrun_multinode/train_template.yaml", {"n_gpus_per_node": "2", "n_epochs": "3"}
    ),
    "torchrun": Job("dnn_training/torchrun_multinode/train.yaml", {}),
    "elastic": Job("dnn_training/torchrun_elastic/train.yaml", {"n_gpus_per_node": "1", "n_epochs": "3"}),
    "deepspeed": Job("dnn_training/deepspeed_multinode/train.yaml", {"n_gpus_per_node": "2", "n_epochs": "2"}),
    "ray": Job(
        "integration_and_tools/ray/ray.yaml",
        {"timeout": "240s"},
        {"          sleep infinity\n      {% else %}": HEAD},
        {"job.py": RAY},
    ),
    "ray-as-it-is": Job("integration_and_tools/ray/ray.yaml", {"timeout": "60s"}),
}


def missing() -> list[str]:
    """What these runs lack on this machine."""
    absent = [each for each in COMMANDS if not (LAUNCHERS / "bin" / each).exists()]
    return absent + lacking() + ["OSMO in BAYPLAN_OSMO"] * (not (OSMO / "cookbook").is_dir())


def manifests(job: Job, kai: str, folder: Path) -> str:
    """What bayplan renders of the job; `folder` gets the cookbook's files with the changes."""
    source = OSMO / "cookbook" / Path(job.file).parent
    shutil.copytree(source, folder / "job")
    for path in (folder / "job").iterdir():
        text = path.read_text()
        for old, new in {**job.changes, **CPU}.items():
            text = text.replace(old, new)
        path.write_text(text)
    for name, text in job.files.items():
        (folder / "job" / name).write_text(text)
    (folder / "topology.yaml").write_text(TOPOLOGY.format(kai=kai))
    variables = {"storage_url": STORE, **job.variables}
    words = [word for name, value in variables.items() for word in ("--set", f"{name}={value}")]
    done = bayplan("render", str(folder / "job" / Path(job.file).name), "-t", str(folder / "topology.yaml"), *words)
    if done.returncode:
        raise ValueError(done.stderr)
    (folder / "render.log").write_text(done.stderr)
    (folder / "manifests.yaml").write_text(done.stdout)
    return done.stdout


def _mnist(folder: Path) -> None:
    """256 random images in the files of MNIST."""
    raw, count = folder / "MNIST" / "raw", 256
    raw.mkdir(parents=True)
    chance = random.Random(1)
    for part in ("train", "t10k"):
        images = struct.pack(">IIII", 2051, count, 28, 28) + chance.randbytes(count * 28 * 28)
        labels = struct.pack(">II", 2049, count) + bytes(chance.choices(range(10), k=count))
        (raw / f"{part}-images-idx3-ubyte").write_bytes(images)
        (raw / f"{part}-labels-idx1-ubyte").write_bytes(labels)


def image(folder: Path) -> Image:
    """The image of all containers: the launchers, the data, and a pip that has nothing to do."""
    data = folder / "data"
    if not data.exists():
        _mnist(data)
    places = ["/tmp/data", *(f"/tmp/rank_{number}" for number in range(8))]
    tools = str(LAUNCHERS.resolve())
    folders = {tools: tools, **dict.fromkeys(places, str(data))}
    env = {"PATH": f"/opt/stubs:{tools}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    env |= {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "TORCH_EXTENSIONS_DIR": f"{tools}/extensions"}
    return Image(env, folders, {"/opt/stubs/pip": '#!/bin/sh\necho "pip $*"\n'})


def play(name: str, folder: Path, *, kai: str = "0.17", **changes: object) -> Report:
    """Render one job and run it beside an S3 server, whose objects are in the folder `store` afterwards."""
    documents = [each for each in parse_all(manifests(JOBS[name], kai, folder)) if each]
    scene = Scene(
        [*documents, SECRET],
        {"": image(folder)},
        servers=[[f"{LAUNCHERS}/bin/moto_server", "-H", BRIDGE, "-p", str(PORT)]],
        before=[_rclone("mkdir", ":s3:models")],
        after=[_rclone("copy", ":s3:models", str(folder / "store"))],
    )
    return run(scene._replace(**changes), folder / "run")


def _rclone(*words: str) -> list[str]:
    """A command that reaches the S3 server from beside the pods, when it has started."""
    keys = [f"{name}={value}" for name, value in KEYS.items()]
    call = " ".join((f"{LAUNCHERS}/bin/rclone", "-q", "--s3-provider=Minio", *words))
    return ["env", *keys, "sh", "-c", f"for i in $(seq 30); do {call} && exit; sleep 1; done; exit 1"]


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", default=list(JOBS), metavar="JOB", help=", ".join(JOBS))
    parser.add_argument("--kai", default="0.17")
    parser.add_argument("--dns-delay", type=float, default=0)
    parser.add_argument("--dns-ttl", type=int, default=30)
    parser.add_argument("--pull", action="append", default=[], metavar="POD=SECONDS")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    pulls = {name: float(seconds) for name, _, seconds in (each.partition("=") for each in given.pull)}
    changes = {"dns_delay": given.dns_delay, "dns_ttl": given.dns_ttl, "pulls": pulls, "seconds": given.seconds}
    for name in given.jobs:
        folder = (given.folder or Path(tempfile.mkdtemp())) / name
        shutil.rmtree(folder, ignore_errors=True)
        report = play(name, folder, kai=given.kai, **changes)
        (folder / "report.txt").write_text(report.text())
        print(f"{name}: {report.seconds:.0f} s, {dict(report.ends)}, {dict(report.codes)}; {folder}/report.txt")
        stored = (each for each in sorted((folder / "store").rglob("*")) if each.is_file())
        print(*(f"  {each.relative_to(folder)} {each.stat().st_size}" for each in stored), sep="\n", flush=True)


if __name__ == "__main__":
    _main()
