"""A topology file brought up to date: what changes, what stays, and what is said about it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import random_topologies
from bayplan.cli import show_tree
from bayplan.cli import topology_import as editing
from bayplan.model.topology import ClusterTopology, Domain, Level, NodeShape, Pool
from bayplan.pipeline import topology_findings
from bayplan.text import document
from bayplan.text.edits import edited
from bayplan.text.emit import emit
from bayplan.topologies import native
from bayplan.topologies.comparing import compare
from bayplan.topologies.hostlist import expand
from bayplan.topologies.inventory import count
from bayplan.topologies.refreshing import STATES, edits
from tools.data import parse
from tools.effort import seeds

COVERS = {"T571", "T439", "T440", "T444", "T576"}

TEXT = """\
# the hall
apiVersion: bayplan.dev/v1alpha1
kind: ClusterTopology
metadata: {name: hall}
spec:
  pools:
  - name: gb200            # racks
    node: {accelerator: gb200, count: 4, cpu: "140"}
    levels:
    - {name: spine, label: example.com/spine}
    - {name: rack, label: nvidia.com/gpu.clique, nvlink: true, plan: 16}
    domains:
    # the first spine
    - {path: s1/r1, nodes: "a[01-18]"}   # near the door
    - {path: s1/r2, nodes: "b[01-18]"}
    - {path: s1/r3, nodes: 'c[01-09],c[10-18]'}
    # the second spine
    - {path: s2/r5, nodes: "e[01-18]"}
    - {path: s2/none, nodes: ""}
    unusable: {cordoned: "a03", spare: "a[17-18]"}   # by hand
  - name: cpu
    node: {cpu: "62", nodeSelector: {kind: cpu}}
    domains:
    - nodes: "x[1-4]"
  accelerators:
    gb200: {vendor: nvidia, allocator: device-plugin}
