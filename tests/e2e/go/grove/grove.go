package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	apicommon "github.com/ai-dynamo/grove/operator/api/common"
	config "github.com/ai-dynamo/grove/operator/api/config/v1alpha1"
	grove "github.com/ai-dynamo/grove/operator/api/core/v1alpha1"
	"github.com/ai-dynamo/grove/operator/internal/controller/podclique"
	"github.com/ai-dynamo/grove/operator/internal/controller/podcliquescalinggroup"
	"github.com/ai-dynamo/grove/operator/internal/controller/podcliqueset"
	"github.com/ai-dynamo/grove/operator/internal/controller/podgang"
	"github.com/ai-dynamo/grove/operator/internal/scheduler/kai"
	"github.com/ai-dynamo/grove/operator/internal/scheduler/registry"
	bindings "github.com/ai-dynamo/grove/operator/internal/webhook/admission/clustertopology/validation"
	"github.com/ai-dynamo/grove/operator/internal/webhook/admission/pcs/defaulting"
	sets "github.com/ai-dynamo/grove/operator/internal/webhook/admission/pcs/validation"
	gangs "github.com/ai-dynamo/grove/scheduler/api/core/v1alpha1"
)

const (
	sweeps = 50
	// What Grove's cache knows pods by (internal/controller/common/component/utils/pod.go).
	ofController = ".metadata.controller.uid"
)

var operator = &config.OperatorConfiguration{
	TopologyAwareScheduling: config.TopologyAwareSchedulingConfiguration{Enabled: true},
	Network:                 config.NetworkAcceleration{AutoMNNVLEnabled: true},
	Scheduler: config.SchedulerConfiguration{
		Profiles:           []config.SchedulerProfile{{Name: config.SchedulerNameKai}},
		DefaultProfileName: string(config.SchedulerNameKai),
	},
}

func init() {
	_ = os.Setenv("GROVE_INIT_CONTAINER_IMAGE", "grove-initc")
	status := []client.Object{
		&grove.PodCliqueSet{}, &grove.PodClique{}, &grove.PodCliqueScalingGroup{}, &grove.ClusterTopologyBinding{}, &gangs.PodGang{},
	}
	additions = append(additions, addition{groveTypes, status, newGrove})
}

func groveTypes(scheme *runtime.Scheme) error {
	domain := schema.GroupVersion{Group: "resource.nvidia.com", Version: "v1beta1"}
	scheme.AddKnownTypeWithName(domain.WithKind("ComputeDomain"), &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(domain.WithKind("ComputeDomainList"), &unstructured.UnstructuredList{})
	return errors.Join(
		grove.AddToScheme(scheme), gangs.AddToScheme(scheme), kai.New(nil, scheme, nil, config.SchedulerProfile{}).Init(nil),
	)
}

// manager is as much of controller-runtime's as Grove's constructors ask for.
type manager struct {
	ctrl.Manager
	objects *store
}

func (m manager) GetClient() client.Client                        { return m.objects }
func (m manager) GetScheme() *runtime.Scheme                      { return m.objects.Scheme() }
func (m manager) GetLogger() logr.Logger                          { return logr.Discard() }
func (m manager) GetEventRecorderFor(string) record.EventRecorder { return &record.FakeRecorder{} }

// newGrove is Grove: its reconcilers of PodCliqueSets, scaling groups, PodCliques and PodGangs, and its webhooks.
func newGrove(ctx context.Context, objects *store, _ string) (made, error) {
	over := manager{objects: objects}
	known, err := registry.New(objects, objects, objects.Scheme(), &record.FakeRecorder{}, operator.Scheduler)
	if err != nil {
		return made{}, err
	}
	reconcilers := []struct {
		list client.ObjectList
		of   reconcile.Reconciler
	}{
		{&grove.PodCliqueSetList{}, podcliqueset.NewReconciler(
			over, operator.Controllers.PodCliqueSet, operator.TopologyAwareScheduling, operator.Network, known)},
		{&grove.PodCliqueScalingGroupList{}, podcliquescalinggroup.NewReconciler(over, operator.Controllers.PodCliqueScalingGroup)},
		{&grove.PodCliqueList{}, podclique.NewReconciler(over, operator.Controllers.PodClique, known)},
		{&gangs.PodGangList{}, podgang.NewReconciler(over, operator.Controllers.PodGang, known)},
	}
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create}}
	asked := admission.NewContextWithRequest(ctx, request)
	admit := func(_ context.Context, given client.Object) error {
		switch given.(type) {
		case *grove.ClusterTopologyBinding:
			_, err := bindings.NewHandler(over, known).ValidateCreate(asked, given)
			return err
		case *grove.PodCliqueSet:
			if err := defaulting.NewHandler(over).Default(asked, given); err != nil {
				return err
			}
			_, err := sets.NewHandler(over, operator, known).ValidateCreate(asked, given)
			return err
		}
		return nil
	}
	step := func(ctx context.Context) error { // Grove tries again what failed, and writes errors into a status
		var failed error
		for range sweeps {
			before := objects.writes
			failed = nil
			for _, each := range reconcilers {
				if err := objects.List(ctx, each.list); err != nil {
					return err
				}
				err := meta.EachListItem(each.list, func(one runtime.Object) error {
					_, err := each.of.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(one.(client.Object))})
					return err
				})
				failed = errors.Join(failed, err)
			}
			if failed == nil && objects.writes == before {
				return nil
			}
		}
		return errors.Join(failed, errors.New("Grove does not come to rest"))
	}
	return made{admit: admit, step: step}, nil
}

