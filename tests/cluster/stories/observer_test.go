package stories

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Our agent beside a real kubelet, installed as a user would.

func TestTheImageIsSmallComesOutTheSameTwiceAndSaysWhatIsInIt(t *testing.T) {
	if !cluster.Is("1.37") {
		t.Skip("run once: no Kubernetes is in it")
	}
	once, err := imageDirectory()
	if err != nil {
		t.Fatal(err)
	}
	again := t.TempDir()
	if err := makeImage(again); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"galen.tar", "galen.spdx.json"} {
		first, err := os.ReadFile(filepath.Join(once, name))
		if err != nil {
			t.Fatal(err)
		}
		second, err := os.ReadFile(filepath.Join(again, name))
		if err != nil {
			t.Fatal(err)
		}
		if sha256.Sum256(first) != sha256.Sum256(second) {
			t.Errorf("two makings of %s differ", name)
		}
		if name == "galen.tar" && len(first) > 30e6 {
			t.Errorf("%d bytes, at most 30 MB are wanted", len(first))
		}
		t.Logf("%s: %d kB", name, len(first)/1000)
	}
	requireBillOfMaterials(t, filepath.Join(once, "galen.spdx.json"))
}

// requireBillOfMaterials: the programs with their sums, and each Debian package with the version
// that dpkg knows.
func requireBillOfMaterials(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		SpdxVersion string
		Packages    []struct {
			Name, VersionInfo string
			ExternalRefs      []struct{ ReferenceLocator string }
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatalf("%s is no JSON: %v", file, err)
	}
	var locators []string
	for _, each := range document.Packages {
		for _, ref := range each.ExternalRefs {
			locators = append(locators, ref.ReferenceLocator)
		}
	}
	all := strings.Join(locators, "\n")
	for _, want := range []string{"pkg:oci/galen@sha256:", "pkg:generic/galen-agent@",
		"pkg:deb/debian/libc6@", "pkg:deb/debian/libssl3@3.", "pkg:deb/debian/libnghttp2-14@"} {
		if !strings.Contains(all, want) {
			t.Errorf("the bill of materials lacks %s:\n%s", want, all)
		}
	}
}

func TestTheAgentIsInstalledByOneCommandAndSeesEveryDriver(t *testing.T) {
	cluster.Install(t, "")
	requireNoPrivilege(t)
	startGpus(t)
	reference := startReference(t)
	startOther(t, "old.example.com", "v1alpha1")
	startOther(t, "mute.example.com", "none")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneGpu)
	gpu := cluster.WatchPod(t, ns, "gpu")
	cluster.Apply(t, ns, holder("gpu", fromTemplate))
	watches := map[string]*PodWatch{}
	for _, driver := range []string{refDriver, "old.example.com", "mute.example.com"} {
		name := strings.TrimSuffix(driver, ".example.com")
		cluster.Apply(t, ns, claimFor(name, driver))
		watches[name] = cluster.WatchPod(t, ns, name)
		cluster.Apply(t, ns, holder(name, named(name)))
	}
	gpu.Until(t, "the GPU is well", podWithin, says("gpu-… Healthy"))
	watches["ref"].Until(t, "the Go driver's device is well", podWithin, says("dev-… Healthy"))
	watches["old"].Until(t, "one that serves v1alpha1 only, too", podWithin, says("dev-… Healthy"))
	watches["mute"].Until(t, "of one without health it is said that nobody knows", podWithin,
		says("dev-… Unknown…: driver mute.example.com reports no health"))
	watches["ref"].Until(t, "its container runs, which is later", podWithin, Running)
	device := devicesOf(claimOf(t, ns, "ref"))[0]
	reference.Tell(t, "health "+device+" Unhealthy it fell off the bus")
	told := watches["ref"].Until(t, "the fault", shownWithin,
		says(device+" Unhealthy since …: it fell off the bus"))
	if got := Condition(told.Pod, condition); got.Status != corev1.ConditionFalse {
		t.Errorf("the condition says %+v", got)
	}
	requireOnlyOurs(t, watches["ref"])
	requireSurvivesTheKubelet(t, watches["ref"])
	requireReadable(t, ns, device)
	requireNothingForStrangers(t)
	t.Logf("kubectl get nodedevicehealths:\n%s", cluster.Kubectl(t, "get", "nodedevicehealths"))
}

// startOther runs another reference driver, with a class of its own.
func startOther(t *testing.T, name, health string) {
	t.Helper()
	cluster.Apply(t, "default", strings.ReplaceAll(refClass, refDriver, name))
	cluster.Reference(t, "node-1", "--name", name, "--health", health).AwaitRegistered(t)
}

// claimFor is a claim of one device of a driver's class.
func claimFor(name, driver string) string {
	return strings.NewReplacer("{name: mine}", "{name: "+name+"}", gpuDriver, driver).
		Replace(namedClaim)
}

