"""The documents of a plan: the script of its only gang, or a script that submits all gangs in order.

A script has `#SBATCH` lines, the names of its nodes, and a step for each section. A task is a pod. The node and rank of
each task follow only from SLURM_PROCID, by the formula that all schedulers share. Slurm numbers the nodes of a job, and
`--distribution=block` numbers the tasks on them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator

from bayplan.plugin import (
    GANG_INDEX,
    GANG_LABEL,
    WORKFLOW_LABEL,
    Binary,
    File,
    GangPlan,
    Lowered,
    Marks,
    Plan,
    Pods,
    Shape,
    Target,
    Volume,
    all_pods,
    edit_plan,
    file_key,
    gang_queue,
    hides_failures,
    mpi_slots,
    quote,
    settings,
    table_of_rows,
)
from bayplan.plugins.slurm.backend.jobs import Job, Section, Step, amounts, is_exclusive, jobs
from bayplan.plugins.slurm.backend.tasks import common_master, here_document, host_nodes, master_lists, task


def lower(plan: Plan, shape: Shape, target: Target) -> Lowered:
    """One file; no marks, because there are no Kubernetes objects."""
    plan = with_network_env(plan)
    marks = {(gang.name, pods.name): Marks() for gang in plan.gangs for pods in all_pods(gang.root)}
    texts = {job.gang.name: script(plan, job) for job in jobs(plan, target)}
    if len(plan.gangs) == 1:
        (name,) = texts
        return Lowered((File(f"{name}.sbatch", texts[name], _cancel(texts)),), marks)
    text = "".join(f"{line}\n" for line in _submitting(plan, texts))
    backwards = [gang.name for gang in reversed(_by_dependency(plan.gangs))]
    return Lowered((File(f"{plan.workflow.name}.sh", text, _cancel(backwards)),), marks)


def with_network_env(plan: Plan) -> Plan:
    """The plan with the NCCL and Gloo variables for the cards of the nodes. Variables of the user take precedence."""
    if not any(pods.spec.fabric for gang in plan.gangs for pods in all_pods(gang.root)):
        return plan
    from bayplan.plugin import fabric_request, on_node

    def with_env(pods: Pods) -> Pods:
        network_request = fabric_request(pods.spec, plan.topology, plan.namespace, pods.pool)
        if network_request is None:
            return pods
        return pods._replace(spec=pods.spec._replace(env={**on_node(network_request), **pods.spec.env}))

    return edit_plan(plan, pods=with_env)


def _cancel(names: Iterable[str]) -> tuple[str, ...]:
    """Cancels the user's own jobs with these names; scancel ignores finished jobs (Slurm, `man scancel`)."""
    return tuple(f"scancel --me --name={name}" for name in names)


def _submitting(plan: Plan, texts: dict[str, str]) -> Iterator[str]:
    yield "#!/bin/bash"
    yield f"# Submits the {len(texts)} jobs of {plan.workflow.name}, and prints their numbers. Run it with bash."
    yield "set -euo pipefail"
    for gang in _by_dependency(plan.gangs):
        text = texts[gang.name]
        end = here_document(text, "SBATCH")
        variable = _variable(gang.name)
        after = ":".join(map(_number, gang.after))
        ended = [f"afterok:{after}"] if after else []
        ended += [f"afterany:{_number(gang.previous)}"] if gang.previous else []
        waits = f' --dependency="{",".join(ended)}"' if ended else ""
        waits += " --kill-on-invalid-dep=yes" if after else ""
        yield ""
        yield f"IFS= read -r -d '' script <<'{end}' || true"
        yield text.removesuffix("\n")
        yield end
        yield f'{variable}=$(sbatch --parsable{waits} <<< "$script")'
        yield f'echo "{gang.name} {_number(gang.name)}"'


def _number(name: str) -> str:
    """The number of a submitted job: `sbatch --parsable` prints it before the cluster's name."""
    return f"${{{_variable(name)}%%;*}}"


def _variable(name: str) -> str:
    return "job_" + re.sub(r"[^A-Za-z0-9]", "_", name)


def _by_dependency(gangs: tuple[GangPlan, ...]) -> list[GangPlan]:
    """Gangs that others wait for first, otherwise in the order of the file."""
    done: dict[str, GangPlan] = {}
    waiting = list(gangs)
    while waiting:
        ready = next((gang for gang in waiting if all(name in done for name in gang.after)), waiting[0])
        waiting.remove(ready)
        done[ready.name] = ready
    return list(done.values())


# The script of one job

TEXT_OPTIONS = ("account", "qos", "reservation", "constraint", "exclude", "licenses", "wckey", "output", "error")
"""Settings of `backends: {slurm: ...}` that sbatch has under the same name."""

