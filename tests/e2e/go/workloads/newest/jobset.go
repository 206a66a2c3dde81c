package main

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	jobsetapi "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/controllers"
)

func init() {
	additions = append(additions, addition{jobsetapi.AddToScheme, []client.Object{&jobsetapi.JobSet{}}, newJobSet})
	indexes = append(indexes, func(builder *fake.ClientBuilder) error {
		return controllers.SetupJobSetIndexes(context.Background(), indexing{builder})
	})
}

// indexing makes the store look up what JobSet's controller indexes in its cache.
type indexing struct{ builder *fake.ClientBuilder }

func (each indexing) IndexField(_ context.Context, of client.Object, field string, value client.IndexerFunc) error {
	each.builder.WithIndex(of, field, value)
	return nil
}

// newJobSet is JobSet's controller, which makes Jobs. Its webhook is private: the defaults that the controller needs are
// those of pkg/webhooks/jobset_webhook.go.
func newJobSet(_ context.Context, objects *store, _ string) (made, error) {
	sets := controllers.NewJobSetReconciler(objects, objects.Scheme(), silent)
	admit := func(context.Context, client.Object) error { return nil }
	step := func(ctx context.Context) error {
		var found jobsetapi.JobSetList
		if err := objects.List(ctx, &found); err != nil {
			return err
		}
		for _, each := range found.Items {
			defaulted(&each)
			if err := objects.Update(ctx, &each); err != nil {
				return err
			}
			if _, err := sets.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&each)}); err != nil {
				return err
			}
		}
		return nil
	}
	return made{admit: admit, step: step}, nil
}

func defaulted(set *jobsetapi.JobSet) {
	yes, indexed := true, batchv1.IndexedCompletion
	if set.Spec.SuccessPolicy == nil {
		set.Spec.SuccessPolicy = &jobsetapi.SuccessPolicy{Operator: jobsetapi.OperatorAll}
	}
	if set.Spec.StartupPolicy == nil {
		set.Spec.StartupPolicy = &jobsetapi.StartupPolicy{StartupPolicyOrder: jobsetapi.AnyOrder}
	}
	if set.Spec.Network == nil {
		set.Spec.Network = &jobsetapi.Network{EnableDNSHostnames: &yes, PublishNotReadyAddresses: &yes}
	}
	for number := range set.Spec.ReplicatedJobs {
		if spec := &set.Spec.ReplicatedJobs[number].Template.Spec; spec.CompletionMode == nil {
			spec.CompletionMode = &indexed
		}
	}
}
