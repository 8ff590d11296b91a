package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const namedClaim = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: mine}
spec:
  devices:
    requests:
    - {name: gpu, exactly: {deviceClassName: gpu.example.com}}
`

func TestAClaimFromATemplateIsPreparedAndItsGpuIsSeenInTheContainer(t *testing.T) {
	startGpus(t)
	published := slicesOf(t, gpuDriver)
	if len(published) != 1 || len(published[0].Spec.Devices) != 8 {
		t.Fatalf("8 devices in 1 slice were wanted: %v", published)
	}
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneGpu)
	hold(t, ns, "holder", fromTemplate)
	claim := claimOf(t, ns, "holder")
	gpus := gpusIn(t, ns, "holder", "c")
	if len(gpus) != 1 || gpus[0] != gpuOfSpec(string(claim.UID)) {
		t.Errorf("the container sees %v, the claim's CDI file gives %s", gpus,
			gpuOfSpec(string(claim.UID)))
	}
	remove(t, ns, "holder")
	awaitUnprepared(t, gpuDriver, string(claim.UID), podWithin)
}

func TestANamedClaimIsPreparedForOnePodAfterTheOther(t *testing.T) {
	sameOnBoth(t)
	startGpus(t)
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, namedClaim)
	for _, name := range []string{"first", "second"} {
		hold(t, ns, name, named("mine"))
		if gpus := gpusIn(t, ns, name, "c"); len(gpus) != 1 {
			t.Errorf("Pod %s sees %v, wanted one GPU", name, gpus)
		}
		uid := string(claimOf(t, ns, name).UID)
		remove(t, ns, name)
		awaitUnprepared(t, gpuDriver, uid, podWithin)
	}
}

func TestContainersSeeTheGpusOfTheirRequestsOnly(t *testing.T) {
	startGpus(t)
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, `
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: three}
spec:
  devices:
    requests:
    - {name: one, exactly: {deviceClassName: gpu.example.com}}
    - {name: two, exactly: {deviceClassName: gpu.example.com, count: 2}}
`)
	watch := cluster.WatchPod(t, ns, "holder")
	cluster.Apply(t, ns, holderOf("holder", named("three"),
		"{name: a, uses: [{name: device, request: one}]}",
		"{name: b, uses: [{name: device, request: two}]}",
		"{name: all, uses: [{name: device}]}", "{name: none, uses: []}"))
	watch.Until(t, "Ready", podWithin, Running)
	seen := map[string][]string{}
	for container, count := range map[string]int{"a": 1, "b": 2, "all": 3, "none": 0} {
		if seen[container] = gpusIn(t, ns, "holder", container); len(seen[container]) != count {
			t.Errorf("container %s sees %v, wanted %d GPUs", container, seen[container], count)
		}
	}
	both := slices.Sorted(slices.Values(slices.Concat(seen["a"], seen["b"])))
	if !slices.Equal(both, seen["all"]) {
		t.Errorf("a and b see %v together, the container of the whole claim %v", both, seen["all"])
	}
	if !cluster.Is("1.34") {
		watch.Until(t, "six entries of health", shownWithin, saysHealth(6, "Healthy", ""))
		requireEntries(t, watch.Last().Pod, "a claim:device/one ", 1)
		requireEntries(t, watch.Last().Pod, "b claim:device/two ", 2)
		requireEntries(t, watch.Last().Pod, "all claim:device ", 3)
	}
}

// requireEntries wants that many lines of DeviceHealth that begin so.
func requireEntries(t *testing.T, pod *corev1.Pod, begin string, count int) {
	t.Helper()
	found := 0
	for _, line := range DeviceHealth(pod) {
		if strings.HasPrefix(line, begin) {
			found++
		}
	}
	if found != count {
		t.Errorf("%d entries %q, wanted %d: %q", found, begin, count, DeviceHealth(pod))
	}
}

func TestThreePodsShareAClaimAndAllHearOfItsGpu(t *testing.T) {
	startGpus(t)
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, namedClaim)
	pods := []string{"one", "two", "three"}
	var watches []*PodWatch
	for _, name := range pods {
		watches = append(watches, hold(t, ns, name, named("mine")))
	}
	claim := claimOf(t, ns, "one")
	for _, name := range pods {
		if gpus := gpusIn(t, ns, name, "c"); !slices.Equal(gpus, []string{gpuOfSpec(string(claim.UID))}) {
			t.Errorf("Pod %s sees %v, the claim is of %s", name, gpus, gpuOfSpec(string(claim.UID)))
		}
	}
	inject(t, devicesOf(claim)[0], "xid=79")
	if !cluster.Is("1.34") {
		for _, watch := range watches {
			watch.Until(t, "the lost GPU", shownWithin,
				saysHealth(1, "Unhealthy", "XID 79: GPU has fallen off the bus"))
		}
	} else {
		// 1.34.4 listens to the driver and writes none of it for claims, whatever its gates say.
		requireNoHealth(t, watches...)
	}
	inject(t, devicesOf(claim)[0], "reset")
	for i, name := range pods {
		if !slices.Contains(prepared(t, gpuDriver), string(claim.UID)) {
			t.Errorf("the claim is unprepared while %d Pods use it", len(pods)-i)
		}
		remove(t, ns, name)
	}
	awaitUnprepared(t, gpuDriver, string(claim.UID), podWithin)
}

func TestAPrioritizedListGivesTheFirstChoiceThatThereIs(t *testing.T) {
	startGpus(t)
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        firstAvailable:
        - name: huge
          deviceClassName: gpu.example.com
          selectors:
          - cel:
              expression: >-
                device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("1Ti"))
        - {name: usual, deviceClassName: gpu.example.com, count: 2}
`)
	watch := cluster.WatchPod(t, ns, "holder")
	cluster.Apply(t, ns, holderOf("holder", fromTemplate,
		"{name: c, uses: [{name: device, request: gpu}]}"))
	watch.Until(t, "Ready", podWithin, Running)
	claim := claimOf(t, ns, "holder")
	for _, result := range claim.Status.Allocation.Devices.Results {
		if result.Request != "gpu/usual" {
			t.Errorf("allocated for %s, wanted gpu/usual", result.Request)
		}
	}
	if gpus := gpusIn(t, ns, "holder", "c"); len(gpus) != 2 {
		t.Errorf("the container sees %v, wanted two GPUs", gpus)
	}
	if !cluster.Is("1.34") {
		watch.Until(t, "health", shownWithin, saysHealth(2, "Healthy", ""))
		requireEntries(t, watch.Last().Pod, "c claim:device/gpu ", 2)
	}
}

