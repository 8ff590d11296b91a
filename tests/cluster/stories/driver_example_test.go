package stories

import (
	"context"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Our driver as a DaemonSet, with the rights of its example and no others.

const driversNamespace = "galen-drivers"

// sliceOf makes a ResourceSlice of a driver on a node.
func sliceOf(driver, node string) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, api kubernetes.Interface) error {
		_, err := api.ResourceV1().ResourceSlices().Create(ctx, &resourcev1.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "story-"},
			Spec: resourcev1.ResourceSliceSpec{Driver: driver, NodeName: &node,
				Pool: resourcev1.ResourcePool{Name: "story", ResourceSliceCount: 1}}},
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
	const policy = "may write slices of its own node and driver only"
	for _, each := range []attempt{
		{"a slice of another node", sliceOf(gpuDriver, "node-9"), policy},
		{"a slice of another driver", sliceOf("story.example.com", "node-1"), policy},
		{"a slice of its own", sliceOf(gpuDriver, "node-1"), ""},
	} {
		requireAnswer(t, each, each.try(t.Context(), clientOf(t, tokenOf(t, driversNamespace,
			"galen-driver", pod))))
	}
	requireAnswer(t, attempt{what: "a slice, with a token of no node", says: policy},
		sliceOf(gpuDriver, "node-1")(t.Context(),
			clientOf(t, tokenOf(t, driversNamespace, "galen-driver", nil))))
	// Also what an attempt made that should have been refused; the driver makes its own again.
	for _, driver := range []string{gpuDriver, "story.example.com"} {
		must(t, cluster.API.ResourceV1().ResourceSlices().DeleteCollection(t.Context(),
			metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "spec.driver=" + driver}))
	}
}
