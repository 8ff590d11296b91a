package stories

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Our agent where no kubelet is: a virtual node with a real scheduler and a real API server, and
// the Go driver, which takes us for its kubelet.

const (
	virtualNode   = "virtual-1"
	virtualRoot   = "/run/virtual" // of node-1, where the processes run
	virtualDriver = "virt.example.com"
	// managersNamespace has an account for each virtual node, of the node's name.
	managersNamespace = "galen-managers"
)

// managerRights is what a user applies for managers.
func managerRights() string { return filepath.Join(Root(), "deploy", "examples", "manager.yaml") }

// giveManagerRights does that until the story's end, where no observer is installed.
func giveManagerRights(t *testing.T) {
	t.Helper()
	definition := filepath.Join(Root(), "deploy", "crds", "nodedevicehealths.yaml")
	cluster.Kubectl(t, "apply", "-f", managerRights(), "-f", definition)
	t.Cleanup(func() {
		if said, err := cluster.KubectlError(context.Background(), "", "delete", "--ignore-not-found",
			"--timeout=60s", "-f", managerRights(), "-f", definition); err != nil {
			t.Errorf("%v: %s", err, said)
		}
	})
}

// managerKubeconfig is for a token with the rights of deploy/examples/manager.yaml and no others.
func managerKubeconfig(t *testing.T) string {
	t.Helper()
	giveManagerRights(t)
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, idle("others", "node-9"))
	requireFences(t, ns, asManager(t, virtualNode))
	return kubeconfigOf(t, tokenOf(t, managersNamespace, virtualNode, nil))
}

// startManager runs the agent as the virtual node's manager, with the rights of its example and
// these flags besides, and returns when the Node is Ready.
func startManager(t *testing.T, flags ...string) *Process {
	t.Helper()
	return runManager(t, managerKubeconfig(t), flags...)
}

