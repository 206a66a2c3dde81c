package controllers

import (
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kai-scheduler/KAI-scheduler/pkg/common/constants"
	"github.com/kai-scheduler/KAI-scheduler/pkg/podgrouper/podgroup"
	"github.com/kai-scheduler/KAI-scheduler/pkg/podgrouper/podgrouper"
	pluginshub "github.com/kai-scheduler/KAI-scheduler/pkg/podgrouper/podgrouper/hub"
)

// Over is the podgrouper with its defaults, over a store of objects.
func Over(kept client.Client) *PodReconciler {
	queue, pool := constants.DefaultQueueLabel, constants.DefaultNodePoolLabelKey
	hub := pluginshub.NewDefaultPluginsHub(kept, false, true, false, queue, pool, "", "")
	return &PodReconciler{
		Client:          kept,
		Scheme:          kept.Scheme(),
		podGrouper:      podgrouper.NewPodgrouper(kept, kept, hub),
		PodGroupHandler: podgroup.NewHandler(kept, pool, queue),
		configs:         Configs{NodePoolLabelKey: pool, SchedulerName: constants.DefaultSchedulerName, SchedulingQueueLabelKey: queue},
		eventRecorder:   &record.FakeRecorder{},
	}
}
