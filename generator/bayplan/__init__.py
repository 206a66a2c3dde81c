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
    from bayplan.api import Capacity as Capacity
    from bayplan.api import Finding as Finding
    from bayplan.api import Invalid as Invalid
    from bayplan.api import Manifests as Manifests
    from bayplan.api import Options as Options
    from bayplan.api import Place as Place
    from bayplan.api import Plans as Plans
    from bayplan.api import Remark as Remark
    from bayplan.api import Rendered as Rendered
    from bayplan.api import Topology as Topology
    from bayplan.api import Workflows as Workflows
    from bayplan.api import capacity as capacity
    from bayplan.api import check as check
    from bayplan.api import explain as explain
    from bayplan.api import lint as lint
    from bayplan.api import load as load
    from bayplan.api import load_manifests as load_manifests
    from bayplan.api import load_topology as load_topology
    from bayplan.api import loads as loads
    from bayplan.api import loads_manifests as loads_manifests
    from bayplan.api import loads_topology as loads_topology
    from bayplan.api import plan as plan
    from bayplan.api import render as render
    from bayplan.api import report_text as report_text
else:

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module 'bayplan' has no attribute '{name}'")
        from bayplan import api

        return getattr(api, name)
