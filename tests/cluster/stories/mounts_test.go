package stories

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A volume of CSI is staged by a mount below the kubelet's plugins. One that a container went on
// holding could not be detached from the node, nor its file system be checked or removed.

// stagedPlace is where kubelets have CSI drivers stage volumes.
const stagedPlace = "/var/lib/kubelet/plugins/kubernetes.io/csi/story.example.com/v/globalmount"

func TestAVolumeThatWasStagedBeforeTheAgentGoesWhenTheNodeUnmountsIt(t *testing.T) {
	sameOnBoth(t)
	stage(t, "before")
	cluster.Install(t, "")
	pid := pidOf(t, cluster.agentPod(t), agentName+"\x00")
	requireGoesWithTheNode(t, pid, "before")
	stage(t, "after")
	requireGoesWithTheNode(t, pid, "after")
}

// stagedAs is the directory of the volume of that name.
func stagedAs(name string) string { return strings.Replace(stagedPlace, "/v/", "/"+name+"/", 1) }

// stage mounts a file system of its own on node-1, as a CSI driver does.
func stage(t *testing.T, name string) {
	t.Helper()
	place := stagedAs(name)
	cluster.Output(t, "node-1", "mkdir", "-p", place)
	cluster.Output(t, "node-1", "mount", "-t", "tmpfs", "story-"+name, place)
	t.Cleanup(func() {
		_ = cluster.harness(context.Background(), "exec", "node-1", "--", "sh", "-c",
			"umount "+place+"; rm -r "+filepath.Dir(place)).Run()
	})
}

// requireGoesWithTheNode unmounts the volume on node-1 and wants process `pid` to lose it.
func requireGoesWithTheNode(t *testing.T, pid int, name string) {
	t.Helper()
	cluster.Output(t, "node-1", "umount", stagedAs(name))
	Eventually(t, "the agent lets the volume "+name+" go", 5*time.Second, func() (bool, string) {
		mounts, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "mounts"))
		if err != nil {
			return false, err.Error()
		}
		return !strings.Contains(string(mounts), "story-"+name), string(mounts)
	})
}
