//go:build compare

package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kernelLinesWithin is the p99 from a line of the kernel's log to our condition on a real node.
const kernelLinesWithin = 100 * time.Millisecond

// kernelLog stands in the place of /dev/kmsg, which takes ten lines in five seconds of a program
// and keeps them until the next boot: a pipe of packets, so that a read gives one record (pipe(7)).
type kernelLog struct {
	file    *os.File
	written int
}

func makeKernelLog(t *testing.T) (log *kernelLog, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "kmsg")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	// For reading as well: without a reader a pipe cannot be written.
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	if _, err := unix.FcntlInt(file.Fd(), unix.F_SETFL, unix.O_NONBLOCK|unix.O_DIRECT); err != nil {
		t.Fatal(err)
	}
	return &kernelLog{file: file}, path
}

// write is a record as /dev/kmsg has it (kernel: Documentation/ABI/testing/dev-kmsg).
func (l *kernelLog) write(t *testing.T, text string) {
	t.Helper()
	var boot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &boot); err != nil {
		t.Fatal(err)
	}
	l.written++
	_, err := fmt.Fprintf(l.file, "4,%d,%d,-;%s\n", l.written, boot.Nano()/1000, text)
	if err != nil {
		t.Fatal(err)
	}
}

// compareKernelLines: lines with an XID of the GPU that a Pod holds, each after the GPU was reset.
// Only our agent is measured: the kubelet hears of it from the same driver, as of any change.
func compareKernelLines(t *testing.T, c *comparison) {
	if c.alone {
		return
	}
	log, path := makeKernelLog(t)
	cluster.Apply(t, "default", gpuClass)
	// With a state of its own, or it would go on where an earlier log ended.
	p := cluster.Run(t, "node-1", "galen-driver", "gpu", "--kernel-log", path,
		"--state-dir", t.TempDir())
	awaitRegistered(t, p)
	awaitPublished(t, p)
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneGpu)
	watch := hold(t, ns, "trainer", fromTemplate)
	gpu, _ := gpuOf(t, ns, "trainer")
	address := pciAddress(t, gpu)
	watch.Until(t, "all is well", shownWithin, weSay("Healthy", ""))
	s := &scene{watch: watch}
	await := func(from time.Time, what string, holds func(*corev1.Pod) bool) time.Duration {
		_, ours := s.both(from, 20*time.Second, holds, holds)
		if ours == never {
			t.Fatalf("%s: not within 20 s", what)
		}
		return ours
	}
	lines := 100
	if testing.Short() {
		lines = 20
	}
	var ours []time.Duration
	for i := range lines {
		from := time.Now()
		log.write(t, fmt.Sprintf("NVRM: Xid (PCI:%s): 79, pid=4711, name=python3, GPU has fallen "+
			"off the bus.", address))
		ours = append(ours, await(from, fmt.Sprint("line ", i), weSay("Unhealthy", "XID 79")))
		from = time.Now()
		inject(t, gpu, "reset")
		await(from, fmt.Sprint("reset ", i), weSay("Healthy", ""))
	}
	took := percentile(ours, 0.99)
	c.figure(fmt.Sprintf("a line of the kernel's log, %d of them, p50", lines), "",
		shown(percentile(ours, 0.5), 0))
	c.figure(fmt.Sprintf("a line of the kernel's log, %d of them, p99", lines), "", shown(took, 0))
	if !testing.Short() {
		c.goal("a line of the kernel's log, p99 of ours after", "≤ "+shown(kernelLinesWithin, 0),
			shown(took, 0), took <= kernelLinesWithin)
	}
}

// pciAddress is the device's without its function, as NVIDIA's driver writes it: "0000:ff:1f".
func pciAddress(t *testing.T, device string) string {
	t.Helper()
	slices, err := cluster.API.ResourceV1().ResourceSlices().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, slice := range slices.Items {
		for _, each := range slice.Spec.Devices {
			id := each.Attributes["resource.kubernetes.io/pciBusID"].StringValue
			if each.Name == device && slice.Spec.Driver == gpuDriver && id != nil {
				return (*id)[:len(*id)-len(".0")]
			}
		}
	}
	t.Fatalf("no slice has the PCI address of %s", device)
	return ""
}
