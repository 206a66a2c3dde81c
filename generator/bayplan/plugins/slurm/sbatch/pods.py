"""A step -> the podSet that runs it, as native data."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bayplan.plugin import lifted, quote
from bayplan.plugin import non_empty as without_empty
from bayplan.plugin import text_beside as table
from bayplan.plugins.slurm.sbatch import shell
from bayplan.plugins.slurm.sbatch.body import EXPORTS, Step
from bayplan.plugins.slurm.sbatch.expansion import JOB, MARK, NODE, NODES, RANK, STATUS, TIME
from bayplan.plugins.slurm.sbatch.options import Findings, Position
from bayplan.plugins.slurm.sbatch.programs import base, launches, script
from bayplan.plugins.slurm.sbatch.shape import Options, Shape, UsedOption
from bayplan.plugins.slurm.sbatch.shell import Statement, UnreadableError, Word, statements

# Images and mounts in the syntax of pyxis (pyxis 0.20, enroot 3.5) -> those of Kubernetes.

_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*")


class Image(NamedTuple):
    """An image that a kubelet can pull, or the reason why it cannot."""

    name: str
    user: str = ""  # enroot selects credentials by it
    why: str = ""


def image(text: str) -> Image:
    """`docker://USER@REGISTRY#IMAGE:TAG`, where all but the image may be left out."""
    scheme, colon, rest = text.partition("://")
    if colon and scheme not in ("docker",):
        return Image("", why=f"{scheme}:// refers to an image that is stored on a node")
    rest = rest if colon else text
    if not colon and (rest.startswith(("/", "./", "../", "~")) or rest.endswith((".sqsh", ".sqfs", ".squashfs"))):
        return Image("", why="only enroot reads squashfs files")
    user, at, name = rest.partition("@")
    if not at or name.startswith("sha256:") or "/" in user or "#" in user or ":" in user:
        user, name = "", rest
    name = name.replace("#", "/", 1)
    return Image(name, user) if _REFERENCE.fullmatch(name) else Image("", why="it is not a valid image name")


class Mount(NamedTuple):
    """A directory or file of the node, and its path in the container."""

    source: str
    target: str
    read_only: bool = False


def mounts(text: str) -> tuple[Mount, ...] | None:
    """`/data:/data:ro,/scratch`. None: not a list of mounts."""
    result = []
    for part in text.split(","):
        source, *rest = part.split(":")
        target = rest[0] if rest and rest[0] else source
        flags = "+".join(rest[1:]).split("+")
        if not source.startswith("/") or not target.startswith("/") or len(rest) > 2 or ".." in part.split("/"):
            return None
        result.append(Mount(source.rstrip("/") or "/", target.rstrip("/") or "/", "ro" in flags))
    return tuple(result)


# Scripts that bayplan wrote itself (`backends/slurm/tasks.py`) become the same podSets again.
#
# The shell code of a task exports the rendezvous and the podSet's env, and then executes its command. If podSets share
# a section, it checks its number first.

LABELS = re.compile(r"bayplan\.dev/workflow=([^,]+),bayplan\.dev/gang=([^,]+)")
HOST = "HOST_"
"""The prefix of variables for other pods (`kube/kinds/sbatch.py`)."""

TORCH = ("MASTER_ADDR", "MASTER_PORT", "NNODES", "NODE_RANK")
ALWAYS = ("GROUP_INDEX", "GROUP_COUNT", "GROUP_SIZE", "JOB_COMPLETION_INDEX")
_PLACE = re.compile(r'^(?:(?:if|elif) \[ "\$place" -lt ([0-9]+) \]; then|else)  # (.+)$', re.MULTILINE)
_PERIOD = re.compile(r"^place=\$\(\(SLURM_PROCID % ([0-9]+)\)\)$", re.MULTILINE)
_SECTION = re.compile(r"^# (?:section ([0-9]+): )?(.+?) in pool ([a-z0-9-]+)(?:,.*)?$", re.MULTILINE)
_PODS = re.compile(r"(?<![0-9])([0-9]+) ([a-z0-9][-a-z0-9]*)")
_AGAIN = re.compile(r'SLURM_RESTART_COUNT:-0\}" -lt ([0-9]{1,9}) \]')
_LED = re.compile(r'case " ([0-9 ]+) " in')
_IGNORED = re.compile(r'^echo "[0-9]+ 0" >&3$', re.MULTILINE)


class PodSetBranch(NamedTuple):
    """One podSet of a section: its number of tasks in a period, and their command."""

    name: str
    pods: int
    env: Mapping[str, str]
    command: tuple[str, ...]
    ranked: bool


class ScriptComments(NamedTuple):
    """Properties of the workflow in the comments and the shell code around the steps."""

    pods: tuple[tuple[tuple[str, int], ...], ...] = ()  # of each step: podSets with their pods
    pools: Mapping[int, str] = {}
    restarts: int = 0
    lead: int | None = None  # the step
    ignores_failures: bool = False  # of other steps


def remarks(comments: str, text: str) -> ScriptComments:
    """The properties in the comments below the directives and in the body."""
    pods: list[tuple[tuple[str, int], ...]] = []
    pools = {}
    for match in _SECTION.finditer(comments):
        pools[int(match[1] or 0)] = match[3]
        for step in re.split(r", (?=[0-9])", re.sub(r", [0-9]+ on a node$", "", match[2])):
            pods.append(tuple((name, int(number)) for number, name in _PODS.findall(step.rpartition("(")[2])))
    again, lead = _AGAIN.search(text), _LED.search(text)
    restarts, led = int(again[1]) if again else 0, int(lead[1].split()[0]) if lead else None
    return ScriptComments(tuple(pods), pools, restarts, led, bool(_IGNORED.search(text)))


def branches(text: str, names: tuple[tuple[str, int], ...]) -> tuple[PodSetBranch, ...] | None:
    """The podSets of a task's shell code. None: not in the form that bayplan writes."""
    try:
        blocks = statements(text)
    except UnreadableError:
        return None
    parts: list[list[Statement]] = [[]]
    for each in (each for block in blocks for each in (block.inner if block.opened == "if" else (block,))):
        if each.words and each.name in ("export", "exec"):
            parts[-1].append(each)
            parts += [[]] if each.name == "exec" else []
    parts = [part for part in parts if part]
    labels = [label[1] for label in _PLACE.findall(text)] or [names[0][0] if names else "worker"]
    if len(parts) != len(labels) or not all(part[-1].name == "exec" for part in parts):
        return None
    counts = [0] * len(labels)
    if period := _PERIOD.search(text):
        ends = [int(end) for end, _ in _PLACE.findall(text) if end] + [int(period[1])]
        counts = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    return tuple(_branch(part, name, count) for part, name, count in zip(parts, labels, counts, strict=True))


