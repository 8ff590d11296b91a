//go:build compare

package stories

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A scene is a driver of its own, and a Pod that holds one of its devices: what is done to the
// driver is shown by the kubelet in the Pod's field and by us in condition and annotation.
type scene struct {
	name   string // "killed": the driver is killed.example.com
	alone  bool   // our agent does not run
	driver *Reference
	watch  *PodWatch
	ns     string
	device string
}

func (s *scene) driverName() string { return s.name + ".example.com" }

// openScene runs the Go driver and returns when both sides say Healthy. Flags are the driver's.
func openScene(t *testing.T, c *comparison, name string, flags ...string) *scene {
	t.Helper()
	s := &scene{name: name, alone: c.alone}
	cluster.Apply(t, "default", strings.ReplaceAll(refClass, refDriver, s.driverName()))
	s.driver = cluster.Reference(t, "node-1", append([]string{"--name", s.driverName()}, flags...)...)
	s.driver.AwaitRegistered(t)
	s.ns = cluster.Namespace(t)
	cluster.Apply(t, s.ns, claimFor("mine", s.driverName()))
	s.hold(t, holder("holder", named("mine")))
	s.device = devicesOf(claimOf(t, s.ns, "holder"))[0]
	s.watch.Until(t, "both sides say Healthy", podWithin, func(pod *corev1.Pod) bool {
		return fieldSays("Healthy", "")(pod) && (s.alone || weSay("Healthy", "")(pod))
	})
	return s
}

// hold makes the scene's Pod.
func (s *scene) hold(t *testing.T, pod string) {
	t.Helper()
	s.watch = cluster.WatchPod(t, s.ns, "holder")
	cluster.Apply(t, s.ns, pod)
	s.watch.Until(t, "Ready", podWithin, Running)
}

// fieldSays holds when the kubelet's field has this state and these words for all devices.
func fieldSays(state, words string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		lines := DeviceHealth(pod)
		for _, line := range lines {
			if !strings.Contains(line+" ", "="+state+" ") || !strings.Contains(line, words) {
				return false
			}
		}
		return len(lines) > 0
	}
}

// weSay holds when our condition has this state and these words.
func weSay(state, words string) func(*corev1.Pod) bool {
	status := map[string]corev1.ConditionStatus{"Healthy": corev1.ConditionTrue,
		"Unhealthy": corev1.ConditionFalse, "Unknown": corev1.ConditionUnknown}[state]
	return func(pod *corev1.Pod) bool {
		if pod == nil {
			return false
		}
		ours := Condition(pod, condition)
		return ours.Status == status && strings.Contains(ours.Message, words)
	}
}

// weWrite holds when our annotation, which follows the condition, has these words.
func weWrite(words string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		return pod != nil && strings.Contains(pod.Annotations[annotation], words)
	}
}

// firstSince is when the first version after `from` held; ok is false when none did.
func (w *PodWatch) firstSince(from time.Time, holds func(*corev1.Pod) bool) (
	at time.Time, ok bool) {
	for _, seen := range w.All() {
		if !seen.At.Before(from) && holds(seen.Pod) {
			return seen.At, true
		}
	}
	return time.Time{}, false
}

// never is printed for what did not happen while it was waited for.
const never = time.Duration(-1)

// both waits until the kubelet's field and we hold, and says how long after `from` each did.
func (s *scene) both(from time.Time, limit time.Duration, field,
	ours func(*corev1.Pod) bool) (fieldAfter, oursAfter time.Duration) {
	for fieldAfter, oursAfter = never, never; time.Since(from) < limit; {
		if at, ok := s.watch.firstSince(from, field); ok && fieldAfter == never {
			fieldAfter = at.Sub(from)
		}
		if at, ok := s.watch.firstSince(from, ours); ok && oursAfter == never {
			oursAfter = at.Sub(from)
		}
		if fieldAfter != never && (s.alone || oursAfter != never) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	return fieldAfter, oursAfter
}

// several scenes of one kind, made side by side: their number is their name's end.
func openScenes(t *testing.T, c *comparison, name string, count int, flags ...string) []*scene {
	t.Helper()
	var all []*scene
	for i := range count {
		all = append(all, openScene(t, c, fmt.Sprintf("%s-%d", name, i), flags...))
	}
	return all
}

// each waits for all scenes at once, as both does for one, and gives what each side took, sorted.
func each(scenes []*scene, limit time.Duration, begin func(int, *scene) time.Time,
	field, ours func(*corev1.Pod) bool) (fieldAfter, oursAfter []time.Duration) {
	fieldAfter, oursAfter = make([]time.Duration, len(scenes)), make([]time.Duration, len(scenes))
	var waiting sync.WaitGroup
	for i, s := range scenes {
		from := begin(i, s)
		waiting.Go(func() {
			fieldAfter[i], oursAfter[i] = s.both(from, limit, field, ours)
		})
	}
	waiting.Wait()
	sortDurations(fieldAfter)
	sortDurations(oursAfter)
	return fieldAfter, oursAfter
}

// sortDurations puts what did not happen last.
func sortDurations(all []time.Duration) {
	slices.SortFunc(all, func(a, b time.Duration) int { return cmp.Compare(uint64(a), uint64(b)) })
}

// spread is what several took: the median, the least and the most.
func spread(sorted []time.Duration, limit time.Duration) string {
	least, most := sorted[0], sorted[len(sorted)-1]
	if most == never && limit == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s to %s)", shown(sorted[len(sorted)/2], limit), shown(least, limit),
		shown(most, limit))
}

// path are the different things that the Pod said from `from` on, one after the other.
func (s *scene) path(from time.Time, show func(*corev1.Pod) string) []string {
	path := []string{"nothing"}
	for _, seen := range s.watch.All() {
		if seen.Pod == nil {
			continue
		}
		said := show(seen.Pod)
		if seen.At.Before(from) {
			path[0] = said
		} else if path[len(path)-1] != said {
			path = append(path, said)
		}
	}
	return path
}

// fieldState and ourState are one word of each side.
func fieldState(pod *corev1.Pod) string {
	for _, line := range DeviceHealth(pod) {
		_, rest, _ := strings.Cut(line, "=")
		// The CDI id has a "=" of its own.
		if _, state, found := strings.Cut(rest, "="); found {
			rest = state
		}
		return strings.Fields(rest)[0]
	}
	return "nothing"
}

func ourState(pod *corev1.Pod) string {
	for _, state := range []string{"Healthy", "Unhealthy", "Unknown"} {
		if weSay(state, "")(pod) {
			return state
		}
	}
	return "nothing"
}

// shown is a duration for people: milliseconds below a second.
func shown(d time.Duration, limit time.Duration) string {
	switch {
	case d == never && limit == 0:
		return ""
	case d == never:
		return fmt.Sprintf("not within %.0f s", limit.Seconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
