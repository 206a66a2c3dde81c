"""Slurm 24.11 to 25.11: one sbatch script for a gang, one submit script for several.

The rows declare what Slurm supports, by feature, amount and version. Messages and docs/schedulers.md print the reasons.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.backends.slurm.needs import ARRAY, cluster_needs, kind_needs, needs, notices, prove
from bayplan.backends.slurm.script import lower
from bayplan.model.backend import (
    Backend,
    Cluster,
    Declaration,
    Feature,
    Support,
    approximate,
    exact,
    never,
    not_yet_here,
    not_yet_upstream,
)
from bayplan.model.manifest import File
from bayplan.model.target import Target
from bayplan.model.topology import ClusterTopology
from bayplan.topologies.slurm import topology_conf, topology_yaml

FIXED = "Slurm starts a job with a fixed number of nodes, and does not accept a range of nodes together with segments"
WHOLE = "remove `minReplicas`"
CARDS = "Slurm lets tasks see all network cards of their node; bayplan sets the NCCL variables that select cards"
FEATURES: Mapping[str, Feature] = {
    "tree-placement": Feature("a required level over a tree of switches", code="F700"),
    "unlike-shapes": Feature("one placement over several sections of a heterogeneous job", code="F625"),
    "nested-placement": Feature("a placement between the segments and the whole job", code="F638"),
    "large-segment": Feature("groups larger than the blocks of their level", code="F703"),
    "padded-level": Feature("empty or short blocks", code="F705"),
    "consolidated-segments": Feature("groups with a level each inside one larger domain", code="F638"),
    "separate-above-block": Feature("`separate` above the finest level", code="F602"),
    "shared-channel": Feature("an IMEX channel for each of several groups", "ComputeDomains in one section", "F626"),
    "task-restart": Feature("`restartPolicy: OnFailure`", code="F709"),
    "torn-channel": Feature("a ComputeDomain over several sections of a heterogeneous job", code="F681"),
    "shared-nodes": Feature("pods of one gang spread over more nodes than they need", code="F711"),
    "pod-template": Feature("`template`: fields of a pod template", code="F712"),
    "idle-timeout": Feature("`switchesTimeout` without `--switches`", code="F632"),
    "object-fields": Feature("labels, annotations and removal of Kubernetes objects", code="F712"),
    "pull-secrets": Feature("Secrets to pull images (`imagePullSecrets`)", code="F712"),
    "no-command": Feature("a podSet without `command`", code="F713", firm=True),
    "own-network": Feature("ports and shared memory of a pod", code="F714"),
    "no-container": Feature("an image or files without a container", code="F715"),
    "mpi-launcher": Feature("mpirun in a container, or beside other steps", code="F687", firm=True),
    "data": Feature("`data`: inputs, outputs and checkpoints", code="F694"),
    "other-resources": Feature("resources other than GPUs, CPUs, memory and ephemeral storage", code="F716"),
    "volumes": Feature("volumes other than paths of the node", code="F754"),
    "looked-up-values": Feature("values of Secrets, ConfigMaps and fields of the pod", code="F755"),
    "other-containers": Feature("init containers and sidecars", code="F756"),
    "probes": Feature("probes", code="F757"),
    "end-of-tasks": Feature("`terminationGracePeriodSeconds`", code="F712"),
    "scattered-names": Feature("neighbouring ranks in one domain if node names mix the domains", code="F717"),
    "many-nodes": Feature("many nodes", "nodes", "F718", True),
    "several-layouts": Feature("several pools with levels of their own", "pools with levels", "F692"),
    "shared-partition": Feature("several pools in one partition", "pools", "F693"),
    "array-size": Feature("large job arrays", "tasks", "F759"),
    "array-sections": Feature("job arrays of heterogeneous jobs", "sections", "F759"),
    "mapped-names": Feature("unique names of nodes in Slurm", code="F719", firm=True),
}
"""Features that concern only Slurm."""


def _since_version(feature: str, version: str, reason: str, hint: str) -> tuple[Support, Support]:
    """Exact from a version on, absent before."""
    return (
        Support(feature, component="slurm", since=version),
        not_yet_upstream(feature, reason, hint),
    )


def _kinds() -> tuple[Support, ...]:
    hint = "remove `workload`"
    kinds = ("job", "jobset", "pods", "volcano-job")
    return tuple(never(f"workload-{kind}", "Slurm does not run Kubernetes objects", hint) for kind in kinds)


PLACED = (
    *exact(
        "gang group-depth uneven-groups mixed-pod-sets mixed-pools required-level group-preferred",
        "required-and-preferred rank-order repeated-values",
    ),
    Support("several-layouts", up_to=1),
    *_since_version(
        "several-layouts",
        "25.05",
        "Slurm below 25.05 reads only topology.conf, which has one base block size for all pools",
        "target Slurm 25.05, whose topology.yaml has one topology for each pool, or give each pool its own cluster",
    ),
    Support("shared-partition", up_to=1),
    never(
        "shared-partition",
        "Slurm selects nodes by partition and does not know pools",
        "name a partition for each pool in the topology file, `schedulers: {slurm: {pools: {POOL: {partition:"
        " NAME}}}}`, or a `constraint` in `backends: {slurm: ...}`",
    ),
    approximate(
        "preferred-level",
        "Slurm only approximates preferred levels: topology/block keeps a job in one block if it fits, otherwise"
        " anywhere; topology/tree waits some time for few leaf switches",
        "require the level, or remove `preferred`",
    ),
    never(
        "tree-placement",
        "Slurm with topology/tree cannot require a level: --switches limits the number of leaf switches, and only"
        " for some time",
        "configure topology/block and set `schedulers: {slurm: {plugin: block}}`, or use `preferred`",
    ),
    never(
        "unlike-shapes",
        "Slurm needs several sections of a heterogeneous job for these pods, and places sections one by one",
        "make the podSets equal and their groups of one size, or remove the placement over them",
    ),
    never(
        "nested-placement",
        "Slurm cuts a job into segments only once, and only all segments together share an aggregated block",
        "remove one of the placements, or make each of the outer groups a gang",
    ),
    never(
        "large-segment",
        "Slurm keeps nodes together only if they fit one of its BlockSizes, and the level has no block of that size",
        "raise the level's `plan`, at most to the nodes of its smallest domain, or make the group smaller",
    ),
    *_since_version(
        "padded-level",
        "25.05",
        "Slurm below 25.05 refuses blocks without nodes, or with fewer nodes than the base size",
        "target Slurm 25.05, or give each domain 2, 4, 8, ... domains of the next level, each with all planned nodes",
    ),
    *_since_version(
        "consolidated-segments",
        "25.11",
        "Slurm below 25.11 places the segments of a job anywhere; it has no --consolidate-segments",
        "target Slurm 25.11, or remove the outer placement",
    ),
    *_since_version(
        "separate",
        "25.11",
        "Slurm below 25.11 cannot keep groups apart; it has no --spread-segments",
        "target Slurm 25.11, or remove `separate`; a group that fills more than half of a block never shares it with"
        " another one",
    ),
    never(
        "separate-above-block",
        "Slurm only separates groups by base block (--spread-segments), and a coarser domain has several blocks",
        "set `separate` to the finest level",
    ),
    Support("scattered-names", component="slurm", until="25.05"),
    approximate(
        "scattered-names",
        "Slurm numbers the nodes of a job by name, unless TopologyParam has BlockAsNodeRank",
        "set TopologyParam=BlockAsNodeRank in slurm.conf, or give the nodes of a block consecutive names",
        report="warning",
        component="slurm",
        since="25.11",
    ),
    not_yet_upstream(
        "scattered-names",
        "Slurm 25.05 numbers the nodes of a job by name, so the ranks of a group do not follow each other in a segment",
        "give the nodes of a block consecutive names, or target Slurm 25.11",
    ),
)
CHANNELS = (
    Support("compute-domain"),
    Support("several-compute-domains"),
    *_since_version(
        "compute-domain-each",
        "25.11",
        "Slurm below 25.11 has one IMEX channel for each job, not for each segment",
        "target Slurm 25.11, or remove `computeDomain: group`",
    ),
    Support("shared-channel", component="slurm", since="25.11", up_to=1),
    approximate(
        "shared-channel",
        "all groups of a section share the IMEX channel of their job; each group keeps NVLink by its placement",
        "target Slurm 25.11, and give each segment one ComputeDomain",
        report="warning",
    ),
    never(
        "torn-channel",
        "Slurm gives each section of a heterogeneous job its own IMEX channel, and a ComputeDomain is in several"
        " sections",
        "make the pods of a ComputeDomain equal, or set `computeDomain: never`",
    ),
)
PODS = (
    not_yet_here("optional-pods", FIXED, WHOLE),
    Support("optional-pods-placed"),
    not_yet_here("optional-groups", FIXED, WHOLE),
    approximate("network-cards", CARDS, report="info"),
    approximate("network-claim", CARDS, report="info"),
    approximate(
        "pod-network",
        "Slurm runs tasks in the network of their node and attaches no other; NCCL and Gloo choose the interface",
        "if they choose the wrong one, name an interface of the nodes in the podSet's `env`",
        report="info",
    ),
    never(
        "fixed-address",
        "Slurm cannot give a task an address of its own; tasks have the addresses of their node",
        "remove `address`; tasks find rank 0 by the name of its node",
    ),
    Support("gpu-claim"),
    not_yet_here(
        "numa",
        "Slurm binds tasks to NUMA nodes by its own options, which bayplan does not write",
        "remove `numa`; GPUs and cores of a task are near each other if gres.conf names the cores",
    ),
    approximate(
        "shared-nodes",
        "Slurm packs as many pods on each node as fit; Kubernetes might spread them",
        "set `wholeNode: true` for one pod per node",
        report="info",
    ),
    never(
        "pod-template",
        "Slurm runs no Kubernetes pods, so `template` has no effect",
        "remove `template`, and use `env`, `files` and `resources`",
    ),
    approximate(
        "idle-timeout",
        "`switchesTimeout` has an effect only with topology/tree and a `preferred` level",
        "remove `switchesTimeout`",
        report="info",
    ),
    approximate(
        "object-fields",
        "Slurm has no Kubernetes objects, so this field has no effect",
        "remove it, or keep it for other schedulers",
        report="info",
    ),
    approximate(
        "pull-secrets",
        "Slurm has no Secrets; enroot pulls images with the credentials of the user on the nodes",
        "write them into $ENROOT_CONFIG_PATH/.credentials, and remove the field",
        report="warning",
    ),
    approximate(
        "task-restart",
        "Slurm ends the job if a task fails; it can restart only the whole gang",
        "remove `restartPolicy`, and set `maxRestarts` to restart the gang",
        report="warning",
    ),
    never(
        "volumes",
        "Slurm has no volumes; Pyxis mounts only paths of the node that exist",
        "mount the storage on the nodes, and use `hostPath` with a path of letters, digits and `-._@+=`",
    ),
    never(
        "looked-up-values",
        "Slurm has no Secrets, ConfigMaps or pods from which to take the value; tasks know only the name of their node",
        "write the value, or read it in the command from a file on the nodes",
    ),
    never(
        "other-containers",
        "Slurm starts one command for each pod, and no containers before or beside it",
        "start the programs in the command, or use another scheduler",
    ),
    never(
        "probes",
        "Slurm does not ask whether a task works; it waits until the task ends",
        "remove the probe, and let the command end when it does not work",
    ),
    approximate(
        "end-of-tasks",
        "all jobs of a Slurm cluster have the same time between the signal and the kill (KillWait in slurm.conf)",
        "remove it, or keep it for other schedulers",
        report="warning",
    ),
    never(
        "no-command",
        "Slurm does not run the entrypoint of an image; srun starts a command",
        "set `command` to the command that the image would run",
    ),
    approximate(
        "own-network",
        "Slurm tasks use the network and the /dev/shm of their node",
        "choose ports that are free on the nodes",
        report="info",
    ),
    never(
        "no-container",
        "Slurm runs the command directly on the node (`container: none`), without image and without mounted files",
        "remove `backends: {slurm: {container: none}}` if the cluster has pyxis, or remove the image and the files",
    ),
    never(
        "mpi-launcher",
        "mpirun of a Slurm job runs on its first node, outside of containers, and uses all nodes of the job",
        "set `backends: {slurm: {container: none}}`, and make the podSet a gang of its own",
    ),
    not_yet_here(
        "data",
        "Slurm jobs read and write the filesystem of the cluster, and bayplan does not move data for them",
        "remove `data`, and name folders of the cluster's filesystem in the command",
    ),
    not_yet_here(
        "other-resources",
        "Slurm knows extended resources only as gres from its own configuration, which bayplan does not know",
        "remove them; a job can use the devices of its nodes",
    ),
)
SUPPORT = (
    *exact(
        "queue no-queue label-key-length node-name-length level-count workload-sbatch limited-copies unlimited-copies",
    ),
    Support("array-size", up_to=ARRAY),
    approximate(
        "array-size",
        "the tasks of a job array have numbers below MaxArraySize, which is 1001 by default, so each copy is a job of"
        " its own",
        "raise MaxArraySize in slurm.conf, and set `schedulers: {slurm: {maxArraySize: N}}` in the topology file",
        report="info",
    ),
    Support("array-sections", up_to=1),
    approximate(
        "array-sections",
        "Slurm has no arrays of heterogeneous jobs, so each copy is a job of its own",
        "make the podSets of the gang equal",
        report="info",
    ),
    *PLACED,
    *CHANNELS,
    *PODS,
    approximate(
        "priority",
        "Slurm has no priority classes; its multifactor plugin and the QOS decide",
        "name a QOS: `backends: {slurm: {qos: high}}`",
        report="warning",
    ),
    approximate(
        "preemptible",
        "Slurm ignores `preemptible`; the QOS or the partition decides which jobs preempt others",
        "name a QOS: `backends: {slurm: {qos: high}}`",
        report="warning",
    ),
    Support("many-nodes", up_to=65_536),
    never(
        "many-nodes",
        "a Slurm cluster has at most 65,536 nodes",
        "split the cluster, or remove pools from this file that Slurm does not run",
    ),
    never(
        "mapped-names",
        "Slurm needs a unique name for each node",
        "correct `schedulers: {slurm: {names: ...}}` in the topology file",
    ),
    *_kinds(),
)


def cluster_objects(topology: ClusterTopology, target: Target) -> tuple[File, ...]:
    """The file that Slurm reads: topology.yaml since 25.05, topology.conf before."""
    write = topology_yaml.write if target.since("slurm", "25.05") else topology_conf.write
    return write(topology, target)


BACKEND = Backend(
    Declaration(
        "slurm", component="slurm", support=SUPPORT, features=FEATURES, kinds=("sbatch",), kind_needs=kind_needs
    ),
    lower,
    needs=needs,
    prove=prove,
    notices=notices,
    cluster=Cluster(cluster_objects, cluster_needs),
)
