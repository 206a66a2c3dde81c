package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetapi "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	schedulerpluginsv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/kubeflow/trainer/v2/pkg/controller"
	trainerruntime "github.com/kubeflow/trainer/v2/pkg/runtime"
	"github.com/kubeflow/trainer/v2/pkg/runtime/core"
)

func init() {
	additions = append(additions, addition{trainerTypes, []client.Object{&trainer.TrainJob{}}, newTrainer})
}

func trainerTypes(scheme *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{
		trainer.AddToScheme, jobsetapi.AddToScheme, schedulerpluginsv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	return nil
}

// unindexed stands for the manager's cache: without watches nothing looks up what it indexes.
type unindexed struct{}

func (unindexed) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return nil
}

// newTrainer is Trainer's controller: TrainJobs become JobSets by their runtimes, which must come before them.
func newTrainer(ctx context.Context, objects *store, _ string) (made, error) {
	runtimes, err := core.New(ctx, objects, unindexed{})
	if err != nil {
		return made{}, err
	}
	jobs := controller.NewTrainJobReconciler(objects, silent, runtimes)
	admit := func(ctx context.Context, given client.Object) error {
		job, ok := given.(*trainer.TrainJob)
		if !ok {
			return nil
		}
		key := trainerruntime.RuntimeRefToRuntimeRegistryKey(job.Spec.RuntimeRef)
		chosen, ok := runtimes[key]
		if !ok {
			return fmt.Errorf("unsupported runtime: %s", key)
		}
		_, refused := chosen.ValidateObjects(ctx, nil, job)
		return refused.ToAggregate()
	}
	step := func(ctx context.Context) error {
		var found trainer.TrainJobList
		if err := objects.List(ctx, &found); err != nil {
			return err
		}
		for _, each := range found.Items {
			if _, err := jobs.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&each)}); err != nil {
				return err
			}
		}
		return nil
	}
	return made{admit: admit, step: step}, nil
}
