"""What a scheduler supports: the rows of `support.yaml` in the folder of its backend.

    support:
    - exact: required-level preferred-level  # features, for each amount and version
    - exact: slice-layers
      up to: 3                               # for amounts up to this one
      of: kueue >=0.19                       # in these versions of a component
    - not yet upstream: slice-layers
      why: Kueue has at most 3 nested layers of slices
      hint: target Kueue 0.19, or nest fewer groups

The first row of a feature that covers the amount and the versions decides. The first key of a row is `exact`,
`approximate`, `never`, `not yet upstream` or `not yet in bayplan`. `why` is a sentence whose subject is the scheduler.
`beside` has versions of another component. `report` is the severity of an approximate row, by default an error.
`features` has those that concern only this scheduler, and `existing` the rows for workloads that exist already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from bayplan.core import package_data
from bayplan.model.backend import Feature, Fidelity, Support, Word
from bayplan.text import document
from bayplan.text.source import Limits, limited

KEYS: Mapping[str, tuple[Fidelity, Word]] = {
    "exact": ("exact", ""),
    "approximate": ("approximate", ""),
    "never": ("absent", "no"),
    "not yet upstream": ("absent", "not yet upstream"),
    "not yet in bayplan": ("absent", "not yet in bayplan"),
}
"""The first key of a row -> what it says."""


class Table(NamedTuple):
    """The features of a backend, and its rows."""

    features: Mapping[str, Feature]
    support: tuple[Support, ...]
    existing: tuple[Support, ...]


@cache
def table(*folder: str) -> Table:
    """The table of a backend, by the folder of its package: `table("backends", "kai")`."""
    raw = package_data.table(*folder, "support.yaml").encode()
    with limited(Limits()):  # those of the command are for files of users
        (data,) = (part.data for part in document.read("support.yaml", raw, "table", own=False).value or ())
    features = {name: Feature(**row) for name, row in data.get("features", {}).items()}
    return Table(features, tuple(_rows(data["support"])), tuple(_rows(data.get("existing", ()))))


def _rows(rows: list[Mapping[str, Any]]) -> Iterator[Support]:
    for row in rows:
        key, names = next(iter(row.items()))
        fidelity, word = KEYS[key]
        component, since, until = _span(row.get("of", ""))
        shared = Support(
            "", fidelity, row.get("up to"), component, since, until, row.get("why", ""), word, row.get("hint", ""),
            row.get("report", "error"), _span(row.get("beside", "")),
        )  # fmt: skip
        for name in names.split():
            yield shared._replace(feature=name)


def _span(text: str) -> tuple[str, str, str]:
    """`kueue >=0.18 <0.19` as component, first version, and the version that is too new."""
    component, *bounds = text.split() or [""]
    since = next((each.removeprefix(">=") for each in bounds if each.startswith(">=")), "")
    until = next((each.removeprefix("<") for each in bounds if each.startswith("<")), "")
    return component, since, until
