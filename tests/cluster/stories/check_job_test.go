package stories

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The Job of deploy/examples/check.yaml on a real node. Its GPU is scripted: NVIDIA's libraries are
// ours, and a container gets them as it would get NVIDIA's.

const (
	checkJob       = "gpu-check"
	checkNamespace = "galen-checks"
	// checkedWithin is what a check of a little memory gets, whose kernels an interpreter runs.
	checkedWithin = 3 * time.Minute
)

// checkedGpu is the GPU of the example: /dev/nvidia0.
const checkedGpu = `
driver 570.124.06
gpus 1
0 uuid GPU-7d4b0f9e-0011-2233-4455-66778899aabb
0 bus 75
0 minor 0
0 temperature 41
0 uncorrected 0
`

// nvidiaRoot makes a root of NVIDIA's driver in place, as a driver's container does: libraries that
// answer from place/nvml and place/cuda, nodes of devices (of the kernel's null device), and what
// the kernel module shows, in place/proc.
func nvidiaRoot(t *testing.T, place string) {
	t.Helper()
	libraries := filepath.Join(place, "driver", "usr", "lib64")
	nodes := filepath.Join(place, "driver", "dev")
	shown := filepath.Join(place, "proc", "driver", "nvidia", "gpus", "0000:4b:00.0")
	for _, directory := range []string{libraries, nodes, shown} {
		must(t, os.MkdirAll(directory, 0o755))
	}
	for _, library := range []string{"scripted_nvml/libnvidia-ml.so.1", "scripted_cuda/libcuda.so.1"} {
		text, err := os.ReadFile(filepath.Join(Root(), "build", "release", library))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(libraries, filepath.Base(library)), text, 0o755))
	}
	const null = 1<<8 | 3
	for _, node := range []string{"nvidiactl", "nvidia0"} {
		must(t, syscall.Mknod(filepath.Join(nodes, node), syscall.S_IFCHR|0o666, null))
	}
	must(t, os.WriteFile(filepath.Join(place, "nvml"), []byte(checkedGpu), 0o644))
	must(t, os.WriteFile(filepath.Join(shown, "information"), []byte("Model: NVIDIA H100\n"+
		"GPU UUID: GPU-7d4b0f9e-0011-2233-4455-66778899aabb\nDevice Minor: 0\n"), 0o644))
}

// breakGpu says what is broken about it: lines as scripted_cuda.cc has them.
func breakGpu(t *testing.T, place, lines string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(place, "cuda"), []byte(lines+
		"gpus 1\n0 uuid 7d4b0f9e00112233445566778899aabb\n0 bus 75\n"), 0o644))
}

// checkManifest is the file of the example, with the driver's name, and with what makes the
// libraries scripted and the check short.
func checkManifest(t *testing.T, place string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Root(), "deploy", "examples", "check.yaml"))
	must(t, err)
	yaml := strings.ReplaceAll(string(text), "nvidia.example.com", gpuDriver)
	for from, to := range map[string]string{
		"--memory=50%": "--memory=2%\n        - --rounds=1\n        - --proc-root=" + place + "/proc",
		"        env:\n": "        env:\n" +
			"        - {name: GALEN_NVML_ANSWERS, value: " + place + "/nvml}\n" +
			"        - {name: GALEN_CUDA_ANSWERS, value: " + place + "/cuda}\n",
		"        volumeMounts:\n": "        volumeMounts:\n" +
			"        - {name: answers, mountPath: " + place + "}\n",
		"      volumes:\n": "      volumes:\n" +
			"      - {name: answers, hostPath: {path: " + place + "}}\n",
	} {
		if !strings.Contains(yaml, from) {
			t.Fatalf("deploy/examples/check.yaml has no %q", from)
		}
		yaml = strings.Replace(yaml, from, to, 1)
	}
	file := filepath.Join(place, "check.yaml")
	must(t, os.WriteFile(file, []byte(yaml), 0o644))
	return file
}

// checkBy applies the manifest and waits for the Job's end: its log, and whether it succeeded.
func checkBy(t *testing.T, yaml string) (log string, passed bool) {
	t.Helper()
	cluster.Kubectl(t, "apply", "-f", yaml)
	var last *batchv1.Job
	Eventually(t, "the Job is over", checkedWithin, func() (bool, string) {
		job, err := cluster.API.BatchV1().Jobs(checkNamespace).Get(t.Context(), checkJob,
			metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		last = job
		return job.Status.Succeeded+job.Status.Failed > 0,
			cluster.Kubectl(t, "get", "pods", "-n", checkNamespace, "-o", "wide")
	})
	log = cluster.Kubectl(t, "logs", "-n", checkNamespace, "job/"+checkJob)
	cluster.Kubectl(t, "delete", "job", checkJob, "-n", checkNamespace, "--wait")
	return log, last.Status.Succeeded > 0
}

func TestTheJobOfTheExampleFindsAFlippedBitUnderAPodThatHoldsTheGpu(t *testing.T) {
	sameOnBoth(t)
	cluster.loadImage(t)
	place := t.TempDir()
	nvidiaRoot(t, place)
	breakGpu(t, place, "")
	cluster.Apply(t, "default", gpuClass)
	// Its results are another's of that name otherwise.
	results := filepath.Join(cluster.Dir, "node-1", "lib", "kubelet", "plugins", gpuDriver, "checks")
	t.Cleanup(func() { must(t, os.RemoveAll(results)) })
	p := cluster.Run(t, "node-1", "env", "GALEN_NVML_ANSWERS="+filepath.Join(place, "nvml"),
		Program("galen-driver"), "nvidia", "--name", gpuDriver, "--driver-root",
		filepath.Join(place, "driver"), "--poll", "500ms")
	cluster.BeforeProgramsEnd(t, func() {
		if said, err := cluster.KubectlError(context.Background(), "", "delete", "namespace",
			checkNamespace, "--ignore-not-found", "--wait"); err != nil {
			t.Error(said, err)
		}
		if p.Running() {
			awaitNoneLeft(t)
		}
	})
	awaitRegistered(t, p)
	awaitPublished(t, p)
	agent := startObserver(t)
	awaitLog(t, agent, "lists of the API server are known")
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneGpu)
	watch := hold(t, ns, "trainer", fromTemplate)
	watch.Until(t, "all is well", shownWithin, says("gpu-0 Healthy"))
	yaml := checkManifest(t, place)

	breakGpu(t, place, "0 stuck 1581056 17\n") // behind what the matrices take
	log, passed := checkBy(t, yaml)
	t.Logf("the Job: %s", log)
	if passed || !strings.Contains(log, "gpu-0: failed: Memory does not hold what was written") {
		t.Errorf("wanted a failure that names the bit: passed %v: %s", passed, log)
	}
	watch.Until(t, "the flipped bit", shownWithin,
		says("gpu-0 Unhealthy since …: Active check: Memory does not hold what was written …"))

	breakGpu(t, place, "")
	if log, passed = checkBy(t, yaml); !passed {
		t.Errorf("a check of a GPU that is well failed: %s", log)
	}
	watch.Until(t, "well again", shownWithin, says("gpu-0 Healthy"))
	if !Running(watch.Last().Pod) {
		t.Errorf("the holder runs no more: %s", Tell(watch.Last().Pod))
	}
}
