// Replay runs kube-scheduler over cases: one JSON line in, one JSON line out.
//
// A case is {"objects": [...]}. The scheduler runs with its default profile and the gates of the Workload API, against
// a client that keeps the objects in memory, until every pod is bound or nothing is left to try. The answer is
// {"bindings": {pod: node}}.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// gates that the Workload API needs; all are off by default in 1.37.
var gates = map[string]bool{
	"GenericWorkload":                 true,
	"TopologyAwareWorkloadScheduling": true,
	"CompositePodGroup":               true,
}

const (
	// quiet is how long the scheduler may be idle before the rest counts as not scheduled.
	quiet = 400 * time.Millisecond
	// stuck is how long it may try again and again without a binding.
	stuck = 4 * time.Second
)

type request struct {
	Objects []json.RawMessage `json:"objects"`
	Seconds int               `json:"seconds"`
}

type answer struct {
	Bindings map[string]string `json:"bindings"`
	Reasons  map[string]string `json:"reasons,omitempty"`
	Error    string            `json:"error,omitempty"`
}

func main() {
	if os.Getenv("REPLAY_LOG") == "" {
		klog.SetLogger(logr.Discard())
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(gates); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, crashed)
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

// crashed ends the program, unless the case has its answer: findBestPlacement of kube-scheduler 1.37 may return no
// placement when its context ends during a scheduling cycle, and its caller then reads a nil pointer.
func crashed(ctx context.Context, reason any) {
	if ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "panic: %v\n%s", reason, debug.Stack())
		os.Exit(2)
	}
}

func replay(line []byte) answer {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{Error: err.Error()}
	}
	objects, pods, err := decode(asked.Objects)
	if err != nil {
		return answer{Error: err.Error()}
	}
	found, err := run(objects, pods, time.Duration(max(asked.Seconds, 20))*time.Second)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return found
}

func run(objects []runtime.Object, pods []*corev1.Pod, limit time.Duration) (answer, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset(objects...)
	client.PrependReactor("create", "pods", func(action testing.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		binding := action.(testing.CreateAction).GetObject().(*corev1.Binding)
		resource := corev1.SchemeGroupVersion.WithResource("pods")
		stored, err := client.Tracker().Get(resource, action.GetNamespace(), binding.Name)
		if err != nil {
			return true, nil, err
		}
		bound := stored.(*corev1.Pod).DeepCopy()
		bound.Spec.NodeName = binding.Target.Name
		return true, binding, client.Tracker().Update(resource, bound, action.GetNamespace())
	})
	factory := informers.NewSharedInformerFactory(client, 0)
	recorder := profile.RecorderFactory(func(string) events.EventRecorderLogger { return discarded{} })
	chosen, err := scheduler.New(ctx, client, factory, nil, recorder,
		scheduler.WithPodInitialBackoffSeconds(0), scheduler.WithPodMaxBackoffSeconds(0))
	if err != nil {
		return answer{}, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := chosen.WaitForHandlersSync(ctx); err != nil {
		return answer{}, err
	}
	go chosen.Run(ctx)
	// Pending pods arrive last: their groups are there already, as they are in a cluster.
	for _, each := range pods {
		if _, err := client.CoreV1().Pods(each.Namespace).Create(ctx, each, metav1.CreateOptions{}); err != nil {
			return answer{}, err
		}
	}
	await(chosen, client, len(pods), limit)
	return read(ctx, client)
}

// await returns when all pods are bound, when the scheduler is idle or stuck, or after the limit.
func await(chosen *scheduler.Scheduler, client *fake.Clientset, wanted int, limit time.Duration) {
	changed, before, deadline := time.Now(), "", time.Now().Add(limit)
	bound, last := 0, time.Now()
	for time.Now().Before(deadline) && time.Since(changed) < quiet && time.Since(last) < stuck {
		_, queue := chosen.SchedulingQueue.PendingPods()
		bindings := 0
		for _, action := range client.Actions() {
			if action.GetSubresource() == "binding" {
				bindings++
			}
		}
		if bindings >= wanted {
			time.Sleep(10 * time.Millisecond)
			return
		}
		if bindings > bound {
			bound, last = bindings, time.Now()
		}
		busy := len(chosen.SchedulingQueue.InFlightPods()) + len(chosen.SchedulingQueue.PodsInActiveQ())
		if now := fmt.Sprint(queue, len(client.Actions())); now != before || busy > 0 {
			changed, before = time.Now(), now
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func read(ctx context.Context, client *fake.Clientset) (answer, error) {
	list, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return answer{}, err
	}
	found := answer{Bindings: map[string]string{}, Reasons: map[string]string{}}
	for _, each := range list.Items {
		if each.Spec.NodeName != "" {
			found.Bindings[each.Name] = each.Spec.NodeName
		}
		for _, condition := range each.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
				found.Reasons[each.Name] = condition.Message
			}
		}
	}
	groups, err := client.SchedulingV1beta1().PodGroups("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return answer{}, err
	}
	for _, each := range groups.Items {
		for _, condition := range each.Status.Conditions {
			if condition.Status == metav1.ConditionFalse {
				found.Reasons["PodGroup "+each.Name] = condition.Message
			}
		}
	}
	return found, nil
}

type discarded struct{}

func (discarded) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

func (d discarded) WithLogger(klog.Logger) events.EventRecorderLogger { return d }

func decode(raws []json.RawMessage) (objects []runtime.Object, pods []*corev1.Pod, err error) {
	kinds := map[string]func() runtime.Object{
		"Namespace":         func() runtime.Object { return &corev1.Namespace{} },
		"Node":              func() runtime.Object { return &corev1.Node{} },
		"Pod":               func() runtime.Object { return &corev1.Pod{} },
		"Workload":          func() runtime.Object { return &schedulingv1beta1.Workload{} },
		"PodGroup":          func() runtime.Object { return &schedulingv1beta1.PodGroup{} },
		"CompositePodGroup": func() runtime.Object { return &schedulingv1alpha3.CompositePodGroup{} },
		"DeviceClass":       func() runtime.Object { return &resourcev1.DeviceClass{} },
		"ResourceClaim":     func() runtime.Object { return &resourcev1.ResourceClaim{} },
		"ResourceSlice":     func() runtime.Object { return &resourcev1.ResourceSlice{} },
	}
	for _, raw := range raws {
		var kind metav1.TypeMeta
		if err := json.Unmarshal(raw, &kind); err != nil {
			return nil, nil, err
		}
		create, known := kinds[kind.Kind]
		if !known {
			return nil, nil, fmt.Errorf("the replay does not know objects of kind %q", kind.Kind)
		}
		made := create()
		if err := json.Unmarshal(raw, made); err != nil {
			return nil, nil, err
		}
		if _, err := apimeta.Accessor(made); err != nil {
			return nil, nil, err
		}
		if pod, is := made.(*corev1.Pod); is && pod.Spec.NodeName == "" {
			pods = append(pods, pod)
		} else {
			objects = append(objects, made)
		}
	}
	return objects, pods, nil
}
