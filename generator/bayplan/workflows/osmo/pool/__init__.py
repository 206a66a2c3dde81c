"""OSMO pool configurations (6.4): topology keys, platforms, pod templates, resource validations, group templates.

    shapes.py      the forms a file has: one pool, many, Helm values, the service's configuration -> one kind of data
    merging.py     how OSMO lays templates over each other
    reading.py     data -> `PoolConfig`, with what is wrong in it
    variables.py   what templates may name, and their values for one task
    share.py       a platform and a task -> resources, GPUs and a pod template
    levels.py      topology keys -> levels of the cluster topology
"""
