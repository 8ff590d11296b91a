package stories

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// For the story of `galen explain`: how many Pods are asked about, and the seed of what they want.
const (
	explainPodsVariable = "GALEN_EXPLAIN_PODS"
	explainSeedVariable = "GALEN_EXPLAIN_SEED"
	explainPodsUsual    = 40
)

// decidedWithin bounds what the scheduler needs for one Pod.
// It gives up one search after 10 s, a node after the other.
const decidedWithin = 45 * time.Second

// What `galen -o json explain` says, as far as the scheduler can contradict it.
type explained struct {
	Prospect    string
	Message     string
	Nodes       []string
	Allocations []resourcev1.AllocationResult
}

// What the scheduler did with a Pod: it is bound, or it is not and why.
type decided struct {
	Node        string
	Reason      string // of the condition PodScheduled: Unschedulable, SchedulerError
	Message     string
	Allocations []resourcev1.AllocationResult // of its claims that had none before, in their order
}

// ended: the whole attempt, whatever other nodes would say. By an error, or by a class that is not
// there: no node is looked at then, and the Pod waits for the class.
func (d decided) ended() bool {
	return d.Reason == corev1.PodReasonSchedulerError || d.Node == "" &&
		strings.Contains(d.Message, "device class") && strings.Contains(d.Message, "does not exist")
}

// explainStory asks about Pods one at a time: what decides over a Pod is the same for both.
type explainStory struct {
	t       *testing.T
	world   *explainWorld
	rng     *rand.Rand
	ns      string
	admin   string       // a namespace in which claims may have adminAccess
	living  []explainAsk // those that have their devices
	tally   map[string]int
	again   int // Pods that were asked about twice, since informers lag
	problem int
}

// Every Pod is asked about before the scheduler sees it, then the scheduler decides, and both have
// said the same: whether it fits, is refused or does not fit, on which nodes, with which devices.
// GALEN_EXPLAIN_PODS=200 asks about more; a failure names the seed, GALEN_EXPLAIN_SEED takes it.
func TestExplainSaysWhatTheSchedulerWillDo(t *testing.T) {
	seed, count := numberOf(t, explainSeedVariable, time.Now().UnixNano()),
		numberOf(t, explainPodsVariable, explainPodsUsual)
	t.Logf("%s=%d, %d Pods", explainSeedVariable, seed, count)
	onStockGates(t)
	rng := rand.New(rand.NewPCG(uint64(seed), 0))
	s := &explainStory{t: t, rng: rng, ns: cluster.Namespace(t), admin: cluster.Namespace(t),
		tally: map[string]int{}}
	cluster.Kubectl(t, "label", "namespace", s.admin, "resource.kubernetes.io/admin-access=true")
	s.world = newExplainWorld(t, rng)
	t.Cleanup(func() { s.remove(s.living...) })
	begin := time.Now()
	for i := range count {
		s.world.change(t, rng)
		s.compare(s.ask(fmt.Sprintf("pod-%d", i)))
		s.makeRoom()
	}
	t.Logf("%d Pods in %.1f s: %v; %d asked about twice", count, time.Since(begin).Seconds(), s.tally,
		s.again)
	for _, verdict := range []string{"Now", "Later", "Never", "Refused"} {
		if s.tally[verdict] == 0 && count >= 100 {
			t.Errorf("no Pod was %s: the story tries less than it says", verdict)
		}
	}
}

func numberOf(t *testing.T, variable string, usual int64) int64 {
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return number
}

// compare fails the story where they differ. The scheduler sees a change of the cluster some
// milliseconds after this client: a difference counts when a second Pod meets it, too.
func (s *explainStory) compare(ask explainAsk) {
	s.t.Helper()
	var difference, first string
	for range 2 {
		said, each := s.explain(ask)
		did := s.schedule(ask)
		if strings.Contains(did.Message, "timed out trying to allocate") {
			s.tally["timed out"]++ // too many combinations for it: no answer to compare with
			s.remove(ask)
			return
		}
		difference = differenceOf(said, each, did)
		if difference == "" {
			s.tally[said.Prospect]++
			s.keepOrRemove(ask, did)
			if first != "" {
				s.again++
				s.t.Logf("%s: once they differed, then not: %s", ask.pod.Name, first)
			}
			return
		}
		first = difference
		s.remove(ask)
		time.Sleep(time.Second) // of informers that lag nobody can see the end
	}
	s.problem++
	s.t.Errorf("%s: %s\n%s", ask.pod.Name, difference, ask.manifest())
	if s.problem == 10 {
		s.t.Fatal("ten differences are enough")
	}
}