func runManager(t *testing.T, kubeconfig string, flags ...string) *Process {
	t.Helper()
	t.Cleanup(func() {
		_ = cluster.API.CoreV1().Nodes().Delete(context.Background(), virtualNode,
			metav1.DeleteOptions{})
		_ = os.RemoveAll(filepath.Join(cluster.Dir, "node-1", "run", "virtual"))
	})
	manager := cluster.Run(t, "node-1", agentName, append([]string{"--role", "manager",
		"--node", virtualNode, "--kubelet-root", virtualRoot, "--state-dir", virtualRoot + "/state",
		"--socket", virtualRoot + "/agent.sock", "--metrics-address", "127.0.0.1:9471",
		"--kubeconfig", kubeconfig}, flags...)...)
	Eventually(t, "Node "+virtualNode+" is Ready", podWithin, func() (bool, string) {
		node, err := cluster.API.CoreV1().Nodes().Get(t.Context(), virtualNode, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		for _, each := range node.Status.Conditions {
			if each.Type == corev1.NodeReady && each.Status == corev1.ConditionTrue {
				return true, ""
			}
		}
		return false, fmt.Sprint(node.Status.Conditions)
	})
	return manager
}

// What a class and claims of the virtual node's driver look like; one of each form that the name of
// an entry can have.
const virtualObjects = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec: {spec: {devices: {requests: [{name: main, exactly: {deviceClassName: virt.example.com}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: two}
spec:
  spec:
    devices:
      requests:
      - {name: a, exactly: {deviceClassName: virt.example.com}}
      - {name: b, exactly: {deviceClassName: virt.example.com}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: choice}
spec:
  spec:
    devices:
      requests:
      - name: any
        firstAvailable:
        - {name: many, deviceClassName: virt.example.com, count: 99}
        - {name: one, deviceClassName: virt.example.com}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: shared}
spec: {devices: {requests: [{name: main, exactly: {deviceClassName: virt.example.com}}]}}
`

// A form is a Pod's claims and containers, and the entries that its containers must have, as
// "container entry".
type form struct {
	name, claims, initContainers, containers string
	entries                                  []string
}

const toleration = "{key: galen.dev/virtual, operator: Exists}"

func (f form) yaml() string {
	claims := ""
	if f.claims != "" {
		claims = "resourceClaims: " + f.claims
	}
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 0
  tolerations: [%s]
  %s
  initContainers: [%s]
  containers: [%s]
`, f.name, toleration, claims, f.initContainers, f.containers)
}

// sees is a container with these resources.
func sees(name, resources string, more ...string) string {
	return fmt.Sprintf("{name: %s, image: none, resources: %s%s}", name, resources,
		strings.Join(append([]string{""}, more...), ", "))
}

func forms() []form {
	fromOne := "[{name: device, resourceClaimTemplateName: one}]"
	all := []form{
		{"whole", fromOne, "", sees("c", "{claims: [{name: device}]}"), []string{"c claim:device"}},
		{"requests", "[{name: device, resourceClaimTemplateName: two}]", "",
			sees("c", "{claims: [{name: device, request: a}]}") + ", " +
				sees("d", "{claims: [{name: device, request: b}]}") + ", " +
				sees("e", "{claims: [{name: device, request: a}, {name: device, request: b}]}"),
			[]string{"c claim:device/a", "d claim:device/b", "e claim:device/a", "e claim:device/b"}},
		{"choice", "[{name: device, resourceClaimTemplateName: choice}]", "",
			sees("c", "{claims: [{name: device, request: any}]}"), []string{"c claim:device/any"}},
		{"claims", "[{name: first, resourceClaimTemplateName: one}, " +
			"{name: second, resourceClaimTemplateName: one}]", "",
			sees("c", "{claims: [{name: first}, {name: second, request: main}]}"),
			[]string{"c claim:first", "c claim:second/main"}},
		{"early", fromOne, sees("i", "{claims: [{name: device}]}") + ", " +
			sees("s", "{claims: [{name: device, request: main}]}", "restartPolicy: Always"),
			sees("c", "{claims: [{name: device}]}"),
			[]string{"c claim:device", "i claim:device", "s claim:device/main"}},
		{"sharer-1", "[{name: device, resourceClaimName: shared}]", "",
			sees("c", "{claims: [{name: device}]}"), []string{"c claim:device"}},
		{"sharer-2", "[{name: ours, resourceClaimName: shared}]", "",
			sees("c", "{claims: [{name: ours}]}"), []string{"c claim:ours"}},
	}
	// 1.34's server takes no entry of an extended resource: the agent leaves it out there.
	if !cluster.Is("1.34") {
		all = append(all, form{"extended", "", "",
			sees("c", "{limits: {virt.example.com/device: 1}}"), []string{"c claim:extended-…"}})
	}
	return all
}

// virtualClass selects the driver's devices; they can be asked for by a resource's name as well,
// which is alpha in 1.34 and on in its clusters here.
func virtualClass() string {
	return strings.ReplaceAll(refClass, refDriver, virtualDriver) +
		"  extendedResourceName: virt.example.com/device\n"
}

// namesOf are the names of a Pod's entries: "container entry", sorted.
func namesOf(pod *corev1.Pod) []string {
	var names []string
	for _, line := range DeviceHealth(pod) {
		words := strings.SplitN(line, " ", 3)
		name := words[0] + " " + words[1]
		if object, _, ok := strings.Cut(name, "claim:extended-"); ok {
			name = object + "claim:extended-…" // the scheduler makes that claim, and its name
		}
		names = append(names, name)
	}
	return slices.Compact(names)
}

func TestTheAgentManagesAVirtualNodeWithTheSchedulerAndTheGoDriver(t *testing.T) {
	manager := startManager(t)
	cluster.Apply(t, "default", virtualClass())
	driver := cluster.Reference(t, "node-1", "--name", virtualDriver, "--node", virtualNode,
		"--kubelet-root", virtualRoot, "--cdi", virtualRoot+"/cdi", "--devices", "12")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, virtualObjects)
	watches := map[string]*PodWatch{}
	for _, each := range forms() {
		watches[each.name] = cluster.WatchPod(t, ns, each.name)
		cluster.Apply(t, ns, each.yaml())
	}
	for _, each := range forms() {
		pod := watches[each.name].Until(t, "its devices' health", podWithin,
			func(pod *corev1.Pod) bool { return slices.Equal(namesOf(pod), each.entries) }).Pod
		if pod.Spec.NodeName != virtualNode || pod.Status.Phase != corev1.PodRunning {
			t.Errorf("Pod %s is %s on %q", each.name, pod.Status.Phase, pod.Spec.NodeName)
		}
		t.Logf("%s: %s", each.name, strings.Join(DeviceHealth(pod), "; "))
	}
	if prepared := strings.Count(driver.Log(), `"prepared"`); prepared < len(forms()) {
		t.Errorf("the driver prepared %d claims, wanted at least %d", prepared, len(forms()))
	}
	// The longest message that the API server takes, and one byte that it would not.
	driver.Tell(t, "health all Unhealthy "+strings.Repeat("x", 1025))
	for _, each := range forms() {
		watches[each.name].Until(t, "that all are bad", shownWithin, func(pod *corev1.Pod) bool {
			return allSay(pod, corev1.ResourceHealthStatusUnhealthy) &&
				slices.Equal(namesOf(pod), each.entries)
		})
	}
	driver.Tell(t, "stream end")
	watches["whole"].Until(t, "that nobody knows", shownWithin, func(pod *corev1.Pod) bool {
		return allSay(pod, corev1.ResourceHealthStatusUnknown)
	})
	requireManagerRefusedNothing(t, manager)
	requireUnprepared(t, ns, driver)
}

func requireManagerRefusedNothing(t *testing.T, manager *Process) {
	t.Helper()
	// A socket may be there a moment before its driver listens; that is no refusal of the API server.
	log := strings.ReplaceAll(manager.Log(), "Connection refused", "")
	for _, line := range []string{"refused", "cannot be read", "forbids", "denied"} {
		if strings.Contains(log, line) {
			t.Errorf("the agent was refused something (%s):\n%s", line, log)
		}
	}
}

// What the agent writes of processes is a status that the API server takes, with the rights and
// within the fences of the example.
func TestAVirtualNodesContainersMayBeProcesses(t *testing.T) {
	sameOnBoth(t)
	manager := startManager(t, "--containers", "processes", "--processes-as-root", "--cdi-root",
		virtualRoot+"/cdi")
	ns := cluster.Namespace(t)
	watch := cluster.WatchPod(t, ns, "crash")
	cluster.Apply(t, ns, strings.Replace(idle("crash", virtualNode), `[sleep, "100000"]`,
		`[sh, -c, "echo out of ideas > $GALEN_TERMINATION_LOG; exit 3"]`, 1))
	watch.Until(t, "runs", podWithin, func(pod *corev1.Pod) bool {
		return pod != nil && pod.Status.Phase == corev1.PodRunning
	})
	pod := watch.Until(t, "crashes again and again", podWithin, func(pod *corev1.Pod) bool {
		if pod == nil || len(pod.Status.ContainerStatuses) != 1 {
			return false
		}
		waiting := pod.Status.ContainerStatuses[0].State.Waiting
		return waiting != nil && waiting.Reason == "CrashLoopBackOff"
	}).Pod
	status := pod.Status.ContainerStatuses[0]
	ended := status.LastTerminationState.Terminated
	if ended == nil || ended.ExitCode != 3 || ended.Message != "out of ideas\n" ||
		!strings.HasPrefix(ended.ContainerID, "galen://"+string(pod.UID)) || status.RestartCount < 1 {
		t.Errorf("the container's status is %+v, its last end %+v", status, ended)
	}
	Eventually(t, "an Event says what containers are here", shownWithin, func() (bool, string) {
		events := cluster.Events(t, ns, "crash")
		return slices.ContainsFunc(events, func(line string) bool {
			return strings.HasPrefix(line, "ContainersAreProcesses: ")
		}), strings.Join(events, "\n")
	})
	requireManagerRefusedNothing(t, manager)
	remove(t, ns, "crash")
}

// allSay holds when every device of the Pod is shown in this state, with a message if there is any
// that the API server could take.
func allSay(pod *corev1.Pod, want corev1.ResourceHealthStatus) bool {
	count := 0
	if pod == nil {
		return false
	}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses,
		pod.Status.ContainerStatuses) {
		for _, entry := range container.AllocatedResourcesStatus {
			for _, device := range entry.Resources {
				count++
				if device.Health != want || device.Message == nil != cluster.Is("1.34") {
					return false
				}
			}
		}
	}
	return count > 0
}

// requireUnprepared: a Pod that is deleted goes, and its claim with it.
func requireUnprepared(t *testing.T, ns string, driver *Reference) {
	t.Helper()
	uid := string(claimOf(t, ns, "whole").UID)
	remove(t, ns, "whole")
	Eventually(t, "the driver unprepares the claim", podWithin, func() (bool, string) {
		log := driver.Log()
		return strings.Contains(log, `"unprepared"`) && strings.Contains(log, uid), tail(log, 3)
	})
}
