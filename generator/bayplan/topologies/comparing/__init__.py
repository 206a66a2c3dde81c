"""What differs between two topologies."""