// requireNoPrivilege looks at the running process, not at what was asked for.
func requireNoPrivilege(t *testing.T) {
	t.Helper()
	pid := pidOf(t, cluster.agentPod(t), "galen-agent\x00")
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"CapEff:\t0000000000000000", "CapPrm:\t0000000000000000",
		"CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("process %d lacks %q:\n%s", pid, want, status)
		}
	}
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mounts", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{"/", "/var/lib/kubelet/plugins",
		"/var/lib/kubelet/plugins_registry"} {
		if !mountedReadOnly(string(mounts), place) {
			t.Errorf("%s can be written to", place)
		}
	}
}

func mountedReadOnly(mounts, place string) bool {
	readOnly := false
	for line := range strings.Lines(mounts) {
		if words := strings.Fields(line); len(words) > 3 && words[1] == place {
			readOnly = words[3] == "ro" || strings.HasPrefix(words[3], "ro,")
		}
	}
	return readOnly
}

// withoutOurs is a Pod's status without what is Galen's.
func withoutOurs(pod *corev1.Pod) corev1.PodStatus {
	status := *pod.Status.DeepCopy()
	status.Conditions = nil
	for _, each := range pod.Status.Conditions {
		if each.Type != condition {
			status.Conditions = append(status.Conditions, each)
		}
	}
	return status
}

// requireOnlyOurs: each version with a change of ours has no other change.
func requireOnlyOurs(t *testing.T, watch *PodWatch) {
	t.Helper()
	count := 0
	all := watch.All()
	for i := 1; i < len(all); i++ {
		before, after := all[i-1].Pod, all[i].Pod
		annotated := before.Annotations[annotation] != after.Annotations[annotation]
		if !annotated && Condition(before, condition) == Condition(after, condition) {
			continue
		}
		if annotated {
			count++
		}
		if !reflect.DeepEqual(withoutOurs(before), withoutOurs(after)) {
			t.Errorf("our write changed what is the kubelet's:\n%+v\n%+v", withoutOurs(before),
				withoutOurs(after))
		}
	}
	if count < 2 {
		t.Errorf("%d versions brought an annotation, at least 2 were wanted", count)
	}
}