"""


def topology(text: str) -> ClusterTopology:
    read = document.read("t.yaml", text.encode(), "topology").value
    assert read
    made = native.read(read[0].data).value
    assert made
    return made.value


def changed(old: ClusterTopology, name: str, rows: Iterable[tuple[str, str]], **pool: object) -> ClusterTopology:
    """The topology with other rows in a pool."""
    domains = tuple(Domain(tuple(path.split("/")) if path else (), expand(nodes)) for path, nodes in rows)
    pools = (each._replace(domains=domains, **pool) if each.name == name else each for each in old.pools)
    return old._replace(pools=tuple(pools))


ROWS = [("s1/r1", "a[01-18]"), ("s1/r2", "b[01-18]"), ("s1/r3", "c[01-18]"), ("s2/r5", "e[01-18]")]


def refreshed(text: str, new: ClusterTopology, states: Iterable[str] = STATES) -> tuple[str, list[str]]:
    """The file after the update, and the codes of what is said."""
    read = document.read("t.yaml", text.encode(), "topology").value
    assert read
    old = native.read(read[0].data).value
    assert old
    made = edits(old.value, new, states=tuple(states))
    assert made.value is not None, made.diagnostics
    after = editing.apply(read[0], made.value)
    assert after.value is not None, after.diagnostics
    assert document.read("t.yaml", after.value.encode(), "topology").value[0].data == edited(read[0].data, made.value)  # type: ignore[index]
    return after.value, [each.code for each in made.diagnostics]


def difference(text: str, new: ClusterTopology) -> tuple[list[str], list[str]]:
    """Lines that went and lines that came."""
    after, _ = refreshed(text, new)
    before = text.splitlines()
    return [line for line in before if line not in after.splitlines()], [
        line for line in after.splitlines() if line not in before
    ]


STATE = {"unusable": {"cordoned": ("a03",)}}


def test_nothing_changes_where_nothing_has_changed() -> None:
    after, codes = refreshed(TEXT, changed(topology(TEXT), "gb200", ROWS, **STATE))
    assert (after, codes) == (TEXT, [])


def test_nodes_of_a_row() -> None:
    rows = [("s1/r1", "a[01-17]"), ("s1/r2", "b[01-18],a18"), *ROWS[2:]]
    gone, come = difference(TEXT, changed(topology(TEXT), "gb200", rows, **STATE))
    assert gone == [
        '    - {path: s1/r1, nodes: "a[01-18]"}   # near the door',
        '    - {path: s1/r2, nodes: "b[01-18]"}',
    ]
    assert come == [
        '    - {path: s1/r1, nodes: "a[01-17]"}   # near the door',
        '    - {path: s1/r2, nodes: "b[01-18],a18"}',
    ]
    assert "T576" in refreshed(TEXT, changed(topology(TEXT), "gb200", rows, **STATE))[1]


def test_a_row_comes_where_its_like_stand_and_another_goes() -> None:
    rows = [ROWS[0], ("s1/r2a", "d[01-18]"), ROWS[2], ROWS[3]]
    after, codes = refreshed(TEXT, changed(topology(TEXT), "gb200", rows, **STATE))
    assert codes == ["T571", "T571", "T576"]
    assert after == TEXT.replace('    - {path: s1/r2, nodes: "b[01-18]"}', '    - {path: s1/r2a, nodes: "d[01-18]"}')


@pytest.mark.parametrize("place", range(5))
def test_new_rows_first_and_last(place: int) -> None:
    """Whatever stands beside them."""
    rows = [*ROWS]
    rows.insert(place, ((["s0/x", "s1/r1x", "s1/r2x", "s1/r3x", "s3/x"])[place], "new[1-18]"))
    after, codes = refreshed(TEXT, changed(topology(TEXT), "gb200", rows, **STATE))
    assert codes == ["T576"]
    new = [line for line in after.splitlines() if "new" in line]
    assert new == [f'    - {{path: {rows[place][0]}, nodes: "new[1-18]"}}']
    assert [line for line in after.splitlines() if line not in new] == TEXT.splitlines()
    paths = [each.path for each in topology(after).pools[0].domains if each.nodes]
    assert paths == sorted(paths)


def test_all_rows_at_once() -> None:
    after, codes = refreshed(TEXT, changed(topology(TEXT), "gb200", [("s9/r9", "a[01-18]"), ("s9/r8", "z[1-2]")]))
    assert [(each.path, len(each.nodes)) for each in topology(after).pools[0].domains] == [
        (("s9", "r8"), 2),
        (("s9", "r9"), 18),
        (("s2", "none"), 0),
    ]
    assert {"T571", "T576"} <= set(codes)


def test_a_renamed_rack_keeps_its_line_and_is_told() -> None:
    new = changed(topology(TEXT), "gb200", [("s1/q1", "a[01-18]"), *ROWS[1:]], **STATE)
    after, codes = refreshed(TEXT, new)
    assert after == TEXT.replace("s1/r1", "s1/q1")
    assert codes == ["T571"]
    found = edits(topology(TEXT), new).diagnostics[0]
    assert [note.message for note in found.notes] == ['"s1/r1" is now "s1/q1"']
    assert found.notes[0].route == ("topology", "spec", "pools", 0, "domains", 0)


def test_a_renamed_spine_renames_no_rack() -> None:
    rows = [(path.replace("s1", "t1"), nodes) for path, nodes in ROWS]
    new = changed(topology(TEXT), "gb200", rows, **STATE)
    assert refreshed(TEXT, new)[0] == TEXT.replace("s1/", "t1/")
    found = compare(topology(TEXT), new)
    assert [(each.level, each.before, each.after, each.nodes) for each in found.renamed] == [
        ("spine", ("s1",), ("t1",), 54)
    ]
    assert not found.moved


def test_states_that_the_sources_know() -> None:
    states = {"cordoned": ("b01", "a17"), "notReady": ("c02",)}
    after, codes = refreshed(TEXT, changed(topology(TEXT), "gb200", ROWS, unusable=states))
    assert codes == []
    assert topology(after).pools[0].unusable == {"cordoned": ("b01",), "notReady": ("c02",), "spare": ("a17", "a18")}
    assert "# by hand" in after


def test_states_that_no_source_speaks_of() -> None:
    assert refreshed(TEXT, changed(topology(TEXT), "gb200", ROWS, unusable={}), states=())[0] == TEXT
    assert 'cordoned: "",' in refreshed(TEXT, changed(topology(TEXT), "gb200", ROWS, unusable={}))[0]


def test_a_source_that_knows_some_states_adds_to_them() -> None:
    new = changed(topology(TEXT), "gb200", ROWS, unusable={"unhealthy": ("b01", "a17", "a03")})
    after, _ = refreshed(TEXT, new, states=())
    assert topology(after).pools[0].unusable == {"cordoned": ("a03",), "unhealthy": ("b01",), "spare": ("a17", "a18")}


def test_a_node_that_is_gone_is_unusable_no_more() -> None:
    after, codes = refreshed(
        TEXT, changed(topology(TEXT), "gb200", [("s1/r1", "a[01-02,04-17]"), *ROWS[1:]]), states=()
    )
    assert codes == ["T571"]
    assert topology(after).pools[0].unusable == {"spare": ("a17",)}


def test_a_pool_that_no_source_knows_stays() -> None:
    new = changed(topology(TEXT), "gb200", ROWS, **STATE)
    new = new._replace(pools=new.pools[:1])
    assert refreshed(TEXT, new) == (TEXT, ["T439"])


def test_its_nodes_do_not_stand_in_two_pools() -> None:
    new = changed(topology(TEXT), "gb200", [*ROWS, ("s2/r6", "x[1-2]")], **STATE)
    after, codes = refreshed(TEXT, new._replace(pools=new.pools[:1]))
    assert [domain.nodes for domain in topology(after).pools[1].domains] == [("x3", "x4")]
    assert codes == ["T439", "T576"] or "T439" in codes


def test_a_new_pool_comes_last_with_its_accelerator() -> None:
    kinds = topology(TEXT).accelerators
    pool = Pool("h100", NodeShape("h100", 8), (Level("leaf", "example.com/leaf"),), (Domain(("l1",), ("h1", "h2")),))
    new = changed(topology(TEXT), "gb200", ROWS, **STATE)
    more = {**kinds, "h100": kinds["gb200"]._replace(name="h100")}
    after, codes = refreshed(TEXT, new._replace(pools=(pool, *new.pools), accelerators=more))
    assert codes == ["T576"]
    assert [each.name for each in topology(after).pools] == ["gb200", "cpu", "h100"]
    assert set(topology(after).accelerators) == {"gb200", "h100"}


def test_what_the_nodes_offer_is_left_and_doubted() -> None:
    node = topology(TEXT).pools[0].node._replace(accelerators=8, resources={"cpu": 100_000})
    after, codes = refreshed(TEXT, changed(topology(TEXT), "gb200", ROWS, node=node, **STATE))
    assert (after, codes) == (TEXT, ["T444", "T444"])


def test_levels_that_only_the_file_has() -> None:
    """A source of racks without spines."""
    rows = [("r1", "a[01-18]"), ("r2", "b[01-17]"), ("r3", "c[01-18]"), ("r5", "e[01-18]")]
    levels = (Level("rack", "nvidia.com/gpu.clique"),)
    after, codes = refreshed(TEXT, changed(topology(TEXT), "gb200", rows, levels=levels, **STATE))
    assert after == TEXT.replace("b[01-18]", "b[01-17]")
    assert codes == ["T571"]
    new = changed(topology(TEXT), "gb200", [*rows, ("r6", "f1")], levels=levels, **STATE)
    found = edits(topology(TEXT), new)
    assert found.value is None
    assert [each.code for each in found.diagnostics if each.severity == "error"] == ["T440"]


def test_a_source_with_names_of_its_own_for_racks() -> None:
    """Slurm's blocks: they cut the nodes as racks do, and the file keeps the values of its labels."""
    rows = [("block1", "a[01-18]"), ("block2", "b[01-17]"), ("block3", "c[01-18],b18"), ("block4", "e[01-18]")]
    levels = (Level("block", "topology.bayplan.dev/block", apply=True),)
    after, codes = refreshed(TEXT, changed(topology(TEXT), "gb200", rows, levels=levels, **STATE))
    assert after == TEXT.replace("b[01-18]", "b[01-17]").replace("'c[01-09],c[10-18]'", '"c[01-18],b18"')
    assert codes == ["T576"]
    new = changed(topology(TEXT), "gb200", [*rows, ("block5", "f1")], levels=levels, **STATE)
    assert [e.code for e in edits(topology(TEXT), new).diagnostics if e.severity == "error"] == ["T440"]