def _branch(part: list[Statement], name: str, count: int) -> PodSetBranch:
    env: dict[str, str] = {}
    for each in part[:-1]:
        for word in each.words[1:]:
            if assignment := shell.ASSIGNMENT.match(word.raw):
                env[assignment[1]] = kubernetes_text(word)[len(assignment[0]) :]
    torch_variables = {f"PET_{each}" for each in TORCH if env.get(f"PET_{each}") == f"$({each})"}
    own_variables = {*ALWAYS, *torch_variables, *(each.removeprefix("PET_") for each in torch_variables)}
    words = [kubernetes_text(word) for word in part[-1].words[1:]]
    if words[:1] == ["env"]:
        words.pop(0)
        while words and re.match(r"[^=\s]+=", words[0]):
            key, _, value = words.pop(0).partition("=")
            env[key] = value
    kept = {key: value for key, value in env.items() if key not in own_variables}
    return PodSetBranch(name, count, kept, tuple(words), "GROUP_COUNT" in env)


def kubernetes_text(word: Word) -> str:
    """A word with variables as `$(NAME)` of Kubernetes, and the rest escaped."""
    variables = (shell.VARIABLE, shell.BRACE)
    return "".join(
        escaped(piece.text) if piece.kind == shell.TEXT else f"$({piece.text})" if piece.kind in variables else ""
        for piece in word.pieces
    )


def escaped(text: str) -> str:
    """The string with `$(` and `$$` escaped, which Kubernetes expands in commands, arguments and variables."""
    return re.sub(r"\$(?=[$(]|\Z)", "$$", text) if "$" in text else text


_VARIABLES = tuple(csv.DictReader(table("plugins", "slurm", "sbatch", "task_variables.csv").splitlines()))
TASK = {row["name"]: row["task"] for row in _VARIABLES}
"""Slurm variables of a task, as variables of a pod: each pod is a node with one task."""

MPI_TASK = {row["name"]: row["rank"] or row["task"] for row in _VARIABLES}
"""The same of a task that mpirun starts."""

COMMON_TASK_VARIABLES = ("SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_NNODES")
"""Variables that programs without a launcher read."""

_SLURM_VARIABLES = re.compile(r"\bSLURM_\w+|\bSLURMD_NODENAME\b")


class Names(NamedTuple):
    """The values of marks: the workflow's name, and for each node the placeholder of a pod's address."""

    workflow: str
    nodes: Mapping[str, str] = {}  # "0.3" -> $(MASTER_ADDR) or @node-3@


