package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	lwsapi "sigs.k8s.io/lws/api/leaderworkerset/v1"
	"sigs.k8s.io/lws/pkg/controllers"
	"sigs.k8s.io/lws/pkg/schedulerprovider"
	"sigs.k8s.io/lws/pkg/webhooks"
)

func init() {
	additions = append(additions, addition{lwsTypes, []client.Object{&lwsapi.LeaderWorkerSet{}}, newLWS})
}

func lwsTypes(scheme *runtime.Scheme) error {
	if err := volcanov1beta1.AddToScheme(scheme); err != nil {
		return err
	}
	return lwsapi.AddToScheme(scheme)
}

// newLWS is LWS: its two reconcilers, and its webhooks for LeaderWorkerSets and pods.
func newLWS(_ context.Context, objects *store, gang string) (made, error) {
	var provider schedulerprovider.SchedulerProvider
	if gang == string(schedulerprovider.Volcano) {
		chosen, err := schedulerprovider.NewSchedulerProvider(schedulerprovider.ProviderType(gang), objects)
		if err != nil {
			return made{}, err
		}
		provider = chosen
	}
	sets := controllers.NewLeaderWorkerSetReconciler(objects, objects.Scheme(), silent)
	pods := controllers.NewPodReconciler(objects, objects.Scheme(), silent, provider)
	podWebhook := webhooks.NewPodWebhook(provider)
	admit := func(ctx context.Context, given client.Object) error {
		set, ok := given.(*lwsapi.LeaderWorkerSet)
		if !ok {
			return nil
		}
		webhook := &webhooks.LeaderWorkerSetWebhook{}
		if err := webhook.Default(ctx, set); err != nil {
			return err
		}
		_, err := webhook.ValidateCreate(ctx, set)
		return err
	}
	step := func(ctx context.Context) error {
		var found lwsapi.LeaderWorkerSetList
		if err := objects.List(ctx, &found); err != nil {
			return err
		}
		for _, each := range found.Items {
			if _, err := sets.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&each)}); err != nil {
				return err
			}
		}
		var stateful appsv1.StatefulSetList
		if err := objects.List(ctx, &stateful); err != nil {
			return err
		}
		for _, each := range stateful.Items {
			if each.Labels[lwsapi.SetNameLabelKey] == "" {
				continue
			}
			err := objects.statefulPods(ctx, &each, func(pod *corev1.Pod) error { return podWebhook.Default(ctx, pod) })
			if err != nil {
				return err
			}
		}
		var all corev1.PodList
		if err := objects.List(ctx, &all); err != nil {
			return err
		}
		for _, each := range all.Items {
			if each.Labels[lwsapi.SetNameLabelKey] == "" {
				continue
			}
			if _, err := pods.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&each)}); err != nil {
				return err
			}
		}
		return nil
	}
	return made{admit: admit, step: step}, nil
}
