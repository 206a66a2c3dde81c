"""Made from schemas/osmo-workflow.json by tests/tools/generate_validators.py. Do not edit."""

# mypy: ignore-errors
from typing import Any

from bayplan._validators import Patterns, Refused, Word

REGEX_PATTERNS = Patterns(
    {
    '^[A-Za-z_.-][-A-Za-z0-9_.]*$': Word('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.-', '-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.', '-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.'),
    '^[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?$': Word('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', '-._ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'),
    '^[a-zA-Z]([a-zA-Z0-9_-]*[a-zA-Z0-9])?$': Word('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-', 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'),
    }
)

NoneType = type(None)

def validate(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['workflow']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "workflow" in data_keys:
            data_keys.remove("workflow")
            data__workflow = data["workflow"]
            if not isinstance(data__workflow, (dict)):
                raise Refused
            data__workflow_is_dict = isinstance(data__workflow, dict)
            if data__workflow_is_dict:
                data__workflow__missing_keys = set(['name']) - data__workflow.keys()
                if data__workflow__missing_keys:
                    raise Refused
                data__workflow_keys = set(data__workflow.keys())
                if "name" in data__workflow_keys:
                    data__workflow_keys.remove("name")
                    data__workflow__name = data__workflow["name"]
                    validate___definitions_name(data__workflow__name)
                if "labels" in data__workflow_keys:
                    data__workflow_keys.remove("labels")
                    data__workflow__labels = data__workflow["labels"]
                    if not isinstance(data__workflow__labels, (dict)):
                        raise Refused
                    data__workflow__labels_is_dict = isinstance(data__workflow__labels, dict)
                    if data__workflow__labels_is_dict:
                        data__workflow__labels_len = len(data__workflow__labels)
                        if data__workflow__labels_len > 16:
                            raise Refused
                        data__workflow__labels_keys = set(data__workflow__labels.keys())
                        for data__workflow__labels_key in data__workflow__labels_keys:
                            if data__workflow__labels_key not in []:
                                data__workflow__labels_value = data__workflow__labels.get(data__workflow__labels_key)
                                validate___definitions_labelvalue(data__workflow__labels_value)
                        if data__workflow__labels_len != 0:
                            data__workflow__labels_property_names = True
                            for data__workflow__labels_key in data__workflow__labels:
                                try:
                                    validate___definitions_labelkey(data__workflow__labels_key)
                                except Refused:
                                    data__workflow__labels_property_names = False
                            if not data__workflow__labels_property_names:
                                raise Refused
                if "pool" in data__workflow_keys:
                    data__workflow_keys.remove("pool")
                    data__workflow__pool = data__workflow["pool"]
                    if not isinstance(data__workflow__pool, (str)):
                        raise Refused
                if "backend" in data__workflow_keys:
                    data__workflow_keys.remove("backend")
                    data__workflow__backend = data__workflow["backend"]
                    if not isinstance(data__workflow__backend, (str)):
                        raise Refused
                if "tasks" in data__workflow_keys:
                    data__workflow_keys.remove("tasks")
                    data__workflow__tasks = data__workflow["tasks"]
                    if not isinstance(data__workflow__tasks, (list, tuple)):
                        raise Refused
                    data__workflow__tasks_is_list = isinstance(data__workflow__tasks, (list, tuple))
                    if data__workflow__tasks_is_list:
                        data__workflow__tasks_len = len(data__workflow__tasks)
                        for data__workflow__tasks_x, data__workflow__tasks_item in enumerate(data__workflow__tasks):
                            validate___definitions_task(data__workflow__tasks_item)
                if "groups" in data__workflow_keys:
                    data__workflow_keys.remove("groups")
                    data__workflow__groups = data__workflow["groups"]
                    if not isinstance(data__workflow__groups, (list, tuple)):
                        raise Refused
                    data__workflow__groups_is_list = isinstance(data__workflow__groups, (list, tuple))
                    if data__workflow__groups_is_list:
                        data__workflow__groups_len = len(data__workflow__groups)
                        for data__workflow__groups_x, data__workflow__groups_item in enumerate(data__workflow__groups):
                            validate___definitions_group(data__workflow__groups_item)
                if "resources" in data__workflow_keys:
                    data__workflow_keys.remove("resources")
                    data__workflow__resources = data__workflow["resources"]
                    if not isinstance(data__workflow__resources, (dict)):
                        raise Refused
                    data__workflow__resources_is_dict = isinstance(data__workflow__resources, dict)
                    if data__workflow__resources_is_dict:
                        data__workflow__resources_keys = set(data__workflow__resources.keys())
                        for data__workflow__resources_key in data__workflow__resources_keys:
                            if data__workflow__resources_key not in []:
                                data__workflow__resources_value = data__workflow__resources.get(data__workflow__resources_key)
                                validate___definitions_resource(data__workflow__resources_value)
                        data__workflow__resources_len = len(data__workflow__resources)
                        if data__workflow__resources_len != 0:
                            data__workflow__resources_property_names = True
                            for data__workflow__resources_key in data__workflow__resources:
                                try:
                                    if not isinstance(data__workflow__resources_key, (str)):
                                        raise Refused
                                except Refused:
                                    data__workflow__resources_property_names = False
                            if not data__workflow__resources_property_names:
                                raise Refused
                if "timeout" in data__workflow_keys:
                    data__workflow_keys.remove("timeout")
                    data__workflow__timeout = data__workflow["timeout"]
                    validate___definitions_timeout(data__workflow__timeout)
                if data__workflow_keys:
                    raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_timeout(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "exec_timeout" in data_keys:
            data_keys.remove("exec_timeout")
            data__exectimeout = data["exec_timeout"]
            validate___definitions_duration(data__exectimeout)
        if "queue_timeout" in data_keys:
            data_keys.remove("queue_timeout")
            data__queuetimeout = data["queue_timeout"]
            validate___definitions_duration(data__queuetimeout)
        if data_keys:
            raise Refused
    return data

def validate___definitions_duration(data: Any) -> Any:
    if not isinstance(data, (str, int, float, NoneType)) or isinstance(data, bool):
        raise Refused
    return data

def validate___definitions_resource(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "cpu" in data_keys:
            data_keys.remove("cpu")
            data__cpu = data["cpu"]
            validate___definitions_count(data__cpu)
        if "gpu" in data_keys:
            data_keys.remove("gpu")
            data__gpu = data["gpu"]
            validate___definitions_count(data__gpu)
        if "memory" in data_keys:
            data_keys.remove("memory")
            data__memory = data["memory"]
            validate___definitions_amount(data__memory)
        if "storage" in data_keys:
            data_keys.remove("storage")
            data__storage = data["storage"]
            validate___definitions_amount(data__storage)
        if "platform" in data_keys:
            data_keys.remove("platform")
            data__platform = data["platform"]
            if not isinstance(data__platform, (str, int, float, NoneType)) or isinstance(data__platform, bool):
                raise Refused
        if "nodesExcluded" in data_keys:
            data_keys.remove("nodesExcluded")
            data__nodesExcluded = data["nodesExcluded"]
            validate___definitions_texts(data__nodesExcluded)
        if "topology" in data_keys:
            data_keys.remove("topology")
            data__topology = data["topology"]
            if not isinstance(data__topology, (list, tuple)):
                raise Refused
            data__topology_is_list = isinstance(data__topology, (list, tuple))
            if data__topology_is_list:
                data__topology_len = len(data__topology)
                for data__topology_x, data__topology_item in enumerate(data__topology):
                    validate___definitions_requirement(data__topology_item)
        if data_keys:
            raise Refused
    return data

def validate___definitions_requirement(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['key']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "key" in data_keys:
            data_keys.remove("key")
            data__key = data["key"]
            if not isinstance(data__key, (str)):
                raise Refused
            if isinstance(data__key, str):
                data__key_len = len(data__key)
                if data__key_len < 1:
                    raise Refused
        if "group" in data_keys:
            data_keys.remove("group")
            data__group = data["group"]
            if not isinstance(data__group, (str)):
                raise Refused
        if "requirementType" in data_keys:
            data_keys.remove("requirementType")
            data__requirementType = data["requirementType"]
            if not (isinstance(data__requirementType, str) and data__requirementType == 'required' or isinstance(data__requirementType, str) and data__requirementType == 'preferred'):
                raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_texts(data: Any) -> Any:
    if not isinstance(data, (list, tuple)):
        raise Refused
    data_is_list = isinstance(data, (list, tuple))
    if data_is_list:
        data_len = len(data)
        for data_x, data_item in enumerate(data):
            validate___definitions_text(data_item)
    return data

def validate___definitions_text(data: Any) -> Any:
    if not isinstance(data, (str, int, float)) or isinstance(data, bool):
        raise Refused
    return data

def validate___definitions_amount(data: Any) -> Any:
    if not isinstance(data, (str, int, float, NoneType)) or isinstance(data, bool):
        raise Refused
    return data

def validate___definitions_count(data: Any) -> Any:
    if not isinstance(data, (int, str, NoneType)) and not (isinstance(data, float) and data.is_integer()) or isinstance(data, bool):
        raise Refused
    if isinstance(data, str):
        if not REGEX_PATTERNS['^ *[+]?[0-9]{1,7}([.]0+)? *$'].search(data):
            raise Refused
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        if data < 0:
            raise Refused
        if data > 1000000:
            raise Refused
    return data

def validate___definitions_group(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['name', 'tasks']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "name" in data_keys:
            data_keys.remove("name")
            data__name = data["name"]
            validate___definitions_name(data__name)
        if "barrier" in data_keys:
            data_keys.remove("barrier")
            data__barrier = data["barrier"]
            validate___definitions_flag(data__barrier)
        if "ignoreNonleadStatus" in data_keys:
            data_keys.remove("ignoreNonleadStatus")
            data__ignoreNonleadStatus = data["ignoreNonleadStatus"]
            validate___definitions_flag(data__ignoreNonleadStatus)
        if "tasks" in data_keys:
            data_keys.remove("tasks")
            data__tasks = data["tasks"]
            if not isinstance(data__tasks, (list, tuple)):
                raise Refused
            data__tasks_is_list = isinstance(data__tasks, (list, tuple))
            if data__tasks_is_list:
                data__tasks_len = len(data__tasks)
                if data__tasks_len < 1:
                    raise Refused
                for data__tasks_x, data__tasks_item in enumerate(data__tasks):
                    validate___definitions_task(data__tasks_item)
        if data_keys:
            raise Refused
    return data

def validate___definitions_flag(data: Any) -> Any:
    if not isinstance(data, (bool, str, int)) and not (isinstance(data, float) and data.is_integer()):
        raise Refused
    if isinstance(data, str):
        if not REGEX_PATTERNS['^([tT]([rR][uU][eE])?|[fF]([aA][lL][sS][eE])?|[yY]([eE][sS])?|[nN][oO]?|[oO]([nN]|[fF][fF])|[01])$'].search(data):
            raise Refused
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        if data < 0:
            raise Refused
        if data > 1:
            raise Refused
    return data

def validate___definitions_task(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['name', 'image', 'command']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "name" in data_keys:
            data_keys.remove("name")
            data__name = data["name"]
            validate___definitions_name(data__name)
        if "image" in data_keys:
            data_keys.remove("image")
            data__image = data["image"]
            validate___definitions_image(data__image)
        if "command" in data_keys:
            data_keys.remove("command")
            data__command = data["command"]
            if not isinstance(data__command, (list, tuple)):
                raise Refused
            data__command_is_list = isinstance(data__command, (list, tuple))
            if data__command_is_list:
                data__command_len = len(data__command)
                if data__command_len < 1:
                    raise Refused
                for data__command_x, data__command_item in enumerate(data__command):
                    validate___definitions_text(data__command_item)
        if "args" in data_keys:
            data_keys.remove("args")
            data__args = data["args"]
            validate___definitions_texts(data__args)
        if "lead" in data_keys:
            data_keys.remove("lead")
            data__lead = data["lead"]
            validate___definitions_flag(data__lead)
        if "environment" in data_keys:
            data_keys.remove("environment")
            data__environment = data["environment"]
            if not isinstance(data__environment, (dict)):
                raise Refused
            data__environment_is_dict = isinstance(data__environment, dict)
            if data__environment_is_dict:
                data__environment_keys = set(data__environment.keys())
                for data__environment_key in data__environment_keys:
                    if data__environment_key not in []:
                        data__environment_value = data__environment.get(data__environment_key)
                        if not isinstance(data__environment_value, (str, int, float, bool)):
                            raise Refused
                data__environment_len = len(data__environment)
                if data__environment_len != 0:
                    data__environment_property_names = True
                    for data__environment_key in data__environment:
                        try:
                            validate___definitions_envname(data__environment_key)
                        except Refused:
                            data__environment_property_names = False
                    if not data__environment_property_names:
                        raise Refused
        if "resource" in data_keys:
            data_keys.remove("resource")
            data__resource = data["resource"]
            validate___definitions_text(data__resource)
        if "inputs" in data_keys:
            data_keys.remove("inputs")
            data__inputs = data["inputs"]
            if not isinstance(data__inputs, (list, tuple)):
                raise Refused
            data__inputs_is_list = isinstance(data__inputs, (list, tuple))
            if data__inputs_is_list:
                data__inputs_len = len(data__inputs)
                for data__inputs_x, data__inputs_item in enumerate(data__inputs):
                    validate___definitions_input(data__inputs_item)
        if "outputs" in data_keys:
            data_keys.remove("outputs")
            data__outputs = data["outputs"]
            if not isinstance(data__outputs, (list, tuple)):
                raise Refused
            data__outputs_is_list = isinstance(data__outputs, (list, tuple))
            if data__outputs_is_list:
                data__outputs_len = len(data__outputs)
                for data__outputs_x, data__outputs_item in enumerate(data__outputs):
                    validate___definitions_output(data__outputs_item)
        if "files" in data_keys:
            data_keys.remove("files")
            data__files = data["files"]
            if not isinstance(data__files, (list, tuple)):
                raise Refused
            data__files_is_list = isinstance(data__files, (list, tuple))
            if data__files_is_list:
                data__files_len = len(data__files)
                for data__files_x, data__files_item in enumerate(data__files):
                    validate___definitions_file(data__files_item)
        if "credentials" in data_keys:
            data_keys.remove("credentials")
            data__credentials = data["credentials"]
            if not isinstance(data__credentials, (dict)):
                raise Refused
            data__credentials_is_dict = isinstance(data__credentials, dict)
            if data__credentials_is_dict:
                data__credentials_keys = set(data__credentials.keys())
                for data__credentials_key in data__credentials_keys:
                    if data__credentials_key not in []:
                        data__credentials_value = data__credentials.get(data__credentials_key)
                        if not isinstance(data__credentials_value, (str, int, float, bool, dict)):
                            raise Refused
                        if isinstance(data__credentials_value, str):
                            data__credentials_value_len = len(data__credentials_value)
                            if data__credentials_value_len < 1:
                                raise Refused
                        data__credentials_value_is_dict = isinstance(data__credentials_value, dict)
                        if data__credentials_value_is_dict:
                            data__credentials_value_keys = set(data__credentials_value.keys())
                            for data__credentials_value_key in data__credentials_value_keys:
                                if data__credentials_value_key not in []:
                                    data__credentials_value_value = data__credentials_value.get(data__credentials_value_key)
                                    if not isinstance(data__credentials_value_value, (str, int, float, bool)):
                                        raise Refused
                                    if isinstance(data__credentials_value_value, str):
                                        data__credentials_value_value_len = len(data__credentials_value_value)
                                        if data__credentials_value_value_len < 1:
                                            raise Refused
                            data__credentials_value_len = len(data__credentials_value)
                            if data__credentials_value_len != 0:
                                data__credentials_value_property_names = True
                                for data__credentials_value_key in data__credentials_value:
                                    try:
                                        validate___definitions_envname(data__credentials_value_key)
                                    except Refused:
                                        data__credentials_value_property_names = False
                                if not data__credentials_value_property_names:
                                    raise Refused
                data__credentials_len = len(data__credentials)
                if data__credentials_len != 0:
                    data__credentials_property_names = True
                    for data__credentials_key in data__credentials:
                        try:
                            validate___definitions_key(data__credentials_key)
                        except Refused:
                            data__credentials_property_names = False
                    if not data__credentials_property_names:
                        raise Refused
        if "volumeMounts" in data_keys:
            data_keys.remove("volumeMounts")
            data__volumeMounts = data["volumeMounts"]
            validate___definitions_texts(data__volumeMounts)
        if "privileged" in data_keys:
            data_keys.remove("privileged")
            data__privileged = data["privileged"]
            validate___definitions_flag(data__privileged)
        if "hostNetwork" in data_keys:
            data_keys.remove("hostNetwork")
            data__hostNetwork = data["hostNetwork"]
            validate___definitions_flag(data__hostNetwork)
        if "exitActions" in data_keys:
            data_keys.remove("exitActions")
            data__exitActions = data["exitActions"]
            if not isinstance(data__exitActions, (dict)):
                raise Refused
            data__exitActions_is_dict = isinstance(data__exitActions, dict)
            if data__exitActions_is_dict:
                data__exitActions_keys = set(data__exitActions.keys())
                for data__exitActions_key in data__exitActions_keys:
                    if data__exitActions_key not in []:
                        data__exitActions_value = data__exitActions.get(data__exitActions_key)
                        if not isinstance(data__exitActions_value, (str, int, float, bool)):
                            raise Refused
                data__exitActions_len = len(data__exitActions)
                if data__exitActions_len != 0:
                    data__exitActions_property_names = True
                    for data__exitActions_key in data__exitActions:
                        try:
                            validate___definitions_key(data__exitActions_key)
                        except Refused:
                            data__exitActions_property_names = False
                    if not data__exitActions_property_names:
                        raise Refused
        if "checkpoint" in data_keys:
            data_keys.remove("checkpoint")
            data__checkpoint = data["checkpoint"]
            if not isinstance(data__checkpoint, (list, tuple)):
                raise Refused
            data__checkpoint_is_list = isinstance(data__checkpoint, (list, tuple))
            if data__checkpoint_is_list:
                data__checkpoint_len = len(data__checkpoint)
                for data__checkpoint_x, data__checkpoint_item in enumerate(data__checkpoint):
                    validate___definitions_checkpoint(data__checkpoint_item)
        if "kpis" in data_keys:
            data_keys.remove("kpis")
            data__kpis = data["kpis"]
            if not isinstance(data__kpis, (list, tuple)):
                raise Refused
            data__kpis_is_list = isinstance(data__kpis, (list, tuple))
            if data__kpis_is_list:
                data__kpis_len = len(data__kpis)
                for data__kpis_x, data__kpis_item in enumerate(data__kpis):
                    validate___definitions_kpi(data__kpis_item)
        if "downloadType" in data_keys:
            data_keys.remove("downloadType")
            data__downloadType = data["downloadType"]
            if not (isinstance(data__downloadType, str) and data__downloadType == 'download' or data__downloadType is None):
                raise Refused
        if "cacheSize" in data_keys:
            data_keys.remove("cacheSize")
            data__cacheSize = data["cacheSize"]
            if not isinstance(data__cacheSize, (str, int, float, NoneType)) or isinstance(data__cacheSize, bool):
                raise Refused
        if "resources" in data_keys:
            data_keys.remove("resources")
            data__resources = data["resources"]
            validate___definitions_resource(data__resources)
        if "backend" in data_keys:
            data_keys.remove("backend")
            data__backend = data["backend"]
            if not isinstance(data__backend, (str)):
                raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_kpi(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['index', 'path']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "index" in data_keys:
            data_keys.remove("index")
            data__index = data["index"]
            validate___definitions_text(data__index)
        if "path" in data_keys:
            data_keys.remove("path")
            data__path = data["path"]
            validate___definitions_text(data__path)
        if data_keys:
            raise Refused
    return data

def validate___definitions_checkpoint(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['path', 'url', 'frequency']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "path" in data_keys:
            data_keys.remove("path")
            data__path = data["path"]
            if not isinstance(data__path, (str)):
                raise Refused
        if "url" in data_keys:
            data_keys.remove("url")
            data__url = data["url"]
            validate___definitions_url(data__url)
        if "frequency" in data_keys:
            data_keys.remove("frequency")
            data__frequency = data["frequency"]
            if not isinstance(data__frequency, (str, int, float)) or isinstance(data__frequency, bool):
                raise Refused
        if "regex" in data_keys:
            data_keys.remove("regex")
            data__regex = data["regex"]
            if not isinstance(data__regex, (str)):
                raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_url(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len > 4096:
            raise Refused
        if not REGEX_PATTERNS['^((s3|gs)://[^/,;*]+(/[^/,;*]+)*|(tos|azure)://[^/,;*]+(/[^/,;*]+)+|swift://[^/,;*]+/[^/,;*]+(/[^/,;*]+)+)/*$'].search(data):
            raise Refused
    return data

def validate___definitions_key(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
    return data

def validate___definitions_file(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['path', 'contents']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "path" in data_keys:
            data_keys.remove("path")
            data__path = data["path"]
            validate___definitions_text(data__path)
        if "contents" in data_keys:
            data_keys.remove("contents")
            data__contents = data["contents"]
            validate___definitions_text(data__contents)
        if "base64" in data_keys:
            data_keys.remove("base64")
            data__base64 = data["base64"]
            validate___definitions_flag(data__base64)
        if data_keys:
            raise Refused
    return data

def validate___definitions_output(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['url']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "url" in data_keys:
            data_keys.remove("url")
            data__url = data["url"]
            validate___definitions_url(data__url)
        if "regex" in data_keys:
            data_keys.remove("regex")
            data__regex = data["regex"]
            if not isinstance(data__regex, (str)):
                raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_input(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "task" in data_keys:
            data_keys.remove("task")
            data__task = data["task"]
            validate___definitions_taskreference(data__task)
        if "url" in data_keys:
            data_keys.remove("url")
            data__url = data["url"]
            validate___definitions_url(data__url)
        if "regex" in data_keys:
            data_keys.remove("regex")
            data__regex = data["regex"]
            if not isinstance(data__regex, (str)):
                raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_taskreference(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 200:
            raise Refused
        if not REGEX_PATTERNS['^[a-zA-Z]([a-zA-Z0-9_-]*[a-zA-Z0-9])?(:[a-zA-Z]([a-zA-Z0-9_-]*[a-zA-Z0-9])?)?$'].search(data):
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

def validate___definitions_image(data: Any) -> Any:
    if not isinstance(data, (str, int, float)) or isinstance(data, bool):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 1024:
            raise Refused
        if not REGEX_PATTERNS['^([A-Za-z0-9]|[{][{] *[a-z_]+(:[A-Za-z0-9_-]+)? *[}][}])([-A-Za-z0-9._/:@]|[{][{] *[a-z_]+(:[A-Za-z0-9_-]+)? *[}][}])*$'].search(data):
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
        if not REGEX_PATTERNS['^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*/)?[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$'].search(data):
            raise Refused
    return data

def validate___definitions_labelvalue(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 63:
            raise Refused
        if not REGEX_PATTERNS['^[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?$'].search(data):
            raise Refused
    return data

def validate___definitions_name(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    if isinstance(data, str):
        data_len = len(data)
        if data_len < 1:
            raise Refused
        if data_len > 64:
            raise Refused
        if not REGEX_PATTERNS['^[a-zA-Z]([a-zA-Z0-9_-]*[a-zA-Z0-9])?$'].search(data):
            raise Refused
    return data
