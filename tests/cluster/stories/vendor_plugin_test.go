package stories

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A device of a device plugin on a real kubelet: the plugin is one as vendors have them, which
// calls its GPUs by their UUIDs; the kubelet gives one to a Pod, which holds another vendor's
// device by a claim as well. Who looks at the hardware is galen-driver beside the plugin.

const vendorResource = "example.com/gpu"

// startVendorPlugin runs the device plugin beside node-1's kubelet, and returns when the scheduler
// may give its devices away.
func startVendorPlugin(t *testing.T, ids string) *Process {
	t.Helper()
	plugin := cluster.start(t, "node-1", "device-plugin",
		cluster.harness(t.Context(), "driver", "node-1", "--plugin", vendorResource+"="+ids))
	Eventually(t, "the node has "+vendorResource, 30*time.Second, func() (bool, string) {
		said := cluster.Kubectl(t, "get", "node", "node-1", "-o",
			`jsonpath={.status.allocatable.example\.com/gpu}`)
		return said != "" && said != "0", said + plugin.Log()
	})
	return plugin
}

// withPlugin is a Pod that holds a claim, with a device of the plugin beside it.
func withPlugin(name, claim string) string {
	return strings.Replace(holder(name, claim), "resources: {claims:",
		"resources: {limits: {"+vendorResource+": 1}, claims:", 1)
}

func TestAPodShowsADevicePluginsDeviceBesideThatOfItsClaim(t *testing.T) {
	reference := startReference(t)
	plugin := startVendorPlugin(t, "GPU-0,GPU-1")
	agent := startObserver(t)
	awaitLog(t, agent, "lists of the API server are known")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneRef)
	watch := cluster.WatchPod(t, ns, "trainer")
	cluster.Apply(t, ns, withPlugin("trainer", fromTemplate))
	watch.Until(t, "Ready", podWithin, Running)
	watch.Until(t, "nobody looks at the plugin's devices", shownWithin, says("dev-… Healthy"))

	answers, show := showNvml(t)
	cluster.Run(t, "node-1", "env", "GALEN_NVML_ANSWERS="+answers, Program("galen-driver"), "nvidia",
		"--health-only-for", vendorResource, "--health-sources", "/run/story/health", "--nvml",
		nvmlLibrary(), "--driver-root", t.TempDir(), "--poll", "500ms", "--state-dir", t.TempDir())
	both := watch.Until(t, "the plugin's device beside the claim's", shownWithin,
		func(pod *corev1.Pod) bool {
			return says("GPU-… Healthy; dev-… Healthy")(pod) || says("dev-… Healthy; GPU-… Healthy")(pod)
		})
	gpu := "GPU-0"
	if strings.Contains(both.Pod.Annotations[annotation], "GPU-1") {
		gpu = "GPU-1"
	}

	show("xid " + gpu[len("GPU-"):] + " 79\n")
	watch.Until(t, "the XID", shownWithin, says(gpu+
		" Unhealthy since …: XID 79: GPU has fallen off the bus …; dev-… Healthy"))
	device := devicesOf(claimOf(t, ns, "trainer"))[0]
	reference.Tell(t, "health "+device+" Unhealthy it fell off the bus")
	seen := watch.Until(t, "both are bad", shownWithin, func(pod *corev1.Pod) bool {
		said := pod.Annotations[annotation]
		return strings.Contains(said, gpu+" Unhealthy since") &&
			strings.Contains(said, device+" Unhealthy since")
	})
	t.Logf("annotation: %s\ncondition: %+v\nthe kubelet says %v", seen.Pod.Annotations[annotation],
		Condition(seen.Pod, condition), DeviceHealth(seen.Pod))
	why := cluster.Kubectl(t, "describe", "pod", "-n", ns, "trainer")
	if !strings.Contains(why, "XID 79") {
		t.Errorf("kubectl describe pod says nothing of the XID:\n%s", why)
	}
	// Some plugins serve one listener: the agent is none.
	if heard := strings.Count(plugin.Log(), "somebody listens to"); heard != 1 {
		t.Errorf("%s was listened to %d times, the kubelet does it once:\n%s", vendorResource, heard,
			plugin.Log())
	}
	staysWhileKubeletAndAgentStartAgain(t, watch, agent, gpu+" Unhealthy since",
		device+" Unhealthy since")
}

// staysWhileKubeletAndAgentStartAgain fails where a version of the Pod meanwhile, or in the end,
// does not have all of said in its annotation.
func staysWhileKubeletAndAgentStartAgain(t *testing.T, watch *PodWatch, agent *Process,
	said ...string) {
	t.Helper()
	before := len(watch.All())
	cluster.Kill(t, "node-1/kubelet")
	agent.Kill()
	next := startObserver(t)
	awaitLog(t, next, "lists of the API server are known")
	awaitLog(t, next, "kubelet does not say which devices its Pods have")
	cluster.Start(t, "node-1/kubelet")
	awaitLog(t, next, "kubelet says which devices its Pods have")
	// As long as the agent leaves the Pod as it is, and reports take to be repeated.
	time.Sleep(35 * time.Second)
	for _, seen := range append(watch.All()[before:], watch.Last()) {
		for _, each := range said {
			if !strings.Contains(seen.Pod.Annotations[annotation], each) {
				t.Errorf("at %s the Pod said nothing of %q: %s", seen.At.Format(time.RFC3339Nano), each,
					seen.Pod.Annotations[annotation])
			}
		}
	}
	for _, log := range []string{agent.Log(), next.Log()} {
		if strings.Contains(log, "name different devices") {
			t.Errorf("kubelet and API server name different devices:\n%s", log)
		}
	}
}