class MarkResolver:
    """Replaces marks in strings, and records which ones it replaced."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.used: set[str] = set()
        self.job = self.time = False

    def plain(self, text: str) -> str:
        """The string with marks replaced and the syntax of Kubernetes escaped."""
        parts, end = [], 0
        for match in MARK.finditer(text):
            parts += [escaped(text[end : match.start()]), self._mark_text(match[1], match[2])]
            end = match.end()
        return "".join([*parts, escaped(text[end:])])

    def _mark_text(self, kind: str, which: str) -> str:
        if kind in (JOB, TIME):
            self.job |= kind == JOB
            self.time |= kind == TIME
            return self.names.workflow
        if kind == NODE:
            self.used.add(which)
            return self.names.nodes.get(which, f"@node-{which.replace('.', '-')}@")
        return "0" if kind in (RANK, STATUS) else ""


OWN = ("NODE_RANK", "NNODES")
"""Variables of a pod from which it computes those of Slurm."""


def known_variables(job: Mapping[str, str], shape: Shape) -> dict[str, str]:
    """Slurm's variables of a task that are the same in all pods, as words of a shell. `job`: those of the job."""
    amounts = {"SLURM_CPUS_PER_TASK": shape.cpus, "SLURM_GPUS_ON_NODE": shape.gpus, "SLURM_CPUS_ON_NODE": shape.cpus}
    values = {**job, **{name: str(number) for name, number in amounts.items() if number}}
    return {name: quote(value) for name, value in values.items() if f"\0{NODES}:" not in value}


def command(
    step: Step, shape: Shape, slots: int, tasks: int, ranked: bool, job: Mapping[str, str], findings: Findings
) -> tuple[list[str], Mapping[str, str]]:
    """The words of every pod, after the shell lines that it needs, and the variables that the lines set, because a pod
    has others of these names. W616, W623: variables without a value.

    `ranked`: each pod gets its rank among the `tasks` of the step. `slots`: mpirun starts that many ranks in each pod.
    """
    if step.launch and not ranked:
        message = "mpirun needs pods with ranks, but only the pods with GPUs of this gang have ranks"
        findings.error("W623", step.spot, message, "make the steps separate jobs")
    if step.launch and step.launch.words:
        _report_variables(_SLURM_VARIABLES.findall(" ".join(step.command)), {}, step, findings)
        return list(step.command), {}
    places = MPI_TASK if step.launch else TASK
    values = {**known_variables(job, shape), **places}
    words = list(step.command)
    at = script(step.command)
    named = _SLURM_VARIABLES.findall("\n".join([*step.before, words[at] if at is not None else ""]))
    used = _report_variables(named, values, step, findings)
    if not ranked and (lost := [name for name in used if name in places]):
        message = f"the task reads ${lost[0]}, but only the pods with GPUs of this gang have ranks"
        findings.error("W623", step.spot, message, "make the steps separate jobs")
        return words, {}
    if at is None and not launches(step.command) and tasks * max(slots, 1) > 1 and ranked:
        used = COMMON_TASK_VARIABLES
    if not ranked and tasks > 1:
        message = f"the {tasks} tasks without GPUs have no ranks: only the pods with GPUs of this gang have ranks"
        hint = "if these tasks read their rank, make the steps separate jobs"
        findings.warning("W616", step.spot, message, hint)
    exports = ["export " + " ".join(f"{name}={values[name]}" for name in used)] if used else []
    moved = {name: step.env[name] for name in OWN if used and name in step.env}
    exports += [f"export {name}={quote(value)}" for name, value in moved.items()]
    if not step.launch:
        return _after([*step.before, *exports], words, at), moved
    ranks = ["--map-by", f"ppr:{slots}:node", "--bind-to", "none"]  # srun binds no task to single cores by default
    return ["mpirun", "-np", str(shape.tasks * slots), *ranks, *_after(exports, words, at)], moved


def _report_variables(
    names: Sequence[str], values: Mapping[str, str], step: Step, findings: Findings
) -> tuple[str, ...]:
    """Those of Slurm's variables in a command that pods can set. W616: the others."""
    own = [name for name in dict.fromkeys(names) if name not in step.env]
    for name in (each for each in own if each not in values):
        hint = f"set it in the script: export {name}=VALUE"
        findings.warning("W616", step.spot, f"the task reads ${name}, which only Slurm sets", hint)
    return tuple(name for name in own if name in values)


def _after(lines: list[str], words: list[str], at: int | None) -> list[str]:
    """A command after lines of shell; `at`: the word of the command that is a script."""
    if not lines:
        return words
    shell_name = "bash" if any(f"\n{EXPORTS} " in line for line in lines) else "sh"
    if at is not None and (shell_name == "sh" or base(words[0]) == "bash"):
        words[at] = "\n".join([*lines, words[at]])
        return words
    return [shell_name, "-c", "; ".join([*lines, 'exec "$@"']), shell_name, *words]


