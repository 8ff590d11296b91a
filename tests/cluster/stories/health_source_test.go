package stories

import (
	"testing"
)

// Galen's probes beside another's driver that has no health stream: the reference driver on
// Kubernetes' own library, and galen-driver nvidia on the same two GPUs. One calls them dev-0 and
// dev-1, the other gpu-0 and gpu-1.
func TestProbesReportForADriverWithoutHealthInItsDevicesNames(t *testing.T) {
	sameOnBoth(t)
	startReference(t, "--health", "none", "--devices", "2", "--uuids", "GPU-")
	agent := startObserver(t)
	awaitLog(t, agent, "lists of the API server are known")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneRef)
	watch := hold(t, ns, "trainer", fromTemplate)
	watch.Until(t, "nobody knows", shownWithin,
		says("dev-… Unknown…: driver "+refDriver+" reports no health"))

	answers, show := showNvml(t)
	cluster.Run(t, "node-1", "env", "GALEN_NVML_ANSWERS="+answers, Program("galen-driver"), "nvidia",
		"--health-only-for", refDriver, "--health-sources", "/run/story/health", "--nvml",
		nvmlLibrary(), "--driver-root", t.TempDir(), "--poll", "500ms", "--state-dir", t.TempDir())
	watch.Until(t, "the probes see that it is well", shownWithin, says("dev-… Healthy"))

	device := devicesOf(claimOf(t, ns, "trainer"))[0]
	show("xid " + device[len("dev-"):] + " 79\n")
	seen := watch.Until(t, "the XID, in the driver's name", shownWithin, says(device+
		" Unhealthy since …: XID 79: GPU has fallen off the bus (seen by Galen's probes)"))
	t.Logf("condition: %+v", Condition(seen.Pod, condition))
	// The driver's claims are the driver's as before.
	hold(t, ns, "second", fromTemplate)
}
