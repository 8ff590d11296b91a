package stories

import (
	"reflect"
	"slices"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// requireNoHealth wants the kubelet to have said nothing of devices' health on these Pods, also not
// in a status that it wrote after the story's last word to the driver: for that one of each Pod's
// processes is ended, so that the kubelet reports a container anew.
func requireNoHealth(t *testing.T, watches ...*PodWatch) {
	t.Helper()
	befores := make([]*corev1.Pod, len(watches))
	for i, watch := range watches {
		befores[i] = watch.Last().Pod
		must(t, syscall.Kill(pidOf(t, befores[i], "sleep\x00"), syscall.SIGKILL))
	}
	for i, watch := range watches {
		watch.Until(t, "the kubelet reports a new container", podWithin, func(pod *corev1.Pod) bool {
			return Running(pod) && !reflect.DeepEqual(containersOf(pod), containersOf(befores[i]))
		})
		for _, seen := range watch.All() {
			if lines := DeviceHealth(seen.Pod); len(lines) > 0 {
				t.Errorf("Pod %s has health: %q", watch.name, lines)
			}
		}
	}
}

// containersOf are the states of a Pod's containers, of each kind.
func containersOf(pod *corev1.Pod) []corev1.ContainerState {
	var states []corev1.ContainerState
	for _, each := range slices.Concat(pod.Status.InitContainerStatuses,
		pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses) {
		states = append(states, each.State)
	}
	return states
}
