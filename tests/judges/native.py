"""Rules of kube-apiserver for Workload, PodGroup and CompositePodGroup that no schema holds.

Sources: kubernetes pkg/apis/scheduling/validation/validation.go (1.35.0 to 1.37.0), the `+k8s:` markers in
k8s.io/api scheduling/{v1alpha1,v1alpha2,v1beta1,v1alpha3}/types.go, plugin/pkg/admission/podgroup (1.36: a
referenced template must exist), KEP-6012 (disruption modes, runtime hierarchy) and KEP-4671 (one schedulerName).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judges import workloads
from judges.syntax import is_key, is_label, is_subdomain

Document = Mapping[str, Any]
GROUP = "scheduling.k8s.io/"
KINDS = ("Workload", "PodGroup", "CompositePodGroup")
MOST, DEEPEST, HIGHEST = 8, 4, 1_000_000_000


def judge(document: Document, target: Mapping[str, str]) -> list[str]:
    """Complaints about one object; none about kinds of others."""
    if not document["apiVersion"].startswith(GROUP) or document["kind"] not in KINDS:
        return []
    spec = document.get("spec") or {}
    if document["kind"] != "Workload":
        return [*group(document["kind"], spec)]
    if "podGroups" in spec:
        return [*counted(spec["podGroups"])]
    return [*workload(spec)]


def counted(groups: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """1.35: one to eight pod groups."""
    yield from listed("podGroups", groups)
    for each in groups:
        yield from union(f"pod group {each.get('name')!r}: policy", each.get("policy"), "basic", "gang")
        yield from count(each.get("policy"), "minCount")


def workload(spec: Mapping[str, Any]) -> Iterator[str]:
    """Exactly one list; the tree of templates is at most 4 deep, its names are unique, its priorities equal."""
    yield from union("spec", spec, "podGroupTemplates", "compositePodGroupTemplates")
    everyone = list(tree(spec, 1))
    names = [template.get("name") for template, _, _ in everyone]
    yield from (f"template name {name!r} occurs twice" for name in sorted({n for n in names if names.count(n) > 1}))
    if max((depth for _, depth, _ in everyone), default=0) > DEEPEST:
        yield f"templates are more than {DEEPEST} deep"
    if len({(each.get("priorityClassName", ""), each.get("priority")) for each, _, _ in everyone}) > 1:
        yield "templates differ in priority"
    for template, _, composite in everyone:
        yield from rules(f"template {template.get('name')!r}", template, composite)
        if composite:
            yield from family(template)


def family(template: Mapping[str, Any]) -> Iterator[str]:
    """A composite has children, and one that is disrupted as a whole has only such children."""
    children = [*(template.get("podGroupTemplates") or ()), *(template.get("compositePodGroupTemplates") or ())]
    if not children:
        yield f"template {template.get('name')!r} has no children"
    if "all" in (template.get("disruptionMode") or {}):
        for child in children:
            if "all" not in (child.get("disruptionMode") or {}):
                yield f"template {child.get('name')!r} is disrupted apart below one that is not"


def tree(spec: Mapping[str, Any], depth: int) -> Iterator[tuple[Mapping[str, Any], int, bool]]:
    """Every template with its depth, and whether it is composite."""
    for template in spec.get("podGroupTemplates") or ():
        yield template, depth, False
    for template in spec.get("compositePodGroupTemplates") or ():
        yield template, depth, True
        yield from tree(template, depth + 1)


def rules(where: str, spec: Mapping[str, Any], composite: bool) -> Iterator[str]:
    """What templates and groups have in common."""
    if "name" in spec and not is_label(spec["name"]):
        yield f"{where}: its name is no DNS label"
    policy = spec.get("schedulingPolicy")
    yield from union(f"{where}: schedulingPolicy", policy, "basic", "gang")
    yield from count(policy, "minGroupCount" if composite else "minCount")
    for word in ("podGroupTemplates", "compositePodGroupTemplates"):
        if word in spec:
            yield from listed(f"{where}: {word}", spec[word])
    keys = (spec.get("schedulingConstraints") or {}).get("topology") or ()
    if len(keys) > 1:
        yield f"{where}: more than one level"
    for key in keys:
        if not is_key(key.get("key", "")):
            yield f"{where}: the level {key.get('key')!r} is no label key"
    mode = spec.get("disruptionMode")
    if isinstance(mode, Mapping):
        yield from union(f"{where}: disruptionMode", mode, "single", "all")
    elif mode not in (None, "Pod", "PodGroup"):
        yield f"{where}: disruptionMode {mode!r}"
    yield from claims(where, spec.get("resourceClaims") or ())
    if (spec.get("priority") or 0) > HIGHEST:
        yield f"{where}: priority is more than {HIGHEST}"


def claims(where: str, wanted: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """At most four claims, each of one source."""
    if len(wanted) > 4:
        yield f"{where}: more than 4 resource claims"
    for claim in wanted:
        yield from union(f"{where}: claim", claim, "resourceClaimName", "resourceClaimTemplateName")


def group(kind: str, spec: Mapping[str, Any]) -> Iterator[str]:
    """A group that has a parent, or is composite, names its template."""
    yield from rules(kind, spec, kind == "CompositePodGroup")
    named = spec.get("workloadRef") or (spec.get("podGroupTemplateRef") or {}).get("workload")
    parent = spec.get("parentCompositePodGroupName")
    if not named and (parent or kind == "CompositePodGroup"):
        yield f"{kind}: workloadRef is required"
    if parent and not is_subdomain(parent):
        yield f"{kind}: the parent {parent!r} is no DNS subdomain"


def listed(where: str, templates: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """One to eight, by name."""
    names = [each.get("name", "") for each in templates]
    if not 1 <= len(names) <= MOST:
        yield f"{where}: {len(names)} entries, not 1 to {MOST}"
    yield from (f"{where}: {name!r} is no DNS label" for name in names if not is_label(name))
    yield from (f"{where}: {name!r} occurs twice" for name in sorted(set(names)) if names.count(name) > 1)


def union(where: str, value: Mapping[str, Any] | None, *members: str) -> Iterator[str]:
    """Exactly one of the members."""
    given = [member for member in members if member in (value or {})]
    if len(given) != 1:
        yield f"{where}: {' and '.join(given) or 'none'} of {', '.join(members)}"


def count(policy: Mapping[str, Any] | None, word: str) -> Iterator[str]:
    """A gang counts at least one."""
    gang = (policy or {}).get("gang")
    if gang is not None and gang.get(word, 0) < 1:
        yield f"{word} is {gang.get(word)!r}"


def together(documents: Sequence[Document]) -> list[str]:
    """Rules across objects: what is referred to exists, groups are what their templates say, pods are enough."""
    own = [each for each in documents if each["apiVersion"].startswith(GROUP) and each["kind"] in KINDS]
    found = {(each["kind"], *key(each)): each for each in own}
    return [*references(found), *members(documents, found)]


Key = tuple[str, str, str]  # kind, namespace, name


def key(document: Document) -> tuple[str, str]:
    """(namespace, name)."""
    return document["metadata"].get("namespace", ""), document["metadata"]["name"]


def references(found: Mapping[Key, Document]) -> Iterator[str]:
    """Templates and parents exist, and a group repeats what its template says."""
    for (kind, namespace, name), document in found.items():
        if kind == "Workload":
            continue
        spec = document["spec"]
        if kind == "PodGroup" and not {"podGroupTemplateRef", "workloadRef"} & {*spec}:
            continue  # a group of its own: both references are optional (scheduling/v1alpha2 and v1beta1 types.go)
        old = (spec.get("podGroupTemplateRef") or {}).get("workload") or {}
        reference = spec.get("workloadRef") or {**old, "templateName": old.get("podGroupTemplateName")}
        workload_ = found.get(("Workload", namespace, reference.get("workloadName"))) or {"spec": {}}
        made = {t["name"]: (t, composite) for t, _, composite in tree(workload_["spec"], 1)}
        template, composite = made.get(reference.get("templateName"), (None, False))
        if template is None or composite != (kind == "CompositePodGroup"):
            yield f"{kind} {name!r}: no such template"
            continue
        for word in ("schedulingPolicy", "schedulingConstraints", "disruptionMode", "priorityClassName"):
            if spec.get(word) != template.get(word):
                yield f"{kind} {name!r}: {word} is not that of its template"
        yield from ancestors(found, document)


def ancestors(found: Mapping[Key, Document], document: Document) -> Iterator[str]:
    """Every parent exists, and there are no more than four on the way up (KEP-6012, "Group hierarchy")."""
    name, namespace = document["metadata"]["name"], key(document)[0]
    parent, seen = document["spec"].get("parentCompositePodGroupName"), 1
    while parent and seen <= DEEPEST:
        above = found.get(("CompositePodGroup", namespace, parent))
        if above is None:
            yield f"{document['kind']} {name!r}: no parent {parent!r}"
            return
        parent, seen = above["spec"].get("parentCompositePodGroupName"), seen + 1
    if seen > DEEPEST:
        yield f"{document['kind']} {name!r}: its tree is too deep"


def members(documents: Sequence[Document], found: Mapping[Key, Document]) -> Iterator[str]:
    """Groups get as many members as they wait for; pods name a group, have its priority, and share a scheduler."""
    pods: dict[Key, int] = {}
    names = set()
    for namespace, number, spec in (each for document in documents for each in templates(document)):
        counted_, named = spec.get("workloadRef"), (spec.get("schedulingGroup") or {}).get("podGroupName")
        group_ = ("Workload", namespace, counted_["name"]) if counted_ else ("PodGroup", namespace, named)
        if not (counted_ or named):
            continue
        names.add(spec.get("schedulerName", ""))
        pods[group_] = pods.get(group_, 0) + number
        if group_ not in found:
            yield f"pods name the {group_[0]} {group_[2]!r}, which is missing"
        elif found[group_]["spec"].get("priorityClassName", "") not in ("", spec.get("priorityClassName", "")):
            yield f"pods of {group_[2]!r} have another priority class than their group"
    if len(names) > 1:
        yield f"pods have several schedulers: {sorted(names)}"
    children: dict[Key, int] = {}
    for (_, namespace, _), document in found.items():
        if parent := document["spec"].get("parentCompositePodGroupName"):
            above = ("CompositePodGroup", namespace, parent)
            children[above] = children.get(above, 0) + 1
    for identity, document in found.items():
        gang = (document["spec"].get("schedulingPolicy") or {}).get("gang") or {}
        has = children.get(identity, 0) if identity[0] == "CompositePodGroup" else pods.get(identity, 0)
        least = gang.get("minGroupCount", gang.get("minCount", 0))
        for each in document["spec"].get("podGroups") or ():
            least = each["policy"]["gang"]["minCount"]
        if has < least:
            yield f"{identity[0]} {identity[2]!r} waits for {least} and gets {has}"


def templates(document: Document) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """Namespace, number of pods and pod spec of each pod template that bayplan writes."""
    for template, number in workloads.templates(document):
        yield key(document)[0], number, template.get("spec") or {}
