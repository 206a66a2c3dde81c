// What Grove's webhook says of PodCliqueSets. tests/test_grove.py runs it inside its package `validation`.

package validation

import (
	"fmt"
	"os"
	"testing"
	"time"

	groveconfigv1alpha1 "github.com/ai-dynamo/grove/operator/api/config/v1alpha1"
	grovecorev1alpha1 "github.com/ai-dynamo/grove/operator/api/core/v1alpha1"
	"github.com/ai-dynamo/grove/operator/internal/scheduler"
	"github.com/ai-dynamo/grove/operator/internal/scheduler/kai"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

type in struct {
	Sets   []grovecorev1alpha1.PodCliqueSet  `json:"sets"`
	Levels []grovecorev1alpha1.TopologyLevel `json:"levels"`
}

type only struct {
	scheduler.Registry
	b scheduler.Backend
}

func (o only) Get(name string) scheduler.Backend {
	if name == "kai-scheduler" {
		return o.b
	}
	return nil
}
func (o only) GetDefault() scheduler.Backend         { return o.b }
func (o only) GetOrDefault(string) scheduler.Backend { return o.b }

func TestBayplan(t *testing.T) {
	data, err := os.ReadFile(os.Getenv("BAYPLAN_IN"))
	if err != nil {
		t.Skip()
	}
	var given in
	if err := yaml.Unmarshal(data, &given); err != nil {
		t.Fatal(err)
	}
	domains := []string{}
	for _, l := range given.Levels {
		domains = append(domains, string(l.Domain))
	}
	b := kai.New(nil, nil, nil, groveconfigv1alpha1.SchedulerProfile{Name: "kai-scheduler"})
	for i := range given.Sets {
		pcs := &given.Sets[i]
		if pcs.Namespace == "" {
			pcs.Namespace = "default"
		}
		t4 := metav1.Duration{Duration: 4 * time.Hour}
		pcs.Spec.Template.TerminationDelay = &t4
		if pcs.Spec.Template.StartupType == nil {
			pcs.Spec.Template.StartupType = ptr.To(grovecorev1alpha1.CliqueStartupTypeAnyOrder)
		}
		v := newPCSValidator(pcs, admissionv1.Create, groveconfigv1alpha1.TopologyAwareSchedulingConfiguration{Enabled: true}, groveconfigv1alpha1.SchedulerConfiguration{}, nil, only{b: b})
		warnings, errs := v.validate()
		topo := newTopologyConstraintsValidator(pcs, true, domains)
		errs = append(errs, topo.validate()...)
		_, nameErrs := resolveEffectiveTopologyNameFieldErrors(pcs)
		errs = append(errs, nameErrs...)
		if err := b.ValidatePodCliqueSet(nil, pcs); err != nil {
			fmt.Println("REFUSED", pcs.Name, err)
		}
		for _, e := range errs {
			fmt.Println("REFUSED", pcs.Name, e)
		}
		for _, w := range append(warnings, topo.warnings()...) {
			fmt.Println("WARNING", pcs.Name, w)
		}
		fmt.Println("JUDGED", pcs.Name)
	}
}