// explain gives the answer for the Pod, and the one for each node that it names. The scheduler
// chooses among nodes by scores that explain does not know, so its devices are compared with what
// a Pod that may use that node only would get: the allocator is asked for one node after the other
// and does not know the others. The answer itself has the devices of its first node, as an example;
// those of 5,000 nodes would be of no use to anybody but this story.
func (s *explainStory) explain(ask explainAsk) (explained, map[string]explained) {
	s.t.Helper()
	said := s.said(ask)
	each := map[string]explained{}
	for _, node := range said.Nodes {
		each[node] = s.answer(ask.pinned(node))
	}
	return said, each
}

// said is the answer for the manifest before anything of it is applied, or for a Pod that is there
// and that a gate keeps from the scheduler.
func (s *explainStory) said(ask explainAsk) explained {
	s.t.Helper()
	if !ask.gated {
		return s.answer(ask)
	}
	s.apply(ask)
	return s.galen("", "-n", ask.pod.Namespace, "explain", "pod", ask.pod.Name)
}

// answer hands the manifest to the program.
func (s *explainStory) answer(ask explainAsk) explained {
	s.t.Helper()
	return s.galen(ask.manifest(), "-n", ask.pod.Namespace, "explain", "-f", "-")
}

func (s *explainStory) galen(stdin string, args ...string) explained {
	s.t.Helper()
	args = append([]string{"--kubeconfig", filepath.Join(cluster.Dir, "kubeconfig"), "-o", "json"},
		args...)
	command := exec.Command(Program("galen"), args...)
	var out, problem bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(stdin), &out, &problem
	err := command.Run()
	var said explained
	if fault := json.Unmarshal(out.Bytes(), &said); fault != nil {
		s.t.Fatalf("galen %s: %v: %s%s\n%s", strings.Join(args, " "), err, out.Bytes(), problem.Bytes(),
			stdin)
	}
	code := map[string]int{"Now": 0, "CannotTell": 3}
	want, known := code[said.Prospect]
	if !known {
		want = 2
	}
	var exit *exec.ExitError
	if got := 0; err != nil {
		if errors.As(err, &exit) {
			got = exit.ExitCode()
		}
		if got != want {
			s.t.Errorf("galen explain says %s and exits with %d", said.Prospect, got)
		}
	} else if want != 0 {
		s.t.Errorf("galen explain says %s and exits with 0", said.Prospect)
	}
	return said
}

// apply makes the claims and the Pod.
func (s *explainStory) apply(ask explainAsk) {
	s.t.Helper()
	for _, claim := range ask.claims {
		if _, err := cluster.API.ResourceV1().ResourceClaims(claim.Namespace).Create(s.t.Context(),
			claim, metav1.CreateOptions{}); err != nil {
			s.t.Fatalf("%v\n%s", err, ask.manifest())
		}
	}
	pod := ask.pod.DeepCopy()
	if ask.gated {
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "explain.example.com/asked"}}
	}
	if _, err := cluster.API.CoreV1().Pods(pod.Namespace).Create(s.t.Context(), pod,
		metav1.CreateOptions{}); err != nil {
		s.t.Fatalf("%v\n%s", err, ask.manifest())
	}
}

