"""Kueue's labels and annotations (Kueue 0.14 to 0.19, `topology_types.go`, `constants.go` of controller and pod)."""

PREFIX = "kueue.x-k8s.io/"

QUEUE = f"{PREFIX}queue-name"
PRIORITY_CLASS = f"{PREFIX}priority-class"

REQUIRED = f"{PREFIX}podset-required-topology"
PREFERRED = f"{PREFIX}podset-preferred-topology"
UNCONSTRAINED = f"{PREFIX}podset-unconstrained-topology"
SLICE_LEVEL = f"{PREFIX}podset-slice-required-topology"
SLICE_SIZE = f"{PREFIX}podset-slice-size"
LAYERS = f"{PREFIX}podset-slice-required-topology-constraints"
TOGETHER = f"{PREFIX}podset-group-name"
PLACEMENT = (REQUIRED, PREFERRED, UNCONSTRAINED, SLICE_LEVEL, SLICE_SIZE, LAYERS, TOGETHER)

POD_GROUP = f"{PREFIX}pod-group-name"
POD_COUNT = f"{PREFIX}pod-group-total-count"
POD_INDEX = f"{PREFIX}pod-group-pod-index"
RETRIABLE = f"{PREFIX}retriable-in-group"

LAYER_GATE = "TASMultiLayerTopology"
MOST_LAYERS = 3
LEVEL_LENGTH = 63
"""Characters of a level in a workload: `maxLength` of the Workload CRD since v1beta2, that is Kueue 0.15."""
