package stories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What the scheduler and explain look at in the story of explain_test.go: nodes without a kubelet,
// whose Pods are bound and never run, and devices without a driver.
type explainWorld struct {
	slices  []*resourcev1.ResourceSlice // as they are
	cordons map[string]bool
	rules   []string // names of the DeviceTaintRules that are there
	changes int
}

const (
	explainGPU    = "gpu.explain.example.com"
	explainNIC    = "nic.explain.example.com"
	explainFabric = "fabric.explain.example.com"
	explainShare  = "share.explain.example.com" // 1.37
	explainMIG    = "mig.explain.example.com"   // 1.37
	explainTaint  = "explain.example.com/bad"
)

var explainNodes = []string{"explain-a", "explain-b"}

// hasAllOf1_37: whether devices can be tainted, shared and divided. On 1.34 these are alpha:
// explain takes them for off there, as they are with stock gates.
func hasAllOf1_37() bool { return !cluster.Is("1.34") }

// onStockGates: explain takes a scheduler for one whose gates nobody set. The stories' 1.34 has
// DRAConsumableCapacity on, so that another allocator runs there, an experimental one. It ends the
// whole scheduler by a panic on a request for more devices than a slice has (CmpRequestOverCapacity
// takes the number of the device in the request for its place in the slice).
func onStockGates(t *testing.T) {
	t.Helper()
	if !cluster.Is("1.34") {
		return
	}
	place, err := os.MkdirTemp("", "galen-explain-")
	if err != nil {
		t.Fatal(err)
	}
	usual, dir := cluster, filepath.Join(place, "stock")
	t.Cleanup(func() {
		cluster = usual
		if err := errors.Join(Down(dir), os.RemoveAll(place)); err != nil {
			t.Error(err)
		}
	})
	stock, err := Up(t.Context(), dir, Options{Version: usual.Version})
	if err != nil {
		t.Fatal(err)
	}
	stock.logBelow(t, usual)
	cluster = stock
}

func newExplainWorld(t *testing.T, rng *rand.Rand) *explainWorld {
	t.Helper()
	w := &explainWorld{cordons: map[string]bool{}}
	// The real node would run Pods and would want a driver.
	w.cordon(t, "node-1", true)
	t.Cleanup(func() { w.cordon(t, "node-1", false) })
	for i, node := range explainNodes {
		makeNode(t, node, string(rune('a'+i)))
	}
	for _, class := range explainClasses() {
		makeClass(t, class)
	}
	for _, slice := range w.allSlices(rng) {
		w.slices = append(w.slices, makeSlice(t, slice))
	}
	return w
}

// makeNode makes a Node that is Ready and stays so: its heartbeat comes from the story.
func makeNode(t *testing.T, name, zone string) {
	t.Helper()
	nodes := cluster.API.CoreV1().Nodes()
	plenty := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64"),
		corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods:   resource.MustParse("500")}
	if _, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: zone}}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nodes.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	now := metav1.Now()
	status := corev1.NodeStatus{Capacity: plenty, Allocatable: plenty,
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
			Reason: "Story", LastHeartbeatTime: now, LastTransitionTime: now}}}
	// A patch, since controllers write to a new Node, too.
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nodes.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{},
		"status"); err != nil {
		t.Fatal(err)
	}
	renewLease(t, name)
	Eventually(t, name+" has lost the taint it began with", podWithin, func() (bool, string) {
		node, err := nodes.Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && len(node.Spec.Taints) == 0, fmt.Sprint(node.Spec.Taints, err)
	})
}

// renewLease is the heartbeat, until the story ends.
func renewLease(t *testing.T, node string) {
	t.Helper()
	leases := cluster.API.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now := metav1.NowMicro()
	lease, err := leases.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &node, RenewTime: &now}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = leases.Delete(context.Background(), node, metav1.DeleteOptions{}) })
	go func() {
		ticks := time.NewTicker(5 * time.Second)
		defer ticks.Stop()
		for {
			select {
			case <-t.Context().Done():
				return
			case <-ticks.C:
			}
			now := metav1.NowMicro()
			lease.Spec.RenewTime = &now
			if next, err := leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err == nil {
				lease = next
			}
		}
	}()
}

func (w *explainWorld) cordon(t *testing.T, node string, on bool) {
	patch := fmt.Sprintf(`{"spec":{"unschedulable":%t}}`, on)
	if _, err := cluster.API.CoreV1().Nodes().Patch(context.Background(), node, types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{}); err != nil {
		t.Errorf("cordon %s: %v", node, err)
	}
	w.cordons[node] = on
}

