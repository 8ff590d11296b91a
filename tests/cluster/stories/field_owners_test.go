package stories

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// What a stolen token can do by metadata that nobody looks at: names, and whose field is whose.

// managing gives an Event an entry of its client's making, of whose field is whose.
func managing(fields string) func(*corev1.Event) {
	return func(e *corev1.Event) {
		now := metav1.Now()
		e.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "story", APIVersion: "v1", Time: &now,
			Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1",
			FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)}}}
	}
}

// requireBoundedInWhole makes the longest Event that a token of that node may, by its name, which
// nothing else bounds, and looks how long it is.
func requireBoundedInWhole(t *testing.T, ns, node string, api kubernetes.Interface) {
	t.Helper()
	named := func(size int) string { return strings.Repeat("n", size) }
	least, most := 1, 8192 // allowed, refused
	for most-least > 1 {
		size := (least + most) / 2
		err := eventOf(ns, node, "Pod", "DeviceUnhealthy", func(e *corev1.Event) {
			e.GenerateName, e.Name = "", named(size)
			e.Message = strings.Repeat("x", 1024)
		})(t.Context(), api)
		if err == nil {
			least = size
		} else {
			most = size
		}
	}
	raw, err := cluster.API.CoreV1().RESTClient().Get().Namespace(ns).Resource("events").
		Name(named(least)).SetHeader("Accept", "application/json").Do(t.Context()).Raw()
	if err != nil {
		t.Fatalf("an Event with a name of %d bytes: %v", least, err)
	}
	if len(raw) < 4096 || len(raw) > 8192 {
		t.Errorf("the longest Event has %d bytes, wanted 4096 to 8192", len(raw))
	}
	t.Logf("the longest Event that is allowed: a name of %d bytes, %d bytes in whole", least, len(raw))
	long := strings.Repeat("x", 100_000)
	for what, fields := range map[string]string{
		"a long field":        `{"f:` + long + `":{}}`,
		"a long field of one": `{"f:source":{"f:` + long + `":{}}}`,
		"a long key":          `{"f:metadata":{"f:labels":{"f:` + long + `":{}}}}`,
	} {
		requireForgedFieldsBounded(t, ns, node, what, managing(fields), api)
	}
}

// requireForgedFieldsBounded makes an Event whose client says whose field is whose: the API server
// drops some of what is no field, and the policy refuses the rest.
func requireForgedFieldsBounded(t *testing.T, ns, node, what string, forge func(*corev1.Event),
	api kubernetes.Interface) {
	t.Helper()
	var made *corev1.Event
	err := eventOf(ns, node, "Pod", "DeviceUnhealthy", func(e *corev1.Event) {
		e.GenerateName, e.Name = "", "forged-"+strings.ReplaceAll(what, " ", "-")
		forge(e)
		made = e
	})(t.Context(), api)
	if err != nil {
		requireAnswer(t, attempt{what: what + " in managedFields", says: "8192 bytes in whole"}, err)
		return
	}
	raw, err := cluster.API.CoreV1().RESTClient().Get().Namespace(ns).Resource("events").
		Name(made.Name).SetHeader("Accept", "application/json").Do(t.Context()).Raw()
	if err != nil || len(raw) > 8192 {
		t.Errorf("%s in managedFields: allowed, and stored with %d bytes: %v", what, len(raw), err)
	}
	t.Logf("%s in managedFields: dropped by the API server", what)
}

// requireManagersStay tries to take other clients' entries of whose field is whose from a Pod, by
// each patch that could. The API server takes no such entries with a subresource and keeps its own,
// so that no policy of ours has to.
func requireManagersStay(t *testing.T, ns string, api kubernetes.Interface) {
	t.Helper()
	others := func() string {
		pod, err := cluster.API.CoreV1().Pods(ns).Get(t.Context(), "mine", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, entry := range pod.ManagedFields {
			if entry.Manager == agentName || strings.HasPrefix(entry.Manager, "stories") {
				continue
			}
			text += entry.Manager + " " + string(entry.Operation) + " " + entry.Subresource + " " +
				string(entry.FieldsV1.Raw) + "\n"
		}
		return text
	}
	// The kubelet's own entries change until its Pod is up.
	cluster.WatchPod(t, ns, "mine").Until(t, "Ready", podWithin, Running)
	before := others()
	// A kubelet's manager is named like its program, which is one with all of Kubernetes here.
	if !strings.Contains(before, " Update status ") || !strings.Contains(before, "kubectl") {
		t.Fatalf("the Pod's entries are not of kubelet and kubectl:\n%s", before)
	}
	forged := `{"manager":"thief","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1",` +
		`"fieldsV1":{"f:spec":{}}}`
	for i, entries := range []string{`null`, `[]`, `[{}]`, `[` + forged + `]`} {
		for _, kind := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
			patch := `{"metadata":{"managedFields":` + entries + `,"annotations":{"galen.dev/devices":"` +
				strings.Repeat("x", i+1) + `"}}}`
			_, err := api.CoreV1().Pods(ns).Patch(t.Context(), "mine", kind, []byte(patch),
				metav1.PatchOptions{}, "status")
			if after := others(); after != before {
				t.Errorf("%s with managedFields %s (%v) changed others' entries:\n%swere\n%s", kind,
					entries, err, after, before)
			}
		}
	}
	t.Logf("entries of other managers stay as they are")
}
