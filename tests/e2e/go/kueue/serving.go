package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	lwsapi "sigs.k8s.io/lws/api/leaderworkerset/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	kconstants "sigs.k8s.io/kueue/pkg/constants"
	coreindexer "sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/controller/jobs/deployment"
	"sigs.k8s.io/kueue/pkg/controller/jobs/leaderworkerset"
	"sigs.k8s.io/kueue/pkg/controller/jobs/pod"
	podconstants "sigs.k8s.io/kueue/pkg/controller/jobs/pod/constants"
	"sigs.k8s.io/kueue/pkg/controller/jobs/statefulset"
	utilpod "sigs.k8s.io/kueue/pkg/util/pod"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
	"sigs.k8s.io/kueue/pkg/workload"
)

// A server is a workload whose pods Kueue admits as a group, or each by itself (a Deployment's).
type server struct {
	object client.Object
	check  func(context.Context, client.Client, *qcache.Manager) error
}

type webhook[T any] interface {
	Default(context.Context, T) error
	ValidateCreate(context.Context, T) (admission.Warnings, error)
}

// serverOf reads a workload of a kind that has a webhook.
func serverOf[T client.Object](each T, raw json.RawMessage, hook func(client.Client, *qcache.Manager) webhook[T]) (server, error) {
	check := func(ctx context.Context, cl client.Client, queues *qcache.Manager) error {
		opened := hook(cl, queues)
		if err := opened.Default(ctx, each); err != nil {
			return err
		}
		_, err := opened.ValidateCreate(ctx, each)
		return err
	}
	return server{each, check}, json.Unmarshal(raw, each)
}

func decodeServer(kind string, raw json.RawMessage) (server, error) {
	switch kind {
	case "LeaderWorkerSet":
		return serverOf(&lwsapi.LeaderWorkerSet{}, raw, func(cl client.Client, queues *qcache.Manager) webhook[*lwsapi.LeaderWorkerSet] {
			return leaderworkerset.NewWebhook(cl, queues)
		})
	case "StatefulSet":
		return serverOf(&appsv1.StatefulSet{}, raw, func(cl client.Client, queues *qcache.Manager) webhook[*appsv1.StatefulSet] {
			return statefulset.NewWebhook(cl, queues)
		})
	case "Deployment":
		return serverOf(&appsv1.Deployment{}, raw, func(cl client.Client, queues *qcache.Manager) webhook[*appsv1.Deployment] {
			return deployment.NewWebhook(cl, queues)
		})
	}
	return server{}, fmt.Errorf("the replay does not know objects of kind %q", kind)
}

// mark answers with the workloads as Kueue's webhooks leave them, and with what these refuse.
func (state *world) mark(ctx context.Context, cl client.Client, queues *qcache.Manager) answer {
	found := answer{Refused: []string{}}
	for _, each := range state.servers {
		kind := each.object.GetObjectKind().GroupVersionKind().Kind
		if err := each.check(ctx, cl, queues); err != nil {
			found.Refused = append(found.Refused, fmt.Sprintf("%s %s: %v", kind, each.object.GetName(), err))
			continue
		}
		found.Marked = append(found.Marked, each.object)
	}
	return found
}

// owned tells the pods of servers from those that come by themselves.
func owned(each *corev1.Pod) bool {
	return metav1.GetControllerOf(each) != nil
}

// serve makes the workloads of servers by the reconcilers of their kinds, and marks the pods as these do.
func (state *world) serve(ctx context.Context, cl client.Client, queues *qcache.Manager) ([]types.NamespacedName, error) {
	recorder := &utiltesting.EventRecorder{}
	sets, err := leaderworkerset.NewReconciler(ctx, cl, nil, recorder)
	if err != nil {
		return nil, err
	}
	rows, err := statefulset.NewReconciler(ctx, cl, nil, recorder)
	if err != nil {
		return nil, err
	}
	pods, err := statefulset.NewPodReconciler(ctx, cl, nil, recorder)
	if err != nil {
		return nil, err
	}
	for _, each := range state.servers {
		if err := cl.Create(ctx, each.object); err != nil {
			return nil, err
		}
	}
	for _, each := range state.parts {
		if err := cl.Create(ctx, each); err != nil {
			return nil, err
		}
	}
	for _, each := range state.owned {
		_, suspended := each.Annotations[podconstants.SuspendedByParentAnnotation]
		if suspended {
			if err := (&pod.PodWebhook{}).Default(ctx, each); err != nil {
				return nil, err
			}
		}
		if err := cl.Create(ctx, each); err != nil {
			return nil, err
		}
	}
	for _, each := range state.servers {
		asked := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(each.object)}
		switch each.object.(type) {
		case *lwsapi.LeaderWorkerSet:
			_, err = sets.Reconcile(ctx, asked)
		case *appsv1.StatefulSet:
			_, err = rows.Reconcile(ctx, asked)
		}
		if err != nil {
			return nil, err
		}
	}
	var found []types.NamespacedName
	for _, each := range state.owned {
		asked := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(each)}
		if _, err := pods.Reconcile(ctx, asked); err != nil {
			return nil, err
		}
		stored := &corev1.Pod{}
		if err := cl.Get(ctx, asked.NamespacedName, stored); err != nil {
			return nil, err
		}
		name := utilpod.GetPodGroupName(stored)
		switch {
		case name != "":
			hold(stored, name, stored.Annotations[podconstants.RoleHashAnnotation])
		case stored.Labels[kconstants.ManagedByKueueLabelKey] != "":
			// A pod of a Deployment is a workload of its own.
			name = stored.Name
			hold(stored, name, string(kueue.DefaultPodSetName))
			if err := submit(ctx, cl, queues, pod.FromObject(stored)); err != nil {
				return nil, err
			}
		}
		if err := cl.Update(ctx, stored); err != nil {
			return nil, err
		}
		if key := (types.NamespacedName{Namespace: stored.Namespace, Name: name}); name != "" && !slices.Contains(found, key) {
			found = append(found, key)
		}
	}
	return found, state.queue(ctx, cl, queues)
}

// queue hands the workloads of LeaderWorkerSets and StatefulSets to the scheduler, as the workload controller does.
func (state *world) queue(ctx context.Context, cl client.Client, queues *qcache.Manager) error {
	for _, each := range state.servers {
		var list kueue.WorkloadList
		mine := client.MatchingFields{coreindexer.OwnerReferenceUID: string(each.object.GetUID())}
		if err := cl.List(ctx, &list, client.InNamespace(each.object.GetNamespace()), mine); err != nil {
			return err
		}
		for _, made := range list.Items {
			made.Spec.QueueName = jobframework.QueueNameForObject(each.object)
			workload.AdjustResources(ctx, cl, &made)
			if err := cl.Update(ctx, &made); err != nil {
				return err
			}
			if err := queues.AddOrUpdateWorkload(logr.Discard(), &made); err != nil {
				return err
			}
		}
	}
	return nil
}

// hold ties a pod to a podSet of its workload, as Kueue does when it admits the workload.
func hold(each *corev1.Pod, name, podSet string) {
	if each.Annotations == nil {
		each.Annotations = map[string]string{}
	}
	each.Annotations[kueue.WorkloadAnnotation] = name
	each.Labels[kconstants.PodSetLabel] = podSet
}
