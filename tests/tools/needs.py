"""What skipped tests need, in at most ten kinds: a run ends with a line for each of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Need(NamedTuple):
    """A kind of thing beside the clone. `reasons`: the reasons of `pytest.skip` that mean it."""

    what: str
    command: str
    reasons: str


NEEDS = (
    Need(
        "CRDs and examples of other projects",
        "export BAYPLAN_UPSTREAM=FOLDER",
        r"upstream|OSMO's files|OSMO workflows|TorchX applications|no CRDs at|no examples",
    ),
    Need("the schedulers' own code", "bash tests/e2e/prepare", r"no replay-|kube-apiserver|tests/e2e/"),
    Need("CRDs by release", "bash tests/judges/prepare", r"no CRD for"),
    Need("the static program", "packaging/binary dist; export BAYPLAN_BINARY=$PWD/dist/bayplan-linux-amd64", "BINARY"),
    Need("TorchX with its scheduler", "bash tests/torchx/prepare", "run tests/torchx/prepare"),
    Need("a browser", "pip install -e '.[browser,docs]'; apt-get install chromium", r"playwright|axe"),
    Need("much time", "export BAYPLAN_LONG=1", "BAYPLAN_LONG|thousands"),
    Need("OSMO, SkyPilot, dstack or TorchX", "see Contributing", r"no Python with|in BAYPLAN_OSMO|lacks a module"),
    Need("another machine", "see Contributing", r"root may|/dev/full|/dev/shm|pip has an index|PIP_FIND_LINKS|only "),
    Need("programs that read what bayplan writes", "bash .ci/programs", r"is not installed|^without |^missing: "),
)


def summary(reasons: Iterable[str]) -> Iterator[str]:
    """A line for each kind of need, with the number of tests. Another reason has a line of its own."""
    counts = Counter(kind_of(reason) for reason in reasons)
    for need, number in counts.most_common():
        if isinstance(need, Need):
            yield f"{number:6,} skipped: need {need.what} ({need.command})"
        else:
            yield f"{number:6,} skipped: {need}"


def kind_of(reason: str) -> Need | str:
    """The need of a reason, or the reason itself if no row has it."""
    return next((need for need in NEEDS if re.search(need.reasons, reason)), reason)
