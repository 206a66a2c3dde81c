"""Broken manifests and what lint says of them: (case, manifests, versions, codes with the line each is about)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Row(NamedTuple):
    """`found`: `M703:1`, the code and the line, in the order of the report."""

    name: str
    manifests: str
    found: tuple[str, ...]
    target: Mapping[str, str] = {}


def pod(name: str = "p", namespace: str = "ml", metadata: str = "", spec: str = "") -> str:
    """A pod for KAI; `metadata` and `spec` go in as they are, in flow style."""
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: {namespace}{metadata}}}\n"
        f"spec: {{schedulerName: kai-scheduler, containers: [{{name: main, image: i}}]{spec}}}\n---\n"
    )


def claiming(name: str, template: str, gpus: int = 4, more: str = "", metadata: str = "") -> str:
    """A pod with GPUs that claims a channel."""
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: ml{metadata}}}\nspec:\n"
        f"  schedulerName: kai-scheduler\n{more}  containers:\n"
        f"  - {{name: main, resources: {{limits: {{nvidia.com/gpu: {gpus}}}, claims: [{{name: ch}}]}}}}\n"
        f"  resourceClaims: [{{name: ch, resourceClaimTemplateName: {template}}}]\n---\n"
    )


def domain(name: str, template: str, nodes: str = "numNodes: 0, ", namespace: str = "ml", mode: str = "") -> str:
    """A ComputeDomain: four lines."""
    return (
        "apiVersion: resource.nvidia.com/v1beta1\nkind: ComputeDomain\n"
        f"metadata: {{name: {name}, namespace: {namespace}}}\n"
        f"spec: {{{nodes}channel: {{resourceClaimTemplate: {{name: {template}}}{mode}}}}}\n---\n"
    )


def group(spec: str, name: str = "g", namespace: str = "ml") -> str:
    """A PodGroup of KAI: its spec begins in line 4."""
    head = (
        f"apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
    )
    return f"{head}spec: {spec}\n---\n"


def levels(*lines: str) -> str:
    """A Topology of KAI: its levels begin in line 6."""
    head = "apiVersion: kai.scheduler/v1alpha1\nkind: Topology\nmetadata: {name: t}\nspec:\n  levels:\n"
    return head + "".join(f"  - {{{line}}}\n" for line in lines) + "---\n"


def queue(name: str, parent: str = "", resources: str = "resources: {}") -> str:
    """A Queue: four lines."""
    above = f", parentQueue: {parent}" if parent else ""
    head = f"apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {{name: {name}}}\n"
    return f"{head}spec: {{{resources}{above}}}\n---\n"


def job(pods: int, metadata: str = "", template: str = "", spec: str = "") -> str:
    """A Job for KAI: its metadata in line 3, its template's in line 7."""
    return (
        f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: j, namespace: ml{metadata}}}\nspec:\n"
        f"  parallelism: {pods}\n  template:\n    metadata: {{labels: {{app: j}}{template}}}\n    spec:\n"
        f"      schedulerName: kai-scheduler\n      containers: [{{name: main}}]\n{spec}---\n"
    )


def jobset(name: str, metadata: str = "", spec: str = "", scheduler: str = "") -> str:
    """A JobSet of one replicatedJob, which begins in line 6."""
    return (
        f"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {{name: {name}{metadata}}}\nspec:\n"
        f"  replicatedJobs:\n  - name: workers\n    replicas: 4\n    template:\n      spec:\n        parallelism: 16\n"
        f"        completions: 16\n        template:\n          spec: {{{scheduler}containers: [{{name: main}}]}}\n"
        f"{spec}---\n"
    )


def claim(devices: str, version: str = "v1", name: str = "c", kind: str = "ResourceClaimTemplate") -> str:
    """A claim template, or a claim: the devices in line 4."""
    inner = f"{{spec: {{devices: {devices}}}}}" if kind.endswith("Template") else f"{{devices: {devices}}}"
    head = f"apiVersion: resource.k8s.io/{version}\nkind: {kind}\nmetadata: {{name: {name}, namespace: ml}}\n"
    return f"{head}spec: {inner}\n---\n"


