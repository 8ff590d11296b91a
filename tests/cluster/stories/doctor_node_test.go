package stories

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// What `galen doctor` says of kubelet, machine and agent while they are broken.

// kubeletProcess is node-1's kubelet, and how it was started.
func kubeletProcess(t testing.TB) (pid int, command []string) {
	t.Helper()
	places, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	for _, place := range places {
		line, _ := os.ReadFile(place)
		words := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
		// This cluster's, by the file that it was given.
		if len(words) < 3 || words[1] != "kubelet" ||
			words[2] != "--config="+filepath.Join(cluster.Dir, "node-1", "kubelet.yaml") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(place)))
		must(t, err)
		return pid, words
	}
	t.Fatal("no kubelet of node-1 runs")
	return 0, nil
}

// limited lowers what a process may open; the mend gives it back.
func limited(pid func() int, files int) func(t *testing.T) func() {
	return func(t *testing.T) func() {
		id := fmt.Sprint(pid())
		said, err := exec.Command("prlimit", "--pid", id, "--nofile", "--output", "SOFT", "--noheadings",
			"--raw").Output()
		must(t, err)
		before := strings.TrimSpace(string(said))
		must(t, exec.Command("prlimit", "--pid", id, fmt.Sprintf("--nofile=%d:", files)).Run())
		return func() { must(t, exec.Command("prlimit", "--pid", id, "--nofile="+before+":").Run()) }
	}
}

// kubeletGates restarts the kubelet with gates in its configuration; the mend with what it had.
func kubeletGates(gates string) func(t *testing.T) func() {
	return func(t *testing.T) func() {
		path := filepath.Join(cluster.Dir, "node-1", "kubelet.yaml")
		before, err := os.ReadFile(path)
		must(t, err)
		var lines []string
		for _, line := range strings.Split(string(before), "\n") {
			if !strings.HasPrefix(line, "featureGates:") {
				lines = append(lines, line)
			}
		}
		restart := func(text string) {
			if said, err := cluster.harness(context.Background(), "stop", "--kill",
				"node-1/kubelet").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			must(t, os.WriteFile(path, []byte(text), 0o600))
			revive(t, "node-1/kubelet")
		}
		restart(strings.Join(lines, "\n") + "\nfeatureGates: " + gates + "\n")
		return func() { restart(string(before)) }
	}
}

// A kubelet of 1.34 does not know the gate of messages, and would not start with it.
func TestDoctorFindsGatesThatAreOff(t *testing.T) {
	gates := map[string]string{"gates.health": "ResourceHealthStatus"}
	if !cluster.Is("1.34") {
		gates["gates.message"] = "ResourceHealthStatusMessage"
	}
	var off []string
	for _, gate := range gates {
		off = append(off, gate+": false")
	}
	mend := sync.OnceFunc(kubeletGates("{" + strings.Join(off, ", ") + "}")(t))
	t.Cleanup(mend)
	for id := range gates {
		awaitFinding(t, id, "warning", "off, by the kubelet's /metrics", "")
	}
	// Without a cluster the same by the kubelet's own configuration.
	awaitFinding(t, "gates.health", "warning", "kubelet.yaml", "", "--kubeconfig", noCluster(t))
	mend()
	for id := range gates {
		awaitFinding(t, id, "healthy", "", "")
	}
}

