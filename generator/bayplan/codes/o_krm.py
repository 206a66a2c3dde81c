"""kustomize's builds, and the plugins that are installed for them."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "O830": "a foreign plugin in the way",
    "O831": "a build that fails",
    "O832": "no kustomize that runs functions",
    "O833": "a function that may be skipped without a word",
    "O834": "no kustomization",
}
"""Code -> what it is about."""
