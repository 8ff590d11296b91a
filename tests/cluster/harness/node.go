package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// A node's parts: containerd and the kubelet, in the node's own namespace. Everything that makes
// them run on a machine that lacks something a server has is here, each with its reason.

func (c *cluster) containerd(name string) part {
	socket := c.path(name, "containerd.sock")
	return part{name: name + "/containerd", within: 30 * time.Second,
		command: []string{c.state.Programs["containerd"],
			"--config", c.path(name, "containerd.toml"), "--log-level", "info"},
		ready: func(context.Context) bool {
			connection, err := net.Dial("unix", socket)
			if err == nil {
				connection.Close()
			}
			return err == nil
		}}
}

func (c *cluster) kubelet(number int) part {
	name := nodeName(number)
	since := time.Now()
	return part{name: name + "/kubelet", ports: []int{kubeletPort, 10248}, within: 90 * time.Second,
		command: []string{c.state.Programs["kube"], "kubelet",
			"--config=" + c.path(name, "kubelet.yaml"),
			"--kubeconfig=" + c.path("keys", name+".kubeconfig"),
			"--root-dir=/var/lib/kubelet", "--cert-dir=/var/lib/kubelet/pki",
			"--hostname-override=" + name, "--node-ip=" + c.nodeAddress(number), "--v=2"},
		ready: func(ctx context.Context) bool { return c.nodeReady(ctx, name, since) }}
}

// nodeReady waits for the status that the kubelet running now writes, since the one before it
// leaves a status that stands for a while. The status it writes when something changed, the lease
// within ten seconds.
func (c *cluster) nodeReady(ctx context.Context, name string, since time.Time) bool {
	client, err := c.client()
	if err != nil || c.portHolder(name, kubeletPort) == "" {
		return false
	}
	var one node
	if err := client.ask(ctx, "GET", "/api/v1/nodes/"+name, "", &one); err != nil {
		return false
	}
	ready, said, _ := one.ready()
	reported := !said.Before(since.Truncate(time.Second)) // the status has whole seconds
	return ready && (reported || client.leaseRenewed(ctx, name).After(since))
}

const kubeletPort = 10250

// prepareNode writes what the node's parts read at their start.
func (c *cluster) prepareNode(number int) error {
	name := nodeName(number)
	files := map[string]string{
		"containerd.toml":      c.containerdConfig(name),
		"kubelet.yaml":         c.kubeletConfig(number),
		"cni/10-pods.conflist": cniConfig(number),
	}
	for file, text := range files {
		path := c.path(name, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return c.nodeCgroup(name).create()
}

// nodeCgroup is what the kubelet takes for the root: its Pods are below.
func (c *cluster) nodeCgroup(name string) cgroup { return c.cgroup().below(name).below("pods") }

// containerdConfig: without the capability to lower an OOM score a sandbox cannot be made unless
// scores are only ever raised; AppArmor may be absent; network namespaces must lie where the node
// goes away with them; specifications of devices are the node's own, not the machine's.
func (c *cluster) containerdConfig(name string) string {
	return fmt.Sprintf(`version = 3
root = '%[1]s/containerd'
state = '/run/containerd'
oom_score = 0
disabled_plugins = [
  'io.containerd.snapshotter.v1.blockfile', 'io.containerd.snapshotter.v1.erofs',
  'io.containerd.internal.v1.tracing', 'io.containerd.tracing.processor.v1.otlp',
]

[grpc]
address = '%[1]s/containerd.sock'

[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = '%[2]s'

[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true
disable_apparmor = true
netns_mounts_under_state_dir = true
cdi_spec_dirs = ['/run/cdi']

[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ['%[3]s']
conf_dir = '%[1]s/cni'

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = false
`, c.path(name), pauseImage, cniDirectory)
}

// kubeletConfig: no systemd, maybe swap, no resolver to hand on; evictions only when the disk is
// all but full, because the machine's disk is not the node's to judge.
func (c *cluster) kubeletConfig(number int) string {
	name := nodeName(number)
	text := fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 0.0.0.0
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %[1]s/ca.crt}
authorization: {mode: Webhook}
tlsCertFile: %[1]s/%[2]s-server.crt
tlsPrivateKeyFile: %[1]s/%[2]s-server.key
containerRuntimeEndpoint: unix://%[3]s
cgroupDriver: cgroupfs
cgroupRoot: %[4]s
enforceNodeAllocatable: [pods]
failSwapOn: false
resolvConf: ""
clusterDNS: [%[6]s]
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 50Mi, nodefs.available: 1%%, imagefs.available: 1%%}
featureGates: %[5]s
`, c.path("keys"), name, c.path(name, "containerd.sock"), c.nodeCgroup(name), c.gateLines(),
		dnsAddress)
	if c.state.Options.Version != "1.34" {
		// Kubelets from 1.35 on refuse control groups of version 1 unless told; older ones do not
		// know the word.
		text += "failCgroupV1: false\n"
	}
	return text
}

const cniDirectory = "/usr/lib/cni"

func cniConfig(number int) string {
	return fmt.Sprintf(`{
  "cniVersion": "1.0.0",
  "name": "pods",
  "plugins": [{
    "type": "bridge", "bridge": "pods", "isGateway": true, "ipMasq": false, "hairpinMode": true,
    "ipam": {
      "type": "host-local", "dataDir": "/run/cni", "ranges": [[{"subnet": "%s"}]],
      "routes": [{"dst": "0.0.0.0/0"}]
    }
  }]
}
`, podRange(number))
}
