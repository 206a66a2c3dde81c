// The command `kubectl kustomize` of a release of kubectl, and none of its others: they would take minutes to build.
package main

import (
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd/kustomize"
)

func main() {
	root := &cobra.Command{Use: "kubectl"}
	root.AddCommand(kustomize.NewCmdKustomize(genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
	if root.Execute() != nil {
		os.Exit(1)
	}
}
