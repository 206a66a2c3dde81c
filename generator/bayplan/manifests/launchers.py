"""Put programs around the commands of podSets.

`launcher: mpi` starts the command in the first pod and sshd in all pods. `data` waits for uploads, and a shell hides
failures. `barrier` starts the command when all pods run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.core.package_data import table
from bayplan.kube.kinds import KINDS, MPIJOB, SBATCH, barriers
from bayplan.kube.kinds.mpijob import WORKER
from bayplan.kube.objects import non_empty
from bayplan.kube.pod import (
    BARRIER_SCRIPT,
    DATA_FOLDERS,
    DATA_SCRIPT,
    DATA_STATE,
    DATA_STATE_FOLDER,
    MPI_SCRIPT,
    before_main,
    container_name,
    data_url,
    file_mount,
    main_patches,
    mpi_slots,
    named_containers,
    overlay,
    shm_mount,
    templates,
    volumes,
)
from bayplan.kube.shell import RUN, ignoring
from bayplan.model.manifest import Manifest, Shape
from bayplan.model.plan import GangPlan, Plan, Pods, all_pods, edit_unit, minimum
from bayplan.model.topology import DataMover, Pool
from bayplan.model.workflow import UNWRAPPED, Checkpoint, PodSet, Transfer, hides_failures


def expand(plan: Plan, shape: Shape) -> tuple[Plan, Shape]:
    """The plan and the shape with these programs in the commands. sbatch has its own forms. `assemble` mounts
    `barrier.sh`."""
    kinds = {gang.name: each.kind for each in shape.workloads for gang in each.gangs}
    lost = {gang.name for each in shape.workloads for gang in each.gangs if _lost(gang, each.kind)}
    least = {gang.name: minimum(gang.root) for gang in plan.gangs}

    def expanded(gang: GangPlan) -> GangPlan:
        if gang.name in lost:
            gang = gang._replace(gang=gang.gang._replace(barrier="none"))
        kind = kinds[gang.name]
        return gang if kind == SBATCH else _gang(plan, gang, kind, frozenset(barriers(gang, kind, least[gang.name])))

    workloads = (each._replace(gangs=tuple(map(expanded, each.gangs))) for each in shape.workloads)
    return plan._replace(gangs=tuple(map(expanded, plan.gangs))), shape._replace(workloads=tuple(workloads))


def _lost(gang: GangPlan, kind: str) -> bool:
    """Whether the user accepted that groups have no barrier, because no label says which pods are in which group."""
    folded = any(pods.copies > 1 for pods in all_pods(gang.root))
    return gang.gang.barrier == "group" and folded and not KINDS[kind].COPY_LABEL


def _gang(plan: Plan, gang: GangPlan, kind: str, waiting: frozenset[str]) -> GangPlan:
    def with_programs(pods: Pods) -> Pods:
        spec = _with_launcher(pods.spec, kind == MPIJOB and pods.name == WORKER) if pods.spec.launcher else pods.spec
        pool = plan.topology.pool(pods.pool)
        if pool and any(spec.data):
            spec = _with_data(plan, spec, pool)
        if pods.name in waiting:
            spec = spec._replace(command=("sh", BARRIER_SCRIPT, *spec.command))
        if hides_failures(gang.gang, spec) and kind not in UNWRAPPED:
            passed = (*spec.retry_on_exit_codes, *spec.restart_gang_on_exit_codes)
            spec = spec._replace(command=ignoring(spec.command, passed))
        return pods._replace(spec=spec)

    return gang._replace(root=edit_unit(gang.root, pods=with_programs))


def _with_launcher(spec: PodSet, joins: bool) -> PodSet:
    """The podSet with the MPI launcher before its command. `joins`: no pod of it runs the command."""
    return spec._replace(
        command=("sh", MPI_SCRIPT, *(() if joins else spec.command)),
        args=() if joins else spec.args,
        files={**spec.files, MPI_SCRIPT: table("kube", "mpi.sh")},
        env={"MPI_SLOTS": str(mpi_slots(spec)), **spec.env},
    )


# `data`: init containers that fetch, native sidecars that upload, and a script around the command that waits for them.

KEPT = ("runAsUser", "runAsGroup", "runAsNonRoot", "allowPrivilegeEscalation", "seccompProfile", "seLinuxOptions")
"""Fields of the main container's securityContext that movers have too, so that they can read its files."""

