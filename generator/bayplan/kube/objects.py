"""What an object that somebody wrote is called, and where that stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.diagnostics import Route
from bayplan.kube.safe import api_group, get, items, text
from bayplan.model.manifest import Object


def group(one: Object) -> str:
    """`scheduling.run.ai` of `scheduling.run.ai/v2`; empty for the core group."""
    return api_group(one.data)


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


def identity(data: Any) -> tuple[str, str, str, str]:
    """API group, kind, namespace and name: there is one object of these."""
    return api_group(data), text(data, "kind"), text(data, "metadata", "namespace"), text(data, "metadata", "name")


def flattened(one: Object) -> Iterator[Object]:
    """The items of a List, which may hold Lists; anything else as it is."""
    if kind(one).endswith("List") and isinstance(get(one.data, "items"), list | tuple):
        for index, each in enumerate(items(one.data, "items")):
            yield from flattened(Object((*one.route, "items", index), each))
    else:
        yield one


def number(route: Route) -> int:
    """N of a route into `manifest:N`."""
    return int(str(route[0]).partition(":")[2])
