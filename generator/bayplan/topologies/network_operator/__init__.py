"""NVIDIA's Network Operator, both ways: the networks, pools and policies behind a topology's fabrics."""
