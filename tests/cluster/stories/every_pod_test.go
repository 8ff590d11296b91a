package stories

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Each kind of Pod that can hold a device, on a real node: docs/guide/every-pod.md has them as a
// table, src/agent/every_pod_test.cc on the embedded API.

// cardClass makes GPUs an ordinary resource too; a class of its own, so that other stories' has
// none.
const cardClass = `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: cards}
spec:
  extendedResourceName: example.com/card
  selectors:
  - cel: {expression: device.driver == "gpu.example.com"}
`

// everyPodClaims: one of a prioritized list, one of two drivers, two named ones.
const everyPodClaims = oneGpu + `
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: choice}
spec:
  spec:
    devices:
      requests:
      - name: any
        firstAvailable:
        - {name: many, deviceClassName: gpu.example.com, count: 30}
        - {name: one, deviceClassName: gpu.example.com}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: two-drivers}
spec:
  spec:
    devices:
      requests:
      - {name: gpu, exactly: {deviceClassName: gpu.example.com}}
      - {name: ref, exactly: {deviceClassName: ref.example.com}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: old}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: new}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}
`

const (
	keepsRunning = `command: [sh, -c, "trap exit TERM; sleep 100000 & wait"]`
	endsAtOnce   = `command: [sh, -c, env]`
)

// runs is a container with the image that every node has.
func runs(name, command string, more ...string) string {
	return "{" + strings.Join(append([]string{"name: " + name, "image: localhost/busybox:1",
		"imagePullPolicy: Never", command}, more...), ", ") + "}"
}

// A held Pod: what it is made of, which of its containers the node's object names, and the names of
// the kubelet's entries, "container entry".
type held struct {
	name, claims, init, main string
	users                    []string // "" is no container
	kubelet                  []string
}

func (h held) yaml() string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 5
  resourceClaims: [%s]
  initContainers: [%s]
  containers: [%s]