func TestClaimsShareAGpuByTheMemoryTheyAskFor(t *testing.T) {
	startGpus(t, "--devices", "1", "--shared")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, sixtyGi)
	shares := map[string]bool{}
	var watches []*PodWatch
	for _, name := range []string{"one", "two"} {
		watches = append(watches, hold(t, ns, name, fromTemplate))
		result := claimOf(t, ns, name).Status.Allocation.Devices.Results[0]
		if result.Device != "gpu-0" || result.ShareID == nil {
			t.Fatalf("Pod %s has %s with share %v", name, result.Device, result.ShareID)
		}
		shares[string(*result.ShareID)] = true
		if gpus := gpusIn(t, ns, name, "c"); len(gpus) != 1 {
			t.Errorf("Pod %s sees %v, wanted the one GPU", name, gpus)
		}
	}
	if len(shares) != 2 {
		t.Errorf("two claims have the same share: %v", shares)
	}
	// The GPU is one, whoever has which part of it.
	inject(t, "gpu-0", "xid=79")
	if !cluster.Is("1.34") {
		for _, watch := range watches {
			watch.Until(t, "the lost GPU", shownWithin,
				saysHealth(1, "Unhealthy", "XID 79: GPU has fallen off the bus"))
		}
	}
	inject(t, "gpu-0", "reset")
	// 21 of 141 GiB are left.
	third := cluster.WatchPod(t, ns, "three")
	cluster.Apply(t, ns, holder("three", fromTemplate))
	third.Until(t, "cannot be scheduled", podWithin, unschedulable)
	remove(t, ns, "one")
	third.Until(t, "Ready", podWithin, Running)
}

func unschedulable(pod *corev1.Pod) bool {
	return pod != nil && Condition(pod, corev1.PodScheduled).Reason == corev1.PodReasonUnschedulable
}

func TestAdminAccessLooksAtAGpuBesideItsHolder(t *testing.T) {
	sameOnBoth(t)
	startGpus(t, "--devices", "1")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneGpu)
	hold(t, ns, "holder", fromTemplate)
	admin := cluster.Namespace(t)
	if said, err := cluster.KubectlError(t.Context(), look, "apply", "-n", admin, "-f",
		"-"); err == nil {
		t.Errorf("admin access is given in a namespace without the label: %s", said)
	}
	cluster.Kubectl(t, "label", "namespace", admin, "resource.kubernetes.io/admin-access=true")
	cluster.Apply(t, admin, look)
	hold(t, admin, "looker", named("look"))
	if holds, sees := gpusIn(t, ns, "holder", "c"), gpusIn(t, admin, "looker", "c"); len(sees) != 1 ||
		!slices.Equal(holds, sees) {
		t.Errorf("the holder sees %v, the admin's Pod %v", holds, sees)
	}
	// It does not take the device from its holder when it ends.
	uid := string(claimOf(t, admin, "looker").UID)
	remove(t, admin, "looker")
	awaitUnprepared(t, gpuDriver, uid, podWithin)
	if left := prepared(t, gpuDriver); len(left) != 1 {
		t.Errorf("prepared claims: %v, wanted the holder's", left)
	}
}

