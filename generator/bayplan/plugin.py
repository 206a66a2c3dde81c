"""The door: all names of bayplan that a plug-in may use.

A plug-in imports nothing of bayplan but this module and its own. What is not here can change at any time; what is here
changes with an entry in the changelog. The names have their docstrings where they are defined. In groups:

- *core*: diagnostics with codes and routes, outcomes, phrases, the package's data files;
- *text*: documents with positions, edits, patterns of users;
- *model*: workflows, plans, topologies, targets, formats, and what a backend declares;
- *kube*: fields of Kubernetes objects, pods, kinds of workloads, quantities, shells, ranks;
- *planning* and *linting*: demands, proofs, and the context of rules for existing manifests;
- *topologies* and *workflows*: bayplan's own formats, into which others are read.

`bayplan.plugins` says how bayplan finds a plug-in.
"""

from __future__ import annotations

from bayplan import schemas
from bayplan.accelerators import DEVICE_PLUGIN
from bayplan.backends.table import table as support_table
from bayplan.cli import files
from bayplan.cli.show_tree import state_of
from bayplan.core.diagnostics import AT, KEY, Diagnostic, Note, Outcome, Route, error, has_errors, info, warning
from bayplan.core.package_data import table as text_beside
from bayplan.core.phrases import count, did_you_mean, listing, shorten, suggest
from bayplan.core.values import common, grouped
from bayplan.fabrics import NETWORKED, amounts, fabric_request, network_of, pools_of, selectors_of, shares_verbs
from bayplan.fabrics.pods import on_node
from bayplan.kube import networks as pod_networks
from bayplan.kube import objects, quantity, validation
from bayplan.kube.asked import Asked, Beside, PodsFound, missing, of_labels
from bayplan.kube.kinds import GANG_LABEL, SINGLE, WORKFLOW_LABEL, Piece, gang_labels
from bayplan.kube.networks import (
    MULTUS,
    NAMED,
    NVIDIA,
    RESOURCE,
    SRIOV,
    Annotation,
    Network,
    Selection,
    networks,
    parsed,
)
from bayplan.kube.networks import read as read_networks
from bayplan.kube.objects import (
    get,
    group,
    is_kind,
    items,
    kind,
    mapping,
    name,
    namespace,
    non_empty,
    number_in,
    put,
    text,
    title,
)
from bayplan.kube.pod import (
    MERGE_KEYS,
    NETWORKS,
    OWN_FIELDS,
    OWN_NAMES,
    PROBES,
    REQUIRED,
    STORE,
    cannot_wait,
    entries,
    file_key,
    host_network,
    may_share_address,
    mpi_slots,
    templates,
)
from bayplan.kube.ranks import MASTER_PORT, Numbers, user_names
from bayplan.kube.shell import RUN, quote, table_of_rows
from bayplan.kube.templates import PodTemplate, containers
from bayplan.kube.variables import BROKEN
from bayplan.linting.objects import LintContext, Rule
from bayplan.linting.objects import grouped as grouped_objects
from bayplan.model.backend import Backend, Cluster, Declaration, Need, Support, approximate, never
from bayplan.model.encoding import ordered
from bayplan.model.existing import Existing, single_pods, without_group
from bayplan.model.formats import Context, Part, Read, ReadOptions, Source, SourceFile
from bayplan.model.manifest import File, Lowered, Manifest, Many, Marks, Meta, Object, PodParts, Shape, Slot, Workload
from bayplan.model.plan import (
    GANG_INDEX,
    ONE,
    WHOLE,
    GangPlan,
    Occupant,
    Occupied,
    Plan,
    Pods,
    Ranks,
    Unit,
    accelerator,
    all_pods,
    allocator,
    edit_plan,
    gang_queue,
    has_placed_groups,
    once,
    walk,
)
from bayplan.model.plan import title as plan_title
from bayplan.model.target import Target
from bayplan.model.topology import (
    HOST,
    HOST_LEVEL,
    HOSTNAME_LABEL,
    SHARING,
    ClusterTopology,
    Domain,
    Fabric,
    Ipam,
    Level,
    NodeShape,
    Pool,
    Rail,
    named_queues,
)
from bayplan.model.workflow import (
    AUTO_SHM,
    GANGS,
    Binary,
    Gang,
    Placement,
    PodSet,
    Volume,
    Workflow,
    hides_failures,
    pod_of,
    pod_sets_of,
)
from bayplan.planning.fit import Fits, Impossible, Undecided, explain, prove
from bayplan.planning.fit.problem import capacity, demand
from bayplan.planning.fit.search import Stage
from bayplan.report import Batch
from bayplan.report.findings import escape
from bayplan.schemas import is_label_key
from bayplan.text import document
from bayplan.text.document import Document, Path, SourceMap, Span, load, locate_all, read_text
from bayplan.text.document import read as read_documents
from bayplan.text.edits import Edit
from bayplan.text.patterns import MOST_STEPS, steps
from bayplan.text.source import Lines, limits
from bayplan.topologies import grouping, hostlist, inventory, merging
from bayplan.topologies import native as native_topology
from bayplan.topologies.grouping import (
    CLIQUE,
    LABEL_VALUES,
    PLACEHOLDER,
    SourceNode,
    dns_label,
    free,
    kube_objects,
    natural,
    placeholder,
    upwards,
)
from bayplan.topologies.inventory import PoolCount
from bayplan.topologies.inventory import Unit as InventoryUnit
from bayplan.topologies.losses import Loss, named_pools, whole_topology
from bayplan.topologies.merging import merge
from bayplan.topologies.occupancy.ledger import HINT, Ledger
from bayplan.topologies.unit_names import (
    LONGEST_NAME,
    NameRule,
    is_safe_name,
    known_units,
    name_rules,
    settings,
    siblings_together,
    slurm_name,
    unit_name,
)
from bayplan.workflows import matrix
from bayplan.workflows import native as native_workflow
from bayplan.workflows.lifting import lifted, with_origins
