package main

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var silent = &record.FakeRecorder{}

// applied makes the client's apply the same as a patch of that type.
func applied(funcs *interceptor.Funcs, kept *store, scheme *runtime.Scheme) {
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
}
