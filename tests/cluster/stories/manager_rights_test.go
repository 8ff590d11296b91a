package stories

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// What deploy/examples/manager.yaml gives to a manager, and that it gives no more.

// asManager is a client with a token of an account of the managers' namespace.
func asManager(t *testing.T, account string) kubernetes.Interface {
	t.Helper()
	return clientOf(t, tokenOf(t, managersNamespace, account, nil))
}

func TestAManagersTokenDoesNothingButWhatItsNodeNeeds(t *testing.T) {
	sameOnBoth(t)
	giveManagerRights(t)
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, idle("mine", virtualNode))
	cluster.Apply(t, ns, idle("going", virtualNode))
	cluster.Apply(t, ns, idle("others", "node-9"))
	manager := asManager(t, virtualNode)
	requireFences(t, ns, manager)
	for _, each := range managerAttempts(ns) {
		requireAnswer(t, each, each.try(t.Context(), manager))
	}
	requireBoundedInWhole(t, ns, virtualNode, manager)
	// Nobody is there who would let it go.
	if err := deletePod(ns, "others", false)(t.Context(), cluster.API); err != nil {
		t.Error(err)
	}
	_, err := asManager(t, "default").CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	requireAnswer(t, attempt{what: "a token of the namespace's default account", says: "cannot list"},
		err)
}

func removeWhatManagersMade() {
	ctx := context.Background()
	for _, node := range []string{virtualNode, "node-9"} {
		_ = cluster.API.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{})
		_ = cluster.API.CoordinationV1().Leases("kube-node-lease").Delete(ctx, node,
			metav1.DeleteOptions{})
	}
	_ = cluster.API.CoordinationV1().Leases("kube-system").Delete(ctx, virtualNode,
		metav1.DeleteOptions{})
}

// requireFences waits until each policy is in force at the API server; then an answer is an
// answer. In the namespace there is a Pod "others" of another node.
func requireFences(t *testing.T, ns string, manager kubernetes.Interface) {
	t.Helper()
	t.Cleanup(removeWhatManagersMade)
	for kind, try := range map[string]func(context.Context, kubernetes.Interface) error{
		"pods":              patchStatus(ns, "others", `{"status":{"reason":"Story"}}`),
		"nodes":             newNode("node-9", virtualTaint),
		"leases":            applyLease("kube-node-lease", "node-9"),
		"events":            eventOf(ns, "node-9", "Pod", "DeviceUnhealthy"),
		"nodedevicehealths": healthOf("node-9"),
	} {
		Eventually(t, "the policy on "+kind+" is in force", podWithin, func() (bool, string) {
			err := try(t.Context(), manager)
			return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy"),
				fmt.Sprint(err)
		})
	}
}

var virtualTaint = []corev1.Taint{
	{Key: "galen.dev/virtual", Value: "true", Effect: corev1.TaintEffectNoSchedule},
}

const anOwner = `{"apiVersion":"v1","kind":"Node","name":"node-1","uid":"u"}`

func newNode(name string, taints []corev1.Taint) func(context.Context, kubernetes.Interface) error {
	return newNodeOf(name, corev1.NodeSpec{Taints: taints})
}

func newNodeOf(name string, spec corev1.NodeSpec) func(context.Context,
	kubernetes.Interface) error {
	return func(ctx context.Context, api kubernetes.Interface) error {
		_, err := api.CoreV1().Nodes().Create(ctx, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				"galen.dev/virtual": "true", "kubernetes.io/hostname": name}},
			Spec: spec,
		}, metav1.CreateOptions{})
		return err
	}
}

func patchNode(name, patch string, sub ...string) func(context.Context,
	kubernetes.Interface) error {
	return func(ctx context.Context, api kubernetes.Interface) error {
		_, err := api.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, []byte(patch),
			metav1.PatchOptions{}, sub...)
		return err
	}
}

// applyLease applies a Lease with more of metadata (`,"finalizers":["a/b"]`).
func applyLease(ns, name string, more ...string) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, api kubernetes.Interface) error {
		body := `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"` + name +
			`"` + strings.Join(more, "") + `},"spec":{"holderIdentity":"` + name + `"}}`
		force := true
		_, err := api.CoordinationV1().Leases(ns).Patch(ctx, name, types.ApplyPatchType, []byte(body),
			metav1.PatchOptions{FieldManager: "story", Force: &force})
		return err
	}
}

func deletePod(ns, name string, asAdministrator bool) func(context.Context,
	kubernetes.Interface) error {
	return func(ctx context.Context, api kubernetes.Interface) error {
		if asAdministrator {
			grace := int64(300)
			if err := cluster.API.CoreV1().Pods(ns).Delete(ctx, name,
				metav1.DeleteOptions{GracePeriodSeconds: &grace}); err != nil {
				return err
			}
		}
		return api.CoreV1().Pods(ns).Delete(ctx, name, *metav1.NewDeleteOptions(0))
	}
}

