package stories

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const fence = "galen-agent may not touch what the kubelet says of a Pod"

// Every field that this release's Go type has: a new one is tried without a word here.
func TestAnAgentChangesNoFieldOfAPodsStatusButConditions(t *testing.T) {
	sameOnBoth(t)
	cluster.Install(t, "")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, idle("mine", "node-1"))
	cluster.WatchPod(t, ns, "mine").Until(t, "Ready", podWithin, Running)
	agent := asAgent(t, true)
	fenced := map[string]bool{}
	for name, value := range forgedStatus(t) {
		patch, err := json.Marshal(map[string]any{"status": map[string]any{name: value}})
		if err != nil {
			t.Fatal(err)
		}
		before := statusField(t, ns, name)
		_, err = agent.CoreV1().Pods(ns).Patch(t.Context(), "mine", types.MergePatchType, patch,
			metav1.PatchOptions{}, "status")
		switch {
		case err != nil && strings.Contains(err.Error(), fence):
			fenced[name] = true
		// The server's own check comes before ours, and a field that it does not have, or that its
		// gates turn off, it drops.
		case apierrors.IsInvalid(err) || (err == nil && statusField(t, ns, name) == before):
			t.Logf("status.%s: the server takes it from nobody: %v", name, err)
		default:
			t.Errorf("status.%s: forged with %s: %v", name, patch, err)
		}
	}
	// Any text of these is valid in every release, so that nobody but the policy refuses it.
	for _, name := range []string{"message", "phase", "reason", "startTime"} {
		if !fenced[name] {
			t.Errorf("status.%s was not refused by the policy", name)
		}
	}
	t.Logf("refused by the policy: %v", slices.Sorted(maps.Keys(fenced)))
}

// A type check of the API server finds a policy's faults before an agent does: it knows no field
// that this version does not have.
func TestThePoliciesHaveNoFaultThatTheServerCanSee(t *testing.T) {
	cluster.Install(t, "")
	giveManagerRights(t)
	for _, name := range []string{"galen-agent-pods", "galen-agent-events",
		"galen-agent-nodedevicehealths", "galen-manager-pods", "galen-manager-nodes",
		"galen-manager-leases", "galen-manager-events", "galen-manager-nodedevicehealths"} {
		Eventually(t, name+" is type checked", time.Minute, func() (bool, string) {
			policy, err := cluster.API.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(
				t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return false, err.Error()
			}
			if policy.Status.TypeChecking != nil {
				for _, warning := range policy.Status.TypeChecking.ExpressionWarnings {
					t.Errorf("%s: %s: %s", name, warning.FieldRef, warning.Warning)
				}
			}
			return policy.Status.ObservedGeneration == policy.Generation, "not looked at yet"
		})
	}
}

// forgedStatus is a value that no kubelet says, for each field of a Pod's status by its name in
// JSON.
func forgedStatus(t *testing.T) map[string]any {
	t.Helper()
	forged := map[string]any{}
	status := reflect.TypeFor[corev1.PodStatus]()
	for i := range status.NumField() {
		name, _, _ := strings.Cut(status.Field(i).Tag.Get("json"), ",")
		if name == "conditions" { // ours is one of them; what may be set is another story's
			continue
		}
		value := reflect.New(status.Field(i).Type).Elem()
		forge(value)
		forged[name] = value.Interface()
	}
	return forged
}

func forge(value reflect.Value) {
	switch value.Interface().(type) {
	case metav1.Time:
		value.Set(reflect.ValueOf(metav1.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)))
		return
	case resource.Quantity:
		value.Set(reflect.ValueOf(resource.MustParse("7")))
		return
	}
	switch value.Kind() {
	case reflect.String:
		value.SetString("forged")
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		value.SetInt(7)
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		forge(value.Elem())
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		forge(value.Index(0))
	case reflect.Map:
		key, item := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
		forge(key)
		forge(item)
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(key, item)
	case reflect.Struct:
		for i := range value.NumField() {
			forge(value.Field(i))
		}
	}
}

// statusField is a field of the Pod's status as the server sends it, "" when it has none.
func statusField(t *testing.T, ns, field string) string {
	t.Helper()
	raw, err := cluster.API.CoreV1().RESTClient().Get().Namespace(ns).Resource("pods").Name("mine").
		SetHeader("Accept", "application/json").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	var pod struct {
		Status map[string]json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(raw, &pod); err != nil {
		t.Fatal(err)
	}
	return string(pod.Status[field])
}
