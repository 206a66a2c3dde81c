"""Checks of the structure of gangs, groups and podSets: names, dependencies, hosts and numbers of pods."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

from bayplan.checks.topology import duplicates
from bayplan.core.diagnostics import KEY, Diagnostic, Note, Route, error, warning
from bayplan.core.phrases import count, did_you_mean, shorten, suggest
from bayplan.core.values import cycles
from bayplan.kube.pod import DATA_SCRIPT, DATA_STATE_FOLDER, STORE, URLS, container_name
from bayplan.kube.ranks import OWN, OWN_PREFIXES, REFERENCE, user_names
from bayplan.model.encoding import camel_case
from bayplan.model.plan import GANG_COUNT, GANG_INDEX, MOST_PODS
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.model.workflow import (
    GANGS,
    Checkpoint,
    Container,
    Gang,
    Group,
    Owner,
    Place,
    PodSet,
    Transfer,
    Workflow,
    instances,
    owners,
    pod_of,
    pod_sets,
    pod_sets_of,
    serves,
    words,
)
from bayplan.planning.bind import gang_name, joined


def check_structure(workflow: Workflow) -> Iterator[Diagnostic]:
    """W303, W308 to W310."""
    for owner in owners(workflow):
        if isinstance(owner.node, Gang) and (owner.node.at_once or 0) > owner.node.replicas:
            copies, at_once = owner.node.replicas, owner.node.at_once
            key, more = ("matrix", "add values to `matrix`") if owner.node.matrix else ("replicas", "add `replicas`")
            message = (
                f"{owner.title()} runs {at_once} copies at the same time (`atOnce`), but it has {copies} (`{key}`)"
            )
            yield error("W308", (*owner.route, "atOnce"), message, hint=f"set {copies} or less, or {more}")
        yield from _holds(owner)
        yield from _size(owner)
        group = owner.node
        if isinstance(group, Group) and group.min_replicas and group.min_replicas > instances(group):
            message = (
                f"{owner.title()} has {instances(group)} instances, fewer than its minReplicas {group.min_replicas}"
            )
            yield error("W308", (*owner.route, "minReplicas"), message, hint=f"set {instances(group)} or less")
    for place in pod_sets(workflow):
        yield from _pods(place)
    total = sum(_count(gang) for gang in workflow.gangs)
    if total > MOST_PODS:
        message = f"the workflow has {total} pods; bayplan plans at most {MOST_PODS}"
        yield error("W309", ("workflow", "spec", "gangs"), message, hint="check all `replicas`: they multiply")


def check_matrix(workflow: Workflow) -> Iterator[Diagnostic]:
    """W353: a variable of the matrix that a podSet sets too. W394: a reference to none, or to one in a shell's
    form."""
    for place in pod_sets(workflow):
        gang = place.owner.gang
        yield from _unread(place)
        yield from _unset(place) if gang.rows else ()
        both = [name for name in (gang.rows[0] if gang.rows else {}) if name in user_names(place.pods)]
        for name in both:
            at: Route = (*place.route, "env", name) if name in place.pods.env else (*place.route, "template")
            message = f'podSet "{place.pods.name}" sets {name}, which the matrix of gang "{gang.name}" gives each copy'
            note = Note("the matrix is here", (*place.owner.route[: len(GANGS) + 1], "matrix"))
            yield error("W353", at, message, hint=f"remove {name} from one of the two", notes=(note,))


_SERVICE = re.compile(r"_SERVICE_(?:HOST\Z|PORT)|_PORT_[0-9]+_(?:TCP|UDP)")
"""Variables of a namespace's Services, which the kubelet sets (Kubernetes 1.35, pkg/kubelet/envvars/envvars.go)."""


