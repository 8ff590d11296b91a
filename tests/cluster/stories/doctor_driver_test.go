package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What `galen doctor` says of drivers, slices, claims and CDI files while they are broken.

// sliceByHand is a slice that no driver keeps in order.
func sliceByHand(name, driver, node string, generation, count int, devices ...string) string {
	var list []string
	for _, device := range devices {
		list = append(list, "{name: "+device+"}")
	}
	return fmt.Sprintf(`
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: %s}
spec:
  driver: %s
  nodeName: %s
  pool: {name: by-hand, generation: %d, resourceSliceCount: %d}
  devices: [%s]
---`, name, driver, node, generation, count, strings.Join(list, ", "))
}

func TestDoctorFindsWhatIsWrongInTheRegistry(t *testing.T) {
	doctorIsFor137(t)
	// A kubelet whose registry was moved watches it no more, also when it is back in its place: it
	// notices no driver until it starts again.
	defer func() {
		cluster.Kill(t, "node-1/kubelet")
		cluster.Start(t, "node-1/kubelet")
	}()
	cluster.Reference(t, "node-1")
	registry := kubeletFile("plugins_registry")
	socket := filepath.Join(registry, "ref.example.com-reg.sock")
	awaitFinding(t, "drivers.registered", "healthy", "1 ", "")
	tryAll(t, []breaking{
		{id: "drivers.registry", verdict: "bad", words: "No such file", breaks: moved(registry)},
		{id: "drivers.strays", verdict: "warning", words: "notes.txt is a plain file",
			breaks: written(filepath.Join(registry, "notes.txt"), "hello")},
		{id: "drivers.strays", verdict: "warning", words: "link.sock is a symlink",
			breaks: func(t *testing.T) func() {
				link := filepath.Join(registry, "link.sock")
				must(t, os.Symlink("ref.example.com-reg.sock", link))
				return func() { must(t, os.Remove(link)) }
			}},
		{id: "drivers.strays", verdict: "warning", words: ".ref.sock has a name with a leading dot",
			breaks: linked(socket, filepath.Join(registry, ".ref.sock"))},
		{id: "drivers.unique", verdict: "bad", words: "copy-reg.sock",
			breaks: linked(socket, filepath.Join(registry, "copy-reg.sock"))},
		{id: "drivers.endpoint", verdict: "bad", words: "ref.example.com says that it serves at",
			breaks: moved(kubeletFile("plugins/ref.example.com/dra.sock"))},
		// A driver that was given another directory than the kubelet watches.
		{id: "drivers.registered", verdict: "bad", words: "is unknown to the kubelet",
			args:   []string{"--registry", "/var/lib/other-registry"},
			breaks: linked(socket, kubeletFile("../other-registry/ref-reg.sock"))},
	})
}

func TestDoctorFindsWhatIsWrongWithADriver(t *testing.T) {
	doctorIsFor137(t)
	driver := cluster.Reference(t, "node-1")
	// Another driver on the same node, which misbehaves from its start.
	other := func(flags ...string) func(t *testing.T) func() {
		return func(t *testing.T) func() {
			p := cluster.Reference(t, "node-1", append([]string{"--name", "other.example.com"},
				flags...)...)
			return func() {
				p.Stop()
				// The kubelet would, after 30 s.
				cluster.Kubectl(t, "delete", "resourceslices", "--field-selector",
					"spec.driver=other.example.com")
			}
		}
	}
	tryAll(t, []breaking{
		{id: "drivers.answer", verdict: "bad", words: "ref.example.com-reg.sock",
			breaks: func(t *testing.T) func() {
				driver.Signal(syscall.SIGSTOP)
				return func() { driver.Signal(syscall.SIGCONT) }
			}},
		{id: "drivers.health", verdict: "warning", words: "other.example.com",
			breaks: other("--health", "none")},
		{id: "drivers.health-version", verdict: "warning", words: "takes until 1.39",
			breaks: other("--health", "v1alpha1")},
		{id: "drivers.instances", verdict: "warning", words: "ref.example.com has",
			breaks: func(t *testing.T) func() {
				p := cluster.Reference(t, "node-1", "--instance", "two")
				return func() { p.Stop() }
			}},
	})
}