REMOTES: Mapping[str, Callable[[str, str], str]] = {
    "s3": lambda bucket, folder: f":s3,no_check_bucket:{_joined(bucket, folder)}",
    "gs": lambda bucket, folder: f":gcs,no_check_bucket:{_joined(bucket, folder)}",
    "azure": lambda account, folder: f":azureblob,no_check_container,account={account}:{folder}",
    "swift": lambda host, folder: f":s3,no_check_bucket,provider=Other,{_endpoint(host)}:{folder.partition('/')[2]}",
    "tos": lambda host, folder: (
        f":s3,no_check_bucket,provider=Other,force_path_style=false,region={_region(host)},{_endpoint(host)}:{folder}"
    ),
}
"""Scheme -> rclone's name of a folder, from the first part of a URL and the rest. OSMO 6.4 reads Swift and TOS through
their S3 APIs (src/lib/data/storage/backends/backends.py). No mover makes a bucket that does not exist."""


class Move(NamedTuple):
    """A folder of the pod, and rclone's name of the other side and filter. `seconds` between uploads; 0: at the end."""

    scheme: str
    remote: str
    folder: str
    filter: str
    seconds: int = 0

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments of the script. Kubernetes expands `$(NAME)` in them, and makes `$$` one dollar sign."""
        return tuple(word.replace("$", "$$") for word in (self.filter, self.remote, self.folder))


def _with_data(plan: Plan, spec: PodSet, pool: Pool) -> PodSet:
    """The podSet with containers that fetch and upload its data."""
    data, movers = spec.data, plan.topology.movers(pool.name)
    fetched = [_move(plan, each, pool) for each in data.inputs]
    uploaded = [_move(plan, each, pool)._replace(seconds=each.every_seconds) for each in data.checkpoints]
    uploaded += [_move(plan, each, pool) for each in data.outputs]
    main: dict[str, Any] = {}
    for patch in main_patches(spec, pool):
        main = overlay(main, patch)
    mounts, added = _mounts(spec, main, {each.folder for each in (*fetched, *uploaded)})
    hidden = {each["name"] for each in _volumes(spec, pool) if not each.keys().isdisjoint(("secret", "projected"))}
    state = [{"name": DATA_STATE, "mountPath": DATA_STATE_FOLDER}] if uploaded else []
    security = _security(main.get("securityContext") or {})
    names: list[str] = []
    fetching: list[Manifest] = []
    uploading: list[Manifest] = []
    files = [*map(file_mount, spec.files)]  # one in an output folder is an output
    for scheme, moves in _by_scheme(fetched):
        words = [word for each in moves for word in each.words]
        inside: list[Manifest] = [
            {k: v for k, v in each.items() if k != "readOnly"} for each in _of(mounts, moves, hidden)
        ]
        fetching.append(_container(f"fetch-{scheme}", movers[scheme], ["fetch"], words, inside, security))
    for scheme, moves in _by_scheme(uploaded):
        names.append(f"upload-{scheme}")
        words = [word for each in moves for word in (str(each.seconds), *each.words)]
        inside = [*_of([*mounts, *files], moves, hidden), *state]
        sidecar = _container(names[-1], movers[scheme], ["upload", names[-1]], words, inside, security)
        uploading.append({**sidecar, "restartPolicy": "Always"})
    generated = {
        "initContainers": [*fetching, *before_main(spec), *uploading],
        "containers": [{"name": container_name(spec), **non_empty(volumeMounts=[*added, *state])}],
        **non_empty(
            volumes=[*({"name": each["name"], "emptyDir": {}} for each in (*added[:1], *state)), *volumes(spec)]
        ),
    }
    below = non_empty(initContainers=(pool.template.get("spec") or {}).get("initContainers"))  # it takes precedence too
    own = named_containers(spec.template, container_name(spec))
    again = {*spec.retry_on_exit_codes, *spec.restart_gang_on_exit_codes}  # a failed upload must not repeat the command
    failure = str(min({*range(1, 256)} - again, default=1))
    return spec._replace(
        command=("sh", DATA_SCRIPT, "run", ",".join(names), failure, *spec.command) if names else spec.command,
        files={**spec.files, DATA_SCRIPT: table("kube", "data.sh").replace("# RUN", RUN)},
        init_containers=(),
        sidecars=(),
        template=overlay(overlay({"spec": generated}, {"spec": below}), own),
    )


def _move(plan: Plan, each: Transfer | Checkpoint, pool: Pool) -> Move:
    """The folders of a transfer. rclone's filters match whole paths; `regex` matches their beginnings."""
    scheme, _, rest = data_url(plan, each.url, pool.name).partition("://")
    first, _, folder = re.sub("/+", "/", rest).strip("/").partition("/")
    regex = re.sub("(?<=})}", r"\\}", each.regex)  # two braces would end it
    pattern = f"/{{{{(?:{regex})(?s:.*)}}}}" if regex else ""
    return Move(scheme, REMOTES[scheme](first, folder), each.path.rstrip("/"), pattern)


