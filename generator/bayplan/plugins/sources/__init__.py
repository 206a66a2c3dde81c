"""Sources of topologies: fabric managers, Topograph, clouds, operators, kits."""
