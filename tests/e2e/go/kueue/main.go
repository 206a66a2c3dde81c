// Replay runs Kueue's scheduler over cases: one JSON line in, one JSON line out.
//
// A case is {"objects": [...]}. Kueue's own code makes a Workload of each Job, JobSet and MPIJob and those of servers
// (serving.go), and its scheduler runs one cycle for each. The answer is {"assignments": {workload: {podSet: [node of rank 0, node of rank 1, ...]}}}: the order
// in which Kueue's topology ungater hands out domains (pkg/controller/tas/topology_ungater.go).
// With {"mark": true} the answer is what Kueue's webhooks make of the servers: {"marked": [...], "refused": [...]}.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/go-logr/logr"
	kfmpi "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	jobsetapi "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	lwsapi "sigs.k8s.io/lws/api/leaderworkerset/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	kconstants "sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/controller/constants"
	coreindexer "sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/controller/jobs/job"
	"sigs.k8s.io/kueue/pkg/controller/jobs/jobset"
	"sigs.k8s.io/kueue/pkg/controller/jobs/mpijob"
	"sigs.k8s.io/kueue/pkg/controller/jobs/pod"
	podconstants "sigs.k8s.io/kueue/pkg/controller/jobs/pod/constants"
	"sigs.k8s.io/kueue/pkg/controller/tas"
	tasindexer "sigs.k8s.io/kueue/pkg/controller/tas/indexer"
	"sigs.k8s.io/kueue/pkg/scheduler"
	preemptexpectations "sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
	"sigs.k8s.io/kueue/pkg/util/expectations"
	utiltas "sigs.k8s.io/kueue/pkg/util/tas"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
	"sigs.k8s.io/kueue/pkg/workload"
)

type request struct {
	Objects []json.RawMessage `json:"objects"`
	Mark    bool              `json:"mark"`
}

type answer struct {
	Assignments map[string]map[string][]string `json:"assignments"`
	Bindings    map[string]string              `json:"bindings"`
	Reasons     map[string]string              `json:"reasons,omitempty"`
	Marked      []client.Object                `json:"marked,omitempty"`
	Refused     []string                       `json:"refused,omitempty"`
	Error       string                         `json:"error,omitempty"`
}

type world struct {
	namespaces []*corev1.Namespace
	nodes      []*corev1.Node
	topologies []*kueue.Topology
	flavors    []*kueue.ResourceFlavor
	clusters   []*kueue.ClusterQueue
	queues     []*kueue.LocalQueue
	jobs       []jobframework.GenericJob
	servers    []server
	parts      []client.Object // StatefulSets of a LeaderWorkerSet
	pods       []*corev1.Pod
	owned      []*corev1.Pod // those of servers
	running    []*corev1.Pod // those of others, whose use of nodes counts (pkg/controller/tas/non_tas_usage_controller.go)
}

func main() {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
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

func replay(line []byte) answer {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{Error: err.Error()}
	}
	state, err := decode(asked.Objects)
	if err != nil {
		return answer{Error: err.Error()}
	}
	found, err := state.run(asked.Mark)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return found
}

