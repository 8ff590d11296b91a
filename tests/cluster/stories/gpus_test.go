package stories

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What stories about galen-driver's simulated GPUs share.

const (
	gpuDriver = "gpu.example.com"
	// podWithin is what a Pod gets to be Ready, on a machine that does other things too.
	podWithin = 60 * time.Second
	// shownWithin is what a fault gets to be on a Pod where nobody measures.
	shownWithin = 20 * time.Second
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

// oneGpu is a template for a claim of one GPU; its request is named gpu.
const oneGpu = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec:
  spec:
    devices:
      requests:
      - {name: gpu, exactly: {deviceClassName: gpu.example.com}}
`

// sixtyGi is oneGpu by a share of its memory.
var sixtyGi = strings.Replace(oneGpu, "deviceClassName: gpu.example.com",
	"deviceClassName: gpu.example.com, capacity: {requests: {memory: 60Gi}}", 1)

// look is a claim of a GPU that others have, by admin access.
const look = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: look}
spec:
  devices:
    requests:
    - {name: gpu, exactly: {deviceClassName: gpu.example.com, adminAccess: true}}
`

// fromTemplate and named are what a Pod says of its claim; the Pod knows it as "device".
const fromTemplate = "{name: device, resourceClaimTemplateName: one-gpu}"

func named(claim string) string { return "{name: device, resourceClaimName: " + claim + "}" }

// startGpus runs galen-driver gpu beside node-1's kubelet and returns when its devices are
// published and the kubelet has taken it.
func startGpus(t *testing.T, flags ...string) *Process {
	t.Helper()
	cluster.Apply(t, "default", gpuClass)
	p := cluster.Run(t, "node-1", "galen-driver", append([]string{"gpu"}, flags...)...)
	cluster.BeforeProgramsEnd(t, func() {
		if p.Running() {
			awaitNoneLeft(t)
		}
	})
	awaitRegistered(t, p)
	awaitPublished(t, p)
	return p
}

// awaitNoneLeft: what is prepared when the driver ends would be the next story's.
func awaitNoneLeft(t *testing.T) {
	t.Helper()
	Eventually(t, "all claims are unprepared", podsGoneWithin, func() (bool, string) {
		left := prepared(t, gpuDriver)
		return len(left) == 0, fmt.Sprint(left)
	})
}

// Both are what the driver itself says, once it got the command.
func awaitRegistered(t *testing.T, p *Process) {
	t.Helper()
	awaitLog(t, p, "driver is registered")
}

// awaitPublished: slices of an earlier story may still be there, so their being there says nothing.
func awaitPublished(t *testing.T, p *Process) {
	t.Helper()
	begin := time.Now()
	Eventually(t, "slices of "+gpuDriver, 30*time.Second, func() (bool, string) {
		published := slicesOf(t, gpuDriver)
		// A driver that finds what it wants writes nothing; a change takes it a few milliseconds.
		settled := strings.Contains(p.Log(), "ResourceSlices are published") ||
			time.Since(begin) > time.Second
		return settled && len(published) > 0, fmt.Sprintf("%d slices", len(published))
	})
}

func awaitLog(t *testing.T, p *Process, words string) {
	t.Helper()
	Eventually(t, p.Name+" says: "+words, 60*time.Second, func() (bool, string) {
		return strings.Contains(p.Log(), words), tail(p.Log(), 3)
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

// holder is a Pod of one container, named c, that holds the claim until it is deleted. It ends at
// once when it is asked to. A grace of 0 would be something else: the Pod would be gone from the
// API while its container runs, and another Pod could be given its devices.
func holder(name string, claim string) string {
	return holderOf(name, claim, "{name: c, uses: [{name: device}]}")
}

// container is one of holderOf's: "{name: c, uses: [{name: device, request: gpu}]}".
var container = regexp.MustCompile(`\{name: ([\w-]+), uses: (\[[^]]*\])\}`)

func holderOf(name string, claim string, containers ...string) string {
	yaml := fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 5
  resourceClaims: [%s]
  containers:
`, name, claim)
	for _, each := range containers {
		words := container.FindStringSubmatch(each)
		yaml += fmt.Sprintf(`  - name: %s
    image: localhost/busybox:1
    imagePullPolicy: Never
    command: [sh, -c, "trap exit TERM; sleep 100000 & wait"]
    resources: {claims: %s}
`, words[1], words[2])
	}
	return yaml
}

// hold makes a Pod that holds the claim, and returns when it is Ready.
func hold(t *testing.T, ns, name, claim string) *PodWatch {
	t.Helper()
	watch := cluster.WatchPod(t, ns, name)
	cluster.Apply(t, ns, holder(name, claim))
	watch.Until(t, "Ready", podWithin, Running)
	return watch
}

// remove deletes a Pod and returns when it is gone.
func remove(t *testing.T, ns, name string) {
	t.Helper()
	if err := cluster.API.CoreV1().Pods(ns).Delete(t.Context(), name,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "Pod "+name+" is gone", podsGoneWithin, func() (bool, string) {
		pod, err := cluster.API.CoreV1().Pods(ns).Get(t.Context(), name, metav1.GetOptions{})
		return err != nil, Tell(pod)
	})
}

// gpusIn are the variables that name a container's GPUs: "GPU_3=GPU-…", sorted.
func gpusIn(t *testing.T, ns, pod, container string) []string {
	t.Helper()
	var gpus []string
	for line := range strings.Lines(cluster.Kubectl(t, "exec", "-n", ns, pod, "-c", container, "--",
		"env")) {
		if strings.HasPrefix(line, "GPU_") {
			gpus = append(gpus, strings.TrimSpace(line))
		}
	}
	slices.Sort(gpus)
	return gpus
}

// claimOf is the claim that a Pod knows as "device".
func claimOf(t *testing.T, ns, pod string) *resourcev1.ResourceClaim {
	t.Helper()
	have, err := cluster.API.CoreV1().Pods(ns).Get(t.Context(), pod, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	for _, entry := range have.Spec.ResourceClaims {
		if entry.ResourceClaimName != nil {
			name = *entry.ResourceClaimName
		}
	}
	for _, status := range have.Status.ResourceClaimStatuses {
		if status.ResourceClaimName != nil {
			name = *status.ResourceClaimName
		}
	}
	claim, err := cluster.API.ResourceV1().ResourceClaims(ns).Get(t.Context(), name,
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

// devicesOf are those that a claim holds, in the order of its requests.
func devicesOf(claim *resourcev1.ResourceClaim) []string {
	var devices []string
	if claim.Status.Allocation != nil {
		for _, result := range claim.Status.Allocation.Devices.Results {
			devices = append(devices, result.Device)
		}
	}
	return devices
}

// prepared are the UIDs of claims for which the driver has a CDI file on node-1.
func prepared(t *testing.T, driver string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cluster.Dir, "node-1", "run", "cdi",
		driver+"-claim_*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var uids []string
	for _, file := range files {
		_, rest, _ := strings.Cut(filepath.Base(file), "-claim_")
		uids = append(uids, strings.TrimSuffix(rest, ".json"))
	}
	return uids
}

// gpuOfSpec is the UUID of the GPU that a claim's CDI file gives out; "" once the file is gone.
func gpuOfSpec(uid string) string {
	text, err := os.ReadFile(filepath.Join(cluster.Dir, "node-1", "run", "cdi",
		gpuDriver+"-claim_"+uid+".json"))
	var spec struct {
		Devices []struct {
			ContainerEdits struct{ Env []string }
		}
	}
	if err != nil || json.Unmarshal(text, &spec) != nil || len(spec.Devices) == 0 {
		return ""
	}
	return strings.Join(spec.Devices[0].ContainerEdits.Env, " ")
}

func awaitUnprepared(t *testing.T, driver, uid string, within time.Duration) {
	t.Helper()
	Eventually(t, "claim "+uid+" is unprepared", within, func() (bool, string) {
		left := prepared(t, driver)
		return !slices.Contains(left, uid), fmt.Sprint(left)
	})
}

// inject makes a simulated GPU show a sign: "xid=79", "reset".
func inject(t *testing.T, device, sign string) {
	t.Helper()
	cluster.Output(t, "node-1", "galen", "inject", device, sign, "--driver-socket",
		"/var/lib/kubelet/plugins/"+gpuDriver+"/dra.sock")
}

// saysHealth holds when the kubelet's field has as many devices as that, all in this state with
// this message. The kubelet of 1.34.4 writes none of it for claims, whatever its gates say.
func saysHealth(count int, state, message string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		lines := DeviceHealth(pod)
		for _, line := range lines {
			if !strings.HasSuffix(line, strings.TrimSpace("="+state+" "+message)) {
				return false
			}
		}
		return len(lines) == count
	}
}
