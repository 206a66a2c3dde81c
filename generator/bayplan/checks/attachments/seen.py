"""What the checks of podSets on a fabric look at."""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.checks.attachments.said import Layer, Said, layers, said
from bayplan.checks.places import Place
from bayplan.diagnostics import Route
from bayplan.fabrics import Wanted
from bayplan.model.topology import ClusterTopology
from bayplan.values import NamedTuple


class Seen(NamedTuple):
    """A podSet, what it asks of its fabric, and the cluster."""

    place: Place
    asked: Wanted
    topology: ClusterTopology

    @property
    def title(self) -> str:
        """`podSet "worker"`."""
        return f'podSet "{self.place.pods.name}"'

    @property
    def fabric(self) -> str:
        """`fabric "rails"`."""
        return f'fabric "{self.asked.fabric.name}"'

    @property
    def route(self) -> Route:
        """Where the podSet names its fabric."""
        return (*self.place.route, "fabric")

    @property
    def origin(self) -> Route:
        """Where the fabric stands."""
        return ("topology", "spec", "fabrics", self.asked.fabric.name)

    def layers(self) -> tuple[Layer, ...]:
        """The templates that are laid over its pods."""
        return layers(self.place.pods, self.place.route, self.topology, self.asked.pool.name)

    def variables(self) -> Mapping[str, Said]:
        """What the podSet's libraries are told."""
        return said(self.place.pods, self.place.route, self.topology, self.asked.pool.name)
