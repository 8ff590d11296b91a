package stories

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const refDriver = "ref.example.com"

// refObjects are the class and the template for the reference driver's devices, named as a GPU's, so
// that holder() makes Pods of them.
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
	return r
}

// What the kubelet does with a driver's wrong answers: no container runs on a device that was not
// prepared, the Pod's Events say why, and the Pod runs once the driver is right. What the kubelet
// takes for right, a CDI id that no file has, it never asks for again: that Pod stays as it is.
func TestWrongAnswersToPrepareKeepAPodFromRunningUntilTheyEnd(t *testing.T) {
	driver := startReference(t, "--devices", "8")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneRef)
	wrong := []struct{ how, says string }{
		{"fail", "the reference driver was told to fail"},
		{"missing", ""},
		{"wrong-uid", ""},
		{"bad-cdi", ""},
		{"hang", "the reference driver was told to hang"},
	}
	var watches []*PodWatch
	// Each Pod meets one of them: the kubelet asks once a minute.
	for _, answer := range wrong {
		driver.Tell(t, "prepare "+answer.how)
		watches = append(watches, cluster.WatchPod(t, ns, answer.how))
		cluster.Apply(t, ns, holder(answer.how, fromTemplate))
		if answer.how == "hang" {
			Eventually(t, "the prepare hangs", podWithin, func() (bool, string) {
				state := driver.Tell(t, "show")
				return strings.Contains(state, `"hanging":1`), state
			})
			driver.Tell(t, "prepare fail") // ends it
		}
		Eventually(t, "an Event tells of "+answer.how, podWithin, func() (bool, string) {
			events := strings.Join(cluster.Events(t, ns, answer.how), "\n")
			refused := strings.Contains(events, "FailedPrepareDynamicResources") ||
				strings.Contains(events, "Failed: ")
			return refused && strings.Contains(events, answer.says), events
		})
		t.Logf("%s: %s", answer.how, lastOf(cluster.Events(t, ns, answer.how)))
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
}

func lastOf(lines []string) string {
	if len(lines) == 0 {
		return fmt.Sprint(lines)
	}
	return lines[len(lines)-1]
}