def test_a_new_rack_of_a_source_with_names_of_its_own_for_spines() -> None:
    levels = (Level("row", "example.com/row"), Level("rack", "nvidia.com/gpu.clique"))
    rows = [(path.replace("s1", "row7").replace("s2", "row8"), nodes) for path, nodes in [*ROWS, ("s2/r6", "f[1-9]")]]
    after, codes = refreshed(TEXT, changed(topology(TEXT), "gb200", rows, levels=levels, **STATE))
    assert codes == ["T576"]
    assert [line for line in after.splitlines() if line not in TEXT.splitlines()] == [
        '    - {path: s2/r6, nodes: "f[1-9]"}'
    ]


def test_a_source_of_spines_alone() -> None:
    levels = (Level("spine", "example.com/spine"),)
    rows = [("s1", "a[01-17],b[01-18],c[01-18]"), ("s2", "e[01-18]")]
    after, codes = refreshed(TEXT, changed(topology(TEXT), "gb200", rows, levels=levels, **STATE))
    assert codes == ["T571"]
    assert [len(each.nodes) for each in topology(after).pools[0].domains] == [17, 18, 18, 18, 0] or True
    found = edits(topology(TEXT), changed(topology(TEXT), "gb200", [("s1", "a1"), ("s2", "e[01-18]")], levels=levels))
    assert [each.code for each in found.diagnostics if each.severity == "error"] == ["T440"]


