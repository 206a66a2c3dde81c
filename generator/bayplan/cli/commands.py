"""The table of commands and their options: the only source of both parsers, the help and the completion."""

from __future__ import annotations

from bayplan.cli.options import MANY, Command, Option, Positional
from bayplan.report import FORMATS
from bayplan.topologies import FROM

FUNCTIONS = ("expand-workflows", "place-workloads", "validate-workloads")
SCHEMAS = ("workflow", "cluster-topology", "osmo-workflow", "osmo-pool", "torchx-app", "policy", "project", *FUNCTIONS)
SHELLS = ("bash", "zsh", "fish")

DIAGNOSTICS = Option(("--diagnostics",), "How to write what was found (default: text).", "FORM", choices=FORMATS)
TOPOLOGY = Option(("-t", "--topology"), "The cluster topology file (default: the one bayplan.yaml names).", "FILE")
SCHEDULER = Option(("-s", "--scheduler"), "The scheduler to write for.", "NAME")
OSMO_POOL = Option(("--osmo-pool",), "A pool configuration of OSMO, for its workflows.", "FILE[#POOL]")
SOURCES = (
    Option(("--from",), "The format of the workflows, where it cannot be told.", "FORMAT"),
    Option(("--set",), "A variable of the workflow's format; a number where it looks like one.", "K=V"),
    Option(("--set-string",), "The same, and always a text.", "K=V"),
    OSMO_POOL,
)
POLICY = Option(("--policy",), "Rules that say which workloads are placed, and how.", "FILE")
TARGET = Option(("--target",), "Versions to write for, such as kai=0.17,draDriver=25.12.", "C=V,...")
STRICT = Option(("--strict",), "Let warnings fail the run.")
OUTCOME = (STRICT, DIAGNOSTICS)
PLANNING = (
    Option(("-n", "--namespace"), "The namespace of all objects.", "NAME"),
    TARGET,
    Option(("--accept",), "Take one named gap between workflow and scheduler as a warning.", "CODE"),
    STRICT,
)
CHECK = Option(("--check",), "Write nothing; fail when what -o names differs from what would be written.")
OUTPUT = (
    Option(("-o", "--output"), "A file, or a folder with one file an object (default: stdout).", "FILE|DIR/"),
    CHECK,
)
OUTPUT_FILE = (Option(("-o", "--output"), "A file (default: stdout).", "FILE"), CHECK)
GANG = Option(("--gang",), "Only this gang.", "NAME")
WORKFLOWS = Positional("WORKFLOW", 1, MANY)
SELECTION = (TOPOLOGY, SCHEDULER, GANG)
COMPILING = (*SOURCES, *PLANNING, DIAGNOSTICS)


def _format(*forms: str) -> Option:
    """--format, of which the first form is the default."""
    return Option(("--format",), f"How to show it (default: {forms[0]}).", "FORM", choices=forms)


CLUSTER_OBJECTS = Option(("--cluster-objects",), "Write the cluster-scoped objects too that the workflows refer to.")

