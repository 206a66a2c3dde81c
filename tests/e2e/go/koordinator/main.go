// Replay runs koord-scheduler over cases: one JSON line in, one JSON line out.
//
// A case is {"configuration": KubeSchedulerConfiguration, "manager": bool, "objects": [...]}. The scheduler is put
// together as cmd/koord-scheduler does it, around clients that keep the objects in memory, until every pod is bound or
// nothing is left to try. `manager` is the flag --enable-network-topology-manager. The answer is
// {"bindings": {pod: node}}.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwktype "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	kubeconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/profile"

	schedulingv1alpha1 "github.com/koordinator-sh/koordinator/apis/scheduling/v1alpha1"
	podgroupv1alpha1 "github.com/koordinator-sh/koordinator/apis/thirdparty/scheduler-plugins/pkg/apis/scheduling/v1alpha1"
	podgroups "github.com/koordinator-sh/koordinator/apis/thirdparty/scheduler-plugins/pkg/generated/clientset/versioned"
	podgroupsfake "github.com/koordinator-sh/koordinator/apis/thirdparty/scheduler-plugins/pkg/generated/clientset/versioned/fake"
	koordinatorfake "github.com/koordinator-sh/koordinator/pkg/client/clientset/versioned/fake"
	koordinatorinformers "github.com/koordinator-sh/koordinator/pkg/client/informers/externalversions"
	_ "github.com/koordinator-sh/koordinator/pkg/scheduler/apis/config/scheme"
	"github.com/koordinator-sh/koordinator/pkg/scheduler/frameworkext"
	"github.com/koordinator-sh/koordinator/pkg/scheduler/frameworkext/networktopology"
	"github.com/koordinator-sh/koordinator/pkg/scheduler/plugins/coscheduling"
	"github.com/koordinator-sh/koordinator/pkg/scheduler/plugins/defaultprebind"
)

const (
	// quiet is how long the scheduler may be idle before the rest counts as not scheduled.
	quiet = 600 * time.Millisecond
	// stuck is how long it may try again and again without a binding.
	stuck = 4 * time.Second
	// limit is the longest time for a case.
	limit = 30 * time.Second
)

type request struct {
	Configuration string            `json:"configuration"`
	Manager       bool              `json:"manager"`
	Objects       []json.RawMessage `json:"objects"`
}

type answer struct {
	Bindings map[string]string `json:"bindings"`
	Reasons  map[string]string `json:"reasons,omitempty"`
	Error    string            `json:"error,omitempty"`
}

// world is the objects of a case by the client that holds them.
type world struct {
	kubernetes, podGroups, koordinator []runtime.Object
	pods                               []*corev1.Pod
}

func main() {
	if os.Getenv("REPLAY_LOG") == "" {
		klog.SetLogger(logr.Discard())
	}
	// The client in memory for PodGroups does not know streamed lists.
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{"WatchListClient": false}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	reader := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			found, failed := replay(line)
			if failed != nil {
				found = answer{Error: failed.Error()}
			}
			text, _ := json.Marshal(found)
			fmt.Println(string(text))
		}
		if err != nil {
			return
		}
	}
}

func replay(line []byte) (answer, error) {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{}, err
	}
	decoded, _, err := scheme.Codecs.UniversalDecoder().Decode([]byte(asked.Configuration), nil, nil)
	if err != nil {
		return answer{}, err
	}
	objects, err := decode(asked.Objects)
	if err != nil {
		return answer{}, err
	}
	frameworkext.EnableNetworkTopologyManager = asked.Manager
	return run(decoded.(*kubeconfig.KubeSchedulerConfiguration), objects)
}

