"""Made from schemas/project.json by tests/tools/generate_validators.py. Do not edit."""

# mypy: ignore-errors
from typing import Any

from bayplan._validators import Patterns, Refused, Word

REGEX_PATTERNS = Patterns(
    {
    '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$': Word('abcdefghijklmnopqrstuvwxyz0123456789', '-abcdefghijklmnopqrstuvwxyz0123456789', 'abcdefghijklmnopqrstuvwxyz0123456789'),
    }
)

NoneType = type(None)

def validate(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['apiVersion', 'kind']) - data.keys()
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
            if not (isinstance(data__kind, str) and data__kind == 'Project'):
                raise Refused
        if "metadata" in data_keys:
            data_keys.remove("metadata")
            data__metadata = data["metadata"]
            if not isinstance(data__metadata, (dict)):
                raise Refused
            data__metadata_is_dict = isinstance(data__metadata, dict)
            if data__metadata_is_dict:
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
                data__spec_keys = set(data__spec.keys())
                if "topology" in data__spec_keys:
                    data__spec_keys.remove("topology")
                    data__spec__topology = data__spec["topology"]
                    validate___definitions_path(data__spec__topology)
                if "policy" in data__spec_keys:
                    data__spec_keys.remove("policy")
                    data__spec__policy = data__spec["policy"]
                    validate___definitions_path(data__spec__policy)
                if "outputs" in data__spec_keys:
                    data__spec_keys.remove("outputs")
                    data__spec__outputs = data__spec["outputs"]
                    if not isinstance(data__spec__outputs, (list, tuple)):
                        raise Refused
                    data__spec__outputs_is_list = isinstance(data__spec__outputs, (list, tuple))
                    if data__spec__outputs_is_list:
                        data__spec__outputs_len = len(data__spec__outputs)
                        if data__spec__outputs_len > 1000:
                            raise Refused
                        for data__spec__outputs_x, data__spec__outputs_item in enumerate(data__spec__outputs):
                            validate___definitions_output(data__spec__outputs_item)
                if data__spec_keys:
                    raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_output(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['to']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "to" in data_keys:
            data_keys.remove("to")
            data__to = data["to"]
            validate___definitions_path(data__to)
        if "workflows" in data_keys:
            data_keys.remove("workflows")
            data__workflows = data["workflows"]
            if not isinstance(data__workflows, (list, tuple)):
                raise Refused
            data__workflows_is_list = isinstance(data__workflows, (list, tuple))
            if data__workflows_is_list:
                data__workflows_len = len(data__workflows)
                if data__workflows_len < 1:
                    raise Refused
                if data__workflows_len > 10000:
                    raise Refused
                for data__workflows_x, data__workflows_item in enumerate(data__workflows):
                    validate___definitions_path(data__workflows_item)
        if "export" in data_keys:
            data_keys.remove("export")
            data__export = data["export"]
            validate___definitions_word(data__export)
        if "topology" in data_keys:
            data_keys.remove("topology")
            data__topology = data["topology"]
            validate___definitions_path(data__topology)
        if "scheduler" in data_keys:
            data_keys.remove("scheduler")
            data__scheduler = data["scheduler"]
            validate___definitions_word(data__scheduler)
        if "namespace" in data_keys:
            data_keys.remove("namespace")
            data__namespace = data["namespace"]
            validate___definitions_word(data__namespace)
        if "gangs" in data_keys:
            data_keys.remove("gangs")
            data__gangs = data["gangs"]
            if not isinstance(data__gangs, (list, tuple)):
                raise Refused
            data__gangs_is_list = isinstance(data__gangs, (list, tuple))
            if data__gangs_is_list:
                data__gangs_len = len(data__gangs)
                if data__gangs_len < 1:
                    raise Refused
                for data__gangs_x, data__gangs_item in enumerate(data__gangs):
                    validate___definitions_name(data__gangs_item)
        if "clusterObjects" in data_keys:
            data_keys.remove("clusterObjects")
            data__clusterObjects = data["clusterObjects"]
            if not isinstance(data__clusterObjects, (bool)):
                raise Refused
        if "target" in data_keys:
            data_keys.remove("target")
            data__target = data["target"]
            if not isinstance(data__target, (dict)):
                raise Refused
            data__target_is_dict = isinstance(data__target, dict)
            if data__target_is_dict:
                data__target_keys = set(data__target.keys())
                for data__target_key in data__target_keys:
                    if data__target_key not in []:
                        data__target_value = data__target.get(data__target_key)
                        validate___definitions_version(data__target_value)
        if "accept" in data_keys:
            data_keys.remove("accept")
            data__accept = data["accept"]
            if not isinstance(data__accept, (list, tuple)):
                raise Refused
            data__accept_is_list = isinstance(data__accept, (list, tuple))
            if data__accept_is_list:
                data__accept_len = len(data__accept)
                for data__accept_x, data__accept_item in enumerate(data__accept):
                    validate___definitions_code(data__accept_item)
        if "from" in data_keys:
            data_keys.remove("from")
            data__from = data["from"]
            validate___definitions_word(data__from)
        if "set" in data_keys:
            data_keys.remove("set")
            data__set = data["set"]
            if not isinstance(data__set, (dict)):
                raise Refused
            data__set_is_dict = isinstance(data__set, dict)
            if data__set_is_dict:
                data__set_keys = set(data__set.keys())
                for data__set_key in data__set_keys:
                    if data__set_key not in []:
                        data__set_value = data__set.get(data__set_key)
                        if not isinstance(data__set_value, (str, int, float)) or isinstance(data__set_value, bool):
                            raise Refused
        if "osmoPool" in data_keys:
            data_keys.remove("osmoPool")
            data__osmoPool = data["osmoPool"]
            validate___definitions_path(data__osmoPool)
        if data_keys:
            raise Refused
    return data

def validate___definitions_code(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 4:
            raise Refused
        if data_len > 4:
            raise Refused
        if not REGEX_PATTERNS['^[A-Z][0-9][0-9][0-9]$'].search(data):
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

def validate___definitions_word(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 4096:
            raise Refused
        if not REGEX_PATTERNS['^[!-~]+$'].search(data):
            raise Refused
    return data

def validate___definitions_path(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 4096:
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
