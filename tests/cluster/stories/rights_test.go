package stories

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// An attempt is something that a token of the agent is used for.
type attempt struct {
	what string
	try  func(ctx context.Context, api kubernetes.Interface) error
	says string // of the refusal; "" when it is allowed
}

// asAgent is a client with a token of the agent's account; bound to the Pod of node-1's agent, as
// the kubelet asks for it, or to nothing.
func asAgent(t *testing.T, bound bool) kubernetes.Interface {
	t.Helper()
	if bound {
		return asAgentOf(t, cluster.agentPod(t))
	}
	return asAgentOf(t, nil)
}

// asAgentOf is asAgent for the agent of that Pod; nil for a token that is bound to nothing.
func asAgentOf(t *testing.T, pod *corev1.Pod) kubernetes.Interface {
	t.Helper()
	return clientOf(t, tokenOf(t, agentNamespace, agentName, pod))
}

func TestAnAgentsTokenDoesNothingButWhatItIsFor(t *testing.T) {
	sameOnBoth(t)
	cluster.Install(t, "")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, idle("mine", "node-1"))
	// There is no such node: the API server knows where a Pod belongs, and that is all it takes.
	cluster.Apply(t, ns, idle("others", "node-9"))
	agent := asAgent(t, true)
	for _, each := range attempts(ns) {
		requireAnswer(t, each, each.try(t.Context(), agent))
	}
	// As an agent has it that is a service of its node: kubectl create token --bound-object-kind Node.
	service := clientOf(t, tokenOfNode(t, agentNamespace, agentName, "node-1"))
	for _, each := range attempts(ns) {
		each.what += ", with a token that is bound to the Node"
		requireAnswer(t, each, each.try(t.Context(), service))
	}
	requireBoundedInWhole(t, ns, "node-1", agent)
	requireManagersStay(t, ns, agent)
	requireAnswer(t, attempt{what: "a token of no node writes our annotation",
		says: "may not write to a Pod of node"},
		patchStatus(ns, "mine", `{"metadata":{"annotations":{"galen.dev/devices":"x"}}}`)(t.Context(),
			asAgent(t, false)))
}

// Between two nodes that there are: each agent writes to its own Pod and to its own node's health.
func requireFencedByNode(t *testing.T) {
	t.Helper()
	ns := cluster.Namespace(t)
	nodes := []string{"node-1", "node-2"}
	ours := `{"metadata":{"annotations":{"galen.dev/devices":"gpu-3 Healthy"}}}`
	for _, node := range nodes {
		cluster.Apply(t, ns, idle("of-"+node, node))
	}
	for i, node := range nodes {
		other := nodes[1-i]
		agent := asAgentOf(t, cluster.agentPodOn(t, node))
		for _, each := range []attempt{
			{node + "'s agent writes to its Pod", patchStatus(ns, "of-"+node, ours), ""},
			{node + "'s agent writes to the other's", patchStatus(ns, "of-"+other, ours),
				"galen-agent of node '" + node + "' may not write to a Pod of node '" + other + "'"},
			{node + "'s agent writes its node's health", healthOf(node), ""},
			{node + "'s agent writes the other's", healthOf(other),
				"galen-agent of node '" + node + "' may not write NodeDeviceHealth " + other},
		} {
			requireAnswer(t, each, each.try(t.Context(), agent))
		}
	}
}

// requireAnswer wants the attempt to be allowed or refused as it says. Policies are in force a
// moment after they were made, and the DaemonSet that Install waits for is Ready seconds later.
func requireAnswer(t *testing.T, a attempt, err error) {
	t.Helper()
	switch {
	case a.says == "" && err != nil:
		t.Errorf("%s: refused: %v", a.what, err)
	case a.says != "" && err == nil:
		t.Errorf("%s: allowed", a.what)
	case a.says != "" && !strings.Contains(err.Error(), a.says):
		t.Errorf("%s: refused with %q, wanted %q", a.what, err, a.says)
	default:
		t.Logf("%s: %s", a.what, map[bool]string{true: "allowed", false: "refused"}[err == nil])
	}
}

// idle is a Pod without devices that is on a node from the start.
func idle(name, node string) string {
	return `
apiVersion: v1
kind: Pod
metadata: {name: ` + name + `}
spec:
  nodeName: ` + node + `
  terminationGracePeriodSeconds: 0
  tolerations: [{operator: Exists}]
  containers:
  - {name: c, image: localhost/busybox:1, imagePullPolicy: Never, command: [sleep, "100000"]}
`
}

func patchStatus(ns, pod, patch string) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, api kubernetes.Interface) error {
		_, err := api.CoreV1().Pods(ns).Patch(ctx, pod, types.StrategicMergePatchType, []byte(patch),
			metav1.PatchOptions{}, "status")
		return err
	}
}

