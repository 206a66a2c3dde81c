"""Input and output formats of the tools that call bayplan: kustomize and Helm. No module here names a scheduler."""

MARK = b"bayplan.dev"
"""A string that annotations, labels and files of bayplan contain."""