func (state *world) run(mark bool) (answer, error) {
	ctx, cancel := context.WithTimeout(ctrl.LoggerInto(context.Background(), logr.Discard()), time.Minute)
	defer cancel()
	builder := utiltesting.NewClientBuilder(jobsetapi.AddToScheme, kfmpi.AddToScheme, lwsapi.AddToScheme).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: utiltesting.TreatSSAAsStrategicMerge}).
		WithStatusSubresource(&kueue.Workload{}, &kueue.ClusterQueue{}, &kueue.LocalQueue{})
	if err := tasindexer.SetupIndexes(ctx, utiltesting.AsIndexer(builder)); err != nil {
		return answer{}, err
	}
	for _, each := range state.namespaces {
		builder = builder.WithObjects(each)
	}
	for _, each := range state.nodes {
		builder = builder.WithObjects(each)
	}
	for _, each := range state.topologies {
		builder = builder.WithObjects(each)
	}
	for _, each := range state.queues {
		builder = builder.WithObjects(each)
	}
	for _, each := range state.clusters {
		builder = builder.WithObjects(each)
	}
	builder = builder.WithIndex(&corev1.Pod{}, coreindexer.WorkloadSliceNameKey, func(each client.Object) []string {
		return []string{each.GetAnnotations()[kueue.WorkloadAnnotation]}
	})
	if err := pod.SetupIndexes(ctx, utiltesting.AsIndexer(builder)); err != nil {
		return answer{}, err
	}
	cl := builder.Build()
	cache := schdcache.New(cl)
	expected := preemptexpectations.New()
	queues := qcache.NewManagerForUnitTests(cl, cache, qcache.WithPreemptionExpectations(expected))
	if mark {
		return state.mark(ctx, cl, queues), nil
	}
	for _, each := range state.nodes {
		cache.TASCache().SyncNode(each)
	}
	log := logr.Discard()
	for _, each := range state.running {
		cache.TASCache().Update(each, log)
	}
	for _, each := range state.flavors {
		cache.AddOrUpdateResourceFlavor(log, each)
	}
	for _, each := range state.topologies {
		cache.AddOrUpdateTopology(log, each)
	}
	for _, each := range state.clusters {
		if err := cache.AddClusterQueue(ctx, each); err != nil {
			return answer{}, err
		}
		if err := queues.AddClusterQueue(ctx, each); err != nil {
			return answer{}, err
		}
	}
	for _, each := range state.queues {
		if err := queues.AddLocalQueue(ctx, each); err != nil {
			return answer{}, err
		}
	}
	for _, each := range state.jobs {
		if err := submit(ctx, cl, queues, each); err != nil {
			return answer{}, err
		}
	}
	groups, err := submitPods(ctx, cl, queues, state.pods)
	if err != nil {
		return answer{}, err
	}
	served, err := state.serve(ctx, cl, queues)
	if err != nil {
		return answer{}, err
	}
	groups = append(groups, served...)
	go queues.CleanUpOnContext(ctx)
	chosen := scheduler.New(queues, cache, cl, &utiltesting.EventRecorder{},
		scheduler.WithPreemptionExpectations(expected))
	for range len(state.jobs) + len(groups) {
		waiting := 0
		for _, each := range state.clusters {
			pending, err := queues.Pending(each)
			if err != nil {
				return answer{}, err
			}
			active := queues.PendingWorkloadsInfo(kueue.ClusterQueueReference(each.Name))
			waiting += min(pending, len(active))
		}
		if waiting == 0 {
			break
		}
		cycle, stop := context.WithTimeout(ctx, 2*time.Second)
		chosen.ScheduleOnce(cycle)
		stop()
	}
	return read(ctx, cl, groups)
}

// submit makes a Workload as the reconciler of the job's kind does.
func submit(ctx context.Context, cl client.Client, queues *qcache.Manager, each jobframework.GenericJob) error {
	made, err := jobframework.ConstructWorkload(ctx, cl, each, nil, nil)
	if err != nil {
		return err
	}
	made.Name = each.Object().GetName()
	made.Spec.QueueName = kueue.LocalQueueName(each.Object().GetLabels()[constants.QueueLabel])
	workload.AdjustResources(ctx, cl, made)
	if err := cl.Create(ctx, made); err != nil {
		return err
	}
	return queues.AddOrUpdateWorkload(logr.Discard(), made)
}