def _joined(first: str, rest: str) -> str:
    return f"{first}/{rest}" if rest else first


def _endpoint(host: str) -> str:
    return f'endpoint="{host}"' if ":" in host else f"endpoint={host}"


def _region(host: str) -> str:
    """The region in a host of TOS, such as tos-s3-cn-beijing.volces.com."""
    return host.removeprefix("tos-s3-").partition(".")[0]


def _by_scheme(moves: Iterable[Move]) -> Iterator[tuple[str, list[Move]]]:
    """The moves of each scheme, in the order of their first ones."""
    grouped: dict[str, list[Move]] = {}
    for each in moves:
        grouped.setdefault(each.scheme, []).append(each)
    yield from grouped.items()


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _mounts(spec: PodSet, main: Mapping[str, Any], folders: Iterable[str]) -> tuple[list[Manifest], list[Manifest]]:
    """All mounts of the main container that may hold data, and those to add: for folders without a volume."""
    mounts: list[Manifest] = [*(main.get("volumeMounts") or ()), *([shm_mount()] if spec.has_shm else ())]
    added: list[Manifest] = []
    for folder in sorted(folders):
        if not any(_inside(folder, each["mountPath"]) for each in (*mounts, *added)):
            added.append({"name": DATA_FOLDERS, "mountPath": folder, "subPath": folder.strip("/")})
    return [*mounts, *added], added


def _volumes(spec: PodSet, pool: Pool) -> Iterator[Mapping[str, Any]]:
    """The volumes of the podSet and of both templates."""
    return (each for patch in templates(spec, pool) for each in (patch.get("spec") or {}).get("volumes") or ())


def _of(mounts: Iterable[Manifest], moves: Iterable[Move], hidden: Collection[str]) -> list[Manifest]:
    """The mounts of the folders: the innermost one around each, and those inside of it, but no Secrets (`hidden`)."""
    found: dict[str, Manifest] = {}
    for folder in (each.folder for each in moves):
        around = [each for each in mounts if _inside(folder, each["mountPath"])]
        within = [each for each in mounts if _inside(each["mountPath"], folder) and each["name"] not in hidden]
        for each in (max(around, key=lambda mount: len(mount["mountPath"])), *within):
            found[each["mountPath"]] = each
    return list(found.values())


def _security(main: Mapping[str, Any]) -> dict[str, Any]:
    dropped = (main.get("capabilities") or {}).get("drop")
    return {key: main[key] for key in KEPT if key in main} | ({"capabilities": {"drop": dropped}} if dropped else {})


POD_IDENTITY = {"RCLONE_S3_ENV_AUTH": "true", "RCLONE_AZUREBLOB_ENV_AUTH": "true"}
"""Without a Secret, rclone gets credentials from the pod, as of its service account (rclone 1.71, `env_auth`)."""


def _container(
    name: str,
    mover: DataMover,
    mode: list[str],
    words: list[str],
    mounts: Sequence[Manifest],
    security: Mapping[str, Any],
) -> dict[str, Any]:
    variables = {"MOVER": " ".join(mover.command), **({} if mover.secret else POD_IDENTITY)}
    return {
        "name": name,
        "image": mover.image,
        "command": ["sh", DATA_SCRIPT, *mode],
        "args": words,
        "env": [{"name": name, "value": value} for name, value in variables.items()],
        **non_empty(envFrom=[{"secretRef": {"name": mover.secret}}] if mover.secret else []),
        "volumeMounts": [*mounts, file_mount(DATA_SCRIPT)],
        **non_empty(securityContext=security),
    }
