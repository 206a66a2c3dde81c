// Package served stands for each package that this file is copied into: those of LeaderWorkerSets, of StatefulSets and
// of Deployments, whose webhooks have the same fields.
package served

import (
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
)

// NewWebhook makes the webhook without a manager.
func NewWebhook(cl client.Client, queues *qcache.Manager) *Webhook {
	return &Webhook{client: cl, queues: queues, managedJobsNamespaceSelector: labels.Everything()}
}
