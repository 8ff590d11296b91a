package stories

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// retriedWithin is how long the kubelet takes to ask again for what failed: its workers back off,
// and its own look at claims comes once a minute.
const retriedWithin = 2 * time.Minute

// A sliceWatch takes down when a driver's ResourceSlices came and went.
type sliceWatch struct {
	t    testing.TB
	mu   sync.Mutex
	seen []sliceSeen
	end  error // why nothing more is seen; nil while it goes on
}

type sliceSeen struct {
	at    time.Time
	event string // ADDED, MODIFIED, DELETED
}

func watchSlices(t *testing.T, driver string) *sliceWatch {
	t.Helper()
	client := cluster.API.ResourceV1().ResourceSlices()
	selector := "spec.driver=" + driver
	list, err := client.List(t.Context(), metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	events, err := client.Watch(t.Context(), metav1.ListOptions{FieldSelector: selector,
		ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	w := &sliceWatch{t: t}
	follow(t, events, func(event watch.Event) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = append(w.seen, sliceSeen{time.Now(), string(event.Type)})
	}, func(err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.end = err
	})
	return w
}

// times are those at which an event of that kind was seen.
func (w *sliceWatch) times(event string) []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end != nil {
		w.t.Helper()
		w.t.Errorf("slices: %v", w.end)
	}
	var times []time.Time
	for _, each := range w.seen {
		if each.event == event {
			times = append(times, each.at)
		}
	}
	return times
}

func TestADriverThatIsKilledComesBackAndServesWhatItServed(t *testing.T) {
	driver := startGpus(t)
	slices := watchSlices(t, gpuDriver)
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneGpu)
	watch := hold(t, ns, "holder", fromTemplate)
	driver.Kill()
	// The scheduler still sees the devices; the kubelet asks until somebody answers.
	meanwhile := cluster.WatchPod(t, ns, "meanwhile")
	cluster.Apply(t, ns, holder("meanwhile", fromTemplate))
	Eventually(t, "the kubelet says what is missing", podWithin, func() (bool, string) {
		events := cluster.Events(t, ns, "meanwhile")
		return strings.Contains(strings.Join(events, "\n"), "FailedPrepareDynamicResources"),
			fmt.Sprint(events)
	})
	begin := time.Now()
	startGpus(t)
	t.Logf("registered and published %.1f s after its start", time.Since(begin).Seconds())
	ready := meanwhile.UntilAsked(t, "Ready", retriedWithin, Running)
	t.Logf("the Pod that had to wait was Ready after %.1f s", ready.At.Sub(begin).Seconds())
	if gone := slices.times("DELETED"); len(gone) > 0 {
		t.Errorf("the slices went away %d times", len(gone))
	}
	device := devicesOf(claimOf(t, ns, "holder"))[0]
	inject(t, device, "xid=79")
	defer inject(t, device, "reset")
	if !cluster.Is("1.34") {
		watch.Until(t, "what happens afterwards", shownWithin,
			saysHealth(1, "Unhealthy", "XID 79: GPU has fallen off the bus"))
	}
	uid := string(claimOf(t, ns, "holder").UID)
	remove(t, ns, "holder")
	awaitUnprepared(t, gpuDriver, uid, podWithin)
}

