// The pods that controllers make of manifests: one JSON line in, one JSON line out.
//
// A line is {"objects": [...], "gang": "volcano"}: the manifests with the defaults of their CRDs, and for which gang
// scheduler the controllers were told to make PodGroups, if any. The answer is {"objects": [...], "refused": [...]}: all
// objects as they are once the controllers' own reconcilers change nothing any more, and what their webhooks say of the
// manifests that they refuse. Each file beside this one adds a controller.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

const rounds = 200

// What is of no use outside.
var internal = []string{"ControllerRevision", "Event"}

type request struct {
	Objects []json.RawMessage `json:"objects"`
	Gang    string            `json:"gang"`
}

type refusal struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Message string `json:"message"`
}

type answer struct {
	Objects []any     `json:"objects"`
	Refused []refusal `json:"refused"`
	Error   string    `json:"error,omitempty"`
}

// addition is a controller: its types, those with a status, and what it does with a store.
type addition struct {
	types  func(scheme *runtime.Scheme) error
	status []client.Object
	begin  func(ctx context.Context, objects *store, gang string) (made, error)
}

var additions []addition

// indexes are what controllers look up by other fields than the name.
var indexes []func(*fake.ClientBuilder) error

// made is a controller over a store.
type made struct {
	admit func(ctx context.Context, given client.Object) error // defaults an object, or says why it is refused
	step  func(ctx context.Context) error                      // reconciles everything once
}

// store is an API server in memory. `writes` counts what changed it.
type store struct {
	client.WithWatch
	writes int
}

func main() {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	reader := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			found, failed := replay(line)
			if failed != nil {
				found = answer{Error: failed.Error()}
			}
			text, _ := json.Marshal(found)
			fmt.Println(string(text))
		}
		if errors.Is(err, io.EOF) {
			return
		}
	}
}

func replay(line []byte) (answer, error) {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{}, err
	}
	ctx := ctrl.LoggerInto(context.Background(), logr.Discard())
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	var status []client.Object
	for _, each := range additions {
		utilruntime.Must(each.types(scheme))
		status = append(status, each.status...)
	}
	objects := newStore(scheme, append(status, &appsv1.StatefulSet{}, &corev1.Pod{}))
	var controllers []made
	for _, each := range additions {
		one, err := each.begin(ctx, objects, asked.Gang)
		if err != nil {
			return answer{}, err
		}
		controllers = append(controllers, one)
	}
	found := answer{Objects: []any{}, Refused: []refusal{}}
	for _, raw := range asked.Objects {
		given, err := decode(scheme, raw)
		if err != nil {
			return answer{}, err
		}
		for _, each := range controllers {
			if err = each.admit(ctx, given); err != nil {
				break
			}
		}
		if err != nil {
			kind := given.GetObjectKind().GroupVersionKind().Kind
			found.Refused = append(found.Refused, refusal{kind, given.GetName(), err.Error()})
			continue
		}
		if err := objects.Create(ctx, given); err != nil {
			return answer{}, err
		}
	}
	for round := 0; ; round++ {
		before := objects.writes
		for _, each := range controllers {
			if err := each.step(ctx); err != nil {
				return answer{}, err
			}
		}
		if objects.writes == before {
			break
		}
		if round == rounds {
			return answer{}, errors.New("the controller does not come to rest")
		}
	}
	var err error
	found.Objects, err = objects.all(ctx, scheme)
	return found, err
}

func decode(scheme *runtime.Scheme, raw []byte) (client.Object, error) {
	var kind metav1.TypeMeta
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, err
	}
	typed, err := scheme.New(kind.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	given, ok := typed.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%s is no object", kind.Kind)
	}
	return given, json.Unmarshal(raw, given)
}

// newStore gives each object a uid, counts writes, and takes an apply as a creation or a merge.
func newStore(scheme *runtime.Scheme, status []client.Object) *store {
	kept := &store{}
	funcs := interceptor.Funcs{
		Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, found client.Object, options ...client.GetOption) error {
			err := inner.Get(ctx, key, found, options...)
			if kind, unknown := inner.GroupVersionKindFor(found); err == nil && unknown == nil {
				found.GetObjectKind().SetGroupVersionKind(kind) // as in a cache, which controllers read
			}
			return err
		},
		Create: func(ctx context.Context, inner client.WithWatch, given client.Object, options ...client.CreateOption) error {
			kept.writes++
			kept.name(scheme, given)
			return inner.Create(ctx, given, options...)
		},
		Update: func(ctx context.Context, inner client.WithWatch, given client.Object, options ...client.UpdateOption) error {
			return kept.tally(ctx, inner, given, func() error { return inner.Update(ctx, given, options...) })
		},
		Patch: func(ctx context.Context, inner client.WithWatch, given client.Object, patch client.Patch, options ...client.PatchOption) error {
			if patch.Type() != types.ApplyPatchType {
				return kept.tally(ctx, inner, given, func() error { return inner.Patch(ctx, given, patch, options...) })
			}
			return kept.apply(ctx, inner, scheme, given)
		},
		Delete: func(ctx context.Context, inner client.WithWatch, given client.Object, options ...client.DeleteOption) error {
			kept.writes++
			return inner.Delete(ctx, given, options...)
		},
	}
	applied(&funcs, kept, scheme)
	builder := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(status...)
	for _, each := range indexes {
		utilruntime.Must(each(builder))
	}
	kept.WithWatch = builder.WithInterceptorFuncs(funcs).Build()
	return kept
}

