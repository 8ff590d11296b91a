package stories

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// The agent has every right that it needs and none that it does not: with the rules of its manifest
// it does all it does and is forbidden nothing, and without any one verb of them it is, and says
// which.

// agentRules are the ClusterRole's of a manifest, as a user applies it.
func agentRules(t *testing.T, manifest string) []rbacv1.PolicyRule {
	t.Helper()
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	reader := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var role rbacv1.ClusterRole
		switch err := reader.Decode(&role); {
		case err == io.EOF:
			t.Fatalf("%s has no ClusterRole", manifest)
		case err != nil:
			t.Fatal(err)
		case role.Kind == "ClusterRole":
			return role.Rules
		}
	}
}

// without is the rules less one verb of one of them.
func without(rules []rbacv1.PolicyRule, rule int, verb string) []rbacv1.PolicyRule {
	left := slices.Clone(rules)
	left[rule].Verbs = slices.DeleteFunc(slices.Clone(left[rule].Verbs),
		func(each string) bool { return each == verb })
	// The API server takes no rule without a verb.
	return slices.DeleteFunc(left, func(each rbacv1.PolicyRule) bool { return len(each.Verbs) == 0 })
}

// accountWith makes a ServiceAccount of those rights and gives a kubeconfig with its token. The
// fences of the manifest are of another account, and not of this story.
func accountWith(t *testing.T, ns, name string, rules []rbacv1.PolicyRule) string {
	t.Helper()
	ctx := t.Context()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: ns + "-" + name}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: role.ObjectMeta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: name}}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	rbac := cluster.API.RbacV1()
	t.Cleanup(func() {
		_ = rbac.ClusterRoleBindings().Delete(context.Background(), role.Name, metav1.DeleteOptions{})
		_ = rbac.ClusterRoles().Delete(context.Background(), role.Name, metav1.DeleteOptions{})
	})
	if _, err := rbac.ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := rbac.ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	accounts := cluster.API.CoreV1().ServiceAccounts(ns)
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return kubeconfigOf(t, tokenOf(t, ns, name, nil))
}

// A day is what an agent does with everything that it has rights for: it starts on a node with a
// Pod that holds a device, sees it fail and recover, and is started anew.
type day struct {
	ns, pod, device string
	driver          *Reference
	state           string // the agents' own directory, on the node
	role, node      string
	flags           []string // of the agent besides
	// In the first of the agents' lives once it knows the driver, and in the last before its end; with
	// what waits until something holds, or enough is known. nil: nothing.
	begin, end func(await awaiter)
}

type awaiter func(what string, holds func() (bool, string))

// clear makes the next agent the first of its node: nothing is there that one before it wrote.
func (d day) clear(t *testing.T) {
	t.Helper()
	d.driver.Tell(t, "health "+d.device+" Healthy")
	cluster.Kubectl(t, "delete", "nodedevicehealths", "--all")
	cluster.Kubectl(t, "-n", d.ns, "delete", "events", "--all")
	cluster.Kubectl(t, "-n", "kube-node-lease", "delete", "lease", "--ignore-not-found", virtualNode)
}

// live lets agents of that account live the day, twice one after the other, or until what they log
// is enough. It returns the log of all.
func (d day) live(t *testing.T, account, kubeconfig string, enough func(log string) bool) string {
	t.Helper()
	d.clear(t)
	log := ""
	const lives = 2
	for life := range lives {
		agent := cluster.Run(t, "node-1", agentName, append([]string{"--role", d.role, "--node", d.node,
			"--state-dir", d.state + "/" + account, "--socket", d.state + "/" + account + ".sock",
			"--metrics-address", "127.0.0.1:0", "--kubeconfig", kubeconfig}, d.flags...)...)
		await := func(what string, holds func() (bool, string)) {
			t.Helper()
			Eventually(t, what+" of "+account, shownWithin, func() (bool, string) {
				if enough(log + agent.Log()) {
					return true, ""
				}
				return holds()
			})
		}
		await("the driver", func() (bool, string) {
			return strings.Contains(agent.Log(), "driver connected"), agent.Log()
		})
		if life == 0 && d.begin != nil {
			d.begin(await)
		}
		for _, state := range []string{"Unhealthy it fell off the bus", "Healthy"} {
			d.driver.Tell(t, "health "+d.device+" "+state)
			await("the report "+state, func() (bool, string) {
				shown := d.health(t)
				return strings.Contains(shown, " "+strings.Fields(state)[0]), shown
			})
		}
		if life == lives-1 && d.end != nil {
			d.end(await)
		}
		agent.Stop()
		log += agent.Log()
		if enough(log) {
			break
		}
	}
	return log
}

