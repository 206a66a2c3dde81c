"""A rendered pod template, cut into what the native format has fields for and what goes into `template`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from bayplan.kube import quantity
from bayplan.kube.own import OWN_FIELDS
from bayplan.kube.pod import REQUIRED
from bayplan.values import NamedTuple

GPU = "nvidia.com/gpu"

CONTROL = "osmo-ctrl"
OSMO_CONTAINERS = (CONTROL, "osmo-init")
"""Containers that OSMO adds to every pod; bayplan has none of them."""

OSMO_VOLUMES = ("osmo", "osmo-data", "osmo-login", "osmo-usr-bin", "osmo-run")
"""Volumes that OSMO adds to every pod (src/utils/job/task.py)."""

MANAGED = ("image", "command", "args")
"""Fields of the user's container that the task says (OSMO's documentation forbids them in templates)."""

Path = tuple[str, ...]


class Cut(NamedTuple):
    """The parts of a pod template. `left_out`, `claims` and `unequal` name what a reader should know of."""

    resources: Mapping[str, str] = {}
    accelerators: int | None = None
    template: Mapping[str, Any] = {}
    left_out: tuple[Path, ...] = ()  # fields that are bayplan's own
    imageless: tuple[str, ...] = ()  # containers beside the user's that cannot run
    control: tuple[Path, ...] = ()  # parts for OSMO's containers
    claims: tuple[str, ...] = ()  # claims on a ComputeDomain channel
    unequal: tuple[str, ...] = ()  # resources whose limit is not their request
    faults: tuple[tuple[str, str], ...] = ()  # resource and why it is no amount


def cut(template: Mapping[str, Any], container: str, channels: Collection[str]) -> Cut:
    """The template without what is OSMO's or bayplan's own; `channels`: claim templates of ComputeDomains."""
    spec = dict(template.get("spec") or {})
    left = [("spec", name) for name in OWN_FIELDS if spec.pop(name, None) is not None]
    left += [("metadata", name) for name in template.get("metadata") or {} if name not in ("labels", "annotations")]
    control = tuple(_take_control(spec))
    claims = tuple(_take_claims(spec, channels))
    containers = [_unclaimed(each, claims) for each in spec.pop("containers", None) or ()]
    own: dict[str, Any] = next((each for each in containers if each.get("name") == container), {})
    beside = [each for each in containers if each is not own]
    imageless = tuple(str(each.get("name", "")) for each in beside if not each.get("image"))
    managed = [("spec", "containers", container, name) for name in MANAGED if name in own]
    amounts = _amounts(own.get("resources") or {})
    kept = [*_main(own, amounts), *(each for each in beside if each.get("image"))]
    whole = {"metadata": _metadata(template), "spec": vacuous({**spec, **({"containers": kept} if kept else {})})}
    return Cut(
        resources=amounts.equal,
        accelerators=amounts.cards,
        template={key: value for key, value in whole.items() if value},
        left_out=(*left, *managed),
        imageless=imageless,
        control=control,
        claims=claims,
        unequal=amounts.unequal,
        faults=amounts.faults,
    )


def _main(own: Mapping[str, Any], amounts: Amounts) -> list[dict[str, Any]]:
    """The user's container without what has a field of its own, unless nothing but its name is left."""
    claims = (own.get("resources") or {}).get("claims")
    resources = {**amounts.differing, **({"claims": claims} if claims else {})}
    rest = _without(own, *MANAGED, "resources")
    main = {**rest, **({"resources": resources} if resources else {})}
    return [main] if main.keys() - {"name"} else []


def _metadata(template: Mapping[str, Any]) -> dict[str, Any]:
    metadata = template.get("metadata") or {}
    return {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}


def _take_control(spec: dict[str, Any]) -> Iterator[Path]:
    """Removes OSMO's containers and volumes, and mounts of those volumes in other containers."""
    for key in ("containers", "initContainers"):
        kept = []
        for each in spec.get(key) or ():
            name = str(each.get("name", ""))
            if name in OSMO_CONTAINERS:
                yield from [("spec", key, name)] if len(each) > 1 else []
                continue
            mounts = each.get("volumeMounts") or ()
            own = [mount for mount in mounts if mount.get("name") not in OSMO_VOLUMES]
            yield from [("spec", key, name, "volumeMounts")] if len(own) < len(mounts) else []
            kept.append({**each, "volumeMounts": own} if own else _without(each, "volumeMounts"))
        _put(spec, key, kept)
    volumes = spec.get("volumes") or ()
    yield from (("spec", "volumes", each["name"]) for each in volumes if each.get("name") in OSMO_VOLUMES)
    _put(spec, "volumes", [each for each in volumes if each.get("name") not in OSMO_VOLUMES])


