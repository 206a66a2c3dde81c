"""One workload to place, with what the other objects say of it: looked up once."""

from __future__ import annotations

from bayplan._augment.cluster import Cluster, templates
from bayplan._augment.strangers import Stranger, strangers
from bayplan.kube import cards
from bayplan.kube.safe import mapping
from bayplan.model.augment import Roster
from bayplan.values import NamedTuple
from bayplan.workflows.manifests import Selected


class Case(NamedTuple):
    """A workload. `carried`: its pods claim from a ComputeDomain that others wrote, so that there is no second one;
    `strangers`: claims of which nobody can tell what the pods get."""

    selected: Selected
    carried: bool
    strangers: tuple[Stranger, ...]

    @property
    def roster(self) -> Roster:
        """The workload as its pods."""
        return self.selected.roster


def case_of(selected: Selected, cluster: Cluster) -> Case:
    """The workload among the other objects."""
    where = selected.workflow.namespace
    specs = (mapping(each, "spec") for each in templates(selected.roster))
    carried = any(cards.claims_channel(spec, where, cluster.channels) for spec in specs)
    return Case(selected, carried, strangers(selected.roster, where, cluster))
