//go:build compare

package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// What is done to drivers, claims and the kubelet while both sides show it; compare_test.go has
// the changes that a healthy driver reports.

// sampleCount drivers are killed, silenced and woken: what happens once may be chance.
func sampleCount() int {
	if testing.Short() {
		return 2
	}
	return 5
}

// toldWithinHalfASecond is promised of what ends or begins anew.
const toldWithinHalfASecond = 500 * time.Millisecond

// startedAndShownWithin leaves a program that starts on a busy machine its time.
const startedAndShownWithin = 2 * time.Second

// requireOurs wants each of ours within the bounds; sorted, with what never came last.
func (c *comparison) requireOurs(what string, least, most time.Duration, ours ...time.Duration) {
	first, last := ours[0], ours[len(ours)-1]
	wanted := "≤ " + shown(most, 0)
	if least > 0 {
		wanted = fmt.Sprintf("%s to %s", shown(least, 0), shown(most, 0))
	}
	c.goal(what+", each of ours after", wanted, shown(last, most),
		last != never && first >= least && last <= most)
}

func compareKilled(t *testing.T, c *comparison) {
	scenes := openScenes(t, c, "killed", sampleCount())
	f, o := each(scenes, kubeletWithin, func(_ int, s *scene) time.Time {
		from := time.Now()
		s.driver.Kill()
		return from
	}, fieldSays("Unknown", ""), weSay("Unknown", ""))
	c.figure("driver killed → Unknown", spread(f, kubeletWithin), c.ours(o, kubeletWithin))
	c.requireOurs("driver killed", 0, toldWithinHalfASecond, o...)
	c.defect(3, "the end of a stream is reported to nobody", "driver killed", isLate(f),
		"Unknown after "+spread(f, kubeletWithin), "Unknown after "+c.ours(o, kubeletWithin))
	f, o = each(scenes, kubeletWithin, func(_ int, s *scene) time.Time {
		from := time.Now()
		s.driver = cluster.Reference(t, "node-1", "--name", s.driverName())
		return from
	}, fieldSays("Healthy", ""), weSay("Healthy", ""))
	c.figure("killed driver started again → right, its start included", spread(f, kubeletWithin),
		c.ours(o, kubeletWithin))
	// With its start, which is not ours and takes tens of milliseconds.
	c.requireOurs("killed driver started again", 0, startedAndShownWithin, o...)
}

// isLate: a field that is right within a second is not called late.
func isLate(field []time.Duration) bool {
	last := field[len(field)-1]
	return last == never || last > 2*time.Second
}

// ours is what several of ours took; nothing where we do not run.
func (c *comparison) ours(sorted []time.Duration, limit time.Duration) string {
	if c.alone {
		return ""
	}
	return spread(sorted, limit)
}

func compareSilent(t *testing.T, c *comparison) {
	scenes := openScenes(t, c, "silent", sampleCount())
	const deadline = 30 * time.Second
	f, o := each(scenes, kubeletWithin, func(_ int, s *scene) time.Time {
		from := time.Now()
		s.driver.Tell(t, "health "+s.device+" Healthy the last word")
		s.driver.Tell(t, "stream silent")
		return from
	}, fieldSays("Unknown", ""), weSay("Unknown", ""))
	c.figure("driver silent, its report is valid for 30 s → Unknown", spread(f, kubeletWithin),
		c.ours(o, kubeletWithin))
	c.requireOurs("silent driver", deadline, deadline+250*time.Millisecond, o...)
	late := f[len(f)-1]
	c.defect(2, "no timer at the deadline", "stream open and silent, its report is valid for 30 s",
		late == never || late > deadline+2*time.Second, "Unknown after "+spread(f, kubeletWithin),
		"Unknown after "+c.ours(o, kubeletWithin))
	f, o = each(scenes, kubeletWithin, func(_ int, s *scene) time.Time {
		from := time.Now()
		s.driver.Tell(t, "stream on")
		return from
	}, fieldSays("Healthy", ""), weSay("Healthy", ""))
	c.figure("silent driver reports again, the same state as before → right",
		spread(f, kubeletWithin), c.ours(o, kubeletWithin))
	c.requireOurs("recovered driver", 0, toldWithinHalfASecond, o...)
	c.defect(17, "the same state after a silence is no change", "the silent driver reports again",
		isLate(f), "Healthy after "+spread(f, kubeletWithin),
		"Healthy after "+c.ours(o, kubeletWithin))
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
	if !c.alone {
		pod = s.watch.Until(t, "our annotation has the fault", 5*time.Second,
			weWrite("it is broken")).Pod
	}
	field := strings.Join(DeviceHealth(pod), "; ")
	c.defect(6, "the time of a change is lost", "a device is Unhealthy",
		!strings.Contains(field, "since"), "`"+field+"`", "`"+pod.Annotations[annotation]+"`")
	if said := pod.Annotations[annotation]; !c.alone && !strings.Contains(said, "since 20") {
		t.Errorf("our annotation has no time: %s", said)
	}
	from := time.Now()
	s.driver.Tell(t, "stream end")
	f, o := s.both(from, kubeletWithin, fieldSays("Unknown", ""), weSay("Unknown", ""))
	c.figure("driver ends its stream → Unknown", shown(f, kubeletWithin), shown(o, kubeletWithin))
	c.requireOurs("a driver ends its stream", 0, toldWithinHalfASecond, o)
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
	// It goes to and fro, or stays with whoever reported last.
	shown := len(field) > 2 || field[len(field)-1] != "Unhealthy"
	c.defect(4, "each instance of a driver overwrites the other", done, shown, toldPath(field),
		toldPath(ours))
	if !c.alone && (ours[len(ours)-1] != "Unhealthy" || len(ours) > 2) {
		t.Errorf("our path is %q", ours)
	}
}

