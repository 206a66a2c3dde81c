"""Made from schemas/cluster-topology.json by tests/tools/generate_validators.py. Do not edit."""

# mypy: ignore-errors
from typing import Any

from bayplan._validators import Patterns, Refused, Word

REGEX_PATTERNS = Patterns(
    {
    '^([a-z0-9]([-.a-z0-9]*[a-z0-9])?)?$': Word('abcdefghijklmnopqrstuvwxyz0123456789', '-.abcdefghijklmnopqrstuvwxyz0123456789', 'abcdefghijklmnopqrstuvwxyz0123456789', empty=True),
    '^[A-Za-z_.-][-A-Za-z0-9_.]*$': Word('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.-', '-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.', '-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.'),
    '^[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?$': Word('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', '-._ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'),
    '^[A-Za-z][A-Za-z0-9]*$': Word('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'),
    '^([A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?)?$': Word('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', '-._ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', empty=True),
    '^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$': Word('abcdefghijklmnopqrstuvwxyz0123456789', '-.abcdefghijklmnopqrstuvwxyz0123456789', 'abcdefghijklmnopqrstuvwxyz0123456789'),
    '^[A-Za-z0-9][-A-Za-z0-9._/:@]*$': Word('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', '-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/:@', '-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/:@'),
    '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$': Word('abcdefghijklmnopqrstuvwxyz0123456789', '-abcdefghijklmnopqrstuvwxyz0123456789', 'abcdefghijklmnopqrstuvwxyz0123456789'),
    }
)

NoneType = type(None)