// submitPods makes a Workload of each group of pods, after the webhook's defaults, as the reconciler of pods does.
func submitPods(ctx context.Context, cl client.Client, queues *qcache.Manager, pods []*corev1.Pod) ([]types.NamespacedName, error) {
	var groups []types.NamespacedName
	for _, each := range pods {
		// With this annotation the webhook needs no manager; a parent's pods get the same gates and the same hash.
		each.Annotations = maps.Clone(each.Annotations)
		if each.Annotations == nil {
			each.Annotations = map[string]string{}
		}
		each.Annotations[podconstants.SuspendedByParentAnnotation] = "replay"
		if err := (&pod.PodWebhook{}).Default(ctx, each); err != nil {
			return nil, err
		}
		delete(each.Annotations, podconstants.SuspendedByParentAnnotation)
		each.Labels[kconstants.ManagedByKueueLabelKey] = kconstants.ManagedByKueueLabelValue
		name := each.Labels[podconstants.GroupNameLabel]
		each.Annotations[kueue.WorkloadAnnotation] = name
		each.Labels[kconstants.PodSetLabel] = each.Annotations[podconstants.RoleHashAnnotation]
		if err := cl.Create(ctx, each); err != nil {
			return nil, err
		}
		if key := (types.NamespacedName{Namespace: each.Namespace, Name: name}); !slices.Contains(groups, key) {
			groups = append(groups, key)
		}
	}
	for _, group := range groups {
		loaded := pod.NewPod(pod.WithExcessPodExpectations(expectations.NewStore("replay")))
		key := types.NamespacedName{Namespace: "group/" + group.Namespace, Name: group.Name}
		if _, err := loaded.Load(ctx, cl, &key); err != nil {
			return nil, err
		}
		made, err := loaded.ConstructComposableWorkload(ctx, cl, &utiltesting.EventRecorder{}, nil, nil)
		if err != nil {
			return nil, err
		}
		made.Spec.QueueName = kueue.LocalQueueName(loaded.Object().GetLabels()[constants.QueueLabel])
		workload.AdjustResources(ctx, cl, made)
		if err := cl.Create(ctx, made); err != nil {
			return nil, err
		}
		if err := queues.AddOrUpdateWorkload(logr.Discard(), made); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

func read(ctx context.Context, cl client.Client, groups []types.NamespacedName) (answer, error) {
	var list kueue.WorkloadList
	if err := cl.List(ctx, &list); err != nil {
		return answer{}, err
	}
	found := answer{Assignments: map[string]map[string][]string{}, Bindings: map[string]string{}, Reasons: map[string]string{}}
	for _, group := range groups {
		if err := tas.Ungate(ctx, cl, group); err != nil {
			return answer{}, err
		}
	}
	var pods corev1.PodList
	if err := cl.List(ctx, &pods); err != nil {
		return answer{}, err
	}
	for _, each := range pods.Items {
		if node := each.Spec.NodeSelector[corev1.LabelHostname]; node != "" {
			found.Bindings[each.Name] = node
		}
	}
	for _, each := range list.Items {
		if each.Status.Admission == nil {
			if condition := apimeta.FindStatusCondition(each.Status.Conditions, kueue.WorkloadQuotaReserved); condition != nil {
				found.Reasons[each.Name] = condition.Message
			}
			continue
		}
		found.Assignments[each.Name] = map[string][]string{}
		for _, podSet := range each.Status.Admission.PodSetAssignments {
			nodes := []string{}
			if podSet.TopologyAssignment != nil {
				for domain := range utiltas.InternalSeqFrom(podSet.TopologyAssignment) {
					for range domain.Count {
						nodes = append(nodes, domain.Values[len(domain.Values)-1])
					}
				}
			}
			found.Assignments[each.Name][string(podSet.Name)] = nodes
		}
	}
	return found, nil
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
		case "Namespace":
			err = add(&state.namespaces, raw)
		case "Node":
			err = add(&state.nodes, raw)
		case "Topology":
			err = add(&state.topologies, raw)
		case "ResourceFlavor":
			err = add(&state.flavors, raw)
		case "ClusterQueue":
			err = add(&state.clusters, raw)
		case "LocalQueue":
			err = add(&state.queues, raw)
		case "Pod":
			pod := new(corev1.Pod)
			err = json.Unmarshal(raw, pod)
			switch {
			case pod.Spec.NodeName != "":
				state.running = append(state.running, pod)
			case owned(pod):
				state.owned = append(state.owned, pod)
			default:
				state.pods = append(state.pods, pod)
			}
		case "Job":
			made := new(batchv1.Job)
			err = json.Unmarshal(raw, made)
			state.jobs = append(state.jobs, (*job.Job)(made))
		case "JobSet":
			made := new(jobsetapi.JobSet)
			err = json.Unmarshal(raw, made)
			state.jobs = append(state.jobs, (*jobset.JobSet)(made))
		case "MPIJob":
			made := new(kfmpi.MPIJob)
			err = json.Unmarshal(raw, made)
			state.jobs = append(state.jobs, (*mpijob.MPIJob)(made))
		default:
			var made server
			made, err = decodeServer(kind.Kind, raw)
			if err == nil && metav1.GetControllerOf(made.object) != nil {
				state.parts = append(state.parts, made.object)
			} else {
				state.servers = append(state.servers, made)
			}
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
