"""Wire protocols of tools that call bayplan, such as kustomize and Helm. They know no scheduler."""
