"""Slurm 24.11 to 25.11: one sbatch script for a gang, one submit script for several.

What it carries is here, by feature, amount and version. The reasons end up in front of users.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.backends.slurm.needs import cluster_needs, needs, notices, prove
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

KUBERNETES = "Slurm runs no Kubernetes objects"
FIXED = "a Slurm job starts with a fixed number of nodes; a range of nodes and segments exclude each other"
WHOLE = "leave `minReplicas` out"
CARDS = "tasks see all network cards of their node, and NCCL is told which of them to use"
FEATURES: Mapping[str, Feature] = {
    "tree-placement": Feature("a required level over a tree of switches", code="F700"),
    "unlike-shapes": Feature("one placement over pods that take several sections of a job", code="F701"),
    "nested-placement": Feature("a placement between the segments and the whole job", code="F702"),
    "large-segment": Feature("a domain that no block of Slurm stands for", "nodes together", "F703"),
    "padded-level": Feature("a level that takes empty or short blocks", code="F705"),
    "consolidated-segments": Feature("groups in domains of their own inside one larger domain", code="F706"),
    "separate-above-block": Feature("one group instance a domain above the finest level", code="F707"),
    "shared-channel": Feature("an IMEX channel for each of several groups", code="F708"),
    "task-restart": Feature("containers that start again in their pod", code="F709"),
    "torn-channel": Feature("a ComputeDomain over several sections of a job", code="F710"),
    "shared-nodes": Feature("several pods on a node", "pods a node", "F711"),
    "pod-template": Feature("fields of a pod template", code="F712"),
    "no-command": Feature("a container's own entrypoint", code="F713", firm=True),
    "own-network": Feature("ports and shared memory of the pod's own", code="F714"),
    "no-container": Feature("an image or files without a container", code="F715"),
    "other-resources": Feature("resources besides GPUs, CPUs, memory and ephemeral storage", code="F716"),
    "scattered-names": Feature("neighbouring ranks in one domain where node names mix the domains", code="F717"),
    "many-nodes": Feature("a large cluster", "nodes", "F718", True),
    "several-layouts": Feature("several pools with levels of their own", "pools", "F692"),
    "shared-partition": Feature("several pools in one partition", "pools", "F693"),
    "mapped-names": Feature("nodes by their names in Slurm", code="F719", firm=True),
}
"""What only Slurm is asked for."""


def _since_version(feature: str, version: str, reason: str, hint: str) -> tuple[Support, Support]:
    """Exact from a version on, absent before."""
    return (
        Support(feature, component="slurm", since=version),
        not_yet_upstream(feature, reason, hint),
    )


def _kinds() -> tuple[Support, ...]:
    hint = "leave `workload` out"
    kinds = ("job", "jobset", "pods", "lws", "volcano-job")
    return tuple(never(f"workload-{kind}", KUBERNETES, hint) for kind in kinds)


PLACED = (
    *exact(
        "gang group-depth uneven-groups mixed-pod-sets mixed-pools required-level group-preferred",
        "required-and-preferred rank-order repeated-values",
    ),
    Support("several-layouts", up_to=1),
    *_since_version(
        "several-layouts",
        "25.05",
        "one topology.conf has one base block size for all pools, and Slurm below 25.05 has nothing else",
        "target Slurm 25.05, whose topology.yaml has one topology a pool, or give each pool a cluster of its own",
    ),
    Support("shared-partition", up_to=1),
    never(
        "shared-partition",
        "Slurm picks nodes by partition, and knows no pools",
        "name a partition for each: `schedulers: {slurm: {pools: {POOL: {partition: NAME}}}}` in the topology, or"
        " a `constraint` in `backends: {slurm: ...}`",
    ),
    approximate(
        "preferred-level",
        "topology/block knows no preference: what fits one planning size stays in one block, anything larger"
        " goes anywhere; topology/tree waits for few leaf switches, for some time",
        "require the level, or leave it out",
    ),
    never(
        "tree-placement",
        "--switches bounds the number of leaf switches, and only until its time is over",
        "set `schedulers: {slurm: {plugin: block}}` and configure topology/block, or prefer the level",
    ),
    never(
        "unlike-shapes",
        "the sections of a heterogeneous job are placed one by one and share no block",
        "make the podSets alike and their groups of one size, or leave the placement over them out",
    ),
    never(
        "nested-placement",
        "a job is cut into segments once, and only all of them together share an aggregated block",
        "leave out one of the placements, or make each of the outer groups a gang of its own",
    ),
    never(
        "large-segment",
        "Slurm keeps nodes together that fit one of its BlockSizes, and the level has none of that size",
        "raise the level's `plan` up to the nodes of its smallest domain, or make the group smaller",
    ),
    *_since_version(
        "padded-level",
        "25.05",
        "Slurm below 25.05 refuses blocks without nodes, or with fewer than the base size",
        "target Slurm 25.05, or give every domain 2, 4, 8, ... of the next level, and none fewer nodes than planned",
    ),
    *_since_version(
        "consolidated-segments",
        "25.11",
        "--consolidate-segments came with Slurm 25.11; before, the segments of a job may be anywhere",
        "target Slurm 25.11, or leave the outer placement out",
    ),
    *_since_version(
        "separate",
        "25.11",
        "--spread-segments came with Slurm 25.11",
        "target Slurm 25.11, or leave it out: groups that fill more than half of a block are apart by arithmetic",
    ),
    never(
        "separate-above-block",
        "--spread-segments keeps segments in different base blocks, which may share what is above",
        "separate by the finest level",
    ),
    Support("scattered-names", component="slurm", until="25.05"),
    approximate(
        "scattered-names",
        "Slurm numbers the nodes of a job by name, unless TopologyParam has BlockAsNodeRank",
        "set TopologyParam=BlockAsNodeRank in slurm.conf, or give the nodes of a block neighbouring names",
        report="warning",
        component="slurm",
        since="25.11",
    ),
    not_yet_upstream(
        "scattered-names",
        "Slurm 25.05 numbers the nodes of a job by name, so a group of ranks would not be a segment",
        "give the nodes of a block names that follow each other, or target Slurm 25.11",
    ),
)
CHANNELS = (
    Support("compute-domain"),
    Support("several-compute-domains"),
    *_since_version(
        "compute-domain-each",
        "25.11",
        "a channel for each segment came with Slurm 25.11; before, a job has one",
        "target Slurm 25.11, or leave `computeDomain: group` out",
    ),
    Support("shared-channel", component="slurm", since="25.11", up_to=1),
    approximate(
        "shared-channel",
        "the groups share the one IMEX channel of their job; where they are placed keeps NVLink whole",
        "target Slurm 25.11, and let segments and ComputeDomains be the same groups",
        report="warning",
    ),
    never(
        "torn-channel",
        "each section of a heterogeneous job has an IMEX channel of its own",
        "make the pods of a ComputeDomain alike, or set `computeDomain: never`",
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
        "tasks are in their node's network: nothing is attached, and NCCL and Gloo choose the interface",
        "where they choose the wrong one, name that of the nodes in the podSet's `env`",
        report="info",
    ),
    never(
        "fixed-address",
        "a task has the addresses of its node",
        "leave `address` out: rank 0 is found by the name of its node",
    ),
    Support("gpu-claim"),
    not_yet_here(
        "numa",
        "Slurm binds tasks by its own options",
        "leave `numa` out; GPUs and cores of a task are near each other where gres.conf names the cores",
    ),
    approximate(
        "shared-nodes",
        "each node takes that many of them, so they are packed where Kubernetes might have spread them",
        "set `wholeNode: true` for one a node",
        report="info",
    ),
    never(
        "pod-template", KUBERNETES, "leave `template` out, and say with `env`, `files` and `resources` what Slurm needs"
    ),
    approximate(
        "task-restart",
        "a task that fails ends its job; only the whole gang can start again",
        "set `maxRestarts` to start the gang again",
        report="warning",
    ),
    never("no-command", "srun starts a command, not an image", "write the `command` that the image would run"),
    approximate(
        "own-network",
        "tasks use the network and the /dev/shm of their node",
        "pick ports that are free on the nodes",
        report="info",
    ),
    never(
        "no-container",
        "`container: none` runs the command on the node, which knows no image and no mounted files",
        "leave `backends: {slurm: {container: none}}` out where the cluster has pyxis, or the image and files",
    ),
    not_yet_here(
        "other-resources",
        "Slurm knows extended resources only as gres of its own configuration",
        "leave them out; a job reaches the devices of its nodes",
    ),
)
SUPPORT = (
    *exact(
        "queue no-queue label-key-length node-name-length level-count workload-sbatch",
    ),
    *PLACED,
    *CHANNELS,
    *PODS,
    approximate(
        "priority",
        "Slurm knows no priority classes; its multifactor plugin and the QOS decide",
        "name a QOS, `backends: {slurm: {qos: high}}`",
        report="warning",
    ),
    approximate(
        "preemptible",
        "in Slurm the QOS or the partition says who preempts whom",
        "name a QOS, `backends: {slurm: {qos: high}}`",
        report="warning",
    ),
    Support("many-nodes", up_to=65_536),
    never(
        "many-nodes", "a Slurm cluster has at most 65,536 nodes", "split the cluster, or leave pools out of this file"
    ),
    never(
        "mapped-names",
        "every node needs one name that no other has",
        "correct `schedulers: {slurm: {names: ...}}` in the topology",
    ),
    *_kinds(),
)


def cluster_objects(topology: ClusterTopology, target: Target) -> tuple[File, ...]:
    """The file that Slurm reads: topology.yaml since 25.05, before it topology.conf."""
    write = topology_yaml.write if target.since("slurm", "25.05") else topology_conf.write
    return write(topology, target)


BACKEND = Backend(
    Declaration("slurm", component="slurm", support=SUPPORT, features=FEATURES, kinds=("sbatch",)),
    lower,
    needs=needs,
    prove=prove,
    notices=notices,
    cluster=Cluster(cluster_objects, cluster_needs),
)
