package stories

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Our driver as a DaemonSet, with the rights of its example and no others.

const driversNamespace = "galen-drivers"

// sliceNamed is a slice of our driver on node-1 as it writes one, after each of `more` changed it.
func sliceNamed(name string, more ...func(*resourcev1.ResourceSlice)) *resourcev1.ResourceSlice {
	node, yes := "node-1", true
	slice := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name,
			Annotations: map[string]string{"galen.dev/published-by": "1"},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Node", Name: node, UID: "u", Controller: &yes}}},
		Spec: resourcev1.ResourceSliceSpec{Driver: gpuDriver, NodeName: &node,
			Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1}}}
	for _, change := range more {
		change(slice)
	}
	return slice
}

// sliceOf creates it.
func sliceOf(name string,
	more ...func(*resourcev1.ResourceSlice)) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, api kubernetes.Interface) error {
		_, err := api.ResourceV1().ResourceSlices().Create(ctx, sliceNamed(name, more...),
			metav1.CreateOptions{})
		return err
	}
}

// driversPod is the driver's Pod that runs.
func driversPod(t *testing.T) *corev1.Pod {
	t.Helper()
	var found *corev1.Pod
	Eventually(t, "the driver's Pod runs", installedWithin, func() (bool, string) {
		list, err := cluster.API.CoreV1().Pods(driversNamespace).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 {
			return false, "no Pod"
		}
		found = &list.Items[0]
		return Running(found), Tell(found)
	})
	return found
}

func TestTheDriversExampleServesPodsWithItsOwnRights(t *testing.T) {
	example := filepath.Join(Root(), "deploy", "examples", "driver.yaml")
	cluster.loadImage(t)
	cluster.Kubectl(t, "label", "node", "node-1", "galen.dev/gpus=true", "--overwrite")
	t.Cleanup(func() {
		for _, words := range [][]string{{"label", "node", "node-1", "galen.dev/gpus-"},
			{"delete", "--ignore-not-found", "--timeout=60s", "-f", example}} {
			if said, err := cluster.KubectlError(context.Background(), "", words...); err != nil {
				t.Errorf("%v: %s", err, said)
			}
		}
	})
	cluster.Kubectl(t, "apply", "-f", example)
	pod := driversPod(t)
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneGpu)
	watch := cluster.WatchPod(t, ns, "holder")
	cluster.Apply(t, ns, holder("holder", fromTemplate))
	// The Pod may have been there before its driver.
	watch.UntilAsked(t, "Ready", retriedWithin, Running)
	if gpus := gpusIn(t, ns, "holder", "c"); len(gpus) != 1 {
		t.Errorf("the container sees %v, wanted one GPU", gpus)
	}
	if !cluster.Is("1.34") {
		watch.UntilAsked(t, "its health", podWithin, saysHealth(1, "Healthy", ""))
	}
	uid := string(claimOf(t, ns, "holder").UID)
	remove(t, ns, "holder")
	awaitUnprepared(t, gpuDriver, uid, podWithin)

	requireSlicesFenced(t, pod)
}

