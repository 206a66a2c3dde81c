"""What bayplan says of Volcano is what its scheduler does, as long as its replay is built."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from e2e import volcano
from e2e.releases import BY_NAME
from e2e.run import world
from e2e.scene import scene
from e2e.scheduler import UNFIT, Case
from tools.data import parse
from tools.run import ROOT

VOLCANO = BY_NAME["volcano 1.15.1"]
pytestmark = pytest.mark.skipif(bool(VOLCANO.missing()), reason=VOLCANO.missing())

PAGE = (ROOT / "docs" / "reference" / "schedulers" / "volcano.md").read_text(encoding="utf-8")


def bound(name: str, replicas: int = 0, accept: str = "") -> int:
    """How many pods of a case are bound, whose first podSet may have another size."""
    folder = Path(ROOT / "tests" / "cases" / name)
    workflow, topology = (parse((folder / file).read_text("utf-8")) for file in ("workflow.yaml", "topology.yaml"))
    if replicas:
        workflow["spec"]["gangs"][0]["podSets"][0]["replicas"] = replicas
    accepting = VOLCANO._replace(scheduler=VOLCANO.scheduler._replace(accepted=UNFIT | {accept}))
    made = scene(Case(name, workflow, topology), accepting)
    return len(volcano.bind(world(made, made.stages[0], made.documents, VOLCANO), VOLCANO))


def documented() -> str:
    """The configuration with the plugins as the documentation sets them."""
    plugins = parse("- name: nodeorder" + PAGE.partition("```yaml\n- name: nodeorder")[2].partition("```")[0])
    conf = parse(volcano.CONFIGURATION)
    stated = {plugin["name"]: plugin for plugin in plugins}
    assert set(stated) == {"nodeorder", "binpack"}
    for tier in conf["tiers"]:
        tier["plugins"] = [stated.get(plugin["name"], plugin) for plugin in tier["plugins"]]
    return yaml.safe_dump(conf)


def test_small_pods_take_the_nodes_of_larger_ones_unless_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bound("F690-volcano-small-pods") == 0
    monkeypatch.setattr(volcano, "CONFIGURATION", documented())
    assert bound("F690-volcano-small-pods") == 6


def test_pods_above_the_minimum_need_room_too() -> None:
    assert bound("F680-volcano-room-for-the-minimum", accept="F680") == 0
    assert bound("F680-volcano-room-for-the-minimum", replicas=3, accept="F680") == 3


def test_a_gang_of_pods_without_requests_starts_in_part() -> None:
    assert bound("F643-a-gang-without-a-placement", replicas=8, accept="F643") == 6