func run(configuration *kubeconfig.KubeSchedulerConfiguration, objects world) (answer, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset(objects.kubernetes...)
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
	groups := podgroupsfake.NewSimpleClientset(objects.podGroups...)
	koordinator := koordinatorfake.NewSimpleClientset(objects.koordinator...)
	factory := informers.NewSharedInformerFactory(client, 0)
	koordinatorFactory := koordinatorinformers.NewSharedInformerFactory(koordinator, 0)
	extender, err := frameworkext.NewFrameworkExtenderFactory(
		frameworkext.WithKoordinatorClientSet(koordinator),
		frameworkext.WithKoordinatorSharedInformerFactory(koordinatorFactory),
		frameworkext.WithNetworkTopologyManager(networktopology.NewTreeManager(koordinatorFactory, factory, koordinator)),
	)
	if err != nil {
		return answer{}, err
	}
	registry := frameworkruntime.Registry{
		coscheduling.Name:   frameworkext.PluginFactoryProxy(extender, withPodGroups(groups)),
		defaultprebind.Name: frameworkext.PluginFactoryProxy(extender, defaultprebind.New),
	}
	recorder := profile.RecorderFactory(func(string) events.EventRecorder { return discarded{} })
	chosen, err := scheduler.New(ctx, client, factory, nil, recorder,
		scheduler.WithProfiles(configuration.Profiles...), scheduler.WithFrameworkOutOfTreeRegistry(registry),
		scheduler.WithPodInitialBackoffSeconds(0), scheduler.WithPodMaxBackoffSeconds(0))
	if err != nil {
		return answer{}, err
	}
	for name, framework := range chosen.Profiles {
		if extended := extender.GetExtender(name); extended != nil {
			extended.SetConfiguredPlugins(framework.ListPlugins())
			chosen.Profiles[name] = extended
		}
	}
	extender.InterceptSchedulerError(chosen)
	extender.InitScheduler(&frameworkext.SchedulerAdapter{Scheduler: chosen})
	factory.Start(ctx.Done())
	koordinatorFactory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	koordinatorFactory.WaitForCacheSync(ctx.Done())
	if err := chosen.WaitForHandlersSync(ctx); err != nil {
		return answer{}, err
	}
	extender.Run(ctx)
	// Pods arrive last: their groups are there already, as they are in a cluster.
	for _, each := range objects.pods {
		if _, err := client.CoreV1().Pods(each.Namespace).Create(ctx, each, metav1.CreateOptions{}); err != nil {
			return answer{}, err
		}
	}
	go chosen.Run(ctx)
	await(chosen, client, len(objects.pods))
	return read(ctx, client)
}

// withPodGroups is Coscheduling with a client for PodGroups, which it would otherwise make from a kubeconfig.
func withPodGroups(groups podgroups.Interface) frameworkruntime.PluginFactory {
	type handle struct {
		frameworkext.ExtendedHandle
		podgroups.Interface
	}
	return func(ctx context.Context, args runtime.Object, given fwktype.Handle) (fwktype.Plugin, error) {
		return coscheduling.New(ctx, args, handle{given.(frameworkext.ExtendedHandle), groups})
	}
}

// await returns when all pods are bound, when the scheduler is idle or stuck, or after the limit.
//
// Coscheduling starts no further pod once a gang has its minimum. The others wait until kube-scheduler tries all pending
// pods again, as it does every five minutes (flushUnschedulablePodsLeftover), and here when it is idle.
func await(chosen *scheduler.Scheduler, client *fake.Clientset, wanted int) {
	changed, before, deadline := time.Now(), "", time.Now().Add(limit)
	bound, last, flushed := 0, time.Now(), 0
	for time.Now().Before(deadline) && time.Since(last) < stuck {
		pending, queue := chosen.SchedulingQueue.PendingPods()
		if time.Since(changed) >= quiet {
			if bound == flushed {
				return
			}
			pods := map[string]*corev1.Pod{}
			for _, each := range pending {
				pods[each.Namespace+"/"+each.Name] = each
			}
			chosen.SchedulingQueue.Activate(logr.Discard(), pods)
			changed, flushed = time.Now(), bound
		}
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
	return found, nil
}

type discarded struct{}

func (discarded) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

func (d discarded) WithLogger(klog.Logger) events.EventRecorderLogger { return d }

func decode(raws []json.RawMessage) (found world, err error) {
	for _, raw := range raws {
		var kind metav1.TypeMeta
		if err := json.Unmarshal(raw, &kind); err != nil {
			return found, err
		}
		var made runtime.Object
		held := &found.kubernetes
		switch kind.Kind {
		case "Pod":
			pod := &corev1.Pod{}
			if err := json.Unmarshal(raw, pod); err != nil {
				return found, err
			}
			found.pods = append(found.pods, pod)
			continue
		case "Node":
			made = &corev1.Node{}
		case "DeviceClass":
			made = &resourcev1.DeviceClass{}
		case "ResourceClaim":
			made = &resourcev1.ResourceClaim{}
		case "ResourceSlice":
			made = &resourcev1.ResourceSlice{}
		case "PodGroup":
			made, held = &podgroupv1alpha1.PodGroup{}, &found.podGroups
		case "ClusterNetworkTopology":
			made, held = &schedulingv1alpha1.ClusterNetworkTopology{}, &found.koordinator
		default:
			return found, fmt.Errorf("the replay does not know objects of kind %q", kind.Kind)
		}
		if err := json.Unmarshal(raw, made); err != nil {
			return found, err
		}
		*held = append(*held, made)
	}
	return found, nil
}