// requireSlicesFenced tries the token of the driver's Pod.
func requireSlicesFenced(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	driver := clientOf(t, tokenOf(t, driversNamespace, "galen-driver", pod))
	// Also what an attempt made that should have been refused; the driver makes its own again.
	defer func() {
		for _, driver := range []string{gpuDriver, "story.example.com"} {
			must(t, cluster.API.ResourceV1().ResourceSlices().DeleteCollection(t.Context(),
				metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "spec.driver=" + driver}))
		}
	}()
	// Somebody else's, and one of the driver's from before it had its name.
	for _, each := range []attempt{
		{"another driver's slice", sliceOf("story", func(s *resourcev1.ResourceSlice) {
			s.Spec.Driver, s.OwnerReferences = "story.example.com", nil
		}), ""},
		{"an old slice", sliceOf("left-over", func(s *resourcev1.ResourceSlice) {
			s.Spec.Pool.Name, s.OwnerReferences = "left-over", nil
		}), ""},
	} {
		requireAnswer(t, each, each.try(t.Context(), cluster.API))
	}
	Eventually(t, "the driver takes its old slice away", podWithin, func() (bool, string) {
		_, err := cluster.API.ResourceV1().ResourceSlices().Get(t.Context(), "left-over",
			metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	for _, each := range sliceAttempts() {
		requireAnswer(t, each, each.try(t.Context(), driver))
	}
	requireAnswer(t, attempt{what: "a slice, with a token of no node",
		says: "may write slices of its own node and driver only"},
		sliceOf("node-1-gpu.example.com-901")(t.Context(),
			clientOf(t, tokenOf(t, driversNamespace, "galen-driver", nil))))
}

// sliceAttempts are what a driver's token is used for; each breaks one rule.
func sliceAttempts() []attempt {
	const own = "galen-driver of node 'node-1' may write slices of its own node and driver only"
	const name = "galen-driver may write slices of the names node-1-gpu.example.com-<number> only"
	const extras = "galen-driver may give a slice no labels, no finalizers and no annotation but"
	const owner = "galen-driver must give a slice one owner, its Node"
	all := []attempt{}
	for _, each := range []struct {
		what, name, says string
		change           func(*resourcev1.ResourceSlice)
	}{
		{"of another node", "", own, func(s *resourcev1.ResourceSlice) {
			other := "node-9"
			s.Spec.NodeName = &other
		}},
		{"of all nodes", "", own, func(s *resourcev1.ResourceSlice) {
			everywhere := true
			s.Spec.NodeName, s.Spec.AllNodes = nil, &everywhere
		}},
		{"of another driver", "", own, func(s *resourcev1.ResourceSlice) {
			s.Spec.Driver = "story.example.com"
		}},
		{"of another pool", "", "galen-driver may write slices of the pool 'node-1' only",
			func(s *resourcev1.ResourceSlice) { s.Spec.Pool.Name = "node-9" }},
		{"of any name", "story", name, nil},
		{"of another node's name", "node-9-gpu.example.com-0", name, nil},
		{"of a name without a number", "node-1-gpu.example.com-x", name, nil},
		{"with a label", "", extras, func(s *resourcev1.ResourceSlice) {
			s.Labels = map[string]string{"a": "b"}
		}},
		{"with a finalizer", "", extras, func(s *resourcev1.ResourceSlice) {
			s.Finalizers = []string{"a.example/b"}
		}},
		{"with another annotation", "", extras, func(s *resourcev1.ResourceSlice) {
			s.Annotations["a"] = "b"
		}},
		{"with a long annotation", "", extras, func(s *resourcev1.ResourceSlice) {
			s.Annotations["galen.dev/published-by"] = strings.Repeat("1", 100_000)
		}},
		{"without an owner", "", owner, func(s *resourcev1.ResourceSlice) { s.OwnerReferences = nil }},
		{"of another Node", "", owner, func(s *resourcev1.ResourceSlice) {
			s.OwnerReferences[0].Name = "node-9"
		}},
		{"of a Pod", "", owner, func(s *resourcev1.ResourceSlice) { s.OwnerReferences[0].Kind = "Pod" }},
		{"that holds its Node up", "", owner, func(s *resourcev1.ResourceSlice) {
			s.OwnerReferences[0].BlockOwnerDeletion = s.OwnerReferences[0].Controller
		}},
		{"of two owners", "", owner, func(s *resourcev1.ResourceSlice) {
			s.OwnerReferences = append(s.OwnerReferences,
				metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "node-1", UID: "v"})
		}},
	} {
		changes := []func(*resourcev1.ResourceSlice){}
		if each.change != nil {
			changes = append(changes, each.change)
		}
		if each.name == "" {
			each.name = "node-1-gpu.example.com-900"
		}
		all = append(all, attempt{"a slice " + each.what, sliceOf(each.name, changes...), each.says})
	}
	remove := func(name string) func(context.Context, kubernetes.Interface) error {
		return func(ctx context.Context, api kubernetes.Interface) error {
			return api.ResourceV1().ResourceSlices().Delete(ctx, name, metav1.DeleteOptions{})
		}
	}
	return append(all,
		attempt{"a label of the slice that is there", func(ctx context.Context,
			api kubernetes.Interface) error {
			return labelSlice(ctx, api, "node-1-gpu.example.com-0")
		}, extras},
		attempt{"taking another driver's slice away", remove("story"), own},
		attempt{"a slice of its own", sliceOf("node-1-gpu.example.com-900"), ""})
}

// labelSlice updates a slice as it is, but for a label.
func labelSlice(ctx context.Context, api kubernetes.Interface, name string) error {
	slice, err := api.ResourceV1().ResourceSlices().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	slice.Labels = map[string]string{"a": "b"}
	_, err = api.ResourceV1().ResourceSlices().Update(ctx, slice, metav1.UpdateOptions{})
	return err
}
