"""The table of commands and options. Both parsers, the help, the completion and the man page come from it."""

from __future__ import annotations

import os
import sys

from bayplan import plugins
from bayplan.cli.options import MANY, Command, Option, Positional
from bayplan.report import FORMATS
from bayplan.topologies import FROM

PROGRAM = "bayplan"
COMPLETE = "_BAYPLAN_COMPLETE"
"""The variable with which a shell requests completions (click, `shell_completion.py`)."""
ABOUT = "Proves that the gangs of a GPU job fit a cluster, and writes all manifests that a scheduler needs."
EXITS = "Exit codes: 0 no errors, 1 errors or differences, 2 wrong usage, 3 a bug in bayplan."
GROUPS = {
    "helm": "Install the post-renderer for Helm, and print its last report.",
    "kustomize": "Check a kustomization, and install functions as plugins.",
    "topology": "Check, show, compare, import and export cluster topologies.",
}

FUNCTIONS = ("expand-workflows", "place-workloads", "validate-workloads")
SCHEMAS = ("workflow", "cluster-topology", *plugins.words("schemas").values(), "policy", "project", *FUNCTIONS)
SHELLS = ("bash", "zsh", "fish")

DIAGNOSTICS = Option(("--diagnostics",), "The format of the report (default: text).", "FORM", choices=FORMATS)
REPORT = (
    DIAGNOSTICS,
    Option(("-v", "--verbose"), "Also show infos."),
    Option(("-q", "--quiet"), "Show only errors."),
)
LIMIT = Option(("--limit",), "The most to read of a file, such as bytes=512Mi,values=10M.", "KEY=N,...")
READING = (LIMIT, *REPORT)
TOPOLOGY = Option(("-t", "--topology"), "The cluster topology file (default: the one in bayplan.yaml).", "FILE")
SCHEDULER = Option(("-s", "--scheduler"), "The scheduler to write for.", "NAME")
CONFIGURATIONS = tuple(
    Option((f"--{row['name']}",), row["help"], row["value"]) for row in plugins.rows("configurations")
)
SOURCES = (
    Option(("--from",), "The format of the workflows (default: bayplan detects it).", "FORMAT"),
    Option(("--set",), "Set a template variable, as a number if the value looks like one.", "K=V"),
    Option(("--set-string",), "Set a template variable, always as a string.", "K=V"),
    *CONFIGURATIONS,
)
POLICY = Option(("--policy",), "A policy: rules that select workloads and say how to place them.", "FILE")
TARGET = Option(("--target",), "Component versions, such as kai=0.17,draDriver=25.12.", "C=V,...")
FAILING = (
    Option(("--strict",), "Treat warnings as errors."),
    Option(("--fail-on",), "Fail if a finding has one of these codes, even if it is an info.", "CODE,..."),
)
ROOTED = (
    Option(("--sandbox-root",), "Use a sandbox with this root (default: the folder of .git).", "DIR"),
    Option(("--trust",), "Use a sandbox, and also read this file or folder outside of its root.", "FILE|DIR"),
)
SANDBOX = (Option(("--sandbox",), "Use no files outside of the repository."), *ROOTED)
"""The options, each of which makes a sandbox. `krm` has one without an option."""
WIDENING = (Option(("--no-sandbox",), "Also use files outside of the repository."), *ROOTED)
"""The options with which `krm` uses more files."""
OUTCOME = (*FAILING, *SANDBOX, *READING)
QUEUE = Option(("--queue",), "The queue of workflows that name none.", "NAME")
GIVEN = (
    Option(("--priority",), "The PriorityClass of workflows that name none.", "CLASS"),
    Option(
        ("--workload",),
        "The kind of gangs that set none: jobset, job, pods, volcano-job, lws, statefulset, deployment, mpijob, "
        "trainjob or podcliqueset.",
        "KIND",
    ),
)
PLANNING = (
    Option(("-n", "--namespace"), "The namespace of all objects.", "NAME"),
    QUEUE,
    TARGET,
    Option(("--accept",), "Downgrade errors with these codes to warnings.", "CODE,..."),
    *FAILING,
)
CHECK = Option(("--check",), "Write nothing; fail if the file or folder of -o is not up to date.")
OUTPUT = (
    Option(("-o", "--output"), "A file, or a folder with one file per object (default: stdout).", "FILE|DIR/"),
    CHECK,
)
OUTPUT_FILE = (Option(("-o", "--output"), "A file (default: stdout).", "FILE"), CHECK)
GANG = Option(("--gang",), "Only this gang.", "NAME")
OCCUPIED = Option(("--occupied",), "What runs in the cluster, such as `kubectl get pods -A -o json`.", "FILE")
"""Several files add up."""
JOINTLY = (
    Option(("--together",), "Prove that the workflows fit at the same time in any packing, not in this order."),
    Option(("--alone",), "Prove each workflow by itself."),
)
"""How a command proves several workflows."""
WORKFLOWS = Positional("WORKFLOW", 1, MANY)
SELECTION = (TOPOLOGY, SCHEDULER, GANG)
WHAT_IF = (
    Option(("--without",), "As if these nodes, or this domain, were lost.", "NODE|LEVEL=DOMAIN"),
    Option(("--with",), "As if a pool had more domains, such as 'gb200+4 racks'.", "POOL+N LEVEL"),
)
COMPILING = (*SOURCES, *PLANNING, *GIVEN, *SANDBOX, *READING)


