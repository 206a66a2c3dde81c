"""A control plane with simulated nodes, and scenes in which real controllers run what bayplan renders."""