func TestSlicesAreBackWithinTwoSecondsOfAKubeletThatWipedThem(t *testing.T) {
	startGpus(t)
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneGpu)
	watch := hold(t, ns, "holder", fromTemplate)
	slices := watchSlices(t, gpuDriver)
	cluster.Kill(t, "node-1/kubelet")
	cluster.Start(t, "node-1/kubelet")
	serves := time.Now()
	Eventually(t, "the kubelet wipes the slices and they come back", podWithin,
		func() (bool, string) {
			wiped, back := slices.times("DELETED"), slices.times("ADDED")
			return len(wiped) > 0 && len(back) == len(wiped), fmt.Sprint(wiped, back)
		})
	wiped, back := slices.times("DELETED"), slices.times("ADDED")
	gap := back[len(back)-1].Sub(wiped[0])
	t.Logf("the slices were away for %d ms, and back %.1f s before the kubelet served",
		gap.Milliseconds(), serves.Sub(back[len(back)-1]).Seconds())
	if late := back[len(back)-1].Sub(serves); gap > 2*time.Second || late > 2*time.Second {
		t.Errorf("the slices were away for %v, and came back %v after the kubelet", gap, late)
	}
	// Registered again: a new claim is prepared, and health reaches the Pod that was there before.
	hold(t, ns, "next", fromTemplate)
	device := devicesOf(claimOf(t, ns, "holder"))[0]
	inject(t, device, "xid=79")
	defer inject(t, device, "reset")
	if !cluster.Is("1.34") {
		watch.Until(t, "what happens afterwards", shownWithin,
			saysHealth(1, "Unhealthy", "XID 79: GPU has fallen off the bus"))
	}
}

// Pods arrive all the while: each is prepared by the instance that there is, at the first try.
func TestARollingUpdateHasNoMomentWithoutADriver(t *testing.T) {
	old := startGpus(t, "--instance", "old")
	slices := watchSlices(t, gpuDriver)
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneGpu)
	var watches []*PodWatch
	arrive := func() {
		name := fmt.Sprintf("pod-%d", len(watches))
		watches = append(watches, cluster.WatchPod(t, ns, name))
		cluster.Apply(t, ns, holder(name, fromTemplate))
	}
	arrive()
	arrive()
	fresh := cluster.Run(t, "node-1", "galen-driver", "gpu", "--instance", "new")
	cluster.BeforeProgramsEnd(t, func() { awaitNoneLeft(t) })
	arrive()
	awaitRegistered(t, fresh)
	arrive()
	old.Signal(15)
	arrive()
	arrive()
	if code := old.Stop(); code != 0 {
		t.Errorf("the old instance ended with %d", code)
	}
	arrive()
	for i, watch := range watches {
		watch.Until(t, "Ready", podWithin, Running)
		for _, event := range cluster.Events(t, ns, fmt.Sprintf("pod-%d", i)) {
			if strings.Contains(event, "FailedPrepareDynamicResources") {
				t.Errorf("pod-%d: %s", i, event)
			}
		}
	}
	if gone := slices.times("DELETED"); len(gone) > 0 {
		t.Errorf("the slices went away %d times", len(gone))
	}
	// What the old one prepared, the new one undoes; what it watches reaches old Pods.
	claim := claimOf(t, ns, "pod-0")
	device := devicesOf(claim)[0]
	cluster.Output(t, "node-1", "galen", "inject", device, "xid=79", "--driver-socket",
		"/var/lib/kubelet/plugins/"+gpuDriver+"/dra-new.sock")
	if !cluster.Is("1.34") {
		watches[0].Until(t, "the new instance's report", shownWithin,
			saysHealth(1, "Unhealthy", "XID 79: GPU has fallen off the bus"))
	}
	cluster.Output(t, "node-1", "galen", "inject", device, "reset", "--driver-socket",
		"/var/lib/kubelet/plugins/"+gpuDriver+"/dra-new.sock")
	remove(t, ns, "pod-0")
	awaitUnprepared(t, gpuDriver, string(claim.UID), podWithin)
}

func TestANodeThatLostPowerComesBackWithItsClaims(t *testing.T) {
	startGpus(t)
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneGpu)
	watch := hold(t, ns, "holder", fromTemplate)
	claim := claimOf(t, ns, "holder")
	gpus := gpusIn(t, ns, "holder", "c")
	cluster.Kill(t, "node-1")
	cluster.Start(t, "node-1")
	begin := time.Now()
	startGpus(t)
	ready := watch.Until(t, "its container runs again", retriedWithin, func(pod *corev1.Pod) bool {
		return Running(pod) && pod.Status.ContainerStatuses[0].RestartCount > 0
	})
	t.Logf("the container ran again %.1f s after the node", ready.At.Sub(begin).Seconds())
	if now := gpusIn(t, ns, "holder", "c"); !slices.Equal(now, gpus) {
		t.Errorf("the container saw %v before and sees %v", gpus, now)
	}
	if now := prepared(t, gpuDriver); !slices.Equal(now, []string{string(claim.UID)}) {
		t.Errorf("prepared claims: %v, wanted %s", now, claim.UID)
	}
	remove(t, ns, "holder")
	awaitUnprepared(t, gpuDriver, string(claim.UID), podWithin)
}

