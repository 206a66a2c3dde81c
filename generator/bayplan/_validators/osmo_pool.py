"""Made from schemas/osmo-pool.json by tests/tools/generate_validators.py. Do not edit."""

# mypy: ignore-errors
from typing import Any

from bayplan._validators import Patterns, Refused, Word

REGEX_PATTERNS = Patterns(
    {
    }
)

NoneType = type(None)

def validate(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['pools']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "pools" in data_keys:
            data_keys.remove("pools")
            data__pools = data["pools"]
            if not isinstance(data__pools, (dict)):
                raise Refused
            data__pools_is_dict = isinstance(data__pools, dict)
            if data__pools_is_dict:
                data__pools_keys = set(data__pools.keys())
                for data__pools_key in data__pools_keys:
                    if data__pools_key not in []:
                        data__pools_value = data__pools.get(data__pools_key)
                        validate___definitions_pool(data__pools_value)
        if "podTemplates" in data_keys:
            data_keys.remove("podTemplates")
            data__podTemplates = data["podTemplates"]
            validate___definitions_podtemplates(data__podTemplates)
        if "pod_templates" in data_keys:
            data_keys.remove("pod_templates")
            data__podtemplates = data["pod_templates"]
            validate___definitions_podtemplates(data__podtemplates)
        if "groupTemplates" in data_keys:
            data_keys.remove("groupTemplates")
            data__groupTemplates = data["groupTemplates"]
            validate___definitions_grouptemplates(data__groupTemplates)
        if "group_templates" in data_keys:
            data_keys.remove("group_templates")
            data__grouptemplates = data["group_templates"]
            validate___definitions_grouptemplates(data__grouptemplates)
        if "resourceValidations" in data_keys:
            data_keys.remove("resourceValidations")
            data__resourceValidations = data["resourceValidations"]
            validate___definitions_resourcevalidations(data__resourceValidations)
        if "resource_validations" in data_keys:
            data_keys.remove("resource_validations")
            data__resourcevalidations = data["resource_validations"]
            validate___definitions_resourcevalidations(data__resourcevalidations)
        if "workflow" in data_keys:
            data_keys.remove("workflow")
            data__workflow = data["workflow"]
            if not isinstance(data__workflow, (dict, NoneType)):
                raise Refused
            data__workflow_is_dict = isinstance(data__workflow, dict)
            if data__workflow_is_dict:
                data__workflow_keys = set(data__workflow.keys())
                if "default_exec_timeout" in data__workflow_keys:
                    data__workflow_keys.remove("default_exec_timeout")
                    data__workflow__defaultexectimeout = data__workflow["default_exec_timeout"]
                    validate___definitions_duration(data__workflow__defaultexectimeout)
                if "max_exec_timeout" in data__workflow_keys:
                    data__workflow_keys.remove("max_exec_timeout")
                    data__workflow__maxexectimeout = data__workflow["max_exec_timeout"]
                    validate___definitions_duration(data__workflow__maxexectimeout)
                if "default_queue_timeout" in data__workflow_keys:
                    data__workflow_keys.remove("default_queue_timeout")
                    data__workflow__defaultqueuetimeout = data__workflow["default_queue_timeout"]
                    validate___definitions_duration(data__workflow__defaultqueuetimeout)
                if "max_queue_timeout" in data__workflow_keys:
                    data__workflow_keys.remove("max_queue_timeout")
                    data__workflow__maxqueuetimeout = data__workflow["max_queue_timeout"]
                    validate___definitions_duration(data__workflow__maxqueuetimeout)
        if "backends" in data_keys:
            data_keys.remove("backends")
            data__backends = data["backends"]
            if not isinstance(data__backends, (dict, NoneType)):
                raise Refused
            data__backends_is_dict = isinstance(data__backends, dict)
            if data__backends_is_dict:
                data__backends_keys = set(data__backends.keys())
                for data__backends_key in data__backends_keys:
                    if data__backends_key not in []:
                        data__backends_value = data__backends.get(data__backends_key)
                        validate___definitions_backend(data__backends_value)
    return data

def validate___definitions_backend(data: Any) -> Any:
    if not isinstance(data, (dict, NoneType)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "k8s_namespace" in data_keys:
            data_keys.remove("k8s_namespace")
            data__k8snamespace = data["k8s_namespace"]
            if not isinstance(data__k8snamespace, (str, NoneType)):
                raise Refused
        if "scheduler_settings" in data_keys:
            data_keys.remove("scheduler_settings")
            data__schedulersettings = data["scheduler_settings"]
            if not isinstance(data__schedulersettings, (dict, NoneType)):
                raise Refused
            data__schedulersettings_is_dict = isinstance(data__schedulersettings, dict)
            if data__schedulersettings_is_dict:
                data__schedulersettings_keys = set(data__schedulersettings.keys())
                if "scheduler_name" in data__schedulersettings_keys:
                    data__schedulersettings_keys.remove("scheduler_name")
                    data__schedulersettings__schedulername = data__schedulersettings["scheduler_name"]
                    if not isinstance(data__schedulersettings__schedulername, (str, NoneType)):
                        raise Refused
    return data

def validate___definitions_duration(data: Any) -> Any:
    if not isinstance(data, (str, NoneType)):
        raise Refused
    return data

def validate___definitions_resourcevalidations(data: Any) -> Any:
    if not isinstance(data, (dict, NoneType)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        for data_key in data_keys:
            if data_key not in []:
                data_value = data.get(data_key)
                validate___definitions_rules(data_value)
    return data

def validate___definitions_rules(data: Any) -> Any:
    if not isinstance(data, (list, tuple, NoneType)):
        raise Refused
    data_is_list = isinstance(data, (list, tuple))
    if data_is_list:
        data_len = len(data)
        for data_x, data_item in enumerate(data):
            validate___definitions_rule(data_item)
    return data

def validate___definitions_rule(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['operator', 'left_operand', 'right_operand', 'assert_message']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "operator" in data_keys:
            data_keys.remove("operator")
            data__operator = data["operator"]
            if not isinstance(data__operator, (str)):
                raise Refused
        if "left_operand" in data_keys:
            data_keys.remove("left_operand")
            data__leftoperand = data["left_operand"]
            if not isinstance(data__leftoperand, (str)):
                raise Refused
        if "right_operand" in data_keys:
            data_keys.remove("right_operand")
            data__rightoperand = data["right_operand"]
            if not isinstance(data__rightoperand, (str)):
                raise Refused
        if "assert_message" in data_keys:
            data_keys.remove("assert_message")
            data__assertmessage = data["assert_message"]
            if not isinstance(data__assertmessage, (str)):
                raise Refused
    return data

def validate___definitions_grouptemplates(data: Any) -> Any:
    if not isinstance(data, (dict, NoneType)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        for data_key in data_keys:
            if data_key not in []:
                data_value = data.get(data_key)
                validate___definitions_grouptemplate(data_value)
    return data

def validate___definitions_grouptemplate(data: Any) -> Any:
    if not isinstance(data, (dict, NoneType)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "apiVersion" in data_keys:
            data_keys.remove("apiVersion")
            data__apiVersion = data["apiVersion"]
            if not isinstance(data__apiVersion, (str)):
                raise Refused
        if "kind" in data_keys:
            data_keys.remove("kind")
            data__kind = data["kind"]
            if not isinstance(data__kind, (str)):
                raise Refused
        if "metadata" in data_keys:
            data_keys.remove("metadata")
            data__metadata = data["metadata"]
            if not isinstance(data__metadata, (dict, NoneType)):
                raise Refused
            data__metadata_is_dict = isinstance(data__metadata, dict)
            if data__metadata_is_dict:
                data__metadata_keys = set(data__metadata.keys())
                if "name" in data__metadata_keys:
                    data__metadata_keys.remove("name")
                    data__metadata__name = data__metadata["name"]
                    if not isinstance(data__metadata__name, (str)):
                        raise Refused
    return data

def validate___definitions_podtemplates(data: Any) -> Any:
    if not isinstance(data, (dict, NoneType)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        for data_key in data_keys:
            if data_key not in []:
                data_value = data.get(data_key)
                validate___definitions_podtemplate(data_value)
    return data

def validate___definitions_podtemplate(data: Any) -> Any:
    if not isinstance(data, (dict, NoneType)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "metadata" in data_keys:
            data_keys.remove("metadata")
            data__metadata = data["metadata"]
            if not isinstance(data__metadata, (dict, NoneType)):
                raise Refused
            data__metadata_is_dict = isinstance(data__metadata, dict)
            if data__metadata_is_dict:
                data__metadata_keys = set(data__metadata.keys())
                if "labels" in data__metadata_keys:
                    data__metadata_keys.remove("labels")
                    data__metadata__labels = data__metadata["labels"]
                    if not isinstance(data__metadata__labels, (dict, NoneType)):
                        raise Refused
                if "annotations" in data__metadata_keys:
                    data__metadata_keys.remove("annotations")
                    data__metadata__annotations = data__metadata["annotations"]
                    if not isinstance(data__metadata__annotations, (dict, NoneType)):
                        raise Refused
        if "spec" in data_keys:
            data_keys.remove("spec")
            data__spec = data["spec"]
            if not isinstance(data__spec, (dict, NoneType)):
                raise Refused
            data__spec_is_dict = isinstance(data__spec, dict)
            if data__spec_is_dict:
                data__spec_keys = set(data__spec.keys())
                if "nodeSelector" in data__spec_keys:
                    data__spec_keys.remove("nodeSelector")
                    data__spec__nodeSelector = data__spec["nodeSelector"]
                    if not isinstance(data__spec__nodeSelector, (dict, NoneType)):
                        raise Refused
                if "tolerations" in data__spec_keys:
                    data__spec_keys.remove("tolerations")
                    data__spec__tolerations = data__spec["tolerations"]
                    if not isinstance(data__spec__tolerations, (list, tuple, NoneType)):
                        raise Refused
                    data__spec__tolerations_is_list = isinstance(data__spec__tolerations, (list, tuple))
                    if data__spec__tolerations_is_list:
                        data__spec__tolerations_len = len(data__spec__tolerations)
                        for data__spec__tolerations_x, data__spec__tolerations_item in enumerate(data__spec__tolerations):
                            if not isinstance(data__spec__tolerations_item, (dict)):
                                raise Refused
                if "containers" in data__spec_keys:
                    data__spec_keys.remove("containers")
                    data__spec__containers = data__spec["containers"]
                    validate___definitions_containers(data__spec__containers)
                if "initContainers" in data__spec_keys:
                    data__spec_keys.remove("initContainers")
                    data__spec__initContainers = data__spec["initContainers"]
                    validate___definitions_containers(data__spec__initContainers)
                if "volumes" in data__spec_keys:
                    data__spec_keys.remove("volumes")
                    data__spec__volumes = data__spec["volumes"]
                    if not isinstance(data__spec__volumes, (list, tuple, NoneType)):
                        raise Refused
                    data__spec__volumes_is_list = isinstance(data__spec__volumes, (list, tuple))
                    if data__spec__volumes_is_list:
                        data__spec__volumes_len = len(data__spec__volumes)
                        for data__spec__volumes_x, data__spec__volumes_item in enumerate(data__spec__volumes):
                            if not isinstance(data__spec__volumes_item, (dict)):
                                raise Refused
                if "resourceClaims" in data__spec_keys:
                    data__spec_keys.remove("resourceClaims")
                    data__spec__resourceClaims = data__spec["resourceClaims"]
                    if not isinstance(data__spec__resourceClaims, (list, tuple, NoneType)):
                        raise Refused
                    data__spec__resourceClaims_is_list = isinstance(data__spec__resourceClaims, (list, tuple))
                    if data__spec__resourceClaims_is_list:
                        data__spec__resourceClaims_len = len(data__spec__resourceClaims)
                        for data__spec__resourceClaims_x, data__spec__resourceClaims_item in enumerate(data__spec__resourceClaims):
                            if not isinstance(data__spec__resourceClaims_item, (dict)):
                                raise Refused
                if "affinity" in data__spec_keys:
                    data__spec_keys.remove("affinity")
                    data__spec__affinity = data__spec["affinity"]
                    if not isinstance(data__spec__affinity, (dict, NoneType)):
                        raise Refused
    return data

def validate___definitions_containers(data: Any) -> Any:
    if not isinstance(data, (list, tuple, NoneType)):
        raise Refused
    data_is_list = isinstance(data, (list, tuple))
    if data_is_list:
        data_len = len(data)
        for data_x, data_item in enumerate(data):
            if not isinstance(data_item, (dict)):
                raise Refused
            data_item_is_dict = isinstance(data_item, dict)
            if data_item_is_dict:
                data_item_keys = set(data_item.keys())
                if "name" in data_item_keys:
                    data_item_keys.remove("name")
                    data_item__name = data_item["name"]
                    if not isinstance(data_item__name, (str)):
                        raise Refused
                if "env" in data_item_keys:
                    data_item_keys.remove("env")
                    data_item__env = data_item["env"]
                    if not isinstance(data_item__env, (list, tuple, NoneType)):
                        raise Refused
                    data_item__env_is_list = isinstance(data_item__env, (list, tuple))
                    if data_item__env_is_list:
                        data_item__env_len = len(data_item__env)
                        for data_item__env_x, data_item__env_item in enumerate(data_item__env):
                            if not isinstance(data_item__env_item, (dict)):
                                raise Refused
                if "volumeMounts" in data_item_keys:
                    data_item_keys.remove("volumeMounts")
                    data_item__volumeMounts = data_item["volumeMounts"]
                    if not isinstance(data_item__volumeMounts, (list, tuple, NoneType)):
                        raise Refused
                    data_item__volumeMounts_is_list = isinstance(data_item__volumeMounts, (list, tuple))
                    if data_item__volumeMounts_is_list:
                        data_item__volumeMounts_len = len(data_item__volumeMounts)
                        for data_item__volumeMounts_x, data_item__volumeMounts_item in enumerate(data_item__volumeMounts):
                            if not isinstance(data_item__volumeMounts_item, (dict)):
                                raise Refused
                if "resources" in data_item_keys:
                    data_item_keys.remove("resources")
                    data_item__resources = data_item["resources"]
                    if not isinstance(data_item__resources, (dict, NoneType)):
                        raise Refused
                    data_item__resources_is_dict = isinstance(data_item__resources, dict)
                    if data_item__resources_is_dict:
                        data_item__resources_keys = set(data_item__resources.keys())
                        if "requests" in data_item__resources_keys:
                            data_item__resources_keys.remove("requests")
                            data_item__resources__requests = data_item__resources["requests"]
                            if not isinstance(data_item__resources__requests, (dict, NoneType)):
                                raise Refused
                        if "limits" in data_item__resources_keys:
                            data_item__resources_keys.remove("limits")
                            data_item__resources__limits = data_item__resources["limits"]
                            if not isinstance(data_item__resources__limits, (dict, NoneType)):
                                raise Refused
                        if "claims" in data_item__resources_keys:
                            data_item__resources_keys.remove("claims")
                            data_item__resources__claims = data_item__resources["claims"]
                            if not isinstance(data_item__resources__claims, (list, tuple, NoneType)):
                                raise Refused
                            data_item__resources__claims_is_list = isinstance(data_item__resources__claims, (list, tuple))
                            if data_item__resources__claims_is_list:
                                data_item__resources__claims_len = len(data_item__resources__claims)
                                for data_item__resources__claims_x, data_item__resources__claims_item in enumerate(data_item__resources__claims):
                                    if not isinstance(data_item__resources__claims_item, (dict)):
                                        raise Refused
    return data

def validate___definitions_pool(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "name" in data_keys:
            data_keys.remove("name")
            data__name = data["name"]
            if not isinstance(data__name, (str, NoneType)):
                raise Refused
        if "description" in data_keys:
            data_keys.remove("description")
            data__description = data["description"]
            if not isinstance(data__description, (str, NoneType)):
                raise Refused
        if "backend" in data_keys:
            data_keys.remove("backend")
            data__backend = data["backend"]
            if not isinstance(data__backend, (str, NoneType)):
                raise Refused
        if "default_platform" in data_keys:
            data_keys.remove("default_platform")
            data__defaultplatform = data["default_platform"]
            if not isinstance(data__defaultplatform, (str, NoneType)):
                raise Refused
        if "default_exec_timeout" in data_keys:
            data_keys.remove("default_exec_timeout")
            data__defaultexectimeout = data["default_exec_timeout"]
            validate___definitions_duration(data__defaultexectimeout)
        if "max_exec_timeout" in data_keys:
            data_keys.remove("max_exec_timeout")
            data__maxexectimeout = data["max_exec_timeout"]
            validate___definitions_duration(data__maxexectimeout)
        if "default_queue_timeout" in data_keys:
            data_keys.remove("default_queue_timeout")
            data__defaultqueuetimeout = data["default_queue_timeout"]
            validate___definitions_duration(data__defaultqueuetimeout)
        if "max_queue_timeout" in data_keys:
            data_keys.remove("max_queue_timeout")
            data__maxqueuetimeout = data["max_queue_timeout"]
            validate___definitions_duration(data__maxqueuetimeout)
        if "default_exit_actions" in data_keys:
            data_keys.remove("default_exit_actions")
            data__defaultexitactions = data["default_exit_actions"]
            if not isinstance(data__defaultexitactions, (dict, NoneType)):
                raise Refused
            data__defaultexitactions_is_dict = isinstance(data__defaultexitactions, dict)
            if data__defaultexitactions_is_dict:
                data__defaultexitactions_keys = set(data__defaultexitactions.keys())
                for data__defaultexitactions_key in data__defaultexitactions_keys:
                    if data__defaultexitactions_key not in []:
                        data__defaultexitactions_value = data__defaultexitactions.get(data__defaultexitactions_key)
                        if not isinstance(data__defaultexitactions_value, (str, int)) and not (isinstance(data__defaultexitactions_value, float) and data__defaultexitactions_value.is_integer()) or isinstance(data__defaultexitactions_value, bool):
                            raise Refused
        if "resources" in data_keys:
            data_keys.remove("resources")
            data__resources = data["resources"]
            if not isinstance(data__resources, (dict, NoneType)):
                raise Refused
            data__resources_is_dict = isinstance(data__resources, dict)
            if data__resources_is_dict:
                data__resources_keys = set(data__resources.keys())
                if "gpu" in data__resources_keys:
                    data__resources_keys.remove("gpu")
                    data__resources__gpu = data__resources["gpu"]
                    validate___definitions_quota(data__resources__gpu)
        if "common_default_variables" in data_keys:
            data_keys.remove("common_default_variables")
            data__commondefaultvariables = data["common_default_variables"]
            validate___definitions_variables(data__commondefaultvariables)
        if "common_resource_validations" in data_keys:
            data_keys.remove("common_resource_validations")
            data__commonresourcevalidations = data["common_resource_validations"]
            validate___definitions_names(data__commonresourcevalidations)
        if "common_pod_template" in data_keys:
            data_keys.remove("common_pod_template")
            data__commonpodtemplate = data["common_pod_template"]
            validate___definitions_names(data__commonpodtemplate)
        if "common_group_templates" in data_keys:
            data_keys.remove("common_group_templates")
            data__commongrouptemplates = data["common_group_templates"]
            validate___definitions_names(data__commongrouptemplates)
        if "platforms" in data_keys:
            data_keys.remove("platforms")
            data__platforms = data["platforms"]
            if not isinstance(data__platforms, (dict, NoneType)):
                raise Refused
            data__platforms_is_dict = isinstance(data__platforms, dict)
            if data__platforms_is_dict:
                data__platforms_keys = set(data__platforms.keys())
                for data__platforms_key in data__platforms_keys:
                    if data__platforms_key not in []:
                        data__platforms_value = data__platforms.get(data__platforms_key)
                        validate___definitions_platform(data__platforms_value)
        if "topology_keys" in data_keys:
            data_keys.remove("topology_keys")
            data__topologykeys = data["topology_keys"]
            if not isinstance(data__topologykeys, (list, tuple, NoneType)):
                raise Refused
            data__topologykeys_is_list = isinstance(data__topologykeys, (list, tuple))
            if data__topologykeys_is_list:
                data__topologykeys_len = len(data__topologykeys)
                for data__topologykeys_x, data__topologykeys_item in enumerate(data__topologykeys):
                    validate___definitions_topologykey(data__topologykeys_item)
        if "parsed_pod_template" in data_keys:
            data_keys.remove("parsed_pod_template")
            data__parsedpodtemplate = data["parsed_pod_template"]
            validate___definitions_podtemplate(data__parsedpodtemplate)
        if "parsed_resource_validations" in data_keys:
            data_keys.remove("parsed_resource_validations")
            data__parsedresourcevalidations = data["parsed_resource_validations"]
            validate___definitions_rules(data__parsedresourcevalidations)
        if "parsed_group_templates" in data_keys:
            data_keys.remove("parsed_group_templates")
            data__parsedgrouptemplates = data["parsed_group_templates"]
            if not isinstance(data__parsedgrouptemplates, (list, tuple, NoneType)):
                raise Refused
            data__parsedgrouptemplates_is_list = isinstance(data__parsedgrouptemplates, (list, tuple))
            if data__parsedgrouptemplates_is_list:
                data__parsedgrouptemplates_len = len(data__parsedgrouptemplates)
                for data__parsedgrouptemplates_x, data__parsedgrouptemplates_item in enumerate(data__parsedgrouptemplates):
                    validate___definitions_grouptemplate(data__parsedgrouptemplates_item)
    return data

def validate___definitions_topologykey(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['key', 'label']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "key" in data_keys:
            data_keys.remove("key")
            data__key = data["key"]
            if not isinstance(data__key, (str)):
                raise Refused
        if "label" in data_keys:
            data_keys.remove("label")
            data__label = data["label"]
            if not isinstance(data__label, (str)):
                raise Refused
    return data

def validate___definitions_platform(data: Any) -> Any:
    if not isinstance(data, (dict, NoneType)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "description" in data_keys:
            data_keys.remove("description")
            data__description = data["description"]
            if not isinstance(data__description, (str, NoneType)):
                raise Refused
        if "host_network_allowed" in data_keys:
            data_keys.remove("host_network_allowed")
            data__hostnetworkallowed = data["host_network_allowed"]
            if not isinstance(data__hostnetworkallowed, (bool, NoneType)):
                raise Refused
        if "privileged_allowed" in data_keys:
            data_keys.remove("privileged_allowed")
            data__privilegedallowed = data["privileged_allowed"]
            if not isinstance(data__privilegedallowed, (bool, NoneType)):
                raise Refused
        if "allowed_mounts" in data_keys:
            data_keys.remove("allowed_mounts")
            data__allowedmounts = data["allowed_mounts"]
            validate___definitions_names(data__allowedmounts)
        if "default_mounts" in data_keys:
            data_keys.remove("default_mounts")
            data__defaultmounts = data["default_mounts"]
            validate___definitions_names(data__defaultmounts)
        if "default_variables" in data_keys:
            data_keys.remove("default_variables")
            data__defaultvariables = data["default_variables"]
            validate___definitions_variables(data__defaultvariables)
        if "resource_validations" in data_keys:
            data_keys.remove("resource_validations")
            data__resourcevalidations = data["resource_validations"]
            validate___definitions_names(data__resourcevalidations)
        if "override_pod_template" in data_keys:
            data_keys.remove("override_pod_template")
            data__overridepodtemplate = data["override_pod_template"]
            validate___definitions_names(data__overridepodtemplate)
        if "labels" in data_keys:
            data_keys.remove("labels")
            data__labels = data["labels"]
            if not isinstance(data__labels, (dict, NoneType)):
                raise Refused
        if "tolerations" in data_keys:
            data_keys.remove("tolerations")
            data__tolerations = data["tolerations"]
            if not isinstance(data__tolerations, (list, tuple, NoneType)):
                raise Refused
            data__tolerations_is_list = isinstance(data__tolerations, (list, tuple))
            if data__tolerations_is_list:
                data__tolerations_len = len(data__tolerations)
                for data__tolerations_x, data__tolerations_item in enumerate(data__tolerations):
                    if not isinstance(data__tolerations_item, (dict)):
                        raise Refused
        if "parsed_pod_template" in data_keys:
            data_keys.remove("parsed_pod_template")
            data__parsedpodtemplate = data["parsed_pod_template"]
            validate___definitions_podtemplate(data__parsedpodtemplate)
        if "parsed_resource_validations" in data_keys:
            data_keys.remove("parsed_resource_validations")
            data__parsedresourcevalidations = data["parsed_resource_validations"]
            validate___definitions_rules(data__parsedresourcevalidations)
    return data

def validate___definitions_names(data: Any) -> Any:
    if not isinstance(data, (list, tuple, NoneType)):
        raise Refused
    data_is_list = isinstance(data, (list, tuple))
    if data_is_list:
        data_len = len(data)
        for data_x, data_item in enumerate(data):
            if not isinstance(data_item, (str)):
                raise Refused
    return data

def validate___definitions_variables(data: Any) -> Any:
    if not isinstance(data, (dict, NoneType)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        for data_key in data_keys:
            if data_key not in []:
                data_value = data.get(data_key)
                if not isinstance(data_value, (str, int, float, bool, NoneType)):
                    raise Refused
    return data

def validate___definitions_quota(data: Any) -> Any:
    if not isinstance(data, (dict, NoneType)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "guarantee" in data_keys:
            data_keys.remove("guarantee")
            data__guarantee = data["guarantee"]
            if not isinstance(data__guarantee, (int)) and not (isinstance(data__guarantee, float) and data__guarantee.is_integer()) or isinstance(data__guarantee, bool):
                raise Refused
        if "maximum" in data_keys:
            data_keys.remove("maximum")
            data__maximum = data["maximum"]
            if not isinstance(data__maximum, (int)) and not (isinstance(data__maximum, float) and data__maximum.is_integer()) or isinstance(data__maximum, bool):
                raise Refused
        if "weight" in data_keys:
            data_keys.remove("weight")
            data__weight = data["weight"]
            if not isinstance(data__weight, (int)) and not (isinstance(data__weight, float) and data__weight.is_integer()) or isinstance(data__weight, bool):
                raise Refused
    return data