// schedule gives the Pod to the scheduler, and waits for its decision.
func (s *explainStory) schedule(ask explainAsk) decided {
	s.t.Helper()
	pods := cluster.API.CoreV1().Pods(ask.pod.Namespace)
	if !ask.gated {
		s.apply(ask)
	} else if _, err := pods.Patch(s.t.Context(), ask.pod.Name, types.MergePatchType,
		[]byte(`{"spec":{"schedulingGates":null}}`), metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
	for begin := time.Now(); time.Since(begin) < decidedWithin; time.Sleep(5 * time.Millisecond) {
		pod, err := pods.Get(s.t.Context(), ask.pod.Name, metav1.GetOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		if pod.Spec.NodeName != "" {
			return decided{Node: pod.Spec.NodeName, Allocations: s.allocations(ask)}
		}
		condition := Condition(pod, corev1.PodScheduled)
		if condition.Status == corev1.ConditionFalse &&
			condition.Reason != corev1.PodReasonSchedulingGated {
			return decided{Reason: condition.Reason, Message: condition.Message}
		}
	}
	s.t.Fatalf("%s: no decision within %v", ask.pod.Name, decidedWithin)
	return decided{}
}

func (s *explainStory) allocations(ask explainAsk) []resourcev1.AllocationResult {
	s.t.Helper()
	var all []resourcev1.AllocationResult
	for _, claim := range ask.claims {
		now, err := cluster.API.ResourceV1().ResourceClaims(claim.Namespace).Get(s.t.Context(),
			claim.Name, metav1.GetOptions{})
		if err != nil || now.Status.Allocation == nil {
			s.t.Fatalf("%s is bound, and its claim has no devices: %v", ask.pod.Name, err)
		}
		all = append(all, *now.Status.Allocation)
	}
	return all
}

// differenceOf is "" where both say the same.
func differenceOf(said explained, each map[string]explained, did decided) string {
	problem := ""
	switch {
	case did.Node != "" && (said.Prospect != "Now" || !slices.Contains(said.Nodes, did.Node)):
		problem = "the scheduler has a node that explain does not name"
	case did.Node == "" && said.Prospect == "Now":
		problem = "the scheduler has no node, explain has"
	case did.ended() != (said.Prospect == "Refused"):
		problem = "one ends the whole attempt, the other does not"
	case did.Node != "":
		want, got := comparable(each[did.Node].Allocations), comparable(did.Allocations)
		// Until 1.35 pools and slices come out of Go maps, so that it takes any devices that suit.
		if cluster.Is("1.34") {
			want, got = want[:0:0], got[:0:0]
		}
		if !reflect.DeepEqual(want, got) {
			problem = "the devices differ"
		}
	}
	if problem == "" {
		return ""
	}
	return fmt.Sprintf("%s\n explain:   %s %v %q %s\n scheduler: node %q %s %q %s", problem,
		said.Prospect, said.Nodes, said.Message, comparable(each[did.Node].Allocations), did.Node,
		did.Reason, did.Message, comparable(did.Allocations))
}

// comparable is each allocation as JSON without what only the scheduler can make: ids of shares and
// the time.
func comparable(allocations []resourcev1.AllocationResult) []string {
	var texts []string
	for _, each := range allocations {
		each = *each.DeepCopy()
		each.AllocationTimestamp = nil
		for i := range each.Devices.Results {
			each.Devices.Results[i].ShareID = nil
		}
		text, err := json.Marshal(each)
		if err != nil {
			panic(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

// keepOrRemove: what has its devices keeps them for a while, what waits goes at once.
func (s *explainStory) keepOrRemove(ask explainAsk, did decided) {
	if did.Node == "" {
		s.remove(ask)
		return
	}
	s.living = append(s.living, ask)
}

// makeRoom ends some Pods now and then, or all, so that the cluster fills and empties. A Pod that
// shares a claim goes with the Pod that brought it.
func (s *explainStory) makeRoom() {
	if len(s.living) < 8 || s.rng.IntN(3) != 0 {
		return
	}
	s.rng.Shuffle(len(s.living), func(i, j int) {
		s.living[i], s.living[j] = s.living[j], s.living[i]
	})
	names := map[string]bool{}
	for _, ask := range s.living[s.rng.IntN(len(s.living)):] {
		names[ask.pod.Name] = true
	}
	for before := 0; before != len(names); {
		before = len(names)
		for _, ask := range s.living {
			if names[ask.shares] {
				names[ask.pod.Name] = true
			}
		}
	}
	var gone, stay []explainAsk
	for _, ask := range s.living {
		if names[ask.pod.Name] {
			gone = append(gone, ask)
		} else {
			stay = append(stay, ask)
		}
	}
	s.living = stay
	s.remove(gone...)
}

// remove ends Pods, which have no kubelet that would, and returns when their claims are gone.
func (s *explainStory) remove(asks ...explainAsk) {
	s.t.Helper()
	ctx := context.Background() // also after the story's own has ended
	gone := map[string]bool{}
	for _, ask := range asks {
		for _, claim := range ask.claims {
			gone[claim.Name] = true
			_ = cluster.API.ResourceV1().ResourceClaims(claim.Namespace).Delete(ctx, claim.Name,
				metav1.DeleteOptions{})
		}
		_ = cluster.API.CoreV1().Pods(ask.pod.Namespace).Delete(ctx, ask.pod.Name,
			metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	}
	Eventually(s.t, "claims of Pods that ended are gone", decidedWithin, func() (bool, string) {
		list, err := cluster.API.ResourceV1().ResourceClaims("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		for _, claim := range list.Items {
			if gone[claim.Name] {
				return false, claim.Name
			}
		}
		return true, ""
	})
}