// requireSurvivesTheKubelet has the kubelet write the Pod's status anew, by a container that ends.
func requireSurvivesTheKubelet(t *testing.T, watch *PodWatch) {
	t.Helper()
	before := watch.Last().Pod
	container := before.Status.ContainerStatuses[0].ContainerID
	if err := syscall.Kill(pidOf(t, before, "sleep\x00"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	after := watch.Until(t, "the kubelet reports a new container", podWithin,
		func(pod *corev1.Pod) bool {
			return Running(pod) && pod.Status.ContainerStatuses[0].ContainerID != container
		}).Pod
	if after.Annotations[annotation] != before.Annotations[annotation] ||
		Condition(after, condition).Status != Condition(before, condition).Status {
		t.Errorf("after the kubelet's write the Pod says %q, %+v", after.Annotations[annotation],
			Condition(after, condition))
	}
}

// The Go driver serves its newest stream only: had the agent opened one, the kubelet would hear
// nothing more.
func TestADriverThatServesOneSubscriberLosesNothingToTheAgent(t *testing.T) {
	cluster.Install(t, "drivers:\n- {name: "+refDriver+", subscribe: never}\n")
	driver := startReference(t, "--single")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneRef)
	watch := hold(t, ns, "holder", fromTemplate)
	device := devicesOf(claimOf(t, ns, "holder"))[0]
	if cluster.Is("1.34") {
		// Its kubelet writes no health for claims, so that nobody knows.
		watch.Until(t, "that nobody knows", shownWithin, says(device+" Unknown…(subscribe: never), and "+
			"the kubelet does not say"))
		return
	}
	watch.Until(t, "the kubelet's report", shownWithin, says(device+" Healthy"))
	var shown struct{ Streams int }
	err := json.Unmarshal([]byte(driver.Tell(t, "show")), &shown)
	if err != nil || shown.Streams != 1 {
		t.Errorf("the driver has %d streams, wanted the kubelet's (%v)", shown.Streams, err)
	}
	driver.Tell(t, "health "+device+" Unhealthy it fell off the bus")
	kubelets := watch.Until(t, "the kubelet's own field", podWithin,
		saysHealth(1, "Unhealthy", "it fell off the bus"))
	ours := watch.Until(t, "ours", shownWithin, says(device+" Unhealthy since …: it fell off the bus"))
	t.Logf("shown %d ms after the kubelet's field", ours.At.Sub(kubelets.At).Milliseconds())
	driver.Tell(t, "health "+device+" Healthy")
	watch.Until(t, "the recovery", podWithin, says(device+" Healthy"))
	_, metrics := cluster.agentSays(t, "metrics")
	seen := map[string]bool{}
	for line := range strings.Lines(metrics) {
		if name, labels, ok := strings.Cut(line, "{"); ok && strings.Contains(labels, refDriver) {
			seen[name] = true
		}
	}
	if !seen["galen_device_state"] || seen["galen_reports_total"] {
		t.Errorf("the device's state and no report of its driver were wanted: %v", seen)
	}
	driver.Kill()
	watch.Until(t, "that it is gone, which the kubelet knows later", shownWithin,
		says(device+" Unknown since …: driver ref.example.com is gone: …"))
	startReference(t, "--single")
	watch.Until(t, "that it is back", podWithin, says(device+" Healthy"))
}

// A cluster that knows nothing of device health: the API server drops the field, the kubelet asks
// no driver.
func TestWithoutTheFeatureAPersonReadsDeviceStateAndReasonInPlainDescribe(t *testing.T) {
	place, err := os.MkdirTemp("", "galen-") // t.TempDir's own are too long for sockets' names
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(place, "off")
	gates := "ResourceHealthStatus=false,ResourceHealthStatusMessage=false"
	if cluster.Is("1.34") {
		gates = "" // off by itself
	}
	t.Cleanup(func() {
		if err := errors.Join(Down(dir), os.Remove(place)); err != nil {
			t.Error(err)
		}
	})
	options := Options{Version: cluster.Version, FeatureGates: gates}
	if cluster.Is("1.37") {
		options.Nodes = 2 // run once: how agents of two nodes keep apart
	}
	off, err := Up(t.Context(), dir, options)
	if err != nil {
		t.Fatal(err)
	}
	off.logBelow(t, cluster)
	usual := cluster
	cluster = off
	defer func() { cluster = usual }()
	t.Run("", func(t *testing.T) {
		off.Install(t, "")
		driver := startReference(t)
		ns := off.Namespace(t)
		off.Apply(t, ns, oneRef)
		watch := hold(t, ns, "holder", fromTemplate)
		device := devicesOf(claimOf(t, ns, "holder"))[0]
		driver.Tell(t, "health "+device+" Unhealthy it fell off the bus")
		told := watch.Until(t, "the fault", shownWithin,
			says(device+" Unhealthy since …: it fell off the bus"))
		if field := DeviceHealth(told.Pod); len(field) > 0 {
			t.Errorf("the feature is off, and yet: %v", field)
		}
		read := off.described(t, ns, "holder", annotation)
		for _, word := range []string{device, "Unhealthy", "it fell off the bus"} {
			if !strings.Contains(read, word) {
				t.Errorf("kubectl describe pod lacks %q: %s", word, read)
			}
		}
		t.Logf("kubectl describe pod:\n%s", read)
		if options.Nodes == 2 {
			requireFencedByNode(t)
		}
	})
}

// forbidden is how the agent logs a right that it lacks: "cannot patch resource pods/status in …".
var forbidden = regexp.MustCompile(
	`msg="the API server forbids.* cannot="(\w+) resource \\"([^"]+)\\"`)

// requireLoggedOnce wants a line for each right that is missing, that one among them, and no two.
func requireLoggedOnce(t *testing.T, right string) {
	t.Helper()
	log := cluster.Kubectl(t, "-n", agentNamespace, "logs", "daemonset/"+agentName)
	told := map[string]int{}
	for _, found := range forbidden.FindAllStringSubmatch(log, -1) {
		told[found[1]+" "+found[2]]++
	}
	if told[right] == 0 {
		t.Errorf("the right to %s is not logged:\n%s", right, log)
	}
	for each, count := range told {
		if count != 1 {
			t.Errorf("the right to %s is logged %d times:\n%s", each, count, log)
		}
	}
	if all := strings.Count(log, "the API server forbids"); all != len(told) {
		t.Errorf("%d rights are missing, and %d lines name them:\n%s", len(told), all, log)
	}
	t.Logf("logged once: %q", slices.Sorted(maps.Keys(told)))
}

func TestARightThatIsTakenAwayIsToldOnceAndWorksAgainWhenItIsBack(t *testing.T) {
	sameOnBoth(t)
	cluster.Install(t, "")
	driver := startReference(t)
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneRef)
	watch := hold(t, ns, "holder", fromTemplate)
	device := devicesOf(claimOf(t, ns, "holder"))[0]
	watch.Until(t, "Healthy", shownWithin, says(device+" Healthy"))
	cluster.Kubectl(t, "delete", "clusterrolebinding", agentName)
	driver.Tell(t, "health "+device+" Unhealthy it fell off the bus")
	const right = `cannot patch resource "pods/status"`
	Eventually(t, "/readyz names the right that is missing", shownWithin, func() (bool, string) {
		status, text := cluster.agentSays(t, "readyz")
		return status == 503 && strings.Contains(text, right), text
	})
	// Faults go on; what is logged does not.
	for i := range 20 {
		driver.Tell(t, fmt.Sprintf("health %s Unhealthy fault %d", device, i))
		time.Sleep(50 * time.Millisecond)
	}
	requireLoggedOnce(t, "patch pods/status")
	for _, id := range []string{"agent.permissions", "agent.troubles"} {
		awaitFinding(t, id, "bad", "pods/status", "")
	}
	given := time.Now()
	cluster.Kubectl(t, "apply", "-f", manifest())
	told := watch.Until(t, "the last fault", podWithin, says(device+" Unhealthy since …: fault 19"))
	t.Logf("the Pod was right %.1f s after the right was back", told.At.Sub(given).Seconds())
	Eventually(t, "/readyz is well", podWithin, func() (bool, string) {
		status, text := cluster.agentSays(t, "readyz")
		return status == 200, text
	})
}
