package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

const busyboxProgram = "/bin/busybox"

// needed are the machine's programs that a cluster runs, and the Debian package of each.
var needed = []struct{ program, debianPackage string }{
	{"runc", "runc"},
	{"ip", "iproute2"},
	{"iptables", "iptables"},
	{busyboxProgram, "busybox-static"},
	{cniDirectory + "/bridge", "containernetworking-plugins"},
	{cniDirectory + "/host-local", "containernetworking-plugins"},
	{cniDirectory + "/loopback", "containernetworking-plugins"},
}

// spaceMiB is what a cluster of a few nodes writes: images, the store, logs.
const spaceMiB = 512

// checkMachine says everything that keeps a node from running here, at once. There is no running
// without: what would be left out is what the cluster is for.
func checkMachine(dir string) error {
	var faults []error
	if os.Geteuid() != 0 {
		faults = append(faults, fmt.Errorf("it takes root (this is user %d): namespaces, mounts and "+
			"control groups are root's; try sudo ./dev cluster up", os.Geteuid()))
	}
	faults = append(faults, checkPrograms(), checkNamespaces(), checkCgroups(), checkKernel())
	if free := freeMiB(existingParent(dir)); free < spaceMiB {
		faults = append(faults, fmt.Errorf("the disk of %s has %d MiB left, and a cluster needs %d; "+
			"--dir chooses another place", dir, free, spaceMiB))
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("this machine cannot run a Kubernetes node:\n  - %s",
			strings.ReplaceAll(err.Error(), "\n", "\n  - "))
	}
	return nil
}

func existingParent(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == "/" || !strings.Contains(dir, "/") {
			return dir
		}
		dir = dir[:max(1, strings.LastIndex(dir, "/"))]
	}
}

func checkPrograms() error {
	packages := map[string]bool{}
	var lines []string
	for _, need := range needed {
		if _, err := exec.LookPath(need.program); err != nil && !packages[need.debianPackage] {
			packages[need.debianPackage] = true
			lines = append(lines, fmt.Sprintf("%s is missing: Debian's package %s has it",
				need.program, need.debianPackage))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return errors.New(strings.Join(lines, "\n"))
}

// checkNamespaces makes one, with a program that ends at once.
func checkNamespaces() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	probe := exec.Command(self, "_probe")
	probe.SysProcAttr = &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS,
	}
	if err := probe.Run(); err != nil {
		return fmt.Errorf("namespaces (mount, network, host name) cannot be made: %w; in a container "+
			"it takes --privileged", err)
	}
	return nil
}

const probeCgroupPrefix = "galen-probe-"

// checkCgroups wants the controllers that a kubelet insists on, and to be let in.
func checkCgroups() error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	have := map[string]bool{}
	for _, h := range all {
		for _, controller := range h.controllers {
			have[controller] = true
		}
		if text, err := os.ReadFile(h.mount + "/cgroup.controllers"); err == nil && h.unified {
			for _, controller := range strings.Fields(string(text)) {
				have[controller] = true
			}
			have["devices"] = have["devices"] || len(text) > 1 // version 2 has them as programs
		}
		probe := fmt.Sprintf("%s/%s%d", h.mount, probeCgroupPrefix, os.Getpid())
		if err := os.Mkdir(probe, 0o755); err != nil {
			return fmt.Errorf("no control group can be made below %s: %w", h.mount, err)
		}
		_ = syscall.Rmdir(probe)
	}
	var missing []string
	for _, controller := range []string{"cpu", "cpuset", "memory", "pids", "devices"} {
		if !have[controller] {
			missing = append(missing, controller)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("control groups lack %s (mounted below /sys/fs/cgroup: %d hierarchies)",
			strings.Join(missing, ", "), len(all))
	}
	return nil
}

func checkKernel() error {
	text, _ := os.ReadFile("/proc/filesystems")
	if !strings.Contains(string(text), "\toverlay\n") {
		if exec.Command("modprobe", "overlay").Run() != nil {
			return errors.New("the kernel has no overlay file system (module overlay)")
		}
	}
	return nil
}