// applied makes the store do what Grove expects of an API server, of its cache and of the controller that fills Secrets:
// an apply is a patch of that type, pods are found by their controller, and a write of a status is a write. A pod is
// called by its number.
func applied(funcs *interceptor.Funcs, kept *store, scheme *runtime.Scheme) {
	create := funcs.Create
	funcs.Create = func(ctx context.Context, inner client.WithWatch, given client.Object, options ...client.CreateOption) error {
		if given.GetName() == "" {
			given.SetName(given.GetGenerateName() + given.GetLabels()[apicommon.LabelPodCliquePodIndex])
		}
		if secret, ok := given.(*corev1.Secret); ok && secret.Type == corev1.SecretTypeServiceAccountToken {
			secret.Data = map[string][]byte{corev1.ServiceAccountTokenKey: []byte("token")}
		}
		return create(ctx, inner, given, options...)
	}
	funcs.Apply = func(ctx context.Context, inner client.WithWatch, given runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
		text, err := json.Marshal(given)
		if err != nil {
			return err
		}
		held := &unstructured.Unstructured{}
		if err := json.Unmarshal(text, held); err != nil {
			return err
		}
		return kept.apply(ctx, inner, scheme, held)
	}
	funcs.List = func(ctx context.Context, inner client.WithWatch, found client.ObjectList, options ...client.ListOption) error {
		asked := (&client.ListOptions{}).ApplyOptions(options)
		pods, ok := found.(*corev1.PodList)
		if !ok || asked.FieldSelector == nil {
			return inner.List(ctx, found, options...)
		}
		owner, _ := asked.FieldSelector.RequiresExactMatch(ofController)
		asked.FieldSelector = nil
		err := inner.List(ctx, pods, asked)
		pods.Items = slices.DeleteFunc(pods.Items, func(each corev1.Pod) bool {
			controller := metav1.GetControllerOfNoCopy(&each)
			return controller == nil || string(controller.UID) != owner
		})
		return err
	}
	funcs.SubResourceUpdate = func(ctx context.Context, inner client.Client, part string, given client.Object, options ...client.SubResourceUpdateOption) error {
		return kept.tally(ctx, kept, given, func() error { return inner.SubResource(part).Update(ctx, given, options...) })
	}
	funcs.SubResourcePatch = func(ctx context.Context, inner client.Client, part string, given client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
		return kept.tally(ctx, kept, given, func() error { return inner.SubResource(part).Patch(ctx, given, patch, options...) })
	}
}
