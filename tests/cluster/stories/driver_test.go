package stories

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	gpuDriver = "gpu.example.com"
	// podWithin is what a Pod gets to be Ready, on a machine that does other things too.
	podWithin = 60 * time.Second
)

// gpuClass selects all devices of galen-driver gpu.
const gpuClass = `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec:
  selectors:
  - cel: {expression: device.driver == "gpu.example.com"}
`

// startGpus runs galen-driver gpu beside node-1's kubelet and returns when its devices are published
// and the kubelet has taken it.
func startGpus(t *testing.T, flags ...string) *Process {
	t.Helper()
	cluster.Apply(t, "default", gpuClass)
	p := cluster.Run(t, "node-1", "galen-driver", append([]string{"gpu"}, flags...)...)
	awaitRegistered(t, p)
	awaitSlices(t, gpuDriver, 1)
	return p
}

func awaitRegistered(t *testing.T, p *Process) {
	t.Helper()
	Eventually(t, "the kubelet registers the driver", 30*time.Second, func() (bool, string) {
		return strings.Contains(p.Log(), "driver is registered"), tail(p.Log(), 3)
	})
}

// slicesOf are a driver's, as the API server has them now.
func slicesOf(t *testing.T, driver string) []resourcev1.ResourceSlice {
	t.Helper()
	list, err := cluster.API.ResourceV1().ResourceSlices().List(t.Context(),
		metav1.ListOptions{FieldSelector: "spec.driver=" + driver})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func awaitSlices(t *testing.T, driver string, count int) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%d slices of %s", count, driver), 30*time.Second,
		func() (bool, string) {
			have := len(slicesOf(t, driver))
			return have == count, fmt.Sprintf("%d slices", have)
		})
}

// gpuPod holds what `claims` says: entries of spec.resourceClaims, in YAML's short form.
func gpuPod(name string, claims string, uses string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 0
  resourceClaims: [%s]
  containers:
  - name: c
    image: localhost/busybox:1
    imagePullPolicy: Never
    command: [sleep, "100000"]
    resources: {claims: [%s]}
`, name, claims, uses)
}

const oneGpuTemplate = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec:
  spec:
    devices:
      requests:
      - {name: gpu, exactly: {deviceClassName: gpu.example.com}}
`

func TestAClaimIsPreparedAndItsGpuIsSeenInTheContainer(t *testing.T) {
	startGpus(t)
	slices := slicesOf(t, gpuDriver)
	if devices := slices[0].Spec.Devices; len(devices) != 8 {
		t.Fatalf("%d devices in the slice, wanted 8", len(devices))
	}
	ns := cluster.Namespace(t)
	watch := cluster.WatchPod(t, ns, "holder")
	cluster.Apply(t, ns, oneGpuTemplate)
	cluster.Apply(t, ns, gpuPod("holder",
		"{name: device, resourceClaimTemplateName: one-gpu}", "{name: device}"))
	watch.Until(t, "Ready", podWithin, Running)

	environment := cluster.Kubectl(t, "exec", "-n", ns, "holder", "--", "env")
	if !strings.Contains(environment, "GPU_") {
		t.Errorf("the container has no variable of its GPU: %s", environment)
	}
	if cluster.Is("1.34") {
		return // writes no health of claims, whatever its gates say
	}
	watch.Until(t, "its health", 20*time.Second, func(pod *corev1.Pod) bool {
		health := DeviceHealth(pod)
		return len(health) == 1 && strings.HasPrefix(health[0], "c claim:device ") &&
			strings.HasSuffix(health[0], "=Healthy")
	})
}
