package stories

import (
	"os"
	"path/filepath"
	"testing"
)

// NVIDIA GPUs beside a real kubelet. NVIDIA's library is one of ours that answers from a table.

// twoWell is a table of two GPUs that are well; without device nodes, which this machine lacks.
const twoWell = `
driver 570.124.06
gpus 2
0 uuid GPU-0
0 bus 75
0 temperature 41
0 uncorrected 0
1 uuid GPU-1
1 bus 76
1 temperature 41
1 uncorrected 0
`

// showNvml makes a table for the library, of two GPUs that are well: its place, and what puts lines
// first in it.
func showNvml(t *testing.T) (answers string, show func(lines string)) {
	t.Helper()
	answers = filepath.Join(t.TempDir(), "answers")
	show = func(lines string) {
		t.Helper()
		// Whole or not at all: the library reads at any time.
		if err := os.WriteFile(answers+".new", []byte(lines+twoWell), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(answers+".new", answers); err != nil {
			t.Fatal(err)
		}
	}
	show("")
	return answers, show
}

// nvmlLibrary is the path of ours under NVIDIA's name.
func nvmlLibrary() string {
	return filepath.Join(Root(), "build", "release", "scripted_nvml", "libnvidia-ml.so.1")
}

// startNvidia runs galen-driver nvidia beside node-1's kubelet, under the name by which classes and
// claims of the stories know a driver of GPUs. What it gives makes the library show lines first.
func startNvidia(t *testing.T) func(lines string) {
	t.Helper()
	answers, show := showNvml(t)
	cluster.Apply(t, "default", gpuClass)
	p := cluster.Run(t, "node-1", "env", "GALEN_NVML_ANSWERS="+answers, Program("galen-driver"),
		"nvidia", "--name", gpuDriver, "--nvml", nvmlLibrary(), "--driver-root", t.TempDir(),
		"--poll", "500ms", "--state-dir", t.TempDir())
	cluster.BeforeProgramsEnd(t, func() {
		if p.Running() {
			awaitNoneLeft(t)
		}
	})
	awaitRegistered(t, p)
	awaitPublished(t, p)
	return show
}

func TestASignOfNvmlIsOnThePodByTheKubeletAndByUs(t *testing.T) {
	show := startNvidia(t)
	agent := startObserver(t)
	awaitLog(t, agent, "lists of the API server are known")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneGpu)
	watch := hold(t, ns, "trainer", fromTemplate)
	watch.Until(t, "all is well", shownWithin, says("gpu-… Healthy"))
	gpu, _ := gpuOf(t, ns, "trainer")

	show("xid " + gpu[len("gpu-"):] + " 79\n")
	seen := watch.Until(t, "the XID", shownWithin,
		says(gpu+" Unhealthy since …: XID 79: GPU has fallen off the bus"))
	t.Logf("condition: %+v", Condition(seen.Pod, condition))
	if cluster.Is("1.37") {
		watch.Until(t, "the kubelet's field", shownWithin,
			saysHealth(1, "Unhealthy", "XID 79: GPU has fallen off the bus"))
	}
}
