"""Made from schemas/policy.json by tests/tools/generate_validators.py. Do not edit."""

# mypy: ignore-errors
from typing import Any

from bayplan._validators import Patterns, Refused, Word

REGEX_PATTERNS = Patterns(
    {
    '^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$': Word('abcdefghijklmnopqrstuvwxyz0123456789', '-.abcdefghijklmnopqrstuvwxyz0123456789', 'abcdefghijklmnopqrstuvwxyz0123456789'),
    '^([A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?)?$': Word('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', '-._ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', empty=True),
    '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$': Word('abcdefghijklmnopqrstuvwxyz0123456789', '-abcdefghijklmnopqrstuvwxyz0123456789', 'abcdefghijklmnopqrstuvwxyz0123456789'),
    }
)

NoneType = type(None)

def validate(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['apiVersion', 'kind', 'spec']) - data.keys()
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
            if not (isinstance(data__kind, str) and data__kind == 'Policy'):
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
                data__spec__missing_keys = set(['rules']) - data__spec.keys()
                if data__spec__missing_keys:
                    raise Refused
                data__spec_keys = set(data__spec.keys())
                if "rules" in data__spec_keys:
                    data__spec_keys.remove("rules")
                    data__spec__rules = data__spec["rules"]
                    if not isinstance(data__spec__rules, (list, tuple)):
                        raise Refused
                    data__spec__rules_is_list = isinstance(data__spec__rules, (list, tuple))
                    if data__spec__rules_is_list:
                        data__spec__rules_len = len(data__spec__rules)
                        if data__spec__rules_len < 1:
                            raise Refused
                        if data__spec__rules_len > 1000:
                            raise Refused
                        for data__spec__rules_x, data__spec__rules_item in enumerate(data__spec__rules):
                            validate___definitions_rule(data__spec__rules_item)
                if data__spec_keys:
                    raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_rule(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['match']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "match" in data_keys:
            data_keys.remove("match")
            data__match = data["match"]
            validate___definitions_match(data__match)
        if "gang" in data_keys:
            data_keys.remove("gang")
            data__gang = data["gang"]
            validate___definitions_gang(data__gang)
        if "groups" in data_keys:
            data_keys.remove("groups")
            data__groups = data["groups"]
            if not isinstance(data__groups, (list, tuple)):
                raise Refused
            data__groups_is_list = isinstance(data__groups, (list, tuple))
            if data__groups_is_list:
                data__groups_len = len(data__groups)
                if data__groups_len < 1:
                    raise Refused
                if data__groups_len > 1000:
                    raise Refused
                for data__groups_x, data__groups_item in enumerate(data__groups):
                    validate___definitions_group(data__groups_item)
        if "adopt" in data_keys:
            data_keys.remove("adopt")
            data__adopt = data["adopt"]
            if not isinstance(data__adopt, (bool)):
                raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_group(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['name']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "name" in data_keys:
            data_keys.remove("name")
            data__name = data["name"]
            validate___definitions_name(data__name)
        if "size" in data_keys:
            data_keys.remove("size")
            data__size = data["size"]
            validate___definitions_count(data__size)
        if "placement" in data_keys:
            data_keys.remove("placement")
            data__placement = data["placement"]
            validate___definitions_placement(data__placement)
        if "computeDomain" in data_keys:
            data_keys.remove("computeDomain")
            data__computeDomain = data["computeDomain"]
            validate___definitions_computedomain(data__computeDomain)
        if "separate" in data_keys:
            data_keys.remove("separate")
            data__separate = data["separate"]
            validate___definitions_name(data__separate)
        if "pool" in data_keys:
            data_keys.remove("pool")
            data__pool = data["pool"]
            validate___definitions_name(data__pool)
        if "podSets" in data_keys:
            data_keys.remove("podSets")
            data__podSets = data["podSets"]
            if not isinstance(data__podSets, (list, tuple)):
                raise Refused
            data__podSets_is_list = isinstance(data__podSets, (list, tuple))
            if data__podSets_is_list:
                data__podSets_len = len(data__podSets)
                if data__podSets_len < 1:
                    raise Refused
                if data__podSets_len > 1000:
                    raise Refused
                for data__podSets_x, data__podSets_item in enumerate(data__podSets):
                    validate___definitions_pattern(data__podSets_item)
        if data_keys:
            raise Refused
    return data

def validate___definitions_pattern(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 253:
            raise Refused
    return data

def validate___definitions_computedomain(data: Any) -> Any:
    if not (isinstance(data, str) and data == 'auto' or isinstance(data, str) and data == 'group' or isinstance(data, str) and data == 'gang' or isinstance(data, str) and data == 'never'):
        raise Refused
    return data

def validate___definitions_placement(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_len = len(data)
        if data_len < 1:
            raise Refused
        data_keys = set(data.keys())
        if "required" in data_keys:
            data_keys.remove("required")
            data__required = data["required"]
            validate___definitions_name(data__required)
        if "preferred" in data_keys:
            data_keys.remove("preferred")
            data__preferred = data["preferred"]
            validate___definitions_name(data__preferred)
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

def validate___definitions_gang(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "scheduler" in data_keys:
            data_keys.remove("scheduler")
            data__scheduler = data["scheduler"]
            validate___definitions_scheduler(data__scheduler)
        if "queue" in data_keys:
            data_keys.remove("queue")
            data__queue = data["queue"]
            validate___definitions_queue(data__queue)
        if "pool" in data_keys:
            data_keys.remove("pool")
            data__pool = data["pool"]
            validate___definitions_name(data__pool)
        if "fabric" in data_keys:
            data_keys.remove("fabric")
            data__fabric = data["fabric"]
            validate___definitions_name(data__fabric)
        if "placement" in data_keys:
            data_keys.remove("placement")
            data__placement = data["placement"]
            validate___definitions_placement(data__placement)
        if "computeDomain" in data_keys:
            data_keys.remove("computeDomain")
            data__computeDomain = data["computeDomain"]
            validate___definitions_computedomain(data__computeDomain)
        if data_keys:
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

def validate___definitions_match(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_len = len(data)
        if data_len < 1:
            raise Refused
        data_keys = set(data.keys())
        if "kind" in data_keys:
            data_keys.remove("kind")
            data__kind = data["kind"]
            validate___definitions_pattern(data__kind)
        if "name" in data_keys:
            data_keys.remove("name")
            data__name = data["name"]
            validate___definitions_pattern(data__name)
        if "namespace" in data_keys:
            data_keys.remove("namespace")
            data__namespace = data["namespace"]
            validate___definitions_pattern(data__namespace)
        if "labels" in data_keys:
            data_keys.remove("labels")
            data__labels = data["labels"]
            validate___definitions_labels(data__labels)
        if data_keys:
            raise Refused
    return data

def validate___definitions_labels(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        for data_key in data_keys:
            if data_key not in []:
                data_value = data.get(data_key)
                validate___definitions_labelvalue(data_value)
        data_len = len(data)
        if data_len != 0:
            data_property_names = True
            for data_key in data:
                try:
                    validate___definitions_labelkey(data_key)
                except Refused:
                    data_property_names = False
            if not data_property_names:
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
