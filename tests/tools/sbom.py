"""A CycloneDX 1.6 list of what an image or a program contains: bayplan, its dependencies and what is not from Python.

`python tests/tools/sbom.py >bayplan.cdx.json` lists the image of the sidecar, in an environment with
`requirements/image.txt`. `packaging/binary` lists the static binary. Versions and hashes are those of the lock files,
licenses and dependencies those of the installed distributions. The same lock files and Dockerfile make the same bytes.
Debian's packages of the base image are not listed.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.locks import ROOT, Pin, pins, project

BASE = re.compile(r"^ARG BASE=(?P<name>[\w./-]+):(?P<tag>[\w.-]+)@(?P<digest>sha256:[0-9a-f]{64})$", re.MULTILINE)
"""The base image in the Dockerfile: its name, the tag at the time, and the digest that counts."""

LICENSE = "License :: OSI Approved :: "


def normal(name: str) -> str:
    """The name of a distribution as lock files write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def license_of(distribution: Distribution) -> str:
    """The SPDX expression of a distribution, or else what its classifiers or its `License` field say."""
    found = distribution.metadata
    classifiers = [each for each in found.get_all("Classifier") or () if each.startswith(LICENSE)]
    return (
        found.get("License-Expression")
        or " AND ".join(each.removeprefix(LICENSE) for each in classifiers)
        or found.get("License", "").strip()
    )


def licenses(distribution: Distribution) -> list[Any]:
    """The field `licenses` of a component."""
    expression = distribution.metadata.get("License-Expression")
    return [{"expression": expression}] if expression else [{"license": {"name": license_of(distribution)}}]


def needs(distribution: Distribution) -> Iterator[str]:
    """The names of the distributions that one requires, on any platform, without extras."""
    for each in distribution.requires or ():
        if not re.search(r";.*\bextra\b", each):
            yield normal(re.split(r"[^\w.-]", each)[0])


def purl(name: str, version: str) -> str:
    """The package URL of a distribution."""
    return f"pkg:pypi/{name}@{version}"


def base_image(dockerfile: str) -> dict[str, Any]:
    """The base image as a component."""
    found = BASE.search(dockerfile)
    if found is None:
        raise SystemExit("argocd-plugin/Dockerfile: BASE names no image with a digest")
    algorithm, _, digest = found["digest"].partition(":")
    reference = f"pkg:oci/{found['name'].rpartition('/')[2]}@{algorithm}%3A{digest}?tag={found['tag']}"
    return {
        "type": "container",
        "bom-ref": reference,
        "name": found["name"],
        "version": f"{found['tag']}@{found['digest']}",
        "hashes": [{"alg": "SHA-256", "content": digest}],
        "purl": reference,
    }


def component(pin: Pin, distribution: Distribution) -> dict[str, Any]:
    """A locked distribution as a component. It has a hash for each of its files, because each platform has its own."""
    reference = purl(pin.name, pin.version)
    return {
        "type": "library",
        "bom-ref": reference,
        "name": pin.name,
        "version": pin.version,
        "hashes": [{"alg": "SHA-256", "content": each} for each in pin.hashes],
        "licenses": licenses(distribution),
        "purl": reference,
    }


def document(
    locked: Iterable[Pin], installed: Mapping[str, Distribution], version: str, others: Sequence[Mapping[str, Any]]
) -> Any:
    """The list as JSON, with components that are not from Python. A version that is not the locked one is an error."""
    found = {pin.name: pin for pin in locked if pin.name in installed or not pin.marker}
    for name, pin in found.items():
        have = installed[name].version if name in installed else "none"
        if have != pin.version:
            raise SystemExit(f"requirements/image.txt has {name} {pin.version}, and this environment has {have}")
    root = purl("bayplan", version)
    refs = {name: purl(name, pin.version) for name, pin in found.items()}
    direct = [normal(re.split(r"[^\w.-]", each)[0]) for each in project()["project"]["dependencies"]]
    edges: dict[str, list[str]] = {each["bom-ref"]: [] for each in others}
    edges[root] = sorted([*edges, *(refs[name] for name in direct)])
    edges |= {refs[name]: sorted({refs[each] for each in needs(installed[name]) if each in refs}) for name in found}
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": "bayplan",
                "version": version,
                "licenses": [{"expression": project()["project"]["license"]}],
                "purl": root,
            }
        },
        "components": [*others, *(component(pin, installed[name]) for name, pin in sorted(found.items()))],
        "dependencies": [{"ref": ref, "dependsOn": edges[ref]} for ref in sorted(edges)],
    }
    return {**content, "serialNumber": uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(content)).urn}


if __name__ == "__main__":
    here = {normal(each.name): each for each in distributions()}
    number = re.search(r'__version__ = "(.*)"', (ROOT / "generator/bayplan/__init__.py").read_text("utf-8"))
    assert number
    image = base_image((ROOT / "argocd-plugin/Dockerfile").read_text("utf-8"))
    json.dump(document(pins("image"), here, number[1], [image]), sys.stdout, indent=2)
    print()
