"""bayplan: prove that the gangs of a GPU job fit a cluster, and write the manifests that place them.

The functions for Python programs are those of `bayplan.api`. They load when a program first uses one.
"""

__version__ = "0.1.0"

__all__ = (
    "load",
    "loads",
    "load_topology",
    "loads_topology",
    "load_manifests",
    "loads_manifests",
    "check",
    "plan",
    "render",
    "capacity",
    "lint",
    "explain",
    "report_text",
    "Workflows",
    "Topology",
    "Manifests",
    "Options",
    "Plans",
    "Rendered",
    "Capacity",
    "Finding",
    "Place",
    "Remark",
    "Invalid",
    "__version__",
)

TYPE_CHECKING = False

if TYPE_CHECKING:
    from bayplan.api import *
else:

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module 'bayplan' has no attribute '{name}'")
        from bayplan import api

        return getattr(api, name)