// lingering is a Pod whose container ignores the request to end, until it is killed.
func lingering(name, claim string) string {
	return strings.Replace(holder(name, claim), "trap exit TERM; ", "", 1)
}

// deleteByForce takes a Pod out of the API at once, and its claim with it, though the container
// runs on for a while.
func deleteByForce(t *testing.T, ns, pod, claim string) {
	t.Helper()
	none := int64(0)
	if err := cluster.API.CoreV1().Pods(ns).Delete(t.Context(), pod,
		metav1.DeleteOptions{GracePeriodSeconds: &none}); err != nil {
		t.Fatal(err)
	}
	claims := cluster.API.ResourceV1().ResourceClaims(ns)
	if _, err := claims.Patch(t.Context(), claim, types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := claims.Delete(t.Context(), claim, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A Pod whose claim "mine" was prepared and then deleted by force together with it; gives the
// namespace and the claim's UID.
func deletedByForce(t *testing.T) (ns, uid string) {
	startGpus(t)
	ns = cluster.Namespace(t)
	cluster.Apply(t, ns, namedClaim)
	watch := cluster.WatchPod(t, ns, "holder")
	cluster.Apply(t, ns, lingering("holder", named("mine")))
	watch.Until(t, "Ready", podWithin, Running)
	uid = string(claimOf(t, ns, "holder").UID)
	deleteByForce(t, ns, "holder", "mine")
	return ns, uid
}

func TestAClaimIsUnpreparedAfterItsObjectIsGone(t *testing.T) {
	sameOnBoth(t)
	ns, uid := deletedByForce(t)
	if _, err := cluster.API.ResourceV1().ResourceClaims(ns).Get(t.Context(), "mine",
		metav1.GetOptions{}); err == nil {
		t.Fatal("the claim's object is still there")
	}
	if !slices.Contains(prepared(t, gpuDriver), uid) {
		t.Fatal("the claim was unprepared before its object was gone: this story shows nothing")
	}
	awaitUnprepared(t, gpuDriver, uid, retriedWithin)
}

// A kubelet refuses the new claim while the old one of its name is not unprepared.
func TestAClaimOfTheSameNameIsPreparedAfterItsForerunnerWasDeletedByForce(t *testing.T) {
	sameOnBoth(t)
	ns, first := deletedByForce(t)
	cluster.Apply(t, ns, namedClaim)
	begin := time.Now()
	next := cluster.WatchPod(t, ns, "next")
	cluster.Apply(t, ns, holder("next", named("mine")))
	ready := next.UntilAsked(t, "Ready", retriedWithin, Running)
	t.Logf("Ready after %.1f s", ready.At.Sub(begin).Seconds())
	for _, event := range cluster.Events(t, ns, "next") {
		if strings.Contains(event, "FailedPrepareDynamicResources") {
			t.Logf("before that: %s", event)
		}
	}
	second := claimOf(t, ns, "next")
	if string(second.UID) == first {
		t.Fatal("the claim is the same as before")
	}
	if gpus := gpusIn(t, ns, "next", "c"); !slices.Equal(gpus,
		[]string{gpuOfSpec(string(second.UID))}) {
		t.Errorf("the container sees %v, its claim is of %s", gpus, gpuOfSpec(string(second.UID)))
	}
	awaitUnprepared(t, gpuDriver, first, podWithin)
}
