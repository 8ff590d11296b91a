package stories

import (
	"fmt"
	"slices"
	"testing"
)

// One GPU that several Pods use at a time: by shares of its memory, or beside one that only looks.

// A user is a Pod that uses gpu-0.
type user struct{ ns, name string }

// requireAllShown loses gpu-0, and wants all its users shown it, and named by the node's object.
func requireAllShown(t *testing.T, users []user, watches []*PodWatch) {
	t.Helper()
	var want []string
	for _, each := range users {
		want = append(want, each.name+" c "+claimOf(t, each.ns, each.name).Name)
	}
	slices.Sort(want)
	inject(t, "gpu-0", "xid=79")
	for _, watch := range watches {
		seen := watch.Until(t, "the lost GPU", shownWithin,
			says("gpu-0 Unhealthy since …: XID 79: GPU has fallen off the bus"))
		if got := Condition(seen.Pod, condition); got.Reason != "XidGpuLost" {
			t.Errorf("the condition says %+v", got)
		}
	}
	Eventually(t, "the node's object names all", shownWithin, func() (bool, string) {
		named := usersOf(t, "node-1", "gpu-0")
		slices.Sort(named)
		return slices.Equal(named, want), fmt.Sprint(named)
	})
	inject(t, "gpu-0", "reset")
}

func TestPodsThatShareAGpuByItsMemoryAllHearOfIt(t *testing.T) {
	sameOnBoth(t)
	startGpus(t, "--devices", "1", "--shared")
	agent := startObserver(t)
	awaitLog(t, agent, "lists of the API server are known")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, sixtyGi)
	watches := []*PodWatch{hold(t, ns, "one", fromTemplate), hold(t, ns, "two", fromTemplate)}
	for _, name := range []string{"one", "two"} {
		if share := claimOf(t, ns, name).Status.Allocation.Devices.Results[0].ShareID; share == nil {
			t.Errorf("%s has no share", name)
		}
	}
	requireAllShown(t, []user{{ns, "one"}, {ns, "two"}}, watches)
	requireNoRefusal(t, agent)
}

func TestWhoLooksAtAGpuByAdminAccessHearsOfItLikeItsHolder(t *testing.T) {
	sameOnBoth(t)
	startGpus(t, "--devices", "1")
	agent := startObserver(t)
	awaitLog(t, agent, "lists of the API server are known")
	ns, admin := cluster.Namespace(t), cluster.Namespace(t)
	cluster.Apply(t, ns, oneGpu)
	cluster.Kubectl(t, "label", "namespace", admin, "resource.kubernetes.io/admin-access=true")
	cluster.Apply(t, admin, look)
	watches := []*PodWatch{hold(t, ns, "holder", fromTemplate),
		hold(t, admin, "looker", named("look"))}
	requireAllShown(t, []user{{ns, "holder"}, {admin, "looker"}}, watches)
	requireNoRefusal(t, agent)
}
