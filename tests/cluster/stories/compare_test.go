//go:build compare

package stories

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ./dev cluster compare: what the kubelet's own field and ours say of the same devices, at the same
// time, on the same Pods; the page of figures is written from what was measured.

var pageFlag = flag.String("page", "", "the file to write the comparison to")

// kubeletWithin is how long the kubelet is waited for.
const kubeletWithin = 120 * time.Second

func TestTheKubeletsFieldAndOurs(t *testing.T) {
	c := &comparison{alone: true}
	t.Run("Alone", func(t *testing.T) { c.tell(t) })
	c.alone = false
	cluster.Install(t, "")
	t.Run("Beside", func(t *testing.T) { c.tell(t) })
	if *pageFlag != "" && !t.Failed() {
		if err := os.WriteFile(*pageFlag, []byte(c.page()), 0o644); err != nil {
			t.Error(err)
		}
	}
	t.Logf("\n%s", c.page())
}

func (c *comparison) tell(t *testing.T) {
	// First, when no driver that has gone is still being cleared away.
	t.Run("Idle", func(t *testing.T) { compareIdle(t, c) })
	t.Run("Changes", func(t *testing.T) { compareChanges(t, c) })
	t.Run("Together", func(t *testing.T) {
		for name, compare := range map[string]func(*testing.T, *comparison){
			"Killed": compareKilled, "Silent": compareSilent, "Ended": compareEnded,
			"Rolling": compareRolling, "Extended": compareExtended, "Unused": compareUnused,
			"Finished": compareFinished} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				compare(t, c)
			})
		}
	})
	t.Run("Kubelet", func(t *testing.T) { compareKubelet(t, c) })
}

