// Replay runs Volcano's scheduler over cases: one JSON line in, one JSON line out.
//
// A case is {"configuration": volcano-scheduler.conf, "sessions": n, "objects": [...]}. The scheduler's own cache,
// plugins and actions run until every pod is bound, or for n sessions. The answer is {"bindings": {pod: node}}.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/apis/pkg/apis/topology/v1alpha1"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/metrics"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"
	"volcano.sh/volcano/pkg/scheduler/util"
)

const many = 100_000 // more than any case has pods: binding blocks on a full channel

type request struct {
	Configuration string            `json:"configuration"`
	Sessions      int               `json:"sessions"`
	Objects       []json.RawMessage `json:"objects"`
}

type answer struct {
	Bindings map[string]string `json:"bindings"`
	Sessions int               `json:"sessions"`
	Reasons  []string          `json:"reasons,omitempty"`
	Error    string            `json:"error,omitempty"`
}

type world struct {
	nodes      []*corev1.Node
	pods       []*corev1.Pod
	groups     []*v1beta1.PodGroup
	queues     []*v1beta1.Queue
	hyperNodes []*v1alpha1.HyperNode
	priorities []*schedulingv1.PriorityClass
	classes    []*resourcev1.DeviceClass
	claims     []*resourcev1.ResourceClaim
	slices     []*resourcev1.ResourceSlice
}

func main() {
	klog.InitFlags(nil)
	flag.Parse()
	metrics.InitKubeSchedulerRelatedMetrics()
	options.Default()
	reader := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			text, _ := json.Marshal(replay(line))
			fmt.Println(string(text))
		}
		if err != nil {
			return
		}
	}
}

func replay(line []byte) (found answer) {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{Error: err.Error()}
	}
	state, err := decode(asked.Objects)
	if err != nil {
		return answer{Error: err.Error()}
	}
	actions, tiers, configurations, _, err := scheduler.UnmarshalSchedulerConf(asked.Configuration)
	if err != nil {
		return answer{Error: err.Error()}
	}
	conf.EnabledActionMap = map[string]bool{}
	for _, action := range actions {
		conf.EnabledActionMap[action.Name()] = true
	}
	stop := make(chan struct{})
	defer close(stop)
	binder := util.NewFakeBinder(many)
	filled, err := fill(state, binder, stop)
	if err != nil {
		return answer{Error: err.Error()}
	}
	found.Bindings = map[string]string{}
	for found.Sessions < asked.Sessions && len(found.Bindings) < len(state.pods) {
		session := framework.OpenSession(filled, tiers, configurations)
		for _, action := range actions {
			action.Execute(session)
		}
		found.Reasons = nil
		for _, job := range session.Jobs {
			for _, task := range job.Tasks {
				switch task.Status {
				case api.Binding, api.Bound, api.Running:
					found.Bindings[task.Name] = task.NodeName
				}
			}
			if job.JobFitErrors != "" {
				found.Reasons = append(found.Reasons, job.JobFitErrors)
			}
		}
		framework.CloseSession(session)
		found.Sessions++
		await(binder, len(found.Bindings))
	}
	return found
}

// await waits until the binder has seen all bindings, which a goroutine of the cache hands over.
func await(binder *util.FakeBinder, wanted int) {
	for deadline := time.Now().Add(2 * time.Second); binder.Length() < wanted && time.Now().Before(deadline); {
		time.Sleep(2 * time.Millisecond)
	}
}

func fill(state *world, binder cache.Binder, stop chan struct{}) (*cache.SchedulerCache, error) {
	made := cache.NewCustomMockSchedulerCache(
		"volcano", binder, util.NewFakeEvictor(many), &util.FakeStatusUpdater{}, nil, &record.FakeRecorder{})
	client, ctx, none := made.Client(), context.Background(), metav1.CreateOptions{}
	for _, each := range state.nodes {
		if _, err := client.CoreV1().Nodes().Create(ctx, each, none); err != nil {
			return nil, err
		}
	}
	for _, each := range state.classes {
		if _, err := client.ResourceV1().DeviceClasses().Create(ctx, each, none); err != nil {
			return nil, err
		}
	}
	for _, each := range state.claims {
		if _, err := client.ResourceV1().ResourceClaims(each.Namespace).Create(ctx, each, none); err != nil {
			return nil, err
		}
	}
	for _, each := range state.slices {
		if _, err := client.ResourceV1().ResourceSlices().Create(ctx, each, none); err != nil {
			return nil, err
		}
	}
	made.Run(stop)
	made.WaitForCacheSync(stop)
	for _, each := range state.nodes {
		if err := made.AddOrUpdateNode(each); err != nil {
			return nil, err
		}
	}
	for _, each := range state.priorities {
		made.AddPriorityClass(each)
	}
	for _, each := range state.queues {
		made.AddQueueV1beta1(each)
	}
	for _, each := range state.hyperNodes {
		made.HyperNodesInfo.Lock()
		err := made.HyperNodesInfo.UpdateHyperNode(each)
		made.HyperNodesInfo.Unlock()
		if err != nil {
			return nil, err
		}
	}
	for _, each := range state.groups {
		made.AddPodGroupV1beta1(each)
	}
	for _, each := range state.pods {
		made.AddPod(each)
	}
	return made, nil
}

func decode(objects []json.RawMessage) (*world, error) {
	state := &world{}
	for _, raw := range objects {
		var kind metav1.TypeMeta
		if err := json.Unmarshal(raw, &kind); err != nil {
			return nil, err
		}
		var err error
		switch kind.Kind {
		case "Node":
			err = add(&state.nodes, raw)
		case "Pod":
			err = add(&state.pods, raw)
		case "PodGroup":
			err = add(&state.groups, raw)
		case "Queue":
			err = add(&state.queues, raw)
		case "HyperNode":
			err = add(&state.hyperNodes, raw)
		case "PriorityClass":
			err = add(&state.priorities, raw)
		case "DeviceClass":
			err = add(&state.classes, raw)
		case "ResourceClaim":
			err = add(&state.claims, raw)
		case "ResourceSlice":
			err = add(&state.slices, raw)
		default:
			err = fmt.Errorf("the replay does not know objects of kind %q", kind.Kind)
		}
		if err != nil {
			return nil, err
		}
	}
	return state, nil
}

func add[T any](list *[]*T, raw json.RawMessage) error {
	each := new(T)
	*list = append(*list, each)
	return json.Unmarshal(raw, each)
}