func TestAGpuThatIsLostIsTaintedItsPodEvictedAndTheNextOneGetsAnother(t *testing.T) {
	startGpus(t, "--devices", "2", "--taint-unhealthy", "NoExecute")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneGpu)
	watch := hold(t, ns, "holder", fromTemplate)
	lost := devicesOf(claimOf(t, ns, "holder"))[0]
	watch.Until(t, "the present", podWithin, Running)
	inject(t, lost, "xid=79")
	seen := watch.Until(t, "evicted", podWithin, func(pod *corev1.Pod) bool {
		return pod != nil && Condition(pod, corev1.DisruptionTarget).Reason ==
			"DeletionByDeviceTaintManager"
	})
	t.Logf("the Pod says: %s", Condition(seen.Pod, corev1.DisruptionTarget).Message)
	watch.Until(t, "gone", podWithin, func(pod *corev1.Pod) bool { return pod == nil })
	hold(t, ns, "next", fromTemplate)
	if device := devicesOf(claimOf(t, ns, "next"))[0]; device == lost {
		t.Errorf("the next Pod has the lost GPU %s", device)
	}
	if taints := taintsOf(t, lost); len(taints) != 1 ||
		taints[0].Value != "XidGpuLost" {
		t.Errorf("taints of %s: %v", lost, taints)
	}
	generation := slicesOf(t, gpuDriver)[0].Spec.Pool.Generation
	inject(t, lost, "reset")
	Eventually(t, "the taint goes", podWithin, func() (bool, string) {
		return len(taintsOf(t, lost)) == 0, fmt.Sprint(taintsOf(t, lost))
	})
	// Once for its end, and for nothing that the server added.
	if now := slicesOf(t, gpuDriver)[0].Spec.Pool.Generation; now != generation+1 {
		t.Errorf("the slice went from generation %d to %d for one change", generation, now)
	}
}

func taintsOf(t *testing.T, device string) []resourcev1.DeviceTaint {
	t.Helper()
	for _, slice := range slicesOf(t, gpuDriver) {
		for _, each := range slice.Spec.Devices {
			if each.Name == device {
				return each.Taints
			}
		}
	}
	t.Fatalf("no device %s", device)
	return nil
}

// Twelve Pods that end by themselves compete for three GPUs. A device is free when its claim's
// allocation is gone, and out of containers' reach when its CDI file is.
func TestTheSameGpuIsNeverInTwoClaims(t *testing.T) {
	sameOnBoth(t)
	startGpus(t, "--devices", "3")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneGpu)
	claims, err := cluster.API.ResourceV1().ResourceClaims(ns).Watch(t.Context(),
		metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer claims.Stop()
	yaml := ""
	const count = 12
	brief := strings.NewReplacer("sleep 100000 & wait", "sleep 0.2",
		"spec:\n", "spec:\n  restartPolicy: Never\n")
	for i := range count {
		yaml += "---" + brief.Replace(holder(fmt.Sprintf("pod-%d", i), fromTemplate))
	}
	cluster.Apply(t, ns, yaml)
	requireOneHolderEach(t, claims, count)
	Eventually(t, "all Pods have ended well", podWithin, func() (bool, string) {
		pods, err := cluster.API.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
		done := 0
		for _, pod := range pods.Items {
			if pod.Status.Phase == corev1.PodSucceeded {
				done++
			}
		}
		return done == count, fmt.Sprintf("%d of %d: %v", done, count, err)
	})
}

// requireOneHolderEach follows claims until that many had a GPU: none is in two of them at once, by
// their allocations and by what the driver gives to containers.
func requireOneHolderEach(t *testing.T, claims watch.Interface, count int) {
	t.Helper()
	held, given := map[string]string{}, 0 // device -> claim
	for given < count && !t.Failed() {
		var event watch.Event
		select {
		case event = <-claims.ResultChan():
		case <-time.After(podWithin):
			t.Fatalf("no claim changed for %v, and %d of %d have had a GPU", podWithin, given, count)
		}
		claim, ok := event.Object.(*resourcev1.ResourceClaim)
		if !ok {
			t.Fatalf("the watch of claims ended: %v", event.Object)
		}
		mine := devicesOf(claim)
		for device, holder := range held {
			if holder == claim.Name && (event.Type == "DELETED" || !slices.Contains(mine, device)) {
				delete(held, device)
			}
		}
		for _, device := range mine {
			if holder := held[device]; event.Type != "DELETED" && holder != claim.Name {
				if holder != "" {
					t.Errorf("%s is in claims %s and %s at once", device, holder, claim.Name)
				}
				held[device], given = claim.Name, given+1
			}
		}
		requireOneSpecEach(t)
	}
}

// requireOneSpecEach: no two CDI files on the node give out the same GPU.
func requireOneSpecEach(t *testing.T) {
	t.Helper()
	onNode := map[string]string{} // GPU -> claim
	for _, uid := range prepared(t, gpuDriver) {
		gpu := gpuOfSpec(uid)
		if gpu != "" && onNode[gpu] != "" {
			t.Errorf("%s is given to containers by claims %s and %s at once", gpu, onNode[gpu], uid)
		}
		onNode[gpu] = uid
	}
}
