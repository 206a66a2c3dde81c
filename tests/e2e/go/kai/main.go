// Groups runs KAI's podgrouper over pods and all that owns them: one JSON line in, one JSON line out.
//
// A line is {"objects": [...]}. The answer is {"objects": [...], "errors": {pod: text}}: the pods with the marks that they
// get and their PodGroups, which KAI's webhook has to accept, and what the podgrouper says of pods that it cannot group.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kai-scheduler/KAI-scheduler/pkg/apis/scheduling/v2alpha2"
	controllers "github.com/kai-scheduler/KAI-scheduler/pkg/podgrouper"
)

type request struct {
	Objects []map[string]any `json:"objects"`
}

type answer struct {
	Objects []any             `json:"objects"`
	Errors  map[string]string `json:"errors"`
	Error   string            `json:"error,omitempty"`
}

func main() {
	ctrl.SetLogger(logr.Discard())
	reader := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			found, failed := group(line)
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

func group(line []byte) (answer, error) {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{}, err
	}
	ctx := ctrl.LoggerInto(context.Background(), logr.Discard())
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v2alpha2.AddToScheme(scheme))
	webhook := &v2alpha2.PodGroup{}
	kept := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, inner client.WithWatch, given client.Object, options ...client.CreateOption) error {
			if created, ok := given.(*v2alpha2.PodGroup); ok {
				if _, err := webhook.ValidateCreate(ctx, created); err != nil {
					return err
				}
			}
			return inner.Create(ctx, given, options...)
		},
	}).Build()
	for _, each := range asked.Objects {
		if err := kept.Create(ctx, &unstructured.Unstructured{Object: each}); err != nil {
			return answer{}, fmt.Errorf("%v: %w", each["metadata"], err)
		}
	}
	found := answer{Objects: []any{}, Errors: map[string]string{}}
	grouper := controllers.Over(kept)
	var pods corev1.PodList
	if err := kept.List(ctx, &pods); err != nil {
		return answer{}, err
	}
	for _, each := range pods.Items {
		if _, err := grouper.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&each)}); err != nil {
			found.Errors[each.Name] = err.Error()
		}
	}
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("PodList"), v2alpha2.SchemeGroupVersion.WithKind("PodGroupList"),
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := kept.List(ctx, list); err != nil {
			return answer{}, err
		}
		for _, each := range list.Items {
			each.SetResourceVersion("")
			found.Objects = append(found.Objects, each.Object)
		}
	}
	return found, nil
}