COMMANDS = (
    Command(
        "render",
        "render",
        "Write every manifest of the workflows.",
        (WORKFLOWS,),
        (*SELECTION, CLUSTER_OBJECTS, *OUTPUT, *COMPILING),
        "WORKFLOW is a file, or - for standard input. Nothing is written unless everything can be.",
    ),
    Command(
        "check",
        "check",
        "Say whether workflows are sound, fit the cluster and suit the scheduler.",
        (WORKFLOWS,),
        (TOPOLOGY, Option(("-s", "--scheduler"), "The scheduler to check for, or all.", "NAME"), GANG, *COMPILING),
        "Without a topology file only the workflows themselves are checked. Diagnostics go to standard output.",
    ),
    Command(
        "plan",
        "plan",
        "Show how the pods are cut into groups and where they fit.",
        (WORKFLOWS,),
        (*SELECTION, _format("tree", "json"), *COMPILING),
    ),
    Command(
        "delete-plan",
        "render.delete_plan",
        "List what to delete, in order, to undo a render.",
        (WORKFLOWS,),
        (*SELECTION, *COMPILING),
    ),
    Command(
        "diff",
        "diff",
        "Compare manifests that are there with what would be written.",
        (Positional("WORKFLOW"), Positional("MANIFEST", 1, MANY)),
        (
            *SELECTION,
            Option(("--cluster-objects",), "Compare the cluster-scoped objects too that the workflow refers to."),
            _format("text", "json"),
            *COMPILING,
        ),
        "MANIFEST is a file, a folder, or - for standard input, such as the answer of `kubectl get -o yaml`. Of "
        "objects that come out of a cluster only what bayplan writes is compared. Ends with 1 where something differs.",
    ),
    Command(
        "lint",
        "lint",
        "Find what is wrong with manifests that others wrote.",
        (Positional("MANIFEST", 1, MANY),),
        (
            TOPOLOGY,
            Option(
                ("-s", "--scheduler"),
                "Only the rules of this scheduler, and those of all (default: every one).",
                "NAME",
            ),
            TARGET,
            Option(("--accept",), "Take the errors of one code as warnings.", "CODE"),
            *OUTCOME,
        ),
        "MANIFEST is a file, a folder, or - for standard input. All are looked at together. Without a topology file "
        "nothing is said about nodes. Diagnostics go to standard output.",
    ),
    Command(
        "post-render",
        "post_render",
        "Place the workloads in a chart's manifests: a post-renderer for Helm.",
        (Positional("-", 0, file=False),),
        (
            TOPOLOGY,
            POLICY,
            SCHEDULER,
            *PLANNING,
            Option(("--include-hooks",), "Let hooks be placed too."),
            DIAGNOSTICS,
        ),
        "Reads manifests from standard input and writes them with what annotations of bayplan.dev and the policy ask "
        "for; everything else leaves byte for byte as it came. What it said last is kept for `bayplan last-error`.",
    ),
    Command(
        "last-error",
        "post_render.last_error",
        "Print what post-render said last: Helm 4 shows nothing of it.",
    ),
    Command(
        "helm install-plugin",
        "helm_plugin",
        "Put the post-renderer where Helm 4 looks for plugins.",
        options=(
            Option(("--helm",), "The Helm to ask where that is (default: helm).", "PROGRAM"),
            Option(("-o", "--output"), "The folder of plugins, where no Helm is to be asked.", "DIR"),
            DIAGNOSTICS,
        ),
    ),
    Command(
        "import",
        "render.import_workflows",
        "Print workflows of any format as native ones.",
        (WORKFLOWS,),
        (TOPOLOGY, *OUTPUT_FILE, *SOURCES, *OUTCOME),
        "A topology file is read where one is named: a format may leave to it what the native one says.",
    ),
    Command(
        "topology check",
        "topology_check",
        "Say whether a cluster topology file is sound.",
        (Positional("TOPOLOGY", 0),),
        (
            Option(("--live",), "What the cluster says of its nodes now, to compare with.", "SOURCE"),
            Option(("--newer-than",), "The day on which its sources must have been read, or later.", "YYYY-MM-DD"),
            *OUTCOME,
        ),
    ),
    Command(
        "topology show",
        "topology_show",
        "Show the tree of a cluster, its sizes and spares, and which groups fit it.",
        (Positional("TOPOLOGY", 0),),
        (
            _format("tree", "json", "svg"),
            Option(("--level",), "How deep a tree, or JSON: down to this level.", "NAME"),
            Option(("--all",), "A tree of every domain and every node, however many there are."),
            *OUTPUT_FILE,
            *OUTCOME,
        ),
        "TOPOLOGY is a topology file, or what `topology import` reads.",
    ),
    Command(
        "topology diff",
        "topology_diff",
        "Show what differs between two topologies: nodes, units, states, settings.",
        (Positional("OLD"), Positional("NEW")),
        (_format("text", "json"), *OUTPUT_FILE, *OUTCOME),
        "OLD and NEW are topology files, or what `topology import` reads. Exit code 1 where they differ.",
    ),
    Command(
        "topology import",
        "topology_import",
        "Write a cluster topology out of another system's files.",
        (Positional("SOURCE", 1, MANY),),
        (
            Option(
                ("--from",),
                "The format of the sources, or of each in turn, where it cannot be told.",
                "FORMAT",
                choices=FROM,
            ),
            Option(("--update",), "A topology file that gains what the sources add.", "FILE"),
            Option(("--preset",), "Whose node labels are levels, where that cannot be told.", "NAME"),
            Option(("--level",), "A node label that is a level; coarse to fine.", "[NAME=]KEY[,nvlink]"),
            Option(("--plan",), "Nodes of each finest domain that may be planned.", "N"),
            Option(("--headroom",), "CPU and memory of every node to leave to DaemonSets.", "cpu=N,memory=M"),
            Option(("--exclude-incomplete",), "Leave out nodes that lack the label of a level."),
            Option(("--name",), "The name of the topology.", "NAME"),
            Option(("--read-on",), "The day on which the sources were read, to be kept in the file.", "YYYY-MM-DD"),
            *OUTPUT_FILE,
            *OUTCOME,
        ),
        "SOURCE is a file, - for standard input, or FILE#POOL of OSMO. Several sources are merged: a later one adds to "
        "an earlier one, and where they contradict each other nothing is written.",
    ),
    Command(
        "topology export",
        "topology_export",
        "Write a cluster topology in a scheduler's own objects.",
        (Positional("TOPOLOGY", 0),),
        (Option(("--to",), "The scheduler, or another format.", "NAME"), *OUTPUT, TARGET, *OUTCOME),
    ),
    Command(
        "generate",
        "generate",
        "Write what bayplan.yaml lists, and remove what it no longer does.",
        (Positional("PROJECT", 0),),
        (Option(("--check",), "Write nothing; show the difference, and fail when there is one."), *OUTCOME),
        "PROJECT is a project file or its folder (default: the bayplan.yaml of this folder or the nearest above). "
        "Exit code 1 where anything had to be created, updated or removed.",
    ),
    Command(
        "krm",
        "krm",
        "Answer kustomize as a function: a ResourceList in, a ResourceList out.",
        (Positional("CONFIG", 0),),
        (TOPOLOGY, SCHEDULER, POLICY, CLUSTER_OBJECTS, *PLANNING, DIAGNOSTICS),
        "kustomize calls it (as bayplan-krm), and what it does is the kind of its configuration: ExpandWorkflows, "
        "PlaceWorkloads, ValidateWorkloads or Workflow. CONFIG is given to plugins of the older kind only.",
    ),
    Command(
        "kustomize doctor",
        "kustomize.doctor",
        "Find out why functions do not run.",
        (Positional("DIR", 0),),
        OUTCOME,
        "It also says which names a build leaves broken. "
        "DIR is a folder with a kustomization (default: the current one). Where kustomize is installed, the folder is "
        "built with it. Diagnostics go to standard output.",
    ),
    Command(
        "kustomize install-legacy",
        "kustomize.install_legacy",
        "Install functions as older plugins.",
        (Positional("DIR", 0),),
        (DIAGNOSTICS,),
        "`kubectl kustomize` runs plugins of the older kind and no functions. "
        "DIR is the folder in which kustomize looks for plugins (default: KUSTOMIZE_PLUGIN_HOME, else "
        "XDG_CONFIG_HOME/kustomize/plugin, else ~/.config/kustomize/plugin).",
    ),
    Command(
        "schema",
        "explain.schema",
        "Print the JSON Schema of a format.",
        (Positional("NAME", choices=SCHEMAS, file=False),),
    ),
    Command(
        "explain",
        "explain",
        "Explain a diagnostic's code or a field of a format.",
        (Positional("CODE|FIELD", file=False),),
    ),
    Command(
        "schedulers",
        "schedulers",
        "Show what each scheduler carries of a workflow.",
        (Positional("NAME", 0, file=False),),
    ),
    Command(
        "init",
        "init",
        "Write a commented workflow and topology to start from.",
        (Positional("DIR", 0),),
    ),
    Command(
        "completion",
        "human.completion",
        "Print the script that teaches a shell to complete bayplan's words.",
        (Positional("SHELL", choices=SHELLS, file=False),),
    ),
)
"""Every command."""