def validate(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['apiVersion', 'kind', 'metadata', 'spec']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "apiVersion" in data_keys:
            data_keys.remove("apiVersion")
            data__apiVersion = data["apiVersion"]
            if not (isinstance(data__apiVersion, str) and data__apiVersion == 'bayplan.dev/v1alpha1'):
                raise Refused
        if "kind" in data_keys:
            data_keys.remove("kind")
            data__kind = data["kind"]
            if not (isinstance(data__kind, str) and data__kind == 'ClusterTopology'):
                raise Refused
        if "metadata" in data_keys:
            data_keys.remove("metadata")
            data__metadata = data["metadata"]
            if not isinstance(data__metadata, (dict)):
                raise Refused
            data__metadata_is_dict = isinstance(data__metadata, dict)
            if data__metadata_is_dict:
                data__metadata__missing_keys = set(['name']) - data__metadata.keys()
                if data__metadata__missing_keys:
                    raise Refused
                data__metadata_keys = set(data__metadata.keys())
                if "name" in data__metadata_keys:
                    data__metadata_keys.remove("name")
                    data__metadata__name = data__metadata["name"]
                    validate___definitions_name(data__metadata__name)
                if data__metadata_keys:
                    raise Refused
        if "spec" in data_keys:
            data_keys.remove("spec")
            data__spec = data["spec"]
            if not isinstance(data__spec, (dict)):
                raise Refused
            data__spec_is_dict = isinstance(data__spec, dict)
            if data__spec_is_dict:
                data__spec__missing_keys = set(['pools']) - data__spec.keys()
                if data__spec__missing_keys:
                    raise Refused
                data__spec_keys = set(data__spec.keys())
                if "read" in data__spec_keys:
                    data__spec_keys.remove("read")
                    data__spec__read = data__spec["read"]
                    if not isinstance(data__spec__read, (str)):
                        raise Refused
                    if isinstance(data__spec__read, str):
                        if not REGEX_PATTERNS['^[0-9]{4}-[0-9]{2}-[0-9]{2}$'].search(data__spec__read):
                            raise Refused
                if "platform" in data__spec_keys:
                    data__spec_keys.remove("platform")
                    data__spec__platform = data__spec["platform"]
                    if not (isinstance(data__spec__platform, str) and data__spec__platform == 'kubernetes' or isinstance(data__spec__platform, str) and data__spec__platform == 'openshift'):
                        raise Refused
                if "versions" in data__spec_keys:
                    data__spec_keys.remove("versions")
                    data__spec__versions = data__spec["versions"]
                    if not isinstance(data__spec__versions, (dict)):
                        raise Refused
                    data__spec__versions_is_dict = isinstance(data__spec__versions, dict)
                    if data__spec__versions_is_dict:
                        data__spec__versions_keys = set(data__spec__versions.keys())
                        if "kubernetes" in data__spec__versions_keys:
                            data__spec__versions_keys.remove("kubernetes")
                            data__spec__versions__kubernetes = data__spec__versions["kubernetes"]
                            validate___definitions_version(data__spec__versions__kubernetes)
                        if "kai" in data__spec__versions_keys:
                            data__spec__versions_keys.remove("kai")
                            data__spec__versions__kai = data__spec__versions["kai"]
                            validate___definitions_version(data__spec__versions__kai)
                        if "draDriver" in data__spec__versions_keys:
                            data__spec__versions_keys.remove("draDriver")
                            data__spec__versions__draDriver = data__spec__versions["draDriver"]
                            validate___definitions_version(data__spec__versions__draDriver)
                        if "volcano" in data__spec__versions_keys:
                            data__spec__versions_keys.remove("volcano")
                            data__spec__versions__volcano = data__spec__versions["volcano"]
                            validate___definitions_version(data__spec__versions__volcano)
                        if "kueue" in data__spec__versions_keys:
                            data__spec__versions_keys.remove("kueue")
                            data__spec__versions__kueue = data__spec__versions["kueue"]
                            validate___definitions_version(data__spec__versions__kueue)
                        if "koordinator" in data__spec__versions_keys:
                            data__spec__versions_keys.remove("koordinator")
                            data__spec__versions__koordinator = data__spec__versions["koordinator"]
                            validate___definitions_version(data__spec__versions__koordinator)
                        if "jobset" in data__spec__versions_keys:
                            data__spec__versions_keys.remove("jobset")
                            data__spec__versions__jobset = data__spec__versions["jobset"]
                            validate___definitions_version(data__spec__versions__jobset)
                        if "lws" in data__spec__versions_keys:
                            data__spec__versions_keys.remove("lws")
                            data__spec__versions__lws = data__spec__versions["lws"]
                            validate___definitions_version(data__spec__versions__lws)
                        if "trainer" in data__spec__versions_keys:
                            data__spec__versions_keys.remove("trainer")
                            data__spec__versions__trainer = data__spec__versions["trainer"]
                            validate___definitions_version(data__spec__versions__trainer)
                        if "slurm" in data__spec__versions_keys:
                            data__spec__versions_keys.remove("slurm")
                            data__spec__versions__slurm = data__spec__versions["slurm"]
                            validate___definitions_version(data__spec__versions__slurm)
                        if "slurmBridge" in data__spec__versions_keys:
                            data__spec__versions_keys.remove("slurmBridge")
                            data__spec__versions__slurmBridge = data__spec__versions["slurmBridge"]
                            validate___definitions_version(data__spec__versions__slurmBridge)
                        if "sunk" in data__spec__versions_keys:
                            data__spec__versions_keys.remove("sunk")
                            data__spec__versions__sunk = data__spec__versions["sunk"]
                            validate___definitions_version(data__spec__versions__sunk)
                        if "networkOperator" in data__spec__versions_keys:
                            data__spec__versions_keys.remove("networkOperator")
                            data__spec__versions__networkOperator = data__spec__versions["networkOperator"]
                            validate___definitions_version(data__spec__versions__networkOperator)
                        if "hami" in data__spec__versions_keys:
                            data__spec__versions_keys.remove("hami")
                            data__spec__versions__hami = data__spec__versions["hami"]
                            validate___definitions_version(data__spec__versions__hami)
                        if "metax" in data__spec__versions_keys:
                            data__spec__versions_keys.remove("metax")
                            data__spec__versions__metax = data__spec__versions["metax"]
                            validate___definitions_version(data__spec__versions__metax)
                        if "nvidiaDevicePlugin" in data__spec__versions_keys:
                            data__spec__versions_keys.remove("nvidiaDevicePlugin")
                            data__spec__versions__nvidiaDevicePlugin = data__spec__versions["nvidiaDevicePlugin"]
                            validate___definitions_version(data__spec__versions__nvidiaDevicePlugin)
                        if data__spec__versions_keys:
                            raise Refused
                if "defaults" in data__spec_keys:
                    data__spec_keys.remove("defaults")
                    data__spec__defaults = data__spec["defaults"]
                    if not isinstance(data__spec__defaults, (dict)):
                        raise Refused
                    data__spec__defaults_is_dict = isinstance(data__spec__defaults, dict)
                    if data__spec__defaults_is_dict:
                        data__spec__defaults_keys = set(data__spec__defaults.keys())
                        if "scheduler" in data__spec__defaults_keys:
                            data__spec__defaults_keys.remove("scheduler")
                            data__spec__defaults__scheduler = data__spec__defaults["scheduler"]
                            validate___definitions_scheduler(data__spec__defaults__scheduler)
                        if "namespace" in data__spec__defaults_keys:
                            data__spec__defaults_keys.remove("namespace")
                            data__spec__defaults__namespace = data__spec__defaults["namespace"]
                            validate___definitions_name(data__spec__defaults__namespace)
                        if "queue" in data__spec__defaults_keys:
                            data__spec__defaults_keys.remove("queue")
                            data__spec__defaults__queue = data__spec__defaults["queue"]
                            validate___definitions_queue(data__spec__defaults__queue)
                        if "pool" in data__spec__defaults_keys:
                            data__spec__defaults_keys.remove("pool")
                            data__spec__defaults__pool = data__spec__defaults["pool"]
                            validate___definitions_name(data__spec__defaults__pool)
                        if data__spec__defaults_keys:
                            raise Refused
                if "queues" in data__spec_keys:
                    data__spec_keys.remove("queues")
                    data__spec__queues = data__spec["queues"]
                    if not isinstance(data__spec__queues, (list, tuple)):
                        raise Refused
                    data__spec__queues_is_list = isinstance(data__spec__queues, (list, tuple))
                    if data__spec__queues_is_list:
                        data__spec__queues_len = len(data__spec__queues)
                        if data__spec__queues_len < 1:
                            raise Refused
                        def fn(var): return frozenset(dict((k, fn(v)) for k, v in var.items()).items()) if hasattr(var, "items") else tuple(fn(v) for v in var) if isinstance(var, (dict, list)) else (bool, var) if isinstance(var, bool) else var
                        if data__spec__queues_len > len(set(fn(data__spec__queues_x) for data__spec__queues_x in data__spec__queues)):
                            raise Refused
                        for data__spec__queues_x, data__spec__queues_item in enumerate(data__spec__queues):
                            validate___definitions_queue(data__spec__queues_item)
                if "images" in data__spec_keys:
                    data__spec_keys.remove("images")
                    data__spec__images = data__spec["images"]
                    if not isinstance(data__spec__images, (dict)):
                        raise Refused
                    data__spec__images_is_dict = isinstance(data__spec__images, dict)
                    if data__spec__images_is_dict:
                        data__spec__images_keys = set(data__spec__images.keys())
                        if "kubectl" in data__spec__images_keys:
                            data__spec__images_keys.remove("kubectl")
                            data__spec__images__kubectl = data__spec__images["kubectl"]
                            validate___definitions_image(data__spec__images__kubectl)
                        if data__spec__images_keys:
                            raise Refused
                if "schedulers" in data__spec_keys:
                    data__spec_keys.remove("schedulers")
                    data__spec__schedulers = data__spec["schedulers"]
                    if not isinstance(data__spec__schedulers, (dict)):
                        raise Refused
                    data__spec__schedulers_is_dict = isinstance(data__spec__schedulers, dict)
                    if data__spec__schedulers_is_dict:
                        data__spec__schedulers_keys = set(data__spec__schedulers.keys())
                        if "kai" in data__spec__schedulers_keys:
                            data__spec__schedulers_keys.remove("kai")
                            data__spec__schedulers__kai = data__spec__schedulers["kai"]
                            if not isinstance(data__spec__schedulers__kai, (dict)):
                                raise Refused
                            data__spec__schedulers__kai_is_dict = isinstance(data__spec__schedulers__kai, dict)
                            if data__spec__schedulers__kai_is_dict:
                                data__spec__schedulers__kai_keys = set(data__spec__schedulers__kai.keys())
                                if "topology" in data__spec__schedulers__kai_keys:
                                    data__spec__schedulers__kai_keys.remove("topology")
                                    data__spec__schedulers__kai__topology = data__spec__schedulers__kai["topology"]
                                    validate___definitions_dottedname(data__spec__schedulers__kai__topology)
                                if "nodePool" in data__spec__schedulers__kai_keys:
                                    data__spec__schedulers__kai_keys.remove("nodePool")
                                    data__spec__schedulers__kai__nodePool = data__spec__schedulers__kai["nodePool"]
                                    validate___definitions_labelvalue(data__spec__schedulers__kai__nodePool)
                                if "parentQueue" in data__spec__schedulers__kai_keys:
                                    data__spec__schedulers__kai_keys.remove("parentQueue")
                                    data__spec__schedulers__kai__parentQueue = data__spec__schedulers__kai["parentQueue"]
                                    validate___definitions_dottedname(data__spec__schedulers__kai__parentQueue)
                                if "schedulerName" in data__spec__schedulers__kai_keys:
                                    data__spec__schedulers__kai_keys.remove("schedulerName")
                                    data__spec__schedulers__kai__schedulerName = data__spec__schedulers__kai["schedulerName"]
                                    validate___definitions_dottedname(data__spec__schedulers__kai__schedulerName)
                                if data__spec__schedulers__kai_keys:
                                    raise Refused
                        if "volcano" in data__spec__schedulers_keys:
                            data__spec__schedulers_keys.remove("volcano")
                            data__spec__schedulers__volcano = data__spec__schedulers["volcano"]
                            if not isinstance(data__spec__schedulers__volcano, (dict)):
                                raise Refused
                            data__spec__schedulers__volcano_is_dict = isinstance(data__spec__schedulers__volcano, dict)
                            if data__spec__schedulers__volcano_is_dict:
                                data__spec__schedulers__volcano_keys = set(data__spec__schedulers__volcano.keys())
                                if "hyperNodes" in data__spec__schedulers__volcano_keys:
                                    data__spec__schedulers__volcano_keys.remove("hyperNodes")
                                    data__spec__schedulers__volcano__hyperNodes = data__spec__schedulers__volcano["hyperNodes"]
                                    if not (isinstance(data__spec__schedulers__volcano__hyperNodes, str) and data__spec__schedulers__volcano__hyperNodes == 'emit' or isinstance(data__spec__schedulers__volcano__hyperNodes, str) and data__spec__schedulers__volcano__hyperNodes == 'discovered'):
                                        raise Refused
                                if "schedulerName" in data__spec__schedulers__volcano_keys:
                                    data__spec__schedulers__volcano_keys.remove("schedulerName")
                                    data__spec__schedulers__volcano__schedulerName = data__spec__schedulers__volcano["schedulerName"]
                                    validate___definitions_dottedname(data__spec__schedulers__volcano__schedulerName)
                                if "featureGates" in data__spec__schedulers__volcano_keys:
                                    data__spec__schedulers__volcano_keys.remove("featureGates")
                                    data__spec__schedulers__volcano__featureGates = data__spec__schedulers__volcano["featureGates"]
                                    validate___definitions_featuregates(data__spec__schedulers__volcano__featureGates)
                                if data__spec__schedulers__volcano_keys:
                                    raise Refused
                        if "kueue" in data__spec__schedulers_keys:
                            data__spec__schedulers_keys.remove("kueue")
                            data__spec__schedulers__kueue = data__spec__schedulers["kueue"]
                            if not isinstance(data__spec__schedulers__kueue, (dict)):
                                raise Refused
                            data__spec__schedulers__kueue_is_dict = isinstance(data__spec__schedulers__kueue, dict)
                            if data__spec__schedulers__kueue_is_dict:
                                data__spec__schedulers__kueue_keys = set(data__spec__schedulers__kueue.keys())
                                if "topology" in data__spec__schedulers__kueue_keys:
                                    data__spec__schedulers__kueue_keys.remove("topology")
                                    data__spec__schedulers__kueue__topology = data__spec__schedulers__kueue["topology"]
                                    validate___definitions_dottedname(data__spec__schedulers__kueue__topology)
                                if "flavor" in data__spec__schedulers__kueue_keys:
                                    data__spec__schedulers__kueue_keys.remove("flavor")
                                    data__spec__schedulers__kueue__flavor = data__spec__schedulers__kueue["flavor"]
                                    validate___definitions_dottedname(data__spec__schedulers__kueue__flavor)
                                if "clusterQueue" in data__spec__schedulers__kueue_keys:
                                    data__spec__schedulers__kueue_keys.remove("clusterQueue")
                                    data__spec__schedulers__kueue__clusterQueue = data__spec__schedulers__kueue["clusterQueue"]
                                    validate___definitions_dottedname(data__spec__schedulers__kueue__clusterQueue)
                                if "deviceClassMappings" in data__spec__schedulers__kueue_keys:
                                    data__spec__schedulers__kueue_keys.remove("deviceClassMappings")
                                    data__spec__schedulers__kueue__deviceClassMappings = data__spec__schedulers__kueue["deviceClassMappings"]
                                    if not isinstance(data__spec__schedulers__kueue__deviceClassMappings, (dict)):
                                        raise Refused
                                    data__spec__schedulers__kueue__deviceClassMappings_is_dict = isinstance(data__spec__schedulers__kueue__deviceClassMappings, dict)
                                    if data__spec__schedulers__kueue__deviceClassMappings_is_dict:
                                        data__spec__schedulers__kueue__deviceClassMappings_keys = set(data__spec__schedulers__kueue__deviceClassMappings.keys())
                                        for data__spec__schedulers__kueue__deviceClassMappings_key in data__spec__schedulers__kueue__deviceClassMappings_keys:
                                            if data__spec__schedulers__kueue__deviceClassMappings_key not in []:
                                                data__spec__schedulers__kueue__deviceClassMappings_value = data__spec__schedulers__kueue__deviceClassMappings.get(data__spec__schedulers__kueue__deviceClassMappings_key)
                                                validate___definitions_labeltext(data__spec__schedulers__kueue__deviceClassMappings_value)
                                        data__spec__schedulers__kueue__deviceClassMappings_len = len(data__spec__schedulers__kueue__deviceClassMappings)
                                        if data__spec__schedulers__kueue__deviceClassMappings_len != 0:
                                            data__spec__schedulers__kueue__deviceClassMappings_property_names = True
                                            for data__spec__schedulers__kueue__deviceClassMappings_key in data__spec__schedulers__kueue__deviceClassMappings:
                                                try:
                                                    validate___definitions_dottedname(data__spec__schedulers__kueue__deviceClassMappings_key)
                                                except Refused:
                                                    data__spec__schedulers__kueue__deviceClassMappings_property_names = False
                                            if not data__spec__schedulers__kueue__deviceClassMappings_property_names:
                                                raise Refused
                                if "featureGates" in data__spec__schedulers__kueue_keys:
                                    data__spec__schedulers__kueue_keys.remove("featureGates")
                                    data__spec__schedulers__kueue__featureGates = data__spec__schedulers__kueue["featureGates"]
                                    validate___definitions_featuregates(data__spec__schedulers__kueue__featureGates)
                                if data__spec__schedulers__kueue_keys:
                                    raise Refused
                        if "koordinator" in data__spec__schedulers_keys:
                            data__spec__schedulers_keys.remove("koordinator")
                            data__spec__schedulers__koordinator = data__spec__schedulers["koordinator"]
                            if not isinstance(data__spec__schedulers__koordinator, (dict)):
                                raise Refused
                            data__spec__schedulers__koordinator_is_dict = isinstance(data__spec__schedulers__koordinator, dict)
                            if data__spec__schedulers__koordinator_is_dict:
                                data__spec__schedulers__koordinator_keys = set(data__spec__schedulers__koordinator.keys())
                                if "schedulerName" in data__spec__schedulers__koordinator_keys:
                                    data__spec__schedulers__koordinator_keys.remove("schedulerName")
                                    data__spec__schedulers__koordinator__schedulerName = data__spec__schedulers__koordinator["schedulerName"]
                                    validate___definitions_dottedname(data__spec__schedulers__koordinator__schedulerName)
                                if "featureGates" in data__spec__schedulers__koordinator_keys:
                                    data__spec__schedulers__koordinator_keys.remove("featureGates")
                                    data__spec__schedulers__koordinator__featureGates = data__spec__schedulers__koordinator["featureGates"]
                                    validate___definitions_featuregates(data__spec__schedulers__koordinator__featureGates)
                                if data__spec__schedulers__koordinator_keys:
                                    raise Refused
                        if "native" in data__spec__schedulers_keys:
                            data__spec__schedulers_keys.remove("native")
                            data__spec__schedulers__native = data__spec__schedulers["native"]
                            if not isinstance(data__spec__schedulers__native, (dict)):
                                raise Refused
                            data__spec__schedulers__native_is_dict = isinstance(data__spec__schedulers__native, dict)
                            if data__spec__schedulers__native_is_dict:
                                data__spec__schedulers__native_keys = set(data__spec__schedulers__native.keys())
                                if "schedulerName" in data__spec__schedulers__native_keys:
                                    data__spec__schedulers__native_keys.remove("schedulerName")
                                    data__spec__schedulers__native__schedulerName = data__spec__schedulers__native["schedulerName"]
                                    validate___definitions_dottedname(data__spec__schedulers__native__schedulerName)
                                if "featureGates" in data__spec__schedulers__native_keys:
                                    data__spec__schedulers__native_keys.remove("featureGates")
                                    data__spec__schedulers__native__featureGates = data__spec__schedulers__native["featureGates"]
                                    validate___definitions_featuregates(data__spec__schedulers__native__featureGates)
                                if data__spec__schedulers__native_keys:
                                    raise Refused
                        if "slurm-bridge" in data__spec__schedulers_keys:
                            data__spec__schedulers_keys.remove("slurm-bridge")
                            data__spec__schedulers__slurmbridge = data__spec__schedulers["slurm-bridge"]
                            if not isinstance(data__spec__schedulers__slurmbridge, (dict)):
                                raise Refused
                            data__spec__schedulers__slurmbridge_is_dict = isinstance(data__spec__schedulers__slurmbridge, dict)
                            if data__spec__schedulers__slurmbridge_is_dict:
                                data__spec__schedulers__slurmbridge_keys = set(data__spec__schedulers__slurmbridge.keys())
                                if "schedulerName" in data__spec__schedulers__slurmbridge_keys:
                                    data__spec__schedulers__slurmbridge_keys.remove("schedulerName")
                                    data__spec__schedulers__slurmbridge__schedulerName = data__spec__schedulers__slurmbridge["schedulerName"]
                                    validate___definitions_dottedname(data__spec__schedulers__slurmbridge__schedulerName)
                                if "partition" in data__spec__schedulers__slurmbridge_keys:
                                    data__spec__schedulers__slurmbridge_keys.remove("partition")
                                    data__spec__schedulers__slurmbridge__partition = data__spec__schedulers__slurmbridge["partition"]
                                    validate___definitions_plainname(data__spec__schedulers__slurmbridge__partition)
                                if "featureGates" in data__spec__schedulers__slurmbridge_keys:
                                    data__spec__schedulers__slurmbridge_keys.remove("featureGates")
                                    data__spec__schedulers__slurmbridge__featureGates = data__spec__schedulers__slurmbridge["featureGates"]
                                    validate___definitions_featuregates(data__spec__schedulers__slurmbridge__featureGates)
                                if data__spec__schedulers__slurmbridge_keys:
                                    raise Refused
                        if "sunk" in data__spec__schedulers_keys:
                            data__spec__schedulers_keys.remove("sunk")
                            data__spec__schedulers__sunk = data__spec__schedulers["sunk"]
                            if not isinstance(data__spec__schedulers__sunk, (dict)):
                                raise Refused
                            data__spec__schedulers__sunk_is_dict = isinstance(data__spec__schedulers__sunk, dict)
                            if data__spec__schedulers__sunk_is_dict:
                                data__spec__schedulers__sunk_keys = set(data__spec__schedulers__sunk.keys())
                                if "schedulerName" in data__spec__schedulers__sunk_keys:
                                    data__spec__schedulers__sunk_keys.remove("schedulerName")
                                    data__spec__schedulers__sunk__schedulerName = data__spec__schedulers__sunk["schedulerName"]
                                    validate___definitions_dottedname(data__spec__schedulers__sunk__schedulerName)
                                if "partition" in data__spec__schedulers__sunk_keys:
                                    data__spec__schedulers__sunk_keys.remove("partition")
                                    data__spec__schedulers__sunk__partition = data__spec__schedulers__sunk["partition"]
                                    validate___definitions_plainname(data__spec__schedulers__sunk__partition)
                                if "killWait" in data__spec__schedulers__sunk_keys:
                                    data__spec__schedulers__sunk_keys.remove("killWait")
                                    data__spec__schedulers__sunk__killWait = data__spec__schedulers__sunk["killWait"]
                                    if not isinstance(data__spec__schedulers__sunk__killWait, (int)) and not (isinstance(data__spec__schedulers__sunk__killWait, float) and data__spec__schedulers__sunk__killWait.is_integer()) or isinstance(data__spec__schedulers__sunk__killWait, bool):
                                        raise Refused
                                    if isinstance(data__spec__schedulers__sunk__killWait, (int, float)) and not isinstance(data__spec__schedulers__sunk__killWait, bool):
                                        if data__spec__schedulers__sunk__killWait < 7:
                                            raise Refused
                                        if data__spec__schedulers__sunk__killWait > 86400:
                                            raise Refused
                                if data__spec__schedulers__sunk_keys:
                                    raise Refused
                        if "slurm" in data__spec__schedulers_keys:
                            data__spec__schedulers_keys.remove("slurm")
                            data__spec__schedulers__slurm = data__spec__schedulers["slurm"]
                            if not isinstance(data__spec__schedulers__slurm, (dict)):
                                raise Refused
                            data__spec__schedulers__slurm_is_dict = isinstance(data__spec__schedulers__slurm, dict)
                            if data__spec__schedulers__slurm_is_dict:
                                data__spec__schedulers__slurm_keys = set(data__spec__schedulers__slurm.keys())
                                if "plugin" in data__spec__schedulers__slurm_keys:
                                    data__spec__schedulers__slurm_keys.remove("plugin")
                                    data__spec__schedulers__slurm__plugin = data__spec__schedulers__slurm["plugin"]
                                    if not (isinstance(data__spec__schedulers__slurm__plugin, str) and data__spec__schedulers__slurm__plugin == 'block' or isinstance(data__spec__schedulers__slurm__plugin, str) and data__spec__schedulers__slurm__plugin == 'tree'):
                                        raise Refused
                                if "topology" in data__spec__schedulers__slurm_keys:
                                    data__spec__schedulers__slurm_keys.remove("topology")
                                    data__spec__schedulers__slurm__topology = data__spec__schedulers__slurm["topology"]
                                    validate___definitions_plainname(data__spec__schedulers__slurm__topology)
                                if "partition" in data__spec__schedulers__slurm_keys:
                                    data__spec__schedulers__slurm_keys.remove("partition")
                                    data__spec__schedulers__slurm__partition = data__spec__schedulers__slurm["partition"]
                                    validate___definitions_plainname(data__spec__schedulers__slurm__partition)
                                if "pools" in data__spec__schedulers__slurm_keys:
                                    data__spec__schedulers__slurm_keys.remove("pools")
                                    data__spec__schedulers__slurm__pools = data__spec__schedulers__slurm["pools"]
                                    if not isinstance(data__spec__schedulers__slurm__pools, (dict)):
                                        raise Refused
                                    data__spec__schedulers__slurm__pools_is_dict = isinstance(data__spec__schedulers__slurm__pools, dict)
                                    if data__spec__schedulers__slurm__pools_is_dict:
                                        data__spec__schedulers__slurm__pools_keys = set(data__spec__schedulers__slurm__pools.keys())
                                        for data__spec__schedulers__slurm__pools_key in data__spec__schedulers__slurm__pools_keys:
                                            if data__spec__schedulers__slurm__pools_key not in []:
                                                data__spec__schedulers__slurm__pools_value = data__spec__schedulers__slurm__pools.get(data__spec__schedulers__slurm__pools_key)
                                                if not isinstance(data__spec__schedulers__slurm__pools_value, (dict)):
                                                    raise Refused
                                                data__spec__schedulers__slurm__pools_value_is_dict = isinstance(data__spec__schedulers__slurm__pools_value, dict)
                                                if data__spec__schedulers__slurm__pools_value_is_dict:
                                                    data__spec__schedulers__slurm__pools_value_keys = set(data__spec__schedulers__slurm__pools_value.keys())
                                                    if "plugin" in data__spec__schedulers__slurm__pools_value_keys:
                                                        data__spec__schedulers__slurm__pools_value_keys.remove("plugin")
                                                        data__spec__schedulers__slurm__pools_value__plugin = data__spec__schedulers__slurm__pools_value["plugin"]
                                                        if not (isinstance(data__spec__schedulers__slurm__pools_value__plugin, str) and data__spec__schedulers__slurm__pools_value__plugin == 'block' or isinstance(data__spec__schedulers__slurm__pools_value__plugin, str) and data__spec__schedulers__slurm__pools_value__plugin == 'tree'):
                                                            raise Refused
                                                    if "topology" in data__spec__schedulers__slurm__pools_value_keys:
                                                        data__spec__schedulers__slurm__pools_value_keys.remove("topology")
                                                        data__spec__schedulers__slurm__pools_value__topology = data__spec__schedulers__slurm__pools_value["topology"]
                                                        validate___definitions_plainname(data__spec__schedulers__slurm__pools_value__topology)
                                                    if "partition" in data__spec__schedulers__slurm__pools_value_keys:
                                                        data__spec__schedulers__slurm__pools_value_keys.remove("partition")
                                                        data__spec__schedulers__slurm__pools_value__partition = data__spec__schedulers__slurm__pools_value["partition"]
                                                        validate___definitions_plainname(data__spec__schedulers__slurm__pools_value__partition)
                                                    if "units" in data__spec__schedulers__slurm__pools_value_keys:
                                                        data__spec__schedulers__slurm__pools_value_keys.remove("units")
                                                        data__spec__schedulers__slurm__pools_value__units = data__spec__schedulers__slurm__pools_value["units"]
                                                        validate___definitions_units(data__spec__schedulers__slurm__pools_value__units)
                                                    if data__spec__schedulers__slurm__pools_value_keys:
                                                        raise Refused
                                        data__spec__schedulers__slurm__pools_len = len(data__spec__schedulers__slurm__pools)
                                        if data__spec__schedulers__slurm__pools_len != 0:
                                            data__spec__schedulers__slurm__pools_property_names = True
                                            for data__spec__schedulers__slurm__pools_key in data__spec__schedulers__slurm__pools:
                                                try:
                                                    validate___definitions_name(data__spec__schedulers__slurm__pools_key)
                                                except Refused:
                                                    data__spec__schedulers__slurm__pools_property_names = False
                                            if not data__spec__schedulers__slurm__pools_property_names:
                                                raise Refused
                                if "units" in data__spec__schedulers__slurm_keys:
                                    data__spec__schedulers__slurm_keys.remove("units")
                                    data__spec__schedulers__slurm__units = data__spec__schedulers__slurm["units"]
                                    validate___definitions_units(data__spec__schedulers__slurm__units)
                                if "names" in data__spec__schedulers__slurm_keys:
                                    data__spec__schedulers__slurm_keys.remove("names")
                                    data__spec__schedulers__slurm__names = data__spec__schedulers__slurm["names"]
                                    if not isinstance(data__spec__schedulers__slurm__names, (list, tuple)):
                                        raise Refused
                                    data__spec__schedulers__slurm__names_is_list = isinstance(data__spec__schedulers__slurm__names, (list, tuple))
                                    if data__spec__schedulers__slurm__names_is_list:
                                        data__spec__schedulers__slurm__names_len = len(data__spec__schedulers__slurm__names)
                                        if data__spec__schedulers__slurm__names_len < 1:
                                            raise Refused
                                        if data__spec__schedulers__slurm__names_len > 100:
                                            raise Refused
                                        for data__spec__schedulers__slurm__names_x, data__spec__schedulers__slurm__names_item in enumerate(data__spec__schedulers__slurm__names):
                                            if not isinstance(data__spec__schedulers__slurm__names_item, (dict)):
                                                raise Refused
                                            data__spec__schedulers__slurm__names_item_is_dict = isinstance(data__spec__schedulers__slurm__names_item, dict)
                                            if data__spec__schedulers__slurm__names_item_is_dict:
                                                data__spec__schedulers__slurm__names_item__missing_keys = set(['from', 'to']) - data__spec__schedulers__slurm__names_item.keys()
                                                if data__spec__schedulers__slurm__names_item__missing_keys:
                                                    raise Refused
                                                data__spec__schedulers__slurm__names_item_keys = set(data__spec__schedulers__slurm__names_item.keys())
                                                if "from" in data__spec__schedulers__slurm__names_item_keys:
                                                    data__spec__schedulers__slurm__names_item_keys.remove("from")
                                                    data__spec__schedulers__slurm__names_item__from = data__spec__schedulers__slurm__names_item["from"]
                                                    if not isinstance(data__spec__schedulers__slurm__names_item__from, (str)):
                                                        raise Refused
                                                    if isinstance(data__spec__schedulers__slurm__names_item__from, str):
                                                        data__spec__schedulers__slurm__names_item__from_len = len(data__spec__schedulers__slurm__names_item__from)
                                                        if data__spec__schedulers__slurm__names_item__from_len < 1:
                                                            raise Refused
                                                        if data__spec__schedulers__slurm__names_item__from_len > 256:
                                                            raise Refused
                                                if "to" in data__spec__schedulers__slurm__names_item_keys:
                                                    data__spec__schedulers__slurm__names_item_keys.remove("to")
                                                    data__spec__schedulers__slurm__names_item__to = data__spec__schedulers__slurm__names_item["to"]
                                                    if not isinstance(data__spec__schedulers__slurm__names_item__to, (str)):
                                                        raise Refused
                                                    if isinstance(data__spec__schedulers__slurm__names_item__to, str):
                                                        data__spec__schedulers__slurm__names_item__to_len = len(data__spec__schedulers__slurm__names_item__to)
                                                        if data__spec__schedulers__slurm__names_item__to_len < 1:
                                                            raise Refused
                                                        if data__spec__schedulers__slurm__names_item__to_len > 256:
                                                            raise Refused
                                                if data__spec__schedulers__slurm__names_item_keys:
                                                    raise Refused
                                if "featureGates" in data__spec__schedulers__slurm_keys:
                                    data__spec__schedulers__slurm_keys.remove("featureGates")
                                    data__spec__schedulers__slurm__featureGates = data__spec__schedulers__slurm["featureGates"]
                                    validate___definitions_featuregates(data__spec__schedulers__slurm__featureGates)
                                if data__spec__schedulers__slurm_keys:
                                    raise Refused
                        if data__spec__schedulers_keys:
                            raise Refused
                if "pools" in data__spec_keys:
                    data__spec_keys.remove("pools")
                    data__spec__pools = data__spec["pools"]
                    if not isinstance(data__spec__pools, (list, tuple)):
                        raise Refused
                    data__spec__pools_is_list = isinstance(data__spec__pools, (list, tuple))
                    if data__spec__pools_is_list:
                        data__spec__pools_len = len(data__spec__pools)
                        if data__spec__pools_len < 1:
                            raise Refused
                        if data__spec__pools_len > 1000:
                            raise Refused
                        for data__spec__pools_x, data__spec__pools_item in enumerate(data__spec__pools):
                            validate___definitions_pool(data__spec__pools_item)
                if "accelerators" in data__spec_keys:
                    data__spec_keys.remove("accelerators")
                    data__spec__accelerators = data__spec["accelerators"]
                    if not isinstance(data__spec__accelerators, (dict)):
                        raise Refused
                    data__spec__accelerators_is_dict = isinstance(data__spec__accelerators, dict)
                    if data__spec__accelerators_is_dict:
                        data__spec__accelerators_keys = set(data__spec__accelerators.keys())
                        for data__spec__accelerators_key in data__spec__accelerators_keys:
                            if data__spec__accelerators_key not in []:
                                data__spec__accelerators_value = data__spec__accelerators.get(data__spec__accelerators_key)
                                validate___definitions_accelerator(data__spec__accelerators_value)
                        data__spec__accelerators_len = len(data__spec__accelerators)
                        if data__spec__accelerators_len != 0:
                            data__spec__accelerators_property_names = True
                            for data__spec__accelerators_key in data__spec__accelerators:
                                try:
                                    validate___definitions_name(data__spec__accelerators_key)
                                except Refused:
                                    data__spec__accelerators_property_names = False
                            if not data__spec__accelerators_property_names:
                                raise Refused
                if "fabrics" in data__spec_keys:
                    data__spec_keys.remove("fabrics")
                    data__spec__fabrics = data__spec["fabrics"]
                    if not isinstance(data__spec__fabrics, (dict)):
                        raise Refused
                    data__spec__fabrics_is_dict = isinstance(data__spec__fabrics, dict)
                    if data__spec__fabrics_is_dict:
                        data__spec__fabrics_keys = set(data__spec__fabrics.keys())
                        for data__spec__fabrics_key in data__spec__fabrics_keys:
                            if data__spec__fabrics_key not in []:
                                data__spec__fabrics_value = data__spec__fabrics.get(data__spec__fabrics_key)
                                validate___definitions_fabric(data__spec__fabrics_value)
                        data__spec__fabrics_len = len(data__spec__fabrics)
                        if data__spec__fabrics_len != 0:
                            data__spec__fabrics_property_names = True
                            for data__spec__fabrics_key in data__spec__fabrics:
                                try:
                                    validate___definitions_name(data__spec__fabrics_key)
                                except Refused:
                                    data__spec__fabrics_property_names = False
                            if not data__spec__fabrics_property_names:
                                raise Refused
                if "namespaces" in data__spec_keys:
                    data__spec_keys.remove("namespaces")
                    data__spec__namespaces = data__spec["namespaces"]
                    if not isinstance(data__spec__namespaces, (dict)):
                        raise Refused
                    data__spec__namespaces_is_dict = isinstance(data__spec__namespaces, dict)
                    if data__spec__namespaces_is_dict:
                        data__spec__namespaces_keys = set(data__spec__namespaces.keys())
                        for data__spec__namespaces_key in data__spec__namespaces_keys:
                            if data__spec__namespaces_key not in []:
                                data__spec__namespaces_value = data__spec__namespaces.get(data__spec__namespaces_key)
                                validate___definitions_namespace(data__spec__namespaces_value)
                        data__spec__namespaces_len = len(data__spec__namespaces)
                        if data__spec__namespaces_len != 0:
                            data__spec__namespaces_property_names = True
                            for data__spec__namespaces_key in data__spec__namespaces:
                                try:
                                    validate___definitions_name(data__spec__namespaces_key)
                                except Refused:
                                    data__spec__namespaces_property_names = False
                            if not data__spec__namespaces_property_names:
                                raise Refused
                if data__spec_keys:
                    raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_namespace(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "podSecurity" in data_keys:
            data_keys.remove("podSecurity")
            data__podSecurity = data["podSecurity"]
            if not (isinstance(data__podSecurity, str) and data__podSecurity == 'privileged' or isinstance(data__podSecurity, str) and data__podSecurity == 'baseline' or isinstance(data__podSecurity, str) and data__podSecurity == 'restricted'):
                raise Refused
        if "primaryInterface" in data_keys:
            data_keys.remove("primaryInterface")
            data__primaryInterface = data["primaryInterface"]
            validate___definitions_interface(data__primaryInterface)
        if "scc" in data_keys:
            data_keys.remove("scc")
            data__scc = data["scc"]
            validate___definitions_optionalname(data__scc)
        if "serviceAccount" in data_keys:
            data_keys.remove("serviceAccount")
            data__serviceAccount = data["serviceAccount"]
            validate___definitions_optionalname(data__serviceAccount)
        if data_keys:
            raise Refused
    return data

def validate___definitions_optionalname(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len > 253:
            raise Refused
        if not REGEX_PATTERNS['^([a-z0-9]([-.a-z0-9]*[a-z0-9])?)?$'].search(data):
            raise Refused
    return data

def validate___definitions_interface(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len > 15:
            raise Refused
        if not REGEX_PATTERNS['^[-._A-Za-z0-9]*$'].search(data):
            raise Refused
    return data

def validate___definitions_fabric(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['kind']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "kind" in data_keys:
            data_keys.remove("kind")
            data__kind = data["kind"]
            if not (isinstance(data__kind, str) and data__kind == 'macvlan' or isinstance(data__kind, str) and data__kind == 'ipoib' or isinstance(data__kind, str) and data__kind == 'hostdevice' or isinstance(data__kind, str) and data__kind == 'sriov' or isinstance(data__kind, str) and data__kind == 'spectrumx' or isinstance(data__kind, str) and data__kind == 'dranet' or isinstance(data__kind, str) and data__kind == 'efa' or isinstance(data__kind, str) and data__kind == 'gke' or isinstance(data__kind, str) and data__kind == 'hostnetwork' or isinstance(data__kind, str) and data__kind == 'none'):
                raise Refused
        if "linkType" in data_keys:
            data_keys.remove("linkType")
            data__linkType = data["linkType"]
            if not (isinstance(data__linkType, str) and data__linkType == 'infiniband' or isinstance(data__linkType, str) and data__linkType == 'ethernet'):
                raise Refused
        if "attach" in data_keys:
            data_keys.remove("attach")
            data__attach = data["attach"]
            if not (isinstance(data__attach, str) and data__attach == 'exclusive' or isinstance(data__attach, str) and data__attach == 'shared'):
                raise Refused
        if "rails" in data_keys:
            data_keys.remove("rails")
            data__rails = data["rails"]
            if not isinstance(data__rails, (list, tuple)):
                raise Refused
            data__rails_is_list = isinstance(data__rails, (list, tuple))
            if data__rails_is_list:
                data__rails_len = len(data__rails)
                if data__rails_len > 64:
                    raise Refused
                for data__rails_x, data__rails_item in enumerate(data__rails):
                    validate___definitions_rail(data__rails_item)
        if "env" in data_keys:
            data_keys.remove("env")
            data__env = data["env"]
            validate___definitions_env(data__env)
        if "ipam" in data_keys:
            data_keys.remove("ipam")
            data__ipam = data["ipam"]
            validate___definitions_ipam(data__ipam)
        if "memlock" in data_keys:
            data_keys.remove("memlock")
            data__memlock = data["memlock"]
            if not (isinstance(data__memlock, str) and data__memlock == 'unlimited'):
                raise Refused
        if "sourceRouting" in data_keys:
            data_keys.remove("sourceRouting")
            data__sourceRouting = data["sourceRouting"]
            if not isinstance(data__sourceRouting, (bool)):
                raise Refused
        if "injector" in data_keys:
            data_keys.remove("injector")
            data__injector = data["injector"]
            if not isinstance(data__injector, (bool)):
                raise Refused
        if "ipcLock" in data_keys:
            data_keys.remove("ipcLock")
            data__ipcLock = data["ipcLock"]
            if not isinstance(data__ipcLock, (bool)):
                raise Refused
        if "privileged" in data_keys:
            data_keys.remove("privileged")
            data__privileged = data["privileged"]
            if not isinstance(data__privileged, (bool)):
                raise Refused
        if "deviceClass" in data_keys:
            data_keys.remove("deviceClass")
            data__deviceClass = data["deviceClass"]
            validate___definitions_dottedname(data__deviceClass)
        if "shm" in data_keys:
            data_keys.remove("shm")
            data__shm = data["shm"]
            validate___definitions_quantity(data__shm)
        if "mtu" in data_keys:
            data_keys.remove("mtu")
            data__mtu = data["mtu"]
            if not isinstance(data__mtu, (int)) and not (isinstance(data__mtu, float) and data__mtu.is_integer()) or isinstance(data__mtu, bool):
                raise Refused
            if isinstance(data__mtu, (int, float)) and not isinstance(data__mtu, bool):
                if data__mtu < 68:
                    raise Refused
                if data__mtu > 65536:
                    raise Refused
        if "vendorIDs" in data_keys:
            data_keys.remove("vendorIDs")
            data__vendorIDs = data["vendorIDs"]
            validate___definitions_pciids(data__vendorIDs)
        if "deviceIDs" in data_keys:
            data_keys.remove("deviceIDs")
            data__deviceIDs = data["deviceIDs"]
            validate___definitions_pciids(data__deviceIDs)
        if "shares" in data_keys:
            data_keys.remove("shares")
            data__shares = data["shares"]
            if not isinstance(data__shares, (int)) and not (isinstance(data__shares, float) and data__shares.is_integer()) or isinstance(data__shares, bool):
                raise Refused
            if isinstance(data__shares, (int, float)) and not isinstance(data__shares, bool):
                if data__shares < 1:
                    raise Refused
                if data__shares > 1000000:
                    raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_pciids(data: Any) -> Any:
    if not isinstance(data, (list, tuple)):
        raise Refused
    data_is_list = isinstance(data, (list, tuple))
    if data_is_list:
        data_len = len(data)
        if data_len > 100:
            raise Refused
        def fn(var): return frozenset(dict((k, fn(v)) for k, v in var.items()).items()) if hasattr(var, "items") else tuple(fn(v) for v in var) if isinstance(var, (dict, list)) else (bool, var) if isinstance(var, bool) else var
        if data_len > len(set(fn(data_x) for data_x in data)):
            raise Refused
        for data_x, data_item in enumerate(data):
            if not isinstance(data_item, (str)):
                raise Refused
            if isinstance(data_item, str):
                if not REGEX_PATTERNS['^[0-9a-f]{4}$'].search(data_item):
                    raise Refused
    return data

def validate___definitions_quantity(data: Any) -> Any:
    if not isinstance(data, (str, int)) and not (isinstance(data, float) and data.is_integer()) or isinstance(data, bool):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 64:
            raise Refused
        if not REGEX_PATTERNS['^[-+]?[0-9.]+[A-Za-z]*[-+]?[0-9]*$'].search(data):
            raise Refused
    return data

def validate___definitions_ipam(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['type']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "type" in data_keys:
            data_keys.remove("type")
            data__type = data["type"]
            if not (isinstance(data__type, str) and data__type == 'nv-ipam' or isinstance(data__type, str) and data__type == 'whereabouts' or isinstance(data__type, str) and data__type == 'static' or isinstance(data__type, str) and data__type == 'host-local' or isinstance(data__type, str) and data__type == 'dhcp'):
                raise Refused
        if "perNode" in data_keys:
            data_keys.remove("perNode")
            data__perNode = data["perNode"]
            if not isinstance(data__perNode, (int)) and not (isinstance(data__perNode, float) and data__perNode.is_integer()) or isinstance(data__perNode, bool):
                raise Refused
            if isinstance(data__perNode, (int, float)) and not isinstance(data__perNode, bool):
                if data__perNode < 1:
                    raise Refused
                if data__perNode > 1000000:
                    raise Refused
        if "exclude" in data_keys:
            data_keys.remove("exclude")
            data__exclude = data["exclude"]
            if not isinstance(data__exclude, (list, tuple)):
                raise Refused
            data__exclude_is_list = isinstance(data__exclude, (list, tuple))
            if data__exclude_is_list:
                data__exclude_len = len(data__exclude)
                if data__exclude_len > 1000:
                    raise Refused
                for data__exclude_x, data__exclude_item in enumerate(data__exclude):
                    validate___definitions_subnet(data__exclude_item)
        if "rangeStart" in data_keys:
            data_keys.remove("rangeStart")
            data__rangeStart = data["rangeStart"]
            validate___definitions_address(data__rangeStart)
        if "rangeEnd" in data_keys:
            data_keys.remove("rangeEnd")
            data__rangeEnd = data["rangeEnd"]
            validate___definitions_address(data__rangeEnd)
        if "namespace" in data_keys:
            data_keys.remove("namespace")
            data__namespace = data["namespace"]
            validate___definitions_name(data__namespace)
        if data_keys:
            raise Refused
    return data

def validate___definitions_address(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 2:
            raise Refused
        if data_len > 64:
            raise Refused
        if not REGEX_PATTERNS['^[0-9A-Fa-f:.]+$'].search(data):
            raise Refused
    return data

def validate___definitions_subnet(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 2:
            raise Refused
        if data_len > 64:
            raise Refused
        if not REGEX_PATTERNS['^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$'].search(data):
            raise Refused
    return data

def validate___definitions_env(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        for data_key in data_keys:
            if data_key not in []:
                data_value = data.get(data_key)
                if not isinstance(data_value, (str, int)) and not (isinstance(data_value, float) and data_value.is_integer()) or isinstance(data_value, bool):
                    raise Refused
        data_len = len(data)
        if data_len != 0:
            data_property_names = True
            for data_key in data:
                try:
                    validate___definitions_envname(data_key)
                except Refused:
                    data_property_names = False
            if not data_property_names:
                raise Refused
    return data

def validate___definitions_envname(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 253:
            raise Refused
        if not REGEX_PATTERNS['^[A-Za-z_.-][-A-Za-z0-9_.]*$'].search(data):
            raise Refused
    return data

def validate___definitions_rail(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "network" in data_keys:
            data_keys.remove("network")
            data__network = data["network"]
            validate___definitions_networkname(data__network)
        if "resource" in data_keys:
            data_keys.remove("resource")
            data__resource = data["resource"]
            validate___definitions_labelkey(data__resource)
        if "hca" in data_keys:
            data_keys.remove("hca")
            data__hca = data["hca"]
            validate___definitions_plainname(data__hca)
        if "interface" in data_keys:
            data_keys.remove("interface")
            data__interface = data["interface"]
            validate___definitions_interface(data__interface)
        if "subnet" in data_keys:
            data_keys.remove("subnet")
            data__subnet = data["subnet"]
            validate___definitions_subnet(data__subnet)
        if "gateway" in data_keys:
            data_keys.remove("gateway")
            data__gateway = data["gateway"]
            validate___definitions_address(data__gateway)
        if "gpu" in data_keys:
            data_keys.remove("gpu")
            data__gpu = data["gpu"]
            if not isinstance(data__gpu, (int)) and not (isinstance(data__gpu, float) and data__gpu.is_integer()) or isinstance(data__gpu, bool):
                raise Refused
            if isinstance(data__gpu, (int, float)) and not isinstance(data__gpu, bool):
                if data__gpu < 0:
                    raise Refused
                if data__gpu > 1023:
                    raise Refused
        if "numa" in data_keys:
            data_keys.remove("numa")
            data__numa = data["numa"]
            if not isinstance(data__numa, (int)) and not (isinstance(data__numa, float) and data__numa.is_integer()) or isinstance(data__numa, bool):
                raise Refused
            if isinstance(data__numa, (int, float)) and not isinstance(data__numa, bool):
                if data__numa < 0:
                    raise Refused
                if data__numa > 1023:
                    raise Refused
        if "device" in data_keys:
            data_keys.remove("device")
            data__device = data["device"]
            validate___definitions_port(data__device)
        if "selectors" in data_keys:
            data_keys.remove("selectors")
            data__selectors = data["selectors"]
            if not isinstance(data__selectors, (list, tuple)):
                raise Refused
            data__selectors_is_list = isinstance(data__selectors, (list, tuple))
            if data__selectors_is_list:
                data__selectors_len = len(data__selectors)
                if data__selectors_len > 32:
                    raise Refused
                for data__selectors_x, data__selectors_item in enumerate(data__selectors):
                    if not isinstance(data__selectors_item, (str)):
                        raise Refused
                    if isinstance(data__selectors_item, str):
                        data__selectors_item_len = len(data__selectors_item)
                        if data__selectors_item_len < 1:
                            raise Refused
                        if data__selectors_item_len > 10240:
                            raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_port(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len > 15:
            raise Refused
        if not REGEX_PATTERNS['^[-._:A-Za-z0-9]*$'].search(data):
            raise Refused
    return data

def validate___definitions_labelkey(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 317:
            raise Refused
        if not REGEX_PATTERNS['^([a-z0-9][-.a-z0-9]{0,252}/)?[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$'].search(data):
            raise Refused
    return data

def validate___definitions_networkname(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 317:
            raise Refused
        if not REGEX_PATTERNS['^([a-z0-9]([-a-z0-9]*[a-z0-9])?/)?[a-z0-9]([-.a-z0-9]*[a-z0-9])?$'].search(data):
            raise Refused
    return data

def validate___definitions_accelerator(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "vendor" in data_keys:
            data_keys.remove("vendor")
            data__vendor = data["vendor"]
            if not (isinstance(data__vendor, str) and data__vendor == 'nvidia' or isinstance(data__vendor, str) and data__vendor == 'amd' or isinstance(data__vendor, str) and data__vendor == 'ascend' or isinstance(data__vendor, str) and data__vendor == 'cambricon' or isinstance(data__vendor, str) and data__vendor == 'enflame' or isinstance(data__vendor, str) and data__vendor == 'hygon' or isinstance(data__vendor, str) and data__vendor == 'iluvatar' or isinstance(data__vendor, str) and data__vendor == 'kunlunxin' or isinstance(data__vendor, str) and data__vendor == 'metax' or isinstance(data__vendor, str) and data__vendor == 'mthreads'):
                raise Refused
        if "allocator" in data_keys:
            data_keys.remove("allocator")
            data__allocator = data["allocator"]
            validate___definitions_allocators(data__allocator)
        if "resources" in data_keys:
            data_keys.remove("resources")
            data__resources = data["resources"]
            if not isinstance(data__resources, (dict)):
                raise Refused
            data__resources_is_dict = isinstance(data__resources, dict)
            if data__resources_is_dict:
                data__resources_keys = set(data__resources.keys())
                if "count" in data__resources_keys:
                    data__resources_keys.remove("count")
                    data__resources__count = data__resources["count"]
                    validate___definitions_labelkey(data__resources__count)
                if "memory" in data__resources_keys:
                    data__resources_keys.remove("memory")
                    data__resources__memory = data__resources["memory"]
                    validate___definitions_labelkey(data__resources__memory)
                if "memoryPercentage" in data__resources_keys:
                    data__resources_keys.remove("memoryPercentage")
                    data__resources__memoryPercentage = data__resources["memoryPercentage"]
                    validate___definitions_labelkey(data__resources__memoryPercentage)
                if "cores" in data__resources_keys:
                    data__resources_keys.remove("cores")
                    data__resources__cores = data__resources["cores"]
                    validate___definitions_labelkey(data__resources__cores)
                if data__resources_keys:
                    raise Refused
        if "deviceClass" in data_keys:
            data_keys.remove("deviceClass")
            data__deviceClass = data["deviceClass"]
            validate___definitions_dottedname(data__deviceClass)
        if "profile" in data_keys:
            data_keys.remove("profile")
            data__profile = data["profile"]
            validate___definitions_migprofile(data__profile)
        if "memory" in data_keys:
            data_keys.remove("memory")
            data__memory = data["memory"]
            validate___definitions_quantity(data__memory)
        if "maxPods" in data_keys:
            data_keys.remove("maxPods")
            data__maxPods = data["maxPods"]
            if not isinstance(data__maxPods, (int)) and not (isinstance(data__maxPods, float) and data__maxPods.is_integer()) or isinstance(data__maxPods, bool):
                raise Refused
            if isinstance(data__maxPods, (int, float)) and not isinstance(data__maxPods, bool):
                if data__maxPods < 1:
                    raise Refused
                if data__maxPods > 1024:
                    raise Refused
        if "linkZones" in data_keys:
            data_keys.remove("linkZones")
            data__linkZones = data["linkZones"]
            if not isinstance(data__linkZones, (list, tuple)):
                raise Refused
            data__linkZones_is_list = isinstance(data__linkZones, (list, tuple))
            if data__linkZones_is_list:
                data__linkZones_len = len(data__linkZones)
                if data__linkZones_len < 1:
                    raise Refused
                if data__linkZones_len > 1024:
                    raise Refused
                for data__linkZones_x, data__linkZones_item in enumerate(data__linkZones):
                    if not isinstance(data__linkZones_item, (list, tuple)):
                        raise Refused
                    data__linkZones_item_is_list = isinstance(data__linkZones_item, (list, tuple))
                    if data__linkZones_item_is_list:
                        data__linkZones_item_len = len(data__linkZones_item)
                        if data__linkZones_item_len < 1:
                            raise Refused
                        if data__linkZones_item_len > 1024:
                            raise Refused
                        for data__linkZones_item_x, data__linkZones_item_item in enumerate(data__linkZones_item):
                            if not isinstance(data__linkZones_item_item, (int)) and not (isinstance(data__linkZones_item_item, float) and data__linkZones_item_item.is_integer()) or isinstance(data__linkZones_item_item, bool):
                                raise Refused
                            if isinstance(data__linkZones_item_item, (int, float)) and not isinstance(data__linkZones_item_item, bool):
                                if data__linkZones_item_item < 0:
                                    raise Refused
                                if data__linkZones_item_item > 1023:
                                    raise Refused
        if "topologyAnnotated" in data_keys:
            data_keys.remove("topologyAnnotated")
            data__topologyAnnotated = data["topologyAnnotated"]
            if not isinstance(data__topologyAnnotated, (bool)):
                raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_migprofile(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 32:
            raise Refused
        if not REGEX_PATTERNS['^([0-9]+c[.])?[0-9]+g[.][0-9]+gb([+][a-z.]+)*$'].search(data):
            raise Refused
    return data

def validate___definitions_allocators(data: Any) -> Any:
    if not isinstance(data, (str, list, tuple)):
        raise Refused
    if isinstance(data, str):
        if not REGEX_PATTERNS['^(device-plugin|dra|hami)$'].search(data):
            raise Refused
    data_is_list = isinstance(data, (list, tuple))
    if data_is_list:
        data_len = len(data)
        if data_len < 1:
            raise Refused
        def fn(var): return frozenset(dict((k, fn(v)) for k, v in var.items()).items()) if hasattr(var, "items") else tuple(fn(v) for v in var) if isinstance(var, (dict, list)) else (bool, var) if isinstance(var, bool) else var
        if data_len > len(set(fn(data_x) for data_x in data)):
            raise Refused
        for data_x, data_item in enumerate(data):
            if not (isinstance(data_item, str) and data_item == 'device-plugin' or isinstance(data_item, str) and data_item == 'dra' or isinstance(data_item, str) and data_item == 'hami'):
                raise Refused
    return data

def validate___definitions_pool(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['name', 'node', 'domains']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "name" in data_keys:
            data_keys.remove("name")
            data__name = data["name"]
            validate___definitions_name(data__name)
        if "node" in data_keys:
            data_keys.remove("node")
            data__node = data["node"]
            validate___definitions_node(data__node)
        if "template" in data_keys:
            data_keys.remove("template")
            data__template = data["template"]
            validate___definitions_template(data__template)
        if "levels" in data_keys:
            data_keys.remove("levels")
            data__levels = data["levels"]
            if not isinstance(data__levels, (list, tuple)):
                raise Refused
            data__levels_is_list = isinstance(data__levels, (list, tuple))
            if data__levels_is_list:
                data__levels_len = len(data__levels)
                if data__levels_len > 64:
                    raise Refused
                for data__levels_x, data__levels_item in enumerate(data__levels):
                    validate___definitions_level(data__levels_item)
        if "domains" in data_keys:
            data_keys.remove("domains")
            data__domains = data["domains"]
            if not isinstance(data__domains, (list, tuple)):
                raise Refused
            data__domains_is_list = isinstance(data__domains, (list, tuple))
            if data__domains_is_list:
                data__domains_len = len(data__domains)
                if data__domains_len < 1:
                    raise Refused
                if data__domains_len > 1000000:
                    raise Refused
                for data__domains_x, data__domains_item in enumerate(data__domains):
                    validate___definitions_domain(data__domains_item)
        if "unusable" in data_keys:
            data_keys.remove("unusable")
            data__unusable = data["unusable"]
            if not isinstance(data__unusable, (dict)):
                raise Refused
            data__unusable_is_dict = isinstance(data__unusable, dict)
            if data__unusable_is_dict:
                data__unusable_keys = set(data__unusable.keys())
                if "cordoned" in data__unusable_keys:
                    data__unusable_keys.remove("cordoned")
                    data__unusable__cordoned = data__unusable["cordoned"]
                    validate___definitions_hostlist(data__unusable__cordoned)
                if "notReady" in data__unusable_keys:
                    data__unusable_keys.remove("notReady")
                    data__unusable__notReady = data__unusable["notReady"]
                    validate___definitions_hostlist(data__unusable__notReady)
                if "unhealthy" in data__unusable_keys:
                    data__unusable_keys.remove("unhealthy")
                    data__unusable__unhealthy = data__unusable["unhealthy"]
                    validate___definitions_hostlist(data__unusable__unhealthy)
                if "reserved" in data__unusable_keys:
                    data__unusable_keys.remove("reserved")
                    data__unusable__reserved = data__unusable["reserved"]
                    validate___definitions_hostlist(data__unusable__reserved)
                if "spare" in data__unusable_keys:
                    data__unusable_keys.remove("spare")
                    data__unusable__spare = data__unusable["spare"]
                    validate___definitions_hostlist(data__unusable__spare)
                if data__unusable_keys:
                    raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_hostlist(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    return data

def validate___definitions_domain(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['nodes']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "path" in data_keys:
            data_keys.remove("path")
            data__path = data["path"]
            validate___definitions_path(data__path)
        if "nodes" in data_keys:
            data_keys.remove("nodes")
            data__nodes = data["nodes"]
            validate___definitions_hostlist(data__nodes)
        if "nvlinkDomain" in data_keys:
            data_keys.remove("nvlinkDomain")
            data__nvlinkDomain = data["nvlinkDomain"]
            validate___definitions_nvlinkdomain(data__nvlinkDomain)
        if "leaves" in data_keys:
            data_keys.remove("leaves")
            data__leaves = data["leaves"]
            validate___definitions_hostlist(data__leaves)
        if data_keys:
            raise Refused
    return data

def validate___definitions_nvlinkdomain(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 128:
            raise Refused
        if not REGEX_PATTERNS['^[!-~]+$'].search(data):
            raise Refused
    return data

def validate___definitions_path(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    return data

def validate___definitions_level(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['name', 'label']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "name" in data_keys:
            data_keys.remove("name")
            data__name = data["name"]
            validate___definitions_name(data__name)
        if "label" in data_keys:
            data_keys.remove("label")
            data__label = data["label"]
            validate___definitions_labeltext(data__label)
        if "nvlink" in data_keys:
            data_keys.remove("nvlink")
            data__nvlink = data["nvlink"]
            if not isinstance(data__nvlink, (bool)):
                raise Refused
        if "plan" in data_keys:
            data_keys.remove("plan")
            data__plan = data["plan"]
            validate___definitions_count(data__plan)
        if "unique" in data_keys:
            data_keys.remove("unique")
            data__unique = data["unique"]
            if not (isinstance(data__unique, str) and data__unique == 'global' or isinstance(data__unique, str) and data__unique == 'parent'):
                raise Refused
        if "apply" in data_keys:
            data_keys.remove("apply")
            data__apply = data["apply"]
            if not isinstance(data__apply, (bool)):
                raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_count(data: Any) -> Any:
    if not isinstance(data, (int)) and not (isinstance(data, float) and data.is_integer()) or isinstance(data, bool):
        raise Refused
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        if data < 1:
            raise Refused
        if data > 1000000:
            raise Refused
    return data

def validate___definitions_template(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "metadata" in data_keys:
            data_keys.remove("metadata")
            data__metadata = data["metadata"]
            if not isinstance(data__metadata, (dict)):
                raise Refused
            data__metadata_is_dict = isinstance(data__metadata, dict)
            if data__metadata_is_dict:
                data__metadata_keys = set(data__metadata.keys())
                if "labels" in data__metadata_keys:
                    data__metadata_keys.remove("labels")
                    data__metadata__labels = data__metadata["labels"]
                    if not isinstance(data__metadata__labels, (dict)):
                        raise Refused
                    data__metadata__labels_is_dict = isinstance(data__metadata__labels, dict)
                    if data__metadata__labels_is_dict:
                        data__metadata__labels_keys = set(data__metadata__labels.keys())
                        for data__metadata__labels_key in data__metadata__labels_keys:
                            if data__metadata__labels_key not in []:
                                data__metadata__labels_value = data__metadata__labels.get(data__metadata__labels_key)
                                if not isinstance(data__metadata__labels_value, (str, NoneType)):
                                    raise Refused
                        data__metadata__labels_len = len(data__metadata__labels)
                        if data__metadata__labels_len != 0:
                            data__metadata__labels_property_names = True
                            for data__metadata__labels_key in data__metadata__labels:
                                try:
                                    validate___definitions_labelkey(data__metadata__labels_key)
                                except Refused:
                                    data__metadata__labels_property_names = False
                            if not data__metadata__labels_property_names:
                                raise Refused
                if "annotations" in data__metadata_keys:
                    data__metadata_keys.remove("annotations")
                    data__metadata__annotations = data__metadata["annotations"]
                    if not isinstance(data__metadata__annotations, (dict)):
                        raise Refused
                    data__metadata__annotations_is_dict = isinstance(data__metadata__annotations, dict)
                    if data__metadata__annotations_is_dict:
                        data__metadata__annotations_keys = set(data__metadata__annotations.keys())
                        for data__metadata__annotations_key in data__metadata__annotations_keys:
                            if data__metadata__annotations_key not in []:
                                data__metadata__annotations_value = data__metadata__annotations.get(data__metadata__annotations_key)
                                if not isinstance(data__metadata__annotations_value, (str, NoneType)):
                                    raise Refused
                        data__metadata__annotations_len = len(data__metadata__annotations)
                        if data__metadata__annotations_len != 0:
                            data__metadata__annotations_property_names = True
                            for data__metadata__annotations_key in data__metadata__annotations:
                                try:
                                    validate___definitions_labelkey(data__metadata__annotations_key)
                                except Refused:
                                    data__metadata__annotations_property_names = False
                            if not data__metadata__annotations_property_names:
                                raise Refused
                if data__metadata_keys:
                    raise Refused
        if "spec" in data_keys:
            data_keys.remove("spec")
            data__spec = data["spec"]
            if not isinstance(data__spec, (dict)):
                raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_node(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "accelerator" in data_keys:
            data_keys.remove("accelerator")
            data__accelerator = data["accelerator"]
            validate___definitions_name(data__accelerator)
        if "count" in data_keys:
            data_keys.remove("count")
            data__count = data["count"]
            if not isinstance(data__count, (int)) and not (isinstance(data__count, float) and data__count.is_integer()) or isinstance(data__count, bool):
                raise Refused
            if isinstance(data__count, (int, float)) and not isinstance(data__count, bool):
                if data__count < 1:
                    raise Refused
                if data__count > 1024:
                    raise Refused
        if "cpu" in data_keys:
            data_keys.remove("cpu")
            data__cpu = data["cpu"]
            validate___definitions_quantity(data__cpu)
        if "memory" in data_keys:
            data_keys.remove("memory")
            data__memory = data["memory"]
            validate___definitions_quantity(data__memory)
        if "pods" in data_keys:
            data_keys.remove("pods")
            data__pods = data["pods"]
            if not isinstance(data__pods, (int)) and not (isinstance(data__pods, float) and data__pods.is_integer()) or isinstance(data__pods, bool):
                raise Refused
            if isinstance(data__pods, (int, float)) and not isinstance(data__pods, bool):
                if data__pods < 1:
                    raise Refused
                if data__pods > 10000:
                    raise Refused
        if "resources" in data_keys:
            data_keys.remove("resources")
            data__resources = data["resources"]
            if not isinstance(data__resources, (dict)):
                raise Refused
            data__resources_is_dict = isinstance(data__resources, dict)
            if data__resources_is_dict:
                data__resources_keys = set(data__resources.keys())
                for data__resources_key in data__resources_keys:
                    if data__resources_key not in []:
                        data__resources_value = data__resources.get(data__resources_key)
                        validate___definitions_quantity(data__resources_value)
                data__resources_len = len(data__resources)
                if data__resources_len != 0:
                    data__resources_property_names = True
                    for data__resources_key in data__resources:
                        try:
                            validate___definitions_labelkey(data__resources_key)
                        except Refused:
                            data__resources_property_names = False
                    if not data__resources_property_names:
                        raise Refused
        if "fabrics" in data_keys:
            data_keys.remove("fabrics")
            data__fabrics = data["fabrics"]
            if not isinstance(data__fabrics, (list, tuple)):
                raise Refused
            data__fabrics_is_list = isinstance(data__fabrics, (list, tuple))
            if data__fabrics_is_list:
                data__fabrics_len = len(data__fabrics)
                if data__fabrics_len > 64:
                    raise Refused
                def fn(var): return frozenset(dict((k, fn(v)) for k, v in var.items()).items()) if hasattr(var, "items") else tuple(fn(v) for v in var) if isinstance(var, (dict, list)) else (bool, var) if isinstance(var, bool) else var
                if data__fabrics_len > len(set(fn(data__fabrics_x) for data__fabrics_x in data__fabrics)):
                    raise Refused
                for data__fabrics_x, data__fabrics_item in enumerate(data__fabrics):
                    validate___definitions_name(data__fabrics_item)
        if "nodeSelector" in data_keys:
            data_keys.remove("nodeSelector")
            data__nodeSelector = data["nodeSelector"]
            if not isinstance(data__nodeSelector, (dict)):
                raise Refused
            data__nodeSelector_is_dict = isinstance(data__nodeSelector, dict)
            if data__nodeSelector_is_dict:
                data__nodeSelector_keys = set(data__nodeSelector.keys())
                for data__nodeSelector_key in data__nodeSelector_keys:
                    if data__nodeSelector_key not in []:
                        data__nodeSelector_value = data__nodeSelector.get(data__nodeSelector_key)
                        validate___definitions_labelvalue(data__nodeSelector_value)
                data__nodeSelector_len = len(data__nodeSelector)
                if data__nodeSelector_len != 0:
                    data__nodeSelector_property_names = True
                    for data__nodeSelector_key in data__nodeSelector:
                        try:
                            validate___definitions_labelkey(data__nodeSelector_key)
                        except Refused:
                            data__nodeSelector_property_names = False
                    if not data__nodeSelector_property_names:
                        raise Refused
        if "tolerations" in data_keys:
            data_keys.remove("tolerations")
            data__tolerations = data["tolerations"]
            if not isinstance(data__tolerations, (list, tuple)):
                raise Refused
            data__tolerations_is_list = isinstance(data__tolerations, (list, tuple))
            if data__tolerations_is_list:
                data__tolerations_len = len(data__tolerations)
                if data__tolerations_len > 100:
                    raise Refused
                for data__tolerations_x, data__tolerations_item in enumerate(data__tolerations):
                    validate___definitions_toleration(data__tolerations_item)
        if data_keys:
            raise Refused
    return data

def validate___definitions_toleration(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "key" in data_keys:
            data_keys.remove("key")
            data__key = data["key"]
            validate___definitions_labelkey(data__key)
        if "operator" in data_keys:
            data_keys.remove("operator")
            data__operator = data["operator"]
            if not (isinstance(data__operator, str) and data__operator == 'Exists' or isinstance(data__operator, str) and data__operator == 'Equal'):
                raise Refused
        if "value" in data_keys:
            data_keys.remove("value")
            data__value = data["value"]
            validate___definitions_labelvalue(data__value)
        if "effect" in data_keys:
            data_keys.remove("effect")
            data__effect = data["effect"]
            if not (isinstance(data__effect, str) and data__effect == 'NoSchedule' or isinstance(data__effect, str) and data__effect == 'PreferNoSchedule' or isinstance(data__effect, str) and data__effect == 'NoExecute'):
                raise Refused
        if "tolerationSeconds" in data_keys:
            data_keys.remove("tolerationSeconds")
            data__tolerationSeconds = data["tolerationSeconds"]
            if not isinstance(data__tolerationSeconds, (int)) and not (isinstance(data__tolerationSeconds, float) and data__tolerationSeconds.is_integer()) or isinstance(data__tolerationSeconds, bool):
                raise Refused
            if isinstance(data__tolerationSeconds, (int, float)) and not isinstance(data__tolerationSeconds, bool):
                if data__tolerationSeconds < 0:
                    raise Refused
                if data__tolerationSeconds > 2147483647:
                    raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_units(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        for data_key in data_keys:
            if data_key not in []:
                data_value = data.get(data_key)
                validate___definitions_unitname(data_value)
    return data

def validate___definitions_unitname(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 64:
            raise Refused
        if not REGEX_PATTERNS['^[-!%-+.-<>-Z^-~]+$'].search(data):
            raise Refused
    return data

def validate___definitions_plainname(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 253:
            raise Refused
        if not REGEX_PATTERNS['^[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?$'].search(data):
            raise Refused
    return data

def validate___definitions_labeltext(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 317:
            raise Refused
    return data

def validate___definitions_featuregates(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        for data_key in data_keys:
            if data_key not in []:
                data_value = data.get(data_key)
                if not isinstance(data_value, (bool)):
                    raise Refused
        data_len = len(data)
        if data_len != 0:
            data_property_names = True
            for data_key in data:
                try:
                    validate___definitions_gatename(data_key)
                except Refused:
                    data_property_names = False
            if not data_property_names:
                raise Refused
    return data

def validate___definitions_gatename(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 128:
            raise Refused
        if not REGEX_PATTERNS['^[A-Za-z][A-Za-z0-9]*$'].search(data):
            raise Refused
    return data

def validate___definitions_labelvalue(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len > 63:
            raise Refused
        if not REGEX_PATTERNS['^([A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?)?$'].search(data):
            raise Refused
    return data

def validate___definitions_dottedname(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 253:
            raise Refused
        if not REGEX_PATTERNS['^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$'].search(data):
            raise Refused
    return data

def validate___definitions_image(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 1024:
            raise Refused
        if not REGEX_PATTERNS['^[A-Za-z0-9][-A-Za-z0-9._/:@]*$'].search(data):
            raise Refused
    return data

def validate___definitions_queue(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 63:
            raise Refused
        if not REGEX_PATTERNS['^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$'].search(data):
            raise Refused
    return data

def validate___definitions_scheduler(data: Any) -> Any:
    if not (isinstance(data, str) and data == 'kai' or isinstance(data, str) and data == 'volcano' or isinstance(data, str) and data == 'kueue' or isinstance(data, str) and data == 'koordinator' or isinstance(data, str) and data == 'native' or isinstance(data, str) and data == 'slurm' or isinstance(data, str) and data == 'slurm-bridge' or isinstance(data, str) and data == 'sunk' or isinstance(data, str) and data == 'none'):
        raise Refused
    return data

def validate___definitions_version(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 20:
            raise Refused
        if not REGEX_PATTERNS['^[0-9]{1,5}[.][0-9]{1,5}([.][0-9]{1,5})?$'].search(data):
            raise Refused
    return data

def validate___definitions_name(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 63:
            raise Refused
        if not REGEX_PATTERNS['^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'].search(data):
            raise Refused
    return data