// apply creates the object, or merges it into the one that there is.
func (kept *store) apply(ctx context.Context, inner client.WithWatch, scheme *runtime.Scheme, given client.Object) error {
	held := &unstructured.Unstructured{}
	held.SetGroupVersionKind(given.GetObjectKind().GroupVersionKind())
	if err := inner.Get(ctx, client.ObjectKeyFromObject(given), held); apierrors.IsNotFound(err) {
		kept.writes++
		kept.name(scheme, given)
		return inner.Create(ctx, given)
	} else if err != nil {
		return err
	}
	text, err := json.Marshal(given)
	if err != nil {
		return err
	}
	return kept.tally(ctx, inner, given, func() error {
		return inner.Patch(ctx, given, client.RawPatch(types.MergePatchType, text))
	})
}

func (kept *store) name(scheme *runtime.Scheme, given client.Object) {
	if given.GetUID() == "" {
		kinds, _, _ := scheme.ObjectKinds(given)
		kind := given.GetObjectKind().GroupVersionKind().Kind
		if len(kinds) > 0 {
			kind = kinds[0].Kind
		}
		given.SetUID(types.UID(kind + "-" + given.GetNamespace() + "-" + given.GetName()))
	}
	given.SetCreationTimestamp(metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
}

// tally does what `write` does, and counts it if that changed the object beyond its version.
func (kept *store) tally(ctx context.Context, inner client.WithWatch, given client.Object, write func() error) error {
	read := func() (string, error) {
		held := &unstructured.Unstructured{}
		kind, err := inner.GroupVersionKindFor(given)
		if err != nil {
			return "", err
		}
		held.SetGroupVersionKind(kind)
		if err := inner.Get(ctx, client.ObjectKeyFromObject(given), held); err != nil {
			return "", err
		}
		held.SetResourceVersion("")
		text, err := json.Marshal(held)
		return string(text), err
	}
	before, err := read()
	if err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	after, err := read()
	if after != before {
		kept.writes++
	}
	return err
}

// all returns every object of the kinds in the scheme that the store holds, by kind and name.
func (kept *store) all(ctx context.Context, scheme *runtime.Scheme) ([]any, error) {
	found := []any{}
	var kinds []schema.GroupVersionKind
	for kind := range scheme.AllKnownTypes() {
		if typed, err := scheme.New(kind); err != nil {
			return nil, err
		} else if _, ok := typed.(client.Object); !ok || slices.Contains(internal, kind.Kind) {
			continue
		}
		if listed := kind.GroupVersion().WithKind(kind.Kind + "List"); scheme.Recognizes(listed) {
			kinds = append(kinds, listed)
		}
	}
	slices.SortFunc(kinds, func(one, other schema.GroupVersionKind) int {
		return slices.Compare([]string{one.Kind, one.Group, one.Version}, []string{other.Kind, other.Group, other.Version})
	})
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := kept.List(ctx, list); meta.IsNoMatchError(err) {
			continue
		} else if err != nil {
			return nil, err
		}
		for _, each := range list.Items {
			each.SetResourceVersion("")
			found = append(found, each.Object)
		}
	}
	return found, nil
}

// statefulPods makes the pods of a StatefulSet, as newVersionedStatefulSetPod in Kubernetes'
// pkg/controller/statefulset/stateful_set_utils.go does. `admit` is what webhooks make of a new pod.
func (kept *store) statefulPods(ctx context.Context, set *appsv1.StatefulSet, admit func(*corev1.Pod) error) error {
	first, count := 0, counted(set.Spec.Replicas)
	if set.Spec.Ordinals != nil {
		first = int(set.Spec.Ordinals.Start)
	}
	for ordinal := first; ordinal < first+count; ordinal++ {
		name := fmt.Sprintf("%s-%d", set.Name, ordinal)
		err := kept.Get(ctx, types.NamespacedName{Namespace: set.Namespace, Name: name}, &corev1.Pod{})
		if err == nil {
			continue
		} else if !apierrors.IsNotFound(err) {
			return err
		}
		pod := templated(set.Spec.Template, set, "StatefulSet", "apps/v1")
		pod.Name = name
		pod.Labels = labeled(pod.Labels, appsv1.StatefulSetPodNameLabel, name)
		pod.Labels[appsv1.PodIndexLabel] = fmt.Sprint(ordinal)
		pod.Labels[appsv1.ControllerRevisionHashLabelKey] = set.Name + "-" + hash
		pod.Spec.Hostname, pod.Spec.Subdomain = name, set.Spec.ServiceName
		for _, claim := range set.Spec.VolumeClaimTemplates {
			pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(each corev1.Volume) bool { return each.Name == claim.Name })
			source := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name + "-" + name}
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: source}})
		}
		if err := admit(pod); err != nil {
			return err
		}
		if err := kept.Create(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}