FIRST_ONLY = ("output", "error", "licenses")
"""Options that only the first section of a heterogeneous job may carry (`man sbatch`, heterogeneous jobs)."""


def script(plan: Plan, job: Job) -> str:
    """The whole sbatch script."""
    lines = ["#!/bin/bash", *_options(plan, job), *_comments(job), "set -euo pipefail", "", *_variables(job.gang)]
    lines += _hosts(job)
    lines += _restarts(job)
    for number, section in enumerate(job.sections):
        lines += _files(job, section, number)
    for number, step in enumerate(job.steps):
        lines += _step(job, step, number)
    lines += _wait(job)
    return "".join(f"{line}\n" for line in lines)


def _variables(gang: GangPlan) -> Iterator[str]:
    """The variables of the copy that the job or the task of the array is."""
    index = {GANG_INDEX: '"$SLURM_ARRAY_TASK_ID"'} if gang.copies > 1 else {}
    values = {**index, **{name: quote(value) for name, value in gang.variables.items()}}
    if values:
        yield f"export {' '.join(f'{name}={word}' for name, word in values.items())}"
    if gang.copies > 1 and gang.gang.rows:
        (table,) = table_of_rows("SLURM_ARRAY_TASK_ID", gang.gang.rows, sys.maxsize)
        yield table.removesuffix("\n")
    if values:
        yield ""


def _options(plan: Plan, job: Job) -> Iterator[str]:
    for number, section in enumerate(job.sections):
        if number:
            yield "#SBATCH hetjob"
        else:
            yield f"#SBATCH --job-name={job.gang.name}"
            yield f"#SBATCH --comment={_comment(plan, job)}"
            if job.gang.copies > 1:
                yield f"#SBATCH --array=0-{job.gang.copies - 1}{_at_once(job.gang)}"
        for option in (*_accounting_options(plan, job, section, number), *_resource_options(job, number)):
            yield f"#SBATCH {option}"
        if not number:
            yield from (f"#SBATCH {option}" for option in _lifetime_options(job))


def _at_once(gang: GangPlan) -> str:
    """How many tasks of an array run at the same time (`man sbatch`, --array)."""
    return f"%{gang.gang.at_once}" if gang.gang.at_once else ""


def _comment(plan: Plan, job: Job) -> str:
    labels = f"{WORKFLOW_LABEL}={plan.workflow.name},{GANG_LABEL}={job.gang.name}"
    return quote(str(job.gang.gang.backends.get("slurm", {}).get("comment") or labels))


def _accounting_options(plan: Plan, job: Job, section: Section, number: int) -> Iterator[str]:
    own = job.gang.gang.backends.get("slurm", {})
    if partition := partition_of(plan, job.gang, section):
        yield f"--partition={quote(partition)}"
    for key in TEXT_OPTIONS:
        if key in own and not (number and key in FIRST_ONLY):
            yield f"--{key}={quote(str(own[key]))}"


def partition_of(plan: Plan, gang: GangPlan, section: Section) -> str:
    """The partition of the gang, of its pool or of the cluster, or the queue."""
    own = gang.gang.backends.get("slurm", {}).get("partition")
    return str(own or settings(plan.topology, section.first.pool).get("partition") or gang_queue(plan, gang))


def _resource_options(job: Job, number: int) -> Iterator[str]:
    section, own = job.sections[number], job.gang.gang.backends.get("slurm", {})
    requested = amounts(section.first, section.per_node)
    yield f"--nodes={section.nodes}"
    if section.segment or any(earlier.segment for earlier in job.sections[:number]):  # sbatch passes it on; 0 resets it
        yield f"--segment={section.segment}"
    if section.consolidate:
        yield "--consolidate-segments"
    if section.spread:
        yield "--spread-segments"
    if section.switches:
        yield f"--switches={section.switches}{'@' + own['switchesTimeout'] if 'switchesTimeout' in own else ''}"
    if section.channels:
        yield "--network=unique-channel-per-segment"
    if is_exclusive(section.first):
        yield "--exclusive"
    ranks = mpi_slots(section.first.spec) if section.first.spec.launcher else 1
    yield f"--ntasks-per-node={section.per_node * ranks}"
    if requested.gpus:
        kind = f"{own['gpuType']}:" if "gpuType" in own else ""
        yield f"--gres=gpu:{kind}{requested.gpus}" if own.get("gres") else f"--gpus-per-node={kind}{requested.gpus}"
    if requested.cpus:
        yield f"--cpus-per-task={-(-requested.cpus // ranks)}"  # at least what the pod requests
    if requested.memory or section.first.spec.whole_node:
        yield f"--mem={requested.memory or 0}"
    if requested.scratch:
        yield f"--tmp={requested.scratch}"