// healthOf applies a NodeDeviceHealth of that name, with more of metadata
// (`,"finalizers":["a/b"]`).
func healthOf(node string, more ...string) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, api kubernetes.Interface) error {
		body := `{"apiVersion":"galen.dev/v1alpha1","kind":"NodeDeviceHealth","metadata":{"name":"` +
			node + `"` + strings.Join(more, "") + `}}`
		return api.CoreV1().RESTClient().Patch(types.ApplyPatchType).
			AbsPath("/apis/galen.dev/v1alpha1/nodedevicehealths/"+node).
			Param("fieldManager", "story").Param("force", "true").Body([]byte(body)).Do(ctx).Error()
	}
}

// ownedBy is an owner in the metadata of an object, with more of its fields.
func ownedBy(kind, name string, more ...string) string {
	return `,"ownerReferences":[{"apiVersion":"v1","kind":"` + kind + `","name":"` + name +
		`","uid":"u"` + strings.Join(more, "") + `}]`
}

// eventOf makes an Event, after each of `more` changed it.
func eventOf(ns, host, kind, reason string,
	more ...func(*corev1.Event)) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, api kubernetes.Interface) error {
		event := &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{GenerateName: "story-"},
			InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: ns, Name: "mine"},
			Reason:         reason, Message: "x", Type: corev1.EventTypeWarning,
			Source:         corev1.EventSource{Component: agentName, Host: host},
			FirstTimestamp: metav1.NewTime(time.Now()), LastTimestamp: metav1.NewTime(time.Now()),
		}
		for _, change := range more {
			change(event)
		}
		_, err := api.CoreV1().Events(ns).Create(ctx, event, metav1.CreateOptions{})
		return err
	}
}

// eventAttempts are Events on Pods in the name of the agent of that node, with something that no
// agent writes; `who` is what the refusals name.
func eventAttempts(ns, node, who string) []attempt {
	extras := who + " may give an Event no labels, annotations, finalizers, owners or related objects"
	shape := "an Event of " + who + " is Normal or Warning and says at most 1024 characters"
	whole := "an Event of " + who + " has at most 8192 bytes in whole"
	all := []attempt{}
	for _, each := range []struct {
		what, says string
		change     func(*corev1.Event)
	}{
		{"a finalizer", extras, func(e *corev1.Event) { e.Finalizers = []string{"a.example/b"} }},
		{"a label", extras, func(e *corev1.Event) { e.Labels = map[string]string{"a": "b"} }},
		{"an annotation", extras, func(e *corev1.Event) { e.Annotations = map[string]string{"a": "b"} }},
		{"an owner", extras, func(e *corev1.Event) {
			e.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Node", Name: "node-1", UID: "u"}}
		}},
		{"a related object", extras, func(e *corev1.Event) {
			e.Related = &corev1.ObjectReference{Kind: "Node", Name: "node-1"}
		}},
		{"a type of its own", shape, func(e *corev1.Event) { e.Type = "Critical" }},
		{"100 kB of text", shape, func(e *corev1.Event) { e.Message = strings.Repeat("x", 100_000) }},
		{"100 kB of a name", shape, func(e *corev1.Event) {
			e.InvolvedObject.FieldPath = strings.Repeat("x", 100_000)
		}},
		{"100 kB of a name of its own", whole, func(e *corev1.Event) {
			e.Name = strings.Repeat("x", 100_000)
		}},
		{"100 kB of a name to be made", whole, func(e *corev1.Event) {
			e.GenerateName = strings.Repeat("x", 100_000)
		}},
	} {
		all = append(all, attempt{"an Event with " + each.what,
			eventOf(ns, node, "Pod", "DeviceUnhealthy", each.change), each.says})
	}
	return append(all, attempt{"an Event with as much text as there may be",
		eventOf(ns, node, "Pod", "DeviceUnhealthy",
			func(e *corev1.Event) { e.Message = strings.Repeat("x", 1024) }), ""})
}

// sizeAttempts write annotation and condition of a Pod larger than any agent does.
func sizeAttempts(ns, who string) []attempt {
	long := strings.Repeat("x", 1025)
	bounds := "annotation and condition of " + who + " have at most 1024 characters"
	note := func(text string) string {
		return `{"metadata":{"annotations":{"galen.dev/devices":"` + text + `"}}}`
	}
	condition := func(rest string) string {
		return `{"status":{"conditions":[{"type":"galen.dev/DevicesHealthy","status":` + rest + `}]}}`
	}
	return []attempt{
		{"an annotation that is too long", patchStatus(ns, "mine", note(long)), bounds},
		{"one that is just as long as it may be", patchStatus(ns, "mine", note(long[1:])), ""},
		{"a condition's message that is too long", patchStatus(ns, "mine",
			condition(`"False","message":"`+long+`"`)), bounds},
		{"a condition's reason that is too long", patchStatus(ns, "mine",
			condition(`"False","reason":"`+long+`"`)), bounds},
		{"a condition that is neither true nor false", patchStatus(ns, "mine",
			condition(`"Perhaps"`)), bounds},
	}
}

