"""What manifests ask of a scheduler: the common ground of a plan and of what is read back from manifests."""

from bayplan.core.values import NamedTuple


class PodsIntent(NamedTuple):
    """So many pods, of which `minimum` must start together."""

    name: str
    replicas: int
    minimum: int
    compute_domain: str = ""


class UnitIntent(NamedTuple):
    """A set of pods placed together; levels are node labels. Children are sorted by name."""

    name: str
    required: str = ""
    preferred: str = ""
    minimum: int = 0  # of the children that are units; 0: all
    units: "tuple[UnitIntent, ...]" = ()
    pods: tuple[PodsIntent, ...] = ()


def claimed_domains(unit: UnitIntent) -> tuple[str, ...]:
    """The ComputeDomains that pods of a unit claim from, by name."""
    own = {pods.compute_domain for pods in unit.pods if pods.compute_domain}
    return tuple(sorted(own.union(*(claimed_domains(each) for each in unit.units))))


class GangIntent(NamedTuple):
    """One gang as the scheduler sees it."""

    name: str
    namespace: str
    queue: str
    priority_class: str
    preemptible: bool | None
    topology: str
    root: UnitIntent
    compute_domains: tuple[str, ...] = ()