// noCluster is a kubeconfig of a server that nobody runs.
func noCluster(t testing.TB) string {
	path := filepath.Join(cluster.Dir, "node-1", "lib", "no-cluster")
	must(t, os.WriteFile(path, []byte(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"contexts": [{"name": "c", "context": {"cluster": "c"}}],
		"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}]}`), 0o600))
	t.Cleanup(func() { _ = os.Remove(path) })
	return path
}

func TestDoctorFindsACheckpointThatIsBroken(t *testing.T) {
	state := kubeletFile("dra_manager_state")
	breaking{id: "kubelet.checkpoint", verdict: "bad", words: "its checksum is",
		breaks: func(t *testing.T) func() {
			text, err := os.ReadFile(state)
			must(t, err)
			broken := bytes.Replace(text, []byte("DRACheckpoint"), []byte("DRACheckpeint"), 1)
			must(t, os.WriteFile(state, broken, 0o600))
			return func() { must(t, os.WriteFile(state, text, 0o600)) }
		}}.try(t)
}

func TestDoctorFindsAKubeletThatIsWrong(t *testing.T) {
	doctorIsFor137(t)
	pid, command := kubeletProcess(t)
	breaking{id: "kubelet.open-files", verdict: "warning", words: "may open 1024 files",
		breaks: limited(func() int { return pid }, 1024)}.try(t)

	// It dies, and then runs as systemd would run it, with a watchdog that is too short.
	cluster.Kill(t, "node-1/kubelet")
	t.Cleanup(func() { revive(t, "node-1/kubelet") })
	awaitFinding(t, "kubelet.lease", "bad", "holds for 40s", "")
	awaitFinding(t, "kubelet.ready", "bad", "NodeStatusUnknown", "")
	watched := func(period string) func() {
		p := cluster.Run(t, "node-1", "env", append([]string{"WATCHDOG_USEC=" + period}, command...)...)
		return func() { p.Stop() }
	}
	stop := watched("2000000")
	awaitFinding(t, "kubelet.lease", "healthy", "", "")
	awaitFinding(t, "kubelet.watchdog", "bad", "WatchdogSec is 2.0 s", "")
	stop()
	stop = watched("30000000")
	awaitFinding(t, "kubelet.watchdog", "healthy", "WatchdogSec is 30s", "")
	stop()
	cluster.Start(t, "node-1/kubelet")
	awaitFinding(t, "kubelet.ready", "healthy", "", "")
	awaitFinding(t, "kubelet.watchdog", "warning", "without WatchdogSec", "")
}

// standIn shows the doctor, and nobody else, a file of the kernel with another text.
func standIn(file, text string) string {
	// The mount is the doctor's alone, the file is everybody's until it has no name.
	return fmt.Sprintf("f=$(mktemp); printf '%s\\n' > $f; mount --bind $f %s; rm $f", text, file)
}

// disk shows the doctor, and nobody else, another disk at the agent's directory.
func disk(options string) string {
	return "mkdir -p /var/lib/galen; mount -t tmpfs -o " + options + " none /var/lib/galen"
}

func TestDoctorFindsWhatIsWrongWithTheMachine(t *testing.T) {
	doctorIsFor137(t)
	const hierarchy = "mkdir -p /run/cg; mount -t tmpfs none /run/cg; "
	tryAll(t, []breaking{
		{id: "host.cgroup", verdict: "bad", words: "no memory",
			before: hierarchy + "echo cpu pids > /run/cg/cgroup.controllers; " +
				"mount --bind /run/cg /sys/fs/cgroup"},
		{id: "host.cgroup", verdict: "healthy", words: "version 2",
			before: hierarchy + "echo cpu memory pids > /run/cg/cgroup.controllers; " +
				"mount --bind /run/cg /sys/fs/cgroup"},
		{id: "host.inotify-instances", verdict: "warning", words: "max_user_instances is 16",
			before: standIn("/proc/sys/fs/inotify/max_user_instances", "16")},
		{id: "host.inotify-watches", verdict: "warning", words: "max_user_watches is 100",
			before: standIn("/proc/sys/fs/inotify/max_user_watches", "100")},
		{id: "host.open-files", verdict: "bad", words: "990 of 1000 are open",
			before: standIn("/proc/sys/fs/file-nr", "990 0 1000")},
		{id: "host.disk-space", verdict: "bad", words: "/var/lib/galen (galen-agent): 4 MiB free",
			before: disk("size=4m")},
		{id: "host.disk-inodes", verdict: "bad", words: "inodes free", before: disk("nr_inodes=20")},
		{id: "host.disk-writable", verdict: "bad", words: "it is mounted read-only",
			before: disk("size=400m") + "; mount -o remount,ro /var/lib/galen"},
	})
}

// The kernel counts inotify by user namespace, too; in one of its own the doctor meets the limits
// for real.
func TestDoctorMeetsTheLimitsOfInotify(t *testing.T) {
	doctorIsFor137(t)
	for limit, id := range map[string]string{
		"max_inotify_instances": "host.inotify-instances",
		"max_inotify_watches":   "host.inotify-watches",
	} {
		script := "set -e; echo 0 > /proc/sys/user/" + limit + `; exec "$@"`
		result, err := read(cluster.harness(t.Context(), "exec", "node-1", "--", "unshare", "--user",
			"--map-root-user", "sh", "-c", script, "sh", Program("galen"), "doctor", "-o", "json"))
		must(t, err)
		if check := result[id]; check.Verdict != "bad" || !strings.Contains(check.Seen, "inotify_") {
			t.Errorf("%s is 0, and %s is %s: %s", limit, id, check.Verdict, check.Seen)
		}
	}
}

// agentOn runs the agent as a process of the node, beside no Pod of it.
func agentOn(t *testing.T, flags ...string) *Process {
	t.Helper()
	return cluster.Run(t, "node-1", "galen-agent", flags...)
}

func TestDoctorFindsAnAgentThatIsWrong(t *testing.T) {
	doctorIsFor137(t)
	definition, err := os.ReadFile(filepath.Join(Root(), "deploy", "crds", "nodedevicehealths.yaml"))
	must(t, err)
	crd := string(definition)
	t.Cleanup(applied(crd)(t)) // and with it the objects of that kind
	cluster.Reference(t, "node-1")
	journal := filepath.Join(cluster.Dir, "node-1", "lib", "galen", "journal")
	t.Cleanup(func() { must(t, os.RemoveAll(filepath.Dir(journal))) })

	awaitFinding(t, "agent.running", "bad", "agent.sock", "")
	agent := agentOn(t)
	for _, id := range []string{"agent.running", "agent.role", "agent.troubles", "agent.drivers",
		"agent.journal", "agent.permissions", "agent.definition", "agent.object", "host.clock-jumps"} {
		awaitFinding(t, id, "healthy", "", "")
	}
	tryAll(t, []breaking{
		{id: "agent.open-files", verdict: "warning", words: "may open 100 files",
			breaks: limited(func() int { return agent.PID }, 100)},
		{id: "agent.journal", verdict: "warning", words: "00000001.segment.corrupt-1",
			breaks: written(filepath.Join(journal, "00000001.segment.corrupt-1"), "broken")},
		{id: "host.clock-jumps", verdict: "warning", words: "back by",
			breaks: written(filepath.Join(journal, "99999999.segment"), journalOfTomorrow())},
	})

	agent.Stop()
	awaitFinding(t, "agent.running", "bad", "agent.sock", "")
	awaitFinding(t, "agent.object", "bad", "AgentStopped", "")

	// It calls the node by a wrong name, and looks for drivers where none register.
	agent = agentOn(t, "--node", "node-9", "--registry", "/var/lib/no-registry")
	awaitFinding(t, "agent.role", "bad", "calls this node node-9", "")
	awaitFinding(t, "agent.drivers", "bad", "ref.example.com: is unknown to the agent", "")
	awaitFinding(t, "agent.troubles", "bad", "/var/lib/no-registry", "")
	agent.Stop()
}

func TestDoctorFindsAKindThatIsMissing(t *testing.T) {
	doctorIsFor137(t)
	awaitFinding(t, "agent.definition", "bad", "does not know galen.dev/v1alpha1", "")
	agentOn(t)
	awaitFinding(t, "agent.troubles", "bad", "NodeDeviceHealth", "")
	definition, err := os.ReadFile(filepath.Join(Root(), "deploy", "crds", "nodedevicehealths.yaml"))
	must(t, err)
	t.Cleanup(applied(string(definition))(t))
	for _, id := range []string{"agent.definition", "agent.object", "agent.troubles"} {
		awaitFinding(t, id, "healthy", "", "")
	}
}

// journalOfTomorrow is a segment that an agent wrote under a clock that was a day ahead, by
// docs/formats/journal.md.
func journalOfTomorrow() string {
	record := fmt.Sprintf(`{"sequence":999999999,"time":%q,"kind":"kept","text":"journal"}`,
		time.Now().Add(24*time.Hour).UTC().Format("2006-01-02T15:04:05.000000000Z"))
	framed := binary.LittleEndian.AppendUint32(nil, uint32(len(record)))
	sum := crc32.ChecksumIEEE(append(bytes.Clone(framed), record...))
	return "GALENJ1\n" + string(binary.LittleEndian.AppendUint32(framed, sum)) + record
}
