"""OSMO pool configurations (6.4): topology keys, platforms, pod templates, resource validations, group templates.

    shapes.py      the forms a file has: one pool, many, Helm values, the service's configuration -> sections
    built_in.py    what OSMO's chart brings itself
    merging.py     how OSMO lays templates over each other
    reading.py     sections -> `PoolConfig`; keys.py, platforms.py, rules.py, groups.py read its parts
    levels.py      topology keys -> levels of the cluster topology
    variables.py   what templates may name, and their values for one task
    rendering.py   texts with variables -> texts
    asking.py      what a platform refuses
    share.py       a platform and a task -> resources, GPUs and a pod template
"""
