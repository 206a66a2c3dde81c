"""bayplan: prove that the gangs of a GPU job fit a cluster, and write the manifests that place them."""

__version__ = "0.1.0"