func managerAttempts(ns string) []attempt {
	return slices.Concat(podAttempts(ns), nodeAttempts(), attemptsBesides(ns),
		eventAttempts(ns, virtualNode, "a manager"), sizeAttempts(ns, "a manager"))
}

func podAttempts(ns string) []attempt {
	ours := `{"metadata":{"annotations":{"galen.dev/devices":"gpu-3 Healthy"}},"status":{"phase":` +
		`"Running","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"c",` +
		`"image":"x","imageID":"x","ready":true,"restartCount":0}]}}`
	const notItsPod = "the manager of node 'virtual-1' may not write to a Pod of node 'node-9'"
	const nothingElse = "may patch the status of a Pod and take a deleted one away"
	return []attempt{
		{"the status of a Pod of its node", patchStatus(ns, "mine", ours), ""},
		{"that of a Pod of another node", patchStatus(ns, "others", ours), notItsPod},
		{"another annotation", patchStatus(ns, "mine", `{"metadata":{"annotations":{"a":"b"}}}`),
			"may set no annotation of a Pod"},
		{"a label", patchStatus(ns, "mine", `{"metadata":{"labels":{"a":"b"}}}`), "labels, finalizers"},
		{"a finalizer", patchStatus(ns, "mine", `{"metadata":{"finalizers":["a/b"]}}`),
			"labels, finalizers"},
		{"a Pod that nobody deleted", deletePod(ns, "mine", false), nothingElse},
		{"one of another node", deletePod(ns, "others", false), "ValidatingAdmissionPolicy"},
		{"a deleted one of another node", deletePod(ns, "others", true), notItsPod},
		{"a deleted one of its own", deletePod(ns, "going", true), ""},
		{"a new Pod", func(ctx context.Context, api kubernetes.Interface) error {
			_, err := api.CoreV1().Pods(ns).Create(ctx, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "new"}}, metav1.CreateOptions{})
			return err
		}, "cannot create"},
	}
}

func nodeAttempts() []attempt {
	const onlyOwn = "the manager of node 'virtual-1' may write its own Node and its status"
	ready := `{"status":{"conditions":[{"type":"Ready","status":"True"}],"addresses":[` +
		`{"type":"Hostname","address":"virtual-1"}]}}`
	return []attempt{
		{"its Node without the taint", newNode(virtualNode, nil), "with the taint galen.dev/virtual"},
		{"its Node with a soft taint", newNode(virtualNode, []corev1.Taint{{
			Key: "galen.dev/virtual", Value: "true", Effect: corev1.TaintEffectPreferNoSchedule}}),
			"with the taint galen.dev/virtual"},
		{"its Node with addresses for Pods", newNodeOf(virtualNode, corev1.NodeSpec{
			Taints: virtualTaint, PodCIDR: "10.9.0.0/24", PodCIDRs: []string{"10.9.0.0/24"}}),
			"without addresses of Pods"},
		{"its Node as a cloud's machine", newNodeOf(virtualNode, corev1.NodeSpec{
			Taints: virtualTaint, ProviderID: "aws:///z/i-0"}), "a provider's id"},
		{"its Node", newNode(virtualNode, virtualTaint), ""},
		{"an annotation of its Node", patchNode(virtualNode,
			`{"metadata":{"annotations":{"flannel.alpha.coreos.com/public-ip":"10.0.0.1"}}}`),
			"may not touch annotations"},
		{"one by way of the status", patchNode(virtualNode,
			`{"metadata":{"annotations":{"a":"b"}}}`, "status"), "may not touch annotations"},
		{"a finalizer of its Node", patchNode(virtualNode, `{"metadata":{"finalizers":["a/b"]}}`),
			"may not touch annotations"},
		{"an owner of its Node", patchNode(virtualNode, `{"metadata":{"ownerReferences":[`+anOwner+`]}}`),
			"may not touch annotations"},
		{"its status", patchNode(virtualNode, ready, "status"), ""},
		{"that it is virtual", patchNode(virtualNode, `{"metadata":{"labels":{"galen.dev/virtual":`+
			`"yes","kubernetes.io/os":"linux"}}}`), ""},
		{"another Node", newNode("node-9", virtualTaint), onlyOwn},
		{"a Node with a kubelet", patchNode("node-1", `{"metadata":{"labels":{"galen.dev/virtual":`+
			`"true"}}}`), onlyOwn},
		{"the status of a Node with a kubelet", patchNode("node-1", ready, "status"), onlyOwn},
		{"a role", patchNode(virtualNode,
			`{"metadata":{"labels":{"node-role.kubernetes.io/control-plane":""}}}`), "may set no label"},
		{"a role, by way of the status", patchNode(virtualNode,
			`{"metadata":{"labels":{"node-role.kubernetes.io/control-plane":""}}}`, "status"),
			"may set no label"},
		{"another's name", patchNode(virtualNode,
			`{"metadata":{"labels":{"kubernetes.io/hostname":"node-1"}}}`), "may set no label"},
		{"taking the taint away", patchNode(virtualNode, `{"spec":{"taints":null}}`),
			"not change its spec"},
		{"another's address", patchNode(virtualNode,
			`{"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.1"}]}}`, "status"),
			"may give its Node no address"},
		{"deleting its Node", func(ctx context.Context, api kubernetes.Interface) error {
			return api.CoreV1().Nodes().Delete(ctx, virtualNode, metav1.DeleteOptions{})
		}, "cannot delete"},
	}
}

