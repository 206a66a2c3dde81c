"""OSMO pool configurations (6.4): topology keys, platforms, pod templates, resource validations, group templates."""
