package stories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// What `galen doctor` says of a real node while something on it is broken, and that it says so no
// more once that is mended. Here are the node's drivers, slices, claims and CDI files;
// doctor_node_test.go has kubelet, machine, agent and API server.

// oneDevice is a class and a Pod that holds the device of that number for as long as it runs. Its
// grace is not zero: that would remove it at once, and leave its claim prepared.
func oneDevice(number int) string {
	return fmt.Sprintf(`
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: ref.example.com}
spec:
  selectors:
  - cel: {expression: device.driver == "ref.example.com"}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: one}
spec:
  devices:
    requests:
    - name: main
      exactly:
        deviceClassName: ref.example.com
        selectors:
        - cel:
            expression: device.attributes["ref.example.com"].index == %d
---
apiVersion: v1
kind: Pod
metadata: {name: holder}
spec:
  terminationGracePeriodSeconds: 1
  resourceClaims: [{name: device, resourceClaimName: one}]
  containers:
  - name: c
    image: localhost/busybox:1
    imagePullPolicy: Never
    command: [sleep, "100000"]
    resources: {claims: [{name: device}]}
`, number)
}

// A diagnosis is what galen doctor says, by the check's id.
type diagnosis map[string]struct{ Verdict, Seen, Advice string }

// of are the checks with one of these verdicts, sorted.
func (d diagnosis) of(verdicts ...string) []string {
	var ids []string
	for id, check := range d {
		if slices.Contains(verdicts, check.Verdict) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (d diagnosis) String() string {
	var lines []string
	for _, id := range d.of("bad", "warning", "unknown") {
		lines = append(lines, fmt.Sprintf("%s %s: %s", id, d[id].Verdict, d[id].Seen))
	}
	return strings.Join(lines, "\n")
}

// read understands a report and holds it against the exit code.
func read(command *exec.Cmd) (diagnosis, error) {
	said, err := command.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		stderr := ""
		if exit != nil {
			stderr = string(exit.Stderr)
		}
		return nil, fmt.Errorf("%v: %w: %s%s", command.Args, err, said, stderr)
	}
	var report struct {
		Checks []struct{ ID, Verdict, Seen, Advice string }
	}
	if err := json.Unmarshal(said, &report); err != nil {
		return nil, fmt.Errorf("%v: %w: %s", command.Args, err, said)
	}
	result := diagnosis{}
	for _, check := range report.Checks {
		entry := result[check.ID]
		entry.Verdict, entry.Seen, entry.Advice = check.Verdict, check.Seen, check.Advice
		result[check.ID] = entry
	}
	if bad := result.of("bad"); (len(bad) > 0) != (err != nil) {
		return nil, fmt.Errorf("exit code %d with %v bad", command.ProcessState.ExitCode(), bad)
	}
	return result, nil
}

// diagnose runs galen doctor on node-1. `before` is a script that runs first, in a mount namespace
// that nobody but the doctor sees, so that the node keeps its files; "" for none.
func diagnose(t testing.TB, before string, args ...string) diagnosis {
	t.Helper()
	words := append([]string{Program("galen"), "doctor", "-o", "json"}, args...)
	if before != "" {
		script := "set -e; " + before + `; exec "$@"`
		words = append([]string{"unshare", "--mount", "sh", "-c", script, "sh"}, words...)
	}
	result, err := read(cluster.harness(t.Context(), "exec",
		append([]string{"node-1", "--"}, words...)...))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// findingWithin bounds what the node takes to notice: registration, slices, controllers.
const findingWithin = 90 * time.Second

// awaitFinding looks until the check has the verdict and its words.
func awaitFinding(t testing.TB, id, verdict, words, before string, args ...string) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%s is %s (%s)", id, verdict, words), findingWithin,
		func() (bool, string) {
			result := diagnose(t, before, args...)
			check := result[id]
			return check.Verdict == verdict && strings.Contains(check.Seen, words),
				fmt.Sprintf("%s: %s\nall of it:\n%v", check.Verdict, check.Seen, result)
		})
}

// A breaking breaks one thing, for one check to find.
type breaking struct {
	id, verdict, words string
	args               []string                         // of galen doctor
	before             string                           // see diagnose; then nothing else need be broken
	breaks             func(t *testing.T) (mend func()) // nil with `before`
}

// try breaks, wants the finding, mends, and wants it gone.
func (b breaking) try(t *testing.T) {
	t.Run(b.id+" "+b.words, func(t *testing.T) {
		mend := func() {}
		if b.breaks != nil {
			mend = sync.OnceFunc(b.breaks(t))
			t.Cleanup(mend)
		}
		awaitFinding(t, b.id, b.verdict, b.words, b.before, b.args...)
		mend()
		if b.breaks != nil {
			awaitFinding(t, b.id, "healthy", "", "", b.args...)
		} else if now := diagnose(t, "", b.args...)[b.id]; now.Verdict == b.verdict &&
			strings.Contains(now.Seen, b.words) {
			t.Errorf("%s finds it on the node itself, too: %s", b.id, now.Seen)
		}
	})
}

func tryAll(t *testing.T, breakings []breaking) {
	for _, b := range breakings {
		b.try(t)
	}
}

// doctorIsFor137: what breaks on 1.37 breaks on 1.34 as well, but for versions and gates.
func doctorIsFor137(t *testing.T) {
	if cluster.Is("1.34") {
		t.Skip("breaking a node once is enough; versions are unit tests")
	}
}

// kubeletFile is a path below the node's /var/lib/kubelet, from outside.
func kubeletFile(name string) string {
	return filepath.Join(cluster.Dir, "node-1", "lib", "kubelet", name)
}

