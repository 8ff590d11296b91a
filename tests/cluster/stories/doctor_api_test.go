package stories

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// What `galen doctor` says of the API server and of rights while they are broken.

func TestDoctorFindsRightsThatAreMissing(t *testing.T) {
	doctorIsFor137(t)
	ns := cluster.Namespace(t)
	cluster.Kubectl(t, "-n", ns, "create", "serviceaccount", "agent")
	account := []string{"--agent-account", ns + "/agent"}
	awaitFinding(t, "agent.permissions", "bad", "may not: list pods", "", account...)
	binding := "doctor-" + ns
	t.Cleanup(func() {
		_, _ = cluster.KubectlError(context.Background(), "", "delete",
			"clusterrolebinding,clusterrole", binding)
	})
	cluster.Apply(t, "default", fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules:
- {apiGroups: [""], resources: [pods], verbs: [list, watch]}
- {apiGroups: [""], resources: [nodes], verbs: [get]}
- {apiGroups: [""], resources: [events], verbs: [create, get, patch]}
- {apiGroups: [resource.k8s.io], resources: [resourceclaims], verbs: [get]}
- {apiGroups: [resource.k8s.io], resources: [resourceslices], verbs: [list, watch]}
- {apiGroups: [galen.dev], resources: [nodedevicehealths, nodedevicehealths/status], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{kind: ServiceAccount, name: agent, namespace: %[2]s}]
`, binding, ns))
	awaitFinding(t, "agent.permissions", "bad", "may not: patch pods/status", "", account...)
	cluster.Kubectl(t, "patch", "clusterrole", binding, "--type=json", "-p", `[{"op": "add",
		"path": "/rules/-", "value": {"apiGroups": [""], "resources": ["pods/status"],
		"verbs": ["patch"]}}]`)
	awaitFinding(t, "agent.permissions", "healthy", ns+"/agent has all", "", account...)
}

func TestDoctorFindsAnApiServerThatIsAway(t *testing.T) {
	doctorIsFor137(t)
	cluster.Reference(t, "node-1")
	cluster.Kill(t, "apiserver")
	mend := sync.OnceFunc(func() { revive(t, "apiserver") })
	t.Cleanup(mend)
	awaitFinding(t, "api.reachable", "bad", "connection refused", "")
	result := diagnose(t, "")
	// What the node shows by itself is judged all the same, and nothing that it does not show is bad.
	for _, id := range []string{"drivers.health", "drivers.endpoint", "kubelet.checkpoint",
		"host.open-files"} {
		if result[id].Verdict != "healthy" {
			t.Errorf("%s is %s: %s", id, result[id].Verdict, result[id].Seen)
		}
	}
	for _, id := range []string{"slices.missing", "claims.stuck-pods", "kubelet.ready",
		"drivers.registered", "agent.permissions"} {
		if result[id].Verdict != "unknown" {
			t.Errorf("%s is %s without an API server: %s", id, result[id].Verdict, result[id].Seen)
		}
	}
	mend()
	awaitFinding(t, "api.reachable", "healthy", "v1.37.1", "")
	awaitFinding(t, "drivers.registered", "healthy", "", "")
}

// An apiServer is the cluster's own, seen through a proxy that changes what it says: for what
// cannot be broken without another control plane. The doctor runs on the machine itself, with the
// node's files named by flags.
type apiServer struct{ kubeconfig string }

func seenThrough(t *testing.T, change func(*http.Response) error) apiServer {
	t.Helper()
	target, err := url.Parse(cluster.Config.Host)
	must(t, err)
	transport, err := rest.TransportFor(cluster.Config)
	must(t, err)
	proxy := &httputil.ReverseProxy{Transport: transport, ModifyResponse: change,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding")
		}}
	server := httptest.NewUnstartedServer(proxy)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, os.WriteFile(path, fmt.Appendf(nil, `{"apiVersion": "v1", "kind": "Config",
		"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c"}}],
		"clusters": [{"name": "c", "cluster": {"server": %q, "insecure-skip-tls-verify": true}}]}`,
		server.URL), 0o600))
	return apiServer{path}
}

func (a apiServer) await(t *testing.T, id, verdict, words string) {
	t.Helper()
	result, err := read(exec.CommandContext(t.Context(), Program("galen"), "doctor", "-o", "json",
		"--kubeconfig", a.kubeconfig, "--node", "node-1",
		"--kubelet-root", filepath.Join(cluster.Dir, "node-1", "lib", "kubelet"),
		"--state-dir", t.TempDir()))
	must(t, err)
	if check := result[id]; check.Verdict != verdict || !strings.Contains(check.Seen, words) {
		t.Errorf("%s is %s: %s; wanted %s: %s", id, check.Verdict, check.Seen, verdict, words)
	}
}

// saying replaces words of the answers to one path.
func saying(path, from, to string) func(*http.Response) error {
	return func(answer *http.Response) error {
		if answer.Request.URL.Path != path {
			return nil
		}
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			return err
		}
		text = bytes.ReplaceAll(text, []byte(from), []byte(to))
		answer.Body = io.NopCloser(bytes.NewReader(text))
		answer.ContentLength = int64(len(text))
		answer.Header.Set("Content-Length", fmt.Sprint(len(text)))
		return nil
	}
}

// inDate moves the server's clock.
func inDate(by time.Duration) func(*http.Response) error {
	return func(answer *http.Response) error {
		answer.Header.Set("Date", time.Now().Add(by).UTC().Format(http.TimeFormat))
		return nil
	}
}

func TestDoctorFindsAnApiServerOfAnotherTimeVersionOrSetting(t *testing.T) {
	doctorIsFor137(t)
	same := seenThrough(t, func(*http.Response) error { return nil })
	for _, id := range []string{"api.clock", "api.dra", "gates.health-api", "gates.message-api",
		"gates.taints", "kubelet.version"} {
		same.await(t, id, "healthy", "")
	}
	seenThrough(t, inDate(-time.Minute)).await(t, "api.clock", "bad", "ahead of the API server's")
	seenThrough(t, inDate(time.Minute)).await(t, "api.clock", "bad", "behind the API server's")
	seenThrough(t, inDate(5*time.Second)).await(t, "api.clock", "warning", "behind")
	seenThrough(t, saying("/apis/resource.k8s.io", `"version":"v1"`, `"version":"v1beta1"`)).await(t,
		"api.dra", "bad", "v1beta1")
	for name, id := range map[string]string{"ResourceHealthStatus": "gates.health-api",
		"ResourceHealthStatusMessage": "gates.message-api"} {
		line := fmt.Sprintf(`kubernetes_feature_enabled{name=%q,stage="BETA"} `, name)
		seenThrough(t, saying("/metrics", line+"1", line+"0")).await(t, id, "warning", name+" is off")
	}
	const taints = `kubernetes_feature_enabled{name="DRADeviceTaints",stage=""} `
	seenThrough(t, saying("/metrics", taints+"1", taints+"0")).await(t, "gates.taints", "warning",
		"off")
	seenThrough(t, saying("/version", "v1.37.1", "v1.36.4")).await(t, "kubelet.version", "bad",
		"kubelet v1.37.1, API server v1.36.4")
}
