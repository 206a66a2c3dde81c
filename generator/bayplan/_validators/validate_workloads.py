"""Made from schemas/validate-workloads.json by tests/tools/generate_validators.py. Do not edit."""

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
            if not (isinstance(data__kind, str) and data__kind == 'ValidateWorkloads'):
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
                    if not isinstance(data__metadata__name, (str)):
                        raise Refused
                if "namespace" in data__metadata_keys:
                    data__metadata_keys.remove("namespace")
                    data__metadata__namespace = data__metadata["namespace"]
                    if not isinstance(data__metadata__namespace, (str)):
                        raise Refused
                if "labels" in data__metadata_keys:
                    data__metadata_keys.remove("labels")
                    data__metadata__labels = data__metadata["labels"]
                    if not isinstance(data__metadata__labels, (dict)):
                        raise Refused
                if "annotations" in data__metadata_keys:
                    data__metadata_keys.remove("annotations")
                    data__metadata__annotations = data__metadata["annotations"]
                    if not isinstance(data__metadata__annotations, (dict)):
                        raise Refused
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
                    validate___definitions_text(data__spec__topology)
                if "scheduler" in data__spec_keys:
                    data__spec_keys.remove("scheduler")
                    data__spec__scheduler = data__spec["scheduler"]
                    validate___definitions_text(data__spec__scheduler)
                if "target" in data__spec_keys:
                    data__spec_keys.remove("target")
                    data__spec__target = data__spec["target"]
                    if not isinstance(data__spec__target, (dict)):
                        raise Refused
                    data__spec__target_is_dict = isinstance(data__spec__target, dict)
                    if data__spec__target_is_dict:
                        data__spec__target_keys = set(data__spec__target.keys())
                        for data__spec__target_key in data__spec__target_keys:
                            if data__spec__target_key not in []:
                                data__spec__target_value = data__spec__target.get(data__spec__target_key)
                                validate___definitions_text(data__spec__target_value)
                if "accept" in data__spec_keys:
                    data__spec_keys.remove("accept")
                    data__spec__accept = data__spec["accept"]
                    if not isinstance(data__spec__accept, (list, tuple)):
                        raise Refused
                    data__spec__accept_is_list = isinstance(data__spec__accept, (list, tuple))
                    if data__spec__accept_is_list:
                        data__spec__accept_len = len(data__spec__accept)
                        for data__spec__accept_x, data__spec__accept_item in enumerate(data__spec__accept):
                            validate___definitions_text(data__spec__accept_item)
                if "strict" in data__spec_keys:
                    data__spec_keys.remove("strict")
                    data__spec__strict = data__spec["strict"]
                    if not isinstance(data__spec__strict, (bool)):
                        raise Refused
                if data__spec_keys:
                    raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_text(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
    return data
