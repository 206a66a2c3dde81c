"""The only reader and writer of YAML and JSON: reading, positions on demand, emitting, patching."""
