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
	"testing"
	"time"
)

// What `galen doctor` says of a real node while something on it is broken, and that it says so no
// more once that is mended. Here is how that is asked, and a node on which nothing is wrong;
// doctor_driver_test.go breaks drivers, slices, claims and CDI files, doctor_node_test.go kubelet,
// machine and agent, doctor_api_test.go the API server and rights.

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

// awaitFinding looks until the check has the verdict and its texts.
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
	before             string                           // see diagnose; nothing else is broken then
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

// doctorIsFor137 is for what breaks on 1.34 as it does on 1.37. Run on both are a healthy node,
// which must not look broken, the gates and the checkpoint: these are what differs between
// versions.
func doctorIsFor137(t *testing.T) {
	if cluster.Is("1.34") {
		t.Skip("breaks as on 1.37, where it is run")
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
			if said, err := cluster.KubectlError(context.Background(), yaml, "delete", "-f",
				"-"); err != nil {
				t.Errorf("%v: %s", err, said)
			}
		}
	}
}

func TestDoctorFindsNothingBadOnAHealthyNode(t *testing.T) {
	cluster.Install(t, "")
	cluster.Reference(t, "node-1").AwaitRegistered(t)
	ns := cluster.Namespace(t)
	watch := cluster.WatchPod(t, ns, "holder")
	cluster.Apply(t, ns, oneDevice(0))
	watch.Until(t, "Ready", podWithin, Running)
	// What the machine is, and no story may change: its control groups, clock and disk, how busy it
	// is, and that no systemd runs. Lock and process of an agent in a Pod are of another process
	// namespace.
	machine := []string{"agent.open-files", "host.cgroup", "host.disk-space", "host.time-sync",
		"kubelet.watchdog", "practices.pressure"}
	if cluster.Is("1.34") { // has no gate of messages, which came with 1.36
		machine = append(machine, "gates.message", "gates.message-api")
	}
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
	result, err := read(cluster.harness(t.Context(), "exec", "node-1", "--", "setpriv",
		"--reuid=65534", "--regid=65534", "--clear-groups", "env", "-u", "KUBECONFIG",
		Program("galen"), "doctor", "-o", "json"))
	must(t, err)
	if bad := result.of("bad"); len(bad) > 0 {
		t.Errorf("to a user who may not look, this is bad: %v\n%v", bad, result)
	}
	// The kubelet's process is seen, its configuration is not: no gate is as its version has it.
	for _, id := range []string{"drivers.registry", "kubelet.checkpoint", "agent.running",
		"slices.missing", "agent.permissions", "gates.health"} {
		if result[id].Verdict != "unknown" {
			t.Errorf("%s is %s: %s", id, result[id].Verdict, result[id].Seen)
		}
	}
}
