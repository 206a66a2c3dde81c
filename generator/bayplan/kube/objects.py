"""What an object that somebody wrote is called, and where that stands."""

from __future__ import annotations

from bayplan.diagnostics import Route
from bayplan.kube.safe import text
from bayplan.model.manifest import Object


def group(one: Object) -> str:
    """`scheduling.run.ai` of `scheduling.run.ai/v2`; empty for the core group."""
    return text(one.data, "apiVersion").rpartition("/")[0]


def kind(one: Object) -> str:
    """Its kind."""
    return text(one.data, "kind")


def name(one: Object) -> str:
    """Its name; empty where the API server gives it one."""
    return text(one.data, "metadata", "name")


def namespace(one: Object) -> str:
    """Its namespace; empty where whoever applies it says which."""
    return text(one.data, "metadata", "namespace")


def title(one: Object) -> str:
    """`PodGroup "train"`."""
    what = kind(one) or "object"
    return f'{what} "{name(one)}"' if name(one) else what


def named(one: Object) -> Route:
    """The place of its name."""
    return (*one.route, "metadata", "name")
