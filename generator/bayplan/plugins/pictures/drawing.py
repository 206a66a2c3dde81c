"""What the commands draw: plans, a cluster, and the difference between two placements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.plugin import ClusterTopology, Occupied, Plan
from bayplan.plugins.pictures import blocks, html, scene, svg
from bayplan.plugins.pictures.difference import Proven, before_and_after


def plans(
    form: str, proven: Proven, alone: bool, refused: Sequence[Plan] = (), coloured: bool = False
) -> Iterator[str]:
    """The pieces of a picture of plans, in the forms svg, html and blocks.

    `alone`: each plan has the cluster to itself. `refused`: plans that do not fit. `coloured`: blocks have colours.
    """
    scenes = (*scene.scenes(proven, alone), *scene.refused(refused))
    if form == "blocks":
        return blocks.draw(scenes, coloured)
    return html.draw(scenes) if form == "html" else svg.draw(scenes)


def cluster(topology: ClusterTopology, occupied: Occupied) -> Iterator[str]:
    """The pieces of an SVG of a cluster and of what runs in it."""
    return svg.draw((scene.cluster(topology, occupied),))


def difference(before: Proven, after: Proven) -> Iterator[str]:
    """The pieces of an SVG of two placements."""
    return svg.draw(before_and_after(before, after))