// explainClasses: of each driver; of some devices; careless ones, whose selector has an error on
// devices of other drivers.
func explainClasses() []*resourcev1.DeviceClass {
	text := map[string][]string{
		"explain-any":    {`device.driver.endsWith("explain.example.com")`},
		"explain-gpu":    {driverIs(explainGPU)},
		"explain-nic":    {driverIs(explainNIC)},
		"explain-fabric": {driverIs(explainFabric)},
		"explain-share":  {driverIs(explainShare)},
		"explain-mig":    {driverIs(explainMIG)},
		"explain-large": {driverIs(explainGPU),
			`device.attributes["gpu.explain.example.com"].model == "large"`},
		"explain-careless": {`device.attributes["gpu.explain.example.com"].model == "large"`},
		"explain-all":      {},
	}
	var classes []*resourcev1.DeviceClass
	for name, expressions := range text {
		class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, each := range expressions {
			class.Spec.Selectors = append(class.Spec.Selectors, selectorOf(each))
		}
		classes = append(classes, class)
	}
	return classes
}

func driverIs(driver string) string { return fmt.Sprintf("device.driver == %q", driver) }

func selectorOf(expression string) resourcev1.DeviceSelector {
	return resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}
}

func makeClass(t *testing.T, class *resourcev1.DeviceClass) {
	t.Helper()
	classes := cluster.API.ResourceV1().DeviceClasses()
	if _, err := classes.Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = classes.Delete(context.Background(), class.Name, metav1.DeleteOptions{}) })
}

func makeSlice(t *testing.T, slice *resourcev1.ResourceSlice) *resourcev1.ResourceSlice {
	t.Helper()
	all := cluster.API.ResourceV1().ResourceSlices()
	made, err := all.Create(t.Context(), slice, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("slice %s: %v", slice.Name, err)
	}
	t.Cleanup(func() { _ = all.Delete(context.Background(), slice.Name, metav1.DeleteOptions{}) })
	return made
}

// change alters the cluster before some Pods.
func (w *explainWorld) change(t *testing.T, rng *rand.Rand) {
	t.Helper()
	switch rng.IntN(10) {
	case 0:
		// One at the most.
		for _, node := range explainNodes {
			if w.cordons[node] {
				w.cordon(t, node, false)
				return
			}
		}
		w.cordon(t, explainNodes[rng.IntN(2)], true)
	case 1:
		w.renew(t, rng)
	case 2:
		if hasAllOf1_37() {
			w.changeRules(t, rng)
		}
	}
}

// renew is what a driver does whose devices change: a new generation of a pool of one slice.
func (w *explainWorld) renew(t *testing.T, rng *rand.Rand) {
	t.Helper()
	i := rng.IntN(len(w.slices))
	slice := w.slices[i].DeepCopy()
	if slice.Spec.Pool.ResourceSliceCount != 1 || len(slice.Spec.Devices) < 2 ||
		slice.Spec.Pool.Name == "renewed" { // of which an older generation is there
		return
	}
	slice.Spec.Pool.Generation++
	rng.Shuffle(len(slice.Spec.Devices), func(a, b int) {
		slice.Spec.Devices[a], slice.Spec.Devices[b] = slice.Spec.Devices[b], slice.Spec.Devices[a]
	})
	next, err := cluster.API.ResourceV1().ResourceSlices().Update(t.Context(), slice,
		metav1.UpdateOptions{})
	if err != nil {
		t.Fatalf("slice %s: %v", slice.Name, err)
	}
	w.slices[i] = next
}

// changeRules adds a rule for some devices, or takes the oldest away.
func (w *explainWorld) changeRules(t *testing.T, rng *rand.Rand) {
	t.Helper()
	rules := cluster.API.ResourceV1().DeviceTaintRules()
	if len(w.rules) == 3 || (len(w.rules) > 0 && rng.IntN(2) == 0) {
		if err := rules.Delete(t.Context(), w.rules[0], metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.rules = w.rules[1:]
		return
	}
	w.changes++
	name := fmt.Sprintf("explain-%d", w.changes)
	driver := []string{explainGPU, explainNIC, explainShare, explainMIG}[rng.IntN(4)]
	selector := &resourcev1.DeviceTaintSelector{Driver: &driver}
	if rng.IntN(2) == 0 {
		selector.Pool = &explainNodes[rng.IntN(2)]
	} else {
		device := fmt.Sprintf("d-%d", rng.IntN(4))
		selector.Device = &device
	}
	// Nothing that evicts: a Pod without a kubelet would not end.
	effect := []resourcev1.DeviceTaintEffect{resourcev1.DeviceTaintEffectNoSchedule,
		resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNone}[rng.IntN(3)]
	rule := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.DeviceTaintRuleSpec{DeviceSelector: selector,
			Taint: resourcev1.DeviceTaint{Key: explainTaint, Value: "rule", Effect: effect}}}
	if _, err := rules.Create(t.Context(), rule, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rules.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	w.rules = append(w.rules, name)
}
