"""Pods that HAMi's webhook refuses or leaves alone (2.10.0, pkg/scheduler/webhook.go)."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.accelerators.matrix import verdict
from bayplan.accelerators.rules.seen import KEPT, Fault, Seen
from bayplan.kube.safe import get, items, text
from bayplan.kube.vendors import VOLCANO

WEBHOOK = "hami.io/webhook"
VOLCANOS = ("huawei.com/Ascend",)
"""Cards that Volcano hands out under the names that HAMi has for them (deviceshare.AscendHAMiVNPUEnable)."""


def check(seen: Seen) -> Iterator[Fault]:
    """Privileged containers, pods with a node of their own, with another scheduler, or out of its reach."""
    if not seen.ours:
        return
    yield from _scheduler(seen)
    if seen.scheduler not in KEPT:
        return
    yield from _privileged(seen)
    if get(seen.spec, "nodeName") not in (None, ""):
        message = "HAMi refuses pods that have a node already, for it is to choose the cards with the node"
        yield Fault("node", "error", ("spec", "nodeName"), message, "use a `nodeSelector`")
    label = get(seen.data, "metadata", "labels", WEBHOOK)
    if label == "ignore":
        message = "HAMi's webhook leaves these pods alone: nothing completes what they ask for, and nothing checks it"
        yield Fault("scheduler", "warning", ("metadata", "labels", WEBHOOK), message, "remove the label")


def _privileged(seen: Seen) -> Iterator[Fault]:
    """Since 2.10 refused; before, its cards are not seen, and the pod waits (HAMi#2138, HAMi#2139)."""
    for key in ("initContainers", "containers"):
        for number, container in enumerate(items(seen.spec, key)):
            if get(container, "securityContext", "privileged") is True:
                path = ("spec", key, number, "securityContext", "privileged")
                name = text(container, "name")
                hint = "leave it out; what needs locked memory, such as RDMA, is served by the capability IPC_LOCK"
                if seen.target.since("hami", "2.10"):
                    message = f'HAMi refuses pods with cards and a privileged container ("{name}")'
                    yield Fault("privileged", "error", path, message, hint)
                else:
                    message = f'HAMi does not see the cards of the privileged container "{name}", and its pod waits'
                    yield Fault("privileged", "warning", path, message, hint)


def _scheduler(seen: Seen) -> Iterator[Fault]:
    own = VOLCANOS if seen.scheduler == "volcano" else ()
    cards = [ask for ask in seen.asks if not ask.names.cards.startswith((VOLCANO, *own))]
    if seen.scheduler in KEPT or not cards:
        return
    lost = "their shares are not enforced" if any(ask.shared for ask in cards) else "nobody chooses their cards"
    message = f'HAMi leaves pods of the scheduler "{seen.scheduler}" alone: {lost}'
    hint = "leave `schedulerName` out, or ask for the cards by what that scheduler understands"
    refused = all(_refused(seen.scheduler, ask.names.vendor) for ask in cards)
    yield Fault("scheduler", "error" if refused else "warning", ("spec", "schedulerName"), message, hint)


BACKENDS = {"volcano": "volcano", "kai-scheduler": "kai", "koord-scheduler": "koordinator"}
"""Scheduler of pods -> the name that `accelerators/matrix.py` has for it."""


def _refused(scheduler: str, vendor: str) -> bool:
    """Whether it is known that the scheduler cannot hand out cards under HAMi's names. Of another nobody knows."""
    row = verdict(BACKENDS.get(scheduler, ""), vendor, "hami", frozenset({"foreign"}))
    return row is not None and row.verdict == "no"
