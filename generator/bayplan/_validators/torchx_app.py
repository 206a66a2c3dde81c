"""Made from schemas/torchx-app.json by tests/tools/generate_validators.py. Do not edit."""

# mypy: ignore-errors
from typing import Any

from bayplan._validators import Patterns, Refused, Word

REGEX_PATTERNS = Patterns(
    {
    '^[A-Za-z_.-][-A-Za-z0-9_.]*$': Word('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.-', '-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.', '-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.'),
    }
)

NoneType = type(None)

def validate(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['name', 'roles']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "name" in data_keys:
            data_keys.remove("name")
            data__name = data["name"]
            if not isinstance(data__name, (str)):
                raise Refused
            if isinstance(data__name, str):
                data__name_len = len(data__name)
                if data__name_len < 1:
                    raise Refused
                if data__name_len > 253:
                    raise Refused
        if "roles" in data_keys:
            data_keys.remove("roles")
            data__roles = data["roles"]
            if not isinstance(data__roles, (list, tuple)):
                raise Refused
            data__roles_is_list = isinstance(data__roles, (list, tuple))
            if data__roles_is_list:
                data__roles_len = len(data__roles)
                if data__roles_len < 1:
                    raise Refused
                for data__roles_x, data__roles_item in enumerate(data__roles):
                    validate___definitions_role(data__roles_item)
        if "metadata" in data_keys:
            data_keys.remove("metadata")
            data__metadata = data["metadata"]
            if not isinstance(data__metadata, (dict, NoneType)):
                raise Refused
        if "scheduler_args" in data_keys:
            data_keys.remove("scheduler_args")
            data__schedulerargs = data["scheduler_args"]
            if not isinstance(data__schedulerargs, (dict)):
                raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_role(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['name', 'image', 'entrypoint']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "name" in data_keys:
            data_keys.remove("name")
            data__name = data["name"]
            if not isinstance(data__name, (str)):
                raise Refused
            if isinstance(data__name, str):
                data__name_len = len(data__name)
                if data__name_len < 1:
                    raise Refused
                if data__name_len > 253:
                    raise Refused
        if "image" in data_keys:
            data_keys.remove("image")
            data__image = data["image"]
            if not isinstance(data__image, (str)):
                raise Refused
            if isinstance(data__image, str):
                data__image_len = len(data__image)
                if data__image_len < 1:
                    raise Refused
        if "min_replicas" in data_keys:
            data_keys.remove("min_replicas")
            data__minreplicas = data["min_replicas"]
            if not isinstance(data__minreplicas, (int, NoneType)) and not (isinstance(data__minreplicas, float) and data__minreplicas.is_integer()) or isinstance(data__minreplicas, bool):
                raise Refused
            if isinstance(data__minreplicas, (int, float)) and not isinstance(data__minreplicas, bool):
                if data__minreplicas < 1:
                    raise Refused
                if data__minreplicas > 1000000:
                    raise Refused
        if "base_image" in data_keys:
            data_keys.remove("base_image")
            data__baseimage = data["base_image"]
            if not isinstance(data__baseimage, (str, NoneType)):
                raise Refused
        if "entrypoint" in data_keys:
            data_keys.remove("entrypoint")
            data__entrypoint = data["entrypoint"]
            if not isinstance(data__entrypoint, (str)):
                raise Refused
            if isinstance(data__entrypoint, str):
                data__entrypoint_len = len(data__entrypoint)
                if data__entrypoint_len < 1:
                    raise Refused
        if "args" in data_keys:
            data_keys.remove("args")
            data__args = data["args"]
            if not isinstance(data__args, (list, tuple)):
                raise Refused
            data__args_is_list = isinstance(data__args, (list, tuple))
            if data__args_is_list:
                data__args_len = len(data__args)
                for data__args_x, data__args_item in enumerate(data__args):
                    validate___definitions_text(data__args_item)
        if "env" in data_keys:
            data_keys.remove("env")
            data__env = data["env"]
            if not isinstance(data__env, (dict)):
                raise Refused
            data__env_is_dict = isinstance(data__env, dict)
            if data__env_is_dict:
                data__env_keys = set(data__env.keys())
                for data__env_key in data__env_keys:
                    if data__env_key not in []:
                        data__env_value = data__env.get(data__env_key)
                        validate___definitions_text(data__env_value)
                data__env_len = len(data__env)
                if data__env_len != 0:
                    data__env_property_names = True
                    for data__env_key in data__env:
                        try:
                            validate___definitions_envname(data__env_key)
                        except Refused:
                            data__env_property_names = False
                    if not data__env_property_names:
                        raise Refused
        if "num_replicas" in data_keys:
            data_keys.remove("num_replicas")
            data__numreplicas = data["num_replicas"]
            validate___definitions_count(data__numreplicas)
        if "max_retries" in data_keys:
            data_keys.remove("max_retries")
            data__maxretries = data["max_retries"]
            if not isinstance(data__maxretries, (int)) and not (isinstance(data__maxretries, float) and data__maxretries.is_integer()) or isinstance(data__maxretries, bool):
                raise Refused
            if isinstance(data__maxretries, (int, float)) and not isinstance(data__maxretries, bool):
                if data__maxretries < 0:
                    raise Refused
                if data__maxretries > 1000000:
                    raise Refused
        if "retry_policy" in data_keys:
            data_keys.remove("retry_policy")
            data__retrypolicy = data["retry_policy"]
            if not (isinstance(data__retrypolicy, str) and data__retrypolicy == 'APPLICATION' or isinstance(data__retrypolicy, str) and data__retrypolicy == 'REPLICA' or isinstance(data__retrypolicy, str) and data__retrypolicy == 'ROLE'):
                raise Refused
        if "resource" in data_keys:
            data_keys.remove("resource")
            data__resource = data["resource"]
            validate___definitions_resource(data__resource)
        if "port_map" in data_keys:
            data_keys.remove("port_map")
            data__portmap = data["port_map"]
            if not isinstance(data__portmap, (dict)):
                raise Refused
            data__portmap_is_dict = isinstance(data__portmap, dict)
            if data__portmap_is_dict:
                data__portmap_keys = set(data__portmap.keys())
                for data__portmap_key in data__portmap_keys:
                    if data__portmap_key not in []:
                        data__portmap_value = data__portmap.get(data__portmap_key)
                        if not isinstance(data__portmap_value, (int)) and not (isinstance(data__portmap_value, float) and data__portmap_value.is_integer()) or isinstance(data__portmap_value, bool):
                            raise Refused
                        if isinstance(data__portmap_value, (int, float)) and not isinstance(data__portmap_value, bool):
                            if data__portmap_value < 1:
                                raise Refused
                            if data__portmap_value > 65535:
                                raise Refused
                data__portmap_len = len(data__portmap)
                if data__portmap_len != 0:
                    data__portmap_property_names = True
                    for data__portmap_key in data__portmap:
                        try:
                            if not isinstance(data__portmap_key, (str)):
                                raise Refused
                        except Refused:
                            data__portmap_property_names = False
                    if not data__portmap_property_names:
                        raise Refused
        if "metadata" in data_keys:
            data_keys.remove("metadata")
            data__metadata = data["metadata"]
            if not isinstance(data__metadata, (dict, NoneType)):
                raise Refused
        if "mounts" in data_keys:
            data_keys.remove("mounts")
            data__mounts = data["mounts"]
            if not isinstance(data__mounts, (list, tuple, NoneType)):
                raise Refused
            data__mounts_is_list = isinstance(data__mounts, (list, tuple))
            if data__mounts_is_list:
                data__mounts_len = len(data__mounts)
                for data__mounts_x, data__mounts_item in enumerate(data__mounts):
                    validate___definitions_mount(data__mounts_item)
        if "workspace" in data_keys:
            data_keys.remove("workspace")
            data__workspace = data["workspace"]
            if not isinstance(data__workspace, (dict, str, NoneType)):
                raise Refused
        if "overrides" in data_keys:
            data_keys.remove("overrides")
            data__overrides = data["overrides"]
            if not isinstance(data__overrides, (dict, NoneType)):
                raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_mount(data: Any) -> Any:
    if not isinstance(data, (dict)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data__missing_keys = set(['dst_path']) - data.keys()
        if data__missing_keys:
            raise Refused
        data_keys = set(data.keys())
        if "src" in data_keys:
            data_keys.remove("src")
            data__src = data["src"]
            if not isinstance(data__src, (str)):
                raise Refused
            if isinstance(data__src, str):
                data__src_len = len(data__src)
                if data__src_len < 1:
                    raise Refused
        if "src_path" in data_keys:
            data_keys.remove("src_path")
            data__srcpath = data["src_path"]
            if not isinstance(data__srcpath, (str)):
                raise Refused
            if isinstance(data__srcpath, str):
                data__srcpath_len = len(data__srcpath)
                if data__srcpath_len < 1:
                    raise Refused
        if "dst_path" in data_keys:
            data_keys.remove("dst_path")
            data__dstpath = data["dst_path"]
            if not isinstance(data__dstpath, (str)):
                raise Refused
            if isinstance(data__dstpath, str):
                data__dstpath_len = len(data__dstpath)
                if data__dstpath_len < 1:
                    raise Refused
        if "read_only" in data_keys:
            data_keys.remove("read_only")
            data__readonly = data["read_only"]
            if not isinstance(data__readonly, (bool)):
                raise Refused
        if "permissions" in data_keys:
            data_keys.remove("permissions")
            data__permissions = data["permissions"]
            if not isinstance(data__permissions, (str)):
                raise Refused
            if isinstance(data__permissions, str):
                data__permissions_len = len(data__permissions)
                if data__permissions_len > 3:
                    raise Refused
                if not REGEX_PATTERNS['^[rwm]*$'].search(data__permissions):
                    raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_resource(data: Any) -> Any:
    if not isinstance(data, (dict, NoneType)):
        raise Refused
    data_is_dict = isinstance(data, dict)
    if data_is_dict:
        data_keys = set(data.keys())
        if "cpu" in data_keys:
            data_keys.remove("cpu")
            data__cpu = data["cpu"]
            validate___definitions_amount(data__cpu)
        if "gpu" in data_keys:
            data_keys.remove("gpu")
            data__gpu = data["gpu"]
            validate___definitions_amount(data__gpu)
        if "memMB" in data_keys:
            data_keys.remove("memMB")
            data__memMB = data["memMB"]
            validate___definitions_amount(data__memMB)
        if "capabilities" in data_keys:
            data_keys.remove("capabilities")
            data__capabilities = data["capabilities"]
            if not isinstance(data__capabilities, (dict, NoneType)):
                raise Refused
        if "devices" in data_keys:
            data_keys.remove("devices")
            data__devices = data["devices"]
            if not isinstance(data__devices, (dict, NoneType)):
                raise Refused
            data__devices_is_dict = isinstance(data__devices, dict)
            if data__devices_is_dict:
                data__devices_keys = set(data__devices.keys())
                for data__devices_key in data__devices_keys:
                    if data__devices_key not in []:
                        data__devices_value = data__devices.get(data__devices_key)
                        if not isinstance(data__devices_value, (int)) and not (isinstance(data__devices_value, float) and data__devices_value.is_integer()) or isinstance(data__devices_value, bool):
                            raise Refused
                        if isinstance(data__devices_value, (int, float)) and not isinstance(data__devices_value, bool):
                            if data__devices_value < 0:
                                raise Refused
                            if data__devices_value > 1000000:
                                raise Refused
                data__devices_len = len(data__devices)
                if data__devices_len != 0:
                    data__devices_property_names = True
                    for data__devices_key in data__devices:
                        try:
                            if not isinstance(data__devices_key, (str)):
                                raise Refused
                        except Refused:
                            data__devices_property_names = False
                    if not data__devices_property_names:
                        raise Refused
        if "tags" in data_keys:
            data_keys.remove("tags")
            data__tags = data["tags"]
            if not isinstance(data__tags, (dict, NoneType)):
                raise Refused
        if data_keys:
            raise Refused
    return data

def validate___definitions_amount(data: Any) -> Any:
    if not isinstance(data, (int, float)) or isinstance(data, bool):
        raise Refused
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        if data < -1:
            raise Refused
        if data > 1000000000:
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

def validate___definitions_text(data: Any) -> Any:
    if not isinstance(data, (str)):
        raise Refused
    return data
