package tas

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Ungate gives the pods of an admitted workload their node selectors, as the topology ungater does.
func Ungate(ctx context.Context, cl client.Client, workload types.NamespacedName) error {
	_, err := newTopologyUngater(cl, nil).Reconcile(ctx, reconcile.Request{NamespacedName: workload})
	return err
}
