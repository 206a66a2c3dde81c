"""Generated validators, one per format. See tests/tools/generate_validators.py."""