// health is what the Pod's annotation says.
func (d day) health(t *testing.T) string {
	t.Helper()
	pod, err := cluster.API.CoreV1().Pods(d.ns).Get(t.Context(), d.pod, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return pod.Annotations[annotation]
}

// misses reports whether an agent that logged that was refused the right, "patch pods/status".
func misses(log, right string) bool {
	return slices.ContainsFunc(forbidden.FindAllStringSubmatch(log, -1), func(found []string) bool {
		return found[1]+" "+found[2] == right
	})
}

// requireEachNeeded lives the day with all rules, and then without one verb after the other but
// those that are shown elsewhere; `unlike` has the days of rights that are needed where something
// is not there yet.
func (d day) requireEachNeeded(t *testing.T, rules, elsewhere []rbacv1.PolicyRule,
	unlike map[string]day) {
	t.Helper()
	log := d.live(t, "all", accountWith(t, d.ns, "all", rules), func(string) bool { return false })
	lives := strings.Count(log, "driver connected")
	if lives != 2 || strings.Contains(log, "forbids") {
		t.Fatalf("with all rights the agent lived %d times, of 2, or was forbidden something:\n%s",
			lives, log)
	}
	for i, rule := range rules {
		for _, verb := range rule.Verbs {
			right := verb + " " + rule.Resources[0]
			if gives(elsewhere, rule.Resources[0], verb) {
				continue
			}
			its, other := unlike[right]
			if !other {
				its = d
			}
			account := strings.NewReplacer(" ", "-", "/", "-").Replace(right)
			log := its.live(t, account, accountWith(t, d.ns, account, without(rules, i, verb)),
				func(log string) bool { return misses(log, right) })
			if !misses(log, right) {
				t.Errorf("nobody misses the right to %s:\n%s", right, log)
				continue
			}
			t.Logf("without the right to %s: logged", right)
		}
	}
}

// gives reports whether one of the rules has this verb for this resource.
func gives(rules []rbacv1.PolicyRule, resource, verb string) bool {
	return slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
		return rule.Resources[0] == resource && slices.Contains(rule.Verbs, verb)
	})
}

// defineHealth makes the kind NodeDeviceHealth for the story.
func defineHealth(t *testing.T) {
	t.Helper()
	definition := filepath.Join(Root(), "deploy", "crds", "nodedevicehealths.yaml")
	cluster.Kubectl(t, "apply", "-f", definition)
	t.Cleanup(func() {
		_, _ = cluster.KubectlError(context.Background(), "", "delete", "--ignore-not-found", "-f",
			definition)
	})
	t.Cleanup(func() { _ = os.RemoveAll(filepath.Join(cluster.Dir, "node-1", "run", "rights")) })
}

func TestTheAgentHasNoRightTooMany(t *testing.T) {
	if !cluster.Is("1.37") {
		t.Skip("what an agent asks an API server for is the same on both, and 1.37 has been asked")
	}
	defineHealth(t)
	ns := cluster.Namespace(t)
	driver := startReference(t)
	cluster.Apply(t, ns, oneRef)
	hold(t, ns, "holder", fromTemplate)
	d := day{ns: ns, pod: "holder", device: devicesOf(claimOf(t, ns, "holder"))[0], driver: driver,
		state: "/run/rights", role: "observer", node: "node-1"}
	d.requireEachNeeded(t, agentRules(t, manifest()), nil, nil)
}

// A manager's day besides: a Pod comes to its node and goes again.
func TestAManagerHasNoRightTooMany(t *testing.T) {
	if !cluster.Is("1.37") {
		t.Skip("what a manager asks an API server for is the same on both, and 1.37 has been asked")
	}
	defineHealth(t)
	rules := agentRules(t, managerRights())
	ns := cluster.Namespace(t)
	// Its Node is there before its driver, which asks for it.
	runManager(t, accountWith(t, ns, "first", rules)).Stop()
	cluster.Apply(t, "default", virtualClass())
	driver := cluster.Reference(t, "node-1", "--name", virtualDriver, "--node", virtualNode,
		"--kubelet-root", virtualRoot, "--cdi", virtualRoot+"/cdi", "--devices", "4")
	cluster.Apply(t, ns, virtualObjects)
	pods := cluster.API.CoreV1().Pods(ns)
	gone := func() (bool, string) {
		_, err := pods.Get(t.Context(), "holder", metav1.GetOptions{})
		return apierrors.IsNotFound(err), "the Pod is there"
	}
	d := day{ns: ns, pod: "holder", device: "all", driver: driver, state: "/run/rights",
		role: "manager", node: virtualNode, flags: []string{"--kubelet-root", virtualRoot}}
	d.begin = func(await awaiter) {
		// What the one before left when enough was known of it.
		_ = pods.Delete(t.Context(), "holder", *metav1.NewDeleteOptions(0))
		Eventually(t, "no Pod holds a device", podsGoneWithin, gone)
		// The node is not Ready to everybody at once when the next manager is.
		pod := form{"holder", "[{name: device, resourceClaimTemplateName: one}]", "",
			sees("c", "{claims: [{name: device}]}"), nil}
		cluster.Apply(t, ns, strings.Replace(pod.yaml(), toleration, "{operator: Exists}", 1))
		await("a Pod's device", func() (bool, string) {
			shown := d.health(t)
			return strings.Contains(shown, " Healthy"), shown
		})
	}
	d.end = func(await awaiter) {
		grace := int64(300)
		_ = pods.Delete(t.Context(), "holder", metav1.DeleteOptions{GracePeriodSeconds: &grace})
		await("the Pod's end", gone)
	}
	// For a Node that nobody made.
	other := d
	other.node = "virtual-2"
	// What an observer has as well is shown by its day: the same parts ask for it. All take minutes.
	d.requireEachNeeded(t, rules, agentRules(t, manifest()), map[string]day{"create nodes": other})
}