func attemptsBesides(ns string) []attempt {
	const ownLease = "the manager of node 'virtual-1' may write its own Lease in kube-node-lease"
	const ownEvents = "the manager of node 'virtual-1' may write only Events of its own"
	return []attempt{
		{"its Lease", applyLease("kube-node-lease", virtualNode), ""},
		{"an annotation of its Lease", applyLease("kube-node-lease", virtualNode,
			`,"annotations":{"a":"b"}`), "may not touch labels, annotations"},
		{"a finalizer of its Lease", applyLease("kube-node-lease", virtualNode,
			`,"finalizers":["a/b"]`), "may not touch labels, annotations"},
		{"the Lease of a Node with a kubelet", applyLease("kube-node-lease", "node-1"), ownLease},
		{"the scheduler's leadership", applyLease("kube-system", "kube-scheduler"), ownLease},
		{"one of its name elsewhere", applyLease("kube-system", virtualNode), ownLease},
		{"NodeDeviceHealth of its node", healthOf(virtualNode), ""},
		{"another Node as its owner", healthOf(virtualNode, ownedBy("Node", "node-9")),
			"a manager may give its NodeDeviceHealth no owner but its Node"},
		{"a Pod as its owner", healthOf(virtualNode, ownedBy("Pod", virtualNode)),
			"a manager may give its NodeDeviceHealth no owner but its Node"},
		{"an owner that it holds up", healthOf(virtualNode,
			ownedBy("Node", virtualNode, `,"blockOwnerDeletion":true`)),
			"a manager may give its NodeDeviceHealth no owner but its Node"},
		{"a finalizer of it", healthOf(virtualNode, `,"finalizers":["a/b"]`),
			"may not touch labels, annotations"},
		{"NodeDeviceHealth of another", healthOf("node-1"),
			"the manager of node 'virtual-1' may not write NodeDeviceHealth node-1"},
		{"an Event of its own", eventOf(ns, virtualNode, "Pod", "DeviceUnhealthy"), ""},
		{"an Event with a kubelet's reason", eventOf(ns, virtualNode, "Pod",
			"FailedPrepareDynamicResources"), ""},
		{"an Event that containers are processes", eventOf(ns, virtualNode, "Pod",
			"ContainersAreProcesses"), ""},
		{"an Event with another of a kubelet's", eventOf(ns, virtualNode, "Pod", "Evicted"), ownEvents},
		{"an Event in another's name", eventOf(ns, "node-1", "Pod", "DeviceUnhealthy"), ownEvents},
		{"an Event of a Node", eventOf(ns, virtualNode, "Node", "DeviceUnhealthy"), ownEvents},
		{"the secrets", func(ctx context.Context, api kubernetes.Interface) error {
			_, err := api.CoreV1().Secrets(ns).List(ctx, metav1.ListOptions{})
			return err
		}, "cannot list"},
	}
}

// The namespace that both manifests once declared was given the labels of the last one, and went
// with either.
func TestTheManagersExampleLeavesAnInstalledObserverAlone(t *testing.T) {
	sameOnBoth(t)
	cluster.Install(t, "")
	labels := func() map[string]string {
		found, err := cluster.API.CoreV1().Namespaces().Get(t.Context(), agentNamespace,
			metav1.GetOptions{})
		if err != nil || found.DeletionTimestamp != nil {
			t.Fatalf("namespace %s: %v, deleted at %v", agentNamespace, err, found.DeletionTimestamp)
		}
		return found.Labels
	}
	before, pod := labels(), cluster.agentPod(t).UID
	for _, verb := range []string{"apply", "delete"} {
		cluster.Kubectl(t, verb, "-f", managerRights())
		if after := labels(); !maps.Equal(before, after) {
			t.Errorf("after %s the namespace has the labels %v, before it %v", verb, after, before)
		}
	}
	if after := cluster.agentPod(t).UID; after != pod {
		t.Errorf("the agent's Pod is another one: %s, it was %s", after, pod)
	}
	requireAnswer(t, attempt{what: "the agent's own right"}, healthOf("node-1")(t.Context(),
		asAgent(t, true)))
}