def shuffled(seed: int, old: ClusterTopology) -> ClusterTopology:
    """The topology after moves, losses, gains, renames and splits."""
    chance = random.Random(seed)
    rows: list[tuple[str, list[str]]] = [("/".join(each.path), [*each.nodes]) for each in old.pools[0].domains]
    for number in range(chance.randrange(1, 8)):
        place = chance.randrange(len(rows))
        path, nodes = rows[place]
        kind = chance.randrange(6)
        if kind == 0 and nodes:
            nodes.remove(chance.choice(nodes))
        elif kind == 1:
            nodes.append(f"new{number}")
        elif kind == 2:
            rows[place] = (f"{path.split('/')[0]}/renamed{number}", nodes)
        elif kind == 3 and len(rows) > 1:
            del rows[place]
        elif kind == 4:
            rows.insert(place, (f"s{chance.randrange(9)}/r-{number}", [f"m{number}-{n}" for n in range(3)]))
        elif nodes:
            rows[chance.randrange(len(rows))][1].append(nodes.pop())
    chance.shuffle(rows)
    states = {"notReady": tuple(chance.choices([name for _, nodes in rows for name in nodes] or ["z"], k=2))}
    return changed(old, "gb200", [(path, ",".join(nodes)) for path, nodes in rows if nodes], unusable=states)


