package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedfake "sigs.k8s.io/scheduler-plugins/pkg/generated/clientset/versioned/fake"
	volcanofake "volcano.sh/apis/pkg/client/clientset/versioned/fake"

	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app/options"
	mpiapi "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	"github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/validation"
	mpifake "github.com/kubeflow/mpi-operator/pkg/client/clientset/versioned/fake"
	mpiinformers "github.com/kubeflow/mpi-operator/pkg/client/informers/externalversions"
	"github.com/kubeflow/mpi-operator/pkg/controller"
)

const (
	quiet = 100 * time.Millisecond // so long the operator does nothing before it counts as done
	slow  = 20 * time.Second
)

func init() {
	klog.SetOutput(io.Discard)
	_ = os.Setenv("KUBE_FEATURE_WatchListClient", "false") // Volcano's fake clientset does not have it
	additions = append(additions, addition{mpiapi.AddToScheme, []client.Object{&mpiapi.MPIJob{}}, newMPI})
}

// newMPI is mpi-operator. It has no webhook: its controller refuses a job by an event.
func newMPI(_ context.Context, objects *store, gang string) (made, error) {
	admit := func(_ context.Context, given client.Object) error {
		job, ok := given.(*mpiapi.MPIJob)
		if !ok {
			return nil
		}
		whole := job.DeepCopy()
		mpiapi.SetDefaults_MPIJob(whole)
		return validation.ValidateMPIJob(whole).ToAggregate()
	}
	step := func(ctx context.Context) error {
		var found mpiapi.MPIJobList
		if err := objects.List(ctx, &found); err != nil {
			return err
		}
		for _, each := range found.Items {
			launcher := client.ObjectKey{Namespace: each.Namespace, Name: each.Name}
			if err := objects.Get(ctx, launcher, &corev1.Service{}); err == nil {
				continue
			} else if !apierrors.IsNotFound(err) {
				return err
			}
			children, err := operate(ctx, &each, gang)
			if err != nil {
				return err
			}
			for _, child := range children {
				if err := objects.once(ctx, child); err != nil { // it tries again before its caches know
					return err
				}
			}
		}
		return nil
	}
	return made{admit: admit, step: step}, nil
}

// operate runs the operator over one job, and returns what it creates.
func operate(ctx context.Context, job *mpiapi.MPIJob, gang string) ([]client.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	kube, volcano, sched := kubefake.NewSimpleClientset(), volcanofake.NewSimpleClientset(), schedfake.NewSimpleClientset()
	kubeflow := mpifake.NewSimpleClientset(job)
	core := informers.NewSharedInformerFactory(kube, 0)
	own := mpiinformers.NewSharedInformerFactory(kubeflow, 0)
	operator, err := controller.NewMPIJobController(ctx, kube, kubeflow, volcano, sched,
		core.Core().V1().ConfigMaps(), core.Core().V1().Secrets(), core.Core().V1().Services(), core.Batch().V1().Jobs(),
		core.Core().V1().Pods(), core.Scheduling().V1().PriorityClasses(), own.Kubeflow().V2beta1().MPIJobs(),
		&options.ServerOption{GangSchedulingName: gang, ControllerRateLimit: 1000, ControllerBurst: 1000})
	if err != nil {
		return nil, err
	}
	core.Start(ctx.Done())
	own.Start(ctx.Done())
	if operator.PodGroupCtrl != nil {
		operator.PodGroupCtrl.StartInformerFactory(ctx.Done())
	}
	go func() { _ = operator.Run(1, ctx.Done()) }()
	done := func() int {
		return len(kube.Actions()) + len(kubeflow.Actions()) + len(volcano.Actions()) + len(sched.Actions())
	}
	reported := func() bool {
		held, err := kubeflow.KubeflowV2beta1().MPIJobs(job.Namespace).Get(ctx, job.Name, metav1.GetOptions{})
		return err == nil && len(held.Status.Conditions) > 0
	}
	for last, since := -1, time.Now(); ; time.Sleep(quiet / 10) {
		if ctx.Err() != nil {
			return nil, errors.New("mpi-operator does not come to rest")
		}
		known := reported()
		if now := done(); now-last > 1 || !known {
			last, since = now, time.Now()
		} else if last = now; time.Since(since) > quiet {
			break
		}
	}
	var found []client.Object
	for _, tracked := range [][]clienttesting.Action{kube.Actions(), volcano.Actions(), sched.Actions()} {
		for _, action := range tracked {
			created, ok := action.(clienttesting.CreateAction)
			if !ok || action.GetResource().Resource == "events" {
				continue
			}
			child, ok := created.GetObject().DeepCopyObject().(client.Object)
			if !ok {
				continue
			}
			if secret, ok := child.(*corev1.Secret); ok {
				for key := range secret.Data {
					secret.Data[key] = []byte{}
				}
			}
			child.SetResourceVersion("")
			found = append(found, child)
		}
	}
	return found, nil
}