// toldPath writes a path as text.
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

// fault makes all devices of the scene fail, and records the defect.
func (s *scene) fault(t *testing.T, c *comparison, number int, what, done string) {
	t.Helper()
	const limit = 30 * time.Second
	from := time.Now()
	s.driver.Tell(t, "health all Unhealthy it fell off the bus")
	f, o := s.both(from, limit, fieldSays("Unhealthy", ""), weSay("Unhealthy", ""))
	c.defect(number, what, done, f == never, "Unhealthy "+after(f, limit),
		"Unhealthy "+after(o, limit))
	c.requireOurs(what, 0, shownWithin, o)
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
	s.fault(t, c, 14, "a fault that is known after the Pod's end is reported nowhere",
		"a container ends with 134; a second later its device is known to be bad")
}

// compareKubelet: the kubelet restarts while a device is bad, and wipes all slices.
func compareKubelet(t *testing.T, c *comparison) {
	s := openScene(t, c, "kubelet", "--timeout", "5s")
	startGpus(t)
	s.driver.Tell(t, "health "+s.device+" Unhealthy it is broken")
	if f, o := s.both(time.Now().Add(-time.Second), 20*time.Second, fieldSays("Unhealthy", ""),
		weSay("Unhealthy", "")); f == never || (o == never && !c.alone) {
		t.Fatalf("the fault: the field after %v, we after %v", f, o)
	}
	// Older than a report holds, so that what the kubelet kept has expired.
	time.Sleep(8 * time.Second)
	ours, helpers := watchSlices(t, gpuDriver), watchSlices(t, s.driverName())
	from := time.Now()
	cluster.Kill(t, "node-1/kubelet")
	cluster.Start(t, "node-1/kubelet")
	Eventually(t, "slices are back", podWithin, func() (bool, string) {
		return len(ours.times("ADDED")) > 0 && len(helpers.times("ADDED")) > 0, ""
	})
	time.Sleep(15 * time.Second)
	field, path := s.path(from, fieldState), s.path(from, ourState)
	c.defect(7, "what the kubelet kept looks expired after its restart",
		"kubelet killed and started while a device is Unhealthy", len(field) > 1, toldPath(field),
		toldPath(path))
	if !c.alone && !slices.Equal(path, []string{"Unhealthy"}) {
		t.Errorf("while the kubelet started again our path was %q", path)
	}
	gap := func(w *sliceWatch) time.Duration {
		return w.times("ADDED")[0].Sub(w.times("DELETED")[0])
	}
	c.defect(15, "slices are wiped when a kubelet starts", "the same; ResourceSlices were away for",
		gap(helpers) > 2*time.Second, "Go helper: "+shown(gap(helpers), 0),
		"our SDK: "+shown(gap(ours), 0))
	// The SDK is ours whether the agent runs or not.
	if away := gap(ours); away > 2*time.Second {
		t.Errorf("our SDK's slices were away for %v", away)
	}
}

// compareForced: a Pod and its claim are deleted by force, and another pair of these names comes.
// Nothing of this is in anybody's health; it is listed because the defect is one of the list.
func compareForced(t *testing.T, c *comparison) {
	const name = "forced.example.com"
	cluster.Apply(t, "default", strings.ReplaceAll(refClass, refDriver, name))
	cluster.Reference(t, "node-1", "--name", name)
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, claimFor("mine", name))
	first := cluster.WatchPod(t, ns, "holder")
	cluster.Apply(t, ns, lingering("holder", named("mine")))
	first.Until(t, "Ready", podWithin, Running)
	deleteByForce(t, ns, "holder", "mine")
	from := time.Now()
	cluster.Apply(t, ns, claimFor("mine", name))
	next := cluster.WatchPod(t, ns, "next")
	cluster.Apply(t, ns, holder("next", named("mine")))
	took := next.Until(t, "Ready", 2*retriedWithin, Running).At.Sub(from)
	refused := strings.Contains(strings.Join(cluster.Events(t, ns, "next"), "\n"),
		"FailedPrepareDynamicResources")
	words := "runs after " + shown(took, 0)
	if refused {
		words = "refused, then " + words
	}
	c.defect(16, "a Pod deleted by force blocks the next claim of its name",
		"Pod and claim deleted by force; a claim of the same name, and a Pod for it", refused, words,
		"an observer prepares nothing")
}