// percentile of durations, of which there are some.
func percentile(all []time.Duration, share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// changesCount: the kubelet alone takes its time over each.
func (c *comparison) changesCount() int {
	if c.alone {
		return 100
	}
	return 200
}

// compareChanges: single changes with pauses between them, then bursts.
func compareChanges(t *testing.T, c *comparison) {
	s := openScene(t, c, "changes")
	writes := c.writes(t)["Pod"]
	seed := time.Now().UnixNano()
	chance := rand.New(rand.NewSource(seed))
	var field, ours []time.Duration
	for i := range c.changesCount() {
		state, words := "Healthy", ""
		if i%2 == 0 {
			state, words = "Unhealthy", fmt.Sprintf("change %d", i)
		}
		from := time.Now()
		s.driver.Tell(t, fmt.Sprintf("health %s %s %s", s.device, state, words))
		f, o := s.both(from, 20*time.Second, fieldSays(state, words), weSay(state, words))
		if f == never || (o == never && !c.alone) {
			t.Fatalf("change %d (seed %d): the field after %v, we after %v", i, seed, f, o)
		}
		field, ours = append(field, f), append(ours, o)
		time.Sleep(50*time.Millisecond + time.Duration(chance.Intn(450))*time.Millisecond)
	}
	if c.alone {
		c.aloneChanges = field
	}
	for _, each := range []struct {
		name  string
		share float64
		goal  float64
	}{{"p50", 0.5, 0.5}, {"p90", 0.9, 1}, {"p99", 0.99, 0.2}, {"max", 1, 1}} {
		f, o := percentile(field, each.share), percentile(ours, each.share)
		c.figure("single changes, "+each.name, shown(f, 0), shown(o, 0))
		// The better of the kubelet's two is what is to be beaten.
		best := min(f, percentile(c.aloneChanges, each.share))
		if float64(o) > each.goal*float64(best) {
			t.Errorf("%s: ours %v, the field's %v; at most %.1f of it is wanted", each.name, o, best,
				each.goal)
		}
	}
	writes = c.writes(t)["Pod"] - writes
	count := c.changesCount()
	c.figure("… our writes to the Pod, a change", "", fmt.Sprintf("%.2f", float64(writes)/float64(count)))
	if writes > count {
		t.Errorf("%d writes to the Pod for %d changes", writes, count)
	}
	for round := range 3 {
		compareBurst(t, c, s, round)
	}
}

// compareBurst: two thousand changes as fast as the driver takes them.
func compareBurst(t *testing.T, c *comparison, s *scene, round int) {
	t.Helper()
	connection, err := net.Dial("unix", s.driver.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	answers := bufio.NewReader(connection)
	const burst = 2000
	begin := time.Now()
	versions := len(s.watch.All())
	for i := range burst {
		state := []string{"Unhealthy", "Healthy"}[i%2]
		if i == burst-1 {
			state = "Unhealthy"
		}
		fmt.Fprintf(connection, "health %s %s burst %d change %d\n", s.device, state, round, i)
		if _, err := answers.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	end := time.Now()
	words := fmt.Sprintf("burst %d change %d", round, burst-1)
	f, o := s.both(end.Add(-time.Second), 20*time.Second, fieldSays("Unhealthy", words),
		weSay("Unhealthy", words))
	if f == never || (o == never && !c.alone) {
		t.Fatalf("the last of a burst: the field after %v, we after %v", f, o)
	}
	t.Logf("%d changes in %v", burst, end.Sub(begin))
	row := fmt.Sprintf("burst %d: %d changes at once, the last one", round+1, burst)
	c.figure(row, shown(max(0, f-time.Second), 0), shown(max(0, o-time.Second), 0))
	c.figure(fmt.Sprintf("… burst %d: versions of the Pod", round+1),
		fmt.Sprint(len(s.watch.All())-versions), "both together")
}

var apiWrites = regexp.MustCompile(`(?m)^galen_api_writes_total\{kind="([^"]*)"[^}]*\} (\d+)`)

// writes counts the agent's requests so far that may change something, by kind.
func (c *comparison) writes(t *testing.T) map[string]int {
	t.Helper()
	if c.alone {
		return nil
	}
	_, text := cluster.agentSays(t, "metrics")
	total := map[string]int{}
	for _, found := range apiWrites.FindAllStringSubmatch(text, -1) {
		count, _ := strconv.Atoi(found[2])
		total[found[1]] += count
	}
	return total
}

// compareIdle: one Pod of three devices of which nothing is to be told.
func compareIdle(t *testing.T, c *comparison) {
	s := openScene(t, c, "idle", "--timeout", "9s")
	cluster.Apply(t, s.ns, strings.NewReplacer("{name: mine}", "{name: three}",
		"exactly: {deviceClassName: idle.example.com}",
		"exactly: {deviceClassName: idle.example.com, count: 3}").
		Replace(claimFor("mine", s.driverName())))
	watch := cluster.WatchPod(t, s.ns, "three")
	cluster.Apply(t, s.ns, holder("three", named("three")))
	watch.Until(t, "both sides say Healthy", podWithin, func(pod *corev1.Pod) bool {
		return len(DeviceHealth(pod)) == 3 && (c.alone || weSay("Healthy", "")(pod))
	})
	// What its start brings is told in seconds.
	time.Sleep(10 * time.Second)
	before, writes := len(watch.All()), c.writes(t)
	const idle = 60 * time.Second
	time.Sleep(idle)
	ours := 0
	for kind, now := range c.writes(t) {
		ours += now - writes[kind]
	}
	versions := len(watch.All()) - before
	c.figure(fmt.Sprintf("writes while nothing changes, %.0f s, a Pod of three devices",
		idle.Seconds()), fmt.Sprint(versions), fmt.Sprint(ours))
	c.defect(12, "entries in random order, each a write",
		fmt.Sprintf("a Pod of three devices, nothing happens for %.0f s", idle.Seconds()),
		fmt.Sprintf("%d new versions of the Pod", versions), fmt.Sprintf("%d writes of any kind", ours))
	if ours > 0 {
		t.Errorf("%d writes of ours while nothing changed", ours)
	}
}

func compareKilled(t *testing.T, c *comparison) {
	s := openScene(t, c, "killed")
	from := time.Now()
	s.driver.Kill()
	f, o := s.both(from, kubeletWithin, fieldSays("Unknown", ""), weSay("Unknown", ""))
	c.figure("driver killed → Unknown", shown(f, kubeletWithin), shown(o, kubeletWithin))
	if !c.alone && (o == never || o > 500*time.Millisecond) {
		t.Errorf("driver killed: Unknown after %v, 500 ms are wanted", o)
	}
	c.defect(3, "the end of a stream is told to nobody", "driver killed",
		"Unknown after "+shown(f, kubeletWithin), "Unknown after "+shown(o, kubeletWithin))
	from = time.Now()
	again := cluster.Reference(t, "node-1", "--name", s.driverName())
	f, o = s.both(from, kubeletWithin, fieldSays("Healthy", ""), weSay("Healthy", ""))
	c.figure("killed driver started again → right, its start included", shown(f, kubeletWithin),
		shown(o, kubeletWithin))
	_ = again
}

func compareSilent(t *testing.T, c *comparison) {
	s := openScene(t, c, "silent")
	const deadline = 30 * time.Second
	from := time.Now()
	s.driver.Tell(t, "health "+s.device+" Healthy the last word")
	s.driver.Tell(t, "stream silent")
	f, o := s.both(from, kubeletWithin, fieldSays("Unknown", ""), weSay("Unknown", ""))
	c.figure("driver silent, its word holds 30 s → Unknown", shown(f, kubeletWithin),
		shown(o, kubeletWithin))
	if !c.alone && (o == never || o < deadline || o > deadline+250*time.Millisecond) {
		t.Errorf("silent driver: Unknown after %v, %v and at most 250 ms more are wanted", o, deadline)
	}
	c.defect(2, "no timer at the deadline", "stream open and silent, its word holds 30 s",
		"Unknown after "+shown(f, kubeletWithin), "Unknown after "+shown(o, kubeletWithin))
	from = time.Now()
	s.driver.Tell(t, "stream on")
	f, o = s.both(from, kubeletWithin, fieldSays("Healthy", ""), weSay("Healthy", ""))
	c.figure("silent driver speaks again, the same state as before → right", shown(f, kubeletWithin),
		shown(o, kubeletWithin))
	if !c.alone && (o == never || o > 500*time.Millisecond) {
		t.Errorf("recovered driver: right after %v, 500 ms are wanted", o)
	}
	c.defect(17, "the same state after a silence is no change", "the silent driver speaks again",
		"Healthy after "+shown(f, kubeletWithin), "Healthy after "+shown(o, kubeletWithin))
}

// compareEnded: the driver lives, its stream does not.
func compareEnded(t *testing.T, c *comparison) {
	s := openScene(t, c, "ended")
	s.driver.Tell(t, "health "+s.device+" Unhealthy it is broken")
	if f, o := s.both(time.Now().Add(-time.Second), 20*time.Second, fieldSays("Unhealthy", ""),
		weSay("Unhealthy", "")); f == never || (o == never && !c.alone) {
		t.Fatalf("the fault: the field after %v, we after %v", f, o)
	}
	pod := s.watch.Last().Pod
	c.defect(6, "the time of a change is lost", "a device is Unhealthy",
		"`"+strings.Join(DeviceHealth(pod), "; ")+"`", "`"+pod.Annotations[annotation]+"`")
	from := time.Now()
	s.driver.Tell(t, "stream end")
	f, o := s.both(from, kubeletWithin, fieldSays("Unknown", ""), weSay("Unknown", ""))
	c.figure("driver ends its stream → Unknown", shown(f, kubeletWithin), shown(o, kubeletWithin))
}

// compareRolling: during an update the new instance sees a fault that the old one does not.
func compareRolling(t *testing.T, c *comparison) {
	s := openScene(t, c, "rolling", "--timeout", "3s", "--instance", "old")
	fresh := cluster.Reference(t, "node-1", "--name", s.driverName(), "--timeout", "3s", "--instance",
		"new")
	// It is registered when it was asked for health, by us too.
	listeners := `"streams":2`
	if c.alone {
		listeners = `"streams":1`
	}
	Eventually(t, "both instances are heard", podWithin, func() (bool, string) {
		state := fresh.Tell(t, "show")
		return strings.Contains(state, listeners), state
	})
	from := time.Now()
	fresh.Tell(t, "health "+s.device+" Unhealthy seen by the new one")
	const long = 20 * time.Second
	time.Sleep(long)
	field, ours := s.path(from, fieldState), s.path(from, ourState)
	done := fmt.Sprintf("two instances for %.0f s; the new one says Unhealthy, the old one Healthy",
		long.Seconds())
	c.defect(4, "each instance of a driver overwrites the other", done, toldPath(field), toldPath(ours))
	if !c.alone && (ours[len(ours)-1] != "Unhealthy" || len(ours) > 2) {
		t.Errorf("our path is %q", ours)
	}
}

// toldPath is a path in words.
func toldPath(path []string) string {
	if len(path) == 1 {
		return path[0] + " all the time"
	}
	if len(path) > 3 {
		return fmt.Sprintf("%d changes between %s and %s", len(path)-1, path[0], path[1])
	}
	return strings.Join(path, " → ")
}

func compareExtended(t *testing.T, c *comparison) {
	s := &scene{name: "extended", alone: c.alone}
	cluster.Apply(t, "default", strings.ReplaceAll(refClass, refDriver, s.driverName())+
		"  extendedResourceName: example.com/board\n")
	s.driver = cluster.Reference(t, "node-1", "--name", s.driverName())
	s.ns = cluster.Namespace(t)
	s.hold(t, strings.Replace(holderOf("holder", "", "{name: c, uses: []}"),
		"resources: {claims: []}", "resources: {limits: {example.com/board: 1}}", 1))
	s.fault(t, c, 8, "extended resources have no health",
		"a Pod asks for `example.com/board: 1`, which the class gives out; its device fails")
}

// fault makes all devices of the scene fail, and tells the defect.
func (s *scene) fault(t *testing.T, c *comparison, number int, what, done string) {
	t.Helper()
	const limit = 30 * time.Second
	from := time.Now()
	s.driver.Tell(t, "health all Unhealthy it fell off the bus")
	f, o := s.both(from, limit, fieldSays("Unhealthy", ""), weSay("Unhealthy", ""))
	c.defect(number, what, done, "Unhealthy "+after(f, limit), "Unhealthy "+after(o, limit))
}

func after(d, limit time.Duration) string {
	if d == never {
		return shown(d, limit)
	}
	return "after " + shown(d, limit)
}

func compareUnused(t *testing.T, c *comparison) {
	s := &scene{name: "unused", alone: c.alone}
	cluster.Apply(t, "default", strings.ReplaceAll(refClass, refDriver, s.driverName()))
	s.driver = cluster.Reference(t, "node-1", "--name", s.driverName())
	s.ns = cluster.Namespace(t)
	cluster.Apply(t, s.ns, claimFor("mine", s.driverName()))
	s.hold(t, holderOf("holder", named("mine"), "{name: c, uses: []}"))
	s.fault(t, c, 13, "a claim that no container names has no health",
		"a Pod holds a claim, its containers do not name it; the device fails")
}

// compareFinished: the fault is known a second after the container ended because of it.
func compareFinished(t *testing.T, c *comparison) {
	s := &scene{name: "finished", alone: c.alone}
	cluster.Apply(t, "default", strings.ReplaceAll(refClass, refDriver, s.driverName()))
	s.driver = cluster.Reference(t, "node-1", "--name", s.driverName())
	s.ns = cluster.Namespace(t)
	cluster.Apply(t, s.ns, claimFor("mine", s.driverName()))
	s.hold(t, strings.NewReplacer("spec:\n", "spec:\n  restartPolicy: Never\n",
		"trap exit TERM; sleep 100000 & wait", "sleep 3; exit 134").
		Replace(holder("holder", named("mine"))))
	s.watch.Until(t, "failed", podWithin, func(pod *corev1.Pod) bool {
		return pod != nil && pod.Status.Phase == corev1.PodFailed
	})
	time.Sleep(time.Second)
	s.fault(t, c, 14, "a fault that is known after the Pod's end is told nowhere",
		"a container ends with 134; a second later its device is known to be bad")
}

// compareKubelet: the kubelet restarts while a device is bad, and wipes all slices.
func compareKubelet(t *testing.T, c *comparison) {
	s := openScene(t, c, "kubelet", "--timeout", "5s")
	startGpus(t)
	s.driver.Tell(t, "health "+s.device+" Unhealthy it is broken")
	s.both(time.Now(), 20*time.Second, fieldSays("Unhealthy", ""), weSay("Unhealthy", ""))
	// Older than a word holds, so that what the kubelet kept has expired.
	time.Sleep(8 * time.Second)
	ours, helpers := watchSlices(t, gpuDriver), watchSlices(t, s.driverName())
	from := time.Now()
	cluster.Kill(t, "node-1/kubelet")
	cluster.Start(t, "node-1/kubelet")
	Eventually(t, "slices are back", podWithin, func() (bool, string) {
		return len(ours.times("ADDED")) > 0 && len(helpers.times("ADDED")) > 0, ""
	})
	time.Sleep(15 * time.Second)
	c.defect(7, "what the kubelet kept looks expired after its restart",
		"kubelet killed and started while a device is Unhealthy",
		toldPath(s.path(from, fieldState)), toldPath(s.path(from, ourState)))
	gap := func(w *sliceWatch) string {
		return shown(w.times("ADDED")[0].Sub(w.times("DELETED")[0]), 0)
	}
	c.defect(15, "slices are wiped when a kubelet starts", "the same; ResourceSlices were away for",
		"Go helper: "+gap(helpers), "our SDK: "+gap(ours))
}
