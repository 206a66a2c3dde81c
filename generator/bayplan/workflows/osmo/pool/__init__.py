"""OSMO pool configurations (6.4): topology keys, platforms, pod templates, resource validations, group templates.

shapes.py      the forms a file has: one pool, many, Helm values, the service's configuration -> sections
built_in.py    what OSMO's chart brings itself
merging.py     how OSMO lays templates over each other
reading.py     sections -> `PoolConfig`; keys.py, platforms.py, rules.py, groups.py read its parts
fields.py      timeouts, exit actions and other fields of a pool itself
levels.py      topology keys -> levels of the cluster topology
variables.py   what templates may name, and their values for one task
rendering.py   texts with variables -> texts
asking.py      what a platform refuses
quota.py       what a pool guarantees
share.py       a platform and a task -> resources, GPUs and a pod template
parts.py       a filled in pod template, cut into these; renaming.py: its names that are ours; origins.py: its places
"""

from bayplan.workflows.osmo.pool.levels import levels, near, timeouts
from bayplan.workflows.osmo.pool.library import unneeded as group_templates
from bayplan.workflows.osmo.pool.reading import platform, quota, read
from bayplan.workflows.osmo.pool.sharing import selector, share, shares
from bayplan.workflows.osmo.pool.values import choose, sniff

__all__ = [
    "choose",
    "group_templates",
    "levels",
    "near",
    "platform",
    "quota",
    "read",
    "selector",
    "share",
    "shares",
    "sniff",
    "timeouts",
]
