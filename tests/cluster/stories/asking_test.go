package stories

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// What people and strangers hear who ask the cluster and an installed agent.

// requireReadable asks by the command line what the cluster and the agent know of the Pod "ref",
// which holds that device, and of its driver.
func requireReadable(t *testing.T, ns, device string) {
	t.Helper()
	for what, words := range map[string][]string{
		"pods":    {ns, "ref", device, "Unhealthy", "it fell off the bus"},
		"devices": {refDriver, device, "Unhealthy", "it fell off the bus"},
		"nodes":   {"node-1", "observer", device},
		"drivers": {refDriver, gpuDriver, "mute.example.com"},
	} {
		// An agent writes the node's object after the Pod, and later where much changes.
		Eventually(t, "galen get "+what+" says it all", shownWithin, func() (bool, string) {
			text := cluster.Output(t, "node-1", "galen", "get", what, "-A", "-o", "json")
			if !json.Valid([]byte(text)) {
				t.Errorf("galen get %s -o json is no JSON: %s", what, text)
			}
			for _, word := range words {
				if !strings.Contains(text, `"`+word+`"`) {
					return false, fmt.Sprintf("no %q in %s", word, text)
				}
			}
			return true, ""
		})
	}
	// In the agent's Pod, by its socket and with its own rights.
	for _, question := range [][]string{{"why", "-n", ns, "ref"}, {"post-mortem", "-n", ns}} {
		said := cluster.Kubectl(t, append([]string{"-n", agentNamespace, "exec",
			cluster.agentPod(t).Name, "--", "galen"}, question...)...)
		t.Logf("galen %s:\n%s", strings.Join(question, " "), said)
		if question[0] == "why" && !(strings.Contains(said, "it fell off the bus") &&
			strings.Contains(said, device)) {
			t.Errorf("galen why does not say it: %s", said)
		}
	}
}

// requireNothingForStrangers: who reaches the agent's Pod over the network learns whether it is
// well, and nothing of devices, Pods and drivers.
func requireNothingForStrangers(t *testing.T) {
	t.Helper()
	for path, want := range map[string]string{"healthz": "ok\n", "readyz?verbose": "ok\n",
		"metrics": "not found"} {
		status, text := cluster.strangerHears(t, probesPort, path)
		if !strings.HasPrefix(text, want) || (status == 200) != (want == "ok\n") {
			t.Errorf("/%s says %d %q, wanted %q", path, status, text, want)
		}
	}
	if status, text := cluster.strangerHears(t, agentPort, "metrics"); status < 500 {
		t.Errorf("the agent's metrics are open to the cluster: %d %s", status, text)
	}
}
