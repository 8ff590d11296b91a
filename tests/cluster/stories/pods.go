package stories

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Namespace makes one for the story. In the end its Pods and then itself are removed, while the
// story's programs still run: a claim is unprepared by the driver that prepared it.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	made, err := c.API.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "story-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	end := c.endOf(t)
	end.namespaces = append(end.namespaces, made.Name)
	return made.Name
}

// podsGoneWithin: stories' containers end at once, and the kubelet unprepares within seconds.
const podsGoneWithin = 40 * time.Second

func (c *Cluster) clearNamespace(t testing.TB, ns string) {
	ctx, stop := context.WithTimeout(context.Background(), podsGoneWithin)
	defer stop()
	pods := c.API.CoreV1().Pods(ns)
	_ = pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	for {
		left, err := pods.List(ctx, metav1.ListOptions{})
		if err == nil && len(left.Items) == 0 {
			break
		}
		if ctx.Err() != nil {
			t.Errorf("Pods of the story are still there after %v (%v)", podsGoneWithin, err)
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := c.API.CoreV1().Namespaces().Delete(context.Background(), ns,
		metav1.DeleteOptions{}); err != nil && !errors.IsNotFound(err) {
		t.Errorf("remove namespace %s: %v", ns, err)
	}
}

// Seen is one version of a Pod, and when its event arrived here.
type Seen struct {
	At  time.Time
	Pod *corev1.Pod // nil: the Pod was removed
}

// A PodWatch takes down every version of one Pod, as a watcher of the API server sees them. A story
// that asks it after the watch has ended fails: what was not seen says nothing then.
type PodWatch struct {
	t      testing.TB
	name   string
	pods   corev1client.PodInterface
	mu     sync.Mutex
	seen   []Seen
	end    error         // why nothing more is seen; nil while it goes on
	fresh  chan struct{} // closed and made anew with each version, and with the end
	cursor int
}

// follow hands on what a watch brings; once it brings no more, `end` gets the reason. It is stopped
// with the story.
func follow(t testing.TB, events watch.Interface, take func(watch.Event), end func(error)) {
	t.Cleanup(events.Stop)
	go func() {
		for event := range events.ResultChan() {
			if event.Type == watch.Error {
				end(fmt.Errorf("the watch has ended: %w", errors.FromObject(event.Object)))
				return
			}
			take(event)
		}
		end(fmt.Errorf("the watch has ended: the API server closed it"))
	}()
}

// WatchPod begins with the Pod as it is, or with its creation; it ends with the story.
func (c *Cluster) WatchPod(t testing.TB, ns, name string) *PodWatch {
	t.Helper()
	selector := fields.OneTermEqualSelector("metadata.name", name).String()
	pods := c.API.CoreV1().Pods(ns)
	list, err := pods.List(t.Context(), metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	w := &PodWatch{t: t, name: name, pods: pods, fresh: make(chan struct{})}
	for i := range list.Items {
		w.add(&list.Items[i])
	}
	events, err := pods.Watch(t.Context(), metav1.ListOptions{FieldSelector: selector,
		ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	follow(t, events, func(event watch.Event) {
		pod, ok := event.Object.(*corev1.Pod)
		if event.Type == watch.Deleted {
			pod = nil
		}
		if ok {
			w.add(pod)
		}
	}, func(err error) { w.change(func() { w.end = err }) })
	return w
}

func (w *PodWatch) add(pod *corev1.Pod) {
	w.change(func() { w.seen = append(w.seen, Seen{time.Now(), pod}) })
}

func (w *PodWatch) change(alter func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	alter()
	close(w.fresh)
	w.fresh = make(chan struct{})
}

func (w *PodWatch) ended() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end
}

// Until gives the first version that holds, beginning with the one the last Until gave: what a
// story waits for comes in the story's order. A Pod that is removed holds only where `holds` takes
// nil.
func (w *PodWatch) Until(t testing.TB, what string, limit time.Duration,
	holds func(*corev1.Pod) bool) Seen {
	t.Helper()
	seen, held := w.wait(limit, holds)
	if !held {
		said := Tell(w.last().Pod)
		if err := w.ended(); err != nil {
			t.Fatalf("Pod %s: not seen: %s: %v; it said: %s", w.name, what, err, said)
		}
		t.Fatalf("Pod %s: not within %v: %s; it says: %s", w.name, limit, what, said)
	}
	return seen
}

// UntilAsked is Until for what the kubelet failed at. It tries again after a minute or more by
// itself, and at once when the Pod changes: so the Pod gets a new annotation each second.
func (w *PodWatch) UntilAsked(t testing.TB, what string, limit time.Duration,
	holds func(*corev1.Pod) bool) Seen {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < limit && w.ended() == nil; {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"story/asked":"%d"}}}`, time.Now().Unix())
		if _, err := w.pods.Patch(t.Context(), w.name, types.MergePatchType, []byte(patch),
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if seen, held := w.wait(time.Second, holds); held {
			return seen
		}
	}
	return w.Until(t, what, 0, holds)
}

func (w *PodWatch) wait(limit time.Duration, holds func(*corev1.Pod) bool) (Seen, bool) {
	over := time.After(limit)
	for {
		w.mu.Lock()
		fresh, end := w.fresh, w.end
		for ; w.cursor < len(w.seen); w.cursor++ {
			if seen := w.seen[w.cursor]; holds(seen.Pod) {
				w.mu.Unlock()
				return seen, true
			}
		}
		w.mu.Unlock()
		if end != nil {
			return Seen{}, false
		}
		select {
		case <-fresh:
		case <-over:
			return Seen{}, false
		}
	}
}

// Last is the newest version.
func (w *PodWatch) Last() Seen {
	w.t.Helper()
	w.mustGoOn()
	return w.last()
}

func (w *PodWatch) mustGoOn() {
	w.t.Helper()
	if err := w.ended(); err != nil {
		w.t.Errorf("Pod %s: %v", w.name, err)
	}
}

func (w *PodWatch) last() Seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) == 0 {
		return Seen{}
	}
	return w.seen[len(w.seen)-1]
}

// All are the versions so far, in order.
func (w *PodWatch) All() []Seen {
	w.t.Helper()
	w.mustGoOn()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// Running is what most stories wait for first.
func Running(pod *corev1.Pod) bool {
	return pod != nil && Condition(pod, corev1.PodReady).Status == corev1.ConditionTrue
}

// Condition of a type; the empty one when the Pod has none.
func Condition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == kind {
			return condition
		}
	}
	return corev1.PodCondition{}
}

// DeviceHealth is what the kubelet wrote in all containers' allocatedResourcesStatus, sorted: lines
// "container claim:name/request resourceID=Health message".
func DeviceHealth(pod *corev1.Pod) []string {
	var lines []string
	if pod == nil {
		return nil
	}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses,
		pod.Status.ContainerStatuses) {
		for _, resource := range container.AllocatedResourcesStatus {
			for _, device := range resource.Resources {
				message := ""
				if device.Message != nil {
					message = " " + *device.Message
				}
				lines = append(lines, fmt.Sprintf("%s %s %s=%s%s", container.Name, resource.Name,
					device.ResourceID, device.Health, message))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// Tell gives what a failed test prints of a Pod.
func Tell(pod *corev1.Pod) string {
	if pod == nil {
		return "there is no such Pod"
	}
	words := []string{string(pod.Status.Phase), pod.Status.Reason, pod.Status.Message}
	for _, condition := range pod.Status.Conditions {
		words = append(words, fmt.Sprintf("%s=%s %s", condition.Type, condition.Status,
			condition.Message))
	}
	for _, container := range pod.Status.ContainerStatuses {
		if waiting := container.State.Waiting; waiting != nil {
			words = append(words, waiting.Reason, waiting.Message)
		}
	}
	return strings.Join(append(words, DeviceHealth(pod)...), "; ")
}

// Events are the sentences of the Events about a Pod.
func (c *Cluster) Events(t testing.TB, ns, pod string) []string {
	t.Helper()
	list, err := c.API.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("involvedObject.name", pod).String()})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, event := range list.Items {
		lines = append(lines, event.Reason+": "+event.Message)
	}
	return lines
}