def _lifetime_options(job: Job) -> Iterator[str]:
    """--time, and --requeue or --no-requeue."""
    gang = job.gang.gang
    if gang.active_deadline_seconds is not None:
        yield f"--time={_time(gang.active_deadline_seconds)}"
    wanted = gang.backends.get("slurm", {}).get("requeue", gang.max_restarts > 0)
    yield "--requeue" if wanted else "--no-requeue"


def _time(seconds: int) -> str:
    """days-hours:minutes:seconds, as sbatch reads it. Slurm rounds up to the minute."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days}-{hours:02}:{minutes:02}:{rest:02}" if days else f"{hours:02}:{minutes:02}:{rest:02}"


def _comments(job: Job) -> Iterator[str]:
    """The pods of each section, for readers of the script."""
    yield "#"
    for number, section in enumerate(job.sections):
        name = f"section {number}: " if len(job.sections) > 1 else ""
        steps = [step for step in job.steps if step.section == number]
        packed = f", {section.per_node} on a node" if section.per_node > 1 else ""
        where = f", every {section.segment} nodes in one block" if section.segment else ""
        together = ", all in one aggregated block" if section.consolidate else ""
        yield f"# {name}{', '.join(map(_step_title, steps))} in pool {section.first.pool}{packed}{where}{together}"


def _step_title(step: Step) -> str:
    """`4 x (1 leader + 4 worker)`."""
    rounds, repeat = len(step.leaves) // step.repeat, step.repeat
    pods = " + ".join(f"{leaf.pods.replicas} {leaf.pods.spec.name}" for leaf in step.leaves[: min(repeat, 4)])
    pods += " + ..." if repeat > 4 else ""
    return f"{rounds} x ({pods})" if rounds > 1 else pods


def _hosts(job: Job) -> Iterator[str]:
    """The names of the nodes that tasks need: those of sections, of rank 0 of each rendezvous, and of `hosts`."""
    one, lists, named = common_master(job), dict(master_lists(job)), host_nodes(job)
    places = [*([one] if one else []), *(each for several in lists.values() for each in several), *named.values()]
    for number in sorted({section for section, _ in places}):
        suffix = f"_HET_GROUP_{number}" if len(job.sections) > 1 else ""
        yield f'mapfile -t nodes_{number} < <(scontrol show hostnames "$SLURM_JOB_NODELIST{suffix}")'
    if one:
        yield f'export MASTER_ADDR="{_node_name(one)}"'
    for variable, several in lists.items():
        yield f'export {variable}="{" ".join(map(_node_name, several))}"'
    for variable, place in named.items():
        yield f'export {variable}="{_node_name(place)}"'
    if places:
        yield ""


def _node_name(place: tuple[int, int]) -> str:
    return f"${{nodes_{place[0]}[{place[1]}]}}"


def _restarts(job: Job) -> Iterator[str]:
    if most := job.gang.gang.max_restarts:
        yield "# A gang that fails starts again as a whole, up to that often."
        yield "again() {"
        yield f'  if [ "${{SLURM_RESTART_COUNT:-0}}" -lt {most} ]; then scontrol requeue "$SLURM_JOB_ID"; fi'
        yield '  exit "$1"'
        yield "}"
        yield ""
    if len(job.steps) > 1:
        yield "# Each step says here how it ended."
        yield "exec 3<> <(:)"
        yield ""


def _files(job: Job, section: Section, number: int) -> Iterator[str]:
    """The podSet's files, copied to every node of the job and mounted from there."""
    spec = section.first.spec
    if not spec.files or any(other.first.route == section.first.route for other in job.sections[:number]):
        return
    for path, content in spec.files.items():
        source = f'"{_on_node(spec.name, path)}"'
        if isinstance(content, Binary):
            yield from _document(f"base64 -d > {source}", content.base64, "BASE64")
        elif content.endswith("\n") and "\r" not in content:
            yield from _document(f"cat > {source}", content[:-1], "FILE")
        else:
            yield f"printf %s {quote(content)} > {source}"
        text = "" if isinstance(content, Binary) else content
        for variable in (each for each in host_nodes(job) if f"$({each})" in text):
            yield f'sed -i "s|\\$({variable})|${variable}|g" {source}'
        yield f"chmod 0755 {source}"
        yield f"sbcast --force --preserve {source} {source}"
    yield ""


def _document(command: str, text: str, word: str, suffix: str = "") -> Iterator[str]:
    end = here_document(text, word)
    yield from (f"{command} <<'{end}'{suffix}", text, end)


