// The PodGangs that Grove makes of PodCliqueSets. tests/test_grove.py runs it inside Grove's package `podgang`.

package podgang

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	grovecorev1alpha1 "github.com/ai-dynamo/grove/operator/api/core/v1alpha1"
	"github.com/go-logr/logr"
	"sigs.k8s.io/yaml"
)

type in struct {
	Sets   []grovecorev1alpha1.PodCliqueSet  `json:"sets"`
	Levels []grovecorev1alpha1.TopologyLevel `json:"levels"`
}

func TestBayplan(t *testing.T) {
	data, err := os.ReadFile(os.Getenv("BAYPLAN_IN"))
	if err != nil {
		t.Skip()
	}
	var given in
	if err := yaml.Unmarshal(data, &given); err != nil {
		t.Fatal(err)
	}
	for i := range given.Sets {
		sc := &syncContext{pcs: &given.Sets[i], tasEnabled: true, topologyLevels: given.Levels, logger: logr.Discard()}
		if err := (_resource{}).computeExpectedPodGangs(sc); err != nil {
			t.Fatal(err)
		}
		for _, pg := range sc.expectedPodGangs {
			cliques := []map[string]any{}
			for _, c := range pg.pclqs {
				cliques = append(cliques, map[string]any{"name": c.fqn, "replicas": c.replicas, "minAvailable": c.minAvailable, "constraint": c.topologyConstraint})
			}
			out, _ := json.Marshal(map[string]any{"set": sc.pcs.Name, "gang": pg.fqn, "constraint": pg.topologyConstraint, "groups": pg.pcsgTopologyConstraints, "cliques": cliques})
			fmt.Println("GANG", string(out))
		}
	}
}