IN_G = ", annotations: {pod-group-name: g}"
CLIQUE = "topologyConstraint: {topology: hall, requiredTopologyLevel: nvidia.com/gpu.clique}"
SPINE = "topologyConstraint: {topology: hall, requiredTopologyLevel: example.com/spine}"
HELD = group(f"{{queue: q, minMember: 2, {CLIQUE}}}")
GPU = "[{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]"
ONE_RACK = "kai.scheduler/topology: hall, kai.scheduler/topology-required-placement: nvidia.com/gpu.clique"
SKIP = ", annotations: {kai.scheduler/skip-podgrouper: 'true'}"


def opaque(parameters: str) -> str:
    """A claim template with a configuration for NVIDIA's driver."""
    config = f"config: [{{opaque: {{driver: gpu.nvidia.com, parameters: {parameters}}}}}]"
    return claim(f"{{requests: {GPU}, {config}}}")


COMMON = (
    Row("a list", "- a\n- b\n", ("M702:1",)),
    Row("a text", "hello\n", ("M702:1",)),
    Row("a number", "5\n", ("M702:1",)),
    Row("values of a chart", "image: x\n", ("M702:1",)),
    Row("our own", "apiVersion: bayplan.dev/v1alpha1\nkind: Workflow\n", ("M702:1",)),
    Row("an item that is none", "apiVersion: v1\nkind: List\nitems:\n- 5\n- apiVersion: v1\n", ("M702:4", "M703:5")),
    Row("no apiVersion", "kind: Pod\nmetadata: {name: p}\n", ("M703:1",)),
    Row("no kind", "apiVersion: v1\nmetadata: {name: p}\n", ("M703:1",)),
    Row("no name", "apiVersion: batch/v1\nkind: Job\nmetadata: {namespace: ml}\n", ("M703:1",)),
    Row("a number for a name", "apiVersion: v1\nkind: Pod\nmetadata: {name: 5}\n", ("M703:3",)),
    Row("a generated name", "apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-}\n", ()),
    Row("no object of an API server", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n", ()),
    Row("twice", pod() + pod(), ("M704:8",)),
    Row("in two namespaces", pod() + pod(namespace="b"), ()),
    Row("misspelt scheduler", pod().replace("kai-scheduler", "kai-schedular"), ("M705:4",)),
    Row("unknown scheduler", pod().replace("kai-scheduler", "mine"), ("M705:4",)),
    Row(
        "two schedulers",
        jobset("train", spec="").replace("---\n", "")
        + "  - {name: lead, template: {spec: {template: {spec: {schedulerName: volcano, containers: [{name: c}]}}}}}\n",
        ("M706:14",),
    ),
    Row("no PodGroup at all", pod(metadata=IN_G), ("M707:3",)),
    Row(
        "misspelt PodGroup",
        group("{queue: q, minMember: 1}", "train") + pod(metadata=IN_G.replace("g}", "trian}")),
        ("M707:8",),
    ),
    Row("PodGroup elsewhere", group("{queue: q, minMember: 1}", namespace="b") + pod(metadata=IN_G), ("M707:8",)),
    Row(
        "too few pods",
        group("{queue: q, minMember: 3}") + pod("a", metadata=IN_G) + pod("b", metadata=IN_G),
        ("W512:4",),
    ),
    Row("enough pods", group("{queue: q, minMember: 2}") + pod("a", metadata=IN_G) + pod("b", metadata=IN_G), ()),
    Row("a long JobSet", jobset("a-very-long-name-for-a-jobset-that-somebody-typed"), ("M703:6",)),
    Row("a JobSet called 4x16", jobset("4x16"), ("M703:3",)),
    Row("a JobSet", jobset("train"), ()),
    Row(
        "exclusive and KAI",
        jobset(
            "train",
            ", annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: example.com/spine}",
            scheduler="schedulerName: kai-scheduler, ",
        ),
        ("M706:3",),
    ),
    Row(
        "exclusive alone",
        jobset("train", ", annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: example.com/spine}"),
        (),
    ),
    Row(
        "a nameless rule",
        jobset("train", spec="  failurePolicy:\n    rules:\n    - action: FailJobSet\n"),
        ("M703:16",),
    ),
    Row("a rack that is not", pod(spec=", nodeSelector: {nvidia.com/gpu.clique: r99}"), ("M712:4",)),
    Row("a rack that is", pod(spec=", nodeSelector: {nvidia.com/gpu.clique: r01}"), ()),
    Row("a label that is no level", pod(spec=", nodeSelector: {disk: ssd}"), ()),
    Row(
        "an affinity to nowhere",
        pod(
            spec=", affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
            "[{matchExpressions: [{key: example.com/spine, operator: In, values: [s7, s8]}]}]}}}"
        ),
        ("M712:4",),
    ),
    Row(
        "an affinity to one of two",
        pod(
            spec=", affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
            "[{matchExpressions: [{key: example.com/spine, operator: In, values: [s7, s0]}]}]}}}"
        ),
        (),
    ),
    Row(
        "an affinity by a misspelt level",
        pod(
            spec=", affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
            "[{topologyKey: example.com/spin}]}}"
        ),
        ("M712:4",),
    ),
)

DEVICES = (
    Row("hand-written", domain("d", "ch") + claim(f"{{requests: {GPU}}}", name="ch"), ("M800:8",)),
    Row(
        "a channel by hand",
        claim("{requests: [{name: c, exactly: {deviceClassName: compute-domain-default-channel.nvidia.com}}]}"),
        ("M800:4",),
    ),
    Row("one template for two", domain("a", "ch") + domain("b", "ch"), ("M800:9",)),
    Row("one name in two namespaces", domain("a", "ch") + domain("b", "ch", namespace="other"), ()),
    Row("a template that nothing makes", domain("d", "channel") + claiming("p", "chanel"), ("M800:13",)),
    Row("a template elsewhere", domain("d", "ch", namespace="other") + claiming("p", "ch"), ("M800:13",)),
    Row("an open namespace", domain("d", "ch", namespace="''") + claiming("p", "ch"), ()),
    Row("unused", domain("d", "ch") + claiming("p", "ch").replace(", claims: [{name: ch}]", ""), ("M804:13",)),
    Row("undeclared", pod(spec="").replace("image: i", "resources: {claims: [{name: x}]}"), ("M804:4",)),
    Row("one GPU of four", domain("d", "ch") + claiming("p", "ch", 1), ("M809:13",)),
    Row(
        "too many nodes",
        HELD
        + domain("d", "ch", "numNodes: 3, ")
        + claiming("a", "ch", metadata=IN_G)
        + claiming("b", "ch", metadata=IN_G),
        ("M807:9",),
    ),
    Row("a number below 25.8", domain("d", "ch") + claiming("a", "ch"), ("M807:4",), {"draDriver": "25.3"}),
    Row("no number", domain("d", "ch", ""), ("M807:4",)),
    Row("no number with 0.4", domain("d", "ch", ""), (), {"draDriver": "0.4"}),
    Row(
        "across racks",
        group(f"{{queue: q, minMember: 2, {SPINE}}}")
        + domain("d", "ch")
        + claiming("a", "ch", metadata=IN_G)
        + claiming("b", "ch", metadata=IN_G),
        ("M808:8",),
    ),
    Row(
        "preferred only",
        group(f"{{queue: q, minMember: 2, {CLIQUE.replace('required', 'preferred')}}}")
        + domain("d", "ch")
        + claiming("a", "ch", metadata=IN_G)
        + claiming("b", "ch", metadata=IN_G),
        ("M808:8",),
    ),
    Row(
        "in one rack",
        HELD + domain("d", "ch") + claiming("a", "ch", metadata=IN_G) + claiming("b", "ch", metadata=IN_G),
        (),
    ),
    Row(
        "in one rack by a selector",
        domain("d", "ch")
        + claiming("a", "ch", more="  nodeSelector: {nvidia.com/gpu.clique: r01}\n")
        + claiming("b", "ch", more="  nodeSelector: {nvidia.com/gpu.clique: r01}\n"),
        (),
    ),
    Row(
        "in two racks by selectors",
        domain("d", "ch")
        + claiming("a", "ch", more="  nodeSelector: {nvidia.com/gpu.clique: r01}\n")
        + claiming("b", "ch", more="  nodeSelector: {nvidia.com/gpu.clique: r02}\n"),
        ("M808:3",),
    ),
    Row(
        "more pods than a rack has nodes",
        domain("d", "ch")
        + job(19, spec="      resourceClaims: [{name: ch, resourceClaimTemplateName: ch}]\n").replace(
            "{name: main}", "{name: m, resources: {limits: {nvidia.com/gpu: '4'}, claims: [{name: ch}]}}"
        ),
        ("M808:3",),
    ),
    Row(
        "two channels",
        domain("d", "ch")
        + domain("e", "other")
        + claiming("p", "ch")
        .replace("resourceClaims: [", "resourceClaims: [{name: o, resourceClaimTemplateName: other}, ")
        .replace("claims: [{name: ch}]", "claims: [{name: ch}, {name: o}]"),
        ("M809:18",),
    ),
    Row(
        "two domains in one group",
        HELD
        + domain("d", "c1")
        + domain("e", "c2")
        + claiming("a", "c1", metadata=IN_G)
        + claiming("b", "c2", metadata=IN_G),
        ("M809:32",),
    ),
    Row("no template", domain("d", "''"), ("M813:4",)),
    Row("mode below 25.8", domain("d", "ch", mode=", allocationMode: All"), ("M813:4",), {"draDriver": "25.3"}),
    Row("a mode that is none", domain("d", "ch", mode=", allocationMode: all"), ("M813:4",)),
    Row("an old API", claim(f"{{requests: {GPU}}}", "v1alpha2"), ("M780:1",)),
    Row("a removed API", claim(f"{{requests: {GPU}}}", "v1alpha1"), ("M780:1",)),
    Row(
        "the oldest API", claim("{requests: [{name: gpu, deviceClassName: a}]}", "v1beta1"), (), {"kubernetes": "1.32"}
    ),
    Row("a newer API", claim(f"{{requests: {GPU}}}", "v1beta2"), ("M780:1",), {"kubernetes": "1.32"}),
    Row("a newer API in time", claim(f"{{requests: {GPU}}}", "v1beta2"), (), {"kubernetes": "1.33"}),
    Row("a new API", claim(f"{{requests: {GPU}}}"), ("M780:1",), {"kubernetes": "1.33"}),
    Row("a new API in time", claim(f"{{requests: {GPU}}}"), (), {"kubernetes": "1.34"}),
    Row("flat", claim("{requests: [{name: gpu, deviceClassName: gpu.nvidia.com}]}"), ("M780:4",)),
    Row("exactly", claim(f"{{requests: {GPU}}}", "v1beta1"), ("M780:4",)),
    Row(
        "an obsolete class", claim("{requests: [{name: i, exactly: {deviceClassName: imex.nvidia.com}}]}"), ("M780:4",)
    ),
    Row("the node's label", pod(spec=", nodeSelector: {resource.nvidia.com/computeDomain: x}"), ("M812:4",)),
    Row("sharing", opaque("{kind: GpuConfig, sharing: {strategy: MPS}}"), ("M813:4",)),
    Row("sharing by no strategy", opaque("{kind: GpuConfig, sharing: {}}"), ("M813:4",)),
    Row("sharing of a part", opaque("{kind: MigDeviceConfig, sharing: {strategy: TimeSlicing}}"), ("M813:4",)),
    Row("a card passed through", opaque("{apiVersion: a/v1, kind: VfioDeviceConfig, iommu: {}}"), ()),
    Row("a channel", opaque("{kind: ComputeDomainChannelConfig, domainID: a, allocationMode: All}"), ()),
    Row("a daemon", opaque("{kind: ComputeDomainDaemonConfig, domainID: a}"), ()),
    Row("a mode of a daemon", opaque("{kind: ComputeDomainDaemonConfig, allocationMode: All}"), ("M813:4",)),
    Row("an unknown field", opaque("{kind: GpuConfig, share: {}}"), ("M813:4",)),
    Row("an unknown kind", opaque("{kind: GPUConfig}"), ("M813:4",)),
)

KAI = (
    Row(
        "no levels", "apiVersion: kai.scheduler/v1alpha1\nkind: Topology\nmetadata: {name: t}\nspec: {}\n", ("M713:4",)
    ),
    Row("a level twice", levels("nodeLabel: example.com/spine", "nodeLabel: example.com/spine"), ("M713:7",)),
    Row(
        "hostname in the middle",
        levels("nodeLabel: kubernetes.io/hostname", "nodeLabel: nvidia.com/gpu.clique"),
        ("M713:6", "M714:6"),
    ),
    Row(
        "an alias of two",
        levels("nodeLabel: example.com/spine, alias: a", "nodeLabel: nvidia.com/gpu.clique, alias: a"),
        ("M713:7",),
    ),
    Row("an alias too early", levels("nodeLabel: example.com/spine, alias: a"), ("M713:6",), {"kai": "0.16"}),
    Row("a Topology too early", levels("nodeLabel: example.com/spine"), ("M713:1",), {"kai": "0.10"}),
    Row(
        "17 levels",
        levels(*(f"nodeLabel: example.com/l{n}" for n in range(17))),
        ("M713:5", *(f"M714:{n}" for n in range(6, 23))),
    ),
    Row("a label of no node", levels("nodeLabel: example.com/spin", "nodeLabel: nvidia.com/gpu.clique"), ("M714:6",)),
    Row("fine above coarse", levels("nodeLabel: nvidia.com/gpu.clique", "nodeLabel: example.com/spine"), ("M714:6",)),
    Row("a part of the levels", levels("nodeLabel: nvidia.com/gpu.clique", "nodeLabel: kubernetes.io/hostname"), ()),
    Row("a subgroup without a name", group("{queue: q, subGroups: [{minMember: 1}]}"), ("M715:4",)),
    Row("an upper case subgroup", group("{queue: q, subGroups: [{name: A, minMember: 1}]}"), ("M715:4",)),
    Row(
        "two of one name",
        group("{queue: q, subGroups: [{name: a, minMember: 1}, {name: a, minMember: 1}]}"),
        ("M715:4",),
    ),
    Row("an unknown parent", group("{queue: q, subGroups: [{name: a, minMember: 1, parent: b}]}"), ("M715:4",)),
    Row("its own parent", group("{queue: q, subGroups: [{name: a, parent: a}]}"), ("M715:4",)),
    Row(
        "in a circle",
        group("{queue: q, subGroups: [{name: a, parent: b}, {name: b, parent: a}]}"),
        ("M715:4", "M715:4"),
    ),
    Row("a minimum of 0", group("{queue: q, minMember: 0}"), ("M715:4",), {"kai": "0.17.0"}),
    Row("a minimum of 0, 0.16.8", group("{queue: q, minMember: 0}"), ("M715:4",), {"kai": "0.16.8"}),
    *(Row(f"a minimum of 0, {v}", group("{queue: q, minMember: 0}"), (), {"kai": v}) for v in ("0.16.9", "0.17.1")),
    Row("a minimum in quotes", group("{queue: q, minMember: '2'}"), ("M715:4",)),
    Row("a leaf without minimum", group("{queue: q, subGroups: [{name: a}]}"), ("M715:4",)),
    Row(
        "both minimums",
        group("{queue: q, minMember: 2, minSubGroup: 1, subGroups: [{name: a, minMember: 2}]}"),
        ("M715:4",),
    ),
    Row(
        "a minimum of a parent",
        group("{queue: q, subGroups: [{name: a, minMember: 2}, {name: b, minMember: 2, parent: a}]}"),
        ("M715:4",),
    ),
    Row("too many subgroups", group("{queue: q, minSubGroup: 2, subGroups: [{name: a, minMember: 2}]}"), ("M715:4",)),
    Row(
        "optional subgroups",
        group("{queue: q, minSubGroup: 1, subGroups: [{name: a, minMember: 2}, {name: b, minMember: 2}]}"),
        ("M715:4",),
    ),
    Row(
        "optional subgroups that may stay away",
        group(
            "{queue: q, stalenessGracePeriod: -1s, minSubGroup: 1, "
            "subGroups: [{name: a, minMember: 2}, {name: b, minMember: 2}]}"
        ),
        (),
    ),
    Row("optional subgroups too early", group("{queue: q, minSubGroup: 1}"), ("M780:4",), {"kai": "0.14"}),
    Row("no duration", group("{queue: q, preemptionDelay: 5}"), ("M780:4",)),
    Row(
        "a Job with a tail",
        group("{queue: q, minMember: 4}")
        + job(4, SKIP, IN_G).replace("  parallelism", "  completions: 10\n  parallelism"),
        ("W512:11",),
    ),
    Row(
        "a Deployment",
        job(4, ", annotations: {" + ONE_RACK + "}")
        .replace("batch/v1", "apps/v1")
        .replace("kind: Job", "kind: Deployment")
        .replace("parallelism", "replicas"),
        ("M717:3",),
    ),
    Row("another sum", group("{queue: q, minMember: 3, subGroups: [{name: a, minMember: 2}]}"), ("M715:4",)),
    Row(
        "a leaf that waits in vain",
        group("{queue: q, minMember: 2, subGroups: [{name: a, minMember: 2}]}")
        + pod(metadata=", annotations: {pod-group-name: g}, labels: {kai.scheduler/subgroup-name: a}"),
        ("W512:4",),
    ),
    Row("a level of nothing", group("{queue: q, topologyConstraint: {requiredTopologyLevel: rack}}"), ("M717:4",)),
    Row("no level", group("{queue: q, topologyConstraint: {topology: hall}}"), ("M717:4",)),
    Row(
        "an unknown level",
        group("{queue: q, topologyConstraint: {topology: hall, requiredTopologyLevel: rack}}"),
        ("M717:4",),
    ),
    Row("an unknown Topology", group(f"{{queue: q, {CLIQUE.replace('hall', 'hal')}}}"), ("M717:4",)),
    Row(
        "an alias",
        levels("nodeLabel: example.com/spine, alias: spine")
        + group("{queue: q, topologyConstraint: {topology: t, requiredTopologyLevel: spine}}"),
        (),
    ),
    Row(
        "an unknown level in an annotation",
        job(2, ", annotations: {kai.scheduler/topology: hall, kai.scheduler/topology-preferred-placement: rack}"),
        ("M717:3",),
    ),
    Row(
        "preferred coarser",
        group(f"{{queue: q, {CLIQUE[:-1]}, preferredTopologyLevel: example.com/spine}}}}"),
        ("M717:4",),
    ),
    Row(
        "required and preferred",
        group(f"{{queue: q, {CLIQUE[:-1]}, preferredTopologyLevel: nvidia.com/gpu.clique}}}}"),
        ("M717:4",),
        {"kai": "0.12"},
    ),
    Row(
        "inner coarser", group(f"{{queue: q, {CLIQUE}, subGroups: [{{name: a, minMember: 1, {SPINE}}}]}}"), ("M717:4",)
    ),
    Row("inner finer", group(f"{{queue: q, {SPINE}, subGroups: [{{name: a, minMember: 1, {CLIQUE}}}]}}"), ()),
    Row("no queue", group("{minMember: 1}"), ("M719:4",)),
    Row("a parent queue", queue("all") + queue("team", "all") + group("{queue: all}"), ("M719:14",)),
    Row("a circle of queues", queue("a", "b") + queue("b", "a"), ("M719:4", "M719:9")),
    Row("an unknown parent queue", queue("a", "b"), ("M719:4",)),
    Row("a misspelt queue", queue("research") + group("{queue: reserch}"), ("M719:9",)),
    Row("no resources", queue("a", resources=""), ("M719:4",)),
    Row(
        "pods of another queue",
        group("{queue: q}") + pod(metadata=f"{IN_G}, labels: {{kai.scheduler/queue: r}}"),
        ("M719:8",),
    ),
    Row(
        "a parent queue in a label", pod(metadata=", labels: {kai.scheduler/queue: default-parent-queue}"), ("M719:3",)
    ),
    Row("an unknown field", group("{queue: q, minMembers: 2}"), ("M780:4",)),
    Row("a field too early", group("{queue: q, preemptionDelay: 1m}"), ("M780:4",), {"kai": "0.16"}),
    Row("a field too late", group("{queue: q, parallelism: 1}"), ("M780:4",)),
    Row("a choice of 0.18", group("{queue: q, preemptibility: semi-preemptible}"), ("M780:4",), {"kai": "0.17"}),
    Row("a new choice", group("{queue: q, preemptibility: semi-preemptible}"), (), {"kai": "0.18.3"}),
    Row("a choice that is none", group("{queue: q, preemptibility: never}"), ("M780:4",)),
    Row("a misspelt annotation", job(2, ", annotations: {kai.scheduler/toplogy: hall}"), ("M815:3",)),
    Row("another prefix", pod(metadata=", labels: {kai-scheduler/queue: q}"), ("M815:3",)),
    Row("an annotation as a label", pod(metadata=", labels: {pod-group-name: g}"), ("M815:3",)),
    Row("a label as an annotation", pod(metadata=", annotations: {kai.scheduler/queue: q}"), ("M815:3",)),
    Row("a former label", pod(metadata=", labels: {runai/queue: q}"), ("M815:3",)),
    Row(
        "placement on the pods",
        job(
            2,
            template=", annotations: {" + ONE_RACK + "}",
        ),
        ("M815:7", "M815:7"),
    ),
    Row("a number without quotes", job(2, ", annotations: {kai.scheduler/batch-min-member: 2}"), ("M815:3",)),
    Row("segments of a Job", job(2, ", annotations: {kai.scheduler/segment-size: '2'}"), ("M815:3",)),
    Row(
        "another scheduler",
        group("{queue: q}") + pod(metadata=IN_G).replace("schedulerName: kai-scheduler, ", ""),
        ("M706:9",),
    ),
    Row("no skip mark", group("{queue: q}") + job(2, template=IN_G), ("M707:12",)),
    Row("a skip mark", group("{queue: q}") + job(2, SKIP, IN_G), ()),
    Row("a skip mark without quotes", group("{queue: q}") + job(2, SKIP.replace("'", ""), IN_G), ("M707:8",)),
    Row("a Job too early", group("{queue: q}") + job(2, SKIP, IN_G), ("M707:12",), {"kai": "0.14"}),
    Row(
        "an unknown subgroup",
        group("{queue: q, subGroups: [{name: lead, minMember: 0}]}")
        + pod(metadata=f"{IN_G}, labels: {{kai.scheduler/subgroup-name: leed}}"),
        ("M707:8",),
    ),
    Row("no subgroup", group("{queue: q, subGroups: [{name: lead, minMember: 0}]}") + pod(metadata=IN_G), ("M707:6",)),
    Row("one of many", group(f"{{queue: q, minMember: 1, {CLIQUE}}}") + job(8, SKIP, IN_G), ("M717:4",)),
    Row(
        "a Job of one",
        job(
            8,
            ", annotations: {" + ONE_RACK + "}",
        ),
        ("M717:3",),
    ),
    Row(
        "a Job of all",
        job(
            8,
            ", annotations: {" + ONE_RACK + ", kai.scheduler/batch-min-member: '8'}",
        ),
        (),
    ),
    *(
        Row(
            f"a {kind} of one",
            f"apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: a, namespace: ml, annotations: {{{ONE_RACK}}}}}\n"
            "spec:\n  replicas: 2\n  template:\n"
            "    spec: {schedulerName: kai-scheduler, containers: [{name: main}]}\n---\n",
            ("M717:3",),
        )
        for kind in ("Deployment", "ReplicaSet", "StatefulSet")
    ),
    Row(
        "unlike pods",
        group(f"{{queue: q, minMember: 2, {CLIQUE}}}")
        + pod("a", metadata=IN_G).replace("image: i", "resources: {limits: {nvidia.com/gpu: 4}}")
        + pod("b", metadata=IN_G).replace("image: i", "resources: {limits: {nvidia.com/gpu: 1}}"),
        ("M717:4",),
    ),
    Row("one name", group("{queue: q}") + group("{queue: q}", namespace="b"), ("M704:8",), {"kai": "0.17"}),
    Row(
        "first available",
        claim("{requests: [{name: g, firstAvailable: [{name: a, deviceClassName: gpu.nvidia.com}]}]}")
        + pod(spec=", resourceClaims: [{name: x, resourceClaimTemplateName: c}]").replace(
            "image: i", "resources: {claims: [{name: x}]}"
        ),
        ("M857:4",),
    ),
    Row(
        "a shared claim",
        claim(f"{{requests: {GPU}}}", kind="ResourceClaim")
        + pod(spec=", resourceClaims: [{name: x, resourceClaimName: c}]").replace(
            "image: i", "resources: {claims: [{name: x}]}"
        ),
        ("M857:3",),
    ),
)
