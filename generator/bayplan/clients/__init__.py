"""Wire protocols of tools that call bayplan, such as kustomize and Helm. They know no scheduler."""

MARK = b"bayplan.dev"
"""What annotations, labels and files of bayplan have in them."""