def container(
    options: Options, fallback: str, folder: str, site: Mapping[str, Any], findings: Findings, where: Position
) -> dict[str, Any]:
    """Image and template of a step. W600, W310, W612."""
    name = fallback
    if option := options.get("container-image"):
        parsed = image(site.get("images", {}).get(option.value, option.value))
        name = fallback or parsed.name or site.get("image", "")
        if not name:
            hint = "push it to a registry, and set it with --set image=IMAGE"
            findings.error("W310", option.spot, f'a kubelet cannot pull "{option.value}": {parsed.why}', hint)
        elif parsed.user:
            hint = "import the script, and set `imagePullSecrets`"
            message = f'bayplan drops the registry user "{parsed.user}": kubelets pull with Secrets'
            findings.warning("W604", option.spot, message, hint)
    elif not fallback:
        name = site.get("image", "")
        if not name:
            hint = "add --container-image=IMAGE to the srun line, or use --set image=IMAGE"
            findings.error("W310", where, "the tasks have no image: they use the software of Slurm's nodes", hint)
    main = dict(_template(options, folder, site.get("mounts", {}), findings))
    image_field = {"image": name} if name or "container-image" in options else {}
    if not main:
        return image_field
    volumes = {"volumes": main.pop("volumes")} if "volumes" in main else {}
    return lifted({**image_field, "template": {"spec": {"containers": [main], **volumes}}})[0]


def _template(
    options: Options, folder: str, volumes: Mapping[str, Any], findings: Findings
) -> Iterator[tuple[str, Any]]:
    option = options.get("container-workdir")
    if folder := option.value if option else folder:
        yield "workingDir", folder
    if "container-readonly" in options:
        yield "securityContext", {"readOnlyRootFilesystem": True}
    option = options.get("container-mounts")
    host_paths = mounts(option.value) if option and option.value else ()
    if option and host_paths is None:
        message = f'--container-mounts: "{option.value}" is not a list of absolute paths such as /data:/data:ro'
        findings.error("W600", option.spot, message, "write absolute paths without `..`")
    taken = {each.target for each in host_paths or ()}
    everywhere = [Mount(path, path) for path in volumes if path not in taken]
    if wanted := [*(host_paths or ()), *everywhere]:
        yield from _mounts(option, wanted, volumes, findings)


def _mounts(
    option: UsedOption | None, wanted: Sequence[Mount], volumes: Mapping[str, Any], findings: Findings
) -> Iterator[tuple[str, Any]]:
    """Mounts of directories of the nodes: from the site's volumes, or else from the node. W612."""
    mounted, sources = [], dict[str, Mapping[str, Any]]()
    names = {path: f"site-{number}" for number, path in enumerate(volumes)}
    for number, each in enumerate(wanted):
        path = next((path for path in volumes if each.source == path or each.source.startswith(f"{path}/")), "")
        name = names[path] if path else f"host-{number}"
        sources[name] = volumes[path] if path else {"hostPath": {"path": each.source}}
        below = each.source.removeprefix(path).strip("/") if path else ""
        mount = {"name": name, "mountPath": each.target, "subPath": below, "readOnly": each.read_only}
        mounted.append({key: value for key, value in mount.items() if value})
    yield "volumeMounts", mounted
    yield "volumes", [{**source, "name": name} for name, source in sources.items()]
    folders = ", ".join(dict.fromkeys(source["hostPath"]["path"] for name, source in sources.items() if name[0] == "h"))
    if option and folders:
        message = f"pods mount {folders} from their nodes (hostPath), so the nodes must have these paths"
        hint = "if the data is elsewhere, import the script, and mount a PersistentVolumeClaim in `volumes` instead"
        findings.warning("W612", option.spot, message, hint)


def amounts(shape: Shape, whole: bool) -> dict[str, Any]:
    """Accelerator and resources of a pod."""
    return without_empty(
        accelerator=without_empty(count=shape.gpus),
        resources=without_empty(
            **{"cpu": str(shape.cpus or ""), "memory": shape.memory, "ephemeral-storage": shape.scratch}
        ),
        wholeNode=whole,
    )


def label(text: str, fallback: str) -> str:
    """A DNS label from a name: lowercase letters, digits and hyphens, a letter first, at most 40 characters."""
    result = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    result = f"{fallback}-{result}" if result[:1].isdigit() else result
    return result[:40].strip("-") or fallback


def step_name(step: Step) -> str:
    """The name of a step: its job name, or its program."""
    if option := step.options.get("job-name"):
        return label(option.value, "step")
    name = base(step.command[0])
    return label(name.removesuffix(".sh").removesuffix(".py"), "step")
