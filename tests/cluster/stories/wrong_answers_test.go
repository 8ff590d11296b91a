package stories

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const refDriver = "ref.example.com"

// refObjects are the class and the template for the reference driver's devices, named as a GPU's,
// so that holder() makes Pods of them.
const refClass = `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: ref.example.com}
spec:
  selectors:
  - cel: {expression: device.driver == "ref.example.com"}
`

var oneRef = strings.NewReplacer("gpu.example.com", refDriver, "name: gpu,", "name: main,").
	Replace(oneGpu)

// startReference runs the Go driver, with its class, and returns when its devices are published.
func startReference(t *testing.T, flags ...string) *Reference {
	t.Helper()
	cluster.Apply(t, "default", refClass)
	r := cluster.Reference(t, "node-1", flags...)
	Eventually(t, "slices of "+refDriver, podWithin, func() (bool, string) {
		return len(slicesOf(t, refDriver)) > 0, "none"
	})
	r.AwaitRegistered(t)
	return r
}

// What the kubelet does with a driver's wrong answers: no container runs on a device that was not
// prepared, the Pod's Events say why, and the Pod runs once the driver is right. What the kubelet
// takes for right, a CDI id that no file has, it never asks for again: that Pod stays as it is.
func TestWrongAnswersToPrepareKeepAPodFromRunningUntilTheyEnd(t *testing.T) {
	sameOnBoth(t)
	never := startHanging(t)
	driver := startReference(t, "--devices", "8")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneRef)
	wrong := []struct{ how, says string }{
		{"fail", "the reference driver was told to fail"},
		{"missing", "skipped 1 ResourceClaims"},
		{"wrong-uid", "unknown claim UID 00000000-0000-0000-0000-000000000000"},
		{"bad-cdi", "unresolvable CDI devices this is no name of a device"},
	}
	var watches []*PodWatch
	// Each Pod meets one of them: the kubelet asks once a minute.
	for _, answer := range wrong {
		driver.Tell(t, "prepare "+answer.how)
		watches = append(watches, cluster.WatchPod(t, ns, answer.how))
		cluster.Apply(t, ns, holder(answer.how, fromTemplate))
		awaitRefusal(t, ns, answer.how, answer.says)
	}
	for _, watch := range watches {
		for _, seen := range watch.All() {
			if seen.Pod != nil && seen.Pod.Status.Phase == corev1.PodRunning {
				t.Errorf("Pod %s ran on a device that was not prepared", seen.Pod.Name)
			}
		}
	}
	driver.Tell(t, "prepare ok")
	for i, watch := range watches {
		if wrong[i].how != "bad-cdi" {
			watch.UntilAsked(t, "Ready", retriedWithin, Running)
		}
	}
	remove(t, ns, "bad-cdi")
	hold(t, ns, "bad-cdi", fromTemplate)
	never.ends(t)
}

// awaitRefusal waits for the Event that says why a Pod does not run.
func awaitRefusal(t *testing.T, ns, pod, words string) {
	t.Helper()
	Eventually(t, "an Event names "+pod, retriedWithin, func() (bool, string) {
		events := strings.Join(cluster.Events(t, ns, pod), "\n")
		refused := strings.Contains(events, "FailedPrepareDynamicResources") ||
			strings.Contains(events, "Failed: ")
		return refused && strings.Contains(events, words), events
	})
	t.Logf("%s: %s", pod, lastOf(cluster.Events(t, ns, pod)))
}

// A hanging is a driver of its own that never answers a prepare, and the Pod that waits for it. The
// kubelet gives it 45 s, which is waited for on one version; what else the story has to do is done
// meanwhile.
type hanging struct {
	driver *Reference
	watch  *PodWatch
	ns     string
	since  time.Time
}

func startHanging(t *testing.T) hanging {
	t.Helper()
	const name = "hang.example.com"
	cluster.Apply(t, "default", strings.ReplaceAll(refClass, refDriver, name))
	h := hanging{driver: cluster.Reference(t, "node-1", "--name", name), ns: cluster.Namespace(t)}
	h.driver.AwaitRegistered(t)
	h.driver.Tell(t, "prepare hang")
	cluster.Apply(t, h.ns, claimFor("mine", name))
	h.watch = cluster.WatchPod(t, h.ns, "hang")
	cluster.Apply(t, h.ns, holder("hang", named("mine")))
	Eventually(t, "the prepare hangs", podWithin, func() (bool, string) {
		state := h.driver.Tell(t, "show")
		return strings.Contains(state, `"hanging":1`), state
	})
	h.since = time.Now()
	return h
}

// ends holds that the kubelet gave it up, ran nothing, and asks again.
func (h hanging) ends(t *testing.T) {
	t.Helper()
	words := "DeadlineExceeded"
	if cluster.Is("1.34") {
		h.driver.Tell(t, "prepare fail")
		words = "the reference driver was told to hang"
	}
	awaitRefusal(t, h.ns, "hang", words)
	t.Logf("given up %.0f s after it was asked", time.Since(h.since).Seconds())
	for _, seen := range h.watch.All() {
		if seen.Pod != nil && seen.Pod.Status.Phase == corev1.PodRunning {
			t.Error("the Pod ran on a device that was not prepared")
		}
	}
	h.driver.Tell(t, "prepare ok")
	h.watch.UntilAsked(t, "Ready", retriedWithin, Running)
}

func lastOf(lines []string) string {
	if len(lines) == 0 {
		return fmt.Sprint(lines)
	}
	return lines[len(lines)-1]
}
