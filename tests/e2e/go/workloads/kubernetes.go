package main

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What ends the names of pods and ReplicaSets in place of a hash or random characters.
const hash = "replay"

func init() {
	additions = append(additions, addition{func(*runtime.Scheme) error { return nil }, nil, newKubernetes})
}

// newKubernetes stands for kube-controller-manager: pods of StatefulSets that are nobody's, of Deployments and of Jobs.
func newKubernetes(_ context.Context, objects *store, _ string) (made, error) {
	admit := func(context.Context, client.Object) error { return nil }
	step := func(ctx context.Context) error {
		var sets appsv1.StatefulSetList
		var deployments appsv1.DeploymentList
		var jobs batchv1.JobList
		for _, list := range []client.ObjectList{&sets, &deployments, &jobs} {
			if err := objects.List(ctx, list); err != nil {
				return err
			}
		}
		for _, each := range sets.Items {
			if metav1.GetControllerOf(&each) == nil {
				if err := objects.statefulPods(ctx, &each, func(*corev1.Pod) error { return nil }); err != nil {
					return err
				}
			}
		}
		for _, each := range deployments.Items {
			if err := objects.deployed(ctx, &each); err != nil {
				return err
			}
		}
		for _, each := range jobs.Items {
			if err := objects.jobPods(ctx, &each); err != nil {
				return err
			}
		}
		return nil
	}
	return made{admit: admit, step: step}, nil
}

// deployed makes the ReplicaSet of a Deployment, which takes over its annotations, and its pods
// (Kubernetes pkg/controller/deployment/sync.go getNewReplicaSet).
func (kept *store) deployed(ctx context.Context, owner *appsv1.Deployment) error {
	template := owner.Spec.Template.DeepCopy()
	set := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: owner.Spec.Replicas, Template: *template}}
	set.Name, set.Namespace, set.Annotations = owner.Name+"-"+hash, owner.Namespace, maps.Clone(owner.Annotations)
	set.OwnerReferences = controlled(owner, "Deployment", "apps/v1")
	set.Spec.Template.Labels = labeled(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	set.Labels = maps.Clone(set.Spec.Template.Labels)
	if err := kept.once(ctx, set); err != nil {
		return err
	}
	for number := range counted(owner.Spec.Replicas) {
		pod := templated(set.Spec.Template, set, "ReplicaSet", "apps/v1")
		pod.Name = fmt.Sprintf("%s-%05d", set.Name, number)
		if err := kept.once(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

// jobPods makes the pods of a Job (Kubernetes pkg/controller/job/job_controller.go and indexed_job_utils.go).
func (kept *store) jobPods(ctx context.Context, owner *batchv1.Job) error {
	if owner.Spec.Suspend != nil && *owner.Spec.Suspend {
		return nil
	}
	indexed := owner.Spec.CompletionMode != nil && *owner.Spec.CompletionMode == batchv1.IndexedCompletion
	for number := range counted(owner.Spec.Parallelism) {
		pod := templated(owner.Spec.Template, owner, "Job", "batch/v1")
		pod.Name = fmt.Sprintf("%s-%05d", owner.Name, number)
		for key, value := range map[string]string{
			batchv1.JobNameLabel: owner.Name, "job-name": owner.Name,
			batchv1.ControllerUidLabel: string(owner.UID), "controller-uid": string(owner.UID),
		} {
			pod.Labels = labeled(pod.Labels, key, value)
		}
		if indexed {
			pod.Name = fmt.Sprintf("%s-%d-%s", owner.Name, number, hash)
			pod.Spec.Hostname = fmt.Sprintf("%s-%d", owner.Name, number)
			pod.Labels = labeled(pod.Labels, batchv1.JobCompletionIndexAnnotation, fmt.Sprint(number))
			pod.Annotations = labeled(pod.Annotations, batchv1.JobCompletionIndexAnnotation, fmt.Sprint(number))
		}
		if err := kept.once(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

func templated(template corev1.PodTemplateSpec, owner client.Object, kind, version string) *corev1.Pod {
	made := template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: made.ObjectMeta, Spec: made.Spec}
	pod.Namespace, pod.OwnerReferences = owner.GetNamespace(), controlled(owner, kind, version)
	pod.Status.Phase = corev1.PodPending
	return pod
}

func controlled(owner client.Object, kind, version string) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{
		APIVersion: version, Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes,
	}}
}

// once creates the object unless it is there.
func (kept *store) once(ctx context.Context, given client.Object) error {
	held := given.DeepCopyObject().(client.Object)
	if err := kept.Get(ctx, client.ObjectKeyFromObject(given), held); !apierrors.IsNotFound(err) {
		given.SetUID(held.GetUID())
		return err
	}
	return kept.Create(ctx, given)
}

func labeled(before map[string]string, key, value string) map[string]string {
	after := maps.Clone(before)
	if after == nil {
		after = map[string]string{}
	}
	after[key] = value
	return after
}

func counted(replicas *int32) int {
	if replicas == nil {
		return 1
	}
	return int(*replicas)
}