def _on_node(pod_set: str, path: str) -> str:
    """The path of a podSet's file on the node."""
    return f"/tmp/$SLURM_JOB_ID.{pod_set}.{file_key(path)}"


def _step(job: Job, step: Step, number: int) -> Iterator[str]:
    """The script of the tasks, and the step that starts them."""
    variable = f"task_{number}"
    yield from _document(f"IFS= read -r -d '' {variable}", task(job, number), "TASK", " || true")
    if step.branches[0].first.spec.launcher:  # mpirun in the batch shell starts its ranks on all nodes of the job
        yield f'sh -c "${variable}"{" || again $?" if job.gang.gang.max_restarts else ""}'
        return
    *options, last = [*_srun(job, step), f'sh -c "${variable}"']
    several = len(job.steps) > 1
    if several:
        yield "{"
    yield f"{options[0]} \\"
    yield from (f"  {line} \\" for line in options[1:])
    if _ignored(job, step):
        yield f'  {last} || echo "Step {number} failed with status $?. The job ignores this." >&2'
        yield f'echo "{number} 0" >&3'
        yield "} &"
        yield ""
    elif several:
        yield f"  {last} && status=0 || status=$?"
        yield f'echo "{number} $status" >&3'
        yield "} &"
        yield ""
    else:
        yield f"  {last}{' || again $?' if job.gang.gang.max_restarts else ''}"


def _srun(job: Job, step: Step) -> Iterator[str]:
    section = job.sections[step.section]
    requested = amounts(section.first, section.per_node)
    group = [f"--het-group={step.section}"] if len(job.sections) > 1 else []
    part = step.nodes < section.nodes
    node_range = (
        [f"--nodes={step.nodes}", f"--relative={step.base}", f"--ntasks={step.nodes * section.per_node}"]
        if part
        else []
    )
    cpus = [f"--cpus-per-task={requested.cpus}"] if requested.cpus else []
    ended = ["--kill-on-bad-exit=0", "--wait=0"] if _ignored(job, step) else ["--kill-on-bad-exit=1"]
    yield " ".join(["srun", *group, *node_range, *ended, "--distribution=block", *cpus])
    own = job.gang.gang.backends.get("slurm", {})
    spec = section.first.spec
    if section.per_node > 1 and spec.accelerator:
        yield f"--gpus-per-task={spec.accelerator.per_pod}"
    contained = bool(spec.image) and own.get("container", "pyxis") == "pyxis"
    if spec.working_dir:
        yield f"--{'container-workdir' if contained else 'chdir'}={quote(spec.working_dir)}"
    if contained:
        yield f"--container-image={quote(enroot(spec.image))}"
        volumes = (mounted(path, each) for path, each in spec.volumes.items())
        binds = ",".join((*filter(None, volumes), *(f"{_on_node(spec.name, path)}:{path}" for path in spec.files)))
        if binds:
            yield f'--container-mounts="{binds}"'


def mounted(path: str, each: Volume) -> str:
    """A path of the node as Pyxis mounts it, SRC:DST[:FLAGS] (pyxis wiki, "Usage"). Empty if Pyxis cannot mount it."""
    source = f"{each.host_path}/{each.sub_path}" if each.sub_path else each.host_path
    plain = re.fullmatch(r"[-._/A-Za-z0-9@+=]+", f"{source}{path}") and not each.type.endswith("Create")
    return f"{source}:{path}{':ro' if each.read_only else ''}" if each.host_path and plain else ""


def enroot(image: str) -> str:
    """An image as enroot names it: `[USER@][REGISTRY#]IMAGE[:TAG]` (pyxis, usage)."""
    registry, slash, rest = image.partition("/")
    if slash and ("." in registry or ":" in registry or registry == "localhost"):
        return f"{registry}#{rest}"
    return image


def _ignored(job: Job, step: Step) -> bool:
    """Whether the gang goes on when tasks of the step fail."""
    return any(hides_failures(job.gang.gang, leaf.pods.spec) for leaf in step.leaves)


def _wait(job: Job) -> Iterator[str]:
    """The gang ends with its lead, or with its last step; the first failure ends it. Slurm stops what still runs."""
    if len(job.steps) < 2:
        return
    led = [number for number, step in enumerate(job.steps) if step.lead]
    yield f"left={len(led) or len(job.steps)}"
    yield 'while [ "$left" -gt 0 ]; do'
    yield "  read -r step status <&3"
    yield f'  [ "$status" = 0 ] || {"again" if job.gang.gang.max_restarts else "exit"} "$status"'
    if led:
        yield f'  case " {" ".join(map(str, led))} " in *" $step "*) left=$((left - 1)) ;; esac'
    else:
        yield "  left=$((left - 1))"
    yield "done"
