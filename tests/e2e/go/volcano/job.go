package job

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/apis/pkg/client/clientset/versioned/fake"
	listers "volcano.sh/apis/pkg/client/listers/scheduling/v1beta1"
)

// Created is the PodGroup, in the phase Pending, and the pods that the job controller creates for a Job.
func Created(job *batch.Job) (*scheduling.PodGroup, []*corev1.Pod, error) {
	none := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	controller := &jobcontroller{vcClient: fake.NewSimpleClientset(), pgLister: listers.NewPodGroupLister(none)}
	if err := controller.createOrUpdatePodGroup(job); err != nil && !apierrors.IsNotFound(err) {
		return nil, nil, err
	}
	group, err := controller.vcClient.SchedulingV1beta1().PodGroups(job.Namespace).
		Get(context.Background(), controller.generateRelatedPodGroupName(job), metav1.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	group.Status.Phase = scheduling.PodGroupPending
	var pods []*corev1.Pod
	for _, task := range job.Spec.Tasks {
		task.Template.Name = task.Name
		for number := range int(task.Replicas) {
			pods = append(pods, createJobPod(job, task.Template.DeepCopy(), number, false, group, &task))
		}
	}
	return group, pods, nil
}
