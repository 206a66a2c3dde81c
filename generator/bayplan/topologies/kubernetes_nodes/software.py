"""Versions of the cluster's software: from kubelets, from images of controllers, and from labels of CRDs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from bayplan.core.diagnostics import Diagnostic, Route, info, warning
from bayplan.core.phrases import listing
from bayplan.kube.objects import api_group, is_kind, items, pod_templates, text
from bayplan.model.target import KNOWN, minor, order

IMAGES: Mapping[str, str] = {
    "kai-scheduler/scheduler": "kai",
    "vc-scheduler": "volcano",
    "kueue/kueue": "kueue",
    "koord-scheduler": "koordinator",
    "jobset/jobset": "jobset",
    "lws/lws": "lws",
    "trainer/trainer-controller-manager": "trainer",
    "k8s-dra-driver-gpu": "draDriver",
    "dra-driver-nvidia-gpu": "draDriver",
    "nvidia/k8s-device-plugin": "nvidiaDevicePlugin",
    "cloud-native/network-operator": "networkOperator",
    "projecthami/hami": "hami",
}
"""The end of an image's repository -> the component whose version is the image's tag. Mirrors keep the end."""
GROUPS: Mapping[str, str] = {
    "scheduling.run.ai": "kai",
    "kai.scheduler": "kai",
    "scheduling.volcano.sh": "volcano",
    "topology.volcano.sh": "volcano",
    "kueue.x-k8s.io": "kueue",
    "scheduling.koordinator.sh": "koordinator",
    "jobset.x-k8s.io": "jobset",
    "leaderworkerset.x-k8s.io": "lws",
    "trainer.kubeflow.org": "trainer",
    "resource.nvidia.com": "draDriver",
    "mellanox.com": "networkOperator",
}
"""API group -> the component whose CRDs are in it."""
WORKLOADS = ("Deployment", "DaemonSet", "StatefulSet", "Pod")
"""Kinds whose images run. A ReplicaSet may be an old revision."""
CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")
VERSION = "app.kubernetes.io/version"
"""Helm charts set it on all of their objects; Kueue's chart also on its CRDs."""
KINDS = (*WORKLOADS, CRD[1])

_VERSION = re.compile(r"v?(\d{1,4}\.\d{1,4}(\.\d{1,4})?)(?![.\d])")


class Software:
    """What the objects of a source reveal about software: the versions of each component, with their first place."""

    def __init__(self) -> None:
        self.seen = False  # an object that could reveal a version
        self.kubelets: dict[str, Route] = {}
        self.found: dict[str, dict[str, Route]] = {}

    def add(self, place: Route, data: object) -> None:
        """Looks at an object that is not a Node."""
        if is_kind(data, *CRD):
            self.seen = True
            component = GROUPS.get(text(data, "spec", "group"), "")
            if component:
                self._add(component, text(data, "metadata", "labels", VERSION), place)
        elif text(data, "kind") in WORKLOADS and api_group(data) in ("", "apps"):
            self.seen = True
            for _, template in pod_templates(data):
                for container in (*items(template, "spec", "initContainers"), *items(template, "spec", "containers")):
                    self._add_image(text(container, "image"), text(data, "metadata", "labels", VERSION), place)

    def _add_image(self, image: str, label: str, place: Route) -> None:
        repository, _, tag = image.partition("@")[0].rpartition(":")
        if "/" in tag or not repository:  # the colon is of the registry's port
            repository, tag = image.partition("@")[0], ""
        end = repository.split("/")
        component = IMAGES.get("/".join(end[-2:])) or IMAGES.get(end[-1])
        if component:
            self._add(component, tag if _VERSION.match(tag) else label, place)

    def _add(self, component: str, spelled: str, place: Route) -> None:
        """Notes the component, with its version if there is one."""
        match = _VERSION.match(spelled)
        self.found.setdefault(component, {}).setdefault(match[1] if match else "", place)

    def versions(self, issues: list[Diagnostic]) -> dict[str, str]:
        """The version of each component. T593 for what is uncertain."""
        for spelled, place in self.kubelets.items():
            if match := _VERSION.match(spelled):
                self.found.setdefault("kubernetes", {}).setdefault(minor(match[1]), place)
        issues += _without_version(self.found)
        known = {name: {each: at for each, at in held.items() if each} for name, held in sorted(self.found.items())}
        return {name: version for name, held in known.items() if held for version in _lowest(name, held, issues)}


def _lowest(component: str, held: Mapping[str, Route], issues: list[Diagnostic]) -> Iterator[str]:
    """The lowest version, because all others support its fields; none if it is older than all that bayplan knows."""
    versions = sorted(held, key=lambda version: order(component, version))
    lowest, oldest, place = versions[0], KNOWN[component][0], held[versions[0]]
    if order(component, minor(lowest)) < order(component, oldest):
        message = f"{component} {lowest} is older than {oldest}, the oldest that bayplan knows"
        hint = f"upgrade it; without `versions.{component}`, bayplan writes for the newest version that it knows"
        issues.append(warning("T593", place, message, hint=hint))
        return
    if len(versions) > 1:
        issues.append(several(component, versions, place))
    yield lowest


def several(component: str, versions: Sequence[str], place: Route) -> Diagnostic:
    """T593: a component has several versions, lowest first."""
    message = f"the cluster has {component} {listing(versions, 'and')}; bayplan writes the lowest"
    hint = f"to use another version, edit `versions.{component}` in the file"
    return info("T593", place, message, hint=hint)


def _without_version(found: Mapping[str, Mapping[str, Route]]) -> Iterator[Diagnostic]:
    """T593: CRDs or images show that a component is installed, but not its version."""
    unknown = {name: held[""] for name, held in sorted(found.items()) if set(held) == {""}}
    if unknown:
        message = f"{listing(unknown, 'and')} {'is' if len(unknown) == 1 else 'are'} installed, in an unknown version"
        hint = "add the output of `kubectl get deployments,daemonsets -A -o json`, or add `versions` to the file"
        yield info("T593", next(iter(unknown.values())), message, hint=hint)
