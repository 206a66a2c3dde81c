"""The requirements of a task group's tasks -> a tree of domains, their names scoped by the domains around them.

As in OSMO (src/utils/job/topology.py): a task's requirements, coarse to fine, are its path from the root. Unlike
there, the path itself is a domain's identity, not its parts joined by hyphens, so `a/b-c` and `a-b/c` stay apart; a
domain that one task requires and another prefers is required; and what all share keeps both kinds of level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.diagnostics import Diagnostic, Note, info, warning
from bayplan.model.workflow import Placement
from bayplan.values import NamedTuple
from bayplan.workflows.osmo.translate.levels import Levels
from bayplan.workflows.osmo.translate.source import Requirement, Task


class Domain(NamedTuple):
    """Tasks that share a domain: the requirements that say so, one for each task, and the tasks or domains within."""

    requirements: tuple[Requirement, ...]
    tasks: tuple[Task, ...]
    parts: tuple[Domain, ...]

    @property
    def group(self) -> str:
        """Its name as the user wrote it."""
        return self.requirements[0].group

    @property
    def required(self) -> bool:
        """Whether any task requires it."""
        return any(each.required for each in self.requirements)


def domains(tasks: Sequence[Task], levels: Levels, depth: int = 0) -> tuple[Domain, ...]:
    """The domains of one scope, in the order of their first tasks; tasks whose path has ended are left out."""
    inside: dict[tuple[str, str], list[tuple[Task, Requirement]]] = {}
    for task in tasks:
        path = sorted(task.requirements, key=lambda each: levels.ranks[each.key])
        if depth < len(path):
            inside.setdefault((path[depth].key, path[depth].group), []).append((task, path[depth]))
    return tuple(_domain(found, levels, depth) for found in inside.values())


def _domain(found: list[tuple[Task, Requirement]], levels: Levels, depth: int) -> Domain:
    tasks = tuple(task for task, _ in found)
    ended = tuple(task for task in tasks if len(task.requirements) == depth + 1)
    return Domain(tuple(each for _, each in found), ended, domains(tasks, levels, depth + 1))


def chain(domain: Domain) -> tuple[Domain, ...]:
    """A domain and those within it that hold all of its tasks: as one they carry several levels."""
    below = domain.parts[0] if len(domain.parts) == 1 and not domain.tasks else None
    return (domain, *chain(below)) if below else (domain,)


def placement(domains: Sequence[Domain], levels: Levels) -> Placement:
    """What a chain of domains asks of its pods.

    The finest required level: pods in one rack are in one zone too. The finest preferred level, if it is finer than
    that; schedulers that miss it try the coarser ones by themselves.
    """
    required = [each for each in domains if each.required]
    finest = domains[-1]
    hard = levels.names[required[-1].requirements[0].key] if required else ""
    soft = "" if finest.required else levels.names[finest.requirements[0].key]
    return Placement(hard, soft)


def conflicts(domain: Domain) -> Iterator[Diagnostic]:
    """W463: some tasks of a domain require it and others prefer it. OSMO takes the word of the first one."""
    hard = [each for each in domain.requirements if each.required]
    soft = [each for each in domain.requirements if not each.required]
    if hard and soft:
        message = f'group "{domain.group}" of key "{hard[0].key}" is required here and preferred elsewhere'
        note = Note("it is only preferred here", soft[0].route)
        hint = "write the same requirementType in all resources; required is taken"
        yield warning("W463", hard[0].route, message, hint=hint, notes=(note,))
    for part in domain.parts:
        yield from conflicts(part)


def unplaced(tasks: Sequence[Task], group: str) -> Iterator[Diagnostic]:
    """W464: tasks without topology in a group where others have it."""
    if tasks:
        names = ", ".join(f'"{task.name}"' for task in tasks[:3]) + (" and more" if len(tasks) > 3 else "")
        message = f'in group "{group}" {names} asks for no topology while others do: it may run anywhere'
        hint = "this is no error here; OSMO 6.4 either leaves such a task unscheduled or places it like the others"
        yield info("W464", (*tasks[0].route, "name"), message, hint=hint)