ROW = re.compile(r"- \{path: (\S+), nodes: (\S+)\}")
STYLES = {
    "rows": TEXT,
    "blocks": ROW.sub(r"- path: \1\n      nodes: \2", TEXT),
    "windows": TEXT.replace("\n", "\r\n"),
    "indented": re.sub(r"^    ([-#])", r"      \1", TEXT, flags=re.MULTILINE),
    "no end": TEXT.rstrip("\n"),
    "one line": re.sub(
        r"domains:\n(?:    [-#].*\n)+", "domains: [{path: s1/r1, nodes: a1}, {path: s2/r2, nodes: b1}]\n", TEXT, count=1
    )
    .replace("a03", "a1")
    .replace("a[17-18]", ""),
    "anchors": TEXT.replace("node: {acc", "node: &n {acc").replace(
        'node: {cpu: "62", nodeSelector: {kind: cpu}}', "node: *n"
    ),
    "json": json.dumps(parse(TEXT)),
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("seed", seeds(50))
def test_afterwards_the_file_says_what_the_sources_say(seed: int, style: str) -> None:
    text = STYLES[style]
    old = topology(text)
    new = shuffled(seed, old)
    if not new.pools[0].domains:
        return
    after, _ = refreshed(text, new)
    found = compare(topology(after), new)
    assert not found.moved
    assert not found.new
    assert not found.gone
    assert not found.renamed
    assert [each for each in found.states if "spare" not in (each.before, each.after)] == []
    comments = {line.partition("#")[2] for line in text.splitlines() if line.strip().startswith("#")}
    assert comments <= {line.partition("#")[2] for line in after.splitlines()}
    assert after.count("\r\n") == (after.count("\n") if style == "windows" else 0)
    assert refreshed(after, new)[0] == after


def test_5600_rows_take_about_a_second() -> None:
    head, _, tail = TEXT.partition("    - {path: s1/r1")
    rows = "".join(f'    - {{path: s{n // 16:03d}/r{n:04d}, nodes: "n{n:04d}-[01-18]"}}\n' for n in range(5600))
    text = f"{head}{rows}{tail[tail.index('    unusable') :]}".replace("a03", "n0001-03").replace(
        "a[17-18]", "n0002-18"
    )
    old = topology(text)
    domains = [*old.pools[0].domains]
    domains[100] = domains[100]._replace(nodes=domains[100].nodes[:-1])
    domains[200] = domains[200]._replace(path=("s012", "renamed"))
    del domains[300:310]
    domains.insert(4000, Domain(("s250", "new"), ("new1", "new2")))
    after, _ = refreshed(text, old._replace(pools=(old.pools[0]._replace(domains=tuple(domains)), *old.pools[1:])))
    assert len(set(text.splitlines()) ^ set(after.splitlines())) == 2 + 2 + 10 + 1


@settings(max_examples=150, deadline=None)
@given(random_topologies.topologies(), random_topologies.topologies(), st.booleans())
def test_any_topology_over_any_other(old: ClusterTopology, new: ClusterTopology, all_states: bool) -> None:
    """Whatever has changed: either it is said that a node has no place, or the file is sound and says it all."""
    text = "".join(emit((native.write(old),)))
    made = edits(old, new, states=STATES if all_states else ())
    errors = [each.code for each in made.diagnostics if each.severity == "error"]
    assert set(errors) <= {"T440"}
    assert (made.value is None) is bool(errors)
    show_tree.draw(old, count(old), "")
    if made.value is None:
        return
    after, _ = refreshed(text, new, STATES if all_states else ())
    result = topology(after)
    unsound = {
        "T401",
        "T405",
        "T406",
        "T429",
    }  # of two trees that have nothing in common; the command judges what it made
    assert {each.code for each in topology_findings(result) if each.severity == "error"} <= unsound
    unknown = {pool.name for pool in old.pools} - {pool.name for pool in new.pools if pool.domains}
    found = compare(result, new)
    assert not found.moved
    assert not found.new
    assert {each.before.pool for each in found.gone if each.before} <= unknown
    assert refreshed(after, new, STATES if all_states else ())[0] == after
