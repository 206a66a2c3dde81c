"""docs/schedulers.md, made from the tables of support: `python tests/tools/refresh_docs.py` writes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bayplan.backends import BACKENDS
from bayplan.cli.schedulers import existing_matrix, extent, matrix
from bayplan.kube.kinds import KINDS
from bayplan.model.backend import FEATURES, Backend, Feature, Support
from bayplan.model.target import KNOWN

PAGE = Path(__file__).resolve().parents[2] / "docs" / "schedulers.md"

INTRO = """\
# What each scheduler carries

Made from the tables that `bayplan` itself decides by, by `python tests/tools/refresh_docs.py`; `bayplan schedulers`
prints the first table. A cell is about the newest version that bayplan knows: `since` and `up to` bound what is carried
exactly, `in part` is told below, and where nothing is carried it says whether that is *not yet here* (bayplan could),
*not yet upstream* (the scheduler may one day) or *never*. `bayplan check WORKFLOW -t TOPOLOGY -s all` says it of one
workflow.

"""

GIVEN = """
## Workloads that are there

What `post-render` and `PlaceWorkloads` can do for workloads that others wrote. Their pod templates are what they are,
so pods of one template are told apart only where the scheduler does it; `bayplan schedulers NAME` has the reasons.

"""

DETAIL = """
## What is lost, and the way out

A required thing that a scheduler lacks is an error, a preferred one a warning; `--accept CODE` takes one gap as a
warning.
"""


def text() -> str:
    """The whole page."""
    backends = list(BACKENDS.values())
    given = "".join(_table(list(existing_matrix(backends))))
    carried = INTRO + "".join(_table(list(matrix(backends))))
    return carried + GIVEN + given + DETAIL + "".join(map(_section, backends))


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for number, row in enumerate(rows):
        yield "| " + " | ".join(row) + " |\n"
        if not number:
            yield "|" + "---|" * len(row) + "\n"


def _section(backend: Backend) -> str:
    own = backend.declared
    head = f"\n### [{own.name}](schedulers/{own.name}.md)\n\n"
    versions = f"{own.component} {', '.join(KNOWN[own.component])}; workloads {', '.join(own.kinds)}.\n\n"
    features = {**FEATURES, **own.features}
    rows = [row for row in own.support if row.fidelity != "exact"]
    rows += [row for kind in own.kinds for row in KINDS[kind].SUPPORT if row.fidelity != "exact"]
    order = {name: number for number, name in enumerate(features)}
    lost = sorted(dict.fromkeys(rows), key=lambda row: order[row.feature])
    return head + versions + "".join(_table([_HEAD, *(_row(row, features[row.feature]) for row in lost)]))


_HEAD = ("code", "feature", "where", "", "why", "the way out")


def _row(row: Support, feature: Feature) -> tuple[str, ...]:
    verdict = "in part" if row.fidelity == "approximate" else row.word
    cells = (feature.code, feature.meaning, extent(row, feature.unit), verdict, row.reason, row.hint)
    return tuple(cell.replace("|", "\\|") for cell in cells)
