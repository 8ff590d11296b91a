package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// The control plane's parts, in the namespace "control". Nothing in it is meant to survive the
// cluster, so the store does not wait for the disk.

func (c *cluster) etcd() part {
	const address = "http://127.0.0.1:2379"
	return part{
		name: "etcd", ports: []int{2379, 2380}, within: 20 * time.Second,
		command: []string{c.state.Programs["etcd"], "--name", "galen",
			"--data-dir", c.path("etcd"), "--unsafe-no-fsync", "--log-level", "warn",
			"--listen-client-urls", address, "--advertise-client-urls", address},
		// The API server comes up beside it and asks until it answers.
		ready: func(context.Context) bool { return c.portHolder(controlName, 2379) != "" },
	}
}

func (c *cluster) apiserver() part {
	keys := func(name string) string { return c.path("keys", name) }
	command := []string{c.state.Programs["kube"], "apiserver",
		"--etcd-servers=http://127.0.0.1:2379",
		"--bind-address=0.0.0.0", fmt.Sprintf("--secure-port=%d", apiPort),
		"--advertise-address=" + c.controlAddress(),
		"--service-cluster-ip-range=" + serviceRange,
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--token-auth-file=" + keys("tokens.csv"),
		"--client-ca-file=" + keys("ca.crt"),
		"--tls-cert-file=" + keys("apiserver.crt"),
		"--tls-private-key-file=" + keys("apiserver.key"),
		"--kubelet-certificate-authority=" + keys("ca.crt"),
		// By address: nodes have names here, but there is no name service that knows them.
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-client-certificate=" + keys("apiserver-to-kubelet.crt"),
		"--kubelet-client-key=" + keys("apiserver-to-kubelet.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + keys("service-account.crt"),
		"--service-account-signing-key-file=" + keys("service-account.key"),
	}
	if config := c.state.Options.RuntimeConfig; config != "" {
		command = append(command, "--runtime-config="+config)
	}
	return part{name: "apiserver", ports: []int{apiPort}, within: time.Minute,
		command: append(command, c.gates()...),
		ready: func(ctx context.Context) bool {
			client, err := c.client()
			return err == nil && client.ok(ctx, "/readyz")
		}}
}

func (c *cluster) controllerManager() part {
	keys := func(name string) string { return c.path("keys", name) }
	return part{name: "controller-manager", ports: []int{10257}, within: 30 * time.Second,
		command: append([]string{c.state.Programs["kube"], "controller-manager",
			"--kubeconfig=" + keys("controller-manager.kubeconfig"),
			"--bind-address=127.0.0.1", "--leader-elect=false",
			"--use-service-account-credentials=true",
			"--root-ca-file=" + keys("ca.crt"),
			"--service-account-private-key-file=" + keys("service-account.key"),
			"--cluster-signing-cert-file=" + keys("ca.crt"),
			"--cluster-signing-key-file=" + keys("ca.key")}, c.gates()...),
		// Its controllers have begun when Pods have an account to run as.
		ready: func(ctx context.Context) bool {
			client, err := c.client()
			return err == nil &&
				client.ok(ctx, "/api/v1/namespaces/default/serviceaccounts/default")
		}}
}

func (c *cluster) scheduler() part {
	return part{name: "scheduler", ports: []int{10259}, within: 30 * time.Second,
		command: append([]string{c.state.Programs["kube"], "scheduler",
			"--kubeconfig=" + c.path("keys", "scheduler.kubeconfig"),
			"--bind-address=127.0.0.1", "--leader-elect=false"}, c.gates()...),
		ready: func(context.Context) bool { return c.portHolder(controlName, 10259) != "" }}
}

// gates are the same for all parts: what one half of a feature expects of the other must be there.
func (c *cluster) gates() []string {
	if gates := c.state.Options.FeatureGates; gates != "" {
		return []string{"--feature-gates=" + gates}
	}
	return nil
}

// gateLines are the gates as a configuration file has them.
func (c *cluster) gateLines() string {
	if c.state.Options.FeatureGates == "" {
		return "{}"
	}
	return "{" + strings.ReplaceAll(strings.ReplaceAll(c.state.Options.FeatureGates, "=", ": "),
		",", ", ") + "}"
}

// client is the API server's client as the administrator.
func (c *cluster) client() (*apiClient, error) {
	return newAPIClient(c.server(), c.path("keys", "ca.crt"), c.path("keys", "tokens.csv"))
}
