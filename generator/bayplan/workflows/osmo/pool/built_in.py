"""What the Helm chart of OSMO 6.4 brings itself (deployments/charts/service/values.yaml); files only name it.

The service puts the same templates and rules into an empty database (src/service/core/config/objects.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_AMOUNTS = {
    "cpu": "{{USER_CPU}}",
    "memory": "{{USER_MEMORY}}",
    "ephemeral-storage": "{{USER_STORAGE}}",
}
_ALL = {**_AMOUNTS, "nvidia.com/gpu": "{{USER_GPU}}"}


def _rule(operator: str, name: str, right: str, message: str) -> dict[str, str]:
    variable = f"{{{{USER_{name}}}}}"
    message = message.replace("{}", variable)
    return {"operator": operator, "left_operand": variable, "right_operand": right, "assert_message": message}


def _rules(name: str, most: str, least: str) -> list[dict[str, str]]:
    """A user's amount against a node's, and against nothing."""
    word = "negative" if least == "GE" else "zero"
    return [
        _rule(most, name, f"{{{{K8_{name}}}}}", f"no node has {{}} of {name.lower()}"),
        _rule(least, name, "0", f"{name.lower()} may not be {word}"),
    ]


BUILT_IN: Mapping[str, Mapping[str, Any]] = {
    "pod_templates": {
        "default_ctrl": {
            "spec": {
                "containers": [
                    {
                        "name": "osmo-ctrl",
                        "resources": {
                            "limits": _AMOUNTS,
                            "requests": {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"},
                        },
                    }
                ]
            }
        },
        "default_user": {
            "spec": {
                "containers": [{"name": "{{USER_CONTAINER_NAME}}", "resources": {"limits": _ALL, "requests": _ALL}}]
            }
        },
    },
    "resource_validations": {
        "default_cpu": _rules("CPU", "LE", "GT"),
        "default_memory": _rules("MEMORY", "LE", "GT"),
        "default_gpu": _rules("GPU", "LE", "GE"),
        "default_storage": _rules("STORAGE", "LT", "GT"),
    },
    "pools": {
        "default": {
            "default_platform": "default",
            "common_pod_template": ["default_ctrl", "default_user"],
            "common_resource_validations": ["default_cpu", "default_memory", "default_storage", "default_gpu"],
            "common_default_variables": {"USER_CPU": 1, "USER_GPU": 0, "USER_MEMORY": "1Gi", "USER_STORAGE": "1Gi"},
            "platforms": {"default": {}},
        }
    },
    "workflow": {"default_exec_timeout": "7d", "max_exec_timeout": "30d"},
}
"""Section -> entries by name."""