// revive starts a part, also while the story is being cleared away.
func revive(t testing.TB, part string) {
	t.Helper()
	if said, err := cluster.harness(context.Background(), "start", part).CombinedOutput(); err != nil {
		t.Fatalf("start %s: %v: %s", part, err, said)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// moved takes a file away; the mend brings it back.
func moved(path string) func(t *testing.T) func() {
	return func(t *testing.T) func() {
		must(t, os.Rename(path, path+".away"))
		return func() { must(t, os.Rename(path+".away", path)) }
	}
}

// written makes a file; the mend removes it.
func written(path, text string) func(t *testing.T) func() {
	return func(t *testing.T) func() {
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return func() { must(t, os.Remove(path)) }
	}
}

// linked makes a second name of a socket: another place at which the same driver answers.
func linked(from, to string) func(t *testing.T) func() {
	return func(t *testing.T) func() {
		must(t, os.MkdirAll(filepath.Dir(to), 0o755))
		must(t, os.Link(from, to))
		return func() { must(t, os.Remove(to)) }
	}
}

// applied makes objects; the mend removes them.
func applied(yaml string) func(t *testing.T) func() {
	return func(t *testing.T) func() {
		cluster.Apply(t, "default", yaml)
		return func() {
			if said, err := cluster.KubectlError(context.Background(), yaml, "delete", "-f", "-"); err != nil {
				t.Errorf("%v: %s", err, said)
			}
		}
	}
}

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

func TestDoctorFindsNothingBadOnAHealthyNode(t *testing.T) {
	doctorIsFor137(t)
	cluster.Install(t, "")
	cluster.Reference(t, "node-1")
	ns := cluster.Namespace(t)
	watch := cluster.WatchPod(t, ns, "holder")
	cluster.Apply(t, ns, oneDevice(0))
	watch.Until(t, "Ready", podWithin, Running)
	// What the machine is, and no story may change: its control groups, clock and disk, and that no
	// systemd runs. Lock and process of an agent in a Pod are of another process namespace.
	machine := []string{"agent.open-files", "host.cgroup", "host.disk-space", "host.time-sync",
		"kubelet.watchdog"}
	Eventually(t, "everything is healthy", findingWithin, func() (bool, string) {
		result := diagnose(t, "")
		rest := slices.DeleteFunc(result.of("bad", "warning", "unknown"),
			func(id string) bool { return slices.Contains(machine, id) })
		return len(rest) == 0 && len(result.of("bad")) == 0, result.String()
	})
	table := cluster.Output(t, "node-1", "galen", "doctor", "-o", "wide")
	for _, words := range []string{"drivers.registered", "Could not be looked at", " checks: 0 bad"} {
		if !strings.Contains(table, words) {
			t.Errorf("the report lacks %q:\n%s", words, table)
		}
	}
	inPod(t)
	unprivileged(t)
	if xml := cluster.Output(t, "node-1", "galen", "doctor", "-o", "junit"); !strings.Contains(xml,
		`<testsuites name="galen doctor"`) {
		t.Errorf("no JUnit report: %s", xml)
	}
}

// inPod looks from the agent's Pod, which sees a part of the node and may ask little.
func inPod(t *testing.T) {
	t.Helper()
	said, err := cluster.KubectlError(t.Context(), "", "-n", agentNamespace, "exec",
		"ds/"+agentName, "--", "galen", "doctor", "-o", "wide")
	if err != nil {
		t.Errorf("in the agent's Pod something is bad: %v: %s", err, said)
	}
	for _, words := range []string{"service account galen-system/galen-agent has all",
		"galen-agent 0.", "drivers.endpoint        1 driver"} {
		if !strings.Contains(said, words) {
			t.Errorf("in the agent's Pod the report lacks %q:\n%s", words, said)
		}
	}
}

// unprivileged looks as a user who may read next to nothing, without a cluster: nothing is bad.
func unprivileged(t *testing.T) {
	t.Helper()
	result, err := read(cluster.harness(t.Context(), "exec", "node-1", "--", "setpriv", "--reuid=65534",
		"--regid=65534", "--clear-groups", "env", "-u", "KUBECONFIG", Program("galen"), "doctor", "-o",
		"json"))
	must(t, err)
	if bad := result.of("bad"); len(bad) > 0 {
		t.Errorf("to a user who may not look, this is bad: %v\n%v", bad, result)
	}
	for _, id := range []string{"drivers.registry", "kubelet.checkpoint", "agent.running",
		"slices.missing", "agent.permissions"} {
		if result[id].Verdict != "unknown" {
			t.Errorf("%s is %s: %s", id, result[id].Verdict, result[id].Seen)
		}
	}
}

func TestDoctorFindsWhatIsWrongInTheRegistry(t *testing.T) {
	doctorIsFor137(t)
	// A kubelet whose registry was moved watches it no more, also when it is back in its place: it
	// hears of no driver until it starts again.
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
		// A driver that was told another directory than the kubelet watches.
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

// refusedSlices has the API server refuse what the driver publishes, and removes what it has published.
func refusedSlices(t *testing.T) func() {
	mend := applied(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-slices}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [resource.k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [resourceslices]}
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
	cluster.Reference(t, "node-1")
	const byHand = "by-hand.example.com"
	tryAll(t, []breaking{
		{id: "slices.missing", verdict: "bad", words: "ref.example.com has no ResourceSlice here",
			breaks: refusedSlices},
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
	cluster.Reference(t, "node-1")
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

// The order of a bad day: a device goes, a reservation stays, the driver dies, its Pod is deleted and
// does not go, then it is deleted by force.
func TestDoctorFindsClaimsThatAreStuck(t *testing.T) {
	doctorIsFor137(t)
	driver := cluster.Reference(t, "node-1")
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