def _unset(place: Place) -> Iterator[Diagnostic]:
    """W394. A shell may run a program in `$(name)`, so this looks for names in capitals, or close to those of columns.

    Kubernetes 1.35, third_party/forked/golang/expansion/expand.go: a reference to no variable stays as it is.
    """
    gang, spec = place.owner.gang, place.pods
    if spec.env_from or spec.template:
        return
    columns = [*gang.rows[0]]
    known = {*columns, *spec.env, *OWN}
    for route, text in words(spec):
        for name in dict.fromkeys(found[1] or "" for found in REFERENCE.finditer(text)):
            ours = name in known or name.startswith(OWN_PREFIXES) or any(f"$({name})" in each for each in gang.hosts)
            capitals = name == name.upper() or name.upper() in map(str.upper, columns)
            if name and not ours and capitals and not _SERVICE.search(name):
                message = f'nothing sets {name}, so every copy of gang "{gang.name}" gets the text "$({name})"'
                hint = did_you_mean(name, columns) or f"add it to the matrix, or write $$({name}) for the text"
                yield warning("W394", (*place.route, *route), message, hint=hint)


_OF_A_SHELL = re.compile(r"(?<![$\\])\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
_SHELLS = {"sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "busybox", "envsubst", "eval", "make", "parallel"}
_SHELLS |= {"su", "runuser", "ssh", "flock", "watch", "script"}
"""Programs that replace variables in their arguments, or give them to a shell."""

_SCRIPT = re.compile(r"-\w*[ce]", re.ASCII)
"""An option before the text of a program, in which `$NAME` may have a meaning of its own."""

_RANK = OWN - {GANG_INDEX, GANG_COUNT, "JOB_COMPLETION_INDEX", "POD_NAMESPACE"}


def _unread(place: Place) -> Iterator[Diagnostic]:
    """W394: `$NAME` of a matrix or rendezvous where no shell replaces it, and `$(NAME)` in a file."""
    gang, spec = place.owner.gang, place.pods
    columns = gang.rows[0] if gang.rows else ()
    copies = (GANG_INDEX, GANG_COUNT) if gang.replicas > 1 and not serves(gang) else ()
    names = {*columns, *copies, *(() if gang.rendezvous == "none" else _RANK)}
    beside = (("initContainers", spec.init_containers), ("sidecars", spec.sidecars))
    containers: list[tuple[PodSet | Container, Route]] = [(spec, ())]
    containers += [(each, (key, number)) for key, some in beside for number, each in enumerate(some)]
    for each, route in containers:
        arguments = (*each.command, *each.args)
        replaced = any(word.rpartition("/")[2] in _SHELLS or _SCRIPT.fullmatch(word) for word in arguments)
        for inside, text in words(each):
            if inside[0] != "env" and (replaced or not each.command or re.search(r"\s", text)):
                continue
            for found in _OF_A_SHELL.finditer(text):
                name = found[1] or found[2]
                if name in names:
                    message = f'no shell reads this, so the program gets the text "{found[0]}"'
                    yield warning("W394", (*place.route, *route, *inside), message, hint=f"write $({name})")
                    break
        for text, inside in _fixed(each) if columns or copies else ():
            for name in dict.fromkeys(
                found[1] for found in REFERENCE.finditer(text) if found[1] in {*columns, *copies}
            ):
                message = f'nothing replaces "$({name})" here, so all copies have the same text'
                hint = f"use {name} in the command, an argument or a variable"
                yield warning("W394", (*place.route, *route, *inside), message, hint=hint)


def _fixed(container: PodSet | Container) -> Iterator[tuple[str, Route]]:
    """Texts in which Kubernetes and Slurm replace nothing. A shell may read the others: those of scripts."""
    yield container.working_dir, ("workingDir",)
    for path, volume in container.volumes.items():
        yield from ((text, ("volumes", path)) for text in (path, *volume) if isinstance(text, str))
    if isinstance(container, PodSet):
        for path, held in container.files.items():
            if isinstance(held, str) and not (held.startswith("#!") or path.endswith(".sh")):
                yield held, ("files", path)
        for each, at in container.data.transfers():
            yield from ((text, ("data", *at)) for text in (each.url, each.path))


def _holds(owner: Owner) -> Iterator[Diagnostic]:
    node = owner.node
    if bool(node.groups) == bool(node.pod_sets):
        actual = "both groups and podSets" if node.groups else "no groups and no podSets"
        hint = "put the podSets into a group of their own" if node.groups else "add `podSets`"
        message = f"{owner.title()} has {actual}; expected exactly one of them"
        yield error("W303", (*owner.route, "groups") if node.groups else owner.route, message, hint=hint)


def _size(owner: Owner) -> Iterator[Diagnostic]:
    group = owner.node
    if not isinstance(group, Group) or group.size is None:
        return
    route: Route = (*owner.route, "size")
    if len(group.pod_sets) != 1:
        message = f"{owner.title()} has `size` and {len(group.pod_sets)} podSets; `size` needs exactly one podSet"
        hint = "use `replicas` on the group, and on each podSet the number of pods of one instance"
        yield error("W303", route, message, hint=hint)
    elif group.replicas != 1:
        message = f"{owner.title()} has both `size` and `replicas`"
        hint = "remove `replicas`: `size` divides the podSet's pods into as many instances as needed"
        yield error("W303", route, message, hint=hint)
    elif group.pod_sets[0].min_replicas is not None:
        message = f"{owner.title()} has `size`, and its podSet has `minReplicas`, which covers more than one instance"
        hint = "set `minReplicas` on the group"
        yield error("W303", (*owner.route, "podSets", 0, "minReplicas"), message, hint=hint)


def _pods(place: Place) -> Iterator[Diagnostic]:
    pods, route, _ = place
    if pods.min_replicas and pods.min_replicas > pods.replicas:
        message = f'podSet "{pods.name}" has {pods.replicas} pods, fewer than its minReplicas {pods.min_replicas}'
        yield error("W308", (*route, "minReplicas"), message, hint=f"set {pods.replicas} or less")
    if not _on_node(place):
        yield from _image(place)


def check_images(workflow: Workflow, topology: ClusterTopology, target: Target, scheduler: str) -> Iterator[Diagnostic]:
    """W310 for podSets that need no image under Slurm, if they have another scheduler."""
    del topology, target
    for place in pod_sets(workflow) if scheduler != "slurm" else ():
        if _on_node(place):
            yield from _image(place)


def _on_node(place: Place) -> bool:
    """Whether Slurm runs the command on the node, in no container."""
    return place.owner.gang.backends.get("slurm", {}).get("container") == "none"


def _image(place: Place) -> Iterator[Diagnostic]:
    if not place.pods.image and not _template_image(place):
        hint = "set `image` on the podSet or in `spec.defaults`"
        yield error("W310", place.route, f'podSet "{place.pods.name}" has no image', hint=hint)


def _template_image(place: Place) -> bool:
    containers = (place.pods.template.get("spec") or {}).get("containers") or []
    if not isinstance(containers, list) or not all(isinstance(each, dict) for each in containers):
        return True  # W315 reports it
    main = container_name(place.pods)
    return any(each.get("image") for each in containers if each.get("name", main) == main)


def _count(node: Gang | Group) -> int:
    below = sum(_count(group) for group in node.groups) + sum(pods.replicas for pods in node.pod_sets)
    return below * (1 if isinstance(node, Group) and node.size else node.replicas)


# Names of siblings, and names that are joined from several parts.

MOST_NAMES = 300_000
"""The most names that are compared here. `manifests/order.py` compares the documents of a larger workflow."""


def check_naming(workflow: Workflow) -> Iterator[Diagnostic]:
    """W301 for equal names of siblings. If there are none, W301 for names that are equal after they are joined."""
    equal = tuple(_equal_names(workflow))
    yield from equal
    if not equal and _could_collide(workflow):
        gangs = [(gang, (*GANGS, index)) for index, gang in enumerate(workflow.gangs)]
        yield from _equal(
            (gang_name(workflow, gang, copy), route) for gang, route in gangs for copy in range(gang.replicas)
        )
        for gang, route in gangs:
            yield from _equal(_below(gang, route, ""))


def _equal_names(workflow: Workflow) -> Iterator[Diagnostic]:
    siblings: list[tuple[Iterable[Gang | Group | PodSet], Route, str]] = [(workflow.gangs, GANGS, "gangs")]
    for owner in owners(workflow):
        siblings.append((owner.node.groups, (*owner.route, "groups"), f"groups of {owner.title()}"))
        siblings.append((owner.node.pod_sets, (*owner.route, "podSets"), f"podSets of {owner.title()}"))
    for nodes, route, what in siblings:
        names, hint = [node.name for node in nodes], "rename one of them"
        yield from duplicates(names, route, "name", "W301", f"two {what} have the name", hint)


def _could_collide(workflow: Workflow) -> bool:
    """Joined names are unique unless a part looks like an index, or one gang's name is a prefix of another's."""
    if any(after.startswith(before) for before, after in pairwise(sorted(f"{gang.name}-" for gang in workflow.gangs))):
        return True
    names = [name for owner in owners(workflow) for name in (owner.node.name, *(p.name for p in owner.node.pod_sets))]
    return any(part.isdigit() for name in names for part in name.split("-"))


def _equal(names: Iterable[tuple[str, Route]]) -> Iterator[Diagnostic]:
    first: dict[str, Route] = {}
    reported: set[tuple[Route, Route]] = set()
    for name, route in islice(names, MOST_NAMES):
        other = first.setdefault(name, route)
        if other != route and (other, route) not in reported:
            reported.add((other, route))
            note = Note("the other name comes from here", (*other, "name"))
            message = f'two objects would have the name "{name}" after bayplan joins names with dashes'
            yield error("W301", (*route, "name"), message, hint="rename one of them", notes=(note,))


def _below(node: Gang | Group, route: Route, name: str) -> Iterator[tuple[str, Route]]:
    """The names of an instance's podSets and groups, and of all instances below it."""
    for index, pods in enumerate(node.pod_sets):
        yield joined(name, pods.name), (*route, "podSets", index)
    for index, group in enumerate(node.groups):
        below: Route = (*route, "groups", index)
        yield joined(name, group.name), below
        for number in range(instances(group)):
            instance = joined(name, group.name, str(number))
            yield instance, below
            yield from _below(group, below, instance)


# Dependencies between gangs, and the lead podSet of a gang.


def check_dependencies(workflow: Workflow) -> Iterator[Diagnostic]:
    """W305, W306, W336 and W337."""
    names = {gang.name: gang.depends_on for gang in workflow.gangs}
    for index, gang in enumerate(workflow.gangs):
        route: Route = (*GANGS, index, "dependsOn")
        for position, name in enumerate(gang.depends_on):
            if name not in names:
                message = f'`dependsOn` of gang "{gang.name}" names an unknown gang: "{name}"'
                hint = suggest(name, names, "gangs", but=gang.name) or "remove it"
                yield error("W305", (*route, position), message, hint=hint)
    indexes = {gang.name: index for index, gang in enumerate(workflow.gangs)}
    for cycle in cycles(names):
        message = f"these gangs wait for each other: {_shown(cycle)}"
        yield error("W306", (*GANGS, indexes[cycle[0]], "dependsOn"), message, hint="remove one dependency")
    yield from _leads(workflow)
    yield from _start_order(workflow)


def _start_order(workflow: Workflow) -> Iterator[Diagnostic]:
    """W305 and W306: the podSets of a gang that start after others. Several groups may have one of a name."""
    below: dict[Route, list[Place]] = {}
    for place in pod_sets(workflow):
        below.setdefault(place.route[:4], []).append(place)
    for inside in below.values():
        if not any(pods.starts_after for pods, _, _ in inside):
            continue
        names: dict[str, list[str]] = {}
        for pods, _, _ in inside:
            names.setdefault(pods.name, []).extend(pods.starts_after)
        for pods, route, _ in inside:
            for position, name in enumerate(pods.starts_after):
                if name not in names:
                    message = f'`startsAfter` of podSet "{pods.name}" names an unknown podSet: "{name}"'
                    hint = suggest(name, names, "podSets", but=pods.name) or "remove it"
                    yield error("W305", (*route, "startsAfter", position), message, hint=hint)
        first = {pods.name: route for pods, route, _ in reversed(inside) if pods.starts_after}
        for cycle in cycles(names):
            message = f'these podSets of gang "{inside[0].owner.gang.name}" wait for each other: {_shown(cycle)}'
            yield error("W306", (*first[cycle[0]], "startsAfter"), message, hint="remove one `startsAfter`")


def _shown(cycle: Sequence[str]) -> str:
    return " -> ".join(f'"{name}"' for name in (*cycle, cycle[0]))


def _leads(workflow: Workflow) -> Iterator[Diagnostic]:
    """W305, W336 and W337."""
    below: dict[Route, list[str]] = {}
    for place in pod_sets(workflow):
        below.setdefault(place.owner.route[:4], []).append(place.pods.name)
    for index, gang in enumerate(workflow.gangs):
        names = below.get((*GANGS, index), [])
        if gang.lead and gang.lead not in names:
            message = f'`lead` of gang "{gang.name}" names an unknown podSet: "{gang.lead}"'
            hint = suggest(gang.lead, names, "podSets") or "remove it"
            yield error("W305", (*GANGS, index, "lead"), message, hint=hint)
        if not gang.lead and gang.ignore_nonlead_failures is not None:
            message = f'gang "{gang.name}" has `ignoreNonleadFailures` but no `lead`'
            hint = "set `lead` to the podSet whose end is the end of the gang"
            yield error("W336", (*GANGS, index, "ignoreNonleadFailures"), message, hint=hint)
    yield from _retries(workflow)


def _retries(workflow: Workflow) -> Iterator[Diagnostic]:
    for pods, route, _ in pod_sets(workflow):
        both = sorted(set(pods.retry_on_exit_codes) & set(pods.restart_gang_on_exit_codes))
        if both:
            message = f"exit code {both[0]} is in `retryOnExitCodes` and in `restartGangOnExitCodes`"
            yield error("W337", (*route, "restartGangOnExitCodes"), message, hint="remove it from one of them")
        key = "retryOnExitCodes" if pods.retry_on_exit_codes else "restartGangOnExitCodes"
        if (pods.retry_on_exit_codes or pods.restart_gang_on_exit_codes) and pods.restart_policy != "Never":
            message = f'podSet "{pods.name}" has `{key}` and `restartPolicy: {pods.restart_policy}`'
            hint = "remove `restartPolicy`: Kubernetes accepts rules for exit codes only with Never"
            yield error("W337", (*route, key), message, hint=hint)


# Services: what only jobs have, and numbers of copies.

JOB_FIELDS = ("max_restarts", "active_deadline_seconds", "ttl_seconds_after_finished", "at_once", "lead")
"""Fields of a gang that mean something only if it ends."""

SERVICE_FIELDS = ("rollout", "autoscale")
"""Fields of a gang that mean something only if it never ends."""


def check_services(workflow: Workflow) -> Iterator[Diagnostic]:
    """W306, W308, W360."""
    services = {gang.name for gang in workflow.gangs if serves(gang)}
    for pods, at, owner in pod_sets(workflow):
        codes = "retryOnExitCodes" if pods.retry_on_exit_codes else "restartGangOnExitCodes"
        both = pods.retry_on_exit_codes or pods.restart_gang_on_exit_codes
        key = codes if both else "restartPolicy" if pods.restart_policy == "OnFailure" else ""
        if key and serves(owner.gang):
            message = f'podSet "{pods.name}" belongs to a service, whose pods always start again, but it has `{key}`'
            yield error("W360", (*at, key), message, hint=f"remove `{key}`, or set `lifecycle: job` on the gang")
    for index, gang in enumerate(workflow.gangs):
        route: Route = (*GANGS, index)
        for position, name in enumerate(gang.depends_on):
            if name in services:
                message = f'gang "{gang.name}" waits for the end of "{name}", which is a service and never ends'
                hint = "remove it; let the pods wait until the service answers"
                yield error("W306", (*route, "dependsOn", position), message, hint=hint)
        if serves(gang) and gang.depends_on:
            message = f'gang "{gang.name}" is a service, and nothing makes a service wait for another gang'
            hint = "remove `dependsOn`; wait in the command, or render the gangs separately with `--gang NAME`"
            yield error("W306", (*route, "dependsOn"), message, hint=hint)
        if serves(gang):
            yield from _service(gang, route)
            continue
        for key in SERVICE_FIELDS:
            if getattr(gang, key) is not None:
                message = f'gang "{gang.name}" has `{key}`, but it ends (`lifecycle: job`)'
                yield error("W360", (*route, key), message, hint=f"set `lifecycle: service`, or remove `{key}`")


def _service(gang: Gang, route: Route) -> Iterator[Diagnostic]:
    for key in (camel_case(each) for each in JOB_FIELDS if getattr(gang, each)):
        message = f'gang "{gang.name}" is a service and never ends, but it has `{key}`'
        yield error("W360", (*route, key), message, hint=f"remove `{key}`, or set `lifecycle: job`")
    scaled = gang.autoscale
    if scaled and scaled.min_replicas > scaled.max_replicas:
        message = (
            f'gang "{gang.name}" has {scaled.min_replicas} `minReplicas`, more than maxReplicas {scaled.max_replicas}'
        )
        hint = f"set {scaled.max_replicas} or less"
        yield error("W308", (*route, "autoscale", "minReplicas"), message, hint=hint)
    elif scaled and gang.replicas > scaled.max_replicas:
        message = f'gang "{gang.name}" has {gang.replicas} `replicas`, more than maxReplicas {scaled.max_replicas}'
        hint = f"set {scaled.max_replicas} or less, or remove `replicas`"
        yield error("W308", (*route, "replicas"), message, hint=hint)
    if gang.rollout == (0, 0):
        message = f'a rollout of gang "{gang.name}" can neither add a copy (`surge`) nor miss one (`unavailable`)'
        yield error("W308", (*route, "rollout", "unavailable"), message, hint="set one of them to 1 or more")


# `hosts`: the pod must exist, and the placeholder must occur.

MOST_HOST_NAMES = 1000
"""The most podSet instances that are compared with an unknown name."""


def check_hosts(workflow: Workflow) -> Iterator[Diagnostic]:
    """W305 and W394."""
    for index, gang in enumerate(workflow.gangs):
        for text, value in gang.hosts.items():
            route: Route = (*GANGS, index, "hosts", text)
            yield from _pod(gang, value, route)
            if not any(text in each for pods in pod_sets_of(gang) for each in _texts(pods)):
                where = "no command, argument, env value or text file"
                hint = "correct the placeholder, or remove it; bayplan does not search `template`"
                message = f'{where} of gang "{gang.name}" has "{shorten(text)}"'
                yield warning("W394", (*route, KEY), message, hint=hint)


def _pod(gang: Gang, value: str, route: Route) -> Iterator[Diagnostic]:
    name, number = pod_of(value)
    replicas = next(_replicas(gang, name), None)
    if replicas is None:
        known = [*islice(_names(gang, ""), MOST_HOST_NAMES)]
        hint = suggest(name, known, "podSet instances") or "give the gang podSets"
        yield error("W305", route, f'gang "{gang.name}" has no podSet instance "{name}"', hint=hint)
    elif number >= replicas:
        message = f'"{name}" has no pod {number}: it has {count(replicas, "pod")}, and pods count from 0'
        yield error("W305", route, message, hint=f"the last one is {name}/{replicas - 1}")


def _replicas(node: Gang | Group, name: str, size: int | None = None) -> Iterator[int]:
    """The number of pods of the podSet instance of that name below a node. Yields nothing if there is none."""
    for pods in node.pod_sets:
        if pods.name == name:
            yield size or pods.replicas
    for group in node.groups:
        number, dash, rest = name.removeprefix(f"{group.name}-").partition("-")
        inside = name.startswith(f"{group.name}-") and dash and number.isdecimal() and len(number) < 8
        if inside and str(int(number)) == number and int(number) < instances(group):
            yield from _replicas(group, rest, _hosts_size(group, int(number)))


def _hosts_size(group: Group, number: int) -> int | None:
    """Pods in one of the instances that `size` makes; the last may be smaller."""
    if not group.size or not group.pod_sets:
        return None
    return min(group.size, group.pod_sets[0].replicas - number * group.size)


def _names(node: Gang | Group, above: str) -> Iterator[str]:
    """The podSet instances of a gang."""
    yield from (joined(above, pods.name) for pods in node.pod_sets)
    for group in node.groups:
        for number in range(instances(group)):
            yield from _names(group, joined(above, group.name, str(number)))


def _texts(pods: PodSet) -> Iterator[str]:
    yield from (text for _, text in words(pods))
    yield from (held for held in pods.files.values() if isinstance(held, str))


# Data: URLs and folders, and regular expressions that Go's RE2 reads as Python does.

ESCAPED = r"(?s)\\.|\[\^?\]?(?:[^]\\]|\\.?)*(?:\]|\Z)"
"""An escaped character or a class, inside of which nothing is a group or a repetition."""

FOREIGN: tuple[tuple[str, str], ...] = (
    (r"\(\?(?:=|!|<=|<!)", "a lookahead or a lookbehind"),
    (r"\(\?P=|\(\?\(", "a reference to a group"),
    (r"\(\?>|[*+?}]\+", "an atomic group or a possessive repetition"),
    (r"\(\?#", "a comment"),
    (r"\(\?[a-z]*[auLx]", "a flag other than i, m and s"),
    (r"\{,", "a repetition without a minimum"),
    (r"\{(?:[0-9]{5,}|[2-9][0-9]{3}|1(?!000[,}])[0-9]{3})[,}]", "more than 1000 repetitions"),
)
"""What only Python has, outside of classes and escaped characters (RE2's syntax.txt)."""


SYSTEM = ("/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr")
"""Folders that no volume can replace."""


def check_data(workflow: Workflow) -> Iterator[Diagnostic]:
    """W386: URLs, folders and patterns that data movers cannot use, and uploads without a command to wait for."""
    for place in pod_sets(workflow):
        data, route = place.pods.data, (*place.route, "data")
        for each, own in data.transfers():
            yield from _transfer(each, (*route, *own), place.pods)
        if any(data) and re.fullmatch(f"(fetch|upload)-({'|'.join(URLS)})", place.pods.name):
            message = f'"{place.pods.name}" is the name of a container that moves data'
            yield error("W386", (*place.route, "name"), message, hint="rename the podSet")
        uploads = "outputs" if data.outputs else "checkpoints" if data.checkpoints else ""
        if uploads and not place.pods.command:
            message = f'podSet "{place.pods.name}" uploads data, but has no `command` whose end bayplan can wait for'
            hint = "set `command` to what the image would run"
            yield error("W386", (*route, uploads), message, hint=hint)


def _transfer(each: Transfer | Checkpoint, route: Route, pods: PodSet) -> Iterator[Diagnostic]:
    scheme, _, rest = each.url.partition(":")
    parts = [part for part in rest.split("/") if part]
    form, least = URLS.get(scheme, (f"{STORE}:FOLDER", 1))
    if scheme not in (*URLS, STORE):
        forms = ", ".join(form for form, _ in URLS.values())
        message = f'"{shorten(each.url)}" has a scheme that bayplan does not know'
        yield error("W386", (*route, "url"), message, hint=f"write {forms} or {STORE}:FOLDER")
    elif len(parts) < least or (scheme in URLS) != rest.startswith("//") or {".", ".."} & set(parts):
        yield error("W386", (*route, "url"), f'"{shorten(each.url)}" is not a folder of a store', hint=f"write {form}")
    if {"", ".", ".."} & set(each.path.rstrip("/").split("/")[1:] or [""]):
        message = f'"{shorten(each.path)}" is not a folder of the pod'
        yield error("W386", (*route, "path"), message, hint='write it like "/out"')
    if each.path.rstrip("/") in SYSTEM or f"{each.path}/".startswith((f"{DATA_STATE_FOLDER}/", f"{DATA_SCRIPT}/")):
        message = f'"{shorten(each.path)}" is a folder that the containers of the pod need'
        yield error("W386", (*route, "path"), message, hint="choose another folder")
    for path in pods.files:
        if each.path.rstrip("/") == path or each.path.startswith(f"{path}/"):
            message = f'"{shorten(each.path)}" is in the place of a file'
            note = Note("the file", (*route[:-3], "files", path, KEY))
            yield error("W386", (*route, "path"), message, hint="choose another folder", notes=(note,))
    if problem := beyond_re2(each.regex):
        message = f'"{shorten(each.regex)}" has {problem}, which rclone does not understand'
        yield error("W386", (*route, "regex"), message, hint="write it without, or filter in the command")


def beyond_re2(pattern: str) -> str:
    """What a pattern has that Go's RE2 does not, or why no reader accepts it; empty if both read it alike."""
    import re as python
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            python.compile(pattern)
    except (python.error, OverflowError, RecursionError) as problem:
        return f"a mistake ({str(problem) or 'nested too deeply'})"
    if re.search(r"(?<!\\)(?:\\\\)*\\(?:[1-9ZuUN])", pattern):
        return r"an escape such as \Z, \u or \1"
    plain = re.sub(ESCAPED, "_", pattern)
    return next((what for find, what in FOREIGN if re.search(find, plain)), "")
