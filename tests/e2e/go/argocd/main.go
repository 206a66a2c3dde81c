// Replay makes manifests as argocd-repo-server does: one JSON line in, one JSON line out. Under the name
// argocd-cmp-server it is that program.
//
// A request is {"root": folder of the repository, "request": ManifestRequest}, with Argo CD's own names. The answer is
// {"type": kind of the application's source, "manifests": [...]} or {"error": what Argo CD shows}.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	log "github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/api/resource"

	cmpserver "github.com/argoproj/argo-cd/v3/cmd/argocd-cmp-server/commands"
	"github.com/argoproj/argo-cd/v3/reposerver/apiclient"
	"github.com/argoproj/argo-cd/v3/reposerver/repository"
	"github.com/argoproj/argo-cd/v3/util/git"
	utilio "github.com/argoproj/argo-cd/v3/util/io"
)

type question struct {
	Root    string                    `json:"root"`
	Request apiclient.ManifestRequest `json:"request"`
}

type answer struct {
	Type      string            `json:"type,omitempty"`
	Manifests []json.RawMessage `json:"manifests,omitempty"`
	Error     string            `json:"error,omitempty"`
}

func main() {
	if filepath.Base(os.Args[0]) == "argocd-cmp-server" {
		if err := cmpserver.NewCommand().Execute(); err != nil {
			os.Exit(1)
		}
		return
	}
	log.SetLevel(log.FatalLevel)
	reader := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			text, _ := json.Marshal(manifests(line))
			fmt.Println(string(text))
		}
		if err != nil {
			return
		}
	}
}

func manifests(line []byte) answer {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{Error: err.Error()}
	}
	// argocd-repo-server answers within this time, or not at all.
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	path := filepath.Join(asked.Root, asked.Request.ApplicationSource.Path)
	made, err := repository.GenerateManifests(ctx, path, asked.Root, "0123456789abcdef0123456789abcdef01234567", &asked.Request,
		false, git.NoopCredsStore{}, resource.MustParse("10M"), utilio.NewRandomizedTempPaths(os.TempDir()))
	if err != nil {
		return answer{Error: err.Error()}
	}
	given := answer{Type: made.SourceType}
	for _, each := range made.Manifests {
		given.Manifests = append(given.Manifests, json.RawMessage(each))
	}
	return given
}