def _format(*forms: str) -> Option:
    """--format, of which the first form is the default."""
    return Option(("--format",), f"The output format (default: {forms[0]}).", "FORM", choices=forms)


CLUSTER_OBJECTS = Option(("--cluster-objects",), "Also write the cluster-scoped objects that the workflows use.")

COMMANDS = (
    Command(
        "render",
        "render",
        "Write every manifest of the workflows.",
        (WORKFLOWS,),
        (*SELECTION, OCCUPIED, CLUSTER_OBJECTS, *OUTPUT, *COMPILING),
        "WORKFLOW is a file, or - for standard input. If there is an error, bayplan writes nothing. bayplan proves "
        "each workflow by itself; `check` proves that several fit at the same time.",
    ),
    Command(
        "check",
        "check",
        "Check that workflows are valid, fit the cluster and suit the scheduler.",
        (WORKFLOWS,),
        (
            TOPOLOGY,
            Option(("-s", "--scheduler"), "The scheduler to check for, or all.", "NAME"),
            GANG,
            OCCUPIED,
            *WHAT_IF,
            *JOINTLY,
            *COMPILING,
        ),
        "Several workflows must fit at the same time, each beside the placements of those before it. Without a "
        "topology file, bayplan checks only the workflows. A WORKFLOW that is a bayplan.yaml or its topology stands "
        "for the workflows of its outputs. If no bayplan.yaml names it, the topology of -t stands for the workflows "
        "that git tracks in its folder. bayplan proves such workflows, and all with `-s all`, each by itself. "
        "Manifests are as for `plan`.",
    ),
    Command(
        "plan",
        "plan",
        "Show the groups of pods and where they fit.",
        (WORKFLOWS,),
        (
            *SELECTION,
            OCCUPIED,
            _format("tree", "table", "json", "csv", "hostfile", *plugins.modules("plans")),
            *OUTPUT,
            Option(("--slack",), "Also show how many nodes, and which domains, may fail before a gang does not fit."),
            *WHAT_IF,
            *JOINTLY,
            *COMPILING,
        ),
        "Several workflows must fit at the same time, each beside the placements of those before it. A WORKFLOW may be "
        "manifests: a file or a folder with the workloads of a cluster, or - with --from manifests. A bayplan.yaml "
        "stands for the workflows of its outputs with their options, each by itself. blocks, svg and "
        "html draw the cluster. They also draw a plan that does not fit, with exit code 1. A hostfile is for mpirun "
        "and for one job; -o DIR/ writes a file for each job.",
    ),
    Command(
        "capacity",
        "capacity",
        "Show the largest gangs that fit, or how many copies of a workflow.",
        (Positional("WORKFLOW", 0),),
        (
            *SELECTION,
            OCCUPIED,
            Option(("--level",), "Only this level; `node`: each node.", "NAME"),
            _format("tree", "json"),
            *WHAT_IF,
            *COMPILING,
        ),
        "Without a workflow: for each kind of pod, how many fit into one domain of each level. With a workflow: how "
        "many copies of it, and how many `replicas` of each group and podSet. Manifests are for `plan` and `check`.",
    ),
    Command(
        "delete-plan",
        "render.delete_plan",
        "List the objects to delete, in order, to undo a render.",
        (WORKFLOWS,),
        (*SELECTION, *COMPILING),
    ),
    Command(
        "diff",
        "diff",
        "Compare existing manifests with those that render would write.",
        (Positional("WORKFLOW"), Positional("MANIFEST", 1, MANY)),
        (
            *SELECTION,
            Option(("--cluster-objects",), "Also compare the cluster-scoped objects that the workflow uses."),
            _format("text", "json", *plugins.modules("differences")),
            *COMPILING,
        ),
        "MANIFEST is a file, a folder, or - for standard input, such as `kubectl get -o yaml`. In live objects, "
        "bayplan compares only the fields that it writes. Exit code 1: they differ.",
    ),
    Command(
        "lint",
        "lint",
        "Find errors in manifests that other tools wrote.",
        (Positional("MANIFEST", 1, MANY),),
        (
            TOPOLOGY,
            Option(
                ("-s", "--scheduler"),
                "Only the rules of this scheduler and the common rules (default: all).",
                "NAME",
            ),
            TARGET,
            Option(("--accept",), "Downgrade errors with these codes to warnings.", "CODE,..."),
            *OUTCOME,
        ),
        "MANIFEST is a file, a folder, or - for standard input. bayplan checks all of them together. With a topology "
        "file, it also checks whether pods fit on nodes.",
    ),
    Command(
        "post-render",
        "post_render",
        "Place the workloads of a Helm chart, as a post-renderer.",
        (Positional("-", 0, file=False),),
        (
            TOPOLOGY,
            POLICY,
            SCHEDULER,
            OCCUPIED,
            *PLANNING,
            Option(("--include-hooks",), "Also place hooks."),
            Option(
                ("--release",), "The release, for `helm last-error` (default: that of the label, or the chart).", "NAME"
            ),
            *SANDBOX,
            *READING,
        ),
        "Reads manifests from standard input, places workloads by their bayplan.dev annotations and the policy, and "
        "changes no other bytes.",
    ),
    Command(
        "helm last-error",
        "post_render.last_error",
        "Print the last report of post-render, which Helm 4 does not show.",
        (Positional("RELEASE", 0, file=False),),
        description="RELEASE is the label app.kubernetes.io/instance of the manifests or, without it, the name of the "
        "chart (default: the last report of all).",
    ),
    Command(
        "helm install-plugin",
        "helm_plugin",
        "Install the post-renderer as a plugin of Helm 4.",
        options=(
            Option(("--helm",), "The Helm program, which knows its plugin folder (default: helm).", "PROGRAM"),
            Option(("-o", "--output"), "The plugin folder, without asking Helm.", "DIR"),
            *REPORT,
        ),
    ),
    Command(
        "import",
        "render.import_workflows",
        "Print workflows of any format in the native format.",
        (WORKFLOWS,),
        (TOPOLOGY, SCHEDULER, *OUTPUT_FILE, *SOURCES, QUEUE, *GIVEN, *OUTCOME),
        "bayplan takes from the topology file what the other format lacks.",
    ),
    Command(
        "topology check",
        "topology_check",
        "Check a cluster topology file.",
        (Positional("TOPOLOGY", 0),),
        (
            Option(("--live",), "The current nodes of the cluster, to compare the file with.", "SOURCE"),
            Option(("--newer-than",), "Fail if the sources were read before this day.", "YYYY-MM-DD"),
            *OUTCOME,
        ),
    ),
    Command(
        "topology show",
        "topology_show",
        "Show the tree of a cluster, its capacity, and which groups fit.",
        (Positional("TOPOLOGY", 0),),
        (
            _format("tree", "json", *plugins.modules("clusters")),
            Option(("--level",), "The lowest level to show in a tree or in JSON; `node`: each node.", "NAME"),
            Option(("--all",), "Show every domain and every node."),
            Option(("--free",), "Also show what is free, and what takes the rest."),
            OCCUPIED,
            *OUTPUT_FILE,
            *OUTCOME,
        ),
        "TOPOLOGY is a topology file, or a source of `topology import`.",
    ),
    Command(
        "topology diff",
        "topology_diff",
        "Show the differences between two topologies.",
        (Positional("OLD"), Positional("NEW")),
        (_format("text", "json"), *OUTPUT_FILE, *OUTCOME),
        "OLD and NEW are topology files, or sources of `topology import`. Exit code 1: they differ.",
    ),
    Command(
        "topology import",
        "topology_import",
        "Create a cluster topology from files of another system.",
        (Positional("SOURCE", 1, MANY),),
        (
            Option(
                ("--from",),
                "The format of all sources, or once per source (default: bayplan detects it).",
                "FORMAT",
                choices=FROM,
            ),
            Option(("--update",), "Update this topology file with the sources.", "FILE"),
            Option(("--preset",), "The platform whose node labels are levels (default: bayplan detects it).", "NAME"),
            Option(("--level",), "A node label that is a level; coarse levels first.", "[NAME=]KEY[,nvlink]"),
            Option(("--plan",), "How many nodes of each finest domain to plan with.", "N"),
            Option(("--headroom",), "CPU and memory per node to keep free for DaemonSets.", "cpu=N,memory=M"),
            Option(("--exclude-incomplete",), "Leave out nodes that lack the label of a level."),
            Option(("--accelerated-only",), "Leave out nodes without accelerators, if others have some."),
            Option(("--name",), "The name of the topology.", "NAME"),
            Option(("--read-on",), "The day on which the sources were read, to store in the file.", "YYYY-MM-DD"),
            *OUTPUT_FILE,
            *OUTCOME,
        ),
        "SOURCE is a file, - for standard input, or FILE#POOL of OSMO. bayplan merges several sources.",
    ),
    Command(
        "topology export",
        "topology_export",
        "Write the topology objects of a scheduler.",
        (Positional("TOPOLOGY", 0),),
        (Option(("--to",), "The scheduler or the format to write.", "NAME"), *OUTPUT, TARGET, *OUTCOME),
    ),
    Command(
        "generate",
        "generate",
        "Write the files that bayplan.yaml lists, and remove stale ones.",
        (Positional("PROJECT", 0),),
        (
            Option(("--check",), "Write nothing; show the differences, and fail if there are any."),
            Option(("--tracked",), "Also fail if git does not track a file, as the hook for pre-commit does."),
            *OUTCOME,
        ),
        "PROJECT is a project file or its folder (default: bayplan.yaml in this folder or above it). Exit code 1: "
        "files changed.",
    ),
    Command(
        "krm",
        "krm",
        "Run as a function of kustomize: a ResourceList in and out.",
        (Positional("CONFIG", 0),),
        (
            TOPOLOGY,
            SCHEDULER,
            POLICY,
            CLUSTER_OBJECTS,
            *PLANNING,
            *WIDENING,
            *READING,
        ),
        "kustomize runs it as bayplan-krm, with the options in `args` of the annotation, such as `exec: {path: "
        "bayplan-krm, args: [-v]}`. The kind of the configuration is ExpandWorkflows, PlaceWorkloads, "
        "ValidateWorkloads or Workflow. Only legacy plugins have CONFIG.",
    ),
    Command(
        "kustomize doctor",
        "kustomize.doctor",
        "Find out why functions do not run, and which references a build breaks.",
        (Positional("DIR", 0),),
        OUTCOME,
        "DIR is a folder with a kustomization (default: the current folder). If kustomize is installed, bayplan also "
        "builds the folder.",
    ),
    Command(
        "kustomize references",
        "kustomize.references",
        "Write a Component with the fields in which kustomize must change names.",
        (Positional("DIR", 0),),
        REPORT,
        "DIR is the folder to write (default: references). List it under `components:` of a kustomization that sets "
        "names.",
    ),
    Command(
        "kustomize install-legacy",
        "kustomize.install_legacy",
        "Install functions as legacy plugins.",
        (Positional("DIR", 0),),
        REPORT,
        "`kubectl kustomize` runs only legacy plugins. DIR is the plugin folder (default: the first of "
        "$KUSTOMIZE_PLUGIN_HOME, $XDG_CONFIG_HOME/kustomize/plugin, ~/.config/kustomize/plugin).",
    ),
    Command(
        "schema",
        "explain.schema",
        "Print the JSON Schema of a format.",
        (Positional("NAME", 0, choices=SCHEMAS, file=False),),
        (
            Option(
                ("-o", "--output"), "A file, or a folder with a file for each format (default: stdout).", "FILE|DIR/"
            ),
            DIAGNOSTICS,
        ),
        "Without NAME: all of them, into a folder. Editors find them in the folder .bayplan/schemas/ of a project: "
        "`import` and `topology import` name them in the first line of what they write into the project.",
    ),
    Command(
        "explain",
        "explain",
        "Explain a diagnostic, a field of a format, or a field of a manifest.",
        (Positional("CODE|FIELD|OBJECT", 0, file=False),),
        (
            Option(("--why",), "Which lines of the sources made this manifest.", "MANIFEST"),
            Option(("--workflow",), "A workflow of the manifest (default: those of bayplan.yaml).", "FILE"),
            *SELECTION,
            _format("text", "json"),
            *COMPILING,
        ),
        "With --why, MANIFEST is a file, a folder, or - for standard input, and OBJECT is KIND/NAME or "
        "KIND/NAME:FIELD, such as podgroup/train:spec.minMember. Without OBJECT, bayplan explains why each object "
        "exists. The other options are those of render, and need --why.",
    ),
    Command(
        "schedulers",
        "schedulers",
        "Show which features of a workflow each scheduler supports.",
        (Positional("NAME", 0, file=False),),
    ),
    Command(
        "init",
        "init",
        "Write a workflow, a topology and a bayplan.yaml, to start from.",
        (Positional("DIR", 0),),
        (
            Option(("--image",), "The image of the job's containers.", "IMAGE"),
            Option(("--nodes",), "A job with a pod on each of so many nodes.", "N"),
            Option(("--groups",), "A job of so many groups of so many pods, such as 4x16.", "GROUPSxPODS"),
            Option(("--in",), "The level that holds each group, such as rack (default: the finest).", "LEVEL"),
            Option(("--serve",), "A server that listens on this port.", "PORT"),
            Option(("--trials",), "So many single pods, each with its number in GANG_INDEX.", "N"),
            Option(("--pool",), "The pool of the job (default: the largest with accelerators).", "NAME"),
            Option(("--queue",), "The queue of the job.", "NAME"),
            Option(
                ("--accelerator",),
                "Nodes with these accelerators, such as h100, gb300 or mi300x (default: gb200).",
                "NAME",
            ),
            Option(("--from",), "The nodes of your cluster, from the output of `kubectl get nodes -o json`.", "FILE"),
            Option(("-s", "--scheduler"), "The scheduler to write for (default: kai).", "NAME"),
            LIMIT,
            DIAGNOSTICS,
        ),
        "The command of the job follows --, as in `-- torchrun --nproc-per-node=8 train.py`. Without one, the workflow "
        "shows what the scheduler supports, in groups that fit a rack or a leaf switch. FILE is any source of "
        "`topology import`. bayplan also writes the schemas for editors into .bayplan/schemas/.",
    ),
    Command(
        "completion",
        "completion",
        "Print the completion script for a shell.",
        (Positional("SHELL", choices=SHELLS, file=False),),
    ),
)
"""Every command."""


def called() -> str:
    """How the user called the program, for usages and hints: `kubectl bayplan` if it is a plugin of kubectl."""
    return f"kubectl {PROGRAM}" if os.path.basename(sys.argv[0]) == f"kubectl-{PROGRAM}" else PROGRAM


def overview() -> str:
    """What `bayplan --help` prints, as click makes it of the same table. click takes longer to load than all of it."""
    rows = {}
    for command in COMMANDS:
        name = command.name.split(" ")[0]
        rows[name] = GROUPS.get(name, command.summary)
    width = max(map(len, rows))
    lines = [f"  {name:{width}}  {summary}" for name, summary in rows.items()]
    verbose = "  --version  Show the version and exit. With --verbose: the versions of everything that bayplan"
    options = (verbose, "             uses.", "  --help     Show this message and exit.")
    usage = f"Usage: {called()} [OPTIONS] COMMAND [ARGS]..."
    return "\n".join((usage, "", f"  {ABOUT}", "", "Options:", *options, "", "Commands:", *lines, "", f"  {EXITS}", ""))
