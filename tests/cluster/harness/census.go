package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A census counts what a cluster could leave behind on the machine: by kind, each thing by name.
// Others use the machine too, so of processes and control groups it counts those that only a
// cluster has; of all else, everything.
type census map[string][]string

func takeCensus() (census, error) {
	cache, err := cacheDirectory()
	if err != nil {
		return nil, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	links, err := filepath.Glob("/sys/class/net/*")
	if err != nil {
		return nil, err
	}
	rules, err := exec.Command("nft", "list", "ruleset").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("list packet rules: %w: %s", err, rules)
	}
	c := census{
		"processes": clusterProcesses(cache), "mounts": lines(string(mounts)), "links": links,
		"control groups": clusterCgroups(), "packet rules": lines(string(rules)),
		"settings": machineSettings(), "files": clusterFiles(),
	}
	for _, things := range c {
		slices.Sort(things)
	}
	return c, nil
}

// difference says what was not there before, and what is no longer.
func (c census) difference(after census) string {
	var found []string
	for kind, things := range c {
		for _, thing := range after[kind] {
			if !slices.Contains(things, thing) {
				found = append(found, fmt.Sprintf("left behind, of %s: %s", kind, thing))
			}
		}
		for _, thing := range things {
			if !slices.Contains(after[kind], thing) {
				found = append(found, fmt.Sprintf("lost, of %s: %s", kind, thing))
			}
		}
	}
	slices.Sort(found)
	return strings.Join(found, "\n")
}

func (c census) String() string {
	var counts []string
	for kind, things := range c {
		counts = append(counts, fmt.Sprintf("%d %s", len(things), kind))
	}
	slices.Sort(counts)
	return strings.Join(counts, ", ")
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

// clusterProcesses are those in a cluster's control group, those that run a program built for one,
// holders, and whatever is in a network that is neither ours nor the machine's.
func clusterProcesses(cache string) []string {
	own, _ := os.Readlink("/proc/self/ns/net")
	first, _ := os.Readlink("/proc/1/ns/net")
	directories, _ := filepath.Glob("/proc/[0-9]*")
	var found []string
	for _, directory := range directories {
		pid, _ := strconv.Atoi(filepath.Base(directory))
		network, _ := os.Readlink(directory + "/ns/net")
		program, _ := os.Readlink(directory + "/exe")
		groups, _ := os.ReadFile(directory + "/cgroup")
		command := process{PID: pid}.command()
		if _, ended, _ := processState(pid); ended {
			continue // its parent, the machine's first process, takes note when it likes
		}
		if network != "" && network != own && network != first ||
			strings.HasPrefix(program, cache) || strings.Contains(command, " _hold ") ||
			strings.Contains(string(groups), "/galen-cluster-") {
			found = append(found, fmt.Sprintf("%d %s", pid, command))
		}
	}
	return found
}

func clusterCgroups() []string {
	var found []string
	for _, directory := range cgroup("/").directories() {
		if strings.Contains(directory, "galen-") || strings.Contains(directory, "kubepods") {
			found = append(found, directory)
		}
	}
	return found
}

// machineSettings are those of the kernel that a kubelet or a network plugin likes to change.
func machineSettings() []string {
	var found []string
	for _, name := range []string{"kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory",
		"vm/panic_on_oom", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
		"net/ipv4/ip_forward", "net/ipv4/conf/all/rp_filter", "kernel/hostname"} {
		value, _ := os.ReadFile("/proc/sys/" + name)
		found = append(found, name+"="+strings.TrimSpace(string(value)))
	}
	return found
}

// clusterFiles are the places outside of its directory where a node would usually write.
func clusterFiles() []string {
	var found []string
	for _, path := range []string{"/var/lib/kubelet", "/var/lib/cni", "/var/log/pods",
		"/var/log/containers", "/run/containerd", "/run/cdi", "/run/cni", "/etc/cni", "/etc/cdi",
		"/var/lib/containerd", "/run/runc"} {
		if _, err := os.Stat(path); err == nil {
			found = append(found, path)
		}
	}
	return found
}