func attempts(ns string) []attempt {
	const rbac, policy = "cannot ", "ValidatingAdmissionPolicy"
	ours := `{"metadata":{"annotations":{"galen.dev/devices":"gpu-3 Healthy"}},` +
		`"status":{"conditions":[{"type":"galen.dev/DevicesHealthy","status":"True",` +
		`"reason":"AllHealthy"}]}}`
	more := append(eventAttempts(ns, "node-1", agentName), sizeAttempts(ns, agentName)...)
	return append([]attempt{
		{"annotation and condition on a Pod of its node", patchStatus(ns, "mine", ours), ""},
		{"the same on a Pod of another node", patchStatus(ns, "others", ours),
			"galen-agent of node 'node-1' may not write to a Pod of node 'node-9'"},
		{"another annotation", patchStatus(ns, "mine", `{"metadata":{"annotations":{"a":"b"}}}`), policy},
		{"taking an annotation away", patchStatus(ns, "mine",
			`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":null}}}`),
			policy},
		{"a label", patchStatus(ns, "mine", `{"metadata":{"labels":{"a":"b"}}}`), policy},
		{"a finalizer", patchStatus(ns, "mine", `{"metadata":{"finalizers":["a/b"]}}`), policy},
		{"another condition", patchStatus(ns, "mine",
			`{"status":{"conditions":[{"type":"story.example/Forged","status":"True"}]}}`), policy},
		{"a condition of the scheduler's", patchStatus(ns, "mine",
			`{"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"x"}]}}`), policy},
		{"the phase", patchStatus(ns, "mine", `{"status":{"phase":"Failed"}}`), policy},
		{"a container's status", patchStatus(ns, "mine",
			`{"status":{"containerStatuses":[{"name":"c","image":"x","imageID":"x","ready":true,`+
				`"restartCount":7}]}}`), policy},
		{"an address", patchStatus(ns, "mine",
			`{"status":{"podIP":"10.0.0.1","podIPs":[{"$patch":"replace"},{"ip":"10.0.0.1"}]}}`), policy},
		{"the Pod itself", func(ctx context.Context, api kubernetes.Interface) error {
			_, err := api.CoreV1().Pods(ns).Patch(ctx, "mine", types.MergePatchType,
				[]byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
			return err
		}, rbac},
		{"deleting the Pod", func(ctx context.Context, api kubernetes.Interface) error {
			return api.CoreV1().Pods(ns).Delete(ctx, "mine", metav1.DeleteOptions{})
		}, rbac},
		{"evicting by a new Pod", func(ctx context.Context, api kubernetes.Interface) error {
			_, err := api.CoreV1().Pods(ns).Create(ctx, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "new"}}, metav1.CreateOptions{})
			return err
		}, rbac},
		{"the secrets", func(ctx context.Context, api kubernetes.Interface) error {
			_, err := api.CoreV1().Secrets(ns).List(ctx, metav1.ListOptions{})
			return err
		}, rbac},
		{"the node", func(ctx context.Context, api kubernetes.Interface) error {
			_, err := api.CoreV1().Nodes().Patch(ctx, "node-1", types.MergePatchType,
				[]byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
			return err
		}, rbac},
		{"NodeDeviceHealth of its node", healthOf("node-1"), ""},
		{"another Node as its owner", healthOf("node-1", ownedBy("Node", "node-9")),
			"galen-agent may give a NodeDeviceHealth no owner but its Node"},
		{"a Pod as its owner", healthOf("node-1", ownedBy("Pod", "node-1")),
			"galen-agent may give a NodeDeviceHealth no owner but its Node"},
		{"an owner that it holds up", healthOf("node-1",
			ownedBy("Node", "node-1", `,"blockOwnerDeletion":true`)),
			"galen-agent may give a NodeDeviceHealth no owner but its Node"},
		{"a finalizer of it", healthOf("node-1", `,"finalizers":["a/b"]`),
			"galen-agent may not touch labels, annotations"},
		{"NodeDeviceHealth of another node", healthOf("node-9"),
			"galen-agent of node 'node-1' may not write NodeDeviceHealth node-9"},
		{"an Event of its own", eventOf(ns, "node-1", "Pod", "DeviceUnhealthy"), ""},
		{"an Event of something else than a Pod", eventOf(ns, "node-1", "Node", "DeviceUnhealthy"),
			"may write only Events of its own, on Pods, of devices"},
		{"an Event with the kubelet's reason", eventOf(ns, "node-1", "Pod", "Evicted"),
			"may write only Events of its own, on Pods, of devices"},
		{"an Event in another agent's name", eventOf(ns, "node-9", "Pod", "DeviceUnhealthy"),
			"galen-agent of node 'node-1' may write only Events of its own"},
	}, more...)
}