`, h.name, h.claims, h.init, h.main)
}

const seesDevice = "resources: {claims: [{name: device}]}"

func everyHeld() []held {
	plain := runs("c", keepsRunning)
	// One device for both: the init container has ended before the other begins. 1.34.4 gives each
	// its own, and the init container's is the claim's first.
	plainUsers := []string{"c", "i"}
	if cluster.Is("1.34") {
		plainUsers = []string{"i"}
	}
	return []held{
		{"early", fromTemplate, runs("i", endsAtOnce, seesDevice), plain, []string{"i"}, nil},
		{"beside", fromTemplate, runs("s", keepsRunning, seesDevice, "restartPolicy: Always"), plain,
			[]string{"s"}, nil},
		{"nobody", fromTemplate, "", plain, []string{""}, nil},
		{"debugged", fromTemplate, "", runs("c", keepsRunning, seesDevice), []string{"c"},
			[]string{"c claim:device"}},
		{"choice", "{name: device, resourceClaimTemplateName: choice}", "",
			runs("c", keepsRunning, "resources: {claims: [{name: device, request: any}]}"),
			[]string{"c"}, []string{"c claim:device/any"}},
		{"two", "{name: device, resourceClaimTemplateName: two-drivers}", "",
			runs("c", keepsRunning, seesDevice), []string{"c"}, []string{"c claim:device"}},
		{"plain", "", runs("i", endsAtOnce, "resources: {limits: {example.com/card: 1}}"),
			runs("c", keepsRunning, "resources: {limits: {example.com/card: 1}}"),
			plainUsers, nil},
	}
}

// startObserver runs the agent beside node-1's kubelet, with the definition of its object.
func startObserver(t *testing.T) *Process {
	t.Helper()
	definition := Root() + "/deploy/crds/nodedevicehealths.yaml"
	cluster.Kubectl(t, "apply", "-f", definition)
	t.Cleanup(func() {
		if said, err := cluster.KubectlError(context.Background(), "", "delete", "--ignore-not-found",
			"--timeout=60s", "-f", definition); err != nil {
			t.Errorf("%v: %s", err, said)
		}
		// What it remembers of this story's devices is none of the next one's.
		_ = os.RemoveAll(filepath.Join(cluster.Dir, "node-1", "run", "story"))
	})
	return cluster.Run(t, "node-1", agentName, "--state-dir", "/run/story/state",
		"--socket", "/run/story/agent.sock", "--metrics-address", "127.0.0.1:9472")
}

// gpuOf is the GPU that a Pod holds, and the claim by which it does.
func gpuOf(t *testing.T, ns, name string) (gpu, claim string) {
	t.Helper()
	pod, err := cluster.API.CoreV1().Pods(ns).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		claim = extended.ResourceClaimName
	} else {
		claim = claimOf(t, ns, name).Name
	}
	object, err := cluster.API.ResourceV1().ResourceClaims(ns).Get(t.Context(), claim,
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range object.Status.Allocation.Devices.Results {
		if result.Driver == gpuDriver {
			return result.Device, claim
		}
	}
	t.Fatalf("claim %s of Pod %s holds no GPU: %v", claim, name, devicesOf(object))
	return "", ""
}

// usersOf are who the node's object says to use a device: "pod container claim", in order.
func usersOf(t *testing.T, node, device string) []string {
	t.Helper()
	var object struct {
		Status struct {
			Devices []struct {
				Device, State string
				UsedBy        []struct{ Pod, Container, Claim string }
			}
		}
	}
	text := cluster.Kubectl(t, "get", "nodedevicehealths", node, "-o", "json")
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	var users []string
	for _, each := range object.Status.Devices {
		if each.Device != device || each.State != "Unhealthy" {
			continue
		}
		for _, use := range each.UsedBy {
			users = append(users, use.Pod+" "+use.Container+" "+use.Claim)
		}
	}
	return users
}

// debug puts a container into a Pod that runs, as `kubectl debug` does, and waits for it.
func debug(t *testing.T, ns, name string, watch *PodWatch) {
	t.Helper()
	pods := cluster.API.CoreV1().Pods(ns)
	pod, err := pods.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, corev1.EphemeralContainer{
		TargetContainerName: "c",
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug",
			Image: "localhost/busybox:1", ImagePullPolicy: corev1.PullNever,
			Command: []string{"sh", "-c", "sleep 100000"}}})
	if _, err := pods.UpdateEphemeralContainers(t.Context(), name, pod,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	watch.Until(t, "somebody looks around in it", podWithin, func(pod *corev1.Pod) bool {
		return pod != nil && len(pod.Status.EphemeralContainerStatuses) == 1 &&
			pod.Status.EphemeralContainerStatuses[0].State.Running != nil
	})
}

// requireShown loses the Pod's GPU and wants it said in each of the places that its kind has.
func requireShown(t *testing.T, ns string, each held, watch *PodWatch) {
	t.Helper()
	gpu, claim := gpuOf(t, ns, each.name)
	inject(t, gpu, "xid=79")
	sentence := gpu + " Unhealthy since …: XID 79: GPU has fallen off the bus…"
	seen := watch.Until(t, "the lost GPU", shownWithin, says(sentence))
	if got := Condition(seen.Pod, condition); got.Status != corev1.ConditionFalse ||
		got.Reason != "XidGpuLost" {
		t.Errorf("%s: the condition says %+v", each.name, got)
	}
	Eventually(t, each.name+" has an Event", shownWithin, func() (bool, string) {
		events := cluster.Events(t, ns, each.name)
		return slices.ContainsFunc(events, func(line string) bool {
			return strings.HasPrefix(line, "DeviceUnhealthy: ") && strings.Contains(line, gpu)
		}), strings.Join(events, "\n")
	})
	var want []string
	for _, user := range each.users {
		want = append(want, each.name+" "+user+" "+claim)
	}
	Eventually(t, "the node's object names who uses "+gpu, shownWithin, func() (bool, string) {
		users := usersOf(t, "node-1", gpu)
		return slices.Equal(users, want), fmt.Sprint(users)
	})
	// 1.34.4 writes none for claims, whatever its gates say.
	if cluster.Is("1.34") || len(each.kubelet) == 0 {
		requireNoHealth(t, watch)
	}
	kubelet := watch.Until(t, "the kubelet's field", shownWithin, func(pod *corev1.Pod) bool {
		return cluster.Is("1.34") || slices.Equal(namesOf(pod), each.kubelet)
	}).Pod
	for _, status := range kubelet.Status.EphemeralContainerStatuses {
		if len(status.AllocatedResourcesStatus) > 0 {
			t.Errorf("%s: an ephemeral container has health", each.name)
		}
	}
	t.Logf("%s: %s; the kubelet says %q", each.name, seen.Pod.Annotations[annotation],
		DeviceHealth(kubelet))
	inject(t, gpu, "reset")
}

func TestEveryKindOfPodHearsOfItsDeviceBesideAKubelet(t *testing.T) {
	cluster.Apply(t, "default", cardClass)
	t.Cleanup(func() {
		_ = cluster.API.ResourceV1().DeviceClasses().Delete(context.Background(), "cards",
			metav1.DeleteOptions{})
	})
	startGpus(t, "--devices", "12")
	startReference(t)
	agent := startObserver(t)
	awaitLog(t, agent, "lists of the API server are known")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, everyPodClaims)
	watches := map[string]*PodWatch{}
	for _, each := range everyHeld() {
		watches[each.name] = cluster.WatchPod(t, ns, each.name)
		cluster.Apply(t, ns, each.yaml())
	}
	for _, each := range everyHeld() {
		watches[each.name].Until(t, "Ready", podWithin, Running)
		watches[each.name].Until(t, "all is well", shownWithin, says("… Healthy"))
	}
	debug(t, ns, "debugged", watches["debugged"])
	for _, each := range everyHeld() {
		requireShown(t, ns, each, watches[each.name])
	}
	requireAnotherOfTheName(t, ns)
	requireNoRefusal(t, agent)
}

// requireNoRefusal: the API server took whatever the agent wrote. A driver's socket that is not
// there yet refuses too, which is another matter.
func requireNoRefusal(t *testing.T, agent *Process) {
	t.Helper()
	for _, words := range []string{"status refused", "cannot be read", "forbids"} {
		if strings.Contains(agent.Log(), words) {
			t.Errorf("the agent was refused something:\n%s", agent.Log())
		}
	}
}

// requireAnotherOfTheName: two Pods share a GPU that is lost; one is removed, and the next of its
// name, with another GPU, gets no news of that one.
func requireAnotherOfTheName(t *testing.T, ns string) {
	t.Helper()
	keeper, again := hold(t, ns, "keeper", named("old")), hold(t, ns, "again", named("old"))
	lost, _ := gpuOf(t, ns, "again")
	inject(t, lost, "xid=79")
	for _, watch := range []*PodWatch{keeper, again} {
		watch.Until(t, "the lost GPU", shownWithin, says(lost+" Unhealthy since …"))
	}
	remove(t, ns, "again")
	next := hold(t, ns, "again", named("new"))
	gpu, _ := gpuOf(t, ns, "again")
	seen := next.Until(t, "its own GPU", shownWithin, says(gpu+" Healthy"))
	if got := Condition(seen.Pod, condition); got.Status != corev1.ConditionTrue {
		t.Errorf("the next Pod's condition says %+v", got)
	}
	for _, seen := range next.All() {
		if seen.Pod != nil && strings.Contains(seen.Pod.Annotations[annotation], lost) &&
			seen.Pod.UID == next.Last().Pod.UID {
			t.Errorf("the next Pod was shown %s: %s", lost, seen.Pod.Annotations[annotation])
		}
	}
	inject(t, lost, "reset")
}

// What has no entry in a container's status is shown by the rest, by a manager too.
func TestAVirtualNodesPodsHearOfDevicesThatNoEntryCanName(t *testing.T) {
	sameOnBoth(t)
	manager := startManager(t)
	cluster.Apply(t, "default", virtualClass())
	driver := cluster.Reference(t, "node-1", "--name", virtualDriver, "--node", virtualNode,
		"--kubelet-root", virtualRoot, "--cdi", virtualRoot+"/cdi", "--devices", "4")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, virtualObjects)
	one := "[{name: device, resourceClaimTemplateName: one}]"
	nobody := form{"nobody", one, "", sees("c", "{}"), nil}
	debugged := form{"debugged", one, "", sees("c", "{claims: [{name: device}]}"),
		[]string{"c claim:device"}}
	watches := map[string]*PodWatch{}
	for _, each := range []form{nobody, debugged} {
		watches[each.name] = cluster.WatchPod(t, ns, each.name)
		cluster.Apply(t, ns, each.yaml())
		watches[each.name].Until(t, "that all is well", podWithin, says("dev-… Healthy"))
	}
	patch := `{"spec": {"ephemeralContainers": [
		{"name": "debug", "image": "none", "targetContainerName": "c"}]}}`
	if _, err := cluster.API.CoreV1().Pods(ns).Patch(t.Context(), "debugged",
		"application/strategic-merge-patch+json", []byte(patch), metav1.PatchOptions{},
		"ephemeralcontainers"); err != nil {
		t.Fatal(err)
	}
	driver.Tell(t, "health all Unhealthy it fell off the bus")
	for _, each := range []form{nobody, debugged} {
		pod := watches[each.name].Until(t, "the fault", shownWithin,
			says("dev-… Unhealthy since …: it fell off the bus")).Pod
		if got := Condition(pod, condition); got.Status != corev1.ConditionFalse {
			t.Errorf("%s: the condition says %+v", each.name, got)
		}
		watches[each.name].Until(t, "its entries", shownWithin, func(pod *corev1.Pod) bool {
			return slices.Equal(namesOf(pod), each.entries)
		})
	}
	requireNoRefusal(t, manager)
}
