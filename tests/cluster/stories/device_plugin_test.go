package stories

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a driver's device plugin does beside a real kubelet.

const pluginResource = "gpus.example.com/gpu"

// startPlugin runs galen-driver gpu with a device plugin beside node-1's kubelet and returns when
// the kubelet has taken its devices.
func startPlugin(t *testing.T, flags ...string) *Process {
	t.Helper()
	// It stays when its driver ends, for containers that start again; the next story has none.
	t.Cleanup(func() {
		if err := os.Remove(devicesFile()); err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
	})
	p := cluster.Run(t, "node-1", "galen-driver",
		append([]string{"gpu", "--device-plugin", pluginResource}, flags...)...)
	awaitLog(t, p, "the kubelet takes the devices of the device plugin")
	return p
}

// pluginOffers is how many devices of the resource the scheduler may give out on node-1, -1 before
// it has heard of any.
func pluginOffers(t *testing.T) int64 {
	t.Helper()
	node, err := cluster.API.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	quantity, there := node.Status.Allocatable[corev1.ResourceName(pluginResource)]
	if !there {
		return -1
	}
	return quantity.Value()
}

func awaitPluginOffers(t *testing.T, count int64) {
	t.Helper()
	Eventually(t, fmt.Sprintf("node-1 offers %d of %s", count, pluginResource), podWithin,
		func() (bool, string) {
			have := pluginOffers(t)
			return have == count, fmt.Sprint(have)
		})
}

// asking is a Pod of one container, named c, that asks for that many devices of the resource.
func asking(name string, count int64) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 5
  containers:
  - name: c
    image: localhost/busybox:1
    imagePullPolicy: Never
    command: [sh, -c, "trap exit TERM; sleep 100000 & wait"]
    resources: {limits: {%s: %s}}
`, name, pluginResource, resource.NewQuantity(count, resource.DecimalSI))
}

// pluginHealth is what the kubelet says of the Pod's devices of the resource: "gpu-3=Unhealthy".
func pluginHealth(pod *corev1.Pod) []string {
	var devices []string
	for _, line := range DeviceHealth(pod) {
		if rest, ours := strings.CutPrefix(line, "c "+pluginResource+" "); ours {
			devices = append(devices, rest)
		}
	}
	return devices
}

func saysOfPlugin(device, state string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		return slices.Equal(pluginHealth(pod), []string{device + "=" + state})
	}
}

// devicesFile says to container runtimes what the plugin's devices bring.
func devicesFile() string {
	return filepath.Join(cluster.Dir, "node-1", "run", "cdi", gpuDriver+"-device.json")
}

// gpuNamed is the variable by which the driver's CDI file gives out a device of the plugin.
func gpuNamed(t *testing.T, device string) string {
	t.Helper()
	text, err := os.ReadFile(devicesFile())
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Devices []struct {
			Name           string
			ContainerEdits struct{ Env []string }
		}
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	for _, each := range spec.Devices {
		if each.Name == device {
			return strings.Join(each.ContainerEdits.Env, " ")
		}
	}
	return "no device " + device
}

func TestAPodThatAsksForAnExtendedResourceGetsADeviceAndItsHealth(t *testing.T) {
	if cluster.Is("1.34") {
		t.Skip("the kubelet of 1.34 writes no health on Pods")
	}
	driver := startPlugin(t, "--devices", "2")
	awaitPluginOffers(t, 2)
	for _, slice := range slicesOf(t, gpuDriver) {
		if len(slice.Spec.Devices) > 0 {
			t.Errorf("devices of the plugin are in slice %s", slice.Name)
		}
	}
	ns := cluster.Namespace(t)
	watch := cluster.WatchPod(t, ns, "trainer")
	cluster.Apply(t, ns, asking("trainer", 1))
	watch.Until(t, "Ready", podWithin, Running)

	// Which of the two it is says the kubelet.
	watch.Until(t, "the kubelet says which device", shownWithin, func(pod *corev1.Pod) bool {
		return len(pluginHealth(pod)) == 1
	})
	device, _, _ := strings.Cut(pluginHealth(watch.Last().Pod)[0], "=")
	if have, want := gpusIn(t, ns, "trainer", "c"), gpuNamed(t, device); len(have) != 1 ||
		have[0] != want {
		t.Errorf("the container has %q and the CDI file %q", have, want)
	}

	begin := time.Now()
	inject(t, device, "xid=79")
	told := watch.Until(t, "Unhealthy", shownWithin, saysOfPlugin(device, "Unhealthy"))
	t.Logf("Unhealthy on the Pod after %v", told.At.Sub(begin).Round(time.Millisecond))
	awaitPluginOffers(t, 1)

	// A kubelet that starts removes the plugin's socket and forgets the plugin.
	before := strings.Count(driver.Log(), "the kubelet takes the devices")
	cluster.Kill(t, "node-1/kubelet")
	cluster.Start(t, "node-1/kubelet")
	Eventually(t, "the plugin is registered again", podWithin, func() (bool, string) {
		return strings.Count(driver.Log(), "the kubelet takes the devices") > before,
			tail(driver.Log(), 3)
	})
	awaitPluginOffers(t, 1)
	inject(t, device, "reset")
	watch.Until(t, "Healthy", shownWithin, saysOfPlugin(device, "Healthy"))
	awaitPluginOffers(t, 2)
}

func TestADriverThatIsReplacedTakesItsDevicesUpAgain(t *testing.T) {
	sameOnBoth(t)
	driver := startPlugin(t, "--devices", "2", "--instance", "one")
	awaitPluginOffers(t, 2)
	ns := cluster.Namespace(t)
	watch := cluster.WatchPod(t, ns, "trainer")
	cluster.Apply(t, ns, asking("trainer", 2))
	watch.Until(t, "Ready", podWithin, Running)

	next := cluster.Run(t, "node-1", "galen-driver", "gpu", "--device-plugin", pluginResource,
		"--devices", "2", "--instance", "two")
	awaitLog(t, next, "another process serves the device plugin")
	driver.Stop()
	awaitLog(t, next, "the kubelet takes the devices of the device plugin")
	awaitPluginOffers(t, 2)
	if pod := watch.Last().Pod; !Running(pod) {
		t.Errorf("the Pod did not outlive its driver: %s", Tell(pod))
	}
}