def _put(spec: dict[str, Any], key: str, value: list[Any]) -> None:
    if value:
        spec[key] = value
    else:
        spec.pop(key, None)


def _without(owner: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in owner.items() if key not in keys}


def _take_claims(spec: dict[str, Any], channels: Collection[str]) -> Iterator[str]:
    """Removes the pod's claims on channels; their names."""
    claims = spec.get("resourceClaims") or ()
    taken = [each for each in claims if str(each.get("resourceClaimTemplateName", "")) in channels]
    yield from (str(each.get("name", "")) for each in taken)
    _put(spec, "resourceClaims", [each for each in claims if each not in taken])


def _unclaimed(container: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """A container that uses none of these claims."""
    resources = container.get("resources") or {}
    if not names or not resources.get("claims"):
        return dict(container)
    kept = [each for each in resources["claims"] if each.get("name") not in names]
    made = {**resources, "claims": kept} if kept else _without(resources, "claims")
    return {**container, "resources": made} if made else _without(container, "resources")


class Amounts(NamedTuple):
    """Requests and limits of the user's container, those that are the same taken together."""

    equal: Mapping[str, str]
    differing: Mapping[str, Mapping[str, str]]
    cards: int | None
    unequal: tuple[str, ...]
    faults: tuple[tuple[str, str], ...]


def _amounts(resources: Mapping[str, Any]) -> Amounts:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    read = {name: (_amount(requests.get(name)), _amount(limits.get(name))) for name in {**limits, **requests}}
    faults = [(name, each) for name, pair in read.items() for each in pair if isinstance(each, str)]
    sound = {name: pair for name, pair in read.items() if name not in dict(faults)}
    request, limit = sound.pop(GPU, (None, None))
    cards = limit if limit is not None else request
    equal: dict[str, str] = {}
    apart: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for name, (least, most) in sorted(sound.items()):
        if most is not None and least in (None, most):  # Kubernetes takes a limit for a missing request
            equal.update({name: quantity.show(int(most))} if most else {})
            continue
        for key, amount in (("requests", least), ("limits", most)):
            apart[key] |= {} if amount is None else {name: quantity.show(int(amount))}
    unequal = tuple(sorted({*apart["requests"], *apart["limits"]}))
    differing = {key: amounts for key, amounts in apart.items() if amounts}
    count = None if cards is None else int(cards) // 1000
    return Amounts(equal, differing, count, unequal, tuple(faults))


def _amount(value: Any) -> int | str | None:
    """Thousandths; a text that says why it is no amount; None where there is none."""
    if value is None:
        return None
    try:
        amount = quantity.parse(str(value))
    except ValueError as reason:
        return str(reason)
    return amount if amount >= 0 else f'"{value}" is less than nothing'


def vacuous(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec without node affinity that excludes nothing: `NotIn` of no values, as without excluded nodes."""
    affinity = _mapping(spec.get("affinity"))
    nodes = _mapping(affinity.get("nodeAffinity"))
    required = _mapping(nodes.get(REQUIRED))
    terms = [_term(each) for each in _list(required.get("nodeSelectorTerms")) if isinstance(each, Mapping)]
    if not terms:
        return spec
    kept = _without(nodes, REQUIRED)
    if all(any(term.values()) for term in terms):  # a term without expressions would be met by every node
        kept[REQUIRED] = {**required, "nodeSelectorTerms": terms}
    made = {**affinity, "nodeAffinity": kept} if kept else _without(affinity, "nodeAffinity")
    return {**spec, "affinity": made} if made else _without(spec, "affinity")


def _term(term: Mapping[str, Any]) -> dict[str, Any]:
    kept = [each for each in _list(term.get("matchExpressions")) if not _says_nothing(each)]
    return {**term, "matchExpressions": kept} if kept else _without(term, "matchExpressions")


def _says_nothing(expression: Any) -> bool:
    named = isinstance(expression, Mapping) and expression.get("operator") == "NotIn"
    return named and isinstance(expression.get("values"), list) and not any(expression["values"])


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