// refusedSlices has the API server refuse what the driver publishes, and removes what it has
// published.
func refusedSlices(t *testing.T) func() {
	mend := applied(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-slices}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [resource.k8s.io]
      apiVersions: ["*"]
      operations: [CREATE]
      resources: [resourceslices]
  validations: [{expression: "false", message: no slices today}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-slices}
spec: {policyName: no-slices, validationActions: [Deny]}
`)(t)
	// A policy takes a moment; until then the driver makes its slice again.
	Eventually(t, "the slice stays away", findingWithin, func() (bool, string) {
		cluster.Kubectl(t, "delete", "resourceslices", "--all")
		time.Sleep(time.Second)
		left := slicesOf(t, "ref.example.com")
		return len(left) == 0, fmt.Sprintf("%d slices", len(left))
	})
	return mend
}

func TestDoctorFindsSlicesThatAreWrong(t *testing.T) {
	doctorIsFor137(t)
	driver := cluster.Reference(t, "node-1")
	// One that was refused for a while tries again half a minute later; one that starts, at once.
	refused := func(inner *testing.T) func() {
		allow := refusedSlices(inner)
		return func() {
			allow()
			driver.Stop()
			driver = cluster.Reference(t, "node-1")
		}
	}
	const byHand = "by-hand.example.com"
	tryAll(t, []breaking{
		{id: "slices.missing", verdict: "bad", words: "ref.example.com has no ResourceSlice here",
			breaks: refused},
		{id: "slices.orphaned", verdict: "bad", words: "a-slice offers 1 device of by-hand",
			breaks: applied(sliceByHand("a-slice", byHand, "node-1", 1, 1, "x-0"))},
		{id: "slices.generations", verdict: "warning", words: "a-slice is older",
			breaks: applied(sliceByHand("a-slice", byHand, "node-1", 1, 1, "x-0") +
				sliceByHand("b-slice", byHand, "node-1", 2, 1, "x-0"))},
		{id: "slices.complete", verdict: "bad", words: "is to have 3 slices of generation 1, and has 1",
			breaks: applied(sliceByHand("a-slice", byHand, "node-1", 1, 3, "x-0"))},
		{id: "slices.duplicates", verdict: "bad", words: "x-0 is in pool by-hand of by-hand",
			breaks: applied(sliceByHand("a-slice", byHand, "node-1", 1, 2, "x-0") +
				sliceByHand("b-slice", byHand, "node-1", 1, 2, "x-0"))},
		{id: "slices.node-gone", verdict: "warning", words: "is for node node-99, which is gone",
			breaks: applied(sliceByHand("a-slice", byHand, "node-99", 1, 1, "x-0"))},
	})
}

func TestDoctorFindsCdiFilesThatAreWrong(t *testing.T) {
	doctorIsFor137(t)
	cluster.Reference(t, "node-1").AwaitRegistered(t)
	ns := cluster.Namespace(t)
	watch := cluster.WatchPod(t, ns, "holder")
	cluster.Apply(t, ns, oneDevice(0))
	watch.Until(t, "Ready", podWithin, Running)
	place := filepath.Join(cluster.Dir, "node-1", "run", "cdi")
	files, err := filepath.Glob(filepath.Join(place, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("CDI files: %v %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	must(t, err)
	tryAll(t, []breaking{
		{id: "cdi.specs", verdict: "bad", words: `kind "gpu" is not vendor/class`,
			breaks: written(filepath.Join(place, "bad.json"), `{"cdiVersion": "0.6.0", "kind": "gpu"}`)},
		{id: "cdi.duplicates", verdict: "bad", words: "second.json",
			breaks: written(filepath.Join(place, "second.json"), string(text))},
		{id: "cdi.missing", verdict: "bad", words: "of claim " + ns + "/one is in no file",
			breaks: moved(files[0])},
	})
}

// The order of a bad day: a device goes, a reservation stays, the driver dies, its Pod is deleted
// and does not go, then it is deleted by force.
func TestDoctorFindsClaimsThatAreStuck(t *testing.T) {
	doctorIsFor137(t)
	driver := cluster.Reference(t, "node-1")
	driver.AwaitRegistered(t)
	ns := cluster.Namespace(t)
	watch := cluster.WatchPod(t, ns, "holder")
	cluster.Apply(t, ns, oneDevice(3))
	watch.Until(t, "Ready", podWithin, Running)
	tryAll(t, []breaking{
		{id: "claims.devices-gone", verdict: "warning", words: "holds ref.example.com/node-1/dev-3",
			breaks: func(t *testing.T) func() {
				driver.Tell(t, "devices 2")
				return func() { driver.Tell(t, "devices 4") }
			}},
		{id: "claims.reserved-gone", verdict: "bad", words: "reserved for Pod nobody, which is gone",
			breaks: reservedForNobody(ns)},
	})

	driver.Kill()
	awaitFinding(t, "drivers.dead-sockets", "bad", "ref.example.com-reg.sock", "")
	awaitFinding(t, "slices.orphaned", "bad", "which does not run here", "")
	awaitFinding(t, "claims.driver-gone", "bad", "claim "+ns+"/one is of ref.example.com", "")
	cluster.Kubectl(t, "-n", ns, "delete", "pod", "holder", "--wait=false")
	awaitFinding(t, "claims.stuck-pods", "bad",
		"driver ref.example.com must unprepare its claim and does not run", "")
	cluster.Kubectl(t, "-n", ns, "delete", "pod", "holder", "--grace-period=0", "--force")
	cluster.Kubectl(t, "-n", ns, "delete", "resourceclaim", "one", "--timeout=60s")
	awaitFinding(t, "claims.prepared-gone", "bad", "is prepared, and no such claim exists", "")

	cluster.Reference(t, "node-1")
	for _, id := range []string{"drivers.dead-sockets", "slices.orphaned", "claims.driver-gone",
		"claims.stuck-pods", "claims.prepared-gone"} {
		awaitFinding(t, id, "healthy", "", "")
	}
}

// reservedForNobody reserves the claim for a Pod that never was, while the controller that would
// take the reservation away is down.
func reservedForNobody(ns string) func(t *testing.T) func() {
	return func(t *testing.T) func() {
		cluster.Kill(t, "controller-manager")
		const consumer = `{"resource": "pods", "name": "nobody", ` +
			`"uid": "00000000-1111-2222-3333-444444444444"}`
		cluster.Kubectl(t, "-n", ns, "patch", "resourceclaim", "one", "--subresource=status",
			"--type=json", "-p", `[{"op": "add", "path": "/status/reservedFor/-", "value": `+
				consumer+`}]`)
		return func() { revive(t, "controller-manager") }
	}
}
