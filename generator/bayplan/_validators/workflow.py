"""Made from schemas/workflow.json by tests/tools/generate_validators.py. Do not edit."""

# mypy: ignore-errors
from typing import Any

from bayplan._validators import Patterns, Refused, Word

REGEX_PATTERNS = Patterns(
    {
    '^[A-Za-z_.-][-A-Za-z0-9_.]*$': Word('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.-', '-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.', '-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.'),
    '^[A-Za-z0-9][-A-Za-z0-9._/:@]*$': Word('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', '-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/:@', '-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/:@'),
    '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$': Word('abcdefghijklmnopqrstuvwxyz0123456789', '-abcdefghijklmnopqrstuvwxyz0123456789', 'abcdefghijklmnopqrstuvwxyz0123456789'),
    '^([A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?)?$': Word('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', '-._ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', empty=True),
    '^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$': Word('abcdefghijklmnopqrstuvwxyz0123456789', '-.abcdefghijklmnopqrstuvwxyz0123456789', 'abcdefghijklmnopqrstuvwxyz0123456789'),
    '^[a-z]([-a-z0-9]*[a-z0-9])?$': Word('abcdefghijklmnopqrstuvwxyz', '-abcdefghijklmnopqrstuvwxyz0123456789', 'abcdefghijklmnopqrstuvwxyz0123456789'),
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
            if not (isinstance(data__kind, str) and data__kind == 'Workflow'):
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
                    validate___definitions_servicename(data__metadata__name)
                if "namespace" in data__metadata_keys:
                    data__metadata_keys.remove("namespace")
                    data__metadata__namespace = data__metadata["namespace"]
                    validate___definitions_name(data__metadata__namespace)
                if "labels" in data__metadata_keys:
                    data__metadata_keys.remove("labels")
                    data__metadata__labels = data__metadata["labels"]
                    validate___definitions_labels(data__metadata__labels)
                if "annotations" in data__metadata_keys:
                    data__metadata_keys.remove("annotations")
                    data__metadata__annotations = data__metadata["annotations"]
                    validate___definitions_annotations(data__metadata__annotations)
                if data__metadata_keys:
                    raise Refused
        if "spec" in data_keys:
            data_keys.remove("spec")
            data__spec = data["spec"]
            if not isinstance(data__spec, (dict)):
                raise Refused
            data__spec_is_dict = isinstance(data__spec, dict)
            if data__spec_is_dict:
                data__spec__missing_keys = set(['gangs']) - data__spec.keys()
                if data__spec__missing_keys:
                    raise Refused
                data__spec_keys = set(data__spec.keys())
                if "scheduler" in data__spec_keys:
                    data__spec_keys.remove("scheduler")
                    data__spec__scheduler = data__spec["scheduler"]
                    validate___definitions_scheduler(data__spec__scheduler)
                if "queue" in data__spec_keys:
                    data__spec_keys.remove("queue")
                    data__spec__queue = data__spec["queue"]
                    validate___definitions_queue(data__spec__queue)
                if "priorityClassName" in data__spec_keys:
                    data__spec_keys.remove("priorityClassName")
                    data__spec__priorityClassName = data__spec["priorityClassName"]
                    validate___definitions_dottedname(data__spec__priorityClassName)
                if "pool" in data__spec_keys:
                    data__spec_keys.remove("pool")
                    data__spec__pool = data__spec["pool"]
                    validate___definitions_name(data__spec__pool)
                if "defaults" in data__spec_keys:
                    data__spec_keys.remove("defaults")
                    data__spec__defaults = data__spec["defaults"]
                    validate___definitions_podsetdefaults(data__spec__defaults)
                if "cleanup" in data__spec_keys:
                    data__spec_keys.remove("cleanup")
                    data__spec__cleanup = data__spec["cleanup"]
                    if not (isinstance(data__spec__cleanup, str) and data__spec__cleanup == 'none' or isinstance(data__spec__cleanup, str) and data__spec__cleanup == 'adopt'):
                        raise Refused
                if "gangs" in data__spec_keys:
                    data__spec_keys.remove("gangs")
                    data__spec__gangs = data__spec["gangs"]
                    if not isinstance(data__spec__gangs, (list, tuple)):
                        raise Refused
                    data__spec__gangs_is_list = isinstance(data__spec__gangs, (list, tuple))
                    if data__spec__gangs_is_list:
                        data__spec__gangs_len = len(data__spec__gangs)
                        if data__spec__gangs_len < 1:
                            raise Refused
                        if data__spec__gangs_len > 1000:
                            raise Refused
                        for data__spec__gangs_x, data__spec__gangs_item in enumerate(data__spec__gangs):
                            validate___definitions_gang(data__spec__gangs_item)
                if data__spec_keys:
                    raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_gang(data: Any) -> Any:
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
        if "dependsOn" in data_keys:
            data_keys.remove("dependsOn")
            data__dependsOn = data["dependsOn"]
            if not isinstance(data__dependsOn, (list, tuple)):
                raise Refused
            data__dependsOn_is_list = isinstance(data__dependsOn, (list, tuple))
            if data__dependsOn_is_list:
                def fn(var): return frozenset(dict((k, fn(v)) for k, v in var.items()).items()) if hasattr(var, "items") else tuple(fn(v) for v in var) if isinstance(var, (dict, list)) else (bool, var) if isinstance(var, bool) else var
                data__dependsOn_len = len(data__dependsOn)
                if data__dependsOn_len > len(set(fn(data__dependsOn_x) for data__dependsOn_x in data__dependsOn)):
                    raise Refused
                for data__dependsOn_x, data__dependsOn_item in enumerate(data__dependsOn):
                    validate___definitions_name(data__dependsOn_item)
        if "placement" in data_keys:
            data_keys.remove("placement")
            data__placement = data["placement"]
            validate___definitions_placement(data__placement)
        if "workload" in data_keys:
            data_keys.remove("workload")
            data__workload = data["workload"]
            if not (isinstance(data__workload, str) and data__workload == 'auto' or isinstance(data__workload, str) and data__workload == 'job' or isinstance(data__workload, str) and data__workload == 'jobset' or isinstance(data__workload, str) and data__workload == 'pods' or isinstance(data__workload, str) and data__workload == 'lws' or isinstance(data__workload, str) and data__workload == 'volcano-job' or isinstance(data__workload, str) and data__workload == 'sbatch'):
                raise Refused
        if "replicas" in data_keys:
            data_keys.remove("replicas")
            data__replicas = data["replicas"]
            validate___definitions_count(data__replicas)
        if "rendezvous" in data_keys:
            data_keys.remove("rendezvous")
            data__rendezvous = data["rendezvous"]
            if not (isinstance(data__rendezvous, str) and data__rendezvous == 'gang' or isinstance(data__rendezvous, str) and data__rendezvous == 'group' or isinstance(data__rendezvous, str) and data__rendezvous == 'none'):
                raise Refused
        if "lead" in data_keys:
            data_keys.remove("lead")
            data__lead = data["lead"]
            validate___definitions_name(data__lead)
        if "hosts" in data_keys:
            data_keys.remove("hosts")
            data__hosts = data["hosts"]
            validate___definitions_hosts(data__hosts)
        if "maxRestarts" in data_keys:
            data_keys.remove("maxRestarts")
            data__maxRestarts = data["maxRestarts"]
            if not isinstance(data__maxRestarts, (int)) and not (isinstance(data__maxRestarts, float) and data__maxRestarts.is_integer()) or isinstance(data__maxRestarts, bool):
                raise Refused
            if isinstance(data__maxRestarts, (int, float)) and not isinstance(data__maxRestarts, bool):
                if data__maxRestarts < 0:
                    raise Refused
                if data__maxRestarts > 2147483647:
                    raise Refused
        if "activeDeadlineSeconds" in data_keys:
            data_keys.remove("activeDeadlineSeconds")
            data__activeDeadlineSeconds = data["activeDeadlineSeconds"]
            if not isinstance(data__activeDeadlineSeconds, (int)) and not (isinstance(data__activeDeadlineSeconds, float) and data__activeDeadlineSeconds.is_integer()) or isinstance(data__activeDeadlineSeconds, bool):
                raise Refused
            if isinstance(data__activeDeadlineSeconds, (int, float)) and not isinstance(data__activeDeadlineSeconds, bool):
                if data__activeDeadlineSeconds < 1:
                    raise Refused
                if data__activeDeadlineSeconds > 2147483647:
                    raise Refused
        if "ttlSecondsAfterFinished" in data_keys:
            data_keys.remove("ttlSecondsAfterFinished")
            data__ttlSecondsAfterFinished = data["ttlSecondsAfterFinished"]
            if not isinstance(data__ttlSecondsAfterFinished, (int)) and not (isinstance(data__ttlSecondsAfterFinished, float) and data__ttlSecondsAfterFinished.is_integer()) or isinstance(data__ttlSecondsAfterFinished, bool):
                raise Refused
            if isinstance(data__ttlSecondsAfterFinished, (int, float)) and not isinstance(data__ttlSecondsAfterFinished, bool):
                if data__ttlSecondsAfterFinished < 0:
                    raise Refused
                if data__ttlSecondsAfterFinished > 2147483647:
                    raise Refused
        if "preemptible" in data_keys:
            data_keys.remove("preemptible")
            data__preemptible = data["preemptible"]
            if not isinstance(data__preemptible, (bool)):
                raise Refused
        if "computeDomain" in data_keys:
            data_keys.remove("computeDomain")
            data__computeDomain = data["computeDomain"]
            validate___definitions_computedomain(data__computeDomain)
        if "pool" in data_keys:
            data_keys.remove("pool")
            data__pool = data["pool"]
            validate___definitions_name(data__pool)
        if "backends" in data_keys:
            data_keys.remove("backends")
            data__backends = data["backends"]
            validate___definitions_backends(data__backends)
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
                    validate___definitions_podset(data__podSets_item)
        if data_keys:
            raise Refused
    return data

def validate___definitions_podset(data: Any) -> Any:
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
        if "replicas" in data_keys:
            data_keys.remove("replicas")
            data__replicas = data["replicas"]
            validate___definitions_count(data__replicas)
        if "minReplicas" in data_keys:
            data_keys.remove("minReplicas")
            data__minReplicas = data["minReplicas"]
            validate___definitions_count(data__minReplicas)
        if "pool" in data_keys:
            data_keys.remove("pool")
            data__pool = data["pool"]
            validate___definitions_name(data__pool)
        if "accelerator" in data_keys:
            data_keys.remove("accelerator")
            data__accelerator = data["accelerator"]
            validate___definitions_accelerator(data__accelerator)
        if "resources" in data_keys:
            data_keys.remove("resources")
            data__resources = data["resources"]
            validate___definitions_resources(data__resources)
        if "wholeNode" in data_keys:
            data_keys.remove("wholeNode")
            data__wholeNode = data["wholeNode"]
            validate___definitions_wholenode(data__wholeNode)
        if "numa" in data_keys:
            data_keys.remove("numa")
            data__numa = data["numa"]
            if not (isinstance(data__numa, str) and data__numa == 'best-effort' or isinstance(data__numa, str) and data__numa == 'restricted' or isinstance(data__numa, str) and data__numa == 'single-numa-node'):
                raise Refused
        if "fabric" in data_keys:
            data_keys.remove("fabric")
            data__fabric = data["fabric"]
            validate___definitions_attachment(data__fabric)
        if "image" in data_keys:
            data_keys.remove("image")
            data__image = data["image"]
            validate___definitions_image(data__image)
        if "command" in data_keys:
            data_keys.remove("command")
            data__command = data["command"]
            validate___definitions_texts(data__command)
        if "args" in data_keys:
            data_keys.remove("args")
            data__args = data["args"]
            validate___definitions_texts(data__args)
        if "env" in data_keys:
            data_keys.remove("env")
            data__env = data["env"]
            validate___definitions_env(data__env)
        if "ports" in data_keys:
            data_keys.remove("ports")
            data__ports = data["ports"]
            validate___definitions_ports(data__ports)
        if "shm" in data_keys:
            data_keys.remove("shm")
            data__shm = data["shm"]
            validate___definitions_quantity(data__shm)
        if "files" in data_keys:
            data_keys.remove("files")
            data__files = data["files"]
            validate___definitions_files(data__files)
        if "restartPolicy" in data_keys:
            data_keys.remove("restartPolicy")
            data__restartPolicy = data["restartPolicy"]
            validate___definitions_restartpolicy(data__restartPolicy)
        if "template" in data_keys:
            data_keys.remove("template")
            data__template = data["template"]
            validate___definitions_template(data__template)
        if data_keys:
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

def validate___definitions_restartpolicy(data: Any) -> Any:
    if not (isinstance(data, str) and data == 'Never' or isinstance(data, str) and data == 'OnFailure' or isinstance(data, str) and data == 'Always'):
        raise Refused
    return data

def validate___definitions_files(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        for data_key in data_keys:
            if data_key not in []:
                data_value = data.get(data_key)
                validate___definitions_content(data_value)
    return data

def validate___definitions_content(data: Any) -> Any:
    if not isinstance(data, (str, dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['base64']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "base64" in data_keys:
            data_keys.remove("base64")
            data__base64 = data["base64"]
            if not isinstance(data__base64, (str)):
                raise Refused
        if data_keys:
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

def validate___definitions_ports(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        for data_key in data_keys:
            if data_key not in []:
                data_value = data.get(data_key)
                if not isinstance(data_value, (int)) and not (isinstance(data_value, float) and data_value.is_integer()) or isinstance(data_value, bool):
                    raise Refused
                if isinstance(data_value, (int, float)) and not isinstance(data_value, bool):
                    if data_value < 1:
                        raise Refused
                    if data_value > 65535:
                        raise Refused
        data_len = len(data)
        if data_len != 0:
            data_property_names = True
            for data_key in data:
                try:
                    validate___definitions_portname(data_key)
                except Refused:
                    data_property_names = False
            if not data_property_names:
                raise Refused
    return data

def validate___definitions_portname(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 15:
            raise Refused
        if not REGEX_PATTERNS['^([a-z0-9]+-)*[0-9]*[a-z][a-z0-9]*(-[a-z0-9]+)*$'].search(data):
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

def validate___definitions_texts(data: Any) -> Any:
    if not isinstance(data, (list, tuple)):
        raise Refused
    data_is_list = isinstance(data, (list, tuple))
    if data_is_list:
        data_len = len(data)
        if data_len > 10000:
            raise Refused
        for data_x, data_item in enumerate(data):
            if not isinstance(data_item, (str)):
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

def validate___definitions_attachment(data: Any) -> Any:
    if not isinstance(data, (str, dict)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 63:
            raise Refused
        if not REGEX_PATTERNS['^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'].search(data):
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
        if "rails" in data_keys:
            data_keys.remove("rails")
            data__rails = data["rails"]
            if not isinstance(data__rails, (list, tuple)):
                raise Refused
            data__rails_is_list = isinstance(data__rails, (list, tuple))
            if data__rails_is_list:
                data__rails_len = len(data__rails)
                if data__rails_len < 1:
                    raise Refused
                if data__rails_len > 64:
                    raise Refused
                def fn(var): return frozenset(dict((k, fn(v)) for k, v in var.items()).items()) if hasattr(var, "items") else tuple(fn(v) for v in var) if isinstance(var, (dict, list)) else (bool, var) if isinstance(var, bool) else var
                if data__rails_len > len(set(fn(data__rails_x) for data__rails_x in data__rails)):
                    raise Refused
                for data__rails_x, data__rails_item in enumerate(data__rails):
                    if not isinstance(data__rails_item, (int)) and not (isinstance(data__rails_item, float) and data__rails_item.is_integer()) or isinstance(data__rails_item, bool):
                        raise Refused
                    if isinstance(data__rails_item, (int, float)) and not isinstance(data__rails_item, bool):
                        if data__rails_item < 0:
                            raise Refused
                        if data__rails_item > 63:
                            raise Refused
        if "bootstrap" in data_keys:
            data_keys.remove("bootstrap")
            data__bootstrap = data["bootstrap"]
            if not (isinstance(data__bootstrap, str) and data__bootstrap == 'primary' or isinstance(data__bootstrap, str) and data__bootstrap == 'fabric'):
                raise Refused
        if "address" in data_keys:
            data_keys.remove("address")
            data__address = data["address"]
            validate___definitions_addresswithprefix(data__address)
        if data_keys:
            raise Refused
    return data

def validate___definitions_addresswithprefix(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 2:
            raise Refused
        if data_len > 64:
            raise Refused
        if not REGEX_PATTERNS['^[0-9A-Fa-f:.]+/[0-9]{1,3}$'].search(data):
            raise Refused
    return data

def validate___definitions_wholenode(data: Any) -> Any:
    if not isinstance(data, (bool)):
        raise Refused
    return data

def validate___definitions_resources(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        for data_key in data_keys:
            if data_key not in []:
                data_value = data.get(data_key)
                validate___definitions_quantity(data_value)
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

def validate___definitions_accelerator(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "name" in data_keys:
            data_keys.remove("name")
            data__name = data["name"]
            validate___definitions_name(data__name)
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
        if "node" in data_keys:
            data_keys.remove("node")
            data__node = data["node"]
            if not (isinstance(data__node, str) and data__node == 'spread' or isinstance(data__node, str) and data__node == 'binpack'):
                raise Refused
        if "cards" in data_keys:
            data_keys.remove("cards")
            data__cards = data["cards"]
            if not (isinstance(data__cards, str) and data__cards == 'spread' or isinstance(data__cards, str) and data__cards == 'binpack' or isinstance(data__cards, str) and data__cards == 'mutex' or isinstance(data__cards, str) and data__cards == 'numa'):
                raise Refused
        if "links" in data_keys:
            data_keys.remove("links")
            data__links = data["links"]
            if not (isinstance(data__links, str) and data__links == 'best' or isinstance(data__links, str) and data__links == 'guaranteed' or isinstance(data__links, str) and data__links == 'restricted'):
                raise Refused
        if "memory" in data_keys:
            data_keys.remove("memory")
            data__memory = data["memory"]
            validate___definitions_share(data__memory)
        if "cores" in data_keys:
            data_keys.remove("cores")
            data__cores = data["cores"]
            validate___definitions_share(data__cores)
        if "profile" in data_keys:
            data_keys.remove("profile")
            data__profile = data["profile"]
            validate___definitions_migprofile(data__profile)
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
        if "allocator" in data_keys:
            data_keys.remove("allocator")
            data__allocator = data["allocator"]
            if not (isinstance(data__allocator, str) and data__allocator == 'device-plugin' or isinstance(data__allocator, str) and data__allocator == 'dra' or isinstance(data__allocator, str) and data__allocator == 'hami'):
                raise Refused
        if "appClass" in data_keys:
            data_keys.remove("appClass")
            data__appClass = data["appClass"]
            if not (isinstance(data__appClass, str) and data__appClass == 'online' or isinstance(data__appClass, str) and data__appClass == 'offline'):
                raise Refused
        if "qos" in data_keys:
            data_keys.remove("qos")
            data__qos = data["qos"]
            if not (isinstance(data__qos, str) and data__qos == 'best-effort' or isinstance(data__qos, str) and data__qos == 'fixed-share' or isinstance(data__qos, str) and data__qos == 'burst-share'):
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

def validate___definitions_share(data: Any) -> Any:
    if not isinstance(data, (str, int)) and not (isinstance(data, float) and data.is_integer()) or isinstance(data, bool):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 64:
            raise Refused
        if not REGEX_PATTERNS['^[0-9.]+([A-Za-z]*|%)$'].search(data):
            raise Refused
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        if data < 1:
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
        if "replicas" in data_keys:
            data_keys.remove("replicas")
            data__replicas = data["replicas"]
            validate___definitions_count(data__replicas)
        if "size" in data_keys:
            data_keys.remove("size")
            data__size = data["size"]
            validate___definitions_count(data__size)
        if "minReplicas" in data_keys:
            data_keys.remove("minReplicas")
            data__minReplicas = data["minReplicas"]
            validate___definitions_count(data__minReplicas)
        if "separate" in data_keys:
            data_keys.remove("separate")
            data__separate = data["separate"]
            validate___definitions_name(data__separate)
        if "placement" in data_keys:
            data_keys.remove("placement")
            data__placement = data["placement"]
            validate___definitions_placement(data__placement)
        if "computeDomain" in data_keys:
            data_keys.remove("computeDomain")
            data__computeDomain = data["computeDomain"]
            validate___definitions_computedomain(data__computeDomain)
        if "pool" in data_keys:
            data_keys.remove("pool")
            data__pool = data["pool"]
            validate___definitions_name(data__pool)
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
                    validate___definitions_podset(data__podSets_item)
        if data_keys:
            raise Refused
    return data

def validate___definitions_backends(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "kai" in data_keys:
            data_keys.remove("kai")
            data__kai = data["kai"]
            if not isinstance(data__kai, (dict)):
                raise Refused
            data__kai_is_dict = isinstance(data__kai, dict)
            if data__kai_is_dict:
                data__kai_keys = set(data__kai.keys())
                if "topology" in data__kai_keys:
                    data__kai_keys.remove("topology")
                    data__kai__topology = data__kai["topology"]
                    validate___definitions_dottedname(data__kai__topology)
                if "nodePool" in data__kai_keys:
                    data__kai_keys.remove("nodePool")
                    data__kai__nodePool = data__kai["nodePool"]
                    validate___definitions_labelvalue(data__kai__nodePool)
                if "stalenessGracePeriod" in data__kai_keys:
                    data__kai_keys.remove("stalenessGracePeriod")
                    data__kai__stalenessGracePeriod = data__kai["stalenessGracePeriod"]
                    validate___definitions_duration(data__kai__stalenessGracePeriod)
                if "preemptionDelay" in data__kai_keys:
                    data__kai_keys.remove("preemptionDelay")
                    data__kai__preemptionDelay = data__kai["preemptionDelay"]
                    validate___definitions_duration(data__kai__preemptionDelay)
                if "markUnschedulable" in data__kai_keys:
                    data__kai_keys.remove("markUnschedulable")
                    data__kai__markUnschedulable = data__kai["markUnschedulable"]
                    if not isinstance(data__kai__markUnschedulable, (bool)):
                        raise Refused
                if "schedulingBackoff" in data__kai_keys:
                    data__kai_keys.remove("schedulingBackoff")
                    data__kai__schedulingBackoff = data__kai["schedulingBackoff"]
                    if not (isinstance(data__kai__schedulingBackoff, (int, float)) and not isinstance(data__kai__schedulingBackoff, bool) and data__kai__schedulingBackoff == -1 or isinstance(data__kai__schedulingBackoff, (int, float)) and not isinstance(data__kai__schedulingBackoff, bool) and data__kai__schedulingBackoff == 1):
                        raise Refused
                if data__kai_keys:
                    raise Refused
        if "volcano" in data_keys:
            data_keys.remove("volcano")
            data__volcano = data["volcano"]
            if not isinstance(data__volcano, (dict)):
                raise Refused
            data__volcano_is_dict = isinstance(data__volcano, dict)
            if data__volcano_is_dict:
                data__volcano_keys = set(data__volcano.keys())
                if data__volcano_keys:
                    raise Refused
        if "kueue" in data_keys:
            data_keys.remove("kueue")
            data__kueue = data["kueue"]
            if not isinstance(data__kueue, (dict)):
                raise Refused
            data__kueue_is_dict = isinstance(data__kueue, dict)
            if data__kueue_is_dict:
                data__kueue_keys = set(data__kueue.keys())
                if "priorityClass" in data__kueue_keys:
                    data__kueue_keys.remove("priorityClass")
                    data__kueue__priorityClass = data__kueue["priorityClass"]
                    validate___definitions_queue(data__kueue__priorityClass)
                if data__kueue_keys:
                    raise Refused
        if "koordinator" in data_keys:
            data_keys.remove("koordinator")
            data__koordinator = data["koordinator"]
            if not isinstance(data__koordinator, (dict)):
                raise Refused
            data__koordinator_is_dict = isinstance(data__koordinator, dict)
            if data__koordinator_is_dict:
                data__koordinator_keys = set(data__koordinator.keys())
                if "scheduleTimeoutSeconds" in data__koordinator_keys:
                    data__koordinator_keys.remove("scheduleTimeoutSeconds")
                    data__koordinator__scheduleTimeoutSeconds = data__koordinator["scheduleTimeoutSeconds"]
                    if not isinstance(data__koordinator__scheduleTimeoutSeconds, (int)) and not (isinstance(data__koordinator__scheduleTimeoutSeconds, float) and data__koordinator__scheduleTimeoutSeconds.is_integer()) or isinstance(data__koordinator__scheduleTimeoutSeconds, bool):
                        raise Refused
                    if isinstance(data__koordinator__scheduleTimeoutSeconds, (int, float)) and not isinstance(data__koordinator__scheduleTimeoutSeconds, bool):
                        if data__koordinator__scheduleTimeoutSeconds < 1:
                            raise Refused
                        if data__koordinator__scheduleTimeoutSeconds > 2147483647:
                            raise Refused
                if "matchPolicy" in data__koordinator_keys:
                    data__koordinator_keys.remove("matchPolicy")
                    data__koordinator__matchPolicy = data__koordinator["matchPolicy"]
                    if not (isinstance(data__koordinator__matchPolicy, str) and data__koordinator__matchPolicy == 'only-waiting' or isinstance(data__koordinator__matchPolicy, str) and data__koordinator__matchPolicy == 'waiting-and-running' or isinstance(data__koordinator__matchPolicy, str) and data__koordinator__matchPolicy == 'once-satisfied'):
                        raise Refused
                if data__koordinator_keys:
                    raise Refused
        if "native" in data_keys:
            data_keys.remove("native")
            data__native = data["native"]
            if not isinstance(data__native, (dict)):
                raise Refused
            data__native_is_dict = isinstance(data__native, dict)
            if data__native_is_dict:
                data__native_keys = set(data__native.keys())
                if data__native_keys:
                    raise Refused
        if "slurm-bridge" in data_keys:
            data_keys.remove("slurm-bridge")
            data__slurmbridge = data["slurm-bridge"]
            if not isinstance(data__slurmbridge, (dict)):
                raise Refused
            data__slurmbridge_is_dict = isinstance(data__slurmbridge, dict)
            if data__slurmbridge_is_dict:
                data__slurmbridge_keys = set(data__slurmbridge.keys())
                if "account" in data__slurmbridge_keys:
                    data__slurmbridge_keys.remove("account")
                    data__slurmbridge__account = data__slurmbridge["account"]
                    validate___definitions_word(data__slurmbridge__account)
                if "partition" in data__slurmbridge_keys:
                    data__slurmbridge_keys.remove("partition")
                    data__slurmbridge__partition = data__slurmbridge["partition"]
                    validate___definitions_word(data__slurmbridge__partition)
                if "qos" in data__slurmbridge_keys:
                    data__slurmbridge_keys.remove("qos")
                    data__slurmbridge__qos = data__slurmbridge["qos"]
                    validate___definitions_word(data__slurmbridge__qos)
                if "reservation" in data__slurmbridge_keys:
                    data__slurmbridge_keys.remove("reservation")
                    data__slurmbridge__reservation = data__slurmbridge["reservation"]
                    validate___definitions_word(data__slurmbridge__reservation)
                if "constraints" in data__slurmbridge_keys:
                    data__slurmbridge_keys.remove("constraints")
                    data__slurmbridge__constraints = data__slurmbridge["constraints"]
                    validate___definitions_word(data__slurmbridge__constraints)
                if "licenses" in data__slurmbridge_keys:
                    data__slurmbridge_keys.remove("licenses")
                    data__slurmbridge__licenses = data__slurmbridge["licenses"]
                    validate___definitions_word(data__slurmbridge__licenses)
                if "wckey" in data__slurmbridge_keys:
                    data__slurmbridge_keys.remove("wckey")
                    data__slurmbridge__wckey = data__slurmbridge["wckey"]
                    validate___definitions_word(data__slurmbridge__wckey)
                if "userId" in data__slurmbridge_keys:
                    data__slurmbridge_keys.remove("userId")
                    data__slurmbridge__userId = data__slurmbridge["userId"]
                    validate___definitions_word(data__slurmbridge__userId)
                if "groupId" in data__slurmbridge_keys:
                    data__slurmbridge_keys.remove("groupId")
                    data__slurmbridge__groupId = data__slurmbridge["groupId"]
                    validate___definitions_word(data__slurmbridge__groupId)
                if "priority" in data__slurmbridge_keys:
                    data__slurmbridge_keys.remove("priority")
                    data__slurmbridge__priority = data__slurmbridge["priority"]
                    if not isinstance(data__slurmbridge__priority, (int)) and not (isinstance(data__slurmbridge__priority, float) and data__slurmbridge__priority.is_integer()) or isinstance(data__slurmbridge__priority, bool):
                        raise Refused
                    if isinstance(data__slurmbridge__priority, (int, float)) and not isinstance(data__slurmbridge__priority, bool):
                        if data__slurmbridge__priority < 0:
                            raise Refused
                        if data__slurmbridge__priority > 2147483647:
                            raise Refused
                if "timeLimit" in data__slurmbridge_keys:
                    data__slurmbridge_keys.remove("timeLimit")
                    data__slurmbridge__timeLimit = data__slurmbridge["timeLimit"]
                    if not isinstance(data__slurmbridge__timeLimit, (int)) and not (isinstance(data__slurmbridge__timeLimit, float) and data__slurmbridge__timeLimit.is_integer()) or isinstance(data__slurmbridge__timeLimit, bool):
                        raise Refused
                    if isinstance(data__slurmbridge__timeLimit, (int, float)) and not isinstance(data__slurmbridge__timeLimit, bool):
                        if data__slurmbridge__timeLimit < 1:
                            raise Refused
                        if data__slurmbridge__timeLimit > 2147483647:
                            raise Refused
                if "exclusive" in data__slurmbridge_keys:
                    data__slurmbridge_keys.remove("exclusive")
                    data__slurmbridge__exclusive = data__slurmbridge["exclusive"]
                    if not isinstance(data__slurmbridge__exclusive, (bool)):
                        raise Refused
                if data__slurmbridge_keys:
                    raise Refused
        if "sunk" in data_keys:
            data_keys.remove("sunk")
            data__sunk = data["sunk"]
            if not isinstance(data__sunk, (dict)):
                raise Refused
            data__sunk_is_dict = isinstance(data__sunk, dict)
            if data__sunk_is_dict:
                data__sunk_keys = set(data__sunk.keys())
                if "account" in data__sunk_keys:
                    data__sunk_keys.remove("account")
                    data__sunk__account = data__sunk["account"]
                    validate___definitions_word(data__sunk__account)
                if "partition" in data__sunk_keys:
                    data__sunk_keys.remove("partition")
                    data__sunk__partition = data__sunk["partition"]
                    validate___definitions_word(data__sunk__partition)
                if "qos" in data__sunk_keys:
                    data__sunk_keys.remove("qos")
                    data__sunk__qos = data__sunk["qos"]
                    validate___definitions_word(data__sunk__qos)
                if "reservation" in data__sunk_keys:
                    data__sunk_keys.remove("reservation")
                    data__sunk__reservation = data__sunk["reservation"]
                    validate___definitions_word(data__sunk__reservation)
                if "comment" in data__sunk_keys:
                    data__sunk_keys.remove("comment")
                    data__sunk__comment = data__sunk["comment"]
                    if not isinstance(data__sunk__comment, (str)):
                        raise Refused
                    if isinstance(data__sunk__comment, str):
                        data__sunk__comment_len = len(data__sunk__comment)
                        if data__sunk__comment_len < 1:
                            raise Refused
                        if data__sunk__comment_len > 1024:
                            raise Refused
                if "userId" in data__sunk_keys:
                    data__sunk_keys.remove("userId")
                    data__sunk__userId = data__sunk["userId"]
                    validate___definitions_word(data__sunk__userId)
                if "groupId" in data__sunk_keys:
                    data__sunk_keys.remove("groupId")
                    data__sunk__groupId = data__sunk["groupId"]
                    validate___definitions_word(data__sunk__groupId)
                if "exclusive" in data__sunk_keys:
                    data__sunk_keys.remove("exclusive")
                    data__sunk__exclusive = data__sunk["exclusive"]
                    if not (isinstance(data__sunk__exclusive, str) and data__sunk__exclusive == 'none' or isinstance(data__sunk__exclusive, str) and data__sunk__exclusive == 'user' or isinstance(data__sunk__exclusive, str) and data__sunk__exclusive == 'ok'):
                        raise Refused
                if "timeout" in data__sunk_keys:
                    data__sunk_keys.remove("timeout")
                    data__sunk__timeout = data__sunk["timeout"]
                    if not isinstance(data__sunk__timeout, (int)) and not (isinstance(data__sunk__timeout, float) and data__sunk__timeout.is_integer()) or isinstance(data__sunk__timeout, bool):
                        raise Refused
                    if isinstance(data__sunk__timeout, (int, float)) and not isinstance(data__sunk__timeout, bool):
                        if data__sunk__timeout < 1:
                            raise Refused
                        if data__sunk__timeout > 2147483647:
                            raise Refused
                if data__sunk_keys:
                    raise Refused
        if "slurm" in data_keys:
            data_keys.remove("slurm")
            data__slurm = data["slurm"]
            if not isinstance(data__slurm, (dict)):
                raise Refused
            data__slurm_is_dict = isinstance(data__slurm, dict)
            if data__slurm_is_dict:
                data__slurm_keys = set(data__slurm.keys())
                if "account" in data__slurm_keys:
                    data__slurm_keys.remove("account")
                    data__slurm__account = data__slurm["account"]
                    validate___definitions_word(data__slurm__account)
                if "partition" in data__slurm_keys:
                    data__slurm_keys.remove("partition")
                    data__slurm__partition = data__slurm["partition"]
                    validate___definitions_word(data__slurm__partition)
                if "qos" in data__slurm_keys:
                    data__slurm_keys.remove("qos")
                    data__slurm__qos = data__slurm["qos"]
                    validate___definitions_word(data__slurm__qos)
                if "reservation" in data__slurm_keys:
                    data__slurm_keys.remove("reservation")
                    data__slurm__reservation = data__slurm["reservation"]
                    validate___definitions_word(data__slurm__reservation)
                if "constraint" in data__slurm_keys:
                    data__slurm_keys.remove("constraint")
                    data__slurm__constraint = data__slurm["constraint"]
                    validate___definitions_word(data__slurm__constraint)
                if "exclude" in data__slurm_keys:
                    data__slurm_keys.remove("exclude")
                    data__slurm__exclude = data__slurm["exclude"]
                    validate___definitions_word(data__slurm__exclude)
                if "licenses" in data__slurm_keys:
                    data__slurm_keys.remove("licenses")
                    data__slurm__licenses = data__slurm["licenses"]
                    validate___definitions_word(data__slurm__licenses)
                if "wckey" in data__slurm_keys:
                    data__slurm_keys.remove("wckey")
                    data__slurm__wckey = data__slurm["wckey"]
                    validate___definitions_word(data__slurm__wckey)
                if "comment" in data__slurm_keys:
                    data__slurm_keys.remove("comment")
                    data__slurm__comment = data__slurm["comment"]
                    if not isinstance(data__slurm__comment, (str)):
                        raise Refused
                    if isinstance(data__slurm__comment, str):
                        data__slurm__comment_len = len(data__slurm__comment)
                        if data__slurm__comment_len < 1:
                            raise Refused
                        if data__slurm__comment_len > 1024:
                            raise Refused
                if "output" in data__slurm_keys:
                    data__slurm_keys.remove("output")
                    data__slurm__output = data__slurm["output"]
                    validate___definitions_word(data__slurm__output)
                if "error" in data__slurm_keys:
                    data__slurm_keys.remove("error")
                    data__slurm__error = data__slurm["error"]
                    validate___definitions_word(data__slurm__error)
                if "requeue" in data__slurm_keys:
                    data__slurm_keys.remove("requeue")
                    data__slurm__requeue = data__slurm["requeue"]
                    if not isinstance(data__slurm__requeue, (bool)):
                        raise Refused
                if "container" in data__slurm_keys:
                    data__slurm_keys.remove("container")
                    data__slurm__container = data__slurm["container"]
                    if not (isinstance(data__slurm__container, str) and data__slurm__container == 'pyxis' or isinstance(data__slurm__container, str) and data__slurm__container == 'none'):
                        raise Refused
                if "gres" in data__slurm_keys:
                    data__slurm_keys.remove("gres")
                    data__slurm__gres = data__slurm["gres"]
                    if not isinstance(data__slurm__gres, (bool)):
                        raise Refused
                if "gpuType" in data__slurm_keys:
                    data__slurm_keys.remove("gpuType")
                    data__slurm__gpuType = data__slurm["gpuType"]
                    validate___definitions_word(data__slurm__gpuType)
                if "switchesTimeout" in data__slurm_keys:
                    data__slurm_keys.remove("switchesTimeout")
                    data__slurm__switchesTimeout = data__slurm["switchesTimeout"]
                    validate___definitions_word(data__slurm__switchesTimeout)
                if data__slurm_keys:
                    raise Refused
        if data_keys:
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

def validate___definitions_duration(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 2:
            raise Refused
        if data_len > 64:
            raise Refused
        if not REGEX_PATTERNS['^[-+]?([0-9]+([.][0-9]+)?(ns|us|ms|s|m|h))+$'].search(data):
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

def validate___definitions_computedomain(data: Any) -> Any:
    if not (isinstance(data, str) and data == 'auto' or isinstance(data, str) and data == 'group' or isinstance(data, str) and data == 'gang' or isinstance(data, str) and data == 'never'):
        raise Refused
    return data

def validate___definitions_hosts(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        for data_key in data_keys:
            if data_key not in []:
                data_value = data.get(data_key)
                validate___definitions_pod(data_value)
        data_len = len(data)
        if data_len != 0:
            data_property_names = True
            for data_key in data:
                try:
                    validate___definitions_mark(data_key)
                except Refused:
                    data_property_names = False
            if not data_property_names:
                raise Refused
    return data

def validate___definitions_mark(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 4096:
            raise Refused
    return data

def validate___definitions_pod(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 253:
            raise Refused
        if not REGEX_PATTERNS['^[a-z0-9]([-a-z0-9]*[a-z0-9])?(/(0|[1-9][0-9]*))?$'].search(data):
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

def validate___definitions_placement(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
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

def validate___definitions_podsetdefaults(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "replicas" in data_keys:
            data_keys.remove("replicas")
            data__replicas = data["replicas"]
            validate___definitions_count(data__replicas)
        if "minReplicas" in data_keys:
            data_keys.remove("minReplicas")
            data__minReplicas = data["minReplicas"]
            validate___definitions_count(data__minReplicas)
        if "pool" in data_keys:
            data_keys.remove("pool")
            data__pool = data["pool"]
            validate___definitions_name(data__pool)
        if "accelerator" in data_keys:
            data_keys.remove("accelerator")
            data__accelerator = data["accelerator"]
            validate___definitions_accelerator(data__accelerator)
        if "resources" in data_keys:
            data_keys.remove("resources")
            data__resources = data["resources"]
            validate___definitions_resources(data__resources)
        if "wholeNode" in data_keys:
            data_keys.remove("wholeNode")
            data__wholeNode = data["wholeNode"]
            validate___definitions_wholenode(data__wholeNode)
        if "numa" in data_keys:
            data_keys.remove("numa")
            data__numa = data["numa"]
            if not (isinstance(data__numa, str) and data__numa == 'best-effort' or isinstance(data__numa, str) and data__numa == 'restricted' or isinstance(data__numa, str) and data__numa == 'single-numa-node'):
                raise Refused
        if "fabric" in data_keys:
            data_keys.remove("fabric")
            data__fabric = data["fabric"]
            validate___definitions_attachment(data__fabric)
        if "image" in data_keys:
            data_keys.remove("image")
            data__image = data["image"]
            validate___definitions_image(data__image)
        if "command" in data_keys:
            data_keys.remove("command")
            data__command = data["command"]
            validate___definitions_texts(data__command)
        if "args" in data_keys:
            data_keys.remove("args")
            data__args = data["args"]
            validate___definitions_texts(data__args)
        if "env" in data_keys:
            data_keys.remove("env")
            data__env = data["env"]
            validate___definitions_env(data__env)
        if "ports" in data_keys:
            data_keys.remove("ports")
            data__ports = data["ports"]
            validate___definitions_ports(data__ports)
        if "shm" in data_keys:
            data_keys.remove("shm")
            data__shm = data["shm"]
            validate___definitions_quantity(data__shm)
        if "files" in data_keys:
            data_keys.remove("files")
            data__files = data["files"]
            validate___definitions_files(data__files)
        if "restartPolicy" in data_keys:
            data_keys.remove("restartPolicy")
            data__restartPolicy = data["restartPolicy"]
            validate___definitions_restartpolicy(data__restartPolicy)
        if "template" in data_keys:
            data_keys.remove("template")
            data__template = data["template"]
            validate___definitions_template(data__template)
        if data_keys:
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

def validate___definitions_annotations(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        for data_key in data_keys:
            if data_key not in []:
                data_value = data.get(data_key)
                if not isinstance(data_value, (str)):
                    raise Refused
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

def validate___definitions_servicename(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 63:
            raise Refused
        if not REGEX_PATTERNS['^[a-z]([-a-z0-9]*[a-z0-9])?$'].search(data):
            raise Refused
    return data
