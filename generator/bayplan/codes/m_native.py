"""Manifests: native."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "M780": "words of another version of Kubernetes",
    "M781": "a template that is missing or says something else",
    "M782": "a broken tree of groups",
    "M783": "a group that waits for more than there is",
    "M784": "what a Workload cannot hold",
    "M785": "a level that no node carries",
    "M786": "an inner level that is no finer",
    "M787": "pods of a group that is not there",
    "M788": "a tree of unlike pods",
    "M789": "a channel shared by a group",
}
