"""Every option of sbatch and srun (Slurm 25.11, `man sbatch`, `man srun`) and of pyxis 0.20, and what becomes of it.

READ      carried into the workflow
KEPT      kept in the gang's `backends: {slurm: ...}`; other schedulers have nothing for it
NOTHING   it is about Slurm's own ways or about what is printed: nothing is lost without it
LOST      nothing carries it, and the job runs all the same: a warning
REFUSED   without it the job would be another one: an error
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.core.diagnostics import AT, Diagnostic, Route, error, info, warning
from bayplan.core.values import NamedTuple

READ, KEPT, NOTHING, LOST, REFUSED = "read", "kept", "nothing", "lost", "refused"
VALUE, FLAG, MAYBE = "value", "flag", "maybe"
"""Whether a value follows: always, never, or only after an equals sign."""


class Option(NamedTuple):
    """One option. `short` is its letter; `why` and `hint` tell what a warning or an error says."""

    name: str
    short: str
    takes: str
    does: str
    why: str = ""
    hint: str = ""


_NODES = "Slurm's names of nodes are not a placement"
_CORES = "which cores and sockets a pod gets is the business of the kubelet's CPU manager"
_WISHES = "say it with levels, `placement` and pools"

BOTH = (
    Option("account", "A", VALUE, KEPT),
    Option("acctg-freq", "", VALUE, NOTHING),
    Option("bcast", "", MAYBE, REFUSED, "no file is copied to other nodes", "put the program into the image"),
    Option("begin", "b", VALUE, LOST, "nothing waits for a time of the day", "create the objects at that time"),
    Option("chdir", "D", VALUE, READ),
    Option("cluster-constraint", "", VALUE, LOST, "a topology file is one cluster"),
    Option("clusters", "M", VALUE, LOST, "a topology file is one cluster", "choose it with -t"),
    Option("comment", "", VALUE, KEPT),
    Option("compress", "", MAYBE, NOTHING),
    Option("consolidate-segments", "", FLAG, READ),
    Option("constraint", "C", VALUE, KEPT, "features of nodes are known to Slurm alone", "choose a pool"),
    Option("container", "", VALUE, REFUSED, "an OCI bundle is a folder of a node", "use --container-image of pyxis"),
    Option("container-id", "", VALUE, NOTHING),
    Option("contiguous", "", FLAG, LOST, _NODES, _WISHES),
    Option("core-spec", "S", VALUE, LOST, _CORES),
    Option("cores-per-socket", "", VALUE, LOST, _CORES),
    Option("cpu-bind", "", VALUE, LOST, _CORES),
    Option("cpu-freq", "", VALUE, LOST, "pods cannot set the clock of their cores"),
    Option("cpus-per-gpu", "", VALUE, READ),
    Option("cpus-per-task", "c", VALUE, READ),
    Option("deadline", "", VALUE, LOST, "nothing is removed at a time of the day", "--time limits how long it runs"),
    Option("delay-boot", "", VALUE, NOTHING),
    Option("dependency", "d", VALUE, READ),
    Option("distribution", "m", VALUE, READ),
    Option("error", "e", VALUE, KEPT),
    Option("exclude", "x", VALUE, KEPT, "only Slurm knows these names", "mark the nodes as `unusable` in the topology"),
    Option("exclusive", "", MAYBE, READ),
    Option("export", "", VALUE, READ),
    Option("extra", "", VALUE, NOTHING),
    Option("extra-node-info", "B", VALUE, LOST, _CORES),
    Option("gid", "", VALUE, LOST, "a user of the cluster is not one of the image", "set `runAsGroup` in `template`"),
    Option("gpu-bind", "", VALUE, LOST, "a pod sees its own GPUs and no others"),
    Option("gpu-freq", "", VALUE, LOST, "pods cannot set the clock of their GPUs"),
    Option("gpus", "G", VALUE, READ),
    Option("gpus-per-node", "", VALUE, READ),
    Option("gpus-per-socket", "", VALUE, REFUSED, "sockets are not counted", "write --gpus-per-node"),
    Option("gpus-per-task", "", VALUE, READ),
    Option("gres", "", VALUE, READ),
    Option("gres-flags", "", VALUE, LOST, _CORES),
    Option("help", "h", FLAG, NOTHING),
    Option("hint", "", VALUE, LOST, _CORES),
    Option("hold", "H", FLAG, LOST, "nothing is created on hold", "create the objects when they may start"),
    Option("input", "i", VALUE, REFUSED, "no file is fed to the tasks", "let the command read it"),
    Option("job-name", "J", VALUE, READ),
    Option("licenses", "L", VALUE, KEPT, "only Slurm counts licenses", "limit the queue instead"),
    Option("mail-type", "", VALUE, NOTHING),
    Option("mail-user", "", VALUE, NOTHING),
    Option("mcs-label", "", VALUE, NOTHING),
    Option("mem", "", VALUE, READ),
    Option("mem-bind", "", VALUE, LOST, _CORES),
    Option("mem-per-cpu", "", VALUE, READ),
    Option("mem-per-gpu", "", VALUE, READ),
    Option("mincpus", "", VALUE, LOST, "nodes are chosen by what their pods ask for", "write --cpus-per-task"),
    Option("network", "", VALUE, READ),
    Option("nice", "", MAYBE, LOST, "priorities are classes of the cluster", "set `priorityClassName`"),
    Option("no-kill", "k", MAYBE, LOST, "a pod that fails ends its gang"),
    Option("no-requeue", "", FLAG, READ),
    Option("nodefile", "F", VALUE, REFUSED, _NODES, _WISHES),
    Option("nodelist", "w", VALUE, READ),
    Option("nodes", "N", VALUE, READ),
    Option("ntasks", "n", VALUE, READ),
    Option("ntasks-per-core", "", VALUE, LOST, _CORES),
    Option("ntasks-per-gpu", "", VALUE, READ),
    Option("ntasks-per-node", "", VALUE, READ),
    Option("ntasks-per-socket", "", VALUE, LOST, _CORES),
    Option("oom-kill-step", "", MAYBE, NOTHING),
    Option("open-mode", "", VALUE, NOTHING),
    Option("output", "o", VALUE, KEPT),
    Option("overcommit", "O", FLAG, LOST, "pods get the CPUs that they ask for", "ask for fewer with --cpus-per-task"),
    Option("oversubscribe", "s", FLAG, NOTHING),
    Option("partition", "p", VALUE, READ),
    Option("power", "", VALUE, NOTHING),
    Option("prefer", "", VALUE, LOST, "features of nodes are known to Slurm alone", "choose a pool"),
    Option("priority", "", VALUE, LOST, "priorities are classes of the cluster", "set `priorityClassName`"),
    Option("profile", "", VALUE, NOTHING),
    Option("propagate", "", MAYBE, LOST, "limits of the login node stay there", "set them in the command"),
    Option("qos", "q", VALUE, KEPT),
    Option("quiet", "Q", FLAG, NOTHING),
    Option("reboot", "", FLAG, LOST, "nodes are not started anew for a pod"),
    Option("reservation", "", VALUE, KEPT, "only Slurm knows its reservations", "choose a pool or a queue"),
    Option("resv-ports", "", MAYBE, LOST, "each pod has ports of its own"),
    Option("segment", "", VALUE, READ),
    Option("signal", "", VALUE, LOST, "no signal comes before the limit", "catch SIGTERM, which a pod gets at its end"),
    Option("sockets-per-node", "", VALUE, LOST, _CORES),
    Option("spread-job", "", FLAG, LOST, "the scheduler decides how pods spread"),
    Option("spread-segments", "", FLAG, READ),
    Option("stepmgr", "", FLAG, NOTHING),
    Option("switches", "", VALUE, READ),
    Option("thread-spec", "", VALUE, LOST, _CORES),
    Option("threads-per-core", "", VALUE, LOST, _CORES),
    Option("time", "t", VALUE, READ),
    Option("time-min", "", VALUE, LOST, "a limit is one number", "--time is what counts"),
    Option("tmp", "", VALUE, READ),
    Option("tres-bind", "", VALUE, LOST, "a pod sees its own GPUs and no others"),
    Option("tres-per-task", "", VALUE, READ),
    Option("uid", "", VALUE, LOST, "a user of the cluster is not one of the image", "set `runAsUser` in `template`"),
    Option("usage", "", FLAG, NOTHING),
    Option("use-min-nodes", "", FLAG, NOTHING),
    Option("verbose", "v", FLAG, NOTHING),
    Option("version", "V", FLAG, NOTHING),
    Option("wait-all-nodes", "", VALUE, NOTHING),
    Option("wckey", "", VALUE, KEPT),
    Option("container-image", "", VALUE, READ),
    Option("container-mounts", "", VALUE, READ),
    Option("container-workdir", "", VALUE, READ),
    Option("container-name", "", VALUE, LOST, "no container outlives its pod", "put what it holds into the image"),
    Option("container-save", "", VALUE, REFUSED, "no image is written", "build the image beforehand"),
    Option("container-image-save", "", VALUE, REFUSED, "no image is written", "build the image beforehand"),
    Option("container-env", "", VALUE, NOTHING),
    Option("container-mount-home", "", FLAG, LOST, "there is no home folder on the nodes", "mount one with `template`"),
    Option("no-container-mount-home", "", FLAG, NOTHING),
    Option("container-remap-root", "", FLAG, LOST, "the image says who runs it", "set `runAsUser` in `template`"),
    Option("no-container-remap-root", "", FLAG, NOTHING),
    Option("container-writable", "", FLAG, NOTHING),
    Option("container-readonly", "", FLAG, READ),
    Option("container-entrypoint", "", FLAG, READ),
    Option("no-container-entrypoint", "", FLAG, NOTHING),
    Option("container-entrypoint-log", "", FLAG, NOTHING),
)
"""What directives and srun lines both may have."""

SBATCH = (
    Option("array", "a", VALUE, READ),
    Option("batch", "", VALUE, LOST, "rank 0 is a pod like the others"),
    Option("bb", "", VALUE, REFUSED, "burst buffers are Slurm's", "mount the data with `template`"),
    Option("bbf", "", VALUE, REFUSED, "burst buffers are Slurm's", "mount the data with `template`"),
    Option("export-file", "", VALUE, REFUSED, "the file is not read", "write its variables with --export"),
    Option("get-user-env", "", MAYBE, NOTHING),
    Option("ignore-pbs", "", FLAG, NOTHING),
    Option("kill-on-invalid-dep", "", VALUE, NOTHING),
    Option("parsable", "", FLAG, NOTHING),
    Option("requeue", "", FLAG, READ),
    Option("test-only", "", FLAG, NOTHING),
    Option("wait", "W", FLAG, NOTHING),
    Option("wrap", "", VALUE, REFUSED, "a script has a body already", "write the command into the body"),
)
"""What only directives may have."""

SRUN = (
    Option("disable-status", "X", FLAG, NOTHING),
    Option("epilog", "", VALUE, REFUSED, "nothing runs before or after a task", "put it into the command"),
    Option("exact", "", FLAG, NOTHING),
    Option("external-launcher", "", FLAG, REFUSED, "nothing launches tasks in a step", "let srun start the program"),
    Option("het-group", "", VALUE, READ),
    Option("immediate", "I", MAYBE, NOTHING),
    Option("interactive", "", FLAG, REFUSED, "nobody sits in front of a pod", "leave it out"),
    Option("jobid", "", VALUE, NOTHING),
    Option("kill-on-bad-exit", "K", MAYBE, NOTHING),
    Option("label", "l", FLAG, NOTHING),
    Option("mpi", "", VALUE, READ),
    Option("msg-timeout", "", VALUE, NOTHING),
    Option("multi-prog", "", FLAG, REFUSED, "the file that it names is not read", "write a step for each program"),
    Option("overlap", "", FLAG, READ),
    Option("preserve-env", "E", FLAG, NOTHING),
    Option("prolog", "", VALUE, REFUSED, "nothing runs before or after a task", "put it into the command"),
    Option("pty", "", MAYBE, REFUSED, "nobody sits in front of a pod", "leave it out"),
    Option("relative", "r", VALUE, READ),
    Option("send-libs", "", MAYBE, NOTHING),
    Option("slurmd-debug", "", VALUE, NOTHING),
    Option("task-epilog", "", VALUE, REFUSED, "nothing runs before or after a task", "put it into the command"),
    Option("task-prolog", "", VALUE, REFUSED, "nothing runs before or after a task", "put it into the command"),
    Option("threads", "T", VALUE, NOTHING),
    Option("unbuffered", "u", FLAG, NOTHING),
    Option("wait", "W", VALUE, NOTHING),
    Option("whole", "", FLAG, NOTHING),
    Option("x11", "", MAYBE, REFUSED, "pods have no display", "leave it out"),
)
"""What only srun may have."""

DIRECTIVES: Mapping[str, Option] = {each.name: each for each in (*BOTH, *SBATCH)}
STEPS: Mapping[str, Option] = {each.name: each for each in (*BOTH, *SRUN)}


def letters(table: Mapping[str, Option]) -> dict[str, Option]:
    """Letter -> option."""
    return {each.short: each for each in table.values() if each.short}


ALIASES: Mapping[str, str] = {"workdir": "chdir", "share": "oversubscribe", "jobname": "job-name"}
"""What older versions called them."""


# Where something stands in a script, and what is said about it.

SUBJECT = "workflow"


class Spot(NamedTuple):
    """Line and column, both from 1."""

    line: int = 1
    column: int = 1

    @property
    def route(self) -> Route:
        """For a diagnostic."""
        return (SUBJECT, AT, self.line, self.column)


class Findings:
    """What was found so far, each once."""

    def __init__(self) -> None:
        self.found: dict[Diagnostic, None] = {}

    def error(self, code: str, spot: Spot, message: str, hint: str = "") -> None:
        """Something that cannot be carried, and must be."""
        self.found[error(code, spot.route, message, hint=hint)] = None

    def warning(self, code: str, spot: Spot, message: str, hint: str = "") -> None:
        """Something that is lost."""
        self.found[warning(code, spot.route, message, hint=hint)] = None

    def info(self, code: str, spot: Spot, message: str, hint: str = "") -> None:
        """Something worth knowing."""
        self.found[info(code, spot.route, message, hint=hint)] = None

    def all(self) -> tuple[Diagnostic, ...]:
        """In the order found."""
        return tuple(self.found)
