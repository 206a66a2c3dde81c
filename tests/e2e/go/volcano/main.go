// Replay runs Volcano's scheduler over cases: one JSON line in, one JSON line out.
//
// A case is {"configuration": volcano-scheduler.conf, "sessions": n, "restarted": [pod], "objects": [...]}. The scheduler's own cache,
// plugins and actions run until every pod is bound, or for n sessions. The answer is {"bindings": {pod: node}, "labels":
// {pod: labels}}. Pods of Volcano Jobs get their labels and their PodGroup from the job controller's own code, and the
// answer has the labels of all that it creates. Once all pods run, those that are restarted are deleted and created again.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/apis/pkg/apis/topology/v1alpha1"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/controllers/job"
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
	Restarted     []string          `json:"restarted"`
	Objects       []json.RawMessage `json:"objects"`
}

type answer struct {
	Bindings map[string]string            `json:"bindings"`
	Labels   map[string]map[string]string `json:"labels,omitempty"`
	Sessions int                          `json:"sessions"`
	Reasons  []string                     `json:"reasons,omitempty"`
	Error    string                       `json:"error,omitempty"`
}

type world struct {
	nodes      []*corev1.Node
	pods       []*corev1.Pod
	jobs       []*batchv1alpha1.Job
	groups     []*v1beta1.PodGroup
	queues     []*v1beta1.Queue
	hyperNodes []*v1alpha1.HyperNode
	priorities []*schedulingv1.PriorityClass
	classes    []*resourcev1.DeviceClass
	claims     []*resourcev1.ResourceClaim
	slices     []*resourcev1.ResourceSlice
	labels     map[string]map[string]string // of the pods that the job controller creates
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
	found.Labels = state.labels
	state.run(&found, asked.Sessions, filled, binder, actions, tiers, configurations)
	if len(asked.Restarted) > 0 {
		restart(state.pods, found.Bindings, asked.Restarted, filled)
		found.Sessions = 0
		state.run(&found, asked.Sessions, filled, binder, actions, tiers, configurations)
	}
	return found
}

// run opens sessions until all pods are bound, and no more than the given number.
func (state *world) run(found *answer, sessions int, filled *cache.SchedulerCache, binder *util.FakeBinder,
	actions []framework.Action, tiers []conf.Tier, configurations []conf.Configuration) {
	found.Bindings = map[string]string{}
	running, before := 0, binder.Length()
	for _, each := range state.pods {
		if each.Spec.NodeName != "" {
			running++
		}
	}
	for found.Sessions < sessions && len(found.Bindings) < len(state.pods) {
		session := framework.OpenSession(filled, tiers, configurations)
		for _, action := range actions {
			action.Execute(session)
		}
		found.Reasons = nil
		for _, each := range session.Jobs {
			for _, task := range each.Tasks {
				switch task.Status {
				case api.Binding, api.Bound, api.Running:
					found.Bindings[task.Name] = task.NodeName
				}
			}
			if each.JobFitErrors != "" {
				found.Reasons = append(found.Reasons, each.JobFitErrors)
			}
		}
		framework.CloseSession(session)
		found.Sessions++
		await(binder, before+len(found.Bindings)-running)
	}
}

// restart lets the bound pods run, and replaces the named ones by new ones.
func restart(pods []*corev1.Pod, bound map[string]string, names []string, filled *cache.SchedulerCache) {
	for number, each := range pods {
		if bound[each.Name] == "" {
			continue
		}
		filled.DeletePod(each)
		pods[number] = each.DeepCopy()
		if slices.Contains(names, each.Name) {
			pods[number].UID += "-again"
		} else {
			pods[number].Spec.NodeName, pods[number].Status.Phase = bound[each.Name], corev1.PodRunning
		}
		filled.AddPod(pods[number])
	}
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
	state.labels = map[string]map[string]string{}
	for _, each := range state.jobs {
		group, pods, err := job.Created(each)
		if err != nil {
			return nil, err
		}
		state.groups = append(state.groups, group)
		mark(state.pods, pods)
		for _, pod := range pods {
			state.labels[pod.Name] = pod.Labels
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

// mark gives the pods of a Volcano Job the labels and annotations of those with the same name that the controller makes.
func mark(pods, created []*corev1.Pod) {
	byName := map[string]*corev1.Pod{}
	for _, each := range created {
		byName[each.Name] = each
	}
	for _, each := range pods {
		if own := byName[each.Name]; own != nil {
			each.Labels, each.Annotations, each.Spec.SchedulerName = own.Labels, own.Annotations, own.Spec.SchedulerName
		}
	}
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
		case "Job":
			err = add(&state.jobs, raw)
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
