package stories

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
)

// What the real scheduler makes of health in ResourceSlices.

// unharmed selects GPUs that have lost nothing, atLeastHalf also such that work at half their
// width.
const unharmed = `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: unharmed}
spec:
  selectors:
  - cel:
      expression: >-
        device.driver == "gpu.example.com" && device.attributes["galen.dev"].degraded == 0
`

var atLeastHalf = strings.NewReplacer("name: unharmed", "name: at-least-half", "== 0", "<= 50").
	Replace(unharmed)

func gpuClaimOf(class string) string {
	return strings.NewReplacer("name: one-gpu", "name: one-"+class,
		"deviceClassName: gpu.example.com", "deviceClassName: "+class).Replace(oneGpu)
}

func holderOfOne(name, class string) string {
	return holder(name, "{name: device, resourceClaimTemplateName: one-"+class+"}")
}

// offered are the devices that slices of gpuDriver have now, by name.
func offered(t *testing.T) map[string]resourcev1.Device {
	t.Helper()
	devices := map[string]resourcev1.Device{}
	for _, slice := range slicesOf(t, gpuDriver) {
		for _, device := range slice.Spec.Devices {
			devices[device.Name] = device
		}
	}
	return devices
}

// taintsCount is whether the API server keeps taints of devices: its DRADeviceTaints gate is on.
func taintsCount(t *testing.T) bool {
	t.Helper()
	get := cluster.API.CoreV1().RESTClient().Get().AbsPath("/metrics")
	text, err := get.DoRaw(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	on := regexp.MustCompile(`kubernetes_feature_enabled\{name="DRADeviceTaints",stage="[A-Z]*"\} 1\n`)
	return on.Match(text)
}

func awaitOffered(t *testing.T, what string, holds func(map[string]resourcev1.Device) bool) {
	t.Helper()
	Eventually(t, what, shownWithin, func() (bool, string) {
		now := offered(t)
		return holds(now), fmt.Sprint(now)
	})
}

func TestOneLineOfCelTakesOrLeavesADegradedGpu(t *testing.T) {
	sameOnBoth(t)
	startGpus(t, "--devices", "1", "--health-attributes")
	ns := cluster.Namespace(t)
	cluster.Apply(t, "default", unharmed)
	cluster.Apply(t, "default", atLeastHalf)
	cluster.Apply(t, ns, gpuClaimOf("unharmed"))
	cluster.Apply(t, ns, gpuClaimOf("at-least-half"))
	inject(t, "gpu-0", "pcie-width=8")
	defer inject(t, "gpu-0", "pcie-width=16")
	awaitOffered(t, "half is lost", func(now map[string]resourcev1.Device) bool {
		lost := now["gpu-0"].Attributes["galen.dev/degraded"].IntValue
		return lost != nil && *lost == 50
	})

	choosy := cluster.WatchPod(t, ns, "choosy")
	cluster.Apply(t, ns, holderOfOne("choosy", "unharmed"))
	choosy.Until(t, "no GPU for the choosy one", podWithin, unschedulable)
	content := cluster.WatchPod(t, ns, "content")
	cluster.Apply(t, ns, holderOfOne("content", "at-least-half"))
	content.Until(t, "the other takes it", podWithin, Running)
	cluster.Kubectl(t, "delete", "pod", "content", "-n", ns, "--wait")

	inject(t, "gpu-0", "pcie-width=16")
	choosy.Until(t, "well again, it is taken", podWithin, Running)
}

func TestAnUnhealthyGpuIsWithdrawnOnlyWhereTaintsDoNotCount(t *testing.T) {
	startGpus(t, "--devices", "2", "--taint-unhealthy", "NoSchedule", "--withdraw-unhealthy",
		"without-taints")
	inject(t, "gpu-0", "xid=79")
	defer inject(t, "gpu-0", "reset")
	if !taintsCount(t) {
		awaitOffered(t, "gpu-0 is gone", func(now map[string]resourcev1.Device) bool {
			_, there := now["gpu-0"]
			return len(now) == 1 && !there
		})
	} else {
		awaitOffered(t, "gpu-0 is tainted", func(now map[string]resourcev1.Device) bool {
			return len(now) == 2 && len(now["gpu-0"].Taints) == 1
		})
	}
	inject(t, "gpu-0", "reset")
	awaitOffered(t, "both are offered", func(now map[string]resourcev1.Device) bool {
		return len(now) == 2 && len(now["gpu-0"].Taints) == 0
	})
}

func TestAPodKeepsItsWithdrawnGpuAndSaysWhatHappenedToIt(t *testing.T) {
	sameOnBoth(t)
	startGpus(t, "--devices", "1", "--withdraw-unhealthy", "always")
	agent := startObserver(t)
	awaitLog(t, agent, "lists of the API server are known")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneGpu)
	watch := hold(t, ns, "trainer", fromTemplate)
	watch.Until(t, "all is well", shownWithin, says("gpu-0 Healthy"))
	inject(t, "gpu-0", "xid=79")
	defer inject(t, "gpu-0", "reset")
	watch.Until(t, "the XID", shownWithin,
		says("gpu-0 Unhealthy since …: XID 79: GPU has fallen off the bus"))
	awaitOffered(t, "it is withdrawn", func(now map[string]resourcev1.Device) bool {
		return len(now) == 0
	})
	late := cluster.WatchPod(t, ns, "late")
	cluster.Apply(t, ns, holder("late", fromTemplate))
	late.Until(t, "no GPU for the next", podWithin, unschedulable)
	inject(t, "gpu-0", "reset")
	watch.Until(t, "well again", shownWithin, says("gpu-0 Healthy"))
	if !Running(watch.Last().Pod) {
		t.Errorf("the holder runs no more: %s", Tell(watch.Last().Pod))
	}
}
