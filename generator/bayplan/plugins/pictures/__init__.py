"""Pictures of a cluster and of what runs in it: SVG, one HTML page, and blocks for a terminal."""
